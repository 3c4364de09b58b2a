/* Reads GroupedConvProblem, GroupedConvKernelKey and GroupedConvKernelInstance. */

#ifndef CK_SELECT_DISPATCHER_CONV_HPP
#define CK_SELECT_DISPATCHER_CONV_HPP

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "ck_tile.hpp"
#include "snapshot.hpp"

namespace ck_select::detail {

template <class Number>
[[nodiscard]] std::string triple(Number m, Number n, Number k) {
  // Some are 8 bits wide; none is a character.
  return std::to_string(+m) + 'x' + std::to_string(+n) + 'x' + std::to_string(+k);
}

[[nodiscard]] inline std::string triple(const std::int32_t (&of)[3]) { return triple(of[0], of[1], of[2]); }

template <std::size_t N>
void fill(std::int32_t (&to)[N], std::initializer_list<int> from) noexcept {
  std::copy(from.begin(), from.end(), std::begin(to));
}

/// A layout's first tensor without the letters that only repeat the number of dimensions: "nwgc" of "nhwgc" and of
/// "ndhwgc".
[[nodiscard]] inline std::string order_of(std::string_view layout) {
  std::string order(layout.substr(0, layout.find('_')));
  order.erase(std::remove_if(order.begin(), order.end(), [](char letter) { return letter == 'd' || letter == 'h'; }),
              order.end());
  return order;
}

/// Takes what a kernel's name states, and collects where its key contradicts it.
class NameReader {
 public:
  NameReader(ConvKernel& kernel, const std::string& name) : kernel_(kernel), key_(kernel.key), name_(kernel.capi()) {
    is_read_ = ck_conv_kernel_desc_read_name(&name_, name.c_str()) == CK_STATUS_OK;
  }

  /// What the key has no field for is only in the name: no contradiction.
  [[nodiscard]] std::string read(bool key_has_specialization, bool key_has_large_tensor, bool key_has_stream_k) {
    if (!is_read_) return {};
    // CK matches by the key's values of these.
    number("direction", name_.direction, key_.direction);
    number("dimensions", name_.ndim, key_.ndim);
    number("dtype", name_.dtype_in, key_.dtype_in);
    number("layout", name_.layout, key_.layout);
    shape("tile", name_.tile, key_.tile);
    shape("wave", name_.wave, key_.wave);
    shape("warp tile", name_.warp_tile, key_.warp_tile);
    shape("vector", name_.vector, key_.vector);
    text("pipeline", name_.pipeline, kernel_.pipeline, true);
    text("scheduler", name_.scheduler, kernel_.scheduler, true);
    text("epilogue", name_.epilogue, kernel_.epilogue, true);
    text("specialization", name_.specialization, kernel_.specialization, key_has_specialization);
    text("stream-K reduction", name_.stream_k.reduction, kernel_.stream_k, key_has_stream_k);
    taken("block_per_cu", name_.block_per_cu, key_.block_per_cu);
    taken("num_wave_groups", name_.num_wave_groups, key_.num_wave_groups);
    taken("num_groups_to_merge", name_.num_groups_to_merge, key_.num_groups_to_merge);
    flag("large_tensor", name_.split_image, key_.split_image, key_has_large_tensor);
    flag("double_smem_buffer", name_.double_smem_buffer, key_.double_smem_buffer, true);
    flag("two_stage", name_.two_stage, key_.two_stage, true);
    flag("explicit_gemm", name_.explicit_gemm, key_.explicit_gemm, true);
    flag("stream-K persistence", name_.stream_k.persistent, key_.stream_k.persistent, key_has_stream_k);
    return said_;
  }

 private:
  void disagree(const char* what, const std::string& name, const std::string& key) {
    if (!said_.empty()) said_ += "; ";
    said_ = said_ + what + ": name " + name + ", key " + key;
  }

  void number(const char* what, int name, int key) {
    if (name != key) disagree(what, std::to_string(name), std::to_string(key));
  }

