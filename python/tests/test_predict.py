"""What upstream's own tests ask of its predictor, and what ours adds."""

from __future__ import annotations

import math
import pickle
import warnings

import numpy
import pandas
import pytest
from support import (
    CONV_MODEL,
    FORWARD,
    GEMM_MODEL,
    bits,
    gemm_kernel,
    gemm_problem,
    random_gemm_pool,
    set_spec,
)

import ck_select
from ck_select import (
    GroupedConvRegistry,
    InvalidInputError,
    InvalidModelError,
    Predictor,
    Ranking,
    create_ranked_heuristic,
)


@pytest.fixture
def plain(trained, copied):
    """A model as upstream's tests make one: a spec with names and nothing else."""
    directory = copied(trained("gemm72"))
    names = Predictor(directory).feature_names
    (directory / "feature_spec.json").unlink()
    set_spec(directory, feature_names=names, categorical_features=["layout", "pipeline"])
    return directory


def test_answers_are_of_upstreams_kinds(plain):
    predictor = Predictor(plain)
    kernels = [gemm_kernel(64, "compv3"), gemm_kernel(128, "compv4"), gemm_kernel(256, "mem")]
    tflops, latency = (ask(gemm_problem(), kernels[0]) for ask in (predictor.predict_tflops, predictor.predict_latency))
    assert type(tflops) is type(latency) is float
    found = predictor.predict_all(problem=gemm_problem(), kernel_config=kernels[0])
    assert list(found.items()) == [("tflops", tflops), ("latency_ms", latency)]
    ranked = predictor.rank_kernels(problem=gemm_problem(), kernel_configs=kernels)
    scores = [score for _, score in ranked]
    assert sorted(name for name, _ in ranked) == sorted(kernel["kernel_name"] for kernel in kernels)
    assert scores == sorted(scores, reverse=True) and all(type(score) is float for score in scores)
    assert predictor.select_best(gemm_problem(), kernels) == ranked[0][0]
    assert predictor.select_best(gemm_problem(), kernels[:1]) == "kernel_64_compv3"
    row, small, large = (
        predictor.predict_tflops(gemm_problem(**dict(zip("mnk", shape))), kernels[0])
        for shape in ((1, 4096, 4096), (16, 1536, 7168), (20480, 7168, 256))
    )
    assert math.isfinite(row) and small != large


def test_nothing_to_rank(plain):
    predictor = Predictor(plain)
    empty = predictor.prepare([])
    for kernels in ([], (), pandas.DataFrame(), empty):
        assert predictor.rank_kernels(gemm_problem(), kernels) == []
        assert predictor.rank_places(gemm_problem(), kernels) == ([], [])
        with pytest.raises(ValueError, match="kernel_configs is empty"):
            predictor.select_best(gemm_problem(), kernels)


def test_missing_forests_are_missing_when_asked_for(plain, tmp_path):
    with pytest.raises(FileNotFoundError, match=r"no model_bandwidth\.lgbm and no model_bandwidth\.lgbm\.gz"):
        Predictor(plain).predict_bandwidth(gemm_problem(), gemm_kernel())
    (plain / "model_tflops.lgbm").unlink()
    predictor = Predictor(plain)
    assert predictor.predict_latency(gemm_problem(), gemm_kernel()) >= 0
    for ask in (
        lambda: predictor.predict_tflops(gemm_problem(), gemm_kernel()),
        lambda: predictor.rank_kernels(gemm_problem(), [gemm_kernel()]),
        lambda: predictor.prepare([gemm_kernel()]),
    ):
        with pytest.raises(FileNotFoundError, match="model_tflops"):
            ask()
    # As in upstream, an empty list needs no forest.
    (plain / "model_latency.lgbm").unlink()
    assert predictor.rank_kernels({}, []) == [] and predictor.predict_all(gemm_problem(), gemm_kernel()) == {}
    # Before, a mistyped directory was found out by the first prediction.
    with pytest.raises(FileNotFoundError, match=r"absent is no directory: expected feature_spec\.json"):
        Predictor(tmp_path / "absent")
    with pytest.raises(FileNotFoundError, match="has no model: expected"):
        Predictor(tmp_path)


def test_no_spec_is_upstreams_empty_one_and_said(plain):
    expected = Predictor(plain).predict_tflops(gemm_problem(), gemm_kernel())
    (plain / "feature_spec.json").unlink()
    with pytest.warns(UserWarning, match=r"feature_spec\.json"):
        predictor = Predictor(plain)
    assert predictor.spec == {} and predictor.predict_tflops(gemm_problem(), gemm_kernel()) == expected


