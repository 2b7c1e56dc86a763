"""Which models gnomon.transformers.patch takes, that it gives them back as they were, and that they copy."""

import copy
import pickle

import numpy as np
import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

import gnomon as gn  # noqa: E402
import gnomon.transformers as gnh  # noqa: E402
import tiny_models as tiny  # noqa: E402
from tiny_models import TOKENS, ready, said  # noqa: E402

CLOSE = dict(atol=3e-4, rtol=1e-4)
ROPE = "rope(theta=10000, pairing=halves)"


@pytest.mark.parametrize("make", [tiny.llama, tiny.mistral, tiny.neox, tiny.glm4, tiny.smollm3, tiny.gemma, tiny.gemma3n, tiny.gpt_oss,
                                  tiny.llama4, tiny.deepseek2, tiny.deepseek3, lambda: tiny.deepseek3(rope_interleave=False),
                                  lambda: tiny.deepseek3(rope_parameters=tiny.YARN), tiny.qwen2_vl, tiny.llava, tiny.llama4_growing,
                                  tiny.ministral3, tiny.diffllama, tiny.recurrent_gemma, tiny.qwen3_next, tiny.lfm2, tiny.modernbert_decoder])
def test_what_explain_says_of_a_model_changes_nothing(make):
    model = ready(make)
    before, padded = said(model), torch.ones_like(TOKENS)
    padded[0, :3] = 0
    given = dict(attention_mask=padded, max_new_tokens=4, do_sample=False, pad_token_id=0, eos_token_id=None)
    written = model.generate(TOKENS, **given)
    with gnh.patch(model, gn.explain(model.config).model_spec):
        torch.testing.assert_close(said(model), before, **CLOSE)
        assert torch.equal(model.generate(TOKENS, **given), written)
    with gnh.patch(model, "rope(theta=3)"):
        assert (said(model) - before).abs().max() > 1e-2
    assert torch.equal(said(model), before)


def test_what_grows_with_position_goes_with_the_encoding():
    """Of a class that explain() does not know: said by hand. Without its growth the logits differ."""
    model = ready(tiny.mistral4)
    before, config = said(model), model.config.to_dict()
    rotation = "yarn(pairing=adjacent, channels=8, side=trailing, original=4, mscale=1, mscale_all_dim=1, softmax_mscale=1)"
    with gnh.patch(model, f"{rotation}+log_n(rule=ministral3, scale=0.5, floor=4)"):
        torch.testing.assert_close(said(model), before, **CLOSE)
        assert model.config.to_dict() == config  # what is saved is the model as it was made
    with gnh.patch(model, rotation):
        assert (said(model) - before).abs().max() > 1e-2
    assert torch.equal(said(model), before)


def test_layers_in_turn():
    """A spec for all layers is not that of the first."""
    x = gn.explain(ready(tiny.gemma).config)
    assert x.model_spec != x.spec and "[rope" in x.model_spec and x.model_spec.startswith(x.spec.partition("rope")[0])
    for layer in range(4):
        kinds = {n: group["spec"] for group in x.layers for n in group["layers"]}
        inside = gn.make(x.model_spec, heads=4, head_dim=8, layer=layer)._scheme.attention_spec
        assert inside == gn.make(kinds[layer % 2], heads=4, head_dim=8)._scheme.attention_spec
    no_position = gn.explain(ready(tiny.smollm3).config).model_spec
    assert no_position.endswith(", none]")
    assert gn.explain(ready(tiny.llama).config).model_spec == gn.explain(ready(tiny.llama).config).spec


def implementations(model):
    return [(name, module.config._attn_implementation) for name, module in model.named_modules() if hasattr(module, "config")]


def hooks(model):
    return [len(hung) for module in model.modules() for hung in (module._forward_hooks, module._forward_pre_hooks)]


@pytest.mark.parametrize("spec", [ROPE, "alibi", "t5", "sinusoidal"])
@pytest.mark.parametrize("make", [tiny.llava, tiny.qwen2_vl, tiny.llama4, tiny.deepseek3, tiny.bert, tiny.llama4_growing, tiny.ministral3, tiny.albert])
def test_undo_gives_everything_back(make, spec):
    model = ready(make)
    if hasattr(model.config, "vision_config"):
        model.set_attn_implementation({"text_config": "eager"})
    before = said(model), implementations(model), hooks(model), list(model.state_dict()), model.config.to_dict()
    patched = gnh.patch(model, spec)
    assert (said(model) - before[0]).abs().max() > 1e-3 or spec == ROPE
    seen = [name for name, used in implementations(model) if used == "gnomon"]
    assert seen and not any("vision" in name for name in seen)
    patched.undo()
    assert torch.equal(said(model), before[0])
    assert (implementations(model), hooks(model), list(model.state_dict()), model.config.to_dict()) == before[1:]


def test_pictures_are_seen_as_before():
    model = ready(tiny.llava)
    tokens = TOKENS.clone()
    tokens[:, 2:6] = 3  # one for each of four patches
    pictures = torch.randn(2, 3, 8, 8, generator=torch.Generator().manual_seed(2))
    before = said(model, tokens, pixel_values=pictures)
    with gnh.patch(model, gn.explain(model.config).model_spec):
        torch.testing.assert_close(said(model, tokens, pixel_values=pictures), before, **CLOSE)


