"""Predictions from a file and from the presets: judged as the results say, on the page, in results.json, in the terminal."""

import hashlib
import json
import re

import pytest

from conftest import gnomon, study_arguments

PLAN = """
[study]
arms = ["none", "sinusoidal", "alibi", "add(learned, scale=off)"]

[[prediction]]
says = "Nobody needs a hundred nats for a byte"
from = "a byte has 5.5 nats at most"
measure = "loss"
arm = "alibi"
below = 100

[[prediction]]
says = "And nobody is better than certain, said at such a length that no terminal of eighty columns has it in one line"
measure = "loss"
arm = "alibi"
length = 2
below = 0

[[prediction]]
says = "ALiBi against the baseline"
measure = "loss"
arm = "alibi"
minus = "sinusoidal"
above = -1000
below = 1000

[[prediction]]
says = "The sinusoid grows by more than ALiBi"
measure = "growth"
arm = "sinusoidal"
minus = "alibi"
length = 2
within = 1000

[[prediction]]
says = "A table has no second half"
measure = "growth"
arm = "add(learned, scale=off)"
length = 2
above = 0
"""


def fingerprint(folder):
    """As the page says: of the [[prediction]] tables of study.toml, without `after`."""
    toml = (folder / "study.toml").read_text()
    tables = toml[toml.index("\n[[prediction]]") + 1:]
    lines = [line for line in tables.splitlines() if line and not line.startswith("after")]
    return hashlib.sha256("".join(line + "\n" for line in lines).encode()).hexdigest()[:16]


@pytest.fixture(scope="module")
def predicted(text, tmp_path_factory):
    folder = tmp_path_factory.mktemp("predicted")
    (folder / "plan.toml").write_text(PLAN)
    arguments = ["study", folder / "plan.toml", *study_arguments(text, folder / "out")[1:]]
    return folder / "out", arguments, gnomon(*arguments, check=0)


def mean(numbers):
    return sum(numbers) / len(numbers)


def test_results_judge_each_by_its_own_numbers(predicted):
    results = json.loads((predicted[0] / "results.json").read_text())
    hundred, certain, against, growth, table = results["predictions"]
    arms = {arm["arm"]: arm for arm in results["arms"]}
    assert results["predictions_sha256"] == fingerprint(predicted[0])
    assert [p["verdict"] for p in results["predictions"]] == ["held", "not held", "held", "held", "not measurable"]
    assert hundred["found"] == arms["alibi"]["nats_per_byte"]
    assert against["found"] == arms["alibi"]["difference_to_baseline"]
    far = [length["nats_per_byte"] for length in arms["alibi"]["by_length"] if length["factor"] == 2]
    assert [certain["found"]] == far

    def grown(arm):
        return [by["by_block"] for run in arms[arm]["runs"] for by in run["by_length"] if by["factor"] in (1, 2)]

    here, there = grown("sinusoidal"), grown("alibi")
    pairs = [(far - near) - (far_a - near_a)
             for i in range(0, len(here), 2)
             for near, far, near_a, far_a in zip(here[i], here[i + 1], there[i], there[i + 1])]
    assert growth["found"]["mean"] == pytest.approx(mean(pairs), abs=1e-12)
    assert growth["found"]["n"] == 2 and growth["found"]["half_width_95"] > 0
    assert table["found"] is None and table["why"].startswith("'add(learned, scale=off)' is not defined")
    assert hundred["from"] == "a byte has 5.5 nats at most" and hundred["written_after_runs"] == 0


def test_the_page_shows_them(predicted):
    page = (predicted[0] / "report.html").read_text()
    assert "Predicted before the run: 3 held, 1 did not hold, 1 is not measurable." in page
    section = page[page.index(">Predicted before the run</h2>"):]
    section = section[:section.index("</section>")]
    for words in ("Nobody needs a hundred nats", "loss at 2× minus loss at 1×, sinusoidal − alibi", "within ±1000", "not held",
                  "a byte has 5.5 nats at most", "not measurable: ", fingerprint(predicted[0])):
        assert words in section, words


