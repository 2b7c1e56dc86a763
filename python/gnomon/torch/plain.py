"""Attention with a plan by operations of PyTorch, for devices without gnomon kernels. It allocates the matrix of logits, so its memory
is O(T²). For the order and meaning of the stages see gnomon/spec/plan.h and gnomon/kernels/attend.h."""

import numpy as np
import torch
from torch.nn.functional import leaky_relu, logsigmoid, softplus

from .plan import Plan

HIDDEN = float("-inf")


def map_rows(pe, x, role, positions, w):
    """Maps rows x (B, heads, T, head_dim) of this role."""
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


def _multiply(step, x, role, first, of):
    matrices, size = step["matrices"], step["size"]  # (heads, tokens, blocks, size, size)
    flat = _over_tokens(matrices.flatten(2), x, first, of)
    matrices = flat.unflatten(-1, matrices.shape[2:])
    head = x[..., :step["width"]].unflatten(-1, (-1, size))
    if role == "out":
        matrices = matrices.transpose(-1, -2)
    turned = (matrices @ head[..., None])[..., 0].flatten(-2)
    return torch.cat([turned, x[..., step["width"]:]], -1)


def _stepped(step, x, role, first, of):
    kind, n = step["kind"], step.get("width")
    if kind == "rotate":
        return _rotate(step, x, role, first, of)
    if kind == "turn_plane":
        return _turn_plane(step, x, role, first, of)
    if kind == "multiply":
        return _multiply(step, x, role, first, of)
    if kind == "scale":
        factor = _over_tokens(step["factor"][..., None], x, first, of)
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
    """Queries and keys (B, H, tokens, channels), their distances, which pairs are seen, and their scores."""

    def __init__(self, pe, plan, q, k, mask, padding):
        t, device = plan.terms, q.device
        queries, keys = q.shape[2], k.shape[2]
        self.pe, self.plan, self.q, self.k = pe, plan, q, k
        self.first = keys - queries
        token = torch.arange(keys, device=device)
        if "places" in t:
            places = torch.as_tensor(t["places"], dtype=torch.float64, device=device)
        else:
            places = token[None].double()
        self.delta = (places[:, self.first:, None] - places[:, None, :])[:, None]  # (B or 1, 1, Q, K)
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
        self.column = (self.delta - t["first_distance"]).long().clamp(0, max(t["distances"] - 1, 0))
        width = pe.head_dim + plan.joined
        self.score = self.product(q[..., :width], k[..., :width])

    def product(self, q, k):
        return self.pe.scale * self.plan.terms["content_scale"] * q @ k.transpose(2, 3)

    def by_distance(self, rows):
        """Picks from rows (B or 1, heads, Q or 1, R) the number at the distance of each pair: (B, heads, Q, K)."""
        B, H, queries, keys = max(rows.shape[0], self.column.shape[0]), rows.shape[1], *self.column.shape[2:]
        column = self.column.expand(B, H, queries, keys)
        return rows.expand(B, H, queries, rows.shape[3]).gather(3, column)

    def laid_out(self, array, axes):
        """An array whose axes are only heads, queries, keys and distances becomes (B or 1, H or 1, Q or 1, K or 1). An array with channels
        or axes of its own kind stays as it is. Queries are those of the call."""
        if "queries" in axes:
            array = array.narrow(axes.index("queries"), self.first, self.q.shape[2])
        if axes == ["heads", "distances"]:
            return self.by_distance(array[None, :, None])
        order = [("sequences", "rows"), ("heads",), ("queries",), ("keys",)]
        if all(any(axis in names for names in order) for axis in axes):
            return array.reshape([next((n for n, axis in zip(array.shape, axes) if axis in names), 1) for names in order])
        return array


class _Kind:
    """The arrays of a plan, laid out for pairs, as attributes: None if the plan has no array of that name."""

    def __init__(self, plan, at):
        self._plan, self._at = plan, at

    def __getattr__(self, name):
        if name in self._plan.arrays:
            return self._at.laid_out(self._plan.arrays[name], self._plan.terms["axes"][name])
        value = self._plan.terms.get(name)  # what has no gradient
        return torch.as_tensor(value, device=self._at.q.device) if isinstance(value, np.ndarray) else value


