"""Upstream's ``dispatcher_integration``."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from ck_select import dispatcher
from ck_select.dispatcher import *  # noqa: F403
from ck_select.dispatcher import MLKernelSpec

from .predict import Predictor

__all__ = [*dispatcher.__all__, "Predictor", "_resolve_arch"]  # noqa: PLE0604

_resolve_arch = dispatcher.resolve_arch


def create_ml_heuristic(
    model_dir: str | os.PathLike[str], *args: Any, **options: Any
) -> Callable[[int, int, int], MLKernelSpec]:
    """See :func:`ck_select.create_ml_heuristic`."""
    return dispatcher.create_ml_heuristic(Predictor(model_dir), *args, **options)


def create_ranked_heuristic(
    model_dir: str | os.PathLike[str], *args: Any, **options: Any
) -> Callable[[int, int, int], list[MLKernelSpec]]:
    """See :func:`ck_select.create_ranked_heuristic`."""
    return dispatcher.create_ranked_heuristic(Predictor(model_dir), *args, **options)
