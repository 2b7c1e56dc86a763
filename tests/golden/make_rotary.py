"""Golden vectors of the rotary encodings and the extensions of their context.

    python3 make_rotary.py TRANSFORMERS X_TRANSFORMERS.py XPOS.py

TRANSFORMERS is the folder transformers/ of transformers 4.57.1, X_TRANSFORMERS.py x_transformers/x_transformers.py of
x-transformers 2.31.10, XPOS.py component/xpos_relative_position.py of torchscale 0.3.0; rotary-embedding-torch 0.9.1,
torch 1.13 and scipy 1.10 installed.
"""

import pathlib
import sys
from types import SimpleNamespace
from typing import Optional

import scipy.linalg
from einops import rearrange
from rotary_embedding_torch import RotaryEmbedding
from rotary_embedding_torch.rotary_embedding_torch import apply_rotary_emb
from torch import arange, nn

from golden import *

FILE = "rotations"
transformers, x_transformers, torchscale = sys.argv[1:4]
transformers = pathlib.Path(transformers)
HF = "transformers 4.57.1 "
H, T, D = 2, 9, 16
q, k = draw(H, T, D, seed=1), draw(H, T, D, seed=2)


def rotate_half(x):
    return torch.cat((-x[..., x.shape[-1] // 2:], x[..., : x.shape[-1] // 2]), -1)


def by_frequencies(frequencies, positions, factor=1.0, qq=q, kk=k):
    """Half-split rotation, written as Hugging Face's models write it."""
    angles = torch.outer(torch.tensor(positions, dtype=torch.float64), torch.as_tensor(frequencies, dtype=torch.float64))
    cos, sin = torch.cat((angles, angles), -1).cos() * factor, torch.cat((angles, angles), -1).sin() * factor
    return plain(qq * cos + rotate_half(qq) * sin, kk * cos + rotate_half(kk) * sin)


def case(spec, source, scores, wrong, qq=q, kk=k, **more):
    more.setdefault("positions", list(range(qq.shape[1])))
    weights(FILE, spec, source, qq, kk, scores=scores, wrong=wrong, **more)


def extensions():
    scope = {"torch": torch, "math": math, "Optional": Optional, "PretrainedConfig": object}
    names = ["_compute_linear_scaling_rope_parameters", "_compute_dynamic_ntk_parameters", "_compute_yarn_parameters",
             "_compute_longrope_parameters", "_compute_llama3_parameters", "_compute_default_rope_parameters"]
    linear, dynamic, yarn, longrope, llama3, _ = definitions(transformers / "modeling_rope_utils.py", names[::1], scope)
    source = HF + "modeling_rope_utils.py"

    def found(rule, length=None, theta=10000.0, size=D, **scaling):
        # YaRN takes the ratio of the two lengths for the factor when both are there
        most = 32 * (scaling["factor"] if rule is yarn else 1)
        config = SimpleNamespace(rope_theta=theta, hidden_size=size, num_attention_heads=1, head_dim=size,
                                 max_position_embeddings=most, rope_scaling=dict(scaling))
        w, factor = rule(config, "cpu", length)
        return w.double(), float(factor)

    near, far = list(range(T)), [0, 1, 5, 17, 40, 70, 90, 100, 127]
    tolerance = {"tolerance": 2e-5}  # their frequencies are float32

    def compare(spec, rule, wrong, positions=far, length=None, **scaling):
        w, factor = found(rule, length, **scaling)
        case(spec, source, by_frequencies(w, positions, factor), wrong, positions=positions, **tolerance)

    compare("linear(factor=8)", linear, ["rope", "linear(factor=4)"], factor=8.0)
    compare("dynamic_ntk(factor=2, original=32)", dynamic, ["rope", "dynamic_ntk(factor=2, original=16)"], length=128,
            factor=2.0)
    compare("dynamic_ntk(factor=2, original=32)", dynamic, ["dynamic_ntk(factor=2, original=4)"], positions=near, length=9,
            factor=2.0)
    compare("yarn(factor=4, original=32)", yarn, ["rope", "yarn(factor=4, original=32, attention_factor=1)",
            "yarn(factor=4, original=128)"], factor=4.0, original_max_position_embeddings=32)
    compare("yarn(factor=4, original=32, attention_factor=1.3)", yarn, ["yarn(factor=4, original=32)"], factor=4.0,
            attention_factor=1.3, original_max_position_embeddings=32)
    compare("yarn(factor=4, original=32, mscale=0.707, mscale_all_dim=1)", yarn, ["yarn(factor=4, original=32)"],
            factor=4.0, mscale=0.707, mscale_all_dim=1.0, original_max_position_embeddings=32)
    compare("yarn(factor=4, original=32, truncate=off, beta_fast=4)", yarn, ["yarn(factor=4, original=32, beta_fast=4)"],
            factor=4.0, truncate=False, beta_fast=4.0, original_max_position_embeddings=32)
    compare("dynamic_yarn(original=32)", yarn, ["yarn(factor=2, original=32)", "rope"], factor=4.0,
            original_max_position_embeddings=32)
    short, long = [1.0 + 0.05 * i for i in range(8)], [1.0 + 0.7 * i for i in range(8)]
    lists = "short={}, long={}".format(*("/".join(f"{v:g}" for v in x) for x in (short, long)))
    for length, positions in ((32, [0, 1, 2, 3, 9, 17, 20, 30, 31]), (33, [0, 1, 2, 3, 9, 17, 20, 30, 32])):
        swapped = "short={1}, long={0}".format(*("/".join(f"{v:g}" for v in x) for x in (short, long)))
        compare(f"longrope({lists}, factor=4, original=32)", longrope, [f"longrope({swapped}, factor=4, original=32)",
                f"longrope({lists}, factor=1, original=32)"], positions=positions, length=length, factor=4.0,
                short_factor=short, long_factor=long)
    compare("llama3(factor=8, original=64, theta=500)", llama3, ["rope(theta=500)", "llama3(factor=32, original=64, theta=500)"],
            theta=500.0, factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0, original_max_position_embeddings=64)
    s, D_ = 4.0, D
    ntk = (10000.0 * s ** (D_ / (D_ - 2))) ** (-torch.arange(0, D_, 2) / D_)
    case("ntk(factor=4)", "torch 1.13 from arXiv 2309.00071 definition 1", by_frequencies(ntk, far),
         ["linear(factor=4)", "rope(theta=40000)"], positions=far)

    def ramp(fast, slow, original):  # the authors' find_correction_range and linear_ramp_mask, from the paper's text
        low, high = (D_ * math.log(original / (turns * 2 * math.pi)) / (2 * math.log(10000.0)) for turns in (fast, slow))
        low, high = max(math.floor(low), 0), min(math.ceil(high), D_ - 1)
        return ((torch.arange(D_ // 2) - low) / (high - low if high > low else 0.001)).clamp(0, 1)

    base = 10000.0 ** (-torch.arange(0, D_, 2) / D_)
    first = 1 - ramp(1.25, 0.75, 64)
    blended = base / s * (1 - first) + ntk * first
    second = 1 - ramp(16, 2, 64)
    case("ntk_by_parts(factor=4, original=64)", "torch 1.13 from arXiv 2309.00071 section 3.2",
         by_frequencies(blended * (1 - second) + base * second, far), ["ntk(factor=4)", "yarn(factor=4, original=64)"],
         positions=far)


def multimodal():
    scope = {"torch": torch, "rotate_half": rotate_half}
    (chunked,) = definitions(transformers / "models/qwen2_vl/modeling_qwen2_vl.py", ["apply_multimodal_rotary_pos_emb"], scope)
    (interleaved,) = definitions(transformers / "models/qwen3_vl/modeling_qwen3_vl.py", ["apply_interleaved_mrope"], scope)
    places = [[0, 0, 0], [1, 1, 1], [2, 2, 2], [2, 2, 3], [2, 3, 2], [2, 3, 3], [4, 4, 4], [5, 5, 5], [6, 6, 6]]
    axes = torch.tensor(places, dtype=torch.float64).T  # (3, T)
    base = 10000.0 ** (-torch.arange(0, D, 2) / D)
    angles = axes[:, None, :, None] * base  # (3, 1, T, D/2)
    both = torch.cat((angles, angles), -1)
    rq, rk = chunked(q[None], k[None], both.cos(), both.sin(), [2, 3, 3])
    case("mrope(sections=2/3/3)", HF + "modeling_qwen2_vl.py", plain(rq[0], rk[0]),
         ["mrope_interleaved(sections=2/3/3)", "mrope(sections=3/3/2)", "mrope(sections=2/3/3, pairing=adjacent)"],
         positions=places)
    one = interleaved(None, angles.clone(), [3, 3, 2])[0]
    both = torch.cat((one, one), -1)
    case("mrope_interleaved(sections=3/3/2)", HF + "modeling_qwen3_vl.py",
         plain(q * both.cos() + rotate_half(q) * both.sin(), k * both.cos() + rotate_half(k) * both.sin()),
         ["mrope(sections=3/3/2)", "mrope_interleaved(sections=4/2/2)"], positions=places)
    text = [3, 4, 5, 6, 7, 8, 9, 10, 11]
    for spec in ("mrope(sections=2/3/3)", "mrope_interleaved(sections=3/3/2)"):
        case(spec, "text is RoPE", by_frequencies(base, text), ["rope(theta=9000)"], positions=text)


def variants():
    base = 10000.0 ** (-torch.arange(0, D, 2) / D)
    kept = torch.where(torch.arange(D // 2) < 6, base, torch.zeros(()))
    near = list(range(T))
    case("proportional(share=0.75)", "torch 1.13 from arXiv 2410.06205 section 6", by_frequencies(kept, near),
         ["rope(fraction=0.75)", "rope"])
    window = q[..., 4:12], k[..., 4:12]
    rest = (q[..., :4] @ k[..., :4].transpose(-1, -2) + q[..., 12:] @ k[..., 12:].transpose(-1, -2)) / math.sqrt(D)
    part = 10000.0 ** (-torch.arange(0, 8, 2) / 8)
    scores = by_frequencies(part, near, 1, *window) * math.sqrt(8 / D) + rest
    case("rope(fraction=0.5, offset=4)", "torch 1.13, a window of the head", scores,
         ["rope(fraction=0.5)", "rope(fraction=0.5, side=trailing)"])
    trailing = by_frequencies(part, near, 1, q[..., 8:], k[..., 8:]) * math.sqrt(8 / D) \
        + q[..., :8] @ k[..., :8].transpose(-1, -2) / math.sqrt(D)
    case("rope(fraction=0.5, side=trailing)", "torch 1.13, the end of the head", trailing, ["rope(fraction=0.5)"])

    scope = {"torch": torch, "nn": nn}
    xpos = definitions(torchscale, ["fixed_pos_embedding", "rotate_every_two", "duplicate_interleave",
                                    "apply_rotary_pos_emb", "XPOS"], scope)[-1](D)
    case("xpos(pairing=adjacent)", "torchscale 0.3.0", plain(xpos(q), xpos(k, downscale=True)),
         ["xpos(pairing=halves)", "rope(pairing=adjacent)"], tolerance=2e-6)

    frequencies = draw(D // 2, seed=5, size=0.3).abs() + 0.01
    library = RotaryEmbedding(dim=D, custom_freqs=frequencies.clone(), learned_freq=True)
    library = library.double()
    library.freqs.data = frequencies.clone()
    rotated = [library.rotate_queries_or_keys(x[None])[0] for x in (q, k)]
    case("rope_learned(heads=shared, pairing=adjacent)", "rotary-embedding-torch 0.9.1, learned_freq", plain(*rotated),
         ["rope(pairing=adjacent)", "rope_learned(heads=shared, pairing=halves)"],
         params={"log_frequency": frequencies.log()}, tolerance=1e-6)

    axial = RotaryEmbedding(dim=D // 2, freqs_for="lang").double()
    places = [[r, c] for r in range(3) for c in range(3)]
    angles = axial.get_axial_freqs(3, 3).reshape(9, D)
    case("rope_axial(pairing=adjacent, index=reset)", "rotary-embedding-torch 0.9.1, get_axial_freqs",
         plain(apply_rotary_emb(angles, q), apply_rotary_emb(angles, k)),
         ["rope_axial(pairing=halves, index=reset)", "rope_axial(pairing=adjacent, index=continued)"], positions=places,
         tolerance=1e-6)
    learned = draw(2, H, D // 2, seed=6)
    angle = torch.einsum("ta,ahn->htn", torch.tensor(places, dtype=torch.float64), learned)
    turn = torch.polar(torch.ones_like(angle), angle)
    pairs = [torch.view_as_complex(x.reshape(H, T, D // 2, 2).contiguous()) * turn for x in (q, k)]
    case("rope_mixed(pairing=adjacent)", "torch 1.13 complex numbers, arXiv 2403.13298 equation 14",
         torch.einsum("hid,hjd->hij", pairs[0], pairs[1].conj()).real / math.sqrt(D),
         ["rope_mixed(pairing=halves)", "rope_axial(pairing=adjacent)"], positions=places, params={"frequencies": learned})

    scope = {"torch": torch, "nn": nn, "Module": nn.Module, "arange": arange, "F": nn.functional, "cat": torch.cat, "math": math, "rearrange": rearrange}
    polar, apply = definitions(x_transformers, ["PolarEmbedding", "apply_polar_pos_emb"], scope)
    phase = -draw(H, 1, D, seed=8).abs()
    module = polar(D, H).double()
    module.learned_bias.data = phase
    angles, bias = module(torch.arange(T))
    polar_scores = apply(q, angles.double()) @ apply(k, angles.double() + bias.double()).transpose(-1, -2) / math.sqrt(D)
    case("pope", "x-transformers 2.31.10, PolarEmbedding", polar_scores, ["rope", "pope(theta=9000)"],
         params={"phase": phase}, tolerance=2e-5)

    # FoPE: complex multipliers from arXiv 2412.17739 section 4; a window of 20 tokens leaves the first two frequencies
    coefficients = torch.eye(D // 2)[None] + 0.2 * draw(H, D // 2, D // 2, seed=9)
    kept = torch.where(base * 20 >= 2 * math.pi, base, torch.zeros(()))
    waves = torch.polar(torch.ones(T, D // 2), torch.arange(T)[:, None] * kept)
    multiplier = torch.einsum("hfn,tf->htn", coefficients.to(torch.complex128), waves)
    halves = [torch.complex(x[..., : D // 2], x[..., D // 2:]) * multiplier for x in (q, k)]
    case("fope", "torch 1.13 complex numbers, arXiv 2412.17739 section 4",
         torch.einsum("hid,hjd->hij", halves[0], halves[1].conj()).real / math.sqrt(D), ["rope", "fope(pairing=adjacent)"],
         params={"coefficients": coefficients}, length=20)

    a, b = draw(H, D, seed=10, size=0.3), draw(H, D, seed=11, size=0.3)
    generator = a[:, :, None] * b[:, None] - b[:, :, None] * a[:, None]
    group = [[scipy.linalg.expm(t * generator[h].numpy()) for t in range(T)] for h in range(H)]
    turned = [torch.stack([torch.stack([torch.tensor(group[h][t]) @ x[h, t] for t in range(T)]) for h in range(H)])
              for x in (q, k)]
    case("grape", "scipy 1.10 expm of a·bᵀ − b·aᵀ", plain(*turned), ["none", "rope"], params={"a": a, "b": b})
    u, v, slope = draw(H, D, seed=12), draw(H, D, seed=13), torch.tensor([0.3, 0.1])
    gate = nn.functional.softplus((q * u[:, None]).sum(-1) / 4), nn.functional.softplus((k * v[:, None]).sum(-1) / 4)
    scores = torch.zeros(H, T, T)
    for h in range(H):
        for i in range(T):
            for j in range(T):  # the unipotent lift: (I + n·ω·A) with A² = 0 between [q ; 1 ; 0] and [k ; 0 ; 1]
                nilpotent = numpy.zeros((D + 2, D + 2))
                nilpotent[D, D + 1] = -slope[h] * (gate[0][h, i] + gate[1][h, j])
                lifted = scipy.linalg.expm((i - j) * nilpotent)
                left, right = numpy.append(q[h, i] / 4, [1, 0]), numpy.append(k[h, j], [0, 1])
                scores[h, i, j] = float(left @ lifted @ right)
    case("grape_additive", "scipy 1.10 expm of the unipotent lift", scores, ["alibi", "none"],
         params={"log_slope": slope.log(), "query_gate": u, "key_gate": v})


def temperatures():
    positions = [0, 1, 30, 31, 32, 100, 1000, 9000, 20000]
    p = torch.tensor(positions, dtype=torch.float64)
    log = torch.clamp(torch.log(p + 1) / math.log(32), min=1.0)
    case("log_n(original=32)", "torch 1.13 from kexue.fm 8823", plain(q, k) * log[:, None], ["none", "log_n(original=64)"],
         positions=positions)
    llama4 = torch.log(torch.floor((p + 1) / 8192) + 1) * 0.1 + 1  # modeling_llama4.py, attn_scales
    case("log_n(rule=llama4)", HF + "modeling_llama4.py attn_scales", plain(q, k) * llama4[:, None],
         ["log_n(rule=llama4, floor=4096)", "none"], positions=positions)


def by_distance(distance, n=12):
    """Every pair by a rotation matrix of its own."""
    qq, kk = draw(H, n, D, seed=21), draw(H, n, D, seed=22)
    base = 10000.0 ** (-torch.arange(0, D, 2) / D)
    scores = torch.zeros(H, n, n)
    for i in range(n):
        for j in range(i + 1):
            angle = distance(i, j) * base
            cos, sin = torch.cat((angle, angle)).cos(), torch.cat((angle, angle)).sin()
            scores[:, i, j] = ((qq[:, i] * cos + rotate_half(qq[:, i]) * sin) * kk[:, j]).sum(-1) / 4
    return qq, kk, scores


def windows():
    for spec, distance, wrong in (
            ("rerope(window=5)", lambda i, j: min(i - j, 5), ["rope", "rerope(window=6)"]),
            ("self_extend(window=5, group=3)", lambda i, j: i - j if i - j < 5 else i // 3 - j // 3 + 5 - 5 // 3,
             ["rope", "rerope(window=5)", "self_extend(window=5, group=4)"])):
        qq, kk, scores = by_distance(distance)
        case(spec, "torch 1.13, a rotation for every pair", scores, wrong, qq, kk)
    base = 10000.0 ** (-torch.arange(0, D, 2) / D)
    v = draw(H, T, D, seed=3)
    p = softmax(by_frequencies(base, list(range(T))), True)
    out = torch.zeros(H, T, D)
    for i in range(T):
        for j in range(i + 1):
            angle = (j - i) * base
            cos, sin = torch.cat((angle, angle)).cos(), torch.cat((angle, angle)).sin()
            out[:, i] += p[:, i, j, None] * (v[:, j] * cos + rotate_half(v[:, j]) * sin)
    add(FILE, kind="output", spec="rope_value", source="torch 1.13, a rotation for every pair", heads=H, size=D, causal=True,
        positions=list(range(T)), q=q, k=k, v=v, out=out, wrong=["rope", "none"], tolerance=1e-9)


extensions(), multimodal(), variants(), temperatures(), windows()
write()
