"""Golden vectors of the rotary window and of what models ask of an encoding beside its paper.

    python3 make_windows.py XDROPE.py

transformers 5.23.0, x-transformers 2.31.10 and torch 2.15 installed; XDROPE.py is
vllm/model_executor/layers/rotary_embedding/xdrope.py of vLLM at 0f70a1e.

Writes windows.json (attention weights) and frequencies.json: the frequencies of transformers' own functions over fractions
of the head × head sizes × members, each by four of its numbers.
"""

import sys
from types import SimpleNamespace

from transformers import (DebertaV2Config, DeepseekV3Config, Ernie4_5_VLMoeTextConfig, Glm4MoeConfig, Kimi_K25VisionConfig,
                          LlamaConfig, PixtralVisionConfig)
from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS
from transformers.models.deberta_v2 import modeling_deberta_v2
from transformers.models.deepseek_v3 import modeling_deepseek_v3
from transformers.models.ernie4_5_vl_moe import modeling_ernie4_5_vl_moe
from transformers.models.falcon.modeling_falcon import build_alibi_tensor
from transformers.models.glm4_moe import modeling_glm4_moe
from transformers.models.kimi_k25 import modeling_kimi_k25
from transformers.models.mpt.modeling_mpt import build_mpt_alibi_tensor
from transformers.models.pixtral import modeling_pixtral
from transformers.models.wav2vec2_bert.modeling_wav2vec2_bert import _apply_relative_key_position_encoding
from x_transformers.x_transformers import AlibiPositionalBias, DynamicPositionBias

from golden import *

FILE = "windows"
HF = "transformers 5.23.0 "
XT = "x-transformers 2.31.10"
H, T, D = 2, 9, 16
q, k = draw(H, T, D, seed=1), draw(H, T, D, seed=2)
FAR = [0, 1, 5, 17, 40, 70, 90, 100, 127]
FLOAT = {"tolerance": 2e-5}  # their frequencies are float32


def case(spec, source, scores, wrong, qq=q, kk=k, **more):
    weights(FILE, spec, source, qq, kk, scores=scores, wrong=wrong, **more)


SCALINGS = {
    "rope": {"rope_type": "default"},
    "linear(factor=8": {"rope_type": "linear", "factor": 8.0},
    "dynamic_ntk(factor=2, original=32": {"rope_type": "dynamic", "factor": 2.0},
    "yarn(factor=4, original=64": {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 64},
    "longrope(short=1.1, long=3.7, factor=4, original=32": {"rope_type": "longrope", "factor": 4.0,
                                                            "original_max_position_embeddings": 32},
    "llama3(theta=10000, factor=8, original=64": {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0,
                                                  "high_freq_factor": 4.0, "original_max_position_embeddings": 64},
    "proportional(share=0.5, factor=8": {"rope_type": "proportional", "factor": 8.0},
}


def spec_of(start, more):
    return start + (", " if "(" in start else "(") + more + ")"


def found(start, size, fraction, length=128):
    """Frequencies and the factor of cos and sin, by transformers. `fraction` is that of the window."""
    scaling = dict(SCALINGS[start], rope_theta=10000.0, partial_rotary_factor=fraction)
    if scaling["rope_type"] == "longrope":
        pairs = (int(size * fraction) + 1) // 2
        scaling.update(short_factor=[1.1] * pairs, long_factor=[3.7] * pairs)
    config = Glm4MoeConfig(hidden_size=size, num_attention_heads=1, num_key_value_heads=1, head_dim=size,
                           max_position_embeddings=32, rope_parameters=scaling)
    if scaling["rope_type"] == "default":
        w, factor = modeling_glm4_moe.Glm4MoeRotaryEmbedding.compute_default_rope_parameters(config)
    else:
        w, factor = ROPE_INIT_FUNCTIONS[scaling["rope_type"]](config, "cpu", length)
    return w.double(), float(factor)


