"""`gnomon explain A B` as a gate: exit code 1 where two files compute different positions, 0 where only their spelling differs."""

import json

import pytest

from conftest import gguf, gnomon

LLAMA = {"model_type": "llama", "hidden_size": 512, "num_hidden_layers": 4, "num_attention_heads": 8, "num_key_value_heads": 2,
         "max_position_embeddings": 32768, "rope_theta": 1000000.0, "torch_dtype": "bfloat16"}
YARN = LLAMA | {"rope_scaling": {"type": "yarn", "factor": 4.0, "original_max_position_embeddings": 8192}}
MISTRAL = LLAMA | {"model_type": "mistral", "sliding_window": 4096}
DEEPSEEK = {"model_type": "deepseek_v3", "hidden_size": 256, "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 4,
            "max_position_embeddings": 8192, "qk_rope_head_dim": 16, "qk_nope_head_dim": 32, "v_head_dim": 32, "kv_lora_rank": 64, "rope_theta": 10000.0,
            "rope_interleave": True}
EXPORT = {"general.architecture": "llama", "llama.block_count": 4, "llama.context_length": 32768, "llama.embedding_length": 512,
          "llama.attention.head_count": 8, "llama.attention.head_count_kv": 2, "llama.rope.freq_base": 1000000.0, "llama.rope.dimension_count": 64}
EXPORTED_YARN = EXPORT | {"llama.rope.scaling.type": "yarn", "llama.rope.scaling.factor": 4.0, "llama.rope.scaling.original_context_length": 8192}

HYBRID = {"model_type": "qwen3_next", "hidden_size": 512, "num_hidden_layers": 8, "num_attention_heads": 8, "num_key_value_heads": 2, "head_dim": 64,
          "full_attention_interval": 4, "max_position_embeddings": 32768, "rope_theta": 1000000.0, "partial_rotary_factor": 0.25}
EXPORTED_HYBRID = {key.replace("llama", "qwen3next", 1): value for key, value in EXPORT.items()} | {
    "general.architecture": "qwen3next", "qwen3next.block_count": 8, "qwen3next.attention.key_length": 64, "qwen3next.attention.value_length": 64,
    "qwen3next.full_attention_interval": 4, "qwen3next.rope.dimension_count": 16}
# The converter writes one head of keys where all share a latent vector.
EXPORTED_LATENT = {"general.architecture": "deepseek2", "deepseek2.block_count": 2, "deepseek2.context_length": 8192, "deepseek2.embedding_length": 256,
                   "deepseek2.attention.head_count": 4, "deepseek2.attention.head_count_kv": 1, "deepseek2.attention.key_length": 80,
                   "deepseek2.attention.value_length": 64, "deepseek2.attention.key_length_mla": 48, "deepseek2.attention.value_length_mla": 32,
                   "deepseek2.attention.kv_lora_rank": 64, "deepseek2.rope.dimension_count": 16, "deepseek2.rope.freq_base": 10000.0}


def written(folder, a, b):
    """Two files: a GGUF file of what has its keys, else a config.json."""
    for name, content in (("a", a), ("b", b)):
        if "general.architecture" in content:
            yield gguf(folder / f"{name}.gguf", content)
        else:
            path = folder / f"{name}.json"
            path.write_text(json.dumps(content))
            yield path


def renamed(keys, arch):
    return {key.replace("llama", arch, 1): value for key, value in keys.items()} | {"general.architecture": arch}


DIFFER = {
    "theta": (LLAMA, LLAMA | {"rope_theta": 500000.0}, {"frequencies"}),
    "theta left out": (LLAMA, {k: v for k, v in LLAMA.items() if k != "rope_theta"}, {"frequencies"}),
    "scaling dropped": (YARN, LLAMA, {"frequencies", "factor of cos and sin"}),
    "another factor": (YARN, YARN | {"rope_scaling": YARN["rope_scaling"] | {"factor": 8.0}}, {"frequencies", "factor of cos and sin"}),
    "context length": (LLAMA, LLAMA | {"max_position_embeddings": 2048}, {"context length"}),
    "window": (MISTRAL, MISTRAL | {"sliding_window": 4097}, {"window"}),
    "window dropped": (MISTRAL, MISTRAL | {"sliding_window": None}, {"window"}),
    "pairing": (DEEPSEEK, DEEPSEEK | {"rope_interleave": False}, {"pairing"}),
    "layers": (LLAMA, LLAMA | {"num_hidden_layers": 1}, {"layers"}),
    "KV heads": (LLAMA, LLAMA | {"num_key_value_heads": 8}, {"KV heads"}),
    "theta of an export": (LLAMA, EXPORT | {"llama.rope.freq_base": 10000.0}, {"frequencies"}),
    "scaling dropped by an export": (YARN, EXPORT, {"frequencies", "factor of cos and sin"}),
    "length of an export": (LLAMA, EXPORT | {"llama.context_length": 4096}, {"context length"}),
    "layers with attention in an export": (HYBRID, EXPORTED_HYBRID | {"qwen3next.full_attention_interval": 2}, {"component"}),
    "theta of a hybrid's export": (HYBRID, EXPORTED_HYBRID | {"qwen3next.rope.freq_base": 10000.0}, {"frequencies"}),
    "theta of latent attention's export": (DEEPSEEK, EXPORTED_LATENT | {"deepseek2.rope.freq_base": 50000.0}, {"frequencies"}),
    "pairing of an export": (EXPORT, renamed(EXPORT, "qwen2"), {"pairing"}),
}


