"""Cases of make_vision.py: vectors turned by learned matrices, biases from pairs of boxes, a changed frequency of time."""

import enum
import functools
import runpy
import typing
from types import SimpleNamespace as Bag

import numpy as np
import scipy.linalg
from torchvision.ops.misc import Conv2dNormActivation
from transformers import PPDocLayoutV2Config
from transformers.models.pp_doclayout_v2 import modeling_pp_doclayout_v2 as doclayout

from oracles import *

FILE = "vision"
HF = "transformers 5.23.0 "
SCOPE = {"torch": torch, "nn": nn, "math": math, "np": np, "Tensor": torch.Tensor, "functools": functools}
case, rotated = functools.partial(compare, FILE), functools.partial(compare_turned, FILE)


def by_matrices(places, generators):
    """Turns x (H, T, D) by exp(Σ_a p_a·A_a) from the left, token by token; generators (axes, H, D, D)."""
    turns = [[torch.tensor(scipy.linalg.expm(sum(p * a for p, a in zip(place, generators[:, h])).numpy())) for place in places]
             for h in range(H)]
    return lambda x: torch.stack([torch.stack([turns[h][t] @ x[h, t] for t in range(x.shape[1])]) for h in range(H)])


def diagonal(blocks):
    """Blocks (…, n, b, b) to matrices (…, n·b, n·b)."""
    *lead, n, b, _ = blocks.shape
    whole = torch.zeros(*lead, n * b, n * b)
    for m in range(n):
        whole[..., m * b:(m + 1) * b, m * b:(m + 1) * b] = blocks[..., m, :, :]
    return whole


def skew(x):
    return x - x.transpose(-1, -2)


def matrix_wrong(places, generators):
    apart = lambda x: functools.reduce(lambda y, a: by_matrices(places[:, a:a + 1], generators[a:a + 1])(y),
                                       reversed(range(len(generators))), x)
    first = generators[:, :1].expand(-1, H, -1, -1)
    return {"the opposite sense": by_matrices(places, -generators), "axes exchanged": by_matrices(places.flip(1), generators),
            "a product of one turn an axis": apart, "the first head's matrices in both heads": by_matrices(places, first),
            "half the angles": by_matrices(places, generators / 2)}


def keep(wrong, *without):
    return {words: rule for words, rule in wrong.items() if words not in without}


def liere(sources):
    path = sources / "liere/models/rope_vit.py"
    scope = SCOPE | {"Iterable": typing.Iterable, "Enum": enum.Enum}
    *_, Encoder, Attention = definitions(path, ["PositionEncoderBase", "ExponentiationMethod", "LierePositionEncoder",
                                                "FlexibleAttention"], scope)
    for D, block, per_head, prefix, places, seed in (
            (8, 8, True, 1, grid(3, 4) / torch.tensor([2.0, 3.0]), 71),
            (16, 4, False, 0, grid(2, 3, 2) / torch.tensor([1.0, 2.0, 1.0]), 73),
            (10, 4, True, 0, 0.5 + grid(3, 4) / 4, 75)):
        axes, T, n = places.shape[1], len(places) + prefix, D // block
        q, k = drawn(T, D, seed=seed)
        module = Encoder(image_size=8, patch_size=1, dim=H * D, phase_type="learned", position_sequencing_type="sequential",
                         heads=H, input_dimensionality=axes, generator_dim=block, depth=1, rotary_embedding_per_layer=False,
                         rotary_embedding_per_head=per_head, cls_token=bool(prefix))
        raw = draw(axes, 1, n * (H if per_head else 1), block, block, seed=seed + 1).abs()
        module.generator_raw_params.data = raw
        turns = module(None, torch.float64, positions=places[None])
        self = Bag(dim_head=D, learnable_heads_rotations=H if per_head else 1)
        theirs = softmax(plain(*(Attention.apply_transforms(self, x[None], turns)[0] for x in (q, k))), False)
        upper = torch.triu(raw[:, 0].unflatten(1, (-1, n)), diagonal=1).expand(-1, H, -1, -1, -1)
        whole = torch.zeros(axes, H, D, D)
        whole[..., :n * block, :n * block] = diagonal(skew(upper))
        behind = lambda rule: lambda x: torch.cat((x[:, :prefix], rule(x[:, prefix:])), 1)
        every = whole * 0
        every[..., :n * block, :n * block] = diagonal(skew(raw[:, 0].unflatten(1, (-1, n)).expand(-1, H, -1, -1, -1)))
        wrong = matrix_wrong(places, whole) | {"the whole matrix less its transpose": by_matrices(places, every)}
        if not per_head:
            wrong = keep(wrong, "the first head's matrices in both heads")
        if bool((places == places.flip(1)).all()):
            wrong = keep(wrong, "axes exchanged")
        rotated(f"lie(axes={axes}, block={block}, heads={'own' if per_head else 'shared'})",
                "StanfordMIMI/LieRE b27b41ba models/rope_vit.py", q, k, theirs, behind(by_matrices(places, whole)), {words: behind(rule) for words, rule in wrong.items()},
                positions=places, prefix=prefix, params={"generators": raw}, shape=list(raw.shape), tolerance=2e-6)


