"""Ours beside upstream's way with LightGBM, end to end from Python, on the same inputs in the same run.

    compare.py [--json FILE] [--forests 800x15 2000x255] [--seconds 2]

Upstream's way: for one kernel, its features in Python and a prediction; for many, the problem merged with every kernel
into a DataFrame, features by columns with numpy, a prediction, and a sorted list of names and scores. LightGBM has the
better of one thread and all, ours its default. Calls alternate, each with a new problem; answers are compared before
anything is timed. LightGBM trains the forests here, on random kernels and an invented cost, and only their size
matters.
"""

from __future__ import annotations

import argparse
import gc
import json
import math
import operator
import os
import platform
import random
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

import lightgbm
import numpy
import pandas

from ck_select import GemmUniversalFeatureEngine, Predictor, engines
from ck_select.upstream.feature_engine import DTYPE_BYTES, EPILOGUE_MAP, LAYOUT_MAP, PIPELINE_MAP, SCHEDULER_MAP

Config = dict[str, Any]

TURN = 0.02
"""Seconds for which one way is called before the next is."""

CATEGORIES = ["layout", "pipeline", "scheduler", "epilogue"]
HARDWARE = {**engines.HARDWARE, "total_simds": engines.HARDWARE["num_cus"] * engines.HARDWARE["simds_per_cu"]}


class Columns:
    """How a DataFrame's columns are computed with."""

    log2, maximum, ceil, mod = numpy.log2, numpy.maximum, numpy.ceil, numpy.mod
    where = staticmethod(numpy.where)

    def __init__(self, frame: pandas.DataFrame) -> None:
        self.frame = frame

    def number(self, name: str) -> Any:
        return self.frame[name].to_numpy(dtype=float)

    def code(self, name: str, codes: Mapping[str, float], otherwise: float = 0.0) -> Any:
        return self.frame[name].map(codes).fillna(otherwise).to_numpy(dtype=float)


class Cells:
    """How one row's cells are computed with."""

    log2, maximum, ceil, mod = math.log2, max, math.ceil, operator.mod

    def __init__(self, row: Config) -> None:
        self.row = row

    @staticmethod
    def where(condition: bool, yes: float, no: float) -> float:
        return yes if condition else no

    def number(self, name: str) -> Any:
        return float(self.row[name])

    def code(self, name: str, codes: Mapping[str, float], otherwise: float = 0.0) -> Any:
        return float(codes.get(self.row[name], otherwise))


def features_of(cells: Any) -> dict[str, Any]:
    """The 72 GEMM features by name."""
    number, code, maximum, where = cells.number, cells.code, cells.maximum, cells.where
    sizes = [number(name) for name in "mnk"]
    tiles, waves, warps = ([number(f"{kind}_{axis}") for axis in "mnk"] for kind in ("tile", "warp", "warp_tile"))
    pads = [number(f"pad_{axis}") for axis in "mnk"]
    m, n, k = sizes
    size = code("dtype", DTYPE_BYTES, 1.0)
    found: dict[str, Any] = dict(zip("MNK", sizes))
    found["split_k"] = number("split_k")
    found.update({f"log2_{name}": cells.log2(maximum(value, 1)) for name, value in zip("MNK", sizes)})
    found["log2_MNK"] = cells.log2(maximum(m * n * k, 1))
    found["arithmetic_intensity"] = 2.0 * m * n * k / maximum((m * k + k * n + m * n) * size, 1)
    found["aspect_ratio_mn"] = m / maximum(n, 1)
    found["aspect_ratio_mk"] = m / maximum(k, 1)
    found["aspect_ratio_nk"] = n / maximum(k, 1)
    found["layout"] = code("layout", LAYOUT_MAP)
    for kind, values in (("tile", tiles), ("warp", waves), ("warp_tile", warps)):
        found.update({f"{kind}_{axis}": value for axis, value in zip("mnk", values)})
    found["pipeline"] = code("pipeline", PIPELINE_MAP)
    found["scheduler"] = code("scheduler", SCHEDULER_MAP)
    found["epilogue"] = code("epilogue", EPILOGUE_MAP)
    found.update({f"pad_{axis}": pad for axis, pad in zip("mnk", pads)})
    found["persistent"] = number("persistent")
    found["num_warps"] = waves[0] * waves[1] * waves[2]
    found["tile_volume"] = tiles[0] * tiles[1] * tiles[2]
    found["tile_mn"] = tiles[0] * tiles[1]
    lds = (tiles[0] * tiles[2] + tiles[1] * tiles[2]) * size
    found["lds_usage_estimate"] = lds
    room = where(found["pipeline"] == PIPELINE_MAP["compv4"], 32768.0, HARDWARE["lds_capacity"])
    found["lds_usage_ratio"] = lds / room
    counts = [cells.ceil(extent / maximum(tile, 1)) for extent, tile in zip(sizes, tiles)]
    found.update({f"num_tiles_{axis}": count for axis, count in zip("mnk", counts)})
    found["total_output_tiles"] = counts[0] * counts[1]
    rests = [cells.mod(extent, tile) for extent, tile in zip(sizes, tiles)]
    used = [where(rest > 0, rest / tile, 1.0) for rest, tile in zip(rests, tiles)]
    found.update({f"tile_eff_{axis}": share for axis, share in zip("mnk", used)})
    found["overall_tile_efficiency"] = used[0] * used[1] * used[2]
    found["cu_utilization"] = found["total_output_tiles"] / HARDWARE["num_cus"]
    for axis, extent, tile in zip("mnk", sizes, tiles):
        found[f"ratio_{axis.upper()}_to_tile_{axis}"] = extent / maximum(tile, 1)
        found[f"problem_smaller_than_tile_{axis}"] = (extent < tile) * 1.0
    small = [found[f"problem_smaller_than_tile_{axis}"] for axis in "mnk"]
    found["any_dim_too_small"] = maximum(maximum(small[0], small[1]), small[2])
    for axis, rest, pad in zip("mnk", rests, pads):
        needs = (rest != 0) * 1.0
        found[f"needs_padding_{axis}"] = needs
        found[f"has_padding_when_needed_{axis}"] = needs * (pad != 0)
        found[f"missing_required_padding_{axis}"] = needs * (pad == 0)
    missing = [found[f"missing_required_padding_{axis}"] for axis in "mnk"]
    found["missing_any_required_padding"] = maximum(maximum(missing[0], missing[1]), missing[2])
    found.update({f"hw_{name}": value for name, value in HARDWARE.items()})
    return found


