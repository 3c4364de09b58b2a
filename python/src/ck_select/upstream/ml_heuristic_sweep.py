"""The part of upstream's ``ml_heuristic_sweep`` that needs no GPU: its kernels, in the predictors' form."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

__all__ = ["KERNEL_POOL", "KernelSpec", "spec_to_feature_dict"]


@dataclass
class KernelSpec:
    """A GEMM kernel in the dispatcher's terms."""

    name: str
    tile_m: int
    tile_n: int
    tile_k: int
    pipeline: str = "compv3"
    scheduler: str = "intrawave"
    wave_m: int = 2
    wave_n: int = 2
    wave_k: int = 1
    warp_m: int = 32
    warp_n: int = 32
    warp_k: int = 16


_PIPELINES = {"v3": "compv3", "v4": "compv4", "mem": "mem", "iw_v3": "compv3"}

# Class, tile, its depths by pipeline, and the tile of one instruction.
_KERNELS: tuple[tuple[str, int, int, dict[str, tuple[int, ...]], int, int], ...] = (
    ("s", 64, 64, {"v3": (32, 64, 128), "v4": (64,), "mem": (64, 128)}, 16, 16),
    ("m", 128, 128, {"v3": (32, 64, 128), "v4": (64, 128), "mem": (64, 128)}, 32, 32),
    ("r", 64, 128, {"v3": (32,)}, 16, 32),
    ("r", 128, 64, {"v3": (32,)}, 32, 16),
    ("r", 64, 128, {"v3": (64,)}, 16, 32),
    ("r", 128, 64, {"v3": (64,)}, 32, 16),
    ("r", 64, 256, {"v3": (32,)}, 16, 32),
    ("r", 256, 64, {"v3": (32,)}, 32, 16),
    ("l", 256, 128, {"v3": (32,)}, 32, 32),
    ("l", 128, 256, {"v3": (32,)}, 32, 32),
    ("l", 256, 256, {"v3": (32, 64), "v4": (64,)}, 32, 32),
    ("m", 128, 128, {"iw_v3": (64, 128)}, 32, 32),
    ("l", 256, 256, {"iw_v3": (32,)}, 32, 32),
)


def _kernels() -> Iterator[KernelSpec]:
    for size, tile_m, tile_n, depths, warp_m, warp_n in _KERNELS:
        for tag, tiles_k in depths.items():
            scheduler = "interwave" if tag.startswith("iw") else "intrawave"
            for tile_k in tiles_k:
                name = f"{size}_{tile_m}x{tile_n}_k{tile_k}_{tag}"
                made = KernelSpec(name, tile_m, tile_n, tile_k, _PIPELINES[tag], scheduler)
                made.warp_m, made.warp_n = warp_m, warp_n
                yield made


KERNEL_POOL = list(_kernels())


def spec_to_feature_dict(spec: KernelSpec, dtype: str, layout: str, arch: str) -> dict[str, Any]:
    """A kernel of the pool in the predictors' form: padded, with native widths."""
    return {
        "kernel_name": spec.name,
        **{f"tile_{axis}": getattr(spec, f"tile_{axis}") for axis in "mnk"},
        **{f"warp_{axis}": getattr(spec, f"wave_{axis}") for axis in "mnk"},
        **{f"warp_tile_{axis}": getattr(spec, f"warp_{axis}") for axis in "mnk"},
        **{"pipeline": spec.pipeline, "scheduler": spec.scheduler, "epilogue": "cshuffle"},
        **{"pad_m": True, "pad_n": True, "pad_k": True, "persistent": False},
        **{"dtype": dtype, "layout": layout, "arch": arch, "vec_a": 0, "vec_b": 0, "vec_c": 0},
    }
