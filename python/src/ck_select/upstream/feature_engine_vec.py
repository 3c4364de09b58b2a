"""Upstream's ``feature_engine_vec``."""

from __future__ import annotations

from ck_select import _vector
from ck_select.engines import GemmUniversalVecFeatureEngine

from .codegen_common import CommonTypeMappings

__all__ = [
    "VEC_FEATURES",
    "_EPILOGUES",
    "_LAYOUTS",
    "GemmUniversalVecFeatureEngine",
    "_check_arch",
    "_out_dtype",
    "_width",
]

VEC_FEATURES = ["vec_a", "vec_b", "vec_c", "vec_frac_a", "vec_frac_b", "vec_frac_c"]

_LAYOUTS = _vector.LAYOUTS
_EPILOGUES = frozenset(_vector.EPILOGUES)
_width = _vector.width
_check_arch = _vector.check_arch
_out_dtype = CommonTypeMappings.get_output_dtype
