"""What stands in a cell, and whatever names its cells as a dict does: problems, kernels, rows; and what is refused."""

from __future__ import annotations

import collections
import datetime
import types
from decimal import Decimal
from fractions import Fraction

import numpy
import pandas
import polars
import pyarrow
import pytest
from support import CONV_MODEL, CONV_NAMES, GEMM_MODEL, bits, conv_problem, gemm_kernel, gemm_problem, random_gemm_pool

from ck_select import GemmProblem, GroupedConvProblem, InvalidInputError, Predictor

PROBLEM = gemm_problem(m=48, n=1536, k=7168)
KERNEL = gemm_kernel(64, "mem", tile_n=32, warp_m=4, pad_m=True)


def tuple_of(row):
    return collections.namedtuple("Row", row)(**row)


def record_of(row):
    """A record of numpy: one row of a structured array."""
    kinds = [(name, "U64" if isinstance(cell, str) else type(cell)) for name, cell in row.items()]
    return numpy.array([tuple(row.values())], dtype=kinds)[0]


MAPPINGS = {
    "Series": pandas.Series,
    "row of a DataFrame": lambda row: pandas.DataFrame([row]).iloc[0],
    "OrderedDict": collections.OrderedDict,
    "MappingProxyType": types.MappingProxyType,
    "ChainMap": lambda row: collections.ChainMap({}, row),
    "namedtuple": tuple_of,
    "its _asdict": lambda row: tuple_of(row)._asdict(),
    "record of numpy": record_of,
    "scalar of Arrow": lambda row: pyarrow.scalar(row),
    "row of Arrow": lambda row: pyarrow.table({name: [cell] for name, cell in row.items()}),
    "batch of Arrow": lambda row: pyarrow.RecordBatch.from_pylist([row]),
    "named row of polars": lambda row: polars.DataFrame([row]).row(0, named=True),
    "row of polars": lambda row: polars.DataFrame([row, row])[1],
}


@pytest.mark.parametrize("make", MAPPINGS.values(), ids=MAPPINGS)
def test_mappings_are_rows(predictor, make):
    expected = predictor.predict_tflops(PROBLEM, KERNEL)
    assert expected != predictor.predict_tflops(gemm_problem(), KERNEL)
    assert expected != predictor.predict_tflops(PROBLEM, {})
    assert predictor.predict_tflops(make(PROBLEM), KERNEL) == expected
    assert predictor.predict_tflops(PROBLEM, make(KERNEL)) == expected
    assert predictor.predict_all(make(PROBLEM), make(KERNEL)) == predictor.predict_all(PROBLEM, KERNEL)
    pool = random_gemm_pool(20)
    ranked = predictor.rank_kernels(PROBLEM, pool)
    assert len({score for _, score in ranked}) > 5
    assert predictor.rank_kernels(make(PROBLEM), [make(kernel) for kernel in pool]) == ranked
    assert predictor.select_best(make(PROBLEM), [make(kernel) for kernel in pool]) == ranked[0][0]
    assert predictor.prepare([make(kernel) for kernel in pool]).rank(make(PROBLEM)) == ranked
    rows = [{**PROBLEM, **kernel} for kernel in pool]
    assert bits(predictor.predict_rows([make(row) for row in rows])) == bits(predictor.predict_rows(rows))


def test_problems_of_registries_are_rows(predictor):
    assert predictor.predict_tflops(GemmProblem(48, 1536, 7168), KERNEL) == predictor.predict_tflops(PROBLEM, KERNEL)
    problem = GroupedConvProblem(**conv_problem())
    conv = Predictor(CONV_MODEL)
    assert conv.rank_kernels(problem, CONV_NAMES) == conv.rank_kernels(problem.to_dict(), CONV_NAMES)


NO_ROWS = {
    "a number": 5,
    "a list of pairs": list(PROBLEM.items()),
    "a tuple": tuple(PROBLEM.values()),
    "a set": set(PROBLEM),
    "an array": numpy.array([1, 2, 3]),
    "a Series of numbers": pandas.Series([1, 2, 3]),
    "bytes": b"m=1",
    "None": None,
    "a polars column": polars.Series("m", [1]),
    "two rows": polars.DataFrame({"m": [1, 2]}),
    "a dict by number": pyarrow.scalar(3),
}


@pytest.mark.parametrize("row", NO_ROWS.values(), ids=NO_ROWS)
def test_what_names_no_cells_is_refused(predictor, row):
    for ask in (
        lambda: predictor.predict_tflops(row, KERNEL),
        lambda: predictor.predict_all(row, KERNEL),
        lambda: predictor.rank_kernels(row, [KERNEL]),
        lambda: predictor.select_best(row, [KERNEL]),
        lambda: predictor.prepare([KERNEL]).rank(row),
    ):
        with pytest.raises(TypeError, match="^problem: found "):
            ask()
    with pytest.raises(TypeError, match="^kernel_config: found "):
        predictor.predict_tflops(PROBLEM, row)
    with pytest.raises(TypeError, match="^kernel_configs: row 1: found "):
        predictor.rank_kernels(PROBLEM, [KERNEL, row])


