"""``gpu/inductor``: what is measured in which order, again after a cut, and by processes side by side."""

from __future__ import annotations

import multiprocessing
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "gpu" / "inductor"))
import compare
import transformer
from turns import Turns


@pytest.fixture
def measured(monkeypatch):
    """The keys of what is measured, in their order; the second shape in fp8 cannot be compiled."""
    keys = []

    def compiled(shape, dtype, setting, *_):
        if (shape, dtype) == (compare.SHAPES[1], "fp8"):
            raise RuntimeError("broken on purpose")
        m, n, k = shape
        keys.append((m, n, k, dtype, setting))
        times = dict.fromkeys(("ms", "triton_ms", "best_ms", "chosen_ms", "fastest_ms", "eager_ms"), 0.5)
        seconds = 8 if setting == "stock" else 2
        return {
            **{"m": m, "n": n, "k": k, "dtype": dtype, "setting": setting, "seconds": seconds},
            **{"candidates": 4, **times},
        }

    monkeypatch.setattr(compare, "compiled", compiled)
    monkeypatch.setattr(compare.AsyncCompile, "wait_pool_ready", lambda: None)
    return keys


def run(table, *words):
    return compare.main(["--dtype", "fp8", "bf16", "--shapes", "3", "--output", str(table), *words])


def test_the_most_important_comes_first_and_a_cut_loses_nothing(measured, tmp_path, capsys):
    table = tmp_path / "inductor.csv"
    run(table, "--top", "4", "1")
    rows = [key for key in measured if key[:3] != (64, 256, 256)]
    assert [key[4] for key in rows] == ["stock", "4"] * 5 + ["1"] * 5
    printed = capsys.readouterr()
    assert "bf16 4: 3 shapes, seconds to stock 0.250, speed to stock: ms 1.0000 (least 1.0000)" in printed.out
    assert "not measured: [96, 13824, 5120] fp8 4: broken on purpose" in printed.err
    # What a run that was cut has written is not measured again.
    lines = table.read_text().splitlines(keepends=True)
    table.write_text("".join(lines[:5]))
    measured.clear()
    run(table, "--top", "4", "1")
    assert measured[2:] == rows[4:] and sorted(table.read_text().splitlines(True)) == sorted(lines)
    measured.clear()
    run(table, "--top", "4", "1", "--dtype", "bf16")
    assert measured == []


def test_parts_measure_everything_once(measured, tmp_path):
    whole, parts = tmp_path / "whole.csv", tmp_path / "parts.csv"
    run(whole)
    for part in "1/4", "2/4", "3/4", "4/4":
        run(parts, "--part", part)
    assert sorted(whole.read_text().splitlines()) == sorted(parts.read_text().splitlines())
    run(tmp_path / "none.csv", "--minutes", "0")
    assert not (tmp_path / "none.csv").exists()


def test_a_transformer_that_was_measured_is_not_measured_again(monkeypatch, tmp_path):
    table, settings = tmp_path / "transformer.csv", []
    fake = SimpleNamespace(
        compile=lambda _: lambda *_: None, randn=lambda *_, **how: None, bfloat16=None, Tensor=transformer.torch.Tensor
    )
    monkeypatch.setattr(transformer, "torch", fake)
    monkeypatch.setattr(transformer.AsyncCompile, "wait_pool_ready", lambda: None)
    monkeypatch.setattr(
        transformer,
        "measured",
        lambda setting, *_: settings.append(setting) or {"setting": setting, "seconds": 1.5, "step_ms": 2.5},
    )
    transformer.main(["--output", str(table), "--settings", "4"])
    transformer.main(["--output", str(table), "--settings", "4", "stock"])
    assert settings == ["4", "stock"] and len(table.read_text().splitlines()) == 3


def _in_turn(file, out):
    turns = Turns(file)
    begin, clock = time.perf_counter(), turns.clock()
    with turns.turn(), turns.turn():
        start = time.perf_counter()
        time.sleep(0.3)
        out.put((start, time.perf_counter()))
    out.put((time.perf_counter() - begin, turns.clock() - clock))


def test_turns_do_not_overlap_and_waiting_is_no_time(tmp_path):
    context = multiprocessing.get_context("fork")
    out = context.Queue()
    processes = [context.Process(target=_in_turn, args=(str(tmp_path / "turns"), out)) for _ in range(2)]
    for process in processes:
        process.start()
    found = [out.get(timeout=30) for _ in range(4)]
    for process in processes:
        process.join()
    (one, two), took = sorted(found)[2:], sorted(found)[:2]
    assert one[1] <= two[0]
    assert max(wall for wall, _ in took) > 0.5 and all(own < 0.5 for _, own in took)


def test_inductor_times_in_turns_but_compiles_before(tmp_path):
    turns, events = Turns(str(tmp_path / "turns")), []
    benchmarker = SimpleNamespace(benchmark_gpu=lambda run, **options: events.append((turns._depth, options)) or run())
    turns.take(benchmarker)
    benchmarker.benchmark_gpu(lambda: events.append(turns._depth), estimation_iters=5)
    assert events == [0, (1, {"estimation_iters": 5}), 1]
    alone = Turns(None)
    untouched = SimpleNamespace(benchmark_gpu=events.append)
    alone.take(untouched)
    assert untouched.benchmark_gpu == events.append
