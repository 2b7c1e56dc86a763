"""Golden vectors of the encodings of speech models.

    python3 make_sound.py

with transformers 5.23.0 and torch 2.15 installed. Each case runs the model's own attention, whose projections answer with
given vectors.
"""

from transformers import (Gemma3nAudioConfig, Gemma4AudioConfig, HubertConfig, Wav2Vec2BertConfig, Wav2Vec2Config,
                          Wav2Vec2ConformerConfig)
from transformers.models.gemma3n import modeling_gemma3n as gemma3n
from transformers.models.gemma4 import modeling_gemma4 as gemma4
from transformers.models.hubert import modeling_hubert as hubert
from transformers.models.wav2vec2 import modeling_wav2vec2 as wav2vec2
from transformers.models.wav2vec2_bert import modeling_wav2vec2_bert as bert
from transformers.models.wav2vec2_conformer import modeling_wav2vec2_conformer as conformer

from golden import *
from torch import nn

FILE = "sound"
HF = "transformers 5.23.0 "
H = 2


class Given(nn.Module):
    """A projection that answers with given rows (H, T, D)."""

    def __init__(self, rows):
        super().__init__()
        self.answer = rows.transpose(0, 1).flatten(1)[None]

    def forward(self, x):
        return self.answer


def drawn(T, D, seed):
    return draw(H, T, D, seed=seed), draw(H, T, D, seed=seed + 1)


def case(spec, source, q, k, found, wrong, **more):
    weights(FILE, spec, HF + source, q, k, weights=found.detach().double(), causal=False, wrong=wrong, **more)


