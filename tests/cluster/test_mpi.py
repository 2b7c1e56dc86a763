"""One run on several ranks of MPI, all on this machine: the same bits on any number of them, also after a rank, a node or the
launcher was lost; whoever is left ends within 30 seconds and says that the run can go on. `make test-cluster` runs it.

A second node is another name of this machine (a UTS namespace), with a daemon of mpirun's of its own, which talks TCP to the
first; that takes the rights of root."""

import contextlib
import json
import os
import pathlib
import signal
import subprocess
import time

import pytest

ROOT = pathlib.Path(__file__).parents[2]
GNOMON = pathlib.Path(os.environ.get("GNOMON", ROOT / "build" / "cluster" / "gnomon"))
MPIRUN = ["mpirun", "--allow-run-as-root", "--oversubscribe"]
SETTINGS = ["model.layers=1", "model.width=32", "model.heads=2", "model.length=64", "train.batch=8", "train.shards=4",
            "study.checkpoint_seconds=0.1", "evaluate.score=8", "evaluate.windows=8", "evaluate.points=5"]
LONG = ["train.steps=1000"]
SECONDS = 30  # in which the others have to end


@pytest.fixture(scope="module")
def text(tmp_path_factory):
    words = ["the cat sat on the mat. ", "a dog ran far away. ", "rain fell all night; ", "we sang.\n"]
    path = tmp_path_factory.mktemp("text") / "text.txt"
    path.write_text("".join(words[i * i * 7 // 3 % 4] for i in range(3000)))
    return path


def command(text, out, *settings):
    flags = [flag for setting in (*SETTINGS, *settings) for flag in ("--set", setting)]
    return [str(GNOMON), "rank", "--text", str(text), "--out", str(out), "--arm", "rope", "--quiet", *flags]


@contextlib.contextmanager
def started(words):
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def run(words, code=0):
    with started(words) as process:
        out, errors = process.communicate(timeout=600)
        assert process.returncode == code, f"exit {process.returncode}\n{out}\n{errors}"
        return errors


def result(out):
    """What is fixed to the bit: everything but the cost."""
    content = json.loads((out / "result.json").read_text())
    del content["cost"], content["sha256"]
    return content


def ranks_of(out):
    """The processes of this run, by rank."""
    found = {}
    for folder in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            if (folder / "exe").resolve() != GNOMON.resolve() or str(out).encode() not in (folder / "cmdline").read_bytes().split(b"\0"):
                continue
            environment = dict(x.split(b"=", 1) for x in (folder / "environ").read_bytes().split(b"\0") if b"=" in x)
            found[int(environment[b"OMPI_COMM_WORLD_RANK"])] = int(folder.name)
        except (FileNotFoundError, PermissionError, ProcessLookupError, KeyError):
            pass  # it has ended, or is none of ours
    return found


def parent(pid):
    return int(pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


def wait_for(condition, seconds=60):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.02)


@pytest.fixture(scope="module")
def hold(tmp_path_factory):
    """A library that holds a training at its first checkpoint (hold.c)."""
    library = tmp_path_factory.mktemp("hold") / "hold.so"
    source = pathlib.Path(__file__).with_name("hold.c")
    subprocess.run(["cc", "-std=c11", "-O1", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", source, "-o", library], check=True)
    return library


def held(hold, out, words):
    """The same words, which wait in rank 0 at the first checkpoint."""
    return ["env", f"LD_PRELOAD={hold}", f"GNOMON_HOLD={out}", *words, "--set", "study.checkpoint_seconds=0.001"]


def interrupted(words, out, harm, goes_on=True):
    """Starts four ranks that are held at their first checkpoint, harms them (harm(mpirun's process, pids by rank)), lets them go on,
    and waits until all have ended. `goes_on` is not set where a rank has to hear of the harm first: its signal lets them go on, or
    they end as they are. mpirun's exit code (of an mpirun that was not told to go on without a rank), and what was told."""
    with started(words) as process:
        wait_for(lambda: pathlib.Path(f"{out}.held").exists())
        ranks = ranks_of(out)
        assert sorted(ranks) == [0, 1, 2, 3]
        begin = time.monotonic()
        harm(process, ranks)
        if goes_on:
            pathlib.Path(f"{out}.go").touch()
        wait_for(lambda: not ranks_of(out))
        seconds = time.monotonic() - begin
        try:
            _, errors = process.communicate(timeout=15)
        except subprocess.TimeoutExpired:  # after --enable-recovery Open MPI 4.1.4 may wait for a rank that is no more
            process.terminate()
            _, errors = process.communicate(timeout=15)
        assert seconds < SECONDS, f"the last rank ended after {seconds} s\n{errors}"
        assert not (out / "result.json").exists(), "the run went on to its end"
        return process.returncode, errors


@pytest.fixture(scope="module")
def alone(text, tmp_path_factory):
    """The result of one process, without mpirun."""
    out = tmp_path_factory.mktemp("alone") / "run"
    run(command(text, out, *LONG))
    return result(out)


@pytest.fixture(scope="module")
def two_nodes(tmp_path_factory):
    """Flags of mpirun for four ranks on two nodes."""
    if subprocess.run(["unshare", "--uts", "true"], capture_output=True).returncode:
        pytest.skip("a second name of this machine takes the rights of root")
    shell = tmp_path_factory.mktemp("nodes") / "shell"  # stands for ssh: HOST COMMAND
    shell.write_text('#!/bin/sh\nhost=$1; shift\nexec unshare --uts sh -c "hostname $host; $*"\n')
    shell.chmod(0o755)
    return ["--mca", "plm_rsh_agent", str(shell), "--host", "one:2,two:2"]


@pytest.mark.parametrize("ranks", [1, 2, 3, 4])
def test_any_number_of_ranks_has_the_same_bits(text, tmp_path, alone, ranks):
    run([*MPIRUN, "-n", str(ranks), *command(text, tmp_path / "run", *LONG)])
    assert result(tmp_path / "run") == alone


def test_two_nodes_have_the_same_bits(text, tmp_path, alone, two_nodes):
    run([*MPIRUN, *two_nodes, *command(text, tmp_path / "run", *LONG)])
    assert result(tmp_path / "run") == alone


def test_other_shards_have_other_bits(text, tmp_path, alone):
    """What the tests here compare can differ: the same batches, added up in another order."""
    for shards in (1, 2):
        run([*MPIRUN, "-n", str(shards), *command(text, tmp_path / str(shards), *LONG, f"train.shards={shards}")])
        other = result(tmp_path / str(shards))
        assert other["weights_sha256"] != alone["weights_sha256"]
        assert other["nats"] == pytest.approx(alone["nats"], abs=0.05)


@pytest.mark.parametrize("victim, then", [(2, 1), (0, 3)])
def test_a_killed_rank_ends_the_others_and_the_run_goes_on(text, tmp_path, alone, hold, victim, then):
    out = tmp_path / "run"
    words = command(text, out, *LONG)
    code, errors = interrupted([*MPIRUN, "-n", "4", *held(hold, out, words)], out, lambda _, ranks: os.kill(ranks[victim], signal.SIGKILL))
    assert code == 137 and f"process rank {victim}" in errors and "signal 9" in errors  # mpirun was first
    run([*MPIRUN, "-n", str(then), *words])
    assert result(out) == alone


def test_without_help_of_the_launcher_the_others_end_too(text, tmp_path, alone, hold, two_nodes):
    """mpirun is told to leave the others alone, and they talk TCP: each has to find out itself."""
    out = tmp_path / "run"
    words = command(text, out, *LONG)
    telling = tmp_path / "telling"
    telling.write_text('#!/bin/sh\n"$@"\necho "ended with $?" >&2\n')
    telling.chmod(0o755)
    _, errors = interrupted([*MPIRUN, *two_nodes, "--enable-recovery", str(telling), *held(hold, out, words)], out,
                            lambda _, ranks: os.kill(ranks[2], signal.SIGKILL))
    assert errors.count("rank 2 on two is lost: it was silent for 20 seconds") == 3
    assert errors.count("on any number of ranks: it continues from its checkpoint") == 3
    assert errors.count("ended with 75") == 3
    run([*MPIRUN, "-n", "2", *words])
    assert result(out) == alone


def test_a_frozen_rank_is_lost(text, tmp_path, alone, hold):
    out = tmp_path / "run"
    words = command(text, out, *LONG)
    code, errors = interrupted([*MPIRUN, "-n", "4", *held(hold, out, words)], out, lambda _, ranks: os.kill(ranks[1], signal.SIGSTOP))
    assert code == 75 and "rank 1 on " in errors and "is lost" in errors
    run([*MPIRUN, "-n", "4", *words])
    assert result(out) == alone


def test_a_lost_node_ends_the_others(text, tmp_path, alone, hold, two_nodes):
    out = tmp_path / "run"
    words = command(text, out, *LONG)
    code, errors = interrupted([*MPIRUN, *two_nodes, *held(hold, out, words)], out, lambda _, ranks: os.kill(parent(ranks[3]), signal.SIGKILL))
    assert code != 0 and "two" in errors and "lost communication" in errors
    run([*MPIRUN, "-n", "2", *words])
    assert result(out) == alone


def test_a_lost_launcher_ends_all(text, tmp_path, alone, hold):
    out = tmp_path / "run"
    words = command(text, out, *LONG)
    code, _ = interrupted([*MPIRUN, "-n", "4", *held(hold, out, words)], out, lambda mpirun, _: mpirun.kill(), goes_on=False)
    assert code == -signal.SIGKILL
    run([*MPIRUN, "-n", "2", *words])
    assert result(out) == alone


@pytest.mark.parametrize("whom", ["launcher", "rank"])
def test_a_signal_stops_all_at_the_same_step(text, tmp_path, alone, hold, whom):
    out = tmp_path / "run"
    words = command(text, out, *LONG)
    code, errors = interrupted([*MPIRUN, "-n", "4", *held(hold, out, words)], out, lambda mpirun, ranks: os.kill(
        mpirun.pid if whom == "launcher" else ranks[3], signal.SIGTERM), goes_on=False)
    assert code == (1 if whom == "launcher" else 143)  # mpirun says 1 when it was itself that was asked
    assert "stopped; the same command continues where it stopped, on any number of ranks" in errors
    run([*MPIRUN, "-n", "3", *words])
    assert result(out) == alone


def test_ranks_with_another_text_are_refused(text, tmp_path):
    other = tmp_path / "other.txt"
    other.write_text(text.read_text().replace("cat", "cow"))
    words = command("$text", tmp_path / "run")
    choose = f'[ $OMPI_COMM_WORLD_RANK = 1 ] && text={other} || text={text}; exec {" ".join(words)}'
    errors = run([*MPIRUN, "-n", "2", "sh", "-c", choose], code=2)
    assert "rank 1 has the run" in errors and "the same settings, text, program" in errors
    assert not (tmp_path / "run").exists()


def test_more_ranks_than_shards_are_refused(text, tmp_path):
    errors = run([*MPIRUN, "-n", "5", *command(text, tmp_path / "run")], code=2)
    assert "train.shards: found 4; 5 ranks need at least as many shards" in errors
