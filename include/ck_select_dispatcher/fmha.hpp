/* Reads CK's FmhaProblem, FmhaKernelKey and FmhaKernelInstance, and chooses among the kernels of an FmhaRegistry. */

#ifndef CK_SELECT_DISPATCHER_FMHA_HPP
#define CK_SELECT_DISPATCHER_FMHA_HPP

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "core.hpp"
#include "selector.hpp"
#include "snapshot.hpp"

namespace ck_select {

/// A kernel for one stage of attention.
template <class Instance>
struct FmhaStage {
  /// CK's FmhaKernelFamily, by its number.
  ck_fmha_family family = CK_FMHA_FAMILY_FWD;
  Solution<Instance> solution;
};

/// The kernels of an attention problem, in the order in which they run. Without stages it cannot be run.
template <class Instance>
struct FmhaPlan {
  std::vector<FmhaStage<Instance>> stages;
  /// The number of parts into which keys are split; the stages were chosen for it.
  std::int64_t num_splits = 1;
  /// Why there are no stages; ok if there are.
  Status status = Status::no_kernel;
};

namespace detail {

template <class T> using KeyPipeline = decltype(std::string(a<T>().pipeline));
template <class T> using KeyPads = decltype(a<T>().pad_sk);
template <class T> using ItsInvocation = decltype(*a<T>().invocation);

/// The types of a call, which no header of CK's leads to but that of its kernels.
template <class Launch>
struct FmhaLaunchOf;
template <class Instance, class TheInvocation, class TheConfig>
struct FmhaLaunchOf<void (Instance::*)(const TheInvocation&, const TheConfig&) const> {
  using Invocation = TheInvocation;
  using Config = TheConfig;
};
template <class Instance>
using FmhaLaunch = FmhaLaunchOf<decltype(&Instance::launch)>;

template <class Supports>
struct FmhaProblemOf;
template <class Instance, class TheProblem>
struct FmhaProblemOf<bool (Instance::*)(const TheProblem&) const> {
  using Problem = TheProblem;
};

/// CK's settings of a launch, as its dispatcher makes them.
template <class Config>
[[nodiscard]] Config fmha_stream(void* stream, bool is_timed, int warmup, int repeat) {
  Config config;
  config.stream_id_ = static_cast<decltype(config.stream_id_)>(stream);
  config.time_kernel_ = config.is_gpu_timer_ = is_timed;
  config.cold_niters_ = is_timed ? warmup : 0;
  config.nrepeat_ = is_timed ? repeat : 1;
  return config;
}

struct FmhaAdapter {
  using LibraryProblem = FmhaProblem;
  using Kernel = FmhaKernel;

  /// The dispatcher looks identifiers up exactly, and asks `supports` itself.
  static constexpr bool matches_parts = false;
  static constexpr bool names_are_identifiers = true;
  static constexpr bool is_split = false;

  struct Scope {
    template <class Problem>
    explicit Scope(const Problem& /*problem*/) noexcept {}
  };

  template <class Instance>
  [[nodiscard]] static Known<Instance, Kernel> describe(const Instance& instance) {
    const auto& key = instance.get_key();
    Known<Instance, Kernel> known;
    known.name = key.encode_identifier();
    known.arch = key.gfx_arch;
    known.signature = {group_of(static_cast<int>(key.signature.family)), key.signature.data_type, {}, {}, {}};
    try {
      known.kernel = kernel_of(key);
      known.key = key_text(key, known.name);
    } catch (const Error& error) {
      known.reason = error.what();
    }
    return known;
  }

