"""What stands in a cell: numbers and words, and errors that name what is neither."""

from __future__ import annotations

import datetime
from decimal import Decimal

import numpy
import pandas
import pytest
from support import GEMM_MODEL, gemm_kernel, gemm_problem

from ck_select import InvalidInputError, Predictor


def test_numbers_that_no_column_holds_are_named():
    predictor = Predictor(GEMM_MODEL)
    for huge in (2**63, -(2**63) - 1, 10**400):
        with pytest.raises(InvalidInputError, match=f"row 1: tile_m: found {huge}, expected a number of at"):
            predictor.rank_kernels(gemm_problem(), [gemm_kernel(), gemm_kernel(huge)])


@pytest.mark.parametrize(
    "cell",
    [[5], (5,), {}, {"tile": 5}, b"5", 1 + 0j, object(), datetime.date(2020, 1, 1), numpy.array([1, 2])],
    ids=lambda cell: type(cell).__name__,
)
@pytest.mark.parametrize("name", ["tile_m", "pipeline", "pad_m"])
def test_what_is_no_cell_is_named_by_its_field(name, cell):
    predictor = Predictor(GEMM_MODEL)
    none = f"{name}: a cell is a {type(cell).__name__}, expected a number, a word, a truth value or None"
    kernel = {**gemm_kernel(), name: cell}
    with pytest.raises(TypeError, match=f"kernel: {none}"):
        predictor.predict_tflops(gemm_problem(), kernel)
    with pytest.raises(TypeError, match=f"row 1: {none}"):
        predictor.rank_kernels(gemm_problem(), [gemm_kernel(), kernel])
    with pytest.raises(TypeError, match=f"kernel: {none}"):
        predictor.feature_engine.extract(gemm_problem(), kernel)


def test_infinite_decimals_are_named():
    with pytest.raises(TypeError, match="problem: m: a cell is a Decimal"):
        Predictor(GEMM_MODEL).predict_tflops(gemm_problem(m=Decimal("Infinity")), gemm_kernel())


@pytest.mark.parametrize("number", [0, 1.5, True, numpy.int64(3)])
def test_numbers_are_no_words(number):
    """Neither to predictions nor to rankings: a code of one's own would be another word's."""
    predictor = Predictor(GEMM_MODEL)
    kernel = {**gemm_kernel(), "pipeline": number}
    with pytest.raises(InvalidInputError, match=r"kernel: pipeline: found \S+, expected a word"):
        predictor.predict_tflops(gemm_problem(), kernel)
    with pytest.raises(InvalidInputError, match=r"row 1: pipeline: found \S+, expected a word"):
        predictor.rank_kernels(gemm_problem(), [gemm_kernel(), kernel])
    with pytest.raises(InvalidInputError, match=r"row 0: pipeline: found \S+, expected a word"):
        predictor.rank_kernels(gemm_problem(), pandas.DataFrame([kernel]))


def test_words_with_brackets_are_words():
    predictor = Predictor(GEMM_MODEL)
    for word in ("[1]", "{", "{}"):
        kernel = {**gemm_kernel(), "pipeline": word, "kernel_name": word}
        assert predictor.rank_kernels(gemm_problem(), [kernel]) == [
            (word, predictor.predict_tflops(gemm_problem(), kernel))
        ]


def test_an_empty_text_is_a_missing_key():
    predictor = Predictor(GEMM_MODEL)
    for name in ("tile_m", "pipeline", "pad_m"):
        blank = gemm_kernel(**{name: ""})
        without = {key: cell for key, cell in blank.items() if key != name}
        assert predictor.predict_tflops(gemm_problem(), blank) == predictor.predict_tflops(gemm_problem(), without)
        assert predictor.rank_kernels(gemm_problem(), [blank]) == predictor.rank_kernels(gemm_problem(), [without])


def test_flags_are_0_or_1():
    engine = Predictor(GEMM_MODEL).feature_engine
    names = engine.get_feature_names()
    for given, flag in ((1, 1.0), (1.0, 1.0), (True, 1.0), ("1", 1.0), (0, 0.0), (-0.0, 0.0), (False, 0.0), ("0", 0.0)):
        found = engine.extract(gemm_problem(), {**gemm_kernel(), "pad_m": given})
        assert found[names.index("pad_m")] == flag, given
    for given in (2, -1, 0.5, "2"):
        with pytest.raises(InvalidInputError, match=r"pad_m: found .*, expected 0, 1, true or false"):
            engine.extract(gemm_problem(), {**gemm_kernel(), "pad_m": given})
        with pytest.raises(InvalidInputError, match=r"pad_m: found .*, expected 0, 1, true or false"):
            Predictor(GEMM_MODEL).rank_kernels(gemm_problem(), [gemm_kernel(pad_m=given)])
