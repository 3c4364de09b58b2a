/* Running exactly the kernel that was chosen, without a detour through names. */

#ifndef CK_SELECT_DISPATCHER_RUNNER_HPP
#define CK_SELECT_DISPATCHER_RUNNER_HPP

#include <functional>
#include <string>
#include <type_traits>
#include <utility>

#include "fmha.hpp"
#include "selector.hpp"

namespace ck_select {
namespace detail {

template <class Instance>
[[nodiscard]] std::string why(const Solution<Instance>& solution) {
  const std::string status(to_string(solution.status));
  return solution.reason.empty() ? status : status + ", " + solution.reason;
}

template <class Instance, class Problem>
[[noreturn]] void throw_no_kernel(const Solution<Instance>& solution, const Problem& problem) {
  std::string message = "ck_select: no kernel can run ";
  if constexpr (is_valid<ProblemText, Problem>) message += problem.to_string();
  else message += "the problem";
  throw CkNoKernelFound(message + ": " + why(solution));
}

/// Runs an instance, with the operands where its generation reads them.
template <class Instance, class Problem>
float run_conv(const Instance& instance, const Problem& problem, const ConvBuffers& buffers, void* stream, int device,
               std::function<std::string(int)> arch_provider) {
  Invocation now;
  now.input = buffers.input;
  now.weight = buffers.weight;
  now.output = buffers.output;
  now.device = device;
  now.split_k = problem.split_k;
  now.benchmarking = buffers.benchmarking;
  now.warmup = buffers.warmup;
  now.repeat = buffers.repeat;
  const InvocationScope<> scope(now, std::move(arch_provider));
  return instance.run(problem, stream);
}

template <class CkRegistry>
[[nodiscard]] const CkRegistry& there(const CkRegistry* registry) {
  if (registry == nullptr) throw Error(Status::null_pointer, "a runner's registry is null");
  return *registry;
}

}  // namespace detail

/// Chooses a convolution kernel (and, for a problem with `split_k` 0, the number of parts) and runs exactly
/// that one: CK's buffers or invocation context are set for the run and restored afterwards. Returns what the
/// kernel returns: its time in milliseconds if `buffers.benchmarking` is set, else 0. Throws CK's
/// NoKernelFound if none can run the problem, and whatever the kernel throws. `device` is for the generation
/// whose kernels need its number.
template <class CkRegistry, class Problem>
float run(const GroupedConvSelector<CkRegistry>& selector, const Problem& problem, const ConvBuffers& buffers,
          void* stream = nullptr, int device = 0) {
  const auto solution = selector.find(problem);
  if (solution.instance == nullptr) detail::throw_no_kernel(solution, problem);
  return detail::in_parts<detail::ConvAdapter>(problem, solution.selection.split_k, [&](const Problem& definite) {
    return detail::run_conv(*solution.instance, definite, buffers, stream, device, {});
  });
}

/// Selects a GEMM's kernel and runs it, as above.
template <class CkRegistry, class Problem>
float run(const GemmSelector<CkRegistry>& selector, const Problem& problem, const GemmOperands& operands,
          void* stream = nullptr) {
  const auto solution = selector.find(problem);
  if (solution.instance == nullptr) {
    throw detail::CkNoKernelFound("ck_select: no kernel can run the GEMM " + std::to_string(problem.M) + 'x' +
                                  std::to_string(problem.N) + 'x' + std::to_string(problem.K) + ": " +
                                  detail::why(solution));
  }
  return detail::in_parts<detail::GemmAdapter>(problem, solution.selection.split_k, [&](const Problem& definite) {
    return detail::GemmAdapter::launch(*solution.instance, definite, operands, stream);
  });
}

/// A replacement for CK's GroupedConvDispatcher, with its interface. It runs exactly the kernel that was chosen.
template <class CkRegistry>
class GroupedConvRunner {
 public:
  using Instance = typename GroupedConvSelector<CkRegistry>::Instance;

  enum class SelectionStrategy {
    /// CK's own choice: the highest priority, as without ck_select.
    PriorityBased,
    /// ck_select's choice.
    Heuristic,
  };

  explicit GroupedConvRunner(const CkRegistry* registry, SelectorOptions options = {})
      : GroupedConvRunner(GroupedConvSelector<CkRegistry>(detail::there(registry), std::move(options))) {}

  explicit GroupedConvRunner(GroupedConvSelector<CkRegistry> selector) : selector_(std::move(selector)) {}

  void set_strategy(SelectionStrategy strategy) noexcept { strategy_ = strategy; }

  /// Whether kernels time themselves: with the warm-ups and repeats of run.
  void set_benchmarking(bool enable) noexcept { benchmarking_ = enable; }
  [[nodiscard]] bool benchmarking_enabled() const noexcept { return benchmarking_; }

  /// The kernel that run() would run; null if there is none. Valid as long as the registry keeps it.
  template <class Problem>
  [[nodiscard]] const Instance* select_kernel(const Problem& problem) const {
    return find(problem).instance.get();
  }
  template <class Problem>
  [[nodiscard]] const Instance* select(const Problem& problem) const {
    return select_kernel(problem);
  }

  /// With the current contents of this thread's buffers or context.
  template <class Problem>
  float run(const Problem& problem, void* stream = nullptr) const {
    const Solution<Instance> solution = solve(problem);
    return detail::in_parts<detail::ConvAdapter>(problem, solution.selection.split_k, [&](const Problem& definite) {
      return solution.instance->run(definite, stream);
    });
  }

  /// On device 0, as in CK. `warmup` and `repeat` only have an effect while benchmarking is enabled.
  template <class Problem>
  float run(const void* input, const void* weight, void* output, const Problem& problem, void* stream = nullptr,
            int warmup = usual_warmup, int repeat = usual_repeat) const {
    return run_on({input, weight, output, benchmarking_, warmup, repeat}, problem, 0, stream, {});
  }

