"""Feature engines: upstream's methods, constants of the GPU, and engines of one's own."""

from __future__ import annotations

import pickle

import numpy
import pandas
import polars
import pytest
from support import (
    CONV_MODEL,
    DEFAULT_HARDWARE,
    GEMM_MODEL,
    GOLDENS,
    bits,
    booster,
    gemm_kernel,
    gemm_problem,
    save_forest,
    set_spec,
)

import ck_select
from ck_select import FeatureEngine, InvalidModelError, MissingCellError, Predictor
from ck_select.engines import GemmUniversalFeatureEngine, GemmUniversalVecFeatureEngine, GroupedConvFeatureEngine

CLASSES = {
    "gemm72": GemmUniversalFeatureEngine,
    "gemm78vec": GemmUniversalVecFeatureEngine,
    "conv97": GroupedConvFeatureEngine,
}


@pytest.mark.parametrize("name", CLASSES)
def test_features_are_the_golden_ones(name, golden):
    file = golden(name)
    default = CLASSES[name]()
    assert default.get_feature_names() == file.feature_names
    assert set(default.get_categorical_features()) < set(file.feature_names)
    for (problem, kernel, expected), hardware in zip(file.rows, file.hardware):
        engine = default if hardware == DEFAULT_HARDWARE else CLASSES[name](**hardware)
        found = engine.extract(problem, kernel)
        assert isinstance(found, numpy.ndarray) and found.shape == (len(expected),)
        assert found.tolist() == expected
    rows = [{**problem, **kernel} for problem, kernel, _ in file.usual()[:50]]
    # A DataFrame has a cell in every row; of the widths' engine those are the ones of this row.
    for many in (rows, pandas.DataFrame(rows)):
        assert list(map(bits, default.extract_batch(many))) == [bits(default.extract(row, row)) for row in rows]


def test_constants_are_upstreams_and_cannot_change_too_late():
    engine = GemmUniversalFeatureEngine(80, lds_capacity=163840)
    assert engine.hardware_config == {**DEFAULT_HARDWARE, "num_cus": 80, "lds_capacity": 163840}
    assert GemmUniversalFeatureEngine().hardware_config == DEFAULT_HARDWARE
    with pytest.raises(TypeError):
        engine._hw["num_cus"] = 4
    assert pickle.loads(pickle.dumps(engine)).hardware_config == engine.hardware_config


def test_constants_that_cannot_be_told_are_upstreams_errors():
    class Hidden(GemmUniversalFeatureEngine):
        def __init__(self, **constants):
            super().__init__(**constants)

    with pytest.raises(TypeError, match=r"takes \*args/\*\*kwargs, .*cannot be resolved from the signature"):
        _ = Hidden().hardware_config


def test_spaces_constraints_and_projections():
    engine = GemmUniversalFeatureEngine()
    huge = {"tile_m": 256, "tile_n": 256, "tile_k": 256, "pipeline": "compv3"}
    assert [holds(huge) for holds in engine.get_constraints()] == [False, True]
    assert all(holds(huge) for holds in GemmUniversalFeatureEngine(lds_capacity=163840).get_constraints())
    moved = engine.project_to_valid({"tile_m": 48, "tile_n": 96, "tile_k": 300, "pipeline": "magic", "other": 1})
    assert moved == {"tile_m": 32, "tile_n": 64, "tile_k": 256, "pipeline": "compv3", "other": 1}
    usual = {"tile_m": 256, "tile_n": 256, "tile_k": 128, "pipeline": "compv3"}
    assert engine.validate_config(usual) and engine.validate_config({"unknown": 1})
    for change in ({"tile_k": 256}, {"pipeline": "compv4"}, {"warp_m": 1, "warp_n": 1}, {"tile_m": 48}):
        assert not engine.validate_config({**usual, **change})
    conv = GroupedConvFeatureEngine()
    assert conv.get_parameter_space() == {} and conv.get_constraints() == [] and conv.validate_config({"tile_m": 3})


NAMES = GemmUniversalFeatureEngine().get_feature_names()


def near(raw):
    """A forest's output with its logarithm undone; numpy's expm1 may differ from the C library's in the last bit."""
    return pytest.approx(numpy.expm1(raw), rel=1e-15)


class Theirs:
    """A class as upstream has it: constants in ``_hw`` and by ``hardware_config``, nothing of ours."""

    def __init__(self, **constants):
        self._hw = {**DEFAULT_HARDWARE, **constants}
        self._hw["total_simds"] = self._hw["num_cus"] * self._hw["simds_per_cu"]

    @property
    def hardware_config(self):
        return {name: value for name, value in self._hw.items() if name != "total_simds"}

    def get_feature_names(self):
        return list(NAMES)

    def extract(self, problem, kernel):
        raise AssertionError("the library computes what upstream's engines do")

    extract_batch = extract


