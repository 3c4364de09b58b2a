"""What Inductor times, as a sweep for ``ckselect tune`` and ``train``."""

from __future__ import annotations

import fcntl
import math
import os
from collections.abc import Iterable, Mapping
from typing import Any

from ..triton import device as _device
from .problem import Problem, name_of, parameters, problem_of

COLUMNS = ("kernel_name", "m", "n", "k", "split_k", "batch", "latency_ms", "tflops", "arch")


def rows_of(timings: Mapping[Any, float], op: str, arch: str | None) -> list[tuple[Any, ...]]:
    """A row for each of Triton's kernels that ran; times are milliseconds."""
    rows = []
    for choice, ms in timings.items():
        candidate: Any = getattr(choice, "annotations", {}).get("ktc")
        config = None if candidate is None else parameters(candidate)
        problem = None if config is None else problem_of(candidate.inputs, op)
        if problem is None or config is None or not (0 < ms < math.inf):
            continue
        rows.append(_row(problem, name_of(candidate, config, problem), ms, arch))
    return rows


def _row(problem: Problem, name: str, ms: float, arch: str | None) -> tuple[Any, ...]:
    _, m, n, k, batch, *_ = problem
    tflops = 2 * m * n * k * max(batch, 1) / ms / 1e9
    return (name, m, n, k, 1, batch, ms, tflops, _device.gpu(problem.device, arch).arch)


def append(file: str | os.PathLike[str], rows: Iterable[tuple[Any, ...]]) -> None:
    """Appends to a sweep, which is made if there is none. Several processes may do so."""
    text = "".join(",".join(map(str, row)) + "\n" for row in rows)
    if not text:
        return
    with open(file, "a", encoding="utf-8") as sweep:
        fcntl.flock(sweep, fcntl.LOCK_EX)
        # Where it ends is only known under the lock.
        is_new = os.fstat(sweep.fileno()).st_size == 0
        sweep.write((",".join(COLUMNS) + "\n" if is_new else "") + text)
        sweep.flush()
