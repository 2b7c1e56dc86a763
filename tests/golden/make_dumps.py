"""Dumps as other programs would write them, right ones and wrong ones, for `gnomon check`.

    python3 make_dumps.py

transformers 5.23.0, torch 2.15.0 and safetensors 0.6.2 installed. Writes dumps/*.safetensors and dumps.json: for each the
source, the command's options, what has to be named (the spec, or its beginning up to a `*`; what is apart from it; whether it
follows), and specs that have to be ruled out.
"""

import json
import math
import pathlib

import torch
from safetensors.torch import save_file
from transformers import (BloomConfig, Gemma4TextConfig, GPTNeoXConfig, LlamaConfig, MptConfig, T5Config)
from transformers.models.bloom.modeling_bloom import build_alibi_tensor
from transformers.models.gemma4 import modeling_gemma4 as gemma4
from transformers.models.gpt_neox import modeling_gpt_neox as neox
from transformers.models.gptj import modeling_gptj as gptj
from transformers.models.llama import modeling_llama as llama
from transformers.models.mpt.modeling_mpt import build_mpt_alibi_tensor
from transformers.models.t5.modeling_t5 import T5Attention

HERE = pathlib.Path(__file__).parent
HF = "transformers 5.23.0, models/"
cases = []


def case(name, source, tensors, *, spec="", apart="", follows=True, options=(), out=(), says="", type=None):
    """A file of these tensors and what has to be said of each thing in it."""
    tensors = {key: t.detach().to(type or t.dtype).contiguous() for key, t in tensors.items()}
    save_file(tensors, HERE / "dumps" / f"{name}.safetensors")
    cases.append(dict(name=name, source=source, spec=spec, apart=apart, follows=follows, options=list(options),
                      out=list(out), says=says))


def draw(*shape, seed=7):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def config_of(D=32, theta=10000.0, H=2, **rope):
    return LlamaConfig(hidden_size=H * D, num_attention_heads=H, head_dim=D, max_position_embeddings=rope.pop("longest", 4096),
                       rope_parameters={"rope_type": "default", "rope_theta": theta} | rope)


def rotated(config, T=12, positions=None, type=torch.float32, apply=llama.apply_rotary_pos_emb, seed=7):
    """q and k of (1, heads, tokens, D) through the model's own module, and its tables."""
    H, D = config.num_attention_heads, config.head_dim
    positions = torch.arange(T) if positions is None else positions
    q, k = draw(1, H, len(positions), D, seed=seed).to(type), draw(1, H, len(positions), D, seed=seed + 1).to(type)
    cos, sin = llama.LlamaRotaryEmbedding(config)(q, positions[None])
    q_after, k_after = apply(q, k, cos, sin)
    return dict(q_before=q, q_after=q_after, k_before=k, k_after=k_after, cos=cos, sin=sin)


def only(tensors, *names):
    return {name: tensors[name] for name in names}


ROWS = ("q_before", "q_after")


