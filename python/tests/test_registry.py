"""Registries over the C interface, in the shape of upstream's example."""

from __future__ import annotations

import logging
from dataclasses import FrozenInstanceError, replace
from functools import partial

import numpy
import pytest
from support import CONV_MODEL, FORWARD, GEMM_MODEL, ROOT, conv_problem

import ck_select
from ck_select import (
    GemmProblem,
    GroupedConvProblem,
    GroupedConvRegistry,
    InvalidInputError,
    InvalidModelError,
    MissingCellError,
    NoKernelError,
    Predictor,
    Registry,
    StoreStatus,
    select,
)
from ck_select._library import lib

CONV = partial(GroupedConvProblem, 1, 1, 1, 1, 1, 1, 1, 1)
PROBLEM = GroupedConvProblem(**conv_problem())


@pytest.fixture
def registry():
    return GroupedConvRegistry(arch="gfx950", kernels=FORWARD, models=[CONV_MODEL], environment=False)


def test_select_takes_the_models_best(registry):
    chosen = registry.select(PROBLEM)
    best, score = registry.rank(PROBLEM)[0]
    assert (chosen.name, chosen.score) == (best, score)
    assert (chosen.source, chosen.rank, chosen.measured_ms) == ("model", 0, None)
    assert FORWARD[chosen.index] == best and len(registry) == len(FORWARD)
    assert best in registry.explain(PROBLEM)
    assert select(PROBLEM, FORWARD, CONV_MODEL, "gfx950").name == best


def test_run_calls_the_chosen_kernel():
    calls = []

    def runner(name):
        return lambda problem, *tensors, scale=1: calls.append((name, problem, tensors, scale)) or name.upper()

    registry = GroupedConvRegistry(
        arch="gfx950", kernels={name: runner(name) for name in FORWARD}, models=[CONV_MODEL], environment=False
    )
    best = registry.select(PROBLEM).name
    assert registry.run(PROBLEM, "input", "weight", scale=3) == best.upper()
    assert calls == [(best, PROBLEM, ("input", "weight"), 3)]


def test_support_is_asked_and_its_mistakes_mean_no(registry, caplog):
    first, second, third = (name for name, _ in registry.rank(PROBLEM)[:3])
    asked = []

    def refuse(problem):
        asked.append(problem)
        return False

    def fail(problem):
        raise OSError("on purpose")

    registry = GroupedConvRegistry("gfx950", models=[CONV_MODEL], environment=False)
    for name in FORWARD:
        registry.register(name, supports={first: refuse, second: fail}.get(name))
    registry.register(third, priority=2)
    chosen = registry.select(PROBLEM)
    assert (chosen.name, chosen.rank) == (third, 2)
    assert asked[0] == GroupedConvProblem(**{**vars(PROBLEM), "layout": "nhwgc"})
    assert f"supports of kernel '{second}' failed" in caplog.text and "on purpose" in caplog.text


def test_gemms_are_selected_and_asked():
    names = [line for line in (GEMM_MODEL / "pool.txt").read_text().split("\n") if line.startswith("gemm")]
    seen = []
    registry = Registry("gfx950", models=[GEMM_MODEL], environment=False)
    for name in names:
        registry.register(name, supports=lambda problem: seen.append(problem) or True)
    problem = GemmProblem(numpy.int64(128), 1536, 7168)
    assert registry.select(problem).name == registry.rank(problem)[0][0]
    assert seen[0] == GemmProblem(128, 1536, 7168, dtype_c="fp16")


def test_variants_of_gemms_are_asked_as_they_are():
    seen = []
    registry = Registry("gfx950", environment=False)
    supports = lambda problem: seen.append(problem) or True  # noqa: E731
    body = "compv3_cshuffle_intrawave_True_True_True_False_128x128x64_2x2x1_32x32x16"
    registry.register(f"grouped_gemm_fp16_rcr_{body}", supports=supports)
    listed = GemmProblem(1, 1, 1, dtype="fp16", groups=((512, 64, 128, 3), (64, 64, 128, 1)))
    with pytest.raises(NoKernelError):
        registry.select(GemmProblem(512, 64, 128, dtype="fp16", batch=4))
    registry.select(listed)
    assert seen[-1].groups == ((64, 64, 128, 1), (512, 64, 128, 3)) and (seen[-1].M, seen[-1].batch) == (512, 0)
    scaled = GemmProblem(1, 2, 3, quant="bquant", group_b=(1, 1, 64), stream_k="tree", preshuffle=True)
    asked = {"stream_k": "tree", "preshuffle": True, "quant": "bquant", "group_b": "1x1x64"}
    assert asked.items() <= scaled.to_dict().items() and "batch" not in scaled.to_dict()
    assert scaled._as_struct().request.group_b[:] == [1, 1, 64]
    with pytest.raises(ValueError, match="quant: unknown quantisation 'cquant', expected one of: aquant"):
        registry.select(GemmProblem(1, 1, 1, quant="cquant"))


