"""Chooses the fastest GPU kernel for a problem without trying them all.

:class:`Predictor` is a drop-in for the one of AMD's composable_kernel, built on ``libck_select.so`` instead of LightGBM
and pandas. :class:`GroupedConvRegistry` selects among registered kernels and runs the chosen one.
"""

from . import _library
from ._problem import Problem
from ._shipped import shipped_model, shipped_models
from .commands import ckselect, estimate, evaluate, explain, fit, report, train, tune
from .dispatcher import (
    LAYOUT_TO_DISPATCHER,
    MLKernelSpec,
    create_ml_heuristic,
    create_ranked_heuristic,
    feature_dict_to_dispatcher_config,
    feature_dict_to_ml_spec,
    kernel_config_to_feature_dict,
    load_kernel_pool_from_binaries,
    ml_spec_to_dispatcher_config,
    parse_kernel_name,
)
from .engines import (
    FeatureEngine,
    FmhaFwdFeatureEngine,
    GemmUniversalFeatureEngine,
    GemmUniversalVecFeatureEngine,
    GroupedConvFeatureEngine,
)
from .errors import (
    CkSelectError,
    CommandError,
    InvalidInputError,
    InvalidModelError,
    MissingCellError,
    MissingFileError,
    NoKernelError,
)
from .fmha import FmhaProblem
from .moe import MoeProblem
from .plots import plot_efficiency, plot_ranking
from .pool import Pool
from .predictor import Predictor
from .ranking import Expected, Outlook, Ranking, Sureness
from .registry import (
    GemmProblem,
    GroupedConvProblem,
    GroupedConvRegistry,
    Ranked,
    Registry,
    Selection,
    StoreStatus,
    TuneReport,
    select,
)
from .search import SurrogateSearch

__version__: str = _library.lib.ck_select_version().decode()

__all__ = [
    "LAYOUT_TO_DISPATCHER",
    "CkSelectError",
    "CommandError",
    "Expected",
    "FeatureEngine",
    "FmhaFwdFeatureEngine",
    "FmhaProblem",
    "GemmProblem",
    "GemmUniversalFeatureEngine",
    "GemmUniversalVecFeatureEngine",
    "GroupedConvFeatureEngine",
    "GroupedConvProblem",
    "GroupedConvRegistry",
    "InvalidInputError",
    "InvalidModelError",
    "MLKernelSpec",
    "MissingCellError",
    "MissingFileError",
    "MoeProblem",
    "NoKernelError",
    "Outlook",
    "Pool",
    "Predictor",
    "Problem",
    "Ranked",
    "Ranking",
    "Registry",
    "Selection",
    "StoreStatus",
    "Sureness",
    "SurrogateSearch",
    "TuneReport",
    "__version__",
    "ckselect",
    "create_ml_heuristic",
    "create_ranked_heuristic",
    "estimate",
    "evaluate",
    "explain",
    "feature_dict_to_dispatcher_config",
    "feature_dict_to_ml_spec",
    "fit",
    "kernel_config_to_feature_dict",
    "load_kernel_pool_from_binaries",
    "ml_spec_to_dispatcher_config",
    "parse_kernel_name",
    "plot_efficiency",
    "plot_ranking",
    "report",
    "select",
    "shipped_model",
    "shipped_models",
    "train",
    "tune",
]


def __dir__() -> list[str]:
    """What users call, for completion."""
    return __all__
