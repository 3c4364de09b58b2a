"""The drop-in for upstream's ``Predictor``."""

from __future__ import annotations

import gzip
import os
import re
import tempfile
import warnings
import zlib
from array import array
from collections.abc import Iterable, Mapping, Sequence
from contextlib import nullcontext
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, ClassVar, Union

from . import _features, _foreign, _forest, _names, _reader, _rows, _table, _vector, engines
from ._forest import BareForest
from ._rows import Config, Kernel
from ._shipped import BUILT_IN, shipped_model
from .errors import InvalidModelError
from .pool import Pool, PoolCache
from .ranking import Library, Ranking, as_table, figures, library_of

Kernels = Union[_rows.Kernels, Pool]
"""Kernels to rank: a list of mappings or of names, a table of pandas, polars or Arrow, or a ``Pool``."""

Target = _forest.Target

_KEYS = {"tflops": "tflops", "latency": "latency_ms", "bandwidth": "bandwidth_gb_s"}
# A `ck_uncoded`: as in the spec, errors, upstream's defaults.
_SPECS, _ERRORS, _DEFAULTS = range(3)


class Predictor:
    """Predicts and ranks kernels with the forests of a model directory.

    ``model_dir`` has ``model_<target>.lgbm`` (or ``.lgbm.gz``, or ``.lgbm.packed``), and ``feature_spec.json``. Forests
    are loaded on first use and kept; the spec is read and checked immediately. ``"embedded:NAME"`` is the model of that
    name that comes with the package (``shipped_models()``).

    ``feature_engine`` is None for the engine of the spec, an engine's name (``"conv97"``), or an engine object: from
    ``ck_select.engines``, from upstream, or your own. Of the first two kinds of objects, the class and the GPU
    constants matter, and are read now; ``extract`` and ``extract_batch`` of your own are called, as upstream's
    predictor calls them.

    A row with a kernel's name under ``kernel_name`` or ``kernel`` is described by the name, in the terms in which the
    model was trained, as everywhere else in ck-select. Cells that contradict the name are errors. Other strings under
    ``kernel_name`` are labels.

    With ``strict``, absent cells (missing keys, None and NaN) and words for which the model has no code are errors that
    name the field; with False they take the defaults of upstream's engines. None is the behaviour of upstream's
    predictor for models of upstream's trainer (defaults), and strict for our own models, whose spec has the key
    ``ck_select``. Where absent cells are errors, a problem is validated as by all other interfaces: what has a neutral
    value or, as the type, one of the model may be left out, padding after an axis (``pad_h_right``) counts, and
    fractions, impossible extents, a ``variant`` or ``op_type`` of other kernels, and misspelt keys or columns are
    errors. Other unknown keys are ignored. GEMM kernels of another variant than the problem's, and attention kernels
    that do not support it (its ``mask``, for example), are ranked last, with NaN.

    The numbers of a convolution's tile without a name are threads, m, n, k if ``gemm_k_per_block`` is among them,
    otherwise the three of a name in their order, for every model but upstream's own. What may be the other is an error,
    with any ``strict``.

    A problem or a kernel whose direction, type or architecture differs from the spec's is refused. With ``force_model``
    it is predicted anyway; the quality of these predictions is unknown.

    A universal model, such as those of AITER's kernels, scores the kernels of a pool relative to each other, and so
    ranks in a ``Registry``; here it is an error at once. One that ``tune`` or ``train`` returns serves ``evaluate`` and
    ``explain``.

    ``threads`` work on thousands of rows or kernels, all that the process may use if it is None, as in LightGBM; they
    end with the call.

    ``keep_unpacked`` writes ``model_<target>.lgbm`` next to a ``.gz`` when it is first loaded, as in upstream.
    Without it, nothing is ever written.

    Any number of threads may use one predictor. It may be used before and after a fork. It can be pickled and copied:
    copies share forests, and another process loads them again from the directory.
    """

    # Whether it may be of a universal model, for commands alone.
    _may_be_universal: ClassVar[bool] = False

    def __init__(
        self,
        model_dir: str | os.PathLike[str],
        feature_engine: engines.EngineLike = None,
        *,
        strict: bool | None = None,
        keep_unpacked: bool = False,
        force_model: bool = False,
        threads: int | None = None,
    ) -> None:
        name = os.fspath(model_dir)
        built_in = name.startswith(BUILT_IN)
        # Forests are loaded on first use, perhaps in another folder than this one, by a copy in another process.
        self._model_dir = shipped_model(name.removeprefix(BUILT_IN)) if built_in else Path(name).absolute()
        given = engines.resolve(feature_engine)
        self._engine_name = given.name
        self._hardware = _features.hardware_json(given.hardware)
        self._force = force_model
        if threads is not None and threads < 1:
            raise ValueError(f"threads: found {threads}, expected at least 1")
        self._threads = len(os.sched_getaffinity(0)) if threads is None else threads
        self._keep_unpacked = keep_unpacked
        self._forests: _forest.Loaded[_forest.Forest] = _forest.Loaded()
        self._bare: _forest.Loaded[BareForest] = _forest.Loaded()
        path = self._model_dir / "feature_spec.json"
        if not path.exists():
            if not any(self._model_dir.glob("model_*.lgbm*")):
                # Upstream's finds out at the first prediction.
                found = "has no model" if self._model_dir.is_dir() else "is no directory"
                raise FileNotFoundError(f"{self._model_dir} {found}: expected feature_spec.json and model_tflops.lgbm")
            warnings.warn(f"no {path}: its forests are taken for ones without logarithms", stacklevel=2)
        self._spec = _forest.read_spec(path)
        is_ours = self._spec.get("ck_select") is not None
        self._uncoded = _ERRORS if strict else _SPECS if strict is None and is_ours else _DEFAULTS
        self._foreign = _foreign.Foreign(given, path, self._spec) if given.names is not None else None
        self._description = (
            self._describe_spec() if self._foreign is None else self._foreign.described(self._describe_spec)
        )
        arch = self._spec.get("arch")
        if arch and self._description["arch"] is None and self._foreign is None:
            message = f"{path}: arch: '{arch}' is no architecture such as gfx950: the model answers for any"
            warnings.warn(message, stacklevel=2)
        self._problem_inputs = frozenset(self._description["problem_inputs"])
        self._kernel_inputs = frozenset(self._description["kernel_inputs"])
        self._shared_inputs = frozenset(self._description["shared_inputs"])
        self._name_inputs = frozenset(self._description["name_inputs"])
        sides = (self._description[side] for side in ("problem_inputs", "kernel_inputs", "name_inputs"))
        # What a kernel's name says about problems is in both.
        inputs: tuple[str, ...] = tuple(dict.fromkeys(chain.from_iterable(sides)))
        self._inputs = frozenset(inputs)
        self._words = frozenset(self._description["word_inputs"])
        self._rank_by: str = self._description["rank_by"]
        if is_ours and self._spec["ck_select"].get("prior") is not None and not self._may_be_universal:
            ask = f"Registry(models=['{name}']).rank, select and run, or `ckselect rank`"
            raise InvalidModelError(f"{name} scores kernels of a pool relative to each other: use {ask}", 11)
        self._engine: Any = feature_engine
        if feature_engine is None or isinstance(feature_engine, (str, type)):
            self._engine = engines.of_description(self._description)
        self._feature_indices: list[int] | None = _indices(self.feature_names, self._engine)
        self._pools = PoolCache()
        self._reader = _reader.Reader(inputs, self._words, self._uncoded != _DEFAULTS)

    def _describe_spec(self) -> dict[str, Any]:
        try:
            return _forest.describe_spec(self._model_dir, self._options("tflops"))
        except InvalidModelError as error:
            raise InvalidModelError(_in_upstreams_words(str(error)), error.status) from None

    def __repr__(self) -> str:
        targets = ", ".join(filter(self._file, dict.fromkeys([*_KEYS, self._rank_by]))) or "nothing"
        return f"<Predictor of {targets} with {len(self.feature_names)} features: {self._model_dir}>"

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
        """TFLOPS of one kernel. Logarithms are undone; forests trained without a logarithm are clamped at 0.

        To choose among kernels, use ``rank_kernels`` or ``select_best``: a model may rank with a better forest.
        """
        return self._predict("tflops", problem, kernel_config)

    def predict_latency(self, problem: Config, kernel_config: Kernel) -> float:
        """Milliseconds of one kernel."""
        return self._predict("latency", problem, kernel_config)

    def predict_bandwidth(self, problem: Config, kernel_config: Kernel) -> float:
        """Gigabytes per second of one kernel."""
        return self._predict("bandwidth", problem, kernel_config)

    def predict_all(self, problem: Config, kernel_config: Kernel) -> dict[str, float]:
        """Those of ``tflops``, ``latency_ms`` and ``bandwidth_gb_s`` for which there is a forest."""
        asked, kernel = _rows.mapping(problem, "problem"), _rows.kernel(kernel_config)
        return {key: self._predict(target, asked, kernel) for target, key in _KEYS.items() if self._file(target)}

    def predict_rows(self, rows: _rows.Kernels, target: Target = "tflops") -> list[float]:
        """A prediction for each row of a table with problem and kernel in one row: a list of mappings, a DataFrame of
        pandas or polars, or anything else that provides Arrow.
        """
        return self.predict_array(rows, target).tolist()

    def predict_array(self, rows: _rows.Kernels, target: Target = "tflops") -> array[float]:
        """The same as an ``array``, which numpy, Arrow and polars accept without a copy."""
        if self._foreign_batch is not None:
            return array("d", self._finished(target, self._foreign_batch.batch_features(rows, "rows")))
        return self._forest(target).predict_rows(self._reader.read(rows))

    def extract_rows(self, rows: _rows.Kernels, target: Target = "tflops") -> list[list[float]]:
        """The features of each such row, in the order of ``feature_names``."""
        width = len(self._description["feature_names"])
        if self._foreign_batch is not None:
            flat = self._foreign_batch.batch_features(rows, "rows").tolist()
        else:
            flat = self._forest(target).features(self._reader.read(rows), width).tolist()
        return [flat[begin : begin + width] for begin in range(0, len(flat), width)]

    def rank_kernels(self, problem: Config, kernel_configs: Kernels) -> Ranking:
        """(name, TFLOPS) of every kernel, best first; equal kernels keep their order.

        **The order is the choice; TFLOPS are an estimate of speed.** A model of ours may have a forest for ranking
        (``ck_select.rank_by`` of its spec), whose score orders the kernels, and predicts TFLOPS with another. So TFLOPS
        may rise from one kernel to the next: do not sort by them, or take the largest, which chooses worse kernels.
        They say about how fast a kernel will be, also beside other problems; scores compare kernels of one problem
        only, and are in ``rank_places`` and ``rank_frame``. Other models, like all of upstream's, order by TFLOPS. A
        model that predicts none has its score here.

        ``outlook`` of the ranking has what ``rank`` and ``Registry.explain`` say of it, in the same words: expected
        times and losses, and how sure the first place is. It is computed when it is first asked for, or printed.

        Neither is clamped. Kernels that cannot compute the problem come last, with NaN. A list of strings ranks the
        kernels with these names. Tables have a row for each kernel. A kernel's own keys take precedence over the
        problem's. What is prepared for the kernels is kept for the next call, and reused only if the kernels are
        unchanged: you may modify the dicts at any time.
        """
        asked = _rows.mapping(problem, "problem")
        if self._foreign_batch is None:
            return self._pool(asked, kernel_configs).rank(asked)
        score = partial(self._finished, "tflops", clamp=False)
        return Ranking(self._foreign_batch.rank(asked, kernel_configs, score))

    def rank_many(self, problems: _rows.Kernels, kernel_configs: Kernels, count: int | None = None) -> list[Ranking]:
        """The ``count`` best kernels (all without it) of the same pool for each of many problems, which are mappings or
        the rows of a table. Each is as in ``rank_kernels``.
        """
        pool = self.prepare(kernel_configs)
        rows = [_rows.mapping(row, f"problems: row {at}") for at, row in enumerate(_rows.each(problems, "problems"))]
        return [self._pool(asked, pool).rank(asked, count) for asked in rows]

    def rank_places(
        self, problem: Config, kernel_configs: Kernels, count: int | None = None
    ) -> tuple[list[int], list[float]]:
        """The ``count`` best kernels (all without it) by their indices in the argument, and the scores that order them.

        Scores are in the unit of the forest that ranks. Those of our ranking forests have none, and may be negative:
        only their order among the kernels of one problem means anything.
        """
        asked = _rows.mapping(problem, "problem")
        return self._pool(asked, kernel_configs).rank_places(asked, count)

    def rank_tflops(
        self, problem: Config, kernel_configs: Kernels, count: int | None = None
    ) -> tuple[list[int], list[float]]:
        """``rank_places`` in the same order, with TFLOPS as in ``rank_kernels`` instead of scores."""
        asked = _rows.mapping(problem, "problem")
        return self._pool(asked, kernel_configs).rank_tflops(asked, count)

    def select_best(self, problem: Config, kernel_configs: Kernels) -> str:
        """The name of the best kernel."""
        asked = _rows.mapping(problem, "problem")
        own = type(self).rank_kernels is not Predictor.rank_kernels or self._foreign is not None
        if own and not isinstance(kernel_configs, Pool):
            # A subclass's ranking also determines its choice, as in upstream.
            best = [name for name, _ in self.rank_kernels(asked, kernel_configs)]
        else:
            pool = self._pool(asked, kernel_configs)
            best = [pool.names[place] for place in pool.rank_places(asked, 1)[0]]
        if not best:
            raise ValueError("no kernels to select from: kernel_configs is empty")
        return best[0]

    def rank_frame(self, problem: Config, kernel_configs: Kernels, *, library: Library | None = None) -> Any:
        """The ranking as a table: ``kernel_name``, ``tflops`` as in ``rank_kernels``, the ``score`` that orders the
        rows, ``row``, the kernel's index in the argument, and what the ``outlook`` of ``rank_kernels`` has:
        ``time_us``, ``slower`` and ``loss``, NaN where it is not known.

        It is a DataFrame of ``"pandas"`` or ``"polars"``, or a Table of ``"pyarrow"``; without ``library``, of the
        library of the kernels' table, otherwise of pandas. Scores are not copied.
        """
        asked = _rows.mapping(problem, "problem")
        wanted = library if library is not None else library_of(kernel_configs)
        pool = self._pool(asked, kernel_configs)
        rows, scores = pool.rank_arrays(asked)
        tflops = array("d", pool.tflops(asked, rows.tolist(), scores.tolist()))
        expected = figures(pool._outlook(asked, len(rows)), len(rows))
        numbers: dict[str, array[Any]] = {"tflops": tflops, "score": scores, "row": array("q", rows), **expected}
        return as_table(wanted, [pool.names[row] for row in rows], numbers)

    def select_features(self, X: Any) -> Any:
        """The columns of an engine's features that the model uses, in its order. ``X`` is a numpy matrix."""
        return X if self._feature_indices is None else X[:, self._feature_indices]

    _select_features = select_features

    def prepare(self, kernel_configs: Kernels) -> Pool:
        """Prepares kernels for many rankings, which then need not check the kernels for changes."""
        if isinstance(kernel_configs, Pool):
            return self._own(kernel_configs)
        pool = self._prepare(self._reader.kernels(kernel_configs, "kernel_configs"))
        pool.compile()
        return pool

    def _prepare(self, kernels: _reader.Kernels) -> Pool:
        """The same without compiling, which a pool that is ranked once does not repay."""
        return self._pool_of(kernels.names, kernels.columns)

    def _pool_of(self, names: list[Any], columns: _table.Columns) -> Pool:
        """A pool from the data of its kernels."""
        if self._foreign_batch is not None:
            raise ValueError("the predictor has a feature engine of its own: only rank_kernels and select_best rank")
        if len(names) != len(columns):
            raise ValueError(
                f"kernel_configs: {len(names)} names for {len(columns)} rows: changed while they were read"
            )
        # A pool without kernels needs no forest: upstream does not load one either.
        prepared = self._forest(self._rank_by).prepare(columns) if names else None
        partial = self._kernel_inputs - columns.full
        if partial and all(map(_names.is_kernel, names)):
            partial = frozenset()
        # For our own models, the problem's cells and those of kernels must agree.
        own = self._problem_inputs & columns.full if self._uncoded == _DEFAULTS else frozenset()
        return Pool(self, prepared, names, columns, partial, own)

    def _prepared(self, target: str, columns: _table.Columns) -> _forest.PreparedPool:
        """One forest prepared for kernels."""
        return self._forest(target).prepare(columns)

    def _predicts_tflops_apart(self) -> bool:
        """Whether it ranks by something other than TFLOPS, and predicts them as well."""
        return self._rank_by != "tflops" and ("tflops" in self._forests or self._file("tflops") is not None)

    @property
    def _foreign_batch(self) -> _foreign.Foreign | None:
        """An engine that computes the features of tables itself."""
        return self._foreign if self._foreign is not None and self._foreign.batch is not None else None

    def _own(self, pool: Pool) -> Pool:
        if pool.predictor is not self:
            raise ValueError("the pool was prepared by another predictor")
        return pool

    def _pool(self, problem: Mapping[str, Any], configs: Kernels) -> Pool:
        """The prepared pool, with what its kernels lack and the problem has."""
        if isinstance(configs, Pool):
            pool = self._own(configs)
        else:
            contents = self._contents(configs)
            found = self._pools.find(contents)
            if found is None:
                is_read = isinstance(contents, _reader.Kernels)
                read = contents if is_read else self._reader.kernels(contents, "kernel_configs")
                found = self._pools.keep(contents, self._prepare(read))
            pool = found
        filled = pool._partial.intersection(problem) if pool._partial else None
        return self._filled(problem, pool, filled) if filled else pool

    def _contents(self, configs: Kernels) -> Any:
        """Kernels at one moment, by which their pool is found again: their names alone, or what was read of them."""
        if isinstance(configs, (list, tuple)):
            configs = list(configs)  # that nobody else changes
            if _table.are_of(configs, str):
                return tuple(configs)
        return self._reader.kernels(configs, "kernel_configs")

    def _filled(self, problem: Mapping[str, Any], pool: Pool, names: Iterable[str]) -> Pool:
        """A pool whose kernels lack cells that the problem has: the problem provides them.

        A kernel with a name lacks nothing.
        """
        columns = {column.name: column for column in pool._columns}
        borrows = [not _names.is_kernel(name) for name in pool.names]
        for name in names:
            if not _table.is_absent(problem[name]):
                columns[name] = _table.lent(name, columns.get(name), problem[name], borrows, name in self._words)
        return self._pool_of(pool.names, _table.Columns(len(pool), columns.values()))

    def _predict(self, target: str, problem: Config, kernel: Kernel) -> float:
        asked, cells = _rows.mapping(problem, "problem"), _rows.kernel(kernel)
        if self._foreign is not None and self._foreign.single is not None:
            self._path(target)
            return self._finished(target, self._foreign.single_features(asked, cells))[0]
        if self._description["needs_vector"] and self._uncoded == _DEFAULTS and not _is_named(cells):
            return self._finished(target, _vector.model_features(self._description, asked, cells))[0]
        words = _vector.upstreams_words("problem: ") if self._description["needs_vector"] else nullcontext()
        with words:
            return self._forest(target).predict_row(_table.row_json(self._single_row(asked, cells), self._side_of))

    def _side_of(self, name: str) -> str:
        return "kernel" if name in self._kernel_inputs or name in self._name_inputs else "problem"

    def _finished(self, target: str, features: array[float], clamp: bool = True) -> list[float]:
        """A forest's predictions for rows of features, with logarithms undone; others are clamped for one kernel."""
        raw = self._bare_forest(target).predict(features)
        if target in self._description["log_targets"]:
            return [_foreign.expm1(value) for value in raw]
        return [max(0.0, value) for value in raw] if clamp else raw

    def _single_row(self, asked: Mapping[str, Any], cells: Mapping[str, Any]) -> dict[str, Any]:
        """One kernel's row, with every cell from the side where upstream's engines look for it, without merging."""
        row = {name: asked[name] for name in self._problem_inputs.intersection(asked)}
        self._add_unknown(row, asked)
        self._add_unknown(row, cells)
        row.update({name: cells[name] for name in self._kernel_inputs.intersection(cells)})
        for name in self._name_inputs.intersection(cells):
            # A label may be anything; only what could be a name is examined.
            if isinstance(cells[name], (str, int)) and _table.is_absent(row.get(name)):
                row[name] = cells[name]
        if self._description["needs_vector"]:
            # Only this engine looks for missing cells on the other side.
            others = {name: asked[name] for name in self._kernel_inputs.intersection(asked)}
            others.update({name: cells[name] for name in (self._problem_inputs - {"split_k"}).intersection(cells)})
            return {**others, **_table.present(row)}
        self._add_dtype(row)
        return row

    def _problem_json(self, problem: Config, without: frozenset[str] = frozenset()) -> bytes:
        """A problem in the library's form."""
        asked = _rows.mapping(problem, "problem")
        inputs = (self._problem_inputs - without) if without else self._problem_inputs
        row = {name: asked[name] for name in inputs.intersection(asked)}
        if self._uncoded != _DEFAULTS:
            # The kernels that a problem needs: those with its mask, for example.
            row.update({name: asked[name] for name in self._shared_inputs.intersection(asked)})
        self._add_unknown(row, asked)
        self._add_dtype(row, without)
        return _table.row_json(row, lambda name: "problem")

    def _add_unknown(self, row: dict[str, Any], cells: Mapping[str, Any]) -> None:
        """Adds unknown names, among which the library looks for misspelt ones."""
        if self._uncoded != _DEFAULTS and not self._inputs.issuperset(cells):
            unknown = (name for name in cells if isinstance(name, str) and name not in self._inputs)
            # The value is ignored, and may be anything.
            row.update(dict.fromkeys(unknown, 0))

    def _add_dtype(self, row: dict[str, Any], without: frozenset[str] = frozenset()) -> None:
        """Adds the model's type where a problem names none, as the command line does."""
        dtype = self._description["dtype"] if self._spec.get("ck_select") is not None else None
        is_asked = self._uncoded != _DEFAULTS and "dtype" in self._problem_inputs - without
        if dtype and is_asked and row.get("dtype") is None:
            row["dtype"] = dtype

    def _options(self, target: str) -> Any:
        return _forest.options(target, self._engine_name, self._hardware, self._uncoded, self._force, self._threads)

    def _file(self, target: str) -> Path | None:
        plain = f"model_{target}.lgbm"
        files = [self._model_dir / name for name in (plain, f"{plain}.gz", f"{plain}.packed")]
        return next((path for path in files if path.exists()), None)

    def _path(self, target: str) -> Path:
        path = self._file(target)
        if path is None:
            raise FileNotFoundError(f"{self._model_dir}: no model_{target}.lgbm and no model_{target}.lgbm.gz")
        if self._keep_unpacked and path.suffix == ".gz":
            _unpack(path, path.with_suffix(""))
        return path

    def _forest(self, target: str) -> _forest.Forest:
        forest = self._forests.get(target)
        if forest is None:
            if target not in _forest.TARGETS:
                raise ValueError(f"target: found '{target}', expected one of {', '.join(_forest.TARGETS)}")
            self._path(target)
            # Two threads may both load it; one of the copies stays.
            forest = self._forests.setdefault(target, _forest.Forest(self._model_dir, self._options(target)))
        return forest

    def _bare_forest(self, target: str) -> BareForest:
        forest = self._bare.get(target)
        if forest is None:
            path, width = self._path(target), len(self.feature_names)
            forest = BareForest(path)
            if forest.width != width:
                raise InvalidModelError(
                    f"{path}: the forest has {forest.width} features, the spec and its engine {width}", 11
                )
            self._bare[target] = forest
        return forest


