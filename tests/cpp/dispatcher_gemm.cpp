// ck_select_dispatcher.hpp against one generation of CK's GEMM headers, whichever the compiler finds. Arguments: the
// repository.

#include <ck_tile/dispatcher.hpp>

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "common.hpp"

using namespace ck_select;
using namespace common;
namespace ck = ck_tile::dispatcher;
namespace detail_ = ck_select::detail;

/// A key of an older generation: no to_string, no pads, the architecture as a number.
namespace older {
enum class DataType : std::uint8_t { FP16, BF16, FP32, FP8, BF8, INT8, INT32, UNKNOWN };
enum class LayoutTag : std::uint8_t { RowMajor, ColMajor, PackedExternal };
enum class Pipeline : std::uint8_t { Mem, CompV1, CompV2, CompV3, CompV4, CompV5 };
enum class Epilogue : std::uint8_t { None, Bias, Activation, CShuffle, Default };
enum class Scheduler : std::uint8_t { Auto, Intrawave, Interwave };
struct KernelKey {
  struct Signature {
    DataType dtype_a = DataType::BF16, dtype_b = DataType::BF16, dtype_c = DataType::BF16, dtype_acc = DataType::FP32;
    LayoutTag layout_a = LayoutTag::RowMajor, layout_b = LayoutTag::ColMajor, layout_c = LayoutTag::RowMajor;
    bool transpose_a = false, transpose_b = false, grouped = false;
    std::uint8_t split_k = 1;
    std::string elementwise_op = "PassThrough";
    std::uint8_t num_d_tensors = 0;
    bool structured_sparsity = false;
  } signature;
  struct Algorithm {
    struct Shape {
      std::uint16_t m, n, k;
    } tile_shape{128, 256, 32};
    struct Narrow {
      std::uint8_t m, n, k;
    } wave_shape{2, 2, 1}, warp_tile_shape{32, 32, 16};
    Pipeline pipeline = Pipeline::CompV4;
    Scheduler scheduler = Scheduler::Intrawave;
    Epilogue epilogue = Epilogue::CShuffle;
    std::uint16_t block_size = 256;
    bool double_buffer = true, persistent = false, preshuffle = false, transpose_c = false;
    std::uint8_t num_wave_groups = 1;
  } algorithm;
  std::uint16_t gfx_arch = 942;
  [[nodiscard]] std::string encode_identifier() const { return "128x256x32_2x2x1_32x32x16_nopers"; }
};
struct Problem {
  std::int64_t M, N, K;
  std::int32_t k_batch = 1;
};
struct Instance {
  KernelKey key;
  [[nodiscard]] const KernelKey& get_key() const { return key; }
  [[nodiscard]] bool supports(const Problem& problem) const { return problem.M > 0; }
};
/// A registry that shows nothing of its entries.
class Registry {
 public:
  [[nodiscard]] std::vector<std::shared_ptr<Instance>> get_all() const { return all; }
  [[nodiscard]] std::size_t size() const { return all.size(); }
  [[nodiscard]] std::vector<std::shared_ptr<Instance>> filter(std::function<bool(const Instance&)> predicate) const {
    std::vector<std::shared_ptr<Instance>> kept;
    std::copy_if(all.begin(), all.end(), std::back_inserter(kept), [&](const auto& one) { return predicate(*one); });
    return kept;
  }
  std::vector<std::shared_ptr<Instance>> all;
};
}  // namespace older

namespace {

using Supports = std::function<bool(const ck::Problem&)>;
using Run = std::function<float(const void*, const void*, void*)>;

const void* last_workspace = nullptr;
std::int32_t last_parts = 0;

class Kernel : public ck::KernelInstance {
 public:
  Kernel(ck::KernelKey key, Supports supports, Run run)
      : key_(std::move(key)), supports_(std::move(supports)), run_(std::move(run)) {}

  [[nodiscard]] const ck::KernelKey& get_key() const override { return key_; }
  [[nodiscard]] bool supports(const ck::Problem& problem) const override { return !supports_ || supports_(problem); }
  [[nodiscard]] std::string get_name() const override { return "gemm_" + key_.encode_identifier(); }
  [[nodiscard]] float run(const void* a, const void* b, void* c, const void** /*d*/, const ck::Problem& problem,
                          void* /*stream*/) const override {
    last_parts = problem.k_batch;
    return run_ ? run_(a, b, c) : 1.0F;
  }
#ifdef WITH_STREAM_K
  [[nodiscard]] float run(const void* a, const void* b, void* c, const void** d, void* workspace,
                          const ck::Problem& problem, void* stream) const override {
    last_workspace = workspace;
    return run(a, b, c, d, problem, stream);
  }
#endif
  [[nodiscard]] bool validate(const void* /*a*/, const void* /*b*/, const void* /*c*/, const void** /*d*/,
                              const ck::Problem& /*problem*/, float /*tolerance*/) const override {
    return true;
  }

