"""What the machine is, and what it lacks, with the way to get it."""

from __future__ import annotations

import json
import os
import platform
import shutil
import subprocess
from pathlib import Path
from typing import Any

from steps import Failed, Run, Skip

ROOT = Path(__file__).resolve().parents[2]
TRITON = ROOT / "gpu" / "triton"
# Gigabytes: compiled kernels, tables and a build of CK's example.
ROOM = 2
# The runner's own view of the device, in a process of its own, so that none of the GPU's memory stays taken.
FACTS = """
import json, sys
sys.path.insert(0, sys.argv[1])
import worker
try:
    torch, _ = worker.found("gemm")
except worker.Unusable as reason:
    sys.exit(str(reason))
facts = worker.facts(torch)
facts["runtime"] = f"ROCm {torch.version.hip}" if torch.version.hip else f"CUDA {torch.version.cuda}"
print(json.dumps(facts))
"""
CKSELECT = "Rust from https://rustup.rs and a C++ compiler to build it, or CKSELECT=FILE, built by `make ckselect`"
CONTAINER = "start a container that has both, such as rocm/pytorch, with --device=/dev/kfd --device=/dev/dri"


def one_line(*words: str) -> str | None:
    """What a program prints first; nothing where it is not there or fails."""
    try:
        ran = subprocess.run(words, capture_output=True, text=True, check=False, timeout=60, cwd=ROOT)
    except (OSError, subprocess.TimeoutExpired):
        return None
    lines = ran.stdout.strip().splitlines()
    return lines[0] if ran.returncode == 0 and lines else None


def text_of(*files: str) -> str | None:
    """The first of the files that is there."""
    return next((Path(file).read_text().strip() for file in files if Path(file).is_file()), None)


def ckselect() -> Path | None:
    """The command line: what CKSELECT says, the one built here, or that of PATH."""
    named = os.environ.get("CKSELECT")
    places = [named] if named else [ROOT / "target" / "release" / "ckselect", shutil.which("ckselect")]
    return next((Path(place) for place in places if place and Path(place).is_file()), None)


def device(run: Run) -> dict[str, Any]:
    """Name, target and versions, by the Python that the runner starts."""
    return json.loads(run.command("machine", ["python3", "-c", FACTS, TRITON], limit=300))


def driver(target: str) -> str | None:
    """The version of the kernel's driver."""
    if target.startswith("gfx"):
        return text_of("/sys/module/amdgpu/version") or "the kernel's own amdgpu"
    return one_line("nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader")


def check(run: Run, vendor: str) -> dict[str, Any]:
    """The machine; fails with all that it lacks at once."""
    lacks = []
    facts: dict[str, Any] = {}
    try:
        facts = device(run)
    except Failed as reason:
        lacks.append(f"a GPU that PyTorch and Triton see ({reason}): {CONTAINER}")
    if facts and vendor == "amd" and not facts["target"].startswith("gfx"):
        lacks.append(f"an AMD GPU: PyTorch sees {facts['name']} ({facts['target']}); `make prove-gpu` takes any")
    program = ckselect()
    if program is None:
        lacks.append(f"ckselect: {CKSELECT}")
    elif "can train" not in (doctor := run.command("machine", [program, "doctor"], limit=60)):
        lacks.append(f"a ckselect that can train, which {program} cannot: `make ckselect` builds one")
    room = shutil.disk_usage(run.folder).free / 1e9
    if room < ROOM:
        lacks.append(f"{ROOM} GB of disk for {run.folder}, which has {room:.1f}: OUT=FOLDER takes another")
    if lacks:
        raise Failed("this machine lacks " + "; ".join(lacks))
    (run.folder / "logs" / "doctor.txt").write_text(doctor)
    return {
        **facts,
        "driver": driver(facts["target"]),
        "ROCm": text_of("/opt/rocm/.info/version"),
        "ckselect": one_line(str(program), "--version"),
        "ckselect_file": str(program),
        "revision": one_line("git", "describe", "--always", "--dirty"),
        "system": f"{platform.platform()}, Python {platform.python_version()}",
        "cores": os.cpu_count(),
        "free_gb": round(room, 1),
    }


def hip_compiler() -> str:
    """hipcc, or what HIPCC names."""
    found = os.environ.get("HIPCC") or shutil.which("hipcc") or shutil.which("hipcc", path="/opt/rocm/bin")
    if not found:
        raise Skip("no hipcc on PATH or in /opt/rocm/bin: an image with ROCm's compiler has it (rocm/dev-ubuntu)")
    return found
