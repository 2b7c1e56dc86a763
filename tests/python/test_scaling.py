"""One kind of model in several sizes: laws, slopes and what is foretold of the largest, computed again here in another way."""

import copy
import itertools
import json
import math
import subprocess
import sys

import numpy as np
import pytest

from conftest import ROOT, gnomon

WIDTHS = [8, 16, 24, 32]
HEAD = """
[study]
seeds = 2
budgets = [0.25, 0.5, 1]
arms = ["none", "rope", "alibi"]
baseline = "none"
[tune]
seeds = 0
given = [0.012, 0.011, 0.01, 0.013, 0.012, 0.011, 0.01, 0.009, 0.008]
[model]
layers = 1
heads = 2
length = 16
[train]
batch = 4
[evaluate]
lengths = [1]
score = 8
windows = 8
points = 2
"""


@pytest.fixture(scope="module")
def scaling(tmp_path_factory, text):
    folder = tmp_path_factory.mktemp("scaling")
    parts = "".join(f'[[part]]\nname = "w{w}"\n[part.model]\nwidth = {w}\n[part.train]\nsteps = {3 * w}\n' for w in WIDTHS)
    (folder / "plan.toml").write_text(HEAD + parts)
    command = ["study", folder / "plan.toml", "--text", text, "--out", folder / "out", "--quiet"]
    smaller = [word for w in WIDTHS[:-1] for word in ("--part", f"w{w}")]
    gnomon(*command, *smaller, check=0)
    before = json.loads((folder / "out" / "results.json").read_text())
    gnomon(*command, check=0)
    return folder / "out", command, before["scaling"], json.loads((folder / "out" / "results.json").read_text())


def law_of(points):
    """The least relative squares on a grid of exponents, finer than the program's; the other three numbers by active sets."""
    n, d, y = (np.array([p[key] if key != "loss" else np.mean(p["by_seed"]) for p in points]) for key in ("parameters", "tokens", "loss"))
    best = (math.inf, None)
    for a, b in itertools.product(np.geomspace(0.02, 2, 80), repeat=2):
        columns = np.stack([np.ones_like(n), n**-a, d**-b]).T / y[:, None]
        for chosen in ([0, 1, 2], [0, 1], [0, 2], [1, 2], [0], [1], [2]):
            c = np.linalg.lstsq(columns[:, chosen], np.ones_like(y), rcond=None)[0]
            if (c >= 0).all():
                squares = ((columns[:, chosen] @ c - 1) ** 2).sum()
                best = min(best, (squares, (a, b)), key=lambda found: found[0])
    return best[0]


def squares(law, points):
    loss = [law["E"] + law["A"] * p["parameters"] ** -law["a"] + law["B"] * p["tokens"] ** -law["b"] for p in points]
    return sum((found / np.mean(p["by_seed"]) - 1) ** 2 for found, p in zip(loss, points))


def test_laws_fit_as_well_as_a_finer_grid(scaling):
    for arm in scaling[3]["scaling"]["arms"]:
        assert len(arm["reached"]) == 12
        assert squares(arm["law"], arm["reached"]) <= 1.001 * law_of(arm["reached"]), arm["arm"]


def test_slopes_are_those_of_lines_by_seed(scaling):
    arms = {arm["arm"]: arm for arm in scaling[3]["scaling"]["arms"]}
    assert arms["none"]["slopes"] is None
    base = arms["none"]["reached"]
    for name in ("rope", "alibi"):
        by_compute, by_size = [], []
        for seed in range(2):
            y = np.array([p["by_seed"][seed] - b["by_seed"][seed] for p, b in zip(arms[name]["reached"], base)])
            n, d = (np.log10([b[key] for b in base]) for key in ("parameters", "tokens"))
            by_compute.append(np.polyfit(n + d, y, 1)[0])
            # One intercept for each number of tokens a parameter.
            groups = np.round((d - n) / math.log10(2))
            design = np.stack([n, *[(groups == g).astype(float) for g in np.unique(groups)]]).T
            by_size.append(np.linalg.lstsq(design, y, rcond=None)[0][0])
        for found, mine in ((arms[name]["slopes"]["compute"], by_compute), (arms[name]["slopes"]["size"], by_size)):
            assert found["mean"] == pytest.approx(np.mean(mine), abs=1e-9)
            assert found["half_width_95"] == pytest.approx(12.7062 * np.std(mine, ddof=1) / math.sqrt(2), rel=1e-4)


