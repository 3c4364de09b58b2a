"""Others work while the library does: threads, event loops, and interpreters without a lock."""

from __future__ import annotations

import asyncio
import concurrent.futures
import os
import subprocess
import sys
import sysconfig
import threading
import time
from pathlib import Path

import pytest
from support import GEMM_MODEL, gemm_problem, random_gemm_pool

from ck_select import Predictor

POOL = random_gemm_pool(64)
PROBLEMS = [gemm_problem(m=m) for m in range(1, 41)]


@pytest.fixture(scope="module")
def long_work():
    """A table that takes the library a while, and the seconds that it takes."""
    predictor = Predictor(GEMM_MODEL)
    rows = [{**gemm_problem(m=m), **kernel} for m in range(1, 200) for kernel in POOL]
    columns, count = predictor._columns(rows, predictor._inputs)
    forest = predictor._forest("tflops")
    begun = time.perf_counter()
    forest.predict_rows(columns, count)
    once = time.perf_counter() - begun
    repeats = max(1, int(0.3 / once))

    def work():
        for _ in range(repeats):
            forest.predict_rows(columns, count)

    return work


def test_no_lock_is_held_while_scoring(long_work):
    """A thread of Python goes on all the time: it gets far more turns than the calls alone would leave it."""
    switch = sys.getswitchinterval()
    ended = threading.Event()
    longest = 0.0

    def tick():
        nonlocal longest
        last = time.perf_counter()
        while not ended.is_set():
            time.sleep(0)
            now = time.perf_counter()
            longest = max(longest, now - last)
            last = now

    ticking = threading.Thread(target=tick)
    # With the lock held, nobody could make this thread wait, and it would let nobody in.
    sys.setswitchinterval(100)
    try:
        ticking.start()
        begun = time.perf_counter()
        long_work()
        worked = time.perf_counter() - begun
    finally:
        ended.set()
        ticking.join()
        sys.setswitchinterval(switch)
    assert longest < worked / 2, f"Python stood still for {longest:.3f} s of {worked:.3f} s"


def test_event_loops_go_on(long_work):
    async def main():
        working = asyncio.create_task(asyncio.to_thread(long_work))
        turns = 0
        while not working.done():
            await asyncio.sleep(0.001)
            turns += 1
        await working
        return turns

    assert asyncio.run(main()) > 5


def test_tasks_may_share_a_predictor():
    predictor = Predictor(GEMM_MODEL)
    expected = [Predictor(GEMM_MODEL).rank_kernels(problem, POOL) for problem in PROBLEMS]

    async def main():
        async def ask(problem):
            await asyncio.sleep(0)
            with pytest.raises(ValueError, match="problem: m: found 'x'"):
                await asyncio.to_thread(predictor.predict_tflops, {**problem, "m": "x"}, POOL[0])
            return await asyncio.to_thread(predictor.rank_kernels, problem, POOL)

        return await asyncio.gather(*map(ask, PROBLEMS))

    assert asyncio.run(main()) == expected


FREE = """
import sys, sysconfig, threading
from pathlib import Path
sys.path.insert(0, sys.argv[2])
assert sysconfig.get_config_var("Py_GIL_DISABLED") and not sys._is_gil_enabled()
import ck_select
assert not sys._is_gil_enabled()
predictor = ck_select.Predictor(sys.argv[1])
kernels = [{"kernel_name": f"k{tile}", "tile_m": tile} for tile in range(16, 257, 16)]
problems = [{"m": m, "n": 1536, "k": 7168} for m in range(1, 60)]
expected = [ck_select.Predictor(sys.argv[1]).rank_kernels(problem, kernels) for problem in problems]
wrong = []

def work(first):
    for turn in range(20):
        for place in range(first, len(problems), 2):
            own = [dict(kernel) for kernel in kernels[: 4 + turn % 3]] if turn % 2 else kernels
            found = predictor.rank_kernels(problems[place], own)
            if own is kernels and found != expected[place]:
                wrong.append(place)
            try:
                predictor.predict_tflops({"m": f"x{first}"}, {})
            except ck_select.InvalidInputError as error:
                if f"x{first}" not in str(error):
                    wrong.append(str(error))

threads = [threading.Thread(target=work, args=(place % 2,)) for place in range(8)]
for thread in threads: thread.start()
for thread in threads: thread.join()
assert not wrong, wrong[:3]
print("free")
"""


def free_threaded():
    """An interpreter without a global lock: ``CK_SELECT_FREE_THREADED``, this one, or none."""
    given = os.environ.get("CK_SELECT_FREE_THREADED")
    return given or (sys.executable if sysconfig.get_config_var("Py_GIL_DISABLED") else None)


@pytest.mark.skipif(free_threaded() is None, reason="CK_SELECT_FREE_THREADED names no python3.13t or later")
def test_interpreters_without_a_lock():
    sources = Path(__file__).resolve().parents[1] / "src"
    command = [free_threaded(), "-X", "gil=0", "-c", FREE, GEMM_MODEL, sources]
    ran = subprocess.run(list(map(str, command)), capture_output=True, text=True)
    assert ran.stdout == "free\n", ran.stderr


def test_the_same_threads_with_a_lock():
    """The program of the test above, as far as an interpreter with a lock can run it."""
    program = FREE.replace('assert sysconfig.get_config_var("Py_GIL_DISABLED") and not sys._is_gil_enabled()', "")
    program = program.replace("assert not sys._is_gil_enabled()", "sys.setswitchinterval(1e-5)")
    sources = Path(__file__).resolve().parents[1] / "src"
    ran = subprocess.run([sys.executable, "-c", program, GEMM_MODEL, sources], capture_output=True, text=True)
    assert ran.stdout == "free\n", ran.stderr


def test_many_threads_load_one_forest_once_or_twice():
    predictor = Predictor(GEMM_MODEL)
    with concurrent.futures.ThreadPoolExecutor(8) as threads:
        found = list(threads.map(lambda problem: predictor.rank_kernels(problem, POOL), PROBLEMS))
    assert found == [predictor.rank_kernels(problem, POOL) for problem in PROBLEMS]
