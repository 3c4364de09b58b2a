"""Plots of efficiencies and rankings. matplotlib is imported on first use."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any


def plot_efficiency(choices: Mapping[str, Iterable[float]], axes: Any = None) -> Any:
    """Draws the efficiency of choices by problem, the worst first, on axes of matplotlib, and returns these.

    ``choices`` has a list of efficiencies, 1.0 for the fastest kernel, for each way of choosing; a frame will do.
    """
    axes = _axes() if axes is None else axes
    for name, efficiencies in choices.items():
        percent = sorted(100 * value for value in efficiencies)
        if not percent:
            raise ValueError(f"choices: '{name}' has no efficiency, expected at least one")
        axes.plot(percent, label=f"{name}, mean {sum(percent) / len(percent):.1f} %")
    axes.set(xlabel="problems, worst first", ylabel="speed, % of the fastest kernel", ylim=(0, 103))
    axes.grid(alpha=0.3)
    axes.legend()
    return axes


def plot_ranking(ranking: Iterable[tuple[str, float]], count: int = 10, axes: Any = None) -> Any:
    """Draws the first kernels of a ranking as bars, the best on top, on axes of matplotlib, and returns these."""
    axes = _axes() if axes is None else axes
    first = list(ranking)[:count]
    axes.barh([name for name, _ in first], [speed for _, speed in first])
    axes.invert_yaxis()
    axes.set(xlabel="predicted TFLOPS")
    return axes


def _axes() -> Any:
    from matplotlib import pyplot

    return pyplot.subplots(figsize=(8, 4), layout="constrained")[1]
