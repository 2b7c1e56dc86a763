"""Whole folders as people share them, small: opened/NAME/{config.json, model.safetensors} as save_pretrained writes them, or
opened/NAME/model.gguf, and what transformers computes from them.

    python3 tests/golden/make_opened.py [NAME ...]
    (Python 3.11.7, transformers 5.23.0, torch 2.15.0+cu132 on the CPU, safetensors 0.8.0, gguf 0.19.0, numpy 2.4.6)

Nothing is downloaded: a model is made from a config, every parameter is drawn from a fixed seed (make_architectures.py), rounded
to the numbers that the file holds, saved, loaded again as float32 from what was saved, and run. opened/NAME/expected.json:
  inputs (B, T)    tokens
  outputs          logits (B, T, V), or hidden (B, T, C) where the model has no head, in float32, as a list
  head             whether there is one
GGUF files are written as llama.cpp's converter does (conversion/llama.py, LlamaModel.permute: the rows of q and k of each head
change places, so that what transformers turns as halves is a pair of neighbours; conversion/gemma.py: gains plus 1) and quantised
by the gguf package; what is expected of them is transformers' output from the numbers that the package reads back.
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
from safetensors.torch import load_file

FOLDER = pathlib.Path(__file__).parent / "opened"
B, T, V, PAD = 2, 8, 24, 1
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


def made(name, kind, config, seed):
    model_class = getattr(transformers, kind)
    torch.manual_seed(seed)
    model = model_class(model_class.config_class(**config)).eval()
    with torch.no_grad():
        for key, parameter in model.named_parameters():
            mean, deviation = size_of(key, parameter, model.config)
            parameter.copy_((mean + deviation * torch.randn(parameter.shape)).to(HALVES))
    return model


@torch.no_grad()
def write_expected(folder, model, seed):
    torch.manual_seed(seed + 1000)
    inputs = torch.randint(2, V, (B, T))  # PAD is none of them
    model = model.float().eval()
    if hasattr(model, "encoder") and hasattr(model, "decoder"):  # of a whole T5 the encoder is asked
        result = model.encoder(input_ids=inputs)
    else:
        result = model(input_ids=inputs)
    head = "logits" in result
    outputs = result.logits if head else result.last_hidden_state
    assert outputs.abs().max() > 0.5
    expected = {"inputs": inputs.tolist(), "head": head, "outputs": [float(f"{x:.6g}") for x in outputs.flatten().tolist()]}
    (folder / "expected.json").write_text(json.dumps(expected, separators=(",", ":")) + "\n")
    return float(outputs.abs().max())


def write_folder(name, seed):
    kind, config = CASES[name]
    folder = FOLDER / name
    shutil.rmtree(folder, ignore_errors=True)
    model = made(name, kind, config, seed).to(HALVES)
    model.save_pretrained(folder)
    (folder / "generation_config.json").unlink(missing_ok=True)
    loaded = getattr(transformers, kind).from_pretrained(folder, dtype=torch.float32, attn_implementation="eager")
    most = write_expected(folder, loaded, seed)
    print(f"{name}: {sum(f.stat().st_size for f in folder.iterdir())} bytes, largest output {most:.2f}, "
          f"{len(load_file(folder / 'model.safetensors'))} tensors")


# --- GGUF

NAMES = {"input_layernorm": "attn_norm", "post_attention_layernorm": "ffn_norm", "self_attn.q_proj": "attn_q",
         "self_attn.k_proj": "attn_k", "self_attn.v_proj": "attn_v", "self_attn.o_proj": "attn_output",
         "mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up", "mlp.down_proj": "ffn_down"}


def permuted(w, heads):
    """LlamaModel.permute: row i of half s of a head becomes its row 2i + s."""
    return w.reshape(heads, 2, w.shape[0] // heads // 2, *w.shape[1:]).swapaxes(1, 2).reshape(w.shape)


def permuted_back(w, heads):
    return w.reshape(heads, w.shape[0] // heads // 2, 2, *w.shape[1:]).swapaxes(1, 2).reshape(w.shape)


def gguf_name(key):
    if key.startswith("model.layers."):
        _, _, layer, rest = key.split(".", 3)
        return f"blk.{layer}.{NAMES[rest.removesuffix('.weight')]}.weight"
    return {"model.embed_tokens.weight": "token_embd.weight", "model.norm.weight": "output_norm.weight",
            "lm_head.weight": "output.weight"}[key]


def write_gguf(name, seed, tied):
    """A Llama whose matrices are Q8_0 (blocks of 32 numbers)."""
    folder = FOLDER / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    config = GROUPED | {"hidden_size": 32, "intermediate_size": 32, "num_attention_heads": 4,
                        "num_key_value_heads": 2, "tie_word_embeddings": tied,
                        "rope_parameters": ROPE}
    model = made(name, "LlamaForCausalLM", config, seed)
    heads = {"q_proj": config["num_attention_heads"], "k_proj": config["num_key_value_heads"]}
    writer = gguf.GGUFWriter(folder / "model.gguf", "llama")
    writer.add_block_count(config["num_hidden_layers"])
    writer.add_context_length(config["max_position_embeddings"])
    writer.add_embedding_length(config["hidden_size"])
    writer.add_feed_forward_length(config["intermediate_size"])
    writer.add_head_count(heads["q_proj"])
    writer.add_head_count_kv(heads["k_proj"])
    writer.add_rope_freq_base(ROPE["rope_theta"])
    writer.add_rope_dimension_count(config["hidden_size"] // heads["q_proj"])
    writer.add_layer_norm_rms_eps(model.config.rms_norm_eps)
    writer.add_vocab_size(V)
    state = model.state_dict()
    for key, tensor in state.items():
        if tied and key == "lm_head.weight":
            continue
        w = tensor.float().numpy()
        of = next((n for part, n in heads.items() if part in key), None)
        if of:
            w = permuted(w, of)
        kind = gguf.GGMLQuantizationType.Q8_0 if w.ndim == 2 else gguf.GGMLQuantizationType.F32
        packed = gguf.quants.quantize(w, kind)
        writer.add_tensor(gguf_name(key), packed, raw_dtype=kind)
        read = gguf.quants.dequantize(packed, kind).reshape(w.shape)
        state[key] = torch.tensor(np.ascontiguousarray(permuted_back(read, of) if of else read))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    if tied:
        state["lm_head.weight"] = state["model.embed_tokens.weight"]
    model.load_state_dict(state)
    most = write_expected(folder, model, seed)
    print(f"{name}: {sum(f.stat().st_size for f in folder.iterdir())} bytes, largest output {most:.2f}")


if __name__ == "__main__":
    torch.set_num_threads(1)
    GGUFS = {"gguf_llama": False, "gguf_llama_tied": True}
    for seed, chosen in enumerate([*CASES, *GGUFS]):
        if sys.argv[1:] and chosen not in sys.argv[1:]:
            continue
        if chosen in GGUFS:
            write_gguf(chosen, seed, GGUFS[chosen])
        else:
            write_folder(chosen, seed)
