// CK's dispatcher of convolutions with generated kernels: every kernel, the one that CK runs by itself, and the one that
// ck-select runs in its place.
//
//     ck_conv ARCH
//
// Compiled with the header that CK's example_kernel_builder.py writes, which defines REGISTER_GENERATED_KERNELS. Serves
// all generations of CK's problems: what one lacks, a template leaves out.

#include <ck_tile/dispatcher/grouped_conv_registry.hpp>

#include <exception>

#include "ck_common.hpp"
#include "ck_select_dispatcher.hpp"

using namespace ck_tile::dispatcher;

namespace {

struct Layer {
  int n, c, k, size, filter, stride, pad;
};

template <class Problem>
auto pad(Problem& problem, int by, int) -> decltype((void)problem.padding_left) {
  problem.padding_left = problem.padding_right = {0, by, by};
}
template <class Problem>
void pad(Problem& problem, int by, long) {
  problem.padding = {0, by, by};
}

template <class Problem>
auto describe(Problem& problem, const GroupedConvKernelKey& key, int) -> decltype((void)problem.dtype_in) {
  problem.dtype_in = problem.dtype_wei = problem.dtype_out = key.dtype_in;
  problem.layout = key.layout;
  problem.arch = key.arch;
}
template <class Problem>
void describe(Problem&, const GroupedConvKernelKey&, long) {}

GroupedConvProblem problem_of(const Layer& layer, const GroupedConvKernelKey& key) {
  GroupedConvProblem problem;
  problem.N = layer.n;
  problem.C = layer.c;
  problem.K = layer.k;
  problem.G = 1;
  problem.input_spatial = {1, layer.size, layer.size};
  problem.filter_spatial = {1, layer.filter, layer.filter};
  problem.stride = {1, layer.stride, layer.stride};
  pad(problem, layer.pad, 0);
  describe(problem, key, 0);
  (void)problem.compute_output_size();
  return problem;
}

template <class Kernel>
auto supports(const Kernel& kernel, const GroupedConvProblem& problem, int) -> decltype(kernel.is_supported(problem)) {
  return kernel.is_supported(problem);
}
template <class Kernel>
bool supports(const Kernel&, const GroupedConvProblem&, long) {
  return true;
}

void prove_one(const GroupedConvRegistry& registry, const ck_select::GroupedConvSelector<GroupedConvRegistry>& selector,
               const Layer& layer) {
  const auto kernels = registry.all_kernels();
  const GroupedConvProblem problem = problem_of(layer, kernels.front()->key());
  const std::size_t out = (layer.size + 2 * layer.pad - layer.filter) / layer.stride + 1;
  prove::Operand input(std::size_t(layer.n) * layer.size * layer.size * layer.c);
  prove::Operand weight(std::size_t(layer.k) * layer.filter * layer.filter * layer.c);
  prove::Operand output(layer.n * out * out * layer.k);
  input.fill();
  weight.fill();
  ck_select::ConvBuffers buffers;
  buffers.input = input.data();
  buffers.weight = weight.data();
  buffers.output = output.data();
  buffers.benchmarking = true;
  buffers.warmup = 3;
  buffers.repeat = 10;
  prove::Times times;
  for (const auto* kernel : kernels) {
    if (!supports(*kernel, problem, 0)) continue;
    prove::time(times, kernel->name(), output,
                [&] { return ck_select::detail::run_conv(*kernel, problem, buffers, nullptr, 0, {}); });
  }
  const auto* usual = registry.find(problem);
  const auto* chosen = selector.get_solution(problem);
  if (usual == nullptr || chosen == nullptr) throw std::runtime_error("there is no kernel");
  const std::string name = 'N' + std::to_string(layer.n) + " C" + std::to_string(layer.c) + " K" +
                           std::to_string(layer.k) + ' ' + std::to_string(layer.size) + " f" +
                           std::to_string(layer.filter) + " s" + std::to_string(layer.stride);
  prove::print(name, times, usual->name(), chosen->name());
}

}  // namespace

int main(int, char** arguments) {
  try {
    const std::string arch = arguments[1];
    GroupedConvRegistry registry;
    REGISTER_GENERATED_KERNELS(registry, arch);
    ck_select::SelectorOptions options;
    options.models = {"embedded:universal"};
    options.arch = arch;
    const ck_select::GroupedConvSelector<GroupedConvRegistry> selector(registry, options);
    prove::print_header();
    const Layer layers[] = {{32, 64, 256, 56, 1, 1, 0},   {32, 64, 64, 56, 3, 1, 1},    {32, 128, 128, 56, 3, 2, 1},
                            {32, 1024, 256, 14, 1, 1, 0}, {32, 256, 256, 14, 3, 1, 1},  {32, 512, 512, 7, 3, 1, 1},
                            {1, 512, 512, 7, 3, 1, 1},    {2, 320, 320, 64, 3, 1, 1},   {2, 1280, 1280, 8, 3, 1, 1},
                            {2, 2560, 1280, 16, 3, 1, 1}, {16, 384, 1536, 14, 1, 1, 0}, {8, 64, 128, 112, 3, 2, 1}};
    for (const Layer& layer : layers) prove_one(registry, selector, layer);
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "ck_conv: %s\n", error.what());
    return 1;
  }
}
