"""The number of threads of the core."""

from __future__ import annotations

from . import _core
from .arguments import whole


def set_threads(n: int) -> None:
    """Sets how many threads the core computes with, from 1. With tensors it takes the number of torch.get_num_threads(). Raises Error."""
    _core.set_threads(whole("set_threads: n", n))


def threads() -> int:
    """How many threads the core computes with."""
    return _core.threads()
