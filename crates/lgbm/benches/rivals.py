"""Our LightGBM functions beside everything else that predicts with a LightGBM model, on the same arrays.

Each library is called through its own interface with the same rows, one thread each, in turns. A round calls
every library; a figure is the least CPU time of the rounds, because whatever else runs only ever adds. Raw scores
are compared bit by bit with LightGBM's. See `make bench-rivals`.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import os
import pathlib
import re
import sys
import time

# Before any of them starts its threads.
for name in ("OMP_NUM_THREADS", "OMP_THREAD_LIMIT", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ[name] = "1"

import lightgbm  # noqa: E402
import numpy as np  # noqa: E402

FORESTS = {"800x15": (800, 15), "500x127": (500, 127), "2000x255": (2000, 255)}
ROWS = (1, 30, 546, 4608)
PROBLEM, KERNEL = 45, 27
COMPILED_SIZE = 100_000  # nodes: compiling more takes minutes


def table(rows: int, shared: bool, seed: int) -> np.ndarray:
    """Rows of 45 columns of the problem, which are equal if shared, and 27 of the kernel."""
    random = np.random.default_rng(seed)
    problems = np.exp2(random.uniform(0, 14, (1 if shared else rows, PROBLEM))).round(1)
    # A third of a kernel's columns are sizes or flags, the others differ from kernel to kernel.
    sizes = np.exp2(random.integers(0, 8, (rows, KERNEL // 3)))
    others = np.exp2(random.uniform(0, 8, (rows, KERNEL - KERNEL // 3))).round(2)
    return np.hstack([np.broadcast_to(problems, (rows, PROBLEM)), sizes, others])


def train(folder: pathlib.Path, name: str) -> pathlib.Path:
    """A forest of this size, trained once."""
    path = folder / f"{name}.txt"
    if path.exists():
        return path
    trees, leaves = FORESTS[name]
    print(f"training {name}", file=sys.stderr, flush=True)
    rows = table(40_000, False, 1)
    random = np.random.default_rng(2)
    logs = np.log2(rows)
    weights = random.normal(size=(rows.shape[1], 8))
    target = np.sin(logs @ weights / 12).sum(1) + (logs[:, :8] * logs[:, -8:]).sum(1) / 50
    target += random.normal(scale=0.1, size=len(rows))
    parameters = {"objective": "regression", "num_leaves": leaves, "learning_rate": 0.05, "min_data_in_leaf": 5,
                  "verbosity": -1, "num_threads": 2, "feature_fraction": 0.5, "seed": 3}
    booster = lightgbm.train(parameters, lightgbm.Dataset(rows, target), trees)
    folder.mkdir(parents=True, exist_ok=True)
    booster.save_model(path)
    return path


class Ours:
    """libck_select_lgbm.so, or any other library with LightGBM's C functions."""

    def __init__(self, library: str, model: pathlib.Path):
        self.library = ctypes.CDLL(library)
        self.handle, iterations = ctypes.c_void_p(), ctypes.c_int()
        self.check(self.library.LGBM_BoosterCreateFromModelfile(
            str(model).encode(), ctypes.byref(iterations), ctypes.byref(self.handle)))

    def check(self, status: int) -> None:
        if status != 0:
            self.library.LGBM_GetLastError.restype = ctypes.c_char_p
            raise RuntimeError(self.library.LGBM_GetLastError().decode())

    def caller(self, rows: np.ndarray):
        out, count = np.empty(len(rows)), ctypes.c_int64()
        # `num_threads=1` in each call, as in all others.
        arguments = (self.handle, ctypes.c_void_p(rows.ctypes.data), 1, len(rows), rows.shape[1], 1, 1, 0, -1,
                     b"num_threads=1", ctypes.byref(count), ctypes.c_void_p(out.ctypes.data))
        function = self.library.LGBM_BoosterPredictForMat

        def call() -> np.ndarray:
            self.check(function(*arguments))
            return out

        return call


def lightgbm_library() -> str:
    folder = pathlib.Path(lightgbm.__file__).parent
    return str(next(folder.rglob("lib_lightgbm.so")))


