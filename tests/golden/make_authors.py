"""Golden vectors by the authors' own code, where other files of this folder have only our reading of the paper.

    OMP_NUM_THREADS=1 python3 make_authors.py AUTHORS [RANDOMISED.json]

AUTHORS is a folder with a folder OWNER+NAME for each repository, unpacked at the commit:

    naver-ai/rope-vit ce85c2e5                          alemassaad/efficient-rpe-vit 7edf2608 (third party)
    TsinghuaC3I/Fourier-Position-Embedding bd94b20d     yl6034-gif/datamining-project e41e146c (third party)
    datamllab/LongLM cdbbb061                           RationAI/nuclei-foundation-model ae27a758 (third party)
    bojone/rerope acfe7884                              sohamsamal/Sparse-Cayley-STRING-RPEs-for-ViTs 9779a035 (third party)
    guolinke/TUPE 4c64ff74                              JHLew/Learnable-Fourier-Features f5377bbf (third party)
    chuanyang-Zheng/DAPE bde344a8                       willGuimont/learnable_fourier_positional_encoding 1fe87e28 (third party)
    mcleish7/arithmetic 86022a57 (third party)          model-architectures/GRAPE f5b539f3
    chijames/KERPLE 25be3d71                            jquesnelle/yarn 995db5b5
    google-deepmind/randomized_positional_encodings e8c64749

RANDOMISED.json is what authors_randomised.py wrote, in an environment with jax; without it that encoding is left out. torch 2.15,
einops 0.8 and numpy installed. Classes and functions are taken out of the files one by one and run in float64; a case is written only
if the slow formula here agrees with them and every wrong convention is far off. What disagrees with gnomon's page is printed.
authors_layers.py and authors_biases.py are parts of this script.
"""

from authors_biases import dape, fire, fouriers, grape_additive, kerple, randomised, tupe
from authors_layers import *


def by_distance(q, k, distance, w):
    """Logits when the query of every pair turns by its own distance; w are the frequencies of the first 2·len(w) channels."""
    H, T, D = q.shape
    R = 2 * len(w)
    scores = torch.zeros(H, T, T)
    for i in range(T):
        for j in range(i + 1):
            turned = torch.cat((turn(q[:, i, :R], -torch.as_tensor(distance(i, j)) * -w), q[:, i, R:]), -1)
            scores[:, i, j] = (turned * k[:, j]).sum(-1) / math.sqrt(D)
    return scores


def turned_by(angles, layout="half"):
    return lambda q, k: plain(turn(q, angles, layout), turn(k, angles, layout))


