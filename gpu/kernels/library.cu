// What `ckselect bench` loads: all kernels, their operands, and how many results are not zero.
//
// With CK_GPU_COLD=1 every run begins with cold caches: they are overwritten first, and the run is timed here, by events
// around the kernel alone.

#include "library.hpp"

#include <cuda_bf16.h>

#include <algorithm>
#include <cstdlib>

#include "ck_select_bench.h"

namespace ck_gpu {

namespace {

bool cold() {
    static const bool is = [] {
        const char* word = std::getenv("CK_GPU_COLD");
        return word && word[0] == '1' && word[1] == 0;
    }();
    return is;
}

/// Values from -1 to 1 that look random and are the same each time.
__global__ void fill(__nv_bfloat16* values, int64_t count, uint32_t seed) {
    for (int64_t at = int64_t(blockIdx.x) * blockDim.x + threadIdx.x; at < count; at += int64_t(gridDim.x) * blockDim.x) {
        uint32_t x = uint32_t(at) * 2654435761u + seed;
        x ^= x >> 16; x *= 0x7feb352du; x ^= x >> 15; x *= 0x846ca68bu; x ^= x >> 16;
        values[at] = __float2bfloat16(float(x) / 2147483648.0f - 1.0f);
    }
}

__global__ void count(const __nv_bfloat16* values, int64_t size, unsigned long long* found) {
    unsigned long long mine = 0;
    for (int64_t at = int64_t(blockIdx.x) * blockDim.x + threadIdx.x; at < size; at += int64_t(gridDim.x) * blockDim.x)
        mine += __bfloat162float(values[at]) != 0.0f;
    if (mine) atomicAdd(found, mine);
}

/// HIP's numbers are CUDA's for what can go wrong here.
float failed(cudaError_t error) { return -static_cast<float>(error); }

int32_t supports(const ck_conv_problem* problem, void* user) {
    Problem p;
    const Kernel& kernel = *static_cast<const Kernel*>(user);
    return from_c(*problem, p) && !kernel.refuses(p);
}

float run(const ck_conv_problem* problem, void* stream, void* user) {
    Problem p;
    if (!from_c(*problem, p)) return failed(cudaErrorInvalidValue);
    const Kernel& kernel = *static_cast<const Kernel*>(user);
    Memory& memory = Memory::instance();
    const auto on = static_cast<cudaStream_t>(stream);
    if (!cold()) {
        const cudaError_t error = kernel.run(p, memory.buffers(), on);
        return error == cudaSuccess ? 0.0f : failed(error);
    }
    static thread_local cudaEvent_t from = nullptr, to = nullptr;
    cudaError_t error = cudaSuccess;
    if (!from && (error = cudaEventCreate(&from)) != cudaSuccess) return failed(error);
    if (!to && (error = cudaEventCreate(&to)) != cudaSuccess) return failed(error);
    float ms = 0;
    if ((error = memory.flush(on)) != cudaSuccess || (error = cudaEventRecord(from, on)) != cudaSuccess ||
        (error = kernel.run(p, memory.buffers(), on)) != cudaSuccess || (error = cudaEventRecord(to, on)) != cudaSuccess ||
        (error = cudaEventSynchronize(to)) != cudaSuccess || (error = cudaEventElapsedTime(&ms, from, to)) != cudaSuccess)
        return failed(error);
    return ms;
}

/// The tensor that the last problem's runs write, for ck_bench_count_non_zero.
const void* result = nullptr;
int64_t result_elements = 0;

}  // namespace

bool from_c(const ck_conv_problem& from, Problem& to) {
    if (from.ndim != 2 || from.split_k != 1 || from.layout != CK_CONV_LAYOUT_NHWGC) return false;
    if (from.dtype_in != CK_DTYPE_BF16 || from.dtype_wei != CK_DTYPE_BF16 || from.dtype_out != CK_DTYPE_BF16) return false;
    for (int axis = 1; axis < 3; ++axis)
        if (from.pad_left[axis] != from.pad_right[axis]) return false;
    if (from.g < 1 || from.c % from.g || from.k % from.g) return false;
    const int64_t values[] = {from.n, from.c, from.k, from.input[1], from.input[2], from.filter[1], from.filter[2]};
    for (const int64_t value : values)
        if (value < 1 || value > (1 << 24)) return false;
    to = Problem{int(from.n), int(from.g), int(from.c / from.g), int(from.k / from.g), int(from.input[1]),
                 int(from.input[2]), 0, 0, int(from.filter[1]), int(from.filter[2]), int(from.stride[1]),
                 int(from.stride[2]), int(from.pad_left[1]), int(from.pad_left[2]), int(from.dilation[1]),
                 int(from.dilation[2])};
    to.ho = (to.hi + 2 * to.pad_h - (to.y - 1) * to.dilation_h - 1) / to.stride_h + 1;
    to.wo = (to.wi + 2 * to.pad_w - (to.x - 1) * to.dilation_w - 1) / to.stride_w + 1;
    return to.ho >= 1 && to.wo >= 1;
}

Memory& Memory::instance() {
    // Never destroyed: kernels may still run when the process ends.
    static Memory* const memory = new Memory;
    return *memory;
}

cudaError_t Memory::grow(void** memory, int64_t& bytes, int64_t wanted) {
    if (wanted <= bytes) return cudaSuccess;
    cudaError_t error = cudaFree(*memory);
    *memory = nullptr;
    bytes = 0;
    if (error == cudaSuccess) error = cudaMalloc(memory, size_t(wanted));
    if (error == cudaSuccess) bytes = wanted;
    return error;
}

cudaError_t Memory::prepare(const Problem& p) {
    int64_t partial = 0;
    for (const Kernel& kernel : kernels(Direction::BwdWeight))
        if (!kernel.refuses(p)) partial = std::max(partial, kernel.partial_elements(p) * 4);
    cudaError_t error;
    if ((error = grow(&buffers_.input, buffers_.input_bytes, p.input_elements() * 2)) != cudaSuccess ||
        (error = grow(&buffers_.weight, buffers_.weight_bytes, p.weight_elements() * 2)) != cudaSuccess ||
        (error = grow(&buffers_.output, buffers_.output_bytes, p.output_elements() * 2)) != cudaSuccess ||
        (error = grow(reinterpret_cast<void**>(&buffers_.partial), buffers_.partial_bytes, partial)) != cudaSuccess)
        return error;
    const auto values = [](void* memory) { return static_cast<__nv_bfloat16*>(memory); };
    fill<<<1024, 256>>>(values(buffers_.input), p.input_elements(), 1u);
    fill<<<1024, 256>>>(values(buffers_.weight), p.weight_elements(), 2u);
    fill<<<1024, 256>>>(values(buffers_.output), p.output_elements(), 3u);
    return cudaDeviceSynchronize();
}

cudaError_t Memory::flush(cudaStream_t stream) {
    if (!flushed_) {
        int device = 0, l2 = 0;
        cudaError_t error = cudaGetDevice(&device);
        if (error == cudaSuccess) error = cudaDeviceGetAttribute(&l2, cudaDevAttrL2CacheSize, device);
        if (error == cudaSuccess) error = grow(&flushed_, flushed_bytes_, int64_t(l2) * 3);
        if (error != cudaSuccess) return error;
    }
    return cudaMemsetAsync(flushed_, 0, size_t(flushed_bytes_), stream);
}

void Memory::release() {
    for (void* memory : {buffers_.input, buffers_.weight, buffers_.output, static_cast<void*>(buffers_.partial), flushed_})
        cudaFree(memory);
    *this = Memory();
}

ck_kernel_hooks hooks_of(const Kernel& kernel) {
    ck_kernel_hooks hooks = {};
    hooks.struct_size = sizeof hooks;
    hooks.priority = 1;
    hooks.user = const_cast<Kernel*>(&kernel);
    hooks.supports_conv = supports;
    hooks.run_conv = run;
    return hooks;
}

}  // namespace ck_gpu

