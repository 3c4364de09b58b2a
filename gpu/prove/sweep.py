"""Pools of Triton's kernels on a few dozen problems each, and who chooses how well on those held out.

shapes  every third is held out: nothing below learns from it
sweep   all kernels on the held-out shapes, then on the others, as far as the time goes
judge   the estimate, the universal model, that model tuned on the others, and a forest trained on the others alone
"""

from __future__ import annotations

import csv
import itertools
import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from machine import ROOT, TRITON
from steps import Run, Skip

sys.path.append(str(TRITON))

from mixture import drawn

Rows = list[dict[str, str]]


@dataclass(frozen=True)
class Family:
    """Kernels of one operation, what runs them, and their problems."""

    name: str
    runner: Path
    problems: Callable[[Run, str], Rows]
    pool: Callable[[Run, str, str], list[str]]
    # The largest pool: how long compilers take goes with it.
    kernels: int


def gemm_problems(run: Run, program: str) -> Rows:
    """Those for which one compilation of a kernel serves all."""
    listed = run.command("gemm", [program, "shapes", "--set", "wide", "--dtype", "bf16"])
    rows = csv.DictReader(listed.splitlines())
    return [row for row in rows if all(int(row[side]) % 16 == 0 and int(row[side]) >= 64 for side in "nk")]


def gemm_pool(run: Run, _program: str, target: str) -> list[str]:
    """What may be the fastest somewhere."""
    words = [sys.executable, TRITON / "pool.py", "--dtype", "bf16", "--layout", "rcr", "--arch", target]
    return run.command("gemm", words).split()


# Experts, experts of a token, intermediate and hidden size of language models.
MODELS = [(8, 2, 14336, 4096), (16, 4, 10752, 6144), (64, 6, 1408, 2048), (128, 8, 768, 2048)]


def moe_problems(_run: Run, _program: str) -> Rows:
    """Both stages of four language models at six numbers of tokens, routed evenly and not."""
    rows = []
    for (experts, topk, inner, hidden), tokens in itertools.product(MODELS, (1, 16, 64, 256, 1024, 4096)):
        for stage, n, k in (1, 2 * inner, hidden), (2, hidden, inner):
            cells = {"op": "moe", "stage": stage, "tokens": tokens, "experts": experts, "topk": topk, "n": n, "k": k}
            rows.append({**{name: str(cell) for name, cell in cells.items()}, "dtype_a": "bf16"})
    skews = itertools.cycle((0, 0.7, 0.7, 0, 0.4))
    # The runner routes rows of experts: numbers that a skew only expects may be those of no routing.
    routings = (
        drawn(*(int(row[side]) for side in ("tokens", "experts", "topk")), skew) for row, skew in zip(rows, skews)
    )
    return [{**row, "histogram": " ".join(map(str, routing))} for row, routing in zip(rows, routings)]


def moe_pool(run: Run, program: str, target: str) -> list[str]:
    """What vLLM's tuner tries."""
    file = run.folder / "moe" / "all.txt"
    config = ROOT / "configs" / "triton_moe.json"
    run.command("moe", [program, "enumerate", config, "--arch", target, "--output", file])
    return file.read_text().split()


FAMILIES = [
    Family("gemm", TRITON / "runner.json", gemm_problems, gemm_pool, 300),
    Family("moe", TRITON / "moe.json", moe_problems, moe_pool, 150),
]
# The parts of the time that is left for the held-out problems and then for the others of an operation.
SHARES = {"heldout": 0.15, "others": 0.3}


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
    program = machine["ckselect_file"]
    rows = evenly(family.problems(run, program), shapes)
    write(folder / "heldout.problems.csv", rows[1::3])
    write(folder / "others.problems.csv", [row for at, row in enumerate(rows) if at % 3 != 1])
    names = family.pool(run, program, machine["target"])
    pool = evenly(names, min(kernels, family.kernels))
    (folder / "pool.txt").write_text("\n".join(pool) + "\n")
    return {"kernels": len(pool), "of": len(names), "heldout": len(rows[1::3]), "others": len(rows) - len(rows[1::3])}


def sweep(run: Run, family: Family) -> dict[str, Any]:
    """Measures; an interrupted sweep goes on where it was."""
    figures, machine = run.needs(f"{family.name}-pool"), run.needs("machine")
    folder, parts = run.folder / family.name, {}
    for part, share in SHARES.items():
        seconds, log = run.left(share), folder / f"{part}.csv"
        words = [machine["ckselect_file"], "bench", "--pool", folder / "pool.txt"]
        words += ["--problems", folder / f"{part}.problems.csv", "--runner", family.runner, "--output", log, "--resume"]
        words += ["--params", "batch=100000", "warmup=2", "repeat=5", "--cutoff", "3x", "--order", "estimate"]
        words += ["--arch", machine["target"], "--gpus", "0", "--budget", f"{seconds}s"]
        run.command(family.name, words, limit=seconds + 300)
        parts[part] = outcomes(log, figures["kernels"] * figures[part])
    return parts


def outcomes(log: Path, pairs: int) -> dict[str, Any]:
    """How many rows have a time, and why others have none."""
    with log.open() as file:
        failures = [row["error_msg"].split(":")[0] for row in csv.DictReader(file)]
    classes = {word: failures.count(word) for word in sorted(set(failures)) if word}
    return {"pairs": pairs, "rows": len(failures), "timed": failures.count(""), "without": classes}


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
    tune = [program, "tune", "--simulate", log, "--measure", "all", *target, folder / "tuned"]
    run.command(family.name, tune)
    run.command(family.name, [program, "train", "--data", log, "--folds", "1", *target, folder / "trained"])
    run.command(family.name, [program, "report", folder / "heldout.csv", log, "--output", folder / "sweep.html"])
    who = {"estimate": "estimate", "universal": "embedded:universal"}
    models = {**who, "tuned": folder / "tuned", "trained": folder / "trained"}
    return {name: judged(run, family, name, model) for name, model in models.items()}
