"""Commands of ckselect as functions."""

from __future__ import annotations

import math
import os
import pickle
import signal
import time
from pathlib import Path

import pandas
import polars
import pytest
from matplotlib import pyplot
from support import FORWARD, OURS, ROOT, conv_problem, run_python_in_background, write_script

import ck_select

PROBLEM = conv_problem()


@pytest.fixture
def words(tmp_path, monkeypatch):
    """A command that answers with its own words."""
    echo = "printf '[[' ; for word; do printf '\"%s\",' \"$word\"; done; echo 'null]]'"
    monkeypatch.setenv("CK_SELECT_COMMAND", str(write_script(tmp_path / "ckselect", echo)))


@pytest.mark.usefixtures("words")
def test_options_are_words():
    def called(*arguments, **options):
        return ck_select.ckselect(*arguments, **options)[0][:-1]

    begin = ["x", "--format", "json"]
    assert called("x") == begin
    pairs = {"where": {"op": "fmha", "dtype": "fp8"}, "params": {"seed": 7, "a": 1}}
    assert called("x", max_loss="p10=0", top=3, strict=True, **pairs) == [
        *begin,
        *("--max-loss", "p10=0", "--top", "3", "--strict", "--where", "op=fmha,dtype=fp8", "--params", "seed=7", "a=1"),
    ]
    assert called("x", data=["a", Path("b")], overwrite=False, output=None) == [*begin, "--data", "a", "b"]
    assert called("x", "a", Path("b"), top=3) == ["x", "a", "b", "--format", "json", "--top", "3"]
    assert ck_select.report("a.csv", keep=8)[0][:-1] == ["report", "a.csv", "--format", "json", "--keep", "8"]
    assert ck_select.tune("gfx942", simulate="a.csv", params={"seed": 2})[0][:-1] == [
        *("tune", "--format", "json", "--arch", "gfx942", "--simulate", "a.csv", "--params", "seed=2")
    ]


@pytest.mark.parametrize("kernels", [FORWARD, ROOT / "configs/forward_bf16.txt"])
def test_the_estimate_is_the_registrys(kernels):
    rows = ck_select.estimate(PROBLEM, kernels, arch="gfx942")
    assert sorted(row["kernel"] for row in rows) == sorted(FORWARD)
    times = [row["time_us"] for row in rows]
    assert times == sorted(times)
    assert rows[0]["slower"] == 1 and [row["loss"] for row in rows] == [None] * len(rows)
    judged = [row["loss"] for row in ck_select.estimate(PROBLEM, kernels, arch="gfx950")]
    assert 0 < judged[0] < judged[-1] < 1
    for row in rows:
        assert math.isclose(row["slower"] * times[0], row["time_us"], rel_tol=1e-12)
        others = ("rank", "kernel", "time_us", "slower", "loss", "tie")
        terms = [value for key, value in row.items() if key not in others]
        assert math.isclose(math.fsum(terms), row["time_us"], rel_tol=1e-12)
    assert ck_select.estimate(PROBLEM, kernels, arch="gfx942", top=2) == rows[:2]

    registry = ck_select.Registry(arch="gfx942", kernels=FORWARD, environment=False)
    chosen = registry.select(ck_select.GroupedConvProblem(**PROBLEM))
    assert (chosen.source, chosen.name, chosen.score) == ("estimate", rows[0]["kernel"], times[0])


@pytest.mark.parametrize("arch", ["gfx950", "gfx942", "MI300X", "sm_90"])
def test_rank_says_what_a_registry_with_the_built_in_models_says(arch, tmp_path):
    pool = tmp_path / "pool.txt"
    pool.write_text("\n".join(FORWARD))
    problem = {**PROBLEM, "dtype": "bf16"}
    rows = ck_select.ckselect("rank", arch=arch, pool=pool, problem=problem, allow="unbuildable")
    registry = ck_select.Registry(arch, kernels=FORWARD, environment=False, embedded_models=True)
    ranking = registry.rank(ck_select.GroupedConvProblem(**problem))
    places = [(place[0], place[1], place.time_us, place.slower, place.loss) for place in ranking]
    assert places == [tuple(row[name] for name in ("kernel", "score", "time_us", "slower", "loss")) for row in rows]
    sure = registry.select(ck_select.GroupedConvProblem(**problem)).sureness
    names = ("loss", "chance", "sure_within_90", "sure_within_99")
    said = [rows[0][name] for name in names]
    if arch in ("gfx950", "sm_90"):
        assert said == pytest.approx([sure.expected_loss, sure.chance, sure.within_90, sure.within_99], rel=1e-6)
    else:  # No choice was judged there.
        assert (sure, said) == (None, [None] * 4)
    assert ranking[0].time_us > 0 and pickle.loads(pickle.dumps(ranking)) == ranking


