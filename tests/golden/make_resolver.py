"""What transformers itself computes from configurations, for gnomon/families: tests/golden/resolver.json.

    python3 make_resolver.py           writes resolver.json and resolver_edges.json (resolver_edges.py), by transformers 5.23.0
    python3 make_resolver.py FOLDER    writes resolver_v4.json, by transformers 4.57.6 of that folder, without its checks of versions

torch 2.15.0. Each configuration is read by the family's own class, its rotary module made and asked, and
its attention made (without weights) for the factor of q·k. One line each: the configuration as a file would hold it, and for
chosen layers the frequencies of some pairs, a checksum over all of them, the factor of cos and sin and that of q·k, at one
length or several; or ALiBi's slopes, or the rows of a learned table. `refused`: transformers raises that error, or computes what is no
number. `difference`: gnomon's answer is another, and the rule of `gnomon lint` of that name tells it. tests/models/resolver_test.cpp
and lint_differences_test.cpp read the lines.
"""

import importlib.metadata
import itertools
import json
import pathlib
import sys
import warnings

V4 = len(sys.argv) > 1
if V4:
    sys.path.insert(0, sys.argv[1])
    versions = importlib.metadata.version
    importlib.metadata.version = lambda name: {"tokenizers": "0.22.1", "huggingface-hub": "0.36.0",
                                               "huggingface_hub": "0.36.0"}.get(name) or versions(name)

import resolver_edges
import torch
import transformers
from resolver_modules import digest, frequencies, kinds_of, module_of, rotary_of, scaling, slopes
from transformers.models.auto.configuration_auto import CONFIG_MAPPING

warnings.filterwarnings("ignore")
transformers.logging.set_verbosity_error()
transformers.logging.disable_progress_bar()
HERE = pathlib.Path(__file__).parent
lines = []


def without_position(config, kind, layer):
    """The rotary module has numbers, but this layer's attention does not use them."""
    if config.model_type == "exaone4":
        return kind == "full_attention" and config.sliding_window is not None
    listed = getattr(config, "no_rope_layers", None)
    return listed is not None and not listed[layer]


def layers_of(config, lengths):
    if config.model_type == "bloom" or getattr(config, "alibi", False):
        scale = (config.hidden_size / config.num_attention_heads) ** (-0.5 if config.model_type == "falcon" else 0)  # of the sum with q·k
        return [{"layer": 0, "slopes": [float(f"{float(s) * scale:.9g}") for s in slopes(config)]}]
    if config.model_type == "bert":
        return [{"layer": 0, "rows": module_of(config).BertEmbeddings(config).position_embeddings.num_embeddings}]
    found = []
    for kind, layer in kinds_of(config).items():
        entry = {"layer": layer, "at": []}
        found.append(entry)
        if without_position(config, kind, layer):
            continue
        for length in lengths or (1,):
            module = rotary_of(config, kind)
            f, a = frequencies(module, config, kind, length)
            entry["at"].append({"length": length, "a": float(f"{float(a):.12g}"), **digest(f)})
        s = scaling(config, layer)
        if s is not None:
            entry["scale"] = float(f"{s:.12g}")
        if hasattr(module, "mrope_section"):
            entry["sections"] = list(module.mrope_section)
    return found


def case(config_dict, lengths=(), note=None, run=False):
    """`run`: the model is made, and run on two tokens."""
    config_dict = json.loads(json.dumps(config_dict))
    if V4 and (config_dict["model_type"] not in CONFIG_MAPPING or "rope_parameters" in config_dict):
        return
    line = {"config": config_dict}
    if note:
        line["note"] = note
    try:
        given = {k: v for k, v in json.loads(json.dumps(config_dict)).items() if k != "model_type"}
        config = CONFIG_MAPPING[config_dict["model_type"]](**given)
        config = config.get_text_config()
        line["layers"] = layers_of(config, lengths)
        if run:
            transformers.AutoModel.from_config(config)(torch.ones(1, 2, dtype=torch.int64))
    except Exception as error:  # of any kind: what matters is that there is no answer
        line.pop("layers", None)
        line["refused"] = type(error.__cause__ or error).__name__
    difference = None if V4 else resolver_edges.difference(config_dict, line.get("refused"), line.get("layers"))
    if difference:
        line["difference"] = difference
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
        ("llama", "qwen2", "mistral"), WIDTHS[1:], (4, 5), (1000000.0,)):
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

