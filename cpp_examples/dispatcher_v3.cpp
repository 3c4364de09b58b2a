// ck_select with generation V3 of CK's convolution registry: kernels of its registry, chosen by a model, and run.
//
//     dispatcher_v3 [MODELS]
//
// MODELS has the directory conv_small; without it, the one of the repository of this source is taken. In this
// generation problems say everything, and kernels want the number of their device.
//
// CK's headers are replaced by stand-ins of the same names here (stand_in/v3); with CK, let the compiler look for
// <ck_tile/…> where its headers are, and change nothing else.

#include <ck_tile/dispatcher/grouped_conv_registry.hpp>

#include <cstdio>
#include <exception>
#include <filesystem>
#include <memory>
#include <string>

#include "ck_select_dispatcher.hpp"

using namespace ck_tile::dispatcher;

namespace {

/// What CK's generated code does at start: registers kernels. These only say that they run.
void register_kernel(GroupedConvRegistry& registry, int m, int n, const std::string& pipeline,
                     const std::string& suffix = "") {
  GroupedConvKernelKey key;
  key.dtype_in = key.dtype_wei = key.dtype_out = "bf16";
  key.layout = "nhwgc_gkyxc_nhwgk";
  key.tile_m = m;
  key.tile_n = n;
  key.tile_k = 64;
  key.pipeline = pipeline;
  key.arch = "gfx950";
  const std::string name = "grouped_conv_fwd_bf16_nhwgc_2d_" + pipeline + "_cshuffle_intrawave_" + std::to_string(m) +
                           'x' + std::to_string(n) + "x64_2x2x1_32x32x16" + suffix;
  const auto run = [name](const GroupedConvProblem&, void*) {
    std::printf("  ran %s, on device %d\n", name.c_str(), conv_invocation_context().device_ordinal);
    return 0.0F;
  };
  key.name = name;
  const auto supports = [m](const GroupedConvProblem& problem) { return problem.C % m == 0; };
  registry.register_kernel(key, std::make_shared<GroupedConvKernelInstance>(key, run, supports));
}

GroupedConvProblem layer(std::int64_t c, std::int64_t k, std::int64_t size) {
  GroupedConvProblem problem;
  problem.N = 16;
  problem.C = c;
  problem.K = k;
  problem.input_spatial = {1, size, size};
  problem.padding_left = problem.padding_right = {0, 1, 1};
  problem.dtype_in = problem.dtype_wei = problem.dtype_out = "bf16";
  problem.layout = "nhwgc_gkyxc_nhwgk";
  problem.arch = "gfx950";
  (void)problem.compute_output_size();
  return problem;
}

}  // namespace

int main(int argc, char** argv) {
  const auto repository = std::filesystem::path(__FILE__).parent_path().parent_path();
  const std::string models = argc > 1 ? argv[1] : (repository / "tests/golden/models").string();
  try {
    GroupedConvRegistry& registry = GroupedConvRegistry::instance();
    register_kernel(registry, 64, 64, "compv3");
    register_kernel(registry, 64, 128, "compv4");
    register_kernel(registry, 128, 128, "compv5");
    register_kernel(registry, 128, 128, "compv5", "_dsb");  // its name contains the one before

    ck_select::SelectorOptions options;
    options.models = {models + "/conv_small"};
    // In place of GroupedConvDispatcher.
    ck_select::GroupedConvRunner dispatcher(&registry, options);

    char input[1], weight[1], output[1];  // on the device, in a real program
    for (const auto& problem : {layer(256, 128, 28), layer(64, 64, 56), layer(512, 512, 7)}) {
      const auto kernel = dispatcher.select_kernel(problem);
      std::printf("named %s\n", kernel ? kernel->name().c_str() : "none");
      dispatcher.run(input, weight, output, problem, 2);
    }
    // Without a kernel it throws CK's own error.
    auto backward = layer(256, 128, 28);
    backward.op = GroupedConvOp::BackwardData;
    try {
      dispatcher.run(input, weight, output, backward);
    } catch (const NoKernelFound& error) {
      std::printf("%s\n", error.what());
    }
    // The way back: CK's own choice.
    dispatcher.set_strategy(decltype(dispatcher)::SelectionStrategy::PriorityBased);
    dispatcher.run(input, weight, output, layer(256, 128, 28));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  return 0;
}
