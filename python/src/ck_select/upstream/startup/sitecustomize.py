"""Makes upstream's module names mean ck_select in an interpreter that a process pool starts.

:func:`ck_select.upstream.install` puts this folder first on ``PYTHONPATH``, and the names into ``CK_SELECT_UPSTREAM``:
workers of multiprocessing (spawn, forkserver), joblib and pytest-xdist inherit both, and Python imports this module
when it starts. Nothing of ck_select is imported before one of the names is. Another ``sitecustomize`` runs as well.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import ModuleType
from typing import Any

_HERE = Path(__file__).resolve().parent
_NAMES = os.environ.get("CK_SELECT_UPSTREAM", "").split()


class _Ours(MetaPathFinder, Loader):
    """Finds the modules of ck_select under upstream's names, wherever upstream's lie."""

    def find_spec(self, name: str, path: Any, target: ModuleType | None = None) -> ModuleSpec | None:
        return ModuleSpec(name, self) if name in _NAMES else None

    def create_module(self, spec: ModuleSpec) -> None:
        return None

    def exec_module(self, module: ModuleType) -> None:
        # The import takes what is there when this returns.
        sys.modules[module.__name__] = importlib.import_module(f"ck_select.upstream.{module.__name__}")


def _run_the_next() -> None:
    """Runs the ``sitecustomize`` that this one hides."""
    spec = PathFinder.find_spec("sitecustomize", sys.path)
    if spec is not None and spec.loader is not None:
        sys.modules["sitecustomize"] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(sys.modules["sitecustomize"])


sys.path[:] = [path for path in sys.path if Path(path or ".").resolve() != _HERE]
if _NAMES:
    sys.meta_path.insert(0, _Ours())
    # What ours have a part of gives way to upstream's; the package itself may be installed nowhere.
    sys.path += [str(_HERE.parent), str(_HERE.parents[2])]
_run_the_next()
