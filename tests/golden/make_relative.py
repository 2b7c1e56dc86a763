"""Golden vectors of relative encodings: biases, cross terms, rows.

    python3 make_relative.py X_TRANSFORMERS.py NEMO FLA.py COMMON_ATTENTION.py

X_TRANSFORMERS.py is x_transformers/x_transformers.py of x-transformers 2.31.10, NEMO the folder
nemo/collections/nlp/modules/common/megatron/position_embedding of nemo-toolkit 1.23.0, FLA.py
fla/ops/stickbreaking_attn/naive.py of fla-core 0.6.0; transformers 4.33.3 and torch 1.13 installed.
"""

import pathlib
import sys

from einops import rearrange
from torch import Tensor, arange, einsum, nn
from transformers import BertConfig, DebertaConfig, DebertaV2Config
from transformers.models.bert.modeling_bert import BertSelfAttention
from transformers.models.deberta import modeling_deberta
from transformers.models.deberta_v2 import modeling_deberta_v2
from transformers.models.transfo_xl import modeling_transfo_xl

from golden import *

FILE = "relative"
x_transformers, nemo, fla = sys.argv[1], pathlib.Path(sys.argv[2]), sys.argv[3]
XT, HF, NEMO = "x-transformers 2.31.10", "transformers 4.33.3 ", "nemo-toolkit 1.23.0 "
H, T, D = 2, 9, 8
C = H * D
q, k, x = draw(H, T, D, seed=1), draw(H, T, D, seed=2), draw(T, C, seed=3)


def outer(equation, a, b):
    """einx.subtract of the two equations that x-transformers uses, and no more."""
    left, right = equation.split("->")[0].split(",")
    ends = equation.split("->")[1].split()
    swap = left.split()[-1] == ends[-1]
    return a[..., None, :] - b[..., :, None] if swap else a[..., :, None] - b[..., None, :]


SCOPE = {"torch": torch, "nn": nn, "Module": nn.Module, "ModuleList": nn.ModuleList, "Sequential": nn.Sequential,
         "arange": arange, "einsum": einsum, "F": nn.functional, "math": math, "Tensor": Tensor, "rearrange": rearrange,
         "LayerNorm": nn.LayerNorm, "exists": lambda v: v is not None, "default": lambda v, d: d if v is None else v,
         "pad_at_dim": lambda t, pad, dim: t, "einx": type("einx", (), {"subtract": staticmethod(outer)}),
         "Rearrange": None}


def case(spec, source, scores, wrong, **more):
    weights(FILE, spec, source, q, k, scores=scores, wrong=wrong, **more)


def distances():
    return torch.arange(T)[:, None] - torch.arange(T)[None]


