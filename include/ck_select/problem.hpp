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

#include "hooks.hpp"

namespace ck_select {

namespace detail {

// The C functions and the hooks of an operation, by the struct of its problems.
template <class Raw>
struct Calls;

// Made by tests/header/main.rs: calls.
template <>
struct Calls<ck_gemm_problem> {
  static constexpr auto init = ck_gemm_problem_init;
  static constexpr auto select = ck_registry_select_gemm;
  static constexpr auto rank = ck_registry_rank_gemm;
  static constexpr auto predict = ck_registry_predict_gemm;
  static constexpr auto features = ck_registry_extract_gemm;
  static constexpr auto explain = ck_registry_explain_gemm;
  static constexpr auto supports = &Hooks::supports_gemm;
  static constexpr auto run = &Hooks::run_gemm;
};
[[nodiscard]] inline const ck_gemm_problem& raw(const ck_gemm_problem& problem) noexcept { return problem; }

template <>
struct Calls<ck_conv_problem> {
  static constexpr auto init = ck_conv_problem_init;
  static constexpr auto select = ck_registry_select_conv;
  static constexpr auto rank = ck_registry_rank_conv;
  static constexpr auto predict = ck_registry_predict_conv;
  static constexpr auto features = ck_registry_extract_conv;
  static constexpr auto explain = ck_registry_explain_conv;
  static constexpr auto supports = &Hooks::supports_conv;
  static constexpr auto run = &Hooks::run_conv;
};
[[nodiscard]] inline const ck_conv_problem& raw(const ck_conv_problem& problem) noexcept { return problem; }

template <>
struct Calls<ck_fmha_problem> {
  static constexpr auto init = ck_fmha_problem_init;
  static constexpr auto select = ck_registry_select_fmha;
  static constexpr auto rank = ck_registry_rank_fmha;
  static constexpr auto predict = ck_registry_predict_fmha;
  static constexpr auto features = ck_registry_extract_fmha;
  static constexpr auto explain = ck_registry_explain_fmha;
  static constexpr auto supports = &Hooks::supports_fmha;
  static constexpr auto run = &Hooks::run_fmha;
};
[[nodiscard]] inline const ck_fmha_problem& raw(const ck_fmha_problem& problem) noexcept { return problem; }

template <>
struct Calls<ck_moe_problem> {
  static constexpr auto init = ck_moe_problem_init;
  static constexpr auto select = ck_registry_select_moe;
  static constexpr auto rank = ck_registry_rank_moe;
  static constexpr auto predict = ck_registry_predict_moe;
  static constexpr auto features = ck_registry_extract_moe;
  static constexpr auto explain = ck_registry_explain_moe;
  static constexpr auto supports = &Hooks::supports_moe;
  static constexpr auto run = &Hooks::run_moe;
};
[[nodiscard]] inline const ck_moe_problem& raw(const ck_moe_problem& problem) noexcept { return problem; }

// End of what is made.

/// A C struct, with the architecture to which it points. `Problem` adds the setters.
template <class Problem, class Raw>
class ProblemOf {
 public:
  /// Empty for the registry's default.
  Problem& arch(std::string_view arch) {
    arch_.set(arch);
    raw_.arch = arch_.get_optional();
    return static_cast<Problem&>(*this);
  }

  /// The C struct; valid while this object lives unchanged.
  [[nodiscard]] const Raw& capi() const noexcept { return raw_; }
  /// To set fields here. `arch` and lists belong to this object: set them with its own functions.
  [[nodiscard]] Raw& capi() noexcept { return raw_; }

 protected:
  ProblemOf() noexcept { Calls<Raw>::init(&raw_); }
  ProblemOf(const ProblemOf& other) noexcept { *this = other; }
  ProblemOf& operator=(const ProblemOf& other) noexcept {
    raw_ = other.raw_;
    arch_ = other.arch_;
    raw_.arch = arch_.get_optional();
    return *this;
  }
  ~ProblemOf() = default;

  template <class Field, class Value>
  Problem& set(Field& field, Value value) noexcept {
    field = static_cast<Field>(value);
    return static_cast<Problem&>(*this);
  }
  template <class Field, class Value>
  Problem& set(Field (&field)[3], Value first, Value second, Value third) noexcept {
    return set(field[0], first).set(field[1], second).set(field[2], third);
  }

