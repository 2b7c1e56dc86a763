"""Small shapes of classes, for make_classes.py: few and narrow layers that keep what the class does with position."""

# Set where the class has such a key.
SMALL = {"vocab_size": 19, "intermediate_size": 16, "moe_intermediate_size": 8, "shared_expert_intermediate_size": 8, "num_experts": 2, "num_local_experts": 2,
         "n_routed_experts": 2, "moe_num_experts": 2, "num_experts_per_tok": 1, "moe_k": 1, "n_group": 1, "topk_group": 1, "kv_lora_rank": 8, "q_lora_rank": 8,
         "ffn_hidden_size": 16, "expert_ffn_hidden_size": 8, "moe_topk": 1, "zero_expert_num": 1, "vocab_size_per_layer_input": 19, "hidden_size_per_layer_input": 4,
         "num_expert_group": 1, "num_experts_per_token": 1, "intermediate_size_mlp": 16, "pad_token_id": 0, "index_topk": 64}
WINDOW = 5
LAYERS = 14
# What single classes need beside that.
OWN = {
    "gpt_neo": {"attention_types": [[["global", "local"], 6]], "num_layers": 12, "window_size": WINDOW},
    "big_bird": {"max_position_embeddings": 256},
    "yoso": {"max_position_embeddings": 256},
    "longformer": {"attention_window": 4},
    "clvp_encoder": {"projection_dim": 256},
    "pix2struct_text_model": {"initializer_range": 0.02},
    "squeezebert": {"embedding_size": 256},
    "xmod": {"default_language": "en_XX"},
}
# Settings of a class that change what it does with position, beside its own: an entry for each.
VARIANTS = {
    "esm": [{"position_embedding_type": "rotary"}],
}
# Where the class of the text stands, if its module has several or none.
MODELS = {
    "blip_text_model": "blip.modeling_blip_text.BlipTextModel",
    "clvp_encoder": "clvp.modeling_clvp.ClvpEncoder",
    "clvp_decoder": "clvp.modeling_clvp.ClvpDecoder",
    "videoprism_text_model": "videoprism.modeling_videoprism.VideoPrismTextModel",
}
# The module of attention, where it has no logit for each pair of tokens.
REACHING = {"longformer": "LongformerSelfAttention", "yoso": "YosoSelfAttention"}
# Streams of positions of classes that have not three.
STREAMS = {"neomme": 2}
# Rows of ids of one text: a codebook each.
INPUT_ROWS = {"musicgen_decoder": 4, "musicgen_melody_decoder": 4}


def values_of(cls):
    return {k: v for k, v in cls().to_dict().items()}


def shrunk(name, cls, variant=None, bare=False):
    """`bare`: with the padding of the class, which moves the rows of some tables."""
    values = values_of(cls)
    given = {k: v for k, v in SMALL.items() if k in values and not isinstance(values[k], list)}
    if bare and given.pop("pad_token_id", None) is not None:
        given["vocab_size"] = max(given["vocab_size"], (values["pad_token_id"] or 0) + 19)
    back = {own: common for common, own in reversed(getattr(cls, "attribute_map", {}).items())}
    by = {back.get(k, k): k for k in values}
    heads, kv = values.get(by.get("num_attention_heads")), values.get(by.get("num_key_value_heads"))
    width = values[by["hidden_size"]]
    few = 4
    dim = values.get("head_dim") or width // heads
    if "head_dim" in values and values["head_dim"] and "qk_rope_head_dim" not in values:
        given[by["hidden_size"]] = few * dim // 2
    elif "qk_rope_head_dim" in values:
        given[by["hidden_size"]] = 64
    else:
        given[by["hidden_size"]] = few * dim
    given[by["num_attention_heads"]] = few
    if kv:
        given[by["num_key_value_heads"]] = few if kv == heads else 1 if kv == 1 else 2
    window = values.get("sliding_window")
    if isinstance(window, int) and window > WINDOW:
        given["sliding_window"] = WINDOW
    layers = values[by["num_hidden_layers"]]
    if "num_kv_shared_layers" not in values:
        given[by["num_hidden_layers"]] = min(layers, LAYERS)
    given |= OWN.get(name, {}) | (variant or {})
    if bare:
        given.pop("max_position_embeddings", None)
    return cls(**given)