def _by_token(a, at):
    return sum(x for x in (a.by_query, a.by_key) if x is not None)


def _by_code(a, at):
    query = a.code_of_query[..., at.first:at.first + at.q.shape[2]]
    differences = (query[..., :, None] - a.code_of_key[..., None, :]).trunc()  # (B or 1, groups, Q, K)
    bias, begin = 0, 0
    for group, (least, count) in enumerate(a.code_ranges):
        entry = (differences[:, group] - least).clamp(0, count - 1).long() + begin
        bias, begin = bias + a.by_code[:, entry].movedim(0, 1), begin + count
    return bias


def _query_cross(a, at):
    rows = a.query_cross
    return at.by_distance(at.q[..., :rows.shape[2]] @ rows.transpose(1, 2))


def _key_cross(a, at):
    rows = at.k[..., :a.key_cross.shape[2]] @ a.key_cross.transpose(1, 2)  # (B, H, K, R)
    column = at.column.transpose(2, 3).expand(*rows.shape[:3], at.column.shape[2])
    return rows.gather(3, column).transpose(2, 3)


def _curve(a, at):
    x = torch.log1p(a.curve_rate * at.delta.abs().float()) * a.curve_by_token
    piece = torch.searchsorted(a.curve_knots, x.detach().contiguous(), right=True)[:, 0]
    of = lambda array: array[:, piece].movedim(0, 1)  # (H, N) -> (B, H, Q, K)
    return of(a.curve_slope) * x + of(a.curve_intercept)


def _forget(a, at):
    gate = logsigmoid(a.forget_query @ a.forget_key.transpose(2, 3))
    token = torch.arange(gate.shape[3], device=gate.device)
    counts = at.seen & (token[None, :] < token[at.first:, None])
    return torch.where(counts, gate, 0.0).flip(3).cumsum(3).flip(3)


def _counted(a, at):
    table = a.counted
    gates = torch.where(at.seen, torch.sigmoid(at.score), 0.0)
    place = gates.flip(3).cumsum(3).flip(3).clamp(max=table.shape[0] - 1)
    low = place.detach().floor().long().clamp(max=table.shape[0] - 1)
    at_rows = at.q[..., :table.shape[1]] @ table.T
    read = lambda n: at_rows.gather(3, n)
    part = place - low
    return read(low) * (1 - part) + read((low + 1).clamp(max=table.shape[0] - 1)) * part


def _mix(a, at):
    distance = at.delta.abs().float()
    b = -a.mix_size * (distance if a.mix_rate is None else torch.log1p(a.mix_rate * distance))
    b = b.expand(at.score.shape[0], *b.shape[1:])
    both = torch.cat([at.score, b], 1).movedim(1, -1)
    hidden = leaky_relu(both @ a.mix_up.T + a.mix_up_bias, 0.01)
    return b + (hidden @ a.mix_down.T).movedim(-1, 1) + a.mix_down_bias


def _far(a, at):
    width, far = at.pe.head_dim + at.plan.joined, at.plan.far
    swap = lambda r: torch.cat([r[..., width:], r[..., far:width]], -1)
    return torch.where(at.delta >= a.far_from, at.product(swap(at.q), swap(at.k)), at.score)


def _carry(a, at):
    """Queries go past tokens from the last to the first, and meet each key after the tokens behind it."""
    width = at.pe.head_dim + at.plan.joined
    rows, key, columns = at.q[..., :width], at.k[..., :width], []
    query = at.first + torch.arange(rows.shape[2], device=rows.device)[:, None]
    for token in range(key.shape[2] - 1, -1, -1):
        columns.append((rows * key[:, :, token, None]).sum(-1))
        if a.carry_gate is not None:
            after = rows * a.carry_gate[:, :, token, None].exp()
        else:
            axis, strength = a.carry_axis[:, :, token, None], a.carry_strength[:, :, token, None]
            after = rows - strength * (rows * axis).sum(-1, keepdim=True) * axis
        rows = torch.where(query >= token, after, rows)
    return at.pe.scale * at.plan.terms["content_scale"] * torch.stack(columns[::-1], -1)


