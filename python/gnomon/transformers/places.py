"""Where the tokens of a call stand: from the modules of a model that are told its position_ids to those that compute attention.

Hooks are objects, not functions, so that a copy of a patched model has its own.
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
    """positions of the tokens of a call, (1 or B, T) or (1 or B, T, axes); words: those of encodings beside the words, where padding
    on the left has none."""

    positions: Tensor
    words: Tensor


class Call:
    """What of the call now under way no module but the first is told."""

    def __init__(self) -> None:
        self.shown: Tensor | None = None  # attention_mask (B, tokens seen so far), 1 = a token
        self.given = False  # whether the caller said positions
        self.said: Said | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {}

    def __setstate__(self, _: dict[str, Any]) -> None:
        self.__init__()  # type: ignore[misc]

    def say(self, positions: Tensor) -> Said:
        """position_ids as a model has them: (T), (1 or B, T), or of several axes (axes, 1 or B, T)."""
        if positions.dim() == 1:
            positions = positions[None]
        if positions.dim() == 3:
            same = bool((positions == positions[:1]).all())
            positions = positions[0] if same else positions.permute(1, 2, 0)
        self.said = Said(positions, positions if self.given or positions.dim() == 3 else self._counted(positions))
        return self.said

    def _counted(self, positions: Tensor) -> Tensor:
        """From the first token that is none of the padding on."""
        shown, new = self.shown, positions.shape[1]
        if shown is None or shown.shape[1] < new:
            return positions
        return (shown.long().cumsum(1) - 1).clamp_min(0)[:, -new:]


class Listen:
    """Before the forward pass of the model: what its caller said."""

    def __init__(self, call: Call) -> None:
        self.call = call

    def __call__(self, module: nn.Module, arguments: tuple[Any, ...], named: dict[str, Any]) -> None:
        told = inspect.signature(module.forward).bind_partial(*arguments, **named).arguments
        shown = told.get("attention_mask")
        self.call.said, self.call.given = None, told.get("position_ids") is not None
        self.call.shown = shown if isinstance(shown, Tensor) and shown.dim() == 2 else None


class NoRotation:
    """After a rotary module: a rotation by nothing, and where the tokens stand."""

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
    """After a table of positions: the vectors of another encoding, or zeros, and where the tokens stand."""

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
    """Before the first layer of a model without a table: vectors are added to those of the words."""

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
    """What attention is told: where its tokens stand (None: it has a rotary module of its own, which tells the call), the cache that
    has those before them, and whether it is the first of the layers, which writes into the cache where they stand."""

    said: Said | None
    call: Call
    cache: Any
    first: bool


class Forget:
    """After a module computed attention, for which some call gnomon twice."""

    def __call__(self, module: nn.Module, *_: object) -> None:
        module.__dict__.pop("_gnomon_told", None)


class Tell:
    """Before a module computes attention."""

    def __init__(self, call: Call, first: bool) -> None:
        self.call, self.first = call, first

    def __call__(self, module: nn.Module, arguments: tuple[Any, ...], named: dict[str, Any]) -> None:
        cache = next((x for x in (*arguments, *named.values()) if hasattr(x, "get_seq_length")), None)
        module.__dict__["_gnomon_told"] = Told(_said(arguments, named), self.call, getattr(cache, "self_attention_cache", cache), self.first)


def _said(arguments: tuple[Any, ...], named: dict[str, Any]) -> Said | None:
    """What a rotary module said, of what it returned."""
    for x in (*arguments, *named.values()):
        x = x[0] if isinstance(x, tuple) and x else x
        if isinstance(x, Tensor) and hasattr(x, _MARK):
            return getattr(x, _MARK)
    return None


def of_keys(module: nn.Module, queries: int, keys: int, mask: Tensor | None) -> Tensor | None:
    """Where the keys of this call stand, as attend() takes it; None: one after the other from 0. mask: as attention was handed it.
    Raises Error where that is not known."""
    told = module.__dict__.get("_gnomon_told")
    said = None if told is None else told.said or told.call.said
    if told is None or said is None:
        raise Error(f"patch: nothing told {type(module).__name__} where its tokens stand", place="positions", found=type(module).__name__)
    places = said.positions
    if places.shape[1] != queries:
        raise Error(f"patch: found {places.shape[1]} positions; allowed is one for each of {queries} new tokens", place="position_ids",
                    found=str(places.shape[1]), allowed=str(queries))
    if told.cache is not None:
        places = _remembered(told.cache, module, places) if told.first else told.cache._gnomon_places
    if places.shape[1] < keys:
        raise Error(f"patch: found {keys} keys; allowed are {places.shape[1]}, those whose positions are known", place="position_ids",
                    found=str(keys), allowed=str(places.shape[1]))
    return _as_attention_takes(module, places[:, -keys:], _seen(mask))


def _remembered(cache: Any, module: nn.Module, new: Tensor) -> Tensor:
    """Positions of all tokens that a cache of transformers has, the new ones among them; it keeps them."""
    past = int(cache.get_seq_length(getattr(module, "layer_idx", 0))) - new.shape[1]
    kept = getattr(cache, "_gnomon_places", None)
    if past and (kept is None or kept.shape[1] < past):
        raise Error("patch: the cache has keys that were turned before patch(); allowed is a new cache", place="past_key_values",
                    found=f"{past} tokens", allowed="a new cache")
    if past:
        new = torch.cat(_alike(kept[:, :past].to(new.device), new), 1)
    cache._gnomon_places = new
    for name in ("reorder_cache", "batch_select_indices", "batch_repeat_interleave"):
        if hasattr(type(cache), name):
            cache.__dict__.setdefault(name, functools.partial(_rearranged, cache, name))
    return new


def _rearranged(cache: Any, name: str, chosen: Any) -> None:
    """One of the cache's methods that choose or repeat its sequences; their positions follow."""
    getattr(type(cache), name)(cache, chosen)
    kept = cache._gnomon_places
    if len(kept) > 1:
        cache._gnomon_places = kept.repeat_interleave(chosen, 0) if name == "batch_repeat_interleave" else kept[chosen]


