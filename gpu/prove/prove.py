"""Tries ck-select on this machine's GPU, in half an hour, and writes a page of what was found.

    make prove-amd [CK=DIR] [OUT=FOLDER]      make prove-gpu takes a GPU of any vendor
    python3 gpu/prove/prove.py --out FOLDER [--ck DIR]

Needs PyTorch and Triton for the GPU, and ckselect. FOLDER gets report.md, issue.md (to paste into an issue), tables,
models and logs. Started again with the same folder, it does what is not done yet. What this machine cannot run is
skipped with the reason.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ck
import machine
import page
import sweep
from steps import Run

Step = Callable[[Run], dict[str, Any]]


def steps(options: argparse.Namespace) -> dict[str, Step]:
    """All steps, in their order."""
    all_steps: dict[str, Step] = {"machine": lambda run: machine.check(run, options.vendor)}
    for family in (each for each in sweep.FAMILIES if each.name in options.operations.split(",")):
        all_steps[f"{family.name}-pool"] = lambda run, family=family: sweep.prepare(
            run, family, options.shapes, options.kernels
        )
        all_steps[f"{family.name}-sweep"] = lambda run, family=family: sweep.sweep(run, family)
        all_steps[f"{family.name}-judge"] = lambda run, family=family: sweep.judge(run, family)
    for example in ck.EXAMPLES:
        all_steps[f"{example.name}-dispatched"] = lambda run, example=example: ck.prove(run, example, options.ck)
    return all_steps


def main(arguments: list[str]) -> int:
    """1 if this machine lacks something or a step failed."""
    parser = argparse.ArgumentParser(description="Try ck-select on this machine's GPU, and write a page of it.")
    parser.add_argument("--out", type=Path, default=Path("proof"), help="the folder of results")
    parser.add_argument("--ck", type=Path, help="a checkout of composable_kernel")
    parser.add_argument("--vendor", choices=("amd", "any"), default="any", help="fail for GPUs of others")
    parser.add_argument("--minutes", type=float, default=30, help="how long it may take")
    parser.add_argument("--shapes", type=int, default=48, help="problems of each operation")
    parser.add_argument("--kernels", type=int, default=300, help="the largest pool")
    parser.add_argument("--operations", default="gemm,moe", help="the kernels of Triton's to sweep")
    options = parser.parse_args(arguments)
    run = Run(options.out.resolve(), 60 * options.minutes)
    for number, (name, step) in enumerate(steps(options).items()):
        run.do(number, name, step)
        page.write(run)
        if name == "machine" and run.results()[name]["state"] != "done":
            break
    print(f"prove: {run.folder / 'report.md'}; paste {run.folder / 'issue.md'} into an issue")
    return int(any(result["state"] == "failed" for result in run.results().values()))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
