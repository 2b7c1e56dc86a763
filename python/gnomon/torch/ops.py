"""The operators gnomon::attend and gnomon::map_rows of PyTorch, on the CPU, with gradients.

They are registered without linking PyTorch. An operator gets the key of an encoding (Encoding.key), from which it can be made again.
"""

import numpy as np
import torch
from torch._C._functorch import TransformType
from torch.autograd import forward_ad

from .. import _core
from ..arrays import check_real, check_tokens, positions_of, real
from ..encoding import made
from ..errors import Error
from .once import once, refuse

Tensor = torch.Tensor
_PLAIN = Tensor.__torch_dispatch__  # of a tensor that nobody watches
Maybe = torch.Tensor | None


def places_of(positions):
    """Positions in the form that the core takes."""
    if positions is None:
        return None
    if not isinstance(positions, Tensor):
        positions = torch.from_numpy(np.array(positions_of(positions, 0)))
    check_real("positions", positions.dtype)
    if positions.device.type == "meta":
        raise Error("positions: found a tensor without numbers; allowed are numbers", place="positions", found="meta", allowed="numbers")
    if positions.requires_grad and torch.is_grad_enabled():
        raise Error("positions: they require a gradient, which is not computed; allowed is positions.detach()", place="positions",
                    found="requires_grad", allowed="positions.detach()")
    refuse_other_derivatives(positions)
    return positions.detach().to("cpu", torch.float64).contiguous()


NUMBERS = (torch.float32, torch.bfloat16, torch.float16)


def check_rows(name, rows):
    """Checks that rows are a tensor (B, heads, tokens, channels) with numbers that can be read. Raises Error."""
    if not isinstance(rows, Tensor) or rows.dim() != 4:
        found = f"{rows.dim()} extents" if isinstance(rows, Tensor) else type(rows).__name__
        raise Error(f"{name}: found {found}; allowed is a tensor of 4, (B, heads, tokens, channels)", place=name, found=found,
                    allowed="(B, heads, tokens, channels)")
    if rows.device.type == "cpu" and rows.dtype not in NUMBERS:
        found = str(rows.dtype).removeprefix("torch.")
        raise Error(f"{name}: found numbers of type {found}; allowed are float32, bfloat16 and float16", place=name, found=found,
                    allowed="float32, bfloat16, float16", suggestions=["float32"])
    if rows.layout is not torch.strided or rows.device.type == "meta":
        found = f"a tensor of {rows.layout} on {rows.device}"
        raise Error(f"{name}: found {found}; allowed is a dense tensor with numbers", place=name, found=found, allowed="a dense tensor")


def parameters_of(pe, w):
    """w, or if it is None the encoding's own flat parameters, as a tensor."""
    return torch.from_numpy(pe.w) if w is None else w


def _threads():
    if _core.threads() != torch.get_num_threads():
        _core.set_threads(torch.get_num_threads())


def _array(t):
    """A tensor in the form that the core takes: a NumPy array, which is faster to pass, or a tensor for bfloat16, which NumPy lacks."""
    t = _detached(t)
    return t if t.dtype is torch.bfloat16 else t.numpy()


def _floats(t):
    """Parameters, or values linear in them, in float32, as the core computes them."""
    t = _detached(t)
    return _array(t if t.dtype is torch.float32 and t.is_contiguous() else t.to(torch.float32).contiguous())


def _detached(t):
    """t without its history: each call of PyTorch costs most of a microsecond, so none is made for nothing."""
    return t.detach() if t.requires_grad else t


def _call(w, positions, bias, mask, padding, sinks, x, projections):
    call = _core.Call()
    if w.numel():
        call.w = _floats(w)
    if positions is not None:
        call.positions = _array(positions)
    if bias is not None:
        call.bias = bias.detach()
    if mask is not None:
        call.mask = mask.view(torch.uint8)
    if padding is not None:
        call.padding = padding.view(torch.uint8)
    if sinks is not None:
        call.sinks = _floats(sinks)
    if x is not None:
        call.x = _array(x.unsqueeze(1))
    if projections is not None:
        call.projections = _floats(projections)
    return call


def _forward(encoding, q, k, v, *given):
    """(out, lse, attended). given: the arguments of _call()."""
    out, lse, attended = _empty(q, v, encoding)
    if encoding.output_turns or not _rounds(q):
        _write(encoding, q, k, v, given, out, _array(lse), _array(attended) if encoding.output_turns else None)
    else:
        out.copy_(_write(encoding, q, k, v, given, attended, _array(lse)))
    return out, lse, attended


