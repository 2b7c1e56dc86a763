"""What transformers itself computes from configurations, for gnomon/families: tests/golden/resolver.json.

    python3 make_resolver.py

transformers 5.23.0 and torch 2.15.0. Each configuration is read by the family's own class, its rotary module made and asked, and
its attention made (without weights) for the factor of q·k. One line each: the configuration as a file would hold it, and for
chosen layers the frequencies of some pairs, a checksum over all of them, the factor of cos and sin and that of q·k, at one
length or several. `refused`: transformers raises that error. tests/unit/resolver_test.cpp reads the lines.
"""

import importlib
import inspect
import itertools
import json
import math
import pathlib
import warnings

import torch
import transformers
from transformers.models.auto.configuration_auto import CONFIG_MAPPING

warnings.filterwarnings("ignore")
transformers.logging.set_verbosity_error()
transformers.logging.disable_progress_bar()
HERE = pathlib.Path(__file__).parent
lines = []


def module_of(config):
    return importlib.import_module(type(config).__module__.replace("configuration_", "modeling_"))


def classes(config, ending):
    found = [c for name, c in inspect.getmembers(module_of(config), inspect.isclass)
             if name.endswith(ending) and c.__module__ == module_of(config).__name__
             and not any(w in name for w in ("Vision", "Audio", "Encoder", "Unscaled", "Indexer", "FlashAttention", "Sdpa"))]
    return found


def frequencies(module, config, kind, length):
    """The module's after a context of so many tokens: dynamic types change theirs."""
    positions = torch.tensor([[0, length - 1]])
    x = torch.zeros(1, 2, 1)
    if f"{kind}_inv_freq" in dict(module.named_buffers()):
        module(x, positions, kind)
        return getattr(module, f"{kind}_inv_freq"), getattr(module, f"{kind}_attention_scaling")
    module(x, positions)
    return module.inv_freq, module.attention_scaling


