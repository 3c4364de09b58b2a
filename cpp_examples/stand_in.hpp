// Stand-ins for the classes of CK's dispatcher, with the members and the behaviour that a selector meets: enough to build
// and run the adapters without CK. Nothing here is CK's code; a real program includes CK's own headers instead.

#ifndef CK_SELECT_EXAMPLES_STAND_IN_HPP
#define CK_SELECT_EXAMPLES_STAND_IN_HPP

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace stand_in {

enum class Priority { Low = 0, Normal = 1, High = 2 };

/// Kernels under unique keys, with one lock.
template <class Key, class Instance>
class BaseRegistry {
 public:
  bool register_kernel(const Key& key, std::shared_ptr<Instance> instance, Priority priority = Priority::Normal) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto found = entries_.find(key);
    if (found != entries_.end() && found->second.second >= priority) return false;
    entries_[key] = {std::move(instance), priority};
    return true;
  }

  [[nodiscard]] std::size_t size() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return entries_.size();
  }

  void clear() {
    const std::lock_guard<std::mutex> lock(mutex_);
    entries_.clear();
  }

  [[nodiscard]] std::vector<std::shared_ptr<Instance>> get_all_instances() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    std::vector<std::shared_ptr<Instance>> all;
    for (const auto& entry : entries_) all.push_back(entry.second.first);
    return all;
  }

 protected:
  mutable std::mutex mutex_;
  std::map<Key, std::pair<std::shared_ptr<Instance>, Priority>> entries_;
};

enum class GroupedConvOp { Forward, BackwardData, BackwardWeight };

/// What all revisions of the problem have. The defaults are CK's.
struct ConvProblemCommon {
  std::int64_t N = 1, C = 64, K = 64, G = 1;
  std::array<std::int64_t, 3> input_spatial{1, 28, 28};
  std::array<std::int64_t, 3> filter_spatial{1, 3, 3};
  std::array<std::int64_t, 3> output_spatial{1, 26, 26};
  std::array<std::int64_t, 3> stride{1, 1, 1};
  std::array<std::int64_t, 3> dilation{1, 1, 1};
  GroupedConvOp op = GroupedConvOp::Forward;
  int split_k = 1;
};

/// The older revision: one padding for both sides; types and layout are the kernel's business.
struct OldConvProblem : ConvProblemCommon {
  std::array<std::int64_t, 3> padding{0, 0, 0};
};

/// The newer one says everything.
struct NewConvProblem : ConvProblemCommon {
  std::array<std::int64_t, 3> padding_left{0, 0, 0};
  std::array<std::int64_t, 3> padding_right{0, 0, 0};
  std::string dtype_in = "bf16", dtype_wei = "bf16", dtype_out = "bf16";
  std::string layout = "nhwgc";
  std::string arch = "gfx950";
  int ndim_spatial = 2;
};

struct GroupedConvKernelKey {
  std::string dtype_in, dtype_wei, dtype_out, layout;
  int ndim_spatial = 2;
  GroupedConvOp op = GroupedConvOp::Forward;
  int tile_m = 1, tile_n = 128, tile_k = 128;
  int wave_m = 2, wave_n = 2, wave_k = 1;
  int warp_m = 32, warp_n = 32, warp_k = 16;
  std::string pipeline = "compv3", scheduler = "intrawave", epilogue = "cshuffle";
  int vector_size_a = 4, vector_size_b = 8, vector_size_c = 8;
  int block_per_cu = 1, num_wave_groups = 1, num_groups_to_merge = 1;
  std::string specialization = "default";
  bool large_tensor = false;
  bool streamk_enabled = false;
  std::string streamk_reduction = "none";
  bool streamk_persistent = false;
  std::string arch = "gfx942";
};

/// The classes of one revision of the problem.
template <class Problem>
struct GroupedConv {
  class KernelInstance {
   public:
    using Run = std::function<float(const Problem&, void*)>;
    using Supports = std::function<bool(const Problem&)>;

    KernelInstance(GroupedConvKernelKey key, std::string name, Run run, Supports supports = nullptr)
        : key_(std::move(key)), name_(std::move(name)), run_(std::move(run)), supports_(std::move(supports)) {}

