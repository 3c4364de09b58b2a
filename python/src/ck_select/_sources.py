"""Where rows come from: lists, and tables of pandas, polars and Arrow, as columns of Python's values."""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Sequence
from functools import cache
from importlib.util import find_spec
from itertools import repeat
from operator import itemgetter
from typing import Any, Protocol

from . import _names, _rows, _table


class Source(Protocol):
    """Rows of named cells."""

    @property
    def names(self) -> Collection[Any]:
        """The names of cells."""

    @property
    def rows(self) -> int:
        """How many there are."""

    def cells(self, name: str) -> Sequence[Any]:
        """The cells of a column that is among the names, as a list or as numpy's numbers; None where there is none."""

    def kernel_names(self) -> list[Any]:
        """The names of the rows' kernels."""


class _Listed:
    """A list of dicts, copied at once: whoever changes the list or a dict meanwhile changes nothing here."""

    def __init__(self, rows: list[dict[Any, Any]]) -> None:
        self._copies = list(map(dict.copy, rows))
        self.rows, self.names = len(self._copies), set().union(*self._copies)

    def cells(self, name: str) -> list[Any]:
        try:
            return list(map(itemgetter(name), self._copies))
        except KeyError:
            return list(map(dict.get, self._copies, repeat(name)))

    def kernel_names(self) -> list[Any]:
        names = self.cells(_names.COLUMNS[0])
        if _table.are_of(names, str):
            return names
        # Some have none, or another key for it.
        return [_names.of_row(row, place) for place, row in enumerate(self._copies)]


class _Columnar:
    """A table whose library gives its columns one by one."""

    def __init__(self, names: list[Any], rows: int, column: Callable[[str], Any]) -> None:
        self.names, self.rows = frozenset(names), rows
        self._column = cache(column)

    def cells(self, name: str) -> Sequence[Any]:
        cells: Sequence[Any] = self._column(name)
        return cells

    def kernel_names(self) -> list[Any]:
        names, labels = (self._listed(name) for name in _names.COLUMNS)
        if _table.are_of(names, str):
            return names
        rows = (dict(zip(_names.COLUMNS, cells)) for cells in zip(names, labels))
        return [_names.of_row(_table.present(row), place) for place, row in enumerate(rows)]

    def _listed(self, name: str) -> list[Any]:
        if name not in self.names:
            return [None] * self.rows
        cells: Any = self.cells(name)
        return list(cells.tolist() if hasattr(cells, "dtype") else cells)


def source(rows: Any, what: str) -> Source:
    """Rows of any kind."""
    if _table.is_frame(rows):
        return _of_pandas(_rows.named(rows))
    if hasattr(rows, "__arrow_c_stream__"):
        table = _rows.table_of_arrow(rows, what)
        if table is not None:
            return _of_polars(table) if hasattr(table, "height") else _of_arrow(table)
    return _Listed(_rows.table(rows, what))


def _of_pandas(frame: Any) -> _Columnar:
    def column(name: str) -> Any:
        column = frame[name]
        # Numbers of numpy's types as an array; what may be absent in pandas' own way as its own values.
        plain = hasattr(column.dtype, "byteorder") and column.dtype.kind in "biuf"
        return column.to_numpy() if plain else column.tolist()

    # A subclass may count otherwise.
    return _Columnar(frame.columns.tolist(), len(frame.index), column)


def _of_polars(frame: Any) -> _Columnar:
    def column(name: str) -> Any:
        column = frame.get_column(name)
        kind = column.dtype
        plain = kind.is_integer() or kind.is_float() or kind == sys.modules["polars"].Boolean
        return column.to_numpy() if plain and _has_numpy() and not column.null_count() else column.to_list()

    return _Columnar(frame.columns, frame.height, column)


def _of_arrow(table: Any) -> _Columnar:
    types = sys.modules["pyarrow"].types

    def column(name: str) -> Any:
        column = table.column(name)
        # Its memory may be of another library, which may be wrong about it.
        column.validate(full=True)
        if types.is_dictionary(column.type):
            column = column.cast(column.type.value_type)
        plain = any(is_kind(column.type) for is_kind in (types.is_integer, types.is_floating, types.is_boolean))
        return column.to_numpy() if plain and _has_numpy() and not column.null_count else column.to_pylist()

    return _Columnar(table.column_names, table.num_rows, column)


@cache
def _has_numpy() -> bool:
    return find_spec("numpy") is not None
