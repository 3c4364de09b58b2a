"""Kernels of mixtures of experts that Triton compiles, and their problems: names, rows over experts, rows in tiles.

Pools are what `ckselect enumerate configs/triton_moe.json` prints. Needs neither Triton nor a GPU.
"""

from __future__ import annotations

import heapq
import random
import re
from dataclasses import dataclass
from typing import Any

from pool import Refused

# Bytes of an element.
DTYPES = {"fp16": 2, "bf16": 2, "fp8": 1, "bf8": 1}
# What shares a scale; the number is the kernel's.
SCALES = {"none": 0, "tensor": 1, "token": 2, "block": 3}
# Tiles of so many rows are counted in a problem.
ROWS_OF_TILES = (16, 32, 64, 128, 256)

_NAME = re.compile(
    r"triton_moe_([a-z0-9]+)_(\d+)x(\d+)x(\d+)_group(\d+)_(\d+)warps_(\d+)stages"
    r"(?:_wpe(\d+))?(?:_nonkdim(\d+))?(?:_kpack(\d+))?"
)


@dataclass(frozen=True)
class Kernel:
    """A kernel by its name; the last three numbers are AMD's, 0 where the compiler decides."""

    name: str
    dtype: str
    tile: tuple[int, int, int]
    group_m: int
    warps: int
    stages: int
    waves_per_eu: int
    nonkdim: int
    kpack: int

    @classmethod
    def parse(cls, name: str) -> Kernel:
        """The kernel of a name."""
        read = _NAME.fullmatch(name)
        if not read:
            raise Refused(
                f"{name}: expected triton_moe_TYPE_MxNxK_groupN_NwarpsNstages, perhaps with _wpe, _nonkdim or _kpack:"
                " moe.py does neither _splitk nor _tma, nor weights of another type"
            )
        dtype = read[1]
        m, n, k, group, warps, stages, *amds = (int(number or 0) for number in read.groups()[1:])
        kernel = cls(name, dtype, (m, n, k), group, warps, stages, *amds)
        if dtype not in DTYPES:
            raise Refused(f"{name}: found the type {dtype}, expected {', '.join(DTYPES)}")
        if any(side & (side - 1) or not side for side in (m, n, k, warps)) or min(m, n, k) < 16 or warps > 16:
            raise Refused(f"{name}: expected powers of two, tiles from 16 and at most 16 warps")
        if not group or not stages:
            raise Refused(f"{name}: expected at least one stage and groups of at least one row of tiles")
        return kernel

    def refuses(self, problem: Problem) -> str | None:
        """Why it cannot run a problem, if so."""
        if problem.dtype != self.dtype:
            return f"the problem is {problem.dtype}"
        if problem.quant == "block" and problem.block[1] % self.tile[2]:
            return f"its step of {self.tile[2]} goes beyond block_k, {problem.block[1]}, whose elements share a scale"
        return "an expert has more than 2^31 weights" if problem.n * problem.k >= 1 << 31 else None

    def variant(self, problem: Problem) -> tuple[Any, ...]:
        """What is compiled for the problem: its constants, as moe.py takes them."""
        wholes = (problem.n % 16 == 0, problem.k % 16 == 0, problem.k % self.tile[2] == 0)
        return (*wholes, problem.weighted, SCALES[problem.quant], *problem.block)