# Families with rules of their own, each in its own spelling.
def short_grid(dims, longest=16384):
    """One of each type."""
    seen = set()
    for scaling_dict, lengths in scalings(dims, longest):
        kind = scaling_dict.get("rope_type", scaling_dict.get("type"))
        if kind in seen:
            continue
        seen.add(kind)
        yield scaling_dict, lengths


def each(family, dims, config, theta_key="rope_theta", theta=1000000.0, versions=(4, 5)):
    for (scaling_dict, lengths), version in itertools.product(short_grid(dims), versions):
        made = spelt(config, scaling_dict, theta, version)
        if version == 4 and theta_key != "rope_theta":
            made[theta_key] = made.pop("rope_theta")
        case(made, lengths)
        if version == 4:
            without = {k: v for k, v in made.items() if k != theta_key}
            case(without, lengths)


LAYERS = 6
for family, dims in (("mixtral", 64), ("gemma", 256), ("gemma2", 256), ("olmo", 64), ("olmo2", 64), ("granite", 64), ("gpt_oss", 64),
                     ("smollm3", 64), ("exaone4", 64), ("hunyuan_v1_dense", 64), ("qwen2_vl_text", 128), ("qwen3_vl_text", 128),
                     ("qwen3_moe", 64), ("nomic_bert", 64), ("granite_swa", 64), ("granitemoe_swa", 64)):
    # Where the class has a head_dim that is None, transformers 5.23 fails on types that ask for it.
    each(family, dims, base(family, 1024 if family == "qwen2_vl_text" else 512, 8, 4,
                            **({"head_dim": 64} if family in ("hunyuan_v1_dense", "nomic_bert", "mixtral", "qwen3_moe") else {})))
for family, share in (("phi", 0.5), ("stablelm", 0.25), ("glm4", 0.5), ("glm", 0.5)):
    for part in (None, 0.25, 0.5, 1.0):
        config = base(family, 512, 8, 4)
        if family.startswith("glm"):
            config["head_dim"] = 64
        if part is not None:
            config["partial_rotary_factor"] = part
        each(family, int(64 * (share if part is None else part)), config)