def test_a_choice_is_explained_and_drawn(tmp_path):
    pyplot.switch_backend("agg")
    predictor = ck_select.Predictor("embedded:grouped_conv_forward_bf16_gfx950")
    problem = {**PROBLEM, "dtype": "bf16", "direction": "forward"}
    rows = ck_select.explain(predictor, FORWARD, problem, output=tmp_path / "choice.html")
    score = next(row for row in rows if row["feature"] == "(raw score)")
    assert score["first"] >= score["second"] and "<html" in (tmp_path / "choice.html").read_text()
    ranking = predictor.rank_kernels(problem, FORWARD)
    axes = ck_select.plot_ranking(ranking, 3)
    assert [bar.get_width() for bar in axes.patches] == [speed for _, speed in ranking[:3]]
    assert [label.get_text() for label in axes.get_yticklabels()] == [name for name, _ in ranking[:3]]
    axes = ck_select.plot_efficiency({"model": [1.0, 0.5], "chance": [0.25]}, axes=pyplot.subplots()[1])
    assert [list(line.get_ydata()) for line in axes.lines] == [[50, 100], [25]]
    assert axes.lines[0].get_label() == "model, mean 75.0 %"


def test_the_estimate_takes_rows_with_names():
    expected = ck_select.estimate(PROBLEM, FORWARD[:3], arch="gfx942")
    for kernels in (
        [{"kernel_name": name} for name in FORWARD[:3]],
        [{"kernel": name, "tflops": 1.0} for name in FORWARD[:3]],
        pandas.DataFrame({"kernel_name": FORWARD[:3]}),
        map(ck_select.parse_kernel_name, FORWARD[:3]),
    ):
        assert ck_select.estimate(PROBLEM, kernels, arch="gfx942") == expected
    # A temporary file once had these rows, and the message was about that.
    for kernel, kind, message in (
        ({"block_size": 16}, ValueError, "kernels: row 1: found no kernel_name or kernel: the estimate knows"),
        ({"kernel_name": "k1"}, ck_select.InvalidInputError, "kernels: row 1: kernel name 'k1'"),
        ("k1", ck_select.InvalidInputError, "kernels: row 1: kernel name 'k1'"),
        (5, TypeError, "kernels: row 1: found a int, expected a mapping"),
    ):
        with pytest.raises(kind, match=message) as caught:
            ck_select.estimate(PROBLEM, [FORWARD[0], kernel], arch="gfx942")
        assert "/" not in str(caught.value)
    with pytest.raises(ValueError, match="kernels: found none, expected at least one"):
        ck_select.estimate(PROBLEM, [], arch="gfx942")


def test_the_estimate_starts_no_process(monkeypatch, caplog):
    monkeypatch.setenv("CK_SELECT_COMMAND", "/no/such/command")
    problem = ck_select.GroupedConvProblem(**PROBLEM)
    rows = ck_select.estimate(problem, [*FORWARD, FORWARD[0].replace("bf16", "fp32")], arch="gfx942")
    assert rows == ck_select.estimate(PROBLEM, FORWARD, arch="gfx942")
    assert "1 kernels have no estimate for the problem: its types and layout are fp32" in caplog.text
    gemm = ck_select.GemmProblem(16, 1536, 7168, split_k="auto")
    name = "gemm_universal_fp8_rcr_compv3_cshuffle_intrawave_True_True_True_False_64x64x64_2x2x1_32x32x16"
    assert {row["split_k"] for row in ck_select.estimate(gemm, [name], arch="gfx942")} == {1, 2, 4, 8, 16}
    for arguments, message in (
        (({"C": 64}, FORWARD), "problem: K, Hi, Wi, Y, X: found nothing"),
        ((PROBLEM, FORWARD), r"the estimate needs a GPU: give arch \(one of gfx90a"),
        (({**PROBLEM, "arch": "gfx950"}, FORWARD, "gfx942"), "problem: arch: found gfx950, expected gfx942"),
        ((PROBLEM, FORWARD[0], "gfx942"), "kernels: found one kernel's name, expected a list"),
    ):
        with pytest.raises(ValueError, match=message):
            ck_select.estimate(*arguments[:2], arch=dict(enumerate(arguments)).get(2))


