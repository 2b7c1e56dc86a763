"""Attention under a plan by operations of PyTorch: for devices that gnomon has no kernels for. It makes the matrix of logits, so
its memory is O(T²). Order and meaning of the stages: gnomon/spec/plan.h and gnomon/kernels/attend.h."""

import numpy as np
import torch
from torch.nn.functional import leaky_relu, logsigmoid, softplus

from .plan import Plan

HIDDEN = float("-inf")


def map_rows(pe, x, role, positions, w):
    """x (B, heads, T, head_dim) as the encoding maps rows of this role."""
    plan = Plan(pe, positions, w, x, x)
    return _mapped(plan, x.float(), role, 0, x.shape[2]).to(x.dtype)


def _over_tokens(array, x, first, of):
    """An array (..., tokens, n) with tokens 1, T or B·T, for rows x (B, heads, T, ...): (B or 1, ..., T or 1, n)."""
    tokens = array.shape[-2]
    if tokens == 1:
        return array.unsqueeze(0)
    if tokens == of:
        return array.unsqueeze(0)[..., first:first + x.shape[2], :]
    split = array.reshape(*array.shape[:-2], x.shape[0], of, array.shape[-1]).movedim(-3, 0)
    return split[..., first:first + x.shape[2], :]


def _rotate(step, x, role, first, of):
    if "angles" in step and step["learns"]:
        cos, sin = step["angles"].cos(), step["angles"].sin()
    else:
        cos, sin = step["cos"], step["sin"]
    cos, sin = _over_tokens(cos, x, first, of), _over_tokens(sin, x, first, of)
    if role == "out":
        sin = -sin
    low = step["first"] + torch.arange(step["pairs"], device=x.device) * step["stride"]
    a, b = x[..., low], x[..., low + step["gap"]]
    y = x.clone()
    y[..., low], y[..., low + step["gap"]] = a * cos - b * sin, a * sin + b * cos
    return y


def _turn_plane(step, x, role, first, of):
    a, b = step["a"][:, None], step["b"][:, None]  # (H, 1, width)
    places = torch.as_tensor(step["places"], dtype=torch.float32, device=x.device)[None, :, None]
    angle = _over_tokens(places, x, first, of) * (-1 if role == "out" else 1)
    inner, head = (a * b).sum(-1, keepdim=True), x[..., :step["width"]]
    s = (a.square().sum(-1, keepdim=True) * b.square().sum(-1, keepdim=True) - inner.square()).clamp_min(1e-30).sqrt()
    generator = lambda y: a * (b * y).sum(-1, keepdim=True) - b * (a * y).sum(-1, keepdim=True)
    once = generator(head)
    turned = head + torch.sin(angle * s) / s * once + (1 - torch.cos(angle * s)) / s.square() * generator(once)
    return torch.cat([turned, x[..., step["width"]:]], -1)


def _stepped(step, x, role, first, of):
    kind, n = step["kind"], step.get("width")
    if kind == "rotate":
        return _rotate(step, x, role, first, of)
    if kind == "turn_plane":
        return _turn_plane(step, x, role, first, of)
    if kind == "scale":
        factor = _over_tokens(step["factor"][None, :, None], x, first, of)
        return torch.cat([x[..., :n] * factor, x[..., n:]], -1)
    if kind == "softplus":
        return torch.cat([softplus(x[..., :n]), x[..., n:]], -1)
    y = x.clone()
    if kind == "repeat":
        y[..., step["to"]:step["to"] + n] = x[..., :n]
    else:  # widen: (tokens, heads, width)
        y[..., step["first"]:step["first"] + n] = _over_tokens(step["columns"].movedim(0, 1), x, first, of)
    return y


def _mapped(plan, x, role, first, of):
    more = plan.joined + plan.far if role in "qk" else 0
    if more:
        x = torch.cat([x, x.new_zeros(*x.shape[:-1], more)], -1)
    for step in plan.steps:
        if role in step["roles"]:
            x = _stepped(step, x, role, first, of)
    return x


