"""What TGI's own code makes of the settings of RoPE in a config.json: tests/golden/readers_tgi.json.

    pip install torch==2.15.0 transformers==4.51.3
    the sources of text-generation-inference 3.3.7 (commit db931fcf42da018a3657580c64bf2720f167f9ab), unpacked
    python3 make_readers_tgi.py SERVER

SERVER is the folder that has text_generation_server. 4.51.3 is the transformers that this release installs. The attention of each class
is made with its own code, and its rotary_emb fills its table; weights, kernels and the rest of the package are stubs. `cases` and a
reading are those of make_readers.py, with `scale`, the factor on q·k. Where two lists follow each other in one table, a length has the
frequencies of its last positions, in double. `adjacent` is as forward of the class says: that of DeepSeek regroups the channels.
"""

import importlib
import inspect
import json
import math
import pathlib
import sys
from unittest.mock import MagicMock

import torch
import transformers

from make_readers import BASE, HEAD, HEADS, LENGTHS, LISTS, LONG, LONGEST, ORIGINAL, SCALINGS, SHORT, SIZES, YARN, Stubs, frequencies

HERE = pathlib.Path(__file__).parent
PACKAGE = "text_generation_server"
CLASSES = {  # model_type: file of custom_modeling, class of the attention, class of the configuration where it is TGI's own
    "llama": ("flash_llama_modeling", "FlashLlamaAttention", None),
    "granite": ("flash_llama_modeling", "FlashLlamaAttention", None),
    "phi3": ("flash_llama_modeling", "FlashLlamaAttention", None),
    "mistral": ("flash_mistral_modeling", "MistralAttention", None),
    "mixtral": ("flash_mixtral_modeling", "MixtralAttention", None),
    "qwen2": ("flash_qwen2_modeling", "Qwen2Attention", None),
    "starcoder2": ("flash_starcoder2_modeling", "Starcoder2Attention", None),
    "gemma": ("flash_gemma_modeling", "FlashGemmaAttention", None),
    "gemma2": ("flash_gemma2_modeling", "FlashGemma2Attention", None),
    "gemma3_text": ("flash_gemma3_modeling", "FlashGemma3Attention", None),
    "phi": ("flash_phi_modeling", "FlashPhiAttention", None),
    "gpt_neox": ("flash_neox_modeling", "FlashNeoxAttention", "GPTNeoXConfig"),
    "deepseek_v3": ("flash_deepseek_v3_modeling", "DeepseekV3Attention", "DeepseekV3Config"),
}
THETA = {"rope_theta": 20000.0}
SIZES = {key: value for key, value in SIZES.items() if key not in ("attention_multiplier", "partial_rotary_factor")}  # the first, also for llama
PART = {"partial_rotary_factor": 0.5}
LINEAR = {"rope_type": "linear", "type": "linear", "factor": 4.0}
PHI3 = {"model_type": "phi3", "original_max_position_embeddings": ORIGINAL} | THETA
LATENT = {"model_type": "deepseek_v3", "qk_nope_head_dim": 32, "qk_rope_head_dim": 16, "v_head_dim": 32, "kv_lora_rank": 16, "q_lora_rank": 16,
          "num_key_value_heads": 4} | THETA
LONGROPE = {"type": "longrope", "short_factor": SHORT, "long_factor": LONG}
OTHERS = {
    "granite, its factor on q·k": {"model_type": "granite", "attention_multiplier": 0.1},
    "llama, longrope by the top level": {"model_type": "llama", "original_max_position_embeddings": ORIGINAL, "rope_scaling": LONGROPE},
    "llama, longrope within the original": {"model_type": "llama", "original_max_position_embeddings": LONGEST, "rope_scaling": LONGROPE},
    "llama, longrope, factors": {"model_type": "llama", "original_max_position_embeddings": ORIGINAL,
                                 "rope_scaling": LONGROPE | {"factor": 16.0, "attention_factor": 1.25}},
    "llama, longrope, mscales": {"model_type": "llama", "original_max_position_embeddings": ORIGINAL,
                                 "rope_scaling": LONGROPE | {"short_mscale": 1.25, "long_mscale": 1.5}},
    "llama, another head": {"model_type": "llama", "head_dim": 64},
    "phi3, longrope": PHI3 | {"rope_scaling": LONGROPE},
    "phi3, su": PHI3 | {"rope_scaling": {"type": "su", "short_factor": SHORT, "long_factor": LONG}},
    "phi3, named yarn": PHI3 | {"rope_scaling": LONGROPE | {"type": "yarn"}},
    "phi3, a fourth key": PHI3 | {"rope_scaling": LONGROPE | {"factor": 4.0}},
    "phi3, a part": PHI3 | PART,
    "phi3, lists of a part": PHI3 | PART | {"rope_scaling": LONGROPE | LISTS},
    "phi3, default original": {"model_type": "phi3", "max_position_embeddings": 8192, "rope_scaling": LONGROPE},
    "gpt_neox": {"model_type": "gpt_neox", "rotary_emb_base": 20000, "rotary_pct": 0.25},
    "deepseek_v3, plain": LATENT,
    "deepseek_v3, yarn": LATENT | {"rope_scaling": YARN | {"type": "yarn", "mscale": 1.0, "mscale_all_dim": 1.0}},
    "deepseek_v3, yarn of other mscales": LATENT | {"rope_scaling": YARN | {"type": "yarn", "mscale": 0.8, "mscale_all_dim": 0.3}},
    "deepseek_v3, yarn without mscales": LATENT | {"rope_scaling": YARN | {"type": "yarn"}},
    "gemma3_text, a layer with a window": {"model_type": "gemma3_text", "layer_types": ["full_attention", "sliding_attention"],
                                           "rope_local_base_freq": 5000.0, "rope_scaling": YARN},
    "qwen3": {"model_type": "qwen3"},
}


