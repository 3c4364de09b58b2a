"""Upstream's ``predict``."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import ck_select
from ck_select.engines import EngineLike, FeatureEngine

from .feature_engine import OPERATION_ENGINES, feature_engine_class

__all__ = ["Predictor"]


class Predictor(ck_select.Predictor):
    """:class:`ck_select.Predictor`, which writes ``model_<target>.lgbm`` beside a ``.gz`` as upstream's does."""

    def __init__(self, model_dir: str | os.PathLike[str], feature_engine: EngineLike = None) -> None:
        super().__init__(model_dir, feature_engine, keep_unpacked=True)


def _engine_for_spec(spec: Mapping[str, Any]) -> FeatureEngine:
    """The engine that a spec asks for, by its class, else its operation, else GEMM's."""
    name = spec.get("feature_engine")
    if name is None:
        name = OPERATION_ENGINES.get(spec.get("op_type", ""), "GemmUniversalFeatureEngine")
    return feature_engine_class(name)(**spec.get("hardware", {}))
