"""``python -m ck_select.inductor --check``: what is found in this torch, and what would be done."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable
from typing import Any

from . import VARIABLE, _check_seam
from .problem import DTYPES, OPERATIONS

# Inductor's usual sides, to show an order without a compilation.
_CONFIGS = [
    {"BLOCK_M": m, "BLOCK_N": n, "BLOCK_K": 64, "num_warps": warps, "num_stages": stages}
    for m in (16, 64, 128)
    for n in (64, 128, 256)
    for warps in (4, 8)
    for stages in (3, 4)
]


def _torch() -> str:
    import torch

    _check_seam()
    return f"{torch.__version__}: InductorChoices has what is needed"


def _triton() -> str:
    import triton

    return str(triton.__version__)


def _choices() -> str:
    from torch._inductor.virtualized import V

    kind = type(V.choices)
    return f"{kind.__module__}.{kind.__qualname__}" + (f", before it {VARIABLE}" if os.environ.get(VARIABLE) else "")


def _autotuning() -> str:
    from torch._inductor import config

    backends = config.max_autotune_gemm_backends
    on = config.max_autotune or config.max_autotune_gemm
    return f"{backends}; " + ("on" if on else 'only with mode="max-autotune": without, Inductor tries nothing')


def _gpu() -> str:
    from ..triton import device

    found = device.gpu()
    return f"{found.arch} {dict(found.constants)}"


def _order() -> str:
    from ..triton import rank

    best = rank(_CONFIGS, M=384, N=3584, K=18944, dtype="bf16", layout="rcr", top=4)
    tiles = ["x".join(str(each.config[f"BLOCK_{side}"]) for side in "MNK") for each in best]
    return f"bf16 384x3584x18944: tiles {', '.join(tiles)}"


def main(arguments: list[str]) -> int:
    """Prints a line for each thing that has to be there."""
    parser = argparse.ArgumentParser(prog="python -m ck_select.inductor", description=__doc__)
    parser.add_argument("--check", action="store_true", required=True, help="say what is found here")
    parser.parse_args(arguments)
    checks: dict[str, Callable[[], Any]] = {
        **{"torch": _torch, "triton": _triton, "choices": _choices, "autotuning": _autotuning},
        **{"GPU": _gpu, "order": _order},
    }
    failed = 0
    for what, check in checks.items():
        try:
            print(f"{what}: {check()}")
        except Exception as error:
            failed += 1
            print(f"{what}: missing: {error}")
    print(f"ranked: {', '.join(OPERATIONS)}, of {', '.join(DTYPES)}")
    print("enable() works here" if not failed else "enable() would leave Inductor's own candidates, or fail")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
