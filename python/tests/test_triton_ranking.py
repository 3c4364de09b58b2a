"""``ck_select.triton``: the order of configurations as Triton, Inductor and users have them, without these."""

from __future__ import annotations

import itertools
import logging
import math
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import pytest

from ck_select import CkSelectError, GemmProblem, Registry
from ck_select import triton as ranking
from ck_select.triton import Kernel, Pool, device, perf_model, prune, rank

SHAPE = {"M": 384, "N": 3584, "K": 18944}
H200 = {"dtype": "bf16", "arch": "sm_90"}
CONFIGS = [
    {"BLOCK_M": m, "BLOCK_N": n, "BLOCK_K": 64, "GROUP_M": 8, "num_warps": warps, "num_stages": stages}
    for m, n, warps, stages in itertools.product((16, 64, 128), (64, 128, 256), (4, 8), (3, 4))
]


class Config:
    """What is used of a ``triton.Config``."""

    def __init__(self, kwargs, num_warps=4, num_stages=3, num_ctas=1):
        self.kwargs, self.rest = kwargs, {"num_warps": num_warps, "num_stages": num_stages, "num_ctas": num_ctas}

    def all_kwargs(self):
        return {**self.kwargs, **self.rest}


class Matrix(SimpleNamespace):
    """What is used of a tensor."""

    ndim = 2

    def stride(self, axis):
        return self.strides[axis]


def matrix(rows, columns, *, transposed=False, dtype="bf16"):
    strides = (1, rows) if transposed else (columns, 1)
    return Matrix(shape=(rows, columns), strides=strides, dtype=dtype)


def test_the_order_is_that_of_a_registry():
    names = [
        Kernel("bf16", "rcr", (each["BLOCK_M"], each["BLOCK_N"], 64), each["num_warps"], each["num_stages"]).name
        for each in CONFIGS
    ]
    registry = Registry("sm_90", kernels=names, environment=False, embedded_models=True)
    expected = [names.index(name) for name, _ in registry.rank(GemmProblem(384, 3584, 18944, dtype="bf16"))]
    ranked = rank(CONFIGS, **SHAPE, **H200)
    assert [each.number for each in ranked] == expected
    assert all(each.config is CONFIGS[each.number] for each in ranked)
    assert ranked == sorted(ranked, key=lambda each: -each.score)
    assert rank(CONFIGS, **SHAPE, **H200, top=3) == ranked[:3]
    assert {each.time_us for each in ranked} == {None}


def test_the_estimate_knows_times():
    ranked = rank(CONFIGS, **SHAPE, **H200, model="estimate")
    times = [each.time_us for each in ranked]
    assert times == sorted(times) and times[0] == -ranked[0].score
    # 52 GFLOP take 65 us at the device's rate.
    assert 65 < times[0] < 200


def test_configs_are_taken_as_triton_and_inductor_have_them():
    plain = [each.number for each in rank(CONFIGS, **SHAPE, **H200)]
    objects = [
        Config({name: of[name] for name in of if name.isupper()}, of["num_warps"], of["num_stages"]) for of in CONFIGS
    ]
    inductors = [
        SimpleNamespace(to_kwargs=lambda of=of: {**of, "EVEN_K": True, "ACC_TYPE": "tl.float32"}) for of in CONFIGS
    ]
    renamed = [
        {
            "ROWS": of["BLOCK_M"],
            "block_size_n": of["BLOCK_N"],
            "BK": 64,
            **{name: of[name] for name in of if name.islower()},
        }
        for of in CONFIGS
    ]
    for configs, options in (objects, {}), (inductors, {}), (renamed, {"meta": {"block_m": "ROWS"}}):
        assert [each.number for each in rank(configs, **SHAPE, **H200, **options)] == plain


@pytest.mark.parametrize(
    ("config", "options", "message"),
    [
        (
            {"BLOCK_N": 64, "BLOCK_K": 64},
            {},
            "has no BLOCK_M or BLOCK_SIZE_M, only BLOCK_N, BLOCK_K; meta tells its name",
        ),
        ({"BLOCK_M": "x", "BLOCK_N": 64, "BLOCK_K": 64}, {}, "BLOCK_M: found 'x', expected a whole number"),
        (
            {"BLOCK_M": 64, "BLOCK_N": 64, "BLOCK_K": 64},
            {"meta": {"rows": "R"}},
            "meta: found rows, expected some of block_m",
        ),
        (64, {}, "configs: found a int, expected triton.Config or dict"),
        ({"BLOCK_M": 64, "BLOCK_N": 64, "BLOCK_K": 64}, {"arch": "sm_99"}, "arch is sm_99"),
        ({"BLOCK_M": 64, "BLOCK_N": 64, "BLOCK_K": 64}, {"layout": "xyz"}, "layout: found 'xyz'"),
    ],
)
def test_what_cannot_be_read_says_why(config, options, message):
    with pytest.raises((CkSelectError, ValueError), match=message):
        rank([config], **SHAPE, **{**H200, **options})


