"""Arrays of the caller: NumPy's, PyTorch's on the CPU, and any other library's that speaks DLPack."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, Union

import numpy as np
import numpy.typing as npt

from .errors import Error

# An array of NumPy, PyTorch or any library that speaks DLPack; what is given back is of the same library.
Array = Any
Numbers = Union[npt.ArrayLike, Any]

NUMBERS = ("float32", "float16", "bfloat16")


def is_torch(x: object) -> bool:
    """Whether x is a tensor, of a subclass of torch.Tensor as well."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(x, torch.Tensor)


_load: Callable[[], Any]


def loaded_by(load: Callable[[], Any]) -> None:
    """What is called for gnomon.torch when a tensor comes. That package knows those that take arrays, so they do not know it:
    the whole package tells how it is loaded, and torch is not imported where nobody has tensors."""
    global _load
    _load = load


def of_tensors() -> Any:
    """gnomon.torch."""
    return _load()


def _is_jax(x: object) -> bool:
    return type(x).__module__.partition(".")[0] in ("jax", "jaxlib")


def numpy_of(x: Array) -> np.ndarray:
    """x as NumPy sees it, without a copy where its memory allows."""
    if isinstance(x, np.ndarray):
        return x
    return np.from_dlpack(x) if hasattr(x, "__dlpack__") else np.asarray(x)


def rows(name: str, x: Array) -> np.ndarray:
    """x (B, heads, tokens, channels) of a number type that the core reads. bfloat16 in NumPy's hands (ml_dtypes) comes as float32,
    which holds it exactly: NumPy lends such memory to nobody. Raises Error."""
    x = numpy_of(x)
    if x.ndim != 4:
        raise Error(f"{name}: found {x.ndim} extents; allowed are 4, (B, heads, tokens, channels)", place=name, found=str(x.shape),
                    allowed="(B, heads, tokens, channels)")
    if x.dtype.name not in NUMBERS:
        raise Error(f"{name}: found numbers of type {x.dtype}; allowed are {', '.join(NUMBERS)}", place=name, found=str(x.dtype),
                    allowed=", ".join(NUMBERS), suggestions=["float32"])
    if x.dtype.name == "bfloat16":
        return x.astype(np.float32)
    if not x.dtype.isnative:
        return x.astype(x.dtype.newbyteorder("="))
    if any(step < 0 or step % x.itemsize for step in x.strides):  # backwards, or a field of records
        return np.ascontiguousarray(x)
    return x


def of_same_library(like: Array, result: np.ndarray) -> Array:
    """A NumPy array as the library of `like` has arrays, of its number type."""
    if _is_jax(like):
        import jax.numpy as jnp
        return jnp.asarray(result).astype(like.dtype)
    if isinstance(like, np.ndarray):
        return result.astype(like.dtype, copy=False)
    if not hasattr(like, "__array_namespace__"):
        return result
    space = like.__array_namespace__()
    return space.asarray(result, dtype=getattr(space, str(like.dtype), None))


def positions_of(positions: Numbers | None, tokens: int) -> np.ndarray:
    """(T), (B, T) or (B, T, axes) positions as dense double; None: 0, 1, 2 ..."""
    if positions is None:
        return np.arange(tokens, dtype=np.float64)
    if is_torch(positions):
        positions = positions.detach().cpu()
    return np.ascontiguousarray(np.asarray(positions, dtype=np.float64))


def check_truths(name: str, dtype: object) -> None:
    """Numbers of this type say which pairs or keys are hidden. Raises Error for those that are likely to mean the opposite: of
    numbers that are added to logits, 0 shows a key; in transformers' attention_mask, 1 is a token."""
    kind = str(dtype).removeprefix("torch.")
    if kind == "bool" or name == "mask" and kind.startswith(("int", "uint")):
        return
    if name == "mask":
        raise Error(f"mask: found numbers of type {kind}; allowed are truths, False hides; did you mean bias=, which is added to the logits?",
                    place="mask", found=kind, allowed="bool", suggestions=["bias"])
    raise Error(f"padding: found numbers of type {kind}; allowed are truths, True hides a key: of transformers' attention_mask, "
                "attention_mask == 0", place="padding", found=kind, allowed="bool", suggestions=["attention_mask == 0"])


def check_zeros_and_ones(name: str, x: Array) -> None:
    """Whole numbers that stand for truths are 0 and 1. Raises Error for others, which are likely to be added to logits."""
    if str(x.dtype).removeprefix("torch.") == "bool":
        return
    other = x[(x != 0) & (x != 1)].reshape(-1)
    if len(other):
        found = str(int(other[0]))
        raise Error(f"{name}: found {found}; allowed are truths, 0 and 1; did you mean bias=, which is added to the logits?", place=name,
                    found=found, allowed="0, 1", suggestions=["bias"])


def truths(name: str, x: Numbers) -> np.ndarray:
    """x as one byte each. Raises Error as check_truths() and check_zeros_and_ones()."""
    x = x.detach().cpu() if is_torch(x) else np.asarray(x)
    check_truths(name, x.dtype)
    check_zeros_and_ones(name, x)
    return np.ascontiguousarray(x, bool).view(np.uint8)


def floats(x: Numbers) -> np.ndarray:
    """x as dense float32."""
    return np.ascontiguousarray(x.detach().cpu().float() if is_torch(x) else x, np.float32)


def pairs(name: str, x: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """x, broadcast to (B, heads, queries, keys) without a copy where the keys lie side by side. Raises Error."""
    try:
        wide = np.broadcast_to(x, shape)
    except ValueError:
        raise Error(f"{name}: found {x.shape}; allowed is what broadcasts to {shape}", place=name, found=str(x.shape),
                    allowed=str(shape)) from None
    return wide if shape[-1] <= 1 or wide.strides[-1] else np.ascontiguousarray(wide)
