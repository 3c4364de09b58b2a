// The kernels of one tile, in all directions. Compiled once a tile with TILE_M, TILE_N, TILE_K, TILE_WAVES_M and TILE_WAVES_N.

#include <algorithm>

#include "conv.cuh"
#include "kernels.hpp"

namespace ck_gpu {
namespace {

template <Direction DIRECTION>
Arguments arguments(const Kernel& kernel, const Problem& p, const Buffers& buffers) {
    Arguments args;
    args.p = p;
    args.m = int(p.gemm_m(DIRECTION));
    args.n = int(p.gemm_n(DIRECTION));
    args.k = int(p.gemm_k(DIRECTION));
    const bool data = DIRECTION == Direction::BwdData;
    args.image = FastDiv(data ? p.hi * p.wi : p.ho * p.wo);
    args.row = FastDiv(data ? p.wi : p.wo);
    args.channel = FastDiv(data ? p.k : p.c);
    args.filter_x = FastDiv(p.x);
    args.stride_h = FastDiv(p.stride_h);
    args.stride_w = FastDiv(p.stride_w);
    const int steps = (args.k + kernel.tile_k - 1) / kernel.tile_k;
    args.parts = std::max(1, std::min(kernel.parts, steps));
    args.k_part = (steps + args.parts - 1) / args.parts * kernel.tile_k;
    const bf16 *input = static_cast<bf16*>(buffers.input), *weight = static_cast<bf16*>(buffers.weight),
               *output = static_cast<bf16*>(buffers.output);
    args.a = DIRECTION == Direction::Forward ? input : output;
    args.b = DIRECTION == Direction::BwdWeight ? input : weight;
    args.d = static_cast<bf16*>(DIRECTION == Direction::Forward   ? buffers.output
                                : DIRECTION == Direction::BwdData ? buffers.input
                                                                  : buffers.weight);
    args.partial = buffers.partial;
    return args;
}

template <Direction DIRECTION, class SHAPE, bool WIDE>
cudaError_t launch_as(const Arguments& args, cudaStream_t stream) {
    constexpr int BYTES = SHAPE::template shared_bytes<DIRECTION>();
    // More than 48 KB have to be asked for, once a device; asking again costs little beside a launch.
    if constexpr (BYTES > 48 * 1024) {
        const cudaError_t error = cudaFuncSetAttribute(convolve<DIRECTION, SHAPE, WIDE>,
                                                       cudaFuncAttributeMaxDynamicSharedMemorySize, BYTES);
        if (error != cudaSuccess) return error;
    }
    const dim3 grid((args.m + SHAPE::M - 1) / SHAPE::M, (args.n + SHAPE::N - 1) / SHAPE::N, args.p.g * args.parts);
    convolve<DIRECTION, SHAPE, WIDE><<<grid, SHAPE::THREADS, BYTES, stream>>>(args);
    if (args.parts > 1) {
        const int64_t all = int64_t(args.m) * args.n * args.p.g;
        add_parts<DIRECTION><<<unsigned((all + 255) / 256), 256, 0, stream>>>(args);
    }
    return cudaPeekAtLastError();
}

template <Direction DIRECTION, int STAGES>
cudaError_t launch(const Kernel& kernel, const Problem& p, const Buffers& buffers, bool wide, cudaStream_t stream) {
    using Chosen = Shape<TILE_M, TILE_N, TILE_K, TILE_WAVES_M, TILE_WAVES_N, STAGES>;
    const Arguments args = arguments<DIRECTION>(kernel, p, buffers);
    return wide ? launch_as<DIRECTION, Chosen, true>(args, stream)
                : launch_as<DIRECTION, Chosen, false>(args, stream);
}

template <Direction DIRECTION, int STAGES>
void add(const char* word, const char* pipeline, int parts) {
    const std::string tile =
        std::to_string(TILE_M) + "x" + std::to_string(TILE_N) + "x" + std::to_string(TILE_K);
    Kernel kernel;
    kernel.name = std::string("grouped_conv_") + word + "_bf16_2d_" + tile + "_" + pipeline + "_intrawave" +
                  (parts > 1 ? "_2stage" : "");
    kernel.direction = DIRECTION;
    kernel.tile_m = TILE_M;
    kernel.tile_n = TILE_N;
    kernel.tile_k = TILE_K;
    kernel.parts = parts;
    kernel.launch = launch<DIRECTION, STAGES>;
    detail::add(kernel);
}

// How far loads run ahead is the pipeline: mem loads and then multiplies, compv3 is one step ahead, compv4 two.
struct Added {
    Added() {
        add<Direction::Forward, 1>("forward", "mem", 1);
        add<Direction::Forward, 2>("forward", "compv3", 1);
        add<Direction::Forward, 3>("forward", "compv4", 1);
        add<Direction::BwdData, 1>("bwd_data", "mem", 1);
        add<Direction::BwdData, 2>("bwd_data", "compv3", 1);
        add<Direction::BwdData, 3>("bwd_data", "compv4", 1);
        add<Direction::BwdWeight, 2>("bwd_weight", "compv3", 1);
        add<Direction::BwdWeight, 2>("bwd_weight", "compv3", 8);
        add<Direction::BwdWeight, 3>("bwd_weight", "compv4", 32);
    }
} added;

}  // namespace
}  // namespace ck_gpu
