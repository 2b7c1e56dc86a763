"""The parts of a transformers model that patch() works on: the part that reads text, and its modules that handle position."""

from __future__ import annotations

import copy
import functools
import inspect
import sys
from typing import Any

import torch
from torch import Tensor, nn
from transformers import PreTrainedModel

from ..errors import Error
from ..models import Explanation, explain
from . import inside

_TABLES = ("position_embeddings", "wpe", "embed_positions", "positions_embed")  # what transformers calls a table of positions
# Attention to another sequence in a decoder of two stacks. Alone it has none to attend to.
_ACROSS = "encoder_attn"


def _refuse(model: object, why: str, allowed: str) -> Error:
    found = type(model).__name__
    return Error(f"patch: {found} {why}; allowed are {allowed}", place="model", found=found, allowed=allowed)


class Text:
    """The part of a model that reads text. attentions: the modules that compute attention, in the order of the layers. layers: the number
    of the layer of each; in a hybrid model not all layers attend. rotary, tables: the modules that encode positions. configs: the
    configurations that name the attention to use."""

    def __init__(self, whole: PreTrainedModel, model: PreTrainedModel) -> None:
        self.model = model
        named = dict(model.named_modules())
        attentions = {n: m for n, m in named.items() if _attends(m, model.config) and n.rpartition(".")[2] != _ACROSS}
        self.attentions = list(attentions.values())
        self.layers = [_number(path, n) for n, path in enumerate(attentions)]
        counted = any(inside.counts(m) for m in self.attentions)  # a Falcon has a rotary module nevertheless
        self.rotary = [m for m in named.values() if type(m).__name__.endswith("RotaryEmbedding") and not counted]
        self.tables = [m for n, m in named.items() if n.rpartition(".")[2] in _TABLES and isinstance(m, nn.Embedding)]
        configs = [model.config, whole.config.get_text_config(), *(m.config for m in self.attentions if hasattr(m, "config"))]
        self.configs = list({id(config): config for config in configs}.values())
        self.rows = [inside.row_of(m) for m in self.attentions]
        if any(row and row.hidden for row in self.rows):  # MPT's mask is made of that of its own attention
            self.configs = []
        self.first_layer = named[_layer(next(iter(attentions)))] if attentions else None

    @functools.cached_property
    def own(self) -> Explanation:
        """What explain() says of it. Raises Error for a configuration that it cannot read."""
        return explain(self.model.config)

    def sizes(self, layer: int, attention: nn.Module) -> dict[str, Any]:
        """The sizes of a layer's attention, with its scale and soft-cap. Layers may have heads of their own. Raises Error."""
        own = next((group for group in self.own.layers if layer in group["layers"] and group.get("heads")), None)
        if own is None:
            raise _refuse(self.model, f"attends in layer {layer}, and its configuration tells no heads there", "layers that explain() knows")
        sizes = {name: own[name] for name in ("heads", "kv_heads", "head_dim", "value_dim", "causal") if own.get(name) is not None}
        if hasattr(attention, "num_key_value_groups"):  # JetMoE repeats its keys itself
            sizes["kv_heads"] = sizes["heads"] // attention.num_key_value_groups
        if getattr(attention, "new_decoder_architecture", False):  # as this Falcon does
            sizes["kv_heads"] = sizes["heads"]
        # The scale of DeepSeek's attention has YaRN's temperature in it, which is the encoding's.
        scale = attention.qk_head_dim**-0.5 if hasattr(attention, "qk_head_dim") else float(getattr(attention, "scaling", own["scale"]))
        width = self.tables[0].embedding_dim if self.tables else self.model.config.hidden_size
        return dict(sizes, scale=scale, width=width, length=getattr(self.model.config, "max_position_embeddings", 0) or 2048,
                    soft_cap=float(getattr(attention, "attn_logit_softcapping", None) or 0))

    def growth(self) -> list[tuple[nn.Module, str, Any]]:
        """Attributes of attention that scale queries by their position, with the values that switch this off: Llama 4's temperature, and
        Ministral 3's. Ministral 3 reads its configuration at every call."""
        found: list[tuple[nn.Module, str, Any]] = []
        for attention in self.attentions:
            if getattr(attention, "attn_temperature_tuning", False):
                found.append((attention, "attn_temperature_tuning", False))
            rope = getattr(getattr(attention, "config", None), "rope_parameters", None) or {}
            if rope.get("llama_4_scaling_beta"):
                config = copy.copy(attention.config)
                config.rope_parameters = {**rope, "llama_4_scaling_beta": 0.0}
                found.append((attention, "config", config))
        return found

    def methods(self, attention: Any) -> list[tuple[nn.Module, str, Any]]:
        """The methods that compute attention past AttentionInterface, with what takes their place."""
        return [(m, row.method, inside.replaced(m, row, attention)) for m, row in zip(self.attentions, self.rows) if row is not None]


