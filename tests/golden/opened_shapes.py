"""What make_opened.py makes: classes of transformers and their settings, all small."""

import gguf
import torch

B, T, V, PAD = 2, 8, 24, 1
PROMPT, NEW = 4, 6
HALVES = torch.bfloat16
TOKENS = {"bos_token_id": None, "eos_token_id": None, "pad_token_id": PAD}
SMALL = TOKENS | {"num_hidden_layers": 2, "num_attention_heads": 2, "vocab_size": V, "hidden_size": 8}
BERT = SMALL | {"intermediate_size": 12, "max_position_embeddings": 12, "hidden_dropout_prob": 0.0,
                "attention_probs_dropout_prob": 0.0}
GROUPED = SMALL | {"num_key_value_heads": 1, "intermediate_size": 12, "max_position_embeddings": 64}
GPT = TOKENS | {"vocab_size": V, "n_positions": 16, "n_embd": 8, "n_layer": 2, "n_head": 2, "n_inner": 12,
                "resid_pdrop": 0.0, "embd_pdrop": 0.0, "attn_pdrop": 0.0}
ROPE = {"rope_type": "default", "rope_theta": 500.0}
T5 = {"vocab_size": V, "d_model": 8, "d_kv": 4, "d_ff": 12, "num_layers": 2, "num_heads": 2, "dropout_rate": 0.0,
      "relative_attention_num_buckets": 8, "relative_attention_max_distance": 10, "pad_token_id": PAD}
# Name: class and config. "bare" classes are those without a head.
CASES = {
    "bert": ("BertForMaskedLM", BERT),
    "bert_bare": ("BertModel", BERT),
    "roberta": ("RobertaForMaskedLM", BERT | {"max_position_embeddings": 14, "type_vocab_size": 1}),
    "mpnet": ("MPNetModel", BERT | {"max_position_embeddings": 14}),
    "deberta_v2": ("DebertaV2Model", BERT | {
        "type_vocab_size": 0, "relative_attention": True, "position_buckets": 8, "norm_rel_ebd": "layer_norm",
        "share_att_key": True, "pos_att_type": "p2c|c2p", "position_biased_input": False}),
    "modernbert": ("ModernBertForMaskedLM", SMALL | {
        "num_hidden_layers": 4, "intermediate_size": 12, "max_position_embeddings": 32,
        "local_attention": 6, "cls_token_id": None, "sep_token_id": None}),
    "t5": ("T5EncoderModel", T5 | {"feed_forward_proj": "gated-gelu"}),
    "t5_whole": ("T5ForConditionalGeneration", T5 | {"num_decoder_layers": 1, "decoder_start_token_id": 0}),
    "gpt2": ("GPT2LMHeadModel", GPT),
    "gpt_neox": ("GPTNeoXForCausalLM", SMALL | {
        "hidden_size": 16, "intermediate_size": 12, "max_position_embeddings": 32,
        "rope_parameters": ROPE | {"partial_rotary_factor": 0.5}}),
    "gptj": ("GPTJForCausalLM", GPT | {"n_embd": 16, "rotary_dim": 4}),
    "llama": ("LlamaForCausalLM", GROUPED | {"rope_parameters": ROPE}),
    "llama_bare": ("LlamaModel", GROUPED | {"attention_bias": True, 
                                            "rope_parameters": {"rope_type": "llama3", "rope_theta": 500.0, "factor": 8.0,
                                                                "low_freq_factor": 1.0, "high_freq_factor": 4.0,
                                                                "original_max_position_embeddings": 16}}),
    "mistral": ("MistralForCausalLM", GROUPED | {"sliding_window": 5, "rope_parameters": ROPE}),
    "qwen2": ("Qwen2ForCausalLM", GROUPED | {"tie_word_embeddings": True, "rope_parameters": ROPE}),
    "qwen3": ("Qwen3ForCausalLM", GROUPED | {"head_dim": 8, 
                                             "rope_parameters": ROPE}),
    "smollm3": ("SmolLM3ForCausalLM", GROUPED | {"num_hidden_layers": 4, "rope_parameters": ROPE}),
    "gemma2": ("Gemma2ForCausalLM", GROUPED | {
        "head_dim": 8, "query_pre_attn_scalar": 5,
        "sliding_window": 5, "attn_logit_softcapping": 2.0, "final_logit_softcapping": 2.0}),
    "gemma3": ("Gemma3ForCausalLM", GROUPED | {
        "num_hidden_layers": 3, "head_dim": 8, 
        "query_pre_attn_scalar": 5, "sliding_window": 5, "sliding_window_pattern": 3}),
    "phi3": ("Phi3ForCausalLM", GROUPED | {"sliding_window": 6, "rope_parameters": ROPE}),
}
PADDED = BERT | {"type_vocab_size": 1}
DEBERTA = CASES["deberta_v2"][1]
# Settings beside the usual ones. They come after all others, whose seeds stay.
VARIANTS = {
    "roberta_relu_pad0": ("RobertaForMaskedLM", PADDED | {"max_position_embeddings": 13, "pad_token_id": 0, "hidden_act": "relu"}),
    "camembert_pad3": ("CamembertForMaskedLM", PADDED | {"max_position_embeddings": 16, "pad_token_id": 3, "hidden_act": "gelu_new"}),
    "xlm_roberta_new": ("XLMRobertaForMaskedLM", PADDED | {"max_position_embeddings": 14, "hidden_act": "gelu_new"}),
    "mpnet_relu": ("MPNetForMaskedLM", BERT | {"max_position_embeddings": 14, "hidden_act": "relu"}),
    "bert_relu": ("BertForMaskedLM", BERT | {"hidden_act": "relu"}),
    "modernbert_silu": ("ModernBertForMaskedLM", CASES["modernbert"][1] | {"hidden_activation": "silu", "classifier_activation": "relu"}),
    "deberta_v2_types": ("DebertaV2Model", DEBERTA | {"type_vocab_size": 2, "position_biased_input": True}),
}