def _write(encoding, q, k, v, given, out, lse=None, attended=None):
    _threads()
    _core.forward(encoding._scheme, _array(q), _array(k), _array(v), _call(*given), _array(out), lse, attended)
    return out


def decode(encoding, cache, q, k, v, out, *given):
    """Writes attention of new tokens into out and appends them to the cache, without gradients. given: the arguments of _call(), w
    first."""
    _threads()
    cache._decode(encoding, _floats(given[0]), _call(*given), (_array(q), _array(k), _array(v), _array(out)))


def _empty_out(q, v):
    return q.new_empty((*q.shape[:3], v.shape[3]))


def _rounds(q):
    """Whether the output has fewer digits than attention computes. The way back subtracts the sum of dout * out from every logit's
    gradient, so the rounding of one out is an error of a whole row. A sum over all pairs, as FIRE learns from, does not even it out."""
    return q.dtype is not torch.float32


def _empty(q, v, encoding):
    out = _empty_out(q, v)
    kept = out.shape if encoding.output_turns or _rounds(q) else (0,)
    return out, q.new_empty(out.shape[:3], dtype=torch.float32), q.new_empty(kept, dtype=torch.float32)


def _backward(encoding, kept, dout, bias_learns):
    """Gradients of (q, k, v, w, bias, sinks, x, projections); empty if there is none."""
    q, k, v, w, positions, bias, mask, padding, sinks, x, projections, out, lse, attended = kept
    _threads()
    call, g = _call(w, positions, bias, mask, padding, sinks, x, projections), _core.Gradients()
    found = _empty_gradients(q, k, v, w, bias if bias_learns else None, sinks, x, projections)
    g.dq, g.dk, g.dv, g.dw, dbias, dsinks, dx, dprojections = found
    if bias_learns:
        g.dbias = dbias
    if sinks is not None:
        g.dsinks = dsinks
    if x is not None:
        g.dx = dx.unsqueeze(1)
    if projections is not None:
        g.dprojections = dprojections
    turned = _array(attended) if encoding.output_turns else None
    out = attended if turned is None and _rounds(q) else out
    done = _core.Done(_array(q), _array(k), _array(v), _array(out), _array(lse), turned)
    _core.backward(encoding._scheme, done, call, _array(dout), g)
    return found


def _empty_gradients(q, k, v, w, bias, sinks, x, projections):
    like = lambda t: torch.empty_like(t, memory_format=torch.contiguous_format)
    added = lambda t: q.new_zeros(t.shape if t is not None else (0,), dtype=torch.float32)  # the core adds to these
    return like(q), like(k), like(v), added(w), added(bias), added(sinks), added(x), added(projections)


def _as_inputs(g, kept, bias_learns):
    """The gradients in the order of the arguments of attend, each in the number type of its argument."""
    w, bias, sinks, x, projections = kept[3], kept[5] if bias_learns else None, kept[8], kept[9], kept[10]
    dq, dk, dv, *more = g
    dw, dbias, dsinks, dx, dprojections = (d.to(t.dtype) if t is not None else None
                                           for d, t in zip(more, (w, bias, sinks, x, projections)))
    return dq, dk, dv, dw, None, dbias, None, None, dsinks, dx, dprojections, None


@torch.library.custom_op("gnomon::attend", mutates_args=(), device_types="cpu")
def attend(q: Tensor, k: Tensor, v: Tensor, w: Tensor, positions: Maybe, bias: Maybe, mask: Maybe, padding: Maybe, sinks: Maybe,
           x: Maybe, projections: Maybe, pe: str) -> tuple[Tensor, Tensor, Tensor]:
    """Returns (out, lse, attended). The backward pass needs lse and attended: what attention returned, in float32, before the encoding
    turned it or a number type of 16 bits rounded it; empty where that is out itself."""
    return _forward(made(pe), q, k, v, w, positions, bias, mask, padding, sinks, x, projections)


@attend.register_fake
def _(q, k, v, w, positions, bias, mask, padding, sinks, x, projections, pe):
    return _empty(q, v, made(pe))


@torch.library.custom_op("gnomon::attend_backward", mutates_args=(), device_types="cpu")
def attend_backward(dout: Tensor, q: Tensor, k: Tensor, v: Tensor, w: Tensor, positions: Maybe, bias: Maybe, mask: Maybe,
                    padding: Maybe, sinks: Maybe, x: Maybe, projections: Maybe, out: Tensor, lse: Tensor, attended: Tensor, pe: str,
                    bias_learns: bool) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, Tensor]:
    """Gradients of (q, k, v, w, bias, sinks, x, projections); empty if there is none."""
    kept = (q, k, v, w, positions, bias, mask, padding, sinks, x, projections, out, lse, attended)
    return _backward(made(pe), kept, dout, bias_learns)


