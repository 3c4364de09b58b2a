// ck_select with CK's attention dispatcher: kernels of its registry, chosen for each stage, and the number of splits.
//
//     dispatcher_f1
//
// Without a model the estimate chooses. CK's headers are replaced by stand-ins of the same names here (stand_in/f1);
// with CK, let the compiler look for them in its `include` and `dispatcher/include`, and link its `dispatcher/src`.

#include <ck_tile/dispatcher_fmha.hpp>

#include <cstdio>
#include <exception>
#include <memory>
#include <string>
#include <utility>

#include "ck_select_dispatcher.hpp"

using namespace ck_tile::dispatcher;

namespace {

/// What CK's generated code makes: a kernel that knows its key.
class Kernel : public FmhaKernelInstance {
 public:
  explicit Kernel(FmhaKernelKey key) : key_(std::move(key)) {}
  [[nodiscard]] const FmhaKernelKey& get_key() const override { return key_; }
  [[nodiscard]] bool supports(const FmhaProblem& problem) const override {
    return key_.signature.family == problem.requested_family && key_.signature.data_type == problem.data_type;
  }
  [[nodiscard]] std::string get_name() const override {
    return to_string(key_.signature.family) + " " + std::to_string(key_.algorithm.tile_shape.m0) + "x" +
           std::to_string(key_.algorithm.tile_shape.n0);
  }
  void launch(const FmhaInvocation& /*invocation*/, const ck_tile::stream_config& /*config*/) const override {
    std::printf("  %s runs\n", get_name().c_str());
  }

 private:
  FmhaKernelKey key_;
};

void add(FmhaRegistry& registry, FmhaKernelFamily family, std::uint16_t m0, std::uint16_t n0) {
  FmhaKernelKey key;
  key.signature.family = family;
  key.signature.data_type = "fp16";
  key.signature.has_lse = true;
  key.signature.hdim_q = key.signature.hdim_v = 128;
  key.algorithm.tile_shape = {m0, n0, 32, 128, 32, 128};
  key.algorithm.wave_shape.m0 = key.algorithm.wave_shape.m1 = static_cast<std::uint8_t>(m0 >= 64 ? 4 : 1);
  key.algorithm.warp_tile_shape = {16, 16, 16, 16, 16, 16, 16, 16, 16};
  key.algorithm.pipeline = family == FmhaKernelFamily::FwdSplitKvCombine ? "splitkv_combine" : "qr";
  key.gfx_arch = "gfx950";
  registry.register_kernel(std::make_shared<Kernel>(key));
}

}  // namespace

int main() {
  try {
    FmhaRegistry registry;
    for (const std::uint16_t m0 : {std::uint16_t{16}, std::uint16_t{64}})
      add(registry, FmhaKernelFamily::FwdSplitKv, m0, 64);
    add(registry, FmhaKernelFamily::FwdSplitKvCombine, 32, 128);

    ck_select::SelectorOptions options;
    options.registry.ignore_environment = true;
    const ck_select::FmhaSelector selector(registry, options);
    // A call as CK takes it: what kernels are made for, and the sizes. Its operands are left out.
    fmha_fwd_splitkv_traits traits{};
    traits.hdim_q = traits.hdim_v = 128;
    traits.data_type = "fp16";
    traits.is_v_rowmajor = traits.has_lse = true;
    fmha_fwd_splitkv_args args{};
    args.batch = args.num_splits = 1;
    args.nhead_q = 32;
    args.nhead_k = 8;
    args.hdim_q = args.hdim_v = 128;
    args.seqlen_k = 32768;
    FmhaInvocation invocation;
    FmhaProblem problem;
    for (const int queries : {1, 2048}) {
      args.seqlen_q = args.max_seqlen_q = queries;
      invocation = FmhaInvocation::make(traits, args);
      problem = FmhaProblem::from_invocation(invocation, "gfx950");
      const auto plan = selector.plan_splits(problem, 64);
      std::printf("%d queries, %s:\n", queries, plan.num_splits > 1 ? "split keys" : "keys in one part");
      for (const auto& stage : plan.stages) std::printf("  %s\n", stage.solution.instance->get_name().c_str());
    }
    // CK's own plan, by the same choice.
    FmhaDispatcher dispatcher(&registry);
    dispatcher.set_heuristic(selector.heuristic());
    std::printf("stages of CK's plan: %zu\n", dispatcher.plan(problem).stages.size());
    // Instead of CK's dispatcher: exactly the chosen kernels, with the operands of a call.
    options.arch = "gfx950";
    const ck_select::FmhaRunner runner(&registry, options);
    std::printf("a call:\n");
    runner.run(invocation);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  return 0;
}
