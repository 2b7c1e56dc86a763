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
LFM2 = ["full_attention" if layer in (2, 5, 8) else "conv" for layer in range(LAYERS)]
GRANITE = ["full_attention" if layer in (1, 4) else "linear_attention" for layer in range(6)]
ZAMBA2 = ["linear_attention", "hybrid", "linear_attention", "linear_attention", "hybrid"]
MAMBA = {"mamba_n_heads": 8, "mamba_d_state": 8, "mamba_chunk_size": 8}
# The decoder of two stacks has other layers and heads than the encoder.
STACKS = {"encoder_layers": 3, "decoder_layers": 2, "decoder_attention_heads": 2, "encoder_ffn_dim": 16, "decoder_ffn_dim": 16, "max_position_embeddings": 64}
BUCKETS = {"num_decoder_layers": 2, "d_ff": 16}
BERT = {"model_type": "bert", "vocab_size": 19, "hidden_size": 256, "num_hidden_layers": 3, "num_attention_heads": 4, "intermediate_size": 16}
VIT = {"model_type": "vit", "hidden_size": 256, "num_hidden_layers": 1, "num_attention_heads": 4, "intermediate_size": 16}
GEMMA = {"vocab_size": 19, "hidden_size": 64, "intermediate_size": 16, "num_hidden_layers": 6, "num_attention_heads": 4, "num_key_value_heads": 2,
         "head_dim": 32, "query_pre_attn_scalar": 32, "sliding_window": WINDOW, "pad_token_id": 0}
