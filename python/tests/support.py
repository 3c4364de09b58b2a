"""What several tests begin with: golden files, forests of LightGBM, problems and kernels, other programs."""

from __future__ import annotations

import csv
import gzip
import json
import os
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import lightgbm

from ck_select.engines import SPACE

ROOT = Path(__file__).resolve().parents[2]
GOLDEN = ROOT / "tests" / "golden"
GEMM_MODEL = GOLDEN / "models" / "gemm_small"
CONV_MODEL = GOLDEN / "models" / "conv_small"
OURS = ROOT / "models" / "grouped_conv_forward_bf16_gfx950"

# Kernels of convolutions: three, and a whole pool.
CONV_NAMES = [f"grouped_conv_forward_bf16_2d_{tile}x64x64_compv3" for tile in (16, 32, 64)]
FORWARD = [
    line for line in (ROOT / "configs" / "forward_bf16.txt").read_text().splitlines() if line.startswith("grouped")
]

WORDS = {"dtype", "layout", "arch", "pipeline", "wave_mode", "scheduler", "epilogue"}
CONV_PROBLEM = {
    *("N", "C", "K", "G", "Di", "Hi", "Wi", "Z", "Y", "X", "dtype"),
    *(f"{name}_{axis}" for name in ("stride", "pad", "dilation") for axis in "dhw"),
}
GEMM_PROBLEM = {"m", "n", "k", "split_k", "dtype", "layout", "arch"}


DEFAULT_HARDWARE = {
    **{"num_cus": 256, "simds_per_cu": 4, "shader_engines": 32, "max_clock_mhz": 2400, "max_waves_per_cu": 32},
    **{"wavefront_size": 64, "lds_capacity": 65536, "l1_cache_kb": 32, "l2_cache_kb": 4096, "l3_cache_kb": 262144},
    "num_xcd": 8,
}


class Golden:
    """A golden file of feature rows: for each the problem, the kernel and the features."""

    def __init__(self, name: str, problem_inputs: set[str]) -> None:
        self.rows: list[tuple[dict[str, Any], dict[str, Any], list[float]]] = []
        self.hardware: list[dict[str, int]] = []
        with gzip.open(GOLDEN / "features" / f"{name}.csv.gz", "rt") as text:
            lines = csv.DictReader(text)
            self.feature_names = [column[2:] for column in lines.fieldnames or () if column.startswith("f:")]
            for line in lines:
                given = {column: cell for column, cell in line.items() if not column.startswith(("f:", "hw_")) and cell}
                cells = {column: cell if column in WORDS else int(cell) for column, cell in given.items()}
                problem = {column: cells.pop(column) for column in problem_inputs.intersection(cells)}
                self.rows.append((problem, cells, [float(line[f"f:{name}"]) for name in self.feature_names]))
                self.hardware.append({name[3:]: int(cell) for name, cell in line.items() if name.startswith("hw_")})

    def usual(self) -> list[tuple[dict[str, Any], dict[str, Any], list[float]]]:
        """The rows of the engines' own hardware: a predictor takes it from its model, never from a row."""
        rows = [row for row, hardware in zip(self.rows, self.hardware) if hardware == DEFAULT_HARDWARE]
        assert len(rows) > 100
        return rows


GOLDENS = {
    "gemm72": ("gemm_universal", GEMM_PROBLEM, 0),
    "gemm78vec": ("gemm_universal_vec", GEMM_PROBLEM, 1),
    "conv97": ("grouped_conv", CONV_PROBLEM, 0),
    "conv_superset": ("grouped_conv", CONV_PROBLEM, 0),
}
CATEGORIES = {
    "gemm_universal": ["layout", "pipeline", "scheduler", "epilogue"],
    "gemm_universal_vec": ["layout", "pipeline", "scheduler", "epilogue"],
    "grouped_conv": ["pipeline"],
}


def booster(directory: Path, target: str) -> lightgbm.Booster:
    """A directory's forest in LightGBM itself."""
    path = directory / f"model_{target}.lgbm"
    if path.exists():
        return lightgbm.Booster(model_file=str(path))
    return lightgbm.Booster(model_str=gzip.decompress(path.with_suffix(".lgbm.gz").read_bytes()).decode())


def set_spec(directory: Path, **fields: Any) -> None:
    """Changes a directory's spec; without one, writes it."""
    path = directory / "feature_spec.json"
    spec = json.loads(path.read_text()) if path.exists() else {}
    path.write_text(json.dumps({**spec, **fields}))


def save_forest(path: Path, features: Any, targets: Any, rounds: int = 5, **more: Any) -> None:
    """A small forest of LightGBM."""
    options = {"objective": "regression", "verbose": -1, "num_threads": 1, **more.pop("options", {})}
    lightgbm.train(options, lightgbm.Dataset(features, targets, **more), num_boost_round=rounds).save_model(path)


def bits(values: Any) -> list[str]:
    """Floats by their bits."""
    return [float(value).hex() for value in values]


def run_python(*arguments: object, cwd: Path | None = None, **changes: str | None) -> subprocess.CompletedProcess[str]:
    """This interpreter with the package under test, and changes of the environment: None takes a variable away."""
    command = [sys.executable, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, cwd=cwd, env=_environment(changes))


def run_python_in_background(*arguments: object, **changes: str | None) -> subprocess.Popen[bytes]:
    """The same, without waiting for its end."""
    command = [sys.executable, *map(str, arguments)]
    return subprocess.Popen(command, stderr=subprocess.DEVNULL, env=_environment(changes))


def _environment(changes: dict[str, str | None]) -> dict[str, str]:
    path = os.pathsep.join(path for path in sys.path if path)
    changed = {**os.environ, "PYTHONPATH": path, **changes}
    return {name: value for name, value in changed.items() if value is not None}


def write_script(path: Path, body: str) -> Path:
    """A program of the shell."""
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    return path


def conv_problem(**changes: Any) -> dict[str, Any]:
    sizes = {"N": 16, "C": 256, "K": 128, "G": 1, "Hi": 28, "Wi": 28, "Y": 3, "X": 3}
    return {**sizes, "stride_h": 1, "stride_w": 1, "pad_h": 1, "pad_w": 1, **changes}


def gemm_problem(**changes: Any) -> dict[str, Any]:
    return {"m": 1024, "n": 1024, "k": 1024, "dtype": "fp8", "layout": "rcr", "split_k": 1, **changes}


def gemm_kernel(tile_m: int = 128, pipeline: str = "compv3", **changes: Any) -> dict[str, Any]:
    kernel = {
        "kernel_name": f"kernel_{tile_m}_{pipeline}",
        **{"tile_m": tile_m, "tile_n": 128, "tile_k": 64, "warp_m": 2, "warp_n": 2, "warp_k": 1},
        **{"warp_tile_m": 32, "warp_tile_n": 32, "warp_tile_k": 16},
        **{"pipeline": pipeline, "scheduler": "intrawave", "epilogue": "cshuffle"},
        **{"pad_m": False, "pad_n": False, "pad_k": False, "persistent": False},
    }
    return {**kernel, **changes}


def random_gemm_pool(count: int, seed: int = 1) -> list[dict[str, Any]]:
    draw = random.Random(seed)
    return [
        {"kernel_name": f"k{place}", **{name: draw.choice(values) for name, values in SPACE.items()}}
        for place in range(count)
    ]
