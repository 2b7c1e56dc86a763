"""`gnomon bench`: what it lists, times and writes. How fast anything is belongs to no test."""

import json
import subprocess
import sys

from conftest import ROOT, gnomon

KEYS = {"name", "what", "value", "unit", "limit", "limited_by", "share", "low", "high", "n", "threads"}


def test_its_list_names_every_group():
    names = [line.split()[0] for line in gnomon("bench", "--list", check=0).stdout.splitlines()[1:] if line[0] != " "]
    assert len(names) == len(set(names)) > 60
    for name in ("step.a.fp32", "step.d64.fp32", "attend.t512", "attend.t512.alibi", "attend.t4096", "rotary.halves.512mb", "decode.16k"):
        assert name in names


def test_a_case_is_timed_beside_its_limit():
    timed = json.loads(gnomon("bench", "attend.t128.d32", "step.d64.fp32", "--rounds", 3, "--threads", 1, "--json", "--quiet", check=0).stdout)
    assert [t["name"] for t in timed] == ["step.d64.fp32", "attend.t128.d32", "attend.t128.d32.alibi"]
    for t in timed:
        assert set(t) == KEYS and t["n"] == 3 and t["threads"] == 1 and t["value"] > 0
        assert 0 < t["low"] <= t["share"] <= t["high"] and t["limited_by"] == "float32 multiply"


def test_one_round_has_one_share():
    timed, = json.loads(gnomon("bench", "decode.1k", "--rounds", 1, "--threads", 1, "--json", "--quiet", check=0).stdout)
    assert timed["low"] == timed["share"] == timed["high"]
    assert abs(timed["value"] / timed["limit"] - timed["share"]) < 1e-9
    assert timed["unit"] == "tokens/s" and timed["limited_by"] == "read of 8.4 MB"


def test_a_page_has_a_roofline(tmp_path):
    gnomon("bench", "attend.t128.d32", "--rounds", 1, "--threads", 1, "--quiet", "--out", tmp_path / "page.html", check=0)
    page = (tmp_path / "page.html").read_text()
    assert "Roofline" in page and "limit.multiply.fp32.1" in page and "attend.t128.d32.alibi" in page


def test_wrong_names_are_told():
    done = gnomon("bench", "step.a.fp23", check=2)
    assert "unknown benchmark 'step.a.fp23'" in done.stderr and "step.a.fp32" in done.stderr
    assert gnomon("bench", "ste", check=2).stderr.startswith("gnomon: unknown benchmark")


def test_the_page_of_performance_is_made_of_what_was_measured(tmp_path):
    machine, measured, peers = tmp_path / "machine.txt", tmp_path / "bench.json", tmp_path / "peers.json"
    machine.write_text(gnomon("bench", "decode.1k", "--rounds", 1, "--threads", 1, "--quiet", check=0).stdout)
    measured.write_text(gnomon("bench", "decode.1k", "step.d64", "--rounds", 1, "--threads", 1, "--json", "--quiet", check=0).stdout)
    form = {"median": 2000.0, "low": 1900.0, "high": 2100.0}
    ratio = {"best": "PyTorch 2, tuned fp32 eager", "median": 1.5, "low": 1.4, "high": 1.6}
    peers.write_text(json.dumps([{"case": "step.d64", "threads": 1, "rounds": 7, "ratios": {"fp32": ratio},
                                  "forms": {"gnomon fp32": form | {"median": 3000.0}, ratio["best"]: form}}]))
    page = subprocess.run([sys.executable, ROOT / "scripts" / "performance", machine, measured, peers], check=True, capture_output=True, text=True).stdout
    for t in json.loads(measured.read_text()):
        row, = (line for line in page.splitlines() if line.startswith(f"| `{t['name']}` | {t['what']} |"))
        assert f"{100 * t['share']:.0f} % [{100 * t['low']:.0f}, {100 * t['high']:.0f}]" in row and t["limited_by"] in row
    assert "| `step.d64` | 1 | PyTorch 2, tuned fp32 eager | 2,000 | 3,000 | 1.50 [1.40, 1.60] |" in page
    assert machine.read_text().splitlines()[0] in page and "in 1 rounds" in page