  /// Sets the last axes, and the first ones to the rest.
  template <class... Values>
  Problem& axes(std::int64_t (&field)[3], std::int64_t rest, Values... values) noexcept {
    static_assert(sizeof...(values) >= 1 && sizeof...(values) <= 3, "one to three axes: depth, height, width");
    std::fill(std::begin(field), std::end(field), rest);
    std::size_t at = 3 - sizeof...(values);
    ((field[at++] = static_cast<std::int64_t>(values)), ...);
    return static_cast<Problem&>(*this);
  }

  Raw raw_{};
  ArchText arch_;
};

inline void point(ck_gemm_problem& raw, const ck_gemm_group* first, std::size_t count) noexcept {
  raw.request.groups = {first, count, sizeof(ck_gemm_group)};
}
inline void point(ck_moe_problem& raw, const std::int32_t* first, std::size_t count) noexcept {
  raw.histogram = first;
  raw.histogram_count = count;
}

/// A C struct that points to a list, too, of which each copy has its own.
template <class Problem, class Raw, class Element>
class ListedProblemOf : public ProblemOf<Problem, Raw> {
 protected:
  ListedProblemOf() noexcept = default;
  ListedProblemOf(const ListedProblemOf& other) : ProblemOf<Problem, Raw>(other), list_(other.list_) { point_to_list(); }
  ListedProblemOf& operator=(const ListedProblemOf& other) {
    std::vector<Element>(other.list_).swap(list_);
    ProblemOf<Problem, Raw>::operator=(other);
    point_to_list();
    return *this;
  }
  ~ListedProblemOf() = default;

  Problem& list(std::vector<Element> elements) noexcept {
    list_ = std::move(elements);
    point_to_list();
    return static_cast<Problem&>(*this);
  }

 private:
  void point_to_list() noexcept { point(this->raw_, list_.empty() ? nullptr : list_.data(), list_.size()); }

  std::vector<Element> list_;
};

}  // namespace detail

/// A grouped convolution, see ck_conv_problem. Default: a forward bf16 NHWGC convolution with every extent 1.
class ConvProblem : public detail::ProblemOf<ConvProblem, ck_conv_problem> {
 public:
  // Of each axis one to three numbers, in the order depth, height, width.
  // Made by tests/header/main.rs: setters of Conv.
  ConvProblem& direction(Direction value) noexcept { return set(raw_.direction, value); }
  ConvProblem& ndim(std::int32_t value) noexcept { return set(raw_.ndim, value); }
  ConvProblem& batch(std::int64_t value) noexcept { return set(raw_.n, value); }
  ConvProblem& c(std::int64_t value) noexcept { return set(raw_.c, value); }
  ConvProblem& k(std::int64_t value) noexcept { return set(raw_.k, value); }
  ConvProblem& groups(std::int64_t value) noexcept { return set(raw_.g, value); }
  template <class... Values>
  ConvProblem& filter(Values... values) noexcept { return axes(raw_.filter, 1, values...); }
  template <class... Values>
  ConvProblem& stride(Values... values) noexcept { return axes(raw_.stride, 1, values...); }
  template <class... Values>
  ConvProblem& dilation(Values... values) noexcept { return axes(raw_.dilation, 1, values...); }
  template <class... Values>
  ConvProblem& padding_left(Values... values) noexcept { return axes(raw_.pad_left, 0, values...); }
  template <class... Values>
  ConvProblem& padding_right(Values... values) noexcept { return axes(raw_.pad_right, 0, values...); }
  ConvProblem& split_k(std::int32_t value) noexcept { return set(raw_.split_k, value); }
  ConvProblem& dtype_in(Dtype value) noexcept { return set(raw_.dtype_in, value); }
  ConvProblem& dtype_wei(Dtype value) noexcept { return set(raw_.dtype_wei, value); }
  ConvProblem& dtype_out(Dtype value) noexcept { return set(raw_.dtype_out, value); }
  ConvProblem& layout(ConvLayout value) noexcept { return set(raw_.layout, value); }
  // End of what is made.

