"""`gnomon claims --model`: tiny models by question, and the records of two real ones beside what transformers makes of them."""

import gzip
import json
import re
import subprocess

import numpy
import pytest
from scipy.stats import ttest_rel
from conftest import ROOT, gnomon, tiny_bert
from test_inspect import bfloat16_tensors

EVIDENCE = ROOT / "gnomon" / "claims" / "evidence"
QUESTIONS = re.findall(r"^QUESTION\((\w+)\)", (ROOT / "gnomon/claims/questions/list.def").read_text(), re.M)


def measured(model, text):
    found = json.loads(gnomon("claims", "--model", model, "--text", text, "--json", "--quiet", check=0).stdout)
    assert [q["question"] for q in found["questions"]] == sorted((q["question"] for q in found["questions"]), key=QUESTIONS.index)
    numbers = [number for question in found["questions"] for number in question["numbers"]]
    assert len({number["key"] for number in numbers}) == len(numbers)
    return found, {number["key"]: number for number in numbers}


@pytest.fixture(scope="module")
def bert(tmp_path_factory):
    return tiny_bert(tmp_path_factory.mktemp("bert") / "bert")


def test_a_model_with_a_table_speaks_of_the_sum(bert, text):
    found, numbers = measured(bert, text)
    file = dict(bfloat16_tensors(bert / "model.safetensors"))
    words, places = (file[f"embeddings.{kind}_embeddings.weight"] for kind in ("word", "position"))
    length = lambda rows: numpy.linalg.norm(rows, axis=1).mean()  # noqa: E731
    assert numbers["word_length"]["value"] == pytest.approx(length(words), rel=1e-5)
    assert numbers["position_length"]["value"] == pytest.approx(length(places), rel=1e-5)
    assert numbers["entry"]["value"] == pytest.approx(numpy.sqrt((words ** 2).mean()), rel=1e-5)
    cosines = (words / numpy.linalg.norm(words, axis=1, keepdims=True)) @ (places / numpy.linalg.norm(places, axis=1, keepdims=True)).T
    assert numbers["cosine"]["value"] == pytest.approx(numpy.abs(cosines).mean(), rel=1e-5)
    assert 0 <= numbers["neighbours"]["value"] <= 1 and 0 <= numbers["identity"]["value"] <= 1
    # The position added to the n-th of N words is row (7919·n + 1) mod P: any choice would do, and this one is recomputed.
    kept = [numpy.argmax((words[n] + places[(n * 7919 + 1) % len(places)]) @ words.T / numpy.linalg.norm(words, axis=1)) == n
            for n in range(len(words))]
    assert numbers["identity"]["value"] == pytest.approx(numpy.mean(kept))
    four = sum(numbers[f"{a}_{b}"]["value"] for a in ("word", "position") for b in ("word", "position"))
    assert four + numbers["terms_rest"]["value"] == pytest.approx(1, abs=1e-4)
    assert "losses" in {left["part"] for left in found["left_out"]} and "loss" not in numbers


def test_an_encoder_with_a_head_is_measured_on_masked_tokens(text, tmp_path):
    model = tiny_bert(tmp_path / "model", "bert_relu", "[MASK]")
    found, numbers = measured(model, text)
    assert found["masking"]["seed"] == 1 and found["masking"]["mask_token"] == 22
    for key in ("loss", "loss_first", "loss_last", "without"):
        assert abs(numbers[key]["value"]) > 1e-3 and numbers[key]["half_width"] > 0
        assert "nats per masked token" in numbers[key]["name"]
    assert "seed 1" in gnomon("claims", "--model", model, "--text", text, "--quiet", check=0).stdout
    found, numbers = measured(tiny_bert(tmp_path / "maskless", "bert_relu"), text)
    assert not {"loss", "loss_first", "loss_last", "without"} & set(numbers) and "masking" not in found
    assert any("[MASK]" in left["why"] for left in found["left_out"])


def test_what_is_told_is_what_is_in_the_json(bert, text):
    told = gnomon("claims", "--model", bert, "--text", text, check=0)
    assert "Does the sum mess up the meaning?" in told.stdout and "Left out: losses" in told.stdout
    assert "left)" in told.stderr  # the time that it takes
    _, numbers = measured(bert, text)
    for number in numbers.values():
        assert number["name"] in told.stdout


@pytest.mark.parametrize("arguments", [["004-16", "--text", "x"], ["--quick", "--text", "x"], ["--out", "y", "--text", "x"], []])
def test_a_model_is_measured_by_itself(bert, arguments):
    assert "--model needs --text" in gnomon("claims", "--model", bert, *arguments, check=2).stderr


