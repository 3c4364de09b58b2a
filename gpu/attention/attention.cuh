// Attention in tiles, to see what the estimate is worth: fp16, queries x keys x values with online softmax, causal masks from the
// bottom right, shared heads of keys, split keys. What varies is what CK's kernels vary, too: queries and keys of a tile, waves, how
// far loads run ahead.

#pragma once

#include <cuda_fp16.h>

#include <cstdint>

struct Problem {
  int batch, seqlen_q, seqlen_k, nhead_q, nhead_k, hdim;
  bool causal;
  int splits;
};

struct Buffers {
  const __half *q, *k, *v;
  __half *o;
  float *parts, *sums;  // of splits
};

/// Runs a kernel once; false when its shared memory is not there.
using Run = bool (*)(const Problem &, const Buffers &, cudaStream_t);

struct Kernel {
  int hdim, tile_m, tile_n, warps, stages;
  Run run;
};

__device__ inline uint32_t shared_address(const void *pointer) { return static_cast<uint32_t>(__cvta_generic_to_shared(pointer)); }

__device__ inline void mma(float (&c)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1) {
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
               : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

template <bool Transposed>
__device__ inline void load_matrices(uint32_t (&r)[4], uint32_t address) {
  if constexpr (Transposed) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(address));
  } else {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(address));
  }
}

/// Rows of HD elements, whose pieces of 16 bytes are exchanged so that columns have no bank conflicts.
template <int HD>
__device__ inline int place(int row, int piece) { return row * HD + ((piece ^ (row & 7)) << 3); }

