"""GGUF files as llama.cpp's converter writes them: beside renaming, what it does with each architecture (conversion/*.py)."""

import pathlib
import shutil

import gguf
import numpy as np
import torch
from opened_expected import made, write_expected
from opened_shapes import F16, GGUFS, MORE_GGUFS, MXFP4, NO_DECODER_COUNT, OWN_HEADS, PACKED_GGUFS, PAIR_GGUFS, V

FOLDER = pathlib.Path(__file__).parent / "opened"


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


CONVERTERS = {"llama": llama, "gpt2": gpt2, "gpt_neox": gpt_neox, "gemma": gemma, "falcon": falcon, "unchanged": lambda key, config: None}

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


def write_t5_keys(writer, config, decoder_count):
    # conversion/t5.py
    writer.add_context_length(512)
    writer.add_embedding_length(config.d_model)
    writer.add_feed_forward_length(config.d_ff)
    writer.add_block_count(config.num_layers)
    if decoder_count:
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
    if "t5" in arch:
        write_t5_keys(writer, config, name not in NO_DECODER_COUNT)
    else:
        write_keys(writer, arch, config)
    of_arch = next(key for key, value in gguf.MODEL_ARCH_NAMES.items() if value == arch)
    names = gguf.get_tensor_name_map(of_arch, max(config.num_hidden_layers, getattr(config, "num_decoder_layers", 0)))
    own_head = name in OWN_HEADS
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
    arch, kind, options, converter, stored = (GGUFS | MORE_GGUFS | PACKED_GGUFS)[name]
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
        there, back = CONVERTERS[converter](key, config) or (lambda w: w, lambda w: w)
        w = np.ascontiguousarray(there(tensor.float().numpy()))
        of = stored if w.ndim >= 2 and "norm" not in key and not key.endswith("bias") else gguf.GGMLQuantizationType.F32
        if of == MXFP4 and w.ndim < 3:
            of = F16
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
