"""Golden vectors of the newest released models, and of rules for sampling positions and for inference.

    python3 make_flagships.py TRANSFORMERS RIFLEX.py COPE.py SEQPE

TRANSFORMERS is the folder transformers/ of transformers 5.23.0; RIFLEX.py is riflex_utils.py of thu-ml/RIFLEx at 18e0bc34,
COPE.py modeling_cope.py of hrlics/CoPE at ed52ba5e, SEQPE the folder text_seqpe/src/transformers/custom_modules of
ghrua/seqpe at 4c4b9082. x-transformers 2.31.10, transformers 5.23.0 and torch 2.15 installed.
"""

import sys
from types import SimpleNamespace
from typing import Callable, Optional, Tuple, Union

import numpy
from torch import nn
from transformers.pytorch_utils import Conv1D

from content_rules import *

FILE = "flagships"
transformers, riflex, clipped, seqpe = map(pathlib.Path, sys.argv[1:5])
HF, OWN = "transformers 5.23.0 ", "torch 2.15 from arXiv "
MISTRAL, INKLING = "models/mistral_large4/modeling_mistral_large4.py", "models/inkling2/modeling_inkling2.py"
SCOPE = {"torch": torch, "nn": nn, "F": nn.functional, "math": math, "np": numpy, "Callable": Callable, "Optional": Optional,
         "Tuple": Tuple, "Union": Union}


def at(positions, frequencies):
    """Angles (1, T, R/2)."""
    return torch.tensor(positions, dtype=torch.float64)[None, :, None] * frequencies


