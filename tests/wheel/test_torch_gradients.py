"""Gradients of rows in 16 bits, against float64 by the paper's formula and against float32; and of rotations and vectors, number by number."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import gnomon as gn  # noqa: E402
import gnomon.torch as gnt  # noqa: E402
from gnomon.torch import ops  # noqa: E402
from shapes import INSIDE, awake, content, small  # noqa: E402

HALVES = [torch.bfloat16, torch.float16]
LEARNS = [n for n in INSIDE if len(small(n).w)]
ONE, WIDE, LONG = 2, 8, 24  # sequences and heads, channels, tokens


def rows_of(kind, seed):
    """q, k, v and the gradient of the output, of numbers that 16 bits hold."""
    random = torch.Generator().manual_seed(seed)
    return [torch.randn(ONE, ONE, LONG, WIDE, generator=random).to(kind) for _ in range(4)]


def fire(seed):
    return awake(gn.make("fire(length=8)", heads=ONE, head_dim=WIDE), seed)


def fire_by_its_formula(pe, q, k, v, dout):
    """The gradients of FIRE's parameters (arXiv 2310.04418, equation 6) and the output, in float64."""
    p = {name: torch.from_numpy(value.astype(np.float64)).requires_grad_() for name, value in pe.parameters().items()}
    place = torch.arange(float(LONG), dtype=torch.float64)
    psi = lambda x: torch.log(torch.abs(p["0.c"] * x) + 1)
    x = psi((place[:, None] - place).clamp(min=0)) / (psi(torch.maximum(torch.abs(p["0.w"] * 8), place))[:, None] + 1e-6)
    bias = torch.relu(x[..., None] * p["0.up.weight"] + p["0.up.bias"]) @ p["0.down.weight"].T + p["0.down.bias"]
    logits = q.double() @ k.double().transpose(2, 3) / WIDE**0.5 + bias.movedim(2, 0)
    weights = torch.softmax(logits.masked_fill(torch.ones(LONG, LONG, dtype=torch.bool).triu(1), -torch.inf), -1)
    (weights @ v.double()).backward(dout.double())
    return torch.cat([g.grad.reshape(-1) for g in p.values()])


def of_module(pe, kind, q, k, v, dout):
    """Of a module in float32 with rows of this kind."""
    module = gnt.make(pe)
    given = {name: torch.from_numpy(np.concatenate([a.reshape(-1) for a in x]) if name == "projections" else x)
             for name, x in content(pe).items()}
    if "x" in given:
        given["x"] = torch.randn(ONE, LONG, pe.width, generator=torch.Generator().manual_seed(4))
    gn.attend(q.to(kind), k.to(kind), v.to(kind), pe=module, **given).backward(dout.to(kind))
    return torch.cat([p.grad.reshape(-1) for n, p in module.named_parameters() if not n.startswith("input_")]).double()


def of_operator(pe, q, k, v, dout):
    """As a compiled program calls it."""
    w = torch.from_numpy(pe.w.copy()).requires_grad_()
    ops.attend(q, k, v, w, *[None] * 7, pe.key)[0].backward(dout)
    return w.grad.double()


def of_numpy(pe, kind, *rows):
    q, k, v, dout = (r.to(kind).numpy() for r in rows)
    return torch.from_numpy(gn.attention(q, k, v, pe=pe).backward(dout)["w"]).double()


def worst(found, wanted):
    return float((found - wanted).abs().max() / wanted.abs().max())


@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize("kind", HALVES, ids=str)
def test_fires_gradients_with_rows_of_16_bits(kind, seed):
    """The output is rounded, and the way back must not take it for what attention returned."""
    pe, rows = fire(seed), rows_of(kind, seed)
    wanted = fire_by_its_formula(pe, *rows)
    assert worst(of_module(pe, kind, *rows), wanted) < 2e-5
    assert worst(of_operator(pe, *rows), wanted) < 2e-5
    if kind is torch.float16:
        assert worst(of_numpy(pe, kind, *rows), wanted) < 2e-5


@pytest.mark.parametrize("kind", HALVES, ids=str)
@pytest.mark.parametrize("name", LEARNS)
def test_parameters_learn_as_well_from_rows_of_16_bits(name, kind):
    """Where q, k, v and dout are the same numbers, so are the gradients of the parameters: each is added up in float32."""
    pe, rows = awake(gn.make(name, heads=ONE, head_dim=WIDE, length=LONG)), rows_of(kind, 1)
    assert worst(of_module(pe, kind, *rows), of_module(pe, torch.float32, *rows)) < 1e-6


@pytest.mark.parametrize("kind", HALVES, ids=str)
def test_learning_does_not_change_the_output(kind):
    q, k, v, _ = rows_of(kind, 1)
    for spec in ("fire", "rope_value"):
        module = gnt.make(gn.make(spec, heads=ONE, head_dim=WIDE))
        with torch.no_grad():
            wanted = gn.attend(q, k, v, pe=module)
        assert torch.equal(gn.attend(q.requires_grad_(), k, v, pe=module), wanted) and wanted.dtype is kind
    if kind is torch.float16:
        found = gn.attention(*(r.detach().numpy() for r in (q, k, v)), pe=module.encoding).out
        assert np.array_equal(found, wanted.numpy()) and found.dtype == np.float16
