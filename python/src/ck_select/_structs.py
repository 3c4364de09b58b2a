"""The structs of the C interface. Made of the headers by ``tests/header/main.rs``; do not edit."""

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

    _fields_ = [("struct_size", c_size_t)]

    def __init__(self, *args: Any, **fields: Any) -> None:
        super().__init__(*args, **fields)
        self.struct_size = sizeof(self)


def _of(kind: Any, names: str) -> list[tuple[str, Any]]:
    """Fields of one type."""
    return [(name, kind) for name in names.split()]


class GemmGroup(Structure):
    _fields_ = [
        *_of(c_uint32, "m n k count"),
    ]


class GemmGroups(Structure):
    _fields_ = [
        *_of(POINTER(GemmGroup), "items"),
        *_of(c_size_t, "count item_size"),
    ]


class GemmRequest(Structure):
    _fields_ = [
        *_of(GemmGroups, "groups"),
        *_of(c_int32, "batch"),
        *_of(c_char_p, "stream_k"),
        *_of(c_int32, "num_d preshuffle"),
        *_of(c_char_p, "quant"),
        *_of(c_int32 * 3, "group_a group_b"),
    ]


class GemmProblem(Sized):
    _fields_ = [
        *_of(c_char_p, "arch"),
        *_of(c_int64, "m n k"),
        *_of(c_int32, "split_k dtype_a dtype_b dtype_c"),
        *_of(c_int32 * 3, "layout"),
        *_of(GemmRequest, "request"),
    ]


class ConvProblem(Sized):
    _fields_ = [
        *_of(c_char_p, "arch"),
        *_of(c_int32, "direction ndim"),
        *_of(c_int64, "n c k g"),
        *_of(c_int64 * 3, "input filter stride dilation pad_left pad_right"),
        *_of(c_int32, "split_k dtype_in dtype_wei dtype_out layout reserved"),
    ]


class FmhaProblem(Sized):
    _fields_ = [
        *_of(c_char_p, "arch"),
        *_of(c_int32, "api_family family dtype"),
        *_of(c_int64, "batch seqlen_q seqlen_k nhead_q nhead_k hdim_q hdim_v"),
        *_of(c_int32, "mode mask bias qscale rope kv_layout kv_lookup"),
        *_of(c_int64, "max_seqlen_q max_seqlen_k page_size num_splits window_left window_right"),
        *_of(c_int64, "sink_size min_seqlen_q rotary_dim"),
        *_of(c_int32, "v_rowmajor logits lse dropout paged_kv fp8_static_quant skip sink dbias"),
        *_of(c_int32, "store_randval deterministic has_seqstart_q_ptr has_seqstart_k_ptr"),
        *_of(c_int32, "has_seqlen_q_ptr has_seqlen_k_ptr has_cu_seqlen_q_ptr has_cu_seqlen_k_ptr"),
        *_of(c_int32, "has_block_table_ptr has_cache_batch_idx is_gappy has_rotary_cos_sin reserved"),
    ]


class MoeProblem(Sized):
    _fields_ = [
        *_of(c_void_p, "histogram"),
        *_of(c_size_t, "histogram_count"),
        *_of(c_char_p, "arch stage"),
        *_of(c_int64, "tokens experts topk n k"),
        *_of(c_int32, "dtype_a dtype_b"),
        *_of(c_char_p, "quant"),
        *_of(c_int32, "block_n block_k"),
        *_of(c_char_p, "activation"),
        *_of(c_int32, "weighted_first"),
        *_of(c_int64, "active largest"),
        *_of(c_int64 * 5, "tiles"),
    ]


class Options(Sized):
    _fields_ = [
        *_of(c_int32, "mode ignore_environment"),
        *_of(c_char_p, "override_file arch store device_name"),
        *_of(c_void_p, "stream"),
        *_of(c_int32, "refine refine_out_of_range search repeats warmup host_timing embedded_models"),
        *_of(c_int32, "no_estimate"),
        *_of(c_double, "budget_ms cutoff run_timeout_ms"),
        *_of(c_char_p, "hardware splits"),
    ]


