/* Problems, for which kernels are chosen, and the C functions that take them. */

#ifndef CK_SELECT_PROBLEM_HPP
#define CK_SELECT_PROBLEM_HPP

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "error.hpp"

namespace ck_select {

namespace detail {

/// Sets fields of a C struct, one after the other.
template <class Problem>
class Setters {
 protected:
  template <class Field, class Value>
  Problem& set(Field& field, Value value) noexcept {
    field = static_cast<Field>(value);
    return static_cast<Problem&>(*this);
  }
};

}  // namespace detail

/// A grouped convolution, see ck_conv_problem. Default: a forward bf16 NHWGC convolution with every extent 1.
class ConvProblem : public detail::Setters<ConvProblem> {
 public:
  ConvProblem() noexcept { ck_conv_problem_init(&raw_); }
  ConvProblem(const ConvProblem& other) noexcept : raw_(other.raw_), arch_(other.arch_) { point(); }
  ConvProblem& operator=(const ConvProblem& other) noexcept {
    raw_ = other.raw_;
    arch_ = other.arch_;
    point();
    return *this;
  }

  ConvProblem& direction(Direction value) noexcept { return set(raw_.direction, value); }
  ConvProblem& batch(std::int64_t n) noexcept { return set(raw_.n, n); }
  /// Input and output channels, totals over all groups.
  ConvProblem& channels(std::int64_t c, std::int64_t k) noexcept { return set(raw_.c, c).set(raw_.k, k); }
  ConvProblem& groups(std::int64_t g) noexcept { return set(raw_.g, g); }

  /// One to three extents in the order depth, height, width; their count is the number of dimensions.
  template <class... Extents>
  ConvProblem& input(Extents... extents) noexcept {
    raw_.ndim = static_cast<std::int32_t>(sizeof...(extents));
    return axes(raw_.input, 1, extents...);
  }
  template <class... Extents>
  ConvProblem& filter(Extents... extents) noexcept {
    return axes(raw_.filter, 1, extents...);
  }
  template <class... Steps>
  ConvProblem& stride(Steps... steps) noexcept {
    return axes(raw_.stride, 1, steps...);
  }
  template <class... Steps>
  ConvProblem& dilation(Steps... steps) noexcept {
    return axes(raw_.dilation, 1, steps...);
  }
  /// The same on both sides.
  template <class... Sizes>
  ConvProblem& padding(Sizes... sizes) noexcept {
    return padding_left(sizes...).padding_right(sizes...);
  }
  template <class... Sizes>
  ConvProblem& padding_left(Sizes... sizes) noexcept {
    return axes(raw_.pad_left, 0, sizes...);
  }
  template <class... Sizes>
  ConvProblem& padding_right(Sizes... sizes) noexcept {
    return axes(raw_.pad_right, 0, sizes...);
  }

  ConvProblem& split_k(std::int32_t parts) noexcept { return set(raw_.split_k, parts); }
  /// Sets the type of all three operands.
  ConvProblem& dtype(Dtype value) noexcept { return dtypes(value, value, value); }
  ConvProblem& dtypes(Dtype in, Dtype wei, Dtype out) noexcept {
    return set(raw_.dtype_in, in).set(raw_.dtype_wei, wei).set(raw_.dtype_out, out);
  }
  ConvProblem& layout(ConvLayout value) noexcept { return set(raw_.layout, value); }
  /// Empty for the registry's default.
  ConvProblem& arch(std::string_view arch) {
    arch_.set(arch);
    point();
    return *this;
  }

  /// The C struct; valid while this object lives unchanged.
  [[nodiscard]] const ck_conv_problem& capi() const noexcept { return raw_; }
  /// For fields without a setter. `arch` belongs to this object: set it with arch().
  [[nodiscard]] ck_conv_problem& capi() noexcept { return raw_; }

 private:
  template <class... Values>
  ConvProblem& axes(std::int64_t (&field)[3], std::int64_t rest, Values... values) noexcept {
    static_assert(sizeof...(values) >= 1 && sizeof...(values) <= 3, "one to three axes: depth, height, width");
    std::fill(std::begin(field), std::end(field), rest);
    std::size_t at = 3 - sizeof...(values);
    ((field[at++] = static_cast<std::int64_t>(values)), ...);
    return *this;
  }

