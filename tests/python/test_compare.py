"""`gnomon study compare A B`: which settings differ, and what that did to each arm."""

import json

import pytest

from conftest import gnomon, study_arguments


@pytest.fixture(scope="module")
def two(text, tmp_path_factory):
    folder = tmp_path_factory.mktemp("two")
    gnomon(*study_arguments(text, folder / "a", "study.arms=none, rope, alibi", "study.baseline=none"), check=0)
    gnomon(*study_arguments(text, folder / "b", "study.arms=none, rope", "study.baseline=none", "model.width=32",
                            "study.seeds=3"), check=0)
    return folder


def losses(folder, arm):
    results = json.loads((folder / "results.json").read_text())
    found = next(a for a in results["arms"] if a["arm"] == arm)
    return [run["nats"] for run in found["runs"]]


def mean(numbers):
    return sum(numbers) / len(numbers)


def test_differences_are_of_the_runs(two):
    found = json.loads(gnomon("study", "compare", two / "a", two / "b", "--json", check=0).stdout)
    assert {c["key"]: (c["a"], c["b"]) for c in found["changed"]}.items() >= {
        "model.width": ("24", "32"), "study.seeds": ("2", "3")}.items()
    assert {arm["arm"] for arm in found["arms"]} == {"none", "rope"}
    for arm in found["arms"]:
        a, b = losses(two / "a", arm["arm"]), losses(two / "b", arm["arm"])
        assert (arm["a"]["n"], arm["b"]["n"]) == (2, 3) == (len(a), len(b))
        assert arm["difference"]["mean"] == pytest.approx(mean(b) - mean(a), abs=1e-12)
        # Welch's interval by hand: t_0.975 of his degrees of freedom lies between those of 1 and of 3
        variances = [sum((x - mean(y)) ** 2 for x in y) / (len(y) - 1) / len(y) for y in (a, b)]
        assert 3.182 < arm["difference"]["half_width_95"] / sum(variances) ** 0.5 < 12.707


def test_the_terminal_says_what_differs(two):
    shown = gnomon("study", "compare", two / "a", two / "b", check=0).stdout
    assert "model.width: 24 in A, 32 in B" in shown
    assert "only in A: alibi" in shown
    assert all(len(line) <= 80 for line in shown.splitlines())
    same = gnomon("study", "compare", two / "a", two / "a", check=0).stdout
    assert " in A, " not in same and same.count("+0.000") == 3


def test_what_cannot_be_compared_is_refused(two, tmp_path):
    other = tmp_path / "other.txt"
    other.write_text("another text. " * 3000)
    gnomon(*study_arguments(other, tmp_path / "c", "study.arms=none", "study.baseline=none", "study.seeds=1"), check=0)
    assert "have different data" in gnomon("study", "compare", two / "a", tmp_path / "c", check=2).stderr
    gnomon("study", "compare", two / "a", tmp_path / "nothing", check=2)
