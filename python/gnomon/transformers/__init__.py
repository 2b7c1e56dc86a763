"""Another position encoding in a loaded model of Hugging Face's transformers (5 and later), and back.

    import gnomon.transformers
    with gnomon.transformers.patch(model, "yarn(factor=4)"):
        model.generate(...)

The model's own rotation or table of positions is switched off, and its attention is computed by gnomon.torch.attend under the spec.
"""

from __future__ import annotations

from typing import Any

from torch import Tensor, nn
from transformers import AttentionInterface, AttentionMaskInterface, PreTrainedModel
from transformers.masking_utils import causal_mask_function, sdpa_mask

from ..encoding import Encoding, make
from ..errors import Error
from ..torch import PositionEncoding, attend
from . import parts, places

_NAME = "gnomon"
# What some models hand to attention that changes its numbers, and that gnomon's does not take.
_NOT_KNOWN = ("position_bias", "relative_position_bias", "indices", "block_indices")


def _attention(module: nn.Module, query: Tensor, key: Tensor, value: Tensor, attention_mask: Tensor | None, dropout: float = 0.0,
               s_aux: Tensor | None = None, **more: Any) -> tuple[Tensor, None]:
    """As transformers calls attention: rows (B, heads, T, head_dim) to (B, T, heads, head_dim), and no weights. s_aux (heads): sinks.
    Scale and soft-cap are the encoding's, which has them of the layer."""
    for name in _NOT_KNOWN:
        if more.get(name) is not None:
            raise Error(f"patch: {type(module).__name__} hands '{name}' to attention, which is not computed", place=name)
    if dropout:
        raise Error("patch: dropout of attention weights is not computed; set it to 0 in the configuration", place="dropout", found=str(dropout),
                    allowed="0")
    given: dict[str, Any] = {"sinks": None if s_aux is None else s_aux.float()}
    if attention_mask is not None:
        keys = attention_mask.shape[-1]
        key, value = key[:, :, :keys], value[:, :, :keys]
        given["bias" if attention_mask.is_floating_point() else "mask"] = attention_mask
    given["positions"] = places.of_keys(module, query.shape[2], key.shape[2], attention_mask)
    query, key = parts.in_pairs(module, query), parts.in_pairs(module, key)
    y = attend(query, key, value, pe=module._gnomon_position, **given)
    return y.transpose(1, 2).contiguous(), None


def _mask(*, q_length: int, kv_length: int, q_offset: int = 0, kv_offset: int = 0, mask_function: Any = causal_mask_function,
          attention_mask: Tensor | None = None, **named: Any) -> Tensor | None:
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


class Patched:
    """A model whose encoding was changed: undo() gives back the old one, as leaving a `with` block does. positions: the modules of
    its layers, whose parameters learn."""

    def __init__(self, model: PreTrainedModel, positions: list[PositionEncoding]) -> None:
        self.model, self.positions = model, positions
        self._hooks: list[Any] = []
        self._before: list[tuple[Any, str, Any]] = []  # what was changed: of which object, which attribute, and what it was

    def undo(self) -> None:
        """Gives the model back its own encoding and its own attention; a second call does nothing."""
        for hook in self._hooks:
            hook.remove()
        for module in self.model.modules() if self._before else ():
            if "_gnomon_position" in module._modules:
                del module._gnomon_position
        for changed, name, value in self._before:
            setattr(changed, name, value)
        self._hooks, self._before = [], []

    def _change(self, of: Any, name: str, value: Any) -> None:
        """Until undo()."""
        self._before.append((of, name, getattr(of, name)))
        setattr(of, name, value)

    def __enter__(self) -> PreTrainedModel:
        return self.model

    def __exit__(self, *_: object) -> None:
        self.undo()


def _hang(patched: Patched, text: parts.Text) -> None:
    """Hooks that take the model's own positions away, add the vectors of the new ones, and tell attention where tokens stand."""
    call, first, keep = places.Call(), patched.positions[0], patched._hooks.append
    keep(text.model.register_forward_pre_hook(places.Listen(call), with_kwargs=True))
    for rotary in text.rotary:
        keep(rotary.register_forward_hook(places.NoRotation(call), with_kwargs=True))
    for table in text.tables:
        keep(table.register_forward_hook(places.NoTable(call, first)))
    for n, attention in enumerate(text.attentions):
        keep(attention.register_forward_pre_hook(places.Tell(call, first=n == 0), with_kwargs=True))
        keep(attention.register_forward_hook(places.Forget(), always_call=True))
    if first.encoding._scheme.has_input and not text.tables:
        keep(text.first_layer.register_forward_pre_hook(places.BesideWords(call, first), with_kwargs=True))


def patch(model: PreTrainedModel, spec: str, *, heads: int | None = None, kv_heads: int | None = None, head_dim: int | None = None,
          value_dim: int | None = None, width: int | None = None, length: int | None = None, causal: bool | None = None,
          scale: float | None = None, soft_cap: float | None = None, seed: int = 0) -> Patched:
    """Swaps the position encoding of a loaded model for `spec`; returns a Patched. spec: of all layers, or [one, another ...] for
    them in turn, as Explanation.model_spec says the model's own. sizes: as gnomon.make() takes them, where the configuration's are
    not to be used.

    Known: models whose attention goes through transformers' AttentionInterface, with rotary modules (Llama, GPT-NeoX, Mistral,
    Qwen, DeepSeek ...) or a table of positions (BERT, GPT-2); of a model of text and pictures, the text's part. A layer's scale,
    soft-cap, sinks, windows and masks stay its own, and position_ids mean what they mean to the model; what an encoding multiplies
    logits by (YaRN's temperature, Llama 4's, which grows with position) goes with it. With a key cache, keys are
    kept as they were projected, with their positions, and turned when they are read. An encoding beside the words (sinusoidal) of a
    rotary model counts from the first token that is none of the padding, unless position_ids are given.

    Raises Error, with the model as it was, for a spec that cannot be, that reads a layer's input, and for models that are not known
    or are patched already.
    """
    text = parts.text_of(model)
    sizes = {name: value for name, value in dict(heads=heads, kv_heads=kv_heads, head_dim=head_dim, value_dim=value_dim, width=width,
                                                 length=length, causal=causal, scale=scale, soft_cap=soft_cap).items() if value is not None}
    made = [_encoding(spec, layer, {**text.sizes(attention), **sizes}, seed) for layer, attention in enumerate(text.attentions)]
    patched = Patched(model, [PositionEncoding(encoding) for encoding in made])
    for attention, position in zip(text.attentions, patched.positions):
        attention._gnomon_position = position.to(next(attention.parameters()).device)
    _hang(patched, text)
    for config in text.configs:
        patched._change(config, "_attn_implementation_internal", _NAME)
    for attention, name, value in text.growth():
        patched._change(attention, name, value)
    return patched


def _encoding(spec: str, layer: int, sizes: dict[str, Any], seed: int) -> Encoding:
    encoding = make(spec, layer=layer, seed=seed, **sizes)
    wants = {"x", "projections"} & set(encoding.reads)
    if wants:
        raise Error(f"'{spec}' reads {', '.join(sorted(wants))} of a layer, which transformers does not hand to attention", place="spec",
                    found=spec)
    return encoding
