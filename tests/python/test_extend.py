"""`gnomon extend` prints settings whose frequencies numpy computes here from the papers' formulas."""

import json
import math
import os

import numpy
import pytest

from conftest import ROOT, gnomon

EXAMPLES = ROOT / "docs" / "examples"
LLAMA2 = EXAMPLES / "llama-2.json"


def planned(path, to, *arguments):
    return json.loads(gnomon("extend", path, "--to", to, "--json", *arguments, check=0).stdout)


def method(plan, name):
    (found,) = [m for m in plan["methods"] if m["method"] == name]
    return found


def frequencies(name, theta, channels, s, original):
    i = numpy.arange(0, channels, 2)
    w = theta ** (-i / channels)
    if name == "linear":
        return w / s
    if name in ("ntk", "dynamic"):
        grown = s if name == "ntk" else s * s - (s - 1)
        return (theta * grown ** (channels / (channels - 2))) ** (-i / channels)
    pair = [channels * math.log(original / (turns * 2 * math.pi)) / (2 * math.log(theta)) for turns in (32, 1)]
    first, last = max(math.floor(pair[0]), 0), min(math.ceil(pair[1]), channels - 1)
    ramp = numpy.clip((numpy.arange(channels // 2) - first) / (last - first), 0, 1)
    return w / s * ramp + w * (1 - ramp)


@pytest.mark.parametrize("name", ["linear", "ntk", "dynamic", "yarn", "longrope"])
def test_frequencies_are_those_of_the_papers(name):
    (group,) = method(planned(LLAMA2, 32768), name)["groups"]
    want = frequencies(name, 10000, 128, 8, 4096)
    tolerance = 1e-5 if name == "longrope" else 1e-12  # lists have five digits
    assert numpy.allclose(group["inv_freq"], want, rtol=tolerance, atol=0)
    assert not numpy.allclose(group["inv_freq"], frequencies(name, 10000, 128, 7.9, 4096), rtol=tolerance, atol=0)
    factor = {"yarn": 0.1 * math.log(8) + 1, "longrope": math.sqrt(1 + math.log(8) / math.log(4096))}.get(name, 1)
    assert math.isclose(group["attention_factor"], factor, rel_tol=1e-12)


@pytest.mark.parametrize("name", ["linear", "ntk", "dynamic", "yarn", "longrope"])
def test_a_pasted_snippet_is_what_explain_reads(tmp_path, name):
    """Pasted by this test into the file, not by the program."""
    own = json.loads(LLAMA2.read_text())
    found = method(planned(LLAMA2, 16384), name)
    for snippet in found["snippets"]:
        if not snippet["program"].startswith("transformers"):
            continue
        assert snippet["readings"][0]["as_announced"], snippet
        (tmp_path / "config.json").write_text(json.dumps(own | snippet["text"]))
        told = gnomon("explain", tmp_path, "--reader", "v" + snippet["program"][-1], "--json", check=0).stdout
        e = json.loads(told)
        (at,) = [n for n in e["lengths"] if n["length"] == 16384]
        w = at["layers"][0].get("inv_freq") or e["layers"][0]["inv_freq"]
        assert numpy.allclose(w, found["groups"][0]["inv_freq"], rtol=1e-9, atol=0)


def test_a_reader_that_computes_something_else_is_named():
    yarn = method(planned(LLAMA2, 32768), "yarn")
    of_v5 = [s for s in yarn["snippets"] if s["program"] == "transformers 5"][0]
    readings = {r["reader"]: r["as_announced"] for r in of_v5["readings"]}
    assert readings == {"v5": True, "v4": False}  # transformers 4 does not know rope_parameters
    dynamic = method(planned(LLAMA2, 32768), "dynamic")
    of_vllm = [s for s in dynamic["snippets"] if s["program"] == "vLLM"][0]
    assert not of_vllm["readings"][0]["as_announced"]  # vLLM has one base for all lengths


def test_sliding_layers_stay():
    plan = planned(EXAMPLES / "gemma-3.json", 131072)
    for found in plan["methods"]:
        assert [g["layers"] for g in found["groups"]] == [[5, 11, 17, 23]]
        for s in found["snippets"]:
            if s["program"].startswith("transformers"):
                assert s["readings"][0]["as_announced"], (found["method"], s)


def test_what_does_not_turn(tmp_path):
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "bert", "hidden_size": 768, "num_hidden_layers": 12,
                                                      "num_attention_heads": 12, "max_position_embeddings": 512}))
    plan = planned(tmp_path, 2048)
    assert plan["methods"] == [] and "512 rows" in " ".join(plan["notes"])


