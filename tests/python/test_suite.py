"""Several studies that are told of on one page: [[part]] tables of a file, and the presets that have them."""

import json

import pytest

from conftest import gnomon

PLAN = """
[study]
seeds = 2
minutes = 8
budgets = [1]
arms = ["none", "rope"]
baseline = "rope"
[tune]
seeds = 0
[model]
layers = 1
width = 32
heads = 2
[train]
steps = 150
batch = 16
learning_rate = 0.004
[evaluate]
windows = 32

[[part]]
name = "order"
[part.study]
data = "order"
[[part.prediction]]
says = "One layer without positions is right in one half"
measure = "symbols"
arm = "none"
exactly = 0.5
[[part.prediction]]
says = "and never twice"
measure = "right"
arm = "none"
above = 0.5

[[part]]
name = "parity-2"
[part.study]
data = "parity"
minutes = 1
[part.train]
steps = 30
"""


@pytest.fixture(scope="module")
def suite(tmp_path_factory):
    folder = tmp_path_factory.mktemp("suite")
    (folder / "plan.toml").write_text(PLAN)
    arguments = ["study", folder / "plan.toml", "--out", folder / "out"]
    return folder, arguments, gnomon(*arguments, check=0)


def test_each_part_is_a_study_in_its_folder(suite):
    folder, _, done = suite
    assert "order: study 1 of 2" in done.stderr and "parity-2: study 2 of 2" in done.stderr
    assert (folder / "out" / "suite.toml").read_text().startswith('[suite]\nparts = ["order", "parity-2"]')
    results = json.loads((folder / "out" / "results.json").read_text())
    assert [s["name"] for s in results["studies"]] == ["order", "parity-2"]
    for study in results["studies"]:
        alone = json.loads((folder / "out" / study["name"] / "results.json").read_text())
        assert study["results"] == alone
        assert alone["finished"] == alone["planned"] == 4
        assert (folder / "out" / study["name"] / "report.html").exists()
    steps = [s["results"]["arms"][0]["runs"][0]["steps"] for s in results["studies"]]
    assert steps == [150, 30]  # what a part says stands over what all share


def test_the_page_and_the_terminal_tell_of_all(suite):
    folder, _, done = suite
    page = (folder / "out" / "report.html").read_text()
    assert '<a href="parity-2/report.html">parity-2</a>' in page
    assert "Predicted before the run: 1 held, 1 did not hold." in page
    assert 'id="s2">Beyond them' in page  # parity has tests beyond its training
    order = json.loads((folder / "out" / "order" / "results.json").read_text())
    assert [p["verdict"] for p in order["predictions"]][0] == "held"
    none = next(arm for arm in order["arms"] if arm["arm"] == "none")
    assert none["by_length"][0]["mean_share"] == 0 and none["by_length"][0]["solved"] == 0
    assert all(len(line) <= 80 for line in done.stdout.splitlines() if not line.startswith("report: "))
    assert "order: One layer without" in " ".join(done.stdout.split())


def test_the_same_command_does_nothing_again_and_report_writes_the_same(suite):
    folder, arguments, _ = suite
    before = (folder / "out" / "results.json").read_bytes()
    gnomon(*arguments, check=0)
    assert (folder / "out" / "results.json").read_bytes() == before
    assert gnomon("study", "report", folder / "out", "--json", check=0).stdout.encode() == before
    status = gnomon("study", "status", folder / "out", check=0).stdout
    assert status.count("4 of 4 runs finished") == 2


def test_two_suites_compare_part_by_part(suite):
    folder, _, _ = suite
    found = json.loads(gnomon("study", "compare", folder / "out", folder / "out", "--json", check=0).stdout)
    assert [s["name"] for s in found["studies"]] == ["order", "parity-2"]
    assert all(arm["difference"]["mean"] == 0 for s in found["studies"] for arm in s["comparison"]["arms"])


def test_other_studies_are_not_put_in_its_place(suite, text):
    folder, _, _ = suite
    for arguments in (["--text", text], ["--preset", "smoke", "--text", text]):
        done = gnomon("study", "--out", folder / "out", *arguments, check=2)
        assert "holds other studies; give another folder" in done.stderr, done.stderr
    both = gnomon("study", folder / "plan.toml", "--preset", "smoke", "--text", text, check=2)
    assert "both have [[part]] tables" in both.stderr