def lignum(model: pathlib.Path, work: pathlib.Path, compiled: bool):
    import lignum as package

    loaded = package.load(str(model))
    if compiled:
        library = work / f"{model.stem}.lignum.so"
        if library.exists():
            loaded.load_compiled(str(library))
        else:
            loaded.compile(library=str(library), jobs=1)
        loaded.compiled_min_rows = 1
    return lambda rows: lambda: loaded.predict(rows, raw_score=True, n_jobs=1)


def lleaves(model: pathlib.Path, work: pathlib.Path):
    import lleaves as package

    loaded = package.Model(model_file=str(model))
    loaded.compile(cache=str(work / f"{model.stem}.lleaves"), raw_score=True)
    return lambda rows: lambda: loaded.predict(rows, n_jobs=1)


def tl2cgen(model: pathlib.Path, work: pathlib.Path):
    import tl2cgen as package
    import treelite

    library = work / f"{model.stem}.tl2cgen.so"
    if not library.exists():
        loaded = treelite.frontend.load_lightgbm_model(str(model))
        package.export_lib(loaded, toolchain="gcc", libpath=str(library), params={"parallel_comp": 8})
    predictor = package.Predictor(str(library), nthread=1)
    return lambda rows: lambda: predictor.predict(package.DMatrix(rows, dtype="float64"), pred_margin=True)


def treelite(model: pathlib.Path, work: pathlib.Path):
    import treelite as package

    loaded = package.frontend.load_lightgbm_model(str(model))
    return lambda rows: lambda: package.gtil.predict(loaded, rows, nthread=1, pred_margin=True)


def onnx(model: pathlib.Path, work: pathlib.Path):
    import onnxruntime as runtime
    from onnxmltools import convert_lightgbm
    from onnxmltools.convert.common.data_types import FloatTensorType

    path = work / f"{model.stem}.onnx"
    if not path.exists():
        booster = lightgbm.Booster(model_file=str(model))
        inputs = [("rows", FloatTensorType([None, booster.num_feature()]))]
        path.write_bytes(convert_lightgbm(booster, initial_types=inputs, zipmap=False).SerializeToString())
    options = runtime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = runtime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    return lambda rows: lambda: session.run(None, {"rows": rows.astype(np.float32)})[0]


def onedal(model: pathlib.Path, work: pathlib.Path):
    import daal4py as package

    package.daalinit(1)
    loaded = package.mb.convert_model(lightgbm.Booster(model_file=str(model)))
    return lambda rows: lambda: loaded.predict(rows)


def shared_library(library: str):
    return lambda model, work: Ours(library, model).caller


def rivals(arguments: argparse.Namespace) -> dict:
    """How each is made ready, and whether that compiles the trees."""
    return {
        "ours": (shared_library(arguments.library), False),
        "LightGBM": (shared_library(lightgbm_library()), False),
        "lignum": (lambda model, work: lignum(model, work, False), False),
        "lignum compiled": (lambda model, work: lignum(model, work, True), True),
        "lleaves": (lleaves, True),
        "tl2cgen": (tl2cgen, True),
        "treelite": (treelite, False),
        "ONNX Runtime": (onnx, False),
        "oneDAL": (onedal, False),
    }


@contextlib.contextmanager
def quiet():
    """Compilers and converters print."""
    saved, null = os.dup(1), os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 1)
    try:
        yield
    finally:
        os.dup2(saved, 1)
        os.close(saved)
        os.close(null)


def measure(calls: dict, seconds: float) -> dict:
    """The least time of each call in microseconds, all in turns."""
    least = dict.fromkeys(calls, float("inf"))
    repeats = {}
    for name, call in calls.items():
        start = time.perf_counter()
        call()
        repeats[name] = max(1, min(50, int(1e-4 / (time.perf_counter() - start))))
    end, rounds = time.perf_counter() + seconds, 0
    while rounds < 5 or time.perf_counter() < end:
        rounds += 1
        for name, call in calls.items():
            call()
            start = time.process_time()
            for _ in range(repeats[name]):
                call()
            least[name] = min(least[name], (time.process_time() - start) / repeats[name] * 1e6)
    return least


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--library", required=True, help="our libck_select_lgbm.so")
    parser.add_argument("--work", required=True, type=pathlib.Path, help="where models and compiled trees are kept")
    parser.add_argument("--forests", nargs="*", default=list(FORESTS))
    parser.add_argument("--rows", nargs="*", type=int, default=list(ROWS))
    parser.add_argument("--only", nargs="*", help="only these rivals")
    parser.add_argument("--seconds", type=float, default=1.0, help="how long each line of the table is timed")
    parser.add_argument("--document", type=pathlib.Path, help="also replace the table of forests and rows in this page")
    arguments = parser.parse_args()
    models = {forest: train(arguments.work, forest) for forest in arguments.forests}
    # Training takes all cores, what is timed one.
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    figures = {}
    for forest, model in models.items():
        figures |= compare(forest, model, arguments)
    names = list(dict.fromkeys(name for least in figures.values() for name in least))
    print(table_of(figures, names))
    if arguments.document:
        write_table(figures, [name for name in names if mostly_faster(name, figures)], arguments.document)


