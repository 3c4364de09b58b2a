"""The kernel itself, for NVIDIA and AMD GPUs, and how it is launched. Needs Triton and PyTorch."""

from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl
from pool import Kernel, Problem


# Extents are no constants, so that one compilation serves all that are as aligned. A persistent kernel is the same code
# in fewer workgroups. Without the loop over tiles, Triton 3.6 makes kernels of large tiles a fifth slower on an H100.
@triton.jit(do_not_specialize=["m", "n", "k"])
def _gemm(
    a, b, c, m, n, k,
    WHOLE_M: tl.constexpr, WHOLE_N: tl.constexpr, WHOLE_K: tl.constexpr,
    A_ROWS: tl.constexpr, B_ROWS: tl.constexpr, TILE_M: tl.constexpr, TILE_N: tl.constexpr, TILE_K: tl.constexpr,
    GROUP: tl.constexpr, SPLIT: tl.constexpr,
):  # fmt: skip
    # This is how the compiler learns that they are multiples of 16, and loads whole vectors.
    if WHOLE_M:
        m = m // 16 * 16
    if WHOLE_N:
        n = n // 16 * 16
    if WHOLE_K:
        k = k // 16 * 16
    tiles_m, tiles_n, steps = tl.cdiv(m, TILE_M), tl.cdiv(n, TILE_N), tl.cdiv(k, TILE_K)
    share = tl.cdiv(steps, tl.num_programs(1))
    begin = tl.program_id(1) * share
    end = min(begin + share, steps)
    for tile in range(tl.program_id(0), tiles_m * tiles_n, tl.num_programs(0)):
        group = tile // (GROUP * tiles_n)
        height = min(tiles_m - group * GROUP, GROUP)
        within = tile % (GROUP * tiles_n)
        rows = (group * GROUP + within % height) * TILE_M + tl.arange(0, TILE_M)
        columns = within // height * TILE_N + tl.arange(0, TILE_N)
        # Beyond the matrix something else of it is read, and never stored.
        in_a, in_b = rows % m, columns % n
        total = tl.zeros((TILE_M, TILE_N), tl.float32)
        for step in range(begin, end):
            depth = step * TILE_K + tl.arange(0, TILE_K)
            from_a = a + (in_a[:, None] * k + depth[None, :] if A_ROWS else depth[None, :] * m + in_a[:, None])
            from_b = b + (depth[:, None] * n + in_b[None, :] if B_ROWS else in_b[None, :] * k + depth[:, None])
            some_a = tl.load(from_a, mask=depth[None, :] < k, other=0.0)
            some_b = tl.load(from_b, mask=depth[:, None] < k, other=0.0)
            total = tl.dot(some_a, some_b, total)
        to = c + rows[:, None] * n + columns[None, :]
        inside = (rows[:, None] < m) & (columns[None, :] < n)
        if SPLIT:
            tl.atomic_add(to, total.to(c.dtype.element_ty), mask=inside, sem="relaxed")
        else:
            tl.store(to, total.to(c.dtype.element_ty), mask=inside)


def element(dtype: str) -> torch.dtype:
    """The type of operands; AMD's 8-bit types before gfx950 are of their own kind."""
    own = torch.version.hip and torch.cuda.get_device_properties(0).gcnArchName.startswith("gfx94")
    return {
        "fp16": torch.float16,
        "bf16": torch.bfloat16,
        "fp8": torch.float8_e4m3fnuz if own else torch.float8_e4m3fn,
        "bf8": torch.float8_e5m2fnuz if own else torch.float8_e5m2,
    }[dtype]


def result(dtype: str) -> torch.dtype:
    """The type of a result."""
    return torch.bfloat16 if dtype == "bf16" else torch.float16


def options(kernel: Any, usual: dict[str, int]) -> dict[str, int]:
    """What the compiler is told besides constants: beyond warps and stages, what AMD's part does not do as usual."""
    numbers = {"num_warps": kernel.warps, "num_stages": kernel.stages}
    if torch.version.hip:
        own = {"waves_per_eu": kernel.waves_per_eu, "matrix_instr_nonkdim": kernel.nonkdim, "kpack": kernel.kpack}
        numbers.update({option: value for option, value in own.items() if value != usual[option]})
    return numbers


# What AMD's compiler decides, as names have it that say nothing.
_USUAL = {"waves_per_eu": 0, "matrix_instr_nonkdim": 16, "kpack": 1}


def _constants(kernel: Kernel, wholes: tuple[bool, bool, bool], split: bool) -> tuple[Any, ...]:
    layout = (kernel.layout[0] == "r", kernel.layout[1] == "r")
    return (*wholes, *layout, *kernel.tile, kernel.group_m, split)


def compiled(kernel: Kernel, *variant: bool) -> None:
    """Compiles into Triton's cache."""
    types = (element(kernel.dtype), element(kernel.dtype), result(kernel.dtype))
    *wholes, split = variant
    constants = _constants(kernel, tuple(wholes), split)
    _gemm.warmup(*types, 64, 64, 64, *constants, grid=(1, 1), **options(kernel, _USUAL))


# How operands are scaled, so that results are far from overflow and subnormals are rare.
_SCALE = {"fp16": 0.125, "bf16": 0.125, "fp8": 0.5, "bf8": 0.5}


class Operands:
    """Random operands of a problem, the same each time, the right result, and where kernels write theirs."""

    def __init__(self) -> None:
        self.problem: Problem | None = None
        self.units = torch.cuda.get_device_properties(0).multi_processor_count

    def prepare(self, problem: Problem) -> None:
        """Makes them."""
        if self.problem == problem:
            return
        self.problem = self.a = self.b = self.c = self.right = None
        torch.manual_seed(0)
        dtype, scale = element(problem.dtype), _SCALE[problem.dtype]

        def operand(rows: int, columns: int, by_rows: bool) -> tuple[Any, Any]:
            shape = (rows, columns) if by_rows else (columns, rows)
            stored = (torch.randn(shape, device="cuda") * scale).to(dtype)
            return stored, stored.float() if by_rows else stored.float().T

        self.a, a = operand(problem.m, problem.k, problem.layout[0] == "r")
        self.b, b = operand(problem.k, problem.n, problem.layout[1] == "r")
        self.right = a @ b
        self.c = torch.empty((problem.m, problem.n), dtype=result(problem.dtype), device="cuda")
        self.problem = problem

    def launch(self, kernel: Kernel) -> None:
        """Multiplies. Parts are added up in the cleared result; clearing belongs to the kernel."""
        problem = self.problem
        m, n, _ = kernel.tile
        tiles = -(-problem.m // m) * -(-problem.n // n)
        if problem.split > 1:
            self.c.zero_()
        grid = (min(tiles, self.units) if kernel.persistent else tiles, problem.split)
        *wholes, split = kernel.variant(problem)
        constants = _constants(kernel, tuple(wholes), split)
        extents = (problem.m, problem.n, problem.k)
        _gemm[grid](self.a, self.b, self.c, *extents, *constants, **options(kernel, _USUAL))