def partial_heads():
    """Glm4-MoE turns the first channels of a head, by halves of them."""
    source = HF + "modeling_rope_utils.py, modeling_glm4_moe.py apply_rotary_pos_emb"
    for start in SCALINGS:
        if start.startswith("proportional"):
            continue
        w, factor = found(start, D, 0.5)
        angles = torch.outer(torch.tensor(FAR, dtype=torch.float64), w)
        both = torch.cat((angles, angles), -1)[None]
        rq, rk = modeling_glm4_moe.apply_rotary_pos_emb(q[None], k[None], both.cos() * factor, both.sin() * factor)
        wrong = ["fraction=1", "fraction=0.5, side=trailing", "fraction=0.5, offset=4", "fraction=0.5, pairing=adjacent"]
        for window in ("fraction=0.5", "channels=8", "fraction=0.55, rounding=down"):
            case(spec_of(start, window), source, plain(rq[0], rk[0]), [spec_of(start, w) for w in wrong], positions=FAR,
                 **FLOAT)
    w, _ = ROPE_INIT_FUNCTIONS["proportional"](LlamaConfig(
        hidden_size=D, num_attention_heads=1, head_dim=D, rope_parameters=dict(
            SCALINGS["proportional(share=0.5, factor=8"], rope_theta=10000.0, partial_rotary_factor=0.5)), "cpu")
    angles = torch.outer(torch.tensor(FAR, dtype=torch.float64), w.double())
    both = torch.cat((angles, angles), -1)[None]
    rq, rk = modeling_glm4_moe.apply_rotary_pos_emb(q[None], k[None], both.cos(), both.sin())
    case("proportional(share=0.5, factor=8)", HF + "modeling_rope_utils.py, _compute_proportional_rope_parameters",
         plain(rq[0], rk[0]), ["proportional(share=0.5)", "proportional(share=0.5, factor=4)", "linear(fraction=0.5, factor=8)"],
         positions=FAR, **FLOAT)


def deepseek():
    """Multi-head latent attention: the last channels turn, by neighbours, and yarn scales every logit."""
    rope = dict(rope_type="yarn", rope_theta=10000.0, factor=40.0, original_max_position_embeddings=32, mscale=0.8,
                mscale_all_dim=0.6, beta_fast=32, beta_slow=1)
    config = DeepseekV3Config(qk_rope_head_dim=8, head_dim=8, rope_parameters=rope)
    w, factor = ROPE_INIT_FUNCTIONS["yarn"](config, "cpu")
    angles = torch.outer(torch.tensor(FAR, dtype=torch.float64), w.double())
    both = torch.cat((angles, angles), -1)[None]
    turned = modeling_deepseek_v3.apply_rotary_pos_emb_interleave(q[None, ..., 8:], k[None, ..., 8:], both.cos() * factor,
                                                                  both.sin() * factor)
    qq, kk = (torch.cat((x[..., :8], y[0]), -1) for x, y in zip((q, k), turned))
    scale = modeling_deepseek_v3.yarn_apply_mscale(config.rope_parameters, D**-0.5)
    yarn = "yarn(pairing=adjacent, channels=8, factor=40, original=32, mscale=0.8, mscale_all_dim=0.6"
    case(yarn + ", side=trailing, softmax_mscale=0.6)", HF + "modeling_deepseek_v3.py", qq @ kk.transpose(-1, -2) * scale,
         [yarn + ", side=trailing)", yarn + ", side=trailing, softmax_mscale=0.8)", yarn + ", softmax_mscale=0.6)"],
         positions=FAR, **FLOAT)


