"""scripts/findings: docs/findings.md from archives of studies."""

import gzip
import importlib.machinery
import importlib.util
import json
import subprocess
import sys

from conftest import GNOMON, ROOT, gnomon


def findings(folder, preset, study):
    """The page of this study alone, and the results that its archive gives."""
    archive = folder / f"{preset}.json.gz"
    archive.write_bytes(gzip.compress(gnomon("study", "archive", study, check=0).stdout.encode()))
    gnomon("study", "report", folder / "again", "--from", archive, check=0)
    page = subprocess.run([sys.executable, ROOT / "scripts" / "findings", folder, GNOMON], capture_output=True, text=True, check=True).stdout
    return page, json.loads((folder / "again" / "results.json").read_text())


def test_every_arm_stands_there_with_its_numbers(study, tmp_path):
    page, results = findings(tmp_path, "default", study[0])
    rows = [line for line in page.splitlines() if line.startswith("| ")]
    for arm in results["arms"]:
        own, difference = arm["nats_per_byte"], arm["difference_to_baseline"]
        row = next(line for line in rows if line.startswith(f"| {arm['arm']} |"))
        assert f"| {own['mean']:.4f} ± {own['half_width_95']:.4f} |" in row
        if arm["arm"] != results["baseline"]:
            assert f"{difference['mean']:+.4f} ± {difference['half_width_95']:.4f}".replace("-", "−") in row
            assert f"| {arm['comparison']['decision']} |" in row
        for at in arm["by_length"]:
            assert (f"{at['nats_per_byte']['mean']:.3f}" if at["nats_per_byte"] else "n/d") in row
    assert "`gnomon study --preset extrapolation` has not been run in full" in page


def test_tasks_and_predictions_stand_there(tmp_path):
    tiny = ["train.steps=40", "evaluate.windows=8", "tune.seeds=0", "study.seeds=2", "study.arms=none, rope, alibi, t5, sinusoidal, "
            "sinusoidal+randomised, fire"]
    gnomon("study", "--preset", "length-generalisation", "--out", tmp_path / "tasks", "--quiet",
           *[flag for setting in tiny for flag in ("--set", setting)], check=0)
    page, results = findings(tmp_path, "length-generalisation", tmp_path / "tasks")
    for study in results["studies"]:
        assert f"**{study['name']}**, {study['results']['metric']['name']}, by length" in page
        for p in study["results"]["predictions"]:
            assert f"**{p['verdict']}** | {p['from']} |" in page
            found = f"| {p['found']['mean']:+.3f} ± ".replace("-", "−") if p["minus"] else f"| {p['found']['mean']:.3f} ["
            assert any(f"| {p['says']} |" in line and found in line for line in page.splitlines()), p


def test_the_heading_of_adding_turns_with_the_numbers(tmp_path):
    """Of a real study's results: where the loud sum is ahead, or nothing is told apart, the page says so."""
    tiny = ["train.steps=64", "train.batch=1", "evaluate.windows=8", "tune.seeds=0", "study.seeds=2", "model.width=48", "model.heads=2", "model.layers=1"]
    text = tmp_path / "text"
    text.write_text("".join(f"{n} and {n * n % 97} are told. " for n in range(4000)))
    folder = tmp_path / "add-vs-concat"
    script = importlib.util.module_from_spec(importlib.util.spec_from_loader("findings", importlib.machinery.SourceFileLoader("findings", str(ROOT / "scripts" / "findings"))))
    script.__loader__.exec_module(script)
    gnomon("study", "--text", text, "--preset", "add-vs-concat", "--out", folder, "--quiet",
           *[flag for setting in tiny for flag in ("--set", setting)], check=0)
    results = json.loads((folder / "results.json").read_text())
    arms = {arm["arm"]: arm for arm in results["arms"]}
    best, loud = results["arms"][0], arms["add(sinusoidal, amplitude=3)"]
    for lead, decision in ((0.25, "equivalent"), (-0.125, "undecided")):
        for n, (one, other) in enumerate(zip(loud["budgets"][:-1], best["budgets"])):
            one["nats_per_byte"] = other["nats_per_byte"] + lead
        loud["to_best"] = {**(loud["to_best"] or {}), "decision": decision}
        arms["permuted"]["difference_to_baseline"] |= {"mean": lead, "half_width_95": 0.1}
        page = script.add_words(script.Study({}, results))
        assert page.count(f"{abs(lead):.3f} nats {'lower' if lead > 0 else 'higher'}") == 2
        assert ("equal within 0.01 nats" in page) == (decision == "equivalent")
        assert f"({'worse' if lead > 0 else 'better'}), random" in page
