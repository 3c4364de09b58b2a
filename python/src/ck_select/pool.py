"""Kernels for which a predictor is prepared, and their cache."""

from __future__ import annotations

from array import array
from typing import Any, Protocol

from . import _rows, _table
from ._forest import PreparedPool
from ._rows import Config
from .ranking import Outlook, Ranking


class Forests(Protocol):
    """What a pool needs of the predictor that made it."""

    def _problem_json(self, problem: Config, without: frozenset[str] = frozenset()) -> bytes:
        """A problem in the library's form."""

    def _predicts_tflops_apart(self) -> bool:
        """Whether it ranks by something other than TFLOPS, and predicts them as well."""

    def _prepared(self, target: str, columns: _table.Columns) -> PreparedPool:
        """One forest prepared for kernels."""

    def _pool_of(self, names: list[Any], columns: _table.Columns) -> Pool:
        """A pool from the data of its kernels."""


class Pool:
    """Kernels prepared for a predictor's ranking forest; made by ``Predictor.prepare``.

    It is a copy: changes to the original objects have no effect. Any number of threads may use it.
    """

    __slots__ = ("_by_tflops", "_columns", "_own", "_partial", "_prepared", "names", "predictor")

    def __init__(
        self,
        predictor: Forests,
        prepared: PreparedPool | None,
        names: list[Any],
        columns: _table.Columns,
        partial: frozenset[str],
        own: frozenset[str],
    ) -> None:
        self.predictor = predictor
        self.names = names
        self._columns = columns
        # The inputs that some kernels lack.
        self._partial = partial
        # The problem's cells that every kernel has itself. They override the problem's.
        self._own = own
        self._prepared = prepared
        # The forest of TFLOPS, if another one ranks: loaded when TFLOPS are first wanted.
        self._by_tflops: PreparedPool | None = None

    def __len__(self) -> int:
        return len(self._columns)

    def __repr__(self) -> str:
        return f"<Pool of {len(self)} kernels for {self.predictor!r}>"

    def compile(self) -> None:
        """Does now what the second ranking would."""
        if self._prepared is not None:
            self._prepared.compile()

    def rank(self, problem: Config, count: int | None = None) -> Ranking:
        """(name, TFLOPS) of the ``count`` best kernels, or of all; best first. See ``Predictor.rank_kernels``."""
        places, tflops = self.rank_tflops(problem, count)
        own = dict(_rows.mapping(problem, "problem"))
        pairs = zip(map(self.names.__getitem__, places), tflops)
        return Ranking(pairs, lambda: self._outlook(own, len(places)))

    def _outlook(self, problem: Config, count: int) -> Outlook | None:
        """What to expect of the ``count`` best kernels."""
        if self._prepared is None:
            return None
        return Outlook.from_json(self._prepared.outlook(self.predictor._problem_json(problem, self._own)), count)

    def rank_tflops(self, problem: Config, count: int | None = None) -> tuple[list[int], list[float]]:
        """The same with each kernel's index in the pool instead of its name: all indices, and all TFLOPS."""
        places, scores = self.rank_places(problem, count)
        return places, self.tflops(problem, places, scores)

    def tflops(self, problem: Config, places: list[int], scores: list[float]) -> list[float]:
        """TFLOPS of ranked kernels; their scores if these are TFLOPS, or if the model predicts none."""
        if not places or not self.predictor._predicts_tflops_apart():
            return scores
        if self._by_tflops is None:
            # Two threads may both make it; either may stay.
            self._by_tflops = self.predictor._prepared("tflops", self._columns)
        rows, values = self._by_tflops.rank(self.predictor._problem_json(problem, self._own), len(self))
        by_row = dict(zip(rows, values))
        return [by_row[place] for place in places]

    def rank_places(self, problem: Config, count: int | None = None) -> tuple[list[int], list[float]]:
        """The same as ``rank_tflops``, with the scores that decide."""
        rows, scores = self.rank_arrays(problem, count)
        return rows.tolist(), scores.tolist()

    def rank_arrays(self, problem: Config, count: int | None = None) -> tuple[array[int], array[float]]:
        """``rank_places`` as arrays that numpy, Arrow and polars accept without a copy."""
        if self._prepared is None:
            return array("Q"), array("d")
        wanted = len(self) if count is None else max(0, min(count, len(self)))
        return self._prepared.rank(self.predictor._problem_json(problem, self._own), wanted)

    def __reduce__(self) -> tuple[Any, ...]:
        # The copy is prepared again where it is unpickled.
        return self.predictor._pool_of, (self.names, self._columns)


_KEPT = 8


class PoolCache:
    """The last few lists of kernels, with their prepared pools.

    A list or a table is found by comparing its cells with those that were read: this takes a few microseconds for 30
    kernels, without a lock, and what was changed in any way is never mistaken for its old contents.
    """

    def __init__(self) -> None:
        # A tuple that is replaced as a whole: racing threads lose an entry at worst.
        self._kept: tuple[tuple[Any, Pool], ...] = ()

    def __reduce__(self) -> tuple[Any, ...]:
        return PoolCache, ()  # the pools of a copy are its own

    def find(self, contents: Any) -> Pool | None:
        """The pool of unchanged kernels."""
        return next((pool for known, pool in self._kept if known == contents), None)

    def keep(self, contents: Any, pool: Pool) -> Pool:
        """Remembers a prepared pool, unless None stands for its kernels, which equals no others."""
        if contents is not None:
            self._kept = ((contents, pool), *self._kept[: _KEPT - 1])
        return pool
