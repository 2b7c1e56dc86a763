"""score_mod and mask_mod for torch.nn.attention.flex_attention (PyTorch 2.5 and later). They exist for encodings that add numbers by
distance, query or key, and that hide all but one range of keys. Rotate the rows first (PositionEncoding.rotate)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from ..arguments import whole
from ..attention import made_encoding
from ..encoding import Encoding
from ..errors import Error
from . import ops
from .plan import Plan

ALLOWED = {"by_distance", "by_query", "by_key"}


def _plan(module: Any, tokens: int) -> tuple[Encoding, Plan]:
    pe = made_encoding(module)
    if pe.reads:
        raise Error(f"'{pe.spec}' reads {', '.join(pe.reads)}, which flex_attention does not see", place="score_mod", found=pe.spec)
    w = module.flat() if hasattr(module, "flat") else ops.parameters_of(pe, None)
    rows = torch.zeros(1, pe.heads, whole("tokens", tokens, 1), pe.head_dim)
    plan = Plan(pe, None, w, rows, rows)
    needs = sorted(set(plan.arrays) - ALLOWED)
    needs += ["far pairs"] if plan.far else []
    needs += [plan.terms["weights"]] if plan.terms["weights"] != "softmax" else []
    needs += ["values that turn"] if any({"v", "out"} & set(step["roles"]) for step in plan.steps) else []
    if needs:
        what = ", ".join(needs)
        raise Error(f"'{pe.spec}' has no score_mod: it needs {what}", place="score_mod", found=pe.spec)
    return pe, plan


def score_mod(module: Any, tokens: int) -> Callable[[Tensor, Tensor, Tensor, Tensor, Tensor], Tensor]:
    """score_mod(score, b, h, q_idx, kv_idx) for windows of `tokens` tokens. The captured tensors have gradients of the module's
    parameters. Set flex_attention's scale to PositionEncoding.encoding.scale. Raises Error for encodings that need more."""
    pe, plan = _plan(module, tokens)
    arrays, first, factor = plan.arrays, plan.terms["first_distance"], plan.terms["content_scale"]
    by_distance, by_query, by_key = (arrays.get(name) for name in ("by_distance", "by_query", "by_key"))

    def modified(score: Tensor, b: Tensor, h: Tensor, q_idx: Tensor, kv_idx: Tensor) -> Tensor:
        score = score * factor
        if by_distance is not None:
            score = score + by_distance[h, q_idx - kv_idx - first]
        if by_query is not None:
            score = score + by_query[0, h, q_idx]
        if by_key is not None:
            score = score + by_key[0, h, kv_idx]
        return pe.soft_cap * torch.tanh(score / pe.soft_cap) if pe.soft_cap else score

    return modified


def mask_mod(module: Any, tokens: int) -> Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]:
    """mask_mod(b, h, q_idx, kv_idx) for create_block_mask: causal masks, windows and chunks."""
    pe, plan = _plan(module, tokens)
    begin, end = ((torch.as_tensor(plan.terms[name])[0] if name in plan.terms else None) for name in ("first_key", "end_key"))

    def sees(b: Tensor, h: Tensor, q_idx: Tensor, kv_idx: Tensor) -> Tensor:
        seen = kv_idx <= q_idx if pe.causal else kv_idx == kv_idx
        if begin is not None:
            seen = seen & (kv_idx >= begin[q_idx]) & (kv_idx < end[q_idx])
        return seen

    return sees
