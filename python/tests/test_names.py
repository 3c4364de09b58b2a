"""Rows that name their kernels: described as everywhere else, for every model that ships."""

from __future__ import annotations

import csv
import shutil
from pathlib import Path

import pandas
import polars
import pyarrow
import pytest
from support import CONV_MODEL, GEMM_MODEL, GOLDEN, OURS, ROOT, bits, conv_problem, gemm_kernel, gemm_problem, set_spec

from ck_select import (
    GroupedConvProblem,
    GroupedConvRegistry,
    InvalidInputError,
    MissingCellError,
    Predictor,
    create_ranked_heuristic,
    kernel_config_to_feature_dict,
    parse_kernel_name,
)

SPECS = (ROOT / "models").glob("*/feature_spec.json")
# A universal model, which has a prior, ranks the kernels of a pool; rows alone mean nothing to it.
MODELS = sorted(spec.parent for spec in SPECS if '"prior"' not in spec.read_text())
EXTENTS = ("N", "C", "K", "G", "Di", "Hi", "Wi", "Z", "Y", "X")
PROBLEM = (*EXTENTS, *(f"{name}_{axis}" for name in ("stride", "pad", "dilation") for axis in "dhw"))
GEMM_NAME = "gemm_universal_fp8_rcr_compv3_cshuffle_intrawave_False_False_False_False_128x128x64_2x2x1_32x32x16"
CONV_NAME = "grouped_conv_forward_bf16_2d_16x64x128_compv4_interwave_dsb"


def sweeps(model: Path):
    """A model's rows in ``tests/golden/rows``, problem by problem, with numbers as numbers."""
    with open(GOLDEN / "rows" / f"{model.name}.csv") as text:
        rows = [
            {name: int(cell) if cell.lstrip("-").isdecimal() else cell for name, cell in row.items()}
            for row in csv.DictReader(text)
        ]
    problems = list(dict.fromkeys(tuple(row[name] for name in PROBLEM) for row in rows))
    for problem in problems:
        own = [row for row in rows if tuple(row[name] for name in PROBLEM) == problem]
        expected = [(row["kernel_name"], float(row.pop("score"))) for row in own]
        expected.sort(key=lambda pair: -pair[1])
        yield dict(zip(PROBLEM, problem)), own, expected


def same(found, expected):
    assert [name for name, _ in found] == [name for name, _ in expected]
    assert bits(score for _, score in found) == bits(score for _, score in expected)


def scored(predictor, asked, kernels, names):
    """The ranking with the scores that decide, which ``rank_kernels`` has in the same order."""
    places, scores = predictor.rank_places(asked, kernels)
    ranked = [names[place] for place in places]
    assert ranked == [name for name, _ in predictor.rank_kernels(asked, kernels)]
    return list(zip(ranked, scores))


@pytest.mark.parametrize("model", MODELS, ids=lambda path: path.name)
def test_every_shipped_model_ranks_rows_as_the_command_line_does(model):
    predictor = Predictor(model)
    registry = GroupedConvRegistry(arch=predictor.spec["arch"], models=[model])
    for place, (problem, rows, expected) in enumerate(sweeps(model)):
        asked = {**problem, "dtype": "bf16"}
        names = [row["kernel_name"] for row in rows]
        assert len({score for _, score in expected}) > 1
        for kernels in (
            rows,
            pandas.DataFrame(rows),
            names,
            pandas.Series(names),
            polars.Series(names),
            polars.DataFrame({"kernel_name": names}),
            pyarrow.table({"kernel": names}),
            [{"kernel": name} for name in names],
            [parse_kernel_name(name) for name in names],
        ):
            same(scored(predictor, asked, kernels, names), expected)
            assert predictor.select_best(asked, kernels) == expected[0][0]
        # The name says type and direction, and that there is no depth.
        flat = {name: value for name, value in problem.items() if not name.endswith("_d") and name not in ("Di", "Z")}
        same(scored(predictor, flat, names, names), expected)
        # A whole row as the problem: what it says of a kernel is not for kernels that have names.
        same(scored(predictor, rows[-1], names, names), expected)
        merged = predictor.extract_rows(rows, predictor._rank_by)
        assert merged == predictor.extract_rows([{**asked, "kernel_name": name} for name in names], predictor._rank_by)

        if place == 0:
            for name in names:
                registry.register(name)
        direction = predictor.spec["variant"]
        same(registry.rank(GroupedConvProblem(**problem, dtype="bf16", direction=direction)), expected)


