"""What a problem says is used or refused: a predictor of a model of ours answers as the other interfaces do."""

from __future__ import annotations

import pytest
from support import CONV_MODEL, GEMM_MODEL, GOLDEN, gemm_kernel, gemm_problem

from ck_select import GemmProblem, InvalidInputError, MissingCellError, Predictor

OURS = GOLDEN.parents[1] / "models" / "grouped_conv_forward_bf16_gfx950"
NAMES = [
    f"grouped_conv_forward_bf16_2d_{tile}_{pipeline}"
    for tile in ("64x64x64", "128x64x64")
    for pipeline in ("compv3", "compv4", "compv5")
]
PROBLEM = {
    **{"N": 16, "C": 256, "K": 128, "G": 1, "Hi": 28, "Wi": 28, "Y": 3, "X": 3, "stride_h": 1, "stride_w": 1},
    **{"pad_h": 1, "pad_w": 1, "dilation_h": 1, "dilation_w": 1},
}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"variant": "bwd_data"}, "variant: found 'bwd_data', expected 'forward'"),
        ({"ndim_spatial": 3}, "ndim_spatial: found 3, expected 2"),
        ({"op_type": "gemm_universal"}, "op_type: found 'gemm_universal', expected grouped_conv"),
        ({"dtype_in": "fp16"}, "dtype_in: found 'fp16', expected "),
        ({"dtype": "bf16", "dtype_in": "fp16"}, "dtype_in: found 'fp16', expected "),
        ({"layout": "zz"}, "layout: found 'zz', expected 'nhwgc'"),
        ({"ndim": 2, "ndim_spatial": 3}, "ndim_spatial: found 3, expected 2"),
        ({"pad_h_left": 9}, "pad_h: found 1, expected 9 as in pad_h_left"),
        ({"pad_h_right": -1}, "pad_h_right: found -1, expected 0 to "),
        ({"stride_h": 2.5}, "stride_h: found 2.5, expected a whole number"),
        ({"C": 256.9}, "C: found 256.9, expected a whole number"),
        ({"N": -1}, "N: found -1, expected 1 to "),
        ({"Hi": 0}, "Hi: found 0, expected 1 to "),
        ({"pad_h": -5}, "pad_h_left: found -5, expected 0 to "),
        ({"dilation_h": 0}, "dilation_h: found 0, expected 1 to "),
        ({"G": 3}, "C: found 256, expected a multiple of G = 3"),
        ({"Y": 99}, "Y: found a dilated filter that reaches over 99, expected at most the padded input's 30"),
        ({"Stride_h": 2}, "column 'Stride_h', expected stride_h"),
        ({"padh": [2]}, "column 'padh', expected pad_h"),
        ({"groups": 4}, "column 'groups', expected G"),
    ],
    ids=str,
)
def test_what_is_no_problem_of_the_model_is_refused(change, message):
    predictor = Predictor(OURS)
    problem = {**PROBLEM, **change}
    with pytest.raises(InvalidInputError) as ranked:
        predictor.rank_kernels(problem, NAMES)
    with pytest.raises(InvalidInputError) as predicted:
        predictor.predict_tflops(problem, NAMES[0])
    assert message in str(ranked.value) and message in str(predicted.value), (ranked.value, predicted.value)
    for rows in (predictor.extract_rows, predictor.predict_rows):
        with pytest.raises(InvalidInputError, match="(column '.*'|found .*), expected "):
            rows([{**problem, "kernel_name": NAMES[0]}])
    # Upstream's defaults pass it over, or compute with it, as upstream does.
    if "dtype" not in change:
        assert len(Predictor(OURS, strict=False).rank_kernels(problem, NAMES)) == len(NAMES)


def test_what_2d_does_not_have_may_be_left_out_and_all_else_is_asked_for_at_once():
    """A problem of upstream's ``predict_grouped_conv.py`` once had eleven errors, one after the other."""
    predictor = Predictor(OURS)
    kernel = {"block_size": 16, "gemm_m_per_block": 64, "gemm_n_per_block": 64, "pipeline": "compv3"}
    problem = {name: cell for name, cell in PROBLEM.items() if "dilation" not in name}
    neutral = {"Di": 1, "Z": 1, "stride_d": 1, "pad_d": 0, "dilation_d": 1, "dilation_h": 1, "dilation_w": 1}
    flags = {"wave_mode": "intrawave", "has_dsb": 0, "has_si": 0, "two_stage": 0}
    asked = {**problem, "dtype": "bf16"}
    expected = predictor.predict_all({**asked, **neutral}, {**kernel, **flags})
    assert predictor.predict_all(asked, kernel) == expected
    assert predictor.predict_all(problem, NAMES[0]) == predictor.predict_all({**asked, **neutral}, NAMES[0])
    for changes, missing in (
        (dict.fromkeys(("C", "Hi", "pad_w", "dtype")), "C, Hi, pad_w, dtype"),
        ({"Di": 4}, "Z, stride_d, pad_d"),
        ({"ndim_spatial": 3}, "Di, Z, stride_d, pad_d"),
        ({"ndim_spatial": 1, "Hi": None, "X": None, "Wi": None}, "Wi, X"),
    ):
        for ask in (predictor.predict_tflops, lambda row, one: predictor.rank_kernels(row, [one])):
            with pytest.raises(MissingCellError) as caught:
                ask({**asked, **changes}, kernel)
            assert str(caught.value) == f"problem: {missing}: found nothing, expected a value for each"
    missing = "block_size, gemm_m_per_block, gemm_n_per_block, pipeline"
    with pytest.raises(MissingCellError, match=f"row 0: {missing}: found nothing, expected a value for each"):
        predictor.rank_kernels(asked, [{}])
    with pytest.raises(MissingCellError, match=f"kernel: {missing}: found nothing, expected a value for each"):
        predictor.predict_tflops(asked, {})


