"""Tables of pandas, polars and Arrow, in and out."""

from __future__ import annotations

import collections
import copy
import datetime
import gc
import math
from array import array

import numpy
import pandas
import polars
import pyarrow
import pytest
from support import GEMM_MODEL, bits, gemm_problem, random_gemm_pool

from ck_select import InvalidInputError, Predictor, ranking

POOL = random_gemm_pool(40)
PROBLEM = gemm_problem(m=48, n=1536, k=7168)


def coded(table):
    """Words as dictionaries with 32-bit codes."""
    columns = [
        column.dictionary_encode() if pyarrow.types.is_string(column.type) else column for column in table.columns
    ]
    return pyarrow.table(columns, names=table.column_names)


def cast(rows, is_kind, kind):
    """A table of Arrow, with columns of one type as another."""
    table = pyarrow.Table.from_pylist(rows)
    return table.cast(pyarrow.schema([(f.name, kind if is_kind(f.type) else f.type) for f in table.schema]))


TABLES = {
    "pandas": pandas.DataFrame,
    "pandas' own types": lambda rows: pandas.DataFrame(rows).convert_dtypes(),
    "pandas, categories and floats": lambda rows: pandas.DataFrame(rows).astype(
        {"pipeline": "category", "tile_m": "float32", "warp_m": "uint16"}
    ),
    "pandas over Arrow": lambda rows: pandas.DataFrame(rows).convert_dtypes(dtype_backend="pyarrow"),
    "polars": polars.DataFrame,
    "polars, words as categories": lambda rows: polars.DataFrame(rows).with_columns(
        polars.col(polars.String).cast(polars.Categorical)
    ),
    "polars, small numbers": lambda rows: polars.DataFrame(rows).with_columns(
        polars.col(polars.Int64).cast(polars.Int16)
    ),
    "polars, in chunks": lambda rows: polars.concat(
        [polars.DataFrame(rows[:7]), polars.DataFrame(rows[7:])], rechunk=False
    ),
    "a slice of polars": lambda rows: polars.DataFrame([rows[-1], *rows, rows[0]])[1:-1],
    "Arrow": pyarrow.Table.from_pylist,
    "Arrow's batch": pyarrow.RecordBatch.from_pylist,
    "Arrow, words as codes": lambda rows: coded(pyarrow.Table.from_pylist(rows)),
    "a slice of Arrow": lambda rows: pyarrow.Table.from_pylist([rows[3], *rows]).slice(1),
    "Arrow, in chunks": lambda rows: pyarrow.concat_tables(
        [pyarrow.Table.from_pylist(rows[:9]), pyarrow.Table.from_pylist(rows[9:])]
    ),
    "Arrow, long texts": lambda rows: cast(rows, pyarrow.types.is_string, pyarrow.large_string()),
    "Arrow, unsigned": lambda rows: cast(rows, pyarrow.types.is_int64, pyarrow.uint64()),
}


@pytest.mark.parametrize("make", TABLES.values(), ids=TABLES)
def test_tables_are_lists_of_kernels(predictor, make):
    expected = predictor.rank_kernels(PROBLEM, POOL)
    table = make(POOL)
    assert predictor.rank_kernels(PROBLEM, table) == expected
    assert predictor.select_best(PROBLEM, table) == expected[0][0]
    pool = predictor.prepare(table)
    del table
    gc.collect()
    assert pool.rank(PROBLEM, 3) == expected[:3] and len(pool) == len(POOL)
    rows = [{**PROBLEM, **kernel} for kernel in POOL]
    assert bits(predictor.predict_rows(make(rows))) == bits(predictor.predict_rows(rows))
    assert predictor.extract_rows(make(rows)) == predictor.extract_rows(rows)


@pytest.mark.parametrize("name", ["k1", None])
@pytest.mark.parametrize("make", TABLES.values(), ids=TABLES)
def test_absent_cells_are_absent_in_tables(predictor, make, name):
    """The problem lends what a kernel lacks; what nobody has is a default."""
    rows = [dict(kernel) for kernel in POOL]
    rows[0]["pipeline"] = rows[3]["tile_n"] = rows[5]["persistent"] = None
    rows[9]["pipeline"] = "a word of more than twelve letters"
    rows[1]["kernel_name"] = name
    for problem in (PROBLEM, {**PROBLEM, "pipeline": "mem", "tile_n": 32}):
        expected = dict(predictor.rank_kernels(problem, rows))
        expected[name or "kernel_1"] = expected.pop(name)
        assert dict(predictor.rank_kernels(problem, make(rows))) == expected


PLAIN = [
    [{"tile_m": 1}, {"tile_m": True}, {"tile_m": -(2**63), "pipeline": "mem"}],
    [{"tile_m": 0.5, "other": object()}, {"tile_m": 2}, {"tile_m": None}, {}, {"tile_m": math.nan}],
    [
        {"pipeline": None},
        {"pipeline": "m\u00e9m", "tile_m": 2**53},
        {"pipeline": ""},
        {"pipeline": math.nan},
        {"tile_m": 1.0},
    ],
    [{"kernel_name": "a", "pipeline": "xy"}, {"pipeline": "".join("xy"), "kernel_name": "a"}, {"kernel_name": "b"}],
]


