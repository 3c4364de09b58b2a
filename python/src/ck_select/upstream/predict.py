"""Upstream's ``predict``."""

from __future__ import annotations

import os
from array import array
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import ck_select
from ck_select import _features
from ck_select._forest import BareForest
from ck_select.engines import EngineLike, FeatureEngine

from .feature_engine import OPERATION_ENGINES, feature_engine_class

if TYPE_CHECKING:
    import numpy

__all__ = ["Predictor", "_engine_for_spec"]


class Predictor(ck_select.Predictor):
    """:class:`ck_select.Predictor`, which writes ``model_<target>.lgbm`` next to a ``.gz`` like upstream's.

    It also has the attributes that upstream's own programs read.
    """

    def __init__(self, model_dir: str | os.PathLike[str], feature_engine: EngineLike = None) -> None:
        super().__init__(model_dir, feature_engine, keep_unpacked=True)

    @property
    def _feature_engine(self) -> Any:
        return self.feature_engine

    @property
    def _log_targets(self) -> set[str]:
        return set(self._description["log_targets"])

    def _load_model(self, target: str) -> _Booster | None:
        """A forest by itself; None if there is none."""
        return _Booster(self._bare_forest(target)) if self._file(target) is not None else None


class _Booster:
    """A forest that maps a matrix of features to LightGBM's predictions."""

    def __init__(self, forest: BareForest) -> None:
        self._forest = forest

    def num_feature(self) -> int:
        return self._forest.width

    def predict(self, data: Any) -> numpy.ndarray[Any, numpy.dtype[numpy.float64]]:
        import numpy

        matrix = numpy.ascontiguousarray(data, dtype="float64")
        if matrix.ndim != 2 or matrix.shape[1] != self._forest.width:
            raise ValueError(f"data: found the shape {matrix.shape}, expected rows of {self._forest.width} features")
        flat = array("d")
        flat.frombytes(matrix.tobytes())
        return _features.vector(self._forest.predict(flat))


def _engine_for_spec(spec: Mapping[str, Any]) -> FeatureEngine:
    """The engine of a spec, by its class, otherwise its operation, otherwise GEMM's."""
    name = spec.get("feature_engine")
    if name is None:
        name = OPERATION_ENGINES.get(spec.get("op_type", ""), "GemmUniversalFeatureEngine")
    return feature_engine_class(name)(**spec.get("hardware", {}))
