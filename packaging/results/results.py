"""Makes the figures of the documents again and compares: `make results [DATA=DIR] [ONLY=WORDS]`.

    results.py [--only WORDS] [--write]

A figure that differs by more than its noise is printed, and fails; `--write` puts what was made in its place.
"""

from __future__ import annotations

import argparse
import sys
import time

from commands import CKSELECT
from documents import Gone, differing, sections_with_tables
from tables import LINES, RECORDED, Line


def compare(line: Line, write: bool) -> list[str]:
    """What differs, in lines for people."""
    made = line.make()
    found = line.place.figures(len(made))
    wrong = differing(found, made, line.noise)
    if wrong and write:
        digits = [len(match[0].partition(".")[2]) for match in found]
        line.place.write([f"{value:.{count}f}" for value, count in zip(made, digits)])
    where = f"{line.place.file}, '{line.place.section}', {line.place.words}"
    return [f"{where}: {written} is written, {made} made" for written, made in wrong]


def uncovered() -> list[str]:
    """Sections with a table that is neither made nor recorded."""
    known = {(line.place.file, line.place.section) for line in LINES} | {each[:2] for each in RECORDED}
    files = sorted({file for file, _ in known})
    sections = [(file, section) for file in files for section in sections_with_tables(file)]
    return [f"{file}, '{section}': no line of packaging/results/tables.py makes it" for file, section in sections
            if (file, section) not in known]  # fmt: skip


def main() -> int:
    """1 where a figure differs."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", default="", help="tables with these words")
    parser.add_argument("--write", action="store_true", help="put what was made into the documents")
    options = parser.parse_args()
    if not CKSELECT.is_file():
        sys.exit(f"results: no {CKSELECT}: `make ckselect`, or CKSELECT=FILE")
    wrong, counts = uncovered(), {"made": 0, "need DATA": 0}
    began = time.monotonic()
    for line in LINES:
        if options.only not in line.table:
            continue
        try:
            differences = compare(line, options.write)
        except LookupError as lacks:
            if lacks.args != ("DATA",):
                raise
            counts["need DATA"] += 1
            continue
        except (Gone, RuntimeError) as reason:
            differences = [f"{line.table}, {line.place.words}: {reason}"]
        counts["made"] += 1
        print(f"results: {line.table}: {line.place.words}: {'differs' if differences else 'as written'}", flush=True)
        wrong += differences
    for file, section, day, why in RECORDED:
        print(f"results: recorded {day}: {file}, '{section}': {why}")
    for difference in wrong:
        print(f"results: {difference}", file=sys.stderr)
    seconds = time.monotonic() - began
    print(f"results: {counts['made']} made, {len(wrong)} differ, {counts['need DATA']} need DATA=DIR, {seconds:.0f} s")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
