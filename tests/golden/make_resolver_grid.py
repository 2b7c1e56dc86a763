"""A drawn grid of configurations, and what the classes of transformers do with them when they run: tests/golden/resolver_grid.json.

    python3 make_resolver_grid.py                             writes resolver_grid.json
    python3 make_resolver_grid.py --cases 2000 --seed 5 --out FILE
                 a larger one; GNOMON_RESOLVER_GRID=FILE resolver_test --gtest_filter='Grid.*' compares the program with it

transformers 5.23.0, torch 2.15.0. resolver_grid.py draws; a third of the configurations is saved by save_pretrained and read again. The
model is made with random weights and runs on twelve equal tokens, so that only position makes rows of q differ: from the calls of eager
attention come the heads, the keys that each query sees, the factor of q·k, which channels turn and in which pairs, and how q grows. Frequencies
come from the class's rotary module (resolver_modules.py). `refused`: it raises that error.
"""

import argparse
import copy
import itertools
import json
import math
import pathlib
import random
import tempfile
import warnings

import resolver_grid
import torch
import transformers
from resolver_modules import classes, digest, frequencies, module_of, rotary_of, slopes
from transformers.models.auto.configuration_auto import CONFIG_MAPPING

warnings.filterwarnings("ignore")
transformers.logging.set_verbosity_error()
transformers.logging.disable_progress_bar()
HERE = pathlib.Path(__file__).parent
T = 12
DISTANCES = (0, 1, 2, 3, 5, 8, 13, 21, 34, 55, 89, 140)
# What a saved file holds beside the settings of position and of sizes.
LEFT_OUT = ("architectures", "transformers_version", "dtype", "bos_token_id", "eos_token_id", "decoder_start_token_id", "cls_token_id", "sep_token_id",
            "vocab_size", "initializer_", "use_cache", "tie_", "output_", "return_dict", "id2label", "label2id", "problem_type", "chunk_size_feed", "is_encoder",
            "hidden_act", "activation", "rms_norm", "layer_norm_eps", "norm_eps", "resid_", "embd_", "router_", "aux_", "num_experts", "moe_", "classifier",
            "_name", "torchscript", "summary_", "task_specific", "hc_", "swiglu", "num_local_experts", "mlp_", "n_shared", "routed_", "scoring", "norm_topk",
            "topk_", "n_group", "layer_norm", "initializer", "final_logit", "attn_logit", "mlp_bias", "attention_bias", "attention_dropout", "hidden_dropout")


def module_class(config):
    """The model of the text that this configuration is of."""
    found = [c for c in vars(module_of(config)).values() if isinstance(c, type) and issubclass(c, transformers.PreTrainedModel)
             and c.config_class is type(config) and c.__module__ == module_of(config).__name__ and c.__name__.endswith("Model")
             and "PreTrained" not in c.__name__ and "Encoder" not in c.__name__]
    return min(found, key=lambda c: (not c.__name__.endswith("TextModel"), len(c.__name__)))


class Watch:
    """The calls of eager attention, in order; what attention adds to the rows is left out, for sinks would make them differ by position."""

    def __init__(self, config):
        self.calls, self.module, self.reordered = [], module_of(config), False
        self.eager = getattr(self.module, "eager_attention_forward", None)
        self.turn = getattr(self.module, "apply_rotary_pos_emb_interleave", None)

    def __enter__(self):
        if self.eager:
            self.module.eager_attention_forward = self.attention
        if self.turn:
            self.module.apply_rotary_pos_emb_interleave = self.interleaved
        return self

    def __exit__(self, *_):
        if self.eager:
            self.module.eager_attention_forward = self.eager
        if self.turn:
            self.module.apply_rotary_pos_emb_interleave = self.turn

    def interleaved(self, q, *more, **named):
        """DeepSeek V3 turns adjacent channels and writes a pair's two halves apart, as position 0 shows, where nothing turns."""
        out = self.turn(q, *more, **named)
        before, after = (x[..., :1, :] / x[..., :1, :].norm(dim=-1, keepdim=True) for x in (q, out[0]))
        apart = torch.cat((before[..., 0::2], before[..., 1::2]), -1)
        self.reordered |= bool((after - apart).abs().max() < 1e-5 and (after - before).abs().max() > 1e-3)
        return out

    def attention(self, module, q, k, v, mask, *more, **named):
        out, weights = self.eager(module, q, k, v, mask, *more, **named)
        self.calls.append({"layer": module.layer_idx if hasattr(module, "layer_idx") else len(self.calls), "q": q[0], "k": k[0],
                           "weights": weights[0], "scale": module.scaling if "OPT" in type(module).__name__ else named.get("scaling"),
                           "reordered": self.reordered, "extent": getattr(module, "rel_extent", None)})
        return out * 0, weights


