"""Commands of ``ckselect`` as functions: tables where the command takes files, and its table as a list of dicts."""

from __future__ import annotations

import csv
import json
import logging
import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from os import PathLike, fspath
from pathlib import Path
from typing import Any, Union, cast, overload

from . import _names, _rows
from ._library import lib, text_of
from ._problem import Problem, plain
from ._shipped import place_of
from .errors import CommandError, InvalidInputError
from .predictor import Predictor

NAME = "ckselect"

Row = dict[str, Any]
Place = Union[str, "PathLike[str]"]
# A word, several, or a table: a frame of pandas or polars, or dicts of cells.
Value = Any


def command() -> Path:
    """The program: ``CK_SELECT_COMMAND``, else the wheel's, else the one next to ``CK_SELECT_LIBRARY``."""
    given = os.environ.get("CK_SELECT_COMMAND")
    if given:
        return Path(given)
    library = os.environ.get("CK_SELECT_LIBRARY")
    places = [Path(__file__).with_name(NAME), *([Path(library).with_name(NAME)] if library else [])]
    for place in places:
        if place.is_file():
            return place
    raise FileNotFoundError(f"no {places[0]}: install the package with pip, or set CK_SELECT_COMMAND to a {NAME}")


def ckselect(name: str, *arguments: Place, **options: Value) -> list[Row]:
    """The table of a command that has ``--format``, such as ``ckselect("evaluate", model=…, data=["a.csv", "b.csv"])``.

    Arguments without a name come first, as in ``ckselect("report", "sweep.csv")``. ``max_loss="mean=0.01"`` is
    ``--max-loss mean=0.01``, True is an option without a value, a list an option with several, a dict its pairs:
    ``where={"dtype": "bf16"}``, ``params={"seed": 7}``, ``problem={"M": 128, …}``; None and False omit the
    option. Where the command expects a file of measurements, problems or kernels, a frame of pandas or polars or a list
    of dicts will do. Messages go to standard error as they are printed. A failure raises a :class:`CommandError` with
    them. ``evaluate`` and ``inspect`` return one dict of everything. What is not a table, such as the text of
    ``--help``, goes to standard output, and there are no rows.
    """
    if options.pop("format", "json") != "json":
        raise ValueError("format: expected json or nothing: rows are what is returned; output=… writes files")
    with tempfile.TemporaryDirectory() as folder:
        return _run([str(command()), name, *_words(arguments, options, Path(folder))], name)


def _words(arguments: Iterable[Any], options: Mapping[str, Any], folder: Path) -> list[str]:
    """The words of a call. Tables become files in ``folder``."""
    words = [*(_word(argument, folder) for argument in arguments), "--format", "json"]
    for option, value in options.items():
        if value is None or value is False:
            continue
        words.append("--" + option.replace("_", "-"))
        if isinstance(value, Mapping):
            pairs = [f"{name}={one}" for name, one in value.items()]
            words.extend(pairs if option == "params" else [",".join(pairs)])
        elif value is not True:
            words.extend(_word(one, folder) for one in _several(value))
    return words


def _several(value: Any) -> Iterable[Any]:
    """The values of an option that takes several. A table is one."""
    one = isinstance(value, (str, PathLike, int, float)) or _is_frame(value) or _is_rows(value)
    return [value] if one else value


def _is_frame(value: Any) -> bool:
    return hasattr(value, "to_csv") or hasattr(value, "write_csv")


def _is_rows(value: Any) -> bool:
    return isinstance(value, (list, tuple)) and bool(value) and isinstance(value[0], Mapping)


def _word(value: Any, folder: Path) -> str:
    if isinstance(value, PathLike):
        return str(fspath(value))
    file = folder / f"table{len(list(folder.iterdir()))}.csv"
    if hasattr(value, "to_csv"):
        value.to_csv(file, index=False)
    elif hasattr(value, "write_csv"):
        value.write_csv(file)
    elif _is_rows(value):
        columns = list(dict.fromkeys(name for row in value for name in row))
        with file.open("w", newline="", encoding="utf-8") as out:
            writer = csv.DictWriter(out, columns)
            writer.writeheader()
            writer.writerows(value)
    else:
        return str(value)
    return str(file)


