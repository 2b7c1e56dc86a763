"""A plan as tensors on any device, with gradients of the parameters and of the content that the encoding reads."""

import numpy as np
import torch

from ..encoding import positions_of
from .once import once

ARRAYS = ("angles", "cos", "sin", "factor", "a", "b", "matrices", "columns")  # of steps


class Arrays(torch.autograd.Function):
    """Maps (w, q, k, x, projections) to the arrays of the plan: first those of its steps, then those of its terms."""

    @staticmethod
    def forward(ctx, encoding, positions, w, q, k, x, projections):
        read = (q, k, x, projections)
        ctx.save_for_backward(w, *read)
        numbers = [None if t is None else t.detach().cpu().float().numpy() for t in read]
        from .. import _core
        seen = _core.Seen()
        dense = lambda a: None if a is None else np.ascontiguousarray(a).reshape(-1)
        seen.q, seen.k, seen.x, seen.projections = map(dense, numbers)
        ctx.plan = _core.plan(encoding._scheme, positions, w.detach().cpu().float().numpy(), q.shape[0], seen)
        steps, terms = ctx.plan.steps, ctx.plan.terms
        ctx.names = [[name for name in ARRAYS if name in step] for step in steps]
        ctx.terms = list(terms["arrays"])
        tensors = [torch.from_numpy(step[name]).float().to(q.device) for step, names in zip(steps, ctx.names) for name in names]
        tensors += [torch.from_numpy(terms["arrays"][name]).to(q.device) for name in ctx.terms]
        ctx.set_materialize_grads(False)
        return ctx.plan, *tensors

    @staticmethod
    def backward(ctx, _, *gradients):
        left = [None if g is None else np.ascontiguousarray(g.detach().cpu().float().numpy()) for g in gradients]
        dsteps = []
        for step, names in zip(ctx.plan.steps, ctx.names):
            mine = {name: g for name, g in zip(names, left) if g is not None}
            left = left[len(names):]
            if "angles" in step:  # what is learned is the angle: its gradient stands for that of cos
                mine = {"cos": mine["angles"]} if "angles" in mine else {}
            dsteps.append(mine)
        found = ctx.plan.gradient(dsteps, {name: g for name, g in zip(ctx.terms, left) if g is not None})
        def back(name, t):
            g = found[name]
            return None if t is None or not g.size else torch.from_numpy(g).reshape(t.shape).to(t.device, t.dtype)
        w, *read = ctx.saved_tensors
        dread = (back(name, t) for name, t in zip(("q", "k", "x", "projections"), read))
        return once((None, None, torch.from_numpy(found["w"]).to(w.device), *dread), *gradients, w, *read)


class Plan:
    """steps: dictionaries with tensors as arrays. terms: the same for the terms that attention adds. arrays: the arrays of the terms,
    with gradients of w and of the content."""

    def __init__(self, encoding, positions, w, q, k, x=None, projections=None):
        reads = encoding.reads
        of = lambda what, t: t if what in reads else None
        # The way back needs some tensor of the batch for its size, also where nothing of it is read.
        places = positions_of(positions, k.shape[2])
        whole = lambda t: t.float() if "rows" in reads else t.detach()
        plan, *tensors = Arrays.apply(encoding, places, w, whole(q), whole(k), of("x", x), of("projections", projections))
        self.joined, self.far = plan.joined, plan.far
        self.steps, self.terms = plan.steps, dict(plan.terms)
        left = iter(tensors)
        for step in self.steps:
            for name in ARRAYS:
                if name in step:
                    step[name] = next(left)
        self.arrays = {name: next(left) for name in plan.terms["arrays"]}
