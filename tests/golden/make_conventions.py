"""Writes the golden vectors of this folder from code that gnomon does not share: the authors' or Hugging Face's
implementations, and mpmath straight from a paper's formula.

Made with Python 3.11, torch 1.13 (Debian's python3-torch), numpy 1.24, mpmath 1.2 and, from PyPI,
transformers==4.33.3, x-transformers==2.31.10, positional-encodings==6.0.3, and the file
tensor2tensor/layers/common_attention.py of tensor2tensor==1.15.7, given by its path:

    python3 make_conventions.py PATH/TO/common_attention.py

Every case has `wrong`: specs of another convention, which must NOT reproduce its numbers.
"""

import ast
import json
import math
import pathlib
import sys

import mpmath
import numpy
import torch
from positional_encodings.torch_encodings import PositionalEncoding1D
from transformers.models.bloom.modeling_bloom import build_alibi_tensor
from transformers.models.gpt_neox import modeling_gpt_neox
from transformers.models.gptj import modeling_gptj
from transformers.models.llama import modeling_llama
from transformers.models.t5.modeling_t5 import T5Attention

HERE = pathlib.Path(__file__).parent


def write(name, source, cases):
    content = {"source": source, "made_by": "tests/golden/make_conventions.py", "cases": cases}
    (HERE / f"{name}.json").write_text(json.dumps(content, separators=(",", ":")) + "\n")
    print(name, len(cases), "cases")


# --- Sinusoids


