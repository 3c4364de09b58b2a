"""Configurations of Triton's matmul kernels in the order of their expected speed, without running one.

.. code-block:: python

    import triton
    from ck_select.triton import prune


    @triton.autotune(configs, key=["M", "N", "K"], prune_configs_by=prune(top=4))
    @triton.jit
    def matmul(a, b, c, M, N, K, ..., BLOCK_SIZE_M: tl.constexpr, ...): ...

Of hundreds of configurations, Triton then compiles and times the four that come first. :func:`rank` is the order
itself. Neither Triton nor torch is needed, but where torch is there, it says which GPU is meant.
"""

from __future__ import annotations

import logging
import math
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import index
from typing import Any, NamedTuple

from .. import _names
from . import device as _device
from .configs import cells, kernel_of, names_of
from .kernels import ESTIMATE, Kernels, Top
from .names import Kernel

__all__ = ["Candidate", "Kernel", "Pool", "perf_model", "prune", "rank"]

_LOG = logging.getLogger("ck_select")


class Candidate(NamedTuple):
    """A configuration at its place in an order.

    ``number`` is its place in the list. A higher ``score`` is better; ``time_us`` is the expected time in
    microseconds where the estimate ranks, else None. ``unmeasured``: nothing like it was measured for the model.
    """

    config: Any
    number: int
    score: float
    time_us: float | None = None
    unmeasured: bool = False


class Pool:
    """Configurations that were prepared once, to be ranked for any number of problems and by any number of threads.

    ``dtype`` is the type of A and B, a word or torch's; ``layout`` the memory orders of A, B and C: ``"rcr"`` for a B
    of N rows of K, ``"rrr"`` for K rows of N. The GPU is that of ``arch`` (``"sm_90"``, ``90``, ``"gfx942"``,
    ``"MI300X"``), otherwise torch's ``device``. ``model`` is a model directory or ``"estimate"``, otherwise the
    universal model. ``meta`` tells what the kernel calls its parameters, if not as usual: ``{"block_m": "ROWS"}``.
    ``persistent`` and ``tma`` say what the kernel is, ``batched`` that it computes many GEMMs at a time.
    """

    def __init__(
        self,
        configs: Iterable[Any],
        *,
        dtype: Any,
        layout: str = "rcr",
        device: Any = None,
        arch: str | int | _device.Gpu | None = None,
        model: str | None = None,
        meta: Mapping[str, str] | None = None,
        persistent: bool = False,
        tma: bool = False,
        batched: bool = False,
    ) -> None:
        self.configs: list[Any] = []
        word = _names.word_of_torch(dtype) if _names.is_torch_dtype(dtype) else dtype
        whole = {"dtype": word, "layout": layout}
        self._names = names_of(meta)
        self._common = {**whole, "persistent": persistent, "tma": tma, "batched": batched}
        self._batched = batched
        self._kernels = Kernels(_device.gpu(device, arch), {**whole, "batch": int(batched)}, model)
        # Those of several configurations may be one kernel to us.
        self._configs_of: list[list[int]] = []
        self.add(configs)

    def add(self, configs: Iterable[Any]) -> None:
        """Adds configurations; not while others rank."""
        begin, added = len(self.configs), list(configs)
        kernels = [kernel_of(cells(config), self._names, **self._common).name for config in added]
        places = self._kernels.add(kernels)
        self.configs += added
        self._configs_of += [[] for _ in range(max(places, default=-1) + 1 - len(self._configs_of))]
        for number, place in enumerate(places, begin):
            self._configs_of[place].append(number)

    def rank(self, *, M: int, N: int, K: int, batch: int = 1, top: Top | None = None) -> list[Candidate]:
        """The configurations, the fastest first, or the first ``top``. Those that cannot compute it are left out.

        ``top="sure"``: as many as have to be measured for the fastest of them to be within 2 % of the best, with a
        chance of 90 %; 8 where nobody knows how many these are.
        """
        batch = batch if self._batched else 0
        if top is not None:
            top = self._kernels.enough(top, M, N, K, batch)
        configs, configs_of, make = self.configs, self._configs_of, tuple.__new__
        # As ``Candidate(…)``, in half the time: its values are all there.
        ranked = [
            make(
                Candidate,
                (configs[at], at, -score, score, unmeasured == 1)
                if source == ESTIMATE
                else (configs[at], at, score, None, unmeasured == 1),
            )
            for place, score, unmeasured, source in self._kernels.rank(M, N, K, batch, top)
            for at in configs_of[place]
        ]
        return ranked if top is None else ranked[:top]


_POOLS: OrderedDict[Any, tuple[Pool, list[Any]]] = OrderedDict()
_LOCK = threading.Lock()
# Pools that are kept.
_MOST = 64


def _state(config: Any) -> Any:
    """What a configuration says now: its own members may change."""
    return dict(config) if isinstance(config, Mapping) else config


