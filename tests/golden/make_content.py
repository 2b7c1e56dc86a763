"""Golden vectors of encodings that read the content: gates, reflections, angles and positions from the tokens.

    python3 make_content.py FLA SELECTIVE_ROPE.py REPO CABLE.py SIREN_ROPE.py

FLA is a folder with path_naive.py, path_layer.py, wall_naive.py and wall_layer.py: naive.py of fla/ops/path_attn and
fla/ops/wall_attn, path_attn.py and wall_attn.py of fla/layers, flash-linear-attention at bc3b101d. SELECTIVE_ROPE.py is
src/selective_rope/modules/rotary.py of timurcarstensen/selective-rope at d12e8250. REPO is a folder with OLMo/olmo/model.py
and modeling_olmo2.py of SakanaAI/repo at 1508a73a. CABLE.py is src/Cable.py of axiomlab/Cable at 8bc6b83e. SIREN_ROPE.py
is siren_rope/models/siren_rope.py of hailingc/siren_rope at 8bdbd838. x-transformers 2.31.10, torch 2.15 and einops 0.8
installed.
"""

import sys
from types import SimpleNamespace
from typing import Literal

from einops import rearrange
from torch import nn
from x_transformers.x_transformers import CoPE

from content_rules import *

FILE = "content"
fla, selective, repo, cable, siren = map(pathlib.Path, sys.argv[1:6])
F = nn.functional
FLA, OWN = "flash-linear-attention bc3b101d ", "torch 2.15 from arXiv "


class Convolution(nn.Module):
    """What fla's ShortConvolution computes, by torch's own convolution."""

    def __init__(self, hidden_size, kernel_size, bias=False, activation=None, dtype=None):
        super().__init__()
        self.weight, self.activation = nn.Parameter(torch.zeros(hidden_size, 1, kernel_size)), activation

    def forward(self, x, **_):
        y = F.conv1d(F.pad(x.transpose(1, 2), (self.weight.shape[-1] - 1, 0)), self.weight, groups=x.shape[-1]).transpose(1, 2)
        return (F.silu(y) if self.activation in ("silu", "swish") else y), None


def scope(**more):
    return {"torch": torch, "nn": nn, "F": F, "math": math, "rearrange": rearrange, "ShortConvolution": Convolution,
            "Literal": Literal, "l2_norm": lambda x, **_: unit(x), "RCP_LN2": 1 / math.log(2), **more}


def given(module, **tensors):
    """The layer computes q, k, v from its input; here they are given."""
    for name, value in tensors.items():
        delattr(module, name)
        setattr(module, name, lambda _, value=value: value[None])


def flat_heads(y):
    return y.transpose(0, 1).flatten(1)


def by_layer(name, file, naive, q, k, x, params, **options):
    """Attention weights of a layer of fla: its naive operator in place of the kernel, values that are a unit matrix."""
    T, found = x.shape[0], {}

    def operator(q, k, v, *more, **named):
        named = {key: value for key, value in named.items() if value is not None and key != "cu_seqlens"}
        unity = torch.eye(T)[None, :, None].expand(1, T, H, T)
        if name == "PaTHAttention":
            named.setdefault("g", torch.zeros(1, T, H))
            named["chunk_size"] = 4  # several chunks, the last one not full
        found["weights"] = naive(q, k, unity, *more, scale=D**-0.5, **named)[0].transpose(0, 1)
        return (torch.zeros(1, T, H, D), None) if name == "PaTHAttention" else torch.zeros(1, T, H, D)

    layer = definitions(doubled(fla / file), [name], scope(parallel_path_attn=operator, parallel_wall_attn=operator))[0]
    module = layer(hidden_size=C, num_heads=H, **options)
    given(module, q_proj=flat_heads(q), k_proj=flat_heads(k))
    for key, value in params.items():
        module.get_parameter(key).data = value.reshape(module.get_parameter(key).shape)
    module(x[None])
    return found["weights"]


def path_inputs(x, p, *, low=True, conv=True, activation=True, norm=True, top=2.0):
    """w (H, T, D), beta (H, T) and the logarithms of the forget gates from x (T, C)."""
    y = x @ p["w_proj.0.weight"].T @ p["w_proj.1.weight"].T if low else x @ p["w_proj.weight"].T
    y = convolved(y, p["w_conv1d.weight"]) if conv else y
    y = (silu(y) if conv and activation else y).reshape(-1, H, D).transpose(0, 1)
    beta = top * (x @ p["bt_proj.weight"].T + p["bt_proj.bias"]).sigmoid().T
    gate = F.logsigmoid(x @ p["g_proj.weight"].T + p["g_proj.bias"]).T if "g_proj.weight" in p else None
    return unit(y) if norm else y, beta, gate