WIDER = GROUPED | {"hidden_size": 16, "rope_parameters": ROPE | {"partial_rotary_factor": 0.5}}
FALCON = TOKENS | {"vocab_size": V, "hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 4, "max_position_embeddings": 64,
                   "ffn_hidden_size": 20, "rope_parameters": ROPE}
BLOOM = TOKENS | {"vocab_size": V, "n_layer": 2, "use_cache": False}
MPT = TOKENS | {"vocab_size": V, "n_layers": 2, "max_seq_len": 64}
OPT = TOKENS | {"vocab_size": V, "hidden_size": 8, "num_hidden_layers": 2, "num_attention_heads": 2, "ffn_dim": 12, "max_position_embeddings": 16,
                "dropout": 0.0}
MOE = GROUPED | {"rope_parameters": ROPE, "num_experts_per_tok": 2}
QWEN3_MOE = MOE | {"head_dim": 8, "num_experts": 5, "moe_intermediate_size": 8, "decoder_sparse_step": 1}
GPT_OSS = MOE | {"head_dim": 8, "num_local_experts": 4, "sliding_window": 5, "swiglu_limit": 1.5, "rope_parameters": {
    "rope_type": "yarn", "rope_theta": 150000.0, "factor": 4.0, "beta_fast": 32.0, "beta_slow": 1.0, "truncate": False,
    "original_max_position_embeddings": 16}}
OLMO = GROUPED | {"rope_parameters": ROPE}
DISTILBERT = TOKENS | {"vocab_size": V, "dim": 8, "hidden_dim": 12, "n_layers": 2, "n_heads": 2, "max_position_embeddings": 12,
                       "dropout": 0.0, "attention_dropout": 0.0}
