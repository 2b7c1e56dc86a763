"""gnomon under PyTorch: operators, gradients, modules, compiled, and the plain path of other devices."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from torch._dynamo.testing import CompileCounter  # noqa: E402

import gnomon as gn  # noqa: E402
import gnomon.torch as gnt  # noqa: E402
from gnomon.torch import ops, plain  # noqa: E402
from shapes import B, BESIDE, HEADS, INSIDE, SIZE, TOKENS, awake, content, qkv, small  # noqa: E402


def tensors(pe, seed=0, learns=True):
    """q, k, v and what the encoding reads, as leaves."""
    leaf = lambda a: torch.from_numpy(np.array(a)).requires_grad_(learns)
    rows = [leaf(0.5 * a) for a in qkv(seed)]
    given = {name: [leaf(p) for p in value] if name == "projections" else leaf(value) for name, value in content(pe).items()}
    return rows, given


def op_arguments(pe):
    (q, k, v), given = tensors(pe)
    w = torch.from_numpy(pe.w.copy()).requires_grad_(len(pe.w) > 0)
    projections = gnt.flat_projections(given["projections"]).detach().requires_grad_() if "projections" in given else None
    return (q, k, v, w, None, None, None, None, None, given.get("x"), projections, pe.key)


@pytest.mark.parametrize("name", INSIDE)
def test_attend_is_an_operator(name):
    torch.library.opcheck(ops.attend, op_arguments(awake(small(name))))


def directional(f, leaves, eps=1e-3):
    """The slope of f along random directions: by its gradient, and by differences. Float32 allows no finer check."""
    random = torch.Generator().manual_seed(3)
    for leaf in leaves:
        leaf.grad = None
    f().backward()
    for leaf in leaves:
        assert leaf.grad is not None and leaf.grad.shape == leaf.shape
        for _ in range(2):
            d = torch.randn(leaf.shape, generator=random)
            d /= d.norm()
            with torch.no_grad():
                leaf += eps * d
                up = f().double()
                leaf -= 2 * eps * d
                down = f().double()
                leaf += eps * d
            yield float((leaf.grad * d).sum()), float((up - down) / (2 * eps))


@pytest.mark.parametrize("name", INSIDE)
def test_gradients_are_the_slopes(name):
    pe = awake(small(name))
    module = gnt.make(pe)
    (q, k, v), given = tensors(pe)
    g = torch.randn(B, HEADS, TOKENS, SIZE, generator=torch.Generator().manual_seed(5))
    leaves = [q, k, v, *(p for n, p in module.named_parameters() if not n.startswith("input_")), *([given["x"]] if "x" in given else []),
              *given.get("projections", [])]
    for found, slope in directional(lambda: (gn.attend(q, k, v, pe=module, **given).double() * g).sum(), leaves):
        assert found == pytest.approx(slope, abs=4e-3, rel=2e-2), name


@pytest.mark.parametrize("name", INSIDE)
@pytest.mark.filterwarnings("ignore:Input #.*double precision")  # the core computes in float32: eps and bounds are for that
def test_gradcheck(name):
    """PyTorch's own, of the same operator: each number of q, k, v and the parameters by itself."""
    pe = awake(small(name))
    if name == "dape":  # away from the kinks of its network, which differences do not step over
        bias = pe.parameters()["0.up.bias"]
        bias += np.where(np.arange(len(bias)) % 2, 8, -8)
    arguments = op_arguments(pe)
    leaves = [a for a in arguments if isinstance(a, torch.Tensor) and a.requires_grad]
    def f(*new):
        left = iter(new)
        return ops.attend(*(next(left) if isinstance(a, torch.Tensor) and a.requires_grad else a for a in arguments))[0]
    many = sum(leaf.numel() for leaf in leaves) > 2000  # then along random directions
    assert torch.autograd.gradcheck(f, leaves, eps=5e-4, atol=5e-3, rtol=3e-2, nondet_tol=0, fast_mode=many)


