"""``gpu/prove`` from end to end, on an AMD GPU that only keeps account."""

from __future__ import annotations

import csv
import dataclasses
import json
import os
import shutil
import subprocess
import sys

import pytest
from fake_torch import install
from support import ROOT

from ck_select.commands import command

FAKE_CK = ROOT / "python" / "tests" / "fake_ck"

# Time goes with the tiles that a device of 304 units has to do one after the other, and with what they read; tiles of
# 256 columns do not compile.
TRITON = """
import torch
__version__ = "3"
def cost(m, n, k, rows, columns, depth):
    tiles = -(-m // rows) * -(-n // columns)
    return 0.01 + 1e-8 * -(-tiles // 304) * k * (rows * columns / 4 + 16 * (rows + columns)) * (1 + 8 / depth)
class Jit:
    def warmup(self, *arguments, **how):
        if arguments[12] == 256: raise RuntimeError("no registers")
    def __getitem__(self, grid):
        def launch(a, b, c, m, n, k, *constants, **how):
            c.value = a.value * b.value
            torch.run(cost(m, n, k, *constants[5:8]))
        return launch
jit = lambda function=None, **how: Jit() if function else lambda function: Jit()
"""


@pytest.fixture
def prove(tmp_path):
    """`make prove-amd`, small; the result is what it said and the folder."""

    def run(*options, hip="6.4", only="torch.py triton", **environment):
        fakes = install(tmp_path / "fakes", TRITON, hip=hip, only=only)
        variables = {**os.environ, **fakes, "CKSELECT": command(), "CK_SELECT_LOCK_DIR": str(tmp_path), **environment}
        words = [sys.executable, "-B", str(ROOT / "gpu" / "prove" / "prove.py"), "--out", str(tmp_path / "out")]
        words += ["--vendor", "amd", "--operations", "gemm", "--shapes", "18", "--kernels", "40", *options]
        ran = subprocess.run(words, capture_output=True, text=True, env=variables, check=False)
        return ran, tmp_path / "out"

    return run


@pytest.fixture
def checkout(tmp_path):
    """A checkout of CK whose kernels are formulas, and a compiler in hipcc's place; the result is their options."""
    dispatcher = tmp_path / "ck" / "dispatcher"
    stand_in = ROOT / "cpp_examples" / "stand_in"
    for folder in ("scripts", "src", "include/hip"):
        (dispatcher / folder).mkdir(parents=True)
    shutil.copy(FAKE_CK / "example_kernel_builder.py", dispatcher / "scripts")
    shutil.copy(FAKE_CK / "hip_runtime.h", dispatcher / "include" / "hip")
    for name in ("registry.cpp", "dispatcher.cpp"):
        (dispatcher / "src" / name).write_text("")
    compiler = tmp_path / "hipcc"
    headers = f"-I{stand_in / 'g2'} -I{stand_in / 'v2'} -I{dispatcher / 'include'}"
    # What a compiler of the host knows of hipcc's flags.
    drop = "-mllvm|-enable-noalias*|--offload-arch=*|-Wno-undefined-func-template|-O3"
    compiler.write_text(
        f"""#!/bin/sh
for word; do shift; case $word in {drop}) ;; *) set -- "$@" "$word";; esac; done
exec c++ -O1 -Wall -Wextra -Werror {headers} -pthread "$@"
"""
    )
    compiler.chmod(0o755)
    return ["--ck", str(tmp_path / "ck")], {
        "HIPCC": str(compiler),
        "CK_SELECT_LIBRARY": os.environ["CK_SELECT_LIBRARY"],
    }


def step(folder, name):
    """What a step wrote."""
    (file,) = (folder / "steps").glob(f"*-{name}.json")
    return json.loads(file.read_text())


