// ck_select_dispatcher.hpp against CK's attention headers, whichever the compiler finds. Arguments: the repository.

#include <ck_tile/dispatcher_fmha.hpp>

#include <algorithm>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "common.hpp"

using namespace ck_select;
using namespace common;
static_assert(generation<ck_tile::dispatcher::FmhaRegistry>() == Generation::f1);
namespace ck = ck_tile::dispatcher;

namespace {

/// CK's generated instances ask more; what matters here is that they are asked.
class Kernel : public ck::FmhaKernelInstance {
 public:
  explicit Kernel(ck::FmhaKernelKey key) : key_(std::move(key)) {}
  [[nodiscard]] const ck::FmhaKernelKey& get_key() const override { return key_; }
  [[nodiscard]] bool supports(const ck::FmhaProblem& problem) const override {
    ++asked;
    return works && problem.num_splits <= most_splits && key_.signature.family == problem.requested_family &&
           key_.signature.data_type == problem.data_type && problem.hdim_q <= key_.signature.hdim_q &&
           (key_.algorithm.pad_s || problem.seqlen_q % key_.algorithm.tile_shape.m0 == 0);
  }
  [[nodiscard]] std::string get_name() const override { return key_.encode_identifier(); }
  void launch(const ck::FmhaInvocation& invocation, const ck_tile::stream_config& /*config*/) const override {
    CHECK(std::visit([](const auto& args) -> const void* { return args.q_ptr; }, invocation.args) == &launched);
    launched.push_back(get_name());
  }
  [[nodiscard]] float run(const ck::FmhaInvocation& invocation, const ck_tile::stream_config& config) const override {
    launch(invocation, config);
    return config.time_kernel_ ? ms : 0.0F;
  }
  float ms = 1;
  /// All kernels, in the order in which they ran.
  static inline std::vector<std::string> launched;
  bool works = true;
  std::int64_t most_splits = 1024;
  mutable int asked = 0;

