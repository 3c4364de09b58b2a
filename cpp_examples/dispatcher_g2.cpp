// ck_select with generation G2 of CK's GEMM dispatcher, which has Stream-K: kernels of its registry, chosen by a model,
// and run.
//
//     dispatcher_g2 [MODELS]
//
// MODELS has the directory gemm_small; without it, the one of the repository of this source is taken.
//
// CK's headers are replaced by stand-ins of the same names here (stand_in/g2); with CK, let the compiler look for
// <ck_tile/…> where its headers are, and change nothing else.

#include <ck_tile/dispatcher.hpp>

#include <cstdio>
#include <exception>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>

#include "ck_select_dispatcher.hpp"

using namespace ck_tile::dispatcher;

namespace {

/// What CK's generated code makes: a kernel that knows its key. This one only says that it runs.
class Kernel : public KernelInstance {
 public:
  explicit Kernel(KernelKey key) : key_(std::move(key)) {}

  [[nodiscard]] const KernelKey& get_key() const override { return key_; }
  [[nodiscard]] bool supports(const Problem& problem) const override {
    return problem.streamk == key_.algorithm.streamk && problem.M % key_.algorithm.tile_shape.m == 0;
  }
  [[nodiscard]] std::string get_name() const override { return key_.encode_identifier(); }
  float run(const void*, const void*, void*, const void**, const Problem&, void*) const override {
    std::printf("  ran %s\n", get_name().c_str());
    return 0.0F;
  }
  [[nodiscard]] bool validate(const void*, const void*, const void*, const void**, const Problem&,
                              float) const override {
    return true;
  }

 private:
  KernelKey key_;
};

KernelKey tiled(std::uint16_t tile) {
  KernelKey key{};
  key.signature.dtype_a = key.signature.dtype_b = DataType::FP8;
  key.signature.dtype_c = DataType::FP16;
  key.signature.dtype_acc = DataType::FP32;
  key.signature.layout_b = LayoutTag::ColMajor;
  key.signature.split_k = 1;
  key.algorithm.tile_shape = {tile, tile, 64};
  key.algorithm.wave_shape = {2, 2, 1};
  key.algorithm.warp_tile_shape = {32, 32, 16};
  key.algorithm.pipeline = Pipeline::CompV4;
  key.algorithm.scheduler = Scheduler::Intrawave;
  key.algorithm.epilogue = Epilogue::Default;
  key.gfx_arch = "gfx950";
  return key;
}

}  // namespace

int main(int argc, char** argv) {
  const auto repository = std::filesystem::path(__FILE__).parent_path().parent_path();
  const std::string models = argc > 1 ? argv[1] : (repository / "tests/golden/models").string();
  try {
    Registry& registry = Registry::instance();
    for (const int tile : {64, 128, 256})
      registry.register_kernel(std::make_shared<Kernel>(tiled(static_cast<std::uint16_t>(tile))));
    KernelKey stream_k = tiled(128);
    stream_k.algorithm.streamk = true;
    stream_k.algorithm.reduction_strategy = ReductionStrategy::Tree;
    registry.register_kernel(std::make_shared<Kernel>(stream_k));

    ck_select::SelectorOptions options;
    options.models = {models + "/gemm_small"};
    options.arch = "gfx950";
    const ck_select::GemmSelector selector(registry, options);
    Dispatcher dispatcher(&registry);
    // Identifiers are looked up exactly, so the dispatcher runs what is named.
    dispatcher.set_heuristic(selector.heuristic());
    for (const std::int64_t m : {64, 4096, 100}) {
      const Problem problem(m, 4096, 4096);
      const auto kernel = dispatcher.select_kernel(problem);
      std::printf("M = %-5lld %s\n", static_cast<long long>(m),
                  kernel == nullptr ? "no kernel" : kernel->get_name().c_str());
    }
    // Or without the dispatcher.
    ck_select::GemmOperands operands;  // a, b and c on the device, in a real program
    ck_select::run(selector, Problem(4096, 4096, 4096), operands);
    // A request for Stream-K gets a Stream-K kernel.
    Problem reduced(4096, 4096, 65536);
    reduced.streamk = true;
    reduced.reduction_strategy = ReductionStrategy::Tree;
    ck_select::run(selector, reduced, operands);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  return 0;
}
