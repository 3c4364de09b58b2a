"""The structs of the C interface. Made of the headers by ``tests/header.rs``; do not edit."""

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
    sizeof,
)
from typing import Any


class Sized(Structure):
    """A struct that begins with its own size."""

    def __init__(self, *args: Any, **fields: Any) -> None:
        super().__init__(*args, **fields)
        self.struct_size = sizeof(self)


class ConvProblem(Sized):
    _fields_ = [
        ("struct_size", c_size_t),
        ("arch", c_char_p),
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
    ]


class GemmGroup(Structure):
    _fields_ = [
        ("m", c_uint32),
        ("n", c_uint32),
        ("k", c_uint32),
        ("count", c_uint32),
    ]


class GemmGroups(Structure):
    _fields_ = [
        ("items", POINTER(GemmGroup)),
        ("count", c_size_t),
    ]


class GemmRequest(Structure):
    _fields_ = [
        ("groups", GemmGroups),
        ("batch", c_int32),
        ("stream_k", c_char_p),
        ("num_d", c_int32),
        ("preshuffle", c_int32),
        ("quant", c_char_p),
        ("group_a", c_int32 * 3),
        ("group_b", c_int32 * 3),
    ]


class GemmProblem(Sized):
    _fields_ = [
        ("struct_size", c_size_t),
        ("arch", c_char_p),
        ("m", c_int64),
        ("n", c_int64),
        ("k", c_int64),
        ("split_k", c_int32),
        ("dtype_a", c_int32),
        ("dtype_b", c_int32),
        ("dtype_c", c_int32),
        ("layout", c_int32 * 3),
        ("request", GemmRequest),
    ]


class FmhaProblem(Sized):
    _fields_ = [
        ("struct_size", c_size_t),
        ("arch", c_char_p),
        ("api_family", c_int32),
        ("family", c_int32),
        ("dtype", c_int32),
        ("batch", c_int64),
        ("seqlen_q", c_int64),
        ("seqlen_k", c_int64),
        ("nhead_q", c_int64),
        ("nhead_k", c_int64),
        ("hdim_q", c_int64),
        ("hdim_v", c_int64),
        ("mode", c_int32),
        ("mask", c_int32),
        ("bias", c_int32),
        ("qscale", c_int32),
        ("rope", c_int32),
        ("kv_layout", c_int32),
        ("kv_lookup", c_int32),
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
    ]


class Options(Sized):
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
        ("splits", c_char_p),
    ]


SupportsConv = CFUNCTYPE(c_int32, POINTER(ConvProblem), c_void_p)
SupportsGemm = CFUNCTYPE(c_int32, POINTER(GemmProblem), c_void_p)
RunConv = CFUNCTYPE(c_float, POINTER(ConvProblem), c_void_p, c_void_p)
RunGemm = CFUNCTYPE(c_float, POINTER(GemmProblem), c_void_p, c_void_p)
SupportsFmha = CFUNCTYPE(c_int32, POINTER(FmhaProblem), c_void_p)
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


class ModelOptions(Sized):
    _fields_ = [
        ("struct_size", c_size_t),
        ("key", c_void_p),
        ("hardware", c_void_p),
        ("force", c_int32),
        ("reserved", c_int32),
    ]


class Selection(Sized):
    _fields_ = [
        ("struct_size", c_size_t),
        ("name", c_char_p),
        ("user", c_void_p),
        ("index", c_size_t),
        ("split_k", c_int32),
        ("reserved", c_int32),
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


class Ranked(Sized):
    _fields_ = [
        ("struct_size", c_size_t),
        ("name", c_char_p),
        ("user", c_void_p),
        ("index", c_size_t),
        ("split_k", c_int32),
        ("reserved", c_int32),
        ("score", c_double),
        ("tied", c_int32),
        ("unmeasured", c_int32),
    ]


class Predictions(Sized):
    _fields_ = [
        ("struct_size", c_size_t),
        ("tflops", c_double),
        ("latency_ms", c_double),
        ("bandwidth_gb_s", c_double),
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


class RowOptions(Sized):
    _fields_ = [
        ("struct_size", c_size_t),
        ("target", c_int32),
        ("uncoded", c_int32),
        ("tolerate_no_spec", c_int32),
        ("force", c_int32),
        ("engine", c_char_p),
        ("hardware", c_char_p),
        ("threads", c_size_t),
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
