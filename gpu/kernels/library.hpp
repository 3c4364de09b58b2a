// The kernels as callbacks of ck_select, on memory that this process holds for them.
#pragma once

#include <string>
#include <vector>

#include "ck_select.h"
#include "kernels.hpp"

namespace ck_gpu {

/// A problem of the C interface as the kernels see it; false when they cannot run it, whatever their size.
bool from_c(const ck_conv_problem& problem, Problem& converted);

/// The memory that every kernel of this process works on.
class Memory {
public:
    static Memory& instance();

    /// Makes room for a problem and fills its operands. Room only grows, until `release`.
    cudaError_t prepare(const Problem&);
    void release();
    const Buffers& buffers() const { return buffers_; }

    /// Evicts operands from the caches, where runs are to begin cold.
    cudaError_t flush(cudaStream_t stream);

private:
    cudaError_t grow(void** memory, int64_t& bytes, int64_t wanted);

    Buffers buffers_;
    void* flushed_ = nullptr;
    int64_t flushed_bytes_ = 0;
};

/// The callbacks of a kernel; `user` is the kernel.
ck_kernel_hooks hooks_of(const Kernel&);

}  // namespace ck_gpu
