"""What the calls do not take is refused in gnomon's words, which name the argument; what means something else is not guessed."""

import json
import pathlib

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import gnomon as gn  # noqa: E402
import gnomon.torch as gnt  # noqa: E402
from gnomon.torch import flex, plain  # noqa: E402
from shapes import B, HEADS, INSIDE, SIZE, TOKENS, awake, content, qkv, small  # noqa: E402

LLAMA = pathlib.Path(__file__).parents[2] / "docs/examples/llama-3.1.json"
ADDED = np.where(np.tri(TOKENS, dtype=bool), 0, -np.inf).astype(np.float32)
HIDDEN = np.zeros((B, TOKENS), bool)


def numpy_rows(seed=0):
    return qkv(seed)


def torch_rows(seed=0):
    return [torch.from_numpy(a) for a in qkv(seed)]


BOTH = pytest.mark.parametrize("rows", [numpy_rows, torch_rows])


@BOTH
@pytest.mark.parametrize("given, words", [
    (dict(mask=ADDED), "bias="), (dict(mask=ADDED.tolist()), "bias="), (dict(mask=torch.from_numpy(ADDED).bfloat16()), "bias="),
    (dict(mask=np.ones((TOKENS, TOKENS))), "bias="),
    (dict(mask=np.where(ADDED == 0, 0, -10000)), "mask: found -10000.*bias="), (dict(mask=torch.where(torch.from_numpy(ADDED) == 0, 0, -1)), "mask: found -1"),
    (dict(cache=3), "cache: found int"), (dict(cache=small("rope")), "cache: found Encoding"),
    (dict(padding=np.ones((B, TOKENS), np.int64)), "attention_mask"), (dict(padding=torch.ones(B, TOKENS, dtype=torch.long)), "attention_mask"),
    (dict(padding=[[1] * TOKENS] * B), "attention_mask"),
    (dict(padding=HIDDEN.T), "padding: found"), (dict(padding=HIDDEN.reshape(-1)), "padding: found"),
    (dict(padding=HIDDEN[None]), "padding: found"), (dict(padding=HIDDEN[:, 1:]), "padding: found"),
    (dict(bias=np.zeros((3, 3))), "bias: found"), (dict(mask=np.ones((3, 3), bool)), "mask: found"),
    (dict(sinks=np.zeros(3)), "sinks: found"),
    (dict(x=np.zeros((B, TOKENS, HEADS * SIZE), np.float32)), "x: 'rope' does not read it"),
    (dict(projections=np.zeros(2 * HEADS * SIZE * (HEADS * SIZE + 1), np.float32)), "projections: 'rope' does not read it"),
    (dict(positions=np.zeros((B, TOKENS, 2))), "2 axes"), (dict(positions=np.zeros((1, TOKENS, 3))), "3 axes")])
def test_attend_refuses(rows, given, words):
    with pytest.raises(gn.Error, match=words):
        gn.attend(*rows(), pe=small("rope"), **given)


@BOTH
def test_masks_that_mean_what_they_say(rows):
    """The same thing said in every way that is taken."""
    wanted = np.asarray(gn.attend(*rows(), pe=small("rope")))
    for given in (dict(mask=ADDED == 0), dict(mask=(ADDED == 0).astype(np.uint8)), dict(mask=(ADDED == 0).tolist()), dict(bias=ADDED),
                  dict(bias=ADDED.tolist()), dict(mask=torch.from_numpy(ADDED == 0)), dict(bias=torch.from_numpy(ADDED)),
                  dict(padding=HIDDEN), dict(padding=HIDDEN.tolist()), dict(padding=torch.from_numpy(HIDDEN)),
                  dict(positions=list(range(TOKENS))), dict(positions=np.arange(TOKENS)[None, :, None])):
        np.testing.assert_allclose(np.asarray(gn.attend(*rows(), pe=small("rope", causal=not {"mask", "bias"} & set(given)), **given)), wanted,
                                   atol=1e-6)
    sinks = [np.asarray(gn.attend(*rows(), pe=small("rope"), sinks=s)) for s in ([0.5, -1.0], np.array([0.5, -1.0]), torch.tensor([0.5, -1.0]))]
    np.testing.assert_array_equal(sinks[0], sinks[1])
    np.testing.assert_array_equal(sinks[0], sinks[2])
    assert np.abs(sinks[0] - wanted).max() > 1e-3


