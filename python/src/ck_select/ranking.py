"""What a ranking is to Python: a list of (kernel, TFLOPS), which notebooks show as a table, or a table of a library."""

from __future__ import annotations

import importlib
import math
from array import array
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from html import escape
from typing import Any, Literal, NamedTuple, SupportsIndex, Union, overload

Library = Literal["pandas", "polars", "pyarrow"]
LIBRARIES = ("pandas", "polars", "pyarrow")
_SHOWN = 20


@dataclass(frozen=True)
class Sureness:
    """How sure a choice is: the expected loss, as a share of the speed of the best kernel of the pool, and the chance
    that the kernel is within 2 % of the best.

    ``within_90`` and ``within_99``: how many of the first kernels have to be measured for the fastest of them to be
    within 2 % of the best with a chance of 90 and of 99 %.
    """

    expected_loss: float
    chance: float
    within_90: int
    within_99: int


class Expected(NamedTuple):
    """What to expect of a kernel: its time in microseconds, by how much it is slower than the first one, the expected
    loss of choosing it, as a share of the best one's speed, each None if it is not known; and all of that in words.
    """

    time_us: float | None
    slower: float | None
    loss: float | None
    text: str


@dataclass(frozen=True)
class Outlook:
    """What to expect of a ranking's kernels, as ``rank`` and ``Registry.explain`` say it: who ranks, and how sure, in
    one line; how sure the first place is, None if nothing was learned about such choices; and each place.
    """

    heading: str
    sureness: Sureness | None
    places: tuple[Expected, ...]

    @classmethod
    def from_json(cls, fields: dict[str, Any] | None, count: int) -> Outlook | None:
        """The outlook of the first places of a ranking, from the fields that the library writes."""
        if fields is None:
            return None
        sure = [fields[name] for name in ("expected_loss", "chance", "sure_within_90", "sure_within_99")]
        places = tuple(Expected(*(place[name] for name in Expected._fields)) for place in fields["places"][:count])
        return cls(fields["heading"], None if None in sure else Sureness(*sure), places)


def figures(outlook: Outlook | None, count: int) -> dict[str, array[float]]:
    """The figures of ``count`` places by name, NaN where they are not known."""
    places = outlook.places if outlook else (Expected(None, None, None, ""),) * count
    columns = {name: [getattr(place, name) for place in places] for name in ("time_us", "slower", "loss")}
    return {name: array("d", (math.nan if cell is None else cell for cell in cells)) for name, cells in columns.items()}


Expect = Union[Callable[[], Union[Outlook, None]], Outlook, None]


class Ranking(list[tuple[str, float]]):
    """(name, TFLOPS) of kernels, best first, with what to expect of them."""

    __slots__ = ("_expect",)

    def __init__(self, places: Iterable[tuple[str, float]] = (), expect: Expect = None) -> None:
        super().__init__(places)
        # Ranked again when it is first wanted, since most callers take the first kernel.
        self._expect = expect

    @property
    def outlook(self) -> Outlook | None:
        """What to expect; None from a feature engine of your own, and where kernels have problems of their own."""
        if callable(self._expect):
            self._expect = self._expect()
        return self._expect

    def __reduce__(self) -> tuple[Any, ...]:
        return Ranking, (list(self), self.outlook)

    @overload
    def __getitem__(self, place: SupportsIndex) -> tuple[str, float]: ...
    @overload
    def __getitem__(self, place: slice) -> Ranking: ...
    def __getitem__(self, place: SupportsIndex | slice) -> tuple[str, float] | Ranking:
        """One place, or a ranking of some."""
        found: Any = super().__getitem__(place)
        return Ranking(found, lambda: self._some(place)) if isinstance(place, slice) else found

    def _some(self, places: slice) -> Outlook | None:
        return self.outlook and replace(self.outlook, places=self.outlook.places[places])

    def _rows(self) -> Iterable[tuple[int, Any, float, str]]:
        """The first places: number, name, TFLOPS, and what to expect in words."""
        expected = self.outlook.places if self.outlook else ()
        for rank, (name, tflops) in enumerate(self[:_SHOWN], 1):
            yield rank, name, tflops, expected[rank - 1].text if expected else ""

    def __repr__(self) -> str:
        heading = [self.outlook.heading] if self.outlook else []
        lines = [f"{rank:4}  {tflops:9.1f}  {name}  {text}".rstrip() for rank, name, tflops, text in self._rows()]
        more = [f"and {len(self) - _SHOWN} more"] if len(self) > _SHOWN else []
        return "\n".join([f"<Ranking of {len(self)} kernels, TFLOPS>", *heading, *lines, *more])

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><td>{rank}</td><td>{escape(str(name))}</td><td>{tflops:.1f}</td><td>{text}</td></tr>"
            for rank, name, tflops, text in self._rows()
        )
        heading = f"<p>{escape(self.outlook.heading)}</p>" if self.outlook else ""
        more = f"<p>and {len(self) - _SHOWN} more</p>" if len(self) > _SHOWN else ""
        return (
            f"{heading}<table><thead><tr><th></th><th>kernel</th><th>TFLOPS</th><th>expected</th></tr></thead>"
            f"<tbody>{rows}</tbody></table>{more}"
        )


def library_of(kernels: Any) -> str:
    """The library that a table belongs to, otherwise pandas."""
    root = type(kernels).__module__.split(".", 1)[0]
    return root if root in LIBRARIES else "pandas"


def as_table(library: str, names: Sequence[Any], numbers: Mapping[str, array[Any]]) -> Any:
    """A ranking as a table: names, and columns of numbers. The library is imported here only."""
    if library not in LIBRARIES:
        raise ValueError(f"library: found '{library}', expected one of {', '.join(LIBRARIES)}")
    try:
        module, numpy = importlib.import_module(library), importlib.import_module("numpy")
    except ImportError as error:
        raise ImportError(f"rank_frame: {error.name} is not installed") from error
    columns = {"kernel_name": names, **{name: numpy.asarray(cells) for name, cells in numbers.items()}}
    if library == "pandas":
        return module.DataFrame(columns, copy=False)
    texts = list(map(str, names))
    if library == "polars":
        return module.DataFrame({**columns, "kernel_name": texts}, schema_overrides={"kernel_name": module.String})
    return module.table({**columns, "kernel_name": module.array(texts, module.string())})
