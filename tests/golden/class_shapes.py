"""Small shapes of classes, for make_classes.py: few and narrow layers that keep what the class does with position."""

import torch

# Set where the class has such a key.
SMALL = {"vocab_size": 19, "intermediate_size": 16, "moe_intermediate_size": 8, "shared_expert_intermediate_size": 8, "num_experts": 2, "num_local_experts": 2,
         "n_routed_experts": 2, "moe_num_experts": 2, "num_experts_per_tok": 1, "moe_k": 1, "n_group": 1, "topk_group": 1, "kv_lora_rank": 8, "q_lora_rank": 8,
         "ffn_hidden_size": 16, "expert_ffn_hidden_size": 8, "moe_topk": 1, "zero_expert_num": 1, "vocab_size_per_layer_input": 19, "hidden_size_per_layer_input": 4,
         "num_expert_group": 1, "num_experts_per_token": 1, "intermediate_size_mlp": 16, "pad_token_id": 0, "index_topk": 64}
WINDOW = 5
LAYERS = 14
BOTH = ["sliding_attention", "full_attention"]
# What single classes need beside that.
OWN = {
    "chameleon": {"vocabulary_map": {"<image>": 7}},
    "cohere_compass_text": {"hidden_size": 512, "layer_types": [*BOTH[:1] * 3, BOTH[1]] * 3, "num_hidden_layers": 12,
                            "rope_parameters": {"sliding_attention": {"rope_type": "default", "rope_theta": 50000.0}, "full_attention": None}},
    "csm_depth_decoder_model": {"backbone_hidden_size": 32},
    "dbrx": {"attn_config": {"kv_n_heads": 2, "rope_theta": 500000.0, "clip_qkv": 8.0}, "ffn_config": {"ffn_hidden_size": 16, "moe_num_experts": 2}},
    "deepseek_ocr2_text": {"mlp_layer_types": ["dense"] * LAYERS},
    "diffusion_gemma_text": {"num_experts": 2, "top_k_experts": 1},
    "dots1": {"n_shared_experts": 1, "n_routed_experts": 2, "num_experts_per_tok": 1},
    "glm4_moe": {"hidden_size": 512},
    "gradium_phonon_tts": {"flow_head_config": {"condition_dim": 128}},
    "helium": {"hidden_size": 512},
    "kyutai_speech_to_text": {"audio_pad_token_id": 1, "codebook_vocab_size": 19, "num_codebooks": 2, "ffn_dim": 16},
    "laguna": {"layer_types": [*BOTH, *BOTH[:1]] * 4 + BOTH, "num_attention_heads_per_layer": [4, 8] * 7},
    "mellum": {"layer_types": [*BOTH, *BOTH[:1]] * 4 + BOTH},
    "minimax_m3_vl_text": {"layer_types": ["full_attention", *["minimax_m3_sparse"] * 13]},
    "nemotron": {"num_key_value_heads": 2},
    "pocket_tts": {"flow_head_config": {"condition_dim": 128}},
    "step3p5": {"layer_types": [*BOTH, *BOTH[:1]] * 4 + BOTH, "sliding_window": WINDOW, "attention_other_setting": {"num_attention_heads": 8},
                "num_key_value_heads": 2, "rope_theta": [10000.0, 5e6] + [1.0] * (LAYERS - 2), "partial_rotary_factors": [1.0, 0.5] * 7,
                "rope_scaling": {"rope_type": "llama3", "factor": 2.0, "original_max_position_embeddings": 64, "low_freq_factor": 1.0, "high_freq_factor": 32.0}},
    "zaya": {"layer_types": ["hybrid_sliding", "hybrid"] * 7, "sliding_window": WINDOW},
}
# What single classes take in place of, or beside, words.
INPUTS = {
    **{name: lambda config, n: {"inputs_embeds": torch.randn(1, n, config.hidden_size)} for name in ("csm", "kyutai_speech_to_text")},
    "voxtral_realtime_text": lambda config, n: {**words(n), "t_cond": torch.randn(1, config.hidden_size)},
}


def words(n):
    return {"input_ids": torch.arange(n)[None] % 17 + 1}


def inputs_of(config, n):
    return INPUTS.get(config.model_type, lambda _, n: words(n))(config, n)


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
