"""Upstream's ``dispatcher_integration``."""

from __future__ import annotations

import os
from collections.abc import Callable

from ck_select import dispatcher
from ck_select._rows import Kernels
from ck_select.dispatcher import (
    DTYPE_TO_C_DTYPE,
    LAYOUT_TO_DISPATCHER,
    MLKernelSpec,
    feature_dict_to_dispatcher_config,
    feature_dict_to_ml_spec,
    kernel_config_to_feature_dict,
    load_kernel_pool_from_binaries,
    ml_spec_to_dispatcher_config,
    parse_kernel_name,
)

from .predict import Predictor

__all__ = [
    "DTYPE_TO_C_DTYPE",
    "LAYOUT_TO_DISPATCHER",
    "MLKernelSpec",
    "Predictor",
    "_resolve_arch",
    "create_ml_heuristic",
    "create_ranked_heuristic",
    "feature_dict_to_dispatcher_config",
    "feature_dict_to_ml_spec",
    "kernel_config_to_feature_dict",
    "load_kernel_pool_from_binaries",
    "ml_spec_to_dispatcher_config",
    "parse_kernel_name",
]

_resolve_arch = dispatcher.resolve_arch


def create_ml_heuristic(
    model_dir: str | os.PathLike[str],
    dtype: str = "fp8",
    arch: str | None = None,
    layout: str = "rcr",
    kernel_pool: Kernels | None = None,
    bin_dir: str | os.PathLike[str] | None = None,
) -> Callable[[int, int, int], MLKernelSpec]:
    """See :func:`ck_select.create_ml_heuristic`."""
    return dispatcher.ml_heuristic(Predictor(model_dir), dtype, arch, layout, kernel_pool, bin_dir)


def create_ranked_heuristic(
    model_dir: str | os.PathLike[str],
    dtype: str = "fp8",
    arch: str | None = None,
    layout: str = "rcr",
    kernel_pool: Kernels | None = None,
    bin_dir: str | os.PathLike[str] | None = None,
    top_k: int = 5,
) -> Callable[[int, int, int], list[MLKernelSpec]]:
    """See :func:`ck_select.create_ranked_heuristic`."""
    return dispatcher.ranked_heuristic(Predictor(model_dir), dtype, arch, layout, kernel_pool, bin_dir, top_k)
