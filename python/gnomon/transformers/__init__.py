"""Replaces the position encoding in a loaded model of Hugging Face's transformers (5 and later), and restores it.

    import gnomon.transformers
    with gnomon.transformers.patch(model, "yarn(factor=4)"):
        model.generate(...)

The model's own rotation or table of positions is switched off. gnomon.torch.attend() computes its attention with the spec.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from transformers import AttentionInterface, AttentionMaskInterface, PreTrainedModel
from transformers.masking_utils import causal_mask_function, sdpa_mask

from .. import _core
from ..encoding import Encoding, make
from ..errors import Error
from ..models import Explanation
from ..torch import PositionEncoding, attend
from . import inside, parts, places

_NAME = "gnomon"
_ABSENT = object()
# What some models hand to attention that changes its numbers, and that gnomon's does not take.
_NOT_KNOWN = ("position_bias", "relative_position_bias", "indices", "block_indices")


def _attention(module: nn.Module, query: Tensor, key: Tensor, value: Tensor, attention_mask: Tensor | None, dropout: float = 0.0,
               s_aux: Tensor | None = None, scaling: float | None = None, **more: Any) -> tuple[Tensor, None]:
    """Attention in the form that transformers calls: rows (B, heads, T, head_dim) to (B, T, heads, head_dim), and no weights. s_aux
    (heads): sinks. The encoding has the layer's scale and soft-cap."""
    for name in _NOT_KNOWN:
        if more.get(name) is not None:
            raise Error(f"patch: {type(module).__name__} passes '{name}' to attention, which is not supported", place=name)
    if dropout:
        raise Error("patch: dropout of attention weights is not supported; set it to 0 in the configuration", place="dropout", found=str(dropout),
                    allowed="0")
    given: dict[str, Any] = {"sinks": None if s_aux is None else s_aux.float()}
    if not hasattr(module, "_gnomon_position"):
        raise Error(f"patch: {type(module).__name__} attends to another sequence, which is not supported", place="model",
                    found=type(module).__name__)
    if attention_mask is not None:
        keys = attention_mask.shape[-1]
        key, value = key[:, :, :keys], value[:, :, :keys]
        given["bias" if attention_mask.is_floating_point() else "mask"] = attention_mask
    told = places.told(module)
    keys_read = told.keys(module, query.shape[2], key.shape[2], attention_mask)
    keys_read.check(module._gnomon_position.encoding)
    given["positions"] = keys_read.positions
    if attention_mask is None and told.order:
        given["mask"] = ~places.later(query.shape[2], key.shape[2], query.device)
    if scaling is not None and scaling != getattr(module, "scaling", scaling):  # OPT has scaled its queries
        query = query * (scaling / module.scaling)
    query, key = parts.in_pairs(module, query), parts.in_pairs(module, key)
    y = attend(query, key, value, pe=module._gnomon_position, **given)
    return y.transpose(1, 2).contiguous(), None


def _mask(*, q_length: int, kv_length: int, q_offset: int = 0, kv_offset: int = 0, mask_function: Any = causal_mask_function,
          attention_mask: Tensor | None = None, **named: Any) -> Tensor | None:
    """The mask of transformers, True where a query sees a key; None if causal order is the whole mask. A static cache has rows for future
    keys. A causal mask omits them, so that the queries are the last keys."""
    causal = "allow_is_bidirectional_skip" not in named
    keys = min(kv_length, int(q_offset) + q_length - kv_offset) if causal else kv_length
    if causal and keys == kv_length and mask_function is causal_mask_function and (attention_mask is None or attention_mask.all()):
        return None
    return sdpa_mask(q_length=q_length, kv_length=keys, q_offset=q_offset, kv_offset=kv_offset, mask_function=mask_function,
                     attention_mask=attention_mask, **{**named, "allow_is_causal_skip": False})


AttentionInterface.register(_NAME, _attention)
AttentionMaskInterface.register(_NAME, _mask)