  /// Sets the number of dimensions, too, which is that of the extents.
  template <class... Extents>
  ConvProblem& input(Extents... extents) noexcept {
    return ndim(static_cast<std::int32_t>(sizeof...(extents))).axes(raw_.input, 1, extents...);
  }
  /// Input and output channels, totals over all groups.
  ConvProblem& channels(std::int64_t input, std::int64_t output) noexcept { return c(input).k(output); }
  /// The same on both sides.
  template <class... Sizes>
  ConvProblem& padding(Sizes... sizes) noexcept { return padding_left(sizes...).padding_right(sizes...); }
  /// Sets the type of all three operands.
  ConvProblem& dtype(Dtype value) noexcept { return dtypes(value, value, value); }
  ConvProblem& dtypes(Dtype in, Dtype wei, Dtype out) noexcept { return dtype_in(in).dtype_wei(wei).dtype_out(out); }
};

/// A GEMM, see ck_gemm_problem. Default: 1x1x1, fp8, layout rcr. Words are texts that live as long as this object, or
/// null.
class GemmProblem : public detail::ListedProblemOf<GemmProblem, ck_gemm_problem, ck_gemm_group> {
 public:
  GemmProblem() noexcept = default;
  GemmProblem(std::int64_t m, std::int64_t n, std::int64_t k) noexcept { size(m, n, k); }

  // Made by tests/header/main.rs: setters of Gemm.
  GemmProblem& m(std::int64_t value) noexcept { return set(raw_.m, value); }
  GemmProblem& n(std::int64_t value) noexcept { return set(raw_.n, value); }
  GemmProblem& k(std::int64_t value) noexcept { return set(raw_.k, value); }
  GemmProblem& split_k(std::int32_t value) noexcept { return set(raw_.split_k, value); }
  GemmProblem& dtype_a(Dtype value) noexcept { return set(raw_.dtype_a, value); }
  GemmProblem& dtype_b(Dtype value) noexcept { return set(raw_.dtype_b, value); }
  GemmProblem& dtype_c(Dtype value) noexcept { return set(raw_.dtype_c, value); }
  GemmProblem& layout(Major a, Major b, Major c) noexcept { return set(raw_.layout, a, b, c); }
  GemmProblem& batch(std::int32_t value) noexcept { return set(raw_.request.batch, value); }
  GemmProblem& stream_k(const char* word) noexcept { return set(raw_.request.stream_k, word); }
  GemmProblem& num_d(std::int32_t value) noexcept { return set(raw_.request.num_d, value); }
  GemmProblem& preshuffle(bool value) noexcept { return set(raw_.request.preshuffle, value); }
  GemmProblem& quant(const char* word) noexcept { return set(raw_.request.quant, word); }
  GemmProblem& group_a(std::int32_t m, std::int32_t n, std::int32_t k) noexcept {
    return set(raw_.request.group_a, m, n, k);
  }
  GemmProblem& group_b(std::int32_t m, std::int32_t n, std::int32_t k) noexcept {
    return set(raw_.request.group_b, m, n, k);
  }
  // End of what is made.

