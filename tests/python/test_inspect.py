"""`gnomon inspect`: tiny models that transformers saved, opened and looked at; numbers of the table against numpy."""

import json
import math
import re
import shutil
import struct

import numpy
import pytest
from conftest import ROOT, gnomon, tiny_bert

OPENED = ROOT / "tests/golden/opened"


def bfloat16_tensors(path):
    """NumPy has no bfloat16: it is the upper half of a float32."""
    data = path.read_bytes()
    size = struct.unpack("<Q", data[:8])[0]
    for name, tensor in json.loads(data[8:8 + size]).items():
        if name != "__metadata__" and tensor["dtype"] == "BF16":
            begin, end = (8 + size + place for place in tensor["data_offsets"])
            upper = numpy.frombuffer(data[begin:end], "<u2").astype("<u4") << 16
            yield name, upper.view("<f4").reshape(tensor["shape"]).astype(float)


@pytest.fixture
def bert(tmp_path):
    return tiny_bert(tmp_path / "bert")


@pytest.fixture
def ids(tmp_path):
    random = numpy.random.default_rng(3)
    path = tmp_path / "ids.txt"
    path.write_text(" ".join(str(n) for n in random.integers(0, 20, 9000)))
    return path


def test_a_table_is_that_of_the_file(bert, text):
    found = json.loads(gnomon("inspect", bert, "--text", text, "--json", "--quiet", check=0).stdout)
    file = dict(bfloat16_tensors(bert / "model.safetensors"))
    words, places = (file[f"embeddings.{kind}_embeddings.weight"] for kind in ("word", "position"))
    table = found["table"]
    assert (table["words"], table["positions"]) == (len(words), len(places))
    length = lambda rows: numpy.linalg.norm(rows, axis=1).mean()  # noqa: E731
    assert table["norm_ratio"] == pytest.approx(length(places) / length(words), rel=1e-5)
    assert table["norm_ratio_centred"] == pytest.approx(length(places - places.mean(0)) / length(words - words.mean(0)), rel=1e-5)
    variance = numpy.sort(numpy.linalg.svd(places - places.mean(0), compute_uv=False) ** 2)[::-1]
    shares = variance / variance.sum()
    assert table["position_rank"] == pytest.approx(numpy.exp(-(shares * numpy.log(shares + 1e-300)).sum()), rel=1e-4)
    assert table["components_95"] == numpy.argmax(numpy.cumsum(shares) >= 0.95) + 1
    step = (numpy.diff(places, axis=0) ** 2).sum(1).mean() / ((places - places.mean(0)) ** 2).sum(1).mean()
    assert table["roughness"] == pytest.approx(step, rel=1e-4)
    for head in found["terms"]:
        assert sum(head["shares"].values()) == pytest.approx(1, abs=1e-4)
    assert found["shifts"] == [] or all(change["nats"] is None for change in found["shifts"])
    assert {left["part"] for left in found["left_out"]} >= {"losses"}
    assert found["without"][0]["pooled"] > 1e-3  # positions do something
    for stream in found["streams"]:
        assert stream["position"] + stream["word"] + stream["context"] == pytest.approx(1) and stream["first_length"] > 0


def test_a_rotary_model_of_token_ids(ids, tmp_path):
    page = tmp_path / "page.html"
    done = gnomon("inspect", ROOT / "tests/golden/opened/llama", "--ids", ids, "--window", 32, "--longest", 64, "--json", "--out", page,
                  check=0)
    found = json.loads(done.stdout)
    assert "left)" in done.stderr  # the time left is told
    assert all(abs(change["nats"]) < 1e-4 for change in found["shifts"])
    assert [change["what"] for change in found["without"]] == ["no positions", *(f"layer {n} without position" for n in range(found["layers"]))]
    assert any(abs(change["nats"]) > 1e-3 for change in found["without"])
    assert len(found["attention"]) == found["layers"] * found["heads"]
    assert "position table" in {left["part"] for left in found["left_out"]}
    html = page.read_text()
    assert "How position survives" in html and "http://" not in html.replace("http://www.w3.org", "")


@pytest.mark.parametrize("of", ["gemma4", "gemma4_keys_are_values", "gpt_oss_mxfp4", "qwen3_moe_every_second", "gguf_t5/model.gguf",
                                "gguf_umt5/model.gguf", "gguf_gpt_oss_mxfp4/model.gguf"])
