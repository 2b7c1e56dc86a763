"""A user's file, which mypy reads against the package's types (test_types.py)."""

import numpy as np

import gnomon as gn

pe: gn.Encoding = gn.make("rope+alibi", heads=8, kv_heads=2, head_dim=16)
q = np.zeros((1, 8, 4, 16), np.float32)
k = np.zeros((1, 2, 4, 16), np.float32)
turned = pe.rotate(q, k)[0]
done: gn.Result = gn.attention(q, k, k, pe=pe)
gradients: dict[str, np.ndarray] = done.backward(done.out)
names: list[str] = [entry.name for entry in gn.search("rotary", extrapolates=True)]
module: gn.torch.PositionEncoding = gn.torch.make("rope", heads=8)  # imported when it is asked for
cache = gn.KeyCache(pe, capacity=16)
lengths: list[int] = cache.lengths()
try:
    gn.make("rop", heads=2)
except gn.Error as error:
    near: str | None = error.suggestion
