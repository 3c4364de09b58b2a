// A 2D grouped convolution as the kernels see it: extents of one group, and the divisions that they make.
#pragma once

#include <cstdint>

#ifdef __CUDACC__
#define CK_GPU_BOTH __host__ __device__
#else
#define CK_GPU_BOTH
#endif

namespace ck_gpu {

enum class Direction { Forward, BwdData, BwdWeight };

/// Division by a number that is known at launch: a multiplication and a shift, for dividends below 2^31.
struct FastDiv {
    uint32_t divisor = 1, multiplier = 1, shift = 0;

    FastDiv() = default;
    explicit FastDiv(uint32_t by) : divisor(by) {
        while ((1ull << shift) < by) ++shift;
        multiplier = static_cast<uint32_t>(((1ull << 32) * ((1ull << shift) - by)) / by + 1);
    }

    CK_GPU_BOTH uint32_t operator()(uint32_t value) const {
#ifdef __CUDA_ARCH__
        return (__umulhi(value, multiplier) + value) >> shift;
#else
        return static_cast<uint32_t>(((static_cast<uint64_t>(value) * multiplier >> 32) + value) >> shift);
#endif
    }
};

struct Problem {
    int n, g, c, k;  // images, groups, channels of a group in and out
    int hi, wi, ho, wo, y, x;
    int stride_h, stride_w, pad_h, pad_w, dilation_h, dilation_w;

    int64_t input_elements() const { return int64_t(n) * hi * wi * g * c; }
    int64_t weight_elements() const { return int64_t(g) * k * y * x * c; }
    int64_t output_elements() const { return int64_t(n) * ho * wo * g * k; }
    double flops() const { return 2.0 * n * ho * wo * g * k * double(c) * y * x; }

    /// Rows, columns and depth of one group's GEMM.
    int64_t gemm_m(Direction direction) const {
        switch (direction) {
        case Direction::Forward: return int64_t(n) * ho * wo;
        case Direction::BwdData: return int64_t(n) * hi * wi;
        default: return k;
        }
    }
    int64_t gemm_n(Direction direction) const {
        switch (direction) {
        case Direction::Forward: return k;
        case Direction::BwdData: return c;
        default: return int64_t(y) * x * c;
        }
    }
    int64_t gemm_k(Direction direction) const {
        switch (direction) {
        case Direction::Forward: return int64_t(y) * x * c;
        case Direction::BwdData: return int64_t(y) * x * k;
        default: return int64_t(n) * ho * wo;
        }
    }
};

}  // namespace ck_gpu
