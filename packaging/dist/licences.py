"""Prints the licence texts of everything that is linked into what these packages of the workspace build.

    licences.py PACKAGE...

Cargo says what that is; each crate's own files say under what. A text that several share is printed once. A crate
without a text is an error, not a gap.
"""

from __future__ import annotations

import html
import json
import os
import re
import subprocess
import sys
from pathlib import Path

# Crates that come without their text, and one of the same owner and licence that has it.
TEXT_OF = {"alloc-stdlib": "alloc-no-stdlib", "flatbuffers": "arrow-array"}
# C sources inside of a crate, with a licence of their own.
INSIDE = {"zstd-sys": ["zstd/LICENSE"]}
CARGO = os.environ.get("CARGO", "cargo")
RULE = f"\n{'=' * 80}\n"
LICENCE = re.compile(r"(licen[cs]e|copying|notice|unlicense)([-._].*)?", re.IGNORECASE)


def run(*command: str) -> str:
    """What a command prints."""
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def linked(packages: list[str]) -> set[tuple[str, str]]:
    """Names and versions of all crates that end up in the files that cargo builds: no build scripts, no macros."""
    chosen = [word for package in packages for word in ("--package", package)]
    tree = run(CARGO, "tree", "--locked", *chosen, "--edges=normal,no-proc-macro", "--prefix=none", "--format={p}")
    return {(words[0], words[1].removeprefix("v")) for words in map(str.split, tree.splitlines()) if words}


def texts_in(folder: Path, name: str) -> list[str]:
    """The licence files of a crate."""
    files = [file for file in sorted(folder.iterdir()) if file.is_file() and LICENCE.fullmatch(file.name)]
    files += [folder / file for file in INSIDE.get(name, [])]
    return [file.read_text(encoding="utf-8", errors="replace").strip("\n") for file in files]


def standard_library() -> str:
    """The toolchain's own notice, which is a page of HTML, as text."""
    page = Path(run("rustc", "--print", "sysroot").strip()) / "share/doc/rust/COPYRIGHT-library.html"
    if not page.exists():
        raise SystemExit(f"licences: {page} is missing: install Rust 1.89 or newer from https://rustup.rs")
    body = page.read_text(encoding="utf-8").split("<body>", 1)[1]
    text = html.unescape(re.sub(r"<[^>]*>", "", body))
    return re.sub(r"\n\s*\n(\s*\n)+", "\n\n", text).strip()


def main(packages: list[str]) -> None:
    """Prints them."""
    wanted = linked(packages)
    known = json.loads(run(CARGO, "metadata", "--locked", "--format-version=1"))["packages"]
    # Ours are those without a source.
    crates = [one for one in known if (one["name"], one["version"]) in wanted and one["source"]]
    crates.sort(key=lambda one: (one["name"], one["version"]))
    folders = {one["name"]: Path(one["manifest_path"]).parent for one in crates}
    owners: dict[str, list[str]] = {}
    print(f"{' and '.join(packages)}: what others wrote that is inside, and their licences.\n")
    for one in crates:
        name, folder = one["name"], Path(one["manifest_path"]).parent
        texts = texts_in(folder, name)
        if not texts and TEXT_OF.get(name) in folders:
            texts = texts_in(folders[TEXT_OF[name]], name)
        if not texts:
            raise SystemExit(f"licences: {folder} ({one['license']}) has no text: say in TEXT_OF who has it")
        print(f"{name} {one['version']}: {one['license']}")
        for text in texts:
            owners.setdefault(text, []).append(name)
    for text, names in owners.items():
        print(f"{RULE}{', '.join(dict.fromkeys(names))}{RULE}{text}")
    print(f"{RULE}The Rust standard library{RULE}{standard_library()}")


if __name__ == "__main__":
    main(sys.argv[1:])