def test_a_length_within_training_is_refused():
    assert "allowed are lengths above the trained 4096 tokens" in gnomon("extend", LLAMA2, "--to", 4096, check=2).stderr


def test_it_begins_with_a_table_and_a_choice():
    lines = gnomon("extend", LLAMA2, "--to", "4x", check=0).stdout.splitlines()
    head = next(n for n, line in enumerate(lines) if line.startswith("way "))
    assert head <= 5
    rows = {line.split()[0]: " ".join(line.split()[1:]) for line in lines[head + 1:head + 8] if line.split()}
    assert list(rows)[:5] == ["linear", "ntk", "dynamic", "yarn", "longrope"]
    assert rows["yarn"].startswith("4.19 3.65 transformers 4 and 5") and "llama.cpp (untried)" in rows["yarn"]
    assert rows["longrope"].startswith("not known not known") and "llama.cpp" not in rows["longrope"]
    advice = next(n for n, line in enumerate(lines) if line.startswith("Take yarn if you do not train"))
    assert advice < next(n for n, line in enumerate(lines) if line.startswith("== "))
    assert [line for line in lines if line.startswith("== ")] == ["== YaRN: slow pairs interpolated, fast ones kept"]
    every = gnomon("extend", LLAMA2, "--to", "4x", "--all", check=0).stdout
    assert every.count("\n== ") == 5
    assert gnomon("extend", LLAMA2, "--to", "4x", "--way", "ntk", check=0).stdout.count("\n== NTK") == 1


def test_a_table_names_the_programs_that_compute_it():
    """By the readings of the JSON: a program whose own reading differs is not in the line of its way."""
    plan = planned(LLAMA2, 32768)
    printed = gnomon("extend", LLAMA2, "--to", 32768, check=0, env=os.environ | {"COLUMNS": "200"}).stdout
    for found in plan["methods"]:
        (row,) = [line for line in printed.splitlines() if line.startswith(found["method"] + "  ")]
        for s in found["snippets"]:
            computed = not s["readings"] or s["readings"][0]["as_announced"]
            name = s["program"].replace("transformers 5", "and 5") if "transformers 4 and 5" in row else s["program"]
            assert (name in row) == computed, (row, s["program"])


def test_the_choice_is_one_that_the_model_can_have(tmp_path):
    cases = json.loads((ROOT / "tests/golden/resolver.json").read_text())[::29]
    seen = set()
    for case in cases:
        (tmp_path / "config.json").write_text(json.dumps(case["config"]))
        done = gnomon("extend", tmp_path, "--to", 4194304, "--json", "--force")
        if done.returncode:
            continue
        plan = json.loads(done.stdout)
        chosen = plan["advice"]["method"]
        possible = {m["method"] for m in plan["methods"] if not m["refused"]}
        assert (chosen in possible) or (chosen is None and not possible & {"yarn", "dynamic", "ntk", "linear"}), case["config"]
        linear = any("scales its rotation (linear)" in note for note in plan["notes"])  # the model's own, which the others forget
        if "yarn" in possible:
            assert chosen == ("linear" if linear else "yarn")
        seen.add(chosen)
    assert len(seen) >= 3, seen
    promised = planned(EXAMPLES / "llama-3.1.json", 65536)
    assert promised["advice"] == {"method": None, "says": "Change nothing: the file promises 131,072 tokens already."}
    scaled = planned(EXAMPLES / "llama-3.1.json", 262144)["advice"]
    assert scaled["method"] == "yarn" and "replaces the scaling in the file (llama3)" in scaled["says"]


@pytest.mark.parametrize("words, tokens", [("16k", 16384), ("16K", 16384), ("128k", 131072), ("1M", 1048576), ("4x", 16384), ("1.5x", 6144),
                                           ("20000", 20000), ("4.5k", 4608)])
def test_lengths_are_read_in_words(words, tokens):
    assert planned(LLAMA2, words)["to"] == tokens


def test_times_are_of_what_the_file_promises():
    assert planned(EXAMPLES / "llama-3.1.json", "4x")["to"] == 4 * 131072
    said = gnomon("extend", EXAMPLES / "llama-3.1.json", "--to", "4x", check=0).stdout
    assert "further than within the length before the extension" in " ".join(said.split()) and "training showed" not in said


