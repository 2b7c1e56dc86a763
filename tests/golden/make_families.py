"""Golden vectors of what families of models do about position, by their own code in transformers.

    python make_families.py QWENIMAGE.py

transformers 5.23.0, torch 2.15 and numpy installed; QWENIMAGE.py is diffusers/models/transformers/transformer_qwenimage.py of
diffusers 0.36.0. Writes families.json.
"""

import functools
import sys

from transformers import DeepseekV4Config, DINOv3ViTConfig, HunYuanDenseV1Config, InklingTextConfig
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS
from transformers.models.beam import modeling_beam
from transformers.models.deepseek_v4 import modeling_deepseek_v4
from transformers.models.dinov3_vit import modeling_dinov3_vit
from transformers.models.hunyuan_v1_dense import modeling_hunyuan_v1_dense
from transformers.models.inkling import modeling_inkling
from transformers.models.ministral3 import modeling_ministral3
from transformers.models.mistral4 import modeling_mistral4

from golden import *

FILE = "families"
HF = "transformers 5.23.0 "
H, T, D = 2, 9, 16
q, k = draw(H, T, D, seed=1), draw(H, T, D, seed=2)
FLOAT = {"tolerance": 2e-6}  # their positions are float32


def case(spec, source, scores, wrong, qq=q, kk=k, **more):
    weights(FILE, spec, source, qq, kk, scores=scores, wrong=wrong, **more)


def temperatures():
    """Positions on both sides of each rule's steps: a factor that is off by one token differs there."""
    steps = [0, 6, 7, 8, 14, 15, 16, 63, 1000]
    p = torch.tensor([steps], dtype=torch.float64)
    for module, name in ((modeling_ministral3, "modeling_ministral3.py"), (modeling_mistral4, "modeling_mistral4.py")):
        factor = module.get_llama_4_attn_scale(p, 0.5, 8)[0]
        case("log_n(rule=ministral3, scale=0.5, floor=8)", HF + name + " get_llama_4_attn_scale", plain(q * factor, k),
             ["log_n(rule=llama4, scale=0.5, floor=8)", "log_n(rule=inkling, scale=0.5, floor=8)",
              "log_n(rule=ministral3, scale=0.1, floor=8)", "none"], positions=steps)

    far = [0, 1, 15, 255, 2046, 2047, 2048, 8191, 131071]
    factor = modeling_beam.compute_attention_scaling(torch.tensor([far]))[0].double()
    case("log_n(rule=beam, floor=2048)", HF + "modeling_beam.py compute_attention_scaling", plain(q * factor, k),
         ["log_n(rule=beam)", "log_n(rule=beam, floor=2048, scale=0.2)", "log_n(rule=llama4, floor=2048)", "none"],
         positions=far, **FLOAT)


def inkling():
    """An attention layer, with what it hands to its inner attention: queries after the temperature, and the bias."""
    source, x, seen = HF + "modeling_inkling.py InklingAttention", draw(1, T, H * D, seed=3), {}

    def look(module, query, key, value, mask, position_bias, **_):
        seen.update(query=query[0], bias=position_bias[0])
        return query.transpose(1, 2), None

    ALL_ATTENTION_FUNCTIONS.register("look", look)

    def layer(kind, floor):
        config = InklingTextConfig(hidden_size=H * D, num_attention_heads=H, num_key_value_heads=H, head_dim=D, d_rel=4,
                                   swa_num_attention_heads=H, swa_num_key_value_heads=H, swa_head_dim=D, rel_extent=6,
                                   sliding_window_size=3, log_scaling_n_floor=floor, log_scaling_alpha=0.5,
                                   num_hidden_layers=1, layer_types=[kind])
        config._attn_implementation = "look"
        module = modeling_inkling.InklingAttention(config, 0).double().eval()
        for n, parameter in enumerate(module.parameters()):
            parameter.data = draw(*parameter.shape, seed=60 + n, size=0.5)
        module(x, None)
        return module, {"weight": module.r_proj.weight, "profiles": module.rel_logits_proj.proj}

    for kind, floor, spec, wrong in (
            ("hybrid", 3, "extent=6, scale=0.5, floor=3", ["extent=6", "extent=6, scale=0.5, floor=4", "extent=6, scale=0.4, floor=3"]),
            ("hybrid", None, "extent=6", ["extent=6, scale=0.5, floor=3"]),
            ("hybrid_sliding", 3, "extent=3", ["extent=3, scale=0.5, floor=3"])):
        module, params = layer(kind, floor)
        case(f"content_profile(width=4, {spec})", source, plain(q, k) + seen["bias"],
             [f"content_profile(width=4, {w})" for w in wrong] + ["none"], params=params, x=x, **FLOAT)
        given = module.q_norm(module.q_proj(x).view(1, T, H, D))[0].transpose(0, 1)
        if kind == "hybrid" and floor:
            rule = "log_n(rule=inkling, scale=0.5, floor="
            case(rule + "3)", source, plain(seen["query"], k),
                 [rule + "4)", "log_n(rule=beam, scale=0.5, floor=3)", "log_n(rule=ministral3, scale=0.5, floor=3)", "none"],
                 given, **FLOAT)
        else:
            assert torch.equal(given, seen["query"])


