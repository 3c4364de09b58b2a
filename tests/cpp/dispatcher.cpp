// ck_select_dispatcher.hpp against stand-ins of CK's classes. Arguments: the repository.

#include "ck_select_dispatcher.hpp"

#include <atomic>
#include <stdexcept>
#include <thread>

#include "../../cpp_examples/stand_in.hpp"
#include "../c/check.h"

using namespace ck_select;

namespace {

using Problem = stand_in::NewConvProblem;
using Conv = stand_in::GroupedConv<Problem>;
using Old = stand_in::GroupedConv<stand_in::OldConvProblem>;
using Key = stand_in::GroupedConvKernelKey;

Key key_of(int m, int n, int k, const char* arch = "gfx950", const char* dtype = "bf16") {
  Key key;
  key.dtype_in = key.dtype_wei = key.dtype_out = dtype;
  key.layout = "nhwgc";
  key.tile_m = m;
  key.tile_n = n;
  key.tile_k = k;
  key.arch = arch;
  return key;
}

template <class Family = Conv, class Supports = std::nullptr_t>
std::shared_ptr<typename Family::KernelInstance> kernel(Key key, const char* name, Supports supports = nullptr) {
  return std::make_shared<typename Family::KernelInstance>(std::move(key), name, nullptr, supports);
}

SelectorOptions quiet() {
  SelectorOptions options;
  options.registry.ignore_environment = true;
  return options;
}

template <class Body>
Status thrown(Body body) {
  try {
    body();
    return Status::ok;
  } catch (const Error& error) {
    return error.status();
  }
}

template <class Selector, class P>
std::string name_of(const Selector& selector, const P& problem) {
  const auto* found = selector.get_solution(problem);
  return found == nullptr ? "" : found->name();
}

void names_say_everything() {
  Key key = key_of(64, 64, 32, "gfx942", "fp16");
  key.op = stand_in::GroupedConvOp::BackwardWeight;
  key.pipeline = "mem";
  key.scheduler = "interwave";
  key.epilogue = "default";
  key.layout = "ngchw";
  key.vector_size_a = 1;
  key.block_per_cu = 2;
  key.num_wave_groups = 3;
  key.num_groups_to_merge = 4;
  key.specialization = "filter1x1_stride1_pad0";
  key.large_tensor = true;
  key.streamk_enabled = true;
  key.streamk_reduction = "tree";
  key.streamk_persistent = true;
  const auto known = detail::ConvAdapter::describe(*kernel(key, "mine_dsb_2stage_explicit_gemm"));
  const ck_conv_kernel_desc raw = known.kernel.capi();
  CHECK(raw.direction == CK_DIRECTION_BWD_WEIGHT && raw.dtype_wei == CK_DTYPE_FP16 && raw.layout == CK_CONV_LAYOUT_NGCHW);
  CHECK(raw.tile[2] == 32 && raw.vector[0] == 1 && raw.block_per_cu == 2 && raw.num_wave_groups == 3);
  CHECK(raw.num_groups_to_merge == 4 && raw.double_smem_buffer && raw.two_stage && raw.explicit_gemm && raw.split_image);
  CHECK(raw.stream_k_persistent && std::string(raw.stream_k_reduction) == "tree");
  const std::string expected =
      "grouped_conv_bwd_weight_fp16_ngchw_2d_mem_default_interwave_64x64x32_2x2x1_32x32x16_vec1_8_8_bpc2_wg3_gm4_dsb_2stage"
      "_filter1x1_stride1_pad0_explicit_gemm_streamk_tree_persistent_large_tensor";
  CHECK(known.key == expected && known.arch == "gfx942" && known.signature.layout == "ngcw");
  // The library reads it.
  Registry registry;
  registry.add(known.key);
  CHECK(detail::ConvAdapter::describe(*kernel(key_of(1, 128, 128), "x_dsbx")).key ==
        "grouped_conv_fwd_bf16_nhwgc_2d_compv3_cshuffle_intrawave_1x128x128_2x2x1_32x32x16");
  CHECK(detail::has_part("a_dsb", "dsb") && detail::has_part("a_dsb_b", "dsb") && !detail::has_part("dsb", "dsb"));
  CHECK(!detail::has_part("a_dsbx_xdsb", "dsb") && detail::has_part("a_dsbx_dsb", "dsb"));
}

void problems_are_mapped() {
  Conv::Registry registry;
  GroupedConvSelector selector(registry, quiet());
  detail::Snapshot<Conv::KernelInstance, ConvKernel> nothing({});
  Problem problem;
  problem.N = 2;
  problem.C = 8;
  problem.K = 16;
  problem.G = 4;
  problem.input_spatial = {5, 6, 7};
  problem.filter_spatial = {1, 2, 3};
  problem.stride = {1, 2, 1};
  problem.dilation = {2, 1, 1};
  problem.padding_left = {0, 1, 2};
  problem.padding_right = {3, 2, 1};
  problem.op = stand_in::GroupedConvOp::BackwardData;
  problem.split_k = 6;
  problem.dtype_in = "fp16";
  problem.dtype_wei = "bf16";
  problem.dtype_out = "fp32";
  problem.layout = "ndhwgc";
  problem.ndim_spatial = 3;
  problem.arch = "gfx942";
  const auto asked = detail::ConvAdapter::map(problem, quiet(), nothing);
  const ck_conv_problem& raw = asked.problem.capi();
  CHECK(raw.n == 2 && raw.c == 8 && raw.k == 16 && raw.g == 4 && raw.ndim == 3 && raw.split_k == 6);
  CHECK(raw.direction == CK_DIRECTION_BWD_DATA && raw.layout == CK_CONV_LAYOUT_NDHWGC);
  CHECK(raw.dtype_in == CK_DTYPE_FP16 && raw.dtype_wei == CK_DTYPE_BF16 && raw.dtype_out == CK_DTYPE_FP32);
  CHECK(std::string(raw.arch) == "gfx942");
  for (std::size_t axis = 0; axis < 3; ++axis) {
    CHECK(raw.input[axis] == problem.input_spatial[axis] && raw.filter[axis] == problem.filter_spatial[axis]);
    CHECK(raw.stride[axis] == problem.stride[axis] && raw.dilation[axis] == problem.dilation[axis]);
    CHECK(raw.pad_left[axis] == problem.padding_left[axis] && raw.pad_right[axis] == problem.padding_right[axis]);
  }
  problem.dtype_in = "fp17";
  CHECK(thrown([&] { (void)detail::ConvAdapter::map(problem, quiet(), nothing); }) == Status::invalid_problem);
  CHECK(selector.get_solution(problem) == nullptr);

  stand_in::OldConvProblem old;
  old.padding = {0, 1, 2};
  SelectorOptions options = quiet();
  options.dtype = "fp16";
  options.layout = "nhwgc";
  options.arch = "gfx950";
  const auto asked_old = detail::ConvAdapter::map(old, options, nothing);
  const ck_conv_problem& raw_old = asked_old.problem.capi();
  CHECK(raw_old.pad_left[2] == 2 && raw_old.pad_right[2] == 2 && raw_old.ndim == 2);
  CHECK(raw_old.dtype_out == CK_DTYPE_FP16 && raw_old.layout == CK_CONV_LAYOUT_NHWGC);
  old.input_spatial[0] = 4;
  CHECK(detail::ConvAdapter::map(old, options, nothing).problem.capi().ndim == 3);
  CHECK(thrown([&] { (void)detail::ConvAdapter::map(old, quiet(), nothing); }) == Status::no_kernel);
}

void only_kernels_that_fit_are_chosen() {
  Conv::Registry registry;
  registry.add(kernel(key_of(64, 64, 64, "gfx942"), "other_arch"));
  registry.add(kernel(key_of(64, 64, 64, "gfx950:xnack-"), "right"));
  registry.add(kernel(key_of(64, 64, 64, "gfx950", "fp16"), "other_type"));
  Key key = key_of(64, 64, 64);
  key.layout = "ngchw";
  registry.add(kernel(key, "other_layout"));
  key = key_of(64, 64, 64);
  key.ndim_spatial = 3;
  key.layout = "ndhwgc";
  registry.add(kernel(key, "three"));
  key = key_of(64, 64, 64);
  key.dtype_out = "fp32";
  registry.add(kernel(key, "mixed"));
  key = key_of(64, 64, 64);
  key.pipeline = "of_my_own";
  registry.add(kernel(key, "unknown_pipeline"));
  key = key_of(-1, 64, 64);
  registry.add(kernel(key, "wildcard"));
  std::vector<std::string> reported;
  SelectorOptions options = quiet();
  options.on_skipped = [&](const Skipped& skipped) { reported.push_back(skipped.name + ": " + skipped.reason); };
  GroupedConvSelector selector(registry, options);
  CHECK(reported.size() == 2 && selector.skipped().size() == 2);

  Problem problem;
  CHECK(name_of(selector, problem) == "right");
  problem.arch = "gfx942:sramecc+";
  CHECK(name_of(selector, problem) == "other_arch");
  problem.arch = "gfx90a";
  CHECK(name_of(selector, problem).empty() && selector.find(problem).status == Status::no_kernel);
  problem.arch = "";
  CHECK(!name_of(selector, problem).empty());
  problem = Problem();
  problem.dtype_in = problem.dtype_wei = problem.dtype_out = "fp16";
  CHECK(name_of(selector, problem) == "other_type");
  problem.dtype_out = "bf16";
  CHECK(name_of(selector, problem).empty());
  problem = Problem();
  problem.dtype_out = "fp32";
  CHECK(name_of(selector, problem) == "mixed");
  problem = Problem();
  problem.layout = "ngchw";
  CHECK(name_of(selector, problem) == "other_layout");
  problem = Problem();
  problem.ndim_spatial = 3;
  problem.layout = "ndhwgc";
  problem.input_spatial[0] = 8;
  CHECK(name_of(selector, problem) == "three");
  problem = Problem();
  problem.op = stand_in::GroupedConvOp::BackwardData;
  CHECK(name_of(selector, problem).empty());
  problem = Problem();
  problem.C = 0;
  CHECK(selector.find(problem).status == Status::invalid_problem);
  registry.add(kernel(key, "later_wildcard"));
  (void)selector.find(Problem());
  CHECK(reported.size() == 3 && reported[2].rfind("later_wildcard", 0) == 0);

  // Problems that do not say their types, with kernels of several. Equal types go first.
  Old::Registry old;
  key = key_of(128, 64, 64);
  key.dtype_out = "fp32";
  old.add(kernel<Old>(key, "mixed"));
  CHECK(name_of(GroupedConvSelector(old, quiet()), stand_in::OldConvProblem()) == "mixed");
  old.add(kernel<Old>(key_of(64, 64, 64), "bf16"));
  GroupedConvSelector unsaid(old, quiet());
  CHECK(name_of(unsaid, stand_in::OldConvProblem()) == "bf16");
  old.add(kernel<Old>(key_of(64, 64, 64, "gfx950", "fp16"), "fp16"));
  CHECK(name_of(unsaid, stand_in::OldConvProblem()).empty());
  CHECK(thrown([&] { (void)unsaid.explain(stand_in::OldConvProblem()); }) == Status::invalid_problem);
  SelectorOptions said = quiet();
  said.dtype = "fp16";
  CHECK(name_of(GroupedConvSelector(old, said), stand_in::OldConvProblem()) == "fp16");
}

void owners_are_asked(const std::string& repository) {
  Conv::Registry registry;
  std::atomic<const Problem*> asked{nullptr};
  registry.add(kernel(key_of(64, 64, 64), "throws", [](const Problem&) -> bool { throw std::runtime_error("no"); }));
  registry.add(kernel(key_of(64, 128, 64), "asked", [&](const Problem& problem) {
    asked = &problem;
    return problem.K == 64;
  }));
  SelectorOptions options = quiet();
  options.priority = [](const std::string& name) { return name == "throws" ? 2 : 1; };
  options.registry.estimate = false;
  GroupedConvSelector selector(registry, options);
  Problem problem;
  const auto found = selector.find(problem);
  CHECK(found.instance->name() == "asked" && found.selection.unsupported == 1 && asked == &problem);
  CHECK(found.selection.source == Source::priority && found.status == Status::ok);
  problem.K = 128;
  CHECK(name_of(selector, problem).empty());
  CHECK(thrown([&] { (void)selector.heuristic()(problem); }) == Status::no_kernel);
  options.heuristic_may_answer_nothing = true;
  CHECK(GroupedConvSelector(registry, options).heuristic()(problem).empty());
  problem.K = 64;
  selector.load_model(repository + "/tests/golden/models/conv_small");
  CHECK(selector.find(problem).selection.source == Source::model);
  CHECK(selector.explain(problem).find("unsupported") != std::string::npos);
  options.models = {"/there/is/no/such/model"};
  CHECK(thrown([&] { GroupedConvSelector bad(registry, options); }) == Status::invalid_model);
}

void parts_of_names_find_no_wrong_kernel(const std::string& repository) {
  Conv::Registry registry;
  bool dsb_fits = true;
  registry.add(kernel(key_of(128, 128, 64), "conv_128"));
  registry.add(kernel(key_of(128, 128, 64), "conv_128_dsb", [&](const Problem&) { return dsb_fits; }));
  registry.add(kernel(key_of(16, 64, 64), "conv_16"));
  SelectorOptions options = quiet();
  options.models = {repository + "/tests/golden/models/conv_small"};
  GroupedConvSelector selector(registry, options);
  Conv::Dispatcher dispatcher(&registry);
  dispatcher.set_heuristic(selector.heuristic());
  dispatcher.set_strategy(Conv::Dispatcher::SelectionStrategy::Heuristic);
  Problem problem;
  problem.N = 16;
  problem.C = problem.K = 256;
  const auto names = selector.heuristic()(problem);
  CHECK(names.size() == 3 && names[0] == selector.get_solution(problem)->name());
  CHECK(dispatcher.select_kernel(problem)->is_supported(problem));
  // "conv_128" would find the unsupported one, too.
  dsb_fits = false;
  CHECK(selector.get_solution(problem)->name() == "conv_128");
  CHECK(selector.heuristic()(problem) == std::vector<std::string>{"conv_16"});
  CHECK(dispatcher.select_kernel(problem)->name() == "conv_16");
  options.heuristic_limit = 1;
  CHECK(GroupedConvSelector(registry, options).heuristic()(problem).size() == 1);
}

void changes_are_followed() {
  Conv::Registry registry;
  GroupedConvSelector selector(registry, quiet());
  SelectorOptions options = quiet();
  options.follow = Follow::size;
  GroupedConvSelector by_size(registry, options);
  options.follow = Follow::told;
  GroupedConvSelector told(registry, options);
  const Problem problem;
  CHECK(name_of(selector, problem).empty() && name_of(by_size, problem).empty() && name_of(told, problem).empty());

  const auto first = kernel(key_of(64, 64, 64), "first");
  registry.add(first);
  CHECK(selector.get_solution(problem) == first.get() && by_size.get_solution(problem) == first.get());
  CHECK(told.get_solution(problem) == nullptr);
  told.refresh();
  CHECK(told.get_solution(problem) == first.get());

  // In place of the first, with the same name: the number stays.
  const auto replacement = kernel(key_of(64, 64, 64), "first");
  CHECK(registry.add(replacement, stand_in::Priority::High));
  CHECK(selector.get_solution(problem) == replacement.get() && by_size.get_solution(problem) == first.get());
  by_size.refresh();
  CHECK(by_size.get_solution(problem) == replacement.get());

  const auto kept = selector.find(problem);
  registry.clear();
  registry.add(kernel(key_of(32, 64, 64), "second"));
  CHECK(name_of(selector, problem) == "second" && kept.instance->name() == "first");
  registry.add(kernel(key_of(64, 64, 64, "gfx942"), "third"));
  registry.filter_by_arch("gfx942");
  CHECK(selector.get_solution(problem) == nullptr);
  registry.clear();
  CHECK(selector.get_solution(problem) == nullptr);
  registry.add(first);
  CHECK(selector.get_solution(problem) == first.get());
}

stand_in::KernelKey gemm_key() {
  stand_in::KernelKey key{};
  key.signature.dtype_a = key.signature.dtype_b = key.signature.dtype_c = stand_in::DataType::BF16;
  key.signature.layout_b = stand_in::LayoutTag::ColMajor;
  key.algorithm.tile_shape = {128, 256, 32};
  key.algorithm.wave_shape = {2, 2, 1};
  key.algorithm.warp_tile_shape = {32, 32, 16};
  key.algorithm.pipeline = stand_in::Pipeline::CompV4;
  key.algorithm.scheduler = stand_in::Scheduler::Intrawave;
  key.algorithm.epilogue = stand_in::Epilogue::CShuffle;
  return key;
}

/// Searches through the instances' own run: what they answer is their time.
void instances_are_measured() {
  SelectorOptions options = quiet();
  options.registry.mode = Mode::search;
  options.registry.host_timing = true;
  options.registry.arch = "gfx950";
  options.registry.store = "off";
  options.registry.warmup = 0;
  options.registry.repeats = 2;
  Conv::Registry registry;
  int runs = 0;
  const auto timed = [&runs](float ms) {
    return [&runs, ms](const Problem& problem, void* stream) {
      CHECK(problem.C == 64 && stream == nullptr);
      ++runs;
      if (ms > 90) throw std::runtime_error("failed on purpose");
      return ms;
    };
  };
  const auto add = [&registry](Key key, const char* name, Conv::KernelInstance::Run run) {
    registry.add(std::make_shared<Conv::KernelInstance>(std::move(key), name, std::move(run)));
  };
  add(key_of(64, 64, 64), "slow", timed(2.0F));
  add(key_of(32, 64, 64), "fast", timed(1.0F));
  add(key_of(16, 64, 64), "stub", timed(0.0F));
  add(key_of(16, 64, 128), "throws", timed(99.0F));
  const Problem problem;
  GroupedConvSelector unmeasured(registry, options);
  CHECK(unmeasured.find(problem).selection.source == Source::estimate && runs == 0);

  options.run_convolutions = true;
  GroupedConvSelector selector(registry, options);
  auto found = selector.find(problem);
  CHECK(found.instance->name() == "fast" && found.selection.source == Source::search);
  CHECK(found.selection.measured->count() == 1.0 && runs > 4);
  const int ran = runs;
  found = selector.find(problem);
  CHECK(found.instance->name() == "fast" && found.selection.source == Source::store && runs == ran);

  stand_in::GemmRegistry gemms;
  for (const std::uint16_t tile : {std::uint16_t{64}, std::uint16_t{128}}) {
    stand_in::KernelKey key = gemm_key();
    key.algorithm.tile_shape.m = tile;
    const auto run = [tile](const void* a, const void*, void* c, const stand_in::GemmProblem& matrix) {
      CHECK(a == reinterpret_cast<const void*>(16) && c == reinterpret_cast<const void*>(32) && matrix.M == 64);
      return tile == 64 ? 3.0F : 4.0F;
    };
    gemms.add(std::make_shared<stand_in::GemmKernelInstance>(key, nullptr, run));
  }
  options.gemm_operands = [](std::int64_t m, std::int64_t n, std::int64_t k) {
    CHECK(m == 64 && n == 32 && k == 16);
    GemmOperands operands;
    operands.a = reinterpret_cast<const void*>(16);
    operands.c = reinterpret_cast<void*>(32);
    return operands;
  };
  const auto matrix = GemmSelector(gemms, options).find(stand_in::GemmProblem{64, 32, 16, 1});
  CHECK(matrix.selection.source == Source::search && matrix.selection.measured->count() == 3.0);
}

void threads_select_while_the_registry_changes() {
  Conv::Registry registry;
  const auto keep = kernel(key_of(128, 128, 64), "always");
  registry.add(keep);
  GroupedConvSelector selector(registry, quiet());
  std::atomic<bool> done{false};
  std::atomic<int> bad{0};
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 16; ++thread) {
    threads.emplace_back([&, thread] {
      const auto heuristic = selector.heuristic();
      Problem problem;
      problem.C = 64 + thread;
      while (!done) {
        const auto found = selector.find(problem);
        if (found.instance == nullptr || !found.instance->is_supported(problem)) ++bad;
        if (heuristic(problem).empty()) ++bad;
      }
    });
  }
  for (int change = 0; change < 600; ++change) {
    const int tile = 16 << (change % 3);
    const auto even = [change](const Problem& problem) { return (problem.C + change) % 2 == 0; };
    registry.add(kernel(key_of(tile, 64, 64), "coming_and_going", even), stand_in::Priority::High);
    if (change % 4 == 3) {
      // All at once but one that stays, as in CK.
      registry.filter_by_arch("gfx950");
      registry.add(kernel(key_of(tile, 128, 64, "gfx90a"), "elsewhere"));
    }
    std::this_thread::yield();
  }
  done = true;
  for (std::thread& thread : threads) thread.join();
  CHECK(bad == 0);
}

