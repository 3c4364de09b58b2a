/* What CK's headers have outside of their classes: the global buffers of the older generations, the invocation context
 * of the newest, and NoKernelFound. No argument leads to them, so they must be declared before this header is read: it
 * includes CK's own header, when the compiler finds it.
 */

#ifndef CK_SELECT_DISPATCHER_CK_TILE_HPP
#define CK_SELECT_DISPATCHER_CK_TILE_HPP

#if __has_include(<ck_tile/dispatcher/grouped_conv_registry.hpp>)
#include <ck_tile/dispatcher/grouped_conv_registry.hpp>
#endif
#if __has_include(<ck_tile/dispatcher/dispatcher_error.hpp>)
#include <ck_tile/dispatcher/dispatcher_error.hpp>
#endif

#include <functional>
#include <string>
#include <type_traits>
#include <utility>

#include "../ck_select.hpp"

namespace ck_select::detail::not_in_ck {

struct Absent {};

// Found if CK has none: a using directive makes them visible further out than CK's namespace.
inline Absent g_conv_dispatch_buffers{};
inline Absent mutable_conv_invocation_context() noexcept { return {}; }
class NoKernelFound : public Error {
 public:
  explicit NoKernelFound(const std::string& message) : Error(Status::no_kernel, message) {}
};

}  // namespace ck_select::detail::not_in_ck

namespace ck_tile::dispatcher::ck_select_access {

using namespace ::ck_select::detail::not_in_ck;

[[nodiscard]] inline auto& buffers() noexcept { return g_conv_dispatch_buffers; }
[[nodiscard]] inline decltype(auto) context() noexcept { return mutable_conv_invocation_context(); }
using NoKernel = NoKernelFound;

}  // namespace ck_tile::dispatcher::ck_select_access

namespace ck_select::detail {

using CkBuffers = std::decay_t<decltype(ck_tile::dispatcher::ck_select_access::buffers())>;
using CkContext = std::decay_t<decltype(ck_tile::dispatcher::ck_select_access::context())>;
using CkNoKernelFound = ck_tile::dispatcher::ck_select_access::NoKernel;

template <class Type>
inline constexpr bool in_ck = !std::is_same_v<Type, not_in_ck::Absent>;

/// CK's buffers of this thread. The type is a parameter, so that this compiles where CK has none.
template <class Buffers>
[[nodiscard]] Buffers& ck_buffers() noexcept {
  return ck_tile::dispatcher::ck_select_access::buffers();
}
template <class Context>
[[nodiscard]] Context& ck_context() noexcept {
  return ck_tile::dispatcher::ck_select_access::context();
}

/// The arguments of one run of a convolution.
struct Invocation {
  const void* input = nullptr;
  const void* weight = nullptr;
  void* output = nullptr;
  int device = 0;
  int split_k = 1;
  bool benchmarking = false;
  int warmup = 0;
  int repeat = 1;
};

/// Sets what CK's generated kernels read on this thread, and restores the previous values.
template <class Buffers = CkBuffers, class Context = CkContext>
class InvocationScope {
 public:
  explicit InvocationScope(const Invocation& now, std::function<std::string(int)> arch_provider = {}) {
    static_assert(
        in_ck<Buffers> || in_ck<Context>,
        "include CK's grouped_conv_registry.hpp before ck_select_dispatcher.hpp, or put it where the compiler looks "
        "for <ck_tile/dispatcher/grouped_conv_registry.hpp>: its buffers are not declared here");
    if constexpr (in_ck<Buffers>) {
      Buffers& buffers = ck_buffers<Buffers>();
      buffers_ = buffers;
      buffers.input_ptr = now.input;
      buffers.weight_ptr = now.weight;
      buffers.output_ptr = now.output;
      buffers.warmup = now.warmup;
      buffers.repeat = now.repeat;
      buffers.benchmarking = now.benchmarking;
      buffers.split_k = now.split_k;
    }
    if constexpr (in_ck<Context>) {
      Context& context = ck_context<Context>();
      context_ = std::exchange(context, Context());
      context.input_ptr = now.input;
      context.weight_ptr = now.weight;
      context.output_ptr = now.output;
      context.device_ordinal = now.device;
      context.k_batch = now.split_k;
      context.arch_provider = std::move(arch_provider);
      context.benchmarking = now.benchmarking;
      context.warmup = now.warmup;
      context.repeat = now.repeat;
    }
  }

  ~InvocationScope() {
    if constexpr (in_ck<Buffers>) ck_buffers<Buffers>() = buffers_;
    if constexpr (in_ck<Context>) ck_context<Context>() = std::move(context_);
  }

  InvocationScope(const InvocationScope&) = delete;
  InvocationScope& operator=(const InvocationScope&) = delete;

 private:
  Buffers buffers_;
  Context context_;
};

/// Sets the number of parts into which the reduction is split while kernels are asked what they support: CK's
/// predicates for the gradient of the weight read it from where run() stores it, but CK calls them before that.
template <class Buffers = CkBuffers, class Context = CkContext>
class SplitScope {
 public:
  explicit SplitScope(int split_k) noexcept {
    if constexpr (in_ck<Buffers>) before_ = std::exchange(ck_buffers<Buffers>().split_k, split_k);
    if constexpr (in_ck<Context>) before_ = std::exchange(ck_context<Context>().k_batch, split_k);
    (void)split_k;
  }
  ~SplitScope() {
    if constexpr (in_ck<Buffers>) ck_buffers<Buffers>().split_k = before_;
    if constexpr (in_ck<Context>) ck_context<Context>().k_batch = before_;
  }
  SplitScope(const SplitScope&) = delete;
  SplitScope& operator=(const SplitScope&) = delete;

 private:
  int before_ = 1;
};

}  // namespace ck_select::detail

#endif  // CK_SELECT_DISPATCHER_CK_TILE_HPP
