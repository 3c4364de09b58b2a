"""Registries of kernels, like those of CK's dispatcher: register, select, run."""

from __future__ import annotations

import ctypes
import logging
import math
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from operator import index
from typing import Any, Union, cast

from . import _structs
from . import fmha as _fmha
from ._library import Handle, check, lib, take_text
from ._names import DTYPES, RESULTS
from .errors import InvalidInputError, NoKernelError
from .fmha import FmhaProblem

_LOG = logging.getLogger("ck_select")

DIRECTIONS = ("forward", "bwd_data", "bwd_weight")
LAYOUTS = tuple("nwgc nhwgc ndhwgc nwc nhwc ndhwc gnwc gnhwc gndhwc ngcw ngchw ngcdhw ncw nchw ncdhw".split())
SOURCES = ("override", "store", "model", "search", "estimate", "priority")
MODES = ("model", "search", "refine", "priority")
_MAJORS = {"r": 0, "c": 1, "p": 2}


def _code(what: str, word: str, words: tuple[str, ...]) -> int:
    if word not in words:
        raise ValueError(f"{what}: found '{word}', expected one of {', '.join(words)}")
    return words.index(word)


def _axes(*extents: int) -> tuple[int, ...]:
    # ctypes refuses numpy's integers.
    return tuple(map(index, extents))


# The fields of a convolution's struct that have a number for each axis, with upstream's names for these.
_BY_AXIS = {
    "input": ("Di", "Hi", "Wi"),
    "filter": ("Z", "Y", "X"),
    **{name: (f"{name}_d", f"{name}_h", f"{name}_w") for name in ("stride", "dilation")},
    "pad_left": ("pad_d", "pad_h", "pad_w"),
}


@dataclass
class GroupedConvProblem:
    """A grouped convolution with upstream's names.

    ``C`` and ``K`` are totals over all groups; pads are the same on both sides. It is 3D if ``Di`` or ``Z`` is
    greater than 1, or ``pad_d`` greater than 0.
    """

    N: int
    C: int
    K: int
    G: int = 1
    Hi: int = 1
    Wi: int = 1
    Y: int = 1
    X: int = 1
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
    dtype: str = "bf16"
    direction: str = "forward"
    layout: str | None = None
    split_k: int | str = 1
    arch: str | None = None

    @property
    def ndim(self) -> int:
        """2 or 3."""
        return 3 if self.Di > 1 or self.Z > 1 or self.pad_d > 0 else 2

    def to_dict(self) -> dict[str, Any]:
        """The dict for a predictor."""
        _check_parts(self.split_k)
        return {name: value for name, value in vars(self).items() if value is not None}

    def as_struct(self) -> _structs.ConvProblem:
        """The problem in the library's form. It does not refer to this object."""
        problem = _structs.ConvProblem()
        check(lib.ck_conv_problem_init(ctypes.byref(problem)))
        dtype = _code("dtype", self.dtype, DTYPES)
        layout = self.layout if self.layout is not None else ("nhwgc" if self.ndim == 2 else "ndhwgc")
        problem.direction = _code("direction", self.direction, DIRECTIONS)
        problem.ndim = self.ndim
        problem.n, problem.c, problem.k, problem.g = map(index, (self.N, self.C, self.K, self.G))
        for field, names in _BY_AXIS.items():
            setattr(problem, field, _axes(*(getattr(self, name) for name in names)))
        problem.pad_right = problem.pad_left
        problem.split_k = _parts(self.split_k)
        problem.dtype_in = problem.dtype_wei = problem.dtype_out = dtype
        problem.layout = _code("layout", layout, LAYOUTS)
        problem.arch = self.arch.encode() if self.arch else None
        return problem


