"""The drop-in for upstream's ``Predictor``."""

from __future__ import annotations

import gzip
import json
import os
import shutil
import tempfile
import warnings
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Union

from . import _forest, _names, _table, engines
from .pool import Pool, PoolCache

Config = Mapping[str, Any]
"""A kernel, or a problem, by upstream's names."""

Kernel = Union[Config, str]
"""A kernel: its cells, or its name."""

Kernels = Union[Sequence[Kernel], Pool, Any]
"""Kernels to rank: a list of dicts or of names, a ``Pool``, or a pandas DataFrame."""

_KEYS = {"tflops": "tflops", "latency": "latency_ms", "bandwidth": "bandwidth_gb_s"}
# A `ck_uncoded`: what the spec says, errors, upstream's defaults.
_SPECS, _ERRORS, _DEFAULTS = range(3)


class Predictor:
    """Predicts and ranks kernels with the forests of a model directory.

    ``model_dir`` has ``model_<target>.lgbm`` or ``.lgbm.gz``, and ``feature_spec.json``. Forests are loaded when they
    are first asked for, and kept; the spec is read and checked at once.

    ``feature_engine`` is None for what the spec says, an engine's name (``"conv97"``), or an engine object, of
    ``ck_select.engines`` or of upstream, of which the class name and the constants of the GPU count.

    A row with a kernel's name under ``kernel_name`` or ``kernel`` is described by the name, in the terms that the model
    was trained in, as everywhere else in ck-select. Cells that contradict the name are errors. Other texts under
    ``kernel_name`` are labels.

    With ``strict``, absent cells (missing keys, None and NaN) and words that the model has no number for are errors
    that name the field; with False they take the defaults of upstream's engines. None does as upstream's predictor with
    models of upstream's trainer, which take the defaults, and is strict with models of ours, whose spec has the key
    ``ck_select``.

    A problem or a kernel that says another direction, type or architecture than the spec is refused: the model is not
    for it. With ``force_model`` it is asked all the same; nobody knows what its answers are worth there.

    ``keep_unpacked`` writes ``model_<target>.lgbm`` beside a ``.gz`` when it is first loaded, as upstream does.
    Without it, nothing is ever written.

    Any number of threads may use one predictor. It may be used before and after a fork.
    """

    def __init__(
        self,
        model_dir: str | os.PathLike[str],
        feature_engine: engines.EngineLike = None,
        *,
        strict: bool | None = None,
        keep_unpacked: bool = False,
        force_model: bool = False,
    ) -> None:
        self._model_dir = Path(model_dir)
        self._engine_name, hardware = engines.resolve(feature_engine)
        self._hardware = engines.hardware_json(hardware)
        self._force = force_model
        self._keep_unpacked = keep_unpacked
        self._forests: dict[str, _forest.Forest] = {}
        self._pools = PoolCache()
        path = self._model_dir / "feature_spec.json"
        self._spec: dict[str, Any] = {}
        # Whether the spec is ours is known when it has been read, for which this makes no difference.
        self._uncoded = _ERRORS if strict else _DEFAULTS
        self._description = _forest.describe_spec(self._model_dir, self._options("tflops"))
        if path.exists():
            self._spec = json.loads(path.read_text("utf-8-sig"))
        elif self._model_dir.is_dir():
            warnings.warn(f"no {path}: its forests are taken for ones without logarithms", stacklevel=2)
        if strict is None and self._spec.get("ck_select") is not None:
            self._uncoded = _SPECS
        self._problem_inputs = frozenset(self._description["problem_inputs"])
        self._kernel_inputs = frozenset(self._description["kernel_inputs"])
        self._name_inputs = frozenset(self._description["name_inputs"])
        self._inputs: tuple[str, ...] = (
            *self._description["problem_inputs"],
            *self._description["kernel_inputs"],
            *self._description["name_inputs"],
        )
        self._words = frozenset(self._description["word_inputs"])
        self._rank_by: str = self._description["rank_by"]
        self._engine: Any = feature_engine
        if feature_engine is None or isinstance(feature_engine, (str, type)):
            self._engine = engines.of_description(self._description)

    @property
    def spec(self) -> dict[str, Any]:
        """``feature_spec.json``, empty if there is none."""
        return self._spec

    @property
    def feature_engine(self) -> Any:
        """The given engine, or the spec's."""
        return self._engine

    @property
    def feature_names(self) -> list[str]:
        """The columns of the model, in order."""
        return list(self._description["feature_names"])

    def predict_tflops(self, problem: Config, kernel_config: Kernel) -> float:
        """TFLOPS of one kernel. Logarithms are undone; forests trained without a logarithm are clamped at 0."""
        return self._predict("tflops", problem, kernel_config)

    def predict_latency(self, problem: Config, kernel_config: Kernel) -> float:
        """Milliseconds of one kernel."""
        return self._predict("latency", problem, kernel_config)

    def predict_bandwidth(self, problem: Config, kernel_config: Kernel) -> float:
        """Gigabytes per second of one kernel."""
        return self._predict("bandwidth", problem, kernel_config)

    def predict_all(self, problem: Config, kernel_config: Kernel) -> dict[str, float]:
        """The available ones of ``tflops``, ``latency_ms`` and ``bandwidth_gb_s``."""
        row = _table.row_json(self.single_row(problem, kernel_config))
        return {key: self._forest(target).predict_row(row) for target, key in _KEYS.items() if self._file(target)}

    def predict_rows(self, rows: Any, target: str = "tflops") -> list[float]:
        """A prediction for each row of a DataFrame or a list of dicts with both problem and kernel."""
        columns, count = self._columns(rows, self._inputs)
        return self._forest(target).predict_rows(columns, count).tolist()

    def extract_rows(self, rows: Any, target: str = "tflops") -> list[list[float]]:
        """The features of each such row, in the order of ``feature_names``."""
        columns, count = self._columns(rows, self._inputs)
        width = len(self._description["feature_names"])
        flat = self._forest(target).features(columns, count, width).tolist()
        return [flat[begin : begin + width] for begin in range(0, count * width, width)]

    def rank_kernels(self, problem: Config, kernel_configs: Kernels) -> list[tuple[str, float]]:
        """(name, score) of every kernel, best first; equal scores keep their order. Scores are not clamped.

        What ranks is TFLOPS, unless the spec of a model of ours names another target (``ck_select.rank_by``).

        A list of texts ranks the kernels of these names. A kernel's own keys win over the problem's. What is prepared
        for the kernels is kept for the next call, and used again only for kernels that are still the same: change the
        dicts as you like.
        """
        pool = self._pool(problem, kernel_configs)
        return pool.rank(problem) if pool is not None else []

    def select_best(self, problem: Config, kernel_configs: Kernels) -> str:
        """The name of the best kernel."""
        pool = self._pool(problem, kernel_configs)
        if pool is None:
            raise ValueError("no kernels to select from: kernel_configs is empty")
        return pool.rank(problem, 1)[0][0]

    def prepare(self, kernel_configs: Kernels) -> Pool:
        """Prepares kernels for many rankings, which then need not check them for changes."""
        if isinstance(kernel_configs, Pool):
            return self._own(kernel_configs)
        configs = _names.as_rows(kernel_configs)
        names, partial, inputs = self._describe(configs)
        columns, count = self._columns(configs, inputs)
        # A pool without kernels needs no forest, as upstream ranks nothing without loading one.
        prepared = self._forest(self._rank_by).prepare(columns, count) if count else None
        return Pool(self, prepared, names, partial, columns)

    def _own(self, pool: Pool) -> Pool:
        if pool.predictor is not self:
            raise ValueError("the pool was prepared by another predictor")
        return pool

    def _pool(self, problem: Config, configs: Kernels) -> Pool | None:
        """The prepared pool, None for one without kernels."""
        if isinstance(configs, Pool):
            pool = self._own(configs)
        elif not hasattr(configs, "__len__"):
            pool = self.prepare(list(configs))
        elif len(configs) == 0:
            return None
        else:
            pool = self._pools.find(configs) or self._prepare_cached(configs)
        if len(pool) == 0:
            return None
        filled = pool.partial.intersection(problem) if pool.partial else None
        return self._filled(problem, pool, filled) if filled else pool

    def _prepare_cached(self, configs: Kernels) -> Pool:
        pool = self.prepare(configs)
        self._pools.keep(configs, pool)
        return pool

    def _filled(self, problem: Config, pool: Pool, names: Iterable[str]) -> Pool:
        """A pool whose kernels lack cells that describe a kernel, and that the problem has: it lends them.

        A kernel with a name lacks nothing.
        """
        columns = {column.name: column for column in pool.columns}
        borrows = [not _names.is_kernel(name) for name in pool.names]
        for name in names:
            if not _table.is_absent(problem[name]):
                columns[name] = _table.lent(name, columns.get(name), problem[name], borrows, name in self._words)
        made = list(columns.values())
        prepared = self._forest(self._rank_by).prepare(made, len(pool))
        return Pool(self, prepared, pool.names, frozenset(), made)

    def _describe(self, configs: Any) -> tuple[list[Any], frozenset[str], list[str]]:
        """Names, the kernel's inputs that not every kernel has, and the inputs that any has."""
        if _table.is_frame(configs):
            _table.refuse_repeated(configs)
            present = set(configs.columns)
            whole = {name for name in self._kernel_inputs & present if not configs[name].isna().any()}
            column = next((column for column in _names.COLUMNS if column in present), None)
            given = configs[column].tolist() if column else [None] * len(configs)
            names = [f"kernel_{row}" if _table.is_absent(name) else name for row, name in enumerate(given)]
        else:
            present = set().union(*configs) if len(configs) else set()
            whole = {
                name
                for name in self._kernel_inputs & present
                if not any(_table.is_absent(config.get(name)) for config in configs)
            }
            names = [_names.of_row(config, row) for row, config in enumerate(configs)]
        partial = self._kernel_inputs - whole
        if partial and all(map(_names.is_kernel, names)):
            partial = frozenset()
        return names, partial, [name for name in self._inputs if name in present]

    def _columns(self, rows: Any, inputs: Iterable[str]) -> tuple[list[_table.Cells], int]:
        made = _table.of_frame if _table.is_frame(rows) else _table.of_dicts
        return made(rows, inputs, self._words.__contains__), len(rows)

    def _predict(self, target: str, problem: Config, kernel: Kernel) -> float:
        return self._forest(target).predict_row(_table.row_json(self.single_row(problem, kernel)))

    def single_row(self, problem: Config, kernel: Kernel) -> dict[str, Any]:
        """One kernel's row, every cell from where upstream's engines look for it: no merging here."""
        kernel = _names.as_row(kernel)
        row = {name: problem[name] for name in self._problem_inputs.intersection(problem)}
        row.update({name: kernel[name] for name in self._kernel_inputs.intersection(kernel)})
        row.update({name: kernel[name] for name in self._name_inputs.intersection(kernel) if _is_plain(kernel[name])})
        if self._description["needs_vector"]:
            # Only this engine looks on the other side for what it does not find.
            for name in (self._problem_inputs - {"split_k"}).intersection(kernel):
                if _table.is_absent(row.get(name)):
                    row[name] = kernel[name]
            for name in self._kernel_inputs.intersection(problem):
                if _table.is_absent(row.get(name)):
                    row[name] = problem[name]
        return row

    def problem_json(self, problem: Config) -> bytes:
        """A problem in the library's form."""
        return _table.row_json({name: problem[name] for name in self._problem_inputs.intersection(problem)})

    def _options(self, target: str) -> Any:
        return _forest.options(target, self._engine_name, self._hardware, self._uncoded, self._force)

    def _file(self, target: str) -> Path | None:
        plain = self._model_dir / f"model_{target}.lgbm"
        packed = self._model_dir / f"model_{target}.lgbm.gz"
        return plain if plain.exists() else packed if packed.exists() else None

    def _forest(self, target: str) -> _forest.Forest:
        forest = self._forests.get(target)
        if forest is None:
            path = self._file(target)
            if path is None:
                raise FileNotFoundError(f"{self._model_dir}: no model_{target}.lgbm and no model_{target}.lgbm.gz")
            if self._keep_unpacked and path.suffix == ".gz":
                _unpack(path, path.with_suffix(""))
            # Two threads may both load it; one of the two stays.
            forest = self._forests.setdefault(target, _forest.Forest(self._model_dir, self._options(target)))
        return forest


def _is_plain(cell: Any) -> bool:
    """Whether a cell may be looked at for what it says of a name: a label may be anything."""
    return isinstance(cell, (str, int))


def _unpack(packed: Path, plain: Path) -> None:
    """Writes a decompressed file completely or not at all."""
    with tempfile.NamedTemporaryFile(dir=plain.parent, prefix=plain.name, delete=False) as out:
        try:
            with gzip.open(packed) as text:
                shutil.copyfileobj(text, out)
            out.flush()
            os.fsync(out.fileno())
            os.replace(out.name, plain)
        except BaseException:
            os.unlink(out.name)
            raise
