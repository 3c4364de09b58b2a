// Chooses GEMM kernels by a model: CK's example 09 without LightGBM, gunzip or a build of CK.
//
//     gemm_09_ml_heuristic [MODEL_DIRECTORY [KERNEL_LIST [M N K]]]
//
// MODEL_DIRECTORY may be embedded:NAME. Without it, the model that is built into the library is taken; if there is none,
// the small one that the tests use. That and the kernels, names or identifiers, one a line, lie in the repository of
// this source. Without M, N and K there is a line for each of some usual shapes.

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
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

std::int64_t number(const char* text) {
  char* end = nullptr;
  const long long value = std::strtoll(text, &end, 10);
  if (*text == '\0' || *end != '\0' || value < 1) {
    throw std::invalid_argument(std::string("found '") + text + "', expected a whole number of at least 1");
  }
  return value;
}

/// One selection, timed after it has run once.
double time_of(const ck_select::Registry& registry, const ck_select::GemmProblem& problem) {
  ck_select::Selection selection;
  constexpr int REPEATS = 100;
  const auto begin = std::chrono::steady_clock::now();
  for (int repeat = 0; repeat < REPEATS; ++repeat) (void)registry.try_select(problem, selection);
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin).count() / REPEATS;
}

std::vector<ck_select::NewKernel> listed(const std::string& file) {
  std::ifstream lines(file);
  if (!lines) throw std::invalid_argument(file + ": cannot be read");
  std::vector<ck_select::NewKernel> kernels;
  for (std::string line; std::getline(lines, line);) {
    if (!line.empty() && line[0] != '#') kernels.push_back({line, {}});
  }
  return kernels;
}

void print_best(const ck_select::Registry& registry, const ck_select::GemmProblem& problem) {
  std::printf("%4s %9s  %s\n", "rank", "TFLOPS", "kernel");
  std::size_t place = 0;
  for (const auto& ranked : registry.rank(problem, 4)) {
    std::printf("%4zu %9.2f  %s\n", ++place, ranked.score, ranked.name.data());
  }
}

void print_choices(const ck_select::Registry& registry) {
  struct Shape {
    std::int64_t m, n, k;
  };
  const Shape shapes[] = {{1, 4096, 4096},    {16, 1536, 7168},   {128, 1536, 7168},  {512, 4608, 7168},
                          {1024, 1024, 1024}, {2048, 7168, 2048}, {4096, 4096, 4096}, {8192, 8192, 8192}};
  std::printf("%6s %6s %6s %9s %11s  %s\n", "M", "N", "K", "TFLOPS", "time", "kernel");
  for (const Shape& shape : shapes) {
    const ck_select::GemmProblem problem(shape.m, shape.n, shape.k);
    const auto chosen = registry.select(problem);
    std::printf("%6lld %6lld %6lld %9.2f %8.1f us  %s\n", static_cast<long long>(shape.m),
                static_cast<long long>(shape.n), static_cast<long long>(shape.k), chosen.score.value_or(0),
                time_of(registry, problem), chosen.name.data());
  }
}

void run(int argc, char** argv) {
  if (argc > 3 && argc != 6) throw std::invalid_argument("expected [MODEL_DIRECTORY [KERNEL_LIST [M N K]]]");
  const std::string model = argc > 1 ? argv[1] : usual_model();
  ck_select::Registry registry;
  registry.add(listed(argc > 2 ? argv[2] : in_repository("tests/golden/models/gemm_small/pool.txt")));
  registry.load_model(model);
  registry.prepare();
  std::printf("%zu kernels, model %s\n\n", registry.size(), model.c_str());
  if (argc == 6) print_best(registry, ck_select::GemmProblem(number(argv[3]), number(argv[4]), number(argv[5])));
  else print_choices(registry);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    run(argc, argv);
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "gemm_09_ml_heuristic: %s\n", error.what());
    return 1;
  }
}