class Attention(nn.Module):
    """What ComRoPE's classes take from CLIPAttention of a transformers before the projections were renamed."""

    def __init__(self, config):
        super().__init__()
        self.config = config
        self.num_heads, self.head_dim, self.embed_dim = H, config.head_dim, H * config.head_dim


def comrope(sources):
    names = ["RoPESelfAttentionBase", "LieREAttention", "ComRoPELDAttention", "ComRoPEAPAttention"]
    scope = SCOPE | {"CLIPAttention": Attention, "CustomVITConfig": None, "Optional": typing.Optional, "Tuple": typing.Tuple}
    _, Own, Dependent, Partition = definitions(sources / "comrope/model.py", names, scope)
    source = "Longin-Yu/ComRoPE 7aeef083 model.py"

    def one(Module, kind, D, block, places, seed, generators):
        axes, T = places.shape[1], len(places)
        q, k = drawn(T, D, seed=seed)
        module = Module(Bag(head_dim=D, block_size=block, num_axes=axes, init_std=1.0, scale_factor=1.0))
        raw = draw(*module.freqs.shape, seed=seed + 1, size=1.5)
        module.freqs.data, params = raw.clone(), {"generators": raw}
        if hasattr(module, "multiplier"):
            params["multiplier"] = draw(axes, D // block, seed=seed + 2)
            module.multiplier.data = params["multiplier"][None, :, :, None, None].clone()
        module.set_positions(places[None])
        turns = module.get_rotation_matrix()[0].transpose(0, 1)
        theirs = softmax(plain(*((turns @ x[..., None])[..., 0] for x in (q, k))), False)
        right, others = generators(raw, params.get("multiplier"))
        wrong = matrix_wrong(places, right) | {words: by_matrices(places, g) for words, g in others.items()}
        if kind != "none":
            wrong = keep(wrong, "a product of one turn an axis")  # they commute
        rotated(f"lie(axes={axes}, block={block}, heads=own, commuting={kind})", source, q, k, theirs,
                by_matrices(places, right), wrong, positions=places, params=params, shape=list(raw.shape), tolerance=1e-9)

    def own(raw, _):
        return diagonal(skew(raw).transpose(0, 1)), {"the upper triangle alone": diagonal(skew(torch.triu(raw, 1)).transpose(0, 1))}

    def partition(raw, _):
        b = skew(raw[:, 0])
        axes = 2
        chosen = torch.stack([torch.stack([b[:, m] * (m % axes == a) for m in range(b.shape[1])], 1) for a in range(axes)])
        runs = torch.stack([torch.stack([b[:, m] * (m * axes // b.shape[1] == a) for m in range(b.shape[1])], 1) for a in range(axes)])
        return diagonal(chosen), {"axes take runs of blocks, not turns": diagonal(runs), "every block turned by both axes":
                                  diagonal(b[None].expand(axes, -1, -1, -1, -1))}

    def dependent(raw, multiplier):
        b = skew(raw[:, 0])
        right = diagonal(multiplier[:, None, :, None, None] * b)
        return right, {"a multiplier of 1": diagonal(b[None].expand(2, -1, -1, -1, -1)),
                       "one multiplier for all blocks": diagonal(multiplier[:, None, :1, None, None] * b)}

    centres = (grid(3, 4) + 0.5) / 4
    one(Partition, "partition", 8, 2, centres, 81, partition)
    one(Partition, "partition", 16, 4, grid((2, 5), (1, 5)) * 0.5, 84, partition)
    one(Dependent, "dependent", 8, 4, centres, 87, dependent)
    one(Dependent, "dependent", 16, 8, grid((2, 5), (1, 5)) * 0.5, 90, dependent)
    one(Own, "none", 8, 4, centres, 93, own)


def string():
    """arXiv 2502.02562, whose authors' code was not found: equations 5, 9, 10 and 11; a second way for each."""
    places, D = grid((1, 4), (2, 6)).flip(1) * 0.7, 8
    q, k = drawn(12, D, seed=95)
    c = draw(H, 2, D, seed=97, size=0.5)

    def circulant(c, first_row=False):
        at = (torch.arange(D)[:, None] - torch.arange(D)) % D
        return c[..., at.T if first_row else at]

    def by_fourier(x):
        """Theorem 3.5: a circulant is diagonal after a Fourier transform; its skew part has 2i·Im of the transform of c."""
        phase = 2 * torch.fft.fft(c).imag
        angle = torch.einsum("ta,had->htd", places, phase)
        return torch.fft.ifft(torch.fft.fft(x) * torch.polar(torch.ones_like(angle), angle)).real

    generators = skew(circulant(c)).transpose(0, 1)
    wrong = keep(matrix_wrong(places, generators), "a product of one turn an axis")
    wrong["c is the first row"] = by_matrices(places, skew(circulant(c, first_row=True)).transpose(0, 1))
    rotated("string(kind=circulant, axes=2)", "torch 2.15 fft from arXiv 2502.02562 theorem 3.5, equation 11", q, k,
            softmax(plain(by_fourier(q), by_fourier(k)), False), by_matrices(places, generators),
            wrong, positions=places, params={"circulant": c}, tolerance=1e-9)

    s = skew(draw(H, D, D, seed=98, size=0.4))
    frequencies = draw(H, 2, D // 2, seed=99).abs()
    one = torch.eye(D)
    p = (one - s) @ torch.linalg.inv(one + s)
    angles = torch.einsum("ta,haf->htf", places, frequencies)
    cell = torch.tensor([[0.0, -1.0], [1.0, 0.0]])
    rope = diagonal(frequencies.transpose(0, 1)[..., None, None] * cell)
    base_changed = torch.einsum("hji,ahjk,hkl->ahil", p, rope, p)  # PᵀLP: the left P of equation 9 cancels
    mixed = lambda m: lambda x: turn(x @ m.transpose(-1, -2), angles, "adjacent")
    rotated("string(kind=cayley, axes=2)", "scipy expm from arXiv 2502.02562 equations 5, 9 and 10", q, k,
            softmax(plain(by_matrices(places, base_changed)(q), by_matrices(places, base_changed)(k)), False), mixed(p),
            {"no P": mixed(one[None]), "P's inverse": mixed(p.transpose(-1, -2)),
             "P after the rotation": lambda x: turn(x, angles, "adjacent") @ p.transpose(-1, -2),
             "P is exp(S)": mixed(torch.matrix_exp(s)), "halves": lambda x: turn(x @ p.transpose(-1, -2), angles)},
            positions=places, params={"skew": s, "frequencies": frequencies}, tolerance=1e-9)


# Biases from pairs of boxes.

def waves_of_boxes(source, target, exponent, layout, scale=100.0, count=8, sides="source"):
    """Box (cx, cy, w, h) of a query and of a key to 4·2·count waves."""
    s, t = source[:, None], target[None]
    by = (s if sides == "source" else t)[..., 2:] + 1e-5
    e = torch.cat(((s[..., :2] - t[..., :2]).abs() / by + 1, (s[..., 2:] + 1e-5) / (t[..., 2:] + 1e-5)), -1).log()
    a = e[..., None] * scale / 10000.0 ** (torch.arange(count) / exponent)
    both = torch.stack((a.sin(), a.cos()), -1).flatten(-2) if layout == "interleaved" else torch.cat((a.sin(), a.cos()), -1)
    return both.flatten(-2)


def boxes_of(corners):
    low, high = corners[:, :2], corners[:, 2:]
    return torch.cat(((low + high) / 2, (high - low).clamp(min=1e-3)), -1)


def box_relations(sources, corners):
    """Relation-DETR: the keys' boxes are a layer newer than the queries'. PP-DocLayoutV2: the same boxes, corners given."""
    T, D = 10, 8
    q, k = drawn(T, D, seed=101)
    w, b = draw(H, 64, seed=103, size=0.4), draw(H, seed=104)
    before = boxes_of(corners / 1000.0)
    after = before + draw(T, 4, seed=105, size=0.01).abs()
    path = sources / "relation/models/bricks"
    scope = SCOPE | {"Conv2dNormActivation": Conv2dNormActivation} | runpy.run_path(str(path / "position_encoding.py"))
    _, Relation = definitions(path / "relation_transformer.py", ["box_rel_encoding", "PositionRelationEmbedding"], scope)
    module = Relation(16, H)
    module.pos_proj[0].weight.data, module.pos_proj[0].bias.data = w[:, :, None, None], b
    for source, target, name in ((before, before, "same"), (before, after, "own")):
        bias = module(source[None], target[None])[0]

        def scores(s=source, t=target, exponent=8.0, layout="interleaved", cut=True, **how):
            found = (waves_of_boxes(s, t, exponent, layout, **how) @ w.T + b).permute(2, 0, 1)
            return plain(q, k) + (found.relu() if cut else found)

        swap = [1, 0, 3, 2]
        wrong = {"no ReLU": scores(cut=False), "sines, then cosines": scores(layout="halves"),
                 "frequencies twice as steep": scores(exponent=4.0), "divided by the key's size": scores(sides="target"),
                 "no scale of 100": scores(scale=1.0), "x and y exchanged": scores(source[:, swap], target[:, swap])}
        if name == "own":
            wrong["one set of boxes"] = scores(t=source)
        case(f"box_relation(width=16, activation=relu, keys={name})", "xiuqhou/Relation-DETR b485955c relation_transformer.py", q, k,
             softmax(plain(q, k) + bias, False), scores(), wrong, positions=source, key_positions=target.tolist(),
             params={"weight": w, "bias": b}, tolerance=1e-6)

    for D in (8, 16):
        q, k = drawn(T, D, seed=107)
        config = PPDocLayoutV2Config().reading_order_config
        config.hidden_size, config.num_attention_heads, config.num_hidden_layers = H * D, H, 1
        config.has_relative_attention_bias, config.has_spatial_attention_bias = False, True
        encoder = doclayout.PPDocLayoutV2ReadingOrderEncoder(config).eval()
        proj = encoder.rel_bias_module.pos_proj
        proj.weight.data, proj.bias.data = w[:, :, None, None], b
        attention = encoder.layer[0].attention.self
        attention.query, attention.key, attention.value = Given(q), Given(k), Given(q)
        theirs = attention(torch.zeros(1, T, H * D), None, None, encoder._cal_2d_pos_emb(corners[None].double()))[1][0]
        at = boxes_of(corners.double())

        def scores(s=at, exponent=4.0, layout="halves", cut=False, share=1.0, **how):
            found = (waves_of_boxes(s, s, exponent, layout, **how) @ w.T + b).permute(2, 0, 1)
            return plain(q, k) + share * (found.relu() if cut else found)

        case("box_relation(width=16, activation=none, exponents=double)", HF + "modeling_pp_doclayout_v2.py", q, k, theirs,
             scores(), {"a ReLU": scores(cut=True), "sines and cosines interleaved": scores(layout="interleaved"),
              "frequencies as usual": scores(exponent=8.0),
              "divided by the key's size": scores(sides="target"), "bias divided by √D": scores(share=1 / math.sqrt(D)),
              "corners for centre and size": scores(s=corners.double())}, positions=corners, params={"weight": w, "bias": b},
             tolerance=1e-6)


# RIFLEx: one frequency of the time axis.

def riflex(sources):
    table, find = definitions(sources / "riflex/riflex_utils.py", ["get_1d_rotary_pos_embed_riflex", "identify_k"],
                              SCOPE | {"Union": typing.Union, "Optional": typing.Optional})
    assert find(256, 16, 48) == (4, 50)
    for widths, base, places, k_th, frames, seed in (
            ((8, 4, 4), 256.0, grid((0, 6), 1, 2) * torch.tensor([13.0, 1, 1]), 3, 66, 111),
            ((4, 6, 6), 10000.0, grid((0, 3), 2, 2) * torch.tensor([31.0, 1, 1]), 2, 97, 113)):
        D = sum(widths)
        q, k = drawn(12, D, seed=seed)
        bands = [powers(w // 2, base) for w in widths]
        angles = []
        for axis, w in enumerate(widths):
            cos, sin = table(w, places[:, axis], base, use_real=True, **({"k": k_th, "L_test": frames} if axis == 0 else {}))
            angles.append((cos.double(), sin.double()))
        cos, sin = (torch.cat([a[n] for a in angles], 1) for n in (0, 1))
        pair = lambda x: torch.stack((-x[..., 1::2], x[..., 0::2]), -1).flatten(-2)
        theirs = softmax(plain(*(x * cos + pair(x) * sin for x in (q, k))), False)

        def changed(at=k_th - 1, value=0.9 * 2 * math.pi / frames, every=False):
            new = [band.clone() for band in bands]
            for band in new if every else new[:1]:
                if at < len(band):
                    band[at] = value
            return axial(places, new, "adjacent")

        wrong = {"as trained": axial(places, bands, "adjacent"), "without 0.9": changed(value=2 * math.pi / frames),
                 "another frequency": changed(at=k_th if k_th < widths[0] // 2 else 0)}
        if k_th <= widths[1] // 2:
            wrong["every axis changed"] = changed(every=True)
        spec = f"rope_axial(widths={'/'.join(map(str, widths))}, base={base:g}, pairing=adjacent, "
        rotated(spec + f"riflex={k_th}, frames={frames})", "thu-ml/RIFLEx 18e0bc34 riflex_utils.py", q, k, theirs, changed(), wrong, positions=places, tolerance=1e-6)