def test_padding_behind_the_axes_counts():
    """To the bit as for a problem with fields, see ``tests/rows.rs``."""
    predictor = Predictor(OURS)
    problem = {**PROBLEM, "pad_h_right": 2, "pad_w_right": 2.0}
    assert predictor.rank_kernels(problem, NAMES) != predictor.rank_kernels(PROBLEM, NAMES)
    for name in NAMES:
        (row,) = predictor.predict_rows([{**problem, "kernel_name": name}])
        assert row == predictor.predict_tflops(problem, name) != predictor.predict_tflops(PROBLEM, name)


def test_kernels_without_names_have_the_direction_and_type_of_the_model():
    predictor = Predictor(OURS)
    neutral = {"Di": 1, "Z": 1, "stride_d": 1, "pad_d": 0, "dilation_d": 1, "dtype": "bf16", "direction": "forward"}
    kernel = {
        **{"block_size": 256, "gemm_m_per_block": 64, "gemm_n_per_block": 64, "gemm_k_per_block": 64},
        **{"pipeline": "compv3", "wave_mode": "intrawave", "has_dsb": 0, "has_si": 0, "two_stage": 0},
    }
    problem = {**PROBLEM, **neutral}
    expected = predictor.predict_tflops(problem, kernel)
    other_names = {"variant": "forward", "dtype_in": "bf16"}
    renamed = {name: cell for name, cell in problem.items() if name not in ("direction", "dtype")}
    assert predictor.predict_tflops({**renamed, **other_names}, kernel) == expected
    for change, message in (
        ({"variant": "bwd_data"}, "variant: found 'bwd_data', expected forward, which the model is for"),
        ({"dtype_in": "fp16"}, "dtype_in: found 'fp16', expected bf16, which the model is for"),
        ({"ndim": 1}, "expected 1 in a 1D problem"),
    ):
        for ask in (predictor.rank_kernels, predictor.select_best):
            with pytest.raises(InvalidInputError, match=message):
                ask({**problem, **change}, [kernel])
        with pytest.raises(InvalidInputError, match=message):
            predictor.predict_tflops({**problem, **change}, kernel)


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


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"m": -1}, "M: found -1, expected 1 to "),
        ({"k": 1.5}, "k: found 1.5, expected a whole number"),
        ({"op_type": "grouped_conv"}, "op_type: found 'grouped_conv', expected gemm_universal"),
        ({"dtype_a": "fp16"}, "dtype_a: found 'fp16', expected fp8"),
        ({"quant": "zz"}, "quant: found 'zz', expected one of "),
        ({"Split_k": 2}, "column 'Split_k', expected split_k"),
    ],
    ids=str,
)
def test_gemms_are_checked_likewise(change, message):
    predictor = Predictor(GEMM_MODEL, strict=True)
    for ask in (
        lambda row: predictor.rank_kernels(row, [gemm_kernel()]),
        lambda row: predictor.predict_tflops(row, gemm_kernel()),
    ):
        with pytest.raises(InvalidInputError) as refused:
            ask(gemm_problem(**change))
        assert message in str(refused.value)
    assert Predictor(GEMM_MODEL).rank_kernels(gemm_problem(**change), [gemm_kernel()])


def test_requests_of_gemms_are_no_misspelt_names():
    predictor = Predictor(GEMM_MODEL, strict=True)
    plain = GemmProblem(64, 1024, 512)
    asked = GemmProblem(64, 1024, 512, stream_k="atomic", num_d=1, preshuffle=True)
    assert predictor.rank_kernels(asked, [gemm_kernel()]) == predictor.rank_kernels(plain, [gemm_kernel()])


def test_misspelt_columns_of_kernels_are_refused():
    predictor = Predictor(OURS)
    with pytest.raises(InvalidInputError, match="column 'Pipeline', expected pipeline"):
        predictor.rank_kernels(PROBLEM, [{"kernel_name": name, "Pipeline": "compv3"} for name in NAMES])
    with pytest.raises(InvalidInputError, match="column 'Pipeline', expected pipeline"):
        predictor.predict_tflops(PROBLEM, {"kernel_name": NAMES[0], "Pipeline": "compv3"})
    named = [{"kernel_name": name, "note": name} for name in NAMES]
    assert predictor.rank_kernels(PROBLEM, named) == predictor.rank_kernels(PROBLEM, NAMES)