@pytest.mark.parametrize("name", DIFFER)
def test_one_planted_difference_is_found_and_nothing_else(name, tmp_path):
    a, b, expected = DIFFER[name]
    for pair in ((a, b), (b, a)):
        found = json.loads(gnomon("explain", *written(tmp_path, *pair), "--json", check=1).stdout)
        assert not found["same"] and {d["what"] for d in found["differences"]} == expected
    assert "They use positions differently" in gnomon("explain", *written(tmp_path, a, b), check=1).stdout


NEW_YARN = {k: v for k, v in YARN.items() if not k.startswith("rope_")} | {"rope_parameters": {
    "rope_type": "yarn", "rope_theta": 1000000.0, "factor": 4.0, "original_max_position_embeddings": 8192, "beta_fast": 32, "beta_slow": 1.0}}
AGREE = {
    "itself": (YARN, YARN),
    "old and new dictionary": (YARN, NEW_YARN),
    "theta in the dictionary": (LLAMA, {k: v for k, v in LLAMA.items() if k != "rope_theta"} | {
        "rope_parameters": {"rope_type": "default", "rope_theta": 1000000}}),
    "a null dictionary": (LLAMA, LLAMA | {"rope_scaling": None}),
    "type of numbers": (LLAMA, LLAMA | {"torch_dtype": "float16"}),
    "new name of the type": (LLAMA, {k: v for k, v in LLAMA.items() if k != "torch_dtype"} | {"dtype": "float32"}),
    "a default that is said": (LLAMA, LLAMA | {"head_dim": 64, "hidden_act": "silu"}),
    "a language part": (LLAMA, {"model_type": "llava", "text_config": LLAMA}),
    "an export": (LLAMA, EXPORT),
    "a scaled export": (YARN, EXPORTED_YARN),
    "an export of a hybrid": (HYBRID, EXPORTED_HYBRID),
    "an export of latent attention": (DEEPSEEK, EXPORTED_LATENT),
}


@pytest.mark.parametrize("name", AGREE)
def test_a_difference_of_spelling_alone_is_none(name, tmp_path):
    for pair in (AGREE[name], AGREE[name][::-1]):
        found = json.loads(gnomon("explain", *written(tmp_path, *pair), "--json", check=0).stdout)
        assert found["same"] and found["differences"] == []


def test_what_is_expected_to_differ_is_left_out(tmp_path):
    draft = LLAMA | {"num_hidden_layers": 1, "num_attention_heads": 4, "hidden_size": 256}
    both = list(written(tmp_path, LLAMA, draft))
    gnomon("explain", *both, check=1)
    gnomon("explain", *both, "--ignore", "layers", check=1)
    told = gnomon("explain", *both, "--ignore", "layers", "--ignore", "heads", check=0).stdout
    assert "Differences that were expected: layers, heads." in told
    # A draft that lost its base or its length is wrong, whatever its size.
    for lost in ({"rope_theta": 10000.0}, {"max_position_embeddings": 2048}):
        gnomon("explain", *written(tmp_path, LLAMA, draft | lost), "--ignore", "layers", "--ignore", "heads", check=1)
    assert "did you mean 'kv-heads'" in gnomon("explain", *both, "--ignore", "kv-head", check=2).stderr
    gnomon("explain", both[0], "--ignore", "layers", check=2)


def test_drafts_with_heads_of_another_width_are_compared_by_their_settings(tmp_path):
    draft = YARN | {"num_hidden_layers": 1, "head_dim": 32}
    sizes = [word for name in ("layers", "head-dim", "rotated-channels", "softmax-scale") for word in ("--ignore", name)]
    gnomon("explain", *written(tmp_path, YARN, draft), *sizes, check=0)
    for wrong in ({"rope_theta": 10000.0}, {"rope_scaling": None}):
        done = gnomon("explain", *written(tmp_path, YARN, draft | wrong), *sizes, check=1)
        assert "frequencies" in done.stdout


def test_files_that_cannot_be_compared(tmp_path):
    a, b = written(tmp_path, LLAMA, LLAMA)
    b.write_text("{")
    gnomon("explain", a, b, check=3)
    gnomon("explain", a, tmp_path / "none.json", check=4)
