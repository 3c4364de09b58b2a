"""Kernel names, read by the library: one grammar for all interfaces."""

from __future__ import annotations

import json
from functools import lru_cache
from typing import Any

from ._library import lib, text_of
from .errors import InvalidInputError

RESULTS = {"fp8": "fp16", "bf8": "fp16", "int8": "int32"}
"""The type of C, where it is not that of A and B."""

COLUMNS = ("kernel_name", "kernel")
"""The keys that may hold a kernel's name, in the order of preference."""


def cells(name: str) -> dict[str, Any]:
    """A name parsed into cells, as by upstream's converters; an error if it is not a kernel's name."""
    read: dict[str, Any] = json.loads(text_of(lib.ck_kernel_cells, name.encode()))
    return read


def is_kernel(name: Any) -> bool:
    """Whether a text is a kernel's name, not just a label."""
    return isinstance(name, str) and _is_kernel(name)


@lru_cache(maxsize=1 << 16)
def _is_kernel(name: str) -> bool:
    try:
        return bool(cells(name))
    except (InvalidInputError, ValueError):
        return False


def of_row(row: Any, place: int) -> Any:
    """The name of a row's kernel: under either key, or from its index."""
    name = row.get(COLUMNS[0])
    if name is None and isinstance(row.get(COLUMNS[1]), str):
        return row[COLUMNS[1]]
    return row.get(COLUMNS[0], f"kernel_{place}")


_OF_TORCH = {
    **{"float16": "fp16", "half": "fp16", "bfloat16": "bf16", "float32": "fp32", "float64": "fp64"},
    **{"float8_e4m3fn": "fp8", "float8_e4m3fnuz": "fp8", "float8_e5m2": "bf8", "float8_e5m2fnuz": "bf8"},
    **{"int8": "int8", "int32": "int32", "float4_e2m1fn_x2": "pk_fp4"},
}


def is_torch_dtype(value: Any) -> bool:
    """Whether a value is a ``torch.dtype``, known without torch."""
    kind = type(value)
    return kind.__module__ == "torch" and kind.__name__ == "dtype"


def word_of_torch(dtype: Any) -> str:
    """The word of a ``torch.dtype``."""
    name = str(dtype).rpartition(".")[2]
    if name not in _OF_TORCH:
        raise InvalidInputError(f"found {dtype}, expected one of torch.{', torch.'.join(_OF_TORCH)}", 2)
    return _OF_TORCH[name]
