"""Gradients in modules of every number type, and derivatives that are refused instead of being wrong."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import gnomon as gn  # noqa: E402
import gnomon.torch as gnt  # noqa: E402
from shapes import B, BESIDE, HEADS, SIZE, TOKENS, awake, qkv, small  # noqa: E402

TYPES = [torch.bfloat16, torch.float16, torch.float64]
ROOM = {torch.bfloat16: 3e-2, torch.float16: 4e-3, torch.float64: 1e-5}  # of the largest gradient
LEARNS_VECTORS = [n for n in BESIDE if len(small(n).input_w)]
LEARNS_ROWS = [n for n in ("rope_learned", "rope_mixed", "fope", "pope", "grape", "lape") if n in {e.name for e in gn.encodings()}
               and len(small(n).w) and not small(n).reads]


def of_vectors(module):
    y = module.vectors(torch.arange(TOKENS))
    return (y.float() * torch.randn(y.shape, generator=torch.Generator().manual_seed(3))).sum()


def of_rows(module):
    q, k, _ = (torch.from_numpy(a) for a in qkv(2))
    turned = module.rotate(q, k)
    return sum((y * torch.randn(y.shape, generator=torch.Generator().manual_seed(3))).sum() for y in turned)


def of_attention(module):
    q, k, v = (torch.from_numpy(a) for a in qkv(2))
    return gn.attend(q, k, v, pe=module).square().sum()


def gradients(name, loss, kind):
    module = gnt.make(awake(small(name))).to(kind)
    loss(module).backward()
    found = [p.grad for p in module.parameters()]
    assert all(g is None or g.dtype is kind for g in found)
    return torch.cat([g.double().reshape(-1) for g in found if g is not None])


@pytest.mark.parametrize("kind", TYPES, ids=str)
@pytest.mark.parametrize("name, loss", [*((n, of_vectors) for n in LEARNS_VECTORS), *((n, of_rows) for n in LEARNS_ROWS),
                                        *((n, of_attention) for n in ("t5", "rope_learned", "shaw"))],
                         ids=lambda x: getattr(x, "__name__", x))
def test_parameters_learn_in_every_number_type(name, loss, kind):
    wanted = gradients(name, loss, torch.float32)
    found = gradients(name, loss, kind)
    assert wanted.abs().max() > 1e-2
    torch.testing.assert_close(found, wanted, atol=ROOM[kind] * float(wanted.abs().max()), rtol=0)


@pytest.mark.parametrize("kind", TYPES, ids=str)
def test_vectors_are_of_the_modules_number_type(kind):
    module = gnt.make(awake(small("learned"))).to(kind)
    places = torch.arange(TOKENS)
    assert module.vectors(places).dtype is kind
    compiled = torch.compile(module.vectors, fullgraph=True, backend="aot_eager")(places)
    torch.testing.assert_close(compiled, module.vectors(places))


def test_what_is_written_is_not_a_copy():
    """The core does not take an array of another number type to write into: it would be a copy, and what is written lost."""
    scheme, w = small("rope_learned")._scheme, small("rope_learned").w
    rows, places = qkv()[0], np.arange(TOKENS, dtype=np.float64)
    with pytest.raises(TypeError):
        gn._core.map_rows_backward(scheme, "q", places, w, rows, rows.copy(), np.zeros(len(w), np.float64))
    with pytest.raises(TypeError):
        gn._core.Gradients().dw = np.zeros(len(w), np.float64)


# --- Derivatives of derivatives, and forward


# Ways to differentiate a gradient. Those that ask for one input do not visit what leads to no input that learns.
AGAIN = {
    "backward": lambda y, g, q: (y.sum() + g.square().sum()).backward(),
    "grad": lambda y, g, q: torch.autograd.grad(g.square().sum() + q.square().sum(), q),
    "inputs": lambda y, g, q: (q.sum() + g.sum()).backward(inputs=[q]),
}


@pytest.mark.parametrize("again", AGAIN)
@pytest.mark.parametrize("spec", ["none", "t5", "rope"])
def test_gradients_of_gradients_are_refused(spec, again):
    q, k, v = (torch.from_numpy(a).requires_grad_() for a in qkv())
    y = gn.attend(q, k, v, pe=gnt.make(awake(small(spec))))
    (g,) = torch.autograd.grad(y.square().sum(), q, create_graph=True)
    assert g.requires_grad
    with pytest.raises(gn.Error, match="gradients of gradients"):
        AGAIN[again](y, g, q)


@pytest.mark.parametrize("spec", ["none", "t5"])
def test_hessians_are_refused(spec):
    q, k, v = (torch.from_numpy(a) for a in qkv())
    module = gnt.make(awake(small(spec)))
    for learns in (lambda q: gn.attend(q, k, v, pe=module).square().sum(), lambda v: gn.attend(q, k, v, pe=module).square().sum()):
        with pytest.raises(gn.Error, match="gradients of gradients"):
            torch.autograd.functional.hessian(learns, q)


def test_gradients_of_score_mods_are_not_differentiated():
    """The arrays of a plan learn as well: what was given back, their gradients are."""
    module = gnt.make(awake(small("t5")))
    (p,) = module.parameters()
    number = module.score_mod(TOKENS)(*(torch.tensor(n) for n in (0.5, 0, 1, 4, 2)))
    (g,) = torch.autograd.grad(number.square(), p, create_graph=True)
    with pytest.raises(gn.Error, match="gradients of gradients"):
        torch.autograd.grad(g.sum(), p)


@pytest.mark.parametrize("loss", [of_vectors, of_rows])
def test_gradients_of_gradients_of_rows_are_refused(loss):
    module = gnt.make(awake(small("learned" if loss is of_vectors else "rope_learned")))
    (p,) = module.parameters()
    (g,) = torch.autograd.grad(loss(module) * p.square().sum(), p, create_graph=True)
    with pytest.raises(gn.Error, match="gradients of gradients"):
        g.square().sum().backward()


def test_gradients_of_gradients_of_what_is_rotated_are_refused():
    q, k, _ = (torch.from_numpy(a).requires_grad_() for a in qkv())
    (g,) = torch.autograd.grad(small("rope").rotate(q, k)[0].square().sum(), q, create_graph=True)
    with pytest.raises(gn.Error, match="gradients of gradients"):
        torch.autograd.grad(g.sum(), q)


@pytest.mark.parametrize("call", [
    lambda module, q: gn.attend(q, q, q, pe=module), lambda module, q: gn.attend(q, q, q, pe="rope"), lambda module, q: module.rotate(q, q)[0]])
def test_forward_derivatives_are_refused(call):
    """An operator without a forward derivative would answer 0."""
    module, q = gnt.make(awake(small("rope_learned"))), torch.from_numpy(qkv()[0])
    with pytest.raises((gn.Error, RuntimeError), match="jvp|forward"):
        torch.func.jvp(lambda q: call(module, q), (q,), (torch.ones_like(q),))
    with pytest.raises(gn.Error, match="jvp"), torch.autograd.forward_ad.dual_level():
        call(module, torch.autograd.forward_ad.make_dual(q, torch.ones_like(q)))


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize("call", [lambda module, q: gn.attend(q, q, q, pe=module), lambda module, q: module.rotate(q, q)[0]])
def test_forward_derivatives_are_refused_by_a_compiled_program(call, backend):
    module, q = gnt.make(awake(small("rope"))), torch.from_numpy(qkv()[0])

    def along(q):
        return torch.func.jvp(lambda q: call(module, q), (q,), (torch.ones_like(q),))[1]

    def dual(q):
        with torch.autograd.forward_ad.dual_level():
            return call(module, torch.autograd.forward_ad.make_dual(q, torch.ones_like(q)))

    for derivative in (along, dual):
        torch._dynamo.reset()
        with pytest.raises(gn.Error, match="jvp"):
            torch.compile(derivative, backend=backend)(q)
    torch._dynamo.reset()
    torch.testing.assert_close(torch.compile(lambda q: call(module, q), backend=backend, fullgraph=True)(q), call(module, q))


def test_a_mask_of_numbers_is_refused_where_they_cannot_be_looked_at():
    """0 and -10000 would be False and True: the opposite of what they mean."""
    q, k, v = (torch.from_numpy(a) for a in qkv())
    pe, shown = small("rope"), torch.ones(TOKENS, TOKENS, dtype=torch.bool).tril()
    attend = torch.compile(lambda mask: gn.attend(q, k, v, pe=pe, mask=mask), backend="eager")
    with pytest.raises(gn.Error, match="mask.bool()"):
        attend((~shown).long() * -10000)
    torch.testing.assert_close(attend(shown), gn.attend(q, k, v, pe=pe, mask=shown))


def by_rows(q):
    return gnt.make(small("rope_learned")).rotate(q, q)[0].sum()


@pytest.mark.parametrize("transform", [torch.func.grad, torch.func.jacrev, torch.func.hessian, lambda f: lambda q: torch.func.vjp(f, q),
                                       lambda f: lambda q: torch.vmap(torch.func.grad(f))(q[None])])
@pytest.mark.parametrize("call", [lambda q: gn.attend(q, q, q, pe="rope").sum(), lambda q: gn.attend(q, q, q, pe="t5").sum(), by_rows])
def test_gradients_of_torch_func_are_refused(call, transform):
    with pytest.raises(gn.Error, match="torch.func|jvp"):
        transform(call)(torch.from_numpy(qkv()[0]))


@pytest.mark.filterwarnings("ignore:Dynamo does not know")
@pytest.mark.parametrize("call", [lambda module, q: gn.attend(q, q, q, pe=module).sum(), lambda module, q: module.rotate(q, q)[0].sum()])
def test_gradients_of_torch_func_are_refused_by_a_compiled_program(call):
    """PyTorch raises an error of its own with ours in it, if it may not leave the compiled program."""
    module = gnt.make(small("rope_learned"))
    for whole, error in ((False, gn.Error), (True, (gn.Error, RuntimeError))):
        torch._dynamo.reset()
        with pytest.raises(error, match="gradients of torch.func .* are not computed"):
            torch.compile(torch.func.grad(lambda q: call(module, q)), backend="eager", fullgraph=whole)(torch.from_numpy(qkv()[0]))


def test_a_cache_beside_a_compiled_program():
    """Left out of a graph that may be divided; of one that may not, the error says why."""
    pe, (q, k, v) = small("rope"), (torch.from_numpy(a) for a in qkv())
    wanted = 1 + gn.attend(q, k, v, pe=pe)
    for whole in (False, True):
        cache = gn.KeyCache(pe, sequences=B, capacity=TOKENS)
        torch._dynamo.reset()
        decode = torch.compile(lambda *rows: 1 + gn.attend(*rows, pe=pe, cache=cache), backend="eager", fullgraph=whole)
        if not whole:
            torch.testing.assert_close(decode(q, k, v), wanted)
            continue
        with pytest.raises((gn.Error, RuntimeError), match="a cache cannot be part of a compiled graph"):
            decode(q, k, v)
        assert len(cache) == 0


def test_forward_derivatives_of_positions_are_refused():
    q, k, v = (torch.from_numpy(a) for a in qkv())
    places = torch.arange(float(TOKENS))
    with pytest.raises(gn.Error, match="jvp"), torch.autograd.forward_ad.dual_level():
        gn.attend(q, k, v, pe="rope", positions=torch.autograd.forward_ad.make_dual(places, torch.ones_like(places)))


def test_a_cache_is_not_traced():
    from torch._subclasses.fake_tensor import FakeTensorMode
    from torch.fx.experimental.proxy_tensor import make_fx
    pe = small("rope")
    q, k, v = (torch.from_numpy(a) for a in qkv())

    def decode(q, k, v):
        return gn.attend(q, k, v, pe=pe, cache=gn.KeyCache(pe, sequences=B, capacity=TOKENS))

    for call in (lambda: make_fx(decode)(q, k, v), lambda: torch.jit.trace(decode, (q, k, v)), lambda: torch.vmap(decode)(*(t[None] for t in (q, k, v)))):
        with pytest.raises(gn.Error, match="cache"):
            call()
    with pytest.raises(gn.Error, match="cache"), FakeTensorMode() as mode:
        decode(*map(mode.from_tensor, (q, k, v)))
    assert decode(q, k, v).shape == q.shape


def test_positions_have_no_gradient():
    q, k, v = (torch.from_numpy(a) for a in qkv())
    places = torch.arange(float(TOKENS)).requires_grad_()
    module = gnt.make(awake(small("rope+sinusoidal")))
    for call in (lambda: gn.attend(q, k, v, pe=module, positions=places), lambda: module.rotate(q, k, places), lambda: module.vectors(places)):
        with pytest.raises(gn.Error, match="gradient"):
            call()
    with torch.no_grad():
        gn.attend(q, k, v, pe=module, positions=places)


# --- Programs that are written down


def attention_of(q, k, v):
    """By its formula, causal."""
    hidden = torch.full((q.shape[2], k.shape[2]), float("-inf")).triu(1)
    return torch.softmax(q @ k.transpose(2, 3) / SIZE**0.5 + hidden, -1) @ v


@pytest.mark.filterwarnings("ignore:torch.from_numpy results are registered", "ignore:`torch.jit")
def test_a_traced_program_attends():
    from torch.fx.experimental.proxy_tensor import make_fx
    first, other = ([torch.from_numpy(a) for a in qkv(seed)] for seed in (1, 2))
    call = lambda q, k, v: gn.attend(q, k, v, pe="none")
    graph = make_fx(call)(*first)
    assert "gnomon.attend" in graph.code
    torch.testing.assert_close(graph(*other), attention_of(*other))
    traced = torch.jit.trace(call, first, check_trace=False)
    torch.testing.assert_close(traced(*other), attention_of(*other))


def test_gradients_are_traced():
    from torch.fx.experimental.proxy_tensor import make_fx
    first, other = ([torch.from_numpy(a).requires_grad_() for a in qkv(seed)] for seed in (1, 2))
    graph = make_fx(lambda q, k, v: torch.autograd.grad(gn.attend(q, k, v, pe="none").square().sum(), (q, k, v)))(*first)
    wanted = torch.autograd.grad(attention_of(*other).square().sum(), other)
    for found, theirs in zip(graph(*other), wanted):
        torch.testing.assert_close(found, theirs, atol=1e-5, rtol=1e-4)


def test_fake_tensors():
    from torch._subclasses.fake_tensor import FakeTensorMode
    with FakeTensorMode():
        q = torch.empty(B, HEADS, TOKENS, SIZE, dtype=torch.bfloat16)
        y = gn.attend(q, q, q, pe="rope")
    assert y.shape == q.shape and y.dtype is torch.bfloat16


@pytest.mark.filterwarnings("ignore:There is a performance drop")
def test_vmap():
    q, k, v = (torch.stack([torch.from_numpy(qkv(seed)[n]) for seed in (1, 2, 3)]) for n in range(3))
    found = torch.vmap(lambda q, k, v: gn.attend(q, k, v, pe="none"))(q, k, v)
    torch.testing.assert_close(found, torch.stack([attention_of(*one) for one in zip(q, k, v)]))


@pytest.mark.parametrize("spec", ["rope", "rope_learned", "alibi"])
def test_rotate_compiles_whole(spec):
    module = gnt.make(awake(small(spec)))
    q, k, _ = (torch.from_numpy(a) for a in qkv())
    compiled = torch.compile(module.rotate, fullgraph=True, backend="aot_eager")
    for found, eager in zip(compiled(q, k), module.rotate(q, k)):
        torch.testing.assert_close(found, eager)


def test_a_subclass_of_tensor():
    class Own(torch.Tensor):
        pass
    q, k, v = (torch.from_numpy(a).as_subclass(Own) for a in qkv())
    y = gn.attend(q, k, v, pe="rope")
    assert isinstance(y, torch.Tensor)
    torch.testing.assert_close(y.as_subclass(torch.Tensor), torch.from_numpy(gn.attend(*qkv(), pe="rope")))
    assert isinstance(small("rope").rotate(q, k)[0], torch.Tensor)


# --- FlexAttention


@pytest.mark.parametrize("spec", ["rope_value", "rope_value+alibi", "rope_value+t5"])
def test_values_that_turn_have_no_score_mod(spec):
    module = gnt.make(small(spec))
    for ask in (module.score_mod, module.mask_mod):
        with pytest.raises(gn.Error, match="values that turn"):
            ask(TOKENS)
