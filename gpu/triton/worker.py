"""Measures Triton's GEMM kernels for `ckselect bench --runner gpu/triton/runner.json`: a worker of its protocol.

It reads one request, compiles what is missing on all cores, and answers in lines of JSON. Every kernel is checked on
every problem against PyTorch in fp32. CK_GPU_COLD=1 begins each run with cold caches, CK_GPU_BUSY=1 measures on a GPU
whose memory others use, CK_TRITON_JOBS is the number of compilers.
"""

from __future__ import annotations

import fcntl
import gc
import hashlib
import json
import multiprocessing
import os
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import Any

from pool import Kernel, Problem, Refused

VERSION = 3
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "ck-select" / "triton"
CACHE = Path(os.environ.setdefault("TRITON_CACHE_DIR", str(CACHE)))
# Seconds in which at least one of the kernels that are being compiled has to be ready.
COMPILING = 300
# Relative errors that rounding explains: of the whole result; a single element may be as wrong as 16 of these are.
ROUNDING = {"fp16": 2e-3, "bf16": 1e-2, "fp8": 2e-2, "bf8": 2e-2}
# How operands are scaled, so that results are far from overflow and subnormals are rare.
SCALE = {"fp16": 0.125, "bf16": 0.125, "fp8": 0.5, "bf8": 0.5}

Variant = tuple[str, tuple[bool, bool, bool], bool]


class Unusable(Exception):
    """Nothing can be measured; says why."""


class Failed(Exception):
    """A kernel has no time; the class is one of bench's."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


def found() -> tuple[Any, Any]:
    """PyTorch and our kernel, which needs Triton."""
    try:
        import torch
        import triton  # noqa: F401
    except ImportError as error:
        raise Unusable(f"{sys.executable} has no {error.name}: install torch and triton for your GPU") from None
    if not torch.cuda.is_available():
        raise Unusable(f"PyTorch {torch.__version__} finds no GPU")
    import gemm

    return torch, gemm


def facts(torch: Any) -> dict[str, Any]:
    """What the sidecar says of the device."""
    import triton

    device = torch.cuda.get_device_properties(0)
    amd = getattr(device, "gcnArchName", "").split(":")[0] if torch.version.hip else ""
    named = {
        "compute_units": "multi_processor_count",
        "wavefront_size": "warp_size",
        "clock_khz": "clock_rate",
        "l2_bytes": "L2_cache_size",
        "lds_bytes": "shared_memory_per_block_optin",
    }
    return {
        "name": device.name,
        "target": amd or f"sm_{device.major}{device.minor}",
        "torch": torch.__version__,
        "triton": triton.__version__,
        **{name: getattr(device, field) for name, field in named.items() if hasattr(device, field)},
    }


def refuse_busy(torch: Any) -> None:
    """Times taken beside another job are that job's."""
    for _ in range(5):
        free, total = torch.cuda.mem_get_info()
        if total - free < total / 10 or os.environ.get("CK_GPU_BUSY") == "1":
            return
        # A worker that has just ended gives its memory back.
        time.sleep(1)
    taken = f"{(total - free) / 2**30:.1f} of {total / 2**30:.1f} GiB"
    raise Unusable(f"the GPU is busy: others hold {taken} of its memory; CK_GPU_BUSY=1 measures nevertheless")


def compile_one(variant: Variant) -> str | None:
    """Compiles in a process of its own; the result is the compiler's complaint."""
    name, whole, split = variant
    try:
        found()[1].compiled(Kernel.parse(name), whole, split)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return None