template <int HD, int WARPS, int ROWS, int TN, int STAGES>
__global__ void __launch_bounds__(WARPS * 32) attention(Problem p, Buffers b) {
  constexpr int TM = WARPS * ROWS * 16, THREADS = WARPS * 32, PIECES = HD / 8;
  extern __shared__ __align__(128) __half memory[];
  __half *keys = memory, *values = memory + STAGES * TN * HD;
  const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5, group = lane >> 2, pair = lane & 3;
  const int head = blockIdx.y % p.nhead_q, sequence = blockIdx.y / p.nhead_q;
  const int shared_head = head / (p.nhead_q / p.nhead_k);
  const __half *q = b.q + static_cast<int64_t>(blockIdx.y) * p.seqlen_q * HD;
  const int64_t of_keys = (static_cast<int64_t>(sequence) * p.nhead_k + shared_head) * p.seqlen_k * HD;
  const __half *k = b.k + of_keys, *v = b.v + of_keys;
  const int first_row = blockIdx.x * TM, shift = p.seqlen_k - p.seqlen_q;
  int all = (p.seqlen_k + TN - 1) / TN;
  if (p.causal) all = min(all, (min(first_row + TM, p.seqlen_q) + shift + TN - 1) / TN);
  all = max(all, 0);
  const int each = (all + p.splits - 1) / p.splits, begin = blockIdx.z * each, end = min(all, begin + each);

  uint32_t queries[ROWS][HD / 16][4];
  for (int r = 0; r < ROWS; ++r) {
    const int row = first_row + (warp * ROWS + r) * 16 + group;
#pragma unroll
    for (int c = 0; c < HD / 16; ++c) {
#pragma unroll
      for (int part = 0; part < 4; ++part) {
        const int at = row + (part & 1) * 8, column = c * 16 + pair * 2 + (part >> 1) * 8;
        queries[r][c][part] = at < p.seqlen_q ? *reinterpret_cast<const uint32_t *>(q + static_cast<int64_t>(at) * HD + column) : 0;
      }
    }
  }
  float result[ROWS][HD / 8][4] = {};
  float largest[ROWS][2], sum[ROWS][2];
  for (int r = 0; r < ROWS; ++r) {
    largest[r][0] = largest[r][1] = -1e30f;
    sum[r][0] = sum[r][1] = 0.0f;
  }
  const float scale = rsqrtf(static_cast<float>(HD)) * 1.4426950408889634f;

  const auto load = [&](int step) {
    const int stage = step % STAGES;
    for (int at = threadIdx.x; at < TN * PIECES; at += THREADS) {
      const int row = at / PIECES, piece = at % PIECES, key = step * TN + row;
      const int bytes = key < p.seqlen_k ? 16 : 0;
      const int64_t from = static_cast<int64_t>(min(key, p.seqlen_k - 1)) * HD + piece * 8;
      asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared_address(keys + stage * TN * HD + place<HD>(row, piece))), "l"(k + from), "r"(bytes));
      asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared_address(values + stage * TN * HD + place<HD>(row, piece))), "l"(v + from), "r"(bytes));
    }
    asm volatile("cp.async.commit_group;");
  };
  if (STAGES > 1 && begin < end) load(begin);
  for (int step = begin; step < end; ++step) {
    if (STAGES > 1) {
      if (step + 1 < end) {
        load(step + 1);
        asm volatile("cp.async.wait_group 1;");
      } else {
        asm volatile("cp.async.wait_group 0;");
      }
    } else {
      load(step);
      asm volatile("cp.async.wait_group 0;");
    }
    __syncthreads();
    const __half *stage_keys = keys + step % STAGES * TN * HD, *stage_values = values + step % STAGES * TN * HD;
#pragma unroll
    for (int r = 0; r < ROWS; ++r) {
      const int row = first_row + (warp * ROWS + r) * 16 + group;
      float scores[TN / 8][4] = {};
#pragma unroll
      for (int n = 0; n < TN / 8; ++n) {
#pragma unroll
        for (int c = 0; c < HD / 32; ++c) {
          uint32_t key[4];
          load_matrices<false>(key, shared_address(stage_keys + place<HD>(n * 8 + (lane & 7), c * 4 + (lane >> 3))));
          mma(scores[n], queries[r][2 * c], key[0], key[1]);
          mma(scores[n], queries[r][2 * c + 1], key[2], key[3]);
        }
      }
      float most[2] = {largest[r][0], largest[r][1]};
      const bool cut = (step + 1) * TN > p.seqlen_k || (p.causal && (step + 1) * TN - 1 > row - group + shift);
#pragma unroll
      for (int n = 0; n < TN / 8; ++n) {
#pragma unroll
        for (int e = 0; e < 4; ++e) {
          if (cut) {
            const int key = step * TN + n * 8 + pair * 2 + (e & 1), query = row + (e >> 1) * 8;
            if (key >= p.seqlen_k || (p.causal && key > query + shift)) scores[n][e] = -1e30f;
          }
          most[e >> 1] = fmaxf(most[e >> 1], scores[n][e]);
        }
      }
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        most[half] = fmaxf(most[half], __shfl_xor_sync(~0u, most[half], 1));
        most[half] = fmaxf(most[half], __shfl_xor_sync(~0u, most[half], 2));
        const float kept = exp2f((largest[r][half] - most[half]) * scale);
        largest[r][half] = most[half];
        sum[r][half] *= kept;
#pragma unroll
        for (int n = 0; n < HD / 8; ++n) {
          result[r][n][2 * half] *= kept;
          result[r][n][2 * half + 1] *= kept;
        }
      }
#pragma unroll
      for (int n = 0; n < TN / 8; ++n) {
#pragma unroll
        for (int e = 0; e < 4; ++e) {
          scores[n][e] = exp2f((scores[n][e] - most[e >> 1]) * scale);
          sum[r][e >> 1] += scores[n][e];
        }
      }
#pragma unroll
      for (int c = 0; c < TN / 16; ++c) {
        uint32_t weights[4];
        const auto both = [](float x, float y) {
          const __half2 pair_of = __floats2half2_rn(x, y);
          return *reinterpret_cast<const uint32_t *>(&pair_of);
        };
        weights[0] = both(scores[2 * c][0], scores[2 * c][1]);
        weights[1] = both(scores[2 * c][2], scores[2 * c][3]);
        weights[2] = both(scores[2 * c + 1][0], scores[2 * c + 1][1]);
        weights[3] = both(scores[2 * c + 1][2], scores[2 * c + 1][3]);
#pragma unroll
        for (int n = 0; n < HD / 16; ++n) {
          uint32_t value[4];
          load_matrices<true>(value, shared_address(stage_values + place<HD>(c * 16 + (lane & 15), n * 2 + (lane >> 4))));
          mma(result[r][2 * n], weights, value[0], value[1]);
          mma(result[r][2 * n + 1], weights, value[2], value[3]);
        }
      }
    }
    __syncthreads();
  }
  const int64_t rows = static_cast<int64_t>(gridDim.y) * p.seqlen_q;