NOMIC = BERT | {"max_position_embeddings": 32, "rope_parameters": {"rope_type": "default", "rope_theta": 1000.0}}
GRANITE = OLMO | {"embedding_multiplier": 3.0, "residual_multiplier": 0.6, "logits_scaling": 2.0, "attention_multiplier": 0.3}
DEBERTA_1 = BERT | {"relative_attention": True, "max_relative_positions": -1}
# With the rows between the layers, and what a decoder writes.
MORE = {
    "gemma": ("GemmaForCausalLM", GROUPED | {"head_dim": 8}),
    "olmo": ("OlmoForCausalLM", OLMO | {"clip_qkv": 1.0}),
    "olmo_biased": ("OlmoForCausalLM", OLMO | {"attention_bias": True, "num_key_value_heads": 2, "tie_word_embeddings": True}),
    "olmo2": ("Olmo2ForCausalLM", OLMO),
    "olmo3": ("Olmo3ForCausalLM", OLMO | {"num_hidden_layers": 4, "sliding_window": 5, "num_key_value_heads": 2, "rope_parameters": None}),
    "exaone4": ("Exaone4ForCausalLM", OLMO | {"num_hidden_layers": 4, "sliding_window": 5}),
    "ministral": ("MinistralForCausalLM", OLMO | {"head_dim": 6, "sliding_window": 5, "layer_types": ["full_attention", "sliding_attention"]}),
    "phi": ("PhiForCausalLM", WIDER | {"num_key_value_heads": 2}),
    "phi_qk_norms": ("PhiForCausalLM", WIDER | {"qk_layernorm": True, "num_attention_heads": 4, "hidden_act": "quick_gelu",
                                                "rope_parameters": ROPE | {"partial_rotary_factor": 1.0}}),
    "falcon": ("FalconForCausalLM", FALCON),
    "falcon_new": ("FalconForCausalLM", FALCON | {"new_decoder_architecture": True, "num_kv_heads": 2}),
    "falcon_one_norm": ("FalconForCausalLM", FALCON | {"new_decoder_architecture": True, "num_kv_heads": 1, "num_ln_in_parallel_attn": 1}),
    "falcon_alibi": ("FalconForCausalLM", FALCON | {"alibi": True, "multi_query": False, "parallel_attn": False, "bias": True,
                                                    "tie_word_embeddings": False}),
    "stablelm": ("StableLmForCausalLM", WIDER | {"use_qkv_bias": True}),
    "stablelm_parallel": ("StableLmForCausalLM", WIDER | {"num_attention_heads": 4, "num_key_value_heads": 2, "qk_layernorm": True,
                                                          "rope_parameters": ROPE | {"partial_rotary_factor": 1.0},
                                                          "use_parallel_residual": True}),
    "glm": ("GlmForCausalLM", WIDER | {"head_dim": 8}),
    "glm4": ("Glm4ForCausalLM", WIDER | {"head_dim": 8, "num_attention_heads": 4, "attention_bias": False}),
    "granite": ("GraniteForCausalLM", GRANITE),
    "granite_biased": ("GraniteForCausalLM", GRANITE | {"attention_bias": True, "mlp_bias": True, "tie_word_embeddings": True}),
    "mpt": ("MptForCausalLM", MPT | {"d_model": 8, "n_heads": 2, "attn_config": {"clip_qkv": 1.0}}),
    "mpt_three_heads": ("MptForCausalLM", MPT | {"d_model": 12, "n_heads": 3, "attn_config": {"softmax_scale": 0.7}}),
    "bloom": ("BloomForCausalLM", BLOOM | {"hidden_size": 8, "n_head": 2}),
    "bloom_three_heads": ("BloomForCausalLM", BLOOM | {"hidden_size": 12, "n_head": 3}),
    "opt": ("OPTForCausalLM", OPT),
    "opt_norms_after": ("OPTForCausalLM", OPT | {"do_layer_norm_before": False, "activation_function": "gelu"}),
    "opt_plain": ("OPTForCausalLM", OPT | {"enable_bias": False, "layer_norm_elementwise_affine": False}),
    "mixtral": ("MixtralForCausalLM", MOE | {"num_local_experts": 4, "sliding_window": 5}),
    "qwen3_moe": ("Qwen3MoeForCausalLM", QWEN3_MOE | {"norm_topk_prob": True}),
    "qwen3_moe_sums": ("Qwen3MoeForCausalLM", QWEN3_MOE | {"norm_topk_prob": False, "num_experts_per_tok": 3, "attention_bias": True}),
    "gpt_oss": ("GptOssForCausalLM", GPT_OSS),
    "distilbert": ("DistilBertForMaskedLM", DISTILBERT),
    "distilbert_bare": ("DistilBertModel", DISTILBERT | {"activation": "relu", "n_heads": 1}),
    "electra": ("ElectraForMaskedLM", BERT | {"embedding_size": 8}),
    "electra_bare": ("ElectraModel", BERT | {"embedding_size": 8, "hidden_act": "relu"}),
    "nomic_bert": ("NomicBertForMaskedLM", NOMIC),
    "nomic_bert_bare": ("NomicBertModel", NOMIC | {"type_vocab_size": 1, "num_attention_heads": 1}),
}
# After all others, whose seeds stay.
LAST = {
    "deberta": ("DebertaModel", DEBERTA_1 | {"pos_att_type": "c2p|p2c", "position_biased_input": True, "type_vocab_size": 2}),
    "deberta_plain": ("DebertaModel", DEBERTA_1 | {"pos_att_type": "p2c|c2p", "position_biased_input": False, "type_vocab_size": 0,
                                                   "max_relative_positions": 6}),
    "deberta_v2_own": ("DebertaV2Model", DEBERTA | {"share_att_key": False, "type_vocab_size": 2, "position_biased_input": True}),
    "deberta_v2_one_term": ("DebertaV2Model", DEBERTA | {"share_att_key": False, "pos_att_type": "p2c", "norm_rel_ebd": "none", "hidden_act": "silu",
                                                         "num_attention_heads": 1}),
}
# Words narrower than the stream, and feed-forward parts that differ from layer to layer. Their seeds are of their own.
NARROW = {
    "electra_small": ("ElectraForMaskedLM", BERT | {"embedding_size": 6, "type_vocab_size": 3}),
    "electra_wide": ("ElectraModel", BERT | {"embedding_size": 12, "hidden_act": "relu"}),
    "opt_narrow": ("OPTForCausalLM", OPT | {"word_embed_proj_dim": 6, "do_layer_norm_before": False}),
    "opt_narrow_own_head": ("OPTForCausalLM", OPT | {"word_embed_proj_dim": 10, "tie_word_embeddings": False}),
    "qwen3_moe_first_dense": ("Qwen3MoeForCausalLM", QWEN3_MOE | {"mlp_only_layers": [0]}),
    "qwen3_moe_every_second": ("Qwen3MoeForCausalLM", QWEN3_MOE | {
        "num_hidden_layers": 4, "mlp_only_layers": [1], "decoder_sparse_step": 2, "norm_topk_prob": True}),
    "gpt_oss_mxfp4": ("GptOssForCausalLM", GPT_OSS | {"hidden_size": 32, "intermediate_size": 32}),
    "gpt_oss_mxfp4_wide": ("GptOssForCausalLM", GPT_OSS | {"hidden_size": 64, "intermediate_size": 32, "num_local_experts": 3}),
    "gpt_oss_mxfp4_deep": ("GptOssForCausalLM", GPT_OSS | {
        "hidden_size": 32, "intermediate_size": 96, "num_hidden_layers": 3, "num_local_experts": 5, "num_experts_per_tok": 3,
        "tie_word_embeddings": True}),
}
FIRST_NARROW = 400
SLIDES, SEES_ALL = "sliding_attention", "full_attention"
GEMMA4 = TOKENS | {"vocab_size": V, "vocab_size_per_layer_input": V, "hidden_size": 8, "intermediate_size": 12, "num_attention_heads": 2,
                   "num_key_value_heads": 1, "head_dim": 4, "global_head_dim": 16, "max_position_embeddings": 64, "sliding_window": 5}