@pytest.mark.parametrize("name", [n for n in INSIDE if {"x", "projections"} & set(small(n).reads)])
def test_content_of_numpy_beside_tensors(name):
    pe = awake(small(name))
    given = content(pe)
    wanted = gn.attend(*numpy_rows(), pe=pe, **given)
    np.testing.assert_allclose(gn.attend(*torch_rows(), pe=pe, **given).numpy(), wanted, atol=1e-6)


@BOTH
def test_a_cache_takes_arrays(rows):
    pe, given = small("rope"), dict(sinks=np.array([0.5, -1.0]), padding=HIDDEN, bias=ADDED, mask=ADDED == 0)
    found = gn.attend(*rows(), pe=pe, cache=gn.KeyCache(pe, sequences=B, capacity=TOKENS), **given)
    np.testing.assert_allclose(np.asarray(found), np.asarray(gn.attend(*rows(), pe=pe, **given)), atol=1e-6)
    with pytest.raises(gn.Error, match="padding: found"):
        gn.attend(*rows(), pe=pe, cache=gn.KeyCache(pe, sequences=B, capacity=TOKENS), padding=HIDDEN.T)


@BOTH
@pytest.mark.parametrize("spec, words", [("sinusoidal", "input encoding"), ("learned", "input encoding"), ("sinusoidal+rope", "input encoding"),
                                         ("[rope, none]", "layers"), ("rope+randomised(most=50)", "sampler")])
def test_a_text_says_what_attention_does(rows, spec, words):
    with pytest.raises(gn.Error, match=words):
        gn.attend(*rows(), pe=spec)
    assert gn.attend(*rows(), pe=small(spec)).shape == (B, HEADS, TOKENS, SIZE)  # whoever made it has the rest


@BOTH
def test_rows_are_looked_at_before_the_spec(rows):
    q, k, v = rows()
    for wrong in ((q[0], k[0], v[0]), (q, k[0], v), (q[:, :, :, :, None], k, v)):
        with pytest.raises(gn.Error, match="extents"):
            gn.attend(*wrong, pe="rope")
    with pytest.raises(gn.Error, match="float64"):
        gn.attend(*((a.double() if rows is torch_rows else a.astype(float)) for a in (q, k, v)), pe="rope")
    with pytest.raises(gn.Error, match="pe: found int"):
        gn.attend(q, k, v, pe=3)
    with pytest.raises(gn.Error):
        gn.attend([1.0, 2.0], [1.0], [1.0], pe="rope")


@BOTH
@pytest.mark.parametrize("learns", [False, True])
def test_more_queries_than_keys(rows, learns):
    q, k, v = rows()
    if learns and rows is torch_rows:
        q.requires_grad_()
    with pytest.raises(gn.Error, match="queries: found 6 for 3 keys.*help.gnomon.attend"):
        gn.attend(q, k[:, :, :3], v[:, :, :3], pe=small("rope", causal=False))


def to_another_sequence(q, k, v, pe, query_places, key_places, attend=gn.attend):
    """As the documentation of gnomon.attend() says."""
    queries = q.shape[2]
    longer = (lambda x: torch.nn.functional.pad(x, (0, 0, 0, queries))) if isinstance(q, torch.Tensor) else (
        lambda x: np.pad(x, ((0, 0), (0, 0), (0, queries), (0, 0))))
    hidden = np.arange(len(key_places) + queries) >= len(key_places)
    return attend(q, longer(k), longer(v), pe=pe, positions=[*key_places, *query_places], padding=np.tile(hidden, (B, 1)))


PLACES = [(range(6), range(3)), ([0, 4, 5, 6, 20, 21], [1, 8, 30])]


