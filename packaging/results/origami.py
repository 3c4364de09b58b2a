"""Who finds the winners of AITER's tables: AMD's Origami, the estimate, a model. Ties are shared alike.

    pip download --no-deps --no-binary :all: rocm-origami==0.0.3 && tar xf rocm_origami-0.0.3.tar.gz
    python3 packaging/results/origami.py --origami rocm_origami-0.0.3 --tables DIR [--oracle FILE] [--model WHO ...]

With --oracle, also how fast the first kernels are on a sweep of convolutions, in percent of the fastest: Origami is
given each as the GEMM that it is (M pixels, N filters, K of a filter), and of equals the mean counts.

DIR has FAMILY.csv.gz with the winners and FAMILY.pool.csv with the kernels, as the README beside them says. Origami's
C++ is compiled without ROCm: nothing of HIP but the type of a device's properties is needed to rank. It is told the
device's architecture, units and clock, and of a kernel the tile and the instruction; each kernel has an occupancy of 1,
since a wave's registers are not in the names. WHO is `estimate`, a model's directory, or `learned`: a model for each
table and device, whose pairs of N and K are halved; two models each answer for the pairs that only the other one was
trained on. A choice that has the winner among equals counts as its share of them.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import itertools
import json
import random
import re
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path

HIP = """#pragma once
#include <cstddef>
struct hipDeviceProp_t { char gcnArchName[256]; int multiProcessorCount, l2CacheSize, clockRate, memoryClockRate;
  std::size_t sharedMemPerBlock; };