GEMMA2 = {**GEMMA, "dropout_rate": 0.0}
OWN = {
    **{name: STACKS for name in ("bart", "blenderbot", "blenderbot-small", "m2m_100", "marian", "mbart", "mvp", "pegasus", "pegasus_x", "plbart",
                                 "bigbird_pegasus")},
    **{name: BUCKETS for name in ("t5", "mt5", "umt5", "switch_transformers")},
    "longt5": {**BUCKETS, "local_radius": 3},
    "encoder-decoder": {"encoder": {**BERT, "num_hidden_layers": 2}, "decoder": {**BERT, "is_decoder": True, "add_cross_attention": True}},
    "vision-encoder-decoder": {"encoder": VIT, "decoder": {**STACKS, "model_type": "mbart", "vocab_size": 19, "d_model": 256, "encoder_attention_heads": 4,
                                                           "is_decoder": True, "is_encoder_decoder": False, "add_cross_attention": True}},
    "speech-encoder-decoder": {"encoder": {**VIT, "model_type": "wav2vec2", "conv_dim": [8] * 7}, "decoder": {**BERT, "is_decoder": True, "add_cross_attention": True}},
    "t5gemma2": {"encoder": {"text_config": GEMMA2, "vision_config": {"hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2}},
                 "decoder": {**GEMMA2, "num_hidden_layers": 7, "sliding_window": 7}},
    "t5gemma": {"encoder": GEMMA, "decoder": {**GEMMA, "num_hidden_layers": 4, "sliding_window": 7}},
    "fsmt": {**STACKS, "src_vocab_size": 19, "tgt_vocab_size": 19, "langs": ["en", "de"]},
    "led": {**{k: v for k, v in STACKS.items() if k != "max_position_embeddings"}, "attention_window": 4, "max_encoder_position_embeddings": 64, "max_decoder_position_embeddings": 48},
    "nllb-moe": {**STACKS, "encoder_sparse_step": 0, "decoder_sparse_step": 0},
    "big_bird": {"max_position_embeddings": 256},
    "cpmant": {"prompt_length": 0, "dim_ff": 16},
    "layoutlmv3": {"coordinate_size": 42, "shape_size": 44, "visual_embed": False},
    "lilt": {"hidden_size": 192},
    "clvp_encoder": {"projection_dim": 256},
    "gpt_neo": {"attention_types": [[["global", "local"], 6]], "num_layers": 12, "window_size": WINDOW},
    "longformer": {"attention_window": 4},
    "pix2struct_text_model": {"initializer_range": 0.02},
    "squeezebert": {"embedding_size": 256},
    "mra": {"max_position_embeddings": 256},
    "musicgen_decoder": {"max_position_embeddings": 64},
    "musicgen_melody_decoder": {"max_position_embeddings": 64},
    "perceiver": {"num_latents": 4, "d_latents": 32, "d_model": 32, "num_self_attends_per_block": 3, "num_self_attention_heads": 4, "num_cross_attention_heads": 4},
    "sam3_lite_text_text_model": {"max_position_embeddings": 11},  # of another length than the text's the rows are interpolated
    "t5gemma2_text": {"dropout_rate": 0.0},
    "xmod": {"default_language": "en_XX"},
    "yoso": {"max_position_embeddings": 256},
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
# Other files of a class: keys that take the place of those in its own; None: the key is not there. Older files have such keys.
OTHER = {
    "bert": {"a decoder": {"is_decoder": True}},
    "bloom": {"six heads": {"n_head": 6, "hidden_size": 48}},
    "cpmant": {"few buckets": {"position_bias_num_buckets": 16, "position_bias_max_distance": 9}},
    "esm": {"rotary": {"position_embedding_type": "rotary"}},
    "falcon": {"alibi": {"alibi": True, "rope_parameters": None}},
    "gpt_bigcode": {"a KV head for each": {"multi_query": False, "num_key_value_heads": None}},
    "gpt_neo": {"lists": {"attention_layers": None, "attention_types": [[["local"], 4], [["global"], 8]]}},
    "led": {"a window for each layer": {"attention_window": [4, 8, 4]}},
    "m2m_100": {"words as they are": {"scale_embedding": False}},
    "mbart": {"scaled words": {"scale_embedding": True}},
    "t5": {"few buckets": {"relative_attention_num_buckets": 8, "relative_attention_max_distance": 10}, "as many layers": {"num_decoder_layers": None}},
    "longformer": {"a window for each layer": {"attention_window": [4, 8, 4, 8, 8, 4, 4, 4, 4, 4, 4, 4]}},
    "modernbert-decoder": {"older keys": {"sliding_window": None, "layer_types": None, "local_attention": 8, "global_attn_every_n_layers": 4}},
    "mpt": {"six heads": {"n_heads": 6, "d_model": 96}, "a scale": {"attn_config": {"softmax_scale": 0.3}}},
    "musicgen_decoder": {"scaled words": {"scale_embedding": True}},
    "musicgen_melody_decoder": {"scaled words": {"scale_embedding": True}},
    "neomme": {"no objects": {"per_layer_config": None, "layer_types": None}, "a base for all": {"rope_parameters": None, "rope_theta": 50000.0},
               "dictionaries with gaps": {"rope_parameters": {"full_attention": {"partial_rotary_factor": 0.5}}}},
    "perceiver": {"two blocks": {"num_blocks": 2}},
    "pix2struct_text_model": {"few buckets": {"relative_attention_num_buckets": 8, "relative_attention_max_distance": 10}},
    "roformer": {"a decoder": {"is_decoder": True}},
    "sam3_lite_text_text_model": {"attention alone": {"use_repmixer_blocks": False}},
    "t5gemma2_text": {"an even window": {"sliding_window": 8}, "older keys": {
        "layer_types": None, "sliding_window_pattern": 3, "rope_parameters": None, "rope_theta": 5e5, "rope_local_base_freq": 2e4}},
    "trocr": {"sines": {"use_learned_position_embeddings": False, "scale_embedding": True}},
    "vision-encoder-decoder": {"TrOCR": {"decoder": {"model_type": "trocr", "vocab_size": 19, "d_model": 256, "decoder_layers": 3, "decoder_attention_heads": 4,
                                                     "decoder_ffn_dim": 16, "is_decoder": True, "add_cross_attention": True, "cross_attention_hidden_size": 256}}},
    "xglm": {"words as they are": {"scale_embedding": False}},
    "xlm": {"causal": {"causal": True}},
    "xlnet": {"causal": {"attn_type": "uni"}},
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
    "recurrent_gemma": {"another cycle": {"block_types": ["attention", "recurrent"]}, "another head": {"head_dim": 32}},
    "zamba": {"another period": {"layers_block_type": None, "attn_layer_period": 4, "attn_layer_offset": 1}},
    "zamba2": {"rope": {"use_mem_rope": True}, "older words": {
        "attention_head_dim": None, "layers_block_type": ["hybrid" if kind == "hybrid" else "mamba" for kind in ZAMBA2]}},
}
# Where the class of the text stands, if its module has several or none.
MODELS = {
    "dpr": "dpr.modeling_dpr.DPREncoder",
    "blip_text_model": "blip.modeling_blip_text.BlipTextModel",
    "clvp_encoder": "clvp.modeling_clvp.ClvpEncoder",
    "clvp_decoder": "clvp.modeling_clvp.ClvpDecoder",
    "t5gemma2_text": "t5gemma2.modeling_t5gemma2.T5Gemma2TextEncoder",
    "videoprism_text_model": "videoprism.modeling_videoprism.VideoPrismTextModel",
}
# Whose positions have rows of their own: time 0, height 1, width 2.
AXES = {"neomme": "12"}
# Whose eager attention is another than the usual one: Falcon's adds the bias of ALiBi twice, in the mask and beside q·k.
KERNELS = {"falcon": ("sdpa",)}
# The module of attention, where it has no logit for each pair of tokens.
REACHING = {"led": "LEDEncoderSelfAttention", "longformer": "LongformerSelfAttention", "longt5": "LongT5LocalAttention", "yoso": "YosoSelfAttention"}
# Rows of ids of one text: a codebook each.
INPUT_ROWS = {"musicgen_decoder": 4, "musicgen_melody_decoder": 4}
# What single classes take in place of, or beside, words.
INPUTS = {
    "bros": lambda config, n: {**words(n), "bbox": torch.zeros(1, n, 4)},
    **{name: lambda config, n: {"inputs_embeds": torch.randn(1, n, config.hidden_size)} for name in ("csm", "kyutai_speech_to_text", "qwen3_omni_moe_talker_code_predictor")},
    "perceiver": lambda config, n: {"inputs": words(n)["input_ids"]},
    "voxtral_realtime_text": lambda config, n: {**words(n), "t_cond": torch.randn(1, config.hidden_size)},
}


def words(n):
    return {"input_ids": torch.arange(n)[None] % 17 + 1}



def parts_of(config):
    """What the class of the text is made of beside its configuration."""
    if config.model_type != "perceiver":
        return {}
    from transformers.models.perceiver.modeling_perceiver import PerceiverTextPreprocessor
    return {"input_preprocessor": PerceiverTextPreprocessor(config)}


def padded(config, tokens):
    """How many tokens the class makes of these: Longformer's chunks are whole."""
    if config.model_type not in ("led", "longformer"):
        return tokens
    window = config.attention_window if isinstance(config.attention_window, int) else max(config.attention_window)
    return -(-tokens // window) * window


def width_of(config):
    return config.d_model if config.model_type == "perceiver" else config.hidden_size


def layer_count(config):
    return config.num_blocks * config.num_self_attends_per_block if config.model_type == "perceiver" else config.num_hidden_layers


def values_of(cls):
    return {k: v for k, v in cls().to_dict().items()}


def shrunk(name, cls, bare=False):
    """`bare`: with the padding of the class, which moves the rows of some tables, and with its length."""
    values = values_of(cls)
    given = {k: v for k, v in SMALL.items() if k in values and not isinstance(values[k], list)}
    if bare and given.pop("pad_token_id", None) is not None:
        given["vocab_size"] = max(given["vocab_size"], (values["pad_token_id"] or 0) + 19)
    back = {own: common for common, own in reversed(getattr(cls, "attribute_map", {}).items())}
    by = {back.get(k, k): k for k in values}
    if "hidden_size" not in by:
        return cls(**{**given, **OWN[name]})
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
    if bare:
        given = {k: v for k, v in given.items() if not k.startswith("max_") or not k.endswith("position_embeddings")}
    return cls(**given)