@pytest.mark.parametrize("keep", [False, True])
def test_packed_forests_leave_nothing_behind_unless_asked(keep, copied, tmp_path):
    directory = copied(GEMM_MODEL)
    before = sorted(path.name for path in directory.iterdir())
    # Neither the kernel's keys nor split_k: all have defaults.
    problem = {"m": 128, "n": 1536, "k": 7168, "dtype": "fp8", "layout": "rcr"}
    assert Predictor(directory, keep_unpacked=keep).predict_tflops(problem, {"name": "x"}) > 0
    after = sorted(path.name for path in directory.iterdir())
    assert after == (sorted([*before, "model_tflops.lgbm"]) if keep else before)
    assert Predictor(directory).predict_tflops(problem, {}) == Predictor(GEMM_MODEL).predict_tflops(problem, {})
    # Whoever may read what one writes may read it: it was the writer's alone, and then stood before the `.gz`.
    (tmp_path / "usual").touch()
    usual = (tmp_path / "usual").stat().st_mode
    assert not keep or (directory / "model_tflops.lgbm").stat().st_mode == usual


def test_names_count_from_the_pool(predictor):
    kernels = [gemm_kernel(64), gemm_kernel(128, "mem")]
    for kernel in kernels:
        del kernel["kernel_name"]
    for given in (kernels, pandas.DataFrame(kernels), tuple(kernels), iter(kernels)):
        assert {name for name, _ in predictor.rank_kernels(gemm_problem(), given)} == {"kernel_0", "kernel_1"}


def test_only_single_predictions_are_clamped(trained, copied):
    directory = copied(trained("gemm72"))
    (directory / "model_latency.lgbm").replace(directory / "model_tflops.lgbm")
    set_spec(directory, log_targets=[])
    predictor = Predictor(directory)
    pool = random_gemm_pool(200)
    ranked = predictor.rank_kernels(gemm_problem(), pool)
    by_name = {kernel["kernel_name"]: kernel for kernel in pool}
    assert ranked[-1][1] < 0 and predictor.predict_tflops(gemm_problem(), by_name[ranked[-1][0]]) == 0.0


def test_absent_cells_take_defaults(predictor):
    without = gemm_kernel(64)
    for name in ("tile_n", "pipeline", "warp_tile_m", "epilogue", "pad_m"):
        del without[name]
    expected = predictor.predict_tflops(gemm_problem(), without)
    for absent in (None, math.nan, numpy.float64("nan"), pandas.NA):
        holes = {**without, "tile_n": absent, "pipeline": absent, "warp_tile_m": absent, "epilogue": absent}
        assert predictor.predict_tflops(gemm_problem(), holes) == expected
        assert predictor.predict_tflops({**gemm_problem(), "split_k": absent}, holes) == expected
        ranked = dict(predictor.rank_kernels(gemm_problem(), [holes, gemm_kernel(256)]))
        assert ranked[without["kernel_name"]] == expected
        assert dict(predictor.rank_kernels(gemm_problem(), pandas.DataFrame([holes, gemm_kernel(256)]))) == ranked


def test_kernels_win_over_the_problem_and_the_problem_fills_in(predictor):
    own = [{**gemm_kernel(64), "k": 64}, {**gemm_kernel(64), "k": 128}]
    expected = [predictor.predict_rows([{**gemm_problem(), **kernel}])[0] for kernel in own]
    assert bits(score for _, score in predictor.rank_kernels(gemm_problem(), own)) == bits(sorted(expected)[::-1])
    # The same own problem everywhere is one problem.
    same = [{**gemm_kernel(tile), "k": 64} for tile in (64, 128)]
    expected = [predictor.predict_rows([{**gemm_problem(), **kernel}])[0] for kernel in same]
    assert bits(score for _, score in predictor.rank_kernels(gemm_problem(), same)) == bits(sorted(expected)[::-1])
    # What describes a kernel may stand in the problem, where a kernel does not say.
    lacking = [gemm_kernel(64), gemm_kernel(128), gemm_kernel(256)]
    del lacking[0]["tile_n"], lacking[1]["pipeline"]
    asked = {**gemm_problem(), "tile_n": 32, "pipeline": "mem", "scheduler": "interwave"}
    expected = [predictor.predict_rows([{**asked, **kernel}])[0] for kernel in lacking]
    for kernels in (lacking, pandas.DataFrame(lacking), predictor.prepare(lacking)):
        found = dict(predictor.rank_kernels(asked, kernels))
        assert bits(found[kernel["kernel_name"]] for kernel in lacking) == bits(expected)


