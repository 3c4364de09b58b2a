"""Models that come with the package."""

from __future__ import annotations

from pathlib import Path

_PACKAGE = Path(__file__).parent


def _folder() -> Path:
    """The wheel's folder of models, or that of the checkout that contains the package."""
    bundled = _PACKAGE / "models"
    return bundled if bundled.is_dir() else _PACKAGE.parents[2] / "models"


def shipped_models() -> dict[str, Path]:
    """The directories of the models that come with the package, by name."""
    return {spec.parent.name: spec.parent for spec in sorted(_folder().glob("*/feature_spec.json"))}


def shipped_model(name: str) -> Path:
    """The directory of a model that comes with the package."""
    models = shipped_models()
    if name not in models:
        raise ValueError(f"model: found '{name}', expected one of {', '.join(models) or 'none: there are no models'}")
    return models[name]