def rotations():
    source = HF + "llama/modeling_llama.py"
    plain = "rope(theta=10000, pairing=halves)"
    case("llama", source, rotated(config_of()), spec=plain,
         out=["rope(theta=10000, pairing=adjacent)", "rope(theta=500000, pairing=halves)"])
    case("llama_bf16", source, only(rotated(config_of(theta=500000.0), type=torch.bfloat16, T=16), *ROWS),
         spec="rope(theta=500000, pairing=halves)", out=["rope(theta=10000, pairing=halves)", "rope(theta=500000, pairing=adjacent)"])
    case("theta_odd", source, only(rotated(config_of(theta=12345.0)), *ROWS), spec="rope(theta=12345, pairing=halves)",
         out=["rope(theta=10000, pairing=halves)"])
    case("one_token_far_off", source, only(rotated(config_of(), positions=torch.arange(4000, 4008)), *ROWS),
         spec=plain, apart="the first position is 4000", out=[plain])
    case("expected_theta", source, only(rotated(config_of(theta=1e6)), *ROWS), options=["--spec", "rope(theta=10000)"],
         spec="rope(theta=1000000, pairing=halves)", follows=False, says="it is not what is expected", out=["rope"])
    case("expected", source, only(rotated(config_of(theta=1e6)), *ROWS), options=["--spec", "rope(theta=1000000)"],
         spec="rope(theta=1000000)", says="it follows what is expected", out=["rope(theta=10000, pairing=halves)"])

    # GPT-J's pairs, tokens before heads, a quarter of the head
    q = draw(1, 12, 2, 32)
    sin, cos = gptj.create_sinusoidal_positions(12, 8)[None].split(4, -1)
    after = torch.cat([gptj.apply_rotary_pos_emb(q[..., :8], sin, cos), q[..., 8:]], -1)
    case("gptj", HF + "gptj/modeling_gptj.py", dict(q_before=q, q_after=after), spec="rope(theta=10000, pairing=adjacent, channels=8)",
         out=["rope(theta=10000, pairing=halves, channels=8)", "rope(theta=10000, pairing=adjacent)"])

    config = GPTNeoXConfig(hidden_size=64, num_attention_heads=2, rope_parameters={"rope_type": "default", "rope_theta": 10000.0, "partial_rotary_factor": 0.25})
    q, k = draw(1, 2, 12, 32), draw(1, 2, 12, 32, seed=8)
    cos, sin = neox.GPTNeoXRotaryEmbedding(config)(q, torch.arange(12)[None])
    q_after, k_after = neox.apply_rotary_pos_emb(q, k, cos, sin)
    case("neox_partial", HF + "gpt_neox/modeling_gpt_neox.py", dict(q_before=q, q_after=q_after, k_before=k, k_after=k_after),
         spec="rope(theta=10000, pairing=halves, channels=8)",
         out=["rope(theta=10000, pairing=adjacent, channels=8)", "proportional(theta=10000, pairing=halves, share=0.25)"])

    # the same rows with the exponents of the whole head: base^(−2i/32) for the first 4 pairs
    angles = torch.arange(12)[:, None] * 10000 ** (-torch.arange(0, 8, 2) / 32)
    cos, sin = torch.cat((angles, angles), 1).cos()[None], torch.cat((angles, angles), 1).sin()[None]
    case("neox_exponents_of_the_head", HF + "gpt_neox/modeling_gpt_neox.py, with other frequencies",
         dict(q_before=q, q_after=neox.apply_rotary_pos_emb(q, k, cos, sin)[0]), spec="rope(theta=10, pairing=halves, channels=8)",
         says="base 10000 over all 32 channels", out=["rope(theta=10000, pairing=halves, channels=8)"])

    # DeepSeek-V4: the last channels turn, as adjacent pairs
    q = draw(1, 12, 2, 32)
    sin, cos = gptj.create_sinusoidal_positions(12, 16)[None].split(8, -1)
    after = torch.cat([q[..., :16], gptj.apply_rotary_pos_emb(q[..., 16:], sin, cos)], -1)
    case("trailing", HF + "gptj/modeling_gptj.py, of the last half of the head", dict(q_before=q, q_after=after),
         spec="rope(theta=10000, pairing=adjacent, channels=16, side=trailing)", out=["rope(theta=10000, pairing=adjacent)"])

    config = Gemma4TextConfig(hidden_size=64, num_attention_heads=2, head_dim=32, global_head_dim=32, num_hidden_layers=6)
    q = draw(1, 12, 2, 32)
    embedding = gemma4.Gemma4TextRotaryEmbedding(config)
    cos, sin = embedding(q, torch.arange(12)[None], "full_attention")
    parameters = config.rope_parameters["full_attention"]
    assert parameters["rope_type"] == "proportional", parameters
    share, theta = parameters["partial_rotary_factor"], parameters["rope_theta"]
    case("gemma4_proportional", HF + "gemma4/modeling_gemma4.py", dict(q_before=q, q_after=gemma4.apply_rotary_pos_emb(q, cos, sin, 2)),
         spec=f"proportional(theta={theta:.0f}, pairing=halves, share={share})",
         out=[f"rope(theta={theta:.0f}, pairing=halves)", f"proportional(theta={theta:.0f}, pairing=adjacent, share={share})"])


