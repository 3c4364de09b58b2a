"""Which of Inductor's candidates are kept, without torch; ``tests_inductor`` asks torch itself."""

from __future__ import annotations

import itertools
from types import SimpleNamespace

from ck_select import GemmProblem, Registry
from ck_select.inductor import ck
from ck_select.inductor.choices import first
from ck_select.inductor.problem import Problem, Ranker, name_of

PROBLEM = Problem("mm", 384, 3584, 18944, 0, "bf16", "rcr", None)
FIXED = object()


class Candidate:
    """What is used of a ``KernelTemplateChoice``. As Inductor's, it is generated for a fixed layout only."""

    layout: object = None

    def __init__(self, can_be_generated: bool = True, **params: int) -> None:
        self.params, self.template = params, SimpleNamespace(uid="triton::mm")
        self.can_be_generated = can_be_generated

    @property
    def choice(self) -> object:
        assert self.layout is FIXED, "convert FlexibleLayout to FixedLayout first"
        return self if self.can_be_generated else None


def kept(candidates: list[Candidate], top: int | str, model: str | None = None) -> list[Candidate]:
    def output_layout(flexible: bool) -> object:
        assert not flexible
        return FIXED

    return first(candidates, PROBLEM, Ranker(model, "sm_90"), top, output_layout)


def candidates() -> list[Candidate]:
    sides = itertools.product((16, 64, 128), (64, 128), (3, 4))
    return [
        Candidate(BLOCK_M=m, BLOCK_N=n, BLOCK_K=64, GROUP_M=8, num_warps=4, num_stages=stages) for m, n, stages in sides
    ]


def test_a_candidate_is_generated_for_a_layout_that_is_fixed():
    # On a GPU, layouts were still flexible: the assertion was a warning, and the stock list was taken.
    assert len(kept(candidates(), 4)) == 4


def test_a_candidate_that_cannot_be_generated_gives_way_to_the_next():
    all_of_them = candidates()
    best, second, *_ = kept(all_of_them, 4)
    best.can_be_generated = False
    assert kept(all_of_them, 1) == [second]


def test_what_is_no_candidate_of_ours_stays_in_front():
    atens = SimpleNamespace()
    assert kept([atens, *candidates()], 2)[0] is atens


def test_kernels_that_spill_come_last():
    # On an H200, the first of these 8-bit kernels took 4.7 times as long as the best.
    problem = PROBLEM._replace(op="scaled_mm", m=176, n=27648, k=5120, dtype="fp8")
    tiles = list(itertools.product((64, 128), (128, 256), (4, 8)))

    def results_a_thread(fast: bool, arch: str) -> int:
        sides = {"BLOCK_K": 128, "GROUP_M": 8, "num_stages": 4, "USE_FAST_ACCUM": fast}
        every = [Candidate(BLOCK_M=m, BLOCK_N=n, num_warps=warps, **sides) for m, n, warps in tiles]
        (best,) = first(every, problem, Ranker(None, arch), 1, lambda flexible: FIXED)
        return best.params["BLOCK_M"] * best.params["BLOCK_N"] // best.params["num_warps"] // 32

    assert results_a_thread(True, "sm_90") >= 128
    assert results_a_thread(False, "sm_90") < 128
    assert results_a_thread(False, "gfx942") == results_a_thread(True, "gfx942")


def test_as_many_are_kept_as_have_to_be_timed():
    sides = itertools.product((16, 32, 64, 128), (64, 128, 256), (32, 64, 128), (4, 8), (3, 4))
    many = [
        Candidate(BLOCK_M=m, BLOCK_N=n, BLOCK_K=k, GROUP_M=8, num_warps=warps, num_stages=stages)
        for m, n, k, warps, stages in sides
    ]
    _, enough = Ranker("estimate", "sm_90").places(
        PROBLEM, [name_of(each, each.params, PROBLEM) for each in many], "sure"
    )
    assert 1 < enough < len(many)
    assert kept(many, "sure", "estimate") == kept(many, enough, "estimate")


def ck_tile(tile: tuple[int, int, int], parts: int = 1, padded: str = "true") -> SimpleNamespace:
    """What is used of a choice with an instance of CK Tile."""
    sides = {f"tile_{axis}": side for axis, side in zip("mnk", tile)}
    sides |= {f"warp_{axis}": waves for axis, waves in zip("mnk", (2, 2, 1))}
    sides |= {f"warp_tile_{axis}": side for axis, side in zip("mnk", (32, 32, 16))}
    pads = {f"{axis}_is_padded": padded for axis in "mnk"}
    words = {"pipeline": "CompV3", "scheduler": "Intrawave", "epilogue": "CShuffle"}
    layouts = {"layout_a": "Row", "layout_b": "Col", "layout_c": "Row", "datatype_a": "BF16", "datatype_b": "BF16"}
    return rocm(SimpleNamespace(**sides, **pads, **words, **layouts), parts, (384, 3584, 18944))


