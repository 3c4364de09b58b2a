"""The GEMM kernels that Triton compiles, by name: what a name means, and which names make a pool.

    python3 pool.py --arch gfx942 --dtype bf16 --layout rcr > pool.txt

Needs neither Triton nor a GPU.
"""

from __future__ import annotations

import argparse
import importlib.util
import itertools
import signal
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any


def _names() -> Any:
    """The names of the Python package, which need not be installed."""
    file = Path(__file__).parents[2] / "python" / "src" / "ck_select" / "triton" / "names.py"
    spec = importlib.util.spec_from_file_location("ck_select_triton_names", file)
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


names = _names()

# Bytes of an element. The results of both 8-bit types are fp16.
DTYPES = {"fp16": 2, "bf16": 2, "fp8": 1, "bf8": 1}
LAYOUTS = ("rcr", "rrr", "ccr", "crr")
STAGES = (2, 3, 4, 5)
# Shared memory of a workgroup, threads of a wave. AMD's kernels keep the newest of their stages in registers.
ARCHS = {
    "sm_80": (163 << 10, 32),
    "sm_89": (99 << 10, 32),
    "sm_90": (227 << 10, 32),
    "sm_100": (227 << 10, 32),
    "gfx90a": (64 << 10, 64),
    "gfx942": (64 << 10, 64),
    "gfx950": (160 << 10, 64),
    "gfx1100": (64 << 10, 32),
    "gfx1201": (64 << 10, 32),
}
SIDES = (16, 32, 64, 128, 256)


class Refused(ValueError):
    """A name or a problem that no kernel here has or takes; says why."""


