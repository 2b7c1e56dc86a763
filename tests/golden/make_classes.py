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
import json
import pathlib
import re
import tempfile
import warnings

import torch
import transformers
from class_calls import T, NoAnswer, entry_of, rotation, turned
from class_shapes import AXES, KERNELS, MODELS, OTHER, REACHING, layer_count, parts_of, shrunk, width_of
from class_spy import Spy
from class_stacks import Stack, config_of, objects_of, own_calls, stacks_of
from class_tables import in_double, inputs_of, table_of, tables_of, turned_by
from class_watch import Reaching, Watching
from resolver_modules import digest, module_of
from transformers.initialization import no_init_weights
from transformers.models.auto import modeling_auto
from transformers.models.auto.configuration_auto import CONFIG_MAPPING

warnings.filterwarnings("ignore")
transformers.logging.set_verbosity_error()
HERE = pathlib.Path(__file__).parent
torch.set_num_threads(1)  # the models are so small that more threads only wait for each other
NOT_OF_TEXT = re.compile("Vision|Audio|Image(?!Text)|Video|Unscaled|Indexer|Compressor|Depth|CodeTalker|Code2Wav|Token2Wav|DiT")


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


def named_of_text():
    """Types that tables of Auto classes name: causal or masked language models, and encoders that name or find parts of a text."""
    tables = ("CAUSAL_LM", "MASKED_LM", "TOKEN_CLASSIFICATION", "QUESTION_ANSWERING")
    return {name for table in tables for name in getattr(modeling_auto, f"MODEL_FOR_{table}_MAPPING_NAMES")} | {"dpr", "visual_bert"}


def of_text():
    """Configuration types of a causal or a masked language model, or of another encoder of text, or of the text of a larger model; and the
    larger models."""
    named = named_of_text()
    types, wrappers = set(), {}
    for name in CONFIG_MAPPING:
        try:
            config = CONFIG_MAPPING[name]()
            text = config.get_text_config()
        except Exception:  # of any kind: such a class has no file of its own
            continue
        if stacks_of(config):
            types.add(name)
        if config.is_encoder_decoder or getattr(text, "is_encoder_decoder", False):
            continue
        if text is not config:
            wrappers[name] = (text, inside(config, text))
        elif name in named or has_text_model(config):
            types.add(name)
    inner = {c.model_type: type(c) for c, _ in wrappers.values()}
    return types | set(inner), wrappers, inner


def of_text_by_name(cls, config):
    """Whether a class is of text, by its name without the one that all classes of this configuration begin with: Granite4Vision, HiggsAudioV2."""
    return not NOT_OF_TEXT.search(cls.__name__.removeprefix(type(config).__name__.removesuffix("Config").removesuffix("Text")))


def model_class(config):
    if config.model_type in MODELS:
        module, name = MODELS[config.model_type].rsplit(".", 1)
        return getattr(importlib.import_module(f"transformers.models.{module}"), name)
    module = module_of(config)
    borrowed = module.__name__ != type(config).__module__.replace("configuration_", "modeling_")
    found = [c for c in vars(module).values() if isinstance(c, type) and issubclass(c, transformers.PreTrainedModel)
             and (borrowed or c.config_class is type(config)) and c.__module__ == module.__name__ and "PreTrained" not in c.__name__
             and c.__name__.endswith(("Model", "Transformer", "Decoder")) and of_text_by_name(c, config)]
    if not found:
        raise NoAnswer("no model of text")
    return min(found, key=lambda c: (not c.__name__.endswith("TextModel"), not c.__name__.endswith("Model"), len(c.__name__)))


def rotations(model, config):
    """(label, frequencies, factor) of each rotary module of the text; its labels are kinds of layers."""
    found = []
    for name, module in model.named_modules():
        if not of_text_by_name(type(module), config) or not re.search("Rotary|Rope|RoPE", type(module).__name__):
            continue
        for buffer, f in module.named_buffers(recurse=False):
            if buffer.endswith("inv_freq") and "original" not in buffer:
                label = buffer.removesuffix("inv_freq").removesuffix("_")
                factor = getattr(module, f"{label}_attention_scaling" if label else "attention_scaling", 1.0)
                found.append((label or name.rsplit(".", 1)[-1], f.double(), float(factor)))
    return found or [(name, f, 1.0) for name, table in tables_of(model).values() for f in [turned_by(table)] if f is not None]


