"""The positions of the tokens in a call: from the modules of a model that get position_ids to the modules that compute attention.

Hooks are objects, not functions, so that a copy of a patched model has its own hooks.
"""

from __future__ import annotations

import functools
import inspect
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from ..errors import Error

_MARK = "_gnomon_said"  # on what a rotary module returned, which a layer that is computed again is handed again


@dataclass
class Said:
    """positions: of the tokens in a call, (1 or B, T) or (1 or B, T, axes). words: their positions for an input encoding, which does not
    count padding on the left."""

    positions: Tensor
    words: Tensor


class Call:
    """Data of the current call that only the first module gets."""

    def __init__(self) -> None:
        self.shown: Tensor | None = None  # attention_mask (B, tokens seen so far), 1 = a token
        self.given = False  # whether the caller said positions
        self.said: Said | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {}

    def __setstate__(self, _: dict[str, Any]) -> None:
        self.__init__()  # type: ignore[misc]

    def say(self, positions: Tensor) -> Said:
        """Stores position_ids of a model: (T), (1 or B, T), or (axes, 1 or B, T) with several axes."""
        if positions.dim() == 1:
            positions = positions[None]
        if positions.dim() == 3:
            same = bool((positions == positions[:1]).all())
            positions = positions[0] if same else positions.permute(1, 2, 0)
        self.said = Said(positions, positions if self.given or positions.dim() == 3 else self._counted(positions))
        return self.said

    def _counted(self, positions: Tensor) -> Tensor:
        """Positions counted from the first token that is not padding."""
        shown, new = self.shown, positions.shape[1]
        if shown is None or shown.shape[1] < new:
            return positions
        return (shown.long().cumsum(1) - 1).clamp_min(0)[:, -new:]


class Listen:
    """Before the forward pass of the model: stores the arguments of its caller."""

    def __init__(self, call: Call) -> None:
        self.call = call

    def __call__(self, module: nn.Module, arguments: tuple[Any, ...], named: dict[str, Any]) -> None:
        told = inspect.signature(module.forward).bind_partial(*arguments, **named).arguments
        shown = told.get("attention_mask")
        self.call.said, self.call.given = None, told.get("position_ids") is not None
        self.call.shown = shown if isinstance(shown, Tensor) and shown.dim() == 2 else None


class NoRotation:
    """After a rotary module: stores the positions of the tokens and returns a rotation by 0."""

    def __init__(self, call: Call) -> None:
        self.call = call

    def __call__(self, module: nn.Module, arguments: tuple[Any, ...], named: dict[str, Any], result: Any) -> Any:
        said = self.call.say(named["position_ids"] if "position_ids" in named else arguments[1])
        if isinstance(result, Tensor):  # complex numbers, which q and k are multiplied by
            nothing = torch.ones_like(result)
            setattr(nothing, _MARK, said)
            return nothing
        cos, sin = torch.ones_like(result[0]), torch.zeros_like(result[1])
        setattr(cos, _MARK, said)
        return cos, sin


class NoTable:
    """After a table of positions: stores the positions of the tokens and returns the vectors of another encoding, or zeros."""

    def __init__(self, call: Call, position: Any) -> None:
        self.call, self.position = call, position

    def __call__(self, module: nn.Module, arguments: tuple[Any, ...], result: Tensor) -> Tensor:
        rows = arguments[0]
        first = 0 if getattr(module, "padding_idx", None) is None else module.padding_idx + 1  # RoBERTa's tables
        self.call.say((rows - first).clamp_min(0))
        if not self.position.encoding._scheme.has_input:
            return torch.zeros_like(result)
        return self.position.vectors(rows).to(result)