REFUSED = {
    "another patch": (lambda: (model := ready(tiny.llama), gnh.patch(model, "alibi"))[0], "patched already"),
    "keys of several tokens": (lambda: ready(tiny.deepseek4), "several tokens"),
    "an indexer": (lambda: ready(tiny.deepseek32), "indexer"),
    "T5": (lambda: transformers.T5Model(transformers.T5Config(d_model=16, d_kv=8, d_ff=16, num_layers=1, num_heads=2, vocab_size=20)), "decoder"),
    "a configuration": (lambda: transformers.LlamaConfig(**tiny.GROUPS), "LlamaConfig"),
    "a name": (lambda: "llama", "str"),
    "a wrapped model": (lambda: torch.nn.DataParallel(tiny.llama()), "DataParallel"),
    "a layer": (lambda: torch.nn.Linear(2, 2), "Linear"),
    "a bias that is learned": (lambda: transformers.T5EncoderModel(transformers.T5Config(
        d_model=16, d_kv=8, d_ff=16, num_layers=1, num_heads=2, vocab_size=20)), "a learned table"),
    "attention of its own": (lambda: transformers.MegatronBertForCausalLM(transformers.MegatronBertConfig(**tiny.SIZES, is_decoder=True)),
                             "AttentionInterface"),
    "a method that is replaced": (lambda: (model := ready(tiny.gptj), setattr(at := model.transformer.h[1].attn, "_attn", at._attn))[0],
                                  "another library"),
    "a tower for images": (lambda: ready(tiny.git), "no attention"),
    "masks from values": (lambda: ready(tiny.doge), "masks from its values"),
    "attention to another sequence": (lambda: transformers.BertLMHeadModel(transformers.BertConfig(
        **tiny.SIZES, is_decoder=True, add_cross_attention=True)), "another sequence"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused_is_left_alone(name):
    make, words = REFUSED[name]
    model = make()
    is_model = isinstance(model, transformers.PreTrainedModel)
    before = (implementations(model), hooks(model), list(model.state_dict())) if is_model else None
    with pytest.raises(gn.Error, match=words):
        gnh.patch(model, ROPE)
    if is_model:
        assert (implementations(model), hooks(model), list(model.state_dict())) == before


def test_a_spec_that_cannot_be_leaves_the_model_alone():
    model = ready(tiny.deepseek3)
    before = implementations(model), hooks(model), list(model.state_dict())
    for spec in ("rop", "fox", "rope(channels=40)"):
        with pytest.raises(gn.Error):
            gnh.patch(model, spec)
    assert (implementations(model), hooks(model), list(model.state_dict())) == before


@pytest.mark.parametrize("make, spec", [(tiny.llama, "t5"), (tiny.llama, "learned"), (tiny.bert, "learned"), (tiny.llava, "rope+t5")])
def test_a_patched_model_is_copied(make, spec):
    """The copy has its own parameters, and what they are changed to is read."""
    model = ready(make)
    patched = gnh.patch(model, spec)
    before = said(model)
    for other in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        assert torch.equal(said(other), before)
        mine = [p for name, p in other.named_parameters() if "_gnomon_position" in name]
        assert mine and not any(a is b for a in mine for b in model.parameters())
        with torch.no_grad():
            for p in mine:
                p += torch.randn(p.shape, generator=torch.Generator().manual_seed(3))
        assert (said(other) - before).abs().max() > 1e-3 and torch.equal(said(model), before)
    patched.undo()


def test_a_mask_that_shows_later_keys_is_obeyed_or_refused():
    """A prefix that sees itself whole, under the model's own encoding."""
    model = ready(tiny.llama)
    causal = torch.ones(len(TOKENS), 1, TOKENS.shape[1], TOKENS.shape[1], dtype=torch.bool).tril()
    prefix = causal.clone()
    prefix[..., :4, :4] = True
    spec, ordered, own = gn.explain(model.config).model_spec, said(model, attention_mask=causal), said(model, attention_mask=prefix)
    assert (own - ordered).abs().max() > 1e-2
    with gnh.patch(model, spec):
        torch.testing.assert_close(said(model, attention_mask=causal), ordered, **CLOSE)
        for mask in (prefix, torch.zeros(prefix.shape).masked_fill(~prefix, torch.finfo(torch.float32).min)):
            with pytest.raises(gn.Error, match="shows keys after their query.*causal=False"):
                said(model, attention_mask=mask)
    with gnh.patch(model, spec, causal=False):
        torch.testing.assert_close(said(model, attention_mask=prefix), own, **CLOSE)


def test_a_configuration_with_infinite_numbers_is_read():
    config = transformers.FalconH1Config(num_hidden_layers=2)
    assert float("inf") in config.to_dict()["time_step_limit"]
    assert gn.explain(config).layers[0]["heads"] == config.num_attention_heads
    assert gn.explain(config.to_dict() | {"max_position_embeddings": np.int64(4096)}).data["longest"] == 4096


def test_an_explained_layer_has_the_width_of_its_values():
    pe = gn.explain(transformers.DeepseekV3Config()).encoding()
    assert (pe.head_dim, pe.value_dim) == (192, 128)
