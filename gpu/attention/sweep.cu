// Measures all kernels on problems of a file and writes a table for `ckselect evaluate`. Every kernel is checked against plain arithmetic first.
//
//     sweep PROBLEMS.csv > attention.csv

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "attention.cuh"

#define GROUP(hd) \
  std::vector<Kernel> kernels_##hd##_1_1(), kernels_##hd##_2_1(), kernels_##hd##_4_1(), kernels_##hd##_8_1(), kernels_##hd##_4_2();
GROUP(64)
GROUP(128)

static void check(cudaError_t status, const char *what) {
  if (status == cudaSuccess) return;
  std::fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(status));
  std::exit(1);
}

__global__ void fill(__half *to, int64_t count, uint32_t seed) {
  for (int64_t at = blockIdx.x * static_cast<int64_t>(blockDim.x) + threadIdx.x; at < count; at += static_cast<int64_t>(gridDim.x) * blockDim.x) {
    uint32_t x = static_cast<uint32_t>(at) * 2654435761u + seed;
    x ^= x >> 16; x *= 2246822519u; x ^= x >> 13;
    to[at] = __float2half((static_cast<float>(x & 0xffff) / 65536.0f - 0.5f) * 2.0f);
  }
}

/// One thread an element of the result.
__global__ void plain(Problem p, Buffers b, float *out) {
  const int64_t at = blockIdx.x * static_cast<int64_t>(blockDim.x) + threadIdx.x;
  const int64_t all = static_cast<int64_t>(p.batch) * p.nhead_q * p.seqlen_q * p.hdim;
  if (at >= all) return;
  const int column = at % p.hdim;
  const int64_t row_of_all = at / p.hdim;
  const int row = row_of_all % p.seqlen_q, head = row_of_all / p.seqlen_q % p.nhead_q, sequence = row_of_all / p.seqlen_q / p.nhead_q;
  const int64_t keys = (static_cast<int64_t>(sequence) * p.nhead_k + head / (p.nhead_q / p.nhead_k)) * p.seqlen_k * p.hdim;
  float most = -1e30f, total = 0.0f, value = 0.0f;
  for (int key = 0; key < p.seqlen_k; ++key) {
    if (p.causal && key > row + p.seqlen_k - p.seqlen_q) break;
    float score = 0.0f;
    for (int d = 0; d < p.hdim; ++d) score += __half2float(b.q[row_of_all * p.hdim + d]) * __half2float(b.k[keys + static_cast<int64_t>(key) * p.hdim + d]);
    score *= rsqrtf(static_cast<float>(p.hdim));
    const float now = fmaxf(most, score), kept = expf(most - now), weight = expf(score - now);
    total = total * kept + weight;
    value = value * kept + weight * __half2float(b.v[keys + static_cast<int64_t>(key) * p.hdim + column]);
    most = now;
  }
  out[at] = total > 0.0f ? value / total : 0.0f;
}

struct Memory {
  Buffers b{};
  float *expected = nullptr;
  Memory() {
    // The largest problem of the file must fit: 1 GiB each.
    const int64_t elements = int64_t{1} << 29;
    __half *made[4];
    for (auto &one : made) check(cudaMalloc(&one, elements * 2), "memory");
    for (int i = 0; i < 3; ++i) fill<<<1024, 256>>>(made[i], elements, 77u * i);
    b.q = made[0]; b.k = made[1]; b.v = made[2]; b.o = made[3];
    check(cudaMalloc(&b.parts, elements * 4), "memory");
    check(cudaMalloc(&b.sums, elements), "memory");
    check(cudaMalloc(&expected, int64_t{1} << 26), "memory");
  }
};

static bool is_right(const Kernel &kernel, const Memory &memory) {
  for (const Problem p : {Problem{2, 100, 300, 4, 2, kernel.hdim, false, 1}, Problem{1, 257, 257, 2, 1, kernel.hdim, true, 1}, Problem{1, 1, 1000, 8, 2, kernel.hdim, true, 7}}) {
    const int64_t all = static_cast<int64_t>(p.batch) * p.nhead_q * p.seqlen_q * p.hdim;
    plain<<<static_cast<unsigned>((all + 255) / 256), 256>>>(p, memory.b, memory.expected);
    if (!kernel.run(p, memory.b, nullptr)) return false;
    std::vector<float> expected(all);
    std::vector<__half> found(all);
    check(cudaMemcpy(expected.data(), memory.expected, all * 4, cudaMemcpyDeviceToHost), "copy");
    check(cudaMemcpy(found.data(), memory.b.o, all * 2, cudaMemcpyDeviceToHost), "copy");
    for (int64_t at = 0; at < all; ++at) {
      if (!(std::fabs(expected[at] - __half2float(found[at])) < 4e-3f)) {
        std::fprintf(stderr, "hdim %d tile %dx%d warps %d stages %d, %d splits: %f instead of %f at %lld\n", kernel.hdim, kernel.tile_m, kernel.tile_n,
                     kernel.warps, kernel.stages, p.splits, __half2float(found[at]), expected[at], static_cast<long long>(at));
        return false;
      }
    }
  }
  return true;
}

