"""Upstream's ``feature_engine``."""

from __future__ import annotations

from ck_select.engines import SPACE, FeatureEngine, GemmUniversalFeatureEngine, engine_class

__all__ = [
    "DTYPE_BYTES",
    "EPILOGUE_MAP",
    "FEATURE_ENGINES",
    "LAYOUT_MAP",
    "OPERATION_ENGINES",
    "PIPELINE_MAP",
    "SCHEDULER_MAP",
    "FeatureEngine",
    "GemmUniversalFeatureEngine",
    "feature_engine_class",
]

DTYPE_BYTES = {"fp32": 4.0, "fp16": 2.0, "bf16": 2.0, "fp8": 1.0, "bf8": 1.0, "int8": 1.0, "int4": 0.5}
LAYOUT_MAP = {"rcr": 0, "rrr": 1, "crr": 2, "ccr": 3}
PIPELINE_MAP = {word: code for code, word in enumerate(SPACE["pipeline"])}
SCHEDULER_MAP = {word: code for code, word in enumerate(SPACE["scheduler"])}
EPILOGUE_MAP = {word: code for code, word in enumerate(SPACE["epilogue"])}

FEATURE_ENGINES = {
    "GemmUniversalFeatureEngine": ("feature_engine", "GemmUniversalFeatureEngine"),
    "GemmUniversalVecFeatureEngine": ("feature_engine_vec", "GemmUniversalVecFeatureEngine"),
    "GroupedConvFeatureEngine": ("feature_engine_grouped_conv", "GroupedConvFeatureEngine"),
}
OPERATION_ENGINES = {
    "gemm_universal": "GemmUniversalFeatureEngine",
    "gemm_universal_vec": "GemmUniversalVecFeatureEngine",
    "grouped_conv": "GroupedConvFeatureEngine",
}

feature_engine_class = engine_class
