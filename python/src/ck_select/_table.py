"""Rows of named cells as the library takes them: one row as JSON, many rows as columns.

``None`` and NaN are absent cells, as is a missing key.
"""

from __future__ import annotations

import ctypes
import json
import math
import struct
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from itertools import count
from typing import Any

from . import _names, _structs
from .errors import InvalidInputError

_EXACT = 2**53


def is_na(value: Any) -> bool:
    """Whether a cell is absent in pandas' own way."""
    return type(value).__name__ in ("NAType", "NaTType")


def is_absent(value: Any) -> bool:
    """Whether a cell is absent: None, NaN, or pandas' equivalents."""
    if value is None:
        return True
    if isinstance(value, (int, str)):
        return False
    if is_na(value):
        return True
    try:
        return bool(value != value)
    except (TypeError, ValueError):
        return False  # an array of several numbers, which is not a cell, and not an absent one


def present(row: Mapping[str, Any]) -> dict[str, Any]:
    """A row without its absent cells."""
    return {name: cell for name, cell in row.items() if not is_absent(cell)}


def _plain(value: Any) -> Any:
    """A numpy scalar, an array of one cell, a scalar of Arrow, or a dtype of torch, as Python's own value."""
    if _names.is_torch_dtype(value):
        return _names.word_of_torch(value)
    item = getattr(value, "item", None) or getattr(value, "as_py", None)
    if isinstance(value, (Decimal, Fraction)):
        if _is_long(value):
            raise OverflowError
        return int(value) if value == int(value) else float(value)
    if item is None:
        raise TypeError(f"a {type(value).__name__} is no cell")
    return item()


def _is_long(value: Any) -> bool:
    """Whether a decimal has so many digits before its point that no column holds it. Some take forever to write out."""
    return isinstance(value, Decimal) and value.is_finite() and value.adjusted() > 19


_encode = json.JSONEncoder(default=_plain, separators=(",", ":"), allow_nan=False, check_circular=False).encode


def row_json(row: Mapping[str, Any], side_of: Callable[[str], str]) -> bytes:
    """One row as JSON. ``side_of`` tells whether a name is the problem's cell or the kernel's, for errors."""
    try:
        text = _encode(row)
        # A list or a dict can be JSON, but is not a cell; a word with such a letter is.
        if "[" not in text and text.rfind("{") == 0:
            return text.encode()
    except (TypeError, ValueError, OverflowError, RecursionError):
        pass  # NaN is not JSON, and pandas' NA is not a number
    # The same without absent cells, or an error that names the invalid one.
    return _encode({name: value for name, value in row.items() if _is_cell(name, value, side_of)}).encode()


def _is_cell(name: str, value: Any, side_of: Callable[[str], str]) -> bool:
    """Whether a cell is present; an error for an invalid cell."""
    found = own(value, f"{side_of(name)}: {name}")
    if isinstance(found, float) and math.isinf(found):
        raise InvalidInputError(f"{side_of(name)}: {name}: found {found}, expected one finite number", 2)
    return found is not None


def own(value: Any, where: str) -> Any:
    """A cell as Python's own number or text, None for an absent one; an error for an invalid cell."""
    if _is_long(value):
        raise _too_large(value, where)
    if _names.is_torch_dtype(value):
        return _names.word_of_torch(value)
    try:
        found = None if is_absent(value) else value if isinstance(value, (int, float, str)) else _plain(value)
    except (TypeError, ValueError, ArithmeticError):
        found = value
    if found is None or isinstance(found, (int, float, str)):
        return found
    kind = type(value).__name__
    raise TypeError(f"{where}: a cell is a {kind}, expected a number, a word, a truth value or None")


def _too_large(value: Any, where: str) -> InvalidInputError:
    return InvalidInputError(f"{where}: found {value}, expected a number of at most 64 bits", 2)


@dataclass(frozen=True)
class Cells:
    """The cells of one column in the library's form, which nobody changes."""

    name: str
    kind: str
    """Whole numbers (``q``), numbers with NaN for absent cells (``d``), or places of words, -1 for these (``i``)."""
    values: bytes
    words: bytes = b""
    """One text, in which each word ends with NUL."""
    has_absent: bool = False
    """Whether any cell is absent."""

    def __len__(self) -> int:
        return len(self.values) // struct.calcsize(self.kind)

    def tolist(self) -> list[Any]:
        """The cells as Python's values, None for absent ones."""
        values = struct.unpack(f"{len(self)}{self.kind}", self.values)
        if self.kind == "i":
            words = self.words.decode().split("\0")[:-1]
            return [None if code < 0 else words[code] for code in values]
        return [None if value != value else value for value in values]


def _packed(kind: str, values: Sequence[Any]) -> bytes:
    return struct.pack(f"{len(values)}{kind}", *values)


def _of_words(name: str, values: Sequence[Any]) -> Cells:
    codes: defaultdict[Any, int] = defaultdict(count().__next__)
    try:
        numbered = list(map(codes.__getitem__, values))
    except TypeError:
        numbered = None  # what has no hash is no word either
    if numbered is None or not are_of(codes, str, type(None)):
        return _of_words(name, [_word(value, f"row {row}: {name}") for row, value in enumerate(values)])
    nothing = codes.pop(None, None)
    if nothing is not None:
        # The words after it move up.
        numbered = [-1 if code == nothing else code - (code > nothing) for code in numbered]
    return Cells(name, "i", _packed("i", numbered), _text(name, list(codes)), nothing is not None)