  void point() noexcept { raw_.arch = arch_.get_optional(); }

  ck_conv_problem raw_{};
  detail::ArchText arch_;
};

/// A GEMM, see ck_gemm_problem. Default: 1x1x1, fp8, layout rcr.
class GemmProblem : public detail::Setters<GemmProblem> {
 public:
  GemmProblem() noexcept { ck_gemm_problem_init(&raw_); }
  GemmProblem(std::int64_t m, std::int64_t n, std::int64_t k) noexcept : GemmProblem() { size(m, n, k); }
  GemmProblem(const GemmProblem& other) : raw_(other.raw_), arch_(other.arch_), groups_(other.groups_) { point(); }
  GemmProblem& operator=(const GemmProblem& other) {
    std::vector<ck_gemm_group>(other.groups_).swap(groups_);
    raw_ = other.raw_;
    arch_ = other.arch_;
    point();
    return *this;
  }

  GemmProblem& size(std::int64_t m, std::int64_t n, std::int64_t k) noexcept {
    return set(raw_.m, m).set(raw_.n, n).set(raw_.k, k);
  }
  GemmProblem& split_k(std::int32_t parts) noexcept { return set(raw_.split_k, parts); }
  GemmProblem& dtypes(Dtype a, Dtype b, Dtype c) noexcept {
    return set(raw_.dtype_a, a).set(raw_.dtype_b, b).set(raw_.dtype_c, c);
  }
  GemmProblem& layout(Major a, Major b, Major c) noexcept {
    const Major orders[] = {a, b, c};
    std::transform(std::begin(orders), std::end(orders), raw_.layout,
                   [](Major order) { return static_cast<std::int32_t>(order); });
    return *this;
  }
  /// GEMMs of these extents in one launch; 0 for one that is no batch.
  GemmProblem& batch(std::int32_t count) noexcept { return set(raw_.request.batch, count); }
  /// GEMMs of any extents in one launch, in any order; at most 8 different ones. The problem's own extents are those of
  /// the one with the most work, and need not be set.
  GemmProblem& groups(std::vector<ck_gemm_group> groups) noexcept {
    groups_ = std::move(groups);
    point();
    return *this;
  }
  /// "tree", "linear" or "atomic", or null for none: a text that lives as long as this object.
  GemmProblem& stream_k(const char* reduction) noexcept { return set(raw_.request.stream_k, reduction); }
  /// Number of D tensors.
  GemmProblem& num_d(std::int32_t tensors) noexcept { return set(raw_.request.num_d, tensors); }
  /// B is stored in the order in which kernels read it.
  GemmProblem& preshuffle(bool is_preshuffled) noexcept {
    return set(raw_.request.preshuffle, is_preshuffled ? 1 : 0);
  }
  /// Scales of the operands ("aquant", "mx" and so on, a text that lives as long as this object; null for none), for
  /// the usual groups of elements; others are set through capi().
  GemmProblem& quant(const char* mode) noexcept { return set(raw_.request.quant, mode); }
  /// Empty for the registry's default.
  GemmProblem& arch(std::string_view arch) {
    arch_.set(arch);
    point();
    return *this;
  }

  /// The C struct; valid while this object lives unchanged.
  [[nodiscard]] const ck_gemm_problem& capi() const noexcept { return raw_; }
  /// For fields without a setter. `arch` and `groups` belong to this object: set them with arch() and groups().
  [[nodiscard]] ck_gemm_problem& capi() noexcept { return raw_; }

 private:
  void point() noexcept {
    raw_.arch = arch_.get_optional();
    raw_.request.groups = {groups_.empty() ? nullptr : groups_.data(), groups_.size()};
  }