def test_single_predictions_do_not_merge(predictor):
    """For one kernel upstream looks for the layout in the problem alone, and for tiles in the kernel alone."""
    expected = predictor.predict_tflops(gemm_problem(), gemm_kernel())
    problem = {**gemm_problem(), "tile_m": 32, "pipeline": "mem"}
    assert predictor.predict_tflops(problem, {**gemm_kernel(), "layout": "ccr", "dtype": "fp32", "m": 1}) == expected


def test_a_model_of_ours_may_rank_by_another_target(trained, copied):
    directory = copied(trained("gemm72"))
    set_spec(directory, ck_select={"rank_by": "latency"})
    pool = random_gemm_pool(50)
    predictor = Predictor(directory)
    places, scores = predictor.rank_places(gemm_problem(), pool)
    # Milliseconds: the lowest is the best.
    assert scores == sorted(scores) and scores[0] < 0
    # Whatever ranks, the pairs have TFLOPS. They had the score, which upstream's programs took for TFLOPS.
    ranked = predictor.rank_kernels(gemm_problem(), pool)
    expected = [(pool[place]["kernel_name"], predictor.predict_tflops(gemm_problem(), pool[place])) for place in places]
    assert ranked == expected and [value for _, value in ranked] != sorted((value for _, value in ranked), reverse=True)
    assert predictor.rank_tflops(gemm_problem(), pool, 3) == (places[:3], [value for _, value in ranked[:3]])
    assert predictor.prepare(pool).rank(gemm_problem(), 3) == ranked[:3]
    assert predictor.select_best(gemm_problem(), pool) == ranked[0][0]
    frame = predictor.rank_frame(gemm_problem(), pool)
    assert list(zip(frame["kernel_name"], frame["tflops"])) == ranked and frame["score"].tolist() == scores
    for kernels in (pool, [*pool, pool[0]]):
        specs = create_ranked_heuristic(directory, kernel_pool=kernels, top_k=4)(1024, 1024, 1024)
        assert [(spec.kernel_name, spec.predicted_tflops) for spec in specs] == predictor.rank_kernels(
            gemm_problem(), kernels
        )[:4]
    # A model that predicts no TFLOPS has its score instead.
    (directory / "model_tflops.lgbm").unlink()
    assert [value for _, value in Predictor(directory).rank_kernels(gemm_problem(), pool)] == scores


def test_engines_decide_like_upstreams(predictor):
    assert type(predictor.feature_engine).__name__ == "GemmUniversalFeatureEngine"
    assert predictor.feature_engine.get_feature_names() == predictor.spec["feature_names"]
    assert predictor.feature_engine.get_categorical_features() == predictor.spec["categorical_features"]
    assert type(Predictor(CONV_MODEL).feature_engine).__name__ == "GroupedConvFeatureEngine"

    foreign = type("GemmUniversalFeatureEngine", (), {"_hw": {"num_cus": 8}})()
    given = Predictor(GEMM_MODEL, foreign)
    assert given.feature_engine is foreign
    row = {**gemm_problem(), **gemm_kernel()}
    column = predictor.feature_names.index("hw_num_cus")
    assert [found.extract_rows([row])[0][column] for found in (given, predictor)] == [8.0, 256.0]
    for engine in ("gemm72", "GemmUniversalFeatureEngine", ck_select.GemmUniversalFeatureEngine):
        assert Predictor(GEMM_MODEL, engine).extract_rows([row]) == predictor.extract_rows([row])
    with pytest.raises(ValueError, match="feature engine conv97 is for grouped_conv"):
        Predictor(GEMM_MODEL, ck_select.GroupedConvFeatureEngine())
    with pytest.raises(ValueError, match="unknown|expected one of gemm55"):
        Predictor(GEMM_MODEL, "magic")
    with pytest.raises(ValueError, match="found object"):
        Predictor(GEMM_MODEL, object())
    with pytest.raises(TypeError, match="'cus'"):
        ck_select.GemmUniversalFeatureEngine(cus=3)


def test_an_engine_makes_up_for_a_spec_that_does_not_say(trained, copied):
    directory = copied(trained("conv_superset"))
    (directory / "feature_spec.json").write_text('{"log_targets": ["tflops"]}')
    problem, kernel = {"N": 16, "C": 64, "K": 64}, {"block_size": 64, "gemm_k_per_block": 32}
    expected = Predictor(trained("conv_superset")).predict_all(problem, kernel)
    assert Predictor(directory, "conv_superset").predict_all(problem, kernel) == expected


