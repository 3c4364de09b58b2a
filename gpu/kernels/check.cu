// Every kernel against a plain one in fp32, over problems with all kinds of odd extents. Exits 1 on the first difference
// that rounding does not explain.

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include <cuda_bf16.h>

#include "library.hpp"

using namespace ck_gpu;
using bf16 = __nv_bfloat16;

#define CHECK(call)                                                                                     \
    do {                                                                                                \
        const cudaError_t error = (call);                                                               \
        if (error != cudaSuccess) {                                                                     \
            std::fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(error));                         \
            std::exit(1);                                                                               \
        }                                                                                               \
    } while (0)

/// One thread an element of the result, straight from the definition.
__global__ void reference(Direction direction, Problem p, const bf16* input, const bf16* weight, const bf16* output,
                          float* sums, float* sizes, int64_t count) {
    const int64_t at = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
    if (at >= count) return;
    float sum = 0, size = 0;
    auto take = [&](float a, float b) {
        sum += a * b;
        size += fabsf(a * b);
    };
    if (direction == Direction::Forward) {
        int64_t rest = at;
        const int k = int(rest % p.k); rest /= p.k;
        const int g = int(rest % p.g); rest /= p.g;
        const int wo = int(rest % p.wo); rest /= p.wo;
        const int ho = int(rest % p.ho); const int n = int(rest / p.ho);
        for (int y = 0; y < p.y; ++y)
            for (int x = 0; x < p.x; ++x) {
                const int h = ho * p.stride_h - p.pad_h + y * p.dilation_h, w = wo * p.stride_w - p.pad_w + x * p.dilation_w;
                if (h < 0 || h >= p.hi || w < 0 || w >= p.wi) continue;
                for (int c = 0; c < p.c; ++c)
                    take(__bfloat162float(input[((int64_t(n * p.hi + h) * p.wi + w) * p.g + g) * p.c + c]),
                         __bfloat162float(weight[(((int64_t(g) * p.k + k) * p.y + y) * p.x + x) * p.c + c]));
            }
    } else if (direction == Direction::BwdData) {
        int64_t rest = at;
        const int c = int(rest % p.c); rest /= p.c;
        const int g = int(rest % p.g); rest /= p.g;
        const int w = int(rest % p.wi); rest /= p.wi;
        const int h = int(rest % p.hi); const int n = int(rest / p.hi);
        for (int y = 0; y < p.y; ++y)
            for (int x = 0; x < p.x; ++x) {
                const int th = h + p.pad_h - y * p.dilation_h, tw = w + p.pad_w - x * p.dilation_w;
                if (th < 0 || tw < 0 || th % p.stride_h || tw % p.stride_w) continue;
                const int ho = th / p.stride_h, wo = tw / p.stride_w;
                if (ho >= p.ho || wo >= p.wo) continue;
                for (int k = 0; k < p.k; ++k)
                    take(__bfloat162float(output[((int64_t(n * p.ho + ho) * p.wo + wo) * p.g + g) * p.k + k]),
                         __bfloat162float(weight[(((int64_t(g) * p.k + k) * p.y + y) * p.x + x) * p.c + c]));
            }
    } else {
        int64_t rest = at;
        const int c = int(rest % p.c); rest /= p.c;
        const int x = int(rest % p.x); rest /= p.x;
        const int y = int(rest % p.y); rest /= p.y;
        const int k = int(rest % p.k); const int g = int(rest / p.k);
        for (int n = 0; n < p.n; ++n)
            for (int ho = 0; ho < p.ho; ++ho)
                for (int wo = 0; wo < p.wo; ++wo) {
                    const int h = ho * p.stride_h - p.pad_h + y * p.dilation_h, w = wo * p.stride_w - p.pad_w + x * p.dilation_w;
                    if (h < 0 || h >= p.hi || w < 0 || w >= p.wi) continue;
                    take(__bfloat162float(output[((int64_t(n * p.ho + ho) * p.wo + wo) * p.g + g) * p.k + k]),
                         __bfloat162float(input[((int64_t(n * p.hi + h) * p.wi + w) * p.g + g) * p.c + c]));
                }
    }
    sums[at] = sum;
    sizes[at] = size;
}

/// Rounding of the result to bf16 (2^-9 of it, and 2^-8 for good measure) and of fp32 sums in another order.
__global__ void compare(const bf16* found, const float* sums, const float* sizes, int64_t count,
                        unsigned long long* wrong, float* worst) {
    const int64_t at = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
    if (at >= count) return;
    const float allowed = fabsf(sums[at]) * (1.0f / 256) + sizes[at] * 1e-5f + 1e-30f;
    const float error = fabsf(__bfloat162float(found[at]) - sums[at]);
    if (!(error <= allowed)) atomicAdd(wrong, 1ull);
    atomicMax(reinterpret_cast<int*>(worst), __float_as_int(error / allowed));
}

static unsigned blocks(int64_t count) { return unsigned((count + 255) / 256); }

