"""Numbers of claims about trained models, recomputed from the saved weights by tests/golden/trained_claims.py."""

import json
import subprocess
import sys

from conftest import ROOT


def recomputed(models, text, windows):
    flags = [flag for name, count in windows.items() for flag in (f"--windows.{name}", str(count))]
    done = subprocess.run([sys.executable, ROOT / "tests" / "golden" / "trained_claims.py", *models, text, *flags],
                          capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def test_numbers_of_trained_weights(quick, bible):
    out, found, _ = quick
    numbers = {f"{c['id']}|{n['key']}": n["value"] for c in found["claims"] for n in c["numbers"]}
    runs = [(json.loads(path.read_text()), path.parent) for path in (out / "models").glob("*/result.json")]
    models = [folder / "model.safetensors" for run, folder in runs
              if run["arm"] == "sinusoidal" and run["nats"] == numbers["002-09|loss.1"]]
    assert models  # one, or the same once more with snapshots
    again = recomputed(models, bible, {"shares": 16, "cross": 16})
    controls = again.pop("controls")
    assert len(again) >= 14
    for key, values in again.items():
        # Shares are of one whole: what float32 rounds of it is as large in a small share as in a large one.
        assert all(abs(numbers[key] - value) < (1e-8 if "|share." in key else 1e-6 * abs(value)) for value in values), key
    for key, values in controls.items():
        assert all(abs(numbers[key] - wrong) > 1e-3 * abs(wrong) for wrong in values), f"{key}: the control agrees"
