"""What llama.cpp computes from the positions of GGUF files: tests/golden/llama_cpp.json.

    pip download --no-deps --no-binary llama-cpp-python llama-cpp-python==0.3.36 && tar xzf llama_cpp_python-0.3.36.tar.gz
    cmake -S tests/golden/llama_cpp -B build/llama.cpp -D LLAMA_CPP=$PWD/llama_cpp_python-0.3.36/vendor/llama.cpp
    cmake --build build/llama.cpp --target peer
    pip install gguf==0.19.0
    python3 tests/golden/make_llama_cpp.py build/llama.cpp/peer llama_cpp_python-0.3.36/vendor/llama.cpp

llama.cpp 0.5.0 (0c1e57098), by its own library. For each architecture, files of metadata with a few settings each; the peer
(llama_cpp/peer.cpp) builds the model with drawn weights, runs TOKENS tokens and looks at its graph. `common`: keys by name, of
which a case has those that `with` names, then its own `keys`; `tensors`: the divisors of the pairs. `layers` has a pair [number
of the layer, index of what it does in `kinds`]; a kind has the index of its rotation in `ropes`. A kind of mask is a list of
numbers, one for each query, whose bits are the keys that it sees. `refused`: architectures that no file here runs, and why.
"""

import json
import pathlib
import re
import subprocess
import sys
import tempfile

import gguf

TOKENS = 20
LAYERS = 8
WINDOW = 6
SWA = [True, True, False, True, True, True, False, False]

# Keys of every file: small sizes, and what some loader asks for.
BASE = {
    "vocab_size": 32, "context_length": 256, "embedding_length": 64, "features_length": 64, "block_count": LAYERS,
    "feed_forward_length": 32, "attention.head_count": 4, "attention.head_count_kv": 4, "attention.layer_norm_epsilon": 1e-5,
    "attention.layer_norm_rms_epsilon": 1e-5, "rope.freq_base": 70000.0, "tokenizer.ggml.model": "no_vocab",
    "use_parallel_residual": False, "logit_scale": 1.0, "leading_dense_block_count": 1, "residual_scale": 1.0,
    "attention.clamp_kqv": 1.0, "attention.group_norm_epsilon": 1e-5, "attention.group_norm_groups": 2,
    "tokenizer.ggml.token_type_count": 2, "wkv.head_size": 16, "time_mix_extra_dim": 16, "time_decay_extra_dim": 16,
    "shortconv.l_cache": 3, "embedding_length_per_layer_input": 8,
}
EXPERTS = {
    "expert_count": 2, "expert_used_count": 2, "expert_feed_forward_length": 16, "expert_shared_feed_forward_length": 16,
    "expert_shared_count": 1, "expert_gating_func": 2, "interleave_moe_layer_step": 1, "expert_group_scale": 1.0,
    "experts_per_group": 1, "expert_weights_scale": 1.0, "expert_weights_norm": True, "moe_every_n_layers": 1,
    "expert_latent_length": 16, "swiglu_clamp_exp": 7.0,
}
WINDOWED = {"attention.sliding_window": WINDOW}
LISTED = {"attention.sliding_window": WINDOW, "attention.sliding_window_pattern": SWA}
SSM = {"ssm.conv_kernel": 4, "ssm.inner_size": 128, "ssm.state_size": 16, "ssm.time_step_rank": 4, "ssm.group_count": 2,
       "kda.head_dim": 16, "kda.safe_gate": True, "kda.gate_lower_bound": -5.0, "attn_res.block_size": 12, "activation.situ_beta": 4.0, "activation.situ_linear_beta": 25.0}
LATENT = {"attention.head_count_kv": 1, "attention.q_lora_rank": 16, "attention.kv_lora_rank": 16, "attention.key_length": 24, "attention.value_length": 16,
          "attention.key_length_mla": 24, "attention.value_length_mla": 16, "rope.dimension_count": 8}
INDEXER = {"attention.indexer.head_count": 4, "attention.indexer.key_length": 128, "attention.indexer.top_k": 4096,
           "attention.indexer.block_size": 4, "attention.indexer.local_blocks": 1, "attention.indexer.kpool": 4}
