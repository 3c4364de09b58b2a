"""ckselect beside scripts of pandas and LightGBM, on the same inputs in the same run: time and peak memory.

    python compare.py --ckselect target/release/ckselect [--rows 1000000] [--rounds 3] [--json FILE] [CASE ...]

A case makes its input, names the two command lines, and checks that both say the same. Rounds alternate, so that a
machine that is busy for a while is busy for both; the best round of each counts.
"""

import argparse
import json
import math
import subprocess
import sys
import tempfile
from pathlib import Path

import sweep

HERE = Path(__file__).parent


def measure(command):
    """Seconds, peak memory in MiB, and seconds of all cores, which a busy machine disturbs less."""
    ran = subprocess.run([sys.executable, HERE / "measure.py", *command], check=True, stdout=subprocess.PIPE)
    return json.loads(ran.stdout)


def convert(folder, ckselect, rows):
    """A benchmark CSV to the canonical table."""
    import pandas as pd

    source, ours, theirs = folder / "sweep.csv", folder / "ours.parquet", folder / "theirs.parquet"
    sweep.write(source, rows)

    def check():
        pd.testing.assert_frame_equal(pd.read_parquet(ours), pd.read_parquet(theirs))

    return (
        [ckselect, "convert", source, "--output", ours, "--arch", "gfx950"],
        [sys.executable, HERE / "pandas_convert.py", source, theirs],
        check,
    )


def table(folder, ckselect, rows):
    """A canonical table of an invented sweep."""
    source, made = folder / "sweep.csv", folder / "sweep.parquet"
    sweep.write(source, rows)
    subprocess.run([ckselect, "convert", source, "--output", made, "--arch", "gfx950"], check=True, capture_output=True)
    return made


def same(ours, theirs, tolerance):
    """Whether two objects of figures agree; sums and logarithms may differ in their last digits."""
    assert ours.keys() >= theirs.keys(), theirs.keys() - ours.keys()
    for name, value in theirs.items():
        assert math.isclose(ours[name], value, rel_tol=tolerance, abs_tol=1e-12), (name, ours[name], value)


def features(folder, ckselect, rows, *options):
    """The 97 features of every row, ours a part at a time; the script holds a matrix, as LightGBM wants it."""
    made = table(folder, ckselect, rows)
    commands = (
        [ckselect.parent / "examples" / "feature_rows", made, *options],
        [sys.executable, HERE / "pandas_features.py", made],
    )

    def check():
        # Once more, for the time that reading and starting have no part in.
        runs = [[json.loads(subprocess.run(command, check=True, capture_output=True).stdout) for command in commands]
                for _ in range(3)]
        ours, theirs = runs[0]
        assert ours["rows"] == theirs["rows"] == rows
        same(ours["sums"], theirs["sums"], 1e-9)
        ours, theirs = (min(run[side]["seconds"]["features"] for run in runs) for side in (0, 1))
        print(f"without starting and reading: ckselect {ours:.3f} s, python {theirs:.3f} s, ratio {theirs / ours:.1f}")

    return (*commands, check)


def matrix(folder, ckselect, rows):
    """The same as a matrix on both sides."""
    return features(folder, ckselect, rows, "--matrix")


def model(folder, made):
    """A model of tflops with upstream's columns: 500 trees of 63 leaves, trained on a part of the rows."""
    import lightgbm
    import numpy as np
    import pandas as pd

    import pandas_features

    target = folder / "model"
    target.mkdir()
    part = pd.read_parquet(made)
    part = part[part["is_valid"]].head(50_000)
    # The sweep's own figures are noise; these depend on the features, as a real kernel's would.
    names, values = pandas_features.matrix(part)
    column = dict(zip(names, values.T))
    speed = column["overall_tile_efficiency"] * np.minimum(column["cu_utilization"], 4) * (1 + column["pipeline"] / 8)
    data = lightgbm.Dataset(values, np.log1p(100 * speed), feature_name=names, categorical_feature=["pipeline"])
    booster = lightgbm.train(
        {"objective": "regression", "num_leaves": 63, "learning_rate": 0.05, "verbose": -1}, data, 500
    )
    booster.save_model(target / "model_tflops.lgbm")
    hardware = {name: value for name, value in pandas_features.HARDWARE.items() if name != "total_simds"}
    (target / "feature_spec.json").write_text(json.dumps({
        "op_type": "grouped_conv", "dtype": "bf16", "arch": "gfx950", "feature_names": names,
        "categorical_features": ["pipeline"], "log_targets": ["tflops"], "hardware": hardware}))
    return target


def evaluate(folder, ckselect, rows):
    """The figures of a model over all problems."""
    made = table(folder, ckselect, rows)
    trained = model(folder, made)
    ours, theirs = folder / "ours.json", folder / "theirs.json"

    def check():
        found, expected = (json.loads(path.read_text())["global_metrics"] for path in (ours, theirs))
        same(found, expected, 1e-6)

    return (
        [ckselect, "evaluate", "--model", trained, "--data", made, "--json", ours],
        [sys.executable, HERE / "pandas_evaluate.py", trained, made, theirs],
        check,
    )


CASES = {"convert": convert, "features": features, "matrix": matrix, "evaluate": evaluate}


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("cases", nargs="*", metavar="CASE", help=f"{', '.join(CASES)}; all when none is given")
    arguments.add_argument("--ckselect", required=True, type=Path)
    arguments.add_argument("--rows", type=int, default=1_000_000)
    arguments.add_argument("--rounds", type=int, default=3)
    arguments.add_argument("--json", type=Path)
    given = arguments.parse_args()
    unknown = [case for case in given.cases if case not in CASES]
    if unknown:
        arguments.error(f"unknown case {unknown[0]}, expected one of: {', '.join(CASES)}")
    results = []
    print(f"{'case':<10} {'rows':>10} {'ckselect s':>11} {'python s':>10} {'ratio':>6} {'ckselect MiB':>13} "
          f"{'python MiB':>11} {'ckselect CPU s':>15} {'python CPU s':>13} {'ratio':>6}")
    for case in given.cases or CASES:
        with tempfile.TemporaryDirectory() as folder:
            ours, theirs, check = CASES[case](Path(folder), given.ckselect, given.rows)
            rounds = [(measure(ours), measure(theirs)) for _ in range(given.rounds)]
            check()
        # The best of each figure: a disturbance only ever makes it larger.
        best = [[min(figures) for figures in zip(*(round_[side] for round_ in rounds))] for side in (0, 1)]
        (seconds, memory, cpu), (their_seconds, their_memory, their_cpu) = best
        print(f"{case:<10} {given.rows:>10} {seconds:>11.3f} {their_seconds:>10.3f} {their_seconds / seconds:>6.1f} "
              f"{memory:>13.0f} {their_memory:>11.0f} {cpu:>15.3f} {their_cpu:>13.3f} {their_cpu / cpu:>6.1f}",
              flush=True)
        results.append({"case": case, "rows": given.rows, "ckselect_s": seconds, "python_s": their_seconds,
                        "ratio": their_seconds / seconds, "ckselect_mib": memory, "python_mib": their_memory,
                        "ckselect_cpu_s": cpu, "python_cpu_s": their_cpu})
    if given.json:
        given.json.write_text(json.dumps(results, indent=2) + "\n")


if __name__ == "__main__":
    main()