def cache_of(out):
    """Numbers that each layer's cache holds for a token; None: the class keeps none."""
    cache = getattr(out, "past_key_values", None)
    cache = getattr(cache, "self_attention_cache", cache)
    if cache is None or not hasattr(cache, "layers"):
        return None
    kept = []
    for layer in cache.layers:
        names = ("prefill_keys", "prefill_values") if getattr(layer, "prefill_keys", None) is not None else ("keys", "values")
        parts = [x for x in (getattr(layer, name, None) for name in names) if isinstance(x, torch.Tensor) and x.numel()]
        kept.append(sum(x.shape[1] * x.shape[3] for x in parts))
    return kept


def unfilled(config):
    for implementation in KERNELS.get(config.model_type, ("spy", "eager")):
        for c in (config, config.get_text_config()):
            c._attn_implementation = implementation
            c._experts_implementation = "eager"
        try:
            return model_class(config)(config, **parts_of(config))
        except KeyError as error:  # it looks its attention up in a table of its own
            if error.args != ("spy",):
                raise
    raise NoAnswer("no attention that it can be made with")


def made(config, quick=False):
    """`quick`: without the class's own numbers, which random ones replace, and ones those of norms."""
    torch.manual_seed(1)
    with no_init_weights() if quick else contextlib.nullcontext():
        model = unfilled(config)
    with torch.no_grad():
        for p in model.parameters():
            if p.dim() > 1 and p.requires_grad:
                torch.nn.init.normal_(p, std=0.2)
            elif quick:
                p.fill_(1.0)
    return model.float().eval()


def run(config, model, positions=None):
    """What reached attention, what came out, and the spy, who knows which rows of tables the tokens read."""
    more = {"position_ids": positions} if positions is not None else {}
    with Spy(model) as spy, Watching(model, T, spy.turns) as spy.watching:
        out = model(**inputs_of(config, model, T), **more)
    if spy.calls or positions is not None:
        return spy.calls, out, spy
    try:
        with in_double(model):
            return watched(config, model), out, spy
    except RuntimeError:  # the class itself says float32
        return watched(config, model), out, spy


def watched(config, model):
    """The calls of attention that the class computes itself."""
    with Reaching(model, REACHING.get(config.model_type), T) as reaching, Spy(model) as spy, Watching(model, T, spy.turns) as spy.watching:
        model(**inputs_of(config, model, T))
        return reaching.calls or spy.watching.calls()


def streams_of(config):
    """The streams of positions that such classes take, three or one for each section: (3, 1, T); far apart, so that slow pairs tell them
    apart."""
    count = max(3, len((config.rope_parameters or {}).get("mrope_section") or []))
    count = len(AXES.get(config.model_type, "")) or count
    return torch.stack([torch.arange(T) * 100 * (s + 1) for s in range(count)])[:, None]


def follow_streams(config, model, sets, entries):
    """The stream of each pair; none: with several streams the rows turn by no pairs at all."""
    positions = streams_of(config)
    for call in run(config, model, positions)[0]:
        more = {}
        try:
            rotation(call, sets, list(positions[:, 0].double()), more)
        except NoAnswer:
            more["streams"] = "none"
        if "streams" in more:
            axes = AXES.get(config.model_type, "0123456789")
            entries[call["module"].layer_idx]["streams"] = "".join(axes[int(s)] if s.isdigit() else s for s in more["streams"])


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


def layer_of(call, entries):
    """The layer of a call. Attention that layers share, and that which is made without a number, has that of the layer at work."""
    own = getattr(call["module"], "layer_idx", None)
    if own is None or own < 0:
        own = call["layer"]
    return len(entries) if own is None else own