HYPER = {"hyper_connection.count": 4, "hyper_connection.sinkhorn_iterations": 2, "hyper_connection.epsilon": 1e-6,
         "hyper_connection.low_rank": 8, "hyper_connection.magnitude": 2.0}
SECTIONS = {"rope.dimension_sections": [4, 2, 2, 0]}
COMMON = {"base": BASE, "experts": EXPERTS, "windowed": WINDOWED, "listed": LISTED, "ssm": SSM, "latent": LATENT,
          "indexer": INDEXER, "hyper": HYPER, "sections": SECTIONS}

# What the files of an architecture need beside BASE.
NEEDS = {
    "experts": """llama4 cohere2moe grok qwen2moe qwen3moe qwen3next qwen3vlmoe qwen35moe qwen4exp phimoe dbrx olmoe arctic deepseek
        deepseek2 deepseek2-ocr deepseek32 dots3note deepseek4 glm4moe glm-dsa exaone-moe bailingmoe bailingmoe2 bailingmoe3 dots1 afmoe
        ernie4_5-moe hunyuan-moe hy_v3 hy_v4 gpt-oss lfm2moe smallthinker llada-moe grovemoe minimax-01 minimax-m2 minimax-m3 rnd1
        mimo2 kimi-linear kimi-k3 glm5-next step35 mistral4 mellum laguna maple nomic-bert-moe granitemoe nemotron_h_moe""",
    "windowed": """gemma2 gemma3 gemma3n gemma-embedding llama4 cohere2 cohere2moe exaone-moe gpt-oss smallthinker afmoe modern-bert plamo3
        olmo2 laguna mellum deepseek4 muse-glimmer""",
    "listed": "gemma4 granite_swa mimo2 step35 spark2_5 maple dots3note",
    "ssm": "mamba mamba2 jamba plamo2 qwen3next qwen35 qwen35moe qwen4exp falcon-h1 granitehybrid nemotron_h nemotron_h_moe kimi-linear kimi-k3 glm5-next bailingmoe3",
    "latent": "deepseek2 deepseek32 glm-dsa dots3note kimi-linear kimi-k3 mistral4 hy_v4 bailingmoe3 glm5-next minicpm3 plm",
    "indexer": "deepseek32 glm-dsa dots3note deepseek4 hy_v4 minimax-m3 qwen4exp glm5-next",
    "hyper": "deepseek4 hy_v4 qwen4exp glm5-next",
    "sections": "qwen2vl qwen3vl qwen3vlmoe qwen35 qwen35moe qwen4exp qwen3tts paddleocr hunyuan_vl",
}
OWN = {
    "baichuan": {"block_count": 32},
    "mpt": {"attention.max_alibi_bias": 8.0}, "jais": {"attention.max_alibi_bias": 8.0},
    "llama4": {"attention.sliding_window": 8192},
    "gemma3n": {"block_count": 22, "altup.num_inputs": 4, "altup.active_idx": 0, "laurel.rank": 8,
                "activation_sparsity_scale": [0.0] * 22},
    "gemma4": {"attention.key_length": 24, "attention.value_length": 24, "attention.key_length_swa": 16, "attention.value_length_swa": 16,
               "rope.dimension_count": 24, "rope.dimension_count_swa": 8, "rope.freq_base_swa": 20000.0},
    "dots3note": {"attention.kv_lora_rank_swa": 16, "attention.key_length_swa": 24, "attention.value_length_swa": 16,
                  "attention.key_length_mla_swa": 24, "attention.value_length_mla_swa": 16, "rope.freq_base_swa": 20000.0,
                  "attention.indexer.types": [0, 0, 1, 0, 0, 0, 1, 1]},
    "minicpm3": {"attention.head_count_kv": 4}, "plm": {"attention.head_count_kv": 4},
    "deepseek2-ocr": {"rope.freq_base": 10000.0},
    "apertus": {"xielu.alpha_n": 1.0, "xielu.alpha_p": 1.0, "xielu.beta": 1.0, "xielu.eps": 1e-7},
    "plamo2": {"ssm.group_count": 0},
    "graniteswitch": {"adapters.count": 1, "adapters.lora_rank": 4, "adapters.token_ids_activate": [5], "adapters.token_ids_substitute": [6]},
    "bailingmoe3": {"swiglu_clamp_exp": [0.0] * 8, "swiglu_clamp_shexp": [0.0] * 8},
    "hy_v4": {"attention.indexer.types": [1, 0, 1, 0, 1, 0, 1, 0]},
    "glm5-next": {"attention.head_count_kv": [1, 0, 1, 1, 0, 1, 0, 1], "rope.dimension_count": 0, "attention.key_length": 16},
    "deepseek4": {"attention.head_count_kv": 1, "attention.key_length": 16, "attention.value_length": 16, "rope.dimension_count": 8,
                  "attention.q_lora_rank": 16, "attention.output_group_count": 2, "attention.output_lora_rank": 8,
                  "attention.compress_ratios": [0, 0, 4, 4, 128, 128, 0, 4], "attention.compress_rope_freq_base": 160000.0, "hash_layer_count": 0,
                  "expert_gating_func": 4},
    "t5": {"attention.relative_buckets_count": 8}, "t5encoder": {"attention.relative_buckets_count": 8},
    "hrm_text": {"block_count": 6, "hrm.layers_per_stack": 1, "hrm.h_cycles": 2, "hrm.l_cycles": 2},
    "qwen3next": {"ssm.inner_size": 64}, "qwen35": {"ssm.inner_size": 64}, "qwen35moe": {"ssm.inner_size": 64}, "qwen4exp": {"ssm.inner_size": 64},
    "chameleon": {"vocab_size": 10240},
    "qwen3tts": {"vocab_size": 3072},
    "grok": {"attention.output_scale": 0.3, "router_logit_softcapping": 30.0},
}
for name in "plamo2 jamba nemotron_h nemotron_h_moe granitehybrid lfm2 lfm2moe kimi-linear bailingmoe3 kimi-k3".split():
    OWN.setdefault(name, {}).update({"attention.head_count": [4, 0, 4, 4, 0, 4, 0, 4], "attention.head_count_kv": [2, 0, 2, 4, 0, 2, 0, 2]})
