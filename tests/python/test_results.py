"""docs/results: archives of the studies that the pages tell of."""

import gzip
import json
import subprocess
import sys

import pytest

from conftest import GNOMON, ROOT, gnomon

ARCHIVES = sorted((ROOT / "docs" / "results").glob("*.json*"))
STUDIES = [path for path in ARCHIVES if path.name.endswith(".json.gz")]


def test_they_are_small():
    assert ARCHIVES and sum(path.stat().st_size for path in ARCHIVES) < 2e6


def test_each_is_of_a_study_or_of_the_claims():
    assert STUDIES and {path.name for path in ARCHIVES} - {path.name for path in STUDIES} == {"claims.json"}, "test_claims.py tests the run of the claims"
    for path in STUDIES:
        assert json.load(gzip.open(path))["studies"]


@pytest.mark.parametrize("path", STUDIES, ids=lambda path: path.name.split(".")[0])
def test_their_statistics_are_those_of_other_code(path, tmp_path):
    gnomon("study", "report", tmp_path / "again", "--from", path, check=0)
    done = subprocess.run([sys.executable, ROOT / "scripts" / "recompute", path, tmp_path / "again" / "results.json"], capture_output=True, text=True)
    assert done.returncode == 0 and done.stdout.rstrip().endswith(", 0 wrong"), done.stdout + done.stderr
    found = json.loads((tmp_path / "again" / "results.json").read_text())
    assert all(study["results"]["failed"] == 0 for study in found.get("studies", [{"results": found}]))


@pytest.mark.parametrize("key, wrong", [("mean_share", lambda share: share + 0.01), ("solved", lambda seeds: seeds + 1), ("share", lambda share: share | {"low": share["low"] + 0.001})])
def test_other_code_notices_wrong_answers_of_tasks(tmp_path, key, wrong):
    path = ROOT / "docs" / "results" / "length-generalisation.json.gz"
    gnomon("study", "report", tmp_path / "again", "--from", path, check=0)
    results = tmp_path / "again" / "results.json"
    found = json.loads(results.read_text())
    row = found["studies"][0]["results"]["arms"][0]["by_length"][0]
    row[key] = wrong(row[key])
    results.write_text(json.dumps(found))
    done = subprocess.run([sys.executable, ROOT / "scripts" / "recompute", path, results], capture_output=True, text=True)
    assert done.returncode == 1 and done.stdout.rstrip().endswith(", 1 wrong"), done.stdout


def test_the_findings_are_written_from_them():
    done = subprocess.run([sys.executable, ROOT / "scripts" / "findings", ROOT / "docs" / "results", GNOMON], capture_output=True, text=True, check=True)
    assert "has not been run in full" not in done.stdout
    assert done.stdout == (ROOT / "docs" / "findings.md").read_text()


def test_the_page_of_published_models_is_made_of_what_was_recorded():
    done = subprocess.run([sys.executable, ROOT / "scripts" / "published"], capture_output=True, text=True, check=True)
    assert done.stdout == (ROOT / "docs" / "published.md").read_text()