def paths():
    (naive,) = definitions(doubled(fla / "path_naive.py"), ["naive_path_attn"], scope())
    for seed, low, conv, forget in ((1, True, True, False), (21, False, False, False), (41, True, True, True)):
        q, k, x = inputs_of(seed, 11)
        p = {"w_proj.0.weight": draw(32, C, seed=seed + 3, size=0.3), "w_proj.1.weight": draw(C, 32, seed=seed + 4, size=0.3)} \
            if low else {"w_proj.weight": draw(C, C, seed=seed + 3, size=0.3)}
        if conv:
            p["w_conv1d.weight"] = draw(C, 3, seed=seed + 5)
        p |= {"bt_proj.weight": draw(H, C, seed=seed + 6, size=0.4), "bt_proj.bias": draw(H, seed=seed + 7)}
        if forget:
            p |= {"g_proj.weight": draw(H, C, seed=seed + 8, size=0.4), "g_proj.bias": draw(H, seed=seed + 9)}
        right = by_layer("PaTHAttention", "path_layer.py", naive, q, k, x, p, use_low_rank_w=low, use_w_shortconv=conv,
                         use_forget_gate=forget)
        kinds = dict(low=low, conv=conv)
        w, beta, gate = path_inputs(x, p, **kinds)
        wrong = {"H_{j+1} touches the query first": path(q, k, w, beta, gate, order="key_first", gate_scaled=True),
                 "H_j is in the product": path(q, k, w, beta, gate, own=True, gate_scaled=True),
                 "w is not of length 1": path(q, k, *path_inputs(x, p, norm=False, **kinds), gate_scaled=True),
                 "beta in (0, 1)": path(q, k, *path_inputs(x, p, top=1.0, **kinds), gate_scaled=True),
                 "no scale of q.k": path(q, k, w, beta, gate, scaled=False, gate_scaled=True),
                 "none": softmax(plain(q, k), True)}
        if conv:
            backward = p | {"w_conv1d.weight": p["w_conv1d.weight"].flip(-1)}
            wrong |= {"no silu after the convolution": path(q, k, *path_inputs(x, p, activation=False, **kinds), gate_scaled=True),
                      "first tap meets the own token": path(q, k, *path_inputs(x, backward, **kinds), gate_scaled=True)}
        if forget:
            wrong |= {"no forget gate": path(q, k, w, beta), "gate outside the scale": path(q, k, w, beta, gate)}
        words = f"PaTH, {'low rank w' if low else 'full w'}, {'convolution and silu' if conv else 'no convolution'}"
        checked(FILE, words + (", forget gate times the scale as in fla" if forget else ""), FLA + "layers and ops/path_attn", q, k,
                right=right, slow=path(q, k, w, beta, gate, gate_scaled=True), wrong=wrong, x=x, params=p)
        if forget:
            checked(FILE, words + ", forget gate outside the scale as in the paper", OWN + "2505.16381v2 section 2.2", q, k,
                    right=path(q, k, w, beta, gate), x=x, params=p,
                    wrong={"gate times the scale": right, "no forget gate": path(q, k, w, beta)})