@pytest.mark.parametrize("places", PLACES)
@pytest.mark.parametrize("spec", ["none", "rope", "alibi", "t5", "rope+kerple_log"])
def test_attention_to_another_sequence(spec, places):
    """Rotations at their own places and the bias of the definition, by NumPy; the queries elsewhere give other numbers."""
    pe, (q, k, v) = awake(small(spec, causal=False)), numpy_rows()
    k, v = k[:, :, :3], v[:, :, :3]

    def by_formula(query_places, key_places):
        logits = pe.scale * pe.rotate(q, q, query_places)[0].astype(float) @ pe.rotate(k, k, key_places)[1].swapaxes(2, 3)
        if "logits" in pe.acts:
            logits = logits + pe.bias(query_places, key_places)
        weights = np.exp(logits)
        return weights / weights.sum(-1, keepdims=True) @ v

    wanted = by_formula(*places)
    np.testing.assert_allclose(to_another_sequence(q, k, v, pe, *places), wanted, atol=2e-6)
    assert spec == "none" or np.abs(by_formula(range(3, 9), places[1]) - wanted).max() > 1e-3
    tensors = [torch.from_numpy(a).requires_grad_() for a in (q, k, v)]
    y = to_another_sequence(*tensors, gnt.make(pe), *places)
    np.testing.assert_allclose(y.detach().numpy(), wanted, atol=2e-6)
    y.square().sum().backward()
    assert tensors[1].grad.abs().max() > 1e-3

    def of_other_devices(q, k, v, pe, positions, padding):
        return plain.attend(pe, q, k, v, torch.from_numpy(pe.w), positions=positions, padding=torch.from_numpy(padding))

    np.testing.assert_allclose(to_another_sequence(*torch_rows()[:1], *map(torch.from_numpy, (k, v)), pe, *places, of_other_devices).numpy(),
                               wanted, atol=2e-6)


def test_positions_of_other_axes():
    plane, line = small("rope_2d" if "rope_2d" in [e.name for e in gn.encodings()] else "mrope(sections=1/1/2)"), small("rope")
    axes = plane._scheme.axes
    assert axes > 1
    q, k, v = qkv()
    right, wrong = np.zeros((1, TOKENS, axes)), np.zeros((1, TOKENS, axes + 1))
    plane.rotate(q, k, right)
    for call in (lambda: plane.rotate(q, k, wrong), lambda: plane.plan(wrong), lambda: line.rotate(q, k, right), lambda: line.plan(right),
                 lambda: small("sinusoidal").vectors(right), lambda: gnt.make(line).rotate(*torch_rows()[:2], right)):
        with pytest.raises(gn.Error, match="axes"):
            call()
    for places in (np.arange(6).reshape(2, 3), np.zeros((1, 3, 1))):
        with pytest.raises(gn.Error, match="one row"):
            small("alibi").bias(places)
    with pytest.raises(gn.Error, match="keys: found"):
        small("alibi").bias([0, 1], keys=[[0, 1]])


@pytest.mark.parametrize("given, words", [
    (dict(heads=8.0), "heads: found 8.0"), (dict(heads="8"), "heads: found '8'"), (dict(heads=2**70), "heads: found"), (dict(heads=True), "heads: found True"),
    (dict(heads=None), "heads: found None"), (dict(head_dim=4.5), "head_dim"), (dict(kv_heads=[1]), "kv_heads"), (dict(length=1e4), "length"),
    (dict(width="wide"), "width"), (dict(value_dim=np.array([8])), "value_dim"), (dict(causal="no"), "causal: found 'no'"), (dict(causal=1), "causal"),
    (dict(seed=-1), "seed: found -1"), (dict(seed=2**64), "seed"), (dict(layer=0.5), "layer"), (dict(layer=-1), "layer"), (dict(scale="big"), "scale"),
    (dict(soft_cap=None), "soft_cap"), (dict(scale=[1.0]), "scale")])
def test_make_names_the_argument(given, words):
    for make in (gn.make, gnt.make):
        with pytest.raises(gn.Error, match=words):
            make("rope", **{"heads": 2, **given})


@pytest.mark.parametrize("cap", [-1, float("nan"), float("inf")])
def test_a_soft_cap_is_looked_at_when_it_is_said(cap):
    with pytest.raises(gn.Error, match="soft_cap"):
        small("rope", soft_cap=cap)


@BOTH
@pytest.mark.parametrize("kept, read", [("rope", "rope(theta=100)"), ("llama3(original=8192)", "alibi"), ("alibi", "none"), ("t5", "rope"),
                                        ("rope(pairing=halves)", "rope(pairing=adjacent)")])
