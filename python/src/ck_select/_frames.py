"""Rankings as tables of pandas, polars or pyarrow. Each is imported only if it is requested."""

from __future__ import annotations

import importlib
from array import array
from collections.abc import Sequence
from typing import Any, Literal

Library = Literal["pandas", "polars", "pyarrow"]
LIBRARIES = ("pandas", "polars", "pyarrow")


def library_of(kernels: Any) -> str:
    """The library that a table belongs to, otherwise pandas."""
    root = type(kernels).__module__.split(".", 1)[0]
    return root if root in LIBRARIES else "pandas"


def table(library: str, names: Sequence[Any], tflops: array[float], scores: array[float], rows: array[int]) -> Any:
    """A ranking as a table: names, TFLOPS, scores and the kernels' indices."""
    if library not in LIBRARIES:
        raise ValueError(f"library: found '{library}', expected one of {', '.join(LIBRARIES)}")
    try:
        module = importlib.import_module(library)
    except ImportError as error:
        raise ImportError(f"rank_frame: {library} is not installed") from error
    places = array("q", rows)
    if library == "pyarrow":
        columns = [
            module.array([str(name) for name in names], module.string()),
            *(
                module.Array.from_buffers(module.float64(), len(values), [None, module.py_buffer(values)])
                for values in (tflops, scores)
            ),
            module.Array.from_buffers(module.int64(), len(places), [None, module.py_buffer(places)]),
        ]
        return module.table(columns, names=["kernel_name", "tflops", "score", "row"])
    if library == "polars":
        numpy = importlib.import_module("numpy")
        series = {
            "kernel_name": module.Series([str(name) for name in names], dtype=module.String),
            "tflops": module.Series(numpy.frombuffer(tflops), dtype=module.Float64),
            "score": module.Series(numpy.frombuffer(scores), dtype=module.Float64),
            "row": module.Series(numpy.frombuffer(places, dtype="int64"), dtype=module.Int64),
        }
        return module.DataFrame(series)
    numpy = importlib.import_module("numpy")
    return module.DataFrame(
        {
            "kernel_name": list(names),
            "tflops": numpy.frombuffer(tflops),
            "score": numpy.frombuffer(scores),
            "row": numpy.frombuffer(places, dtype="int64"),
        },
        copy=False,
    )