def compile_missing(variants: list[Variant], torch: Any, say: Callable[[dict[str, Any]], None]) -> dict[Variant, str]:
    """Compiles what the cache lacks, on all cores and in one worker at a time; the result is what does not compile."""
    import triton

    source = Path(__file__).with_name("gemm.py").read_bytes()
    made_by = f"{triton.__version__} {torch.__version__} {facts(torch)['target']}".encode()
    CACHE.mkdir(parents=True, exist_ok=True)
    with open(CACHE / f"ck_select_{hashlib.sha256(source + made_by).hexdigest()[:16]}.jsonl", "a+") as ledger:
        while True:
            try:
                fcntl.flock(ledger, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                say({"preparing": {"done": 0, "total": len(variants)}})
                time.sleep(1)
        ledger.seek(0)
        known: dict[Variant, str | None] = {}
        for line in ledger.read().splitlines():
            name, whole, split, error = json.loads(line)
            known[name, tuple(whole), split] = error
        missing = [variant for variant in variants if variant not in known]
        for variant, error in compiling(missing):
            if variant:
                known[variant] = error
                ledger.write(json.dumps([*variant, error]) + "\n")
                ledger.flush()
            say({"preparing": {"done": sum(variant in known for variant in variants), "total": len(variants)}})
    return {variant: error for variant, error in known.items() if error}


def compiling(variants: list[Variant]) -> Iterator[tuple[Variant | None, str | None]]:
    """Compiles in processes; `None` for a variant is a sign of life. Those of a compiler that crashes are left out."""
    if not variants:
        return
    jobs = int(os.environ.get("CK_TRITON_JOBS") or min(os.cpu_count() or 1, 64))
    executor = ProcessPoolExecutor(min(jobs, len(variants)), multiprocessing.get_context("spawn"))
    running = {executor.submit(compile_one, variant): variant for variant in variants}
    last = time.monotonic()
    try:
        while running and time.monotonic() - last < COMPILING:
            ready, _ = wait(running, timeout=5, return_when=FIRST_COMPLETED)
            for future in ready:
                last = time.monotonic()
                yield running.pop(future), future.result()
            yield None, None
    except BrokenProcessPool:
        print("a compiler crashed: what it leaves is compiled as it is measured", file=sys.stderr)
    finally:
        for process in list((executor._processes or {}).values()):
            process.kill()
        executor.shutdown(wait=False, cancel_futures=True)


class Bench:
    """The device, the operands of the problem at hand, and what is wrong with which kernel."""

    def __init__(self, torch: Any, gemm: Any, settings: dict[str, Any]) -> None:
        self.torch, self.gemm, self.settings = torch, gemm, settings
        self.problem: Problem | None = None
        self.best: tuple[int, float | None] = (-1, None)
        self.broken: dict[Variant, str] = {}
        properties = torch.cuda.get_device_properties(0)
        self.units = properties.multi_processor_count
        self.cold = None
        if os.environ.get("CK_GPU_COLD") == "1":
            caches = max(getattr(properties, "L2_cache_size", 0), 256 << 20 if torch.version.hip else 0)
            self.cold = torch.empty(3 * caches, dtype=torch.int8, device="cuda")
        # Graphs are not captured on the default stream.
        torch.cuda.set_stream(torch.cuda.Stream())

    def variant(self, kernel: Kernel, problem: Problem) -> Variant:
        """What has to be compiled for a kernel to run a problem."""
        return kernel.name, self.gemm.alignment(problem), problem.split > 1

    def prepare(self, problem: Problem) -> None:
        """Operands, random and the same each time, and the right result."""
        if self.problem == problem:
            return
        torch = self.torch
        self.problem = self.a = self.b = self.c = self.right = None
        torch.manual_seed(0)
        dtype, scale = self.gemm.element(problem.dtype), SCALE[problem.dtype]

        def operand(rows: int, columns: int, by_rows: bool) -> tuple[Any, Any]:
            shape = (rows, columns) if by_rows else (columns, rows)
            stored = (torch.randn(shape, device="cuda") * scale).to(dtype)
            return stored, stored.float() if by_rows else stored.float().T

        self.a, a = operand(problem.m, problem.k, problem.layout[0] == "r")
        self.b, b = operand(problem.k, problem.n, problem.layout[1] == "r")
        self.right = a @ b
        self.size = float(torch.linalg.vector_norm(self.right)), self.right.numel() ** 0.5
        self.c = torch.empty((problem.m, problem.n), dtype=self.gemm.result(problem.dtype), device="cuda")
        self.problem = problem

    def check(self, dtype: str) -> int:
        """Fails if the result is wrong; counts what is not zero."""
        difference = self.c - self.right
        norm, root = self.size
        whole = float(self.torch.linalg.vector_norm(difference)) / norm
        single = float(self.torch.linalg.vector_norm(difference, float("inf"))) / (norm / root)
        # Written so that NaN, which stands where a kernel wrote nothing, is wrong.
        if not (whole <= ROUNDING[dtype] and single <= 16 * ROUNDING[dtype]):
            raise Failed("garbage", f"wrong result: relative error {whole:.2g}, of a single element {single:.2g}")
        return int(self.torch.count_nonzero(self.c))

    def captured(self, run: Callable[[], None], runs: int) -> Any:
        """A graph of so many runs, whose launch takes no time of Python's."""
        graph = self.torch.cuda.CUDAGraph()
        with self.torch.cuda.graph(graph, stream=self.torch.cuda.current_stream()):
            for _ in range(runs):
                run()
        graph.replay()
        return graph

    def times(self, graph: Any, runs: int, repeat: int) -> list[float]:
        """Milliseconds of a run, each the mean of a replay."""
        events = [self.torch.cuda.Event(enable_timing=True) for _ in range(2 * repeat)]
        for before, after in zip(events[::2], events[1::2]):
            if self.cold is not None:
                self.cold.zero_()
            # A replay follows the one before: the device does not wait for the host.
            before.record()
            graph.replay()
            after.record()
        self.torch.cuda.synchronize()
        return [before.elapsed_time(after) / runs for before, after in zip(events[::2], events[1::2])]

    def measure(self, kernel: Kernel, problem: Problem, best_ms: float | None) -> dict[str, Any]:
        """The outcome of a kernel on a problem."""
        if reason := kernel.refuses(problem):
            raise Failed("unsupported", reason)
        if error := self.broken.get(self.variant(kernel, problem)):
            raise Failed("build", error)
        self.prepare(problem)

        def run() -> None:
            self.gemm.launch(kernel, problem, self.a, self.b, self.c, self.units)

        self.c.fill_(float("nan"))
        run()
        non_zero = self.check(problem.dtype)
        single = self.captured(run, 1)
        rough_ms = min(self.times(single, 1, 2))
        cutoff = self.settings["cutoff"]
        # An event and a launch take 0.02 ms at most.
        if cutoff and best_ms and rough_ms - 0.02 > cutoff * best_ms:
            return {"cut_off": {"fastest_ms": rough_ms}}
        runs = 1 if self.cold is not None else int(min(20, max(1, 0.6 / rough_ms)))
        graph = single if runs == 1 else self.captured(run, runs)
        self.times(graph, runs, self.settings["warmup"])
        timed = [self.times(graph, runs, self.settings["repeat"])]
        while spread(timed[-1]) > self.settings["max_cv"] and len(timed) <= self.settings["remeasure"]:
            timed.append(self.times(graph, runs, self.settings["repeat"]))
        samples = min(timed, key=spread)
        ms = statistics.median(samples)
        measured = {
            "latency_ms": ms,
            "tflops": 2 * problem.m * problem.n * problem.k / ms / 1e9,
            "bandwidth_gb_s": None,
            "non_zero": non_zero,
            "cv": spread(samples) if len(samples) > 1 else None,
            "samples": len(samples),
            "timed": len(timed),
        }
        return {"measured": measured}

    def outcome(self, item: dict[str, Any]) -> tuple[dict[str, Any], bool]:
        """The outcome of an item, and whether the device is still usable."""
        place, best_ms = self.best
        if place != item["place"]:
            best_ms = item["best_ms"]
        try:
            kernel, problem = Kernel.parse(item["kernel"]), Problem.parse(item["problem"])
            outcome = self.measure(kernel, problem, best_ms)
        except Refused as error:
            outcome = failure("load", str(error))
        except Failed as error:
            outcome = failure(error.kind, str(error))
        except Exception as error:
            outcome = failure("launch", f"{type(error).__name__}: {error}")
            try:
                self.torch.cuda.synchronize()
            except Exception:
                return outcome, False
        ms = outcome.get("measured", {}).get("latency_ms")
        self.best = (item["place"], min((known for known in (best_ms, ms) if known), default=None))
        return outcome, True


def spread(samples: list[float]) -> float:
    """The coefficient of variation."""
    return statistics.stdev(samples) / statistics.mean(samples) if len(samples) > 1 else 0.0


def failure(kind: str, message: str) -> dict[str, Any]:
    """The outcome of what has no time."""
    return {"failed": {"class": kind, "message": message}}


def serve(request: dict[str, Any], say: Callable[[dict[str, Any]], None]) -> None:
    """Measures what is requested."""
    if request.get("version") != VERSION:
        raise Unusable(f"protocol version: found {request.get('version')}, expected {VERSION}")
    torch, gemm = found()
    refuse_busy(torch)
    # Older PyTorch collects garbage before each graph; what was imported is none.
    gc.freeze()
    bench = Bench(torch, gemm, request["settings"])
    say({"ready": facts(torch)})
    variants: dict[Variant, None] = {}
    for item in request["items"]:
        try:
            kernel, problem = Kernel.parse(item["kernel"]), Problem.parse(item["problem"])
        except Refused:
            continue
        if not kernel.refuses(problem):
            variants[bench.variant(kernel, problem)] = None
    bench.broken = compile_missing(list(variants), torch, say)
    for item in request["items"]:
        say({"begin": item["item"]})
        outcome, usable = bench.outcome(item)
        say({"end": {"item": item["item"], "outcome": outcome}})
        if not usable:
            return


def main() -> int:
    """Answers on what was standard output; whatever else prints goes to standard error."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)

    def say(answer: dict[str, Any]) -> None:
        print(json.dumps(answer), file=answers, flush=True)

    try:
        serve(json.load(sys.stdin), say)
    except Unusable as error:
        say({"refused": str(error)})
        return 3
    return 0


if __name__ == "__main__":
    sys.exit(main())
