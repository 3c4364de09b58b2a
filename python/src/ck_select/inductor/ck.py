"""CK's and CK Tile's GEMMs in Inductor, on ROCm: few of the instances are compiled.

Inductor lists instances of CK outside the seam of :mod:`.choices`. It compiles all, which takes hours, or a random
sample of ``config.rocm.ck_max_profiling_configs`` (``ck_tile_max_profiling_configs``). Before it compiles, it calls a
function of ours with all choices of a product::

    instances = choices that have an instance of a GEMM
    keep the first ``top`` of them in the order of their expected time, and all other choices

An instance is a kernel and a number of parts of K, ``kBatch``, so kernels of each number are ranked together. Instances
of convolutions are left alone.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any, NamedTuple

from ..errors import NoKernelError
from ..triton.kernels import Top
from .problem import LAST, Place, Problem, Ranker

# CK's words, and CK Tile's.
_DTYPES = {"F16": "fp16", "BF16": "bf16", "F8": "fp8", "BF8": "bf8", "I8": "int8", "FP16": "fp16", "FP8": "fp8"}
# Elements along K of the smallest instruction, which all architectures have. Instances of CK do not say it.
_DEPTHS = {(2, 16): 16, (2, 32): 8, (1, 16): 32, (1, 32): 16}


class Instance(NamedTuple):
    """A kernel's name, and into how many parts it divides K."""

    name: str
    parts: int


def instance_of(choice: Any) -> Instance | None:
    """The instance of a choice; None for what is no GEMM of CK or CK Tile, or of types that no name has."""
    told: Mapping[str, Any] = getattr(choice, "info_kwargs", None) or {}
    instance = told.get("op")
    if hasattr(instance, "warp_tile_m"):
        name = _ck_tile_name(instance)
    elif hasattr(instance, "m_xdl_per_wave") and not hasattr(instance, "n_dim_spatial"):
        name = _ck_name(instance)
    else:
        return None
    return None if name is None else Instance(name, int(told.get("kBatch", 1)))


def _ck_name(of: Any) -> str | None:
    """The name of a ``CKGemmOperation``. Some of its words are C++'s, such as ``BlockGemmPipelineVersion::v3``."""
    dtype = _dtype(of.a_element_dtype, of.b_element_dtype)
    depth = _DEPTHS.get((2 if dtype in ("fp16", "bf16") else 1, of.m_per_xdl))
    if dtype is None or depth is None:
        return None
    padding, version, scheduler = (
        str(word).rsplit("::", 1)[-1]
        for word in (of.gemm_specialization, of.block_gemm_pipeline_version, of.block_gemm_pipeline_scheduler)
    )
    waves = (
        of.m_per_block // (of.m_per_xdl * of.m_xdl_per_wave),
        of.n_per_block // (of.n_per_xdl * of.n_xdl_per_wave),
    )
    return _name(
        dtype,
        (of.a_layout, of.b_layout, of.c_layout),
        (f"comp{version}", "cshuffle", scheduler),
        [letter in padding for letter in "MNK"],
        (of.m_per_block, of.n_per_block, of.k_per_block),
        (*waves, 1),
        (of.m_per_xdl, of.n_per_xdl, depth),
    )


def _ck_tile_name(of: Any) -> str | None:
    """The name of a ``CKTileGemmOperation``, whose flags are words."""
    dtype = _dtype(of.datatype_a, of.datatype_b)
    if dtype is None:
        return None
    return _name(
        dtype,
        (of.layout_a, of.layout_b, of.layout_c),
        (of.pipeline, of.epilogue, of.scheduler),
        [str(flag).lower() == "true" for flag in (of.m_is_padded, of.n_is_padded, of.k_is_padded)],
        (of.tile_m, of.tile_n, of.tile_k),
        (of.warp_m, of.warp_n, of.warp_k),
        (of.warp_tile_m, of.warp_tile_n, of.warp_tile_k),
    )


def _name(
    dtype: str, layouts: Iterable[str], words: Iterable[str], pads: Iterable[bool], *shapes: tuple[int, ...]
) -> str:
    layout = "".join(matrix[0].lower() for matrix in layouts)
    sizes = ("x".join(map(str, shape)) for shape in shapes)
    return "_".join(["gemm_universal", dtype, layout, *map(str.lower, words), *map(str, pads), "False", *sizes])


def _dtype(a: str, b: str) -> str | None:
    return _DTYPES.get(a) if a == b else None


def problem_of(choice: Any, name: str) -> Problem:
    """The problem of a choice: its extents, hints where they are dynamic, are the first arguments of the kernel."""
    sizes = list(map(int, choice.bmreq.extra_args))
    batch = sizes.pop(0) if getattr(choice.template, "is_batched", False) else 0
    m, n, k, *_ = sizes
    _, _, dtype, layout, *_ = name.split("_")
    return Problem("bmm" if batch else "mm", m, n, k, batch, dtype, layout, choice.layout.device)


def first(choices: list[Any], ranker: Ranker, top: Top) -> tuple[list[Any], list[str]]:
    """All choices but instances of CK behind the first ``top`` of these, and the names of those."""
    instances = {at: found for at, choice in enumerate(choices) if (found := instance_of(choice))}
    of_parts: dict[int, list[int]] = defaultdict(list)
    for at, instance in instances.items():
        of_parts[instance.parts].append(at)
    costs: dict[int, Place] = {}
    most = 0
    for parts, members in of_parts.items():
        problem = problem_of(choices[members[0]], instances[members[0]].name)
        with suppress(NoKernelError):
            places, enough = ranker.places(problem, [instances[at].name for at in members], top, parts)
            costs.update(zip(members, places))
            most = max(most, enough)
    computing = [at for at, place in costs.items() if place != LAST]
    kept = sorted(computing, key=lambda at: costs[at][::-1])[:most]
    if not kept or len(kept) == len(instances):
        return choices, []
    dropped = instances.keys() - set(kept)
    return [choice for at, choice in enumerate(choices) if at not in dropped], [instances[at].name for at in kept]
