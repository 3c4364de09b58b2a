"""``libck_select.so``: its location, structs and functions, and its errors as exceptions.

ctypes lets other threads run during a call of the library.
"""

from __future__ import annotations

import ctypes
import os
from ctypes import (
    CFUNCTYPE,
    POINTER,
    Structure,
    c_char_p,
    c_double,
    c_float,
    c_int32,
    c_int64,
    c_size_t,
    c_uint32,
    c_uint64,
    c_void_p,
)
from pathlib import Path
from typing import Any

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


class Sized(Structure):
    """A struct that begins with its own size."""

    def __init__(self, *args: Any, **fields: Any) -> None:
        super().__init__(*args, **fields)
        self.struct_size = ctypes.sizeof(self)


class RowOptions(Sized):
    _fields_ = [
        ("struct_size", c_size_t),
        ("target", c_int32),
        ("uncoded", c_int32),
        ("tolerate_no_spec", c_int32),
        ("force", c_int32),
        ("engine", c_char_p),
        ("hardware", c_char_p),
    ]


class TuneBudget(Sized):
    _fields_ = [
        ("struct_size", c_size_t),
        ("time_ms", c_double),
        ("stream", c_void_p),
        ("kernels", c_int32),
        ("reserved", c_int32),
    ]


class TuneReport(Sized):
    _fields_ = [
        ("struct_size", c_size_t),
        ("measured", c_size_t),
        ("improved", c_size_t),
        ("failed", c_size_t),
        ("waiting", c_size_t),
        ("saved_ms", c_double),
        ("elapsed_ms", c_double),
    ]


class Column(Sized):
    _fields_ = [
        ("struct_size", c_size_t),
        ("name", c_char_p),
        ("integers", c_void_p),
        ("numbers", c_void_p),
        ("codes", c_void_p),
        ("words", POINTER(c_char_p)),
        ("word_count", c_size_t),
    ]


class ConvProblem(Sized):
    _fields_ = [
        ("struct_size", c_size_t),
        ("direction", c_int32),
        ("ndim", c_int32),
        ("n", c_int64),
        ("c", c_int64),
        ("k", c_int64),
        ("g", c_int64),
        ("input", c_int64 * 3),
        ("filter", c_int64 * 3),
        ("stride", c_int64 * 3),
        ("dilation", c_int64 * 3),
        ("pad_left", c_int64 * 3),
        ("pad_right", c_int64 * 3),
        ("split_k", c_int32),
        ("dtype_in", c_int32),
        ("dtype_wei", c_int32),
        ("dtype_out", c_int32),
        ("layout", c_int32),
        ("reserved", c_int32),
        ("arch", c_char_p),
    ]


class GemmGroup(Structure):
    _fields_ = [("m", c_uint32), ("n", c_uint32), ("k", c_uint32), ("count", c_uint32)]


class GemmProblem(Sized):
    _fields_ = [
        ("struct_size", c_size_t),
        ("m", c_int64),
        ("n", c_int64),
        ("k", c_int64),
        ("split_k", c_int32),
        ("dtype_a", c_int32),
        ("dtype_b", c_int32),
        ("dtype_c", c_int32),
        ("layout_a", c_int32),
        ("layout_b", c_int32),
        ("layout_c", c_int32),
        ("reserved", c_int32),
        ("arch", c_char_p),
        ("batch", c_int64),
        ("groups", POINTER(GemmGroup)),
        ("num_groups", c_size_t),
        ("stream_k", c_int32),
        ("num_d", c_int32),
        ("preshuffle", c_int32),
        ("quant", c_int32),
        ("quant_group_a", c_int32 * 3),
        ("quant_group_b", c_int32 * 3),
    ]


