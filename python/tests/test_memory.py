"""Objects that others change while they are read, and tables that are wrong about themselves.

`make asan` runs this, too: the library reads no cell that nobody counted.
"""

from __future__ import annotations

import pickle
import sys

import pandas
import pyarrow
import pytest
from support import gemm_kernel, gemm_problem, random_gemm_pool

from ck_select._table import Cells, Columns

PROBLEM = gemm_problem()


def while_it_is_read(change, call):
    """Calls with something that happens at every call of Python meanwhile, as in a signal handler."""

    def hook(frame, event, argument):
        if event == "call" and "ck_select" in frame.f_code.co_filename:
            sys.setprofile(None)
            change()
            sys.setprofile(hook)

    sys.setprofile(hook)
    try:
        return call()
    finally:
        sys.setprofile(None)


@pytest.mark.parametrize("ask", ["prepare", "rank_kernels"])
def test_a_list_that_grows_while_it_is_read(predictor, ask):
    """Names were those of the list, and cells those of a copy that was made before."""
    pool = random_gemm_pool(30)
    expected, growing, more = predictor.rank_kernels(PROBLEM, pool), list(pool), iter(range(1000))

    def grow():
        growing.append(gemm_kernel(kernel_name=f"k{len(growing)}", tile_m=16 << next(more) % 3))

    if ask == "prepare":
        made = while_it_is_read(grow, lambda: predictor.prepare(growing))
        assert len(made) == len(made.names) == len(made._columns)
        ranked = made.rank(PROBLEM)
    else:
        ranked = while_it_is_read(grow, lambda: predictor.rank_kernels(PROBLEM, growing))
    count = len(ranked)
    assert 30 <= count < len(growing)
    assert ranked == predictor.rank_kernels(PROBLEM, growing[:count])
    assert [pair for pair in ranked if int(pair[0][1:]) < 30] == expected


def test_a_list_of_names_that_changes_is_another_list(predictor):
    names = [
        f"gemm_universal_fp8_rcr_compv3_cshuffle_intrawave_False_False_False_False_{m}x128x64_2x2x1_32x32x16"
        for m in (64, 128, 256)
    ]
    expected = predictor.rank_kernels(PROBLEM, names)
    growing = list(names)
    found = while_it_is_read(lambda: growing.append(names[0]), lambda: predictor.rank_kernels(PROBLEM, growing))
    assert found == predictor.rank_kernels(PROBLEM, growing[: len(found)])
    assert predictor.rank_kernels(PROBLEM, names) == expected


def test_a_cell_that_changes_its_list(predictor):
    kernels = random_gemm_pool(20)

    class Label:
        def __str__(self):
            kernels[1].clear()
            kernels.clear()
            return "label"

    for name in ("kernel_name", "kernel"):
        kernels[:] = random_gemm_pool(20)
        kernels[3][name] = Label()
        pool = predictor.prepare(kernels)
        assert len(pool) == len(pool.names) == len(pool.rank(PROBLEM)) == 20 and not kernels


def test_cells_of_a_dict_that_changes_are_of_one_moment(predictor):
    before, after = gemm_kernel(64, "mem"), gemm_kernel(256, "compv4", tile_n=64)
    expected = [predictor.rank_kernels(PROBLEM, [kernel]) for kernel in (before, after)]
    kernels, states = [dict(before)], iter([after, before] * 500)
    found = while_it_is_read(lambda: kernels[0].update(next(states)), lambda: predictor.rank_kernels(PROBLEM, kernels))
    assert found in expected


@pytest.mark.parametrize("more", [3, -3, 10**9])
def test_a_frame_that_counts_wrongly(predictor, more):
    class Frame(pandas.DataFrame):
        def __len__(self):
            return len(self.index) + more

    pool = random_gemm_pool(30)
    assert predictor.rank_kernels(PROBLEM, Frame(pool)) == predictor.rank_kernels(PROBLEM, pool)
    assert len(predictor.prepare(Frame(pool))) == 30


