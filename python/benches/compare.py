"""Ours beside LightGBM and pandas, end to end from Python, on the same inputs in the same run.

    compare.py [--json FILE] [--trees 2000] [--leaves 255]

The other way is upstream's: the problem merged with every kernel into a DataFrame, features by columns with numpy,
LightGBM's prediction, and a sorted list of names and scores. It is timed with one thread and with all; both rankings
are compared before anything is timed. LightGBM trains the forests here, on random kernels and an invented cost, and
only their size matters.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import platform
import random
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import lightgbm
import numpy
import pandas

from ck_select import Predictor

Config = dict[str, Any]

PIPELINES = {"compv3": 0, "compv4": 1, "compv5": 2, "mem": 3, "preshufflev2": 4, "basic_v1": 5, "compv6": 6}
SCHEDULERS = {"intrawave": 0, "interwave": 1}
EPILOGUES = {"default": 0, "cshuffle": 1}
LAYOUTS = {"rcr": 0, "rrr": 1, "crr": 2, "ccr": 3}
BYTES = {"fp16": 2.0, "bf16": 2.0, "fp8": 1.0, "bf8": 1.0, "fp32": 4.0}
CATEGORIES = ["layout", "pipeline", "scheduler", "epilogue"]
HARDWARE = {
    "num_cus": 256,
    "simds_per_cu": 4,
    "total_simds": 1024,
    "shader_engines": 32,
    "max_clock_mhz": 2400,
    "max_waves_per_cu": 32,
    "wavefront_size": 64,
    "lds_capacity": 65536,
    "l1_cache_kb": 32,
    "l2_cache_kb": 4096,
    "l3_cache_kb": 262144,
    "num_xcd": 8,
}


def features_of(frame: pandas.DataFrame) -> dict[str, Any]:
    """The 72 GEMM features, column by column, by name."""

    def number(name: str) -> Any:
        return frame[name].to_numpy(dtype=float)

    def code(name: str, codes: dict[str, int]) -> Any:
        return frame[name].map(codes).fillna(0).to_numpy(dtype=float)

    sizes = [number(name) for name in "mnk"]
    tiles, waves, warps = ([number(f"{kind}_{axis}") for axis in "mnk"] for kind in ("tile", "warp", "warp_tile"))
    pads = [number(f"pad_{axis}") for axis in "mnk"]
    m, n, k = sizes
    size = frame["dtype"].map(BYTES).fillna(1.0).to_numpy(dtype=float)
    one = numpy.ones(len(frame))
    found: dict[str, Any] = dict(zip("MNK", sizes))
    found["split_k"] = number("split_k")
    found.update({f"log2_{name}": numpy.log2(numpy.maximum(value, 1)) for name, value in zip("MNK", sizes)})
    found["log2_MNK"] = numpy.log2(numpy.maximum(m * n * k, 1))
    found["arithmetic_intensity"] = 2.0 * m * n * k / numpy.maximum((m * k + k * n + m * n) * size, 1)
    found["aspect_ratio_mn"] = m / numpy.maximum(n, 1)
    found["aspect_ratio_mk"] = m / numpy.maximum(k, 1)
    found["aspect_ratio_nk"] = n / numpy.maximum(k, 1)
    found["layout"] = code("layout", LAYOUTS)
    for kind, values in (("tile", tiles), ("warp", waves), ("warp_tile", warps)):
        found.update({f"{kind}_{axis}": value for axis, value in zip("mnk", values)})
    found["pipeline"] = code("pipeline", PIPELINES)
    found["scheduler"] = code("scheduler", SCHEDULERS)
    found["epilogue"] = code("epilogue", EPILOGUES)
    found.update({f"pad_{axis}": pad for axis, pad in zip("mnk", pads)})
    found["persistent"] = number("persistent")
    found["num_warps"] = waves[0] * waves[1] * waves[2]
    found["tile_volume"] = tiles[0] * tiles[1] * tiles[2]
    found["tile_mn"] = tiles[0] * tiles[1]
    lds = (tiles[0] * tiles[2] + tiles[1] * tiles[2]) * size
    half = frame["pipeline"].str.startswith("compv4").to_numpy()
    found["lds_usage_estimate"] = lds
    found["lds_usage_ratio"] = lds / numpy.where(half, 32768.0, HARDWARE["lds_capacity"])
    counts = [numpy.ceil(extent / numpy.maximum(tile, 1)) for extent, tile in zip(sizes, tiles)]
    found.update({f"num_tiles_{axis}": count for axis, count in zip("mnk", counts)})
    found["total_output_tiles"] = counts[0] * counts[1]
    rests = [numpy.mod(extent, tile) for extent, tile in zip(sizes, tiles)]
    used = [numpy.where(rest > 0, rest / tile, 1.0) for rest, tile in zip(rests, tiles)]
    found.update({f"tile_eff_{axis}": share for axis, share in zip("mnk", used)})
    found["overall_tile_efficiency"] = used[0] * used[1] * used[2]
    found["cu_utilization"] = found["total_output_tiles"] / HARDWARE["num_cus"]
    for axis, extent, tile in zip("mnk", sizes, tiles):
        found[f"ratio_{axis.upper()}_to_tile_{axis}"] = extent / numpy.maximum(tile, 1)
        found[f"problem_smaller_than_tile_{axis}"] = (extent < tile) * 1.0
    small = [found[f"problem_smaller_than_tile_{axis}"] for axis in "mnk"]
    found["any_dim_too_small"] = numpy.maximum.reduce(small)
    for axis, rest, pad in zip("mnk", rests, pads):
        needs = (rest != 0) * 1.0
        found[f"needs_padding_{axis}"] = needs
        found[f"has_padding_when_needed_{axis}"] = needs * (pad != 0)
        found[f"missing_required_padding_{axis}"] = needs * (pad == 0)
    missing = [found[f"missing_required_padding_{axis}"] for axis in "mnk"]
    found["missing_any_required_padding"] = numpy.maximum.reduce(missing)
    found.update({f"hw_{name}": one * value for name, value in HARDWARE.items()})
    return found


class Upstreams:
    """Upstream's way of ranking, with LightGBM and pandas."""

    def __init__(self, directory: Path, names: list[str], threads: int) -> None:
        self.booster = lightgbm.Booster(model_file=str(directory / "model_tflops.lgbm"))
        self.names = names
        self.threads = threads

    def rank_kernels(self, problem: Config, kernels: list[Config]) -> list[tuple[str, float]]:
        """(name, score) best first."""
        found = features_of(pandas.DataFrame([{**problem, **kernel} for kernel in kernels]))
        matrix = numpy.column_stack([found[name] for name in self.names])
        scores = numpy.expm1(self.booster.predict(matrix, num_threads=self.threads))
        ranked = [(kernel["kernel_name"], float(score)) for kernel, score in zip(kernels, scores)]
        ranked.sort(key=lambda pair: -pair[1])
        return ranked


