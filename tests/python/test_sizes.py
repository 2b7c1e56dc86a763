"""What a study chooses that sets some of its sizes: the plan, study.toml and the page say it, and from what it follows."""

import html
import json
import re
import tomllib

import pytest

from conftest import SMALL, gnomon


def plan(text, folder, *settings, arguments=()):
    flags = [flag for setting in settings for flag in ("--set", setting)]
    return json.loads(gnomon("study", "--text", text, "--out", folder / "out", "--dry-run", "--json", *arguments, *flags, check=0).stdout)


def test_sixty_steps_are_of_the_default_model(text, tmp_path):
    default, few = plan(text, tmp_path), plan(text, tmp_path, "train.steps=60")
    assert few["model"] == default["model"] and few["batch"] == default["batch"]
    assert [a["parameters"] for a in few["arms"]] == [a["parameters"] for a in default["arms"]]
    assert few["steps"] == 60 and few["runs"] == default["runs"]
    assert few["flops"] < default["flops"] / 10 and few["expected_nats_per_byte"] > default["expected_nats_per_byte"]
    (said,) = [s for s in few["derived"] if s.startswith("train.steps")]
    assert "60 is set, so the study takes about" in said and "instead of 9" in said


@pytest.mark.parametrize("settings, arguments", [
    ([], ["--minutes", "30"]),
    (["model.length=256"], []),
    (["train.batch=16", "study.budgets=0.5, 1"], []),
    (["model.block=llama", "model.layers=4"], []),
])
def test_steps_change_nothing_but_the_steps(text, tmp_path, settings, arguments):
    free = plan(text, tmp_path, *settings, arguments=arguments)
    for steps in (60, 20000):
        fixed = plan(text, tmp_path, *settings, f"train.steps={steps}", arguments=arguments)
        assert fixed["model"] == free["model"] and fixed["batch"] == free["batch"] and fixed["steps"] == steps


def test_sizes_keep_their_minutes(text, tmp_path):
    default = plan(text, tmp_path)
    for settings in (["model.width=128"], ["model.layers=4", "model.width=32"], ["model.width=32", "model.length=64"]):
        own = plan(text, tmp_path, *settings)
        assert own["steps"] != default["steps"]
        assert any(s.startswith("train.steps = ") and s.endswith("in study.minutes = 9") for s in own["derived"]), own["derived"]
        for setting in settings:
            assert not any(s.startswith(setting.split("=")[0] + " =") for s in own["derived"])


def test_the_plan_the_settings_and_the_page_say_the_same(text, tmp_path):
    settings = [s for s in SMALL if s.split("=")[0] not in ("model.heads", "train.batch", "tune.rates")]
    derived = plan(text, tmp_path, *settings)["derived"]
    assert [s.split(" =")[0] for s in derived] == ["model.heads", "train.batch", "tune.rates"]
    flags = [flag for setting in (*settings, "study.arms=none, rope", "study.baseline=none", "study.seeds=1") for flag in ("--set", setting)]
    shown = gnomon("study", "--text", text, "--out", tmp_path / "out", "--dry-run", *flags, check=0).stdout
    gnomon("study", "--text", text.name, "--out", tmp_path / "out", "--quiet", *flags, check=0, cwd=text.parent)
    written = tomllib.loads((tmp_path / "out" / "study.toml").read_text())
    assert written["study"]["derived"] == derived
    for report in (False, True):  # also where the page is written again from the folder
        if report:
            gnomon("study", "report", tmp_path / "out", check=0)
        page = html.unescape((tmp_path / "out" / "report.html").read_text())
        for sentence in derived:
            assert f"<p>{sentence}.</p>" in page and " ".join(sentence.split()) in " ".join(shown.split())
        assert str(text.parent) not in page, "a page is passed on: whose folders they were is nobody's business"
        assert f"Data: {text.name}." in re.sub("<[^>]*>", "", page)
    assert written["study"]["text"] == str(text)


def test_a_plan_that_is_read_again_has_all_its_sizes(text, tmp_path):
    gnomon("study", "--text", text, "--out", tmp_path / "out", "--quiet", *[f for s in SMALL for f in ("--set", s)], "--set", "study.arms=none, rope",
           "--set", "study.baseline=none", check=0)
    again = gnomon("study", tmp_path / "out" / "study.toml", "--out", tmp_path / "other", "--dry-run", "--json", check=0)
    assert json.loads(again.stdout)["derived"] == []
    compared = json.loads(gnomon("study", "compare", tmp_path / "out", tmp_path / "out", "--json", check=0).stdout)
    assert compared["changed"] == []
