"""What Python users expect of any package: objects that say what they are, built-in models by name, batches."""

from __future__ import annotations

import pandas
import pytest
from support import GEMM_MODEL, gemm_kernel, gemm_problem

from ck_select import GroupedConvRegistry, Predictor, Ranking, shipped_model

BUILT_IN = "grouped_conv_forward_bf16_gfx950"


def test_objects_say_what_they_are():
    predictor = Predictor(GEMM_MODEL)
    said = f"<Predictor of tflops, latency, bandwidth with 72 features: {GEMM_MODEL}>"
    assert repr(predictor) == said
    assert repr(predictor.prepare([gemm_kernel()])) == f"<Pool of 1 kernels for {said}>"
    assert repr(GroupedConvRegistry()) == "<GroupedConvRegistry of 0 kernels>"


def test_built_in_models_have_names():
    assert Predictor(f"embedded:{BUILT_IN}").spec == Predictor(shipped_model(BUILT_IN)).spec
    with pytest.raises(ValueError, match="model: found 'magic', expected one of"):
        Predictor("embedded:magic")


def test_rankings_are_tables_in_notebooks():
    ranking = Predictor(GEMM_MODEL).rank_kernels(gemm_problem(), [{**gemm_kernel(), "kernel_name": "<b>"}] * 31)
    assert isinstance(ranking, list) and ranking[:1] == [("<b>", ranking[0][1])]
    page = ranking._repr_html_()
    assert page.count("<tr>") == 31 and "&lt;b&gt;" in page and "<b>" not in page and page.endswith("<p>and 1 more</p>")
    assert "more" not in Ranking(ranking[:30])._repr_html_()


@pytest.mark.parametrize("table", [list, pandas.DataFrame])
def test_many_problems_are_ranked_as_one_by_one(table):
    predictor = Predictor(GEMM_MODEL)
    problems = [gemm_problem(m=m) for m in (16, 256, 4096)]
    kernels = [gemm_kernel(64), gemm_kernel(128, pipeline="mem"), gemm_kernel(256)]
    each = [predictor.rank_kernels(problem, kernels) for problem in problems]
    assert predictor.rank_many(table(problems), kernels) == each
    assert predictor.rank_many(table(problems), kernels, 1) == [ranking[:1] for ranking in each]
    assert predictor.rank_many([], kernels) == [] and predictor.rank_many(problems, []) == [[], [], []]
    with pytest.raises(TypeError, match="problems: row 1: found a int"):
        predictor.rank_many([problems[0], 7], kernels)
