"""Small shapes of classes, for make_classes.py: few and narrow layers that keep what the class does with position."""

# Set where the class has such a key.
SMALL = {"vocab_size": 19, "intermediate_size": 16, "moe_intermediate_size": 8, "shared_expert_intermediate_size": 8, "num_experts": 2, "num_local_experts": 2,
         "n_routed_experts": 2, "moe_num_experts": 2, "num_experts_per_tok": 1, "moe_k": 1, "n_group": 1, "topk_group": 1, "kv_lora_rank": 8, "q_lora_rank": 8,
         "ffn_hidden_size": 16, "expert_ffn_hidden_size": 8, "moe_topk": 1, "zero_expert_num": 1, "vocab_size_per_layer_input": 19, "hidden_size_per_layer_input": 4,
         "num_expert_group": 1, "num_experts_per_token": 1, "intermediate_size_mlp": 16, "pad_token_id": 0, "index_topk": 64}
WINDOW = 5
LAYERS = 14
# What single classes need beside that.
LFM2 = ["full_attention" if layer in (2, 5, 8) else "conv" for layer in range(LAYERS)]
GRANITE = ["full_attention" if layer in (1, 4) else "linear_attention" for layer in range(6)]
ZAMBA2 = ["linear_attention", "hybrid", "linear_attention", "linear_attention", "hybrid"]
MAMBA = {"mamba_n_heads": 8, "mamba_d_state": 8, "mamba_chunk_size": 8}
OWN = {
    "qwen3_vl_moe_text": {"hidden_size": 512},
    "qwen2_5_omni_talker": {"embedding_size": 256},
    "qwen3_omni_moe_text": {"hidden_size": 512},
    "glm4v_text": {"rope_parameters": {"rope_type": "default", "rope_theta": 10000.0, "partial_rotary_factor": 0.5}},
    "glm4v_moe_text": {"hidden_size": 512},
    "glm_image_text": {"rope_parameters": {"rope_type": "default", "rope_theta": 10000.0, "partial_rotary_factor": 0.5}},
    "hunyuan_vl_text": {"head_dim": 128, "rope_parameters": {"rope_type": "dynamic", "factor": 1.0, "alpha": 1000.0, "rope_theta": 10000.0, "mrope_section": [16, 16, 16, 16]}},
    "bamba": {**MAMBA, "attn_layer_indices": [2, 5, 9]},
    "falcon_mamba": {"num_hidden_layers": 2},
    "falcon_h1": {**MAMBA, "num_hidden_layers": 3, "mamba_d_ssm": 64},
    "granitemoehybrid": {**MAMBA, "num_hidden_layers": 6, "layer_types": GRANITE, "shared_intermediate_size": 8, "attention_multiplier": 0.0625},
    "glm5_next_text": {"linear_num_heads": 2, "linear_head_dim": 8},
    "inkling2_text": {"sliding_window_size": 5, "rel_extent": 8, "log_scaling_n_floor": 6, "swa_num_attention_heads": 4, "swa_num_key_value_heads": 1, "swa_head_dim": 64},
    "jetmoe": {"num_experts_per_tok": 2},
    "kimi_linear": {"linear_num_heads": 2, "linear_head_dim": 8},
    "lfm2": {"full_attn_idxs": [2, 5, 8]},
    "lfm2_moe": {"layer_types": LFM2},
    "longcat_flash": {"num_layers": 3, "moe_topk": 2},
    "mamba": {"num_hidden_layers": 2},
    "mamba2": {"num_hidden_layers": 2, "hidden_size": 32, "num_heads": 4, "head_dim": 16, "n_groups": 1, "state_size": 8, "chunk_size": 8},
    "nemotron_h": {"layers_block_type": ["linear_attention", "moe", "full_attention", "mlp", "linear_attention", "full_attention"], "hidden_size": 64,
                   "mamba_num_heads": 4, "mamba_head_dim": 32, "n_groups": 1, "ssm_state_size": 8, "chunk_size": 8,
                   "moe_shared_expert_intermediate_size": 8},
    "qwen4_exp_text": {"indexer_n_heads": 2, "indexer_kv_heads": 1, "indexer_head_dim": 128, "indexer_budget": 64, "indexer_compress_ratio": 2,
                       "rope_parameters": {"rope_type": "default", "rope_theta": 10000.0, "partial_rotary_factor": 0.25}},
    "recurrent_gemma": {"attention_window_size": 5},
    "rwkv": {"num_hidden_layers": 2},
    "xlstm": {"num_hidden_layers": 2, "hidden_size": 128, "num_heads": 2, "chunk_size": 8},
    "zamba2": {"num_hidden_layers": 5, "layers_block_type": ZAMBA2, "mamba_d_state": 8, "chunk_size": 8, "n_mamba_heads": 4},
}
# Other files of a class: keys that take the place of those in its own; None: the key is not there. Older files have such keys.
OTHER = {
    "bailing_hybrid": {"older keys": {"layer_types": None, "layer_group_size": 4, "rope_parameters": None, "rope_theta": 100000.0}},
    "bamba": {"a share beside": {"partial_rotary_factor": 0.25}},
    "dots3_note_text": {"older keys": {
        "per_layer_config": None, "layer_types": None, "rope_parameters": None, "sliding_window": None, "sliding_window_size": 5,
        "swa_num_attention_heads": 8, "swa_num_key_value_heads": 8, "swa_kv_lora_rank": 16, "swa_head_dim": 96, "swa_qk_nope_head_dim": 64,
        "swa_v_head_dim": 32, "swa_rope_theta": 70000.0, "rope_theta": 1000000.0}},
    "glm_moe_dsa": {"an indexer for several layers": {"indexer_types": None, "index_topk_freq": 3, "index_skip_topk_offset": 2},
                    "letters": {"indexer_types": None, "index_topk_pattern": "FSSFSSFSSFSSFS"}},
    "granitemoehybrid": {"rope": {"position_embedding_type": "rope"},
                         "older words": {"layer_types": None, "layers_block_type": ["attention" if "full" in kind else "mamba" for kind in GRANITE]}},
    "jamba": {"another period": {"attn_layer_period": 3, "attn_layer_offset": 1}},
    "jetmoe": {"one expert": {"num_experts_per_tok": 1}},
    "kimi_linear": {"lists": {"layer_types": None, "linear_attn_config": {
        "full_attn_layers": [3, 6, 14], "kda_layers": [n for n in range(1, 15) if n not in (3, 6, 14)], "head_dim": 8, "num_heads": 2,
        "short_conv_kernel_size": 4}}},
    "lfm2": {"a list": {"layer_types": None}},
    "mimo_v2_flash": {"tokens beside the query": {"sliding_window_size": 3}},
    "minimax": {"a window": {"sliding_window": 5}},
    "mistral_large4_text": {"keys of other layers": {"kv_source_layers": [0, 1, 2, 3, 2, 2, 2, 3, 8, 9, 10, 11, 12, 13]},
                            "another interval": {"no_rope_layers": None, "no_rope_layer_interval": 3}},
    "nemotron_h": {"letters": {"layers_block_type": None, "hybrid_override_pattern": "ME*-M*M"}},
    "olmo_hybrid": {"no rotation": {"rope_parameters": {"rope_type": "default", "rope_theta": None}}},
    "qwen3_5_text": {"other sections": {"rope_parameters": {"rope_type": "default", "rope_theta": 10000000.0, "partial_rotary_factor": 0.25,
                                                            "mrope_section": [16, 8, 8], "mrope_interleaved": True}}},
    "qwen3_next": {"another interval": {"layer_types": None, "full_attention_interval": 3}},
    "recurrent_gemma": {"another cycle": {"block_types": ["attention", "recurrent"]}},
    "zamba": {"another period": {"layers_block_type": None, "attn_layer_period": 4, "attn_layer_offset": 1}},
    "zamba2": {"rope": {"use_mem_rope": True}, "older words": {
        "attention_head_dim": None, "layers_block_type": ["hybrid" if kind == "hybrid" else "mamba" for kind in ZAMBA2]}},
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
    if not heads:
        return cls(**{**given, by["hidden_size"]: 64, **OWN.get(name, {})})
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
    layers = values.get(by.get("num_hidden_layers"))
    if layers and "num_kv_shared_layers" not in values:
        given[by["num_hidden_layers"]] = min(layers, LAYERS)
    given |= OWN.get(name, {})
    return cls(**given)
