"""Tables of encodings: attention that is computed from them alone, files, and gnomon.check() of those files."""

import numpy as np
import pytest

import gnomon as gn
from shapes import NAMES, SIZE, TOKENS, awake, qkv, small

LENGTH, ROWS = 2048, 96
# What gnomon.check() names by numbers alone, as it prints it, of everything that is in the file.
NAMED = {
    "rope": "rope(theta=10000, pairing=halves)",
    "rope(theta=500000)": "rope(theta=500000, pairing=halves)",
    "proportional": "proportional(theta=10000, pairing=halves, share=0.75)",
    "linear": "linear(theta=10000, pairing=halves, factor=4)",
    "ntk": "ntk(theta=10000, pairing=halves, factor=4)",
    "alibi": "alibi(slopes=authors)",
    "t5": "t5(buckets=32, distance=128)",
    "sinusoidal": "sinusoidal(layout=interleaved, frequencies=paper)",
}
# What it finds to be the spec that it is told.
EXPECTED = [*NAMED, "ntk_by_parts", "yarn", "llama3", "longrope", "dynamic_ntk", "dynamic_yarn", "mrope", "mrope_interleaved", "rope_value",
            "rerope", "self_extend", "multi_sinusoidal", "sine", "cosine", "rotated", "rope(pairing=adjacent)", "rope+alibi", "random", "binary"]
WITHOUT = ["none", "conv_position", "peg", "grape", "vjepa2", "liere", "comrope", "shaw", "relative_key", "relative_key_query", "transformer_xl", "deberta", "deberta_v2", "cope", "fox",
           "content_profile", "data_alibi", "grape_additive", "dape", "stick_breaking", "window", "chunk", "randomised", "shape", "cape", "random_float", "selective_rope",
           "carope", "repo", "gape", "cable", "wall", "path"]


def large(spec, **sizes):
    return gn.make(spec, **{**dict(heads=8, head_dim=64, length=LENGTH), **sizes})


def metadata(path):
    safetensors = pytest.importorskip("safetensors")
    with safetensors.safe_open(path, "np") as file:
        return file.metadata(), {name: file.get_tensor(name) for name in file.keys()}


def turn(x, t, role, pairing):
    """x (B, heads, T, D) by the tables of its role, where there are any: all its channels turn."""
    name = role if f"cos_{role}" in t else f"{role}_by_head" if f"cos_{role}_by_head" in t else ""
    if not name:
        name = "by_head" if "cos_by_head" in t else ""
    cos, sin = (t.get(f"{part}_{name}" if name else part) for part in ("cos", "sin"))
    if cos is None:
        return x
    a, b = (x[..., 0::2], x[..., 1::2]) if pairing == "adjacent" else np.split(x, 2, -1)
    one, other = a * cos - b * sin, a * sin + b * cos
    if pairing == "halves":
        return np.concatenate([one, other], -1)
    return np.stack([one, other], -1).reshape(x.shape)


def attended(q, k, v, t, pairing, causal):
    """Attention as an engine computes it that has the tables."""
    q = turn(q, t, "q", pairing) * (t["factor_q"][:, None] if "factor_q" in t else 1)
    scores = q @ turn(k, t, "k", pairing).swapaxes(2, 3) / np.sqrt(SIZE)
    delta = np.arange(TOKENS)[:, None] - np.arange(TOKENS)
    if "bias" in t:
        scores = scores + (t["bias"][:, np.maximum(delta, 0)] if t["bias"].ndim == 2 else t["bias"])
    weights = np.exp(np.where((delta >= 0) | (not causal), scores, -np.inf))
    return weights / weights.sum(-1, keepdims=True) @ v


@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize("name", ["rope", "rope(pairing=adjacent)", "rope_learned", "rope_mixed", "fope", "rope_axial", "mrope", "linear",
                                  "yarn", "llama3", "longrope", "log_n", "t5", "alibi", "kerple_log", "kerple_power", "sandwich",
                                  "dynamic_bias", "fire", "rope+alibi", "rope_learned+fire", "rope+log_n"])
def test_attention_by_the_tables(name, causal):
    pe, (q, k, v) = awake(small(name, causal=causal)), qkv()
    y = attended(q, k, v, gn.tables(pe), "adjacent" if "adjacent" in name else "halves", causal)
    np.testing.assert_allclose(y, gn.attend(q, k, v, pe=pe), atol=2e-6, rtol=2e-6)


def test_the_other_pairing_is_seen():
    pe, (q, k, v) = small("rope"), qkv()
    assert np.abs(attended(q, k, v, gn.tables(pe), "adjacent", True) - gn.attend(q, k, v, pe=pe)).max() > 1e-3


def test_attention_by_tables_of_q_and_of_k():
    pe, (q, k, v) = small("xpos"), qkv()
    np.testing.assert_allclose(attended(q, k, v, gn.tables(pe), "halves", True), gn.attend(q, k, v, pe=pe), atol=2e-6)


@pytest.mark.parametrize("name", NAMES)
def test_every_encoding_has_tables_or_says_why(name):
    pe = large(name, length=64)
    if name in WITHOUT:
        with pytest.raises(gn.Error, match="has no tables"):
            gn.tables(pe)
        return
    found = gn.tables(pe)
    assert all(a.dtype == np.float32 and np.isfinite(a).all() and a.flags.c_contiguous for a in found.values())
    assert len(found) > 1 and len(found["positions"]) == 64
    if "table" in found:
        np.testing.assert_array_equal(found["table"], pe.vectors(np.arange(64)))


