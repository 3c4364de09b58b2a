"""A small transformer, compiled with Inductor's own candidates and with ck-select's first ones: seconds and step times.

    python3 gpu/inductor/transformer.py --settings 4 stock --output transformer.csv

A step is forward and backward, in bf16. Each setting compiles in a fresh cache, and nearly all of that is products:
nine at the usual sizes, whatever the layers, each 4 to 29 seconds with the stock list. A line of standard error says
when each is tuned. ``--everything`` is mode ``max-autotune``, which tunes more than products. Needs torch, triton and
ck_select.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from typing import Any

import torch
from compare import append, enabled, rows_of
from torch import nn
from torch._inductor import select_algorithm
from torch._inductor.async_compile import AsyncCompile
from torch._inductor.runtime.benchmarking import benchmarker
from torch._inductor.utils import fresh_cache
from turns import Turns


class Block(nn.Module):
    """Attention, and a gated product."""

    def __init__(self, width: int, heads: int, inner: int) -> None:
        super().__init__()
        self.heads = heads
        self.before, self.between = nn.RMSNorm(width), nn.RMSNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width, bias=False), nn.Linear(width, width, bias=False)
        self.up_and_gate = nn.Linear(width, 2 * inner, bias=False)
        self.down = nn.Linear(inner, width, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Of batch x length x width."""
        batch, length, width = x.shape
        q, k, v = (
            part.view(batch, length, self.heads, -1).transpose(1, 2) for part in self.qkv(self.before(x)).chunk(3, -1)
        )
        mixed = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(mixed.transpose(1, 2).reshape(batch, length, width))
        up, gate = self.up_and_gate(self.between(x)).chunk(2, -1)
        return x + self.down(nn.functional.silu(gate) * up)


def measured(setting: str, options: argparse.Namespace, turns: Turns) -> dict[str, Any]:
    """The row of one setting."""
    torch.manual_seed(0)
    torch._dynamo.reset()
    blocks = [Block(options.width, options.width // 128, options.inner) for _ in range(options.layers)]
    model = nn.Sequential(*blocks).cuda().bfloat16()
    x = torch.randn(options.batch, options.length, options.width, device="cuda", dtype=torch.bfloat16)

    def step(run: Any) -> None:
        model.zero_grad(set_to_none=True)
        run(x).float().square().mean().backward()

    begin = turns.clock()

    def tuned(timings: Any, name: str, *_: Any) -> None:
        print(f"{setting}: {turns.clock() - begin:.1f} s, {name}: {len(timings)} candidates", file=sys.stderr)

    select_algorithm.clear_feedback_savers()
    select_algorithm.add_feedback_saver(tuned)
    # Within a setting, Inductor's cache knows the products of equal layers.
    with fresh_cache(), enabled(setting):
        how: Any = {"options": {"max_autotune_gemm": True}}
        if options.everything:
            how = {"mode": "max-autotune-no-cudagraphs"}
        run = torch.compile(model, dynamic=False, **how)
        begin = turns.clock()
        step(run)
        torch.cuda.synchronize()
        seconds = turns.clock() - begin
        times = []
        with turns.turn():
            for _ in range(5 + options.steps):
                start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
                start.record()
                step(run)
                end.record()
                torch.cuda.synchronize()
                times.append(start.elapsed_time(end))
    return {"setting": setting, "seconds": round(seconds, 2), "step_ms": round(statistics.median(times[5:]), 4)}


def main(arguments: list[str]) -> int:
    """Prints a row for each setting, and adds it to a table; what the table has is not measured again."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--settings", nargs="+", default=["4", "stock"], help="stock, how many candidates, sure")
    # Of an inner width that is 1.5 times the width, two of four products are the same.
    for name, usual in {"layers": 2, "width": 1024, "inner": 1536, "batch": 4, "length": 512, "steps": 30}.items():
        parser.add_argument(f"--{name}", type=int, default=usual)
    parser.add_argument("--everything", action="store_true", help="tune also what is no product")
    parser.add_argument("--turns", help="a file: processes that name the same one take turns with the GPU")
    parser.add_argument("--output", default="transformer.csv")
    options = parser.parse_args(arguments)
    turns = Turns(options.turns)
    turns.take(benchmarker)
    known = {row["setting"] for row in rows_of(options.output)}
    # What the first compilation of a process takes is nobody's, nor is the start of Inductor's workers.
    torch.compile(lambda a: (a @ a).relu())(torch.randn(64, 64, device="cuda", dtype=torch.bfloat16))
    AsyncCompile.wait_pool_ready()
    for setting in options.settings:
        if setting not in known:
            row = measured(setting, options, turns)
            print(row, flush=True)
            append(options.output, row)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
