// Grouped convolutions as implicit GEMMs on tensor cores: bf16 in and out, fp32 in between, NHWGC tensors, GKYXC weights.
//
// A workgroup computes a tile of D = A B, whose elements are read straight from the tensors. Chunks of eight elements that
// lie side by side in memory are copied at once when the channels allow it (WIDE), else one by one. An operand whose
// chunks run along the depth of the GEMM is kept as rows x depth in shared memory, one whose chunks run along the rows
// as depth x rows; the loads into fragments transpose the second.
#pragma once

#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include "problem.hpp"

namespace ck_gpu {

using bf16 = __nv_bfloat16;

/// What all threads of a launch know.
struct Arguments {
    Problem p;
    int m, n, k;        // of the GEMM
    int k_part;         // depth that one part computes
    int parts;          // into which the depth is split
    FastDiv image, row, channel, filter_x;  // pixels of an image, of a row; channels of a tap; taps of a row
    FastDiv stride_h, stride_w;
    const bf16 *a, *b;
    bf16* d;
    float* partial;     // [part][group][m][n] when the depth is split
};

struct Pixel {
    int image, h, w;
};

__device__ inline Pixel pixel_of(const Arguments& args, int index, int width) {
    const int image = args.image(index);
    const int rest = index - image * int(args.image.divisor);
    const int h = args.row(rest);
    return {image, h, rest - h * width};
}

struct Tap {
    int y, x, channel;
};

__device__ inline Tap tap_of(const Arguments& args, int index) {
    const int tap = args.channel(index);
    const int y = args.filter_x(tap);
    return {y, tap - y * args.p.x, index - tap * int(args.channel.divisor)};
}

/// Addresses of the elements of A and B; null where the GEMM has a zero.
template <Direction DIRECTION>
struct Operands;

template <>
struct Operands<Direction::Forward> {
    static constexpr bool A_ALONG_K = true, B_ALONG_K = true;

    __device__ static const bf16* a(const Arguments& args, int group, int m, int k) {
        const Problem& p = args.p;
        if (m >= args.m || k >= args.k) return nullptr;
        const Pixel out = pixel_of(args, m, p.wo);
        const Tap tap = tap_of(args, k);
        const int h = out.h * p.stride_h - p.pad_h + tap.y * p.dilation_h;
        const int w = out.w * p.stride_w - p.pad_w + tap.x * p.dilation_w;
        if (unsigned(h) >= unsigned(p.hi) || unsigned(w) >= unsigned(p.wi)) return nullptr;
        return args.a + ((int64_t(out.image * p.hi + h) * p.wi + w) * p.g + group) * p.c + tap.channel;
    }
    __device__ static const bf16* b(const Arguments& args, int group, int n, int k) {
        if (n >= args.n || k >= args.k) return nullptr;
        return args.b + (int64_t(group) * args.n + n) * args.k + k;
    }
    __device__ static int64_t d(const Arguments& args, int group, int m) {
        return (int64_t(m) * args.p.g + group) * args.p.k;
    }
};

template <>
struct Operands<Direction::BwdData> {
    static constexpr bool A_ALONG_K = true, B_ALONG_K = false;

    __device__ static const bf16* a(const Arguments& args, int group, int m, int k) {
        const Problem& p = args.p;
        if (m >= args.m || k >= args.k) return nullptr;
        const Pixel in = pixel_of(args, m, p.wi);
        const Tap tap = tap_of(args, k);
        const int h = in.h + p.pad_h - tap.y * p.dilation_h, w = in.w + p.pad_w - tap.x * p.dilation_w;
        if (h < 0 || w < 0) return nullptr;
        const int ho = args.stride_h(h), wo = args.stride_w(w);
        if (ho * p.stride_h != h || wo * p.stride_w != w || ho >= p.ho || wo >= p.wo) return nullptr;
        return args.a + ((int64_t(in.image * p.ho + ho) * p.wo + wo) * p.g + group) * p.k + tap.channel;
    }
    __device__ static const bf16* b(const Arguments& args, int group, int n, int k) {
        if (n >= args.n || k >= args.k) return nullptr;
        const Tap tap = tap_of(args, k);
        const int64_t row = int64_t(group) * args.p.k + tap.channel;
        return args.b + ((row * args.p.y + tap.y) * args.p.x + tap.x) * args.p.c + n;
    }
    __device__ static int64_t d(const Arguments& args, int group, int m) {
        return (int64_t(m) * args.p.g + group) * args.p.c;
    }
};

template <>
struct Operands<Direction::BwdWeight> {
    static constexpr bool A_ALONG_K = false, B_ALONG_K = false;

