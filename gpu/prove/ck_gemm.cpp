// CK's GEMM dispatcher with generated kernels: every kernel, the one that the dispatcher runs by itself, and the one that
// it runs with ck-select's heuristic.
//
//     ck_gemm ARCH
//
// Compiled with the header that CK's example_kernel_builder.py writes, which defines REGISTER_GENERATED_KERNELS.

#include <ck_tile/dispatcher.hpp>

#include <exception>

#include "ck_common.hpp"
#include "ck_select_dispatcher.hpp"

using namespace ck_tile::dispatcher;

namespace {

void prove_one(Registry& registry, const ck_select::GemmSelector<Registry>& selector, int m, int n, int k) {
  prove::Operand a(std::size_t(m) * k), b(std::size_t(k) * n), c(std::size_t(m) * n);
  a.fill();
  b.fill();
  const Problem problem(m, n, k);
  prove::Times times;
  for (const auto& kernel : registry.get_all()) {
    if (!kernel->supports(problem)) continue;
    prove::time(times, kernel->get_name(), c,
                [&] { return kernel->run(a.data(), b.data(), c.data(), nullptr, problem, nullptr); });
  }
  Dispatcher dispatcher(&registry);
  const auto usual = dispatcher.select_kernel(problem);
  dispatcher.set_heuristic(selector.heuristic());
  const auto chosen = dispatcher.select_kernel(problem);
  if (usual == nullptr || chosen == nullptr) throw std::runtime_error("the dispatcher has no kernel");
  const std::string name = std::to_string(m) + 'x' + std::to_string(n) + 'x' + std::to_string(k);
  prove::print(name, times, usual->get_name(), chosen->get_name());
}

}  // namespace

int main(int, char** arguments) {
  try {
    const std::string arch = arguments[1];
    Registry registry;
    REGISTER_GENERATED_KERNELS(registry, arch);
    ck_select::SelectorOptions options;
    options.models = {"embedded:universal"};
    options.arch = arch;
    const ck_select::GemmSelector<Registry> selector(registry, options);
    prove::print_header();
    // Multiples of all tiles: these kernels do not pad.
    const int shapes[][3] = {{256, 4096, 4096},  {256, 7168, 2048},  {512, 1536, 7168},  {512, 4608, 4096},
                             {1024, 1024, 1024}, {1024, 8192, 1024}, {2048, 2048, 8192}, {2048, 7168, 2048},
                             {4096, 512, 4096},  {4096, 4096, 4096}, {8192, 1024, 2048}, {8192, 8192, 8192}};
    for (const auto& shape : shapes) prove_one(registry, selector, shape[0], shape[1], shape[2]);
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "ck_gemm: %s\n", error.what());
    return 1;
  }
}