@pytest.mark.parametrize("words", ["16q", "x", "k", "", "-4x", "4 x", "1e5", "16.5", "0", "nan", "1e9k", "9999999999", "4xx", "inf", "0x10"])
def test_other_words_are_refused(words):
    said = gnomon("extend", LLAMA2, f"--to={words}", check=2).stderr
    assert "--to" in said and said.count("\n") == 1 and ("16k" in said or "beyond the trained" in said or "required" in said.lower()), said


@pytest.mark.parametrize("name, length", [("llama-2.json", "4x"), ("gemma-3.json", "64k"), ("llama-3.1.json", "512k")])
@pytest.mark.parametrize("way", [None, "linear", "ntk", "dynamic", "yarn", "longrope"])
def test_a_written_file_is_what_explain_reads(tmp_path, name, length, way):
    before = json.loads((EXAMPLES / name).read_text())
    chosen = ["--way", way] if way else []
    done = gnomon("extend", EXAMPLES / name, "--to", length, "--write", tmp_path / "config.json", *chosen, check=0)
    assert "written: " in done.stderr
    after = json.loads((tmp_path / "config.json").read_text())
    plan = planned(EXAMPLES / name, length)
    found = method(plan, way or plan["advice"]["method"])
    kept = {"rope_scaling", "rope_parameters", "rope_theta", "rope_local_base_freq", "max_position_embeddings", "original_max_position_embeddings",
            "head_dim"}
    assert {k: v for k, v in before.items() if k not in kept} == {k: v for k, v in after.items() if k not in kept}
    assert [k for k in after if k in before] == list(before)
    readers = [r for r in ("v5", "v4") if f"transformers {r[1]}" in done.stderr]
    assert readers
    for reader in readers:
        told = json.loads(gnomon("explain", tmp_path, "--reader", reader, "--json", check=0).stdout)
        at = [n for n in told["lengths"] if n["length"] == plan["to"]]
        group = found["groups"][0]
        if found["method"] == "dynamic" and not at:  # its file says the trained length, and grows beyond
            assert any("dynamic_ntk(" in g["spec"] for g in told["layers"])
            continue
        (at,) = at
        (mine,) = [(n, g) for n, g in enumerate(told["layers"]) if g["layers"] == group["layers"]]
        w = at["layers"][mine[0]].get("inv_freq") or mine[1]["inv_freq"]
        assert numpy.allclose(w, group["inv_freq"], rtol=1e-9, atol=0), reader


def test_no_file_is_replaced_that_was_not_meant(tmp_path):
    there = tmp_path / "there.json"
    there.write_text("mine")
    command = ["extend", LLAMA2, "--to", "4x", "--write", there]
    assert "already exists; give another name, or --replace" in gnomon(*command, check=2).stderr and there.read_text() == "mine"
    gnomon(*command, "--replace", check=0)
    assert json.loads(there.read_text())["model_type"] == "llama"
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    assert "already exists" in gnomon(*command[:-1], tmp_path / "link", check=2).stderr
    bloom = tmp_path / "config.json"
    bloom.write_text(json.dumps({"model_type": "bloom", "hidden_size": 64, "n_head": 4, "n_layer": 1}))
    assert "no way is advised" in gnomon("extend", bloom, "--to", "64k", "--write", tmp_path / "new", check=2).stderr
    assert not (tmp_path / "new").exists() and not (tmp_path / "nowhere").exists()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["config.json", "link", "there.json"]


def test_long_lists_are_short_in_text_and_whole_elsewhere(tmp_path):
    printed = gnomon("extend", LLAMA2, "--to", "4x", "--way", "longrope", check=0).stdout
    assert '"short_factor": [1.0 (64 times)]' in " ".join(printed.split()) and "short=1 (64 times)" in " ".join(printed.split())
    assert "1.0, 1.0" not in printed and "lists are shortened here" in printed
    assert len(printed.splitlines()) < 110
    found = method(planned(LLAMA2, 16384), "longrope")
    members = found["snippets"][0]["text"]["rope_scaling"]
    assert members["short_factor"] == [1.0] * 64 and len(members["long_factor"]) == 64
    gnomon("extend", LLAMA2, "--to", "4x", "--way", "longrope", "--write", tmp_path / "c.json", check=0)
    written = json.loads((tmp_path / "c.json").read_text())
    assert (written.get("rope_scaling") or written["rope_parameters"])["long_factor"] == members["long_factor"]


