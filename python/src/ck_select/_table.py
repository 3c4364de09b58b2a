"""Rows of named cells as the library takes them: one row as JSON, many rows as columns.

``None`` and NaN are absent cells, as is a missing key.
"""

from __future__ import annotations

import ctypes
import json
import math
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from itertools import chain, count
from operator import itemgetter
from typing import Any, Protocol

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
    """A numpy scalar, an array of one cell, or a scalar of Arrow, as Python's own value."""
    item = getattr(value, "item", None) or getattr(value, "as_py", None)
    if isinstance(value, (Decimal, Fraction)):
        return int(value) if value == int(value) else float(value)
    if item is None:
        raise TypeError(f"a {type(value).__name__} is no cell")
    return item()


_encode = json.JSONEncoder(default=_plain, separators=(",", ":"), allow_nan=False, check_circular=False).encode


def row_json(row: Mapping[str, Any], side_of: Callable[[str], str]) -> bytes:
    """One row as JSON. ``side_of`` tells whether a name is the problem's cell or the kernel's, for errors."""
    try:
        text = _encode(row)
        # A list or a dict can be JSON, but is not a cell; a word with such a letter is.
        if "[" not in text and text.rfind("{") == 0:
            return text.encode()
    except (TypeError, ValueError, OverflowError):
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
    try:
        found = None if is_absent(value) else value if isinstance(value, (int, float, str)) else _plain(value)
    except (TypeError, ValueError, OverflowError):
        found = value
    if found is None or isinstance(found, (int, float, str)):
        return found
    kind = type(value).__name__
    raise TypeError(f"{where}: a cell is a {kind}, expected a number, a word, a truth value or None")


class Texts(Sequence[bytes]):
    """Texts as C has them. Thousands of names are not copied again where they lie so already."""

    def __init__(self, texts: Any, owner: object = None) -> None:
        self.texts, self._owner = texts, owner

    def __len__(self) -> int:
        return len(self.texts)

    def __getitem__(self, place: Any) -> Any:
        return self.texts[place]

    def __reduce__(self) -> tuple[Any, ...]:
        return tuple, (self.texts[:],)


@dataclass
class Cells:
    """The cells of one column in the library's form: one of the three arrays."""

    name: str
    integers: array[int] | None = None
    numbers: array[float] | None = None
    codes: array[int] | None = None
    words: Sequence[bytes] = ()

    def has_absent(self) -> bool:
        """Whether any cell is absent."""
        if self.numbers is not None:
            return any(map(math.isnan, self.numbers))
        return self.codes is not None and min(self.codes, default=0) < 0

    def tolist(self) -> list[Any]:
        """The cells as Python's values, None for absent ones."""
        if self.integers is not None:
            return self.integers.tolist()
        if self.numbers is not None:
            return [None if value != value else value for value in self.numbers]
        words = [word.decode() for word in self.words]
        return [None if code < 0 else words[code] for code in self.codes or ()]


def _of_words(name: str, values: Sequence[Any]) -> Cells:
    if not are_of(values, str):
        values = [_word(value, f"row {row}: {name}") for row, value in enumerate(values)]
    words = dict.fromkeys(values)
    words.pop(None, None)
    codes = array("i", map({None: -1, **dict(zip(words, count()))}.__getitem__, values))
    return Cells(name, codes=codes, words=tuple(map(str.encode, words)))


def _word(value: Any, where: str) -> str | None:
    # Text as is: the words of a `str` enumeration are its values, not its `str()`.
    word = value if isinstance(value, str) else own(value, where)
    if word is None or isinstance(word, str):
        return word
    raise InvalidInputError(f"{where}: found {word}, expected a word", 2)


def _of_numbers(name: str, values: Sequence[Any]) -> Cells:
    try:
        return Cells(name, integers=array("q", values))
    except (TypeError, OverflowError):
        # A fraction, an absent cell, a text, or more than 64 bits.
        if are_of(values, float):
            return Cells(name, numbers=array("d", values))
    plain = [own(value, f"row {row}: {name}") for row, value in enumerate(values)]
    if any(isinstance(value, str) for value in plain):
        return _of_words(name, [value if value is None else str(value) for value in plain])
    return Cells(name, numbers=array("d", [_number(value, f"row {row}: {name}") for row, value in enumerate(plain)]))


