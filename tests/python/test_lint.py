"""`gnomon lint`: what it prints, its JSON and SARIF, its exit codes, and its page."""

import json
import re
import urllib.parse

import numpy
import pytest
from safetensors.numpy import save_file

from conftest import ROOT, gnomon

LEVELS = ("error", "warning", "note")
QWEN = {"model_type": "qwen3", "hidden_size": 512, "num_attention_heads": 8, "num_key_value_heads": 8, "num_hidden_layers": 2, "head_dim": 64,
        "max_position_embeddings": 40960, "rope_parameters": {"rope_type": "default", "rope_theta": 1000000},
        "rope_scaling": {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 32768}}
CLEAN = {"model_type": "llama", "hidden_size": 512, "num_attention_heads": 8, "num_hidden_layers": 2, "max_position_embeddings": 4096,
         "rope_theta": 10000}


@pytest.fixture
def config(tmp_path):
    def write(document, name="config.json"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(document if isinstance(document, str) else json.dumps(document, indent=2))
        return path
    return write


@pytest.fixture(scope="module")
def rules():
    return json.loads(gnomon("lint", "--rules", "--json", check=0).stdout)


def test_the_page_is_that_of_the_rules(rules):
    page = (ROOT / "docs" / "lint.md").read_text()
    assert gnomon("lint", "--rules", "--markdown", check=0).stdout == page
    for rule in rules:
        assert f"\n### {rule['id']}\n" in page and f"](#{rule['id']}) | {rule['severity']} |" in page
    assert f"There are {sum(r['severity'] == 'error' for r in rules)} errors" in page


def test_rules_are_listed_and_explained(rules):
    assert len(rules) >= 40 and {r["severity"] for r in rules} == set(LEVELS)
    for rule in rules:
        assert rule.keys() == {"id", "severity", "title", "explains", "fix", "link", "fails", "passes"}
        json.loads(rule["passes"])
        assert rule["id"].startswith("file-") or json.loads(rule["fails"])  # some are about files that are not JSON
    listed = gnomon("lint", "--rules", check=0).stdout
    assert all(rule["id"] in listed for rule in rules)
    explained = gnomon("lint", "--rule", "scaling-without-theta", check=0).stdout
    assert "11316" in explained and "https://github.com/unslothai/unsloth/pull/7028" in explained
    assert json.loads(gnomon("lint", "--rule", "scaling-without-theta", "--json", check=0).stdout) in rules


def test_what_is_found_is_told_with_line_and_remedy(config):
    path = config(QWEN)
    done = gnomon("lint", path, check=1)
    line = path.read_text().splitlines().index('  "rope_scaling": {') + 1
    assert f"error: {path}, line {line}:" in done.stdout and "[scaling-drops-theta]" in done.stdout
    assert '"rope_theta": 1000000 in rope_scaling' in done.stdout and "becomes 10000" in done.stdout
    assert done.stdout.index("error: ") < done.stdout.index("warning: ")
    found = json.loads(gnomon("lint", path, "--json", check=1).stdout)
    assert found["files"] == [{"file": str(path), "family": "qwen3"}] and all(f["file"] == str(path) for f in found["findings"])
    assert [f["severity"] for f in found["findings"]] == sorted((f["severity"] for f in found["findings"]), key=LEVELS.index)
    for count, level in (("errors", "error"), ("warnings", "warning"), ("notes", "note")):
        assert found[count] == sum(f["severity"] == level for f in found["findings"])
    first = found["findings"][0]
    assert (first["rule"], first["key"], first["line"]) == ("scaling-drops-theta", "rope_scaling", line)
    assert first["found"].startswith('{"rope_type":"yarn","factor":4.0')


def test_lines_are_found_in_any_layout(config):
    for text in (json.dumps(QWEN), json.dumps(QWEN, indent=8), json.dumps(QWEN, indent=1).replace("\n", "\r\n"), json.dumps(QWEN, indent=0)):
        found = json.loads(gnomon("lint", config(text), "--json", check=1).stdout)
        for f in found["findings"]:
            last = f["key"].rsplit(".", 1)[-1]
            assert f'"{last}"' in text.splitlines()[f["line"] - 1], f


def test_exit_codes(config):
    assert "nothing found" in gnomon("lint", config(CLEAN), check=0).stdout
    only_warnings = CLEAN | {"rope_parameters": {"rope_type": "default", "rope_theta": 20000}}
    found = json.loads(gnomon("lint", config(only_warnings), "--json", check=0).stdout)
    assert found["warnings"] and not found["errors"]
    for wrong in (["lint"], ["lint", "--rule", "no-such"], ["lint", config(CLEAN), "--only", "no-such"], ["lint", config(CLEAN), "--rules"],
                  ["lint", config(CLEAN), "--json", "--sarif"], ["lint", config(CLEAN), "--markdown"]):
        gnomon(*wrong, check=2)
    assert "did you mean 'theta-twice'" in gnomon("lint", "--rule", "theta-twise", check=2).stderr
    for malformed in ("", "{", "[]", '{"a": 1, "a": 2}', "\ufeff{}", '{"a": NaN}', "null"):
        done = gnomon("lint", config(malformed), check=1)
        assert "[file-unreadable]" in done.stdout and not done.stderr
        assert ("config.json, line 1, column " in done.stdout) == (malformed not in ("[]", "null")), "those are JSON, but not settings"
    gnomon("lint", "/nonexistent/config.json", check=4)


def test_only_and_ignore(config):
    path = config(QWEN)
    only = json.loads(gnomon("lint", path, "--only", "two-dictionaries", "--json", check=0).stdout)
    assert [f["rule"] for f in only["findings"]] == ["two-dictionaries"]
    most = json.loads(gnomon("lint", path, "--ignore", "two-dictionaries", "--ignore", "scaling-drops-theta", "--json", check=0).stdout)
    assert not {"two-dictionaries", "scaling-drops-theta"} & {f["rule"] for f in most["findings"]}


def test_a_folder_and_a_model_of_several_kinds(config, tmp_path):
    inner = {key: value for key, value in QWEN.items()}
    path = config({"model_type": "someone's", "text_config": inner, "rope_scaling": {"rope_type": "linear", "factor": 2.0}}, "model/config.json")
    found = json.loads(gnomon("lint", tmp_path / "model", "--json", check=1).stdout)
    assert [f["file"] for f in found["files"]] == [str(path)]
    keys = {f["rule"]: f["key"] for f in found["findings"]}
    assert keys["scaling-drops-theta"] == "text_config.rope_scaling" and keys["outer-settings-unread"] == "rope_scaling"


def test_strangers_words_do_not_reach_the_terminal_raw(config):
    path = config(CLEAN | {"rope_scaling": {"rope_type": "\x1b[31mred\u202e</script>", "factor": 2}})
    done = gnomon("lint", path, check=1)
    assert "\x1b" not in done.stdout and "scaling-type-unknown" in done.stdout
    json.loads(gnomon("lint", path, "--json", check=1).stdout), json.loads(gnomon("lint", path, "--sarif", check=1).stdout)


def check_sarif(log, rules):
    """What SARIF 2.1.0 requires of these parts (sections 3.13 to 3.52), and what GitHub asks beside it."""
    assert log["version"] == "2.1.0" and log["$schema"].endswith("sarif-2.1.0.json") and log.keys() == {"$schema", "version", "runs"}
    (run,) = log["runs"]
    driver = run["tool"]["driver"]
    assert driver["name"] == "gnomon" and re.fullmatch(r"\d+\.\d+\.\d+", driver["version"])
    assert [r["id"] for r in driver["rules"]] == [r["id"] for r in rules]
    for described in driver["rules"]:
        assert set(described) <= {"id", "shortDescription", "fullDescription", "help", "helpUri", "defaultConfiguration", "properties"}
        assert described["shortDescription"]["text"] and described["fullDescription"]["text"] and described["help"]["text"]
        assert described["defaultConfiguration"]["level"] in ("none", *LEVELS) and described["helpUri"].startswith("https://")
        assert all(isinstance(tag, str) for tag in described["properties"]["tags"])
    for result in run["results"]:
        assert set(result) <= {"ruleId", "ruleIndex", "level", "message", "locations", "partialFingerprints"}
        assert driver["rules"][result["ruleIndex"]]["id"] == result["ruleId"] and result["level"] in LEVELS and result["message"]["text"]
        (location,) = result["locations"]
        physical = location["physicalLocation"]
        uri = physical["artifactLocation"]["uri"]
        assert urllib.parse.urlparse(uri).scheme in ("", "file") and re.fullmatch(r"[A-Za-z0-9:/?#\[\]@!$&'()*+,;=._~%-]+", uri)
        assert isinstance(physical["region"]["startLine"], int) and physical["region"]["startLine"] >= 1
        assert all(isinstance(v, str) for v in result["partialFingerprints"].values())
    return run["results"]


def test_sarif_is_what_code_scanning_takes(config, rules, tmp_path):
    path = config(QWEN, "a model é/config.json")
    results = check_sarif(json.loads(gnomon("lint", path, "--sarif", check=1, cwd=ROOT).stdout), rules)
    listed = json.loads(gnomon("lint", path, "--json", check=1).stdout)["findings"]
    assert [(r["ruleId"], r["locations"][0]["physicalLocation"]["region"]["startLine"]) for r in results] == [(f["rule"], f["line"]) for f in listed]
    whole = results[0]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
    assert whole.startswith("file:///") and urllib.parse.unquote(whole[len("file://"):]) == str(path)
    relative = gnomon("lint", "a model é/config.json", "--sarif", check=1, cwd=tmp_path).stdout
    uri = json.loads(relative)["runs"][0]["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
    assert uri == urllib.parse.quote("a model é/config.json")
    fingerprints = [r["partialFingerprints"]["ruleAndKey/v1"] for r in results]
    assert len(set(fingerprints)) == len(fingerprints)
    assert check_sarif(json.loads(gnomon("lint", config(CLEAN), "--sarif", check=0).stdout), rules) == []


def test_weights_beside_the_file_are_looked_at(tmp_path):
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "bert", "hidden_size": 16, "num_attention_heads": 2, "num_hidden_layers": 1,
                                                      "max_position_embeddings": 64}))
    for rows, code in ((64, 0), (32, 1)):
        save_file({"embeddings.position_embeddings.weight": numpy.zeros((rows, 16), numpy.float32)}, tmp_path / "model.safetensors")
        done = gnomon("lint", tmp_path, "--json", check=code)
        assert ("table-and-file-disagree" in done.stdout) == bool(code)


@pytest.mark.parametrize("theta, code", [(10000, 0), (500000, 1)])
def test_stored_frequencies_are_compared(tmp_path, theta, code):
    (tmp_path / "config.json").write_text(json.dumps(CLEAN | {"rope_theta": theta}))
    frequencies = (10000.0 ** (-numpy.arange(0, 64, 2) / 64)).astype(numpy.float32)
    save_file({"model.layers.0.self_attn.rotary_emb.inv_freq": frequencies}, tmp_path / "model.safetensors")
    assert ("stored-frequencies-differ" in gnomon("lint", tmp_path / "model.safetensors", "--json", check=code).stdout) == bool(code)