def _stick(a, at, logits):
    queries, keys = logits.shape[2:]
    token = torch.arange(keys, device=logits.device)
    itself = token[None, :] == token[keys - queries:, None]
    sees = at.seen if a.weights == "stick_current" else at.seen & ~itself
    broken = torch.where(sees, logsigmoid(-logits), 0.0)
    after = broken.flip(3).cumsum(3).flip(3) - broken
    return torch.where(sees, (logsigmoid(logits) + after).exp(), 0.0)


def _value(a, at, weights):
    column = at.column.expand(*weights.shape)
    by_distance = weights.new_zeros(*weights.shape[:3], a.value.shape[1]).scatter_add(3, column, weights)
    return by_distance @ a.value


# What each kind of term does (gnomon/kernels/terms): the score in the place of at.score; what is added to the logits; the
# weights of the logits; what is added to the output.
SCORE = {"far": _far, "carry": _carry}
LOGITS = {
    "by_distance": lambda a, at: a.by_distance,
    "by_token": _by_token,
    "by_code": _by_code,
    "query_cross": _query_cross,
    "key_cross": _key_cross,
    "profile": lambda a, at: at.by_distance(a.profile_query @ a.profile.transpose(1, 2)),
    "forget": _forget,
    "curve": _curve,
    "tilt": lambda a, at: a.tilt * at.delta.float() * (a.tilt_query + a.tilt_key),
    "counted": _counted,
    "mix": _mix,
}
WEIGHTS = {"stick": _stick}
OUTPUT = {"value": _value}
STAGES = (SCORE, LOGITS, WEIGHTS, OUTPUT)


def _softmax(logits, seen, sinks):
    logits = torch.where(seen, logits, HIDDEN)
    if sinks is not None:
        logits = torch.cat([logits, sinks[None, :, None, None].expand(*logits.shape[:3], 1)], -1)
    top = logits.detach().amax(-1, keepdim=True).clamp_min(-3e38)
    raised = (logits - top).exp()
    weights = raised / raised.sum(-1, keepdim=True).clamp_min(1e-38)
    return weights[..., :-1] if sinks is not None else weights


def attend(pe, q, k, v, w, *, positions=None, bias=None, mask=None, padding=None, sinks=None, x=None, projections=None):
    """As gnomon.torch.attend(), on the device of q. w: the flat parameters."""
    plan = Plan(pe, positions, w, q, k, x, projections)
    keys, kind = k.shape[2], q.dtype
    first, groups = keys - q.shape[2], q.shape[1] // k.shape[1]
    rows = [_mapped(plan, r.float(), role, at, keys) for r, role, at in ((q, "q", first), (k, "k", 0), (v, "v", 0))]
    query, key, value = rows[0], *(r.repeat_interleave(groups, 1) if groups > 1 else r for r in rows[1:])
    at = _Pairs(pe, plan, query, key, mask, padding)
    arrays, kinds = _Kind(plan, at), plan.terms["kinds"]
    of = lambda stage: [stage[kind] for kind in kinds if kind in stage]
    unknown = [kind for kind in kinds if not any(kind in stage for stage in STAGES)]
    if unknown:
        raise NotImplementedError(f"terms without operations of PyTorch: {', '.join(unknown)}")
    for score in of(SCORE):
        at.score = score(arrays, at)
    logits = sum((term(arrays, at) for term in of(LOGITS)), at.score)
    if pe.soft_cap:
        logits = pe.soft_cap * torch.tanh(logits / pe.soft_cap)
    if bias is not None:
        logits = logits + bias
        at.seen = at.seen & (bias != HIDDEN)
    weights = next((make(arrays, at, logits) for make in of(WEIGHTS)), None)
    if weights is None:
        weights = _softmax(logits, at.seen, sinks)
    out = sum((term(arrays, at, weights) for term in of(OUTPUT)), weights @ value)
    return _mapped(plan, out, "out", first, keys).to(kind)
