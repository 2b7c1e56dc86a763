"""gnomon check: what it prints, its JSON and its exit codes. What it finds is tested in tests/models/check_test.cpp."""

import json

import pytest

from conftest import ROOT, gnomon

DUMPS = ROOT / "tests" / "golden" / "dumps"
CASES = {c["name"]: c for c in json.loads((DUMPS.parent / "dumps.json").read_text())["cases"]}


@pytest.mark.parametrize("name", CASES)
def test_exit_code_and_width(name):
    follows = CASES[name]["follows"]
    right = all(follows) if isinstance(follows, list) else follows
    done = gnomon("check", DUMPS / f"{name}.safetensors", *CASES[name]["options"], check=0 if right else 1)
    assert done.stderr == ""
    # The first line names the file.
    assert max(len(line) for line in done.stdout.splitlines()[1:]) <= 80


def test_json_has_what_the_table_says():
    arguments = ("check", DUMPS / "llama.safetensors")
    table, found = gnomon(*arguments, check=0).stdout, json.loads(gnomon(*arguments, "--json", check=0).stdout)
    assert [c["looked_at"] for c in found["checked"]] == ["q_before and q_after", "k_before and k_after", "cos and sin"]
    for c in found["checked"]:
        assert c["follows"] and c["spec"] == "rope(theta=10000, pairing=halves)" and c["words"] in table
        assert 0 < c["error"] < 1e-5 and c["rounding"] < 1
        assert all(h["rounding"] > 1 and h["error"] > c["error"] for h in c["ruled_out"])
    assert any("adjacent" in h["spec"] for h in found["checked"][0]["ruled_out"])


def test_positions_of_the_command_line():
    dump = DUMPS / "one_token_far_off.safetensors"
    assert "the first position is 4000" in " ".join(gnomon("check", dump, check=0).stdout.split())
    assert "first position" not in gnomon("check", dump, "--positions", "4000..4007", check=0).stdout
    wrong = gnomon("check", dump, "--positions", "4001..4008", check=1).stdout
    assert "positions are off by −1" in " ".join(wrong.split())
    assert "positions: found 3" in gnomon("check", dump, "--positions", "1,2,3", check=3).stderr
    assert "--positions" in gnomon("check", dump, "--positions", "5..2", check=2).stderr


def test_files_that_are_no_dumps(tmp_path):
    bad = tmp_path / "bad.safetensors"
    bad.write_bytes(b"\x40\0\0\0\0\0\0\0{")
    gnomon("check", bad, check=3)
    gnomon("check", tmp_path / "none.safetensors", check=4)
    header = b'{"weight": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}}'
    bad.write_bytes(len(header).to_bytes(8, "little") + header + b"\0" * 4)
    assert "q_before" in gnomon("check", bad, check=3).stderr
    assert "rop" in gnomon("check", DUMPS / "llama.safetensors", "--spec", "rop", check=2).stderr
