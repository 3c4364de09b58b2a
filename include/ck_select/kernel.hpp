/* Descriptors of kernels. */

#ifndef CK_SELECT_KERNEL_HPP
#define CK_SELECT_KERNEL_HPP

#include <string>

#include "error.hpp"

namespace ck_select {

/// Descriptor of a convolution kernel: its words here, its numbers in `key` with the defaults of CK's key, see
/// ck_conv_kernel_desc. Words are those of kernel names.
struct ConvKernel {
  // Not an aggregate, so that braces around names do not become a descriptor.
  ConvKernel() { detail::check(ck_conv_kernel_desc_init(&key)); }

  /// Empty for the name of CK's code generator.
  std::string name;
  /// Empty if unknown.
  std::string arch;
  std::string pipeline = "compv3", scheduler = "intrawave", epilogue = "cshuffle", specialization = "default";
  /// Empty if it is not a stream-K kernel.
  std::string stream_k_reduction;
  /// Its strings are those of this object.
  ck_conv_kernel_desc key;

  /// The C struct, with pointers to this object's strings.
  [[nodiscard]] ck_conv_kernel_desc capi() const {
    ck_conv_kernel_desc raw = key;
    raw.name = detail::optional_text(name, "name");
    raw.arch = detail::optional_text(arch, "arch");
    raw.pipeline = detail::text(pipeline, "pipeline");
    raw.scheduler = detail::text(scheduler, "scheduler");
    raw.epilogue = detail::text(epilogue, "epilogue");
    raw.specialization = detail::text(specialization, "specialization");
    raw.stream_k.reduction = detail::optional_text(stream_k_reduction, "stream_k_reduction");
    return raw;
  }
};

/// Descriptor of a GEMM kernel, see ck_gemm_kernel_desc: its words here, its numbers in `key`.
struct GemmKernel {
  GemmKernel() { detail::check(ck_gemm_kernel_desc_init(&key)); }

  /// Empty for CK's identifier.
  std::string name;
  /// Empty if unknown.
  std::string arch;
  std::string elementwise = "PassThrough";
  std::string pipeline = "compv3", scheduler = "intrawave", epilogue = "cshuffle";
  /// How a stream-K kernel reduces its partial results; empty if it is not a stream-K kernel.
  std::string stream_k_reduction;
  /// Which operands have scales: "aquant", "mx" and so on; empty for none.
  std::string quant;
  /// Its strings are those of this object.
  ck_gemm_kernel_desc key;

  /// The C struct, with pointers to this object's strings.
  [[nodiscard]] ck_gemm_kernel_desc capi() const {
    ck_gemm_kernel_desc raw = key;
    raw.name = detail::optional_text(name, "name");
    raw.arch = detail::optional_text(arch, "arch");
    raw.elementwise = detail::text(elementwise, "elementwise");
    raw.pipeline = detail::text(pipeline, "pipeline");
    raw.scheduler = detail::text(scheduler, "scheduler");
    raw.epilogue = detail::text(epilogue, "epilogue");
    raw.variant.stream_k = detail::optional_text(stream_k_reduction, "stream_k_reduction");
    raw.variant.quant.mode = detail::optional_text(quant, "quant");
    return raw;
  }
};

/// Descriptor of an attention kernel, see ck_fmha_kernel_desc: its words here, its numbers in `key`.
struct FmhaKernel {
  FmhaKernel() { detail::check(ck_fmha_kernel_desc_init(&key)); }

  /// Empty for CK's identifier.
  std::string name;
  /// Empty if unknown.
  std::string arch;
  std::string pipeline = "qr";
  std::string constraint_tag;
  /// Its strings are those of this object.
  ck_fmha_kernel_desc key;

  /// The C struct, with pointers to this object's strings.
  [[nodiscard]] ck_fmha_kernel_desc capi() const {
    ck_fmha_kernel_desc raw = key;
    raw.name = detail::optional_text(name, "name");
    raw.arch = detail::optional_text(arch, "arch");
    raw.pipeline = detail::text(pipeline, "pipeline");
    raw.constraint_tag = detail::optional_text(constraint_tag, "constraint_tag");
    return raw;
  }
};

}  // namespace ck_select

#endif  // CK_SELECT_KERNEL_HPP