def kernel_of(draw: random.Random, place: int) -> Config:
    kernel: Config = {"kernel_name": f"kernel {place}"}
    for axis in "mnk":
        kernel[f"tile_{axis}"] = draw.choice([32, 64, 128, 256])
        kernel[f"warp_{axis}"] = draw.choice([1, 2, 4]) if axis != "k" else 1
        kernel[f"warp_tile_{axis}"] = draw.choice([16, 32])
        kernel[f"pad_{axis}"] = draw.random() < 0.5
    kernel["pipeline"] = draw.choice(list(PIPELINES))
    kernel["scheduler"] = draw.choice(list(SCHEDULERS))
    kernel["epilogue"] = draw.choice(list(EPILOGUES))
    kernel["persistent"] = draw.random() < 0.5
    return kernel


def problem_of(draw: random.Random) -> Config:
    extents = {axis: draw.choice([1, 16, 128, 1000, 1536, 4096, 7168, 20480]) + draw.randrange(64) for axis in "mnk"}
    return {**extents, "split_k": 1, "dtype": "fp8", "layout": "rcr"}


def train(directory: Path, trees: int, leaves: int) -> list[str]:
    """A forest of the size that is asked for; upstream's parameters, apart from the number of trees and leaves."""
    draw = random.Random(1)
    rows = [{**problem_of(draw), **kernel_of(draw, place)} for place in range(8000)]
    found = features_of(pandas.DataFrame(rows))
    names = list(found)
    matrix = numpy.column_stack(list(found.values()))
    generator = numpy.random.default_rng(1)
    speed = found["arithmetic_intensity"] * found["overall_tile_efficiency"] / (1 + found["num_tiles_k"])
    target = numpy.log1p(speed + generator.random(len(rows)) * 30 * (1 + found["pipeline"]))
    options = {
        "objective": "regression",
        "num_leaves": leaves,
        "max_depth": 15,
        "learning_rate": 0.02,
        "min_child_samples": 10,
        "colsample_bytree": 0.85,
        "reg_alpha": 0.05,
        "reg_lambda": 0.5,
        "seed": 42,
        "verbose": -1,
        # Small data: several threads would mostly wait for each other.
        "num_threads": 1,
    }
    categories = [names.index(name) for name in CATEGORIES]
    data = lightgbm.Dataset(matrix, target, feature_name=names, categorical_feature=categories)
    lightgbm.train(options, data, num_boost_round=trees).save_model(directory / "model_tflops.lgbm")
    spec = {"op_type": "gemm_universal", "feature_names": names, "categorical_features": CATEGORIES}
    (directory / "feature_spec.json").write_text(json.dumps({**spec, "log_targets": ["tflops"]}))
    return names


