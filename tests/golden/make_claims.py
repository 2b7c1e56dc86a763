"""Numbers behind the claims, in numpy, from the formulas alone: a second writing that shares no code with gnomon.

    python3 tests/golden/make_claims.py > tests/golden/claims.json

Sinusoid: Vaswani et al. 2017, section 3.5 (arXiv 1706.03762): e[p, 2i] = sin(p / 10000^(2i/d)), e[p, 2i+1] = cos(...).
Principal components: of the rows about their mean. Overlap: singular values of U'V for orthonormal bases. Random numbers
come from numpy's PCG64, so numbers of random objects agree within their spread, which is printed beside them. Each group
has a control: a common mistake, which must not agree.
"""

import json

import numpy as np


def sinusoid(d, T):
    p, i = np.arange(T)[:, None], np.arange(d // 2)[None, :]
    angle = p / 10000.0 ** (2 * i / d)
    return np.stack([np.sin(angle), np.cos(angle)], axis=2).reshape(T, d)


def tensor2tensor(d, T):
    p, i = np.arange(T)[:, None], np.arange(d // 2)[None, :]
    angle = p * np.exp(-np.log(10000.0) * i / (d // 2 - 1))
    return np.concatenate([np.sin(angle), np.cos(angle)], axis=1)


def components(e, centre=True):
    values = np.linalg.svd(e - e.mean(0) if centre else e, compute_uv=False) ** 2
    shares = np.cumsum(values) / values.sum()
    q = values / values.sum()
    q = q[q > 0]
    return {
        "counts": [int(np.searchsorted(shares, s) + 1) for s in (0.9, 0.95, 0.99, 0.999)],
        "participation": float(values.sum() ** 2 / (values**2).sum()),
        "effective_rank": float(np.exp(-(q * np.log(q)).sum())),
    }


def channels(e):
    span, deviation = e.max(0) - e.min(0), e.std(0)
    return {
        "range_above": [int((span > t).sum()) for t in (0.007, 0.1, 0.5, 1.0, 1.9)],
        "deviation_above": int((deviation > 0.1).sum()),
        "variance": float((deviation**2).sum()),
    }


def overlap_null(rng, d, a, b, draws):
    means, largest = [], []
    for _ in range(draws):
        u, _ = np.linalg.qr(rng.standard_normal((d, a)))
        v, _ = np.linalg.qr(rng.standard_normal((d, b)))
        s = np.linalg.svd(u.T @ v, compute_uv=False)
        means.append((s**2).mean())
        largest.append(s.max())
    return {"sizes": [d, a, b], "mean": float(np.mean(means)), "mean_sd": float(np.std(means)), "max": float(np.mean(largest)), "max_sd": float(np.std(largest))}


def nearest(points, among):
    return np.argmax(points @ among.T - (among**2).sum(1) / 2, axis=1)


def decoding(rng, d, amplitude, V=2000, T=64):
    x, e = rng.uniform(-1, 1, (V, d)), amplitude * sinusoid(d, T)
    centred = e - e.mean(0)
    _, s, vt = np.linalg.svd(centred, full_matrices=False)
    keep = int(np.searchsorted(np.cumsum(s**2) / (s**2).sum(), 0.999) + 1)
    outside = np.eye(d) - vt[:keep].T @ vt[:keep]
    words, places = np.arange(V), np.arange(T)
    hit = lambda offset, table: float(np.mean([(nearest(table + o, table) == words).mean() for o in offset]))
    position = float(np.mean([(nearest(w + e, e) == places).mean() for w in x]))
    return {"d": d, "amplitude": amplitude, "naive": hit(e, x), "mean_removed": hit(centred, x), "projected": hit(centred @ outside, x @ outside), "position": position}


def shares(rng, word, position, d=512, T=64, draws=200):
    total = np.zeros(4)
    for _ in range(draws):
        m = rng.standard_normal((d, d))
        x, e = word * rng.standard_normal((T, d)), position(rng, T, d)
        terms = [((a @ m @ b.T) ** 2).sum() for a, b in ((x, x), (x, e), (e, x), (e, e))]
        total += np.array(terms) / sum(terms)
    return [float(t) for t in total / draws]


def offset_share(g):
    T = len(g)
    i, j = np.indices((T, T))
    off = i != j
    rest = g.copy()
    for k in range(-T + 1, T):
        at = i - j == k
        rest[at] -= g[at].mean()
    return float(1 - (rest[off] ** 2).sum() / ((g[off] - g[off].mean()) ** 2).sum())


def layer_norm(e):
    c = e - e.mean(1, keepdims=True)
    return c / c.std(1, keepdims=True)


rng = np.random.default_rng(20240501)
fixed = lambda scale: lambda r, T, d: scale * r.standard_normal((T, d))
wave = lambda r, T, d: sinusoid(d, T)
sizes = ((512, 20), (512, 50), (512, 128), (512, 512), (64, 128), (128, 128), (384, 128), (384, 512), (768, 512))
print(
    json.dumps(
        {
            "source": f"numpy {np.__version__}, make_claims.py",
            "components": [{"d": d, "T": T, **components(sinusoid(d, T))} for d, T in sizes],
            "components_control": [{"d": d, "T": T, **components(sinusoid(d, T), centre=False)} for d, T in sizes],
            "channels": [{"T": T, **channels(sinusoid(512, T))} for T in (20, 50, 128, 512)],
            "channels_control": [{"T": T, **channels(tensor2tensor(512, T))} for T in (20, 50, 128, 512)],
            "overlap": [overlap_null(rng, *s, 100) for s in ((64, 8, 8), (64, 16, 16), (128, 16, 16), (384, 42, 42), (512, 16, 16), (512, 42, 42), (512, 42, 128))],
            "decoding": [decoding(rng, d, a) for d, a in ((4, 1), (8, 1), (16, 1), (32, 1), (64, 1), (128, 1), (512, 3), (512, 10))],
            "shares": [
                {"name": "tensor2tensor", "found": shares(rng, 1.0, wave)},
                {"name": "gpt2", "found": shares(rng, 0.02, fixed(0.01))},
                {"name": "bert", "found": shares(rng, 0.02, fixed(0.02))},
                {"name": "unscaled", "found": shares(rng, 0.02, wave)},
            ],
            "toeplitz": [
                {
                    "d": d,
                    "T": T,
                    "plain": offset_share(sinusoid(d, T) @ sinusoid(d, T).T),
                    "mean_removed": offset_share((c := sinusoid(d, T) - sinusoid(d, T).mean(0)) @ c.T),
                    "layer_norm": offset_share((n := layer_norm(sinusoid(d, T))) @ n.T),
                }
                for d, T in ((64, 128), (512, 128))
            ],
        },
        indent=1,
    )
)