  /// All fields of a key.
  template <class Key>
  [[nodiscard]] static FmhaKernel kernel_of(const Key& key) {
    const auto& signature = key.signature;
    const auto& algorithm = key.algorithm;
    FmhaKernel kernel;
    ck_fmha_kernel_desc& raw = kernel.key;
    raw.family = static_cast<std::int32_t>(signature.family);
    raw.dtype = static_cast<std::int32_t>(dtype_of(signature.data_type, "data_type", Status::invalid_kernel));
    raw.mode = signature.is_group_mode;
    raw.v_rowmajor = signature.is_v_rowmajor;
    raw.logits = signature.has_logits_soft_cap;
    raw.mask = signature.mask_type;
    raw.bias = signature.bias_type;
    raw.lse = signature.has_lse;
    raw.dropout = signature.has_dropout;
    raw.qscale = signature.qscale_type;
    raw.rope = signature.rope_type;
    raw.paged_kv = signature.use_paged_kv;
    raw.fp8_static_quant = signature.do_fp8_static_quant;
    raw.skip = signature.skip_min_seqlen_q;
    raw.sink = signature.has_sink;
    raw.dbias = signature.has_dbias;
    raw.store_randval = signature.is_store_randval;
    raw.deterministic = signature.is_deterministic;
    raw.kv_layout = signature.kv_memory_layout;
    raw.kv_lookup = signature.kv_lookup_table;
    raw.page_size = signature.page_size;
    raw.hdim_q = signature.hdim_q;
    raw.hdim_v = signature.hdim_v;
    raw.receipt = signature.receipt;
    const auto& tile = algorithm.tile_shape;
    fill(raw.tile, {tile.m0, tile.n0, tile.k0, tile.n1, tile.k1, tile.k0max});
    nine(raw.wave, algorithm.wave_shape);
    nine(raw.warp_tile, algorithm.warp_tile_shape);
    // Older revisions name the pipeline differently, and have the pads in the signature.
    if constexpr (is_valid<KeyPipeline, std::decay_t<decltype(algorithm)>>) {
      kernel.pipeline = algorithm.pipeline;
    } else {
      kernel.pipeline = algorithm.pipeline_name;
    }
    if constexpr (is_valid<KeyPads, std::decay_t<decltype(algorithm)>>) {
      fill(raw.pad, {algorithm.pad_s, algorithm.pad_sk, algorithm.pad_d, algorithm.pad_dv});
    } else {
      fill(raw.pad, {signature.pad_s, signature.pad_sk, signature.pad_d, signature.pad_dv});
    }
    raw.trload = algorithm.use_trload;
    raw.block_per_cu = algorithm.block_per_cu;
    raw.num_wave_groups = algorithm.num_wave_groups;
    raw.max_splits_log2 = algorithm.max_splits_log2;
    raw.max_seq_len_q = algorithm.max_seq_len_q;
    raw.hdim_q_alignment = algorithm.hdim_q_alignment;
    raw.hdim_v_alignment = algorithm.hdim_v_alignment;
    raw.selection_rank = algorithm.selection_rank;
    kernel.constraint_tag = algorithm.constraint_tag;
    return kernel;
  }

  /// The identifier, and what it omits: two kernels with one identifier are two kernels here.
  template <class Key>
  [[nodiscard]] static std::string key_text(const Key& key, const std::string& identifier) {
    std::string text = identifier + (key.signature.has_logits_soft_cap ? "|sc1" : "|sc0");
    const auto& waves = key.algorithm.wave_shape;
    const auto& tiles = key.algorithm.warp_tile_shape;
    text += '|' + triple(waves.m2, waves.n2, waves.k2) + '|' + triple(tiles.m2, tiles.n2, tiles.k2);
    return text + '|' + key.algorithm.constraint_tag;
  }

  /// Appending turns queries in place, and backward adds to gradients: neither can be run twice on one call's operands.
  [[nodiscard]] static bool may_run(const SelectorOptions& options, const FmhaKernel& kernel) noexcept {
    switch (kernel.key.family) {
      case CK_FMHA_FAMILY_FWD:
      case CK_FMHA_FAMILY_FWD_PAGEDKV:
      case CK_FMHA_FAMILY_FWD_SPLITKV:
      case CK_FMHA_FAMILY_FWD_SPLITKV_COMBINE:
      case CK_FMHA_FAMILY_BATCH_PREFILL: return options.run_attention;
      default: return false;
    }
  }

  /// One run on the operands of the problem's invocation. The kernel times itself.
  template <class Known, class Problem>
  [[nodiscard]] static float run(const Known& known, const Problem& problem, void* stream,
                                 const SelectorOptions& /*options*/, LazyOperands& /*operands*/) {
    if constexpr (is_valid<ItsInvocation, Problem>) {
      using Config = typename FmhaLaunch<std::decay_t<decltype(*known.instance)>>::Config;
      const float ms = known.instance->run(*problem.invocation, fmha_stream<Config>(stream, true, 0, 1));
      return ms > 0 ? ms : -1.0F;
    } else {
      return -1.0F;
    }
  }

