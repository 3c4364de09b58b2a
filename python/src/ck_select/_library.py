"""``libck_select.so``: its location, structs and functions, and its errors as exceptions.

ctypes lets other threads run during a call of the library.
"""

from __future__ import annotations

import atexit
import ctypes
import logging
import os
from ctypes import CFUNCTYPE, POINTER, c_char_p, c_double, c_int32, c_int64, c_size_t, c_uint32, c_void_p
from pathlib import Path
from typing import Any

from . import _structs
from ._fields import FIELDS
from .errors import of_status

ABI_VERSION = 1
"""``CK_SELECT_ABI_VERSION`` of the header that this module was written against."""


def _path() -> str:
    """``CK_SELECT_LIBRARY``, otherwise the library of this package."""
    given = os.environ.get("CK_SELECT_LIBRARY")
    if given:
        return given
    bundled = Path(__file__).with_name("libck_select.so")
    if bundled.exists():
        return str(bundled)
    raise ImportError(f"no {bundled}: install the package with pip, or set CK_SELECT_LIBRARY to a libck_select.so")


LOG = CFUNCTYPE(None, c_int32, c_char_p, c_char_p, c_void_p)
# The arguments of each function. All but the last few return a `ck_status`.
_FUNCTIONS: dict[str, list[Any]] = {
    "ck_spec_describe": [c_char_p, POINTER(_structs.RowOptions), POINTER(c_void_p)],
    "ck_kernel_cells": [c_char_p, POINTER(c_void_p)],
    "ck_model_create": [c_char_p, POINTER(_structs.RowOptions), POINTER(c_void_p)],
    "ck_model_predict_row": [c_void_p, c_char_p, c_size_t, POINTER(c_double)],
    "ck_model_predict_rows": [c_void_p, c_void_p, c_size_t, c_size_t, c_void_p],
    "ck_model_extract_rows": [c_void_p, c_void_p, c_size_t, c_size_t, c_size_t, c_void_p],
    "ck_engine_describe": [POINTER(_structs.RowOptions), POINTER(c_void_p)],
    "ck_engine_extract_row": [POINTER(_structs.RowOptions), c_char_p, c_size_t, c_size_t, c_void_p],
    "ck_engine_extract_rows": [POINTER(_structs.RowOptions), c_void_p, c_size_t, c_size_t, c_size_t, c_void_p],
    "ck_forest_create": [c_char_p, POINTER(c_void_p)],
    "ck_forest_width": [c_void_p, POINTER(c_size_t)],
    "ck_forest_predict": [c_void_p, c_void_p, c_size_t, c_size_t, c_void_p],
    "ck_pool_create": [c_void_p, c_void_p, c_size_t, c_size_t, POINTER(c_void_p)],
    "ck_pool_prepare": [c_void_p],
    "ck_pool_outlook": [c_void_p, c_char_p, c_size_t, POINTER(c_void_p)],
    "ck_pool_rank": [c_void_p, c_char_p, c_size_t, c_size_t, c_void_p, c_void_p],
    "ck_estimate_table": [c_char_p, c_size_t, POINTER(c_void_p)],
    "ck_embedded_model_name": [c_size_t, POINTER(c_char_p)],
    "ck_log_set_callback": [c_int32, LOG, c_void_p],
    "ck_registry_create": [POINTER(_structs.Options), POINTER(c_void_p)],
    "ck_registry_add_kernel": [c_void_p, c_char_p, POINTER(_structs.KernelHooks)],
    "ck_registry_add_kernels": [c_void_p, POINTER(c_char_p), POINTER(_structs.KernelHooks), c_size_t],
    "ck_registry_size": [c_void_p, POINTER(c_size_t)],
    "ck_registry_load_model": [c_void_p, c_char_p, POINTER(_structs.ModelOptions)],
    "ck_problem_field_name": [c_int32, c_size_t, POINTER(c_char_p)],
    "ck_registry_prepare": [c_void_p],
    "ck_registry_refresh_store": [c_void_p],
    "ck_registry_tune": [c_void_p, POINTER(_structs.TuneBudget), POINTER(_structs.TuneReport)],
    "ck_registry_store_status": [c_void_p, POINTER(c_size_t), POINTER(c_void_p)],
    "ck_registry_choose_fmha_splits": [c_void_p, POINTER(_structs.FmhaProblem), c_int64, POINTER(c_int64)],
}
_COUNT = POINTER(c_size_t)
for _op in FIELDS:
    _problem: Any = POINTER(getattr(_structs, f"{_op.capitalize()}Problem"))
    _FUNCTIONS[f"ck_{_op}_problem_init"] = [_problem]
    _FUNCTIONS[f"ck_registry_select_{_op}"] = [c_void_p, _problem, POINTER(_structs.Selection)]
    _FUNCTIONS[f"ck_registry_rank_{_op}"] = [c_void_p, _problem, c_size_t, POINTER(_structs.Ranked), _COUNT, _COUNT]
    _FUNCTIONS[f"ck_registry_explain_{_op}"] = [c_void_p, _problem, POINTER(c_void_p)]


