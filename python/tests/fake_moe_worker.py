"""A program of `bench` for mixtures of experts, without a GPU: times go with the tiles and with what they read."""

import json
import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "gpu" / "triton"))
from mixture import Problem

request = json.load(sys.stdin)
device = {"name": "Fake", "target": "gfx942", "torch": "2", "triton": "3"}
print(json.dumps({"ready": device}))
for item in request["items"]:
    # The real program routes rows of experts that come to the problem's numbers, and refuses where there are none.
    Problem.parse(item["problem"]).histogram()
    cells = dict(cell.split("=") for cell in item["problem"].split(","))
    rows, columns, depth = (int(side) for side in re.search(r"_(\d+)x(\d+)x(\d+)_", item["kernel"]).groups())
    tiles = int(cells[f"tiles_{rows}"]) * -(-int(cells["n"]) // columns)
    cost = int(cells["k"]) * (rows * columns / 4 + 16 * (rows + columns)) * (1 + 8 / depth)
    ms = 0.01 + 1e-8 * -(-tiles // 304) * cost
    flops = 2 * int(cells["tokens"]) * int(cells["topk"]) * int(cells["n"]) * int(cells["k"])
    figures = {"latency_ms": ms, "tflops": flops / ms / 1e9, "samples": 1, "non_zero": 1, "timed": 1}
    print(json.dumps({"begin": item["item"]}))
    print(json.dumps({"end": {"item": item["item"], "outcome": {"measured": figures}}}), flush=True)