Theirs.__name__ = "GemmUniversalFeatureEngine"


def test_constants_of_upstreams_engines_count(trained, copied):
    """They replace all of the spec's: upstream's engine knows nothing of the spec that it is passed with."""
    directory = copied(trained("gemm72"))
    hardware = {"lds_capacity": 163840, "num_cus": 304}
    set_spec(directory, hardware=hardware)
    row = {**gemm_problem(), **gemm_kernel()}

    def constants(engine):
        predictor = Predictor(directory, feature_engine=engine)
        found = dict(zip(predictor.feature_names, predictor.extract_rows([row])[0]))
        raw = booster(directory, "tflops").predict([list(found.values())])[0]
        assert predictor.predict_tflops(gemm_problem(), gemm_kernel()) == near(raw)
        return found["hw_num_cus"], found["hw_total_simds"], found["hw_lds_capacity"]

    for engine in (None, "gemm72", GemmUniversalFeatureEngine):
        assert constants(engine) == (304, 1216, 163840)
    for engine in (GemmUniversalFeatureEngine(num_cus=80), Theirs(num_cus=80)):
        assert constants(engine) == (80, 320, 65536)
    assert Predictor(directory).feature_engine.hardware_config == {**DEFAULT_HARDWARE, **hardware}


@pytest.mark.parametrize(
    ("name", "message"),
    [("total_simds", "total_simds: found 7, expected 1024"), ("warp_schedulers", "has the constants warp_schedulers")],
)
def test_constants_that_mean_nothing_here_are_refused(name, message):
    engine = Theirs()
    engine._hw[name] = 7
    with pytest.raises(ValueError, match=message):
        Predictor(GEMM_MODEL, engine)


class Changed(GemmUniversalFeatureEngine):
    """A subclass with features of its own by the names of the base."""

    def extract(self, problem, kernel):
        features = super().extract(problem, kernel)
        features[8] *= 0.4
        return features


class ChangedBoth(Changed):
    def extract_batch(self, df):
        assert isinstance(df, pandas.DataFrame)
        features = super().extract_batch(df)
        features[:, 8] *= 0.4
        return features


def test_a_subclasss_own_features_are_asked(trained):
    directory = trained("gemm72")
    usual = Predictor(directory)
    problem, kernel = gemm_problem(m=700), gemm_kernel()
    features = usual.extract_rows([{**problem, **kernel}])[0]
    features[8] *= 0.4
    raw = booster(directory, "tflops").predict([features])[0]
    for kind in (Changed, ChangedBoth):
        predictor = Predictor(directory, feature_engine=kind())
        assert predictor.predict_tflops(problem, kernel) == near(raw)
        assert predictor.predict_all(problem, kernel)["tflops"] == predictor.predict_tflops(problem, kernel)
        assert predictor.predict_tflops(problem, kernel) != usual.predict_tflops(problem, kernel)
    # Upstream ranks by extract_batch alone.
    pool = [gemm_kernel(tile, kernel_name=f"k{tile}") for tile in (32, 64, 128, 256)]
    assert Predictor(directory, Changed()).rank_kernels(problem, pool) == usual.rank_kernels(problem, pool)
    ranked = Predictor(directory, ChangedBoth()).rank_kernels(problem, pool)
    rows = numpy.array(usual.extract_rows([{**problem, **kernel} for kernel in pool]))
    rows[:, 8] *= 0.4
    expected = dict(zip((kernel["kernel_name"] for kernel in pool), booster(directory, "tflops").predict(rows)))
    assert {name: near(raw) for name, raw in expected.items()} == dict(ranked)
    assert [score for _, score in ranked] == sorted((score for _, score in ranked), reverse=True)
    assert dict(ranked) != dict(usual.rank_kernels(problem, pool))
    assert Predictor(directory, ChangedBoth()).select_best(problem, pool) == ranked[0][0]
    with pytest.raises(ValueError, match="feature engine of its own"):
        Predictor(directory, ChangedBoth()).prepare(pool)
    with pytest.raises(ValueError, match="found the class Changed, expected an engine"):
        Predictor(directory, Changed)


class Own(FeatureEngine):
    """An engine of columns that nobody else has."""

    def get_feature_names(self):
        return ["rows", "tile", "unused"]

    def get_categorical_features(self):
        return []

    def extract(self, problem, kernel):
        return numpy.array([problem["m"], kernel["tile_m"], -1.0])