def test_the_terminal_has_each_within_80_columns(predicted):
    lines = predicted[2].stdout.splitlines()
    table = lines[next(i for i, line in enumerate(lines) if line.startswith("predicted ")):]
    table = table[:table.index("")]
    assert fingerprint(predicted[0]) in table[0]
    assert all(len(line) <= 80 for line in table), table
    firsts = [line for line in table[1:] if not line.startswith(" ")]
    assert [re.split(r"  +", line)[0] for line in firsts] == ["held", "not held", "held", "held", "not measurable"]
    assert re.search(r"[+−]\d\.\d{3} ± \d+\.\d{3}  ALiBi against", "\n".join(firsts))
    assert "said at such a length" in " ".join(" ".join(table).split())


def test_other_predictions_than_those_that_stand_there_are_not_put_in_their_place(predicted):
    out, arguments, _ = predicted
    before = (out / "study.toml").read_text()
    plan = out.parent / "other.toml"
    plan.write_text(PLAN.replace("below = 100\n", "below = 5.5\n"))
    arguments = [arguments[0], plan, *arguments[2:]]
    done = gnomon(*arguments, check=2)
    for words in (fingerprint(out), "runs have finished", "--out", "--replace"):
        assert words in done.stderr, done.stderr
    assert (out / "study.toml").read_text() == before
    done = gnomon(*arguments, "--replace", check=0)
    assert "they are replaced" in done.stderr and "the page says so" in done.stderr
    page = (out / "report.html").read_text()
    assert len(re.findall(r"held; written after \d+ runs", page)) == 1
    results = json.loads((out / "results.json").read_text())
    assert [p["written_after_runs"] > 0 for p in results["predictions"]] == [True, False, False, False, False]
    assert results["predictions_sha256"] == fingerprint(out)
    assert gnomon("study", "report", out, "--json", check=0).stdout == (out / "results.json").read_text()


def test_the_plan_says_what_it_cannot_measure(text, tmp_path):
    (tmp_path / "plan.toml").write_text(PLAN)
    arguments = ["study", tmp_path / "plan.toml", *study_arguments(text, tmp_path / "out", "evaluate.lengths=1")[1:]]
    shown = " ".join(gnomon(*arguments, "--dry-run", check=0).stdout.split())
    assert "5 predictions (SHA-256 " in shown
    assert shown.count("evaluate.lengths has no 2") == 3


def test_a_misspelt_key_is_refused_with_its_place(text, tmp_path):
    (tmp_path / "plan.toml").write_text(PLAN.replace("below = 0\n", "belw = 0\n"))
    done = gnomon("study", tmp_path / "plan.toml", "--text", text, "--out", tmp_path / "out", check=2)
    line = PLAN.splitlines().index("below = 0") + 1
    assert f"plan.toml, line {line}: unknown key 'prediction.belw': did you mean 'prediction.below'?" in done.stderr


TINY = ["model.layers=1", "model.width=64", "model.heads=4", "model.length=16", "train.steps=64", "train.batch=2", "tune.seeds=0",
        "evaluate.score=8", "evaluate.windows=8", "evaluate.points=2", "study.seeds=1", "study.workers=2"]


@pytest.mark.parametrize("preset", ["add-vs-concat", "extrapolation", "llama-block", "overnight"])
def test_a_preset_in_miniature(text, tmp_path, preset):
    flags = [flag for setting in TINY for flag in ("--set", setting)]
    done = gnomon("study", "--preset", preset, "--text", text, "--out", tmp_path / "out", "--quiet", *flags, check=0)
    results = json.loads((tmp_path / "out" / "results.json").read_text())
    assert results["finished"] == results["planned"]
    assert len(results["predictions"]) > 10
    # One seed: nothing is decided, but everything that is defined there has its number.
    for p in results["predictions"]:
        assert p["verdict"] == "undecided" and p["found"]["n"] == 1, p
    assert all(len(line) <= 80 for line in done.stdout[done.stdout.index("predicted "):].split("\n\n")[0].splitlines())
