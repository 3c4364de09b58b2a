"""What upstream's own tests ask of its search, and that draws are upstream's."""

from __future__ import annotations

import random

import pytest
from support import CONV_MODEL, GEMM_MODEL, gemm_problem

from ck_select import Predictor, SurrogateSearch

SHAPES = [gemm_problem(m=128, n=1536, k=7168), gemm_problem(m=1, n=4096, k=4096)]


@pytest.mark.parametrize("strategy", ["random", "de"])
@pytest.mark.parametrize("problem", SHAPES, ids=["small", "one row"])
def test_results_are_in_the_space_and_descending(predictor, strategy, problem):
    results = SurrogateSearch(predictor, strategy=strategy).search(problem, budget=60, top_k=5)
    scores = [score for _, score in results]
    assert 1 <= len(results) <= 5 and scores == sorted(scores, reverse=True)
    space = predictor.feature_engine.get_parameter_space()
    for config, score in results:
        assert list(config) == list(space) and all(config[name] in values for name, values in space.items())
        assert predictor.feature_engine.validate_config(config)
        assert score == predictor.predict_tflops(problem, config)


def test_draws_are_one_stream_in_upstreams_order(predictor):
    """By hand: each parameter in order, up to 50 tries for a valid point, all kept."""
    draw = random.Random(7)
    engine = predictor.feature_engine
    space = engine.get_parameter_space()
    for budget in (20, 10):
        drawn = []
        for _ in range(budget):
            for _attempt in range(50):
                config = {name: draw.choice(values) for name, values in space.items()}
                if engine.validate_config(config):
                    drawn.append((config, predictor.predict_tflops(SHAPES[0], config)))
                    break
        drawn.sort(key=lambda pair: -pair[1])
        if budget == 20:
            search = SurrogateSearch(predictor, seed=7)
        assert search.search(SHAPES[0], budget=budget, top_k=30) == drawn


def test_an_error_of_the_first_population_is_raised(predictor):
    class Refusing:
        feature_engine = predictor.feature_engine

        def predict_tflops(self, problem, config):
            raise ArithmeticError("no")

    with pytest.raises(ArithmeticError, match="no"):
        SurrogateSearch(Refusing(), strategy="de").search(SHAPES[0])


def test_budgets(predictor):
    assert SurrogateSearch(predictor).search(SHAPES[0], budget=0) == []
    # Evolution predicts its first population whatever the budget; below 40 there is no generation.
    few = SurrogateSearch(predictor, strategy="de").search(SHAPES[0], budget=0, top_k=50)
    assert len(few) == 20 and few == SurrogateSearch(predictor, strategy="de").search(SHAPES[0], budget=39, top_k=50)
    assert few != SurrogateSearch(predictor, strategy="de").search(SHAPES[0], budget=40, top_k=50)
    random_best = SurrogateSearch(predictor).search(SHAPES[0], budget=200)[0][1]
    assert SurrogateSearch(predictor, strategy="de").search(SHAPES[0], budget=200)[0][1] >= 0.9 * random_best


def test_evolution_only_improves(predictor):
    options = {"pop_size": 10, "mutation_rate": 0.5, "crossover_rate": 0.9}
    generations = [
        SurrogateSearch(predictor, strategy="de").search(SHAPES[0], budget=budget, top_k=10, **options)
        for budget in (10, 20, 60)
    ]
    for worse, better in zip(generations, generations[1:]):
        assert all(old <= new for (_, old), (_, new) in zip(worse, better))
    # Without mutation every trial is its parent, which stays.
    frozen = SurrogateSearch(predictor, strategy="de").search(SHAPES[0], 60, 20, mutation_rate=0.0)
    assert frozen == SurrogateSearch(predictor, strategy="de").search(SHAPES[0], 20, 20)
    # Too few members to take values of three others.
    assert len(SurrogateSearch(predictor, strategy="de").search(SHAPES[0], 8, 20, pop_size=3)) == 8


def test_what_cannot_be_searched_is_refused_when_searching(predictor):
    for kind, search, message in (
        (ValueError, SurrogateSearch(predictor, strategy="magic"), "found 'magic'"),
        (ValueError, SurrogateSearch(Predictor(CONV_MODEL)), "GroupedConvFeatureEngine has no parameter space"),
        (ValueError, SurrogateSearch(Predictor(CONV_MODEL), strategy="de"), "has no parameter space"),
        (TypeError, SurrogateSearch(5), "predictor: found a int, expected one with predict_tflops"),
    ):
        with pytest.raises(kind, match=message):
            search.search(SHAPES[0])


def test_points_that_cannot_be_predicted_are_left_out(trained):
    """The engine with vector widths refuses points without them; with them in the problem it predicts."""
    predictor = Predictor(trained("gemm78vec"))
    with pytest.warns(RuntimeWarning, match="5 configurations were left out: vec_a: absent from both"):
        assert SurrogateSearch(predictor).search(gemm_problem(), budget=5) == []
    asked = gemm_problem(arch="gfx950", vec_a=0, vec_b=0, vec_c=0)
    assert len(SurrogateSearch(predictor).search(asked, budget=5)) == 5


class Heights:
    """A predictor of one's own, that is none of ours."""

    def __init__(self, refused=None):
        self.refused = refused
        self.asked = 0

    def predict_tflops(self, problem, kernel_config):
        self.asked += 1
        if kernel_config["tile_m"] == self.refused:
            raise RuntimeError("not this tile")
        return float(kernel_config["tile_m"] + problem["m"])


def test_anything_that_predicts_may_be_searched():
    scorer = Heights()
    found = SurrogateSearch(scorer).search({"m": 1}, budget=60, top_k=3)
    assert [score for _, score in found] == [257.0] * 3 and scorer.asked == 60
    assert SurrogateSearch(Heights(), strategy="de").search({"m": 1}, budget=60)[0][1] == 257.0
    with pytest.warns(RuntimeWarning, match="configurations were left out: not this tile"):
        found = SurrogateSearch(Heights(refused=256)).search({"m": 1}, budget=60)
    assert found and all(config["tile_m"] < 256 for config, _ in found)


def test_a_predictors_own_predictions_count():
    class Small(Predictor):
        def predict_tflops(self, problem, kernel_config):
            return -float(kernel_config["tile_m"])

    for strategy in ("random", "de"):
        found = SurrogateSearch(Small(GEMM_MODEL), strategy=strategy).search(gemm_problem(), budget=60, top_k=3)
        assert all(score == -config["tile_m"] for config, score in found)


def test_draws_go_on_after_an_error():
    """A first population that cannot be scored costs the draws up to the one that failed, and no more."""

    class Failing:
        left = 2

        def predict_tflops(self, problem, kernel_config):
            self.left -= 1
            if self.left == 0:
                raise RuntimeError("no answer")
            return 1.0

    search = SurrogateSearch(Failing(), strategy="de", seed=3)
    with pytest.raises(RuntimeError, match="no answer"):
        search.search({"m": 1}, budget=40)
    drawn = SurrogateSearch(Failing(), seed=3)
    assert next(search._draw(1)) == list(drawn._draw(3))[2]
