"""Mixtures of experts: their problem."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass
from operator import index
from typing import Any, ClassVar, Literal, Union

from ._fields import Dtype
from ._problem import Problem, TorchDtype

# What shares a scale if nobody says it: columns of weights and elements of depth.
_BLOCKS = {"block": (128, 128), "mx": (1, 32)}


@dataclass(frozen=True)
class MoeProblem(Problem):
    """The products of one stage of a mixture of experts.

    ``histogram`` are the rows of each expert, in any order, as far as they are known; the numbers that they come to
    (``active``, ``largest`` and ``tiles_16`` to ``tiles_256``) may stand in its place. Without either, a kernel is
    chosen for even routing. ``dtype`` is that of rows, ``dtype_b`` that of weights, by default the same.
    """

    OPERATION: ClassVar[str] = "moe"
    _TOGETHER: ClassVar[dict[str, tuple[str, ...]]] = {"dtype": ("dtype_a",)}

    stage: Literal["1", "2", "both"]
    tokens: int
    experts: int
    topk: int
    n: int
    k: int
    dtype: Union[Dtype, TorchDtype] = "bf16"
    dtype_b: Union[Dtype, TorchDtype, None] = None
    histogram: Sequence[int] | None = None
    block_n: int | None = None
    block_k: int | None = None
    arch: str | None = None
    # Made by tests/header/main.rs: fields of Moe.
    quant: Literal["none", "tensor", "token", "mx", "block"] = "none"
    activation: Literal["silu", "gelu", "swiglu", "situv2"] = "silu"
    weighted_first: bool = False
    active: int = 0
    largest: int = 0
    tiles_16: int = 0
    tiles_32: int = 0
    tiles_64: int = 0
    tiles_128: int = 0
    tiles_256: int = 0
    # End of what is made.

    def _whole(self) -> dict[str, Any]:
        block_n, block_k = _BLOCKS.get(self.quant, (0, 0))
        follows = {"dtype_b": self.dtype, "block_n": block_n, "block_k": block_k}
        return {name: follows.get(name) if value is None else value for name, value in vars(self).items()}

    def _as_struct(self) -> Any:
        struct = super()._as_struct()
        if self.histogram is not None:
            rows = [index(count) for count in self.histogram]
            array = (ctypes.c_int32 * len(rows))(*rows)
            struct.histogram, struct.histogram_count = ctypes.addressof(array), len(rows)
            struct.rows = array  # lives as long as the struct
        return struct
