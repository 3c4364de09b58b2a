"""Upstream's module names over this package, so that its scripts run unchanged.

After :func:`install`, ``from predict import Predictor`` and the like mean the modules of this folder. Without a change
to a script, ``python -m ck_select.upstream SCRIPT`` does this, and ``python -m ck_select.upstream -m pytest`` tests.
"""

from __future__ import annotations

import importlib
import importlib.machinery
import importlib.util
import sys
from collections.abc import Sequence
from types import ModuleType

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

OFFERED = ("data_pipeline", "codegen_common", "ml_heuristic_sweep")
"""Modules of which ours have a part only: they count where upstream's are not on the path."""


class _Finder:
    """Finds the offered modules after everything else."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if path is not None or name not in OFFERED:
            return None
        own = importlib.util.find_spec(f"{__name__}.{name}")
        return importlib.util.spec_from_file_location(name, own.origin) if own is not None and own.origin else None


_FINDER = _Finder()


def install() -> None:
    """Makes upstream's module names mean ours, for the whole process.

    Raises ``ImportError`` if one of them was already imported from elsewhere: objects made from it would not change.
    """
    modules = {name: importlib.import_module(f"{__name__}.{name}") for name in REPLACED}
    for name, module in modules.items():
        other = sys.modules.get(name)
        if other is not None and other is not module:
            where = getattr(other, "__file__", None) or "elsewhere"
            raise ImportError(f"{name} has been imported from {where}: call ck_select.upstream.install() before")
    sys.modules.update(modules)
    if _FINDER not in sys.meta_path:
        sys.meta_path.append(_FINDER)
