"""Between predictors and CK's Python dispatcher: names, pools of binaries, and heuristics.

CK's dispatcher calls ``wave_*`` what the features call ``warp_*``, and ``warp_*`` what they call ``warp_tile_*``.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from . import _names
from .errors import InvalidInputError
from .predictor import Predictor

_LAYOUTS = {
    "rcr": ("row", "col", "row"),
    "rrr": ("row", "row", "row"),
    "crr": ("col", "row", "row"),
    "ccr": ("col", "col", "row"),
}
_USUAL_LAYOUT = ("row", "col", "row")
_RESULTS = {"fp8": "fp16"}
_PREFIX = "gemm_universal_"
_CONV_PREFIX = "grouped_conv_"
_BIN_DIR = "/workspace/ck_tile/bin"
_BINARIES = "benchmark_gemm_universal_*"
_TRIPLES = ("tile", "warp", "warp_tile")
_FLAGS = ("pad_m", "pad_n", "pad_k", "persistent")
_AXES = ("m", "n", "k")
# What the dispatcher calls a number, what the features call it, and what it is when a kernel does not say.
_NUMBERS = (
    *((f"tile_{axis}", f"tile_{axis}", usual) for axis, usual in zip(_AXES, (128, 128, 64))),
    *((f"wave_{axis}", f"warp_{axis}", usual) for axis, usual in zip(_AXES, (2, 2, 1))),
    *((f"warp_{axis}", f"warp_tile_{axis}", usual) for axis, usual in zip(_AXES, (32, 32, 16))),
)
_WORDS = (("pipeline", "compv3"), ("scheduler", "intrawave"), ("epilogue", "cshuffle"))


@dataclass
class MLKernelSpec:
    """A chosen GEMM kernel in the dispatcher's words."""

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
    """The fields of a kernel's name; empty when it is none.

    A convolution's tile stands in the order of the name, as in the tables of upstream's converters: ``block_size``,
    ``gemm_m_per_block``, ``gemm_n_per_block``. Models of ours read tiles otherwise: keep ``kernel_name`` beside them,
    as ``kernel_config_to_feature_dict`` does, and any model is asked in its own terms.

    Of GEMMs these are tile-engine names. A pipeline with an underscore moves every later field by one, as in upstream's
    parser: the dicts are what its models were trained on.
    """
    if name.startswith(_CONV_PREFIX):
        try:
            return _names.cells(name)
        except InvalidInputError:
            return {}
    if not name.startswith(_PREFIX):
        return {}
    name, vector = _split_vector(name)
    if vector is None:
        return {}
    head = name[len(_PREFIX) :].split("_")
    # The shortest type that has a layout behind it.
    place = next((place for place in range(1, len(head) - 1) if head[place] in _LAYOUTS), None)
    if place is None:
        return {}
    fields: dict[str, Any] = {"dtype": "_".join(head[:place]), "layout": head[place]}
    fields.update(vector)
    parts = head[place + 1 :]
    if len(parts) < 10:
        return fields
    fields.update(zip(("pipeline", "epilogue", "scheduler"), parts))
    fields.update(zip(_FLAGS, (part == "True" for part in parts[3:7])))
    for triple, part in zip(_TRIPLES, parts[7:10]):
        numbers = part.split("x")
        for place, axis in enumerate(_AXES):
            if place >= len(numbers) or not numbers[place].isdecimal():
                return fields
            fields[f"{triple}_{axis}"] = int(numbers[place])
    return fields


def _split_vector(name: str) -> tuple[str, dict[str, int] | None]:
    """Cuts the widths ``_vecA_B_C`` out of a name; None for widths that are not whole."""
    begin = name.find("_vec")
    while begin >= 0:
        parts = name[begin + len("_vec") :].split("_")
        if parts[0].isdecimal():
            if len(parts) < 3 or not all(part.isdecimal() for part in parts[:3]):
                return name, None
            rest = "".join(f"_{part}" for part in parts[3:])
            return name[:begin] + rest, dict(zip(("vec_a", "vec_b", "vec_c"), map(int, parts[:3])))
        begin = name.find("_vec", begin + 1)
    return name, {}


