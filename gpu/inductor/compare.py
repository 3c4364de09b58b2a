"""Inductor's own candidates beside ck-select's first ones, on this machine's GPU: times of kernels, seconds to compile.

    python3 gpu/inductor/compare.py --dtype bf16 fp8 --top 1 2 4 8 --output inductor.csv

Each shape and setting is compiled in a fresh cache. Inductor's own timings hold the launch, which is most of a kernel
of 20 us: ``triton_ms`` of the fastest Triton kernel, ``best_ms`` with ATen's. So each Triton kernel is timed once more,
in a CUDA graph: ``chosen_ms`` is the one that Inductor's timings prefer, ``fastest_ms`` the fastest. Also in graphs are
``ms``, the compiled product, and ``eager_ms``, ATen's. Needs torch, triton and ck_select.
"""

from __future__ import annotations

import argparse
import contextlib
import csv
import statistics
import sys
import time
from typing import Any

import torch
import torch._inductor.config as config
from torch._inductor import select_algorithm
from torch._inductor.utils import fresh_cache

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


def compiled(shape: tuple[int, int, int], dtype: str, setting: str, backends: str) -> dict[str, Any]:
    """The row of one shape and setting."""
    timed: dict[Any, float] = {}

    def saw(timings: Any, *_: Any) -> None:
        timed.update(timings)

    torch._dynamo.reset()
    select_algorithm.clear_feedback_savers()
    select_algorithm.add_feedback_saver(saw)
    function, arguments = product(*shape, dtype)
    space = "EXHAUSTIVE" if setting == "exhaustive" else "DEFAULT"
    patches = {
        **{"max_autotune_gemm": True, "max_autotune_gemm_backends": backends},
        "max_autotune_gemm_search_space": space,
    }
    with fresh_cache(), config.patch(patches):
        with enabled(setting):
            begin = time.perf_counter()
            run = torch.compile(function, dynamic=False)
            run(*arguments)
            torch.cuda.synchronize()
            seconds = time.perf_counter() - begin
        ms = milliseconds(lambda: run(*arguments))
        triton = {choice: ms for choice, ms in timed.items() if choice.name.startswith("triton")}
        again = timed_again(sorted(triton, key=triton.__getitem__))
    m, n, k = shape
    nan = float("nan")
    return {
        **{"m": m, "n": n, "k": k, "dtype": dtype, "setting": setting, "seconds": round(seconds, 3)},
        **{"ms": round(ms, 6), "candidates": len(triton), "triton_ms": min(triton.values(), default=nan)},
        **{"best_ms": min(timed.values(), default=nan), "chosen_ms": next(iter(again.values()), nan)},
        **{"fastest_ms": min(again.values(), default=nan), "eager_ms": milliseconds(lambda: function(*arguments))},
    }


def main(arguments: list[str]) -> int:
    """Writes a table, and prints how the settings compare."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--dtype", nargs="+", default=["bf16"], choices=DTYPES)
    parser.add_argument("--top", nargs="+", default=[1, 2, 4, 8], help="numbers, sure")
    parser.add_argument("--skip", type=int, default=0, help="begins after so many of the list")
    parser.add_argument("--shapes", type=int, default=len(SHAPES), help="so many of the list")
    parser.add_argument("--exhaustive", action="store_true", help="also everything, five to ten minutes a shape")
    parser.add_argument("--backends", default="ATEN,TRITON", help="with one candidate alone nothing is timed")
    parser.add_argument("--minutes", type=float, default=1e9, help="begins no shape after so many")
    parser.add_argument("--output", default="inductor.csv")
    options = parser.parse_args(arguments)
    settings = ["stock", *map(str, options.top), *(["exhaustive"] if options.exhaustive else [])]
    rows: list[dict[str, Any]] = []
    begin = time.perf_counter()
    # What the first compilation of a process takes is nobody's.
    for setting in ("stock", "1"):
        compiled((64, 256, 256), options.dtype[0], setting, options.backends)
    with open(options.output, "w", newline="") as file:
        writer = None
        for shape in SHAPES[options.skip :][: options.shapes]:
            for dtype in options.dtype:
                if time.perf_counter() - begin > 60 * options.minutes:
                    continue
                for setting in settings:
                    row = compiled(shape, dtype, setting, options.backends)
                    rows.append(row)
                    writer = writer or csv.DictWriter(file, row)
                    if len(rows) == 1:
                        writer.writeheader()
                    writer.writerow(row)
                    file.flush()
                    print(row, flush=True)
    summary(rows)
    return 0


def summary(rows: list[dict[str, Any]]) -> None:
    """Speed and seconds of each setting relative to the stock list, over the shapes of both."""
    stock = {(row["m"], row["n"], row["k"], row["dtype"]): row for row in rows if row["setting"] == "stock"}
    for setting in dict.fromkeys(row["setting"] for row in rows):
        own = [(row, stock[row["m"], row["n"], row["k"], row["dtype"]]) for row in rows if row["setting"] == setting]
        own = [pair for pair in own if all(each["candidates"] for each in pair)]
        if not own:
            continue
        seconds = sum(row["seconds"] for row, _ in own) / sum(theirs["seconds"] for _, theirs in own)
        print(f"{setting}: {len(own)} shapes, compile seconds to stock {seconds:.3f}, speed to stock:", end="")
        for column in "chosen_ms", "fastest_ms", "triton_ms":
            speed = [theirs[column] / row[column] for row, theirs in own]
            print(f" {column} {statistics.mean(speed):.4f} (least {min(speed):.4f})", end="")
        print()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
