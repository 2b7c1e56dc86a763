"""Studies by job arrays of a real Slurm: nodes that die or cannot be reached, preemption, signals. Whatever happens, each run is
done once, and the study ends in the bits of one that a single machine did."""

import pathlib
import re
import signal
import sqlite3
import subprocess

import pytest

from cluster.conftest import ROOT, exported, logs, results, times_done
from cluster.slurm import wait_until

ONE_LONG_RUN = ["study.arms=sinusoidal", "study.seeds=1", "study.budgets=1", "tune.seeds=0"]
GRANTS_ALL = "#include <sys/file.h>\nint flock(int fd, int how) { (void)fd, (void)how; return 0; }\n"


def submit(slurm, folder, *options, **environment):
    subprocess.run(["sh", folder / "submit.sh", *options], env=slurm.environment | environment, check=True, cwd="/")


def task_on(slurm, node, folder):
    """The task that runs there, when it has come so far that there is something to lose."""
    def found():
        return next((job for job in slurm.jobs() if job["JobState"] == "RUNNING" and job["NodeList"] == node), None)

    task = wait_until(found, 120, f"a task on {node}")
    wait_until(lambda: list(folder.glob("runs/*/checkpoint.safetensors")), 60, "a checkpoint")
    return task


def asked_to_stop(slurm, node, folder):
    """The task on this node that was told to end; one that had ended before makes room for the next."""
    while True:
        task = task_on(slurm, node, folder)
        words = ["scancel", "--signal=TERM", task["JobId"]]
        if not subprocess.run(words, env=slurm.environment, capture_output=True).returncode:
            return task


def restarts(slurm, task):
    return sum(int(job["Restarts"]) for job in slurm.jobs() if job["JobId"] == task["JobId"])


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
    task = task_on(slurm, "node2", study)
    slurm.kill_node("node2")
    wait_until(lambda: slurm.state("node2") == "DOWN", 60, "node2 is down")
    wait_until(lambda: restarts(slurm, task) == 1, 60, "its task is requeued")
    slurm.start_node("node2")
    slurm.wait_for_the_end(300)
    check_all_is_there(study, alone)
    check_each_run_was_done_once(study)


def test_preemption_and_signals(slurm, study, alone):
    """A job of higher priority takes one node, a task is asked to stop as before the end of its time; both go on later. What the
    user cancels stays so, until the study is submitted again."""
    submit(slurm, study)
    preempted = task_on(slurm, "node1", study)
    slurm.ask("srun", "--partition=urgent", "--nodelist=node1", "true")
    wait_until(lambda: restarts(slurm, preempted) == 1, 60, "the preempted task is requeued")
    stopped = asked_to_stop(slurm, "node2", study)
    wait_until(lambda: restarts(slurm, stopped) == 1, 60, "the task that was asked to stop is requeued")
    task_on(slurm, "node1", study)
    slurm.ask("scancel", "--name=gnomon")
    slurm.wait_for_the_end(60)
    assert len(list(study.glob("runs/*/result.json"))) < sum(map(len, alone["arms"]))
    submit(slurm, study)
    slurm.wait_for_the_end(300)
    check_all_is_there(study, alone)
    check_each_run_was_done_once(study)


def test_a_node_that_cannot_be_reached_goes_on_with_its_run(slurm, text, tmp_path):
    """The controller takes it for dead and requeues its task elsewhere, which finds the run taken and leaves it alone. The first
    task stands still meanwhile, or a fast machine would have finished its run before."""
    study = exported(text, tmp_path / "out", *ONE_LONG_RUN, "train.steps=80000")
    submit(slurm, study)
    node = task_on(slurm, "node1", study)["NodeList"]
    slurm.lose_contact(node)
    slurm.signal(node, signal.SIGSTOP)
    wait_until(lambda: "0 runs done" in logs(study), 120, "the requeued task has found nothing to do")
    assert not list(study.glob("runs/*/result.json"))
    slurm.signal(node, signal.SIGCONT)
    wait_until(lambda: list(study.glob("runs/*/result.json")), 120, "the first task has finished")
    slurm.start_node(node)
    slurm.wait_for_nodes()
    submit(slurm, study)  # the report came too early
    slurm.wait_for_the_end(120)
    assert len(results(study)["arms"][0]["runs"]) == 1


def test_without_locks_the_tests_see_runs_done_twice(slurm, text, tmp_path):
    """The control: a flock() that grants everything, as a file system whose locks hold on one node alone."""
    library = tmp_path / "grants_all.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-xc", "-", "-o", library], input=GRANTS_ALL, text=True, check=True)
    assert slurm_excludes(slurm, tmp_path)
    assert not slurm_excludes(slurm, tmp_path, LD_PRELOAD=str(library))
    study = exported(text, tmp_path / "out", *ONE_LONG_RUN, "study.seeds=2", "study.checkpoint_seconds=600")
    submit(slurm, study, LD_PRELOAD=str(library))
    slurm.wait_for_the_end(120)
    assert 2 in times_done(study).values()
    with pytest.raises(AssertionError):
        check_each_run_was_done_once(study)


def slurm_excludes(slurm, folder, **environment):
    """What docs/cluster.md has users try: two nodes want one lock, and one of them is refused."""
    line = re.search(r"^(srun .*flock .*)$", (ROOT / "docs" / "cluster.md").read_text(), re.MULTILINE).group(1)
    done = subprocess.run(["sh", "-c", line], env=slurm.environment | environment, cwd=folder, capture_output=True, text=True,
                          timeout=120)
    return done.returncode != 0
