"""Names, problems and rows in tiles of ``gpu/triton``'s mixtures of experts; the kernel is in ``tests_inductor``."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys

import pytest
from support import ROOT

from ck_select._names import cells
from ck_select.commands import command

TRITON = ROOT / "gpu" / "triton"
sys.path.append(str(TRITON))

from mixture import ROWS_OF_TILES, Kernel, Problem, in_tiles  # noqa: E402
from pool import Refused  # noqa: E402

NAME = "triton_moe_bf16_64x128x64_group16_4warps_3stages"
TEXT = "stage=1,tokens=64,experts=8,topk=2,n=512,k=256,dtype_a=bf16,dtype_b=bf16"


def routed(tokens, experts, topk, histogram, stage=1):
    """A problem as `bench` writes one that has a histogram."""
    tiles = {f"tiles_{rows}": sum(-(-count // rows) for count in histogram) for rows in ROWS_OF_TILES}
    numbers = {"active": len(histogram), "largest": max(histogram), **tiles}
    shape = f"stage={stage},tokens={tokens},experts={experts},topk={topk},n=96,k=64"
    return Problem.parse(",".join([shape, *(f"{name}={number}" for name, number in numbers.items())]))


def histograms(count):
    """Tokens, experts, topk and rows of experts: even ones, random ones, and some that few experts have most of."""
    draw = random.Random(7)
    for _ in range(count):
        tokens, experts, skew = draw.choice([1, 7, 16, 100, 300]), draw.choice([2, 8, 64]), draw.choice([0, 0.7, 2])
        topk = draw.randint(1, min(experts, 8))
        weights = [(rank + 1) ** -skew for rank in range(experts)]
        rows = [0] * experts
        for _ in range(tokens):
            chosen = set()
            while len(chosen) < topk:
                chosen.add(draw.choices(range(experts), weights)[0])
            for expert in chosen:
                rows[expert] += 1
        yield tokens, experts, topk, [row for row in rows if row]


def test_rows_of_experts_come_to_the_numbers_of_any_histogram():
    for tokens, experts, topk, histogram in [*histograms(300), (4096, 64, 8, [4096] * 8), (300, 4, 2, [300, 299, 1])]:
        problem = routed(tokens, experts, topk, histogram)
        assert routed(tokens, experts, topk, problem.histogram()) == problem
        own = problem.rows_of_experts()
        assert len(own) == experts and sorted(len(rows) for rows in own if rows) == sorted(problem.histogram())
        assert sorted(row for rows in own for row in rows) == list(range(tokens * topk))
        assert all(len({row // topk for row in rows}) == len(rows) for rows in own), "an expert has a token once"


def test_without_routing_experts_are_drawn_and_numbers_of_no_histogram_are_refused():
    """Rows were dealt evenly, which is another workload than the one that `rank` assumes."""
    rows = Problem.parse(TEXT.replace("tokens=64", "tokens=4096")).histogram()
    assert sum(rows) == 8192 and len(rows) == 8 and 1024 < max(rows) < 1024 + 5 * (1024 * 3 / 4) ** 0.5
    few = Problem.parse(TEXT.replace("tokens=64", "tokens=3")).histogram()
    assert sum(few) == 6 and max(few) <= 3 and 0 not in few
    problem = routed(64, 8, 2, [40, 30, 20, 18, 10, 5, 3, 2])
    with pytest.raises(Refused, match="which a skew only expects; give a histogram"):
        Problem(**{**vars(problem), "tiles": (13, 9, 8, 8, 9)}).histogram()


def test_each_tile_has_rows_of_one_expert_and_padding():
    problem = routed(20, 4, 2, [20, 12, 8])
    experts = problem.rows_of_experts()
    for rows_of_tile in 16, 32:
        ids, owners, used = in_tiles(experts, rows_of_tile)
        assert len(ids) == len(owners) * rows_of_tile and sorted(set(ids)) == [*range(40), 40]
        assert used == problem.tiles[ROWS_OF_TILES.index(rows_of_tile)] * rows_of_tile
        assert set(ids[used:]) <= {40} and len(ids) >= 40 + 3 * (rows_of_tile - 1)
        for tile, owner in enumerate(owners[: used // rows_of_tile]):
            rows = ids[tile * rows_of_tile : (tile + 1) * rows_of_tile]
            assert {row for row in rows if row < 40} <= set(experts[owner])
    # Fewer rows than experts need no more than a tile each.
    assert len(in_tiles([[0], [], [1], []], 16)[1]) == 2


def test_names_are_the_librarys(tmp_path):
    words = ["enumerate", str(ROOT / "configs" / "triton_moe.json"), "--arch", "sm_90", "--output", "pool.txt"]
    subprocess.run([command(), *words], cwd=tmp_path, check=True, capture_output=True)
    names = (tmp_path / "pool.txt").read_text().splitlines()
    assert len(names) > 1000
    for name in [*names[::50], NAME + "_wpe2_nonkdim32_kpack2", NAME.replace("bf16", "fp8")]:
        kernel, read = Kernel.parse(name), cells(name)
        assert (read["tile_m"], read["tile_n"], read["tile_k"]) == kernel.tile
        assert (read["group_m"], read["wave_m"], read["stages"]) == (kernel.group_m, kernel.warps, kernel.stages)
        amds = kernel.waves_per_eu, kernel.nonkdim, kernel.kpack
        assert amds == (read["waves_per_eu"], read["nonkdim"], read["kpack"]), name


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("bf16", "int8", "found the type int8, expected fp16, bf16, fp8, bf8"),
        ("64x128", "96x128", "expected powers of two"),
        ("3stages", "3stages_tma", "moe.py does neither _splitk nor _tma"),
        ("bf16", "bf16_wint4", "nor weights of another type"),
        ("3stages", "0stages", "at least one stage"),
    ],
)
def test_other_names_are_refused_with_the_reason(old, new, message):
    with pytest.raises(Refused) as refused:
        Kernel.parse(NAME.replace(old, new))
    assert message in str(refused.value)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("stage=1", "stage=both", "expected stage 1 or 2"),
        ("dtype_b=bf16", "dtype_b=int4", "dtype_b has to be bf16"),
        ("n=512", "n=512,quant=mx", "found the scales mx, expected none, tensor, token, block"),
        ("n=512", "n=512,split_k=2", "the problem has split_k = 2"),
    ],
)
def test_other_problems_are_refused_with_the_reason(old, new, message):
    with pytest.raises(Refused) as refused:
        Problem.parse(TEXT.replace(old, new))
    assert message in str(refused.value)


def test_a_step_stays_within_the_elements_that_share_a_scale():
    blocks = Problem.parse(TEXT + ",quant=block,block_n=128,block_k=32")
    assert "goes beyond block_k, 32" in Kernel.parse(NAME).refuses(blocks)
    assert Kernel.parse(NAME.replace("x64_", "x32_")).refuses(blocks) is None
    assert Kernel.parse(NAME.replace("bf16", "fp16")).refuses(blocks) == "the problem is bf16"


def test_stage_two_is_weighted_unless_stage_one_was():
    first, second = Problem.parse(TEXT), Problem.parse(TEXT.replace("stage=1", "stage=2"))
    before = Problem.parse(TEXT + ",weighted_first=1")
    assert [problem.weighted for problem in (first, second, before)] == [False, True, True]
    assert [problem.share for problem in (first, second)] == [2, 1]
    assert Kernel.parse(NAME).variant(second) == (True, True, True, True, 0, 0, 0)


def test_bench_starts_the_worker_for_these_names_only(tmp_path):
    (tmp_path / "torch.py").write_text("raise ImportError(name='torch')")
    (tmp_path / "problems.csv").write_text("stage,tokens,experts,topk,n,k\n1,64,8,2,512,256\n")
    runner = json.loads((TRITON / "moe.json").read_text())
    runner["command"] = [sys.executable, str(TRITON / "worker.py")]
    runner["environment"] = {"PYTHONPATH": str(tmp_path)}
    (tmp_path / "runner.json").write_text(json.dumps(runner))
    words = "bench --pool pool.txt --problems problems.csv --runner runner.json --output log.csv"
    for name, message in (
        (NAME, "has no torch: install torch and triton for your GPU"),
        (
            "moe_ck2stages_gemm1_256x32x64x128_1x4_TypeCast_v1_Nswizzle0_Quant0_MulRoutedWeight0_silu_B16_B16_B16",
            "names",
        ),
    ):
        (tmp_path / "pool.txt").write_text(name)
        ran = subprocess.run(
            [command(), *words.split()],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            env={**os.environ, "CK_SELECT_LOCK_DIR": str(tmp_path)},
            check=False,
        )
        assert ran.returncode and message in ran.stderr