@pytest.mark.parametrize("name", INSIDE)
def test_plain_operations_agree(name):
    """The path of other devices is of PyTorch's operations alone: the same numbers and gradients."""
    pe = awake(small(name))
    found = []
    for attend in (lambda *a, **o: ops.attend(*a[:3], a[3], None, None, None, None, None, o.get("x"), o.get("projections"), pe.key)[0],
                   lambda *a, **o: plain.attend(pe, *a, **o)):
        (q, k, v), given = tensors(pe)
        flat = gnt.flat_projections(given["projections"]) if "projections" in given else None
        w = torch.from_numpy(pe.w.copy()).requires_grad_()
        out = attend(q, k, v, w, **({"x": given["x"]} if "x" in given else {}), **({"projections": flat} if flat is not None else {}))
        out.square().sum().backward()
        found.append([out.detach(), q.grad, k.grad, v.grad, *([w.grad] if len(w) else []), *([given["x"].grad] if "x" in given else []),
                      *(p.grad for p in given.get("projections", []))])
    for ours, theirs in zip(*found):
        torch.testing.assert_close(ours, theirs, atol=3e-5, rtol=3e-4)


@pytest.mark.parametrize("name", BESIDE)
def test_vectors_learn(name):
    module = gnt.make(awake(small(name)))
    leaves = [p for n, p in module.named_parameters() if n.startswith("input_")]
    g = torch.randn(TOKENS, HEADS * SIZE, generator=torch.Generator().manual_seed(5))
    places = torch.arange(TOKENS)
    np.testing.assert_array_equal(module.vectors(places).detach().numpy(), module.encoding.vectors(places.numpy()))
    for found, slope in directional(lambda: (module.vectors(places).double() * g).sum(), leaves) if leaves else ():
        assert found == pytest.approx(slope, abs=2e-3, rel=1e-2)


def test_a_wrong_gradient_is_seen():
    """The check of gradients is able to fail: a part of the way back that is cut off does not pass."""
    pe = awake(small("rope"))
    q, k, v = tensors(pe)[0]
    g = torch.randn(B, HEADS, TOKENS, SIZE, generator=torch.Generator().manual_seed(5))
    cut = lambda: (gn.attend(0.5 * q + 0.5 * q.detach(), k, v, pe=pe).double() * g).sum()
    assert any(abs(found - slope) > 4e-3 + 2e-2 * abs(slope) for found, slope in directional(cut, [q]))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_number_types_and_groups(dtype):
    q, k, v = (torch.from_numpy(a).to(dtype) for a in qkv(kv_heads=1))
    pe = small("rope+alibi", kv_heads=1)
    y = gn.attend(q, k, v, pe=pe)
    assert y.dtype == dtype
    wide = gn.attend(*(t.float() for t in (q, k, v)), pe=pe)
    torch.testing.assert_close(y.float(), wide, atol={torch.float32: 1e-6, torch.bfloat16: 1e-2, torch.float16: 1e-3}[dtype], rtol=1e-2)


