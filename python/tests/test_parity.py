"""Bit for bit against golden features and LightGBM itself."""

from __future__ import annotations

import math

import numpy
import pandas
import pytest
from support import (
    CONV_MODEL,
    DEFAULT_HARDWARE,
    GEMM_MODEL,
    GOLDENS,
    bits,
    booster,
    expected_score,
    gemm_problem,
    random_gemm_pool,
)

from ck_select import Predictor


@pytest.mark.parametrize("name", GOLDENS)
def test_features_are_the_golden_ones(name, golden, trained):
    file = golden(name)
    predictor = Predictor(trained(name))
    rows = file.usual()
    computed = predictor.extract_rows([{**problem, **kernel} for problem, kernel, _ in rows])
    # Golden files do not tell the two zeros apart.
    for (_, _, expected), found in zip(rows, computed):
        assert bits(value + 0.0 for value in found) == bits(value + 0.0 for value in expected)
    assert predictor.feature_names == file.feature_names


@pytest.mark.parametrize("name", GOLDENS)
def test_hardware_is_given_to_the_engine(name, golden, trained):
    file = golden(name)
    kind = type(Predictor(trained(name)).feature_engine)
    other = next(place for place, hardware in enumerate(file.hardware) if hardware != DEFAULT_HARDWARE)
    problem, kernel, expected = file.rows[other]
    predictor = Predictor(trained(name), kind(**file.hardware[other]))
    (found,) = predictor.extract_rows([{**problem, **kernel}])
    assert bits(value + 0.0 for value in found) == bits(value + 0.0 for value in expected)


@pytest.mark.parametrize("name", GOLDENS)
def test_predictions_are_lightgbms(name, golden, trained):
    file, directory = golden(name), trained(name)
    predictor = Predictor(directory)
    rows = file.usual()[:300]
    features = numpy.array([features for _, _, features in rows])
    tflops = booster(directory, "tflops").predict(features)
    latency = booster(directory, "latency").predict(features)
    assert (latency < 0).any(), "some have to be clamped"
    for place, (problem, kernel, _) in enumerate(rows):
        expected = {"tflops": math.expm1(tflops[place]), "latency_ms": max(0.0, latency[place])}
        found = predictor.predict_all(problem, kernel)
        assert {key: value.hex() for key, value in found.items()} == {
            key: float(value).hex() for key, value in expected.items()
        }
        assert predictor.predict_tflops(problem, kernel) == found["tflops"]
        assert predictor.predict_latency(problem, kernel) == found["latency_ms"]
    merged = [{**problem, **kernel} for problem, kernel, _ in rows]
    assert bits(predictor.predict_rows(merged, "tflops")) == bits(map(math.expm1, tflops))
    assert bits(predictor.predict_rows(merged, "latency")) == bits(max(0.0, value) for value in latency)


@pytest.mark.parametrize("name", GOLDENS)
@pytest.mark.parametrize(
    "asked", [{}, {"m": 1, "N": 5, "C": 7, "dtype": "fp16", "tile_m": 32}], ids=["nothing", "other"]
)
def test_rankings_of_golden_rows_are_lightgbms(name, asked, golden, trained):
    """Each golden row as a kernel that carries its own problem: the row's cells win over the problem that is asked."""
    file, directory = golden(name), trained(name)
    rows = file.usual()
    if asked:
        rows = [row for row in rows if row[0].keys() | row[1].keys() >= asked.keys() & predictor_inputs(directory)]
    kernels = [{"kernel_name": f"k{place}", **problem, **kernel} for place, (problem, kernel, _) in enumerate(rows)]
    raw = booster(directory, "tflops").predict(numpy.array([features for _, _, features in rows]))
    expected = [(f"k{place}", math.expm1(value)) for place, value in enumerate(raw)]
    expected.sort(key=lambda pair: -pair[1])
    found = Predictor(directory).rank_kernels(asked, kernels)
    assert [name for name, _ in found] == [name for name, _ in expected]
    assert bits(score for _, score in found) == bits(score for _, score in expected)


def predictor_inputs(directory):
    """What may stand in golden rows of this operation."""
    if "conv" in directory.name:
        return {"N", "C", "dtype"}
    return {"m", "dtype", "tile_m"}


@pytest.mark.parametrize("directory", [GEMM_MODEL, CONV_MODEL], ids=lambda path: path.name)
@pytest.mark.parametrize("count", [1, 7, 30, 33, 500])
def test_rankings_of_random_pools_are_lightgbms(directory, count):
    predictor = Predictor(directory)
    forest = booster(directory, "tflops")
    is_log = "tflops" in predictor.spec.get("log_targets", [])
    if directory == GEMM_MODEL:
        pool = random_gemm_pool(count)
        problems = [gemm_problem(m=m, n=n, k=k) for m, n, k in [(1, 4096, 4096), (16, 1536, 7168), (20480, 7168, 256)]]
    else:
        pool = random_conv_pool(count)
        problems = [
            {"N": n, "C": c, "K": 128, "Hi": 28, "Wi": 30, "Y": 3, "X": 3, "pad_h": 1, "pad_w": 1, "dtype": "bf16"}
            for n, c in [(1, 64), (16, 256)]
        ]
    for problem in problems:
        features = numpy.array(predictor.extract_rows([{**problem, **kernel} for kernel in pool]))
        scores = [expected_score(raw, is_log) for raw in forest.predict(features)]
        expected = sorted(zip([kernel["kernel_name"] for kernel in pool], scores), key=lambda pair: -pair[1])
        for kernels in (pool, predictor.prepare(pool), pandas.DataFrame(pool)):
            found = predictor.rank_kernels(problem, kernels)
            assert [name for name, _ in found] == [name for name, _ in expected]
            assert bits(score for _, score in found) == bits(score for _, score in expected)
            assert predictor.select_best(problem, kernels) == expected[0][0]


def random_conv_pool(count):
    generator = numpy.random.default_rng(2)
    pick = lambda values: generator.choice(values).item()  # noqa: E731
    return [
        {
            "kernel_name": f"k{place}",
            "block_size": pick([16, 32, 64, 128]),
            "gemm_m_per_block": pick([32, 64, 128]),
            "gemm_n_per_block": pick([32, 64, 128]),
            "pipeline": pick(["compv3", "compv4", "mem", "basic_v1"]),
            "wave_mode": pick(["intrawave", "interwave"]),
            "has_dsb": pick([0, 1]),
            "has_si": pick([0, 1]),
        }
        for place in range(count)
    ]