def test_an_engine_of_ones_own_makes_a_model_of_ones_own(tmp_path):
    generator = numpy.random.default_rng(5)
    save_forest(tmp_path / "model_tflops.lgbm", generator.random((200, 2)) * 256, generator.random(200) - 0.5)
    set_spec(tmp_path, feature_names=["tile", "rows"], log_targets=[])
    predictor = Predictor(tmp_path, feature_engine=Own())
    assert predictor.feature_names == ["tile", "rows"]
    assert predictor.select_features(numpy.array([[1.0, 2.0, 3.0]])).tolist() == [[2.0, 1.0]]
    pool = [{"kernel_name": f"k{tile}", "tile_m": tile} for tile in (16, 64, 250)]
    raw = booster(tmp_path, "tflops").predict([[kernel["tile_m"], 99.0] for kernel in pool])
    ranked = predictor.rank_kernels({"m": 99}, pool)
    assert dict(ranked) == dict(zip(("k16", "k64", "k250"), raw))
    assert predictor.predict_rows([{"m": 99, **pool[0]}]) == [max(0.0, raw[0])]
    assert [predictor.predict_tflops({"m": 99}, kernel) for kernel in pool] == [max(0.0, score) for score in raw]
    with pytest.raises(InvalidModelError, match="no gemm_universal feature is named tile"):
        Predictor(tmp_path)
    set_spec(tmp_path, feature_names=["tile", "depth"])
    with pytest.raises(InvalidModelError, match="the engine cannot supply depth"):
        Predictor(tmp_path, feature_engine=Own())
    set_spec(tmp_path, feature_names=["tile", "rows", "unused"])
    with pytest.raises(InvalidModelError, match="has 2 features, the spec and its engine 3"):
        Predictor(tmp_path, feature_engine=Own()).predict_tflops({"m": 1}, {"tile_m": 1})


class Bare:
    """What a predictor needs of an engine at least, by the names of upstream's."""

    def get_feature_names(self):
        return list(NAMES)

    def extract(self, problem, kernel):
        features = GemmUniversalFeatureEngine().extract(problem, kernel)
        features[8] *= 0.4
        return features


def test_an_engine_that_knows_no_tables_is_asked_row_by_row(trained):
    directory = trained("gemm72")
    pool = [gemm_kernel(tile, kernel_name=f"k{tile}") for tile in (32, 64, 128, 256)]
    problem = gemm_problem(m=700)
    predictor = pickle.loads(pickle.dumps(Predictor(directory, feature_engine=Bare())))
    expected = {kernel["kernel_name"]: predictor.predict_tflops(problem, kernel) for kernel in pool}
    assert dict(predictor.rank_kernels(problem, pool)) == expected
    assert expected != dict(Predictor(directory).rank_kernels(problem, pool))
    assert dict(predictor.rank_kernels(problem, pandas.DataFrame(pool))) == expected


def test_select_features_gives_the_models_columns(trained, copied, golden):
    directory = copied(trained("gemm72"))
    names = golden("gemm72").feature_names
    predictor = Predictor(directory)
    matrix = numpy.arange(2.0 * len(names)).reshape(2, -1)
    assert predictor.select_features(matrix) is matrix
    set_spec(directory, feature_names=[names[7], names[3]], categorical_features=[])
    fewer = Predictor(directory)
    assert fewer.feature_engine.get_feature_names() == names
    assert fewer.select_features(matrix).tolist() == matrix[:, [7, 3]].tolist()


def test_a_models_engine_extracts_what_the_model_reads(trained):
    for name in GOLDENS:
        predictor = Predictor(trained(name))
        row = {**gemm_problem(arch="gfx950"), **gemm_kernel(vec_a=0, vec_b=0, vec_c=0)}
        if "conv" in name:
            row = {"N": 2, "C": 64, "K": 64, "Hi": 28, "Wi": 28, "block_size": 64, "gemm_k_per_block": 32}
        found = predictor.select_features(predictor.feature_engine.extract(row, row).reshape(1, -1))
        assert bits(found[0]) == bits(predictor.extract_rows([row])[0])


MOVED = {"layout": "ccr", "dtype": "fp32", "m": 96}


