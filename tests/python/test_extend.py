"""`gnomon extend` prints settings whose frequencies numpy computes here from the papers' formulas."""

import json
import math

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
    assert "beyond the trained 4096" in gnomon("extend", LLAMA2, "--to", 4096, check=2).stderr


def test_lines_have_80_columns():
    for line in gnomon("extend", LLAMA2, "--to", 32768, check=0).stdout.splitlines():
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
        for found in planned(tmp_path, 4194304)["methods"]:
            for s in found["snippets"]:
                if not s["program"].startswith("transformers"):
                    continue
                if s["program"][-1] == "4" and config["model_type"] in UNLIKE_V4:
                    continue
                tried += 1
                assert s["readings"][0]["as_announced"], (config, found["method"], s)
    assert tried > 100
