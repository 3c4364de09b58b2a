"""What upstream's own tests ask of its dispatcher integration, and what ours adds."""

from __future__ import annotations

import math

import pandas
import polars
import pytest
from support import GEMM_MODEL, gemm_kernel, gemm_problem, random_gemm_pool

from ck_select import (
    MLKernelSpec,
    Predictor,
    create_ml_heuristic,
    create_ranked_heuristic,
    feature_dict_to_dispatcher_config,
    feature_dict_to_ml_spec,
    kernel_config_to_feature_dict,
    load_kernel_pool_from_binaries,
    ml_spec_to_dispatcher_config,
    parse_kernel_name,
)

NAME = "gemm_universal_fp8_rcr_compv4_cshuffle_interwave_True_False_True_False_256x128x64_4x2x1_32x16x8"
FIELDS = {
    **{"dtype": "fp8", "layout": "rcr", "pipeline": "compv4", "epilogue": "cshuffle", "scheduler": "interwave"},
    **{"pad_m": True, "pad_n": False, "pad_k": True, "persistent": False},
    **{"tile_m": 256, "tile_n": 128, "tile_k": 64, "warp_m": 4, "warp_n": 2, "warp_k": 1},
    **{"warp_tile_m": 32, "warp_tile_n": 16, "warp_tile_k": 8},
    **{"vec_a": 0, "vec_b": 0, "vec_c": 0},
}


def test_names_are_read():
    assert kernel_config_to_feature_dict(NAME) == {**FIELDS, "kernel_name": NAME}
    for layout in ("rcr", "rrr", "crr", "ccr"):
        assert parse_kernel_name(NAME.replace("rcr", layout))["layout"] == layout
    widths = parse_kernel_name(NAME + "_vec4_8_2_more")
    assert widths == {**FIELDS, "vec_a": 4, "vec_b": 8, "vec_c": 2}
    # Upstream ignores what follows, such as the end of a line.
    assert parse_kernel_name(NAME + "\n") == FIELDS
    conv = "grouped_conv_forward_bf16_2d_16x64x128_compv4_interwave_dsb"
    assert parse_kernel_name(conv) == {
        **{"kernel_name": conv, "op_type": "grouped_conv", "variant": "forward", "ndim_spatial": 2, "dtype": "bf16"},
        **{"block_size": 16, "gemm_m_per_block": 64, "gemm_n_per_block": 128},
        **{"pipeline": "compv4", "wave_mode": "interwave", "has_dsb": 1, "has_si": 0, "two_stage": 0},
    }


@pytest.mark.parametrize(
    "name",
    [
        *("", "malformed", "gemm_fp8_rcr", "gemm_universal_", "gemm_universal_fp8_rcc_mem_default"),
        *(NAME.replace("gemm_", "", 1), NAME + "_vec4_8", NAME + "_vec4_8_x"),
        *(f"{head}_compv3_cshuffle" for head in ("gemm_universal_fp-8_rcr", "gemm_ _rcr", "gemm__rcr")),
        "gemm_universal_a.b_fp8_rrr_compv3_cshuffle",
        *("grouped_conv_", "grouped_conv_forward_bf16_2d_16x64x128_compv9"),
    ],
)
def test_names_that_are_none(name):
    assert kernel_config_to_feature_dict(name) == {}


def test_names_that_end_early_keep_what_was_read():
    native = {"vec_a": 0, "vec_b": 0, "vec_c": 0}
    assert parse_kernel_name("gemm_universal_fp8_rcr_compv3_cshuffle") == {"dtype": "fp8", "layout": "rcr", **native}
    short = parse_kernel_name(NAME.replace("256x128x64", "256x128"))
    assert short["tile_n"] == 128 and "tile_k" not in short and "warp_m" not in short
    # A pipeline of two words moves all that follows, as in upstream's parser.
    moved = parse_kernel_name(NAME.replace("compv4", "basic_v1"))
    fields = [moved[name] for name in ("pipeline", "epilogue", "scheduler", "pad_m")]
    assert fields == ["basic", "v1", "cshuffle", False] and "tile_m" not in moved
    # A type is a word, the shortest before a layout.
    assert parse_kernel_name("gemm_universal__rcr_rrr_compv3_cshuffle")["layout"] == "rrr"


