"""Figures where they stand in a document: found by section and by the words before them, compared, or written."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# Not the 10 of P10, nor the 31 of gemm31.
NUMBER = re.compile(r"(?<![A-Za-z\d.,_])\d+(?:\.\d+)?(?![\d_]|,\d)")


class Gone(Exception):
    """A document has no such place; says which."""


@dataclass(frozen=True)
class Place:
    """Figures of a document.

    In a table, `words` are the first cell of a row, of the `nth` such row, and `cells` the first and last cell (the
    first one is 0) in which they stand; elsewhere they follow `words`. `part` is one of several, between semicolons.
    """

    file: str
    section: str
    words: str
    cells: tuple[int, int] | None = None
    part: int | None = None
    nth: int = 0

    def section_of(self, text: str) -> tuple[int, int]:
        """Where the section begins and ends."""
        head = re.search(rf"^## {re.escape(self.section)}$", text, re.M)
        if head is None:
            raise Gone(f"{self.file} has no section '{self.section}'")
        following = text.find("\n## ", head.end())
        return head.end(), following if following >= 0 else len(text)

    def span(self, text: str) -> tuple[int, int]:
        """Where the figures are."""
        begin, end = self.section_of(text)
        # Words may go on in the next line.
        words = r"\s+".join(map(re.escape, self.words.split()))
        pattern = rf"^\| {words} \|.*$" if self.cells else words
        found = list(re.compile(pattern, re.M).finditer(text, begin, end))
        if len(found) <= self.nth:
            raise Gone(f"{self.file}, '{self.section}' has no '{self.words}'")
        match = found[self.nth]
        if self.cells is None:
            return match.end(), end
        bars = [match.start() + at for at, sign in enumerate(match[0]) if sign == "|"]
        begin, end = bars[self.cells[0]] + 1, bars[self.cells[1] + 1]
        if self.part is None:
            return begin, end
        parts = [begin, *(begin + at + 1 for at, sign in enumerate(text[begin:end]) if sign == ";"), end + 1]
        if len(parts) < self.part + 2:
            raise Gone(f"{self.file}, '{self.words}' has {len(parts) - 1} parts in the cell")
        return parts[self.part], parts[self.part + 1] - 1

    def figures(self, count: int) -> list[re.Match[str]]:
        """So many figures from there on, as they are written."""
        text = (ROOT / self.file).read_text()
        begin, end = self.span(text)
        found = list(NUMBER.finditer(text, begin, end))[:count]
        if len(found) < count:
            raise Gone(f"{self.file}, '{self.words}' has {len(found)} figures where {count} are made")
        return found

    def write(self, values: list[str]) -> None:
        """Puts others in their place."""
        file = ROOT / self.file
        text = file.read_text()
        for match, value in reversed(list(zip(self.figures(len(values)), values))):
            text = text[: match.start()] + value + text[match.end() :]
        file.write_text(text)


def differing(found: list[re.Match[str]], made: list[float], noise: float) -> list[tuple[str, str]]:
    """What is written and what is made, where these differ by more than rounding and noise."""
    wrong = []
    for match, value in zip(found, made):
        digits = len(match[0].partition(".")[2])
        # Half of the last digit, and a hair for what lies in the middle.
        if abs(float(match[0]) - value) > 0.502 * 10**-digits + noise:
            wrong.append((match[0], f"{value:.{digits}f}"))
    return wrong


def sections_with_tables(file: str) -> list[str]:
    """The sections of a document that have a table."""
    parts = re.split(r"^## (.*)$", (ROOT / file).read_text(), flags=re.M)
    return [head for head, body in zip(parts[1::2], parts[2::2]) if re.search(r"^\|[-|: ]+\|$", body, re.M)]
