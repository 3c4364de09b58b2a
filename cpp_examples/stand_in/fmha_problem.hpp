// Stand-ins for attention problems, and for the calls that they are read from.

#ifndef CK_SELECT_STAND_IN_FMHA_PROBLEM_HPP
#define CK_SELECT_STAND_IN_FMHA_PROBLEM_HPP

#include <cstddef>
#include <utility>

#include "fmha_types.hpp"

namespace ck_tile {
namespace dispatcher {

enum class FmhaApiFamily : std::uint8_t { Fwd, FwdPagedKv, FwdSplitKv, FwdAppendKv, BatchPrefill, Bwd };
enum class FmhaKernelFamily : std::uint8_t {
  Fwd, FwdPagedKv, FwdSplitKv, FwdSplitKvCombine, FwdAppendKv, BatchPrefill, BwdDotDoO, BwdDqDkDv, BwdConvertDq
};

inline std::string to_string(FmhaApiFamily family) {
  const char* const words[] = {"fwd", "fwd_pagedkv", "fwd_splitkv", "fwd_appendkv", "batch_prefill", "bwd"};
  return family <= FmhaApiFamily::Bwd ? words[static_cast<int>(family)] : "unknown";
}
inline std::string to_string(FmhaKernelFamily family) {
  const char* const words[] = {"fwd",           "fwd_pagedkv",  "fwd_splitkv",  "fwd_splitkv_combine", "fwd_appendkv",
                               "batch_prefill", "bwd_dot_do_o", "bwd_dq_dk_dv", "bwd_convert_dq"};
  return family <= FmhaKernelFamily::BwdConvertDq ? words[static_cast<int>(family)] : "unknown";
}

using FmhaTraitsVariant = std::variant<fmha_fwd_traits, fmha_fwd_pagedkv_traits, fmha_fwd_splitkv_traits,
                                       fmha_fwd_appendkv_traits, fmha_batch_prefill_traits, fmha_bwd_traits>;
using FmhaArgsVariant = std::variant<fmha_fwd_args, fmha_fwd_pagedkv_args, fmha_fwd_splitkv_args,
                                     fmha_fwd_appendkv_args, fmha_batch_prefill_args, fmha_bwd_args>;

/// A call: what its kernels are made for, and its operands and sizes.
struct FmhaInvocation {
  FmhaApiFamily api_family = FmhaApiFamily::Fwd;
  FmhaTraitsVariant traits;
  FmhaArgsVariant args;

  /// The variants' types are in the order of the families.
  template <class Traits, class Args>
  static FmhaInvocation make(Traits traits, Args args) {
    FmhaInvocation call{FmhaApiFamily::Fwd, std::move(traits), std::move(args)};
    call.api_family = static_cast<FmhaApiFamily>(call.traits.index());
    return call;
  }
};

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

  /// Lengths are not looked at.
  [[nodiscard]] bool is_valid() const {
    return !data_type.empty() && batch > 0 && hdim_q > 0 && hdim_v > 0 && nhead_q > 0 && nhead_k > 0;
  }
  [[nodiscard]] std::int64_t effective_max_seqlen_q() const { return max_seqlen_q > 0 ? max_seqlen_q : seqlen_q; }
  [[nodiscard]] std::int64_t effective_max_seqlen_k() const { return max_seqlen_k > 0 ? max_seqlen_k : seqlen_k; }
  [[nodiscard]] bool has_variable_seqlen_k() const {
    return has_seqstart_k_ptr || has_seqlen_k_ptr || has_cu_seqlen_k_ptr || is_gappy;
  }

  [[nodiscard]] std::string to_string() const {
    std::string text = "FmhaProblem(api=" + dispatcher::to_string(api_family);
    text += ", family=" + dispatcher::to_string(requested_family) + ", dtype=" + data_type + ", arch=" + gfx_arch;
    const auto add = [&text](const char* name, std::int64_t value) { text += name + std::to_string(value); };
    add(", batch=", batch), add(", sq=", seqlen_q), add(", sk=", seqlen_k), add(", dq=", hdim_q);
    add(", dv=", hdim_v), add(", hq=", nhead_q), add(", hk=", nhead_k);
    text += is_group_mode ? ", group=y" : ", group=n";
    add(", mask=", mask_type), add(", bias=", bias_type);
    return text + ')';
  }