def biases():
    (dynamic, alibi) = definitions(x_transformers, ["DynamicPositionBias", "AlibiPositionalBias"], dict(SCOPE))
    for log in (True, False):
        module = _dynamic(dynamic, log)
        up, last = module.mlp[0][0], module.mlp[1]
        up.weight.data, up.bias.data = draw(6, 1, seed=4), draw(6, seed=5)
        last.weight.data, last.bias.data = draw(H, 6, seed=6), draw(H, seed=7)
        params = {"up.weight": up.weight, "up.bias": up.bias, "down.weight": last.weight, "down.bias": last.bias}
        module.float()  # its distances are float32
        spec = "dynamic_bias(hidden=6, log={})"
        for causal in (True, False):
            case(spec.format("on" if log else "off"), XT, plain(q, k) + module(T, T).double(),
                 [spec.format("off" if log else "on"), "none"], params=params, causal=causal, tolerance=2e-6)
    slopes = [0.3, 0.07]
    module = alibi(H, slopes=slopes)
    for causal in (True, False):
        case("alibi_learned", XT, plain(q, k) + module(T, T), ["alibi", "none"],
             params={"log_slope": [math.log(s) for s in slopes]}, causal=causal, tolerance=1e-6)
    separate = -torch.where(distances() >= 0, torch.tensor([2.0**-4, 2.0**-8])[:, None, None],
                            torch.tensor([2.0**-8, 2.0**-4])[:, None, None]) * distances().abs()
    case("alibi(sides=separate)", "torch 1.13, two slope sets by side", plain(q, k) + separate, ["alibi"], causal=False)
    half = -torch.tensor([2.0**-4, 2.0**-8])[:, None, None] * ((distances() + 0.5).abs() - 0.5)
    case("alibi(sides=offset)", "torch 1.13, distances moved by a half", plain(q, k) + half, ["alibi"], causal=False)

    scope = {"torch": torch, "build_slopes": lambda heads, used: torch.zeros(heads, 1, 1),
             "build_relative_position": lambda n, full: (torch.arange(n)[:, None] - torch.arange(n)[None]).abs()}
    (kerple,) = definitions(nemo / "kerple_relative_position_embedding.py", ["KERPLERelativePositionEmbedding"], scope)
    module = kerple(False, H, None, max_seq_len=16)
    r, a = draw(H, seed=8).abs() + 0.1, draw(H, seed=9).abs() + 0.1
    module.kerple_b.data, module.kerple_a.data = r[:, None, None], a[:, None, None]
    module.kerple_p.data = torch.ones(H, 1, 1)
    case("kerple_log", NEMO + "kerple_relative_position_embedding.py", plain(q, k) + module(T, T)[0],
         ["kerple_power", "alibi"], params={"size": r, "rate": a}, tolerance=1e-6)
    power = torch.tensor([0.7, 1.6])
    case("kerple_power", "torch 1.13 from arXiv 2205.09921 equation 2",
         plain(q, k) - r[:, None, None] * distances().clamp(min=0) ** power[:, None, None], ["kerple_log", "alibi"],
         params={"size": r, "power": power})
    (sandwich,) = definitions(nemo / "sandwich_relative_position_embedding.py", ["SandwichRelativePositionEmbedding"], scope)
    module = sandwich(False, H, None, 12, max_seq_len=16)
    case("sandwich(dim=12)", NEMO + "sandwich_relative_position_embedding.py", plain(q, k) + module(T, T),
         ["sandwich(dim=8)", "alibi"], tolerance=1e-6)


def _dynamic(dynamic, log):
    # Sequential of x-transformers drops None; torch's does not
    SCOPE_SEQUENTIAL = lambda *parts: nn.Sequential(*[p for p in parts if p is not None])
    dynamic.__init__.__globals__["Sequential"] = SCOPE_SEQUENTIAL
    return dynamic(6, heads=H, depth=1, log_distance=log)


def gates():
    module = definitions(x_transformers, ["CoPE"], dict(SCOPE))[0](D, H, 5)
    table = draw(5, D, seed=4)
    module.pos_emb.data = table
    mask = torch.ones(T, T, dtype=torch.bool).triu(1)
    scores = plain(q, k).masked_fill(mask, -1e30)
    case("cope(positions=5)", XT, (scores + module(q[None], scores[None])[0]), ["none", "cope(positions=4)"],
         params={"table": table})
    from einops.layers.torch import Rearrange
    scope = dict(SCOPE, Rearrange=Rearrange)
    forget, rows = definitions(x_transformers, ["DataDependentAlibi", "PerRowDataDependentAlibi"], scope)
    module = forget(C, H).double()
    weight, bias = draw(H, C, seed=5, size=0.3), draw(H, seed=6)
    module.to_forget_gates[0].weight.data, module.to_forget_gates[0].bias.data = weight, bias
    case("fox", XT + ", DataDependentAlibi", plain(q, k) + module(x[None])[0], ["none", "alibi"],
         params={"weight": weight, "bias": bias}, x=x)
    module = rows(C, H, dim_head=4).double()
    a, b = draw(H * 4, C, seed=7, size=0.3), draw(H * 4, C, seed=8, size=0.3)
    module.to_forget_gates[0].weight.data = torch.cat((a, b))
    case("data_alibi(width=4)", XT + ", PerRowDataDependentAlibi", plain(q, k) + module(x[None])[0], ["none", "alibi"],
         params={"query.weight": a, "key.weight": b}, x=x)

    (naive,) = definitions(fla, ["naive_stickbreaking_attn"], {"torch": torch, "einops": __import__("einops"), "rearrange": rearrange, "math": math, "F": nn.functional})
    v = draw(H, T, D, seed=9)
    result = naive(*(y[None].transpose(1, 2) for y in (q, k, v)))
    out = (result[0] if isinstance(result, tuple) else result)[0].transpose(0, 1)
    add(FILE, kind="output", spec="stick_breaking", source="fla-core 0.6.0 stickbreaking_attn/naive.py", heads=H, size=D, causal=True,
        positions=list(range(T)), q=q, k=k, v=v, out=out, wrong=["none", "stick_breaking(current=on)"], tolerance=1e-5)
    beta = plain(q, k).sigmoid()
    stick = torch.zeros(H, T, T)
    for i in range(T):
        left = torch.ones(H)
        for j in range(i, -1, -1):
            stick[:, i, j] = beta[:, i, j] * left
            left = left * (1 - beta[:, i, j])
    weights(FILE, "stick_breaking(current=on)", "torch 1.13 from arXiv 2410.17980 equation 2", q, k, weights=stick,
            wrong=["none", "stick_breaking"])