class Patched:
    """A model with a replaced encoding. undo(), or leaving a `with` block, restores the old one. positions: the modules of its layers,
    with learned parameters."""

    def __init__(self, model: PreTrainedModel, positions: list[PositionEncoding]) -> None:
        self.model, self.positions = model, positions
        self._hooks: list[Any] = []
        self._before: list[tuple[Any, str, Any]] = []  # what was changed: of which object, which attribute, and what it was

    def undo(self) -> None:
        """Restores the model's own encoding and attention. A second call does nothing."""
        for hook in self._hooks:
            hook.remove()
        for module in self.model.modules() if self._before else ():
            if "_gnomon_position" in module._modules:
                del module._gnomon_position
        for changed, name, value in self._before:
            delattr(changed, name) if value is _ABSENT else setattr(changed, name, value)
        self._hooks, self._before = [], []

    def _change(self, of: Any, name: str, value: Any) -> None:
        """Sets an attribute until undo(). One that the object itself has not, but its class, is taken away again."""
        self._before.append((of, name, vars(of).get(name, _ABSENT)))
        setattr(of, name, value)

    def __enter__(self) -> PreTrainedModel:
        return self.model

    def __exit__(self, *_: object) -> None:
        self.undo()


def _hang(patched: Patched, text: parts.Text, causal: list[bool]) -> None:
    """Adds hooks that remove the model's own positions, add the vectors of the new ones, and tell attention the positions of tokens.
    causal: whether each layer of the model is."""
    call, first, keep = places.Call(), patched.positions[0], patched._hooks.append
    keep(text.model.register_forward_pre_hook(places.Listen(call), with_kwargs=True))
    keep(text.model.register_forward_hook(places.Rest(call), always_call=True))
    for rotary in text.rotary:
        keep(rotary.register_forward_hook(places.NoRotation(call), with_kwargs=True))
    for table in text.tables:
        keep(table.register_forward_hook(places.NoTable(call, first), with_kwargs=True))
    row = inside.row_of(text.attentions[0])
    if row is not None and (row.turns or inside.counts(text.attentions[0])):
        keep(text.first_layer.register_forward_pre_hook(inside.Handed(call) if row.turns else inside.Count(call, row), with_kwargs=True))
    for n, (attention, position, is_causal) in enumerate(zip(text.attentions, patched.positions, causal)):
        tell = places.Tell(call, first=n == 0, order=is_causal and not position.encoding.causal, turns=bool(row and row.turns))
        keep(attention.register_forward_pre_hook(tell, with_kwargs=True))
        keep(attention.register_forward_hook(places.Forget(), always_call=True))
    if first.encoding._scheme.has_input and not text.tables:
        keep(text.first_layer.register_forward_pre_hook(places.BesideWords(call, first), with_kwargs=True))


