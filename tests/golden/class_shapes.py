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
    "qwen3_vl_moe_text": {"hidden_size": 512},
    "qwen2_5_omni_talker": {"embedding_size": 256},
    "qwen3_omni_moe_text": {"hidden_size": 512},
    "glm4v_text": {"rope_parameters": {"rope_type": "default", "rope_theta": 10000.0, "partial_rotary_factor": 0.5}},
    "glm4v_moe_text": {"hidden_size": 512},
    "glm_image_text": {"rope_parameters": {"rope_type": "default", "rope_theta": 10000.0, "partial_rotary_factor": 0.5}},
    "hunyuan_vl_text": {"head_dim": 128, "rope_parameters": {"rope_type": "dynamic", "factor": 1.0, "alpha": 1000.0, "rope_theta": 10000.0, "mrope_section": [16, 16, 16, 16]}},
}
# Classes that take vectors in place of words.
FED_VECTORS = {"qwen3_omni_moe_talker_code_predictor"}


def values_of(cls):
    return {k: v for k, v in cls().to_dict().items()}


def shrunk(name, cls):
    values = values_of(cls)
    given = {k: v for k, v in SMALL.items() if k in values and not isinstance(values[k], list)}
    back = {own: common for common, own in getattr(cls, "attribute_map", {}).items()}
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
    given |= OWN.get(name, {})
    return cls(**given)
