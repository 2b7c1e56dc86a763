"""`--set model.block=PATH` trains the block of a stranger's model at the study's own size."""

import json
import tomllib

from conftest import gnomon

GEMMA3 = {"model_type": "gemma3_text", "hidden_size": 640, "num_hidden_layers": 18, "num_attention_heads": 4, "num_key_value_heads": 1,
          "head_dim": 256, "intermediate_size": 2048, "max_position_embeddings": 32768, "rope_theta": 1000000.0,
          "rope_local_base_freq": 10000.0, "sliding_window": 512, "query_pre_attn_scalar": 256, "rms_norm_eps": 1e-6,
          "hidden_activation": "gelu_pytorch_tanh", "vocab_size": 262144}
SMALL = ["--set", "model.layers=1", "--set", "model.width=32", "--set", "model.heads=4", "--set", "model.length=16",
         "--set", "train.steps=4", "--set", "train.batch=2", "--set", "study.budgets=1", "--set", "tune.seeds=0",
         "--set", "evaluate.lengths=1", "--set", "evaluate.score=8", "--set", "evaluate.windows=4",
         "--set", "study.arms=rope,none", "--set", "study.seeds=1"]


def test_the_block_of_a_file_is_trained_and_written_down(text, tmp_path):
    config = tmp_path / "config.json"
    config.write_text(json.dumps(GEMMA3))
    out = tmp_path / "out"
    done = gnomon("study", "--text", text, "--out", out, "--set", f"model.block={config}", *SMALL)
    block = tomllib.loads((out / "study.toml").read_text())["model"]["block"]
    # Gemma 3 technical report (arXiv 2503.19786): norms before and after, of q and k; GELU's gate; the word table is the head.
    # query_pre_attn_scalar is the size of a head, which is the standard scale; gpt has the tanh form of GELU.
    assert block == ("gpt(norm=rms_one_plus, epsilon=1e-06, place=before_and_after, head_norm=on, group=4, gated=on, hidden=3.2, "
                     "biases=off, word_scale=root, tied=on)")
    assert f"{config} has the block {block}" in done.stderr and "its encoding, as an arm, is " in done.stderr
    assert block in (out / "report.html").read_text()
    # Written down as text: the study goes on when the file is gone.
    config.unlink()
    again = gnomon("study", "--text", text, "--out", out, "--set", f"model.block={block}", *SMALL)
    assert again.stdout == done.stdout


def test_a_family_that_is_explained_only_is_refused(text, tmp_path):
    config = tmp_path / "config.json"
    config.write_text(json.dumps({"model_type": "baichuan", "hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4}))
    asked = gnomon("study", "--text", text, "--out", tmp_path / "out", "--set", f"model.block={config}", check=3)
    assert "but cannot run it; it runs: " in asked.stderr
    asked = gnomon("study", "--text", text, "--out", tmp_path / "out", "--set", "model.block=lama", check=2)
    assert "did you mean 'llama'?" in asked.stderr
