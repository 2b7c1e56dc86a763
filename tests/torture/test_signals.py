"""Signals at random moments, at the layers and the width that README's study has: what was done is kept, and the repeat ends in
the same bits.

`GNOMON_SIGNALS=200 pytest tests/torture/test_signals.py` runs that many; without it each kind once, 40 in `make torture`."""

import collections
import os
import pathlib
import random
import re
import signal
import subprocess
import time

import pytest

from conftest import GNOMON, gnomon, results
from torture.conftest import FULL

SETTINGS = ["study.arms=sinusoidal, t5", "study.seeds=1", "study.workers=2", "train.steps=120", "train.batch=8", "model.layers=2", "model.width=64",
            "model.heads=4", "evaluate.windows=8", "evaluate.points=4"]

# (signal, whom: the study alone, or with its workers, as Ctrl-C and a closing terminal do)
KINDS = [(signal.SIGINT, "group"), (signal.SIGTERM, "study"), (signal.SIGHUP, "group"), (signal.SIGTERM, "group"),
         (signal.SIGKILL, "study"), (signal.SIGINT, "study"), (signal.SIGHUP, "study"), (signal.SIGKILL, "group")]
COUNT = int(os.environ.get("GNOMON_SIGNALS", 40 if FULL else len(KINDS)))

Undisturbed = collections.namedtuple("Undisturbed", "bits seconds")


def command(text, out, checkpoint_seconds):
    settings = [*SETTINGS, f"study.checkpoint_seconds={checkpoint_seconds}"]
    return ["study", "--text", str(text), "--out", str(out), *(flag for s in settings for flag in ("--set", s))]


@pytest.fixture(scope="module")
def undisturbed(text, tmp_path_factory):
    out = tmp_path_factory.mktemp("undisturbed") / "out"
    begin = time.monotonic()
    gnomon(*command(text, out, checkpoint_seconds=1000), check=0)
    return Undisturbed(results(out), time.monotonic() - begin)


def disturb(arguments, number, whom, after):
    """Starts the study, sends the signal, and returns how it ended and what it said."""
    process = subprocess.Popen([str(GNOMON), *arguments], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                               start_new_session=True, preexec_fn=lambda: signal.signal(number, signal.SIG_DFL) if number != signal.SIGKILL else None)
    time.sleep(after)
    if process.poll() is None:
        (os.killpg if whom == "group" else os.kill)(process.pid, number)
    _, said = process.communicate(timeout=120)
    return process.returncode, said


def without_a_checkpoint(out):
    """Runs that began, did not finish, and kept nothing."""
    return [lock.parent.name for lock in out.glob("runs/*/lock")
            if not (lock.parent / "result.json").exists() and not list(lock.parent.glob("checkpoint*.safetensors"))]


def is_as_promised(number, code, out):
    """130 and the like; 0 when it had just finished; the signal itself before anything had begun; a kill is a kill."""
    if number == signal.SIGKILL:
        return code in (-number, 0)
    return code in (128 + number, 0) or (code == -number and not out.exists())


@pytest.mark.parametrize("case", range(COUNT))
def test_a_signal_at_a_random_moment(text, tmp_path, undisturbed, case):
    number, whom = KINDS[case % len(KINDS)]
    after = random.Random(case).uniform(0, undisturbed.seconds)
    out = tmp_path / "out"
    # A kill is survived by the checkpoints of before; any other signal has to write its own.
    arguments = command(text, out, checkpoint_seconds=0.3 if number == signal.SIGKILL else 1000)
    code, said = disturb(arguments, number, whom, after)
    what = f"{number.name} to the {whom} after {after:.3f} s of {undisturbed.seconds:.3f}: exit code {code}\n{said}"
    assert is_as_promised(number, code, out), what
    assert "by signal" not in said, what
    if number != signal.SIGKILL:
        assert not without_a_checkpoint(out), what
    gnomon(*arguments, check=0)
    assert results(out) == undisturbed.bits, what


def blocked_by_its_first_worker(study):
    """The signals that the first worker of this process blocks, read within microseconds of its birth."""
    while study.poll() is None:
        for word in pathlib.Path(f"/proc/{study.pid}/task/{study.pid}/children").read_text().split():
            child = pathlib.Path("/proc", word)
            if child.joinpath("cmdline").read_bytes().split(b"\0")[1:2] != [b"worker"]:
                continue  # not yet another program: there everything is blocked for a moment
            mask = int(re.search(r"SigBlk:\s+(\w+)", child.joinpath("status").read_text())[1], 16)
            return {number for number in signal.Signals if mask >> (number - 1) & 1}
    return set()


@pytest.mark.parametrize("case", range(3))
def test_a_worker_that_is_being_loaded_is_not_ended_by_the_signal_to_its_group(text, tmp_path, case):
    with subprocess.Popen([str(GNOMON), *command(text, tmp_path / "out", checkpoint_seconds=1000)], stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL) as study:
        blocked = blocked_by_its_first_worker(study)
        study.terminate()
    assert {signal.SIGINT, signal.SIGHUP, signal.SIGTERM} <= blocked


def test_what_this_suite_asks_can_fail(tmp_path):
    """A study that began and left nothing is noticed, and so is a code that is none of the promised."""
    (tmp_path / "runs" / "key").mkdir(parents=True)
    (tmp_path / "runs" / "key" / "lock").touch()
    assert without_a_checkpoint(tmp_path) == ["key"]
    assert not is_as_promised(signal.SIGTERM, 4, tmp_path)
    assert not is_as_promised(signal.SIGINT, -signal.SIGINT, tmp_path)
