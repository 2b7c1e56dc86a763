"""Seconds that `gnomon lint` takes for a folder of models: copies of the published files in tests/golden/configs.

    python3 bench/lint_models.py [GNOMON] [MODELS]"""

import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
GNOMON = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "build/release/gnomon").absolute()
MODELS = int(sys.argv[2]) if len(sys.argv) > 2 else 500
REPEATS = 5


def main():
    published = sorted((ROOT / "tests/golden/configs").glob("*.json"))
    with tempfile.TemporaryDirectory() as folder:
        for n in range(MODELS):
            model = pathlib.Path(folder, f"model-{n:04}")
            model.mkdir()
            shutil.copy(published[n % len(published)], model / "config.json")
        seconds = []
        for _ in range(REPEATS):
            begin = time.monotonic()
            done = subprocess.run([GNOMON, "lint", folder], capture_output=True, text=True)
            seconds.append(time.monotonic() - begin)
            assert done.returncode in (0, 1) and f"{MODELS} files: " in done.stdout, done.stderr
    print(f"{MODELS} models: {statistics.median(seconds):.2f} s, the median of {REPEATS} runs ({min(seconds):.2f} to {max(seconds):.2f})")


if __name__ == "__main__":
    main()