def test_the_vector_engines_halves_look_on_their_own_sides(trained):
    """Its 72 base features look on one side and take defaults, its six on both: a row of each."""
    directory = trained("gemm78vec")
    predictor = Predictor(directory)
    engine = predictor.feature_engine
    for name, value in MOVED.items():
        problem = {key: cell for key, cell in gemm_problem(arch="gfx950").items() if key != name}
        kernel = gemm_kernel(vec_a=0, vec_b=4, vec_c=0, **{name: value})
        found = engine.extract(problem, kernel)
        base = GemmUniversalFeatureEngine().extract(problem, kernel)
        whole = engine.extract({**problem, name: value}, kernel)
        assert bits(found[:72]) == bits(base) and bits(found[72:]) == bits(whole[72:])
        assert bits(found) != bits(whole)
        raw = booster(directory, "tflops").predict([found])[0]
        assert predictor.predict_tflops(problem, kernel) == near(raw)
    kernel = gemm_kernel(vec_a=0, vec_b=4, vec_c=0)
    expected = predictor.predict_tflops(gemm_problem(arch="gfx950"), kernel)
    assert predictor.predict_tflops(gemm_problem(), {**kernel, "arch": "gfx950"}) == expected
    assert predictor.predict_tflops(gemm_problem(arch="gfx950", vec_b=kernel.pop("vec_b")), kernel) == expected
    problem = {**gemm_problem(arch="gfx950"), "tile_m": 64, "epilogue": "default"}
    kernel = gemm_kernel(vec_a=0, vec_b=4, vec_c=0)
    del kernel["tile_m"], kernel["epilogue"]
    found = engine.extract(problem, kernel)
    assert (found[13], found[24]) == (128.0, 1.0)
    raw = booster(directory, "tflops").predict([found])[0]
    assert predictor.predict_tflops(problem, kernel) == near(raw)


def test_what_the_vector_engine_misses_is_a_key_error(trained):
    predictor = Predictor(trained("gemm78vec"))
    for name in ("m", "layout", "dtype", "arch", "epilogue", "tile_n", "warp_tile_k", "vec_c"):
        problem, kernel = gemm_problem(arch="gfx950"), gemm_kernel(vec_a=0, vec_b=0, vec_c=0)
        problem.pop(name, None)
        kernel.pop(name, None)
        for ask in (predictor.predict_tflops, predictor.feature_engine.extract):
            with pytest.raises(MissingCellError, match=name):
                ask(problem, kernel)
        with pytest.raises(KeyError, match=f"^{name}: "):
            predictor.feature_engine.extract_batch(pandas.DataFrame([{**problem, **kernel}]))
    problem, kernel = gemm_problem(arch="gfx950"), gemm_kernel(vec_a=0, vec_b=0, vec_c=0)
    with pytest.raises(MissingCellError, match="m: found nothing, expected at least 1"):
        predictor.rank_kernels({name: cell for name, cell in problem.items() if name != "m"}, [kernel])
    with pytest.raises(MissingCellError, match="^dtype: found 'int4'"):
        predictor.predict_tflops({**problem, "dtype": "int4"}, kernel)
    rows = polars.DataFrame([{**problem, **kernel}])
    assert predictor.feature_engine.extract_batch(rows[:0]).shape == (0, 78)
    for name, values in {
        **{"m": (0, "many"), "k": (float("inf"),), "layout": ("RCR",), "arch": ("MI300",)},
        **{"epilogue": ("",), "vec_a": (-1, "", "many")},
    }.items():
        for value in values:
            given = [{**side, **({name: value} if name in side else {})} for side in (problem, kernel)]
            with pytest.raises(ck_select.InvalidInputError, match=f"^{name}: found "):
                predictor.feature_engine.extract(*given)


def test_engines_work_where_numpy_is_needed_only(monkeypatch):
    """Without numpy a predictor works, and an engine says what is missing."""
    monkeypatch.setitem(__import__("sys").modules, "numpy", None)
    assert Predictor(CONV_MODEL).predict_tflops({"N": 1}, {}) >= 0
    assert len(GroupedConvFeatureEngine().get_feature_names()) == 97
    with pytest.raises(ImportError, match="numpy, which is not installed"):
        GroupedConvFeatureEngine().extract({"N": 1}, {})


def test_constants_may_be_numpys():
    """As cells of a table of hardware are."""
    plain, numpys = (GemmUniversalFeatureEngine(num_cus=kind(77)) for kind in (int, numpy.int64))
    assert bits(numpys.extract(gemm_problem(), gemm_kernel())) == bits(plain.extract(gemm_problem(), gemm_kernel()))
    for given in (numpys, GemmUniversalFeatureEngine(num_cus=numpy.float32(77))):
        predictor, same = Predictor(GEMM_MODEL, given), Predictor(GEMM_MODEL, plain)
        row = {**gemm_problem(), **gemm_kernel()}
        assert predictor.extract_rows([row]) == same.extract_rows([row])
