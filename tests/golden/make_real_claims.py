"""What MiniLM and SmolLM2 do with position, by numpy and transformers: real_claims.json, for gnomon/claims/evidence.

    python3 tests/golden/make_real_claims.py build/models build/text/king-james.txt [minilm] [smollm2]
    (Python 3.11, transformers 5.23.0, torch 2.15.0+cu132 on the CPU, gguf 0.19.0; minutes of one core; a model's name does it alone)

Numbers have the names of `gnomon claims --model` and are recomputed by what those names say: tables from the file's tensors, the rest
from hidden states, attention weights and losses of transformers in float32, on the same tokens. `tolerance` is what may differ: rounding, or,
where the definition leaves a choice (which position is added to which word, how a probe is regularised), what the choice moves.
`wrong` has numbers of a neighbouring definition that must not agree.
"""

import json
import pathlib
import sys

import numpy as np
import torch
import transformers

LINES, MOST, NEIGHBOURS = 1000, 0.95, 10
LAYERS = (0, 1, 10, 19, 28)  # that lose their rotation one at a time: a few of 30, the dearest among them
OUT = pathlib.Path(__file__).parent / "real_claims.json"


class Found:
    def __init__(self):
        self.numbers, self.wrong = {}, {}

    def add(self, key, value, tolerance):
        self.numbers[key] = {"value": float(value), "tolerance": float(tolerance)}

    def control(self, key, value):
        self.wrong[key] = float(value)


# --- Of tables

def variances(rows):
    """Of the principal directions, descending, and the directions."""
    _, sizes, directions = np.linalg.svd(rows - rows.mean(0), full_matrices=False)
    return sizes ** 2 / len(rows), directions


def count_of(values):
    return int(np.searchsorted(np.cumsum(values) / values.sum(), MOST) + 1)


def share_within(rows, directions):
    centred = rows - rows.mean(0)
    return ((centred @ directions.T) ** 2).sum() / (centred ** 2).sum()


def unit(rows):
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def kept(words, sums_of, own, random):
    """How often a word stays the nearest to its sum, and its ten nearest words do: over random positions."""
    all_words = unit(own(words))
    asked = random.permutation(len(words))[:600]
    before = all_words[asked] @ all_words.T
    after = unit(sums_of(asked)) @ all_words.T
    identity = (after.argmax(1) == asked).mean()
    nearest = []
    for scores in (before, after):
        scores = scores.copy()
        scores[np.arange(len(asked)), asked] = -2
        nearest.append(np.argsort(-scores, 1)[:, :NEIGHBOURS])
    return identity, np.mean([len(set(a) & set(b)) / NEIGHBOURS for a, b in zip(*nearest)])


def tables(found, model):
    e = model.embeddings
    words, places, types = (getattr(e, f"{kind}_embeddings").weight.detach().double().numpy() for kind in ("word", "position", "token_type"))
    length = lambda rows: np.linalg.norm(rows, axis=1).mean()  # noqa: E731
    found.add("word_length", length(words), 1e-5)
    found.add("position_length", length(places), 1e-5)
    found.add("ratio", length(places) / length(words), 1e-5)
    found.add("ratio_centred", length(places - places.mean(0)) / length(words - words.mean(0)), 1e-5)
    found.control("ratio", np.linalg.norm(places.mean(0)) / np.linalg.norm(words.mean(0)))
    of_places, (of_words, directions) = variances(places)[0], variances(words)
    found.add("position_directions", count_of(of_places), 0)
    found.control("position_directions", count_of(np.linalg.svd(places, compute_uv=False) ** 2))
    found.add("word_directions", count_of(of_words), 0)
    found.add("within", share_within(places, directions[:count_of(of_words)]), 1e-5)
    found.control("within", count_of(of_words) / words.shape[1])
    found.add("cosine", np.abs(unit(words) @ unit(places).T).mean(), 1e-5)
    found.add("entry", np.sqrt((words ** 2).mean()), 1e-5)
    found.add("entry_largest", np.abs(words).max(), 1e-5)
    random = np.random.default_rng(1)
    drawn = places[random.integers(0, len(places), len(words))]
    norm = lambda rows: e.LayerNorm(torch.tensor(rows, dtype=torch.float32)).detach().double().numpy()  # noqa: E731
    identity, neighbours = kept(words, lambda n: words[n] + drawn[n], lambda rows: rows, random)
    found.add("identity", identity, 0.03), found.add("neighbours", neighbours, 0.05)
    identity, neighbours = kept(words + types[0], lambda n: norm(words[n] + types[0] + drawn[n]), norm, random)
    found.add("identity_normed", identity, 0.03), found.add("neighbours_normed", neighbours, 0.05)
    found.control("neighbours", kept(words, lambda n: words[n] + 4 * drawn[n], lambda rows: rows, random)[1])


