// What both programs share: operands on the device, the timing of every kernel, and the rows that ck.py reads.

#ifndef CK_SELECT_PROVE_COMMON_HPP
#define CK_SELECT_PROVE_COMMON_HPP

#include <hip/hip_runtime.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

namespace prove {

inline void check(hipError_t status, const char* call) {
  if (status != hipSuccess) throw std::runtime_error(std::string(call) + ": " + hipGetErrorString(status));
}

/// An operand of fp16 on the device.
class Operand {
 public:
  explicit Operand(std::size_t elements) : bytes_(2 * elements) { check(hipMalloc(&data_, bytes_), "hipMalloc"); }
  ~Operand() { (void)hipFree(data_); }
  Operand(const Operand&) = delete;
  Operand& operator=(const Operand&) = delete;

  [[nodiscard]] void* data() const { return data_; }

  /// Small numbers of either sign, none of them zero: 0x2c00 is 1/16, and the low bits add up to as much.
  void fill() {
    std::vector<std::uint16_t> host(bytes_ / 2);
    std::uint32_t state = 1;
    for (auto& one : host) {
      state = state * 1664525U + 1013904223U;
      one = static_cast<std::uint16_t>(0x2c00U | (state >> 22U) | ((state >> 6U) & 0x8000U));
    }
    check(hipMemcpy(data_, host.data(), bytes_, hipMemcpyHostToDevice), "hipMemcpy");
  }

  void clear() { check(hipMemset(data_, 0, bytes_), "hipMemset"); }

  /// Whether a kernel wrote nearly all of either end: what does nothing is fast.
  [[nodiscard]] bool written() const {
    const std::size_t size = std::min<std::size_t>(bytes_, 1U << 16U);
    std::vector<std::uint16_t> host(size / 2);
    std::size_t zeros = 0;
    for (const std::size_t from : {std::size_t(0), bytes_ - size}) {
      check(hipMemcpy(host.data(), static_cast<char*>(data_) + from, size, hipMemcpyDeviceToHost), "hipMemcpy");
      zeros += std::count_if(host.begin(), host.end(), [](std::uint16_t one) { return (one & 0x7fffU) == 0; });
    }
    return zeros * 10 < host.size();
  }

 private:
  void* data_ = nullptr;
  std::size_t bytes_;
};

/// Times of the kernels of a problem, by name.
using Times = std::map<std::string, float>;

/// Runs a kernel, which times itself, three times; none if it fails or writes nothing.
inline void time(Times& times, const std::string& name, Operand& output, const std::function<float()>& run) {
  try {
    output.clear();
    float ms = run();
    check(hipDeviceSynchronize(), "hipDeviceSynchronize");
    if (!output.written()) throw std::runtime_error("writes nothing");
    for (int again = 0; again < 2; ++again) ms = std::min(ms, run());
    if (ms <= 0) throw std::runtime_error("does not time itself");
    times[name] = ms;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s: %s\n", name.c_str(), error.what());
  }
}

inline void print_header() { std::printf("problem,kernels,role,kernel,ms\n"); }

/// A row for the fastest, for what CK runs and for what ck-select chooses; a problem for which one is not timed is left
/// out, and named.
inline void print(const std::string& problem, const Times& times, const std::string& usual, const std::string& chosen) {
  if (times.find(usual) == times.end() || times.find(chosen) == times.end()) {
    std::fprintf(stderr, "%s: no time of '%s' or '%s'\n", problem.c_str(), usual.c_str(), chosen.c_str());
    return;
  }
  const auto faster = [](const auto& one, const auto& other) { return one.second < other.second; };
  const auto row = [&](const char* role, const std::string& kernel) {
    std::printf("%s,%zu,%s,%s,%.6f\n", problem.c_str(), times.size(), role, kernel.c_str(), times.at(kernel));
  };
  row("best", std::min_element(times.begin(), times.end(), faster)->first);
  row("default", usual);
  row("chosen", chosen);
}

}  // namespace prove

#endif  // CK_SELECT_PROVE_COMMON_HPP