@dataclass
class GemmProblem:
    """A GEMM: C (M x N) = A (M x K) times B (K x N). ``dtype`` is that of A and B.

    With ``split_k`` ``"auto"`` or 0, a registry chooses with the kernel into how many parts K is split.

    The fields after ``arch`` request more than one plain GEMM; then only kernels that support this are chosen.
    ``groups`` are the GEMMs of one launch, ``(m, n, k, count)`` each; ``M``, ``N`` and ``K`` are then those of the
    one with the most work, or 1. Groups of elements that share a scale are ``(m, n, k)``; ``None`` is the default.
    """

    M: int
    N: int
    K: int
    dtype: str = "fp8"
    layout: str = "rcr"
    split_k: int | str = 1
    dtype_c: str | None = None
    arch: str | None = None
    batch: int = 0
    groups: tuple[tuple[int, int, int, int], ...] = ()
    stream_k: str | None = None
    num_d: int = 0
    preshuffle: bool = False
    quant: str | None = None
    quant_group_a: tuple[int, int, int] | None = None
    quant_group_b: tuple[int, int, int] | None = None

    def to_dict(self) -> dict[str, Any]:
        """The dict for a predictor."""
        _check_parts(self.split_k)
        # A list of GEMMs has the extents.
        extents = {} if self.groups else {"m": self.M, "n": self.N, "k": self.K}
        cells: dict[str, Any] = {**extents, "dtype": self.dtype, "layout": self.layout, "split_k": self.split_k}
        sizes = {"group_a": self.quant_group_a, "group_b": self.quant_group_b}
        asked = {
            "dtype_c": self.dtype_c,
            "arch": self.arch,
            "batch": self.batch,
            "groups": "+".join(f"{m}x{n}x{k}*{count}" for m, n, k, count in self.groups),
            "stream_k": self.stream_k,
            "num_d": self.num_d,
            "preshuffle": self.preshuffle,
            "quant": self.quant,
            **{name: size and "x".join(map(str, size)) for name, size in sizes.items()},
        }
        return {**cells, **{name: value for name, value in asked.items() if value}}

    def as_struct(self) -> _structs.GemmProblem:
        """The problem in the library's form."""
        problem = _structs.GemmProblem()
        check(lib.ck_gemm_problem_init(ctypes.byref(problem)))
        if len(self.layout) != 3 or any(letter not in _MAJORS for letter in self.layout):
            raise ValueError(f"layout: found '{self.layout}', expected three letters of r, c and p")
        problem.m, problem.n, problem.k = map(index, (self.M, self.N, self.K))
        problem.split_k = _parts(self.split_k)
        problem.dtype_a = problem.dtype_b = _code("dtype", self.dtype, DTYPES)
        problem.dtype_c = _code("dtype_c", self.dtype_c or RESULTS.get(self.dtype, self.dtype), DTYPES)
        problem.layout = tuple(_MAJORS[letter] for letter in self.layout)
        problem.arch = self.arch.encode() if self.arch else None
        request = problem.request
        request.batch, request.num_d, request.preshuffle = index(self.batch), index(self.num_d), bool(self.preshuffle)
        groups = (_structs.GemmGroup * len(self.groups))(*(_structs.GemmGroup(*_axes(*one)) for one in self.groups))
        # The struct keeps the array that it points to.
        request.groups.items = ctypes.cast(groups, ctypes.POINTER(_structs.GemmGroup))
        request.groups.count = len(self.groups)
        request.stream_k = self.stream_k.encode() if self.stream_k else None
        request.quant = self.quant.encode() if self.quant else None
        request.group_a = _axes(*(self.quant_group_a or (0, 0, 0)))
        request.group_b = _axes(*(self.quant_group_b or (0, 0, 0)))
        return problem


Problem = Union[GroupedConvProblem, GemmProblem, FmhaProblem]

