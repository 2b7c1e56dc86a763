"""What the cases of make_content.py and make_flagships.py are called in gnomon: the spec, specs of other conventions that must not
reproduce them, and the names of parameters that differ. The scripts know their encodings by the authors' words alone. A case whose
encoding gnomon does not have is left out of the JSON."""

SELECTIVE = {"phi_proj.0.weight": "down.weight", "phi_proj.1.weight": "up.weight", "phi_conv1d.weight": "conv", "phi_bias": "bias",
             "phase_gate_proj.weight": "gate.weight", "phase_gate_proj.bias": "gate.bias"}
GAPE = {"query.weight": "query_gate.weight", "query.bias": "query_gate.bias", "key.weight": "key_gate.weight", "key.bias": "key_gate.bias",
        "amplitude": "strength"}
REPO = {"out.weight": "final.weight"}
PATH = {"w_proj.0.weight": "down.weight", "w_proj.1.weight": "up.weight", "w_proj.weight": "weight", "w_conv1d.weight": "conv",
        "bt_proj.weight": "beta.weight", "bt_proj.bias": "beta.bias"}
PATH_FOX = PATH | {"g_proj.weight": "weight", "g_proj.bias": "bias"}
WALL = {"g_proj.weight": "weight", "g_proj.bias": "bias"}
LEROPE = "lerope(pairing=adjacent, "


def case(spec, wrong, names=()):
    return {"spec": spec, "wrong": wrong, "names": dict(names)}