# --- Of windows

def bert_windows(tokenizer, ids, T, most):
    """[CLS] text [SEP], one after the other."""
    body = T - 2
    return torch.tensor([[tokenizer.cls_token_id, *ids[n * body:(n + 1) * body], tokenizer.sep_token_id] for n in range(most)])


def shares_of_terms(model, windows):
    """Of the first layer's logits: covariance of a term with the sum over the variance of the sum, rows centred; [head] of (2, 2)."""
    e, attention = model.embeddings, model.encoder.layer[0].attention.self
    heads, per_head = [], []
    for ids in windows:
        word = e.word_embeddings(ids).double()
        place = e.position_embeddings(torch.arange(len(ids))).double()
        rest = e.token_type_embeddings(torch.zeros_like(ids)).double()
        whole = word + place + rest
        sigma = (whole.var(1, unbiased=False, keepdim=True) + e.LayerNorm.eps).sqrt()
        part = lambda x: e.LayerNorm.weight.double() * (x - x.mean(1, keepdim=True)) / sigma  # noqa: E731
        word, place, entered = part(word), part(place), part(whole) + e.LayerNorm.bias.double()
        H, D = model.config.num_attention_heads, model.config.hidden_size // model.config.num_attention_heads
        product = lambda linear, x, bias: ((x @ linear.weight.double().T + (linear.bias.double() if bias else 0))  # noqa: E731
                                           .view(len(ids), H, D).transpose(0, 1))
        logits = product(attention.query, entered, True) @ product(attention.key, entered, True).transpose(1, 2) / D ** 0.5
        centre = lambda x: x - x.mean(2, keepdim=True)  # noqa: E731
        logits = centre(logits)
        total = (logits ** 2).sum((1, 2))
        here = [[((centre(product(attention.query, a, False) @ product(attention.key, b, False).transpose(1, 2) / D ** 0.5) * logits).sum((1, 2)) / total)
                 for b in (word, place)] for a in (word, place)]
        per_head.append(torch.stack([torch.stack(row) for row in here]))
        heads = H
    mean = torch.stack(per_head).mean(0).detach().numpy()  # (2, 2, heads)
    return [mean[:, :, h] for h in range(heads)]


def terms(found, shares):
    names = ("word", "position")
    for a in range(2):
        for b in range(2):
            found.add(f"{names[a]}_{names[b]}", np.mean([s[a, b] for s in shares]), 1e-4)
            found.add(f"{names[a]}_{names[b]}_most", max(s[a, b] for s in shares), 1e-4)
    found.add("terms_positional", np.mean([s[1, 1] > s[0, 0] for s in shares]), 1e-4)
    found.control("word_word", np.mean([s[1, 1] for s in shares]))


def habits(found, weights):
    """weights: of each layer (windows, heads, T, T)."""
    T = weights[0].shape[-1]
    far = np.abs(np.arange(T)[:, None] - np.arange(T))
    distance, previous, first = [], [], []
    for w in weights:
        w = w[:, :, 2:]  # the first two tokens have no choice
        distance.append((w * far[2:]).sum(-1).mean((0, 2)))
        previous.append(np.stack([w[:, :, i, i + 1] for i in range(T - 2)], -1).mean((0, 2)))
        first.append(w[..., 0].mean((0, 2)))
    distance, previous, first = map(np.concatenate, (distance, previous, first))
    found.add("attention_distance", distance.mean(), 0.01)
    found.add("attention_nearest", distance.min(), 0.01)
    found.add("attention_farthest", distance.max(), 0.02)
    found.add("heads_previous", (previous > 0.5).mean(), 1e-4)
    found.add("sinks", ((first > 0.5) & (previous <= 0.5)).mean(), 1.5 / len(first))  # one head may lie at the edge


