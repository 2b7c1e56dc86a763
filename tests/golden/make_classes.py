"""Every causal and every encoder class of text of transformers, and what it does with position: tests/golden/classes.json.

    python3 make_classes.py                     writes classes.json
    python3 make_classes.py --only qwen3_next cohere2       writes these two anew and keeps the others; --print shows them

transformers 5.23.0, torch 2.15.0. Each class is made small with its own settings of position, writes its file (to_json_file), and runs on a
few tokens, with the attention_mask of ones that a tokenizer gives. A spy in the place of attention (AttentionInterface) sees the heads, the
factor of q·k and the mask of each layer; where a class computes attention itself, class_watch sees the product and the softmax. A second one
around the class's functions of rotation sees vectors before and after, from which pairs and channels follow. Frequencies are those of the
class's rotary modules; the cache is the class's own. gnomon is not used.

For each class: `config`, the file; `defaults`, its keys that the class has the same value for, which older files leave out; `layers`, groups
of layers that do the same; `bare`, the sizes and the rotation of the class of full size when the file says nothing. `wrappers`: classes that
keep the file of such a class in an object. `unmade`: classes that could not be made to run, with the reason.
"""

import argparse
import contextlib
import importlib
import inspect
import json
import math
import pathlib
import re
import tempfile
import warnings

import torch
import transformers
from class_shapes import INPUT_ROWS, MODELS, REACHING, STREAMS, VARIANTS, shrunk
from class_watch import Reaching, Watching, factor, tables_of, word_factor
from resolver_modules import digest, module_of
from transformers.masking_utils import ALL_MASK_ATTENTION_FUNCTIONS, eager_mask
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS
from transformers.models.auto import modeling_auto
from transformers.models.auto.configuration_auto import CONFIG_MAPPING

warnings.filterwarnings("ignore")
transformers.logging.set_verbosity_error()
HERE = pathlib.Path(__file__).parent
T = 11
NOT_OF_TEXT = re.compile("Vision|Audio|Image|Video|Unscaled|Indexer|Compressor|Depth|CodeTalker|Code2Wav|Token2Wav|DiT")


class NoAnswer(Exception):
    pass


def inside(config, text):
    """The key under which a larger model's file keeps the settings of its text."""
    for key in type(config).sub_configs:
        own = getattr(config, key, None)
        if own is text:
            return key
        below = inside(own, text) if own is not None and type(own).sub_configs else None
        if below:
            return f"{key}.{below}"
    return None


def has_text_model(cls):
    """Whether the class's own module has a decoder of text, though no table of Auto classes names it."""
    try:
        names = [n for n, c in vars(module_of(cls)).items() if isinstance(c, type) and getattr(c, "config_class", None) is type(cls)]
    except Exception:  # of any kind: it has no module
        return False
    return hasattr(cls, "vocab_size") and any(n.endswith(("ForCausalLM", "TextModel", "ForConditionalGeneration")) for n in names)


def of_text():
    """Configuration types of a causal or a masked language model, or of the text of a larger model; and the larger models."""
    named = set(modeling_auto.MODEL_FOR_CAUSAL_LM_MAPPING_NAMES) | set(modeling_auto.MODEL_FOR_MASKED_LM_MAPPING_NAMES)
    types, wrappers = set(), {}
    for name in CONFIG_MAPPING:
        try:
            config = CONFIG_MAPPING[name]()
            text = config.get_text_config()
        except Exception:  # of any kind: such a class has no file of its own
            continue
        if config.is_encoder_decoder or getattr(text, "is_encoder_decoder", False):
            continue
        if text is not config:
            wrappers[name] = (text, inside(config, text))
        elif name in named or has_text_model(config):
            types.add(name)
    inner = {c.model_type: type(c) for c, _ in wrappers.values()}
    return types | set(inner), wrappers, inner


def model_class(config):
    if config.model_type in MODELS:
        module, name = MODELS[config.model_type].rsplit(".", 1)
        return getattr(importlib.import_module(f"transformers.models.{module}"), name)
    module = module_of(config)
    found = [c for c in vars(module).values() if isinstance(c, type) and issubclass(c, transformers.PreTrainedModel)
             and c.config_class is type(config) and c.__module__ == module.__name__ and "PreTrained" not in c.__name__
             and c.__name__.endswith(("Model", "Transformer", "Decoder")) and not NOT_OF_TEXT.search(c.__name__)]
    if not found:
        raise NoAnswer("no model of text")
    return min(found, key=lambda c: (not c.__name__.endswith("TextModel"), not c.__name__.endswith("Model"), len(c.__name__)))


