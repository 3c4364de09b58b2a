/* Reads CK's GEMM Problem, KernelKey and KernelInstance. */

#ifndef CK_SELECT_DISPATCHER_GEMM_HPP
#define CK_SELECT_DISPATCHER_GEMM_HPP

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "conv.hpp"
#include "snapshot.hpp"

namespace ck_select::detail {

struct GemmAdapter {
  using LibraryProblem = GemmProblem;
  using Kernel = GemmKernel;

  /// The dispatcher looks identifiers up exactly, and asks `supports` itself.
  static constexpr bool matches_parts = false;
  static constexpr bool names_are_identifiers = false;

  static constexpr bool is_split = true;
  template <class Problem>
  [[nodiscard]] static auto& parts(Problem& problem) noexcept {
    return problem.k_batch;
  }

  struct Scope {
    template <class Problem>
    explicit Scope(const Problem& /*problem*/) noexcept {}
  };

  template <class Instance>
  [[nodiscard]] static Known<Instance, Kernel> describe(const Instance& instance) {
    const auto& key = instance.get_key();
    Known<Instance, Kernel> known;
    known.name = key.encode_identifier();
    if constexpr (std::is_convertible_v<decltype(key.gfx_arch), std::string>) known.arch = key.gfx_arch;
    const auto& signature = key.signature;
    known.signature = {stream_k(key.algorithm), word_of(signature.dtype_a), word_of(signature.dtype_b),
                       word_of(signature.dtype_c),
                       word_of(signature.layout_a) + word_of(signature.layout_b) + word_of(signature.layout_c)};
    // The dispatcher's problems request neither.
    if (signature.transpose_a || signature.transpose_b) {
      known.reason = "it transposes an operand";
    } else if (signature.grouped) {
      known.reason = "it is a grouped GEMM";
    } else {
      try {
        known.kernel = kernel_of(key, known.signature);
        known.key = identifier(key, known.signature);
      } catch (const Error& error) {
        known.reason = error.what();
      }
    }
    return known;
  }

  /// The Stream-K reduction of a kernel or a problem: 0 for none, else a number per kind. Both state it by the same
  /// members.
  template <class CkProblem>
  [[nodiscard]] static int stream_k(const CkProblem& problem) noexcept {
    if constexpr (is_valid<Streamk, CkProblem>) {
      return problem.streamk ? 1 + static_cast<int>(problem.reduction_strategy) : 0;
    } else {
      return 0;
    }
  }

  /// Its word; empty without Stream-K.
  template <class CkProblem>
  [[nodiscard]] static std::string reduction_of(const CkProblem& problem) {
    if constexpr (is_valid<Streamk, CkProblem>) {
      if (!problem.streamk) return {};
      std::string reduction = word_of(problem.reduction_strategy);
      return reduction == "none" ? "atomic" : reduction;
    } else {
      return {};
    }
  }

  /// All fields of a key.
  template <class Key>
  [[nodiscard]] static GemmKernel kernel_of(const Key& key, const Signature& types) {
    const auto& signature = key.signature;
    const auto& algorithm = key.algorithm;
    using Algorithm = std::decay_t<decltype(algorithm)>;
    GemmKernel kernel;
    ck_gemm_kernel_desc& raw = kernel.key;
    raw.dtype_a = static_cast<std::int32_t>(dtype_of(types.dtype_a));
    raw.dtype_b = static_cast<std::int32_t>(dtype_of(types.dtype_b));
    raw.dtype_c = static_cast<std::int32_t>(dtype_of(types.dtype_c));
    raw.dtype_acc = static_cast<std::int32_t>(dtype_of(word_of(signature.dtype_acc)));
    for (std::size_t operand = 0; operand < 3; ++operand) {
      raw.layout[operand] = static_cast<std::int32_t>(major(types.layout, operand));
    }
    raw.split_k = std::max(+signature.split_k, 1);
    kernel.elementwise = signature.elementwise_op;
    raw.num_d_tensors = signature.num_d_tensors;
    raw.structured_sparsity = signature.structured_sparsity;
    fill(raw.tile, {algorithm.tile_shape.m, algorithm.tile_shape.n, algorithm.tile_shape.k});
    fill(raw.wave, {algorithm.wave_shape.m, algorithm.wave_shape.n, algorithm.wave_shape.k});
    fill(raw.warp_tile, {algorithm.warp_tile_shape.m, algorithm.warp_tile_shape.n, algorithm.warp_tile_shape.k});
    // Kernels of revisions without these fields pad everything.
    if constexpr (is_valid<PadM, Algorithm>) fill(raw.pad, {algorithm.pad_m, algorithm.pad_n, algorithm.pad_k});
    if constexpr (is_valid<VectorSizeA, Algorithm>) {
      fill(raw.vector, {algorithm.vector_size_a, algorithm.vector_size_b, algorithm.vector_size_c});
    }
    kernel.pipeline = word_of(algorithm.pipeline);
    kernel.scheduler = word_of(algorithm.scheduler);
    kernel.epilogue = word_of(algorithm.epilogue);
    raw.block_size = static_cast<std::int32_t>(algorithm.block_size);
    raw.double_buffer = algorithm.double_buffer;
    raw.persistent = algorithm.persistent;
    raw.preshuffle = algorithm.preshuffle;
    raw.transpose_c = algorithm.transpose_c;
    raw.num_wave_groups = std::max(+algorithm.num_wave_groups, 1);
    kernel.stream_k = reduction_of(algorithm);
    return kernel;
  }

