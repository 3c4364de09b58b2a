"""Collects every message of the product into one file, so that they can be read in one go, and checks their form: make messages.

A message is a text literal of at least three words outside of tests: errors, notes, warnings. Help and the documentation of
fields, which are sentences with a capital and a full stop, are not.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LITERAL = re.compile(r"""b?'(?:[^'\\]|\\.)'|"((?:[^"\\]|\\.)*)\"""", re.S)
TESTS = re.compile(r"\n#\[cfg\(test\)\]\n(pub\(crate\) )?mod \w+ \{")
RULES = {
    "begins with a capital": re.compile(
        r"^(Cannot|Could|Error|Failed|Found|Invalid|Missing|No|Unable|Unknown|Wrong)\b"
    ),
    "says that something is bad, not what was found and what is accepted": re.compile(
        r"\b(illegal|malformed|bad value)\b", re.I
    ),
    "shouts": re.compile(r"!$"),
}


def literals(path: Path) -> list[tuple[int, str]]:
    text = path.read_text(encoding="utf-8")
    tests = TESTS.search(text)
    text = re.sub(r"(?m)^\s*//.*$", "", text[: tests.start()] if tests else text)
    found = []
    for match in LITERAL.finditer(text):
        literal = re.sub(r"\\\n\s*", "", match[1] or "")
        if len(re.findall(r"[A-Za-z]{2,}", literal)) >= 3 and " " in literal and not literal.startswith("Examples:"):
            found.append((text.count("\n", 0, match.start()) + 1, literal))
    return found


def main() -> int:
    listed = subprocess.run(["git", "ls-files", "*.rs"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    product = [name for name in listed.split() if re.match(r"(src|crates/\w+/src)/", name)]
    product = [name for name in product if not re.search(r"(^|/)tests(/|\.rs)|^crates/(parity|loom)/", name)]
    product = [name for name in product if not re.search(r"/page/|/card\.rs$", name)]
    messages, faults = [], []
    for name in product:
        for line, text in literals(ROOT / name):
            if re.match(r"[A-Z][^A-Z]", text) and text.rstrip().endswith("."):
                continue
            messages.append(f"{name}:{line}: {text}")
            faults += [f"{messages[-1]}\n    {rule}" for rule, pattern in RULES.items() if pattern.search(text)]
    out = Path(sys.argv[1])
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text("\n".join(messages) + "\n", encoding="utf-8")
    print(f"messages: {len(messages)} in {out}, {len(faults)} against the rules")
    print(*faults, sep="\n", end="\n" if faults else "")
    return bool(faults) or not messages


if __name__ == "__main__":
    sys.exit(main())
