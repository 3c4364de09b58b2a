"""Threads, other processes, and copies of predictors, pools and errors."""

from __future__ import annotations

import concurrent.futures
import copy
import itertools
import multiprocessing
import os
import pickle
import signal
import subprocess
import sys
import sysconfig
import threading
import traceback
from _ctypes import FUNCFLAG_PYTHONAPI

import pandas
import polars
import pytest
from support import (
    CONV_MODEL,
    CONV_NAMES,
    GEMM_MODEL,
    ROOT,
    bits,
    conv_problem,
    gemm_kernel,
    gemm_problem,
    random_gemm_pool,
    run_python,
)

from ck_select import (
    GemmUniversalFeatureEngine,
    GroupedConvProblem,
    GroupedConvRegistry,
    InvalidInputError,
    MissingCellError,
    Predictor,
    _library,
    create_ml_heuristic,
)
from ck_select._library import lib
from ck_select.upstream.predict import Predictor as Theirs

CONV = GroupedConvProblem(**conv_problem())


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
def test_parent_and_child_go_on_after_a_fork(predictor):
    kernels = random_gemm_pool(64)
    pool = predictor.prepare(kernels)
    problems = [gemm_problem(m=m) for m in range(1, 40)]
    expected = [predictor.rank_kernels(problem, kernels) for problem in problems]
    registry = GroupedConvRegistry("gfx950", kernels=CONV_NAMES, models=[CONV_MODEL], environment=False)
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
    other = GroupedConvRegistry("gfx950", kernels=CONV_NAMES, models=[CONV_MODEL], environment=False)

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


def test_the_interpreter_is_free_while_the_library_works():
    """ctypes keeps the interpreter only in functions with this flag, which those of a PyDLL have."""
    for name in _library._FUNCTIONS:
        assert not getattr(lib, name)._flags_ & FUNCFLAG_PYTHONAPI


