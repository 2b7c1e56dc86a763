"""gnomon in PyTorch: attention and rotations as operators with gradients, and modules with learned parameters."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import index
from typing import Any, Union, overload

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from ..arrays import array_of, check_queries, check_real, check_truths, check_zeros_and_ones, floats
from ..attention import KeyCache, check_cache, encoding_for, encoding_of, four_projections, layer_input
from ..encoding import Encoding
from ..encoding import make as _make
from ..errors import Error
from . import flex, ops, plain

_NONE = torch.zeros(0)
# A tensor, or an array or list of NumPy's, which is brought to the device of q.
Numbers = Union[Tensor, npt.ArrayLike]
__all__ = ["PositionEncoding", "attend", "make"]


class PositionEncoding(nn.Module):
    """A position encoding as a module with learned parameters. encoding: the encoding that it was made from. The parameters have the
    names of Encoding.parameters(), with _ for dots."""

    def __init__(self, encoding: Encoding) -> None:
        super().__init__()
        if not isinstance(encoding, Encoding):
            found = type(encoding).__name__
            raise Error(f"encoding: found {found}; allowed is an encoding from gnomon.make()", place="encoding", found=found, allowed="an encoding")
        self.encoding = encoding
        self._names: dict[str, str] = {}
        for name, value in encoding.parameters().items():
            self._names[name] = name.replace(".", "_")
            self.register_parameter(self._names[name], nn.Parameter(torch.from_numpy(np.array(value))))

    def extra_repr(self) -> str:
        return repr(self.encoding)

    def flat(self, part: str = "attention") -> Tensor:
        """The parameters of the encodings inside attention, or of the input encoding (part="input"), one after the other."""
        if part not in ("attention", "input"):
            raise Error(f"part: found {part!r}; allowed are 'attention' and 'input'", place="part", found=repr(part), allowed="attention, input")
        mine = [getattr(self, own).reshape(-1) for name, own in self._names.items() if name.startswith("input.") == (part == "input")]
        return torch.cat(mine) if mine else _NONE

    def rotate(self, q: Tensor, k: Tensor, positions: Numbers | None = None) -> tuple[Tensor, Tensor]:
        """As Encoding.rotate(), with gradients of q, k and the parameters."""
        pe, w = self.encoding, self.flat()
        if pe.reads:
            raise Error(f"'{pe.spec}' reads {', '.join(pe.reads)}, so it has no rotation by position alone", found=pe.spec)
        return ops.map_rows(pe, q, "q", positions, w), ops.map_rows(pe, k, "k", positions, w)

    def vectors(self, positions: Numbers) -> Tensor:
        """The vectors of an input encoding, (..., width), in the number type of the parameters and with their gradients."""
        return ops.vectors(self.encoding, positions, self.flat("input"))

    def forward(self, q: Tensor, k: Tensor, v: Tensor, **given: Any) -> Tensor:
        """Returns attend(q, k, v, pe=self, ...)."""
        return attend(q, k, v, pe=self, **given)

    def score_mod(self, tokens: int) -> Callable[[Tensor, Tensor, Tensor, Tensor, Tensor], Tensor]:
        """score_mod for torch.nn.attention.flex_attention: see gnomon.torch.flex."""
        return flex.score_mod(self, tokens)

    def mask_mod(self, tokens: int) -> Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]:
        """The mask (windows, chunks) for flex_attention's create_block_mask: see gnomon.torch.flex."""
        return flex.mask_mod(self, tokens)


@overload
def make(spec: Encoding) -> PositionEncoding: ...
@overload
def make(spec: str, *, heads: int, head_dim: int = 64, kv_heads: int = 0, value_dim: int = 0, width: int = 0, length: int = 2048,
         causal: bool = True, scale: float = 0.0, soft_cap: float = 0.0, layer: int = 0, seed: int = 0) -> PositionEncoding: ...
def make(spec: str | Encoding, *, heads: int = 0, head_dim: int = 64, kv_heads: int = 0, value_dim: int = 0, width: int = 0,
         length: int = 2048, causal: bool = True, scale: float = 0.0, soft_cap: float = 0.0, layer: int = 0,
         seed: int = 0) -> PositionEncoding:
    """As gnomon.make(), which explains the sizes, but returns a module of PyTorch. spec: text, or an Encoding, which already has its
    sizes. Raises Error."""
    sizes = dict(heads=heads, head_dim=head_dim, kv_heads=kv_heads, value_dim=value_dim, width=width, length=length, causal=causal, scale=scale,
                 soft_cap=soft_cap, layer=layer, seed=seed)
    if not isinstance(spec, Encoding):
        return PositionEncoding(_make(spec, **sizes))
    said = [name for name, size in sizes.items() if size != {"heads": 0, **_make.__kwdefaults__}[name]]
    if said:
        raise Error(f"{said[0]}: found {sizes[said[0]]!r} beside an Encoding, which has its sizes; allowed is the Encoding alone", place=said[0],
                    found=repr(sizes[said[0]]), allowed="the Encoding alone")
    return PositionEncoding(spec)


def flat_projections(projections: Numbers | Sequence[Numbers], device: torch.device | str = "cpu") -> Tensor:
    """(q weight, k weight, q bias, k bias) as one tensor, with gradients."""
    return torch.cat([_tensor("projections", p, device).reshape(-1) for p in four_projections(projections)])


