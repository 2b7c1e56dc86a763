"""Attention with a position encoding: forward, backward, and with a key cache."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import _core
from .arguments import whole
from .arrays import Array, Numbers, check_queries, floats, is_torch, of_same_library, of_tensors, pairs, positions_of, rows, truths
from .encoding import Encoding, make
from .errors import Error


def made_encoding(pe: Any) -> Encoding:
    """The encoding itself, or the encoding of a module of gnomon.torch. Raises Error for anything else."""
    if isinstance(pe, Encoding):
        return pe
    if isinstance(getattr(pe, "encoding", None), Encoding):
        return pe.encoding
    raise Error(f"pe: found {type(pe).__name__}; allowed is an encoding from gnomon.make()", place="pe", found=type(pe).__name__)


def encoding_for(pe: Any, q: Array, k: Array) -> Encoding:
    """The encoding `pe`; if it is text, the encoding of this spec for rows of these shapes, (B, heads, tokens, channels)."""
    return encoding_of(pe, q.shape[1], k.shape[1], q.shape[3]) if isinstance(pe, str) else made_encoding(pe)


def encoding_of(spec: str, heads: int, kv_heads: int, head_dim: int) -> Encoding:
    """The encoding of a spec for attention alone. Raises Error for a spec with parts outside attention, because attend() does not compute
    them."""
    encoding = make(spec, heads=heads, kv_heads=kv_heads, head_dim=head_dim)
    beside = encoding._scheme.beside_attention
    if beside:
        raise Error(f"pe: '{encoding.spec}' has {', '.join(beside)}; allowed are encodings that act inside attention. Use gnomon.make() for the rest",
                    place="pe", found=encoding.spec, allowed="what acts inside attention")
    return encoding


def _call(pe: Encoding, q: np.ndarray, k: np.ndarray, given: dict[str, Any], cache: KeyCache | None = None) -> _core.Call:
    call = _core.Call()
    call.w = pe.w
    if given["positions"] is not None:
        call.positions = positions_of(given["positions"], k.shape[2])
    if given["padding"] is not None:
        call.padding = truths("padding", given["padding"])
    shape = (q.shape[0], pe.heads, q.shape[2], k.shape[2] if cache is None else cache._cache.keys_with(k.shape[2], call.padding))
    if given["bias"] is not None:
        call.bias = pairs("bias", floats("bias", given["bias"]), shape)
    if given["mask"] is not None:
        call.mask = pairs("mask", truths("mask", given["mask"]), shape)
    if given["sinks"] is not None:
        call.sinks = floats("sinks", given["sinks"])
    if given["x"] is not None:
        call.x = layer_input(floats("x", given["x"]))[:, None]
    if given["projections"] is not None:
        call.projections = flat_projections(given["projections"])
    return call


def layer_input(x: Array) -> Array:
    """x itself, (B, keys, width). Raises Error for other extents."""
    if x.ndim != 3:
        raise Error(f"x: found {x.ndim} extents; allowed are 3, (B, keys, width)", place="x", found=str(tuple(x.shape)), allowed="(B, keys, width)")
    return x


def four_projections(projections: Any) -> list[Any]:
    """(q weight, k weight, q bias, k bias), or an array of all of them alone, as a list. Raises Error."""
    if hasattr(projections, "shape"):
        return [projections]
    if not isinstance(projections, (list, tuple)) or len(projections) != 4:
        found = f"{len(projections)} arrays" if isinstance(projections, (list, tuple)) else type(projections).__name__
        raise Error(f"projections: found {found}; allowed are 4 arrays, (q weight, k weight, q bias, k bias)", place="projections", found=found,
                    allowed="4 arrays")
    return list(projections)


def flat_projections(projections: Any) -> np.ndarray:
    """(q weight, k weight, q bias, k bias), with weights (heads*head_dim, width), as one array."""
    return np.concatenate([floats("projections", p).reshape(-1) for p in four_projections(projections)])


class KeyCache:
    """Keys and values of `sequences` sequences of at most `capacity` tokens. attend(cache=...) appends them. window: the number of tokens
    that a query sees, including its own; the cache is then a ring. Raises Error for encodings whose keys change as the context grows.

    Its rows were made under the encoding's parameters as they were at the first call: attend() raises Error under others.
    """

    def __init__(self, pe: Any, *, sequences: int = 1, capacity: int, window: int = 0) -> None:
        self.encoding = made_encoding(pe)
        sizes = (whole(name, n) for name, n in (("sequences", sequences), ("capacity", capacity), ("window", window)))
        self._cache = _core.KeyCache(self.encoding._scheme, *sizes)
        self._w: np.ndarray | None = None  # the parameters of its rows; None: it has none yet

    def __reduce__(self) -> tuple[Any, ...]:
        raise Error("a KeyCache is not copied or pickled; make another one and fill it again", place="cache", found="a copy",
                    allowed="another KeyCache")

    def _decode(self, pe: Encoding, w: np.ndarray, call: _core.Call, arrays: tuple[Any, ...]) -> None:
        """Attends with arrays = (q, k, v, out), and appends. A call that raises Error leaves the cache as it was."""
        same_spec = pe._scheme.attention_spec == self.encoding._scheme.attention_spec  # the core refuses others
        if self._w is not None and same_spec and not np.array_equal(w, self._w, equal_nan=True):
            raise Error(f"cache: found rows that were made under other parameters of '{pe.spec}'; allowed is a new KeyCache after a change",
                        place="cache", found="other parameters", allowed="a new KeyCache")
        *rows, out = arrays
        _core.decode(pe._scheme, *rows, call, self._cache, out)
        if self._w is None and len(self):
            self._w = w.copy()

    def __len__(self) -> int:
        """The number of stored tokens in the longest sequence."""
        return max(self._cache.length(b) for b in range(self._cache.sequences))

    def lengths(self) -> list[int]:
        """The number of stored tokens of each sequence."""
        return [self._cache.length(b) for b in range(self._cache.sequences)]

    @property
    def capacity(self) -> int:
        """The largest number of tokens per sequence."""
        return self._cache.capacity

    def rows(self, sequence: int = 0) -> tuple[np.ndarray, np.ndarray]:
        """The stored keys (kv_heads, length, channels) and values (kv_heads, length, value_dim), as float32 copies."""
        return self._cache.rows(whole("sequence", sequence))


def check_cache(cache: Any) -> None:
    """Raises Error for anything but a KeyCache."""
    if not isinstance(cache, KeyCache):
        found = type(cache).__name__
        raise Error(f"cache: found {found}; allowed is a gnomon.KeyCache", place="cache", found=found, allowed="a gnomon.KeyCache")


class Result:
    """The result of attention, with backward(). out (B, heads, queries, value_dim); lse (B, heads, queries): natural logarithm of the
    sum of exponentials of each row of logits."""

    def __init__(self, pe: Encoding, arrays: tuple[np.ndarray, ...], call: _core.Call, wide: np.ndarray, lse: np.ndarray,
                 attended: np.ndarray | None) -> None:
        self._pe, self._arrays, self._call = pe, arrays, call
        self._wide, self._attended = wide, attended  # out before it was rounded: of a rounded one, gradients of sums are off
        with np.errstate(over="ignore"):
            self.out, self.lse = wide.astype(arrays[0].dtype, copy=False), lse

    def backward(self, dout: Array) -> dict[str, np.ndarray]:
        """A dictionary of gradients, from the gradient of out: of q, k, v and w (the flat parameters). It also has bias (B, heads, queries,
        keys), sinks, x and projections, if they were given."""
        q, k, v = self._arrays
        call, g = self._call, _core.Gradients()
        out = {"q": np.empty_like(q), "k": np.empty_like(k), "v": np.empty_like(v), "w": np.zeros_like(self._pe.w)}
        g.dq, g.dk, g.dv, g.dw = out["q"], out["k"], out["v"], out["w"]
        if call.bias is not None:
            g.dbias = out["bias"] = np.zeros((*q.shape[:3], k.shape[2]), np.float32)
        if call.sinks is not None:
            g.dsinks = out["sinks"] = np.zeros(self._pe.heads, np.float32)
        if call.x is not None:
            x = np.empty((q.shape[0], 1, k.shape[2], self._pe.width), np.float32)
            g.dx, out["x"] = x, x[:, 0]
        if call.projections is not None:
            size = 2 * self._pe.heads * self._pe.head_dim * (self._pe.width + 1)
            g.dprojections = out["projections"] = np.zeros(size, np.float32)
        done = _core.Done(q, k, v, self._wide, self.lse, self._attended)
        _core.backward(self._pe._scheme, done, call, rows("dout", dout), g)
        return out


def attention(q: Array, k: Array, v: Array, *, pe: Any, positions: Numbers | None = None, bias: Numbers | None = None,
              mask: Numbers | None = None, padding: Numbers | None = None, sinks: Numbers | None = None, x: Numbers | None = None,
              projections: Any = None) -> Result:
    """As attend(), for NumPy arrays, with gradients: returns a Result."""
    q, k, v = rows("q", q), rows("k", k), rows("v", v)
    check_queries(q, k)
    pe = encoding_for(pe, q, k)
    call = _call(pe, q, k, dict(positions=positions, bias=bias, mask=mask, padding=padding, sinks=sinks, x=x, projections=projections))
    wide = np.empty((*q.shape[:3], pe.value_dim), np.float32)
    lse = np.empty(q.shape[:3], np.float32)
    attended = np.empty(wide.shape, np.float32) if pe.output_turns else None
    _core.forward(pe._scheme, q, k, v, call, wide, lse, attended)
    return Result(pe, (q, k, v), call, wide, lse, attended)


def attend(q: Array, k: Array, v: Array, *, pe: Any, positions: Numbers | None = None, cache: KeyCache | None = None, bias: Numbers | None = None,
           mask: Numbers | None = None, padding: Numbers | None = None, sinks: Numbers | None = None, x: Numbers | None = None,
           projections: Any = None) -> Array:
    """Attention with a position encoding: softmax(scale·q'k'ᵀ + what the encoding adds)·v.

    q (B, heads, queries, head_dim), k (B, kv_heads, keys, head_dim) and v (B, kv_heads, keys, value_dim) are float32, float16 or
    bfloat16, with any strides. They may come from NumPy, PyTorch (with gradients), or any library with DLPack. The result (B, heads,
    queries, value_dim) is an array of the library of q, or NumPy's if that library has no __array_namespace__. Arithmetic is float32.
    The queries are the last of the keys, so there are at most as many queries as keys.

    To attend to another sequence, make the encoding with causal=False. For each query, append a row of zeros to k and v, its position to
    positions, and True to padding: the queries are then the last of the keys, and no query sees what was appended. Encodings that read
    content, or hide keys by position, raise Error there.

    pe: an encoding from gnomon.make(), a module of gnomon.torch, or a spec of encodings that act inside attention. Input encodings
    add nothing here: add their vectors to the words (Encoding.vectors).

    positions: of the keys, (T), (B, T) or (B, T, axes). None: 0, 1, 2 ...

    cache: a KeyCache. q, k and v are then new tokens, which are appended; positions and padding are those of the new tokens.

    bias: added to the logits. mask: False hides a pair. Both broadcast to (B, heads, queries, keys). With a cache, these are all
    keys in the cache after the call, the oldest first.

    padding (B, keys), bool: True means that no query sees this key, and that a cache does not keep it. It is the opposite of
    transformers' attention_mask: pass attention_mask == 0. If every key of a row is padding, its result is 0.

    sinks (heads): one more logit without a value. x (B, keys, width) and projections (q weight, k weight, q bias, k bias): for
    encodings that read them (Encoding.reads). Raises Error.
    """
    if is_torch(q):
        return of_tensors().attend(q, k, v, pe=pe, positions=positions, cache=cache, bias=bias, mask=mask, padding=padding, sinks=sinks,
                                   x=x, projections=projections)
    given = dict(positions=positions, bias=bias, mask=mask, padding=padding, sinks=sinks, x=x, projections=projections)
    if cache is None:
        return of_same_library(q, attention(q, k, v, pe=pe, **given).out)
    check_cache(cache)
    new = [rows(name, a) for name, a in (("q", q), ("k", k), ("v", v))]
    pe = encoding_for(pe, *new[:2])
    out = np.empty((*new[0].shape[:3], pe.value_dim), new[0].dtype)
    cache._decode(pe, pe.w, _call(pe, new[0], new[1], given, cache), (*new, out))
    return of_same_library(q, out)