def walls():
    def sums(g, scale, **_):
        return g.cumsum(1) * scale

    for seed, scalar, sink, most in ((2, False, None, None), (22, True, draw(H, seed=9), None), (42, False, None, 0.86)):
        q, k, x = inputs_of(seed)
        p = {"g_proj.weight": draw(C, C, seed=seed + 3, size=0.4), "g_proj.bias": draw(C, seed=seed + 4)}
        if scalar:
            p |= {"gs_proj.weight": draw(H, C, seed=seed + 5, size=0.4), "gs_proj.bias": draw(H, seed=seed + 6)}
        g = F.logsigmoid(x @ p["g_proj.weight"].T + p["g_proj.bias"]).reshape(-1, H, D).transpose(0, 1)
        s = F.logsigmoid(x @ p["gs_proj.weight"].T + p["gs_proj.bias"]).T if scalar else None
        (naive,) = definitions(doubled(fla / "wall_naive.py"), ["naive_wall_attn"], scope(chunk_global_cumsum=sums))

        def operator(*args, **named):  # the layer has no sink; the operator has
            return naive(*args, sink_bias=sink, **{n: v for n, v in named.items() if n != "window_size"})

        right = by_layer("WallAttention", "wall_layer.py", operator, q, k, x, p, use_scalar_gate=scalar)
        if most:
            g, free = most * torch.expm1(g / most), right
            right = wall(q, k, g)
        wrong = {"decay 2^G": wall(q, k, g, s, sink, base=2.0), "gate of j counts": wall(q, k, g, s, sink, own=True),
                 "one gate for all channels of a head": wall(q, k, g.mean(-1, keepdim=True).expand_as(g), s, sink),
                 "gates of the other head": wall(q, k, g.flip(0), s, sink), "none": softmax(plain(q, k), True)}
        if scalar:
            wrong |= {"scalar gate times the scale": wall(q, k, g, s, sink, scalar_scaled=True),
                      "no sink": wall(q, k, g, s), "sink times the scale": wall(q, k, g, s, sink * D**-0.5)}
        if most:
            wrong["gate without its bound"] = free
        words = "wall, gates by channel" + (", scalar gate and sink" if scalar else "") + (f", gates bound to {most}" if most else "")
        source = "torch 2.15 from wall-attention-release f3b8ee96 gates.py" if most else FLA + "layers and ops/wall_attn"
        checked(FILE, words, source, q, k, right=right, slow=wall(q, k, g, s, sink), wrong=wrong, x=x,
                params=p | ({"sink": sink} if sink is not None else {}))


