"""Draws the figures of README and docs/performance.md from committed results: `make figures`.

    figures.py [--check]

docs/images/efficiency.svg  from docs/images/efficiency.csv, which says how it was made
docs/images/time.svg        from the table "Scoring and ranking" of docs/performance.md, which says how it was measured

`--check` only compares. What README says has to be what is drawn.
"""

import csv
import math
import re
import sys
from html import escape
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
IMAGES = ROOT / "docs/images"
WIDTH, HEIGHT = 760, 400
# The plot's edges.
LEFT, RIGHT, TOP, BOTTOM = 62, 742, 46, 344

STYLE = """
    .axis { stroke: #8c959f; } .grid { stroke: #d8dee4; } .tick { fill: #57606a; font-size: 12px; } .head { fill: #1f2328; font-weight: 600; }
    .label { font-size: 13px; } .line { fill: none; stroke-width: 2.2; stroke-linejoin: round; } .dashed { stroke-dasharray: 6 4; }
    .a { stroke: #0969da; } .b { stroke: #1a7f37; } .c { stroke: #bc4c00; } .d { stroke: #8250df; } text.a, .dot.a { fill: #0969da; stroke: none; }
    text.b, .dot.b { fill: #1a7f37; stroke: none; } text.c, .dot.c { fill: #bc4c00; stroke: none; } text.d { fill: #8250df; stroke: none; }
    @media (prefers-color-scheme: dark) {
      .axis { stroke: #656c76; } .grid { stroke: #2b3138; } .tick { fill: #9198a1; } .head { fill: #f0f6fc; }
      .a { stroke: #4493f8; } .b { stroke: #3fb950; } .c { stroke: #f0883e; } .d { stroke: #a371f7; } text.a, .dot.a { fill: #4493f8; stroke: none; }
      text.b, .dot.b { fill: #3fb950; stroke: none; } text.c, .dot.c { fill: #f0883e; stroke: none; } text.d { fill: #a371f7; stroke: none; }
    }
"""


def svg(title: str, description: str, parts: list[str]) -> str:
    """A picture."""
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" '
            'role="img" aria-labelledby="title desc" '
            "font-family=\"system-ui, -apple-system, 'Segoe UI', Helvetica, Arial, sans-serif\" font-size=\"14\">",
            "  <!-- Drawn by packaging/docs/figures.py: do not edit. -->",
            f'  <title id="title">{escape(title)}</title>',
            f'  <desc id="desc">{escape(description)}</desc>',
            f"  <style>{STYLE}  </style>",
            f'  <text class="head" x="{LEFT}" y="22">{escape(title)}</text>',
            *(f"  {part}" for part in parts),
            "</svg>\n",
        ]
    )


def text(x: float, y: float, words: str, kind: str = "tick", anchor: str = "start") -> str:
    """Words at a place."""
    return f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(words)}</text>'


def axes(x_of, y_of, x_ticks: dict[float, str], y_ticks: dict[float, str], x_title: str) -> list[str]:
    """Grid, ticks and the horizontal axis's title."""
    parts = [f'<line class="axis" x1="{LEFT}" y1="{BOTTOM}" x2="{RIGHT}" y2="{BOTTOM}"/>']
    for value, words in y_ticks.items():
        y = y_of(value)
        parts += [
            f'<line class="grid" x1="{LEFT}" y1="{y:.1f}" x2="{RIGHT}" y2="{y:.1f}"/>',
            text(LEFT - 8, y + 4, words, anchor="end"),
        ]
    parts += [text(x_of(value), BOTTOM + 20, words, anchor="middle") for value, words in x_ticks.items()]
    return [*parts, text((LEFT + RIGHT) / 2, BOTTOM + 42, x_title, anchor="middle")]


def percentile(values: list[float], share: float) -> float:
    """By linear interpolation, as everywhere here."""
    place = (len(values) - 1) * share
    low = int(place)
    return values[low] + (values[min(low + 1, len(values) - 1)] - values[low]) * (place - low)


def stated(page: str, figures: list[str], source: str) -> None:
    """A page has to say what is drawn."""
    found = (ROOT / page).read_text()
    for figure in figures:
        if figure not in found:
            sys.exit(f"figures: {page} does not say {figure}, which docs/images/{source} gives")


def efficiency() -> str:
    """Efficiency over problems, sorted, of four ways to choose."""
    with open(IMAGES / "efficiency.csv") as file:
        rows = list(csv.DictReader(line for line in file if not line.startswith("#")))
    names = {
        "ck_select": ("a", "ck-select, problems held out of training"),
        "estimate": ("b", "ck-select's estimate, no model"),
        "universal": ("d", "a universal model without MI355X data"),
        "upstream": ("c", "upstream's predictor"),
    }

    def x_of(share: float) -> float:
        return LEFT + share * (RIGHT - LEFT)

    def y_of(value: float) -> float:
        return BOTTOM - (value - 0.6) / 0.4 * (BOTTOM - TOP)

    shares = {share / 100: f"{share} %" for share in range(0, 101, 20)}
    values = {value / 100: f"{value} %" for value in range(60, 101, 10)}
    parts = axes(x_of, y_of, shares, values, "problems, from the worst choice to the best")
    told, key = [], []
    for at, (column, (kind, label)) in enumerate(names.items()):
        speeds = sorted(float(row[column]) for row in rows)
        mean, tenth = f"{sum(speeds) / len(speeds):.2%}", f"{percentile(speeds, 0.1):.2%}"
        stated("README.md", [mean.replace("%", " %"), tenth.replace("%", " %")], "efficiency.csv")
        points = " ".join(
            f"{x_of(place / (len(speeds) - 1)):.1f},{y_of(speed):.1f}" for place, speed in enumerate(speeds)
        )
        words = f"{label}: mean {mean.replace('%', ' %')}, P10 {tenth.replace('%', ' %')}"
        parts.append(f'<polyline class="line {kind}" points="{points}"><title>{escape(words)}</title></polyline>')
        y = y_of(0.735) + 22 * at
        key += [
            f'<line class="line {kind}" x1="{x_of(0.26):.1f}" y1="{y - 4:.1f}" x2="{x_of(0.30):.1f}" y2="{y - 4:.1f}"/>'
        ]
        key += [text(x_of(0.31), y, words, f"label {kind}")]
        told.append(words)
    title = f"Speed of the chosen kernel, relative to the fastest: {len(rows)} convolutions, MI355X"
    return svg(title, f"Efficiency of the choices, sorted. {'. '.join(told)}.", parts + key)


