"""The package with NumPy alone: the registry, encodings, attention, models' files, studies."""

import importlib.util
import json
import os
import pathlib
import pickle
import subprocess
import sys
import threading

import numpy as np
import pytest

import gnomon as gn
from shapes import B, BESIDE, HEADS, INSIDE, NAMES, READS_WORDS, SIZE, TOKENS, awake, content, qkv, small

ROOT = pathlib.Path(__file__).parents[2]
LLAMA = ROOT / "docs/examples/llama-3.1.json"


def softmax_attention(q, k, v, bias=0, causal=True):
    """By its formula, in double."""
    q, k, v = (a.astype(np.float64) for a in (q, k, v))
    k, v = (np.repeat(a, q.shape[1] // k.shape[1], 1) for a in (k, v))
    logits = q @ k.swapaxes(2, 3) / np.sqrt(q.shape[3]) + bias
    if causal:
        logits = np.where(np.tri(q.shape[2], k.shape[2], k.shape[2] - q.shape[2], dtype=bool), logits, -np.inf)
    e = np.exp(logits - logits.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True) @ v


def turned(x, theta=10000.0, positions=None):
    """RoPE of halves (Su et al. 2021, arXiv 2104.09864; pairs (i, i + d/2) as GPT-NeoX has them), in double."""
    T, d = x.shape[2:]
    p = np.arange(T) if positions is None else np.asarray(positions, float)
    angle = p[:, None] * theta ** (-2.0 * np.arange(d // 2) / d)
    c, s = np.cos(angle), np.sin(angle)
    a, b = x[..., : d // 2].astype(float), x[..., d // 2:].astype(float)
    return np.concatenate([a * c - b * s, a * s + b * c], -1)


# --- The registry


def test_the_registry_is_the_programs():
    assert len(NAMES) == len(set(NAMES)) == len(json.loads(gn._core.encodings_json()))
    assert set(INSIDE) | set(BESIDE) | set(READS_WORDS) | {"randomised", "random_float", "shape", "cape"} >= set(NAMES) - {"none"}
    assert gn.help("yarn").year == 2023 and "beta_fast" in str(gn.help("yarn"))
    assert {"yarn", "xpos"} <= {e.name for e in gn.search("rotary", extrapolates=True)}
    assert {e.name for e in gn.search(acts="logits")} >= {"alibi", "t5"} and not gn.search("no such words")


@pytest.mark.parametrize("call, words", [
    (lambda: gn.make("rop", heads=2), "rope"), (lambda: gn.help("yarm"), "yarn"), (lambda: gn.make("rope(pairing=half)", heads=2), "halves"),
    (lambda: gn.make("alibi", heads=0), "heads"), (lambda: gn.make("rope", heads=6, kv_heads=4), "kv_heads"),
    (lambda: small("none").bias([0, 1]), "bias"), (lambda: small("t5").slopes, "slopes"), (lambda: small("alibi").frequencies, "frequencies"),
    (lambda: small("rope").vectors([0]), "input encoding"), (lambda: small("conv_position").vectors([0]), "word vectors"), (lambda: small("fox").rotate(*qkv()[:2]), "reads"),
    (lambda: gn.explain({"model_type": 3}), "model_type"), (lambda: gn.explain("/no/such/file"), "no/such"),
    (lambda: gn.study(settings={"study.data": "copy"}, arms=["rop"]), "rope"),
    (lambda: gn.attend(*qkv(dtype=np.float64), pe=small("rope")), "float32"),
    (lambda: gn.attend(*(a[0] for a in qkv()), pe=small("rope")), "extents"),
    (lambda: gn.attend(*qkv(), pe=small("rope"), bias=np.zeros((3, 3))), "broadcast"),
    (lambda: gn.attend(*qkv(), pe=small("rope"), positions=[0, 1]), "places"),
    (lambda: gn.attend(*qkv(), pe=small("rope"), positions=[np.nan] * TOKENS), "nan")])
def test_what_is_refused(call, words):
    with pytest.raises(ValueError) as caught:
        call()
    assert isinstance(caught.value, gn.Error) and words in str(caught.value)
    again = pickle.loads(pickle.dumps(caught.value))
    assert (str(again), again.fault, again.suggestions) == (str(caught.value), caught.value.fault, caught.value.suggestions)


# --- Encodings and attention


@pytest.mark.parametrize("kv_heads", [1, 2])
def test_attention_by_its_formula(kv_heads):
    q, k, v = qkv(kv_heads=kv_heads)
    y = gn.attend(q, k, v, pe=small("rope(pairing=halves)+alibi", kv_heads=kv_heads))
    slopes = 2.0 ** (-8 * np.arange(1, HEADS + 1) / HEADS)  # Press et al. 2022
    distance = np.arange(TOKENS)[:, None] - np.arange(TOKENS)
    wanted = softmax_attention(turned(q), turned(k), v, -slopes[:, None, None] * distance)
    np.testing.assert_allclose(y, wanted, atol=2e-6)
    wrong = gn.attend(q, k, v, pe=small("rope(pairing=adjacent)+alibi", kv_heads=kv_heads))
    assert np.abs(wrong - wanted).max() > 1e-2  # the other pairing is another encoding


def test_rotations_by_their_formula():
    q, k, _ = qkv()
    places = [0, 1, 2.5, 7, 100, 1e6]
    for name, found, given in zip("qk", small("rope(pairing=halves, theta=500000)").rotate(q, k, places), (q, k)):
        np.testing.assert_allclose(found, turned(given, 500000.0, places), atol=2e-6, err_msg=name)


@pytest.mark.parametrize("name", INSIDE)
def test_every_encoding_attends(name):
    pe = awake(small(name))
    q, k, v = qkv()
    done = gn.attention(q, k, v, pe=pe, **content(pe))
    assert done.out.shape == q.shape and np.isfinite(done.out).all() and done.lse.shape == q.shape[:3]
    back = done.backward(np.ones_like(done.out))
    assert set(back) >= {"q", "k", "v", "w"} and all(np.isfinite(g).all() for g in back.values())
    again = gn.attend(q, k, v, pe=awake(small(name)), **content(pe))
    np.testing.assert_array_equal(again, done.out)


@pytest.mark.parametrize("name", [n for n in INSIDE if n not in ("dynamic_ntk", "dynamic_yarn", "longrope", "log_n")])
def test_a_cache_gives_what_attending_at_once_gives(name):
    pe = awake(small(name))
    q, k, v = qkv()
    given = content(pe)
    if (pe.reads and name != "repo") or name == "xpos":  # the scale of xpos counts from the middle of the window
        with pytest.raises(gn.Error, match="no key cache"):
            gn.KeyCache(pe, capacity=TOKENS)
        return
    cache = gn.KeyCache(pe, sequences=B, capacity=TOKENS)
    steps = [gn.attend(*(a[:, :, t:t + 1] for a in (q, k, v)), pe=pe, cache=cache, **{n: x[:, t:t + 1] for n, x in given.items()})
             for t in range(TOKENS)]
    np.testing.assert_allclose(np.concatenate(steps, 2), gn.attend(q, k, v, pe=pe, **given), atol=3e-6)
    assert len(cache) == TOKENS and cache.rows()[1].shape == (HEADS, TOKENS, SIZE)


@pytest.mark.parametrize("name", ["alibi", "rope", "kerple_log", "stick_breaking"])
def test_a_cache_reads_biases_masks_and_sinks(name):
    pe, (q, k, v), random = small(name), qkv(), np.random.default_rng(5)
    given = dict(bias=random.standard_normal((HEADS, TOKENS, TOKENS)).astype(np.float32),
                 mask=(random.random((B, 1, TOKENS, TOKENS)) > .3) | np.eye(TOKENS, dtype=bool))
    sinks = {} if name == "stick_breaking" else {"sinks": random.standard_normal(HEADS)}
    cache, steps = gn.KeyCache(pe, sequences=B, capacity=TOKENS), []
    for t in range(TOKENS):
        rows = {name: x[..., t:t + 1, :t + 1] for name, x in given.items()}
        steps.append(gn.attend(*(a[:, :, t:t + 1] for a in (q, k, v)), pe=pe, cache=cache, **rows, **sinks))
    np.testing.assert_allclose(np.concatenate(steps, 2), gn.attend(q, k, v, pe=pe, **given, **sinks), atol=3e-6)
    with pytest.raises(gn.Error, match="bias: found"):  # of all keys, not of the new ones
        gn.attend(q, k, v, pe=pe, cache=gn.KeyCache(pe, sequences=B, capacity=2 * TOKENS), bias=given["bias"][..., 1:])


def test_a_cache_does_not_keep_padding():
    pe, (q, k, v) = small("rope+alibi"), qkv()
    padding = np.zeros((B, TOKENS), bool)
    padding[0, :2] = padding[1, 3] = True
    cache, steps = gn.KeyCache(pe, sequences=B, capacity=TOKENS), []
    for t in range(TOKENS):
        new = (a[:, :, t:t + 1] for a in (q, k, v))
        steps.append(gn.attend(*new, pe=pe, cache=cache, positions=[t], padding=padding[:, t:t + 1]))
    assert cache.lengths()[:2] == [TOKENS - 2, TOKENS - 1]
    at_once = gn.attend(q, k, v, pe=pe, padding=padding)
    shown = ~padding[:, None].repeat(HEADS, 1)
    np.testing.assert_allclose(np.concatenate(steps, 2)[shown], at_once[shown], atol=3e-6)


def test_masks_biases_padding_and_sinks():
    q, k, v = qkv()
    random = np.random.default_rng(4)
    bias = random.standard_normal((HEADS, TOKENS, TOKENS))
    pe = small("none", causal=False)
    np.testing.assert_allclose(gn.attend(q, k, v, pe=pe, bias=bias), softmax_attention(q, k, v, bias, causal=False), atol=2e-6)
    mask = np.tri(TOKENS, dtype=bool)
    np.testing.assert_allclose(gn.attend(q, k, v, pe=pe, mask=mask), softmax_attention(q, k, v), atol=2e-6)
    padding = np.zeros((B, TOKENS), bool)
    padding[:, -2:] = True
    np.testing.assert_allclose(gn.attend(q, k, v, pe=pe, padding=padding),
                               softmax_attention(q, k[:, :, :-2], v[:, :, :-2], causal=False), atol=2e-6)
    sinks = np.array([0.5, -1], np.float32)
    with_sink = gn.attention(q, k, v, pe=pe, sinks=sinks)
    share = 1 / (1 + np.exp(sinks[None, :, None] - gn.attention(q, k, v, pe=pe).lse))
    np.testing.assert_allclose(with_sink.out, softmax_attention(q, k, v, causal=False) * share[..., None], atol=2e-6)


def test_layouts_are_read_in_place():
    """(B, tokens, heads, channels) and (tokens, ...) give the same as dense rows; so do every second token and float16."""
    q, k, v = qkv()
    pe = small("rope")
    dense = gn.attend(q, k, v, pe=pe)
    for order in ((0, 2, 1, 3), (2, 0, 1, 3)):
        back = np.argsort(order)
        np.testing.assert_array_equal(gn.attend(*(np.ascontiguousarray(a.transpose(order)).transpose(back) for a in (q, k, v)), pe=pe), dense)
    np.testing.assert_array_equal(gn.attend(*(np.repeat(a, 2, 2)[:, :, ::2] for a in (q, k, v)), pe=pe), dense)
    assert gn.attend(*(a.astype(np.float16) for a in (q, k, v)), pe=pe).dtype == np.float16


@pytest.mark.parametrize("name", BESIDE)
def test_vectors_beside_the_words(name):
    pe = small(name)
    vectors = pe.vectors(np.arange(TOKENS))
    assert vectors.shape == (TOKENS, HEADS * SIZE) and np.isfinite(vectors).all()
    if name != "normalised":  # by the length of the row
        np.testing.assert_array_equal(pe.vectors(np.arange(TOKENS).reshape(2, 3)), vectors.reshape(2, 3, -1))


def test_the_sinusoid_by_its_formula():
    p, i = np.arange(50.0)[:, None], np.arange(8)
    angle = p / 10000 ** (i / 8)  # Vaswani et al. 2017, section 3.5, width 16
    wanted = np.stack([np.sin(angle), np.cos(angle)], -1).reshape(50, 16)
    np.testing.assert_allclose(small("sinusoidal").vectors(np.arange(50)), wanted, atol=1e-6)


def test_parameters_are_its_own_numbers():
    pe = small("t5")
    before = gn.attend(*qkv(), pe=pe)
    pe.parameters()["0.bias"][:] += np.random.default_rng(1).standard_normal(pe.parameters()["0.bias"].shape)
    assert np.abs(gn.attend(*qkv(), pe=pe) - before).max() > 1e-2


def test_layers_and_samplers():
    spec = "[rope+window(size=3), none]+randomised(most=50)"
    assert small(spec, layer=0).acts == "qk, mask, positions" and small(spec, layer=1).acts == "positions"
    drawn = small(spec).sampled(np.arange(TOKENS), seed=3)
    assert (np.diff(drawn) > 0).all() and drawn.max() < 50
    np.testing.assert_array_equal(drawn, small(spec).sampled(np.arange(TOKENS), seed=3))


def test_a_plan_is_data():
    plan = small("rope+alibi").plan(tokens=4)
    assert "rotate" in str(plan)
    (step,) = plan.steps
    assert step["kind"] == "rotate" and step["cos"].shape == (1, 4, SIZE // 2) and step["roles"] == ["q", "k"]
    assert plan.terms["arrays"]["by_distance"].shape[0] == HEADS


def test_threads_work_side_by_side():
    """The interpreter's lock is not held, and every thread has its own team: the same bits."""
    q, k, v = (np.random.default_rng(0).standard_normal((2, 4, 200, 32)).astype(np.float32) for _ in range(3))
    pe = gn.make("rope+alibi", heads=4, head_dim=32)
    wanted, found = gn.attend(q, k, v, pe=pe), []
    def work():
        gn.set_threads(1)
        for _ in range(5):
            found.append(gn.attend(q, k, v, pe=pe))
    threads = [threading.Thread(target=work) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert len(found) == 20 and all(np.array_equal(f, wanted) for f in found)


def test_a_forked_child_attends():
    code = ("import os, numpy as np, gnomon as gn\n"
            "q = np.ones((1, 8, 300, 16), np.float32); y = gn.attend(q, q, q, pe='rope')\n"
            "child = os.fork()\n"
            "ok = np.array_equal(gn.attend(q, q, q, pe='rope'), y)\n"
            "os._exit(0 if ok else 3) if child == 0 else None\n"
            "assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0 and ok\n")
    subprocess.run([sys.executable, "-W", "ignore", "-c", code], check=True, timeout=60)


# --- Files of models, the program, studies


def test_towers_of_a_models_file():
    tower, = gn.explain({"model_type": "dinov3_vit"}).towers
    assert tower["known"] and [axis["axis"] for axis in tower["axes"]] == ["row", "column"] and gn.explain(LLAMA).towers == []


def test_a_models_file():
    x = gn.explain(LLAMA)
    assert "llama3" in x.spec and len(x.layers[0]["inv_freq"]) == 64 and x.warnings == []
    assert any(row["what"] == "theta" and row["value"] == "500000" for row in x.table) and str(x).startswith("llama")
    pe = x.encoding(layer=3)
    assert (pe.heads, pe.kv_heads, pe.head_dim) == (32, 8, 128)
    np.testing.assert_allclose(pe.frequencies, x.layers[0]["inv_freq"], rtol=1e-12)
    assert gn.explain(json.loads(LLAMA.read_text())).spec == x.spec
    assert x.check(np.array(x.layers[0]["inv_freq"], np.float32))[0]["agrees"]
    assert not x.check(np.array(x.layers[0]["inv_freq"], np.float32) ** 1.01)[0]["agrees"]
    assert not x.guessed and not any("guessed" in row for row in x.table)
    novel = gn.explain({**json.loads(LLAMA.read_text()), "model_type": "novel"})
    assert novel.guessed and {row["what"] for row in novel.table if row.get("guessed")} >= {"pairing", "scale"}
    same, _ = x.differs_from(gn.explain(LLAMA, reader="naive"))
    assert not same and "<iframe" in x._repr_html_() and x.page().startswith("<!")


@pytest.mark.parametrize("settings", [
    {"rope_type": "default"}, {"rope_type": "linear", "factor": 2.0}, {"rope_type": "dynamic", "factor": 3.0},
    {"rope_type": "yarn", "factor": 4.0, "beta_fast": 16.0, "original_max_position_embeddings": 2048},
    {"rope_type": "yarn", "factor": 4.0, "attention_factor": 1.5, "original_max_position_embeddings": 2048, "truncate": False},
    {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0, "original_max_position_embeddings": 2048},
    {"rope_type": "default", "partial_rotary_factor": 0.5}], ids=lambda s: "-".join(map(str, s.values())))
def test_settings_say_the_same_again(settings):
    config = {"model_type": "llama", "hidden_size": 512, "num_attention_heads": 8, "num_hidden_layers": 2, "max_position_embeddings": 8192,
              "rope_parameters": {"rope_theta": 20000.0, **settings}}
    x = gn.explain(config)
    said = x.to_hf()
    again = gn.explain({**config, "rope_parameters": said})
    same, differences = x.differs_from(again)
    assert same, differences
    other = gn.explain({**config, "rope_parameters": {**said, "rope_theta": 10000.0}})
    assert not x.differs_from(other)[0]
    if settings["rope_type"] in ("default", "linear", "yarn"):
        assert x.to_llama_cpp()[0] == "--rope-scaling" and "20000" in x.to_llama_cpp()
    else:
        with pytest.raises(gn.Error, match="llama.cpp"):
            x.to_llama_cpp()


def test_what_settings_cannot_say():
    with pytest.raises(gn.Error, match="no rotation"):
        gn.explain({"model_type": "bloom", "hidden_size": 64, "n_head": 4, "n_layer": 1}).to_hf()


def test_lint_extend_and_check(tmp_path):
    assert gn.lint(LLAMA)["findings"] == []
    wrong = json.loads(LLAMA.read_text())
    wrong["rope_scaling"]["factor"] = -1
    assert gn.lint(wrong)["errors"] > 0
    with pytest.raises(gn.Error, match="lint finds .*force=True"):
        gn.extend(wrong, to="4x")
    folder = tmp_path / "wrong"
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(wrong))
    both = gn.lint([LLAMA, folder])
    assert [f["file"] for f in both["files"]] == [str(LLAMA), str(folder / "config.json")]
    assert both["errors"] == gn.lint(wrong)["errors"] and {f["file"] for f in both["findings"]} == {str(folder / "config.json")}
    accepted = tmp_path / "accepted.json"
    accepted.write_text(json.dumps({"exceptions": [{"rule": f["rule"], "path": "wrong", "reason": "a test"} for f in both["findings"]]}))
    assert gn.lint(folder, exceptions=accepted)["findings"] == []
    plan = gn.extend(ROOT / "docs/examples/llama-2.json", to=16384)
    assert plan == gn.extend(ROOT / "docs/examples/llama-2.json", to="16k") == gn.extend(ROOT / "docs/examples/llama-2.json", to="4x")
    ways = {m["method"] for m in plan["methods"]}
    assert {"linear", "ntk", "yarn"} <= ways
    q, k, _ = qkv()
    for pairing in ("halves", "adjacent"):
        after = small(f"rope(pairing={pairing})").rotate(q, k)[0][0]
        (found,) = gn.check({"q_before": q[0], "q_after": after})
        assert found["follows"] and ("adjacent" in found["spec"]) == (pairing == "adjacent"), found


def test_a_study_and_its_results(tmp_path):
    small_study = {"study.data": "copy", "model.layers": 1, "model.width": 24, "model.heads": 2, "train.steps": 20, "train.batch": 2,
                   "study.budgets": "1", "tune.rates": "0.002, 0.004", "study.workers": 2}
    study = gn.study(settings=small_study, arms=["none", "rope"], seeds=2, out=tmp_path / "s")
    assert "rope" in study.plan() and not (tmp_path / "s").exists()
    results = study.run()
    assert {row["arm"] if "arm" in row else row["spec"] for row in results.rows()} == {"none", "rope"}
    assert "<iframe" in results._repr_html_() and results.data["arms"]
    pandas = pytest.importorskip("pandas")
    assert isinstance(results.to_pandas(), pandas.DataFrame)


def test_a_trained_model_is_inspected(tmp_path, capsys):
    found = importlib.util.spec_from_file_location("of_the_program", ROOT / "tests/python/conftest.py")
    of_the_program = importlib.util.module_from_spec(found)
    found.loader.exec_module(of_the_program)
    text = tmp_path / "text.txt"
    text.write_text("the cat sat on the mat . a dog ran far away ; rain fell all night . we sang . " * 200)
    model = of_the_program.tiny_bert(tmp_path / "bert")
    inspection = gn.inspect(model, text=text, windows=4)
    told = capsys.readouterr().err.splitlines()
    assert told[0] == "gnomon: position table against word table" and all(" s left)" in line for line in told[1:])
    assert inspection.page().startswith("<!") and "<iframe" in inspection._repr_html_()
    # What the program prints of it.
    printed = gn.program.run("inspect", model, "--text", text, "--windows", 4, "--json", quiet=True)
    assert inspection.data == json.loads(printed) and inspection["layers"]
    ids = tmp_path / "ids.txt"
    ids.write_text(" ".join(str(4 + n * n % 17) for n in range(3000)))
    of_ids = gn.inspect(ROOT / "tests/golden/opened/llama", ids=ids, each_head=True, quiet=True)
    assert of_ids["without_head"] and of_ids["text"] == str(ids) and capsys.readouterr().err == ""
    for wrong, words in ((dict(text=text, ids=ids), "exactly one"), ({}, "exactly one"), (dict(text=text, window=5), "window is 5"),
                         (dict(text=text, windows=1.5), "windows: found 1.5"), (dict(text=text, beyond="2"), "beyond: found"),
                         (dict(text=text, beyond=float("inf")), "beyond is inf"), (dict(text=3), "text: found int")):
        with pytest.raises(gn.Error, match=words):
            gn.inspect(model, **wrong)
    with pytest.raises(gn.Error, match="no/such|cannot"):
        gn.inspect("/no/such", text=text)


def test_the_program_is_inside():
    for command in ([sys.executable, "-m", "gnomon"], [pathlib.Path(sys.executable).parent / "gnomon"]):
        if not pathlib.Path(command[0]).exists():
            pytest.skip("the package is not installed")
        done = subprocess.run([*command, "encodings", "rope"], capture_output=True, text=True)
        assert done.returncode == 0 and "pairing" in done.stdout
    assert subprocess.run([sys.executable, "-m", "gnomon", "bogus"], capture_output=True).returncode == 2


@pytest.mark.parametrize("call, name, how", [
    (gn.explain, "org/name", 'snapshot_download("org/name", allow_patterns="*.json")'),
    (gn.explain, "org/name@v1", 'snapshot_download("org/name", revision="v1", allow_patterns="*.json")'),
    (gn.explain, "org/name/a.gguf", 'hf_hub_download("org/name", "a.gguf")'),
    (gn.lint, "org/name", 'snapshot_download("org/name")'),
    (lambda name: gn.extend(name, to="4x"), "org/name", 'snapshot_download("org/name", allow_patterns="*.json")'),
    (lambda name: gn.inspect(name, text=LLAMA), "org/name", 'snapshot_download("org/name")')])
def test_a_model_that_is_not_there_is_fetched_by_what_python_has(call, name, how, tmp_path, monkeypatch):
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path))
    with pytest.raises(gn.Error) as found:
        call(name)
    assert f"Fetch it with huggingface_hub.{how}, or give the path" in str(found.value) and "--download" not in str(found.value)


def test_the_program_inside_offers_no_download_that_it_has_not(tmp_path):
    done = subprocess.run([sys.executable, "-m", "gnomon", "explain", "org/name"], capture_output=True, text=True,
                          env=os.environ | {"HF_HUB_CACHE": str(tmp_path)})
    assert done.returncode == 4 and "Fetch it with `hf download org/name`." in done.stderr and "--download" not in done.stderr


def test_a_model_in_the_cache_is_known_by_its_name(tmp_path, monkeypatch):
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path))
    repo, commit = tmp_path / "models--org--name", "0123456789" * 4
    (repo / "snapshots" / commit).mkdir(parents=True)
    (repo / "refs").mkdir()
    (repo / "refs" / "main").write_text(commit)
    (repo / "snapshots" / commit / "config.json").write_bytes((ROOT / "docs/examples/llama-2.json").read_bytes())
    assert gn.explain("org/name").spec == gn.explain(ROOT / "docs/examples/llama-2.json").spec
    by_name, by_path = gn.extend("org/name", to="4x"), gn.extend(ROOT / "docs/examples/llama-2.json", to="4x")
    assert by_name["methods"] and by_name["methods"] == by_path["methods"]


def test_other_libraries_arrays():
    """Any array that speaks DLPack goes in; what comes out is of its library."""
    jax = pytest.importorskip("jax")
    q, k, v = qkv()
    y = gn.attend(*(jax.numpy.asarray(a) for a in (q, k, v)), pe=small("rope"))
    assert isinstance(y, jax.Array)
    np.testing.assert_array_equal(np.asarray(y), gn.attend(q, k, v, pe=small("rope")))


def test_bfloat16_of_numpy():
    types = pytest.importorskip("ml_dtypes")
    q, k, v = (a.astype(types.bfloat16) for a in qkv())
    y = gn.attend(q, k, v, pe=small("rope"))
    assert y.dtype == types.bfloat16