def probe_error(rows):
    """rows (windows, T, C): a linear reader fitted on 60 % of the windows, chosen on 20 %, told on the last 20 %."""
    S, T, C = rows.shape
    cut, end = int(0.6 * S), int(0.8 * S)
    x = (rows - rows[:cut].mean((0, 1))) / (rows[:cut].std((0, 1)) + 1e-12)
    y = np.broadcast_to(np.arange(T) - (T - 1) / 2, (S, T))
    flat = x[:cut].reshape(-1, C)
    values, vectors = np.linalg.eigh(flat.T @ flat)
    target = vectors.T @ (flat.T @ y[:cut].reshape(-1))
    best = None
    for strength in 10.0 ** np.arange(-3, 7):
        weights = vectors @ (target / (values + strength))
        error = lambda part: np.abs(x[part] @ weights - y[part]).mean()  # noqa: E731, B023
        chosen = error(slice(cut, end))
        if best is None or chosen < best[0]:
            best = chosen, error(slice(end, S))
    return best[1]


def streams(found, rows, last):
    """rows: of each place in the model (windows, T, C), the input first."""
    lengths = [np.linalg.norm(r, axis=-1) for r in rows]
    ratios = [n[:, 0].mean() / n[:, 1:].mean() for n in lengths]
    found.add("first_length", max(ratios), 0.005 * max(ratios))
    found.add("first_length_layer", int(np.argmax(ratios)), 0)
    for key, n in (("input", 0), ("last", last)):
        error = probe_error(rows[n])
        found.add(f"probe.{key}", error, 0.1 * error + 0.3)


def pooled_change(a, b):
    a, b = a.mean(1), b.mean(1)
    return (1 - (a * b).sum(-1) / (a.norm(dim=-1) * b.norm(dim=-1))).mean().item()


@torch.no_grad()
def of_minilm(folder, text):
    found = Found()
    model = transformers.BertModel.from_pretrained(folder, attn_implementation="eager", dtype=torch.float32, add_pooling_layer=False).eval()
    tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_file=str(folder / "tokenizer.json"), cls_token="[CLS]", sep_token="[SEP]")
    tokenizer.backend_tokenizer.no_truncation()
    ids = tokenizer(text, add_special_tokens=False)["input_ids"]
    windows = lambda T, most: bert_windows(tokenizer, ids, T, most)  # noqa: E731
    tables(found, model)
    terms(found, shares_of_terms(model, windows(64, 8)))
    habits(found, [layer.numpy() for layer in model(windows(256, 8), output_attentions=True).attentions])
    hidden = model(windows(128, 40), output_hidden_states=True).hidden_states
    streams(found, [h.double().numpy() for h in hidden], len(hidden) - 1)
    four = windows(256, 4)
    places = torch.arange(256)[None].expand(4, -1)
    before = model(four).last_hidden_state
    for shift in (1, 16, 128):
        found.add(f"shift.{shift}", pooled_change(before, model(four, position_ids=places + shift).last_hidden_state), 1e-4)
    table = model.embeddings.position_embeddings.weight
    constant = model(four, position_ids=torch.zeros_like(places)).last_hidden_state
    table.zero_()
    found.add("without", pooled_change(before, model(four).last_hidden_state), 1e-4)
    found.control("without", pooled_change(before, constant))
    return found


