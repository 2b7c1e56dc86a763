"""Whole small models of the families that transformers has, as safetensors files: architectures/NAME.safetensors.

    python3 tests/golden/make_architectures.py [NAME ...]
    (Python 3.11.7, transformers 5.23.0, torch 2.15.0+cu132 on the CPU, safetensors 0.8.0, numpy 2.4.6)

Nothing is downloaded: a model is made from a config, and every parameter is drawn again from a fixed seed, so that
all of them matter, gains and biases too. Each file holds, in float32 or int32, B = 2 sequences of T = 16 tokens:
  NAME of transformers' state_dict   each parameter; of tied ones the first name alone
  inputs (B, T)                      tokens
  mask (B, T)                        1 where a token is, 0 where padding is; encoders only
  token_types (B, T)                 BERT only
  targets (B, T)                     what `logits` at the same place are scored against; -100 is unscored
  logits (B, T, V)                   or hidden (B, T, C), where the model has no head
  probe (B, T, C)                    with hidden: the loss is sum(hidden·probe) / sum(mask); 0 at padding
  loss (1)                           with logits: mean cross entropy of all scored targets, in nats
  gradients.NAME                     of that loss, for each parameter
  generated (B, 8)                   decoders: greedy continuation of the first 6 tokens of each sequence
  control                            logits or hidden under the wrong convention that the metadata names
and the metadata: model, config (JSON), seed, control, the versions, and `replaced` where a part is not the family's.
Outputs at padding mean nothing: compare where the mask is 1. The numbers are transformers' (Apache-2.0), not its code.

The script refuses a file whose control is within 1e-3 of the truth, or where a greedy step is a near tie, greedy
decoding only repeats itself, or a parameter has no gradient; seeds are chosen so. KEYS_WITHOUT_GRADIENT have none by
principle: the bias of BERT's keys adds the same number to all logits of a query.

What a reader has to know to fill an architecture. x is the residual stream; F the hidden channels; nn.Linear's weight
is (out, in); q, k, v and what the output projection takes are (H, D), D inside; query head h reads key head
h // (H/KV). RMS is x / sqrt(mean(x²) + eps) · w. Scale of the logits: 1/sqrt(D) unless said. Rotary pairs (d, d + R/2),
"halves", of the first R channels unless said. A causal window W sees W keys, itself included.

bert         Embeddings of token, type and position, then a norm. Post-norm: x = norm(x + f(x)). LayerNorm eps 1e-12,
             exact gelu, biases. Head: dense, exact gelu, norm, then the token table and cls.predictions.bias.
gpt2         Pre-norm, learned positions, LayerNorm eps 1e-5, tanh gelu, biases, tied. Conv1D weights are (in, out);
             c_attn's columns are q | k | v.
gpt_neox     x + attention(norm1(x)) + mlp(norm2(x)). Rows of query_key_value are (H, 3, D). Partial rotary. Exact gelu,
             biases, LayerNorm eps 1e-5, own lm_head without bias.
llama        Pre-norm RMS eps 1e-6, grouped queries, down(silu(gate) · up), no biases, own lm_head.
qwen3        As llama; D is a field of its own; RMS over D of each head of q and of k, one gain for all heads, before
             the rotation. Tied here.
gemma2       As llama with tied head; gains are 1 + w everywhere; embeddings times sqrt(C), not in the head; norms
             before and after both parts: x + norm(f(norm(x))); tanh gelu gate; logits of attention times
             query_pre_attn_scalar^-1/2, then cap·tanh(s/cap), then mask; final logits capped. Even layers sliding.
gemma3       As gemma2 without caps; RMS with 1 + w over D of q and k, before the rotation; a theta for sliding and one
             for full layers; layer_types says which.
phi3         As llama, eps 1e-5; qkv_proj's rows q | k | v; gate_up_proj's rows gate | up. Its window is on all layers.
gptj         n = norm(x); x + attention(n) + mlp(n). Rotary on the first rotary_dim channels, adjacent pairs
             (2d, 2d + 1). Attention without biases, mlp with, tanh gelu, own lm_head with bias, LayerNorm eps 1e-5.
modernbert   Pre-norm, LayerNorm without bias, eps 1e-5; a norm after the embeddings, and layer 0 has no attn_norm.
             Wqkv's rows q | k | v; Wo(gelu(a) · b), a the first half of Wi's rows, exact gelu. Layers 0, 3, ... global,
             the others local, |i - j| <= local_attention / 2, with their theta. Head: dense, gelu, norm, token table
             and decoder.bias.
t5_*         Encoder. Pre-norm RMS eps 1e-6, no biases, scale 1, bias by bucket of j - i, whose table block 0 holds and
             all use. relu: wo(relu(wi)); gated: wo(tanh gelu(wi_0) · wi_1).
deberta_v2   As bert, eps 1e-7, without positions and types. E = LayerNorm(rel_embeddings); share_att_key: Kr and Qr are
             the layer's key_proj and query_proj of E, biases too. r = bucket(i - j) + span, clamped to the table;
             (q_i·k_j + q_i·Kr[r] + k_j·Qr[r]) / sqrt(3D): both terms use the same r.
gpt_oss      As llama with eps 1e-5 and biases in attention; a sink for each head: a logit more in the softmax, not
             scaled, without value; even layers sliding; YaRN untruncated, cos and sin times 0.1 ln(factor) + 1. Its
             experts are left out.
"""

