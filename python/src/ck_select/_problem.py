"""What problems of all operations share: their fields in the library's form, and back."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import cache
from operator import index, setitem
from typing import Any, ClassVar, NamedTuple, Protocol

from . import _names, _structs
from ._fields import FIELDS
from ._library import Handle, check, lib
from .errors import InvalidInputError, MissingCellError


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
    table, together = FIELDS[problems.OPERATION], problems._TOGETHER
    places = {field.name: together.get(field.name, (field.name,)) for field in fields(problems)}
    places.update({name: (name,) for name in table if name not in places and hasattr(problems, name)})
    return tuple(_place(name, *table[field]) for name in places for field in places[name] if field in table)


class TorchDtype(Protocol):
    """A ``torch.dtype``, such as ``torch.bfloat16``."""

    @property
    def is_floating_point(self) -> bool: ...
    @property
    def itemsize(self) -> int: ...


def plain(value: Any) -> Any:
    """A value as problems have it: the word of a torch dtype, and tuples, which can be hashed, for lists."""
    if isinstance(value, (list, tuple)):
        return tuple(map(plain, value))
    return _names.word_of_torch(value) if _names.is_torch_dtype(value) else value


@cache
def _empty() -> Handle:
    """A registry without kernels, which checks problems as any other does."""
    options = _structs.Options(ignore_environment=1, no_estimate=1, store=b"off")
    return Handle.make(lib.ck_registry_create, lib.ck_registry_destroy, ctypes.byref(options))


# What a registry without kernels answers for a valid problem.
_NO_MODEL = 12


@dataclass(frozen=True)
class Problem:
    """A problem of an operation, with fields by the names that text has for them.

    Its fields are checked when it is made, and cannot be changed: ``dataclasses.replace`` makes another one. Types may
    be those of torch.
    """

    OPERATION: ClassVar[str]
    # One field of the class that stands for several.
    _TOGETHER: ClassVar[dict[str, tuple[str, ...]]] = {}

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if value is ...:
                raise MissingCellError(f"{name}: found nothing, expected a whole number", 2)
            object.__setattr__(self, name, plain(value))
        struct = ctypes.byref(self._as_struct())
        count = ctypes.c_size_t()
        rank = getattr(lib, f"ck_registry_rank_{self.OPERATION}")
        status = rank(_empty().address, struct, 0, None, ctypes.byref(count), None)
        check(0 if status == _NO_MODEL else status)

    def to_dict(self) -> dict[str, Any]:
        """The dict for a predictor."""
        return {name: value for name, value in self._whole().items() if value is not None}

    def _whole(self) -> dict[str, Any]:
        """Every field, including those derived from others."""
        return vars(self)

    def _as_struct(self) -> Any:
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
    def _of_struct(cls, struct: Any) -> Any:
        """The problem of a struct that a callback gets; it has no architecture."""
        own = {field.name for field in fields(cls)}
        found = {}
        # Of several places, the first one counts.
        for name, part, member, _, _, value in reversed(cls._places()):
            if name in own:
                place = getattr(struct, part) if part else struct
                found[name] = value(place[member] if isinstance(member, int) else getattr(place, member))
        return cls._unchecked(found)

    @classmethod
    def _unchecked(cls, values: dict[str, Any]) -> Any:
        """A problem that the library has checked."""
        made = cls.__new__(cls)
        vars(made).update({field.name: values.get(field.name, field.default) for field in fields(cls)})
        return made


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
