"""What the tests of clusters share: the program and the small text of the other tests, a Slurm, a folder that its nodes see."""

import collections
import pathlib
import re
import subprocess
import sys
import tempfile

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "python"))
from conftest import ROOT, gnomon, own_folder, results, study_arguments, text  # noqa: E402, F401  `own_folder` and `text` are fixtures
from cluster.slurm import Slurm  # noqa: E402

# Runs of seconds, with frequent checkpoints, and two rates, of which the best is always at an edge.
SETTINGS = ["train.steps=40000", "study.checkpoint_seconds=0.1", "study.arms=sinusoidal, t5", "study.budgets=0.5, 1"]

# What a task tells of a run that it has finished: the arm, the seed, the steps, the rate.
FINISHED = re.compile(r"^gnomon: (.+, seed \d+, \d+ steps at rate \S+): ", re.MULTILINE)


@pytest.fixture(scope="session")
def slurm():
    with tempfile.TemporaryDirectory(prefix="gnomon-slurm-") as folder:
        cluster = Slurm(folder)
        try:
            cluster.wait_for_nodes()
            yield cluster
        finally:
            cluster.end()


@pytest.fixture(scope="session")
def alone(text, tmp_path_factory):
    """What the same study finds on one machine."""
    out = tmp_path_factory.mktemp("alone") / "out"
    gnomon(*study_arguments(text, out, *SETTINGS), "--quiet", check=0)
    return results(out)


@pytest.fixture
def study(text, tmp_path):
    """An exported study."""
    return exported(text, tmp_path / "it's a study")  # no shell may stumble over its name


def exported(text, out, *settings):
    kind, *options = study_arguments(text, out, *SETTINGS, *settings)
    gnomon(kind, "export", "--slurm", *options, check=0)
    return out


def logs(folder):
    return "".join(path.read_text() for path in sorted((folder / "slurm").glob("*.txt")))


def times_done(folder):
    """How often each run was done."""
    return collections.Counter(FINISHED.findall(logs(folder)))