def test_what_is_no_model_is_said(text, tmp_path):
    assert gnomon("claims", "--model", tmp_path / "none", "--text", text).returncode in (3, 4)
    assert gnomon("claims", "--model", ROOT / "tests/golden/opened/llama", "--text", text).returncode in (3, 4)  # without a tokeniser


def record(name):
    return {number["key"]: number for number in json.loads((EVIDENCE / f"{name}.json").read_text())["numbers"]}


def recomputed(name):
    return json.loads((ROOT / "tests/golden/real_claims.json").read_text())[name]


def agrees(expected, number):
    return abs(number["value"] - expected["value"]) <= expected["tolerance"] + 1e-5 * abs(expected["value"])


@pytest.mark.parametrize("name, least", [("minilm", 15), ("smollm2", 12)])
def test_records_are_what_transformers_finds(name, least):
    found = record(name)
    expected = recomputed(name)["numbers"]
    assert len(expected) >= least
    wrong = {key: (one["value"], found[key]["value"]) for key, one in expected.items() if not agrees(one, found[key])}
    assert not wrong


@pytest.mark.parametrize("name", ["minilm", "smollm2"])
def test_a_neighbouring_definition_does_not_agree(name):
    found, expected = record(name), recomputed(name)
    assert len(expected["wrong"]) >= 2
    for key, value in expected["wrong"].items():
        assert not agrees(expected["numbers"][key] | {"value": value}, found[key]), key


def run_evidence(root, *arguments):
    script = root / "scripts" / "evidence"
    script.parent.mkdir(parents=True, exist_ok=True), (root / "gnomon" / "claims").mkdir(parents=True, exist_ok=True)
    script.write_bytes((ROOT / "scripts" / "evidence").read_bytes())
    subprocess.run(["python3", script, *map(str, arguments)], check=True)
    return root / "gnomon" / "claims" / "evidence"


def test_records_are_written_by_the_script(bert, text, tmp_path):
    found = gnomon("claims", "--model", bert, "--text", text, "--json", "--quiet", check=0).stdout
    (tmp_path / "tiny.json").write_text(found)
    written = json.loads((run_evidence(tmp_path / "copy", tmp_path / "tiny.json") / "tiny.json").read_text())
    assert set(written) == {"command", "what", "numbers"} and "--model" in written["command"]
    before = {number["key"]: number for question in json.loads(found)["questions"] for number in question["numbers"]}
    for number in written["numbers"]:
        assert number["value"] == pytest.approx(before[number["key"]]["value"], rel=1e-5)
    assert len(written["numbers"]) == len(before)


def test_the_study_of_sizes_is_recorded_from_its_archive(tmp_path):
    gnomon("study", "report", "--from", ROOT / "docs" / "results" / "scaling.json.gz", tmp_path / "scaling", check=0)
    written = json.loads((run_evidence(tmp_path / "copy", tmp_path / "scaling" / "results.json") / "scaling.json").read_text())
    assert written == json.loads((EVIDENCE / "scaling.json").read_text())
    numbers = {number["key"]: number for number in written["numbers"]}
    archived = next(s for s in json.load(gzip.open(ROOT / "docs" / "results" / "scaling.json.gz"))["studies"] if s["name"] == "2x64")
    losses = {(run["arm"], run["seed"]): run["nats"] for run in archived["runs"] if run["seed"] < 1001 and run["steps"] == 20768}
    rope = [losses["rope", seed] - losses["sinusoidal", seed] for seed in range(1, 6)]
    assert numbers["2x64.rope.at.80"]["value"] == pytest.approx(sum(rope) / 5, abs=1e-5)
    assert numbers["2x64.rope.at.80"]["n"] == 5 and numbers["2x64.megabytes.at.80"]["value"] == pytest.approx(20768 * 512 / 1e6, rel=1e-5)
    assert len([key for key in numbers if key.startswith("2x32.rope.at.")]) == 3
    least, most = ttest_rel(*([losses[arm, seed] for seed in range(1, 6)] for arm in ("concat(sinusoidal, share=0.25)", "add(sinusoidal, amplitude=3)"))).confidence_interval()
    less = numbers["2x64.quarter_less_loud.at.80"]
    assert (less["value"] - less["half_width"], less["value"] + less["half_width"]) == pytest.approx((least, most), abs=1e-5)
