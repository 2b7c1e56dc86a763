"""A small model's attention for every encoding, and the arrays that it takes."""

import numpy as np

import gnomon as gn

B, HEADS, TOKENS, SIZE = 2, 2, 6, 8
NAMES = [e.name for e in gn.encodings()]
INSIDE = [e.name for e in gn.encodings() if e.acts not in ("input", "positions")]
READS_WORDS = ["conv_position", "peg"]  # vectors beside the words that are no function of positions alone
BESIDE = [e.name for e in gn.encodings() if "input" in e.acts and e.name not in READS_WORDS]


def small(spec, **sizes):
    return gn.make(spec, **{**dict(heads=HEADS, head_dim=SIZE, length=TOKENS, width=HEADS * SIZE), **sizes})


def awake(pe, seed=1):
    """Its parameters moved off their start, where some gradients are 0 by symmetry."""
    random = np.random.default_rng(seed)
    for numbers in (pe.w, pe.input_w):
        numbers += 0.1 * random.standard_normal(numbers.shape, np.float32)
    return pe


def qkv(seed=0, kv_heads=HEADS, tokens=TOKENS, dtype=np.float32):
    random = np.random.default_rng(seed)
    return [random.standard_normal((B, heads, tokens, SIZE)).astype(dtype) for heads in (HEADS, kv_heads, kv_heads)]


def content(pe, seed=2):
    """x and projections where the encoding reads them."""
    random = np.random.default_rng(seed)
    width, rows = pe.width, pe.heads * pe.head_dim
    given = {}
    if "x" in pe.reads:
        given["x"] = random.standard_normal((B, TOKENS, width)).astype(np.float32)
    if "projections" in pe.reads:
        shapes = ((rows, width), (rows, width), (rows,), (rows,))
        given["projections"] = [(0.3 * random.standard_normal(s)).astype(np.float32) for s in shapes]
    return given
