/* What belongs to a kernel besides its description: callables, user data, priority. */

#ifndef CK_SELECT_HOOKS_HPP
#define CK_SELECT_HOOKS_HPP

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "kernel.hpp"

namespace ck_select {

/// Callables, user data and priority of a kernel. Callables run on any thread, several at a time. They are destroyed on
/// any thread once the kernel is removed or replaced and no call uses them, or with the registry, which they must not use
/// then. One that throws counts as "no".
struct Hooks {
  int priority = 1;
  void* user = nullptr;
  // Made by tests/header/main.rs: supports.
  std::function<bool(const ck_gemm_problem&)> supports_gemm;
  std::function<bool(const ck_conv_problem&)> supports_conv;
  std::function<bool(const ck_fmha_problem&)> supports_fmha;
  std::function<bool(const ck_moe_problem&)> supports_moe;
  // End of what is made.
  /// Run the problem once, with all work on the stream. They return the milliseconds by their own timing; 0 if the
  /// kernel was only launched, so that events time it; less than 0 if it could not be run. One that throws could not
  /// run.
  // Made by tests/header/main.rs: run.
  std::function<float(const ck_gemm_problem&, void* stream)> run_gemm;
  std::function<float(const ck_conv_problem&, void* stream)> run_conv;
  std::function<float(const ck_fmha_problem&, void* stream)> run_fmha;
  std::function<float(const ck_moe_problem&, void* stream)> run_moe;
  // End of what is made.
};

struct NewKernel {
  std::string name;
  Hooks hooks;
};

/// The same of a ConvKernel, a GemmKernel or an FmhaKernel.
template <class Kernel>
struct NewDescribed {
  Kernel kernel;
  Hooks hooks;
};

namespace detail {

/// What the C registry's callbacks of a kernel receive.
class Callables {
 public:
  Callables(Hooks hooks, Callables* before) : hooks_(std::move(hooks)), before_(before) {}

  [[nodiscard]] ck_kernel_hooks capi() noexcept {
    auto made = sized<ck_kernel_hooks>();
    made.user = hooks_.user;
    made.context = this;
    made.release = [](void* callables) { delete static_cast<Callables*>(callables); };
    made.priority = hooks_.priority;
    // Made by tests/header/main.rs: callables.
    made.supports_gemm = hooks_.supports_gemm ? &supports<&Hooks::supports_gemm, ck_gemm_problem> : nullptr;
    made.supports_conv = hooks_.supports_conv ? &supports<&Hooks::supports_conv, ck_conv_problem> : nullptr;
    made.supports_fmha = hooks_.supports_fmha ? &supports<&Hooks::supports_fmha, ck_fmha_problem> : nullptr;
    made.supports_moe = hooks_.supports_moe ? &supports<&Hooks::supports_moe, ck_moe_problem> : nullptr;
    made.run_gemm = hooks_.run_gemm ? &run<&Hooks::run_gemm, ck_gemm_problem> : nullptr;
    made.run_conv = hooks_.run_conv ? &run<&Hooks::run_conv, ck_conv_problem> : nullptr;
    made.run_fmha = hooks_.run_fmha ? &run<&Hooks::run_fmha, ck_fmha_problem> : nullptr;
    made.run_moe = hooks_.run_moe ? &run<&Hooks::run_moe, ck_moe_problem> : nullptr;
    // End of what is made.
    return made;
  }

 private:
  // No exception may reach the library.
  template <auto Callable, class Problem>
  static std::int32_t supports(const Problem* problem, void* user) noexcept {
    try {
      return (static_cast<Callables*>(user)->hooks_.*Callable)(*problem) ? 1 : 0;
    } catch (...) {
      return 0;
    }
  }
  template <auto Callable, class Problem>
  static float run(const Problem* problem, void* stream, void* user) noexcept {
    try {
      return (static_cast<Callables*>(user)->hooks_.*Callable)(*problem, stream);
    } catch (...) {
      return -1;
    }
  }

  friend class Added;
  Hooks hooks_;
  Callables* before_;
};

/// The callables of kernels that are being added. They are deleted, unless the library has added the kernels.
class Added {
 public:
  Added() = default;
  Added(const Added&) = delete;
  Added& operator=(const Added&) = delete;
  ~Added() {
    while (last_ != nullptr) delete std::exchange(last_, last_->before_);
  }

  [[nodiscard]] ck_kernel_hooks add(Hooks hooks) {
    last_ = new Callables(std::move(hooks), last_);
    return last_->capi();
  }

  /// Leaves them to the library.
  void hand_over() noexcept { last_ = nullptr; }

 private:
  Callables* last_ = nullptr;
};

}  // namespace detail

}  // namespace ck_select

#endif  // CK_SELECT_HOOKS_HPP
