"""Processes that compile side by side on one machine and take turns with its GPU.

What is timed, by Inductor and after it, is timed while no other process times anything. Waiting for a turn is no
compile time::

    turns = Turns("turns.lock")
    begin = turns.clock()
    ...  # compiles, and Inductor times candidates in its turns
    seconds = turns.clock() - begin
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import time
from collections.abc import Callable, Iterator
from typing import Any


class Turns:
    """The turns of a process; all that name the same file take turns. Without a file there is no other process."""

    def __init__(self, file: str | None) -> None:
        self._lock = None if file is None else os.open(file, os.O_CREAT | os.O_RDWR)
        self._waited = 0.0
        self._depth = 0

    def clock(self) -> float:
        """Seconds in which this process did not wait."""
        return time.perf_counter() - self._waited

    @contextlib.contextmanager
    def turn(self) -> Iterator[None]:
        """Within, no other process times kernels."""
        if self._lock is None or self._depth:
            yield
            return
        begin = time.perf_counter()
        fcntl.flock(self._lock, fcntl.LOCK_EX)
        self._waited += time.perf_counter() - begin
        self._depth += 1
        try:
            yield
        finally:
            self._depth -= 1
            fcntl.flock(self._lock, fcntl.LOCK_UN)

    def take(self, benchmarker: Any) -> None:
        """Inductor times each candidate in a turn; its first run, which may compile it, is not in the turn."""
        timed: Callable[..., Any] = benchmarker.benchmark_gpu

        def in_turn(run: Callable[[], Any], *arguments: Any, **options: Any) -> Any:
            run()
            with self.turn():
                return timed(run, *arguments, **options)

        if self._lock is not None:
            benchmarker.benchmark_gpu = in_turn