static std::string name_of(const Kernel &k, const Problem &p) {
  char text[256];
  // The instruction's rows are those of a wave, which gives the number of waves.
  std::snprintf(text, sizeof text, "fmha_%s_fp16_batch_h%d_%s_t%dx%dx16x%dx16x%d_w%dx8x16_pad1111_mask=%s_bias=no%s_bpc=-1", p.splits > 1 ? "fwd_splitkv" : "fwd",
                k.hdim, k.stages > 1 ? "qr_async" : "qr", k.tile_m, k.tile_n, k.hdim, k.hdim, k.tile_m / k.warps, p.causal ? "bottom_right" : "no",
                p.splits > 1 ? "_lse=1" : "");
  return text;
}

int main(int, char **arguments) {
  std::vector<Kernel> kernels;
  for (auto group : {kernels_64_1_1, kernels_64_2_1, kernels_64_4_1, kernels_64_8_1, kernels_64_4_2, kernels_128_1_1, kernels_128_2_1, kernels_128_4_1,
                     kernels_128_8_1, kernels_128_4_2}) {
    for (const Kernel &one : group()) kernels.push_back(one);
  }
  const Memory memory;
  kernels.erase(std::remove_if(kernels.begin(), kernels.end(), [&](const Kernel &one) { return !is_right(one, memory); }), kernels.end());
  std::fprintf(stderr, "%zu kernels are right\n", kernels.size());
  cudaEvent_t from, to;
  cudaEventCreate(&from);
  cudaEventCreate(&to);
  std::printf("kernel,problem_idx,batch,seqlen_q,seqlen_k,nhead_q,nhead_k,hdim_q,hdim_v,num_splits,latency_ms,tflops\n");
  std::ifstream file(arguments[1]);
  std::string line;
  std::getline(file, line);
  for (int index = 0; std::getline(file, line); ++index) {
    std::istringstream cells(line);
    int numbers[8];
    for (int &number : numbers) {
      std::string cell;
      std::getline(cells, cell, ',');
      number = std::atoi(cell.c_str());
    }
    const Problem p{numbers[0], numbers[1], numbers[2], numbers[3], numbers[4], numbers[5], numbers[6] != 0, numbers[7]};
    for (const Kernel &kernel : kernels) {
      if (kernel.hdim != p.hdim) continue;
      float best[5];
      // A short run says how many make 2 ms.
      kernel.run(p, memory.b, nullptr);
      cudaEventRecord(from);
      kernel.run(p, memory.b, nullptr);
      cudaEventRecord(to);
      check(cudaEventSynchronize(to), "run");
      float ms = 0.0f;
      cudaEventElapsedTime(&ms, from, to);
      const int repeat = std::max(1, std::min(50, static_cast<int>(2.0f / std::max(ms, 0.004f))));
      for (float &time : best) {
        cudaEventRecord(from);
        for (int i = 0; i < repeat; ++i) kernel.run(p, memory.b, nullptr);
        cudaEventRecord(to);
        check(cudaEventSynchronize(to), "run");
        cudaEventElapsedTime(&time, from, to);
        time /= static_cast<float>(repeat);
      }
      std::sort(std::begin(best), std::end(best));
      const double operations = 4.0 * p.batch * p.nhead_q * static_cast<double>(p.seqlen_q) * p.seqlen_k * p.hdim;
      std::printf("%s,%d,%d,%d,%d,%d,%d,%d,%d,%d,%.6f,%.6f\n", name_of(kernel, p).c_str(), index, p.batch, p.seqlen_q, p.seqlen_k, p.nhead_q, p.nhead_k, p.hdim,
                  p.hdim, p.splits, best[2], operations / (best[2] * 1e9));
    }
  }
  return 0;
}