  void taken(const char* what, std::int32_t name, std::int32_t& value) {
    number(what, name, value);
    value = name;
  }

  void shape(const char* what, const std::int32_t (&name)[3], std::int32_t (&value)[3]) {
    if (std::equal(std::begin(name), std::end(name), std::begin(value))) return;
    disagree(what, triple(name), triple(value));
    std::copy(std::begin(name), std::end(name), std::begin(value));
  }

  void text(const char* what, const char* name, std::string& value, bool tells) {
    const std::string told = name == nullptr ? "" : name;
    if (told == value) return;
    if (tells) disagree(what, told.empty() ? "none" : told, value.empty() ? "none" : value);
    value = told;
  }

  void flag(const char* what, std::int32_t name, std::int32_t& value, bool tells) {
    if (name == value) return;
    if (tells) disagree(what, name != 0 ? "yes" : "no", value != 0 ? "yes" : "no");
    value = name;
  }

  ConvKernel& kernel_;
  ck_conv_kernel_desc& key_;
  ck_conv_kernel_desc name_;
  bool is_read_ = false;
  std::string said_;
};

struct ConvAdapter {
  using LibraryProblem = ConvProblem;
  using Kernel = ConvKernel;

  /// The dispatcher takes the first kernel whose name contains the heuristic's answer.
  static constexpr bool matches_parts = true;
  static constexpr bool names_are_identifiers = false;

  static constexpr bool is_split = true;
  template <class Problem>
  [[nodiscard]] static auto& parts(Problem& problem) noexcept {
    return problem.split_k;
  }

  /// While kernels are asked what they support.
  struct Scope {
    template <class Problem>
    explicit Scope(const Problem& problem) noexcept : split(problem.split_k) {}
    SplitScope<> split;
  };

  template <class Op>
  [[nodiscard]] static Direction direction_of(Op op) noexcept {
    return op == Op::Forward        ? Direction::forward
           : op == Op::BackwardData ? Direction::bwd_data
                                    : Direction::bwd_weight;
  }

  [[nodiscard]] static int kind_of(Direction direction, int ndim) noexcept {
    return static_cast<int>(direction) * 4 + ndim;
  }

  template <class Instance>
  [[nodiscard]] static Known<Instance, Kernel> describe(const Instance& instance) {
    const auto& key = instance.key();
    using Key = std::decay_t<decltype(key)>;
    Known<Instance, Kernel> known;
    known.name = instance.name();
    known.arch = key.arch;
    const Direction direction = direction_of(key.op);
    known.signature = {kind_of(direction, key.ndim_spatial), key.dtype_in, key.dtype_wei, key.dtype_out, key.layout};
    if (!is_executable(instance)) {
      known.reason = "it cannot be executed";
      return known;
    }
    try {
      known.kernel = kernel_of(key, known.name, direction);
      known.contradiction = NameReader(known.kernel, known.name)
                                .read(is_valid<SpecializationText, Key>, is_valid<LargeTensor, Key>,
                                      is_valid<StreamkEnabled, Key>);
      known.key = long_name(known.kernel, key.layout);
    } catch (const Error& error) {
      known.reason = error.what();
    }
    return known;
  }

