// ck_select_dispatcher.hpp against one generation of CK's convolution headers, whichever the compiler finds. Arguments:
// the repository.

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <new>
#include <set>
#include <stdexcept>
#include <thread>
#include <vector>

#include "generation.hpp"

#include "common.hpp"

using namespace ck_select;
using namespace generation;
using namespace common;

namespace {

std::atomic<bool> counting{false};
std::atomic<long> allocations{0};

void* counted(std::size_t size) {
  if (counting) ++allocations;
  if (void* made = std::malloc(size == 0 ? 1 : size)) return made;
  throw std::bad_alloc();
}

}  // namespace

// A sanitizer has its own.
#ifndef __SANITIZE_ADDRESS__
void* operator new(std::size_t size) { return counted(size); }
void* operator new[](std::size_t size) { return counted(size); }
void operator delete(void* made) noexcept { std::free(made); }
void operator delete[](void* made) noexcept { std::free(made); }
void operator delete(void* made, std::size_t) noexcept { std::free(made); }
void operator delete[](void* made, std::size_t) noexcept { std::free(made); }
#else
void* (*const not_counted)(std::size_t) = &counted;
#endif

// The runtime that a program with kernels has loaded. Its memory is the host's. The names are those of the linker: with
// CK's own headers, HIP's declarations are here, too.
namespace {
std::atomic<long> on_device{0};
long device_limit = -1;
}  // namespace
int allocate(void** made, std::size_t size) __asm__("hipMalloc");
int release(void* made) __asm__("hipFree");
int copy(void* to, const void* from, std::size_t size, int kind) __asm__("hipMemcpy");
int device_of(int* device) __asm__("hipGetDevice");
int allocate(void** made, std::size_t size) {
  if (device_limit >= 0 && on_device >= device_limit) return 2;
  *made = std::malloc(size);
  ++on_device;
  return 0;
}
int release(void* made) {
  std::free(made);
  --on_device;
  return 0;
}
int copy(void* to, const void* from, std::size_t size, int kind) {
  CHECK(kind == 1);
  std::copy_n(static_cast<const char*>(from), size, static_cast<char*>(to));
  return 0;
}
int device_of(int* device) {
  *device = 3;
  return 0;
}