def grids():
    places = [[r, c] for r in range(3) for c in range(3)]
    config = PixtralVisionConfig(hidden_size=D, num_attention_heads=1, head_dim=D,
                                 rope_parameters={"rope_type": "axial", "rope_theta": 10000.0})
    module = modeling_pixtral.PixtralVisionRotaryEmbedding(config)
    cos, sin = module(q, torch.tensor(places).T[None])
    rq, rk = modeling_pixtral.apply_rotary_pos_emb(q[None], k[None], cos.double(), sin.double())
    case("rope_axial(index=alternating)", HF + "modeling_pixtral.py", plain(rq[0], rk[0]),
         ["rope_axial(index=reset)", "rope_axial(index=continued)", "rope_axial(index=alternating, pairing=adjacent)"],
         positions=places, **FLOAT)

    config = Kimi_K25VisionConfig(hidden_size=D, num_attention_heads=1, rope_parameters={"rope_type": "axial", "rope_theta": 10000.0})
    cos, sin = modeling_kimi_k25.Kimi_K25VisionRotaryEmbedding(config)(q, torch.tensor(places))
    rq, rk = modeling_kimi_k25.apply_rotary_pos_emb_vision(q.transpose(0, 1), k.transpose(0, 1), cos, sin)
    case("rope_axial(index=interleaved)", HF + "modeling_kimi_k25.py", plain(rq.transpose(0, 1), rk.transpose(0, 1)),
         ["rope_axial(index=reset)", "rope_axial(index=alternating)", "rope_axial(index=interleaved, pairing=adjacent)"],
         positions=[[c, r] for r, c in places], **FLOAT)

    places = [[0, 0, 0], [1, 1, 1], [2, 2, 2], [2, 2, 3], [2, 3, 2], [2, 3, 3], [4, 4, 4], [5, 5, 5], [6, 6, 6]]
    config = Ernie4_5_VLMoeTextConfig(hidden_size=D, num_attention_heads=1, head_dim=D, rope_parameters={
        "rope_type": "default", "rope_theta": 10000.0, "mrope_section": [3, 3, 2]})  # h, w, t
    module = modeling_ernie4_5_vl_moe.Ernie4_5_VLMoeTextRotaryEmbedding(config)
    cos, sin = module(q, torch.tensor(places).T[:, None])
    rq, rk = modeling_ernie4_5_vl_moe.apply_rotary_pos_emb(q[None], k[None], cos.double(), sin.double())
    ernie = "mrope(sections=2/3/3, pairing=adjacent"
    case(ernie + ", order=alternating)", HF + "modeling_ernie4_5_vl_moe.py", plain(rq[0], rk[0]),
         [ernie + ")", "mrope(sections=2/3/3, order=alternating)", "mrope(sections=4/2/2, pairing=adjacent, order=alternating)"],
         positions=places, **FLOAT)

    places = [[0, 0, 0, 0], [1, 1, 1, 1], [2, 0, 0, 0], [3, 1, 0, 0], [4, 0, 1, 0], [5, 1, 1, 0], [6, 6, 6, 6], [7, 7, 7, 7],
              [8, 0, 0, 1]]

    def rotate(x, cos, sin, halves):
        low, high = x.chunk(2, -1)
        cos, sin = cos[:, None], sin[:, None]
        return torch.cat((low * cos - high * sin, high * cos + low * sin), -1)

    scope = {"torch": torch, "_apply_rotary_emb_torch": rotate}
    (forward,) = definitions(sys.argv[1], ["forward_native"], scope)
    base = 10000.0 ** (-torch.arange(0, D, 2) / D)
    angles = torch.outer(torch.arange(9, dtype=torch.float64), base)
    module = SimpleNamespace(cos_sin_cache=torch.cat((angles.cos(), angles.sin()), -1), xdrope_section=[2, 3, 1, 2],
                             head_size=D, rotary_dim=D, is_neox_style=True)
    flat_rows = [x.transpose(0, 1).reshape(T, H * D) for x in (q, k)]
    turned = forward(module, torch.tensor(places).T, *flat_rows)
    rq, rk = (x.reshape(T, H, D).transpose(0, 1) for x in turned)
    case("mrope(sections=2/3/1/2)", "vLLM 0f70a1e xdrope.py", plain(rq, rk),
         ["mrope(sections=2/2/2/2)", "mrope(sections=2/1/3/2)", "mrope(sections=2/3/1/2, pairing=adjacent)"], positions=places)


def slopes():
    bias = build_mpt_alibi_tensor(3, T, alibi_bias_max=5).double()  # (3, 1, T), of the last query: softmax does not mind
    qq, kk = draw(3, T, D, seed=3), draw(3, T, D, seed=4)
    case("alibi(bias_max=5)", HF + "modeling_mpt.py build_mpt_alibi_tensor", plain(qq, kk) + bias,
         ["alibi", "alibi(bias_max=5, slopes=geometric)"], qq, kk, tolerance=1e-6)
    bias = build_alibi_tensor(torch.ones(1, T), H, torch.float64).reshape(H, 1, T)  # bfloat16, which these hold exactly
    case("alibi(scaled=on)", HF + "modeling_falcon.py build_alibi_tensor and FalconAttention",
         (q @ k.transpose(-1, -2) + bias) / math.sqrt(D), ["alibi", "none"])
    for causal in (True, False):
        case("alibi(heads=2)", XT + ", AlibiPositionalBias", plain(qq, kk) + AlibiPositionalBias(heads=2, total_heads=3)(T, T),
             ["alibi", "alibi(heads=1)"], qq, kk, causal=causal, tolerance=1e-6)


