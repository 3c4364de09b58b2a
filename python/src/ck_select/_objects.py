"""Lists of plain dicts and tables of Arrow, whose cells the library reads where they lie."""

from __future__ import annotations

import ctypes
import sys
from array import array
from collections.abc import Iterator, Mapping, Sequence, Set
from itertools import compress
from typing import Any

from . import _names, _rows, _structs, _table
from ._library import Handle, lib
from ._table import Cells

# Only CPython with its global lock, whose objects begin with a count and a type, can be read.
_READABLE = sys.implementation.name == "cpython" and object.__basicsize__ == 2 * ctypes.sizeof(ctypes.c_void_p)
_FUNCTIONS = {
    "list_item": "PyList_GetItem",
    "dict_next": "PyDict_Next",
    "utf8": "PyUnicode_AsUTF8AndSize",
    "whole": "PyLong_AsLongLongAndOverflow",
    "number": "PyFloat_AsDouble",
}
_FULL = 2


def _held(name: str, arguments: int) -> Any:
    """A function that reads, which keeps other threads from changing what it reads."""
    function = ctypes.PyDLL("", handle=lib._handle)[name]
    function.argtypes = [ctypes.c_void_p] * arguments
    function.restype = ctypes.c_int32
    return function


_read, _read_cells = _held("ck_table_read", 4), _held("ck_table_read_cells", 7)
_read_arrow = _held("ck_table_read_arrow", 4)
# Where the stream of a capsule is, which the capsule releases.
_stream = ctypes.pythonapi.PyCapsule_GetPointer
_stream.restype, _stream.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]


class Table:
    """The cells of rows in the library's memory."""

    __slots__ = ("_handle", "address", "count", "full", "rows")

    def __init__(self, handle: Handle, full: frozenset[str], columns: tuple[int, int], rows: int) -> None:
        self._handle = handle
        self.full = full
        self.address, self.count = columns
        self.rows = rows

    def __len__(self) -> int:
        return self.rows

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Table) and bool(lib.ck_table_equals(self._handle.address, other._handle.address))

    def __iter__(self) -> Iterator[Cells]:
        return map(self._copied, self._raw())

    @property
    def columns(self) -> list[str]:
        """Their names."""
        return [column.name.decode() for column in self._raw()]

    def __getitem__(self, name: str) -> Cells:
        return self._copied(self._raw()[self.columns.index(name)])

    def _raw(self) -> Any:
        return (_structs.Column * self.count).from_address(self.address)

    def kernel_names(self) -> list[Any]:
        """The names of the kernels, by their places where there is none."""
        column = next((name for name in _names.COLUMNS if name in self.columns), None)
        found = self[column].tolist() if column is not None else [None] * self.rows
        return [f"kernel_{row}" if name is None else name for row, name in enumerate(found)]

    def _copied(self, column: Any) -> Cells:
        def numbers(kind: str, address: int | None) -> Any:
            size = array(kind).itemsize * self.rows
            return array(kind, ctypes.string_at(address, size)) if address else None

        words = ctypes.cast(column.words, ctypes.POINTER(ctypes.c_char_p * column.word_count))
        return Cells(
            column.name.decode(),
            integers=numbers("q", column.integers),
            numbers=numbers("d", column.numbers),
            codes=numbers("i", column.codes),
            words=_table.Texts(words.contents, self._handle) if column.word_count else (),
        )


class Reader:
    """Reads the columns of these names. With ``keeps_unknown`` others are there, too, without their cells."""

    def __init__(self, names: Sequence[str], words: Set[str], keeps_unknown: bool = False) -> None:
        kinds = bytes(2 if name in _names.COLUMNS else int(name in words) for name in names)
        self._names, self._words, self._keeps_unknown = names, words, keeps_unknown
        self._kinds = ctypes.create_string_buffer(kinds)
        self._full: dict[bytes, frozenset[str]] = {}
        self._how = _structs.Objects(
            **{field: ctypes.cast(ctypes.pythonapi[name], ctypes.c_void_p) for field, name in _FUNCTIONS.items()},
            none=id(None),
            types=(ctypes.c_void_p * 5)(*map(id, (dict, str, int, bool, float))),
            names=(ctypes.c_char_p * len(names))(*map(str.encode, names)),
            kinds=ctypes.addressof(self._kinds),
            name_count=len(names),
            keeps_unknown=keeps_unknown,
        )
        self._how_address = ctypes.addressof(self._how)

    def __reduce__(self) -> tuple[Any, ...]:
        return Reader, (self._names, self._words, self._keeps_unknown)

    def columns(self, rows: Any, what: str) -> tuple[_table.Columns, int]:
        """The columns of rows of any kind, and how many rows there are."""
        plain = self.read(rows)
        if plain is not None:
            return plain, len(plain)
        listed = _rows.table(rows, what)
        return self.columns_of(listed), len(listed)

    def columns_of(self, rows: list[Mapping[str, Any]]) -> _table.OwnColumns:
        """The columns of rows that are not plain."""
        found = _table.columns(rows, self._names, self._words)
        if self._keeps_unknown:
            # The library looks for misspelt names among these.
            absent, known = array("i", [-1]) * len(rows), frozenset(self._names)
            found += [Cells(name, codes=absent) for name in _table.names(rows) if name not in known]
        return _table.OwnColumns(found)

    def read(self, rows: Any) -> Table | None:
        """The cells of a list of dicts, of a DataFrame of pandas or of a table of Arrow; None for other rows, and for
        those with a cell that is not plain.
        """
        address = ctypes.c_void_p()
        into, count = ctypes.addressof(address), len(rows) if hasattr(rows, "__len__") else 0
        try:
            if not _READABLE or count == 0:
                return None
            if type(rows) in (list, tuple):
                listed = list(rows)  # that nobody else changes
                status = _read(self._how_address, id(listed), count, into)
            elif _table.is_frame(rows):
                status = self._read_frame(_rows.named(rows), count, into)
            elif hasattr(rows, "__arrow_c_stream__"):
                capsule = rows.__arrow_c_stream__()
                status = _read_arrow(self._how_address, _stream(capsule, b"arrow_array_stream"), count, into)
            else:
                return None
        except UnicodeError:
            return None  # a text that is none
        return self._made(address, count) if status == 0 else None

    def _read_frame(self, frame: Any, count: int, into: int) -> int:
        # Absent cells of pandas' own types are of a type of their own; to look for them takes twice as long.
        is_na = any(_table.is_na(getattr(kind, "na_value", None)) for kind in frame.dtypes)
        names, cells = frame.columns.tolist(), frame.to_numpy(dtype=object, **({"na_value": None} if is_na else {}))
        strides = (ctypes.c_ssize_t * 2)(*cells.strides)
        first = cells.__array_interface__["data"][0]
        how, given = self._how_address, (id(names), len(names), first, ctypes.addressof(strides), count, into)
        status: int = _read_cells(how, *given)
        return status

    def _made(self, address: ctypes.c_void_p, rows: int) -> Table:
        handle = Handle(address, lib.ck_table_destroy)
        columns, count, states = (ctypes.c_size_t * 3).from_address(address.value or 0)
        state = ctypes.string_at(states, len(self._names))
        full = self._full.get(state)
        if full is None:
            full = self._full[state] = frozenset(compress(self._names, map(_FULL.__eq__, state)))
        return Table(handle, full, (columns, count), rows)