for name in ("kimi-linear", "kimi-k3", "bailingmoe3"):
    OWN[name]["attention.head_count_kv"] = [1, 0, 1, 1, 0, 1, 0, 1]
for name in ("nemotron_h", "nemotron_h_moe"):
    OWN[name]["feed_forward_length"] = [0, 0, 32, 0, 0, 0, 0, 32]
    OWN[name]["attention.head_count_kv"] = [2, 0, 0, 4, 0, 2, 0, 0]

DIVISORS = [1.0, 1.0, 1.25, 1.5, 2.0, 3.0, 5.0, 8.0]
YARN = {"rope.scaling.type": "yarn", "rope.scaling.factor": 4.0, "rope.scaling.original_context_length": 64}
# Settings of every architecture.
SETTINGS = {
    "plain": {},
    "part": {"rope.dimension_count": 8},
    "linear": {"rope.scaling.type": "linear", "rope.scaling.factor": 4.0},
    "yarn": YARN,
    "yarn-keys": YARN | {"rope.scaling.yarn_ext_factor": 0.5, "rope.scaling.yarn_attn_factor": 1.5, "rope.scaling.yarn_beta_fast": 16.0,
                         "rope.scaling.yarn_beta_slow": 2.0, "rope.scaling.yarn_log_multiplier": 0.05, "rope.scaling.attn_factor": 1.25},
    "swa": WINDOWED | {"rope.freq_base_swa": 20000.0, "rope.dimension_count_swa": 8, "attention.sliding_window_pattern": 3} | YARN,
    "listed": LISTED | {"rope.freq_base_swa": 20000.0},
    "divided": {},
    "divided-linear": {"rope.scaling.type": "linear", "rope.scaling.factor": 4.0},
    "attn-factor": {"rope.scaling.attn_factor": 1.25},
    "linear-attn-factor": {"rope.scaling.factor": 4.0, "rope.scaling.attn_factor": 1.25},
    "scale": {"attention.scale": 0.125},
}
# Settings that no file of the architecture has: its converter writes no pattern of windows; sections of more pairs than turn.
NEVER = {("llama4", "listed"), ("smallthinker", "listed"), ("smallthinker", "swa"), *((arch, "part") for arch in NEEDS["sections"].split())}
# Files of one architecture.
SINGLE = [
    ("phi3", "long", {"rope.scaling.type": "longrope", "rope.scaling.original_context_length": 64, "rope.scaling.attn_factor": 1.19}, 256),
    ("phi3", "short", {"rope.scaling.type": "longrope", "rope.scaling.original_context_length": 512, "rope.scaling.attn_factor": 1.19}, 256),
    ("openelm", "heads", {"attention.head_count": [4, 4, 2, 4, 4, 4, 4, 4], "attention.head_count_kv": [2, 4, 2, 1, 2, 2, 2, 4]}, 256),
    ("deci", "heads", {"attention.head_count": [4, 4, 0, 4, 4, 4, 4, 4], "attention.head_count_kv": [2, 4, 0, 1, 2, 2, 2, 4]}, 256),
    ("llama", "old-linear", {"rope.scale_linear": 4.0}, 256),
    ("llama", "none", {"rope.scaling.type": "none", "rope.scaling.factor": 4.0}, 256),
    ("exaone4", "64", {"block_count": 64, "attention.sliding_window": WINDOW}, 256),
    ("gemma2", "46", {"block_count": 46, "embedding_length": 96, "attention.key_length": 16, "attention.value_length": 16}, 256),
    ("gemma3", "62", {"block_count": 62, "embedding_length": 96, "attention.key_length": 16, "attention.value_length": 16}, 256),
    ("hunyuan_vl", "alpha", {"rope.scaling.alpha": 50.0}, 256),
    ("hunyuan-dense", "alpha", {"rope.scaling.alpha": 50.0}, 256),
    ("bailingmoe3", "sections", {"rope.dimension_sections": [2, 1, 1, 0]}, 256),
    ("glm4", "sections", {"rope.dimension_sections": [4, 2, 2, 0]}, 256),
    ("glm4moe", "sections", {"rope.dimension_sections": [4, 2, 2, 0]}, 256),
    ("granite", "finetuned", {"rope.scaling.finetuned": True}, 256),
    ("granitehybrid", "finetuned", {"rope.scaling.finetuned": True}, 256),
    ("mistral3", "temperature", {"attention.temperature_scale": 0.5, "rope.scaling.original_context_length": 8}, 256),
    ("llama4", "temperature", {"attention.temperature_scale": 0.5, "attention.temperature_length": 8}, 256),
    ("mpt", "no-alibi", {"attention.max_alibi_bias": 0.0}, 256),
    ("baichuan", "40", {"block_count": 40}, 256),
]