# The name of each problem class in C functions, and its operation's number.
_OPERATIONS: dict[type, tuple[str, int]] = {
    GroupedConvProblem: ("conv", 1),
    GemmProblem: ("gemm", 0),
    FmhaProblem: ("fmha", 2),
}
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
    was chosen only because no model and no other source had an answer. ``generic``: the model is a universal one, which
    ranks for any GPU, direction and type. ``model``: the one that chose it, ``embedded:universal`` or another
    built-in one, a directory, or the name of a model from memory; None from other sources.
    """

    name: str
    source: str
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
    generic: bool = False
    model: str | None = None


class Ranked(tuple[str, float]):
    """One place of a ranking, ``(name, score)``; ``split_k`` is the number of parts of the reduction."""

    split_k: int

    def __new__(cls, name: str, score: float, split_k: int) -> Ranked:
        """The place of one kernel."""
        place = super().__new__(cls, (name, score))
        place.split_k = split_k
        return place


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


@dataclass
class _Kernel:
    run: Run | None
    hooks: Any


class Registry:
    """Kernels, models and the chain of sources that chooses among them.

    Any number of threads may select on one registry, even while others register kernels or load models.

    ``arch`` is the architecture of problems that name none. ``mode`` is ``"model"``, ``"search"``, ``"refine"`` or
    ``"priority"``; the environment (``CK_SELECT_MODE`` and others) overrides it unless ``environment`` is false.
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
        mode: str = "model",
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
            mode=_code("mode", mode, MODES),
            ignore_environment=0 if environment else 1,
            override_file=os.fsencode(override_file) if override_file is not None else None,
            arch=arch.encode() if arch else None,
            store=os.fsencode(store) if store is not None else None,
            hardware=os.fsencode(hardware) if hardware is not None else None,
            no_estimate=0 if estimate else 1,
            embedded_models=1 if embedded_models else 0,
            host_timing=1 if host_timing else 0,
        )
        self._handle = Handle.make(lib.ck_registry_create, lib.ck_registry_destroy, ctypes.byref(options))
        self.arch = arch
        self._kernels: dict[str, _Kernel] = {}
        # The library may still be running these callbacks, so they live as long as the registry.
        self._callbacks: list[Any] = []
        for name in kernels:
            self.register(name, kernels[name] if isinstance(kernels, Mapping) else None)
        for directory in models:
            self.load_model(directory)

    def __len__(self) -> int:
        size = ctypes.c_size_t()
        check(lib.ck_registry_size(self._handle.address, ctypes.byref(size)))
        return size.value

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {len(self)} kernels>"

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
        hooks = _structs.KernelHooks(priority=priority)
        if supports is not None:
            hooks.supports_conv, hooks.supports_gemm, hooks.supports_fmha = self._callbacks_for(
                _SUPPORTS,
                lambda problem: 1 if supports(problem) else 0,
                f"supports of kernel '{name}' failed; the kernel is passed over",
                0,
            )
        if measure is not None:
            hooks.run_conv, hooks.run_gemm, hooks.run_fmha = self._callbacks_for(
                _RUNS,
                # Without a time, it was only launched.
                lambda problem, stream: measure(problem, stream) or 0,
                f"measure of kernel '{name}' failed; the kernel has no time",
                -1,
            )
        check(lib.ck_registry_add_kernel(self._handle.address, name.encode(), ctypes.byref(hooks)))
        self._kernels[name] = _Kernel(run, hooks)

    def _callbacks_for(
        self, kinds: Iterable[Any], function: Callable[..., float], failure: str, failed: int
    ) -> tuple[Any, ...]:
        """A caller's function as the C callbacks of each operation. Where it raises, they answer ``failed``."""

        def callback(of_struct: Callable[[Any], Problem]) -> Callable[..., float]:
            def answer(problem: Any, *rest: Any) -> float:
                # An exception cannot cross the library. The last argument is the hooks' `user`.
                try:
                    return function(of_struct(problem.contents), *rest[:-1])
                except Exception:
                    _LOG.exception(failure)
                    return failed

            return answer

        made = tuple(kind(callback(of_struct)) for kind, of_struct in zip(kinds, _OF_STRUCT))
        self._callbacks += made
        return made

    def load_model(self, directory: str | os.PathLike[str], *, force: bool = False) -> None:
        """Loads a model directory for the problems that its spec names.

        With ``force``, it serves all problems of its operation, whatever its spec says.
        """
        options = _structs.ModelOptions(force=1 if force else 0)
        check(lib.ck_registry_load_model(self._handle.address, os.fsencode(directory), ctypes.byref(options)))

    def prepare(self) -> None:
        """Prepares the models for the kernels now, instead of at the first selection."""
        check(lib.ck_registry_prepare(self._handle.address))

    def tune(self, time_ms: float, *, kernels: int = 3, stream: int | None = None) -> TuneReport:
        """Measures the most frequently requested problems that are answered by a guess, for at most ``time_ms``.

        For each problem, the best ``kernels`` are measured, of those that were registered with ``measure``. Call it
        between two steps. The first call only starts counting requests. Later selections get the winners; each call
        continues where the previous one stopped.
        """
        budget = _structs.TuneBudget(time_ms=time_ms, stream=stream, kernels=kernels)
        report = _structs.TuneReport()
        check(lib.ck_registry_tune(self._handle.address, ctypes.byref(budget), ctypes.byref(report)))
        return TuneReport(
            report.measured, report.improved, report.failed, report.waiting, report.saved_ms, report.elapsed_ms
        )

    def store_status(self) -> StoreStatus:
        """Whether measured winners still have to be written to the store, and why."""
        waiting = ctypes.c_size_t()
        reason = ctypes.c_void_p()
        check(lib.ck_registry_store_status(self._handle.address, ctypes.byref(waiting), ctypes.byref(reason)))
        return StoreStatus(waiting.value, take_text(reason) if reason.value else None)

    def refresh_store(self) -> None:
        """Reads the winners that other processes stored, and writes the waiting ones of this registry.

        Raises an error if those cannot be written.
        """
        check(lib.ck_registry_refresh_store(self._handle.address))

    def __reduce__(self) -> Any:
        raise TypeError("a registry holds functions of this process, and cannot be copied or sent: make another one")

    def select(self, problem: Problem) -> Selection:
        """Chooses the kernel to run: the best supported kernel by the first source that has an answer."""
        chosen = _structs.Selection()
        self._call("ck_registry_select_{}", problem, ctypes.byref(chosen))
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
            generic=bool(chosen.generic),
            model=None if chosen.model is None else chosen.model.decode(),
        )

    def run(self, problem: Problem, *args: Any, **kwargs: Any) -> Any:
        """Chooses a kernel, runs it, and returns what its ``run`` returns for the problem and the other arguments.

        The problem has the chosen ``split_k``.
        """
        chosen = self.select(problem)
        run = self._kernels[chosen.name].run
        if run is None:
            raise NoKernelError(f"kernel '{chosen.name}' is chosen, and was registered without run", 8)
        if not isinstance(problem, FmhaProblem):
            problem = replace(problem, split_k=chosen.split_k)
        return run(problem, *args, **kwargs)

    def rank(self, problem: Problem) -> list[Ranked]:
        """(name, score) of the matching kernels by the serving model, best first. ``supports`` is not called.

        If the problem leaves the choice, each kernel has a place for every number of parts: ``rank(…)[0].split_k``.
        """
        count = ctypes.c_size_t(len(self))
        left_out = ctypes.c_size_t()
        counts = (ctypes.byref(count), ctypes.byref(left_out))
        room = 0
        while room < count.value:
            room = count.value
            ranked = (_structs.Ranked * room)(*[_structs.Ranked(ctypes.sizeof(_structs.Ranked))][:room])
            self._call("ck_registry_rank_{}", problem, room, ranked, *counts)
        if room == 0:
            self._call("ck_registry_rank_{}", problem, 0, None, *counts)
            return []
        if left_out.value:
            _LOG.warning("%d kernels have no place in the ranking: the model cannot describe them", left_out.value)
        return [Ranked(place.name.decode(), place.score, place.split_k) for place in ranked[: count.value]]

    def explain(self, problem: Problem) -> str:
        """Which sources were tried, what each answered, and why it was skipped."""
        text = ctypes.c_void_p()
        self._call("ck_registry_explain_{}", problem, ctypes.byref(text))
        return take_text(text)

    def fmha_splits(self, problem: FmhaProblem, most: int = 128) -> int:
        """The number of parts for the keys of a sequence, by the estimate: a power of two up to ``most``."""
        splits = ctypes.c_int64()
        struct = ctypes.byref(problem.as_struct())
        check(lib.ck_registry_choose_fmha_splits(self._handle.address, struct, index(most), ctypes.byref(splits)))
        return splits.value

    def _call(self, function: str, problem: Problem, *rest: Any) -> None:
        operation = _operation(problem)
        if operation is None:
            expected = "a GroupedConvProblem, a GemmProblem or an FmhaProblem"
            raise InvalidInputError(f"problem: found a {type(problem).__name__}, expected {expected}", 2)
        called = getattr(lib, function.format(operation[0]))
        check(called(self._handle.address, ctypes.byref(problem.as_struct()), *rest))


