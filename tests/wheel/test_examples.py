"""Every example in Python of README and docs/python.md runs."""

import pathlib
import re

import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

ROOT = pathlib.Path(__file__).parents[2]
EXAMPLES = [code for page in ("README.md", "docs/python.md") for code in re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(), re.S)]


def test_there_are_examples():
    assert len(EXAMPLES) == 4


@pytest.mark.parametrize("code", EXAMPLES, ids=[f"example {n}" for n in range(len(EXAMPLES))])
def test_an_example_runs(code, monkeypatch, tmp_path):
    (tmp_path / "docs").symlink_to(ROOT / "docs")
    monkeypatch.chdir(tmp_path)
    exec(compile(code, "a page", "exec"), {"__name__": "page"})
