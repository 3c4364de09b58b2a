"""Upstream's module names over this package: scripts that know nothing of it."""

from __future__ import annotations

import math
import os
import sys
from functools import partial
from pathlib import Path

import pandas
import pytest
from support import GEMM_MODEL, bits, booster, gemm_problem, random_gemm_pool, run_python, set_spec

from ck_select import upstream

MODEL = str(GEMM_MODEL)

SCRIPT = """
import sys
from predict import Predictor, _engine_for_spec
from feature_engine import (DTYPE_BYTES, EPILOGUE_MAP, LAYOUT_MAP, PIPELINE_MAP, SCHEDULER_MAP, FEATURE_ENGINES,
    OPERATION_ENGINES, FeatureEngine, GemmUniversalFeatureEngine, feature_engine_class)
from feature_engine_vec import VEC_FEATURES, GemmUniversalVecFeatureEngine, _LAYOUTS, _out_dtype, _width
from feature_engine_grouped_conv import GroupedConvFeatureEngine
from search import SurrogateSearch
from dispatcher_integration import LAYOUT_TO_DISPATCHER, DTYPE_TO_C_DTYPE, _resolve_arch, create_ml_heuristic
from data_pipeline import parse_kernel_name
from codegen_common import gemm_native_vector_sizes, gemm_problem_vector_sizes, normalize_gfx_arch

problem = {"m": 16, "n": 1536, "k": 7168, "dtype": "fp8", "layout": "rcr"}
predictor = Predictor(sys.argv[1])
assert predictor.predict_tflops(problem, {"tile_m": 64}) > 0
assert isinstance(predictor.feature_engine, GemmUniversalFeatureEngine)
assert predictor._feature_indices is None and predictor._select_features(7) == 7
search = SurrogateSearch(predictor)
assert search._fe is predictor.feature_engine and len(search.search(problem, budget=5)) == 5
assert _resolve_arch(predictor, None, []) == "gfx950" == normalize_gfx_arch("gfx950:xnack-")
assert set(LAYOUT_TO_DISPATCHER) == set(LAYOUT_MAP) == _LAYOUTS

for op, name in OPERATION_ENGINES.items():
    engine = _engine_for_spec({"op_type": op})
    assert type(engine).__name__ == name and type(engine) is feature_engine_class(name)
    assert isinstance(engine, FeatureEngine)
assert type(_engine_for_spec({})).__name__ == type(_engine_for_spec({"op_type": "x"})).__name__
assert _engine_for_spec({"hardware": {"num_cus": 304}}).hardware_config["num_cus"] == 304
try:
    _engine_for_spec({"feature_engine": "SomeFutureEngine"})
except ValueError as error:
    assert "SomeFutureEngine" in str(error)
else:
    raise AssertionError

# Every code is what the engine computes for its word.
names = GemmUniversalFeatureEngine().get_feature_names()
for column, codes in [("pipeline", PIPELINE_MAP), ("scheduler", SCHEDULER_MAP), ("epilogue", EPILOGUE_MAP),
                      ("layout", LAYOUT_MAP)]:
    for word, code in codes.items():
        cells = {column: word}
        assert GemmUniversalFeatureEngine().extract({**problem, **cells}, cells)[names.index(column)] == code
estimate = names.index("lds_usage_estimate")
for dtype, size in DTYPE_BYTES.items():
    found = GemmUniversalFeatureEngine().extract({**problem, "dtype": dtype}, {})[estimate]
    assert found == (128 * 64 + 128 * 64) * size

assert _out_dtype("fp8") == "fp16" and _out_dtype("int8") == "int32" and _width("4") == 4
assert gemm_problem_vector_sizes(4, 6, 512, "rcr", "bf16", "bf16", "bf16") == (8, 8, 2)
kernel = dict(layout="rcr", tile=(128, 128, 128), waves=(2, 2, 1), warp_tile=(32, 32, 16), gfx_arch="gfx950")
types = dict(dtype_a="bf16", dtype_b="bf16", dtype_c="bf16")
assert gemm_native_vector_sizes(**types, **kernel, epilogue="default") == (8, 8, 1)
assert gemm_native_vector_sizes(**types, **kernel, epilogue="cshuffle") == (8, 8, 8)
from ml_heuristic_sweep import KERNEL_POOL, spec_to_feature_dict
assert len(KERNEL_POOL) == 27 == len({spec.name for spec in KERNEL_POOL})
for spec in KERNEL_POOL:
    cells = spec_to_feature_dict(spec, "bf16", "ccr", "gfx942")
    assert [cells["warp_m"], cells["warp_tile_n"]] == [spec.wave_m, spec.warp_n]
    for kind in (GemmUniversalFeatureEngine, GemmUniversalVecFeatureEngine):
        assert kind().extract({**problem, "split_k": 1}, cells).shape == (len(kind().get_feature_names()),)
by_name = {spec.name: spec for spec in KERNEL_POOL}
large = by_name["l_256x256_k32_iw_v3"]
assert (large.tile_k, large.pipeline, large.scheduler, large.warp_m) == (32, "compv3", "interwave", 32)
print("ran", __name__)
"""


