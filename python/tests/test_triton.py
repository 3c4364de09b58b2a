"""Triton's pool and worker in ``gpu/triton``, with a PyTorch and a Triton that only keep account."""

from __future__ import annotations

import csv
import itertools
import json
import os
import subprocess
import sys

import pytest
from fake_torch import install
from support import ROOT

import ck_select
from ck_select._names import cells
from ck_select.commands import command
from ck_select.triton import names as triton_names

TRITON = ROOT / "gpu" / "triton"
sys.path.append(str(TRITON))

from pool import ARCHS, DTYPES, LAYOUTS, Kernel, Problem, Refused, pool, split_pool  # noqa: E402

NAME = "triton_gemm_bf16_rcr_compv4_default_intrawave_False_False_False_False_128x64x64_4x1x1_16x16x16"

# Rows of the tile decide what a kernel does: 256 do not compile, 128 write nothing, 64 do not launch, 32 take a second
# instead of a millisecond.
TRITON_ITSELF = """
import torch
__version__ = "3"
class Jit:
    def warmup(self, *arguments, **how):
        if arguments[11] == 256: raise RuntimeError("no registers")
    def __getitem__(self, grid):
        def launch(a, b, c, m, n, k, *constants, **how):
            rows = constants[5]
            if rows == 64: raise RuntimeError("out of resource: shared memory")
            if rows != 128: c.value = a.value * b.value
            torch.run(1000.0 if rows == 32 else 1.0)
        return launch
jit = lambda function=None, **how: Jit() if function else lambda function: Jit()
"""


@pytest.fixture
def bench(tmp_path):
    """`ckselect bench` with the worker; the result is its standard error and the classes by rows of a tile."""

    def run(*, free="95", only="torch.py triton", tiles=(16, 32, 64, 128, 256), problems="m,n,k\n256,64,64\n"):
        environment = install(tmp_path, TRITON_ITSELF, free=free, only=only)
        names = [Kernel("bf16", "rcr", (rows, 64, 64), 4, 3).name for rows in tiles]
        (tmp_path / "pool.txt").write_text("\n".join(names))
        (tmp_path / "problems.csv").write_text(problems)
        program = [sys.executable, str(TRITON / "worker.py")]
        runner = {"runner": "worker", "command": program, "environment": environment}
        (tmp_path / "runner.json").write_text(json.dumps(runner))
        words = "bench --pool pool.txt --problems problems.csv --runner runner.json --output log.csv --cutoff 2"
        environment = {**os.environ, "CK_SELECT_LOCK_DIR": str(tmp_path)}
        ran = subprocess.run(
            [command(), *words.split()], cwd=tmp_path, capture_output=True, text=True, env=environment, check=False
        )
        log = tmp_path / "log.csv"
        rows = csv.DictReader(log.read_text().splitlines() if log.exists() else [])
        return ran, {Kernel.parse(row["kernel"]).tile[0]: row for row in rows}

    return run


def test_every_outcome_is_a_row_with_its_reason(bench):
    ran, rows = bench()
    assert ran.returncode == 0, ran.stderr
    assert (rows[16]["latency_ms"], rows[16]["non_zero"]) == ("1.0", "1")
    for tile, error in (32, "cut_off"), (64, "launch: RuntimeError: "), (128, "garbage: wrong"), (256, "build: "):
        assert rows[tile]["error_msg"].startswith(error), rows[tile]
    assert "no registers" in rows[256]["error_msg"]


def test_splits_that_no_kernel_takes_are_refused(bench):
    ran, rows = bench(tiles=[16], problems="m,n,k,split_k\n64,64,64,2\n")
    assert ran.returncode == 1 and "split_k is 2, and K has 1 steps of 64" in rows[16]["error_msg"]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"only": "triton"}, "has no torch: install torch and triton for your GPU"),
        ({"only": "torch.py"}, "has no triton: install torch and triton for your GPU"),
        ({"free": "70"}, "the GPU is busy: others hold"),
    ],
)
def test_what_cannot_measure_says_why_and_leaves_nothing(bench, given, message):
    ran, rows = bench(**given)
    assert (ran.returncode, rows) == (1, {})
    assert "the worker cannot measure: " in ran.stderr and message in ran.stderr


def test_names_are_read_as_they_are_printed():
    for dtype in DTYPES:
        for layout in LAYOUTS:
            for arch in ARCHS:
                kernels = pool(dtype, layout, arch)
                assert len(kernels) > 100 and set(split_pool(dtype, layout, arch)) < set(kernels)
                assert all(Kernel.parse(kernel.name) == kernel for kernel in kernels)


