"""What a ranking is to Python: a list of (kernel, TFLOPS), which notebooks show as a table, or a table of a library."""

from __future__ import annotations

import importlib
from array import array
from collections.abc import Sequence
from html import escape
from typing import Any, Literal, SupportsIndex, overload

Library = Literal["pandas", "polars", "pyarrow"]
LIBRARIES = ("pandas", "polars", "pyarrow")
_SHOWN = 20


class Ranking(list[tuple[str, float]]):
    """(name, TFLOPS) of kernels, best first."""

    __slots__ = ()

    @overload
    def __getitem__(self, place: SupportsIndex) -> tuple[str, float]: ...
    @overload
    def __getitem__(self, place: slice) -> Ranking: ...
    def __getitem__(self, place: SupportsIndex | slice) -> tuple[str, float] | Ranking:
        """One place, or a ranking of some."""
        found: Any = super().__getitem__(place)
        return Ranking(found) if isinstance(place, slice) else found

    def __repr__(self) -> str:
        lines = [f"{rank:4}  {tflops:9.1f}  {name}" for rank, (name, tflops) in enumerate(self[:_SHOWN], 1)]
        more = [f"and {len(self) - _SHOWN} more"] if len(self) > _SHOWN else []
        return "\n".join([f"<Ranking of {len(self)} kernels, TFLOPS>", *lines, *more])

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><td>{rank}</td><td>{escape(str(name))}</td><td>{tflops:.1f}</td></tr>"
            for rank, (name, tflops) in enumerate(self[:_SHOWN], 1)
        )
        more = f"<p>and {len(self) - _SHOWN} more</p>" if len(self) > _SHOWN else ""
        return (
            f"<table><thead><tr><th></th><th>kernel</th><th>TFLOPS</th></tr></thead><tbody>{rows}</tbody></table>{more}"
        )


def library_of(kernels: Any) -> str:
    """The library that a table belongs to, otherwise pandas."""
    root = type(kernels).__module__.split(".", 1)[0]
    return root if root in LIBRARIES else "pandas"


def as_table(library: str, names: Sequence[Any], tflops: array[float], scores: array[float], rows: array[int]) -> Any:
    """A ranking as a table: names, TFLOPS, scores and the kernels' indices. The library is imported here only."""
    if library not in LIBRARIES:
        raise ValueError(f"library: found '{library}', expected one of {', '.join(LIBRARIES)}")
    try:
        module, numpy = importlib.import_module(library), importlib.import_module("numpy")
    except ImportError as error:
        raise ImportError(f"rank_frame: {error.name} is not installed") from error
    numbers = {"tflops": tflops, "score": scores, "row": array("q", rows)}
    columns = {"kernel_name": names, **{name: numpy.asarray(cells) for name, cells in numbers.items()}}
    if library == "pandas":
        return module.DataFrame(columns, copy=False)
    texts = list(map(str, names))
    if library == "polars":
        return module.DataFrame({**columns, "kernel_name": texts}, schema_overrides={"kernel_name": module.String})
    return module.table({**columns, "kernel_name": module.array(texts, module.string())})