def networks():
    """FIRE (arXiv 2310.04418 appendix) and DAPE (arXiv 2405.14722 equation 4) as the papers print them, in torch."""
    up, up_bias, down, down_bias = draw(6, seed=4), draw(6, seed=5), draw(H, 6, seed=6), draw(H, seed=7)
    c, w, L = 0.3, 1.2, 5.0
    for first in (0, 20):
        positions = torch.arange(T, dtype=torch.float64) + first
        relative = torch.log((c * (positions[:, None] - positions[None])).abs() + 1)
        norm = torch.log((c * torch.maximum(positions, torch.tensor(abs(w * L)))).abs() + 1)[:, None] + 1e-6
        hidden = torch.relu((relative / norm)[..., None] * up + up_bias)
        bias = (hidden @ down.T + down_bias).permute(2, 0, 1)
        case("fire(hidden=6, length=5)", "torch 1.13 from arXiv 2310.04418 appendix", plain(q, k) + bias,
             ["fire(hidden=6, length=20)", "none"], positions=positions.tolist(),
             params={"c": [c], "w": [w], "up.weight": up, "up.bias": up_bias, "down.weight": down, "down.bias": down_bias})
    mix, mix_bias = draw(6, 2 * H, seed=8), draw(6, seed=9)
    scores, bias = plain(q, k), -torch.tensor([2.0**-4, 2.0**-8])[:, None, None] * distances().abs()
    both = torch.cat((scores, bias)).permute(1, 2, 0)
    adapted = nn.functional.leaky_relu(both @ mix.T + mix_bias) @ down.T + down_bias
    case("dape(hidden=6)", "torch 1.13 from arXiv 2405.14722 equation 4", scores + bias + adapted.permute(2, 0, 1),
         ["alibi", "none"], params={"up.weight": mix, "up.bias": mix_bias, "down.weight": down, "down.bias": down_bias})


def bert():
    for kind in ("relative_key", "relative_key_query"):
        config = BertConfig(hidden_size=C, num_attention_heads=H, max_position_embeddings=T, attention_probs_dropout_prob=0)
        module = BertSelfAttention(config, position_embedding_type=kind).double().eval()
        for n, layer in enumerate((module.query, module.key, module.value)):
            layer.weight.data, layer.bias.data = draw(C, C, seed=10 + n), draw(C, seed=20 + n)
        table = draw(2 * T - 1, D, seed=30)
        module.distance_embedding.weight.data = table
        qq, kk = (layer(x).reshape(T, H, D).transpose(0, 1) for layer in (module.query, module.key))
        found = module(x[None], output_attentions=True)[1][0]
        wrong = ["relative_key_query" if kind == "relative_key" else "relative_key", "none"]
        weights(FILE, f"{kind}(length={T})", HF + "modeling_bert.py", qq, kk, weights=found, causal=False, wrong=[
            w if w == "none" else f"{w}(length={T})" for w in wrong], params={"table": table})


