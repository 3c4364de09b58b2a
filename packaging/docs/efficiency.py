"""How fast the chosen kernels are on the MI355X problems, for the figure in README: `make efficiency MI355X=FOLDER`.

    efficiency.py OUT_OF_FOLD.parquet ESTIMATE.csv UNIVERSAL.csv UPSTREAM.csv > docs/images/efficiency.csv

Takes what `ckselect train` wrote, and what `ckselect evaluate --output FILE.csv` wrote of the estimate, of a
universal model that has not seen the MI355X and of upstream's choices, about the same problems. Each column
is sorted by itself, so a line is no problem.
"""

import csv
import sys

import pyarrow.parquet


def held_out(path: str) -> list[float]:
    """The efficiency of the model's choice for each sweep of a problem that a fold held out."""
    table = pyarrow.parquet.read_table(path).to_pylist()
    measured = ("kernel_name", "tflops", "latency_ms", "is_valid", "fold", "oof_pred_relative", "oof_pred_tflops")
    sweeps: dict[tuple, list[dict]] = {}
    for row in table:
        if row["fold"] is None or row["fold"] < 0 or row["oof_pred_relative"] is None:
            continue
        problem = tuple(value for name, value in row.items() if name not in measured)
        # A kernel that comes again begins a second sweep of the problem.
        sweep = 0
        while any(other["kernel_name"] == row["kernel_name"] for other in sweeps.get((problem, sweep), [])):
            sweep += 1
        sweeps.setdefault((problem, sweep), []).append(row)
    chosen = {key: max(rows, key=lambda row: row["oof_pred_relative"]) for key, rows in sweeps.items()}
    return [chosen[key]["tflops"] / max(row["tflops"] for row in rows) for key, rows in sweeps.items()]


def column(path: str) -> list[float]:
    """The column `efficiency` of a CSV."""
    with open(path) as file:
        return [float(row["efficiency"]) for row in csv.DictReader(file)]


columns = [held_out(sys.argv[1]), *(column(path) for path in sys.argv[2:5])]
if len(counts := {len(values) for values in columns}) != 1:
    sys.exit(f"efficiency: found columns of {sorted(counts)} problems, which should be the same")
print(
    "# Speed of the chosen kernel relative to the fastest measured one, 142 convolution problems on an MI355X, "
    "each column sorted."
)
print(
    "# Made by `make efficiency MI355X=FOLDER` (packaging/make/docs.mk has the commands); "
    "docs/results.md explains the figures."
)
print("ck_select,estimate,universal,upstream")
for row in zip(*map(sorted, columns)):
    print(",".join(f"{value:.6f}" for value in row))
