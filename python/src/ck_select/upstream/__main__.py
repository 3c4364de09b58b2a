"""``python -m ck_select.upstream SCRIPT [ARGUMENT...]`` or ``-m MODULE [ARGUMENT...]``: runs it with this package."""

from __future__ import annotations

import os
import runpy
import sys

from . import install


def main() -> None:
    """Runs the script or module of the command line."""
    arguments = sys.argv[1:]
    is_module = arguments[:1] == ["-m"]
    given = arguments[1:] if is_module else arguments
    if not given or given[0].startswith("-"):
        sys.exit(f"usage: {os.path.basename(sys.executable)} -m ck_select.upstream [-m MODULE | SCRIPT] [ARGUMENT...]")
    install()
    sys.argv = given
    if is_module:
        runpy.run_module(given[0], run_name="__main__", alter_sys=True)
    else:
        sys.path[0] = os.path.dirname(os.path.abspath(given[0]))
        runpy.run_path(given[0], run_name="__main__")


if __name__ == "__main__":
    main()
