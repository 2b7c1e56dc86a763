"""Tiny models of transformers with random weights, as the tests of gnomon.transformers.patch take them."""

import torch
import transformers

SIZES = dict(hidden_size=32, intermediate_size=48, num_hidden_layers=2, num_attention_heads=4, vocab_size=50, max_position_embeddings=64,
             pad_token_id=0, bos_token_id=1, eos_token_id=2)
GROUPS = dict(SIZES, num_key_value_heads=2)
ROPE = {"rope_type": "default", "rope_theta": 10000.0}
TOKENS = torch.randint(5, 50, (2, 11), generator=torch.Generator().manual_seed(1))


def llama(**more):
    return transformers.LlamaForCausalLM(transformers.LlamaConfig(**{**GROUPS, **more}))


def mistral():
    """Windows of 4."""
    return transformers.MistralForCausalLM(transformers.MistralConfig(**GROUPS, sliding_window=4))


def qwen3():
    return transformers.Qwen3ForCausalLM(transformers.Qwen3Config(**GROUPS, head_dim=8))


def neox():
    return transformers.GPTNeoXForCausalLM(transformers.GPTNeoXConfig(**SIZES, rotary_pct=0.5))


def olmo2():
    return transformers.Olmo2ForCausalLM(transformers.Olmo2Config(**GROUPS))


def glm4():
    return transformers.Glm4ForCausalLM(transformers.Glm4Config(**GROUPS, head_dim=8))


def smollm3():
    """Every other layer without position."""
    return transformers.SmolLM3ForCausalLM(transformers.SmolLM3Config(**GROUPS, no_rope_layer_interval=2))


def gemma(**more):
    """A soft-cap, a scale of its own, windows of 4 in every other layer."""
    return transformers.Gemma2ForCausalLM(transformers.Gemma2Config(
        **{**GROUPS, **dict(head_dim=8, attn_logit_softcapping=2.0, query_pre_attn_scalar=3, sliding_window=4), **more}))


def gemma3n():
    """The last layer reads the keys of another."""
    return transformers.Gemma3nForCausalLM(transformers.Gemma3nTextConfig(
        **{**GROUPS, "num_hidden_layers": 3}, head_dim=8, num_kv_shared_layers=1, sliding_window=4, vocab_size_per_layer_input=50,
        hidden_size_per_layer_input=8, laurel_rank=4))


def gpt_oss():
    """Sinks."""
    return transformers.GptOssForCausalLM(transformers.GptOssConfig(
        **GROUPS, head_dim=8, num_local_experts=2, num_experts_per_tok=1, sliding_window=4, rope_parameters=ROPE))


def granite():
    return transformers.GraniteForCausalLM(transformers.GraniteConfig(**GROUPS, attention_multiplier=0.7))


def cohere():
    """Adjacent pairs."""
    return transformers.CohereForCausalLM(transformers.CohereConfig(**GROUPS, rope_parameters=ROPE))


def llama4():
    """Frequencies as complex numbers."""
    return transformers.Llama4ForCausalLM(transformers.Llama4TextConfig(
        **GROUPS, head_dim=8, num_local_experts=2, intermediate_size_mlp=48, attention_chunk_size=64))


def llama4_growing():
    """Every other layer without position, whose queries grow with it."""
    return transformers.Llama4ForCausalLM(transformers.Llama4TextConfig(
        **GROUPS, head_dim=8, num_local_experts=2, intermediate_size_mlp=48, attention_chunk_size=64, no_rope_layer_interval=2, floor_scale=4,
        attn_scale=0.5))


YARN = {"rope_type": "yarn", "rope_theta": 10000.0, "factor": 4.0, "original_max_position_embeddings": 4, "mscale": 0.7, "mscale_all_dim": 1.0}


def ministral3():
    """YaRN, and queries that grow with their position."""
    return transformers.Ministral3ForCausalLM(transformers.Ministral3Config(
        **GROUPS, head_dim=8, rope_parameters={**YARN, "mscale": 1.0, "llama_4_scaling_beta": 0.5}))


def diffllama():
    """A layer calls attention twice."""
    return transformers.DiffLlamaForCausalLM(transformers.DiffLlamaConfig(**GROUPS))


