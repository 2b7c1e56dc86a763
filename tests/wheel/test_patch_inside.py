"""gnomon.transformers.patch on models that compute attention in a method of their own."""

import copy
import pickle

import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

import gnomon as gn  # noqa: E402
import gnomon.transformers as gnh  # noqa: E402
import tiny_models as tiny  # noqa: E402
from tiny_models import TOKENS, ready, said  # noqa: E402

MODELS = [tiny.bloom, tiny.mpt, tiny.mpt_of_its_own, tiny.falcon, tiny.falcon_alibi, tiny.falcon_new, tiny.gptj, tiny.codegen,
          tiny.neox_japanese]
READ_POSITIONS = [tiny.falcon, tiny.falcon_new, tiny.gptj, tiny.codegen, tiny.neox_japanese]
APART = 3 * torch.arange(11)[None]
PADDED = torch.ones_like(TOKENS)
PADDED[0, :3] = 0
HOLES = torch.ones_like(TOKENS)
HOLES[0, 4:6] = HOLES[1, 7] = 0  # BLOOM's positions leave these out, MPT's count them
WRITE = dict(max_new_tokens=5, do_sample=False, pad_token_id=0, eos_token_id=None)
STATIC = dict(cache_implementation="static", use_cache=True, disable_compile=True)


def loud(make):
    return ready(make, louder=6)


def difference(found, own):
    """Of the largest logit."""
    return ((found - own).abs().max() / own.abs().max()).item()


@pytest.mark.parametrize("make", MODELS)
def test_its_own_encoding_changes_nothing(make):
    """Within 1e-6 of the largest logit: with padding, holes and positions that are apart."""
    model = ready(make, louder=3)
    calls = [{}, dict(attention_mask=PADDED), dict(attention_mask=HOLES), *[dict(position_ids=APART)] * (make in READ_POSITIONS)]
    own = [said(model, **given) for given in calls]
    assert make not in READ_POSITIONS or difference(own[3], own[0]) > 1e-2
    with gnh.patch(model, gn.explain(model)):
        for given, wanted in zip(calls, own):
            seen = given.get("attention_mask", torch.ones_like(TOKENS)).bool()
            assert difference(said(model, **given)[seen], wanted[seen]) < 1e-6
    for spec in ("none", "rope(theta=3)"):
        with gnh.patch(model, spec):
            assert difference(said(model), own[0]) > 5e-3
    for given, wanted in zip(calls, own):
        assert torch.equal(said(model, **given), wanted)


@pytest.mark.parametrize("make", MODELS)
def test_it_writes_what_it_wrote(make):
    """With a cache, without, with a cache of fixed size, and beams; padded and not."""
    model = loud(make)
    ways = [dict(use_cache=True), dict(use_cache=False), dict(num_beams=3, use_cache=True), *[STATIC] * (make is not tiny.falcon_alibi)]
    calls = [{**WRITE, **way, **mask} for way in ways for mask in ({}, dict(attention_mask=PADDED))]
    written = [model.generate(TOKENS, **given) for given in calls]
    with gnh.patch(model, gn.explain(model)):
        for given, wanted in zip(calls, written):
            assert torch.equal(model.generate(TOKENS, **given), wanted)


@pytest.mark.parametrize("spec", ["rope(pairing=halves)", "alibi", "none", "rope+t5", "sinusoidal", "rope+window(size=4)"])
@pytest.mark.parametrize("make", MODELS)
def test_another_encoding_with_a_cache(make, spec):
    model = loud(make)
    with gnh.patch(model, spec):
        for mask in ({}, dict(attention_mask=PADDED)):
            kept = model.generate(TOKENS, use_cache=True, **mask, **WRITE)
            assert torch.equal(model.generate(TOKENS, use_cache=False, **mask, **WRITE), kept)
            if make is not tiny.falcon_alibi:  # transformers itself fails there: it makes ALiBi of a mask of four dimensions
                assert torch.equal(model.generate(TOKENS, **STATIC, **mask, **WRITE), kept)
        alone = said(model, TOKENS[:1, 3:])
        assert difference(said(model, attention_mask=PADDED)[:1, 3:], alone) < 1e-5


