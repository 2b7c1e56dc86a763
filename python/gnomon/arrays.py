"""Arrays of the caller: from NumPy, from PyTorch on the CPU, and from any library with DLPack."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, Union

import numpy as np
import numpy.typing as npt

from .errors import Error

# An array of NumPy, PyTorch or any library that speaks DLPack; what is given back is of the same library, if of_same_library() can make it.
Array = Any
Numbers = Union[npt.ArrayLike, Any]

NUMBERS = ("float32", "float16", "bfloat16")


def is_torch(x: object) -> bool:
    """Whether x is a torch.Tensor, or of a subclass."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(x, torch.Tensor)


_load: Callable[[], Any]


def loaded_by(load: Callable[[], Any]) -> None:
    """Sets the function that imports gnomon.torch, which is called for the first tensor. Modules that take arrays do not import it
    themselves, since gnomon.torch imports them. So torch is imported only if the caller has tensors."""
    global _load
    _load = load


def of_tensors() -> Any:
    """gnomon.torch."""
    return _load()


def _is_jax(x: object) -> bool:
    return type(x).__module__.partition(".")[0] in ("jax", "jaxlib")


def numpy_of(x: Array) -> np.ndarray:
    """x as a NumPy array, without a copy if its memory allows."""
    if isinstance(x, np.ndarray):
        return x
    return np.from_dlpack(x) if hasattr(x, "__dlpack__") else np.asarray(x)


def rows(name: str, x: Array) -> np.ndarray:
    """x (B, heads, tokens, channels) in a number type that the core reads. bfloat16 of NumPy (ml_dtypes) is converted to float32, which
    holds it exactly, because NumPy does not share such memory. Raises Error."""
    if is_torch(x) and x.requires_grad:
        raise Error(f"{name}: found a tensor that requires a gradient beside arrays of NumPy; allowed is {name}.detach(), or tensors alone "
                    "with gnomon.attend()", place=name, found="requires_grad", allowed=f"{name}.detach()")
    if isinstance(x, np.ma.MaskedArray):
        raise Error(f"{name}: found a masked array, whose mask is not read; allowed is an array, with mask= or padding=", place=name,
                    found="a masked array", allowed="an array")
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
    """A NumPy array as an array of the library of `like`, in its number type."""
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
    """Positions (T), (B, T) or (B, T, axes) as dense double; None: 0, 1, 2 ... Raises Error."""
    return np.arange(tokens, dtype=np.float64) if positions is None else real("positions", positions, np.float64)


def check_tokens(role: str, tokens: int, places: Array) -> None:
    """Checks that positions (T), (B, T) or (B, T, axes) are as many as the tokens of q or k. Raises Error."""
    if places.ndim and (found := places.shape[min(places.ndim - 1, 1)]) != tokens:
        raise Error(f"positions: found {found} tokens; allowed are {tokens}, those of {role}; to rotate queries and keys of other places, "
                    "call rotate() for each", place="positions", found=str(found), allowed=str(tokens))


def check_queries(q: Array, k: Array) -> None:
    """Checks that the queries can be the last of the keys. Raises Error."""
    queries, keys = q.shape[2], k.shape[2]
    if queries > keys:
        raise Error(f"queries: found {queries} for {keys} keys; allowed are 0 to {keys}, because the queries are the last of the keys; "
                    "help(gnomon.attend) says how to attend to another sequence", place="queries", found=str(queries), allowed=f"0 to {keys}")


def check_real(name: str, dtype: object) -> None:
    """Checks that a number type is of real numbers. Raises Error for truths, complex numbers, text and objects."""
    kind = str(dtype).removeprefix("torch.")
    if kind == "bool" and name == "bias":
        raise Error("bias: found bool; allowed are numbers to add; did you mean mask=, where False hides a pair?", place="bias", found="bool",
                    allowed="numbers", suggestions=["mask"])
    if kind in ("bool", "object") or kind.startswith(("complex", "<U", "|S", "datetime", "timedelta")):
        raise Error(f"{name}: found {kind}; allowed are real numbers", place=name, found=kind, allowed="real numbers")


def array_of(name: str, x: Numbers) -> np.ndarray:
    """x as an array of NumPy. Raises Error for what cannot be one: rows of different lengths, a tensor without numbers."""
    if x is None:
        raise Error(f"{name}: found None; allowed is an array of numbers", place=name, found="None", allowed="an array of numbers")
    try:
        if is_torch(x):
            x = x.detach().cpu()
            x = x.float() if str(x.dtype) == "torch.bfloat16" else x
        return np.asarray(x)
    except (TypeError, ValueError, RuntimeError):
        found = f"tensor of {x.layout} on {x.device}" if is_torch(x) else f"{type(x).__name__} of rows of different lengths"
        raise Error(f"{name}: found a {found}; allowed is an array of numbers", place=name, found=found, allowed="an array of numbers") from None


def real(name: str, x: Numbers, kind: type) -> np.ndarray:
    """x as a dense array of this number type. Raises Error for what are not real numbers."""
    found = array_of(name, x)
    check_real(name, found.dtype)
    return np.ascontiguousarray(found, kind).reshape(found.shape)


def check_truths(name: str, dtype: object) -> None:
    """Checks the number type of a mask or padding. Raises Error for types that probably mean the opposite: in a bias, 0 shows a key; in
    transformers' attention_mask, 1 is a token."""
    kind = str(dtype).removeprefix("torch.")
    if kind == "bool" or name == "mask" and kind.startswith(("int", "uint")):
        return
    if name == "mask":
        raise Error(f"mask: found numbers of type {kind}; allowed is bool, where False hides a pair; "
                    "did you mean bias=, which is added to the logits?", place="mask", found=kind, allowed="bool", suggestions=["bias"])
    raise Error(f"padding: found numbers of type {kind}; allowed is bool, where True hides a key: for transformers' attention_mask, "
                "pass attention_mask == 0", place="padding", found=kind, allowed="bool", suggestions=["attention_mask == 0"])


def check_zeros_and_ones(name: str, x: Array) -> None:
    """Checks that a mask of whole numbers has only 0 and 1. Raises Error for others: they probably belong in bias=."""
    if str(x.dtype).removeprefix("torch.") == "bool":
        return
    other = x[(x != 0) & (x != 1)].reshape(-1)
    if len(other):
        found = str(int(other[0]))
        raise Error(f"{name}: found {found}; allowed are 0 and 1; did you mean bias=, which is added to the logits?", place=name,
                    found=found, allowed="0, 1", suggestions=["bias"])


def truths(name: str, x: Numbers) -> np.ndarray:
    """x with one byte per number. Raises Error as check_truths() and check_zeros_and_ones() do."""
    x = array_of(name, x)
    check_truths(name, x.dtype)
    check_zeros_and_ones(name, x)
    return np.ascontiguousarray(x, bool).view(np.uint8)


def floats(name: str, x: Numbers) -> np.ndarray:
    """x as dense float32. Raises Error."""
    return real(name, x, np.float32)


def pairs(name: str, x: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """x, broadcast to (B, heads, queries, keys), without a copy if the keys are contiguous. Raises Error."""
    try:
        wide = np.broadcast_to(x, shape)
    except ValueError:
        raise Error(f"{name}: found {x.shape}; allowed are shapes that broadcast to {shape}", place=name, found=str(x.shape),
                    allowed=str(shape)) from None
    return wide if shape[-1] <= 1 or wide.strides[-1] else np.ascontiguousarray(wide)