def recurrent_gemma():
    """One layer of three attends, and it has the rotary module."""
    return transformers.RecurrentGemmaForCausalLM(transformers.RecurrentGemmaConfig(
        **{**GROUPS, "num_hidden_layers": 3}, lru_width=32, attention_window_size=64))


def qwen3_next():
    """Linear attention, and attention in the last of four layers."""
    return transformers.Qwen3NextForCausalLM(transformers.Qwen3NextConfig(
        **{**GROUPS, "num_hidden_layers": 4}, head_dim=8, linear_num_value_heads=4, linear_num_key_heads=2, linear_key_head_dim=8,
        linear_value_head_dim=8, num_experts=2, num_experts_per_tok=1, moe_intermediate_size=16, shared_expert_intermediate_size=16))


def lfm2():
    """Convolutions, and attention in every other layer."""
    return transformers.Lfm2ForCausalLM(transformers.Lfm2Config(
        **{**GROUPS, "num_hidden_layers": 4}, layer_types=["conv", "full_attention"] * 2))


LATENT = dict(num_key_value_heads=4, q_lora_rank=16, kv_lora_rank=16, qk_rope_head_dim=8, qk_nope_head_dim=8, v_head_dim=12,
              num_experts_per_tok=1, moe_intermediate_size=16, first_k_dense_replace=1, n_group=1, topk_group=1)


def deepseek2():
    """Keys and values from a latent; complex frequencies."""
    return transformers.DeepseekV2ForCausalLM(transformers.DeepseekV2Config(**SIZES, **LATENT, n_routed_experts=2))


def deepseek3(**more):
    return transformers.DeepseekV3ForCausalLM(transformers.DeepseekV3Config(**SIZES, **LATENT, n_routed_experts=4, **more))


def deepseek32():
    """An indexer chooses the keys."""
    return transformers.DeepseekV32ForCausalLM(transformers.DeepseekV32Config(
        **SIZES, **LATENT, n_routed_experts=4, index_n_heads=2, index_head_dim=16, index_topk=4))


def mistral4():
    """A latent, YaRN, and queries that grow with their position."""
    return transformers.Mistral4ForCausalLM(transformers.Mistral4Config(
        **SIZES, **LATENT, n_routed_experts=2, rope_parameters={**YARN, "mscale": 1.0, "llama_4_scaling_beta": 0.5}))


def deepseek4():
    """Keys of several tokens."""
    return transformers.DeepseekV4ForCausalLM(transformers.DeepseekV4Config(
        **{**GROUPS, "num_key_value_heads": 1}, head_dim=16, qk_rope_head_dim=8, q_lora_rank=16, n_routed_experts=2, num_experts_per_tok=1,
        moe_intermediate_size=16, o_groups=2, o_lora_rank=8, index_n_heads=2, index_head_dim=8, index_topk=4))


def beam():
    """Windows of 4 in the first layer; in the second, whose queries grow with their position, no position."""
    return transformers.BeamForCausalLM(transformers.BeamConfig(
        **GROUPS, head_dim=8, sliding_window=4, num_experts=2, num_experts_per_tok=1, moe_intermediate_size=16, n_group=1, topk_group=1))


def mimo():
    """Values narrower than keys, and windows of 5."""
    return transformers.MiMoV2FlashForCausalLM(transformers.MiMoV2FlashConfig(
        **GROUPS, head_dim=16, v_head_dim=8, sliding_window=5, n_routed_experts=2, num_experts_per_tok=1, moe_intermediate_size=16))


def laguna():
    """Each layer has as many heads as it is given."""
    return transformers.LagunaForCausalLM(transformers.LagunaConfig(
        **GROUPS, head_dim=8, sliding_window=4, num_attention_heads_per_layer=[4, 8], layer_types=["full_attention", "sliding_attention"],
        num_experts=2, num_experts_per_tok=1, moe_intermediate_size=16, shared_expert_intermediate_size=16))


