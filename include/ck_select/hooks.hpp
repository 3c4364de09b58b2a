/* What belongs to a kernel besides its description: callables, user data, priority. */

#ifndef CK_SELECT_HOOKS_HPP
#define CK_SELECT_HOOKS_HPP

#include <cstdint>
#include <functional>
#include <iterator>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_set>
#include <utility>

#include "kernel.hpp"

namespace ck_select {

/// Callables, user data and priority of a kernel. Callables run on any thread, several at a time, and live as long as
/// the registry. One that throws counts as "no".
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

/// The C registry's user pointer of a kernel: its callables and the owner's pointer.
class Callables {
 public:
  explicit Callables(Hooks hooks) : hooks_(std::move(hooks)) {}

  [[nodiscard]] ck_kernel_hooks capi() noexcept {
    auto made = sized<ck_kernel_hooks>();
    made.user = this;
    made.priority = hooks_.priority;
    made.supports_conv = hooks_.supports_conv ? &supports_conv : nullptr;
    made.supports_gemm = hooks_.supports_gemm ? &supports_gemm : nullptr;
    made.run_conv = hooks_.run_conv ? &run_conv : nullptr;
    made.run_gemm = hooks_.run_gemm ? &run_gemm : nullptr;
    made.supports_fmha = hooks_.supports_fmha ? &supports_fmha : nullptr;
    made.run_fmha = hooks_.run_fmha ? &run_fmha : nullptr;
    return made;
  }

  [[nodiscard]] static void* user(void* callables) noexcept {
    return callables == nullptr ? nullptr : static_cast<Callables*>(callables)->hooks_.user;
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

/// Owns the callables of a registry.
struct Keep {
  /// Keeps the callables of added kernels; those of kernels that could not be added are dropped.
  void take(std::list<Callables>& added) noexcept {
    const std::lock_guard<std::mutex> lock(mutex);
    callables.splice(callables.end(), added);
  }

  /// Drops callables that no kernel uses.
  void retain(const std::unordered_set<const void*>& used) {
    const std::lock_guard<std::mutex> lock(mutex);
    const auto is_unused = [&used](const auto& owned) { return used.count(&owned) == 0; };
    callables.remove_if(is_unused);
    for (auto at = plain.begin(); at != plain.end();)
      at = used.count(at->second.get()) == 0 ? plain.erase(at) : std::next(at);
  }

  /// For hooks without callables: always the same object, so that the library recognises a kernel that is added again.
  Callables& without_callables(const Hooks& hooks) {
    const std::lock_guard<std::mutex> lock(mutex);
    auto& kept = plain[{hooks.user, hooks.priority}];
    if (!kept) kept = std::make_unique<Callables>(hooks);
    return *kept;
  }

  std::mutex mutex;
  std::list<Callables> callables;
  std::map<std::pair<void*, std::int32_t>, std::unique_ptr<Callables>> plain;
};

}  // namespace detail

}  // namespace ck_select

#endif  // CK_SELECT_HOOKS_HPP
