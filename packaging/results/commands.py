"""What the figures come from: commands of `ckselect`, each run once, and what models' cards say."""

from __future__ import annotations

import csv
import json
import os
import re
import subprocess
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from statistics import fmean
from typing import Any

from documents import ROOT

OUT = ROOT / "target" / "results"
CKSELECT = Path(os.environ.get("CKSELECT") or ROOT / "target" / "release" / "ckselect").resolve()
H100, H200 = ROOT / "data" / "h100", ROOT / "data" / "h200"
# Measurements that are not in the repository; nothing without DATA.
ELSEWHERE = Path(os.environ["DATA"]).resolve() if os.environ.get("DATA") else None


def elsewhere(name: str) -> Path:
    """A file of DATA."""
    if ELSEWHERE is None:
        raise LookupError("DATA")
    return ELSEWHERE / name


def ckselect(*words: str | Path) -> str:
    """Standard output; its errors go where ours go only if it fails."""
    ran = subprocess.run([CKSELECT, *map(str, words)], capture_output=True, text=True, check=False, cwd=ROOT)
    if ran.returncode:
        raise RuntimeError(f"ckselect {words[0]}: {ran.stderr.strip().splitlines()[-1]}")
    return ran.stdout


@cache
def evaluated(model: str, data: tuple[Path, ...], *more: str) -> dict[str, Any]:
    """All that `evaluate` says."""
    return json.loads(ckselect("evaluate", "--model", model, *more, "--format", "json", "--data", *data))


def efficiency(model: str, data: Sequence[Path], *more: str, names: str = "mean p10 best3") -> list[float]:
    """Figures in percent, by the documents' words."""
    report = evaluated(model, tuple(data), *more)
    metrics, others = report["global_metrics"], report["baselines"]
    every = {name: metrics[f"efficiency_{name}"] for name in ("mean", "p10", "min")}
    every |= {"median": metrics["efficiency_p50"], "best3": metrics["best_of_top3_mean"]}
    every |= {"fixed": others["fixed_kernel_mean"], "random": others["random_mean"]}
    return [100 * every[name] for name in names.split()]


def slices(model: str, data: Sequence[Path], *more: str, by: str, names: str) -> list[float]:
    """Figures of some of the problems: `by` a group of `evaluate`, names such as `tiny_m.mean`."""
    report = evaluated(model, tuple(data), *more)[f"{by}_metrics"]
    return [100 * report[word][figure] for word, figure in (name.split(".") for name in names.split())]


@cache
def winners(model: str, table: Path, pool: str, arch: str) -> dict[str, dict[str, str]]:
    """What `evaluate --winners` says, by column and figure."""
    said = ckselect(
        *("evaluate", "--model", model, "--winners", table, "--pool", pool, "--arch", arch, "--format", "csv")
    )
    rows = list(csv.DictReader(said.splitlines()))
    return {column: {row["figure"]: row[column] for row in rows} for column in rows[0] if column != "figure"}


@cache
def trained(name: str, *words: str | Path) -> str:
    """A model directory that `train` makes."""
    folder = OUT / name
    ckselect("train", *words, "--output", folder, "--overwrite")
    return str(folder)


def card(model: str, row: str, names: str) -> list[float]:
    """Figures of a row of a model card's table, by its heads."""
    head: list[str] = []
    for line in (ROOT / "models" / model / "MODEL_CARD.md").read_text().splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if re.match(r"\|\s*(target|table) \|", line):
            head = cells
        elif head and cells[0] == row and len(cells) == len(head) and names.split(",")[0] in head:
            return [float(cells[head.index(name)]) for name in names.split(",")]
    raise RuntimeError(f"the card of {model} has no row '{row}' with {names}")


def simulated(sweep: Path, *more: str) -> dict[str, dict[str, float]]:
    """Speeds that `bench --simulate` finds, by problem and kernel; those without a record are 0."""
    log = OUT / "simulated.csv"
    ckselect(
        *("bench", "--pool", sweep, "--problems", sweep, "--simulate", sweep, "--output", log, "--overwrite"),
        *more,
    )
    found: dict[str, dict[str, float]] = {}
    with log.open() as file:
        for row in csv.DictReader(file):
            speed = 0.0 if row["error_msg"] else float(row["tflops"])
            found.setdefault(row["problem_idx"], {})[row["kernel"]] = speed
    return found


def kept(data: Sequence[Path], arch: str, *more: str) -> list[float]:
    """What `bench --order` measures of a recorded sweep, and the speed that it leaves, in percent.

    Of problems of which every kernel was recorded.
    """
    OUT.mkdir(parents=True, exist_ok=True)
    sweep = OUT / "sweep.csv"
    # Tables number their problems independently; bench numbers them in order.
    rows = list(csv.DictReader(ckselect("convert", *data, "--arch", arch, "--output", "-").splitlines()))
    with sweep.open("w", newline="") as file:
        table = csv.DictWriter(file, [name for name in rows[0] if name != "problem_idx"], extrasaction="ignore")
        table.writeheader()
        table.writerows(rows)
    every, part = simulated(sweep, "--order", "pool"), simulated(sweep, "--arch", arch, *more)
    whole = [idx for idx, speeds in every.items() if all(speeds.values())]
    share = sum(len(part[idx]) for idx in whole) / sum(len(every[idx]) for idx in whole)
    return [100 * share, 100 * fmean(max(part[idx].values()) / max(every[idx].values()) for idx in whole)]
