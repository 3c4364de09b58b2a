// Chooses GEMM kernels by a model: CK's example 09 without LightGBM, gunzip or a build of CK.
//
//     gemm_09_ml_heuristic [--model DIRECTORY] [--kernels FILE] [--m M --n N --k K] [--split-k PARTS]
//                          [--dtype WORD] [--layout LETTERS] [--arch WORD] [--top COUNT]
//                          [--explain]
//
// Models may be plain or .gz, or embedded:NAME. Without --model, the one that is built into the library is taken; if
// there is none, the small one that the tests use. That and the kernels lie in the repository of this source.

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "ck_select.hpp"

namespace {

/// A file of the repository that this source is part of, wherever the program is run.
std::string in_repository(const char* path) {
  return (std::filesystem::path(__FILE__).parent_path().parent_path() / path).string();
}

/// The model to take when none is named.
std::string usual_model() {
  for (const std::string_view name : ck_select::embedded_models()) {
    if (name.rfind("gemm", 0) == 0) return "embedded:" + std::string(name);
  }
  return in_repository("tests/golden/models/gemm_small");
}

struct Arguments {
  std::string model = usual_model();
  std::string kernels = in_repository("tests/golden/models/gemm_small/pool.txt");
  std::optional<std::int64_t> m, n, k;
  std::int32_t split_k = 1;
  std::string dtype = "fp8";
  std::string layout = "rcr";
  std::string arch;
  std::size_t top = 3;
  bool explain = false;
  bool help = false;
};

std::int64_t number(const std::string& option, const std::string& text) {
  char* end = nullptr;
  const long long value = std::strtoll(text.c_str(), &end, 10);
  if (text.empty() || *end != '\0' || value < 1) {
    throw std::invalid_argument(option + ": found '" + text + "', expected a whole number of at least 1");
  }
  return value;
}

Arguments parse(int argc, char** argv) {
  Arguments arguments;
  for (int at = 1; at < argc; ++at) {
    const std::string option = argv[at];
    if (option == "--help" || option == "--explain") {
      (option == "--help" ? arguments.help : arguments.explain) = true;
      continue;
    }
    if (at + 1 == argc) throw std::invalid_argument(option + ": a value is missing, or the option is unknown");
    const std::string value = argv[++at];
    if (option == "--model") arguments.model = value;
    else if (option == "--kernels") arguments.kernels = value;
    else if (option == "--m") arguments.m = number(option, value);
    else if (option == "--n") arguments.n = number(option, value);
    else if (option == "--k") arguments.k = number(option, value);
    else if (option == "--split-k") arguments.split_k = static_cast<std::int32_t>(number(option, value));
    else if (option == "--dtype") arguments.dtype = value;
    else if (option == "--layout") arguments.layout = value;
    else if (option == "--arch") arguments.arch = value;
    else if (option == "--top") arguments.top = static_cast<std::size_t>(number(option, value));
    else throw std::invalid_argument(option + ": no such option, see --help");
  }
  if (arguments.m.has_value() != arguments.n.has_value() || arguments.n.has_value() != arguments.k.has_value()) {
    throw std::invalid_argument("--m, --n and --k belong together");
  }
  return arguments;
}

void usage() {
  std::puts(
      "Chooses GEMM kernels by a model.\n"
      "  --model DIRECTORY  with feature_spec.json and model_tflops.lgbm or .lgbm.gz, or embedded:NAME\n"
      "  --kernels FILE     names or identifiers, one a line\n"
      "  --m M --n N --k K  one problem; without it a table of usual ones\n"
      "  --split-k PARTS    parts into which K is split (1)\n"
      "  --dtype WORD       type of A and B (fp8)\n"
      "  --layout LETTERS   memory order of A, B, C (rcr)\n"
      "  --arch WORD        such as gfx950; without it any\n"
      "  --top COUNT        how many kernels to show of one problem (3)\n"
      "  --explain          of one problem: which sources were asked, and all scores");
}

ck_select::GemmProblem problem_of(const Arguments& arguments, std::int64_t m, std::int64_t n, std::int64_t k) {
  using ck_select::Dtype;
  const auto dtype = ck_select::dtype_from(arguments.dtype);
  if (!dtype) throw std::invalid_argument("--dtype: unknown type '" + arguments.dtype + "'");
  std::optional<ck_select::Major> order[3];
  const std::string_view letters = arguments.layout;
  for (std::size_t at = 0; at < 3 && letters.size() == 3; ++at)
    order[at] = ck_select::major_from(letters.substr(at, 1));
  if (!order[0] || !order[1] || !order[2]) {
    throw std::invalid_argument("--layout: found '" + arguments.layout + "', expected three of r, c and p");
  }
  // CK's kernels give 8-bit floats out as fp16 and int8 as int32.
  const Dtype result = *dtype == Dtype::fp8 || *dtype == Dtype::bf8 ? Dtype::fp16
                       : *dtype == Dtype::int8                      ? Dtype::int32
                                                                    : *dtype;
  return ck_select::GemmProblem(m, n, k)
      .split_k(arguments.split_k)
      .dtypes(*dtype, *dtype, result)
      .layout(*order[0], *order[1], *order[2])
      .arch(arguments.arch);
}

/// One selection, timed after it has run once.
double time_of(const ck_select::Registry& registry, const ck_select::GemmProblem& problem) {
  ck_select::Selection selection;
  constexpr int REPEATS = 100;
  const auto begin = std::chrono::steady_clock::now();
  for (int repeat = 0; repeat < REPEATS; ++repeat) (void)registry.try_select(problem, selection);
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin).count() / REPEATS;
}