def _load() -> Any:
    path = _path()
    library = ctypes.CDLL(path)
    library.ck_select_abi_version.restype = c_uint32
    library.ck_select_version.restype = c_char_p
    found = library.ck_select_abi_version()
    if found != ABI_VERSION:
        raise ImportError(f"{path}: the library's binary interface is version {found}, expected {ABI_VERSION}")
    for name, arguments in _FUNCTIONS.items():
        function = getattr(library, name)
        function.argtypes = arguments
        function.restype = c_int32
    for freed in (*(f"{kind}_destroy" for kind in ("model", "forest", "pool", "registry")), "string_free"):
        function = getattr(library, f"ck_{freed}")
        function.argtypes = [c_void_p]
        function.restype = None
    library.ck_last_error.restype = c_char_p
    return library


lib: Any = _load()

# Warnings of the library, which has the numbers 1 and 2 for these levels.
_LEVELS = {1: logging.ERROR, 2: logging.WARNING}


def _log(level: int, source: bytes, text: bytes, _: Any) -> None:
    logging.getLogger("ck_select").log(_LEVELS[level], "%s: %s", source.decode(), text.decode())


_LOG = LOG(_log)
# Whoever sets the variable wants lines there, and at a level of their own.
if not os.environ.get("CK_SELECT_LOG"):
    lib.ck_log_set_callback(max(_LEVELS), _LOG, None)
    # When the interpreter ends, it cannot be called any more.
    atexit.register(lib.ck_log_set_callback, 0, LOG(), None)


def check(status: int) -> None:
    """Raises the exception for a status that is not 0."""
    if status:
        # The message belongs to this thread, and there was no other call of the library in between.
        raise of_status(status, lib.ck_last_error().decode())


def take_text(address: c_void_p) -> str:
    """Copies a text of the library, and frees it."""
    try:
        return ctypes.string_at(address.value or 0).decode()
    finally:
        lib.ck_string_free(address)


def text_of(function: Any, *arguments: Any) -> str:
    """The text that a function makes, whose last argument is where to."""
    address = c_void_p()
    check(function(*arguments, ctypes.byref(address)))
    return take_text(address)


class Handle:
    """An object of the library, freed with this one."""

    __slots__ = ("_destroy", "address")

    def __init__(self, address: c_void_p, destroy: Any) -> None:
        self.address = address
        self._destroy = destroy

    @classmethod
    def make(cls, function: Any, destroy: Any, *arguments: Any) -> Handle:
        """The object that a function makes, whose last argument is where to."""
        address = c_void_p()
        check(function(*arguments, ctypes.byref(address)))
        return cls(address, destroy)

    def __del__(self) -> None:
        self._destroy(self.address)