using namespace ck_gpu;

extern "C" ck_status ck_bench_register(const ck_bench_sink* sink) {
    for (const Direction direction : {Direction::Forward, Direction::BwdData, Direction::BwdWeight})
        for (const Kernel& kernel : kernels(direction)) {
            const ck_kernel_hooks hooks = hooks_of(kernel);
            const ck_status status = sink->add_kernel(sink->context, kernel.name.c_str(), &hooks);
            if (status != CK_STATUS_OK) return status;
        }
    return CK_STATUS_OK;
}

extern "C" int32_t ck_bench_prepare_conv(const ck_conv_problem* problem) {
    Problem p;
    if (!from_c(*problem, p)) return cudaErrorNotSupported;
    Memory& memory = Memory::instance();
    const cudaError_t error = memory.prepare(p);
    if (error != cudaSuccess) return error;
    switch (problem->direction) {
    case CK_DIRECTION_FORWARD:
        result = memory.buffers().output;
        result_elements = p.output_elements();
        break;
    case CK_DIRECTION_BWD_DATA:
        result = memory.buffers().input;
        result_elements = p.input_elements();
        break;
    default:
        result = memory.buffers().weight;
        result_elements = p.weight_elements();
    }
    // What no kernel writes must not be counted as a result.
    return cudaMemset(const_cast<void*>(result), 0, size_t(result_elements) * 2);
}

extern "C" int64_t ck_bench_count_non_zero(void) {
    unsigned long long *found = nullptr, counted = 0;
    if (!result || cudaMalloc(&found, sizeof counted) != cudaSuccess) return -1;
    cudaMemset(found, 0, sizeof counted);
    count<<<1024, 256>>>(static_cast<const __nv_bfloat16*>(result), result_elements, found);
    const cudaError_t error = cudaMemcpy(&counted, found, sizeof counted, cudaMemcpyDeviceToHost);
    cudaFree(found);
    return error == cudaSuccess ? static_cast<int64_t>(counted) : -1;
}
