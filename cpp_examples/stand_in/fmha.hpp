// Stand-ins for the attention classes.

#ifndef CK_SELECT_STAND_IN_FMHA_HPP
#define CK_SELECT_STAND_IN_FMHA_HPP

#include <algorithm>
#include <tuple>

#include "base.hpp"

namespace ck_tile {

/// How a kernel is launched.
struct stream_config {
  void* stream_id_ = nullptr;
  bool time_kernel_ = false;
  int log_level_ = 0;
  int cold_niters_ = 3;
  int nrepeat_ = 10;
  bool is_gpu_timer_ = true;
};

/// All of these, in order. Nothing takes time here.
template <class... Callables>
float launch_kernel(const stream_config& config, Callables&&... callables) {
  const int runs = config.time_kernel_ ? config.cold_niters_ + config.nrepeat_ : 1;
  for (int run = 0; run < runs; ++run) (callables(config), ...);
  return 0.0F;
}

namespace dispatcher {

enum class FmhaApiFamily : std::uint8_t { Fwd, FwdPagedKv, FwdSplitKv, FwdAppendKv, BatchPrefill, Bwd };
enum class FmhaKernelFamily : std::uint8_t {
  Fwd, FwdPagedKv, FwdSplitKv, FwdSplitKvCombine, FwdAppendKv, BatchPrefill, BwdDotDoO, BwdDqDkDv, BwdConvertDq
};
inline std::string to_string(FmhaKernelFamily family) {
  const char* const words[] = {"fwd",           "fwd_pagedkv",  "fwd_splitkv",  "fwd_splitkv_combine", "fwd_appendkv",
                               "batch_prefill", "bwd_dot_do_o", "bwd_dq_dk_dv", "bwd_convert_dq"};
  return words[static_cast<int>(family)];
}

struct FmhaInvocation;

struct FmhaProblem {
  FmhaApiFamily api_family = FmhaApiFamily::Fwd;
  FmhaKernelFamily requested_family = FmhaKernelFamily::Fwd;
  std::string gfx_arch, data_type;
  bool is_group_mode = false, is_v_rowmajor = true, has_logits_soft_cap = false;
  int mask_type = 0, bias_type = 0;
  bool has_lse = false, has_dropout = false;
  int qscale_type = 0, rope_type = 0;
  bool use_paged_kv = false, do_fp8_static_quant = false, skip_min_seqlen_q = false, has_sink = false,
       has_dbias = false, is_store_randval = false, is_deterministic = false;
  int kv_memory_layout = 0, kv_lookup_table = 0, page_size = 1;
  std::int64_t seqlen_q = 0, seqlen_k = 0, max_seqlen_q = 0, max_seqlen_k = 0, batch = 0, hdim_q = 0, hdim_v = 0,
               nhead_q = 0, nhead_k = 0, num_splits = 1, window_size_left = 0, window_size_right = 0, sink_size = 0,
               min_seqlen_q = 0, rotary_dim = 0;
  bool has_seqstart_q_ptr = false, has_seqstart_k_ptr = false, has_seqlen_q_ptr = false, has_seqlen_k_ptr = false,
       has_cu_seqlen_q_ptr = false, has_cu_seqlen_k_ptr = false, has_block_table_ptr = false,
       has_cache_batch_idx = false, is_gappy = false, has_rotary_cos_sin = false;

  static FmhaProblem from_invocation(const FmhaInvocation& invocation, const std::string& gfx_arch);

  /// Lengths are not looked at.
  [[nodiscard]] bool is_valid() const {
    return !data_type.empty() && batch > 0 && hdim_q > 0 && hdim_v > 0 && nhead_q > 0 && nhead_k > 0;
  }
  [[nodiscard]] std::int64_t effective_max_seqlen_q() const { return max_seqlen_q > 0 ? max_seqlen_q : seqlen_q; }
  [[nodiscard]] std::int64_t effective_max_seqlen_k() const { return max_seqlen_k > 0 ? max_seqlen_k : seqlen_k; }
};

/// A call with its operands; CK has a pair of types for each API.
struct FmhaInvocation {
  FmhaProblem sizes;
  const void* q = nullptr;
  const void* k = nullptr;
  const void* v = nullptr;
  void* o = nullptr;
};
inline FmhaProblem FmhaProblem::from_invocation(const FmhaInvocation& invocation, const std::string& gfx_arch) {
  FmhaProblem problem = invocation.sizes;
  problem.gfx_arch = gfx_arch;
  return problem;
}

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
    struct Tile {
      std::uint16_t m0, n0, k0, n1, k1, k0max;
    } tile_shape{};
    struct Waves {
      std::uint8_t m0 = 1, n0 = 1, k0 = 1, m1 = 1, n1 = 1, k1 = 1, m2 = 1, n2 = 1, k2 = 1;
    } wave_shape;
    struct WarpTile {
      std::uint16_t m0, n0, k0, m1, n1, k1, m2, n2, k2;
    } warp_tile_shape{};
    std::string pipeline;
    bool pad_s = true, pad_sk = true, pad_d = true, pad_dv = true, use_trload = false;
    std::uint8_t block_per_cu = 1, num_wave_groups = 1, max_splits_log2 = 0;
    std::uint16_t max_seq_len_q = 0, hdim_q_alignment = 0, hdim_v_alignment = 0;
    std::int32_t selection_rank = 0;
    std::string constraint_tag;
  } algorithm;
  std::string gfx_arch;