def kernel_config_to_feature_dict(kernel_name: str) -> dict[str, Any]:
    """The dict for a predictor from a kernel's name; empty if it is not a kernel's name."""
    fields = parse_kernel_name(kernel_name)
    if fields:
        fields["kernel_name"] = kernel_name
    return fields


def feature_dict_to_dispatcher_config(
    feat: Mapping[str, Any], dtype: str = "fp8", arch: str = "gfx950"
) -> dict[str, Any]:
    """The dispatcher's configuration of a kernel."""
    _refuse_widths(feat)
    numbers = {theirs: feat.get(ours, usual) for theirs, ours, usual in _NUMBERS}
    words = {name: feat.get(name, usual) for name, usual in _WORDS}
    pads = {name: feat.get(name, True) for name in _FLAGS[:3]}
    layout = _LAYOUTS.get(feat.get("layout", "rcr"), _USUAL_LAYOUT)
    return _config(dtype, arch, layout, {**numbers, **words, **pads})


def feature_dict_to_ml_spec(feat: Mapping[str, Any], predicted_tflops: float = 0.0) -> MLKernelSpec:
    """A kernel with its prediction."""
    _refuse_widths(feat)
    return MLKernelSpec(
        kernel_name=feat.get("kernel_name", "unknown"),
        predicted_tflops=predicted_tflops,
        **{theirs: feat.get(ours, usual) for theirs, ours, usual in _NUMBERS},
        **{name: feat.get(name, usual) for name, usual in _WORDS},
        **{name: feat.get(name, False) for name in _FLAGS},
    )


def ml_spec_to_dispatcher_config(spec: MLKernelSpec, dtype: str = "fp8", arch: str = "gfx950") -> dict[str, Any]:
    """The dispatcher's configuration of a chosen kernel, for row, column, row."""
    names = [name for name, _, _ in _NUMBERS] + [name for name, _ in _WORDS] + list(_FLAGS[:3])
    return _config(dtype, arch, _USUAL_LAYOUT, {name: getattr(spec, name) for name in names})


def _config(dtype: str, arch: str, layout: tuple[str, str, str], rest: dict[str, Any]) -> dict[str, Any]:
    types = {"dtype_a": dtype, "dtype_b": dtype, "dtype_c": _RESULTS.get(dtype, dtype), "dtype_acc": "fp32"}
    layouts = dict(zip(("layout_a", "layout_b", "layout_c"), layout))
    return {**types, **layouts, **rest, "gfx_arch": arch}


def _refuse_widths(feat: Mapping[str, Any]) -> None:
    """The dispatcher's configurations have no vector widths: a kernel that fixes one would become another."""
    fixed = [name for name in ("vec_a", "vec_b", "vec_c") if feat.get(name) not in (None, "", 0)]
    fixed = [name for name in fixed if feat[name] == feat[name]]
    if fixed:
        found = ", ".join(f"{name} {feat[name]}" for name in fixed)
        raise ValueError(
            f"kernel '{feat.get('kernel_name', 'unknown')}': found {found}, expected native widths: "
            "the dispatcher's configuration has no place for others"
        )


def load_kernel_pool_from_binaries(bin_dir: str | os.PathLike[str]) -> list[dict[str, Any]]:
    """The kernels of a folder of tile-engine benchmark programs, by their names, sorted."""
    found = []
    for program in sorted(Path(bin_dir).glob(_BINARIES)):
        kernel = kernel_config_to_feature_dict(program.stem[len("benchmark_") :])
        if "tile_m" in kernel:
            found.append(kernel)
    return found