class Decoder:
    def __init__(self, path):
        self.model = transformers.AutoModelForCausalLM.from_pretrained(path.parent, gguf_file=path.name, dtype=torch.float32,
                                                                       attn_implementation="eager").eval()
        self.inner = self.model.model
        self.rotary = self.inner.rotary_emb.forward

    def losses(self, rows, positions=None):
        out = []
        for row in rows:
            logits = self.model(row[None, :-1], position_ids=positions).logits[0]
            out.append(torch.nn.functional.cross_entropy(logits.double(), row[1:], reduction="none").numpy())
        return np.stack(out)

    def without(self, layers):
        """Nothing is turned in these layers."""
        def hook(_, args, kwargs):
            cos, sin = kwargs["position_embeddings"]
            return args, kwargs | {"position_embeddings": (torch.ones_like(cos), torch.zeros_like(sin))}
        return [self.inner.layers[n].self_attn.register_forward_pre_hook(hook, with_kwargs=True) for n in layers]


@torch.no_grad()
def of_smollm2(path, text):
    found = Found()
    tokenizer = transformers.AutoTokenizer.from_pretrained(path.parent, gguf_file=path.name)
    ids = torch.tensor(tokenizer(text, add_special_tokens=False)["input_ids"])
    windows = lambda T, most: torch.stack([ids[n * T:(n + 1) * T + 1] for n in range(most)])  # noqa: E731
    d = Decoder(path)
    config = d.model.config
    theta = config.rope_parameters["rope_theta"]
    turns = 128 * theta ** (-np.arange(0, 1, 2 / (config.hidden_size // config.num_attention_heads))) / (2 * np.pi)
    found.add("pairs_turning", (turns >= 1).mean(), 1e-4), found.add("pairs_still", (turns < 0.25).mean(), 1e-4)
    four = windows(256, 4)
    before = d.losses(four)
    moved = d.losses(four, torch.arange(128, 384)[None])
    found.add("shift.128", (moved - before).mean(), 1e-5)
    every = range(config.num_hidden_layers)
    costs = []
    for layers in [every, range(len(every) // 2), *([n] for n in LAYERS)]:
        hooks = d.without(layers)
        costs.append((d.losses(four) - before).mean())
        for hook in hooks:
            hook.remove()
    found.add("without", costs[0], 1e-3), found.control("without", costs[1])
    found.add("without_layer_most", max(costs[2:]), 1e-3), found.add("without_layer_most_at", LAYERS[np.argmax(costs[2:])], 0)
    long = d.losses(windows(2048, 4))
    found.add("loss", long.mean(), 1e-3), found.add("loss_first", long[:, :64].mean(), 1e-3), found.add("loss_last", long[:, -64:].mean(), 1e-3)
    found.control("loss", long[:, :1024].mean())
    weights = [d.inner(row[None, :-1], output_attentions=True).attentions for row in windows(256, 8)]
    habits(found, [np.concatenate([w[n].numpy() for w in weights]) for n in every])
    # transformers norms what leaves the last layer; the stream is what enters that norm.
    last = []
    hook = d.inner.norm.register_forward_pre_hook(lambda _, args: last.append(args[0]))
    hidden = [[*d.inner(row[None, :-1], output_hidden_states=True).hidden_states[:-1], last[-1]] for row in windows(128, 40)]
    hook.remove()
    streams(found, [np.concatenate([h[n].double().numpy() for h in hidden]) for n in range(len(every) + 1)], len(every))
    return found


def main():
    models, path, *names = sys.argv[1:]
    text = "".join(pathlib.Path(path).read_text().splitlines(keepends=True)[:LINES])
    makers = {"minilm": (of_minilm, "minilm"), "smollm2": (of_smollm2, "smollm2.gguf")}
    for name in names or makers:
        make, file = makers[name]
        found = make(pathlib.Path(models) / file, text)
        out = json.loads(OUT.read_text()) if OUT.exists() else {}
        out[name] = {"numbers": found.numbers, "wrong": found.wrong}
        out |= {"transformers": transformers.__version__, "torch": torch.__version__, "numpy": np.__version__, "lines": LINES}
        OUT.write_text(json.dumps(out, indent=1) + "\n")


if __name__ == "__main__":
    main()