 private:
  ck::KernelKey key_;
  Supports supports_;
  Run run_;
};

ck::KernelKey key_of(std::uint16_t m, std::uint16_t n, std::uint16_t k) {
  ck::KernelKey key{};
  key.signature.dtype_a = key.signature.dtype_b = key.signature.dtype_c = ck::DataType::BF16;
  key.signature.dtype_acc = ck::DataType::FP32;
  key.signature.layout_a = key.signature.layout_c = ck::LayoutTag::RowMajor;
  key.signature.layout_b = ck::LayoutTag::ColMajor;
  key.signature.split_k = 1;
  key.signature.elementwise_op = "PassThrough";
  key.algorithm.tile_shape = {m, n, k};
  key.algorithm.wave_shape = {2, 2, 1};
  key.algorithm.warp_tile_shape = {32, 32, 16};
  key.algorithm.pipeline = ck::Pipeline::CompV4;
  key.algorithm.scheduler = ck::Scheduler::Intrawave;
  key.algorithm.epilogue = ck::Epilogue::CShuffle;
  key.algorithm.block_size = 256;
  key.algorithm.num_wave_groups = 1;
  key.gfx_arch = "gfx950";
  return key;
}

bool add(ck::Registry& registry, const ck::KernelKey& key, Supports supports = nullptr, Run run = nullptr,
         ck::Priority priority = ck::Priority::Normal) {
  return registry.register_kernel(std::make_shared<Kernel>(key, std::move(supports), std::move(run)), priority);
}

template <class Registry_, class Problem_>
std::string name_of(const GemmSelector<Registry_>& selector, const Problem_& problem) {
  const auto* found = selector.get_solution(problem);
  return found == nullptr ? "" : found->get_key().encode_identifier();
}

detail_::Known<Kernel, GemmKernel> described(const ck::KernelKey& key) {
  return detail_::GemmAdapter::describe(Kernel(key, nullptr, nullptr));
}

void keys_say_everything() {
  const std::string plain = "bf16_rcr_compv4_cshuffle_intrawave_True_True_True_False_128x256x32_2x2x1_32x32x16";
  CHECK(described(key_of(128, 256, 32)).key == plain);
  ck::KernelKey key = key_of(64, 64, 128);
  key.signature.dtype_a = key.signature.dtype_b = ck::DataType::FP8;
  key.signature.dtype_c = ck::DataType::FP16;
  key.signature.layout_b = ck::LayoutTag::RowMajor;
  key.signature.split_k = 200;
  key.signature.elementwise_op = "Relu";
  key.signature.num_d_tensors = 1;
  key.signature.structured_sparsity = true;
  key.algorithm.wave_shape = {1, 4, 1};
  key.algorithm.warp_tile_shape = {16, 16, 64};
  key.algorithm.pipeline = ck::Pipeline::Mem;
  key.algorithm.scheduler = ck::Scheduler::Interwave;
  key.algorithm.epilogue = ck::Epilogue::Default;
  key.algorithm.pad_m = key.algorithm.pad_n = key.algorithm.pad_k = false;
  key.algorithm.persistent = key.algorithm.preshuffle = true;
  const std::string identifier = described(key).key;
  CHECK(identifier == key.encode_identifier());
  CHECK(identifier ==
        "fp8_rrr_mem_default_interwave_False_False_False_True_64x64x128_1x4x1_16x16x64_splitk200_Relu_d1_sparse_"
        "preshuffle");
  Registry library;
  library.add(identifier);
  key.signature.dtype_c = ck::DataType::FP32;
  CHECK(described(key).key == identifier + "_c_fp32");
  key.signature.transpose_a = true;
  CHECK(described(key).key.empty() && !described(key).reason.empty());
}

void older_keys_are_read_by_their_enumerators() {
  const auto known = detail_::GemmAdapter::describe(older::Instance{});
  CHECK(known.key == "bf16_rcr_compv4_cshuffle_intrawave_True_True_True_False_128x256x32_2x2x1_32x32x16");
  CHECK(known.name == "128x256x32_2x2x1_32x32x16_nopers" && known.arch.empty() && known.kernel.key.pad[0]);
  CHECK(detail_::word_of(older::Epilogue::None) == "none" && detail_::word_of(older::DataType::UNKNOWN) == "unknown");
  older::Registry registry;
  registry.all.push_back(std::make_shared<older::Instance>());
  const GemmSelector selector(registry, quiet());
  static_assert(generation<older::Registry>() == Generation::g0);
  CHECK(selector.get_solution(older::Problem{64, 64, 64}) == registry.all[0].get());
  registry.all.clear();
  CHECK(selector.get_solution(older::Problem{64, 64, 64}) == nullptr);
}

#ifdef WITH_STREAM_K
static_assert(generation<ck::Registry>() == Generation::g2);
#else
static_assert(generation<ck::Registry>() == Generation::g1);
#endif

void only_kernels_that_fit_are_chosen() {
  ck::Registry registry;
  CHECK(add(registry, key_of(128, 256, 32), [](const ck::Problem& problem) { return problem.M > 1; }));
  ck::KernelKey key = key_of(64, 256, 32);
  key.signature.dtype_c = ck::DataType::FP32;
  CHECK(add(registry, key));
  key = key_of(32, 256, 32);
  key.signature.transpose_a = true;
  CHECK(add(registry, key));
  const GemmSelector selector(registry, quiet());
  CHECK(selector.skipped().size() == 1);
  const auto heuristic = selector.heuristic();
  const std::string name = key_of(128, 256, 32).encode_identifier();
  CHECK(heuristic(ck::Problem{64, 64, 64}) == std::vector<std::string>{name});
  CHECK(heuristic(ck::Problem{1, 64, 64}).empty() && selector.get_solution(ck::Problem{0, 64, 64}) == nullptr);
  ck::Problem invalid{64, 64, 64};
  invalid.k_batch = -1;
  CHECK(selector.find(invalid).status == Status::invalid_problem);
  SelectorOptions options = quiet();
  options.dtype = "bf16";
  options.layout = "rrr";
  CHECK(GemmSelector(registry, options).get_solution(ck::Problem{64, 64, 64}) == nullptr);
  options.layout = "rx";
  CHECK(GemmSelector(registry, options).find(ck::Problem{64, 64, 64}).status == Status::invalid_problem);
  ck::Dispatcher dispatcher(&registry);
  dispatcher.set_heuristic(heuristic);
  CHECK(dispatcher.select_kernel(ck::Problem{64, 64, 64})->get_key().encode_identifier() == name);
  // Without a model, by priority: CK's first fit does not look at it.
  CHECK(add(registry, key_of(16, 256, 32), nullptr, nullptr, ck::Priority::High));
  CHECK(name_of(selector, ck::Problem{64, 64, 64}) == key_of(16, 256, 32).encode_identifier());
}

/// Where a problem leaves the choice (k_batch 0), kernels are asked about each number of parts, and run with the chosen.
void parts_are_chosen() {
  ck::Registry registry;
  CHECK(add(registry, key_of(128, 256, 32), [](const ck::Problem& problem) { return problem.k_batch == 4; }));
  SelectorOptions options = quiet();
  const GemmSelector selector(registry, options);
  ck::Problem problem{64, 64, 4096};
  CHECK(selector.get_solution(problem) == nullptr);
  problem.k_batch = 0;
  const auto solution = selector.find(problem);
  CHECK(solution.status == Status::ok && solution.selection.split_k == 4);
  CHECK(!selector.heuristic()(problem).empty());
  CHECK(run(selector, problem, GemmOperands{}) == 1.0F && last_parts == 4);
  options.registry.splits = {1, 2};
  CHECK(GemmSelector(registry, options).get_solution(problem) == nullptr);
}

void what_is_named_is_what_runs(const std::string& models) {
  ck::Registry registry;
  std::string ran;
  for (const std::uint16_t m : {std::uint16_t{64}, std::uint16_t{128}, std::uint16_t{256}}) {
    ck::KernelKey key = key_of(m, m, 64);
    key.signature.dtype_a = key.signature.dtype_b = ck::DataType::FP8;
    key.signature.dtype_c = ck::DataType::FP16;
    key.algorithm.epilogue = ck::Epilogue::Default;
    const auto run = [&ran, name = key.encode_identifier()](const void* a, const void* b, void* c) {
      CHECK(a == reinterpret_cast<const void*>(1) && b == reinterpret_cast<const void*>(2) &&
            c == reinterpret_cast<void*>(3));
      ran = name;
      return 2.5F;
    };
    CHECK(add(registry, key, [m](const ck::Problem& problem) { return problem.M % m == 0; }, run));
  }
  SelectorOptions options = quiet();
  options.models = {models + "/gemm_small"};
  options.arch = "gfx950";
  const GemmSelector selector(registry, options);
  GemmOperands operands;
  operands.a = reinterpret_cast<const void*>(1);
  operands.b = reinterpret_cast<const void*>(2);
  operands.c = reinterpret_cast<void*>(3);
  for (const std::int64_t m : {64, 128, 1024, 4096}) {
    CHECK(ck_select::run(selector, ck::Problem{m, 4096, 4096}, operands) == 2.5F);
    CHECK(ran == name_of(selector, ck::Problem{m, 4096, 4096}) && !ran.empty());
  }
  const auto run = [&] { (void)ck_select::run(selector, ck::Problem{100, 4096, 4096}, operands); };
  CHECK(!raised<ck::NoKernelFound>(run).empty());
}

void searches_bring_operands() {
  SelectorOptions options = searching(quiet());
  ck::Registry registry;
  std::vector<std::vector<unsigned char>> memory;
  for (const std::uint16_t m : {std::uint16_t{64}, std::uint16_t{128}}) {
    CHECK(add(registry, key_of(m, 64, 64), nullptr, [&memory, m](const void* a, const void* b, void* c) {
      CHECK(memory.size() == 3 && a == memory[0].data() && b == memory[1].data() && c == memory[2].data());
      CHECK(memory[0].size() == 64 * 16 * 2 + 256 && memory[1].size() == 16 * 32 * 2 + 256);
      return m == 64 ? 3.0F : 4.0F;
    }));
  }
  options.memory.allocate = [&](std::size_t bytes) -> void* { return memory.emplace_back(bytes).data(); };
  long released = 0;
  options.memory.release = [&](void* /*made*/) { ++released; };
  const ck::Problem problem{64, 32, 16};
  CHECK(GemmSelector(registry, options).find(problem).selection.source == Source::priority);
  options.run_gemms = true;
  const auto found = GemmSelector(registry, options).find(problem);
  CHECK(found.selection.source == Source::search && found.selection.measured->count() == 3.0 && released == 3);
}

#ifdef WITH_STREAM_K
void stream_k_is_for_those_who_ask() {
  ck::Registry registry;
  const auto asked = [](const ck::Problem& problem) { return problem.streamk; };
  CHECK(add(registry, key_of(128, 128, 64), [](const ck::Problem& problem) { return !problem.streamk; }));
  std::vector<std::string> names;
  for (const auto strategy :
       {ck::ReductionStrategy::Atomic, ck::ReductionStrategy::Linear, ck::ReductionStrategy::Tree}) {
    ck::KernelKey key = key_of(128, 128, 64);
    key.algorithm.streamk = true;
    key.algorithm.reduction_strategy = strategy;
    CHECK(described(key).key == key.encode_identifier());
    names.push_back(key.encode_identifier());
    // A backend that does not look at the strategy: the key does.
    CHECK(add(registry, key, asked));
  }
  ck::KernelKey wide = key_of(128, 128, 64);
  wide.algorithm.vector_size_a = wide.algorithm.vector_size_b = wide.algorithm.vector_size_c = 8;
  CHECK(described(wide).key == wide.encode_identifier() && described(wide).kernel.key.vector[2] == 8);
  CHECK(add(registry, wide, [](const ck::Problem& problem) { return !problem.streamk && problem.M == 8; }));
  const GemmSelector selector(registry, quiet());
  CHECK(selector.skipped().empty());
  ck::Dispatcher dispatcher(&registry);
  dispatcher.set_heuristic(selector.heuristic());
  ck::Problem problem{64, 64, 64};
  CHECK(name_of(selector, problem) == key_of(128, 128, 64).encode_identifier());
  CHECK(dispatcher.select_kernel(problem)->get_key().algorithm.streamk == false);
  problem.M = 8;
  CHECK(selector.find(problem).status == Status::ok);
  for (std::size_t at = 0; at < names.size(); ++at) {
    problem.streamk = true;
    problem.reduction_strategy = static_cast<ck::ReductionStrategy>(at + 1);
    CHECK(name_of(selector, problem) == names[at]);
    // So that its winner is not the plain problem's.
    CHECK(selector.explain(problem).find("stream_k=") != std::string::npos);
    CHECK(dispatcher.select_kernel(problem)->get_key().encode_identifier() == names[at]);
    CHECK(selector.heuristic()(problem) == std::vector<std::string>{names[at]});
  }
  GemmOperands operands;
  operands.workspace = &problem;
  CHECK(ck_select::run(selector, problem, operands) == 1.0F && last_workspace == &problem);
}
#endif

}  // namespace

int main(int argc, char** argv) {
  keys_say_everything();
  older_keys_are_read_by_their_enumerators();
  only_kernels_that_fit_are_chosen();
  parts_are_chosen();
  what_is_named_is_what_runs(repository(argc, argv) + "/tests/golden/models");
  searches_bring_operands();
#ifdef WITH_STREAM_K
  stream_k_is_for_those_who_ask();
#endif
  (void)last_workspace;
  return finish("dispatcher_gemm");
}
