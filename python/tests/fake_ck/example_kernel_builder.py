"""In the place of CK's script of this name: kernels that write to the host's memory and take what a formula says."""

import argparse
import re
import subprocess
from pathlib import Path

KERNEL = """
class Fake : public ck_tile::dispatcher::KernelInstance {
 public:
  explicit Fake(ck_tile::dispatcher::KernelKey key) : key_(std::move(key)) {}
  const ck_tile::dispatcher::KernelKey& get_key() const override { return key_; }
  bool supports(const ck_tile::dispatcher::Problem&) const override { return true; }
  std::string get_name() const override { return key_.encode_identifier(); }
  float run(const void*, const void*, void* c, const void**, const ck_tile::dispatcher::Problem& problem,
            void*) const override {
    prove_fake::write(c, 2 * problem.M * problem.N);
    return prove_fake::ms(problem.M, problem.N, problem.K, key_.algorithm.tile_shape.m, key_.algorithm.tile_shape.n);
  }
  bool validate(const void*, const void*, const void*, const void**, const ck_tile::dispatcher::Problem&,
                float) const override {
    return true;
  }

 private:
  ck_tile::dispatcher::KernelKey key_;
};
"""
GEMM = """
  {{
    ck_tile::dispatcher::KernelKey key{{}};
    using namespace ck_tile::dispatcher;
    key.signature.dtype_a = key.signature.dtype_b = key.signature.dtype_c = DataType::FP16;
    key.signature.dtype_acc = DataType::FP32;
    key.signature.layout_b = LayoutTag::ColMajor;
    key.signature.split_k = 1;
    key.algorithm.tile_shape = {{{tile}}};
    key.algorithm.wave_shape = {{{wave}}};
    key.algorithm.warp_tile_shape = {{{warp}}};
    key.algorithm.pipeline = Pipeline::{pipeline};
    key.gfx_arch = arch;
    registry.register_kernel(std::make_shared<Fake>(key));
  }}"""
CONV = """
  {{
    using namespace ck_tile::dispatcher;
    GroupedConvKernelKey key;
    key.dtype_in = key.dtype_wei = key.dtype_out = "fp16";
    key.layout = "nhwgc";
    const int tile[] = {{{tile}}}, wave[] = {{{wave}}}, warp[] = {{{warp}}};
    key.tile_m = tile[1];
    key.tile_n = tile[2];
    key.tile_k = 64;
    key.wave_m = wave[0];
    key.wave_n = wave[1];
    key.warp_m = key.warp_n = warp[0];
    key.warp_k = warp[2];
    key.pipeline = "{lower}";
    key.arch = arch;
    const auto run = [=](const GroupedConvProblem& problem, void*) {{
      const auto rows = problem.N * problem.output_spatial[1] * problem.output_spatial[2];
      prove_fake::write(g_conv_dispatch_buffers.output_ptr, 2 * rows * problem.K);
      const auto depth = problem.C * problem.filter_spatial[1] * problem.filter_spatial[2];
      return prove_fake::ms(rows, problem.K, depth, key.tile_m, key.tile_n);
    }};
    const auto by = [](std::initializer_list<int> sides) {{
      std::string text;
      for (const int side : sides) text += (text.empty() ? "" : "x") + std::to_string(side);
      return text;
    }};
    const std::string name = "grouped_conv_fwd_fp16_nhwgc_2d_{lower}_cshuffle_intrawave_" +
                             by({{key.tile_m, key.tile_n, 64}}) + "_" + by({{key.wave_m, key.wave_n, 1}}) + "_" +
                             by({{key.warp_m, key.warp_n, key.warp_k}});
    registry.register_kernel(key, std::make_shared<GroupedConvKernelInstance>(key, name, run));
  }}"""
HEADER = """
#include <{include}>
#include <cstring>
namespace prove_fake {{
inline float ms(double m, double n, double k, int rows, int columns) {{
  const auto tiles = std::ceil(m / rows) * std::ceil(n / columns);
  return float(0.01 + 1e-8 * std::ceil(tiles / 304) * k * (rows * columns / 4.0 + 16.0 * (rows + columns)));
}}
// Both ends, which are looked at.
inline void write(void* output, std::size_t bytes) {{
  const std::size_t size = std::min<std::size_t>(bytes, 1 << 16);
  std::memset(output, 1, size);
  std::memset(static_cast<char*>(output) + bytes - size, 1, size);
}}
}}  // namespace prove_fake
{kernel}
inline void register_fakes(ck_tile::dispatcher::{registry}& registry, const std::string& arch) {{{body}
}}
#define REGISTER_GENERATED_KERNELS(registry, arch) register_fakes(registry, arch)
"""


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("source", type=Path)
    for name in ("output-dir", "include-dirs", "gpu-target", "target-name"):
        parser.add_argument(f"--{name}", required=True)
    options = parser.parse_args()
    text, folder = options.source.read_text(), Path(options.output_dir)
    is_conv = text.startswith("DECL_GROUPED_CONV_KERNEL_SET(")
    body = ""
    for line in text.splitlines()[1:]:
        cells = {name: re.search(rf"\.{name}\(([^)]+)\)", line)[1] for name in ("tile", "wave", "warp")}
        lower = re.search(r'\.pipeline\("(\w+)"\)', line)[1]
        pipeline = {"mem": "Mem", "compv3": "CompV3", "compv4": "CompV4"}[lower]
        body += (CONV if is_conv else GEMM).format(**cells, lower=lower, pipeline=pipeline)
    include = "ck_tile/dispatcher/grouped_conv_registry.hpp" if is_conv else "ck_tile/dispatcher.hpp"
    registry = "GroupedConvRegistry" if is_conv else "Registry"
    header = HEADER.format(include=include, kernel="" if is_conv else KERNEL, registry=registry, body=body)
    (folder / f"{options.source.stem}_kernels.hpp").write_text("#include <cmath>" + header)
    subprocess.run(["ar", "rcs", str(folder / f"lib{options.target_name}_kernels.a")], check=True)


main()
