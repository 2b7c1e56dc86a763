"""The tables of a position encoding that engines precompute, as arrays and as a file."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import _core, arguments
from .arrays import Numbers, positions_of
from .encoding import Encoding
from .errors import Error

# What is added to the logits by position alone, by its names in a plan.
BY_POSITION = {"by_distance", "by_query", "by_key", "by_code", "curve_rate", "curve_by_token", "curve_slope", "curve_intercept"}


def tables(pe: Any, positions: Numbers | None = None, path: Any = None) -> dict[str, np.ndarray]:
    """The tables of pe = gnomon.make(...) at these positions: a dictionary of float32 arrays. It has those of these arrays that exist:

      positions     (T); or coordinates (T, axes), if a token has several

      cos, sin      (T, pairs): rotation of q and k, including its factor (YaRN). If q, k and v rotate differently: cos_q, cos_k,
                    cos_v ... If each head has its own: cos_by_head (heads, T, pairs) ...

      inv_freq      (pairs): radians per token; absent if one such array does not give cos and sin at this length

      factor_q      (T): factor on the rows of q (log_n)

      bias          added to the logits. (heads, T), by the distance 0, 1, 2 ... from the query back to the key, if this is enough for
                    a causal encoding; otherwise (heads, T, T), by query and key

      slopes        (heads): subtracted from a logit per token of distance

      table         (T, width): vectors of an input encoding

    positions: a number of positions from 0 (None: pe.length), or an array (T) or (T, axes). path: also writes a safetensors file, which
    needs the package safetensors; gnomon.check() reads it. Its metadata name the spec, its sizes and the pairing ("adjacent" or
    "halves"); "without" lists the parts of the spec that no table holds. Raises Error for encodings without tables.
    """
    places = places_of(pe, positions)
    found, about = {}, {}
    if not pe.reads:
        plan = pe.plan(as_sequence(places))
        found |= _of_rows(plan, len(places), about) | _of_logits(pe, plan, np.arange(len(places)))
        found |= _frequencies(pe, plan, places)
        without = _without(plan)
    else:
        without = [f"what reads {', '.join(pe.reads)}"]
    if pe._scheme.reads_words:
        without.append("vectors that depend on the words")
    elif pe._scheme.has_input:
        found["table"] = pe.vectors(as_sequence(places)).reshape(len(places), -1)
    if not found:
        raise Error(f"'{pe.spec}' has no tables: {', '.join(without) or 'nothing that depends on positions alone'}", place="tables",
                    found=pe.spec)
    found["positions" if places.ndim == 1 else "coordinates"] = places
    found = {name: np.ascontiguousarray(a, np.float32) for name, a in found.items()}
    if path is not None:
        _save(found, arguments.path("path", path), _about(pe, len(places), without) | about)
    return found


def places_of(pe, positions):
    """Positions as (T) or (T, axes), from a number of positions (None: pe.length) or an array. Raises Error."""
    if not isinstance(pe, Encoding):
        raise Error(f"pe: found {type(pe).__name__}; allowed is an encoding from gnomon.make()", place="pe")
    if positions is None or isinstance(positions, (int, float)) or getattr(positions, "shape", None) == ():
        return positions_of(None, pe.length if positions is None else arguments.whole("positions", positions))
    places, axes = positions_of(positions, 0), pe._scheme.axes
    if places.ndim > 2 or places.ndim == 2 and axes == 1:
        allowed = "(T)" if axes == 1 else f"(T) and (T, {axes})"
        raise Error(f"positions: found {places.shape}; allowed for '{pe.spec}' is {allowed}", place="positions", found=str(places.shape),
                    allowed=allowed)
    return places


def as_sequence(places):
    """(T) unchanged, (T, axes) as one sequence."""
    return places[None] if places.ndim == 2 else places


def _of_rows(plan, tokens, about):
    """Tables of the rotations and factors of rows of q, k and v; writes the pairing of channels into `about`."""
    found = {}
    for step in plan.steps:
        role = "" if {"q", "k"} <= set(step["roles"]) else f"_{step['roles'][0]}"
        if step["kind"] == "scale":
            heads = len(step["factor"])
            factor = np.broadcast_to(step["factor"], (heads, tokens))
            found[f"factor{role}" + ("_by_head" if heads > 1 else "")] = factor if heads > 1 else factor[0]
        if step["kind"] != "rotate":
            continue
        about["pairing"] = "adjacent" if step["gap"] == 1 else "halves"
        about["first_channel"], about["channel_gap"] = str(step["first"]), str(step["gap"])
        for name in ("cos", "sin"):
            heads, _, pairs = step[name].shape
            whole = np.broadcast_to(step[name], (heads, tokens, pairs))
            found[_free(name + role + ("_by_head" if heads > 1 else ""), found)] = whole if heads > 1 else whole[0]
    return found


def _free(name, taken):
    """The name, with a number if an earlier rotation has it."""
    numbered = (name if n == 1 else f"{name}_{n}" for n in range(1, len(taken) + 2))
    return next(n for n in numbered if n not in taken)


def _of_logits(pe, plan, tokens):
    terms, found = plan.terms, {}
    if not BY_POSITION & set(terms["arrays"]):
        return found
    by_distance = BY_POSITION & set(terms["arrays"]) == {"by_distance"} and "places" not in terms
    if by_distance and pe.causal:
        found["bias"] = terms["arrays"]["by_distance"]
    else:
        found["bias"] = np.broadcast_to(bias_of_pairs(plan, tokens, tokens), (pe.heads, len(tokens), len(tokens)))
    try:
        found["slopes"] = pe.slopes
    except Error:  # no line, or no bias of distances: the table of it stands alone
        pass
    return found


def _frequencies(pe, plan, places):
    """inv_freq, if every rotation of q and k is position times inv_freq."""
    turns = [step for step in plan.steps if step["kind"] == "rotate" and step["cos"].shape[1] == len(places)]
    if not turns:
        return {}
    try:
        inv_freq = np.asarray(pe.frequencies)
    except Error:
        return {}
    for step in turns if pe._scheme.axes == 1 else ():
        if step["pairs"] != len(inv_freq):
            return {}
        off = np.arctan2(step["sin"], step["cos"]) - np.multiply.outer(places, inv_freq)
        if np.abs(np.exp(1j * off) - 1).max() > 1e-4:
            return {}
    return {"inv_freq": inv_freq}


def bias_of_pairs(plan, queries, keys):
    """The bias by position alone, for tokens `queries` and `keys` of the plan: (heads or 1, Q, K)."""
    terms, a = plan.terms, plan.terms["arrays"]
    row = terms["places"][0] if "places" in terms else None
    delta = row[queries][:, None] - row[keys] if row is not None else queries[:, None] - keys
    total = np.zeros((1, *delta.shape), np.float32)
    if "by_distance" in a:
        column = (delta - terms["first_distance"]).astype(np.int64)
        total = total + a["by_distance"][:, np.clip(column, 0, terms["distances"] - 1)]
    if "by_query" in a:
        total = total + a["by_query"][0][:, queries, None]
    if "by_key" in a:
        total = total + a["by_key"][0][:, None, keys]
    if "by_code" in a:
        begin = 0
        for query, key, (least, count) in zip(terms["code_of_query"][0], terms["code_of_key"][0], terms["code_ranges"]):
            entry = np.clip(np.trunc(query[queries][:, None] - key[keys]) - least, 0, count - 1).astype(np.int64)
            total, begin = total + a["by_code"][:, begin + entry], begin + count
    if "curve_slope" in a:  # piecewise linear in x, between knots
        x = np.log1p(a["curve_rate"] * np.abs(delta)) * a["curve_by_token"][0, queries, None]
        piece = np.searchsorted(terms["curve_knots"], x, side="right")
        total = total + a["curve_slope"][:, piece] * x + a["curve_intercept"][:, piece]
    return total


def _without(plan):
    """The parts of a plan that no table holds, in words."""
    found = [step["kind"] for step in plan.steps if step["kind"] not in ("rotate", "scale")]
    found += sorted(set(plan.terms["arrays"]) - BY_POSITION)
    if "first_key" in plan.terms:
        found.append("which keys are seen")
    if np.isfinite(plan.terms["far_from"]):
        found.append(f"far pairs from {plan.terms['far_from']:g} on")
    if plan.terms["weights"] != "softmax":
        found.append(plan.terms["weights"])
    return list(dict.fromkeys(found))


def _about(pe, tokens, without):
    sizes = {name: str(getattr(pe, name)) for name in ("heads", "kv_heads", "head_dim", "causal")}
    return {"format": "gnomon tables", "gnomon": _core.__version__, "spec": pe.spec, "layer": str(pe.layer), "length": str(tokens),
            "trained_length": str(pe.length), **sizes, "without": ", ".join(without)}


def _save(found, path, about):
    try:
        from safetensors.numpy import save_file
    except ImportError:
        raise Error("tables: writing a file needs the package safetensors; it is not installed", place="path", fault="resource") from None
    save_file(found, path, about)
