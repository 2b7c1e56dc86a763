"""Rotations, tables, positions and settings drawn at random, as programs compute them: what planted.py makes dumps of. NumPy alone;
the formulas are those of the programs that are named, and nothing here comes from gnomon.

Rotation: transformers, modeling_llama.py (halves) and modeling_gptj.py (adjacent); scalings: modeling_rope_utils.py; three
streams: modeling_qwen2_vl.py, modeling_qwen3_vl.py.
"""

import json
import math
import pathlib

import numpy as np

TYPES = {"F32": 4, "F16": 2, "BF16": 2, "I64": 8, "BOOL": 1}


def to_bf16(x):
    """Nearest bfloat16, ties to even, as float32."""
    bits = np.ascontiguousarray(x, np.float32).view(np.uint32)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) & 0xFFFF0000).astype(np.uint32).view(np.float32)


def rounded(x, type):
    """The numbers in that type, as float32."""
    x = np.asarray(x, np.float32)
    return x if type == "F32" else to_bf16(x) if type == "BF16" else x.astype(np.float16).astype(np.float32)


def save(path, tensors):
    """A .safetensors file of {name: (array, type)}."""
    header, data = {}, b""
    for name, (array, type) in tensors.items():
        if type == "BF16":
            raw = (to_bf16(array).view(np.uint32) >> 16).astype(np.uint16).tobytes()
        else:
            raw = np.ascontiguousarray(array, {"F32": np.float32, "F16": np.float16, "I64": np.int64, "BOOL": np.bool_}[type]).tobytes()
        header[name] = {"dtype": type, "shape": list(array.shape), "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    pathlib.Path(path).write_bytes(len(text).to_bytes(8, "little") + text + data)


# Frequencies (radians a token) and the factor of cos and sin.

def plain(R, theta):
    return 1.0 / theta ** (np.arange(0, R, 2) / R)


def linear(R, theta, factor):
    return plain(R, theta) / factor


def ntk(R, theta, factor):
    return plain(R, theta * factor ** (R / (R - 2)))


def llama3(R, theta, factor, original, low=1.0, high=4.0):
    w = plain(R, theta)
    length = 2 * np.pi / w
    smooth = np.clip((original / length - low) / (high - low), 0, 1)
    return (1 - smooth) * w / factor + smooth * w


def yarn(R, theta, factor, original, fast=32, slow=1):
    def at(turns):
        return R * math.log(original / (turns * 2 * math.pi)) / (2 * math.log(theta))
    first, last = max(math.floor(at(fast)), 0), min(math.ceil(at(slow)), R - 1)
    ramp = np.clip((np.arange(R // 2) - first) / max(last - first, 0.001), 0, 1)
    w = plain(R, theta)
    return w / factor * ramp + w * (1 - ramp)


# Rotation of (H, T, D).

def rotate_half(x):
    return np.concatenate([-x[..., x.shape[-1] // 2:], x[..., :x.shape[-1] // 2]], -1)


def rotate_every_two(x):
    out = np.empty_like(x)
    out[..., ::2], out[..., 1::2] = -x[..., 1::2], x[..., ::2]
    return out


def spread(columns, pairing):
    """(T, R/2) to (T, R), as the pairing has it."""
    return np.concatenate([columns, columns], -1) if pairing == "halves" else np.repeat(columns, 2, -1)


def other(pairing):
    return "adjacent" if pairing == "halves" else "halves"


def turn(x, cos, sin, pairing, type="F32", each=True, first=0):
    """x with the channels from `first` on turned by cos and sin (T, R), which are laid out already; every step rounds, or the end alone."""
    R = cos.shape[-1]
    y = x.copy()
    part = x[..., first:first + R]
    swapped = rotate_half(part) if pairing == "halves" else rotate_every_two(part)
    step = (lambda v: rounded(v, type)) if each else (lambda v: v)
    cos, sin = step(cos), step(sin)
    y[..., first:first + R] = step(step(part * cos) + step(swapped * sin))
    return rounded(y, type)


def tables(positions, w, factor=1.0, frequencies=None, places=None, angles=None):
    """cos and sin (T, R/2) in float32; each of the numbers on the way may be rounded to a type."""
    w = rounded(w, frequencies or "F32")
    p = rounded(positions, places or "F32")
    angle = rounded(p[:, None] * w[None, :], angles or "F32")
    return (np.cos(angle) * np.float32(factor)).astype(np.float32), (np.sin(angle) * np.float32(factor)).astype(np.float32)


THETAS = [10000.0, 500000.0, 1000000.0, 150000.0, 160000.0, 100000.0, 5000000.0, 2000000.0, 10000000.0]
ODD_THETAS = [12345.0, 20000.0, 250000.0, 11158840.0, 77777.0, 3000.0]


class Draw:
    """A setting of a model and its numbers, drawn by a seed."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)

    def one(self, *choices):
        return choices[self.rng.integers(len(choices))]

    def rows(self, H, T, D, type="F32"):
        return rounded(self.rng.standard_normal((H, T, D)), type)

    def theta(self, odd=0.3):
        return self.one(*ODD_THETAS) if self.rng.random() < odd else self.one(*THETAS[:3], *THETAS)

    def lay(self, x):
        """(H, T, D) as one of the layouts of programs."""
        which = self.rng.integers(4)
        if which == 0:
            return x
        if which == 1:
            return x[None]
        if which == 2:
            return x.transpose(1, 0, 2)
        return np.stack([x, x[:, ::-1] * 0.5])

    def documents(self, T, most=5):
        lengths = []
        while sum(lengths) < T and len(lengths) < most:
            lengths.append(int(self.rng.integers(max(4, T // 6), max(6, T // 2))))
        lengths[-1] += max(0, T - sum(lengths))
        number = np.repeat(np.arange(len(lengths)), lengths)[:T]
        starts = [0] + [t for t in range(1, T) if number[t] != number[t - 1]]
        return number, starts


def restart(starts, T, first=0):
    p = np.arange(T)
    for a, b in zip(starts, starts[1:] + [T]):
        p[a:b] = np.arange(b - a) + first
    return p


def image_streams(draw, T, least=3):
    """Positions of text, an image and text (3, T), as get_rope_index of Qwen2-VL numbers them."""
    before = int(draw.rng.integers(3, max(4, T // 4)))
    rows, columns = int(draw.rng.integers(least, 9)), int(draw.rng.integers(least, 9))
    rows = max(2, min(rows, (T - before - 2) // columns))
    p = [np.repeat(np.arange(before)[None], 3, 0)]
    h, w = np.divmod(np.arange(rows * columns), columns)
    p.append(np.stack([np.zeros_like(h), h, w]) + before)
    left = T - before - rows * columns
    p.append(np.repeat(np.arange(left)[None], 3, 0) + before + max(rows, columns))
    return np.concatenate(p, 1)


def streams_of(kind, sections):
    """The stream of each pair."""
    N = sum(sections)
    if kind == "mrope":
        return np.repeat(np.arange(len(sections)), sections)
    s = np.zeros(N, int)
    s[1:3 * sections[1]:3], s[2:3 * sections[2]:3] = 1, 2
    return s


def by_streams(positions, w, which):
    angle = (positions[which].T.astype(np.float32) * np.float32(w)[None]).astype(np.float32)
    return np.cos(angle), np.sin(angle)