def selective_angles(x, p, o, *, whole=False, norm=True, own=True, backward=False, raw_bias=False):
    """Angles (H, T, D/2) of Selective RoPE from x (T, C); o are the options of the authors' module."""
    T = x.shape[0]
    z = x.reshape(T, H, D) if not whole else x
    z = (unit(z) if norm else z).reshape(T, C)
    if o.get("phi_parametrization", "low-rank") == "low-rank":
        phi = z @ p["phi_proj.0.weight"].T @ p["phi_proj.1.weight"].T
    else:
        columns = F.normalize(p["phi_proj.weight"], dim=-2) * p["phi_proj.scalar"][:, None, None]
        phi = torch.einsum("thi,hio->tho", z.reshape(T, H, D), columns).flatten(1)
    if o.get("skip_conv"):
        phi = torch.cat((phi[:1], phi[1:] - phi[:-1]))
    else:
        taps = p["phi_conv1d.weight"]
        phi = convolved(phi, taps.flip(-1) if backward else taps)
        phi = silu(phi) if o.get("conv_act") else phi
    phi = phi.reshape(T, H, D // 2)
    if o.get("use_bias"):
        phi = phi + (p["phi_bias"] if raw_bias else p["phi_bias"].exp())
    if o.get("use_gate"):
        phi = phi * (z @ p["phase_gate_proj.weight"].T + p["phase_gate_proj.bias"]).sigmoid()[..., None]
    sums = phi.cumsum(0)
    theta, kind = o.get("temp_theta", 500000), o.get("temp_type", "rope")
    a = torch.linspace(0, theta * math.pi, D // 2)
    temperature = powers(theta, D) if kind == "rope" else (a / 2).tan() / (a / 2).tan().max()
    return (sums if own else sums - phi).transpose(0, 1) * temperature


def selectives():
    names = ["rotary_temperature", "ChunkedLinear", "SelectiveRoPE"]
    module = definitions(doubled(selective), names, scope())[-1]
    options = ({"phi_proj_rank": 3}, {"phi_proj_rank": 4, "conv_act": "silu", "use_bias": True, "use_gate": True, "temp_theta": 100.0},
               {"phi_parametrization": "full-rank", "temp_theta": 0.9, "temp_type": "rfa"}, {"phi_proj_rank": 3, "skip_conv": True})
    for n, o in enumerate(options):
        seed = 3 + 20 * n
        q, k, x = inputs_of(seed)
        rope = module(head_k_dim=D, model_dim=C, num_heads=H, **o)
        p = {name: draw(*value.shape, seed=seed + 3 + m) for m, (name, value) in enumerate(rope.named_parameters()) if name != "temperature"}
        for name, value in p.items():
            rope.get_parameter(name).data = value
        turned = rope(q.transpose(0, 1)[None], k.transpose(0, 1)[None], x[None])[:2]
        right = softmax(plain(*(y[0].transpose(0, 1) for y in turned)), True)
        p = {name: value.reshape(C // 2, -1) if "conv1d" in name else value.reshape(H, -1) if name == "phi_bias" else value
             for name, value in p.items()}
        angles = selective_angles(x, p, o)
        wrong = {"pairs of neighbours": rotated(q, k, angles, "pairs"), "angles negative": rotated(q, k, -angles),
                 "x not of length 1": rotated(q, k, selective_angles(x, p, o, norm=False)),
                 "length 1 over all heads": rotated(q, k, selective_angles(x, p, o, whole=True)),
                 "own token not in the sum": rotated(q, k, selective_angles(x, p, o, own=False)),
                 "angles of the other head": rotated(q, k, angles.flip(0)), "none": softmax(plain(q, k), True),
                 "rope": rotated(q, k, torch.arange(10.0)[None, :, None] * powers(500000, D))}
        if not o.get("skip_conv"):
            wrong["first tap meets the own token"] = rotated(q, k, selective_angles(x, p, o, backward=True))
            wrong["no convolution"] = rotated(q, k, selective_angles(x, p | {"phi_conv1d.weight": torch.eye(4)[3].repeat(C // 2, 1)}, o))
        if o.get("use_bias"):
            wrong["bias is not exp"] = rotated(q, k, selective_angles(x, p, o, raw_bias=True))
            wrong["no gate"] = rotated(q, k, selective_angles(x, p, o | {"use_gate": False}))
            wrong["no silu"] = rotated(q, k, selective_angles(x, p, o | {"conv_act": None}))
        words = ", ".join(f"{key}={value}" for key, value in o.items())
        checked(FILE, "selective RoPE, " + words, "timurcarstensen/selective-rope d12e8250 modules/rotary.py", q, k, right=right,
                slow=rotated(q, k, angles), wrong=wrong, x=x, params=p)


def caropes():
    for seed, layout in ((4, "half"), (24, "pairs")):
        q, k, x = inputs_of(seed)
        weight = draw(H, C, seed=seed + 3, size=0.3)
        z = (x @ weight.T).T
        f = 1 / (F.softplus(z) + 1)
        other = "pairs" if layout == "half" else "half"
        wrong = {"powers begin at 1": carope(q, k, f, first=1, layout=layout), "own token not in the sum": carope(q, k, f, own=False, layout=layout),
                 "f times the position, no sum": carope(q, k, f, accumulated=False, layout=layout),
                 "f is a sigmoid": carope(q, k, z.sigmoid(), layout=layout), "other pairs": carope(q, k, f, layout=other),
                 "softplus is exp": carope(q, k, 1 / (z.exp() + 1), layout=layout), "none": softmax(plain(q, k), True)}
        checked(FILE, f"CARoPE, powers from 0, {layout}", OWN + "2507.23083v1 section 2", q, k, right=carope(q, k, f, layout=layout),
                wrong=wrong, x=x, params={"weight": weight})


def repos():
    names = ["from_positions", "dynamic_position_encoding_swigluex_multihead"]
    olmo = definitions(doubled(repo / "model.py"), names, scope())
    names = ["rotate_half", "apply_rotary_pos_emb", names[1]]
    half, turn_hf, positions_hf = definitions(doubled(repo / "modeling_olmo2.py"), names, scope())
    for n, (theta, mixed) in enumerate(((500000, 0.0), (10000, 0.0), (10000, 0.3))):
        seed = 5 + 20 * n
        q, k, x = inputs_of(seed)
        p = {"gate.weight": draw(C // 8, C, seed=seed + 3), "content.weight": draw(C // 8, C, seed=seed + 4),
             "out.weight": draw(H, C // 8, seed=seed + 5)}
        table = SimpleNamespace(config=SimpleNamespace(d_model=C, n_heads=H, rope_theta=theta))
        block = SimpleNamespace(pe_gen_func=lambda positions: olmo[0](table, positions), **{
            name + "_map": lambda y, w=p[key + ".weight"]: y @ w.T for name, key in (("gate", "gate"), ("content", "content"), ("final", "out"))})
        index = torch.arange(10)[None] + 3
        if mixed:
            cos, sin = positions_hf(block, x[None], index, dynamic_pe_pdrop=mixed)[1]
        else:
            cos, sin = olmo[1](block, x[None], index)[1]
        right = softmax(plain(*(y[0] for y in turn_hf(q[None], k[None], cos, sin))), True)

        def angles(gated=True, silu_of="gate", mix=mixed):
            a, b = x @ p["gate.weight"].T, x @ p["content.weight"].T
            hidden = (silu(a) * b if silu_of == "gate" else a * silu(b)) if gated else a
            z = (hidden @ p["out.weight"].T).T
            return ((1 - mix) * z + mix * index)[..., None] * powers(theta, D)

        wrong = {"silu of the content, not of the gate": rotated(q, k, angles(silu_of="content")), "no gate": rotated(q, k, angles(gated=False)),
                 "one position for all heads": rotated(q, k, angles().mean(0, keepdim=True)), "positions add up": rotated(q, k, angles().cumsum(1)),
                 "index added": rotated(q, k, angles() + index[..., None] * powers(theta, D)), "pairs of neighbours": rotated(q, k, angles(), "pairs"),
                 "none": softmax(plain(q, k), True), "rope": rotated(q, k, index[..., None] * powers(theta, D))}
        checked(FILE, f"RePo, theta={theta}" + (f", a part {mixed} of the index" if mixed else ""), "SakanaAI/repo 1508a73a " + (
            "transformers/models/olmo2" if mixed else "OLMo/olmo/model.py"), q, k, right=right, slow=rotated(q, k, angles()),
            wrong=wrong, x=x, params=p, positions=index[0].tolist())


def gapes():
    for seed, theta, first, length in ((6, None, 0, 10), (26, 10000.0, 0, 10), (46, 10000.0, 7, 32)):
        q, k, _ = inputs_of(seed)
        p = {"query.weight": draw(H, D, seed=seed + 3), "query.bias": draw(H, seed=seed + 4), "key.weight": draw(H, D, seed=seed + 5),
             "key.bias": draw(H, seed=seed + 6), "amplitude": 2 + draw(H, seed=seed + 7)}
        frequencies = powers(theta, D) if theta else torch.zeros(D // 2)
        positions = [float(t + first) for t in range(10)]
        common = dict(length=length, positions=positions, frequencies=frequencies)
        wrong = {"key protects when its gate is 0": gape(q, k, p, swapped=True, **common), "times 1/sqrt(D)": gape(q, k, p, scaled=True, **common),
                 "sign turned": gape(q, k, p, sign=-1.0, **common), "not divided by the length": gape(q, k, p, **common | {"length": 1}),
                 "none": softmax(plain(q, k), True), "without the gates": gape(q, k, p, sign=0.0, **common)}
        if theta:
            wrong["gates read turned q and k"] = gape(q, k, p, late=True, **common)
        checked(FILE, f"GAPE over {'rope' if theta else 'none'}, length={length}", OWN + "2605.10414 as its co-author's page gives it", q, k,
                right=gape(q, k, p, **common), wrong=wrong, params=p, positions=positions)


def cables():
    found = {}

    def record(scores, dim):
        found["weights"] = scores.softmax(dim)
        return found["weights"]

    layer = definitions(doubled(cable), ["CausalSelfAttention"], scope(F=SimpleNamespace(softmax=record, softplus=F.softplus)))[0]
    for seed in (7, 27):
        q, k, x = inputs_of(seed)
        weight, bias = draw(H, C, seed=seed + 3, size=0.3), draw(H, seed=seed + 4)
        module = layer(SimpleNamespace(n_embd=C, n_head=H, block_size=10))
        module.device = "cpu"
        given(module, c_attn=torch.cat((flat_heads(q), flat_heads(k), x), -1))
        module.h_attn.weight.data, module.h_attn.bias.data = weight, bias
        module(x[None])
        z = (x @ weight.T + bias).T
        step = F.softplus(z)
        papers = by_bias(q, k, step, D**-0.5)
        wrong = {"q.k scaled by 1/sqrt(D)": papers, "logsigmoid(z), as FoX": by_bias(q, k, F.softplus(-z), 1.0),
                 "step of j counts, not of i": by_bias(q, k, step.roll(1, 1), 1.0), "none": softmax(q @ k.transpose(-1, -2), True)}
        checked(FILE, "Cable, q.k not scaled, as published code", "axiomlab/Cable 8bc6b83e src/Cable.py", q, k, right=found["weights"][0],
                slow=by_bias(q, k, step, 1.0), wrong=wrong, x=x, params={"weight": weight, "bias": bias})
        wrong = {"q.k not scaled": found["weights"][0], "logsigmoid(z), as FoX": by_bias(q, k, F.softplus(-z), D**-0.5),
                 "bias scaled too": by_bias(q, k, step * D**-0.5, D**-0.5), "none": softmax(plain(q, k), True)}
        checked(FILE, "Cable, q.k scaled by 1/sqrt(D)", OWN + "2503.08067", q, k, right=papers, wrong=wrong, x=x,
                params={"weight": weight, "bias": bias})


def cope(q, k, table, *, soft=None, mix=None, own=True):
    """CoPE, arXiv 2405.18719: a key is as far as the gates from it to the query add up to. table (positions, D)."""
    T = q.shape[1]
    scores = plain(q, k)
    gates = (scores if mix is None else torch.einsum("gh,hij->gij", mix, scores)).sigmoid()

    def logit(h, i, j):
        far = gates[h, i, j if own else j + 1: i + 1].sum().clamp(max=len(table) - 1)
        at = table @ q[h, i]
        if soft is not None:
            return scores[h, i, j] + (-(far - torch.arange(len(table))).abs() / soft).softmax(-1) @ at
        low, part = int(far.floor()), far - far.floor()
        return scores[h, i, j] + (1 - part) * at[low] + part * at[min(low + 1, len(table) - 1)]

    return pairs(logit, H, T)


def copes():
    gates, attend = definitions(doubled(repo / "model.py"), ["cope", "cope_attn"], scope())
    mask = torch.ones(10, 10, dtype=torch.bool).triu(1)
    for seed, kind in ((10, "by RePo"), (30, "gates of mixed heads"), (50, "soft one-hot, temperature 0.05")):
        q, k, _ = inputs_of(seed)
        p = {"table": draw(4, D, seed=seed + 3)}
        mix = None
        if kind == "by RePo":
            block = SimpleNamespace(max_cope_length=4, dynamic_map=lambda y: y @ p["table"].T)
            block.cope = lambda *y: gates(block, *y)
            unity = torch.eye(10, 2 * D)  # its scale comes from the size of the values
            right = torch.cat([attend(block, q[None], k[None], part.expand(1, H, -1, -1), None, 0.0)[0] for part in unity.split(D, 1)], -1)
            right, source = right[..., :10], "SakanaAI/repo 1508a73a OLMo/olmo/model.py"
        if kind == "gates of mixed heads":
            mix = p["mix"] = draw(H, H, seed=seed + 4)
            module = CoPE(D, H, 4, talking_heads=True)
            module.pos_emb.data, module.talking_heads.weight.data = p["table"], mix[..., None, None]
            scores = plain(q, k).masked_fill(mask, -1e30)
            right, source = softmax(scores + module(q[None], scores[None])[0], True), "x-transformers 2.31.10 CoPE"
        soft = 0.05 if kind.startswith("soft") else None
        slow = cope(q, k, p["table"], soft=soft, mix=mix)
        if soft:  # the authors' line for it stops with an error of shapes
            right, source = slow, "torch 2.15 from x-transformers 2.31.10 CoPE(soft_onehot)"
        wrong = {"gate of j does not count": cope(q, k, p["table"], soft=soft, mix=mix, own=False),
                 "one position less": cope(q, k, p["table"][:3], soft=soft, mix=mix), "none": softmax(plain(q, k), True)}
        if mix is not None or soft:
            wrong["heads not mixed" if mix is not None else "between two positions"] = cope(q, k, p["table"])
        checked(FILE, f"CoPE, 4 positions, {kind}", source, q, k, right=right, slow=slow, wrong=wrong, params=p)


def tapas():
    ordinary, real = [float(t) for t in range(9)], [0.0, 0.5, 0.75, 2.25, 3.0, 5.5, 8.0, 8.125, 13.0]
    for seed, o, positions, causal in ((8, {}, ordinary, True), (28, {"alpha": 0.5, "share": 0.25}, [t + 5 for t in ordinary], True),
                                       (48, {"alpha": 0.3, "share": 0.75}, real, True), (68, {}, real, False)):
        q, k, _ = inputs_of(seed, 9)
        o = {"positions": positions, "causal": causal, **o}
        wrong = {"distance divided by alpha": tapa(q, k, divided=True, **o), "no 2 pi": tapa(q, k, turns=1.0, **o),
                 "phase channels first": tapa(q, k, phase_first=True, **o), "both roots of D": tapa(q, k, whole=True, **o),
                 "distance without its power": tapa(q, k, **o | {"alpha": 1.0}), "none": softmax(plain(q, k), causal)}
        checked(FILE, f"TAPA, alpha={o.get('alpha', 0.1)}, share={o.get('share', 0.5)}", OWN + "2509.12635 equation 12", q, k,
                right=tapa(q, k, **o), wrong=wrong, positions=positions, causal=causal)


def siren_angles(features, p, o, order, *, inside=True, relu=True, tile="interleave"):
    """Angles (T, D/2) of SIREN-RoPE from time features (T, d), hidden layers of width o["hidden"]."""
    y, r = features, features
    depth = o["layers"]
    for n in range(depth + 1):
        w, b = p[f"sine.{n}.weight"], p[f"sine.{n}.bias"]
        y = (o["omega"] * (y @ w.T + b)).sin() if inside else (o["omega"] * (y @ w.T) + b).sin()
        r = (r @ p[f"relu.{n}.weight"].T + p[f"relu.{n}.bias"]).relu()
    last = str(depth + 1)
    f = y @ p[f"sine.{last}.weight"].T + p[f"sine.{last}.bias"]
    f = f + (r @ p[f"relu.{last}.weight"].T + p[f"relu.{last}.bias"]) if relu else f
    f = f * p["frequency"]
    repeats = D // 2 // f.shape[-1]
    f = f.repeat_interleave(repeats, -1) if tile == "interleave" else f.repeat(1, repeats)
    return f + torch.as_tensor(order)[:, None] * powers(100000, D) * p["order_scale"]


def sirens():
    rope_class, _, network = definitions(doubled(siren), ["RoPE", "SineLayer", "SIREN"], scope())
    for seed, width, o in ((9, 4, {"omega": 30.0, "layers": 2, "hidden": 5}), (29, 2, {"omega": 10.0, "layers": 1, "hidden": 4})):
        q, k, _ = inputs_of(seed)
        features = draw(10, 3, seed=seed + 2, size=0.5)
        net = network(in_features=3, hidden_features=o["hidden"], hidden_layers=o["layers"], out_features=width,
                      first_omega_0=o["omega"], hidden_omega_0=o["omega"])
        rope = rope_class(D, width, seq_length=16)
        sine = [layer.linear if hasattr(layer, "linear") else layer for layer in net.net]
        relu = [layer for layer in net.residual if hasattr(layer, "weight")]
        p = {"frequency": draw(width, seed=seed + 3) + 2, "order_scale": torch.tensor([0.7])}
        rope.freq.data, rope.order_scale.data = p["frequency"], p["order_scale"][0]
        for m, (kind, layer) in enumerate([(f"sine.{n}", y) for n, y in enumerate(sine)] + [(f"relu.{n}", y) for n, y in enumerate(relu)]):
            size = 0.1 if kind.startswith("sine") else 0.6
            layer.weight.data = p[kind + ".weight"] = draw(*layer.weight.shape, seed=seed + 4 + m, size=size)
            layer.bias.data = p[kind + ".bias"] = draw(*layer.bias.shape, seed=seed + 40 + m, size=size)
        cos, sin = rope._build_freqs_cos_sin(net(features[None]))
        turned = rope._apply_rotation_compiled(q[None], k[None], cos, sin)
        right = softmax(plain(*(y[0] for y in turned)), True)
        order = [float(9 - t) for t in range(10)]

        def found(layout="pairs", order=order, **more):
            return rotated(q, k, siren_angles(features, p, o, order, **more)[None], layout)

        wrong = {"positions ascend": found(order=order[::-1]), "omega does not touch the bias": found(inside=False),
                 "no branch of ReLU": found(relu=False), "half split": found("half"), "none": softmax(plain(q, k), True)}
        if width < D // 2:
            wrong["angles repeat as a block"] = found(tile="block")
        checked(FILE, f"SIREN-RoPE, omega={o['omega']:.0f}, layers={o['layers']}, angles={width}", "hailingc/siren_rope 8bdbd838", q, k,
                right=right, slow=found(), wrong=wrong, positions=[[place, *row] for place, row in zip(order, features.tolist())], params=p)


if __name__ == "__main__":
    for make in (paths, walls, selectives, caropes, repos, gapes, cables, copes, tapas, sirens):
        make()
    write()