def test_layers_that_differ_and_other_files(of, ids):
    found = json.loads(gnomon("inspect", OPENED / of, "--ids", ids, "--window", 32, "--longest", 64, "--json", "--quiet", check=0).stdout)
    assert all(abs(change["nats"]) < 1e-3 for change in found["shifts"])  # distances alone count
    of_layers = 0 if "t5" in of else found["layers"]  # without position in a layer, T5 would have other parameters
    assert len(found["without"]) == 1 + of_layers and any(abs(change["nats"]) > 1e-4 for change in found["without"])
    assert len(found["attention"]) == found["layers"] * found["heads"]


def test_position_is_taken_from_each_head(ids, tmp_path):
    page = tmp_path / "page.html"
    done = gnomon("inspect", ROOT / "tests/golden/opened/llama", "--ids", ids, "--window", 32, "--longest", 64, "--each-head", "--json",
                  "--out", page, check=0)
    found = json.loads(done.stdout)
    assert [(r["layer"], r["head"]) for r in found["without_head"]] == [(n // found["heads"], n % found["heads"])
                                                                        for n in range(found["layers"] * found["heads"])]
    assert f"position removed from each of {found['layers'] * found['heads']} heads (about " in done.stderr  # the cost first
    assert any(abs(r["nats"]) > 1e-4 for r in found["without_head"])
    assert "Position removed from one head" in page.read_text()


def test_longer_windows_are_read_in_six_ways(ids):
    found = json.loads(gnomon("inspect", ROOT / "tests/golden/opened/llama", "--ids", ids, "--window", 32, "--longest", 64, "--beyond", 2,
                              "--json", "--quiet", check=0).stdout)
    assert [reading["way"] for reading in found["longer"]] == ["as trained", "linear", "ntk", "yarn", "rerope", "self_extend"]
    assert len({round(reading["nats"], 6) for reading in found["longer"]}) > 1
    assert all(reading["tokens"] == 2 * found["trained_length"] for reading in found["longer"])


@pytest.mark.parametrize("arguments, told", [
    ([], "exactly one of --text and --ids"),
    (["--text", "a", "--ids", "b"], "exactly one of --text and --ids"),
])
def test_what_is_read_has_to_be_said(bert, arguments, told):
    assert told in gnomon("inspect", bert, *arguments, check=2).stderr


def test_strangers_files(bert, text, tmp_path):
    broken = tmp_path / "ids.txt"
    broken.write_text("1 2 three")
    assert "allowed are whole numbers with spaces" in gnomon("inspect", bert, "--ids", broken, check=3).stderr
    broken.write_text("1 2 3")
    assert "one window needs" in gnomon("inspect", ROOT / "tests/golden/opened/llama", "--ids", broken, check=2).stderr
    (bert / "tokenizer.json").unlink()
    assert gnomon("inspect", bert, "--text", text, check=4).returncode == 4
    (bert / "model.safetensors").write_bytes((bert / "model.safetensors").read_bytes()[:-1])
    assert gnomon("inspect", bert, "--text", text, check=3).returncode == 3


# --- Encoders with a head: losses of masked tokens

MASKED = json.loads((ROOT / "tests/golden/masked.json").read_text())
SHORT = ["--window", 16, "--windows", 8, "--longest", 64, "--json", "--quiet"]


@pytest.fixture
def masked_ids(tmp_path):
    path = tmp_path / "masked.txt"
    path.write_text(" ".join(str(4 + (n * n + n // 7) % 19) for n in range(9000)))  # those of make_masked.py
    return path


def with_keys(name, folder, **keys):
    """A copy of an opened folder, with these keys of its config.json; None takes one away."""
    shutil.copytree(OPENED / name, folder)
    config = json.loads((folder / "config.json").read_text()) | keys
    (folder / "config.json").write_text(json.dumps({key: value for key, value in config.items() if value is not None}))
    return folder


@pytest.mark.parametrize("name", MASKED)
def test_a_masked_token_costs_what_it_costs_in_transformers(name, masked_ids, tmp_path):
    want, model = MASKED[name], with_keys(name, tmp_path / name, mask_token_id=MASKED[name]["mask"])
    page = tmp_path / "page.html"
    found = json.loads(gnomon("inspect", model, "--ids", masked_ids, *SHORT, "--out", page, check=0).stdout)
    assert found["loss"]["nats"] == pytest.approx(want["loss"], rel=1e-5)
    assert found["loss"]["half_width_95"] == pytest.approx(want["half_width"], rel=1e-3)
    assert found["without"][0]["nats"] == pytest.approx(want["without"], abs=2e-5)
    for neighbour in (want["intact"], want["other"]):
        assert abs(found["loss"]["nats"] - neighbour) > 2e-4
    if want["shift"] is None:
        assert {left["part"] for left in found["left_out"]} >= {"positions shifted"}  # beyond the table
    else:
        assert found["shifts"][0]["nats"] == pytest.approx(want["shift"], abs=2e-5)
    assert {key: found["masking"][key] for key in ("seed", "mask_token", "scored", "mask", "random")} == {
        "seed": 1, "mask_token": want["mask"], "scored": 0.15, "mask": 0.8, "random": 0.1}
    assert "nats per masked token" in page.read_text() and "seed 1" in page.read_text()
    assert "seed 1" in " ".join(found["says"]) and not any("0.000 ± 0.000" in sentence for sentence in found["says"])


@pytest.mark.parametrize("name", ["bert", "roberta_relu_pad0", "modernbert"])
def test_without_a_mask_token_no_loss_is_told(name, masked_ids):
    found = json.loads(gnomon("inspect", OPENED / name, "--ids", masked_ids, *SHORT, "--each-head", check=0).stdout)
    assert "loss" not in found and "masking" not in found and "loss_by_place" not in found
    assert found["shifts"] == [] and found["without"] == [] and "without_head" not in found
    why = {left["part"]: left["why"] for left in found["left_out"]}
    for part in ("loss by place", "positions shifted", "positions removed"):
        assert "no tokenizer.json" in why[part] and "mask_token_id" in why[part]
    assert not any("±" in sentence and "nats" in sentence for sentence in found["says"])
    assert found["attention"] and found["streams"]  # what needs no loss is told


@pytest.mark.parametrize("mask, told", [(22, True), (24, False), (-1, False)])
def test_a_mask_token_is_one_of_the_model(mask, told, masked_ids, tmp_path):
    model = with_keys("bert", tmp_path / "bert", mask_token_id=mask)
    found = json.loads(gnomon("inspect", model, "--ids", masked_ids, *SHORT, check=0).stdout)
    assert ("loss" in found) == told
    if not told:
        assert any(f"the mask token is {mask}; the model has the tokens 0 to 23" in left["why"] for left in found["left_out"])


@pytest.mark.parametrize("name, mask", [("bert", "[MASK]"), ("roberta_relu_pad0", "<mask>"), ("bert", "[UNUSED]")])
def test_the_tokenizer_names_the_mask_token(name, mask, text, tmp_path):
    model = tiny_bert(tmp_path / "model", name, mask)
    found = json.loads(gnomon("inspect", model, "--text", text, *SHORT, check=0).stdout)
    if mask == "[UNUSED]":
        assert "loss" not in found
        assert any("no special token [MASK] or <mask>" in left["why"] for left in found["left_out"])
        return
    assert found["masking"]["mask_token"] == 22 and found["masking"]["random_below"] == 23
    # Windows of 12 tokens with [CLS] and [SEP]: 15 % of the words between them, at least one, and never the ends.
    assert found["loss"]["tokens"] == found["loss"]["windows"] * max(1, round(0.15 * 10))
    assert all(place["first"] not in (0, 11) for place in found["loss_by_place"])
    assert found["loss"]["nats"] > 0 and found["loss"]["half_width_95"] > 0


def test_longer_windows_of_an_encoder_are_scored_on_masked_tokens(masked_ids, tmp_path):
    model = with_keys("modernbert", tmp_path / "model", mask_token_id=4)
    arguments = [part for part in SHORT if part != "--json"]
    found = json.loads(gnomon("inspect", model, "--ids", masked_ids, *SHORT, "--beyond", 2, check=0).stdout)
    assert len({round(reading["nats"], 6) for reading in found["longer"]}) > 1
    assert all(reading["nats"] > 1 for reading in found["longer"])
    assert "0.000 ± 0.000" not in gnomon("inspect", model, "--ids", masked_ids, *arguments, "--beyond", 2, check=0).stdout


def test_a_table_of_positions_is_taken_away_from_a_decoder(ids):
    found = json.loads(gnomon("inspect", OPENED / "gpt2", "--ids", ids, *SHORT, check=0).stdout)
    assert abs(found["without"][0]["nats"]) > 1e-3 and found["without"][0]["half_width_95"] > 0


# --- Rotations

THETA, PAIRS = 500.0, 2  # of opened/llama_bare: heads of 4 channels
PLAIN = [THETA ** (-n / PAIRS) for n in range(PAIRS)]


def llama3(factor, low, high, original):
    """Llama 3.1: long wavelengths are divided, short ones stay, those between are mixed."""
    out = []
    for w in PLAIN:
        wavelength = 2 * math.pi / w
        smooth = min(1, max(0, (original / wavelength - low) / (high - low)))
        out.append((1 - smooth) * w / factor + smooth * w)
    return out


@pytest.mark.parametrize("scaling, frequencies", [
    ({"rope_type": "default"}, PLAIN),
    ({"rope_type": "linear", "factor": 4.0}, [w / 4 for w in PLAIN]),
    ({"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0, "original_max_position_embeddings": 64},
     llama3(8, 1, 4, 64)),
    ({"rope_type": "llama3", "factor": 4.0, "low_freq_factor": 1.0, "high_freq_factor": 2.0, "original_max_position_embeddings": 200},
     llama3(4, 1, 2, 200)),
    ({"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 16}, None),
    ({"rope_type": "dynamic", "factor": 4.0}, None),
    ({"rope_type": "longrope", "factor": 4.0, "short_factor": [1.0, 2.0], "long_factor": [2.0, 4.0],
      "original_max_position_embeddings": 16}, None),
], ids=lambda value: value["rope_type"] if isinstance(value, dict) else "")
def test_pairs_of_every_rotation_are_told_or_left_out_with_the_reason(scaling, frequencies, ids, tmp_path):
    model = with_keys("llama_bare", tmp_path / "model", rope_parameters={"rope_theta": THETA} | scaling)
    found = json.loads(gnomon("inspect", model, "--ids", ids, "--window", 64, "--windows", 2, "--longest", 64, "--json", "--quiet", check=0).stdout)
    why = {left["part"]: left["why"] for left in found["left_out"]}
    if frequencies is None and "rotary pairs" in why:
        assert "the parts add up to" in why["rotary pairs"] and found["spec"] in why["rotary pairs"]
        return
    assert "rotary pairs" not in why
    if frequencies:
        assert found["frequencies"] == pytest.approx(frequencies, rel=1e-6)
    assert [(pair["layer"], pair["head"]) for pair in found["pairs"]] == [(layer, head) for layer in range(2) for head in range(2)]
    for one in found["pairs"]:
        assert sum(pair["share"] for pair in one["pairs"]) == pytest.approx(1, abs=1e-6)


@pytest.mark.parametrize("name, why", [("gpt2", "has no rotation"), ("mistral", "no other encoding"), ("gemma3", "the same rotation"),
                                       ("gpt_neox", "does not rotate whole heads")])
def test_models_without_such_pairs_say_why(name, why, ids):
    found = json.loads(gnomon("inspect", OPENED / name, "--ids", ids, *SHORT, check=0).stdout)
    assert "pairs" not in found and "frequencies" not in found
    assert why in next(left["why"] for left in found["left_out"] if left["part"] == "rotary pairs")


# --- Numbers that are none

def header_of(data):
    size = struct.unpack("<Q", data[:8])[0]
    return json.loads(data[8:8 + size]), 8 + size


def with_numbers(folder, tensor, numbers):
    """Writes bfloat16 numbers into a tensor of model.safetensors: {place: number}."""
    path = folder / "model.safetensors"
    data = bytearray(path.read_bytes())
    header, begin = header_of(data)
    assert header[tensor]["dtype"] == "BF16"
    for place, number in numbers.items():
        at = begin + header[tensor]["data_offsets"][0] + 2 * place
        data[at:at + 2] = struct.pack("<f", number)[2:]
    path.write_bytes(data)
    return folder


@pytest.mark.parametrize("name, tensor, numbers, told", [
    ("llama", "model.layers.1.mlp.down_proj.weight", {5: math.nan}, "holds 1 number that is not finite: number 5 of 96 is nan"),
    ("bert", "bert.embeddings.position_embeddings.weight", {0: math.inf, 40: -math.inf},
     "holds 2 numbers that are not finite: number 0 of 96 is inf"),
    ("roberta_relu_pad0", "roberta.embeddings.position_embeddings.weight", {9: math.nan}, "holds 1 number that is not finite: number 9 of 104 is nan"),
    ("gpt2", "transformer.h.0.attn.c_attn.weight", {3: -math.inf}, "holds 1 number that is not finite: number 3 of 192 is -inf"),
    ("t5", "encoder.final_layer_norm.weight", {7: math.nan}, "holds 1 number that is not finite: number 7 of 8 is nan"),
])
def test_a_number_that_is_none_is_told_with_its_tensor(name, tensor, numbers, told, ids, tmp_path):
    model = with_numbers(with_keys(name, tmp_path / name), tensor, numbers)
    done = gnomon("inspect", model, "--ids", ids, *SHORT, check=3)
    assert f'tensor "{tensor}" {told}' in done.stderr and done.stdout == ""


def test_claims_of_a_model_refuse_numbers_that_are_none(text, tmp_path):
    model = with_numbers(tiny_bert(tmp_path / "bert"), "encoder.layer.0.output.dense.bias", {2: math.nan})
    assert 'tensor "encoder.layer.0.output.dense.bias" holds 1 number' in gnomon("claims", "--model", model, "--text", text, check=3).stderr


def test_weights_that_overflow_leave_losses_out(ids, tmp_path):
    model = with_numbers(with_keys("llama", tmp_path / "llama"), "model.layers.1.mlp.down_proj.weight", {n: 3e38 for n in range(96)})
    found = json.loads(gnomon("inspect", model, "--ids", ids, *SHORT, check=0).stdout)
    why = {left["part"]: left["why"] for left in found["left_out"]}
    assert "not finite" in why["loss by place"] and "not finite" in why["positions removed"] and "loss" not in found
    assert not any("cosine" in sentence or "–" in sentence for sentence in found["says"])


# --- The page

def test_shares_are_drawn_from_0(ids, tmp_path):
    page = tmp_path / "page.html"
    gnomon("inspect", OPENED / "llama", "--ids", ids, "--window", 32, "--windows", 2, "--longest", 64, "--each-head", "--quiet", "--out", page, check=0)
    pictures = {part.split("<", 1)[0]: part.split("</figure>", 1)[0] for part in page.read_text().split("<figcaption>")[1:]}
    for title in ("Weight on the first token", "Weight on the previous token"):
        assert "white is 0, red up to" in pictures[title] and "−" not in pictures[title].split("</svg>", 1)[0]
        assert re.search(r">0\.00+</text></svg>", pictures[title])
    assert "blue is negative" in pictures["Position removed from one head"]  # a head may hinder


# --- An encoder with a decoder

def test_both_components_are_looked_at(masked_ids, tmp_path):
    page = tmp_path / "page.html"
    inspected = lambda *more: gnomon("inspect", OPENED / "t5_other_head", "--ids", masked_ids, *more, check=0)  # noqa: E731
    decoder = json.loads(inspected(*SHORT, "--out", page).stdout)
    encoder = json.loads(inspected(*SHORT, "--component", "encoder").stdout)
    assert (decoder["component"], encoder["component"]) == ("decoder", "encoder")
    assert decoder["causal"] and decoder["loss"]["nats"] > 0 and not encoder["causal"] and "loss" not in encoder
    assert "The encoder reads" in page.read_text() and "The encoder reads" in decoder["says"][-1]
    assert "t5 decoder" in inspected(*(part for part in SHORT if part != "--json")).stdout
    assert "did you mean 'encoder'" in gnomon("inspect", OPENED / "t5", "--ids", masked_ids, "--component", "encode", check=2).stderr
    refused = gnomon("inspect", OPENED / "llama", "--ids", masked_ids, "--component", "encoder", check=2).stderr
    assert "no encoder beside a decoder" in refused