@pytest.mark.parametrize("strict", [None, True, False])
def test_dictionaries_of_upstreams_scripts_are_the_kernels_that_they_mean(strict):
    """Three numbers in the order of a name and a pipeline, as in ``predict_grouped_conv.py``, for a model that was
    trained on the tile's meaning: these dictionaries once needed ``gemm_k_per_block``, and with it were other kernels.
    """
    tiles = [(16, 64, 64), (32, 128, 64), (64, 64, 128), (64, 128, 64), (128, 64, 128), (128, 128, 64)]
    kernels = [
        {"block_size": m, "gemm_m_per_block": n, "gemm_n_per_block": k, "pipeline": "compv3"} for m, n, k in tiles
    ]
    names = [f"grouped_conv_forward_bf16_2d_{m}x{n}x{k}_compv3" for m, n, k in tiles]
    problem = conv_problem(dtype="bf16")
    predictor = Predictor(OURS, strict=strict)
    assert predictor.rank_places(problem, kernels) == predictor.rank_places(problem, names)
    for name, kernel in zip(names, kernels):
        assert predictor.predict_all(problem, kernel) == predictor.predict_all(problem, name)
        for depth in (64, kernel["gemm_n_per_block"]):
            with pytest.raises(InvalidInputError, match=r"block_size, .*, gemm_k_per_block: found .* or kernel_name"):
                predictor.predict_tflops(problem, {**kernel, "gemm_k_per_block": depth})
    with pytest.raises(InvalidInputError, match="row 0: block_size, gemm_m_per_block, gemm_n_per_block: found 256, 64"):
        predictor.rank_kernels(problem, [{**kernels[0], "block_size": 256}])


def test_absent_cells_are_errors_for_models_of_ours(tmp_path):
    problem, rows, _ = next(sweeps(OURS))
    asked = {**problem, "dtype": "bf16"}
    labels = [{**row, "kernel_name": f"k{place}"} for place, row in enumerate(rows)]
    predictor = Predictor(OURS)
    for name in ("gemm_n_per_block", "pipeline"):
        with pytest.raises(MissingCellError, match=f"row 0: {name}: found nothing"):
            predictor.rank_kernels(asked, [{key: cell for key, cell in labels[0].items() if key != name}])
    with pytest.raises(InvalidInputError, match="C: found nothing"):
        predictor.rank_kernels({name: value for name, value in asked.items() if name != "C"}, [CONV_NAME])
    assert len(Predictor(OURS, strict=False).rank_kernels({}, labels)) == len(rows)
    # The drop-in for models of upstream's trainer takes upstream's defaults, as ever.
    assert Predictor(GEMM_MODEL).predict_tflops({}, {}) > 0
    with pytest.raises(InvalidInputError, match="found nothing"):
        Predictor(GEMM_MODEL, strict=True).predict_tflops({}, {})
    # A model says by its spec whether it is ours.
    theirs = Path(shutil.copytree(OURS, tmp_path / "theirs"))
    set_spec(theirs, ck_select=None)
    assert len(Predictor(theirs).rank_kernels({}, labels)) == len(rows)


def test_names_that_cannot_be_read():
    for predictor in (Predictor(OURS), Predictor(CONV_MODEL)):
        for kernels in (["grouped_conv_forward_bf16_2d_16x64x64_compv33"], ["k0"]):
            with pytest.raises(ValueError, match=r"kernel name "):
                predictor.rank_kernels({"N": 1}, kernels)
        with pytest.raises(InvalidInputError, match=r"row 0: kernel_name: found .* expected a kernel's name: "):
            predictor.rank_kernels({}, [{"kernel_name": "grouped_conv_forward_bf16_2d_16x64x64_compv33"}])
        with pytest.raises(ValueError, match="found the text 'grouped"):
            predictor.rank_kernels({"N": 1}, CONV_NAME)


def test_upstreams_models_read_names_in_their_own_order():
    predictor = Predictor(CONV_MODEL)
    problem = conv_problem(dtype="bf16")
    cells = parse_kernel_name(CONV_NAME)
    expected = predictor.predict_tflops(problem, cells)
    assert predictor.predict_tflops(problem, CONV_NAME) == expected
    assert predictor.predict_tflops(problem, {**cells, "kernel_name": CONV_NAME}) == expected
    assert predictor.predict_tflops(problem, {**cells, "kernel_name": "label"}) == expected
    assert predictor.rank_kernels(problem, [CONV_NAME]) == [(CONV_NAME, expected)]


def test_gemms_have_names_too(predictor):
    cells = gemm_kernel(128, kernel_name=GEMM_NAME)
    expected = predictor.predict_tflops(gemm_problem(), gemm_kernel(128))
    for kernel in (GEMM_NAME, {"kernel_name": GEMM_NAME}, cells, kernel_config_to_feature_dict(GEMM_NAME)):
        assert predictor.predict_tflops(gemm_problem(), kernel) == expected
        assert predictor.rank_kernels(gemm_problem(), [kernel]) == [(GEMM_NAME, expected)]
    ranked = create_ranked_heuristic(GEMM_MODEL, kernel_pool=[GEMM_NAME])(1024, 1024, 1024)
    assert [(spec.kernel_name, spec.predicted_tflops, spec.tile_m) for spec in ranked] == [(GEMM_NAME, expected, 128)]
    with pytest.raises(InvalidInputError, match="warp_tile_k: found 32, expected 16, as kernel_name 'gemm_universal"):
        predictor.predict_tflops(gemm_problem(), {**cells, "warp_tile_k": 32})
    # What `mem` kernels do, and what tables of measurements say of them, is not what their names say.
    mem = GEMM_NAME.replace("compv3", "mem")
    padded = {**kernel_config_to_feature_dict(mem), "pad_m": True, "pad_n": True, "pad_k": True}
    assert predictor.predict_tflops(gemm_problem(), padded) == predictor.predict_tflops(gemm_problem(), mem)
    with pytest.raises(InvalidInputError, match="pad_n: found 1, expected 0"):
        predictor.predict_tflops(gemm_problem(), {**cells, "pad_n": True})
