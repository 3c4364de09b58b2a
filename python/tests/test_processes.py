"""Threads and forked processes."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import traceback
from _ctypes import FUNCFLAG_PYTHONAPI

import pytest
from support import CONV_MODEL, GEMM_MODEL, gemm_problem, random_gemm_pool

from ck_select import GroupedConvProblem, GroupedConvRegistry, Predictor, _library
from ck_select._library import lib

CONV_KERNELS = [f"grouped_conv_forward_bf16_2d_{tile}x64x64_compv3" for tile in (16, 32, 64)]
CONV = GroupedConvProblem(N=2, C=128, K=256, Hi=28, Wi=28, Y=3, X=3, pad_h=1, pad_w=1)


def in_child(work):
    """Whether ``work`` says yes in a forked process; one that hangs is killed."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            signal.alarm(60)
            code = 0 if work() else 2
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(code)
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status) == 0


@pytest.mark.filterwarnings("ignore:.*use of fork.*:DeprecationWarning")
def test_parent_and_child_go_on_after_a_fork():
    predictor = Predictor(GEMM_MODEL)
    kernels = random_gemm_pool(64)
    pool = predictor.prepare(kernels)
    problems = [gemm_problem(m=m) for m in range(1, 40)]
    expected = [predictor.rank_kernels(problem, kernels) for problem in problems]
    registry = GroupedConvRegistry("gfx950", kernels=CONV_KERNELS, models=[CONV_MODEL], environment=False)
    chosen = registry.select(CONV)

    def same():
        return (
            [predictor.rank_kernels(problem, kernels) for problem in problems] == expected
            and [pool.rank(problem) for problem in problems] == expected
            and registry.select(CONV) == chosen
            and registry.rank(CONV) == other.rank(CONV)
            and predictor.predict_latency(problems[0], kernels[0]) == latency
        )

    latency = Predictor(GEMM_MODEL).predict_latency(problems[0], kernels[0])
    other = GroupedConvRegistry("gfx950", kernels=CONV_KERNELS, models=[CONV_MODEL], environment=False)

    # Also while other threads are in the middle of ranking.
    stop = threading.Event()

    def busy():
        while not stop.is_set():
            pool.rank(problems[0])

    threads = [threading.Thread(target=busy) for _ in range(3)]
    for thread in threads:
        thread.start()
    try:
        assert all(in_child(same) for _ in range(5))
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    assert same()


def test_threads_share_a_predictor():
    predictor = Predictor(GEMM_MODEL)
    lists = [random_gemm_pool(count, seed=count) for count in (5, 30, 40, 200)]
    problems = [gemm_problem(m=m) for m in (1, 16, 4096)]
    expected = [[Predictor(GEMM_MODEL).rank_kernels(problem, kernels) for problem in problems] for kernels in lists]
    failures = []

    def work(start):
        for turn in range(40):
            which = (start + turn) % len(lists)
            found = [predictor.rank_kernels(problem, lists[which]) for problem in problems]
            if found != expected[which]:
                failures.append(which)

    threads = [threading.Thread(target=work, args=(start,)) for start in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def test_the_interpreter_is_free_while_the_library_works():
    """ctypes keeps the interpreter only in functions with this flag, which those of a PyDLL have."""
    for name in _library._FUNCTIONS:
        assert not getattr(lib, name)._flags_ & FUNCFLAG_PYTHONAPI


def _rank(m):
    return Predictor(GEMM_MODEL).rank_kernels(gemm_problem(m=m), random_gemm_pool(20))


def test_spawned_processes_agree():
    with multiprocessing.get_context("spawn").Pool(1) as workers:
        assert workers.map(_rank, [1, 64]) == [_rank(1), _rank(64)]