  /// A problem of a signature's type.
  [[nodiscard]] static FmhaProblem blank(const SignatureView& signature) {
    return FmhaProblem().dtype(dtype_of(signature.dtype_a, "data_type"));
  }

  template <class Problem, class State>
  [[nodiscard]] static Query<FmhaProblem> map(const Problem& problem, const SelectorOptions& options,
                                              const State& state) {
    const SignatureView signature{group_of(static_cast<int>(problem.requested_family)), problem.data_type, {}, {}, {}};
    const std::string_view arch =
        problem.gfx_arch.empty() ? std::string_view(options.arch) : std::string_view(problem.gfx_arch);
    auto query = blank_query<FmhaAdapter>(signature, arch, state);
    ck_fmha_problem& raw = query.problem.capi();
    raw.api_family = static_cast<std::int32_t>(problem.api_family);
    raw.family = static_cast<std::int32_t>(problem.requested_family);
    raw.mode = problem.is_group_mode;
    raw.mask = problem.mask_type;
    raw.bias = problem.bias_type;
    raw.qscale = problem.qscale_type;
    raw.rope = problem.rope_type;
    raw.kv_layout = problem.kv_memory_layout;
    raw.kv_lookup = problem.kv_lookup_table;
    raw.batch = problem.batch;
    raw.seqlen_q = problem.seqlen_q;
    raw.seqlen_k = problem.seqlen_k;
    raw.nhead_q = problem.nhead_q;
    raw.nhead_k = problem.nhead_k;
    raw.hdim_q = problem.hdim_q;
    raw.hdim_v = problem.hdim_v;
    raw.max_seqlen_q = problem.max_seqlen_q;
    raw.max_seqlen_k = problem.max_seqlen_k;
    raw.page_size = problem.page_size;
    raw.num_splits = problem.num_splits;
    raw.window_left = problem.window_size_left;
    raw.window_right = problem.window_size_right;
    raw.sink_size = problem.sink_size;
    raw.min_seqlen_q = problem.min_seqlen_q;
    raw.rotary_dim = problem.rotary_dim;
    raw.v_rowmajor = problem.is_v_rowmajor;
    raw.logits = problem.has_logits_soft_cap;
    raw.lse = problem.has_lse;
    raw.dropout = problem.has_dropout;
    raw.paged_kv = problem.use_paged_kv;
    raw.fp8_static_quant = problem.do_fp8_static_quant;
    raw.skip = problem.skip_min_seqlen_q;
    raw.sink = problem.has_sink;
    raw.dbias = problem.has_dbias;
    raw.store_randval = problem.is_store_randval;
    raw.deterministic = problem.is_deterministic;
    raw.has_seqstart_q_ptr = problem.has_seqstart_q_ptr;
    raw.has_seqstart_k_ptr = problem.has_seqstart_k_ptr;
    raw.has_seqlen_q_ptr = problem.has_seqlen_q_ptr;
    raw.has_seqlen_k_ptr = problem.has_seqlen_k_ptr;
    raw.has_cu_seqlen_q_ptr = problem.has_cu_seqlen_q_ptr;
    raw.has_cu_seqlen_k_ptr = problem.has_cu_seqlen_k_ptr;
    raw.has_block_table_ptr = problem.has_block_table_ptr;
    raw.has_cache_batch_idx = problem.has_cache_batch_idx;
    raw.is_gappy = problem.is_gappy;
    raw.has_rotary_cos_sin = problem.has_rotary_cos_sin;
    drop_unused(raw);
    if (raw.mode == 0) set_equal_lengths(raw);
    else set_own_lengths(raw);
    return query;
  }

  template <class Instance, class Problem>
  [[nodiscard]] static bool supports(const Instance& instance, const Problem& problem) {
    // If the number of splits is chosen here, the second stage is selected for the first one's problem.
    const auto family = instance.get_key().signature.family;
    if (family == problem.requested_family || group_of(static_cast<int>(family)) == static_cast<int>(family)) {
      return instance.supports(problem);
    }
    Problem stage = problem;
    stage.requested_family = family;
    return instance.supports(stage);
  }