def test_problems_say_what_they_are():
    assert PROBLEM.ndim == 2 and CONV(Di=2).ndim == 3
    assert PROBLEM.to_dict()["Hi"] == 28 and "arch" not in PROBLEM.to_dict()
    assert GemmProblem(1, 2, 3, arch="gfx950").to_dict()["arch"] == "gfx950"


MISTAKES = [
    (InvalidInputError, "already registered", lambda registry: registry.register(FORWARD[0])),
    (InvalidInputError, "magic", lambda registry: registry.register("magic")),
    (InvalidModelError, r"feature_spec\.json", lambda registry: registry.load_model("/there/is/no/such/model")),
    (NoKernelError, "registered without run", lambda registry: registry.run(PROBLEM)),
    (NoKernelError, "none of the 30 kernels fits", lambda registry: registry.select(GemmProblem(1, 1, 1))),
    (ValueError, "found a dict", lambda registry: registry.select({"N": 1})),
    # A problem is checked when it is made; these were once checked by what used it.
    (InvalidInputError, "C: found 3, expected", lambda _: replace(PROBLEM, C=3, G=2)),
    (InvalidInputError, "M: found -1, expected", lambda _: GemmProblem(-1, 1, 1)),
    (TypeError, "'str' object cannot be interpreted as an integer", lambda _: GemmProblem("1", 1, 1)),
    (
        InvalidInputError,
        "unknown arch 'MI300X', expected one of: gfx942",
        lambda _: GemmProblem(1, 1, 1, arch="MI300X"),
    ),
    (MissingCellError, "Hi: found nothing, expected a whole number", lambda _: GroupedConvProblem(1, 64, 64)),
    (ValueError, "dtype: found 'magic', expected one of fp16", lambda _: CONV(dtype="magic")),
    (ValueError, "direction: found 'sideways'", lambda _: CONV(direction="sideways")),
    (ValueError, "layout: found 'rxr'", lambda _: GemmProblem(1, 1, 1, layout="rxr")),
    # A name's letters were taken for names.
    (TypeError, "kernels: found the text 'a_kernel', expected a list", lambda _: Registry(kernels="a_kernel")),
    (TypeError, "models: found the text 'models/mine', expected a list", lambda _: Registry(models="models/mine")),
    (TypeError, "name: found a list, expected one kernel's name", lambda registry: registry.register(FORWARD)),
    (ValueError, "mode: found 'magic'", lambda _: Registry(mode="magic")),
    (InvalidInputError, "splits: found 4 twice, expected each number once", lambda _: Registry(splits=[4, 4])),
    (InvalidInputError, "time_ms is -1, expected milliseconds", lambda registry: registry.tune(-1)),
    (OSError, "hardware: .*missing.json", lambda _: Registry("gfx942", hardware="missing.json")),
]


@pytest.mark.parametrize(("kind", "message", "mistake"), MISTAKES, ids=[message for _, message, _ in MISTAKES])
def test_mistakes_are_exceptions(registry, kind, message, mistake):
    with pytest.raises(kind, match=message):
        mistake(registry)


def test_a_model_the_estimate_or_the_priority_chooses(tmp_path):
    small = tmp_path / "small.json"
    small.write_text('{"based_on": "gfx942", "num_cus": 20}')

    def chosen(**options):
        registry = GroupedConvRegistry("gfx942", kernels=FORWARD, environment=False, **options)
        registry.register(FORWARD[4], priority=5)
        return registry, registry.select(PROBLEM)

    built_in, estimated, described = (
        chosen(**options)[1] for options in ({"embedded_models": True}, {}, {"hardware": small})
    )
    assert (built_in.source, built_in.model, built_in.universal) == ("model", "embedded:universal", True)
    assert (estimated.source, estimated.model) == ("estimate", None) and described.score > estimated.score > 0
    registry, first = chosen(estimate=False)
    assert (first.name, first.source, first.score) == (FORWARD[4], "priority", None)
    with pytest.raises(ck_select.CkSelectError, match="no model"):
        registry.rank(PROBLEM)