def test_what_nothing_was_measured_of_comes_along():
    usual = CONFIGS[20]
    unusual = [
        {**usual, "num_stages": 6},
        {**usual, "GROUP_M": 4},
        {**usual, "num_warps": 16},
        {**usual, "num_ctas": 2},
    ]
    ranked = {each.number: each.unmeasured for each in rank([usual, *unusual], **SHAPE, **H200)}
    assert ranked == {0: False, 1: True, 2: True, 3: True, 4: True}
    # Equal kernels come in the order of the list, behind the measured one.
    assert [each.number for each in rank([{**usual, "GROUP_M": 4}, usual], **SHAPE, **H200)] == [1, 0]
    for pool in {"tma": True}, {"persistent": True, "tma": True}, {"batch": 16}:
        assert rank([usual], **SHAPE, **H200, **pool)[0].unmeasured


def test_kernels_of_amds_gpus_have_parameters_of_their_own():
    amds = [
        {**CONFIGS[0], "matrix_instr_nonkdim": of, "waves_per_eu": 2, "kpack": 2, "num_stages": 2} for of in (0, 16, 32)
    ]
    for arch in "gfx90a", "gfx942", "gfx950", "gfx1201", "MI300X", "gfx1100":
        assert len(rank(amds, **SHAPE, dtype="bf16", arch=arch)) == 3
    assert Pool(amds, dtype="bf16", arch="gfx942")._kernels.places.keys() == {
        Kernel("bf16", "rcr", (16, 64, 64), 4, 2, nonkdim=of, waves_per_eu=2, kpack=2).name for of in (16, 32)
    }


def test_gpus_are_those_of_torch():
    h200 = {"major": 9, "minor": 0, "multi_processor_count": 132, "clock_rate": 1980000}
    h200 |= {"memory_clock_rate": 3201000, "memory_bus_width": 6144, "gcnArchName": ""}
    found = device.of_properties(SimpleNamespace(**h200))
    assert found.arch == "sm_90" and dict(found.constants) == {
        **{"based_on": "sm_90", "num_cus": 132, "max_clock_mhz": 1980},
        "memory_gb_s": pytest.approx(4917, abs=1),
    }
    mi300x = {**h200, "gcnArchName": "gfx942:sramecc+:xnack-", "multi_processor_count": 304, "clock_rate": 2100000}
    found = device.of_properties(SimpleNamespace(**mi300x))
    assert found == device.Gpu("gfx942", (("based_on", "gfx942"), ("num_cus", 304), ("max_clock_mhz", 2100)))
    # Older versions of torch say less.
    bare = SimpleNamespace(major=8, minor=9, multi_processor_count=142)
    assert dict(device.of_properties(bare).constants)["based_on"] == "sm_80"
    for properties in SimpleNamespace(**h200), SimpleNamespace(**mi300x), bare:
        assert len(rank(CONFIGS, **SHAPE, dtype="fp8", device=properties)) == len(CONFIGS)
    fewer = SimpleNamespace(**{**h200, "multi_processor_count": 26})
    slow, fast = (
        rank(CONFIGS, **SHAPE, dtype="bf16", model="estimate", device=of)[0] for of in (fewer, SimpleNamespace(**h200))
    )
    assert slow.time_us > 2.5 * fast.time_us


def test_gpus_have_names():
    assert device.gpu(arch=90) == device.gpu(arch="sm_90a") == device.gpu(arch="sm_90") == device.Gpu("sm_90")
    assert device.gpu(arch="gfx942:sramecc+:xnack-") == device.Gpu("gfx942")
    for arch in device._RELATIVES:
        assert rank(CONFIGS, **SHAPE, dtype="bf16", arch=arch)


def test_a_list_is_prepared_once(monkeypatch):
    made = []
    pool = ranking.Pool
    monkeypatch.setattr(ranking, "Pool", lambda *args, **options: made.append(1) or pool(*args, **options))
    configs = [dict(each) for each in CONFIGS]
    before = rank(configs, **SHAPE, **H200)
    assert rank(configs, **{**SHAPE, "M": 16}, **H200) and len(made) == 1
    # A list whose members changed is another one.
    first = configs[before[0].number]
    first["num_stages"] = 1
    assert rank(configs, **SHAPE, **H200)[0].config is not first and len(made) == 2
    assert rank(configs, **SHAPE, **{**H200, "arch": "sm_80"}) and len(made) == 3


