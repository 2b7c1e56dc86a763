"""Numbers of claims about trained models, from their saved weights and a text, in numpy and float64: a second writing that shares
no code with gnomon. Prints a JSON object: number -> its values, one for each model given.

    python3 tests/golden/trained_claims.py MODEL.safetensors ... TEXT [--windows.shares N] [--windows.cross N]

The models are add(sinusoidal), 2 layers of width 64, 4 heads, windows of 64 bytes: claims/models/KEY/model.safetensors. Shares are
Cov(term, sum)/Var(sum) over the row-centred logits of all windows together. "controls" are common mistakes, which must not agree.
"""
import argparse
import json
import pathlib

import numpy as np

T, HEADS = 64, 4
GAP = np.subtract.outer(np.arange(T), np.arange(T))  # query's position less key's
SEEN = GAP >= 0


def read_weights(path):
    with open(path, "rb") as file:
        header = json.loads(file.read(int.from_bytes(file.read(8), "little")))
        data = file.read()
    return {name: np.frombuffer(data[slice(*entry["data_offsets"])], "<f4").reshape(entry["shape"]).astype(float)
            for name, entry in header.items() if name != "__metadata__"}


def read_windows(text, count):
    """Rows of T + 1 bytes, evenly spread over what is held out and chooses no rate: the last two thirds of each part."""
    n = len(text)
    parts = min(max(n // 10 // (8 * 257), 1), 16)
    size = n // 10 // parts
    first = size // 3
    room = size - first - (T + 1)
    part, offset = np.divmod((2 * np.arange(count) + 1) * (parts * room) // (2 * count), room)
    starts = (2 * part + 1) * n // (2 * parts) - size // 2 + first + offset + 1
    return text[starts[:, None] + np.arange(T + 1)]


def sinusoid(C, halves=False):
    angles = np.arange(T)[:, None] / 10000.0 ** (np.arange(0, C, 2) / C)
    waves = np.sin(angles), np.cos(angles)
    return np.concatenate(waves, 1) if halves else np.stack(waves, 2).reshape(T, C)


def centred(x):
    return x - x.mean(-1, keepdims=True)


def sigma(h):
    return np.sqrt(h.var(-1, keepdims=True) + 1e-5)


def linear(w, name, x):
    return x @ w[name + ".weight"].T + w[name + ".bias"]


def norm(w, name, h):
    return centred(h) / sigma(h) * w[name + ".gain"] + w[name + ".bias"]


def gelu(x):
    return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x ** 3)))


def split_heads(x, pieces):
    """`pieces` arrays, each (..., HEADS, T, D), from one (..., T, pieces * C)."""
    return [y.reshape(*y.shape[:-1], HEADS, -1).swapaxes(-2, -3) for y in np.split(x, pieces, -1)]


def attention(qkv):
    q, k, v = split_heads(qkv, 3)
    logits = np.where(SEEN, q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1]), -np.inf)
    weights = np.exp(logits - logits.max(-1, keepdims=True))
    return (weights / weights.sum(-1, keepdims=True) @ v).swapaxes(-2, -3).reshape(*qkv.shape[:-1], -1)


def loss(w, windows, e):
    h = np.sqrt(e.shape[1]) * w["embed.word"][windows[:, :-1]] + e
    for layer in range(sum(name.endswith(".qkv.weight") for name in w)):
        att, feed = f"layers.{layer}.attention", f"layers.{layer}.feed_forward"
        h = h + linear(w, att + ".out", attention(linear(w, att + ".qkv", norm(w, att + ".norm", h))))
        h = h + linear(w, feed + ".down", gelu(linear(w, feed + ".up", norm(w, feed + ".norm", h))))
    logits = norm(w, "head.norm", h) @ w["head.weight"].T
    return np.mean(np.logaddexp.reduce(logits, -1) - np.take_along_axis(logits, windows[:, 1:, None], -1)[..., 0])


def directions(x, mean_removed=True):
    """Principal directions as columns, largest first."""
    return np.linalg.svd(x - x.mean(0) * mean_removed, full_matrices=False)[2].T


def participation(x, mean_removed=True):
    spectrum = np.linalg.svd(x - x.mean(0) * mean_removed, compute_uv=False) ** 2
    return spectrum.sum() ** 2 / (spectrum ** 2).sum()


def overlap(x, y, r, mean_removed=True):
    return np.sum((directions(x, mean_removed)[:, :r].T @ directions(y, mean_removed)[:, :r]) ** 2) / r


