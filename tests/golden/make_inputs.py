"""Golden vectors of the encodings beside the words, of masks and of samplers.

    python3 make_inputs.py X_TRANSFORMERS.py MASKING_UTILS.py

with x_transformers/x_transformers.py of x-transformers 2.31.10 and transformers/masking_utils.py of transformers 4.57.1;
positional-encodings 6.0.3, transformers 4.33.3, torch 1.13, scipy 1.10, mpmath 1.2 installed.
"""

import sys

import mpmath
from einops import rearrange, repeat
from positional_encodings.torch_encodings import PositionalEncoding2D, PositionalEncoding3D
from torch import arange, einsum, nn
from transformers import ReformerConfig
from transformers.models.reformer.modeling_reformer import AxialPositionEmbeddings

from golden import *

FILE = "inputs"
x_transformers, masking = sys.argv[1:3]
mpmath.mp.dps = 40


def exact(function, positions, channels, exponent):
    return torch.tensor([[float(function(p / mpmath.power(10000, exponent(c)))) for c in range(channels)]
                         for p in positions])


def tables():
    table = draw(9, 6)
    embedding = nn.Embedding.from_pretrained(table)
    at = [0, 8, 3, 5]
    inputs(FILE, "learned(length=9)", embedding(torch.tensor(at)), "torch 1.13 nn.Embedding", positions=at,
           params={"table": table}, wrong=["sinusoidal"])
    direction = draw(5, seed=3)
    at = [0, 1, 2, 3, 7]
    inputs(FILE, "index", torch.tensor(at)[:, None] * direction, "numpy from p·u", positions=at,
           params={"direction": direction}, wrong=["normalised"])
    inputs(FILE, "index(divisor=64)", torch.tensor(at)[:, None] / 64 * direction, "numpy from p/64·u", positions=at,
           params={"direction": direction}, wrong=["index", "index(divisor=63)", "normalised"])
    at = [2, 3, 4, 5, 6]
    inputs(FILE, "normalised", torch.linspace(0, 1, 5)[:, None] * direction, "torch 1.13 linspace", positions=at,
           params={"direction": direction}, wrong=["index"])
    config = ReformerConfig(axial_pos_shape=(4, 5), axial_pos_embds_dim=(3, 4), hidden_size=7, axial_pos_embds=True)
    axial = AxialPositionEmbeddings(config).eval()
    rows, columns = draw(4, 3, seed=4), draw(5, 4, seed=5)
    axial.weights[0].data, axial.weights[1].data = rows[:, None].clone(), columns[None].clone()
    at = list(range(20))
    inputs(FILE, "axial(rows=4, columns=5)", axial(torch.tensor([at]))[0], "transformers 4.33.3 modeling_reformer.py",
           positions=at, params={"rows": rows, "columns": columns}, wrong=["axial(rows=5, columns=4)"])


def sines():
    scope = {"nn": nn, "torch": torch, "Module": nn.Module, "arange": arange, "divisible_by": lambda a, b: a % b == 0,
             "einsum": einsum, "exists": lambda v: v is not None, "cat": torch.cat}
    (scaled,) = definitions(x_transformers, ["ScaledSinusoidalEmbedding"], scope)
    module = scaled(12)
    module.scale.data[:] = 0.625
    inputs(FILE, "scaled_sinusoidal(layout=halves)", module(torch.zeros(1, 11, 12)), "x-transformers 2.31.10",
           positions=list(range(11)), params={"amplitude": [0.625]}, tolerance=1e-5,
           wrong=["scaled_sinusoidal(layout=interleaved)", "scaled_sinusoidal(layout=halves, frequencies=tensor2tensor)"])
    positions = [0, 1, 5, 63, 4095, 131071]
    inputs(FILE, "sine", exact(mpmath.sin, positions, 8, lambda c: mpmath.mpf(c) / 8), "mpmath 1.2", positions=positions,
           wrong=["cosine", "sinusoidal"])
    inputs(FILE, "cosine", exact(mpmath.cos, positions, 8, lambda c: mpmath.mpf(c) / 8), "mpmath 1.2",
           positions=positions, wrong=["sine", "sinusoidal"])
    two = PositionalEncoding2D(12)(torch.zeros(1, 3, 4, 12))[0]
    grid = [[r, c] for r in range(3) for c in range(4)]
    inputs(FILE, "multi_sinusoidal(axes=2)", two.reshape(12, 12), "positional-encodings 6.0.3", positions=grid,
           tolerance=1e-6, wrong=["sinusoidal", "multi_sinusoidal(axes=2, base=9000)"])
    ten = PositionalEncoding2D(10)(torch.zeros(1, 3, 4, 10))[0]  # widths that 4 does not divide are cut
    inputs(FILE, "multi_sinusoidal(axes=2, columns=4)", ten.reshape(12, 10), "positional-encodings 6.0.3",
           positions=list(range(12)), tolerance=1e-6, wrong=["multi_sinusoidal(axes=2, columns=3)"])
    three = PositionalEncoding3D(14)(torch.zeros(1, 2, 3, 2, 14))[0]
    grid = [[a, b, c] for a in range(2) for b in range(3) for c in range(2)]
    inputs(FILE, "multi_sinusoidal(axes=3)", three.reshape(12, 14), "positional-encodings 6.0.3", positions=grid,
           tolerance=1e-6, wrong=["multi_sinusoidal(axes=3, base=9000)"])
    bits = torch.tensor([[1.0 if digit == "1" else -1.0 for digit in reversed(f"{p:05b}")] + [0.0] for p in range(32)])
    inputs(FILE, "binary(bits=5)", bits, "Python's format(p, 'b')", positions=list(range(32)), wrong=["sine"])


