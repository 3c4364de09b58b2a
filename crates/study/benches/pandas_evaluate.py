"""How good a model's choices are, as one would find out with numpy, pandas and LightGBM."""

import json
import sys
from pathlib import Path

import lightgbm
import numpy as np
import pandas as pd

import pandas_features


def main(model, source, target):
    table = pd.read_parquet(
        source, columns=[*pandas_features.PROBLEM, *pandas_features.KERNEL, "tflops", "is_valid", "problem_idx"]
    )
    table = table[table["is_valid"] & (table["tflops"] > 0)].reset_index(drop=True)
    names, values = pandas_features.matrix(table)
    spec = json.loads((Path(model) / "feature_spec.json").read_text())
    assert names == spec["feature_names"]
    booster = lightgbm.Booster(model_file=str(Path(model) / "model_tflops.lgbm"))
    predicted = np.expm1(booster.predict(values, num_threads=0))
    tflops = table["tflops"].to_numpy()
    shape = table.groupby([*pandas_features.PROBLEM, "problem_idx"], sort=False).ngroup().to_numpy()
    # Best predicted first within a problem, first row first among equals.
    order = np.lexsort((-predicted, shape))
    ordered = shape[order]
    first = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]])
    rank = np.arange(len(order)) - np.repeat(first, np.diff(np.r_[first, len(order)]))
    best = np.maximum.reduceat(tflops[order], first)
    efficiency = tflops[order][first] / best
    oracle = table.groupby(shape)["tflops"].idxmax().to_numpy()
    rank_of_row = np.empty(len(order), np.int64)
    rank_of_row[order] = rank
    oracle_rank = rank_of_row[oracle]
    best_of = lambda count: np.maximum.reduceat(np.where(rank < count, tflops[order], 0.0), first) / best
    error = tflops - predicted
    Path(target).write_text(json.dumps({"global_metrics": {
        "efficiency_mean": efficiency.mean(), "efficiency_p50": np.quantile(efficiency, 0.5),
        "efficiency_p10": np.quantile(efficiency, 0.1), "efficiency_min": efficiency.min(),
        "regret_mean": 1 - efficiency.mean(), "ndcg_at_1": (oracle_rank == 0).mean(),
        "top3_hit_rate": (oracle_rank < 3).mean(), "top5_hit_rate": (oracle_rank < 5).mean(),
        "best_of_top3_mean": best_of(3).mean(), "best_of_top5_mean": best_of(5).mean(),
        "r2": 1 - (error**2).sum() / ((tflops - tflops.mean()) ** 2).sum(), "rmse": np.sqrt((error**2).mean()),
        "mae": np.abs(error).mean(), "num_shapes": len(first), "num_rows": len(table)}}))


if __name__ == "__main__":
    main(*sys.argv[1:])
