"""How fast the first kernels of ck-select's order are, beside the fastest of a recorded grid, without a GPU.

    python3 gpu/inductor/grid.py --arch sm_90 data/h200/gemm/gemm_triton_bf16.unseen.parquet

A kernel that a grid lacks for a shape was more than three times slower than its fastest. Needs ck_select, pandas and
pyarrow.
"""

from __future__ import annotations

import argparse
import statistics
import sys

import pandas

from ck_select import GemmProblem, Registry


def efficiencies(file: str, arch: str, tops: list[int]) -> dict[int, list[float]]:
    """Of each number of kernels, the share of the best one's speed that the fastest of them has, by shape."""
    grid = pandas.read_parquet(file)
    registry = Registry(arch, kernels=sorted(set(grid.kernel_name)), environment=False, embedded_models=True)
    shares: dict[int, list[float]] = {top: [] for top in tops}
    for (m, n, k, dtype, layout), rows in grid.groupby(["m", "n", "k", "dtype", "layout"], observed=True):
        times = dict(zip(rows.kernel_name, rows.latency_ms))
        slow = 3 * min(times.values())
        order = [name for name, _ in registry.rank(GemmProblem(m, n, k, dtype=dtype, layout=layout))]
        for top, own in shares.items():
            own.append(min(times.values()) / min(times.get(name, slow) for name in order[:top]))
    return shares


def main(arguments: list[str]) -> int:
    """Prints a line for each grid and number of kernels."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("grids", nargs="+")
    parser.add_argument("--arch", required=True)
    parser.add_argument("--top", nargs="+", type=int, default=[1, 2, 4, 8])
    options = parser.parse_args(arguments)
    for file in options.grids:
        for top, own in efficiencies(file, options.arch, options.top).items():
            print(f"{file}: {len(own)} shapes, first {top}: {statistics.mean(own):.4f}, least {min(own):.3f}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
