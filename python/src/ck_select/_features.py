"""Features without a model, from the library's engines."""

from __future__ import annotations

import ctypes
import json
from array import array
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from . import _forest, _reader, _table
from ._library import lib, text_of

if TYPE_CHECKING:
    import numpy

_DEFAULTS = 2


def hardware_json(hardware: Mapping[str, Any]) -> bytes | None:
    """Constants of the GPU as the library takes them."""
    if not hardware:
        return None
    return json.dumps({name: _table.own(value, f"hardware: {name}") for name, value in hardware.items()}).encode()


class Features:
    """An engine of the library with constants of a GPU."""

    def __init__(self, engine: str, hardware: tuple[tuple[str, int], ...]) -> None:
        self.hardware = hardware
        self._options = _forest.options("tflops", engine, hardware_json(dict(hardware)), _DEFAULTS)
        described: dict[str, Any] = json.loads(text_of(lib.ck_engine_describe, ctypes.byref(self._options)))
        self.names: tuple[str, ...] = tuple(described["feature_names"])
        self.problem_inputs: frozenset[str] = frozenset(described["problem_inputs"])
        self.kernel_inputs: frozenset[str] = frozenset(described["kernel_inputs"])
        inputs = (*described["problem_inputs"], *described["kernel_inputs"])
        self.reader = _reader.Reader(inputs, frozenset(described["word_inputs"]))

    def extract_one_sided(self, problem: Mapping[str, Any], kernel: Mapping[str, Any]) -> array[float]:
        """The features of one row, whose cells are from the sides that upstream's engines take them from. Kernel names
        are ignored, as in upstream.
        """
        row = {name: problem[name] for name in self.problem_inputs.intersection(problem)}
        row.update({name: kernel[name] for name in self.kernel_inputs.intersection(kernel)})
        text = _table.row_json(row, lambda name: "problem" if name in self.problem_inputs else "kernel")
        options, width = ctypes.byref(self._options), len(self.names)
        return _forest.filled(width, lib.ck_engine_extract_row, options, text, len(text), width)

    def extract(self, columns: _table.Columns) -> array[float]:
        """The features of each row of a table, row after row. Kernel names are ignored, as in upstream."""
        count, of_columns = len(columns) * len(self.names), (columns.address, columns.count, len(columns))
        return _forest.filled(count, lib.ck_engine_extract_rows, ctypes.byref(self._options), *of_columns, count)


@lru_cache(maxsize=64)
def of_engine(engine: str, hardware: tuple[tuple[str, int], ...]) -> Features:
    """An engine by its name in the library."""
    return Features(engine, hardware)


def _numpy() -> Any:
    try:
        import numpy
    except ImportError as error:
        raise ImportError("extract and extract_batch give arrays of numpy, which is not installed") from error
    return numpy


def vector(values: Sequence[float]) -> numpy.ndarray[Any, numpy.dtype[numpy.float64]]:
    """Features as an array of numpy, which has an ``array``'s memory."""
    made: numpy.ndarray[Any, numpy.dtype[numpy.float64]]
    made = _numpy().frombuffer(values if isinstance(values, array) else array("d", values))
    return made


def matrix(values: Sequence[float], width: int) -> numpy.ndarray[Any, numpy.dtype[numpy.float64]]:
    """The same for the features of many rows."""
    return vector(values).reshape(-1, width) if values else _numpy().empty((0, width))