  /// The identifier of the newest dispatchers, whatever this one's `encode_identifier` writes, with the types that it
  /// omits.
  template <class Key>
  [[nodiscard]] static std::string identifier(const Key& key, const Signature& types) {
    const auto& signature = key.signature;
    const auto& algorithm = key.algorithm;
    const auto flag = [](bool on) { return on ? "_True" : "_False"; };
    std::string name = types.dtype_a + '_' + types.layout + '_' + word_of(algorithm.pipeline) + '_' +
                       word_of(algorithm.epilogue) + '_' + word_of(algorithm.scheduler);
    using Algorithm = std::decay_t<decltype(algorithm)>;
    if constexpr (is_valid<PadM, Algorithm>) {
      name = name + flag(algorithm.pad_m) + flag(algorithm.pad_n) + flag(algorithm.pad_k);
    } else {
      name += "_True_True_True";  // kernels of such revisions pad everything
    }
    name += flag(algorithm.persistent);
    name += '_' + triple(algorithm.tile_shape.m, algorithm.tile_shape.n, algorithm.tile_shape.k);
    name += '_' + triple(algorithm.wave_shape.m, algorithm.wave_shape.n, algorithm.wave_shape.k);
    name += '_' + triple(algorithm.warp_tile_shape.m, algorithm.warp_tile_shape.n, algorithm.warp_tile_shape.k);
    if constexpr (is_valid<VectorSizeA, Algorithm>) {
      if (algorithm.vector_size_a != 0 || algorithm.vector_size_b != 0 || algorithm.vector_size_c != 0) {
        name += "_vec" + std::to_string(+algorithm.vector_size_a) + '_' + std::to_string(+algorithm.vector_size_b) +
                '_' + std::to_string(+algorithm.vector_size_c);
      }
    }
    if (signature.split_k > 1) name += "_splitk" + std::to_string(+signature.split_k);
    if (!signature.elementwise_op.empty() && signature.elementwise_op != "PassThrough") {
      name += '_' + signature.elementwise_op;
    }
    if (signature.num_d_tensors > 0) name += "_d" + std::to_string(+signature.num_d_tensors);
    if (signature.structured_sparsity) name += "_sparse";
    if (algorithm.preshuffle) name += "_preshuffle";
    const std::string reduction = reduction_of(algorithm);
    if (!reduction.empty()) name += reduction == "atomic" ? "_streamk" : "_streamk_" + reduction;
    // What identifiers do not contain.
    const Signature expected = expected_signature(types.dtype_a, types.layout);
    if (types.dtype_b != expected.dtype_b) name += "_b_" + types.dtype_b;
    if (types.dtype_c != expected.dtype_c) name += "_c_" + types.dtype_c;
    return name;
  }

  [[nodiscard]] static bool may_run(const SelectorOptions& options, const GemmKernel& /*kernel*/) noexcept {
    return options.run_gemms || static_cast<bool>(options.gemm_operands);
  }