def test_attention_is_pytorchs():
    """Without position, with a bias, a mask and groups: torch.nn.functional.scaled_dot_product_attention and its gradients."""
    q, k, v = (torch.from_numpy(a).requires_grad_() for a in qkv())
    bias = torch.randn(HEADS, TOKENS, TOKENS, generator=torch.Generator().manual_seed(7)).requires_grad_()
    y = gn.attend(q, k, v, pe=small("none"), bias=bias)
    y.square().sum().backward()
    ours = [t.grad.clone() for t in (q, k, v, bias)]
    for t in (q, k, v, bias):
        t.grad = None
    hidden = torch.full((TOKENS, TOKENS), float("-inf")).triu(1)
    theirs = torch.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=bias + hidden)
    theirs.square().sum().backward()
    torch.testing.assert_close(y, theirs)
    for mine, t in zip(ours, (q, k, v, bias)):
        torch.testing.assert_close(mine, t.grad, atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("dynamic", [None, True])
@pytest.mark.parametrize("spec", ["rope", "t5+rope", "fox"])
def test_a_spec_as_text_compiles_whole(spec, dynamic):
    """Of several lengths, and of several numbers of heads, each of which is another encoding."""
    def step(q, k, v):
        return gn.attend(2 * q, k, v, pe=spec, **dict(x=torch.ones(1, q.shape[2], 8 * q.shape[1])) if spec == "fox" else {})
    torch._dynamo.reset()
    compiled = torch.compile(step, fullgraph=True, backend="aot_eager", dynamic=dynamic)
    for heads, tokens in ((4, 6), (4, 9), (2, 9), (4, 1)):
        one, other = ([torch.randn(1, heads, tokens, 8, generator=torch.Generator().manual_seed(n)).requires_grad_() for n in range(3)] for _ in range(2))
        mine, theirs = step(*one), compiled(*other)
        torch.testing.assert_close(theirs, mine)
        mine.square().sum().backward(), theirs.square().sum().backward()
        for a, b in zip(one, other, strict=True):
            torch.testing.assert_close(b.grad, a.grad)


def test_a_spec_as_text_is_compiled_once():
    torch._dynamo.reset()
    counter, q = CompileCounter(), torch.randn(1, 2, 3, 8)
    compiled = torch.compile(lambda q: gn.attend(q, q, q, pe="rope"), fullgraph=True, backend=counter)
    for _ in range(3):
        compiled(q)
    assert counter.frame_count == 1


@pytest.mark.parametrize("spec, words", [("rop", "unknown encoding or combination 'rop'"), ("sinusoidal", "allowed are encodings that act inside attention")])
def test_a_wrong_spec_in_a_compiled_program_is_told(spec, words):
    q = torch.zeros(1, 2, 3, 8)
    with pytest.raises(Exception, match=words):
        torch.compile(lambda q: gn.attend(q, q, q, pe=spec), fullgraph=True, backend="eager")(q)


@pytest.mark.parametrize("spec", ["rope", "alibi_learned", "shaw", "t5+rope"])
def test_it_compiles_whole(spec):
    module = gnt.make(awake(small(spec)))
    (q, k, v), _ = tensors(module.encoding)
    def step(q, k, v):
        return gn.attend(2 * q, k, v, pe=module).square().sum()
    def run(f):
        for p in (q, k, v, *module.parameters()):
            p.grad = None
        f(q, k, v).backward()
        return [p.grad.clone() for p in (q, k, v, *module.parameters())]
    for eager, compiled in zip(run(step), run(torch.compile(step, fullgraph=True, backend="aot_eager"))):
        torch.testing.assert_close(eager, compiled)


def test_a_module_learns():
    """Attention to the key three before, which no content tells: T5's buckets find it."""
    torch.manual_seed(0)
    module = gnt.make("t5(buckets=16, distance=16)", heads=1, head_dim=4, length=16)
    v = torch.randn(4, 1, 16, 4)
    wanted = torch.cat([v[:, :, :1].expand(-1, -1, 3, -1) * 0, v[:, :, :-3]], 2)
    q = torch.zeros(4, 1, 16, 4)
    optimiser = torch.optim.Adam(module.parameters(), lr=0.3)
    losses = []
    for _ in range(60):
        optimiser.zero_grad()
        loss = (gn.attend(q, q, v, pe=module)[:, :, 3:] - wanted[:, :, 3:]).square().mean()
        loss.backward()
        optimiser.step()
        losses.append(loss.item())
    assert losses[-1] < 0.02 * losses[0]


def test_state_is_saved_and_loaded(tmp_path):
    module = gnt.make(awake(small("t5")))
    torch.save(module.state_dict(), tmp_path / "t5.pt")
    other = gnt.make(small("t5"))
    other.load_state_dict(torch.load(tmp_path / "t5.pt"))
    q, k, v = tensors(module.encoding, learns=False)[0]
    torch.testing.assert_close(gn.attend(q, k, v, pe=module), gn.attend(q, k, v, pe=other))


def test_a_cache_decodes():
    pe = small("rope+alibi", kv_heads=1)
    q, k, v = (torch.from_numpy(a) for a in qkv(kv_heads=1))
    cache = gn.KeyCache(pe, sequences=B, capacity=TOKENS)
    steps = [gn.attend(*(t[:, :, n:n + 1] for t in (q, k, v)), pe=pe, cache=cache) for n in range(TOKENS)]
    torch.testing.assert_close(torch.cat(steps, 2), gn.attend(q, k, v, pe=pe))
    with pytest.raises(gn.Error, match="no gradients"):
        gn.attend(q.requires_grad_(), k, v, pe=pe, cache=cache)


def test_a_cache_reads_what_attending_at_once_reads():
    pe = small("rope+alibi", kv_heads=1)
    q, k, v = (torch.from_numpy(a) for a in qkv(kv_heads=1))
    given = dict(bias=torch.randn(HEADS, TOKENS, TOKENS), mask=(torch.rand(TOKENS, TOKENS) > .3) | torch.eye(TOKENS, dtype=torch.bool))
    cache, sinks, steps = gn.KeyCache(pe, sequences=B, capacity=TOKENS), torch.randn(HEADS), []
    for n in range(TOKENS):
        rows = {name: x[..., n:n + 1, :n + 1] for name, x in given.items()}
        steps.append(gn.attend(*(t[:, :, n:n + 1] for t in (q, k, v)), pe=pe, cache=cache, sinks=sinks, **rows))
    torch.testing.assert_close(torch.cat(steps, 2), gn.attend(q, k, v, pe=pe, sinks=sinks, **given))
    cache, padding = gn.KeyCache(pe, sequences=B, capacity=TOKENS), torch.arange(TOKENS).expand(B, -1) < 2
    first = gn.attend(q, k, v, pe=pe, cache=cache, padding=padding)
    torch.testing.assert_close(first[:, :, 2:], gn.attend(q, k, v, pe=pe, padding=padding)[:, :, 2:])


@pytest.mark.parametrize("spec", ["alibi", "t5", "alibi+window(size=3)", "kerple_log", "none"])
def test_flex_attention(spec):
    from torch.nn.attention.flex_attention import create_mask, flex_attention, create_block_mask
    module = gnt.make(awake(small(spec)))
    q, k, v = tensors(module.encoding, learns=False)[0]
    mask = create_block_mask(module.mask_mod(TOKENS), B=None, H=None, Q_LEN=TOKENS, KV_LEN=TOKENS, device="cpu")
    del create_mask
    theirs = flex_attention(q, k, v, score_mod=module.score_mod(TOKENS), block_mask=mask, scale=module.encoding.scale)
    torch.testing.assert_close(theirs, gn.attend(q, k, v, pe=module), atol=1e-5, rtol=1e-4)


def test_flex_attention_after_a_rotation():
    from torch.nn.attention.flex_attention import create_block_mask, flex_attention
    module = gnt.make(small("rope+alibi"))
    q, k, v = tensors(module.encoding, learns=False)[0]
    mask = create_block_mask(module.mask_mod(TOKENS), B=None, H=None, Q_LEN=TOKENS, KV_LEN=TOKENS, device="cpu")
    theirs = flex_attention(*module.rotate(q, k), v, score_mod=module.score_mod(TOKENS), block_mask=mask, scale=module.encoding.scale)
    torch.testing.assert_close(theirs, gn.attend(q, k, v, pe=module), atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("spec", ["shaw", "cope", "stick_breaking", "rerope"])
def test_what_flex_attention_cannot(spec):
    with pytest.raises(gn.Error, match="score_mod|flex_attention"):
        gnt.make(small(spec)).score_mod(TOKENS)


def test_threads_are_pytorchs():
    q, k, v = tensors(small("rope"), learns=False)[0]
    before = torch.get_num_threads()
    try:
        for n in (1, 2):
            torch.set_num_threads(n)
            gn.attend(q, k, v, pe=small("rope"))
            assert gn.threads() == n
    finally:
        torch.set_num_threads(before)