class Spy:
    """What reaches attention, and what the functions of rotation are given and return."""

    now = None  # the one that listens

    def __init__(self, model):
        self.calls, self.turns, self.masked = [], [], not model._supports_sdpa
        module = module_of(model.config)
        places = [module] + [c for c in vars(module).values() if isinstance(c, type) and c.__module__ == module.__name__]
        self.kept = [(p, n, f) for p in places for n, f in vars(p).items() if re.match(r"apply_(\w*_)?(rotary|rope)", n)]

    def __enter__(self):
        for place, name, function in self.kept:
            own = isinstance(function, staticmethod)
            turning = self.turning(function.__func__ if own else function)
            setattr(place, name, staticmethod(turning) if own else turning)
        Spy.now = self
        return self

    def __exit__(self, *_):
        for place, name, function in self.kept:
            setattr(place, name, function)

    def turning(self, function):
        def turn(*given, **named):
            out = function(*given, **named)
            after = out if isinstance(out, tuple) else (out,)
            rows = [x.detach() for x in given if isinstance(x, torch.Tensor) and x.dim() == 4 and any(x.shape == y.shape for y in after)]
            self.turns.append([(x, y.detach()) for x, y in zip(rows, after)])
            return out
        return turn

    def attention(self, module, q, k, v, mask=None, *more, **named):
        mask = named.get("attention_mask", mask)
        scale = named.get("scaling", getattr(module, "scaling", None))
        if scale == 1.0:  # the class may have multiplied q by it before
            scale = float(f"{factor(q.detach()[0], self.watching.maps) * factor(k.detach()[0], self.watching.maps):.8g}")
        self.watching.maps = []
        causal = not self.masked and getattr(module, "is_causal", True)  # without a mask; eager attention then hides nothing
        turns, self.turns[:] = list(self.turns), []
        self.calls.append({"module": module, "q": q.detach(), "k": k.detach(), "mask": mask, "causal": causal, "turns": turns, "scale": scale})
        return q.new_zeros(q.shape[0], q.shape[2], q.shape[1], v.shape[-1]), None


ALL_ATTENTION_FUNCTIONS.register("spy", lambda *given, **named: Spy.now.attention(*given, **named))
ALL_MASK_ATTENTION_FUNCTIONS.register("spy", eager_mask)


def rotations(model):
    """(label, frequencies, factor) of each rotary module of the text; its labels are kinds of layers."""
    found = []
    for name, module in model.named_modules():
        if NOT_OF_TEXT.search(type(module).__name__) or not re.search("Rotary|Rope|RoPE", type(module).__name__):
            continue
        for buffer, f in module.named_buffers(recurse=False):
            if buffer.endswith("inv_freq") and "original" not in buffer:
                label = buffer.removesuffix("inv_freq").removesuffix("_")
                factor = getattr(module, f"{label}_attention_scaling" if label else "attention_scaling", 1.0)
                found.append((label or name.rsplit(".", 1)[-1], f.double(), float(factor)))
    return found or [(name, f, 1.0) for name, table in tables_of(model).values() for f in [turned_by(table)] if f is not None]


def turned_by(table):
    """The frequencies of a table of sines and cosines, from its angles farther and farther on; None: it is none."""
    n = table.shape[1] // 2
    sines, cosines = table[:, :n].detach().double(), table[:, n:2 * n].detach().double()
    if len(table) < 4 or float((sines ** 2 + cosines ** 2 - 1).abs().max()) > 1e-5:
        return None
    turns = torch.atan2(sines, cosines)
    f, at = turns[1], 1
    while 2 * at < len(table):
        at *= 2
        f = (turns[at] + 2 * math.pi * torch.round((f * at - turns[at]) / (2 * math.pi))) / at
    return f


def by_token(x, tokens):
    """(heads, tokens, channels) of a call's rows."""
    x = x[0]
    return x if x.shape[1] == tokens else x.transpose(0, 1) if x.shape[0] == tokens else None