def extensions():
    source = "transformers 5.23.0, modeling_rope_utils.py"
    scaled = lambda rope_type, **more: config_of(D=64, rope_type=rope_type, **more)
    yarn = dict(factor=4.0, original_max_position_embeddings=4096, longest=16384)
    tables = ("cos", "sin")
    case("yarn_tables", source, only(rotated(scaled("yarn", **yarn)), *tables), spec="yarn(theta=10000, pairing=halves, factor=4, original=4096)",
         out=["rope(theta=10000, pairing=halves)", "linear(theta=10000, pairing=halves, factor=4)"])
    case("yarn_rows", source, only(rotated(scaled("yarn", **yarn)), *ROWS), spec="yarn(theta=10000, pairing=halves, factor=4, original=4096)",
         out=["rope(theta=10000, pairing=halves)"])
    case("yarn_factor_dropped", source, only(rotated(scaled("yarn", attention_factor=1.0, **yarn)), *tables),
         spec="yarn(theta=10000, pairing=halves, factor=4, original=4096, attention_factor=1)", says="the factor was dropped",
         out=["yarn(theta=10000, pairing=halves, factor=4, original=4096)"])
    square = (0.1 * math.log(4) + 1) ** 2
    case("yarn_factor_twice", source, only(rotated(scaled("yarn", attention_factor=square, **yarn)), *tables),
         spec="yarn(theta=10000, pairing=halves, factor=4, original=4096, attention_factor=1.2964*", says="it was applied twice")

    def inv_freq(config):
        return dict(inv_freq=llama.LlamaRotaryEmbedding(config).inv_freq)
    case("inv_freq", source, inv_freq(config_of(D=64, theta=5e6)), spec="rope(theta=5000000, pairing=halves)",
         out=["rope(theta=10000, pairing=halves)"])
    case("inv_freq_linear", source, inv_freq(scaled("linear", factor=8.0)), spec="linear(theta=10000, pairing=halves, factor=8)",
         out=["rope(theta=10000, pairing=halves)"])
    case("inv_freq_llama3", source, inv_freq(config_of(D=128, theta=5e5, rope_type="llama3", factor=8.0, low_freq_factor=1.0,
         high_freq_factor=4.0, original_max_position_embeddings=8192, longest=131072)),
         spec="llama3(theta=500000, pairing=halves, factor=8, original=8192)", out=["rope(theta=500000, pairing=halves)"])
    case("inv_freq_yarn", source, inv_freq(config_of(D=128, theta=1e6, rope_type="yarn", factor=4.0,
         original_max_position_embeddings=32768, longest=131072)),
         spec="yarn(theta=1000000, pairing=halves, factor=4, original=32768)", out=["rope(theta=1000000, pairing=halves)"])
    case("inv_freq_gpt_oss", source, inv_freq(config_of(D=64, theta=150000.0, rope_type="yarn", factor=32.0, truncate=False,
         original_max_position_embeddings=4096, longest=131072)),
         spec="yarn(theta=150000, pairing=halves, factor=32, original=4096, truncate=off)",
         out=["yarn(theta=150000, pairing=halves, factor=32, original=4096)"])
    case("inv_freq_ntk", "base·factor^(d/(d − 2)), as modeling_rope_utils.py has it for dynamic",
         dict(inv_freq=1 / (10000 * 4 ** (64 / 62)) ** (torch.arange(0, 64, 2) / 64)), spec="ntk(theta=10000, pairing=halves, factor=4)",
         out=["rope(theta=10000, pairing=halves)"])
    case("inv_freq_bf16", source, inv_freq(config_of(D=64)), type=torch.bfloat16, spec="rope(theta=10000, pairing=halves)",
         apart="frequencies are rounded to bfloat16", follows=False, out=["rope(theta=10000, pairing=halves)"])
    garbage = torch.tensor([0.0, 1e-41, 3.2e-38, 0.0, 7e-40, float("nan"), 0.0, 1.5])
    case("inv_freq_garbage", "memory as it was found", dict(inv_freq=garbage), follows=False, says="never initialised")
    case("inv_freq_zeros", "memory as it was found", dict(inv_freq=torch.zeros(16)), follows=False, says="never initialised")


def sixteen_bits():
    """Scaled rotations whose slow pairs are lost in the rounding of each number, and far positions."""
    source = "transformers 5.23.0, modeling_rope_utils.py, in "
    plain = lambda theta: f"rope(theta={theta}, pairing=halves)"
    ramp = dict(low_freq_factor=1.0, high_freq_factor=4.0, original_max_position_embeddings=8192, longest=131072)
    rows = lambda type, T, **more: only(rotated(config_of(D=64, H=1, **more), T=T, type=type, seed=23), *ROWS)
    case("linear_bf16", source + "bfloat16", rows(torch.bfloat16, 48, rope_type="linear", factor=8.0),
         spec="linear(theta=10000, pairing=halves, factor=8)", out=[plain(10000)])
    case("llama3_f16", source + "float16", rows(torch.float16, 64, theta=5e5, rope_type="llama3", factor=32.0, **ramp),
         spec="llama3(theta=500000, pairing=halves, factor=*", out=[plain(500000)])
    case("yarn_bf16", source + "bfloat16", rows(torch.bfloat16, 64, theta=2e6, rope_type="yarn", factor=8.0, original_max_position_embeddings=4096, longest=32768),
         spec="yarn(theta=2000000, pairing=halves, factor=8, original=*", out=[plain(2000000)])
    far = torch.arange(1000, 1011)
    config = GPTNeoXConfig(hidden_size=128, num_attention_heads=2, rope_parameters={"rope_type": "default", "rope_theta": 12345.0, "partial_rotary_factor": 0.25})
    q, k = draw(1, 2, 11, 64, seed=31).to(torch.bfloat16), draw(1, 2, 11, 64, seed=32).to(torch.bfloat16)
    cos, sin = neox.GPTNeoXRotaryEmbedding(config)(q, far[None])
    q_after, k_after = neox.apply_rotary_pos_emb(q, k, cos, sin)
    case("neox_far_bf16", HF + "gpt_neox/modeling_gpt_neox.py, in bfloat16",
         dict(q_before=q, q_after=q_after, k_before=k, k_after=k_after, positions=far.float()), spec="rope(theta=123*")
    # A base that nobody has, rounded: three digits of it are not enough so far away.
    case("neox_far_tables_bf16", HF + "gpt_neox/modeling_gpt_neox.py, in bfloat16", dict(cos=cos[0], sin=sin[0], positions=far.float()), spec="rope(theta=123*")


