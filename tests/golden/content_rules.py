"""What make_content.py and make_flagships.py share: slow readings of papers, pair by pair, and checked cases.

A case gives its encoding and every wrong convention in words; content_specs.py has gnomon's names of them. It holds the largest difference of each wrong convention from the
right weights, and the script refuses a case that a wrong convention would pass.
"""

import golden
from content_specs import SPECS
from golden import *

torch.set_grad_enabled(False)
H, D = 2, 8
C = H * D


def inputs_of(seed, T=10):
    """Queries and keys (H, T, D), and the input of the layer (T, C)."""
    return draw(H, T, D, seed=seed), draw(H, T, D, seed=seed + 1), draw(T, C, seed=seed + 2)


def checked(file, words, source, q, k, *, right, slow=None, wrong, tolerance=1e-9, causal=True, **more):
    """right: (H, T, T) weights, by the authors' code; slow: the same by the paper; wrong: {words: weights}."""
    if slow is not None:
        assert (right - slow).abs().max() < tolerance, (words, (right - slow).abs().max())
    weights(file, words, source, q, k, weights=right, causal=causal, tolerance=tolerance, wrong_words=apart(right, wrong), **more)


def write():
    """Writes the cases of encodings that gnomon has, under its names."""
    for file, cases in golden._cases.items():
        known = [case | {"words": case["spec"]} for case in cases if case["spec"] in SPECS]
        for case in known:
            named = SPECS[case["words"]]
            case["spec"], case["wrong"] = named["spec"], named["wrong"]
            case["params"] = {named["names"].get(name, name): value for name, value in case["params"].items()}
        golden._cases[file] = known
    golden.write()


def apart(right, wrong):
    """How far each wrong convention is from the right numbers; none may be near."""
    gaps = {name: float((right - w).abs().max()) for name, w in wrong.items()}
    assert min(gaps.values()) > 1e-3, gaps
    return {name: float(f"{gap:.3g}") for name, gap in gaps.items()}


def pairs(logit, heads, T, causal=True):
    """softmax of logit(h, i, j), one pair at a time."""
    scores = torch.full((heads, T, T), -math.inf)
    for h in range(heads):
        for i in range(T):
            for j in range(i + 1 if causal else T):
                scores[h, i, j] = logit(h, i, j)
    return scores.softmax(-1)


def rotated(q, k, angles, layout="half"):
    """Attention weights when q and k (H, T, D) turn by angles (H or 1, T, D/2)."""
    return softmax(plain(turn(q, angles, layout), turn(k, angles, layout)), True)


def convolved(y, taps):
    """Causal convolution of each channel: y (T, C), taps (C, W); the last tap meets the own token."""
    T, W = y.shape[0], taps.shape[1]
    out = torch.zeros_like(y)
    for t in range(T):
        for s in range(W):
            if t - (W - 1) + s >= 0:
                out[t] += taps[:, s] * y[t - (W - 1) + s]
    return out


def silu(x):
    return x * x.sigmoid()


def unit(x, eps=1e-6):
    """Length 1 over the last dimension, with fla's epsilon under the root."""
    return x / (x.square().sum(-1, keepdim=True) + eps).sqrt()


def path(q, k, w, beta, gate=None, *, order="query_first", own=False, gate_scaled=False, scaled=True):
    """PaTH, arXiv 2505.16381 section 2.2. w (H, T, D), beta (H, T), gate (H, T) logarithms of the forget gates."""
    T, scale = q.shape[1], q.shape[2] ** -0.5 if scaled else 1.0

    def logit(h, i, j):
        v = q[h, i]
        steps = range(i, j - 1 if own else j, -1)  # H_i touches the query first, H_{j+1} last
        for s in steps if order == "query_first" else reversed(steps):
            v = v - beta[h, s] * (w[h, s] @ v) * w[h, s]
        forget = 0.0 if gate is None else gate[h, j + 1: i + 1].sum()
        return scale * (k[h, j] @ v + forget) if gate_scaled else scale * (k[h, j] @ v) + forget

    return pairs(logit, q.shape[0], T)


