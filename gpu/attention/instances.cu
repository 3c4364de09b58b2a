// The kernels of one head size and one number of waves, given with -D.

#include <vector>

#include "attention.cuh"

#define NAME_(hd, warps, rows) kernels_##hd##_##warps##_##rows
#define NAME(hd, warps, rows) NAME_(hd, warps, rows)

template <int TN, int STAGES>
Kernel one() {
  return {THE_HD, THE_WARPS * THE_ROWS * 16, TN, THE_WARPS, STAGES, run<THE_HD, THE_WARPS, THE_ROWS, TN, STAGES>};
}

std::vector<Kernel> NAME(THE_HD, THE_WARPS, THE_ROWS)() {
  std::vector<Kernel> all{one<32, 1>(), one<32, 2>(), one<64, 1>(), one<64, 2>()};
#if THE_ROWS == 1
  all.push_back(one<128, 1>());
  all.push_back(one<128, 2>());
#endif
  return all;
}
