"""Predictors, pools and errors in other processes, and copies of them."""

from __future__ import annotations

import concurrent.futures
import copy
import multiprocessing
import pickle

import numpy
import pandas
import polars
import pytest
from support import CONV_MODEL, GEMM_MODEL, bits, gemm_kernel, gemm_problem, random_gemm_pool

from ck_select import (
    GemmUniversalFeatureEngine,
    GroupedConvRegistry,
    InvalidInputError,
    MissingCellError,
    Predictor,
    upstream,
)

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
def test_copies_answer_alike(duplicate, monkeypatch, tmp_path):
    pool = random_gemm_pool(20)
    given = [
        Predictor(GEMM_MODEL),
        Predictor(GEMM_MODEL, "gemm72", strict=True),
        Predictor(GEMM_MODEL, GemmUniversalFeatureEngine(num_cus=80)),
        Mine(GEMM_MODEL, ["a note"]),
    ]
    for predictor in given:
        expected = [used(predictor).rank_kernels(problem, pool) for problem in PROBLEMS]
        copied = duplicate(predictor)
        assert type(copied) is type(predictor) and copied is not predictor
        # Wherever it arrives.
        with monkeypatch.context() as elsewhere:
            elsewhere.chdir(tmp_path)
            assert [copied.rank_kernels(problem, pool) for problem in PROBLEMS] == expected
        assert copied.spec == predictor.spec and copied.feature_names == predictor.feature_names
        assert getattr(copied, "note", None) == getattr(predictor, "note", None)
        assert copied.feature_engine.hardware_config == predictor.feature_engine.hardware_config
        row = {**PROBLEMS[0], **pool[0]}
        assert copied.extract_rows([row]) == predictor.extract_rows([row])


def test_a_relative_directory_is_found_from_elsewhere(monkeypatch, tmp_path):
    monkeypatch.chdir(GEMM_MODEL.parent)
    pickled = pickle.dumps(Predictor(GEMM_MODEL.name))
    monkeypatch.chdir(tmp_path)
    assert pickle.loads(pickled).predict_tflops(PROBLEMS[0], gemm_kernel()) > 0


def test_no_forest_travels():
    predictor = used(Predictor(GEMM_MODEL))
    assert len(pickle.dumps(predictor)) < 20000


def test_pools_are_prepared_again():
    predictor = Predictor(GEMM_MODEL)
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


def test_the_shims_predictor_travels_too(copied):
    from ck_select.upstream.predict import Predictor as Theirs

    assert upstream.REPLACED
    predictor = pickle.loads(pickle.dumps(Theirs(copied(CONV_MODEL))))
    assert type(predictor) is Theirs and numpy.isfinite(predictor.predict_tflops({"N": 1}, {}))
