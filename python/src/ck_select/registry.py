"""Registries of kernels, like those of CK's dispatcher: register, select, run."""

from __future__ import annotations

import ctypes
import logging
import math
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, fields, replace
from operator import index
from types import TracebackType
from typing import Any, ClassVar, Literal, Union, cast, get_args

from . import _structs
from ._fields import FIELDS, Direction, Dtype, GemmLayout, Layout
from ._library import Handle, check, lib, take_text
from ._names import RESULTS
from ._problem import Problem, TorchDtype, check_parts, code, parts
from ._shipped import place_of
from .errors import InvalidInputError, NoKernelError
from .fmha import FmhaProblem
from .ranking import Sureness

_LOG = logging.getLogger("ck_select")

Source = Literal["override", "store", "model", "search", "estimate", "priority"]
SOURCES = get_args(Source)
Mode = Literal["model", "search", "refine", "priority"]
MODES = get_args(Mode)


@dataclass(frozen=True)
class GroupedConvProblem(Problem):
    """A grouped convolution with upstream's names.

    ``C``, ``K``, ``Hi``, ``Wi``, ``Y`` and ``X`` are required, as everywhere in ck-select. ``C`` and ``K`` are totals
    over all groups; pads are the same on both sides. It is 3D if ``Di`` or ``Z`` is greater than 1, or ``pad_d``
    greater than 0.
    """

    OPERATION: ClassVar[str] = "conv"
    _TOGETHER: ClassVar[dict[str, tuple[str, ...]]] = {
        "dtype": ("dtype_in", "dtype_wei", "dtype_out"),
        **{f"pad_{axis}": (f"pad_{axis}_left", f"pad_{axis}_right") for axis in "dhw"},
    }

    # In the order of upstream. Those without a number are required.
    N: int = 1
    C: int = cast(int, ...)
    K: int = cast(int, ...)
    G: int = 1
    Hi: int = cast(int, ...)
    Wi: int = cast(int, ...)
    Y: int = cast(int, ...)
    X: int = cast(int, ...)
    stride_h: int = 1
    stride_w: int = 1
    pad_h: int = 0
    pad_w: int = 0
    dilation_h: int = 1
    dilation_w: int = 1
    Di: int = 1
    Z: int = 1
    stride_d: int = 1
    pad_d: int = 0
    dilation_d: int = 1
    dtype: Union[Dtype, TorchDtype] = "bf16"
    direction: Direction = "forward"
    layout: Layout | None = None
    split_k: int | Literal["auto"] = 1
    arch: str | None = None
    # Made by tests/header/main.rs: fields of Conv.
    # End of what is made.

    @property
    def ndim(self) -> int:
        """2 or 3."""
        return 3 if self.Di > 1 or self.Z > 1 or self.pad_d > 0 else 2

    def to_dict(self) -> dict[str, Any]:
        """The dict for a predictor."""
        check_parts(self.split_k)
        return {name: value for name, value in vars(self).items() if value is not None}

    def _whole(self) -> dict[str, Any]:
        layout = self.layout if self.layout is not None else ("nhwgc" if self.ndim == 2 else "ndhwgc")
        return {**vars(self), "ndim": self.ndim, "layout": layout, "split_k": parts(self.split_k)}


