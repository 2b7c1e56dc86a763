"""Studies for a cluster, without one: what is exported, what the script submits, and tasks that several processes play.
tests/cluster has a real Slurm."""

import os
import re
import subprocess

import pytest

from conftest import SMALL, gnomon, results, start, study_arguments

ARMS = ["study.arms=none, rope, t5", "study.baseline=none"]
# Stands in for sbatch: keeps its words and answers with a number, and with a cluster's name as it may.
SBATCH = '#!/bin/sh\nwc -l < calls > last 2>/dev/null || echo 0 > last\nfor word; do printf "%s\\t" "$word"; done >> calls\necho >> calls\necho "$((100 + $(cat last)));here"\n'


def export(text, out, *settings, check=0):
    kind, *options = study_arguments(text, out, *ARMS, *settings)
    return gnomon(kind, "export", "--slurm", *options, check=check)


def submitted(folder, bin_folder, *words, script=None, cwd="/", **more):
    """The calls of sbatch that submit.sh makes, as lists of words. `script`: its name, from the folder `cwd`; `more`: of the
    environment."""
    bin_folder.mkdir(exist_ok=True)
    (bin_folder / "sbatch").write_text(SBATCH)
    (bin_folder / "sbatch").chmod(0o755)
    (folder / "calls").write_text("")
    environment = os.environ | {"PATH": f"{bin_folder}:{os.environ['PATH']}"} | more
    subprocess.run(["sh", script or folder / "submit.sh", *words], env=environment, cwd=cwd, check=True, capture_output=True)
    return [line.split("\t")[:-1] for line in (folder / "calls").read_text().splitlines()]


def test_an_export_says_what_it_needs_and_how_to_submit_it(text, tmp_path):
    out = tmp_path / "it's"
    done = export(text, out, "study.threads=3")
    assert "runs: 6 for tuning, 12 after it" in done.stdout  # three arms, two rates; two seeds, two budgets
    quoted = str(out / "submit.sh").replace("'", "'\\''")
    assert f"submit with: sh '{quoted}'" in done.stdout
    script = (out / "study.sbatch").read_text()
    asked = dict(re.findall(r"^#SBATCH --([a-z-]+)=?(.*)$", script, re.MULTILINE))
    assert asked["cpus-per-task"] == "3" and "\nthreads=3\n" in script and '--cpus-per-task="$threads"' in script  # srun does not inherit it
    assert "requeue" in asked and asked["signal"] == "TERM@60" and asked["open-mode"] == "append"
    said = float(re.search(r"([\d.]+) MB of memory for each", done.stdout).group(1)) * 1e6 / 2**20
    assert said < int(asked["mem"].removesuffix("M")) < 1.5 * said
    assert (out / "study.toml").exists() and (out / "slurm").is_dir() and not (out / "runs").exists()
    subprocess.run(["sh", "-n", out / "study.sbatch"], check=True)


def test_a_script_submits_an_array_for_each_phase_in_order(text, tmp_path):
    out = tmp_path / "out"
    export(text, out, "study.seeds=800")  # 4,800 runs
    calls = submitted(out, tmp_path / "bin", "--partition=long jobs")
    assert all(f"--chdir={out}" in call and "--partition=long jobs" in call and "study.sbatch" in call for call in calls)
    tuning, following, report = calls[:1], calls[1:-1], calls[-1]
    arrays = [[word for word in call if word.startswith("--array")] for call in calls]
    assert arrays == [["--array=1-6"]] + 4 * [["--array=1-1000"]] + [["--array=1-800"], []]
    after = [[word for word in call if word.startswith("--dependency")] for call in calls]
    assert after == [[]] + 5 * [["--dependency=afterany:100"]] + [["--dependency=afterany:101:102:103:104:105"]]
    assert report[-1] == "report" and all(call[-1] == "study.sbatch" for call in tuning + following)
    export(text, tmp_path / "no tuning", "tune.seeds=0")
    calls = submitted(tmp_path / "no tuning", tmp_path / "bin")
    assert [[word for word in call if word.startswith("--dep") or word.startswith("--arr")] for call in calls] == \
        [["--array=1-12"], ["--dependency=afterany:100"]]


