"""Whole folders as people share them, small: opened/NAME/{config.json, model.safetensors} as save_pretrained writes them, or
opened/NAME/model.gguf, and what transformers computes from them.

    python3 tests/golden/make_opened.py [NAME ...]
    (Python 3.11.7, transformers 5.23.0, torch 2.15.0+cu132 on the CPU, safetensors 0.8.0, gguf 0.19.0, numpy 2.4.6)

Nothing is downloaded: a model is made from a config, every parameter is drawn from a fixed seed (make_architectures.py), rounded
to the numbers that the file holds, saved, loaded again as float32 from what was saved, and run. opened/NAME/expected.json:
  inputs (B, T)    tokens
  outputs          logits (B, T, V), or hidden (B, T, C) where the model has no head, in float32, as a list
  head             whether there is one
  layers           of MORE: what enters each layer and what leaves the last norm, (B, T, C) each, in a list
  generated        of decoders in MORE: (B, NEW), the greedy continuation of the first PROMPT tokens of each sequence
Of an encoder with a decoder all this is in float64 and the decoder's, whose first input is its start token, and what is generated continues this
token alone (prompt: 1), by transformers' generate(); beside it:
  source           what the encoder reads, of which PAD is padding
  encoder_layers   as layers
GGUF files are written as llama.cpp's converter does (conversion/llama.py, LlamaModel.permute: the rows of q and k of each head
change places, so that what transformers turns as halves is a pair of neighbours; and so on, below) with the names that the gguf
package has for each architecture, and quantised by that package; what is expected of them is transformers' output from the numbers that the package reads back.
"""

import json
import pathlib
import shutil
import sys

import gguf
import numpy as np
import torch
import transformers
from make_architectures import size_of
from safetensors.torch import load_file, save_file
from transformers.integrations.mxfp4 import convert_moe_packed_tensors

FOLDER = pathlib.Path(__file__).parent / "opened"
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
}
FIRST_NARROW = 400
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


def made(name, kind, config, seed):
    model_class = getattr(transformers, kind)
    torch.manual_seed(seed)
    model = model_class(model_class.config_class(**config)).eval()
    with torch.no_grad():
        for key, parameter in model.named_parameters():
            mean, deviation = size_of(key, parameter, model.config)
            if name in PAIRS | PAIR_GGUFS and parameter.ndim == 2 and "relative_attention_bias" not in key:
                deviation *= 0.6  # rows between the layers of order one, although nothing scales T5's logits
            parameter.copy_((mean + deviation * torch.randn(parameter.shape)).to(HALVES))
    return model


def drawn_inputs(model, seed):
    torch.manual_seed(seed)
    inputs = torch.randint(2, V, (B, T))  # PAD is none of them
    if (pad := model.config.pad_token_id) is not None and pad > PAD:
        inputs[inputs == pad] = pad + 1
    return inputs


def digits(tensor, count):
    return [float(f"{x:.{count}g}") for x in tensor.flatten().tolist()]


def generated(model, tokens):
    """(B, NEW) by the largest logit, each step from the beginning; None if a step is nearly a tie."""
    for _ in range(NEW):
        best = model(input_ids=tokens, use_cache=False).logits[:, -1].topk(2)
        if (best.values[:, 0] - best.values[:, 1]).min() < 1e-3:
            return None
        tokens = torch.cat([tokens, best.indices[:, :1]], 1)
    return tokens[:, -NEW:].tolist()


@torch.no_grad()
def write_layers(folder, model, seed):
    decodes = "CausalLM" in type(model).__name__
    for draw in range(1000, 1100):
        inputs = drawn_inputs(model, seed + 100 * draw)
        written = generated(model, inputs[:, :PROMPT]) if decodes else None
        if written or not decodes:
            break
    last = []
    if back := getattr(getattr(getattr(model, "model", None), "decoder", None), "project_out", None):
        back.register_forward_pre_hook(lambda _, rows: last.append(rows[0]))  # OPT's last rows are wider than what it returns
    result = model(input_ids=inputs, output_hidden_states=True, return_dict=True)
    head = "logits" in result
    outputs = result.logits if head else result.last_hidden_state
    assert outputs.abs().max() > 0.5
    expected = {"inputs": inputs.tolist(), "head": head, "outputs": digits(outputs, 8),
                "layers": [digits(rows, 8) for rows in [*result.hidden_states[:-1], (last or result.hidden_states)[-1]]]}
    if decodes:
        expected["generated"] = written
    (folder / "expected.json").write_text(json.dumps(expected, separators=(",", ":")) + "\n")
    return float(outputs.abs().max())


