"""What problems of all operations share: their fields in the library's form, and back."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import cache
from operator import index, setitem
from typing import Any, ClassVar, NamedTuple

from . import _structs
from ._fields import FIELDS
from ._library import check, lib
from .errors import InvalidInputError


class _Place(NamedTuple):
    """A field of a class in the struct: a member, a member of a part of the struct, or an element of a member."""

    name: str
    part: str
    member: Any
    put: Callable[[Any, Any, Any], None]
    number: Callable[[Any], Any]
    value: Callable[[Any], Any]


def _place(name: str, path: str, kind: Any) -> _Place:
    part, _, member = path.rpartition(".")
    if isinstance(kind, tuple):
        number, value = (lambda word: code(name, word, kind)), kind.__getitem__
    else:
        number, value = _KINDS[kind]
    if member.isdigit():
        return _Place(name, part, int(member), setitem, number, value)
    return _Place(name, part, member, setattr, number, value)


def _majors(layout: str) -> tuple[int, ...]:
    if len(layout) != 3 or any(letter not in "rcp" for letter in layout):
        raise ValueError(f"layout: found '{layout}', expected three letters of r, c and p")
    return tuple(map("rcp".index, layout))


# What a value of each kind is in the struct, and back. ctypes refuses numpy's integers.
_KINDS: dict[type, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    int: (index, int),
    bool: (bool, bool),
    str: (lambda word: word.encode() if word else None, lambda word: word.decode() if word else None),
    tuple: (
        lambda extents: tuple(map(index, extents or (0, 0, 0))),
        lambda extents: tuple(extents) if any(extents) else None,
    ),
    list: (_majors, lambda majors: "".join("rcp"[major] for major in majors)),
}


@cache
def _places_of(problems: Any) -> tuple[_Place, ...]:
    """Where the fields of a class are; one that stands for several is in several places."""
    table, together = FIELDS[problems.OPERATION], problems.TOGETHER
    places = {field.name: together.get(field.name, (field.name,)) for field in fields(problems)}
    places.update({name: (name,) for name in table if name not in places and hasattr(problems, name)})
    return tuple(_place(name, *table[field]) for name in places for field in places[name] if field in table)


@dataclass
class Problem:
    """A problem of an operation, with fields by the names that text has for them."""

    OPERATION: ClassVar[str]
    # One field of the class that stands for several.
    TOGETHER: ClassVar[dict[str, tuple[str, ...]]] = {}

    def to_dict(self) -> dict[str, Any]:
        """The dict for a predictor."""
        return {name: value for name, value in self._whole().items() if value is not None}

    def _whole(self) -> dict[str, Any]:
        """Every field, including those derived from others."""
        return vars(self)

    def as_struct(self) -> Any:
        """The problem in the library's form. It does not refer to this object."""
        struct = getattr(_structs, f"{self.OPERATION.capitalize()}Problem")()
        check(getattr(lib, f"ck_{self.OPERATION}_problem_init")(ctypes.byref(struct)))
        values = self._whole()
        struct.arch = values["arch"].encode() if values["arch"] else None
        for name, part, member, put, number, _ in self._places():
            put(getattr(struct, part) if part else struct, member, number(values[name]))
        return struct

    @classmethod
    def _places(cls) -> tuple[_Place, ...]:
        problems: Any = cls
        return _places_of(problems)

    @classmethod
    def of_struct(cls, struct: Any) -> Any:
        """The problem of a struct that a callback gets; it has no architecture."""
        own = {field.name for field in fields(cls)}
        found = {}
        # Of several places, the first one counts.
        for name, part, member, _, _, value in reversed(cls._places()):
            if name in own:
                place = getattr(struct, part) if part else struct
                found[name] = value(place[member] if isinstance(member, int) else getattr(place, member))
        return cls(**found)


def code(what: str, word: str, words: tuple[str, ...]) -> int:
    """The number of a word."""
    if word not in words:
        raise ValueError(f"{what}: found '{word}', expected one of {', '.join(words)}")
    return words.index(word)


def parts(split_k: int | str) -> int:
    """The parts of a reduction, in C's form: 0 where they are to be chosen."""
    return 0 if split_k == "auto" else index(split_k)  # type: ignore[arg-type]


def check_parts(split_k: int | str) -> None:
    """Refuses a choice, for a predictor."""
    if split_k in ("auto", 0):
        message = "split_k: found auto, expected the number of parts: a predictor ranks for one, a Registry chooses it"
        raise InvalidInputError(message, 2)
