"""docs/migrate.md: code of other libraries and gnomon's give the same numbers, a wrong convention gives others, and what the page says
of the libraries is so."""

import pathlib
import re

import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
rotary_embedding_torch = pytest.importorskip("rotary_embedding_torch")
x_transformers = pytest.importorskip("x_transformers.x_transformers")

from torch.nn.attention import flex_attention  # noqa: E402
from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS  # noqa: E402
from transformers.models.llama.modeling_llama import apply_rotary_pos_emb  # noqa: E402

import gnomon as gn  # noqa: E402
import gnomon.torch  # noqa: E402

PAGE = (pathlib.Path(__file__).parents[2] / "docs/migrate.md").read_text()
SHARED, *EXAMPLES = re.findall(r"```python\n(.*?)```", PAGE, re.S)
TITLES = re.findall(r"^##+ (.*)\n(?:(?!#).*\n)*?```python", PAGE, re.M)

# Of each example, what its last lines say, and what would be wrong: another convention, or parameters that were carried over amiss.
WRONG = [
    ("pairing=adjacent", "pairing=halves"),
    ("rope(pairing=adjacent)", "rope"),
    ("xpos(pairing=adjacent)", "rope(pairing=adjacent)"),
    ("rope_axial(pairing=adjacent)", "rope_axial(pairing=adjacent, index=continued)"),
    ("frequencies.log()[None]", "frequencies[None]"),
    ("pairing=adjacent", "pairing=halves"),
    (".weight * t5.scale", ".weight"),
    ("log=off", "log=on"),
    ("head_dim=64", "head_dim=64, scale=1.0"),
    ("gates.to_forget_gates[0].bias", "-gates.to_forget_gates[0].bias"),
    ("polar.learned_bias[:, 0]", "-polar.learned_bias[:, 0]"),
    ("absolute.emb.weight * absolute.scale", "absolute.emb.weight"),
    ("layout=halves", "layout=interleaved"),
    ("gn.explain(config).spec", "'yarn(factor=4, original=2048, attention_factor=1)'"),
    ("rope(pairing=adjacent)", "rope"),
    ("t5(scale=off)", "t5"),
    ("pairing=adjacent", "pairing=halves"),
    ("alibi(slopes=geometric)", "alibi"),
    ("window(size=5)", "window(size=4)"),
    ("score_mod=pe.score_mod(16)", "score_mod=None"),
    ("rope(channels=32)", "rope(channels=32, pairing=adjacent)"),
    ("window(size=5)", "window(size=4)"),
]


@pytest.fixture
def shared(monkeypatch):
    """The names that all examples share. flex_attention runs as it is written, since compiling it takes seconds."""
    monkeypatch.setattr(flex_attention, "_FLEX_ATTENTION_DISABLE_COMPILE_DEBUG", True)
    names = {}
    exec(compile(SHARED, "docs/migrate.md", "exec"), names)
    return names


def apart(theirs, ours):
    """The largest difference of two tensors, or of two pairs of them."""
    if isinstance(theirs, tuple):
        return max(map(apart, theirs, ours))
    assert theirs.shape == ours.shape
    return (theirs - ours).detach().abs().max().item()


def difference(code, names):
    names = dict(names)
    exec(compile(code, "docs/migrate.md", "exec"), names)
    return apart(names["theirs"], names["ours"])


def made(spec):
    return gn.torch.make(spec, heads=8, head_dim=64, length=8192)


def table(heading):
    """The bound that the sentence above the table states, and the rows under this heading, without backquotes."""
    before, after = PAGE.split(f"| {heading} | spec |\n|---|---|\n")
    rows = re.findall(r"^\| `(.*?)` \| `(.*?)` \|$", after.split("\n\n")[0], re.M)
    assert len(rows) == after.split("\n\n")[0].count("\n") + 1
    return float(re.findall(r"differs? by at most (\S+):", before)[-1]), rows


@pytest.mark.parametrize("code, wrong", list(zip(EXAMPLES, WRONG, strict=True)), ids=TITLES)
def test_both_sides_give_the_same_numbers(code, wrong, shared):
    bound = float(re.findall(r"# within (\S+)$", code, re.M)[-1])
    assert bound <= 3e-5
    assert difference(code, shared) <= bound
    before, said, after = code.rpartition(wrong[0])
    assert said and difference(before + wrong[1] + after, shared) > 1000 * bound


def test_two_sided_buckets(shared):
    code = EXAMPLES[TITLES.index("T5's relative bias (`rel_pos_bias=True`)")].replace("causal=True", "causal=False")
    shared["later"] = torch.zeros(16, 16, dtype=torch.bool)
    assert difference(code.replace("head_dim=64", "head_dim=64, causal=False"), shared) < 1e-5
    assert difference(code, shared) > 0.1