run = partial(run_python, "-m", "ck_select.upstream")


@pytest.fixture
def script(tmp_path):
    path = tmp_path / "scripts" / "script.py"
    path.parent.mkdir()
    path.write_text(SCRIPT)
    return path


def test_scripts_run_unchanged(script, copied):
    """Whatever lies beside the script, those modules are ours, the others its own."""
    (script.parent / "predict.py").write_text("raise AssertionError('upstream was asked')")
    (script.parent / "helper.py").write_text("")
    script.write_text("import helper\n" + SCRIPT)
    ran = run(script, copied(GEMM_MODEL))
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "ran __main__\n", "")


def test_offered_modules_give_way_to_upstreams(script, copied):
    """Of these ours have a part only."""
    (script.parent / "data_pipeline.py").write_text("parse_kernel_name = 'its own'")
    script.write_text("from data_pipeline import parse_kernel_name\nassert parse_kernel_name == 'its own'\nprint('ok')")
    assert run(script).stdout == "ok\n"


def test_modules_run_too(tmp_path):
    (tmp_path / "test_it.py").write_text(
        "import predict\n\ndef test_it():\n    assert 'ck_select' in predict.__file__\n"
    )
    ran = run("-m", "pytest", "-q", "-p", "no:cacheprovider", tmp_path, cwd=tmp_path)
    assert ran.returncode == 0 and "1 passed" in ran.stdout, ran.stdout + ran.stderr


WORKERS = """
import os, sys, subprocess
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
import predict

def place(_):
    import dispatcher_integration, predict, data_pipeline
    return predict.Predictor.__module__, dispatcher_integration.__name__, data_pipeline.__file__

if __name__ == "__main__":
    for start in ("spawn", "forkserver"):
        with ProcessPoolExecutor(1, mp_context=get_context(start)) as workers:
            print(*workers.submit(place, 0).result())
    code = "import sitecustomize, predict, sys; print(predict.Predictor.__module__, sitecustomize.word)"
    print(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip())
"""


def test_workers_of_process_pools_use_ours(script):
    """They took upstream's files in silence. What another sitecustomize does is done, too."""
    for name in ("predict", "dispatcher_integration"):
        (script.parent / f"{name}.py").write_text("raise AssertionError('upstream was asked')")
    (script.parent / "data_pipeline.py").write_text("")
    site = script.parent / "site"
    site.mkdir()
    (site / "sitecustomize.py").write_text("word = 'its own'")
    script.write_text(WORKERS)
    path = os.pathsep.join([str(site), *filter(None, sys.path)])
    ran = run(script, PYTHONPATH=path)
    ours = f"ck_select.upstream.predict ck_select.upstream.dispatcher_integration {script.parent / 'data_pipeline.py'}"
    assert ran.stdout.splitlines() == [ours, ours, "ck_select.upstream.predict its own"], ran.stderr


