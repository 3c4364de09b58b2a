"""The seam: Inductor's choices of candidates, with ours in front of what was there."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from .. import _library
from ..triton.kernels import Top
from . import ck
from .problem import Problem, Ranker, name_of, parameters, problem_of, spills

# Below torch's own logger, so that TORCH_LOGS=inductor shows a line for each shape.
LOG = logging.getLogger("torch._inductor.ck_select")
_WARNED: set[str] = set()
REPLACED = ("get_ktc", "_finalize_template_configs")
"""The methods of Inductor's choices that ours come before."""


def warn_once(error: BaseException, what: str = "Inductor's own candidates are taken") -> None:
    """Says what an error of ours means, once for each reason."""
    reason = f"{type(error).__name__}: {error}"
    if reason not in _WARNED:
        _WARNED.add(reason)
        logging.getLogger("ck_select").warning("ck_select.inductor: %s: %s", what, reason)


@dataclass(frozen=True)
class Settings:
    """What the answers depend on, and so part of Inductor's cache key."""

    top: Top
    model: str | None = None
    arch: str | None = None
    digest: str = ""
    """That of the model's files."""

    def uuid(self) -> tuple[Any, ...]:
        """Compilations with other settings, or of another version of ours, are others."""
        return ("ck_select", _library.lib.ck_select_version().decode(), self.top, self.model, self.arch, self.digest)


@dataclass(frozen=True)
class Factory:
    """What ``torch._inductor.config.inductor_choices_class`` is set to. It is pickled for the cache key."""

    settings: Settings
    before: Callable[[], Any] | None = None

    def __call__(self) -> Any:
        """A handler in front of what would have been there."""
        from torch._inductor import choices

        # Since 2.15 several classes can be registered.
        create = getattr(choices, "create_inductor_choices", None)
        inner = create(self.before) if create else (self.before or choices.InductorChoices)()
        try:
            return wrapped(inner)
        except Exception as error:
            warn_once(error)
            return inner


@lru_cache(maxsize=8)
def _ranker_of(model: str | None, arch: str | None, digest: str) -> Ranker:
    return Ranker(model, arch)


def _ranker(settings: Settings) -> Ranker:
    """Kernels are prepared once, whoever asks and for however many candidates."""
    return _ranker_of(settings.model, settings.arch, settings.digest)


def wrapped(inner: Any) -> Any:
    """A handler that is the given one but for the choice among candidates, while ours is enabled."""
    inner = getattr(inner, "_ck_inner", inner)
    made: Any = object.__new__(type("CkSelectChoices", (_Overrides, type(inner)), {}))
    vars(made).update(vars(inner))
    own = {name: getattr(_Overrides, name).__get__(made) for name in REPLACED}
    # Classes that dispatch by themselves look here first.
    vars(made).update(own, _ck_inner=inner)
    return made


def reach_all_threads() -> None:
    """Each thread has a handler of its own, made when the thread first compiles. Autograd's thread, which compiles
    backward passes, keeps Inductor's handler if its first compilation was before ``enable``. So the methods of
    Inductor's class call ours while ours are enabled."""
    from torch._inductor.choices import InductorChoices

    for name in REPLACED:
        own = getattr(InductorChoices, name)
        if own.__module__ != __name__:
            setattr(InductorChoices, name, _reaching(own))


def _reaching(own: Callable[..., Any]) -> Callable[..., Any]:
    def method(self: Any, *arguments: Any, **options: Any) -> Any:
        if not _INSIDE.is_inside and active():
            try:
                ours = getattr(wrapped(self), own.__name__)
            except Exception as error:
                warn_once(error)
            else:
                return ours(*arguments, **options)
        return own(self, *arguments, **options)

    return method


class _Inside(threading.local):
    """Whether this thread is in one of our methods, which call those of the handler that was there."""

    is_inside = False


_INSIDE = _Inside()


@contextmanager
def _inside() -> Iterator[None]:
    before, _INSIDE.is_inside = _INSIDE.is_inside, True
    try:
        yield
    finally:
        _INSIDE.is_inside = before


def active() -> Settings | None:
    """What is enabled now, by torch's settings, which since 2.12 are the context's. Threads keep a handler of ours
    after the block that ours was enabled in."""
    from torch._inductor import config

    factory = config.inductor_choices_class
    return factory.settings if isinstance(factory, Factory) else None