class _Pairs:
    """The distances of queries and keys, and which pairs are seen."""

    def __init__(self, pe, plan, q, k, mask, padding):
        t, device = plan.terms, q.device
        queries, keys = q.shape[2], k.shape[2]
        self.first = keys - queries
        token = torch.arange(keys, device=device)
        if "places" in t:
            places = torch.as_tensor(t["places"], dtype=torch.float64, device=device)
        else:
            places = token[None].double()
        self.delta = places[:, self.first:, None] - places[:, None, :]  # (B or 1, Q, K)
        seen = torch.ones(1, queries, keys, dtype=torch.bool, device=device)
        if pe.causal:
            seen = token[None, None, :] <= token[None, self.first:, None]
        if "first_key" in t:
            begin, end = (torch.as_tensor(t[name], device=device)[:, self.first:, None] for name in ("first_key", "end_key"))
            seen = seen & (token >= begin) & (token < end)
        if padding is not None:
            seen = seen & ~padding[:, None, :].bool()
        self.seen = seen[:, None]
        if mask is not None:
            self.seen = self.seen & mask.bool()
        self.column = (self.delta - t["first_distance"]).long().clamp(0, max(t["distances"] - 1, 0))[:, None]

    def by_distance(self, rows):
        """rows (B or 1, heads, Q or 1, R) at the distance of each pair: (B, heads, Q, K)."""
        B, H, queries, keys = max(rows.shape[0], self.column.shape[0]), rows.shape[1], *self.column.shape[2:]
        column = self.column.expand(B, H, queries, keys)
        return rows.expand(B, H, queries, rows.shape[3]).gather(3, column)


def _scores(pe, plan, q, k, at):
    t = plan.terms
    width = pe.head_dim + plan.joined
    factor = pe.scale * t["content_scale"]
    score = factor * q[..., :width] @ k[..., :width].transpose(2, 3)
    if plan.far and np.isfinite(t["far_from"]):
        swap = lambda r: torch.cat([r[..., width:], r[..., plan.far:width]], -1)
        far = factor * swap(q) @ swap(k).transpose(2, 3)
        score = torch.where(at.delta[:, None] >= t["far_from"], far, score)
    return score


def _sums(pe, plan, q, k, at):
    """What is added that is a number of a query, a key or a distance, or linear in content."""
    a, first, total = plan.arrays, at.first, 0
    if "by_distance" in a:
        total = total + at.by_distance(a["by_distance"][None, :, None])
    if "by_query" in a:
        total = total + a["by_query"][:, :, first:, None]
    if "by_key" in a:
        total = total + a["by_key"][:, :, None, :]
    if "query_cross" in a:
        c = a["query_cross"]
        total = total + at.by_distance(q[..., :c.shape[2]] @ c.transpose(1, 2))
    if "key_cross" in a:
        c = a["key_cross"]
        rows = k[..., :c.shape[2]] @ c.transpose(1, 2)  # (B, H, K, R)
        column = at.column.transpose(2, 3).expand(*rows.shape[:3], at.column.shape[2])
        total = total + rows.gather(3, column).transpose(2, 3)
    if "profile" in a:
        total = total + at.by_distance(a["profile_query"][:, :, first:] @ a["profile"].transpose(1, 2))
    if "tilt" in a:
        tilted = a["tilt_query"][:, :, first:, None] + a["tilt_key"][:, :, None, :]
        total = total + a["tilt"][:, None, None] * at.delta[:, None].float() * tilted
    if "curve_slope" in a:
        total = total + _curve(plan, at)
    return total


def _curve(plan, at):
    a = plan.arrays
    x = torch.log1p(a["curve_rate"] * at.delta.abs().float()) * a["curve_by_token"][:, at.first:, None]
    knots = torch.as_tensor(plan.terms["curve_knots"], device=x.device)
    piece = torch.searchsorted(knots, x.detach().contiguous(), right=True)
    of = lambda name: a[name][:, piece].movedim(0, 1)  # (H, N) -> (B, H, Q, K)
    return of("curve_slope") * x[:, None] + of("curve_intercept")


