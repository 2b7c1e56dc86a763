"""position_ids, padding and caches under gnomon.transformers.patch: they mean what they mean to the model."""

import copy

import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

import gnomon as gn  # noqa: E402
import gnomon.transformers as gnh  # noqa: E402
import tiny_models as tiny  # noqa: E402
from shapes import INSIDE  # noqa: E402
from tiny_models import TOKENS, ready, said  # noqa: E402

ROPE = "rope(theta=10000, pairing=halves)"
OWN = [(tiny.llama, ROPE), (tiny.mistral, ROPE), (tiny.qwen3, ROPE), (tiny.olmo2, ROPE), (tiny.gemma, ROPE), (tiny.gpt_oss, ROPE),
       (tiny.neox, "rope(theta=10000, pairing=halves, fraction=0.5)")]
CLOSE = dict(atol=3e-4, rtol=1e-4)
GREEDY = dict(max_new_tokens=5, do_sample=False, pad_token_id=0, eos_token_id=None)

HIDDEN = torch.full((2, 1, 11, 11), float("-inf")).triu(1)  # added to the logits


def places(kind):
    """position_ids of TOKENS."""
    random = torch.Generator().manual_seed(7)
    return {"apart": 3 * torch.arange(11)[None], "late": 20 + torch.arange(11)[None], "backwards": torch.arange(11).flip(0)[None],
            "a hole": torch.tensor([[*range(5), *range(30, 36)]]), "a tree": torch.tensor([[0, 1, 2, 2, 2, 3, 3, 3, 3, 4, 4]]),
            "drawn": torch.stack([torch.randperm(60, generator=random)[:11] for _ in TOKENS])}[kind]


@pytest.mark.parametrize("kind", ["apart", "late", "backwards", "a hole", "a tree", "drawn"])
@pytest.mark.parametrize("make, spec", OWN, ids=lambda x: getattr(x, "__name__", ""))
def test_position_ids_mean_what_they_mean_to_the_model(make, spec, kind):
    model, ids = ready(make), places(kind)
    mask = HIDDEN  # said, so that no kind is taken for texts side by side
    before, plain = said(model, position_ids=ids, attention_mask=mask), said(model, attention_mask=mask)
    if kind != "late":
        assert (before - plain).abs().max() > 1e-2  # the model does look at them
    with gnh.patch(model, spec):
        torch.testing.assert_close(said(model, position_ids=ids, attention_mask=mask), before, **CLOSE)


@pytest.mark.parametrize("spec", ["alibi", "t5", "shaw", "yarn(factor=4)", "rope+alibi", "kerple_log", "xpos", "log_n+rope"])
def test_every_encoding_is_handed_positions(spec):
    """What a layer attends to is what attend() says of these positions."""
    model, ids, calls = ready(tiny.llama), places("drawn"), []

    def watched(module, q, k, v, mask, **more):
        out = gnh._attention(module, q, k, v, mask, **more)
        calls.append((q, k, v, out[0]))
        return out

    patched = gnh.patch(model, spec)
    transformers.AttentionInterface.register("gnomon", watched)
    try:
        said(model, position_ids=ids)
    finally:
        transformers.AttentionInterface.register("gnomon", gnh._attention)
    for (q, k, v, found), position in zip(calls, patched.positions, strict=True):
        wanted = gn.attend(q, k, v, pe=position, positions=ids.double())
        torch.testing.assert_close(found, wanted.transpose(1, 2), **CLOSE)


@pytest.mark.parametrize("spec", [n for n in INSIDE if not {"x", "projections"} & set(gn.make(n, heads=4, head_dim=8).reads)])
def test_padding_on_the_left_changes_nothing(spec):
    model = ready(lambda: tiny.llama(num_key_value_heads=4))
    mask = torch.ones_like(TOKENS)
    mask[0, :4] = 0
    with gnh.patch(model, spec, length=32):
        alone = said(model, TOKENS[:1, 4:])
        beside = said(model, attention_mask=mask, position_ids=(mask.cumsum(1) - 1).clamp_min(0))
        torch.testing.assert_close(beside[:1, 4:], alone, **CLOSE)
        if gn.help(spec).relative:
            torch.testing.assert_close(said(model, attention_mask=mask)[:1, 4:], alone, **CLOSE)


