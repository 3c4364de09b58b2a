// ck_select inside CK's dispatcher: kernels of its registries, chosen by a model.
//
//     dispatcher_adapter [MODELS]
//
// MODELS has the directories conv_small and gemm_small; without it, those of the repository of this source are taken. The
// classes of CK are replaced by stand-ins here; with CK, include its headers instead of stand_in.hpp and change nothing else.

#include <cstdio>
#include <exception>
#include <filesystem>
#include <string>

#include "ck_select_dispatcher.hpp"
#include "stand_in.hpp"

namespace {

std::string models;

template <class Problem>
void add(typename stand_in::GroupedConv<Problem>::Registry& registry, int m, int n, int k, const char* pipeline,
         const char* suffix = "", const char* dtype_out = "bf16",
         std::function<bool(const Problem&)> supports = nullptr) {
  stand_in::GroupedConvKernelKey key;
  key.dtype_in = key.dtype_wei = "bf16";
  key.dtype_out = dtype_out;
  key.layout = "nhwgc";
  key.tile_m = m;
  key.tile_n = n;
  key.tile_k = k;
  key.pipeline = pipeline;
  key.arch = "gfx950";
  const std::string name = "grouped_conv_fwd_bf16_nhwgc_2d_" + std::string(pipeline) + "_cshuffle_intrawave_" +
                           std::to_string(m) + 'x' + std::to_string(n) + 'x' + std::to_string(k) +
                           "_2x2x1_32x32x16" + suffix;
  using Instance = typename stand_in::GroupedConv<Problem>::KernelInstance;
  const auto run = [](const Problem&, void*) { return 1.0F; };
  registry.add(std::make_shared<Instance>(key, name, run, std::move(supports)));
}

template <class Problem>
Problem layer(std::int64_t c, std::int64_t k, std::int64_t size) {
  Problem problem;
  problem.N = 16;
  problem.C = c;
  problem.K = k;
  problem.input_spatial = {1, size, size};
  problem.output_spatial = problem.input_spatial;
  if constexpr (ck_select::detail::HasPaddingLeft<Problem>::value) {
    problem.padding_left = problem.padding_right = {0, 1, 1};
  } else {
    problem.padding = {0, 1, 1};
  }
  return problem;
}

template <class Problem>
void convolutions(const char* revision) {
  std::printf("%s\n", revision);
  using Conv = stand_in::GroupedConv<Problem>;
  typename Conv::Registry registry;
  const auto channels_by_eight = [](const Problem& problem) { return problem.C % 8 == 0; };
  add<Problem>(registry, 64, 64, 64, "compv3");
  add<Problem>(registry, 64, 64, 64, "compv3", "_dsb");
  add<Problem>(registry, 64, 128, 64, "compv4", "", "bf16", channels_by_eight);
  add<Problem>(registry, 128, 128, 64, "compv5", "", "bf16", channels_by_eight);
  add<Problem>(registry, 128, 64, 128, "compv3", "_fp32_out", "fp32");
  add<Problem>(registry, 128, 128, 128, "compv99");

  ck_select::SelectorOptions options;
  options.models = {models + "/conv_small"};
  options.arch = "gfx950";  // what a problem says itself goes before
  options.on_skipped = [](const ck_select::Skipped& kernel) {
    std::printf("  never chosen: %s: %s\n", kernel.name.c_str(), kernel.reason.c_str());
  };
  ck_select::GroupedConvSelector selector(registry, options);

  const auto show = [&](const char* what, const Problem& problem) {
    const auto solution = selector.find(problem);
    if (solution.instance == nullptr) {
      std::printf("  %-22s no kernel\n", what);
      return;
    }
    std::printf("  %-22s %s, %.2f by %s\n", what, solution.instance->name().c_str(),
                solution.selection.score.value_or(0), ck_select::to_string(solution.selection.source).data());
  };
  show("256 to 128 channels", layer<Problem>(256, 128, 28));
  show("3 to 64 channels", layer<Problem>(3, 64, 56));
  auto backward = layer<Problem>(256, 128, 28);
  backward.op = stand_in::GroupedConvOp::BackwardData;
  show("backward", backward);

  // The same through the dispatcher.
  typename Conv::Dispatcher dispatcher(&registry);
  dispatcher.set_heuristic(selector.heuristic());
  dispatcher.set_strategy(Conv::Dispatcher::SelectionStrategy::Heuristic);
  std::printf("  %-22s %s\n", "by the dispatcher", dispatcher.select_kernel(layer<Problem>(256, 128, 28))->name().c_str());

  // Changes are followed.
  registry.clear();
  add<Problem>(registry, 16, 64, 64, "compv3");
  show("after a change", layer<Problem>(256, 128, 28));
}

void matrices() {
  std::printf("GEMM\n");
  stand_in::GemmRegistry registry;
  for (const std::uint16_t tile : {std::uint16_t{64}, std::uint16_t{128}, std::uint16_t{256}}) {
    stand_in::KernelKey key{};
    key.signature.dtype_a = key.signature.dtype_b = stand_in::DataType::FP8;
    key.signature.dtype_c = stand_in::DataType::FP16;
    key.signature.layout_b = stand_in::LayoutTag::ColMajor;
    key.signature.split_k = 1;
    key.algorithm.tile_shape = {tile, tile, 64};
    key.algorithm.wave_shape = {2, 2, 1};
    key.algorithm.warp_tile_shape = {32, 32, 16};
    key.algorithm.pipeline = stand_in::Pipeline::CompV4;
    key.algorithm.scheduler = stand_in::Scheduler::Intrawave;
    key.algorithm.epilogue = stand_in::Epilogue::Default;
    key.gfx_arch = "gfx950";
    const auto fits = [tile](const stand_in::GemmProblem& problem) { return problem.M % tile == 0; };
    registry.add(std::make_shared<stand_in::GemmKernelInstance>(key, fits));
  }
  ck_select::SelectorOptions options;
  options.models = {models + "/gemm_small"};
  options.arch = "gfx950";
  ck_select::GemmSelector selector(registry, options);
  stand_in::GemmDispatcher dispatcher(&registry);
  dispatcher.set_heuristic(selector.heuristic());
  for (const std::int64_t m : {64, 4096, 100}) {
    const stand_in::GemmProblem problem{m, 4096, 4096, 1};
    const auto* kernel = selector.get_solution(problem);
    const auto dispatched = dispatcher.select_kernel(problem);
    std::printf("  M = %-18lld %s, by the dispatcher %s\n", static_cast<long long>(m),
                kernel == nullptr ? "no kernel" : kernel->get_key().encode_identifier().c_str(),
                dispatched == nullptr ? "no kernel" : dispatched->get_key().encode_identifier().c_str());
  }
}

}  // namespace

int main(int argc, char** argv) {
  // Those of the repository that this source is part of, wherever the program is run.
  const auto repository = std::filesystem::path(__FILE__).parent_path().parent_path();
  models = argc > 1 ? argv[1] : (repository / "tests/golden/models").string();
  try {
    convolutions<stand_in::OldConvProblem>("Convolutions, problems with one padding");
    convolutions<stand_in::NewConvProblem>("Convolutions, problems with two paddings, types, layout and architecture");
    matrices();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  return 0;
}
