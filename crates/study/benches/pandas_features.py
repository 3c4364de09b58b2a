"""The 97 features of convolutions as one would compute them with numpy: a vector operation a feature, none by row."""

import json
import sys
import time

import numpy as np
import pandas as pd

PROBLEM = ("N C K G Di Hi Wi Z Y X stride_d stride_h stride_w pad_d pad_h pad_w dilation_d dilation_h "
           "dilation_w").split()
KERNEL = ["block_size", "gemm_m_per_block", "gemm_n_per_block", "pipeline", "wave_mode", "has_dsb", "has_si"]
HARDWARE = {
    "num_cus": 256, "simds_per_cu": 4, "total_simds": 1024, "shader_engines": 32, "max_clock_mhz": 2400,
    "max_waves_per_cu": 32, "wavefront_size": 64, "lds_capacity": 163840, "l1_cache_kb": 32, "l2_cache_kb": 4096,
    "l3_cache_kb": 262144, "num_xcd": 8,
}
PIPELINES = ["compv3", "compv4", "compv5", "mem", "preshufflev2", "basic_v1", "compv6"]
BYTES = 2.0  # bf16


def columns(table):
    """The features by name, in the order of the schema."""
    p = {name: table[name].to_numpy() for name in PROBLEM}
    n, c, k, g = p["N"], p["C"], p["K"], p["G"]
    at_least_1 = lambda value: np.maximum(value, 1)
    log2 = lambda value: np.log2(at_least_1(value))
    ratio = lambda a, b: a / at_least_1(b)
    is_3d = (p["Di"] > 1) | (p["Z"] > 1) | (p["pad_d"] > 0)

    def extent(size, filter_, axis):
        reach = (p[filter_] - 1) * p[f"dilation_{axis}"] + 1
        return (p[size] + 2 * p[f"pad_{axis}"] - reach) // p[f"stride_{axis}"] + 1

    depth_out, height_out, width_out = (
        np.where(is_3d, extent("Di", "Z", "d"), 1), extent("Hi", "Y", "h"), extent("Wi", "X", "w")
    )
    volume_in = np.where(is_3d, p["Di"], 1) * p["Hi"] * p["Wi"]
    volume_filter = np.where(is_3d, p["Z"], 1) * p["Y"] * p["X"]
    volume_out = depth_out * height_out * width_out
    channels, out_channels = ratio(c, g), ratio(k, g)
    results = (n * k * volume_out).astype(np.float64)
    flops = results * channels * volume_filter * 2.0
    moved = (n * c * volume_in) * BYTES + k * channels * volume_filter * BYTES + results * BYTES
    yield from (
        (name, p[name])
        for name in ["N", "C", "K", "G", "Hi", "Wi", "Y", "X", "stride_h", "stride_w", "pad_h", "pad_w"]
    )
    yield "Ho", height_out
    yield "Wo", width_out
    yield from ((f"log2_{name}", log2(p[name])) for name in ["N", "C", "K", "G", "Hi", "Wi"])
    yield "log2_spatial", log2(volume_in)
    yield "log2_filter", log2(volume_filter)
    yield "log2_output", log2(volume_out)
    yield "arithmetic_intensity", flops / at_least_1(moved)
    yield "filter_area", volume_filter
    yield "is_1x1_conv", (p["Z"] == 1) & (p["Y"] == 1) & (p["X"] == 1)
    yield "is_3x3_conv", (p["Y"] == 3) & (p["X"] == 3) & ((p["Z"] == 3) | ~is_3d)
    yield "channels_per_group", channels
    yield "aspect_ratio_hw", ratio(p["Hi"], p["Wi"])
    yield "aspect_ratio_filter", ratio(p["Y"], p["X"])
    yield "is_3d", is_3d
    yield "Di", p["Di"]
    yield "Z", p["Z"]
    yield "Do", depth_out
    yield from ((name, p[name]) for name in ["stride_d", "pad_d", "dilation_h", "dilation_w"])
    yield "log2_channels_per_group", log2(channels)
    yield "log2_output_channels_per_group", log2(out_channels)
    yield "is_depthwise", (g == c) & (g == k)
    yield "group_density", ratio(g, c)
    yield "is_small_group", (channels < 16) | (out_channels < 16)
    yield "channels_product_per_group", channels * out_channels
    yield "batch_group_product", n * g
    yield "is_small_batch_grouped", (n < 8) & (g > 1)

    block, tile_m, tile_n = (table[name].to_numpy() for name in KERNEL[:3])
    pipeline = table["pipeline"]
    codes, words = pd.factorize(pipeline)
    is_ = {
        word: (codes == list(words).index(word)) if word in words else np.zeros(len(table), bool)
        for word in PIPELINES
    }
    step = block
    lds = (tile_m * step + tile_n * step) * BYTES
    capacity = np.where(is_["compv4"], 32768, HARDWARE["lds_capacity"])
    yield "block_size", block
    yield "gemm_m_per_block", tile_m
    yield "gemm_n_per_block", tile_n
    yield "pipeline", np.array([PIPELINES.index(word) for word in words])[codes]
    yield "num_warps", block / 4.0
    yield "tile_volume", tile_m * tile_n * step
    yield "tile_mn", tile_m * tile_n
    yield "lds_usage_estimate", lds
    yield "lds_usage_ratio", lds / capacity
    yield "block_tile_ratio_m", ratio(tile_m, block)
    yield "block_tile_ratio_n", ratio(tile_n, block)
    yield "block_efficiency", np.minimum(tile_m, tile_n) / np.maximum(np.maximum(tile_m, tile_n), 1)
    yield from ((f"is_{word}", is_[word]) for word in ["compv3", "compv4", "compv5"])
    yield "is_intrawave", (table["wave_mode"] == "intrawave").to_numpy()
    yield "has_dsb", table["has_dsb"].to_numpy()
    yield "has_si", table["has_si"].to_numpy()
    yield "is_basic", is_["basic_v1"]
    yield "is_compv6", is_["compv6"]
    yield "is_mem", is_["mem"]

    gemm = {"m": n * volume_out, "n": k, "k": (channels * volume_filter).astype(np.int64)}
    tile = {"m": tile_m, "n": tile_n, "k": step}
    yield from ((f"gemm_{axis}_output", gemm[axis]) for axis in "mnk")
    tiles = {axis: np.ceil(ratio(gemm[axis], tile[axis])) for axis in "mnk"}
    yield from ((f"num_tiles_{axis}", tiles[axis]) for axis in "mnk")
    total = tiles["m"] * tiles["n"]
    yield "total_output_tiles", total

    def efficiency(axis):
        rest = gemm[axis] % tile[axis]
        return np.where(rest == 0, 1.0, rest / tile[axis])

    used = {axis: efficiency(axis) for axis in "mnk"}
    yield from ((f"tile_eff_{axis}", used[axis]) for axis in "mnk")
    yield "overall_tile_efficiency", used["m"] * used["n"] * used["k"]
    yield "cu_utilization", total / HARDWARE["num_cus"]
    yield from ((f"ratio_gemm_{axis}_to_tile_{axis}", ratio(gemm[axis], tile[axis])) for axis in "mnk")
    yield from ((f"problem_smaller_than_tile_{axis}", gemm[axis] < tile[axis]) for axis in "mnk")
    yield from ((f"hw_{name}", value) for name, value in HARDWARE.items())


def matrix(table):
    """Names and values; column after column, which is what numpy fills fastest and LightGBM takes as it is."""
    names, values = [], np.empty((len(table), 97), order="F")
    for name, column in columns(table):
        values[:, len(names)] = column
        names.append(name)
    assert len(names) == 97, len(names)
    return names, values


def main(source):
    begun = time.monotonic()
    table = pd.read_parquet(source, columns=[*PROBLEM, *KERNEL])
    read = time.monotonic()
    names, values = matrix(table)
    sums = values.sum(axis=0)
    done = time.monotonic()
    json.dump({"rows": len(table), "sums": dict(zip(names, sums)),
               "seconds": {"read": read - begun, "features": done - read}}, sys.stdout)


if __name__ == "__main__":
    main(sys.argv[1])