def wrong_rotations():
    source = HF + "llama/modeling_llama.py, with a fault"
    plain = "rope(theta=10000, pairing=halves)"
    right = rotated(config_of())

    def every_two(q, k, cos, sin):  # the tables of halves, the pairs of GPT-J
        turn = lambda x: x * cos[:, None] + gptj.rotate_every_two(x) * sin[:, None]
        return turn(q), turn(k)
    case("tables_of_the_other_pairing", source, only(rotated(config_of(), apply=every_two), *ROWS), follows=False,
         spec="rope(theta=10000, pairing=adjacent)", apart="cos and sin are laid out for the other pairing", out=[plain])
    far = torch.cat([torch.arange(8), torch.tensor([255, 257, 300, 511, 513, 777, 1023, 1025])])
    given = lambda tensors, p: only(tensors, *ROWS) | dict(positions=p.float())
    case("positions_bf16", source, given(rotated(config_of(), positions=far.to(torch.bfloat16).float()), far), spec=plain,
         apart="positions are rounded to bfloat16", follows=False, out=[plain])
    case("positions_plus_one", source, given(rotated(config_of(), positions=torch.arange(12) + 1), torch.arange(12)), spec=plain,
         apart="positions are off by +1", follows=False, out=[plain])
    case("backwards", source, only(rotated(config_of(), positions=-torch.arange(12)), *ROWS), spec=plain,
         apart="it rotates in the opposite direction", follows=False, out=[plain])
    module = llama.LlamaRotaryEmbedding(config_of())
    module.inv_freq = module.inv_freq.to(torch.bfloat16).float()
    q = draw(1, 2, 12, 32)
    cos, sin = module(q, torch.arange(12)[None])
    case("frequencies_bf16", source, dict(q_before=q, q_after=llama.apply_rotary_pos_emb(q, q, cos, sin)[0]), spec=plain,
         apart="frequencies are rounded to bfloat16", follows=False, out=[plain])
    case("nothing_turned", source, dict(q_before=q, q_after=q + 0.1 * draw(1, 2, 12, 32, seed=3)), spec="*", follows=False, says="conventions tried fits")
    other = rotated(config_of(), apply=lambda q, k, cos, sin: (llama.apply_rotary_pos_emb(q, k, cos, sin)[0],
                                                                llama.apply_rotary_pos_emb(q, k, cos, -sin)[1]))
    case("k_the_other_way", source, only(other, *ROWS, "k_before", "k_after"), spec=plain, apart=["", "it rotates in the opposite direction"],
         follows=[True, False], says="")
    broken = right["q_after"].clone()
    broken[0, 1, 3, 5] = float("nan")
    case("nan", source, dict(q_before=right["q_before"], q_after=broken), follows=False, says="not finite")


