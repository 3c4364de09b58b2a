"""The names of Triton's GEMM kernels, as the library's grammar has them (``crates/types/src/gemm/triton_name.rs``).

``gpu/triton/pool.py`` reads this file where the package is not installed, so it imports nothing else of it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

GROUP_M = 8
"""The rows of tiles that a kernel computes side by side, where its name does not say it."""

_NAME = re.compile(
    r"triton_gemm_([a-z0-9]+)_([rc]{3})_(\w+?)_default_intrawave_False_False_False_(True|False)"
    r"_(\d+)x(\d+)x(\d+)_(\d+)x(\d+)x1_(\d+)x\d+x\d+(\w*)"
)
_SUFFIXES = re.compile(
    r"(?:_splitk(\d+))?(_batched)?(?:_stages(\d+))?(?:_gm(\d+))?(_tma)?(?:_ctas(\d+))?(?:_wpe(\d+))?(?:_kpack(\d+))?"
)
# compv3 has two stages, and so on.
_STAGES = {f"compv{stages + 1}": stages for stages in (2, 3, 4, 5)}


@dataclass(frozen=True)
class Kernel:
    """One of Triton's GEMM kernels, with Triton's numbers; ``nonkdim``, ``kpack`` and ``waves_per_eu`` are AMD's."""

    dtype: str
    layout: str
    tile: tuple[int, int, int]
    warps: int
    stages: int
    persistent: bool = False
    group_m: int = GROUP_M
    tma: bool = False
    ctas: int = 1
    waves_per_eu: int = 0
    nonkdim: int = 16
    kpack: int = 1
    split_k: int = 1
    batched: bool = False

    @property
    def name(self) -> str:
        """The product's name. Warps divide the rows as far as there are 16 for each, then the columns."""
        m, n, k = self.tile
        fits = max(1, min(self.warps, m // 16))
        rows = 1 << fits.bit_length() - 1
        numbered = min(max(self.stages, 2), 5)
        suffixes = (
            ("splitk", self.split_k, 1),
            ("batched", self.batched, False),
            ("stages", self.stages, numbered),
            ("gm", self.group_m, GROUP_M),
            ("tma", self.tma, False),
            ("ctas", self.ctas, 1),
            ("wpe", self.waves_per_eu, 0),
            ("kpack", self.kpack, 1),
        )
        tail = "".join(f"_{tag}{'' if own is True else own}" for tag, own, usual in suffixes if own != usual)
        return (
            f"triton_gemm_{self.dtype}_{self.layout}_compv{numbered + 1}_default_intrawave"
            f"_False_False_False_{self.persistent}_{m}x{n}x{k}_{rows}x{self.warps // rows}x1"
            f"_{self.nonkdim}x{self.nonkdim}x{256 // self.nonkdim}{tail}"
        )

    @classmethod
    def parse(cls, name: str) -> Kernel:
        """The kernel of a name; a ``ValueError`` says why there is none."""
        read = _NAME.fullmatch(name)
        if not read:
            raise ValueError(f"{name}: expected a name as pool.py prints it")
        dtype, layout, pipeline, persistent, *sides, tail = read.groups()
        if pipeline not in _STAGES:
            raise ValueError(f"{name}: '{pipeline}' has no number of stages, expected {', '.join(_STAGES)} (2 to 5)")
        m, n, k, rows, columns, nonkdim = map(int, sides)
        words = _SUFFIXES.match(tail)
        if not words or words.end() != len(tail):
            rest = tail[words.end() if words else 0 :]
            raise ValueError(f"{name}: found '{rest}', expected the end")
        split_k, batched, stages, group_m, tma, ctas, waves_per_eu, kpack = words.groups()
        kernel = cls(
            dtype,
            layout,
            (m, n, k),
            rows * columns,
            int(stages or _STAGES[pipeline]),
            persistent == "True",
            group_m=int(group_m or GROUP_M),
            tma=bool(tma),
            ctas=int(ctas or 1),
            waves_per_eu=int(waves_per_eu or 0),
            nonkdim=nonkdim,
            kpack=int(kpack or 1),
            split_k=int(split_k or 1),
            batched=bool(batched),
        )
        if not rows * columns or nonkdim not in (4, 16, 32) or kernel.name != name:
            expected = kernel.name if rows * columns and nonkdim in (4, 16, 32) else "16x16x16 or 32x32x8"
            raise ValueError(f"{name}: expected {expected} for this tile and these warps")
        return kernel