def tables():
    left, right = 4, 2
    module = SimpleNamespace(left_max_position_embeddings=left, right_max_position_embeddings=right, scaling=D**-0.5,
                             distance_embedding=torch.nn.Embedding(left + right + 1, D))
    module.distance_embedding.weight.data = table = draw(left + right + 1, D, seed=5)
    _, bias = _apply_relative_key_position_encoding(module, q[None], k[None])
    case("shaw(clip=4, right=2, values=off)", HF + "modeling_wav2vec2_bert.py", plain(q, k) + bias[0],
         ["shaw(clip=2, right=4, values=off)", "shaw(clip=3, right=3, values=off)", "none"], causal=False,
         params={"keys": table})

    module = DynamicPositionBias(6, heads=H, depth=3, log_distance=True).double()
    params, layers = {}, [layer[0] for layer in module.mlp[:-1]] + [module.mlp[-1]]
    for n, (name, layer) in enumerate(zip(("up", "layer1", "layer2", "down"), layers)):
        layer.weight.data = params[name + ".weight"] = draw(*layer.weight.shape, seed=30 + n)
        layer.bias.data = params[name + ".bias"] = draw(*layer.bias.shape, seed=40 + n)
    module.float()  # its distances are float32
    for causal in (True, False):
        case("dynamic_bias(hidden=6, depth=3)", XT + ", DynamicPositionBias", plain(q, k) + module(T, T).double(),
             ["dynamic_bias(hidden=6, depth=2)", "dynamic_bias(hidden=6, depth=3, log=off)"], params=params, causal=causal,
             tolerance=2e-6)


def deberta():
    """A table of the size that training starts with, normalised by the model's own encoder."""
    C, B, M, n = H * D, 8, 24, 30
    x = draw(n, C, seed=18)
    config = DebertaV2Config(hidden_size=C, num_attention_heads=H, num_hidden_layers=1, relative_attention=True,
                             position_buckets=B, max_relative_positions=M, pos_att_type=["c2p", "p2c"], share_att_key=True,
                             norm_rel_ebd="layer_norm", attention_probs_dropout_prob=0, hidden_dropout_prob=0)
    assert config.layer_norm_eps == 1e-7
    encoder = modeling_deberta_v2.DebertaV2Encoder(config).double().eval()
    module = encoder.layer[0].attention.self
    for m, layer in enumerate((module.query_proj, module.key_proj)):
        layer.weight.data, layer.bias.data = draw(C, C, seed=30 + m, size=0.5), draw(C, seed=40 + m, size=0.5)
    table, gain, bias = draw(2 * B, C, seed=19, size=0.02), 1 + draw(C, seed=50, size=0.2), draw(C, seed=51, size=0.2)
    encoder.rel_embeddings.weight.data, encoder.LayerNorm.weight.data, encoder.LayerNorm.bias.data = table, gain, bias
    states = x[None]
    relative = encoder.get_rel_pos(states)
    attended = module(states, torch.ones(1, 1, n, n), output_attentions=True, relative_pos=relative,
                      rel_embeddings=encoder.get_rel_embedding())[1][0]
    qq, kk = (layer(x).reshape(n, H, D).transpose(0, 1) for layer in (module.query_proj, module.key_proj))
    projections = torch.cat([module.query_proj.weight.ravel(), module.key_proj.weight.ravel(), module.query_proj.bias,
                             module.key_proj.bias])
    spec = f"deberta_v2(buckets={B}, distance={M}"
    weights(FILE, spec + ")", HF + "modeling_deberta_v2.py, DebertaV2Encoder", qq, kk, weights=attended, causal=False,
            params={"table": table, "norm.gain": gain, "norm.bias": bias}, projections=projections, tolerance=1e-6,
            wrong=[spec + ", epsilon=1e-05)", spec + ", norm=off)"])


def frequency_grid():
    cases, odd = [], 0
    for start in SCALINGS:
        if start.startswith("proportional"):
            continue
        for size in (24, 64, 80, 96, 128, 192):
            for fraction in (0.1, 0.25, 0.27, 0.3, 0.334, 0.4, 0.5, 0.65, 0.75, 0.9):
                turned = int(size * fraction)
                if turned < 4:
                    continue
                spec = spec_of(start, f"rounding=down, fraction={fraction}")
                case = {"spec": spec, "size": size, "channels": turned}
                if turned % 2:  # no pairs: refused, where some of transformers' functions have one frequency more
                    odd += 1
                else:
                    w, factor = found(start, size, fraction)
                    index = torch.arange(1, len(w) + 1)
                    numbers = w[1], w[len(w) // 2], w[-1], (w * index).sum()
                    case.update(factor=factor, values=[float(f"{x:.8g}") for x in numbers])
                cases.append(case)
    assert odd > 50
    content = {"source": HF + "modeling_rope_utils.py and modeling_glm4_moe.py: int(head_dim * partial_rotary_factor)",
               "made_by": "tests/golden/make_windows.py", "length": 128,
               "values": "frequency 1, of the middle, the last; sum of frequency i times i + 1", "cases": cases}
    (HERE / "frequencies.json").write_text(json.dumps(content, separators=(",", ":")) + "\n")
    print("frequencies", len(cases), "cases,", odd, "of an odd number of channels")


partial_heads(), deepseek(), grids(), slopes(), tables(), deberta(), frequency_grid()
write()