@attend_backward.register_fake
def _(dout, q, k, v, w, positions, bias, mask, padding, sinks, x, projections, out, lse, attended, pe, bias_learns):
    return _empty_gradients(q, k, v, w, bias if bias_learns else None, sinks, x, projections)


def _keep(ctx, inputs, output):
    *tensors, ctx.pe = inputs
    ctx.save_for_backward(*tensors, *output)


def _back(ctx, dout, dlse, dattended):
    kept, bias_learns = ctx.saved_tensors, ctx.needs_input_grad[5]
    return _as_inputs(attend_backward(dout, *kept, ctx.pe, bias_learns), kept, bias_learns)


attend.register_autograd(_back, setup_context=_keep)
attend_backward.register_autograd(refuse)


class _Attend(torch.autograd.Function):
    """attend without the operator: for one head of four tokens a call takes 20 µs, with the operator 56 µs."""

    @staticmethod
    def forward(ctx, *inputs):
        *tensors, encoding = inputs
        out, lse, attended = _forward(encoding, *tensors)
        ctx.encoding = encoding
        ctx.save_for_backward(*tensors, out, lse, attended)
        return out

    @staticmethod
    def backward(ctx, dout):
        kept, bias_learns = ctx.saved_tensors, ctx.needs_input_grad[5]
        return once(_as_inputs(_backward(ctx.encoding, kept, dout, bias_learns), kept, bias_learns), dout, *kept)


def refuse_other_derivatives(*tensors):
    """Raises Error for tensors with a tangent (jvp), for which the operators would return 0. Also raises Error under gradients of
    torch.func, which PyTorch refuses with a message of its own."""
    # Without a level there are no tangents (forward_ad.unpack_dual). A compiler that follows a jvp enters one, too.
    if forward_ad._current_level >= 0:
        _refuse_tangents(*tensors)
    if _torch_func_differentiates():
        raise Error("gradients of torch.func (grad, vjp, jacrev) are not computed; allowed are those of torch.autograd", place="torch.func",
                    found="torch.func", allowed="torch.autograd")


@torch.compiler.assume_constant_result  # a compiler, which follows transforms, asks at that moment
def _torch_func_differentiates():
    return any(level.key() == TransformType.Grad for level in torch._C._functorch.get_interpreter_stack() or ())


@torch.compiler.disable  # a compiler stops here and calls it as it stands
def _refuse_tangents(*tensors):
    if any(t is not None and forward_ad.unpack_dual(t).tangent is not None for t in tensors):
        raise Error("forward-mode derivatives (jvp) are not computed; allowed are gradients", place="jvp", found="a tangent",
                    allowed="gradients")


def is_watched(*tensors):
    """Whether something records the calls or replaces the numbers: compilers, traces, fake tensors, torch.func."""
    return (torch.compiler.is_compiling() or torch.jit.is_tracing() or torch._C._len_torch_dispatch_stack() > 0
            or torch._C._functorch.peek_interpreter_stack() is not None
            or any(t is not None and type(t) is not Tensor and getattr(type(t), "__torch_dispatch__", _PLAIN) is not _PLAIN for t in tensors))


def attended(encoding, *tensors):
    """The first output of the operator. While a graph of the program is being made, it calls the operator; otherwise it computes
    directly."""
    refuse_other_derivatives(*tensors)
    if is_watched(*tensors):
        return attend(*tensors, encoding.key)[0]
    if torch.is_grad_enabled() and any(t is not None and t.requires_grad for t in tensors):
        return _Attend.apply(*tensors, encoding)
    q, k, v, *given = tensors
    return _write(encoding, q, k, v, given, _empty_out(q, v))


@torch.library.custom_op("gnomon::map_rows", mutates_args=(), device_types="cpu")
def _map_rows(x: Tensor, w: Tensor, positions: Tensor, role: str, pe: str) -> Tensor:
    _threads()
    scheme = made(pe)._scheme
    out = _widened(x, scheme.added() if role in "qk" else 0)
    _core.map_rows(scheme, role, positions, _floats(w), out)
    return out


def _widened(x, more):
    return torch.cat([x.detach(), x.new_zeros(*x.shape[:3], more)], -1)