static Problem make(int n, int g, int c, int k, int hi, int wi, int y, int x, int stride, int pad, int dilation) {
    Problem p{n, g, c, k, hi, wi, 0, 0, y, x, stride, stride, pad, pad, dilation, dilation};
    p.ho = (hi + 2 * pad - (y - 1) * dilation - 1) / stride + 1;
    p.wo = (wi + 2 * pad - (x - 1) * dilation - 1) / stride + 1;
    return p;
}

int main(int argc, char** argv) {
    const Problem problems[] = {
        make(1, 1, 64, 64, 8, 8, 1, 1, 1, 0, 1),       // one tile
        make(2, 1, 64, 128, 14, 14, 3, 3, 1, 1, 1),    // padding
        make(3, 1, 40, 72, 13, 17, 3, 3, 2, 1, 1),     // stride, extents that no tile divides
        make(2, 1, 3, 64, 31, 29, 7, 7, 2, 3, 1),      // an image's three channels
        make(1, 1, 129, 67, 9, 11, 3, 1, 1, 1, 1),     // odd channels, a filter that is no square
        make(2, 4, 32, 32, 12, 12, 3, 3, 1, 1, 1),     // groups
        make(2, 32, 1, 1, 15, 15, 3, 3, 1, 1, 1),      // depthwise
        make(1, 16, 1, 3, 16, 16, 5, 5, 2, 2, 1),      // depthwise with a multiplier
        make(2, 2, 24, 40, 20, 20, 3, 3, 1, 2, 2),     // dilation
        make(1, 1, 16, 16, 5, 5, 5, 5, 1, 0, 1),       // an output of one pixel
        make(1, 1, 8, 8, 7, 7, 3, 3, 3, 0, 1),         // a stride that leaves pixels out
        make(5, 1, 256, 264, 7, 7, 1, 1, 1, 0, 1),     // deep
        make(1, 3, 8, 16, 33, 2, 1, 2, 1, 0, 1),       // narrow
        make(2, 1, 64, 64, 10, 10, 3, 3, 2, 0, 3),     // stride and dilation
    };
    const bool quick = argc > 1 && std::strcmp(argv[1], "--quick") == 0;
    Memory& memory = Memory::instance();
    int64_t most = 0;
    for (const Problem& p : problems) {
        most = std::max({most, p.input_elements(), p.weight_elements(), p.output_elements()});
        CHECK(memory.prepare(p));
    }
    const Buffers& buffers = memory.buffers();
    bf16* const tensors[] = {static_cast<bf16*>(buffers.input), static_cast<bf16*>(buffers.weight),
                             static_cast<bf16*>(buffers.output)};
    float *sums, *sizes, *worst;
    unsigned long long* wrong;
    CHECK(cudaMalloc(&sums, most * 4));
    CHECK(cudaMalloc(&sizes, most * 4));
    CHECK(cudaMalloc(&worst, 4));
    CHECK(cudaMalloc(&wrong, 8));

    int failures = 0, runs = 0;
    float worst_of_all = 0;
    for (int d = 0; d < 3; ++d) {
        const Direction direction = static_cast<Direction>(d);
        int index = 0;
        for (const Problem& p : problems) {
            ++index;
            const int64_t counts[] = {p.input_elements(), p.weight_elements(), p.output_elements()};
            const int result = direction == Direction::Forward ? 2 : direction == Direction::BwdData ? 0 : 1;
            CHECK(memory.prepare(p));
            reference<<<blocks(counts[result]), 256>>>(direction, p, tensors[0], tensors[1], tensors[2], sums, sizes,
                                                       counts[result]);
            CHECK(cudaDeviceSynchronize());
            int tried = 0;
            for (const Kernel& kernel : kernels(direction)) {
                if (quick && tried++ % 7 != index % 7) continue;
                // What a kernel leaves out must show: 0xff is NaN.
                CHECK(cudaMemset(tensors[result], 0xff, counts[result] * 2));
                CHECK(kernel.run(p, buffers, nullptr));
                CHECK(cudaMemset(wrong, 0, 8));
                CHECK(cudaMemset(worst, 0, 4));
                compare<<<blocks(counts[result]), 256>>>(tensors[result], sums, sizes, counts[result], wrong, worst);
                unsigned long long count;
                float ratio;
                CHECK(cudaMemcpy(&count, wrong, 8, cudaMemcpyDeviceToHost));
                CHECK(cudaMemcpy(&ratio, worst, 4, cudaMemcpyDeviceToHost));
                worst_of_all = std::max(worst_of_all, ratio);
                ++runs;
                if (count) {
                    ++failures;
                    std::printf("problem %d: %llu of %lld wrong by %s\n", index, count, (long long)counts[result],
                                kernel.name.c_str());
                }
            }
        }
    }
    std::printf("%d runs, %d failed, largest error %.2f of what rounding allows\n", runs, failures, worst_of_all);
    memory.release();
    CHECK(cudaFree(sums));
    CHECK(cudaFree(sizes));
    CHECK(cudaFree(worst));
    CHECK(cudaFree(wrong));
    return failures || runs == 0;
}
