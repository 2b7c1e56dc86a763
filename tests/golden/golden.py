"""What the scripts of this folder share: random numbers, writing cases, reading one definition out of a stranger's file.

A case names the spec, the inputs and what somebody else's code made of them, its source with the version, and `wrong`:
specs of other conventions, which must NOT reproduce it. tests/golden/golden_test.cpp reads the files.
"""

import ast
import json
import math
import pathlib
import re
import tempfile

import numpy
import torch

HERE = pathlib.Path(__file__).parent
torch.set_default_dtype(torch.float64)
_cases = {}
_files = []


def draw(*shape, seed=7, size=1.0):
    """Normal numbers with few digits, which JSON holds exactly."""
    numbers = numpy.random.default_rng(seed).standard_normal(shape) * size
    return torch.tensor(numpy.round(numbers, 4))


def flat(x):
    if isinstance(x, torch.Tensor):
        x = x.detach().double().numpy()
    return [float(f"{v:.12g}") for v in numpy.asarray(x, dtype=float).ravel()]


def add(file, **case):
    for key, value in list(case.items()):
        if isinstance(value, (torch.Tensor, numpy.ndarray)):
            case[key] = flat(value)
    case["params"] = {name: flat(value) for name, value in case.get("params", {}).items()}
    _cases.setdefault(file, []).append(case)


def inputs(file, spec, values, source, *, positions, wrong, tolerance=1e-9, **more):
    """Position vectors (T, C)."""
    values = torch.as_tensor(values)
    add(file, kind="input", spec=spec, source=source, channels=values.shape[-1], positions=positions, values=values,
        wrong=wrong, tolerance=tolerance, **more)


def softmax(scores, causal, visible=None):
    T = scores.shape[-1]
    allowed = torch.ones(T, T, dtype=torch.bool) if not causal else torch.ones(T, T, dtype=torch.bool).tril()
    if visible is not None:
        allowed &= visible
    return torch.nan_to_num(scores.masked_fill(~allowed, -math.inf).softmax(-1))


def weights(file, spec, source, q, k, *, scores=None, weights=None, causal=True, visible=None, wrong=(), tolerance=1e-9,
            positions=None, **more):
    """Attention weights (H, T, T) from logits or as they are; q, k (H, T, D)."""
    H, T, D = q.shape
    if weights is None:
        weights = softmax(scores, causal, visible)
    add(file, kind="weights", spec=spec, source=source, heads=H, size=D, causal=causal, q=q, k=k,
        positions=list(range(T)) if positions is None else positions, weights=weights, wrong=list(wrong),
        tolerance=tolerance, **more)


def plain(q, k):
    return q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1])


def turn(x, angles, layout="half"):
    """Rotate the pairs of x (..., R) by angles (..., R/2)."""
    cos, sin = angles.cos(), angles.sin()
    if layout == "half":
        a, b = x[..., : x.shape[-1] // 2], x[..., x.shape[-1] // 2:]
        return torch.cat((a * cos - b * sin, a * sin + b * cos), -1)
    a, b = x[..., 0::2], x[..., 1::2]
    return torch.stack((a * cos - b * sin, a * sin + b * cos), -1).flatten(-2)


def powers(theta, size):
    """RoPE's frequencies (size/2)."""
    return theta ** (-torch.arange(0, size, 2, dtype=torch.float64) / size)


def write():
    for file, cases in _cases.items():
        content = {"source": sorted({c["source"] for c in cases}), "made_by": "tests/golden", "cases": cases}
        (HERE / f"{file}.json").write_text(json.dumps(content, separators=(",", ":")) + "\n")
        print(file, len(cases), "cases")


def definitions(path, names, scope):
    """Classes and functions of a Python file, executed by themselves in `scope`."""
    tree = ast.parse(pathlib.Path(path).read_text())
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and node.name in names:
            node.decorator_list = []
            for inner in ast.walk(node):
                if isinstance(inner, ast.FunctionDef):
                    inner.decorator_list = [d for d in inner.decorator_list
                                            if isinstance(d, ast.Name) and d.id in ("property", "staticmethod")]
                    inner.returns = None
                    for argument in inner.args.args + inner.args.kwonlyargs:
                        argument.annotation = None
            exec(compile(ast.Module([node], []), str(path), "exec"), scope)
    return [scope[name] for name in names]


def doubled(path):
    """A copy of a stranger's file in which float32 is float64, so that rounding is not in the numbers."""
    text = pathlib.Path(path).read_text()
    text = re.sub(r"torch\.float(32)?\b", "torch.float64", text.replace(".float()", ".double()"))
    copy = tempfile.NamedTemporaryFile("w", suffix=".py")
    copy.write(text)
    copy.flush()
    _files.append(copy)  # the file lives as long as the script
    return copy.name
