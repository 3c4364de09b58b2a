"""Our declarations are the C header's."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from support import GOLDEN

from ck_select import _forest, _library, registry

HEADER = "".join((GOLDEN.parents[1] / "include" / name).read_text() for name in ("ck_select.h", "ck_select_rows.h"))
CODE = re.sub(r"/\*.*?\*/", "", HEADER, flags=re.S)
STRUCTS = {
    "ck_row_options": _library.RowOptions,
    "ck_column": _library.Column,
    "ck_conv_problem": _library.ConvProblem,
    "ck_gemm_problem": _library.GemmProblem,
    "ck_options": _library.RegistryOptions,
    "ck_kernel_hooks": _library.KernelHooks,
    "ck_selection": _library.Selection,
    "ck_ranked": _library.Ranked,
    "ck_predictions": _library.Predictions,
}


@pytest.mark.parametrize("name", STRUCTS)
def test_structs_have_the_headers_fields(name):
    body = re.search(rf"struct \{{([^{{}}]*)\}} {name};", CODE, re.S).group(1)
    # A member's name stands before its array size or, for an address of a function, behind the star.
    members = [re.search(r"\(\*(\w+)\)|(\w+)(?:\[\d+\])?$", part.strip()) for part in body.split(";") if part.strip()]
    assert [match.group(1) or match.group(2) for match in members] == [field[0] for field in STRUCTS[name]._fields_]


def test_functions_take_what_the_header_says():
    for name, arguments in _library._FUNCTIONS.items():
        declared = re.search(rf"ck_status {name}\((.*?)\);", CODE, re.S).group(1)
        assert len(declared.split(",")) == len(arguments), name


@pytest.mark.parametrize(
    ("enum", "words"),
    [
        ("ck_dtype", registry.DTYPES),
        ("ck_direction", registry.DIRECTIONS),
        ("ck_conv_layout", registry.LAYOUTS),
        ("ck_source", registry.SOURCES),
        ("ck_mode", registry.MODES),
        ("ck_target", _forest.TARGETS),
        ("ck_uncoded", ("spec", "error", "upstream")),
    ],
)
def test_words_have_the_headers_numbers(enum, words):
    body = re.search(rf"enum \{{([^{{}}]*)\}} {enum};", CODE, re.S).group(1)
    # The header parts the words of a name where the vocabulary may not: FP8_FP16 is fp8fp16.
    found = [(name.replace("_", ""), number) for name, number in re.findall(r"(\w+) = (\d+)", body)]
    expected = [(f"{enum}_{word}".upper().replace("_", ""), str(number)) for number, word in enumerate(words)]
    assert found == expected


def load(library):
    environment = {**os.environ, "CK_SELECT_LIBRARY": str(library), "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", "import ck_select"]
    return subprocess.run(command, env=environment, capture_output=True, text=True)


def test_what_cannot_be_loaded_is_said(tmp_path):
    assert load(_library._path()).returncode == 0
    assert "cannot open shared object file" in load(tmp_path / "absent.so").stderr


def test_the_package_says_which_version_it_is():
    import ck_select

    manifest = Path(GOLDEN.parents[1] / "Cargo.toml").read_text()
    assert f'version = "{ck_select.__version__}"' in manifest
    assert set(ck_select.__all__) <= set(vars(ck_select))