  /// All fields of a key, and what only the name contains.
  template <class Key>
  [[nodiscard]] static ConvKernel kernel_of(const Key& key, const std::string& name, Direction direction) {
    ConvKernel kernel;
    ck_conv_kernel_desc& raw = kernel.key;
    raw.direction = static_cast<std::int32_t>(direction);
    raw.ndim = key.ndim_spatial;
    raw.dtype_in = static_cast<std::int32_t>(dtype_of(key.dtype_in));
    raw.dtype_wei = static_cast<std::int32_t>(dtype_of(key.dtype_wei));
    raw.dtype_out = static_cast<std::int32_t>(dtype_of(key.dtype_out));
    raw.layout = static_cast<std::int32_t>(layout(order_of(key.layout), key.ndim_spatial));
    fill(raw.tile, {key.tile_m, key.tile_n, key.tile_k});
    fill(raw.wave, {key.wave_m, key.wave_n, key.wave_k});
    fill(raw.warp_tile, {key.warp_m, key.warp_n, key.warp_k});
    fill(raw.vector, {key.vector_size_a, key.vector_size_b, key.vector_size_c});
    kernel.pipeline = key.pipeline;
    kernel.scheduler = key.scheduler;
    kernel.epilogue = key.epilogue;
    kernel.specialization = specialization_of(key);
    raw.block_per_cu = key.block_per_cu;
    raw.num_wave_groups = key.num_wave_groups;
    raw.num_groups_to_merge = key.num_groups_to_merge;
    raw.split_image = splits_image(key);
    kernel.stream_k = stream_k_of(key);
    raw.stream_k.persistent = stream_k_persists(key);
    raw.double_smem_buffer = has_two_buffers(key, name);
    raw.two_stage = has_two_stages(key, name);
    raw.explicit_gemm = is_explicit_gemm(key, name);
    return kernel;
  }

  /// The name that CK's code generator would give, with the types and the parts of the layout that it omits: every
  /// field except the architecture.
  [[nodiscard]] static std::string long_name(const ConvKernel& kernel, std::string_view whole_layout) {
    const char* words[] = {"fwd", "bwd_data", "bwd_weight"};
    const ck_conv_kernel_desc& key = kernel.key;
    const auto type = [](std::int32_t number) { return to_string(static_cast<Dtype>(number)); };
    const std::size_t cut = std::min(whole_layout.find('_'), whole_layout.size());
    std::string name = std::string("grouped_conv_") + words[key.direction] + '_';
    name.append(type(key.dtype_in)) += '_';
    name.append(whole_layout.substr(0, cut)) += '_';
    name += std::to_string(key.ndim) + "d_" + kernel.pipeline + '_' + kernel.epilogue + '_' + kernel.scheduler +
            '_' + triple(key.tile) + '_' + triple(key.wave) + '_' + triple(key.warp_tile);
    if (triple(key.vector) != "4x8x8") {
      name += "_vec" + std::to_string(key.vector[0]) + '_' + std::to_string(key.vector[1]) + '_' +
              std::to_string(key.vector[2]);
    }
    const auto push_number = [&name](const char* prefix, int value) {
      if (value != 1) name += prefix + std::to_string(value);
    };
    push_number("_bpc", key.block_per_cu);
    push_number("_wg", key.num_wave_groups);
    push_number("_gm", key.num_groups_to_merge);
    if (key.double_smem_buffer != 0) name += "_dsb";
    if (key.two_stage != 0) name += "_2stage";
    if (kernel.specialization != "default") name += '_' + kernel.specialization;
    if (key.explicit_gemm != 0) name += "_explicit_gemm";
    if (!kernel.stream_k.empty()) {
      name += "_streamk_" + kernel.stream_k;
      if (key.stream_k.persistent != 0) name += "_persistent";
    }
    if (key.split_image != 0) name += "_large_tensor";
    // What no name of CK's contains.
    if (key.dtype_wei != key.dtype_in) name.append("_wei_").append(type(key.dtype_wei));
    if (key.dtype_out != key.dtype_in) name.append("_out_").append(type(key.dtype_out));
    name.append(whole_layout.substr(cut));
    return name;
  }

  [[nodiscard]] static bool may_run(const SelectorOptions& options, const ConvKernel& /*kernel*/) noexcept {
    return options.run_convolutions;
  }

