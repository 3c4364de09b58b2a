/* How a selector works, and what it hands out. */

#ifndef CK_SELECT_DISPATCHER_OPTIONS_HPP
#define CK_SELECT_DISPATCHER_OPTIONS_HPP

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "../ck_select.hpp"

namespace ck_select {

/// When a selector looks whether the registry has changed. CK's registries count no changes, so that looking means
/// comparing.
enum class Follow {
  /// On every call, instance by instance, inside the registry's lock and without allocating: well below a microsecond for
  /// 30 kernels, in proportion to their number. Exact, because the selector holds what it has seen, so that no address
  /// comes twice.
  every_call,
  /// On every call by the number of kernels, and instance by instance on the first and then every 256th call of a state. A kernel
  /// that was replaced by another with the same key, or removed while another was added, may run that much longer: it is held, so that it can.
  often,
  /// On every call, by the number of kernels alone. Misses a kernel that was replaced by another with the same key, and a
  /// removal together with an addition.
  size,
  /// Only when refresh() is called.
  told,
};

/// Where the operands of a convolution are on the device, in CK's order: input, weight, output of the operation. The gradient of the
/// input is the output of Op::BackwardData and dY its input; the gradient of the weight is the output of Op::BackwardWeight and dY its weight.
struct ConvBuffers {
  const void* input = nullptr;
  const void* weight = nullptr;
  void* output = nullptr;
  /// Whether the kernel times itself; it then runs `warmup` and `repeat` times, else once.
  bool benchmarking = false;
  int warmup = 0;
  int repeat = 1;
};

/// Where a GEMM's operands are on the device.
struct GemmOperands {
  const void* a = nullptr;
  const void* b = nullptr;
  void* c = nullptr;
  /// What fused kernels read beside them; null for none.
  const void** d = nullptr;
  /// For Stream-K kernels that reduce in memory: zeros, as many bytes as the kernel's get_workspace_size says. Null: the kernel
  /// brings its own.
  void* workspace = nullptr;
};

/// A kernel of the registry that cannot be chosen.
struct Skipped {
  std::string name;
  std::string reason;
};

/// A kernel whose name says something else than its key.
struct Contradiction {
  std::string name;
  /// What disagrees, such as "pipeline: name comp_async, key compv3". The name was believed.
  std::string text;
};

/// Memory of the device for the operands of a search. What is empty is done through HIP, which the program has loaded.
struct DeviceMemory {
  /// Null when there is not so much.
  std::function<void*(std::size_t bytes)> allocate;
  std::function<void(void*)> release;
  /// Copies from the host to the device, and returns when it is done; false when it failed.
  std::function<bool(void* to, const void* from, std::size_t bytes)> copy;
};

/// How a selector works. What a problem says itself goes before what is said here.
struct SelectorOptions {
  /// Of the library's registry: mode, override file, environment, architecture.
  Options registry;
  /// Model directories, or "embedded:NAME" for those that are built into the library.
  std::vector<std::string> models;
  /// The type of all operands (GEMM: of A and B) when problems name none; empty for that of the registered kernels, if
  /// they have but one.
  std::string dtype;
  /// The layout when problems name none, such as "nhwgc" or "rcr", letter by letter as the kernels' keys have it; empty as above.
  std::string layout;
  /// The architecture when problems name none, as the kernels' keys have it; empty for any.
  std::string arch;
  /// The number of dimensions when convolutions do not say: 2 or 3; 0 for 3 when the depth is used, else 2.
  int ndim_spatial = 0;
  /// Unset: Follow::every_call of a selector, and Follow::often of a runner, which is for the hot path.
  std::optional<Follow> follow;
  /// The most names that a heuristic answers. The dispatcher takes the first that it can, so few are enough.
  std::size_t heuristic_limit = 8;
  /// The convolution dispatcher compares whole names, as it does with docs/ck-exact-names.sed: a heuristic's names then lead to the kernels
  /// that they name, and are ordered by them alone.
  bool exact_names = false;
  /// Whether selections may run kernels to measure them (Mode::search, Mode::refine, `registry.search`): on operands of their own,
  /// with random values, which are allocated for the search of a problem and released after it. CK's buffers or invocation context are set
  /// around each run, and afterwards are what they were. CK's kernels time themselves, so `registry.warmup` 1 and
  /// `registry.repeats` 3 will do; one that answers 0 ms, as the stubs of register_set do, is not measured.
  bool run_convolutions = false;
  bool run_gemms = false;
  /// The device to measure on, for generations whose kernels want its number; less than 0 for the current one.
  int device = -1;
  /// Where the operands of searches are allocated, and with what; empty for HIP.
  DeviceMemory memory;
  /// The operands of a GEMM of M x N x K, instead of a search's own; kernels may then be run without run_gemms.
  std::function<GemmOperands(std::int64_t m, std::int64_t n, std::int64_t k)> gemm_operands;
  /// The priority of a kernel, by name, instead of the one that it was registered with.
  std::function<int(const std::string&)> priority;
  /// Called for each kernel that cannot be chosen, when it is first seen.
  std::function<void(const Skipped&)> on_skipped;
};

/// A kernel, and why.
template <class Instance>
struct Solution {
  /// Null unless the status is ok. Shared: it stays good when the registry drops the kernel.
  std::shared_ptr<const Instance> instance;
  Selection selection;
  Status status = Status::no_kernel;
};

namespace detail {

/// Says in the log why there is no answer, or only a worse one. Errors reach standard error unless the log goes elsewhere.
inline void log_line(std::int32_t level, const std::string& text) noexcept {
  (void)ck_log(level, "dispatcher", text.c_str());
}

}  // namespace detail
}  // namespace ck_select

#endif  // CK_SELECT_DISPATCHER_OPTIONS_HPP
