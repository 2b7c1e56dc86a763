"""The notebooks run from top to bottom, and what they keep of a run is small."""

import json
import pathlib

import pytest

nbclient = pytest.importorskip("nbclient")
nbformat = pytest.importorskip("nbformat")

NOTEBOOKS = sorted((pathlib.Path(__file__).parent.parent.parent / "docs/notebooks").glob("*.ipynb"))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.stem)
def test_it_runs(path):
    notebook = nbformat.read(path, 4)
    nbclient.NotebookClient(notebook, timeout=60, kernel_name="python3", resources={"metadata": {"path": path.parent}}).execute()


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.stem)
def test_it_keeps_little(path):
    assert path.stat().st_size < 20_000
    for cell in json.loads(path.read_text())["cells"]:
        assert all(o.get("name") != "stderr" and "/tmp/" not in json.dumps(o) for o in cell.get("outputs", []))


def test_there_are_three():
    assert [p.stem for p in NOTEBOOKS] == ["choose-an-encoding", "extend-a-context", "why-add"]
