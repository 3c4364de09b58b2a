/* What belongs to a kernel besides its description: callables, user data, priority. */

#ifndef CK_SELECT_HOOKS_HPP
#define CK_SELECT_HOOKS_HPP

#include <cstdint>
#include <functional>
#include <memory>
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
  std::function<bool(const ck_conv_problem&)> supports_conv;
  std::function<bool(const ck_gemm_problem&)> supports_gemm;
  std::function<bool(const ck_fmha_problem&)> supports_fmha;
  /// Run the problem once, with all work on the stream. They return the milliseconds by their own timing; 0 if the
  /// kernel was only launched, so that events time it; less than 0 if it could not be run. One that throws could not
  /// run.
  std::function<float(const ck_conv_problem&, void* stream)> run_conv;
  std::function<float(const ck_gemm_problem&, void* stream)> run_gemm;
  std::function<float(const ck_fmha_problem&, void* stream)> run_fmha;
};

struct NewKernel {
  std::string name;
  Hooks hooks;
};

struct NewConvKernel {
  ConvKernel kernel;
  Hooks hooks;
};

struct NewGemmKernel {
  GemmKernel kernel;
  Hooks hooks;
};

struct NewFmhaKernel {
  FmhaKernel kernel;
  Hooks hooks;
};

namespace detail {

/// What the C registry's callbacks of a kernel receive.
class Callables {
 public:
  explicit Callables(Hooks hooks) : hooks_(std::move(hooks)) {}

  [[nodiscard]] ck_kernel_hooks capi() noexcept {
    auto made = sized<ck_kernel_hooks>();
    made.user = hooks_.user;
    made.context = this;
    made.release = [](void* callables) { delete static_cast<Callables*>(callables); };
    made.priority = hooks_.priority;
    made.supports_conv = hooks_.supports_conv ? &supports_conv : nullptr;
    made.supports_gemm = hooks_.supports_gemm ? &supports_gemm : nullptr;
    made.run_conv = hooks_.run_conv ? &run_conv : nullptr;
    made.run_gemm = hooks_.run_gemm ? &run_gemm : nullptr;
    made.supports_fmha = hooks_.supports_fmha ? &supports_fmha : nullptr;
    made.run_fmha = hooks_.run_fmha ? &run_fmha : nullptr;
    return made;
  }

 private:
  // No exception may reach the library.
  static std::int32_t supports_conv(const ck_conv_problem* problem, void* user) noexcept {
    try {
      return static_cast<Callables*>(user)->hooks_.supports_conv(*problem) ? 1 : 0;
    } catch (...) {
      return 0;
    }
  }
  static std::int32_t supports_gemm(const ck_gemm_problem* problem, void* user) noexcept {
    try {
      return static_cast<Callables*>(user)->hooks_.supports_gemm(*problem) ? 1 : 0;
    } catch (...) {
      return 0;
    }
  }
  static std::int32_t supports_fmha(const ck_fmha_problem* problem, void* user) noexcept {
    try {
      return static_cast<Callables*>(user)->hooks_.supports_fmha(*problem) ? 1 : 0;
    } catch (...) {
      return 0;
    }
  }
  static float run_fmha(const ck_fmha_problem* problem, void* stream, void* user) noexcept {
    try {
      return static_cast<Callables*>(user)->hooks_.run_fmha(*problem, stream);
    } catch (...) {
      return -1;
    }
  }
  static float run_conv(const ck_conv_problem* problem, void* stream, void* user) noexcept {
    try {
      return static_cast<Callables*>(user)->hooks_.run_conv(*problem, stream);
    } catch (...) {
      return -1;
    }
  }
  static float run_gemm(const ck_gemm_problem* problem, void* stream, void* user) noexcept {
    try {
      return static_cast<Callables*>(user)->hooks_.run_gemm(*problem, stream);
    } catch (...) {
      return -1;
    }
  }

  Hooks hooks_;
};

/// The callables of kernels that are being added.
using Added = std::vector<std::unique_ptr<Callables>>;

/// Leaves them to the library, which has added the kernels.
inline void hand_over(Added& added) noexcept {
  for (auto& callables : added) (void)callables.release();
}

}  // namespace detail

}  // namespace ck_select

#endif  // CK_SELECT_HOOKS_HPP
