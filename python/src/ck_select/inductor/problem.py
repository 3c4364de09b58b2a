"""What Inductor wants to multiply, and with which candidates, as problems and kernels of ours."""

from __future__ import annotations

import threading
from functools import lru_cache
from typing import Any, NamedTuple

from .. import _names
from ..errors import InvalidInputError
from ..triton import device as _device
from ..triton.configs import cells, kernel_of, names_of
from ..triton.kernels import ESTIMATE, Kernels, Top

OPERATIONS = {"mm": False, "addmm": False, "scaled_mm": False, "int_mm": False, "bmm": True, "baddbmm": True}
"""Inductor's operations, and whether they are of batches. Others are left alone."""

# Elsewhere a product may be in TF32 or in software, of which nothing was measured.
DTYPES = ("fp16", "bf16", "fp8", "bf8", "int8")
_NAMES = names_of(None)
_READ = [name for names in _NAMES.values() for name in names]


class Problem(NamedTuple):
    """A GEMM of Inductor's, with hints where its extents are not known yet."""

    op: str
    m: int
    n: int
    k: int
    batch: int
    dtype: str
    layout: str
    device: Any

    def __str__(self) -> str:
        batch = f"{self.batch}x" if self.batch else ""
        return f"{self.op} {batch}{self.m}x{self.n}x{self.k} {self.dtype} {self.layout}"


def problem_of(inputs: Any, op: str) -> Problem | None:
    """The problem of a ``MMKernelInputs``; None for what is not ours to rank."""
    if op not in OPERATIONS or not hasattr(inputs, "mat1mat2") or inputs.device_type != "cuda":
        return None
    a, b = inputs.mat1mat2()
    try:
        dtype = _names.word_of_torch(a.get_dtype())
    except InvalidInputError:
        return None
    if dtype not in DTYPES:
        return None
    m, n, k = map(int, inputs.mnk_hinted())
    batch = int(inputs.batch_hinted()) if OPERATIONS[op] else 0
    return Problem(op, m, n, k, batch, dtype, f"{_letter(a)}{_letter(b)}r", inputs.device())


def _letter(matrix: Any) -> str:
    """Whether the elements of a row or of a column are side by side."""
    *_, row, column = matrix.get_stride()
    return "c" if column != 1 and row == 1 else "r"


def parameters(choice: Any) -> dict[str, Any] | None:
    """The parameters of a candidate of one of Triton's templates; None for one of ATen and others."""
    if not hasattr(choice, "params"):
        return None
    found = dict(cells(choice.params))
    return found if {"BLOCK_M", "BLOCK_N", "BLOCK_K"} <= found.keys() else None


def name_of(choice: Any, config: dict[str, Any], problem: Problem) -> str:
    """A candidate's name. What its template does, the template's name says."""
    own = tuple((name, config[name]) for name in _READ if name in config)
    return _name_of(str(choice.template.uid), own, problem.dtype, problem.layout, problem.batch > 0)


# Hundreds of candidates are the same for all shapes.
@lru_cache(maxsize=1 << 14)
def _name_of(template: str, own: tuple[tuple[str, Any], ...], dtype: str, layout: str, batched: bool) -> str:
    tma = "tma" in template
    whole = {"dtype": dtype, "layout": layout, "batched": batched}
    return kernel_of(dict(own), _NAMES, persistent=tma or "persistent" in template, tma=tma, **whole).name


def spills(config: dict[str, Any], problem: Problem, arch: str) -> bool:
    """Whether a kernel of 8 bits lacks registers for its results.

    Without ``USE_FAST_ACCUM``, Hopper's kernels add up the products of each step apart, and have every result twice. On
    an H200, kernels with 128 results a thread took 2 to 5 times as long as the best, for every shape that was measured.
    """
    if arch != "sm_90" or problem.dtype not in ("fp8", "bf8") or config.get("USE_FAST_ACCUM", True):
        return False
    threads = 32 * int(config.get("num_warps") or 4)
    return int(config["BLOCK_M"]) * int(config["BLOCK_N"]) >= 128 * threads


class Place(NamedTuple):
    """Where a kernel comes in an order, and what it costs: of each, the less the better."""

    place: float
    cost: float


LAST = Place(float("inf"), float("inf"))
"""Of a kernel that cannot compute the problem."""


class Ranker:
    """The order of candidates. Kernels are kept for each type, layout and device, and prepared when they are new."""

    def __init__(self, model: str | None, arch: str | None) -> None:
        self._model, self._arch = model, arch
        self._kernels: dict[Any, Kernels] = {}
        self._lock = threading.Lock()

    def gpu(self, problem: Problem) -> _device.Gpu:
        """The GPU of a problem's tensors, unless another one was named."""
        return _device.gpu(problem.device, self._arch)

    def places(self, problem: Problem, names: list[str], top: Top, parts: int = 1) -> tuple[list[Place], int]:
        """Each kernel's place in the order, with K divided into as many parts, and how many of the first to try."""
        gpu = self.gpu(problem)
        whole = {"dtype": problem.dtype, "layout": problem.layout, "batch": min(problem.batch, 1), "split_k": parts}
        shape = (problem.m, problem.n, problem.k, problem.batch)
        with self._lock:
            key = (gpu, *whole.values())
            if key not in self._kernels:
                self._kernels[key] = Kernels(gpu, whole, self._model)
            kernels = self._kernels[key]
            own = kernels.add(names)
            ranked = kernels.rank(*shape)
            enough = kernels.enough(top, *shape)
        place_of = {
            kernel: Place(place, score if source == ESTIMATE else -score)
            for place, (kernel, score, _, source) in enumerate(ranked)
        }
        return [place_of.get(kernel, LAST) for kernel in own], enough