def attend(q: Tensor, k: Tensor, v: Tensor, *, pe: str | Encoding | PositionEncoding, positions: Numbers | None = None,
           cache: KeyCache | None = None, bias: Numbers | None = None, mask: Numbers | None = None, padding: Numbers | None = None,
           sinks: Numbers | None = None, x: Numbers | None = None, projections: Any = None) -> Tensor:
    """gnomon.attend() for tensors, with gradients of q, k, v, bias, sinks, x, projections and, if pe is a module, its parameters. It uses
    gnomon's kernels on the CPU, and operations of PyTorch from the same plan on other devices. It refuses gradients of gradients,
    forward-mode derivatives and gradients of torch.func. A KeyCache cannot be part of a compiled graph."""
    for name, rows in (("q", q), ("k", k), ("v", v)):
        ops.check_rows(name, rows)
    if cache is None and not torch.jit.is_tracing():  # which warns of every comparison of sizes
        check_queries(q, k)
    if isinstance(pe, str) and torch.compiler.is_compiling():
        pe = _constant_encoding(pe, index(q.shape[1]), index(k.shape[1]), index(q.shape[3]))  # index() fixes a size that may vary
    encoding = encoding_for(pe, q, k)
    w = pe.flat() if isinstance(pe, PositionEncoding) else ops.parameters_of(encoding, None)
    on = q.device
    places, bias, sinks, x = ops.places_of(positions), *(None if given is None else _tensor(name, given, on)
                                                         for name, given in (("bias", bias), ("sinks", sinks), ("x", x)))
    x = x if x is None else layer_input(x)
    mask, padding = _truths("mask", mask, on), _truths("padding", padding, on)
    projections = projections if projections is None else flat_projections(projections, on)
    if cache is not None:
        return _decode(encoding, cache, q, k, v, w, places, bias, mask, padding, sinks, x, projections)
    if on.type != "cpu":
        return plain.attend(encoding, q, k, v, w, positions=places, bias=bias, mask=mask, padding=padding, sinks=sinks, x=x,
                            projections=projections)
    return ops.attended(encoding, q, k, v, w, places, _pairs(bias, torch.float32, q, k.shape[2]), _pairs(mask, torch.bool, q, k.shape[2]),
                        padding, sinks, x, projections)


@torch.compiler.assume_constant_result  # the core makes it, into which no compiler sees
def _constant_encoding(spec: str, heads: int, kv_heads: int, head_dim: int) -> Encoding:
    return encoding_of(spec, heads, kv_heads, head_dim)


def _tensor(name: str, value: Numbers, device: torch.device | str) -> Tensor:
    """value as a tensor. Raises Error for what are not real numbers."""
    if not isinstance(value, Tensor):
        return torch.from_numpy(np.array(floats(name, value))).to(device)
    check_real(name, value.dtype)
    return value


def _truths(name: str, value: Numbers | None, device: torch.device) -> Tensor | None:
    if value is None:
        return None
    if not isinstance(value, Tensor):
        value = array_of(name, value)
        check_truths(name, value.dtype)
        value = torch.from_numpy(np.array(value))
    check_truths(name, value.dtype)
    if not ops.is_watched(value):
        check_zeros_and_ones(name, value)
    elif name == "mask" and value.dtype is not torch.bool:  # a program that is being made has no numbers to look at
        raise Error(f"mask: found {value.dtype} in a program that is compiled or traced; allowed is mask.bool()", place="mask",
                    found=str(value.dtype), allowed="mask.bool()")
    return value.to(device, torch.bool).contiguous() if name == "padding" else value.to(device, torch.bool)


def _pairs(t: Tensor | None, kind: torch.dtype, q: Tensor, keys: int) -> Tensor | None:
    """t expanded to every pair of query and key, (B, heads, queries, keys), with contiguous keys."""
    if t is None:
        return None
    shape = (q.shape[0], q.shape[1], q.shape[2], keys)
    try:
        wide = t.to(kind).expand(shape)
    except RuntimeError:
        name = "mask" if kind is torch.bool else "bias"
        raise Error(f"{name}: found {tuple(t.shape)}; allowed are shapes that broadcast to {shape}", place=name, found=str(tuple(t.shape)),
                    allowed=str(shape)) from None
    return wide if wide.shape[3] <= 1 or wide.stride(3) == 1 else wide.contiguous()


def _outside_graphs(f: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """f, which a compiler leaves out of its graph, or says why it cannot (fullgraph=True; PyTorch 2.7 and later have reasons)."""
    try:
        return torch.compiler.disable(f, reason="attend: a cache cannot be part of a compiled graph; allowed is a call by itself")
    except TypeError:
        return torch.compiler.disable(f)


@_outside_graphs
def _decode(encoding: Encoding, cache: KeyCache, q: Tensor, k: Tensor, v: Tensor, w: Tensor, places: Tensor | None, bias: Tensor | None,
            mask: Tensor | None, padding: Tensor | None, sinks: Tensor | None, x: Tensor | None, projections: Tensor | None) -> Tensor:
    check_cache(cache)
    if q.device.type != "cpu":
        ops.refuse_device(q.device, "attend with a cache")
    if ops.is_watched(q, k, v):
        raise Error("attend: a cache cannot be part of a traced or transformed program", place="cache", found="a trace", allowed="a call by itself")
    learning = [t for t in (q, k, v, bias, sinks, x, projections) if t is not None and t.requires_grad]
    if torch.is_grad_enabled() and learning:
        raise Error("attend: a cache keeps no gradients; call it under torch.no_grad()", place="cache")
    keys = cache._cache.keys_with(k.shape[2], None if padding is None else padding.view(torch.uint8))
    out = q.new_empty((*q.shape[:3], encoding.value_dim))
    ops.decode(encoding, cache, q, k, v, out, w, places, _pairs(bias, torch.float32, q, keys), _pairs(mask, torch.bool, q, keys), padding,
               sinks, x, projections)
    return out
