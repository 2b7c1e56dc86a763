"""A position encoding for the attention of one layer."""

from __future__ import annotations

import weakref
from typing import Any

import numpy as np

from . import _core
from .arguments import number, truth, whole
from .arrays import Array, Numbers, check_tokens, floats, is_torch, of_same_library, of_tensors, positions_of, real, rows
from .errors import Error

_made: weakref.WeakValueDictionary[str, Encoding] = weakref.WeakValueDictionary()  # by key: what a custom operator of PyTorch, which takes text, finds again


class Encoding:
    """A spec such as "rope(theta=5e5, pairing=halves)+alibi" with the sizes of a model, as make() returns it. It is immutable except for
    the values of its parameters. It can be copied and pickled, with its parameters.

    spec: canonical text. heads, kv_heads, head_dim, value_dim, width, length, causal, scale, soft_cap: the arguments of make(). acts:
    where it acts: "qk", "logits, value", ... or "none". reads: the content of a layer that it reads besides positions: some of "x"
    (the layer's input), "rows" (q and k) and "projections".
    """

    spec: str
    layer: int
    acts: str
    reads: tuple[str, ...]
    w: np.ndarray
    input_w: np.ndarray
    key: str
    config: dict[str, Any]
    output_turns: bool
    _scheme: _core.Scheme
    heads: int
    kv_heads: int
    head_dim: int
    value_dim: int
    width: int
    length: int
    causal: bool
    scale: float
    soft_cap: float

    def __init__(self, spec: str, config: dict[str, Any], layer: int, seed: int) -> None:
        scheme = _core.Scheme(spec, config, layer)
        config = scheme.config
        self.__dict__.update(
            config, config=config, layer=layer, spec=scheme.spec, acts=scheme.acts, reads=tuple(scheme.reads),
            output_turns=scheme.output_turns(), w=scheme.initial(seed), input_w=scheme.input_initial(seed), _scheme=scheme,
            key=f"{layer}|{'|'.join(f'{k}={v!r}' for k, v in config.items())}|{scheme.spec}")
        _made[self.key] = self

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"an encoding does not change; make another one with {name}={value!r}")

    def __reduce__(self) -> tuple[Any, ...]:
        return _made_again, (self.spec, self.config, self.layer, self.w, self.input_w)

    def __repr__(self) -> str:
        group = f", kv_heads={self.kv_heads}" if self.kv_heads != self.heads else ""
        return f"gnomon.make({self.spec!r}, heads={self.heads}{group}, head_dim={self.head_dim})"

    def parameters(self) -> dict[str, np.ndarray]:
        """The parameters by name, as NumPy arrays that share its memory: change them in place. The names for an input encoding begin
        with "input."."""
        named = {}
        for prefix, params, numbers in (("", self._scheme.params, self.w), ("input.", self._scheme.input_params, self.input_w)):
            at = 0
            for name, shape in params:
                size = int(np.prod(shape))
                named[prefix + name] = numbers[at:at + size].reshape(shape)
                at += size
        return named

    def rotate(self, q: Array, k: Array, positions: Numbers | None = None) -> tuple[Array, Array]:
        """Returns q (B, heads, T, head_dim) and k (B, kv_heads, T, head_dim) as attention multiplies them: rotated, scaled, and with the
        channels that some encodings append. positions: (T), (B, T) or (B, T, axes), whole numbers or fractions; None: 0, 1, 2 ...

        The result is an array of the library of q, with gradients in PyTorch, or NumPy's if that library has no __array_namespace__.
        Raises Error for encodings that read content.
        """
        if self.reads:
            raise Error(f"'{self.spec}' reads {', '.join(self.reads)}, so it has no rotation by position alone", found=self.spec)
        return self._mapped(q, "q", positions), self._mapped(k, "k", positions)

    def _mapped(self, x: Array, role: str, positions: Numbers | None) -> Array:
        if is_torch(x):
            return of_tensors().ops.map_rows(self, x, role, positions, None)
        x_rows = rows(role, x)
        out = np.zeros((*x_rows.shape[:3], x_rows.shape[3] + self._scheme.added()), x_rows.dtype)
        out[..., :x_rows.shape[3]] = x_rows
        places = positions_of(positions, x_rows.shape[2])
        check_tokens(role, x_rows.shape[2], places)
        _core.map_rows(self._scheme, role, places, self.w, out)
        return of_same_library(x, out)

    def bias(self, positions: Numbers, keys: Numbers | None = None) -> np.ndarray:
        """The bias for queries at `positions` (Q) and keys at `keys` (K; None: the same positions): (heads, Q, K), float64, from the
        definition. Raises Error if there is none, or if it depends on content."""
        queries = _one_row("positions", positions)
        return self._scheme.bias(queries, queries if keys is None else _one_row("keys", keys), self.w)

    @property
    def slopes(self) -> np.ndarray:
        """The number that each head subtracts from a logit per token of distance: (heads), float64. Raises Error unless the bias is linear
        in the distance (ALiBi: Press et al. 2022, arXiv 2108.12409)."""
        near = self.bias(np.arange(4.0))[:, 3, ::-1]  # distances 0, 1, 2, 3
        steps = np.diff(near, axis=1)
        if not np.allclose(steps, steps[:, :1], rtol=1e-9, atol=1e-12):
            raise Error(f"'{self.spec}' has no slopes: its bias is not linear in the distance", place="slopes", found=self.spec)
        return -steps[:, 0]

    @property
    def frequencies(self) -> np.ndarray:
        """The angular frequencies of its pairs of channels in radians per token, float64. Raises Error if there are none."""
        return self._scheme.frequencies()

    def vectors(self, positions: Numbers) -> np.ndarray:
        """The vectors of an input encoding at positions (T) or (B, T): (..., width), float32. Raises Error for an encoding that acts
        elsewhere."""
        places = real("positions", positions, np.float64)
        shape = places.shape[:-1] if places.ndim == 3 else places.shape
        return self._scheme.vectors(places, self.input_w).reshape(*shape, self._scheme.input_width)

    def sampled(self, positions: Numbers, *, seed: int = 0, draw: int = 0, training: bool = True) -> np.ndarray:
        """Positions as a sampler (randomised, SHAPE, CAPE) changes them: (T) float64. draw: the index of the random draw."""
        numbers = whole("seed", seed, 0, 2**64 - 1), whole("draw", draw, 0, 2**64 - 1)
        return self._scheme.sampled(_one_row("positions", positions), *numbers, truth("training", training))

    def plan(self, positions: Numbers | None = None, *, tokens: int | None = None, q: Numbers | None = None, k: Numbers | None = None,
             x: Numbers | None = None, projections: Numbers | None = None) -> _core.Plan:
        """What attention executes for these positions, as data: print it. .steps and .terms are dictionaries of arrays. Give q, k (B,
        heads, T, head_dim), x (B, T, width) and projections if the encoding reads them."""
        places = positions_of(positions, self.length if tokens is None else whole("tokens", tokens))
        seen = _core.Seen()
        sequences = 1 if q is None else len(rows("q", q))
        dense = lambda name, a: None if a is None else floats(name, a).reshape(-1)
        seen.q, seen.k, seen.x, seen.projections = dense("q", q), dense("k", k), dense("x", x), dense("projections", projections)
        return _core.plan(self._scheme, places, self.w, sequences, seen)


