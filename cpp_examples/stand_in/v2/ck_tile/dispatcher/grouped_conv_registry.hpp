// Stand-in for generation V2: keys say more, and instances may be asked what they support.

#ifndef CK_SELECT_STAND_IN_V2_HPP
#define CK_SELECT_STAND_IN_V2_HPP

#include <tuple>

#include "../../../conv_with_buffers.hpp"

namespace ck_tile {
namespace dispatcher {

/// Where run() puts what kernels read.
struct ConvDispatchBuffers {
  const void* input_ptr = nullptr;
  const void* weight_ptr = nullptr;
  void* output_ptr = nullptr;
  int warmup = 3;
  int repeat = 10;
  bool benchmarking = true;
  bool flush_cache = false;
  int split_k = 1;
};
inline thread_local ConvDispatchBuffers g_conv_dispatch_buffers;

/// Every field identifies.
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

  [[nodiscard]] auto fields() const {
    return std::tie(dtype_in, dtype_wei, dtype_out, layout, ndim_spatial, op, tile_m, tile_n, tile_k, wave_m, wave_n,
                    wave_k, warp_m, warp_n, warp_k, pipeline, scheduler, epilogue, vector_size_a, vector_size_b,
                    vector_size_c, block_per_cu, num_wave_groups, num_groups_to_merge, arch, specialization,
                    large_tensor, streamk_enabled, streamk_reduction, streamk_persistent);
  }
  bool operator==(const GroupedConvKernelKey& other) const { return fields() == other.fields(); }
};

class GroupedConvKernelInstance {
 public:
  using RunFn = std::function<float(const GroupedConvProblem&, void*)>;
  using IsSupportedFn = std::function<bool(const GroupedConvProblem&)>;

  GroupedConvKernelInstance(const GroupedConvKernelKey& key, const std::string& name, RunFn run,
                            IsSupportedFn supported = nullptr, const std::string& instance_string = "")
      : key_(key),
        name_(name),
        run_(std::move(run)),
        supported_(std::move(supported)),
        instance_string_(instance_string) {}

  [[nodiscard]] const GroupedConvKernelKey& key() const { return key_; }
  [[nodiscard]] const std::string& name(bool use_instance_string = false) const {
    return use_instance_string && !instance_string_.empty() ? instance_string_ : name_;
  }
  [[nodiscard]] bool is_supported(const GroupedConvProblem& problem) const {
    return !supported_ || supported_(problem);
  }
  /// The operation alone.
  [[nodiscard]] bool matches(const GroupedConvProblem& problem) const { return problem.op == key_.op; }
  float run(const GroupedConvProblem& problem, void* stream = nullptr) const { return run_(problem, stream); }

 private:
  GroupedConvKernelKey key_;
  std::string name_;
  RunFn run_;
  IsSupportedFn supported_;
  std::string instance_string_;
};

}  // namespace dispatcher
}  // namespace ck_tile

#define STAND_IN_CONV_DISPATCHER
#include "../../../conv_with_buffers.hpp"

#endif  // CK_SELECT_STAND_IN_V2_HPP
