"""The fields of problems, in the order of the operations' numbers. Made by ``tests/header/main.rs``; do not edit.

A field is a member of the operation's struct, or an element of one, and a type or words: ``str`` is a word that may be
absent, ``list`` the memory orders of operands, ``tuple`` the extents of a group.
"""

from typing import Any, Literal, get_args


def _alike(kind: Any, names: str) -> dict[str, tuple[str, Any]]:
    """Fields of one type, which are members of their names."""
    return {name: (name, kind) for name in names.split()}


def _elements(member: str, names: str) -> dict[str, tuple[str, Any]]:
    """Numbers, which are the elements of a member."""
    return {name: (f"{member}.{at}", int) for at, name in enumerate(names.split())}


Direction = Literal["forward", "bwd_data", "bwd_weight"]
DIRECTIONS = get_args(Direction)
Dtype = Literal[
    "fp16",
    "bf16",
    "fp32",
    "fp64",
    "fp8",
    "bf8",
    "int8",
    "int4",
    "int32",
    "pk_fp4",
    "pk_int4",
    "fp8fp16",
    "fp8bf16",
    "fp8fp32",
    "mxfp8",
    "mxfp4",
]
DTYPES = get_args(Dtype)
Layout = Literal[
    "nwgc",
    "nhwgc",
    "ndhwgc",
    "nwc",
    "nhwc",
    "ndhwc",
    "gnwc",
    "gnhwc",
    "gndhwc",
    "ngcw",
    "ngchw",
    "ngcdhw",
    "ncw",
    "nchw",
    "ncdhw",
]
LAYOUTS = get_args(Layout)
FmhaFamily = Literal[
    "fwd",
    "fwd_pagedkv",
    "fwd_splitkv",
    "fwd_splitkv_combine",
    "fwd_appendkv",
    "batch_prefill",
    "bwd_dot_do_o",
    "bwd_dq_dk_dv",
    "bwd_convert_dq",
]
FMHA_FAMILIES = get_args(FmhaFamily)
GemmLayout = Literal[
    "rrr",
    "rrc",
    "rrp",
    "rcr",
    "rcc",
    "rcp",
    "rpr",
    "rpc",
    "rpp",
    "crr",
    "crc",
    "crp",
    "ccr",
    "ccc",
    "ccp",
    "cpr",
    "cpc",
    "cpp",
    "prr",
    "prc",
    "prp",
    "pcr",
    "pcc",
    "pcp",
    "ppr",
    "ppc",
    "ppp",
]

PRODUCTS = {
    "MI210": "gfx90a",
    "MI250": "gfx90a",
    "MI250X": "gfx90a",
    "MI300A": "gfx942",
    "MI300X": "gfx942",
    "MI308X": "gfx942",
    "MI325X": "gfx942",
    "MI350P": "gfx950",
    "MI350X": "gfx950",
    "MI355X": "gfx950",
    "A100": "sm_80",
    "H100": "sm_90",
    "H200": "sm_90",
}

FIELDS: dict[str, dict[str, tuple[str, Any]]] = {
    "gemm": {
        "M": ("m", int),
        "N": ("n", int),
        "K": ("k", int),
        "split_k": ("split_k", int),
        **_alike(DTYPES, "dtype_a dtype_b dtype_c"),
        "layout": ("layout", list),
        "batch": ("request.batch", int),
        "stream_k": ("request.stream_k", str),
        "num_d": ("request.num_d", int),
        "preshuffle": ("request.preshuffle", bool),
        "quant": ("request.quant", str),
        "group_a": ("request.group_a", tuple),
        "group_b": ("request.group_b", tuple),
    },
    "conv": {
        "direction": ("direction", DIRECTIONS),
        "ndim": ("ndim", int),
        "N": ("n", int),
        "C": ("c", int),
        "K": ("k", int),
        "G": ("g", int),
        **_elements("input", "Di Hi Wi"),
        **_elements("filter", "Z Y X"),
        **_elements("stride", "stride_d stride_h stride_w"),
        **_elements("dilation", "dilation_d dilation_h dilation_w"),
        **_elements("pad_left", "pad_d_left pad_h_left pad_w_left"),
        **_elements("pad_right", "pad_d_right pad_h_right pad_w_right"),
        "split_k": ("split_k", int),
        **_alike(DTYPES, "dtype_in dtype_wei dtype_out"),
        "layout": ("layout", LAYOUTS),
    },
    "fmha": {
        "api_family": ("api_family", tuple("fwd fwd_pagedkv fwd_splitkv fwd_appendkv batch_prefill bwd".split())),
        "family": ("family", FMHA_FAMILIES),
        "dtype": ("dtype", DTYPES),
        **_alike(int, "batch seqlen_q seqlen_k nhead_q nhead_k hdim_q hdim_v"),
        "mode": ("mode", tuple("batch group".split())),
        "mask": ("mask", tuple("no top_left bottom_right generic".split())),
        "bias": ("bias", tuple("no bias alibi".split())),
        "qscale": ("qscale", tuple("no pertensor blockscale kv_blockscale mx per_token_head".split())),
        "rope": ("rope", tuple("none inter half".split())),
        "kv_layout": ("kv_layout", tuple("vectorized linear".split())),
        "kv_lookup": ("kv_lookup", tuple("vllm sglang".split())),
        **_alike(int, "max_seqlen_q max_seqlen_k page_size num_splits window_left window_right"),
        **_alike(int, "sink_size min_seqlen_q rotary_dim"),
        **_alike(bool, "v_rowmajor logits lse dropout paged_kv fp8_static_quant skip sink dbias"),
        **_alike(bool, "store_randval deterministic has_seqstart_q_ptr has_seqstart_k_ptr"),
        **_alike(bool, "has_seqlen_q_ptr has_seqlen_k_ptr has_cu_seqlen_q_ptr has_cu_seqlen_k_ptr"),
        **_alike(bool, "has_block_table_ptr has_cache_batch_idx is_gappy has_rotary_cos_sin"),
    },
    "moe": {
        "stage": ("stage", str),
        **_alike(int, "tokens experts topk n k"),
        **_alike(DTYPES, "dtype_a dtype_b"),
        "quant": ("quant", str),
        **_alike(int, "block_n block_k"),
        "activation": ("activation", str),
        "weighted_first": ("weighted_first", bool),
        **_alike(int, "active largest"),
        **_elements("tiles", "tiles_16 tiles_32 tiles_64 tiles_128 tiles_256"),
    },
}