class Norm(torch.nn.Module):
    """What stands for a class of norms."""

    def __init__(self, *unused, **also):
        super().__init__()

    @classmethod
    def load(cls, *unused, **also):
        return cls()


class Kept(Stubs):
    """Stubs, but for the rotation and the classes of models."""

    def find_spec(self, name, path=None, target=None):
        self.kept = name if name.startswith((PACKAGE + ".layers.rotary", PACKAGE + ".models.custom_modeling.flash_")) else ""
        return super().find_spec(name, path, target)


def attention(root):
    given = {"SYSTEM": "none", "FastRMSNorm": Norm, "FastLayerNorm": Norm, "UnquantizedWeight": type("UnquantizedWeight", (), {})}
    sys.meta_path.insert(0, Kept(PACKAGE, pathlib.Path(root), "", given))

    def make(config):
        file, name, own = CLASSES[config["model_type"]]
        module = importlib.import_module(f"{PACKAGE}.models.custom_modeling.{file}")
        keys = json.loads(json.dumps(config))
        made = getattr(module, own)(**keys) if own else transformers.AutoConfig.for_model(**keys)
        made.quantize = None
        weights = MagicMock()
        weights.device = "cpu"
        weights.process_group.size = lambda: 1
        given = {"index": 0, "layer_id": 0, "prefix": "", "config": made, "weights": weights, "causal": True,
                 "is_sliding": config.get("layer_types", [""])[-1] == "sliding_attention"}
        cls = getattr(module, name)
        layer = cls(**{key: value for key, value in given.items() if key in inspect.signature(cls).parameters})
        if config["model_type"] != "deepseek_v3" and layer.head_size != config.get("head_dim", layer.head_size):
            raise ValueError(f"the weights have heads of {config['head_dim']}, and the class takes {layer.head_size}")
        return layer
    return make


def reading_of(layer):
    reading = {"at": {}, "scale": float(f"{float(layer.softmax_scale):.8g}"), "adjacent": hasattr(layer, "qk_rope_head_dim")}
    for length in LENGTHS:
        rotary = layer.rotary_emb
        start, kind = 0, torch.float32
        if hasattr(rotary, "long_inv_freq"):
            rotary.short_inv_freq, rotary.long_inv_freq = rotary.short_inv_freq.double(), rotary.long_inv_freq.double()
            kind, start = torch.float64, rotary.original_max_position_embeddings
            start = start if start < length else 0
            torch.set_default_dtype(kind)
        rotary._seq_len_cached = 0
        rotary._update_cos_sin_cache(kind, torch.device("cpu"), length)
        torch.set_default_dtype(torch.float32)
        cos, sin = rotary._cos_cached.double(), rotary._sin_cached.double()
        turned = (sin * cos[start] - cos * sin[start])[start:], (cos * cos[start] + sin * sin[start])[start:]
        reading["factor"] = float(f"{math.hypot(cos[1, 0], sin[1, 0]):.8g}")
        reading["at"][length] = frequencies(lambda pair, p: math.atan2(turned[0][p, pair], turned[1][p, pair]), cos.shape[1], length - start)
    return reading


def tried(make, config):
    try:
        return reading_of(make(config))
    except Exception as error:
        return f"{type(error).__name__}: {error}"[:160]


def main():
    make = attention(sys.argv[1])
    cases, models = [], []
    for name, scaling in SCALINGS.items():
        for spelt in ("rope_scaling", "rope_parameters", "type"):
            written = dict(scaling)
            if spelt == "type":
                written["type"] = written.pop("rope_type")
            config = BASE | ({"rope_parameters": THETA | written} if spelt == "rope_parameters" else THETA | {"rope_scaling": written})
            cases.append({"name": f"{name}, {spelt}", "config": config, "reading": tried(make, config)})
    for kind in CLASSES:
        if kind in ("phi3", "gpt_neox", "deepseek_v3"):
            continue
        own = {"gemma3_text": {"layer_types": ["sliding_attention", "full_attention"], "sliding_window_pattern": 2},
               "phi": PART | {"num_key_value_heads": HEADS}, "starcoder2": {"use_bias": False}}.get(kind, {})
        for what, rope in (("linear", {"rope_scaling": LINEAR}), ("yarn", {"rope_scaling": YARN}), ("plain", {})):
            config = BASE | SIZES | own | THETA | {"model_type": kind} | rope
            models.append({"name": f"{kind}, {what}", "config": config, "reading": tried(make, config)})
    for name, config in OTHERS.items():
        models.append({"name": name, "config": BASE | SIZES | THETA | config, "reading": tried(make, BASE | SIZES | THETA | config)})
    out = {"source": "text-generation-inference 3.3.7, transformers 4.51.3", "lengths": LENGTHS, "cases": cases, "models": models}
    (HERE / "readers_tgi.json").write_text(json.dumps(out, separators=(",", ":")) + "\n")
    for case in cases + models:
        r = case["reading"]
        print(case["name"], r if isinstance(r, str) else (r["scale"], r["factor"], [at[3] for at in r["at"].values()]))


if __name__ == "__main__":
    main()
