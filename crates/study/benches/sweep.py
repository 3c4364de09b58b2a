"""Invented sweeps, of any size: the rows repeat names and problems as a real sweep's do."""

import random

HEADER = (
    "kernel,problem_idx,N,C,K,G,Di,Hi,Wi,Z,Y,X,stride_d,stride_h,stride_w,pad_d,pad_h,pad_w,dilation_d,dilation_h,"
    "dilation_w,latency_ms,tflops,non_zero\n"
)
TILES = "16x64x64 32x64x64 64x64x64 32x128x64 64x128x64 128x128x64 16x64x128 32x64x128 64x64x128 128x64x128".split()
PIPELINES = "basic_v1 mem compv3 compv4 compv5 compv6".split()
SUFFIXES = ["", "_dsb", "_si", "_dsb_si"]


def kernels():
    return [
        f"grouped_conv_forward_bf16_2d_{tile}_{pipeline}_intrawave{suffix}"
        for tile in TILES for pipeline in PIPELINES for suffix in SUFFIXES
    ]


def write(path, rows, seed=1):
    """Writes a benchmark CSV of so many rows: every problem with 240 kernels, one row in a hundred a failure."""
    rng = random.Random(seed)
    names = kernels()
    written = index = 0
    with open(path, "w") as out:
        out.write(HEADER)
        while written < rows:
            extent, filter_ = rng.choice([7, 14, 28, 56, 112]), rng.choice([1, 3, 5])
            pad = filter_ // 2
            cells = (
                f"{index},{rng.choice([1, 2, 4, 8, 16])},{16 * rng.randrange(1, 65)},{16 * rng.randrange(1, 65)},1,1,"
                f"{extent},{extent},1,{filter_},{filter_},1,1,1,0,{pad},{pad},1,1,1"
            )
            lines = []
            for name in names[: rows - written]:
                if rng.random() < 0.01:
                    lines.append(f"{name},{cells},N/A,0,0\n")
                else:
                    lines.append(f"{name},{cells},{rng.uniform(0.004, 3):.5g},{rng.uniform(1, 900):.5g},1048576\n")
            out.write("".join(lines))
            written += len(lines)
            index += 1