def microseconds(work: Callable[[Config], object], problems: list[Config], least: int, seconds: float) -> float:
    """The median time of a call, over at least so many calls and so much time; a new problem each."""
    work(problems[0])
    times: list[float] = []
    begin = time.perf_counter()
    gc.disable()
    try:
        while len(times) < least or time.perf_counter() - begin < seconds:
            problem = problems[len(times) % len(problems)]
            start = time.perf_counter()
            work(problem)
            times.append((time.perf_counter() - start) * 1e6)
    finally:
        gc.enable()
    return sorted(times)[len(times) // 2]


def compare(directory: Path, names: list[str], count: int, problems: list[Config]) -> Config:
    draw = random.Random(count)
    kernels = [kernel_of(draw, place) for place in range(count)]
    predictor = Predictor(directory)
    one, many = Upstreams(directory, names, 1), Upstreams(directory, names, os.cpu_count() or 1)
    for problem in problems[:3]:
        ours, theirs = predictor.rank_kernels(problem, kernels), one.rank_kernels(problem, kernels)
        # numpy's logarithms differ in last bits, which only a threshold in between could show.
        if [name for name, _ in ours] != [name for name, _ in theirs]:
            raise SystemExit(f"{count} kernels: the rankings differ for {problem}")
    pool = predictor.prepare(kernels)
    least, seconds = (20, 2.0) if count < 100 else (5, 3.0)
    row: Config = {"kernels": count}
    start = time.perf_counter()
    Predictor(directory).prepare(kernels)
    row["load_and_prepare_ms"] = (time.perf_counter() - start) * 1e3
    row["lightgbm_pandas_us"] = microseconds(lambda p: one.rank_kernels(p, kernels), problems, least, seconds)
    row["lightgbm_pandas_all_threads_us"] = microseconds(
        lambda p: many.rank_kernels(p, kernels), problems, least, seconds
    )
    row["dicts_us"] = microseconds(lambda p: predictor.rank_kernels(p, kernels), problems, least, seconds)
    row["pool_us"] = microseconds(lambda p: predictor.rank_kernels(p, pool), problems, least, seconds)
    best_other = min(row["lightgbm_pandas_us"], row["lightgbm_pandas_all_threads_us"])
    row["times_faster"] = best_other / row["dicts_us"]
    row["times_faster_pool"] = best_other / row["pool_us"]
    return row


def main() -> None:
    parser = argparse.ArgumentParser(description="ck_select beside LightGBM and pandas")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there, too")
    parser.add_argument("--trees", type=int, default=2000)
    parser.add_argument("--leaves", type=int, default=255)
    arguments = parser.parse_args()
    draw = random.Random(3)
    problems = [problem_of(draw) for _ in range(200)]
    with tempfile.TemporaryDirectory() as scratch:
        directory = Path(scratch)
        names = train(directory, arguments.trees, arguments.leaves)
        rows = [compare(directory, names, count, problems) for count in (30, 4608)]
    print(f"GEMM, 72 features, {arguments.trees} trees x {arguments.leaves} leaves; median microseconds a ranking")
    print(
        f"{'kernels':>8} {'LightGBM+pandas':>16} {'all threads':>12} {'dicts':>9} {'Pool':>9} {'faster':>8} {'Pool':>8}"
    )
    for row in rows:
        print(
            f"{row['kernels']:8} {row['lightgbm_pandas_us']:16.0f} {row['lightgbm_pandas_all_threads_us']:12.0f} "
            f"{row['dicts_us']:9.0f} {row['pool_us']:9.0f} {row['times_faster']:7.1f}x {row['times_faster_pool']:7.1f}x"
        )
    if arguments.json:
        versions = {"python": platform.python_version(), "lightgbm": lightgbm.__version__, "pandas": pandas.__version__}
        report = {
            "trees": arguments.trees,
            "leaves": arguments.leaves,
            "cpus": os.cpu_count(),
            **versions,
            "rows": rows,
        }
        arguments.json.write_text(json.dumps(report, indent=2) + "\n")


if __name__ == "__main__":
    main()
