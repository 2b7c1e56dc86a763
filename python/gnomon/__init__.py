"""gnomon: position encodings in Transformers, implemented, measured, compared.

    import gnomon as gn
    pe = gn.make("rope(theta=5e5, pairing=halves)", heads=32, kv_heads=8, head_dim=128)
    q2, k2 = pe.rotate(q, k, positions)
    y = gn.attend(q, k, v, pe=pe)
    gn.explain("config.json")

Arrays may come from NumPy, PyTorch (gnomon.torch has modules and gradients of position parameters), or any library with DLPack.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from . import _core, arrays
from .attention import KeyCache, Result, attend, attention
from .encoding import Encoding, make
from .errors import Error
from .models import Explanation, Inspection, check, explain, extend, inspect, lint
from .parallel import set_threads, threads
from .registry import Entry, Option, encodings, help, search
from .studies import Results, Study, study
from .tables import tables


if TYPE_CHECKING:
    from . import onnx as onnx
    from . import torch as torch
    from . import transformers as transformers
else:
    def __getattr__(name):
        """gnomon.torch, gnomon.transformers and gnomon.onnx, imported when they are first asked for: each needs a package of its name."""
        if name in ("onnx", "torch", "transformers"):
            return importlib.import_module(f"gnomon.{name}")
        raise AttributeError(f"module 'gnomon' has no attribute {name!r}")


def _torch() -> object:
    from . import torch  # a statement: a compiler of PyTorch follows no importlib
    return torch


arrays.loaded_by(_torch)

__version__ = _core.__version__
__all__ = ["Encoding", "Entry", "Error", "Explanation", "Inspection", "KeyCache", "Option", "Result", "Results", "Study", "attend",
           "attention", "check", "encodings", "explain", "extend", "help", "inspect", "lint", "make", "search", "set_threads", "study",
           "tables", "threads"]