  /// One run on the search's own operands. The kernel times itself.
  template <class Known, class Problem, class Buffers = CkBuffers, class Context = CkContext>
  [[nodiscard]] static float run(const Known& known, const Problem& problem, void* stream,
                                 const SelectorOptions& options, LazyOperands& operands) {
    if constexpr (in_ck<Buffers> || in_ck<Context>) {
      const SearchOperands& tensors =
          operands.get(options.memory, [&] { return extents_of(problem, known.kernel); });
      Invocation now;
      now.input = tensors[0];
      now.weight = tensors[1];
      now.output = tensors[2];
      now.device = options.device >= 0 ? options.device : current_device();
      now.split_k = problem.split_k;
      now.benchmarking = true;
      const InvocationScope<Buffers, Context> scope(now);
      const float ms = known.instance->run(problem, stream);
      return ms > 0 ? ms : -1.0F;
    } else {
      log_line(CK_LOG_LEVEL_WARN, "nothing is measured: CK's buffers are not declared before ck_select_dispatcher.hpp");
      return -1.0F;
    }
  }

  /// Operands in CK's order: input, weight, output of the operation.
  template <class Problem>
  [[nodiscard]] static std::array<Extent, 3> extents_of(const Problem& problem, const ConvKernel& kernel) {
    const auto extent = [](std::int32_t type) { return Extent{static_cast<Dtype>(type)}; };
    Extent x = extent(kernel.key.dtype_in), w = extent(kernel.key.dtype_wei), y = extent(kernel.key.dtype_out);
    x.times(problem.N).times(problem.C);
    w.times(problem.K).times(problem.G > 0 ? problem.C / problem.G : 0);
    y.times(problem.N).times(problem.K);
    for (std::size_t axis = 0; axis < 3; ++axis) {
      const std::int64_t reach = (problem.filter_spatial[axis] - 1) * problem.dilation[axis] + 1;
      const std::int64_t room = problem.input_spatial[axis] + left(problem)[axis] + right(problem)[axis] - reach;
      const std::int64_t steps = problem.stride[axis] > 0 ? room / problem.stride[axis] + 1 : 0;
      x.times(problem.input_spatial[axis]);
      w.times(problem.filter_spatial[axis]);
      // Some callers leave the output's extents at old values: the larger of the two is safe.
      y.times(std::max(problem.output_spatial[axis], steps));
    }
    switch (static_cast<Direction>(kernel.key.direction)) {
      case Direction::bwd_data: return {y, w, x};
      case Direction::bwd_weight: return {x, y, w};
      default: return {x, w, y};
    }
  }

  /// A problem of a signature's kind, types and layout.
  [[nodiscard]] static ConvProblem blank(const SignatureView& signature) {
    return ConvProblem()
        .direction(static_cast<Direction>(signature.kind / 4))
        .ndim(signature.kind % 4)
        .dtypes(dtype_of(signature.dtype_a), dtype_of(signature.dtype_b), dtype_of(signature.dtype_c))
        .layout(layout(order_of(signature.layout), signature.kind % 4));
  }

  template <class Problem, class State>
  [[nodiscard]] static Query<ConvProblem> map(const Problem& problem, const SelectorOptions& options,
                                              const State& state) {
    std::string_view arch = options.arch;
    if constexpr (is_valid<Arch, Problem>) {
      if (!problem.arch.empty()) arch = problem.arch;
    }
    auto query = blank_query<ConvAdapter>(signature_of(problem, options, state), arch, state);
    query.problem.batch(problem.N).channels(problem.C, problem.K).groups(problem.G).split_k(problem.split_k);
    ck_conv_problem& raw = query.problem.capi();
    // One dimension leaves depth and height as the library has them: CK's rules say nothing about these there.
    for (std::size_t axis = raw.ndim == 1 ? 2 : 0; axis < 3; ++axis) {
      raw.input[axis] = problem.input_spatial[axis];
      raw.filter[axis] = problem.filter_spatial[axis];
      raw.stride[axis] = problem.stride[axis];
      raw.dilation[axis] = problem.dilation[axis];
      raw.pad_left[axis] = left(problem)[axis];
      raw.pad_right[axis] = right(problem)[axis];
    }
    return query;
  }

