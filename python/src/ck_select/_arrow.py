"""Arrow tables through the C stream interface, which pyarrow, polars, pandas, DuckDB and others provide.

None of them is needed. The library reads plain tables itself; these are the others: of decimals, for example.
"""

from __future__ import annotations

import ctypes
import struct
import sys
from collections.abc import Callable
from decimal import Decimal
from typing import Any

from . import _table


class _Schema(ctypes.Structure):
    pass


class _Array(ctypes.Structure):
    pass


class _Stream(ctypes.Structure):
    pass


_Schema._fields_ = [
    ("format", ctypes.c_char_p),
    ("name", ctypes.c_char_p),
    ("metadata", ctypes.c_void_p),
    ("flags", ctypes.c_int64),
    ("n_children", ctypes.c_int64),
    ("children", ctypes.POINTER(ctypes.POINTER(_Schema))),
    ("dictionary", ctypes.POINTER(_Schema)),
    ("release", ctypes.CFUNCTYPE(None, ctypes.POINTER(_Schema))),
    ("private_data", ctypes.c_void_p),
]
_Array._fields_ = [
    ("length", ctypes.c_int64),
    ("null_count", ctypes.c_int64),
    ("offset", ctypes.c_int64),
    ("n_buffers", ctypes.c_int64),
    ("n_children", ctypes.c_int64),
    ("buffers", ctypes.POINTER(ctypes.c_void_p)),
    ("children", ctypes.POINTER(ctypes.POINTER(_Array))),
    ("dictionary", ctypes.POINTER(_Array)),
    ("release", ctypes.CFUNCTYPE(None, ctypes.POINTER(_Array))),
    ("private_data", ctypes.c_void_p),
]
_Stream._fields_ = [
    ("get_schema", ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(_Stream), ctypes.POINTER(_Schema))),
    ("get_next", ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(_Stream), ctypes.POINTER(_Array))),
    ("get_last_error", ctypes.CFUNCTYPE(ctypes.c_char_p, ctypes.POINTER(_Stream))),
    ("release", ctypes.CFUNCTYPE(None, ctypes.POINTER(_Stream))),
    ("private_data", ctypes.c_void_p),
]

_NUMBERS: dict[str, Any] = {
    "c": ctypes.c_int8,
    "C": ctypes.c_uint8,
    "s": ctypes.c_int16,
    "S": ctypes.c_uint16,
    "i": ctypes.c_int32,
    "I": ctypes.c_uint32,
    "l": ctypes.c_int64,
    "L": ctypes.c_uint64,
    "f": ctypes.c_float,
    "g": ctypes.c_double,
}
_TEXTS = ("u", "U", "vu")
# Maximum size of a text that is stored in its view.
_INLINE = 12


class _Owned:
    """A struct from a producer, released with this object."""

    def __init__(self, struct: Any) -> None:
        self.struct = struct

    def __del__(self) -> None:
        if self.struct.release:
            self.struct.release(ctypes.byref(self.struct))


class Columns:
    """A table of cells in the library's form."""

    def __init__(self, cells: dict[str, _table.Cells], rows: int) -> None:
        self.cells = cells
        self.rows = rows

    def __len__(self) -> int:
        return self.rows

    def to_dicts(self) -> list[dict[str, Any]]:
        """The rows, without absent cells."""
        columns = [(name, column.values()) for name, column in self.cells.items()]
        return [{name: values[row] for name, values in columns if values[row] is not None} for row in range(self.rows)]


def read_table(table: Any, is_word: Callable[[str], bool]) -> Columns | None:
    """Reads an object that provides Arrow; None for a single column."""
    capsule = table.__arrow_c_stream__()
    stream = _Stream.from_address(stream_address(capsule))
    schema = _Owned(_Schema())
    _check(stream, stream.get_schema(stream, schema.struct))
    if schema.struct.format != b"+s":
        return None
    fields = [schema.struct.children[place].contents for place in range(schema.struct.n_children)]
    names = [(field.name or b"").decode() for field in fields]
    if len(set(names)) < len(names):
        twice = sorted({name for name in names if names.count(name) > 1})
        raise ValueError(f"the table has columns that stand twice: {', '.join(twice)}")
    chunks = []
    while True:
        chunk = _Owned(_Array())
        _check(stream, stream.get_next(stream, chunk.struct))
        if not chunk.struct.release:
            break
        if chunk.struct.length:
            chunks.append(chunk)
    rows = sum(chunk.struct.length for chunk in chunks)
    cells = {
        name: _column(name, field, [(chunk, place) for chunk in chunks], is_word(name))
        if _readable(field)
        else _Unread(name, field.format.decode(), rows)
        for place, (name, field) in enumerate(zip(names, fields))
    }
    return Columns(cells, rows)


def stream_address(capsule: object) -> int:
    """Where the stream of a capsule is, which the capsule releases."""
    address: int = _pointer(capsule, b"arrow_array_stream")
    return address


_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_pointer.restype, _pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]


def _check(stream: _Stream, code: int) -> None:
    if code:
        message = stream.get_last_error(stream)
        raise OSError(code, message.decode(errors="replace") if message else "the table cannot be read")