for part, (width, heads, kv) in itertools.product((None, 0.75, 1.0), WIDTHS):
    half = int(width // heads * (part or 1)) // 2
    for name in ("su", "longrope", "yarn"):
        for top in (None, 4096, 2048):
            config = base("phi3", width, heads, kv)
            if part is not None:
                config["partial_rotary_factor"] = part
            if top is not None:
                config["original_max_position_embeddings"] = top
            config["rope_scaling"] = {"type": name, "short_factor": [1.0 + i / 64 for i in range(half)],
                                      "long_factor": [1.0 + i / 4 for i in range(half)]}
            case(config, (2048, 2049, 4096, 4097, 16384))
for theta in (None, 250000.0):
    for kind in (None, "linear", "yarn", "llama3", "dynamic"):
        for family in ("gemma3_text", "olmo3", "modernbert"):
            config = base(family, 512, 8, 4, local_attention=64) if family == "modernbert" else base(family, 512, 8, 4)
            if theta:
                config["global_rope_theta" if family == "modernbert" else "rope_theta"] = theta
            if theta and family == "gemma3_text":
                config["rope_local_base_freq"] = 20000.0
            if theta and family == "modernbert":
                config["local_rope_theta"] = 20000.0
            if kind:
                config["rope_scaling"] = {"rope_type": kind, "factor": 8.0}
                if kind in ("yarn", "llama3"):
                    config["rope_scaling"]["original_max_position_embeddings"] = 2048
                if kind == "llama3":
                    config["rope_scaling"] |= {"low_freq_factor": 1.0, "high_freq_factor": 4.0}
            lengths = (16384, 65536) if kind == "dynamic" else ()
            case(config, lengths)
            nested = {k: v for k, v in config.items() if "theta" not in k and "base_freq" not in k and k != "rope_scaling"}
            full = {"rope_theta": theta or 1e5, **(config.get("rope_scaling") or {"rope_type": "default"})}
            nested["rope_parameters"] = {"full_attention": full, "sliding_attention": {"rope_type": "default", "rope_theta": 30000.0}}
            case(nested, lengths)
            if kind == "yarn":
                nested["rope_parameters"]["full_attention"]["truncate"] = False
                case(nested, note="truncate of a nested dictionary is not looked at")
case({**base("gemma3_text", 512, 8, 4), "rope_parameters": {"rope_type": "linear", "factor": 8.0, "rope_theta": 5e5}},
     note="a flat dictionary is kept and not looked at")
case({**base("gemma3_text", 512, 8, 4), "query_pre_attn_scalar": 168, "head_dim": 128, "sliding_window_pattern": 3})
case({**base("olmo3", 512, 8, 4), "rope_theta": 1e6}, note="the sliding layers get the class's theta")
for rope in (None, {"full_attention": {"rope_type": "proportional", "partial_rotary_factor": 0.5, "rope_theta": 5e5},
                    "sliding_attention": {"rope_type": "default", "rope_theta": 2e4}},
             {"full_attention": {"rope_type": "proportional", "partial_rotary_factor": 0.25, "rope_theta": 1e6, "factor": 8.0},
              "sliding_attention": {"rope_type": "linear", "factor": 2.0, "rope_theta": 1e4}}):
    for dim in (None, 128):
        config = base("gemma4_text", 512, 8, 4)
        if rope:
            config["rope_parameters"] = rope
        if dim:
            config |= {"head_dim": 64, "global_head_dim": dim}
        case(config)
for interval in (None, 2, 3):
    for family in ("smollm3", "llama4_text"):
        config = base(family, 512, 8, 4, **({"no_rope_layer_interval": interval} if interval else {}))
        case(config)
        case({**config, "rope_scaling": {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
                                         "original_max_position_embeddings": 2048}})
for family in ("deepseek_v2", "deepseek_v3", "deepseek_v32"):
    for nope, rope in ((128, 64), (32, 32)):
        config = base(family, 512, 8, 8, qk_nope_head_dim=nope, qk_rope_head_dim=rope)
        for scaling_dict, lengths in short_grid(rope):
            case(spelt(config, scaling_dict, 10000.0, 4), lengths)
        for m, all_dim in ((1.0, 1.0), (0.707, 0.707), (1.0, 0.707), (None, 1.0), (1.0, None)):
            yarn = {"type": "yarn", "factor": 40, "original_max_position_embeddings": 4096, "beta_fast": 32, "beta_slow": 1}
            if m:
                yarn["mscale"] = m
            if all_dim:
                yarn["mscale_all_dim"] = all_dim
            case({**config, "rope_theta": 10000, "rope_scaling": yarn})
case(base("ministral3", 512, 8, 4))
case({**base("ministral3", 512, 8, 4), "rope_parameters": {"rope_type": "yarn", "rope_theta": 1e6, "factor": 8.0, "llama_4_scaling_beta": 0.2,
                                                           "original_max_position_embeddings": 8192, "mscale": 1.0, "mscale_all_dim": 1.0}})
case({**base("gpt_oss", 512, 8, 4), "rope_scaling": {"rope_type": "yarn", "factor": 8.0, "truncate": False,
                                                     "original_max_position_embeddings": 2048}})
for alpha in (None, 1000.0):
    case({**base("hunyuan_v1_dense", 512, 8, 4), "head_dim": 64, "rope_scaling": {"type": "dynamic", "factor": 1.0, **({"alpha": alpha} if alpha else {})}},
         (16384, 40000) if not alpha else ())
case({"model_type": "falcon", "hidden_size": 512, "num_hidden_layers": 2, "num_attention_heads": 8, "rope_theta": 5e5})
case({"model_type": "falcon", "hidden_size": 512, "num_hidden_layers": 2, "num_attention_heads": 8,
      "rope_scaling": {"type": "linear", "factor": 2.0}})


def write(name):
    text = ",\n".join(json.dumps(x, separators=(",", ":")) for x in lines)
    HERE.joinpath(name).write_text(f"[\n{text}\n]\n")
    print(name, len(lines), "configurations,", sum("refused" in x for x in lines), "refused,", sum("difference" in x for x in lines), "marked")
    for x in lines:
        if "refused" in x and "difference" not in x:
            print(x["refused"], json.dumps(x["config"])[:300])


if V4:  # what it refuses is mostly a head_dim that is None
    lines = [x for x in lines if "refused" not in x]
    write("resolver_v4.json")
else:
    write("resolver.json")
    lines = []
    for config, lengths, more in resolver_edges.of():
        case(config, lengths, **more)
    write("resolver_edges.json")
