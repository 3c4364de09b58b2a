"""How long an order of Triton's configurations takes, once a list is prepared; each call has a new problem.

    triton_order.py [--seconds 2]

``library`` is the call that ranks, all else is Python: a ``Candidate`` for each configuration, and for ``rank`` the
search for the list's pool.
"""

from __future__ import annotations

import argparse
import itertools
import statistics
import time
from collections.abc import Callable
from typing import Any

from ck_select._library import lib
from ck_select.triton import Pool, rank

Config = dict[str, int]

SIDES = (16, 32, 64, 128, 256)
GPU: dict[str, Any] = {"dtype": "bf16", "arch": "sm_90"}


def configs(count: int) -> list[Config]:
    """The first of Inductor's exhaustive list."""
    every = itertools.product(SIDES, SIDES, (32, 64, 128), (2, 4, 8), (2, 3, 4, 5))
    names = ("BLOCK_M", "BLOCK_N", "BLOCK_K", "num_warps", "num_stages")
    # Neighbours in the product differ in stages alone.
    return [dict(zip(names, each)) for each in list(every)[:: 900 // count]][:count]


def microseconds(call: Callable[[int], object], seconds: float) -> tuple[float, float]:
    """The least and the median of calls, each with a number of its own."""
    times = []
    end = time.perf_counter() + seconds
    for number in itertools.count():
        begin = time.perf_counter()
        call(number)
        times.append(time.perf_counter() - begin)
        if times[-1] + begin > end:
            return min(times) * 1e6, statistics.median(times) * 1e6
    raise AssertionError


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=2.0, help="of a line")
    seconds = parser.parse_args().seconds
    print("| microseconds, least and median | library | Pool.rank | its first 4 | rank |\n|---|---:|---:|---:|---:|")
    for count in (20, 550):
        listed = configs(count)
        pool = Pool(listed, **GPU)
        pool.rank(M=1, N=3584, K=18944)
        call = pool._kernels._calls[-1]

        def library(number: int, call: Any = call) -> None:
            call._problem.m = 1 + number
            lib.ck_registry_rank_gemm(*call._arguments)

        cells = [
            microseconds(library, seconds),
            microseconds(lambda number, pool=pool: pool.rank(M=1 + number, N=3584, K=18944), seconds),
            microseconds(lambda number, pool=pool: pool.rank(M=1 + number, N=3584, K=18944, top=4), seconds),
            microseconds(lambda number, of=listed: rank(of, M=1 + number, N=3584, K=18944, **GPU), seconds),
        ]
        print(f"| {len(listed)} configurations | {' | '.join(f'{least:.0f}, {usual:.0f}' for least, usual in cells)} |")


if __name__ == "__main__":
    main()