def dbrx():
    """The number of KV heads stands in a dictionary."""
    return transformers.DbrxForCausalLM(transformers.DbrxConfig(
        d_model=32, n_heads=4, n_layers=2, vocab_size=50, max_seq_len=64, attn_config={"kv_n_heads": 2, "rope_theta": 10000.0, "clip_qkv": 8.0},
        ffn_config={"ffn_hidden_size": 16, "moe_num_experts": 2, "moe_top_k": 1}))


def jetmoe():
    """It repeats its keys itself."""
    return transformers.JetMoeForCausalLM(transformers.JetMoeConfig(
        hidden_size=32, num_hidden_layers=2, num_key_value_heads=2, kv_channels=8, intermediate_size=16, vocab_size=50,
        max_position_embeddings=64, num_local_experts=2, num_experts_per_tok=2))


def doge():
    """Masks that follow from values."""
    return transformers.DogeForCausalLM(transformers.DogeConfig(**GROUPS))


def opt():
    """A table whose first two rows are of no position, and queries that are scaled before attention."""
    return transformers.OPTForCausalLM(transformers.OPTConfig(
        hidden_size=32, ffn_dim=32, num_hidden_layers=2, num_attention_heads=4, vocab_size=50, word_embed_proj_dim=32, max_position_embeddings=64))


def bart():
    """The decoder alone, whose heads are others than the encoder's."""
    return transformers.BartForCausalLM(transformers.BartConfig(
        d_model=32, decoder_layers=2, decoder_ffn_dim=32, decoder_attention_heads=4, encoder_attention_heads=2, vocab_size=50,
        max_position_embeddings=64, is_decoder=True, is_encoder_decoder=False, pad_token_id=0, forced_eos_token_id=None))


def pegasus():
    """Sinusoids in a table."""
    return transformers.PegasusForCausalLM(transformers.PegasusConfig(
        d_model=32, decoder_layers=2, decoder_ffn_dim=32, decoder_attention_heads=4, vocab_size=50, max_position_embeddings=64, is_decoder=True,
        is_encoder_decoder=False, pad_token_id=0, forced_eos_token_id=None))


def biogpt():
    """The two rows of OPT, and scaled words."""
    return transformers.BioGptForCausalLM(transformers.BioGptConfig(**SIZES, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0))


def roberta():
    """A table that begins after the row of padding."""
    return transformers.RobertaForCausalLM(transformers.RobertaConfig(
        **{**SIZES, "pad_token_id": 1, "bos_token_id": 0}, is_decoder=True, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0))


def layoutlm():
    return transformers.LayoutLMForMaskedLM(transformers.LayoutLMConfig(**SIZES, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0))


def modernbert():
    """An encoder with windows in two layers of three."""
    return transformers.ModernBertForMaskedLM(transformers.ModernBertConfig(
        **{**SIZES, "num_hidden_layers": 3}, local_attention=6, cls_token_id=1, sep_token_id=2, reference_compile=False))


def git():
    """Its text attends without AttentionInterface, and its tower for images with it."""
    return transformers.GitForCausalLM(transformers.GitConfig(
        **SIZES, vision_config=dict(hidden_size=16, intermediate_size=16, num_hidden_layers=2, num_attention_heads=2, image_size=8, patch_size=4)))


def minimax():
    """Linear attention, and attention in the last of two layers."""
    return transformers.MiniMaxForCausalLM(transformers.MiniMaxConfig(
        **GROUPS, head_dim=8, num_local_experts=2, num_experts_per_tok=1, block_size=4, layer_types=["linear_attention", "full_attention"]))


def ultrabert():
    """Its `decoder` is no model."""
    return transformers.UltrabertForMaskedLM(transformers.UltrabertConfig(**{**SIZES, "num_hidden_layers": 3}, sliding_window=4))


def qwen2_vl():
    """Text and pictures: positions of three axes."""
    text = dict({k: v for k, v in GROUPS.items()}, rope_parameters={**ROPE, "mrope_section": [1, 1, 2]})
    return transformers.Qwen2VLForConditionalGeneration(transformers.Qwen2VLConfig(
        text_config=text, vision_config=dict(depth=1, embed_dim=16, hidden_size=32, num_heads=2, patch_size=4, spatial_merge_size=1),
        image_token_id=3, video_token_id=4, vision_start_token_id=48, vision_end_token_id=49))


