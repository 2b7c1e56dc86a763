"""Which files of known families transformers can run, for `gnomon lint`: tests/golden/lint_runs.json.

    python3 make_lint.py

transformers 5.23.0, torch 2.15.0. Each class is built in a small size from a file that runs, with one thing changed, and run on
twelve tokens. `bases`: the files; `cases`: [model_type, what is changed, what is taken out, the error or null]. A file that cannot run
must have an error of lint (tests/models/lint_runs_test.cpp); one that runs must have none of those that say it cannot. `written`: files
as classes of other families write them, all of which build: they must have no error.
"""

import copy
import json
import logging
import pathlib
import warnings

import torch
import transformers
from transformers import AutoModel
from transformers.models.auto.configuration_auto import CONFIG_MAPPING

warnings.filterwarnings("ignore")
logging.disable(logging.CRITICAL)
transformers.logging.set_verbosity_error()
torch.set_num_threads(1)

SIZES = dict(vocab_size=40, hidden_size=48, intermediate_size=24, num_attention_heads=6, num_hidden_layers=4, max_position_embeddings=256,
             pad_token_id=0, bos_token_id=1, eos_token_id=2, num_key_value_heads=3)
EXPERTS = dict(num_experts=4, num_experts_per_tok=2, num_local_experts=4, moe_intermediate_size=16, n_routed_experts=4, n_shared_experts=1, n_group=1, topk_group=1,
               moe_topk=2)
OWN_HEAD = ("gemma", "gemma2", "gemma3_text", "gemma4_text", "gpt_oss", "glm", "glm4", "qwen3", "qwen3_vl_text", "ministral3", "llama4_text",
            "hunyuan_v1_dense", "hunyuan_v1_moe", "ministral")
WINDOWED = ("gemma2", "ministral", "gemma3_text", "gpt_oss", "olmo3", "exaone4", "granite_swa", "granitemoe_swa", "gemma4_text")
SPARSE = ("mixtral", "qwen3_moe", "hunyuan_v1_moe", "gpt_oss", "granitemoe_swa", "llama4_text")
LATENT = ("deepseek_v2", "deepseek_v3")  # keys for every head
STREAMS = ("qwen2_vl_text", "qwen2_5_vl_text", "qwen3_vl_text")
TYPES = ("llama", "mistral", "mixtral", "qwen2", "qwen3", "qwen3_moe", "phi", "phi3", "stablelm", "glm4", "glm", "gemma", "smollm3", "olmo", "olmo2", "granite",
         "hunyuan_v1_dense", "hunyuan_v1_moe", "ministral", "ministral3", "llama4_text", "nomic_bert", "gpt_neox", "modernbert", *LATENT, *STREAMS,
         *(t for t in WINDOWED if t != "ministral"))


def base(family):
    made = dict(SIZES)
    if family in ("gpt_neox", "modernbert", "nomic_bert"):
        del made["num_key_value_heads"]
    if family in SPARSE:
        made |= EXPERTS
    if family in OWN_HEAD:
        made["head_dim"] = 8
    if family in WINDOWED:
        made["sliding_window"] = 5
    if family == "gemma4_text":
        made |= dict(global_head_dim=16, vocab_size_per_layer_input=40, hidden_size_per_layer_input=8)
    if family == "llama4_text":
        made |= dict(intermediate_size_mlp=24, attention_chunk_size=8)
    if family == "modernbert":
        made |= dict(local_attention=8, cls_token_id=1, sep_token_id=2)
    if family in LATENT:
        made |= EXPERTS | dict(num_key_value_heads=6, qk_nope_head_dim=8, qk_rope_head_dim=4, v_head_dim=8, kv_lora_rank=12, q_lora_rank=12, first_k_dense_replace=99)
    if family in STREAMS:
        made["rope_parameters"] = {"rope_type": "default", "rope_theta": 10000.0, "mrope_section": [1, 1, 2]}
    return made


def rope(kind, **more):
    ramp = {"factor": 4.0, "original_max_position_embeddings": 64}
    own = {"default": {}, "linear": {"factor": 4.0}, "yarn": ramp, "llama3": {**ramp, "low_freq_factor": 1.0, "high_freq_factor": 4.0},
           "proportional": {"partial_rotary_factor": 0.5}}[kind]
    return {"rope_type": kind, "rope_theta": 10000.0, **own, **more}


