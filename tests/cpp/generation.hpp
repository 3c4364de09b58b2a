// Kernels and problems of whichever generation of CK's convolution headers the compiler finds: stand-ins or CK's own.

#ifndef CK_SELECT_TESTS_GENERATION_HPP
#define CK_SELECT_TESTS_GENERATION_HPP

#include <ck_tile/dispatcher/grouped_conv_registry.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

#include "ck_select_dispatcher.hpp"

namespace generation {

namespace ck = ck_tile::dispatcher;
namespace detail = ck_select::detail;

using Problem = ck::GroupedConvProblem;
using Key = ck::GroupedConvKernelKey;
using Instance = ck::GroupedConvKernelInstance;
using Run = Instance::RunFn;
using Supports = std::function<bool(const Problem&)>;

template <class T>
using NameOf = decltype(detail::a<T>().name);

// Templates, so that what a generation lacks is not looked at.
template <class K = Key>
inline constexpr bool says_more = detail::is_valid<detail::SpecializationText, K>;
template <class I = Instance>
inline constexpr bool asks = detail::is_valid<detail::IsSupported, I, Problem>;
template <class K = Key>
inline constexpr bool has_name = detail::is_valid<NameOf, K>;
template <class P = Problem>
inline constexpr bool says_all = detail::is_valid<detail::DtypeIn, P>;
template <class C = detail::CkContext>
inline constexpr bool has_context = detail::in_ck<C>;

static_assert(ck_select::generation<ck::GroupedConvRegistry>() ==
              (has_name<> ? ck_select::Generation::v3 : asks<> ? ck_select::Generation::v2 : ck_select::Generation::v1));

/// The layout that problems and kernels have, as far as the generation says it.
inline const char* usual_layout() { return says_all<> ? "nhwgc_gkyxc_nhwgk" : "nhwgc"; }

inline Key key_of(int m, int n, int k, const char* pipeline = "compv3") {
  Key key;
  key.dtype_in = key.dtype_wei = key.dtype_out = "bf16";
  key.layout = usual_layout();
  key.tile_m = m;
  key.tile_n = n;
  key.tile_k = k;
  key.pipeline = pipeline;
  key.arch = "gfx950";
  return key;
}

/// The name that CK's code generator gives.
inline std::string name_of(const Key& key, const std::string& suffix = "") {
  const auto number = [](int value) { return std::to_string(value); };
  return "grouped_conv_fwd_" + key.dtype_in + "_nhwgc_2d_" + key.pipeline + "_cshuffle_intrawave_" +
         number(key.tile_m) + 'x' + number(key.tile_n) + 'x' + number(key.tile_k) + "_2x2x1_32x32x16" + suffix;
}

template <class K>
void set_name(K& key, const std::string& name) {
  if constexpr (has_name<K>) key.name = name;
  (void)key;
  (void)name;
}

template <class I = Instance, class K = Key>
std::shared_ptr<I> make(K key, const std::string& name, Run run, Supports supports = nullptr) {
  set_name(key, name);
  if constexpr (has_name<K>) {
    if (!supports) supports = [](const Problem&) { return true; };
    return std::make_shared<I>(key, std::move(run), std::move(supports));
  } else if constexpr (asks<I>) {
    return std::make_shared<I>(key, name, std::move(run), std::move(supports));
  } else {
    return std::make_shared<I>(key, name, std::move(run));
  }
}

inline bool add(ck::GroupedConvRegistry& registry, const std::shared_ptr<Instance>& instance,
                ck::Priority priority = ck::Priority::Normal) {
  return registry.register_kernel(instance->key(), instance, priority);
}

template <class P>
void set_padding(P& problem, std::int64_t size) {
  if constexpr (detail::is_valid<detail::PaddingLeft, P>)
    problem.padding_left = problem.padding_right = {0, size, size};
  else problem.padding = {0, size, size};
}

template <class P>
void set_types(P& problem) {
  if constexpr (says_all<P>) {
    problem.dtype_in = problem.dtype_wei = problem.dtype_out = "bf16";
    problem.layout = usual_layout();
    problem.arch = "gfx950";
  }
  (void)problem;
}

inline Problem layer(std::int64_t n, std::int64_t c, std::int64_t k, std::int64_t size, std::int64_t filter = 3) {
  Problem problem;
  problem.N = n;
  problem.C = c;
  problem.K = k;
  problem.input_spatial = {1, size, size};
  problem.filter_spatial = {1, filter, filter};
  set_padding(problem, filter / 2);
  set_types(problem);
  (void)problem.compute_output_size();
  return problem;
}

/// What a kernel reads where its generation puts it.
struct Seen {
  const void* input = nullptr;
  const void* weight = nullptr;
  void* output = nullptr;
  int device = -1;
  int split_k = 0;
  bool benchmarking = false;
  int repeat = 0;
};

template <class Buffers = detail::CkBuffers, class Context = detail::CkContext>
Seen seen() {
  Seen now;
  if constexpr (detail::in_ck<Buffers>) {
    const Buffers& buffers = detail::ck_buffers<Buffers>();
    now = {buffers.input_ptr, buffers.weight_ptr,   buffers.output_ptr, 0,
           buffers.split_k,   buffers.benchmarking, buffers.repeat};
  }
  if constexpr (detail::in_ck<Context>) {
    const Context& context = detail::ck_context<Context>();
    now = {context.input_ptr, context.weight_ptr, context.output_ptr, context.device_ordinal,
           context.k_batch,   context.benchmarking, context.repeat};
  }
  return now;
}

inline bool operator==(const Seen& one, const Seen& two) {
  return one.input == two.input && one.weight == two.weight && one.output == two.output && one.device == two.device &&
         one.split_k == two.split_k && one.benchmarking == two.benchmarking && one.repeat == two.repeat;
}

}  // namespace generation

#endif  // CK_SELECT_TESTS_GENERATION_HPP