  template <class Problem>
  float run(const void* input, const void* weight, void* output, const Problem& problem, int device,
            void* stream = nullptr, std::function<std::string(int)> arch_provider = {}) const {
    return run_on({input, weight, output, benchmarking_, usual_warmup, usual_repeat}, problem, device, stream,
                  std::move(arch_provider));
  }

  [[nodiscard]] const GroupedConvSelector<CkRegistry>& selector() const noexcept { return selector_; }

 private:
  // The generation with a context runs once and does not time, unless told to; the others repeat.
  static constexpr bool has_context = detail::in_ck<detail::CkContext>;
  static constexpr int usual_warmup = has_context ? 0 : 3;
  static constexpr int usual_repeat = has_context ? 1 : 10;

  template <class Problem>
  [[nodiscard]] Solution<Instance> find(const Problem& problem) const {
    return strategy_ == SelectionStrategy::PriorityBased ? selector_.find_by_priority(problem) : selector_.find(problem);
  }

  template <class Problem>
  [[nodiscard]] Solution<Instance> solve(const Problem& problem) const {
    const Solution<Instance> solution = find(problem);
    if (solution.instance == nullptr) detail::throw_no_kernel(solution, problem);
    return solution;
  }

  template <class Problem>
  float run_on(const ConvBuffers& buffers, const Problem& problem, int device, void* stream,
               std::function<std::string(int)> arch_provider) const {
    const Solution<Instance> solution = solve(problem);
    return detail::in_parts<detail::ConvAdapter>(problem, solution.selection.split_k, [&](const Problem& definite) {
      return detail::run_conv(*solution.instance, definite, buffers, stream, device, std::move(arch_provider));
    });
  }

  GroupedConvSelector<CkRegistry> selector_;
  SelectionStrategy strategy_ = SelectionStrategy::Heuristic;
  bool benchmarking_ = !has_context;
};
template <class CkRegistry>
GroupedConvRunner(CkRegistry*) -> GroupedConvRunner<std::remove_const_t<CkRegistry>>;
template <class CkRegistry>
GroupedConvRunner(CkRegistry*, SelectorOptions) -> GroupedConvRunner<std::remove_const_t<CkRegistry>>;
template <class CkRegistry>
GroupedConvRunner(GroupedConvSelector<CkRegistry>) -> GroupedConvRunner<CkRegistry>;

/// A replacement for CK's FmhaDispatcher: it runs exactly the kernels that were chosen, stage by stage, and may measure
/// them on the operands of the call (SelectorOptions::run_attention).
template <class CkRegistry>
class FmhaRunner {
 public:
  using Instance = typename FmhaSelector<CkRegistry>::Instance;
  using Invocation = typename detail::FmhaLaunch<Instance>::Invocation;
  using Problem = typename detail::FmhaProblemOf<decltype(&Instance::supports)>::Problem;

  /// The options' `arch` is that of all invocations.
  explicit FmhaRunner(const CkRegistry* registry, SelectorOptions options = {})
      : arch_(options.arch), selector_(detail::there(registry), std::move(options), {}) {}

  /// Whether a run is timed: with `warmup` and `repeat` runs.
  void set_benchmarking(bool enable, int warmup = 5, int repeat = 10) noexcept {
    benchmarking_ = enable;
    warmup_ = warmup;
    repeat_ = repeat;
  }

  /// The kernels that run() would run. If they are measured for it, the results of the call are overwritten.
  [[nodiscard]] FmhaPlan<Instance> plan(const Invocation& invocation) const {
    return selector_.plan(Invoked{Problem::from_invocation(invocation, arch_), &invocation});
  }

  /// Returns what CK's dispatcher does: the milliseconds while benchmarking, else 0. Throws CK's NoKernelFound if a stage
  /// has no kernel, and whatever the kernels throw.
  float run(const Invocation& invocation, void* stream = nullptr) const {
    const FmhaPlan<Instance> chosen = plan(invocation);
    const auto config = detail::fmha_stream<Config>(stream, benchmarking_, warmup_, repeat_);
    const auto stage = [&](std::size_t at) {
      return [&invocation, kernel = chosen.stages[at].solution.instance](const Config& inner) {
        kernel->launch(invocation, inner);
      };
    };
    // CK's, found by the namespace of its settings: all stages under one timer.
    switch (chosen.stages.size()) {
      case 0:
        throw detail::CkNoKernelFound("ck_select: a stage of the attention problem has no kernel: " +
                                      std::string(to_string(chosen.status)));
      case 1: return chosen.stages[0].solution.instance->run(invocation, config);
      case 2: return launch_kernel(config, stage(0), stage(1));
      default: return launch_kernel(config, stage(0), stage(1), stage(2));
    }
  }

  [[nodiscard]] const FmhaSelector<CkRegistry>& selector() const noexcept { return selector_; }

 private:
  using Config = typename detail::FmhaLaunch<Instance>::Config;
  /// A problem that knows where its operands are.
  struct Invoked : Problem {
    const Invocation* invocation;
  };

  std::string arch_;
  FmhaSelector<CkRegistry> selector_;
  bool benchmarking_ = false;
  int warmup_ = 5;
  int repeat_ = 10;
};
template <class CkRegistry>
FmhaRunner(CkRegistry*) -> FmhaRunner<std::remove_const_t<CkRegistry>>;
template <class CkRegistry>
FmhaRunner(CkRegistry*, SelectorOptions) -> FmhaRunner<std::remove_const_t<CkRegistry>>;

}  // namespace ck_select

#endif  // CK_SELECT_DISPATCHER_RUNNER_HPP
