"""The engine with vector widths, which is stricter than the others and looks for cells on both sides.

Its own six features require every cell that they read. The 72 of the base engine look for each cell on only one side
and take defaults, so that one kernel may have two rows.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from . import _features, _table
from ._features import Features
from .errors import InvalidInputError, MissingCellError

WIDTHS = ("vec_a", "vec_b", "vec_c")
_EXTENTS = ("m", "n", "k")
_GEOMETRY = tuple(f"{name}_{axis}" for name in ("tile", "warp", "warp_tile") for axis in _EXTENTS)
REQUIRED = (*_EXTENTS, "layout", "dtype", "arch", "epilogue", *WIDTHS, *_GEOMETRY)
"""The columns that a table must have, without an absent cell."""

_NEEDED = "is required to compute vector-width features"


@contextmanager
def upstreams_words(place: str = "") -> Iterator[None]:
    """The library's errors without a place, in the words and of the kinds of upstream, which programs may look for."""
    try:
        yield
    except InvalidInputError as error:
        text, kind = str(error).removeprefix(place), type(error)
        if "arch: found" in text:
            text = text.split(", expected")[0] + ": it is no architecture such as gfx950"
        elif text.endswith("at least 1"):
            text = text.replace("at least 1", "a number >= 1")
        elif "dtype: found" in text:
            kind = MissingCellError
        raise kind(text, error.status) from None


def _first(name: str, sides: tuple[Mapping[str, Any], ...], *others: str) -> Any:
    for side in sides:
        for spelling in (name, *others):
            if not _table.is_absent(side.get(spelling)):
                return side[spelling]
    raise MissingCellError(f"{name}: found nothing in the problem or the kernel; it {_NEEDED}", 5)


def _both_sided(problem: Mapping[str, Any], kernel: Mapping[str, Any]) -> dict[str, Any]:
    """The row of the six features, with every cell from the side where they look for it."""
    asked, own = (problem, kernel), (kernel, problem)
    row = {}
    for name in WIDTHS:
        side = next((side for side in own if name in side), None)
        if side is None:
            raise MissingCellError(f"{name}: absent from both the problem and the kernel; the native width is 0", 6)
        row[name] = side[name]
    row.update({name: _first(name, asked) for name in ("layout", "dtype", "arch")})
    row.update({name: _first(name, asked, name.upper()) for name in _EXTENTS})
    row.update({name: _first(name, own) for name in ("epilogue", *_GEOMETRY)})
    return row


def _rows_of(features: Features, problem: Mapping[str, Any], kernel: Mapping[str, Any]) -> list[dict[str, Any]]:
    """One row if both halves read the same, otherwise the base engine's row and that of the six features."""
    both = _both_sided(problem, kernel)
    base = features.one_sided(problem, kernel)
    # Cells that the base engine does not read must be present, too, for one row to be enough.
    unread = {name: both[name] for name in (*WIDTHS, "arch")}
    for name in _EXTENTS:
        if name not in base and name.upper() in base:
            base[name] = base.pop(name.upper())
    whole = {**base, **both}
    # An absent cell for which the base engine takes a default also requires a second row.
    if all(name in base and base[name] == whole[name] for name in both if name not in unread):
        return [whole]
    return [{**_table.present(base), **unread}, whole]


def extract(features: Features, problem: Mapping[str, Any], kernel: Mapping[str, Any]) -> array[float]:
    """The features of one kernel, in the engine's order."""
    return _extracted(features, _rows_of(features, problem, kernel))


def _extracted(features: Features, rows: list[dict[str, Any]]) -> array[float]:
    with upstreams_words("row 0: "):
        if len(rows) == 1:
            return features.extract(rows)
        base = _features.of_engine("gemm72", features.hardware)
        return base.extract(rows[:1]) + features.extract(rows[1:])[len(base.names) :]


def extract_apart(
    description: Mapping[str, Any], problem: Mapping[str, Any], kernel: Mapping[str, Any]
) -> array[float] | None:
    """A model's features of one kernel, if the engine's halves read different cells; None if one row is enough."""
    features = _features.of_engine("gemm78vec", tuple(description["hardware"].items()))
    rows = _rows_of(features, problem, kernel)
    if len(rows) == 1:
        return None
    found = dict(zip(features.names, _extracted(features, rows)))
    return array("d", [found[name] for name in description["feature_names"]])


def extract_batch(features: Features, rows: Any) -> array[float]:
    """The features of a table's rows, which have every cell that the six features read."""
    if isinstance(rows, list) and not rows:
        return array("d")
    known = frozenset(rows.columns) if _table.is_frame(rows) else frozenset().union(*rows)
    for name in dict.fromkeys((*WIDTHS, *REQUIRED)):
        if name not in known:
            needs = f"it {_NEEDED}" if name not in WIDTHS else "the engine needs the fixed vector widths, 0 for native"
            raise MissingCellError(f"{name}: no such column; {needs}", 6)
        cells = rows[name].tolist() if _table.is_frame(rows) else [row.get(name) for row in rows]
        hole = next((row for row, cell in enumerate(cells) if _table.is_absent(cell)), None)
        if hole is not None:
            raise InvalidInputError(f"row {hole}: {name} contains null; of the widths, the native one is 0", 6)
    with upstreams_words():
        return features.extract(rows)