@_map_rows.register_fake
def _(x, w, positions, role, pe):
    return x.new_empty((*x.shape[:3], x.shape[3] + (made(pe)._scheme.added() if role in "qk" else 0)))


@torch.library.custom_op("gnomon::map_rows_backward", mutates_args=(), device_types="cpu")
def _map_rows_backward(dout: Tensor, x: Tensor, w: Tensor, positions: Tensor, role: str, pe: str) -> tuple[Tensor, Tensor]:
    _threads()
    d, dw = dout.detach().clone(memory_format=torch.contiguous_format), torch.zeros_like(w, dtype=torch.float32)
    _core.map_rows_backward(made(pe)._scheme, role, positions, _floats(w), _widened(x, d.shape[3] - x.shape[3]), d, dw)
    return d[..., :x.shape[3]].contiguous(), dw


@_map_rows_backward.register_fake
def _(dout, x, w, positions, role, pe):
    return torch.empty_like(x, memory_format=torch.contiguous_format), torch.zeros_like(w, dtype=torch.float32)


def _keep_rows(ctx, inputs, output):
    x, w, positions, ctx.role, ctx.pe = inputs
    ctx.save_for_backward(x, w, positions)


def _back_rows(ctx, dout):
    x, w, positions = ctx.saved_tensors
    dx, dw = _map_rows_backward(dout, x, w, positions, ctx.role, ctx.pe)
    return dx, dw.to(w.dtype), None, None, None


_map_rows.register_autograd(_back_rows, setup_context=_keep_rows)
_map_rows_backward.register_autograd(refuse)


def map_rows(pe, x, role, positions, w):
    """Maps rows x (B, heads, T, head_dim) of q, k, v or out, with gradients of x and of w (None: constants)."""
    check_rows(role, x)
    places = places_of(positions)
    if places is None:
        places = torch.arange(x.shape[2], dtype=torch.float64)
    if not torch.jit.is_tracing():  # which warns of every comparison of sizes
        check_tokens(role, x.shape[2], places)
    if x.device.type != "cpu":
        from . import plain
        return plain.map_rows(pe, x, role, places, parameters_of(pe, w))
    refuse_other_derivatives(x, w)
    return _map_rows(x, parameters_of(pe, w), places, role, pe.key)


@torch.library.custom_op("gnomon::vectors", mutates_args=(), device_types="cpu")
def _vectors(w: Tensor, positions: Tensor, pe: str) -> Tensor:
    return torch.from_numpy(made(pe)._scheme.vectors(positions, _floats(w))).to(w.dtype)


@_vectors.register_fake
def _(w, positions, pe):
    scheme = made(pe)._scheme
    tokens = positions.numel() // (positions.shape[2] if positions.dim() == 3 else 1)
    return w.new_empty((tokens, scheme.input_width))


@torch.library.custom_op("gnomon::vectors_backward", mutates_args=(), device_types="cpu")
def _vectors_backward(dvectors: Tensor, w: Tensor, positions: Tensor, pe: str) -> Tensor:
    dw = torch.zeros_like(w, dtype=torch.float32)
    made(pe)._scheme.vectors_backward(positions, _floats(w), _floats(dvectors), dw)
    return dw


@_vectors_backward.register_fake
def _(dvectors, w, positions, pe):
    return torch.zeros_like(w, dtype=torch.float32)


def _keep_vectors(ctx, inputs, output):
    w, positions, ctx.pe = inputs
    ctx.save_for_backward(w, positions)


def _back_vectors(ctx, d):
    w, positions = ctx.saved_tensors
    return _vectors_backward(d, w, positions, ctx.pe).to(w.dtype), None, None


_vectors.register_autograd(_back_vectors, setup_context=_keep_vectors)
_vectors_backward.register_autograd(refuse)


def vectors(pe, positions, w):
    """The vectors of an input encoding (..., width) at positions (T), (B, T) or (B, T, axes), in the number type of w, with gradients of
    w, its flat parameters."""
    refuse_other_derivatives(w)
    places = places_of(positions if isinstance(positions, Tensor) else real("positions", positions, np.float64))
    shape = places.shape[:-1] if places.dim() == 3 else places.shape
    return _vectors(w, places, pe.key).reshape(*shape, -1)


def refuse_device(device, what):
    """Raises Error because `what` is not on the CPU."""
    raise Error(f"{what} is on {device}; allowed is the CPU", place=what, found=str(device), allowed="cpu")
