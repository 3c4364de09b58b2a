/* Descriptors of kernels. */

#ifndef CK_SELECT_KERNEL_HPP
#define CK_SELECT_KERNEL_HPP

#include <algorithm>
#include <array>
#include <string>

#include "error.hpp"

namespace ck_select {

/// Descriptor of a convolution kernel, with the defaults of CK's key; see ck_conv_kernel_desc. Words are those of
/// kernel names.
struct ConvKernel {
  // Not an aggregate, so that braces around names do not become a descriptor.
  ConvKernel() {}

  /// Empty for the name of CK's code generator.
  std::string name;
  /// Empty if unknown.
  std::string arch;
  Direction direction = Direction::forward;
  int ndim = 2;
  Dtype dtype_in = Dtype::bf16, dtype_wei = Dtype::bf16, dtype_out = Dtype::bf16;
  ConvLayout layout = ConvLayout::nhwgc;
  /// m, n, k.
  std::array<int, 3> tile{1, 128, 128}, wave{2, 2, 1}, warp_tile{32, 32, 16};
  /// Of A, B and C.
  std::array<int, 3> vector{4, 8, 8};
  std::string pipeline = "compv3", scheduler = "intrawave", epilogue = "cshuffle", specialization = "default";
  int block_per_cu = 1, num_wave_groups = 1, num_groups_to_merge = 1;
  bool double_smem_buffer = false, split_image = false, explicit_gemm = false, two_stage = false;
  /// Empty if it is not a stream-K kernel.
  std::string stream_k_reduction;
  bool stream_k_persistent = false;

  /// The C struct, with pointers to this object's strings.
  [[nodiscard]] ck_conv_kernel_desc capi() const {
    ck_conv_kernel_desc raw;
    detail::check(ck_conv_kernel_desc_init(&raw));
    raw.name = detail::optional_text(name, "name");
    raw.arch = detail::optional_text(arch, "arch");
    raw.pipeline = detail::text(pipeline, "pipeline");
    raw.scheduler = detail::text(scheduler, "scheduler");
    raw.epilogue = detail::text(epilogue, "epilogue");
    raw.specialization = detail::text(specialization, "specialization");
    raw.stream_k.reduction = detail::optional_text(stream_k_reduction, "stream_k_reduction");
    raw.direction = static_cast<std::int32_t>(direction);
    raw.ndim = ndim;
    raw.dtype_in = static_cast<std::int32_t>(dtype_in);
    raw.dtype_wei = static_cast<std::int32_t>(dtype_wei);
    raw.dtype_out = static_cast<std::int32_t>(dtype_out);
    raw.layout = static_cast<std::int32_t>(layout);
    std::copy(tile.begin(), tile.end(), raw.tile);
    std::copy(wave.begin(), wave.end(), raw.wave);
    std::copy(warp_tile.begin(), warp_tile.end(), raw.warp_tile);
    std::copy(vector.begin(), vector.end(), raw.vector);
    raw.block_per_cu = block_per_cu;
    raw.num_wave_groups = num_wave_groups;
    raw.num_groups_to_merge = num_groups_to_merge;
    raw.double_smem_buffer = double_smem_buffer ? 1 : 0;
    raw.split_image = split_image ? 1 : 0;
    raw.explicit_gemm = explicit_gemm ? 1 : 0;
    raw.two_stage = two_stage ? 1 : 0;
    raw.stream_k.persistent = stream_k_persistent ? 1 : 0;
    return raw;
  }
};

/// Descriptor of a GEMM kernel, see ck_gemm_kernel_desc. Words are those of kernel names.
struct GemmKernel {
  GemmKernel() {}

