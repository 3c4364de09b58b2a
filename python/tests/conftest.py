"""Fixtures: golden files, and models that the real LightGBM trains on them."""

from __future__ import annotations

import shutil
from functools import cache
from pathlib import Path

import numpy
import pytest
from support import CATEGORIES, GEMM_MODEL, GOLDENS, Golden, save_forest, set_spec

from ck_select import Predictor


@pytest.fixture(scope="session")
def golden():
    """Golden files by name, each read once."""
    return cache(lambda name: Golden(name, GOLDENS[name][1]))


@pytest.fixture(scope="session")
def trained(tmp_path_factory, golden):
    """Model directories that LightGBM trained on a golden file's own features, by the file's name."""

    @cache
    def train(name: str) -> Path:
        op, _, version = GOLDENS[name]
        file = golden(name)
        directory = tmp_path_factory.mktemp(name)
        features = numpy.array([features for _, _, features in file.rows])
        generator = numpy.random.default_rng(7)
        targets = {
            "tflops": numpy.log1p(numpy.abs(features[:, 8]) % 97 + 400 * generator.random(len(features))),
            "latency": generator.random(len(features)) - 0.5,
        }
        categories = [file.feature_names.index(category) for category in CATEGORIES[op]]
        for target, values in targets.items():
            options = {"num_leaves": 31, "min_data_in_leaf": 5, "seed": 3}
            named = {"feature_name": file.feature_names, "categorical_feature": categories, "options": options}
            save_forest(directory / f"model_{target}.lgbm", features, values, 40, **named)
        set_spec(
            directory,
            op_type=op,
            feature_names=file.feature_names,
            categorical_features=CATEGORIES[op],
            targets=["tflops", "latency"],
            log_targets=["tflops"],
            feature_encoding_version=version,
        )
        return directory

    return train


@pytest.fixture
def copied(tmp_path):
    """A copy of a model directory that a test may change."""

    def copy(directory: Path) -> Path:
        return Path(shutil.copytree(directory, tmp_path / directory.name))

    return copy


@pytest.fixture
def predictor():
    """A predictor of GEMMs that nothing was asked of."""
    return Predictor(GEMM_MODEL)
