"""What reaches attention through the interface of transformers (AttentionInterface), and what turns: for make_classes.py."""

import math
import re

import torch
from class_watch import added, factor
from resolver_modules import module_of
from transformers.cache_utils import Cache
from transformers.masking_utils import ALL_MASK_ATTENTION_FUNCTIONS, eager_mask
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS


class NotShared(ValueError):
    """The class itself fails when it multiplies q by k, which the spy leaves out."""


def bias_in(mask, beside):
    """What a class adds to the logits, in its mask or beside it: T5."""
    rows = [x for x in (mask, beside) if x is not None and x.is_floating_point() and x.shape[-1] == x.shape[-2]]
    if not rows:
        return {}
    rows = sum(rows)[0].detach()
    seen = (rows > -5000).any(0)
    return dict(zip(("bias", "slopes"), added(rows, seen))) if bool(seen.diagonal().all()) else {}


class Spy:
    """What reaches attention, and what the functions of rotation are given and return."""

    now = None  # the one that listens

    def __init__(self, model):
        self.calls, self.turns, self.model, self.watching = [], [], model, None
        self.layer, self.choosers, self.hooks, self.keys = None, {}, [], None
        module = module_of(model.config)
        places = [module] + [c for c in vars(module).values() if isinstance(c, type) and c.__module__ == module.__name__]
        self.kept = [(p, n, f) for p in places for n, f in vars(p).items() if re.match(r"apply_(\w*_)?(rotary|rope)|mra2_attention", n)]

    def __enter__(self):
        for place, name, function in self.kept:
            static = isinstance(function, staticmethod)
            turning = self.turning(function.__func__ if static else function)
            setattr(place, name, self.approximated if name == "mra2_attention" else staticmethod(turning) if static else turning)
        self.watch()
        Spy.now, self.keep_keys = self, Cache.update_indexer
        Cache.update_indexer = lambda cache, keys, layer: self.seen_keys(cache, keys, layer)
        return self

    def __exit__(self, *_):
        for place, name, function in self.kept:
            setattr(place, name, function)
        Cache.update_indexer = self.keep_keys
        for hook in self.hooks:
            hook.remove()

    def watch(self):
        """Which layer is at work, for attention that several share; and what an indexer turns."""
        for name, module in self.model.named_modules():
            number = re.search(r"(?:^|\.)layers\.(\d+)$", name)
            if number:
                self.hooks.append(module.register_forward_pre_hook(lambda *_, layer=int(number[1]): setattr(self, "layer", layer)))
            if type(module).__name__.endswith("Indexer"):
                self.hooks.append(module.register_forward_pre_hook(lambda *_: setattr(self, "before", len(self.turns))))
                self.hooks.append(module.register_forward_hook(lambda module, *_: self.chose(module)))

    def seen_keys(self, cache, keys, layer):
        self.keys = keys
        return self.keep_keys(cache, keys, layer)

    def chose(self, module):
        self.choosers[module.layer_idx] = {"module": module, "turns": self.turns[self.before:], "keys": self.keys}
        del self.turns[self.before:]

    def turning(self, function):
        def turn(*given, **named):
            out = function(*given, **named)
            after = out if isinstance(out, tuple) else (out,)
            rows = [x.detach() for x in given if isinstance(x, torch.Tensor) and x.dim() == 4 and any(x.shape == y.shape for y in after)]
            self.turns.append([(x, y.detach()) for x, y in zip(rows, after)])
            return out
        return turn

    def approximated(self, q, k, *_, **__):
        """In place of attention that only a GPU computes: its rows, and no more."""
        self.calls.append({"module": None, "layer": None, "q": q.detach(), "k": k.detach(), "mask": None, "causal": False, "scale": None, "turns": []})
        return torch.zeros_like(q)

    def before_turning(self, rows):
        """Of rows that have turned, and were then multiplied by a number, those before, times it: the factor of cos and sin is none of q·k's."""
        for before, after in (pair for turn in self.turns for pair in turn if pair[1].shape == rows.shape):
            ratio = rows.double() / after.double()
            if float(ratio.max() - ratio.min()) < 1e-4 * float(ratio.abs().max()):
                return before * ratio.mean()
        return rows

    def attention(self, module, q, k, v, mask=None, *more, **named):
        mask = named.get("attention_mask", mask)
        q, k, scale = q.detach(), k.detach(), named.get("scaling", getattr(module, "scaling", None))
        if q.shape[1] % k.shape[1]:
            raise NotShared(f"{q.shape[1]} heads cannot share {k.shape[1]} heads of keys")
        if scale == 1.0:  # the class may have multiplied q by it before
            rows = (self.before_turning(x)[0] for x in (q, k))
            scale = float(f"{math.prod(factor(x, self.watching.maps) for x in rows):.8g}")
        # Without a mask: eager attention then hides nothing, and sdpa what the module says, unless the file has said that no token is hidden.
        hides = getattr(getattr(module, "config", None), "is_causal", True)
        causal = self.model._supports_sdpa and getattr(module, "is_causal", True) and hides
        self.calls.append({"module": module, "layer": self.layer, "q": q, "k": k, "mask": mask, "causal": causal, "scale": scale,
                           "turns": list(self.turns), **bias_in(mask, named.get("position_bias"))})
        self.watching.maps, self.turns[:] = [], []
        return q.new_zeros(q.shape[0], q.shape[2], q.shape[1], v.shape[-1]), None


ALL_ATTENTION_FUNCTIONS.register("spy", lambda *given, **named: Spy.now.attention(*given, **named))
ALL_MASK_ATTENTION_FUNCTIONS.register("spy", eager_mask)
