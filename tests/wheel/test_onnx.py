"""Models of ONNX under a spec: onnxruntime and onnx's own evaluator compute what gn.attend computes, or the model is refused."""

import numpy as np
import pytest

onnx = pytest.importorskip("onnx", minversion="1.18")
runtime = pytest.importorskip("onnxruntime", minversion="1.24")

import gnomon as gn  # noqa: E402
import gnomon.onnx as gno  # noqa: E402
from onnx.reference import ReferenceEvaluator  # noqa: E402
from shapes import B, NAMES, SIZE, TOKENS, awake, qkv, small  # noqa: E402

TOLERANCE = 2e-6
# What of these encodings has no operator; all others are expressible.
REFUSED = {
    "rope_learned": "differs by head", "rope_mixed": "differs by head", "fope": "differs by head",
    "liere": "matrix on blocks", "comrope": "matrix on blocks", "cayley_string": "matrix on blocks", "circulant_string": "matrix on blocks",
    "vjepa2": "matrix on blocks",
    "pope": "softplus", "grape": "plane", "rerope": "distance of 64", "self_extend": "distance of 64",
    "shaw": "values by distance", "relative_key": "content and position", "relative_key_query": "content and position",
    "deberta": "content and position", "cope": "content and position", "dape": "content and position",
    "tupe": "appended", "stick_breaking": "stick-breaking",
    "transformer_xl": "reads rows", "grape_additive": "reads rows", "deberta_v2": "reads projections",
    "fox": "reads x", "content_profile": "reads x", "data_alibi": "reads x", "cable": "reads x", "wall": "reads x", "path": "reads x",
    "selective_rope": "reads x", "carope": "reads x", "repo": "reads x", "gape": "reads rows",
    "rope_heads": "differs by head",
}
SUMS = ["rope+alibi", "rope+fire", "rope+log_n", "t5+chunk(size=3)", "alibi+window(size=3)", "rope(pairing=adjacent)+window(size=2)",
        "rope(fraction=0.5)", "rope(fraction=0.5, pairing=adjacent)+kerple_log", "proportional(share=0.5)",
        "proportional(share=0.5, fraction=0.5)+t5"]
IDS = np.tile(np.arange(TOKENS), (B, 1))


def by_onnxruntime(model, feed):
    return runtime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"]).run(None, feed)


def by_onnx(model, feed):
    return ReferenceEvaluator(model).run(None, feed)


def computed(model, run=by_onnxruntime, **feed):
    """The outputs of a model that the checker takes."""
    onnx.checker.check_model(model, full_check=True)
    names = {i.name for i in model.graph.input}
    return run(model, {name: x for name, x in feed.items() if name in names})


def close(found, wanted):
    np.testing.assert_allclose(found, wanted, atol=TOLERANCE, rtol=TOLERANCE)


def directions(name):
    """causal or not, where the encoding allows it."""
    return (True,) if gn.help(name.partition("(")[0].partition("+")[0]).causal_only else (True, False)


@pytest.mark.parametrize("run", [by_onnxruntime, by_onnx])
@pytest.mark.parametrize("name", [*NAMES, *SUMS])
def test_it_is_attend(name, run):
    if name in REFUSED:
        with pytest.raises(gn.Error, match=REFUSED[name]):
            gno.model(small(name))
        return
    q, k, v = qkv()
    for causal in directions(name):
        pe = awake(small(name, causal=causal))
        y, = computed(gno.model(pe), run, q=q, k=k, v=v, position_ids=IDS)
        close(y, gn.attend(q, k, v, pe=pe))


def test_refused_are_encodings():
    assert set(REFUSED) < set(NAMES)


@pytest.mark.parametrize("name", ["rope", "rope(pairing=adjacent)"])
def test_the_other_pairing_is_seen(name):
    """Channels in the other pairs give other numbers: the comparison is able to fail."""
    pe, (q, k, v) = small(name), qkv()
    model = gno.model(pe)
    for node in model.graph.node:
        for a in node.attribute:
            if a.name == "interleaved":
                a.i = 1 - a.i
    y, = computed(model, q=q, k=k, v=v, position_ids=IDS)
    assert np.abs(y - gn.attend(q, k, v, pe=pe)).max() > 100 * TOLERANCE


@pytest.mark.parametrize("run", [by_onnxruntime, by_onnx])
@pytest.mark.parametrize("spec, sizes", [("rope", dict(soft_cap=2.0, scale=0.7)), ("rope_value+alibi", dict(scale=0.3)),
                                         ("alibi", dict(value_dim=4)), ("rope+window(size=2)", dict(value_dim=4, soft_cap=1.0))])
