"""What a result may be trusted for: nothing is lost to a signal, taken for another's, overwritten by less, or computed by
half a team."""

import fcntl
import json
import os
import pathlib
import re
import resource
import signal
import sqlite3
import time

import pytest

from conftest import gnomon, results, start, study_arguments, wait_for

ARMS = ["study.arms=none, rope", "study.baseline=none", "study.seeds=1", "tune.seeds=0", "study.budgets=1"]
# Of this shape the products are what signals used to hit.
SHAPE = ["study", "--set", "model.layers=4", "--set", "model.width=128", "--set", "train.batch=4", "--set",
         "study.budgets=1", "--set", "tune.seeds=0", "--set", "study.arms=none, rope", "--set", "study.baseline=none", "--set", "study.seeds=1", "--set",
         "study.workers=2", "--set", "evaluate.windows=2", "--set", "evaluate.points=2"]


def weights(folder):
    return {run["arm"]: run["weights_sha256"] for arm in json.loads((folder / "results.json").read_text())["arms"] for run in arm["runs"]}


# --- Signals

@pytest.mark.parametrize("number, code", [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_a_signal_within_products_leaves_a_checkpoint_and_no_crash(text, tmp_path, number, code):
    out = tmp_path / "out"
    process = start(*SHAPE, "--text", text, "--out", out, "--set", "train.steps=100000", "--set", "study.checkpoint_seconds=1000",
                    preexec_fn=lambda: signal.signal(number, signal.SIG_DFL))  # whatever the tests were started under, such as nohup
    told = set()
    while len(told) < 2:  # both runs have told of a step
        line = process.stderr.readline()
        assert line, "it ended before the signal"
        told |= set(re.findall(r"(\w+), seed 1, .*: step [1-9]", line))
    process.send_signal(number)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == code
    assert "by signal" not in errors and "interrupted" in errors
    assert len(list(out.glob("runs/*/checkpoint.safetensors"))) == 2


def test_a_signal_ends_a_worker_in_the_middle_of_an_evaluation(text, tmp_path):
    out = tmp_path / "out"
    process = start(*SHAPE, "--text", text, "--out", out, "--set", "train.steps=1", "--set", "evaluate.windows=1000000")
    wait_for(lambda: len(list(out.glob("runs/*/lock"))) == 2)
    time.sleep(3)  # the evaluation would take an hour; a slow machine may train still, and ends as well
    process.send_signal(signal.SIGTERM)
    _, errors = process.communicate(timeout=30)
    assert process.returncode == 143 and "by signal" not in errors


def test_a_parent_that_ignores_its_children_changes_nothing(text, tmp_path):
    process = start(*study_arguments(text, tmp_path / "out", *ARMS, "train.steps=100000"),
                    preexec_fn=lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN))
    wait_for(lambda: list((tmp_path / "out").glob("runs/*/lock")))
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=60)
    assert process.returncode == 143


def waits_for(pid, number):
    """A thread of the process waits for the signal: the others block it."""
    blocked = re.search(r"^SigBlk:\s*(\w+)", pathlib.Path(f"/proc/{pid}/status").read_text(), re.M)[1]
    return int(blocked, 16) >> (number - 1) & 1


@pytest.mark.parametrize("arguments", [
    ["show", "sinusoidal", "--dim", 16384, "--heads", 128],
    ["study", "--dry-run", "--set", "study.arms=" + ", ".join(f"rope(theta={n})" for n in range(2, 600)), "--set", "study.baseline=rope(theta=2)"],
])
def test_what_only_computes_ends_at_once(text, tmp_path, arguments):
    if arguments[0] == "study":
        arguments = [*arguments, "--text", text]
    process = start(*arguments)
    wait_for(lambda: waits_for(process.pid, signal.SIGINT))
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    assert process.returncode == 130