@torch.no_grad()
def write_pair(folder, model, seed):
    model = model.double()
    start = model.config.decoder_start_token_id
    for draw in range(1000, 1100):
        source, inputs = drawn_inputs(model, seed + 100 * draw), drawn_inputs(model, seed + 100 * draw + 1)
        source[1, -3:], inputs[:, 0] = PAD, start
        seen = {"input_ids": source, "attention_mask": (source != PAD).long()}
        # Without a cache: that of 5.23 has as many layers as the encoder.
        found = model.generate(**seen, do_sample=False, num_beams=1, max_new_tokens=NEW, output_logits=True, use_cache=False,
                               return_dict_in_generate=True, decoder_start_token_id=start)
        best, written = torch.stack(found.logits).topk(2).values, found.sequences[:, 1:].tolist()
        differs = len({tuple(row) for row in written}) > 1
        if (best[..., 0] - best[..., 1]).min() > 1e-3 and differs and all(len(row) == NEW and PAD not in row for row in written):
            break
    result = model(**seen, decoder_input_ids=inputs, output_hidden_states=True, return_dict=True)
    assert result.logits.abs().max() > 0.5
    expected = {"inputs": inputs.tolist(), "head": True, "outputs": digits(result.logits, 8),
                "layers": [digits(rows, 8) for rows in result.decoder_hidden_states], "source": source.tolist(),
                "encoder_layers": [digits(rows, 8) for rows in result.encoder_hidden_states], "prompt": 1, "generated": written}
    (folder / "expected.json").write_text(json.dumps(expected, separators=(",", ":")) + "\n")
    return float(result.logits.abs().max())


@torch.no_grad()
def write_expected(folder, model, seed):
    model = model.float().eval()
    if hasattr(model, "encoder") and hasattr(model, "decoder"):
        return write_pair(folder, model, seed)
    if folder.name in MORE | MORE_GGUFS | LAST | NARROW | PAIR_GGUFS:
        return write_layers(folder, model, seed)
    inputs = drawn_inputs(model, seed + 1000)
    result = model(input_ids=inputs)
    head = "logits" in result
    outputs = result.logits if head else result.last_hidden_state
    assert outputs.abs().max() > 0.5
    expected = {"inputs": inputs.tolist(), "head": head, "outputs": digits(outputs, 6)}
    (folder / "expected.json").write_text(json.dumps(expected, separators=(",", ":")) + "\n")
    return float(outputs.abs().max())