class GroupedConvRegistry(Registry):
    """A registry for grouped convolutions, under the name in upstream's example."""


def select(
    problem: Problem, kernels: Iterable[str], model: str | os.PathLike[str], arch: str | None = None
) -> Selection:
    """Chooses among kernels by one model. For more than one selection, keep a :class:`Registry`."""
    return Registry(arch, kernels=kernels, models=[model], environment=False).select(problem)


def _parts(split_k: int | str) -> int:
    """The parts of a reduction, in C's form: 0 where they are to be chosen."""
    return 0 if split_k == "auto" else index(cast("int", split_k))


def _check_parts(split_k: int | str) -> None:
    if split_k in ("auto", 0):
        message = "split_k: found auto, expected the number of parts: a predictor ranks for one, a Registry chooses it"
        raise InvalidInputError(message, 2)


def _operation(problem: object) -> tuple[str, int] | None:
    """The entry for a problem's class."""
    return next((entry for kind, entry in _OPERATIONS.items() if isinstance(problem, kind)), None)


def _field_names(problem: Problem, fields: int) -> tuple[str, ...]:
    """The fields of a problem whose bit is set."""
    names = []
    name = ctypes.c_char_p()
    _, op = _operation(problem) or ("", 0)
    for bit in range(fields.bit_length()):
        check(lib.ck_problem_field_name(op, bit, ctypes.byref(name)))
        if fields >> bit & 1:
            names.append((name.value or b"").decode())
    return tuple(names)


