"""The kernel of ``gpu/triton/moe.py``, interpreted on the CPU, beside the product of each expert in fp32."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("triton")
TRITON = Path(__file__).resolve().parents[2] / "gpu" / "triton"

# Triton's interpreter cannot multiply bf16.
PROGRAM = """
from mixture import Kernel, Problem
from moe import Operands

routing = "active=3,largest=20,tiles_16=4,tiles_32=3,tiles_64=3,tiles_128=3,tiles_256=3"
ran = 0
for stage, shape, dtype, scales in (
    (1, "n=96,k=80", "fp16", "quant=none"),
    (2, "n=96,k=64", "fp16", "quant=none"),
    (1, "n=40,k=72", "fp16", "quant=none,weighted_first=1"),
    (1, "n=96,k=96", "fp8", "quant=tensor"),
    (2, "n=96,k=96", "fp8", "quant=token"),
    (1, "n=96,k=96", "fp8", "quant=block,block_n=32,block_k=64"),
    (2, "n=96,k=128", "fp8", "quant=block,block_n=64,block_k=64"),
):
    text = f"stage={stage},tokens=20,experts=4,topk=2,{shape},dtype_a={dtype},{scales},{routing}"
    problem, operands = Problem.parse(text), Operands("cpu")
    operands.prepare(problem)
    for tile, group in (("16x32x32", 1), ("32x64x64", 2)):
        operands.c.fill_(float("nan"))
        operands.launch(Kernel.parse(f"triton_moe_{dtype}_{tile}_group{group}_4warps_3stages"))
        error = float((operands.c.float() - operands.right).norm() / operands.right.norm())
        assert error < 2e-3, (text, tile, error)
        ran += 1
print(ran)
"""


def test_every_kind_of_scale_in_both_stages_is_right():
    environment = {**os.environ, "TRITON_INTERPRET": "1", "PYTHONPATH": str(TRITON)}
    ran = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, env=environment, check=False)
    assert (ran.returncode, ran.stdout) == (0, "14\n"), ran.stderr
