"""ckselect beside scripts of pandas and LightGBM, on the same inputs in the same run: time and peak memory.

    python compare.py --ckselect target/release/ckselect [--rows 1000000] [--rounds 3] [--json FILE] [CASE ...]

A case makes its input, names the two command lines, and checks that both say the same. Rounds alternate, so that a
machine that is busy for a while is busy for both; the best round of each counts.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import sweep

HERE = Path(__file__).parent


def measure(command):
    """Runs a command; seconds, peak memory in MiB, and seconds of all cores, which a busy machine disturbs less."""
    begun = time.monotonic()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.monotonic() - begun
    if status != 0:
        sys.exit(f"{command}: status {status}")
    return seconds, usage.ru_maxrss / 1024, usage.ru_utime + usage.ru_stime


def convert(folder, ckselect, rows):
    """A benchmark CSV to the canonical table."""
    import pandas as pd

    source, ours, theirs = folder / "sweep.csv", folder / "ours.parquet", folder / "theirs.parquet"
    sweep.write(source, rows)

    def check():
        pd.testing.assert_frame_equal(pd.read_parquet(ours), pd.read_parquet(theirs))

    return (
        [ckselect, "convert", source, "--output", ours, "--arch", "gfx950"],
        [sys.executable, HERE / "pandas_convert.py", source, theirs],
        check,
    )


CASES = {"convert": convert}


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("cases", nargs="*", metavar="CASE", help=f"{', '.join(CASES)}; all when none is given")
    arguments.add_argument("--ckselect", required=True, type=Path)
    arguments.add_argument("--rows", type=int, default=1_000_000)
    arguments.add_argument("--rounds", type=int, default=3)
    arguments.add_argument("--json", type=Path)
    given = arguments.parse_args()
    unknown = [case for case in given.cases if case not in CASES]
    if unknown:
        arguments.error(f"unknown case {unknown[0]}, expected one of: {', '.join(CASES)}")
    results = []
    print(f"{'case':<10} {'rows':>10} {'ckselect s':>11} {'python s':>10} {'ratio':>6} {'ckselect MiB':>13} "
          f"{'python MiB':>11} {'ckselect CPU s':>15} {'python CPU s':>13} {'ratio':>6}")
    for case in given.cases or CASES:
        with tempfile.TemporaryDirectory() as folder:
            ours, theirs, check = CASES[case](Path(folder), given.ckselect, given.rows)
            rounds = [(measure(ours), measure(theirs)) for _ in range(given.rounds)]
            check()
        # The best of each figure: a disturbance only ever makes it larger.
        best = [[min(figures) for figures in zip(*(round_[side] for round_ in rounds))] for side in (0, 1)]
        (seconds, memory, cpu), (their_seconds, their_memory, their_cpu) = best
        print(f"{case:<10} {given.rows:>10} {seconds:>11.3f} {their_seconds:>10.3f} {their_seconds / seconds:>6.1f} "
              f"{memory:>13.0f} {their_memory:>11.0f} {cpu:>15.3f} {their_cpu:>13.3f} {their_cpu / cpu:>6.1f}", flush=True)
        results.append({"case": case, "rows": given.rows, "ckselect_s": seconds, "python_s": their_seconds,
                        "ratio": their_seconds / seconds, "ckselect_mib": memory, "python_mib": their_memory,
                        "ckselect_cpu_s": cpu, "python_cpu_s": their_cpu})
    if given.json:
        given.json.write_text(json.dumps(results, indent=2) + "\n")


if __name__ == "__main__":
    main()
