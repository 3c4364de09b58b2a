"""What a ranking is to Python: a list of (kernel, TFLOPS), which notebooks show as a table."""

from __future__ import annotations

from html import escape

_SHOWN = 30


class Ranking(list[tuple[str, float]]):
    """(name, TFLOPS) of kernels, best first."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><td>{rank}</td><td>{escape(str(name))}</td><td>{tflops:.1f}</td></tr>"
            for rank, (name, tflops) in enumerate(self[:_SHOWN], 1)
        )
        more = f"<p>and {len(self) - _SHOWN} more</p>" if len(self) > _SHOWN else ""
        return (
            f"<table><thead><tr><th></th><th>kernel</th><th>TFLOPS</th></tr></thead><tbody>{rows}</tbody></table>{more}"
        )