class FmhaProblem(Sized):
    _fields_ = [
        ("struct_size", c_size_t),
        ("api_family", c_int32),
        ("family", c_int32),
        ("dtype", c_int32),
        ("mode", c_int32),
        ("mask", c_int32),
        ("bias", c_int32),
        ("qscale", c_int32),
        ("rope", c_int32),
        ("kv_layout", c_int32),
        ("kv_lookup", c_int32),
        ("batch", c_int64),
        ("seqlen_q", c_int64),
        ("seqlen_k", c_int64),
        ("nhead_q", c_int64),
        ("nhead_k", c_int64),
        ("hdim_q", c_int64),
        ("hdim_v", c_int64),
        ("max_seqlen_q", c_int64),
        ("max_seqlen_k", c_int64),
        ("page_size", c_int64),
        ("num_splits", c_int64),
        ("window_left", c_int64),
        ("window_right", c_int64),
        ("sink_size", c_int64),
        ("min_seqlen_q", c_int64),
        ("rotary_dim", c_int64),
        ("v_rowmajor", c_int32),
        ("logits", c_int32),
        ("lse", c_int32),
        ("dropout", c_int32),
        ("paged_kv", c_int32),
        ("fp8_static_quant", c_int32),
        ("skip", c_int32),
        ("sink", c_int32),
        ("dbias", c_int32),
        ("store_randval", c_int32),
        ("deterministic", c_int32),
        ("has_seqstart_q_ptr", c_int32),
        ("has_seqstart_k_ptr", c_int32),
        ("has_seqlen_q_ptr", c_int32),
        ("has_seqlen_k_ptr", c_int32),
        ("has_cu_seqlen_q_ptr", c_int32),
        ("has_cu_seqlen_k_ptr", c_int32),
        ("has_block_table_ptr", c_int32),
        ("has_cache_batch_idx", c_int32),
        ("is_gappy", c_int32),
        ("has_rotary_cos_sin", c_int32),
        ("reserved", c_int32),
        ("arch", c_char_p),
    ]


class RegistryOptions(Sized):
    _fields_ = [
        ("struct_size", c_size_t),
        ("mode", c_int32),
        ("ignore_environment", c_int32),
        ("override_file", c_char_p),
        ("arch", c_char_p),
        ("store", c_char_p),
        ("device_name", c_char_p),
        ("stream", c_void_p),
        ("refine", c_int32),
        ("refine_out_of_range", c_int32),
        ("search", c_int32),
        ("repeats", c_int32),
        ("warmup", c_int32),
        ("host_timing", c_int32),
        ("embedded_models", c_int32),
        ("no_estimate", c_int32),
        ("budget_ms", c_double),
        ("cutoff", c_double),
        ("run_timeout_ms", c_double),
        ("hardware", c_char_p),
    ]


SupportsConv = CFUNCTYPE(c_int32, POINTER(ConvProblem), c_void_p)
SupportsGemm = CFUNCTYPE(c_int32, POINTER(GemmProblem), c_void_p)
SupportsFmha = CFUNCTYPE(c_int32, POINTER(FmhaProblem), c_void_p)
RunConv = CFUNCTYPE(c_float, POINTER(ConvProblem), c_void_p, c_void_p)
RunGemm = CFUNCTYPE(c_float, POINTER(GemmProblem), c_void_p, c_void_p)
RunFmha = CFUNCTYPE(c_float, POINTER(FmhaProblem), c_void_p, c_void_p)
Release = CFUNCTYPE(None, c_void_p)


class KernelHooks(Sized):
    _fields_ = [
        ("struct_size", c_size_t),
        ("user", c_void_p),
        ("priority", c_int32),
        ("reserved", c_int32),
        ("supports_conv", SupportsConv),
        ("supports_gemm", SupportsGemm),
        ("run_conv", RunConv),
        ("run_gemm", RunGemm),
        ("supports_fmha", SupportsFmha),
        ("run_fmha", RunFmha),
        ("context", c_void_p),
        ("release", Release),
    ]


class Selection(Sized):
    _fields_ = [
        ("struct_size", c_size_t),
        ("name", c_char_p),
        ("user", c_void_p),
        ("index", c_size_t),
        ("rank", c_size_t),
        ("unsupported", c_size_t),
        ("score", c_double),
        ("measured_ms", c_double),
        ("generation", c_uint64),
        ("source", c_int32),
        ("out_of_range", c_int32),
        ("out_of_range_fields", c_uint64),
        ("unmeasured", c_int32),
        ("arch_unknown", c_int32),
        ("no_model", c_int32),
        ("generic", c_int32),
        ("model", c_char_p),
    ]


class Ranked(Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("name", c_char_p),
        ("user", c_void_p),
        ("index", c_size_t),
        ("score", c_double),
        ("tied", c_int32),
        ("unmeasured", c_int32),
    ]


class ModelOptions(Sized):
    _fields_ = [
        ("struct_size", c_size_t),
        ("key", c_void_p),
        ("hardware", c_void_p),
        ("force", c_int32),
        ("reserved", c_int32),
    ]


class Predictions(Sized):
    _fields_ = [
        ("struct_size", c_size_t),
        ("tflops", c_double),
        ("latency_ms", c_double),
        ("bandwidth_gb_s", c_double),
    ]