SupportsConv = CFUNCTYPE(c_int32, POINTER(ConvProblem), c_void_p)
SupportsGemm = CFUNCTYPE(c_int32, POINTER(GemmProblem), c_void_p)
RunConv = CFUNCTYPE(c_float, POINTER(ConvProblem), c_void_p, c_void_p)
RunGemm = CFUNCTYPE(c_float, POINTER(GemmProblem), c_void_p, c_void_p)
SupportsFmha = CFUNCTYPE(c_int32, POINTER(FmhaProblem), c_void_p)
RunFmha = CFUNCTYPE(c_float, POINTER(FmhaProblem), c_void_p, c_void_p)
Release = CFUNCTYPE(None, c_void_p)
SupportsMoe = CFUNCTYPE(c_int32, POINTER(MoeProblem), c_void_p)
RunMoe = CFUNCTYPE(c_float, POINTER(MoeProblem), c_void_p, c_void_p)


class KernelHooks(Sized):
    _fields_ = [
        *_of(c_void_p, "user"),
        *_of(c_int32, "priority reserved"),
        *_of(SupportsConv, "supports_conv"),
        *_of(SupportsGemm, "supports_gemm"),
        *_of(RunConv, "run_conv"),
        *_of(RunGemm, "run_gemm"),
        *_of(SupportsFmha, "supports_fmha"),
        *_of(RunFmha, "run_fmha"),
        *_of(c_void_p, "context"),
        *_of(Release, "release"),
        *_of(SupportsMoe, "supports_moe"),
        *_of(RunMoe, "run_moe"),
    ]


class ModelOptions(Sized):
    _fields_ = [
        *_of(c_void_p, "key hardware"),
        *_of(c_int32, "force reserved"),
    ]


class Selection(Sized):
    _fields_ = [
        *_of(c_char_p, "name"),
        *_of(c_void_p, "user"),
        *_of(c_size_t, "index"),
        *_of(c_int32, "split_k reserved"),
        *_of(c_size_t, "rank unsupported"),
        *_of(c_double, "score measured_ms"),
        *_of(c_uint64, "generation"),
        *_of(c_int32, "source out_of_range"),
        *_of(c_uint64, "out_of_range_fields"),
        *_of(c_int32, "unmeasured arch_unknown no_model universal"),
        *_of(c_char_p, "model"),
        *_of(c_double, "expected_loss chance"),
        *_of(c_uint32, "sure_within_90 sure_within_99"),
    ]


class Ranked(Sized):
    _fields_ = [
        *_of(c_char_p, "name"),
        *_of(c_void_p, "user"),
        *_of(c_size_t, "index"),
        *_of(c_int32, "split_k reserved"),
        *_of(c_double, "score"),
        *_of(c_int32, "tied unmeasured source reserved_source"),
        *_of(c_double, "time_us slower expected_loss"),
    ]


class Predictions(Sized):
    _fields_ = [
        *_of(c_double, "tflops latency_ms bandwidth_gb_s"),
    ]


class TuneBudget(Sized):
    _fields_ = [
        *_of(c_double, "time_ms"),
        *_of(c_void_p, "stream"),
        *_of(c_int32, "kernels reserved"),
    ]


class TuneReport(Sized):
    _fields_ = [
        *_of(c_size_t, "measured improved failed waiting"),
        *_of(c_double, "saved_ms elapsed_ms"),
    ]


class RowOptions(Sized):
    _fields_ = [
        *_of(c_int32, "target uncoded tolerate_no_spec force"),
        *_of(c_char_p, "engine hardware"),
        *_of(c_size_t, "threads"),
    ]


class Column(Sized):
    _fields_ = [
        *_of(c_char_p, "name"),
        *_of(c_void_p, "integers numbers codes"),
        *_of(c_char_p, "words"),
        *_of(c_size_t, "word_bytes"),
    ]
