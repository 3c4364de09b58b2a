"""Draws the figure of README from committed results: `make figures`.

    figures.py [--check]

docs/images/efficiency.csv, which says how it was made, becomes docs/images/efficiency.svg. `--check` only compares.
What README says has to be what is drawn.
"""

import csv
import sys
from html import escape
from pathlib import Path
from statistics import fmean, quantiles

ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT / "docs/images/efficiency.csv"
FIGURE = DATA.with_suffix(".svg")
# By their columns in the data.
CHOICES = {
    "ck_select": ("a", "ck-select, problems held out of training"),
    "estimate": ("b", "ck-select's estimate, no model"),
    "universal": ("d", "a universal model without MI355X data"),
    "upstream": ("c", "upstream's predictor"),
}
WIDTH, HEIGHT = 760, 400
# The plot's edges.
LEFT, RIGHT, TOP, BOTTOM = 62, 742, 46, 344

STYLE = """
    .axis { stroke: #8c959f; } .grid { stroke: #d8dee4; } .tick { fill: #57606a; font-size: 12px; } .head { fill: #1f2328; font-weight: 600; }
    .a { color: #0969da; } .b { color: #1a7f37; } .c { color: #bc4c00; } .d { color: #8250df; }
    .line { fill: none; stroke: currentColor; stroke-width: 2.2; stroke-linejoin: round; } .label { fill: currentColor; font-size: 13px; }
    @media (prefers-color-scheme: dark) {
      .axis { stroke: #656c76; } .grid { stroke: #2b3138; } .tick { fill: #9198a1; } .head { fill: #f0f6fc; }
      .a { color: #4493f8; } .b { color: #3fb950; } .c { color: #f0883e; } .d { color: #a371f7; }
    }
"""  # noqa: E501


def svg(title: str, description: str, parts: list[str]) -> str:
    """A picture."""
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" '
            'role="img" aria-labelledby="title desc" '
            'font-family="system-ui, -apple-system, \'Segoe UI\', Helvetica, Arial, sans-serif" font-size="14">',
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


def axes(x_of, y_of) -> list[str]:
    """Grid, ticks and the horizontal axis's title."""
    parts = [f'<line class="axis" x1="{LEFT}" y1="{BOTTOM}" x2="{RIGHT}" y2="{BOTTOM}"/>']
    for value in range(60, 101, 10):
        y = y_of(value / 100)
        parts.append(f'<line class="grid" x1="{LEFT}" y1="{y:.1f}" x2="{RIGHT}" y2="{y:.1f}"/>')
        parts.append(text(LEFT - 8, y + 4, f"{value} %", anchor="end"))
    parts += [text(x_of(share / 100), BOTTOM + 20, f"{share} %", anchor="middle") for share in range(0, 101, 20)]
    title = "problems, from the worst choice to the best"
    return [*parts, text((LEFT + RIGHT) / 2, BOTTOM + 42, title, anchor="middle")]


def percent(share: float) -> str:
    """A share as README says it; an error if it does not."""
    words = f"{share:.2%}".replace("%", " %")
    if words not in (ROOT / "README.md").read_text():
        sys.exit(f"figures: README.md does not say {words}, which {DATA.relative_to(ROOT)} gives")
    return words


def efficiency() -> str:
    """Efficiency over problems, sorted, of four ways to choose."""
    with DATA.open() as file:
        rows = list(csv.DictReader(line for line in file if not line.startswith("#")))

    def x_of(share: float) -> float:
        return LEFT + share * (RIGHT - LEFT)

    def y_of(value: float) -> float:
        return BOTTOM - (value - 0.6) / 0.4 * (BOTTOM - TOP)

    parts, told, key = axes(x_of, y_of), [], []
    for at, (column, (kind, label)) in enumerate(CHOICES.items()):
        speeds = sorted(float(row[column]) for row in rows)
        tenth = quantiles(speeds, n=10, method="inclusive")[0]
        words = f"{label}: mean {percent(fmean(speeds))}, P10 {percent(tenth)}"
        points = " ".join(
            f"{x_of(place / (len(speeds) - 1)):.1f},{y_of(speed):.1f}" for place, speed in enumerate(speeds)
        )
        parts.append(f'<polyline class="line {kind}" points="{points}"><title>{escape(words)}</title></polyline>')
        y = y_of(0.735) + 22 * at
        x1, x2 = f"{x_of(0.26):.1f}", f"{x_of(0.30):.1f}"
        key.append(f'<line class="line {kind}" x1="{x1}" y1="{y - 4:.1f}" x2="{x2}" y2="{y - 4:.1f}"/>')
        key.append(text(x_of(0.31), y, words, f"label {kind}"))
        told.append(words)
    title = f"Speed of the chosen kernel, relative to the fastest: {len(rows)} convolutions, MI355X"
    return svg(title, f"Efficiency of the choices, sorted. {'. '.join(told)}.", parts + key)


def main() -> int:
    """Draws or compares; 1 when the committed figure is not what its data give."""
    drawn = efficiency()
    if "--check" not in sys.argv[1:]:
        FIGURE.write_text(drawn)
    elif not FIGURE.is_file() or FIGURE.read_text() != drawn:
        print(
            f"figures: {FIGURE.relative_to(ROOT)} is not what its data give: run `make figures` and commit it",
            file=sys.stderr,
        )
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