def changes(family):
    """What is changed, and what is taken out."""
    half = ["sliding_attention", "full_attention"] * 2
    chunks = ["chunked_attention", "full_attention"] * 2
    yield {}, []
    yield {"head_dim": None}, []
    yield {}, ["head_dim"]
    yield {"head_dim": 16}, []
    for kv in (3, 4, 12, None):
        if "num_key_value_heads" in base(family):
            yield {"num_key_value_heads": kv}, []
            yield {"num_key_value_heads": kv, "num_attention_heads": 12, "hidden_size": 96}, []
    yield {"num_attention_heads": 12, "hidden_size": 96}, ["num_key_value_heads"] if "num_key_value_heads" in base(family) else []
    for key in ("hidden_size", "num_hidden_layers", "num_attention_heads", "max_position_embeddings"):
        yield {key: float(SIZES[key])}, []
        yield {key: str(SIZES[key])}, []
    for key in ("max_position_embeddings", "num_hidden_layers", "rope_scaling", "partial_rotary_factor", "attention_chunk_size", "attn_temperature_tuning"):
        yield {key: None}, []
    yield {"rope_parameters": {}, "rope_theta": 5000.0}, []
    yield {"rope_scaling": {}}, []
    for key in ("sliding_window", "attention_chunk_size"):
        yield {key: None, "layer_types": ["full_attention"] * 4}, []
    for window in (None, 0, 6):
        yield {"sliding_window": window}, []
        yield {"sliding_window": window, "layer_types": half}, []
        yield {"sliding_window": window, "use_sliding_window": False}, []
        yield {"sliding_window": window, "use_sliding_window": True, "max_window_layers": 0}, []
    yield {"layer_types": half}, ["sliding_window"]
    yield {"layer_types": chunks}, ["attention_chunk_size"]
    yield {"layer_types": chunks, "attention_chunk_size": None}, []
    yield {"layer_types": ["local", "full_attention"] * 2}, []
    yield {"layer_types": ["attention", "full_attention"] * 2}, []
    yield {"local_attention": None}, []
    yield {"use_sliding_window": 1}, []
    for value in (4, 0, True):
        yield {"attn_temperature_tuning": value}, []
    if family not in STREAMS:
        for kind in ("default", "linear", "yarn", "llama3", "proportional"):
            for more in ({}, {"llama_4_scaling_beta": 0.1}) if family == "ministral3" else ({},):
                yield {"rope_parameters": rope(kind, **more)}, []
        yield {"rope_parameters": rope("proportional", partial_rotary_factor=1.0)}, []
        yield {"rope_parameters": {"full_attention": rope("default")}}, []
        yield {"rope_parameters": {"full_attention": rope("yarn"), "sliding_attention": rope("default")}}, []
        bare = {k: v for k, v in rope("yarn").items() if not k.startswith("original")}
        lists = {"rope_type": "longrope", "rope_theta": 10000.0, "short_factor": [1.0] * 4, "long_factor": [2.0] * 4}
        for one in (bare, lists):
            yield {"rope_parameters": {"full_attention": one, "sliding_attention": rope("default")}}, []


WRITTEN = ("bart", "blenderbot", "beit", "clip", "clip_vision_model", "whisper", "deepseek_v4", "lfm3", "qwen2_moe", "minimax_m2", "cohere2", "qwen3_5_text",
           "efficientloftr", "glm4_moe", "jetmoe", "ernie4_5", "dots3_note_text", "mistral4")


def written(family):
    config = json.loads(CONFIG_MAPPING[family]().to_json_string())
    return {k: v for k, v in config.items() if k not in ("id2label", "label2id", "transformers_version")}


def why_not(config):
    """The name of the error; None: it runs."""
    try:
        given = {k: v for k, v in copy.deepcopy(config).items() if k != "model_type"}
        torch.manual_seed(5)
        as_ministral = config["model_type"] == "mistral" and "layer_types" in given  # AutoConfig does so
        model = AutoModel.from_config(CONFIG_MAPPING["ministral" if as_ministral else config["model_type"]](**given)).eval()
        with torch.no_grad():
            model(input_ids=torch.randint(3, 40, (1, 12)))
    except Exception as error:  # of any kind: what matters is that it does not run
        return type(error.__cause__ or error).__name__
    return None


def main():
    bases = {family: base(family) for family in TYPES}
    cases = []
    for family in TYPES:
        for changed, without in changes(family):
            config = {"model_type": family, **{k: v for k, v in bases[family].items() if k not in without}, **changed}
            cases.append([family, changed, without, why_not(config)])
        assert cases[-1] and next(c for c in cases if c[0] == family)[3] is None, (family, cases[-1])
    dump = lambda x: json.dumps(x, separators=(",", ":"))
    lines = ",\n".join(dump(c) for c in cases)
    files = ",\n".join(f'"{family}": {dump(written(family))}' for family in WRITTEN)
    pathlib.Path(__file__).with_name("lint_runs.json").write_text(f'{{"bases": {dump(bases)},\n"cases": [\n{lines}\n],\n"written": {{\n{files}\n}}}}\n')
    print(len(cases), "files,", sum(c[3] is not None for c in cases), "cannot run")


main()