@pytest.mark.parametrize("spec", ["sinusoidal", "learned", "sinusoidal+alibi"])
@pytest.mark.parametrize("make", [tiny.llama, tiny.gemma])
def test_vectors_beside_the_words_begin_with_the_text(make, spec):
    model = ready(make)
    mask = torch.ones_like(TOKENS)
    mask[0, :4] = 0
    with gnh.patch(model, spec):
        alone = said(model, TOKENS[:1, 4:])
        torch.testing.assert_close(said(model, attention_mask=mask)[:1, 4:], alone, **CLOSE)
        moved = said(model, TOKENS[:1, 4:], position_ids=9 + torch.arange(7)[None])
        assert (moved - alone).abs().max() > 1e-2
        kept = model.generate(TOKENS, attention_mask=mask, **GREEDY)
        assert torch.equal(kept, model.generate(TOKENS, attention_mask=mask, use_cache=False, **GREEDY))
        assert torch.equal(kept[:1, 11:], model.generate(TOKENS[:1, 4:], **GREEDY)[:, 7:])


@pytest.mark.parametrize("make, spec", OWN[:5], ids=lambda x: getattr(x, "__name__", ""))
def test_a_cache_keeps_positions(make, spec):
    """Tokens after a hole, one by one, by two and at once."""
    model, ids = ready(make), places("a hole")
    whole = said(model, position_ids=ids)
    with gnh.patch(model, spec):
        for cuts in ([3, 6, 8, 11], [5, *range(6, 12)]):
            cache, found, begin = transformers.DynamicCache(config=model.config), [], 0
            for end in cuts:
                found.append(said(model, TOKENS[:, begin:end], position_ids=ids[:, begin:end], past_key_values=cache))
                begin = end
                cache = copy.deepcopy(cache)
            torch.testing.assert_close(torch.cat(found, 1), whole, **CLOSE)


def test_a_cache_that_is_cut_or_widened():
    model = ready(tiny.llama)
    whole = said(model)
    with gnh.patch(model, ROPE):
        cache = transformers.DynamicCache(config=model.config)
        said(model, past_key_values=cache)
        cache.crop(-5)
        cache.batch_repeat_interleave(2)
        again = said(model, TOKENS[:, 6:].repeat_interleave(2, 0), past_key_values=cache)
        torch.testing.assert_close(again, whole[:, 6:].repeat_interleave(2, 0), **CLOSE)


@pytest.mark.parametrize("change, of", [("reorder_cache", torch.tensor([1, 0])), ("batch_select_indices", torch.tensor([1, 1, 0])),
                                        ("batch_repeat_interleave", 3)])
def test_a_cache_whose_sequences_change_places(change, of):
    """Each sequence keeps its positions: one is padded on the left."""
    model = ready(tiny.llama)
    mask = torch.ones_like(TOKENS)
    mask[1, :3] = 0
    ids = (mask.cumsum(1) - 1).clamp_min(0)
    rows = torch.arange(2).repeat_interleave(of) if isinstance(of, int) else of

    def decode():
        cache = transformers.DynamicCache(config=model.config)
        said(model, TOKENS[:, :8], attention_mask=mask[:, :8], position_ids=ids[:, :8], past_key_values=cache)
        getattr(cache, change)(of)
        return said(model, TOKENS[rows, 8:], attention_mask=mask[rows], position_ids=ids[rows, 8:], past_key_values=copy.deepcopy(cache))

    own = decode()
    assert (own[0] - own[-1]).abs().max() > 1e-2
    with gnh.patch(model, ROPE):
        torch.testing.assert_close(decode(), own, **CLOSE)