def shaw():
    """Equations 3 to 5 of arXiv 1803.02155, pair by pair."""
    clip, v = 3, draw(H, T, D, seed=4)
    keys, values = draw(2 * clip + 1, D, seed=5), draw(2 * clip + 1, D, seed=6)
    for causal in (True, False):
        row = (-distances()).clamp(-clip, clip) + clip
        scores = torch.einsum("hid,hijd->hij", q, k[:, None] + keys[row][None]) / math.sqrt(D)
        p = softmax(scores, causal)
        out = torch.einsum("hij,hijd->hid", p, v[:, None] + values[row][None])
        add(FILE, kind="output", spec="shaw(clip=3)", source="torch 1.13 from arXiv 1803.02155 equations 3-5", heads=H, size=D,
            causal=causal, positions=list(range(T)), q=q, k=k, v=v, out=out, tolerance=1e-9,
            params={"keys": keys, "values": values}, wrong=["shaw(clip=2)", "none"])


def transformer_xl():
    module = modeling_transfo_xl.RelPartialLearnableMultiHeadAttn(H, C, D, 0.0).double().eval()
    module.qkv_net.weight.data = draw(3 * C, C, seed=10, size=0.5)
    u, v, weight = draw(H, D, seed=11), draw(H, D, seed=12), draw(C, C, seed=13, size=0.5)
    module.r_w_bias.data, module.r_r_bias.data, module.r_net.weight.data = u, v, weight
    r = modeling_transfo_xl.PositionalEmbedding(C)(torch.arange(T - 1, -1, -1.0))
    mask = torch.ones(T, T, dtype=torch.bool).triu(1)
    qq, kk = (y.reshape(T, H, D).transpose(0, 1) for y in module.qkv_net(x).chunk(3, -1)[:2])
    module.float()  # its mask has room in float32 alone
    found = module(x[:, None].float(), r.float(), attn_mask=mask[:, :, None], output_attentions=True)[1][:, :, 0].permute(2, 0, 1)
    weights(FILE, "transformer_xl", HF + "modeling_transfo_xl.py", qq, kk, weights=found, tolerance=2e-5,
            wrong=["transformer_xl(clamp=3)", "none"], params={"content_bias": u, "position_bias": v, "weight": weight})


