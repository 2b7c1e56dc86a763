"""gnomon.transformers.patch with what gnomon.explain says of a model: it computes what it computed."""

import weakref

import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

import gnomon as gn  # noqa: E402
import gnomon.transformers as gnh  # noqa: E402
import tiny_models as tiny  # noqa: E402
from tiny_models import TOKENS, ready, said  # noqa: E402

APART = 3 * torch.arange(11)[None]
PADDED = torch.ones_like(TOKENS)
PADDED[0, :3] = 0
WRITE = dict(attention_mask=PADDED, max_new_tokens=4, do_sample=False, pad_token_id=0, eos_token_id=None)


def assert_same(found, own, rounding=5e-6):
    assert (found - own).abs().max() < rounding * own.abs().max()


MODELS = [tiny.mistral, tiny.gemma, tiny.smollm3, tiny.gpt_oss, tiny.qwen3_next, tiny.minimax, tiny.deepseek3, tiny.beam, tiny.mimo, tiny.laguna,
          tiny.dbrx, tiny.jetmoe, tiny.opt, tiny.bart, tiny.pegasus, tiny.biogpt, tiny.roberta, tiny.gpt2, tiny.bert, tiny.mobilebert, tiny.albert,
          tiny.layoutlm, tiny.modernbert, tiny.ultrabert]


@pytest.mark.parametrize("make", MODELS)
def test_an_explained_model_is_as_it_was(make):
    """Also with positions that are apart, where a window of the model counts tokens; with padding, a cache and beams."""
    model = ready(make, louder=3)
    explanation, seen = gn.explain(model.config), PADDED.bool()
    calls = [{}, dict(position_ids=APART), dict(attention_mask=PADDED)]
    own = [said(model, **given) for given in calls]
    written = [model.generate(TOKENS, num_beams=beams, **WRITE) for beams in (1, 3)] if model.can_generate() else []
    with gnh.patch(model, explanation):
        for given, wanted in zip(calls, own):
            assert_same(said(model, **given)[seen], wanted[seen])
        for beams, wanted in zip((1, 3), written):
            assert torch.equal(model.generate(TOKENS, num_beams=beams, **WRITE), wanted)
    with gnh.patch(model, explanation.model_spec):
        assert_same(said(model), own[0])
    with gnh.patch(model, "none"):
        assert (said(model) - own[0]).abs().max() > 1e-2 * own[0].abs().max()
    assert torch.equal(said(model), own[0])


def in_double(model):
    for config in {id(m.config): m.config for m in model.modules() if hasattr(m, "config")}.values():
        if hasattr(config, "_experts_implementation"):
            config._experts_implementation = "eager"  # the others have no double
    return model.double()


@pytest.fixture
def attention_of_double(monkeypatch):
    """Attention of a model in double: gnomon's own is in float32."""
    own = gnh._attention

    def wide(module, q, k, v, mask, **more):
        mask = mask.float() if mask is not None and mask.is_floating_point() else mask
        y, _ = own(module, *(rows.float() for rows in (q, k, v)), mask, **more)
        return y.to(q.dtype), None

    monkeypatch.setattr(gnh, "_attention", wide)
    transformers.AttentionInterface.register("gnomon", wide)
    yield
    transformers.AttentionInterface.register("gnomon", own)


@pytest.mark.parametrize("make", [*MODELS, tiny.gemma3n, tiny.lfm2, tiny.glm4, tiny.qwen3, tiny.bloom, tiny.mpt_of_its_own, tiny.falcon,
                                  tiny.falcon_alibi, tiny.gptj, tiny.codegen, tiny.neox_japanese])
def test_what_differs_is_rounding(make, attention_of_double):
    """Against the model in double: the patched model is as near in float32 as the model itself within a factor of 2. With attention alone
    in float32 it is within 1e-6, or nearer than the model in float32, whose layers make more of every rounding."""
    model = ready(make, louder=3)
    explanation, own = gn.explain(model), said(model)
    with gnh.patch(model, explanation):
        patched = said(model)
    exact = said(in_double(model))
    with gnh.patch(model, explanation):
        partly = said(model)
    rounding, in_float, in_part = ((found.double() - exact).abs().max() / exact.abs().max() for found in (own, patched, partly))
    if make is not tiny.beam:  # which caps its logits in float32
        assert exact.dtype is torch.float64 and partly.dtype is torch.float64
    assert in_float < 2 * max(rounding, 4e-7)
    assert in_part < max(rounding, 1e-6)


