// What the search promises, tried on a real device. Prints a line a promise and exits 1 when one is broken.
//
//     CK_SELECT_HIP_LIBRARY=build/libhip_on_cuda.so build/prove_search

#include <atomic>
#include <cstring>
#include <mutex>
#include <random>
#include <thread>

#include "timing.hpp"

using namespace ck_gpu;

namespace {

int broken = 0;

void promise(bool kept, const std::string& what) {
  std::printf("%s  %s\n", kept ? "kept  " : "BROKEN", what.c_str());
  broken += !kept;
}

std::string text(const char* format, double a, double b = 0, double c = 0) {
  char line[256];
  std::snprintf(line, sizeof line, format, a, b, c);
  return line;
}

/// What the library said since `listen`.
std::string said;
std::mutex saying;

void listen() {
  said.clear();
  ck_log_set_callback(
      CK_LOG_LEVEL_DEBUG,
      [](int32_t, const char*, const char* text, void*) {
        const std::lock_guard<std::mutex> lock(saying);
        said.append(text).append("\n");
      },
      nullptr);
}

/// The rest of a line that was said after a text; empty if none was.
std::string heard(const std::string& text) {
  const size_t at = said.find(text);
  return at == std::string::npos ? "" : said.substr(at + text.size(), said.find('\n', at) - at - text.size());
}

const char* const troublesome = "grouped_conv_forward_bf16_2d_64x64x64_basic_v1_intrawave";

ck_select::Options searching() {
  ck_select::Options options;
  options.mode = ck_select::Mode::search;
  options.ignore_environment = true;
  options.store = "off";
  options.repeats = 21;
  return options;
}

/// Problems of all sizes, groups and filters, the same each time.
std::vector<Layer> problems(Direction direction, int count, unsigned seed) {
  std::mt19937 random(seed);
  const auto pick = [&](std::initializer_list<int> values) { return values.begin()[random() % values.size()]; };
  std::vector<Layer> all;
  while (static_cast<int>(all.size()) < count) {
    const int filter = pick({1, 1, 3, 3, 3, 5, 7}), size = pick({7, 14, 28, 32, 56, 64});
    const int groups = pick({1, 1, 1, 1, 2, 8}), c = groups * pick({8, 16, 32, 64, 96, 128, 256, 20}),
              k = groups * pick({16, 32, 64, 128, 192, 256, 36});
    const int stride = pick({1, 1, 2}), pad = filter / 2, n = pick({1, 2, 4, 8, 16, 32});
    all.push_back(
        {"problem " + std::to_string(all.size()), layer(direction, n, c, k, size, filter, stride, pad, groups)});
  }
  return all;
}

/// The winner is the oracle's kernel, or one that a second look finds within the noise of it.
void winners(Direction direction, const char* word) {
  ck_select::Registry registry(searching());
  add_all(registry, direction);
  const std::vector<Kernel>& all = kernels(direction);
  int same = 0, within = 0, asked = 0;
  double sum = 0;
  for (const Layer& layer : problems(direction, 60, 7)) {
    const std::optional<Problem> p = prepared(layer.problem);
    if (!p) continue;
    const ck_select::Selection chosen = registry.select(layer.problem);
    const Kernel& kernel = *static_cast<const Kernel*>(chosen.user);
    const Oracle oracle = measure_all(direction, *p, nullptr);
    // Both again, in turn, so that neither has the warmer clock.
    std::vector<double> mine_ms, best_ms;
    for (int turn = 0; turn < 9; ++turn) {
      mine_ms.push_back(time_kernel(kernel, *p, nullptr, 11));
      best_ms.push_back(time_kernel(all[oracle.best], *p, nullptr, 11));
    }
    const double mine = median(mine_ms), best = median(best_ms);
    ++asked;
    const bool is_same = &kernel == &all[oracle.best];
    same += is_same;
    const bool near = is_same || best / mine >= 0.97;
    within += near;
    if (!near)
      std::printf("        %s: %s %.1f us, %s %.1f us\n", layer.name.c_str(), kernel.name.c_str(), mine * 1e3,
                  all[oracle.best].name.c_str(), best * 1e3);
    sum += std::min(1.0, best / mine);
  }
  promise(within >= asked * 0.95,
          std::string(word) +
              text(": the winner is the oracle's on %.0f of %.0f problems, or within 3 %%", within, asked) +
              text(" (the very same on %.0f), mean efficiency %.2f %%", same, sum / asked * 100));
}

void budget() {
  ck_select::Options options = searching();
  options.budget = std::chrono::milliseconds(20);
  options.repeats = 1000;
  ck_select::Registry registry(options);
  add_all(registry, Direction::Forward);
  const auto problem = layer(Direction::Forward, 64, 256, 256, 56, 3, 1, 1);
  const Problem p = prepared(problem).value();
  const auto begin = Clock::now();
  ck_select::Selection chosen;
  const ck_select::Status status = registry.try_select(problem, chosen);
  const double ms = us_since(begin) / 1e3;
  const double longest = time_kernel(kernels(Direction::Forward)[0], p, nullptr, 3);
  // A kernel that is running is waited for.
  promise(status == ck_select::Status::ok && ms < 20 + 10 * longest + 20,
          text("a budget of 20 ms ends a search that would take seconds: %.1f ms, one kernel alone takes %.2f ms", ms,
               longest));
}

void failing() {
  ck_select::Registry registry(searching());
  add_all(registry, Direction::Forward);
  ck_select::Hooks cannot;
  cannot.priority = 2;
  cannot.run_conv = [](const ck_conv_problem&, void* stream) -> float {
    // What the runtime refuses: a function that is no kernel.
    void* arguments[] = {nullptr};
    const cudaError_t error = cudaLaunchKernel(reinterpret_cast<void*>(&failing), dim3(1), dim3(4096), arguments, 0,
                                               static_cast<cudaStream_t>(stream));
    return error == cudaSuccess ? 0.0f : -static_cast<float>(error);
  };
  registry.add(troublesome, std::move(cannot));
  const auto problem = layer(Direction::Forward, 4, 64, 64, 28, 3, 1, 1);
  prepared(problem).value();
  listen();
  const ck_select::Selection chosen = registry.select(problem);
  ck_log_set_callback(CK_LOG_LEVEL_OFF, nullptr, nullptr);
  const std::string why = heard(std::string(troublesome) + ": ");
  promise(chosen.name != troublesome && chosen.source == ck_select::Source::search && !why.empty(),
          "a kernel that cannot be launched is passed over and named (\"" + why + "\"): " + std::string(chosen.name) +
              " won");
  promise(cudaGetLastError() == cudaSuccess, "and leaves no error behind");
}

/// A kernel that takes far longer than the others, and the same with so short a limit for a run that it seems to hang.
void overrunning(bool hangs) {
  const Problem large = prepared(layer(Direction::Forward, 64, 256, 256, 56, 3, 1, 1)).value();
  const auto problem = layer(Direction::Forward, 4, 64, 64, 28, 3, 1, 1);
  prepared(problem).value();
  const Kernel& kernel = kernels(Direction::Forward)[0];

  ck_select::Options options = searching();
  if (hangs) {
    options.run_timeout = std::chrono::milliseconds(100);
    options.cutoff = 1e300;
  }
  ck_select::Registry registry(options);
  add_all(registry, Direction::Forward);
  int runs = 0;
  ck_select::Hooks slow;
  slow.run_conv = [&](const ck_conv_problem&, void* stream) -> float {
    ++runs;
    for (int launch = 0; launch < 400; ++launch) {
      if (kernel.run(large, Memory::instance().buffers(), static_cast<cudaStream_t>(stream)) != cudaSuccess) return -1;
    }
    return 0;
  };
  registry.add(troublesome, std::move(slow));
  listen();
  const auto begin = Clock::now();
  const ck_select::Selection chosen = registry.select(problem);
  const double ms = us_since(begin) / 1e3;
  ck_log_set_callback(CK_LOG_LEVEL_OFF, nullptr, nullptr);
  const std::string why = heard(std::string(troublesome) + (hangs ? ": hangs: " : ": cut off, "));
  // The first run of all may have loaded code, and gives nobody up for being slow.
  const int allowed = hangs ? 1 : 2;
  promise(chosen.name != troublesome && chosen.source == ck_select::Source::search && !why.empty() && runs == allowed,
          std::string(hangs ? "a kernel that seems to hang is left alone" : "a kernel that overruns is given up") +
              " and named (\"" + why + "\"), runs: " + std::to_string(runs) + "; " + std::string(chosen.name) +
              text(" won, after %.0f ms", ms));
  check(cudaDeviceSynchronize(), "synchronize");
  if (hangs) {
    ck_select::Registry next(searching());
    add_all(next, Direction::Forward);
    promise(next.select(problem).source == ck_select::Source::search, "and when it has ended, the next search works");
  }
}

void memory() {
  Memory::instance().release();
  check(cudaDeviceSynchronize(), "synchronize");
  size_t before = 0, after = 0, total = 0;
  check(cudaMemGetInfo(&before, &total), "cudaMemGetInfo");
  for (int round = 0; round < 3; ++round) {
    ck_select::Registry registry(searching());
    add_all(registry, Direction::BwdWeight);
    for (const Layer& layer : problems(Direction::BwdWeight, 10, 11)) {
      if (prepared(layer.problem)) (void)registry.select(layer.problem);
    }
    Memory::instance().release();
  }
  check(cudaDeviceSynchronize(), "synchronize");
  check(cudaMemGetInfo(&after, &total), "cudaMemGetInfo");
  promise(after >= before,
          text("device memory is back: %.0f bytes free before, %.0f after", double(before), double(after)));
}

/// Kernels on other streams run on while ten thousand selections are made.
void beside_other_streams() {
  ck_select::Registry registry(searching());
  add_all(registry, Direction::Forward);
  const std::vector<Layer> all = problems(Direction::Forward, 20, 13);
  Problem largest{};
  for (const Layer& layer : all) {
    if (const auto p = prepared(layer.problem)) largest = *p;
  }
  std::atomic<bool> done{false};
  std::atomic<long> launched{0};
  std::vector<std::thread> others;
  for (int other = 0; other < 3; ++other)
    others.emplace_back([&] {
      cudaStream_t stream;
      check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "stream");
      while (!done) {
        check(kernels(Direction::Forward)[3].run(largest, Memory::instance().buffers(), stream), "kernel");
        check(cudaStreamSynchronize(stream), "stream");
        ++launched;
      }
      check(cudaStreamDestroy(stream), "stream");
    });
  std::vector<std::string_view> first;
  for (const Layer& layer : all) first.push_back(registry.select(layer.problem).name);
  long wrong = 0;
  const auto begin = Clock::now();
  for (int round = 0; round < 10000; ++round) {
    const size_t at = static_cast<size_t>(round) % all.size();
    wrong += registry.select(all[at].problem).name != first[at];
  }
  const double us = us_since(begin);
  done = true;
  for (std::thread& other : others) other.join();
  promise(wrong == 0 && launched > 0,
          text("10,000 selections beside %.0f launches on three other streams: %.0f differ, %.2f us each",
               double(launched), double(wrong), us / 10000));
}

}  // namespace

int main() {
  try {
    winners(Direction::Forward, "forward");
    winners(Direction::BwdData, "bwd_data");
    winners(Direction::BwdWeight, "bwd_weight");
    budget();
    failing();
    overrunning(false);
    overrunning(true);
    memory();
    beside_other_streams();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  return broken != 0;
}
