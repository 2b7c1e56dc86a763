"""`gnomon inspect`: tiny models that transformers saved, opened and looked at; numbers of the table against numpy."""

import json
import struct

import numpy
import pytest
from conftest import ROOT, gnomon, tiny_bert

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


def test_position_is_taken_from_each_head(ids, tmp_path):
    page = tmp_path / "page.html"
    done = gnomon("inspect", ROOT / "tests/golden/opened/llama", "--ids", ids, "--window", 32, "--longest", 64, "--each-head", "--json",
                  "--out", page, check=0)
    found = json.loads(done.stdout)
    assert [(r["layer"], r["head"]) for r in found["without_head"]] == [(n // found["heads"], n % found["heads"])
                                                                        for n in range(found["layers"] * found["heads"])]
    assert f"position taken from each of {found['layers'] * found['heads']} heads (about " in done.stderr  # the cost first
    assert any(abs(r["nats"]) > 1e-4 for r in found["without_head"])
    assert "Position taken from one head" in page.read_text()


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
    assert "not whole numbers" in gnomon("inspect", bert, "--ids", broken, check=3).stderr
    broken.write_text("1 2 3")
    assert "a window takes" in gnomon("inspect", ROOT / "tests/golden/opened/llama", "--ids", broken, check=2).stderr
    (bert / "tokenizer.json").unlink()
    assert gnomon("inspect", bert, "--text", text, check=4).returncode == 4
    (bert / "model.safetensors").write_bytes((bert / "model.safetensors").read_bytes()[:-1])
    assert gnomon("inspect", bert, "--text", text, check=3).returncode == 3
