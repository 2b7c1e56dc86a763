"""Models that compute attention in a method of their own, past transformers' AttentionInterface: which method, and what takes its place.

The names below are those of transformers 5.23: modeling_bloom.py, modeling_codegen.py, modeling_falcon.py, modeling_gptj.py,
modeling_gpt_neox_japanese.py and modeling_mpt.py.
"""

from __future__ import annotations

import functools
import inspect
from dataclasses import dataclass
from typing import Any, Callable

import torch
from torch import Tensor, nn

from . import places


@dataclass(frozen=True)
class Row:
    """A class of attention."""

    method: str  # what is replaced: "_attn", of q, k, v (B, heads, T, head_dim) and a mask, or "forward", of the words (B, T, width)
    # Of "forward": the projection to q, k and v, what makes heads of it, and the projection of the result.
    project: str = ""
    heads: Callable[[nn.Module, Tensor], tuple[Tensor, ...]] | None = None
    out: str = ""
    turns: bool = False  # it rotates q and k itself, by the position_ids that it is handed
    counts: str = ""  # the argument with a bias that the model makes of the number of each token; it does not read position_ids
    skips: bool = True  # this number leaves hidden tokens out
    hidden: bool = False  # True in the mask hides a key; the model makes this mask of that for eager attention


def _bloom(module: Any, x: Tensor) -> tuple[Tensor, ...]:
    return module._reshape(x)


def _falcon(module: Any, x: Tensor) -> tuple[Tensor, ...]:
    return tuple(heads.transpose(1, 2) for heads in module._split_heads(x))


def _mpt(module: Any, x: Tensor) -> tuple[Tensor, ...]:
    x = x if module.clip_qkv is None else x.clamp(-module.clip_qkv, module.clip_qkv)
    return tuple(part.unflatten(-1, (module.n_heads, module.head_dim)).transpose(1, 2) for part in x.chunk(3, -1))


_ROWS = {
    "BloomAttention": Row("forward", "query_key_value", _bloom, "dense", counts="alibi"),
    "CodeGenAttention": Row("_attn", turns=True),
    "FalconAttention": Row("forward", "query_key_value", _falcon, "dense", counts="alibi"),
    "GPTJAttention": Row("_attn", turns=True),
    "GPTNeoXJapaneseAttention": Row("_attn"),
    "MptAttention": Row("forward", "Wqkv", _mpt, "out_proj", counts="position_bias", skips=False, hidden=True),
}


def row_of(module: nn.Module) -> Row | None:
    return _ROWS.get(type(module).__name__)


def counts(module: nn.Module) -> bool:
    """Whether the model counts tokens itself. A Falcon does so in place of its rotation."""
    row = row_of(module)
    return bool(row and row.counts) and getattr(getattr(module, "config", None), "alibi", True)


def replaced(module: nn.Module, row: Row, attention: Any) -> Any:
    """What takes the place of the method of a module. attention: in the form that transformers calls. It can be copied with the module."""
    return functools.partial({"forward": _forward, "_attn": _attn}[row.method], module, attention)


def _attn(module: Any, attention: Any, query: Tensor, key: Tensor, value: Tensor, attention_mask: Tensor | None = None) -> tuple[Tensor, None]:
    """Rows (B, heads, T, head_dim) and no weights. q and k may be float32 beside other values."""
    y, _ = attention(module, query.to(value.dtype), key.to(value.dtype), value, attention_mask, dropout=_dropout(module))
    return y.transpose(1, 2), None


def _forward(module: Any, attention: Any, *arguments: Any, **named: Any) -> tuple[Tensor, None]:
    """Words (B, T, width) to the same, and no weights."""
    row = _ROWS[type(module).__name__]
    given = inspect.signature(type(module).forward).bind(module, *arguments, **named).arguments
    query, key, value = row.heads(module, getattr(module, row.project)(given["hidden_states"]))  # type: ignore[misc]
    cache, mask = places.told(module).cache, given.get("attention_mask")
    if cache is not None:
        key, value = cache.update(key, value, module.layer_idx)
    if mask is not None and mask.is_floating_point() and counts(module):
        mask = places.shown(mask)  # Falcon's has the bias in it
    if row.hidden:
        mask = ~mask[..., :key.shape[2] if cache is None else int(cache.get_seq_length(module.layer_idx))]
    y, _ = attention(module, query, key, value, mask, dropout=_dropout(module))
    y = getattr(module, row.out)(y.flatten(2))
    if "residual" in given:
        y = given["residual"] + nn.functional.dropout(y, module.hidden_dropout, module.training)
    return y, None


def _dropout(module: nn.Module) -> float:
    """The probability of dropout of weights in this call."""
    found = next((getattr(module, name) for name in ("attention_dropout", "attn_dropout", "attn_dropout_p") if hasattr(module, name)), 0.0)
    return float(getattr(found, "p", found)) if module.training else 0.0


class Count:
    """Before the first layer of a model that counts tokens itself: stores their numbers as positions, also on the bias that the model made
    of them. A layer that is computed again is handed that again."""

    def __init__(self, call: places.Call, row: Row) -> None:
        self.call, self.row = call, row

    def __call__(self, module: nn.Module, arguments: tuple[Any, ...], named: dict[str, Any]) -> None:
        bias = named[self.row.counts]
        if places.said((bias,), {}) is not None:
            return
        hidden, cache = arguments[0] if arguments else named["hidden_states"], places.cache_of(arguments, named)
        past, new = 0 if cache is None else int(cache.get_seq_length()), hidden.shape[1]
        if self.call.shown is None and self.row.hidden:  # generate() gives a mask of four dimensions where a cache has a fixed size
            self.call.shown = places.seen_by_any(~named["attention_mask"])[:, :past + new]
        if self.call.shown is None or not self.row.skips:
            numbers = past + torch.arange(new, device=hidden.device)
        else:
            numbers = (self.call.shown.long().cumsum(1) - 1).clamp_min(0)[:, past:past + new]
        places.mark(bias, self.call.say(numbers))


class Handed:
    """Before the first layer of a model whose layers are handed position_ids: stores them."""

    def __init__(self, call: places.Call) -> None:
        self.call = call

    def __call__(self, module: nn.Module, arguments: tuple[Any, ...], named: dict[str, Any]) -> None:
        self.call.say(named["position_ids"])