def mixed():
    """RoPE-Mixed: their attention with its class token, and their tables on a grid of 3 rows and 4 columns."""
    names = ["init_t_xy", "compute_mixed_cis", "reshape_for_broadcast", "apply_rotary_emb"]
    H, D = 2, 12
    found, source = theirs("naver-ai/rope-vit ce85c2e5", "self-attn/rope_self_attn.py", names + ["Attention", "init_2d_freqs", "RoPEAttention"],
                           partial=__import__("functools").partial)
    q, k = drawn(H, 10, D, 101)
    y, x = draw(H, D // 2, seed=103), draw(H, D // 2, seed=104)
    module = found[-1](H * D, num_heads=H)
    module.freqs.data = torch.stack((x, y)).reshape(2, -1)
    module.qkv, module.attn_drop = Given(q, k, k), Recorder()
    module(torch.zeros(1, 10, H * D))
    places = torch.cat((torch.zeros(1, 2), torch.cartesian_prod(torch.arange(3.0), torch.arange(3.0))))

    def scores(q, k, places, first=y, second=x, layout="pairs"):
        return turned_by(places[:, :1] * first[:, None] + places[:, 1:] * second[:, None], layout)(q, k)

    def wrong(q, k, places, y, x):
        return {"axes swapped": scores(q, k, places, x, y), "halves": scores(q, k, places, y, x, "half"),
                "rows alone": scores(q, k, places, y, 0 * x), "angle of the other head": scores(q, k, places, y.flip(0), x.flip(0))}

    case("rope_mixed(pairing=adjacent)", source, q, k, module.attn_drop.seen, scores(q, k, places), wrong(q, k, places, y, x),
         ["rope_mixed(pairing=halves)", "rope_axial(pairing=adjacent)"], causal=False, positions=places.tolist(),
         params={"frequencies": torch.stack((y, x))})
    H, D = 3, 8
    found, source = theirs("naver-ai/rope-vit ce85c2e5", "deit/models_v2_rope.py", names)
    q, k = drawn(H, 12, D, 105)
    y, x = draw(H, D // 2, seed=107), draw(H, D // 2, seed=108)
    t_x, t_y = found[0](4, 3)
    table = found[1](torch.stack((x, y)).reshape(2, 1, -1), t_x, t_y, H)[0]
    places = torch.stack((t_y, t_x), -1)
    case("rope_mixed(pairing=adjacent, columns=4)", source, q, k, softmax(plain(*(t[0] for t in found[3](q[None], k[None], table))), False),
         scores(q, k, places, y, x), wrong(q, k, places, y, x), ["rope_mixed(pairing=adjacent, columns=3)", "rope_mixed(columns=4)"],
         causal=False, positions=list(range(12)), params={"frequencies": torch.stack((y, x))})


def fourier_position(config, cache, q, k, sine, cosine):
    found, source = theirs("TsinghuaC3I/Fourier-Position-Embedding bd94b20d", "olmo/model.py", ["RotaryEmbedding", "FourierEmbedding"],
                           _non_meta_init_device=lambda config: torch.device("cpu"))
    module = found[1](config, cache)
    if config.fourier_separate_basis:
        module.sin_coef.data, module.cos_coef.data = (c[:, : module.input_dim, : module.output_dim] for c in (sine, cosine))
    else:
        module.fourier_coef.data = cosine[:, : module.input_dim, : module.output_dim]
    return module(q[None], q.shape[1])[0], module(k[None], k.shape[1])[0], source


def fope():
    for H, D, T, theta, length, seed in ((3, 8, 9, 100, 40, 111), (2, 12, 10, 10000, 200, 115)):
        q, k = drawn(H, T, D, seed)
        C, other = (torch.eye(D // 2) + 0.3 * draw(H, D // 2, D // 2, seed=s) for s in (seed + 2, seed + 3))
        options = dict(d_model=H * D, n_heads=H, rope_theta=theta, max_sequence_length=length, rope_init_distribution="exponential",
                       rope_learnable=False, rope_include_neg_freq=False, rope_no_repetition=False, rope_init_floor_freq=0.0,
                       rope_init_upper_freq=1.0, rope_clamp_floor_freq=True, rope_floor_freq_ratio=1.0, rope_clamp_floor_to_zero=True,
                       rope_clamp_upper_freq=False, rope_zero_freq_ratio=-1.0, rope_clamp_to_linear=False, rope_clamp_to_linear_mode="ceil",
                       rope_no_pos=False, rope_full_precision=True, len_extra=False, fourier=True, fourier_dim=0, fourier_norm=False,
                       fourier_init="eye_xavier_norm", fourier_init_norm_gain=0.3, fourier_learnable=False, fourier_separate_head=True)
        config = SimpleNamespace(**options, fourier_separate_basis=False, fourier_ignore_zero=False)
        tq, tk, source = fourier_position(config, {}, q, k, C, C)
        base = powers(theta, D)
        kept = torch.where(base * length >= 2 * math.pi, base, 0.0)

        def scores(C, w, cosines=None, sines=None, layout="half"):
            turns = torch.arange(T)[:, None] * w
            cos = torch.einsum("hfn,tf->htn", C, turns.cos() if cosines is None else cosines)
            sin = torch.einsum("hfn,tf->htn", C, turns.sin() if sines is None else sines)
            n = D // 2

            def spun(x):
                a, b = (x[..., :n], x[..., n:]) if layout == "half" else (x[..., 0::2], x[..., 1::2])
                return torch.cat((a * cos - b * sin, a * sin + b * cos), -1)
            return plain(spun(q), spun(k))

        turns = torch.arange(T)[:, None] * kept
        name = "fope" if theta == 10000 else f"fope(theta={theta}"
        spec = name + ")" if "(" in name else name
        right = softmax(plain(tq, tk), True)
        case(spec, source + ", one basis, zero frequencies kept", q, k, right, scores(C, kept),
             {"slow frequencies kept": scores(C, base), "coefficients transposed": scores(C.transpose(1, 2), kept),
              "sine 1 for a dropped frequency": scores(C, kept, sines=torch.where(kept == 0, 1.0, turns.sin())),
              "cosine 0 for a dropped frequency": scores(C, kept, cosines=torch.where(kept == 0, 0.0, turns.cos())),
              "pairs of neighbours": scores(C, kept, layout="pairs"), "rope": turned_by(torch.arange(T)[None, :, None] * base)(q, k)},
             ["rope" if theta == 10000 else "rope(theta=100)", name + ("(" if theta == 10000 else ", ") + "pairing=adjacent)"],
             params={"coefficients": C}, length=length)
        for basis, zero in ((True, False), (False, True), (True, True)):
            config = SimpleNamespace(**options, fourier_separate_basis=basis, fourier_ignore_zero=zero)
            tq, tk, _ = fourier_position(config, {}, q, k, other if basis else C, C)
            disagrees("fope", f"{spec}, fourier_separate_basis={basis}, fourier_ignore_zero={zero} (published: True, True), weights",
                      softmax(plain(tq, tk), True), right)


def self_extend():
    for name, T, D, theta, window, group, first, seed in (("Llama_4_40", 14, 8, 10000, 6, 4, 0, 121), ("Llama_4_40", 13, 8, 100, 5, 3, 5, 123),
                                                          ("Phi", 13, 16, 1000, 4, 3, 0, 125), ("legacy", 15, 16, 10000, 7, 2, 0, 127)):
        file = "legacy_patch_before_4_38/llama_self_extend_patch.py" if name == "legacy" else f"self_extend_patch/{name}.py"
        names = ["repeat_kv", "rotate_half", "apply_rotary_pos_emb", "self_extend_forward"]
        more = {"Llama_4_40": [], "Phi": ["apply_group_rotary_pos_emb"], "legacy": ["apply_grouped_rotary_pos_emb"]}[name]
        found, source = theirs("datamllab/LongLM cdbbb061", file, more + names, Cache=None)
        q, k = drawn(2, T, D, seed)
        R = D // 2 if name == "Phi" else D
        w = powers(theta, R)
        layer = attention_of_llama(q, k, Rotary(w, by_position=name == "Llama_4_40", flat=name == "Phi"))
        at = torch.arange(T)[None] + first
        mask = torch.zeros(1, 1, T, T).masked_fill(distances(T) < 0, -math.inf)
        out, right, _ = found[-1](layer, torch.zeros(1, T, 2 * D), attention_mask=mask, position_ids=at, output_attentions=name != "legacy",
                                  group_size_1=group, group_size_2=window)
        right = right[0] if name != "legacy" else out[0].reshape(T, 2, D).transpose(0, 1)[..., :T]

        def far(i, j, shift=window - window // group):
            return (i + first) // group - (j + first) // group + shift

        def scores(near, far):
            return by_distance(q, k, lambda i, j: i - j if near(i - j) else far(i, j), w)

        options = "".join([f"window={window}, group={{}}", ", fraction=0.5" if R < D else "", f", theta={theta}" if theta != 10000 else ""])
        spec = "self_extend(" + options + ")"
        case(spec.format(group), source, q, k, right, scores(lambda d: d < window, far),
             {"no shift": scores(lambda d: d < window, lambda i, j: far(i, j, 0)), "the window's end is near": scores(lambda d: d <= window, far),
              "floor of the distance": scores(lambda d: d < window, lambda i, j: (i - j) // group + window - window // group),
              "rerope": scores(lambda d: d < window, lambda i, j: window), "rope": scores(lambda d: True, far)},
             [spec.format(group + 1), "rope", f"rerope(window={window})"], positions=at[0].tolist())


def rerope():
    for theta, window, original, seed in ((100, 4, 4096, 131), (10000, 6, 4096, 133), (10000, 5, 6, 135)):
        T, D = 13, 8
        found, source = theirs("bojone/rerope acfe7884", "rerope_patch.py", ["apply_rotary_pos_emb", "forward_with_rerope"], window=window,
                               training_length=original, rotate_half=lambda x: torch.cat((-x[..., x.shape[-1] // 2:], x[..., : x.shape[-1] // 2]), -1),
                               repeat_kv=lambda x, n: x, Tuple=tuple)
        q, k = drawn(2, T, D, seed)
        w = powers(theta, D)
        at = torch.arange(T)[None]
        mask = torch.zeros(1, 1, T, T).masked_fill(distances(T) < 0, -math.inf)
        right = found[1](attention_of_llama(q, k, Rotary(w)), torch.zeros(1, T, 2 * D), attention_mask=mask, position_ids=at, output_attentions=True)[1][0]
        kept = (k[None, :, :-1], k[None, :, :-1], at[:, :-1])  # decoding: the last query, keys in the cache
        last = found[1](attention_of_llama(q[:, -1:], k[:, -1:], Rotary(w)), torch.zeros(1, 1, 2 * D), position_ids=at[:, -1:], past_key_value=kept,
                        output_attentions=True)[1][0]
        assert (last[:, 0] - right[:, -1]).abs().max() < 1e-12
        growth = ((torch.arange(T) + 1.0).log() / math.log(original)).clamp(min=1)[:, None]

        def scores(distance, growth=growth):
            return growth * by_distance(q, k, distance, w)

        spec = f"rerope(window={{}}{f', theta={theta}' if theta != 10000 else ''})" + (f"+log_n(original={original})" if original < T else "")
        wrong = {"rope": scores(lambda i, j: i - j), "none": growth * plain(q, k), "window less one": scores(lambda i, j: min(i - j, window - 1)),
                 "far keys one step further": scores(lambda i, j: i - j if i - j < window else window + 1)}
        if original < T:
            wrong["no growth"] = scores(lambda i, j: min(i - j, window), 1)
            wrong["growth from ln p"] = scores(lambda i, j: min(i - j, window), (torch.arange(T).clamp(min=1).log() / math.log(original)).clamp(min=1)[:, None])
        case(spec.format(window), source, q, k, right, scores(lambda i, j: min(i - j, window)), wrong,
             [spec.format(window + 1), f"rope(theta={theta})", "none"] + ([f"rerope(window={window})"] if original < T else []), positions=at[0].tolist())


def grape():
    H, D, T = 2, 6, 10
    q, k = drawn(H, T, D, 181)
    (_, one), source = theirs("model-architectures/GRAPE f5b539f3", "model/llama-mha-grape-m-nonctx.py", ["apply_rotary_emb", "MSGRAPECommuting"])

    def module(log):
        grape = one(H, D, share_across_heads=False, cache_dtype=torch.float64)
        grape.log_freq.data = log
        return softmax(plain(*(x[0].transpose(0, 1) for x in grape(q.transpose(0, 1)[None], k.transpose(0, 1)[None]))), True)

    plane, speed = (2, 0), (0.37, 0.81)  # all frequencies but one are e^-200, so that a single plane turns
    log = torch.full((H, D // 2), -200.0)
    a, b = torch.zeros(H, D), torch.zeros(H, D)
    for h in range(H):
        log[h, plane[h]] = math.log(speed[h])
        a[h, plane[h]], b[h, plane[h] + D // 2] = math.sqrt(speed[h]), math.sqrt(speed[h])

    def scores(a, b, factor=1.0):
        group = [[torch.linalg.matrix_exp(factor * t * (torch.outer(a[h], b[h]) - torch.outer(b[h], a[h]))) for t in range(T)] for h in range(H)]
        return plain(*(torch.stack([torch.stack([group[h][t] @ x[h, t] for t in range(T)]) for h in range(H)]) for x in (q, k)))

    case("grape", source + ", one plane of the three turns", q, k, module(log), scores(a, b),
         {"a and b swapped": scores(b, a), "twice as fast": scores(a, b, 2.0), "other head": scores(a.flip(0), b.flip(0)), "none": plain(q, k)},
         ["none", "rope"], positions=list(range(T)), params={"a": a, "b": b})
    log = -draw(H, D // 2, seed=183).abs()
    angles = torch.arange(T)[None, :, None] * log.exp()[:, None]
    right = module(log)
    assert (right - softmax(turned_by(-angles)(q, k), True)).abs().max() < 1e-9
    disagrees("rope_learned", "their planes turn the other way (y1 = x1 cos + x2 sin), weights", right, softmax(turned_by(angles)(q, k), True))


def ntks():
    (half, apply), _ = theirs("jquesnelle/yarn 995db5b5", "scaled_rope/modeling_llama_yarn.py", ["rotate_half", "apply_rotary_pos_emb"])
    far = [0, 1, 6, 19, 33, 64, 101, 180, 255]
    at = torch.tensor(far)

    def spun(module, q, k):
        cos, sin = (y[0, 0] for y in module(q[None], seq_len=256))
        return softmax(plain(*(y[0] for y in apply(q[None], k[None], cos, sin, at[None]))), True)

    for theta, factor, D, seed in ((1000, 8, 16, 201), (10000, 3, 8, 203)):
        q, k = drawn(2, len(far), D, seed)
        (one,), source = theirs("jquesnelle/yarn 995db5b5", "scaled_rope/LlamaNTKScaledRotaryEmbedding.py", ["LlamaNTKScaledRotaryEmbedding"])
        right = spun(one(D, 256, theta, factor), q, k)

        def scores(base, divide=1.0):
            return turned_by(at[None, :, None] * powers(base, D) / divide)(q, k)

        more = f", theta={theta}" if theta != 10000 else ""
        case(f"ntk(factor={factor}{more})", source, q, k, right, scores(theta * factor ** (D / (D - 2))),
             {"base times the factor": scores(theta * factor), "linear": scores(theta, factor), "rope": scores(theta),
              "power D/(D-1)": scores(theta * factor ** (D / (D - 1)))},
             [f"ntk(factor={factor + 1}{more})", f"linear(factor={factor}{more})", f"rope(theta={theta})", f"rope(theta={theta * factor})"], positions=far)
    for theta, factor, original, D, seed in ((10000, 4, 2048, 32, 205), (500, 6, 256, 16, 207)):
        q, k = drawn(2, len(far), D, seed)
        names = ["find_correction_factor", "find_correction_range", "linear_ramp_mask", "find_newbase_ntk", "LlamaPartNTKScaledRotaryEmbedding"]
        found, source = theirs("jquesnelle/yarn 995db5b5", "scaled_rope/LlamaPartNTKScaledRotaryEmbedding.py", names)
        right = spun(found[-1](D, 256, theta, factor, original_max_position_embeddings=original), q, k)
        base, ntk = powers(theta, D), powers(theta * factor ** (D / (D - 2)), D)

        def scores(first=(1.25, 0.75), second=(16, 2), whole=True):
            mixed = []
            for n in range(D // 2):
                w = float(base[n]) / factor
                for (fast, slow), to in ((first, float(ntk[n])), (second, float(base[n]))):
                    low, high = (D * math.log(original / (turns * 2 * math.pi)) / (2 * math.log(theta)) for turns in (fast, slow))
                    low, high = (max(math.floor(low), 0), min(math.ceil(high), D - 1)) if whole else (low, high)
                    share = min(max((n - low) / (high - low if high > low else 0.001), 0.0), 1.0)
                    w = w * share + to * (1 - share)
                mixed.append(w)
            return turned_by(at[None, :, None] * torch.tensor(mixed))(q, k)

        options = f"factor={factor}, original={original}" + (f", theta={theta}" if theta != 10000 else "")
        case(f"ntk_by_parts({options})", source, q, k, right, scores(),
             {"ramps not whole": scores(whole=False), "YaRN's ramp": scores(second=(32, 1)), "ramps swapped": scores((16, 2), (1.25, 0.75)),
              "NTK": turned_by(at[None, :, None] * ntk)(q, k)},
             [f"ntk({options.replace(f', original={original}', '')})", f"yarn({options}, attention_factor=1)",
              f"ntk_by_parts({options.replace(f'factor={factor}', 'factor=3')})"],
             positions=far)


def string():
    """Third parties' STRING; the authors published none. A second one turns before P, where P cancels: its P alone is used."""
    def matrices(skew):
        D = skew.shape[-1]
        return (torch.eye(D) - skew) @ torch.linalg.inv(torch.eye(D) + skew)

    def scores(q, k, P, w, places, layout="pairs", after=False):
        angles = torch.einsum("ta,ahn->htn", places, w)
        if after:
            return plain(*(turn(x, angles, layout) @ P.transpose(-1, -2) for x in (q, k)))
        return turned_by(angles, layout)(*(x @ P.transpose(-1, -2) for x in (q, k)))

    def cayley(spec, other, source, q, k, right, skew, w, places):
        H, _, D = q.shape
        P, upper = matrices(skew), torch.triu_indices(D, D, 1)
        case(spec, source, q, k, right, scores(q, k, P, w, places),
             {"P after the turn": scores(q, k, P, w, places, after=True), "P transposed": scores(q, k, P.transpose(-1, -2), w, places),
              "halves": scores(q, k, P, w, places, "half"), "no P": scores(q, k, torch.eye(D).expand(H, D, D), w, places)}, other, causal=False,
             positions=places.tolist(), params={"frequencies": w, "skew": skew[:, upper[0], upper[1]]})
        return softmax(scores(q, k, P, w, places, after=True), False)

    H, T, D = 2, 10, 8
    q, k = drawn(H, T, D, 211)
    (one,), source = theirs("RationAI/nuclei-foundation-model ae27a758", "nfm/modeling/layers/cayley_string.py", ["CayleySTRING"],
                            orthogonal=nn.utils.parametrizations.orthogonal)
    torch.manual_seed(1)
    module = one(D, 3)
    w, places = draw(3, D // 2, seed=213), torch.round(draw(T, 3, seed=214, size=2.0), decimals=2)
    module.freqs.data = w.clone()
    map_of = module.P.parametrizations.weight  # torch's Cayley map times a base, which is the unit matrix here
    map_of[0].base.copy_(torch.eye(D))
    map_of.original.data = draw(D, D, seed=220)
    P = module.P.weight
    skew = (torch.eye(D) - P) @ torch.linalg.inv(torch.eye(D) + P)
    cayley("cayley_string(pairing=adjacent, axes=3)", ["cayley_string(axes=3)", "none"], source, q, k,
           softmax(plain(*(module(x[None], places[None])[0] for x in (q, k))), False), ((skew - skew.T) / 2).expand(H, D, D),
           w[:, None].expand(3, H, -1), places)
    H, D = 3, 6
    q, k = drawn(H, 12, D, 215)
    names = ["init_t_xy", "compute_mixed_cis", "reshape_for_broadcast", "apply_rotary_emb"]
    (xy, table, _, apply), naver = theirs("naver-ai/rope-vit ce85c2e5", "self-attn/rope_self_attn.py", names)
    (one,), source = theirs("sohamsamal/Sparse-Cayley-STRING-RPEs-for-ViTs 9779a035", "main.py", ["CayleyOrthogonal"])
    module = one(D, H, eps=0.0)
    module.S_raw.data = draw(H, D, D, seed=217, size=0.4)
    w, (t_x, t_y) = draw(2, H, D // 2, seed=218), xy(4, 3)
    turns = table(w.flip(0).reshape(2, -1), t_x, t_y, H)
    right = softmax(plain(*(x[0] for x in apply(module(q[None]).contiguous(), module(k[None]).contiguous(), turns))), False)
    raw = module.S_raw.data
    cayley("cayley_string(pairing=adjacent)", ["cayley_string(pairing=halves)", "none"],
           source + " CayleyOrthogonal with eps=0, then " + naver, q, k, right, raw - raw.transpose(-1, -2), w, torch.stack((t_y, t_x), -1))
    cancelled = softmax(plain(*(module(x)[0] for x in apply(q[None], k[None], turns))), False)
    disagrees("cayley_string", "sohamsamal's CayleyStringAttention multiplies by P after the turn, where it cancels, weights", cancelled, right)

    def circulant(q, k, c, places, transposed=False, rows=False, half=False):
        H, T, D = q.shape
        index = (torch.arange(D)[:, None] - torch.arange(D)) % D
        C = c[..., index.T if rows else index]
        L = (C if half else C - C.transpose(-1, -2)) * (-1 if transposed else 1)
        L = (C - C.transpose(-1, -2)) / 2 if half else L
        group = torch.linalg.matrix_exp(torch.einsum("ta,ahij->htij", places, L).contiguous())
        return plain(*(torch.einsum("htij,htj->hti", group, x) for x in (q, k)))

    def circulants(spec, source, q, k, right, c, places):
        case(spec, source, q, k, right, circulant(q, k, c, places),
             {"first row": circulant(q, k, c, places, rows=True), "half": circulant(q, k, c, places, half=True),
              "axes turned round": circulant(q, k, c.flip(0), places), "none": plain(q, k)},
             [spec.replace("extent=1", "extent=2"), "none"], causal=False, positions=places.tolist(), params={"circulant": c})

    H, D = 3, 7
    q, k = drawn(H, 10, D, 221)
    (base,), _ = theirs("alemassaad/efficient-rpe-vit 7edf2608", "models/rpe/base.py", ["BaseRPE"], ABC=__import__("abc").ABC)
    (one,), source = theirs("alemassaad/efficient-rpe-vit 7edf2608", "models/rpe/circulant_string.py", ["CirculantStringRPE"], BaseRPE=base)
    module = one(10, H * D, H, coord_dim=3)
    c, places = draw(3, H, D, seed=223, size=0.5), torch.round(draw(10, 3, seed=224), decimals=2)
    module.circulant_coeffs.data = c.transpose(0, 1).clone()
    right = softmax(plain(*(module.apply_rotation(x[None], places)[0] for x in (q, k))), False)
    circulants("circulant_string(axes=3, extent=1)", source, q, k, right, c, places)
    H, D = 2, 10
    q, k = drawn(H, 12, D, 225)
    (one,), source = theirs("yl6034-gif/datamining-project e41e146c", "model_performer_string.py", ["CirculantSTRING"])
    c, places = draw(2, H, D, seed=227, size=0.5), torch.cartesian_prod(torch.arange(3.0), torch.arange(4.0))
    module = one(H, D, 3, 4)
    module.c_row.data, module.c_col.data = c[0].clone(), c[1].clone()
    circulants("circulant_string(extent=1)", source, q, k, softmax(plain(*(module(x[None])[0] for x in (q, k))), False), c, places)


if __name__ == "__main__":
    for make in (mixed, fope, self_extend, rerope, tupe, fire, dape, grape, grape_additive, kerple, ntks, string, fouriers):
        make()
    if len(sys.argv) > 2:
        randomised()
    write()