def test_a_cache_is_of_one_encoding(rows, kept, read):
    """Its keys are turned already: another encoding cannot mean them. It is left as it was."""
    q, k, v = rows()
    cache = gn.KeyCache(small(kept), sequences=B, capacity=2 * TOKENS)
    gn.attend(q, k, v, pe=small(kept), cache=cache)
    with pytest.raises(gn.Error, match="cache"):
        gn.attend(q[:, :, :1], k[:, :, :1], v[:, :, :1], pe=small(read), cache=cache)
    assert len(cache) == TOKENS
    gn.attend(q[:, :, :1], k[:, :, :1], v[:, :, :1], pe=small(kept), cache=cache)  # made once more, it is the same
    assert len(cache) == TOKENS + 1


@BOTH
@pytest.mark.parametrize("spec", ["rope_learned", "pope", "t5", "rope+kerple_log"])
def test_a_cache_is_of_one_set_of_parameters(rows, spec):
    """Its keys were turned by those of the first call, whether another encoding, a module or the same array has others now."""
    q, k, v = rows()
    pe, other = small(spec), awake(small(spec))
    cache = gn.KeyCache(pe, sequences=B, capacity=2 * TOKENS)
    last = lambda of: gn.attend(q[:, :, :1], k[:, :, :1], v[:, :, :1], pe=of, cache=cache)
    gn.attend(q, k, v, pe=other, cache=cache)  # it was empty: it takes whichever come first
    for wrong in (pe, *([gnt.make(pe)] if rows is torch_rows else [])):
        with torch.no_grad(), pytest.raises(gn.Error, match="cache: found rows that were made under other parameters of"):
            last(wrong)
    kept = other.w.copy()
    other.w[:1] += 0.5
    with pytest.raises(gn.Error, match="other parameters"):
        last(other)
    assert len(cache) == TOKENS
    other.w[:] = kept
    last(other)
    assert len(cache) == TOKENS + 1


def test_a_cache_that_took_nothing_has_no_parameters_yet():
    q, k, v = qkv()
    pe, other = small("rope_learned"), awake(small("rope_learned"))
    cache = gn.KeyCache(pe, sequences=B, capacity=TOKENS)
    with pytest.raises(gn.Error):
        gn.attend(q, k[:, :, :1], v, pe=pe, cache=cache)
    gn.attend(*(a[:, :, :0] for a in (q, k, v)), pe=pe, cache=cache)
    np.testing.assert_allclose(gn.attend(q, k, v, pe=other, cache=cache), gn.attend(q, k, v, pe=other), atol=1e-6)


def test_make_takes_numbers_of_other_libraries():
    pe = gn.make("rope", heads=np.int64(4), head_dim=np.uint8(8), causal=np.bool_(False), scale=np.float32(0.5), length=torch.tensor(16))
    assert (pe.heads, pe.head_dim, pe.causal, pe.scale, pe.length) == (4, 8, False, 0.5, 16)
    assert type(pe.heads) is int and type(pe.causal) is bool
    with pytest.raises(gn.Error, match="spec: found int"):
        gn.make(3, heads=2)


def test_an_encoding_does_not_change():
    pe = small("rope")
    for name in ("heads", "spec", "w", "anything"):
        with pytest.raises(AttributeError, match="does not change"):
            setattr(pe, name, 99)
    assert pe.heads == HEADS


def fox(rows, **given):
    return gn.attend(*rows, pe=small("fox"), **given)


def deberta(rows, projections):
    return gn.attend(*rows, pe=small("deberta_v2"), projections=projections)