def configuration(tile, wave, warp, words, pads, types, arch="gfx950", layout="rcr"):
    """The dispatcher's configuration of a kernel."""
    triples = {"tile": tile, "wave": wave, "warp": warp}
    majors = {"r": "row", "c": "col"}
    return {
        **{f"{name}_{axis}": size for name, sizes in triples.items() for axis, size in zip("mnk", sizes)},
        **dict(zip(("pipeline", "scheduler", "epilogue"), words)),
        **{f"pad_{axis}": pad for axis, pad in zip("mnk", pads)},
        **{f"dtype_{operand}": dtype for operand, dtype in zip(("a", "b", "c", "acc"), types)},
        **{f"layout_{operand}": majors[letter] for operand, letter in zip("abc", layout)},
        "gfx_arch": arch,
    }


def test_configurations_rename_waves_and_warps():
    words, types = ("compv4", "interwave", "cshuffle"), ("fp8", "fp8", "fp16", "fp32")
    expected = configuration((256, 128, 64), (4, 2, 1), (32, 16, 8), words, (True, False, True), types, "gfx942")
    assert feature_dict_to_dispatcher_config(FIELDS, "fp8", "gfx942") == expected
    feat = kernel_config_to_feature_dict(NAME)
    spec = feature_dict_to_ml_spec(feat, 12.5)
    assert (spec.kernel_name, spec.predicted_tflops) == (NAME, 12.5)
    assert ml_spec_to_dispatcher_config(spec, arch="gfx942") == expected


def test_defaults():
    config = feature_dict_to_dispatcher_config({}, "bf16")
    numbers = [config[f"{kind}_{axis}"] for kind in ("tile", "wave", "warp") for axis in "mnk"]
    assert numbers == [128, 128, 64, 2, 2, 1, 32, 32, 16]
    assert [config[name] for name in ("pipeline", "scheduler", "epilogue")] == ["compv3", "intrawave", "cshuffle"]
    assert [config[name] for name in ("pad_m", "pad_n", "pad_k", "dtype_c")] == [True, True, True, "bf16"]
    spec = feature_dict_to_ml_spec({})
    assert (spec.kernel_name, spec.predicted_tflops, spec.pad_m, spec.persistent) == ("unknown", 0.0, False, False)


def test_fixed_widths_have_no_place():
    for convert in (feature_dict_to_dispatcher_config, feature_dict_to_ml_spec):
        for native in (0, 0.0, "0", "0.0", "", math.nan, None):
            assert convert({**FIELDS, "vec_a": native, "vec_b": native, "vec_c": native})
        for fixed in (4, "4", 4.0):
            with pytest.raises(ValueError, match=rf"kernel '{NAME}' fixes .*\(0, 4, 0\), which .* cannot represent"):
                convert({**FIELDS, "kernel_name": NAME, "vec_b": fixed})


def test_pools_of_binaries(tmp_path, trained):
    assert load_kernel_pool_from_binaries(tmp_path) == []
    for nothing in ({"kernel_pool": []}, {"bin_dir": tmp_path}):
        with pytest.raises(ValueError, match="No kernel configs"):
            create_ml_heuristic(GEMM_MODEL, **nothing)
    assert create_ranked_heuristic(GEMM_MODEL, kernel_pool=[])(1, 1, 1) == []
    second = NAME.replace("256x128", "128x128")
    for name in (NAME, second, "gemm_universal_fp8_rcr_short", "something_else"):
        (tmp_path / f"benchmark_{name}").touch()
    assert [kernel["kernel_name"] for kernel in load_kernel_pool_from_binaries(tmp_path)] == [second, NAME]
    heuristic = create_ml_heuristic(GEMM_MODEL, bin_dir=tmp_path)
    assert heuristic(128, 1536, 7168).kernel_name in (NAME, second)
    # The engine with vector widths needs those of the names.
    heuristic = create_ml_heuristic(trained("gemm78vec"), arch="gfx950", bin_dir=tmp_path)
    assert heuristic(1024, 1024, 1024).kernel_name in (NAME, second)


