"""Attention over the C interface."""

from __future__ import annotations

import dataclasses

import pytest

import ck_select
from ck_select import FmhaProblem, NoKernelError, Registry
from ck_select._fields import FIELDS

NAME = "fmha_fwd_fp16_batch_h128_qr_async_t{m0}x128x32x128x32x128_w{warp}x{warp}x16_pad1111_mask=no_bias=no_bpc=-1"
SMALL, LARGE = NAME.format(m0=16, warp=16), NAME.format(m0=128, warp=32)
DECODE = FmhaProblem(seqlen_q=1, seqlen_k=8192, nhead_q=32, nhead_k=8, hdim_q=128, batch=64)


def test_the_estimate_chooses_among_what_supports_the_problem():
    registry = Registry(arch="gfx950", kernels=[SMALL, LARGE], environment=False)
    chosen = registry.select(DECODE)
    assert (chosen.name, chosen.source) == (SMALL, "estimate")
    assert "products" in registry.explain(DECODE)
    with pytest.raises(NoKernelError):
        registry.select(dataclasses.replace(DECODE, dropout=True))
    with pytest.raises(ck_select.CkSelectError, match="seqlen_k: found 0"):
        registry.select(dataclasses.replace(DECODE, seqlen_k=0))
    with pytest.raises(ValueError, match="mask: found 'diagonal', expected one of no, top_left"):
        registry.select(dataclasses.replace(DECODE, mask="diagonal"))
    assert registry.fmha_splits(DECODE) == 1, "nothing combines"


def test_api_and_stage_determine_each_other():
    for family, api in [("bwd_dot_do_o", "bwd"), ("fwd_splitkv_combine", "fwd_splitkv"), ("batch_prefill",) * 2]:
        problem = FmhaProblem(seqlen_q=8, nhead_q=1, hdim_q=64, family=family)
        assert (problem.to_dict()["api_family"], FmhaProblem._of_struct(problem._as_struct()).api_family) == (api, api)
    assert FmhaProblem(seqlen_q=8, nhead_q=1, hdim_q=64, api_family="bwd").to_dict()["family"] == "bwd_dq_dk_dv"


def test_supports_gets_the_problem():
    seen = []
    registry = Registry(arch="gfx950", environment=False)
    registry.register(LARGE, supports=lambda problem: seen.append(problem) or False)
    with pytest.raises(NoKernelError):
        registry.select(DECODE)
    # The estimate asks, and then the priority.
    derived = {"hdim_v": 128, "api_family": "fwd", "family": "fwd", "window_left": 0, "window_right": 0}
    whole = dataclasses.replace(DECODE, **derived, arch=None)
    assert set(map(repr, seen)) == {repr(whole)}


def test_a_generic_mask_without_windows_leaves_everything():
    def windows(**fields):
        struct = FmhaProblem(seqlen_q=8, nhead_q=1, hdim_q=64, **fields)._as_struct()
        return struct.window_left, struct.window_right

    assert windows() == (0, 0)
    assert windows(mask="generic") == (-1, -1)
    assert windows(mask="generic", window_left=3) == (3, 0)
    assert windows(mask="top_left", window_left=3) == (3, 0)


def test_the_engine_has_the_constants_of_upstreams():
    from ck_select.engines import FmhaFwdFeatureEngine

    engine = FmhaFwdFeatureEngine()
    constants = "num_cus lds_capacity max_clock_mhz simds_per_cu shader_engines wavefront_size num_xcd"
    assert list(engine.hardware_config) == constants.split()
    problem = {"batch": 1, "seqlen_q": 128, "seqlen_k": 128, "nhead_q": 4, "nhead_k": 4, "hdim_q": 128, "hdim_v": 128}
    kernel = {"pipeline": "qr", "tile_m0": 128, "tile_n0": 128, "mask": "no", "bias": "no"}
    row = dict(zip(engine.get_feature_names(), engine.extract(problem, kernel)))
    assert (row["hw_num_cus"], row["hw_total_simds"], row["cu_utilization"]) == (304, 1216, 4 / 304)
    assert FmhaFwdFeatureEngine(num_cus=256).hardware["num_cus"] == 256


def test_structs_hold_every_field():
    names = {name for name, _ in ck_select._structs.FmhaProblem._fields_} - {"struct_size", "reserved"}
    assert names == {field.name for field in dataclasses.fields(FmhaProblem)}
    for word, (_, values) in FIELDS["fmha"].items():
        for value in values if isinstance(values, tuple) else ():
            problem = FmhaProblem._unchecked({**vars(DECODE), word: value})
            assert getattr(FmhaProblem._of_struct(problem._as_struct()), word) == value
    flipped = dataclasses.replace(DECODE, lse=True, is_gappy=True, v_rowmajor=False, window_left=-1)
    again = FmhaProblem._of_struct(flipped._as_struct())
    assert (again.lse, again.is_gappy, again.v_rowmajor, again.window_left) == (True, True, False, -1)