def ranks(x):
    return np.sum((x[:, None] > x) + (x[:, None] == x) / 2, 1)  # ties share their mean rank


def row_centred(x, pairs=SEEN):
    """Each row of (..., T, T) less its mean over its pairs; 0 outside them."""
    means = np.sum(x, -1, where=pairs, keepdims=True) / np.maximum(pairs.sum(-1, keepdims=True), 1)
    return np.where(pairs, x - means, 0)


def shares(w, windows, e, centring=row_centred):
    """(3, 3): share of the term (query from a, key from b) in layer 0's logits; a, b: word, position, biases; mean over heads."""
    at, with_sum, squared = "layers.0.attention.", 0, 0
    weight, bias = w[at + "qkv.weight"], linear(w, at + "qkv", w[at + "norm.bias"])
    for window in windows:
        x = np.sqrt(e.shape[1]) * w["embed.word"][window[:-1]]
        inner = [w[at + "norm.gain"] * centred(part) / sigma(x + e) @ weight.T for part in (x, e)]
        q, k, _ = split_heads(np.stack(inner + [np.tile(bias, (T, 1))]), 3)
        terms = centring(q[:, None] @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1]))
        whole = terms.sum((0, 1))
        with_sum, squared = with_sum + (terms * whole).sum((-1, -2)), squared + (whole ** 2).sum((-1, -2))
    return (with_sum / squared).mean(-1)


def offset_share(w, e, pairs):
    """Share of the variance over the pairs, rows centred, that their offset explains, in the position-position products."""
    q, k, _ = split_heads(w["layers.0.attention.norm.gain"] * e @ w["layers.0.attention.qkv.weight"].T, 3)
    values, offsets = row_centred(q @ k.swapaxes(-1, -2), pairs)[:, pairs], GAP[pairs]
    means = np.array([np.bincount(offsets, head) for head in values]) / np.bincount(offsets)
    return np.mean(1 - ((values - means[:, offsets]) ** 2).mean(-1) / values.var(-1))


def numbers(w, text, options):
    rows = w["embed.word"][np.unique(read_windows(text, 64)[:, :-1])]
    C = rows.shape[1]
    W, P = np.sqrt(C) * rows, sinusoid(C)
    windows, tests = read_windows(text, options["windows.shares"]), read_windows(text, 256)
    share, cross = shares(w, windows, P), shares(w, read_windows(text, options["windows.cross"]), P)
    near = SEEN & (GAP <= T // 2)  # a row of the first half lacks the far ones: of `full` every row has all offsets
    full = near & (np.arange(T)[:, None] >= T // 2)
    length = lambda x: np.linalg.norm(x, axis=1).mean()
    return {
        "000-07|letters": len(W), "000-07|words": participation(W),
        "000-08|trained.8": overlap(P, W, 8), "000-08|trained.16": overlap(P, W, 16),
        "000-08|energy_inside": np.sum(((P - P.mean(0)) @ directions(W)[:, :16]) ** 2) / (T * P.var(0).sum()),
        "001-14|rho": np.corrcoef(ranks(P.var(0)), ranks(W.var(0)))[0, 1], "002-02|trained": length(P) / length(W),
        **{f"000-02|share.{i}": share[i // 2, i % 2] for i in range(4)}, "000-02|share.biases": share[2, :2].sum(),
        "000-09|cross": cross[0, 1] + cross[1, 0], "002-09|loss.1": loss(w, tests, P),
        "002-08|offset": offset_share(w, P, full)}, {
        "002-08|offset": offset_share(w, P, near),
        "002-09|loss.1": loss(w, tests, sinusoid(C, halves=True)), "000-07|words": participation(W, False),
        "000-08|trained.16": overlap(P, W, 16, False), "002-02|trained": length(P) / length(rows),
        "000-02|share.0": shares(w, windows, P, lambda terms: np.where(SEEN, terms, 0))[0, 0]}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="+")
    parser.add_argument("text", type=pathlib.Path)
    parser.add_argument("--windows.shares", type=int, default=100)
    parser.add_argument("--windows.cross", type=int, default=60)
    options = vars(parser.parse_args())
    text = np.frombuffer(options["text"].read_bytes().replace(b"\r\n", b"\n"), np.uint8)
    results = [numbers(read_weights(path), text, options) for path in options["models"]]
    found, controls = ({key: [float(each[i][key]) for each in results] for key in results[0][i]} for i in (0, 1))
    print(json.dumps({**found, "controls": controls}, indent=1))
