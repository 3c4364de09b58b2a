// In the place of HIP's: the device is the host.
#include <cstdlib>
#include <cstring>
enum hipError_t { hipSuccess };
enum hipMemcpyKind { hipMemcpyHostToDevice, hipMemcpyDeviceToHost };
inline hipError_t hipMalloc(void** data, std::size_t bytes) { return *data = std::malloc(bytes), hipSuccess; }
inline hipError_t hipFree(void* data) { return std::free(data), hipSuccess; }
inline hipError_t hipMemcpy(void* to, const void* from, std::size_t bytes, hipMemcpyKind) {
  return std::memcpy(to, from, bytes), hipSuccess;
}
inline hipError_t hipMemset(void* data, int value, std::size_t bytes) {
  return std::memset(data, value, bytes), hipSuccess;
}
inline hipError_t hipDeviceSynchronize() { return hipSuccess; }
inline const char* hipGetErrorString(hipError_t) { return "none"; }
