"""CK's own dispatcher with kernels that CK generates: what it runs by itself, and what with ck-select.

declarations -> CK's example_kernel_builder.py -> a library of kernels and a header that registers them
ck_gemm.cpp or ck_conv.cpp, with that header   -> a program that times every kernel, and says which one either runs
"""

from __future__ import annotations

import csv
import os
import shutil
import statistics
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from machine import ROOT, hip_compiler
from steps import Failed, Run, Skip

HERE = Path(__file__).resolve().parent
# How CK's examples are compiled (dispatcher/examples/CMakeLists.txt).
FLAGS = [
    "-std=c++17",
    "-O3",
    "-mllvm",
    "-enable-noalias-to-md-conversion=0",
    "-Wno-undefined-func-template",
    "-Wno-float-equal",
]
INCLUDES = ("include", "dispatcher/include")
# What a workgroup of gfx942 has for operands, by the pipeline: compv4 holds them twice.
ROOM = {"compv3": 64 << 10, "compv4": 32 << 10, "mem": 64 << 10}
# Without 256 x 128, for which CK's builder writes a warp's tile that no instruction has.
GEMM_TILES = [(64, 64), (64, 128), (128, 64), (128, 128), (64, 256), (256, 64)]
# Rows, columns, waves of either and the side of a wave's instruction.
CONV_TILES = [(16, 64, 1, 4, 16), (32, 64, 2, 2, 16), (64, 64, 2, 2, 16), (32, 128, 1, 4, 16), (64, 128, 2, 2, 16)]
CONV_TILES += [(128, 64, 2, 2, 16), (128, 128, 2, 2, 16), (64, 32, 4, 1, 16), (128, 32, 4, 1, 16), (256, 64, 4, 1, 16)]
CONV_TILES += [(64, 64, 2, 2, 32), (64, 128, 2, 2, 32), (128, 64, 2, 2, 32), (128, 128, 2, 2, 32), (256, 64, 4, 1, 32)]


def gemms() -> Iterator[str]:
    """About thirty GEMM kernels, as CK declares them."""
    for m, n in GEMM_TILES:
        for depth in (32, 64):
            for pipeline, room in ROOM.items():
                if 2 * depth * (m + n) <= room:
                    yield (
                        'Signature().dtype("fp16").layout("rcr"), '
                        f'Algorithm().tile({m}, {n}, {depth}).wave(2, 2, 1).warp(32, 32, 16).pipeline("{pipeline}")'
                        '.scheduler("intrawave").epilogue("cshuffle")'
                    )


def convolutions() -> Iterator[str]:
    """About thirty forward convolutions; CK's builder gives other pipelines than these two the key of compv3."""
    for m, n, waves_m, waves_n, side in CONV_TILES:
        for pipeline in ("compv3", "compv4"):
            if 2 * 64 * (m + n) <= ROOM[pipeline]:
                yield (
                    'GroupedConvSig().dtype("fp16").layout("nhwgc").conv_type("forward").dims(2), '
                    f"GroupedConvAlgo().tile(1, {m}, {n}).wave({waves_m}, {waves_n}, 1)"
                    f".warp({side}, {side}, {512 // side})"
                    f'.pipeline("{pipeline}").scheduler("intrawave").epilogue("cshuffle").vector_sizes(4, 8, 8)'
                )


@dataclass(frozen=True)
class Example:
    """A program, the macro that declares its kernels, and the sources of CK's dispatcher that it needs."""

    name: str
    macro: str
    kernels: list[str]
    sources: list[str]


EXAMPLES = [
    Example("ck_gemm", "DECL_KERNEL_SET", list(gemms()), ["registry.cpp", "dispatcher.cpp"]),
    Example("ck_conv", "DECL_GROUPED_CONV_KERNEL_SET", list(convolutions()), []),
]


