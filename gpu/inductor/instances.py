"""How many instances of CK Tile Inductor compiles, and how often the fastest is among them, without a GPU.

    ckselect enumerate configs/gemm_wide.json --params dtype=fp8 layout=rcr --arch gfx950 --output pool.txt
    python3 gpu/inductor/instances.py --pool pool.txt --winners p1_oracle_best_results.csv --arch gfx950

``--winners`` is a table of upstream's: m, n, k and ``oracle_best_kernel`` of shapes of which all kernels were measured.
For each shape, the pool's kernels that take it are choices as Inductor has them; the first of our order stay, beside as
many of a random sample, drawn as Inductor does. Needs ck_select.
"""

from __future__ import annotations

import argparse
import csv
import random
import sys
import time
from types import SimpleNamespace
from typing import Any

from ck_select.inductor import ck
from ck_select.inductor.problem import Ranker


def choice(name: str, shape: tuple[int, int, int]) -> Any | None:
    """A kernel as a choice of Inductor's; None for a kernel that is persistent, which no instance of Inductor's is."""
    _, _, dtype, layout, pipeline, epilogue, scheduler, *pads, persistent, tile, warps, warp_tile = name.split("_")
    if persistent == "True":
        return None
    matrices = {f"layout_{of}": {"r": "Row", "c": "Col"}[letter] for of, letter in zip("abc", layout)}
    shapes = {
        f"{what}_{axis}": int(side)
        for what, sides in (("tile", tile), ("warp", warps), ("warp_tile", warp_tile))
        for axis, side in zip("mnk", sides.split("x"))
    }
    words = {"pipeline": pipeline, "epilogue": epilogue, "scheduler": scheduler}
    types = {f"datatype_{of}": dtype.upper() for of in "ab"}
    padded = {f"{axis}_is_padded": flag for axis, flag in zip("mnk", pads)}
    return SimpleNamespace(
        info_kwargs={"op": SimpleNamespace(**matrices, **shapes, **words, **types, **padded), "kBatch": 1},
        bmreq=SimpleNamespace(extra_args=shape),
        template=SimpleNamespace(),
        layout=SimpleNamespace(device=None),
        name=name,
    )


def takes(instance: Any, shape: tuple[int, int, int]) -> bool:
    """Whether Inductor would list it: without padding, tiles divide the extents."""
    return all(
        extent % getattr(instance, f"tile_{axis}") == 0 or getattr(instance, f"{axis}_is_padded") == "True"
        for axis, extent in zip("nk", shape[1:])
    )


def main(arguments: list[str]) -> int:
    """Prints a line for each number of instances that stay."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pool", required=True)
    parser.add_argument("--winners", required=True)
    parser.add_argument("--arch", default="gfx950")
    parser.add_argument("--model", help="a model directory or estimate, otherwise the universal model")
    parser.add_argument("--top", nargs="+", type=int, default=[4, 8, 16, 32, 64, 128])
    options = parser.parse_args(arguments)
    with open(options.pool) as pool, open(options.winners, newline="") as winners:
        names, rows = pool.read().split(), list(csv.DictReader(winners))
    ranker = Ranker(options.model, options.arch)
    ours, sampled, expected = (dict.fromkeys(options.top, 0.0) for _ in range(3))
    listed, seconds = 0, 0.0
    for row in rows:
        shape = (int(row["m"]), int(row["n"]), int(row["k"]))
        every = [made for name in names if (made := choice(name, shape)) and takes(made.info_kwargs["op"], shape)]
        listed += len(every)
        is_there = any(each.name == row["oracle_best_kernel"] for each in every)
        for top in options.top:
            begin = time.perf_counter()
            few, _ = ck.first(every, ranker, top)
            seconds += time.perf_counter() - begin
            drawn = random.Random(-11).sample(every, min(top, len(every)))
            ours[top] += any(each.name == row["oracle_best_kernel"] for each in few)
            sampled[top] += any(each.name == row["oracle_best_kernel"] for each in drawn)
            expected[top] += is_there * min(1, top / len(every))
    calls = len(rows) * len(options.top)
    print(f"{len(rows)} shapes, {listed / len(rows):.0f} instances of a shape, {seconds / calls * 1e3:.0f} ms a call")
    for top in options.top:
        drawn = f"{sampled[top]:.0f} of Inductor's sample, {expected[top]:.1f} of any"
        print(f"{top}: the fastest is there for {ours[top]:.0f} shapes; {drawn}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