SPECS = {
    "PaTH, low rank w, convolution and silu": case("path", ["path(convolution=off)", "path(kernel=2)", "fox", "none"], PATH),
    "PaTH, full w, no convolution": case("path(projection=full, convolution=off)", ["path(projection=full)", "none"], PATH),
    "PaTH, low rank w, convolution and silu, forget gate times the scale as in fla": case(
        "path+fox(scaled=on)", ["path+fox", "path", "fox(scaled=on)"], PATH_FOX),
    "PaTH, low rank w, convolution and silu, forget gate outside the scale as in the paper": case(
        "path+fox", ["path+fox(scaled=on)", "path", "fox"], PATH_FOX),
    "wall, gates by channel": case("wall", ["wall(bound=soft)", "fox", "none"], WALL),
    "wall, gates by channel, gates bound to 0.86": case("wall(bound=soft)", ["wall", "wall(bound=soft, most=0.5)", "none"], WALL),
    "selective RoPE, phi_proj_rank=3": case(
        "selective_rope(rank=3)", ["selective_rope(rank=3, pairing=adjacent)", "selective_rope(rank=3, theta=100)",
                                   "selective_rope(rank=3, activation=silu)", "rope", "none"], SELECTIVE),
    "selective RoPE, phi_proj_rank=4, conv_act=silu, use_bias=True, use_gate=True, temp_theta=100.0": case(
        "selective_rope(rank=4, activation=silu, bias=on, gate=head, theta=100)",
        ["selective_rope(rank=4, bias=on, gate=head, theta=100)", "selective_rope(rank=4, activation=silu, gate=head, theta=100)",
         "selective_rope(rank=4, activation=silu, bias=on, theta=100)", "selective_rope(rank=4, activation=silu, bias=on, gate=head)"], SELECTIVE),
    "CARoPE, powers from 0, half": case("carope", ["carope(pairing=adjacent)", "rope", "none"]),
    "CARoPE, powers from 0, pairs": case("carope(pairing=adjacent)", ["carope", "rope(pairing=adjacent)"]),
    "RePo, theta=500000": case("repo(theta=500000)", ["repo(theta=500000, pairing=adjacent)", "repo(theta=5)", "rope", "none"], REPO),
    "RePo, theta=10000": case("repo", ["repo(pairing=adjacent)", "repo(theta=5)", "rope", "none"], REPO),
    "GAPE over none, length=10": case("gape(length=10)", ["gape(length=20)", "alibi", "none"], GAPE),
    "Cable, q.k not scaled, as published code": case("cable(score=plain)", ["cable", "fox", "none"]),
    "Cable, q.k scaled by 1/sqrt(D)": case("cable", ["cable(score=plain)", "fox", "none"]),
    "log temperature, no rotation": case("log_temperature", ["none", "log_n"]),
    "LeRoPE, 8 of 8 channels turn, theta=10000, factor=2048, original=512": case(
        LEROPE + "factor=2048, original=512)", [LEROPE + "factor=2048, original=512, truncate=off)", LEROPE + "original=512)", "lerope(factor=2048, original=512)",
                                                "yarn(pairing=adjacent, factor=2048, original=512)", "rope(pairing=adjacent)"]),
    "LeRoPE, 4 of 8 channels turn, theta=100, factor=4, original=64": case(
        LEROPE + "channels=4, side=trailing, theta=100, factor=4, original=64)",
        [LEROPE + "channels=4, theta=100, factor=4, original=64)", "lerope(channels=4, side=trailing, theta=100, factor=4, original=64)",
         LEROPE + "channels=4, side=trailing, theta=100)"]),
    "LeRoPE, 8 of 8 channels turn, theta=100, factor=4, original=64": case(
        LEROPE + "theta=100, factor=4, original=64)", [LEROPE + "theta=100)", LEROPE + "factor=4, original=64)", "rope(theta=100)"]),
    "clipped RoPE, theta=500000, last 20 of 32, soft": case(
        "rope_clipped(theta=500000)", ["rope_clipped(theta=500000, clip=hard)", "rope(theta=500000)", "rope_clipped(theta=500000, pairing=adjacent)"]),
    "clipped RoPE, theta=500000, last 8 of 8, soft": case(
        "rope_clipped(theta=500000)", ["rope_clipped(theta=500000, pairs=6)", "rope(theta=500000)"]),
    "RoPE-ID, quarters 1 and 3 of 16 channels, length=4096, geometric, no temperature": case(
        "rope_id(original=4096)", ["rope_id(original=4096, turns=1)", "rope_id(original=4096, pairing=adjacent)", "rope_id(original=4096, share=1)",
                                   "rope_id(original=4096, fastest=64)", "none"]),
    "RoPE-ID, quarters 1 and 3 of 32 channels, length=8192, geometric, no temperature": case(
        "rope_id(original=8192)", ["rope_id(original=4096)", "rope_id(original=8192, pairing=adjacent)", "none"]),
    "clipped RoPE, theta=500000, last 20 of 32, hard": case("rope_clipped(theta=500000, clip=hard)", ["rope_clipped(theta=500000)"]),
    "clipped RoPE, theta=10000, original=512, last 4 of 8 by period": case("rope_clipped(pairs=4)", ["rope_clipped(pairs=5)", "rope_clipped(pairs=3)", "rope"]),
    "clipped RoPE, theta=10000, original=512, last 3 of 8 by period": case("rope_clipped(pairs=3)", ["rope_clipped(pairs=4)", "rope_clipped(pairs=2)", "rope"]),
    "DoPE by all, theta=10000, heads [1] do not turn": case("rope_heads(still=1)", ["rope_heads(still=0)", "rope", "none"]),
    "DoPE by all, theta=10000, heads [0] do not turn": case("rope_heads(still=0)", ["rope_heads(still=1)", "rope", "none"]),
    "random float sampling at inference, trained on 8, length 5": case("random_float(length=8)", ["random_float(length=5)", "randomised"]),
    "random float sampling at inference, trained on 8, length 12": case("random_float(length=8)", ["random_float(length=16)", "randomised"]),
    "random float sampling in training, length 6": case("random_float(length=6)", ["random_float(length=6, scale=2)", "randomised"]),
    "rope on the last 1 of 2 heads": case("rope_heads(heads=1, pairing=adjacent)", ["rope_heads(heads=1)", "rope_heads(still=1, pairing=adjacent)",
                                                                                    "rope(pairing=adjacent)", "none"]),
    "rope on the last 3 of 4 heads": case("rope_heads(heads=3, pairing=adjacent)", ["rope_heads(heads=2, pairing=adjacent)", "rope(pairing=adjacent)"]),
}
