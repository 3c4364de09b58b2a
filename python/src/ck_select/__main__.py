"""``python -m ck_select``, and the script ``ckselect``: replaces this process by the command line."""

from __future__ import annotations

import os
import sys

from .commands import NAME, command


def main() -> None:
    """Replaces this process by the program, with the same arguments."""
    try:
        program = command()
        sys.stdout.flush()
        sys.stderr.flush()
        os.execv(program, [NAME, *sys.argv[1:]])
    except OSError as error:
        sys.exit(f"{NAME}: {error}")


if __name__ == "__main__":
    main()