def _run(words: list[str], name: str) -> list[Row]:
    messages = []
    with tempfile.TemporaryFile("w+", encoding="utf-8") as table:
        process = None
        try:
            with _no_interrupt():
                process = subprocess.Popen(words, stdout=table, stderr=subprocess.PIPE, encoding="utf-8")
            for line in process.stderr or ():
                sys.stderr.write(line)
                messages.append(line)
            process.communicate()
        except BaseException:
            if process is not None:
                _end(process)
            raise
        if process.returncode != 0:
            raise CommandError(
                "".join(messages).strip() or f"{name} ends with {process.returncode}", process.returncode
            )
        table.seek(0)
        text = table.read()
    try:
        rows: list[Row] = json.loads(text)
    except ValueError:
        # Help, and whatever else is for people, not a table.
        sys.stdout.write(text)
        return []
    return rows


# How long a command has to end by itself.
_GRACE_S = 10


def _end(process: subprocess.Popen[str]) -> None:
    """Ends a command as Ctrl-C in its terminal would, so that a sweep keeps its log; then by force."""
    process.send_signal(signal.SIGINT)
    try:
        process.communicate(timeout=_GRACE_S)
    except BaseException:  # also an impatient second Ctrl-C
        process.kill()
        process.wait()


@contextmanager
def _no_interrupt() -> Iterator[None]:
    """Delays an interrupt until a process is known, which nobody could end otherwise."""
    usual = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(usual):
        yield
        return
    received: list[Any] = []
    signal.signal(signal.SIGINT, lambda *signal_and_frame: received.append(signal_and_frame))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, usual)
    if received:
        usual(*received[0])


def estimate(
    problem: Union[Mapping[str, object], Problem],
    kernels: Union[_rows.Kernels, Place],
    *,
    arch: str | None = None,
    hardware: Union[Place, None] = None,
    top: int | None = None,
) -> list[Row]:
    """Kernels by estimated time, fastest first, without any model, in this process.

    ``problem`` has the fields of ``--problem``; ``kernels`` are names, rows with a name, a file of names, or a family
    of AITER's kernels, whose names the command ``ckselect enumerate`` gives. Rows are those of ``ckselect rank --model
    estimate``: the time, by how much the kernel is slower than the first, the expected loss of choosing it
    (docs/sureness.md; None where no choice was judged), and the terms that add up to the time, in microseconds
    (docs/estimate.md). ``arch`` is an architecture or a product such as ``"MI300X"``, and ``hardware`` a file that
    describes the GPU; without either, the problem or all kernels must name the architecture.
    """
    cells = _cells(problem) if isinstance(problem, Problem) else problem
    request = {**_kernels(kernels, arch), "problem": _pairs(cells), "arch": arch, "top": top}
    if hardware is not None:
        request["hardware"] = str(hardware)
    text = json.dumps(request).encode()
    table = json.loads(text_of(lib.ck_estimate_table, text, len(text)))
    for reason, count in table["left_out"].items():
        logging.getLogger("ck_select").warning("%d kernels have no estimate for the problem: %s", count, reason)
    rows: list[Row] = table["rows"]
    return rows


def _cells(problem: Problem) -> dict[str, Any]:
    """A problem's cells, which may leave the number of parts open."""
    if getattr(problem, "split_k", 1) not in ("auto", 0):
        return problem.to_dict()
    return {**replace(cast(Any, problem), split_k=1).to_dict(), "split_k": "auto"}


def _pairs(cells: Mapping[str, object]) -> str:
    """Cells as the text of a problem."""
    given = ((name, plain(value)) for name, value in cells.items() if value is not None)
    return ",".join(f"{name}={int(value) if isinstance(value, bool) else value}" for name, value in given)


def _kernels(kernels: Union[_rows.Kernels, Place], arch: str | None) -> Row:
    """The kernels of a request: their names, or a file of them."""
    if not isinstance(kernels, (str, PathLike)):
        return {"kernels": [row[_names.COLUMNS[0]] for row in _pool(kernels)]}
    if _names.is_kernel(kernels):
        raise ValueError(f"kernels: found one kernel's name, expected a list: ['{kernels!s}']")
    if Path(kernels).exists():
        return {"pool": str(kernels)}
    return {"kernels": [row["kernel"] for row in ckselect("enumerate", kernels, arch=arch)]}