def test_names_of_buckets():
    flags = dict(dim=512, depth=1, heads=8, attn_dim_head=64, rel_pos_bias=True, rel_pos_num_buckets=20, rel_pos_max_distance=50)
    for kind, causal in ((x_transformers.Decoder, True), (x_transformers.Encoder, False)):
        theirs = kind(**flags).rel_pos
        rows = theirs.relative_attention_bias.weight.detach() * theirs.scale
        bias = lambda spec: _bias(spec, rows.numpy(), causal)  # noqa: B023
        seen = torch.ones(99, 99, dtype=torch.bool).tril() if causal else torch.ones(99, 99, dtype=torch.bool)
        assert apart(theirs(99, 99) * seen, bias("t5(buckets=20, distance=50)") * seen) < 1e-6
        assert apart(theirs(99, 99) * seen, bias("t5(buckets=20, distance=128)") * seen) > 1


def _bias(spec, rows, causal):
    pe = gn.make(spec, heads=8, causal=causal)
    pe.parameters()["0.bias"][:] = rows
    return torch.from_numpy(pe.bias(range(99)))


def test_arguments_of_rotary_embedding_torch(shared):
    q, (bound, rows) = shared["q"], table("`RotaryEmbedding(...)`")
    for arguments, spec in rows:
        theirs = eval(f"RotaryEmbedding({arguments})", vars(rotary_embedding_torch)).rotate_queries_or_keys(q, offset=3)
        ours = lambda spec: made(spec).rotate(q, q, range(3, 19))[0]  # noqa: B023
        assert apart(theirs, ours(spec)) <= bound, arguments
        assert apart(theirs, ours(spec.replace("adjacent", "halves"))) > 1, arguments


def decoder_attention(flags, shared):
    """(output, its parts) of attention as a Decoder with these flags encodes positions."""
    q, k, attention = shared["q"], shared["k"], shared["attention"]
    parts = eval(f"Decoder(dim=512, depth=1, heads=8, attn_dim_head=64, {flags})", vars(x_transformers))
    if parts.rotary_pos_emb is not None:
        angles, scale = parts.rotary_pos_emb.forward_from_seq_len(16)
        rotate = x_transformers.apply_rotary_pos_emb
        q, k = rotate(q, angles, scale), rotate(k, angles, scale**-1)
    return attention(q, k, parts.rel_pos(16, 16) if parts.rel_pos is not None else torch.zeros(16, 16)), parts


def test_flags_of_x_transformers(shared):
    bound, rows = table("flags")
    found = [(decoder_attention(flags, shared)[0], made(spec)(shared["q"], shared["k"], shared["v"])) for flags, spec in rows]
    for n, (theirs, _) in enumerate(found):
        for m, (_, ours) in enumerate(found):
            assert (apart(theirs, ours) <= bound) == (n == m), (rows[n], rows[m])


def test_flags_with_parameters(shared):
    assert decoder_attention("rel_pos_bias=True", shared)[1].rel_pos.scale == 8
    dynamic = decoder_attention("dynamic_pos_bias=True", shared)[1].rel_pos
    assert not dynamic.log_distance and [tuple(p.shape) for p in dynamic.parameters()][::2] == [(128, 1), (128, 128), (8, 128)]
    flags = [flag for title in TITLES for flag in re.findall(r"`(\w+)=True`", title) if flag != "scaled_sinu_pos_emb"]
    assert len(flags) == 5
    for flag in [*flags, "attn_data_dependent_alibi=True, attn_data_dependent_alibi_per_row"]:
        layer = decoder_attention(f"{flag}=True", shared)[1]
        attention = next(m for m in layer.modules() if isinstance(m, x_transformers.Attention))
        parts = layer.rel_pos, layer.polar_pos_emb, attention.data_dependent_alibi, attention.attend.cope
        assert sum(part is not None for part in parts) == 1, flag


def test_slopes_of_twelve_heads():
    theirs = x_transformers.AlibiPositionalBias(12).slopes.flatten()
    slopes = lambda spec: torch.from_numpy(gn.make(spec, heads=12).slopes).float()
    assert apart(theirs, slopes("alibi")) < 1e-7 and apart(theirs, slopes("alibi(slopes=geometric)")) > 0.01