def paper_sinusoid():
    """Vaswani et al. 2017, section 3.5, with 50 digits."""
    mpmath.mp.dps = 50
    cases = []
    for channels in (2, 16, 64):
        positions = [0, 1, 2, 15, 63, 127, 4095, 131071, 1048575]
        values = []
        for p in positions:
            row = []
            for c in range(channels):
                angle = p / mpmath.power(10000, mpmath.mpf(2 * (c // 2)) / channels)
                row.append(float(mpmath.sin(angle) if c % 2 == 0 else mpmath.cos(angle)))
            values.append(row)
        wrong = ["sinusoidal(layout=halves)"] if channels > 2 else []
        if channels > 4:
            wrong.append("sinusoidal(frequencies=tensor2tensor)")
        cases.append({"spec": "sinusoidal", "channels": channels, "positions": positions, "values": values,
                      "tolerance": 1e-9, "wrong": wrong})
    library = PositionalEncoding1D(24)(torch.zeros(1, 50, 24, dtype=torch.float64))[0]
    cases.append({"spec": "sinusoidal", "channels": 24, "positions": list(range(50)), "values": library.tolist(),
                  "tolerance": 1e-5, "wrong": ["sinusoidal(layout=halves)"]})
    write("sinusoidal_paper", "mpmath from arXiv 1706.03762 section 3.5; positional-encodings 6.0.3", cases)


class TensorFlowShim:
    """The few TensorFlow functions that get_timing_signal_1d calls, on numpy in double."""

    range, sin, cos, exp, maximum, mod = numpy.arange, numpy.sin, numpy.cos, numpy.exp, numpy.maximum, numpy.mod
    expand_dims, reshape, pad = numpy.expand_dims, numpy.reshape, numpy.pad

    @staticmethod
    def to_float(x):
        return numpy.asarray(x, dtype=numpy.float64)

    @staticmethod
    def concat(parts, axis):
        return numpy.concatenate(parts, axis)


def tensor2tensor_sinusoid(path):
    tree = ast.parse(pathlib.Path(path).read_text())
    function = next(n for n in tree.body if isinstance(n, ast.FunctionDef) and n.name == "get_timing_signal_1d")
    scope = {"tf": TensorFlowShim, "math": math}
    function.decorator_list = []
    exec(compile(ast.Module([function], []), str(path), "exec"), scope)
    cases = []
    for channels in (2, 7, 16, 128):
        positions = list(range(0, 128, channels // 16 + 1))
        signal = scope["get_timing_signal_1d"](128, channels)[0][positions]
        wrong = ["sinusoidal(layout=halves)", "sinusoidal"] if channels > 7 else []
        cases.append({"spec": "sinusoidal(layout=halves, frequencies=tensor2tensor)", "channels": channels,
                      "positions": positions, "values": signal.tolist(), "tolerance": 1e-9, "wrong": wrong})
    write("sinusoidal_tensor2tensor", "tensor2tensor 1.15.7, layers/common_attention.py, get_timing_signal_1d", cases)


# --- Rotations


def logits_case(spec, rotate, heads, size, positions, wrong):
    """rotate(x (1,H,T,D), positions) -> rotated, by somebody else's code, in double."""
    generator = numpy.random.default_rng(7)
    q, k = (generator.standard_normal((1, heads, len(positions), size)).astype(numpy.float32) for _ in range(2))
    rq, rk = (rotate(torch.tensor(x, dtype=torch.float64), positions) for x in (q, k))
    logits = (rq @ rk.transpose(-1, -2))[0] / math.sqrt(size)
    return {"spec": spec, "heads": heads, "size": size, "positions": positions, "q": q.ravel().tolist(),
            "k": k.ravel().tolist(), "logits": logits.reshape(-1).tolist(), "tolerance": 2e-6, "wrong": wrong}


def llama(theta):
    def rotate(x, positions):
        size = x.shape[-1]
        frequencies = 1.0 / (theta ** (torch.arange(0, size, 2, dtype=torch.float64) / size))
        table = modeling_llama.LlamaRotaryEmbedding(size, base=theta)
        table.inv_freq = frequencies
        table._set_cos_sin_cache(seq_len=max(positions) + 1, device="cpu", dtype=torch.float64)
        cos, sin = table(x, seq_len=max(positions) + 1)
        return modeling_llama.apply_rotary_pos_emb(x, x, cos, sin, torch.tensor([positions]))[0]

    return rotate


def neox(rotated):
    def rotate(x, positions):
        angles = torch.outer(torch.arange(max(positions) + 1, dtype=torch.float64),
                             1.0 / (10000 ** (torch.arange(0, rotated, 2, dtype=torch.float64) / rotated)))
        both = torch.cat((angles, angles), dim=-1)[None, None]
        turned, _ = modeling_gpt_neox.apply_rotary_pos_emb(x[..., :rotated], x[..., :rotated], both.cos(), both.sin(),
                                                           torch.tensor([positions]))
        return torch.cat((turned, x[..., rotated:]), dim=-1)

    return rotate


def gptj(rotated):
    def rotate(x, positions):
        angles = torch.outer(torch.tensor(positions, dtype=torch.float64),
                             1.0 / (10000 ** (torch.arange(0, rotated, 2, dtype=torch.float64) / rotated)))
        tokens_first = x.transpose(1, 2)  # (1,T,H,D), as GPT-J has it
        turned = modeling_gptj.apply_rotary_pos_emb(tokens_first[..., :rotated], angles.sin()[None], angles.cos()[None])
        return torch.cat((turned, tokens_first[..., rotated:]), dim=-1).transpose(1, 2)

    return rotate


def rotations():
    near, far = list(range(3, 12)), [0, 1, 7, 500, 4095]
    cases = [
        logits_case("rope", llama(10000.0), 2, 8, near, ["rope(pairing=adjacent)", "none"]),
        logits_case("rope", llama(10000.0), 1, 64, far, ["rope(pairing=adjacent)", "rope(theta=9999)"]),
        logits_case("rope(theta=500000)", llama(500000.0), 2, 32, far, ["rope"]),
        logits_case("rope(fraction=0.25)", neox(8), 2, 32, near, ["rope", "rope(fraction=0.25, pairing=adjacent)"]),
        logits_case("rope(pairing=adjacent)", gptj(16), 2, 16, near, ["rope"]),
        logits_case("rope(fraction=0.5, pairing=adjacent)", gptj(16), 2, 32, far,
                    ["rope(fraction=0.5)", "rope(pairing=adjacent)"]),
    ]
    write("rope", "transformers 4.33.3: Llama (halves), GPT-NeoX (partial), GPT-J (adjacent), run in float64", cases)


# --- Biases


def slopes():
    cases = []
    for heads in (1, 2, 3, 5, 8, 12, 16, 40, 112):
        table = build_alibi_tensor(torch.ones(1, 3), heads, torch.float64).reshape(heads, 1, 3)
        power = (heads & (heads - 1)) == 0
        cases.append({"spec": "alibi", "heads": heads, "slopes": (table[:, 0, 1] - table[:, 0, 0]).tolist(),
                      "tolerance": 1e-6, "wrong": [] if power else ["alibi(slopes=geometric)"]})
    write("alibi", "transformers 4.33.3: BLOOM's build_alibi_tensor, the authors' rule", cases)


def buckets():
    cases = []
    for count, distance in ((32, 128), (8, 20), (64, 256), (16, 1000)):
        for causal in (True, False):
            deltas = list(range(0 if causal else -300, 301))
            # T5's relative position is key minus query.
            found = T5Attention._relative_position_bucket(-torch.tensor(deltas), not causal, count, distance)
            spec = f"t5(buckets={count}, distance={distance})"
            wrong = [f"t5(buckets={count}, distance={distance + 40})"]
            cases.append({"spec": spec, "causal": causal, "deltas": deltas, "buckets": found.tolist(), "wrong": wrong})
    write("t5", "transformers 4.33.3: T5Attention._relative_position_bucket", cases)


if __name__ == "__main__":
    paper_sinusoid()
    tensor2tensor_sinusoid(sys.argv[1])
    rotations()
    slopes()
    buckets()