def convolutions():
    """No option of ours is another convention of the convolution, so the wrong ones are other widths of the groups and other
    vectors. The causal window is torch's convolution of a sequence that is padded on the left."""
    for Config, Module, file, T, C, K, groups in (
            (Wav2Vec2Config, wav2vec2.Wav2Vec2PositionalConvEmbedding, "modeling_wav2vec2.py", 11, 8, 6, 2),
            (Wav2Vec2Config, wav2vec2.Wav2Vec2PositionalConvEmbedding, "modeling_wav2vec2.py", 9, 8, 128, 4),
            (HubertConfig, hubert.HubertPositionalConvEmbedding, "modeling_hubert.py", 10, 6, 5, 3)):
        module = Module(Config(hidden_size=C, num_conv_pos_embeddings=K, num_conv_pos_embedding_groups=groups)).double().eval()
        v, g = draw(C, C // groups, K, seed=1), draw(1, 1, K, seed=2).abs() + 0.2
        bias, x = draw(C, seed=3), draw(T, C, seed=4)
        weight = module.conv.parametrizations.weight
        weight.original0.data, weight.original1.data, module.conv.bias.data = g, v, bias
        spec, params = f"conv_position(kernel={K}, groups={groups})", {"weight": v, "gain": g, "bias": bias}
        wrong = [f"conv_position(kernel={K}, groups=1)", "sinusoidal"]
        inputs(FILE, spec, module(x[None])[0].detach(), HF + file, positions=list(range(T)), x=x, causal=False, params=params,
               wrong=wrong)
        before = nn.functional.pad(x.T[None], (K - 1, 0))
        causal = nn.functional.conv1d(before, module.conv.weight, bias, groups=groups)
        inputs(FILE, spec, nn.functional.gelu(causal)[0].T.detach(), "torch 2.15 conv1d of arXiv 1904.11660, section 2",
               positions=list(range(T)), x=x, causal=True, params=params, wrong=wrong)


def conformers():
    T = 10
    for kind, Config, file, D in ((conformer, Wav2Vec2ConformerConfig, "modeling_wav2vec2_conformer.py", 8),
                                  (bert, Wav2Vec2BertConfig, "modeling_wav2vec2_bert.py", 16)):
        name = "Wav2Vec2Conformer" if kind is conformer else "Wav2Vec2Bert"
        config = Config(hidden_size=H * D, num_attention_heads=H, position_embeddings_type="relative", attention_dropout=0.0,
                        max_source_positions=16)
        config._attn_implementation = "eager"
        q, k = drawn(T, D, 11)
        module = getattr(kind, name + "SelfAttention")(config).eval()
        u, v, weight = draw(H, D, seed=13), draw(H, D, seed=14), draw(H * D, H * D, seed=15, size=0.5)
        module.pos_bias_u.data, module.pos_bias_v.data, module.linear_pos.weight.data = u, v, weight
        module.linear_q, module.linear_k, module.linear_v = Given(q), Given(k), Given(q)
        x = torch.zeros(1, T, H * D)
        rows = getattr(kind, name + "RelPositionalEmbedding")(config)(x)
        case("transformer_xl(layout=interleaved)", file, q, k, module(x, relative_position_embeddings=rows)[1][0],
             ["transformer_xl", "transformer_xl(layout=interleaved, frequencies=tensor2tensor)",
              "transformer_xl(layout=interleaved, clamp=3)"],
             params={"content_bias": u, "position_bias": v, "weight": weight}, tolerance=1e-6)


def keys_by_distance():
    T = 12
    for D, left, right in ((8, 4, 2), (16, 64, 8)):
        config = Wav2Vec2BertConfig(hidden_size=H * D, num_attention_heads=H, position_embeddings_type="relative_key",
                                    left_max_position_embeddings=left, right_max_position_embeddings=right)
        config._attn_implementation = "eager"
        q, k = drawn(T, D, 21)
        table = draw(left + right + 1, D, seed=23)
        module = bert.Wav2Vec2BertSelfAttention(config).eval()
        module.linear_q, module.linear_k, module.linear_v = Given(q), Given(k), Given(q)
        module.distance_embedding.weight.data = table
        case(f"shaw(clip={left}, right={right}, values=off)", "modeling_wav2vec2_bert.py", q, k,
             module(torch.zeros(1, T, H * D))[1][0], [f"shaw(clip={right}, right={left}, values=off)", "none"],
             params={"keys": table})


def square(blocks, chunk, past, T):
    """Weights (H, blocks, chunk, context) as (H, T, T): column c of block b is key b·chunk + c − past."""
    whole = torch.zeros(H, T, T)
    for b in range(blocks.shape[1]):
        for w in range(chunk):
            for c in range(blocks.shape[3]):
                i, j = b * chunk + w, b * chunk + c - past
                if i < T and 0 <= j < T:
                    whole[:, i, j] = blocks[:, b, w, c]
    return whole


def towers(past, future):
    """A spec of ours, and others."""
    spec = f"transformer_xl({{}})+window(size={past + 1}, after={future + 1})"
    right = "frequencies=tensor2tensor, biases=off"
    wrong = [spec.format(right + ", layout=interleaved"), spec.format("biases=off"), spec.format(right).split("+")[0],
             f"transformer_xl({right})+window(size={past}, after={future + 1})"]
    return spec.format(right), wrong


def gemma3n_audio():
    """The block's own parts are without effect: a soft-cap far above all logits, and each channel's scale where it starts."""
    T = 11
    for D, chunk, left, future in ((8, 4, 4, 0), (8, 3, 5, 2)):
        past = left - 1
        config = Gemma3nAudioConfig(hidden_size=H * D, conf_num_attention_heads=H, conf_attention_chunk_size=chunk,
                                    conf_attention_context_left=left, conf_attention_context_right=future,
                                    conf_attention_logit_cap=1e5)
        q, k = drawn(T, D, 41)
        weight = draw(H * D, H * D, seed=43, size=0.3)
        module = gemma3n.Gemma3nAudioAttention(config).eval()
        module.q_proj, module.k_proj, module.v_proj = Given(q), Given(k), Given(q)
        module.relative_position_embedding.pos_proj.weight.data = weight
        seen, softmax_of_torch = [], nn.functional.softmax
        nn.functional.softmax = lambda *a, **b: seen.append(softmax_of_torch(*a, **b)) or seen[-1]
        module(torch.zeros(1, T, H * D), torch.zeros(1, T, dtype=torch.bool))
        nn.functional.softmax = softmax_of_torch
        spec, wrong = towers(past, future)
        case(spec, "modeling_gemma3n.py", q, k, square(seen[0][0].double(), chunk, past, T), wrong, params={"weight": weight},
             tolerance=1e-6)


def gemma4_audio():
    """Likewise; its factor of the keys is divided out of those that are given. The table of distances is right if the window is
    as long as a chunk, as in the released models."""
    T = 11
    for D, chunk in ((8, 4), (16, 12)):
        past = chunk
        config = Gemma4AudioConfig(hidden_size=H * D, num_attention_heads=H, attention_chunk_size=chunk,
                                   attention_context_left=past + 1, attention_context_right=0, attention_logit_cap=1e4)
        q, k = drawn(T, D, 51)
        weight = draw(H * D, H * D, seed=53, size=0.3)
        module = gemma4.Gemma4AudioAttention(config, 0).eval()
        module.q_proj, module.k_proj, module.v_proj = Given(q), Given(k / module.k_scale), Given(q)
        module.post = nn.Identity()
        module.relative_k_proj.weight.data = weight
        module.float()  # it computes in float32
        p = torch.arange(T)[:, None] - torch.arange(T)
        hidden = torch.where((p <= past) & (p >= 0), 0.0, torch.finfo(torch.float64).min)[None, None]
        blocked = gemma4.Gemma4AudioModel._convert_4d_mask_to_blocked_5d(type("Model", (), {"config": config}), hidden)
        x = torch.zeros(1, T, H * D, dtype=torch.float32)
        found = module(x, gemma4.Gemma4AudioRelPositionalEncoding(config)(x), blocked)[1]
        spec, wrong = towers(past, 0)
        if past >= T:  # nothing is outside the window
            wrong = wrong[:2]
        case(spec, "modeling_gemma4.py", q, k, square(found[0].double(), chunk, past, T), wrong, params={"weight": weight},
             tolerance=1e-5)


convolutions(), conformers(), keys_by_distance(), gemma3n_audio(), gemma4_audio()
write()