  /// As revisions before the tag of the soft cap have it, so that two kernels that differ in it share one.
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
    add("_aq", a.hdim_q_alignment), add("_av", a.hdim_v_alignment), add("_r", a.selection_rank), add("_rc", s.receipt);
    return text;
  }
};

class FmhaKernelInstance {
 public:
  virtual ~FmhaKernelInstance() = default;
  [[nodiscard]] virtual const FmhaKernelKey& get_key() const = 0;
  [[nodiscard]] virtual bool supports(const FmhaProblem& problem) const = 0;
  [[nodiscard]] virtual std::string get_name() const = 0;
  virtual void launch(const FmhaInvocation& invocation, const stream_config& config) const = 0;
  /// Kernels that do not time themselves are timed.
  [[nodiscard]] virtual float run(const FmhaInvocation& invocation, const stream_config& config) const {
    return launch_kernel(config, [&](const stream_config& inner) { launch(invocation, inner); });
  }
};
using FmhaKernelInstancePtr = std::shared_ptr<FmhaKernelInstance>;

class FmhaRegistry : public BaseRegistry<FmhaRegistry, std::string, FmhaKernelInstance> {
 public:
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
  /// In a fixed order, other than the other registries.
  [[nodiscard]] std::vector<FmhaKernelInstancePtr> get_all() const {
    std::vector<FmhaKernelInstancePtr> all = get_all_instances();
    const auto rank = [](const FmhaKernelInstancePtr& one) {
      const FmhaKernelKey& key = one->get_key();
      return std::make_tuple(key.algorithm.selection_rank, key.signature.hdim_q, key.signature.hdim_v,
                             key.algorithm.tile_shape.m0, one->get_name());
    };
    std::sort(all.begin(), all.end(), [&](const auto& a, const auto& b) { return rank(a) < rank(b); });
    return all;
  }
};

using FmhaHeuristicFunction = std::function<std::vector<std::string>(const FmhaProblem&)>;

struct FmhaExecutionPlan {
  struct Stage {
    FmhaKernelFamily family;
    std::string kernel_id;
  };
  FmhaApiFamily api_family = FmhaApiFamily::Fwd;
  std::vector<Stage> stages;
};

class FmhaDispatcher {
 public:
  explicit FmhaDispatcher(FmhaRegistry* registry) : registry_(registry) {}

  void set_heuristic(FmhaHeuristicFunction heuristic) { heuristic_ = std::move(heuristic); }

  [[nodiscard]] FmhaKernelInstancePtr select_kernel(const FmhaProblem& problem) const {
    if (!problem.is_valid()) return nullptr;
    if (heuristic_) {
      for (const auto& identifier : heuristic_(problem)) {
        const auto kernel = registry_->lookup(identifier);
        if (kernel && kernel->supports(problem)) return kernel;
      }
    }
    for (const auto& kernel : registry_->get_all()) {
      if (kernel->supports(problem)) return kernel;
    }
    return nullptr;
  }

  /// Each stage is a selection of its own; one without a kernel leaves nothing.
  [[nodiscard]] FmhaExecutionPlan plan(const FmhaProblem& problem) const {
    std::vector<FmhaKernelFamily> families{static_cast<FmhaKernelFamily>(0)};
    if (problem.api_family == FmhaApiFamily::FwdSplitKv) {
      families = {FmhaKernelFamily::FwdSplitKv, FmhaKernelFamily::FwdSplitKvCombine};
    }
    FmhaExecutionPlan plan{problem.api_family, {}};
    for (const FmhaKernelFamily family : families) {
      FmhaProblem stage = problem;
      stage.requested_family = family;
      const auto kernel = select_kernel(stage);
      if (!kernel) return FmhaExecutionPlan{problem.api_family, {}};
      plan.stages.push_back({family, kernel->get_key().encode_identifier()});
    }
    return plan;
  }

 private:
  FmhaRegistry* registry_;
  FmhaHeuristicFunction heuristic_;
};

}  // namespace dispatcher
}  // namespace ck_tile

#endif  // CK_SELECT_STAND_IN_FMHA_HPP
