// Stand-ins for the attention classes: kernels, their registry and their dispatcher.

#ifndef CK_SELECT_STAND_IN_FMHA_HPP
#define CK_SELECT_STAND_IN_FMHA_HPP

#include <tuple>

#include "base.hpp"
#include "fmha_problem.hpp"

namespace ck_tile {
namespace dispatcher {

struct FmhaKernelKey {
  struct Signature {
    FmhaKernelFamily family = FmhaKernelFamily::Fwd;
    std::string data_type;
    bool is_group_mode = false, is_v_rowmajor = true, has_logits_soft_cap = false;
    int mask_type = 0, bias_type = 0;
    bool has_lse = false, has_dropout = false;
    int qscale_type = 0, rope_type = 0;
    bool use_paged_kv = false, do_fp8_static_quant = false, skip_min_seqlen_q = false, has_sink = false,
         has_dbias = false, is_store_randval = false, is_deterministic = false;
    int kv_memory_layout = 0, kv_lookup_table = 0, page_size = 1;
    std::uint16_t hdim_q = 0, hdim_v = 0;
    int receipt = -1;
  } signature;
  struct Algorithm {
    struct TileShape {
      std::uint16_t m0 = 0, n0 = 0, k0 = 0, n1 = 0, k1 = 0, k0max = 0;
    } tile_shape;
    struct WaveShape {
      std::uint8_t m0 = 1, n0 = 1, k0 = 1, m1 = 1, n1 = 1, k1 = 1, m2 = 1, n2 = 1, k2 = 1;
    } wave_shape;
    struct WarpTileShape {
      std::uint16_t m0 = 0, n0 = 0, k0 = 0, m1 = 0, n1 = 0, k1 = 0, m2 = 0, n2 = 0, k2 = 0;
    } warp_tile_shape;
    std::string pipeline;
    bool pad_s = true, pad_sk = true, pad_d = true, pad_dv = true, use_trload = false;
    std::uint8_t block_per_cu = 1, num_wave_groups = 1, max_splits_log2 = 0;
    std::uint16_t max_seq_len_q = 0, hdim_q_alignment = 0, hdim_v_alignment = 0;
    std::int32_t selection_rank = 0;
    std::string constraint_tag;
  } algorithm;
  std::string gfx_arch;

