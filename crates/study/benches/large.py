"""How much memory a conversion takes whose input is larger than that: a generated sweep, and the peak.

    python large.py --ckselect target/release/ckselect [--rows 20000000] [--folder DIR]

The input has about 140 bytes a row and is removed afterwards, unless it was given.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import sweep


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--ckselect", required=True, type=Path)
    arguments.add_argument("--rows", type=int, default=20_000_000)
    arguments.add_argument("--folder", type=Path, help="where the files go; by default the system's temporary folder")
    arguments.add_argument("--input", type=Path, help="a sweep that was made before, instead of a new one")
    given = arguments.parse_args()
    with tempfile.TemporaryDirectory(dir=given.folder) as folder:
        source, target = given.input or Path(folder) / "sweep.csv", Path(folder) / "sweep.parquet"
        if not given.input:
            sweep.write(source, given.rows)
        begun = time.monotonic()
        process = subprocess.Popen([given.ckselect, "convert", source, "--output", target, "--arch", "gfx950"])
        _, status, usage = os.wait4(process.pid, 0)
        if status != 0:
            sys.exit(f"status {status}")
        seconds = time.monotonic() - begun
        with source.open("rb") as lines:
            rows = sum(1 for _ in lines) - 1
        print(f"{rows} rows, {source.stat().st_size / 2**20:.0f} MiB of CSV to {target.stat().st_size / 2**20:.0f} "
              f"MiB of parquet in {seconds:.1f} s, peak resident set {usage.ru_maxrss / 1024:.0f} MiB")


if __name__ == "__main__":
    main()
