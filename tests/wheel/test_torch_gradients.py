"""Gradients of rows in 16 bits, against float64 by the paper's formula and against float32; and of rotations and vectors, number by number."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import gnomon as gn  # noqa: E402
import gnomon.torch as gnt  # noqa: E402
from gnomon.torch import ops  # noqa: E402
from shapes import BESIDE, INSIDE, TOKENS, awake, content, qkv, small  # noqa: E402

HALVES = [torch.bfloat16, torch.float16]
LEARNS = [n for n in INSIDE if len(small(n).w)]
TURNS = [(n, role) for n in INSIDE if "qk" in small(n).acts and not small(n).reads for role in ("q", "k", *(("v", "out") if small(n).output_turns else ()))]
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


# --- Rotations and vectors, number by number


def rotation(name, role, kind=torch.float32):
    """The arguments of the operator."""
    pe = awake(small(name))
    x = torch.from_numpy(qkv()[0]).to(kind).requires_grad_()
    w = torch.from_numpy(pe.w.copy()).requires_grad_(len(pe.w) > 0)
    return x, w, torch.arange(TOKENS, dtype=torch.float64), role, pe.key


def table(name, kind=torch.float32):
    pe = awake(small(name))
    return torch.from_numpy(pe.input_w.copy()).to(kind).requires_grad_(len(pe.input_w) > 0), torch.arange(TOKENS, dtype=torch.float64), pe.key


def checked(operator, arguments):
    """By PyTorch: each number of the tensors that learn. The core computes in float32, so steps and bounds are for that."""
    leaves = [a for a in arguments if isinstance(a, torch.Tensor) and a.requires_grad]

    def f(*new):
        left = iter(new)
        return operator(*(next(left) if isinstance(a, torch.Tensor) and a.requires_grad else a for a in arguments))

    return torch.autograd.gradcheck(f, leaves, eps=5e-4, atol=3e-3, rtol=1e-2, fast_mode=sum(leaf.numel() for leaf in leaves) > 400)


@pytest.mark.filterwarnings("ignore:Input #.*double precision")
@pytest.mark.parametrize("name, role", TURNS)
def test_rotations_have_the_gradients_of_their_slopes(name, role):
    assert checked(ops._map_rows, rotation(name, role))
    if role == "q":
        torch.library.opcheck(ops._map_rows, rotation(name, role))


@pytest.mark.filterwarnings("ignore:Input #.*double precision")
@pytest.mark.parametrize("name", [n for n in BESIDE if len(small(n).input_w)])
def test_vectors_have_the_gradients_of_their_slopes(name):
    assert checked(ops._vectors, table(name))
    torch.library.opcheck(ops._vectors, table(name))


@pytest.mark.filterwarnings("ignore:Input #.*double precision")
def test_a_rotation_the_other_way_is_seen():
    x, w, places, role, key = rotation("rope", "q")

    class Wrong(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return ops._map_rows(x, w, places, role, key)

        @staticmethod
        def backward(ctx, d):
            return ops._map_rows(d, w, places, role, key)  # turned on, not back

    with pytest.raises(RuntimeError, match="Jacobian mismatch"):
        checked(Wrong.apply, (x,))


# --- Modules of 16 bits


def of_rounded(pe, kind, loss):
    """Gradients of a module whose parameters are numbers of bfloat16, kept in this type."""
    module = gnt.make(pe).to(torch.bfloat16).to(kind)
    loss(module).backward()
    return torch.cat([p.grad.reshape(-1).double() for p in module.parameters() if p.grad is not None])


def by_attention(module):
    pe = module.encoding
    q, k, v = (torch.from_numpy(a) for a in qkv())
    return (gn.attend(q, k, v, pe=module, **content(pe)) * torch.randn(q.shape, generator=torch.Generator().manual_seed(5))).sum()


def by_vectors(module):
    y = module.vectors(torch.arange(TOKENS)).float()
    return (y * torch.randn(y.shape, generator=torch.Generator().manual_seed(5)).bfloat16()).sum()


@pytest.mark.parametrize("name, loss", [*((n, by_attention) for n in LEARNS), *((n, by_vectors) for n in BESIDE if len(small(n).input_w))])
def test_a_module_of_bfloat16_rounds_each_gradient_once(name, loss):
    """Of eight bits, half of the last is 2^-8 of a number at most, and each is the one of float32 but for that."""
    pe = awake(small(name))
    wanted, found = of_rounded(pe, torch.float32, loss), of_rounded(pe, torch.bfloat16, loss)
    assert wanted.abs().max() > 1e-3
    assert ((found - wanted).abs() <= 2.0**-8 * wanted.abs() + 1e-12).all()
