"""``python -m ck_select``, and ``ckselect`` of an installed package: the command line, which replaces this process."""

from __future__ import annotations

import os
import sys

from .commands import NAME, command


def main() -> None:
    """Becomes the program, with this process's arguments."""
    try:
        program = command()
        sys.stdout.flush()
        sys.stderr.flush()
        os.execv(program, [NAME, *sys.argv[1:]])
    except OSError as error:
        sys.exit(f"{NAME}: {error}")


if __name__ == "__main__":
    main()