def test_minutes_are_shared_out(suite):
    folder, _, _ = suite
    (folder / "open.toml").write_text(PLAN.replace("steps = 150\n", "").replace("[part.train]\nsteps = 30\n", ""))
    (folder / "fixed.toml").write_text(
        PLAN.replace("steps = 150\n", "").replace("[part.train]\nsteps = 30\n", "").replace("minutes = 1\n", "minutes = 8\n"))

    def steps(*arguments):
        shown = gnomon("study", *arguments, "--out", folder / "other", "--dry-run", check=0).stdout
        return [int(line.split("; ")[1].split()[0]) for line in shown.splitlines() if line.startswith("model: ")]

    eight, one = steps(folder / "open.toml")
    half, eighth = steps(folder / "open.toml", "--minutes", "4.5")
    assert half == pytest.approx(eight / 2, rel=0.02) and eighth == pytest.approx(one / 2, rel=0.02)
    assert steps(folder / "fixed.toml")[1] == pytest.approx(8 * one, rel=0.02)


@pytest.mark.parametrize("wrong, says", [
    ('name = "order"', "part.name: 'parity-2' is there twice"),
    ('name = "../x"', "allowed are a to z, 0 to 9 and -"),
    ("", "part.name is missing"),
])
def test_a_part_without_a_name_of_its_own_is_refused(tmp_path, wrong, says):
    plan = PLAN.replace('name = "order"', wrong)
    if "twice" in says:
        plan = PLAN.replace('name = "order"', 'name = "parity-2"')
    (tmp_path / "plan.toml").write_text(plan)
    done = gnomon("study", tmp_path / "plan.toml", "--out", tmp_path / "out", check=2)
    assert "plan.toml, line " in done.stderr and says in done.stderr, done.stderr
    assert not (tmp_path / "out").exists()


def test_a_misspelt_key_of_a_part_is_refused_with_its_line(tmp_path):
    (tmp_path / "plan.toml").write_text(PLAN.replace("minutes = 1\n", "minuts = 1\n"))
    done = gnomon("study", tmp_path / "plan.toml", "--out", tmp_path / "out", check=2)
    line = PLAN.splitlines().index("minutes = 1") + 1
    assert f"line {line}: unknown key 'study.minuts': did you mean 'study.minutes'?" in done.stderr, done.stderr


def test_what_the_smoke_preset_asserts_comes_out(text, tmp_path):
    """Whatever the text: without positions an encoder, and one causal layer, are right in exactly one half; two layers in all."""
    tiny = ["study.minutes=0.05", "evaluate.lengths=1, 2", "model.length=32"]
    gnomon("study", "--preset", "smoke", "--text", text, "--out", tmp_path / "out", "--quiet",
           *[flag for setting in tiny for flag in ("--set", setting)], check=0)
    results = json.loads((tmp_path / "out" / "results.json").read_text())
    verdicts = {(s["name"], p["says"]): p["verdict"] for s in results["studies"] for p in s["results"]["predictions"]}
    assert len(verdicts) == 13 and set(verdicts.values()) == {"held"}, verdicts


def test_length_generalisation_in_miniature(tmp_path):
    tiny = ["train.steps=16", "evaluate.windows=4", "tune.seeds=0", "study.seeds=1"]
    done = gnomon("study", "--preset", "length-generalisation", "--out", tmp_path / "out", "--quiet",
                  *[flag for setting in tiny for flag in ("--set", setting)], check=0)
    results = json.loads((tmp_path / "out" / "results.json").read_text())
    assert [s["name"] for s in results["studies"]] == ["copy-same", "copy", "reverse", "sort", "dyck", "selective-copy", "parity"]
    for study in results["studies"]:
        for p in study["results"]["predictions"]:
            assert p["verdict"] == "undecided" and p["found"]["n"] == 1, p
    assert all(len(line) <= 80 for line in done.stdout.splitlines() if not line.startswith("report: "))
