"""gnomon.torch.attend on the CPU beside PyTorch's scaled_dot_product_attention with the same bias, in one run, and what a call costs.

    make wheel && pip install build/wheels/*.whl torch && python bench/torch_attention.py

Prints, for windows of 512 to 2048 tokens (8 heads of 64 channels, 2048 tokens in all, two threads, medians of seven and their
range), theirs over ours for the forward pass, and for both passes; then microseconds of a call for one head of four tokens.
"""

import statistics
import time

import numpy as np
import torch
from torch.nn.functional import scaled_dot_product_attention

import gnomon as gn
from gnomon import _core

HEADS, SIZE, ALL, TIMES = 8, 64, 2048, 7


def ratios(ours, theirs):
    """theirs / ours, taken in turn."""
    found = []
    for n in range(TIMES + 1):
        took = []
        for f in (ours, theirs):
            start = time.perf_counter()
            f()
            took.append(time.perf_counter() - start)
        if n:
            found.append(took[1] / took[0])
    return f"{statistics.median(found):.2f} [{min(found):.2f}, {max(found):.2f}]"


def compare(tokens):
    pe = gn.make("alibi", heads=HEADS, head_dim=SIZE, length=tokens)
    q, k, v = (torch.randn(ALL // tokens, HEADS, tokens, SIZE, requires_grad=True) for _ in range(3))
    g = torch.randn_like(q)
    bias = torch.from_numpy(pe.bias(np.arange(tokens))).float() + torch.full((tokens, tokens), float("-inf")).triu(1)
    bias = bias.expand(len(q), -1, -1, -1)
    ours, theirs = (lambda: gn.attend(q, k, v, pe=pe)), (lambda: scaled_dot_product_attention(q, k, v, attn_mask=bias))
    with torch.no_grad():
        torch.testing.assert_close(ours(), theirs(), atol=1e-5, rtol=1e-4)
        forward = ratios(ours, theirs)
    both = ratios(lambda: ours().backward(g), lambda: theirs().backward(g))
    print(f"{tokens:5} tokens: forward {forward}, both passes {both}")


def microseconds(f, n=3000):
    best = float("inf")
    for _ in range(5):
        start = time.perf_counter()
        for _ in range(n):
            f()
        best = min(best, (time.perf_counter() - start) / n * 1e6)
    return best


def call():
    pe = gn.make("alibi", heads=1, head_dim=8, length=4)
    q, k, v = (torch.randn(1, 1, 4, 8) for _ in range(3))
    rows = [t.numpy() for t in (q, k, v)]
    bare = _core.Call()
    bare.w = pe.w
    core = microseconds(lambda: _core.forward(pe._scheme, *rows, bare, np.empty_like(rows[0]), None, None))
    kinds = {"NumPy": microseconds(lambda: gn.attend(*rows, pe=pe))}
    with torch.no_grad():
        kinds["PyTorch"] = microseconds(lambda: gn.attend(q, k, v, pe=pe))
    q.requires_grad_()
    kinds["PyTorch with gradients"] = microseconds(lambda: gn.attend(q, k, v, pe=pe))
    print(f"a call of the core: {core:.1f} µs; " + "; ".join(f"from {name} {t - core:.1f} more" for name, t in kinds.items()))


if __name__ == "__main__":
    torch.set_num_threads(2)
    for tokens in (512, 1024, 2048):
        compare(tokens)
    call()
