"""Attention: its problem, and the problem in the library's form."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from operator import index
from typing import Any

from . import _structs
from ._library import check, lib
from ._names import DTYPES

_FAMILIES = (
    "fwd fwd_pagedkv fwd_splitkv fwd_splitkv_combine fwd_appendkv batch_prefill "
    "bwd_dot_do_o bwd_dq_dk_dv bwd_convert_dq"
)
_WORDS: dict[str, tuple[str, ...]] = {
    "api_family": ("fwd", "fwd_pagedkv", "fwd_splitkv", "fwd_appendkv", "batch_prefill", "bwd"),
    "family": tuple(_FAMILIES.split()),
    "dtype": tuple(DTYPES),
    "mode": ("batch", "group"),
    "mask": ("no", "top_left", "bottom_right", "generic"),
    "bias": ("no", "bias", "alibi"),
    "qscale": ("no", "pertensor", "blockscale", "kv_blockscale", "mx", "per_token_head"),
    "rope": ("none", "inter", "half"),
    "kv_layout": ("vectorized", "linear"),
    "kv_lookup": ("vllm", "sglang"),
}


@dataclass
class FmhaProblem:
    """Attention, with the fields of CK's problem.

    ``nhead_k``, ``seqlen_k`` and ``hdim_v`` default to those of the queries. ``family`` is the stage for which a kernel
    is chosen; if None, the stage of ``api_family`` that does most of the work. Without an ``api_family`` it is the one
    that has the stage, or forward. A generic mask without windows leaves all keys (-1, -1); otherwise a window that is
    not given is 0.
    """

    seqlen_q: int
    nhead_q: int
    hdim_q: int
    seqlen_k: int | None = None
    nhead_k: int | None = None
    hdim_v: int | None = None
    batch: int = 1
    dtype: str = "fp16"
    api_family: str | None = None
    family: str | None = None
    mode: str = "batch"
    mask: str = "no"
    bias: str = "no"
    qscale: str = "no"
    rope: str = "none"
    kv_layout: str = "vectorized"
    kv_lookup: str = "vllm"
    max_seqlen_q: int = 0
    max_seqlen_k: int = 0
    page_size: int = 1
    num_splits: int = 1
    window_left: int | None = None
    window_right: int | None = None
    sink_size: int = 0
    min_seqlen_q: int = 0
    rotary_dim: int = 0
    v_rowmajor: bool = True
    logits: bool = False
    lse: bool = False
    dropout: bool = False
    paged_kv: bool = False
    fp8_static_quant: bool = False
    skip: bool = False
    sink: bool = False
    dbias: bool = False
    store_randval: bool = False
    deterministic: bool = False
    has_seqstart_q_ptr: bool = False
    has_seqstart_k_ptr: bool = False
    has_seqlen_q_ptr: bool = False
    has_seqlen_k_ptr: bool = False
    has_cu_seqlen_q_ptr: bool = False
    has_cu_seqlen_k_ptr: bool = False
    has_block_table_ptr: bool = False
    has_cache_batch_idx: bool = False
    is_gappy: bool = False
    has_rotary_cos_sin: bool = False
    arch: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """The dict for a predictor."""
        return {name: value for name, value in self._whole().items() if value is not None}

    def _whole(self) -> dict[str, Any]:
        """Every field, including those derived from others."""
        api = self.api_family
        if api is None:
            family = self.family or "fwd"
            api = "bwd" if family.startswith("bwd_") else family.removesuffix("_combine")
        main = {"bwd": "bwd_dq_dk_dv"}.get(api, api)
        sizes = {"seqlen_k": self.seqlen_q, "nhead_k": self.nhead_q, "hdim_v": self.hdim_q}
        given = self.window_left is not None or self.window_right is not None
        window = -1 if self.mask == "generic" and not given else 0
        follows = {**sizes, "api_family": api, "family": main, "window_left": window, "window_right": window}
        return {name: follows.get(name) if value is None else value for name, value in vars(self).items()}

    def as_struct(self) -> _structs.FmhaProblem:
        """The problem in the library's form. It does not refer to this object."""
        problem = _structs.FmhaProblem()
        check(lib.ck_fmha_problem_init(ctypes.byref(problem)))
        for name, value in self._whole().items():
            if name == "arch":
                problem.arch = value.encode() if value else None
            elif name in _WORDS:
                if value not in _WORDS[name]:
                    raise ValueError(f"{name}: found '{value}', expected one of {', '.join(_WORDS[name])}")
                setattr(problem, name, _WORDS[name].index(value))
            else:
                setattr(problem, name, index(value))
        return problem


def of_struct(problem: _structs.FmhaProblem) -> FmhaProblem:
    """The problem in the form for callbacks."""
    fields: dict[str, Any] = {}
    for name, kind, *_ in problem._fields_:
        value = getattr(problem, name)
        if name in _WORDS:
            fields[name] = _WORDS[name][value]
        elif name not in ("struct_size", "reserved", "arch"):
            fields[name] = bool(value) if kind is ctypes.c_int32 else value
    return FmhaProblem(**fields)