 private:
  /// CK's arguments keep sizes that a call does not use, which the library refuses.
  static void drop_unused(ck_fmha_problem& raw) {
    const bool pages = raw.api_family == CK_FMHA_API_FWD_PAGEDKV || raw.api_family == CK_FMHA_API_BATCH_PREFILL ||
                       raw.paged_kv || raw.has_block_table_ptr;
    // A call without pages says 0, which only kernels for any size run.
    if (!pages || raw.page_size < 1) raw.page_size = 1;
    if (raw.api_family != CK_FMHA_API_FWD_SPLITKV || raw.num_splits < 1) raw.num_splits = 1;
    // Each negative window is an open one.
    raw.window_left = raw.mask == 0 ? 0 : std::max<std::int64_t>(raw.window_left, -1);
    raw.window_right = raw.mask == 0 ? 0 : std::max<std::int64_t>(raw.window_right, -1);
    if (!raw.sink) raw.sink_size = 0;
    if (!raw.skip) raw.min_seqlen_q = 0;
    if (raw.rope == 0) raw.rotary_dim = 0;
  }

  /// Sequences of one length have that of the longest, for which CK's kernels are asked and launched.
  static void set_equal_lengths(ck_fmha_problem& raw) noexcept {
    const auto settle = [](std::int64_t& length, std::int64_t& longest) {
      if (longest > 0) length = longest;
      longest = 0;
    };
    if (!raw.has_seqstart_q_ptr && !raw.has_seqlen_q_ptr && !raw.has_cu_seqlen_q_ptr) {
      settle(raw.seqlen_q, raw.max_seqlen_q);
    }
    if (!raw.has_seqstart_k_ptr && !raw.has_seqlen_k_ptr && !raw.has_cu_seqlen_k_ptr && !raw.is_gappy) {
      settle(raw.seqlen_k, raw.max_seqlen_k);
    }
  }

  /// In group mode CK's kernels do not read `seqlen_q` and `seqlen_k`. Callers pass the sums over all sequences, the
  /// longest one's, or nothing: more queries than the longest sequence has are a sum, from which the library gets the
  /// mean. Forward calls do not say how many keys the longest has. Without any number of keys, there are as many as
  /// queries.
  static void set_own_lengths(ck_fmha_problem& raw) noexcept {
    if (raw.max_seqlen_q <= 0 || raw.batch <= 0) return;  // refused, as by CK
    const auto mean = [&raw](std::int64_t sum) { return sum / raw.batch + (sum % raw.batch != 0); };
    if (raw.seqlen_q > raw.max_seqlen_q) {
      raw.seqlen_q = std::min(mean(raw.seqlen_q), raw.max_seqlen_q);
      if (raw.max_seqlen_k <= 0 || raw.seqlen_k > raw.max_seqlen_k) raw.seqlen_k = mean(raw.seqlen_k);
    }
    if (raw.seqlen_q <= 0) raw.seqlen_q = raw.max_seqlen_q;
    if (raw.seqlen_k <= 0) raw.seqlen_k = raw.max_seqlen_k > 0 ? raw.max_seqlen_k : raw.max_seqlen_q;
  }

  /// Both stages of split keys are in one group: the number of splits is chosen for both together.
  [[nodiscard]] static constexpr int group_of(int family) noexcept {
    return family == CK_FMHA_FAMILY_FWD_SPLITKV_COMBINE ? static_cast<int>(CK_FMHA_FAMILY_FWD_SPLITKV) : family;
  }

  template <class Shape>
  static void nine(std::int32_t (&to)[9], const Shape& shape) noexcept {
    fill(to, {shape.m0, shape.n0, shape.k0, shape.m1, shape.n1, shape.k1, shape.m2, shape.n2, shape.k2});
  }
};

}  // namespace detail

template <class CkRegistry>
class FmhaRunner;

/// Chooses among the kernels of an FmhaRegistry: for one stage, or all stages of a plan. CK's FmhaDispatcher keeps
/// running them, by heuristic() or by run_explicit with the identifiers of a plan.
template <class CkRegistry>
class FmhaSelector : public detail::Selector<CkRegistry, detail::FmhaAdapter> {
  using Base = detail::Selector<CkRegistry, detail::FmhaAdapter>;

