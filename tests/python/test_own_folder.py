"""No test depends on what stands in the tree beside its files, such as what `make study` and `make claims` have left there."""

import os
import pathlib
import shutil
import subprocess
import sys

import pytest

from conftest import GNOMON, ROOT, gnomon, study_arguments

TESTS = ROOT / "tests"


def test_a_test_runs_in_a_folder_of_its_own(tmp_path):
    assert pathlib.Path.cwd() == tmp_path and not tmp_path.is_relative_to(ROOT)
    assert os.listdir() == []


@pytest.fixture(scope="module")
def where_modules_prepare():
    """What runs before a test has a folder."""
    return gnomon("study", check=2)


def test_a_fixture_runs_the_program_outside_the_tree_too(where_modules_prepare):
    assert "no text" in where_modules_prepare.stderr


@pytest.mark.parametrize("folder", sorted({path.parent.name for path in TESTS.glob("*/test_*.py")}))
def test_every_folder_of_tests_asks_for_that(folder):
    assert "own_folder" in (TESTS / folder / "conftest.py").read_text()


def planted(folder, text):
    """The tree's root as somebody has it who has run `make study` and `make claims`: each file of git's is a link to the tree's."""
    folder.mkdir()
    for path in ROOT.iterdir():
        if path.name not in ("study", "claims", "build", ".git", "tests"):
            (folder / path.name).symlink_to(path)
    shutil.copytree(TESTS, folder / "tests", ignore=shutil.ignore_patterns("golden", "corpus", "__pycache__"))
    (folder / "tests" / "golden").symlink_to(TESTS / "golden")
    gnomon(*study_arguments(text, folder / "study", "study.arms=none", "study.baseline=none", "study.seeds=1", "study.budgets=1", "tune.seeds=0"), check=0)
    for name in ("claims", "claims-quick"):
        gnomon("claims", "004-16", "--out", folder / name, check=0)
    return folder


def content(folder):
    return {path: path.read_bytes() for name in ("study", "claims", "claims-quick") for path in (folder / name).rglob("*") if path.is_file()}


def test_what_stands_in_the_root_changes_no_test_and_stays(text, tmp_path):
    """The tests whose commands would take a folder of the current one if none is named."""
    root = planted(tmp_path / "root", text)
    assert "continuing the study" in gnomon("study", cwd=root, check=0).stderr  # there such a command finds one
    before, names = content(root), set(os.listdir(root))
    done = subprocess.run([sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/python/test_commands.py", "tests/python/test_examples.py",
                           "-k", "wrong or help or suggested or readme"], cwd=root, env=os.environ | {"GNOMON": str(GNOMON), "PYTHONDONTWRITEBYTECODE": "1"},
                          capture_output=True, text=True, timeout=300)
    assert done.returncode == 0 and " passed" in done.stdout, done.stdout + done.stderr
    assert content(root) == before and set(os.listdir(root)) == names