def test_the_product_knows_the_names():
    names = [kernel.name for kernel in pool("fp8", "rcr", "sm_90")]
    rows = ck_select.estimate({"M": 512, "N": 512, "K": 512, "dtype": "fp8"}, names, arch="sm_90")
    assert sorted(row["kernel"] for row in rows) == sorted(names)


def whole_space():
    """Kernels with every number that Triton takes, and others as usual."""
    usual = triton_names.Kernel("bf16", "rcr", (128, 64, 64), 4, 3)
    amds = {"waves_per_eu": (1, 2, 4), "nonkdim": (4, 32), "kpack": (2,)}
    unusual = {
        **{"stages": range(1, 9), "warps": (1, 2, 4, 8, 16), "persistent": (True,), "group_m": (1, 4, 16, 64)},
        **{"tma": (True,), "split_k": (4,), "ctas": (2, 4), "tile": ((96, 192, 48), (8, 16, 1024)), **amds},
    }
    fields = vars(usual)
    one = [{**fields, name: value} for name, values in unusual.items() for value in values]
    all_of_them = {name: values[-1] for name, values in unusual.items()}
    return {triton_names.Kernel(**each) for each in (*one, {**fields, **all_of_them})}


def test_the_whole_space_is_named_and_estimated():
    kernels = whole_space()
    assert {triton_names.Kernel.parse(kernel.name) for kernel in kernels} == kernels
    for kernel in kernels:
        read = cells(kernel.name)
        assert (read["tile_m"], read["tile_n"], read["tile_k"]) == kernel.tile
        assert read["warp_m"] * read["warp_n"] == kernel.warps, kernel
    rows = ck_select.estimate(
        {"M": 512, "N": 512, "K": 512, "dtype": "bf16"}, [kernel.name for kernel in kernels], arch="sm_90"
    )
    assert len(rows) == len(kernels)


def test_what_nothing_was_measured_of_is_flagged(tmp_path):
    names = sorted(kernel.name for kernel in whole_space())
    (tmp_path / "pool.txt").write_text("\n".join(names))
    ranked = ck_select.ckselect(
        "rank", arch="sm_90", pool=tmp_path / "pool.txt", problem="M=512,N=512,K=512,dtype=bf16"
    )
    words = {row["kernel"]: row["unmeasured"] or "" for row in ranked}
    assert sorted(words) == names
    flagged = set(itertools.chain.from_iterable(each.split() for each in words.values()))
    stages, groups = {f"stages{number}" for number in (1, 6, 7, 8)}, {f"gm{number}" for number in (1, 4, 16, 64)}
    others = "splitk4 tma ctas2 ctas4 wpe1 wpe2 wpe4 nonkdim4 nonkdim32 kpack2 warps1 warps16 side96 side192 side48"
    assert flagged == {*stages, *groups, *others.split()}
    assert not words[triton_names.Kernel("bf16", "rcr", (128, 64, 64), 4, 3).name]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("compv4", "mem", "'mem' has no number of stages, expected compv3, compv4, compv5, compv6 (2 to 5)"),
        ("bf16", "fp64", "found the type fp64, expected fp16, bf16, fp8, bf8"),
        ("rcr", "rcc", "found the layout rcc, expected rcr, rrr, ccr, crr"),
        ("4x1x1", "2x2x1", "expected triton_gemm_bf16_rcr_compv4_"),
        ("128x64", "96x64", "expected powers of two"),
        ("16x16x16", "16x16x16_splitk4", "found '_splitk4', expected none: a split is the problem's"),
        ("16x16x16", "16x16x16_tma", "found tma, batched or ctas, which gemm.py does not do"),
        ("16x16x16", "16x16x16_gm8", "expected triton_gemm_bf16_rcr_compv4_"),
        ("triton_gemm", "gemm_universal", "expected a name as pool.py prints it"),
    ],
)
def test_other_names_are_refused_with_the_reason(old, new, message):
    with pytest.raises(Refused) as refused:
        Kernel.parse(NAME.replace(old, new))
    assert message in str(refused.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("M=8,N=8,split_k=1", "expected numbers for M, N and K"),
        ("M=8,N=8,K=8,split_k=auto", "only a number of parts can be measured"),
        ("M=8,N=8,K=8,dtype_a=bf16,dtype_c=fp32", "dtype_c has to be bf16"),
        ("M=8,N=8,K=8,batch=4", "the problem has batch = 4"),
    ],
)
def test_other_problems_are_refused_with_the_reason(text, message):
    with pytest.raises(Refused, match=message):
        Problem.parse(text)