  /// Empty for CK's identifier.
  std::string name;
  /// Empty if unknown.
  std::string arch;
  Dtype dtype_a = Dtype::fp8, dtype_b = Dtype::fp8, dtype_c = Dtype::fp16, dtype_acc = Dtype::fp32;
  Major layout_a = Major::row, layout_b = Major::col, layout_c = Major::row;
  bool transpose_a = false, transpose_b = false, grouped = false;
  int split_k = 1;
  std::string elementwise = "PassThrough";
  int num_d_tensors = 0;
  bool structured_sparsity = false;
  /// m, n, k.
  std::array<int, 3> tile{128, 128, 64}, wave{2, 2, 1}, warp_tile{32, 32, 16};
  std::array<bool, 3> pad{true, true, true};
  /// Of A, B and C; 0 for the kernel's own.
  std::array<int, 3> vector{0, 0, 0};
  std::string pipeline = "compv3", scheduler = "intrawave", epilogue = "cshuffle";
  int block_size = 0;
  bool double_buffer = false, persistent = false, preshuffle = false, transpose_c = false;
  int num_wave_groups = 1;
  bool batched = false;
  /// How a stream-K kernel reduces its partial results; empty if it is not a stream-K kernel.
  std::string stream_k_reduction;
  /// Which operands have scales: "aquant", "mx" and so on; empty for none.
  std::string quant;
  /// Elements of A and of B that share a scale: m, n, k; zeros for the usual ones.
  std::array<int, 3> quant_group_a{0, 0, 0}, quant_group_b{0, 0, 0};
  /// The scales of A, and of B, are stored in the order in which they are read.
  std::array<bool, 2> shuffled_scales{false, false};
  Major d_layout = Major::row;
  int block_per_cu = 1;

  /// The C struct, with pointers to this object's strings.
  [[nodiscard]] ck_gemm_kernel_desc capi() const {
    ck_gemm_kernel_desc raw;
    detail::check(ck_gemm_kernel_desc_init(&raw));
    raw.name = detail::optional_text(name, "name");
    raw.arch = detail::optional_text(arch, "arch");
    raw.pipeline = detail::text(pipeline, "pipeline");
    raw.scheduler = detail::text(scheduler, "scheduler");
    raw.epilogue = detail::text(epilogue, "epilogue");
    raw.elementwise = detail::text(elementwise, "elementwise");
    raw.dtype_a = static_cast<std::int32_t>(dtype_a);
    raw.dtype_b = static_cast<std::int32_t>(dtype_b);
    raw.dtype_c = static_cast<std::int32_t>(dtype_c);
    raw.dtype_acc = static_cast<std::int32_t>(dtype_acc);
    raw.layout[0] = static_cast<std::int32_t>(layout_a);
    raw.layout[1] = static_cast<std::int32_t>(layout_b);
    raw.layout[2] = static_cast<std::int32_t>(layout_c);
    raw.transpose_a = transpose_a ? 1 : 0;
    raw.transpose_b = transpose_b ? 1 : 0;
    raw.grouped = grouped ? 1 : 0;
    raw.split_k = split_k;
    raw.num_d_tensors = num_d_tensors;
    raw.structured_sparsity = structured_sparsity ? 1 : 0;
    std::copy(tile.begin(), tile.end(), raw.tile);
    std::copy(wave.begin(), wave.end(), raw.wave);
    std::copy(warp_tile.begin(), warp_tile.end(), raw.warp_tile);
    std::copy(pad.begin(), pad.end(), raw.pad);
    std::copy(vector.begin(), vector.end(), raw.vector);
    raw.block_size = block_size;
    raw.double_buffer = double_buffer ? 1 : 0;
    raw.persistent = persistent ? 1 : 0;
    raw.preshuffle = preshuffle ? 1 : 0;
    raw.transpose_c = transpose_c ? 1 : 0;
    raw.num_wave_groups = num_wave_groups;
    raw.variant.batched = batched ? 1 : 0;
    raw.variant.stream_k = detail::optional_text(stream_k_reduction, "stream_k_reduction");
    raw.variant.quant.mode = detail::optional_text(quant, "quant");
    std::copy(quant_group_a.begin(), quant_group_a.end(), raw.variant.quant.group_a);
    std::copy(quant_group_b.begin(), quant_group_b.end(), raw.variant.quant.group_b);
    std::copy(shuffled_scales.begin(), shuffled_scales.end(), raw.variant.shuffled_scales);
    raw.variant.d_layout = static_cast<std::int32_t>(d_layout);
    raw.variant.block_per_cu = block_per_cu;
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
