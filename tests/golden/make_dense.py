"""Golden vectors of dense rotations.

    python3 make_dense.py LIERE.py COMROPE.py

LIERE.py is models/rope_vit.py of StanfordMIMI/LieRE (commit b27b41ba), COMROPE.py model.py of Longin-Yu/ComRoPE (commit
7aeef083); torch 2.15 and scipy installed. No code of STRING's authors was found: its cases are the paper's formulas in scipy
and torch.
"""

import enum
import functools
import sys
import typing
from types import SimpleNamespace

import numpy as np
import scipy.linalg

from golden import *
from torch import nn

FILE = "dense"
H = 2
SCOPE = {"torch": torch, "nn": nn, "math": math, "np": np, "Tensor": torch.Tensor, "functools": functools}


def drawn(T, D, seed):
    return draw(H, T, D, seed=seed), draw(H, T, D, seed=seed + 1)


def grid(*axes):
    return torch.cartesian_prod(*(torch.arange(n).double() for n in axes))


def case(spec, source, q, k, turned, places, wrong, **more):
    """`turned` maps rows (H, T, D)."""
    weights(FILE, spec, source, q, k, scores=plain(turned(q), turned(k)), causal=False, positions=places.tolist(),
            wrong=wrong, **more)


def liere(path):
    scope = SCOPE | {"Iterable": typing.Iterable, "Enum": enum.Enum}
    *_, Encoder, Attention = definitions(path, ["PositionEncoderBase", "ExponentiationMethod", "LierePositionEncoder",
                                                "FlexibleAttention"], scope)
    for D, block, heads, token, places, seed in (
            (8, 8, "own", True, grid(3, 4) / torch.tensor([2.0, 3.0]), 71),
            (16, 4, "shared", False, grid(2, 3, 2) / torch.tensor([1.0, 2.0, 1.0]), 73),
            (10, 4, "own", False, 0.5 + grid(3, 4) / 4, 75)):
        axes, n = places.shape[1], D // block
        q, k = drawn(len(places) + token, D, seed)
        module = Encoder(image_size=8, patch_size=1, dim=H * D, phase_type="learned", position_sequencing_type="sequential",
                         heads=H, input_dimensionality=axes, generator_dim=block, depth=1, rotary_embedding_per_layer=False,
                         rotary_embedding_per_head=heads == "own", cls_token=token)
        raw = draw(axes, 1, n * (H if heads == "own" else 1), block, block, seed=seed + 1).abs()
        module.generator_raw_params.data = raw
        turns = module(None, torch.float64, positions=places[None])
        self = SimpleNamespace(dim_head=D, learnable_heads_rotations=H if heads == "own" else 1)
        at = torch.cat((torch.zeros(int(token), axes), places))  # their class token does not turn
        spec = f"liere(axes={axes}, size={{}}, extent={{}}, heads={heads})"
        case(spec.format(block, 1), "StanfordMIMI/LieRE b27b41ba models/rope_vit.py", q, k,
             lambda x: Attention.apply_transforms(self, x[None], turns)[0], at,
             [spec.format(block, 2), spec.format(2, 1), "none"], params={"generators": raw}, tolerance=2e-6)


class Attention(nn.Module):
    """What ComRoPE's classes take from CLIPAttention."""

    def __init__(self, config):
        super().__init__()
        self.config = config
        self.num_heads, self.head_dim, self.embed_dim = H, config.head_dim, H * config.head_dim


