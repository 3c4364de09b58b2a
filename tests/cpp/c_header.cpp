// The C header from C++: links only when its declarations are extern "C".

#include "ck_select.h"

int main() {
  ck_registry* registry = nullptr;
  if (ck_registry_create(nullptr, &registry) != CK_STATUS_OK) return 1;
  const ck_status status = ck_registry_add_kernel(registry, "grouped_conv_forward_bf16_2d_64x64x64_compv3", nullptr);
  ck_registry_destroy(registry);
  return status == CK_STATUS_OK ? 0 : 1;
}