def test_measuring_claims_ends_at_once(text, tmp_path):
    process = start("claims", "000", "001", "--quick", "--text", text, "--out", tmp_path / "out")
    wait_for(lambda: (tmp_path / "out" / "models").exists())
    first = process.stdout.readline()  # a verdict: measuring has begun
    assert first.startswith("000-01")
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    assert process.returncode == 130
    assert not (tmp_path / "out" / "claims.html").exists()


# --- Threads

@pytest.mark.parametrize("limit", [{"OMP_THREAD_LIMIT": "1"}, {"OMP_MAX_ACTIVE_LEVELS": "0"}])
def test_where_openmp_grants_one_thread_the_bits_are_those_of_one_thread(text, tmp_path, limit):
    gnomon(*study_arguments(text, tmp_path / "one", *ARMS, "study.threads=1"), check=0)
    gnomon(*study_arguments(text, tmp_path / "limited", *ARMS, "study.threads=2"), check=0, env=os.environ | limit)
    assert results(tmp_path / "limited") == results(tmp_path / "one")  # keys and all: one thread was really used


def test_where_openmp_may_grant_fewer_the_bits_are_those_of_all(text, tmp_path):
    arguments = [*ARMS, "study.threads=2", "model.width=64"]
    gnomon(*study_arguments(text, tmp_path / "two", *arguments), check=0)
    gnomon(*study_arguments(text, tmp_path / "dynamic", *arguments), check=0, env=os.environ | {"OMP_DYNAMIC": "true"})
    assert results(tmp_path / "dynamic") == results(tmp_path / "two")


def test_products_in_bfloat16_are_told_apart(text, tmp_path):
    """Other bits where the machine has such products; where not, the same, and it says so. Keys differ in both cases."""
    gnomon(*study_arguments(text, tmp_path / "usual", *ARMS), check=0)
    done = gnomon(*study_arguments(text, tmp_path / "bfloat16", *ARMS, "train.precision=bfloat16"), check=0)
    has = "has no products of such numbers" not in done.stderr
    assert has == any(flag == "avx512_bf16" for line in open("/proc/cpuinfo") if line.startswith("flags") for flag in line.split())
    usual, rounded = weights(tmp_path / "usual"), weights(tmp_path / "bfloat16")
    assert all((usual[arm] == rounded[arm]) != has for arm in usual)
    keys = [{path.name for path in (tmp_path / name / "runs").iterdir()} for name in ("usual", "bfloat16")]
    assert not keys[0] & keys[1]


def test_more_threads_than_the_system_makes_is_told(text, tmp_path):
    def limit():
        resource.setrlimit(resource.RLIMIT_AS, (6 << 30, 6 << 30))

    done = gnomon(*study_arguments(text, tmp_path / "out", *ARMS, "study.threads=1024"), check=4, preexec_fn=limit)
    assert "cannot run on 1024 threads" in done.stderr


# --- Keys

def test_results_of_another_instruction_set_are_done_again_and_it_is_said(text, tmp_path):
    out = tmp_path / "out"
    gnomon(*study_arguments(text, out, *ARMS), check=0, env=os.environ | {"DNNL_MAX_CPU_ISA": "SSE41"})
    before = {run["key"] for arm in json.loads((out / "results.json").read_text())["arms"] for run in arm["runs"]}
    done = gnomon(*study_arguments(text, out, *ARMS), check=0)
    assert "2 finished runs" in done.stderr and "sse41" in done.stderr and "repeats such runs" in done.stderr
    after = {run["key"] for arm in json.loads((out / "results.json").read_text())["arms"] for run in arm["runs"]}
    assert not before & after
    again = gnomon("study", "report", out, check=0)
    assert "2 finished runs" in again.stderr and "leaves such runs out" in again.stderr


def test_a_result_that_was_put_in_anothers_place_is_refused(text, tmp_path):
    out = tmp_path / "out"
    gnomon(*study_arguments(text, out, *ARMS), check=0)
    first, second = sorted(out.glob("runs/*/result.json"))
    second.write_bytes(first.read_bytes())
    done = gnomon(*study_arguments(text, out, *ARMS), check=3)
    assert str(second) in done.stderr and "remove the file to run it again" in done.stderr
    second.unlink()
    gnomon(*study_arguments(text, out, *ARMS), check=0)