@dataclass(frozen=True)
class GemmProblem(Problem):
    """A GEMM: C (M x N) = A (M x K) times B (K x N). ``dtype`` is that of A and B.

    With ``split_k`` ``"auto"`` or 0, a registry chooses with the kernel into how many parts K is split.

    The fields after ``arch`` request more than one plain GEMM; then only kernels that support this are chosen.
    ``groups`` are the GEMMs of one launch, ``(m, n, k, count)`` each; ``M``, ``N`` and ``K`` are then those of the
    one with the most work, or 1. Groups of elements that share a scale are ``(m, n, k)``; ``None`` is the default.
    """

    OPERATION: ClassVar[str] = "gemm"
    _TOGETHER: ClassVar[dict[str, tuple[str, ...]]] = {"dtype": ("dtype_a", "dtype_b")}

    M: int
    N: int
    K: int
    dtype: Union[Dtype, TorchDtype] = "fp8"
    layout: GemmLayout = "rcr"
    split_k: int | Literal["auto"] = 1
    dtype_c: Union[Dtype, TorchDtype, None] = None
    arch: str | None = None
    groups: tuple[tuple[int, int, int, int], ...] = ()
    # Made by tests/header/main.rs: fields of Gemm.
    batch: int = 0
    stream_k: str | None = None
    num_d: int = 0
    preshuffle: bool = False
    quant: str | None = None
    group_a: tuple[int, int, int] | None = None
    group_b: tuple[int, int, int] | None = None
    # End of what is made.

    def to_dict(self) -> dict[str, Any]:
        """The dict for a predictor."""
        check_parts(self.split_k)
        cells = {name: _cell(value) for name, value in vars(self).items() if value}
        extents = {name: cells.pop(name.upper(), 0) for name in "mnk"}
        if not self.groups:
            return {**extents, **cells}
        # A list of GEMMs has the extents.
        return {**cells, "groups": "+".join(f"{m}x{n}x{k}*{count}" for m, n, k, count in self.groups)}

    def _whole(self) -> dict[str, Any]:
        dtype_c = self.dtype_c or RESULTS.get(cast(str, self.dtype), self.dtype)
        return {**vars(self), "dtype_c": dtype_c, "split_k": parts(self.split_k)}

    def _as_struct(self) -> Any:
        """The problem in the library's form."""
        problem = super()._as_struct()
        groups = [_structs.GemmGroup(*map(index, one)) for one in self.groups]
        # The struct keeps the array that it points to.
        array = (_structs.GemmGroup * len(groups))(*groups)
        problem.request.groups.items = ctypes.cast(array, ctypes.POINTER(_structs.GemmGroup))
        problem.request.groups.count = len(groups)
        problem.request.groups.item_size = ctypes.sizeof(_structs.GemmGroup)
        return problem

    @classmethod
    def _of_struct(cls, struct: Any) -> Any:
        """The problem of a struct that a callback gets."""
        groups = struct.request.groups
        listed = tuple((one.m, one.n, one.k, one.count) for one in groups.items[: groups.count])
        return cls._unchecked({**vars(super()._of_struct(struct)), "groups": listed})


def _cell(value: Any) -> Any:
    return "x".join(map(str, value)) if isinstance(value, (tuple, list)) else value


Run = Callable[..., Any]
Supports = Callable[[Problem], bool]
Measure = Callable[[Problem, Union[int, None]], Union[float, None]]


@dataclass(frozen=True)
class Selection:
    """A chosen kernel: its name, the source that chose it, and its place in the registry and in the source's order.

    ``split_k``: the parts into which the reduction is split, which are the problem's unless it leaves the choice.
    ``score`` is the model's score, usually TFLOPS, or the estimate's time in microseconds; None from other sources.
    ``measured_ms`` is None if it was not measured.

    ``out_of_range``: the problem is outside the model's training range, in the fields ``out_of_range_fields``.
    ``unmeasured``: no kernel measured for the model had the pipeline or the suffixes of this one. ``arch_unknown``: the
    model is for one architecture, and neither problem nor registry name one. ``no_model``: the first kernel by priority
    was chosen only because no model and no other source had an answer. ``universal``: the model is a universal one,
    which ranks for any GPU, direction and type. ``model``: the one that chose it, ``embedded:universal`` or another
    built-in one, a directory, or the name of a model from memory; None from other sources. ``sureness``: None if
    nothing was learned about such choices, as for types and architectures without any, and from sources that measure.
    """

    name: str
    source: Source
    index: int
    rank: int
    score: float | None
    measured_ms: float | None
    out_of_range: bool
    split_k: int = 1
    out_of_range_fields: tuple[str, ...] = ()
    unmeasured: bool = False
    arch_unknown: bool = False
    no_model: bool = False
    universal: bool = False
    model: str | None = None
    sureness: Sureness | None = None