def digest(f):
    f = [float(v) for v in f]
    n = len(f)
    chosen = sorted({0, 1, n // 4, n // 2, n // 2 + 1, 3 * n // 4, n - 2, n - 1} & set(range(n)))
    return {"pairs": n, "at": chosen, "f": [float(f"{f[i]:.9g}") for i in chosen],
            "sum": float(f"{sum((i + 1) * math.log(v) for i, v in enumerate(f) if v):.12g}")}


def kinds_of(config):
    """Layer -> the label of its dictionary, the first layer of each."""
    first = {}
    types = getattr(config, "layer_types", None) or ["full_attention"] * config.num_hidden_layers
    for layer, kind in enumerate(types):
        first.setdefault(kind, layer)
    return first


def scaling(config, layer):
    for cls in classes(config, "Attention"):
        try:
            with torch.device("meta"):
                made = cls(config, layer)
            for name in ("scaling", "inv_norm_factor"):
                if isinstance(getattr(made, name, None), float):
                    return getattr(made, name)
        except TypeError:
            continue
    return None


def case(config_dict, lengths=(), note=None):
    config_dict = json.loads(json.dumps(config_dict))
    line = {"config": config_dict}
    if note:
        line["note"] = note
    try:
        given = {k: v for k, v in json.loads(json.dumps(config_dict)).items() if k != "model_type"}
        config = CONFIG_MAPPING[config_dict["model_type"]](**given)
        config = config.get_text_config()
        rotary = classes(config, "RotaryEmbedding")
        line["layers"] = []
        for kind, layer in kinds_of(config).items():
            entry = {"layer": layer, "at": []}
            for length in lengths or (1,):
                module = rotary[0](config)
                f, a = frequencies(module, config, kind, length)
                entry["at"].append({"length": length, "a": float(f"{float(a):.12g}"), **digest(f)})
            s = scaling(config, layer)
            if s is not None:
                entry["scale"] = float(f"{s:.12g}")
            line["layers"].append(entry)
    except (KeyError, ValueError, ZeroDivisionError, TypeError, AttributeError, RuntimeError, IndexError) as error:
        line.pop("layers", None)
        line["refused"] = type(error).__name__
        if config_dict.get("_must") != False:
            pass
    lines.append(line)


LAYERS = 4
WIDTHS = [(512, 8, 8), (768, 12, 4), (1280, 16, 8), (960, 10, 10)]  # width, heads, kv heads: heads of 64, 64, 80, 96


def scalings(dims, longest):
    """Every type with several factors, as the dictionary of rope_scaling; how far to look."""
    half = dims // 2
    yield {"rope_type": "default"}, ()
    for factor in (2.0, 8):
        yield {"type": "linear", "factor": factor}, ()
        yield {"rope_type": "dynamic", "factor": factor}, (longest // 2, longest, longest + 1, 4 * longest)
    for factor in (4.0, 40.0):
        yield {"type": "yarn", "factor": factor, "original_max_position_embeddings": longest // 4}, ()
        yield {"rope_type": "yarn", "factor": factor, "original_max_position_embeddings": longest // 8, "beta_fast": 16,
               "beta_slow": 2, "truncate": False}, ()
        yield {"rope_type": "yarn", "factor": factor, "original_max_position_embeddings": longest // 4, "mscale": 1.0,
               "mscale_all_dim": 0.707}, ()
        yield {"rope_type": "yarn", "factor": factor, "attention_factor": 1.25}, ()
        yield {"rope_type": "llama3", "factor": factor, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
               "original_max_position_embeddings": longest // 4}, ()
    lists = {"short_factor": [round(1 + 0.01 * i, 4) for i in range(half)], "long_factor": [round(1 + 0.37 * i, 4) for i in range(half)]}
    around = (longest // 4 - 1, longest // 4, longest // 4 + 1, longest)
    yield {"rope_type": "longrope", "original_max_position_embeddings": longest // 4, **lists}, around
    yield {"type": "longrope", "original_max_position_embeddings": longest // 4, "factor": 32.0, **lists}, around
    yield {"rope_type": "longrope", "original_max_position_embeddings": longest // 4, "attention_factor": 1.19, **lists}, around


def spelt(base, scaling, theta, version):
    """The same settings as version 4 wrote them, and as version 5 does."""
    config = dict(base)
    if version == 4:
        if theta is not None:
            config["rope_theta"] = theta
        if scaling["rope_type" if "rope_type" in scaling else "type"] != "default":
            config["rope_scaling"] = scaling
        return config
    config["rope_parameters"] = {"rope_theta": theta, **scaling} if theta is not None else dict(scaling)
    return config


def base(model_type, width, heads, kv, **more):
    return {"model_type": model_type, "hidden_size": width, "num_hidden_layers": LAYERS, "num_attention_heads": heads,
            "num_key_value_heads": kv, "max_position_embeddings": 16384, **more}


# Families that have no rule of their own for the conversion.
for family, (width, heads, kv), version, theta in itertools.product(
        ("llama", "qwen2", "mistral"), WIDTHS, (4, 5), (None, 1000000.0)):
    for scaling_dict, lengths in scalings(width // heads, 16384):
        case(spelt(base(family, width, heads, kv), scaling_dict, theta, version), lengths)
for width, heads, kv in WIDTHS:
    for scaling_dict, lengths in scalings(128, 16384):
        case(spelt(base("qwen3", width, heads, kv), scaling_dict, 1000000.0, 4), lengths)
for pct, version, (width, heads, kv) in itertools.product((None, 0.25, 0.5, 1.0), (4, 5), WIDTHS[:2]):
    dims = int(width // heads * (0.25 if pct is None else pct))
    for scaling_dict, lengths in scalings(dims, 16384):
        config = base("gpt_neox", width, heads, heads)
        del config["num_key_value_heads"]
        if version == 4:
            config["rotary_emb_base"] = 10000
            if pct is not None:
                config["rotary_pct"] = pct
            if scaling_dict.get("rope_type", scaling_dict.get("type")) != "default":
                config["rope_scaling"] = scaling_dict
        else:
            config["rope_parameters"] = {"rope_theta": 25000.0, **scaling_dict}
            if pct is not None:
                config["rope_parameters"]["partial_rotary_factor"] = pct
        case(config, lengths)

# What is silent, or refused.
l = base("llama", 512, 8, 8)
case({**l, "rope_parameters": {"rope_type": "default", "rope_theta": 1e6}, "rope_scaling": {"rope_type": "yarn", "factor": 4.0}},
     note="rope_scaling replaces rope_parameters, theta and all")
case({**l, "rope_theta": 5e5, "rope_scaling": {"rope_type": "yarn", "factor": 4.0, "original_max_position_embedding": 4096}},
     note="a misspelt original length")
case({**l, "rope_theta": 5e5, "original_max_position_embeddings": 2048,
      "rope_scaling": {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 4096}}, note="the top level's length wins")
case({**l, "partial_rotary_factor": 0.5}, note="the plain type forgets the part")
case({**l, "rope_scaling": {"rope_type": "linear"}})
case({**l, "rope_scaling": {"rope_type": "magic", "factor": 2.0}})
case({**l, "rope_scaling": {"rope_type": "llama3", "factor": 2.0}})
case({**l, "rope_scaling": {}})
case({**l, "rope_scaling": None, "rope_parameters": None})
case({**l, "rope_scaling": {"factor": 2.0}}, note="no type: default")
case({**l, "rope_scaling": {"rope_type": "yarn", "factor": None, "original_max_position_embeddings": 4096}})

HERE.joinpath("resolver.json").write_text("[\n" + ",\n".join(json.dumps(x, separators=(",", ":")) for x in lines) + "\n]\n")
print(len(lines), "configurations,", sum("refused" in x for x in lines), "refused")
for x in lines:
    if "refused" in x:
        print(x["refused"], json.dumps(x["config"])[:300])