def fourier():
    """Li et al. 2021, equations 1 to 3, with torch's gelu."""
    features, hidden, width = 8, 6, 5
    w = draw(features // 2, 2, seed=1, size=3)
    up, up_bias, down, down_bias = draw(hidden, features, seed=2), draw(hidden, seed=3), draw(width, hidden, seed=4), draw(width, seed=5)
    grid = torch.tensor([[r, c] for r in range(3) for c in range(4)], dtype=torch.float64)
    angle = (grid / 4) @ w.T
    r = torch.cat([angle.cos(), angle.sin()], -1) / math.sqrt(features)
    values = nn.functional.gelu(r @ up.T + up_bias, approximate="tanh") @ down.T + down_bias
    params = {"frequencies": w, "up.weight": up, "up.bias": up_bias, "down.weight": down, "down.bias": down_bias}
    spec = "fourier(axes=2, features=8, hidden=6, scale={})"
    inputs(FILE, spec.format(4), values, "torch 1.13 from arXiv 2106.02795 equations 1-3", positions=grid.tolist(),
           params=params, wrong=[spec.format(5)])


def controls():
    """What has to survive a control: the set of vectors, their dot products, the moments of a normal variable."""
    def sinusoid(positions, channels):
        return torch.tensor([[float((mpmath.sin if c % 2 == 0 else mpmath.cos)(
            p / mpmath.power(10000, mpmath.mpf(c - c % 2) / channels))) for c in range(channels)] for p in positions])
    rows = sinusoid(range(16), 8)
    add(FILE, kind="rows", spec="permuted(length=16)", source="mpmath 1.2", channels=8, positions=list(range(16)),
        values=rows, wrong=["rotated", "sine"], tolerance=1e-9)
    add(FILE, kind="gram", spec="rotated", source="mpmath 1.2", channels=8, positions=list(range(16)),
        values=rows @ rows.T, wrong=["permuted(length=16)", "sine"], tolerance=1e-9)
    # 4096 numbers: means of x, x², x⁴ within four standard errors of 0, 1/2, 3/4
    add(FILE, kind="moments", spec="random", source="the normal distribution", channels=16, positions=list(range(256)),
        values=[0.0, 0.5, 0.75], errors=[4 * math.sqrt(0.5 / 4096), 4 * math.sqrt(0.5 / 4096), 4 * math.sqrt(6.0 / 4096)],
        wrong=["sinusoidal"], tolerance=1.0)


def masks():
    scope = {"torch": torch}
    sliding, chunked = definitions(masking, ["sliding_window_overlay", "chunked_overlay"], scope)
    T, q, k = 11, draw(2, 11, 4, seed=1), draw(2, 11, 4, seed=2)
    def visible(rule):
        return torch.tensor([[bool(rule(0, 0, i, j)) for j in range(T)] for i in range(T)])
    source = "transformers 4.57.1 masking_utils.py"
    weights("masks", "window(size=4)", source, q, k, scores=plain(q, k), visible=visible(sliding(4)),
            wrong=["window(size=5)", "window(size=3)", "none"])
    weights("masks", "chunk(size=4)", source, q, k, scores=plain(q, k), visible=visible(chunked(4, [0])),
            wrong=["chunk(size=5)", "window(size=4)", "none"])
    weights("masks", "none", "torch 1.13 softmax", q, k, scores=plain(q, k), wrong=["alibi"])
    weights("masks", "none", "torch 1.13 softmax", q, k, scores=plain(q, k), causal=False, wrong=["alibi"])


def samplers():
    """Means over draws against theory: order statistics of a draw without return; a uniform shift; no bias."""
    T, most = 7, 40
    order = [(t + 1) * (most + 1) / (T + 1) - 1 for t in range(T)]
    add("samplers", kind="mean", spec=f"randomised(most={most})", source="order statistics: E p_(t) = (t+1)(L+1)/(T+1) - 1",
        tokens=T, training=True, draws=20000, values=order, tolerance=0.4, wrong=[f"randomised(most={most + 4})", "shape(most=20)"])
    add("samplers", kind="mean", spec="shape(most=20)", source="the mean of a uniform shift", tokens=T, training=True,
        draws=20000, values=[t + 10 for t in range(T)], tolerance=0.25, wrong=["shape(most=24)", "cape"])
    add("samplers", kind="mean", spec="shape(most=20)", source="no shift in evaluation", tokens=T, training=False,
        draws=3, values=list(range(T)), tolerance=1e-12, wrong=["cape"])
    add("samplers", kind="mean", spec="cape", source="arXiv 2106.03143 section 3 in evaluation: p less its mean", tokens=T,
        training=False, draws=3, values=[t - 3 for t in range(T)], tolerance=1e-12, wrong=["shape(most=20)"])


tables(), sines(), fourier(), controls(), masks(), samplers()
write()