@pytest.mark.parametrize("name", ["mine", "-mine", "a study", "-"])
def test_a_script_submits_the_study_that_it_lies_in(text, tmp_path, name):
    """Whatever CDPATH leads to: there a folder of the same name holds another study."""
    own, other = tmp_path / "here" / name, tmp_path / "there" / name
    for folder in (own, other):
        export(text, folder)
    (other / "calls").write_text("")
    for searched in (tmp_path / "there", f"{tmp_path / 'nowhere'}:{tmp_path / 'there'}"):
        script = f"{name}/submit.sh" if not name.startswith("-") else f"./{name}/submit.sh"
        calls = submitted(own, tmp_path / "bin", script=script, cwd=own.parent, CDPATH=str(searched))
        assert calls and all(f"--chdir={own}" in call for call in calls)
        assert (other / "calls").read_text() == ""


def test_what_sbatch_refuses_ends_the_script(text, tmp_path):
    out = tmp_path / "out"
    export(text, out)
    submitted(out, tmp_path / "bin")
    (tmp_path / "bin" / "sbatch").write_text("#!/bin/sh\necho invalid partition >&2; exit 1\n")
    environment = os.environ | {"PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}"}
    for shell in ("sh", "bash"):
        done = subprocess.run([shell, out / "submit.sh"], env=environment, capture_output=True, text=True)
        assert done.returncode == 1 and done.stderr.count("invalid partition") == 1


def test_an_export_leaves_anothers_folder_alone(text, tmp_path):
    out = tmp_path / "out"
    small = [word for setting in (*SMALL, "study.arms=rope, t5", "study.baseline=t5") for word in ("--set", setting)]
    gnomon("study", "--text", text, "--out", out, *small, check=0)
    before = (out / "study.toml").read_bytes()
    done = export(text, out, "train.steps=50", check=2)
    assert "runs that this command does not have" in done.stderr and (out / "study.toml").read_bytes() == before
    assert not (out / "submit.sh").exists()
    more_memory = export(text, tmp_path / "large", "model.width=32768", "model.heads=256", check=4)
    assert "not enough memory" in more_memory.stderr
    assert "--slurm" in gnomon("study", "export", "--text", text, "--out", out, check=2).stderr


def test_tasks_that_processes_play_do_each_run_once(text, tmp_path):
    """As many as planned runs, four at a time, by the script's own words: each does one, and rates beyond the given ones come on
    top, whoever sees them. None waits, none is missing."""
    out, alone = tmp_path / "out", tmp_path / "alone"
    done = export(text, out)
    gnomon(*study_arguments(text, alone, *ARMS), check=0)
    said = []
    for tasks in re.search(r"runs: (\d+) for tuning, (\d+) after it", done.stdout).groups():
        running = []
        for _ in range(int(tasks)):
            while len(running) == 4:
                said.append(running.pop(0).communicate(timeout=120)[1])
            running.append(start("study", "work", "--task", out))
        said += [process.communicate(timeout=120)[1] for process in running]
    assert gnomon("study", "work", "--task", out, check=0).stderr == "gnomon: 0 runs done\n"
    gnomon("study", "report", out, check=0)
    assert results(out) == results(alone)
    told = [line for text in said for line in text.splitlines() if "nats per byte" in line]
    runs = len(list(out.glob("runs/*/result.json")))
    assert len(told) == len(set(told)) == runs > 18  # of two rates the best is at an edge
    assert all("0 runs done" not in text for text in said)


def test_a_task_does_not_wait_for_a_run_that_another_does(text, tmp_path):
    out = tmp_path / "out"
    settings = ["study.arms=none", "study.seeds=1", "study.budgets=1", "tune.seeds=0", "train.steps=100000"]
    export(text, out, *settings)
    other = start("study", "work", "--task", out)
    while not list(out.glob("runs/*/lock")):
        assert other.poll() is None
    assert "0 runs done" in gnomon("study", "work", "--task", out, check=0, timeout=30).stderr
    assert other.poll() is None
    other.kill()
    other.communicate()
    assert gnomon("study", "work", "--task", "--most", "1", out, check=2).stderr