int run(const Arguments& arguments) {
  std::ifstream lines(arguments.kernels);
  if (!lines) throw std::invalid_argument(arguments.kernels + ": cannot be read");
  std::vector<ck_select::NewKernel> kernels;
  for (std::string line; std::getline(lines, line);) {
    if (!line.empty() && line[0] != '#') kernels.push_back({line, {}});
  }
  ck_select::Registry registry;
  registry.add(std::move(kernels));
  registry.load_model(arguments.model);
  registry.prepare();
  std::printf("%zu kernels, model %s\n\n", registry.size(), arguments.model.c_str());

  if (arguments.m) {
    const auto problem = problem_of(arguments, *arguments.m, *arguments.n, *arguments.k);
    std::printf("%4s %9s  %s\n", "rank", "TFLOPS", "kernel");
    std::size_t place = 0;
    for (const auto& ranked : registry.rank(problem, arguments.top)) {
      std::printf("%4zu %9.2f  %s\n", ++place, ranked.score, ranked.name.data());
    }
    if (arguments.explain) std::printf("\n%s", registry.explain(problem).c_str());
    return 0;
  }

  struct Shape {
    std::int64_t m, n, k;
  };
  const Shape shapes[] = {{1, 4096, 4096},    {16, 1536, 7168},   {128, 1536, 7168},  {512, 4608, 7168},
                          {1024, 1024, 1024}, {2048, 7168, 2048}, {4096, 4096, 4096}, {8192, 8192, 8192}};
  std::printf("%6s %6s %6s %9s %11s  %s\n", "M", "N", "K", "TFLOPS", "time", "kernel");
  for (const Shape& shape : shapes) {
    const auto problem = problem_of(arguments, shape.m, shape.n, shape.k);
    const auto chosen = registry.select(problem);
    std::printf("%6lld %6lld %6lld %9.2f %8.1f us  %s\n", static_cast<long long>(shape.m),
                static_cast<long long>(shape.n), static_cast<long long>(shape.k), chosen.score.value_or(0),
                time_of(registry, problem), chosen.name.data());
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const Arguments arguments = parse(argc, argv);
    if (arguments.help) {
      usage();
      return 0;
    }
    return run(arguments);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "gemm_09_ml_heuristic: %s\n", error.what());
    return 1;
  }
}
