"""Arguments for a problem, a kernel or a list of kernels, as mappings of named cells."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol, Union

from . import _names, _table
from ._problem import Problem


class Pandas(Protocol):
    """A Series of named cells, or a DataFrame."""

    @property
    def iloc(self) -> Any:
        """Cells or rows by position."""


class Tuple(Protocol):
    """A named tuple."""

    def _asdict(self) -> dict[str, Any]: ...


class Record(Protocol):
    """A record of numpy."""

    @property
    def dtype(self) -> Any:
        """Its type, which names the fields."""


class Scalar(Protocol):
    """A struct of Arrow."""

    def as_py(self) -> Any:
        """The struct as a dict."""


class ArrowTable(Protocol):
    """An object that provides Arrow: a DataFrame of polars, a Table or RecordBatch of pyarrow, and others."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...


Config = Union[Mapping[str, Any], Pandas, Tuple, Record, Scalar, Problem, ArrowTable]
"""A kernel, or a problem, by upstream's names: a dict or anything that names its cells as one does."""

Kernel = Union[Config, str]
"""A kernel: its cells, or its name."""

Kernels = Union[Sequence[Kernel], Iterable[Kernel], Pandas, ArrowTable]
"""Kernels: a list of their cells or names, or a table."""

_EXPECTED = "a mapping of named cells, such as a dict"


def mapping(row: Any, what: str) -> Mapping[str, Any]:
    """One row as a mapping; a TypeError for an object without named cells."""
    if type(row) is dict:
        return row
    found = _mapping(row, what)
    if found is None:
        raise TypeError(f"{what}: found a {type(row).__name__}, expected {_EXPECTED}")
    stray = next((key for key in found if not isinstance(key, str)), None)
    if stray is not None:
        raise TypeError(f"{what}: found a {type(row).__name__} whose keys are like {stray!r}, expected {_EXPECTED}")
    return found


def _mapping(row: Any, what: str) -> Mapping[Any, Any] | None:
    if isinstance(row, (str, bytes)):
        return None
    if hasattr(row, "as_py"):
        made = row.as_py()
        return made if isinstance(made, Mapping) else None
    if isinstance(row, Mapping):
        return row
    if callable(getattr(row, "_asdict", None)):
        fields: Mapping[Any, Any] = row._asdict()
        return fields
    if isinstance(row, Problem):
        return row.to_dict()
    if hasattr(row, "iloc") and not hasattr(row, "columns"):
        if not row.index.is_unique:
            raise ValueError(f"{what}: the Series has labels that stand twice")
        return dict(zip(row.index.tolist(), row.tolist()))
    names = getattr(getattr(row, "dtype", None), "names", None)
    if names and getattr(row, "shape", ()) == ():
        return {name: row[name] for name in names}
    if _table.is_frame(row):
        return _only(named(row).to_dict("records"), what)
    if hasattr(row, "__arrow_c_stream__"):
        rows = _of_arrow(row, what)
        return _only(rows, what) if all(isinstance(one, Mapping) for one in rows) else None
    return None


def _only(rows: Sequence[Mapping[Any, Any]], what: str) -> Mapping[Any, Any]:
    if len(rows) != 1:
        raise TypeError(f"{what}: found a table of {len(rows)} rows, expected one row")
    return rows[0]


def kernel(row: Any, what: str = "kernel_config") -> Mapping[str, Any]:
    """One kernel as a mapping; a text is the kernel with that name."""
    if isinstance(row, str):
        if not _names.is_kernel(row):
            _names.cells(row)  # says why
        return {_names.COLUMNS[0]: row}
    return mapping(row, what)


def each(rows: Any, what: str) -> list[Any]:
    """The rows of a list or a table, one by one: mappings, without absent cells if it is a table, or names."""
    if _table.is_frame(rows):
        return list(map(_table.present, named(rows).to_dict("records")))
    if hasattr(rows, "__arrow_c_stream__") and not hasattr(rows, "iloc"):
        return _of_arrow(rows, what)
    if isinstance(rows, (str, bytes)):
        raise ValueError(f"{what}: found the text {rows!r}, expected a list of kernels or of their names")
    if isinstance(rows, Mapping) or not hasattr(rows, "__iter__"):
        raise TypeError(f"{what}: found a {type(rows).__name__}, expected a list of mappings or of names, or a table")
    return list(rows)


def table_of_arrow(table: Any, what: str) -> Any:
    """A DataFrame of polars or a Table of pyarrow, for an object that provides Arrow; None for one that lists its rows.

    An object is asked once: it may have no second capsule to give.
    """
    polars, pyarrow = map(sys.modules.get, ("polars", "pyarrow"))
    if polars is not None and isinstance(table, polars.DataFrame):
        return table
    if pyarrow is None or not isinstance(table, (pyarrow.Table, pyarrow.RecordBatch)):
        if _lister(table) is not None:
            return None
        try:
            pyarrow = importlib.import_module("pyarrow")
        except ImportError as error:
            raise ImportError(f"{what}: pyarrow reads a {type(table).__name__}, and is not installed") from error
        table = pyarrow.table(table)
        table.validate(full=True)
    _check_columns(table.column_names, what)
    return table if isinstance(table, pyarrow.Table) else pyarrow.Table.from_batches([table])


def _lister(table: Any) -> str | None:
    return next((name for name in ("to_dicts", "to_list", "to_pylist") if hasattr(table, name)), None)


def _check_columns(names: list[str], what: str) -> None:
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ValueError(f"{what}: the table has columns that stand twice: {', '.join(twice)}")


def _of_arrow(table: Any, what: str) -> list[Any]:
    """The rows of a table of Arrow, or the cells of a column, as its library lists them; if it does not, pyarrow."""
    known = table_of_arrow(table, what)
    listed = table if known is None else known
    lister = _lister(listed)
    assert lister is not None
    return [_table.present(row) if type(row) is dict else row for row in getattr(listed, lister)()]


def named(frame: Any) -> Any:
    """A DataFrame of pandas, with its named indices as columns. In duplicate ones it is unclear which is meant."""
    if not frame.columns.is_unique:
        twice = sorted(set(frame.columns[frame.columns.duplicated()].astype(str)))
        raise ValueError(f"the DataFrame has duplicate columns: {', '.join(twice)}")
    levels = [name for name in getattr(frame.index, "names", ()) if name is not None and name not in frame.columns]
    return frame.reset_index(level=levels) if levels else frame


def table(rows: Any, what: str) -> list[dict[str, Any]]:
    """Rows as a list of dicts; a text is a kernel's name."""
    listed = each(rows, what)
    if _table.are_of(listed, dict):
        return listed
    return [row if type(row) is dict else dict(kernel(row, f"{what}: row {at}")) for at, row in enumerate(listed)]