FREE = """
import sys, sysconfig, threading
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


# Debian has no such interpreter: .github/workflows/ci.yml installs them.
if free_threaded() is not None:

    def test_interpreters_without_a_lock():
        command = [free_threaded(), "-X", "gil=0", "-c", FREE, GEMM_MODEL, ROOT / "python" / "src"]
        ran = subprocess.run(list(map(str, command)), capture_output=True, text=True)
        assert ran.stdout == "free\n", ran.stderr


def test_the_same_threads_with_a_lock():
    """The program of the test above, as far as an interpreter with a lock can run it."""
    program = FREE.replace('assert sysconfig.get_config_var("Py_GIL_DISABLED") and not sys._is_gil_enabled()', "")
    program = program.replace("assert not sys._is_gil_enabled()", "sys.setswitchinterval(1e-5)")
    ran = run_python("-c", program, GEMM_MODEL, ROOT / "python" / "src")
    assert ran.stdout == "free\n", ran.stderr


PROBLEMS = [gemm_problem(m=m) for m in (1, 48, 1000)]


class Mine(Predictor):
    """A subclass with something of its own."""

    def __init__(self, directory, note):
        super().__init__(directory)
        self.note = note


def used(predictor):
    predictor.predict_all(PROBLEMS[0], gemm_kernel())
    predictor.rank_kernels(PROBLEMS[0], random_gemm_pool(4))
    return predictor


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy, lambda value: pickle.loads(pickle.dumps(value))])
def test_copies_answer_alike(duplicate, monkeypatch, tmp_path, copied):
    pool = random_gemm_pool(20)
    given = [
        Predictor(GEMM_MODEL),
        Predictor(GEMM_MODEL, "gemm72", strict=True),
        Predictor(GEMM_MODEL, GemmUniversalFeatureEngine(num_cus=80)),
        Mine(GEMM_MODEL, ["a note"]),
        Theirs(copied(GEMM_MODEL)),
    ]
    for predictor in given:
        expected = [used(predictor).rank_kernels(problem, pool) for problem in PROBLEMS]
        twin = duplicate(predictor)
        assert type(twin) is type(predictor) and twin is not predictor
        # Wherever it arrives.
        with monkeypatch.context() as elsewhere:
            elsewhere.chdir(tmp_path)
            assert [twin.rank_kernels(problem, pool) for problem in PROBLEMS] == expected
        assert twin.spec == predictor.spec and twin.feature_names == predictor.feature_names
        assert getattr(twin, "note", None) == getattr(predictor, "note", None)
        assert twin.feature_engine.hardware_config == predictor.feature_engine.hardware_config
        row = {**PROBLEMS[0], **pool[0]}
        assert twin.extract_rows([row]) == predictor.extract_rows([row])


def test_a_relative_directory_is_found_from_elsewhere(monkeypatch, tmp_path):
    monkeypatch.chdir(GEMM_MODEL.parent)
    pickled = pickle.dumps(Predictor(GEMM_MODEL.name))
    monkeypatch.chdir(tmp_path)
    assert pickle.loads(pickled).predict_tflops(PROBLEMS[0], gemm_kernel()) > 0


def test_no_forest_travels():
    predictor = used(Predictor(GEMM_MODEL))
    assert len(pickle.dumps(predictor)) < 20000


def test_pools_are_prepared_again(predictor):
    kernels = random_gemm_pool(20)
    expected = predictor.rank_kernels(PROBLEMS[1], kernels)
    for given in (kernels, pandas.DataFrame(kernels), polars.DataFrame(kernels)):
        pool = predictor.prepare(given)
        for copied in (pickle.loads(pickle.dumps(pool)), copy.deepcopy(pool)):
            assert copied.rank(PROBLEMS[1]) == expected and len(copied) == 20
            assert copied.predictor.rank_kernels(PROBLEMS[1], copied) == expected


def test_errors_come_back():
    for kind in (InvalidInputError, MissingCellError):
        error = pickle.loads(pickle.dumps(kind("m: found nothing", 5)))
        assert type(error) is kind and (str(error), error.status) == ("m: found nothing", 5)
    assert isinstance(error, KeyError) and isinstance(error, ValueError)


def test_results_travel():
    """A place of a registry's ranking could not be pickled."""
    registry = GroupedConvRegistry("gfx950", kernels=CONV_NAMES, models=[CONV_MODEL], environment=False)
    predictor = Predictor(GEMM_MODEL)
    results = [
        *registry.rank(CONV),
        *GroupedConvRegistry("gfx950", kernels=CONV_NAMES, environment=False).rank(CONV),
        registry.select(CONV),
        registry.store_status(),
        registry.tune(0),
        CONV,
        predictor.rank_kernels(PROBLEMS[0], random_gemm_pool(4)),
        create_ml_heuristic(predictor, kernel_pool=[gemm_kernel()])(16, 32, 64),
    ]
    duplicates = (copy.copy, copy.deepcopy, lambda value: pickle.loads(pickle.dumps(value)))
    for result, duplicate in itertools.product(results, duplicates):
        twin = duplicate(result)
        assert type(twin) is type(result) and twin == result
        assert getattr(twin, "__dict__", None) == getattr(result, "__dict__", None)
    heuristic = create_ml_heuristic(predictor, kernel_pool=[gemm_kernel()])
    assert pickle.loads(pickle.dumps(heuristic))(16, 32, 64) == heuristic(16, 32, 64)


def test_registries_say_that_they_stay():
    registry = GroupedConvRegistry("gfx950", models=[CONV_MODEL], environment=False)
    for duplicate in (pickle.dumps, copy.deepcopy, copy.copy):
        with pytest.raises(TypeError, match="holds functions of this process"):
            duplicate(registry)


def score(predictor, problem):
    return predictor.predict_tflops(problem, gemm_kernel())


@pytest.mark.filterwarnings("ignore:.*use of fork.*:DeprecationWarning")
@pytest.mark.parametrize("start", ["spawn", "fork", "forkserver"])
def test_processes_share_the_work(start):
    predictor = used(Predictor(GEMM_MODEL))
    expected = [score(predictor, problem) for problem in PROBLEMS]
    context = multiprocessing.get_context(start)
    with concurrent.futures.ProcessPoolExecutor(2, mp_context=context) as workers:
        found = list(workers.map(score, [predictor] * len(PROBLEMS), PROBLEMS))
        assert bits(found) == bits(expected)
        with pytest.raises(InvalidInputError, match="problem: m: found 'x'"):
            workers.submit(score, predictor, gemm_problem(m="x")).result()