  /// Without the third GEMM, the constraint and the architecture. Older revisions lack the soft cap (`_sc`), too.
  [[nodiscard]] std::string encode_identifier() const {
    const Signature& s = signature;
    const Algorithm& a = algorithm;
    std::string text = "fmha_" + to_string(s.family) + '_' + s.data_type + (s.is_group_mode ? "_group" : "_batch") +
                       (s.is_v_rowmajor ? "_vr" : "_vc");
    const auto add = [&text](const char* tag, int number) { text += tag + std::to_string(number); };
    add("_hq", s.hdim_q), add("_hv", s.hdim_v);
    text += "_p" + a.pipeline;
    add("_m", s.mask_type), add("_b", s.bias_type), add("_lse", s.has_lse), add("_do", s.has_dropout);
    add("_qs", s.qscale_type), add("_rp", s.rope_type), add("_pkv", s.use_paged_kv), add("_sq", s.do_fp8_static_quant);
    add("_sk", s.skip_min_seqlen_q), add("_sink", s.has_sink), add("_db", s.has_dbias), add("_sr", s.is_store_randval);
    add("_det", s.is_deterministic), add("_km", s.kv_memory_layout), add("_kl", s.kv_lookup_table),
        add("_ps", s.page_size);
    add("_t", a.tile_shape.m0), add("x", a.tile_shape.n0), add("x", a.tile_shape.k0), add("x", a.tile_shape.n1);
    add("x", a.tile_shape.k1), add("x", a.tile_shape.k0max);
    add("_w0", a.wave_shape.m0), add("x", a.wave_shape.n0), add("x", a.wave_shape.k0);
    add("_w1", a.wave_shape.m1), add("x", a.wave_shape.n1), add("x", a.wave_shape.k1);
    add("_wt0", a.warp_tile_shape.m0), add("x", a.warp_tile_shape.n0), add("x", a.warp_tile_shape.k0);
    add("_wt1", a.warp_tile_shape.m1), add("x", a.warp_tile_shape.n1), add("x", a.warp_tile_shape.k1);
    add("_pads", a.pad_s), add("", a.pad_sk), add("", a.pad_d), add("", a.pad_dv), add("_tr", a.use_trload);
    add("_bpc", a.block_per_cu), add("_wg", a.num_wave_groups), add("_ms", a.max_splits_log2),
        add("_mq", a.max_seq_len_q);
    add("_aq", a.hdim_q_alignment), add("_av", a.hdim_v_alignment), add("_r", a.selection_rank);
    add("_sc", s.has_logits_soft_cap), add("_rc", s.receipt);
    return text;
  }
};

class FmhaKernelInstance {
 public:
  virtual ~FmhaKernelInstance() = default;
  [[nodiscard]] virtual const FmhaKernelKey& get_key() const = 0;
  [[nodiscard]] virtual bool supports(const FmhaProblem& problem) const = 0;
  [[nodiscard]] virtual std::string get_name() const = 0;
  [[nodiscard]] const FmhaKernelKey& key() const { return get_key(); }
  [[nodiscard]] std::string name() const { return get_name(); }
  virtual void launch(const FmhaInvocation& invocation, const stream_config& config) const = 0;
  /// Kernels that do not time themselves are timed.
  [[nodiscard]] virtual float run(const FmhaInvocation& invocation, const stream_config& config) const {
    return launch_kernel(config, [&](const stream_config& inner) { launch(invocation, inner); });
  }
};
using FmhaKernelInstancePtr = std::shared_ptr<FmhaKernelInstance>;

namespace stand_in {

/// The arguments of a call, if they are those of a kernel.
template <class Args>
const Args& args_of(const FmhaInvocation& invocation) {
  if (const auto* args = std::get_if<Args>(&invocation.args)) return *args;
  throw std::invalid_argument("the arguments are of another kind of kernel");
}

}  // namespace stand_in

/// The kernels that CK's code generator makes, and its rules of which problems they can run.
namespace backends {

inline bool fmha_mask_compatible(int kernel_mask, int problem_mask) {
  const auto is_corner = [](int mask) { return mask == 1 || mask == 2; };
  return kernel_mask == problem_mask || (is_corner(kernel_mask) && is_corner(problem_mask));
}

inline bool fmha_signature_matches(const FmhaKernelKey& key, const FmhaProblem& problem) {
  using Family = FmhaKernelFamily;
  const FmhaKernelKey::Signature& s = key.signature;
  const auto flags = [](const auto& of) {
    return std::tie(of.is_group_mode, of.is_v_rowmajor, of.has_logits_soft_cap, of.has_lse, of.has_dropout,
                    of.use_paged_kv, of.do_fp8_static_quant, of.skip_min_seqlen_q, of.has_sink, of.has_dbias,
                    of.is_store_randval, of.is_deterministic);
  };
  const auto words = [](const auto& of) { return std::tie(of.data_type, of.bias_type, of.qscale_type, of.rope_type); };
  if (s.family != problem.requested_family || flags(s) != flags(problem) || words(s) != words(problem)) return false;
  const bool is_combine = s.family == Family::FwdSplitKvCombine;
  if (!is_combine && !fmha_mask_compatible(s.mask_type, problem.mask_type)) return false;
  if (problem.hdim_q > s.hdim_q || problem.hdim_v > s.hdim_v) return false;
  if (s.family == Family::BatchPrefill &&
      (s.kv_memory_layout != problem.kv_memory_layout || s.kv_lookup_table != problem.kv_lookup_table)) {
    return false;
  }
  const bool has_pages = is_combine || s.family == Family::FwdPagedKv || s.family == Family::FwdAppendKv ||
                         s.family == Family::FwdSplitKv || s.family == Family::BatchPrefill;
  return !has_pages || s.page_size <= 1 || s.page_size == problem.page_size;
}

inline bool fmha_algorithm_supports(const FmhaKernelKey& key, const FmhaProblem& problem) {
  const FmhaKernelKey::Algorithm& a = key.algorithm;
  const std::int64_t queries = problem.effective_max_seqlen_q();
  const auto is_uneven = [](std::int64_t size, int step) { return step > 0 && size % step != 0; };
  if (problem.is_group_mode && problem.max_seqlen_q <= 0) return false;
  if (!a.pad_s && is_uneven(queries, a.tile_shape.m0)) return false;
  if (!a.pad_sk &&
      (problem.has_variable_seqlen_k() || is_uneven(problem.effective_max_seqlen_k(), a.tile_shape.n0))) {
    return false;
  }
  if (!a.pad_d && is_uneven(problem.hdim_q, a.hdim_q_alignment)) return false;
  if (!a.pad_dv && is_uneven(problem.hdim_v, a.hdim_v_alignment)) return false;
  if (a.max_seq_len_q > 0 && queries > a.max_seq_len_q) return false;
  return a.max_splits_log2 == 0 || problem.num_splits <= (std::int64_t{1} << a.max_splits_log2);
}

class GeneratedFmhaKernelInstance : public FmhaKernelInstance {
 public:
  using SupportsFn = std::function<bool(const FmhaProblem&)>;
  using LaunchFn = std::function<void(const FmhaInvocation&, const stream_config&)>;

