"""Installs the wheel of a folder into a new virtual environment that has no Rust, and ranks with it.

    try_wheel.py WHEELS SCRATCH

The environment's PATH is its own folder alone, and neither PYTHONPATH nor CK_SELECT_LIBRARY is set: what is used is
what the wheel brought.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path

MODEL = Path(__file__).resolve().parents[2] / "tests" / "golden" / "models" / "gemm_small"

PROGRAM = """
import sys
from pathlib import Path
import ck_select

assert not any(name in sys.modules for name in ("numpy", "pandas", "lightgbm"))
kernels = [{"kernel_name": f"tile {tile}", "tile_m": tile} for tile in (64, 128, 256)]
ranked = ck_select.Predictor(sys.argv[1]).rank_kernels({"m": 128, "n": 1536, "k": 7168}, kernels)
scores = [score for _, score in ranked]
assert sorted(scores, reverse=True) == scores and len(scores) == 3
model = ck_select.shipped_model("grouped_conv_forward_bf16_gfx950")
names = [f"grouped_conv_forward_bf16_2d_{tile}x64x64_compv3" for tile in (16, 32, 64)]
problem = ck_select.GroupedConvProblem(N=1, C=64, K=64, Hi=28, Wi=28, Y=3, X=3, dtype="bf16")
assert len(ck_select.Predictor(model).rank_kernels(problem, names)) == 3 and len(ck_select.shipped_models()) > 1
where = Path(ck_select.__file__).parent
assert (where / "py.typed").exists() and (where / "libck_select.so").exists() and sys.prefix in str(where)
print(f"wheel: ck_select {ck_select.__version__} ranks in {sys.prefix}")
"""


def main() -> None:
    wheels, scratch = map(Path, sys.argv[1:])
    (wheel,) = wheels.glob("ck_select-*.whl")
    if not re.fullmatch(r"ck_select-[0-9.]+-py3-none-(many)?linux_\w+\.whl", wheel.name):
        raise SystemExit(f"{wheel.name}: not the name of a wheel for every Python 3 on this platform")
    names = zipfile.ZipFile(wheel).namelist()
    if any("/tests/" in name or name.endswith(".pyc") for name in names):
        raise SystemExit(f"{wheel.name}: holds files that users do not need")
    environment = scratch / "wheel"
    subprocess.run([sys.executable, "-m", "venv", "--clear", environment], check=True)
    plain = {name: value for name, value in os.environ.items() if name in ("HOME", "LANG", "TMPDIR")}
    plain["PATH"] = str(environment / "bin")
    pip = [environment / "bin" / "pip", "install", "--quiet", "--disable-pip-version-check", "--no-index", wheel]
    subprocess.run(pip, check=True, env=plain)
    subprocess.run([environment / "bin" / "python", "-c", PROGRAM, MODEL], check=True, env=plain, cwd=scratch)
    for command in ([environment / "bin" / "ckselect"], [environment / "bin" / "python", "-m", "ck_select"]):
        said = subprocess.run([*command, "--version"], check=True, env=plain, cwd=scratch, capture_output=True)
        if not re.fullmatch(rb"ckselect [0-9.]+\n", said.stdout):
            raise SystemExit(f"{command}: says {said.stdout!r}")


if __name__ == "__main__":
    main()