def _attends(module: nn.Module, config: Any) -> bool:
    """Whether a module computes attention in a model of this configuration; GIT has a tower for images inside. ModernBERT's has no scale,
    LayoutLM's no number of its layer."""
    if type(getattr(module, "config", config)) is not type(config):
        return False
    if inside.row_of(module) is not None:
        return True
    if hasattr(module, "scaling"):
        return any(hasattr(module, name) for name in ("layer_idx", "is_causal", "num_attention_heads"))
    return hasattr(module, "is_causal") and hasattr(module, "layer_idx")


def _number(path: str, otherwise: int) -> int:
    """"layers.2.self_attn" to 2. A path without a number has no list of layers: then `otherwise`."""
    last = _layer(path).rpartition(".")[2]
    return int(last) if last.isdigit() else otherwise


def _layer(path: str) -> str:
    """"layers.0.self_attn" to "layers.0"."""
    names = path.split(".")
    at = next((n for n, name in enumerate(names) if name.isdigit()), len(names) - 1)
    return ".".join(names[:at + 1])


def in_pairs(attention: nn.Module, rows: Tensor) -> Tensor:
    """q or k (..., channels) in the order of their projection. DeepSeek V3 and similar models rotate adjacent pairs, but first move the
    first channels of all pairs before the second ones. This function reverses that, because a spec counts channels as in the file."""
    if not (hasattr(sys.modules[type(attention).__module__], "apply_rotary_pos_emb_interleave") and hasattr(attention, "qk_rope_head_dim")
            and getattr(attention.config, "rope_interleave", True)):
        return rows
    still, moved = rows.split([rows.shape[-1] - attention.qk_rope_head_dim, attention.qk_rope_head_dim], -1)
    return torch.cat([still, moved.unflatten(-1, (2, -1)).transpose(-1, -2).flatten(-2)], -1)


def text_of(model: Any) -> Text:
    """The part of a model that patch() works on. Raises Error for unknown models; changes nothing."""
    if not isinstance(model, PreTrainedModel):
        inside = next((m for name in ("module", "_orig_mod", "model", "base_model")
                       if isinstance(m := getattr(model, name, None), PreTrainedModel)), None)
        raise _refuse(model, "is not a model of transformers", "models from from_pretrained()" + (" (it holds one)" if inside is not None else ""))
    if model.config.is_encoder_decoder:
        raise _refuse(model, "has an encoder and a decoder", "models of one part")
    part = model.get_decoder()
    if not isinstance(part, PreTrainedModel):  # a head of that name: ModernBERT's
        part = model.base_model
    if not isinstance(part, PreTrainedModel):
        raise _refuse(model, "has no known text part", "models of text")
    text = Text(model, part)
    _check(model, text)
    return text


def _check(model: PreTrainedModel, text: Text) -> None:
    if not text.attentions:
        raise _refuse(model, "has no attention that transformers can replace", "models whose attention goes through AttentionInterface")
    if any(hasattr(m, "_gnomon_position") for m in text.attentions):
        raise _refuse(model, "is patched already", "unpatched models; call undo() of the other patch first")
    if not text.model._can_set_attn_implementation() and not all(text.rows):
        raise _refuse(model, "does not allow another attention", "models whose attention goes through AttentionInterface")
    if any(hasattr(m, "indexer") for m in text.attentions):
        raise _refuse(model, "selects the keys of a query with an indexer", "models whose queries see all keys in their mask")
    if any(hasattr(m, "compressor") for m in text.attentions):
        raise _refuse(model, "adds keys that summarise several tokens", "models with one key per token")
    if any(hasattr(m, "prepare_dynamic_mask") for m in text.attentions):
        raise _refuse(model, "makes masks from its values", "models whose masks follow from positions")
    across = [type(m).__name__ for m in text.attentions if getattr(m, "is_cross_attention", False) or "Cross" in type(m).__name__]
    if across:
        raise _refuse(model, f"attends to another sequence ({across[0]})", "models without cross-attention")
    if any(hasattr(m, "relative_attention_bias") for m in text.attentions):
        raise _refuse(model, "adds biases from a learned table, which patch() does not take out", "models with rotary modules or position_embeddings")
    if any(row and row.method in vars(m) for m, row in zip(text.attentions, text.rows)):
        raise _refuse(model, "has attention whose method another library has replaced", "models as transformers makes them")
    if not text.rotary and not text.tables and not all(text.rows):
        raise _refuse(model, "has no rotation and no known table of positions", "models with rotary modules or position_embeddings")
    odd = [type(m).__name__ for m in text.rotary if "position_ids" not in inspect.signature(m.forward).parameters]
    if odd:
        raise _refuse(model, f"has rotary modules without position_ids ({odd[0]})", "models whose rotary modules take position_ids")