def test_families_are_rows_of_names():
    """``format`` was given twice, and without it the names were printed."""
    rows = ck_select.ckselect("enumerate", "a8w8_rowwise", arch="mi300x", format="json")
    assert rows[0] == {"index": 0, "kernel": rows[0]["kernel"]} and rows[0]["kernel"].startswith("a8w8_rowwise_")
    fastest = ck_select.estimate({"M": 16, "N": 4096, "K": 4096}, "a8w8_rowwise", arch="mi300x", top=1)
    assert fastest[0]["kernel"] in [row["kernel"] for row in rows]
    with pytest.raises(ValueError, match="format: expected json or nothing"):
        ck_select.ckselect("enumerate", "a8w8_rowwise", format="csv")


def test_an_interrupt_ends_the_command(tmp_path):
    """It went on alone."""
    pid = tmp_path / "pid"
    program = write_script(tmp_path / "ckselect", f"echo $$ > {pid}.new; mv {pid}.new {pid}; exec sleep 60")
    python = run_python_in_background(
        "-c", "import ck_select; ck_select.train('a.csv', 'model')", CK_SELECT_COMMAND=str(program)
    )
    try:
        deadline = time.monotonic() + 30
        while not pid.exists() and time.monotonic() < deadline:
            time.sleep(0.01)
        python.send_signal(signal.SIGINT)
        assert python.wait(30) == -signal.SIGINT
    finally:
        python.kill()
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid.read_text()), 0)


def test_help_is_shown(capsys):
    """As JSON it was none, and an error."""
    assert ck_select.ckselect("enumerate", "--help") == []
    assert "Usage: ckselect enumerate" in capsys.readouterr().out


def test_failures_have_the_messages(capfd):
    with pytest.raises(ck_select.CommandError, match=r"gfx000") as caught:
        ck_select.ckselect("rank", model="estimate", arch="gfx000", pool=FORWARD[0], problem=PROBLEM)
    assert caught.value.code == 2
    assert "gfx000" in capfd.readouterr().err
    assert pickle.loads(pickle.dumps(caught.value)).code == 2


def test_messages_of_what_succeeds_are_shown(capfd, tmp_path):
    pool = tmp_path / "pool.txt"
    pool.write_text("\n".join([FORWARD[0], FORWARD[0].replace("bf16", "fp32")]))
    assert len(ck_select.ckselect("rank", model=OURS, pool=pool, problem=PROBLEM)) == 1
    assert "1 of 2 kernels are left out" in capfd.readouterr().err


@pytest.mark.parametrize("kind", ["pandas", "polars", "rows"])
def test_tables_are_judged_as_files_are(kind, tmp_path):
    pages = pandas.read_parquet(ROOT / "data/h200/forward.odd10.parquet").head(600)
    file = tmp_path / "sweep.csv"
    pages.to_csv(file, index=False)
    table = {
        "pandas": lambda: pages,
        "polars": lambda: polars.from_pandas(pages),
        "rows": lambda: pages.to_dict("records"),
    }[kind]()
    options = {"arch": "sm_90", "where": {"direction": "forward"}}
    expected = ck_select.evaluate("embedded:universal", file, **options)
    assert 0.5 < expected["global_metrics"]["efficiency_mean"] <= 1
    assert len(expected["per_shape_efficiency"]) == expected["global_metrics"]["num_shapes"]
    assert ck_select.evaluate("embedded:universal", table, **options) == expected
    assert ck_select.evaluate(ck_select.shipped_model("universal"), [file], **options) == expected
    page = tmp_path / "page.html"
    rows = ck_select.report([table, ROOT / "data/h200/forward.parquet"], output=page)
    problems = {row["name"]: row["value"] for row in rows if row["section"] == "coverage"}["problems"]
    assert problems > 500 and "what is in the sweep" in page.read_text(encoding="utf-8")
    assert len(ck_select.report(table)) > 15


def test_a_model_is_fitted_to_a_table(tmp_path):
    sweep = pandas.read_parquet(ROOT / "data/h200/forward.odd10.parquet").head(600)
    options = {"where": {"direction": "forward", "dtype": "bf16"}, "arch": "sm_90"}
    predictor = ck_select.train(sweep, tmp_path / "mine", folds=2, params={"n_estimators": 5}, **options)
    kernels = sorted(sweep.kernel_name.unique())
    problem = ck_select.GroupedConvProblem(**PROBLEM, dtype="bf16")
    assert predictor.select_best(problem, kernels) in kernels
    assert ck_select.evaluate(predictor, sweep, where={"direction": "forward"})
