"""Another position encoding in a loaded model of Hugging Face's transformers (5 and later), and back.

    import gnomon.transformers
    with gnomon.transformers.patch(model, "yarn(factor=4)"):
        model.generate(...)

The model's own rotation or table of positions is switched off, and its attention is computed by gnomon.torch.attend under the spec.
"""

import torch
from transformers import AttentionInterface, AttentionMaskInterface
from transformers.masking_utils import causal_mask_function, sdpa_mask

from .encoding import make
from .errors import Error
from .torch import PositionEncoding, attend

_NAME = "gnomon"
# What some models hand to attention that changes its numbers, and that gnomon's does not take.
_NOT_KNOWN = ("position_bias", "relative_position_bias", "indices", "block_indices")


def _attention(module, query, key, value, attention_mask, dropout=0.0, s_aux=None, **more):
    """As transformers calls attention: rows (B, heads, T, head_dim) to (B, T, heads, head_dim), and no weights. s_aux (heads): sinks.
    Scale and soft-cap are the encoding's, which has them of the layer."""
    for name in _NOT_KNOWN:
        if more.get(name) is not None:
            raise Error(f"patch: {type(module).__name__} hands '{name}' to attention, which is not computed", place=name)
    if dropout:
        raise Error("patch: dropout of attention weights is not computed; set it to 0 in the configuration", place="dropout", found=str(dropout),
                    allowed="0")
    given = {"sinks": None if s_aux is None else s_aux.float()}
    if attention_mask is not None:
        keys = attention_mask.shape[-1]
        key, value = key[:, :, :keys], value[:, :, :keys]
        given["bias" if attention_mask.is_floating_point() else "mask"] = attention_mask
    y = attend(query, key, value, pe=module._gnomon_position, **given)
    return y.transpose(1, 2).contiguous(), None


def _mask(*, q_length, kv_length, q_offset=0, kv_offset=0, mask_function=causal_mask_function, attention_mask=None, **named):
    """The mask of transformers, True where a query sees a key; None where an encoding knows by itself. A static cache has rows of keys
    that are still to come: of causal masks they are left out, and so the queries are the last keys."""
    causal = "allow_is_bidirectional_skip" not in named
    keys = min(kv_length, int(q_offset) + q_length - kv_offset) if causal else kv_length
    if causal and keys == kv_length and mask_function is causal_mask_function and (attention_mask is None or attention_mask.all()):
        return None
    return sdpa_mask(q_length=q_length, kv_length=keys, q_offset=q_offset, kv_offset=kv_offset, mask_function=mask_function,
                     attention_mask=attention_mask, **{**named, "allow_is_causal_skip": False})


AttentionInterface.register(_NAME, _attention)
AttentionMaskInterface.register(_NAME, _mask)


def _no_rotation(module, arguments, result):
    cos, sin = result
    return torch.ones_like(cos), torch.zeros_like(sin)


class Patched:
    """A model whose encoding was changed: undo() gives back the old one, as leaving a `with` block does. positions: the modules of
    its layers, whose parameters learn."""

    def __init__(self, model, positions, hooks, before):
        self.model, self.positions = model, positions
        self._hooks, self._before = hooks, before

    def undo(self):
        """Gives the model back its own encoding and its own attention; a second call does nothing."""
        for hook in self._hooks:
            hook.remove()
        self._hooks = []
        for module in self.model.modules():
            if "_gnomon_position" in module.__dict__.get("_modules", {}):
                del module._gnomon_position
        if self._before is not None:
            self.model.set_attn_implementation(self._before)
            self._before = None

    def __enter__(self):
        return self.model

    def __exit__(self, *_):
        self.undo()


def _attentions(model):
    """The modules that compute attention, in the order of the layers."""
    found = [m for m in model.modules() if hasattr(m, "scaling") and (hasattr(m, "layer_idx") or hasattr(m, "is_causal"))]
    if not found:
        raise Error(f"patch: {type(model).__name__} has no attention that transformers lets one replace", place="model", found=type(model).__name__)
    return found


def _sizes(config, module):
    """What attention of this layer is made of, its scale and its soft-cap among it."""
    heads = config.num_attention_heads
    head_dim = getattr(config, "head_dim", None) or config.hidden_size // heads
    return dict(heads=heads, kv_heads=getattr(config, "num_key_value_heads", None) or heads, head_dim=head_dim, width=config.hidden_size,
                length=getattr(config, "max_position_embeddings", 0) or 2048, causal=bool(getattr(module, "is_causal", True)),
                scale=float(module.scaling), soft_cap=float(getattr(module, "attn_logit_softcapping", None) or 0))


def _switch_off(model, first):
    """Hooks that take the model's own positions away and add the vectors of `first`, where it has some. Returns them, or raises Error
    where none is found."""
    hooks = []
    for name, module in model.named_modules():
        if type(module).__name__.endswith("RotaryEmbedding"):
            hooks.append(module.register_forward_hook(_no_rotation))
        elif name.rpartition(".")[2] in ("position_embeddings", "wpe"):
            hooks.append(module.register_forward_hook(_table(first)))
    if not hooks:
        raise Error(f"patch: {type(model).__name__} turns nothing and has no table of positions that is known", place="model",
                    found=type(model).__name__, allowed="models with rotary modules or position_embeddings")
    if first.encoding._scheme.has_input and not any(type(m).__name__ == "Embedding" and n.endswith(("position_embeddings", "wpe"))
                                                    for n, m in model.named_modules()):
        hooks.append(model.get_input_embeddings().register_forward_hook(_beside_words(first)))
    return hooks


def _table(first):
    def instead(module, arguments, result):
        if not first.encoding._scheme.has_input:
            return torch.zeros_like(result)
        return first.vectors(arguments[0]).to(result.dtype).to(result.device)
    return instead


def _beside_words(first):
    def added(module, arguments, result):
        return result + first.vectors(torch.arange(result.shape[1])).to(result.dtype).to(result.device)
    return added


def patch(model, spec, **sizes):
    """Swaps the position encoding of a loaded model for `spec`; returns a Patched. sizes: as gnomon.make() takes them, where the
    configuration's are not to be used. Known: models whose attention goes through transformers' AttentionInterface, with rotary
    modules (Llama, GPT-NeoX, Mistral, Qwen ...) or a table of positions (BERT, GPT-2). A layer's scale, soft-cap, sinks, windows and
    masks stay its own. With a key cache, keys are kept as they were projected and turned when they are read. An encoding beside the words (sinusoidal) of a rotary model starts at 0 in every call:
    use it without a cache. Raises Error for a spec that cannot be, that reads a layer's input, and for models that are not known.
    """
    attentions = _attentions(model)
    config = model.config.get_text_config()
    positions = [PositionEncoding(make(spec, layer=n, **{**_sizes(config, module), **sizes})) for n, module in enumerate(attentions)]
    wants = {"x", "projections"} & set(positions[0].encoding.reads)
    if wants:
        raise Error(f"'{spec}' reads {', '.join(sorted(wants))} of a layer, which transformers does not hand to attention", place="spec", found=spec)
    hooks = _switch_off(model, positions[0])
    before = model.config._attn_implementation
    for module, position in zip(attentions, positions):
        module._gnomon_position = position.to(next(model.parameters()).device)
    model.set_attn_implementation(_NAME)
    return Patched(model, positions, hooks, before)
