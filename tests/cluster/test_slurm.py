"""Studies by job arrays of a real Slurm: nodes that die or cannot be reached, preemption, signals. Whatever happens, each run is
done once, and the study ends in the bits of one that a single machine did."""

import os
import sqlite3
import subprocess

import pytest

from cluster.conftest import exported, gnomon, logs, results, times_done
from cluster.slurm import wait_until


def submit(slurm, folder, *options, **environment):
    done = subprocess.run(["sh", folder / "submit.sh", *options], env=slurm.environment | environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def running_on(slurm, node):
    """The task there, when it has come so far that something would be lost."""
    return next((job for job in slurm.jobs() if job["JobState"] == "RUNNING" and job["NodeList"] == node), None)


def has_checkpoints(folder):
    return wait_until(lambda: list(folder.glob("runs/*/checkpoint.safetensors")), 60, "a checkpoint")


def check_all_is_there(folder, alone):
    assert results(folder) == alone
    runs = len(list(folder.glob("runs/*/result.json")))
    assert sqlite3.connect(folder / "study.sqlite").execute("SELECT count(*) FROM runs").fetchone()[0] == runs
    assert (folder / "report.html").exists() and "report: " in logs(folder)


def check_each_run_was_done_once(folder):
    done = times_done(folder)
    assert len(done) == len(list(folder.glob("runs/*/result.json")))
    assert set(done.values()) == {1}, done


def test_a_node_dies_in_the_middle(slurm, study, alone):
    submit(slurm, study)
    task = wait_until(lambda: running_on(slurm, "node2"), 60, "a task on node2")
    has_checkpoints(study)
    slurm.kill_node("node2")
    wait_until(lambda: slurm.state("node2") == "DOWN", 60, "node2 is down")
    wait_until(lambda: any(job["JobId"] == task["JobId"] and job["Restarts"] == "1" for job in slurm.jobs()), 60, "a requeued task")
    slurm.start_node("node2")
    slurm.wait_for_the_end(180)
    check_all_is_there(study, alone)
    check_each_run_was_done_once(study)
