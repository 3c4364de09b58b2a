"""A converter as one would write it with pandas: vectorised, every distinct name parsed once."""

import re
import sys

import pandas as pd

NAME = re.compile(
    r"grouped_conv_(forward|bwd_data|bwd_weight)_([a-z0-9]+)_(\d)d_(\d+)x(\d+)x(\d+)_"
    r"([a-z0-9_]+?)(?:_(intrawave|interwave))?(_dsb)?(_si)?$"
)
HARDWARE = {
    "num_cus": 256, "simds_per_cu": 4, "shader_engines": 32, "max_clock_mhz": 2400, "max_waves_per_cu": 32,
    "wavefront_size": 64, "lds_capacity": 163840, "l1_cache_kb": 32, "l2_cache_kb": 4096, "l3_cache_kb": 262144,
    "num_xcd": 8,
}


def parse(name):
    variant, dtype, ndim, a, b, c, pipeline, wave, dsb, si = NAME.match(name).groups()
    return ("grouped_conv", variant, dtype, int(ndim), int(a), int(b), int(c), pipeline, wave or "intrawave",
            int(bool(dsb)), int(bool(si)))


def main(source, target):
    table = pd.read_csv(source, na_values=["N/A"])
    problem = list(table.columns[2:21])
    table = table.rename(columns={"kernel": "kernel_name"})
    table = table[["kernel_name", "latency_ms", "tflops", "non_zero", "problem_idx", *problem]]
    names = table["kernel_name"].unique()
    fields = ["op_type", "variant", "dtype", "ndim_spatial", "block_size", "gemm_m_per_block", "gemm_n_per_block",
              "pipeline", "wave_mode", "has_dsb", "has_si"]
    parsed = pd.DataFrame([parse(name) for name in names], columns=fields, index=names)
    places = pd.Categorical(table["kernel_name"], categories=names).codes
    for field in fields:
        table[field] = parsed[field].to_numpy()[places]
    table["arch"] = "gfx950"
    for name, value in HARDWARE.items():
        table[f"hw_{name}"] = value
    table["is_valid"] = (table["tflops"] > 0) & (table["latency_ms"] > 0)
    table["run_id"] = 0
    table.to_parquet(target, engine="pyarrow", index=False)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
