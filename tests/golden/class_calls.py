"""What one call of attention shows of position, for make_classes.py: heads, mask, which channels turn, in which pairs, and by which frequencies."""

import torch
from resolver_modules import digest

T = 11  # tokens of the text that a class reads


class NoAnswer(Exception):
    pass


def by_token(x, tokens):
    """(heads, tokens, channels) of a call's rows."""
    x = x[0]
    return x if x.shape[1] == tokens else x.transpose(0, 1) if x.shape[0] == tokens else None


def angles(x, y, first, n, pairs):
    """The angle and the growth of each pair between rows x and rows y; None: y is not x turned in these pairs."""
    x, y = x[..., first:first + n].double(), y[..., first:first + n].double()
    cut = (lambda v: (v[..., 0::2], v[..., 1::2])) if pairs != "halves" else (lambda v: (v[..., :n // 2], v[..., n // 2:]))
    a, b = cut(x)
    c, d = (y[..., :n // 2], y[..., n // 2:]) if pairs == "apart" else cut(y)
    turn = torch.complex(c, d) / torch.complex(a, b)
    return None if float((turn - turn.mean(0, keepdim=True)).abs().max()) > 1e-3 else turn.mean(0)


def in_order(turn, f, factor, positions):
    """The frequencies as the pairs have them: those of ERNIE's module stand in another order."""
    distance = torch.stack([(turn[:, :, None] - factor * torch.exp(1j * p[:, None, None] * f)).abs().amax(0) for p in positions]).amin(0)
    order = distance.argmin(-1)
    return f[order] if len(set(order.tolist())) == len(f) else f


def matched(turn, sets, positions):
    """Of the sets of frequencies the one by which these numbers turn, and the stream of positions of each pair; ?: several fit."""
    for label, own, factor in sets:
        if len(own) != turn.shape[-1]:
            continue
        for f in (own, in_order(turn, own, factor, positions)):
            streams = [factor * torch.exp(1j * p[:, None] * f) for p in positions]
            fits = torch.stack([(turn - s).abs().amax(0) < 2e-3 for s in streams])
            if bool(fits.any(0).all()):
                return label, f, factor, [str(int(torch.argmax(one.int()))) if int(one.sum()) == 1 else "?" for one in fits.T]
    return None


def turned(before, after, seen, sets, positions):
    """Channels of attention's vector that turn, in which pairs and by which frequencies."""
    x, y, q = (by_token(v.double(), T) for v in (before, after, seen))
    if x is None or y is None or x.shape != y.shape:
        return None
    width = x.shape[-1]
    for n in sorted({2 * len(f) for _, f, _ in sets if 2 * len(f) <= width}, reverse=True):
        for first in dict.fromkeys((0, width - n)):
            for pairs in ("halves", "adjacent", "apart"):
                turn = angles(x, y, first, n, pairs)
                back = turn is not None and not matched(turn, sets, positions)
                found = matched(turn.conj() if back else turn, sets, positions) if turn is not None else None
                if found:
                    at = next((s for s in range(q.shape[-1] - width + 1) if same_rows(q[..., s:s + width], y)), None)
                    if at is None:
                        return None
                    return at + first, n, "halves" if pairs == "halves" else "adjacent", found, back
    raise NoAnswer("rows that turn by no known rule")


def same_rows(x, y):
    """Equal, or up to a factor of each row: NanoChat norms what has turned."""
    return torch.allclose(x, y, atol=1e-4) or torch.allclose(*(torch.nn.functional.normalize(v, dim=-1) for v in (x, y)), atol=1e-4)


def rotation(call, sets, positions, entry):
    for rows in call["turns"]:
        for before, after in rows:
            if before.shape != after.shape:
                continue
            found = turned(before, after, call["q"], sets, positions)
            if not found:
                continue
            first, n, pairs, (label, f, factor, streams), back = found
            if back:
                entry["backward"] = True
            entry["turned"], entry["f"] = [first, n, pairs], {"a": float(f"{factor:.12g}"), **digest(f)}
            if len(positions) > 1:
                entry["streams"] = "".join(streams)
            return
    entry["turned"] = None


def sees(call):
    """The first key that the last query sees, and whether the first query sees the last key. `beyond`: the last key that the first query sees,
    where a two-sided window ends at another distance after the query than before it."""
    mask = call["mask"]
    if mask is None:
        return {"first": 0, "later": not call["causal"]}
    row = (mask[0, 0, :, :T] > -1) if mask.dtype != torch.bool else mask[0, 0, :, :T]
    first, last = int(row[-1].nonzero()[0]), int(row[0].nonzero()[-1])
    return {"first": first, "later": last == T - 1, **({"beyond": last} if last and first + last != T - 1 else {})}


def own_heads(call):
    """Heads of keys. Those that are copies of others are none of their own: JetMoE repeats its keys before it calls attention."""
    k, own = call["k"], getattr(call["module"], "num_key_value_heads", None)
    copies = own and k.shape[1] > own and torch.equal(k[:, :own], k[:, own:2 * own])
    return own if copies else k.shape[1]


def entry_of(call, sets, positions, per_token):
    q = call["q"]
    entry = {"heads": [q.shape[1], own_heads(call), q.shape[3]], **sees(call)}
    if call["scale"] is not None:
        entry["scale"] = float(f"{float(call['scale']):.9g}")
    for name in ("bias", "slopes"):
        if call.get(name):
            entry[name] = call[name]
    rotation(call, sets, positions, entry)
    if per_token is not None:
        entry["kept"] = per_token
    return entry