# Layers that differ in their heads, that borrow keys, and that read their words once more: by channels enough that not all gates of
# a token are shut, because the norm that follows would enlarge the rounding of numbers near 0.
OF_LAYERS = {
    "gemma4": ("Gemma4ForCausalLM", GEMMA4 | {
        "num_hidden_layers": 6, "layer_types": [SLIDES, SLIDES, SEES_ALL] * 2, "num_kv_shared_layers": 2, "use_double_wide_mlp": True,
        "hidden_size_per_layer_input": 16, "final_logit_softcapping": 3.0}),
    "gemma4_keys_are_values": ("Gemma4ForCausalLM", GEMMA4 | {
        "num_hidden_layers": 6, "hidden_size": 12, "hidden_size_per_layer_input": 0, "num_attention_heads": 4, "num_key_value_heads": 2,
        "num_global_key_value_heads": 1, "attention_k_eq_v": True}),
    "gemma4_biased": ("Gemma4ForCausalLM", GEMMA4 | {
        "num_hidden_layers": 6, "layer_types": [SEES_ALL, SLIDES, SLIDES, SEES_ALL, SLIDES, SEES_ALL], "num_kv_shared_layers": 2,
        "hidden_size": 16, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 8, "hidden_size_per_layer_input": 12,
        "attention_bias": True}),
    "gemma4_larger": ("Gemma4ForCausalLM", GEMMA4 | {"num_hidden_layers": 2, "layer_types": [SLIDES, SEES_ALL], "hidden_size_per_layer_input": 10}),
}
FIRST_OF_LAYERS = 800
WHOLE = T5 | {"decoder_start_token_id": 0, "eos_token_id": None, "bos_token_id": None}
# Encoders with decoders, beside t5_whole. Their seeds begin here.
PAIRS = {
    "t5_gated": ("T5ForConditionalGeneration", WHOLE | {
        "feed_forward_proj": "gated-gelu", "tie_word_embeddings": False, "num_decoder_layers": 3, "num_heads": 3, "d_kv": 6,
        "decoder_start_token_id": 5}),
    "t5_other_head": ("T5ForConditionalGeneration", WHOLE | {"feed_forward_proj": "gated-silu", "tie_word_embeddings": False}),
    "t5_gelu": ("T5ForConditionalGeneration", WHOLE | {"feed_forward_proj": "gelu", "num_layers": 1}),
    "mt5": ("MT5ForConditionalGeneration", WHOLE | {"feed_forward_proj": "gated-gelu", "num_decoder_layers": 1}),
    "umt5": ("UMT5ForConditionalGeneration", WHOLE | {"num_decoder_layers": 3}),
}
FIRST_PAIR = 500
OTHER_HEADS = ("t5_other_head", "mt5")  # files with a head beside the word table

