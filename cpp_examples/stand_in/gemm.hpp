// Stand-ins for the GEMM classes. G2 (STAND_IN_STREAM_K) has vector widths and Stream-K beyond G1.

#ifndef CK_SELECT_STAND_IN_GEMM_HPP
#define CK_SELECT_STAND_IN_GEMM_HPP

#include "base.hpp"

namespace ck_tile {
namespace dispatcher {

enum class DataType : std::uint8_t { FP16, BF16, FP32, FP64, FP8, BF8, INT8, INT4, INT32, UNKNOWN };
enum class LayoutTag : std::uint8_t { RowMajor, ColMajor, PackedExternal };
enum class Pipeline : std::uint8_t {
  Mem, CompV1, CompV2, CompV3, CompV4, CompV5, CompV6, PreShuffleV1, PreShuffleV2, Wavelet
};
enum class Epilogue : std::uint8_t { None, Default, CShuffle, Bias, Activation, BiasActivation };
enum class Scheduler : std::uint8_t { Auto, Intrawave, Interwave };

inline std::string to_string(DataType type) {
  const char* const words[] = {"fp16", "bf16", "fp32", "fp64", "fp8", "bf8", "int8", "int4", "int32", "unknown"};
  return words[static_cast<int>(type)];
}
inline std::string to_string(LayoutTag layout) { return std::string(1, "rcp"[static_cast<int>(layout)]); }
inline std::string to_string(Pipeline pipeline) {
  const char* const words[] = {"mem",    "compv1", "compv2",       "compv3",       "compv4",
                               "compv5", "compv6", "preshufflev1", "preshufflev2", "wavelet"};
  return words[static_cast<int>(pipeline)];
}
inline std::string to_string(Epilogue epilogue) {
  const char* const words[] = {"none", "default", "cshuffle", "bias", "activation", "bias_activation"};
  return words[static_cast<int>(epilogue)];
}
inline std::string to_string(Scheduler scheduler) {
  const char* const words[] = {"auto", "intrawave", "interwave"};
  return words[static_cast<int>(scheduler)];
}

#ifdef STAND_IN_STREAM_K
enum class ReductionStrategy : std::uint8_t { None, Atomic, Linear, Tree };
inline const char* to_string(ReductionStrategy strategy) {
  const char* const words[] = {"none", "atomic", "linear", "tree"};
  return words[static_cast<int>(strategy)];
}
#endif

struct Problem {
  std::int64_t M = 0, N = 0, K = 0;
  std::int32_t k_batch = 1, smem_budget = 0;
  bool prefer_persistent = false, enable_validation = false;
#ifdef STAND_IN_STREAM_K
  bool streamk = false;
  ReductionStrategy reduction_strategy = ReductionStrategy::None;
#endif

  Problem() = default;
  Problem(std::int64_t m, std::int64_t n, std::int64_t k) : M(m), N(n), K(k) {}
  [[nodiscard]] bool is_valid() const { return M > 0 && N > 0 && K > 0 && k_batch > 0; }
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
    struct TileShape {
      std::uint16_t m, n, k;
    } tile_shape;
    struct WaveShape {
      std::uint8_t m, n, k;
    } wave_shape;
    struct WarpTileShape {
      std::uint8_t m, n, k;
    } warp_tile_shape;
    Pipeline pipeline;
    Scheduler scheduler;
    Epilogue epilogue;
    std::uint16_t block_size;
    bool double_buffer, persistent, preshuffle, transpose_c;
    std::uint8_t num_wave_groups;
#ifdef STAND_IN_STREAM_K
    std::uint8_t vector_size_a = 0, vector_size_b = 0, vector_size_c = 0;
#endif
    bool pad_m = true, pad_n = true, pad_k = true;
#ifdef STAND_IN_STREAM_K
    bool streamk = false;
    ReductionStrategy reduction_strategy = ReductionStrategy::None;
    bool workspace = false;
#endif
  } algorithm;
  std::string gfx_arch;

