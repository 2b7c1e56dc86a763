"""`gnomon explain` tells of a model's file what numpy computes here from the formulas of the papers and of transformers 5.23."""

import json
import math
import pathlib

import numpy
import pytest

from conftest import ROOT, gguf, gnomon

EXAMPLES = ROOT / "docs" / "examples"

QWEN_YARN = {"model_type": "qwen2", "hidden_size": 3584, "num_hidden_layers": 28, "num_attention_heads": 28,
             "num_key_value_heads": 4, "max_position_embeddings": 32768, "rope_theta": 1000000.0, "use_sliding_window": False,
             "rope_scaling": {"type": "yarn", "factor": 4.0, "original_max_position_embeddings": 32768}}
BERT = {"model_type": "bert", "hidden_size": 768, "num_hidden_layers": 12, "num_attention_heads": 12,
        "max_position_embeddings": 512, "position_embedding_type": "absolute"}
BLOOM = {"model_type": "bloom", "hidden_size": 1536, "n_layer": 24, "n_head": 12, "seq_length": 2048}


def written(folder, config, name="config.json"):
    path = pathlib.Path(folder) / name
    path.write_text(config if isinstance(config, str) else json.dumps(config))
    return path


def explained(path, *arguments, check=0):
    return json.loads(gnomon("explain", path, "--json", *arguments, check=check).stdout)


def plain(theta, channels):
    return theta ** (-numpy.arange(0, channels, 2) / channels)


def llama3(theta, channels, factor, low, high, original):
    w = plain(theta, channels)
    wavelength = 2 * math.pi / w
    smooth = (original / wavelength - low) / (high - low)
    blended = (1 - smooth) * w / factor + smooth * w
    return numpy.where(wavelength < original / high, w, numpy.where(wavelength > original / low, w / factor, blended))