def has_attention(config):
    """Whether the class's file has any: those of Mamba, RWKV and xLSTM have neither an attention nor a rotation."""
    text = pathlib.Path(module_of(config).__file__).read_text()
    return "ALL_ATTENTION_FUNCTIONS" in text or re.search(r"[Rr]otary|softmax\(.*(scores|attn)", text) is not None


def chooser_entry(chooser, sets, positions):
    """Of an indexer: its heads, and which channels of its own head turn."""
    module = chooser["module"]
    heads = next(getattr(module, name) for name in ("n_heads", "num_heads", "index_n_heads") if hasattr(module, name))
    dim = getattr(module, "head_dim", None) or module.index_head_dim
    entry = {"heads": [heads, 1, dim], "turned": None}
    for rows in chooser["turns"]:
        before, after = rows[-1]
        seen = after if after.shape[-1] == dim else chooser["keys"][:, :, None]
        found = turned(before, after, seen, sets, positions)
        if found:
            entry["turned"], entry["f"] = list(found[:3]), {"a": float(f"{found[3][2]:.12g}"), **digest(found[3][1])}
            break
    return entry


def layers_of(config, model):
    """What the layers do, in groups; and which rows of tables beside the words the tokens read."""
    sets = rotations(model, config)
    one = [torch.arange(T).double()]
    calls, out, spy = run(config, model)
    kept = cache_of(out)
    entries = {}
    one_each = len(calls) == layer_count(config)  # by order: a layer that runs again is a layer of its own for the cache
    calls = own_calls(calls, T) if isinstance(model, Stack) else calls
    for call in calls:
        layer = len(entries) if one_each else layer_of(call, entries)
        if layer not in entries:
            entries[layer] = entry_of(call, sets, one, None if kept is None else kept[layer] if layer < len(kept) else 0)
    if config.model_type in AXES or any(hasattr(m, "mrope_section") for m in model.modules()):
        follow_streams(config, model, sets, entries)
    if not entries and has_attention(config):
        raise NoAnswer("no call of attention through the interface")
    for layer, chooser in spy.choosers.items():
        if layer in entries:
            entries[layer]["indexer"] = chooser_entry(chooser, sets, one)
    for layer in range(layer_count(config)):
        entries.setdefault(layer, {"heads": None})
    turned_rows = {2 * len(f) for _, f, _ in sets} if any(e.get("turned") for e in entries.values()) else set()
    widths = {name: table.shape[1] for name, table in tables_of(model).values()}
    return grouped(entries), {name: rows for name, rows in spy.watching.read.items() if widths[name] not in turned_rows}


ABOUT = re.compile("|".join((
    "model_type", "hidden_size$", "d_model", "n_embd", "^dim$", "num_hidden_layers", "n_layer", "num_layers", "_heads?$", "_heads_", "num_key_value",
    "kv_heads", "head_dim", "head_size", "kv_channels", "max_pos", "local_radius", "max_(en|de)coder_pos", "^(en|de)coder$", "max_seq", "n_pos", "model_max", "rope", "rotary", "rotate", "layer_types", "layers_block_type", "sliding", "window", "swa",
    "qk_", "v_head", "kv_lora", "no_rope", "multiplier", "query_pre", "scalar", "per_layer_config", "global_attn", "local_attention", "chunk", "alibi",
    "position", "nope", "attn_layer", "block_types", "interval", "hybrid_layer", "index_", "bidirectional", "is_causal", "attn_scale", "temperature", "floor_scale",
    "is_decoder", "pad_token_id$", "scale_embedding", "scale_sqrt", "attention_types", "attn_type", "clamp_len", "bi_data", "^causal$", "head_ratio", "bottleneck",
    "d_kv$", "d_head$", "^embed_dim$", "^emb_dim$", "^layers$", "(en|de)coder_layers", "relative_attention", "multi_query", "compress", "shared_layers", "pattern", "layer_group", "full_att", "scale_attn", "mamba_enabled", "attention_every", "mup", "attn_config", "use_mem_rope", "num_mem", "k_eq_v", "per_layer", "dense_layers", "repmixer", "num_blocks", "self_attends", "layer_freq")))