def test_heuristics_choose_what_the_predictor_ranks_first():
    pool = random_gemm_pool(40)
    heuristic = create_ml_heuristic(GEMM_MODEL, kernel_pool=pool)
    ranked = create_ranked_heuristic(GEMM_MODEL, kernel_pool=pool, top_k=7)
    for shape in [(1, 4096, 4096), (128, 1536, 7168)]:
        problem = gemm_problem(**dict(zip("mnk", shape)))
        expected = Predictor(GEMM_MODEL).rank_kernels(problem, pool)
        best = heuristic(*shape)
        assert isinstance(best, MLKernelSpec) and math.isfinite(best.predicted_tflops)
        assert (best.kernel_name, best.predicted_tflops) == expected[0]
        by_name = {kernel["kernel_name"]: kernel for kernel in pool}
        assert best == feature_dict_to_ml_spec(by_name[best.kernel_name], best.predicted_tflops)
        assert [(spec.kernel_name, spec.predicted_tflops) for spec in ranked(*shape)] == expected[:7]
    assert heuristic(M=1, N=4096, K=4096) == ranked(M=1, N=4096, K=4096)[0]
    own = create_ml_heuristic(Predictor(GEMM_MODEL), kernel_pool=pool)
    assert own(1, 4096, 4096) == heuristic(1, 4096, 4096)


def test_kernels_of_one_name_are_told_apart():
    pool = [gemm_kernel(tile, kernel_name="same") for tile in (64, 256)]
    spec = create_ml_heuristic(GEMM_MODEL, kernel_pool=pool)(1024, 1024, 1024)
    scores = [Predictor(GEMM_MODEL).predict_tflops(gemm_problem(), kernel) for kernel in pool]
    assert spec.tile_m == (64, 256)[scores.index(max(scores))]


def test_pools_must_not_answer_another_question():
    for message, kernel, arch in (
        ("kernel 'a': m, split_k are problem keys", {"kernel_name": "a", "m": 1, "split_k": 2}, None),
        ("kernel_pool entries carry arch 'gfx942', expected 'gfx950'", {"arch": "gfx942"}, None),
        ("arch: found 'gfx942', expected 'gfx950': it disagrees with the model", {}, "gfx942"),
    ):
        with pytest.raises(ValueError, match=message):
            create_ml_heuristic(GEMM_MODEL, arch=arch, kernel_pool=[gemm_kernel(**kernel)])
    assert create_ml_heuristic(GEMM_MODEL, arch="gfx950:xnack-", kernel_pool=[gemm_kernel(arch="gfx950")])


def test_a_missing_forest_is_missed_when_it_is_asked(copied):
    directory = copied(GEMM_MODEL)
    (directory / "model_tflops.lgbm.gz").unlink()
    for make in (create_ml_heuristic, create_ranked_heuristic):
        heuristic = make(directory, kernel_pool=[gemm_kernel()])
        with pytest.raises(FileNotFoundError, match="model_tflops"):
            heuristic(1024, 1024, 1024)


def test_pools_may_be_tables():
    rows = [gemm_kernel(64), gemm_kernel(128, pipeline="mem")]
    expected = create_ranked_heuristic(GEMM_MODEL, kernel_pool=rows)(16, 32, 64)
    for pool in (pandas.DataFrame(rows), pandas.DataFrame(rows).set_index("kernel_name"), polars.DataFrame(rows)):
        assert create_ranked_heuristic(GEMM_MODEL, kernel_pool=pool)(16, 32, 64) == expected
        assert create_ml_heuristic(GEMM_MODEL, kernel_pool=pool)(16, 32, 64) == expected[0]
    with pytest.raises(TypeError, match="kernel_pool: found a int"):
        create_ml_heuristic(GEMM_MODEL, kernel_pool=5)
    with pytest.raises(ValueError, match="vec_a: found 'x', expected a width"):
        feature_dict_to_ml_spec({"vec_a": "x"})


def test_heuristics_go_through_the_predictor(monkeypatch):
    asked = []

    def reversed_ranking(self, problem, kernel_configs):
        asked.append(problem)
        return [(kernel["kernel_name"], 1.0) for kernel in kernel_configs][::-1]

    monkeypatch.setattr(Predictor, "rank_kernels", reversed_ranking)
    heuristic = create_ml_heuristic(GEMM_MODEL, kernel_pool=[gemm_kernel(64), gemm_kernel(128)])
    assert heuristic(16, 32, 64).kernel_name == gemm_kernel(128)["kernel_name"]
    assert asked == [{"m": 16, "n": 32, "k": 64, "dtype": "fp8", "layout": "rcr", "split_k": 1, "arch": "gfx950"}]