namespace {

using Registry_ = ck::GroupedConvRegistry;

const void* const in = reinterpret_cast<const void*>(0x10);
const void* const wei = reinterpret_cast<const void*>(0x20);
void* const out = reinterpret_cast<void*>(0x30);

std::string models;
const Instance* ran = nullptr;
Seen ran_with;

/// A kernel that tells what it was run with.
std::shared_ptr<Instance> telling(const Key& key, const std::string& name, Supports supports = nullptr, float ms = 1) {
  auto self = std::make_shared<const Instance*>(nullptr);
  auto made = make(key, name, [self, ms](const Problem&, void*) {
    ran = *self;
    ran_with = seen();
    return ms;
  }, std::move(supports));
  *self = made.get();
  return made;
}

std::string name_of(const GroupedConvSelector<Registry_>& selector, const Problem& problem) {
  const auto* found = selector.get_solution(problem);
  return found == nullptr ? "" : found->name();
}

SelectorOptions by_model() {
  SelectorOptions options = quiet();
  options.models = {models + "/conv_small"};
  return options;
}

/// CK's dispatcher, which asks a selector.
ck::GroupedConvDispatcher asking(Registry_& registry, const GroupedConvSelector<Registry_>& selector) {
  ck::GroupedConvDispatcher dispatcher(&registry);
  dispatcher.set_heuristic(selector.heuristic());
  dispatcher.set_strategy(ck::GroupedConvDispatcher::SelectionStrategy::Heuristic);
  return dispatcher;
}

template <class K>
void set_more(K& key) {
  if constexpr (says_more<K>) {
    key.specialization = "filter1x1_stride1_pad0";
    key.large_tensor = key.streamk_enabled = key.streamk_persistent = true;
    key.streamk_reduction = "tree";
  }
  (void)key;
}

void keys_say_everything() {
  Key key = key_of(64, 64, 32, "mem");
  key.dtype_in = key.dtype_wei = key.dtype_out = "fp16";
  key.op = ck::GroupedConvOp::BackwardWeight;
  key.scheduler = "interwave";
  key.epilogue = "default";
  key.layout = "ngchw_gkcyx_ngkhw";
  key.vector_size_a = 1;
  key.block_per_cu = 2;
  key.num_wave_groups = 3;
  key.num_groups_to_merge = 4;
  set_more(key);
  const auto known = detail::ConvAdapter::describe(*make(key, "mine_dsb_2stage_explicit_gemm", nullptr));
  if (has_name<>) {  // what cannot run is refused
    CHECK(known.reason == "it cannot be executed");
  }
  const auto runs = [](const Problem&, void*) { return 0.0F; };
  const auto described = detail::ConvAdapter::describe(*make(key, "mine_dsb_2stage_explicit_gemm", runs));
  const ck_conv_kernel_desc raw = described.kernel.capi();
  CHECK(raw.direction == CK_DIRECTION_BWD_WEIGHT && raw.dtype_wei == CK_DTYPE_FP16 &&
        raw.layout == CK_CONV_LAYOUT_NGCHW);
  CHECK(raw.tile[2] == 32 && raw.vector[0] == 1 && raw.block_per_cu == 2 && raw.num_wave_groups == 3);
  CHECK(raw.num_groups_to_merge == 4 && raw.double_smem_buffer && raw.two_stage && raw.explicit_gemm);
  CHECK((raw.split_image != 0) == says_more<> && (raw.stream_k.persistent != 0) == says_more<>);
  CHECK(described.contradiction.empty());
  const std::string first =
      "grouped_conv_bwd_weight_fp16_ngchw_2d_mem_default_interwave_64x64x32_2x2x1_32x32x16_vec1_8_8_bpc2_wg3_gm4_dsb_"
      "2stage";
  const std::string more = says_more<> ? "_filter1x1_stride1_pad0_explicit_gemm_streamk_tree_persistent_large_tensor"
                                       : "_explicit_gemm";
  CHECK(described.key == first + more + "_gkcyx_ngkhw");
  Registry registry;
  registry.add(first + more);  // the library reads it
  // A name with "dsb" inside a word, and a key without two buffers.
  const auto plain = detail::ConvAdapter::describe(*make(key_of(1, 128, 128), "x_dsbx", runs));
  CHECK(plain.key.rfind("grouped_conv_fwd_bf16_nhwgc_2d_compv3_cshuffle_intrawave_1x128x128_2x2x1_32x32x16", 0) == 0);
  CHECK(plain.key.find("dsb") == std::string::npos);
}

/// CK's generators write some pipelines as compv3 into keys, and counts as 1: the name knows.
void names_go_before_keys() {
  const auto runs = [](const Problem&, void*) { return 1.0F; };
  Key key = key_of(64, 128, 64, "comp_async");
  const std::string name = generation::name_of(key, "_bpc2_wg2");
  key.pipeline = "compv3";
  const auto known = detail::ConvAdapter::describe(*make(key, name, runs));
  CHECK(known.kernel.pipeline == "comp_async" && known.kernel.key.block_per_cu == 2 &&
        known.kernel.key.num_wave_groups == 2);
  CHECK(known.contradiction ==
        "pipeline: name comp_async, key compv3; block_per_cu: name 2, key 1; num_wave_groups: name 2, key 1");
  // What the name does not say is the key's.
  key = key_of(64, 128, 64);
  key.wave_m = 4;
  const auto shorter =
      detail::ConvAdapter::describe(*make(key, "grouped_conv_forward_bf16_2d_64x128x64_wavelet_intrawave", runs));
  CHECK(shorter.kernel.pipeline == "wavelet" && shorter.kernel.key.wave[0] == 4 &&
        shorter.contradiction == "pipeline: name wavelet, key compv3");

  // Four kernels whose keys differ in nothing but what identifies them are four kernels.
  Registry_ registry;
  std::vector<std::shared_ptr<Instance>> all;
  for (const char* pipeline : {"compv3", "basic_v1", "comp_async", "wavelet"}) {
    Key own = key_of(64, 128, 64, pipeline);
    const std::string own_name = generation::name_of(own);
    if (has_name<>) own.pipeline = "compv3";  // before, keys had to differ
    all.push_back(telling(own, own_name));
    CHECK(add(registry, all.back()));
  }
  // And two whose names say nothing.
  Key own = key_of(256, 128, 64);
  for (const char* text : {"my_kernel", "my_other_kernel"}) {
    all.push_back(telling(own, text));
    CHECK(add(registry, all.back()));
    if (!has_name<>) own.tile_k = 32;
  }
  GroupedConvSelector selector(registry, quiet());
  CHECK(selector.skipped().empty() && selector.contradictions().size() == (has_name<> ? 3U : 0U));
  std::set<std::string> named;
  for (const auto& one : all) {
    SelectorOptions options = quiet();
    options.priority = [&](const std::string& text) { return text == one->name() ? 2 : 1; };
    GroupedConvSelector chosen(registry, options);
    const auto* found = chosen.get_solution(layer(16, 64, 64, 28));
    CHECK(found == one.get());
    if (found != nullptr) named.insert(found->name());
  }
  CHECK(named.size() == all.size());
}

template <class P>
void texts_are_whole(P problem) {
  Registry_ registry;
  const auto with = [&](const char* layout, const char* arch, const char* name) {
    Key key = key_of(64, 64, 64);
    key.layout = layout;
    key.arch = arch;
    CHECK(add(registry, telling(key, name)));
  };
  with("nhwgc_gkyxc_nhwgk", "gfx950", "usual");
  with("nhwgc_kyxgc_nhwgk", "gfx950", "other_weight_order");
  with("nhwgc_gkyxc_nhwgk", "gfx950:sramecc+:xnack-", "with_features");
  with("nhwgc_gkyxc_nhwgk", "gfx942", "other_arch");
  const auto chosen = [&](const char* layout, const char* arch) {
    SelectorOptions options = quiet();
    options.layout = layout;
    options.arch = arch;
    options.dtype = "bf16";
    if constexpr (says_all<P>) {
      options = quiet();
      problem.layout = layout;
      problem.arch = arch;
    }
    return name_of(GroupedConvSelector(registry, options), problem);
  };
  CHECK(chosen("nhwgc_gkyxc_nhwgk", "gfx950") == "usual");
  CHECK(chosen("nhwgc_kyxgc_nhwgk", "gfx950") == "other_weight_order");
  CHECK(chosen("nhwgc_gkyxc_nhwgk", "gfx950:sramecc+:xnack-") == "with_features");
  CHECK(chosen("nhwgc_gkyxc_nhwgk", "gfx942") == "other_arch");
  CHECK(chosen("nhwgc_kyxgc_nhwgk", "gfx942").empty());
  CHECK(chosen("nhwgc", "gfx950").empty());
  // HIP reports targets with features, keys name the base: this was a bare no_kernel. Not so for other features.
  CHECK(chosen("nhwgc_gkyxc_nhwgk", "gfx950:xnack-") == "usual");
  CHECK(chosen("nhwgc_kyxgc_nhwgk", "gfx950:sramecc+:xnack-") == "other_weight_order");
  Registry_ only_features;
  Key key = key_of(64, 64, 64);
  key.layout = "nhwgc_gkyxc_nhwgk";
  key.arch = "gfx950:xnack+";
  CHECK(add(only_features, telling(key, "with_features")));
  SelectorOptions options = quiet();
  options.layout = key.layout;
  options.arch = "gfx950:xnack-";
  if constexpr (says_all<P>) {
    problem.layout = key.layout;
    problem.arch = options.arch;
  }
  const GroupedConvSelector selector(only_features, options);
  const auto none = selector.find(problem);
  CHECK(none.status == Status::no_kernel &&
        none.reason == "no registered kernel is for gfx950:xnack-, but for gfx950:xnack+");
  CHECK(selector.explain(problem).find(none.reason) != std::string::npos);
  if constexpr (says_all<P>) {
    problem.ndim_spatial = 7;
    CHECK(GroupedConvSelector(registry, quiet()).find(problem).status == Status::invalid_problem);
  }
}

/// Types, operation and dimensions, and what cannot be expressed.
void only_kernels_that_fit_are_chosen() {
  Registry_ registry;
  const auto put = [&](Key key, const char* name) { CHECK(add(registry, telling(key, name))); };
  put(key_of(64, 64, 64), "right");
  Key key = key_of(64, 64, 64);
  key.dtype_in = key.dtype_wei = key.dtype_out = "fp16";
  put(key, "other_type");
  key = key_of(64, 64, 64);
  key.dtype_out = "fp32";
  put(key, "mixed");
  key = key_of(64, 64, 64);
  key.op = ck::GroupedConvOp::BackwardData;
  put(key, "backward");
  put(key_of(-1, 64, 64), "wildcard");
  std::vector<std::string> reported;
  SelectorOptions options = quiet();
  options.on_skipped = [&](const Skipped& skipped) { reported.push_back(skipped.name); };
  options.dtype = "bf16";
  GroupedConvSelector selector(registry, options);
  CHECK(reported.size() == 1 && selector.skipped().size() == 1);
  Problem problem = layer(16, 64, 64, 28);
  CHECK(name_of(selector, problem) == "right");
  problem.op = ck::GroupedConvOp::BackwardData;
  CHECK(name_of(selector, problem) == "backward");
  problem.op = ck::GroupedConvOp::BackwardWeight;
  CHECK(name_of(selector, problem).empty() && selector.find(problem).status == Status::no_kernel);
  problem = layer(16, 64, 64, 28);
  problem.C = 0;
  CHECK(selector.find(problem).status == Status::invalid_problem);
  CHECK(add(registry, telling(key_of(-1, 32, 64), "later_wildcard")));
  (void)selector.find(layer(16, 64, 64, 28));
  CHECK(reported.size() == 2 && reported[1] == "later_wildcard");
}

/// CK's dispatcher runs kernels whose words the library does not know; the runners threw NoKernelFound.
void kernels_with_newer_words_run() {
  std::vector<std::pair<const char*, Key>> newer;
  for (std::string Key::*field : {&Key::pipeline, &Key::scheduler, &Key::epilogue}) {
    newer.emplace_back("newer", key_of(128, 64, 64));
    newer.back().second.*field = "word_of_2030";
  }
  for (const auto& [name, key] : newer) {
    for (const bool estimate : {false, true}) {
      Registry_ registry;
      CHECK(add(registry, telling(key, name)));
      SelectorOptions options = quiet();
      options.registry.estimate = estimate;
      options.arch = "gfx950";
      const GroupedConvRunner runner(&registry, options);
      const Problem problem = layer(16, 64, 64, 28);
      CHECK(runner.run(in, wei, out, problem) == 1.0F && ran->name() == name && runner.selector().skipped().empty());
      CHECK(runner.selector().find(problem).selection.unmeasured);
      // CK's own choice is an instance without an error: its status said that there is none.
      const auto by_priority = runner.selector().find_by_priority(problem);
      CHECK(by_priority.instance != nullptr && by_priority.status == Status::ok);
      // Beside a known kernel of a lower priority: that one, if it can be ranked, else CK's choice.
      CHECK(add(registry, telling(key_of(64, 64, 64), "known"), ck::Priority::Low));
      CHECK(runner.run(in, wei, out, problem) == 1.0F && ran->name() == (estimate ? "known" : name));
    }
  }
}

/// Problems that do not say their types, with kernels of several: told once, aloud, with what helps.
void ambiguity_is_told_once() {
  Registry_ registry;
  Key key = key_of(64, 64, 64);
  CHECK(add(registry, telling(key, "bf16")));
  key.dtype_in = key.dtype_wei = key.dtype_out = "fp16";
  CHECK(add(registry, telling(key, "fp16")));
  GroupedConvSelector selector(registry, quiet());
  const Problem problem = layer(16, 64, 64, 28);
  if (says_all<>) {
    CHECK(name_of(selector, problem) == "bf16");
    return;
  }
  log_lines.clear();
  for (int time = 0; time < 3; ++time)
    CHECK(selector.heuristic()(problem).empty() && name_of(selector, problem).empty());
  CHECK(thrown([&] { (void)selector.explain(problem); }) == Status::invalid_problem);
  CHECK(errors_logged() == 1 && logged("set SelectorOptions::dtype and layout") && logged("fp16 nhwgc"));
  SelectorOptions said = quiet();
  said.dtype = "fp16";
  CHECK(name_of(GroupedConvSelector(registry, said), problem) == "fp16");
}

/// Families of names that contain one another, each longer one registered after the shorter: where hash tables show the
/// newest first, a search for a part finds the wrong one.
void fill(Registry_& registry) {
  const std::array<const char*, 5> suffixes{"", "_dsb", "_gm2", "_gm2_dsb", "_large_tensor"};
  for (const char* pipeline : {"compv3", "compv4", "compv5", "mem"}) {
    for (const std::array<int, 3> tile :
         {std::array<int, 3>{64, 64, 64}, {64, 128, 64}, {128, 64, 64}, {128, 128, 64}}) {
      for (std::size_t at = 0; at < suffixes.size(); ++at) {
        Key key = key_of(tile[0], tile[1], tile[2], pipeline);
        const std::string name = generation::name_of(key, suffixes[at]);
        // Older keys do not tell all of them: something else must make them differ.
        key.num_groups_to_merge = at >= 2 && at < 4 ? 2 : 1;
        key.arch = "gfx950";
        if (!has_name<>) key.vector_size_c = 8 - static_cast<int>(at);
        const int parity = static_cast<int>(at);
        CHECK(add(registry, telling(key, name, [parity](const Problem& problem) {
                    return problem.K % (8 << (parity % 2)) == 0;
                  })));
      }
    }
  }
}

std::vector<Problem> sixty() {
  std::vector<Problem> problems;
  for (const int n : {1, 16, 64}) {
    for (const int c : {64, 128, 256, 512}) {
      for (const int size : {7, 14, 28, 56, 112})
        problems.push_back(layer(n, c, c == 128 ? 72 : 2 * c, size, size > 14 ? 3 : 1));
    }
  }
  return problems;
}

/// The kernel that runs is the kernel that is named, each time.
void what_is_named_is_what_runs() {
  Registry_ registry;
  fill(registry);
  SelectorOptions options = by_model();
#ifdef EXACT_NAMES
  options.exact_names = true;
#endif
  const GroupedConvSelector selector(registry, options);
  const GroupedConvRunner runner(&registry, options);
  auto dispatcher = asking(registry, selector);
  const auto problems = sixty();
  CHECK(problems.size() == 60);
  int by_run = 0, by_runner = 0, by_dispatcher = 0, as_listed = 0;
  std::set<const Instance*> different;
  for (const Problem& problem : problems) {
    const Instance* named = selector.get_solution(problem);
    CHECK(named != nullptr);
    different.insert(named);
    ran = nullptr;
    const float ms = ck_select::run(selector, problem, {in, wei, out}, nullptr, 5);
    CHECK(ms == 1.0F);
    by_run += ran == named ? 1 : 0;
    CHECK(ran_with.input == in && ran_with.weight == wei && ran_with.output == out && !ran_with.benchmarking);
    CHECK(ran_with.device == (has_context<> ? 5 : 0) && ran_with.split_k == 1 && ran_with.repeat == 1);
    ran = nullptr;
    CHECK(runner.select_kernel(problem) == named && runner.run(in, wei, out, problem) == 1.0F);
    by_runner += ran == named ? 1 : 0;
    ran = nullptr;
    CHECK(dispatcher.run(in, wei, out, problem) == 1.0F);
    // The dispatcher as it is, or with names compared whole.
    by_dispatcher += ran == named ? 1 : 0;
    const auto list = selector.heuristic()(problem);
    // What comes first leads to itself or to a better one that hides behind it, never to a kernel that cannot run the
    // problem.
    as_listed += ran != nullptr && !list.empty() && ran->name().find(list.front()) != std::string::npos ? 1 : 0;
    CHECK(ran != nullptr && detail::is_supported(*ran, problem));
  }
  CHECK(different.size() >= 3);
  printf("of 60 problems, what was named ran: run %d, GroupedConvRunner %d, CK's dispatcher %d (its first text %d)\n",
         by_run, by_runner, by_dispatcher, as_listed);
  CHECK(by_run == 60 && by_runner == 60 && as_listed == 60);
}

void runners_are_dispatchers() {
  Registry_ registry;
  CHECK(add(registry, telling(key_of(64, 64, 64), "low"), ck::Priority::Low));
  CHECK(add(registry, telling(key_of(128, 64, 64), "high"), ck::Priority::High));
  SelectorOptions options = by_model();
  GroupedConvRunner runner(&registry, options);
  Problem problem = layer(16, 256, 128, 28);
  problem.split_k = 4;
  const Seen before = seen();
  CHECK(runner.run(in, wei, out, problem) == 1.0F && ran_with.split_k == 4 && ran_with.device == 0);
  CHECK(ran_with.benchmarking == !has_context<> && ran_with.repeat == (has_context<> ? 1 : 10));
  CHECK(runner.run(in, wei, out, problem, nullptr, 1, 2) == 1.0F && ran_with.repeat == 2);
  CHECK(runner.run(in, wei, out, problem, 6) == 1.0F && ran_with.device == (has_context<> ? 6 : 0));
  runner.set_benchmarking(!runner.benchmarking_enabled());
  CHECK(runner.run(in, wei, out, problem) == 1.0F && ran_with.benchmarking == has_context<>);
  CHECK(seen() == before);
  // With what the thread has in place.
  CHECK(runner.run(problem) == 1.0F && ran_with == before);
  // And back.
  runner.set_strategy(GroupedConvRunner<Registry_>::SelectionStrategy::PriorityBased);
  CHECK(runner.select(problem)->name() == "high" && runner.run(in, wei, out, problem) == 1.0F && ran->name() == "high");
  runner.set_strategy(GroupedConvRunner<Registry_>::SelectionStrategy::Heuristic);

  problem.op = ck::GroupedConvOp::BackwardWeight;
  CHECK(runner.select_kernel(problem) == nullptr);
  const auto run = [&] { (void)runner.run(in, wei, out, problem); };
  CHECK(raised<ck::NoKernelFound>(run).find("no kernel can run ") != std::string::npos);
  CHECK(thrown([] { GroupedConvRunner<Registry_> none(nullptr); }) == Status::null_pointer);

  // What a kernel throws comes through, and the buffers are what they were.
  Registry_ throwing;
  CHECK(add(throwing, make(key_of(64, 64, 64), "throws",
                           [](const Problem&, void*) -> float { throw std::runtime_error("no"); })));
  GroupedConvRunner thrower(&throwing, quiet());
  const auto throws = [&] { (void)thrower.run(in, wei, out, layer(16, 64, 64, 28)); };
  CHECK(raised<std::runtime_error>(throws) == "no" && seen() == before);
}

/// Predicates of the gradient of the weight read the split where run() puts it.
void kernels_are_asked_about_the_problems_split() {
  if (!asks<>) return;
  Registry_ registry;
  CHECK(add(registry, telling(key_of(64, 64, 64), "only_split", [](const Problem&) { return seen().split_k == 4; })));
  GroupedConvSelector selector(registry, quiet());
  Problem problem = layer(16, 64, 64, 28);
  CHECK(name_of(selector, problem).empty() && selector.heuristic()(problem).empty());
  problem.split_k = 4;
  const Seen before = seen();
  CHECK(name_of(selector, problem) == "only_split" && !selector.heuristic()(problem).empty() && seen() == before);
}

/// Where the gradient of the weight leaves the choice (split_k 0), and it runs with the chosen number.
void parts_are_chosen() {
  if (!asks<>) return;
  Registry_ registry;
  auto key = key_of(64, 64, 64);
  key.op = ck::GroupedConvOp::BackwardWeight;
  CHECK(add(registry, telling(key, "only_split", [](const Problem&) { return seen().split_k == 4; })));
  GroupedConvRunner runner(&registry, quiet());
  Problem problem = layer(16, 64, 64, 28);
  problem.op = ck::GroupedConvOp::BackwardWeight;
  CHECK(runner.select(problem) == nullptr);
  problem.split_k = 0;
  const Seen before = seen();
  CHECK(runner.selector().find(problem).selection.split_k == 4);
  CHECK(runner.run(in, wei, out, problem) == 1.0F && ran_with.split_k == 4 && seen() == before);
  // Only backward weight leaves it.
  problem.op = ck::GroupedConvOp::Forward;
  const Status status = runner.selector().find(problem).status;
  CHECK(status == Status::invalid_problem || (!says_all<> && status == Status::no_kernel));
}

void heuristics_never_throw() {
  Registry_ registry;
  GroupedConvSelector selector(registry, quiet());
  auto dispatcher = asking(registry, selector);
  const Problem problem = layer(16, 64, 64, 28);
  log_lines.clear();
  CHECK(selector.heuristic()(problem).empty() && dispatcher.select_kernel(problem) == nullptr);
  CHECK(logged("no answer"));
  CHECK(!raised<ck::NoKernelFound>([&] { (void)dispatcher.run(in, wei, out, problem); }).empty());
  // One that CK would take: it goes on as without us.
  CHECK(add(registry, telling(key_of(-1, 64, 64), "not_ours")));
  CHECK(selector.heuristic()(problem).empty() && dispatcher.select_kernel(problem)->name() == "not_ours");
}

void parts_of_names_find_no_wrong_kernel() {
  if (!asks<>) return;
  Registry_ registry;
  bool dsb_fits = true;
  CHECK(add(registry, telling(key_of(128, 128, 64), "conv_128")));
  CHECK(add(registry, telling(key_of(128, 128, 32), "conv_128_dsb", [&](const Problem&) { return dsb_fits; })));
  CHECK(add(registry, telling(key_of(16, 64, 64), "conv_16")));
  SelectorOptions options = by_model();
  GroupedConvSelector selector(registry, options);
  auto dispatcher = asking(registry, selector);
  const Problem problem = layer(16, 256, 256, 28);
  CHECK(detail::is_supported(*dispatcher.select_kernel(problem), problem));
  dsb_fits = false;
  const auto names = selector.heuristic()(problem);
  // The newest dispatcher asks what it finds; for the others "conv_128" may find the unsupported one.
  CHECK(has_name<> ? names.size() == 2 : names == std::vector<std::string>{"conv_16"});
  CHECK(detail::is_supported(*dispatcher.select_kernel(problem), problem));
  options.heuristic_limit = 1;
  CHECK(GroupedConvSelector(registry, options).heuristic()(problem).size() == 1);
}

/// Without anything better, CK's own choice.
void priorities_are_cks() {
  Registry_ registry;
  CHECK(add(registry, telling(key_of(64, 64, 64), "a_normal")));
  CHECK(add(registry, telling(key_of(128, 64, 64), "b_high"), ck::Priority::High));
  CHECK(add(registry, telling(key_of(32, 64, 64), "c_low"), ck::Priority::Low));
  GroupedConvSelector selector(registry, quiet());
  const Problem problem = layer(16, 64, 64, 28);
  const auto found = selector.find(problem);
  CHECK(found.instance->name() == "b_high" && found.selection.source == Source::priority);
  // With the estimate, which chooses among the highest.
  SelectorOptions estimating = quiet();
  estimating.registry.estimate = true;
  estimating.registry.arch = "gfx950";
  const auto estimated = GroupedConvSelector(registry, estimating).find(problem);
  CHECK(estimated.instance->name() == "b_high" && estimated.selection.source == Source::estimate);
  CHECK(found.selection.name.find("128x64x64") != std::string_view::npos);
  CHECK(selector.heuristic()(problem).front() == "b_high");
  // Among equal ones CK's rule, whatever it is.
  for (const char* name : {"z_high", "aa_high", "m_high"}) {
    CHECK(add(registry, telling(key_of(256, 64, name[0] == 'z' ? 64 : name[0] == 'a' ? 32 : 128), name),
              ck::Priority::High));
    CHECK(selector.get_solution(problem) == registry.find(problem));
  }
  // A priority that rises, with the same instance.
  const auto low = telling(key_of(16, 64, 64), "riser");
  registry.clear();
  CHECK(add(registry, low) && add(registry, telling(key_of(16, 16, 64), "other"), ck::Priority::High));
  CHECK(name_of(selector, problem) == "other");
  registry.clear();
  CHECK(add(registry, low, ck::Priority::High) &&
        add(registry, telling(key_of(16, 16, 64), "other"), ck::Priority::Low));
  SelectorOptions options = quiet();
  CHECK(name_of(selector, problem) == "riser");
  options.priority = [](const std::string& name) { return name == "other" ? 7 : 0; };
  CHECK(name_of(GroupedConvSelector(registry, options), problem) == "other");
}

/// A kernel of one dimension was never asked where problems do not state their dimensions.
template <class P>
void kernels_of_one_dimension_are_served(P problem) {
  Registry_ registry;
  Key key = key_of(64, 64, 64);
  key.ndim_spatial = 1;
  key.layout = "nwgc";
  CHECK(add(registry, telling(key, "of_one")));
  const GroupedConvSelector selector(registry, quiet());
  CHECK(selector.skipped().empty());
  problem.input_spatial[1] = problem.filter_spatial[1] = 1;
  set_padding(problem, 0);
  (void)problem.compute_output_size();
  if constexpr (!says_all<P>) {
    CHECK(name_of(selector, problem) == "of_one");
    CHECK(add(registry, telling(key_of(64, 64, 64), "of_two")));
    CHECK(name_of(selector, problem) == "of_one" && name_of(selector, layer(16, 64, 64, 28)) == "of_two");
  } else {
    // V3 finds none for one dimension. A fork does, and reads neither depth nor height of such a problem: it was refused
    // for CK's default height.
    problem.layout = key.layout;
    problem.ndim_spatial = 1;
    problem.input_spatial[1] = 28;
    problem.filter_spatial[1] = 3;
    const detail::Snapshot<Instance, ConvKernel, ConvProblem> nothing;
    const auto query = detail::ConvAdapter::map(problem, quiet(), nothing);
    Registry library(quiet().registry);
    library.add(detail::ConvAdapter::describe(*telling(key, "of_one")).kernel);
    Selection selection;
    CHECK(library.try_select(query.problem, selection) == Status::ok);
  }
}

/// One kernel that throws took every answer away, with the status of a panic and without its message.
void one_that_throws_counts_as_no() {
  if (!asks<>) return;
  Registry_ registry;
  const Supports throws = [](const Problem&) -> bool { throw std::runtime_error("its table is missing"); };
  CHECK(add(registry, telling(key_of(64, 64, 64), "a_thrower", throws), ck::Priority::High));
  GroupedConvSelector selector(registry, quiet());
  const Problem problem = layer(16, 64, 64, 28);
  const std::string message = "is_supported of a_thrower threw, which counts as \"no\": its table is missing";
  const auto none = selector.find(problem);
  CHECK(none.status == Status::no_kernel && none.reason == message);
  // The find of V3 ends with the exception, and a runner by priority ended with it; those before ask no kernel.
  GroupedConvRunner runner(&registry, quiet());
  runner.set_strategy(GroupedConvRunner<Registry_>::SelectionStrategy::PriorityBased);
  const std::string told = raised<ck::NoKernelFound>([&] { (void)runner.run(in, wei, out, problem); });
  CHECK(!has_context<> || (runner.select(problem) == nullptr && told.find(message) != std::string::npos));
  CHECK(add(registry, telling(key_of(128, 64, 64), "sound")));
  for (const bool estimates : {false, true}) {
    SelectorOptions options = quiet();
    options.registry.estimate = estimates;
    options.registry.arch = "gfx950";
    const GroupedConvSelector own(registry, options);
    const auto found = own.find(problem);
    CHECK(found.status == Status::ok && found.instance->name() == "sound" && found.reason.empty());
    CHECK(found.selection.source == (estimates ? Source::estimate : Source::priority));
    CHECK(own.explain(problem).find(message) != std::string::npos);
    CHECK(own.heuristic()(problem) == std::vector<std::string>{"sound"});
  }
  CHECK(add(registry, telling(key_of(32, 64, 64), "lesser"), ck::Priority::Low));
  CHECK(runner.run(in, wei, out, problem) == 1.0F && ran == runner.select(problem));
  CHECK(!has_context<> || ran->name() == "sound");
  // What a caller's own function throws is no panic of the library either.
  SelectorOptions options = quiet();
  options.priority = [](const std::string& name) { return name == "sound" ? 1 : throw std::runtime_error("whose?"); };
  log_lines.clear();
  registry.clear();
  CHECK(add(registry, telling(key_of(128, 64, 64), "sound")));
  const GroupedConvSelector fragile(registry, options);
  CHECK(add(registry, telling(key_of(64, 64, 64), "another")));
  CHECK(fragile.find(problem).status == Status::no_kernel && logged("no answer: whose?"));
}

void changes_are_followed() {
  Registry_ registry;
  const auto with = [&](Follow follow) {
    SelectorOptions options = quiet();
    options.follow = follow;
    return GroupedConvSelector<Registry_>(registry, options);
  };
  auto selector = with(Follow::every_call), by_size = with(Follow::size), told = with(Follow::told);
  const GroupedConvSelector in_turn(registry, quiet());
  const Problem problem = layer(16, 64, 64, 28);
  CHECK(name_of(selector, problem).empty() && name_of(by_size, problem).empty() && name_of(told, problem).empty());
  const auto first = telling(key_of(64, 64, 64), "first");
  CHECK(add(registry, first));
  CHECK(selector.get_solution(problem) == first.get() && by_size.get_solution(problem) == first.get());
  CHECK(in_turn.get_solution(problem) == first.get() && told.get_solution(problem) == nullptr);
  told.refresh();
  CHECK(told.get_solution(problem) == first.get());
  // In place of the first, with the same key: the number stays.
  const auto replacement = telling(key_of(64, 64, 64), "first");
  CHECK(add(registry, replacement, ck::Priority::High));
  CHECK(selector.get_solution(problem) == replacement.get() && by_size.get_solution(problem) != replacement.get());
  const auto after = [&](int calls) {
    for (int call = 0; call < calls; ++call) (void)in_turn.find(problem);
    return in_turn.get_solution(problem);
  };
  CHECK(after(16) == replacement.get());
  by_size.refresh();
  CHECK(by_size.get_solution(problem) == replacement.get());
  const auto kept = selector.find(problem);
  registry.clear();
  CHECK(add(registry, telling(key_of(32, 64, 64), "second")));
  CHECK(name_of(selector, problem) == "second" && kept.instance->name() == "first");
  registry.clear();
  CHECK(selector.get_solution(problem) == nullptr);
  CHECK(add(registry, first) && selector.get_solution(problem) == first.get());
  // Of many, each has its turn: here in fewer than a quarter of the table's buckets, of which there are a few times as
  // many as kernels.
  for (int tile = 1; tile < 500; ++tile) {
    const auto one = telling(key_of(64 + 16 * tile, 64, 64), "one_of_many_" + std::to_string(tile));
    CHECK(add(registry, one, ck::Priority::Low));
  }
  CHECK(in_turn.get_solution(problem) == first.get());
  CHECK(add(registry, replacement, ck::Priority::High) && after(500) == replacement.get());
}

/// A search brings its own operands, in place of what the dispatcher has not yet set.
void searches_bring_operands() {
  SelectorOptions options = searching(quiet());
  options.run_convolutions = true;
  Registry_ registry;
  int searched = 0;
  const auto timed = [&](float ms) {
    return [&searched, ms](const Problem& problem, void*) {
      const Seen now = seen();
      if (has_context<> && now.device < 0) throw std::runtime_error("a device is needed");
      if (now.input == nullptr || now.weight == nullptr || now.output == nullptr) throw std::runtime_error("null");
      if (now.input != in) {  // the search's own
        ++searched;
        CHECK(now.benchmarking && now.repeat == 1 && now.split_k == problem.split_k &&
              (!has_context<> || now.device == 3));
        // bf16 between 1/128 and 1.
        const auto* values = static_cast<const std::uint16_t*>(now.input);
        for (int at = 0; at < 64; ++at) CHECK((values[at] & 0x7fff) >= 0x3c00 && (values[at] & 0x7fff) < 0x3f80);
        // The last element is there, and may be written.
        const auto size = problem.N * problem.K * problem.output_spatial[1] * problem.output_spatial[2];
        static_cast<std::uint16_t*>(now.output)[size - 1] = 1;
      } else {
        ran_with = now;
      }
      if (ms > 90) throw std::runtime_error("failed on purpose");
      return ms;
    };
  };
  CHECK(add(registry, make(key_of(64, 64, 64), "slow", timed(2))));
  const auto fast = make(key_of(32, 64, 64), "fast", timed(1));
  CHECK(add(registry, fast));
  CHECK(add(registry, make(key_of(16, 64, 64), "stub", timed(0))));
  CHECK(add(registry, make(key_of(16, 64, 128), "throws", timed(99))));
  const GroupedConvSelector selector(registry, options);
  auto dispatcher = asking(registry, selector);
  Problem problem = layer(2, 64, 64, 28);
  const Seen before = seen();
  CHECK(dispatcher.run(in, wei, out, problem) == 1.0F && ran_with.input == in && searched > 4 && on_device == 0);
  auto found = selector.find(problem);
  CHECK(found.instance == fast && found.selection.source == Source::store);
  problem = layer(4, 64, 64, 28);
  found = selector.find(problem);
  CHECK(found.instance == fast && found.selection.source == Source::search && found.selection.measured->count() == 1.0);
  CHECK(on_device == 0 && (seen() == before || !has_context<>));

  // Each operation's operands have their places.
  ConvKernel kernel;
  problem = layer(2, 8, 16, 10);
  const auto sizes = [&](Direction direction) {
    kernel.key.direction = static_cast<std::int32_t>(direction);
    const auto extents = detail::ConvAdapter::extents_of(problem, kernel);
    return std::array<std::int64_t, 3>{extents[0].elements, extents[1].elements, extents[2].elements};
  };
  const std::int64_t x = 2 * 8 * 100, w = 16 * 8 * 9, y = 2 * 16 * 100;
  CHECK((sizes(Direction::forward) == std::array<std::int64_t, 3>{x, w, y}));
  CHECK((sizes(Direction::bwd_data) == std::array<std::int64_t, 3>{y, w, x}));
  CHECK((sizes(Direction::bwd_weight) == std::array<std::int64_t, 3>{x, y, w}));
  problem.N = std::int64_t{1} << 62;
  CHECK(thrown([&] { (void)detail::ConvAdapter::extents_of(problem, kernel)[0].bytes(); }) == Status::invalid_problem);

  // Where there is no room nothing is measured, the next source answers, and what was allocated is given back.
  device_limit = 2;
  log_lines.clear();
  problem = layer(8, 64, 64, 28);
  CHECK(selector.find(problem).status == Status::ok && on_device == 0 && logged("which are not there"));
  device_limit = -1;
  // An allocator of the owner's.
  long made = 0, given = 0;
  options.memory.allocate = [&](std::size_t bytes) { ++made; return std::calloc(1, bytes); };
  options.memory.release = [&](void* memory) { --made; ++given; std::free(memory); };
  options.device = 3;
  options.memory.copy = [](void* to, const void* from, std::size_t size) { return copy(to, from, size, 1) == 0; };
  CHECK(GroupedConvSelector(registry, options).find(problem).selection.source == Source::search);
  CHECK(made == 0 && given == 3);
  // Nothing is run that may not be.
  options.run_convolutions = false;
  CHECK(GroupedConvSelector(registry, options).find(problem).selection.source == Source::priority);
  // By default the estimate answers before CK's priorities.
  options.registry.estimate = true;
  CHECK(GroupedConvSelector(registry, options).find(problem).selection.source == Source::estimate);
}

/// Random values of every type are numbers of that type.
void random_values_are_numbers() {
  std::vector<unsigned char> bytes(4096);
  detail::RandomValues(Dtype::fp32).fill(bytes);
  std::set<float> different;
  for (std::size_t at = 0; at < 1024; ++at) {
    float value = 0;
    std::copy_n(bytes.data() + 4 * at, 4, reinterpret_cast<unsigned char*>(&value));
    CHECK((value > 0 ? value : -value) >= 1.0F / 128 && (value > 0 ? value : -value) < 1);
    different.insert(value);
  }
  CHECK(different.size() > 900);
  detail::RandomValues(Dtype::int8).fill(bytes);
  for (const unsigned char value : bytes)
    CHECK(static_cast<signed char>(value) >= -4 && static_cast<signed char>(value) < 4);
  detail::RandomValues(Dtype::fp8).fill(bytes);
  for (const unsigned char value : bytes) CHECK((value & 0x7f) >= 8 && (value & 0x7f) < 56);
  CHECK(detail::Extent{Dtype::int4}.times(3).bytes() == 2 + 256);
}

/// A repeated problem allocates nothing.
void the_hot_path_allocates_nothing() {
  Registry_ registry;
  fill(registry);
  SelectorOptions options = by_model();
  const GroupedConvRunner runner(&registry, options);
  const auto problems = sixty();
  for (int round = 0; round < 2; ++round) {
    for (const Problem& problem : problems) (void)runner.run(in, wei, out, problem);
  }
  counting = true;
  for (int round = 0; round < 10; ++round) {
    for (const Problem& problem : problems) (void)runner.run(in, wei, out, problem);
  }
  counting = false;
  CHECK(allocations == 0);
}

void threads_run_while_the_registry_changes() {
  Registry_ registry;
  const auto plain = [](const Problem&, void*) { return seen().input == nullptr ? -1.0F : 1.0F; };
  CHECK(add(registry, make(key_of(128, 128, 64), "always", plain)));
  const GroupedConvRunner runner(&registry, quiet());
  const auto heuristic = runner.selector().heuristic();
  std::atomic<bool> done{false};
  std::atomic<int> bad{0};
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 8; ++thread) {
    threads.emplace_back([&, thread] {
      const Problem problem = layer(1, 64 + thread, 64, 28);
      while (!done) {
        if (runner.run(in, wei, out, problem) != 1.0F || heuristic(problem).empty()) ++bad;
      }
    });
  }
  for (int change = 0; change < 300; ++change) {
    const auto even = [change](const Problem& problem) { return (problem.C + change) % 2 == 0; };
    (void)add(registry, make(key_of(16 << (change % 3), 64, 64), "coming_and_going", plain, even), ck::Priority::High);
    if (change % 4 == 3) {
      (void)registry.filter_by_arch("gfx950");
      Key key = key_of(64, 128, 64);
      key.arch = "gfx90a";
      (void)add(registry, make(key, "elsewhere", plain));
    }
    std::this_thread::yield();
  }
  done = true;
  for (std::thread& thread : threads) thread.join();
  CHECK(bad == 0);
}

}  // namespace

int main(int argc, char** argv) {
  models = repository(argc, argv) + "/tests/golden/models";
  (void)ck_log_set_callback(CK_LOG_LEVEL_DEBUG, keep_line, nullptr);
  keys_say_everything();
  names_go_before_keys();
  texts_are_whole(layer(16, 64, 64, 28));
  only_kernels_that_fit_are_chosen();
  kernels_with_newer_words_run();
  ambiguity_is_told_once();
  runners_are_dispatchers();
  kernels_are_asked_about_the_problems_split();
  parts_are_chosen();
  heuristics_never_throw();
  parts_of_names_find_no_wrong_kernel();
  priorities_are_cks();
  kernels_of_one_dimension_are_served(layer(16, 64, 64, 28));
  one_that_throws_counts_as_no();
  changes_are_followed();
  searches_bring_operands();
  random_values_are_numbers();
  (void)ck_log_set_callback(CK_LOG_LEVEL_DEBUG, nullptr, nullptr);
  what_is_named_is_what_runs();
  the_hot_path_allocates_nothing();
  threads_run_while_the_registry_changes();
  return finish("dispatcher_conv");
}