def in_four_bits(folder, model):
    """Draws the experts of gpt-oss anew as blocks and scales, which the file has instead, as openai/gpt-oss-20b has them; the
    model gets what transformers makes of them."""
    path = folder / "model.safetensors"
    tensors, state = load_file(path), model.state_dict()
    for key in [key for key in tensors if key.endswith(("experts.gate_up_proj", "experts.down_proj"))]:
        experts, rows, columns = tensors.pop(key).shape
        blocks = torch.randint(0, 256, (experts, columns, rows // 32, 16), dtype=torch.uint8)
        scales = torch.randint(121, 125, (experts, columns, rows // 32), dtype=torch.uint8)
        tensors |= {key + "_blocks": blocks, key + "_scales": scales}
        state[key] = convert_moe_packed_tensors(blocks, scales)
    save_file(tensors, path, metadata={"format": "pt"})
    config = json.loads((folder / "config.json").read_text())
    config["quantization_config"] = {"quant_method": "mxfp4", "modules_to_not_convert": ["model.layers.*.self_attn", "lm_head"]}
    (folder / "config.json").write_text(json.dumps(config, indent=2) + "\n")
    model.load_state_dict(state)
    return model


def write_folder(name, seed):
    kind, config = (CASES | VARIANTS | MORE | LAST | NARROW | PAIRS)[name]
    folder = FOLDER / name
    shutil.rmtree(folder, ignore_errors=True)
    model = made(name, kind, config, seed).to(HALVES)
    model.save_pretrained(folder)
    (folder / "generation_config.json").unlink(missing_ok=True)
    if name in OTHER_HEADS:
        path = folder / "model.safetensors"
        tensors = load_file(path)
        tensors["lm_head.weight"] = torch.randn(tensors["shared.weight"].shape).to(HALVES)
        save_file(tensors, path, metadata={"format": "pt"})
    if name.endswith("mxfp4"):
        most = write_expected(folder, in_four_bits(folder, model), seed)
        return print(f"{name}: {sum(f.stat().st_size for f in folder.iterdir())} bytes, largest output {most:.2f}")
    # Falcon's eager attention adds ALiBi a second time: it is in the mask already (modeling_falcon.py, FalconModel.forward).
    attention = "sdpa" if name == "falcon_alibi" else "eager"
    loaded = getattr(transformers, kind).from_pretrained(folder, dtype=torch.float32, attn_implementation=attention)
    most = write_expected(folder, loaded, seed)
    print(f"{name}: {sum(f.stat().st_size for f in folder.iterdir())} bytes, largest output {most:.2f}, "
          f"{len(load_file(folder / 'model.safetensors'))} tensors")


# --- GGUF: what llama.cpp's converter does with each architecture, beside renaming (conversion/*.py).


def permuted(w, heads):
    """LlamaModel.permute: row i of half s of a head becomes its row 2i + s."""
    return w.reshape(heads, 2, w.shape[0] // heads // 2, *w.shape[1:]).swapaxes(1, 2).reshape(w.shape)


def permuted_back(w, heads):
    return w.reshape(heads, w.shape[0] // heads // 2, 2, *w.shape[1:]).swapaxes(1, 2).reshape(w.shape)


def llama(key, config):
    heads = {"q_proj": config.num_attention_heads, "k_proj": config.num_key_value_heads}
    of = next((n for part, n in heads.items() if part in key), None)
    return (lambda w: permuted(w, of), lambda w: permuted_back(w, of)) if of else None


def gpt2(key, _):
    if key.endswith(("c_attn.weight", "c_proj.weight", "c_fc.weight")):  # Conv1D
        return (lambda w: w.T, lambda w: w.T)


def gpt_neox(key, config):
    if "query_key_value" in key:  # (H, 3, D) to (3, H, D) and back
        H, D = config.num_attention_heads, config.hidden_size // config.num_attention_heads
        return (lambda w: w.reshape(H, 3, D, *w.shape[1:]).swapaxes(0, 1).reshape(w.shape),
                lambda w: w.reshape(3, H, D, *w.shape[1:]).swapaxes(0, 1).reshape(w.shape))


def gemma(key, _):
    if key.endswith("norm.weight"):
        return (lambda w: w + 1, lambda w: w - 1)


def unchanged(key, _):
    return None


def falcon(key, config):
    if "query_key_value" in key:  # by key heads: the queries, the key, the value
        H, KV = config.num_attention_heads, config.num_kv_heads if config.new_decoder_architecture else 1
        D = config.hidden_size // H
        order = np.concatenate([np.arange(KV * (H // KV + 2) * D).reshape(KV, -1, D)[:, part].flatten() for part in
                                (slice(0, -2), -2, -1)])
        return (lambda w: w[order], lambda w: w[np.argsort(order)])


def merged(state, config, there):
    """Matrices of heads and experts as the converter stacks or splits them; back again where `there` is false."""
    out = dict(state)
    F = getattr(config, "moe_intermediate_size", None) or getattr(config, "intermediate_size", None)
    gpt_oss, mixtral = config.model_type == "gpt_oss", config.model_type == "mixtral"
    for l in range(config.num_hidden_layers):
        at = f"model.layers.{l}.mlp.experts."
        names = [f"layers.{l}.feed_forward.experts.w{n}.weight" for n in (1, 3, 2)] if mixtral else [
            at + part + "_proj.weight" for part in ("gate", "up", "down")]
        biases = [name.removesuffix("weight") + "bias" for name in names]
        if there and at + "down_proj" in out:
            both, down = out.pop(at + "gate_up_proj"), out.pop(at + "down_proj")
            if gpt_oss:
                both, down = both.swapaxes(1, 2), down.swapaxes(1, 2)
                more, less = out.pop(at + "gate_up_proj_bias"), out.pop(at + "down_proj_bias")
                out |= dict(zip(biases, (more[:, ::2], more[:, 1::2], less), strict=True))
                out[f"model.layers.{l}.self_attn.sinks.weight"] = out.pop(f"model.layers.{l}.self_attn.sinks")
            gate, up = (both[:, ::2], both[:, 1::2]) if gpt_oss else (both[:, :F], both[:, F:])
            out |= dict(zip(names, (gate, up, down), strict=True))
        elif not there and names[0] in out:
            gate, up, down = (out.pop(name) for name in names)
            if gpt_oss:
                gate, up, down = (w.swapaxes(1, 2) for w in (gate, up, down))
                out[at + "gate_up_proj"] = torch.stack([gate, up], -1).flatten(2)
                out[at + "gate_up_proj_bias"] = torch.stack([out.pop(biases[0]), out.pop(biases[1])], -1).flatten(1)
                out[at + "down_proj_bias"] = out.pop(biases[2])
                out[f"model.layers.{l}.self_attn.sinks"] = out.pop(f"model.layers.{l}.self_attn.sinks.weight")
            else:
                out[at + "gate_up_proj"] = torch.cat([gate, up], 1)
            out[at + "down_proj"] = down
        for part in ("q", "k"):  # StableLM: a norm of each head
            norm = f"model.layers.{l}.self_attn.{part}_layernorm."
            heads = [key for key in out if key.startswith(norm + "norms.")]
            if there and heads:
                out[norm + "weight"] = torch.stack([out.pop(key) for key in heads])
            elif not there and config.model_type == "stablelm" and norm + "weight" in out:
                out |= {f"{norm}norms.{h}.weight": row for h, row in enumerate(out.pop(norm + "weight"))}
    return out


Q8, F16 = gguf.GGMLQuantizationType.Q8_0, gguf.GGMLQuantizationType.F16
WIDE = GROUPED | {"hidden_size": 32, "intermediate_size": 32, "num_attention_heads": 4, "num_key_value_heads": 2,
                  "rope_parameters": ROPE}  # Q8_0 has blocks of 32 numbers
# Name: architecture, class, config, what the converter does, how matrices are stored.
GGUFS = {
    "gguf_llama": ("llama", "LlamaForCausalLM", WIDE | {"tie_word_embeddings": False}, llama, Q8),
    "gguf_llama_tied": ("llama", "LlamaForCausalLM", GROUPED | {"tie_word_embeddings": True, "rope_parameters": ROPE}, llama, F16),
    "gguf_qwen2": ("qwen2", "Qwen2ForCausalLM", GROUPED | {"rope_parameters": ROPE}, unchanged, F16),
    "gguf_phi3": ("phi3", "Phi3ForCausalLM", GROUPED | {"rope_parameters": ROPE, "sliding_window": None}, unchanged, F16),
    "gguf_gemma2": ("gemma2", "Gemma2ForCausalLM", CASES["gemma2"][1] | {"query_pre_attn_scalar": 8}, gemma, F16),
    "gguf_gpt2": ("gpt2", "GPT2LMHeadModel", GPT, gpt2, F16),
    "gguf_gpt_neox": ("gptneox", "GPTNeoXForCausalLM", CASES["gpt_neox"][1], gpt_neox, F16),
    "gguf_bert": ("bert", "BertModel", BERT, unchanged, F16),
}
GLM = WIDER | {"head_dim": 8}
MORE_GGUFS = {
    "gguf_gemma": ("gemma", "GemmaForCausalLM", MORE["gemma"][1], gemma, F16),
    "gguf_olmo": ("olmo", "OlmoForCausalLM", MORE["olmo"][1], llama, F16),
    "gguf_olmo2": ("olmo2", "Olmo2ForCausalLM", MORE["olmo2"][1], unchanged, F16),
    "gguf_phi2": ("phi2", "PhiForCausalLM", WIDER | {"num_key_value_heads": 2, "intermediate_size": 64}, unchanged, F16),
    "gguf_falcon": ("falcon", "FalconForCausalLM", FALCON | {"ffn_hidden_size": 64}, falcon, F16),
    "gguf_falcon_new": ("falcon", "FalconForCausalLM", MORE["falcon_new"][1] | {"ffn_hidden_size": 64}, falcon, F16),
    "gguf_stablelm": ("stablelm", "StableLmForCausalLM", MORE["stablelm"][1], unchanged, F16),
    "gguf_stablelm_parallel": ("stablelm", "StableLmForCausalLM", MORE["stablelm_parallel"][1], unchanged, F16),
    "gguf_glm": ("chatglm", "GlmForCausalLM", GLM, unchanged, F16),
    "gguf_glm4": ("glm4", "Glm4ForCausalLM", MORE["glm4"][1], unchanged, F16),
    "gguf_granite": ("granite", "GraniteForCausalLM", MORE["granite"][1], llama, F16),
    "gguf_mpt": ("mpt", "MptForCausalLM", MORE["mpt"][1], unchanged, F16),
    "gguf_bloom": ("bloom", "BloomForCausalLM", MORE["bloom"][1], gpt_neox, F16),
    "gguf_mixtral": ("llama", "MixtralForCausalLM", MOE | {"num_local_experts": 4}, llama, F16),
    "gguf_qwen3_moe": ("qwen3moe", "Qwen3MoeForCausalLM", MORE["qwen3_moe"][1], unchanged, F16),
    "gguf_gpt_oss": ("gpt-oss", "GptOssForCausalLM", GPT_OSS | {"swiglu_limit": 7.0}, unchanged, F16),
    "gguf_exaone4": ("exaone4", "Exaone4ForCausalLM", OLMO | {"sliding_window": None, "layer_types": ["full_attention"] * 2}, unchanged, F16),
}


PAIR_GGUFS = {
    "gguf_t5": ("t5", "T5ForConditionalGeneration", WHOLE | {"tie_word_embeddings": False, "num_decoder_layers": 1}),
    "gguf_t5_gated": ("t5", "T5ForConditionalGeneration", WHOLE | {
        "tie_word_embeddings": False, "feed_forward_proj": "gated-gelu", "num_heads": 3, "decoder_start_token_id": 3}),
    "gguf_umt5": ("t5", "UMT5ForConditionalGeneration", WHOLE),
    "gguf_t5_encoder": ("t5encoder", "T5EncoderModel", WHOLE),
    "gguf_nomic_bert": ("nomic-bert", "NomicBertModel", NOMIC),
}
FIRST_PAIR_GGUF = 600
# How the files of Nomic's own code name what transformers has renamed.
NOMIC_NAMES = {"layers.": "encoder.layers.", "self_attn.o_proj": "attn.out_proj", "mlp.gate_proj": "mlp.fc12", "mlp.up_proj": "mlp.fc11",
               "mlp.down_proj": "mlp.fc2", "post_attention_layernorm": "norm1", "post_mlp_layernorm": "norm2", "embeddings.LayerNorm": "emb_ln"}


def as_published(state, config):
    """Lists (name as the converter reads it, keys of the state that it is made of, one below the other)."""
    if config.model_type != "nomic_bert":
        return [(key, [key]) for key in state if not key.startswith(("encoder.embed_tokens", "decoder.embed_tokens"))]
    all = []
    for key in state:
        name = key
        for ours, theirs in NOMIC_NAMES.items():
            name = name.replace(ours, theirs)
        if "q_proj" in key:
            all.append((name.replace("self_attn.q_proj", "attn.Wqkv"), [key.replace("q_proj", part + "_proj") for part in "qkv"]))
        elif "k_proj" not in key and "v_proj" not in key:
            all.append((name, [key]))
    return all


def write_t5_keys(writer, config):
    # conversion/t5.py
    writer.add_context_length(512)
    writer.add_embedding_length(config.d_model)
    writer.add_feed_forward_length(config.d_ff)
    writer.add_block_count(config.num_layers)
    writer.add_decoder_block_count(config.num_decoder_layers)
    writer.add_head_count(config.num_heads)
    writer.add_key_length(config.d_kv)
    writer.add_value_length(config.d_kv)
    writer.add_layer_norm_eps(config.layer_norm_epsilon)
    writer.add_relative_attn_buckets_count(config.relative_attention_num_buckets)
    writer.add_layer_norm_rms_eps(config.layer_norm_epsilon)
    writer.add_decoder_start_token_id(config.decoder_start_token_id)


def write_published_gguf(name, seed):
    """Of models whose tensors the converter renames, joins or leaves out."""
    arch, kind, options = PAIR_GGUFS[name]
    folder = FOLDER / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    # llama.cpp's buckets always end at 128 tokens, and it scales no logits.
    model = made(name, kind, options | ({"relative_attention_max_distance": 128} if "t5" in arch else {}), seed)
    config, state = model.config, model.state_dict()
    if name == "gguf_umt5":
        config.tie_word_embeddings = False
    writer = gguf.GGUFWriter(folder / "model.gguf", arch)
    write_t5_keys(writer, config) if "t5" in arch else write_keys(writer, arch, config)
    of_arch = next(key for key, value in gguf.MODEL_ARCH_NAMES.items() if value == arch)
    names = gguf.get_tensor_name_map(of_arch, config.num_hidden_layers)
    own_head = name == "gguf_t5_gated"
    for key, parts in as_published(state, config):
        if key == "lm_head.weight" and not own_head:
            continue
        w = np.concatenate([state[part].float().numpy() for part in parts])
        if key == "lm_head.weight":
            w = w[::-1].copy()
        of = F16 if w.ndim >= 2 and "relative_attention_bias" not in key else gguf.GGMLQuantizationType.F32
        packed = gguf.quants.quantize(w, of)
        writer.add_tensor(names.get_name(key, try_suffixes=(".weight", ".bias")), packed, raw_dtype=of)
        read = torch.tensor(gguf.quants.dequantize(packed, of).reshape(w.shape))
        for part, rows in zip(parts, read.chunk(len(parts)), strict=True):
            state[part] = rows.clone()
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    if own_head:
        model.lm_head.weight = torch.nn.Parameter(model.lm_head.weight.clone())
    for key in state:
        if key.endswith("embed_tokens.weight") or (key == "lm_head.weight" and not own_head):
            state[key] = state["shared.weight"]
    model.load_state_dict(state)
    most = write_expected(folder, model, seed)
    print(f"{name}: {sum(f.stat().st_size for f in folder.iterdir())} bytes, largest output {most:.2f}")


def write_keys(writer, arch, config):
    """What the converter writes of a config (conversion/base.py, TextModel.set_gguf_parameters, and the architecture's own)."""
    def said(*names):
        return next((getattr(config, name) for name in names if getattr(config, name, None) is not None), None)

    heads = config.num_attention_heads
    head_dim = said("head_dim") or config.hidden_size // heads
    writer.add_block_count(config.num_hidden_layers)
    writer.add_context_length(said("max_position_embeddings", "max_seq_len") or config.hidden_size)
    writer.add_embedding_length(config.hidden_size)
    writer.add_feed_forward_length(said("intermediate_size", "n_inner", "ffn_hidden_size") or 4 * config.hidden_size)
    writer.add_head_count(heads)
    keys = said("num_key_value_heads") or heads
    if arch == "falcon":
        keys = config.num_kv_heads if config.new_decoder_architecture else 1
    writer.add_head_count_kv(keys)
    writer.add_vocab_size(V)
    epsilon = said("layer_norm_eps", "layer_norm_epsilon")
    if epsilon or arch == "olmo":
        writer.add_layer_norm_eps(epsilon or 1e-5)
    else:
        writer.add_layer_norm_rms_eps(config.rms_norm_eps)
    rope = getattr(config, "rope_parameters", None)
    if rope and arch != "falcon":
        writer.add_rope_freq_base(rope["rope_theta"])
        writer.add_rope_dimension_count(int(head_dim * rope.get("partial_rotary_factor", 1)))
    if arch == "falcon":
        writer.add_rope_freq_base(rope["rope_theta"])
    if head_dim * heads != config.hidden_size and arch != "gemma2":
        writer.add_key_length(head_dim)
        writer.add_value_length(head_dim)
    write_more_keys(writer, arch, config)
    if arch == "gptneox":
        writer.add_parallel_residual(config.use_parallel_residual)
    if arch == "gemma2":
        writer.add_key_length(config.head_dim)
        writer.add_value_length(config.head_dim)
        writer.add_sliding_window(config.sliding_window)
        writer.add_attn_logit_softcapping(config.attn_logit_softcapping)
        writer.add_final_logit_softcapping(config.final_logit_softcapping)
    if arch in ("bert", "nomic-bert"):
        writer.add_causal_attention(False)
        writer.add_token_type_count(config.type_vocab_size)


def write_more_keys(writer, arch, config):
    if arch in ("olmo", "mpt"):
        writer.add_clamp_kqv(config.clip_qkv if arch == "olmo" else config.attn_config.clip_qkv)
    if arch == "mpt":
        writer.add_max_alibi_bias(8.0)
    if arch == "stablelm":
        writer.add_parallel_residual(config.use_parallel_residual)
    if arch == "granite":
        writer.add_attention_scale(config.attention_multiplier)
        writer.add_embedding_scale(config.embedding_multiplier)
        writer.add_residual_scale(config.residual_multiplier)
        writer.add_logit_scale(config.logits_scaling)
    if (experts := getattr(config, "num_local_experts", None) or getattr(config, "num_experts", None)):
        writer.add_expert_count(experts)
        writer.add_expert_used_count(config.num_experts_per_tok)
    if arch == "qwen3moe":
        writer.add_expert_feed_forward_length(config.moe_intermediate_size)
    if arch == "gpt-oss":
        writer.add_expert_feed_forward_length(config.intermediate_size)
        writer.add_sliding_window(config.sliding_window)
        rope = config.rope_parameters
        writer.add_rope_scaling_type(gguf.RopeScalingType.YARN)
        writer.add_rope_scaling_factor(rope["factor"])
        writer.add_rope_scaling_orig_ctx_len(rope["original_max_position_embeddings"])


def write_gguf(name, seed):
    arch, kind, options, converter, stored = (GGUFS | MORE_GGUFS)[name]
    folder = FOLDER / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    model = made(name, kind, options, seed)
    config = model.config
    writer = gguf.GGUFWriter(folder / "model.gguf", arch)
    write_keys(writer, arch, config)
    of_arch = next(key for key, value in gguf.MODEL_ARCH_NAMES.items() if value == arch)
    names = gguf.get_tensor_name_map(of_arch, config.num_hidden_layers)
    state = merged(model.state_dict(), config, True)
    tied = "lm_head.weight" in state and config.tie_word_embeddings
    for key, tensor in state.items():
        if (tied and key == "lm_head.weight") or key.startswith("pooler"):
            continue
        there, back = converter(key, config) or (lambda w: w, lambda w: w)
        w = np.ascontiguousarray(there(tensor.float().numpy()))
        of = stored if w.ndim >= 2 and "norm" not in key and not key.endswith("bias") else gguf.GGMLQuantizationType.F32
        packed = gguf.quants.quantize(w, of)
        known = key.removeprefix("transformer.") if arch == "bloom" else key
        writer.add_tensor(names.get_name(known, try_suffixes=(".weight", ".bias")), packed, raw_dtype=of)
        state[key] = torch.tensor(np.ascontiguousarray(back(gguf.quants.dequantize(packed, of).reshape(w.shape))))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    if tied:
        words = next(key for key in state if key.endswith(("embed_tokens.weight", "wte.weight", "word_embeddings.weight")))
        state["lm_head.weight"] = state[words]
    state = merged(state, config, False)
    model.load_state_dict(state)
    most = write_expected(folder, model, seed)
    print(f"{name}: {sum(f.stat().st_size for f in folder.iterdir())} bytes, largest output {most:.2f}")


if __name__ == "__main__":
    torch.set_num_threads(1)
    for seed, chosen in [*enumerate([*CASES, *GGUFS, *VARIANTS, *MORE, *MORE_GGUFS, *LAST]), *enumerate(NARROW, FIRST_NARROW),
                         *enumerate(PAIRS, FIRST_PAIR), *enumerate(PAIR_GGUFS, FIRST_PAIR_GGUF)]:
        if not sys.argv[1:] or chosen in sys.argv[1:]:
            write = write_published_gguf if chosen in PAIR_GGUFS else write_gguf if chosen.startswith("gguf_") else write_folder
            write(chosen, seed)
