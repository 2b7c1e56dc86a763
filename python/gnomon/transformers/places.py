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

from ..encoding import Encoding
from ..errors import Error
from ..torch.ops import is_watched

_MARK = "_gnomon_said"  # on what the layers are handed, which a layer that is computed again is handed again


@dataclass
class Said:
    """positions: of the tokens in a call, (1 or B, T) or (1 or B, T, axes). words: their positions for an input encoding, which does not
    count padding on the left."""

    positions: Tensor
    words: Tensor


class Keys:
    """The keys that attention reads. positions: (1 or B, keys) or (1 or B, keys, axes), for attend(). None stands for 0, 1, 2 and so on.
    gaps: whether a window by position may differ from one by the number of tokens."""

    def __init__(self, places: Tensor, mask: Tensor | None) -> None:
        self._mask = mask
        self.positions: Tensor | None = places
        self.gaps = True
        if places.dim() == 3:
            return
        places, ahead = _numbered(places, seen_by_any(mask))
        self.gaps = not bool(((places.diff() == 1) | (places[:, 1:] == 0)).all())  # texts side by side begin at 0
        self.positions = None if not bool(ahead.any()) else places[:1] if bool((places == places[:1]).all()) else places

    @functools.cached_property
    def show_later(self) -> bool:
        """Whether the mask shows a key after its query. A program that is being compiled cannot look."""
        if self._mask is None or is_watched(self._mask):
            return False
        return bool((shown(self._mask) & later(*self._mask.shape[-2:], self._mask.device)).any())

    def check(self, encoding: Encoding) -> None:
        """Raises Error if an encoding cannot read these keys."""
        if encoding.causal and self.show_later:
            raise Error("attention_mask: it shows keys after their query, which a causal encoding hides; patch(..., causal=False) takes the "
                        "order from the mask alone", place="attention_mask", suggestions=["causal=False"])
        # If positions have gaps, a window of transformers counts tokens, one of a spec positions.
        if self.positions is not None and self.gaps and "mask" in encoding.acts:
            raise Error(f"patch: found positions with gaps; '{encoding.spec}' hides keys by position, but the model by the number of tokens "
                        "between; allowed is a spec without windows, because the model keeps its own", place="position_ids", found="holes",
                        allowed="a spec without windows")
        found = self.positions.shape[2] if self.positions is not None and self.positions.dim() == 3 else 1
        if found > 1 and found != encoding._scheme.axes:
            raise Error(f"patch: found positions with {found} axes; allowed for this encoding are {encoding._scheme.axes}",
                        place="position_ids", found=f"{found} axes", allowed=str(encoding._scheme.axes))


def later(queries: int, keys: int, device: torch.device) -> Tensor:
    """(queries, keys): whether a key comes after its query. Queries are the last keys."""
    return torch.ones(queries, keys, dtype=torch.bool, device=device).triu(keys - queries + 1)


def _numbered(places: Tensor, seen: Tensor | None) -> tuple[Tensor, Tensor]:
    """Positions (1 or B, keys), and how far each is ahead of 0, 1, 2 ... Keys that no query sees continue the positions of the others,
    because padding may have any position."""
    count = torch.arange(places.shape[1], device=places.device)
    ahead = places - count
    if seen is None:
        return places, ahead
    ahead, seen = torch.broadcast_tensors(ahead, seen)
    first = ahead.gather(1, seen.to(torch.uint8).argmax(1, keepdim=True))  # of the first key that is seen
    unseen = torch.where(seen.any(1, keepdim=True), first, 0)
    return torch.where(seen, places, (unseen + count).clamp_min(0)), torch.where(seen, ahead, unseen)


class Call:
    """Data of the current call that only the first module gets."""

    def __init__(self) -> None:
        self.begin(None, given=False)

    def begin(self, shown: Tensor | None, *, given: bool) -> None:
        """A call of the model. shown: its attention_mask (B, tokens seen so far), 1 = a token. given: whether the caller said positions."""
        self.shown, self.given = shown, given
        self.said: Said | None = None
        self.known: list[tuple[Tensor, Tensor | None, int, Keys]] = []  # what was found out of masks

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

    def keys(self, places: Tensor, keys: int, mask: Tensor | None) -> Keys:
        """What attention needs to know of its keys, whose positions are the last of `places`. Layers with the same positions and mask ask
        once, because on a GPU each look at numbers waits for them."""
        for of_places, of_mask, of_keys, known in self.known:
            if of_places is places and of_mask is mask and of_keys == keys:
                return known
        self.known.append((places, mask, keys, Keys(places[:, -keys:], mask)))
        return self.known[-1][3]

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
        self.call.begin(shown if isinstance(shown, Tensor) and shown.dim() == 2 else None, given=told.get("position_ids") is not None)


class Rest:
    """After the forward pass of the model: lets go of its masks."""

    def __init__(self, call: Call) -> None:
        self.call = call

    def __call__(self, *_: object) -> None:
        self.call.known.clear()


class NoRotation:
    """After a rotary module: stores the positions of the tokens and returns a rotation by 0."""

    def __init__(self, call: Call) -> None:
        self.call = call

    def __call__(self, module: nn.Module, arguments: tuple[Any, ...], named: dict[str, Any], result: Any) -> Any:
        said = self.call.say(named["position_ids"] if "position_ids" in named else arguments[1])
        if isinstance(result, Tensor):  # complex numbers, which q and k are multiplied by
            return mark(torch.ones_like(result), said)
        return mark(torch.ones_like(result[0]), said), torch.zeros_like(result[1])