@pytest.mark.parametrize("spec", NAMED)
def test_check_names_the_spec(spec, tmp_path):
    pytest.importorskip("safetensors")
    path = tmp_path / "tables.safetensors"
    gn.tables(large(spec), ROWS, path)
    checked = gn.check(path)
    assert checked and all(c["follows"] and not c["apart"].startswith("positions") for c in checked)
    assert {c["spec"] for c in checked} == {NAMED[spec]}


@pytest.mark.parametrize("spec", EXPECTED)
def test_check_finds_the_spec(spec, tmp_path):
    pytest.importorskip("safetensors")
    path, pe = tmp_path / "tables.safetensors", large(spec)
    gn.tables(pe, ROWS, path)
    checked = gn.check(path, spec=metadata(path)[0]["spec"])
    assert checked and all(c["follows"] for c in checked), [c["words"] for c in checked]
    assert {c["spec"] for c in checked} <= set(pe.spec.split("+"))


@pytest.mark.parametrize("spec, another", [("permuted", "permuted(seed=2)"), ("random", "random(seed=2)")])
def test_check_finds_a_table_of_as_many_rows_as_it_was_made_for(spec, another, tmp_path):
    table = {"table": gn.tables(large(spec, length=ROWS), ROWS)["table"]}
    assert [c["follows"] for c in gn.check(table, spec=spec)] == [True]
    assert [c["follows"] for c in gn.check(table, spec=another)] == [False]


def test_check_finds_another_spec(tmp_path):
    pytest.importorskip("safetensors")
    path = tmp_path / "tables.safetensors"
    gn.tables(large("rope(theta=500000)"), ROWS, path)
    assert not any(c["follows"] for c in gn.check(path, spec="rope"))


def test_a_file_says_what_it_is_of(tmp_path):
    path, pe = tmp_path / "tables.safetensors", large("rope(pairing=adjacent)+window", kv_heads=2)
    made = gn.tables(pe, 10, path)
    about, arrays = metadata(path)
    assert about == {"format": "gnomon tables", "gnomon": gn.__version__, "spec": pe.spec, "layer": "0", "length": "10",
                     "trained_length": str(LENGTH), "heads": "8", "kv_heads": "2", "head_dim": "64", "causal": "True",
                     "pairing": "adjacent", "first_channel": "0", "channel_gap": "1", "without": "which keys are seen"}
    assert set(arrays) == set(made) == {"cos", "sin", "inv_freq", "positions"}
    for name, a in made.items():
        np.testing.assert_array_equal(arrays[name], a)


def test_shapes_and_positions():
    places = np.array([3, 7, 7.5])
    t = gn.tables(large("rope"), places)
    assert t["cos"].shape == (3, 32) and t["inv_freq"].shape == (32,)
    np.testing.assert_allclose(t["cos"][:, 0], np.cos(places), atol=1e-6)
    np.testing.assert_allclose(t["inv_freq"], 10000.0 ** (-np.arange(32) / 32), rtol=1e-6)
    apart = gn.tables(large("alibi"), [3, 7, 9])
    np.testing.assert_allclose(apart["bias"][:, 2, 0], -6 * apart["slopes"])
    with pytest.raises(gn.Error, match="whole numbers"):
        gn.tables(large("alibi"), places)
    assert gn.tables(large("rope+alibi"), 5)["bias"].shape == (8, 5)
    assert gn.tables(large("alibi", causal=False), 5)["bias"].shape == (8, 5, 5)
    grid = gn.tables(large("rope_axial"), np.ones((4, 2)))
    assert grid["coordinates"].shape == (4, 2) and grid["cos"].shape == (4, 32) and "positions" not in grid


@pytest.mark.parametrize("pe, positions, says", [("rope", 3, "gnomon.make"), (small("rope"), np.ones((4, 2)), r"\(T\)"),
                                                 (small("rope"), 0, "0 tokens"),
                                                 (small("rope_axial"), np.ones((1, 4, 2)), "axial.*2")])
def test_what_is_not_allowed(pe, positions, says):
    with pytest.raises(gn.Error, match=says):
        gn.tables(pe, positions)


def test_frequencies_are_those_of_the_tables():
    """Where the length has changed them, as dynamic NTK does, the array of the trained length is not given."""
    pe = large("dynamic_ntk", length=32)
    assert "inv_freq" in gn.tables(pe, 32) and "inv_freq" not in gn.tables(pe, 128)
    assert "inv_freq" not in gn.tables(awake(large("rope_learned", length=32)))


def test_the_values_of_rope_value():
    t = gn.tables(small("rope_value"))
    np.testing.assert_array_equal(t["cos"], t["cos_v"])
    np.testing.assert_array_equal(t["sin"], t["sin_v"])


def test_without_safetensors(monkeypatch, tmp_path):
    monkeypatch.setitem(__import__("sys").modules, "safetensors.numpy", None)
    with pytest.raises(gn.Error, match="package safetensors") as found:
        gn.tables(small("rope"), path=tmp_path / "tables.safetensors")
    assert found.value.fault == "resource"


def test_content_is_in_no_table(tmp_path):
    """An encoding that reads content beside one that stands beside the words: the vectors alone, and the file says so."""
    path = tmp_path / "tables.safetensors"
    assert set(gn.tables(small("sinusoidal+fox"), path=path)) == {"table", "positions"}
    assert metadata(path)[0]["without"] == "what reads x"


@pytest.mark.parametrize("spec, told, follows", [
    ("rope(fraction=0.5)", "rope", True),  # a table does not show how wide the head is
    ("rope(fraction=0.5)", "rope(fraction=0.5)", False),
    ("yarn", "yarn(original=4096)", True),  # nor the length that it was made for
    ("yarn", "yarn", False)])
def test_what_a_table_does_not_show(spec, told, follows):
    found = gn.check(gn.tables(large(spec, length=4096), ROWS), spec=told)
    assert {c["follows"] for c in found} == {follows}