NOT_ABOUT = re.compile("(?<!pad)_token|vocab|initializer|hidden_size_per_layer|mamba_(?!enabled)|index_topk|indexer_types|linear_|router|num_mtp|conv_|expert|q_lora_rank")


def told(file):
    """Of a saved file what may be about position: a class reads no other key for it."""
    return {k: v for k, v in file.items() if ABOUT.search(k) and not NOT_ABOUT.search(k)}


def saved(config, whole=False):
    with tempfile.NamedTemporaryFile("r", suffix=".json") as file:
        config.to_json_file(file.name)
        text = json.load(file)
    return text if whole else told(text)


def turns_by_itself(cls, config):
    """Whether the class has layers of attention, and makes a rotation, when the file says nothing of them: Zamba 2 and Bamba do not."""
    types = getattr(config, "layer_types", None) or ["full_attention"]
    small = shrunk(config.model_type, cls)
    return any(kind != "linear_attention" for kind in types) and bool(rotations(made(small), small))


def fits(rotary, config):
    """Whether the rotation of this class fits its own head; the class of full size fails at its first token where it does not."""
    head = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
    return rotary(torch.zeros(1, 1, head), streams_of(config))[0].shape[-1] <= head


def heads_of(config):
    """None: the file says none, or its layers have heads of their own."""
    try:
        return getattr(config, "num_attention_heads", None)
    except Exception:  # its own kind, which is no AttributeError
        return None


def sizes_of(config):
    return {"width": width_of(config), "layers": layer_count(config), "heads": heads_of(config)}


def bare_of_stack(cls, config, done):
    """The same of one of two stacks, which have rows beside the words or buckets."""
    if objects_of(config):
        raise NoAnswer("what an object leaves out is of its own class")
    part, small = done["component"], shrunk(config.model_type, cls, bare=True)
    own, found = config_of(small, part), {**sizes_of(config_of(config, part)), "rotations": []}
    model = Stack(made(small), own, part)
    place = table_of(own, model, layers_of(own, model)[1], bool(done["table"]) and done["table"]["longest"] is not None)
    return {**found, **({"table": place} if place else {})}


def bare_of(cls, config, done):
    """Sizes, rotation and table of the class of full size. The rotary module alone is made, or a model that is small but for its positions: its
    own would not fit."""
    layers, table = done["layers"], done["table"]
    if "component" in done:
        return bare_of_stack(cls, config, done)
    found = sizes_of(config)
    if heads_of(shrunk(config.model_type, cls)) not in [None, *(group["heads"][0] for group in layers if group["heads"])]:
        found["heads"] = None  # attention has others than the file says: ConvBERT
    module = module_of(config)
    if not turns_by_itself(cls, config):
        return {**found, "rotations": []}
    rotary = [c for n, c in vars(module).items() if isinstance(c, type) and c.__module__ == module.__name__ and re.search("Rotary|RoPE", n)
              and of_text_by_name(c, config) and issubclass(c, torch.nn.Module)]
    digests = []
    for c in rotary[:1]:
        own = c(config)
        by_streams = hasattr(own, "mrope_section")
        if by_streams and not fits(own, config):
            raise NoAnswer("its rotation does not fit its head")
        for label, f, factor in rotations(torch.nn.ModuleDict({"rotary": own}), config):
            f = f.sort(descending=True).values if by_streams else f  # ERNIE's stand in another order than its pairs
            digests.append({"of": label, "a": float(f"{factor:.12g}"), **digest(f)})
    if not table and (digests or not any(group.get("turned") for group in layers)):
        return {**found, "rotations": digests}
    small = shrunk(config.model_type, cls, bare=True)
    model = made(small)
    if not digests and any(group.get("turned") for group in layers):
        digests = [{"of": label, "a": factor, **digest(f)} for label, f, factor in rotations(model, small)]
    place = table_of(small, model, layers_of(small, model)[1], bool(table) and table["longest"] is not None)
    return {**found, "rotations": digests, **({"table": place} if place else {})}


