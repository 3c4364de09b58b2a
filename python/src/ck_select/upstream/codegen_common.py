"""The part of upstream's ``codegen_common`` that its feature engines need: architectures and vector widths."""

from __future__ import annotations

from collections.abc import Sequence
from math import gcd

from ck_select._names import RESULTS
from ck_select.dispatcher import plain_arch
from ck_select.engines import GemmUniversalVecFeatureEngine

_VEC_ELEMENT_BYTES = {"fp16": 2, "bf16": 2, "fp32": 4, "fp64": 8, "fp8": 1, "bf8": 1, "int8": 1, "int32": 4}
_WIDEST = 16
# The dimension along which each operand is contiguous, row-major and column-major.
_CONTIGUOUS = ({"r": "k", "c": "m"}, {"r": "n", "c": "k"}, {"r": "n", "c": "m"})


class CommonTypeMappings:
    """The part of upstream's class with this name about results."""

    @staticmethod
    def get_output_dtype(dtype: str) -> str:
        """The type of C for a type of A and B."""
        return RESULTS.get(dtype, dtype)


normalize_gfx_arch = plain_arch


def gemm_contiguous_dims(layout: str) -> tuple[str, str, str]:
    """The contiguous dimension of A, B and C."""
    a, b, c = (major[letter] for major, letter in zip(_CONTIGUOUS, layout))
    return a, b, c


def gemm_problem_vector_sizes(
    m: int, n: int, k: int, layout: str, dtype_a: str, dtype_b: str, dtype_c: str
) -> tuple[int, int, int]:
    """The widest vectors that a problem allows, in elements, of A, B and C."""
    extents = {"m": m, "n": n, "k": k}
    a, b, c = (
        gcd(extents[axis], _WIDEST // _VEC_ELEMENT_BYTES[dtype])
        for axis, dtype in zip(gemm_contiguous_dims(layout), (dtype_a, dtype_b, dtype_c))
    )
    return a, b, c


def gemm_native_vector_sizes(
    *,
    dtype_a: str,
    dtype_b: str,
    dtype_c: str,
    layout: str,
    tile: Sequence[int],
    waves: Sequence[int],
    warp_tile: Sequence[int],
    gfx_arch: str,
    epilogue: str,
) -> tuple[int, int, int]:
    """The widths of a kernel that fixes none: the library's, for a problem that allows all."""
    if dtype_b != dtype_a or dtype_c != CommonTypeMappings.get_output_dtype(dtype_a):
        found = f"{dtype_a}, {dtype_b} and {dtype_c}"
        raise ValueError(f"found the types {found}, expected one type of A and B, and its own of C")
    extent = _WIDEST * 64
    problem = {"m": extent, "n": extent, "k": extent, "dtype": dtype_a, "layout": layout, "arch": gfx_arch}
    kernel = {
        **{f"tile_{axis}": size for axis, size in zip("mnk", tile)},
        **{f"warp_{axis}": size for axis, size in zip("mnk", waves)},
        **{f"warp_tile_{axis}": size for axis, size in zip("mnk", warp_tile)},
        **{"vec_a": 0, "vec_b": 0, "vec_c": 0, "epilogue": epilogue},
    }
    shares = GemmUniversalVecFeatureEngine().extract(problem, kernel)[-3:]
    legal = gemm_problem_vector_sizes(extent, extent, extent, layout, dtype_a, dtype_b, dtype_c)
    a, b, c = (round(float(share) * width) for share, width in zip(shares, legal))
    return a, b, c
