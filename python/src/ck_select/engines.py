"""Feature engines by upstream's class names: which features, and under which constants of the GPU.

The features themselves are computed in the library. These classes say which, and hold what upstream's engines know
about the space of kernels.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Union

HARDWARE = (
    "num_cus",
    "simds_per_cu",
    "shader_engines",
    "max_clock_mhz",
    "max_waves_per_cu",
    "wavefront_size",
    "lds_capacity",
    "l1_cache_kb",
    "l2_cache_kb",
    "l3_cache_kb",
    "num_xcd",
)
"""The GPU constants that can be given to an engine."""

_LDS_CAPACITY = 65536

_GEMM_SPACE: dict[str, list[Any]] = {
    "tile_m": [32, 64, 128, 192, 256],
    "tile_n": [32, 64, 128, 192, 256],
    "tile_k": [32, 64, 128, 256],
    "warp_m": [1, 2, 4],
    "warp_n": [1, 2, 4],
    "warp_k": [1],
    "warp_tile_m": [4, 16, 32, 64],
    "warp_tile_n": [4, 16, 32, 64],
    "warp_tile_k": [8, 16, 32, 64, 128],
    "pipeline": ["compv3", "compv4", "compv5", "mem", "preshufflev2", "basic_v1", "compv6"],
    "scheduler": ["intrawave", "interwave"],
    "epilogue": ["default", "cshuffle"],
    "pad_m": [True, False],
    "pad_n": [True, False],
    "pad_k": [True, False],
    "persistent": [True, False],
}


class FeatureEngine:
    """A model's features. GPU constants that are not given are the model's own."""

    def __init__(self, **hardware: int) -> None:
        unknown = sorted(set(hardware) - set(HARDWARE))
        if unknown:
            raise ValueError(f"hardware: found {', '.join(unknown)}, expected some of {', '.join(HARDWARE)}")
        self.hardware: dict[str, int] = dict(hardware)
        self._feature_names: list[str] = []
        self._categorical: list[str] = []

    def get_feature_names(self) -> list[str]:
        """The columns of the model that this engine was taken from."""
        return list(self._feature_names)

    def get_categorical_features(self) -> list[str]:
        """The columns that were trained as categories."""
        return list(self._categorical)

    def get_parameter_space(self) -> dict[str, list[Any]]:
        """Every parameter of a kernel with its values, in order; empty where upstream has none."""
        return {}

    def validate_config(self, config: Mapping[str, Any]) -> bool:
        """Whether a point of the space could be a kernel."""
        return True


class GemmUniversalFeatureEngine(FeatureEngine):
    """GEMM: 72 features, or the 55 of its first version."""

    def get_parameter_space(self) -> dict[str, list[Any]]:
        """Every parameter of a kernel with its values, in order."""
        return {name: list(values) for name, values in _GEMM_SPACE.items()}

    def validate_config(self, config: Mapping[str, Any]) -> bool:
        """Whether values are listed, the tiles fit into shared memory, and the waves are 2, 4 or 8.

        Shared memory counts one byte an element whatever the type, as upstream has it.
        """
        if any(name in config and config[name] not in values for name, values in _GEMM_SPACE.items()):
            return False
        tile_m, tile_n, tile_k = config.get("tile_m", 128), config.get("tile_n", 128), config.get("tile_k", 64)
        half = str(config.get("pipeline", "")).startswith("compv4")
        room = 32768 if half else self.hardware.get("lds_capacity", _LDS_CAPACITY)
        waves = config.get("warp_m", 2) * config.get("warp_n", 2) * config.get("warp_k", 1)
        return bool(tile_m * tile_k + tile_n * tile_k <= room and waves in (2, 4, 8))


class GemmUniversalVecFeatureEngine(GemmUniversalFeatureEngine):
    """GEMM with vector widths: 78 features."""


class GroupedConvFeatureEngine(FeatureEngine):
    """Grouped convolution: 97 features, their predecessors, or the 113 of the later version."""


_CLASSES: tuple[type[FeatureEngine], ...] = (
    GemmUniversalFeatureEngine,
    GemmUniversalVecFeatureEngine,
    GroupedConvFeatureEngine,
)

EngineLike = Union[None, str, FeatureEngine, object]
"""None, an engine's name such as ``"conv97"``, a class name, or an engine of ours or of upstream's."""


def resolve(engine: EngineLike) -> tuple[str | None, dict[str, int]]:
    """The library's name for an engine, and its constants of the GPU."""
    if engine is None or isinstance(engine, str):
        return engine, {}
    kind = engine if isinstance(engine, type) else type(engine)
    known = [known.__name__ for known in _CLASSES]
    names = [base.__name__ for base in kind.__mro__ if base.__name__ in known]
    if not names:
        raise ValueError(f"feature_engine: found {kind.__name__}, expected one of {', '.join(known)}, or a name")
    if isinstance(engine, FeatureEngine):
        return names[0], engine.hardware
    return names[0], _foreign_hardware(engine)


def _foreign_hardware(engine: object) -> dict[str, int]:
    """The constants that an engine of upstream's was made with, by whatever attribute holds them."""
    found = {}
    for name in HARDWARE:
        for attribute in (name, f"_{name}", f"hw_{name}", f"_hw_{name}"):
            value = getattr(engine, attribute, None)
            if isinstance(value, int) and not isinstance(value, bool):
                found[name] = value
                break
    return found


def of_description(description: Mapping[str, Any]) -> FeatureEngine:
    """The engine of a model's spec."""
    if description["op"] == "grouped_conv":
        kind: type[FeatureEngine] = GroupedConvFeatureEngine
    elif description["needs_vector"]:
        kind = GemmUniversalVecFeatureEngine
    else:
        kind = GemmUniversalFeatureEngine
    engine = kind(**description["hardware"])
    engine._feature_names = list(description["feature_names"])
    engine._categorical = list(description["categorical_features"])
    return engine


def hardware_json(hardware: Mapping[str, int]) -> bytes | None:
    """The constants in the library's form."""
    return json.dumps(hardware).encode() if hardware else None