class Ranked(tuple[str, float]):
    """One place of a ranking, ``(name, score)``.

    ``split_k`` is the number of parts of the reduction. ``source`` is ``"model"``, or ``"estimate"``, whose score is a
    time in microseconds. ``time_us`` is the expected time, ``slower`` by how much the kernel is slower than the first,
    ``loss`` the expected loss of choosing it, as a share of the best one's speed; each None if it is not known.
    """

    split_k: int
    source: Source
    time_us: float | None
    slower: float | None
    loss: float | None

    def __new__(
        cls,
        name: str,
        score: float,
        split_k: int,
        source: Source = "model",
        time_us: float | None = None,
        slower: float | None = None,
        loss: float | None = None,
    ) -> Ranked:
        """The place of one kernel."""
        place = super().__new__(cls, (name, score))
        place.split_k, place.source = split_k, source
        place.time_us, place.slower, place.loss = time_us, slower, loss
        return place

    def __getnewargs__(self) -> Any:
        return (*self, self.split_k, self.source, self.time_us, self.slower, self.loss)


@dataclass(frozen=True)
class StoreStatus:
    """The number of measured winners that are only in memory, and why the last use of the store failed, or None."""

    waiting: int
    reason: str | None


@dataclass(frozen=True)
class TuneReport:
    """What a call of :meth:`Registry.tune` did.

    ``measured`` problems got a winner; for ``improved`` of them it is a different kernel than before; together, one
    run of each takes ``saved_ms`` less. ``failed`` could not be measured, and ``waiting`` still wait.
    """

    measured: int
    improved: int
    failed: int
    waiting: int
    saved_ms: float
    elapsed_ms: float


def _check_name(name: object) -> None:
    if not isinstance(name, str):
        raise TypeError(f"name: found a {type(name).__name__}, expected one kernel's name; kernels=[…] takes several")


