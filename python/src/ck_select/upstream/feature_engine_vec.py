"""Upstream's ``feature_engine_vec``."""

from __future__ import annotations

from typing import Any

from ck_select import _table
from ck_select.engines import GemmUniversalVecFeatureEngine

from .codegen_common import CommonTypeMappings
from .feature_engine import LAYOUT_MAP

__all__ = [
    "VEC_FEATURES",
    "_LAYOUTS",
    "GemmUniversalVecFeatureEngine",
    "_out_dtype",
    "_width",
]

VEC_FEATURES = ["vec_a", "vec_b", "vec_c", "vec_frac_a", "vec_frac_b", "vec_frac_c"]

_LAYOUTS = frozenset(LAYOUT_MAP)
_out_dtype = CommonTypeMappings.get_output_dtype


def _width(value: Any) -> int:
    """A width as stored; only the native one is 0."""
    if _table.is_absent(value) or value == "":
        raise ValueError(f"found {value!r}, expected a width; the native one is written as 0")
    width = int(value)
    if width < 0:
        raise ValueError(f"found {width}, expected a number >= 0, where 0 is the native width")
    return width
