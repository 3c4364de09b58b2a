"""The notebooks of ``examples`` run from their first cell to their last."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

import nbclient
import nbformat
import pytest

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_sweep_becomes_a_plot(monkeypatch, tmp_path):
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(path for path in sys.path if path))
    monkeypatch.setenv("MPLCONFIGDIR", str(tmp_path))
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    notebook = nbformat.read(EXAMPLES / "sweep_to_plot.ipynb", 4)
    assert all(cell.outputs == [] for cell in notebook.cells if cell.cell_type == "code"), "clear the outputs"
    client = nbclient.NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(EXAMPLES)}})
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
