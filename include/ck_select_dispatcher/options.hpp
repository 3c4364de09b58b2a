/* How a selector works, and what it hands out. */

#ifndef CK_SELECT_DISPATCHER_OPTIONS_HPP
#define CK_SELECT_DISPATCHER_OPTIONS_HPP

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "../ck_select.hpp"

namespace ck_select {

/// When a selector checks whether the registry has changed. CK's registries do not count changes, so a check compares.
enum class Follow {
  /// On every call by the number of kernels and by a few of them, others on each call: tens of nanoseconds for any
  /// number. A kernel that was replaced by another with the same key, or removed while another was added, may run until
  /// its turn, for as many calls as a quarter of the buckets of CK's table; the selector holds it, so this is safe.
  in_turn,
  /// On every call, instance by instance, under the registry's lock and without allocating: well below a microsecond
  /// for 30 kernels, proportional to their number. Exact, because the selector holds what it has seen, so no address is
  /// reused.
  every_call,
  /// On every call, only by the number of kernels. Misses a kernel that was replaced by another with the same key, and
  /// a removal together with an addition.
  size,
  /// Only when refresh() is called.
  told,
};

/// Where the operands of a convolution are on the device, in CK's order: input, weight, output of the operation. The
/// gradient of the input is the output of Op::BackwardData and dY its input; the gradient of the weight is the output
/// of Op::BackwardWeight and dY its weight.
struct ConvBuffers {
  const void* input = nullptr;
  const void* weight = nullptr;
  void* output = nullptr;
  /// Whether the kernel times itself; it then runs `warmup` and `repeat` times, otherwise once.
  bool benchmarking = false;
  int warmup = 0;
  int repeat = 1;
};

/// Where a GEMM's operands are on the device.
struct GemmOperands {
  const void* a = nullptr;
  const void* b = nullptr;
  void* c = nullptr;
  /// Additional tensors that fused kernels read; null for none.
  const void** d = nullptr;
  /// For Stream-K kernels that reduce in memory: zeros, as many bytes as the kernel's get_workspace_size returns. Null:
  /// the kernel allocates its own.
  void* workspace = nullptr;
};

/// A kernel of the registry that cannot be chosen.
struct Skipped {
  std::string name;
  std::string reason;
};

/// A kernel whose name contradicts its key.
struct Contradiction {
  std::string name;
  /// What disagrees, such as "pipeline: name comp_async, key compv3". The name takes precedence.
  std::string text;
};

/// Device memory for the operands of a search. Empty functions are replaced by HIP's, from the runtime that the program
/// has loaded.
struct DeviceMemory {
  /// Returns null if there is not enough memory.
  std::function<void*(std::size_t bytes)> allocate;
  std::function<void(void*)> release;
  /// Copies from the host to the device, and returns when done; false if it failed.
  std::function<bool(void* to, const void* from, std::size_t bytes)> copy;
};

/// How a selector works. What a problem states takes precedence over these options.
struct SelectorOptions {
  /// Options of the library's registry: mode, override file, environment, architecture.
  Options registry;
  /// Model directories, or "embedded:NAME" for built-in models.
  std::vector<std::string> models;
  /// The type of all operands (GEMM: of A and B) if problems name none; empty for that of the registered kernels, if
  /// they have only one.
  std::string dtype;
  /// The layout if problems name none, such as "nhwgc" or "rcr", spelled exactly as in the kernels' keys; empty as
  /// above.
  std::string layout;
  /// The architecture if problems name none, as in the kernels' keys or as HIP reports it; empty for any.
  std::string arch;
  /// The number of dimensions if convolutions do not state it, 1 to 3. 0 for 3 if the depth is used; 1 if neither depth
  /// nor height is and kernels of one dimension are registered; else 2.
  int ndim_spatial = 0;
  Follow follow = Follow::in_turn;
  /// The largest number of names that a heuristic returns. The dispatcher takes the first one that it can run, so few
  /// are enough.
  std::size_t heuristic_limit = 8;
  /// The convolution dispatcher compares whole names, as it does with docs/ck-exact-names.sed: a heuristic's names then
  /// select exactly the kernels that they name, and are ordered by those alone.
  bool exact_names = false;
  /// Whether selections may run kernels to measure them (Mode::search, Mode::refine, `registry.search`): on their own
  /// operands, with random values, which are allocated for the search of a problem and released after it. CK's buffers
  /// or invocation context are set for each run and restored afterwards. CK's kernels time themselves, so
  /// `registry.warmup` 1 and `registry.repeats` 3 are enough; one that returns 0 ms, as the stubs of register_set do,
  /// is not measured.
  bool run_convolutions = false;
  bool run_gemms = false;
  /// The same for an FmhaRunner, on the operands of the invocation, which selectors do not have: each kernel that is
  /// measured writes its results. Kernels that append keys or go backward are never measured, because they add to what
  /// is there.
  bool run_attention = false;
  /// The device to measure on, for generations whose kernels need its number; less than 0 for the current one.
  int device = -1;
  /// How the operands of searches are allocated and filled; empty for HIP.
  DeviceMemory memory;
  /// The operands of an M x N x K GEMM, instead of a search's own; kernels may then be run without run_gemms.
  std::function<GemmOperands(std::int64_t m, std::int64_t n, std::int64_t k)> gemm_operands;
  /// The priority of a kernel, by name, instead of the one with which it was registered.
  std::function<int(const std::string&)> priority;
  /// Called for each kernel that cannot be chosen, when it is first seen.
  std::function<void(const Skipped&)> on_skipped;
};

/// A kernel, and why.
template <class Instance>
struct Solution {
  /// Null unless the status is ok. Shared: it stays valid if the registry drops the kernel.
  std::shared_ptr<const Instance> instance;
  Selection selection;
  Status status = Status::no_kernel;
  /// Without an instance: what is known besides the status, such as the architectures of the registered kernels, or the
  /// message of the first `is_supported` that threw; may be empty.
  std::string reason;
};

namespace detail {

/// Logs why there is no answer, or only a worse one. Errors go to standard error unless the log has another
/// destination.
inline void log_line(std::int32_t level, const std::string& text) noexcept {
  (void)ck_log(level, "dispatcher", text.c_str());
}

}  // namespace detail
}  // namespace ck_select

#endif  // CK_SELECT_DISPATCHER_OPTIONS_HPP