  GemmProblem& size(std::int64_t rows, std::int64_t columns, std::int64_t depth) noexcept {
    return m(rows).n(columns).k(depth);
  }
  GemmProblem& dtypes(Dtype a, Dtype b, Dtype c) noexcept { return dtype_a(a).dtype_b(b).dtype_c(c); }
  /// GEMMs of any extents in one launch, in any order; at most 8 different ones. The problem's own extents are those of
  /// the one with the most work, and need not be set.
  GemmProblem& groups(std::vector<ck_gemm_group> groups) noexcept { return list(std::move(groups)); }
};

/// A stage of a mixture of experts, see ck_moe_problem. Default: stage 1 in bf16, one of everything, and a routing that
/// is not known.
class MoeProblem : public detail::ListedProblemOf<MoeProblem, ck_moe_problem, std::int32_t> {
 public:
  // Made by tests/header/main.rs: setters of Moe.
  MoeProblem& stage(const char* word) noexcept { return set(raw_.stage, word); }
  MoeProblem& tokens(std::int64_t value) noexcept { return set(raw_.tokens, value); }
  MoeProblem& experts(std::int64_t value) noexcept { return set(raw_.experts, value); }
  MoeProblem& topk(std::int64_t value) noexcept { return set(raw_.topk, value); }
  MoeProblem& n(std::int64_t value) noexcept { return set(raw_.n, value); }
  MoeProblem& k(std::int64_t value) noexcept { return set(raw_.k, value); }
  MoeProblem& dtype_a(Dtype value) noexcept { return set(raw_.dtype_a, value); }
  MoeProblem& dtype_b(Dtype value) noexcept { return set(raw_.dtype_b, value); }
  MoeProblem& quant(const char* word) noexcept { return set(raw_.quant, word); }
  MoeProblem& block_n(std::int32_t value) noexcept { return set(raw_.block_n, value); }
  MoeProblem& block_k(std::int32_t value) noexcept { return set(raw_.block_k, value); }
  MoeProblem& activation(const char* word) noexcept { return set(raw_.activation, word); }
  MoeProblem& weighted_first(bool value) noexcept { return set(raw_.weighted_first, value); }
  // End of what is made.

