"""The link between predictors and CK's Python dispatcher: names, pools of binaries, and heuristics.

CK's dispatcher calls ``wave_*`` what the features call ``warp_*``, and ``warp_*`` what they call ``warp_tile_*``.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from . import _names, _rows, _table
from ._fields import PRODUCTS
from .errors import InvalidInputError
from .predictor import Predictor

__all__ = [  # noqa: PLE0604, three lists of names
    *("DTYPE_TO_C_DTYPE", "LAYOUT_TO_DISPATCHER", "MLKernelSpec", "create_ml_heuristic", "create_ranked_heuristic"),
    *("feature_dict_to_dispatcher_config", "feature_dict_to_ml_spec", "kernel_config_to_feature_dict"),
    *("load_kernel_pool_from_binaries", "ml_spec_to_dispatcher_config", "parse_kernel_name"),
]

LAYOUT_TO_DISPATCHER = {
    "rcr": ("row", "col", "row"),
    "rrr": ("row", "row", "row"),
    "crr": ("col", "row", "row"),
    "ccr": ("col", "col", "row"),
}
DTYPE_TO_C_DTYPE = {"fp8": "fp16", "fp16": "fp16", "bf16": "bf16", "fp32": "fp32"}
# The shortest type that is followed by a layout, and the rest.
_GEMM = re.compile(rf"gemm_(?:universal_)?(\w+?)_({'|'.join(LAYOUT_TO_DISPATCHER)})_(.*)", re.DOTALL)
_CONV_PREFIX = "grouped_conv_"
_BIN_DIR = "/workspace/ck_tile/bin"
_BINARIES = "benchmark_gemm_universal_*"
_VECTOR = ("vec_a", "vec_b", "vec_c")
_WIDTHS = re.compile(r"_vec([0-9]+)_([0-9]+)_([0-9]+)(?![^_])")
_CUT_WIDTHS = re.compile(r"_vec[0-9]")
_TRIPLES = ("tile", "warp", "warp_tile")
_FLAGS = ("pad_m", "pad_n", "pad_k", "persistent")
_AXES = ("m", "n", "k")
# A number's name in the dispatcher, its name in the features, and its default.
_NUMBERS = (
    *((f"tile_{axis}", f"tile_{axis}", usual) for axis, usual in zip(_AXES, (128, 128, 64))),
    *((f"wave_{axis}", f"warp_{axis}", usual) for axis, usual in zip(_AXES, (2, 2, 1))),
    *((f"warp_{axis}", f"warp_tile_{axis}", usual) for axis, usual in zip(_AXES, (32, 32, 16))),
)
_WORDS = (("pipeline", "compv3"), ("scheduler", "intrawave"), ("epilogue", "cshuffle"))


@dataclass
class MLKernelSpec:
    """A chosen GEMM kernel in the dispatcher's terms."""

    kernel_name: str
    predicted_tflops: float
    tile_m: int
    tile_n: int
    tile_k: int
    wave_m: int
    wave_n: int
    wave_k: int
    warp_m: int
    warp_n: int
    warp_k: int
    pipeline: str
    scheduler: str
    epilogue: str
    pad_m: bool
    pad_n: bool
    pad_k: bool
    persistent: bool


def parse_kernel_name(name: str) -> dict[str, Any]:
    """The fields of a kernel's name; empty if it is not one.

    A convolution's tile is in the order of the name, as in the tables of upstream's converters: ``block_size``,
    ``gemm_m_per_block``, ``gemm_n_per_block``. Its ``kernel_name`` is there, too, so that every model gets its own
    reading.

    For GEMMs these are tile-engine names, ``gemm_universal_…`` or ``gemm_…``, with ``vec_a``, ``vec_b`` and ``vec_c``,
    0 where the name fixes no width. A pipeline with an underscore shifts every later field by one, as in upstream's
    parser: the dicts are what its models were trained on.
    """
    if name.startswith(_CONV_PREFIX):
        try:
            return _names.cells(name)
        except InvalidInputError:
            return {}
    name, vector = _split_vector(name)
    found = _GEMM.match(name)
    if vector is None or found is None:
        return {}
    fields: dict[str, Any] = {"dtype": found[1], "layout": found[2], **vector}
    parts = found[3].split("_")
    if len(parts) < 10:
        return fields
    fields.update(zip(("pipeline", "epilogue", "scheduler"), parts))
    fields.update(zip(_FLAGS, (part == "True" for part in parts[3:7])))
    for triple, part in zip(_TRIPLES, parts[7:10]):
        numbers = part.split("x")
        for place, axis in enumerate(_AXES):
            try:
                fields[f"{triple}_{axis}"] = int(numbers[place])
            except (IndexError, ValueError):
                return fields
    return fields


