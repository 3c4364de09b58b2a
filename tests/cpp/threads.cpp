// Many threads select while one changes kernels and models; every answer is of one consistent state.
// Arguments: the repository, the number of threads, how many changes.

#include <atomic>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "../c/check.h"
#include "ck_select.hpp"

using namespace ck_select;

namespace {

constexpr int KERNELS = 10;
const char* const TILES[KERNELS] = {"16x64x64",   "32x64x64",  "64x64x64",  "32x128x64", "64x128x64",
                                    "128x128x64", "16x64x128", "32x64x128", "64x64x128", "128x64x128"};

std::string name_of(int kernel) { return std::string("grouped_conv_forward_bf16_2d_") + TILES[kernel] + "_compv3"; }

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    std::printf("usage: threads REPOSITORY THREADS CHANGES\n");
    return 2;
  }
  const std::string model = std::string(argv[1]) + "/tests/golden/models/conv_small";
  const int thread_count = std::atoi(argv[2]);
  const int changes = std::atoi(argv[3]);

  Options options;
  options.ignore_environment = true;
  Registry registry(options);
  // A kernel's user address tells its number, so that an answer can be held against itself.
  int marks[KERNELS] = {};
  const auto hooks_of = [&](int kernel, int priority) {
    Hooks hooks;
    hooks.priority = priority;
    hooks.user = &marks[kernel];
    hooks.supports_conv = [kernel](const ck_conv_problem& problem) { return (problem.n + kernel) % 3 != 0; };
    return hooks;
  };
  for (int kernel = 0; kernel < KERNELS / 2; ++kernel) registry.add(name_of(kernel), hooks_of(kernel, 1));

  std::atomic<bool> done{false};
  std::atomic<int> bad{0};
  std::atomic<long> by_model{0}, by_priority{0};
  std::vector<std::thread> threads;
  for (int thread = 0; thread < thread_count; ++thread) {
    threads.emplace_back([&, thread] {
      std::uint64_t generation = 0;
      for (long turn = 0; !done.load(std::memory_order_relaxed); ++turn) {
        const int n = 1 + static_cast<int>((turn + thread) % 32);
        const auto problem = ConvProblem().batch(n).channels(256, 128).input(28, 28).filter(3, 3).padding(1, 1);
        Selection chosen;
        const Status status = registry.try_select(problem, chosen);
        const auto* mark = static_cast<const int*>(chosen.user);
        const auto kernel = mark - marks;
        const bool good = status == Status::ok && mark != nullptr && kernel >= 0 && kernel < KERNELS &&
                          chosen.name == name_of(static_cast<int>(kernel)) && (n + kernel) % 3 != 0 &&
                          chosen.index < KERNELS && chosen.generation >= generation &&
                          chosen.score.has_value() == (chosen.source == Source::model);
        if (!good) ++bad;
        generation = chosen.generation;
        ++(chosen.source == Source::model ? by_model : by_priority);
        if (turn % 64 == 0 && registry.explain(problem).empty()) ++bad;
      }
    });
  }
  for (int change = 0; change < changes; ++change) {
    switch (change % 5) {
      case 0: registry.load_model(model); break;
      case 1: {
        std::vector<NewKernel> more;
        for (int kernel = KERNELS / 2; kernel < KERNELS; ++kernel) {
          more.push_back({name_of(kernel), hooks_of(kernel, change + 2)});
        }
        registry.add(std::move(more));
        break;
      }
      case 2: registry.prepare(); break;
      case 3: registry.remove_models(); break;
      default: registry.set_options(options); break;
    }
    std::this_thread::yield();
  }
  done = true;
  for (std::thread& thread : threads) thread.join();
  CHECK(bad == 0);
  CHECK(by_model + by_priority > 0);
  // The counts differ from run to run.
  std::fprintf(stderr, "%ld by model, %ld by priority\n", by_model.load(), by_priority.load());
  return finish("threads");
}