@dataclass(frozen=True)
class Problem:
    """One of the two products, and what is known of its routing: `tiles` are counts of `ROWS_OF_TILES`."""

    stage: int
    tokens: int
    experts: int
    topk: int
    n: int
    k: int
    dtype: str
    quant: str
    block: tuple[int, int]
    weighted_first: bool
    active: int
    largest: int
    tiles: tuple[int, ...]

    @classmethod
    def parse(cls, text: str) -> Problem:
        """Reads the text of a request: stage=1,tokens=64,experts=8,…"""
        cells = dict(cell.split("=", 1) for cell in text.split(","))
        for unread in "arch", "activation":
            cells.pop(unread, None)
        try:
            stage, tokens, experts, topk, n, k = (
                int(cells.pop(name)) for name in ("stage", "tokens", "experts", "topk", "n", "k")
            )
        except (KeyError, ValueError):
            raise Refused(f"{text}: expected stage 1 or 2, and numbers for tokens, experts, topk, n and k") from None
        dtype, quant = cells.pop("dtype_a", "bf16"), cells.pop("quant", "none")
        if cells.pop("dtype_b", dtype) != dtype:
            raise Refused(f"{text}: dtype_b has to be {dtype}")
        if quant not in SCALES:
            raise Refused(f"{text}: found the scales {quant}, expected {', '.join(SCALES)}")
        block = int(cells.pop("block_n", 0)), int(cells.pop("block_k", 0))
        active, largest = int(cells.pop("active", 0)), int(cells.pop("largest", 0))
        tiles = tuple(int(cells.pop(f"tiles_{rows}", 0)) for rows in ROWS_OF_TILES)
        weighted_first = cells.pop("weighted_first", "0") == "1"
        if cells:
            raise Refused("the problem has " + ", ".join(f"{name} = {cell}" for name, cell in cells.items()))
        return cls(stage, tokens, experts, topk, n, k, dtype, quant, block, weighted_first, active, largest, tiles)

    @property
    def rows(self) -> int:
        """The rows of all experts."""
        return self.tokens * self.topk

    @property
    def share(self) -> int:
        """Rows of the result that are computed from one row of A."""
        return self.topk if self.stage == 1 else 1

    @property
    def weighted(self) -> bool:
        """Whether results are multiplied by the routing's weights."""
        return self.weighted_first == (self.stage == 1)

    @property
    def flops(self) -> int:
        """Multiplications and additions, without padding."""
        return 2 * self.rows * self.n * self.k

    def histogram(self) -> list[int]:
        """Rows of each expert that has some, the busiest first: any that come to the problem's numbers.

        Without a routing, tokens draw experts that are equally likely, as `ckselect rank` assumes. Otherwise tiles of
        256 rows are spread evenly over the experts beside the busiest, and then cut: an expert's last tile of 256 rows
        is two of 128 or one, and so on down to 16, as many of each as are counted. Experts that have been as busy as
        the busiest so far are cut first, and always where it is, so that none becomes busier.
        """
        if not self.active:
            return sorted(filter(None, drawn(self.tokens, self.experts, self.topk)), reverse=True)
        counts = dict(zip(ROWS_OF_TILES, self.tiles, strict=True))
        most, others = -(-self.largest // 256), self.active - 1
        units = _spread(counts[256] - most, [(1, most)] * others)
        tied = [unit == most for unit in units]
        for rows in (128, 64, 32, 16, 1):
            parts = 2 if rows > 1 else 16
            total, finer = (self.rows if rows == 1 else counts[rows]), -(-self.largest // rows)
            cut = parts * most - finer
            # Where they are tied, experts lose at least what the busiest does.
            bounds = [(cut if tie else 0, parts - 1) for tie in tied]
            missing = parts * (most + sum(units)) - total - cut
            lost = _spread(missing, bounds, first=[at for at, tie in enumerate(tied) if tie])
            units = [parts * unit - less for unit, less in zip(units, lost, strict=True)]
            tied = [tie and less == cut for tie, less in zip(tied, lost, strict=True)]
            most = finer
        return sorted([most, *units], reverse=True)

    def rows_of_experts(self) -> list[list[int]]:
        """The rows of each expert, ascending: rows of the result, `topk` of a token. The same each time."""
        order = random.Random(0)
        counts = self.histogram() + [0] * self.experts
        counts = counts[: self.experts]
        order.shuffle(counts)
        tokens = list(range(self.tokens))
        order.shuffle(tokens)
        # No expert has more rows than there are tokens, so dealing tokens in turn gives none the same token twice.
        experts, dealt = [], 0
        for count in counts:
            turns = (divmod(at, self.tokens) for at in range(dealt, dealt + count))
            experts.append(sorted(tokens[token] * self.topk + turn for turn, token in turns))
            dealt += count
        return experts


def drawn(tokens: int, experts: int, topk: int, skew: float = 0) -> list[int]:
    """Rows of each expert where a token draws `topk` of them, the likelier the higher they rank; the same each time."""
    draw = random.Random(0)
    rows = [0] * experts
    for _ in range(tokens):
        if skew:
            # The largest of such keys are a draw without repetition, by the weights.
            keys = [draw.random() ** (rank**skew) for rank in range(1, experts + 1)]
            chosen = heapq.nlargest(topk, range(experts), key=keys.__getitem__)
        else:
            chosen = draw.sample(range(experts), topk)
        for expert in chosen:
            rows[expert] += 1
    return rows


def _spread(total: int, bounds: list[tuple[int, int]], first: list[int] | None = None) -> list[int]:
    """Parts of a total, each within its bounds: `first` get as much as they may, then all as evenly as may be."""
    parts = [low for low, _ in bounds]
    left = total - sum(parts)
    for at in first or []:
        more = max(0, min(left, bounds[at][1] - parts[at], 1))
        parts[at], left = parts[at] + more, left - more
    while left > 0:
        open_parts = sorted((part, at) for at, part in enumerate(parts) if part < bounds[at][1])
        if not open_parts:
            break
        least = open_parts[0][0]
        for part, at in open_parts:
            if part == least and left:
                parts[at], left = part + 1, left - 1
    if left:
        raise Refused("no rows of experts come to these numbers of tiles, which a skew only expects; give a histogram")
    return parts


def in_tiles(experts: list[list[int]], rows_of_tile: int) -> tuple[list[int], list[int], int]:
    """Rows sorted by expert, each expert's padded to whole tiles, the expert of each tile, and how many rows that is.

    Padding is the number of all rows. As in vLLM and SGLang, there are as many as any routing could need, without a
    look at this one: workgroups of what is left over end at once.
    """
    rows = sum(map(len, experts))
    ids: list[int] = []
    owners: list[int] = []
    for expert, own in enumerate(experts):
        tiles = -(-len(own) // rows_of_tile)
        ids += own + [rows] * (tiles * rows_of_tile - len(own))
        owners += [expert] * tiles
    used = len(ids)
    most = rows + len(experts) * (rows_of_tile - 1)
    if rows < len(experts):
        most = min(most, rows * rows_of_tile)
    tiles = -(-most // rows_of_tile)
    ids += [rows] * (tiles * rows_of_tile - used)
    owners += [0] * (tiles - len(owners))
    return ids, owners, used