def _split_vector(name: str) -> tuple[str, dict[str, int] | None]:
    """Cuts the widths ``_vecA_B_C`` out of a name, 0 where it has none; None for widths that are not whole."""
    found = _WIDTHS.search(name)
    if found:
        return name[: found.start()] + name[found.end() :], dict(zip(_VECTOR, map(int, found.groups())))
    return name, None if _CUT_WIDTHS.search(name) else dict.fromkeys(_VECTOR, 0)


def kernel_config_to_feature_dict(kernel_name: str) -> dict[str, Any]:
    """The dict for a predictor from a kernel's name; empty if it is not a kernel's name."""
    fields = parse_kernel_name(kernel_name)
    return {**fields, "kernel_name": kernel_name} if fields else {}


def feature_dict_to_dispatcher_config(
    feat: Mapping[str, Any], dtype: str = "fp8", arch: str = "gfx950"
) -> dict[str, Any]:
    """The dispatcher's configuration of a kernel."""
    _refuse_widths(feat, "the dispatcher's configuration")
    numbers = {theirs: feat.get(ours, usual) for theirs, ours, usual in _NUMBERS}
    words = {name: feat.get(name, usual) for name, usual in _WORDS}
    pads = {name: feat.get(name, True) for name in _FLAGS[:3]}
    types = {"dtype_a": dtype, "dtype_b": dtype, "dtype_c": DTYPE_TO_C_DTYPE.get(dtype, dtype), "dtype_acc": "fp32"}
    layout = LAYOUT_TO_DISPATCHER.get(feat.get("layout", "rcr"), LAYOUT_TO_DISPATCHER["rcr"])
    layouts = dict(zip(("layout_a", "layout_b", "layout_c"), layout))
    return {**types, **layouts, **numbers, **words, **pads, "gfx_arch": arch}


def feature_dict_to_ml_spec(feat: Mapping[str, Any], predicted_tflops: float = 0.0) -> MLKernelSpec:
    """A kernel with its prediction."""
    _refuse_widths(feat, "MLKernelSpec")
    return MLKernelSpec(
        kernel_name=feat.get("kernel_name", "unknown"),
        predicted_tflops=predicted_tflops,
        **{theirs: feat.get(ours, usual) for theirs, ours, usual in _NUMBERS},
        **{name: feat.get(name, usual) for name, usual in _WORDS},
        **{name: feat.get(name, False) for name in _FLAGS},
    )


def ml_spec_to_dispatcher_config(spec: MLKernelSpec, dtype: str = "fp8", arch: str = "gfx950") -> dict[str, Any]:
    """The dispatcher's configuration of a chosen kernel, for the layout row, column, row."""
    feat = {name: getattr(spec, name) for name in (*dict(_WORDS), *_FLAGS)}
    feat.update({ours: getattr(spec, theirs) for theirs, ours, _ in _NUMBERS})
    return feature_dict_to_dispatcher_config(feat, dtype, arch)


def _refuse_widths(feat: Mapping[str, Any], target: str) -> None:
    """Refuses fixed vector widths, which the dispatcher's configurations lack: the kernel would become another one."""
    fixed = tuple(_fixed_width(name, feat.get(name)) for name in _VECTOR)
    if any(fixed):
        raise ValueError(
            f"kernel '{feat.get('kernel_name', 'unknown')}' fixes its vector widths {fixed}, "
            f"which {target} cannot represent: it has native widths only"
        )


def _fixed_width(name: str, width: Any) -> int:
    """A width as a number, 0 for every spelling of the native one."""
    if _table.is_absent(width) or width == "":
        return 0
    try:
        return int(float(width))
    except (TypeError, ValueError):
        raise ValueError(f"{name}: found {width!r}, expected a width") from None


def load_kernel_pool_from_binaries(bin_dir: str | os.PathLike[str]) -> list[dict[str, Any]]:
    """The kernels of a folder of tile-engine benchmark programs, from their names, sorted."""
    names = (program.stem.removeprefix("benchmark_") for program in sorted(Path(bin_dir).glob(_BINARIES)))
    return [kernel for kernel in map(kernel_config_to_feature_dict, names) if "tile_m" in kernel]


def create_ml_heuristic(
    model_dir: str | os.PathLike[str] | Predictor,
    dtype: str = "fp8",
    arch: str | None = None,
    layout: str = "rcr",
    kernel_pool: _rows.Kernels | None = None,
    bin_dir: str | os.PathLike[str] | None = None,
) -> Callable[[int, int, int], MLKernelSpec]:
    """A function (M, N, K) -> the best kernel. The pool is copied: later changes to its dicts have no effect."""
    kernel_pool = _each_kernel(kernel_pool, bin_dir)
    if not kernel_pool:
        raise ValueError("No kernel configs: kernel_pool is empty, or bin_dir has no benchmark programs")
    return partial(_first, create_ranked_heuristic(model_dir, dtype, arch, layout, kernel_pool, top_k=1))