    __device__ static const bf16* a(const Arguments& args, int group, int m, int k) {
        if (m >= args.m || k >= args.k) return nullptr;
        return args.a + (int64_t(k) * args.p.g + group) * args.p.k + m;
    }
    __device__ static const bf16* b(const Arguments& args, int group, int n, int k) {
        const Problem& p = args.p;
        if (n >= args.n || k >= args.k) return nullptr;
        const Pixel out = pixel_of(args, k, p.wo);
        const Tap tap = tap_of(args, n);
        const int h = out.h * p.stride_h - p.pad_h + tap.y * p.dilation_h;
        const int w = out.w * p.stride_w - p.pad_w + tap.x * p.dilation_w;
        if (unsigned(h) >= unsigned(p.hi) || unsigned(w) >= unsigned(p.wi)) return nullptr;
        return args.b + ((int64_t(out.image * p.hi + h) * p.wi + w) * p.g + group) * p.c + tap.channel;
    }
    __device__ static int64_t d(const Arguments& args, int group, int m) {
        return (int64_t(group) * args.m + m) * args.n;
    }
};

__device__ inline uint32_t shared_address(const void* pointer) {
    return static_cast<uint32_t>(__cvta_generic_to_shared(pointer));
}

/// Sixteen bytes into shared memory, without waiting; zeros when there is no source.
__device__ inline void copy_chunk(bf16* to, const bf16* from, const bf16* anywhere) {
    const int bytes = from ? 16 : 0;
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;\n" ::"r"(shared_address(to)),
                 "l"(from ? from : anywhere), "r"(bytes));
}

template <bool TRANSPOSED>
__device__ inline void load_matrices(uint32_t (&to)[4], const bf16* from) {
    const uint32_t address = shared_address(from);
    if constexpr (TRANSPOSED)
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];\n"
                     : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                     : "r"(address));
    else
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];\n"
                     : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                     : "r"(address));
}