def measured() -> dict[str, list[tuple[int, float, float]]]:
    """(kernels, our microseconds, LightGBM's) of each operation, with 2,000 trees of 255 leaves."""
    table = (ROOT / "docs/performance.md").read_text().partition("### Scoring and ranking")[2].partition("\n### ")[0]
    head = next(line for line in table.splitlines() if line.startswith("| case")).split("|")
    columns = [name.strip() for name in head]
    found: dict[str, list[tuple[int, float, float]]] = {"conv": [], "gemm": []}
    for line in table.splitlines():
        cells = dict(zip(columns, (cell.strip() for cell in line.split("|"))))
        case = re.fullmatch(r"(conv|gemm), ([\d,]+) kernels?", cells.get("case", ""))
        if case and cells["forest"] == "2000 x 255":
            numbers = [float(cells[name].replace(",", "")) for name in ("rank", "LightGBM")]
            found[case[1]].append((int(case[2].replace(",", "")), *numbers))
    if [len(points) for points in found.values()] != [3, 2]:
        sys.exit(f"figures: docs/performance.md: found {found}, expected three pools of convolutions and two of GEMMs")
    return found


def duration(us: float) -> str:
    """Microseconds in a unit that reads well."""
    return f"{us:,.0f} µs" if us < 1000 else f"{us / 1000:,.0f} ms" if us >= 10_000 else f"{us / 1000:.1f} ms"


def time() -> str:
    """Time of a choice over the number of kernels, beside LightGBM's."""

    def x_of(kernels: float) -> float:
        return LEFT + 60 + math.log10(kernels) / math.log10(5000) * (RIGHT - LEFT - 80)

    def y_of(us: float) -> float:
        return BOTTOM - math.log10(us / 10) / 5 * (BOTTOM - TOP)

    pools = {1: "1", 30: "30", 310: "310", 4608: "4,608"}
    times = {10: "10 µs", 100: "100 µs", 1000: "1 ms", 10_000: "10 ms", 100_000: "100 ms", 1_000_000: "1 s"}
    parts, told = axes(x_of, y_of, pools, times, "kernels in the pool"), []
    for operation, points in measured().items():
        dashed = " dashed" if operation == "gemm" else ""
        for kind, name, at in (("a", "ck-select", 1), ("c", "LightGBM", 2)):
            line = " ".join(f"{x_of(point[0]):.1f},{y_of(point[at]):.1f}" for point in points)
            parts.append(f'<polyline class="line {kind}{dashed}" points="{line}"/>')
            for point in points:
                words = f"{name}, {operation}, {point[0]:,} kernels: {duration(point[at])}"
                parts.append(
                    f'<circle class="dot {kind}" cx="{x_of(point[0]):.1f}" cy="{y_of(point[at]):.1f}" r="4">'
                    f"<title>{words}</title></circle>"
                )
                told.append(words)
                # The pool of 30 GEMM kernels is beside that of convolutions, and too near for words of its own.
                if operation == "conv" or point[0] != 30:
                    parts.append(
                        text(x_of(point[0]) - 6, y_of(point[at]) - 9, duration(point[at]), f"label {kind}", "end")
                    )
    key = [("a", "ck-select: features, scores and order"), ("c", "LightGBM 4.7: scores of a ready matrix")]
    for at, (kind, words) in enumerate(key):
        parts.append(text(LEFT + 14, TOP + 14 + 20 * at, words, f"label {kind}"))
    parts.append(text(LEFT + 14, TOP + 54, "solid: convolution, dashed: GEMM; 2,000 trees of 255 leaves, one core"))
    return svg("Time to rank a pool of kernels for one problem", f"{'; '.join(told)}.", parts)


def main() -> int:
    """Draws or compares; 1 when a committed figure is not what its data give."""
    wrong = 0
    for name, draw in (("efficiency.svg", efficiency), ("time.svg", time)):
        path, drawn = IMAGES / name, draw()
        if "--check" not in sys.argv[1:]:
            path.write_text(drawn)
        elif not path.is_file() or path.read_text() != drawn:
            print(
                f"figures: {path.relative_to(ROOT)} is not what its data give: run `make figures` and commit it",
                file=sys.stderr,
            )
            wrong = 1
    return wrong


if __name__ == "__main__":
    sys.exit(main())
