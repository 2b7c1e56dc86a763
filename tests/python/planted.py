"""Dumps as programs would write them, drawn at random: right ones, and ones with a known fault planted. NumPy alone; nothing here
comes from gnomon.

    python3 planted.py FOLDER [SEED]     writes them all, with an index.json

Blocks of axes: transformers, modeling_vjepa2.py; the padded kernel: vllm-ascend, ops/triton/rope.py before pull request 15688.
"""

import json
import math
import pathlib
import sys

import numpy as np

from drawn import (Draw, by_streams, image_streams, linear, llama3, ntk, other, plain, restart, rounded, save, spread, streams_of,
                   tables, turn, yarn)

# Right dumps: (name, tensors, options, what is right). What is right is a spec, or None where "unknown" is the only right answer.

def number(x):
    return str(int(x)) if float(x).is_integer() else repr(float(x))


def clean_rotation(draw):
    D = draw.one(32, 64, 64, 80, 96, 128, 128, 192, 256)
    share = draw.one(1, 1, 1, 0.5, 0.25, 0.75)
    R = int(D * share)
    R -= R % 2
    pairing, theta, type = draw.one("halves", "adjacent"), draw.theta(), draw.one("F32", "F32", "F16", "BF16")
    H, T = draw.one(1, 2, 4), draw.one(6, 12, 40, 64, 130, 300, 600)
    offset = draw.one(0, 0, 0, 1, 7, 500, 4000, 30000)
    kind = draw.one("rope", "rope", "rope", "linear", "yarn", "llama3", "ntk", "learned", "longrope")
    factor, original, scale = draw.one(2.0, 4.0, 8.0, 16.0), draw.one(2048, 4096, 8192, 32768), 1.0
    window = f"pairing={pairing}" + (f", channels={R}" if R < D else "")
    spec = f"{kind}(theta={number(theta)}, {window}"
    if kind == "rope":
        w, spec = plain(R, theta), spec + ")"
    elif kind == "linear":
        w, spec = linear(R, theta, factor), spec + f", factor={number(factor)})"
    elif kind == "ntk":
        w, spec = ntk(R, theta, factor), spec + f", factor={number(factor)})"
    elif kind == "llama3":
        w, spec = llama3(R, theta, factor, original), spec + f", factor={number(factor)}, original={original})"
    elif kind == "yarn":
        w, scale, spec = yarn(R, theta, factor, original), 0.1 * math.log(factor) + 1, spec + f", factor={number(factor)}, original={original})"
    elif kind == "learned":
        w, spec = np.exp(-np.cumsum(draw.rng.random(R // 2) * 0.4)), None
    else:
        w, spec = plain(R, theta) / (1 + np.sort(draw.rng.random(R // 2)) * factor * 2), None
    p = np.arange(T) + offset
    given = draw.one(True, True, False)
    if given and draw.one(True, False, False):
        p = np.sort(draw.rng.choice(4 * T, T, replace=False)) + offset
    cos, sin = tables(p, w, scale)
    each = draw.one(True, False)
    tensors, saved = {}, draw.one(type, type, "F32")
    for name in draw.one(("q",), ("q", "k")):
        x = draw.rows(H, T, D, type)
        y = turn(x, spread(cos, pairing), spread(sin, pairing), pairing, type, each)
        state = draw.rng.bit_generator.state  # one layout for both
        tensors[name + "_before"] = (draw.lay(x), saved)
        draw.rng.bit_generator.state = state
        tensors[name + "_after"] = (draw.lay(y), saved)
    if draw.one(True, False, False):
        tensors["cos"], tensors["sin"] = (rounded(spread(cos, pairing), type), saved), (rounded(spread(sin, pairing), type), saved)
    if draw.one(True, False, False):
        tensors["inv_freq"] = (w.astype(np.float32), "F32")
    if given:
        tensors["positions"] = (p, "I64")
    return f"rotation {kind} D={D} R={R} {pairing} {type} T={T} from {offset}", tensors, [], spec


def clean_table(draw):
    R, theta, pairing = draw.one(16, 32, 64, 80, 96, 128, 192, 256), draw.theta(), draw.one("halves", "adjacent")
    T, type, offset = draw.one(8, 50, 300, 1000), draw.one("F32", "F16", "BF16"), draw.one(0, 0, 100, 5000)
    kind = draw.one("rope", "linear", "yarn")
    w, scale, spec = plain(R, theta), 1.0, f"rope(theta={number(theta)}, pairing={pairing})"
    if kind == "linear":
        w, spec = linear(R, theta, 4.0), f"linear(theta={number(theta)}, pairing={pairing}, factor=4)"
    if kind == "yarn":
        w, scale, spec = yarn(R, theta, 4.0, 4096), 0.1 * math.log(4) + 1, f"yarn(theta={number(theta)}, pairing={pairing}, factor=4, original=4096)"
    p = np.arange(T) + offset
    cos, sin = tables(p, w, scale)
    saved = draw.one(type, "F32")
    tensors = {"cos": (rounded(spread(cos, pairing), type), saved), "sin": (rounded(spread(sin, pairing), type), saved)}
    if draw.one(True, False):
        tensors["positions"] = (p, "I64")
    return f"table {kind} R={R} {pairing} {type} T={T} from {offset}", tensors, [], spec


def clean_packed(draw):
    D, theta, pairing, type = draw.one(32, 64, 128), draw.theta(0.15), draw.one("halves", "adjacent"), draw.one("F32", "F32", "BF16")
    T = draw.one(60, 200, 400)
    documents, starts = draw.documents(T)
    p = restart(starts, T)
    cos, sin = tables(p, plain(D, theta))
    x = draw.rows(2, T, D, type)
    tensors = {"q_before": (x[None], type), "q_after": (turn(x, spread(cos, pairing), spread(sin, pairing), pairing, type)[None], type)}
    if draw.one(True, False):
        tensors["documents"] = (documents, "I64")
    if draw.one(True, False):
        tensors["positions"] = (p, "I64")
    return f"packed D={D} {pairing} {type} T={T}", tensors, [], f"rope(theta={number(theta)}, pairing={pairing})"


def clean_streams(draw):
    D, theta, type = draw.one(64, 128), draw.one(10000.0, 1000000.0, 500000.0, 5000000.0), draw.one("F32", "F32", "BF16")
    kind, N, T = draw.one("mrope", "mrope_interleaved"), D // 2, draw.one(60, 150, 300)
    side = N * 3 // 8 if kind == "mrope" else N * 5 // 16
    sections = draw.one((N - 2 * side, side, side), (N // 2 - N // 8, N // 4 + N // 8, N // 4)) if kind == "mrope" else (N - 2 * side, side, side)
    p = image_streams(draw, T)
    cos, sin = by_streams(p, plain(D, theta), streams_of(kind, sections))
    x = draw.rows(2, T, D, type)
    tensors = {"q_before": (x[None], type), "q_after": (turn(x, spread(cos, "halves"), spread(sin, "halves"), "halves", type)[None], type),
               "positions": (draw.one(p, p[:, None], p.T), "I64")}
    return f"streams {kind} {sections} D={D} {type} T={T}", tensors, [], kind + "("


def blocks(x, positions, theta, mixed, type="F32"):
    """An axis after the other, each on channels of its own: modeling_vjepa2.py; `mixed`: its tables, laid out for halves."""
    each = 2 * (x.shape[-1] // len(positions) // 2)
    for n, p in enumerate(positions):
        cos, sin = tables(p, plain(each, theta))
        layout = "halves" if mixed else "adjacent"
        x = turn(x, spread(cos, layout), spread(sin, layout), "adjacent", type, first=n * each)
    return x


def grid(*extents):
    return np.stack([a.ravel() for a in np.meshgrid(*map(np.arange, extents), indexing="ij")])


def clean_blocks(draw):
    D, theta, type = draw.one(48, 64, 96), draw.one(10000.0, 100000.0), draw.one("F32", "BF16")
    p = draw.one(grid(4, 6, 6), grid(2, 8, 7), grid(9, 8))
    x = draw.rows(2, p.shape[1], D, type)
    return f"blocks D={D} {type} axes={len(p)}", {"q_before": (x, type), "q_after": (blocks(x, p, theta, False, type), type),
                                                   "positions": (p, "I64")}, [], "rope_axial("


def band(T, I, keys, causal=True):
    i, j = np.arange(T - I, T)[:, None], np.arange(T)[None]
    return (j <= i) & (i - j < keys) if causal else np.abs(i - j) < keys


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return (e / e.sum(-1, keepdims=True)).astype(np.float32)


def sights(draw, seen, H=2):
    """What is seen, as one of the tensors that programs have."""
    which = draw.rng.integers(4)
    if which == 0:
        return {"mask": (seen[None, None], "BOOL")}
    if which == 1:
        return {"mask": (~seen, "BOOL")}
    if which == 2:
        return {"mask": (np.where(seen, 0, draw.one(-np.inf, np.finfo(np.float32).min)).astype(np.float32)[None, None], "F32")}
    logits = draw.rng.standard_normal((H, *seen.shape)).astype(np.float32) * draw.one(1, 3, 6)
    type = draw.one("F32", "F16", "BF16")
    return {"weights": (rounded(softmax(np.where(seen, logits, -np.inf)), type)[None], type)}


def clean_sight(draw):
    T, causal = draw.one(48, 100, 257), draw.one(True, True, False)
    I = T if not causal else draw.one(T, T // 2, 1) if draw.one(True, False) else T
    kind = draw.one("window", "window", "none", "chunk")
    size = int(draw.rng.integers(3, T - 4)) if draw.one(True, False) else draw.one(8, 16, 32)
    if I < T and I + size > T and kind == "window":
        I = T
    i, j = np.arange(T - I, T)[:, None], np.arange(T)[None]
    seen = band(T, I, size if kind == "window" else T + 1, causal)
    if kind == "chunk":
        I = T
        i, j = np.arange(T)[:, None], np.arange(T)[None]
        seen = (i // size == j // size) & (j <= i)
    options = ["--spec", f"window(size={size})"] if kind == "window" and draw.one(True, False) else []
    return f"sight {kind} {size} T={T} I={I} causal={causal}", sights(draw, seen), options, kind if kind == "none" else f"{kind}(size={size})"


def clean_noise(draw):
    x = draw.rows(2, 60, 64)
    y = draw.one(x + 0.3 * draw.rows(2, 60, 64), x * 1.5, x @ np.linalg.qr(draw.rng.standard_normal((64, 64)))[0].astype(np.float32), x)
    return "noise", {"q_before": (x, "F32"), "q_after": (y.astype(np.float32), "F32")}, [], None


CLEAN = [clean_rotation] * 5 + [clean_table, clean_packed, clean_streams, clean_blocks, clean_sight, clean_noise]


def clean(count, seed=1):
    for n in range(count):
        draw = Draw((seed, n))
        yield CLEAN[n % len(CLEAN)](draw)


# Faults: (name, tensors, options, what the answer has to say, its evidence).

def setting(draw, D=None, theta=None):
    return draw.one("halves", "adjacent"), D or draw.one(32, 64, 128), theta or draw.theta(0.3), draw.one("F32", "F32", "BF16", "F16"), draw.one(24, 80, 200)


def rotated_pair(x, y, type, **more):
    return {"q_before": (x[None], type), "q_after": (y[None], type)} | {name: (value, "I64") for name, value in more.items()}


def twice(draw, same):
    pairing, D, theta, type, T = setting(draw)
    cos, sin = tables(np.arange(T), plain(D, theta))
    x = draw.rows(2, T, D, type)
    second = pairing if same else other(pairing)
    y = turn(x, spread(cos, pairing), spread(sin, pairing), pairing, type)
    y = turn(y, spread(cos, second), spread(sin, second), second, type)
    return f"twice {pairing} then {second} D={D} theta={theta} {type} T={T}", rotated_pair(x, y, type, positions=np.arange(T)), [], "rotates twice", ["without_fault_error"]


def twice_scaled(draw):
    pairing, D, theta, type, T = setting(draw, theta=draw.one(10000.0, 1000000.0))
    cos, sin = tables(np.arange(T), yarn(D, theta, 4.0, 4096), 0.1 * math.log(4) + 1)
    x = draw.rows(2, T, D, type)
    y = turn(x, spread(cos, pairing), spread(sin, pairing), pairing, type)
    y = turn(y, spread(cos, other(pairing)), spread(sin, other(pairing)), other(pairing), type)
    tensors = rotated_pair(x, y, type, positions=np.arange(T)) | {"cos": (spread(cos, pairing), "F32"), "sin": (spread(sin, pairing), "F32")}
    return f"twice, yarn {pairing} D={D} theta={theta} {type} T={T}", tensors, [], "rotates twice", []


def one_stream(draw):
    kind, D, type, T = draw.one("mrope", "mrope_interleaved"), draw.one(64, 128), draw.one("F32", "BF16"), draw.one(60, 150, 300)
    # In 16 bits the slow pairs of a large base, or of a small image, turn by less than rounding whatever their stream is.
    theta, keep = draw.theta(0.2) if type == "F32" else draw.one(10000.0, 500000.0, 1000000.0), draw.one(0, 0, 0, 1)
    p = image_streams(draw, T, 3 if type == "F32" else 6)
    cos, sin = tables(p[keep], plain(D, theta))
    x = draw.rows(2, T, D, type)
    y = turn(x, spread(cos, "halves"), spread(sin, "halves"), "halves", type)
    tensors = {"q_before": (x[None], type), "q_after": (y[None], type), "positions": (p, "I64")}
    return f"one stream {keep} D={D} theta={theta} {type} T={T}", tensors, [], f"stream {keep + 1} of 3 alone", ["tokens_whose_streams_differ"]


def window_off(draw):
    T, size, by, causal = draw.one(64, 100, 300), draw.one(8, 16, 31, 32, 50), draw.one(1, -1), draw.one(True, True, False)
    tensors = sights(draw, band(T, T, size + by, causal))
    return f"window {size} by {by} T={T} causal={causal}", tensors, ["--spec", f"window(size={size})"], "one key more" if by > 0 else "one key fewer", ["farthest_distance_seen"]


def mixed_tables(draw):
    pairing, D, theta, type, T = setting(draw)
    share = draw.one(1, 1, 0.5)
    cos, sin = tables(np.arange(T), plain(int(D * share), theta))
    x = draw.rows(2, T, D, type)
    y = turn(x, spread(cos, other(pairing)), spread(sin, other(pairing)), pairing, type)
    return f"tables mixed {pairing} D={D} share={share} theta={theta} {type} T={T}", rotated_pair(x, y, type), [], "laid out for the other pairing", ["without_fault_error"]


def vjepa(draw):
    D, type = draw.one(48, 64, 88, 96), draw.one("F32", "BF16")
    p = draw.one(grid(4, 6, 6), grid(8, 4, 4), grid(2, 8, 7))
    x = draw.rows(2, p.shape[1], D, type)
    return f"V-JEPA 2 D={D} {type}", {"q_before": (x[None], type), "q_after": (blocks(x, p, 10000.0, True, type)[None], type), "positions": (p, "I64")}, [], "laid out for the other pairing", []


def half_precision(draw):
    pairing, D = draw.one("halves", "adjacent"), draw.one(32, 64, 128)
    half = draw.one("BF16", "BF16", "F16")
    what = draw.one("frequencies", "places", "all") if half == "BF16" else draw.one("frequencies", "all")
    theta = draw.theta(0 if what == "all" else 0.2)  # three roundings hide the digits of an odd base
    T = draw.one(520, 1100, 2100) if half == "BF16" else draw.one(1100, 2500)
    rounding = {"frequencies": half, "places": half, "angles": half} if what == "all" else {what: half}
    cos, sin = tables(np.arange(T), plain(D, theta), **rounding)
    type = draw.one("F32", "F32", half)
    x = draw.rows(1, T, D, type)
    y = turn(x, spread(cos, pairing), spread(sin, pairing), pairing, type)
    says = {"frequencies": "frequencies are rounded", "places": "positions are rounded", "all": "are rounded"}[what]
    return f"half {what} {half} {pairing} D={D} theta={theta} {type} T={T}", rotated_pair(x, y, type, positions=np.arange(T)), [], says, ["phase_error"]


def half_tables(draw):
    R, theta, pairing = draw.one(32, 64, 128), draw.theta(0.2), draw.one("halves", "adjacent")
    half, T = "BF16", draw.one(520, 2100, 4097)
    cos, sin = tables(np.arange(T), plain(R, theta), frequencies=half, places=draw.one("F32", half), angles=None)
    return f"half tables R={R} theta={theta} T={T}", {"cos": (spread(cos, pairing), "F32"), "sin": (spread(sin, pairing), "F32")}, [], "are rounded to bfloat16", ["phase_error"]


def half_inv_freq(draw):
    R, theta, half = draw.one(32, 64, 128), draw.theta(0.3), draw.one("BF16", "F16")
    return f"half inv_freq R={R} theta={theta} {half}", {"inv_freq": (rounded(plain(R, theta), half), draw.one(half, "F32"))}, [], "frequencies are rounded", []


def padded(draw):
    R, masked, theta = draw.one(192, 192, 96, 160, 80, 48), draw.one(False, False, True), draw.theta(0.3)
    D, pairing, type, T = draw.one(R, R, 256 if R > 128 else 128), draw.one("halves", "adjacent"), draw.one("F32", "BF16"), draw.one(24, 80, 200)
    cos, sin = tables(np.arange(T + 1), plain(R, theta))
    cache = np.concatenate([cos, sin], -1)  # a row for each position, one after the other
    whole = 1 << (R - 1).bit_length()
    flat = cache.ravel()
    at = np.arange(T)[:, None] * R + whole // 2 + np.arange(R // 2)[None]
    read = flat[at]
    if masked:
        read = np.where(whole // 2 + np.arange(R // 2) < R, read, 0)
    x = draw.rows(2, T, D, type)
    y = turn(x, spread(cos[:T], pairing), spread(read, pairing), pairing, type, each=False)
    return f"padded {R} to {whole} of {D} {pairing} masked={masked} theta={theta} {type} T={T}", rotated_pair(x, y, type), [], f"a table of {whole} channels", ["without_fault_error"]


def packed_wrong(draw):
    pairing, D, theta, type, _ = setting(draw, theta=draw.theta(0.15))
    T = draw.one(60, 200, 400)
    documents, starts = draw.documents(T)
    how = draw.one("one", "row", "row by positions", "restart by positions")
    used = {"one": restart(starts, T, 1), "row": np.arange(T), "row by positions": np.arange(T), "restart by positions": restart(starts, T)}[how]
    cos, sin = tables(used, plain(D, theta))
    x = draw.rows(2, T, D, type)
    y = turn(x, spread(cos, pairing), spread(sin, pairing), pairing, type)
    more = {"one": {"documents": documents}, "row": {"documents": documents}, "row by positions": {"positions": restart(starts, T)},
            "restart by positions": {"positions": np.arange(T)}}[how]
    says = {"one": "start at 1 in each document", "row": "do not restart", "row by positions": "do not restart", "restart by positions": "restart at 0 at token"}[how]
    return f"packed {how} {pairing} D={D} theta={theta} {type} T={T}", rotated_pair(x, y, type, **more), [], says, []


def packed_ids(draw):
    T, how = draw.one(50, 200), draw.one("one", "row")
    documents, starts = draw.documents(T)
    p = restart(starts, T, 1) if how == "one" else np.arange(T)
    return f"packed ids {how} T={T}", {"positions": (p, "I64"), "documents": (documents, "I64")}, [], "start at 1" if how == "one" else "do not restart", ["tokens_that_differ"]


FAULTS = {"twice alike": lambda d: twice(d, True), "twice, two pairings": lambda d: twice(d, False), "twice, scaled": twice_scaled, "one stream": one_stream,
          "window": window_off, "tables": mixed_tables, "V-JEPA 2": vjepa, "half precision": half_precision, "half tables": half_tables,
          "half inv_freq": half_inv_freq, "padded": padded, "packed": packed_wrong, "packed ids": packed_ids}


def faults(each, seed=2):
    for k, (kind, make) in enumerate(FAULTS.items()):
        for n in range(each):
            yield kind, *make(Draw((seed, k, n)))


if __name__ == "__main__":
    folder, seed = pathlib.Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 1
    folder.mkdir(parents=True, exist_ok=True)
    index = []
    for n, (name, tensors, options, right) in enumerate(clean(330, seed)):
        save(folder / f"clean{n}.safetensors", tensors)
        index.append(dict(file=f"clean{n}.safetensors", name=name, options=options, right=right))
    for n, (kind, name, tensors, options, says, evidence) in enumerate(faults(12, seed + 1)):
        save(folder / f"fault{n}.safetensors", tensors)
        index.append(dict(file=f"fault{n}.safetensors", kind=kind, name=name, options=options, says=says, evidence=evidence))
    (folder / "index.json").write_text(json.dumps(index, indent=1))
