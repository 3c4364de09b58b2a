"""Puts libck_select.so, ckselect and the models into the wheel, and names it by what they need of the system.

``CK_SELECT_LIBRARY`` and ``CK_SELECT_COMMAND`` name files that are built already; without them, cargo builds both.
``CK_SELECT_LICENCES`` names the licences of what is inside of them, for a wheel that is given away.
"""

from __future__ import annotations

import os
import platform
import re
import subprocess
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

_LIBRARY = "libck_select.so"
_COMMAND = "ckselect"


class BuildHook(BuildHookInterface[Any]):
    """The custom hook of pyproject.toml."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Called before files are collected."""
        if version == "editable":
            raise RuntimeError("editable installation is not supported: set PYTHONPATH and CK_SELECT_LIBRARY instead")
        command = self._made("CK_SELECT_COMMAND", _COMMAND, "--package", "ckselect", "--bin", _COMMAND)
        library = self._made("CK_SELECT_LIBRARY", _LIBRARY, "--package", "ck-select", "--lib")
        included = build_data["force_include"]
        included[str(library)] = f"ck_select/{_LIBRARY}"
        included[str(command)] = f"ck_select/{_COMMAND}"
        if licences := os.environ.get("CK_SELECT_LICENCES"):
            included[str(Path(licences).resolve())] = "ck_select/LICENSES-OF-OTHERS"
            included[str(Path(self.root).parent / "LICENSE")] = "ck_select/LICENSE"
        for spec in sorted((Path(self.root).parent / "models").glob("*/feature_spec.json")):
            included[str(spec.parent)] = f"ck_select/models/{spec.parent.name}"
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{_platform_tag(library, command)}"

    def _made(self, variable: str, file: str, *what: str) -> Path:
        given = os.environ.get(variable)
        if given:
            return Path(given).resolve()
        repository = Path(self.root).parent
        if not (repository / "Cargo.toml").exists():
            raise RuntimeError(f"{repository}: no Cargo.toml; build in a checkout, or set {variable}")
        cargo = os.environ.get("CARGO", "cargo")
        subprocess.run([cargo, "build", "--release", "--locked", *what], cwd=repository, check=True)
        target = Path(os.environ.get("CARGO_TARGET_DIR", repository / "target"))
        return (repository / target / "release" / file).resolve()


def _platform_tag(*programs: Path) -> str:
    """The oldest manylinux that all of them run on: the newest glibc symbol decides."""
    machine = platform.machine()
    versions = [found for file in programs for found in re.findall(rb"GLIBC_(\d+)\.(\d+)", file.read_bytes())]
    if not versions:
        return f"linux_{machine}"
    major, minor = max((int(major), int(minor)) for major, minor in versions)
    return f"manylinux_{major}_{minor}_{machine}"
