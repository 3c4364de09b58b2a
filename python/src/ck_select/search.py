"""Search for kernels that do not exist yet, with a forest instead of the GPU."""

from __future__ import annotations

import random
import warnings
from collections.abc import Iterator, Mapping
from typing import Any, Protocol

from . import _rows
from ._rows import Config
from .engines import FeatureEngine, GemmUniversalFeatureEngine

Scored = tuple[dict[str, Any], float]

_ATTEMPTS = 50


class Scorer(Protocol):
    """Replaces the GPU in a search."""

    def predict_tflops(self, problem: Any, kernel_config: Any) -> float:
        """TFLOPS of one kernel."""


class SurrogateSearch:
    """Searches the engine's parameter space for the configurations with the highest predicted TFLOPS.

    ``predictor`` is a :class:`Predictor`, one of your own class, or any object with ``predict_tflops``. ``strategy`` is
    ``"random"`` or ``"de"`` (discrete differential evolution). Draws come from one Mersenne Twister with ``seed``, in
    upstream's order, and continue from search to search.
    """

    def __init__(
        self,
        predictor: Scorer,
        feature_engine: FeatureEngine | None = None,
        strategy: str = "random",
        seed: int = 42,
    ) -> None:
        engine: Any = feature_engine if feature_engine is not None else getattr(predictor, "feature_engine", None)
        self._predictor = predictor
        self._fe: Any = engine if engine is not None else GemmUniversalFeatureEngine()
        self._strategy = strategy
        self._random = random.Random(seed)
        self._refused: list[Exception] = []
        self._space: dict[str, list[Any]] = self._fe.get_parameter_space()

    def search(self, problem: Config, budget: int = 500, top_k: int = 10, **options: Any) -> list[Scored]:
        """The ``top_k`` best (configuration, TFLOPS), best first, after about ``budget`` predictions.

        ``de`` takes the options ``pop_size`` (20), ``mutation_rate`` (0.3) and ``crossover_rate`` (0.7), and predicts
        its whole first population regardless of the budget. ``random`` ignores options, as in upstream. An engine
        without a parameter space, such as that of convolutions, is a ``ValueError``. Configurations that the predictor
        refuses are left out, as in upstream, with a warning that says how many and why; if it refuses all, the result
        is empty, as in upstream. Only an error of ``de``'s first population is raised, as in upstream, too.
        """
        if self._strategy not in ("random", "de"):
            raise ValueError(f"strategy: found '{self._strategy}', expected 'random' or 'de'")
        if not self._space:
            raise ValueError(f"{type(self._fe).__name__} has no parameter space: there is nothing to search")
        if not callable(getattr(self._predictor, "predict_tflops", None)):
            raise TypeError(f"predictor: found a {type(self._predictor).__name__}, expected one with predict_tflops")
        asked = _rows.mapping(problem, "problem")
        self._refused = []
        found = (
            self._random_search(asked, budget, top_k)
            if self._strategy == "random"
            else self._evolve(asked, budget, top_k, **options)
        )
        if self._refused:
            count, first = len(self._refused), self._refused[0]
            warnings.warn(f"{count} configurations were left out: {first}", RuntimeWarning, stacklevel=2)
        return found

    def _draw(self, count: int) -> Iterator[dict[str, Any]]:
        """At most so many configurations that could be kernels."""
        for _ in range(count):
            for _ in range(_ATTEMPTS):
                config = {name: self._random.choice(values) for name, values in self._space.items()}
                if self._fe.validate_config(config):
                    yield config
                    break

    def _random_search(self, problem: Mapping[str, Any], budget: int, top_k: int) -> list[Scored]:
        scored = [self._scored(problem, config) for config in self._draw(budget)]
        return _best([found for found in scored if found is not None], top_k)

    def _scored(self, problem: Mapping[str, Any], config: dict[str, Any]) -> Scored | None:
        """A configuration with its prediction; None if it has none."""
        try:
            return config, self._predictor.predict_tflops(problem, config)
        except Exception as error:
            # A caller's predictor may raise anything; search() reports it.
            self._refused.append(error)
            return None

    def _evolve(
        self,
        problem: Mapping[str, Any],
        budget: int,
        top_k: int,
        pop_size: int = 20,
        mutation_rate: float = 0.3,
        crossover_rate: float = 0.7,
    ) -> list[Scored]:
        # Each is scored before the next is drawn, so that after an error the draws continue as in upstream.
        population = [(config, self._predictor.predict_tflops(problem, config)) for config in self._draw(pop_size)]
        if len(population) < 4:
            return self._random_search(problem, budget, top_k)
        for _ in range((budget - len(population)) // pop_size):
            # All trials of a generation derive from the previous one.
            trials = [self._trial(place, population, mutation_rate, crossover_rate) for place in range(len(population))]
            scored = [None if trial is None else self._scored(problem, trial) for trial in trials]
            population = [
                found if found is not None and found[1] > parent[1] else parent
                for parent, found in zip(population, scored)
            ]
        return _best(population, top_k)

    def _trial(
        self, place: int, population: list[Scored], mutation_rate: float, crossover_rate: float
    ) -> dict[str, Any] | None:
        """A member with values of three others; None if it could not be a kernel."""
        parent = population[place][0]
        others = [other for other in range(len(population)) if other != place]
        donors = [population[other][0] for other in self._random.sample(others, 3)]
        trial = dict(parent)
        for name in self._space:
            if self._random.random() < mutation_rate:
                trial[name] = self._random.choice(donors)[name]
            if self._random.random() > crossover_rate:
                trial[name] = parent[name]
        return trial if self._fe.validate_config(trial) else None


def _best(scored: list[Scored], count: int) -> list[Scored]:
    return sorted(scored, key=lambda pair: -pair[1])[:count]
