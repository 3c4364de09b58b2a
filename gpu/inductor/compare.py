"""Inductor's own candidates beside ck-select's first ones, on this machine's GPU: times of kernels, seconds to compile.

    python3 gpu/inductor/compare.py --dtype bf16 fp8 --top 4 sure 1 2 8 --output inductor.csv

First come the stock list and the first of ``--top`` for all shapes, then what is left. Rows are appended as they come,
and what the table has is not measured again. ``--part 1/4 --turns FILE`` measures a quarter, beside three processes
that measure the others and share the file, the table, the CPUs and the GPU.

Each shape and setting is compiled in a fresh cache. Inductor's own timings hold the launch, which is most of a kernel
of 20 us: ``triton_ms`` of the fastest Triton kernel, ``best_ms`` with ATen's. So each Triton kernel is timed once more,
in a CUDA graph: ``chosen_ms`` is the one that Inductor's timings prefer, ``fastest_ms`` the fastest. Also in graphs are
``ms``, the compiled product, and ``eager_ms``, ATen's. Needs torch, triton and ck_select.
"""

from __future__ import annotations

import argparse
import contextlib
import csv
import fcntl
import itertools
import math
import os
import statistics
import sys
import time
from typing import Any

import torch
import torch._inductor.config as config
from torch._inductor import select_algorithm
from torch._inductor.async_compile import AsyncCompile
from torch._inductor.runtime.benchmarking import benchmarker
from torch._inductor.utils import fresh_cache
from turns import Turns

import ck_select.inductor

# Layers of language models, and sides that are no round numbers; none is in data/.
SHAPES = [
    (24, 5120, 13824), (96, 13824, 5120), (416, 3584, 18944), (3000, 4608, 2304), (176, 27648, 5120),
    (768, 2560, 10240), (4, 4608, 36864), (8, 6144, 24576), (40, 1536, 8960), (56, 11008, 2048), (120, 2304, 9216),
    (200, 896, 4864), (320, 17920, 5120), (448, 5120, 17920), (640, 4864, 896), (900, 9216, 2304),
    (1200, 3072, 8192), (1536, 8960, 1536), (1800, 2048, 11008), (2304, 12288, 3072), (2900, 1152, 4304),
    (3584, 4304, 1152), (5000, 2816, 704), (7200, 704, 2816),
]  # fmt: skip
DTYPES = {"bf16": torch.bfloat16, "fp16": torch.float16, "fp8": torch.float8_e4m3fn}


def product(m: int, n: int, k: int, dtype: str) -> tuple[Any, list[Any]]:
    """A function and its arguments."""
    torch.manual_seed(0)
    a, b = (torch.randn(rows, k, device="cuda", dtype=torch.bfloat16) * 0.1 for rows in (m, n))
    if dtype != "fp8":
        return lambda a, b: torch.mm(a, b), [a.to(DTYPES[dtype]), b.to(DTYPES[dtype]).t()]
    one = torch.ones((), device="cuda")

    def scaled(a: Any, b: Any, scale_a: Any, scale_b: Any) -> Any:
        return torch._scaled_mm(a, b, scale_a, scale_b, out_dtype=torch.bfloat16)

    return scaled, [a.to(DTYPES["fp8"]), b.to(DTYPES["fp8"]).t(), one, one]


def milliseconds(run: Any, stream: Any = None) -> float:
    """The median of replays, of a graph of several runs."""
    for _ in range(3):
        run()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=stream):
        for _ in range(10):
            run()
    times = []
    for _ in range(20):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        graph.replay()
        end.record()
        torch.cuda.synchronize()
        times.append(begin.elapsed_time(end) / 10)
    return statistics.median(times)


def timed_again(choices: list[Any]) -> dict[Any, float]:
    """Milliseconds of Inductor's Triton kernels in graphs, of those that can be timed."""
    stream, tensors, again = torch.cuda.Stream(), {}, {}
    for choice in choices:
        request = choice.bmreq
        metas = (*request.input_tensor_meta, request.output_tensor_meta)
        key = tuple((meta.dtype, *meta.sizes, *meta.strides) for meta in metas)
        if key not in tensors:
            tensors[key] = [meta.to_tensor() for meta in metas]
        *inputs, out = tensors[key]
        try:
            with torch.cuda.stream(stream):
                again[choice] = milliseconds(request.make_run_fn(*inputs, out=out), stream)
        except Exception as error:
            print(f"not timed again: {choice.name}: {error}", file=sys.stderr)
    return again


def enabled(setting: str) -> Any:
    """Within, Inductor has ck-select's candidates, or its own lists."""
    if setting in ("stock", "exhaustive"):
        return contextlib.nullcontext()
    return ck_select.inductor.enable(top=int(setting) if setting.isdigit() else setting)


