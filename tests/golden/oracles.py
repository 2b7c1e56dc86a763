"""What make_vision.py and make_sound.py share: every case is computed twice, and its wrong conventions with it.

`theirs` are weights of somebody else's code. `own` are logits of a formula read from a paper or a file, slow and in
float64. The two must agree. `wrong` names other conventions in words, each with the logits of the same formula under it;
`differs` says by how much the weights of each are off. A case whose positions are fewer than its tokens has `prefix`
tokens in front that have no coordinates (class token, registers). `scale` multiplies q·k.
"""

from torch import nn

from golden import *

H = 2


class Given(nn.Module):
    """A projection that answers with given vectors (H, T, D), several side by side, whatever comes in."""

    def __init__(self, *rows):
        super().__init__()
        self.answer = torch.cat([x.transpose(0, 1).flatten(1) for x in rows], -1)[None]

    def forward(self, x):
        return self.answer.clone()  # some code writes into it


class Recorder(nn.Module):
    """Keeps what passes, in place of the dropout after a softmax."""

    def forward(self, x):
        self.seen = x[0]
        return x


def drawn(T, D, seed=1):
    return draw(H, T, D, seed=seed), draw(H, T, D, seed=seed + 1)


def grid(*axes):
    """Coordinates of all tokens, the last axis fastest; an axis is a length or a (first, end)."""
    ranges = [torch.arange(*(a if isinstance(a, tuple) else (a,))).double() for a in axes]
    return torch.cartesian_prod(*ranges)


def compare(file, spec, source, q, k, theirs, own, wrong, *, visible=None, tolerance=1e-6, positions, **more):
    mine = softmax(own, False, visible)
    if theirs is None:
        theirs = mine
    theirs = theirs.detach()
    gap = float((mine - theirs).abs().max())
    assert gap <= tolerance, f"{spec}: the formula and {source} differ by {gap}"
    differs = {words: float((softmax(scores, False, visible) - theirs).abs().max()) for words, scores in wrong.items()}
    for words, most in differs.items():
        assert most > 100 * tolerance, f"{spec}: {words} differs by {most} only"
    weights(file, spec, source, q, k, weights=theirs, causal=False, wrong=differs, tolerance=tolerance,
            differs=list(differs.values()), positions=torch.as_tensor(positions).tolist(), **more)


def vectors(file, spec, source, theirs, own, wrong, *, tolerance=1e-6, positions, **more):
    """Input vectors (T, C); own and wrong are vectors too."""
    theirs = theirs.detach()
    gap = float((own - theirs).abs().max())
    assert gap <= tolerance, f"{spec}: the formula and {source} differ by {gap}"
    differs = {words: float((other - theirs).abs().max()) for words, other in wrong.items()}
    for words, most in differs.items():
        assert most > 100 * tolerance, f"{spec}: {words} differs by {most} only"
    inputs(file, spec, theirs, source, positions=torch.as_tensor(positions).tolist(), wrong=list(differs),
           tolerance=tolerance, differs=list(differs.values()), **more)


def turn(x, angles, pairing="halves"):
    """x (H, T, 2·n), angles (T, n) or (H, T, n): pair m is turned by angle m."""
    n = angles.shape[-1]
    a, b = (x[..., :n], x[..., n:]) if pairing == "halves" else (x[..., 0::2], x[..., 1::2])
    first, second = a * angles.cos() - b * angles.sin(), a * angles.sin() + b * angles.cos()
    return torch.cat((first, second), -1) if pairing == "halves" else torch.stack((first, second), -1).flatten(-2)


def powers(count, base, width=None):
    """base^(−2m/width), m = 0 … count − 1; a width of 2·count is RoPE's."""
    return base ** (-2.0 * torch.arange(count) / (width or 2 * count))


def on_an_edge(r, count, most):
    """Whether rounding may decide the bucket of some distance: 32, 64 and 128 lie on edges in LayoutLMv3."""
    exact = count // 4
    share = torch.log(r.abs().double() / exact) / math.log(most / exact) * exact
    inside = (r.abs() > exact) & (share < exact - 0.5)
    return bool(((share - share.round()).abs()[inside] < 1e-4).any())


def bucket(r, count, most):
    """T5's bucket of r = key − query, both directions; the logarithm is float32, as in the models."""
    half = count // 2
    exact = half // 2
    a = r.abs()
    share = torch.log(a.float().clamp(min=1) / exact) / math.log(most / exact) * (half - exact)
    far = (exact + share.to(torch.long)).clamp(max=half - 1)
    return torch.where(a < exact, a, far) + (r > 0) * half


def pairs(coordinates):
    """Key less query (T, T)."""
    return coordinates[None, :] - coordinates[:, None]


def axial(places, frequencies, pairing="halves", order=None):
    """Turns by [p_0·f_0, p_1·f_1, …]; frequencies hold an axis each."""
    angles = torch.cat([places[:, a, None] * frequencies[a] for a in order or range(len(frequencies))], -1)
    return lambda x: turn(x, angles, pairing)


def compare_turned(file, spec, source, q, k, theirs, own, wrong, **more):
    """`own` and each wrong one turn a tensor (H, T, D)."""
    scores = {words: plain(f(q), f(k)) for words, f in wrong.items()}
    compare(file, spec, source, q, k, theirs, plain(own(q), own(k)), scores, **more)
