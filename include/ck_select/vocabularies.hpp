/* The vocabularies as enums, and their words in files and kernel names. Made by tests/header/main.rs; do not edit. */

#ifndef CK_SELECT_VOCABULARIES_HPP
#define CK_SELECT_VOCABULARIES_HPP

#include <cstdint>
#include <string_view>

namespace ck_select {

enum class Direction : std::int32_t {
    forward, bwd_data, bwd_weight
};
namespace detail {
inline constexpr std::string_view direction_words[] = {
    "forward", "bwd_data", "bwd_weight"
};
}  // namespace detail

enum class Dtype : std::int32_t {
    fp16, bf16, fp32, fp64, fp8, bf8, int8, int4, int32, pk_fp4, pk_int4, fp8fp16, fp8bf16, fp8fp32, mxfp8,
    mxfp4
};
namespace detail {
inline constexpr std::string_view dtype_words[] = {
    "fp16", "bf16", "fp32", "fp64", "fp8", "bf8", "int8", "int4", "int32", "pk_fp4", "pk_int4", "fp8fp16",
    "fp8bf16", "fp8fp32", "mxfp8", "mxfp4"
};
}  // namespace detail

enum class Major : std::int32_t {
    row, col, packed
};
namespace detail {
inline constexpr std::string_view major_words[] = {
    "r", "c", "p"
};
}  // namespace detail

enum class ConvLayout : std::int32_t {
    nwgc, nhwgc, ndhwgc, nwc, nhwc, ndhwc, gnwc, gnhwc, gndhwc, ngcw, ngchw, ngcdhw, ncw, nchw, ncdhw
};
namespace detail {
inline constexpr std::string_view conv_layout_words[] = {
    "nwgc", "nhwgc", "ndhwgc", "nwc", "nhwc", "ndhwc", "gnwc", "gnhwc", "gndhwc", "ngcw", "ngchw", "ngcdhw",
    "ncw", "nchw", "ncdhw"
};
}  // namespace detail

enum class Op : std::int32_t { gemm, conv, fmha, moe };

}  // namespace ck_select

#endif  // CK_SELECT_VOCABULARIES_HPP
