"""Texts that a measurement cannot use: a verdict that says what is missing, never a crash or a number that is none."""

import json
import os
import subprocess
import tempfile

import pytest

from conftest import GNOMON, gnomon

UNMEASURABLE = "not measurable on this text"
PROSE = "It was a bright cold day in April, and the clocks were striking thirteen; nobody knew why.\n"
CYRILLIC = "В начале сотворил Бог небо и землю. Земля же была безвидна и пуста, и тьма над бездною.\n"

# Texts, and of some claims what the verdict must say is missing; None: it is measured.
ONE = "repeats one byte"
CASES = {
    "one byte": ("a" * 20000, {"000-06": "has 0 lines", "000-07": ONE, "000-11": ONE, "000-13": ONE, "001-03": ONE,
                               "001-14": ONE, "003-14": ONE, "004-16": None}),
    "only newlines": ("\n" * 20000, {"000-06": ONE, "000-08": ONE, "004-16": None}),
    "nearly one byte": ("b" + "a" * 20000, {"000-07": "show 1 different byte", "000-11": "too little to measure"}),
    "two bytes": ("ab" * 10000, {"000-06": "has 0 lines", "000-07": None, "000-08": "vary in 1 direction",
                                 "000-13": "vary in 1 direction", "003-14": "needs at least 22"}),
    "no newline": (PROSE.strip() * 100, {"000-06": "has 0 lines", "001-14": None}),
    "3 kB": (PROSE * 33, {"000-06": "has 32 lines", "003-14": "byte-pair symbols"}),
    "Cyrillic": (CYRILLIC * 120, {"000-06": None, "000-07": None, "001-14": None}),
}


def claims(text, out, ids, code=(0,)):
    done = gnomon("claims", *ids, "--text", text, "--out", out, "--quick", "--quiet", "--json")
    assert done.returncode in code, f"exit {done.returncode}\n{done.stderr}"
    return done


@pytest.mark.parametrize("name", CASES)
def test_a_claim_says_what_it_misses(tmp_path, name):
    content, expected = CASES[name]
    (tmp_path / "text").write_text(content)
    done = claims(tmp_path / "text", tmp_path / "out", expected)
    for found in json.loads(done.stdout)["claims"]:
        missing = expected[found["id"]]
        assert (found["verdict"] == UNMEASURABLE) == (missing is not None), found
        assert found["as_recorded"] and (missing or "") in found["answer"], found
        assert all(number["value"] is not None for number in found["numbers"]), found
    assert "nan" not in (tmp_path / "out" / "claims.md").read_text().lower().split()
    assert ("has almost no information" in done.stderr) == (len(set(content)) == 1 or name == "nearly one byte")
    if UNMEASURABLE in done.stdout:
        assert UNMEASURABLE in (tmp_path / "out" / "claims.html").read_text()


def test_a_damaged_model_of_a_claim_is_told_and_trained_again(text, tmp_path):
    first = claims(text, tmp_path / "out", ["003-14"]).stdout
    model, *_ = (tmp_path / "out" / "models").glob("*/model.safetensors")
    model.write_bytes(model.read_bytes()[:-3])
    done = claims(text, tmp_path / "out", ["003-14"])
    assert "damaged model removed and trained again" in done.stderr and str(model) in done.stderr
    assert json.loads(done.stdout)["claims"] == json.loads(first)["claims"]


def test_a_text_that_is_no_file_is_refused_at_once(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for path, kind in [(tmp_path / "pipe", "a pipe"), ("/dev/zero", "a device"), (tmp_path, "a folder")]:
        for command in (["study", "--dry-run"], ["claims", "000-06"]):
            done = gnomon(*command, "--text", path, "--out", tmp_path / "out", check=4, timeout=20)
            assert f"found {kind}" in done.stderr and "regular file" in done.stderr


@pytest.mark.parametrize("name, shown", [(b"two\nlines", "two\\x0Alines"), (b"\xff.txt", "\\xFF.txt")])
def test_a_path_that_study_toml_cannot_hold_is_named(text, tmp_path, name, shown):
    with tempfile.TemporaryDirectory(prefix="gnomon-") as folder:  # short: the message shows 80 bytes of a path
        path = folder.encode() + b"/" + name
        with open(path, "wb") as out:
            out.write(text.read_bytes())
        done = subprocess.run([bytes(GNOMON), b"study", b"--text", path, b"--out", bytes(tmp_path) + b"/out"],
                              capture_output=True, timeout=60)
    assert done.returncode == 2
    assert b"study.text" in done.stderr and shown.encode() in done.stderr and b"study.toml" not in done.stderr
