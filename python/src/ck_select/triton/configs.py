"""Configurations of any matmul kernel of Triton's as kernels with names."""

from __future__ import annotations

from collections.abc import Mapping
from operator import index
from typing import Any

from ..errors import InvalidInputError
from .names import Kernel

_SIDES = {
    side: (f"BLOCK_{side}", f"BLOCK_SIZE_{side}", f"TILE_{side}", f"TILE_SIZE_{side}", f"BLOCK{side}", f"B{side}")
    for side in "MNK"
}
# What kernels call their meta-parameters. Of several names, the first that a configuration has counts.
PARAMETERS: dict[str, tuple[str, ...]] = {
    **{f"block_{side.lower()}": (*names, *map(str.lower, names)) for side, names in _SIDES.items()},
    "num_warps": ("num_warps",),
    "num_stages": ("num_stages",),
    "group_m": ("GROUP_M", "GROUP_SIZE_M", "group_m", "group_size_m"),
    "split_k": ("SPLIT_K", "split_k"),
    "num_ctas": ("num_ctas",),
    "waves_per_eu": ("waves_per_eu",),
    "matrix_instr_nonkdim": ("matrix_instr_nonkdim",),
    "kpack": ("kpack",),
}


def names_of(meta: Mapping[str, str] | None) -> dict[str, tuple[str, ...]]:
    """The names of all parameters, of which a caller tells some."""
    unknown = set(meta or ()) - set(PARAMETERS)
    if unknown:
        expected = ", ".join(PARAMETERS)
        raise InvalidInputError(f"meta: found {', '.join(sorted(unknown))}, expected some of {expected}", 2)
    return {**PARAMETERS, **{parameter: (name,) for parameter, name in (meta or {}).items()}}


def cells(config: Any) -> Mapping[str, Any]:
    """All parameters of a ``triton.Config``, of a mapping, or of Inductor's parameters."""
    if isinstance(config, Mapping):
        return config
    for method in ("all_kwargs", "to_kwargs"):
        if hasattr(config, method):
            found: Mapping[str, Any] = getattr(config, method)()
            return found
    raise InvalidInputError(f"configs: found a {type(config).__name__}, expected triton.Config or dict", 2)


def kernel_of(config: Mapping[str, Any], names: Mapping[str, tuple[str, ...]], **pool: Any) -> Kernel:
    """The kernel of a configuration; ``pool`` is what all of them have: types, layout, whether they are persistent."""

    def read(parameter: str, usual: int | None = None) -> int:
        for name in names[parameter]:
            if config.get(name) is not None:
                try:
                    # 0 is a compiler's word for its own choice.
                    return index(config[name]) or usual or 0
                except TypeError:
                    raise InvalidInputError(f"{name}: found {config[name]!r}, expected a whole number", 2) from None
        if usual is not None:
            return usual
        expected = " or ".join(names[parameter][:2])
        raise InvalidInputError(f"a configuration has no {expected}, only {', '.join(config)}; meta tells its name", 2)

    return Kernel(
        tile=(read("block_m"), read("block_n"), read("block_k")),
        warps=read("num_warps", 4),
        stages=read("num_stages", 3),
        group_m=read("group_m", 8),
        split_k=read("split_k", 1),
        ctas=read("num_ctas", 1),
        waves_per_eu=read("waves_per_eu", 0),
        nonkdim=read("matrix_instr_nonkdim", 16),
        kpack=read("kpack", 1),
        **pool,
    )
