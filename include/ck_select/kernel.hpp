/* Descriptors of kernels: words, which are those of kernel names, and numbers, at first those of CK's default key;
 * capi() points to the words. No aggregates, so that braces around names do not become a descriptor. Made by
 * tests/header/main.rs; do not edit. */

#ifndef CK_SELECT_KERNEL_HPP
#define CK_SELECT_KERNEL_HPP

#include <string>

#include "error.hpp"

namespace ck_select {

/// See ck_gemm_kernel_desc.
struct GemmKernel {
  GemmKernel() { detail::check(ck_gemm_kernel_desc_init(&key)); }

  /// Empty for CK's own name.
  std::string name;
  /// The architecture that it was built for, when known. Empty if unknown.
  std::string arch;
  /// What is done to each element of the result: "PassThrough", "Relu", "MultiDAdd" and so on.
  std::string elementwise = "PassThrough";
  /// How loads overlap with arithmetic: "compv3", "mem" and so on.
  std::string pipeline = "compv3";
  /// How waves are interleaved: "intrawave", "interwave" or "auto".
  std::string scheduler = "intrawave";
  /// How results leave the registers: "cshuffle", "default" and so on.
  std::string epilogue = "cshuffle";
  /// How workgroups that take equal shares of all steps add their partial results: "tree", "linear" or "atomic";
  /// absent where workgroups take whole tiles. Empty for none.
  std::string stream_k;
  /// Scales of its operands.
  std::string quant;
  /// The numbers; its words are those of this object.
  ck_gemm_kernel_desc key;

  [[nodiscard]] ck_gemm_kernel_desc capi() const {
    ck_gemm_kernel_desc raw = key;
    raw.name = detail::optional_text(name, "name");
    raw.arch = detail::optional_text(arch, "arch");
    raw.elementwise = detail::text(elementwise, "elementwise");
    raw.pipeline = detail::text(pipeline, "pipeline");
    raw.scheduler = detail::text(scheduler, "scheduler");
    raw.epilogue = detail::text(epilogue, "epilogue");
    raw.variant.stream_k = detail::optional_text(stream_k, "stream_k");
    raw.variant.quant.mode = detail::optional_text(quant, "quant");
    return raw;
  }
  static constexpr auto add_all = ck_registry_add_gemm_kernels;
};

/// See ck_conv_kernel_desc.
struct ConvKernel {
  ConvKernel() { detail::check(ck_conv_kernel_desc_init(&key)); }

  /// Empty for CK's own name.
  std::string name;
  /// The architecture that it was built for, when known. Empty if unknown.
  std::string arch;
  /// How loads overlap with arithmetic: "compv3", "mem" and so on.
  std::string pipeline = "compv3";
  /// How waves are interleaved: "intrawave", "interwave" or "auto".
  std::string scheduler = "intrawave";
  /// How results leave the registers: "cshuffle", "default" and so on.
  std::string epilogue = "cshuffle";
  /// What it assumes about problems: "default", "filter1x1_stride1_pad0" and so on.
  std::string specialization = "default";
  /// Stream-K decomposition, if it is a stream-K kernel.
  std::string stream_k;
  /// The numbers; its words are those of this object.
  ck_conv_kernel_desc key;

  [[nodiscard]] ck_conv_kernel_desc capi() const {
    ck_conv_kernel_desc raw = key;
    raw.name = detail::optional_text(name, "name");
    raw.arch = detail::optional_text(arch, "arch");
    raw.pipeline = detail::text(pipeline, "pipeline");
    raw.scheduler = detail::text(scheduler, "scheduler");
    raw.epilogue = detail::text(epilogue, "epilogue");
    raw.specialization = detail::text(specialization, "specialization");
    raw.stream_k.reduction = detail::optional_text(stream_k, "stream_k");
    return raw;
  }
  static constexpr auto add_all = ck_registry_add_conv_kernels;
};

/// See ck_fmha_kernel_desc.
struct FmhaKernel {
  FmhaKernel() { detail::check(ck_fmha_kernel_desc_init(&key)); }

  /// Empty for CK's own name.
  std::string name;
  /// What else distinguishes it (CK's "constraint_tag"), mostly empty. Empty for none.
  std::string constraint_tag;
  /// The architecture that it was built for, when known. Empty if unknown.
  std::string arch;
  /// How keys and values are loaded: "qr", "qr_async" and so on.
  std::string pipeline = "qr";
  /// The numbers; its words are those of this object.
  ck_fmha_kernel_desc key;

  [[nodiscard]] ck_fmha_kernel_desc capi() const {
    ck_fmha_kernel_desc raw = key;
    raw.name = detail::optional_text(name, "name");
    raw.constraint_tag = detail::optional_text(constraint_tag, "constraint_tag");
    raw.arch = detail::optional_text(arch, "arch");
    raw.pipeline = detail::text(pipeline, "pipeline");
    return raw;
  }
  static constexpr auto add_all = ck_registry_add_fmha_kernels;
};

/// See ck_moe_kernel_desc.
struct MoeKernel {
  MoeKernel() { detail::check(ck_moe_kernel_desc_init(&key)); }

  /// Empty for CK's own name.
  std::string name;
  /// The architecture that it was built for, when known. Empty if unknown.
  std::string arch;
  /// The product that it computes; absent for one of Triton's kernels, which computes either. Empty for none.
  std::string stage;
  /// What one of CK's kernels does to its results. Empty for none.
  std::string epilogue;
  /// What shares a scale in one of CK's kernels; Triton's read scales as they are launched. Empty for none.
  std::string quant;
  /// The function that stage 1 of CK's kernels ends with. Empty for none.
  std::string activation;
  /// The numbers; its words are those of this object.
  ck_moe_kernel_desc key;

  [[nodiscard]] ck_moe_kernel_desc capi() const {
    ck_moe_kernel_desc raw = key;
    raw.name = detail::optional_text(name, "name");
    raw.arch = detail::optional_text(arch, "arch");
    raw.stage = detail::optional_text(stage, "stage");
    raw.epilogue = detail::optional_text(epilogue, "epilogue");
    raw.quant = detail::optional_text(quant, "quant");
    raw.activation = detail::optional_text(activation, "activation");
    return raw;
  }
  static constexpr auto add_all = ck_registry_add_moe_kernels;
};

}  // namespace ck_select

#endif  // CK_SELECT_KERNEL_HPP
