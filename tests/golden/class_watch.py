"""What a class does that no interface tells, seen from outside: for make_classes.py.

Older classes multiply q and k themselves and take the softmax. Watching sees every torch function: the product that has a logit for each pair
of tokens, the softmax after it, and the linear maps before it. It also sees which rows of a table of positions the tokens read.
"""

import math

import torch
from class_shapes import padded
from class_tables import tables_of
from torch.overrides import TorchFunctionMode

class Watching(TorchFunctionMode):
    """calls(): as those of the interface, one for each softmax over pairs of tokens. `read`: name of a table -> its rows, by token."""

    def __init__(self, model, tokens, turns):
        super().__init__()
        self.tables, self.tokens, self.turns = tables_of(model), tokens, turns
        self.padded = padded(model.config, tokens)
        self.seen, self.read, self.maps, self.products = [], {}, [], []

    def __torch_function__(self, function, types, args=(), kwargs=None):
        out = function(*args, **(kwargs or {}))
        name = getattr(function, "__name__", "")
        if not isinstance(out, torch.Tensor) or not out.is_floating_point():
            return out
        if name in ("linear", "conv1d", "addmm"):
            self.maps.append(out.detach())
        if name in ("matmul", "__matmul__", "bmm", "einsum", "baddbmm") and self.of_pairs(out):
            named = kwargs or {}
            rows = (*args, *(named[n] for n in ("batch1", "batch2") if n in named))
            self.products.append((rows[1:] if name == "baddbmm" else rows, out, named.get("alpha", 1.0)))
        if name == "scaled_dot_product_attention":
            self.fused(*args[:2], **(kwargs or {}))
        if name == "softmax" and self.of_pairs(out) and self.products:
            self.seen.append((args[0], self.products, self.maps, list(self.turns)))
            self.maps, self.products, self.turns[:] = [], [], []
        if name in ("embedding", "index_select", "__getitem__", "reshape"):
            for x in args[:2]:
                if isinstance(x, torch.Tensor) and x.data_ptr() in self.tables:
                    self.look_up(*self.tables[x.data_ptr()], out)
        return out

    def fused(self, q, k, attn_mask=None, is_causal=False, scale=None, **_):
        """The same of a kernel that has the product, the mask and the softmax in one."""
        k = k.transpose(-1, -2)
        product = q @ k
        logits = product * (scale or q.shape[-1] ** -0.5)
        hidden = torch.ones(self.tokens, self.tokens, dtype=torch.bool).triu(1) if is_causal else None
        if attn_mask is not None and attn_mask.dtype == torch.bool:
            hidden, attn_mask = ~attn_mask, None
        logits = logits if attn_mask is None else logits + attn_mask
        logits = logits if hidden is None else logits.masked_fill(hidden, -1e9)
        self.seen.append((logits, [((q, k), product, 1.0)], self.maps, list(self.turns)))
        self.maps, self.turns[:] = [], []

    def of_pairs(self, x):
        return x.dim() >= 3 and x.shape[-1] == x.shape[-2] == self.tokens and math.prod(x.shape[:-3]) == 1

    def look_up(self, name, table, out):
        if out.numel() in (self.padded * table.shape[1], self.tokens * table.shape[1]):
            rows = out.detach().reshape(-1, table.shape[1])[:self.tokens]
            same = (rows[:, None] - table.detach()[None]).abs().amax(-1) == 0
            self.read[name] = [int(x) for x in same.int().argmax(1)] if bool(same.any(1).all()) else None

    def calls(self):
        return [self.call(*one) for one in self.seen]

    def call(self, logits, products, maps, turns):
        # By numbers whose sum is zero in each row: what a class takes from all logits of a query, LayoutLMv3's largest, then counts for nothing.
        weights = torch.randn(logits.shape, generator=torch.Generator().manual_seed(3), dtype=logits.dtype)
        weights = weights - weights.mean(-1, keepdim=True)
        slopes = [torch.autograd.grad(logits, product, weights, retain_graph=True, allow_unused=True)[0] if product.requires_grad else None
                  for _, product, _ in products]
        n = next((n for n, slope in enumerate(slopes) if slope is not None), None)
        if n is None:
            raise ArithmeticError("logits that are no product of q and k")
        q, k = factors(products[n][0])
        seen = (logits.detach().reshape(-1, self.tokens, self.tokens) > -5000).any(0)  # masks are -10000 and less
        slope = (slopes[n].reshape(-1, self.tokens, self.tokens) / weights.reshape(-1, self.tokens, self.tokens))[:, seen]
        if float(slope.max() - slope.min()) > 1e-5 * float(slope.max()):
            raise ArithmeticError("q·k with no one factor")
        alone = float(slope.double().mean()) * products[n][2]
        alone *= changed(products[n][1].detach(), products[n][2] * q @ k.transpose(1, 2), seen)
        scale = alone * factor(q, maps) * factor(k, maps)
        rest = logits.detach().reshape(-1, self.tokens, self.tokens) - alone * q @ k.transpose(1, 2)
        bias, linear = added(rest, seen)
        return {"module": None, "layer": None, "q": q[None], "k": k[None], "mask": seen[None, None], "scale": scale, "turns": turns,
                "bias": bias, "slopes": linear}