def test_a_universal_model_ranks_in_a_registry_alone():
    universal = ROOT / "models" / "universal"
    registry = GroupedConvRegistry(arch="gfx942", kernels=FORWARD, models=[universal], environment=False)
    selection = registry.select(PROBLEM)
    assert (selection.source, selection.universal) == ("model", True)
    assert registry.rank(PROBLEM)[0] == (selection.name, selection.score)
    # The first prediction was an error.
    for name in (universal, "embedded:gemm_fp8_gfx942"):
        message = rf"scores kernels of a pool relative to each other: use Registry\(models=\['{name}'\]\)"
        with pytest.raises(InvalidModelError, match=message):
            Predictor(name)


def test_winners_that_wait_are_said(monkeypatch):
    registry = Registry("gfx950", environment=False)
    assert registry.store_status() == StoreStatus(waiting=0, reason=None)
    registry.refresh_store()

    def waits(address, waiting, reason):
        waiting._obj.value = 3
        # Any text that the library gives.
        return lib.ck_kernel_cells(FORWARD[0].encode(), reason)

    monkeypatch.setattr(lib, "ck_registry_store_status", waits)
    found = registry.store_status()
    assert found.waiting == 3 and found.reason is not None and '"grouped_conv"' in found.reason


def test_tuning_measures_what_was_asked():
    times = dict(zip(FORWARD, range(len(FORWARD), 0, -1)))
    registry = GroupedConvRegistry("gfx950", environment=False, store="off", host_timing=True)
    measured = []
    for name in FORWARD:

        def measure(problem, stream, name=name):
            assert (problem.N, problem.C, problem.K, stream) == (PROBLEM.N, PROBLEM.C, PROBLEM.K, None)
            measured.append(name)
            return times[name]

        registry.register(name, measure=measure)
    assert registry.tune(1000).measured == 0
    guess = registry.select(PROBLEM)
    assert guess.source == "estimate"
    report = registry.tune(60_000, kernels=len(FORWARD))
    assert (report.measured, report.failed, report.waiting) == (1, 0, 0)
    assert set(measured) == set(FORWARD) and report.elapsed_ms > 0
    winner = registry.select(PROBLEM)
    assert (winner.name, winner.source, winner.measured_ms) == (FORWARD[-1], "store", 1.0)
    assert report.improved == (guess.name != winner.name)


def test_a_kernel_that_raises_while_measured_has_no_time(caplog):
    registry = GroupedConvRegistry("gfx950", environment=False, store="off", host_timing=True)

    def fails(problem, stream):
        raise RuntimeError("on purpose")

    for name in FORWARD:
        registry.register(name, measure=fails)
    registry.tune(0)
    registry.select(PROBLEM)
    assert registry.tune(60_000).failed == 1
    assert "on purpose" in caplog.text
    assert registry.select(PROBLEM).source == "estimate"


@pytest.mark.parametrize("auto", [0, "auto"])
def test_the_parts_of_a_reduction_are_chosen(auto):
    """Where a problem leaves the choice, callbacks get each number that is allowed, and ``run`` the chosen one."""
    asked = []

    def supports(problem):
        asked.append(problem.split_k)
        return problem.split_k == 1

    name = "gemm_universal_fp8_rcr_compv3_cshuffle_intrawave_True_True_True_False_64x64x64_2x2x1_32x32x16"
    registry = Registry("gfx950", environment=False, splits=[1, 4])
    registry.register(name, lambda problem: problem.split_k, supports=supports)
    problem = GemmProblem(16, 1536, 7168, split_k=auto)
    chosen = registry.select(problem)
    assert (chosen.name, chosen.split_k, set(asked)) == (name, 1, {1, 4})
    assert registry.run(problem) == 1
    registry.load_model(GEMM_MODEL)
    ranked = registry.rank(problem)
    assert sorted(place.split_k for place in ranked) == [1, 4]
    assert [tuple(place) for place in ranked] == [(name, place[1]) for place in ranked]
    with pytest.raises(InvalidInputError, match="a predictor ranks for one, a Registry chooses it"):
        problem.to_dict()


def test_problems_are_values():
    """They could not be keys of a dict, and a mistake was found where they were used."""
    listed = GemmProblem(1, 1, 1, dtype="fp16", groups=[[512, 64, 128, 3]])
    assert {listed: 1}[GemmProblem(1, 1, 1, dtype="fp16", groups=((512, 64, 128, 3),))] == 1
    assert len({PROBLEM, replace(PROBLEM), replace(PROBLEM, N=1)}) == 2
    with pytest.raises(FrozenInstanceError):
        PROBLEM.N = 2
    assert isinstance(PROBLEM, ck_select.Problem)
    assert GroupedConvProblem(C=64, K=64, Hi=56, Wi=56, Y=3, X=3) == GroupedConvProblem(1, 64, 64, 1, 56, 56, 3, 3)


