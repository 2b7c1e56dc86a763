"""Nothing is lost: signals, kills at random moments, full disks, damaged files, other processes."""

import collections
import itertools
import os
import random
import re
import resource
import signal
import subprocess
import time

import pytest

from conftest import GNOMON, gnomon, results, start, study_arguments, wait_for

# Long enough to be interrupted, with frequent checkpoints.
LONGER = ["train.steps=4000", "study.checkpoint_seconds=0.05", "study.arms=sinusoidal, learned, t5"]


Alone = collections.namedtuple("Alone", "results seconds")


@pytest.fixture(scope="module")
def left_alone(text, tmp_path_factory):
    out = tmp_path_factory.mktemp("alone") / "out"
    start_time = time.monotonic()
    gnomon(*study_arguments(text, out, *LONGER), check=0)
    seconds = time.monotonic() - start_time
    return Alone(results(out), seconds)


def test_ten_kills_at_random_moments_end_in_the_same_bits(text, tmp_path, left_alone):
    generator = random.Random(5)
    folders = (tmp_path / str(n) for n in itertools.count())
    out, kills = next(folders), 0
    while kills < 10:
        process = start(*study_arguments(text, out, *LONGER), start_new_session=True)
        time.sleep(generator.uniform(0, left_alone.seconds / 12))
        killed = process.poll() is None
        process.kill()  # SIGKILL to the study; its workers go with it
        process.communicate()
        kills += killed
        if not killed:  # it ends sooner than the other did: a new one
            assert results(out) == left_alone.results
            out = next(folders)
    gnomon(*study_arguments(text, out, *LONGER), check=0)
    assert results(out) == left_alone.results


@pytest.mark.parametrize("number, code", [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_leaves_checkpoints_and_the_study_continues(text, tmp_path, left_alone, number, code):
    out = tmp_path / "out"
    arguments = study_arguments(text, out, *LONGER, "study.checkpoint_seconds=1000")
    for attempt in range(8):  # runs take half a second each: one of the signals meets one in the middle
        process = start(*arguments)
        wait_for(lambda: list(out.glob("runs/*/lock")))
        time.sleep(0.1 * (attempt + 1))
        process.send_signal(number)
        _, errors = process.communicate(timeout=60)
        assert process.returncode == code
        assert "interrupted" in errors
        if list(out.glob("runs/*/checkpoint.safetensors")):
            break
    assert list(out.glob("runs/*/checkpoint.safetensors"))
    gnomon(*arguments, check=0)
    assert results(out) == left_alone.results


def test_a_second_signal_stops_at_once(text, tmp_path):
    out = tmp_path / "out"
    process = start(*study_arguments(text, out, *LONGER, "train.steps=100000"))
    wait_for(lambda: list(out.glob("runs/*/lock")))
    process.send_signal(signal.SIGINT)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=20)
    assert process.returncode == 130


def test_a_second_process_is_told_that_the_study_is_in_use(text, tmp_path):
    out = tmp_path / "out"
    arguments = study_arguments(text, out, *LONGER, "train.steps=100000")
    process = start(*arguments)
    wait_for(lambda: (out / "study.sqlite").exists())
    done = gnomon(*arguments, check=5)
    assert "in use by another process" in done.stderr
    process.kill()
    process.communicate()


def test_kill_in_the_middle_of_a_checkpoint(text, tmp_path, left_alone):
    """A half-written temporary file and a damaged checkpoint are what such a kill can leave."""
    out = tmp_path / "out"
    arguments = study_arguments(text, out, *LONGER)
    process = start(*arguments)
    wait_for(lambda: list(out.glob("runs/*/checkpoint.previous.safetensors")))
    process.kill()
    process.communicate()
    folder = next(out.glob("runs/*/checkpoint.previous.safetensors")).parent
    newest = folder / "checkpoint.safetensors"
    (folder / "checkpoint.safetensors.partial").write_bytes(b"half a checkp")
    if newest.exists():
        content = bytearray(newest.read_bytes())
        content[len(content) // 2] ^= 4
        newest.write_bytes(content)
    done = gnomon(*arguments, check=0)
    assert "damaged checkpoint skipped" in done.stderr or not newest.exists()
    assert results(out) == left_alone.results


def test_a_truncated_checkpoint_is_told_and_passed_over(text, tmp_path, left_alone):
    out = tmp_path / "out"
    arguments = study_arguments(text, out, *LONGER)
    process = start(*arguments)
    wait_for(lambda: list(out.glob("runs/*/checkpoint.safetensors")))
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=60)
    for path in out.glob("runs/*/checkpoint*.safetensors"):
        path.write_bytes(path.read_bytes()[:-7])
    done = gnomon(*arguments, check=0)
    assert "truncated" in done.stderr and "checkpoint" in done.stderr
    assert results(out) == left_alone.results


def test_a_full_disk_ends_with_4_and_the_study_continues(text, tmp_path, left_alone):
    out = tmp_path / "out"
    arguments = study_arguments(text, out, *LONGER)

    def limit():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (30_000, 30_000))  # less than a checkpoint, more than study.toml

    done = gnomon(*arguments, check=4, preexec_fn=limit)
    assert "cannot write" in done.stderr or "SQLite" in done.stderr
    gnomon(*arguments, check=0)
    assert results(out) == left_alone.results


def test_a_read_only_folder_is_refused(text, tmp_path):
    out = tmp_path / "out"
    out.mkdir()
    out.chmod(0o555)
    # Root may write everywhere; without this capability it is bound by the mode like everybody.
    bound = ["setpriv", "--bounding-set", "-dac_override", "--inh-caps", "-dac_override"] if os.getuid() == 0 else []
    done = subprocess.run([*bound, str(GNOMON), *study_arguments(text, out)], capture_output=True, text=True)
    assert done.returncode == 4, done.stderr
    assert "lock" in done.stderr and "ermission denied" in done.stderr


def test_a_run_that_diverges_is_shown_and_the_study_goes_on(text, tmp_path):
    out = tmp_path / "out"
    settings = ["tune.seeds=0", "study.budgets=1", "train.learning_rate=1000", "train.weight_decay=100", "train.warmup=0", "study.arms=none, sinusoidal"]
    done = gnomon(*study_arguments(text, out, *settings), check=1)
    assert "not finite at step" in done.stderr and "not finite at step" in done.stdout
    report = (out / "report.html").read_text()
    assert "Runs that failed" in report and re.search(r"none, seed 2, .*?: the loss was not finite", report)
    again = gnomon(*study_arguments(text, out, *settings), check=1)  # shown, not repeated
    assert "already finished: 4 of 4 runs" in again.stderr


def test_a_worker_that_crashes_leaves_its_run_for_another_time(text, tmp_path, left_alone):
    out = tmp_path / "out"
    arguments = study_arguments(text, out, *LONGER)
    process = start(*arguments)
    wait_for(lambda: list(out.glob("runs/*/checkpoint.safetensors")))
    workers = subprocess.run(["pgrep", "-P", str(process.pid)], capture_output=True, text=True).stdout.split()
    os.kill(int(workers[0]), signal.SIGSEGV)
    _, errors = process.communicate(timeout=120)
    assert process.returncode == 1
    assert "by signal 11" in errors
    gnomon(*arguments, check=0)
    assert results(out) == left_alone.results
