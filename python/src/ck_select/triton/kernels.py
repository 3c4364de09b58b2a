"""Kernels that are ranked together, prepared once: one call of the library a problem."""

from __future__ import annotations

import ctypes
import json
import os
import struct
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from itertools import count
from typing import Any, Literal, Union

from .. import _structs
from .._library import check, lib
from ..registry import SOURCES, GemmProblem, Registry
from .device import Gpu

ESTIMATE = SOURCES.index("estimate")

Top = Union[int, Literal["sure"]]
"""How many of the first kernels. ``"sure"``: as many as have to be measured for the fastest of them to be within 2 % of
the best with a chance of 90 %."""
SURE = "sure"
UNSURE = 8
"""Where nobody knows how many these are."""

# What is read of a place in a ranking: struct reads all places in one call.
_MEMBERS = {"index": "Q", "score": "d", "unmeasured": "i", "source": "i"}


def _place() -> struct.Struct:
    """The members of a place, and the bytes between them."""
    layout, end = "=", 0
    for name, kind in _MEMBERS.items():
        begin = getattr(_structs.Ranked, name).offset
        layout += f"{begin - end}x{kind}"
        end = begin + struct.calcsize(f"={kind}")
    return struct.Struct(f"{layout}{ctypes.sizeof(_structs.Ranked) - end}x")


_PLACE = _place()


class Kernels:
    """Kernels of one type and layout for one GPU. More can be added at any time."""

    def __init__(self, gpu: Gpu, problem: dict[str, Any], model: str | None) -> None:
        own = [] if model in (None, "estimate") else [model]
        file = _hardware(gpu)
        try:
            self._registry = Registry(
                gpu.arch, models=own, hardware=file, environment=False, store="off", embedded_models=model is None
            )
        finally:
            if file:
                os.unlink(file)
        assert self._registry._handle is not None
        self._address = self._registry._handle.address
        self._shape = GemmProblem(1, 1, 1, **problem)
        self._problem = self._shape._as_struct()
        self._calls: list[_Call] = []
        self.places: dict[str, int] = {}
        """The kernels' names, in the order of their registration."""

    def add(self, names: Sequence[str]) -> list[int]:
        """The places of kernels, of which new ones are registered."""
        new = [name for name in dict.fromkeys(names) if name not in self.places]
        if new:
            self._registry._register_all(new)
            self.places.update(zip(new, count(len(self.places))))
            self._registry.prepare()
        return [self.places[name] for name in names]

    def rank(
        self, m: int, n: int, k: int, batch: int = 0, most: int | None = None
    ) -> list[tuple[int, float, int, int]]:
        """The kernels' order for a problem, or its first places.

        Each is a kernel's place of registration, its score (microseconds if the source is ``ESTIMATE``), whether it is
        unmeasured, and the source.
        """
        # Memory is taken once; threads take turns with it.
        try:
            call = self._calls.pop()
        except IndexError:
            call = None
        if call is None or call.room < len(self.places):
            call = _Call(self._address, self._problem, len(self.places))
        order = call.rank(m, n, k, batch, most)
        self._calls.append(call)
        return order

    def enough(self, top: Top, m: int, n: int, k: int, batch: int = 0) -> int:
        """How many of the first kernels are asked for, which ``"sure"`` leaves to the library."""
        if not isinstance(top, str):
            return top
        chosen = self._registry.select(replace(self._shape, M=m, N=n, K=k, batch=batch))
        return UNSURE if chosen.sureness is None else chosen.sureness.within_90


class _Call:
    """A call of the library, with memory for the problem and the answer."""

    def __init__(self, registry: Any, problem: Any, room: int) -> None:
        self.room = room
        self._problem = _structs.GemmProblem.from_buffer_copy(problem)
        ranked = (_structs.Ranked * room)(_structs.Ranked())
        self._count, left_out = ctypes.c_size_t(), ctypes.c_size_t()
        counts = (ctypes.byref(self._count), ctypes.byref(left_out))
        self._arguments = (registry, ctypes.byref(self._problem), room, ranked, *counts)
        self._plain = memoryview(ranked).cast("B")

    def rank(self, m: int, n: int, k: int, batch: int, most: int | None) -> list[tuple[int, float, int, int]]:
        problem = self._problem
        problem.m, problem.n, problem.k = m, n, k
        if batch:
            problem.request.batch = batch
        check(lib.ck_registry_rank_gemm(*self._arguments))
        count = self._count.value
        first = count if most is None else min(count, most)
        return list(_PLACE.iter_unpack(self._plain[: first * _PLACE.size]))


def _hardware(gpu: Gpu) -> str | None:
    """A file with what sets the GPU apart, which the library reads when a registry is made."""
    if not gpu.constants:
        return None
    handle, path = tempfile.mkstemp(suffix=".json", prefix="ck_select_")
    with open(handle, "w") as file:
        json.dump(dict(gpu.constants), file)
    return path