def test_gates_of_rows_and_profiles(shared):
    q, k, v, x, attention = (shared[name] for name in ("q", "k", "v", "x", "attention"))
    rows = x_transformers.PerRowDataDependentAlibi(512, heads=8)
    pe = made("data_alibi")
    pe.load_state_dict(dict(zip(("0_query_weight", "0_key_weight"), rows.to_forget_gates[0].weight.chunk(2))))
    assert apart(attention(q, k, rows(x)), pe(q, k, v, x=x)) < 4e-6
    assert apart(attention(q, k, rows(-x.flip(2))), pe(q, k, v, x=x)) > 0.01
    profiles = x_transformers.RelativeProjPositionalBias(512, heads=8)
    torch.nn.init.normal_(profiles.distance_bank)
    linear, pe = profiles.to_distance_weights[0], made("content_profile")
    pe.load_state_dict({"0_weight": linear.weight, "0_profiles": profiles.distance_bank})
    assert apart(attention(q, k, profiles(x)), pe(q, k, v, x=x)) > 0.01
    torch.nn.init.zeros_(linear.bias)
    assert apart(attention(q, k, profiles(x)), pe(q, k, v, x=x)) < 1e-5


def test_functions_of_transformers(shared):
    q, k, (bound, rows) = shared["q"], shared["k"], table("`rope_parameters`")
    found = []
    for parameters, spec in rows:
        rope = eval(f"{{{parameters.replace(': ', ':')}}}") | {"rope_theta": 10000.0}
        config = transformers.LlamaConfig(hidden_size=512, num_attention_heads=8, max_position_embeddings=8192, rope_parameters=rope)
        frequencies, factor = ROPE_INIT_FUNCTIONS[rope["rope_type"]](config, "cpu")
        angles = torch.outer(torch.arange(16), frequencies).repeat(1, 2)[None]
        theirs = apply_rotary_pos_emb(q, k, angles.cos() * factor, angles.sin() * factor)
        assert apart(theirs, made(gn.explain(config).spec).rotate(q, k)) <= bound, spec
        found.append((theirs, made(spec).rotate(q, k)))
    assert {eval(f"{{{parameters}}}")["rope_type"] for parameters, _ in rows} == set(ROPE_INIT_FUNCTIONS)
    for n, (theirs, _) in enumerate(found):
        for m, (_, ours) in enumerate(found):
            assert (apart(theirs, ours) <= bound) == (n == m), (rows[n], rows[m])


@pytest.mark.parametrize("kind, first", [(torch.bfloat16, 256), (torch.float16, 2048)])
def test_positions_in_half_precision(kind, first):
    rows = torch.ones(1, 8, 2, 64, dtype=kind)
    theirs = rotary_embedding_torch.RotaryEmbedding(dim=64).rotate_queries_or_keys(rows, offset=first)
    assert torch.equal(theirs[:, :, 0], theirs[:, :, 1])
    ours = made("rope(pairing=adjacent)").rotate(rows, rows, [first, first + 1])[0].float()
    exact = made("rope(pairing=adjacent)").rotate(rows.float(), rows.float(), [first, first + 1])[0]
    assert torch.equal(ours, exact.to(kind).float()) and apart(ours[:, :, 0], ours[:, :, 1]) > 0.5


def test_far_positions(shared):
    q, places = shared["q"], torch.arange(100_000, 100_016)
    angles = torch.outer(places.double(), 10000.0 ** -(torch.arange(0, 64, 2).double() / 64))
    pairs = torch.view_as_complex(q.double().unflatten(3, (32, 2)))
    exact = torch.view_as_real(pairs * torch.exp(1j * angles)).flatten(3)
    theirs = rotary_embedding_torch.RotaryEmbedding(dim=64).rotate_queries_or_keys(q, offset=100_000)
    assert 0.001 < apart(theirs.double(), exact) < 0.01  # measured: 0.0083
    assert apart(made("rope(pairing=adjacent)").rotate(q, q, places)[0].double(), exact) < 1e-6


def test_packed_sequences(shared):
    q, k, v = shared["q"], shared["k"], shared["v"]
    document = torch.tensor([0] * 6 + [1] * 10)
    mask = document[:, None] == document
    for spec in ("rope", "alibi"):
        alone = torch.cat([made(spec)(*(rows[:, :, part] for rows in (q, k, v))) for part in (slice(0, 6), slice(6, 16))], 2)
        places = torch.cat([torch.arange(6), torch.arange(10)])
        assert apart(made(spec)(q, k, v, positions=places, mask=mask), alone) < 4e-6
    assert apart(made("alibi")(q, k, v, mask=mask), alone) < 4e-6  # distances are those of one sequence
    assert apart(made("alibi")(q, k, v, positions=places), alone) > 0.01