# --- Folders

def test_a_report_is_replaced_by_one_that_has_its_runs_or_by_none(text, tmp_path):
    out = tmp_path / "out"
    gnomon(*study_arguments(text, out, *ARMS), check=0)
    report = (out / "report.html").read_bytes()
    for other in (["study.arms=none"], ["study.arms=none, t5"], ["train.learning_rate=0.002"]):
        done = gnomon(*study_arguments(text, out, *ARMS, *other), check=2)
        assert "--out" in done.stderr and "--replace" in done.stderr
        assert (out / "report.html").read_bytes() == report
    gnomon(*study_arguments(text, out, "study.arms=none, rope, t5", "study.baseline=t5", "study.seeds=2"), check=0)  # more
    gnomon(*study_arguments(text, out, *ARMS), "--replace", check=0)
    assert (out / "report.html").read_bytes() != report


def test_a_claim_that_trains_nothing_writes_nothing(tmp_path):
    done = gnomon("claims", "004-16", check=0, cwd=tmp_path)
    assert "7.485166" in done.stdout and "1 claim measured" in done.stdout
    assert list(tmp_path.iterdir()) == []


def test_a_page_of_claims_is_replaced_by_one_that_has_them_or_by_none(text, tmp_path):
    out = tmp_path / "out"
    gnomon("claims", "004-16", "004-15", "--out", out, check=0)
    page = (out / "claims.html").read_bytes()
    for other in (["004-16"], ["004-16", "004-15", "--quick"], ["004-16", "004-15", "--text", text]):
        done = gnomon("claims", *other, "--out", out, check=2)
        assert "--out" in done.stderr and "--replace" in done.stderr
        assert (out / "claims.html").read_bytes() == page
    gnomon("claims", "004-14", "004-15", "004-16", "--out", out, check=0)
    gnomon("claims", "004-16", "--out", out, "--replace", check=0)
    assert [c["id"] for c in json.loads((out / "claims.json").read_text())["claims"]] == ["004-16"]


def test_a_folder_of_claims_is_used_by_one_process(tmp_path):
    out = tmp_path / "out"
    out.mkdir()
    with open(out / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        done = gnomon("claims", "004-16", "--out", out, check=5)
    assert "in use by another process" in done.stderr


# --- The index

def index_of(out):
    return sqlite3.connect(out / "study.sqlite").execute("SELECT count(*), count(DISTINCT arm) FROM runs").fetchone()


@pytest.mark.parametrize("damage", [
    lambda path: path.write_text("x"),
    lambda path: path.unlink(),
    lambda path: sqlite3.connect(path).executescript("DROP TABLE curves; CREATE TABLE other (a); PRAGMA user_version = 7;"),
    lambda path: sqlite3.connect(path).executescript("DROP TABLE curves;"),
    lambda path: path.write_bytes(path.read_bytes()[:4096] + b"\x99" * 4096),
    lambda path: path.write_bytes(b""),
])
def test_whatever_happened_to_the_index_no_run_notices(text, tmp_path, damage):
    out = tmp_path / "out"
    gnomon(*study_arguments(text, out, *ARMS), check=0)
    before = results(out)
    damage(out / "study.sqlite")
    done = gnomon(*study_arguments(text, out, *ARMS), check=0)
    assert results(out) == before and "SQLite" not in done.stderr
    assert index_of(out) == (2, 2)


def test_an_index_that_another_program_locks_is_told_and_left(text, tmp_path):
    out = tmp_path / "out"
    gnomon(*study_arguments(text, out, *ARMS), check=0)
    other = sqlite3.connect(out / "study.sqlite", isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    done = gnomon(*study_arguments(text, out, "study.arms=none, rope, alibi", *ARMS[1:]), check=0)
    assert "is not up to date" in done.stderr and "alibi" in done.stdout
    other.execute("ROLLBACK")
    other.close()
    gnomon(*study_arguments(text, out, "study.arms=none, rope, alibi", *ARMS[1:]), check=0)
    assert index_of(out) == (3, 3)


# --- Memory

HUGE = ["model.width=16384", "model.heads=128", "model.layers=100", "study.arms=none, rope", "study.baseline=none"]


def test_more_memory_than_there_is_is_refused_with_the_numbers(text, tmp_path):
    done = gnomon(*study_arguments(text, tmp_path / "out", *HUGE), check=4)
    assert "not enough memory" in done.stderr and "TB" in done.stderr and "study.workers" in done.stderr
    assert not (tmp_path / "out").exists()


def test_the_plan_of_a_huge_study_costs_nothing(text, tmp_path):
    before = time.monotonic()
    done = gnomon(*study_arguments(text, tmp_path / "out", *HUGE), "--dry-run", check=0)
    assert "TB" in done.stdout and time.monotonic() - before < 20
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss  # of the largest child so far, in kB
    assert peak < 4_000_000


def test_a_limit_of_the_process_counts(text, tmp_path):
    def limit():
        resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30))

    arguments = study_arguments(text, tmp_path / "out", *ARMS, "model.width=1024", "model.heads=16", "model.layers=20")
    done = gnomon(*arguments, check=4, preexec_fn=limit)
    assert "ulimit -v" in done.stderr and "GB" in done.stderr


