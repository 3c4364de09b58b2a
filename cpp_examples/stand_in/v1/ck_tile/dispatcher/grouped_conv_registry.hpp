// Stand-in for generation V1: keys without specialization, large tensors and Stream-K; nobody is asked what it
// supports.

#ifndef CK_SELECT_STAND_IN_V1_HPP
#define CK_SELECT_STAND_IN_V1_HPP

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
  std::string arch = "gfx942";

  [[nodiscard]] auto fields() const {
    return std::tie(dtype_in, dtype_wei, dtype_out, layout, ndim_spatial, op, tile_m, tile_n, tile_k, wave_m, wave_n,
                    wave_k, warp_m, warp_n, warp_k, pipeline, scheduler, epilogue, vector_size_a, vector_size_b,
                    vector_size_c, block_per_cu, num_wave_groups, num_groups_to_merge, arch);
  }
  bool operator==(const GroupedConvKernelKey& other) const { return fields() == other.fields(); }
};

class GroupedConvKernelInstance {
 public:
  using RunFn = std::function<float(const GroupedConvProblem&, void*)>;

  GroupedConvKernelInstance(const GroupedConvKernelKey& key, const std::string& name, RunFn run)
      : key_(key), name_(name), run_(std::move(run)) {}

  [[nodiscard]] const GroupedConvKernelKey& key() const { return key_; }
  [[nodiscard]] const std::string& name() const { return name_; }
  /// The operation alone.
  [[nodiscard]] bool matches(const GroupedConvProblem& problem) const { return problem.op == key_.op; }
  float run(const GroupedConvProblem& problem, void* stream = nullptr) const { return run_(problem, stream); }

 private:
  GroupedConvKernelKey key_;
  std::string name_;
  RunFn run_;
};

}  // namespace dispatcher
}  // namespace ck_tile

#define STAND_IN_CONV_DISPATCHER
#include "../../../conv_with_buffers.hpp"

#endif  // CK_SELECT_STAND_IN_V1_HPP