def torch_dtypes(*names):
    """Known by their names: torch itself need not be there."""
    return {
        name: type("dtype", (), {"__module__": "torch", "__str__": lambda _, name=name: f"torch.{name}"})()
        for name in names
    }


def test_types_may_be_torchs():
    torch = torch_dtypes("bfloat16", "float8_e4m3fnuz", "complex64")
    predictor = ck_select.Predictor(CONV_MODEL)
    kernels = [{"kernel_name": name} for name in FORWARD]
    ranked, by_word = (
        predictor.rank_kernels({**PROBLEM.to_dict(), "dtype": dtype}, kernels) for dtype in (torch["bfloat16"], "bf16")
    )
    assert ranked == by_word
    with pytest.raises(InvalidInputError, match=r"found torch.complex64, expected one of torch.float16"):
        predictor.rank_kernels({**PROBLEM.to_dict(), "dtype": torch["complex64"]}, kernels)
    assert replace(PROBLEM, dtype=torch["bfloat16"]) == replace(PROBLEM, dtype="bf16")
    assert GemmProblem(1, 2, 3, torch["float8_e4m3fnuz"], dtype_c=torch["bfloat16"]).to_dict()["dtype"] == "fp8"
    with pytest.raises(InvalidInputError, match=r"found torch.complex64, expected one of torch.float16"):
        GemmProblem(1, 2, 3, torch["complex64"])


def test_a_registry_is_a_collection_that_can_be_closed():
    with Registry("gfx950", kernels=FORWARD[:3], environment=False) as registry:
        assert (list(registry), len(registry), FORWARD[0] in registry) == (FORWARD[:3], 3, True)
        assert FORWARD[3] not in registry and registry.select(PROBLEM).name in registry
    assert repr(registry) == "<Registry closed>"
    registry.close()
    for use in (registry.prepare, partial(registry.select, PROBLEM), partial(len, registry)):
        with pytest.raises(InvalidInputError, match="the registry is closed"):
            use()


def test_the_estimate_ranks_where_no_model_does():
    """``rank`` was an error where ``select`` had an answer."""
    registry = Registry("gfx942", kernels=FORWARD, environment=False)
    ranked = registry.rank(PROBLEM)
    chosen = registry.select(PROBLEM)
    assert (ranked[0][0], ranked[0][1], ranked[0].source) == (chosen.name, chosen.score, "estimate")
    assert sorted(name for name, _ in ranked) == sorted(FORWARD)
    assert [score for _, score in ranked] == sorted(score for _, score in ranked)
    assert [tuple(place) for place in ranked] == [
        (row["kernel"], row["time_us"]) for row in ck_select.estimate(PROBLEM, FORWARD, arch="gfx942")
    ]
    registry.load_model(CONV_MODEL, force=True)
    assert registry.rank(PROBLEM)[0].source == "model"
    with pytest.raises(ck_select.CkSelectError, match="no model is loaded"):
        Registry("gfx942", kernels=FORWARD, environment=False, estimate=False).rank(PROBLEM)


def test_products_are_gpus_with_their_units():
    problem = replace(PROBLEM, N=256)

    def score(arch):
        return Registry(arch, kernels=FORWARD, environment=False).rank(problem)[0][1]

    assert score("MI300A") == score("gfx942") and score("mi308x") > score("gfx942") > score("MI300X")
    assert score("MI300X") == ck_select.estimate(problem, FORWARD, arch="mi300x")[0]["time_us"]


def test_built_in_models_are_those_of_predictors():
    """A registry knew four of the seven."""
    for name in ck_select.shipped_models():
        Registry("gfx942", models=[f"embedded:{name}"], environment=False)
    with pytest.raises(ValueError, match="model: found 'magic', expected one of gemm_fp8_gfx942"):
        Registry(models=["embedded:magic"])


def test_warnings_of_the_library_are_logged(caplog, capfd):
    """They went to standard error, past any handler."""
    registry = Registry(kernels=FORWARD, environment=False, estimate=False)
    with caplog.at_level(logging.WARNING, "ck_select"):
        assert registry.select(PROBLEM).no_model
    assert [record.levelname for record in caplog.records] == ["WARNING"] and "no model" in caplog.text
    assert capfd.readouterr().err == ""