def test_what_is_foretold_does_not_know_what_is_found(scaling):
    _, _, before, after = scaling
    for old, new in zip(before["arms"], after["scaling"]["arms"]):
        for kind in ("losses_foretold", "differences_foretold"):
            assert [f["expected"] for f in old[kind]] == [f["expected"] for f in new[kind]]
            assert all(f["found"] is None and f["held"] is None for f in old[kind])
            for f in new[kind]:
                inside = abs(f["found"]["mean"] - f["expected"]["mean"]) <= f["expected"]["half_width_95"]
                assert f["held"] == inside
        assert len(new["losses_foretold"]) == 3 and len(new["differences_foretold"]) == (0 if new["arm"] == "none" else 3)
    foretold = sum(len(arm[kind]) for arm in after["scaling"]["arms"] for kind in ("losses_foretold", "differences_foretold"))
    assert foretold == 15


def test_the_page_and_the_terminal_tell(scaling):
    folder, command, _, after = scaling
    page = (folder / "report.html").read_text()
    held = sum(f["held"] for arm in after["scaling"]["arms"] for f in arm["losses_foretold"])
    sentence = f"The smaller sizes foretold 9 losses of w32, of which {held} came out inside"
    assert sentence in page
    assert sentence in " ".join(gnomon(*command, check=0).stdout.split())
    for heading in ("With size and training", "Differences to none", "How a difference changes", "Laws", "Foretold of w32"):
        assert heading in page


def test_a_part_is_one_of_the_study(scaling):
    done = gnomon(*scaling[1], "--part", "w9", check=2)
    assert 'found "w9", allowed are w8, w16, w24, w32' in done.stderr
    plans = json.loads(gnomon(*scaling[1], "--part", "w16", "--dry-run", "--json", check=0).stdout)
    assert "w16" in json.dumps(plans) and "w24" not in json.dumps(plans)


@pytest.fixture(scope="module")
def recomputed(scaling, tmp_path_factory):
    """From the archive alone, by scripts/recompute, which was written without the program."""
    folder = tmp_path_factory.mktemp("recomputed")
    (folder / "archive.json").write_text(gnomon("study", "archive", scaling[0], check=0).stdout)
    gnomon("study", "report", folder / "again", "--from", folder / "archive.json", check=0)
    return folder, json.loads((folder / "again" / "results.json").read_text())


def recompute(folder, results):
    (folder / "results.json").write_text(json.dumps(results))
    return subprocess.run([sys.executable, ROOT / "scripts" / "recompute", folder / "archive.json", folder / "results.json"],
                          capture_output=True, text=True)


def test_all_statistics_are_those_of_other_code(recomputed):
    done = recompute(*recomputed)
    assert done.returncode == 0, done.stdout + done.stderr
    for kind in ("loss, half width", "comparison by budget, p", "law, sum of squares", "slope with size, mean", "differences foretold, expected half width"):
        assert f"{kind}: " in done.stdout
    assert done.stdout.rstrip().endswith(", 0 wrong")


ARM = ("studies", 1, "results", "arms", 0)


@pytest.mark.parametrize("place, by", [((*ARM, "nats_per_byte", "half_width_95"), 1e-4), ((*ARM, "budgets", 0, "nats_per_byte"), 1e-4),
                                       (("scaling", "arms", 1, "slopes", "compute", "mean"), 1e-4), (("scaling", "arms", 0, "law", "E"), 0.05),
                                       (("scaling", "arms", 1, "losses_foretold", 0, "expected", "half_width_95"), 0.5)])
def test_that_code_notices_what_is_wrong(recomputed, place, by):
    folder, results = recomputed
    wrong = copy.deepcopy(results)
    *path, key = place
    at = wrong
    for step in path:
        at = at[step]
    at[key] += by
    done = recompute(folder, wrong)
    assert done.returncode == 1 and "WRONG" in done.stdout, done.stdout