def test_what_is_no_list_of_kernels_is_refused(predictor):
    for kernels in (5, None, KERNEL):
        with pytest.raises(TypeError, match="kernel_configs: found a "):
            predictor.rank_kernels(PROBLEM, kernels)
    with pytest.raises(InvalidInputError, match="kernel name"):
        predictor.predict_tflops(PROBLEM, "no kernel's name")
    twice = pandas.Series([1, 2], index=["m", "m"])
    with pytest.raises(ValueError, match="stand twice"):
        predictor.predict_tflops(twice, KERNEL)


@pytest.mark.parametrize(
    "number", [float, Decimal, Fraction, numpy.float32, numpy.int8, numpy.int64, pyarrow.scalar, str]
)
def test_numbers_of_every_kind_are_cells(predictor, number):
    problem = {**PROBLEM, "m": number(48), "dtype": numpy.str_("fp8")}
    kernel = {**KERNEL, "tile_m": number(64), "pad_m": numpy.bool_(True), "pipeline": numpy.str_("mem")}
    assert predictor.predict_tflops(problem, kernel) == predictor.predict_tflops(PROBLEM, KERNEL)
    for kernels in ([kernel], [kernel, {**KERNEL, "tile_m": 128}]):
        plain = [KERNEL, *kernels[1:]]
        assert predictor.rank_kernels(problem, kernels) == predictor.rank_kernels(PROBLEM, plain)


def test_structured_arrays_are_lists_of_kernels(predictor):
    pool = random_gemm_pool(10)
    records = pandas.DataFrame(pool).to_records(index=False)
    assert predictor.rank_kernels(PROBLEM, records) == predictor.rank_kernels(PROBLEM, pool)


def test_numbers_that_no_column_holds_are_named(predictor):
    for huge in (2**63, -(2**63) - 1, 10**400):
        with pytest.raises(InvalidInputError, match=f"row 1: tile_m: found {huge}, expected a number of at"):
            predictor.rank_kernels(gemm_problem(), [gemm_kernel(), gemm_kernel(huge)])


def test_a_decimal_that_takes_forever_to_write_out_is_refused(predictor):
    huge = Decimal("1e999999")
    found = r"found 1E\+999999, expected a number of at most 64 bits"
    for kernels in ([gemm_kernel(huge)], pandas.DataFrame([gemm_kernel(huge)])):
        with pytest.raises(InvalidInputError, match=f"row 0: tile_m: {found}"):
            predictor.rank_kernels(gemm_problem(), kernels)
    with pytest.raises(InvalidInputError, match=f"kernel: tile_m: {found}"):
        predictor.predict_tflops(gemm_problem(), gemm_kernel(huge))
    with pytest.raises(InvalidInputError, match=f"problem: m: {found}"):
        predictor.rank_kernels(gemm_problem(m=huge), [gemm_kernel()])


@pytest.mark.parametrize(
    "cell",
    [
        *([5], (5,), {}, {"tile": 5}, b"5", 1 + 0j, object(), datetime.date(2020, 1, 1), numpy.array([1, 2])),
        *(Decimal("Infinity"), Decimal("sNaN"), numpy.longdouble(5)),
    ],
    ids=lambda cell: type(cell).__name__,
)
@pytest.mark.parametrize("name", ["tile_m", "pipeline", "pad_m"])
def test_what_is_no_cell_is_named_by_its_field(predictor, name, cell):
    none = f"{name}: a cell is a {type(cell).__name__}, expected a number, a word, a truth value or None"
    kernel = {**gemm_kernel(), name: cell}
    with pytest.raises(TypeError, match=f"kernel: {none}"):
        predictor.predict_tflops(gemm_problem(), kernel)
    with pytest.raises(TypeError, match=f"row 1: {none}"):
        predictor.rank_kernels(gemm_problem(), [gemm_kernel(), kernel])
    with pytest.raises(TypeError, match=f"kernel: {none}"):
        predictor.feature_engine.extract(gemm_problem(), kernel)


@pytest.mark.parametrize("number", [0, 1.5, True, numpy.int64(3)])
def test_numbers_are_no_words(predictor, number):
    """Neither to predictions nor to rankings: a code of one's own would be another word's."""
    kernel = {**gemm_kernel(), "pipeline": number}
    with pytest.raises(InvalidInputError, match=r"kernel: pipeline: found \S+, expected a word"):
        predictor.predict_tflops(gemm_problem(), kernel)
    with pytest.raises(InvalidInputError, match=r"row 1: pipeline: found \S+, expected a word"):
        predictor.rank_kernels(gemm_problem(), [gemm_kernel(), kernel])
    with pytest.raises(InvalidInputError, match=r"row 0: pipeline: found \S+, expected a word"):
        predictor.rank_kernels(gemm_problem(), pandas.DataFrame([kernel]))


def test_words_with_brackets_are_words(predictor):
    for word in ("[1]", "{", "{}"):
        kernel = {**gemm_kernel(), "pipeline": word, "kernel_name": word}
        assert predictor.rank_kernels(gemm_problem(), [kernel]) == [
            (word, predictor.predict_tflops(gemm_problem(), kernel))
        ]


def test_an_empty_text_is_a_missing_key(predictor):
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
