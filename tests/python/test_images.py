"""Studies of images: small squares whose class is where the bright corner lies, which patches alone cannot tell."""

import json
import random

import pytest

from conftest import gnomon

SMALL = ["train.steps=60", "train.batch=8", "evaluate.windows=64", "tune.seeds=0", "study.seeds=2", "model.layers=1", "model.width=16", "model.heads=2",
         "study.arms=none, rope, rope_axial, window_mlp(rows=13, columns=13), add(learned, scale=off), add(peg, scale=off)", "study.baseline=none",
         "study.budgets=1"]


def flags(*settings):
    return [flag for setting in settings for flag in ("--set", setting)]


@pytest.fixture(scope="module")
def images(tmp_path_factory):
    """A line an image: 4 x 4 pixels and the class."""
    draw, file = random.Random(1), tmp_path_factory.mktemp("images") / "squares.txt"
    rows = []
    for _ in range(200):
        corner = draw.randrange(4)
        pixels = [draw.randrange(4, 9) for _ in range(16)]
        pixels[(0, 3, 12, 15)[corner]] = 16
        rows.append(",".join(map(str, [*pixels, corner])))
    file.write_text("\n".join(rows) + "\n")
    return file


@pytest.fixture(scope="module")
def study(images, tmp_path_factory):
    folder = tmp_path_factory.mktemp("studies") / "out"
    gnomon("study", "--text", images, "--out", folder, "--quiet", *flags("study.data=images", "model.causal=false", *SMALL), check=0)
    return folder, json.loads((folder / "results.json").read_text())


def test_each_arm_answers_on_three_squares(study):
    _, results = study
    assert results["metric"]["name"] == "share of right symbols" and results["unit"] == "nats per image"
    assert results["metric"]["chance"] == pytest.approx(0.25)
    for arm in results["arms"]:
        assert [at["factor"] for at in arm["by_length"]] == [3, 4, 6], arm["arm"]
        defined = [at["mean_share"] is not None for at in arm["by_length"]]
        assert defined == [True, arm["arm"] != "add(learned, scale=off)", arm["arm"] != "add(learned, scale=off)"], arm["arm"]


def test_an_archive_gives_the_same_results(study, tmp_path):
    folder, results = study
    (tmp_path / "archive.json").write_text(gnomon("study", "archive", folder, check=0).stdout)
    gnomon("study", "report", tmp_path / "again", "--from", tmp_path / "archive.json", check=0)
    again = json.loads((tmp_path / "again" / "results.json").read_text())
    for arm, other in zip(results["arms"], again["arms"], strict=True):
        assert arm["arm"] == other["arm"]
        assert [at["mean_share"] for at in arm["by_length"]] == [at["mean_share"] for at in other["by_length"]]
    assert again["metric"] == results["metric"]


def test_the_plan_of_the_preset_follows_from_the_images(images):
    plan = json.loads(gnomon("study", "--preset", "images", "--text", images, "--dry-run", "--json", check=0).stdout)
    assert plan["model"]["length"] == 10 and plan["predictions"] == 8 and len(plan["arms"]) == 13
    assert "4 × 4 pixels in 4 classes" in plan["data"][0]


def test_a_decoder_is_refused(images, tmp_path):
    done = gnomon("study", "--text", images, "--out", tmp_path / "out", *flags("study.data=images", "model.causal=true", *SMALL), "--dry-run", check=2)
    assert "set model.causal = false" in done.stderr


def test_what_is_no_image_is_refused_with_its_line(images, tmp_path):
    (tmp_path / "broken").write_text(images.read_text() + "1,2,3\n")
    done = gnomon("study", "--text", tmp_path / "broken", "--out", tmp_path / "out", *flags("study.data=images", "model.causal=false", *SMALL), check=3)
    assert "line 201: found 3 numbers" in done.stderr