@pytest.mark.parametrize("settings", [[], ["model.width=24", "model.heads=2", "model.layers=1"], ["model.causal=false", "train.batch=16", "evaluate.lengths=1, 2"],
                                      ["model.block=llama", "train.batch=16"], ["model.block=bert", "train.batch=16"]])
def test_the_estimate_of_memory_is_right_within_a_fifth(text, tmp_path, settings):
    arms = "study.arms=none, rope, t5, shaw, deberta, fire, cope, pope, concat(sinusoidal)"
    if "model.causal=false" in settings or "model.block=bert" in settings:
        arms = arms.replace("cope, ", "")
    if "model.block=bert" in settings:  # its head is the word table, which concat makes narrower
        arms = arms.replace(", concat(sinusoidal)", "")
    arguments = ["study", "--quiet", "--text", text, "--out", tmp_path / "out"]
    for setting in (arms, "study.baseline=none", "study.seeds=1", "study.budgets=1", "tune.seeds=0", "model.layers=4", "model.width=128", "train.steps=2", "train.batch=4", "evaluate.points=1", "evaluate.windows=4", *settings):
        arguments += ["--set", setting]
    planned = {line.rsplit(None, 6)[0]: float(line.split()[-2]) for line in gnomon(*arguments, "--dry-run", check=0).stdout.splitlines() if line.endswith(" MB")}
    found = json.loads(gnomon(*arguments, "--json", check=0).stdout)["arms"]
    assert len(found) == len(planned) == len(arms.split(", "))
    for arm in found:
        ratio = planned[arm["arm"]] * 1e6 / arm["peak_memory_bytes"]
        assert 0.8 < ratio < 1.2, (arm["arm"], planned[arm["arm"]], arm["peak_memory_bytes"])


def test_a_folder_of_a_newer_version_stays_as_it_is(text, tmp_path):
    arguments = study_arguments(text, tmp_path / "out", "study.arms=none", "study.baseline=none", "study.seeds=1")
    gnomon(*arguments, check=0)
    toml = tmp_path / "out" / "study.toml"
    newer = toml.read_text().replace("[study]\n", "[study]\nmoon = 3\n", 1)
    toml.write_text(newer)
    done = gnomon(*arguments, check=2)
    for words in ("study.toml, line 2", "study.moon", "newer version", "--replace"):
        assert words in done.stderr, done.stderr
    assert toml.read_text() == newer
    gnomon(*arguments, "--replace", check=0)
    assert "moon" not in toml.read_text()