def _rules(pe, plan, q, score, at):
    """What is added that sees the score, or more than one pair."""
    a, total = plan.arrays, 0
    if "forget_query" in a:
        gate = logsigmoid(a["forget_query"][:, :, at.first:] @ a["forget_key"].transpose(2, 3))
        queries, keys = gate.shape[2:]
        token = torch.arange(keys, device=gate.device)
        counts = at.seen & (token[None, :] < token[at.first:, None])
        total = total + torch.where(counts, gate, 0.0).flip(3).cumsum(3).flip(3)
    if "counted" in a:
        table = a["counted"]
        gates = torch.where(at.seen, torch.sigmoid(score), 0.0)
        place = gates.flip(3).cumsum(3).flip(3).clamp(max=table.shape[0] - 1)
        low = place.detach().floor().long().clamp(max=table.shape[0] - 1)
        at_rows = q[..., :table.shape[1]] @ table.T
        read = lambda n: at_rows.gather(3, n)
        part = place - low
        total = total + read(low) * (1 - part) + read((low + 1).clamp(max=table.shape[0] - 1)) * part
    if "mix_down" in a:
        total = total + _mixed(plan, score, at)
    return total


def _mixed(plan, score, at):
    a, distance = plan.arrays, at.delta.abs().float()[:, None]
    size = a["mix_size"][:, None, None]
    b = -size * (torch.log1p(a["mix_rate"][:, None, None] * distance) if "mix_rate" in a else distance)
    b = b.expand(score.shape[0], *b.shape[1:])
    both = torch.cat([score, b], 1).movedim(1, -1)
    hidden = leaky_relu(both @ a["mix_up"].T + a["mix_up_bias"], 0.01)
    return b + (hidden @ a["mix_down"].T + a["mix_down_bias"]).movedim(-1, 1)


def _weights(plan, logits, seen, sinks):
    if plan.terms["weights"] != "softmax":
        queries, keys = logits.shape[2:]
        token = torch.arange(keys, device=logits.device)
        itself = token[None, :] == token[keys - queries:, None]
        sees = seen if plan.terms["weights"] == "stick_current" else seen & ~itself
        broken = torch.where(sees, logsigmoid(-logits), 0.0)
        after = broken.flip(3).cumsum(3).flip(3) - broken
        return torch.where(sees, (logsigmoid(logits) + after).exp(), 0.0)
    logits = torch.where(seen, logits, HIDDEN)
    if sinks is not None:
        logits = torch.cat([logits, sinks[None, :, None, None].expand(*logits.shape[:3], 1)], -1)
    top = logits.detach().amax(-1, keepdim=True).clamp_min(-3e38)
    raised = (logits - top).exp()
    weights = raised / raised.sum(-1, keepdim=True).clamp_min(1e-38)
    return weights[..., :-1] if sinks is not None else weights


def attend(pe, q, k, v, w, *, positions=None, bias=None, mask=None, padding=None, sinks=None, x=None, projections=None):
    """As gnomon.torch.attend, on the device of q. w: the flat parameters."""
    plan = Plan(pe, positions, w, q, k, x, projections)
    keys, kind = k.shape[2], q.dtype
    first, groups = keys - q.shape[2], q.shape[1] // k.shape[1]
    rows = [_mapped(plan, r.float(), role, at, keys) for r, role, at in ((q, "q", first), (k, "k", 0), (v, "v", 0))]
    query, key, value = rows[0], *(r.repeat_interleave(groups, 1) if groups > 1 else r for r in rows[1:])
    at = _Pairs(pe, plan, query, key, mask, padding)
    score = _scores(pe, plan, query, key, at)
    logits = score + _sums(pe, plan, query, key, at) + _rules(pe, plan, query, score, at)
    if pe.soft_cap:
        logits = pe.soft_cap * torch.tanh(logits / pe.soft_cap)
    if bias is not None:
        logits = logits + bias
        at.seen = at.seen & (bias != HIDDEN)
    weights = _weights(plan, logits, at.seen, sinks)
    out = weights @ value
    if "value" in plan.arrays:
        read = plan.arrays["value"]  # (H, R, D)
        column = at.column.expand(*weights.shape)
        by_distance = weights.new_zeros(*weights.shape[:3], read.shape[1]).scatter_add(3, column, weights)
        out = out + by_distance @ read
    return _mapped(plan, out, "out", first, keys).to(kind)
