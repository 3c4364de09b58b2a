"""Mixtures of experts over the C interface."""

from __future__ import annotations

import dataclasses

import pytest

import ck_select
from ck_select import MoeProblem, NoKernelError, Registry

NAME = "triton_moe_bf16_{m}x128x64_group1_4warps_3stages"
SMALL, LARGE = NAME.format(m=16), NAME.format(m=128)
PROBLEM = MoeProblem(stage="1", tokens=512, experts=64, topk=4, n=2816, k=2048)


def test_a_registry_chooses_by_the_rows_of_each_expert():
    registry = Registry(arch="sm_90", kernels=[SMALL, LARGE], environment=False)
    few = dataclasses.replace(PROBLEM, tokens=16, histogram=[1] * 64)
    many = dataclasses.replace(PROBLEM, histogram=[512] * 4)
    assert [registry.select(problem).name for problem in (few, many)] == [SMALL, LARGE]
    assert registry.select(PROBLEM).source == "estimate"
    with pytest.raises(NoKernelError, match="choose for stage=1, and for stage=2 with n=2048 and k=1408"):
        registry.select(dataclasses.replace(PROBLEM, stage="both"))


def test_a_histogram_is_what_it_comes_to():
    problem = dataclasses.replace(PROBLEM, histogram=[512, 512, 512, 512])
    numbers = {
        "active": 4,
        "largest": 512,
        "tiles_16": 128,
        "tiles_32": 64,
        "tiles_64": 32,
        "tiles_128": 16,
        "tiles_256": 8,
    }
    registry = Registry(arch="sm_90", kernels=[SMALL, LARGE], environment=False)
    same = dataclasses.replace(PROBLEM, **numbers)
    assert registry.explain(problem) == registry.explain(same)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"histogram": [512, 512]}, "histogram: found 1024 rows of all experts, expected 2048: tokens times topk"),
        ({"histogram": [513, 511, 512, 512]}, "histogram: found 513 rows of one expert, expected at most 512"),
        ({"histogram": [32] * 60 + [8] * 16}, "histogram: found 76 experts with rows, expected at most 64"),
        ({"topk": 65}, "topk: found 65, expected at most experts, 64"),
        ({"stage": "3"}, "unknown stage of a mixture of experts '3', expected one of: 1, 2, both"),
    ],
)
def test_mistakes_are_named(changes, message):
    with pytest.raises(ck_select.CkSelectError, match=message):
        dataclasses.replace(PROBLEM, **changes)


def test_scales_and_types_follow():
    fp8 = dataclasses.replace(PROBLEM, dtype="fp8", quant="block")
    assert [fp8.to_dict()[name] for name in ("dtype_b", "block_n", "block_k")] == ["fp8", 128, 128]