def test_bad_specs_are_refused_at_once(copied, trained):
    directory = copied(trained("gemm78vec"))
    original = (directory / "feature_spec.json").read_text()
    for change, message in [
        ({"feature_encoding_version": 0}, "feature_encoding_version: found 0, expected 1"),
        ({"feature_encoding_version": 0}, "trained at version 0, .* another feature encoding version"),
        ({"feature_names": ["vec_a", "magic"]}, "no gemm_universal feature is named magic; .* cannot supply it"),
        ({"feature_engine": "SomeFutureEngine"}, "found 'SomeFutureEngine'"),
    ]:
        (directory / "feature_spec.json").write_text(original)
        set_spec(directory, **change)
        with pytest.raises(ValueError, match=message):
            Predictor(directory)
    (directory / "feature_spec.json").write_text("{")
    with pytest.raises(InvalidModelError, match=r"feature_spec\.json: Expecting .* line 1 column 2"):
        Predictor(directory)


def test_errors_say_what_is_wrong(predictor):
    strict = Predictor(GEMM_MODEL, strict=True)
    frame = pandas.DataFrame([gemm_kernel()])
    for ranks, kernels, message in (
        (predictor, [gemm_kernel(), gemm_kernel("many")], "row 1: tile_m: found 'many', expected a whole number"),
        (predictor, [gemm_kernel(math.inf)], "row 0: tile_m: found inf, expected a whole number"),
        (predictor, [gemm_kernel(2**53 + 1), gemm_kernel(None)], "at most 9007199254740992"),
        (predictor, strict.prepare([gemm_kernel()]), "another predictor"),
        (predictor, pandas.concat([frame, frame[["tile_m"]]], axis=1), "duplicate columns: tile_m"),
        (strict, [gemm_kernel(pipeline="wavelet")], "row 0: pipeline: found 'wavelet', expected one of compv3"),
    ):
        with pytest.raises(ValueError, match=message):
            ranks.rank_kernels(gemm_problem(), kernels)
    for predicts, problem, kernel, message in (
        (predictor, gemm_problem(), gemm_kernel("many"), "kernel: tile_m: found 'many', expected a whole number"),
        (predictor, gemm_problem(), gemm_kernel(-math.inf), "kernel: tile_m: found -inf, expected one finite number"),
        (predictor, gemm_problem(m="x"), gemm_kernel(), "m: found 'x'"),
        (
            strict,
            {"n": 1, "k": 1},
            gemm_kernel(),
            "problem: m, split_k, dtype, layout: found nothing, expected a value",
        ),
    ):
        with pytest.raises(InvalidInputError, match=message):
            predicts.predict_tflops(problem, kernel)
    with pytest.raises(TypeError, match="problem: m: a cell is a object"):
        predictor.predict_tflops(gemm_problem(m=object()), gemm_kernel())
    plain = [gemm_kernel()]
    assert strict.rank_kernels(gemm_problem(), plain) == predictor.rank_kernels(gemm_problem(), plain)


@pytest.mark.parametrize("keep", [False, True])
def test_a_broken_gz_is_named_itself(keep, copied):
    directory = copied(GEMM_MODEL)
    packed = directory / "model_tflops.lgbm.gz"
    for damaged in (packed.read_bytes()[:200], b"no gzip file"):
        packed.write_bytes(damaged)
        with pytest.raises(InvalidModelError, match=r"model_tflops\.lgbm\.gz: "):
            Predictor(directory, keep_unpacked=keep).predict_tflops(gemm_problem(), gemm_kernel())
        assert not (directory / "model_tflops.lgbm").exists()


def test_any_word_may_stand_for_the_architecture(copied):
    """Upstream's predictor never reads it."""
    directory = copied(GEMM_MODEL)
    set_spec(directory, arch="MI355X")
    with pytest.warns(UserWarning, match="arch: 'MI355X' is no architecture"):
        predictor = Predictor(directory)
    expected = Predictor(GEMM_MODEL).predict_tflops(gemm_problem(), gemm_kernel())
    assert predictor.predict_tflops(gemm_problem(), gemm_kernel()) == expected


def test_loading_is_silent(capfd):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Predictor(GEMM_MODEL).rank_kernels(gemm_problem(), [gemm_kernel()])
    assert capfd.readouterr() == ("", "")


def test_objects_say_what_they_are(predictor):
    said = f"<Predictor of tflops, latency, bandwidth with 72 features: {GEMM_MODEL}>"
    assert repr(predictor) == said
    assert repr(predictor.prepare([gemm_kernel()])) == f"<Pool of 1 kernels for {said}>"
    assert repr(GroupedConvRegistry()) == "<GroupedConvRegistry of 0 kernels>"