 private:
  ck::FmhaKernelKey key_;
};

ck::FmhaKernelKey key(ck::FmhaKernelFamily family, std::uint16_t m0, std::uint16_t n0) {
  ck::FmhaKernelKey key;
  key.signature.family = family;
  key.signature.data_type = "fp16";
  key.signature.hdim_q = key.signature.hdim_v = 128;
  key.signature.has_lse = family != ck::FmhaKernelFamily::Fwd;
  key.signature.kv_lookup_table = 1;
  const bool combines = family == ck::FmhaKernelFamily::FwdSplitKvCombine;
  key.algorithm.tile_shape = {m0, n0, 32, 128, 32, 128};
  key.algorithm.wave_shape.m0 = key.algorithm.wave_shape.m1 = static_cast<std::uint8_t>(m0 >= 64 ? 4 : 1);
  key.algorithm.warp_tile_shape = {16, 16, 16, 16, 16, 16, 16, 16, 16};
  key.algorithm.pipeline = combines ? "splitkv_combine" : "qr";
  key.algorithm.hdim_q_alignment = key.algorithm.hdim_v_alignment = 128;
  key.gfx_arch = "gfx950";
  return key;
}

std::shared_ptr<Kernel> add(ck::FmhaRegistry& registry, const ck::FmhaKernelKey& key) {
  const auto kernel = std::make_shared<Kernel>(key);
  CHECK(registry.register_kernel(kernel));
  return kernel;
}

ck::FmhaProblem problem(std::int64_t queries, std::int64_t keys) {
  ck::FmhaProblem problem;
  problem.gfx_arch = "gfx950";
  problem.data_type = "fp16";
  problem.batch = 1;
  problem.seqlen_q = queries;
  problem.seqlen_k = keys;
  problem.nhead_q = 32;
  problem.nhead_k = 8;
  problem.hdim_q = problem.hdim_v = 128;
  return problem;
}

ck::FmhaProblem split(std::int64_t queries, std::int64_t keys) {
  ck::FmhaProblem asked = problem(queries, keys);
  asked.api_family = ck::FmhaApiFamily::FwdSplitKv;
  asked.requested_family = ck::FmhaKernelFamily::FwdSplitKv;
  asked.has_lse = true;
  return asked;
}

/// A call of one sequence whose operands are where Kernel::launch expects them.
template <class Args>
Args args_of(int queries, int keys) {
  Args args{};
  args.q_ptr = &Kernel::launched;
  args.batch = 1;
  args.seqlen_q = queries;
  if constexpr (std::is_same_v<Args, fmha_fwd_appendkv_args>) args.seqlen_knew = keys;
  else args.seqlen_k = keys, args.max_seqlen_q = queries;
  args.nhead_q = 32;
  args.nhead_k = 8;
  args.hdim_q = args.hdim_v = 128;
  return args;
}

template <class Traits>
Traits traits_of() {
  Traits traits{};
  traits.hdim_q = traits.hdim_v = 128;
  traits.data_type = "fp16";
  if constexpr (!std::is_same_v<Traits, fmha_bwd_traits>) traits.is_v_rowmajor = true;
  return traits;
}

ck::FmhaInvocation split_call(int queries, int keys) {
  auto traits = traits_of<fmha_fwd_splitkv_traits>();
  traits.has_lse = true;
  return ck::FmhaInvocation::make(traits, args_of<fmha_fwd_splitkv_args>(queries, keys));
}

SelectorOptions options() {
  SelectorOptions options;
  options.registry.ignore_environment = true;
  return options;
}

void only_what_supports_the_problem_is_chosen() {
  ck::FmhaRegistry registry;
  const auto small = add(registry, key(ck::FmhaKernelFamily::Fwd, 16, 64));
  const auto large = add(registry, key(ck::FmhaKernelFamily::Fwd, 128, 64));
  const FmhaSelector selector(registry, options());
  CHECK(selector.skipped().empty());
  // By the estimate: one query wastes a tall tile, many queries a flat one.
  ck::FmhaProblem many = problem(1, 4096);
  many.batch = 64;
  const auto decode = selector.find(many);
  CHECK(decode.instance.get() == small.get() && decode.selection.source == Source::estimate);
  CHECK(selector.get_solution(problem(4096, 4096)) == large.get());
  CHECK(large->asked > 0);
  large->works = false;
  CHECK(selector.get_solution(problem(4096, 4096)) == small.get());
  small->works = false;
  CHECK(selector.get_solution(problem(4096, 4096)) == nullptr);
  small->works = large->works = true;
  // By CK's rules, which the library asks itself.
  ck::FmhaProblem other = problem(4096, 4096);
  other.has_dropout = true;
  CHECK(selector.find(other).status == Status::no_kernel);
  other = problem(4096, 4096);
  other.data_type = "half";
  CHECK(selector.find(other).status == Status::invalid_problem);
  CHECK(selector.find(problem(0, 4096)).status == Status::invalid_problem);
}

void plans_have_a_kernel_for_each_stage() {
  ck::FmhaRegistry registry;
  add(registry, key(ck::FmhaKernelFamily::FwdSplitKv, 16, 64));
  add(registry, key(ck::FmhaKernelFamily::FwdSplitKv, 64, 64));
  const FmhaSelector selector(registry, options());
  CHECK(selector.plan(split(1, 8192)).stages.empty());  // nothing combines
  const auto combine = add(registry, key(ck::FmhaKernelFamily::FwdSplitKvCombine, 32, 128));
  ck::FmhaProblem many = split(1, 8192);
  many.batch = 64;
  const auto plan = selector.plan(many);
  CHECK(plan.stages.size() == 2 && plan.num_splits == 1);
  CHECK(plan.stages[1].family == CK_FMHA_FAMILY_FWD_SPLITKV_COMBINE && plan.stages[1].solution.instance == combine);
  CHECK(plan.stages[0].solution.instance->get_key().algorithm.tile_shape.m0 == 16);
  // Few workgroups and many keys: parts fill the device. Where it is full, they would only be added up.
  CHECK(selector.plan_splits(split(1, 65536), 64).num_splits > 4);
  // A kernel that takes fewer splits than would be best is given fewer.
  combine->most_splits = 4;
  const auto fewer = selector.plan_splits(split(1, 65536), 64);
  CHECK(fewer.stages.size() == 2 && fewer.num_splits > 1 && fewer.num_splits <= 4);
  combine->most_splits = 1024;
  ck::FmhaProblem full = split(4096, 4096);
  full.batch = 64;
  CHECK(selector.plan_splits(full, 64).num_splits == 1);
  CHECK(selector.plan(problem(1, 8192)).stages.empty());  // no forward kernel
}

void dispatchers_take_the_heuristic() {
  ck::FmhaRegistry registry;
  add(registry, key(ck::FmhaKernelFamily::FwdSplitKv, 64, 64));
  add(registry, key(ck::FmhaKernelFamily::FwdSplitKv, 16, 64));
  add(registry, key(ck::FmhaKernelFamily::FwdSplitKvCombine, 32, 128));
  const FmhaSelector selector(registry, options());
  ck::FmhaDispatcher dispatcher(&registry);
  dispatcher.set_heuristic(selector.heuristic());
  const auto plan = dispatcher.plan(split(1, 8192));
  const auto ours = selector.plan(split(1, 8192));
  CHECK(plan.stages.size() == 2 && ours.stages.size() == 2);
  for (std::size_t stage = 0; stage < plan.stages.size() && stage < ours.stages.size(); ++stage) {
    CHECK(plan.stages[stage].kernel_id == ours.stages[stage].solution.instance->get_name());
  }
}

void runners_run_what_was_chosen() {
  ck::FmhaRegistry registry;
  for (const std::uint16_t m0 : {std::uint16_t{16}, std::uint16_t{64}})
    add(registry, key(ck::FmhaKernelFamily::FwdSplitKv, m0, 64));
  SelectorOptions at = options();
  at.arch = "gfx950";
  const FmhaRunner runner(&registry, at);
  const ck::FmhaInvocation invocation = split_call(1, 8192);
  CHECK(!raised<ck::NoKernelFound>([&] { (void)runner.run(invocation); }).empty() && Kernel::launched.empty());
  add(registry, key(ck::FmhaKernelFamily::FwdSplitKvCombine, 32, 128));
  const auto plan = runner.plan(invocation);
  CHECK(plan.stages.size() == 2 && Kernel::launched.empty());
  CHECK(runner.run(invocation) == 0.0F && Kernel::launched.size() == 2);
  for (std::size_t stage = 0; stage < 2; ++stage)
    CHECK(Kernel::launched[stage] == plan.stages[stage].solution.instance->get_name());
  CHECK(thrown([] { const FmhaRunner<ck::FmhaRegistry> without(nullptr); }) == Status::null_pointer);
  Kernel::launched.clear();
}

void searches_run_on_the_operands_of_the_call() {
  SelectorOptions measured = searching(options());
  measured.arch = "gfx950";
  ck::FmhaRegistry registry;
  // The estimate prefers a flat tile for one query.
  const auto small = add(registry, key(ck::FmhaKernelFamily::Fwd, 16, 64));
  const auto large = add(registry, key(ck::FmhaKernelFamily::Fwd, 128, 64));
  small->ms = 3;
  large->ms = 2;
  auto args = args_of<fmha_fwd_args>(1, 4096);
  args.batch = 64;
  const auto invocation = ck::FmhaInvocation::make(traits_of<fmha_fwd_traits>(), args);
  CHECK(FmhaRunner(&registry, measured).plan(invocation).stages[0].solution.instance == small);
  CHECK(Kernel::launched.empty());
  measured.run_attention = true;
  const FmhaRunner runner(&registry, measured);
  const auto found = runner.plan(invocation).stages[0].solution;
  CHECK(found.instance == large && found.selection.source == Source::search);
  CHECK(found.selection.measured->count() == 2.0 && Kernel::launched.size() == 4);
  // Measured once; then it only runs.
  runner.run(invocation);
  CHECK(Kernel::launched.size() == 5 && Kernel::launched.back() == large->get_name());
  // A selector has no operands.
  Kernel::launched.clear();
  const auto asked = ck::FmhaProblem::from_invocation(invocation, "gfx950");
  CHECK(FmhaSelector(registry, measured).find(asked).selection.source == Source::estimate);
  // Appending twice would not be appending once.
  ck::FmhaRegistry appending;
  ck::FmhaKernelKey append = key(ck::FmhaKernelFamily::FwdAppendKv, 64, 64);
  append.algorithm.pipeline = "appendkv";
  append.signature.has_lse = false;
  add(appending, append);
  const auto appends = ck::FmhaInvocation::make(traits_of<fmha_fwd_appendkv_traits>(),
                                                args_of<fmha_fwd_appendkv_args>(1, 4096));
  const auto plan = FmhaRunner(&appending, measured).plan(appends);
  CHECK(plan.stages.size() == 1 && Kernel::launched.empty());
}

void kernels_of_one_identifier_are_one_registration() {
  // Only newer identifiers have the soft cap. Where they do not, the first of two kernels is the only one.
  ck::FmhaRegistry registry;
  ck::FmhaKernelKey capped = key(ck::FmhaKernelFamily::Fwd, 128, 64);
  capped.signature.has_logits_soft_cap = true;
  const bool has_cap = capped.encode_identifier().find("_sc1") != std::string::npos;
  add(registry, capped);
  CHECK(registry.register_kernel(std::make_shared<Kernel>(key(ck::FmhaKernelFamily::Fwd, 128, 64))) == has_cap);
  const FmhaSelector selector(registry, options());
  CHECK((selector.find(problem(128, 128)).status == Status::ok) == has_cap);
  ck::FmhaProblem asked = problem(128, 128);
  asked.has_logits_soft_cap = true;
  const auto solution = selector.find(asked);
  CHECK(solution.instance != nullptr && solution.instance->get_key().signature.has_logits_soft_cap);
  // The architecture is in none.
  asked.gfx_arch = "gfx942";
  CHECK(selector.get_solution(asked) == nullptr);
}

/// Generated kernels for each stage.
void register_all_stages(ck::FmhaRegistry& registry, bool is_group, bool pads = true) {
  for (int family = 0; family <= static_cast<int>(ck::FmhaKernelFamily::BwdConvertDq); ++family) {
    const auto stage = static_cast<ck::FmhaKernelFamily>(family);
    for (const std::uint16_t m0 : {std::uint16_t{16}, std::uint16_t{64}, std::uint16_t{128}}) {
      ck::FmhaKernelKey one = key(stage, m0, 64);
      one.signature.is_group_mode = is_group;
      one.signature.has_lse =
          stage == ck::FmhaKernelFamily::FwdSplitKv || stage == ck::FmhaKernelFamily::FwdSplitKvCombine;
      one.signature.use_paged_kv = stage == ck::FmhaKernelFamily::BatchPrefill;
      one.algorithm.pad_s = one.algorithm.pad_sk = pads;
      if (stage == ck::FmhaKernelFamily::FwdAppendKv) one.algorithm.pipeline = "appendkv";
      const auto launch = [](const ck_tile::stream_config&, const fmha_fwd_args&) {};
      CHECK(registry.register_kernel(
          ck::backends::make_oneshot_fmha_kernel<fmha_fwd_args>(one, one.encode_identifier(), launch)));
    }
  }
}

/// A problem of each API, from its arguments.
template <class Change>
std::vector<ck::FmhaProblem> every_api(Change change) {
  std::vector<ck::FmhaProblem> problems;
  const auto add = [&](auto traits, auto args) {
    change(traits, args);
    problems.push_back(ck::FmhaProblem::from_invocation(ck::FmhaInvocation::make(traits, args), "gfx950"));
  };
  add(traits_of<fmha_fwd_traits>(), args_of<fmha_fwd_args>(128, 1024));
  auto paged = traits_of<fmha_fwd_pagedkv_traits>();
  paged.use_pagedkv = false;
  add(paged, args_of<fmha_fwd_pagedkv_args>(128, 1024));
  auto splits = traits_of<fmha_fwd_splitkv_traits>();
  splits.has_lse = true;
  add(splits, args_of<fmha_fwd_splitkv_args>(128, 1024));
  add(traits_of<fmha_fwd_appendkv_traits>(), args_of<fmha_fwd_appendkv_args>(128, 1024));
  add(traits_of<fmha_batch_prefill_traits>(), [] {
    auto args = args_of<fmha_batch_prefill_args>(128, 1024);
    args.kv_lookup_table = ck_tile::BlockAttentionKVCacheLookupTableEnum::SGLANG_PAGE_TABLE_1D;
    return args;
  }());
  add(traits_of<fmha_bwd_traits>(), args_of<fmha_bwd_args>(128, 1024));
  return problems;
}

template <class Args>
inline constexpr bool appends = std::is_same_v<Args, fmha_fwd_appendkv_args>;

/// What is explained of each stage, whose text has the problem, the ranking and the scores.
template <class Selector>
std::string explained(const Selector& selector, ck::FmhaProblem problem) {
  std::string text;
  for (const auto& stage : selector.plan(problem).stages) {
    problem.requested_family = static_cast<ck::FmhaKernelFamily>(stage.family);
    text += selector.explain(problem) + '\n';
  }
  return text;
}

void sums_of_group_mode_are_no_lengths() {
  // CK's example passes the sums over all sequences, which no kernel reads; others pass the longest, or nothing.
  // Taken for one sequence's, 64 times 4,096 keys were split into 16 parts instead of 4.
  ck::FmhaRegistry registry;
  register_all_stages(registry, true);
  const FmhaSelector selector(registry, options());
  static const int offsets[2] = {0, 1};
  const auto calls = [&](int queries, int keys, int longest) {
    return every_api([&](auto& traits, auto& args) {
      if constexpr (!appends<std::decay_t<decltype(args)>>) {
        traits.is_group_mode = true;
        args.batch = 64, args.seqlen_q = queries, args.seqlen_k = keys, args.max_seqlen_q = longest;
        args.seqstart_q_ptr = offsets;
        if constexpr (std::is_same_v<std::decay_t<decltype(args)>, fmha_bwd_args>) args.max_seqlen_k = 4096;
      } else {
        (void)traits, (void)queries, (void)keys, (void)longest;
      }
    });
  };
  const auto sums = calls(64 * 100, 64 * 4096, 128);
  const auto means = calls(100, 4096, 128);
  int found = 0;
  for (std::size_t api = 0; api < sums.size(); ++api) {
    CHECK(explained(selector, sums[api]) == explained(selector, means[api]));
    found += selector.plan(sums[api]).status == Status::ok;
  }
  CHECK(found == 5);  // appending has no group mode
  const auto decode = calls(64, 64 * 4096, 1)[2];
  CHECK(selector.plan_splits(decode, 64).num_splits == selector.plan_splits(calls(1, 4096, 1)[2], 64).num_splits);
  CHECK(selector.plan_splits(decode, 64).num_splits < selector.plan_splits(calls(1, 64 * 4096, 1)[2], 64).num_splits);
  // Without lengths, there are as many keys as queries.
  const auto none = calls(0, 0, 128);
  const auto square = calls(128, 128, 128);
  for (const std::size_t api : {0U, 1U, 2U, 4U}) CHECK(explained(selector, none[api]) == explained(selector, square[api]));
}

void unused_pages_and_splits_may_be_0() {
  // As CK's example passes them without a cache; only the API was looked at, and a page of no keys was refused.
  ck::FmhaRegistry registry;
  register_all_stages(registry, false);
  const FmhaSelector selector(registry, options());
  for (const ck::FmhaProblem& asked : every_api([](auto& /*traits*/, auto& /*args*/) {})) {
    CHECK(asked.api_family == ck::FmhaApiFamily::Fwd || asked.api_family == ck::FmhaApiFamily::Bwd ||
          asked.page_size == 0);
    CHECK(asked.api_family != ck::FmhaApiFamily::FwdSplitKv || asked.num_splits == 0);
    CHECK(selector.plan(asked).status == Status::ok || asked.api_family == ck::FmhaApiFamily::BatchPrefill);
  }
}

void the_longest_sequence_counts_in_batch_mode() {
  // CK asks whether a tile divides the longest: 100 queries in rows for 128 run on kernels that cannot pad.
  ck::FmhaRegistry registry;
  ck::FmhaKernelKey unpadded = key(ck::FmhaKernelFamily::Fwd, 128, 64);
  unpadded.algorithm.pad_s = false;
  const auto launch = [](const ck_tile::stream_config&, const fmha_fwd_args&) {};
  registry.register_kernel(ck::backends::make_oneshot_fmha_kernel<fmha_fwd_args>(unpadded, "unpadded", launch));
  const FmhaSelector selector(registry, options());
  const ck::FmhaDispatcher dispatcher(&registry);
  for (const auto& [length, longest] : {std::pair{100, 128}, {128, 0}, {128, 100}, {100, 0}, {0, 128}}) {
    ck::FmhaProblem asked = problem(length, 1024);
    asked.max_seqlen_q = longest;
    CHECK(selector.get_solution(asked) == dispatcher.select_kernel(asked).get());
  }
}

void plans_say_what_is_wrong() {
  // plan_splits threw where plan had no stages.
  ck::FmhaRegistry registry;
  add(registry, key(ck::FmhaKernelFamily::FwdSplitKv, 16, 64));
  add(registry, key(ck::FmhaKernelFamily::Fwd, 16, 64));
  const FmhaSelector selector(registry, options());
  ck::FmhaProblem odd = split(1, 8192);
  odd.data_type = "half";
  ck::FmhaProblem nothing = split(1, 8192);
  nothing.nhead_k = 0;
  for (const auto& [asked, status] : {std::pair{odd, Status::invalid_problem},
                                      {nothing, Status::invalid_problem},
                                      {split(1, 8192), Status::no_kernel},
                                      {problem(1, 8192), Status::ok}}) {
    CHECK(selector.plan(asked).status == status && selector.plan_splits(asked, 64).status == status);
    CHECK(selector.plan(asked).stages.empty() == (status != Status::ok));
    CHECK(selector.plan_splits(asked, 64).stages.size() == selector.plan(asked).stages.size());
  }
}

void there_is_a_kernel_where_ck_finds_one() {
  // Any arguments of any API that have heads, queries and keys, with CK's generated kernels and their rules.
  std::mt19937 random(1);
  const auto one_of = [&random](auto... values) {
    const std::common_type_t<decltype(values)...> all[] = {values...};
    return all[random() % sizeof...(values)];
  };
  static const int there[2] = {0, 1};
  int planned = 0, unplanned = 0;
  for (const auto& [is_group, pads] : {std::pair{false, false}, {false, true}, {true, true}}) {
    ck::FmhaRegistry registry;
    register_all_stages(registry, is_group, pads);
    const FmhaSelector selector(registry, options());
    const ck::FmhaDispatcher dispatcher(&registry);
    for (int round = 0; round < 300; ++round) {
      const bool of_groups = is_group;  // a lambda cannot capture a part of a pair
      const auto calls = every_api([&](auto& traits, auto& args) {
        using Args = std::decay_t<decltype(args)>;
        args.batch = one_of(1, 3, 64);
        args.seqlen_q = one_of(1, 16, 100, 128, 1000);
        if constexpr (appends<Args>) {
          args.seqlen_knew = one_of(0, 64, 100);
          args.rotary_dim = one_of(0, 64);
        } else {
          traits.is_group_mode = of_groups;
          traits.mask_type = one_of(mask_enum::no_mask, mask_enum::no_mask, mask_enum::mask_top_left);
          args.seqlen_k = one_of(64, 100, 4096);
          args.max_seqlen_q = one_of(0, 1, 64, 100, 128, 1000);
          args.window_size_left = one_of(-2, -1, 0, 64);
          args.seqstart_q_ptr = random() % 2 == 0 ? nullptr : there;
          args.seqlen_k_ptr = nullptr;
          if (of_groups || random() % 4 == 0) {
            if constexpr (std::is_same_v<Args, fmha_batch_prefill_args>) args.seqlen_k_ptr = const_cast<int*>(there);
            else args.seqlen_k_ptr = args.seqstart_k_ptr = there;
          }
        }
        if constexpr (std::is_same_v<Args, fmha_fwd_splitkv_args>) args.num_splits = one_of(-1, 0, 1, 8);
        if constexpr (std::is_same_v<Args, fmha_bwd_args>) args.max_seqlen_k = one_of(0, 64, 128, 4096);
        if constexpr (!std::is_same_v<Args, fmha_fwd_args> && !std::is_same_v<Args, fmha_bwd_args>)
          args.page_block_size = one_of(0, 1, 16);
      });
      for (const ck::FmhaProblem& asked : calls) {
        const auto ours = selector.plan(asked);
        const auto cks = dispatcher.plan(asked);
        CHECK(ours.stages.size() == cks.stages.size());
        if (ours.stages.size() != cks.stages.size()) {
          std::printf("%s max %lld %lld page %d splits %lld windows %lld: %zu stages, CK has %zu: %s\n",
                      asked.to_string().c_str(), static_cast<long long>(asked.max_seqlen_q),
                      static_cast<long long>(asked.max_seqlen_k), asked.page_size,
                      static_cast<long long>(asked.num_splits), static_cast<long long>(asked.window_size_left),
                      ours.stages.size(), cks.stages.size(), std::string(to_string(ours.status)).c_str());
        }
        ++(cks.is_valid() ? planned : unplanned);
        ck::FmhaProblem stage = asked;
        for (const auto& chosen : ours.stages) {
          stage.requested_family = static_cast<ck::FmhaKernelFamily>(chosen.family);
          CHECK(chosen.solution.instance->supports(stage));
        }
      }
    }
  }
  CHECK(planned > 1000 && unplanned > 1000);
}

/// CK's dispatcher runs a pipeline that the library does not know; the runner threw NoKernelFound.
void newer_pipelines_run() {
  ck::FmhaRegistry registry;
  ck::FmhaKernelKey newer = key(ck::FmhaKernelFamily::Fwd, 128, 64);
  newer.algorithm.pipeline = "qr_of_2030";
  const auto kernel = add(registry, newer);
  const FmhaSelector selector(registry, options());
  const auto found = selector.find(problem(1024, 1024));
  CHECK(found.instance == kernel && found.selection.unmeasured && selector.skipped().empty());
  // In answers and logs it has CK's name.
  CHECK(found.selection.name == newer.encode_identifier());
}

void what_cannot_be_described_is_told() {
  ck::FmhaRegistry registry;
  ck::FmhaKernelKey odd = key(ck::FmhaKernelFamily::Fwd, 128, 64);
  odd.signature.bias_type = 99;
  add(registry, odd);
  SelectorOptions quiet = options();
  std::string told;
  quiet.on_skipped = [&told](const Skipped& skipped) { told = skipped.reason; };
  const FmhaSelector selector(registry, quiet);
  CHECK(selector.skipped().size() == 1 && told.find("bias is 99") != std::string::npos);
}

/// Targets as HIP reports them are those of the keys.
void targets_with_features_are_known(const std::string& root) {
  ck::FmhaRegistry registry;
  for (const std::uint16_t m0 : {std::uint16_t{16}, std::uint16_t{64}, std::uint16_t{128}})
    add(registry, key(ck::FmhaKernelFamily::Fwd, m0, 64));
  SelectorOptions by_model = options();
  by_model.models = {root + "/tests/golden/models/fmha_small"};
  const FmhaSelector selector(registry, by_model);
  ck::FmhaProblem asked = problem(1024, 1024);
  const auto plain = selector.find(asked);
  CHECK(plain.status == Status::ok && plain.selection.source == Source::model);
  asked.gfx_arch = "gfx950:sramecc+:xnack-";
  CHECK(selector.find(asked).instance == plain.instance && selector.find(asked).selection.source == Source::model);
}

}  // namespace

int main(int argc, char** argv) {
  // Refusals are meant here.
  ck_log_set_callback(CK_LOG_LEVEL_ERROR, nullptr, nullptr);
  only_what_supports_the_problem_is_chosen();
  plans_have_a_kernel_for_each_stage();
  dispatchers_take_the_heuristic();
  runners_run_what_was_chosen();
  searches_run_on_the_operands_of_the_call();
  kernels_of_one_identifier_are_one_registration();
  sums_of_group_mode_are_no_lengths();
  unused_pages_and_splits_may_be_0();
  the_longest_sequence_counts_in_batch_mode();
  plans_say_what_is_wrong();
  there_is_a_kernel_where_ck_finds_one();
  newer_pipelines_run();
  what_cannot_be_described_is_told();
  targets_with_features_are_known(repository(argc, argv));
  return finish("attention");
}
