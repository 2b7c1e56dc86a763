"""gnomon check on drawn dumps (planted.py): it names every planted fault, with its numbers, and no fault where there is none."""

import json
import os
import re
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import planted
from conftest import gnomon

CLEAN, EACH = 242 if os.environ.get("GNOMON_LONG") else 66, 6  # a dump that nothing fits takes seconds: all in `make test-long`


def answers(folder, dumps):
    """What the program says of each (name, tensors, options, …)."""
    def one(n_dump):
        n, (_, tensors, options, *_) = n_dump
        path = folder / f"{n}.safetensors"
        planted.save(path, tensors)
        done = gnomon("check", path, "--json", *options)
        path.unlink()
        assert done.returncode in (0, 1), (n_dump[1][0], done.stderr)
        return json.loads(done.stdout)["checked"]
    with ThreadPoolExecutor(2) as pool:
        return list(pool.map(one, enumerate(dumps)))


def test_nothing_clean_has_a_fault(tmp_path):
    dumps = list(planted.clean(CLEAN))
    assert len(dumps) == CLEAN
    named = followed = 0
    for (name, _, _, right), checked in zip(dumps, answers(tmp_path, dumps)):
        for c in checked:
            assert not (c["fits"] and c.get("faulty")), (name, c["looked_at"], c["words"])
            if c["looked_at"] == "inv_freq":
                continue
            followed += c["fits"]
            said = [c.get("spec", "")] + [h["spec"] for h in c["also"]]
            named += right is not None and c["fits"] and any(spec.startswith(right.rstrip(")")) for spec in said)
    assert named > 0.6 * CLEAN, f"{named} of {followed} answers are the convention that was drawn"


@pytest.mark.parametrize("kind", planted.FAULTS)
def test_each_fault_is_named(kind, tmp_path):
    make = planted.FAULTS[kind]
    dumps = [make(planted.Draw((2, list(planted.FAULTS).index(kind), n))) for n in range(EACH)]
    for (name, _, _, says, evidence), checked in zip(dumps, answers(tmp_path, dumps)):
        told = [c for c in checked if says in c["words"]]
        assert told, (name, [c["words"] for c in checked])
        assert all(key in told[0]["evidence"] for key in evidence), (name, told[0]["evidence"])
        assert kind == "V-JEPA 2" or not told[0]["follows"]


def test_the_planted_rotation_is_one():
    """The generator by itself: a rotation keeps lengths and, turned back, is undone; the wrong pairing does not."""
    draw = planted.Draw(5)
    x = draw.rows(2, 9, 32)
    cos, sin = planted.tables(np.arange(9), planted.plain(32, 1e4))
    for pairing in ("halves", "adjacent"):
        there = planted.turn(x, planted.spread(cos, pairing), planted.spread(sin, pairing), pairing)
        np.testing.assert_allclose(np.linalg.norm(there, axis=-1), np.linalg.norm(x, axis=-1), rtol=1e-5)
        back = lambda p: planted.turn(there, planted.spread(cos, p), -planted.spread(sin, p), p)
        np.testing.assert_allclose(back(pairing), x, atol=1e-5)
        assert np.abs(back(planted.other(pairing)) - x).max() > 0.1


def test_numbers_of_a_fault_are_in_the_words_too(tmp_path):
    dump = planted.FAULTS["half precision"](planted.Draw((2, 6, 0)))
    planted.save(tmp_path / "dump.safetensors", dump[1])
    found = json.loads(gnomon("check", tmp_path / "dump.safetensors", "--json", check=1).stdout)["checked"][0]
    said = " ".join(gnomon("check", tmp_path / "dump.safetensors", check=1).stdout.split())
    off = re.search(r"at position (\S+) the phase of pair (\d+) is off by (\S+) radians", said)
    assert off and float(off[1]) == found["evidence"]["phase_error_position"] and int(off[2]) == found["evidence"]["phase_error_pair"]
    assert abs(float(off[3]) - found["evidence"]["phase_error"]) < 1e-3 * found["evidence"]["phase_error"]
