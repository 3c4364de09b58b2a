"""The kernel of mixtures of experts, for NVIDIA and AMD GPUs, and how it is launched. Needs Triton and PyTorch.

Rows come sorted by expert, each expert's padded to whole tiles; a workgroup looks up which rows its tile has and whose
weights they are multiplied with. So a tile is of one expert, and experts without rows cost nothing.
"""

from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl
from gemm import element, options, result
from mixture import Kernel, Problem, in_tiles


# One compilation serves all extents that are as aligned. Scales are 0 none, 1 of a tensor (B: of an expert), 2 of a row
# (B: of a column), 3 of a row and SCALE_K of depth (B: of SCALE_N columns and SCALE_K of depth).
@triton.jit(do_not_specialize=["n", "k", "rows", "share", "tiles_m"])
def _moe(
    a, b, c, a_scale, b_scale, weights, sorted_rows, expert_of_tile, padded, n, k, rows, share, tiles_m,
    WHOLE_N: tl.constexpr, WHOLE_K: tl.constexpr, EVEN_K: tl.constexpr, WEIGHTED: tl.constexpr,
    SCALES: tl.constexpr, SCALE_N: tl.constexpr, SCALE_K: tl.constexpr,
    TILE_M: tl.constexpr, TILE_N: tl.constexpr, TILE_K: tl.constexpr, GROUP: tl.constexpr,
):  # fmt: skip
    # This is how the compiler learns that they are multiples of 16, and loads whole vectors.
    if WHOLE_N:
        n = n // 16 * 16
    if WHOLE_K:
        k = k // 16 * 16
    tiles_n = tl.cdiv(n, TILE_N)
    group = tl.program_id(0) // (GROUP * tiles_n)
    height = min(tiles_m - group * GROUP, GROUP)
    within = tl.program_id(0) % (GROUP * tiles_n)
    tile_m, tile_n = group * GROUP + within % height, within // height
    if tile_m * TILE_M >= tl.load(padded):
        return
    ids = tl.load(sorted_rows + tile_m * TILE_M + tl.arange(0, TILE_M)).to(tl.int64)
    valid = ids < rows
    expert = tl.load(expert_of_tile + tile_m).to(tl.int64)
    columns = tile_n * TILE_N + tl.arange(0, TILE_N)
    # Beyond the matrix something else of it is read, and never stored.
    in_b = columns % n
    depth = tl.arange(0, TILE_K)
    from_a = a + (ids // share)[:, None] * k + depth[None, :]
    from_b = b + expert * n * k + in_b[None, :] * k + depth[:, None]
    total = tl.zeros((TILE_M, TILE_N), tl.float32)
    for step in range(tl.cdiv(k, TILE_K)):
        if EVEN_K:
            some_a = tl.load(from_a, mask=valid[:, None], other=0.0)
            some_b = tl.load(from_b)
        else:
            inside_k = depth < k - step * TILE_K
            some_a = tl.load(from_a, mask=valid[:, None] & inside_k[None, :], other=0.0)
            some_b = tl.load(from_b, mask=inside_k[:, None], other=0.0)
        if SCALES == 3:
            blocks, block = tl.cdiv(k, SCALE_K), step * TILE_K // SCALE_K
            of_a = tl.load(a_scale + ids // share * blocks + block, mask=valid, other=0.0)
            of_b = tl.load(b_scale + (expert * tl.cdiv(n, SCALE_N) + in_b // SCALE_N) * blocks + block)
            total += tl.dot(some_a, some_b) * of_a[:, None] * of_b[None, :]
        else:
            total = tl.dot(some_a, some_b, total)
        from_a += TILE_K
        from_b += TILE_K
    if SCALES == 1:
        total *= tl.load(a_scale) * tl.load(b_scale + expert)
    if SCALES == 2:
        of_a = tl.load(a_scale + ids // share, mask=valid, other=0.0)
        total *= of_a[:, None] * tl.load(b_scale + expert * n + in_b)[None, :]
    if WEIGHTED:
        total *= tl.load(weights + ids, mask=valid, other=0.0)[:, None]
    to = c + ids[:, None] * n + columns[None, :]
    tl.store(to, total.to(c.dtype.element_ty), mask=valid[:, None] & (columns[None, :] < n))


# What AMD's compiler decides where a name says nothing.
_ANY = {"waves_per_eu": 0, "matrix_instr_nonkdim": 0, "kpack": 0}


def compiled(kernel: Kernel, *variant: Any) -> None:
    """Compiles into Triton's cache."""
    operands = (element(kernel.dtype), element(kernel.dtype), result(kernel.dtype))
    beside = (*(torch.float32,) * 3, *(torch.int32,) * 3)
    constants = (*variant, *kernel.tile, kernel.group_m)
    _moe.warmup(*operands, *beside, *(64,) * 5, *constants, grid=(1,), **options(kernel, _ANY))


class Operands:
    """Random operands of a problem, the same each time, the right result, and where kernels write theirs."""

    def __init__(self, device: str = "cuda") -> None:
        self.device = device
        self.problem: Problem | None = None
        self.weights_of: tuple[Any, ...] | None = None

    def prepare(self, problem: Problem) -> None:
        """Makes them. Weights are kept for as long as problems have them in common, since they may fill a device."""
        if self.problem == problem:
            return
        self.problem = self.a = self.c = self.right = None
        weights_of = (problem.experts, problem.n, problem.k, problem.dtype, problem.quant, problem.block)
        if self.weights_of != weights_of:
            self.weights_of = self.b = self.b_scale = None
            torch.manual_seed(0)
            self.b, self.b_scale = self._weights(problem)
            self.weights_of = weights_of
        torch.manual_seed(1)
        rows_of_a = problem.rows // problem.share
        self.a = self._random(problem, (rows_of_a, problem.k))
        steps = -(-problem.k // (problem.block[1] or problem.k))
        of_a = {"none": (1,), "tensor": (1,), "token": (rows_of_a,), "block": (rows_of_a, steps)}[problem.quant]
        self.a_scale = self._scales(*of_a)
        self.routing = self._scales(problem.rows)
        self.experts = problem.rows_of_experts()
        self.tiles: dict[int, tuple[Any, Any, Any]] = {}
        self.c = torch.empty((problem.rows, problem.n), dtype=result(problem.dtype), device=self.device)
        self.right = self._right(problem)
        self.problem = problem

    def _random(self, problem: Problem, shape: tuple[int, ...]) -> Any:
        wide = torch.float16 if problem.dtype == "fp16" else torch.bfloat16
        scale = 0.5 if problem.dtype in ("fp8", "bf8") else 0.125
        return (torch.randn(shape, device=self.device, dtype=wide) * scale).to(element(problem.dtype))

    def _scales(self, *shape: int) -> Any:
        return torch.rand(shape, device=self.device) + 0.5

    def _weights(self, problem: Problem) -> tuple[Any, Any]:
        experts, n, k, (columns, depth) = problem.experts, problem.n, problem.k, problem.block
        b = torch.empty((experts, n, k), dtype=element(problem.dtype), device=self.device)
        for expert in b:
            expert.copy_(self._random(problem, (n, k)))
        blocks = (-(-n // (columns or n)), -(-k // (depth or k)))
        shape = {"none": (1,), "tensor": (experts,), "token": (experts, n), "block": (experts, *blocks)}[problem.quant]
        return b, self._scales(*shape)

    def _right(self, problem: Problem) -> Any:
        right = torch.empty((problem.rows, problem.n), device=self.device)
        for expert, rows in enumerate(self.experts):
            if rows:
                ids = torch.tensor(rows, device=self.device)
                right[ids] = self._product(problem, expert, ids)
        return right

    def _product(self, problem: Problem, expert: int, ids: Any) -> Any:
        """The rows of one expert in fp32, each operand times its scales."""
        sources = ids // problem.share
        a, b = self.a[sources].float(), self.b[expert].float()
        columns, depth = problem.block
        if problem.quant == "tensor":
            a, b = a * self.a_scale, b * self.b_scale[expert]
        elif problem.quant == "token":
            a, b = a * self.a_scale[sources][:, None], b * self.b_scale[expert][:, None]
        elif problem.quant == "block":
            a *= self.a_scale[sources].repeat_interleave(depth, 1)[:, : problem.k]
            of_columns = self.b_scale[expert].repeat_interleave(columns, 0)[: problem.n]
            b *= of_columns.repeat_interleave(depth, 1)[:, : problem.k]
        product = a @ b.T
        return product * self.routing[ids][:, None] if problem.weighted else product

    def _sorted(self, rows_of_tile: int) -> tuple[Any, Any, Any]:
        """Rows in tiles of so many, on the device."""
        if rows_of_tile not in self.tiles:
            ids, owners, used = in_tiles(self.experts, rows_of_tile)
            self.tiles[rows_of_tile] = tuple(
                torch.tensor(each, dtype=torch.int32, device=self.device) for each in (ids, owners, [used])
            )
        return self.tiles[rows_of_tile]

    def launch(self, kernel: Kernel) -> None:
        """Multiplies. Sorting the rows is another kernel's work in every engine, and no part of the time."""
        problem = self.problem
        ids, owners, used = self._sorted(kernel.tile[0])
        tiles_m = owners.numel()
        extents = (problem.n, problem.k, problem.rows, problem.share, tiles_m)
        _moe[(tiles_m * -(-problem.n // kernel.tile[1]),)](
            self.a, self.b, self.c, self.a_scale, self.b_scale, self.routing, ids, owners, used, *extents,
            *kernel.variant(problem), *kernel.tile, kernel.group_m, **options(kernel, _ANY),
        )  # fmt: skip
