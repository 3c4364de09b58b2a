"""Measures Triton's kernels for `ckselect bench`: a worker of its protocol.

`--runner gpu/triton/runner.json` is for GEMMs, `gpu/triton/moe.json` for mixtures of experts. It reads one request,
compiles what is missing on all cores, and answers in lines of JSON. Every kernel is checked on every problem against
PyTorch in fp32. CK_GPU_COLD=1 begins each run with cold caches, CK_GPU_BUSY=1 measures on a GPU whose memory others
use, CK_TRITON_JOBS is the number of compilers.
"""

from __future__ import annotations

import fcntl
import gc
import hashlib
import importlib
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

import mixture
import pool
from pool import Refused

VERSION = 3
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "ck-select" / "triton"
CACHE = Path(os.environ.setdefault("TRITON_CACHE_DIR", str(CACHE)))
# Seconds in which at least one of the kernels that are being compiled has to be ready.
COMPILING = 300
# Relative errors that rounding explains: of the whole result; a single element may be as wrong as 16 of these are.
ROUNDING = {"fp16": 2e-3, "bf16": 1e-2, "fp8": 2e-2, "bf8": 2e-2}
# Names and problems of an operation by the beginning of its kernels' names, and the module of its kernel.
OPERATIONS = {"triton_gemm_": (pool, "gemm"), "triton_moe_": (mixture, "moe")}

# A kernel's name, and what is compiled for a problem.
Variant = tuple[Any, ...]


class Unusable(Exception):
    """Nothing can be measured; says why."""


class Failed(Exception):
    """A kernel has no time; the class is one of bench's."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


def operation(kernel: str) -> tuple[Any, str]:
    """The names and the kernel's module of a kernel's operation."""
    own = [operation for beginning, operation in OPERATIONS.items() if kernel.startswith(beginning)]
    if not own:
        raise Unusable(f"{kernel}: expected a name that begins with {' or '.join(OPERATIONS)}")
    return own[0]


def found(module: str) -> tuple[Any, Any]:
    """PyTorch and an operation's kernel, which needs Triton."""
    try:
        import torch
        import triton  # noqa: F401
    except ImportError as error:
        raise Unusable(f"{sys.executable} has no {error.name}: install torch and triton for your GPU") from None
    if not torch.cuda.is_available():
        raise Unusable(f"PyTorch {torch.__version__} finds no GPU")
    return torch, importlib.import_module(module)


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
    name, *constants = variant
    try:
        names, module = operation(name)
        found(module)[1].compiled(names.Kernel.parse(name), *constants)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return None


def compile_missing(variants: list[Variant], torch: Any, say: Callable[[dict[str, Any]], None]) -> dict[Variant, str]:
    """Compiles what the cache lacks, on all cores and in one worker at a time; the result is what does not compile."""
    import triton

    source = b"".join(Path(__file__).with_name(f"{module}.py").read_bytes() for module in ("gemm", "moe"))
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
            *variant, error = json.loads(line)
            known[tuple(variant)] = error
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

    def __init__(self, torch: Any, names: Any, operands: Any, settings: dict[str, Any]) -> None:
        self.torch, self.names, self.operands, self.settings = torch, names, operands, settings
        self.best: tuple[int, float | None] = (-1, None)
        self.broken: dict[Variant, str] = {}
        properties = torch.cuda.get_device_properties(0)
        self.cold = None
        if os.environ.get("CK_GPU_COLD") == "1":
            caches = max(getattr(properties, "L2_cache_size", 0), 256 << 20 if torch.version.hip else 0)
            self.cold = torch.empty(3 * caches, dtype=torch.int8, device="cuda")
        # Graphs are not captured on the default stream.
        torch.cuda.set_stream(torch.cuda.Stream())

    def pair(self, item: dict[str, Any]) -> tuple[Any, Any]:
        """The kernel and the problem of an item."""
        return self.names.Kernel.parse(item["kernel"]), self.names.Problem.parse(item["problem"])

    def check(self, dtype: str) -> int:
        """Fails if the result is wrong; counts what is not zero."""
        written, right = self.operands.c, self.operands.right
        difference = written - right
        norm, root = float(self.torch.linalg.vector_norm(right)), right.numel() ** 0.5
        whole = float(self.torch.linalg.vector_norm(difference)) / norm
        single = float(self.torch.linalg.vector_norm(difference, float("inf"))) / (norm / root)
        # Written so that NaN, which stands where a kernel wrote nothing, is wrong.
        if not (whole <= ROUNDING[dtype] and single <= 16 * ROUNDING[dtype]):
            raise Failed("garbage", f"wrong result: relative error {whole:.2g}, of a single element {single:.2g}")
        return int(self.torch.count_nonzero(written))

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

    def measure(self, kernel: Any, problem: Any, best_ms: float | None) -> dict[str, Any]:
        """The outcome of a kernel on a problem."""
        if reason := kernel.refuses(problem):
            raise Failed("unsupported", reason)
        if error := self.broken.get((kernel.name, *kernel.variant(problem))):
            raise Failed("build", error)
        self.operands.prepare(problem)

        def run() -> None:
            self.operands.launch(kernel)

        self.operands.c.fill_(float("nan"))
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
            "tflops": problem.flops / ms / 1e9,
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
            outcome = self.measure(*self.pair(item), best_ms)
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
    names, module = operation(request["items"][0]["kernel"])
    torch, kernels = found(module)
    refuse_busy(torch)
    # Older PyTorch collects garbage before each graph; what was imported is none.
    gc.freeze()
    bench = Bench(torch, names, kernels.Operands(), request["settings"])
    say({"ready": facts(torch)})
    variants: dict[Variant, None] = {}
    for item in request["items"]:
        try:
            kernel, problem = bench.pair(item)
        except Refused:
            continue
        if not kernel.refuses(problem):
            variants[(kernel.name, *kernel.variant(problem))] = None
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