def _conv_of_struct(problem: _structs.ConvProblem) -> GroupedConvProblem:
    axes = {name: value for field, names in _BY_AXIS.items() for name, value in zip(names, getattr(problem, field))}
    return GroupedConvProblem(
        **{name: getattr(problem, name.lower()) for name in "NCKG"},
        **axes,
        dtype=DTYPES[problem.dtype_in],
        direction=DIRECTIONS[problem.direction],
        layout=LAYOUTS[problem.layout],
        split_k=problem.split_k,
    )


def _gemm_of_struct(problem: _structs.GemmProblem) -> GemmProblem:
    request = problem.request
    return GemmProblem(
        M=problem.m,
        N=problem.n,
        K=problem.k,
        dtype=DTYPES[problem.dtype_a],
        layout="".join("rcp"[major] for major in problem.layout),
        split_k=problem.split_k,
        dtype_c=DTYPES[problem.dtype_c],
        batch=request.batch,
        groups=tuple((one.m, one.n, one.k, one.count) for one in request.groups.items[: request.groups.count]),
        stream_k=request.stream_k.decode() if request.stream_k else None,
        num_d=request.num_d,
        preshuffle=bool(request.preshuffle),
        quant=request.quant.decode() if request.quant else None,
        quant_group_a=_group(request.group_a),
        quant_group_b=_group(request.group_b),
    )


def _group(extents: Iterable[int]) -> tuple[int, int, int] | None:
    m, n, k = extents
    return (m, n, k) if m or n or k else None


# By operation: how a callback's struct is read, and the kinds of callbacks.
_OF_STRUCT: tuple[Callable[[Any], Problem], ...] = (_conv_of_struct, _gemm_of_struct, _fmha.of_struct)
_SUPPORTS = (_structs.SupportsConv, _structs.SupportsGemm, _structs.SupportsFmha)
_RUNS = (_structs.RunConv, _structs.RunGemm, _structs.RunFmha)
