"""Trains a shipped model again by its card, and compares: `make model MODEL=NAME [DATA=DIR]`.

The card has the command, and the digest of each file of data, by which it is found here or in DATA, whatever it is
called there. What chooses has to be the same to the byte: each forest up to the end of its trees (LightGBM's own
parameters follow), the spec and the sureness. The card has words that people wrote, and the manifest the day.
"""

from __future__ import annotations

import gzip
import hashlib
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

from commands import CKSELECT, ELSEWHERE, OUT
from documents import ROOT


def digest(file: Path) -> str:
    """SHA-256."""
    return hashlib.sha256(file.read_bytes()).hexdigest()


def link_data(card: str, folder: Path) -> None:
    """Puts the card's files of data into a folder, under the names that its command has."""
    wanted = dict(re.findall(r"^\| (\S+) \| \d+ \| `([0-9a-f]{64})` \|", card, re.M))
    places = [ROOT / "data", *([ELSEWHERE] if ELSEWHERE else [])]
    files = [file for place in places for file in place.rglob("*") if file.suffix in (".parquet", ".csv", ".gz")]
    by_digest = {digest(file): file for file in files}
    lacking = [name for name, known in wanted.items() if known not in by_digest]
    if lacking:
        sys.exit(f"model: neither data nor DATA={ELSEWHERE or ''} has {', '.join(lacking)} of the digests in the card")
    for name, known in wanted.items():
        (folder / name).symlink_to(by_digest[known])


def command(card: str) -> list[str]:
    """The words behind `ckselect` of the command that trains it."""
    found = re.search(r"^\$ ckselect (.*)$", card, re.M)
    if found is None:
        sys.exit("model: the card has no command")
    return shlex.split(found[1])


def what_chooses(file: Path) -> bytes:
    """A file's bytes; of a forest those of its trees."""
    if file.name.endswith(".lgbm.gz"):
        return gzip.decompress(file.read_bytes()).partition(b"\nend of trees\n")[0]
    return file.read_bytes()


def compare(shipped: Path, made: Path) -> int:
    """How many files of a model differ in what chooses."""
    wrong = 0
    for file in sorted(shipped.iterdir()):
        if file.name in ("MODEL_CARD.md", "train_manifest.json"):
            continue
        again = made / file.name
        same = again.is_file() and what_chooses(again) == what_chooses(file)
        wrong += not same
        print(f"model: {file.name}: {'the same' if same else 'differs' if again.is_file() else 'not made'}")
    return wrong


def main(name: str) -> int:
    """1 where a file differs."""
    shipped, folder = ROOT / "models" / name, OUT / "models" / name
    if not shipped.is_dir():
        sys.exit(
            f"model: MODEL is one of {', '.join(sorted(each.parent.name for each in shipped.parent.glob('*/*.md')))}"
        )
    card = (shipped / "MODEL_CARD.md").read_text()
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    link_data(card, folder)
    print(f"model: training {name}", flush=True)
    subprocess.run([CKSELECT, *command(card)], cwd=folder, check=True)
    return int(compare(shipped, folder / name) > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1] if len(sys.argv) > 1 else ""))