@pytest.mark.parametrize(
    "make", [list, tuple, iter, pandas.DataFrame, lambda rows: list(map(collections.UserDict, rows))]
)
def test_cells_are_what_rows_say(predictor, make):
    for rows in PLAIN:
        columns = predictor._reader.read(make(rows))
        have = set().union(*rows).intersection(predictor._inputs)
        expected = {name: [None if row.get(name) != row.get(name) else row.get(name) for row in rows] for name in have}
        assert {cells.name: cells.tolist() for cells in columns} == expected
        assert len(columns) == len(rows)
        assert columns.full == {name for name, values in expected.items() if None not in values}
        assert columns == predictor._reader.read(make(copy.deepcopy(rows)))
    read = [predictor._reader.read(make(rows)) for rows in PLAIN]
    assert [[columns == other for other in read] for columns in read] == numpy.eye(len(PLAIN), dtype=bool).tolist()


def test_columns_of_arrow_are_what_they_list(predictor):
    """Those that numpy has no type for are listed: none loses a digit."""
    cells = [
        pyarrow.array([1, 2]).cast(pyarrow.decimal128(20)),
        pyarrow.array([2**63 - 1, 1], pyarrow.uint64()),
        pyarrow.array([2**53, None]),
        pyarrow.array([0.5, None]),
        pyarrow.nulls(2),
        pyarrow.array(["64", "32"]),
        pyarrow.array([True, None]),
    ]
    for column in cells:
        table = pyarrow.table({"tile_m": column})
        listed = predictor._reader.read(table.to_pylist())
        assert predictor._reader.read(table) == listed
        assert predictor._reader.read(polars.from_arrow(table)) == listed
    for column, found in ([2**63, 1], 2**63), ([2**53 + 1, None], 2**53 + 1):
        for table in (
            pyarrow.table({"tile_m": pyarrow.array(column, pyarrow.uint64())}),
            [{"tile_m": cell} for cell in column],
        ):
            with pytest.raises(InvalidInputError, match=f"row 0: tile_m: (found )?{found}"):
                predictor.rank_kernels(PROBLEM, table)


def test_a_text_with_nul_is_refused(predictor):
    """It was cut off there, and so another word."""
    for name in ("pipeline", "kernel_name"):
        for make in (list, pandas.DataFrame, polars.DataFrame, pyarrow.Table.from_pylist):
            with pytest.raises(InvalidInputError, match=f"{name}: found .*, expected a text without NUL"):
                predictor.rank_kernels(PROBLEM, make([{name: "mem"}, {name: "mem\0"}]))


def test_columns_of_other_types_are_passed_over():
    table = pyarrow.table({"tile_m": [64], "kernel_name": ["a"], "when": [[1, 2]], "who": [{"a": 1}], "none": [None]})
    assert Predictor(GEMM_MODEL).rank_kernels(PROBLEM, table) == Predictor(GEMM_MODEL).rank_kernels(
        PROBLEM, [{"tile_m": 64, "kernel_name": "a"}]
    )


class Producer:
    """A table of a library that nobody has heard of."""

    def __init__(self, table):
        self.__arrow_c_stream__ = table.__arrow_c_stream__


class Listing(Producer):
    """One that lists its rows, as DataFusion's."""

    def __init__(self, table):
        super().__init__(table)
        self.to_pylist = table.to_pylist

    def schema(self):
        raise AssertionError("is not asked")


@pytest.mark.parametrize(
    "column",
    [
        pyarrow.array([64, 128]).cast(pyarrow.decimal128(24, 3)),
        pyarrow.array([64, 128]).cast(pyarrow.decimal256(40, 0)),
        pyarrow.array(numpy.array([64, 128], dtype="float16")),
        pyarrow.array([64, 128]).dictionary_encode(),
        pyarrow.array([0, 64, 128]).cast(pyarrow.decimal128(20, 0)).slice(1),
    ],
    ids=["decimals", "long decimals", "halves", "numbers as codes", "a slice of decimals"],
)
def test_numbers_of_every_type_are_read(predictor, column):
    expected = predictor.rank_kernels(PROBLEM, [{"tile_m": 64}, {"tile_m": 128}])
    table = pyarrow.table({"tile_m": column})
    for given in (table, Producer(table), Listing(table)):
        assert predictor.rank_kernels(PROBLEM, given) == expected
    rows = pyarrow.table({"tile_m": column, **{name: [cell] * 2 for name, cell in PROBLEM.items()}})
    assert predictor.predict_rows(rows) == [predictor.predict_tflops(PROBLEM, {"tile_m": tile}) for tile in (64, 128)]
    holes = pyarrow.chunked_array([column, pyarrow.nulls(1, column.type)])
    assert predictor.rank_kernels(PROBLEM, pyarrow.table({"tile_m": holes})) == predictor.rank_kernels(
        PROBLEM, [{"tile_m": 64}, {"tile_m": 128}, {"tile_m": None}]
    )


