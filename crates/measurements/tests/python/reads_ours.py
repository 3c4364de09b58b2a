"""Reads the tables of the test through pandas and checks them as upstream's trainer would use them."""

import sys
from pathlib import Path

import pandas as pd

folder = Path(sys.argv[1])

conv = pd.read_parquet(folder / "conv.parquet")
assert list(conv.columns) == (
    "kernel_name latency_ms tflops non_zero problem_idx N C K G Di Hi Wi Z Y X stride_d stride_h stride_w pad_d pad_h "
    "pad_w dilation_d dilation_h dilation_w op_type variant dtype ndim_spatial block_size gemm_m_per_block "
    "gemm_n_per_block pipeline wave_mode has_dsb has_si arch hw_num_cus hw_simds_per_cu hw_shader_engines "
    "hw_max_clock_mhz hw_max_waves_per_cu hw_wavefront_size hw_lds_capacity hw_l1_cache_kb hw_l2_cache_kb "
    "hw_l3_cache_kb hw_num_xcd is_valid run_id"
).split(), list(conv.columns)
text = {"kernel_name", "op_type", "variant", "dtype", "pipeline", "wave_mode", "arch"}
for column in conv.columns:
    kind = conv[column].dtype
    if column in text:
        assert pd.api.types.is_string_dtype(kind) and not isinstance(kind, pd.CategoricalDtype), (column, kind)
    elif column in {"latency_ms", "tflops"}:
        assert kind == "float64", (column, kind)
    elif column == "is_valid":
        assert kind == "bool", kind
    else:
        assert kind == "int64", (column, kind)
first, second = conv.iloc[0], conv.iloc[1]
assert (first.block_size, first.gemm_m_per_block, first.gemm_n_per_block) == (16, 64, 128)
assert (first.op_type, first.variant, first["dtype"], first.ndim_spatial) == ("grouped_conv", "forward", "bf16", 2)
assert (first.has_dsb, first.has_si, second.has_si) == (1, 0, 1)
assert (first.tflops, first.latency_ms, first.non_zero, first.problem_idx) == (300.25, 0.1, 7, 3)
assert pd.isna(second.latency_ms) and list(conv.is_valid) == [True, False]
assert (first.arch, first.hw_num_cus, first.run_id) == ("gfx950", 256, 0)

gemm = pd.read_parquet(folder / "gemm.parquet")
assert list(gemm.columns) == (
    "op_type dtype layout arch kernel_name m n k split_k measured_tflops latency_ms bandwidth_gb_s is_valid tile_m "
    "tile_n tile_k warp_m warp_n warp_k warp_tile_m warp_tile_n warp_tile_k pipeline scheduler epilogue pad_m pad_n "
    "pad_k persistent run_id"
).split(), list(gemm.columns)
row = gemm.iloc[0]
assert (row.op_type, row["dtype"], row.layout, row.pipeline, row.scheduler) == (
    "gemm_universal", "fp8", "rcr", "mem", "interwave")
assert (row.m, row.n, row.k, row.split_k) == (16, 1536, 7168, 2)
assert (row.tile_m, row.warp_n, row.warp_tile_k) == (64, 4, 32)
assert bool(row.pad_m) and bool(row.pad_n) and bool(row.pad_k) and bool(row.persistent)
assert (row.measured_tflops, row.latency_ms, row.bandwidth_gb_s) == (1.5, 0.25, 44.0)
assert isinstance(row.run_id, str) and len(row.run_id) == 12
for column in ("pad_m", "persistent", "is_valid"):
    assert gemm[column].dtype == "bool"
