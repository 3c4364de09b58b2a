"""Upstream's module names over this package, so that its scripts run unchanged.

After :func:`install`, ``from predict import Predictor`` and the like mean the modules of this folder. Without a change
to a script, ``python -m ck_select.upstream SCRIPT`` does this, and ``python -m ck_select.upstream -m pytest`` tests.
"""

from __future__ import annotations

import importlib
import os
import sys
from pathlib import Path

REPLACED = (
    "predict",
    "feature_engine",
    "feature_engine_vec",
    "feature_engine_grouped_conv",
    "fmha_feature_engine",
    "search",
    "dispatcher_integration",
)
"""Modules that mean ours, also where upstream's lie on the path."""


def install() -> None:
    """Makes upstream's module names mean ours, for the whole process and for interpreters that it starts.

    Workers of process pools inherit the environment: ``PYTHONPATH`` gets the folder ``startup``, whose
    ``sitecustomize`` does the same there. Interpreters that ignore the environment (``python -I``, ``-E``, ``-S``) take
    upstream's files.

    Raises ``ImportError`` if one of them was already imported from elsewhere: objects made from it would not change.
    """
    modules = {name: importlib.import_module(f"{__name__}.{name}") for name in REPLACED}
    for name, module in modules.items():
        other = sys.modules.get(name)
        if other is not None and other is not module:
            where = getattr(other, "__file__", None) or "elsewhere"
            raise ImportError(f"{name} has been imported from {where}: call ck_select.upstream.install() before")
    sys.modules.update(modules)
    # Of `data_pipeline`, `codegen_common` and `ml_heuristic_sweep` ours have a part only, and give way to upstream's.
    folder = Path(__file__).parent
    if str(folder) not in sys.path:
        sys.path.append(str(folder))
    os.environ["CK_SELECT_UPSTREAM"] = " ".join(REPLACED)
    inherited = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    startup = str(folder / "startup")
    if startup not in inherited:
        os.environ["PYTHONPATH"] = os.pathsep.join([startup, *filter(None, inherited)])