  template <class Instance, class Problem>
  [[nodiscard]] static bool supports(const Instance& instance, const Problem& problem) {
    return (matches(instance, problem) || lacks_features(instance, problem)) && is_supported(instance, problem);
  }

 private:
  /// Whether only the features of the problem's target keep a kernel of its base architecture from matching. The rest of
  /// what `matches` compares is the signature, which is equal for kernels that are asked.
  template <class Instance, class Problem>
  [[nodiscard]] static bool lacks_features(const Instance& instance, const Problem& problem) {
    if constexpr (is_valid<Arch, Problem>) {
      return problem.arch != instance.key().arch && base_of(problem.arch) == instance.key().arch;
    } else {
      (void)instance;
      (void)problem;
      return false;
    }
  }

  /// The problem's values, else those of the options, else those of the registered kernels.
  template <class Problem, class State>
  [[nodiscard]] static SignatureView signature_of(const Problem& problem, const SelectorOptions& options,
                                                  const State& state) {
    SignatureView signature{kind_of(direction_of(problem.op), dimensions(problem, options, state)), options.dtype,
                            options.dtype, options.dtype, options.layout};
    if constexpr (is_valid<DtypeIn, Problem>) {
      if (!problem.dtype_in.empty()) {
        signature.dtype_a = problem.dtype_in;
        signature.dtype_b = problem.dtype_wei;
        signature.dtype_c = problem.dtype_out;
      }
    }
    if constexpr (is_valid<LayoutText, Problem>) {
      if (!problem.layout.empty()) signature.layout = problem.layout;
    }
    if (signature.dtype_a.empty() || signature.layout.empty()) {
      state.complete(signature, [](const Signature& known) {
        return known.dtype_a == known.dtype_b && known.dtype_a == known.dtype_c;
      });
    }
    return signature;
  }

  template <class Problem>
  [[nodiscard]] static const auto& left(const Problem& problem) noexcept {
    if constexpr (is_valid<PaddingLeft, Problem>) return problem.padding_left;
    else return problem.padding;
  }

  template <class Problem>
  [[nodiscard]] static const auto& right(const Problem& problem) noexcept {
    if constexpr (is_valid<PaddingLeft, Problem>) return problem.padding_right;
    else return problem.padding;
  }

  template <class Problem, class State>
  [[nodiscard]] static int dimensions(const Problem& problem, const SelectorOptions& options, const State& state) {
    if constexpr (is_valid<Ndim, Problem>) {
      if (problem.ndim_spatial >= 1 && problem.ndim_spatial <= 3) return problem.ndim_spatial;
      throw Error(Status::invalid_problem,
                  "ndim_spatial: found " + std::to_string(problem.ndim_spatial) + ", expected 1 to 3");
    } else {
      if (options.ndim_spatial != 0) return options.ndim_spatial;
      const auto uses = [&](std::size_t axis) {
        return problem.input_spatial[axis] > 1 || problem.filter_spatial[axis] > 1;
      };
      if (uses(0)) return 3;
      const int one = kind_of(direction_of(problem.op), 1);
      const auto has_one = [one](const Signature& known) { return known.kind == one; };
      return !uses(1) && std::any_of(state.signatures.begin(), state.signatures.end(), has_one) ? 1 : 2;
    }
  }

  /// The name of an order for a number of dimensions: "nhwgc" for "nwgc" in two.
  [[nodiscard]] static ConvLayout layout(const std::string& order, int ndim) {
    std::string word = order;
    const std::size_t width = word.find('w');
    if (width != std::string::npos) word.insert(width, ndim == 2 ? "h" : ndim == 3 ? "dh" : "");
    if (const auto known = layout_from(word)) return *known;
    throw Error(Status::invalid_problem, "layout: unknown order '" + order + "'");
  }
};

}  // namespace ck_select::detail

#endif  // CK_SELECT_DISPATCHER_CONV_HPP