def row_of(row: Config, names: list[str]) -> Any:
    """The features of one row."""
    found = features_of(Cells(row))
    return numpy.array([found[name] for name in names], dtype=float)


def matrix_of(frame: pandas.DataFrame, names: list[str]) -> Any:
    """The features of a DataFrame's rows."""
    found, one = features_of(Columns(frame)), numpy.ones(len(frame))
    return numpy.column_stack([one * found[name] for name in names])


class Upstreams:
    """Upstream's way, with LightGBM and pandas."""

    def __init__(self, directory: Path, names: list[str], threads: int) -> None:
        self.booster = lightgbm.Booster(model_file=str(directory / "model_tflops.lgbm"))
        self.names = names
        self.threads = threads

    def _tflops(self, features: Any) -> Any:
        return numpy.expm1(self.booster.predict(features, num_threads=self.threads))

    def predict_tflops(self, problem: Config, kernel: Config) -> float:
        return float(self._tflops(row_of({**problem, **kernel}, self.names).reshape(1, -1))[0])

    def predict_frame(self, frame: pandas.DataFrame) -> Any:
        return self._tflops(matrix_of(frame, self.names))

    def rank_kernels(self, problem: Config, kernels: list[Config]) -> list[tuple[str, float]]:
        """(name, score) best first."""
        scores = self.predict_frame(pandas.DataFrame([{**problem, **kernel} for kernel in kernels]))
        ranked = [(kernel["kernel_name"], float(score)) for kernel, score in zip(kernels, scores)]
        ranked.sort(key=lambda pair: -pair[1])
        return ranked


def kernel_of(draw: random.Random, place: int) -> Config:
    return {"kernel_name": f"kernel {place}", **{name: draw.choice(values) for name, values in engines.SPACE.items()}}


def problem_of(draw: random.Random) -> Config:
    extents = {axis: draw.choice([1, 16, 128, 1000, 1536, 4096, 7168, 20480]) + draw.randrange(64) for axis in "mnk"}
    return {**extents, "split_k": 1, "dtype": "fp8", "layout": "rcr"}


def train(directory: Path, trees: int, leaves: int) -> list[str]:
    """A forest of the size that is asked for; upstream's parameters, apart from the number of trees and leaves."""
    draw = random.Random(1)
    rows = [{**problem_of(draw), **kernel_of(draw, place)} for place in range(8000)]
    found = features_of(Columns(pandas.DataFrame(rows)))
    names = list(found)
    matrix = matrix_of(pandas.DataFrame(rows), names)
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


def microseconds(calls: dict[str, Callable[[int], object]], seconds: float) -> dict[str, float]:
    """The least time of each call, because whatever else runs only adds; each gets a number of its own.

    They take turns, of several milliseconds each: LightGBM's threads wait busily after a call, which would count for
    the next.
    """
    times = dict.fromkeys(calls, math.inf)
    begin, rounds, number = time.perf_counter(), 0, count()
    gc.disable()
    try:
        while rounds < 5 or time.perf_counter() - begin < seconds:
            for name, call in calls.items():
                end = time.perf_counter() + TURN
                while time.perf_counter() < end:
                    start = time.perf_counter()
                    call(next(number))
                    times[name] = min(times[name], (time.perf_counter() - start) * 1e6)
            rounds += 1
    finally:
        gc.enable()
    return times