def biases():
    mask = lambda T: torch.ones(1, T)
    bloom = HF + "bloom/modeling_bloom.py"
    alibi, by_key = "alibi(slopes=authors)", "the bias of key j is slope·j for every query (BLOOM)"
    case("bloom", bloom, dict(bias=build_alibi_tensor(mask(24), 12, torch.float32)), spec=alibi, apart=by_key, out=["alibi(slopes=geometric)"])
    case("bloom_bf16", bloom, dict(bias=build_alibi_tensor(mask(24), 16, torch.bfloat16)), spec=alibi, apart=by_key)
    case("mpt", HF + "mpt/modeling_mpt.py", dict(bias=build_mpt_alibi_tensor(8, 16, alibi_bias_max=6)),
         spec="alibi(slopes=authors, bias_max=6)", out=[alibi])
    slopes = lambda H, first=1: torch.tensor([2 ** (-8 * (h + first) / H) for h in range(H)])
    distances = torch.arange(10)[:, None] - torch.arange(10)
    case("geometric_slopes", "2^(−8(h + 1)/12) for 12 heads", dict(slopes=slopes(12)), spec="alibi(slopes=geometric)", out=[alibi])
    case("geometric_slopes_expected", "2^(−8(h + 1)/12) for 12 heads", dict(slopes=slopes(12)), spec="alibi(slopes=geometric)",
         options=["--spec", "alibi"], follows=False, out=["alibi"])
    case("slopes_begin_at_0", "2^(−8h/8)", dict(slopes=slopes(8, 0)), spec=alibi, apart="exponents start at 0 instead of 1", follows=False, out=[alibi])
    case("slopes_of_a_rank", "heads 8 to 15 of 32", dict(slopes=slopes(32)[8:16]), spec=alibi, apart="the heads are 8 to 15 of 32", out=[alibi])
    case("alibi_symmetric", "−m·|i − j|", dict(bias=-slopes(4)[:, None, None] * distances.abs()), spec=alibi, out=["alibi(slopes=authors, scaled=on)"])
    masked = (-slopes(4)[:, None, None] * distances).masked_fill(distances < 0, -math.inf)
    case("alibi_masked", "−m·(i − j) under a causal mask", dict(bias=masked), spec=alibi)
    case("alibi_wrong_sign", "+m·|i − j|", dict(bias=slopes(4)[:, None, None] * distances.abs()), spec=alibi,
         apart="the sign is wrong: far keys are favoured", follows=False, out=[alibi])

    def t5(T, **more):
        config = T5Config(d_model=32, num_heads=2, d_kv=16, is_decoder=more.pop("is_decoder", False), **more)
        torch.manual_seed(3)
        return T5Attention(config, has_relative_attention_bias=True).compute_bias(T, T)
    source = HF + "t5/modeling_t5.py"
    case("t5_encoder", source, dict(bias=t5(40)), type=torch.bfloat16, spec="t5(buckets=32, distance=128)", apart="it is bidirectional",
         out=["t5(buckets=16, distance=128)"])
    case("t5_decoder_row", source, dict(bias=t5(160, is_decoder=True)[:, :, -1:]), spec="t5(buckets=32, distance=128)", apart="it is causal",
         out=["t5(buckets=32, distance=64)"])
    case("bias_of_anything", "normal numbers", dict(bias=draw(2, 8, 8)), spec="*", follows=False, says="conventions tried fits")


def sinusoids():
    def timing(T, C, first=0, base=10000.0):  # tensor2tensor, layers/common_attention.py, get_timing_signal_1d
        w = torch.exp(torch.arange(C // 2) * -(math.log(base) / max(C // 2 - 1, 1)))
        angles = (torch.arange(T) + first)[:, None] * w
        return torch.cat([angles.sin(), angles.cos()], 1)
    case("tensor2tensor", "tensor2tensor, layers/common_attention.py, get_timing_signal_1d", dict(table=timing(20, 32)),
         spec="sinusoidal(layout=halves, frequencies=tensor2tensor)",
         out=["sinusoidal(layout=halves, frequencies=paper)", "sinusoidal(layout=interleaved, frequencies=paper)"])
    case("fairseq", "fairseq, sinusoidal_positional_embedding.py: the first token has padding_idx + 1", dict(table=timing(20, 32, first=2)),
         spec="sinusoidal(layout=halves, frequencies=tensor2tensor)", apart="the first position is 2")
    angles = torch.arange(20)[:, None] * 10000 ** (-torch.arange(0, 32, 2) / 32)
    case("paper", "Vaswani et al. 2017, section 3.5", dict(table=torch.stack([angles.sin(), angles.cos()], 2).flatten(1)),
         spec="sinusoidal(layout=interleaved, frequencies=paper)", out=["sinusoidal(layout=halves, frequencies=paper)"])
    case("cosine_first", "diffusers, get_timestep_embedding(flip_sin_to_cos=True, downscale_freq_shift=0)",
         dict(table=torch.cat([angles.cos(), angles.sin()], 1)), spec="sinusoidal(layout=halves, frequencies=paper)",
         apart="cosines and sines are swapped")


for part in (rotations, extensions, sixteen_bits, wrong_rotations, biases, sinusoids):
    part()
(HERE / "dumps.json").write_text(json.dumps({"made_by": "tests/golden/make_dumps.py", "cases": cases}, indent=1, ensure_ascii=False) + "\n")
print(len(cases), "dumps")
