// The oracle of the proof programs: every kernel timed on every problem by events, outside of ck_select.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <vector>

#include "../kernels/library.hpp"
#include "ck_select.hpp"

namespace ck_gpu {

inline void check(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return;
  std::fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(error));
  std::exit(1);
}

struct Layer {
  std::string name;
  ck_select::ConvProblem problem;
};

inline ck_select::ConvProblem layer(Direction direction, int n, int c, int k, int size, int filter, int stride, int pad,
                                    int groups = 1) {
  return ck_select::ConvProblem()
      .direction(static_cast<ck_select::Direction>(direction))
      .batch(n)
      .channels(c, k)
      .groups(groups)
      .input(size, size)
      .filter(filter, filter)
      .stride(stride, stride)
      .padding(pad, pad)
      .dtype(ck_select::Dtype::bf16)
      .layout(ck_select::ConvLayout::nhwgc);
}

/// A problem in the kernels' form, with its operands on the device; none if it has no such form.
inline std::optional<Problem> prepared(const ck_select::ConvProblem& problem) {
  Problem converted;
  if (!from_c(problem.capi(), converted)) return std::nullopt;
  check(Memory::instance().prepare(converted), "operands");
  return converted;
}

using Clock = std::chrono::steady_clock;

inline double us_since(Clock::time_point begin) {
  return std::chrono::duration<double, std::micro>(Clock::now() - begin).count();
}

template <typename T>
T median(std::vector<T>& values) {
  std::nth_element(values.begin(), values.begin() + values.size() / 2, values.end());
  return values[values.size() / 2];
}

/// Median milliseconds of one kernel, by events on the stream.
inline double time_kernel(const Kernel& kernel, const Problem& p, cudaStream_t stream, int repeats) {
  struct Events {
    cudaEvent_t from = nullptr, to = nullptr;
    Events() {
      check(cudaEventCreate(&from), "cudaEventCreate");
      check(cudaEventCreate(&to), "cudaEventCreate");
    }
    ~Events() {
      cudaEventDestroy(from);
      cudaEventDestroy(to);
    }
  } events;
  std::vector<float> times;
  for (int run = -3; run < repeats; ++run) {
    check(cudaEventRecord(events.from, stream), "cudaEventRecord");
    check(kernel.run(p, Memory::instance().buffers(), stream), kernel.name.c_str());
    check(cudaEventRecord(events.to, stream), "cudaEventRecord");
    check(cudaEventSynchronize(events.to), "cudaEventSynchronize");
    float ms = 0;
    check(cudaEventElapsedTime(&ms, events.from, events.to), "cudaEventElapsedTime");
    if (run >= 0) times.push_back(ms);
  }
  return median(times);
}

struct Oracle {
  std::vector<double> ms;  // by kernel; negative where it refuses
  size_t best = 0;

  double efficiency(const Kernel& kernel, const std::vector<Kernel>& all) const {
    const size_t index = static_cast<size_t>(&kernel - all.data());
    return ms[index] > 0 ? ms[best] / ms[index] : 0;
  }
};

inline Oracle measure_all(Direction direction, const Problem& p, cudaStream_t stream, int repeats = 11) {
  const std::vector<Kernel>& all = kernels(direction);
  Oracle oracle;
  for (const Kernel& kernel : all) {
    const bool runs = !kernel.refuses(p);
    oracle.ms.push_back(runs ? time_kernel(kernel, p, stream, repeats) : -1);
    const size_t last = oracle.ms.size() - 1;
    if (oracle.ms[last] > 0 && (oracle.ms[oracle.best] < 0 || oracle.ms[last] < oracle.ms[oracle.best]))
      oracle.best = last;
  }
  return oracle;
}

/// Kernels with their callbacks, in a registry.
inline void add_all(ck_select::Registry& registry, Direction direction) {
  for (const Kernel& kernel : kernels(direction)) {
    const ck_kernel_hooks hooks = hooks_of(kernel);
    ck_select::Hooks wrapped;
    wrapped.user = hooks.user;
    wrapped.supports_conv = [hooks](const ck_conv_problem& problem) {
      return hooks.supports_conv(&problem, hooks.user) != 0;
    };
    wrapped.run_conv = [hooks](const ck_conv_problem& problem, void* stream) {
      return hooks.run_conv(&problem, stream, hooks.user);
    };
    registry.add(kernel.name, std::move(wrapped));
  }
}

}  // namespace ck_gpu
