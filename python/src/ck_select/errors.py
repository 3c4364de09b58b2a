"""Exceptions, with the library's own messages."""

from __future__ import annotations

from typing import Any


class CkSelectError(RuntimeError):
    """A failed call to the library. ``status`` is its ``ck_status``."""

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.status = status

    def __reduce__(self) -> tuple[Any, ...]:
        # So that it survives pickling between processes.
        return type(self), (self.args[0], self.status)


class InvalidInputError(CkSelectError, ValueError):
    """A problem, a kernel or another argument has an invalid value."""


class MissingCellError(InvalidInputError, KeyError):
    """A required cell is missing. Upstream raises ``KeyError`` for it, so this is also one."""

    def __str__(self) -> str:
        # KeyError would quote it.
        return str(self.args[0])


class InvalidModelError(CkSelectError, ValueError):
    """A model directory that cannot be used; the message names file, line and field."""


class MissingFileError(CkSelectError, FileNotFoundError):
    """A file that does not exist or cannot be read."""


class NoKernelError(CkSelectError, LookupError):
    """No registered kernel matches the problem and supports it, or none has that name."""


class CommandError(RuntimeError):
    """A command that failed, with what it wrote to standard error. ``code`` is its exit code."""

    def __init__(self, message: str, code: int) -> None:
        super().__init__(message)
        self.code = code

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.args[0], self.code)


# The numbers of `ck_status`, which never change.
_NULL_POINTER, _INVALID_ARGUMENT, _INVALID_STRUCT, _NOT_UTF8 = 1, 2, 3, 4
_INVALID_PROBLEM, _INVALID_KERNEL, _ALREADY_REGISTERED, _NOT_FOUND = 5, 6, 7, 8
_NO_KERNEL, _OVERRIDE_FAILED, _INVALID_MODEL, _NO_MODEL, _IO = 9, 10, 11, 12, 13

_CLASSES: dict[int, type[CkSelectError]] = {
    _INVALID_ARGUMENT: InvalidInputError,
    _NOT_UTF8: InvalidInputError,
    _INVALID_PROBLEM: InvalidInputError,
    _INVALID_KERNEL: InvalidInputError,
    _ALREADY_REGISTERED: InvalidInputError,
    _NOT_FOUND: NoKernelError,
    _NO_KERNEL: NoKernelError,
    _OVERRIDE_FAILED: InvalidInputError,
    _INVALID_MODEL: InvalidModelError,
    _IO: MissingFileError,
}


def of_status(status: int, message: str) -> CkSelectError:
    """The exception for a status that is not 0."""
    kind = _CLASSES.get(status, CkSelectError)
    # A missing cell is also a `KeyError`.
    is_missing = kind is InvalidInputError and ": found nothing" in message
    return (MissingCellError if is_missing else kind)(message, status)
