"""The parts of a class of transformers that know of position, for make_resolver.py and make_resolver_grid.py: its rotary module asked for
frequencies and factors, its attention for the factor of q·k, its function for the slopes of ALiBi."""

import copy
import importlib.util
import inspect
import math

import torch
import transformers
from transformers.models.auto import modeling_auto

V4 = transformers.__version__.startswith("4")


def module_of(config):
    """With the class's model: its own module, or that of the class whose model it borrows."""
    name = type(config).__module__.replace("configuration_", "modeling_")
    if importlib.util.find_spec(name):
        return importlib.import_module(name)
    return importlib.import_module(getattr(transformers, modeling_auto.MODEL_MAPPING_NAMES[config.model_type]).__module__)


def classes(config, ending):
    found = [c for name, c in inspect.getmembers(module_of(config), inspect.isclass)
             if name.endswith(ending) and c.__module__ == module_of(config).__name__
             and not any(w in name for w in ("Vision", "Audio", "Encoder", "Unscaled", "Indexer", "FlashAttention", "Sdpa"))]
    return found


def frequencies(module, config, kind, length):
    """The module's after a context of so many tokens: dynamic types change theirs."""
    positions = torch.tensor([[0, length - 1]])
    x = torch.zeros(1, 2, 1)
    if hasattr(module, "main_inv_freq"):  # DeepSeek-V4 has labels of its own
        kind = "main" if kind == "sliding_attention" else "compress"
    if f"{kind}_inv_freq" in dict(module.named_buffers()):
        module(x, positions, kind)
        return getattr(module, f"{kind}_inv_freq"), getattr(module, f"{kind}_attention_scaling")
    module(x, positions)
    return module.inv_freq, module.attention_scaling


def digest(f):
    f = [float(v) for v in f]
    if not all(map(math.isfinite, f)):
        raise ArithmeticError("no answer: frequencies that are no numbers")
    n = len(f)
    chosen = sorted({0, 1, n // 4, n // 2, n // 2 + 1, 3 * n // 4, n - 2, n - 1} & set(range(n)))
    return {"pairs": n, "at": chosen, "f": [float(f"{f[i]:.9g}") for i in chosen],
            "sum": float(f"{sum((i + 1) * math.log(abs(v)) for i, v in enumerate(f) if v):.12g}")}


def rotary_of(config, kind):
    """The rotary module of layers of this kind."""
    cls = classes(config, "RotaryEmbedding")[0]
    if not V4:
        return cls(config)
    own = copy.deepcopy(config)
    slides = kind == "sliding_attention"
    if config.model_type == "gemma3_text" and slides:
        own.rope_theta, own.rope_scaling = config.rope_local_base_freq, {"rope_type": "default"}
    if config.model_type == "modernbert":
        own.rope_theta = config.local_rope_theta if slides else config.global_rope_theta
    if config.model_type == "olmo3" and slides:
        return cls(config, rope_type="default")
    return cls(own)


def kinds_of(config):
    """Layer -> the label of its dictionary, the first layer of each."""
    first = {}
    types = getattr(config, "layer_types", None) or ["full_attention"] * config.num_hidden_layers
    if V4 and config.model_type == "modernbert":
        types = ["sliding_attention" if i % config.global_attn_every_n_layers else "full_attention" for i in range(len(types))]
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


def slopes(config):
    """Of ALiBi, at a distance of one token."""
    mask = torch.ones(1, 2, dtype=torch.int64)
    return module_of(config).build_alibi_tensor(mask, config.num_attention_heads, torch.float32).reshape(-1, 2)[:, 1]
