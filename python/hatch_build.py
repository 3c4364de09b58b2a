"""Puts libck_select.so into the wheel, and names the wheel by what that library needs of the system.

``CK_SELECT_LIBRARY`` names a library that is built already; without it, cargo builds one.
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


class BuildHook(BuildHookInterface[Any]):
    """The custom hook of pyproject.toml."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Called before files are collected."""
        if version == "editable":
            raise RuntimeError("editable installation is not supported: set PYTHONPATH and CK_SELECT_LIBRARY instead")
        given = os.environ.get("CK_SELECT_LIBRARY")
        library = Path(given).resolve() if given else self._build()
        build_data["force_include"][str(library)] = f"ck_select/{_LIBRARY}"
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{_platform_tag(library)}"

    def _build(self) -> Path:
        repository = Path(self.root).parent
        if not (repository / "Cargo.toml").exists():
            raise RuntimeError(f"{repository}: no Cargo.toml; build in a checkout, or set CK_SELECT_LIBRARY")
        command = [
            os.environ.get("CARGO", "cargo"),
            "build",
            "--release",
            "--locked",
            "--package",
            "ck-select",
            "--lib",
        ]
        subprocess.run(command, cwd=repository, check=True)
        target = Path(os.environ.get("CARGO_TARGET_DIR", repository / "target"))
        return (repository / target / "release" / _LIBRARY).resolve()


def _platform_tag(library: Path) -> str:
    """The oldest manylinux that the library runs on: its newest glibc symbol decides."""
    machine = platform.machine()
    versions = re.findall(rb"GLIBC_(\d+)\.(\d+)", library.read_bytes())
    if not versions:
        return f"linux_{machine}"
    major, minor = max((int(major), int(minor)) for major, minor in versions)
    return f"manylinux_{major}_{minor}_{machine}"
