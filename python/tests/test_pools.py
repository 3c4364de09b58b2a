"""What is prepared for kernels is used again for the same kernels, and never for others."""

from __future__ import annotations

import enum

import numpy
import pandas
import polars
import pyarrow
import pytest
from support import GEMM_MODEL, gemm_kernel, gemm_problem, random_gemm_pool

from ck_select import Predictor
from ck_select._forest import Forest


@pytest.fixture
def prepared(monkeypatch):
    """How often a forest was prepared for kernels."""
    calls = []
    original = Forest.prepare

    def counting(self, columns):
        calls.append(len(columns))
        return original(self, columns)

    monkeypatch.setattr(Forest, "prepare", counting)
    return calls


def fresh(kernels, problem=None):
    return Predictor(GEMM_MODEL).rank_kernels(problem or gemm_problem(), kernels)


@pytest.mark.parametrize(
    "kind",
    [list, tuple, pandas.DataFrame, polars.DataFrame, pyarrow.Table.from_pylist, pyarrow.RecordBatch.from_pylist],
)
def test_the_same_kernels_are_prepared_once(predictor, kind, prepared):
    kernels = kind(random_gemm_pool(50))
    first = predictor.rank_kernels(gemm_problem(), kernels)
    for m in (1, 2, 3):
        predictor.rank_kernels(gemm_problem(m=m), kernels)
    # An equal list is the same kernels.
    assert predictor.rank_kernels(gemm_problem(), kind(random_gemm_pool(50))) == first
    assert prepared == [50]


def test_changes_are_seen(predictor, prepared):
    kernels = random_gemm_pool(30)
    changes = [
        lambda: kernels[7].update(tile_m=96),
        lambda: kernels[29].update(pipeline="preshufflev2"),
        lambda: kernels[3].update(kernel_name="another"),
        lambda: kernels[4].pop("tile_k"),
        lambda: kernels[5].update(tile_n=None),
        lambda: kernels.reverse(),
        lambda: kernels.append(gemm_kernel(64)),
        lambda: kernels.pop(0),
        lambda: kernels[6].update(k=64),
        lambda: kernels[0].clear(),
    ]
    predictor.rank_kernels(gemm_problem(), kernels)
    for count, change in enumerate(changes, 2):
        change()
        found = predictor.rank_kernels(gemm_problem(), kernels)
        assert len(prepared) == count
        assert found == fresh(kernels)
        prepared.pop()


def test_changes_of_a_frame_are_seen(predictor):
    frame = pandas.DataFrame(random_gemm_pool(30))
    predictor.rank_kernels(gemm_problem(), frame)
    frame.loc[3, "tile_m"] = 96
    assert predictor.rank_kernels(gemm_problem(), frame) == fresh(frame)
    frame.loc[4, "kernel_name"] = "another"
    assert predictor.rank_kernels(gemm_problem(), frame) == fresh(frame)
    renamed = frame.rename(columns={"tile_m": "tile_x"})
    assert predictor.rank_kernels(gemm_problem(), renamed) == fresh(renamed)
    named = frame.set_index("kernel_name")
    predictor.rank_kernels(gemm_problem(), named)
    named.index = named.index + "'"
    assert predictor.rank_kernels(gemm_problem(), named) == fresh(named)


def test_changes_of_memory_that_a_table_shares_are_seen(predictor):
    tiles = numpy.array([64, 128, 256])
    words = {"kernel_name": ["a", "b", "c"], "pipeline": ["mem", "compv3", "compv4"]}
    for make in (pyarrow.table, polars.DataFrame):
        table = make({**words, "tile_m": pyarrow.array(tiles)})
        predictor.rank_kernels(gemm_problem(), table)
        tiles[0] = 32
        assert predictor.rank_kernels(gemm_problem(), table) == fresh(table)


def test_values_that_change_in_place_are_not_kept(predictor, prepared):
    tile = numpy.array(64)
    kernels = [gemm_kernel(tile, kernel_name="a"), gemm_kernel(128, kernel_name="b")]
    predictor.rank_kernels(gemm_problem(), kernels)
    tile[...] = 256
    assert predictor.rank_kernels(gemm_problem(), kernels) == fresh([gemm_kernel(256, kernel_name="a"), kernels[1]])
    assert len(prepared) == 3

    # An array compares cell by cell: no truth value, and no pool that is kept.
    kernels[0]["more"] = numpy.zeros(3)
    assert predictor.rank_kernels(gemm_problem(), kernels) == predictor.rank_kernels(gemm_problem(), kernels)


def test_cells_of_numpy_are_found_again(predictor, prepared):
    kernels = [gemm_kernel(numpy.int64(tile), kernel_name=f"k{tile}") for tile in (64, 128)]
    assert predictor.rank_kernels(gemm_problem(), kernels) == predictor.rank_kernels(gemm_problem(), kernels)
    assert len(prepared) == 1


def test_equal_names_of_other_types_are_other_names(predictor):
    for name in (1, True, 1.0):
        ((found, _),) = predictor.rank_kernels(gemm_problem(), [gemm_kernel(kernel_name=name)])
        assert type(found) is type(name)


def test_words_of_an_enumeration_are_their_values():
    class Pipeline(str, enum.Enum):
        MEM = "mem"

    kernels = [gemm_kernel(pipeline=Pipeline.MEM)]
    assert fresh(kernels)[0][1] == fresh([gemm_kernel(pipeline="mem")])[0][1]


def test_more_lists_than_are_kept(predictor, prepared):
    lists = [random_gemm_pool(20, seed) for seed in range(12)]
    expected = [fresh(kernels) for kernels in lists]
    for _ in range(2):
        assert [predictor.rank_kernels(gemm_problem(), kernels) for kernels in lists] == expected


def test_a_pool_is_a_copy(predictor):
    kernels = random_gemm_pool(40)
    pool = predictor.prepare(kernels)
    expected = predictor.rank_kernels(gemm_problem(), kernels)
    kernels[0]["tile_m"] = 256
    kernels.pop()
    assert predictor.rank_kernels(gemm_problem(), pool) == pool.rank(gemm_problem()) == expected
    assert predictor.prepare(pool) is pool and len(pool) == 40
    assert pool.rank(gemm_problem(), 3) == expected[:3]
    assert pool.rank(gemm_problem(), 0) == pool.rank(gemm_problem(), -1) == []
    assert pool.rank(gemm_problem(), 1000) == expected
    places, scores = pool.rank_places(gemm_problem(), 2)
    assert [(f"k{place}", score) for place, score in zip(places, scores)] == expected[:2]


def test_a_list_is_no_cell_either_when_its_number_was_one(predictor):
    """Numpy's numbers equal lists of one of them."""
    predictor.rank_kernels(gemm_problem(), [gemm_kernel(numpy.int64(64))])
    with pytest.raises(TypeError, match="row 0: tile_m: a cell is a list"):
        predictor.rank_kernels(gemm_problem(), [gemm_kernel([64])])