import contextlib
import copy
import dataclasses
import json
import pathlib
import struct
import sys
from unittest.mock import patch

import torch
import transformers
from safetensors.torch import save
from torch import nn
from transformers.activations import ACT2FN
from transformers.models.deberta_v2 import modeling_deberta_v2
from transformers.models.gptj import modeling_gptj
from transformers.models.llama import modeling_llama
from transformers.models.qwen3 import modeling_qwen3

FOLDER = pathlib.Path(__file__).parent / "architectures"
B, T, V, PAD, SHORT = 2, 16, 40, 0, 11  # SHORT: tokens of the second sequence where there is padding
PROMPT, NEW = 6, 8
LAYERS = {"num_hidden_layers": 2, "num_attention_heads": 4, "vocab_size": V}
GROUPED = LAYERS | {"num_key_value_heads": 2, "hidden_size": 24, "intermediate_size": 36, "max_position_embeddings": 64}
NO_TOKENS = {"bos_token_id": None, "eos_token_id": None, "pad_token_id": None}


@dataclasses.dataclass
class Case:
    """A model, and a wrong convention: `control` is entered with a copy of the model, which it may change."""

    model: str
    config: dict
    control_name: str
    control: object
    kind: str = "next"  # or "masked", "hidden"
    seed: int = 1
    replace: object = None
    replaced: str = ""


# --- Controls: typical mistakes, by a change of the model or of a function of its module.


def changed(change):
    """A control that needs no more than `change(model)`."""

    @contextlib.contextmanager
    def control(model):
        with torch.no_grad():
            change(model)
        yield

    return control


@changed
def tanh_gelu(model):
    for module in list(model.modules()):
        for child, value in list(module.named_children()):
            if "GELU" in type(value).__name__:
                setattr(module, child, ACT2FN["gelu_pytorch_tanh"])


def every(suffix, change):
    """A control: `change(module)` for the modules whose name ends so."""

    def each(model):
        found = [module for name, module in model.named_modules() if name.endswith(suffix)]
        assert found, suffix
        for module in found:
            change(module)

    return changed(each)