# Calls that other libraries answered in their own words, or that were taken for something else; and what is said of each.
ROPE, ALIBI = small("rope"), small("alibi")
WRONG = {
    "capacity: found 4.5": lambda: gn.KeyCache(ROPE, capacity=4.5), "capacity: found True": lambda: gn.KeyCache(ROPE, capacity=True),
    "sequences: found 1.5": lambda: gn.KeyCache(ROPE, sequences=1.5, capacity=4), "window: found '2'": lambda: gn.KeyCache(ROPE, capacity=4, window="2"),
    "capacity: found 11": lambda: gn.KeyCache(ROPE, capacity=2**70), "sequence: found 'a'": lambda: gn.KeyCache(ROPE, capacity=4).rows("a"),
    "set_threads: n: found 2.5": lambda: gn.set_threads(2.5), "set_threads: n: found True": lambda: gn.set_threads(True),
    "name: found 3; allowed is text": lambda: gn.help(3), "name: found None": lambda: gn.help(None), "words: found 3": lambda: gn.search(3),
    "acts: found .'qk'.; allowed is text": lambda: gn.search(acts=["qk"]), "relative: found 1; allowed are True": lambda: gn.search(relative=1),
    "learned: found 'no'": lambda: gn.search(learned="no"), "scale: found True": lambda: gn.make("rope", heads=2, scale=True),
    "scale: found 10": lambda: gn.make("rope", heads=2, scale=10**400),
    "positions: found 5 tokens; allowed are 6, those of q": lambda: ROPE.rotate(*numpy_rows()[:2], range(5)),
    "positions: found 5 tokens; allowed are 6": lambda: ROPE.rotate(*torch_rows()[:2], range(5)),
    "q: found ndarray; allowed is a tensor": lambda: gnt.make(ROPE).rotate(*numpy_rows()[:2]),
    "q: found 3 extents; allowed is a tensor of 4": lambda: gnt.make(ROPE).rotate(*(x[0] for x in torch_rows()[:2])),
    "q: found 3 extents": lambda: ROPE.rotate(*(x[0] for x in torch_rows()[:2])), "q: found numbers of type int64": lambda: ROPE.rotate(
        *(x.long() for x in torch_rows()[:2])),
    "q: found numbers of type float8_e4m3fn": lambda: gn.attend(*(x.to(torch.float8_e4m3fn) for x in torch_rows()), pe=ROPE),
    "k: found a tensor of torch.sparse_coo": lambda: gn.attend(torch_rows()[0], torch_rows()[1].to_sparse(), torch_rows()[2], pe=ROPE),
    "positions: found a tensor of torch.strided on meta": lambda: ALIBI.bias(torch.zeros(3, device="meta")),
    "v: found a tensor of torch.strided on meta": lambda: gn.attend(*torch_rows()[:2], torch_rows()[2].to("meta"), pe=ROPE),
    "positions: found a tensor without numbers": lambda: gn.attend(*torch_rows(), pe=ROPE, positions=torch.arange(6, device="meta")),
    "k: found a tensor that requires a gradient beside": lambda: gn.attend(numpy_rows()[0], torch_rows()[1].requires_grad_(), numpy_rows()[2], pe=ROPE),
    "q: found a masked array": lambda: gn.attend(np.ma.masked_array(numpy_rows()[0], True), *numpy_rows()[1:], pe=ROPE),
    "positions: found None": lambda: small("sinusoidal").vectors(None), "positions: found 0 extents": lambda: small("sinusoidal").vectors(3),
    "positions: found None; allowed": lambda: gnt.make(small("learned")).vectors(None), "positions: found None; ": lambda: ALIBI.bias(None),
    "positions: found <U3": lambda: ALIBI.bias("abc"), "keys: found <U3": lambda: ALIBI.bias([1], keys="abc"),
    "seed: found -1": lambda: small("rope+shape").sampled([1, 2], seed=-1), "draw: found 1.5": lambda: small("rope+shape").sampled([1, 2], draw=1.5),
    "training: found 'no'": lambda: small("rope+shape").sampled([1, 2], training="no"), "tokens: found 2.5": lambda: ROPE.plan(tokens=2.5),
    "positions: found 0 tokens": lambda: ROPE.plan(tokens=0), "q: found 0 extents": lambda: small("transformer_xl").plan(range(TOKENS), q=3, k=3),
    "part: found 'inputs'": lambda: gnt.make(ROPE).flat("inputs"), "heads: found 3 beside an Encoding": lambda: gnt.make(ROPE, heads=3),
    "causal: found False beside an Encoding": lambda: gnt.make(ROPE, causal=False),
    "encoding: found str": lambda: gnt.PositionEncoding("rope"), "encoding: found PositionEncoding": lambda: gnt.PositionEncoding(gnt.make("t5", heads=2)),
    "tokens: found -1": lambda: gnt.make(ALIBI).score_mod(-1), "tokens: found '3'": lambda: gnt.make(ALIBI).mask_mod("3"),
    "positions: found 4.5; allowed is a whole": lambda: gn.tables(ROPE, 4.5), "positions: found <U1": lambda: gn.tables(ROPE, "x"),
    "path: found 3; allowed is a path": lambda: gn.tables(ROPE, 8, 3), "arms: found 3": lambda: gn.study(arms=3), "arms: found 4": lambda: gn.study(arms=[4]),
    "settings: found list": lambda: gn.study(settings=[1]), "out: found 3": lambda: gn.study(settings={"study.data": "copy"}, out=3)}


