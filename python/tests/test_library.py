"""Our declarations are the C header's."""

from __future__ import annotations

import re

import pytest
from support import ROOT, run_python

from ck_select import _forest, _library, registry

HEADER = "".join((ROOT / "include" / name).read_text() for name in ("ck_select.h", "ck_select_rows.h"))
CODE = re.sub(r"/\*.*?\*/", "", HEADER, flags=re.S)


def test_functions_take_what_the_header_says():
    for name, arguments in _library._FUNCTIONS.items():
        declared = re.search(rf"ck_status {name}\((.*?)\);", CODE, re.S).group(1)
        # A callback has arguments of its own.
        declared = re.sub(r"\([^()]*\)", "", declared)
        assert len(declared.split(",")) == len(arguments), name


@pytest.mark.parametrize(
    ("enum", "words"),
    [
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


def test_what_cannot_be_loaded_is_said(tmp_path):
    ran = run_python("-c", "import ck_select", CK_SELECT_LIBRARY=str(tmp_path / "absent.so"))
    assert "cannot open shared object file" in ran.stderr


def test_the_package_says_which_version_it_is():
    import ck_select

    manifest = (ROOT / "Cargo.toml").read_text()
    assert f'version = "{ck_select.__version__}"' in manifest
    assert set(ck_select.__all__) <= set(vars(ck_select))