class _Overrides:
    """The methods that are replaced."""

    _ck_inner: Any

    def uuid(self) -> tuple[Any, ...]:
        """Part of Inductor's cache key."""
        inner = self._ck_inner
        own = inner.uuid() if callable(getattr(inner, "uuid", None)) else type(inner).__qualname__
        settings = active()
        return (*settings.uuid(), own) if settings else ("ck_select", own)

    @_inside()
    def get_ktc(self, kernel_inputs: Any, template: Any, op_name: str, kwarg_overrides: Any = None) -> Any:
        """A template's candidates: of Triton's all that Inductor knows."""
        stock = self._ck_inner.get_ktc
        try:
            if active() and _is_triton(template) and _autotunes() and problem_of(kernel_inputs, op_name):
                with _whole_space():
                    return iter(list(stock(kernel_inputs, template, op_name, kwarg_overrides)))
        except Exception as error:
            warn_once(error)
        return stock(kernel_inputs, template, op_name, kwarg_overrides)

    @_inside()
    def _finalize_template_configs(
        self,
        template_choices: dict[str, Any],
        kernel_inputs: Any,
        templates: list[Any],
        op_name: str,
        kwarg_overrides: dict[str, dict[str, Any]] | None = None,
    ) -> list[Any]:
        """The first of Triton's candidates, and all others."""
        inner = self._ck_inner
        try:
            _listen()
            settings = active() if _autotunes() else None
            problem = problem_of(kernel_inputs, op_name) if settings else None
            chosen: list[Any] = inner._finalize_template_configs(
                template_choices, kernel_inputs, templates, op_name, kwarg_overrides
            )
            if settings is None or problem is None:
                return chosen
            return first(chosen, problem, _ranker(settings), settings.top, kernel_inputs.output_layout)
        except Exception as error:
            warn_once(error)
        told = kwarg_overrides or {}
        stock = {of.uid: inner.get_ktc(kernel_inputs, of, op_name, told.get(of.uid, {})) for of in templates}
        listed: list[Any] = inner._finalize_template_configs(stock, kernel_inputs, templates, op_name, kwarg_overrides)
        return listed


def first(
    chosen: list[Any], problem: Problem, ranker: Ranker, top: Top, output_layout: Callable[..., Any]
) -> list[Any]:
    """What is no candidate of Triton's, then the first of those that are, as far as they can be generated."""
    begin = time.perf_counter()
    others: list[Any] = []
    candidates: list[tuple[Any, str, bool]] = []
    arch = ranker.gpu(problem).arch
    for choice in chosen:
        config = parameters(choice)
        if config is None:
            others.append(choice)
        else:
            candidates.append((choice, name_of(choice, config, problem), spills(config, problem, arch)))
    if not candidates:
        return chosen
    places, enough = ranker.places(problem, [name for _, name, _ in candidates], top)
    # What the names do not say comes first: the model has seen no kernel that spills.
    order = sorted(range(len(candidates)), key=lambda number: (candidates[number][2], places[number]))
    took = (time.perf_counter() - begin) * 1e3
    kept: list[int] = []
    # Triton's code is generated for a layout that no longer changes; Inductor fixes it after this.
    layout = output_layout(flexible=False)
    for number in order:
        if len(kept) == enough:
            break
        if _is_generated(candidates[number][0], layout):
            kept.append(number)
    names = " ".join(candidates[number][1] for number in kept)
    LOG.info("ck_select: %s: %d of %d candidates in %.1f ms: %s", problem, len(kept), len(candidates), took, names)
    return others + [candidates[number][0] for number in kept]


def _listen() -> None:
    """Inductor has no way to take one of several functions back, so ours stays, and does nothing without a handler."""
    from torch._inductor import select_algorithm

    known = getattr(select_algorithm.get_algorithm_selector_cache(), "preprocessing_fns", None)
    if known is not None and few_instances not in known:
        select_algorithm.add_preprocessing_fn(few_instances)


def few_instances(choices: list[Any]) -> list[Any]:
    """Called by Inductor with what it would compile: of CK's instances the first stay."""
    try:
        settings = active()
        if settings is None:
            return choices
        few, names = ck.first(choices, _ranker(settings), settings.top)
    except Exception as error:
        warn_once(error, "all instances of CK are tried")
        return choices
    if names:
        dropped = len(choices) - len(few)
        LOG.info("ck_select: %d of %d instances of CK: %s", len(names), len(names) + dropped, " ".join(names))
    return few


def _is_generated(candidate: Any, layout: Any) -> bool:
    candidate.layout = layout
    return candidate.choice is not None


def _is_triton(template: Any) -> bool:
    return str(getattr(template, "uid", "")).startswith("triton::")


def _autotunes() -> bool:
    """Whether candidates are timed: otherwise the first of Inductor's own is taken."""
    from torch._inductor import config

    return bool(config.max_autotune or config.max_autotune_gemm)


def _whole_space() -> Any:
    """Inductor lists everything, and nobody else chooses from it."""
    from torch._inductor import config

    changes: dict[str, Any] = {"max_autotune_gemm_search_space": "EXHAUSTIVE"}
    if hasattr(getattr(config, "rocm", None), "origami"):
        changes["rocm.origami"] = False
    return config.patch(changes)
