"""Models that come with the package."""

from __future__ import annotations

import ctypes
import os
from functools import cache
from pathlib import Path

from ._library import lib

_PACKAGE = Path(__file__).parent


def _folder() -> Path:
    """The wheel's folder of models, or that of the checkout that contains the package."""
    bundled = _PACKAGE / "models"
    return bundled if bundled.is_dir() else _PACKAGE.parents[2] / "models"


def shipped_models() -> dict[str, Path]:
    """The directories of the models that come with the package, by name."""
    return {spec.parent.name: spec.parent for spec in sorted(_folder().glob("*/feature_spec.json"))}


BUILT_IN = "embedded:"


def place_of(model: str | os.PathLike[str]) -> str | os.PathLike[str]:
    """A model's place: of ``embedded:NAME`` the directory that comes with the package, unless the library has it."""
    if not str(model).startswith(BUILT_IN):
        return model
    name = str(model).removeprefix(BUILT_IN)
    return model if name in _in_library() else shipped_model(name)


@cache
def _in_library() -> frozenset[str]:
    """The names of the models in the library."""
    names: list[str] = []
    name = ctypes.c_char_p()
    while lib.ck_embedded_model_name(len(names), ctypes.byref(name)) == 0:
        names.append((name.value or b"").decode())
    return frozenset(names)


def shipped_model(name: str) -> Path:
    """The directory of a model that comes with the package."""
    models = shipped_models()
    if name not in models:
        raise ValueError(f"model: found '{name}', expected one of {', '.join(models) or 'none: there are no models'}")
    return models[name]