    [[nodiscard]] const GroupedConvKernelKey& key() const { return key_; }
    [[nodiscard]] const std::string& name(bool = false) const { return name_; }
    [[nodiscard]] bool is_supported(const Problem& problem) const { return !supports_ || supports_(problem); }
    float run(const Problem& problem, void* stream = nullptr) const { return run_(problem, stream); }

   private:
    GroupedConvKernelKey key_;
    std::string name_;
    Run run_;
    Supports supports_;
  };

  /// Keyed by name here, which CK's newest revision does, too.
  class Registry : public BaseRegistry<std::string, KernelInstance> {
   public:
    bool add(std::shared_ptr<KernelInstance> instance, Priority priority = Priority::Normal) {
      const std::string key = instance->name();
      return this->register_kernel(key, std::move(instance), priority);
    }

    /// Any kernel of the right direction, whatever else it is.
    [[nodiscard]] const KernelInstance* find(const Problem& problem) const {
      const std::lock_guard<std::mutex> lock(this->mutex_);
      for (const auto& entry : this->entries_) {
        if (entry.second.first->key().op == problem.op) return entry.second.first.get();
      }
      return nullptr;
    }

    [[nodiscard]] std::vector<const KernelInstance*> filter(
        std::function<bool(const KernelInstance&)> predicate) const {
      const std::lock_guard<std::mutex> lock(this->mutex_);
      std::vector<const KernelInstance*> kept;
      for (const auto& entry : this->entries_) {
        if (predicate(*entry.second.first)) kept.push_back(entry.second.first.get());
      }
      return kept;
    }

    std::size_t filter_by_arch(const std::string& arch) {
      const std::lock_guard<std::mutex> lock(this->mutex_);
      std::size_t removed = 0;
      for (auto at = this->entries_.begin(); at != this->entries_.end();) {
        const bool other = at->second.first->key().arch != arch;
        removed += other ? 1 : 0;
        at = other ? this->entries_.erase(at) : std::next(at);
      }
      return removed;
    }
  };

  class Dispatcher {
   public:
    enum class SelectionStrategy { PriorityBased, Heuristic };

    explicit Dispatcher(Registry* registry) : registry_(registry) {}

    void set_heuristic(std::function<std::vector<std::string>(const Problem&)> heuristic) {
      heuristic_ = std::move(heuristic);
    }
    void set_strategy(SelectionStrategy strategy) { strategy_ = strategy; }

    /// By parts of names: a short name may find a longer one. `is_supported` is not asked.
    [[nodiscard]] const KernelInstance* select_kernel(const Problem& problem) const {
      if (strategy_ == SelectionStrategy::Heuristic && heuristic_) {
        const auto all = registry_->filter([](const KernelInstance&) { return true; });
        for (const std::string& part : heuristic_(problem)) {
          for (const KernelInstance* kernel : all) {
            if (kernel->name().find(part) != std::string::npos && kernel->key().op == problem.op) return kernel;
          }
        }
      }
      return registry_->find(problem);
    }

   private:
    Registry* registry_;
    SelectionStrategy strategy_ = SelectionStrategy::PriorityBased;
    std::function<std::vector<std::string>(const Problem&)> heuristic_;
  };
};

// GEMM.

enum class DataType : std::uint8_t { FP16, BF16, FP32, FP8, INT8 };
enum class LayoutTag : std::uint8_t { RowMajor, ColMajor, PackedExternal };
enum class Pipeline : std::uint8_t { Mem, CompV3, CompV4 };
enum class Epilogue : std::uint8_t { Default, CShuffle };
enum class Scheduler : std::uint8_t { Auto, Intrawave, Interwave };

inline std::string to_string(DataType type) {
  const char* const words[] = {"fp16", "bf16", "fp32", "fp8", "int8"};
  return words[static_cast<int>(type)];
}
inline std::string to_string(LayoutTag layout) {
  const char* const words[] = {"r", "c", "p"};
  return words[static_cast<int>(layout)];
}
inline std::string to_string(Pipeline pipeline) {
  const char* const words[] = {"mem", "compv3", "compv4"};
  return words[static_cast<int>(pipeline)];
}
inline std::string to_string(Epilogue epilogue) { return epilogue == Epilogue::Default ? "default" : "cshuffle"; }
inline std::string to_string(Scheduler scheduler) {
  const char* const words[] = {"auto", "intrawave", "interwave"};
  return words[static_cast<int>(scheduler)];
}