@pytest.mark.parametrize("words", WRONG)
def test_a_call_is_refused_in_our_words(words):
    with pytest.raises(gn.Error, match=words):
        WRONG[words]()


@BOTH
@pytest.mark.parametrize("call, words", [
    (lambda rows: ROPE.rotate(*rows[:2], "abc"), "positions: found <U3; allowed are real numbers"),
    *((lambda rows, wrong=wrong: gn.attend(*rows, pe=ROPE, positions=wrong), "positions: found") for wrong in (
        "abc", 3, [object()] * 6, [[1, 2], [3]], {0: 1}, set(range(6)), np.arange(6) * 1j, torch.arange(6) * 1j, np.ones(6, bool), torch.ones(6).bool())),
    *((lambda rows, wrong=wrong: gn.attend(*rows, pe=ROPE, bias=wrong), "bias: found") for wrong in ("x", [[None]], np.ones((6, 6)) * 1j, [[1], [1, 2]])),
    *((lambda rows, wrong=wrong: gn.attend(*rows, pe=ROPE, bias=wrong), "bias: found bool.*mask=") for wrong in (
        np.tri(6, dtype=bool), torch.ones(6, 6).bool(), [[True] * 6] * 6)),
    (lambda rows: gn.attend(*rows, pe=ROPE, mask="x"), "mask: found numbers of type <U1"),
    (lambda rows: gn.attend(*rows, pe=ROPE, mask=[[True], [True, False]]), "mask: found a list of rows of different lengths"),
    (lambda rows: gn.attend(*rows, pe=ROPE, sinks=["x", "y"]), "sinks: found <U1"), (lambda rows: fox(rows, x="x"), "x: found <U1"),
    *((lambda rows, x=x: fox(rows, x=x), "x: found . extents; allowed are 3") for x in (3.0, np.zeros(3), torch.tensor(3.0), np.zeros((1, 1, 1, 1)))),
    (lambda rows: deberta(rows, 3), "projections: found int; allowed are 4"), (lambda rows: deberta(rows, []), "projections: found 0 arrays"),
    (lambda rows: deberta(rows, ["a"] * 4), "projections: found <U1"), (lambda rows: deberta(rows, [None] * 4), "projections: found")])
def test_a_call_of_either_library_is_refused_in_our_words(rows, call, words):
    with pytest.raises(gn.Error, match=words):
        call(rows())


@pytest.mark.parametrize("n", [0, -3, 1 << 40])
def test_threads(n):
    before = gn.threads()
    with pytest.raises(gn.Error, match="set_threads"):
        gn.set_threads(n)
    assert gn.threads() == before


def test_arrays_of_other_layouts():
    """Big-endian numbers and fields of records are read; an exporter with __dlpack__ alone as well, which gets NumPy's arrays back."""
    q, k, v = qkv()
    wanted = gn.attend(q, k, v, pe=small("rope"))
    swapped = [a.astype(a.dtype.newbyteorder(">")) for a in (q, k, v)]
    np.testing.assert_array_equal(gn.attend(*swapped, pe=small("rope")), wanted)
    records = []
    for a in (q, k, v):
        record = np.zeros(a.shape, dtype=[("flag", np.uint8), ("x", np.float32)])
        record["x"] = a
        records.append(record["x"])
    np.testing.assert_array_equal(gn.attend(*records, pe=small("rope")), wanted)

    class Exporter:
        def __init__(self, a):
            self.a = a

        def __dlpack__(self, **named):
            return self.a.__dlpack__(**named)

        def __dlpack_device__(self):
            return self.a.__dlpack_device__()

    found = gn.attend(*map(Exporter, (q, k, v)), pe=small("rope"))
    assert isinstance(found, np.ndarray)
    np.testing.assert_array_equal(found, wanted)