  MoeProblem& size(std::int64_t columns, std::int64_t depth) noexcept { return n(columns).k(depth); }
  MoeProblem& dtypes(Dtype rows, Dtype weights) noexcept { return dtype_a(rows).dtype_b(weights); }
  /// Rows of each expert, in any order.
  MoeProblem& histogram(std::vector<std::int32_t> rows) noexcept { return list(std::move(rows)); }
};

/// Attention, see ck_fmha_problem. Default: forward, fp16, one sequence with one query, key and head of 128 elements.
class FmhaProblem : public detail::ProblemOf<FmhaProblem, ck_fmha_problem> {
 public:
  // Made by tests/header/main.rs: setters of Fmha.
  FmhaProblem& api_family(ck_fmha_api value) noexcept { return set(raw_.api_family, value); }
  FmhaProblem& family(ck_fmha_family value) noexcept { return set(raw_.family, value); }
  FmhaProblem& dtype(Dtype value) noexcept { return set(raw_.dtype, value); }
  FmhaProblem& batch(std::int64_t value) noexcept { return set(raw_.batch, value); }
  FmhaProblem& seqlen_q(std::int64_t value) noexcept { return set(raw_.seqlen_q, value); }
  FmhaProblem& seqlen_k(std::int64_t value) noexcept { return set(raw_.seqlen_k, value); }
  FmhaProblem& nhead_q(std::int64_t value) noexcept { return set(raw_.nhead_q, value); }
  FmhaProblem& nhead_k(std::int64_t value) noexcept { return set(raw_.nhead_k, value); }
  FmhaProblem& hdim_q(std::int64_t value) noexcept { return set(raw_.hdim_q, value); }
  FmhaProblem& hdim_v(std::int64_t value) noexcept { return set(raw_.hdim_v, value); }
  FmhaProblem& mode(std::int32_t value) noexcept { return set(raw_.mode, value); }
  FmhaProblem& mask(std::int32_t value) noexcept { return set(raw_.mask, value); }
  FmhaProblem& bias(std::int32_t value) noexcept { return set(raw_.bias, value); }
  FmhaProblem& qscale(std::int32_t value) noexcept { return set(raw_.qscale, value); }
  FmhaProblem& rope(std::int32_t value) noexcept { return set(raw_.rope, value); }
  FmhaProblem& kv_layout(std::int32_t value) noexcept { return set(raw_.kv_layout, value); }
  FmhaProblem& kv_lookup(std::int32_t value) noexcept { return set(raw_.kv_lookup, value); }
  FmhaProblem& max_seqlen_q(std::int64_t value) noexcept { return set(raw_.max_seqlen_q, value); }
  FmhaProblem& max_seqlen_k(std::int64_t value) noexcept { return set(raw_.max_seqlen_k, value); }
  FmhaProblem& page_size(std::int64_t value) noexcept { return set(raw_.page_size, value); }
  FmhaProblem& num_splits(std::int64_t value) noexcept { return set(raw_.num_splits, value); }
  FmhaProblem& window_left(std::int64_t value) noexcept { return set(raw_.window_left, value); }
  FmhaProblem& window_right(std::int64_t value) noexcept { return set(raw_.window_right, value); }
  FmhaProblem& sink_size(std::int64_t value) noexcept { return set(raw_.sink_size, value); }
  FmhaProblem& min_seqlen_q(std::int64_t value) noexcept { return set(raw_.min_seqlen_q, value); }
  FmhaProblem& rotary_dim(std::int64_t value) noexcept { return set(raw_.rotary_dim, value); }
  FmhaProblem& v_rowmajor(bool value) noexcept { return set(raw_.v_rowmajor, value); }
  FmhaProblem& logits(bool value) noexcept { return set(raw_.logits, value); }
  FmhaProblem& lse(bool value) noexcept { return set(raw_.lse, value); }
  FmhaProblem& dropout(bool value) noexcept { return set(raw_.dropout, value); }
  FmhaProblem& paged_kv(bool value) noexcept { return set(raw_.paged_kv, value); }
  FmhaProblem& fp8_static_quant(bool value) noexcept { return set(raw_.fp8_static_quant, value); }
  FmhaProblem& skip(bool value) noexcept { return set(raw_.skip, value); }
  FmhaProblem& sink(bool value) noexcept { return set(raw_.sink, value); }
  FmhaProblem& dbias(bool value) noexcept { return set(raw_.dbias, value); }
  FmhaProblem& store_randval(bool value) noexcept { return set(raw_.store_randval, value); }
  FmhaProblem& deterministic(bool value) noexcept { return set(raw_.deterministic, value); }
  FmhaProblem& has_seqstart_q_ptr(bool value) noexcept { return set(raw_.has_seqstart_q_ptr, value); }
  FmhaProblem& has_seqstart_k_ptr(bool value) noexcept { return set(raw_.has_seqstart_k_ptr, value); }
  FmhaProblem& has_seqlen_q_ptr(bool value) noexcept { return set(raw_.has_seqlen_q_ptr, value); }
  FmhaProblem& has_seqlen_k_ptr(bool value) noexcept { return set(raw_.has_seqlen_k_ptr, value); }
  FmhaProblem& has_cu_seqlen_q_ptr(bool value) noexcept { return set(raw_.has_cu_seqlen_q_ptr, value); }
  FmhaProblem& has_cu_seqlen_k_ptr(bool value) noexcept { return set(raw_.has_cu_seqlen_k_ptr, value); }
  FmhaProblem& has_block_table_ptr(bool value) noexcept { return set(raw_.has_block_table_ptr, value); }
  FmhaProblem& has_cache_batch_idx(bool value) noexcept { return set(raw_.has_cache_batch_idx, value); }
  FmhaProblem& is_gappy(bool value) noexcept { return set(raw_.is_gappy, value); }
  FmhaProblem& has_rotary_cos_sin(bool value) noexcept { return set(raw_.has_rotary_cos_sin, value); }
  // End of what is made.

  FmhaProblem& lengths(std::int64_t sequences, std::int64_t queries, std::int64_t keys) noexcept {
    return batch(sequences).seqlen_q(queries).seqlen_k(keys);
  }
  FmhaProblem& heads(std::int64_t queries, std::int64_t keys) noexcept { return nhead_q(queries).nhead_k(keys); }
  FmhaProblem& hdims(std::int64_t queries, std::int64_t values) noexcept { return hdim_q(queries).hdim_v(values); }
  /// For which stage a kernel is chosen; the API must be the one that has it.
  FmhaProblem& stage(ck_fmha_api api, ck_fmha_family of_api) noexcept { return api_family(api).family(of_api); }
};

namespace detail {

template <class Problem, class Raw>
[[nodiscard]] const Raw& raw(const ProblemOf<Problem, Raw>& problem) noexcept { return problem.capi(); }

template <class Problem>
using CallsFor = Calls<std::decay_t<decltype(raw(std::declval<const Problem&>()))>>;

}  // namespace detail

}  // namespace ck_select

#endif  // CK_SELECT_PROBLEM_HPP
