"""Prints what is linked into what these packages of the workspace build, as a CycloneDX bill of materials.

    sbom.py PACKAGE...

Licences and dependencies are cargo's, checksums those of Cargo.lock. The time is SOURCE_DATE_EPOCH, so that a build can be repeated.
"""

from __future__ import annotations

import json
import os
import re
import sys
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from licences import CARGO, linked, run

CHECKSUM = re.compile(r'name = "(.*)"\nversion = "(.*)"\nsource = .*\nchecksum = "(.*)"')


def component(crate: dict[str, Any], checksums: dict[tuple[str, str], str]) -> dict[str, Any]:
    """A crate as the format describes it; ours have no checksum."""
    name, version = crate["name"], crate["version"]
    purl = f"pkg:cargo/{name}@{version}"
    text = {"type": "library", "bom-ref": purl, "name": name, "version": version, "purl": purl}
    # Old crates write `MIT/Apache-2.0`, which is no expression.
    text["licenses"] = [{"expression": crate["license"].replace("/", " OR ")}]
    checksum = checksums.get((name, version))
    return text | ({"hashes": [{"alg": "SHA-256", "content": checksum}]} if checksum else {})


def main(packages: list[str]) -> None:
    """Prints it."""
    wanted = linked(packages)
    metadata = json.loads(run(CARGO, "metadata", "--locked", "--format-version=1"))
    crates = {one["id"]: one for one in metadata["packages"] if (one["name"], one["version"]) in wanted}
    found = CHECKSUM.findall(Path("Cargo.lock").read_text(encoding="utf-8"))
    checksums = {(name, version): checksum for name, version, checksum in found}
    components = {key: component(one, checksums) for key, one in crates.items()}
    bare = [one["name"] for key, one in crates.items() if one["source"] and "hashes" not in components[key]]
    if bare:
        raise SystemExit(f"sbom: Cargo.lock has no checksum of {', '.join(bare)}")
    by_name = {one["name"]: components[key] for key, one in crates.items()}
    needs = {"release": [by_name[name]["bom-ref"] for name in packages]}
    for node in metadata["resolve"]["nodes"]:
        if node["id"] in components:
            below = {components[key]["bom-ref"] for key in node["dependencies"] if key in components}
            needs[components[node["id"]]["bom-ref"]] = sorted(below)
    time = datetime.fromtimestamp(int(os.environ["SOURCE_DATE_EPOCH"]), timezone.utc)
    release = {"type": "application", "bom-ref": "release", "name": packages[0], "version": by_name[packages[0]]["version"]}
    bill = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {
            "timestamp": f"{time:%Y-%m-%dT%H:%M:%SZ}",
            "component": release,
        },
        "components": sorted(components.values(), key=lambda one: one["bom-ref"]),
        "dependencies": [{"ref": ref, "dependsOn": below} for ref, below in sorted(needs.items())],
    }
    print(json.dumps(bill, indent=1))


if __name__ == "__main__":
    main(sys.argv[1:])
