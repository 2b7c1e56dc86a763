"""Every example of README in Python runs."""

import pathlib
import re

import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

ROOT = pathlib.Path(__file__).parents[2]
EXAMPLES = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.S)


def test_readme_has_examples():
    assert len(EXAMPLES) == 3


@pytest.mark.parametrize("code", EXAMPLES, ids=[f"example {n}" for n in range(len(EXAMPLES))])
def test_an_example_runs(code, monkeypatch, tmp_path):
    (tmp_path / "docs").symlink_to(ROOT / "docs")
    monkeypatch.chdir(tmp_path)
    exec(compile(code, "README.md", "exec"), {"__name__": "readme"})