class Kernel(names.Kernel):
    """A kernel of the pool."""

    @classmethod
    def parse(cls, name: str) -> Kernel:
        """The kernel of a name."""
        try:
            kernel = super().parse(name)
        except ValueError as error:
            raise Refused(str(error)) from None
        for what, word, accepted in (("type", kernel.dtype, DTYPES), ("layout", kernel.layout, LAYOUTS)):
            if word not in accepted:
                raise Refused(f"{name}: found the {what} {word}, expected {', '.join(accepted)}")
        powers = [*kernel.tile, kernel.warps]
        if any(side & (side - 1) or not side for side in powers) or min(kernel.tile) < 16 or kernel.warps > 16:
            raise Refused(f"{name}: expected powers of two, tiles from 16 and at most 16 warps")
        if kernel.split_k > 1:
            raise Refused(f"{name}: found '_splitk{kernel.split_k}', expected none: a split is the problem's (split_k)")
        if kernel.tma or kernel.batched or kernel.ctas > 1:
            raise Refused(f"{name}: found tma, batched or ctas, which gemm.py does not do")
        return kernel

    def refuses(self, problem: Problem) -> str | None:
        """Why it cannot run a problem, if so."""
        if (problem.dtype, problem.layout) != (self.dtype, self.layout):
            return f"the problem is {problem.dtype} {problem.layout}"
        steps = -(-problem.k // self.tile[2])
        if problem.split > 1 and self.persistent:
            return f"split_k is {problem.split}, and persistent kernels take 1"
        if problem.split > steps:
            return f"split_k is {problem.split}, and K has {steps} steps of {self.tile[2]}"
        sizes = (problem.m * problem.k, problem.k * problem.n, problem.m * problem.n)
        return "an operand has more than 2^31 elements" if max(sizes) >= 1 << 31 else None

    def variant(self, problem: Problem) -> tuple[bool, bool, bool, bool]:
        """What is compiled for the problem: which extents are multiples of 16, and whether K is split.

        M only matters where A's columns are contiguous.
        """
        by_columns = problem.layout[0] == "c"
        return (problem.m % 16 == 0 and by_columns, problem.n % 16 == 0, problem.k % 16 == 0, problem.split > 1)


@dataclass(frozen=True)
class Problem:
    """A GEMM."""

    m: int
    n: int
    k: int
    split: int
    dtype: str
    layout: str

    @property
    def flops(self) -> int:
        """Multiplications and additions."""
        return 2 * self.m * self.n * self.k

    @classmethod
    def parse(cls, text: str) -> Problem:
        """Reads the text of a request: M=1,N=2,K=3,dtype_a=fp16,…"""
        cells = dict(cell.split("=", 1) for cell in text.split(","))
        dtype = cells.pop("dtype_a", "fp8")
        result = dtype if DTYPES.get(dtype) == 2 else "fp16"
        cells.pop("arch", None)
        layout, split = cells.pop("layout", "rcr"), cells.pop("split_k", "1")
        try:
            m, n, k = (int(cells.pop(side)) for side in "MNK")
        except (KeyError, ValueError):
            raise Refused(f"{text}: expected numbers for M, N and K") from None
        if not split.isdigit() or int(split) < 1:
            raise Refused(f"split_k is {split}, and only a number of parts can be measured")
        for name, usual in (("dtype_b", dtype), ("dtype_c", result)):
            if cells.pop(name, usual) != usual:
                raise Refused(f"{text}: {name} has to be {usual}")
        if cells:
            raise Refused("the problem has " + ", ".join(f"{name} = {cell}" for name, cell in cells.items()))
        return cls(m, n, k, int(split), dtype, layout)


def pool(dtype: str, layout: str, arch: str) -> list[Kernel]:
    """The kernels that may be the fastest somewhere: they fit, and each thread has 8 to 256 results."""
    room, wave = ARCHS[arch]
    size = DTYPES[dtype]
    kernels = []
    depths = [depth // size for depth in (64, 128, 256)]
    for m, n, k, warps, stages in itertools.product(SIDES, SIDES, depths, (2, 4, 8), STAGES):
        buffers = stages - (1 if arch.startswith("gfx") else 0)
        results = m * n / (warps * wave)
        fits = buffers * (m + n) * k * size <= room and 8 <= results <= 256
        # Few warps on large tiles and many on small ones; too few bytes in flight, or more than are ever waited for.
        lame = (
            (m * n >= 128 * 128 and warps < 4)
            or (m * n < 64 * 64 and warps > 4)
            or (k * size == 64 and stages == 2)
            or (k * size == 256 and stages == 5)
        )
        if fits and not lame:
            kernels.append(Kernel(dtype, layout, (m, n, k), warps, stages))
            if m * n >= 64 * 128 and stages in (3, 4) and k * size == 128:
                kernels.append(Kernel(dtype, layout, (m, n, k), warps, stages, True))
    return kernels


def split_pool(dtype: str, layout: str, arch: str) -> list[Kernel]:
    """Those for problems in parts: small tiles, which leave a device empty where there are few of them."""
    deep, stages = 128 // DTYPES[dtype], 2 if arch.startswith("gfx") else 4
    return [
        kernel
        for kernel in pool(dtype, layout, arch)
        if kernel.tile[0] * kernel.tile[1] <= 64 * 128 and kernel.tile[2] >= deep
        if kernel.stages == stages and kernel.warps == 4 and not kernel.persistent
    ]


def main(arguments: list[str]) -> int:
    """Prints a pool."""
    parser = argparse.ArgumentParser(description="List GEMM kernels that Triton can compile.")
    parser.add_argument("--arch", required=True, choices=ARCHS)
    parser.add_argument("--dtype", default="bf16", choices=DTYPES)
    parser.add_argument("--layout", default="rcr", choices=LAYOUTS)
    parser.add_argument("--for-splits", action="store_true", help="only those worth measuring with split_k above 1")
    options = parser.parse_args(arguments)
    listed = split_pool if options.for_splits else pool
    print("\n".join(kernel.name for kernel in listed(options.dtype, options.layout, options.arch)))
    return 0


if __name__ == "__main__":
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # `| head` is no error.
    sys.exit(main(sys.argv[1:]))