def yarn(theta, channels, factor, original, fast=32, slow=1):
    def pair(turns):
        return channels * math.log(original / (turns * 2 * math.pi)) / (2 * math.log(theta))
    first, last = max(math.floor(pair(fast)), 0), min(math.ceil(pair(slow)), channels - 1)
    ramp = numpy.clip((numpy.arange(channels // 2) - first) / (last - first), 0, 1)
    w = plain(theta, channels)
    return w / factor * ramp + w * (1 - ramp)


def bloom_slopes(heads):
    """build_alibi_tensor: those of the next lower power of two, then every second one of twice as many."""
    power = 2 ** math.floor(math.log2(heads))
    first = [2 ** (-8 * (h + 1) / power) for h in range(power)]
    return first + [2 ** (-4 * (2 * h + 1) / power) for h in range(heads - power)]


def turns(w, length):
    wavelength = 2 * math.pi / w
    return {"length": length, "full": int((wavelength <= length).sum()),
            "partial": int(((wavelength > length) & (wavelength <= 4 * length)).sum()), "constant": int((wavelength > 4 * length).sum())}


def test_llama_3():
    e = explained(EXAMPLES / "llama-3.1.json")
    assert (e["schema"], e["family"], e["known"], e["reader"], e["causal"]) == (1, "llama", True, "v5", True)
    assert (e["trained_length"], e["longest"], e["input"]) == (8192, 131072, "add(none, scale=off)")
    (all_layers,) = e["layers"]
    w = llama3(500000, 128, 8, 1, 4, 8192)
    assert all_layers["layers"] == list(range(32)) and all_layers["kind"] == "rotary"
    assert (all_layers["heads"], all_layers["kv_heads"], all_layers["head_dim"], all_layers["rotary_dim"]) == (32, 8, 128, 128)
    assert (all_layers["pairing"], all_layers["theta"], all_layers["window"]) == ("halves", 500000, None)
    assert numpy.allclose(all_layers["inv_freq"], w, rtol=1e-12, atol=0)
    assert all_layers["attention_factor"] == all_layers["softmax_factor"] == 1
    assert math.isclose(all_layers["scale"], 128**-0.5)
    assert all_layers["turns_trained"] == turns(w, 8192) and all_layers["turns_longest"] == turns(w, 131072)
    keys = {s["what"]: s["key"] for s in all_layers["sources"]}
    assert keys["theta"] == "rope_theta" and keys["factor"] == "rope_scaling.factor" and keys["low"] == "rope_scaling.low_freq_factor"
    assert [n["length"] for n in e["lengths"]] == [8192, 16384, 32768, 131072]
    for n in e["lengths"]:
        fast = plain(500000, 128)
        beyond = int(((8191 * fast < 2 * math.pi) & (n["length"] * w > 8192 * fast * (1 + 1e-9))).sum())
        assert n["layers"][0]["pairs_beyond_training"] == beyond and not n["layers"][0]["changed"]
    one = 2 * 8 * 128 * 2 * 32
    assert e["key_cache"]["bytes_per_token"] == one
    assert e["key_cache"]["at"] == [{"length": n, "bytes": n * one} for n in (8192, 16384, 32768, 131072)]


def test_yarn_of_qwen(tmp_path):
    e = explained(written(tmp_path, QWEN_YARN))
    (all_layers,) = e["layers"]
    assert numpy.allclose(all_layers["inv_freq"], yarn(1e6, 128, 4, 32768), rtol=1e-12, atol=0)
    assert math.isclose(all_layers["attention_factor"], 0.1 * math.log(4) + 1, rel_tol=1e-12)
    assert all_layers["softmax_factor"] == 1
    assert e["trained_length"] == 32768 and all_layers["window"] is None
    assert "squared in the logit" in gnomon("explain", tmp_path / "config.json", check=0).stdout


@pytest.mark.parametrize("factor, beyond", [(4.0, 0), (3.9, 24), (4.1, 0)])
def test_a_factor_reaches_as_many_times_the_trained_length(factor, beyond, tmp_path):
    """32,768 tokens times 4: the recipe of the model's own card turns no pair further than training did."""
    scaling = dict(QWEN_YARN["rope_scaling"], factor=factor)
    e = explained(written(tmp_path, dict(QWEN_YARN, rope_scaling=scaling)))
    assert {n["length"]: n["layers"][0]["pairs_beyond_training"] for n in e["lengths"]}[131072] == beyond


def test_gemma_3_has_two_kinds_of_layers():
    e = explained(EXAMPLES / "gemma-3.json")
    near, wide = e["layers"]
    assert wide["layers"] == [5, 11, 17, 23]
    assert near["layers"] == [n for n in range(26) if n not in wide["layers"]]
    assert numpy.allclose(near["inv_freq"], plain(1e4, 256), rtol=1e-12, atol=0)
    assert numpy.allclose(wide["inv_freq"], plain(1e6, 256), rtol=1e-12, atol=0)
    assert (near["window"], wide["window"]) == (512, None)
    assert near["turns_trained"] == turns(plain(1e4, 256), 512) and wide["turns_trained"] == turns(plain(1e6, 256), 32768)
    assert [n["layers"][0]["pairs_beyond_training"] for n in e["lengths"]] == [0, 0, 0], "distances stay within the window"
    assert [n["layers"][1]["pairs_beyond_training"] for n in e["lengths"]] == [0] + 2 * [int((32767 * plain(1e6, 256) < 2 * math.pi).sum())]
    assert e["known"] and math.isclose(near["scale"], 256**-0.5)
    one = 2 * 1 * 256 * 2
    assert e["key_cache"]["bytes_per_token"] == 26 * one
    assert e["key_cache"]["at"][0] == {"length": 32768, "bytes": one * (22 * 512 + 4 * 32768)}


def test_bert_has_a_table_and_keeps_no_keys(tmp_path):
    e = explained(written(tmp_path, BERT))
    assert (e["causal"], e["input"], e["positions_end"], e["key_cache"]) == (False, "add(learned(length=512), scale=off)", 512, None)
    (all_layers,) = e["layers"]
    assert all_layers["kind"] == "none" and "inv_freq" not in all_layers
    assert [n["positions"] for n in e["lengths"]] == [True, False, False]
    told = gnomon("explain", tmp_path, check=0).stdout
    assert "no position vectors from token 512 on" in told and "An encoder has no key cache" in told


def test_bloom_has_slopes(tmp_path):
    e = explained(written(tmp_path, BLOOM))
    (all_layers,) = e["layers"]
    assert all_layers["kind"] == "bias" and all_layers["layers"] == list(range(24))
    assert numpy.allclose(all_layers["slopes"], bloom_slopes(12), rtol=1e-12, atol=0)


def test_a_spec_can_be_shown():
    told = gnomon("explain", EXAMPLES / "gemma-3.json", check=0).stdout
    spec = explained(EXAMPLES / "gemma-3.json")["layers"][0]["spec"]
    assert spec in told
    gnomon("show", spec, "--dim", 1024, "--heads", 4, "--length", 64, check=0)


def test_lines_fit_a_terminal(tmp_path):
    for path in (EXAMPLES / "gemma-3.json", EXAMPLES / "llama-3.1.json", written(tmp_path, BLOOM)):
        for line in gnomon("explain", path, check=0).stdout.splitlines():
            assert len(line) <= 80 or " " not in line.strip(), line


def test_every_frequency_is_printed_when_asked_for():
    told = gnomon("explain", EXAMPLES / "llama-3.1.json", "--full", check=0).stdout
    flat = " ".join(told.split())
    for w in explained(EXAMPLES / "llama-3.1.json")["layers"][0]["inv_freq"]:
        assert repr(w).rstrip("0").rstrip(".") in flat, w


def test_remarks_are_told(tmp_path):
    unknown = written(tmp_path, {"model_type": "no such family", "hidden_size": 64, "num_attention_heads": 4, "num_hidden_layers": 2,
                                 "rope_theta": 500, "max_position_embeddings": 128})
    e = explained(unknown)
    assert not e["known"] and e["remarks"] and e["layers"][0]["theta"] == 500
    told = gnomon("explain", unknown, check=0).stdout
    assert "gnomon does not know this family" in told and "remarks" in told


def test_the_page_of_families_is_that_of_the_program():
    assert gnomon("explain", "--families", "--markdown", check=0).stdout == (ROOT / "docs" / "families.md").read_text()
    families = json.loads(gnomon("explain", "--families", "--json", check=0).stdout)
    listed = gnomon("explain", "--families", check=0).stdout
    types = [t for f in families for t in f["model_types"] + f["larger_models"]]
    assert len(types) == len(set(types)) and listed.endswith(f"\n{len(types)} model types in {len(families)} families\n")
    assert all(f["position"] and f["compared_with"] and ", ".join(f["model_types"]) in listed for f in families)
    assert next(f for f in families if f["family"] == "baichuan")["compared_with"].startswith("the code of its repository")


NOVEL = {"model_type": "novel", "hidden_size": 256, "num_attention_heads": 4, "num_hidden_layers": 2, "rope_theta": 70000.0,
         "max_position_embeddings": 512}


LLAVA = {"model_type": "llava", "text_config": {"model_type": "llama"},
         "vision_config": {"model_type": "clip_vision_model", "hidden_size": 1024, "num_hidden_layers": 24, "num_attention_heads": 16,
                           "image_size": 336, "patch_size": 14}}
QWEN_VL = {"model_type": "qwen2_vl", "vision_config": {"model_type": "qwen2_vl", "embed_dim": 1280, "depth": 32, "num_heads": 16, "patch_size": 14},
           "text_config": {"model_type": "qwen2_vl_text"}}


def test_a_table_of_patches_beside_a_language_model(tmp_path):
    path = written(tmp_path, LLAVA)
    says = explained(path)
    assert says["family"] == "llama"
    tower, = says["towers"]
    assert (tower["part"], tower["model_type"], tower["layers"]) == ("vision_config", "clip_vision_model", 24)
    assert tower["grid"] == [336 // 14] * 2 and tower["table"]["rows"] == (336 // 14) ** 2 + 1 and tower["table"]["first"] == 1
    assert tower["table"]["resized"] == "bicubic" and tower["table"]["only_if_asked"] and not tower["axes"]
    text = " ".join(gnomon("explain", path, "--out", tmp_path / "page.html", check=0).stdout.split())
    for sentence in ("It adds a learned row to each of 24 x 24 patches and to the class token.", "577 rows; the first patch has row 1",
                     "with interpolate_pos_encoding=True it resamples the rows (bicubic)"):
        assert sentence in text
        assert sentence in " ".join((tmp_path / "page.html").read_text().split())


def test_a_rotation_by_rows_and_columns(tmp_path):
    tower, = explained(written(tmp_path, QWEN_VL))["towers"]
    assert tower["head_dim"] == 80 and tower["table"] is None and tower["spec"].startswith("add(none, scale=off)+rope_axial")
    assert [axis["axis"] for axis in tower["axes"]] == ["row", "column"]
    for n, axis in enumerate(tower["axes"]):
        assert axis["inv_freq"] == pytest.approx(plain(10000, 40), rel=1e-9)
        assert axis["channels"] == [[20 * n + c, 20 * n + c + 40] for c in range(20)]


@pytest.mark.parametrize("model_type", ["siglip_vision_model", "dinov3_vit", "pixtral", "qwen3_vl_vision", "gemma4_vision", "qwen2_audio_encoder"])
def test_a_tower_alone(tmp_path, model_type):
    path = written(tmp_path, {"model_type": model_type})
    says = explained(path)
    assert says["known"] and not says["lengths"] and says["towers"][0]["words"] == says["answer"][0]
    assert " ".join(says["answer"][0].split()) in " ".join(gnomon("explain", path, check=0).stdout.split())
    assert "guess" not in gnomon("explain", path, check=0).stdout
    assert not json.loads(gnomon("lint", path, "--json", check=0).stdout)["findings"]
    assert "has no context to extend" in gnomon("extend", path, "--to", "4x", check=3).stderr
    assert "not as vLLM" in gnomon("explain", path, "--reader", "vllm", check=2).stderr


def test_lint_finds_nothing_wrong_in_files_of_towers(tmp_path):
    towers = json.loads((ROOT / "tests" / "golden" / "towers.json").read_text())["towers"]
    for n, tower in enumerate(towers):
        (tmp_path / f"{n}").mkdir()
        written(tmp_path / f"{n}", tower["config"])
        (tmp_path / f"bare-{n}").mkdir()
        written(tmp_path / f"bare-{n}", {"model_type": tower["type"]})
    found = json.loads(gnomon("lint", tmp_path, "--json", check=0).stdout)["findings"]
    assert {(f["rule"], f["severity"]) for f in found} <= {("theta-for-new-readers-only", "note")}  # Gemma 4 has 100 there


def test_a_tower_that_nobody_knows_is_named(tmp_path):
    unknown = LLAVA | {"vision_config": {"model_type": "of_somebody", "hidden_size": 64}}
    assert "gnomon does not know the tower vision_config (of_somebody)" in " ".join(gnomon("explain", written(tmp_path, unknown), check=0).stdout.split())


def test_whisper_has_an_encoder_and_a_decoder(tmp_path):
    says = explained(written(tmp_path, {"model_type": "whisper", "d_model": 1280, "encoder_layers": 32, "num_hidden_layers": 32, "decoder_layers": 4,
                                        "encoder_attention_heads": 20, "decoder_attention_heads": 20}))
    assert says["known"] and says["longest"] == 448 and says["layers"][0]["layers"] == [0, 1, 2, 3]
    assert says["towers"][0]["layers"] == 32 and "sines to each of 1,500 frames" in says["towers"][0]["words"]


def test_guesses_about_an_unknown_family_are_marked(tmp_path):
    novel = written(tmp_path, NOVEL)
    e = explained(novel)
    (layers,) = e["layers"]
    assert e["guessed"] and layers["guessed"] and {"pairing", "head_dim", "inv_freq", "kind"} <= set(layers["guesses"])
    assert not {"heads", "theta"} & set(layers["guesses"])
    for row in layers["sources"] + e["sources"]:
        assert row.get("guessed", False) == (row["key"] == ""), row
    lines = gnomon("explain", novel, check=0).stdout.splitlines()
    marked = {line.split()[0] for line in lines if line.startswith("  ") and "(guess)" in line}
    assert {"spec", "pairs", "rotated", "softmax", "heads", "kv_heads", "head_dim"} <= marked
    assert not {"theta", "width", "layers"} & marked


def test_nothing_of_a_known_family_is_marked(tmp_path):
    llama = written(tmp_path, dict(NOVEL, model_type="llama"))
    out = tmp_path / "page.html"
    for told in (gnomon("explain", llama, "--full", "--out", out, check=0).stdout, gnomon("explain", llama, "--json", check=0).stdout,
                 gnomon("explain", llama, "--readers", check=0).stdout, out.read_text()):
        assert "guess" not in told


def test_guesses_between_two_files_are_marked(tmp_path):
    llama, novel = written(tmp_path, dict(NOVEL, model_type="llama", num_attention_heads=8), "llama.json"), written(tmp_path, NOVEL)
    both = explained(llama, novel, check=1)
    by_name = {d["what"]: d for d in both["differences"]}
    assert "guesses" not in by_name["heads"] and by_name["head_dim"]["guesses"] == ["b"]
    assert any("partly a guess" in note for note in both["notes"])
    told = gnomon("explain", llama, novel, check=1).stdout
    assert [line.split()[0] for line in told.splitlines() if "(guess)" in line] == ["B"] * told.count("(guess)")


def test_an_unknown_architecture_of_gguf_is_a_guess(tmp_path):
    keys = {"general.architecture": "novel", "novel.block_count": 2, "novel.context_length": 512, "novel.embedding_length": 256,
            "novel.attention.head_count": 4, "novel.rope.freq_base": 70000.0}
    (layers,) = explained(gguf(tmp_path / "novel.gguf", keys))["layers"]
    assert {"pairing", "head_dim", "rotary_dim"} <= set(layers["guesses"]) and "theta" not in layers["guesses"]


def test_two_files_that_compute_the_same(tmp_path):
    config = json.loads((EXAMPLES / "llama-3.1.json").read_text())
    scaling = config.pop("rope_scaling")
    config["rope_parameters"] = scaling | {"rope_theta": config.pop("rope_theta")}  # as transformers 5 writes it
    new = written(tmp_path, config)
    done = gnomon("explain", EXAMPLES / "llama-3.1.json", new, check=0)
    assert "Both use positions in the same way." in done.stdout
    both = explained(EXAMPLES / "llama-3.1.json", new)
    assert both["same"] and both["differences"] == []


def test_two_files_that_do_not():
    both = explained(EXAMPLES / "llama-3.1.json", EXAMPLES / "llama-2.json", check=1)
    assert not both["same"]
    by_name = {d["what"]: d for d in both["differences"]}
    ratio = plain(1e4, 128) / llama3(5e5, 128, 8, 1, 4, 8192)
    assert math.isclose(by_name["frequencies"]["largest_ratio"], ratio.max(), rel_tol=1e-12)
    assert by_name["frequencies"]["layers"] == list(range(32))
    assert (by_name["KV heads"]["a"], by_name["KV heads"]["b"]) == ("8", "32")
    told = gnomon("explain", EXAMPLES / "llama-3.1.json", EXAMPLES / "llama-2.json", check=1).stdout
    assert "They use positions differently" in told and "layers 0 to 31: frequencies" in told


def test_a_model_and_its_gguf_compute_the_same(tmp_path):
    config = {"model_type": "llama", "hidden_size": 576, "num_hidden_layers": 30, "num_attention_heads": 9, "num_key_value_heads": 3,
              "max_position_embeddings": 8192, "rope_theta": 100000.0}
    keys = {"general.architecture": "llama", "llama.block_count": 30, "llama.context_length": 8192, "llama.embedding_length": 576,
            "llama.attention.head_count": 9, "llama.attention.head_count_kv": 3, "llama.rope.freq_base": 100000.0,
            "llama.rope.dimension_count": 64}
    same = gguf(tmp_path / "same.gguf", keys)
    assert explained(same)["reader"] == "llama.cpp" and explained(same)["layers"][0]["pairing"] == "adjacent"
    both = explained(written(tmp_path, config), same)
    assert both["same"] and len(both["notes"]) == 1 and "permuted the rows of q and k" in both["notes"][0]
    other = gguf(tmp_path / "other.gguf", keys | {"llama.rope.freq_base": 10000.0})
    both = explained(tmp_path / "config.json", other, check=1)
    assert [d["what"] for d in both["differences"]] == ["frequencies"]
    assert math.isclose(both["differences"][0]["largest_ratio"], 10 ** (62 / 64), rel_tol=1e-9)


def test_readers_are_compared():
    found = explained(EXAMPLES / "llama-3.1.json", "--readers")
    others = {o["reader"]: o for o in found["others"]}
    assert found["reader"] == "v5" and set(others) == {"v4", "llama.cpp", "vllm", "vllm-0.24", "sglang", "mlx", "tgi", "naive"}
    assert others["v4"]["same"] and not others["llama.cpp"]["reads"]
    (difference,) = others["naive"]["differences"]
    assert math.isclose(difference["largest_ratio"], 8, rel_tol=1e-12), "it knows nothing of llama3"
    told = gnomon("explain", EXAMPLES / "llama-3.1.json", "--readers", check=0).stdout
    for says in ["== a naive reader (2023, as transformers 4.31): computes something else:", "== transformers 4.57: computes the same",
                 "== vLLM 0.33: computes the same", "== vLLM 0.24: computes the same", "as transformers 5.23 reads it"]:
        assert says in told, says
    assert others["vllm"]["table_rows"] == 131072 and others["v4"]["table_rows"] == 0
    assert "table of cos and sin: 131,072 positions" in told
    versions = {o["reader"]: o["reader_version"] for o in found["others"]} | {found["reader"]: found["reader_version"]}
    assert versions == {"v5": "5.23.0", "v4": "4.57.6", "llama.cpp": "0.5.0", "vllm": "0.33.0", "vllm-0.24": "0.24.0",
                        "sglang": "0.5.23", "mlx": "0.32.2", "tgi": "3.3.7", "naive": "4.31"}


def test_what_a_reader_ignores_is_told(tmp_path):
    llama = json.loads((EXAMPLES / "llama-3.1.json").read_text())
    llama["rope_parameters"] = llama.pop("rope_scaling") | {"rope_theta": llama.pop("rope_theta")}
    others = {o["reader"]: o for o in explained(written(tmp_path, llama), "--readers")["others"]}
    assert [r["key"] for r in others["mlx"]["remarks"]] == ["rope_parameters"] and not others["mlx"]["same"]
    assert others["sglang"]["same"] and others["vllm"]["same"]


@pytest.mark.parametrize("content, told", [("{", "config.json"), ('{"model_type": "llama", "hidden_size": -5}', "hidden_size"),
                                           ('{"model_type": "llama", "rope_theta": "x"}', "rope_theta"), ("[1]", "config.json")])
def test_a_broken_file_is_malformed(tmp_path, content, told):
    assert told in gnomon("explain", written(tmp_path, content), check=3).stderr


@pytest.mark.parametrize("arguments, told", [(["--reader", "v6"], "unknown reader 'v6'"), (["--readers", "--out", "x.html"], "excludes")])
def test_wrong_usage(arguments, told):
    assert told in gnomon("explain", EXAMPLES / "llama-2.json", *arguments, check=2).stderr


def test_what_is_not_there_is_said(tmp_path):
    assert "none.json" in gnomon("explain", tmp_path / "none.json", check=4).stderr


def test_a_page_says_it_with_pictures(tmp_path):
    out = tmp_path / "page.html"
    gnomon("explain", EXAMPLES / "gemma-3.json", "--out", out, check=0)
    page = out.read_text()
    assert "What each layer sees" in page and "Wavelength of each pair" in page and "trained: 32,768" in page
    data = page.split('<script type="application/json" id="data">')[1].split("</script>")[0]
    assert json.loads(data) == explained(EXAMPLES / "gemma-3.json")


def test_a_window_to_both_sides_is_told_by_its_reach(tmp_path):
    """window(size=65) of ModernBERT has 129 keys, and so has that of LED's encoder, whose table has rows of its own."""
    said = gnomon("explain", written(tmp_path, {"model_type": "modernbert"}), check=0).stdout
    assert "a query sees keys nearer than 65 tokens" in " ".join(said.split()) and "at most 65" not in said
    led = {"model_type": "led", "attention_window": 128, "encoder_layers": 1, "decoder_layers": 1}
    said = " ".join(gnomon("explain", written(tmp_path, led), check=0).stdout.split())
    assert "there are 1,024 of them, and 16,384 in the encoder" in said and "sees keys nearer than 65 tokens" in said
    found = explained(written(tmp_path, led))
    assert (found["longest"], found["encoder_longest"]) == (1024, 16384)
    assert [layer["component"] for layer in found["layers"]] == ["encoder", "decoder"]