def deberta():
    span = 5
    for kinds in (["c2p", "p2c"], ["c2p"], ["p2c"]):
        config = DebertaConfig(hidden_size=C, num_attention_heads=H, relative_attention=True, max_relative_positions=span,
                               pos_att_type=kinds, attention_probs_dropout_prob=0, hidden_dropout_prob=0)
        module = modeling_deberta.DisentangledSelfAttention(config).double().eval()
        module.in_proj.weight.data = draw(3 * C, C, seed=10, size=0.5)
        table = draw(2 * span, C, seed=14)
        params = {"table": table}
        if "c2p" in kinds:
            module.pos_proj.weight.data = params["key.weight"] = draw(C, C, seed=15, size=0.3)
        if "p2c" in kinds:
            module.pos_q_proj.weight.data = params["query.weight"] = draw(C, C, seed=16, size=0.3)
            module.pos_q_proj.bias.data = params["query.bias"] = draw(C, seed=17, size=0.3)
        mask = torch.ones(1, 1, T, T)
        found = module(x[None], mask, output_attentions=True, rel_embeddings=table)[1][0]
        heads = module.in_proj(x).reshape(T, H, 3, D).permute(2, 1, 0, 3)
        terms = "_".join(kinds)
        wrong = [t for t in ("c2p", "p2c", "c2p_p2c") if t != terms]
        weights(FILE, f"deberta(span={span}, terms={terms})", HF + "modeling_deberta.py", heads[0], heads[1], weights=found,
                causal=False, params=params, tolerance=1e-6, wrong=[f"deberta(span={span}, terms={w})" for w in wrong]
                + [f"deberta(span={span}, terms={terms}, direction=paper)" for _ in range("p2c" in kinds)])
    global_T, B, M = 40, 8, 24
    far = draw(global_T, C, seed=18)
    for share in (True, False):
        config = DebertaV2Config(hidden_size=C, num_attention_heads=H, relative_attention=True, position_buckets=B,
                                 max_relative_positions=M, pos_att_type=["c2p", "p2c"], share_att_key=share,
                                 attention_probs_dropout_prob=0, hidden_dropout_prob=0)
        module = modeling_deberta_v2.DisentangledSelfAttention(config).double().eval()
        for n, layer in enumerate((module.query_proj, module.key_proj)):
            layer.weight.data, layer.bias.data = draw(C, C, seed=30 + n, size=0.5), draw(C, seed=40 + n, size=0.5)
        table, gain, bias = draw(2 * B, C, seed=19), 1 + draw(C, seed=50, size=0.2), draw(C, seed=51, size=0.2)
        params = {"table": table, "norm.gain": gain, "norm.bias": bias}
        if not share:
            for n, (name, layer) in enumerate((("key", module.pos_key_proj), ("query", module.pos_query_proj))):
                layer.weight.data = params[name + ".weight"] = draw(C, C, seed=60 + n, size=0.5)
                layer.bias.data = params[name + ".bias"] = draw(C, seed=70 + n, size=0.5)
        normal = nn.functional.layer_norm(table, (C,), gain, bias, 1e-5)
        relative = modeling_deberta_v2.build_relative_position(global_T, global_T, bucket_size=B, max_position=M)
        found = module(far[None], torch.ones(1, 1, global_T, global_T), output_attentions=True, relative_pos=relative,
                       rel_embeddings=normal)[1][0]
        qq, kk = (layer(far).reshape(global_T, H, D).transpose(0, 1) for layer in (module.query_proj, module.key_proj))
        projections = torch.cat([module.query_proj.weight.ravel(), module.key_proj.weight.ravel(),
                                 module.query_proj.bias, module.key_proj.bias])
        kind = "shared" if share else "own"
        spec = f"deberta_v2(buckets={B}, distance={{}}, projections={kind}, norm=on, epsilon=1e-05)"
        weights(FILE, spec.format(M), HF + "modeling_deberta_v2.py", qq, kk, weights=found, causal=False, params=params,
                projections=projections, tolerance=1e-6, wrong=[spec.format(M + 8), "none"])


def tupe():
    """Equations 7 to 11 of arXiv 2006.15595, pair by pair; buckets of transformers' T5."""
    from transformers.models.t5.modeling_t5 import T5Attention
    table, gain, shift = draw(12, C, seed=4), 1 + draw(C, seed=5, size=0.2), draw(C, seed=6, size=0.2)
    uq, uk, first, to, bias = draw(C, C, seed=7, size=0.3), draw(C, C, seed=8, size=0.3), draw(H, seed=9), draw(H, seed=10), draw(8, H, seed=11)
    for causal in (True, False):
        for reset in (True, False):
            p = nn.functional.layer_norm(table, (C,), gain, shift, 1e-5)[:T]
            pq, pk = ((p @ w.T).reshape(T, H, D).transpose(0, 1) for w in (uq, uk))
            bucket = T5Attention._relative_position_bucket(-distances(), not causal, 8, 20)
            position = pq @ pk.transpose(-1, -2) / math.sqrt(2 * D) + bias[bucket].permute(2, 0, 1)
            if reset:
                position[:, :, 0] = to[:, None]
                position[:, 0, :] = first[:, None]
            scores = q @ k.transpose(-1, -2) / math.sqrt(2 * D) + position
            spec = "tupe(length=12, buckets=8, distance=20, cls={})"
            params = {"table": table, "norm.gain": gain, "norm.bias": shift, "query.weight": uq, "key.weight": uk,
                      "from_first": first, "to_first": to, "bias": bias}
            case(spec.format("reset" if reset else "off"), "torch 1.13 from arXiv 2006.15595 equations 7-11", scores,
                 [spec.format("off" if reset else "reset"), "none"], params=params, causal=causal)


biases(), gates(), networks(), bert(), shaw(), transformer_xl(), deberta(), tupe()
write()
