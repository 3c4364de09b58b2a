"""The engine with vector widths, which is stricter than the others and looks for cells on both sides.

Its own six features require every cell that they read. The 72 of the base engine look for each cell on only one side
and take defaults, so that one kernel may have two rows.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Mapping
from typing import Any

from . import _features, _table
from ._features import Features
from .errors import InvalidInputError, MissingCellError

LAYOUTS = frozenset({"rcr", "rrr", "crr", "ccr"})
ELEMENT_BYTES = {"fp16": 2, "bf16": 2, "fp32": 4, "fp64": 8, "fp8": 1, "bf8": 1, "int8": 1, "int32": 4}
EPILOGUES = ("cshuffle", "default", "tdm")
WIDTHS = ("vec_a", "vec_b", "vec_c")
_EXTENTS = ("m", "n", "k")
_GEOMETRY = tuple(f"{name}_{axis}" for name in ("tile", "warp", "warp_tile") for axis in _EXTENTS)
REQUIRED = (*_EXTENTS, "layout", "dtype", "arch", "epilogue", *WIDTHS, *_GEOMETRY)
"""The columns that a table must have, without an absent cell."""

_ARCH = re.compile(r"gfx9\d[0-9a-z]|gfx(?:10|11|12)\d{2}")
_NEEDED = "is required to compute vector-width features"


def _is_blank(value: Any) -> bool:
    return _table.is_absent(value) or (isinstance(value, str) and not value)


def width(value: Any, name: str = "vec") -> int:
    """A width as stored; only native is 0."""
    if _is_blank(value):
        raise InvalidInputError(f"{name}: found {value!r}, expected a width; the native one is written as 0", 6)
    found = _whole(value, name)
    if found < 0:
        raise InvalidInputError(f"{name}: found {found}, expected a number >= 0, where 0 is the native width", 6)
    return found


def check_arch(arch: str) -> str:
    """An architecture without the features after its colon; native widths depend on its waves."""
    plain = arch.split(":", 1)[0]
    if not _ARCH.fullmatch(plain):
        raise InvalidInputError(f"arch: found {arch!r}, which is no architecture such as gfx950 or gfx1250", 5)
    return plain


def _check_words(layout: str, dtype: str, arch: str, epilogue: str) -> None:
    if layout not in LAYOUTS:
        raise InvalidInputError(f"layout: found {layout!r}, expected one of {', '.join(sorted(LAYOUTS))}", 5)
    if dtype not in ELEMENT_BYTES:
        raise MissingCellError(f"dtype: found {dtype!r}, expected one of {', '.join(ELEMENT_BYTES)}", 5)
    check_arch(arch)
    if epilogue not in EPILOGUES:
        raise InvalidInputError(f"epilogue: found {epilogue!r}, expected one of {', '.join(EPILOGUES)}", 6)


def _first(name: str, sides: tuple[Mapping[str, Any], ...], spellings: tuple[str, ...]) -> Any:
    for side in sides:
        for spelling in spellings:
            if not _table.is_absent(side.get(spelling)):
                return side[spelling]
    raise MissingCellError(f"{name}: found nothing in the problem or the kernel; it {_NEEDED}", 5)


def _whole(value: Any, name: str) -> int:
    try:
        return int(value)
    except (TypeError, ValueError, OverflowError):
        raise InvalidInputError(f"{name}: found {value!r}, expected a whole number", 6) from None


def _extent(name: str, value: Any) -> int:
    found = _whole(value, name)
    if found < 1:
        raise InvalidInputError(f"{name}: found {found}, expected a number >= 1", 5)
    return found


def both_sided(problem: Mapping[str, Any], kernel: Mapping[str, Any]) -> dict[str, Any]:
    """The row of the six features, with every cell from the side where they look for it, checked."""
    asked, own = (problem, kernel), (kernel, problem)
    row: dict[str, Any] = {name: str(_first(name, asked, (name,))) for name in ("layout", "dtype")}
    for name in _EXTENTS:
        row[name] = _extent(name, _first(name, asked, (name, name.upper())))
    for name in WIDTHS:
        side = next((side for side in own if name in side), None)
        if side is None:
            raise MissingCellError(f"{name}: absent from both the problem and the kernel; the native width is 0", 6)
        row[name] = width(side[name], name)
    row["arch"] = str(_first("arch", asked, ("arch",)))
    row["epilogue"] = str(_first("epilogue", own, ("epilogue",)))
    for name in _GEOMETRY:
        row[name] = _first(name, own, (name,))
    _check_words(row["layout"], row["dtype"], row["arch"], row["epilogue"])
    return row


def rows_of(features: Features, problem: Mapping[str, Any], kernel: Mapping[str, Any]) -> list[dict[str, Any]]:
    """One row if both halves read the same, otherwise the base engine's row and that of the six features."""
    both = both_sided(problem, kernel)
    base = features.one_sided(problem, kernel)
    # Cells that the base engine does not read must be present, too, for one row to be enough.
    unread = {name: both[name] for name in (*WIDTHS, "arch")}
    if "m" not in base or "n" not in base or "k" not in base:
        for name in _EXTENTS:
            if name not in base and name.upper() in base:
                base[name] = base.pop(name.upper())
    whole = {**base, **both}
    # An absent cell for which the base engine takes a default also requires a second row.
    if all(name in base and base[name] == whole[name] for name in both if name not in unread):
        return [whole]
    return [{**_complete(base), **unread}, whole]


def _complete(base: dict[str, Any]) -> dict[str, Any]:
    return {name: cell for name, cell in base.items() if not _table.is_absent(cell)}


def extract(features: Features, problem: Mapping[str, Any], kernel: Mapping[str, Any]) -> array[float]:
    """The features of one kernel, in the engine's order."""
    rows = rows_of(features, problem, kernel)
    if len(rows) == 1:
        return features.extract(rows)
    base = _features.of_engine("gemm72", features.hardware)
    return base.extract(rows[:1]) + features.extract(rows[1:])[len(base.names) :]


def checked_rows(rows: Any) -> Any:
    """A table with every cell that the six features read; widths as numbers."""
    columns = _columns(rows)
    for name in WIDTHS:
        if name not in columns:
            raise MissingCellError(f"{name}: no such column; the engine needs the fixed vector widths, 0 for native", 6)
    for name in REQUIRED:
        if name not in columns:
            raise MissingCellError(f"{name}: no such column; it {_NEEDED}", 6)
        hole = next((row for row, cell in enumerate(columns[name]) if _table.is_absent(cell)), None)
        if hole is not None:
            raise InvalidInputError(f"row {hole}: {name} contains null; of the widths, the native one is 0", 6)
    for name in WIDTHS:
        columns[name] = [width(cell, name) for cell in columns[name]]
    count = len(columns["m"])
    for row in range(count):
        for name in _EXTENTS:
            _extent(name, columns[name][row])
        _check_words(*(str(columns[name][row]) for name in ("layout", "dtype", "arch", "epilogue")))
    return [{name: cells[row] for name, cells in columns.items()} for row in range(count)]


def _columns(rows: Any) -> dict[str, list[Any]]:
    if _table.is_frame(rows):
        _table.refuse_repeated(rows)
        return {name: rows[name].tolist() for name in rows.columns}
    names = dict.fromkeys(name for row in rows for name in row)
    return {name: [row.get(name) for row in rows] for name in names}