def ck_xdl(tile: tuple[int, int, int], sides: int, padding: str = "MNKPadding", **changes: object) -> SimpleNamespace:
    """What is used of a choice with an instance of CK, of 2 x 2 waves."""
    m, n, k = tile
    words = {
        "gemm_specialization": f"GemmSpecialization::{padding}",
        "block_gemm_pipeline_scheduler": "BlockGemmPipelineScheduler::Interwave",
        "block_gemm_pipeline_version": "BlockGemmPipelineVersion::v4",
    }
    layouts = {"a_layout": "Row", "b_layout": "Col", "c_layout": "Row"}
    layouts |= {"a_element_dtype": "F16", "b_element_dtype": "F16"}
    tiles = {"m_per_block": m, "n_per_block": n, "k_per_block": k, "m_per_xdl": sides, "n_per_xdl": sides}
    waves = {"m_xdl_per_wave": m // sides // 2, "n_xdl_per_wave": n // sides // 2}
    return rocm(SimpleNamespace(**{**words, **layouts, **tiles, **waves, **changes}), 1, (384, 3584, 18944))


def rocm(instance: SimpleNamespace, parts: int, sizes: tuple[int, ...], is_batched: bool = False) -> SimpleNamespace:
    return SimpleNamespace(
        info_kwargs={"op": instance, "kBatch": parts},
        bmreq=SimpleNamespace(extra_args=[*sizes, 1, 1, 1, parts]),
        template=SimpleNamespace(is_batched=is_batched),
        layout=SimpleNamespace(device=None),
    )


def test_instances_have_names():
    names = [
        ck.instance_of(choice).name
        for choice in (
            ck_tile((256, 256, 64), padded="false"),
            ck_xdl((128, 64, 32), 32),
            ck_xdl((224, 256, 64), 16, "Default"),
            ck_xdl((128, 64, 128), 16, "MKPadding", a_element_dtype="F8", b_element_dtype="F8"),
        )
    ]
    begin = "gemm_universal"
    assert names == [
        f"{begin}_bf16_rcr_compv3_cshuffle_intrawave_False_False_False_False_256x256x64_2x2x1_32x32x16",
        f"{begin}_fp16_rcr_compv4_cshuffle_interwave_True_True_True_False_128x64x32_2x2x1_32x32x8",
        f"{begin}_fp16_rcr_compv4_cshuffle_interwave_False_False_False_False_224x256x64_2x2x1_16x16x16",
        f"{begin}_fp8_rcr_compv4_cshuffle_interwave_True_False_True_False_128x64x128_2x2x1_16x16x32",
    ]
    assert len(Registry("gfx942", kernels=names, environment=False)) == 4


def test_the_first_instances_of_ck_are_compiled():
    sides = itertools.product((64, 128, 256), (64, 128, 256), (32, 64), (1, 2))
    instances = [ck_tile((m, n, k), parts) for m, n, k, parts in sides]
    aten = SimpleNamespace(name="mm")
    ranker = Ranker(None, "gfx942")
    few, names = ck.first([aten, *instances], ranker, 3)
    assert len(few) == 4 and few[0] is aten and len(names) == 3
    # The order is that of a registry in which the split is open.
    names_of_one = [ck.instance_of(each).name for each in instances[::2]]
    registry = Registry("gfx942", kernels=names_of_one, environment=False, embedded_models=True)
    problem = GemmProblem(384, 3584, 18944, dtype="bf16")
    best = registry.rank(problem)[0][0]
    assert names[0] == best or ck.instance_of(few[1]).parts == 2
    one, _ = ck.first([aten, *instances[::2]], ranker, 1)
    assert ck.instance_of(one[1]).name == best
    assert ck.first(few, ranker, 3) == (few, [])


def test_instances_that_are_no_gemms_of_ours_stay():
    convolution = ck_xdl((128, 128, 32), 32, n_dim_spatial=2)
    mixed = ck_xdl((128, 128, 32), 32, b_element_dtype="F8")
    odd = ck_xdl((128, 128, 32), 64)
    assert [ck.instance_of(each) for each in (convolution, mixed, odd, SimpleNamespace())] == [None] * 4
    few, _ = ck.first([convolution, *(ck_tile((side, 128, 32)) for side in (64, 128, 256))], Ranker(None, "gfx942"), 1)
    assert few[0] is convolution and len(few) == 2
    # Of those that cannot compute it, none is better than another.
    whole = [ck_tile((side, 96, 32), padded="false") for side in (64, 128, 256)]
    assert ck.first(whole, Ranker(None, "gfx942"), 1) == (whole, [])


def test_batches_have_their_problem():
    tall = ck_tile((256, 256, 64))
    tall.template.is_batched = True
    tall.bmreq.extra_args = [16, 384, 3584, 512, 1, 1, 1, 1]
    problem = ck.problem_of(tall, ck.instance_of(tall).name)
    assert problem == Problem("bmm", 384, 3584, 512, 16, "bf16", "rcr", None)
