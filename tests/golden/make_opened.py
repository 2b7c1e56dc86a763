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
    if (pad := model.config.pad_token_id) is not None and pad > PAD:
        inputs[inputs == pad] = pad + 1
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
    kind, config = (CASES | VARIANTS)[name]
    folder = FOLDER / name
    shutil.rmtree(folder, ignore_errors=True)
    model = made(name, kind, config, seed).to(HALVES)
    model.save_pretrained(folder)
    (folder / "generation_config.json").unlink(missing_ok=True)
    loaded = getattr(transformers, kind).from_pretrained(folder, dtype=torch.float32, attn_implementation="eager")
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


def write_keys(writer, arch, config):
    """What the converter writes of a config (conversion/base.py, TextModel.set_gguf_parameters, and the architecture's own)."""
    heads = config.num_attention_heads
    writer.add_block_count(config.num_hidden_layers)
    writer.add_context_length(config.max_position_embeddings)
    writer.add_embedding_length(config.hidden_size)
    writer.add_feed_forward_length(getattr(config, "intermediate_size", None) or config.n_inner)
    writer.add_head_count(heads)
    writer.add_head_count_kv(getattr(config, "num_key_value_heads", heads))
    writer.add_vocab_size(V)
    if arch in ("gpt2", "gptneox", "bert"):
        writer.add_layer_norm_eps(getattr(config, "layer_norm_eps", None) or config.layer_norm_epsilon)
    else:
        writer.add_layer_norm_rms_eps(config.rms_norm_eps)
    rope = getattr(config, "rope_parameters", None)
    if rope:
        head_dim = getattr(config, "head_dim", None) or config.hidden_size // heads
        writer.add_rope_freq_base(rope["rope_theta"])
        writer.add_rope_dimension_count(int(head_dim * rope.get("partial_rotary_factor", 1)))
    if arch == "gptneox":
        writer.add_parallel_residual(config.use_parallel_residual)
    if arch == "gemma2":
        writer.add_key_length(config.head_dim)
        writer.add_value_length(config.head_dim)
        writer.add_sliding_window(config.sliding_window)
        writer.add_attn_logit_softcapping(config.attn_logit_softcapping)
        writer.add_final_logit_softcapping(config.final_logit_softcapping)
    if arch == "bert":
        writer.add_causal_attention(False)
        writer.add_token_type_count(config.type_vocab_size)


def write_gguf(name, seed):
    arch, kind, options, converter, stored = GGUFS[name]
    folder = FOLDER / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    model = made(name, kind, options, seed)
    config = model.config
    writer = gguf.GGUFWriter(folder / "model.gguf", arch)
    write_keys(writer, arch, config)
    of_arch = next(key for key, value in gguf.MODEL_ARCH_NAMES.items() if value == arch)
    names = gguf.get_tensor_name_map(of_arch, config.num_hidden_layers)
    state = model.state_dict()
    tied = "lm_head.weight" in state and config.tie_word_embeddings
    for key, tensor in state.items():
        if (tied and key == "lm_head.weight") or key.startswith("pooler"):
            continue
        there, back = converter(key, config) or (lambda w: w, lambda w: w)
        w = np.ascontiguousarray(there(tensor.float().numpy()))
        of = stored if w.ndim == 2 and "norm" not in key else gguf.GGMLQuantizationType.F32
        packed = gguf.quants.quantize(w, of)
        writer.add_tensor(names.get_name(key, try_suffixes=(".weight", ".bias")), packed, raw_dtype=of)
        state[key] = torch.tensor(np.ascontiguousarray(back(gguf.quants.dequantize(packed, of).reshape(w.shape))))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    if tied:
        words = next(key for key in state if key.endswith(("embed_tokens.weight", "wte.weight")))
        state["lm_head.weight"] = state[words]
    model.load_state_dict(state)
    most = write_expected(folder, model, seed)
    print(f"{name}: {sum(f.stat().st_size for f in folder.iterdir())} bytes, largest output {most:.2f}")


if __name__ == "__main__":
    torch.set_num_threads(1)
    for seed, chosen in enumerate([*CASES, *GGUFS, *VARIANTS]):
        if not sys.argv[1:] or chosen in sys.argv[1:]:
            (write_gguf if chosen in GGUFS else write_folder)(chosen, seed)