def comrope(path):
    names = ["RoPESelfAttentionBase", "ComRoPELDAttention", "ComRoPEAPAttention"]
    scope = SCOPE | {"CLIPAttention": Attention, "CustomVITConfig": None, "Optional": typing.Optional, "Tuple": typing.Tuple}
    _, Dependent, Partition = definitions(path, names, scope)
    centres, moved = (grid(3, 4) + 0.5) / 4, (grid(3, 4) + torch.tensor([2.0, 1.0])) * 0.5
    for Module, by, D, block, places, seed in ((Partition, "partition", 8, 2, centres, 81), (Partition, "partition", 16, 4, moved, 84),
                                               (Dependent, "multiplier", 8, 4, centres, 87), (Dependent, "multiplier", 16, 8, moved, 90)):
        q, k = drawn(len(places), D, seed)
        module = Module(SimpleNamespace(head_dim=D, block_size=block, num_axes=2, init_std=1.0, scale_factor=1.0))
        raw = draw(*module.freqs.shape, seed=seed + 1, size=1.5)
        module.freqs.data, params = raw.clone(), {"freqs": raw}
        params["multiplier"] = draw(2, D // block, seed=seed + 2)
        if by == "multiplier":
            module.multiplier.data = params["multiplier"][None, :, :, None, None].clone()
        module.set_positions(places[None])
        turns = module.get_rotation_matrix()[0].transpose(0, 1)
        spec = f"comrope(size={block}, extent={{}}, axes_by={{}})"
        other = "multiplier" if by == "partition" else "partition"
        wrong = [spec.format(2, by), "none"] + ([spec.format(1, other)] if D % (2 * block) == 0 else [])
        case(spec.format(1, by), "Longin-Yu/ComRoPE 7aeef083 model.py", q, k, lambda x: (turns @ x[..., None])[..., 0], places,
             wrong, params=params)


def by_matrices(places, generators):
    """exp(Σ_a p_a·A_a)·x for rows (H, T, D); generators (axes, H, D, D)."""
    turns = [[torch.tensor(scipy.linalg.expm(sum(p * a for p, a in zip(place, generators[:, h])).numpy())) for place in places]
             for h in range(H)]
    return lambda x: torch.stack([torch.stack([turns[h][t] @ x[h, t] for t in range(x.shape[1])]) for h in range(H)])


def string():
    """Circulant-STRING by definition 3.1 and equation 11. Cayley-STRING by equations 6, 9 and 10: the generators are those of
    RoPE in the basis P, and nothing cancels here."""
    places = (grid(3, 4) + torch.tensor([1.0, 2.0])) * 0.7
    for D in (8, 9):
        q, k = drawn(12, D, 95)
        c = draw(2, H, D, seed=97, size=0.5)
        circulant = c[..., (torch.arange(D)[:, None] - torch.arange(D)) % D]
        case("circulant_string(extent=1)", "scipy expm from arXiv 2502.02562 equations 6 and 11", q, k,
             by_matrices(places, circulant - circulant.transpose(-1, -2)), places, ["circulant_string(extent=2)", "none"],
             params={"circulant": c})
    D = 8
    q, k = drawn(12, D, 98)
    upper = torch.triu_indices(D, D, 1)
    skew, frequencies = draw(H, D * (D - 1) // 2, seed=100, size=0.4), draw(2, H, D // 2, seed=101).abs()
    s = torch.zeros(H, D, D)
    s[:, upper[0], upper[1]] = skew
    s = s - s.transpose(-1, -2)
    p = (torch.eye(D) - s) @ torch.linalg.inv(torch.eye(D) + s)
    for pairing, low in (("adjacent", lambda n: (2 * n, 2 * n + 1)), ("halves", lambda n: (n, n + D // 2))):
        rope = torch.zeros(2, H, D, D)
        for n in range(D // 2):
            a, b = low(n)
            rope[:, :, b, a], rope[:, :, a, b] = frequencies[..., n], -frequencies[..., n]
        other = "halves" if pairing == "adjacent" else "adjacent"
        case(f"cayley_string(pairing={pairing})", "scipy expm from arXiv 2502.02562 equations 6, 9 and 10", q, k,
             by_matrices(places, torch.einsum("hji,ahjk,hkl->ahil", p, rope, p)), places,
             [f"cayley_string(pairing={other})", f"rope_mixed(pairing={pairing})", "none"],
             params={"frequencies": frequencies, "skew": skew})


liere(sys.argv[1]), comrope(sys.argv[2]), string()
write()
