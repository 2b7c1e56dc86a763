"""A folder that somebody else made: whatever stands where a command writes, nothing outside it is changed or made, and nothing
waits. The names are those that the commands were seen to write."""

import os
import random
import shutil
import signal

import numpy
import pytest

from conftest import ROOT, gnomon, results, start, study_arguments, wait_for

ONE_RUN = ["study.arms=rope", "study.baseline=rope", "study.seeds=1", "study.budgets=1", "tune.seeds=0", "train.steps=20",
           "study.checkpoint_seconds=0.001"]
PRECIOUS = "precious\n"
TRAPS = {
    "a symbolic link": lambda place, outside: place.symlink_to(outside / "victim"),
    "a symbolic link to nothing": lambda place, outside: place.symlink_to(outside / "absent"),
    "a file with 2 names": lambda place, outside: os.link(outside / "victim", place),
    "a pipe (FIFO)": lambda place, outside: os.mkfifo(place),
}


def files_in(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


@pytest.fixture
def outside(tmp_path):
    folder = tmp_path / "outside"
    folder.mkdir()
    (folder / "victim").write_text(PRECIOUS)
    return folder


def sprung(command, folder, name, trap, outside):
    """The command, with a trap in its folder at this name. Returns how it ended; the trap is taken away again."""
    place = folder / name
    place.parent.mkdir(parents=True, exist_ok=True)
    place.unlink(missing_ok=True)
    TRAPS[trap](place, outside)
    done = gnomon(*command(folder), timeout=60)
    assert files_in(outside) == ["victim"] and (outside / "victim").read_text() == PRECIOUS, (name, trap)
    if place.is_symlink() or place.exists():
        place.unlink()
    return done


def check_traps(command, names, fresh, outside):
    """A link at each of these names, and at those of their temporary files; other traps at some. `fresh` makes a folder to write
    into, as it may have been made by somebody else. Returns the names of temporary files at which the command refused."""
    draw = random.Random(" ".join(names))
    refused = set()
    for trap in TRAPS:
        drawn = names if trap == "a symbolic link" else draw.sample(names, min(2, len(names)))
        for name in [place for n in drawn for place in (n, f"{n}.partial")]:
            done = sprung(command, fresh(), name, trap, outside)
            assert done.returncode in (0, 1, 2, 3, 4, 5), (name, trap, done)
            if done.returncode == 4 and name.endswith(".partial"):
                assert f"{name}: found {trap.removesuffix(' to nothing')}" in done.stdout + done.stderr, (trap, done)
                refused.add(name)
    return refused


def small_models(folder, random_ids):
    return ["inspect", ROOT / "tests/golden/opened/llama", "--ids", random_ids, "--window", 16, "--windows", 2, "--longest", 64,
            "--out", folder / "page.html"]


@pytest.fixture
def ids(tmp_path):
    path = tmp_path / "ids.txt"
    path.write_text(" ".join(map(str, numpy.random.default_rng(7).integers(0, 20, 4000))))
    return path


COMMANDS = {
    "explain": lambda folder: ["explain", ROOT / "docs/examples/gemma-3.json", "--out", folder / "page.html"],
    "show": lambda folder: ["show", "rope", "--dim", 16, "--out", folder / "page.html"],
    "claims": lambda folder: ["claims", "004-16", "--out", folder],
    "manual": lambda folder: ["manual", "--out", folder],
    "completion": lambda folder: ["completion", "--out", folder],
}


@pytest.mark.parametrize("kind", [*COMMANDS, "inspect", "export"])
def test_what_is_written_goes_through_no_link(kind, text, ids, tmp_path, outside):
    made = iter(range(1000))

    def fresh():
        folder = tmp_path / str(next(made))
        folder.mkdir()
        return folder

    def command(folder):
        if kind == "inspect":
            return small_models(folder, ids)
        if kind == "export":
            return ["study", "export", "--slurm", *study_arguments(text, folder, *ONE_RUN)[1:]]
        return COMMANDS[kind](folder)

    first = fresh()
    gnomon(*command(first), check=0)
    names = files_in(first)
    refused = check_traps(command, names, fresh, outside)
    assert refused == {f"{name}.partial" for name in names if name != "lock"}


def test_a_study_goes_through_no_link(text, tmp_path, outside):
    """Also where a checkpoint is written, and a run's result: at one trap the run fails, and without it the bits are the same."""
    finished, stopped = tmp_path / "finished", tmp_path / "stopped"
    gnomon(*study_arguments(text, finished, *ONE_RUN), check=0)
    process = start(*study_arguments(text, stopped, *ONE_RUN, "train.steps=100000"))
    wait_for(lambda: list(stopped.glob("runs/*/checkpoint*")))
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=60)
    (run,) = (path.name for path in (finished / "runs").iterdir())
    checkpoints = {path.name for path in stopped.glob("runs/*/checkpoint*")}
    names = files_in(finished) + [f"runs/{run}/{name}" for name in sorted(checkpoints)]
    assert len(checkpoints) >= 1 and {"report.html", "results.json", "results.csv", "study.toml", f"runs/{run}/result.json"} <= set(names)

    def fresh():
        """As somebody hands it on: without the results, which are then written again."""
        folder = tmp_path / "handed on"
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(finished, folder)
        shutil.rmtree(folder / "runs" / run)
        return folder

    refused = check_traps(lambda folder: study_arguments(text, folder, *ONE_RUN), names, fresh, outside)
    written = {"report.html", "results.json", "results.csv", "study.toml", f"runs/{run}/result.json", f"runs/{run}/model.safetensors"}
    assert refused >= {f"{name}.partial" for name in written}
    folder = fresh()
    sprung(lambda folder: study_arguments(text, folder, *ONE_RUN), folder, f"runs/{run}/result.json.partial", "a symbolic link", outside)
    gnomon(*study_arguments(text, folder, *ONE_RUN), check=0)
    assert results(folder) == results(finished)


@pytest.mark.parametrize("name", ["runs/{run}", "runs"])
def test_a_folder_of_runs_is_no_link(name, text, tmp_path, outside):
    folder = tmp_path / "study"
    gnomon(*study_arguments(text, folder, *ONE_RUN), check=0)
    (run,) = (path.name for path in (folder / "runs").iterdir())
    place = folder / name.format(run=run)
    shutil.rmtree(place)
    place.symlink_to(outside, target_is_directory=True)
    for command in (study_arguments(text, folder, *ONE_RUN), ["study", "work", folder]):
        done = gnomon(*command, timeout=60)
        assert done.returncode != 0 and "found a symbolic link" in done.stdout + done.stderr, done
    assert files_in(outside) == ["victim"] and (outside / "victim").read_text() == PRECIOUS