def _pool(configs: Sequence[Any], batched: bool, options: dict[str, Any]) -> Pool:
    """The pool of these very configurations, made once."""
    meta = options.get("meta")
    said = options.items() if meta is None else {**options, "meta": tuple(meta.items())}.items()
    key = (tuple(map(id, configs)), batched, tuple(said))
    with _LOCK:
        known = _POOLS.get(key)
        if known and known[1] == list(configs):
            _POOLS.move_to_end(key)
            return known[0]
    made = Pool(configs, batched=batched, **options)
    with _LOCK:
        _POOLS[key] = (made, list(map(_state, configs)))
        while len(_POOLS) > _MOST:
            _POOLS.popitem(last=False)
    return made


def rank(
    configs: Sequence[Any], *, M: int, N: int, K: int, batch: int | None = None, top: Top | None = None, **options: Any
) -> list[Candidate]:
    """Configurations for a GEMM of M x N x K, the fastest first, or the first ``top``.

    Each is a ``triton.Config``, a dict, or what Inductor has as parameters. With ``batch``, the kernel computes as many
    GEMMs. The other arguments are those of :class:`Pool`, which is made at the first call for a list and kept.
    """
    gpu = _device.gpu(options.pop("device", None), options.get("arch"))
    return _pool(configs, batch is not None, {**options, "arch": gpu}).rank(M=M, N=N, K=K, batch=batch or 1, top=top)


def prune(
    top: Top = 4,
    *,
    M: str = "M",
    N: str = "N",
    K: str = "K",
    dtype: Any = None,
    layout: str | None = None,
    **options: Any,
) -> dict[str, Any]:
    """What ``triton.autotune`` takes as ``prune_configs_by``, so that it tries the first ``top`` configurations.

    ``top="sure"``: for each problem as many as :meth:`Pool.rank` says.

    ``M``, ``N`` and ``K`` are the names of the kernel's arguments. Type and layout are those of the first two matrices
    among the arguments, unless they are told; the other arguments are those of :class:`Pool`. Where nothing can be
    said, Triton tries what it would have tried, and a warning says why.
    """
    names = (M, N, K)

    def early_config_prune(configs: list[Any], named_args: Mapping[str, Any], **others: Any) -> list[Any]:
        try:
            told = _problem({**named_args, **others}, names, dtype, layout)
            ranked = rank(configs, top=top, **told, **options)
        except Exception as error:
            _LOG.warning("ck_select.triton: all configurations are tried: %s", error)
            return configs
        return [each.config for each in ranked] or configs

    return {"early_config_prune": early_config_prune}


def perf_model(
    *, M: str = "M", N: str = "N", K: str = "K", dtype: Any = None, layout: str | None = None, **options: Any
) -> Callable[..., float]:
    """What ``triton.autotune`` takes as ``perf_model`` in ``prune_configs_by``, beside ``top_k``: the less, the faster.

    :func:`prune` asks once for all configurations, this for each. The arguments are the same. Where nothing can be
    said, all times are equal, so that Triton tries the first ones of its list, and a warning says why.
    """
    names = (M, N, K)
    own = {name for several in names_of(options.get("meta")).values() for name in several}
    pools: dict[Any, tuple[Pool, dict[Any, int]]] = {}
    scores: dict[Any, list[float]] = {}
    reasons: set[str] = set()

    def time_of(arguments: Mapping[str, Any]) -> float:
        config = {name: arguments[name] for name in own if name in arguments}
        others = {name: value for name, value in arguments.items() if name not in own}
        told = _problem(others, names, dtype, layout)
        kind = {name: told.pop(name) for name in ("dtype", "layout")}
        key = tuple(kind.values())
        if key not in pools:
            pools[key] = (Pool([], **kind, **options), {})
        pool, numbers = pools[key]
        parameters = tuple(sorted(config.items()))
        if parameters not in numbers:
            pool.add([config])
            numbers[parameters] = len(pool.configs) - 1
        number = numbers[parameters]
        known = scores.setdefault((*key, *told.values()), [])
        if number >= len(known):
            known[:] = [math.inf] * len(pool.configs)
            for candidate in pool.rank(**told):
                known[candidate.number] = -candidate.score
        return known[number]

    def model(**arguments: Any) -> float:
        try:
            return time_of(arguments)
        except Exception as error:
            if str(error) not in reasons:
                reasons.add(str(error))
                _LOG.warning("ck_select.triton: configurations have no times: %s", error)
            return math.inf

    return model


def _problem(arguments: Mapping[str, Any], names: Sequence[str], dtype: Any, layout: str | None) -> dict[str, Any]:
    """The problem of a kernel's arguments."""
    sides = dict(zip("MNK", (index(arguments[name]) for name in names)))
    matrices = [each for each in arguments.values() if hasattr(each, "stride") and getattr(each, "ndim", 0) == 2]
    if dtype is None or layout is None:
        if len(matrices) < 2:
            raise ValueError("found no two matrices among the arguments: dtype and layout have to be told")
        a, b = matrices[:2]
        dtype = a.dtype if dtype is None else dtype
        layout = layout or _letter(a, sides["M"]) + _letter(b, sides["K"]) + "r"
    return {**sides, "dtype": dtype, "layout": layout}


def _letter(matrix: Any, rows: int) -> str:
    """Whether a matrix, which may be given transposed, is one of so many rows."""
    is_rows = matrix.stride(1) == 1
    return "r" if is_rows == (matrix.shape[0] == rows) else "c"
