// Stand-in for generation V3: problems say everything, a kernel is identified by its name, and what kernels read is a
// context.

#ifndef CK_SELECT_STAND_IN_V3_HPP
#define CK_SELECT_STAND_IN_V3_HPP

#define STAND_IN_ASKED
#define STAND_IN_NAMED

#include <array>

#include "../../../conv_registry.hpp"

namespace ck_tile {
namespace dispatcher {

struct GroupedConvProblem {
  using Axes = std::array<std::int64_t, 3>;

  std::int64_t N = 1, C = 64, K = 64, G = 1;
  Axes input_spatial{1, 28, 28}, filter_spatial{1, 3, 3}, output_spatial{1, 26, 26};
  std::string dtype_in, dtype_wei, dtype_out, layout;
  int ndim_spatial = 2;
  std::string arch;
  Axes stride{1, 1, 1}, padding_left{0, 0, 0}, padding_right{0, 0, 0}, dilation{1, 1, 1};
  GroupedConvOp op = GroupedConvOp::Forward;
  int split_k = 1;

  /// Changes nothing, and answers false, when there is no such output.
  bool compute_output_size() { return output_size_(output_spatial); }

  bool output_size_(Axes& output) const {
    Axes made{};
    for (std::size_t axis = 0; axis < 3; ++axis) {
      const bool is_size =
          input_spatial[axis] > 0 && filter_spatial[axis] > 0 && stride[axis] > 0 && dilation[axis] > 0;
      if (!is_size || padding_left[axis] < 0 || padding_right[axis] < 0) return false;
      const std::int64_t room = input_spatial[axis] + padding_left[axis] + padding_right[axis] -
                                ((filter_spatial[axis] - 1) * dilation[axis] + 1);
      if (room < 0) return false;
      made[axis] = room / stride[axis] + 1;
    }
    output = made;
    return true;
  }

  [[nodiscard]] bool is_valid() const {
    if (N <= 0 || C <= 0 || K <= 0 || G <= 0 || C % G != 0 || K % G != 0) return false;
    if (dtype_in.empty() || dtype_wei.empty() || dtype_out.empty() || layout.empty() || arch.empty()) return false;
    if (ndim_spatial == 2) {
      const Axes* ones[] = {&input_spatial, &filter_spatial, &output_spatial, &stride, &dilation};
      for (const Axes* axes : ones) {
        if ((*axes)[0] != 1) return false;
      }
      if (padding_left[0] != 0 || padding_right[0] != 0) return false;
    } else if (ndim_spatial != 3) {
      return false;
    }
    Axes again{};
    return output_size_(again) && again == output_spatial;
  }

  [[nodiscard]] std::string to_string() const { return "problem of " + std::to_string(C) + " channels"; }
};

using ConvDeviceArchProvider = std::function<std::string(int)>;

struct ConvInvocationContext {
  const void* input_ptr = nullptr;
  const void* weight_ptr = nullptr;
  void* output_ptr = nullptr;
  int device_ordinal = -1;
  int k_batch = 1;
  ConvDeviceArchProvider arch_provider = {};
  bool benchmarking = false;
  int warmup = 0;
  int repeat = 1;
};

inline ConvInvocationContext& mutable_conv_invocation_context() {
  thread_local ConvInvocationContext context;
  return context;
}
inline const ConvInvocationContext& conv_invocation_context() { return mutable_conv_invocation_context(); }

class ScopedConvInvocationContext {
 public:
  explicit ScopedConvInvocationContext(ConvInvocationContext now)
      : before_(std::exchange(mutable_conv_invocation_context(), std::move(now))) {}
  ~ScopedConvInvocationContext() { mutable_conv_invocation_context() = std::move(before_); }
  ScopedConvInvocationContext(const ScopedConvInvocationContext&) = delete;
  ScopedConvInvocationContext& operator=(const ScopedConvInvocationContext&) = delete;

 private:
  ConvInvocationContext before_;
};

class GroupedConvKernelInstance {
 public:
  using RunFn = std::function<float(const GroupedConvProblem&, void*)>;
  using IsSupportedFn = std::function<bool(const GroupedConvProblem&)>;

  GroupedConvKernelInstance(const GroupedConvKernelKey& key, RunFn run, IsSupportedFn supported = nullptr)
      : key_(key), run_(std::move(run)), supported_(std::move(supported)), id_(key.kernel_id()) {}

