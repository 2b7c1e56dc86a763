"""What other programs' own code makes of the settings of RoPE in a config.json: tests/golden/readers.json.

    pip install torch==2.15.0 transformers==5.23.0 mlx[cpu]==0.32.4
    pip download --no-deps mlx-lm==0.32.2 sglang==0.5.23, each unpacked into a folder
    TMPDIR=$PWD pip download --no-deps --no-clean --no-build-isolation --no-binary vllm vllm==0.33.0, then 0.24.0: pip leaves the sources in
        pip-download-*, whether or not it can build them
    python3 make_readers.py MLX_LM SGLANG VLLM VLLM_24

Each argument is the folder that has the package. vLLM 0.33.0 and 0.24.0, SGLang 0.5.23: get_rope of their sources, with what transformers
5.23.0 makes of the file; the rest of these packages is a stub. mlx-lm 0.32.2: the model's own class, on MLX for CPUs. A reading has, for
each of the lengths, the frequencies of all pairs; `factor` of cos and sin; `rows` of the table of cos and sin, where there is one; of mlx-lm `windows`, the tokens that the cache
of each layer keeps (0: all). `models`:
what mlx-lm's class of each type makes of a file as transformers 4 wrote it and as 5 writes it. A text is the error that the code raises.
"""

import importlib
import importlib.abc
import importlib.machinery
import json
import math
import pathlib
import re
import sys
import types
from unittest.mock import MagicMock

import torch
import transformers

torch.Tensor.cuda = lambda self, *unused, **also: self
HERE = pathlib.Path(__file__).parent
HEADS, HEAD, LONGEST, ORIGINAL = 4, 32, 2048, 512
LENGTHS = (256, 2048)
BASE = {"model_type": "llama", "hidden_size": HEADS * HEAD, "num_hidden_layers": 2, "num_attention_heads": HEADS, "num_key_value_heads": 2,
        "intermediate_size": 64, "rms_norm_eps": 1e-5, "vocab_size": 32, "max_position_embeddings": LONGEST, "head_dim": HEAD}
