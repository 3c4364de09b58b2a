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
    expected = [(f"{enum}_{word}".upper(), str(number)) for number, word in enumerate(words)]
    assert re.findall(r"(\w+) = (\d+)", body) == expected


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
