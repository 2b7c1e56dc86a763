"""The cases of make_authors.py that add something to the logits, that make vectors, or that draw positions."""

import json

from authors_layers import *


def tupe():
    H, D, T, L, bins, most = 2, 12, 11, 14, 12, 30
    C = H * D
    q, k = drawn(H, T, D, 141)
    names = ["multi_head_attention_forward"]
    (attend,), _ = theirs("guolinke/TUPE 4c64ff74", "fairseq/modules/multihead_attention.py", names)
    found = {}

    class Layer(nn.Module):
        """The encoder's layer: their attention function on given queries and keys; values are a unit matrix."""

        def __init__(self, attn_scale_factor, **_):
            super().__init__()
            self.scale = attn_scale_factor

        def forward(self, x, self_attn_padding_mask=None, self_attn_bias=None):
            rows = torch.cat([y.transpose(0, 1).flatten(1) for y in (q, k, torch.eye(T, D).expand(H, T, D))], -1)
            weight = torch.cat((rows.T, torch.zeros(3 * C, C - T)), -1)
            unit = torch.cat((torch.eye(T), torch.zeros(T, C - T)), -1)[:, None]
            out = attend(unit, unit, unit, self.scale, C, H, weight, torch.zeros(3 * C), None, None, False, 0.0, torch.eye(C), torch.zeros(C),
                         training=False, need_weights=False, attn_bias=self_attn_bias.clone())[0]
            found["weights"] = out[:, 0].reshape(T, H, D).transpose(0, 1)[..., :T]
            return x

    (_, encoder), source = theirs("guolinke/TUPE 4c64ff74", "fairseq/modules/transformer_sentence_encoder.py",
                                  ["relative_position_bucket", "TransformerSentenceEncoder"], TransformerSentenceEncoderLayer=Layer,
                                  LayerNorm=lambda size, export: nn.LayerNorm(size))
    module = encoder(0, 5, num_encoder_layers=1, embedding_dim=C, num_attention_heads=H, max_seq_len=L, rel_pos=True, rel_pos_bins=bins, max_rel_pos=most)
    module.eval()
    table, gain, shift = draw(L + 1, C, seed=143), 1 + draw(C, seed=144, size=0.2), draw(C, seed=145, size=0.2)
    uq, uk, bias = draw(C, C, seed=146, size=0.3), draw(C, C, seed=147, size=0.3), draw(bins + 1, H, seed=148)
    for layer, weight in ((module.pos, table), (module.pos_ln, gain), (module.pos_q_linear, uq), (module.pos_k_linear, uk),
                          (module.relative_attention_bias, bias)):
        layer.weight.data = weight.clone()
    module.pos_ln.bias.data = shift.clone()
    more = draw(C, seed=149), draw(C, seed=150)
    module.pos_q_linear.bias.data, module.pos_k_linear.bias.data = more
    tokens = torch.ones(1, T, dtype=torch.long)
    module(tokens)
    biased = found["weights"]
    module.pos_q_linear.bias.data, module.pos_k_linear.bias.data = torch.zeros(C), torch.zeros(C)
    module(tokens)
    right = found["weights"]
    disagrees("tupe", "their position projections have biases, drawn from N(0, 1) against 0, weights", biased, right)

    def rows(start):
        p = F.layer_norm(table, (C,), gain, shift, 1e-5)[start: start + T]
        return [(p @ w.T).reshape(T, H, D).transpose(0, 1) for w in (uq, uk)]

    def bucket(r):
        half, a = bins // 2, abs(r)
        exact = half // 2
        far = a if a < exact else min(exact + int(math.log(a / exact) / math.log(most / exact) * (half - exact)), half - 1)
        return far + (half if r > 0 else 0)

    special = F.layer_norm(table, (C,), gain, shift, 1e-5)[:2]
    corner = [((special[n] @ uq.T).reshape(H, D) * (special[n] @ uk.T).reshape(H, D)).sum(-1) / math.sqrt(2 * D) for n in (0, 1)]
    first, to = corner[0] + bias[bins // 2], corner[1] + bias[bins]

    def scores(start=1, sign=1, content=2, reset=True, order=True, part=False):
        pq, pk = rows(start)
        relative = torch.stack([torch.stack([bias[bucket(sign * (j - i))] for j in range(T)]) for i in range(T)]).permute(2, 0, 1)
        s = pq @ pk.transpose(-1, -2) / math.sqrt(2 * D) + (0 if part else relative)
        if reset:
            s[:, :, 0], s[:, 0, :] = to[:, None], first[:, None]
            if not order:
                s[:, :, 0] = to[:, None]
        return q @ k.transpose(-1, -2) / math.sqrt(content * D) + (s + relative if part else s)

    spec = f"tupe(length={L}, buckets={bins}, distance={{}}, cls={{}})"
    case(spec.format(most, "reset"), source, q, k, right, scores(),
         {"rows begin at 0": scores(start=0), "distance turned round": scores(sign=-1), "content over the root of D": scores(content=1),
          "no reset": scores(reset=False),
          "the corner goes to [CLS]": scores(order=False), "the bias is not reset": scores(part=True)},
         [spec.format(most, "off"), spec.format(16, "reset"), "none"], causal=False, positions=list(range(T)),
         params={"table": table[1:], "norm.gain": gain, "norm.bias": shift, "query.weight": uq, "key.weight": uk, "from_first": first, "to_first": to,
                 "bias": bias[:bins]})


def given_network(module, up, up_bias, down, down_bias):
    module[0].weight.data, module[0].bias.data, module[2].weight.data, module[2].bias.data = up.clone(), up_bias.clone(), down.clone(), down_bias.clone()
    return {"up.weight": up, "up.bias": up_bias, "down.weight": down, "down.bias": down_bias}


def fire():
    H, hidden, T, D, c, w = 3, 5, 11, 8, 0.4, 1.3
    for n, (L, causal, training) in enumerate(((4.0, True, False), (6.0, True, True), (3.0, False, True), (4.0, False, False))):
        q, k = drawn(H, T, D, 151 + n)
        network = draw(hidden, 1, seed=153 + n), draw(hidden, seed=154 + n), draw(H, hidden, seed=155 + n), draw(H, seed=156 + n)
        at = torch.arange(T, dtype=torch.float64)
        if n == 0:
            (one,), source = theirs("chuanyang-Zheng/DAPE bde344a8", "DAPE.py", ["FIRE"])
            module = one(H, hidden, c, L)
        else:
            (one,), source = theirs("mcleish7/arithmetic 86022a57", "cramming/architectures/embeddings.py", ["FIRE"])
            module = one(H, hidden, c, L, max_length=30)
        params = given_network(module.mlp, *network)
        module.L_multiplier.data = torch.tensor(w)
        if n == 0:
            right = softmax(module(plain(q, k)[None])[0], causal)
        else:
            module.train(training)
            torch.manual_seed(7)
            right = softmax(plain(q, k) + module(T, "cpu")[0], causal)
            torch.manual_seed(7)
            at = torch.sort(torch.randperm(30)[:T]).values.double() if training else at
        up, up_bias, down, down_bias = network

        def scores(w=w, divided=True, log=True, low=False):
            s = torch.zeros(H, T, T)
            psi = (lambda x: math.log(abs(c * x) + 1)) if log else (lambda x: abs(c * x))
            for i in range(T):
                for j in range(T):
                    most = float(min(at[i], abs(w * L)) if low else max(at[i], abs(w * L)))
                    x = psi(float(at[i] - at[j])) / ((psi(most) + 1e-6) if divided else 1)
                    s[:, i, j] = down @ torch.relu(up[:, 0] * x + up_bias) + down_bias
            return plain(q, k) + s

        spec = f"fire(hidden={hidden}, length={{}})"
        case(spec.format(int(L)), source, q, k, right, scores(),
             {"w does not act": scores(w=1.0), "not divided": scores(divided=False), "no logarithm": scores(log=False),
             "least in place of largest": scores(low=True)}, [spec.format(20), "none"], causal=causal, positions=at.tolist(),
             params=params | {"c": [c], "w": [w]})


def dape():
    for kind, H, hidden, T, D, seed in (("alibi", 3, 5, 9, 8, 161), ("alibi", 4, 7, 10, 4, 165), ("kerple", 2, 6, 11, 8, 169)):
        q, k = drawn(H, T, D, seed)
        network = draw(hidden, 2 * H, seed=seed + 2), draw(hidden, seed=seed + 3), draw(H, hidden, seed=seed + 4), draw(H, seed=seed + 5)
        d = distances(T).clamp(min=0)
        more = {}
        if kind == "alibi":
            (one,), source = theirs("chuanyang-Zheng/DAPE bde344a8", "DAPE.py", ["AliBi_DAPE"])
            module = one(H, mp_rank=0, mlp_width=hidden)  # their default rank of 1 leaves no slopes
            slopes = {3: [2.0**-4, 2.0**-8, 2.0**-2], 4: [2.0**-2, 2.0**-4, 2.0**-6, 2.0**-8]}[H]
            bias = -torch.tensor(slopes)[:, None, None] * d
        else:
            (one,), source = theirs("chuanyang-Zheng/DAPE bde344a8", "DAPE.py", ["ParallelKerpleLog_DAPE"])
            module = one(SimpleNamespace(num_attention_heads=H, pos_emb="", params_dtype=torch.float64, mlp_width=hidden), 0)
            size, rate = draw(H, seed=seed + 6).abs() + 0.1, draw(H, seed=seed + 7).abs() + 0.1
            module.bias_p.data, module.bias_a.data = size[:, None, None], rate[:, None, None]
            bias, more = -size[:, None, None] * torch.log(1 + rate[:, None, None] * d), {"size": size, "rate": rate}
        params = given_network(module.mlp2, *network) | more
        right = softmax(module(plain(q, k)[None])[0], True)

        def scores(bias=bias, order=(0, 1), slope=0.01, residual=True):
            up, up_bias, down, down_bias = network
            s = plain(q, k)
            out = torch.zeros(H, T, T)
            for i in range(T):
                for j in range(T):
                    both = [s[:, i, j], bias[:, i, j]]
                    x = up @ torch.cat([both[n] for n in order]) + up_bias
                    out[:, i, j] = down @ torch.where(x > 0, x, slope * x) + down_bias
            return out + (s + bias if residual else 0)

        other = {"alibi": "kerple", "kerple": "alibi"}[kind]
        case(f"dape(hidden={hidden}{', bias=kerple' if kind == 'kerple' else ''})", source, q, k, right, scores(),
             {"the bias first": scores(order=(1, 0)), "ReLU": scores(slope=0.0), "the network alone": scores(residual=False), "no bias": scores(0 * bias),
              "slopes turned round": scores(bias.flip(0))}, [f"dape(hidden={hidden}, bias={other})", "alibi", "none"], positions=list(range(T)), params=params)


def grape_additive():
    for normal, H, D, T, seed in ((False, 3, 8, 10, 171), (True, 4, 6, 9, 176)):
        q, k = drawn(H, T, D, seed)
        (_, _, one), source = theirs("model-architectures/GRAPE f5b539f3", "model/llama-mha-grape-a-querykeygated.py",
                                     ["_softplus_inverse", "_get_alibi_slopes", "QueryKeyGatedAdditiveBias"])
        module = one(H, D, u_l2_norm=normal, v_l2_norm=normal)
        u, v, omega = draw(H, D, seed=seed + 2), draw(H, D, seed=seed + 3), draw(H, seed=seed + 4)
        module.u.data, module.v.data, module.omega.data = u.clone(), v.clone(), omega.clone()
        right = softmax(plain(q, k) + module(q.transpose(0, 1)[None], k.transpose(0, 1)[None])[0], True)
        slopes = torch.tensor({3: [2.0**-4, 2.0**-8, 2.0**-2], 4: [2.0**-2, 2.0**-4, 2.0**-6, 2.0**-8]}[H])
        size = F.softplus(omega) * slopes
        if normal:
            u, v = (x / x.norm(dim=-1, keepdim=True) for x in (u, v))

        def scores(u=u, v=v, root=math.sqrt(D), size=size, product=False):
            s = torch.zeros(H, T, T)
            for i in range(T):
                for j in range(i + 1):
                    a, b = F.softplus((v * q[:, i]).sum(-1) / root), F.softplus((u * k[:, j]).sum(-1) / root)
                    s[:, i, j] = -size * (i - j) * (a * b if product else a + b)
            return plain(q, k) + s

        case("grape_additive", source + (", u and v of length 1" if normal else ", u and v as they are"), q, k, right, scores(),
             {"gates swapped": scores(v, u), "gates not over the root of D": scores(root=1.0), "product of the gates": scores(product=True),
              "slope is omega": scores(size=F.softplus(omega)), "none": plain(q, k)}, ["alibi", "none"], positions=list(range(T)),
             params={"log_slope": size.log(), "query_gate": v, "key_gate": u})


def kerple():
    H, D, T = 3, 8, 12
    q, k = drawn(H, T, D, 191)
    (one,), source = theirs("chijames/KERPLE 25be3d71", "megatron/mpu/layers.py", ["ParallelKerplePower"], get_model_parallel_world_size=lambda: 1,
                            get_model_parallel_rank=lambda: 0)
    module = one(SimpleNamespace(num_attention_heads=H, pos_emb="kerple_power_ap_", params_dtype=torch.float64))
    size, power = draw(H, seed=193).abs() + 0.1, torch.tensor([0.4, 1.0, 1.9])
    module.bias_a.data, module.bias_p.data = size[:, None, None], power[:, None, None]
    right = softmax(module(plain(q, k)[None])[0], True)
    d = distances(T).clamp(min=0).double()
    a, p = size[:, None, None], power[:, None, None]
    case("kerple_power", source, q, k, right, plain(q, k) - a * d**p,
         {"power of the product": plain(q, k) - (a * d) ** p, "linear": plain(q, k) - a * d, "parameters swapped": plain(q, k) - p * d**a,
          "logarithm": plain(q, k) - a * torch.log(1 + p * d)}, ["kerple_log", "alibi"], positions=list(range(T)), params={"size": size, "power": power})


def fouriers():
    """Third parties' code; both have the exact GELU, gnomon the tanh form: it takes the exact one's place, and the difference is printed."""
    for file, axes, features, hidden, width, scale, seed in (
            ("JHLew/Learnable-Fourier-Features f5377bbf|positional_encoding.py|LearnableFourierFeatures", 3, 10, 7, 6, 1, 231),
            ("willGuimont/learnable_fourier_positional_encoding 1fe87e28|src/learnable_fourier_positional_encoding/learnable_fourier_pos_encoding.py|"
             "LearnableFourierPositionalEncoding", 1, 6, 5, 8, 8, 237)):
        repository, path, name = file.split("|")
        w = draw(features // 2, axes, seed=seed, size=1.5)
        network = draw(hidden, features, seed=seed + 1), draw(hidden, seed=seed + 2), draw(width, hidden, seed=seed + 3), draw(width, seed=seed + 4)
        places = torch.cartesian_prod(*[torch.arange(n) for n in (2, 3, 2)[:axes]]).double().reshape(-1, axes) if axes > 1 else torch.arange(9.0)[:, None]
        results = []
        for form in ("tanh", "none"):
            proxy = SimpleNamespace(**{n: getattr(nn, n) for n in ("Module", "Linear", "Sequential", "Parameter", "init")},
                                    GELU=lambda form=form: nn.GELU(approximate=form))
            (one,), source = theirs(repository, path, [name], nn=proxy)
            if axes == 3:
                module = one(axes, features, hidden, width)
                module.Wr.data = w.clone()
            else:
                module = one(1, axes, features, hidden, width, 1.0)
                module.Wr.weight.data = w.clone()
            params = given_network(module.mlp, *network)
            results.append(module((places / scale)[None, :, None])[0] if axes == 3 else module((places / scale)[:, None]))
        right, exact = (x.detach() for x in results)
        up, up_bias, down, down_bias = network

        def vector(first=torch.cos, second=torch.sin, divide=math.sqrt(features), turns=1.0):
            rows = []
            for p in places / scale:
                angle = turns * (w @ p)
                y = up @ (torch.cat((first(angle), second(angle))) / divide) + up_bias
                y = 0.5 * y * (1 + torch.tanh(math.sqrt(2 / math.pi) * (y + 0.044715 * y**3)))
                rows.append(down @ y + down_bias)
            return torch.stack(rows)

        assert (vector() - right).abs().max() < 1e-9
        wrong = {"sine first": vector(torch.sin, torch.cos), "not over the root of F": vector(divide=1.0), "turns of 2 pi": vector(turns=2 * math.pi),
                 "over the root of F/2": vector(divide=math.sqrt(features / 2)), "exact GELU": exact}
        far = {words: float(f"{float((x - right).abs().max()):.3g}") for words, x in wrong.items()}
        assert min(far.values()) > 1e-7, far
        disagrees("fourier", f"{name} has the exact GELU, vectors of length {float(right.norm(dim=-1).mean()):.2g}", exact, right)
        spec = f"fourier(axes={axes}, features={features}, hidden={hidden}, scale={{}})"
        inputs(FILE, spec.format(scale), right, source + " with the tanh form of GELU", positions=places.tolist() if axes > 1 else places[:, 0].tolist(),
               params=params | {"frequencies": w}, wrong=[spec.format(scale + 1)], wrong_words=far)


def randomised():
    """Means of 20000 draws of the authors' noisy_fixed_positional_encodings, against the order statistics of a draw without return."""
    for tokens, most, training, means in json.loads(pathlib.Path(sys.argv[2]).read_text()):
        order = [(t + 1) * (most + 1) / (tokens + 1) - 1 for t in range(tokens)]
        wrong = {"eight positions more": [x + (t + 1) / (tokens + 1) * 8 for t, x in enumerate(order)], "consecutive": range(tokens),
                 "not sorted": [(most - 1) / 2] * tokens}

        def gap(values):
            return max(abs(a - b) for a, b in zip(means, values))

        assert gap(order) < 0.2 and min(map(gap, wrong.values())) > 1.2, (gap(order), {words: gap(x) for words, x in wrong.items()})
        print(f"randomised(most={most}): the authors' means are within {gap(order):.3f} of the theory")
        add(FILE, kind="mean", spec=f"randomised(most={most})", tokens=tokens, training=training, draws=20000, values=means,
            source="google-deepmind/randomized_positional_encodings e8c64749 models/positional_encodings.py", tolerance=0.6,
            wrong=[f"randomised(most={most + 8})", "shape(most=20)"])
