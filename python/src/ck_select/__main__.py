"""``python -m ck_select``, and ``ckselect`` of an installed package: the command line, in the place of this process."""

from __future__ import annotations

import os
import sys
from pathlib import Path

_NAME = "ckselect"


def command() -> Path:
    """The program: ``CK_SELECT_COMMAND``, else the one of the wheel, else the one beside ``CK_SELECT_LIBRARY``."""
    given = os.environ.get("CK_SELECT_COMMAND")
    if given:
        return Path(given)
    library = os.environ.get("CK_SELECT_LIBRARY")
    places = [Path(__file__).with_name(_NAME), *([Path(library).with_name(_NAME)] if library else [])]
    for place in places:
        if place.is_file():
            return place
    raise FileNotFoundError(f"no {places[0]}: install the package with pip, or set CK_SELECT_COMMAND to a {_NAME}")


def main() -> None:
    """Becomes the program, with this process's arguments."""
    try:
        program = command()
        sys.stdout.flush()
        sys.stderr.flush()
        os.execv(program, [_NAME, *sys.argv[1:]])
    except OSError as error:
        sys.exit(f"{_NAME}: {error}")


if __name__ == "__main__":
    main()
