"""One call of the system fails, the n-th, for every n that fits: the program ends with 0, 1 or 4, says what failed, and
the same command without the fault ends in the bits of a study that was never disturbed."""

import concurrent.futures
import itertools
import os
import shutil
import signal
import subprocess

import pytest

from conftest import GNOMON, gnomon, results, study_arguments
from torture.conftest import FULL

# Many small checkpoints, so that a run meets every file that it ever touches.
MANY_FILES = ["study.arms=sinusoidal, t5", "study.seeds=1", "train.steps=60", "study.checkpoint_seconds=0.005"]
TWO_THREADS = ["study.arms=sinusoidal", "study.seeds=1", "train.steps=10", "study.threads=2", "study.workers=1"]

# The first of each is what `make test` tries.
FILES = {"write": ["EIO", "ENOSPC", "EINTR", "partial", "ENOSPC:persistent", "partial:persistent"],
         "pwrite": ["EIO", "ENOSPC", "EINTR", "partial", "ENOSPC:persistent"],
         "fsync": ["EIO", "EINTR", "EIO:persistent"],
         "rename": ["EIO", "ENOSPC", "EROFS:persistent"],
         "open": ["EIO", "EINTR", "EMFILE", "EMFILE:persistent"],
         "read": ["EIO", "EINTR", "partial", "EIO:persistent", "partial:persistent"],
         "close": ["EIO", "EINTR", "ENOSPC", "EIO:persistent"],
         "unlink": ["EIO", "EACCES:persistent"],
         "mkdir": ["EIO", "ENOSPC", "ENOSPC:persistent"],
         "flock": ["EIO", "EINTR", "ENOLCK", "ENOLCK:persistent"]}
NEVER = {("pwrite", "worker"), ("mkdir", "worker")}  # the index is the study's; folders may be there already
MEMORY = ["ENOMEM", "ENOMEM:persistent", "ENOMEM:min=4096", "ENOMEM:min=65536", "ENOMEM:min=65536:persistent"]


def counts(dense, growth):
    """1, 2, … `dense`, then ever further apart."""
    n = 1
    while True:
        yield n
        n = max(n + 1, int(n * growth) if n >= dense else 0)