@pytest.mark.parametrize("make", MODELS)
def test_the_encoding_is_the_one_that_is_asked_for(make):
    """Attention in every layer is that of attend() with these positions."""
    model, calls, attention = loud(make), [], gnh._attention

    def watched(module, q, k, v, mask, **more):
        out = attention(module, q, k, v, mask, **more)
        calls.append((q, k, v, out[0]))
        return out

    patched = gnh.patch(model, "rope+alibi")
    for module, name, _ in patched._before:
        if callable(method := vars(module).get(name)):
            setattr(module, name, type(method)(method.func, module, watched))
    reads = make in READ_POSITIONS
    said(model, **dict(position_ids=APART) if reads else {})
    assert len(calls) == 2
    for (q, k, v, found), position in zip(calls, patched.positions, strict=True):
        wanted = gn.attend(q, k, v, pe=position, positions=(APART if reads else APART // 3).double())
        torch.testing.assert_close(found, wanted.transpose(1, 2), atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("make", MODELS)
def test_a_copy_and_the_original_go_their_own_ways(make):
    model = loud(make)
    own, keys, hooks = said(model), list(model.state_dict()), [len(m._forward_pre_hooks) for m in model.modules()]
    patched = gnh.patch(model, "rope+t5")
    before = said(model)
    copies = copy.deepcopy(model), pickle.loads(pickle.dumps(model))
    for other in copies:
        assert torch.equal(said(other), before)
        with torch.no_grad():
            for name, parameter in other.named_parameters():
                if "_gnomon_position" in name:
                    parameter += torch.randn(parameter.shape, generator=torch.Generator().manual_seed(3))
        assert difference(said(other), before) > 1e-3 and torch.equal(said(model), before)
    patched.undo()
    assert torch.equal(said(model), own) and torch.equal(said(copy.deepcopy(model)), own)
    assert list(model.state_dict()) == keys and [len(m._forward_pre_hooks) for m in model.modules()] == hooks
    assert not any("forward" in vars(m) or "_attn" in vars(m) for m in model.modules())
    assert difference(said(copies[0]), own) > 1e-3  # a copy stays patched


@pytest.mark.parametrize("make", [make for make in MODELS if make is not tiny.neox_japanese])  # transformers has no checkpoints for it
def test_layers_that_are_computed_again_know_their_positions(make):
    """Two forward passes before the way back of the first."""
    first, second = (dict(position_ids=APART), {}) if make in READ_POSITIONS else (dict(attention_mask=HOLES), {})
    grads = []
    for again in (False, True):
        model = ready(make)
        model.train()
        if again:
            model.gradient_checkpointing_enable()
        patched = gnh.patch(model, "rope+t5")
        one, two = (model(TOKENS, labels=TOKENS, use_cache=False, **given).loss for given in (first, second))
        (one + 2 * two).backward()
        assert all(p.grad is not None and p.grad.abs().max() > 0 for position in patched.positions for p in position.parameters())
        grads.append([p.grad.clone() for p in model.parameters() if p.grad is not None])
    for plain, checkpointed in zip(*grads, strict=True):
        torch.testing.assert_close(plain, checkpointed)


@pytest.mark.parametrize("make", MODELS)
@pytest.mark.parametrize("kind", [torch.bfloat16, torch.float16])
def test_of_half_precision(make, kind):
    """It is as near to float32 as the model's own attention, or nearer, within a factor of 2."""
    model = ready(make, louder=2)
    exact = said(model)
    model = model.to(kind)
    own = difference(said(model).float(), exact)
    with gnh.patch(model, gn.explain(model)):
        assert difference(said(model).float(), exact) < 2 * own


@pytest.mark.parametrize("make", MODELS)
def test_dropout_of_weights_is_refused(make):
    model = ready(make)
    for attention in model.modules():
        for name in ("attention_dropout", "attn_dropout"):
            if isinstance(getattr(attention, name, None), torch.nn.Dropout):
                getattr(attention, name).p = 0.1
        if hasattr(attention, "attn_dropout_p"):
            attention.attn_dropout_p = 0.1
    with gnh.patch(model, "rope"):
        said(model)
        model.train()
        with pytest.raises(gn.Error, match="dropout of attention weights"):
            said(model)


def test_dropout_of_what_comes_out_stays():
    model = ready(lambda: tiny.bloom(hidden_dropout=0.5))
    with gnh.patch(model, gn.explain(model)):
        still = said(model)
        assert torch.equal(said(model), still)
        model.train()
        assert difference(said(model), still) > 1e-2