def _text(name: str, words: Sequence[str]) -> bytes:
    text = "\0".join([*words, ""])
    if text.count("\0") != len(words):
        word = next(word for word in words if "\0" in word)
        raise InvalidInputError(f"{name}: found {word!r}, expected a text without NUL", 2)
    return text.encode()


def _word(value: Any, where: str) -> str | None:
    word = value if isinstance(value, str) else own(value, where)
    if word is None or isinstance(word, str):
        # The words of a `str` enumeration are its values, not its `str()`.
        return word and str.__str__(word)
    raise InvalidInputError(f"{where}: found {word}, expected a word", 2)


def _of_numbers(name: str, values: Sequence[Any]) -> Cells:
    try:
        return Cells(name, "q", _packed("q", values))
    except (struct.error, TypeError, OverflowError):
        pass  # a fraction, an absent cell, a text, or more than 64 bits
    if not are_of(values, float):
        plain = [
            value if type(value) is float else own(value, f"row {row}: {name}") for row, value in enumerate(values)
        ]
        if any(isinstance(value, str) for value in plain):
            return _of_words(name, [value if value is None else str(value) for value in plain])
        values = [_number(value, row, name) for row, value in enumerate(plain)]
    return Cells(name, "d", _packed("d", values), has_absent=any(map(math.isnan, values)))


def _number(value: float | None, row: int, name: str) -> float:
    """A cell as a float, NaN for an absent one; an error for a whole number that a float cannot represent."""
    if isinstance(value, int):
        where = f"row {row}: {name}"
        if not -(2**63) <= value < 2**63:
            raise _too_large(value, where)
        if int(float(value)) != value:
            raise InvalidInputError(
                f"{where}: {value} in a column with fractions or absent cells, expected at most {_EXACT}", 2
            )
    return math.nan if value is None else float(value)


def _of_array(name: str, values: Any) -> Cells:
    """A column from numpy's numbers."""
    if values.dtype.kind == "f":
        return Cells(name, "d", values.astype("d").tobytes(), has_absent=bool((values != values).any()))
    return Cells(name, "q", values.astype("q").tobytes())


def are_of(values: Iterable[Any], *kinds: type) -> bool:
    """Whether all values are of these types, and not of subclasses."""
    return {*kinds}.issuperset(map(type, values))


def of_values(name: str, values: Sequence[Any], is_word: bool) -> Cells:
    """A column from Python values, or an array of numpy's numbers."""
    is_name = name in _names.COLUMNS
    numbers: Any = values if hasattr(values, "dtype") else None
    if numbers is not None:
        if not (is_word or is_name or numbers.dtype == "uint64"):
            return _of_array(name, numbers)
        values = numbers.tolist()
    if is_name and not are_of(values, str):
        # A label may be anything.
        values = [cell if is_absent(cell) or isinstance(cell, str) else str(cell) for cell in values]
    return _of_words(name, values) if is_word or is_name else _of_numbers(name, values)


def lent(name: str, column: Cells | None, value: Any, borrows: Sequence[bool], is_word: bool) -> Cells:
    """A column with its absent cells replaced by a value, in the rows that borrow. No column: all are absent."""
    have = column.tolist() if column is not None else [None] * len(borrows)
    return of_values(name, [value if cell is None and lacks else cell for cell, lacks in zip(have, borrows)], is_word)


def is_frame(rows: Any) -> bool:
    """Whether rows are a pandas DataFrame, determined without importing pandas."""
    # polars' lazy frames warn if their columns are read.
    return hasattr(rows, "iloc") and hasattr(rows, "columns")


_FIELDS = {"q": "integers", "d": "numbers", "i": "codes"}


class Columns:
    """Columns of one length as the library takes them, in memory that nobody changes."""

    def __init__(self, rows: int, columns: Iterable[Cells]) -> None:
        self._rows, self._cells = rows, list(columns)
        self.count = len(self._cells)
        for cells in self._cells:
            if len(cells) != rows:
                raise ValueError(
                    f"{cells.name}: found {len(cells)} cells, expected {rows}: the table changed while it was read"
                )
        self._made = (_structs.Column * self.count)()
        self._values = (ctypes.c_char_p * self.count)(*(cells.values for cells in self._cells))
        places = (ctypes.c_size_t * self.count).from_buffer(self._values)
        for column, cells, place in zip(self._made, self._cells, places):
            column.__init__(name=cells.name.encode(), words=cells.words, word_bytes=len(cells.words))
            setattr(column, _FIELDS[cells.kind], place)
        self.address = ctypes.addressof(self._made)

    @property
    def full(self) -> frozenset[str]:
        """The names of those without absent cells."""
        return frozenset(cells.name for cells in self._cells if not cells.has_absent)

    def __len__(self) -> int:
        return self._rows

    def __iter__(self) -> Iterator[Cells]:
        return iter(self._cells)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Columns) and (self._rows, self._cells) == (other._rows, other._cells)

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> tuple[Any, ...]:
        return Columns, (self._rows, self._cells)