def angles(x, y, first, n, pairs):
    """The angle and the growth of each pair between rows x and rows y; None: y is not x turned in these pairs."""
    x, y = x[..., first:first + n].double(), y[..., first:first + n].double()
    cut = (lambda v: (v[..., 0::2], v[..., 1::2])) if pairs != "halves" else (lambda v: (v[..., :n // 2], v[..., n // 2:]))
    a, b = cut(x)
    c, d = (y[..., :n // 2], y[..., n // 2:]) if pairs == "apart" else cut(y)
    turn = torch.complex(c, d) / torch.complex(a, b)
    return None if float((turn - turn.mean(0, keepdim=True)).abs().max()) > 1e-3 else turn.mean(0)


def matched(turn, sets, positions):
    """Of the sets of frequencies the one by which these numbers turn, and the stream of positions of each pair; ?: several fit."""
    for label, f, factor in sets:
        if len(f) != turn.shape[-1]:
            continue
        streams = [factor * torch.exp(1j * p[:, None] * f) for p in positions]
        fits = torch.stack([(turn - s).abs().amax(0) < 2e-3 for s in streams])
        if bool(fits.any(0).all()):
            return label, f, factor, [str(int(torch.argmax(one.int()))) if int(one.sum()) == 1 else "?" for one in fits.T]
    return None


def turned(before, after, seen, sets, positions):
    """Channels of attention's vector that turn, in which pairs and by which frequencies."""
    x, y, q = (by_token(v, T) for v in (before, after, seen))
    if x is None or y is None or x.shape != y.shape:
        return None
    width = x.shape[-1]
    for n in sorted({2 * len(f) for _, f, _ in sets}, reverse=True):
        for first in dict.fromkeys((0, width - n)):
            for pairs in ("halves", "adjacent", "apart"):
                turn = angles(x, y, first, n, pairs) if first >= 0 else None
                found = matched(turn, sets, positions) if turn is not None else None
                if found:
                    at = next((s for s in range(q.shape[-1] - width + 1) if torch.allclose(q[..., s:s + width], y, atol=1e-4)), None)
                    if at is None:
                        return None
                    return at + first, n, "halves" if pairs == "halves" else "adjacent", found
    raise NoAnswer("rows that turn by no known rule")


def rotation(call, sets, positions, entry):
    for rows in call["turns"]:
        for before, after in rows:
            if before.shape != after.shape:
                continue
            found = turned(before, after, call["q"], sets, positions)
            if not found:
                continue
            first, n, pairs, (label, f, factor, streams) = found
            entry["turned"], entry["f"] = [first, n, pairs], {"a": float(f"{factor:.12g}"), **digest(f)}
            if len(positions) > 1:
                entry["streams"] = "".join(streams)
            return
    entry["turned"] = None


def sees(call):
    """The first key that the last query sees, and whether the first query sees the last key."""
    mask = call["mask"]
    if mask is None:
        return {"first": 0, "later": not call["causal"]}
    row = (mask[0, 0, :, :T] > -1) if mask.dtype != torch.bool else mask[0, 0, :, :T]
    return {"first": int(row[-1].nonzero()[0]), "later": bool(row[0, -1])}


def entry_of(call, sets, positions, per_token):
    q, k = call["q"], call["k"]
    entry = {"heads": [q.shape[1], k.shape[1], q.shape[3]], **sees(call)}
    if call["scale"] is not None:
        entry["scale"] = float(f"{float(call['scale']):.9g}")
    if call.get("bias"):
        entry["bias"] = call["bias"]
    rotation(call, sets, positions, entry)
    if per_token is not None:
        entry["kept"] = per_token
    return entry


def cache_of(out):
    """Numbers that each layer's cache holds for a token; None: the class keeps none."""
    cache = getattr(out, "past_key_values", None)
    if cache is None or not hasattr(cache, "layers"):
        return None
    kept = []
    for layer in cache.layers:
        keys, values = getattr(layer, "keys", None), getattr(layer, "values", None)
        parts = [x for x in (keys, values) if isinstance(x, torch.Tensor) and x.numel()]
        kept.append(sum(x.shape[1] * x.shape[3] for x in parts))
    return kept


def unfilled(config):
    for implementation in ("spy", "eager"):
        for c in (config, config.get_text_config()):
            c._attn_implementation = implementation
            c._experts_implementation = "eager"
        try:
            return model_class(config)(config)
        except KeyError as error:  # it looks its attention up in a table of its own
            if error.args != ("spy",):
                raise
    raise NoAnswer("no attention that it can be made with")


def made(config):
    torch.manual_seed(1)
    model = unfilled(config)
    with torch.no_grad():
        for p in model.parameters():
            if p.dim() > 1 and p.requires_grad:
                torch.nn.init.normal_(p, std=0.2)
    return model.float().eval()


def words_of(config, tokens):
    """Tokens that all differ as far as the vocabulary goes, and that are no padding."""
    pad = getattr(config, "pad_token_id", None)
    ids = torch.arange(tokens) % 16 + 2  # MPNet takes 1 for padding, whatever it is told
    if pad:
        ids += pad
    return ids.expand(INPUT_ROWS.get(config.model_type, 1), tokens)


def inputs(config, model, tokens):
    ids = words_of(config, tokens)
    masked = "attention_mask" in inspect.signature(model.forward).parameters
    return {"input_ids": ids, **({"attention_mask": torch.ones(1, tokens, dtype=torch.long)} if masked else {})}


@contextlib.contextmanager
def in_double(model):
    """Numbers of twice the digits: without a spy a factor is measured."""
    torch.set_default_dtype(torch.float64)
    try:
        yield model.double()
    finally:
        torch.set_default_dtype(torch.float32)
        model.float()


def run(config, model, positions=None):
    """What reached attention, what came out, and which rows of tables the tokens read."""
    more = {"position_ids": positions} if positions is not None else {}
    with Spy(model) as spy, Watching(model, T, spy.turns) as spy.watching:
        out = model(**inputs(config, model, T), **more)
    if spy.calls:
        return spy.calls, out, spy.watching.read
    try:
        with in_double(model):
            return watched(config, model, more), out, spy.watching.read
    except RuntimeError:  # the class itself says float32
        return watched(config, model, more), out, spy.watching.read


def watched(config, model, more):
    """The calls of attention that the class computes itself."""
    with Reaching(model, REACHING.get(config.model_type), T) as reaching, Spy(model) as spy, Watching(model, T, spy.turns) as watching:
        spy.watching = watching
        model(**inputs(config, model, T), **more)
        return reaching.calls or watching.calls()


def streams_of(config):
    """The streams of positions that such classes take: (3, 1, T), or as many; far apart, so that slow pairs tell them apart."""
    return torch.stack([torch.arange(T) * 100 * (s + 1) for s in range(STREAMS.get(config.model_type, 3))])[:, None]


def grouped(entries):
    groups = []
    for layer, entry in sorted(entries.items()):
        for old in groups:
            if old[1] == entry:
                old[0].append(layer)
                break
        else:
            groups.append(([layer], entry))
    return [{"layers": layers, **entry} for layers, entry in groups]


def layers_of(config, model):
    sets = rotations(model)
    one = [torch.arange(T).double()]
    calls, out, read = run(config, model)
    kept = cache_of(out)
    entries = {}
    for call in calls:
        layer = getattr(call["module"], "layer_idx", None)
        layer = len(entries) if layer is None else layer
        if layer not in entries:
            entries[layer] = entry_of(call, sets, one, None if kept is None else kept[layer] if layer < len(kept) else 0)
    if "mrope" in pathlib.Path(module_of(config).__file__).read_text():
        three = streams_of(config)
        for call in run(config, model, three)[0]:
            more = {}
            rotation(call, sets, list(three[:, 0].double()), more)
            if "streams" in more:
                entries[call["module"].layer_idx]["streams"] = more["streams"]
    if not entries:
        raise NoAnswer("no call of attention through the interface")
    for layer in range(config.num_hidden_layers):
        entries.setdefault(layer, {"heads": None})
    turned_rows = {2 * len(f) for _, f, _ in sets} if any(e.get("turned") for e in entries.values()) else set()
    return grouped(entries), {name: rows for name, rows in read.items() if dict(tables_of(model).values())[name].shape[1] not in turned_rows}


def longest(config, model, rows):
    """How many tokens a class takes whose table ends with this row; None: it makes more rows, or others."""
    def takes(tokens):
        try:
            with torch.no_grad():
                model(**inputs(config, model, tokens))
        except Exception:  # of any kind: it takes no so long input
            return False
        return True
    return rows if takes(rows) and not takes(rows + 1) else None


def table_of(config, model, read, ends=None):
    """The table beside the words: the row of the first token, and how many tokens have one; of sines, some of them as well. `ends`: the
    class takes no more tokens than rows, as is known of it; None: it is asked."""
    moving = {name: rows for name, rows in read.items() if rows and rows == list(range(rows[0], rows[0] + T))}
    if not moving:
        return None
    name, rows = next(iter(moving.items()))
    table = dict(tables_of(model).values())[name]
    last = len(table) - rows[0]
    found = {"first": rows[0], "longest": longest(config, model, last) if ends is None else last if ends else None}
    if not (isinstance(table, torch.nn.Parameter) and table.requires_grad):
        width = table.shape[1]
        channels = sorted({0, 1, 2, 3, width // 2 - 1, width // 2, width // 2 + 1, width - 2, width - 1})
        found["sines"] = [[t, c, float(f"{float(table[rows[t], c]):.7g}")] for t in (0, 1, T - 1) for c in channels]
    more = sorted(other for other in read if other not in moving)
    if more:
        found["more"] = more
    with in_double(model):
        words = words_beside(config, model, name, rows)
    return found if words is None else {**found, "words": words}


def words_beside(config, model, name, rows):
    at = T // 2
    given = inputs(config, model, T)

    def last():
        with torch.no_grad():
            return model(**given)[0][0, at].clone()
    return word_factor(model, last, int(given["input_ids"][0, at]), name, rows[at])


ABOUT = re.compile("|".join((
    "model_type", "hidden_size$", "d_model", "n_embd", "^dim$", "num_hidden_layers", "n_layer", "num_layers", "_heads?$", "_heads_", "num_key_value",
    "kv_heads", "head_dim", "head_size", "kv_channels", "max_pos", "max_seq", "n_pos", "model_max", "rope", "rotary", "rotate", "layer_types", "layers_block_type", "sliding", "window", "swa",
    "qk_", "v_head", "kv_lora", "no_rope", "multiplier", "query_pre", "scalar", "per_layer_config", "global_attn", "local_attention", "chunk", "alibi",
    "position", "nope", "attn_layer", "block_types", "interval", "hybrid_layer", "index_", "bidirectional", "is_causal", "attn_scale", "temperature", "floor_scale",
    "is_decoder", "pad_token_id$", "scale_embedding", "scale_sqrt", "attention_types", "attn_type", "clamp_len", "bi_data", "^causal$", "head_ratio", "bottleneck",
    "d_kv$", "d_head$", "^embed_dim$", "^emb_dim$", "^layers$", "decoder_layers", "relative_attention", "block_size", "separate_cls", "axial_pos", "compress", "shared_layers", "pattern", "layer_group", "full_att", "scale_attn", "mamba_enabled", "attention_every", "mup", "use_mem_rope", "num_mem", "k_eq_v", "per_layer", "dense_layers", "layer_freq")))
NOT_ABOUT = re.compile("(?<!pad)_token|vocab|initializer|hidden_size_per_layer|mamba_(?!enabled)|index_topk|indexer_types|linear_|router|num_mtp|conv_|expert|q_lora_rank")


def told(file):
    """Of a saved file what may be about position: a class reads no other key for it."""
    return {k: v for k, v in file.items() if ABOUT.search(k) and not NOT_ABOUT.search(k)}


def saved(config, whole=False):
    with tempfile.NamedTemporaryFile("r", suffix=".json") as file:
        config.to_json_file(file.name)
        text = json.load(file)
    return text if whole else told(text)


def bare_of(cls, config, small, table):
    """Sizes, rotation and table of the class of full size. The rotary module alone is made, or a model that is small but for its positions."""
    found = {"width": config.hidden_size, "layers": config.num_hidden_layers, "heads": config.num_attention_heads}
    module = module_of(config)
    rotary = [c for n, c in vars(module).items() if isinstance(c, type) and c.__module__ == module.__name__ and re.search("Rotary|RoPE", n)
              and not NOT_OF_TEXT.search(n) and issubclass(c, torch.nn.Module)]
    digests = []
    for c in rotary[:1]:
        for label, f, factor in rotations(torch.nn.ModuleDict({"rotary": c(config)})):
            digests.append({"of": label, "a": float(f"{factor:.12g}"), **digest(f)})
    if not table and (digests or not small):
        return {**found, "rotations": digests}
    model = made(small)
    layers, read = layers_of(small, model)
    if not digests and any(group.get("turned") for group in layers):
        digests = [{"of": label, "a": factor, **digest(f)} for label, f, factor in rotations(model)]
    place = table_of(small, model, read, bool(table) and table["longest"] is not None)
    return {**found, "rotations": digests, **({"table": place} if place else {})}


def defaults_of(cls, file):
    """Keys that this class has the same value for when the file has none of them."""
    sizes = {k: v for k, v in file.items() if isinstance(v, int) and not isinstance(v, bool) and "window" not in k and "theta" not in k}
    try:
        without = saved(cls(**{k: v for k, v in sizes.items() if k != "model_type"}))
    except Exception:  # the class needs more than sizes
        return []
    return sorted(k for k in file if k not in sizes and k != "model_type" and without.get(k, "absent") == file[k])


def answer(name, cls, variant=None):
    config = shrunk(name, cls, variant or {})
    file = saved(config)
    again = cls(**{k: v for k, v in saved(config, whole=True).items() if k != "model_type"})
    if saved(again) != file:
        raise NoAnswer("its file gives another configuration")
    model = made(again)
    layers, read = layers_of(again, model)
    found = {"type": name, **({"variant": variant} if variant else {}), "config": file, "defaults": defaults_of(cls, file), "layers": layers,
             "table": table_of(again, model, read)}
    if variant:
        return {**found, "bare": None}
    beside = found["table"] or any(group.get("turned") for group in layers)
    try:
        found["bare"] = bare_of(cls, cls(), shrunk(name, cls, bare=True) if beside else None, found["table"])
    except Exception as error:  # of any kind: it has no default
        found["bare"] = None
        print(name, "has no answer of full size:", type(error).__name__, str(error)[:80])
    return found


def line_of(x):
    return json.dumps(x, separators=(",", ":"))


def key_of(name, variant):
    return name + (" " + line_of(variant) if variant else "")


def kept(args):
    """What classes.json has of the classes that are not asked."""
    if not args.only:
        return {}, {}
    old = json.loads(args.out.read_text())
    return ({key_of(c["type"], c.get("variant")): c for c in old["classes"] if c["type"] not in args.only},
            {name: why for name, why in old["unmade"].items() if name not in args.only})


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--only", nargs="*")
    options.add_argument("--print", action="store_true")
    options.add_argument("--out", type=pathlib.Path, default=HERE / "classes.json")
    args = options.parse_args()
    types, wrappers, inner = of_text()
    classes, unmade = kept(args)
    for name in sorted(args.only or types):
        try:
            for variant in (None, *VARIANTS.get(name, ())):
                classes[key_of(name, variant)] = answer(name, inner.get(name) or CONFIG_MAPPING[name], variant)
            unmade.pop(name, None)
        except Exception as error:  # of any kind: it is told
            unmade[name] = f"{type(error).__name__}: {' '.join(str(error).split())[:110]}"
            if args.print:
                import traceback
                traceback.print_exc()
        print(name, unmade.get(name, "made"), flush=True)
        if args.print and name in classes:
            print(json.dumps(classes[name], indent=1))
    around = {n: [key, c.model_type] for n, (c, key) in sorted(wrappers.items()) if c.model_type in classes and key}
    lines = ",\n".join(line_of(classes[name]) for name in sorted(classes))
    around_lines = ",\n".join(f"{line_of(n)}:{line_of(w)}" for n, w in around.items())
    args.out.write_text(f'{{"tokens":{T},\n"wrappers":{{\n{around_lines}}},\n"unmade":{json.dumps(dict(sorted(unmade.items())), indent=0)},\n"classes":[\n{lines}\n]}}\n')
    print(len(classes), "classes,", len(around), "wrappers,", len(unmade), "unmade")
    for name, why in unmade.items():
        print(" ", name, why)


if __name__ == "__main__":
    main()
