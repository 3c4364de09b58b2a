"""Compares the binary interface of two checkouts: what programs compiled with the older one need of the newer.

    abi.py OLD NEW

Functions stay exported (include/exports.txt), fields stay where they are and structs do not shrink (tests/golden/layouts.txt, which a test
compares with the compilers), enumerators keep their values (include/*.h). All of it may change where CK_SELECT_ABI_VERSION rises.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path


def interface(folder: Path) -> tuple[int, dict[str, int]]:
    """The number of the interface, and each thing in it with its value: 0 of a function, an offset of a field."""
    headers = "".join(file.read_text(encoding="utf-8") for file in sorted((folder / "include").glob("*.h")))
    things = {name: int(value) for name, value in re.findall(r"^ *(CK_\w+) = (\d+)", headers, re.MULTILINE)}
    exports = (folder / "include/exports.txt").read_text(encoding="utf-8").splitlines()
    things |= {f"{line}()": 0 for line in exports if not line.startswith("#")}
    struct = ""
    for line in (folder / "tests/golden/layouts.txt").read_text(encoding="utf-8").splitlines():
        name, value = line.split()
        struct = struct if line.startswith(" ") else name
        things[f"{struct}.{name}" if line.startswith(" ") else f"sizeof({name})"] = int(value)
    version = re.search(r"^#define CK_SELECT_ABI_VERSION (\d+)", headers, re.MULTILINE)
    if not version:
        raise SystemExit(f"abi: {folder}: no CK_SELECT_ABI_VERSION")
    return int(version[1]), things


def is_taken(name: str, old: dict[str, int], new: dict[str, int]) -> bool:
    """Whether a field has taken the place of a reserved one, which was 0 in older programs."""
    struct, _, field = name.rpartition(".")
    return field == "reserved" and old[name] in [at for other, at in new.items() if other.startswith(f"{struct}.")]


def breaks(old: dict[str, int], new: dict[str, int]) -> list[str]:
    """A line for each thing that older programs would miss or find elsewhere."""
    gone = [f"{name} is gone" for name in old if name not in new and not is_taken(name, old, new)]
    grows = [name for name in old if name.startswith("sizeof") and new.get(name, 0) > old[name]]
    moved = [name for name in old if name in new and new[name] != old[name] and name not in grows]
    return gone + [f"{name} was {old[name]}, is {new[name]}" for name in moved]


def main(before: str, now: str) -> None:
    """Prints what breaks, and fails if anything does."""
    (old_version, old), (new_version, new) = interface(Path(before)), interface(Path(now))
    if new_version > old_version:
        print(f"abi: CK_SELECT_ABI_VERSION rises from {old_version} to {new_version}: everything may change")
        return
    found = breaks(old, new)
    print("\n".join(f"abi: {line}" for line in found) or f"abi: {len(old)} things as before, {len(new) - len(old)} more")
    raise SystemExit(bool(found))


if __name__ == "__main__":
    main(*sys.argv[1:])