def written(path, arch, keys, tensors):
    writer = gguf.GGUFWriter(path, arch)
    for name, value in keys.items():
        key = name if name.startswith(("tokenizer.", "xielu.")) else f"{arch}.{name}"
        if isinstance(value, bool):
            writer.add_bool(key, value)
        elif isinstance(value, int):
            writer.add_uint32(key, value)
        elif isinstance(value, float):
            writer.add_float32(key, value)
        elif isinstance(value, str):
            writer.add_string(key, value)
        else:
            writer.add_array(key, value)
    for name, numbers in tensors.items():
        import numpy
        writer.add_tensor(name, numpy.array(numbers, dtype=numpy.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def run(peer, arch, keys, tensors, context):
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "model.gguf"
        written(path, arch, keys, tensors)
        done = subprocess.run([peer, path, str(context), str(TOKENS)], capture_output=True, text=True, timeout=120)
    lines = done.stdout.strip().splitlines()
    if done.returncode or not lines:
        said = [line for line in done.stderr.strip().splitlines() if not line.startswith(("[New", "warning", "#"))]
        return None, (said or [f"exit {done.returncode}"])[0][-200:]
    return json.loads(lines[-1]), ""


def needed(arch):
    return ["base"] + [name for name, whose in NEEDS.items() if arch in whose.split()]


class Record:
    def __init__(self):
        self.tables = {"ropes": [], "kinds": [], "masks": []}
        self.cases, self.version = [], ""

    def index(self, table, value):
        if value not in self.tables[table]:
            self.tables[table].append(value)
        return self.tables[table].index(value)

    def add(self, arch, name, groups, keys, tensors, context, found):
        blocks = keys.get("block_count", LAYERS)
        self.version = found["version"]
        for rope in found["ropes"]:
            rope.pop("divided", None)
        layers = []
        for layer in found["layers"]:
            number = int(re.search(r"-(\d+)", layer.pop("node")).group(1))
            layer["rope"] = [self.index("ropes", found["ropes"][n]) for n in layer["rope"]]
            layer["turned"] = [self.index("ropes", found["ropes"][n]) for n in layer.pop("turned")]
            if layer["turned"] == layer["rope"]:
                del layer["turned"]
            if "sees" in layer:
                layer["sees"] = self.index("masks", layer["sees"])
            if "temperature" in layer and set(layer["temperature"]) == {1}:
                del layer["temperature"]
            if number < blocks:  # Granite Switch's router is one more
                layers.append([number, self.index("kinds", layer)])
        case = {"arch": arch, "name": name, "with": groups, "keys": keys, "context": context, "layers": layers}
        if tensors:
            case["tensors"] = tensors
        self.cases.append(case)


def main():
    peer, source = sys.argv[1], pathlib.Path(sys.argv[2])
    names = re.findall(r'\{ LLM_ARCH_\w+,\s+"([\w.-]+)"', (source / "src/llama-arch.cpp").read_text())
    only = sys.argv[3:]
    record, refused = Record(), {}
    for arch in sorted(n for n in names if n not in ("clip",) and (not only or n in only)):
        groups, own = needed(arch), OWN.get(arch, {})
        base = {k: v for g in groups for k, v in COMMON[g].items()} | own
        pairs = base.get("rope.dimension_count", base.get("attention.key_length", 16)) // 2
        for name, settings in SETTINGS.items():
            if (arch, name) in NEVER:
                continue
            divided = name.startswith("divided")
            tensors = {"rope_freqs.weight": DIVISORS[-pairs:] + [8.0] * (pairs - len(DIVISORS))} if divided else {}
            if name == "listed" and base["block_count"] != LAYERS:
                settings = settings | {"attention.sliding_window_pattern": (SWA * 8)[:base["block_count"]]}
            found, why = run(peer, arch, base | settings, tensors, 256)
            without, _ = run(peer, arch, base | settings, {}, 256) if divided and found else (None, "")
            if without and found["ropes"] == without["ropes"]:
                continue  # the loader refuses a file with a tensor that it does not know
            if found and found["layers"]:
                record.add(arch, name, groups, own | settings, tensors, 256, found)
            elif name == "plain":
                refused[arch] = why or "no attention"
                break
            else:
                print(arch, name, why)
    for arch, name, settings, context in SINGLE:
        if only and arch not in only:
            continue
        groups, own = needed(arch), OWN.get(arch, {})
        base = {k: v for g in groups for k, v in COMMON[g].items()} | own
        tensors = {}
        if settings.get("rope.scaling.type") == "longrope":
            tensors = {"rope_factors_long.weight": DIVISORS, "rope_factors_short.weight": [1.0] * 6 + [1.1, 1.2]}
        found, why = run(peer, arch, base | settings, tensors, context)
        print(arch, name, why or f"{len(found['layers'])} layers")
        if found:
            record.add(arch, name, groups, own | settings, tensors, context, found)
    out = {"version": record.version, "source": "llama.cpp 0c1e57098, in llama-cpp-python 0.3.36", "tokens": TOKENS, "common": COMMON,
           "refused": refused, **record.tables, "cases": record.cases}
    lines = json.dumps(out, separators=(",", ":"))
    pathlib.Path("llama_cpp.json" if only else pathlib.Path(__file__).parent / "llama_cpp.json").write_text(lines + "\n")
    print(len(record.cases), "cases of", len({c["arch"] for c in record.cases}), "architectures;", len(refused), "refused")
    for arch, why in refused.items():
        print(" ", arch, why)


main()