 public:
  using typename Base::Instance;

  /// Searches need operands, which an FmhaRunner has.
  explicit FmhaSelector(const CkRegistry& registry, SelectorOptions options = {})
      : Base(registry, without_runs(std::move(options))) {}

  /// The kernels of all stages of the problem's API, each chosen by itself. If a stage has no kernel, the plan has no
  /// stages, and its status says why, except for the last stage of backward, which is optional, as in CK.
  template <class Problem>
  [[nodiscard]] FmhaPlan<Instance> plan(const Problem& problem) const {
    FmhaPlan<Instance> plan;
    plan.num_splits = problem.num_splits;
    Problem requested = problem;
    using Family = decltype(requested.requested_family);
    for (const ck_fmha_family family : stages_of(static_cast<int>(problem.api_family))) {
      requested.requested_family = static_cast<Family>(family);
      FmhaStage<Instance> stage{family, this->find(requested)};
      if (stage.solution.instance != nullptr) {
        plan.stages.push_back(std::move(stage));
      } else if (family != CK_FMHA_FAMILY_BWD_CONVERT_DQ) {
        plan.stages.clear();
        plan.status = stage.solution.status;
        return plan;
      }
    }
    if (!plan.stages.empty()) plan.status = Status::ok;
    return plan;
  }

  /// The same for split keys, with the number of splits chosen by the selector: the power of two up to `most` for which
  /// both stages together take the least time by the estimate.
  template <class Problem>
  [[nodiscard]] FmhaPlan<Instance> plan_splits(const Problem& problem, std::int64_t most) const {
    Problem requested = problem;
    using Family = decltype(requested.requested_family);
    requested.requested_family = static_cast<Family>(CK_FMHA_FAMILY_FWD_SPLITKV);
    // While the number is chosen, kernels are asked about the caller's own, so they may refuse the chosen one.
    for (;;) {
      requested.num_splits = problem.num_splits;
      try {
        requested.num_splits = this->ask(
            [&](const Registry& registry, const FmhaProblem& as) { return registry.fmha_splits(as, most); }, requested);
      } catch (const Error&) {
        return plan(requested);  // no problem for which there are splits: the plan's status says so
      }
      FmhaPlan<Instance> planned = plan(requested);
      if (!planned.stages.empty() || requested.num_splits <= 1) return planned;
      most = requested.num_splits / 2;
    }
  }

 private:
  template <class>
  friend class FmhaRunner;
  struct WithRuns {};
  FmhaSelector(const CkRegistry& registry, SelectorOptions options, WithRuns /*tag*/)
      : Base(registry, std::move(options)) {}

  [[nodiscard]] static SelectorOptions without_runs(SelectorOptions options) {
    options.run_attention = false;
    return options;
  }

  [[nodiscard]] static std::vector<ck_fmha_family> stages_of(int api) {
    switch (api) {
      case CK_FMHA_API_FWD: return {CK_FMHA_FAMILY_FWD};
      case CK_FMHA_API_FWD_PAGEDKV: return {CK_FMHA_FAMILY_FWD_PAGEDKV};
      case CK_FMHA_API_FWD_SPLITKV: return {CK_FMHA_FAMILY_FWD_SPLITKV, CK_FMHA_FAMILY_FWD_SPLITKV_COMBINE};
      case CK_FMHA_API_FWD_APPENDKV: return {CK_FMHA_FAMILY_FWD_APPENDKV};
      case CK_FMHA_API_BATCH_PREFILL: return {CK_FMHA_FAMILY_BATCH_PREFILL};
      case CK_FMHA_API_BWD:
        return {CK_FMHA_FAMILY_BWD_DOT_DO_O, CK_FMHA_FAMILY_BWD_DQ_DK_DV, CK_FMHA_FAMILY_BWD_CONVERT_DQ};
      default: return {};
    }
  }
};
template <class CkRegistry>
FmhaSelector(const CkRegistry&) -> FmhaSelector<CkRegistry>;
template <class CkRegistry>
FmhaSelector(const CkRegistry&, SelectorOptions) -> FmhaSelector<CkRegistry>;

}  // namespace ck_select

#endif  // CK_SELECT_DISPATCHER_FMHA_HPP