def _readable(field: _Schema) -> bool:
    """Whether a column holds numbers or texts, directly or in a dictionary."""
    kind = (field.dictionary.contents if field.dictionary else field).format.decode()
    return kind in _NUMBERS or kind in _TEXTS or kind in ("b", "n", "e") or kind.startswith("d:")


class ArrowCell:
    """Something other than a number or a text."""


class _Unread(_table.Cells):
    """A column of lists, dates and the like. Tables may have such columns if nothing reads them."""

    __slots__ = ("kind", "rows")

    def __init__(self, name: str, kind: str, rows: int) -> None:
        super().__init__(name)
        self.kind = kind
        self.rows = rows

    def values(self) -> list[Any]:
        return [ArrowCell()] * self.rows

    def check(self) -> None:
        expected = "expected numbers, words or truth values"
        raise TypeError(f"{self.name}: found a column of Arrow's type '{self.kind}', {expected}")


def _column(name: str, field: _Schema, parts: list[tuple[_Owned, int]], is_word: bool) -> _table.Cells:
    pieces = (_Piece(field, chunk, place) for chunk, place in parts)
    return _table.of_values(name, [value for piece in pieces for value in piece.values()], is_word)


class _Piece:
    """The cells of a column in one chunk."""

    def __init__(self, field: _Schema, chunk: _Owned, place: int) -> None:
        self._field = field
        self._owner = chunk
        self.kind: str = field.format.decode()
        self.array: Any = chunk.struct.children[place].contents
        self._begin = chunk.struct.offset + self.array.offset
        self._count: int = chunk.struct.length

    def has_nulls(self) -> bool:
        return bool(self.array.null_count and self.array.buffers[0])

    def values(self) -> list[Any]:
        values = _values(self._field, self.array, self._begin, self._count)
        if self.kind == "n" or not self.has_nulls():
            return values
        present = _bits(self.array.buffers[0], self._begin, self._count)
        return [value if here else None for value, here in zip(values, present)]


def _values(field: _Schema, cells: Any, begin: int, count: int) -> list[Any]:
    """Cells of any type; the values behind absent ones are ignored."""
    kind = field.format.decode()
    if kind == "n":
        return [None] * count
    if kind == "b":
        return list(map(bool, _bits(cells.buffers[1], begin, count)))
    if kind in _TEXTS:
        return _text_cells(kind, cells, begin, count)
    if kind == "e":
        return list(struct.unpack(f"{count}e", ctypes.string_at(cells.buffers[1] + 2 * begin, 2 * count)))
    if kind.startswith("d:"):
        return _decimals(kind, cells, begin, count)
    number = _NUMBERS[kind]
    found = list((number * count).from_address(cells.buffers[1] + begin * ctypes.sizeof(number)))
    if field.dictionary:
        words = _listed(field.dictionary.contents, cells.dictionary.contents)
        # The codes of absent cells are arbitrary.
        return [words[code] if 0 <= code < len(words) else None for code in found]
    return found


def _listed(field: _Schema, cells: Any) -> list[Any]:
    """The values of a dictionary."""
    found = _values(field, cells, cells.offset, cells.length)
    if not (cells.null_count and cells.buffers[0]):
        return found
    present = _bits(cells.buffers[0], cells.offset, cells.length)
    return [value if here else None for value, here in zip(found, present)]


def _decimals(kind: str, cells: Any, begin: int, count: int) -> list[Decimal]:
    """Decimals of the type ``d:DIGITS,SCALE`` or ``d:DIGITS,SCALE,BITS``."""
    _, scale, bits = (*map(int, kind[2:].split(",")), 128)[:3]
    size = bits // 8
    packed = ctypes.string_at(cells.buffers[1] + size * begin, size * count)
    wholes = (int.from_bytes(packed[size * row : size * (row + 1)], sys.byteorder, signed=True) for row in range(count))
    return [Decimal(whole).scaleb(-scale) for whole in wholes]


def _text_cells(kind: str, cells: Any, begin: int, count: int) -> list[str]:
    if kind == "vu":
        views = struct.iter_unpack("=i12s", ctypes.string_at(cells.buffers[1] + 16 * begin, 16 * count))
        return [_viewed(cells, length, view).decode(errors="replace") for length, view in views]
    number = ctypes.c_int32 if kind == "u" else ctypes.c_int64
    bounds = (number * (count + 1)).from_address(cells.buffers[1] + begin * ctypes.sizeof(number))[:]
    first, text = bounds[0], b""
    if bounds[-1] > first:
        text = ctypes.string_at(cells.buffers[2] + first, bounds[-1] - first)
    return [text[start - first : end - first].decode(errors="replace") for start, end in zip(bounds, bounds[1:])]


def _viewed(cells: Any, length: int, view: bytes) -> bytes:
    """A text by its length and its view: the text itself if it is short, otherwise its place behind four letters."""
    if length <= _INLINE:
        return view[: max(length, 0)]
    buffer, offset = struct.unpack("=4xii", view)
    return ctypes.string_at(cells.buffers[2 + buffer] + offset, length)


def _bits(address: int, begin: int, count: int) -> list[int]:
    first, last = begin // 8, (begin + count + 7) // 8
    packed = ctypes.string_at(address + first, last - first)
    return [packed[place // 8 - first] >> place % 8 & 1 for place in range(begin, begin + count)]
