"""Feature engines by upstream's class names: which features, and with which constants of the GPU.

The features themselves are computed in the library. These classes select them, and hold what upstream's engines know
about the space of kernels.
"""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from array import array
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, Union

from . import _features, _rows, _table, _vector

if TYPE_CHECKING:
    import numpy

_DERIVED = "total_simds"

SPACE: dict[str, list[Any]] = {
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

Constraint = Callable[[Mapping[str, Any]], bool]


class FeatureEngine(ABC):
    """Defines the features of a model: the base class of all engines, also of your own."""

    ENCODING_VERSION: ClassVar[int] = 0
    """Higher when values change their meaning under the same names."""

    @property
    def hardware_config(self) -> dict[str, int]:
        """The constants of the GPU, as the class takes them."""
        taken = inspect.signature(type(self).__init__).parameters
        if any(each.kind in (each.VAR_KEYWORD, each.VAR_POSITIONAL) for each in taken.values()):
            # Programs may look for upstream's words.
            unknown = "its constants cannot be resolved from the signature"
            raise TypeError(
                f"{type(self).__name__}.__init__ takes *args/**kwargs, so {unknown}: define hardware_config"
            )
        own: Mapping[str, int] = getattr(self, "_hw", {})
        stray = sorted(name for name in own if name not in taken and name != _DERIVED)
        if stray:
            raise TypeError(f"{type(self).__name__} has the constants {stray}, which its __init__ does not accept")
        return {name: value for name, value in own.items() if name in taken}

    @abstractmethod
    def get_feature_names(self) -> list[str]:
        """The columns, in order."""

    @abstractmethod
    def get_categorical_features(self) -> list[str]:
        """The columns that are categories."""

    @abstractmethod
    def extract(self, problem: Any, kernel: Any) -> numpy.ndarray[Any, numpy.dtype[numpy.float64]]:
        """The features of one kernel for one problem."""

    def extract_batch(self, df: Any) -> numpy.ndarray[Any, numpy.dtype[numpy.float64]]:
        """The features of each row of a DataFrame that has problem and kernel in one."""
        rows = _rows.named(df).to_dict("records") if _table.is_frame(df) else _rows.table(df, "df")
        flat = [cell for row in rows for cell in self.extract(row, row)]
        return _features.matrix(flat, len(self.get_feature_names()))

    def get_parameter_space(self) -> dict[str, list[Any]]:
        """Every parameter of a kernel with its values, in order; empty where upstream has none."""
        return {}

    def get_constraints(self) -> list[Constraint]:
        """What a point of the space must satisfy, as functions that return whether it does."""
        return []

    def validate_config(self, config: Mapping[str, Any]) -> bool:
        """Whether a point of the space could be a kernel: all values are listed, and all constraints hold."""
        space = self.get_parameter_space()
        if any(name in config and config[name] not in values for name, values in space.items()):
            return False
        return all(holds(config) for holds in self.get_constraints())

    def project_to_valid(self, config: Mapping[str, Any]) -> dict[str, Any]:
        """A point with each number replaced by the nearest listed one, and each unlisted word by the first."""
        moved = dict(config)
        for name, values in self.get_parameter_space().items():
            if name not in moved:
                continue
            value = moved[name]
            if isinstance(values[0], (int, float)):
                moved[name] = min(values, key=lambda listed: abs(listed - value))
            elif value not in values:
                moved[name] = values[0]
        return moved


class _OfLibrary(FeatureEngine):
    """An engine whose features the library computes."""

    _engine: ClassVar[str]

    def __init__(
        self,
        num_cus: int = 256,
        lds_capacity: int = 65536,
        max_clock_mhz: int = 2400,
        simds_per_cu: int = 4,
        shader_engines: int = 32,
        max_waves_per_cu: int = 32,
        wavefront_size: int = 64,
        l1_cache_kb: int = 32,
        l2_cache_kb: int = 4096,
        l3_cache_kb: int = 262144,
        num_xcd: int = 8,
    ) -> None:
        given = locals()
        # Predictors read the constants on construction. They are immutable, so that they cannot be changed too late.
        self._constants: tuple[tuple[str, int], ...] = tuple((name, given[name]) for name in HARDWARE)
        self._variant: str | None = None

    @property
    def _hw(self) -> Mapping[str, int]:
        """The constants under upstream's name for them."""
        derived = self.hardware["num_cus"] * self.hardware["simds_per_cu"]
        return MappingProxyType({**dict(self._constants), _DERIVED: derived})

    @property
    def hardware(self) -> dict[str, int]:
        """The constants of the GPU."""
        return dict(self._constants)

    def _features(self) -> _features.Features:
        return _features.of_engine(self._variant or self._engine, self._constants)

    def get_feature_names(self) -> list[str]:
        """The columns, in order."""
        return list(self._features().names)

    def get_categorical_features(self) -> list[str]:
        """The columns that are categories."""
        return list(self._categories)

    _categories: ClassVar[tuple[str, ...]] = ()

    def extract(self, problem: Any, kernel: Any) -> numpy.ndarray[Any, numpy.dtype[numpy.float64]]:
        """The features of one kernel for one problem, each cell from the side where upstream's engines look for it."""
        asked, cells = _rows.mapping(problem, "problem"), _rows.mapping(kernel, "kernel")
        return _features.vector(self._of_row(asked, cells))

    def extract_batch(self, df: Any) -> numpy.ndarray[Any, numpy.dtype[numpy.float64]]:
        """The features of each row of a table that has problem and kernel in one."""
        return _features.matrix(self._of_table(df), len(self._features().names))

    def _of_row(self, problem: Mapping[str, Any], kernel: Mapping[str, Any]) -> array[float]:
        return self._features().extract_one_sided(problem, kernel)

    def _of_table(self, rows: Any) -> array[float]:
        return self._features().extract(self._features().reader.read(rows, "df"))


HARDWARE: dict[str, int] = {name: each.default for name, each in inspect.signature(_OfLibrary).parameters.items()}
"""The constants of the GPU that an engine can be given, with their defaults."""


class GemmUniversalFeatureEngine(_OfLibrary):
    """GEMM: 72 features."""

    _engine = "gemm72"
    _categories = ("layout", "pipeline", "scheduler", "epilogue")

    def get_parameter_space(self) -> dict[str, list[Any]]:
        """Every parameter of a kernel with its values, in order."""
        return {name: list(values) for name, values in SPACE.items()}

    def get_constraints(self) -> list[Constraint]:
        """The tiles fit into shared memory, and the waves are 2, 4 or 8.

        Shared memory counts one byte per element for every type, as in upstream.
        """
        room = self._hw["lds_capacity"]

        def tiles_fit(config: Mapping[str, Any]) -> bool:
            tile_m, tile_n, tile_k = config.get("tile_m", 128), config.get("tile_n", 128), config.get("tile_k", 64)
            half = str(config.get("pipeline", "")).startswith("compv4")
            return bool(tile_m * tile_k + tile_n * tile_k <= (32768 if half else room))

        def waves_fit(config: Mapping[str, Any]) -> bool:
            return config.get("warp_m", 2) * config.get("warp_n", 2) * config.get("warp_k", 1) in (2, 4, 8)

        return [tiles_fit, waves_fit]


class GemmUniversalVecFeatureEngine(GemmUniversalFeatureEngine):
    """GEMM with vector widths: 78 features."""

    ENCODING_VERSION = 1
    _engine = "gemm78vec"
    _REQUIRED = _vector.REQUIRED
    _N_BASE = 72

    # The base engine's features look for each cell on its own side and take defaults; the widths' look on both.
    def _of_row(self, problem: Mapping[str, Any], kernel: Mapping[str, Any]) -> array[float]:
        return _vector.extract(self._features(), problem, kernel)

    def _of_table(self, rows: Any) -> array[float]:
        return _vector.extract_batch(self._features(), rows)


class GroupedConvFeatureEngine(_OfLibrary):
    """Grouped convolution: 97 features, or those of the model from which it was taken."""

    _engine = "conv97"
    _categories = ("pipeline",)


class FmhaFwdFeatureEngine(_OfLibrary):
    """Forward attention: 68 features, in the encoding of training."""

    _engine = "fmha68_python"
    _categories = ("dtype", "pipeline", "mask", "bias", "qscale")

    def __init__(
        self,
        num_cus: int = 304,
        lds_capacity: int = HARDWARE["lds_capacity"],
        max_clock_mhz: int = HARDWARE["max_clock_mhz"],
        simds_per_cu: int = HARDWARE["simds_per_cu"],
        shader_engines: int = HARDWARE["shader_engines"],
        wavefront_size: int = HARDWARE["wavefront_size"],
        num_xcd: int = HARDWARE["num_xcd"],
    ) -> None:
        given = {name: value for name, value in locals().items() if name in HARDWARE}
        super().__init__(**given)
        self._given = frozenset(given)

    @property
    def _hw(self) -> Mapping[str, int]:
        # Upstream's engine knows neither caches nor waves; no feature depends on them.
        known = {*self._given, _DERIVED}
        return MappingProxyType({name: value for name, value in super()._hw.items() if name in known})


class ForeignEngine(Protocol):
    """An engine of another origin with the methods of upstream's."""

    def get_feature_names(self) -> list[str]:
        """The columns, in order."""

    def extract(self, problem: Any, kernel: Any) -> Any:
        """The features of one kernel for one problem."""


# With the library's names of engines whose columns a model of the class may have.
_VARIANTS: dict[type[_OfLibrary], Sequence[str]] = {
    GemmUniversalFeatureEngine: ("gemm72",),
    GemmUniversalVecFeatureEngine: ("gemm78vec",),
    GroupedConvFeatureEngine: ("conv97", "conv_superset", "conv_select", "conv_work"),
    FmhaFwdFeatureEngine: ("fmha68_python",),
}
_CLASSES = {each.__name__: each for each in _VARIANTS}
_KNOWN = {*_CLASSES, "FeatureEngine", "_OfLibrary"}

EngineLike = Union[None, str, FeatureEngine, ForeignEngine, type[FeatureEngine]]
"""None, an engine's name such as ``"conv97"``, a class, or an engine of ours, of upstream's or of your own."""


@dataclass
class Given:
    """The engine argument of a predictor."""

    name: str | None = None
    """The library's name for it."""
    hardware: dict[str, int] = field(default_factory=dict)
    """Constants of the GPU that replace the spec's."""
    extract: Callable[[Any, Any], Any] | None = None
    """The engine's own way to the features of one kernel."""
    extract_batch: Callable[[Any], Any] | None = None
    """Its own way to those of many."""
    names: list[str] | None = None
    """Its columns, when one of the two is not None."""


def resolve(engine: Any) -> Given:
    """Interprets an engine: the library's computation if it equals upstream's, otherwise the engine's own."""
    if engine is None or isinstance(engine, str):
        return Given(engine)
    kind = engine if isinstance(engine, type) else type(engine)
    name = next((base.__name__ for base in kind.__mro__ if base.__name__ in _CLASSES), None)
    own = {each: _is_own(engine, kind, each) for each in ("extract", "extract_batch", "get_feature_names")}
    if name is None and not own["extract"]:
        raise ValueError(
            f"feature_engine: found {kind.__name__}, expected one of {', '.join(_CLASSES)}, a name, "
            "or an engine with extract and get_feature_names"
        )
    if isinstance(engine, type):
        if any(own.values()):
            raise ValueError(f"feature_engine: found the class {kind.__name__}, expected an engine made of it")
        return Given(name)
    hardware = _hardware_of(engine) if name is not None else {}
    if not any(own.values()):
        return Given(name, hardware)
    # An engine with its own names has its own values, whichever method computes them.
    whole = own["get_feature_names"] or name is None
    batch = getattr(engine, "extract_batch", None) if own["extract_batch"] or whole else None
    if batch is None and whole:
        batch = partial(_extract_each, engine)
    return Given(
        name,
        hardware,
        extract=engine.extract if own["extract"] or whole else None,
        extract_batch=batch,
        names=list(engine.get_feature_names()),
    )


def _extract_each(engine: ForeignEngine, df: Any) -> list[Any]:
    """The features of each row of a DataFrame, from an engine that does not support tables."""
    return [engine.extract(row, row) for row in df.to_dict("records")]


def _is_own(engine: Any, kind: type, name: str) -> bool:
    """Whether a method is neither ours nor upstream's."""
    if not isinstance(engine, type) and name in getattr(engine, "__dict__", {}):
        return True
    definer = next((base for base in kind.__mro__ if name in base.__dict__), None)
    return definer is not None and definer.__name__ not in _KNOWN


def _hardware_of(engine: Any) -> dict[str, int]:
    """The constants that an engine was made with, where all of upstream's have them."""
    held: Mapping[str, int] = getattr(engine, "_hw", {})
    who = type(engine).__name__
    stray = sorted(set(held) - set(HARDWARE) - {_DERIVED})
    if stray:
        raise ValueError(f"feature_engine: {who} has the constants {', '.join(stray)}, of which no feature knows")
    found = {name: held[name] for name in HARDWARE if name in held}
    if _DERIVED in held and {"num_cus", "simds_per_cu"} <= set(found):
        product = found["num_cus"] * found["simds_per_cu"]
        if held[_DERIVED] != product:
            raise ValueError(f"feature_engine: {who}: {_DERIVED}: found {held[_DERIVED]}, expected {product}")
    return found


def of_description(description: Mapping[str, Any]) -> _OfLibrary:
    """The engine that a model's spec asks for."""
    kinds: dict[str, type[_OfLibrary]] = {"grouped_conv": GroupedConvFeatureEngine, "fmha": FmhaFwdFeatureEngine}
    of_gemms = GemmUniversalVecFeatureEngine if description["needs_vector"] else GemmUniversalFeatureEngine
    kind = kinds.get(description["op"], of_gemms)
    engine, names = kind(**description["hardware"]), set(description["feature_names"])
    variants = (name for name in _VARIANTS[kind] if names <= set(_features.of_engine(name, ()).names))
    engine._variant = next(variants, None)
    return engine


def engine_class(name: str) -> type[_OfLibrary]:
    """The class that a spec names."""
    if name not in _CLASSES:
        raise ValueError(f"feature_engine: found '{name}', expected one of {', '.join(_CLASSES)}")
    return _CLASSES[name]
