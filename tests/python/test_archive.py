"""`gnomon study archive`: from it, every table and sentence of a study again, without its text, its models or its machine."""

import gzip
import json
import shutil

import pytest

from conftest import gnomon, study_arguments

LEFT_OUT = {"key", "asked", "weights_sha256", "by_position", "training_seconds", "evaluation_seconds", "flops"}


def same(one, other, place=""):
    if isinstance(one, dict):
        for key in one.keys() - LEFT_OUT:
            same(one[key], other[key], f"{place}/{key}")
    elif isinstance(one, list):
        assert len(one) == len(other), place
        for n, (x, y) in enumerate(zip(one, other)):
            same(x, y, f"{place}[{n}]")
    elif isinstance(one, float):
        assert other == pytest.approx(one, rel=2e-4, abs=1e-4), place
    else:
        assert one == other, place


@pytest.fixture(scope="module")
def archived(study, tmp_path_factory):
    folder = tmp_path_factory.mktemp("archive")
    (folder / "archive.json").write_text(gnomon("study", "archive", study[0], check=0).stdout)
    return folder, gnomon("study", "report", folder / "again", "--from", folder / "archive.json", check=0)


def test_results_are_those_of_the_study(study, archived):
    folder, _ = archived
    found, again = (json.loads((at / "results.json").read_text()) for at in (study[0], folder / "again"))
    same(found, again)


def test_terminal_and_page_say_the_same(study, archived):
    folder, done = archived
    shutil.copytree(study[0], folder / "copy")  # a report writes down by which command it was made
    told = gnomon("study", "report", folder / "copy", check=0).stdout.split("report:")[0]
    assert done.stdout.split("report:")[0] == told
    assert told.split("\n")[0] in (folder / "again" / "report.html").read_text()


def test_it_may_be_packed(archived, tmp_path):
    folder, _ = archived
    packed = gzip.compress((folder / "archive.json").read_bytes())
    (tmp_path / "archive.json.gz").write_bytes(packed)
    gnomon("study", "report", tmp_path / "again", "--from", tmp_path / "archive.json.gz", check=0)
    assert (tmp_path / "again" / "results.json").read_text() == (folder / "again" / "results.json").read_text()
    for broken in (packed[:-9], packed[:200] + b"no" + packed[202:], packed + b"more"):
        (tmp_path / "broken.json.gz").write_bytes(broken)
        done = gnomon("study", "report", tmp_path / "broken", "--from", tmp_path / "broken.json.gz", check=3)
        assert "broken.json.gz: is cut or no file of gzip" in done.stderr


def test_it_holds_no_path_and_no_key(study, archived):
    text = (archived[0] / "archive.json").read_text()
    assert str(study[0].parent) not in text and '"key"' not in text
    first = json.loads((study[0] / "results.json").read_text())["arms"][0]["runs"][0]
    assert first["key"] not in text


def test_a_study_is_not_written_over_by_an_archive(study, archived):
    done = gnomon("study", "report", study[0], "--from", archived[0] / "archive.json", check=2)
    assert "found a study" in done.stderr


@pytest.mark.parametrize("change, said", [(lambda a: a | {"schema": 1}, "schema"),
                                          (lambda a: {"schema": 2}, "studies"),
                                          (lambda a: a["studies"][0].update(name="../away") or a, "a name of a to z"),
                                          (lambda a: {**a, "studies": 2 * a["studies"]}, "the only study"),
                                          (lambda a: a["studies"][0].update(runs=[5]) or a, "a run is no object"),
                                          (lambda a: a["studies"][0].update(runs=5) or a, "runs"),
                                          (lambda a: a["studies"][0]["runs"][0].pop("cost") and a, "a run has no cost"),
                                          (lambda a: a["studies"][0]["runs"][0].update(nats="low") or a, "nats"),
                                          (lambda a: a["studies"][0].update(study="[study]\nseeds = -1") or a, "study.seeds")])
def test_a_file_that_is_none_is_told(archived, tmp_path, change, said):
    broken = tmp_path / "broken.json"
    broken.write_text(json.dumps(change(json.loads((archived[0] / "archive.json").read_text()))))
    done = gnomon("study", "report", tmp_path / "out", "--from", broken)
    assert done.returncode in (2, 3) and said in done.stderr, done.stderr


def runs_in(folder):
    return [json.loads(path.read_text()) for path in folder.glob("runs/*/result.json")]