  [[nodiscard]] static FmhaProblem from_invocation(const FmhaInvocation& invocation, const std::string& gfx_arch = "");
};

namespace stand_in {

/// What all traits but those of appending and of backward have.
template <class Traits>
void read_signature(FmhaProblem& problem, const Traits& traits) {
  problem.is_group_mode = traits.is_group_mode;
  problem.is_v_rowmajor = traits.is_v_rowmajor;
  problem.has_logits_soft_cap = traits.has_logits_soft_cap;
  problem.mask_type = static_cast<int>(traits.mask_type);
  problem.bias_type = static_cast<int>(traits.bias_type);
  problem.has_lse = traits.has_lse;
  problem.has_sink = traits.has_sink;
}

inline void read(FmhaProblem& problem, const fmha_fwd_traits& traits) {
  problem.requested_family = FmhaKernelFamily::Fwd;
  read_signature(problem, traits);
  problem.has_dropout = traits.has_dropout;
  problem.qscale_type = static_cast<int>(traits.qscale_type);
  problem.skip_min_seqlen_q = traits.skip_min_seqlen_q;
}
inline void read(FmhaProblem& problem, const fmha_fwd_pagedkv_traits& traits) {
  problem.requested_family = FmhaKernelFamily::FwdPagedKv;
  read_signature(problem, traits);
  problem.use_paged_kv = traits.use_pagedkv;
  problem.do_fp8_static_quant = traits.do_fp8_static_quant;
  problem.skip_min_seqlen_q = traits.skip_min_seqlen_q;
}
inline void read(FmhaProblem& problem, const fmha_fwd_splitkv_traits& traits) {
  problem.requested_family = FmhaKernelFamily::FwdSplitKv;
  read_signature(problem, traits);
  problem.do_fp8_static_quant = traits.do_fp8_static_quant;
}
inline void read(FmhaProblem& problem, const fmha_fwd_appendkv_traits& traits) {
  problem.requested_family = FmhaKernelFamily::FwdAppendKv;
  problem.is_v_rowmajor = traits.is_v_rowmajor;
  problem.rope_type = static_cast<int>(traits.rope_type);
}
inline void read(FmhaProblem& problem, const fmha_batch_prefill_traits& traits) {
  read(problem, static_cast<const fmha_fwd_traits&>(traits));
  problem.requested_family = FmhaKernelFamily::BatchPrefill;
  problem.use_paged_kv = true;
}
inline void read(FmhaProblem& problem, const fmha_bwd_traits& traits) {
  problem.requested_family = FmhaKernelFamily::BwdDqDkDv;
  problem.is_group_mode = traits.is_group_mode;
  problem.mask_type = static_cast<int>(traits.mask_type);
  problem.bias_type = static_cast<int>(traits.bias_type);
  problem.has_dbias = traits.has_dbias;
  problem.has_dropout = traits.has_dropout;
  problem.is_store_randval = traits.is_store_randval;
  problem.is_deterministic = traits.is_deterministic;
}

/// What all arguments but those of appending have. Only backward passes the longest sequence of keys.
template <class Args>
void read_lengths(FmhaProblem& problem, const Args& args) {
  problem.seqlen_k = args.seqlen_k;
  problem.max_seqlen_q = args.max_seqlen_q;
  problem.window_size_left = args.window_size_left;
  problem.window_size_right = args.window_size_right;
  problem.has_seqstart_q_ptr = args.seqstart_q_ptr != nullptr;
  problem.has_seqlen_k_ptr = args.seqlen_k_ptr != nullptr;
}

template <class Args>
void read_every_pointer(FmhaProblem& problem, const Args& args) {
  problem.has_seqstart_k_ptr = args.seqstart_k_ptr != nullptr;
  problem.has_seqlen_q_ptr = args.seqlen_q_ptr != nullptr;
  problem.has_cu_seqlen_q_ptr = args.cu_seqlen_q_ptr != nullptr;
  problem.has_cu_seqlen_k_ptr = args.cu_seqlen_k_ptr != nullptr;
}

template <class Args>
void read_cache(FmhaProblem& problem, const Args& args) {
  problem.page_size = args.page_block_size;
  problem.has_block_table_ptr = args.block_table_ptr != nullptr;
  problem.has_cache_batch_idx = args.cache_batch_idx != nullptr;
}

inline void read(FmhaProblem& problem, const fmha_fwd_args& args) {
  read_lengths(problem, args);
  read_every_pointer(problem, args);
  problem.sink_size = args.sink_size;
  problem.min_seqlen_q = args.min_seqlen_q;
}
inline void read(FmhaProblem& problem, const fmha_fwd_pagedkv_args& args) {
  read_lengths(problem, args);
  read_cache(problem, args);
  problem.has_seqstart_k_ptr = args.seqstart_k_ptr != nullptr;
  problem.is_gappy = args.is_gappy;
  problem.sink_size = args.sink_size;
  problem.min_seqlen_q = args.min_seqlen_q;
}
inline void read(FmhaProblem& problem, const fmha_fwd_splitkv_args& args) {
  read_lengths(problem, args);
  read_cache(problem, args);
  problem.has_seqstart_k_ptr = args.seqstart_k_ptr != nullptr;
  problem.is_gappy = args.is_gappy;
  problem.sink_size = args.sink_size;
  problem.num_splits = args.num_splits;
  problem.use_paged_kv = problem.has_block_table_ptr;
}
inline void read(FmhaProblem& problem, const fmha_fwd_appendkv_args& args) {
  read_cache(problem, args);
  problem.seqlen_k = args.seqlen_knew;
  problem.rotary_dim = args.rotary_dim;
  problem.has_seqlen_k_ptr = args.seqlen_k_ptr != nullptr;
  problem.has_rotary_cos_sin = args.rotary_cos_ptr != nullptr && args.rotary_sin_ptr != nullptr;
  problem.use_paged_kv = problem.has_block_table_ptr;
}
inline void read(FmhaProblem& problem, const fmha_batch_prefill_args& args) {
  read_lengths(problem, args);
  problem.page_size = args.page_block_size;
  problem.kv_memory_layout = static_cast<int>(args.kv_memory_layout);
  problem.kv_lookup_table = static_cast<int>(args.kv_lookup_table);
  problem.sink_size = args.sink_size;
}
inline void read(FmhaProblem& problem, const fmha_bwd_args& args) {
  read_lengths(problem, args);
  read_every_pointer(problem, args);
  problem.max_seqlen_k = args.max_seqlen_k;
}

}  // namespace stand_in

inline FmhaProblem FmhaProblem::from_invocation(const FmhaInvocation& invocation, const std::string& gfx_arch) {
  FmhaProblem problem;
  problem.api_family = invocation.api_family;
  problem.gfx_arch = gfx_arch;
  const auto traits = [&problem](const auto& of) {
    problem.data_type = of.data_type;
    problem.hdim_q = of.hdim_q;
    problem.hdim_v = of.hdim_v;
    stand_in::read(problem, of);
  };
  const auto args = [&problem](const auto& of) {
    problem.seqlen_q = of.seqlen_q;
    problem.batch = of.batch;
    problem.nhead_q = of.nhead_q;
    problem.nhead_k = of.nhead_k;
    stand_in::read(problem, of);
  };
  std::visit(traits, invocation.traits);
  std::visit(args, invocation.args);
  return problem;
}

}  // namespace dispatcher
}  // namespace ck_tile

#endif  // CK_SELECT_STAND_IN_FMHA_PROBLEM_HPP