def _alike(old: Tensor, new: Tensor) -> tuple[Tensor, Tensor]:
    """Both of as many sequences and axes."""
    axes = max(old.shape[2] if old.dim() == 3 else 1, new.shape[2] if new.dim() == 3 else 1)
    old, new = (p[..., None].expand(-1, -1, axes) if axes > 1 and p.dim() == 2 else p for p in (old, new))
    rows = max(len(old), len(new))
    if rows % len(old) or rows % len(new):
        raise Error(f"patch: found {len(new)} sequences; allowed are {len(old)}, those of the cache", place="past_key_values",
                    found=str(len(new)), allowed=str(len(old)))
    return old.repeat_interleave(rows // len(old), 0), new.repeat_interleave(rows // len(new), 0)


def _seen(mask: Tensor | None) -> Tensor | None:
    """(1 or B, keys): whether some query sees the key."""
    if mask is None:
        return None
    shown = mask if mask.dtype is torch.bool else mask > torch.finfo(mask.dtype).min / 2
    return shown.flatten(1, 2).any(1)


def _as_attention_takes(module: nn.Module, places: Tensor, seen: Tensor | None) -> Tensor | None:
    """Keys that nobody sees stand where they go on from the others: padding has whatever position."""
    if places.dim() == 3:
        axes = module._gnomon_position.encoding._scheme.axes
        _refuse_windows(module)
        if axes != places.shape[2]:
            raise Error(f"patch: found positions of {places.shape[2]} axes that differ; allowed for this encoding are {axes}",
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
    """Of tokens that do not stand one after the other, a window of transformers counts the tokens, and one of a spec their positions."""
    encoding = module._gnomon_position.encoding
    if "mask" in encoding.acts:
        raise Error(f"patch: found positions that are not one after the other; '{encoding.spec}' hides keys by their positions, the model by how "
                    "many tokens are between; allowed is a spec without windows, for the model's own stay", place="position_ids", found="holes",
                    allowed="a spec without windows")
