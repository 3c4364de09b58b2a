"""What a problem says is used or refused: ``tests/it/rows.rs`` has each field, here is what reaches Python of it."""

from __future__ import annotations

import pytest
from support import CONV_MODEL, GEMM_MODEL, OURS, conv_problem, gemm_kernel, gemm_problem

import ck_select
from ck_select import GemmProblem, GroupedConvProblem, InvalidInputError, MissingCellError, Predictor

NAMES = [
    f"grouped_conv_forward_bf16_2d_{tile}_{pipeline}"
    for tile in ("64x64x64", "128x64x64")
    for pipeline in ("compv3", "compv4", "compv5")
]
PROBLEM = conv_problem(dilation_h=1, dilation_w=1)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"variant": "bwd_data"}, "variant: found 'bwd_data', expected 'forward'"),
        ({"dtype": "bf16", "dtype_in": "fp16"}, "dtype_in: found 'fp16', expected "),
        ({"pad_h_left": 9}, "pad_h: found 1, expected 9 as in pad_h_left"),
        ({"C": 256.9}, "C: found 256.9, expected a whole number"),
        ({"N": -1}, "N: found -1, expected 1 to "),
        ({"padh": [2]}, "column 'padh', expected pad_h"),
        ({"groups": 4}, "column 'groups', expected G"),
    ],
    ids=str,
)
def test_what_is_no_problem_of_the_model_is_refused(change, message):
    predictor = Predictor(OURS)
    problem = {**PROBLEM, **change}
    for ask in (
        lambda: predictor.rank_kernels(problem, NAMES),
        lambda: predictor.predict_tflops(problem, NAMES[0]),
    ):
        with pytest.raises(InvalidInputError) as refused:
            ask()
        assert message in str(refused.value)
    for rows in (predictor.extract_rows, predictor.predict_rows):
        with pytest.raises(InvalidInputError, match="(column '.*'|found .*), expected "):
            rows([{**problem, "kernel_name": NAMES[0]}])
    # Upstream's defaults pass it over, or compute with it, as upstream does.
    if "dtype" not in change:
        assert len(Predictor(OURS, strict=False).rank_kernels(problem, NAMES)) == len(NAMES)


def test_cells_with_a_neutral_value_may_be_left_out_and_all_else_is_asked_for_at_once():
    """A problem of upstream's ``predict_grouped_conv.py`` once had eleven errors, one after the other; then what a
    registry and the command line take for 1 or 0 was required here.
    """
    predictor = Predictor(OURS)
    kernel = {"block_size": 16, "gemm_m_per_block": 64, "gemm_n_per_block": 64, "pipeline": "compv3"}
    asked = {name: cell for name, cell in PROBLEM.items() if "dilation" not in name} | {"dtype": "bf16"}
    neutral = {"Di": 1, "Z": 1, "stride_d": 1, "pad_d": 0, "dilation_d": 1, "dilation_h": 1, "dilation_w": 1}
    flags = {"wave_mode": "intrawave", "has_dsb": 0, "has_si": 0, "two_stage": 0}
    assert predictor.predict_all(asked, kernel) == predictor.predict_all({**asked, **neutral}, {**kernel, **flags})
    required = {name: asked[name] for name in ("C", "K", "Hi", "Wi", "Y", "X")}
    usual = {"N": 1, "G": 1, "stride_h": 1, "stride_w": 1, "pad_h": 0, "pad_w": 0, "dtype": "bf16"}
    assert predictor.predict_all(required, kernel) == predictor.predict_all({**required, **usual}, kernel)
    assert GroupedConvProblem(**required) == GroupedConvProblem(**required, **usual)
    for ask in (
        predictor.predict_tflops,
        lambda row, one: predictor.rank_kernels(row, [one]),
        lambda row, _: ck_select.estimate(row, NAMES[:1], arch="gfx950"),
    ):
        with pytest.raises(MissingCellError) as caught:
            ask({**asked, "C": None, "Hi": None}, kernel)
        assert str(caught.value) == "problem: C, Hi: found nothing, expected a value for each"
    with pytest.raises(MissingCellError, match="C: found nothing"):
        GroupedConvProblem(**{name: size for name, size in required.items() if name != "C"})
    missing = "block_size, gemm_m_per_block, gemm_n_per_block, pipeline"
    with pytest.raises(MissingCellError, match=f"row 0: {missing}: found nothing, expected a value for each"):
        predictor.rank_kernels(asked, [{}])


def test_what_agrees_or_says_nothing_changes_nothing():
    predictor = Predictor(OURS)
    expected = predictor.rank_kernels(PROBLEM, NAMES)
    for more in (
        {"variant": "forward", "ndim_spatial": 2, "op_type": "grouped_conv", "dtype_in": "bf16", "layout": "nhwgc"},
        {"variant": "fwd", "direction": "forward", "pad_h_right": 1, "pad_h_left": None, "split_k": 1},
        {"id": 7, "comment": ["anything"], "problem_idx": 3, "tflops": 2.5, "hw_num_cus": 256, 5: "five"},
        {"stride_h": 1.0, "C": "256"},
    ):
        assert predictor.rank_kernels({**PROBLEM, **more}, NAMES) == expected


def test_models_of_upstream_take_what_upstream_takes():
    predictor = Predictor(CONV_MODEL)
    odd = {"variant": ["anything"], "pad_h_right": "x", "Stride_h": 2, "stride_h": 2.5, "N": -1}
    kernel = {"gemm_m_per_block": 64}
    assert predictor.rank_kernels(odd, [kernel]) == predictor.rank_kernels({"stride_h": 2, "N": -1}, [kernel])


def test_requests_of_gemms_are_no_misspelt_names():
    predictor = Predictor(GEMM_MODEL, strict=True)
    plain = GemmProblem(64, 1024, 512)
    asked = GemmProblem(64, 1024, 512, stream_k="atomic", num_d=1, preshuffle=True)
    assert predictor.rank_kernels(asked, [gemm_kernel()]) == predictor.rank_kernels(plain, [gemm_kernel()])
    for change, message in (({"m": -1}, "M: found -1, expected 1 to "), ({"Split_k": 2}, "expected split_k")):
        with pytest.raises(InvalidInputError, match=message):
            predictor.rank_kernels(gemm_problem(**change), [gemm_kernel()])