class Reaching:
    """For attention with no logit for each pair: which inputs of its module move the output of a query. `calls` without a factor of q·k."""

    NAMES = ("num_attention_heads", "num_heads", "n_heads"), ("attention_head_size", "head_dim", "key_value_proj_dim")

    def __init__(self, model, name, tokens):
        self.calls, self.tokens = [], tokens
        self.hooks = [m.register_forward_hook(self.hook, with_kwargs=True) for m in model.modules() if type(m).__name__ == name]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for hook in self.hooks:
            hook.remove()

    def hook(self, module, given, named, out):
        out, before, tokens = out[0] if isinstance(out, tuple) else out, (*given, *named.values())[0], self.tokens
        seen = torch.zeros(tokens, tokens, dtype=torch.bool)
        for query in (0, tokens - 1):
            reached = torch.autograd.grad(out[0, query].sum(), before, retain_graph=True)[0][0, :tokens]
            seen[query] = reached.abs().amax(-1) > 0
        heads, width = (next(getattr(module, name) for name in names if hasattr(module, name)) for names in self.NAMES)
        rows = torch.zeros(1, heads, tokens, width)
        self.calls.append({"module": module, "layer": None, "q": rows, "k": rows, "mask": seen[None, None], "scale": None, "turns": []})


def added(rest, seen):
    """What is added to the logits that a query sees, up to a number for each query, which the softmax does not see (BLOOM and MPT add the
    slope times the position of the key): None, nothing; "content", what is no function of the distance alone; else the distances i - j that
    have the same, in groups numbered as they first come. And the slopes of the heads, where it is a multiple of the distance."""
    if not bool(seen.diagonal().all()):
        raise ArithmeticError("a query that does not see its own key")
    rest = rest - rest.diagonal(dim1=1, dim2=2)[:, :, None]
    if float(rest[:, seen].abs().max()) < 1e-4:
        return None, None
    tokens, groups, values = len(seen), [], []
    for distance in range(1 - tokens, tokens):
        cells = [(i, i - distance) for i in range(tokens) if 0 <= i - distance < tokens and bool(seen[i, i - distance])]
        if not cells:
            continue
        own = torch.stack([rest[:, i, j] for i, j in cells])
        if float((own - own[:1]).abs().max()) > 1e-3:
            return "content", None
        same = next((n for n, value in enumerate(values) if float((value - own[0]).abs().max()) < 1e-3), len(values))
        if same == len(values):
            values.append(own[0])
        groups.append([distance, same])
    far = torch.tensor([float(distance) for distance, _ in groups])
    each = torch.stack([values[n] for _, n in groups])
    slopes = -each[-1] / far[-1]
    linear = float((each + far.abs()[:, None] * slopes).abs().max()) < 1e-4
    return groups, [float(f"{float(slope):.4g}") for slope in slopes] if linear else None


def changed(product, logits, seen):
    """The factor by which a class has multiplied its product in place."""
    ratio = (product.reshape(logits.shape) / logits)[:, seen]
    return float(ratio.double().mean()) if float(ratio.max() - ratio.min()) < 1e-4 * float(ratio.abs().max()) else 1.0


def factor(rows, maps):
    """What a class multiplies the outputs of its linear map by before it calls them q or k. Turning them leaves their lengths."""
    heads, tokens, width = rows.shape
    for out in maps:
        for x in shapes(out[0] if out.dim() == 3 else out, heads, tokens, width):
            ratio = rows.norm(dim=-1) / x.norm(dim=-1)
            if float(ratio.max() - ratio.min()) < 1e-4 * float(ratio.max()):
                return float(ratio.double().mean())
    return 1.0


def shapes(out, heads, tokens, width):
    """The ways in which the rows of heads may lie in the output of a linear map; those of q, k and v together as well."""
    if tuple(out.shape) == (heads * width, tokens):
        yield out.reshape(heads, width, tokens).transpose(1, 2)
    if out.shape[0] != tokens or out.shape[1] % (heads * width):
        return
    parts = out.shape[1] // (heads * width)
    for x in out.reshape(tokens, parts, heads, width).unbind(1):
        yield x.transpose(0, 1)
    for x in out.reshape(tokens, heads, parts, width).unbind(2):
        yield x.transpose(0, 1)


def factors(args):
    """q and k of a product, each (heads, tokens, channels)."""
    if isinstance(args[0], str):
        inner, outer = args[0].replace(" ", "").split("->")
        q, k = (arranged(x, letters, outer) for x, letters in zip(args[1:], inner.split(",")))
    else:
        q, k = args[0], args[1].transpose(-1, -2)
    return tuple(x.detach().reshape(-1, *x.shape[-2:]) for x in (q, k))


def arranged(x, letters, outer):
    """In the order of the product: heads, then tokens, then the channels that are summed."""
    order = sorted(letters, key=lambda c: outer.index(c) if c in outer else len(outer))
    return x.permute([letters.index(c) for c in order])