class NoTable:
    """After a table of positions: stores the positions of the tokens and returns the vectors of another encoding, or zeros.
    A row before that of position 0 keeps its vector: RoBERTa reads it for padding, and generate() for the first tokens."""

    def __init__(self, call: Call, position: Any) -> None:
        self.call, self.position = call, position

    def __call__(self, module: nn.Module, arguments: tuple[Any, ...], named: dict[str, Any], result: Tensor) -> Tensor:
        positions = _rows(module, arguments, named) - first_row(module)
        self.call.say(positions if self.call.given else positions.clamp_min(0))
        if not self.position.encoding._scheme.has_input:
            return torch.zeros_like(result)
        vectors = self.position.vectors(positions.clamp_min(0)).to(result)
        return torch.where(positions[..., None] < 0, result, vectors)


def first_row(table: nn.Module) -> int:
    """The row of position 0: BART and OPT keep two rows before it, RoBERTa those up to the padding's."""
    padding = getattr(table, "padding_idx", None)
    return getattr(table, "offset", 0 if padding is None else padding + 1)


def _rows(table: nn.Module, arguments: tuple[Any, ...], named: dict[str, Any]) -> Tensor:
    """The rows (1 or B, T) that a table reads in this call. Some tables count them themselves, so it is called with the number of each
    row in the row's place."""
    weight = table._parameters["weight"]
    table._parameters["weight"] = torch.arange(len(weight), dtype=torch.float32, device=weight.device)[:, None]
    try:
        return table.forward(*arguments, **named)[..., 0].long()
    finally:
        table._parameters["weight"] = weight


class BesideWords:
    """Before the first layer of a model without a table: adds the vectors of an input encoding to the word vectors."""

    def __init__(self, call: Call, position: Any) -> None:
        self.call, self.position = call, position

    def __call__(self, module: nn.Module, arguments: tuple[Any, ...], named: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        found = said(arguments, named) or self.call.said
        assert found is not None
        hidden = arguments[0] if arguments else named["hidden_states"]
        hidden = hidden + self.position.vectors(found.words).to(hidden)
        return ((hidden, *arguments[1:]), named) if arguments else (arguments, {**named, "hidden_states": hidden})


@dataclass
class Told:
    """Data for attention. said: the positions of its tokens (None: its own rotary module stores them in the call). cache: the cache with
    the earlier tokens. first: whether this is the first layer, which stores the positions in the cache. order: whether the mask alone
    hides keys after their query. If it says nothing else, transformers hands none over."""

    said: Said | None
    call: Call
    cache: Any
    first: bool
    order: bool

    def keys(self, module: nn.Module, queries: int, keys: int, mask: Tensor | None) -> Keys:
        """The keys that a module reads in this call. mask: the one that it gets. Raises Error if positions are unknown."""
        said = self.said or self.call.said
        places = None if said is None else said.positions
        found = 0 if places is None else places.shape[1]
        if places is None or found != queries:
            raise Error(f"patch: found {found} positions; allowed are {queries}, one for each new token", place="position_ids", found=str(found),
                        allowed=str(queries))
        if self.cache is not None:
            places = _remembered(self.cache, module, places) if self.first else self.cache._gnomon_places
        if places.shape[1] < keys:
            raise Error(f"patch: found {keys} keys; allowed are {places.shape[1]}, the number of known positions", place="position_ids",
                        found=str(keys), allowed=str(places.shape[1]))
        return self.call.keys(places, keys, mask)


class Forget:
    """After a module has computed attention: clears its data. Some modules call gnomon twice for it."""

    def __call__(self, module: nn.Module, *_: object) -> None:
        module.__dict__.pop("_gnomon_told", None)


class Tell:
    """Before a module computes attention: gives it its data, and takes factors of its queries that grow with position away (Beam). turns:
    whether it rotates by position_ids itself; it gets 0 for all."""

    def __init__(self, call: Call, *, first: bool, order: bool, turns: bool) -> None:
        self.call, self.first, self.order, self.turns = call, first, order, turns

    def __call__(self, module: nn.Module, arguments: tuple[Any, ...], named: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        told, named = said(arguments, named), {name: None if name == "attention_scaling" else x for name, x in named.items()}
        if self.turns:
            told = Said(named["position_ids"], named["position_ids"])
            named["position_ids"] = torch.zeros_like(told.positions)
        module.__dict__["_gnomon_told"] = Told(told, self.call, cache_of(arguments, named), self.first, self.order)
        return arguments, named


def cache_of(arguments: tuple[Any, ...], named: dict[str, Any]) -> Any:
    """The cache of this text among the arguments of a layer, or None."""
    cache = next((x for x in (*arguments, *named.values()) if hasattr(x, "get_seq_length")), None)
    return getattr(cache, "self_attention_cache", cache)


def mark(handed: Tensor, said: Said) -> Tensor:
    """Attaches positions to what the layers are handed."""
    setattr(handed, _MARK, said)
    return handed


def said(arguments: tuple[Any, ...], named: dict[str, Any]) -> Said | None:
    """The positions that a rotary module attached to its result."""
    for x in (*arguments, *named.values()):
        x = x[0] if isinstance(x, tuple) and x else x
        if isinstance(x, Tensor) and hasattr(x, _MARK):
            return getattr(x, _MARK)
    return None


def told(module: nn.Module) -> Told:
    """The data of a module that computes attention. Raises Error if it has none."""
    found = module.__dict__.get("_gnomon_told")
    if found is None:
        raise Error(f"patch: {type(module).__name__} got no positions of its tokens", place="positions", found=type(module).__name__)
    return found


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


def shown(mask: Tensor) -> Tensor:
    """A mask as truths: whether a query sees a key."""
    return mask > torch.finfo(mask.dtype).min / 2 if mask.is_floating_point() else mask.bool()


def seen_by_any(mask: Tensor | None) -> Tensor | None:
    """(1 or B, keys): whether any query sees the key."""
    return None if mask is None else shown(mask).flatten(1, 2).any(1)