def test_rankings_are_tables_in_notebooks():
    ranking = Predictor(GEMM_MODEL).rank_kernels(gemm_problem(), [{**gemm_kernel(), "kernel_name": "<b>"}] * 21)
    assert isinstance(ranking, list) and ranking[:1] == [("<b>", ranking[0][1])]
    page = ranking._repr_html_()
    assert page.count("<tr>") == 21 and "&lt;b&gt;" in page and "<b>" not in page and page.endswith("<p>and 1 more</p>")
    assert "more" not in Ranking(ranking[:20])._repr_html_()


@pytest.mark.parametrize("table", [list, pandas.DataFrame])
def test_many_problems_are_ranked_as_one_by_one(predictor, table):
    problems = [gemm_problem(m=m) for m in (16, 256, 4096)]
    kernels = [gemm_kernel(64), gemm_kernel(128, pipeline="mem"), gemm_kernel(256)]
    each = [predictor.rank_kernels(problem, kernels) for problem in problems]
    assert predictor.rank_many(table(problems), kernels) == each
    assert predictor.rank_many(table(problems), kernels, 1) == [ranking[:1] for ranking in each]
    assert predictor.rank_many([], kernels) == [] and predictor.rank_many(problems, []) == [[], [], []]
    with pytest.raises(TypeError, match="problems: row 1: found a int"):
        predictor.rank_many([problems[0], 7], kernels)


def test_a_ranking_prints_twenty_lines_and_slices_to_one(predictor):
    """A pool of thousands filled the terminal, and a slice was a plain list."""
    ranking = predictor.rank_kernels(gemm_problem(), random_gemm_pool(50))
    lines = repr(ranking).splitlines()
    assert len(lines) == 23 and lines[0] == "<Ranking of 50 kernels, TFLOPS>" and lines[-1] == "and 30 more"
    assert lines[1] == f"{GEMM_MODEL}: expected loss unknown"
    assert lines[2].split() == ["1", f"{ranking[0][1]:.1f}", ranking[0][0], *ranking.outlook.places[0].text.split()]
    assert type(ranking[:3]) is ck_select.Ranking and ranking[:3] == list(ranking)[:3]
    assert len(repr(ranking[:3]).splitlines()) == 5


def test_a_ranking_says_what_to_expect_as_a_registry_does():
    model = "embedded:grouped_conv_forward_bf16_gfx950"
    problem = ck_select.GroupedConvProblem(N=16, C=256, K=128, Hi=28, Wi=28, Y=3, X=3, pad_h=1, pad_w=1, arch="gfx950")
    predictor = Predictor(model)
    ranking = predictor.rank_kernels(problem.to_dict(), FORWARD)
    registry = ck_select.Registry("gfx950", kernels=FORWARD, models=[model], environment=False)
    places = registry.rank(problem)
    outlook = ranking.outlook
    assert [name for name, _ in ranking] == [name for name, _ in places]
    assert [one[:3] for one in outlook.places] == [(one.time_us, one.slower, one.loss) for one in places]
    assert outlook.sureness == registry.select(problem).sureness
    said = outlook.heading.split(", trained on ")[1]
    assert said in registry.explain(problem) and "judged choices" in said
    assert outlook.heading in repr(ranking) and outlook.places[1].text in ranking._repr_html_()
    # The table has it, too.
    frame = predictor.rank_frame(problem.to_dict(), FORWARD)
    assert list(zip(frame["time_us"], frame["slower"], frame["loss"])) == [one[:3] for one in outlook.places]
    # The first ones, and copies, have the same.
    first = predictor.rank_many([problem.to_dict()], FORWARD, 3)[0]
    assert first.outlook == ranking[:3].outlook == pickle.loads(pickle.dumps(first)).outlook
    assert first.outlook.places == outlook.places[:3] and Ranking(first).outlook is None


def test_completion_has_no_internals():
    assert set(dir(ck_select)) == set(ck_select.__all__) and "Predictor" in dir(ck_select)
    methods = {"compile", "names", "predictor", "rank", "rank_arrays", "rank_places", "rank_tflops", "tflops"}

    def of(owner):
        return {name for name in dir(owner) if not name.startswith("_")}

    assert (of(ck_select.Pool), of(ck_select.Problem)) == (methods, {"to_dict"})
    assert not of(ck_select.Predictor) & {"pool_of", "prepared", "problem_json"}