def create_ml_heuristic(
    model_dir: str | os.PathLike[str],
    dtype: str = "fp8",
    arch: str | None = None,
    layout: str = "rcr",
    kernel_pool: Sequence[Mapping[str, Any] | str] | None = None,
    bin_dir: str | os.PathLike[str] | None = None,
) -> Callable[[int, int, int], MLKernelSpec]:
    """A function (M, N, K) -> the best kernel.

    The pool is prepared now: later changes to its dicts do not reach the heuristic.
    """
    if kernel_pool is None:
        kernel_pool = load_kernel_pool_from_binaries(bin_dir if bin_dir is not None else _BIN_DIR)
    if not kernel_pool:
        raise ValueError("No kernel configs: kernel_pool is empty, or bin_dir has no benchmark programs")
    ranked = create_ranked_heuristic(model_dir, dtype, arch, layout, kernel_pool, top_k=1)

    def heuristic(M: int, N: int, K: int) -> MLKernelSpec:
        return ranked(M, N, K)[0]

    return heuristic


def create_ranked_heuristic(
    model_dir: str | os.PathLike[str],
    dtype: str = "fp8",
    arch: str | None = None,
    layout: str = "rcr",
    kernel_pool: Sequence[Mapping[str, Any] | str] | None = None,
    bin_dir: str | os.PathLike[str] | None = None,
    top_k: int = 5,
) -> Callable[[int, int, int], list[MLKernelSpec]]:
    """A function (M, N, K) -> the ``top_k`` best kernels, best first; none of an empty pool.

    The pool is prepared now: later changes to its dicts do not reach the heuristic. It may also hold names.
    """
    predictor = Predictor(model_dir)
    if kernel_pool is None:
        kernel_pool = load_kernel_pool_from_binaries(bin_dir if bin_dir is not None else _BIN_DIR)
    described = [_of_name(kernel) if isinstance(kernel, str) else dict(kernel) for kernel in kernel_pool]
    asked: dict[str, Any] = {"dtype": dtype, "layout": layout, "split_k": 1}
    target = arch if arch is not None else predictor.spec.get("arch")
    _refuse_contradictions(predictor, arch, target, described)
    if target is not None:
        asked["arch"] = target
    pool = predictor.prepare(described)

    def heuristic(M: int, N: int, K: int) -> list[MLKernelSpec]:
        places, scores = pool.rank_places({"m": M, "n": N, "k": K, **asked}, top_k)
        return [feature_dict_to_ml_spec(described[place], score) for place, score in zip(places, scores)]

    return heuristic


def _of_name(name: str) -> dict[str, Any]:
    """A GEMM kernel by its name, read by the library's own grammar."""
    fields = _names.cells(name)
    if fields["op_type"] != "gemm_universal":
        raise ValueError(f"kernel '{name}': found a {fields['op_type']} kernel, expected a GEMM's")
    return {**fields, **{flag: bool(fields[flag]) for flag in _FLAGS}, "kernel_name": name}


def _plain_arch(arch: Any) -> str:
    return str(arch).split(":", 1)[0]


def _refuse_contradictions(
    predictor: Predictor, arch: str | None, target: str | None, pool: Sequence[Mapping[str, Any]]
) -> None:
    """A kernel's cells override the problem's, so some kernels would answer a different question."""
    trained = predictor.spec.get("arch")
    if arch and trained and _plain_arch(arch) != _plain_arch(trained):
        raise ValueError(f"arch: found '{arch}', expected '{trained}', which the model was trained on")
    for place, kernel in enumerate(pool):
        name = kernel.get("kernel_name", f"kernel_{place}")
        stray = [key for key in ("m", "n", "k", "split_k") if kernel.get(key) is not None]
        if stray:
            raise ValueError(f"kernel '{name}': {', '.join(stray)} would replace the problem's")
        other = kernel.get("arch")
        if other is not None and (target is None or _plain_arch(other) != _plain_arch(target)):
            raise ValueError(f"kernel '{name}': found arch '{other}', expected {target!r}")