def test_what_is_no_column_of_cells_is_refused_where_it_is_read(predictor):
    for column in ([[64]], [{"a": 1}], [b"64"], [datetime.date(2020, 1, 1)]):
        table = pyarrow.table({"tile_m": pyarrow.array(column)})
        none = f"tile_m: a cell is a {type(column[0]).__name__}, expected a number, a word"
        with pytest.raises(TypeError, match=f"row 0: {none}"):
            predictor.rank_kernels(PROBLEM, table)
        with pytest.raises(TypeError, match=f"row 0: {none}"):
            predictor.predict_rows(table)
        with pytest.raises(TypeError, match=f"kernel: {none}"):
            predictor.predict_tflops(PROBLEM, table)


def test_an_index_of_pandas_names_cells_too(predictor):
    expected = predictor.rank_kernels(PROBLEM, POOL)
    frame = pandas.DataFrame(POOL)
    for levels in (["tile_m"], ["kernel_name"], ["kernel_name", "tile_n"], ["tile_m", "tile_n", "pipeline"]):
        for _ in range(2):  # the second time from the cache
            assert predictor.rank_kernels(PROBLEM, frame.set_index(levels)) == expected, levels
    assert predictor.rank_kernels(pandas.DataFrame([PROBLEM]).set_index("m"), POOL) == expected
    tiles = pandas.DataFrame({"tile_n": [128]}, index=pandas.Index([64], name="tile_m"))
    assert predictor.rank_kernels(PROBLEM, tiles) != predictor.rank_kernels(PROBLEM, tiles.rename_axis(None))


def test_tables_that_are_none(predictor):
    for empty in (polars.DataFrame(), polars.DataFrame({"tile_m": []}), pyarrow.table({"tile_m": pyarrow.array([])})):
        assert predictor.rank_kernels(PROBLEM, empty) == [] and predictor.predict_rows(empty) == []
    twice = pyarrow.table([[1], [2]], names=["tile_m", "tile_m"])
    with pytest.raises(ValueError, match="stand twice: tile_m"):
        predictor.rank_kernels(PROBLEM, twice)
    with pytest.raises(ValueError, match="row 1: tile_m: found 'many'"):
        predictor.rank_kernels(PROBLEM, polars.DataFrame({"tile_m": ["64", "many"]}))


def test_rankings_as_tables(predictor):
    expected = predictor.rank_kernels(PROBLEM, POOL)
    names, scores = map(list, zip(*expected))
    rows = [int(name[1:]) for name in names]
    for given, kind in [
        (POOL, pandas.DataFrame),
        (pandas.DataFrame(POOL), pandas.DataFrame),
        (predictor.prepare(POOL), pandas.DataFrame),
        (polars.DataFrame(POOL), polars.DataFrame),
        (pyarrow.Table.from_pylist(POOL), pyarrow.Table),
    ]:
        frame = predictor.rank_frame(PROBLEM, given)
        assert type(frame) is kind
        columns = (
            frame.to_pydict() if kind is pyarrow.Table else {name: frame[name].to_list() for name in frame.columns}
        )
        figures = {name: columns.pop(name) for name in ("time_us", "slower", "loss")}
        assert columns == {"kernel_name": names, "tflops": scores, "score": scores, "row": rows}
        places = expected.outlook.places
        assert list(zip(figures["time_us"], figures["slower"])) == [one[:2] for one in places]
        # The model has recorded nothing about its choices.
        assert all(map(math.isnan, figures["loss"])) and {one.loss for one in places} == {None}
    for library in ("pandas", "polars", "pyarrow"):
        empty = predictor.rank_frame(PROBLEM, [], library=library)
        assert len(empty) == 0 and type(empty).__module__.split(".")[0] == library
    with pytest.raises(ValueError, match="library: found 'excel', expected one of pandas, polars, pyarrow"):
        predictor.rank_frame(PROBLEM, POOL, library="excel")


def test_scores_are_handed_out_without_a_copy(predictor):
    rows = [{**PROBLEM, **kernel} for kernel in POOL]
    values = predictor.predict_array(rows)
    address = values.buffer_info()[0]
    assert numpy.asarray(values).__array_interface__["data"][0] == address
    assert pyarrow.py_buffer(values).address == address
    assert values.tolist() == predictor.predict_rows(rows)
    for library in ("pandas", "polars", "pyarrow"):
        numbers = {"tflops": values, "score": values, "row": array("q", range(len(rows)))}
        table = ranking.as_table(library, ["a"] * len(rows), numbers)
        for column in ("tflops", "score"):
            assert table[column].to_numpy().__array_interface__["data"][0] == address, library
    table = predictor.rank_frame(PROBLEM, POOL, library="pyarrow")
    del values
    gc.collect()
    assert table["score"].to_pylist() == [score for _, score in predictor.rank_kernels(PROBLEM, POOL)]


def test_a_table_in_a_table_out_says_what_is_not_installed(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "polars", None)
    with pytest.raises(ImportError, match="rank_frame: polars is not installed"):
        Predictor(GEMM_MODEL).rank_frame(PROBLEM, POOL, library="polars")