  template <class Known, class Problem>
  [[nodiscard]] static float run(const Known& known, const Problem& problem, void* stream,
                                 const SelectorOptions& options, LazyOperands& lazy) {
    GemmOperands operands;
    if (options.gemm_operands) {
      operands = options.gemm_operands(problem.M, problem.N, problem.K);
    } else {
      const SearchOperands& matrices = lazy.get(options.memory, [&] {
        const ck_gemm_kernel_desc& key = known.kernel.key;
        const auto extent = [](std::int32_t type) { return Extent{static_cast<Dtype>(type)}; };
        std::array<Extent, 3> extents{extent(key.dtype_a), extent(key.dtype_b), extent(key.dtype_c)};
        extents[0].times(problem.M).times(problem.K);
        extents[1].times(problem.K).times(problem.N);
        extents[2].times(problem.M).times(problem.N);
        return extents;
      });
      operands.a = matrices[0];
      operands.b = matrices[1];
      operands.c = matrices[2];
      // A fused kernel reads additional matrices, which a search does not have.
      if (known.kernel.key.num_d_tensors > 0) return -1.0F;
    }
    return launch(*known.instance, problem, operands, stream);
  }

  /// 0 if the kernel does not time itself: then events do.
  template <class Instance, class Problem>
  static float launch(const Instance& instance, const Problem& problem, const GemmOperands& operands, void* stream) {
    if constexpr (is_valid<GemmRunWithWorkspace, Instance, Problem>) {
      if (operands.workspace != nullptr) {
        return instance.run(operands.a, operands.b, operands.c, operands.d, operands.workspace, problem, stream);
      }
    }
    if constexpr (is_valid<GemmRun, Instance, Problem>) {
      return instance.run(operands.a, operands.b, operands.c, operands.d, problem, stream);
    } else {
      return -1.0F;
    }
  }

  /// A problem of a signature's types and layout.
  [[nodiscard]] static GemmProblem blank(const SignatureView& signature) {
    return GemmProblem()
        .dtypes(dtype_of(signature.dtype_a), dtype_of(signature.dtype_b), dtype_of(signature.dtype_c))
        .layout(major(signature.layout, 0), major(signature.layout, 1), major(signature.layout, 2));
  }

  template <class Problem, class State>
  [[nodiscard]] static Query<GemmProblem> map(const Problem& problem, const SelectorOptions& options,
                                              const State& state) {
    SignatureView signature = expected_view(options.dtype, options.layout);
    signature.kind = stream_k(problem);
    // The usual types, unless only kernels of other types are registered.
    if (!options.dtype.empty()) (void)dtype_of(options.dtype);
    if (!options.layout.empty()) (void)major(options.layout, 0);
    if (options.dtype.empty() || options.layout.empty() || state.id_of(signature) == no_signature) {
      state.complete(signature, [](const Signature& known) {
        SignatureView usual = expected_view(known.dtype_a, known.layout);
        usual.kind = known.kind;
        return usual == view(known);
      });
    }
    auto query = blank_query<GemmAdapter>(signature, options.arch, state);
    query.problem.size(problem.M, problem.N, problem.K).split_k(problem.k_batch);
    const std::string reduction = reduction_of(problem);
    query.problem.stream_k(reduction.empty()       ? nullptr
                           : reduction == "tree"   ? "tree"
                           : reduction == "linear" ? "linear"
                                                   : "atomic");
    return query;
  }

  template <class Instance, class Problem>
  [[nodiscard]] static bool supports(const Instance& instance, const Problem& problem) {
    return instance.supports(problem);
  }

 private:
  [[nodiscard]] static Major major(std::string_view layout, std::size_t operand) {
    const auto known = layout.size() == 3 ? major_from(layout.substr(operand, 1)) : std::nullopt;
    if (known) return *known;
    throw Error(Status::invalid_problem, "layout: found '" + std::string(layout) + "', expected three of r, c and p");
  }

  /// Identifiers name only A's type; these are the others that they imply.
  [[nodiscard]] static SignatureView expected_view(std::string_view dtype, std::string_view layout) {
    const bool is_float8 = dtype == "fp8" || dtype == "bf8";
    return {0, dtype, dtype, is_float8 ? "fp16" : dtype == "int8" ? "int32" : dtype, layout};
  }

  [[nodiscard]] static Signature expected_signature(const std::string& dtype, const std::string& layout) {
    const SignatureView of = expected_view(dtype, layout);
    return {of.kind, std::string(of.dtype_a), std::string(of.dtype_b), std::string(of.dtype_c), std::string(of.layout)};
  }
};

}  // namespace ck_select::detail

#endif  // CK_SELECT_DISPATCHER_GEMM_HPP
