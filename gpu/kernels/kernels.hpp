// The family of kernels: what each is called, what it can run, and how to launch it.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <string>
#include <vector>

#include "problem.hpp"

namespace ck_gpu {

/// Memory that all kernels work on, as large as the largest problem that is run.
struct Buffers {
    void *input = nullptr, *weight = nullptr, *output = nullptr;
    float* partial = nullptr;
    int64_t input_bytes = 0, weight_bytes = 0, output_bytes = 0, partial_bytes = 0;
};

/// Kernels whose parts would need more are refused.
constexpr int64_t MOST_PARTIAL_BYTES = int64_t(4) << 30;

struct Kernel {
    std::string name;
    Direction direction;
    int tile_m, tile_n, tile_k, parts;
    /// Launches on the stream. Wide kernels copy eight channels at once.
    cudaError_t (*launch)(const Kernel&, const Problem&, const Buffers&, bool wide, cudaStream_t);

    /// Null when the kernel can run the problem, else the reason why not.
    const char* refuses(const Problem&) const;
    /// Whether the buffers have room for the problem.
    bool fits(const Problem&, const Buffers&) const;
    cudaError_t run(const Problem&, const Buffers&, cudaStream_t) const;
    /// Floats that a depth in parts needs between its stages.
    int64_t partial_elements(const Problem&) const;
};

/// All kernels of a direction, in the order of tiles and pipelines.
const std::vector<Kernel>& kernels(Direction);

/// The direction that a word of kernel names means; false for another word.
bool direction_of(const std::string& word, Direction& direction);

namespace detail {
/// Called by each translation unit of instances.cu before main begins.
void add(Kernel);
}

}  // namespace ck_gpu