def _number(value: float | None, where: str) -> float:
    """A cell as a float, NaN for an absent one; an error for a whole number that a float cannot represent."""
    if isinstance(value, int):
        if not -(2**63) <= value < 2**63:
            raise InvalidInputError(f"{where}: found {value}, expected a number of at most 64 bits", 2)
        if int(float(value)) != value:
            raise InvalidInputError(
                f"{where}: {value} in a column with fractions or absent cells, expected at most {_EXACT}", 2
            )
    return math.nan if value is None else float(value)


def are_of(values: Iterable[Any], *kinds: type) -> bool:
    """Whether all values are of these types, and not of subclasses."""
    return {*kinds}.issuperset(map(type, values))


def of_values(name: str, values: Sequence[Any], is_word: bool) -> Cells:
    """A column from Python values."""
    if name in _names.COLUMNS and not are_of(values, str):
        # A label may be anything.
        return _of_words(name, [cell if is_absent(cell) or isinstance(cell, str) else str(cell) for cell in values])
    return _of_words(name, values) if is_word or name in _names.COLUMNS else _of_numbers(name, values)


def lent(name: str, column: Cells | None, value: Any, borrows: Sequence[bool], is_word: bool) -> Cells:
    """A column with its absent cells replaced by a value, in the rows that borrow. No column: all are absent."""
    have = column.tolist() if column is not None else [None] * len(borrows)
    return of_values(name, [value if cell is None and lacks else cell for cell, lacks in zip(have, borrows)], is_word)


def is_frame(rows: Any) -> bool:
    """Whether rows are a pandas DataFrame, determined without importing pandas."""
    # polars' lazy frames warn if their columns are read.
    return hasattr(rows, "iloc") and hasattr(rows, "columns")


def columns(rows: Sequence[Mapping[str, Any]], inputs: Iterable[str], words: Set[str]) -> list[Cells]:
    """The columns of a list of mappings that are among the inputs."""
    present = set().union(*rows)
    return [of_values(name, [row.get(name) for row in rows], name in words) for name in inputs if name in present]


def kernel_names(rows: Sequence[Any]) -> list[Any]:
    """The names of the kernels of a list."""
    try:
        names = list(map(itemgetter(_names.COLUMNS[0]), rows))
        if are_of(names, str):
            return names
    except KeyError:
        pass  # some have none, or another key for it
    return [_names.of_row(row, place) for place, row in enumerate(rows)]


def names(rows: Iterable[Mapping[str, Any]]) -> list[str]:
    """All names of cells that are strings."""
    return [name for name in dict.fromkeys(chain.from_iterable(rows)) if isinstance(name, str)]


def _address(cells: array[Any] | None) -> int:
    return cells.buffer_info()[0] if cells is not None else 0


def _column(cells: Cells) -> _structs.Column:
    words = cells.words
    return _structs.Column(
        name=cells.name.encode(),
        integers=_address(cells.integers),
        numbers=_address(cells.numbers),
        codes=_address(cells.codes),
        words=words.texts if isinstance(words, Texts) else (ctypes.c_char_p * len(words))(*words),
        word_count=len(words),
    )


class Columns(Protocol):
    """Columns as the library takes them."""

    address: int
    """That of an array of ``ck_column``."""
    count: int
    """How many there are."""

    @property
    def full(self) -> frozenset[str]:
        """The names of those without absent cells."""

    def __iter__(self) -> Iterator[Cells]: ...


class OwnColumns:
    """Columns of Python's arrays."""

    def __init__(self, columns: Iterable[Cells]) -> None:
        self._cells = list(columns)
        self._made = (_structs.Column * len(self._cells))(*map(_column, self._cells))
        self.address, self.count = ctypes.addressof(self._made), len(self._cells)

    @property
    def full(self) -> frozenset[str]:
        """The names of those without absent cells."""
        return frozenset(cells.name for cells in self._cells if not cells.has_absent())

    def __iter__(self) -> Iterator[Cells]:
        return iter(self._cells)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, OwnColumns) and self._cells == other._cells

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> tuple[Any, ...]:
        return OwnColumns, (self._cells,)
