"""Attention: its problem."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Union

from ._fields import Dtype, FmhaFamily
from ._problem import Problem, TorchDtype


@dataclass(frozen=True)
class FmhaProblem(Problem):
    """Attention, with the fields of CK's problem.

    ``nhead_k``, ``seqlen_k`` and ``hdim_v`` default to those of the queries. ``family`` is the stage for which a kernel
    is chosen; if None, the stage of ``api_family`` that does most of the work. Without an ``api_family`` it is the one
    that has the stage, or forward. A generic mask without windows leaves all keys (-1, -1); otherwise a window that is
    not given is 0.
    """

    OPERATION: ClassVar[str] = "fmha"

    seqlen_q: int
    nhead_q: int
    hdim_q: int
    seqlen_k: int | None = None
    nhead_k: int | None = None
    hdim_v: int | None = None
    batch: int = 1
    dtype: Union[Dtype, TorchDtype] = "fp16"
    api_family: Literal["fwd", "fwd_pagedkv", "fwd_splitkv", "fwd_appendkv", "batch_prefill", "bwd"] | None = None
    family: FmhaFamily | None = None
    window_left: int | None = None
    window_right: int | None = None
    arch: str | None = None
    # Made by tests/header/main.rs: fields of Fmha.
    mode: Literal["batch", "group"] = "batch"
    mask: Literal["no", "top_left", "bottom_right", "generic"] = "no"
    bias: Literal["no", "bias", "alibi"] = "no"
    qscale: Literal["no", "pertensor", "blockscale", "kv_blockscale", "mx", "per_token_head"] = "no"
    rope: Literal["none", "inter", "half"] = "none"
    kv_layout: Literal["vectorized", "linear"] = "vectorized"
    kv_lookup: Literal["vllm", "sglang"] = "vllm"
    max_seqlen_q: int = 0
    max_seqlen_k: int = 0
    page_size: int = 1
    num_splits: int = 1
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
    # End of what is made.

    def _whole(self) -> dict[str, Any]:
        api: str | None = self.api_family
        if api is None:
            family = self.family or "fwd"
            api = "bwd" if family.startswith("bwd_") else family.removesuffix("_combine")
        main = {"bwd": "bwd_dq_dk_dv"}.get(api, api)
        sizes = {"seqlen_k": self.seqlen_q, "nhead_k": self.nhead_q, "hdim_v": self.hdim_q}
        given = self.window_left is not None or self.window_right is not None
        window = -1 if self.mask == "generic" and not given else 0
        follows = {**sizes, "api_family": api, "family": main, "window_left": window, "window_right": window}
        return {name: follows.get(name) if value is None else value for name, value in vars(self).items()}