  GeneratedFmhaKernelInstance(FmhaKernelKey key, std::string name, SupportsFn supports, LaunchFn launch)
      : key_(std::move(key)), name_(std::move(name)), supports_(std::move(supports)), launch_(std::move(launch)) {}

  [[nodiscard]] const FmhaKernelKey& get_key() const override { return key_; }
  [[nodiscard]] bool supports(const FmhaProblem& problem) const override { return supports_ && supports_(problem); }
  [[nodiscard]] std::string get_name() const override { return name_; }
  void launch(const FmhaInvocation& invocation, const stream_config& config) const override {
    launch_(invocation, config);
  }

 private:
  FmhaKernelKey key_;
  std::string name_;
  SupportsFn supports_;
  LaunchFn launch_;
};

inline GeneratedFmhaKernelInstance::SupportsFn make_default_supports_fn(
    const FmhaKernelKey& key, GeneratedFmhaKernelInstance::SupportsFn extra = {}) {
  return [key, extra = std::move(extra)](const FmhaProblem& problem) {
    return fmha_signature_matches(key, problem) && fmha_algorithm_supports(key, problem) && (!extra || extra(problem));
  };
}

/// A kernel that does not time itself.
template <class Args, class Launch>
FmhaKernelInstancePtr make_oneshot_fmha_kernel(FmhaKernelKey key, std::string name, Launch&& launch,
                                               GeneratedFmhaKernelInstance::SupportsFn extra = {}) {
  auto launches = [launch = std::forward<Launch>(launch)](const FmhaInvocation& invocation,
                                                          const stream_config& config) {
    launch(config, stand_in::args_of<Args>(invocation));
  };
  auto supports = make_default_supports_fn(key, std::move(extra));
  return std::make_shared<GeneratedFmhaKernelInstance>(std::move(key), std::move(name), std::move(supports),
                                                       std::move(launches));
}

}  // namespace backends

class FmhaRegistry : public BaseRegistry<FmhaRegistry, std::string, FmhaKernelInstance> {
 public:
  using Priority = ck_tile::dispatcher::Priority;

  bool register_kernel(FmhaKernelInstancePtr instance, Priority priority = Priority::Normal) {
    if (!instance) return false;
    const std::string identifier = instance->get_key().encode_identifier();
    return BaseRegistry::register_kernel(identifier, std::move(instance), priority);
  }
  [[nodiscard]] FmhaKernelInstancePtr lookup(const std::string& identifier) const {
    const std::lock_guard<std::mutex> lock(mutex());
    const auto found = entries().find(identifier);
    return found == entries().end() ? nullptr : found->second.instance;
  }
  [[nodiscard]] FmhaKernelInstancePtr lookup(const FmhaKernelKey& key) const { return lookup(key.encode_identifier()); }