Calls = dict[str, Callable[[int], Any]]


def cases(directory: Path, names: list[str]) -> Iterator[tuple[str, Calls]]:
    """What is timed: upstream's way with one thread and with all, and ours."""
    draw = random.Random(3)
    problems = [problem_of(draw) for _ in range(200)]
    others = {
        "LightGBM": Upstreams(directory, names, 1),
        "all threads": Upstreams(directory, names, os.cpu_count() or 1),
    }
    ours, engine = Predictor(directory), GemmUniversalFeatureEngine()
    columns, number = engine.get_feature_names(), count()

    def against(call: Callable[[Any, int], Any], own: Callable[[int], Any]) -> Calls:
        return {name: partial(call, other) for name, other in others.items()} | {"ours": own}

    def problem(turn: int) -> Config:
        return problems[turn % len(problems)]

    kernel = kernel_of(draw, 0)
    yield (
        "extract",
        {
            "LightGBM": lambda turn: row_of({**problem(turn), **kernel}, columns),
            "ours": lambda turn: engine.extract(problem(turn), kernel),
        },
    )
    yield (
        "predict_tflops",
        against(
            lambda other, turn: other.predict_tflops(problem(turn), kernel),
            lambda turn: ours.predict_tflops(problem(turn), kernel),
        ),
    )
    for size in (1, 30, 300, 4608):
        # Dicts of a file or of literals share their keys.
        kernels = json.loads(json.dumps([kernel_of(draw, place) for place in range(size)]))
        frame = pandas.DataFrame([{**problem_of(draw), **kernel} for kernel in kernels])

        def ranked(other: Any, turn: int, kernels: list[Config] = kernels) -> Any:
            return other.rank_kernels(problem(turn), kernels)

        def fresh(turn: int, kernels: list[Config] = kernels) -> Any:
            kernels[0]["kernel"] = f"label {next(number)}"  # unlike all that were seen before
            return ours.rank_kernels(problem(turn), kernels)

        yield f"{size:,} kernels, seen for the first time", against(ranked, fresh)
        yield f"{size:,} kernels", against(ranked, partial(ranked, ours))
        yield f"{size:,} kernels, prepared", against(ranked, partial(ranked, ours, kernels=ours.prepare(kernels)))
        yield (
            f"{size:,} mixed rows in a DataFrame",
            against(
                lambda other, turn, frame=frame: other.predict_frame(frame),
                lambda turn, frame=frame: ours.predict_array(frame),
            ),
        )
    yield (
        "extract_batch of 4,608 rows",
        {
            "LightGBM": lambda turn: matrix_of(frame, columns),
            "ours": lambda turn: engine.extract_batch(frame),
        },
    )


def answer(found: Any) -> Any:
    """An answer that compares with the other's; numpy's logarithms differ in last bits."""
    if isinstance(found, list):
        return [name for name, _ in found]
    return numpy.round(numpy.asarray(found, dtype=float), 6).tolist()


def compare(directory: Path, trees: int, leaves: int, seconds: float) -> list[Config]:
    names, rows = train(directory, trees, leaves), []
    print(f"\nGEMM, 72 features, {trees} trees x {leaves} leaves; microseconds, the least of several turns\n")
    print("| | LightGBM | all threads | ours | times faster |\n|---|---:|---:|---:|---:|")
    for what, calls in cases(directory, names):
        for turn in range(3):
            if len({str(answer(call(turn))) for call in calls.values()}) > 1:
                raise SystemExit(f"{what}: the answers differ for problem {turn}")
        times = microseconds(calls, seconds)
        own = times.pop("ours")
        least = min(times.values())
        cells = " | ".join(f"{times[name]:,.0f}" if name in times else "" for name in ("LightGBM", "all threads"))
        print(f"| {what} | {cells} | {own:,.0f} | {least / own:.1f} |", flush=True)
        rows.append({"trees": trees, "leaves": leaves, "case": what, **times, "ours": own})
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description="ck_select beside upstream's way with LightGBM and pandas")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there, too")
    parser.add_argument("--forests", nargs="*", default=["800x15", "2000x255"], metavar="TREESxLEAVES")
    parser.add_argument("--seconds", type=float, default=2.0, help="of a line")
    arguments = parser.parse_args()
    rows = []
    for forest in arguments.forests:
        trees, leaves = map(int, forest.split("x"))
        with tempfile.TemporaryDirectory() as scratch:
            rows += compare(Path(scratch), trees, leaves, arguments.seconds)
    if arguments.json:
        versions = {"python": platform.python_version(), "lightgbm": lightgbm.__version__, "pandas": pandas.__version__}
        arguments.json.write_text(json.dumps({"cpus": os.cpu_count(), **versions, "rows": rows}, indent=2) + "\n")


if __name__ == "__main__":
    main()
