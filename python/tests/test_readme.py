"""What README.md and the notebook show and promise."""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
from functools import partial
from pathlib import Path

import nbclient
import nbformat
import pytest
from support import CONV_NAMES, OURS, ROOT, conv_problem, run_python, write_script

import ck_select

README = (ROOT / "python" / "README.md").read_text()
NOTEBOOKS = ROOT / "python" / "examples"
EXAMPLES = re.findall(r"```python\n(.*?)```", README, re.S)


def test_the_first_example_runs_as_it_stands(tmp_path):
    """Anywhere, and on a model that comes with the package."""
    ran = run_python("-c", EXAMPLES[0], cwd=tmp_path)
    assert ran.returncode == 0 and ran.stderr == "", ran.stderr
    lines = ran.stdout.splitlines()
    tflops = [float(line.split()[0]) for line in lines]
    assert len(lines) == 3 and min(tflops) > 10 and len(set(tflops)) > 1


def test_the_second_example_runs_with_functions_of_ones_own(monkeypatch):
    monkeypatch.chdir(ROOT)
    names = {"run_64x128x64": lambda problem, *tensors: (problem.N, tensors), "input_tensor": "x", "weight_tensor": "w"}
    exec(EXAMPLES[1], names)
    assert names["result"] == (2, ("x", "w"))


def test_the_third_example_ranks_aiters_kernels():
    names = {}
    exec(EXAMPLES[2], names)
    assert len(names["best"]) == 3 and all(place.source == "model" for place in names["best"])


def test_the_fourth_example_is_commands(monkeypatch, tmp_path):
    answer = """case $1 in evaluate) echo '{"global_metrics": {}}' ;; *) echo "[]" ;; esac"""
    script = write_script(tmp_path / "ckselect", f'echo "$1" >> {tmp_path}/called\n{answer}')
    monkeypatch.setenv("CK_SELECT_COMMAND", str(script))
    # What the script would train.
    for name in ("mine", "tuned"):
        shutil.copytree(OURS, tmp_path / "models" / name)
    monkeypatch.chdir(tmp_path)
    sweep = [{"kernel": CONV_NAMES[0], "tflops": 1.0}]
    monkeypatch.setenv("MPLBACKEND", "agg")
    problem = conv_problem(dtype="bf16", direction="forward")
    given = {"kernels": CONV_NAMES[:1], "problem": problem, "sweep": sweep, "other_sweep": sweep}
    exec(EXAMPLES[3], given)
    assert isinstance(given["tuned"], ck_select.Predictor)
    assert (tmp_path / "called").read_text().split() == [
        "train",
        "evaluate",
        "explain",
        "tune",
        "report",
        "evaluate",
    ]


def test_the_fifth_example_ranks_configurations():
    names = {}
    exec(EXAMPLES[4], names)
    assert len(names["best"]) == 2 and names["best"][0].config in names["configs"]
    assert names["tried"]["early_config_prune"](names["configs"], {"M": 8}) == names["configs"]


def test_models_come_along():
    models = ck_select.shipped_models()
    assert {"grouped_conv_forward_bf16_gfx950", "grouped_conv_bwd_data_bf16_sm90"} <= set(models)
    for name, directory in models.items():
        assert ck_select.shipped_model(name) == directory
        op = {"gemm": "gemm_universal", "moe": "moe"}.get(name.split("_")[0], "grouped_conv")
        spec = json.loads((directory / "feature_spec.json").read_text())
        assert spec["op_type"] == op
        if "prior" in spec["ck_select"]:
            continue
        assert ck_select.Predictor(f"embedded:{name}").spec == ck_select.Predictor(directory).spec
    with pytest.raises(ValueError, match="model: found 'magic', expected one of gemm_fp8_gfx942, "):
        ck_select.Predictor("embedded:magic")


run = partial(run_python, "-m", "ck_select")


def test_the_command_line_is_the_module(tmp_path):
    command = write_script(tmp_path / "ckselect", 'echo "$0: $*"\nexit 7')
    ran = run("rank", "--model", "x y", CK_SELECT_COMMAND=str(command))
    assert (ran.returncode, ran.stdout) == (7, f"{command}: rank --model x y\n")
    ran = run(CK_SELECT_COMMAND=str(tmp_path / "absent"))
    assert ran.returncode == 1 and re.match(r"ckselect: .*No such file or directory", ran.stderr)


def test_the_command_lies_beside_the_library(tmp_path):
    library = Path(ck_select._library._path()).resolve()
    (tmp_path / "libck_select.so").symlink_to(library)
    ran = run("--version", CK_SELECT_LIBRARY=str(tmp_path / "libck_select.so"), CK_SELECT_COMMAND=None)
    assert ran.returncode == 1 and "set CK_SELECT_COMMAND to a ckselect" in ran.stderr
    write_script(tmp_path / "ckselect", "echo beside")
    ran = run("--version", CK_SELECT_LIBRARY=str(tmp_path / "libck_select.so"), CK_SELECT_COMMAND=None)
    assert ran.stdout == "beside\n"


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_sweep_becomes_a_plot(monkeypatch, tmp_path):
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(path for path in sys.path if path))
    monkeypatch.setenv("MPLCONFIGDIR", str(tmp_path))
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    notebook = nbformat.read(NOTEBOOKS / "sweep_to_plot.ipynb", 4)
    assert all(cell.outputs == [] for cell in notebook.cells if cell.cell_type == "code"), "clear the outputs"
    client = nbclient.NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(NOTEBOOKS)}})
    client.km = client.create_kernel_manager()
    # This interpreter, whatever is installed as the kernel of that name.
    client.km.kernel_spec.argv[0] = sys.executable
    client.execute()
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    text = "".join(output.text for output in outputs if output.output_type == "stream" and output.name == "stdout")
    means = {name: float(mean) for name, mean in re.findall(r"(.*): ([0-9.]+) % of the fastest kernel", text)}
    assert means["chance"] < means["best single kernel"] < means["model"] <= means["best of its first three"] <= 100
    assert any("image/png" in output.get("data", {}) for output in outputs), "no plot"
    assert not any(output.output_type == "stream" and output.name == "stderr" for output in outputs)
