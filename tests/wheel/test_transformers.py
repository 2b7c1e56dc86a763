"""gnomon.transformers.patch on tiny random models of transformers."""

import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

import gnomon as gn  # noqa: E402
import gnomon.transformers as gnh  # noqa: E402

from tiny_models import TOKENS, bert, cohere, gemma, gpt_oss, granite, llama, neox, ready, said  # noqa: E402


@pytest.mark.parametrize("make, same, other", [
    (llama, "rope(theta=10000, pairing=halves)", "rope(theta=10000, pairing=adjacent)"),
    (neox, "rope(theta=10000, pairing=halves, fraction=0.5)", "rope(theta=10000, pairing=halves)"),
    *((make, "rope(theta=10000, pairing=halves)", "rope(theta=10000, pairing=adjacent)") for make in (gemma, gpt_oss, granite)),
    (cohere, "rope(theta=10000, pairing=adjacent)", "rope(theta=10000, pairing=halves)"),
    (lambda: llama(rope_parameters={"rope_type": "yarn", "rope_theta": 10000.0, "factor": 4.0, "original_max_position_embeddings": 16}),
     "yarn(factor=4, original=16)", "yarn(factor=8, original=16)")])
def test_its_own_encoding_changes_nothing(make, same, other):
    model = ready(make)
    before = said(model)
    with gnh.patch(model, same):
        torch.testing.assert_close(said(model), before, atol=3e-4, rtol=1e-4)
    with gnh.patch(model, other):
        assert (said(model) - before).abs().max() > 1e-2
    assert torch.equal(said(model), before)


def test_a_table_of_positions():
    model = ready(bert)
    before = said(model)
    with gnh.patch(model, "none"):
        shuffled = TOKENS[:, torch.tensor([0, 3, 1, 2, *range(4, 11)])]
        kept = said(model)
        torch.testing.assert_close(said(model, shuffled)[:, 4:], kept[:, 4:], atol=1e-4, rtol=1e-4)  # a bag of words
    patched = gnh.patch(model, "learned")
    with patched, torch.no_grad():
        (learned,) = patched.positions[0].parameters()
        learned.copy_(model.embeddings.position_embeddings.weight)
        torch.testing.assert_close(said(model), before, atol=1e-4, rtol=1e-4)
    with gnh.patch(model, "alibi"):
        assert (said(model) - before).abs().max() > 1e-2
    assert torch.equal(said(model), before)


@pytest.mark.parametrize("spec", ["yarn(factor=4)", "alibi", "t5", "rope+alibi", "rope+window(size=4)"])
@pytest.mark.parametrize("make", [llama, neox])
def test_generation_with_a_cache(make, spec):
    model = ready(make)
    with gnh.patch(model, spec):
        kept = model.generate(TOKENS, max_new_tokens=6, do_sample=False, use_cache=True, pad_token_id=0, eos_token_id=None)
        again = model.generate(TOKENS, max_new_tokens=6, do_sample=False, use_cache=False, pad_token_id=0, eos_token_id=None)
    assert torch.equal(kept, again)


@pytest.mark.parametrize("spec", ["rope(pairing=halves)", "t5", "rope+window(size=4)"])
def test_generation_with_a_static_cache(spec):
    """Its keys are as many as it will have, and those to come are not read."""
    model = ready(llama)
    given = dict(max_new_tokens=6, do_sample=False, pad_token_id=0, eos_token_id=None)
    with gnh.patch(model, spec):
        kept = model.generate(TOKENS, cache_implementation="static", disable_compile=True, **given)
        again = model.generate(TOKENS, use_cache=False, **given)
    assert torch.equal(kept, again)


def test_a_static_cache_of_a_padded_batch():
    model = ready(llama)
    mask = torch.ones_like(TOKENS)
    mask[0, :4] = 0
    given = dict(attention_mask=mask, max_new_tokens=6, do_sample=False, pad_token_id=0, eos_token_id=None)
    own = model.generate(TOKENS, **given)
    with gnh.patch(model, "rope(pairing=halves)"):
        for cache in (dict(cache_implementation="static", disable_compile=True), {}, dict(use_cache=False)):
            assert torch.equal(model.generate(TOKENS, **given, **cache), own)


def test_texts_side_by_side_do_not_see_each_other():
    """Positions that begin again mark a new text (packed sequences)."""
    model = ready(llama)
    places = torch.tensor([[0, 1, 2, 3, 4, 0, 1, 2, 3, 4, 5]]).expand(2, -1)
    before = said(model, position_ids=places, use_cache=False)
    with gnh.patch(model, "rope(pairing=halves)"):
        torch.testing.assert_close(said(model, position_ids=places, use_cache=False), before, atol=3e-4, rtol=1e-4)
        assert (said(model, use_cache=False) - before).abs().max() > 1e-2


def test_masks_of_ones_own():
    model = ready(llama)
    seen = (torch.rand(2, 1, 11, 11, generator=torch.Generator().manual_seed(2)) > .3) & torch.ones(11, 11).tril().bool() | torch.eye(11).bool()
    added = torch.zeros(2, 1, 11, 11).masked_fill(~seen, float("-inf"))
    before = said(model, attention_mask=added)
    with gnh.patch(model, "rope(pairing=halves)"):
        for mask in (seen, added):
            torch.testing.assert_close(said(model, attention_mask=mask), before, atol=3e-4, rtol=1e-4)


def test_padding_is_not_seen():
    model = ready(llama)
    mask = torch.ones_like(TOKENS)
    mask[:, -3:] = 0
    with gnh.patch(model, "rope"):
        padded = said(model, attention_mask=mask)
        torch.testing.assert_close(padded[:, :8], said(model, TOKENS[:, :8]), atol=1e-4, rtol=1e-4)


def test_new_positions_learn():
    model = ready(llama)
    patched = gnh.patch(model, "t5")
    model(TOKENS, labels=TOKENS).loss.backward()
    grads = [p.grad for position in patched.positions for p in position.parameters()]
    assert len(grads) == 2 and all(g.abs().max() > 0 for g in grads)
    assert any("_gnomon_position" in name for name, _ in model.named_parameters())
    patched.undo()
    patched.undo()
    assert not any("_gnomon_position" in name for name, _ in model.named_parameters())


def test_what_else_a_layer_hands_over_is_refused():
    q = torch.zeros(1, 2, 3, 8)
    with pytest.raises(gn.Error, match="position_bias"):
        gnh._attention(torch.nn.Identity(), q, q, q, None, position_bias=torch.zeros(1, 2, 3, 3))


@pytest.mark.parametrize("spec, words", [("rop", "rope"), ("fox", "reads")])
def test_what_is_refused(spec, words):
    model = ready(llama)
    before = said(model)
    with pytest.raises(gn.Error, match=words):
        gnh.patch(model, spec)
    assert torch.equal(said(model), before)


def test_a_configuration_is_explained():
    model = ready(lambda: llama(rope_parameters={"rope_type": "yarn", "rope_theta": 10000.0, "factor": 4.0,
                                                 "original_max_position_embeddings": 16}))
    x = gn.explain(model.config)
    assert "yarn" in x.spec and all(found["agrees"] for found in x.check(model.model.rotary_emb))