def checkout(folder: Path | None) -> Path:
    """The dispatcher of a checkout, of CK itself or of rocm-libraries."""
    if folder is None:
        raise Skip("no CK=DIR, a checkout of github.com/ROCm/rocm-libraries (projects/composablekernel)")
    for place in (folder, folder / "projects" / "composablekernel"):
        if (place / "dispatcher" / "scripts" / "example_kernel_builder.py").is_file():
            return place.resolve()
    raise Skip(f"{folder} has no dispatcher/scripts/example_kernel_builder.py: expected a composable_kernel of 2026")


def library() -> Path:
    """libck_select.so of this repository, or of CK_SELECT_LIBRARY."""
    file = Path(os.environ.get("CK_SELECT_LIBRARY") or ROOT / "target" / "release" / "libck_select.so")
    if not file.is_file():
        raise Skip(f"no {file}: cargo build --release, or CK_SELECT_LIBRARY=FILE")
    return file


def generate(run: Run, example: Example, ck: Path, hipcc: str, target: str) -> None:
    """Generates and compiles the kernels: all, or where one of them does not compile, those of CK's usual pipeline."""
    folder = run.folder / example.name
    includes = ",".join(str(ck / each) for each in INCLUDES)
    usual = [kernel for kernel in example.kernels if '"compv3"' in kernel]
    for kernels in (example.kernels, usual):
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        declared = "".join(f'\n    .add({kernel}, "{target}")' for kernel in kernels)
        source = folder / f"{example.name}.cpp"
        source.write_text(f"{example.macro}(prove,{declared});\n")
        words = ["python3", ck / "dispatcher" / "scripts" / "example_kernel_builder.py", source, "--output-dir", folder]
        words += ["--include-dirs", includes, "--gpu-target", target, "--target-name", example.name]
        try:
            run.command(example.name, words, environment={**os.environ, "HIPCC": hipcc})
            return
        except Failed:
            if kernels is usual:
                raise


def build(run: Run, example: Example, ck: Path, hipcc: str, target: str) -> Path:
    """Generates and compiles the kernels, then the program."""
    generate(run, example, ck, hipcc, target)
    folder = run.folder / example.name
    # Programs look the library up by this name.
    named = folder / "libck_select.so.1"
    named.symlink_to(library())
    sources = [HERE / f"{example.name}.cpp", *(ck / "dispatcher" / "src" / name for name in example.sources)]
    words = [hipcc, *FLAGS, f"--offload-arch={target}", "-include", folder / f"{example.name}_kernels.hpp"]
    for include in (*(ck / each for each in INCLUDES), ROOT / "include", folder, folder / "dispatcher_wrappers"):
        words += ["-I", include]
    program = folder / example.name
    words += [*sources, folder / f"lib{example.name}_kernels.a", named, f"-Wl,-rpath,{folder}", "-o", program]
    run.command(example.name, words)
    return program


def figures(said: str) -> dict[str, Any]:
    """What the program's rows come to: problem, kernels that ran, role, kernel, milliseconds."""
    times: dict[str, dict[str, float]] = {}
    kernels = 0
    for row in csv.DictReader(said.splitlines()):
        times.setdefault(row["problem"], {})[row["role"]] = float(row["ms"])
        kernels = max(kernels, int(row["kernels"]))
    if not times:
        raise Failed("the program timed nothing")
    efficiency = {}
    for role in ("default", "chosen"):
        each = [ms["best"] / ms[role] for ms in times.values()]
        efficiency[role] = {"mean": statistics.mean(each), "min": min(each)}
    return {"kernels": kernels, "problems": len(times), "efficiency": efficiency}


def prove(run: Run, example: Example, folder: Path | None) -> dict[str, Any]:
    """Builds an example and runs it."""
    target = run.needs("machine")["target"]
    if not target.startswith("gfx"):
        raise Skip(f"CK's kernels are for AMD's GPUs, and this is {target}")
    ck, hipcc = checkout(folder), hip_compiler()
    program = build(run, example, ck, hipcc, target)
    said = run.command(example.name, [program, target])
    (run.folder / example.name / "times.csv").write_text(said)
    return figures(said)
