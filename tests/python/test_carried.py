"""Learning rates of a large model from those of a small one: on valleys whose lowest points are known, and in the preset that relies on it."""

import json
import math
import re
import subprocess
import tomllib

import pytest

from conftest import ROOT

PRESET = ROOT / "gnomon" / "study" / "settings" / "presets" / "scaling.toml"


def carried(*arguments):
    return subprocess.run([ROOT / "scripts" / "carried", *map(str, arguments)], check=True, capture_output=True, text=True).stdout


def part(name, width, best, bend=0.1):
    """Losses about a valley at this rate, of an arm that was trained on 20 bytes a parameter."""
    steps = 20 * (24 * width**2 + 512 * width) // 512
    runs = [{"arm": "rope", "seed": 1001, "steps": steps, "learning_rate": rate, "nats": 2 + bend * math.log(rate / best) ** 2}
            for rate in (0.002, 0.004, 0.008)]
    study = f"[study]\narms = ['rope']\n[train]\nsteps = {steps}\nbatch = 4\n[model]\nlayers = 2\nwidth = {width}\nlength = 128\nvocabulary = 256\n"
    return {"name": name, "study": study, "runs": runs}


@pytest.mark.parametrize("larger, cost", [(0.0025, 0), (0.005, 0.1 * math.log(2) ** 2)])
def test_the_cost_is_what_the_rule_loses_on_a_known_valley(tmp_path, larger, cost):
    (tmp_path / "archive.json").write_text(json.dumps({"studies": [part("small", 32, 0.005), part("large", 64, larger)]}))
    told = carried(tmp_path / "archive.json")
    assert f"small to large, 20 bytes a parameter, 1 arms: mean {cost:.4f}, most {cost:.4f} nats" in told


@pytest.mark.parametrize("layers, rate", [(2, "0.0012"), (8, "0.0006")])  # 0.0048 · 32 / 128, and half of it
def test_a_rate_is_in_proportion_to_one_over_width_and_the_root_of_layers(tmp_path, layers, rate):
    (tmp_path / "archive.json").write_text(json.dumps({"studies": [part("small", 32, 0.0048)]}))
    steps = 20 * (12 * layers * 128**2 + 512 * 128) // 512
    study = re.sub(r"steps = \d+", f"steps = {steps}", part("large", 128, 1)["study"]).replace("layers = 2", f"layers = {layers}")
    target = study.replace("[study]", "[part.study]\nbudgets = [1]").replace("[train]", "[part.train]").replace("[model]", "[part.model]")
    (tmp_path / "plan.toml").write_text("[[part]]\nname = 'large'\n" + target)
    assert f"{rate},  # rope" in carried(tmp_path / "archive.json", "small", tmp_path / "plan.toml", "large")


@pytest.mark.parametrize("name", ["4x96", "4x192"])
def test_the_preset_has_the_rates_that_its_archive_gives(name):
    told = carried(ROOT / "docs" / "results" / "scaling.json.gz", "2x64", PRESET, name)
    listed = next(p for p in tomllib.loads(PRESET.read_text())["part"] if p["name"] == name)["tune"]
    assert listed["seeds"] == 0 and listed["given"] == tomllib.loads(told)["given"]


def test_the_page_says_what_the_rule_costs():
    told = carried(ROOT / "docs" / "results" / "scaling.json.gz")
    means = {int(after): float(mean) for after, mean in re.findall(r"2x32 to 2x64, (\d+) bytes a parameter, 13 arms: mean ([\d.]+)", told)}
    most = max(float(x) for x in re.findall(r"most ([\d.]+)", told))
    page = (ROOT / "docs" / "study.md").read_text()
    assert f"costs {means[5]:.3f} nats after 5 bytes a parameter, as a mean over 13 arms, and {means[20]:.3f} after 20 and after 80" in page
    assert f"{means[20]:.3f}" == f"{means[80]:.3f}" and f"At most it costs {most:.3f}." in page