def run_with_fault(arguments, fault, shim, folder):
    """What a command under a fault returned and said, and the log of what was struck (empty: it made too few calls)."""
    log = folder / "struck"
    environment = os.environ | {"LD_PRELOAD": str(shim), "GNOMON_FAULT": fault, "GNOMON_FAULT_LOG": str(log)}
    process = subprocess.Popen([str(GNOMON), *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               text=True, env=environment, start_new_session=True, errors="replace")
    try:
        said = process.communicate(timeout=60)
        code = process.returncode
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        said, code = process.communicate(), "none: it hangs"
    return code, "".join(said), log.read_text() if log.exists() else ""


def names_what_failed(said, folder):
    resources = ["memory", "thread", "standard output", "SQLite", "pipe", "cannot start"]
    return any(word in said for word in [folder.name, "text.txt", *resources])


def complaint(code, said, folder, fault):
    """What is wrong with how a command ended; empty: nothing."""
    if code not in (0, 1, 4):
        return f"exit code {code}"
    # oneDNN and libgcc end the process where they get no memory themselves: that ends a worker, is told, and costs a run its
    # turn. Nothing else may.
    in_a_library = fault.startswith("malloc") and fault.endswith("in=worker") and code
    if "by signal" in said and not in_a_library or "bug in gnomon" in said or "with code 70" in said:
        return "a worker crashed"
    if code and not names_what_failed(said, folder):
        return "it does not say what failed"
    return ""


def strike(study, fault, shim, folder):
    """The study under this fault, then without it: was anything struck, and what went wrong (empty: nothing)."""
    folder.mkdir()
    arguments = study_arguments(study.text, folder / "out", *study.settings)
    code, said, struck = run_with_fault(arguments, fault, shim, folder)
    wrong = complaint(code, said, folder, fault)
    if struck or wrong:
        again = gnomon(*arguments)
        if again.returncode != 0:
            wrong += f"; the repeat ended with {again.returncode}: {again.stderr}"
        elif results(folder / "out") != study.bits:
            wrong += "; the repeat has other bits"
        if not fault.startswith("unlink"):  # who may not remove files leaves them
            wrong += "".join(f"; {path.name} is left" for path in (folder / "out").glob("**/*.partial"))
    shutil.rmtree(folder)
    return bool(struck), wrong and f"{fault}: {wrong}\n  struck: {struck.strip()}\n  said: {said.strip()}"


class Study:
    def __init__(self, text, folder, settings):
        self.text, self.settings = text, settings
        gnomon(*study_arguments(text, folder / "out", *settings), check=0)
        self.bits = results(folder / "out")


@pytest.fixture(scope="module")
def study(text, tmp_path_factory):
    return Study(text, tmp_path_factory.mktemp("undisturbed"), MANY_FILES)


@pytest.fixture(scope="module")
def threaded_study(text, tmp_path_factory):
    return Study(text, tmp_path_factory.mktemp("undisturbed"), TWO_THREADS)


def strike_each(study, faults, shim, in_memory):
    """Strikes with each fault, two side by side, until one comes too late to meet a call. Returns how many struck."""
    wrong, struck = [], 0
    folders = (in_memory / f"case{i}" for i in itertools.count())
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        while pair := list(itertools.islice(faults, 2)):
            done = list(pool.map(lambda case: strike(study, case[0], shim, case[1]), zip(pair, folders)))
            struck += sum(hit for hit, _ in done)
            wrong += [problem for _, problem in done if problem]
            if not all(hit for hit, _ in done):
                break
    assert not wrong, f"{len(wrong)} of {struck} faults:\n" + "\n".join(wrong)
    return struck


FILE_CASES = [(function, what, process) for function, whats in FILES.items() for what in (whats if FULL else whats[:1])
              for process in ("study", "worker") if (function, process) not in NEVER]


@pytest.mark.parametrize("function, what, process", FILE_CASES)
def test_a_file_fault_ends_in_words_and_the_repeat_in_the_same_bits(study, shim, in_memory, function, what, process):
    numbers = counts(20, 1.2) if FULL else [1, 3]
    struck = strike_each(study, (f"{function}:{n}:{what}:in={process}" for n in numbers), shim, in_memory)
    assert struck, f"no {function} was met in a {process}: this tests nothing"


@pytest.mark.parametrize("function", ["open", "read", "write", "fsync", "flock"])
def test_what_a_signal_interrupts_is_done_again(study, shim, in_memory, function):
    """Network file systems interrupt even open()."""
    for n, process in itertools.product((1, 2, 5), ("study", "worker")):
        folder = in_memory / f"{n}-{process}"
        folder.mkdir()
        arguments = study_arguments(study.text, folder / "out", *study.settings)
        code, said, struck = run_with_fault(arguments, f"{function}:{n}:EINTR:in={process}", shim, folder)
        assert code == 0 and (struck or n > 1), (n, process, code, said)
        assert results(folder / "out") == study.bits


@pytest.mark.parametrize("what", MEMORY if FULL else MEMORY[:1])
@pytest.mark.parametrize("process", ["study", "worker"])
def test_memory_runs_out(study, shim, in_memory, what, process):
    numbers = counts(6, 1.25) if FULL else [100, 3000]
    assert strike_each(study, (f"malloc:{n}:{what}:in={process}" for n in numbers), shim, in_memory)


@pytest.mark.parametrize("what", ["EAGAIN", "EAGAIN:persistent"])
def test_a_thread_cannot_be_made(threaded_study, shim, in_memory, what):
    numbers = counts(8, 1.3) if FULL else [1]
    assert strike_each(threaded_study, (f"pthread_create:{n}:{what}:in=worker" for n in numbers), shim, in_memory)


@pytest.mark.parametrize("what", ["EAGAIN", "EAGAIN:persistent"])
def test_claims_cannot_make_a_thread(text, shim, in_memory, what):
    for n in range(1, 4 if FULL else 3):
        folder = in_memory / str(n)
        folder.mkdir()
        arguments = ["claims", "000-06", "--text", text, "--out", folder / "claims", "--quick"]
        fault = f"pthread_create:{n}:{what}"
        code, said, struck = run_with_fault(arguments, fault, shim, folder)
        assert not complaint(code, said, folder, fault), (n, code, said)
        assert struck or n > 1