#pragma unroll
  for (int r = 0; r < ROWS; ++r) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      float total = sum[r][half];
      total += __shfl_xor_sync(~0u, total, 1);
      total += __shfl_xor_sync(~0u, total, 2);
      const int row = first_row + (warp * ROWS + r) * 16 + group + half * 8;
      if (row >= p.seqlen_q) continue;
      const int64_t at = static_cast<int64_t>(blockIdx.y) * p.seqlen_q + row;
      const float inverse = total > 0.0f ? 1.0f / total : 0.0f;
#pragma unroll
      for (int n = 0; n < HD / 8; ++n) {
        const float x = result[r][n][2 * half] * inverse, y = result[r][n][2 * half + 1] * inverse;
        const int column = n * 8 + pair * 2;
        if (p.splits > 1) {
          *reinterpret_cast<float2 *>(b.parts + (blockIdx.z * rows + at) * HD + column) = make_float2(x, y);
        } else {
          *reinterpret_cast<__half2 *>(b.o + at * HD + column) = __floats2half2_rn(x, y);
        }
      }
      if (p.splits > 1 && pair == 0) {
        b.sums[blockIdx.z * rows + at] = total > 0.0f ? largest[r][half] * scale + log2f(total) : -1e30f;
      }
    }
  }
}

template <int HD>
__global__ void combine(Problem p, Buffers b, int64_t rows) {
  const int64_t row = blockIdx.x * static_cast<int64_t>(blockDim.y) + threadIdx.y;
  if (row >= rows) return;
  float most = -1e30f, total = 0.0f;
  for (int s = 0; s < p.splits; ++s) most = fmaxf(most, b.sums[s * rows + row]);
  for (int s = 0; s < p.splits; ++s) total += exp2f(b.sums[s * rows + row] - most);
  for (int column = threadIdx.x; column < HD; column += 32) {
    float value = 0.0f;
    for (int s = 0; s < p.splits; ++s) value += b.parts[(s * rows + row) * HD + column] * exp2f(b.sums[s * rows + row] - most);
    b.o[row * HD + column] = __float2half_rn(value / total);
  }
}

template <int HD, int WARPS, int ROWS, int TN, int STAGES>
bool run(const Problem &p, const Buffers &b, cudaStream_t stream) {
  constexpr int TM = WARPS * ROWS * 16, bytes = STAGES * TN * HD * 2 * 2;
  static const bool fits = cudaFuncSetAttribute(attention<HD, WARPS, ROWS, TN, STAGES>, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes) == cudaSuccess;
  if (!fits) return false;
  const dim3 grid((p.seqlen_q + TM - 1) / TM, p.batch * p.nhead_q, p.splits);
  attention<HD, WARPS, ROWS, TN, STAGES><<<grid, WARPS * 32, bytes, stream>>>(p, b);
  if (p.splits > 1) {
    const int64_t rows = static_cast<int64_t>(p.batch) * p.nhead_q * p.seqlen_q;
    combine<HD><<<static_cast<unsigned>((rows + 7) / 8), dim3(32, 8), 0, stream>>>(p, b, rows);
  }
  return cudaPeekAtLastError() == cudaSuccess;
}
