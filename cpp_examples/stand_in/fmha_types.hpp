// Stand-ins for the arguments and traits of attention calls: the members that tell the problem, with their types.

#ifndef CK_SELECT_STAND_IN_FMHA_TYPES_HPP
#define CK_SELECT_STAND_IN_FMHA_TYPES_HPP

#include <cstdint>
#include <string>
#include <variant>

// As HIP declares it.
struct ihipStream_t;
using hipStream_t = ihipStream_t*;

namespace ck_tile {

using index_t = std::int32_t;

enum class BlockAttentionKVCacheMemoryLayoutEnum { VECTORIZED_LAYOUT = 0, LINEAR_LAYOUT = 1 };
enum class BlockAttentionKVCacheLookupTableEnum { VLLM_BLOCK_TABLE_2D = 0, SGLANG_PAGE_TABLE_1D = 1 };

/// How a kernel is launched.
struct stream_config {
  hipStream_t stream_id_ = nullptr;
  bool time_kernel_ = false;
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

}  // namespace ck_tile

// CK declares what follows outside of its namespaces.

enum class mask_enum { no_mask = 0, mask_top_left, mask_bottom_right, window_generic };
enum class bias_enum { no_bias = 0, elementwise_bias = 1, alibi = 2 };
enum class quant_scale_enum { no_scale = 0, pertensor = 1, blockscale = 2, kv_blockscale = 3 };
enum class rope_enum { none = 0, interleaved = 1, half_rotated = 2 };

struct fmha_fwd_args {
  const void *q_ptr = nullptr, *seqstart_q_ptr = nullptr, *seqstart_k_ptr = nullptr, *seqlen_q_ptr = nullptr,
             *seqlen_k_ptr = nullptr, *cu_seqlen_q_ptr = nullptr, *cu_seqlen_k_ptr = nullptr;
  ck_tile::index_t seqlen_q, seqlen_k, batch, max_seqlen_q, hdim_q, hdim_v, nhead_q, nhead_k;
  ck_tile::index_t window_size_left, window_size_right, sink_size, mask_type, min_seqlen_q;
};

struct fmha_fwd_pagedkv_args {
  const void* q_ptr;
  void* block_table_ptr;
  ck_tile::index_t page_block_size;
  bool is_gappy;
  const void *cache_batch_idx, *seqstart_q_ptr, *seqstart_k_ptr, *seqlen_k_ptr;
  ck_tile::index_t seqlen_q, seqlen_k, batch, max_seqlen_q, hdim_q, hdim_v, nhead_q, nhead_k;
  ck_tile::index_t window_size_left, window_size_right, sink_size, mask_type, min_seqlen_q;
};

struct fmha_fwd_splitkv_args {
  const void* q_ptr;
  void* block_table_ptr;
  ck_tile::index_t page_block_size;
  bool is_gappy;
  const void *cache_batch_idx, *seqstart_q_ptr, *seqstart_k_ptr, *seqlen_k_ptr;
  ck_tile::index_t seqlen_q, seqlen_k, batch, max_seqlen_q, hdim_q, hdim_v, nhead_q, nhead_k, num_splits;
  ck_tile::index_t window_size_left, window_size_right, sink_size, mask_type;
};

struct fmha_fwd_appendkv_args {
  void* q_ptr;
  const void* seqlen_k_ptr;
  ck_tile::index_t seqlen_q, seqlen_knew, batch, hdim_q, hdim_v, nhead_q, nhead_k;
  const void *rotary_cos_ptr, *rotary_sin_ptr;
  ck_tile::index_t rotary_dim;
  void* block_table_ptr;
  ck_tile::index_t page_block_size;
  const void* cache_batch_idx;
};

struct fmha_batch_prefill_args {
  const void *q_ptr, *seqstart_q_ptr;
  ck_tile::index_t seqlen_q, seqlen_k, batch, max_seqlen_q, hdim_q, hdim_v, nhead_q, nhead_k, page_block_size;
  ck_tile::BlockAttentionKVCacheMemoryLayoutEnum kv_memory_layout;
  ck_tile::BlockAttentionKVCacheLookupTableEnum kv_lookup_table;
  void* seqlen_k_ptr;
  ck_tile::index_t window_size_left, window_size_right, sink_size, mask_type;
};

struct fmha_bwd_args {
  const void *q_ptr, *seqstart_q_ptr = nullptr, *seqstart_k_ptr = nullptr, *seqlen_q_ptr = nullptr,
                     *seqlen_k_ptr = nullptr, *cu_seqlen_q_ptr = nullptr, *cu_seqlen_k_ptr = nullptr;
  ck_tile::index_t seqlen_q, seqlen_k, batch, max_seqlen_q, max_seqlen_k, hdim_q, hdim_v, nhead_q, nhead_k;
  ck_tile::index_t window_size_left, window_size_right, mask_type;
};

struct fmha_fwd_traits {
  int hdim_q, hdim_v;
  std::string data_type;
  bool is_group_mode, is_v_rowmajor, has_logits_soft_cap;
  mask_enum mask_type;
  bias_enum bias_type;
  bool has_lse, has_dropout;
  quant_scale_enum qscale_type;
  bool skip_min_seqlen_q = false, has_sink = false;
};

struct fmha_fwd_pagedkv_traits {
  int hdim_q, hdim_v;
  std::string data_type;
  bool is_group_mode, is_v_rowmajor, has_logits_soft_cap;
  mask_enum mask_type;
  bias_enum bias_type;
  bool has_lse = false, use_pagedkv = true, do_fp8_static_quant = false, skip_min_seqlen_q = false, has_sink = false;
};

struct fmha_fwd_splitkv_traits {
  int hdim_q, hdim_v;
  std::string data_type;
  bool is_group_mode, is_v_rowmajor, has_logits_soft_cap;
  mask_enum mask_type;
  bias_enum bias_type;
  bool has_lse, do_fp8_static_quant = false, has_sink = false;
};

struct fmha_fwd_appendkv_traits {
  int hdim_q, hdim_v;
  std::string data_type;
  bool is_v_rowmajor;
  rope_enum rope_type;
};

struct fmha_batch_prefill_traits : public fmha_fwd_traits {
  ck_tile::BlockAttentionKVCacheMemoryLayoutEnum kv_memory_layout =
      ck_tile::BlockAttentionKVCacheMemoryLayoutEnum::VECTORIZED_LAYOUT;
  ck_tile::BlockAttentionKVCacheLookupTableEnum kv_lookup_table =
      ck_tile::BlockAttentionKVCacheLookupTableEnum::SGLANG_PAGE_TABLE_1D;
  int page_size = 1;
};

struct fmha_bwd_traits {
  int seqlen_q, seqlen_k, batch, max_seqlen_q, max_seqlen_k, hdim_q, hdim_v, nhead_q, nhead_k;
  std::string data_type;
  bool is_group_mode;
  mask_enum mask_type;
  bias_enum bias_type;
  bool has_dbias, has_dropout, is_store_randval, is_deterministic;
};

#endif  // CK_SELECT_STAND_IN_FMHA_TYPES_HPP