def test_threads_rank_one_pool():
    pool = Pool(CONFIGS, **H200)
    shapes = [{**SHAPE, "M": 16 * (1 + number % 40)} for number in range(400)]
    expected = [pool.rank(**shape) for shape in shapes]
    with ThreadPoolExecutor(4) as threads:
        assert list(threads.map(lambda shape: pool.rank(**shape), shapes)) == expected


def test_triton_tries_the_first_ones():
    a, b, c = matrix(384, 18944), matrix(18944, 3584, transposed=True), matrix(384, 3584)
    arguments = {"a_ptr": a, "b_ptr": b, "c_ptr": c, **SHAPE}
    few = prune(top=3, arch="sm_90")["early_config_prune"](CONFIGS, arguments, stride_am=18944)
    assert few == [each.config for each in rank(CONFIGS, **SHAPE, **H200, top=3)]
    model = perf_model(arch="sm_90")
    best = sorted(CONFIGS, key=lambda config: model(**arguments, **config))
    assert [best.index(config) for config in few] == [0, 1, 2]
    # B as it is has another layout.
    rows = prune(top=3, arch="sm_90")["early_config_prune"](CONFIGS, {**arguments, "b_ptr": matrix(18944, 3584)})
    assert rows == [each.config for each in rank(CONFIGS, **SHAPE, **H200, layout="rrr", top=3)]
    renamed = {"x": a, "w": b, "rows": 384, "columns": 3584, "depth": 18944}
    told = prune(top=3, M="rows", N="columns", K="depth", dtype="bf16", layout="rcr", arch="sm_90")
    assert told["early_config_prune"](CONFIGS, renamed) == few


@pytest.mark.parametrize("arguments", [{}, SHAPE, {**SHAPE, "a": matrix(8, 8, dtype="x"), "b": matrix(8, 8)}])
def test_triton_tries_all_where_nothing_can_be_said(arguments, caplog):
    with caplog.at_level(logging.WARNING, "ck_select"):
        assert prune(top=3, arch="sm_90")["early_config_prune"](CONFIGS, arguments) is CONFIGS
    assert "all configurations are tried" in caplog.text


@pytest.mark.parametrize("arguments", [{}, SHAPE, {**SHAPE, "a": matrix(8, 8, dtype="x"), "b": matrix(8, 8)}])
def test_no_configuration_is_better_where_nothing_can_be_said(arguments, caplog):
    model = perf_model(arch="sm_90")
    with caplog.at_level(logging.WARNING, "ck_select"):
        assert {model(**arguments, **config) for config in CONFIGS} == {math.inf}
    assert len(caplog.records) == 1 and "configurations have no times" in caplog.text


def test_a_configuration_that_cannot_be_read_comes_last():
    model = perf_model(arch="sm_90", dtype="bf16", layout="rcr")
    torn = {**CONFIGS[3], "BLOCK_M": "x"}
    times = [model(**SHAPE, **config) for config in (*CONFIGS[:3], torn, *CONFIGS[4:])]
    assert times[3] == math.inf and all(math.isfinite(each) for each in (*times[:3], *times[4:]))
    best = [each.number for each in rank(CONFIGS, **SHAPE, **H200) if each.number != 3]
    assert sorted((number for number in range(len(CONFIGS)) if number != 3), key=times.__getitem__) == best
    pool = Pool(CONFIGS, **H200)
    with pytest.raises(CkSelectError, match="found 'x'"):
        pool.add([torn])
    assert len(pool.configs) == len(pool.rank(**SHAPE)) == len(CONFIGS)


@pytest.mark.parametrize("model", ["estimate", None])
def test_as_many_are_tried_as_have_to_be(model):
    pool = Pool(CONFIGS, **H200, model=model)
    for rows in 16, 384, 8192:
        chosen = pool._kernels._registry.select(GemmProblem(rows, 3584, 18944, dtype="bf16"))
        expected = 8 if chosen.sureness is None else chosen.sureness.within_90
        ranked = pool.rank(M=rows, N=3584, K=18944)
        assert pool.rank(M=rows, N=3584, K=18944, top="sure") == ranked[:expected]
    a, b = matrix(384, 18944), matrix(18944, 3584, transposed=True)
    few = prune(top="sure", arch="sm_90", model=model)["early_config_prune"](CONFIGS, {"a": a, "b": b, **SHAPE})
    assert few == [each.config for each in rank(CONFIGS, **SHAPE, **H200, model=model, top="sure")]
    assert 0 < len(few) < len(CONFIGS)


def test_the_estimate_knows_how_many_have_to_be_tried():
    # The surer the estimate is, the fewer.
    pool = Pool(CONFIGS, **H200, model="estimate")
    assert len({len(pool.rank(M=rows, N=3584, K=18944, top="sure")) for rows in (1, 16, 256, 8192)}) > 1
