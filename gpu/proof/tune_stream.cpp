// How fast a stream of requests gets on a real GPU while ck_registry_tune has a share of its time.
//
//     CK_SELECT_HIP_LIBRARY=build/libhip_on_cuda.so build/tune_stream DIRECTION MODEL_DIRECTORY [PROBLEMS [REQUESTS [SHARE [KERNELS]]]]
//
// A pass asks for each problem REQUESTS times, problem by problem. A request takes what the oracle measured of the
// chosen kernel, which is only counted; after each problem, tuning gets its SHARE of what was counted, and measures on
// the GPU. Prints a line a pass: the speed relative to the fastest kernels, the mean over problems and of the whole
// stream, both of the pass before its tuning.

#include <random>
#include <set>

#include "timing.hpp"

using namespace ck_gpu;

namespace {

struct Request {
  ck_select::ConvProblem problem;
  Oracle oracle;
};

/// Problems like those of networks, each once: 2 to 300 GFLOP, so that a measurement takes milliseconds.
std::vector<Request> requests(Direction direction, size_t count) {
  std::mt19937 random(22);
  const auto pick = [&](std::initializer_list<int> from) {
    return *(from.begin() + std::uniform_int_distribution<size_t>(0, from.size() - 1)(random));
  };
  std::set<std::vector<int>> seen;
  std::vector<Request> all;
  while (all.size() < count) {
    const int filter = pick({1, 1, 3, 3, 5}), stride = pick({1, 1, 1, 2});
    const std::vector<int> of = {pick({1, 2, 4, 8, 16, 32}),
                                 pick({64, 96, 128, 192, 256, 320, 384, 512, 640, 768, 1024}),
                                 pick({64, 96, 128, 192, 256, 320, 384, 512, 640, 768, 1024}),
                                 pick({7, 14, 16, 28, 32, 56, 64}), filter, stride, filter / 2};
    const double flops = 2.0 * of[0] * of[1] * of[2] * of[3] * of[3] * filter * filter / (stride * stride);
    if (flops < 2e8 || flops > 3e11 || !seen.insert(of).second) continue;
    Request request{layer(direction, of[0], of[1], of[2], of[3], of[4], of[5], of[6]), {}};
    const std::optional<Problem> p = prepared(request.problem);
    if (!p) continue;
    request.oracle = measure_all(direction, *p, nullptr);
    all.push_back(std::move(request));
  }
  return all;
}

}  // namespace

int main(int argc, char** argv) {
  Direction direction = Direction::Forward;
  if (argc < 3 || !direction_of(argv[1], direction)) {
    std::fprintf(
        stderr,
        "usage: tune_stream forward|bwd_data|bwd_weight MODEL_DIRECTORY [PROBLEMS [REQUESTS [SHARE [KERNELS]]]]\n");
    return 2;
  }
  const size_t count = argc > 3 ? static_cast<size_t>(std::atoi(argv[3])) : 500;
  const int times = argc > 4 ? std::atoi(argv[4]) : 1000;
  const double share = argc > 5 ? std::atof(argv[5]) : 0.02;
  const int best = argc > 6 ? std::atoi(argv[6]) : 3;
  try {
    ck_select::Options options;
    options.ignore_environment = true;
    options.store = "off";
    // Tuning has little time: a short warm-up, few runs, and losers are given up soon.
    options.warmup = 1;
    options.repeats = 4;
    options.cutoff = 1.2;
    ck_select::Registry registry(options);
    add_all(registry, direction);
    registry.load_model(argv[2]);
    registry.prepare();

    const std::vector<Kernel>& all = kernels(direction);
    const std::vector<Request> stream = requests(direction, count);
    using Milliseconds = std::chrono::duration<double, std::milli>;
    registry.tune(Milliseconds(0), best);
    for (int pass = 1; pass <= 4; ++pass) {
      double taken = 0, shortest = 0, efficiency = 0, tuned = 0;
      size_t measured = 0, waiting = 0;
      for (const Request& request : stream) {
        const double fastest = request.oracle.ms[request.oracle.best];
        double counted = 0;
        for (int time = 0; time < times; ++time) {
          const Kernel& kernel = *static_cast<const Kernel*>(registry.select(request.problem).user);
          counted += request.oracle.ms[static_cast<size_t>(&kernel - all.data())];
        }
        taken += counted;
        shortest += fastest * times;
        efficiency += fastest * times / counted;
        const ck_select::TuneReport report = registry.tune(Milliseconds(counted * share), best);
        measured += report.measured;
        waiting = report.waiting;
        tuned += report.elapsed_ms;
      }
      std::printf(
          "pass %d: %.2f %% mean of %zu problems, %.2f %% of the stream's %.1f s; tuning took %.2f %% of it: %zu "
          "measured, %zu wait\n",
          pass, 100 * efficiency / static_cast<double>(stream.size()), stream.size(), 100 * shortest / taken,
          taken / 1e3, 100 * tuned / taken, measured, waiting);
      std::fflush(stdout);
    }
    Memory::instance().release();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