  ck_gemm_problem raw_{};
  detail::ArchText arch_;
  std::vector<ck_gemm_group> groups_;
};

/// Attention, see ck_fmha_problem. Default: forward, fp16, one sequence with one query, key and head of 128 elements.
/// Fields without a setter are set through capi().
class FmhaProblem : public detail::Setters<FmhaProblem> {
 public:
  FmhaProblem() noexcept { ck_fmha_problem_init(&raw_); }
  FmhaProblem(const FmhaProblem& other) noexcept : raw_(other.raw_), arch_(other.arch_) { point(); }
  FmhaProblem& operator=(const FmhaProblem& other) noexcept {
    raw_ = other.raw_;
    arch_ = other.arch_;
    point();
    return *this;
  }

  FmhaProblem& lengths(std::int64_t batch, std::int64_t queries, std::int64_t keys) noexcept {
    return set(raw_.batch, batch).set(raw_.seqlen_q, queries).set(raw_.seqlen_k, keys);
  }
  FmhaProblem& heads(std::int64_t queries, std::int64_t keys) noexcept {
    return set(raw_.nhead_q, queries).set(raw_.nhead_k, keys);
  }
  FmhaProblem& hdims(std::int64_t queries, std::int64_t values) noexcept {
    return set(raw_.hdim_q, queries).set(raw_.hdim_v, values);
  }
  FmhaProblem& dtype(Dtype dtype) noexcept { return set(raw_.dtype, dtype); }
  /// For which stage a kernel is chosen; the API must be the one that has it.
  FmhaProblem& stage(ck_fmha_api api, ck_fmha_family family) noexcept {
    return set(raw_.api_family, api).set(raw_.family, family);
  }
  /// Empty for the registry's default.
  FmhaProblem& arch(std::string_view arch) {
    arch_.set(arch);
    point();
    return *this;
  }

  /// The C struct; valid while this object lives unchanged.
  [[nodiscard]] const ck_fmha_problem& capi() const noexcept { return raw_; }
  /// For fields without a setter. `arch` belongs to this object: set it with arch().
  [[nodiscard]] ck_fmha_problem& capi() noexcept { return raw_; }

 private:
  void point() noexcept { raw_.arch = arch_.get_optional(); }

  ck_fmha_problem raw_{};
  detail::ArchText arch_;
};

namespace detail {

// One name for all operations.
[[nodiscard]] inline const ck_conv_problem& raw(const ck_conv_problem& problem) noexcept { return problem; }
[[nodiscard]] inline const ck_conv_problem& raw(const ConvProblem& problem) noexcept { return problem.capi(); }
[[nodiscard]] inline const ck_gemm_problem& raw(const ck_gemm_problem& problem) noexcept { return problem; }
[[nodiscard]] inline const ck_gemm_problem& raw(const GemmProblem& problem) noexcept { return problem.capi(); }
[[nodiscard]] inline const ck_fmha_problem& raw(const ck_fmha_problem& problem) noexcept { return problem; }
[[nodiscard]] inline const ck_fmha_problem& raw(const FmhaProblem& problem) noexcept { return problem.capi(); }

template <class Problem>
struct Calls;

template <>
struct Calls<ck_conv_problem> {
  static constexpr auto select = ck_registry_select_conv;
  static constexpr auto rank = ck_registry_rank_conv;
  static constexpr auto predict = ck_registry_predict_conv;
  static constexpr auto features = ck_registry_extract_conv;
  static constexpr auto explain = ck_registry_explain_conv;
};

template <>
struct Calls<ck_gemm_problem> {
  static constexpr auto select = ck_registry_select_gemm;
  static constexpr auto rank = ck_registry_rank_gemm;
  static constexpr auto predict = ck_registry_predict_gemm;
  static constexpr auto features = ck_registry_extract_gemm;
  static constexpr auto explain = ck_registry_explain_gemm;
};

template <>
struct Calls<ck_fmha_problem> {
  static constexpr auto select = ck_registry_select_fmha;
  static constexpr auto rank = ck_registry_rank_fmha;
  static constexpr auto predict = ck_registry_predict_fmha;
  static constexpr auto features = ck_registry_extract_fmha;
  static constexpr auto explain = ck_registry_explain_fmha;
};

template <class Problem>
using CallsFor = Calls<std::decay_t<decltype(raw(std::declval<const Problem&>()))>>;

}  // namespace detail

}  // namespace ck_select

#endif  // CK_SELECT_PROBLEM_HPP
