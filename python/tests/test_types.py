"""The package's types, as strict programs of users see them."""

from __future__ import annotations

import subprocess
import sys

import pytest
from support import ROOT

PROGRAM = """
import array
import collections
from pathlib import Path
from typing import NamedTuple

import ck_select
from ck_select import GemmUniversalFeatureEngine, GroupedConvProblem, GroupedConvRegistry, Pool, Predictor
from ck_select import SurrogateSearch, create_ml_heuristic
from ck_select.upstream.predict import Predictor as Theirs


class Shape(NamedTuple):
    m: int
    n: int


predictor = Predictor(Path("model"), strict=True)
problem: dict[str, object] = {"m": 16}
ranked: list[tuple[str, float]] = predictor.rank_kernels(problem, [{"tile_m": 64}, "a name"])
predictor.rank_kernels(collections.OrderedDict(problem), ({"tile_m": tile} for tile in (64, 128)))
predictor.rank_kernels(Shape(1, 2), ["a name"])
predictor.rank_kernels(GroupedConvProblem(N=1, C=64, K=64), ("a", "b"))
pool: Pool = predictor.prepare([{"tile_m": 64}])
best: str = predictor.select_best(problem, pool)
tflops: float = predictor.predict_tflops(problem, "a name")
everything: dict[str, float] = predictor.predict_all(problem, {})
rows: list[float] = predictor.predict_rows([problem], "latency")
values: array.array[float] = predictor.predict_array([problem])
places: tuple[list[int], list[float]] = pool.rank_places(problem, 3)
by_tflops: tuple[list[int], list[float]] = predictor.rank_tflops(problem, pool, 3)
Predictor("model", feature_engine="conv97")
Predictor("model", feature_engine=GemmUniversalFeatureEngine(num_cus=304))
Predictor("model", GemmUniversalFeatureEngine)
predictor.rank_frame(problem, pool, library="polars")
found: list[tuple[dict[str, object], float]] = list(SurrogateSearch(predictor).search(problem))
spec: ck_select.MLKernelSpec = create_ml_heuristic("model", kernel_pool=[{"tile_m": 64}])(1, 2, 3)
status: ck_select.StoreStatus = GroupedConvRegistry("gfx950").store_status()
models: dict[str, Path] = ck_select.shipped_models()
times: list[dict[str, object]] = ck_select.estimate(problem, ["a name"], arch="gfx942", top=1)
figures: list[dict[str, object]] = ck_select.tune("gfx942", simulate=["a.csv", Path("b.csv")], params={"draws": 2})
tuned: Predictor = ck_select.tune("gfx942", data="a.csv", output="models/tuned")
Theirs("model").predict_tflops(problem, {})
typed: ck_select.Problem = ck_select.GemmProblem(1, 2, 3, dtype="bf16", layout="rcr", split_k="auto")
first: ck_select.Ranking = predictor.rank_kernels(problem, ["a name"])[:3]
with ck_select.Registry("MI300X", mode="search") as registry:
    names: list[str] = [name for name in registry if name in registry]
    place: ck_select.Ranked = registry.rank(typed)[0]


class Dtype:
    is_floating_point = True
    itemsize = 2


ck_select.GemmProblem(1, 2, 3, dtype=Dtype())
"""

WRONG = {
    "ck_select.GemmProblem(1, 2, 3, dtype='float')": "arg-type",
    "ck_select.GemmProblem(1, 2, 3, layout='rxr')": "arg-type",
    "ck_select.GroupedConvProblem(1, 2, 3, layout='rcr')": "arg-type",
    "ck_select.Registry(mode='fast')": "arg-type",
    "predictor.rank_kernels(problem, 5)": "arg-type",
    "ck_select.estimate(problem, 5)": "arg-type",
    "predictor.rank_kernels(5, [])": "arg-type",
    "predictor.rank_kernels(problem, [5])": "list-item",
    "predictor.predict_tflops(problem, 5)": "arg-type",
    "predictor.predict_rows(problem, 'speed')": "arg-type",
    "predictor.rank_frame(problem, [], library='excel')": "arg-type",
    "Predictor(5)": "arg-type",
    "Predictor('model', 5)": "arg-type",
    "GemmUniversalFeatureEngine(cus=1)": "call-arg",
    "name: int = predictor.select_best(problem, [])": "assignment",
    "SurrogateSearch(5)": "arg-type",
    "GroupedConvRegistry('gfx950').select(problem)": "arg-type",
}


def checked(program, tmp_path):
    (tmp_path / "program.py").write_text(program)
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file", "", "--cache-dir", "cache", "program.py"]
    found = subprocess.run(
        command, capture_output=True, text=True, cwd=tmp_path, env={"MYPYPATH": str(ROOT / "python/src"), "PATH": ""}
    )
    return [line for line in found.stdout.splitlines() if line.startswith("program.py")], found


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    return tmp_path_factory.mktemp("types")


def test_a_strict_program_passes(place):
    complaints, found = checked(PROGRAM, place)
    assert complaints == [] and "Success" in found.stdout, found.stdout + found.stderr


def test_wrong_programs_do_not(place):
    """Each of these lines is an error, and nothing else is."""
    begin = len(PROGRAM.splitlines())
    complaints, found = checked(PROGRAM + "\n".join(WRONG) + "\n", place)
    lines = {int(line.split(":")[1]): line for line in complaints if ": error: " in line}
    for number, (line, code) in enumerate(WRONG.items(), begin + 1):
        assert f"[{code}]" in lines.pop(number, ""), f"{line}: mypy says nothing of the kind\n{found.stdout}"
    assert lines == {}