def _first(ranked: Callable[[int, int, int], list[MLKernelSpec]], M: int, N: int, K: int) -> MLKernelSpec:
    return ranked(M, N, K)[0]


def create_ranked_heuristic(
    model_dir: str | os.PathLike[str] | Predictor,
    dtype: str = "fp8",
    arch: str | None = None,
    layout: str = "rcr",
    kernel_pool: _rows.Kernels | None = None,
    bin_dir: str | os.PathLike[str] | None = None,
    top_k: int = 5,
) -> Callable[[int, int, int], list[MLKernelSpec]]:
    """A function (M, N, K) -> the ``top_k`` best kernels, best first; none for an empty pool.

    The pool is copied: later changes to its dicts have no effect. It may also contain names.
    """
    predictor = model_dir if isinstance(model_dir, Predictor) else Predictor(model_dir)
    described = [
        _of_name(kernel) if isinstance(kernel, str) else dict(_rows.mapping(kernel, f"kernel_pool: row {place}"))
        for place, kernel in enumerate(_each_kernel(kernel_pool, bin_dir))
    ]
    asked: dict[str, Any] = {"dtype": dtype, "layout": layout, "split_k": 1}
    target = resolve_arch(predictor, arch, described)
    if target is not None:
        asked["arch"] = target
    return partial(_ranked, predictor, described, asked, top_k)


def _ranked(
    predictor: Predictor, pool: list[dict[str, Any]], asked: dict[str, Any], top_k: int, M: int, N: int, K: int
) -> list[MLKernelSpec]:
    """The best kernels of a pool for a problem."""
    problem = {"m": M, "n": N, "k": K, **asked}
    by_name = {_names.of_row(kernel, place): kernel for place, kernel in enumerate(pool)}
    if len(by_name) < len(pool):
        # A name alone does not tell which of several kernels won.
        places, tflops = predictor.rank_tflops(problem, pool, top_k)
        return [feature_dict_to_ml_spec(pool[place], value) for place, value in zip(places, tflops)]
    ranked = predictor.rank_kernels(problem, pool)[: max(0, top_k)]
    return [feature_dict_to_ml_spec(by_name[name], value) for name, value in ranked]


def _each_kernel(kernel_pool: _rows.Kernels | None, bin_dir: str | os.PathLike[str] | None) -> list[Any]:
    if kernel_pool is None:
        return load_kernel_pool_from_binaries(bin_dir if bin_dir is not None else _BIN_DIR)
    return _rows.each(kernel_pool, "kernel_pool")


def _of_name(name: str) -> dict[str, Any]:
    """A GEMM kernel by its name, read by the library's own grammar."""
    fields = _names.cells(name)
    if fields["op_type"] != "gemm_universal":
        raise ValueError(f"kernel '{name}': found a {fields['op_type']} kernel, expected a GEMM's")
    return {**fields, **{flag: bool(fields[flag]) for flag in _FLAGS}, "kernel_name": name}


def plain_arch(arch: Any) -> str:
    """An architecture without the features after its colon."""
    return str(arch).split(":", 1)[0]


def resolve_arch(predictor: Any, arch: str | None, kernel_pool: Sequence[Mapping[str, Any]]) -> str | None:
    """The architecture to use: the caller's, otherwise the model's; None if neither names one.

    A kernel's cells take precedence over the problem's, so some kernels would answer a different question: those with
    cells of the problem, or with another architecture, are errors.
    """
    trained = getattr(predictor, "spec", {}).get("arch")
    arch = arch and PRODUCTS.get(arch.upper(), arch)
    if arch and trained and plain_arch(arch) != plain_arch(trained):
        raise ValueError(
            f"arch: found '{arch}', expected '{trained}': it disagrees with the model, which was trained for that one"
        )
    target = arch or trained or None
    for place, kernel in enumerate(kernel_pool):
        name = _names.of_row(kernel, place)
        stray = [key for key in ("m", "n", "k", "split_k") if kernel.get(key) is not None]
        if stray:
            raise ValueError(f"kernel '{name}': {', '.join(stray)} are problem keys, and would replace the problem's")
        other = kernel.get("arch")
        if other is not None and (target is None or plain_arch(other) != plain_arch(target)):
            said = f"expected '{target}'" if target is not None else "and neither the caller nor the model names one"
            raise ValueError(f"kernel '{name}': kernel_pool entries carry arch '{other}', {said}")
    return target