  [[nodiscard]] const GroupedConvKernelKey& key() const { return key_; }
  [[nodiscard]] const std::string& kernel_id() const { return id_; }
  [[nodiscard]] bool executable() const { return run_ && supported_; }
  [[nodiscard]] const std::string& name(bool /*use_instance_string*/ = false) const { return key_.name; }
  [[nodiscard]] bool is_supported(const GroupedConvProblem& problem) const {
    return problem.is_valid() && supported_ && supported_(problem);
  }
  /// Whole texts.
  [[nodiscard]] bool matches(const GroupedConvProblem& of) const {
    return std::tie(of.dtype_in, of.dtype_wei, of.dtype_out, of.layout, of.ndim_spatial, of.op, of.arch) ==
           std::tie(key_.dtype_in, key_.dtype_wei, key_.dtype_out, key_.layout, key_.ndim_spatial, key_.op, key_.arch);
  }
  float run(const GroupedConvProblem& problem, void* stream = nullptr) const { return run_(problem, stream); }

 private:
  GroupedConvKernelKey key_;
  RunFn run_;
  IsSupportedFn supported_;
  std::string id_;
};

class GroupedConvRegistry
    : public ConvRegistryBase<GroupedConvRegistry, GroupedConvKernelKey, GroupedConvKernelInstance> {
 public:
  /// What could not run is not taken.
  bool register_kernel(const GroupedConvKernelKey& key, InstancePtr instance, Priority priority = Priority::Normal) {
    if (!instance || !instance->executable() || !(instance->key() == key) || key.name.empty()) return false;
    return BaseRegistry::register_kernel(key, std::move(instance), priority);
  }

  static bool is_executable_candidate(const GroupedConvKernelInstance& instance, const GroupedConvProblem& problem) {
    return problem.is_valid() && instance.executable() && instance.matches(problem) && instance.is_supported(problem);
  }

  /// The highest priority that can run the problem; among equal ones the smallest kernel_id.
  [[nodiscard]] const GroupedConvKernelInstance* find(const GroupedConvProblem& problem) const {
    const std::lock_guard<std::mutex> lock(mutex());
    const Entry* best = nullptr;
    const auto is_better = [&](const Entry& entry) {
      if (best == nullptr || entry.priority != best->priority)
        return best == nullptr || entry.priority > best->priority;
      return entry.instance->kernel_id() < best->instance->kernel_id();
    };
    for (const auto& item : entries()) {
      if (is_executable_candidate(*item.second.instance, problem) && is_better(item.second)) best = &item.second;
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

  /// The first candidate of the hash table whose name contains a text, text by text.
  [[nodiscard]] const GroupedConvKernelInstance* select_kernel(const GroupedConvProblem& problem) const {
    if (strategy_ == SelectionStrategy::Heuristic && heuristic_) {
      const auto texts = heuristic_(problem);
      const auto all = registry_->all_kernels();
      for (const auto& name : texts) {
        for (const auto* kernel : all) {
          if (kernel->name().find(name) != std::string::npos &&
              GroupedConvRegistry::is_executable_candidate(*kernel, problem)) {
            return kernel;
          }
        }
      }
    }
    return registry_->find(problem);
  }

  float run(const void* input, const void* weight, void* output, const GroupedConvProblem& problem,
            void* stream = nullptr) {
    return run(input, weight, output, problem, 0, stream);
  }

  /// Sets the context after it has selected.
  float run(const void* input, const void* weight, void* output, const GroupedConvProblem& problem, int device,
            void* stream = nullptr, ConvDeviceArchProvider arch_provider = {}) {
    const auto* kernel = select_kernel(problem);
    if (kernel == nullptr) throw NoKernelFound("no kernel for the " + problem.to_string());
    const ScopedConvInvocationContext scope({input, weight, output, device, problem.split_k, std::move(arch_provider)});
    return kernel->run(problem, stream);
  }

 private:
  GroupedConvRegistry* registry_;
  SelectionStrategy strategy_ = SelectionStrategy::PriorityBased;
  HeuristicFunction heuristic_;
};

}  // namespace dispatcher
}  // namespace ck_tile

#endif  // CK_SELECT_STAND_IN_V3_HPP