# --- GGUF

Q8, F16, MXFP4 = (gguf.GGMLQuantizationType[name] for name in ("Q8_0", "F16", "MXFP4"))
WIDE = GROUPED | {"hidden_size": 32, "intermediate_size": 32, "num_attention_heads": 4, "num_key_value_heads": 2,
                  "rope_parameters": ROPE}  # Q8_0 has blocks of 32 numbers
# Name: architecture, class, config, what the converter does, how matrices are stored.
GGUFS = {
    "gguf_llama": ("llama", "LlamaForCausalLM", WIDE | {"tie_word_embeddings": False}, "llama", Q8),
    "gguf_llama_tied": ("llama", "LlamaForCausalLM", GROUPED | {"tie_word_embeddings": True, "rope_parameters": ROPE}, "llama", F16),
    "gguf_qwen2": ("qwen2", "Qwen2ForCausalLM", GROUPED | {"rope_parameters": ROPE}, "unchanged", F16),
    "gguf_phi3": ("phi3", "Phi3ForCausalLM", GROUPED | {"rope_parameters": ROPE, "sliding_window": None}, "unchanged", F16),
    "gguf_gemma2": ("gemma2", "Gemma2ForCausalLM", CASES["gemma2"][1] | {"query_pre_attn_scalar": 8}, "gemma", F16),
    "gguf_gpt2": ("gpt2", "GPT2LMHeadModel", GPT, "gpt2", F16),
    "gguf_gpt_neox": ("gptneox", "GPTNeoXForCausalLM", CASES["gpt_neox"][1], "gpt_neox", F16),
    "gguf_bert": ("bert", "BertModel", BERT, "unchanged", F16),
}
GLM = WIDER | {"head_dim": 8}
MORE_GGUFS = {
    "gguf_gemma": ("gemma", "GemmaForCausalLM", MORE["gemma"][1], "gemma", F16),
    "gguf_olmo": ("olmo", "OlmoForCausalLM", MORE["olmo"][1], "llama", F16),
    "gguf_olmo2": ("olmo2", "Olmo2ForCausalLM", MORE["olmo2"][1], "unchanged", F16),
    "gguf_phi2": ("phi2", "PhiForCausalLM", WIDER | {"num_key_value_heads": 2, "intermediate_size": 64}, "unchanged", F16),
    "gguf_falcon": ("falcon", "FalconForCausalLM", FALCON | {"ffn_hidden_size": 64}, "falcon", F16),
    "gguf_falcon_new": ("falcon", "FalconForCausalLM", MORE["falcon_new"][1] | {"ffn_hidden_size": 64}, "falcon", F16),
    "gguf_stablelm": ("stablelm", "StableLmForCausalLM", MORE["stablelm"][1], "unchanged", F16),
    "gguf_stablelm_parallel": ("stablelm", "StableLmForCausalLM", MORE["stablelm_parallel"][1], "unchanged", F16),
    "gguf_glm": ("chatglm", "GlmForCausalLM", GLM, "unchanged", F16),
    "gguf_glm4": ("glm4", "Glm4ForCausalLM", MORE["glm4"][1], "unchanged", F16),
    "gguf_granite": ("granite", "GraniteForCausalLM", MORE["granite"][1], "llama", F16),
    "gguf_mpt": ("mpt", "MptForCausalLM", MORE["mpt"][1], "unchanged", F16),
    "gguf_bloom": ("bloom", "BloomForCausalLM", MORE["bloom"][1], "gpt_neox", F16),
    "gguf_mixtral": ("llama", "MixtralForCausalLM", MOE | {"num_local_experts": 4}, "llama", F16),
    "gguf_qwen3_moe": ("qwen3moe", "Qwen3MoeForCausalLM", MORE["qwen3_moe"][1], "unchanged", F16),
    "gguf_gpt_oss": ("gpt-oss", "GptOssForCausalLM", GPT_OSS | {"swiglu_limit": 7.0}, "unchanged", F16),
    "gguf_exaone4": ("exaone4", "Exaone4ForCausalLM", OLMO | {"sliding_window": None, "layer_types": ["full_attention"] * 2}, "unchanged", F16),
}


