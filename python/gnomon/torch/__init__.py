"""gnomon under PyTorch: attention and rotations as operators with gradients, and modules whose parameters learn."""

import numpy as np
import torch
from torch import nn

from .. import _core
from ..attention import _encoding
from ..encoding import Encoding
from ..encoding import make as _make
from ..errors import Error
from . import flex, ops, plain

_NONE = torch.zeros(0)
__all__ = ["PositionEncoding", "attend", "make"]


class PositionEncoding(nn.Module):
    """A position encoding whose parameters learn. encoding: what it was made of; parameters bear the names of
    Encoding.parameters(), with _ for the dots."""

    def __init__(self, encoding):
        super().__init__()
        self.encoding = encoding
        self._names = {}
        for name, value in encoding.parameters().items():
            self._names[name] = name.replace(".", "_")
            self.register_parameter(self._names[name], nn.Parameter(torch.from_numpy(np.array(value))))

    def extra_repr(self):
        return repr(self.encoding)

    def flat(self, part="attention"):
        """The parameters of its encodings inside attention, or of that beside the words (part="input"), one after the other."""
        mine = [getattr(self, own).reshape(-1) for name, own in self._names.items() if name.startswith("input.") == (part == "input")]
        return torch.cat(mine) if mine else _NONE

    def rotate(self, q, k, positions=None):
        """As Encoding.rotate, with gradients of q, k and the parameters."""
        pe, w = self.encoding, self.flat()
        if pe.reads:
            raise Error(f"'{pe.spec}' reads {', '.join(pe.reads)}: there is no rotation by position alone", found=pe.spec)
        return ops.map_rows(pe, q, "q", positions, w), ops.map_rows(pe, k, "k", positions, w)

    def vectors(self, positions):
        """Vectors beside the words, (..., width), with gradients of the parameters."""
        return ops.vectors(self.encoding, positions, self.flat("input"))

    def forward(self, q, k, v, **given):
        """attend(q, k, v, pe=self, ...)."""
        return attend(q, k, v, pe=self, **given)

    def score_mod(self, tokens):
        """For torch.nn.attention.flex_attention: see gnomon.torch.flex."""
        return flex.score_mod(self, tokens)

    def mask_mod(self, tokens):
        """What it hides (windows, chunks), for flex_attention's create_block_mask: see gnomon.torch.flex."""
        return flex.mask_mod(self, tokens)


def make(spec, **sizes):
    """gnomon.make() as a module of PyTorch."""
    return PositionEncoding(spec if isinstance(spec, Encoding) else _make(spec, **sizes))


def flat_projections(projections):
    """(q weight, k weight, q bias, k bias) as one tensor, with gradients."""
    return projections if isinstance(projections, torch.Tensor) else torch.cat([p.reshape(-1) for p in projections])


def attend(q, k, v, *, pe, positions=None, cache=None, bias=None, mask=None, padding=None, sinks=None, x=None, projections=None):
    """gnomon.attend() of tensors, with gradients of q, k, v, bias, sinks, x, projections and, where pe is a module, its parameters. On
    the CPU by gnomon's own kernels; elsewhere by operations of PyTorch made from the same plan."""
    encoding = _encoding(pe, q, k)
    w = pe.flat() if isinstance(pe, PositionEncoding) else ops.parameters_of(encoding, None)
    if projections is not None:
        projections = flat_projections(projections)
    padding = None if padding is None else padding.bool().contiguous()
    if cache is not None:
        return _decode(encoding, cache, q, k, v, w, positions, bias, mask, padding, sinks, x, projections)
    if q.device.type != "cpu":
        return plain.attend(encoding, q, k, v, w, positions=positions, bias=bias, mask=mask, padding=padding, sinks=sinks, x=x,
                            projections=projections)
    return ops.attended(encoding, q, k, v, w, ops.places_of(positions), _pairs(bias, torch.float32, q, k.shape[2]),
                        _pairs(mask, torch.bool, q, k.shape[2]), padding, sinks, x, projections)


def _pairs(t, kind, q, keys):
    """t for every pair of query and key, (B, heads, queries, keys), the keys side by side."""
    if t is None:
        return None
    wide = t.to(kind).expand(q.shape[0], q.shape[1], q.shape[2], keys)
    return wide if wide.shape[3] <= 1 or wide.stride(3) == 1 else wide.contiguous()


def _decode(encoding, cache, q, k, v, w, positions, bias, mask, padding, sinks, x, projections):
    if q.device.type != "cpu":
        ops.refuse_device(q.device, "attend with a cache")
    learning = [t for t in (q, k, v, bias, sinks, x, projections) if t is not None and t.requires_grad]
    if torch.is_grad_enabled() and learning:
        raise Error("attend: a cache keeps no gradients; call it under torch.no_grad()", place="cache")
    keys = cache._cache.keys_with(k.shape[2], None if padding is None else padding.view(torch.uint8))
    out = q.new_empty((*q.shape[:3], encoding.value_dim))
    ops.decode(encoding, cache, q, k, v, out, w, ops.places_of(positions), _pairs(bias, torch.float32, q, keys),
               _pairs(mask, torch.bool, q, keys), padding, sinks, x, projections)
    return out