  /// The key of the registry. Not the whole key: types of B and C, for example, are left out.
  [[nodiscard]] std::string encode_identifier() const {
    const Signature& types = signature;
    const Algorithm& how = algorithm;
    std::string text = to_string(types.dtype_a) + '_' + to_string(types.layout_a) + to_string(types.layout_b) +
                       to_string(types.layout_c) + '_' + to_string(how.pipeline) + '_' + to_string(how.epilogue) + '_' +
                       to_string(how.scheduler);
    for (const bool flag : {how.pad_m, how.pad_n, how.pad_k, how.persistent}) text += flag ? "_True" : "_False";
    const auto add = [&text](char before, int value) { text += before + std::to_string(value); };
    add('_', how.tile_shape.m), add('x', how.tile_shape.n), add('x', how.tile_shape.k);
    add('_', how.wave_shape.m), add('x', how.wave_shape.n), add('x', how.wave_shape.k);
    add('_', how.warp_tile_shape.m), add('x', how.warp_tile_shape.n), add('x', how.warp_tile_shape.k);
#ifdef STAND_IN_STREAM_K
    if (how.vector_size_a + how.vector_size_b + how.vector_size_c > 0) {
      text += "_vec" + std::to_string(how.vector_size_a);
      add('_', how.vector_size_b), add('_', how.vector_size_c);
    }
#endif
    if (types.split_k > 1) text += "_splitk" + std::to_string(types.split_k);
    if (!types.elementwise_op.empty() && types.elementwise_op != "PassThrough") text += '_' + types.elementwise_op;
    if (types.num_d_tensors > 0) text += "_d" + std::to_string(types.num_d_tensors);
    if (types.structured_sparsity) text += "_sparse";
    if (how.preshuffle) text += "_preshuffle";
#ifdef STAND_IN_STREAM_K
    if (how.streamk) {
      const bool is_named =
          how.reduction_strategy == ReductionStrategy::Linear || how.reduction_strategy == ReductionStrategy::Tree;
      text += is_named ? std::string("_streamk_") + to_string(how.reduction_strategy) : "_streamk";
    }
#endif
    return text;
  }
};

class KernelInstance {
 public:
  virtual ~KernelInstance() = default;
  [[nodiscard]] virtual const KernelKey& get_key() const = 0;
  [[nodiscard]] virtual bool supports(const Problem& problem) const = 0;
  [[nodiscard]] virtual std::string get_name() const = 0;
  [[nodiscard]] virtual float run(const void* a, const void* b, void* c, const void** d, const Problem& problem,
                                  void* stream = nullptr) const = 0;
#ifdef STAND_IN_STREAM_K
  [[nodiscard]] virtual std::size_t get_workspace_size(const Problem& /*problem*/) const { return 0; }
  [[nodiscard]] virtual float run(const void* a, const void* b, void* c, const void** d, void* /*workspace*/,
                                  const Problem& problem, void* stream = nullptr) const {
    return run(a, b, c, d, problem, stream);
  }
#endif
  [[nodiscard]] virtual bool validate(const void* a, const void* b, const void* c, const void** d,
                                      const Problem& problem, float tolerance = 1e-3F) const = 0;
};
using KernelInstancePtr = std::shared_ptr<KernelInstance>;

class Registry : public BaseRegistry<Registry, std::string, KernelInstance> {
 public:
  static Registry& instance() {
    static Registry registry;
    return registry;
  }

  bool register_kernel(KernelInstancePtr instance, Priority priority = Priority::Normal) {
    if (!instance) return false;
    const std::string identifier = instance->get_key().encode_identifier();
    return BaseRegistry::register_kernel(identifier, std::move(instance), priority);
  }

  [[nodiscard]] KernelInstancePtr lookup(const std::string& identifier) const {
    const std::lock_guard<std::mutex> lock(mutex());
    const auto found = entries().find(identifier);
    return found == entries().end() ? nullptr : found->second.instance;
  }
  [[nodiscard]] KernelInstancePtr lookup(const KernelKey& key) const { return lookup(key.encode_identifier()); }

  [[nodiscard]] std::vector<KernelInstancePtr> get_all() const { return get_all_instances(); }
};

using HeuristicFunction = std::function<std::vector<std::string>(const Problem&)>;

class Dispatcher {
 public:
  enum class SelectionStrategy { FirstFit, Heuristic };

  explicit Dispatcher(Registry* registry = nullptr)
      : registry_(registry != nullptr ? registry : &Registry::instance()) {}

  /// Switches to it, other than for convolutions.
  void set_heuristic(HeuristicFunction heuristic) {
    heuristic_ = std::move(heuristic);
    if (heuristic_) strategy_ = SelectionStrategy::Heuristic;
  }
  void set_strategy(SelectionStrategy strategy) { strategy_ = strategy; }

  /// Identifiers are looked up exactly; else the first of the hash table that fits, whatever its priority.
  [[nodiscard]] KernelInstancePtr select_kernel(const Problem& problem) const {
    if (!problem.is_valid()) return nullptr;
    if (strategy_ == SelectionStrategy::Heuristic && heuristic_) {
      for (const auto& identifier : heuristic_(problem)) {
        const auto kernel = registry_->lookup(identifier);
        if (kernel && kernel->supports(problem)) return kernel;
      }
    }
    for (const auto& kernel : registry_->get_all()) {
      if (kernel->supports(problem)) return kernel;
    }
    return nullptr;
  }

 private:
  Registry* registry_;
  HeuristicFunction heuristic_;
  SelectionStrategy strategy_ = SelectionStrategy::FirstFit;
};

}  // namespace dispatcher
}  // namespace ck_tile

#endif  // CK_SELECT_STAND_IN_GEMM_HPP
