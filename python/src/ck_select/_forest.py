"""Forests of model directories, and pools prepared for them: thin classes over the library's handles."""

from __future__ import annotations

import ctypes
import json
from array import array
from pathlib import Path
from typing import Any, Literal, TypeVar

from . import _table
from ._library import Handle, check, lib, text_of
from ._structs import RowOptions
from .errors import InvalidModelError

Target = Literal["tflops", "latency", "bandwidth", "relative"]
TARGETS = ("tflops", "latency", "bandwidth", "relative")
"""What a forest can predict, in the library's order."""


def options(
    target: str, engine: str | None, hardware: bytes | None, uncoded: int, force: bool = False, threads: int = 1
) -> RowOptions:
    """How to load a forest; a missing spec is tolerated, as in upstream."""
    return RowOptions(
        target=TARGETS.index(target),
        uncoded=uncoded,
        tolerate_no_spec=1,
        force=1 if force else 0,
        engine=engine.encode() if engine else None,
        hardware=hardware,
        threads=threads,
    )


def read_spec(path: Path) -> dict[str, Any]:
    """A ``feature_spec.json``, empty if there is none."""
    try:
        spec = json.loads(path.read_text("utf-8-sig")) if path.exists() else {}
    except ValueError as error:
        raise InvalidModelError(f"{path}: {error}", 11) from None
    if not isinstance(spec, dict):
        raise InvalidModelError(f"{path}: found a {type(spec).__name__}, expected a JSON object", 11)
    return spec


def describe_spec(directory: Path, how: RowOptions) -> dict[str, Any]:
    """A model directory's spec, checked."""
    described: dict[str, Any] = json.loads(text_of(lib.ck_spec_describe, bytes(directory), ctypes.byref(how)))
    return described


def filled(count: int, function: Any, *arguments: Any) -> array[float]:
    """The numbers that a function of the library writes, whose last argument is where to."""
    values = array("d", (0.0,)) * count
    check(function(*arguments, values.buffer_info()[0]))
    return values


class Forest:
    """One loaded forest. Immutable: any number of threads may use it."""

    def __init__(self, directory: Path, how: RowOptions) -> None:
        self._handle = Handle.make(lib.ck_model_create, lib.ck_model_destroy, bytes(directory), ctypes.byref(how))

    def predict_row(self, row: bytes) -> float:
        """The prediction for one row, given as JSON."""
        value = ctypes.c_double()
        check(lib.ck_model_predict_row(self._handle.address, row, len(row), ctypes.byref(value)))
        return value.value

    def predict_rows(self, columns: _table.Columns) -> array[float]:
        """The predictions for the rows of a table."""
        return filled(len(columns), lib.ck_model_predict_rows, *self._of(columns))

    def features(self, columns: _table.Columns, width: int) -> array[float]:
        """The features of the rows of a table, row after row."""
        count = len(columns) * width
        return filled(count, lib.ck_model_extract_rows, *self._of(columns), count)

    def prepare(self, columns: _table.Columns) -> PreparedPool:
        """Prepares the forest for the kernels of a table."""
        return PreparedPool(Handle.make(lib.ck_pool_create, lib.ck_pool_destroy, *self._of(columns)))

    def _of(self, columns: _table.Columns) -> tuple[Any, ...]:
        return self._handle.address, columns.address, columns.count, len(columns)


Kind = TypeVar("Kind")


class Loaded(dict[str, Kind]):
    """Forests by their targets. They are immutable, so that copies share them; another process loads them again."""

    def __deepcopy__(self, memo: dict[int, Any]) -> Loaded[Kind]:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return Loaded, ()


class PreparedPool:
    """A forest prepared for kernels. Immutable: any number of threads may use it."""

    def __init__(self, handle: Handle) -> None:
        self._handle = handle

    def compile(self) -> None:
        """Does now what the second ranking would."""
        check(lib.ck_pool_prepare(self._handle.address))

    def rank(self, problem: bytes, count: int) -> tuple[array[int], array[float]]:
        """The rows and scores of the ``count`` best kernels for a problem, given as JSON; best first."""
        rows = array("Q", bytes(8 * count))
        where = rows.buffer_info()[0]
        return rows, filled(count, lib.ck_pool_rank, self._handle.address, problem, len(problem), count, where)

    def outlook(self, problem: bytes) -> dict[str, Any] | None:
        """What to expect of all kernels for a problem, given as JSON; best first."""
        text = text_of(lib.ck_pool_outlook, self._handle.address, problem, len(problem))
        fields: dict[str, Any] | None = json.loads(text)
        return fields


class BareForest:
    """A forest without a spec, for rows of features. Immutable: any number of threads may use it."""

    def __init__(self, file: Path) -> None:
        self._handle = Handle.make(lib.ck_forest_create, lib.ck_forest_destroy, bytes(file))
        width = ctypes.c_size_t()
        check(lib.ck_forest_width(self._handle.address, ctypes.byref(width)))
        self.width: int = width.value

    def predict(self, features: array[float]) -> list[float]:
        """What LightGBM would predict for each row of features: no logarithm is undone, and nothing is clamped."""
        rows = len(features) // max(self.width, 1)
        where = features.buffer_info()[0]
        return filled(rows, lib.ck_forest_predict, self._handle.address, where, rows, self.width).tolist()
