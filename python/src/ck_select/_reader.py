"""Rows of any kind as columns of the library. Each cell is read once, from a copy or from its owner."""

from __future__ import annotations

import struct
from collections.abc import Sequence, Set
from typing import Any

from . import _sources, _table
from ._table import Cells, Columns


class Kernels:
    """Kernels at one moment: their names, and their cells."""

    __slots__ = ("columns", "names")

    def __init__(self, names: list[Any], columns: Columns) -> None:
        self.names, self.columns = names, columns

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Kernels) or self.columns != other.columns:
            return False
        # 1, True and 1.0 are equal, and other names.
        return self.names == other.names and list(map(type, self.names)) == list(map(type, other.names))

    __hash__ = None  # type: ignore[assignment]


class Reader:
    """Reads the columns of these names. With ``keeps_unknown`` others are there, too, without their cells."""

    def __init__(self, names: Sequence[str], words: Set[str], keeps_unknown: bool = False) -> None:
        self._names, self._words, self._keeps_unknown = names, words, keeps_unknown

    def kernels(self, rows: Any, what: str) -> Kernels:
        """Kernels of any kind."""
        source = _sources.source(rows, what)
        return Kernels(source.kernel_names(), self._columns(source))

    def read(self, rows: Any, what: str = "rows") -> Columns:
        """The columns of rows of any kind."""
        return self._columns(_sources.source(rows, what))

    def _columns(self, source: _sources.Source) -> Columns:
        given = [name for name in self._names if name in source.names]
        read = [_table.of_values(name, source.cells(name), name in self._words) for name in given]
        if self._keeps_unknown:
            # The library looks for misspelt names among these.
            unknown = {name for name in source.names if isinstance(name, str)}.difference(self._names)
            absent = struct.pack("i", -1) * source.rows
            read += [Cells(name, "i", absent, has_absent=True) for name in sorted(unknown)]
        return Columns(source.rows, read)
