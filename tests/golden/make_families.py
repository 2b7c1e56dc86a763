"""Golden vectors of what families of models do about position, by their own code in transformers.

    python make_families.py

transformers 5.23.0, torch 2.15 and numpy installed. Writes families.json.
"""

from transformers import InklingTextConfig
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS
from transformers.models.beam import modeling_beam
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


temperatures(), inkling()
write()
