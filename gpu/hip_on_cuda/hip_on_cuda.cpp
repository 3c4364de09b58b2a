// The functions of libamdhip64 that ck_select loads, over the CUDA runtime: a development tool, so that the search can
// be tried on an NVIDIA GPU by the same binary:
//
//     CK_SELECT_HIP_LIBRARY=.../libhip_on_cuda.so program
//
// Streams and events are CUDA's own; error codes are those of HIP for what the search tells apart, and CUDA's number
// plus 10000 for the rest, whose name is CUDA's.

#include <cuda_runtime_api.h>

#include <cstdio>
#include <cstring>

namespace {

constexpr int SUCCESS = 0;
constexpr int FOREIGN = 10000;

struct Code {
    cudaError_t cuda;
    int hip;
    const char* name;
};

constexpr Code CODES[] = {
    {cudaSuccess, SUCCESS, "hipSuccess"},
    {cudaErrorInvalidValue, 1, "hipErrorInvalidValue"},
    {cudaErrorMemoryAllocation, 2, "hipErrorOutOfMemory"},
    {cudaErrorInitializationError, 3, "hipErrorNotInitialized"},
    {cudaErrorInvalidConfiguration, 9, "hipErrorInvalidConfiguration"},
    {cudaErrorInsufficientDriver, 35, "hipErrorInsufficientDriver"},
    {cudaErrorInvalidDeviceFunction, 98, "hipErrorInvalidDeviceFunction"},
    {cudaErrorNoDevice, 100, "hipErrorNoDevice"},
    {cudaErrorInvalidDevice, 101, "hipErrorInvalidDevice"},
    {cudaErrorInvalidResourceHandle, 400, "hipErrorInvalidHandle"},
    {cudaErrorNotReady, 600, "hipErrorNotReady"},
    {cudaErrorIllegalAddress, 700, "hipErrorIllegalAddress"},
    {cudaErrorLaunchOutOfResources, 701, "hipErrorLaunchOutOfResources"},
    {cudaErrorLaunchTimeout, 702, "hipErrorLaunchTimeOut"},
    {cudaErrorLaunchFailure, 719, "hipErrorLaunchFailure"},
};

int hip(cudaError_t error) {
    for (const Code& code : CODES)
        if (code.cuda == error) return code.hip;
    return FOREIGN + static_cast<int>(error);
}

cudaEvent_t event(void* handle) { return static_cast<cudaEvent_t>(handle); }

}  // namespace

extern "C" {

const char* hipGetErrorName(int code) {
    for (const Code& known : CODES)
        if (known.hip == code) return known.name;
    if (code >= FOREIGN) return cudaGetErrorName(static_cast<cudaError_t>(code - FOREIGN));
    return "hipErrorUnknown";
}

int hipGetLastError() { return hip(cudaGetLastError()); }

// As HIP 6 numbers its releases, with CUDA's version in the minor part: a stored winner names the runtime it is from.
int hipRuntimeGetVersion(int* version) {
    int cuda = 0;
    const cudaError_t error = cudaRuntimeGetVersion(&cuda);
    *version = 60000000 + cuda;
    return hip(error);
}

int hipDriverGetVersion(int* version) {
    int cuda = 0;
    const cudaError_t error = cudaDriverGetVersion(&cuda);
    *version = 60000000 + cuda;
    return hip(error);
}

int hipGetDeviceCount(int* count) { return hip(cudaGetDeviceCount(count)); }

int hipGetDevice(int* device) { return hip(cudaGetDevice(device)); }

int hipDeviceGetName(char* name, int room, int device) {
    cudaDeviceProp properties;
    const cudaError_t error = cudaGetDeviceProperties(&properties, device);
    if (error == cudaSuccess) std::snprintf(name, static_cast<size_t>(room), "%s", properties.name);
    return hip(error);
}

int hipDeviceGetPCIBusId(char* id, int room, int device) { return hip(cudaDeviceGetPCIBusId(id, room, device)); }

int hipDeviceGetAttribute(int* value, int attribute, int device) {
    switch (attribute) {
    case 5: return hip(cudaDeviceGetAttribute(value, cudaDevAttrClockRate, device));
    case 19: return hip(cudaDeviceGetAttribute(value, cudaDevAttrL2CacheSize, device));
    case 59: return hip(cudaDeviceGetAttribute(value, cudaDevAttrGlobalMemoryBusWidth, device));
    case 60: return hip(cudaDeviceGetAttribute(value, cudaDevAttrMemoryClockRate, device));
    case 63: return hip(cudaDeviceGetAttribute(value, cudaDevAttrMultiProcessorCount, device));
    // Kernels opt in to more than the 48 KiB of cudaDevAttrMaxSharedMemoryPerBlock.
    case 74: return hip(cudaDeviceGetAttribute(value, cudaDevAttrMaxSharedMemoryPerBlockOptin, device));
    case 87: return hip(cudaDeviceGetAttribute(value, cudaDevAttrWarpSize, device));
    default: return 1;
    }
}

// The structure of HIP 6, of which ck_select reads the target and nothing else.
int hipGetDevicePropertiesR0600(void* room, int device) {
    constexpr size_t SIZE = 1472, TARGET = 1160, TARGET_LEN = 256;
    int major = 0, minor = 0;
    cudaError_t error = cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device);
    if (error == cudaSuccess) error = cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device);
    if (error != cudaSuccess) return hip(error);
    std::memset(room, 0, SIZE);
    std::snprintf(static_cast<char*>(room) + TARGET, TARGET_LEN, "sm_%d%d", major, minor);
    return SUCCESS;
}

int hipEventCreate(void** handle) {
    cudaEvent_t created = nullptr;
    const cudaError_t error = cudaEventCreate(&created);
    if (error == cudaSuccess) *handle = created;
    return hip(error);
}

int hipEventDestroy(void* handle) { return hip(cudaEventDestroy(event(handle))); }

int hipEventRecord(void* handle, void* stream) {
    return hip(cudaEventRecord(event(handle), static_cast<cudaStream_t>(stream)));
}

// Not an error, but cudaEventQuery leaves "not ready" behind as the last error, which HIP 7 does not.
int hipEventQuery(void* handle) {
    const cudaError_t error = cudaEventQuery(event(handle));
    if (error == cudaErrorNotReady) cudaGetLastError();
    return hip(error);
}

int hipEventElapsedTime(float* ms, void* from, void* to) {
    return hip(cudaEventElapsedTime(ms, event(from), event(to)));
}

int hipStreamIsCapturing(void* stream, int* capturing) {
    cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    const cudaError_t error = cudaStreamIsCapturing(static_cast<cudaStream_t>(stream), &status);
    *capturing = status != cudaStreamCaptureStatusNone;
    return hip(error);
}

}  // extern "C"
