"""Every example in Python of README, docs/python.md and docs/check.md runs."""

import pathlib
import re

import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

import gnomon as gn  # noqa: E402
from tiny_models import TOKENS, llama, ready  # noqa: E402

ROOT = pathlib.Path(__file__).parents[2]


def examples(page):
    return re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(), re.S)


EXAMPLES = examples("README.md") + examples("docs/python.md")


def test_there_are_examples():
    assert len(EXAMPLES) == 4


@pytest.mark.parametrize("code", EXAMPLES, ids=[f"example {n}" for n in range(len(EXAMPLES))])
def test_an_example_runs(code, monkeypatch, tmp_path):
    (tmp_path / "docs").symlink_to(ROOT / "docs")
    monkeypatch.chdir(tmp_path)
    exec(compile(code, "a page", "exec"), {"__name__": "page"})


def test_the_hook_dumps_what_check_reads(tmp_path):
    pytest.importorskip("safetensors")
    names = {}
    (code,) = examples("docs/check.md")
    exec(compile(code, "docs/check.md", "exec"), names)
    names["dump_rotation"](ready(llama), {"input_ids": TOKENS}, tmp_path / "dump.safetensors")
    follows = lambda spec: all(found["follows"] for found in gn.check(tmp_path / "dump.safetensors", spec=spec))
    assert follows("rope") and not follows("rope(pairing=adjacent)")
