"""The numbers of docs/cluster.md: what a task costs beside its run, how long a study takes on so many nodes of a real Slurm, and what
a model says of more nodes. From the root: build/venv/bin/python tests/cluster/measure.py overhead | scaling | model"""

import heapq
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

sys.path[:0] = [str(pathlib.Path(__file__).parents[1] / "python"), str(pathlib.Path(__file__).parents[1])]
from cluster.slurm import Slurm  # noqa: E402
from conftest import GNOMON, SMALL  # noqa: E402

TIMES = 5  # each measurement is repeated


def shown(seconds, unit="s"):
    scale = 1000 if unit == "ms" else 1
    low, middle, high = min(seconds) * scale, statistics.median(seconds) * scale, max(seconds) * scale
    return f"{middle:.4g} [{low:.4g}, {high:.4g}] {unit}"


def timed(*command):
    start = time.perf_counter()
    subprocess.run([str(word) for word in command], check=True, capture_output=True)
    return time.perf_counter() - start


def export(folder, *settings):
    text = folder / "text.txt"
    text.write_text("the cat sat on the mat. a dog ran far away; we sang.\n" * 2000)
    flags = [flag for setting in (*SMALL, *settings) for flag in ("--set", setting)]
    subprocess.run([GNOMON, "study", "export", "--slurm", "--text", text, "--out", folder / "out", *flags], check=True, capture_output=True)
    return folder / "out"


def overhead(folder):
    """A task that finds all of so many runs finished; their results are as large as those of the default study."""
    print("start of a process that does nothing (gnomon --version):", shown([timed(GNOMON, "--version") for _ in range(TIMES)], "ms"))
    for runs in (10, 100, 1000):
        here = folder / str(runs)
        here.mkdir()
        out = export(here, "train.steps=1", "model.length=128", "model.width=16", "evaluate.windows=64", "evaluate.lengths=1, 1.5, 2, 4",
                     "study.arms=none, sinusoidal", f"study.seeds={runs // 2}", "study.budgets=1", "tune.seeds=0")
        timed(GNOMON, "study", "work", out)
        sizes = [path.stat().st_size for path in out.glob("runs/*/result.json")]
        task = [timed(GNOMON, "study", "work", "--task", out) for _ in range(TIMES)]
        report = [timed(GNOMON, "study", "report", out) for _ in range(TIMES)]
        print(f"{len(sizes)} runs finished, results of {statistics.mean(sizes) / 1000:.1f} kB: a task that finds nothing to do",
              shown(task, "ms"), "the report", shown(report, "ms"), flush=True)


STEPS = 4000
ARMS, RATES, SEEDS, BUDGETS = 4, 3, 2, (0.25, 1)


def scaling(folder):
    """From submit.sh to the end of the report."""
    for nodes in (1, 2, 4):
        seconds = []
        for n in range(TIMES):
            with tempfile.TemporaryDirectory(dir=folder) as here:
                here = pathlib.Path(here)
                cluster_folder = here / "slurm"
                cluster_folder.mkdir()
                here.chmod(0o755)
                slurm = Slurm(cluster_folder, nodes)
                try:
                    out = export(here, f"train.steps={STEPS}", "study.arms=none, sinusoidal, rope, t5", f"study.seeds={SEEDS}",
                                 "study.budgets=0.25, 1", "tune.rates=0.001, 0.002, 0.004", "tune.budgets=0.25")
                    start = time.perf_counter()
                    subprocess.run(["sh", out / "submit.sh"], env=slurm.environment, check=True, capture_output=True)
                    slurm.wait_for_the_end(1200)
                    seconds.append(time.perf_counter() - start)
                    runs = len(list(out.glob("runs/*/result.json")))
                finally:
                    slurm.end()
        print(f"{nodes} nodes, {runs} runs: {shown(seconds)}; load {os.getloadavg()[0]:.1f}", flush=True)


def model(nodes, arms=9, rates=3, seeds=3, budgets=(0.0625, 0.25, 1), share=0.25, extended=0, overhead=0.0):
    """(time, efficiency) of a study on so many nodes, in units of one run of the largest budget: tasks start in order, each on the
    first free node; an arm in `extended` needs one rate more, done by the task that saw it."""
    def done(tasks):
        free = [0.0] * nodes
        for task in tasks:
            heapq.heapreplace(free, free[0] + task + overhead)
        return max(free)

    tuning = [share] * (arms * rates - extended) + [2 * share] * extended
    following = [budget for _ in range(seeds) for budget in sorted(budgets, reverse=True) for _ in range(arms)]
    total = done(tuning) + done(following) + overhead
    return total, (sum(tuning) + sum(following)) / (nodes * total)


def show_model(_):
    for name, study in {"default (9 arms, 3 rates, 3 seeds, 3 budgets)": {}, "30 arms, 10 seeds": {"arms": 30, "seeds": 10}}.items():
        for overhead_ in (0, 0.01):
            print(f"{name}, a third of the arms extended, overhead of a task {overhead_} of a run")
            for nodes in (1, 2, 4, 8, 16, 32, 64, 128, 256, 1024):
                arms = study.get("arms", 9)
                total, efficiency = model(nodes, extended=arms // 3, overhead=overhead_, **study)
                print(f"  {nodes:5} nodes: {total:7.2f} runs' time, efficiency {efficiency:.0%}")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="gnomon-measure-") as where:
        {"overhead": overhead, "scaling": scaling, "model": show_model}[sys.argv[1]](pathlib.Path(where))
