// How long GroupedConvRunner takes for a problem that was asked before, against get_solution and CK's dispatcher with a
// heuristic. Arguments: the repository.

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <string>
#include <vector>

#include "generation.hpp"

using namespace generation;

namespace {

/// This thread's processor time, which other programs do not lengthen.
double now() {
  timespec time{};
  (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return 1e9 * static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec);
}

/// The median time of a call in nanoseconds, over rounds of many.
template <class Body>
double nanoseconds(int calls, Body body) {
  std::vector<double> times;
  for (int round = 0; round < 31; ++round) {
    const double begin = now();
    for (int call = 0; call < calls; ++call) body();
    times.push_back((now() - begin) / calls);
  }
  std::nth_element(times.begin(), times.begin() + 15, times.end());
  return times[15];
}

void measure(const std::string& models, int kernels) {
  ck::GroupedConvRegistry registry;
  const char* const pipelines[] = {"compv3", "compv4", "compv5", "mem"};
  for (int at = 0; at < kernels; ++at) {
    // All different, in the tiles and in a count.
    Key key = key_of(16 << (at % 5), 16 << (at / 5 % 5), 32 << (at / 25 % 3), pipelines[at / 75 % 4]);
    key.num_groups_to_merge = 1 + at / 300;
    const std::string name = name_of(key, at < 300 ? "" : "_gm" + std::to_string(key.num_groups_to_merge));
    (void)add(registry,
              make(key, name, [](const Problem&, void*) { return 0.0F; }, [](const Problem&) { return true; }));
  }
  ck_select::SelectorOptions options;
  options.models = {models + "/conv_small"};
  options.registry.ignore_environment = true;
  const ck_select::GroupedConvRunner runner(&registry, options);
  const ck_select::GroupedConvSelector selector(registry, options);
  ck::GroupedConvDispatcher dispatcher(&registry);
  dispatcher.set_heuristic(selector.heuristic());
  dispatcher.set_strategy(ck::GroupedConvDispatcher::SelectionStrategy::Heuristic);
  const Problem problem = layer(16, 256, 128, 28);
  char operand[1];
  const double run = nanoseconds(2000, [&] { (void)runner.run(operand, operand, operand, problem); });
  const double solution = nanoseconds(2000, [&] { (void)selector.get_solution(problem); });
  const double dispatched = nanoseconds(20, [&] { (void)dispatcher.run(operand, operand, operand, problem); });
  std::printf("%5zu kernels: runner %.0f ns, get_solution %.0f ns, CK's dispatcher %.0f ns\n", registry.size(), run,
              solution, dispatched);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  for (const int kernels : {30, 1080}) measure(argv[1] + std::string("/tests/golden/models"), kernels);
  return 0;
}
