"""Writes tables as upstream's converters leave them, in every compression and with every kind of column."""

import sys
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

folder = Path(sys.argv[1])
conv_name = "grouped_conv_forward_bf16_2d_16x64x64_compv3_intrawave"
gemm_name = "gemm_universal_fp8_rcr_compv3_cshuffle_intrawave_False_False_False_False_128x128x128_1x4x1_16x16x128"

conv = pd.DataFrame({
    "kernel_name": [conv_name, conv_name + "_dsb", conv_name + "_gm2"],
    "latency_ms": [0.1, None, 2.5],
    "tflops": [300.25, 0.0, 12.5],
    "non_zero": [7, 0, 9],
    "problem_idx": [0, 0, 1],
    "N": 16, "C": 256, "K": 128, "G": 1, "Hi": 28, "Wi": 28, "Y": 3, "X": 3,
    "stride_h": 1, "stride_w": 1, "pad_h": 1, "pad_w": [1, 1, 2],
    # Upstream loses the type of names that it cannot read.
    "op_type": ["grouped_conv", "grouped_conv", "grouped"],
    "arch": "gfx950",
    "hw_num_cus": 256, "hw_gfx_name": "gfx950",
    "is_valid": True,
    "run_id": 0,
})
gemm = pd.DataFrame({
    "op_type": "gemm_universal", "dtype": "fp8", "layout": "rcr", "arch": "gfx950",
    "kernel_name": [gemm_name, gemm_name, gemm_name.replace("compv3", "compv4")],
    "m": [16, 32, 1], "n": 1536, "k": 7168, "split_k": 1,
    "measured_tflops": [300.25, 0.0, 12.5], "latency_ms": [0.1, 0.0, 2.5], "bandwidth_gb_s": [1.0, 0.0, None],
    "is_valid": [True, False, True],
    "run_id": ["aa", "aa", "bb"],
    "tile_m": [128, 128, None],
})

for name, frame, extent in (("conv", conv, "Di"), ("gemm", gemm, "split_k")):
    for compression in (None, "snappy", "gzip", "brotli", "lz4", "zstd"):
        frame.to_parquet(folder / f"{name}_{compression}.parquet", engine="pyarrow", index=False,
                         compression=compression)
    # A column that was joined with another table: floats with nulls, flags as numbers, texts as categories.
    mixed = frame.copy()
    mixed[extent] = [1.0, 1.0, None]
    mixed["is_valid"] = mixed["is_valid"].astype("float64")
    mixed["kernel_name"] = mixed["kernel_name"].astype("category")
    mixed["arch"] = mixed["arch"].astype("category")
    size, speed = ("C", "tflops") if name == "conv" else ("m", "measured_tflops")
    mixed[size] = mixed[size].astype("category")
    mixed[speed] = mixed[speed].astype("category")
    mixed.to_parquet(folder / f"{name}_mixed.parquet", engine="pyarrow")
    table = pa.Table.from_pandas(frame, preserve_index=False)
    wide = [pa.field(f.name, pa.large_string() if pa.types.is_string(f.type) or pa.types.is_large_string(f.type)
                     else pa.int32() if pa.types.is_int64(f.type) else f.type) for f in table.schema]
    pq.write_table(table.cast(pa.schema(wide)), folder / f"{name}_wide.parquet", version="1.0")
    pq.write_table(table, folder / f"{name}_plain.parquet", use_dictionary=False, data_page_version="2.0",
                   row_group_size=2)