def compiled(shape: tuple[int, int, int], dtype: str, setting: str, backends: str, turns: Turns) -> dict[str, Any]:
    """The row of one shape and setting."""
    timed: dict[Any, float] = {}

    def saw(timings: Any, *_: Any) -> None:
        timed.update(timings)

    torch._dynamo.reset()
    select_algorithm.clear_feedback_savers()
    select_algorithm.add_feedback_saver(saw)
    function, arguments = product(*shape, dtype)
    patches = {
        **{"max_autotune_gemm": True, "max_autotune_gemm_backends": backends},
        "max_autotune_gemm_search_space": "EXHAUSTIVE" if setting == "exhaustive" else "DEFAULT",
    }
    with fresh_cache(), config.patch(patches):
        with enabled(setting):
            begin = turns.clock()
            run = torch.compile(function, dynamic=False)
            run(*arguments)
            torch.cuda.synchronize()
            seconds = turns.clock() - begin
        triton = {choice: ms for choice, ms in timed.items() if choice.name.startswith("triton")}
        with turns.turn():
            ms = milliseconds(lambda: run(*arguments))
            again = timed_again(sorted(triton, key=triton.__getitem__))
            eager_ms = milliseconds(lambda: function(*arguments))
    m, n, k = shape
    return {
        **{"m": m, "n": n, "k": k, "dtype": dtype, "setting": setting, "seconds": round(seconds, 3)},
        **{"ms": round(ms, 6), "candidates": len(triton), "triton_ms": min(triton.values(), default=math.nan)},
        **{"best_ms": min(timed.values(), default=math.nan), "chosen_ms": next(iter(again.values()), math.nan)},
        **{"fastest_ms": min(again.values(), default=math.nan), "eager_ms": eager_ms},
    }


def append(file: str, row: dict[str, Any]) -> None:
    """Adds a row to a table, to which other processes may add theirs."""
    with open(file, "a", newline="") as table:
        fcntl.flock(table, fcntl.LOCK_EX)
        writer = csv.DictWriter(table, row)
        # Where it ends is only known under the lock.
        if os.fstat(table.fileno()).st_size == 0:
            writer.writeheader()
        writer.writerow(row)


def rows_of(file: str) -> list[dict[str, Any]]:
    """The rows of a table, of which there may be none."""
    if not os.path.exists(file):
        return []
    words = ("dtype", "setting")
    with open(file, newline="") as table:
        rows = list(csv.DictReader(table))
    return [{name: cell if name in words else float(cell) for name, cell in row.items()} for row in rows]


def key_of(row: dict[str, Any]) -> tuple[Any, ...]:
    """What a row is about."""
    return int(row["m"]), int(row["n"]), int(row["k"]), row["dtype"], row["setting"]


def tasks_of(options: argparse.Namespace) -> list[tuple[Any, ...]]:
    """What is to be measured by this process, in that order: as keys of rows."""
    shapes = SHAPES[options.skip :][: options.shapes]
    part, parts = map(int, options.part.split("/"))
    first, *others = map(str, options.top)
    passes = ["stock", first], [*others, *(["exhaustive"] if options.exhaustive else [])]
    tasks = []
    for settings in passes:
        mine = list(itertools.product(shapes, options.dtype))[part - 1 :: parts]
        tasks += [(*shape, dtype, setting) for shape, dtype in mine for setting in settings]
    return tasks


def main(arguments: list[str]) -> int:
    """Adds to a table, and prints how the settings compare."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--dtype", nargs="+", default=["bf16"], choices=DTYPES)
    parser.add_argument("--top", nargs="+", default=["4", "sure", "1", "2", "8"], help="numbers, sure")
    parser.add_argument("--skip", type=int, default=0, help="begins after so many of the list")
    parser.add_argument("--shapes", type=int, default=len(SHAPES), help="so many of the list")
    parser.add_argument("--exhaustive", action="store_true", help="also everything, five to ten minutes a shape")
    parser.add_argument("--backends", default="ATEN,TRITON", help="with one candidate alone nothing is timed")
    parser.add_argument("--minutes", type=float, default=math.inf, help="begins no compilation after so many")
    parser.add_argument("--part", default="1/1", help="such as 2/4: the second of four parts")
    parser.add_argument("--turns", help="a file: processes that name the same one take turns with the GPU")
    parser.add_argument("--output", default="inductor.csv")
    options = parser.parse_args(arguments)
    begin, turns = time.perf_counter(), Turns(options.turns)
    turns.take(benchmarker)
    known = set(map(key_of, rows_of(options.output)))
    tasks = [task for task in tasks_of(options) if task not in known]
    # What the first compilation of a process takes is nobody's, nor is the start of Inductor's workers.
    for setting in ("stock", "1") if tasks else ():
        compiled((64, 256, 256), options.dtype[0], setting, options.backends, turns)
        AsyncCompile.wait_pool_ready()
    for *shape, dtype, setting in tasks:
        if time.perf_counter() - begin > 60 * options.minutes:
            break
        try:
            row = compiled(tuple(shape), dtype, setting, options.backends, turns)
        except Exception as error:
            print(f"not measured: {shape} {dtype} {setting}: {error}", file=sys.stderr)
            continue
        append(options.output, row)
        print(row, flush=True)
    summary(rows_of(options.output))
    return 0


def summary(rows: list[dict[str, Any]]) -> None:
    """Speed and seconds of each setting relative to the stock list, over the shapes of both."""
    measured = {key_of(row): row for row in rows}
    for dtype, setting in dict.fromkeys((row["dtype"], row["setting"]) for row in rows):
        pairs = [
            (row, measured[(*key[:3], dtype, "stock")])
            for key, row in measured.items()
            if key[3:] == (dtype, setting) and (*key[:3], dtype, "stock") in measured
        ]
        pairs = [pair for pair in pairs if all(each["candidates"] for each in pair)]
        if not pairs:
            continue
        seconds = sum(row["seconds"] for row, _ in pairs) / sum(stock["seconds"] for _, stock in pairs)
        print(f"{dtype} {setting}: {len(pairs)} shapes, seconds to stock {seconds:.3f}, speed to stock:", end="")
        for column in "ms", "chosen_ms", "fastest_ms", "triton_ms":
            speed = [stock[column] / row[column] for row, stock in pairs]
            print(f" {column} {statistics.mean(speed):.4f} (least {min(speed):.4f})", end="")
        print()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
