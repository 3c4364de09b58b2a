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


# By the numbers of `ck_status`, which never change; the others are a `CkSelectError`.
_CLASSES: dict[int, type[CkSelectError]] = {
    2: InvalidInputError,  # of an argument
    4: InvalidInputError,  # not UTF-8
    5: InvalidInputError,  # of a problem
    6: InvalidInputError,  # of a kernel
    7: InvalidInputError,  # registered already
    8: NoKernelError,  # not found
    9: NoKernelError,  # none supports the problem
    10: InvalidInputError,  # the override failed
    11: InvalidModelError,
    13: MissingFileError,
}


def of_status(status: int, message: str) -> CkSelectError:
    """The exception for a status that is not 0."""
    kind = _CLASSES.get(status, CkSelectError)
    # A missing cell is also a `KeyError`.
    is_missing = kind is InvalidInputError and ": found nothing" in message
    return (MissingCellError if is_missing else kind)(message, status)