  [[nodiscard]] std::vector<FmhaKernelInstancePtr> get_all() const { return get_all_instances(); }
  [[nodiscard]] std::vector<FmhaKernelInstancePtr> filter(
      std::function<bool(const FmhaKernelInstance&)> predicate) const {
    std::vector<FmhaKernelInstancePtr> found;
    for (auto& kernel : get_all()) {
      if (predicate(*kernel)) found.push_back(std::move(kernel));
    }
    return found;
  }

  static FmhaRegistry& instance() {
    static FmhaRegistry registry;
    return registry;
  }
};

using FmhaHeuristicFunction = std::function<std::vector<std::string>(const FmhaProblem&)>;

struct FmhaExecutionStage {
  FmhaKernelFamily family = FmhaKernelFamily::Fwd;
  std::string kernel_id;
};

struct FmhaExecutionPlan {
  FmhaApiFamily api_family = FmhaApiFamily::Fwd;
  std::vector<FmhaExecutionStage> stages;
  [[nodiscard]] bool is_valid() const { return !stages.empty(); }
};

class FmhaDispatcher {
 public:
  enum class SelectionStrategy { FirstFit, Heuristic };

  explicit FmhaDispatcher(FmhaRegistry* registry) : registry_(registry) {}

  /// A heuristic is used from now on.
  void set_heuristic(FmhaHeuristicFunction heuristic) {
    heuristic_ = std::move(heuristic);
    if (heuristic_) strategy_ = SelectionStrategy::Heuristic;
  }
  void set_strategy(SelectionStrategy strategy) { strategy_ = strategy; }

  [[nodiscard]] FmhaKernelInstancePtr select_kernel(const FmhaProblem& problem) const {
    if (!problem.is_valid()) return nullptr;
    if (strategy_ == SelectionStrategy::Heuristic && heuristic_) {
      for (const auto& identifier : heuristic_(problem)) {
        const auto kernel = registry_->lookup(identifier);
        if (kernel && kernel->supports(problem)) return kernel;
      }
    }
    // The first of the registry, where CK looks at tiles.
    const auto fitting = registry_->filter([&](const FmhaKernelInstance& kernel) { return kernel.supports(problem); });
    return fitting.empty() ? nullptr : fitting.front();
  }

  /// Each stage is a selection of its own; one without a kernel leaves nothing, but for the last of backward.
  [[nodiscard]] FmhaExecutionPlan plan(const FmhaProblem& problem) const {
    FmhaExecutionPlan plan{problem.api_family, {}};
    for (const FmhaKernelFamily family : stages_of(problem.api_family)) {
      FmhaProblem stage = problem;
      stage.requested_family = family;
      const auto kernel = select_kernel(stage);
      if (kernel) plan.stages.push_back({family, kernel->get_key().encode_identifier()});
      else if (family != FmhaKernelFamily::BwdConvertDq) return {problem.api_family, {}};
    }
    return plan;
  }

 private:
  static std::vector<FmhaKernelFamily> stages_of(FmhaApiFamily api) {
    using Family = FmhaKernelFamily;
    switch (api) {
      case FmhaApiFamily::Fwd: return {Family::Fwd};
      case FmhaApiFamily::FwdPagedKv: return {Family::FwdPagedKv};
      case FmhaApiFamily::FwdSplitKv: return {Family::FwdSplitKv, Family::FwdSplitKvCombine};
      case FmhaApiFamily::FwdAppendKv: return {Family::FwdAppendKv};
      case FmhaApiFamily::BatchPrefill: return {Family::BatchPrefill};
      case FmhaApiFamily::Bwd: return {Family::BwdDotDoO, Family::BwdDqDkDv, Family::BwdConvertDq};
      default: return {};
    }
  }

  FmhaRegistry* registry_;
  FmhaHeuristicFunction heuristic_;
  SelectionStrategy strategy_ = SelectionStrategy::FirstFit;
};

}  // namespace dispatcher
}  // namespace ck_tile

#endif  // CK_SELECT_STAND_IN_FMHA_HPP