SHORT = [round(1 + n / 50, 3) for n in range(HEAD // 2)]
LONG = [round(1 + n / 3, 3) for n in range(HEAD // 2)]
YARN = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": ORIGINAL}
LONGROPE = {"rope_type": "longrope", "short_factor": SHORT, "long_factor": LONG, "original_max_position_embeddings": ORIGINAL}
LLAMA3 = {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0, "original_max_position_embeddings": ORIGINAL}
SCALINGS = {
    "default": {"rope_type": "default"},
    "linear": {"rope_type": "linear", "factor": 4.0},
    "dynamic": {"rope_type": "dynamic", "factor": 4.0},
    "yarn": YARN,
    "yarn-no-original": {"rope_type": "yarn", "factor": 4.0},
    "yarn-betas": YARN | {"beta_fast": 16, "beta_slow": 2},
    "yarn-truncate-off": YARN | {"truncate": False},
    "yarn-attention-factor": YARN | {"attention_factor": 1.3},
    "yarn-mscale": YARN | {"mscale": 0.8},
    "yarn-mscale-all": YARN | {"mscale_all_dim": 0.5},
    "yarn-mscales": YARN | {"mscale": 0.8, "mscale_all_dim": 0.3},
    "yarn-mscales-equal": YARN | {"mscale": 1.0, "mscale_all_dim": 1.0},
    "yarn-attn-factor": YARN | {"attn_factor": 1.6},
    "yarn-extrapolation": YARN | {"extrapolation_factor": 0.4},
    "yarn-apply-off": YARN | {"apply_yarn_scaling": False, "attn_factor": 1.6},
    "yarn-part": YARN | {"partial_rotary_factor": 0.5},
    "deepseek-yarn": YARN | {"rope_type": "deepseek_yarn", "mscale": 0.8, "mscale_all_dim": 0.3},
    "llama3": LLAMA3,
    "llama3-no-lengths": {k: v for k, v in LLAMA3.items() if k != "original_max_position_embeddings"},
    "longrope": LONGROPE,
    "longrope-factor": LONGROPE | {"factor": 16.0},
    "longrope-attention-factor": LONGROPE | {"attention_factor": 1.25},
    "longrope-short": LONGROPE | {"original_max_position_embeddings": LONGEST},
    "su": LONGROPE | {"rope_type": "su"},
    "default-part": {"rope_type": "default", "partial_rotary_factor": 0.5},
    "proportional": {"rope_type": "proportional", "partial_rotary_factor": 0.5},
    "unknown": {"rope_type": "spiral", "factor": 2.0},
}


class Stubs(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Every module of `package` is a stub, but for those under `kept`, which are read from `root`."""

    def __init__(self, package, root, kept, given):
        self.package, self.root, self.kept, self.given = package, root, kept, given

    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] != self.package:
            return None
        if name == self.kept or name.startswith(self.kept + "."):
            folder = self.root.joinpath(*name.split("."))
            file = folder / "__init__.py" if folder.is_dir() else folder.with_suffix(".py")
            search = [str(folder)] if folder.is_dir() else None
            return importlib.util.spec_from_file_location(name, file, submodule_search_locations=search)
        return importlib.machinery.ModuleSpec(name, self, is_package=True)

    def create_module(self, spec):
        module = MagicMock(name=spec.name)
        module.__path__, module.__name__, module.__spec__ = [], spec.name, spec
        for key, value in self.given.items():
            setattr(module, key, value)
        return module

    def exec_module(self, module):
        pass


class Op(torch.nn.Module):
    """What stands for a base class of operations."""

    def __init__(self, *unused, **also):
        super().__init__()

    @staticmethod
    def register(*unused, **also):
        return lambda cls: cls

    @classmethod
    def enabled(cls):
        return False


def no(*unused, **also):
    return False


def factory(package, root, kept):
    platform = MagicMock()
    for asked in ("is_cuda", "is_rocm", "is_cpu", "is_xpu", "is_cuda_alike"):
        setattr(platform, asked, no)
    config = MagicMock()
    config.model_config.max_model_len = LONGEST
    given = {"CustomOp": Op, "BaseFusedOp": Op, "current_platform": platform, "get_current_vllm_config": lambda: config, "has_flashinfer": no,
             "is_cuda": no, "is_hip": no, "is_npu": no, "is_cpu": no, "is_xpu": no, "is_musa": no, "cpu_has_amx_support": no, "get_bool_env_var": no,
             "get_device": lambda *a: "cpu"}
    finder = Stubs(package, pathlib.Path(root), kept, given)
    sys.meta_path.insert(0, finder)
    get_rope = importlib.import_module(kept).get_rope
    sys.meta_path.remove(finder)
    for name in [n for n in sys.modules if n.split(".")[0] == package]:
        sys.modules[name + "#" + str(root)] = sys.modules.pop(name)
    return get_rope


def frequencies(angle_at, pairs, length):
    """From the largest power of two at which the angle is below a radian."""
    out = []
    for pair in range(pairs):
        p = 1
        frequency = angle_at(pair, 1)
        while p * 2 < length and abs(frequency) * p * 2 < 1:
            p *= 2
            frequency = angle_at(pair, p) / p
        out.append(float(f"{frequency:.7g}"))
    return out


def of_table(rows):
    pairs = rows.shape[1] // 2
    angle = lambda pair, p: math.atan2(rows[p, pairs + pair], rows[p, pair])
    return pairs, angle, float(f"{math.hypot(rows[1, 0], rows[1, pairs]):.8g}")


def of_torch(module):
    reading = {"at": {}}
    for length in LENGTHS:
        if hasattr(module, "long_short_cos_sin_cache"):  # which of its halves is used, its forward says
            places = torch.arange(length)
            rows = torch.zeros(length, HEAD)
            for pair in range(HEAD // 2):
                x = torch.zeros(length, HEAD)
                x[:, pair] = 1
                turned = module.forward(places, x, x.clone())[0]
                rows[:, pair], rows[:, HEAD // 2 + pair] = turned[:, pair], turned[:, HEAD // 2 + pair]
            reading["rows"] = module.max_position_embeddings
        else:
            rows = module.cos_sin_cache.double()
            reading["rows"] = rows.shape[0]
        pairs, angle, reading["factor"] = of_table(rows)
        reading["at"][length] = frequencies(angle, pairs, length)
    return reading


def parameters(config):
    made = transformers.LlamaConfig(**{k: v for k, v in json.loads(json.dumps(config)).items() if k != "model_type"})
    return made, made.rope_parameters


def vllm(get_rope):
    def read(config):
        made, dictionary = parameters(config)
        return of_torch(get_rope(HEAD, max_position=made.max_position_embeddings, is_neox_style=True, rope_parameters=dictionary))
    return read


def sglang(get_rope):
    def read(config):  # models/llama.py
        made, dictionary = parameters(config)
        if getattr(made, "original_max_position_embeddings", None):
            dictionary["original_max_position_embeddings"] = made.original_max_position_embeddings
        width = int(getattr(made, "partial_rotary_factor", 1) * HEAD)
        return of_torch(get_rope(HEAD, rotary_dim=width, max_position=made.max_position_embeddings, base=dictionary.get("rope_theta", 10000),
                                 rope_scaling=dictionary, is_neox_style=True))
    return read


def of_mlx(module, head=HEAD):
    import mlx.core as mx
    import numpy
    reading = {"at": {}}
    dims = getattr(module, "dims", None) or getattr(module, "dim")
    adjacent = bool(getattr(module, "traditional", False))
    reading["adjacent"] = adjacent
    for length in LENGTHS:
        rows = []
        for pair in range(dims // 2):
            first = 2 * pair if adjacent else pair
            second = first + 1 if adjacent else pair + dims // 2
            x = numpy.zeros((1, 1, length, head), dtype=numpy.float32)
            x[..., first] = 1
            turned = numpy.array(module(mx.array(x)))[0, 0]
            rows.append((turned[:, first], turned[:, second]))
        angle = lambda pair, p: math.atan2(rows[pair][1][p], rows[pair][0][p])
        reading["factor"] = float(f"{math.hypot(rows[0][0][1], rows[0][1][1]):.7g}")
        reading["at"][length] = frequencies(angle, dims // 2, length)
    return reading


def mlx_classes(root):
    for name in ("mlx_lm", "mlx_lm.models"):
        module = types.ModuleType(name)
        module.__path__ = [str(pathlib.Path(root).joinpath(*name.split(".")))]
        sys.modules[name] = module
    return lambda kind: importlib.import_module(f"mlx_lm.models.{kind}")


def mlx(classes):
    def read(config):
        module = classes("llama" if config["model_type"] == "mistral" else config["model_type"])  # utils.py, MODEL_REMAPPING
        model = module.Model(module.ModelArgs.from_dict(json.loads(json.dumps(config))))
        ropes = {int(re.search(r"(?:layers|h)\.(\d+)", name).group(1)): m for name, m in model.named_modules() if name.endswith(("rope", "rotary_emb"))}
        reading = of_mlx(ropes[max(ropes)])  # of the last layer
        caches = model.make_cache() if hasattr(model, "make_cache") else [None] * config["num_hidden_layers"]
        reading["windows"] = [getattr(c, "max_size", 0) if type(c).__name__ == "RotatingKVCache" else 0 for c in caches]
        return reading
    return read


def tried(read, config):
    try:
        return read(config)
    except Exception as error:
        return f"{type(error).__name__}: {error}"[:160]


FAMILIES = ("llama", "mistral", "mixtral", "qwen2", "qwen2_moe", "qwen3", "qwen3_moe", "phi", "stablelm", "gemma", "gemma2", "olmo2", "olmo3", "glm", "glm4",
            "granite", "granitemoe", "smollm3", "starcoder2", "gpt_oss", "seed_oss", "gemma3_text")
SIZES = dict(layer_norm_eps=1e-5, norm_eps=1e-5, num_local_experts=2, num_experts=2, num_experts_per_tok=1, moe_intermediate_size=16,
             shared_expert_intermediate_size=16, decoder_sparse_step=1, mlp_only_layers=[], norm_topk_prob=True, tie_word_embeddings=True,
             partial_rotary_factor=0.5, use_qkv_bias=False, attention_bias=False, mlp_bias=False, logits_scaling=1.0, attention_multiplier=0.1,
             embedding_multiplier=1.0, residual_multiplier=1.0, query_pre_attn_scalar=32, attn_logit_softcapping=50.0, final_logit_softcapping=30.0,
             norm_epsilon=1e-5, sliding_window=64)

PHI3 = {"model_type": "phi3", "original_max_position_embeddings": ORIGINAL, "rope_theta": 20000.0}
LATENT = {"model_type": "deepseek_v3", "qk_nope_head_dim": 32, "qk_rope_head_dim": 16, "v_head_dim": 32, "kv_lora_rank": 16, "q_lora_rank": 16,
          "num_key_value_heads": 4, "n_routed_experts": 2, "n_shared_experts": 1, "first_k_dense_replace": 1, "n_group": 1, "topk_group": 1,
          "routed_scaling_factor": 1.0, "topk_method": "noaux_tc", "scoring_func": "sigmoid", "moe_layer_freq": 1, "rope_theta": 20000.0}
LISTS = {"short_factor": SHORT[:8], "long_factor": LONG[:8]}  # of half of the head
OTHERS = {
    "phi3, longrope": PHI3 | {"rope_scaling": {"type": "longrope"} | LISTS},
    "phi3, su": PHI3 | {"rope_scaling": {"type": "su"} | LISTS},
    "phi3, rope_type alone": PHI3 | {"rope_scaling": {"rope_type": "longrope"} | LISTS},
    "phi3, yarn": PHI3 | {"rope_scaling": {"type": "yarn"} | LISTS},
    "phi3, linear": PHI3 | {"rope_scaling": {"type": "linear", "factor": 4.0} | LISTS},
    "phi3, original within": PHI3 | {"original_max_position_embeddings": 1024,
                                     "rope_scaling": {"type": "longrope", "original_max_position_embeddings": ORIGINAL} | LISTS},
    "phi3, plain": PHI3,
    "deepseek_v3, plain": LATENT,
    "deepseek_v3, yarn": LATENT | {"rope_scaling": YARN | {"type": "yarn", "mscale": 1.0, "mscale_all_dim": 1.0}},
    "deepseek_v3, yarn of other mscales": LATENT | {"rope_scaling": YARN | {"type": "yarn", "mscale": 0.8, "mscale_all_dim": 0.3}},
    "llama, layer_types": {"model_type": "llama", "layer_types": ["sliding_attention", "full_attention"], "rope_theta": 20000.0},
    "mistral, layer_types": {"model_type": "mistral", "layer_types": ["sliding_attention", "full_attention"], "rope_theta": 20000.0},
    "qwen2, windows": {"model_type": "qwen2", "use_sliding_window": True, "max_window_layers": 1, "rope_theta": 20000.0},
    "qwen3, windows": {"model_type": "qwen3", "use_sliding_window": True, "max_window_layers": 1, "rope_theta": 20000.0},
    "gpt_neox": {"model_type": "gpt_neox", "rotary_emb_base": 20000, "rotary_pct": 0.25},
    "gpt_neox, as transformers 5 writes": {"model_type": "gpt_neox", "rope_parameters": {"rope_theta": 20000.0, "rope_type": "default",
                                                                                       "partial_rotary_factor": 0.5}},
}


def main():
    mlx_root, sglang_root, vllm_root, old_root = sys.argv[1:5]
    classes = mlx_classes(mlx_root)
    readers = {
        "vllm": vllm(factory("vllm", vllm_root, "vllm.model_executor.layers.rotary_embedding")),
        "vllm-0.24": vllm(factory("vllm", old_root, "vllm.model_executor.layers.rotary_embedding")),
        "sglang": sglang(factory("sglang", sglang_root, "sglang.srt.layers.rotary_embedding")),
        "mlx": mlx(classes),
    }
    cases = []
    for name, scaling in SCALINGS.items():
        for spelt in ("rope_scaling", "rope_parameters", "type"):
            written = dict(scaling)
            if spelt == "type":
                written["type"] = written.pop("rope_type")
            config = BASE | ({"rope_parameters": {"rope_theta": 20000.0} | written} if spelt == "rope_parameters"
                             else {"rope_theta": 20000.0, "rope_scaling": written})
            cases.append({"name": f"{name}, {spelt}", "config": config, "readings": {who: tried(read, config) for who, read in readers.items()}})
    models = []
    for kind in FAMILIES:
        linear = {"rope_type": "linear", "type": "linear", "factor": 4.0}
        own = {"layer_types": ["sliding_attention", "full_attention"]} if kind in ("olmo3", "gpt_oss", "gemma3_text") else {}
        if kind == "gemma3_text":
            own["sliding_window_pattern"] = 2
        for spelt, rope in (("4", {"rope_theta": 20000.0, "rope_scaling": linear}), ("5", {"rope_parameters": {"rope_theta": 20000.0} | linear})):
            config = BASE | SIZES | own | {"model_type": kind} | rope
            models.append({"name": f"{kind}, as transformers {spelt} writes", "config": config, "reading": tried(mlx(classes), config)})
    for name, config in OTHERS.items():
        models.append({"name": name, "config": BASE | SIZES | config, "reading": tried(mlx(classes), BASE | SIZES | config)})
    out = {"source": "vLLM 0.33.0 and 0.24.0, SGLang 0.5.23, mlx-lm 0.32.2", "lengths": LENGTHS, "cases": cases, "models": models}
    (HERE / "readers.json").write_text(json.dumps(out, separators=(",", ":")) + "\n")
    for case in cases:
        print(case["name"], {who: (r if isinstance(r, str) else (r.get("rows"), r["factor"], r["at"][LENGTHS[0]][3])) for who, r in case["readings"].items()})
    for model in models:
        r = model["reading"]
        print(model["name"], r if isinstance(r, str) else (r["factor"], len(r["at"][256]), r["adjacent"], r["at"][256][1]))


if __name__ == "__main__":
    main()
