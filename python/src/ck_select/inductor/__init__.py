"""PyTorch's Inductor tries the few Triton GEMM kernels that come first of all that it knows.

.. code-block:: python

    import ck_select.inductor

    ck_select.inductor.enable(top=4)
    torch.compile(model, mode="max-autotune")

With ``max_autotune``, Inductor then makes and times four kernels of its exhaustive list (hundreds to more than a
thousand) beside ATen's, in place of about twenty of a fixed list. An error of ours never breaks a compilation: one
warning, then Inductor's own list. ``CK_SELECT_INDUCTOR=4`` (or ``sure``) does the same without a change of the
program, where the package is installed; ``python -m ck_select.inductor --check`` says what would happen here.
"""

from __future__ import annotations

import hashlib
import os
from operator import index
from pathlib import Path
from types import TracebackType
from typing import Any

from ..triton.kernels import SURE, Top
from . import record as _record
from .choices import REPLACED, Factory, Settings, active, reach_all_threads, warn_once, wrapped

__all__ = ["Enabled", "disable", "enable", "is_enabled"]

VARIABLE = "CK_SELECT_INDUCTOR"


class Enabled:
    """What :func:`enable` returns: as a context manager, it ends with the block."""

    def __enter__(self) -> Enabled:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        disable()


# What was there before, for each time that it was enabled.
_BEFORE: list[tuple[Any, Any, Any]] = []


def enable(
    top: Top = 4,
    *,
    model: str | os.PathLike[str] | None = None,
    arch: str | None = None,
    record: str | os.PathLike[str] | None = None,
) -> Enabled:
    """From now on Inductor tries the first ``top`` of all its Triton candidates.

    ``top="sure"``: for each shape as many as have to be measured for the fastest of them to be within 2 % of the best
    of all, with a chance of 90 %; 8 where nobody knows how many these are.

    It does so for mm, addmm, bmm, baddbmm and scaled_mm, of 16 and 8 bits.

    ``model`` is a model directory, or ``"estimate"``, in place of the universal model; ``arch`` the GPU, if it is not
    the one of the tensors. Whatever Inductor times is appended to the sweep ``record``, from which ``ckselect tune``
    and ``train`` make a model of this GPU. A subclass of ``InductorChoices`` that is already set goes on
    deciding everything but the candidates of these operations.
    Works with or without ``with``.
    """
    settings = _settings(top, model, arch)
    from torch._inductor import config
    from torch._inductor.virtualized import V

    _check_seam()
    before = (config.inductor_choices_class, V.choices, _RECORDED[0])
    config.inductor_choices_class = Factory(settings, getattr(before[0], "before", before[0]))
    V.set_choices_handler(wrapped(before[1]))
    reach_all_threads()
    _BEFORE.append(before)
    _RECORDED[0] = None if record is None else (os.path.abspath(record), arch)
    _listen()
    return Enabled()


def disable() -> None:
    """Takes back the latest :func:`enable`; none is needed."""
    if not _BEFORE:
        return
    from torch._inductor import config
    from torch._inductor.virtualized import V

    config.inductor_choices_class, handler, _RECORDED[0] = _BEFORE.pop()
    V.set_choices_handler(handler)


# The sweep to which times are appended now, and the GPU that the caller told.
_RECORDED: list[tuple[str, str | None] | None] = [None]


def _saw(timings: Any, name: str, *_: Any) -> None:
    """Called by Inductor with what it timed."""
    if _RECORDED[0] is None:
        return
    file, arch = _RECORDED[0]
    try:
        _record.append(file, _record.rows_of(timings, name, arch))
    except Exception as error:
        warn_once(error, "nothing is recorded")


def _listen() -> None:
    """Inductor has no way to take one of several listeners back, so ours stays, and is asked once."""
    from torch._inductor import select_algorithm

    if _RECORDED[0] is not None and _saw not in select_algorithm.get_algorithm_selector_cache().feedback_saver_fns:
        select_algorithm.add_feedback_saver(_saw)


def is_enabled() -> bool:
    """Whether Inductor asks."""
    return active() is not None


def _settings(top: Any, model: Any = None, arch: str | None = None) -> Settings:
    top = SURE if top == SURE else index(top)
    if top != SURE and top < 1:
        raise ValueError(f"top: found {top}, expected 1 or more candidates, or {SURE}")
    if model is None or model == "estimate":
        return Settings(top, model, arch)
    digest = hashlib.sha256()
    for file in sorted(Path(model).iterdir()):
        digest.update(file.name.encode() + file.read_bytes())
    return Settings(top, os.fspath(model), arch, digest.hexdigest())


def _check_seam() -> None:
    """Refuses versions of torch that choose otherwise."""
    import torch
    from torch._inductor.choices import InductorChoices

    missing = [name for name in REPLACED if not hasattr(InductorChoices, name)]
    if missing:
        raise RuntimeError(f"torch {torch.__version__} has no InductorChoices.{missing[0]}: expected 2.11 to 2.15")


def enable_by_variable() -> None:
    """What ``CK_SELECT_INDUCTOR=4`` does while torch is imported. What is wrong with it is a warning."""
    try:
        word = os.environ.get(VARIABLE, "")
        settings = _settings(word if word == SURE else int(word))
        from torch._inductor import config

        config.inductor_choices_class = Factory(settings, config.inductor_choices_class)
    except Exception as error:
        warn_once(error)
