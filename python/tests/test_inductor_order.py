"""Which of Inductor's candidates are kept, without torch; ``tests_inductor`` asks torch itself."""

from __future__ import annotations

import itertools
from types import SimpleNamespace

from ck_select.inductor.choices import first
from ck_select.inductor.problem import Problem, Ranker

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


def kept(candidates: list[Candidate], top: int) -> list[Candidate]:
    def output_layout(flexible: bool) -> object:
        assert not flexible
        return FIXED

    return first(candidates, PROBLEM, Ranker(None, "sm_90"), top, output_layout)


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