def test_a_gpu_is_measured_judged_and_reported(prove):
    ran, folder = prove()
    assert ran.returncode == 0, ran.stdout + ran.stderr
    machine = step(folder, "machine")["figures"]
    assert (machine["target"], machine["runtime"], machine["triton"]) == ("gfx942", "ROCm 6.4", "3")
    swept = step(folder, "gemm-sweep")["figures"]
    assert all(part["rows"] == part["pairs"] and part["timed"] > 100 for part in swept.values())
    judged = step(folder, "gemm-judge")["figures"]
    assert list(judged) == ["estimate", "universal", "tuned", "trained"]
    for each in judged.values():
        assert each["shapes"] == 6 and each["random"] < each["mean"] <= each["best3"] <= 1
    report, issue = (folder / "report.md").read_text(), (folder / "issue.md").read_text()
    for text in (report, issue):
        assert (
            f"| the estimate, which has learned nothing from this GPU | {100 * judged['estimate']['mean']:.2f} |"
            in text
        )
    assert "build" in report and "Fake, gfx942, ROCm 6.4" in issue
    # Nothing is done twice.
    before = (folder / "gemm" / "heldout.csv").stat().st_mtime_ns
    again, _ = prove()
    assert again.stdout.count("done before") == 4 and again.returncode == 0
    assert (folder / "gemm" / "heldout.csv").stat().st_mtime_ns == before


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"only": "triton"}, "has no torch: install torch and triton for your GPU"),
        ({"hip": None}, "an AMD GPU: PyTorch sees Fake (sm_90); `make prove-gpu` takes any"),
        ({"CKSELECT": "/nowhere"}, "ckselect: Rust from https://rustup.rs"),
    ],
)
def test_a_machine_that_lacks_something_says_what(prove, given, message):
    ran, folder = prove(**given)
    assert ran.returncode == 1 and "this machine lacks" in ran.stdout and message in ran.stdout
    assert message in (folder / "report.md").read_text() and not (folder / "gemm").exists()


def test_mixtures_of_experts_are_swept_and_judged(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "gpu" / "prove"))
    monkeypatch.setenv("CK_SELECT_LOCK_DIR", str(tmp_path))
    import page
    import sweep
    from steps import Run

    runner = tmp_path / "runner.json"
    program = [sys.executable, str(ROOT / "python" / "tests" / "fake_moe_worker.py")]
    runner.write_text(json.dumps({"runner": "worker", "command": program, "names": "triton_moe_"}))
    (moe,) = (family for family in sweep.FAMILIES if family.name == "moe")
    moe = dataclasses.replace(moe, runner=runner)
    run = Run(tmp_path / "out", 300)
    run.do(0, "machine", lambda _: {"target": "gfx942", "ckselect_file": str(command())})
    run.do(1, "moe-pool", lambda run: sweep.prepare(run, moe, 18, 30))
    run.do(2, "moe-sweep", lambda run: sweep.sweep(run, moe))
    # A problem that no kernel could run, as one whose tensors have no room, is left out of what is tuned to.
    log = run.folder / "moe" / "others.csv"
    with log.open() as file:
        rows = list(csv.DictReader(file))
    for row in rows:
        if row["problem_idx"] == rows[0]["problem_idx"]:
            row.update(latency_ms="", tflops="", error_msg="load: no room")
    with log.open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    run.do(3, "moe-judge", lambda run: sweep.judge(run, moe))
    results = run.results()
    assert [result["state"] for result in results.values()] == ["done"] * 4, results
    assert results["moe-pool"]["figures"] == {"kernels": 30, "of": 624, "heldout": 6, "others": 12}
    for each in results["moe-judge"]["figures"].values():
        assert each["shapes"] == 6 and each["random"] < each["mean"] <= 1
    page.write(run)
    assert "6 shapes held out" in (run.folder / "issue.md").read_text()


def test_kernels_that_do_not_compile_leave_those_of_the_usual_pipeline(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "gpu" / "prove"))
    import ck
    from steps import Failed, Run

    run, tried = Run(tmp_path / "out", 60), []

    def command(_log, words, **_how):
        tried.append(words[2].read_text())
        if "compv4" in tried[-1]:
            raise Failed("compv4 does not compile")
        return ""

    monkeypatch.setattr(run, "command", command)
    ck.generate(run, ck.EXAMPLES[1], tmp_path, "hipcc", "gfx942")
    assert [text.count(".add(") for text in tried] == [28, 15] and "compv4" not in tried[1]


def test_cks_dispatcher_runs_with_and_without_the_selector(prove, checkout):
    options, environment = checkout
    # The machine's facts are enough: no shapes, no sweep.
    _, folder = prove("--shapes", "0", *options, **environment)
    for name, least in ("ck_gemm", 30), ("ck_conv", 25):
        found = step(folder, f"{name}-dispatched")
        assert found["state"] == "done", found
        figures = found["figures"]
        assert figures["kernels"] >= least and figures["problems"] == 12
        assert figures["efficiency"]["default"]["mean"] < figures["efficiency"]["chosen"]["mean"] <= 1
    assert "| ck-select |" in (folder / "issue.md").read_text()


def test_what_a_machine_cannot_run_is_skipped_aloud(prove):
    ran, folder = prove("--shapes", "0", PATH="/usr/bin:/bin")
    assert "ck_gemm-dispatched: skipped" in ran.stdout and "no CK=DIR" in (folder / "report.md").read_text()