def defaults_of(cls, file):
    """Keys that this class has the same value for when the file has none of them."""
    sizes = {k: v for k, v in file.items() if isinstance(v, int) and not isinstance(v, bool) and "window" not in k and "theta" not in k}
    try:
        without = saved(cls(**{k: v for k, v in sizes.items() if k != "model_type"}))
    except Exception:  # the class needs more than sizes
        return []
    return sorted(k for k in file if k not in sizes and k != "model_type" and without.get(k, "absent") == file[k])


def answers(name, cls):
    """One, or one for each stack."""
    config = shrunk(name, cls)
    file = saved(config)
    again = reread(cls, saved(config, whole=True))
    if saved(again) != file:
        raise NoAnswer("its file gives another configuration")
    for done in done_by(again):
        found = {"type": name, "config": file, "defaults": defaults_of(cls, file), **done}
        try:
            found["bare"] = bare_of(cls, cls(), found)
        except Exception as error:  # of any kind: it has no default
            found["bare"] = None
            print(name, "has no answer of full size:", type(error).__name__, str(error)[:80])
        yield found


def done_by(config):
    """What the class does, or each of its stacks."""
    whole = made(config)
    for part in stacks_of(config) or [None]:
        own = config_of(config, part) if part else config
        model = Stack(whole, own, part) if part else whole
        layers, read = layers_of(own, model)
        yield {**({"component": part} if part else {}), "layers": layers, "table": table_of(own, model, read)}


def reread(cls, file):
    return cls(**{k: v for k, v in cls._decode_special_floats(file).items() if k != "model_type"})


def other_answers(name, cls):
    """What the class does with other files, whose keys take the place of its own."""
    for words, keys in OTHER.get(name, {}).items():
        file = {**saved(shrunk(name, cls), whole=True), **keys}
        file = {k: v for k, v in file.items() if k not in keys or v is not None}
        about = told(file) | {k: v for k, v in keys.items() if v is not None}
        for done in done_by(reread(cls, file)):
            yield {"type": name, "file": words, "config": about, "defaults": [], **done, "bare": None}


def line_of(x):
    return json.dumps(x, separators=(",", ":"))


def place_of(c):
    return c["type"], c.get("file", ""), c.get("component", "")


def kept(args):
    """What classes.json has of the classes that are not asked."""
    if not args.only:
        return {}, {}
    old = json.loads(args.out.read_text())
    return ({place_of(c): c for c in old["classes"] if c["type"] not in args.only},
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
            cls = inner.get(name) or CONFIG_MAPPING[name]
            classes |= {place_of(c): c for c in [*answers(name, cls), *other_answers(name, cls)]}
            unmade.pop(name, None)
        except Exception as error:  # of any kind: it is told
            unmade[name] = f"{type(error).__name__}: {' '.join(str(error).split())[:110]}"
            if args.print:
                import traceback
                traceback.print_exc()
        print(name, unmade.get(name, "made"), flush=True)
        for place in classes:
            if args.print and place[0] == name:
                print(json.dumps(classes[place], indent=1))
    around = {n: [key, c.model_type] for n, (c, key) in sorted(wrappers.items()) if (c.model_type, "", "") in classes and key}
    lines = ",\n".join(line_of(classes[name]) for name in sorted(classes))
    around_lines = ",\n".join(f"{line_of(n)}:{line_of(w)}" for n, w in around.items())
    args.out.write_text(f'{{"tokens":{T},\n"wrappers":{{\n{around_lines}}},\n"unmade":{json.dumps(dict(sorted(unmade.items())), indent=0)},\n"classes":[\n{lines}\n]}}\n')
    print(len(classes), "files of classes,", len(around), "wrappers,", len(unmade), "unmade")
    for name, why in unmade.items():
        print(" ", name, why)


if __name__ == "__main__":
    main()