def wall(q, k, g, scalar=None, sink=None, *, base=math.e, own=False, scalar_scaled=False):
    """Wall attention. g (H, T, D) logarithms of gates, scalar (H, T), sink (H,)."""
    T, scale = q.shape[1], q.shape[2] ** -0.5
    scores = torch.full((q.shape[0], T, T), -math.inf)
    for h in range(q.shape[0]):
        for i in range(T):
            for j in range(i + 1):
                first = j if own else j + 1
                decay = base ** g[h, first: i + 1].sum(0)
                scores[h, i, j] = scale * (q[h, i] * k[h, j] * decay).sum()
                if scalar is not None:
                    scores[h, i, j] += scalar[h, first: i + 1].sum() * (scale if scalar_scaled else 1)
    if sink is None:
        return scores.softmax(-1)
    return torch.cat((scores, sink[:, None, None].expand(-1, T, 1)), -1).softmax(-1)[..., :-1]


def by_bias(q, k, step, scale):
    """Logit minus the sum of step (H, T) over the tokens after j."""
    return pairs(lambda h, i, j: scale * q[h, i] @ k[h, j] - step[h, j + 1: i + 1].sum(), *q.shape[:2])


def gape(q, k, p, *, length, positions, frequencies, swapped=False, late=False, scaled=False, sign=1.0):
    """GAPE, arXiv 2605.10414. p: query.weight, query.bias, key.weight, key.bias, amplitude; per head."""
    t = torch.tensor(positions, dtype=torch.float64)
    angles = t[None, :, None] * frequencies
    qr, kr = turn(q, angles), turn(k, angles)
    gq, gk = (qr, kr) if late else (q, k)
    g = nn_softplus((gq * p["query.weight"][:, None]).sum(-1) + p["query.bias"][:, None])
    l = ((gk * p["key.weight"][:, None]).sum(-1) + p["key.bias"][:, None]).sigmoid()
    l = 1 - l if swapped else l
    size = sign * nn_softplus(p["amplitude"]) * (q.shape[-1] ** -0.5 if scaled else 1)
    return pairs(lambda h, i, j: qr[h, i] @ kr[h, j] / math.sqrt(q.shape[-1])
                 + size[h] * g[h, i] * (t[j] * (1 - l[h, j]) + t[i] * l[h, j]) / length, *q.shape[:2])


def nn_softplus(x):
    return torch.log1p(torch.exp(x))


def tapa(q, k, positions, *, alpha=0.1, share=0.5, causal=True, turns=2 * math.pi, phase_first=False,
         whole=False, divided=False):
    """TAPA, arXiv 2509.12635 equation 12: the first `share` of the channels is amplitude, the rest is phase."""
    size = q.shape[-1]
    cut = int(share * size)
    a, p = (slice(cut), slice(cut, size)) if not phase_first else (slice(size - cut, size), slice(size - cut))
    ra, rp = (size, size) if whole else (cut, size - cut)

    def logit(h, i, j):
        distance = abs(positions[i] - positions[j])
        reach = distance / alpha if divided else (distance ** alpha if distance else 0.0)
        phase = turns * reach * (q[h, i, p] @ k[h, j, p]) / math.sqrt(rp)
        return (q[h, i, a] @ k[h, j, a]) / math.sqrt(ra) * torch.cos(phase)

    return pairs(logit, *q.shape[:2], causal)


def carope(q, k, f, *, first=0, own=True, accumulated=True, layout="half"):
    """CARoPE, arXiv 2507.23083 section 2. f (H, T) in (0, 1); pair i turns by the sum of f^i."""
    exponents = torch.arange(q.shape[-1] // 2) + first
    steps = f[..., None] ** exponents
    angles = steps.cumsum(1) if accumulated else steps * torch.arange(1, q.shape[1] + 1)[:, None]
    return rotated(q, k, angles if own else angles - steps, layout)