__device__ inline void multiply_add(float (&d)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1) {
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
                 "{%0, %1, %2, %3};\n"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

/// How one operand's tile lies in shared memory: lines of LINE elements, each followed by eight that keep banks apart.
template <int ROWS, int DEPTH, bool ALONG_K>
struct Tile {
    static constexpr int LINE = ALONG_K ? DEPTH : ROWS;
    static constexpr int LINES = ALONG_K ? ROWS : DEPTH;
    static constexpr int PITCH = LINE + 8;
    static constexpr int ELEMENTS = LINES * PITCH;
    static constexpr int CHUNKS = LINES * (LINE / 8);

    __device__ static int place(int row, int k) { return ALONG_K ? row * PITCH + k : k * PITCH + row; }
};

/// Starts the copies of one operand's tile. ELEMENT gives the address of element (row, k).
template <class TILE, bool ALONG_K, int THREADS, bool WIDE, class ELEMENT>
__device__ inline void fetch(bf16* tile, int first_row, int first_k, const bf16* anywhere, ELEMENT element) {
    constexpr int PER_LINE = TILE::LINE / 8;
    for (int chunk = threadIdx.x; chunk < TILE::CHUNKS; chunk += THREADS) {
        const int line = chunk / PER_LINE, at = chunk % PER_LINE * 8;
        const int row = first_row + (ALONG_K ? line : at), k = first_k + (ALONG_K ? at : line);
        bf16* to = tile + line * TILE::PITCH + at;
        if constexpr (WIDE) {
            copy_chunk(to, element(row, k), anywhere);
        } else {
            __align__(16) bf16 values[8];
#pragma unroll
            for (int i = 0; i < 8; ++i) {
                const bf16* from = element(row + (ALONG_K ? 0 : i), k + (ALONG_K ? i : 0));
                values[i] = from ? *from : bf16(0.0f);
            }
            *reinterpret_cast<uint4*>(to) = *reinterpret_cast<const uint4*>(values);
        }
    }
}

template <int TM, int TN, int TK, int WAVES_M, int WAVES_N, int STAGES>
struct Shape {
    static constexpr int M = TM, N = TN, K = TK, STAGE_COUNT = STAGES;
    static constexpr int WARPS_M = WAVES_M, WARPS_N = WAVES_N, THREADS = WAVES_M * WAVES_N * 32;
    static constexpr int WARP_M = TM / WAVES_M, WARP_N = TN / WAVES_N;
    static_assert(WARP_M % 16 == 0 && WARP_N % 16 == 0 && TK % 16 == 0, "whole fragments");

    template <Direction DIRECTION>
    static constexpr int shared_bytes() {
        using Ops = Operands<DIRECTION>;
        return STAGES * (Tile<TM, TK, Ops::A_ALONG_K>::ELEMENTS + Tile<TN, TK, Ops::B_ALONG_K>::ELEMENTS) * 2;
    }
};

template <Direction DIRECTION, class SHAPE, bool WIDE>
__global__ void __launch_bounds__(SHAPE::THREADS) convolve(const __grid_constant__ Arguments args) {
    using Ops = Operands<DIRECTION>;
    using TileA = Tile<SHAPE::M, SHAPE::K, Ops::A_ALONG_K>;
    using TileB = Tile<SHAPE::N, SHAPE::K, Ops::B_ALONG_K>;
    constexpr int STAGES = SHAPE::STAGE_COUNT;
    constexpr int ROW_FRAGMENTS = SHAPE::WARP_M / 16, COLUMN_PAIRS = SHAPE::WARP_N / 16;
    extern __shared__ __align__(16) bf16 shared[];
    bf16* const tiles_a = shared;
    bf16* const tiles_b = shared + STAGES * TileA::ELEMENTS;

    const int first_m = blockIdx.x * SHAPE::M, first_n = blockIdx.y * SHAPE::N;
    const int group = blockIdx.z / args.parts, part = blockIdx.z % args.parts;
    const int begin = part * args.k_part, end = min(args.k, begin + args.k_part);
    const int steps = end > begin ? (end - begin + SHAPE::K - 1) / SHAPE::K : 0;
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const int warp_m = warp / SHAPE::WARPS_N * SHAPE::WARP_M, warp_n = warp % SHAPE::WARPS_N * SHAPE::WARP_N;

    float sums[ROW_FRAGMENTS][COLUMN_PAIRS * 2][4] = {};

    auto start = [&](int step) {
        const int k = begin + step * SHAPE::K, slot = step % STAGES;
        // Parts are whole steps, except for the last, so that no element is taken twice.
        fetch<TileA, Ops::A_ALONG_K, SHAPE::THREADS, WIDE>(
            tiles_a + slot * TileA::ELEMENTS, first_m, k, args.a,
            [&](int row, int at) { return Ops::a(args, group, row, at); });
        fetch<TileB, Ops::B_ALONG_K, SHAPE::THREADS, WIDE>(
            tiles_b + slot * TileB::ELEMENTS, first_n, k, args.b,
            [&](int row, int at) { return Ops::b(args, group, row, at); });
    };
    auto multiply = [&](int slot) {
        const bf16* const a = tiles_a + slot * TileA::ELEMENTS;
        const bf16* const b = tiles_b + slot * TileB::ELEMENTS;
        const int eighth = lane / 8, within = lane % 8;
#pragma unroll
        for (int k = 0; k < SHAPE::K; k += 16) {
            uint32_t fragments_a[ROW_FRAGMENTS][4], fragments_b[COLUMN_PAIRS][4];
#pragma unroll
            for (int i = 0; i < ROW_FRAGMENTS; ++i) {
                const int row = warp_m + i * 16 + (eighth & 1) * 8, depth = k + (eighth >> 1) * 8;
                load_matrices<!Ops::A_ALONG_K>(
                    fragments_a[i], a + (Ops::A_ALONG_K ? TileA::place(row + within, depth)
                                                        : TileA::place(row, depth + within)));
            }
#pragma unroll
            for (int j = 0; j < COLUMN_PAIRS; ++j) {
                const int row = warp_n + j * 16 + (eighth >> 1) * 8, depth = k + (eighth & 1) * 8;
                load_matrices<!Ops::B_ALONG_K>(
                    fragments_b[j], b + (Ops::B_ALONG_K ? TileB::place(row + within, depth)
                                                        : TileB::place(row, depth + within)));
            }
#pragma unroll
            for (int i = 0; i < ROW_FRAGMENTS; ++i)
#pragma unroll
                for (int j = 0; j < COLUMN_PAIRS; ++j) {
                    multiply_add(sums[i][2 * j], fragments_a[i], fragments_b[j][0], fragments_b[j][1]);
                    multiply_add(sums[i][2 * j + 1], fragments_a[i], fragments_b[j][2], fragments_b[j][3]);
                }
        }
    };

    if constexpr (STAGES == 1) {
        for (int step = 0; step < steps; ++step) {
            start(step);
            asm volatile("cp.async.wait_all;\n");
            __syncthreads();
            multiply(0);
            __syncthreads();
        }
    } else {
        // One group a step, empty ones at the end, so that the count of groups tells which step has arrived.
        for (int step = 0; step < STAGES - 1; ++step) {
            if (step < steps) start(step);
            asm volatile("cp.async.commit_group;\n");
        }
        for (int step = 0; step < steps; ++step) {
            asm volatile("cp.async.wait_group %0;\n" ::"n"(STAGES - 2));
            __syncthreads();
            if (step + STAGES - 1 < steps) start(step + STAGES - 1);
            asm volatile("cp.async.commit_group;\n");
            multiply(step % STAGES);
        }
    }

    const int quad = lane / 4, pair = lane % 4 * 2;
#pragma unroll
    for (int i = 0; i < ROW_FRAGMENTS; ++i)
#pragma unroll
        for (int half = 0; half < 2; ++half) {
            const int m = first_m + warp_m + i * 16 + half * 8 + quad;
            if (m >= args.m) continue;
#pragma unroll
            for (int j = 0; j < COLUMN_PAIRS * 2; ++j) {
                const int n = first_n + warp_n + j * 8 + pair;
                const float low = sums[i][j][2 * half], high = sums[i][j][2 * half + 1];
                if (args.parts > 1) {
                    const int64_t plane = int64_t(part) * args.p.g + group;
                    float* to = args.partial + (plane * args.m + m) * args.n + n;
                    if (n < args.n) to[0] = low;
                    if (n + 1 < args.n) to[1] = high;
                } else {
                    bf16* to = args.d + Ops::d(args, group, m) + n;
                    if (n + 1 < args.n && (reinterpret_cast<uintptr_t>(to) & 3) == 0) {
                        *reinterpret_cast<__nv_bfloat162*>(to) = __floats2bfloat162_rn(low, high);
                    } else {
                        if (n < args.n) to[0] = __float2bfloat16(low);
                        if (n + 1 < args.n) to[1] = __float2bfloat16(high);
                    }
                }
            }
        }
}

/// The second stage: adds the parts, in their order, and rounds once.
template <Direction DIRECTION>
__global__ void __launch_bounds__(256) add_parts(const __grid_constant__ Arguments args) {
    const int64_t plane = int64_t(args.m) * args.n, all = plane * args.p.g;
    const int64_t at = int64_t(blockIdx.x) * 256 + threadIdx.x;
    if (at >= all) return;
    float sum = 0;
    for (int part = 0; part < args.parts; ++part) sum += args.partial[part * all + at];
    const int group = int(at / plane);
    const int64_t rest = at - group * plane;
    const int m = int(rest / args.n);
    args.d[Operands<DIRECTION>::d(args, group, m) + (rest - int64_t(m) * args.n)] = __float2bfloat16(sum);
}

}  // namespace ck_gpu
