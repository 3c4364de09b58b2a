"""Bit for bit against golden features and LightGBM itself."""

from __future__ import annotations

import math

import numpy
import pytest
from support import GOLDENS, bits, booster

from ck_select import Predictor


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
@pytest.mark.parametrize("asked", [set(), {"m", "N", "C", "dtype"}], ids=["nothing", "other"])
def test_rankings_of_golden_rows_are_lightgbms(name, asked, golden, trained):
    """Each golden row as a kernel that carries its own problem: the row's cells win over the problem that is asked."""
    rows = golden(name).usual()
    asked = {key: "fp16" if key == "dtype" else 5 for key in asked.intersection(rows[0][0])}
    rows = [row for row in rows if row[0].keys() >= asked.keys()]
    kernels = [{"kernel_name": f"k{place}", **problem, **kernel} for place, (problem, kernel, _) in enumerate(rows)]
    raw = booster(trained(name), "tflops").predict(numpy.array([features for _, _, features in rows]))
    expected = [(f"k{place}", math.expm1(value)) for place, value in enumerate(raw)]
    expected.sort(key=lambda pair: -pair[1])
    found = Predictor(trained(name)).rank_kernels(asked, kernels)
    assert [name for name, _ in found] == [name for name, _ in expected]
    assert bits(score for _, score in found) == bits(score for _, score in expected)