def test_a_study_takes_the_runs_that_an_archive_has(study, archived, text, tmp_path):
    archive = archived[0] / "archive.json"
    before = {(r["arm"], r["seed"], r["steps"], r["learning_rate"]) for s in json.loads(archive.read_text())["studies"] for r in s["runs"]}
    done = gnomon(*study_arguments(text, tmp_path / "more", "study.seeds=3"), "--from", archive, check=0)
    assert f"{len(before)} runs of this study taken from it" in done.stderr
    found = runs_in(tmp_path / "more")
    trained = {(r["arm"], r["seed"], r["steps"], r["learning_rate"]) for r in found if r["weights_sha256"]}
    assert {seed for _, seed, _, _ in trained} == {3} and not trained & before and len(found) == len(trained) + len(before)
    same([r for r in json.loads((study[0] / "results.json").read_text())["arms"] if r["arm"] == "rope"][0]["rates"],
         [r for r in json.loads((tmp_path / "more" / "results.json").read_text())["arms"] if r["arm"] == "rope"][0]["rates"])
    again = gnomon(*study_arguments(text, tmp_path / "more", "study.seeds=3"), "--from", archive, check=0)
    assert "0 runs taken from it" in again.stderr and len(runs_in(tmp_path / "more")) == len(found)


def test_runs_of_other_machines_keep_their_numerics_and_the_page_counts_them(study, archived, text, tmp_path):
    there = json.loads((archived[0] / "archive.json").read_text())
    for run in there["studies"][0]["runs"]:
        run["numerics"] = "numerics 1, of another machine"
    (tmp_path / "there.json").write_text(json.dumps(there))
    gnomon(*study_arguments(text, tmp_path / "here"), "--from", tmp_path / "there.json", check=0)
    runs = there["studies"][0]["runs"]
    assert f"{len(runs)} runs: numerics 1, of another machine" in (tmp_path / "here" / "report.html").read_text()
    first = json.loads((tmp_path / "here" / "results.json").read_text())
    assert {run["numerics"] for arm in first["arms"] for run in arm["runs"]} == {"numerics 1, of another machine"}


@pytest.mark.parametrize("setting", ["train.batch=3", "study.arms=none, sinusoidal, cope"])
def test_runs_of_other_settings_and_arms_are_not_taken(archived, text, tmp_path, setting):
    done = gnomon(*study_arguments(text, tmp_path / "other", setting, "train.steps=4", "tune.seeds=0"), "--from", archived[0] / "archive.json", check=0)
    assert "none is new and of this study" in done.stderr
    assert all(run["weights_sha256"] for run in runs_in(tmp_path / "other"))


def test_predictions_that_an_archive_lacks_came_after_its_runs(archived, text, tmp_path):
    (tmp_path / "plan.toml").write_text('[[prediction]]\nsays = "rope is no worse"\nmeasure = "loss"\narm = "rope"\nminus = "sinusoidal"\nbelow = 0\n')
    done = gnomon(*study_arguments(text, tmp_path / "late"), "--from", archived[0] / "archive.json", tmp_path / "plan.toml", check=0)
    assert "1 prediction was added after" in done.stderr


def test_an_arm_without_runs_has_no_mean(archived, tmp_path):
    there = json.loads((archived[0] / "archive.json").read_text())
    runs = there["studies"][0]["runs"]
    there["studies"][0]["runs"] = [run for run in runs if run["arm"] != "rope"]
    assert 0 < len(there["studies"][0]["runs"]) < len(runs)
    (tmp_path / "there.json").write_text(json.dumps(there))
    gnomon("study", "report", tmp_path / "out", "--from", tmp_path / "there.json", check=0)
    arms = {arm["arm"]: arm for arm in json.loads((tmp_path / "out" / "results.json").read_text())["arms"]}
    none = {"mean": None, "half_width_95": None, "n": 0}
    assert arms["rope"]["nats_per_byte"] == arms["rope"]["difference_to_baseline"] == none
    assert arms["rope"]["bits_per_byte"] is None and all(at["nats_per_byte"] is None for at in arms["rope"]["budgets"])
    assert arms["sinusoidal"]["nats_per_byte"]["mean"] > 0


PARTS = """
[study]
seeds = 2
budgets = [1]
arms = ["none", "rope"]
baseline = "rope"
[tune]
seeds = 0
[model]
layers = 1
width = 16
heads = 2
[train]
steps = 4
batch = 2
learning_rate = 0.004
[evaluate]
windows = 8
[[part]]
name = "first"
[[part]]
name = "second"
[part.train]
steps = 6
"""


def test_a_part_taken_from_an_archive_stands_beside_one_that_is_trained_elsewhere(text, tmp_path):
    (tmp_path / "plan.toml").write_text(PARTS)
    arguments = ["study", tmp_path / "plan.toml", "--text", text]
    gnomon(*arguments, "--out", tmp_path / "here", "--part", "first", check=0)
    (tmp_path / "archive.json").write_text(gnomon("study", "archive", tmp_path / "here", check=0).stdout)
    gnomon(*arguments, "--out", tmp_path / "there", "--from", tmp_path / "archive.json", "--part", "second", check=0)
    at = {name: runs_in(tmp_path / "there" / name) for name in ("first", "second")}
    assert {name: [bool(run["weights_sha256"]) for run in runs] for name, runs in at.items()} == {"first": 4 * [False], "second": 4 * [True]}
    assert {len(study["results"]["arms"]) for study in json.loads((tmp_path / "there" / "results.json").read_text())["studies"]} == {2}
