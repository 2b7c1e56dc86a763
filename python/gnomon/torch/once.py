"""Gradients that are not differentiated again."""

import torch

from ..errors import Error


class _Once(torch.autograd.Function):
    """Gradients as they are, which depend on what they were computed from, so that whoever differentiates them comes through here.
    once_differentiable() does not do that: torch.autograd.grad(g, q) would find no way to q, and answer 0."""

    @staticmethod
    def forward(ctx, count, *tensors):
        return tuple(t if t is None else t.detach() for t in tensors[:count])

    @staticmethod
    def backward(ctx, *_):
        raise Error("gradients of gradients are not computed; allowed are first derivatives", place="backward",
                    found="gradients of gradients", allowed="first derivatives")


def once(gradients, *computed_from):
    """gradients (None where there is none), as a backward() returns them. Raises Error where they are differentiated."""
    gradients = tuple(gradients)
    return _Once.apply(len(gradients), *gradients, *computed_from) if torch.is_grad_enabled() else gradients