@pytest.mark.parametrize("make", [tiny.beam, tiny.ministral3])
def test_what_grows_with_position_does_not_stay(make):
    """Far from the start, where it is large. The angles of so large positions are rounded to float32 in the model."""
    model, late = ready(make), 16000 + torch.arange(11)[None]
    own = said(model, position_ids=late)
    with gnh.patch(model, gn.explain(model.config)):
        assert_same(said(model, position_ids=late), own, rounding=1e-2)
    with gnh.patch(model, "none"):
        assert_same(said(model, position_ids=late), said(model))


def test_the_spec_of_some_layers_is_not_taken_for_all():
    model = ready(tiny.gemma)
    explanation, own = gn.explain(model.config), said(model)
    with pytest.raises(gn.Error, match="some layers alone.*model_spec"):
        gnh.patch(model, explanation.spec)
    assert torch.equal(said(model), own)
    one_for_all = explanation.spec.replace("+", "+[", 1) + "]"
    with gnh.patch(model, one_for_all):
        assert (said(model) - own).abs().max() > 1e-2
    model = ready(tiny.llama)
    with gnh.patch(model, gn.explain(model.config).spec):  # of a model whose layers are alike
        pass


def test_the_windows_of_an_explained_model_count_tokens():
    """A window by position, with gaps, hides other keys."""
    model = ready(tiny.mistral)
    explanation = gn.explain(model.config)
    with gnh.patch(model, explanation.model_spec), pytest.raises(gn.Error, match="without windows"):
        said(model, position_ids=APART)


@pytest.mark.parametrize("make", [tiny.bert, tiny.opt, tiny.roberta])
def test_a_learned_table_begins_with_the_rows_of_the_model(make):
    model = ready(make)
    length = gn.explain(model.config).data["positions_end"]
    own = said(model)
    with gnh.patch(model, f"learned(length={length})"):
        assert_same(said(model), own)
    with gnh.patch(model, f"learned(length={length + 1})"):  # of another length it begins anew
        assert (said(model) - own).abs().max() > 1e-2


@pytest.mark.parametrize("spec", ["concat(sinusoidal)", "project(sinusoidal)", "mixture(learned)"])
@pytest.mark.parametrize("make", [tiny.llama, tiny.bert])
def test_vectors_that_are_not_added_are_refused(make, spec):
    with pytest.raises(gn.Error, match=spec.partition("(")[0]):
        gnh.patch(ready(make), spec)


def test_order_from_the_mask_alone():
    """transformers hands no mask over where order is all it says."""
    model = ready(tiny.llama)
    spec, own = gn.explain(model.config), said(model)
    written = model.generate(TOKENS, **WRITE)
    with gnh.patch(model, spec, causal=False):
        assert_same(said(model), own)
        assert torch.equal(model.generate(TOKENS, **WRITE), written)


def test_masks_are_looked_at_once(monkeypatch):
    """A look at numbers on a GPU waits for them, and layers have the same mask."""
    looks = []
    model = ready(lambda: tiny.llama(num_hidden_layers=6))
    shown = gnh.places.shown
    monkeypatch.setattr(gnh.places, "shown", lambda mask: looks.append(1) or shown(mask))
    with gnh.patch(model, "rope"):
        said(model, attention_mask=PADDED)
        assert 0 < len(looks) <= 2
        said(model, attention_mask=PADDED)
        assert len(looks) <= 4


def test_a_mask_is_let_go_of():
    model = ready(tiny.llama)
    mask = torch.ones(2, 1, 11, 11, dtype=torch.bool).tril()
    kept = weakref.ref(mask)
    with gnh.patch(model, "rope"):
        said(model, attention_mask=mask)
        del mask
        assert kept() is None