@pytest.mark.parametrize("kind", ["apart", "a hole", "drawn"])
@pytest.mark.parametrize("spec", ["rope(theta=10000, pairing=halves)+window(size=4)", "[none, chunk(size=4)]"])
def test_windows_of_a_spec_count_no_other_tokens(spec, kind):
    """A window by position and the model's, which counts tokens, would hide other keys."""
    model = ready(tiny.mistral)
    given = dict(attention_mask=HIDDEN)
    with gnh.patch(model, spec):
        with pytest.raises(gn.Error, match="without windows"):
            said(model, position_ids=places(kind), **given)
        torch.testing.assert_close(said(model, position_ids=places("late"), **given), said(model, **given), **CLOSE)


def test_beams():
    model = ready(tiny.llama)
    mask = torch.ones_like(TOKENS)
    mask[1, :3] = 0
    given = dict(GREEDY, attention_mask=mask, num_beams=3)
    own = model.generate(TOKENS, **given)
    with gnh.patch(model, ROPE):
        assert torch.equal(model.generate(TOKENS, **given), own)


def test_a_cache_of_before_is_refused():
    model = ready(tiny.llama)
    cache = transformers.DynamicCache(config=model.config)
    said(model, TOKENS[:, :6], past_key_values=cache)
    with gnh.patch(model, ROPE), pytest.raises(gn.Error, match="new cache"):
        said(model, TOKENS[:, 6:], past_key_values=cache)


def test_layers_that_are_computed_again_know_their_positions():
    """Two forward passes before the way back of the first (checkpoints of activations)."""
    grads = []
    for again in (False, True):
        model = ready(tiny.llama)
        model.train()
        if again:
            model.gradient_checkpointing_enable()
        patched = gnh.patch(model, "rope+t5")
        first, second = (model(TOKENS, labels=TOKENS, use_cache=False, position_ids=places(kind)).loss for kind in ("apart", "late"))
        (first + 2 * second).backward()
        grads.append([p.grad.clone() for p in (*patched.positions[0].parameters(), model.model.embed_tokens.weight)])
    for plain, checkpointed in zip(*grads):
        torch.testing.assert_close(plain, checkpointed)


@pytest.mark.parametrize("make", [tiny.gpt2, tiny.bert, tiny.mobilebert, tiny.albert])
def test_tables_follow_position_ids(make):
    model, ids = ready(make), places("apart")
    before = said(model, position_ids=ids)
    table = next(m for n, m in model.named_modules() if n.endswith(("position_embeddings", "wpe")))
    patched = gnh.patch(model, "learned")
    with patched, torch.no_grad():
        next(patched.positions[0].parameters()).copy_(table.weight)
        torch.testing.assert_close(said(model, position_ids=ids), before, atol=1e-4, rtol=1e-4)
    with gnh.patch(model, "alibi"):
        assert (said(model, position_ids=ids) - said(model)).abs().max() > 1e-3


def test_positions_of_several_axes():
    model = ready(tiny.qwen2_vl)
    same = torch.arange(11).expand(3, 2, -1)
    rows = torch.stack([torch.arange(11) // 4, torch.arange(11) // 2, torch.arange(11)])[:, None].expand(3, 2, -1)
    spec = gn.explain(model.config).model_spec
    before = [said(model, position_ids=ids, use_cache=False) for ids in (same, rows)]
    assert (before[0] - before[1]).abs().max() > 1e-2
    with gnh.patch(model, spec):
        for ids, wanted in zip((same, rows), before):
            torch.testing.assert_close(said(model, position_ids=ids, use_cache=False), wanted, **CLOSE)
    with gnh.patch(model, ROPE):
        torch.testing.assert_close(said(model, position_ids=same, use_cache=False), before[0], **CLOSE)
        with pytest.raises(gn.Error, match="axes"):
            said(model, position_ids=rows, use_cache=False)