class BesideWords:
    """Before the first layer of a model without a table: adds the vectors of an input encoding to the word vectors."""

    def __init__(self, call: Call, position: Any) -> None:
        self.call, self.position = call, position

    def __call__(self, module: nn.Module, arguments: tuple[Any, ...], named: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        said = _said(arguments, named) or self.call.said
        assert said is not None
        hidden = arguments[0] if arguments else named["hidden_states"]
        hidden = hidden + self.position.vectors(said.words).to(hidden)
        return ((hidden, *arguments[1:]), named) if arguments else (arguments, {**named, "hidden_states": hidden})


@dataclass
class Told:
    """Data for attention. said: the positions of its tokens (None: its own rotary module stores them in the call). cache: the cache with
    the earlier tokens. first: whether this is the first layer, which stores the positions in the cache."""

    said: Said | None
    call: Call
    cache: Any
    first: bool


class Forget:
    """After a module has computed attention: clears its data. Some modules call gnomon twice for it."""

    def __call__(self, module: nn.Module, *_: object) -> None:
        module.__dict__.pop("_gnomon_told", None)


class Tell:
    """Before a module computes attention: gives it its data."""

    def __init__(self, call: Call, first: bool) -> None:
        self.call, self.first = call, first

    def __call__(self, module: nn.Module, arguments: tuple[Any, ...], named: dict[str, Any]) -> None:
        cache = next((x for x in (*arguments, *named.values()) if hasattr(x, "get_seq_length")), None)
        module.__dict__["_gnomon_told"] = Told(_said(arguments, named), self.call, getattr(cache, "self_attention_cache", cache), self.first)


def _said(arguments: tuple[Any, ...], named: dict[str, Any]) -> Said | None:
    """The positions that a rotary module attached to its result."""
    for x in (*arguments, *named.values()):
        x = x[0] if isinstance(x, tuple) and x else x
        if isinstance(x, Tensor) and hasattr(x, _MARK):
            return getattr(x, _MARK)
    return None


def of_keys(module: nn.Module, queries: int, keys: int, mask: Tensor | None) -> Tensor | None:
    """The positions of the keys of this call, for attend(); None: 0, 1, 2 ... mask: the mask that attention gets. Raises Error if the
    positions are unknown."""
    told = module.__dict__.get("_gnomon_told")
    said = None if told is None else told.said or told.call.said
    if told is None or said is None:
        raise Error(f"patch: {type(module).__name__} got no positions of its tokens", place="positions", found=type(module).__name__)
    places = said.positions
    if places.shape[1] != queries:
        raise Error(f"patch: found {places.shape[1]} positions; allowed are {queries}, one for each new token", place="position_ids",
                    found=str(places.shape[1]), allowed=str(queries))
    if told.cache is not None:
        places = _remembered(told.cache, module, places) if told.first else told.cache._gnomon_places
    if places.shape[1] < keys:
        raise Error(f"patch: found {keys} keys; allowed are {places.shape[1]}, the number of known positions", place="position_ids",
                    found=str(keys), allowed=str(places.shape[1]))
    return _as_attention_takes(module, places[:, -keys:], _seen(mask))


def _remembered(cache: Any, module: nn.Module, new: Tensor) -> Tensor:
    """The positions of all tokens in a cache of transformers, including the new ones; it stores them in the cache."""
    past = int(cache.get_seq_length(getattr(module, "layer_idx", 0))) - new.shape[1]
    kept = getattr(cache, "_gnomon_places", None)
    if past and (kept is None or kept.shape[1] < past):
        raise Error("patch: the cache has keys from before patch(); allowed is a new cache", place="past_key_values",
                    found=f"{past} tokens", allowed="a new cache")
    if past:
        new = torch.cat(_alike(kept[:, :past].to(new.device), new), 1)
    cache._gnomon_places = new
    for name in ("reorder_cache", "batch_select_indices", "batch_repeat_interleave"):
        if hasattr(type(cache), name):
            cache.__dict__.setdefault(name, functools.partial(_rearranged, cache, name))
    return new


def _rearranged(cache: Any, name: str, chosen: Any) -> None:
    """Calls a method of the cache that selects or repeats its sequences, and does the same with their positions."""
    getattr(type(cache), name)(cache, chosen)
    kept = cache._gnomon_places
    if len(kept) > 1:
        cache._gnomon_places = kept.repeat_interleave(chosen, 0) if name == "batch_repeat_interleave" else kept[chosen]


def _alike(old: Tensor, new: Tensor) -> tuple[Tensor, Tensor]:
    """Both with the same number of sequences and axes."""
    axes = max(old.shape[2] if old.dim() == 3 else 1, new.shape[2] if new.dim() == 3 else 1)
    old, new = (p[..., None].expand(-1, -1, axes) if axes > 1 and p.dim() == 2 else p for p in (old, new))
    rows = max(len(old), len(new))
    if rows % len(old) or rows % len(new):
        raise Error(f"patch: found {len(new)} sequences; allowed are {len(old)}, as in the cache", place="past_key_values",
                    found=str(len(new)), allowed=str(len(old)))
    return old.repeat_interleave(rows // len(old), 0), new.repeat_interleave(rows // len(new), 0)


def _seen(mask: Tensor | None) -> Tensor | None:
    """(1 or B, keys): whether any query sees the key."""
    if mask is None:
        return None
    shown = mask if mask.dtype is torch.bool else mask > torch.finfo(mask.dtype).min / 2
    return shown.flatten(1, 2).any(1)


def _as_attention_takes(module: nn.Module, places: Tensor, seen: Tensor | None) -> Tensor | None:
    """The positions for attend(). Keys that no query sees continue the positions of the others, because padding may have any position."""
    if places.dim() == 3:
        axes = module._gnomon_position.encoding._scheme.axes
        _refuse_windows(module)
        if axes != places.shape[2]:
            raise Error(f"patch: found positions with {places.shape[2]} axes; allowed for this encoding are {axes}",
                        place="position_ids", found=f"{places.shape[2]} axes", allowed=str(axes))
        return places
    count = torch.arange(places.shape[1], device=places.device)
    ahead = places - count
    if seen is not None:
        ahead, seen = torch.broadcast_tensors(ahead, seen)
        first = ahead.gather(1, seen.to(torch.uint8).argmax(1, keepdim=True))  # of the first key that is seen
        unseen = torch.where(seen.any(1, keepdim=True), first, 0)
        places = torch.where(seen, places, (unseen + count).clamp_min(0))
        ahead = torch.where(seen, ahead, unseen)
    if not bool(ahead.any()):
        return None
    if not bool(((places.diff() == 1) | (places[:, 1:] == 0)).all()):  # texts side by side begin at 0
        _refuse_windows(module)
    return places[:1] if bool((places == places[:1]).all()) else places


def _refuse_windows(module: nn.Module) -> None:
    """Raises Error for a spec with windows. If positions have gaps, a window of transformers counts tokens, one of a spec positions."""
    encoding = module._gnomon_position.encoding
    if "mask" in encoding.acts:
        raise Error(f"patch: found positions with gaps; '{encoding.spec}' hides keys by position, but the model by the number of tokens between; "
                    "allowed is a spec without windows, because the model keeps its own", place="position_ids", found="holes",
                    allowed="a spec without windows")
