// A callback of the C interface that throws, which it must not: what the process says before it ends.
// Arguments: supports, run or release.

#include <cstring>
#include <stdexcept>

#include "../c/check.h"
#include "ck_select.h"

namespace {

std::int32_t supports(const ck_conv_problem* /*problem*/, void* /*user*/) { throw std::runtime_error("supports"); }
float run(const ck_conv_problem* /*problem*/, void* /*stream*/, void* /*user*/) { throw std::runtime_error("run"); }
void release(void* /*context*/) { throw std::runtime_error("release"); }

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  ck_options options;
  ck_options_init(&options);
  options.ignore_environment = options.host_timing = options.search = 1;
  options.arch = "gfx950";
  options.store = "off";
  ck_registry* registry = nullptr;
  ANSWERS(CK_STATUS_OK, ck_registry_create(&options, &registry));
  ck_kernel_hooks hooks{};
  hooks.struct_size = sizeof hooks;
  if (std::strcmp(argv[1], "supports") == 0) hooks.supports_conv = supports;
  if (std::strcmp(argv[1], "run") == 0) hooks.run_conv = run;
  if (std::strcmp(argv[1], "release") == 0) hooks.release = release;
  ANSWERS(CK_STATUS_OK, ck_registry_add_kernel(registry, "grouped_conv_forward_bf16_2d_64x64x64_compv3", &hooks));
  ck_conv_problem problem;
  ck_conv_problem_init(&problem);
  ck_selection selection{};
  selection.struct_size = sizeof selection;
  (void)ck_registry_select_conv(registry, &problem, &selection);
  ck_registry_destroy(registry);
  return finish("throwing");
}
