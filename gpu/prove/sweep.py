"""A pool of Triton's kernels on a few dozen shapes, and who chooses how well on those held out.

shapes  every third is held out: nothing below learns from it
sweep   all kernels on the held-out shapes, then on the others, as far as the time goes
judge   the estimate, the universal model, that model tuned on the others, and a forest trained on the others alone
"""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from machine import ROOT, TRITON
from steps import Run, Skip

Rows = list[dict[str, str]]


@dataclass(frozen=True)
class Family:
    """Kernels of one operation and what runs them; `shapes` and `pool` are commands, `fits` drops shapes."""

    name: str
    runner: Path
    shapes: list[str]
    pool: list[str]
    fits: Callable[[dict[str, str]], bool]
    # The part of the time that is left when it begins.
    share: float


def aligned(row: dict[str, str]) -> bool:
    """One compilation of a kernel serves all such shapes."""
    return all(int(row[side]) % 16 == 0 and int(row[side]) >= 64 for side in "nk")


GEMM = Family(
    "gemm",
    TRITON / "runner.json",
    ["shapes", "--set", "wide", "--dtype", "bf16"],
    [sys.executable, str(TRITON / "pool.py"), "--dtype", "bf16", "--layout", "rcr"],
    aligned,
    0.45,
)


def evenly(items: list[Any], count: int) -> list[Any]:
    """At most so many, spread over all."""
    count = min(count, len(items))
    return [items[index * len(items) // count] for index in range(count)]


def write(path: Path, rows: Rows) -> None:
    """A CSV of problems."""
    with path.open("w", newline="") as file:
        table = csv.DictWriter(file, [name for name in rows[0] if name != "problem_idx"], extrasaction="ignore")
        table.writeheader()
        table.writerows(rows)


def prepare(run: Run, family: Family, shapes: int, kernels: int) -> dict[str, Any]:
    """Writes the pool and both sets of shapes."""
    if not family.runner.is_file():
        raise Skip(f"no runner of {family.name}: {family.runner.relative_to(ROOT)} is not there")
    if not shapes:
        raise Skip("--shapes 0")
    machine = run.needs("machine")
    folder = run.folder / family.name
    folder.mkdir(exist_ok=True)
    listed = run.command(family.name, [machine["ckselect_file"], *family.shapes])
    rows = evenly([row for row in csv.DictReader(listed.splitlines()) if family.fits(row)], shapes)
    write(folder / "heldout.problems.csv", rows[1::3])
    write(folder / "others.problems.csv", [row for at, row in enumerate(rows) if at % 3 != 1])
    names = run.command(family.name, [*family.pool, "--arch", machine["target"]]).split()
    pool = evenly(names, kernels)
    (folder / "pool.txt").write_text("\n".join(pool) + "\n")
    return {"kernels": len(pool), "of": len(names), "heldout": len(rows[1::3]), "others": len(rows) - len(rows[1::3])}


def sweep(run: Run, family: Family) -> dict[str, Any]:
    """Measures; an interrupted sweep goes on where it was."""
    figures, machine = run.needs(f"{family.name}-pool"), run.needs("machine")
    folder, found = run.folder / family.name, {}
    for part, share in (("heldout", family.share / 2), ("others", family.share)):
        seconds, log = run.left(share), folder / f"{part}.csv"
        words = [machine["ckselect_file"], "bench", "--pool", folder / "pool.txt"]
        words += ["--problems", folder / f"{part}.problems.csv", "--runner", family.runner, "--output", log, "--resume"]
        words += ["--params", "batch=100000", "warmup=2", "repeat=5", "--cutoff", "3x", "--order", "estimate"]
        words += ["--arch", machine["target"], "--gpus", "0", "--budget", f"{seconds}s"]
        run.command(family.name, words, limit=seconds + 300)
        found[part] = outcomes(log, figures["kernels"] * figures[part])
    return found


def outcomes(log: Path, pairs: int) -> dict[str, Any]:
    """How many rows have a time, and why others have none."""
    with log.open() as file:
        said = [row["error_msg"].split(":")[0] for row in csv.DictReader(file)]
    classes = {word: said.count(word) for word in sorted(set(said)) if word}
    return {"pairs": pairs, "rows": len(said), "timed": said.count(""), "without": classes}


def judged(run: Run, family: Family, who: str, model: str | Path) -> dict[str, Any]:
    """The figures of one who chooses, on the shapes held out."""
    machine, folder = run.needs("machine"), run.folder / family.name
    output = folder / f"{who}.json"
    words = [machine["ckselect_file"], "evaluate", "--model", model, "--arch", machine["target"]]
    run.command(family.name, [*words, "--data", folder / "heldout.csv", "--output", output])
    report = json.loads(output.read_text())
    metrics, others = report["global_metrics"], report["baselines"]
    return {
        "shapes": metrics["num_shapes"],
        "mean": metrics["efficiency_mean"],
        "p10": metrics["efficiency_p10"],
        "min": metrics["efficiency_min"],
        "best3": metrics["best_of_top3_mean"],
        "fixed": others["fixed_kernel_mean"],
        "random": others["random_mean"],
    }


def judge(run: Run, family: Family) -> dict[str, Any]:
    """Tunes, trains, and judges all four."""
    run.needs(f"{family.name}-sweep")
    machine, folder = run.needs("machine"), run.folder / family.name
    program, log = machine["ckselect_file"], folder / "others.csv"
    target = ["--arch", machine["target"], "--overwrite", "--output"]
    measured = len({row["problem_idx"] for row in csv.DictReader(log.open())})
    tune = [program, "tune", "--simulate", log, "--measure", str(measured), *target, folder / "tuned"]
    run.command(family.name, tune)
    run.command(family.name, [program, "train", "--data", log, "--folds", "1", *target, folder / "trained"])
    run.command(family.name, [program, "report", folder / "heldout.csv", log, "--output", folder / "sweep.html"])
    who = {"estimate": "estimate", "universal": "embedded:universal"}
    models = {**who, "tuned": folder / "tuned", "trained": folder / "trained"}
    return {name: judged(run, family, name, model) for name, model in models.items()}


FAMILIES = [GEMM]