def _is_named(kernel: Mapping[str, Any]) -> bool:
    return any(_names.is_kernel(kernel.get(column)) for column in _names.COLUMNS)


def _indices(names: Sequence[str], engine: Any) -> list[int] | None:
    """The indices of a model's columns among its engine's; None if they are the same."""
    get = getattr(engine, "get_feature_names", None)
    have = list(get()) if get is not None else list(names)
    if list(names) == have or not set(names) <= set(have):
        return None
    return [have.index(name) for name in names]


def _in_upstreams_words(message: str) -> str:
    """A message about a spec, with the words of upstream's predictor, which programs may look for."""
    version = re.search(r"feature_encoding_version: found (\d+)", message)
    if version:
        return (
            f"{message}; the model was trained at version {version[1]}, "
            "and the same names mean other values at another feature encoding version"
        )
    if re.search(r"no \w+ feature is named", message):
        return f"{message}; the feature engine cannot supply it"
    return message


def _unpack(packed: Path, plain: Path) -> None:
    """Writes a decompressed file completely or not at all."""
    try:
        text = gzip.decompress(packed.read_bytes())
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise InvalidModelError(f"{packed}: not a whole gzip file: {error}", 11) from None
    with tempfile.TemporaryDirectory(dir=plain.parent, prefix=plain.name) as folder:
        whole = Path(folder) / plain.name
        with whole.open("wb") as out:
            out.write(text)
            out.flush()
            os.fsync(out.fileno())
        os.replace(whole, plain)