@pytest.mark.parametrize("column", ["tile_m", "pipeline", "kernel_name"])
def test_a_frame_that_shrinks_while_it_is_read(predictor, column):
    class Frame(pandas.DataFrame):
        def __getitem__(self, key):
            found = super().__getitem__(key)
            return found[:7] if key == column else found

    with pytest.raises(ValueError, match=f"{column}: found 7 cells, expected 30: the table changed while it was read"):
        predictor.predict_rows(Frame(random_gemm_pool(30)))
    with pytest.raises(ValueError, match="changed while"):
        predictor.prepare(Frame(random_gemm_pool(30)))


class Once:
    """A table whose only capsule is given to everyone who asks."""

    def __init__(self, table):
        self.capsule, self.count, self.asked = table.__arrow_c_stream__(), len(table), 0

    def __len__(self):
        return self.count

    def __arrow_c_stream__(self, requested_schema=None):
        self.asked += 1
        return self.capsule


def test_a_stream_is_read_once(predictor):
    """What was not plain was asked a second time, and a stream that was used up was read."""
    table = pyarrow.Table.from_pylist([gemm_kernel(64), gemm_kernel(128)])
    decimals = table.set_column(1, "tile_m", table["tile_m"].cast(pyarrow.decimal128(20)))
    for each in (table, decimals):
        once = Once(each)
        assert predictor.rank_kernels(PROBLEM, once) == predictor.rank_kernels(PROBLEM, each.to_pylist())
        assert once.asked == 1
        for ask in (
            lambda once=once: predictor.rank_kernels(PROBLEM, once),
            lambda once=once: predictor.predict_rows(once),
        ):
            with pytest.raises(pyarrow.ArrowInvalid, match="released"):
                ask()


def test_a_stream_that_only_pyarrow_could_read(predictor, monkeypatch):
    once = Once(pyarrow.table({"tile_m": [64]}))
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ImportError, match="kernel_configs: pyarrow reads a Once, and is not installed"):
        predictor.rank_kernels(PROBLEM, once)
    assert once.asked == 0


def test_a_null_row_is_no_row(predictor):
    """As in a list: it was read as whatever lay behind it."""
    structs = pyarrow.StructArray.from_arrays(
        [pyarrow.array([64, 128])], names=["tile_m"], mask=pyarrow.array([False, True])
    )
    for rows in (pyarrow.chunked_array([structs]), [{"tile_m": 64}, None]):
        with pytest.raises(TypeError, match="kernel_configs: row 1: found a NoneType"):
            predictor.rank_kernels(PROBLEM, rows)


def texts(*ends):
    ends = b"".join(end.to_bytes(4, "little") for end in ends)
    return pyarrow.Array.from_buffers(
        pyarrow.string(), 2, [None, pyarrow.py_buffer(ends), pyarrow.py_buffer(b"compv3")]
    )


WRONG = {
    "a text beyond the letters": ("pipeline", texts(0, 1 << 20, 6)),
    "a text that ends before it begins": ("pipeline", texts(6, 3, 6)),
    "a word that is not in the dictionary": (
        "pipeline",
        pyarrow.DictionaryArray.from_arrays(pyarrow.array([0, 1 << 20], pyarrow.int32()), ["mem"], safe=False),
    ),
}


@pytest.mark.parametrize(("name", "column"), WRONG.values(), ids=WRONG)
def test_memory_that_a_table_is_wrong_about(predictor, name, column):
    """The library read it, whatever lay there."""
    table = pyarrow.table({name: column})
    for given in (table, table.to_batches()[0], Once(table)):
        with pytest.raises(pyarrow.ArrowInvalid):
            predictor.rank_kernels(PROBLEM, given)


def test_columns_are_as_long_as_their_table():
    cells = Cells("tile_m", "q", bytes(16))
    assert len(Columns(2, [cells])) == 2 and cells.tolist() == [0, 0]
    for rows in (0, 1, 3, 1 << 40):
        with pytest.raises(ValueError, match=f"tile_m: found 2 cells, expected {rows}"):
            Columns(rows, [cells])


def test_a_pickled_pool_says_how_long_it_is(predictor):
    pool = predictor.prepare(random_gemm_pool(5))
    assert pickle.loads(pickle.dumps(pool)).rank(PROBLEM) == pool.rank(PROBLEM)
    make, (names, columns) = pool.__reduce__()
    with pytest.raises(ValueError, match="4 names for 5 rows"):
        make(names[:4], columns)
