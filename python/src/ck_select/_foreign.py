"""Features that the model does not compute itself: those of user-defined engines."""

from __future__ import annotations

import importlib
import math
from array import array
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from . import _names, _rows, _table, engines
from .errors import InvalidModelError

_INPUTS = ("problem_inputs", "kernel_inputs", "shared_inputs", "name_inputs", "word_inputs")


def expm1(value: float) -> float:
    """Undoes a logarithm, as the library does."""
    try:
        return math.expm1(value)
    except OverflowError:
        return math.inf


class Foreign:
    """An engine that computes features itself, for single rows, for tables, or for both."""

    def __init__(self, given: engines.Given, path: Path, spec: dict[str, Any]) -> None:
        self.single, self.batch, self._names = given.extract, given.extract_batch, given.names or []
        self._path, self._spec = path, spec

    def described(self, describe: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        """What a predictor must know about the model, from the library if it knows the columns."""
        wanted = self._spec.get("feature_names") or self._names
        missing = [name for name in wanted if name not in self._names]
        if missing:
            raise InvalidModelError(
                f"{self._path}: feature_names: the engine cannot supply {', '.join(missing[:5])}", 11
            )
        self._places = [self._names.index(name) for name in wanted]
        try:
            found = describe()
        except InvalidModelError:
            if self.single is None or self.batch is None:
                raise
            # All features are the engine's own, so the library's reading of the spec does not matter.
            found = {
                **{"op": "gemm", "rank_by": "tflops", "log_targets": list(self._spec.get("log_targets") or ())},
                **dict.fromkeys(_INPUTS, ()),
                **{"categorical_features": [], "needs_vector": False, "hardware": {}, "arch": None},
            }
        return {**found, "feature_names": list(wanted), "rank_by": "tflops"}

    def single_features(self, problem: Mapping[str, Any], kernel: Mapping[str, Any]) -> array[float]:
        """The model's features of one kernel."""
        assert self.single is not None
        return self._selected([list(self.single(problem, kernel))])

    def batch_features(self, rows: Any, what: str) -> array[float]:
        """The model's features of the rows of a table."""
        assert self.batch is not None
        return self._selected([list(row) for row in self.batch(_data_frame(rows, what))])

    def rank(
        self, problem: Mapping[str, Any], kernels: Any, score: Callable[[array[float]], list[float]]
    ) -> list[tuple[str, float]]:
        """Ranks like upstream's predictor: the engine gets a DataFrame whose rows have both problem and kernel."""
        rows = _rows.table(kernels, "kernel_configs")
        names = [_names.of_row(row, place) for place, row in enumerate(rows)]
        scores = score(self.batch_features([{**problem, **row} for row in rows], "kernel_configs")) if rows else []
        return sorted(zip(names, scores), key=lambda pair: -pair[1])

    def _selected(self, rows: Sequence[Sequence[float]]) -> array[float]:
        flat = array("d")
        for row in rows:
            if len(row) != len(self._names):
                raise ValueError(f"feature_engine: it names {len(self._names)} features and extracts {len(row)}")
            flat.extend([float(row[place]) for place in self._places])
        return flat


def _data_frame(rows: Any, what: str) -> Any:
    if _table.is_frame(rows):
        return _rows.named(rows)
    try:
        pandas = importlib.import_module("pandas")
    except ImportError as error:
        raise ImportError(
            "an engine's own extract_batch takes a DataFrame of pandas, which is not installed"
        ) from error
    return pandas.DataFrame(_rows.table(rows, what))
