"""``packaging/results``: figures are found where they stand, compared, and written."""

from __future__ import annotations

import gzip
import shutil
import subprocess
import sys

import pytest
from support import ROOT

from ck_select.commands import command

RESULTS = "docs/results.md"


@pytest.fixture(scope="module")
def results():
    """The modules, with the command line of the tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CKSELECT", str(command()))
        patch.delenv("DATA", raising=False)
        patch.syspath_prepend(str(ROOT / "packaging" / "results"))
        import documents
        import results
        import tables

        yield documents, results, tables


def test_each_line_has_its_place_and_each_table_its_line(results):
    documents, program, tables = results
    assert len(tables.LINES) > 70 and program.uncovered() == []
    for line in tables.LINES:
        begin, end = line.place.span((documents.ROOT / line.place.file).read_text())
        assert begin < end, line
    keys = [(line.place.file, *vars(line.place).values()) for line in tables.LINES]
    assert len(set(keys)) == len(keys)


def test_a_figure_that_differs_is_named_and_written(results, tmp_path, monkeypatch):
    documents, program, tables = results
    (tmp_path / "docs").mkdir()
    document = tmp_path / RESULTS
    shutil.copy(ROOT / RESULTS, document)
    monkeypatch.setattr(documents, "ROOT", tmp_path)
    (line,) = (line for line in tables.LINES if line.table == "the estimate, few rows")
    assert program.compare(line, write=False) == []
    right = document.read_text()
    assert right.count("mean 91.08, P10 71.56") == 1
    document.write_text(right.replace("mean 91.08, P10 71.56", "mean 91.09, P10 71.56"))
    (difference,) = program.compare(line, write=False)
    assert difference.endswith("91.09 is written, 91.08 made")
    program.compare(line, write=True)
    assert document.read_text() == right


@pytest.mark.parametrize(
    ("written", "made", "differ"),
    [
        ("98.45", 98.4549, False),
        ("98.45", 98.456, True),
        ("69", 68.5, False),
        ("69", 68.4, True),
        ("100.00", 99.9, True),
    ],
)
def test_figures_are_compared_as_they_are_rounded(results, written, made, differ):
    documents, _, _ = results
    assert bool(documents.differing([documents.NUMBER.search(written)], [made], 0.0)) == differ


def test_numbers_of_names_are_no_figures(results):
    documents, _, _ = results
    text = "(`gemm31`: mean 91.08, P10 71.56 of 4,008 sm_90)"
    assert documents.NUMBER.findall(text) == ["91.08", "71.56"]


def test_a_model_is_trained_again_by_its_card_alone(results, tmp_path):
    # Without DATA, its measurements are not there.
    words = [sys.executable, "-B", str(ROOT / "packaging" / "results" / "models.py"), "moe_bf16_sm90"]
    ran = subprocess.run(words, capture_output=True, text=True, check=False, env={"PATH": "/usr/bin:/bin"})
    assert ran.returncode == 1 and "has moe_h200.csv.gz of the digests in the card" in ran.stderr


def test_models_are_compared_by_what_chooses(results, tmp_path, capsys):
    import models

    shipped, made = ROOT / "models" / "grouped_conv_bwd_data_bf16_sm90", tmp_path / "made"
    shutil.copytree(shipped, made)
    forest = made / "model_relative.lgbm.gz"
    text = gzip.decompress(forest.read_bytes())
    (made / "train_manifest.json").write_text("another day")
    forest.write_bytes(gzip.compress(text + b"a parameter"))
    assert models.compare(shipped, made) == 0
    forest.write_bytes(gzip.compress(text.replace(b"num_leaves=15", b"num_leaves=16", 1)))
    (made / "sureness.json").unlink()
    assert models.compare(shipped, made) == 2
    said = capsys.readouterr().out
    assert "model_relative.lgbm.gz: differs" in said and "sureness.json: not made" in said
