"""Gradients that cannot be differentiated again."""

import torch

from ..errors import Error


def refuse(*_):
    """The way back of gradients."""
    raise Error("gradients of gradients are not computed; allowed are first derivatives", place="backward",
                found="gradients of gradients", allowed="first derivatives")


class _Once(torch.autograd.Function):
    """Passes gradients on, and keeps their dependence on the tensors they were computed from, so that a second differentiation reaches
    backward() here. once_differentiable() does not: torch.autograd.grad(g, q) would find no path to q and return 0."""

    @staticmethod
    def forward(ctx, count, *tensors):
        return tuple(t if t is None else t.detach() for t in tensors[:count])

    backward = staticmethod(refuse)


def once(gradients, *computed_from):
    """The gradients, or None, as a backward() returns them. Differentiating them raises Error."""
    gradients = tuple(gradients)
    return _Once.apply(len(gradients), *gradients, *computed_from) if torch.is_grad_enabled() else gradients