def yarn(size, theta, factor, original, fast=32.0, slow=1.0):
    """YaRN's frequencies, arXiv 2309.00071 section 3.2, with the bounds rounded outwards as in Hugging Face's code."""
    def where(turns):
        return size * math.log(original / (turns * 2 * math.pi)) / (2 * math.log(theta))

    low, high = max(math.floor(where(fast)), 0), min(math.ceil(where(slow)), size - 1)
    ramp = ((torch.arange(size // 2) - low) / (high - low)).clamp(0, 1)
    plain_frequencies = powers(theta, size)
    return plain_frequencies * (1 - ramp) + plain_frequencies / factor * ramp


def lerope(q, k, positions, p, rotary, *, size, log=math.log, plus=1, late_alpha=True, layout="pairs", first=False,
           attention_factor=1.0, only_turned=False):
    """Logits of Mistral Large 4: the last `size` channels turn, the query is scaled by scale * ln(p + 1) + bias."""
    R, D = size, q.shape[-1]
    alpha = p.get("alpha", torch.zeros(R // 2))
    frequencies = yarn(R, **rotary) * alpha.exp() if late_alpha else yarn(R, **rotary) + alpha
    angles = at(positions, frequencies)
    part = slice(0, R) if first else slice(D - R, D)
    q, k = q.clone(), k.clone()
    if R:
        q[..., part] = turn(q[..., part], angles, layout) * attention_factor
        k[..., part] = turn(k[..., part], angles, layout) * attention_factor
    factor = torch.tensor([[s * log(t + plus) + b if t + plus > 0 else b for t in positions] for s, b in
                           zip(p["scale"].tolist(), p["bias"].tolist())])[..., None]
    if only_turned:
        q[..., part] = q[..., part] * factor
    else:
        q = q * factor
    return softmax(plain(q, k), True)


def leropes():
    yarn_of = definitions(doubled(transformers / "modeling_rope_utils.py"), ["_compute_yarn_parameters"], dict(SCOPE))[0]
    names = ["MistralLarge4TextRotaryEmbedding", "apply_rotary_pos_emb_interleave", "MistralLarge4TextSoftmaxScaling"]
    scope = SCOPE | {"ROPE_INIT_FUNCTIONS": {"yarn": yarn_of}}
    rotary_class, apply, scaling_class = definitions(doubled(transformers / MISTRAL), names, scope)
    published = {"theta": 10000.0, "factor": 2048.0, "original": 512}
    other = {"theta": 100.0, "factor": 4.0, "original": 64}
    far = [0.0, 1.0, 2.0, 5.0, 30.0, 31.0, 200.0, 511.0, 512.0, 4000.0]
    for seed, size, rotary, positions in ((1, 8, published, far), (21, 4, other, [t + 40.0 for t in range(10)]), (41, 0, published, far),
                                          (61, 8, other, [0.0, 0.5, 1.25, 2.0, 3.5, 7.0, 7.5, 11.0, 18.25, 40.0])):
        q, k, _ = inputs_of(seed)
        p = {"scale": draw(H, seed=seed + 2, size=0.5), "bias": 1 + draw(H, seed=seed + 3, size=0.3)}
        if size:
            p["alpha"] = draw(size // 2, seed=seed + 4, size=0.6)
        # a position with a fraction is not in the authors' model; its code takes it as it is
        t = torch.tensor(positions)[None]
        scaling = scaling_class(H)
        scaling.scale.data, scaling.bias.data = p["scale"], p["bias"]
        qq, kk = q[None], k[None]
        if size:
            config = SimpleNamespace(head_dim=size, max_position_embeddings=1 << 20, standardize_rope_params=lambda: None, rope_parameters={
                "rope_type": "yarn", "rope_theta": rotary["theta"], "factor": rotary["factor"], "attention_factor": 1.0, "beta_fast": 32.0,
                "original_max_position_embeddings": rotary["original"], "beta_slow": 1.0}, hidden_size=C, num_attention_heads=H)
            module = rotary_class(config)
            module.alpha.data = p["alpha"]
            qr, kr = apply(qq[..., D - size:], kk[..., D - size:], *module(qq, t))
            qq, kk = torch.cat((qq[..., : D - size], qr), -1), torch.cat((kk[..., : D - size], kr), -1)
        alone = softmax(plain(qq[0], kk[0]), True)
        right = softmax(plain(scaling(qq, t, head_dim_first=True)[0], kk[0]), True)
        unchanged = p | {"scale": torch.zeros(H), "bias": torch.ones(H)}

        def found(p=p, **more):
            return lerope(q, k, positions, p, rotary, size=size, **more)

        wrong = {"no temperature": found(unchanged), "ln(p)": found(plus=0), "log2(p + 1)": found(log=math.log2), "log1p(p + 1)": found(plus=2),
                 "bias 1 for all heads": found(p | {"bias": torch.ones(H)}), "scale of the other head": found(p | {"scale": p["scale"].flip(0)}),
                 "none": softmax(plain(q, k), True)}
        if size:
            wrong |= {"alpha is added to the frequency": found(late_alpha=False), "half split": found(layout="half"),
                      "alpha has no effect": found(p | {"alpha": torch.zeros(size // 2)}),
                      "yarn's own attention factor": found(attention_factor=0.1 * math.log(rotary["factor"]) + 1),
                      "alpha through exp2": found(p | {"alpha": p["alpha"] * math.log(2)}), "alpha through exp(-a)": found(p | {"alpha": -p["alpha"]})}
        if 0 < size < D:
            wrong |= {"the first channels turn": found(first=True), "temperature on the turned part alone": found(only_turned=True)}
        words = f"LeRoPE and log temperature, {size} of {D} channels turn, " + ", ".join(f"{key}={v:g}" for key, v in rotary.items())
        checked(FILE, words if size else "log temperature, no rotation", HF + MISTRAL, q, k, right=right, slow=found(), wrong=wrong,
                positions=positions, params=p)
        if size:
            checked(FILE, words.replace("LeRoPE and log temperature", "LeRoPE"), HF + MISTRAL, q, k, right=alone, slow=found(unchanged),
                    wrong={"half split": found(unchanged, layout="half"), "with the temperature": right}, positions=positions, params={"alpha": p["alpha"]})


def with_sink(scores, sink):
    """Causal softmax with one more logit (H, T) a query, which takes weight and gives nothing."""
    T = scores.shape[-1]
    scores = scores.masked_fill(~torch.ones(T, T, dtype=torch.bool).tril(), -math.inf)
    return torch.cat((scores, sink[..., None]), -1).softmax(-1)[..., :-1]


def clip(y, most):
    return y * (most / (y.norm(dim=-1, keepdim=True) + 1e-6)).clamp(max=1.0)


def inklings():
    names = ["repeat_kv", "eager_attention_forward", "Inkling2L2Clip", "Inkling2ScaledL2Clip", "Inkling2RelativeLogits"]
    _, attend, clip_class, scaled_class, relative_class = definitions(doubled(transformers / INKLING), names, dict(SCOPE))
    mask = torch.zeros(10, 10).masked_fill(~torch.ones(10, 10, dtype=torch.bool).tril(), -1e300)
    module = SimpleNamespace(num_key_value_groups=1, training=False)
    for seed, extent, floor in ((2, 0, 0), (22, 0, 0), (42, 5, 4)):
        q, k, x = inputs_of(seed)
        p = {"sink.weight": draw(H, C, seed=seed + 3, size=0.5)}
        sink = (x @ p["sink.weight"].T).T
        qq, kk, bias, tau = q, k, None, None
        own = {"bias": 0.0, "q": q, "k": k}
        if extent:  # a full-attention layer: length limits, log scaling, biases from the token
            most, rank, rmost = 2.0, 3, 1.5
            p |= {"query.scale": 1 + draw(H, D, seed=seed + 4, size=0.2), "relative.weight": draw(H * rank, C, seed=seed + 5, size=0.4),
                  "relative.scale": 1 + draw(H, rank, seed=seed + 6, size=0.2), "profiles": draw(rank, extent, seed=seed + 7)}
            r = (x @ p["relative.weight"].T).reshape(10, H, rank)
            tau = 1 + 0.1 * ((torch.arange(10.0) + 1) / floor).clamp(min=1).log()
            cq, cr, profiles = scaled_class(H, D, most), scaled_class(H, rank, rmost), relative_class(rank, extent)
            cq.scale.data, cr.scale.data, profiles.proj.data = p["query.scale"], p["relative.scale"], p["profiles"]
            qq = cq(q.transpose(0, 1)).transpose(0, 1) * tau[:, None]
            kk = clip_class(most)(k)
            index = torch.arange(10)
            bias = profiles(cr(r[None]) * tau[:, None, None], index, index)
            own = {"q": clip(q * p["query.scale"][:, None], most) * tau[:, None], "k": clip(k, most), "bias": torch.zeros(H, 10, 10)}
            states = clip(r * p["relative.scale"], rmost) * tau[:, None, None]
            for i in range(10):
                for j in range(max(0, i - extent + 1), i + 1):
                    own["bias"][:, i, j] = states[i] @ p["profiles"][:, i - j]
        right = attend(module, qq[None], kk[None], kk[None], mask, D**-0.5, position_bias=bias, sinks=sink[None, ..., None])[1][0]

        def found(sink=sink, q=own["q"], k=own["k"], bias=own["bias"]):
            return with_sink(plain(q, k) + bias, sink)

        none = softmax(plain(own["q"], own["k"]) + own["bias"], True)
        wrong = {"no sink": none, "sink times 1/sqrt(D)": found(sink * D**-0.5), "sink of the other head": found(sink.flip(0)),
                 "one sink for all tokens": found(sink.mean(-1, keepdim=True).expand_as(sink)), "weights made to sum to 1": none}
        if extent:
            wrong |= {"no log scaling of q": found(q=own["q"] / tau[:, None]), "no log scaling of the bias": found(bias=own["bias"] / tau[:, None]),
                      "no limit of lengths": found(q=q * p["query.scale"][:, None] * tau[:, None], k=k), "no bias": found(bias=0.0),
                      "sink times the log scaling": found(sink * tau)}
        words = "sink from the token" + (f", lengths at most 2 and 1.5, rank 3, extent {extent}, alpha 0.1, floor {floor}" if extent else "")
        checked(FILE, words, HF + INKLING, q, k, right=right, slow=found(), wrong=wrong, x=x, params=p)


def riflexes():
    frequencies_of, identify = definitions(doubled(riflex), ["get_1d_rotary_pos_embed_riflex", "identify_k"], dict(SCOPE))
    size = 16
    for seed, base, first_repetition, length, positions in ((3, 256.0, 48, 66, range(0, 66, 7)), (23, 10000.0, 20, 26, range(10))):
        q, k = draw(H, 10, size, seed=seed), draw(H, 10, size, seed=seed + 1)
        which, _ = identify(base, size, first_repetition)
        t = torch.tensor([float(p) for p in positions])
        cos, sin = frequencies_of(size, t, base, use_real=True, k=which, L_test=length)

        def turned(y):
            """The rotation of diffusers' apply_rotary_emb with its pairs of neighbours."""
            a, b = y[..., 0::2], y[..., 1::2]
            return y * cos + torch.stack((-b, a), -1).flatten(-2) * sin

        def found(which=which, share=0.9, layout="pairs"):
            f = powers(base, size)
            f[which - 1] = share * 2 * math.pi / length
            return rotated(q, k, at(t.tolist(), f), layout)

        wrong = {"no 0.9": found(share=1.0), "k counts from 0": found(which + 1), "half split": found(layout="half"),
                 "rope": rotated(q, k, at(t.tolist(), powers(base, size)), "pairs"), "none": softmax(plain(q, k), True)}
        checked(FILE, f"RIFLEx, base={base:g}, first repetition={first_repetition}, k={which}, length={length}", "thu-ml/RIFLEx 18e0bc34", q, k,
                right=softmax(plain(turned(q), turned(k)), True), slow=found(), wrong=wrong, positions=t.tolist(), params={})


def hann(frequencies, count):
    """The last `count` frequencies times a half cosine from 1 to 0."""
    out = frequencies.clone()
    for n in range(count):
        out[len(out) - count + n] *= 0.5 * (1 + math.cos(math.pi * n / (count - 1))) if count > 1 else 1.0
    return out


def clips():
    (rotary,) = definitions(doubled(clipped), ["LlamaRotaryEmbedding"], dict(SCOPE) | {
        "ROPE_INIT_FUNCTIONS": {"default": lambda config, device: (powers(config.theta, config.size), 1.0)}})
    far = [0.0, 1.0, 2.0, 10.0, 100.0, 101.0, 1000.0, 5000.0, 20000.0]
    for seed, size, soft in ((4, 64, True), (24, 16, True), (44, 64, False)):
        q, k = draw(H, 9, size, seed=seed), draw(H, 9, size, seed=seed + 1)
        theta = 500000.0
        config = SimpleNamespace(use_cope=soft, use_hardclip=not soft, max_position_embeddings=8192, theta=theta, size=size)
        module = rotary(config)
        cos, sin = (y[0] for y in module(q, torch.tensor(far)[None]))
        count = min(20, size // 2)

        def turned(y):
            return y * cos + torch.cat((-y[..., size // 2:], y[..., : size // 2]), -1) * sin

        base = powers(theta, size)
        hard = torch.cat((base[:-count], torch.zeros(count)))
        right = softmax(plain(turned(q), turned(k)), True)
        wrong = {"rope": rotated(q, k, at(far, base)), "none": softmax(plain(q, k), True),
                 "cut hard" if soft else "cut softly": rotated(q, k, at(far, hard if soft else hann(base, count))),
                 "first frequencies": rotated(q, k, at(far, hann(base.flip(0), count).flip(0))),
                 "pairs of neighbours": rotated(q, k, at(far, module.inv_freq), "pairs")}
        if soft:
            lines = base.clone()
            lines[-count:] *= 1 - torch.arange(count) / (count - 1)
            wrong["a straight ramp"] = rotated(q, k, at(far, lines))
        checked(FILE, f"clipped RoPE, theta={theta:g}, last {count} of {size // 2}, {'soft' if soft else 'hard'}", "hrlics/CoPE ed52ba5e modeling_cope.py",
                q, k, right=right, slow=rotated(q, k, at(far, hann(base, count) if soft else hard)), wrong=wrong, positions=far,
                frequencies=module.inv_freq)
    # ml-explore/mlx-lm#1387 counts the frequencies whose period is longer than the length of training
    q, k = draw(H, 9, 16, seed=64), draw(H, 9, 16, seed=65)
    base = powers(10000.0, 16)
    count = int((2 * math.pi / base > 512).sum())
    right = rotated(q, k, at(far, hann(base, count)))
    wrong = {"rope": rotated(q, k, at(far, base)), "one more": rotated(q, k, at(far, hann(base, count + 1))),
             "one less": rotated(q, k, at(far, hann(base, count - 1)))}
    checked(FILE, f"clipped RoPE, theta=10000, original=512, last {count} of 8 by period", OWN + "2602.05258, count by period as ml-explore/mlx-lm#1387 says",
            q, k, right=right, wrong=wrong, positions=far, frequencies=hann(base, count))


def in_distribution():
    """RoPE-ID, arXiv 2603.18017: quarters 1 and 3 of a head turn, from one turn in 32 tokens to two turns a training length."""
    far = [0.0, 1.0, 2.0, 10.0, 100.0, 101.0, 1000.0, 5000.0, 20000.0]
    for seed, size, length in ((5, 16, 4096), (25, 32, 8192)):
        q, k = draw(H, 9, size, seed=seed), draw(H, 9, size, seed=seed + 1)
        count = size // 4

        def frequencies(low=2.0, high=32.0, linear=False, first=True):
            a, b = 2 * math.pi / high, low * 2 * math.pi / length
            n = torch.arange(count) / (count - 1)
            f = a + (b - a) * n if linear else a * (b / a) ** n
            return torch.cat((f, torch.zeros(count)) if first else (torch.zeros(count), f))

        def found(layout="half", **more):
            return rotated(q, k, at(far, frequencies(**more)), layout)

        wrong = {"one turn a training length": found(low=1.0), "fastest of 1 radian": found(high=2 * math.pi), "evenly spaced": found(linear=True),
                 "quarters 2 and 4 turn": found(first=False), "none": softmax(plain(q, k), True), "quarters 1 and 2, pairs of neighbours": found("pairs")}
        checked(FILE, f"RoPE-ID, quarters 1 and 3 of {size} channels, length={length}, geometric, no temperature",
                OWN + "2603.18017 as its reviews tell it", q, k, right=found(), wrong=wrong, positions=far, frequencies=frequencies())


def denoised():
    """DoPE by all (arXiv 2511.09146): heads of a list do not turn. Their choice by entropy is not in these numbers."""
    for seed, off in ((6, [1]), (26, [0])):
        q, k, _ = inputs_of(seed)
        f = at(range(10), powers(10000.0, D)).expand(H, -1, -1).clone()
        wrong = {"rope": rotated(q, k, f), "none": softmax(plain(q, k), True)}
        f[off] = 0
        checked(FILE, f"DoPE by all, theta=10000, heads {off} do not turn", OWN + "2511.09146", q, k, right=rotated(q, k, f), wrong=wrong)


def sampled():
    """Random Float Sampling at inference, arXiv 2602.14050 algorithm 1: positions alone."""
    for train, test in ((8, 5), (8, 12)):
        def found(longest, shift=1):
            return torch.tensor([(2 * i - shift) / (2 * longest) for i in range(1, test + 1)])

        right = found(max(train, test))
        wrong = {"i / length": found(max(train, test), 0), "the shorter length": found(min(train, test)), "(i - 1) / length": found(max(train, test), 2)}
        add(FILE, kind="mean", spec=f"random float sampling at inference, trained on {train}, length {test}", values=right, tokens=test, draws=1,
            training=False, source=OWN + "2602.14050v1 algorithm 1", tolerance=1e-12, wrong=[], wrong_words=apart(right, wrong))
    # the n-th of T sorted uniform numbers has the mean n/(T + 1)
    add(FILE, kind="mean", spec="random float sampling in training, length 6", values=torch.arange(1, 7) / 7, tokens=6, draws=20000, training=True,
        source="order statistics of uniform numbers", tolerance=0.008, wrong=[])


def x_transformers():
    from x_transformers.x_transformers import Attention, ShiftTokens
    for seed, heads, some in ((8, 2, 1), (28, 4, 3)):
        x = draw(10, C, seed=seed)
        size = C // heads
        module = Attention(C, dim_head=size, heads=heads, causal=True, rotate_num_heads=some, flash=False)
        for n, layer in enumerate((module.to_q, module.to_k)):
            layer.weight.data = draw(C, C, seed=seed + 1 + n, size=0.6)
        q, k = ((x @ layer.weight.T).reshape(10, heads, size).transpose(0, 1) for layer in (module.to_q, module.to_k))
        f = powers(10000.0, size)
        angles = at(range(10), f)
        seen = module(x[None], rotary_pos_emb=(angles.repeat_interleave(2, -1), 1.0), return_intermediates=True)[1]
        right = softmax(seen.qk_similarities[0], True)

        def found(turning, layout="pairs"):
            return rotated(q, k, angles * torch.tensor([float(h in turning) for h in range(heads)])[:, None, None], layout)

        wrong = {"the first heads turn": found(range(some)), "rope": found(range(heads)), "none": found([]),
                 "half split": found(range(heads - some, heads), "half")}
        checked(FILE, f"rope on the last {some} of {heads} heads", "x-transformers 2.31.10 Attention(rotate_num_heads)", q, k, right=right,
                slow=found(range(heads - some, heads)), wrong=wrong)
    for shifts, seed in ((1, 9), (2, 29)):
        x = draw(10, C, seed=seed)
        right = ShiftTokens(range(shifts + 1), lambda y: y)(x[None])[0]
        width = C // (shifts + 1)

        def found(steps):
            out = x.clone()
            for n, s in enumerate(steps):
                part = slice(n * width, (n + 1) * width)
                out[:, part] = torch.cat((torch.zeros(s, width), x[: 10 - s, part]))
            return out

        assert torch.equal(right, found(range(shifts + 1)))
        wrong = {"no shift": x, "the first segment moves most": found(range(shifts, -1, -1)), "the first segment moves": found([1] * (shifts + 1))}
        add(FILE, kind="shifted", spec=f"shift tokens by up to {shifts}", source="x-transformers 2.31.10 ShiftTokens", channels=C, x=x, values=right,
            positions=list(range(10)), tolerance=1e-12, wrong=[], wrong_words=apart(right, wrong))


def digits():
    """SeqPE, arXiv 2506.13277: a small causal Transformer reads the digits of a position; its last state is the vector."""
    from transformers.activations import ACT2FN
    scope = SCOPE | {"Conv1D": Conv1D, "ACT2FN": ACT2FN, "normal_": nn.init.normal_, "_init_seqpe_gpt_weights": lambda module: None}
    scope["PeUtils"] = definitions(doubled(seqpe / "pe_utils.py"), ["PeUtils"], scope)[0]
    names = ["SequentialPeAttention", "SequentialPeMLP", "SequentialPeBlock", "SequentialPE"]
    network = definitions(doubled(seqpe / "sequential_pe.py"), names, scope)[-1]
    positions = [0, 1, 9, 10, 123, 999]
    for seed, heads, layers, digit_count in ((10, 2, 1, 4), (110, 1, 2, 3)):
        width = 8
        module = network(width, heads, layers, digit_count).eval()
        p = {name: draw(*value.shape, seed=seed + n, size=0.4) for n, (name, value) in enumerate(module.named_parameters())}
        for name, value in p.items():
            module.get_parameter(name).data = value
        read, mask = scope["PeUtils"].prepare_seqpe_data(positions, digit_count)
        right = module(read, mask)
        slow = torch.stack([digit_vector(p, position, width, heads, layers, digit_count) for position in positions])
        assert (right - slow).abs().max() < 1e-9, (right - slow).abs().max()
        wrong = {"no mask of leading zeros": module(read, torch.ones_like(mask)), "digits backwards": module(read.flip(1), mask.flip(1))}
        add(FILE, kind="input", spec=f"SeqPE, digits={digit_count}, layers={layers}, heads={heads}", source="ghrua/seqpe 4c4b9082 sequential_pe.py",
            channels=width, positions=positions, values=right, wrong=[], wrong_words=apart(right, wrong), tolerance=1e-9, params=p)


def digit_vector(p, position, width, heads, layers, count):
    """One position of SeqPE; weights of Conv1D are (inputs, outputs)."""
    text = str(position).rjust(count)
    rows = [p["token_of_seqpe_embed.weight"][int(c) if c != " " else 0] + p["pos_of_seqpe_embed.weight"][n] for n, c in enumerate(text)]
    y = torch.stack(rows + [p["cls_token_embed"][0, 0]])
    # the last token reads digits alone; a leading zero reads nothing real, and nothing reads it
    first, size = text.count(" "), width // heads
    y = y[first:]
    seen = torch.ones(len(y), len(y), dtype=torch.bool).tril()
    for n in range(layers):
        part = {name.removeprefix(f"transformers.{n}."): value for name, value in p.items() if name.startswith(f"transformers.{n}.")}
        z = nn.functional.layer_norm(y, (width,), part["layernorm_1.weight"], part["layernorm_1.bias"], 1e-5)
        q, k, v = ((z @ part["attn.c_attn.weight"] + part["attn.c_attn.bias"]).chunk(3, -1))
        out = [((q[:, h] @ k[:, h].T / math.sqrt(size)).masked_fill(~seen, -math.inf).softmax(-1) @ v[:, h])
               for h in (slice(h * size, (h + 1) * size) for h in range(heads))]
        y = y + torch.cat(out, -1) @ part["attn.c_proj.weight"] + part["attn.c_proj.bias"]
        z = nn.functional.layer_norm(y, (width,), part["layernorm_2.weight"], part["layernorm_2.bias"], 1e-5)
        z = nn.functional.gelu(z @ part["mlp.c_fc.weight"] + part["mlp.c_fc.bias"], approximate="tanh")
        y = y + z @ part["mlp.c_proj.weight"] + part["mlp.c_proj.bias"]
    return y[-1] @ p["out_proj.weight"].T + p["out_proj.bias"]


if __name__ == "__main__":
    for make in (leropes, inklings, riflexes, clips, in_distribution, denoised, sampled, x_transformers, digits):
        make()
    write()
