// What happens without a model: kernels are measured once, and the store answers from then on.
//
//     fallback_search [STORE]
//
// Runs anywhere: its kernels burn time on the host, and the registry measures by the host's clock. On a GPU, leave out
// host_timing and arch, launch on the stream that the callback gets, and answer 0: events time the kernel then.
//
// STORE is a file that keeps the winners for the next run, and for other processes; without it they live in memory.

#include <cmath>
#include <cstdio>
#include <ctime>
#include <deque>
#include <exception>
#include <limits>
#include <string>

#include "ck_select.hpp"

namespace {

/// A compiled kernel: a tile of the result, and in place of a launch a loop that takes as long as the tile deserves.
struct Kernel {
  std::string name;
  double tile_m, tile_n;
  int runs = 0;

  /// Milliseconds that a perfect device would need: whole tiles, also where the result ends inside of one.
  [[nodiscard]] double cost(const ck_conv_problem& problem) const {
    const double m = static_cast<double>(problem.n * problem.input[1] * problem.input[2]);
    const double tiles = std::ceil(m / tile_m) * std::ceil(static_cast<double>(problem.k) / tile_n);
    const double fill = tile_m * tile_n / (tile_m * tile_n + 16384.0);
    return tiles * tile_m * tile_n / (5e6 * fill) * std::sqrt(static_cast<double>(problem.c));
  }

  /// Burns that time, and answers what it took. Processor time, so that other programs do not count.
  float run(const ck_conv_problem& problem) {
    ++runs;
    const auto milliseconds = [begin = std::clock()] {
      return 1e3 * static_cast<double>(std::clock() - begin) / static_cast<double>(CLOCKS_PER_SEC);
    };
    const double enough = cost(problem);
    while (milliseconds() < enough) {
    }
    return static_cast<float>(milliseconds());
  }
};

void show(const char* when, const ck_select::Registry& registry, const ck_select::ConvProblem& problem,
          const std::deque<Kernel>& kernels) {
  const ck_select::Selection chosen = registry.select(problem);
  int runs = 0;
  for (const Kernel& kernel : kernels) runs += kernel.runs;
  // The time is what was measured when the kernel won.
  std::printf("%-10s %-46s %9.1f us  by %-8s after %d runs\n", when, chosen.name.data(),
              chosen.measured ? chosen.measured->count() * 1e3 : std::numeric_limits<double>::quiet_NaN(),
              ck_select::to_string(chosen.source).data(), runs);
}

int run(const std::string& store) {
  ck_select::Options options;
  options.mode = ck_select::Mode::search;
  options.store = store;
  options.arch = "gfx950";
  options.host_timing = true;
  options.warmup = 1;
  options.repeats = 3;
  options.cutoff = 2;
  ck_select::Registry registry(options);

  std::deque<Kernel> kernels;
  for (const int tile : {16, 64, 256}) {
    const std::string extents = std::to_string(tile) + 'x' + std::to_string(tile) + "x64";
    Kernel& kernel = kernels.emplace_back(
        Kernel{"grouped_conv_forward_bf16_2d_" + extents + "_compv3", double(tile), double(tile)});
    ck_select::Hooks hooks;
    hooks.user = &kernel;
    hooks.supports_conv = [](const ck_conv_problem& problem) { return problem.g == 1; };
    hooks.run_conv = [&kernel](const ck_conv_problem& problem, void* /*stream*/) { return kernel.run(problem); };
    registry.add(kernel.name, std::move(hooks));
  }

  const auto wide = ck_select::ConvProblem().batch(1).channels(64, 256).input(32, 32).filter(1, 1);
  const auto narrow = ck_select::ConvProblem().batch(1).channels(64, 16).input(8, 8).filter(1, 1);
  show("wide", registry, wide, kernels);
  show("wide", registry, wide, kernels);
  show("narrow", registry, narrow, kernels);
  show("narrow", registry, narrow, kernels);

  // Nothing that says no is measured, and nothing wrong is chosen.
  ck_select::Selection none;
  const auto grouped = ck_select::ConvProblem(wide).groups(2);
  std::printf("%-10s %s\n", "grouped", ck_select::to_string(registry.try_select(grouped, none)).data());
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc > 1 ? argv[1] : "off");
  } catch (const std::exception& error) {
    std::fprintf(stderr, "fallback_search: %s\n", error.what());
    return 1;
  }
}