# The arguments of each function. All but the last few return a `ck_status`.
_FUNCTIONS: dict[str, list[Any]] = {
    "ck_spec_describe": [c_char_p, POINTER(RowOptions), POINTER(c_void_p)],
    "ck_kernel_cells": [c_char_p, POINTER(c_void_p)],
    "ck_model_create": [c_char_p, POINTER(RowOptions), POINTER(c_void_p)],
    "ck_model_predict_row": [c_void_p, c_char_p, c_size_t, POINTER(c_double)],
    "ck_model_predict_rows": [c_void_p, POINTER(Column), c_size_t, c_size_t, c_void_p],
    "ck_model_extract_rows": [c_void_p, POINTER(Column), c_size_t, c_size_t, c_size_t, c_void_p],
    "ck_engine_describe": [POINTER(RowOptions), POINTER(c_void_p)],
    "ck_engine_extract_rows": [POINTER(RowOptions), POINTER(Column), c_size_t, c_size_t, c_size_t, c_void_p],
    "ck_forest_create": [c_char_p, POINTER(c_void_p)],
    "ck_forest_width": [c_void_p, POINTER(c_size_t)],
    "ck_forest_predict": [c_void_p, c_void_p, c_size_t, c_size_t, c_void_p],
    "ck_pool_create": [c_void_p, POINTER(Column), c_size_t, c_size_t, POINTER(c_void_p)],
    "ck_pool_rank": [c_void_p, c_char_p, c_size_t, c_size_t, c_void_p, c_void_p],
    "ck_conv_problem_init": [POINTER(ConvProblem)],
    "ck_gemm_problem_init": [POINTER(GemmProblem)],
    "ck_fmha_problem_init": [POINTER(FmhaProblem)],
    "ck_registry_create": [POINTER(RegistryOptions), POINTER(c_void_p)],
    "ck_registry_set_options": [c_void_p, POINTER(RegistryOptions)],
    "ck_registry_add_kernel": [c_void_p, c_char_p, POINTER(KernelHooks)],
    "ck_registry_size": [c_void_p, POINTER(c_size_t)],
    "ck_registry_retain_arch": [c_void_p, c_char_p, POINTER(c_size_t)],
    "ck_registry_clear": [c_void_p],
    "ck_registry_load_model": [c_void_p, c_char_p, POINTER(ModelOptions)],
    "ck_problem_field_name": [c_int32, c_size_t, POINTER(c_char_p)],
    "ck_registry_remove_models": [c_void_p],
    "ck_registry_prepare": [c_void_p],
    "ck_registry_refresh_store": [c_void_p],
    "ck_registry_tune": [c_void_p, POINTER(TuneBudget), POINTER(TuneReport)],
    "ck_registry_store_status": [c_void_p, POINTER(c_size_t), POINTER(c_void_p)],
    "ck_registry_select_conv": [c_void_p, POINTER(ConvProblem), POINTER(Selection)],
    "ck_registry_select_gemm": [c_void_p, POINTER(GemmProblem), POINTER(Selection)],
    "ck_registry_select_fmha": [c_void_p, POINTER(FmhaProblem), POINTER(Selection)],
    "ck_registry_choose_fmha_splits": [c_void_p, POINTER(FmhaProblem), c_int64, POINTER(c_int64)],
    "ck_registry_rank_conv": [
        c_void_p,
        POINTER(ConvProblem),
        c_size_t,
        POINTER(Ranked),
        POINTER(c_size_t),
        POINTER(c_size_t),
    ],
    "ck_registry_rank_gemm": [
        c_void_p,
        POINTER(GemmProblem),
        c_size_t,
        POINTER(Ranked),
        POINTER(c_size_t),
        POINTER(c_size_t),
    ],
    "ck_registry_rank_fmha": [
        c_void_p,
        POINTER(FmhaProblem),
        c_size_t,
        POINTER(Ranked),
        POINTER(c_size_t),
        POINTER(c_size_t),
    ],
    "ck_registry_explain_conv": [c_void_p, POINTER(ConvProblem), POINTER(c_void_p)],
    "ck_registry_explain_gemm": [c_void_p, POINTER(GemmProblem), POINTER(c_void_p)],
    "ck_registry_explain_fmha": [c_void_p, POINTER(FmhaProblem), POINTER(c_void_p)],
}


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
    for name in (
        *("ck_model_destroy", "ck_forest_destroy", "ck_pool_destroy", "ck_registry_destroy"),
        "ck_string_free",
    ):
        function = getattr(library, name)
        function.argtypes = [c_void_p]
        function.restype = None
    library.ck_last_error.restype = c_char_p
    return library


lib: Any = _load()


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


class Handle:
    """An object of the library, freed with this one."""

    __slots__ = ("_destroy", "address")

    def __init__(self, address: c_void_p, destroy: Any) -> None:
        self.address = address
        self._destroy = destroy

    def __del__(self) -> None:
        self._destroy(self.address)