# Stored in 4 bits: the experts alone, as in the files that people share.
PACKED_GGUFS = {
    "gguf_gpt_oss_mxfp4": ("gpt-oss", "GptOssForCausalLM", GPT_OSS | {"hidden_size": 32, "intermediate_size": 64, "swiglu_limit": 7.0}, "unchanged", MXFP4),
}
FIRST_PACKED_GGUF = 700
PAIR_GGUFS = {
    "gguf_t5": ("t5", "T5ForConditionalGeneration", WHOLE | {"tie_word_embeddings": False, "num_decoder_layers": 1}),
    "gguf_t5_gated": ("t5", "T5ForConditionalGeneration", WHOLE | {
        "tie_word_embeddings": False, "feed_forward_proj": "gated-gelu", "num_heads": 3, "decoder_start_token_id": 3}),
    "gguf_umt5": ("t5", "UMT5ForConditionalGeneration", WHOLE),
    "gguf_t5_encoder": ("t5encoder", "T5EncoderModel", WHOLE),
    "gguf_nomic_bert": ("nomic-bert", "NomicBertModel", NOMIC),
    "gguf_nomic_bert_one_head": ("nomic-bert", "NomicBertModel", NOMIC | {"num_hidden_layers": 3, "num_attention_heads": 1, "type_vocab_size": 1,
                                                                          "intermediate_size": 20}),
    "gguf_mt5": ("t5", "MT5ForConditionalGeneration", WHOLE | {
        "tie_word_embeddings": False, "feed_forward_proj": "gated-gelu", "num_decoder_layers": 3, "d_kv": 6}),
    "gguf_t5_first_files": ("t5", "T5ForConditionalGeneration", WHOLE | {"tie_word_embeddings": False, "num_heads": 4, "d_kv": 8}),
}
FIRST_PAIR_GGUF = 600
OWN_HEADS = ("gguf_t5_gated", "gguf_mt5")  # of these the head is no word table
NO_DECODER_COUNT = ("gguf_t5_first_files",)  # without the key decoder_block_count, which the converter had not at first
