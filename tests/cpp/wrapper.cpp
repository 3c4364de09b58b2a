// ck_select.hpp: what it adds to the C interface. Arguments: the repository.

#include <cstring>
#include <fstream>
#include <sstream>
#include <type_traits>

#include "common.hpp"

using namespace ck_select;
using common::raised;
using common::thrown;

ConvProblem resnet_from_elsewhere();

namespace {

constexpr std::string_view FIRST = "grouped_conv_forward_bf16_2d_64x64x64_compv3";
constexpr std::string_view SECOND = "grouped_conv_forward_bf16_2d_128x128x64_compv5";
constexpr std::string_view MATRIX =
    "gemm_universal_fp8_rcr_compv3_default_intrawave_True_True_True_False_64x64x64_2x2x1_32x32x16";

static_assert(!std::is_copy_constructible_v<Registry> && std::is_nothrow_move_constructible_v<Registry>);
static_assert(std::is_nothrow_move_assignable_v<Registry>);
static_assert(noexcept(std::declval<const Registry&>().try_select(std::declval<const ConvProblem&>(),
                                                                  std::declval<Selection&>())));

Options quiet() {
  Options options;
  options.ignore_environment = true;
  return options;
}

std::string file(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  CHECK(stream.good());
  std::ostringstream text;
  text << stream.rdbuf();
  return text.str();
}

void words() {
  CHECK(dtype_from("bf16") == Dtype::bf16 && to_string(Dtype::pk_int4) == "pk_int4" && !dtype_from("bf17"));
  CHECK(layout_from("ngcdhw") == ConvLayout::ngcdhw && to_string(ConvLayout::nhwgc) == "nhwgc" && !layout_from(""));
  CHECK(major_from("c") == Major::col && !major_from("x"));
  for (std::int32_t number = 0; number <= CK_DTYPE_PK_INT4; ++number) {
    CHECK(static_cast<std::int32_t>(*dtype_from(to_string(static_cast<Dtype>(number)))) == number);
  }
  for (std::int32_t number = 0; number <= CK_CONV_LAYOUT_NCDHW; ++number) {
    CHECK(static_cast<std::int32_t>(*layout_from(to_string(static_cast<ConvLayout>(number)))) == number);
  }
  CHECK(to_string(Source::override_file) == "override" && to_string(static_cast<Source>(99)) == "unknown");
  CHECK(to_string(Status::no_kernel) == ck_status_text(CK_STATUS_NO_KERNEL));
  CHECK(version() == ck_select_version());
}

void problems() {
  ConvProblem problem = resnet_from_elsewhere();
  problem.arch("gfx950");
  const ConvProblem copy = problem;
  problem.arch("gfx942:xnack-");
  CHECK(std::strcmp(copy.capi().arch, "gfx950") == 0 && std::strcmp(problem.capi().arch, "gfx942:xnack-") == 0);
  problem = copy;
  CHECK(std::strcmp(problem.capi().arch, "gfx950") == 0 && problem.capi().arch != copy.capi().arch);
  CHECK(problem.arch("").capi().arch == nullptr);
  CHECK(problem.capi().struct_size == sizeof(ck_conv_problem) && problem.capi().ndim == 2);
  CHECK(problem.capi().input[0] == 1 && problem.capi().input[1] == 28 && problem.capi().pad_left[0] == 0);

  problem.input(8, 16, 32)
      .filter(3, 1, 1)
      .stride(2, 1, 1)
      .dilation(1, 1, 1)
      .padding_left(1, 0, 0)
      .padding_right(0, 0, 0);
  problem.direction(Direction::bwd_weight).groups(2).split_k(4).dtype(Dtype::fp16).layout(ConvLayout::ndhwgc);
  const ck_conv_problem& raw = problem.capi();
  CHECK(raw.ndim == 3 && raw.input[0] == 8 && raw.input[2] == 32 && raw.stride[0] == 2 && raw.pad_left[0] == 1);
  CHECK(raw.direction == CK_DIRECTION_BWD_WEIGHT && raw.g == 2 && raw.split_k == 4 && raw.dtype_out == CK_DTYPE_FP16);
  CHECK(raw.layout == CK_CONV_LAYOUT_NDHWGC && raw.pad_right[0] == 0 && raw.dilation[1] == 1);
  CHECK(thrown([&] { problem.arch(std::string(64, 'x')); }) == Status::invalid_argument);
  CHECK(thrown([&] { problem.arch(std::string_view("gfx\0", 4)); }) == Status::invalid_argument);
  const auto line = ConvProblem().input(100).filter(5).padding(2);
  CHECK(line.capi().ndim == 1 && line.capi().input[1] == 1 && line.capi().pad_right[2] == 2);

  GemmProblem matrix(1, 2, 3);
  matrix.dtypes(Dtype::bf16, Dtype::fp16, Dtype::fp32).layout(Major::col, Major::packed, Major::row).split_k(7);
  matrix.arch("gfx950");
  const GemmProblem other = matrix;
  CHECK(other.capi().m == 1 && other.capi().k == 3 && other.capi().split_k == 7 &&
        other.capi().dtype_c == CK_DTYPE_FP32);
  CHECK(other.capi().layout[1] == CK_MAJOR_PACKED && other.capi().arch != matrix.capi().arch);
  matrix = other;
  CHECK(std::strcmp(matrix.capi().arch, "gfx950") == 0);
}

void kernels() {
  Registry registry(quiet());
  CHECK(registry.size() == 0 && registry.kernels().empty() && !registry.kernel_at(0) && !registry.find(FIRST));
  int mark = 0;
  Hooks hooks;
  hooks.user = &mark;
  hooks.priority = 2;
  registry.add(FIRST, hooks);
  CHECK(thrown([&] { registry.add(FIRST); }) == Status::already_registered);
  CHECK(thrown([&] { registry.add("nothing"); }) == Status::invalid_kernel);
  CHECK(thrown([&] { registry.add(std::string_view("a\0b", 3)); }) == Status::invalid_argument);
  CHECK(thrown([&] { registry.add({{std::string(SECOND), {}}, {"bad", {}}}); }) == Status::invalid_kernel);
  CHECK(registry.size() == 1);
  // A view that does not end with a NUL.
  const std::string padded = std::string(SECOND) + "_and_more";
  registry.add({{std::string(padded, 0, SECOND.size()), {}}, {std::string(MATRIX), {}}});
  CHECK(registry.find(std::string_view(padded).substr(0, SECOND.size()))->index == 1);
  const auto all = registry.kernels();
  CHECK(all.size() == 3 && all[0].name == FIRST && all[0].user == &mark && all[0].priority == 2);
  CHECK(all[1].user == nullptr && all[1].priority == 1 && all[2].name == MATRIX && all[2].index == 2);
  CHECK(registry.retain_arch("gfx950") == 0);
  CHECK(thrown([&] { registry.retain_arch("i860"); }) == Status::invalid_argument);
  registry.clear();
  CHECK(registry.size() == 0 && all[0].name == FIRST);
  CHECK(thrown([&] { registry.import_json("{"); }) == Status::invalid_kernel);
}

void described_kernels() {
  Registry registry(quiet());
  const std::uint64_t before = registry.generation();
  ConvKernel conv;
  conv.key.tile[0] = 64;
  conv.key.tile[2] = 64;
  conv.pipeline = "compv4";
  int mark = 0;
  Hooks hooks;
  hooks.user = &mark;
  registry.add(conv, hooks);
  CHECK(registry.generation() > before && registry.kernel_at(0)->user == &mark);
  CHECK(registry.kernel_at(0)->name ==
        "grouped_conv_fwd_bf16_nhwgc_2d_compv4_cshuffle_intrawave_64x128x64_2x2x1_32x32x16");
  conv.name = "mine";
  conv.key.dtype_out = CK_DTYPE_FP32;
  GemmKernel matrix;
  matrix.elementwise = "Relu";
  registry.add(matrix);
  registry.add(std::vector<NewDescribed<ConvKernel>>{{conv, {}}});
  CHECK(registry.size() == 3 && registry.find("mine")->index == 2);
  CHECK(thrown([&] { registry.add(conv); }) == Status::already_registered);
  matrix.name = "other";
  matrix.key.split_k = -1;
  CHECK(thrown([&] { registry.add(matrix); }) == Status::invalid_kernel);
  conv.name = std::string("a\0b", 3);
  CHECK(thrown([&] { registry.add(conv); }) == Status::invalid_argument);
  CHECK(registry.select(ConvProblem().dtypes(Dtype::bf16, Dtype::bf16, Dtype::fp32)).name == "mine");
  CHECK(registry.remove("mine") && !registry.remove("mine") && registry.size() == 2);

  // Out and in again, with hooks for those that are wanted.
  ExportOptions options;
  options.registry_name = "quoted \" name";
  options.statistics = true;
  const std::string json = registry.export_json(Op::conv, options);
  CHECK(json.find("quoted \\\" name") != std::string::npos && json.find("by_pipeline") != std::string::npos);
  Registry copy(quiet());
  copy.import_json(json, [&](std::string_view name) {
    CHECK(name == registry.kernel_at(0)->name);
    return std::optional<Hooks>(hooks);
  });
  CHECK(copy.size() == 1 && copy.kernel_at(0)->user == &mark);
  copy.import_json(registry.export_json(Op::gemm), [](std::string_view) { return std::optional<Hooks>(); });
  CHECK(copy.size() == 1);
  const auto throws = [](std::string_view) -> std::optional<Hooks> { throw std::runtime_error("on purpose"); };
  const auto import = [&] { copy.import_json(registry.export_json(Op::gemm), throws); };
  CHECK(raised<std::runtime_error>(import) == "on purpose" && copy.size() == 1);
  copy.import_json(registry.export_json(Op::gemm));
  CHECK(copy.size() == 2 && copy.kernel_at(1)->user == nullptr);
  copy.refresh_store();
  const TuneReport report = copy.tune(std::chrono::milliseconds(1));
  CHECK(report.measured == 0 && report.waiting == 0 && report.elapsed_ms >= 0);
  CHECK(thrown([&] { (void)copy.tune(std::chrono::milliseconds(-1)); }) == Status::invalid_argument);
}

void models_by_key(const std::string& repository) {
  Registry registry(quiet());
  registry.add(FIRST);
  ModelOptions options;
  options.key.emplace();
  options.key->direction = Direction::bwd_data;
  options.key->arch = "gfx950";
  options.hardware = hardware_of("gfx950");
  CHECK(options.hardware->lds_capacity == 163840 && hardware_of("").lds_capacity == 65536);
  CHECK(thrown([] { (void)hardware_of("gfx906"); }) == Status::not_found);
  const std::string model = repository + "/tests/golden/models/conv_small";
  registry.load_model(model, options);
  CHECK(registry.select(resnet_from_elsewhere()).source == Source::priority);
  CHECK(registry.remove_model(*options.key) && !registry.remove_model(*options.key));
  options.key->direction = Direction::forward;
  registry.load_model(model, options);
  CHECK(registry.select(resnet_from_elsewhere()).source == Source::model);
  options.key->op = Op::gemm;
  CHECK(thrown([&] { registry.load_model(model, options); }) == Status::invalid_argument);
  // A universal model also ranks GEMMs.
  ModelOptions for_gemms;
  for_gemms.key.emplace();
  for_gemms.key->op = Op::gemm;
  registry.load_model(repository + "/models/universal", for_gemms);
  for (const std::string_view name : embedded_models()) {
    registry.load_embedded(name);
    registry.load_model("embedded:" + std::string(name));
  }
  CHECK(thrown([&] { registry.load_embedded("there is none of this name"); }) == Status::not_found);
}

void host_timing() {
  Options options = quiet();
  options.mode = Mode::search;
  options.host_timing = true;
  options.store = "off";
  CHECK(thrown([&] { Registry no_architecture(options); }) == Status::invalid_argument);
  options.arch = "gfx950";
  options.repeats = 1;
  options.warmup = 0;
  Registry registry(options);
  Hooks hooks;
  hooks.run_conv = [](const ck_conv_problem&, void*) { return 2.0F; };
  registry.add(FIRST, hooks);
  hooks.run_conv = [](const ck_conv_problem&, void*) -> float { throw std::runtime_error("on purpose"); };
  registry.add(SECOND, hooks);
  const Selection selection = registry.select(resnet_from_elsewhere());
  CHECK(selection.source == Source::search && selection.name == FIRST && selection.measured->count() == 2.0);
  // A selection that is used again says nothing of the one before.
  Selection again = selection;
  options.mode = Mode::priority;
  registry.set_options(options);
  CHECK(registry.try_select(resnet_from_elsewhere(), again) == Status::ok);
  CHECK(again.source == Source::priority && !again.measured && !again.score);
}

void removed_kernels_are_freed() {
  Registry registry(quiet());
  registry.add(FIRST);
  const auto owned = std::make_shared<int>(0);
  Hooks callable;
  callable.supports_conv = [owned](const ck_conv_problem&) { return *owned == 0; };
  for (int round = 0; round < 10; ++round) {
    registry.add(SECOND, callable);
    CHECK(registry.select(resnet_from_elsewhere()).index == 0);
    if (round < 9) CHECK(registry.remove(SECOND));
    // Here, in `callable`, in the registry, and in what it prepared before.
    CHECK(owned.use_count() <= 4);
  }
  // One that could not be added is nobody's.
  CHECK(thrown([&] { registry.add(SECOND, callable); }) == Status::already_registered && owned.use_count() <= 4);
  CHECK(registry.size() == 2 && registry.select(resnet_from_elsewhere()).index == 0);
}

void selecting(const std::string& repository) {
  Registry registry(quiet());
  const ConvProblem problem = resnet_from_elsewhere();
  Selection selection;
  selection.index = 77;
  CHECK(registry.try_select(problem, selection) == Status::no_kernel && selection.index == 77);
  const auto said = last_error();
  CHECK(said.find("no kernel is registered") != std::string::npos);
  CHECK(thrown([&] { (void)registry.select(problem); }) == Status::no_kernel);
  CHECK(thrown([&] { (void)registry.rank(problem); }) == Status::no_model);
  CHECK(said.find("no kernel is registered") != std::string::npos && last_error().find("no model") == 0);

  registry.add(FIRST);
  int asked = 0;
  bool answer = true;
  Hooks hooks;
  hooks.user = &asked;
  hooks.supports_conv = [&asked, &answer](const ck_conv_problem& raw) {
    CHECK(raw.c == 256);
    ++asked;
    return answer;
  };
  hooks.supports_gemm = [](const ck_gemm_problem& raw) -> bool {
    if (raw.m == 1) throw std::runtime_error("thrown on purpose");
    return true;
  };
  registry.add(SECOND, hooks);
  registry.add(MATRIX, hooks);
  selection = registry.select(problem);
  CHECK(selection.name == FIRST && !selection.score && selection.source == Source::priority && asked == 0);

  registry.load_model(repository + "/tests/golden/models/conv_small");
  registry.load_model(repository + "/tests/golden/models/gemm_small");
  CHECK(thrown([&] { registry.load_model(repository); }) == Status::invalid_model);
  registry.prepare();
  CHECK(registry.try_select(problem, selection) == Status::ok);
  CHECK(selection.name == SECOND && selection.source == Source::model && selection.user == &asked && asked == 1);
  CHECK(*selection.score > 0 && selection.index == 1 && selection.rank == 0 && !selection.out_of_range);
  CHECK(registry.select(problem.capi()).name == SECOND);
  answer = false;
  selection = registry.select(problem);
  CHECK(selection.name == FIRST && selection.unsupported == 1 && selection.user == nullptr);

  const auto ranking = registry.rank(problem);
  CHECK(ranking.size() == 2 && ranking[0].name == SECOND && ranking[0].user == &asked && ranking[1].user == nullptr);
  CHECK(ranking[0].score > ranking[1].score && registry.rank(problem, 1).size() == 1 &&
        registry.rank(problem, 0).empty());
  const Predictions predictions = registry.predict(problem, 1);
  CHECK(predictions.tflops == ranking[0].score && !predictions.latency && !predictions.bandwidth_gb_s);
  CHECK(thrown([&] { (void)registry.predict(problem, 99); }) == Status::not_found);
  const auto features = registry.features(problem, 1);
  CHECK(features.size() > 16 && features[0] == 16 && features[1] == 256);
  CHECK(registry.explain(problem).find(FIRST) != std::string::npos);

  const GemmProblem matrix(128, 1536, 7168);
  CHECK(registry.select(matrix).name == MATRIX && registry.rank(matrix).size() == 1);
  CHECK(registry.predict(matrix, 2).latency > std::chrono::duration<double>::zero());
  CHECK(registry.features(matrix, 2)[0] == 128 && registry.explain(matrix).find(MATRIX) != std::string::npos);
  // Of variants, by what they are.
  GemmKernel listed;
  listed.name = "listed";
  listed.key.grouped = 1;
  registry.add(listed);
  GemmProblem list;
  list.groups({{512, 512, 1024, 3}, {64, 512, 1024, 1}});
  const GemmProblem copy = list;
  list.groups({});
  CHECK(registry.select(copy).name == "listed" && copy.capi().request.groups.items[0].m == 512 &&
        list.capi().request.groups.count == 0);
  CHECK(registry.try_select(GemmProblem(matrix).batch(4), selection) == Status::no_kernel);
  // What a callable throws goes no further and means no.
  CHECK(registry.try_select(GemmProblem(1, 1536, 7168), selection) == Status::no_kernel);

  Options options = quiet();
  options.mode = Mode::priority;
  options.arch = "gfx950";
  registry.set_options(options);
  CHECK(registry.select(problem).source == Source::priority);
  options.override_file = "/there/is/no/such/file";
  CHECK(thrown([&] { registry.set_options(options); }) == Status::io);
  CHECK(thrown([&] { Registry bad(options); }) == Status::io);
  registry.set_options(quiet());

  registry.remove_models();
  CHECK(registry.select(problem).source == Source::priority);
  const std::string model = repository + "/tests/golden/models/conv_small/";
  const std::string forest = file(model + "model_tflops.lgbm.gz");
  registry.load_model("mine", file(model + "feature_spec.json"), {{Target::tflops, forest}});
  CHECK(registry.select(problem).source == Source::model);
}

/// Of one problem with two routings, other kernels are the fastest; a copy has its own histogram.
void mixtures() {
  Options options = quiet();
  options.arch = "sm_90";
  Registry registry(options);
  MoeKernel wide;
  wide.name = "wide";
  wide.key.library = 1;
  wide.key.tile[0] = wide.key.tile[1] = 128;
  wide.key.tile[2] = 64;
  wide.key.stages = 3;
  registry.add(wide);
  registry.add("triton_moe_bf16_16x128x64_group1_4warps_3stages");
  MoeProblem problem;
  problem.stage("1").tokens(512).experts(512).topk(4).size(2816, 2048).dtypes(Dtype::bf16, Dtype::bf16);
  problem.histogram(std::vector<std::int32_t>(4, 512));
  const MoeProblem copy = problem;
  problem.histogram(std::vector<std::int32_t>(512, 4));
  CHECK(registry.select(copy).name == "wide" && registry.select(problem).name != "wide");
  CHECK(copy.capi().histogram_count == 4 && problem.capi().histogram_count == 512);
  Selection selection;
  CHECK(registry.try_select(problem.topk(5), selection) == Status::invalid_problem);
}

void statuses() {
  Registry registry(quiet());
  CHECK(ck_select::status_of([&] { registry.add(FIRST); }) == Status::ok && registry.size() == 1);
  CHECK(ck_select::status_of([&] { registry.add(FIRST); }) == Status::already_registered);
  CHECK(last_error().find(FIRST) != std::string::npos);
  CHECK(!raised<std::bad_alloc>([] { (void)ck_select::status_of([] { throw std::bad_alloc(); }); }).empty());
}

void owning() {
  std::optional<Registry> first(std::in_place, quiet());
  auto alive = std::make_shared<int>(0);
  Hooks hooks;
  hooks.supports_conv = [alive](const ck_conv_problem&) { return ++*alive > 0; };
  first->add(SECOND, std::move(hooks));
  Registry second = std::move(*first);
  CHECK(first->capi() == nullptr && thrown([&] { first->add(FIRST); }) == Status::null_pointer);
  Selection selection;
  CHECK(first->try_select(resnet_from_elsewhere(), selection) == Status::null_pointer);
  first.reset();
  CHECK(second.select(resnet_from_elsewhere()).name == SECOND && *alive == 1);
  Registry third(quiet());
  third.add(FIRST);
  third = std::move(second);
  CHECK(third.select(resnet_from_elsewhere()).name == SECOND && *alive == 2);
  {
    ck_registry* const handle = third.release();
    CHECK(third.capi() == nullptr && alive.use_count() == 2);
    const ConvProblem problem = resnet_from_elsewhere();
    auto raw = ck_select::detail::sized<ck_selection>();
    ANSWERS(CK_STATUS_OK, ck_registry_select_conv(handle, &problem.capi(), &raw));
    CHECK(*alive == 3);
    ck_registry_destroy(handle);
  }
  CHECK(alive.use_count() == 1);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string repository = common::repository(argc, argv);
  words();
  problems();
  kernels();
  described_kernels();
  models_by_key(repository);
  host_timing();
  removed_kernels_are_freed();
  selecting(repository);
  mixtures();
  statuses();
  owning();
  return finish("wrapper");
}
