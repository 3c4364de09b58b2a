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


def extract(features: Features, problem: Mapping[str, Any], kernel: Mapping[str, Any]) -> array[float]:
    """The features of one kernel, in the engine's order."""
    base, row = _features.of_engine("gemm72", features.hardware), _both_sided(problem, kernel)
    with upstreams_words("row 0: "):
        own = features.extract(features.reader.read([row], "row"))[len(base.names) :]
        return base.extract_one_sided(_table.present(problem), _table.present(kernel)) + own


def model_features(
    description: Mapping[str, Any], problem: Mapping[str, Any], kernel: Mapping[str, Any]
) -> array[float]:
    """A model's features of one kernel."""
    features = _features.of_engine("gemm78vec", tuple(description["hardware"].items()))
    found = dict(zip(features.names, extract(features, problem, kernel)))
    return array("d", [found[name] for name in description["feature_names"]])


@upstreams_words()
def extract_batch(features: Features, rows: Any) -> array[float]:
    """The features of a table's rows, which have every cell that the six features read."""
    columns = features.reader.read(rows, "df")
    known = {cells.name: cells for cells in columns}
    for name in dict.fromkeys((*WIDTHS, *REQUIRED)) if len(columns) else ():
        if name not in known:
            needs = f"it {_NEEDED}" if name not in WIDTHS else "the engine needs the fixed vector widths, 0 for native"
            raise MissingCellError(f"{name}: no such column, or it contains null alone; {needs}", 6)
        if known[name].has_absent:
            hole = known[name].tolist().index(None)
            raise InvalidInputError(f"row {hole}: {name} contains null; of the widths, the native one is 0", 6)
    return features.extract(columns)