def swap_halves(linear):
    linear.weight.copy_(linear.weight.roll(linear.weight.shape[0] // 2, 0))


def swap_gate(module):
    module.wi_0, module.wi_1 = module.wi_1, module.wi_0


def tiled_heads(model):
    return patch.object(modeling_llama, "repeat_kv", lambda x, n: x.repeat(1, n, 1, 1))


def halves_pairing(model):
    right = modeling_gptj.apply_rotary_pos_emb

    def wrong(x, sin, cos):
        adjacent = x.unflatten(-1, (2, -1)).transpose(-1, -2).flatten(-2)
        return right(adjacent, sin, cos).unflatten(-1, (-1, 2)).transpose(-1, -2).flatten(-2)

    return patch.object(modeling_gptj, "apply_rotary_pos_emb", wrong)


def norm_after_rotation(model):
    right = modeling_qwen3.eager_attention_forward
    norms = {}
    for layer in model.model.layers:
        attention = layer.self_attn
        norms[attention] = attention.q_norm, attention.k_norm
        attention.q_norm = attention.k_norm = nn.Identity()

    def wrong(module, query, key, *rest, **options):
        q_norm, k_norm = norms[module]
        return right(module, q_norm(query), k_norm(key), *rest, **options)

    return patch.object(modeling_qwen3, "eager_attention_forward", wrong)


def mirrored_rows(model):
    return patch.object(modeling_deberta_v2, "build_rpos", lambda q, k, relative, *sizes: -relative)


# --- A part that is not the family's.


class OrdinarySwiGLU(nn.Module):
    """In place of GptOssMLP, whose router chooses experts; it returns scores of the router as well."""

    def __init__(self, channels, hidden):
        super().__init__()
        self.gate_proj = nn.Linear(channels, hidden, bias=False)
        self.up_proj = nn.Linear(channels, hidden, bias=False)
        self.down_proj = nn.Linear(hidden, channels, bias=False)

    def forward(self, x):
        return self.down_proj(nn.functional.silu(self.gate_proj(x)) * self.up_proj(x)), None


def without_experts(model):
    for layer in model.model.layers:
        layer.mlp = OrdinarySwiGLU(model.config.hidden_size, model.config.intermediate_size)


# --- The models.

DEFAULT_ROPE = {"rope_type": "default", "rope_theta": 10000.0}
T5 = {"vocab_size": V, "d_model": 24, "d_kv": 8, "d_ff": 40, "num_layers": 2, "num_heads": 4, "dropout_rate": 0.0,
      "relative_attention_num_buckets": 16, "relative_attention_max_distance": 20, "pad_token_id": PAD}
CASES = {
    "bert": Case("BertForMaskedLM", LAYERS | {
        "hidden_size": 24, "intermediate_size": 40, "max_position_embeddings": 20, "hidden_dropout_prob": 0.0,
        "attention_probs_dropout_prob": 0.0, "pad_token_id": PAD}, "gelu: tanh instead of exact",
        tanh_gelu, "masked", seed=3),
    "gpt2": Case("GPT2LMHeadModel", {
        "vocab_size": V, "n_positions": 20, "n_embd": 24, "n_layer": 2, "n_head": 4, "n_inner": 40, "resid_pdrop": 0.0,
        "embd_pdrop": 0.0, "attn_pdrop": 0.0} | NO_TOKENS, "attn.c_proj: (out, in) instead of (in, out)",
        every("attn.c_proj", lambda conv: conv.weight.copy_(conv.weight.T.clone())), seed=14),
    "gpt_neox": Case("GPTNeoXForCausalLM", LAYERS | NO_TOKENS | {
        "hidden_size": 32, "intermediate_size": 40, "max_position_embeddings": 32,
        "rope_parameters": DEFAULT_ROPE | {"partial_rotary_factor": 0.5}}, "residual: sequential instead of parallel",
        every("layers", lambda layers: [setattr(layer, "use_parallel_residual", False) for layer in layers]), seed=8),
    "llama": Case("LlamaForCausalLM", GROUPED | NO_TOKENS, "key heads: tiled instead of repeated each",
                  tiled_heads, seed=2),
    "qwen3": Case("Qwen3ForCausalLM", GROUPED | NO_TOKENS | {"head_dim": 8, "tie_word_embeddings": True},
                  "norm of q and k: after the rotation", norm_after_rotation),
    "gemma2": Case("Gemma2ForCausalLM", GROUPED | NO_TOKENS | {
        "head_dim": 8, "query_pre_attn_scalar": 5, "sliding_window": 5, "attn_logit_softcapping": 2.0,
        "final_logit_softcapping": 2.0}, "gains: w instead of 1 + w", every("norm", lambda norm: norm.weight.sub_(1))),
    "gemma3": Case("Gemma3ForCausalLM", GROUPED | NO_TOKENS | {
        "num_hidden_layers": 4, "head_dim": 8, "query_pre_attn_scalar": 5, "sliding_window": 5,
        "sliding_window_pattern": 3}, "embeddings: not times sqrt(C)",
        every("embed_tokens", lambda table: table.embed_scale.fill_(1))),
    "phi3": Case("Phi3ForCausalLM", GROUPED | NO_TOKENS | {"sliding_window": 6}, "gate and up: swapped",
                 every("gate_up_proj", swap_halves)),
    "gptj": Case("GPTJForCausalLM", {
        "vocab_size": V, "n_positions": 32, "n_embd": 32, "n_layer": 2, "n_head": 4, "n_inner": 40, "rotary_dim": 4}
        | NO_TOKENS, "rotary pairs: halves instead of adjacent", halves_pairing, seed=10),
    "modernbert": Case("ModernBertForMaskedLM", LAYERS | NO_TOKENS | {
        "num_hidden_layers": 4, "hidden_size": 24, "intermediate_size": 32, "max_position_embeddings": 32,
        "local_attention": 6, "pad_token_id": PAD, "cls_token_id": None, "sep_token_id": None},
        "rotary: the theta of global layers in all",
        every("rotary_emb", lambda r: r.sliding_attention_inv_freq.copy_(r.full_attention_inv_freq)), "masked"),
    "t5_relu": Case("T5EncoderModel", T5, "logits: times 1/sqrt(D)",
                    every("SelfAttention", lambda attention: setattr(attention, "scaling", 8**-0.5)), "hidden"),
    "t5_gated": Case("T5EncoderModel", T5 | {"feed_forward_proj": "gated-gelu"}, "gate: gelu of wi_1 instead of wi_0",
                     every("DenseReluDense", swap_gate), "hidden"),
    "deberta_v2": Case("DebertaV2Model", LAYERS | {
        "hidden_size": 24, "intermediate_size": 40, "max_position_embeddings": 16, "hidden_dropout_prob": 0.0,
        "attention_probs_dropout_prob": 0.0, "pad_token_id": PAD, "type_vocab_size": 0, "relative_attention": True,
        "position_buckets": 8, "norm_rel_ebd": "layer_norm", "share_att_key": True, "pos_att_type": "p2c|c2p",
        "position_biased_input": False}, "p2c: rows of j - i instead of i - j", mirrored_rows, "hidden"),
    "gpt_oss": Case("GptOssForCausalLM", GROUPED | NO_TOKENS | {
        "head_dim": 8, "sliding_window": 5, "num_local_experts": 2, "num_experts_per_tok": 1,
        "max_position_embeddings": 2048, "rope_parameters": {
            "rope_type": "yarn", "rope_theta": 150000.0, "factor": 4.0, "beta_fast": 32.0, "beta_slow": 1.0,
            "truncate": False, "original_max_position_embeddings": 512}}, "sinks: none",
        every("self_attn", lambda attention: attention.sinks.fill_(-torch.inf)), replace=without_experts,
        replaced="model.layers.N.mlp: an ordinary SwiGLU (gate_proj, up_proj, down_proj, no biases) instead of router "
                 "and experts"),
}
KEYS_WITHOUT_GRADIENT = ("attention.self.key.bias",)


def size_of(name, parameter, config):
    """Mean and deviation of a parameter's numbers: outputs of order one, and attention that prefers some keys."""
    if parameter.ndim == 1:
        if "norm" in name.lower() or ".ln_" in name:
            if config.model_type.startswith("gemma4") and ("q_norm" in name or "k_norm" in name):
                return 0.5, 0.1  # no scale follows
            from_one = "gemma" in config.model_type and not config.model_type.startswith("gemma4")
            return (0.0 if from_one else 1.0), 0.2
        return (0.0, 1.0) if "sinks" in name else (0.0, 0.1)
    if "relative_attention_bias" in name or "rel_embeddings" in name:
        return 0.0, 1.0
    channels = parameter.shape[0 if config.model_type == "gpt2" else -1]  # of what a linear map reads
    if "embed" in name or "wte" in name or "wpe" in name or "shared" in name:
        return 0.0, 0.5 * (channels**-0.5 if "gemma" in config.model_type else 1)
    sharp = 1.5 if any(part in name for part in ("query", "key", "q_proj", "k_proj", "qkv")) else 2.0
    if name.endswith("SelfAttention.q.weight"):  # T5: no scale follows
        sharp *= config.d_kv**-0.5
    return 0.0, sharp * channels**-0.5


def make(case):
    model_class = getattr(transformers, case.model)
    config = model_class.config_class(**case.config, attn_implementation="eager")
    torch.manual_seed(case.seed)
    model = model_class(config).eval()
    if case.replace:
        case.replace(model)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            mean, deviation = size_of(name, parameter, config)
            parameter.copy_(mean + deviation * torch.randn(parameter.shape))
    return model


def draw_data(case):
    """What the model reads and is asked, by the names of the file."""
    tokens = torch.randint(1, V, (B, T + 1))  # PAD is none of them
    data = {"inputs": tokens[:, :T].clone()}
    if case.kind == "next":
        data["targets"] = tokens[:, 1:].clone()
        data["targets"][1, 4] = -100
        return data
    data["mask"] = torch.ones(B, T, dtype=torch.long)
    data["mask"][1, SHORT:] = 0
    data["inputs"][data["mask"] == 0] = PAD
    if case.model.startswith("Bert"):
        data["token_types"] = (torch.arange(T) >= torch.tensor([[7], [4]])).long() * data["mask"]
    if case.kind == "masked":
        scored = (torch.rand(B, T) < 0.4) & (data["mask"] == 1)
        data["targets"] = torch.where(scored, torch.randint(1, V, (B, T)), -100)
    return data


def outputs(model, data):
    """Logits (B, T, V) or hidden (B, T, C)."""
    names = {"inputs": "input_ids", "mask": "attention_mask", "token_types": "token_type_ids"}
    result = model(**{name: data[key] for key, name in names.items() if key in data})
    return result.logits if "logits" in result else result.last_hidden_state


def loss_of(out, data):
    if "probe" in data:
        return (out * data["probe"]).sum() / data["mask"].sum()
    return nn.functional.cross_entropy(out.flatten(0, 1), data["targets"].flatten())


@torch.no_grad()
def generate(model, tokens):
    """(B, NEW) by the largest logit, each step from the beginning."""
    for _ in range(NEW):
        best = model(input_ids=tokens, use_cache=False).logits[:, -1].topk(2)
        assert (best.values[:, 0] - best.values[:, 1]).min() > 1e-3, "a near tie"
        tokens = torch.cat([tokens, best.indices[:, :1]], 1)
    new = tokens[:, -NEW:]
    assert all(len(set(row.tolist())) >= 3 for row in new), f"it repeats itself: {new.tolist()}"
    return new


def packed(tensors, metadata):
    """A safetensors file with its metadata in order: the package's own order differs from run to run."""
    content = save(tensors)
    (size,) = struct.unpack("<Q", content[:8])
    header = json.dumps({"__metadata__": metadata} | json.loads(content[8:8 + size]), separators=(",", ":")).encode()
    header += b" " * (-len(header) % 8)
    return struct.pack("<Q", len(header)) + header + content[8 + size:]


def write(name, case):
    model = make(case)
    data = draw_data(case)
    out = outputs(model, data)
    kept = data.get("mask", torch.ones(B, T))[..., None]
    if case.kind == "hidden":
        data["probe"] = torch.randn(out.shape) * kept
    loss = loss_of(out, data)
    loss.backward()
    parameters = dict(model.named_parameters())
    for key, parameter in parameters.items():
        matters = parameter.grad.abs().max() > 1e-4
        assert matters != key.endswith(KEYS_WITHOUT_GRADIENT), f"{name}: gradient of {key}"

    wrong = copy.deepcopy(model)
    with case.control(wrong), torch.no_grad():
        control = outputs(wrong, data)
    off = ((control - out) * kept).abs().max()
    assert off > 1e-3, f"{name}: control {off} off"

    tensors = {key: parameter.detach() for key, parameter in parameters.items()}
    tensors |= {f"gradients.{key}": parameter.grad for key, parameter in parameters.items()}
    tensors |= data | {"logits" if case.kind != "hidden" else "hidden": out.detach(), "loss": loss.detach()[None],
                       "control": control}
    if case.kind == "next":
        tensors["generated"] = generate(model, data["inputs"][:, :PROMPT])
    tensors = {key: (x.int() if x.dtype == torch.long else x).contiguous() for key, x in tensors.items()}
    metadata = {"model": case.model, "config": json.dumps(model.config.to_dict(), sort_keys=True),
                "seed": str(case.seed), "control": case.control_name, "made_by": "tests/golden/make_architectures.py",
                "transformers": transformers.__version__, "torch": torch.__version__}
    if case.replaced:
        metadata["replaced"] = case.replaced
    content = packed(tensors, metadata)
    (FOLDER / f"{name}.safetensors").write_bytes(content)
    print(f"{name}: {sum(p.numel() for p in parameters.values())} parameters, {len(content)} bytes, loss "
          f"{loss:.4f}, largest output {out.abs().max():.2f}; {case.control_name}: {off:.2g} off")


if __name__ == "__main__":
    torch.set_num_threads(1)
    FOLDER.mkdir(exist_ok=True)
    for chosen in sys.argv[1:] or CASES:
        write(chosen, CASES[chosen])
