// Better while it runs: a stream of requests, with a fiftieth of its time for measuring between them.
//
//     tuning_stream
//
// Nothing is measured while a request waits. After each pass over the stream the program lends the registry some time,
// which measures what was asked most and was only estimated; the next pass gets the winners. Runs anywhere: the kernels
// burn time on the host. On a GPU, leave out host_timing and arch, launch on the stream that the callback gets, on
// operands of your own, and answer 0: events time the kernel then. A thread of yours may do the same in a loop while
// others select.

#include <cmath>
#include <cstdio>
#include <ctime>
#include <deque>
#include <exception>
#include <limits>
#include <string>
#include <vector>

#include "ck_select.hpp"

namespace {

/// A compiled kernel: a tile of the result, and in place of a launch a loop that takes as long as the tile deserves.
struct Kernel {
  std::string name;
  double tile_m, tile_n;

  /// Milliseconds that a run takes: whole tiles, in rounds of as many as run at a time.
  [[nodiscard]] double cost(const ck_conv_problem& problem) const {
    const double m = static_cast<double>(problem.n * problem.input[1] * problem.input[2]);
    const double tiles = std::ceil(m / tile_m) * std::ceil(static_cast<double>(problem.k) / tile_n);
    const double rounds = std::ceil(tiles / 64);
    return 1e-6 * rounds * (tile_m * tile_n + 40 * (tile_m + tile_n)) * std::sqrt(static_cast<double>(problem.c));
  }

  /// Burns that time. Processor time, so that other programs do not count.
  float run(const ck_conv_problem& problem) const {
    const std::clock_t begin = std::clock();
    const double enough = cost(problem);
    while (1e3 * static_cast<double>(std::clock() - begin) / static_cast<double>(CLOCKS_PER_SEC) < enough) {
    }
    return static_cast<float>(enough);
  }
};

/// A problem, and how often a pass asks for it.
struct Request {
  ck_select::ConvProblem problem;
  int times;
};

std::vector<Request> requests() {
  std::vector<Request> all;
  for (const int size : {7, 14, 28, 56}) {
    for (const int channels : {64, 128, 256, 512, 1024}) {
      const auto problem =
          ck_select::ConvProblem().batch(4).channels(channels, 1536 - channels).input(size, size).filter(1, 1);
      all.push_back({problem, 40000 / static_cast<int>(all.size() + 1)});
    }
  }
  return all;
}

int run() {
  ck_select::Options options;
  options.arch = "gfx950";
  options.store = "off";
  options.host_timing = true;
  options.ignore_environment = true;
  options.warmup = 1;
  options.repeats = 3;
  ck_select::Registry registry(options);

  std::deque<Kernel> kernels;
  for (const int m : {16, 32, 64, 128, 256}) {
    for (const int n : {16, 64, 128, 256}) {
      const std::string name =
          "grouped_conv_forward_bf16_2d_" + std::to_string(m) + 'x' + std::to_string(n) + "x64_compv3";
      const Kernel& kernel = kernels.emplace_back(Kernel{name, double(m), double(n)});
      ck_select::Hooks hooks;
      hooks.user = const_cast<Kernel*>(&kernel);
      hooks.run_conv = [&kernel](const ck_conv_problem& problem, void* /*stream*/) { return kernel.run(problem); };
      registry.add(name, std::move(hooks));
    }
  }

  using Milliseconds = std::chrono::duration<double, std::milli>;
  registry.tune(Milliseconds(0));  // from here on it counts
  for (int pass = 1; pass <= 6; ++pass) {
    double taken = 0, shortest = 0;
    for (const Request& request : requests()) {
      double best = std::numeric_limits<double>::infinity();
      for (const Kernel& kernel : kernels) best = std::min(best, kernel.cost(request.problem.capi()));
      for (int time = 0; time < request.times; ++time) {
        const ck_select::Selection chosen = registry.select(request.problem);
        taken += static_cast<const Kernel*>(chosen.user)->cost(request.problem.capi());
        shortest += best;
      }
    }
    // The requests' own time is only counted here, not spent.
    const ck_select::TuneReport report = registry.tune(Milliseconds(taken / 50), 5);
    std::printf("pass %d: %6.2f %% of the fastest kernels' speed; then %2zu problems measured, %2zu wait\n", pass,
                100 * shortest / taken, report.measured, report.waiting);
  }
  return 0;
}

}  // namespace

int main() {
  try {
    return run();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "tuning_stream: %s\n", error.what());
    return 1;
  }
}
