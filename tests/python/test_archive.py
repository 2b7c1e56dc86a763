"""`gnomon study archive`: from it, every table and sentence of a study again, without its text, its models or its machine."""

import json
import shutil

import pytest

from conftest import gnomon

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


def test_it_holds_no_path_and_no_key(study, archived):
    text = (archived[0] / "archive.json").read_text()
    assert str(study[0].parent) not in text and '"key"' not in text
    first = json.loads((study[0] / "results.json").read_text())["arms"][0]["runs"][0]
    assert first["key"] not in text


def test_a_study_is_not_written_over_by_an_archive(study, archived):
    done = gnomon("study", "report", study[0], "--from", archived[0] / "archive.json", check=2)
    assert "found a study" in done.stderr


@pytest.mark.parametrize("change, said", [(lambda a: a | {"schema": 9}, "schema"),
                                          (lambda a: {"schema": 1}, "studies"),
                                          (lambda a: a["studies"][0]["runs"][0].pop("cost") and a, "a run has no cost"),
                                          (lambda a: a["studies"][0]["runs"][0].update(nats="low") or a, "nats"),
                                          (lambda a: a["studies"][0].update(study="[study]\nseeds = -1") or a, "study.seeds")])
def test_a_file_that_is_none_is_told(archived, tmp_path, change, said):
    broken = tmp_path / "broken.json"
    broken.write_text(json.dumps(change(json.loads((archived[0] / "archive.json").read_text()))))
    done = gnomon("study", "report", tmp_path / "out", "--from", broken)
    assert done.returncode in (2, 3) and said in done.stderr, done.stderr