def explain(
    model: Union[Predictor, Place],
    kernels: Union[_rows.Kernels, Place],
    problem: Mapping[str, object],
    **options: Value,
) -> list[Row]:
    """Why a model ranks one kernel above another, by default its first above its second: ``ckselect explain``.

    ``model`` is as for :func:`evaluate`, ``kernels`` and ``problem`` as for :func:`estimate`. Rows have a feature, its
    values for both kernels, and what it adds to the score of each; ``output="choice.html"`` also writes a page.
    """
    return ckselect("explain", model=_model(model), pool=_pool(kernels), problem=problem, **options)


def _model(model: Union[Predictor, Place]) -> Place:
    return model._model_dir if isinstance(model, Predictor) else place_of(model)


def _pool(kernels: Union[_rows.Kernels, Place]) -> Value:
    """A file of kernels, or a table of their names."""
    if isinstance(kernels, (str, PathLike)):
        return kernels
    rows = _rows.each(kernels, "kernels")
    if not rows:
        raise ValueError("kernels: found none, expected at least one")
    return [{_names.COLUMNS[0]: _name(row, f"kernels: row {place}")} for place, row in enumerate(rows)]


def _name(row: Any, where: str) -> str:
    """The name of one kernel, checked here: the command could only say where it stands in a file of ours."""
    cells = {} if isinstance(row, str) else _rows.mapping(row, where)
    name = row if isinstance(row, str) else next(filter(None, map(cells.get, _names.COLUMNS)), None)
    if not isinstance(name, str):
        raise ValueError(f"{where}: found no {' or '.join(_names.COLUMNS)}: the estimate knows kernels by their names")
    try:
        _names.cells(name)
    except InvalidInputError as error:
        raise InvalidInputError(f"{where}: {error}", error.status) from None
    return name


class _Written(Predictor):
    """The predictor of a model that a command wrote; commands take universal ones, too."""

    _may_be_universal = True


@overload
def tune(arch: str, *, output: Place, **options: Value) -> Predictor: ...


@overload
def tune(arch: str, *, output: None = None, **options: Value) -> list[Row]: ...


def tune(arch: str, *, output: Union[Place, None] = None, **options: Value) -> Union[Predictor, list[Row]]:
    """Adapts a universal model with a few measurements: ``ckselect tune`` with its options.

    With ``output``, returns the predictor of the model that it writes; otherwise rows: with ``simulate`` and
    ``counts="0,10,all"``, the quality of choices by the number of measured problems.

    Needs a ``ckselect`` with LightGBM, unlike the wheel's: ``make ckselect`` builds one, and
    ``CK_SELECT_COMMAND`` names it.
    """
    rows = ckselect("tune", arch=arch, output=output, **options)
    return rows if output is None else _Written(output)


def train(data: Any, output: Place, **options: Value) -> Predictor:
    """Trains a model on measurements and returns its predictor: ``ckselect train`` with its options.

    ``train(frame, "models/mine", where={"dtype": "bf16"}, params={"num_leaves": 31}, arch="gfx942")``. Needs LightGBM,
    as :func:`tune` does.
    """
    ckselect("train", data=data, output=output, **options)
    return _Written(output)


#: :func:`train`, for those who look for scikit-learn's word.
fit = train


def evaluate(model: Union[Predictor, Place], data: Any, **options: Value) -> dict[str, Any]:
    """How well a model chooses on measurements: ``ckselect evaluate`` with its options.

    ``model`` is a predictor, a directory or ``"embedded:NAME"``. ``["global_metrics"]["efficiency_mean"]`` and its
    neighbours are the figures of all problems, ``["per_shape_efficiency"]`` those of each. With ``against``, a model
    that may not replace the other raises a :class:`CommandError`.
    """
    return cast("dict[str, Any]", ckselect("evaluate", model=_model(model), data=data, **options))


def report(sweeps: Any, **options: Value) -> list[Row]:
    """A summary of one or several sweeps, files or tables: ``ckselect report`` with its options.

    ``report("sweep.csv", arch="gfx942", output="sweep.html")`` also writes a page. Rows have a section, a name, a value
    and a share.
    """
    return ckselect("report", *_several(sweeps), **options)