struct GemmProblem {
  std::int64_t M = 0, N = 0, K = 0;
  std::int32_t k_batch = 1;
};

struct KernelKey {
  struct Signature {
    DataType dtype_a, dtype_b, dtype_c, dtype_acc;
    LayoutTag layout_a, layout_b, layout_c;
    bool transpose_a, transpose_b, grouped;
    std::uint8_t split_k;
    std::string elementwise_op;
    std::uint8_t num_d_tensors;
    bool structured_sparsity;
  } signature;
  struct Algorithm {
    struct Wide {
      std::uint16_t m, n, k;
    } tile_shape;
    struct Narrow {
      std::uint8_t m, n, k;
    } wave_shape, warp_tile_shape;
    Pipeline pipeline;
    Scheduler scheduler;
    Epilogue epilogue;
    std::uint16_t block_size;
    bool double_buffer, persistent, preshuffle, transpose_c;
    std::uint8_t num_wave_groups;
    bool pad_m = true, pad_n = true, pad_k = true;
  } algorithm;
  std::string gfx_arch;

  /// Not the real grammar: an adapter must not build this text itself.
  [[nodiscard]] std::string encode_identifier() const {
    const auto& tile = algorithm.tile_shape;
    return to_string(signature.dtype_a) + '/' + to_string(algorithm.pipeline) + '/' + std::to_string(tile.m) + 'x' +
           std::to_string(tile.n) + 'x' + std::to_string(tile.k);
  }
};

class GemmKernelInstance {
 public:
  using Run = std::function<float(const void* a, const void* b, void* c, const GemmProblem&)>;

  GemmKernelInstance(KernelKey key, std::function<bool(const GemmProblem&)> supports, Run run = nullptr)
      : key_(std::move(key)), supports_(std::move(supports)), run_(std::move(run)) {}
  virtual ~GemmKernelInstance() = default;

  float run(const void* a, const void* b, void* c, const void** /*d*/, const GemmProblem& problem,
            void* /*stream*/ = nullptr) const {
    return run_ ? run_(a, b, c, problem) : 0.0F;
  }

  [[nodiscard]] const KernelKey& get_key() const { return key_; }
  [[nodiscard]] bool supports(const GemmProblem& problem) const { return !supports_ || supports_(problem); }

 private:
  KernelKey key_;
  std::function<bool(const GemmProblem&)> supports_;
  Run run_;
};

class GemmRegistry : public BaseRegistry<std::string, GemmKernelInstance> {
 public:
  bool add(std::shared_ptr<GemmKernelInstance> instance, Priority priority = Priority::Normal) {
    const std::string key = instance->get_key().encode_identifier();
    return register_kernel(key, std::move(instance), priority);
  }

  [[nodiscard]] std::shared_ptr<GemmKernelInstance> lookup(const std::string& identifier) const {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto found = entries_.find(identifier);
    return found == entries_.end() ? nullptr : found->second.first;
  }

  [[nodiscard]] std::vector<std::shared_ptr<GemmKernelInstance>> filter(
      std::function<bool(const GemmKernelInstance&)> predicate) const {
    std::vector<std::shared_ptr<GemmKernelInstance>> kept;
    const std::lock_guard<std::mutex> lock(mutex_);
    for (const auto& entry : entries_) {
      if (predicate(*entry.second.first)) kept.push_back(entry.second.first);
    }
    return kept;
  }
};

class GemmDispatcher {
 public:
  explicit GemmDispatcher(GemmRegistry* registry) : registry_(registry) {}

  void set_heuristic(std::function<std::vector<std::string>(const GemmProblem&)> heuristic) {
    heuristic_ = std::move(heuristic);
  }

  [[nodiscard]] std::shared_ptr<GemmKernelInstance> select_kernel(const GemmProblem& problem) const {
    if (heuristic_) {
      for (const std::string& identifier : heuristic_(problem)) {
        const auto kernel = registry_->lookup(identifier);
        if (kernel && kernel->supports(problem)) return kernel;
      }
    }
    for (const auto& kernel : registry_->get_all_instances()) {
      if (kernel->supports(problem)) return kernel;
    }
    return nullptr;
  }

 private:
  GemmRegistry* registry_;
  std::function<std::vector<std::string>(const GemmProblem&)> heuristic_;
};

}  // namespace stand_in

#endif  // CK_SELECT_EXAMPLES_STAND_IN_HPP