def test_usage():
    for arguments in ((), ("-m",), ("--help",)):
        ran = run(*arguments)
        assert ran.returncode == 1 and "usage: " in ran.stderr


def test_upstreams_predictor_leaves_the_forest_behind(copied):
    directory = copied(GEMM_MODEL)
    from ck_select.upstream.predict import Predictor

    Predictor(directory).predict_tflops({"m": 1, "n": 1, "k": 1}, {})
    assert (directory / "model_tflops.lgbm").exists()


def test_installing_comes_first(tmp_path, monkeypatch):
    (tmp_path / "predict.py").write_text("")
    monkeypatch.syspath_prepend(tmp_path)
    import predict

    try:
        with pytest.raises(ImportError, match=r"predict has been imported from .*predict\.py"):
            upstream.install()
    finally:
        del sys.modules["predict"], predict


def test_heuristics_of_the_shim_use_its_predictor(monkeypatch, copied):
    from ck_select.upstream import dispatcher_integration, predict

    asked = []
    real = predict.Predictor.rank_kernels
    monkeypatch.setattr(
        predict.Predictor, "rank_kernels", lambda self, *given: asked.append(given[0]) or real(self, *given)
    )
    directory = copied(GEMM_MODEL)
    for make in (dispatcher_integration.create_ml_heuristic, dispatcher_integration.create_ranked_heuristic):
        make(directory, kernel_pool=[{"kernel_name": "a", "tile_m": 64}])(16, 32, 64)
    assert [problem["arch"] for problem in asked] == ["gfx950", "gfx950"]


def test_the_spec_says_the_engine(copied):
    from ck_select.upstream.predict import Predictor

    directory = copied(GEMM_MODEL)
    set_spec(directory, hardware={"lds_capacity": 163840})
    big = {"tile_m": 256, "tile_n": 256, "tile_k": 256, "pipeline": "compv3"}
    assert Predictor(directory).feature_engine.validate_config(big)
    assert not Predictor(Path(MODEL)).feature_engine.validate_config(big)


def test_what_upstreams_programs_read_of_a_predictor(trained, copied):
    """As its ``evaluate`` does: features of a table, the forest by itself, logarithms undone by the caller."""
    from ck_select.upstream.predict import Predictor

    directory = copied(trained("gemm72"))
    predictor = Predictor(directory)
    rows = pandas.DataFrame([{**gemm_problem(m=m), **kernel} for m in (16, 700) for kernel in random_gemm_pool(20)])
    features = predictor.select_features(predictor._feature_engine.extract_batch(rows))
    raw = predictor._load_model("tflops").predict(features)
    assert bits(raw) == bits(booster(directory, "tflops").predict(features))
    assert predictor._log_targets == {"tflops"} and predictor._load_model("bandwidth") is None
    assert bits(map(math.expm1, raw)) == bits(predictor.predict_rows(rows))
    with pytest.raises(ValueError, match="expected rows of 72 features"):
        predictor._load_model("tflops").predict(features[:, 1:])


def test_a_shim_of_stars_has_every_name(tmp_path):
    """Files of upstream's names that only say ``import *``, as some write them."""
    for name in upstream.REPLACED:
        (tmp_path / f"{name}.py").write_text(f"from ck_select.upstream.{name} import *\n")
    program = (
        "from predict import Predictor, _engine_for_spec\n"
        "from dispatcher_integration import _resolve_arch, create_ml_heuristic\n"
        "from feature_engine import PIPELINE_MAP, feature_engine_class\n"
        "from feature_engine_vec import _LAYOUTS, _out_dtype, _width\n"
        "print(Predictor.__module__)\n"
    )
    ran = run_python("-c", program, cwd=tmp_path)
    assert ran.stdout == "ck_select.upstream.predict\n", ran.stderr