def patch(model: PreTrainedModel, spec: str | Explanation, *, heads: int | None = None, kv_heads: int | None = None, head_dim: int | None = None,
          value_dim: int | None = None, width: int | None = None, length: int | None = None, causal: bool | None = None,
          scale: float | None = None, soft_cap: float | None = None, seed: int = 0) -> Patched:
    """Replaces the position encoding of a loaded model by `spec`; returns a Patched. spec: text for all layers, [one, another ...] for
    layers in turn, or an Explanation: patch(model, gnomon.explain(model)) changes nothing. A layer without attention has its turn too, and
    takes nothing. The sizes, as in gnomon.make(), override those that explain() tells of the model.

    It supports models whose attention goes through transformers' AttentionInterface, with rotary modules (Llama, GPT-NeoX, Mistral,
    Qwen, DeepSeek, ModernBERT ...) or a table of positions (BERT, GPT-2, OPT, BART's decoder ...), and BLOOM, CodeGen, Falcon, GPT-J,
    GPT-NeoX Japanese and MPT; docs/python.md counts them. In a model of text and images it changes the text part. Of an encoder and a decoder it takes neither. Words stay as they are: vectors are added to
    them, and "scale" of a spec says nothing here. A learned table as long as the model's begins with the model's rows.

    A layer keeps its scale, soft-cap, sinks, windows and masks, and position_ids keep their meaning. If a mask shows later keys (a prefix,
    an image), the call raises Error; with causal=False the order comes from the mask alone. Factors on the logits that belong
    to the old encoding (YaRN's temperature; Llama 4's, Ministral 3's and Beam's, which grow with position) are removed with it. Llama 4's
    counts tokens, and log_n of a spec positions.

    A window of an Explanation is the model's own, which stays. One of a text counts positions, and refuses position_ids with gaps.

    A key cache keeps keys as projected, with their positions, and rotates them when it reads them. In a rotary model, an input encoding
    (sinusoidal) counts from the first token that is not padding, unless position_ids are given.

    Raises Error and leaves the model unchanged: for an impossible spec, for a spec that reads a layer's input, for Explanation.spec if
    layers differ, and for a model that is unknown or already patched.
    """
    text = parts.text_of(model)
    sizes = {name: value for name, value in dict(heads=heads, kv_heads=kv_heads, head_dim=head_dim, value_dim=value_dim, width=width,
                                                 length=length, causal=causal, scale=scale, soft_cap=soft_cap).items() if value is not None}
    written = _written(text, spec)
    own = [text.sizes(layer, attention) for layer, attention in zip(text.layers, text.attentions)]
    made = [_encoding(written, layer, {**of_layer, **sizes}, seed) for layer, of_layer in zip(text.layers, own)]
    patched = Patched(model, [PositionEncoding(encoding) for encoding in made])
    for table in text.tables:
        _start_with_rows(patched.positions[0], table)
    for attention, position in zip(text.attentions, patched.positions):
        attention._gnomon_position = position.to(next(attention.parameters()).device)
    _hang(patched, text, [of_layer["causal"] for of_layer in own])
    for config in text.configs:
        patched._change(config, "_attn_implementation_internal", _NAME)
    for attention, name, value in [*text.growth(), *text.methods(_attention)]:
        patched._change(attention, name, value)
    return patched


def _written(text: parts.Text, spec: str | Explanation) -> str:
    """The spec of all layers. The model's masks have the windows of an explained model. Raises Error for the spec of a model's first
    layers if others differ."""
    if isinstance(spec, Explanation):
        return spec._without_windows
    if spec == text.own.spec and len({group["spec"] for group in text.own.layers}) > 1:
        raise Error(f"spec: found '{spec}', the spec of some layers alone; allowed are gnomon.explain(model), its model_spec, and [spec] for all "
                    "layers", place="spec", found=spec, allowed="gnomon.explain(model), its model_spec, [spec]")
    return spec


def _start_with_rows(position: PositionEncoding, table: nn.Embedding) -> None:
    """A learned table of as many positions as the model's begins with the model's rows."""
    own = table.weight.detach()[places.first_row(table):]
    for name, learned in position.named_parameters():
        if name == "input_table" and learned.shape == own.shape:
            learned.data.copy_(own)


def _encoding(spec: str, layer: int, sizes: dict[str, Any], seed: int) -> Encoding:
    encoding = make(spec, layer=layer, seed=seed, **sizes)
    joined = encoding.spec.partition("(")[0]
    if joined in set(_core.combinations()) - {"add"}:
        raise Error(f"spec: found '{joined}', which joins words and vectors; allowed is a spec that adds vectors to the words, or none", place="spec",
                    found=joined, allowed="add")
    wants = {"x", "projections"} & set(encoding.reads)
    if wants:
        raise Error(f"'{spec}' reads {', '.join(sorted(wants))} of a layer, which transformers does not pass to attention", place="spec",
                    found=spec)
    return encoding
