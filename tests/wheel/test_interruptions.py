"""A study that is interrupted from Python ends, whoever was signalled, and goes on when it is run again."""

import os
import pathlib
import signal
import subprocess
import sys
import threading
import time

import pytest

import gnomon as gn

ROOT = pathlib.Path(__file__).parents[2]
SETTINGS = {"study.data": "copy", "model.layers": 1, "model.width": 24, "model.heads": 2, "train.steps": 200_000, "train.batch": 2,
            "study.budgets": "1", "tune.rates": "0.002, 0.004", "study.workers": 2}
CODE = f"""
import gnomon as gn
study = gn.study(settings={SETTINGS!r}, arms=["none", "rope"], seeds=1, out="s")
print("ready", flush=True)
try:
    study.run()
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""


def programs_of(session):
    """The processes of a session that run the program."""
    found = []
    for status in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            name, _, rest = status.read_text().partition("(")[2].rpartition(")")
        except OSError:
            continue
        if name.startswith("gnomon") and int(rest.split()[3]) == session:
            found.append(int(status.parent.name))
    return found


def wait_until(what, seconds=120):
    end = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.05)


@pytest.mark.skipif(not pathlib.Path("/proc").is_dir(), reason="needs /proc")
@pytest.mark.parametrize("number, whom", [(signal.SIGINT, "Python alone"), (signal.SIGINT, "its group"), (signal.SIGTERM, "Python alone"),
                                          (signal.SIGHUP, "its group")])
def test_an_interrupted_study_ends(tmp_path, number, whom):
    process = subprocess.Popen([sys.executable, "-c", CODE], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                               start_new_session=True)
    try:
        assert process.stdout.readline() == "ready\n"
        wait_until(lambda: len(programs_of(process.pid)) >= 2 and list((tmp_path / "s").rglob("*")))  # the study and a worker
        (os.kill if whom == "Python alone" else os.killpg)(process.pid, number)
        if number == signal.SIGINT:
            assert process.stdout.readline() == "interrupted\n"
        assert process.wait(60) == (0 if number == signal.SIGINT else -number)
        wait_until(lambda: not programs_of(process.pid), 60)
        assert not (tmp_path / "s" / "results.json").exists()
    finally:
        for left in [process.pid, *programs_of(process.pid)]:
            try:
                os.kill(left, signal.SIGKILL)
            except ProcessLookupError:
                pass
        process.wait()


def test_an_interrupted_inspection_ends_within_a_layer(monkeypatch, tmp_path):
    """The core asks the interpreter before every layer: the signal comes while no line of Python runs."""
    ids = tmp_path / "ids.txt"
    ids.write_text(" ".join(str(4 + n * n % 19) for n in range(400_000)))
    told = []

    def tell(sentence):
        told.append(sentence)
        threading.Thread(target=os.kill, args=(os.getpid(), signal.SIGINT)).start()

    monkeypatch.setattr(gn.models, "_tell", tell)
    with pytest.raises(KeyboardInterrupt):
        gn.inspect(ROOT / "tests/golden/opened/llama", ids=ids, window=64, windows=1000, longest=64, each_head=True)
        pytest.fail("it came to its end")
    assert told == ["heads"]


def test_what_fails_in_telling_is_raised(monkeypatch, tmp_path):
    ids = tmp_path / "ids.txt"
    ids.write_text(" ".join(str(4 + n * n % 19) for n in range(3000)))
    monkeypatch.setattr(gn.models, "_tell", lambda sentence: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        gn.inspect(ROOT / "tests/golden/opened/llama", ids=ids)


def test_a_program_that_does_not_end_is_ended(monkeypatch, tmp_path):
    """One that takes no notice of an interruption: the wait has a bound."""
    deaf = tmp_path / "deaf"
    deaf.write_text(f"#!{sys.executable}\nimport os, signal, sys, time\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\n"
                    "print('deaf', file=sys.stderr, flush=True)\nos.kill(os.getppid(), signal.SIGINT)\ntime.sleep(300)\n")
    deaf.chmod(0o755)
    monkeypatch.setattr(gn.program, "PATH", deaf)
    monkeypatch.setattr(gn.program, "PATIENCE", 0.5)
    begun = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        gn.program.run("anything", quiet=True)
    assert time.monotonic() - begun < 100


def test_a_program_of_many_words_is_heard_to_its_end(monkeypatch, tmp_path):
    """What it says after the interruption is read: else it would wait for its reader."""
    talks = tmp_path / "talks"
    talks.write_text(f"#!{sys.executable}\nimport os, signal, sys, threading\n"
                     "def end(*_):\n    sys.stderr.write('word ' * 200_000)\n    sys.exit(130)\n"
                     "signal.signal(signal.SIGINT, end)\nprint('talks', file=sys.stderr, flush=True)\n"
                     "os.kill(os.getppid(), signal.SIGINT)\nwhile True:\n    signal.pause()\n")
    talks.chmod(0o755)
    monkeypatch.setattr(gn.program, "PATH", talks)
    with pytest.raises(KeyboardInterrupt):
        gn.program.run("anything", quiet=True)
