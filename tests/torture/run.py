"""Attacks that take minutes: fuzzing, ThreadSanitizer, faults of the system, signals. `make torture` runs them all on two
cores, `make fuzz MINUTES=10` the first alone for longer; not part of `make test`, which runs the short part of each.

    build/venv/bin/python tests/torture/run.py [fuzz] [threads] [faults] [signals] [--minutes M]
"""

import argparse
import concurrent.futures
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).parents[2]
BUILD = ROOT / "build"
FUZZ = ROOT / "tests" / "fuzz"

# target: (longest input, dictionary)
TARGETS = {"safetensors": (4096, "json"), "checkpoint": (24576, "json"), "result": (8192, "json"),
           "toml": (4096, None), "spec": (256, "spec"), "vocabulary": (4096, "json"), "lines": (4096, None), "tokens": (2048, None),
           "gguf": (4096, "gguf"), "weights": (4096, "json"), "tokenizer": (4096, "json"),
           "lint": (4096, "json")}

# What threads do: kernels on two, one model on two, runs that resume, several models at the same time, training
# under encodings that differ in where they act.
THREADED = {"training_test": "*/rope:*/t5:*/cope:*/fire:*/transformer_xl:*/fox:*/tupe:*/gate*", "kernels_test": "-*/SSE*:*/SCALAR*:*/EMU128*", "model_test": "*",
            "lab_test": "*", "side_by_side_test": "*"}
ARCHER = "/usr/lib/llvm-14/lib/libarcher.so"


def build(preset, *targets):
    for command in (["cmake", "--preset", preset, "-Wno-dev"],
                    ["cmake", "--build", "--preset", preset, *(["--target", *targets] if targets else [])]):
        done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if done.returncode:
            raise SystemExit(f"{' '.join(command)}\n{done.stdout}")


def side_by_side(work, items):
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        return list(pool.map(work, items))


# --- Fuzzing: each target for so many minutes, two at a time

def fuzz_one(target, minutes):
    longest, dictionary = TARGETS[target]
    found, learned = BUILD / "fuzz" / "found" / target, BUILD / "fuzz" / "learned" / target
    shutil.rmtree(found, ignore_errors=True)
    for folder in (found, learned):
        folder.mkdir(parents=True, exist_ok=True)
    options = [f"-max_total_time={round(60 * minutes)}", f"-max_len={longest}", "-timeout=10", "-rss_limit_mb=3000",
               f"-artifact_prefix={found}/", "-print_final_stats=1"]
    if dictionary:
        options.append(f"-dict={FUZZ / dictionary}.dict")
    environment = os.environ | {"OMP_NUM_THREADS": "1", "UBSAN_OPTIONS": "halt_on_error=1:print_stacktrace=1"}
    log = BUILD / "fuzz" / f"{target}.log"  # what libFuzzer learned is kept: the next session goes on from there
    with open(log, "w") as out:
        done = subprocess.run([BUILD / "fuzz" / "tests" / f"fuzz_{target}", *options, learned, FUZZ / "corpus" / target],
                              stdout=out, stderr=subprocess.STDOUT, env=environment)
    said = log.read_text(errors="replace")
    runs = re.search(r"stat::number_of_executed_units: +(\d+)", said)
    print(f"  {target:12} {runs.group(1) if runs else 'some':>9} inputs  {'nothing found' if done.returncode == 0 else 'FOUND'}", flush=True)
    if done.returncode:
        why = re.search(r"ERROR: .*|.*runtime error: .*|.*what\(\): .*", said)
        print(f"    {why.group(0) if why else 'see the log'}\n    {log}, {found}", flush=True)
    return done.returncode == 0


def fuzz(minutes):
    build("fuzz")
    return all(side_by_side(lambda target: fuzz_one(target, minutes), TARGETS))


# --- Races: the tests that matter under ThreadSanitizer, which archer tells of OpenMP

def threads(_):
    build("tsan", "race", *THREADED)
    environment = os.environ | {"OMP_TOOL_LIBRARIES": ARCHER, "OMP_NUM_THREADS": "2",
                                "TSAN_OPTIONS": "ignore_noninstrumented_modules=1:halt_on_error=1"}

    def run(name, *arguments):
        return subprocess.run([BUILD / "tsan" / "tests" / name, *arguments], env=environment, capture_output=True, text=True)

    def is_seen(how):
        return "data race" in run("race", how).stderr

    held = is_seen("racing") and not is_seen("waiting")
    print(f"  a control race is {'seen, its mended twin is not' if held else 'NOT told from its mended twin'}", flush=True)

    def test(item):
        done = run(item[0], "--gtest_brief=1", f"--gtest_filter={item[1]}")
        fine = done.returncode == 0 and "] 0 tests" not in done.stdout  # a filter that meets nothing tests nothing
        print(f"  {item[0]:18} {'no race' if fine else 'FAILED'}", flush=True)
        if not fine:
            print(done.stdout[-2000:] + done.stderr[:6000], flush=True)
        return fine

    return all(side_by_side(test, THREADED.items())) and held


# --- Faults and signals: pytest, all of it

def pytest(file):
    build("dev", "gnomon_cli")
    done = subprocess.run([sys.executable, "-m", "pytest", "-q", "--tb=short", "--durations=3", f"tests/torture/{file}"], cwd=ROOT,
                          env=os.environ | {"GNOMON_TORTURE": "full"})
    return done.returncode == 0


STAGES = {"fuzz": fuzz, "threads": threads, "faults": lambda _: pytest("test_faults.py"),
          "signals": lambda _: pytest("test_signals.py")}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("stages", nargs="*", metavar="STAGE", help=", ".join(STAGES))
    parser.add_argument("--minutes", type=float, default=1, help="of each fuzz target")
    options = parser.parse_args()
    if unknown := set(options.stages) - set(STAGES):
        parser.error(f"unknown: {', '.join(unknown)}; there are {', '.join(STAGES)}")
    lines = []
    for name in options.stages or STAGES:
        print(f"{name}:", flush=True)
        begin = time.monotonic()
        held = STAGES[name](options.minutes)
        lines.append((name, held, (time.monotonic() - begin) / 60))
    print()
    for name, held, minutes in lines:
        print(f"{name:8} {minutes:5.1f} min  {'held' if held else 'FAILED'}")
    print(f"{sum(held for _, held, _ in lines)} of {len(lines)} attacks held, {sum(m for *_, m in lines):.1f} minutes")
    return 0 if all(held for _, held, _ in lines) else 1


if __name__ == "__main__":
    sys.exit(main())