void gemms() {
  const auto described = [](const stand_in::KernelKey& key) {
    return detail::GemmAdapter::describe(stand_in::GemmKernelInstance(key, nullptr));
  };
  CHECK(described(gemm_key()).key ==
        "bf16_rcr_compv4_cshuffle_intrawave_True_True_True_False_128x256x32_2x2x1_32x32x16");
  stand_in::KernelKey key = gemm_key();
  key.signature.dtype_a = key.signature.dtype_b = stand_in::DataType::FP8;
  key.signature.dtype_c = stand_in::DataType::FP16;
  key.signature.layout_b = stand_in::LayoutTag::RowMajor;
  key.signature.split_k = 200;
  key.signature.elementwise_op = "Relu";
  key.signature.num_d_tensors = 1;
  key.signature.structured_sparsity = true;
  key.algorithm.tile_shape = {64, 64, 128};
  key.algorithm.wave_shape = {1, 4, 1};
  key.algorithm.warp_tile_shape = {16, 16, 64};
  key.algorithm.pipeline = stand_in::Pipeline::Mem;
  key.algorithm.scheduler = stand_in::Scheduler::Interwave;
  key.algorithm.epilogue = stand_in::Epilogue::Default;
  key.algorithm.pad_m = key.algorithm.pad_n = key.algorithm.pad_k = false;
  key.algorithm.persistent = key.algorithm.preshuffle = true;
  const std::string identifier = described(key).key;
  CHECK(identifier ==
        "fp8_rrr_mem_default_interwave_False_False_False_True_64x64x128_1x4x1_16x16x64_splitk200_Relu_d1_sparse_preshuffle");
  Registry library;
  library.add(identifier);

  stand_in::GemmRegistry registry;
  registry.add(std::make_shared<stand_in::GemmKernelInstance>(
      gemm_key(), [](const stand_in::GemmProblem& problem) { return problem.M > 1; }));
  key = gemm_key();
  key.algorithm.tile_shape.m = 64;
  key.signature.dtype_c = stand_in::DataType::FP32;
  registry.add(std::make_shared<stand_in::GemmKernelInstance>(key, nullptr));
  key = gemm_key();
  key.algorithm.tile_shape.m = 32;
  key.signature.transpose_a = true;
  registry.add(std::make_shared<stand_in::GemmKernelInstance>(key, nullptr));
  GemmSelector selector(registry, quiet());
  CHECK(selector.skipped().size() == 1);
  const auto heuristic = selector.heuristic();
  CHECK(heuristic(stand_in::GemmProblem{64, 64, 64, 1}) == std::vector<std::string>{"bf16/compv4/128x256x32"});
  CHECK(heuristic(stand_in::GemmProblem{1, 64, 64, 1}).empty());
  CHECK(selector.get_solution(stand_in::GemmProblem{0, 64, 64, 1}) == nullptr);
  CHECK(selector.find(stand_in::GemmProblem{64, 64, 64, 0}).status == Status::invalid_problem);
  SelectorOptions options = quiet();
  options.dtype = "bf16";
  options.layout = "rrr";
  CHECK(GemmSelector(registry, options).get_solution(stand_in::GemmProblem{64, 64, 64, 1}) == nullptr);
  options.layout = "rx";
  CHECK(GemmSelector(registry, options).find(stand_in::GemmProblem{64, 64, 64, 1}).status == Status::invalid_problem);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::printf("usage: dispatcher REPOSITORY\n");
    return 2;
  }
  names_say_everything();
  problems_are_mapped();
  only_kernels_that_fit_are_chosen();
  owners_are_asked(argv[1]);
  parts_of_names_find_no_wrong_kernel(argv[1]);
  changes_are_followed();
  instances_are_measured();
  threads_select_while_the_registry_changes();
  gemms();
  return finish("dispatcher");
}