def test_flex_takes_modules():
    for wrong in ("alibi", 3):
        with pytest.raises(gn.Error, match="pe: found"):
            flex.score_mod(wrong, TOKENS)


# --- Files of models


def test_one_name_is_one_name():
    config = {"model_type": "llama", "hidden_size": 512, "num_attention_heads": 8, "num_hidden_layers": 2, "max_position_embeddings": 8192,
              "rope_parameters": {"rope_theta": 20000.0, "rope_type": "linear", "factor": 0.5}, "rope_theta": 3.0}
    rules = {f["rule"] for f in gn.lint(config)["findings"]}
    rule = "theta-twice"
    assert rule in rules and len(rules) > 1
    assert {f["rule"] for f in gn.lint(config, only=rule)["findings"]} == {rule}
    assert {f["rule"] for f in gn.lint(config, ignore=rule)["findings"]} == rules - {rule}
    one = {"study.data": "copy", "study.budgets": "1", "model.layers": 1, "model.width": 24, "model.heads": 2, "train.steps": 20}
    assert gn.study(settings=one, arms="rope(theta=500, pairing=halves)").plan().count("theta=500")
    with pytest.raises(gn.Error, match="rop"):
        gn.study(settings=one, arms="rop")


@pytest.mark.parametrize("given, words", [(3, "config: found int"), ([1, 2], "config: found list"), (None, "config: found NoneType"),
                                          ('{"model_type": "llama"}', "json.loads"), (' [1]', "json.loads")])
def test_what_is_no_file_of_a_model(given, words):
    for call in (gn.explain, gn.lint, lambda x: gn.extend(x, to=16384)):
        with pytest.raises(gn.Error, match=words):
            call(given)


def test_a_model_is_explained_as_its_configuration():
    transformers = pytest.importorskip("transformers")
    config = transformers.LlamaConfig(hidden_size=32, intermediate_size=48, num_hidden_layers=2, num_attention_heads=4, vocab_size=50)
    model = transformers.LlamaForCausalLM(config)
    assert gn.explain(model).data == gn.explain(config).data
    assert gn.lint(model)["findings"] == gn.lint(config)["findings"]
    with pytest.raises(gn.Error, match="model: found LlamaForCausalLM.*save_pretrained"):
        gn.inspect(model, text="text.txt")


@pytest.mark.parametrize("to", [1e5, "16q", "", None])
def test_extend_takes_whole_numbers_and_sizes_in_words(to):
    with pytest.raises(gn.Error, match="to: found"):
        gn.extend(LLAMA, to=to)
    assert gn.extend(LLAMA, to=np.int64(262144)) == gn.extend(LLAMA, to="256k")
    assert gn.extend(LLAMA, to="4x")["methods"]


@pytest.mark.parametrize("dump, words", [
    (np.zeros(3), "dump: found ndarray"), ({3: np.zeros(3)}, "dump: found 3"), ({"inv_freq": ["a", "b"]}, "inv_freq: found <U1"),
    ({"inv_freq": [object()]}, "inv_freq: found object"), ({"inv_freq": np.ones(2, complex)}, "inv_freq: found complex128")])
def test_check_takes_a_path_and_arrays_of_numbers(dump, words):
    with pytest.raises(gn.Error, match=words):
        gn.check(dump)


def test_check_takes_lists():
    own = 1e4 ** -(np.arange(0, 64, 2) / 64)
    assert gn.check({"inv_freq": own.tolist()}) == gn.check({"inv_freq": own}) != gn.check({"inv_freq": 2 * own})


@pytest.mark.parametrize("spec", ["é", "ropé", "rope(thetä=3)", "\U0001f600" * 90, "r\xff"], ids=ascii)
def test_a_spec_of_other_letters_is_refused_in_words(spec):
    with pytest.raises(gn.Error, match="found '|unknown"):
        gn.make(spec, heads=2)
