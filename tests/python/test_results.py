"""docs/results: archives of the studies that the pages tell of."""

import json
import subprocess
import sys

import pytest

from conftest import ROOT, gnomon

ARCHIVES = sorted((ROOT / "docs" / "results").glob("*.json"))
STUDIES = [path for path in ARCHIVES if "studies" in json.loads(path.read_text())]


def test_they_are_small():
    assert ARCHIVES and sum(path.stat().st_size for path in ARCHIVES) < 2e6


def test_each_is_of_a_study_or_of_the_claims():
    assert STUDIES and {path.stem for path in ARCHIVES} - {path.stem for path in STUDIES} == {"claims"}, "test_claims.py tests the run of the claims"


@pytest.mark.parametrize("path", STUDIES, ids=lambda path: path.stem)
def test_their_statistics_are_those_of_other_code(path, tmp_path):
    gnomon("study", "report", tmp_path / "again", "--from", path, check=0)
    done = subprocess.run([sys.executable, ROOT / "scripts" / "recompute", path, tmp_path / "again" / "results.json"], capture_output=True, text=True)
    assert done.returncode == 0 and done.stdout.rstrip().endswith(", 0 wrong"), done.stdout + done.stderr
    found = json.loads((tmp_path / "again" / "results.json").read_text())
    assert all(study["results"]["failed"] == 0 for study in found["studies"])


def test_the_page_of_published_models_is_made_of_what_was_recorded():
    done = subprocess.run([sys.executable, ROOT / "scripts" / "published"], capture_output=True, text=True, check=True)
    assert done.stdout == (ROOT / "docs" / "published.md").read_text()