class Registry:
    """Kernels, models and the chain of sources that chooses among them.

    Any number of threads may select on one registry, even while others register kernels or load models.

    ``arch`` is the architecture of problems that name none, or a product such as ``"MI300X"``. ``mode`` is
    ``"model"``, ``"search"``, ``"refine"`` or ``"priority"``; the environment (``CK_SELECT_MODE`` and others) overrides
    it unless ``environment`` is false. ``"refine"`` measures the model's ``refine`` best kernels, ``"auto"`` as many as
    an answer asks for to be within 2 % of the best with a chance of 90 %: none where it is sure.
    ``store`` is the file of measured winners, ``"off"`` for memory only. ``hardware`` is a file that describes the GPU
    (docs/estimate.md). With ``embedded_models``, the models in the library answer problems that no loaded model serves,
    the universal one on any GPU.

    Without ``estimate``, the priority decides if nothing was measured and no model serves the problem. With
    ``host_timing``, kernels are measured with the host's clock, without a GPU.
    """

    def __init__(
        self,
        arch: str | None = None,
        *,
        kernels: Iterable[str] | Mapping[str, Run | None] = (),
        models: Iterable[str | os.PathLike[str]] = (),
        mode: Mode = "model",
        refine: int | Literal["auto"] = 3,
        override_file: str | os.PathLike[str] | None = None,
        store: str | os.PathLike[str] | None = None,
        hardware: str | os.PathLike[str] | None = None,
        environment: bool = True,
        estimate: bool = True,
        embedded_models: bool = False,
        host_timing: bool = False,
        splits: Iterable[int] | None = None,
    ) -> None:
        options = _structs.Options(
            splits=",".join(map(str, map(index, splits))).encode() if splits is not None else None,
            mode=code("mode", mode, MODES),
            refine=-1 if refine == "auto" else index(refine),
            ignore_environment=0 if environment else 1,
            override_file=os.fsencode(override_file) if override_file is not None else None,
            arch=arch.encode() if arch else None,
            store=os.fsencode(store) if store is not None else None,
            hardware=os.fsencode(hardware) if hardware is not None else None,
            no_estimate=0 if estimate else 1,
            embedded_models=1 if embedded_models else 0,
            host_timing=1 if host_timing else 0,
        )
        _check_lists(kernels=kernels, models=models)
        self._handle: Handle | None = Handle.make(
            lib.ck_registry_create, lib.ck_registry_destroy, ctypes.byref(options)
        )
        self.arch = arch
        self._runs: dict[str, Run | None] = {}
        # The library may still be running these callbacks, so they live as long as the registry.
        self._callbacks: list[Any] = []
        self._register_all(kernels)
        for directory in models:
            self.load_model(directory)

    def _register_all(self, kernels: Iterable[str] | Mapping[str, Run | None]) -> None:
        """Adds kernels without hooks, all of them or none: one new state of the registry, not one for each."""
        runs = dict(kernels) if isinstance(kernels, Mapping) else None
        names = list(kernels)
        for name in names:
            _check_name(name)
        words = (ctypes.c_char_p * len(names))(*map(str.encode, names))
        self._call(lib.ck_registry_add_kernels, words, None, len(names))
        self._runs.update(dict.fromkeys(names) if runs is None else runs)

    def _call(self, function: Any, *rest: Any) -> None:
        """Calls the library. The registry lives at least as long as the call, whoever closes it."""
        handle = self._handle
        if handle is None:
            raise InvalidInputError("the registry is closed", 2)
        check(function(handle.address, *rest))

    def close(self) -> None:
        """Frees the registry as soon as no call uses it; later calls are errors. Waiting winners are stored."""
        self._handle = None

    def __enter__(self) -> Registry:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def __len__(self) -> int:
        size = ctypes.c_size_t()
        self._call(lib.ck_registry_size, ctypes.byref(size))
        return size.value

    def __iter__(self) -> Iterator[str]:
        """The kernels' names, in the order of their registration."""
        return iter(list(self._runs))

    def __contains__(self, name: object) -> bool:
        return name in self._runs

    def __repr__(self) -> str:
        state = "closed" if self._handle is None else f"of {len(self)} kernels"
        return f"<{type(self).__name__} {state}>"

    def register(
        self,
        name: str,
        run: Run | None = None,
        *,
        supports: Supports | None = None,
        measure: Measure | None = None,
        priority: int = 1,
    ) -> None:
        """Adds a kernel by its name: a grouped-convolution name, a tile-engine GEMM name, or a CK identifier.

        ``run(problem, *args, **kwargs)`` is what :meth:`run` calls. ``supports(problem)`` is called for every selection
        that the kernel would win; without it the kernel supports every problem that it matches. A kernel with the same
        name is replaced only by a higher priority.

        ``measure(problem, stream)`` runs the kernel once on its own operands, with all its work on the stream, a
        ``hipStream_t`` or None for the default one; it returns the milliseconds that it took, or None if it was only
        launched. Without it the kernel is never measured. It is called on the measuring thread.
        """
        _check_name(name)
        hooks = _structs.KernelHooks(priority=priority)
        for problems in Problem.__subclasses__():
            operation = problems.OPERATION
            if supports is not None:
                failure = f"supports of kernel '{name}' failed; the kernel is passed over"
                asked = self._callback("supports", problems, lambda problem: 1 if supports(problem) else 0, failure, 0)
                setattr(hooks, f"supports_{operation}", asked)
            if measure is not None:
                failure = f"measure of kernel '{name}' failed; the kernel has no time"
                # Without a time, it was only launched.
                timed = lambda problem, stream: measure(problem, stream) or 0  # noqa: E731
                setattr(hooks, f"run_{operation}", self._callback("run", problems, timed, failure, -1))
        self._call(lib.ck_registry_add_kernel, name.encode(), ctypes.byref(hooks))
        self._runs[name] = run

    def _callback(
        self, kind: str, problems: type[Problem], function: Callable[..., float], failure: str, failed: int
    ) -> Any:
        """A caller's function as the C callback of an operation. Where it raises, it answers ``failed``."""

        def answer(problem: Any, *rest: Any) -> float:
            # An exception cannot cross the library. The last argument is the hooks' `user`.
            try:
                return function(problems._of_struct(problem.contents), *rest[:-1])
            except Exception:
                _LOG.exception(failure)
                return failed

        made = getattr(_structs, f"{kind.capitalize()}{problems.OPERATION.capitalize()}")(answer)
        self._callbacks.append(made)
        return made

    def load_model(self, directory: str | os.PathLike[str], *, force: bool = False) -> None:
        """Loads a model directory for the problems that its spec names, or ``"embedded:NAME"``, as in ``Predictor``.

        With ``force``, it serves all problems of its operation, whatever its spec says.
        """
        options = _structs.ModelOptions(force=1 if force else 0)
        self._call(lib.ck_registry_load_model, os.fsencode(place_of(directory)), ctypes.byref(options))

    def prepare(self) -> None:
        """Prepares the models for the kernels now, instead of at the first selection."""
        self._call(lib.ck_registry_prepare)

    def tune(self, time_ms: float, *, kernels: int = 3, stream: int | None = None) -> TuneReport:
        """Measures the most frequently requested problems that are answered by a guess, for at most ``time_ms``.

        For each problem, the best ``kernels`` are measured, of those that were registered with ``measure``. Call it
        between two steps. The first call only starts counting requests. Later selections get the winners; each call
        continues where the previous one stopped.
        """
        budget = _structs.TuneBudget(time_ms=time_ms, stream=stream, kernels=kernels)
        report = _structs.TuneReport()
        self._call(lib.ck_registry_tune, ctypes.byref(budget), ctypes.byref(report))
        return TuneReport(*(getattr(report, each.name) for each in fields(TuneReport)))

    def store_status(self) -> StoreStatus:
        """Whether measured winners still have to be written to the store, and why."""
        waiting = ctypes.c_size_t()
        reason = ctypes.c_void_p()
        self._call(lib.ck_registry_store_status, ctypes.byref(waiting), ctypes.byref(reason))
        return StoreStatus(waiting.value, take_text(reason) if reason.value else None)

    def refresh_store(self) -> None:
        """Reads the winners that other processes stored, and writes the waiting ones of this registry.

        Raises an error if those cannot be written.
        """
        self._call(lib.ck_registry_refresh_store)

    def __reduce__(self) -> Any:
        raise TypeError("a registry holds functions of this process, and cannot be copied or sent: make another one")

    def select(self, problem: Problem) -> Selection:
        """Chooses the kernel to run: the best supported kernel by the first source that has an answer."""
        chosen = _structs.Selection()
        self._ask("ck_registry_select_{}", problem, ctypes.byref(chosen))
        return Selection(
            name=chosen.name.decode(),
            source=SOURCES[chosen.source],
            index=chosen.index,
            rank=chosen.rank,
            score=None if math.isnan(chosen.score) else chosen.score,
            measured_ms=None if math.isnan(chosen.measured_ms) else chosen.measured_ms,
            out_of_range=bool(chosen.out_of_range),
            split_k=chosen.split_k,
            out_of_range_fields=_field_names(problem, chosen.out_of_range_fields),
            unmeasured=bool(chosen.unmeasured),
            arch_unknown=bool(chosen.arch_unknown),
            no_model=bool(chosen.no_model),
            universal=bool(chosen.universal),
            model=None if chosen.model is None else chosen.model.decode(),
            sureness=None
            if math.isnan(chosen.expected_loss)
            else Sureness(chosen.expected_loss, chosen.chance, chosen.sure_within_90, chosen.sure_within_99),
        )

    def run(self, problem: Problem, *args: Any, **kwargs: Any) -> Any:
        """Chooses a kernel, runs it, and returns what its ``run`` returns for the problem and the other arguments.

        The problem has the chosen ``split_k``.
        """
        chosen = self.select(problem)
        run = self._runs[chosen.name]
        if run is None:
            raise NoKernelError(f"kernel '{chosen.name}' is chosen, and was registered without run", 8)
        if hasattr(problem, "split_k"):
            problem = replace(cast(Any, problem), split_k=chosen.split_k)
        return run(problem, *args, **kwargs)

    def rank(self, problem: Problem) -> list[Ranked]:
        """(name, score) of the matching kernels, best first: by the serving model, without one by the estimate, whose
        scores are microseconds. ``supports`` is not called.

        If the problem leaves the choice, each kernel has a place for every number of parts: ``rank(…)[0].split_k``.
        """
        count = ctypes.c_size_t(len(self))
        left_out = ctypes.c_size_t()
        counts = (ctypes.byref(count), ctypes.byref(left_out))
        room = -1
        while room < count.value:  # there may be more places than kernels
            room = count.value
            # The first one's size says which struct it is.
            ranked = (_structs.Ranked * room)(*[_structs.Ranked()][:room])
            self._ask("ck_registry_rank_{}", problem, room, ranked, *counts)
        if left_out.value:
            _LOG.warning("%d kernels have no place in the ranking: its source cannot describe them", left_out.value)
        return [
            Ranked(
                place.name.decode(),
                place.score,
                place.split_k,
                SOURCES[ranked[0].source],
                *(None if math.isnan(value) else value for value in (place.time_us, place.slower, place.expected_loss)),
            )
            for place in ranked[: count.value]
        ]

    def explain(self, problem: Problem) -> str:
        """Which sources were tried, what each answered, and why it was skipped."""
        text = ctypes.c_void_p()
        self._ask("ck_registry_explain_{}", problem, ctypes.byref(text))
        return take_text(text)

    def fmha_splits(self, problem: FmhaProblem, most: int = 128) -> int:
        """The number of parts for the keys of a sequence, by the estimate: a power of two up to ``most``."""
        splits = ctypes.c_int64()
        struct = ctypes.byref(problem._as_struct())
        self._call(lib.ck_registry_choose_fmha_splits, struct, index(most), ctypes.byref(splits))
        return splits.value

    def _ask(self, function: str, problem: Problem, *rest: Any) -> None:
        if not isinstance(problem, Problem):
            expected = ", ".join(sorted(kind.__name__ for kind in Problem.__subclasses__()))
            raise InvalidInputError(f"problem: found a {type(problem).__name__}, expected one of {expected}", 2)
        self._call(getattr(lib, function.format(problem.OPERATION)), ctypes.byref(problem._as_struct()), *rest)


class GroupedConvRegistry(Registry):
    """A registry for grouped convolutions, under the name in upstream's example."""


def select(
    problem: Problem, kernels: Iterable[str], model: str | os.PathLike[str], arch: str | None = None
) -> Selection:
    """Chooses among kernels by one model. For more than one selection, keep a :class:`Registry`."""
    return Registry(arch, kernels=kernels, models=[model], environment=False).select(problem)


def _check_lists(**lists: object) -> None:
    """Refuses a name where several belong: its letters would count as names."""
    for what, names in lists.items():
        if isinstance(names, (str, bytes, os.PathLike)):
            raise TypeError(f"{what}: found the text '{names!s}', expected a list: ['{names!s}']")


def _field_names(problem: Problem, bits: int) -> tuple[str, ...]:
    """The fields of a problem whose bit is set."""
    names = []
    name = ctypes.c_char_p()
    op = tuple(FIELDS).index(problem.OPERATION)
    for bit in range(bits.bit_length()):
        check(lib.ck_problem_field_name(op, bit, ctypes.byref(name)))
        if bits >> bit & 1:
            names.append((name.value or b"").decode())
    return tuple(names)