def table_of(figures: dict, names: list) -> str:
    """Microseconds by forest and rows, of these libraries."""
    lines = ["| forest, rows | " + " | ".join(names) + " |", "|---|" + "---:|" * len(names)]
    for case, least in figures.items():
        shown = map(least.get, names)
        cells = ["–" if us is None else f"{us:,.0f}" if us >= 1000 else f"{us:.1f}" for us in shown]
        lines.append(f"| {case} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def write_table(figures: dict, names: list, document: pathlib.Path) -> None:
    """Replaces the table of a page that begins with forests and rows."""
    table = re.compile(r"^\| forest, rows \|.*\n(?:\|.*\n)*", re.MULTILINE)
    text, replaced = table.subn(lambda _: table_of(figures, names), document.read_text())
    if replaced != 1:
        sys.exit(f"{document}: {replaced} tables begin with '| forest, rows |', expected 1")
    document.write_text(text)


def mostly_faster(name: str, figures: dict) -> bool:
    """Whether a rival takes at most LightGBM's time in most of its rows; others have no column in documents."""
    rows = [least[name] <= least["LightGBM"] for least in figures.values() if name in least]
    return 2 * sum(rows) > len(rows)


def in_turns(calls: list):
    return lambda: [call() for call in calls]


def numbers(results: list) -> np.ndarray:
    return np.concatenate([np.array(result).ravel().astype(np.float64) for result in results])


def compare(forest: str, model: pathlib.Path, arguments: argparse.Namespace) -> dict:
    """The figures of one forest; prints what else there is to say of it."""
    ready, figures = {}, {}
    trees, leaves = FORESTS[forest]
    for name, (make, compiles) in rivals(arguments).items():
        if arguments.only and name not in (*arguments.only, "ours", "LightGBM"):
            continue
        if compiles and trees * leaves > COMPILED_SIZE:
            print(f"{forest}, {name}: compiling takes minutes, not run")
            continue
        start = time.perf_counter()
        try:
            with quiet():
                ready[name] = make(model, arguments.work)
        except Exception as error:  # noqa: BLE001 - whatever a rival cannot do is named
            print(f"{forest}, {name}: {type(error).__name__}: {error}".splitlines()[0])
            continue
        # Of those that compile only the first time: compiled trees are kept.
        print(f"{forest}, {name}: ready after {time.perf_counter() - start:.2f} s", flush=True)
    inexact = set()
    for shared in (True, False):
        for count in arguments.rows:
            # Single rows are 30 in turns: the same one again and again would be guessed, or remembered.
            turns = 30 if count == 1 else 1
            rows = np.split(np.ascontiguousarray(table(count * turns, shared, 100 + count)), turns)
            calls = {name: in_turns([make(part) for part in rows]) for name, make in ready.items()}
            expected = numbers(calls["LightGBM"]())
            for name, call in calls.items():
                if numbers(call()).tobytes() != expected.tobytes():
                    inexact.add(name)
            case = f"{forest.replace('x', ' x ')}, {count:,} {'shared' if shared else 'not shared'}"
            figures[case] = {name: us / len(rows) for name, us in measure(calls, arguments.seconds).items()}
    print(f"{forest}: not bit for bit LightGBM's: {', '.join(sorted(inexact)) or 'none'}\n", flush=True)
    return figures


if __name__ == "__main__":
    main()
