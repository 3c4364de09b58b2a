// ck_select_dispatcher.hpp against CK's attention headers, whichever the compiler finds. Arguments: the repository.

#include <ck_tile/dispatcher_fmha.hpp>

#include <memory>
#include <string>
#include <vector>

#include "../c/check.h"
#include "ck_select_dispatcher.hpp"

using namespace ck_select;
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
    CHECK(invocation.q == &launched);
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

SelectorOptions options() {
  SelectorOptions options;
  options.registry.ignore_environment = true;
  return options;
}

void only_what_supports_the_problem_is_chosen() {
  ck::FmhaRegistry registry;
  auto small = std::make_shared<Kernel>(key(ck::FmhaKernelFamily::Fwd, 16, 64));
  auto large = std::make_shared<Kernel>(key(ck::FmhaKernelFamily::Fwd, 128, 64));
  registry.register_kernel(small);
  registry.register_kernel(large);
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
  registry.register_kernel(std::make_shared<Kernel>(key(ck::FmhaKernelFamily::FwdSplitKv, 16, 64)));
  registry.register_kernel(std::make_shared<Kernel>(key(ck::FmhaKernelFamily::FwdSplitKv, 64, 64)));
  const FmhaSelector selector(registry, options());
  CHECK(selector.plan(split(1, 8192)).stages.empty());  // nothing combines
  auto combine = std::make_shared<Kernel>(key(ck::FmhaKernelFamily::FwdSplitKvCombine, 32, 128));
  registry.register_kernel(combine);
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
  registry.register_kernel(std::make_shared<Kernel>(key(ck::FmhaKernelFamily::FwdSplitKv, 64, 64)));
  registry.register_kernel(std::make_shared<Kernel>(key(ck::FmhaKernelFamily::FwdSplitKv, 16, 64)));
  registry.register_kernel(std::make_shared<Kernel>(key(ck::FmhaKernelFamily::FwdSplitKvCombine, 32, 128)));
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
    registry.register_kernel(std::make_shared<Kernel>(key(ck::FmhaKernelFamily::FwdSplitKv, m0, 64)));
  SelectorOptions at = options();
  at.arch = "gfx950";
  const FmhaRunner runner(&registry, at);
  ck::FmhaInvocation invocation{split(1, 8192), &Kernel::launched, nullptr, nullptr, nullptr};
  bool is_told = false;
  try {
    (void)runner.run(invocation);
  } catch (const ck::NoKernelFound&) {
    is_told = true;
  }
  CHECK(is_told && Kernel::launched.empty());
  registry.register_kernel(std::make_shared<Kernel>(key(ck::FmhaKernelFamily::FwdSplitKvCombine, 32, 128)));
  const auto plan = runner.plan(invocation);
  CHECK(plan.stages.size() == 2 && Kernel::launched.empty());
  CHECK(runner.run(invocation) == 0.0F && Kernel::launched.size() == 2);
  for (std::size_t stage = 0; stage < 2; ++stage)
    CHECK(Kernel::launched[stage] == plan.stages[stage].solution.instance->get_name());
  bool refused = false;
  try {
    const FmhaRunner<ck::FmhaRegistry> without(nullptr);
  } catch (const Error& error) {
    refused = error.status() == Status::null_pointer;
  }
  CHECK(refused);
  Kernel::launched.clear();
}

void searches_run_on_the_operands_of_the_call() {
  SelectorOptions measured = options();
  measured.arch = "gfx950";
  measured.registry.mode = Mode::search;
  measured.registry.host_timing = true;
  measured.registry.arch = "gfx950";
  measured.registry.store = "off";
  measured.registry.warmup = 0;
  measured.registry.repeats = 2;
  ck::FmhaRegistry registry;
  // The estimate prefers a flat tile for one query.
  auto small = std::make_shared<Kernel>(key(ck::FmhaKernelFamily::Fwd, 16, 64));
  auto large = std::make_shared<Kernel>(key(ck::FmhaKernelFamily::Fwd, 128, 64));
  small->ms = 3;
  large->ms = 2;
  registry.register_kernel(small);
  registry.register_kernel(large);
  ck::FmhaInvocation invocation{problem(1, 4096), &Kernel::launched, nullptr, nullptr, nullptr};
  invocation.sizes.batch = 64;
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
  CHECK(FmhaSelector(registry, measured).find(invocation.sizes).selection.source == Source::estimate);
  // Appending twice would not be appending once.
  ck::FmhaRegistry appending;
  ck::FmhaKernelKey append = key(ck::FmhaKernelFamily::FwdAppendKv, 64, 64);
  append.algorithm.pipeline = "appendkv";
  append.signature.has_lse = false;
  appending.register_kernel(std::make_shared<Kernel>(append));
  invocation.sizes.api_family = ck::FmhaApiFamily::FwdAppendKv;
  invocation.sizes.requested_family = ck::FmhaKernelFamily::FwdAppendKv;
  const auto plan = FmhaRunner(&appending, measured).plan(invocation);
  CHECK(plan.stages.size() == 1 && Kernel::launched.empty());
}

void kernels_of_one_identifier_are_two() {
  // The soft cap is in no identifier of this revision: only one of them can be registered, and what it is counts.
  ck::FmhaRegistry registry;
  ck::FmhaKernelKey capped = key(ck::FmhaKernelFamily::Fwd, 128, 64);
  capped.signature.has_logits_soft_cap = true;
  CHECK(registry.register_kernel(std::make_shared<Kernel>(capped)));
  CHECK(!registry.register_kernel(std::make_shared<Kernel>(key(ck::FmhaKernelFamily::Fwd, 128, 64))));
  const FmhaSelector selector(registry, options());
  CHECK(selector.find(problem(128, 128)).status == Status::no_kernel);
  ck::FmhaProblem asked = problem(128, 128);
  asked.has_logits_soft_cap = true;
  CHECK(selector.get_solution(asked) != nullptr);
  // The architecture is in none, either.
  asked.gfx_arch = "gfx942";
  CHECK(selector.get_solution(asked) == nullptr);
}

void what_cannot_be_described_is_told() {
  ck::FmhaRegistry registry;
  ck::FmhaKernelKey odd = key(ck::FmhaKernelFamily::Fwd, 128, 64);
  odd.algorithm.pipeline = "sideways";
  registry.register_kernel(std::make_shared<Kernel>(odd));
  SelectorOptions quiet = options();
  std::string told;
  quiet.on_skipped = [&told](const Skipped& skipped) { told = skipped.reason; };
  const FmhaSelector selector(registry, quiet);
  CHECK(selector.skipped().size() == 1 && told.find("sideways") != std::string::npos);
}

}  // namespace

int main() {
  // Refusals are meant here.
  ck_log_set_callback(CK_LOG_LEVEL_ERROR, nullptr, nullptr);
  only_what_supports_the_problem_is_chosen();
  plans_have_a_kernel_for_each_stage();
  dispatchers_take_the_heuristic();
  runners_run_what_was_chosen();
  searches_run_on_the_operands_of_the_call();
  kernels_of_one_identifier_are_two();
  what_cannot_be_described_is_told();
  return finish("attention");
}
