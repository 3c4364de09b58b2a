// Stand-ins for the generations V1 and V2. The instances of V2 may be asked what they support (STAND_IN_ASKED).

#ifndef CK_SELECT_STAND_IN_CONV_WITH_BUFFERS_HPP
#define CK_SELECT_STAND_IN_CONV_WITH_BUFFERS_HPP

#include <array>

#include "conv_registry.hpp"

namespace ck_tile {
namespace dispatcher {

/// One padding for both sides; types and layout are the kernel's business.
struct GroupedConvProblem {
  using Axes = std::array<std::int64_t, 3>;

  std::int64_t N = 1, C = 64, K = 64, G = 1;
  Axes input_spatial{1, 28, 28}, filter_spatial{1, 3, 3}, output_spatial{1, 26, 26};
  Axes stride{1, 1, 1}, padding{0, 0, 0}, dilation{1, 1, 1};
  GroupedConvOp op = GroupedConvOp::Forward;
  int split_k = 1;

  void compute_output_size() {
    for (std::size_t axis = 0; axis < 3; ++axis) {
      const std::int64_t reach = (filter_spatial[axis] - 1) * dilation[axis] + 1;
      output_spatial[axis] = (input_spatial[axis] + 2 * padding[axis] - reach) / stride[axis] + 1;
    }
  }
  [[nodiscard]] bool is_valid() const { return N > 0 && C > 0 && K > 0 && G > 0 && C % G == 0 && K % G == 0; }
  [[nodiscard]] std::string to_string() const { return "problem of " + std::to_string(C) + " channels"; }
};

/// Where run() puts what kernels read.
struct ConvDispatchBuffers {
  const void* input_ptr = nullptr;
  const void* weight_ptr = nullptr;
  void* output_ptr = nullptr;
  int warmup = 3;
  int repeat = 10;
  bool benchmarking = true;
  int split_k = 1;
};
inline thread_local ConvDispatchBuffers g_conv_dispatch_buffers;

class GroupedConvKernelInstance {
 public:
  using RunFn = std::function<float(const GroupedConvProblem&, void*)>;
  using IsSupportedFn = std::function<bool(const GroupedConvProblem&)>;

#ifdef STAND_IN_ASKED
  GroupedConvKernelInstance(const GroupedConvKernelKey& key, const std::string& name, RunFn run,
                            IsSupportedFn supported = nullptr)
      : key_(key), name_(name), run_(std::move(run)), supported_(std::move(supported)) {}

  [[nodiscard]] const std::string& name(bool /*use_instance_string*/ = false) const { return name_; }
  [[nodiscard]] bool is_supported(const GroupedConvProblem& problem) const {
    return !supported_ || supported_(problem);
  }
#else
  GroupedConvKernelInstance(const GroupedConvKernelKey& key, const std::string& name, RunFn run)
      : key_(key), name_(name), run_(std::move(run)) {}

  [[nodiscard]] const std::string& name() const { return name_; }
#endif
  [[nodiscard]] const GroupedConvKernelKey& key() const { return key_; }
  /// The operation alone.
  [[nodiscard]] bool matches(const GroupedConvProblem& problem) const { return problem.op == key_.op; }
  float run(const GroupedConvProblem& problem, void* stream = nullptr) const { return run_(problem, stream); }

 private:
  GroupedConvKernelKey key_;
  std::string name_;
  RunFn run_;
  IsSupportedFn supported_;
};

class GroupedConvRegistry
    : public ConvRegistryBase<GroupedConvRegistry, GroupedConvKernelKey, GroupedConvKernelInstance> {
 public:
  /// The highest priority that has the operation, whatever else it is; among equal ones the first of the hash table.
  [[nodiscard]] const GroupedConvKernelInstance* find(const GroupedConvProblem& problem) const {
    const std::lock_guard<std::mutex> lock(mutex());
    const Entry* best = nullptr;
    for (const auto& item : entries()) {
      if (item.second.instance->matches(problem) && (best == nullptr || item.second.priority > best->priority)) {
        best = &item.second;
      }
    }
    return best == nullptr ? nullptr : best->instance.get();
  }
};

class GroupedConvDispatcher {
 public:
  enum class SelectionStrategy { PriorityBased, Heuristic };
  using HeuristicFunction = std::function<std::vector<std::string>(const GroupedConvProblem&)>;

  explicit GroupedConvDispatcher(GroupedConvRegistry* registry) : registry_(registry) {}

  void set_strategy(SelectionStrategy strategy) { strategy_ = strategy; }
  void set_heuristic(HeuristicFunction heuristic) { heuristic_ = std::move(heuristic); }

  /// The first kernel of the hash table whose name contains a text, text by text. What it supports is not asked.
  [[nodiscard]] const GroupedConvKernelInstance* select_kernel(const GroupedConvProblem& problem) const {
    if (strategy_ == SelectionStrategy::Heuristic && heuristic_) {
      const auto texts = heuristic_(problem);
      const auto all = registry_->all_kernels();
      for (const auto& name : texts) {
        for (const auto* kernel : all) {
          if (kernel->name().find(name) != std::string::npos && kernel->matches(problem)) return kernel;
        }
      }
    }
    return registry_->find(problem);
  }

  /// Sets the buffers after it has selected, and leaves them so.
  float run(const void* input, const void* weight, void* output, const GroupedConvProblem& problem,
            void* stream = nullptr, int warmup = 3, int repeat = 10) {
    const auto* kernel = select_kernel(problem);
    if (kernel == nullptr) throw NoKernelFound("no kernel for the " + problem.to_string());
    ConvDispatchBuffers& buffers = g_conv_dispatch_buffers;
    buffers.input_ptr = input;
    buffers.weight_ptr = weight;
    buffers.output_ptr = output;
    buffers.warmup = warmup;
    buffers.repeat = repeat;
    buffers.benchmarking = true;
    buffers.split_k = problem.split_k;
    return kernel->run(problem, stream);
  }

 private:
  GroupedConvRegistry* registry_;
  SelectionStrategy strategy_ = SelectionStrategy::PriorityBased;
  HeuristicFunction heuristic_;
};

}  // namespace dispatcher
}  // namespace ck_tile

#endif  // CK_SELECT_STAND_IN_CONV_WITH_BUFFERS_HPP