def make(spec: str, *, heads: int, head_dim: int = 64, kv_heads: int = 0, value_dim: int = 0, width: int = 0, length: int = 2048,
         causal: bool = True, scale: float = 0.0, soft_cap: float = 0.0, layer: int = 0, seed: int = 0) -> Encoding:
    """Makes the position encoding of one attention layer.

    spec: text, such as "rope(theta=500000, pairing=halves)+alibi". heads: of q. kv_heads: heads of k and v (0: heads). head_dim,
    value_dim (0: head_dim): channels. width: of an input encoding's vectors and of the layer's input (0: heads*head_dim). length:
    training length in tokens, which some encodings need. scale: factor on q·k (0: 1/sqrt(head_dim)). soft_cap: of the logits (0: none).
    layer: which of the spec's [layers] to use. seed: of the initial parameters. Raises Error.
    """
    if not isinstance(spec, str):
        raise Error(f"spec: found {type(spec).__name__}; allowed is text, such as \"rope\"", place="spec", found=type(spec).__name__, allowed="text")
    sizes = dict(heads=heads, kv_heads=kv_heads, head_dim=head_dim, value_dim=value_dim, width=width, length=length)
    config = {name: whole(name, n) for name, n in sizes.items()}
    config |= dict(causal=truth("causal", causal), scale=number("scale", scale), soft_cap=number("soft_cap", soft_cap))
    return Encoding(spec, config, whole("layer", layer), whole("seed", seed, 0, 2**64 - 1))


def _one_row(name: str, positions: Numbers) -> np.ndarray:
    places = real(name, positions, np.float64)
    if places.ndim != 1:
        raise Error(f"{name}: found {places.shape}; allowed is one row of positions, (T)", place=name, found=str(places.shape), allowed="(T)")
    return places


def _made_again(spec: str, config: dict[str, Any], layer: int, w: np.ndarray, input_w: np.ndarray) -> Encoding:
    """Restores an encoding from a pickle or a copy."""
    encoding = Encoding(spec, config, layer, 0)
    encoding.w[:], encoding.input_w[:] = w, input_w
    return encoding


def made(key: str) -> Encoding:
    """The encoding of this key; made again if no reference to it is left."""
    found = _made.get(key)
    if found is None:
        layer, *config, spec = key.split("|", 10)
        values = {name: _value(text) for name, text in (item.split("=", 1) for item in config)}
        found = Encoding(spec, values, int(layer), 0)
    return found


def _value(text: str) -> bool | int | float:
    return {"True": True, "False": False}[text] if text in ("True", "False") else float(text) if "." in text or "e" in text else int(text)