def test_groups_sizes_and_later_positions(spec, sizes, run):
    pe = small(spec, heads=4, kv_heads=2, **sizes)
    random = np.random.default_rng(0)
    q, k, v = (random.standard_normal((B, heads, TOKENS, size), np.float32) for heads, size in ((4, SIZE), (2, SIZE), (2, pe.value_dim)))
    y, = computed(gno.model(pe, length=3 + TOKENS), run, q=q, k=k, v=v, position_ids=3 + IDS)
    close(y, gn.attend(q, k, v, pe=pe, positions=3 + np.arange(TOKENS)))


@pytest.mark.parametrize("run", [by_onnxruntime, by_onnx])
@pytest.mark.parametrize("spec", ["none", "rope+alibi", "rope_value", "rope+window(size=3)", "alibi+chunk(size=2)", "fire", "xpos"])
def test_a_cache(spec, run):
    """Two tokens, then one, then the rest, with keys and values handed on."""
    pe = small(spec, heads=4, kv_heads=2)
    random = np.random.default_rng(0)
    q, k, v = (random.standard_normal((B, heads, TOKENS, SIZE), np.float32) for heads in (4, 2, 2))
    model, past, found = gno.model(pe, cache=True), [np.empty((B, 2, 0, SIZE), np.float32)] * 2, []
    for begin, end in ((0, 2), (2, 3), (3, TOKENS)):
        new = {name: x[:, :, begin:end] for name, x in (("q", q), ("k", k), ("v", v))}
        y, *past = computed(model, run, **new, position_ids=IDS[:, :end], past_key=past[0], past_value=past[1])
        found.append(y)
    close(np.concatenate(found, 2), gn.attend(q, k, v, pe=pe))


def test_positions_that_ids_stand_for():
    q, k, v = qkv()
    grid = np.array([[row, column] for row in range(2) for column in range(3)], float)
    pe = small("rope_axial", causal=False)
    y, = computed(gno.model(pe, positions=grid), q=q, k=k, v=v, position_ids=IDS)
    close(y, gn.attend(q, k, v, pe=pe, positions=np.tile(grid, (B, 1, 1))))
    pe, places = awake(small("rope+t5")), np.array([0, 3, 4, 9, 11, 30])
    y, = computed(gno.model(pe, positions=places), q=q, k=k, v=v, position_ids=IDS)
    close(y, gn.attend(q, k, v, pe=pe, positions=places))


def test_sequences_have_their_own_positions():
    pe, (q, k, v) = small("rope+alibi"), qkv()
    ids = np.stack([np.arange(TOKENS), 2 * np.arange(TOKENS) + 5])
    y, = computed(gno.model(pe, length=20), q=q, k=k, v=v, position_ids=ids)
    close(y, gn.attend(q, k, v, pe=pe, positions=ids))


@pytest.mark.parametrize("spec, sizes, says", [("alibi", dict(soft_cap=2.0), "after the cap"),
                                               ("rope(channels=4, offset=2)", {}, "channel 2")])
def test_what_the_operators_lack(spec, sizes, says):
    with pytest.raises(gn.Error, match=says):
        gno.model(small(spec, **sizes))


@pytest.mark.parametrize("spec", ["dynamic_ntk", "dynamic_yarn"])
def test_tables_that_change_with_the_length(spec):
    with pytest.raises(gn.Error, match="change with the length"):
        gno.model(small(spec), length=4 * TOKENS)


@pytest.mark.parametrize("spec", ["rope", "xpos", "yarn", "rope+alibi", "fire"])
def test_a_long_table_serves_short_sequences(spec):
    pe, (q, k, v) = small(spec), qkv()
    y, = computed(gno.model(pe, length=300), q=q, k=k, v=v, position_ids=IDS)
    close(y, gn.attend(q, k, v, pe=pe))


def test_positions_beyond_the_tables():
    q, k, v = qkv()
    with pytest.raises(Exception, match="(?i)position|bounds"):
        computed(gno.model(small("rope")), q=q, k=k, v=v, position_ids=IDS + 1)


def test_a_table_that_no_file_holds():
    with pytest.raises(gn.Error, match="too large for an ONNX file"):
        gno.model(gn.make("fire", heads=32), length=1 << 16)


def test_a_file_names_its_spec(tmp_path):
    gno.save(small("rope+alibi"), tmp_path / "model.onnx", length=12)
    model = onnx.load(tmp_path / "model.onnx")
    assert {p.key: p.value for p in model.metadata_props} == {"spec": "rope+alibi", "length": "12", "gnomon": gn.__version__}
    assert model.opset_import[0].version == gno.OPSET
    with pytest.raises(gn.Error, match="gnomon.make"):
        gno.model("rope")