def images():
    # Three rows of four patches after a token that is none, which stays as it is.
    config = DINOv3ViTConfig(hidden_size=D, num_attention_heads=1, image_size=8, patch_size=2)
    module = modeling_dinov3_vit.DINOv3ViTRopePositionEmbedding(config).eval()
    pixels, n = torch.zeros(1, 3, 6, 8), 13
    qq, kk = draw(H, n, D, seed=4), draw(H, n, D, seed=5)
    rq, rk = modeling_dinov3_vit.apply_rotary_pos_emb(qq, kk, *module(pixels))
    centres = modeling_dinov3_vit.get_patches_center_coordinates(3, 4, torch.float64, "cpu").tolist()
    dinov3 = "rope_axial(index=reset, theta=100"
    case(dinov3 + ", unit=turn)", HF + "modeling_dinov3_vit.py", plain(rq, rk),
         [dinov3 + ")", "rope_axial(index=reset, unit=turn)", "rope_axial(index=continued, theta=100, unit=turn)",
          dinov3 + ", unit=turn, pairing=adjacent)"], qq, kk, causal=False, positions=[[0, 0]] + centres, tolerance=1e-6)

    # An image of two rows of three, coordinates from its middle on, and then text, on the diagonal.
    scope = {"torch": torch, "nn": torch.nn, "functools": functools, "List": list}
    embed, rotate = definitions(sys.argv[1], ["QwenEmbedRope", "apply_rotary_emb_qwen"], scope)
    module = embed(10000, [4, 8, 4], scale_rope=True)
    places = [[0, y, x] for y in (-1, 0) for x in (-2, -1, 0)] + [[p] * 3 for p in (1, 2, 3)]
    angles = torch.cat(module([(1, 2, 3)], [3], torch.device("cpu")), 0)
    rq, rk = (rotate(x.transpose(0, 1)[None], angles, use_real=False)[0].transpose(0, 1) for x in (q, k))
    qwen = "rope_axial(index=reset, pairing=adjacent"
    case(qwen + ", sections=2/4/2)", "diffusers 0.36.0 transformer_qwenimage.py QwenEmbedRope", plain(rq, rk),
         [qwen + ", sections=4/2/2)", "rope_axial(index=continued, pairing=adjacent, sections=2/4/2)",
          "rope_axial(index=reset, sections=2/4/2)", "mrope(pairing=adjacent, sections=2/4/2)"], positions=places, tolerance=1e-6)


def deepseek():
    """One row is key and value; what attention returns turns back. Layers with compressed keys have YaRN's frequencies."""
    half, far = {"partial_rotary_factor": 0.5}, [0, 1, 5, 17, 40, 70, 90, 100, 127]
    config = DeepseekV4Config(head_dim=D, partial_rotary_factor=0.5, max_position_embeddings=1024, rope_parameters={
        "main": dict(half, rope_type="default", rope_theta=10000.0),
        "compress": dict(half, rope_type="yarn", rope_theta=160000.0, factor=16.0, original_max_position_embeddings=64,
                         beta_fast=4, beta_slow=1)})
    module, turn = modeling_deepseek_v4.DeepseekV4RotaryEmbedding(config), modeling_deepseek_v4.apply_rotary_pos_emb
    window, source = "pairing=adjacent, channels=8, side=trailing", HF + "modeling_deepseek_v4.py"
    compress = ", theta=160000, factor=16, original=64, beta_fast=4"
    for label, more, wrong in (("main", "", []), ("compress", compress, [", theta=160000", compress + ", attention_factor=1"])):
        cos, sin = (x.double() for x in module(q, torch.tensor([far]), layer_type=label))
        rq, rk = (turn(x[None], cos, sin)[0] for x in (q, k))
        out = turn((softmax(plain(rq, rk), True) @ rk)[None], cos, -sin)
        add(FILE, kind="output", spec=f"rope_value({window}{more})", source=source, heads=H, size=D, causal=True, q=q, k=k, v=k,
            positions=far, out=out, tolerance=2e-5,
            wrong=[f"{'yarn' if more else 'rope'}({window}{more})", f"rope_value(pairing=adjacent, channels=8{more})",
                   f"rope_value(channels=8, side=trailing{more})"] + [f"rope_value({window}{w})" for w in wrong])
        if not more:
            case(f"rope({window})", source, plain(rq, rk), ["rope(pairing=adjacent, channels=8)", "rope(channels=8, side=trailing)"],
                 positions=far, tolerance=2e-5)


def alpha():
    """HunYuan calls it dynamic: a base that is stretched once for all, NTK-aware scaling."""
    config = HunYuanDenseV1Config(hidden_size=D, num_attention_heads=1, head_dim=D, max_position_embeddings=32, rope_parameters={
        "rope_type": "dynamic", "rope_theta": 10000.0, "factor": 1.0, "alpha": 1000.0})
    module = modeling_hunyuan_v1_dense.HunYuanDenseV1RotaryEmbedding(config)
    far = [0, 1, 5, 17, 40, 70, 90, 100, 127]
    cos, sin = (x.double() for x in module(q, torch.tensor([far])))
    rq, rk = modeling_hunyuan_v1_dense.apply_rotary_pos_emb(q[None], k[None], cos, sin)
    case("ntk(factor=1000)", HF + "modeling_hunyuan_v1_dense.py", plain(rq[0], rk[0]),
         ["rope", "ntk(factor=100)", "dynamic_ntk(factor=1000, original=32)", "linear(factor=1000)"], positions=far, tolerance=2e-5)


temperatures(), inkling(), images(), deepseek(), alpha()
write()