typedef int hipError_t;
inline hipError_t hipGetDeviceProperties(hipDeviceProp_t*, int) { return 1; }
inline const char* hipGetErrorString(hipError_t) { return "no device"; }
"""
# Reads `device arch units lds l2 khz type`, `kernel m n k mi_m mi_n mi_k` and `problem m n k`; answers latencies.
DRIVER = """#include <iostream>
#include <limits>
#include <string>
#include "origami/origami.hpp"
#include "origami/gemm.hpp"
using namespace origami;
int main() {
  std::vector<config_t> kernels; problem_t problem; std::string word, arch, type;
  std::size_t units = 0, lds = 0, l2 = 0; int khz = 0;
  while (std::cin >> word) {
    if (word == "device") { std::cin >> arch >> units >> lds >> l2 >> khz >> type; continue; }
    std::size_t m, n, k; std::cin >> m >> n >> k;
    if (word == "kernel") {
      config_t kernel; kernel.mt = dim3_t(m, n, k); std::cin >> m >> n >> k; kernel.mi = dim3_t(m, n, k);
      kernel.occupancy = 1; kernels.push_back(kernel); continue;
    }
    auto hardware = hardware_t::get_hardware_for_arch(hardware_t::arch_name_to_enum(arch), units, lds, l2, khz);
    auto element = type == "bf16" ? data_type_t::BFloat16 : type == "int8" ? data_type_t::Int8
      : arch == "gfx950" ? data_type_t::Float8 : data_type_t::Float8_fnuz;
    problem.size = dim3_t(m, n, k); problem.batch = 1;
    problem.a_transpose = transpose_t::T; problem.b_transpose = transpose_t::N;
    problem.a_dtype = problem.b_dtype = problem.mi_dtype = element;
    problem.c_dtype = problem.d_dtype = data_type_t::BFloat16;
    for (std::size_t i = 0; i < kernels.size(); ++i) {
      double latency = std::numeric_limits<double>::infinity();
      try {
        auto ranked = rank_configs(problem, hardware, {kernels[i]});
        if (!ranked.empty()) latency = ranked[0].latency;
      } catch (const std::exception&) {}
      std::cout << (i ? " " : "") << latency;
    }
    std::cout << std::endl;
  }
}
"""
# Units: name, local memory, second-level cache, clock in kHz.
DEVICES = {
    ("gfx942", "304"): ("MI300X", 65536, 4 << 20, 2100000),
    ("gfx942", "80"): ("MI308X", 65536, 4 << 20, 1420000),
    ("gfx950", "256"): ("MI355X", 163840, 4 << 20, 2400000),
}


def compiled(origami: Path, folder: Path) -> Path:
    """The program that ranks by Origami."""
    (folder / "hip").mkdir()
    (folder / "hip" / "hip_runtime.h").write_text(HIP)
    (folder / "driver.cpp").write_text(DRIVER)
    sources = sorted(origami.glob("src/**/*.cpp"))
    words = [
        "c++",
        "-std=c++20",
        "-O1",
        "-w",
        f"-I{folder}",
        f"-I{origami / 'include'}",
        *sources,
        folder / "driver.cpp",
    ]
    subprocess.run([*map(str, words), "-o", str(folder / "rank")], check=True)
    return folder / "rank"


def share(times: list[float], winner: int, first: int) -> float:
    """The chance that the winner is among the first so many, where equals are in any order."""
    before = sum(time < times[winner] for time in times)
    equal = times.count(times[winner])
    return min(1.0, max(0.0, (first - before) / equal))


def by_origami(
    program: Path, device: tuple[str, str], pool: list[dict[str, str]], shapes: list[tuple[str, ...]], dtype: str
):
    """Latencies of all kernels for each shape."""
    _, lds, l2, khz = DEVICES[device]
    lines = [f"device {device[0]} {device[1]} {lds} {l2} {khz} {dtype}"]
    for row in pool:
        m, n = row["m_xdl"], row["n_xdl"]
        depth = row.get("k_xdl") or ("32" if m == "16" else "16")
        lines.append(" ".join(["kernel", row["m_per_block"], row["n_per_block"], row["k_per_block"], m, n, depth]))
    lines += ["problem " + " ".join(shape) for shape in shapes]
    ran = subprocess.run([program], input="\n".join(lines), capture_output=True, text=True, check=True)
    return [[float(word) for word in line.split()] for line in ran.stdout.splitlines()]


# Those of the models that ship, so that nothing is chosen for these halves.
PARAMS = ["learning_rate=0.2", "num_leaves=60", "n_estimators=125", "colsample_bytree=0.5", "reg_lambda=10"]


def by_learned(
    device: tuple[str, str],
    family: str,
    names: list[str],
    shapes: list[tuple[str, ...]],
    winners: dict[tuple[str, ...], dict[str, str]],
    folder: Path,
):
    """Places of all kernels for each shape, by the model that was trained without its pair of N and K."""
    pairs = sorted({shape[1:] for shape in winners})
    random.Random(1).shuffle(pairs)
    halves = [set(pairs[::2]), set(pairs[1::2])]
    (folder / "pool.csv").write_text("kernel\n" + "\n".join(names) + "\n")
    places: dict[tuple[str, ...], list[float]] = {}
    for number, half in enumerate(halves):
        table = folder / "winners.csv"
        rows = [row for shape, row in winners.items() if shape[1:] not in half]
        with table.open("w", newline="") as text:
            writer = csv.DictWriter(text, rows[0].keys())
            writer.writeheader()
            writer.writerows(rows)
        model = Path(tempfile.mkdtemp(dir=folder)) / f"half{number}"
        words = ["ckselect", "train", "--winners", table, "--pool", folder / "pool.csv", "--folds", "1"]
        words += ["--arch", DEVICES[device][0], "--output", model, "--params", *PARAMS]
        run([str(word) for word in words])
        judged = [shape for shape in shapes if shape[1:] in half]
        if judged:
            places |= zip(judged, by_ours(str(model), device, family, names, judged, folder))
    return [places[shape] for shape in shapes]


def run(words: list[str]) -> str:
    """What a command prints; its errors end this script."""
    ran = subprocess.run(words, capture_output=True, text=True, check=False)
    if ran.returncode:
        raise SystemExit(ran.stderr)
    return ran.stdout


def oracle(program: Path, file: Path, models: list[str]) -> None:
    """Prints the mean efficiency of the first kernels on a sweep of the MI355X."""
    problems: dict[str, list[dict[str, str]]] = defaultdict(list)
    for row in csv.DictReader(file.open()):
        problems[row["problem_idx"]].append(row)
    names = sorted({row["kernel"] for rows in problems.values() for row in rows})
    tiles = [re.search(r"_(\d+)x(\d+)x(\d+)_", name).groups() for name in names]
    pool = [
        {"m_per_block": m, "n_per_block": n, "k_per_block": k, "m_xdl": side, "n_xdl": side, "k_xdl": depth}
        for m, n, k in tiles
        for side, depth in [("16", "32") if min(int(m), int(n)) < 32 else ("32", "16")]
    ]
    shapes = [gemm({key: int(value) for key, value in row.items() if value.isdigit()}) for row, *_ in problems.values()]
    shares = []
    for rows, latencies in zip(problems.values(), by_origami(program, ("gfx950", "256"), pool, shapes, "bf16")):
        tflops = {row["kernel"]: float(row["tflops"]) for row in rows}
        measured = [(latency, tflops[name]) for name, latency in zip(names, latencies) if name in tflops]
        least = min(measured)[0]
        firsts = [speed for latency, speed in measured if latency == least]
        shares.append(sum(firsts) / len(firsts) / max(tflops.values()))
    print(f"oracle of {len(shares)} problems, mean efficiency: Origami {100 * sum(shares) / len(shares):.2f}")
    for model in models:
        if model == "learned":
            folder = Path(tempfile.mkdtemp()) / "folds"
            words = ["ckselect", "train", "--data", str(file), "--arch", "gfx950", "--targets", "relative"]
            run([*words, "--output", str(folder), "--folds", "5"])
            folds = json.loads((folder / "cv_metrics_relative.json").read_text())
            counts = [fold["val_groups"] for fold in folds]
            mean = sum(fold["mean_efficiency"] * count for fold, count in zip(folds, counts)) / sum(counts)
            print(f"learned, five folds {100 * mean:.2f}")
        else:
            words = ["ckselect", "evaluate", "--data", str(file), "--arch", "gfx950", "--model", model]
            metrics = json.loads(run([*words, "--format", "json"]))["global_metrics"]
            print(f"{model} {100 * metrics['efficiency_mean']:.2f}")


def gemm(conv: dict[str, int]) -> tuple[str, ...]:
    """The GEMM of a convolution of one group."""
    sides = [
        (conv[f"{axis}i"] + 2 * conv[f"pad_{axis.lower()}"] - conv[filter_axis]) // conv[f"stride_{axis.lower()}"] + 1
        for axis, filter_axis in (("H", "Y"), ("W", "X"))
    ]
    return tuple(map(str, (conv["N"] * sides[0] * sides[1], conv["K"], conv["C"] * conv["Y"] * conv["X"])))


def by_ours(
    model: str, device: tuple[str, str], family: str, names: list[str], shapes: list[tuple[str, ...]], folder: Path
):
    """Places of all kernels for each shape: those of equal scores are equal."""
    (folder / "pool.csv").write_text("kernel\n" + "\n".join(names) + "\n")
    dtype = "bf16" if family.startswith("bf16") else "fp8"
    rows = "".join(f"{','.join(shape)},{dtype}\n" for shape in shapes)
    (folder / "problems.csv").write_text("M,N,K,dtype\n" + rows)
    arch = DEVICES[device][0]
    words = ["ckselect", "rank", "--model", model, "--arch", arch, "--pool", folder / "pool.csv"]
    allowed = "unbuildable" if model == "estimate" else "unbuildable,untrained"
    words += ["--problems", folder / "problems.csv", "--allow", allowed, "--format", "csv"]
    printed = run([str(word) for word in words])
    place = {name: at for at, name in enumerate(names)}
    times = [[float("inf")] * len(names) for _ in shapes]
    before = first = None
    for row in csv.DictReader(printed.splitlines()):
        key = row["problem"], row.get("score") or row["time_us"]
        first = first if key == before else int(row["rank"])
        before = key
        times[int(row["problem"])][place[row["kernel"]]] = first
    return times


def main(arguments: list[str]) -> int:
    """Prints a row a family and device."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--origami", type=Path, required=True, help="the unpacked rocm-origami")
    parser.add_argument("--tables", type=Path, required=True, help="AITER's tables")
    parser.add_argument("--model", nargs="+", default=["estimate"], help="estimate, learned, or directories")
    parser.add_argument("--oracle", type=Path, help="a sweep of bf16 convolutions of an MI355X")
    parser.add_argument("--shapes", type=int, default=200, help="so many of each table, drawn evenly over (N, K)")
    options = parser.parse_args(arguments)
    folder = Path(tempfile.mkdtemp())
    program = compiled(options.origami, folder)
    if options.oracle:
        oracle(program, options.oracle, options.model)
    print(
        "| table | device | shapes | kernels |", *(f" {who}: first, first 3 |" for who in ("Origami", *options.model))
    )
    for file in sorted(options.tables.glob("*.csv.gz")):
        family = file.name.removesuffix(".csv.gz")
        if "cktile" in family or "batched" in family or "a4w4" in family:
            continue
        pools = list(csv.DictReader((options.tables / f"{family}.pool.csv").open()))
        winners: dict[tuple[str, str], dict[tuple[str, ...], dict[str, str]]] = defaultdict(dict)
        with gzip.open(file, "rt") as text:
            for row in csv.DictReader(text):
                if row["is_latest_winner"] == "1" and row.get("q_dtype_w", "fp8") != "int8" and row["libtype"] == "ck":
                    winners[row["gfx"], row["cu_num"]][row["M"], row["N"], row["K"]] = row
        for device, own in winners.items():
            pool = list(
                {row["kernelName"]: row for row in pools if row["gfx"] == device[0] and row["libtype"] == "ck"}.values()
            )
            names = [row["kernelName"] for row in pool]
            by_pair = defaultdict(list)
            own = {shape: row for shape, row in own.items() if row["kernelName"] in names}
            for shape in own:
                by_pair[shape[1:]].append(shape)
            draw = random.Random(0)
            for shapes in by_pair.values():
                draw.shuffle(shapes)
            in_turn = itertools.chain.from_iterable(itertools.zip_longest(*by_pair.values()))
            shapes = [shape for shape in in_turn if shape][: options.shapes]
            answers = [by_origami(program, device, pool, shapes, "fp8")]
            for model in options.model:
                if model == "learned":
                    answers.append(by_learned(device, family, names, shapes, own, folder))
                else:
                    answers.append(by_ours(model, device, family, names, shapes, folder))
            cells = []
            for times in answers:
                parts = [
                    sum(share(row, names.index(own[shape]["kernelName"]), first) for row, shape in zip(times, shapes))
                    for first in (1, 3)
                ]
                cells.append(" " + ", ".join(f"{100 * part / len(shapes):.0f}" for part in parts) + " |")
            print(f"| {family} | {DEVICES[device][0]} | {len(shapes)} | {len(names)} |", *cells, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
