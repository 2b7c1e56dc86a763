"""What make_authors.py puts around the authors' code: files in float64 and RoPE's tables."""

import re
import sys
import tempfile
from types import SimpleNamespace
from typing import Optional

import numpy as np
from einops import rearrange, repeat
from golden import *
from oracles import Given, Recorder
from torch import nn

torch.set_grad_enabled(False)
torch.cuda.current_device = lambda: "cpu"  # some build their parameters on the device in use
FILE = "authors"
F = nn.functional
SCOPE = {"torch": torch, "nn": nn, "F": F, "math": math, "np": np, "rearrange": rearrange, "repeat": repeat, "Tensor": torch.Tensor,
         "Optional": Optional, "Parameter": nn.Parameter, "BufferCache": dict, "ModelConfig": None}

_files = []


def doubled(path):
    """A copy of a stranger's file in which float32 is float64, so that rounding is not in the numbers."""
    text = re.sub(r"torch\.float(32)?\b", "torch.float64", pathlib.Path(path).read_text().replace(".float()", ".double()"))
    copy = tempfile.NamedTemporaryFile("w", suffix=".py")
    copy.write(text.replace("complex64", "complex128"))
    copy.flush()
    _files.append(copy)  # the file lives as long as the script
    return copy.name


class Rotary:
    """Cosines and sines as transformers of three ages gave them: (1, 1, L, R), flat (L, R), or by position (1, T, R)."""

    def __init__(self, w, by_position=False, flat=False):
        self.w, self.by_position, self.flat, self.dim = w, by_position, flat, 2 * len(w)

    def __call__(self, values, positions=None, seq_len=None):
        at = positions[0] if self.by_position else torch.arange(max(seq_len, 64))
        angles = torch.outer(at.double(), self.w)
        angles = torch.cat((angles, angles), -1)
        angles = angles[None] if self.by_position else angles if self.flat else angles[None, None]
        return angles.cos(), angles.sin()


def attention_of_llama(q, k, rotary):
    """The attributes that patched forward functions of Llama and Phi read; values are a unit matrix."""
    H, T, D = q.shape
    v = torch.eye(T, D).expand(H, T, D)
    return SimpleNamespace(config=SimpleNamespace(pretraining_tp=1), pretraining_tp=1, num_heads=H, num_key_value_heads=H, num_key_value_groups=1, head_dim=D,
                           hidden_size=H * D, q_proj=Given(q), k_proj=Given(k), v_proj=Given(v), o_proj=nn.Identity(), dense=nn.Identity(), rotary_emb=rotary,
                           attention_dropout=0.0, training=False, qk_layernorm=False, layer_idx=0)


def theirs(repository, file, names, **more):
    """Definitions of an authors' file in float64, and what to call the source."""
    owner, commit = repository.split(" ")
    path = pathlib.Path(sys.argv[1]) / owner.replace("/", "+") / file
    return definitions(doubled(path), names, SCOPE | more), f"{owner} {commit} {file}"


def case(spec, source, q, k, right, own, wrong, specs, *, tolerance=1e-9, causal=True, **more):
    """right: their weights (H, T, T); own: logits by a slow formula; wrong: the logits of other conventions."""
    right = right.detach()
    gap = float((right - softmax(own, causal)).abs().max())
    assert gap < tolerance, f"{spec}: the formula and {source} differ by {gap}"
    far = {words: float((softmax(scores, causal) - right).abs().max()) for words, scores in wrong.items()}
    assert len(far) > 1 and min(far.values()) > 100 * tolerance, (spec, far)
    weights(FILE, spec, source, q, k, weights=right, causal=causal, wrong=specs, tolerance=tolerance,
            wrong_words={words: float(f"{most:.3g}") for words, most in far.items()}, **more)
    print(f"{spec:64} {source}: formula within {gap:.1e}")


def disagrees(encoding, words, a, b):
    print(f"DISAGREES {encoding}: {words}: {float((a - b).detach().abs().max()):.3g}")


def drawn(H, T, D, seed):
    return draw(H, T, D, seed=seed), draw(H, T, D, seed=seed + 1)


def distances(T):
    return torch.arange(T)[:, None] - torch.arange(T)