def llava():
    """A language model beside a tower that sees."""
    seen = transformers.CLIPVisionConfig(hidden_size=16, intermediate_size=16, num_hidden_layers=2, num_attention_heads=2, image_size=8, patch_size=4)
    return transformers.LlavaForConditionalGeneration(transformers.LlavaConfig(
        vision_config=seen, text_config=transformers.LlamaConfig(**GROUPS), image_token_index=3))


def gpt2():
    return transformers.GPT2LMHeadModel(transformers.GPT2Config(
        n_embd=32, n_layer=2, n_head=4, vocab_size=50, n_positions=64, attn_pdrop=0, resid_pdrop=0, embd_pdrop=0))


def bert():
    return transformers.BertModel(transformers.BertConfig(**SIZES, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0))


def mobilebert():
    return transformers.MobileBertModel(transformers.MobileBertConfig(
        **SIZES, embedding_size=16, intra_bottleneck_size=32, num_feedforward_networks=1, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0))


def albert():
    """Vectors beside the words are narrower than the layers."""
    return transformers.AlbertModel(transformers.AlbertConfig(
        **SIZES, embedding_size=16, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0))


def modernbert_decoder():
    """Its head is a linear layer of the name `decoder`."""
    return transformers.ModernBertDecoderForCausalLM(transformers.ModernBertDecoderConfig(
        **SIZES, local_attention=4, cls_token_id=1, sep_token_id=2))


def bloom(**more):
    return transformers.BloomForCausalLM(transformers.BloomConfig(
        **{**dict(hidden_size=32, n_layer=2, n_head=4, vocab_size=50, hidden_dropout=0.0, attention_dropout=0.0), **more}))


def mpt(**more):
    return transformers.MptForCausalLM(transformers.MptConfig(
        **{**dict(d_model=32, n_layers=2, n_heads=4, vocab_size=50, max_seq_len=64, expansion_ratio=2), **more}))


def mpt_of_its_own():
    """Heads that are not a power of two, a scale, and projections that are clipped."""
    return mpt(d_model=48, n_heads=6, attn_config=dict(clip_qkv=1.0, softmax_scale=0.3))


def falcon(**more):
    """One key for all heads."""
    return transformers.FalconForCausalLM(transformers.FalconConfig(
        **{**dict(hidden_size=32, num_hidden_layers=2, num_attention_heads=4, vocab_size=50, max_position_embeddings=64), **more}))


def falcon_alibi():
    """Heads that are not a power of two, each with its keys, and ALiBi in place of a rotation."""
    return falcon(hidden_size=48, num_attention_heads=6, alibi=True, multi_query=False, parallel_attn=False)


def falcon_new():
    """It repeats its keys itself."""
    return falcon(new_decoder_architecture=True, num_kv_heads=2)


GPT = dict(n_embd=32, n_layer=2, n_head=4, vocab_size=50, n_positions=64, rotary_dim=4, attn_pdrop=0, resid_pdrop=0, embd_pdrop=0,
           bos_token_id=1, eos_token_id=2)


def gptj():
    return transformers.GPTJForCausalLM(transformers.GPTJConfig(**GPT))


def codegen():
    return transformers.CodeGenForCausalLM(transformers.CodeGenConfig(**GPT))


def neox_japanese():
    return transformers.GPTNeoXJapaneseForCausalLM(transformers.GPTNeoXJapaneseConfig(
        hidden_size=32, num_hidden_layers=2, num_attention_heads=4, vocab_size=50, max_position_embeddings=64, attention_dropout=0.0,
        hidden_dropout=0.0, bos_token_id=1, eos_token_id=2))


def ready(make, louder=4):
    """louder: than the standard start, so that positions matter."""
    torch.manual_seed(0)
    model = make().eval()
    for p in model.parameters():
        p.data *= louder if p.requires_grad else 1
    return model


def said(model, tokens=TOKENS, **given):
    with torch.no_grad():
        out = model(tokens, **given)
    return out.logits if hasattr(out, "logits") else out.last_hidden_state