def sees(weights):
    """A number for each query, whose bits are the keys that it sees."""
    visible = (weights[..., :T] > 0).any(0)
    return [int(sum(1 << j for j in range(T) if row[j])) for row in visible]


def turned(rows, f):
    """The channels (first, number) and the pairs that turn rows (H,T,D) by these frequencies; None: the rows are equal."""
    size = rows.norm(dim=-1, keepdim=True)
    rows = (rows / size).double()
    if float((rows - rows[:, :1]).abs().max()) < 1e-4:
        return None
    angle = torch.arange(rows.shape[1])[:, None] * f.double()
    cos, sin = angle.cos(), angle.sin()
    n, width = 2 * len(f), rows.shape[-1]
    for first, pairs in itertools.product((0, width - n), ("halves", "adjacent")):
        if first < 0:
            continue
        part = rows[..., first:first + n]
        a, b = (part[..., :n // 2], part[..., n // 2:]) if pairs == "halves" else (part[..., 0::2], part[..., 1::2])
        a0, b0 = a[:, :1], b[:, :1]
        off = max(float((a - (a0 * cos - b0 * sin)).abs().max()), float((b - (b0 * cos + a0 * sin)).abs().max()))
        still = [c for c in range(width) if not first <= c < first + n]
        if off < 1e-3 and (not still or float((rows[..., still] - rows[:, :1, still]).abs().max()) < 1e-3):
            return [first, n, pairs]
    raise ArithmeticError("rows that turn by no known rule")


def label(config, layer):
    types = getattr(config, "layer_types", None)
    return types[layer] if types else "full_attention"


def lengths(config):
    types = json.dumps(getattr(config, "rope_parameters", None) or {})
    longest = config.max_position_embeddings
    return (T, longest, 4 * longest) if "dynamic" in types or "longrope" in types else (T,)


def rotation(config, call, entry):
    kind = label(config, call["layer"])
    thetas = getattr(config, "layer_rope_theta", None)
    if thetas and thetas[call["layer"]]:  # a rotary module for each base
        config = copy.deepcopy(config)
        config.rope_parameters["rope_theta"] = thetas[call["layer"]]
    at, f = [], None
    for length in lengths(config):
        try:
            found, a = frequencies(rotary_of(config, kind), config, kind, length)
        except (KeyError, AttributeError):  # a kind without a dictionary
            return
        f = found if f is None else f
        at.append({"length": length, "a": float(f"{float(a):.12g}"), **digest(found)})
    for role in ("q", "k"):
        entry["turned"] = turned(call[role][:, :T], f)  # beside them may stand those of blocks
        if not entry["turned"]:
            break
        if call["reordered"]:
            entry["turned"][2] = {"halves": "adjacent"}[entry["turned"][2]]
    entry["at"] = at if entry["turned"] else []


def entry_of(config, call):
    q, k = call["q"], call["k"]
    blocks = k.shape[1] > T  # compressed keys beside those of the tokens
    entry = {"heads": [q.shape[0], k.shape[0], q.shape[-1]]}
    if not blocks and not label(config, call["layer"]).startswith(("compressed", "heavily")):
        entry["sees"] = sees(call["weights"])
    if call["scale"] is not None:
        entry["scale"] = float(f"{float(call['scale']):.12g}")
    if call["extent"]:
        entry["extent"] = call["extent"]
    if classes(config, "RotaryEmbedding"):
        rotation(config, call, entry)
    size = q.norm(dim=-1)
    growth = float((size[:, -1] / size[:, 0]).mean()) if {"at", "extent"} & set(entry) else 1  # beside a table, words differ
    if abs(growth - 1) > 1e-4:
        entry["growth"] = float(f"{growth:.6g}")
    return entry


def run(model, tokens=T):
    ids = torch.full((1, tokens), 5)
    more = {"decoder_input_ids": ids} if model.config.is_encoder_decoder else {}
    with torch.no_grad():
        return model(input_ids=ids, **more, output_attentions=True)


def made(config):
    torch.manual_seed(1)
    cls = module_class(config)
    config._attn_implementation = "eager"
    model = cls(config)
    for name, p in model.named_parameters():  # what begins as nothing would hide a term
        if p.dim() > 1:
            torch.nn.init.normal_(p, std=0.3)
        elif name.endswith("sinks"):
            torch.nn.init.zeros_(p)
    return model.eval()


def watched(config):
    model = made(config)
    with Watch(config) as watch:
        out = run(model)
    return model, watch.calls, out


def rows(config, model):
    """How many tokens a table of positions has rows for."""
    def works(n):
        try:
            run(model, n)
            return True
        except (IndexError, RuntimeError, ValueError):
            return False
    most = getattr(config, "max_position_embeddings", None) or config.n_positions
    if works(4 * most):
        return 0
    return next(n for n in range(most + 4, 0, -1) if works(n))


def grouped(entries):
    """Layers of which the same is true, once."""
    found = []
    for layer, entry in entries:
        for old in found:
            if old[1] == entry:
                old[0].append(layer)
                break
        else:
            found.append(([layer], entry))
    return [{"layers": layers, **entry} for layers, entry in found]


def by_bias(config, model, out):
    """ALiBi: its slopes, as they are added to the logits."""
    scale = (config.hidden_size / config.num_attention_heads) ** (-0.5 if config.model_type == "falcon" else 0)
    if config.model_type == "mpt":
        bias = module_of(config).build_mpt_alibi_tensor(config.n_heads, 4)
        own = (bias[..., -1] - bias[..., -2]).flatten()
    else:
        own = slopes(config)
    more = {"scale": float(f"{model.blocks[0].attn.softmax_scale:.9g}")} if config.model_type == "mpt" else {}
    return [(i, {"sees": sees(w[0]), "slopes": [float(f"{float(s) * scale:.9g}") for s in own], **more}) for i, w in enumerate(out.attentions)]


def bucket_rows(bias):
    """Of keys before the query, and after it, at DISTANCES: what a table that holds its own row numbers gives."""
    return {"before": [round(float(bias[-1, -1 - d])) for d in DISTANCES], "after": [round(float(bias[0, d])) for d in DISTANCES]}


def by_buckets(config, model):
    """T5: the encoder's layers, then the decoder's."""
    entries, layer = [], 0
    for part in (model.encoder, model.decoder):
        for block in part.block:
            own = (block if config.model_type == "umt5" else part.block[0]).layer[0].SelfAttention
            n = own.relative_attention_bias.weight.shape[0]
            own.relative_attention_bias.weight.data = torch.arange(n)[:, None].expand(n, config.num_heads).float()
            found = bucket_rows(own.compute_bias(160, 160)[0, 0])
            if part is model.decoder:
                del found["after"]
            entries.append((layer, {"buckets": found, "scale": 1.0}))
            layer += 1
    return entries


def scale_of_deberta(config, model):
    """What q·k is multiplied by, as its own function counts the terms."""
    module, found = module_of(config), []
    keep = module.scaled_size_sqrt
    module.scaled_size_sqrt = lambda *given: found.append(keep(*given)) or found[-1]
    try:
        run(model)
    finally:
        module.scaled_size_sqrt = keep
    return 1 / float(found[0])


def by_table(config, model, out):
    more = {}
    if config.model_type == "mpnet":
        table = model.encoder.relative_attention_bias.weight
        table.data = torch.arange(table.shape[0])[:, None].expand(table.shape).float()
        more["buckets"] = bucket_rows(model.encoder.compute_position_bias(torch.zeros(1, 160, 1))[0, 0])
    if config.model_type.startswith("deberta"):
        more["scale"] = float(f"{scale_of_deberta(config, model):.9g}")
        first = model.encoder.layer[0].attention.self
        terms = sorted(first.pos_att_type) if getattr(first, "relative_attention", False) else []
        if terms:
            more["relative"] = {"span": first.max_relative_positions, "buckets": max(0, getattr(first, "position_buckets", 0)), "terms": terms}
        else:
            more["relative"] = None
    return [(i, {"sees": sees(w[0]), **more}) for i, w in enumerate(out.attentions)]


def gptj(config, model, out):
    """Its own table of sines and cosines."""
    class_ = type(model.h[0].attn)
    keep, calls = class_._attn, []

    def attn(self, q, k, *more, **named):
        calls.append((q[0], k[0], self.scale_attn))
        return keep(self, q, k, *more, **named)
    class_._attn = attn
    try:
        run(model)
    finally:
        class_._attn = keep
    dim = config.rotary_dim or config.n_embd
    f = 1.0 / (10000 ** (torch.arange(0, dim, 2).float() / dim))
    return [(i, {"heads": [q.shape[0], k.shape[0], q.shape[-1]], "sees": sees(out.attentions[i][0]), "scale": float(f"{1 / float(s):.9g}"),
                 "turned": turned(q, f), "at": [{"length": T, "a": 1.0, **digest(f)}]}) for i, (q, k, s) in enumerate(calls)]


def falcon(config, model, out):
    f, a = frequencies(rotary_of(config, "full_attention"), config, "full_attention", T)
    return [(i, {"sees": sees(w[0]), "at": [{"length": n, "a": float(f"{float(a):.12g}"), **digest(frequencies(rotary_of(config, "x"), config, "x", n)[0])}
                                            for n in lengths(config)]}) for i, w in enumerate(out.attentions)]


def kept(model):
    """Numbers that the caches of DeepSeek-V4's layers hold for the last token: keys, which are values, and those of blocks. The oldest key of
    a full window has been dropped, for the next token no longer sees it."""
    with torch.no_grad():
        layers = model(input_ids=torch.full((1, T), 5), use_cache=True).past_key_values.layers
    assert all(torch.equal(layer.keys, layer.values) for layer in layers)
    keys = sum(layer.keys.numel() + (layer.keys.shape[-1] if layer.cumulative_length > layer.keys.shape[-2] else 0) for layer in layers)
    return keys + sum(x.numel() for layer in layers for x in getattr(layer, "compressed_kv", {}).values() if x is not None)


def answer(config):
    model, calls, out = watched(config)
    family = config.model_type
    if family in ("t5", "mt5", "umt5"):
        return {"layers": grouped(by_buckets(config, model))}
    if family in ("bloom", "mpt") or getattr(config, "alibi", False):
        return {"layers": grouped(by_bias(config, model, out))}
    if family == "falcon":
        return {"layers": grouped(falcon(config, model, out))}
    if family in ("gptj", "codegen"):
        return {"layers": grouped(gptj(config, model, out))}
    found = {"kept": kept(model)} if family == "deepseek_v4" else {}
    if not classes(config, "RotaryEmbedding"):
        found["rows"] = rows(config, model)
    entries = [(c["layer"], entry_of(config, c)) for c in calls] or by_table(config, model, out)
    return {**found, "layers": grouped(entries)}


def told(config):
    """Of a saved file, what may be about position."""
    return {k: told(v) if k == "text_config" else v for k, v in config.items() if not k.startswith(LEFT_OUT) and not k.endswith(("_pdrop", "_dropout", "_epsilon"))
            and (k == "text_config" or not k.endswith("_config") or k in ("attn_config", "per_layer_config"))}


def read(config):
    as_ministral = config["model_type"] == "mistral" and "layer_types" in config  # AutoConfig does so
    return CONFIG_MAPPING["ministral" if as_ministral else config["model_type"]](**{k: v for k, v in json.loads(json.dumps(config)).items() if k != "model_type"})


def saved(config):
    """As transformers writes it, and what it makes of that."""
    with tempfile.TemporaryDirectory() as folder:
        read(config).save_pretrained(folder)
        written = json.loads(pathlib.Path(folder, "config.json").read_text())
        return written, transformers.AutoConfig.from_pretrained(folder)


def line_of(drawn, save):
    line = {"config": drawn}
    try:
        config = None
        if save:
            written, config = saved(drawn)
            line = {"saved": True, "config": told(written)}
        config = config or read(drawn)
        line |= answer(config.get_text_config())
    except Exception as error:  # of any kind: what matters is that there is no answer
        line.pop("layers", None)
        line["refused"] = type(error.__cause__ or error).__name__
        line["error"] = " ".join(str(error).split())[:120]
    return line


def sparse(line):
    """The files that the test reads: without what no reader of positions looks at."""
    for part in (line["config"], line["config"].get("text_config", {})):
        for key in ("vocab_size", "intermediate_size"):
            part.pop(key, None)
    return line


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--cases", type=int, default=450)
    options.add_argument("--seed", type=int, default=20261123)
    options.add_argument("--out", type=pathlib.Path, default=HERE / "resolver_grid.json")
    options.add_argument("--family")
    args = options.parse_args()
    rng = random.Random(args.seed)
    families = [args.family] if args.family else resolver_grid.families()
    masks, lines = [], []
    for n in range(args.cases):
        line = sparse(line_of(resolver_grid.draw(rng, families[n % len(families)]), rng.random() < 1 / 3))
        for entry in line.get("layers", []):  # each mask once
            if "sees" in entry:
                if entry["sees"] not in masks:
                    masks.append(entry["sees"])
                entry["sees"] = masks.index(entry["sees"])
        lines.append(line)
    text = ",\n".join(json.dumps(x, separators=(",", ":")) for x in lines)
    args.out.write_text(f'{{"tokens":{T},"distances":{json.dumps(DISTANCES)},\n"masks":{json.dumps(masks, separators=(",", ":"))},\n"cases":[\n{text}\n]}}\n')
    print(len(lines), "configurations,", sum("refused" in x for x in lines), "refused,", len(masks), "masks,", args.out.stat().st_size, "bytes")
    print(json.dumps(sorted({(x["config"]["model_type"], x["refused"], x["error"]) for x in lines if "refused" in x}), indent=0)) if args.family else None


main()