def test_lines_have_80_columns():
    for line in gnomon("extend", LLAMA2, "--to", 32768, "--all", check=0).stdout.splitlines():
        assert len(line) <= 80 or " " not in line.strip(), line


# transformers 4 has no dictionary for each kind of layer (Gemma 4), other bases (OLMo 3) and no mscale of the softmax (DeepSeek V2).
UNLIKE_V4 = {"gemma4_text", "olmo3", "deepseek_v2"}


def test_golden_configurations(tmp_path):
    """Of configurations that the resolver is tested with: its own reader computes what is announced, or is one that cannot."""
    cases = json.loads((ROOT / "tests/golden/resolver.json").read_text())[::23]
    tried = 0
    for case in cases:
        config = case["config"]
        (tmp_path / "config.json").write_text(json.dumps(config))
        if "low_freq_factor" not in str(config) and "llama3" in str(config):
            continue  # no reader takes it
        for found in planned(tmp_path, 4194304, "--force")["methods"]:
            for s in found["snippets"]:
                if not s["program"].startswith("transformers"):
                    continue
                if s["program"][-1] == "4" and config["model_type"] in UNLIKE_V4:
                    continue
                tried += 1
                assert s["readings"][0]["as_announced"], (config, found["method"], s)
    assert tried > 100


def test_a_file_with_an_error_is_refused(tmp_path):
    path, longer = tmp_path / "config.json", tmp_path / "longer.json"
    config = json.loads((EXAMPLES / "broken-yarn.json").read_text())
    path.write_text(json.dumps(config))
    gnomon("lint", path, check=1)
    to = "256k"
    for more in ([], ["--json"], ["--way", "linear", "--write", longer]):
        refused = gnomon("extend", path, "--to", to, *more, check=3)
        assert "lint finds" in refused.stderr and "scaling-drops-theta (rope_scaling)" in refused.stderr and not refused.stdout
    assert not longer.exists()
    assert planned(path, to, "--force")["to"] == 262144
    rules = {f["rule"] for f in json.loads(gnomon("lint", path, "--json", check=1).stdout)["findings"]}
    (tmp_path / ".gnomon-lint.json").write_text(json.dumps(
        {"exceptions": [{"rule": rule, "path": "config.json", "reason": "our own class reads it"} for rule in rules]}))
    planned(path, to)  # an accepted finding refuses nothing
    (tmp_path / ".gnomon-lint.json").unlink()
    path.write_text(json.dumps({k: v for k, v in config.items() if k != "rope_scaling"}))
    planned(path, to)


@pytest.mark.parametrize("name", ["llama-2", "llama-3.1"])
def test_what_explain_says_of_a_length_extend_says_of_it(name):
    path = EXAMPLES / f"{name}.json"
    explained = json.loads(gnomon("explain", path, "--json", check=0).stdout)
    to = explained["lengths"][1]["length"]
    plan = planned(path, to)
    assert plan["pairs_beyond_training"] == max(g["pairs_beyond_training"] for g in explained["lengths"][1]["layers"])
    (cache,) = [c["bytes"] for c in explained["key_cache"]["at"] if c["length"] == to]
    assert plan["cache_bytes"] == cache


def in_thousands(size):
    for unit in ("B", "kB", "MB", "GB"):
        if size < 1000:
            break
        size /= 1000
    return f"{size:.{1 if unit in ('MB', 'GB') and size < 100 else 0}f} {unit}"


@pytest.mark.parametrize("name", ["llama-2", "llama-3.1", "gemma-3"])
def test_a_size_means_the_same_everywhere(name, tmp_path):
    path, page = EXAMPLES / f"{name}.json", tmp_path / "page.html"
    explained = json.loads(gnomon("explain", path, "--json", check=0).stdout)
    told = " ".join(gnomon("explain", path, "--out", page, check=0).stdout.split())
    cache = explained["key_cache"]
    assert in_thousands(cache["bytes_per_token"]) + " per token" in told
    assert in_thousands(cache["at"][0]["bytes"]) + " for " in told
    plan = planned(path, 1 << 18)
    told += " ".join(gnomon("extend", path, "--to", 1 << 18, check=0).stdout.split())
    assert f"Keys and values of one sequence: {in_thousands(plan['cache_bytes'])} in bfloat16 or float16." in told
    assert not any(unit in told + page.read_text() for unit in ("KiB", "MiB", "GiB"))
