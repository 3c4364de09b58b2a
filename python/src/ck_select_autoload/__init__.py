"""What ``import torch`` calls where this package is installed, for programs that ``CK_SELECT_INDUCTOR=4`` changes.

An entry point of ``torch.backends``. It is a package of its own, because importing ``ck_select`` loads the library: no
program pays for it that does not set the variable, and none fails.
"""

from __future__ import annotations

import os


def autoload() -> None:
    """Enables ``ck_select.inductor`` if the variable is set."""
    if not os.environ.get("CK_SELECT_INDUCTOR"):
        return
    try:
        from ck_select.inductor import enable_by_variable

        enable_by_variable()
    except Exception as error:
        import logging

        logging.getLogger("ck_select").warning("CK_SELECT_INDUCTOR has no effect: %s", error)
