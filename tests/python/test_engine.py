"""docs/examples/engine.c, a small inference engine in C: its tokens are those of transformers."""

import json
import pathlib
import struct
import subprocess

import pytest

ROOT = pathlib.Path(__file__).parents[2]
ENGINE, GOLDEN = ROOT / "build" / "dev" / "tests" / "engine_in_c", ROOT / "tests" / "golden" / "architectures" / "llama.safetensors"


@pytest.fixture(scope="module")
def golden():
    """(the folder of a checkpoint, the prompts, what transformers generates after each, what changes its configuration)."""
    content = GOLDEN.read_bytes()
    size = struct.unpack("<Q", content[:8])[0]
    header = json.loads(content[8:8 + size])

    def rows(name):
        first, end = header[name]["data_offsets"]
        numbers = struct.unpack(f"<{(end - first) // 4}i", content[8 + size + first:8 + size + end])
        width = header[name]["shape"][1]
        return [numbers[n:n + width] for n in range(0, len(numbers), width)]

    return content, json.loads(header["__metadata__"]["config"]), rows("inputs"), rows("generated")


def generate(folder, content, config, prompt, count):
    folder.mkdir(exist_ok=True)
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "model.safetensors").write_bytes(content)
    return subprocess.run([ENGINE, folder, str(count), *map(str, prompt)], capture_output=True, text=True, check=False)


def test_its_tokens_are_those_of_transformers(golden, tmp_path):
    content, config, prompts, generated = golden
    assert len(prompts) == 2 and all(len(set(tokens)) > 3 for tokens in generated)
    for prompt, tokens in zip(prompts, generated):
        done = generate(tmp_path / "model", content, config, prompt[:6], len(tokens))
        assert (done.returncode, done.stderr) == (0, "") and tuple(map(int, done.stdout.split())) == tokens


def test_they_follow_what_the_file_says_of_position(golden, tmp_path):
    """With another theta than the model was made with, they are others."""
    content, config, prompts, generated = golden
    config["rope_parameters"] = {"rope_theta": 3.0, "rope_type": "default"}
    found = [tuple(map(int, generate(tmp_path / "model", content, config, p[:6], len(t)).stdout.split())) for p, t in zip(prompts, generated)]
    assert [len(tokens) for tokens in found] == [8, 8] and found != list(generated)


@pytest.mark.parametrize(("changed", "told"), [({"model_type": "gpt2"}, "this engine runs llama, not gpt2"), ({"head_dim": -6}, "head_dim")])
def test_what_it_cannot_run_it_refuses(golden, tmp_path, changed, told):
    content, config, prompts, _ = golden
    done = generate(tmp_path / "model", content, config | changed, prompts[0], 1)
    assert done.returncode == 2 and told in done.stderr and done.stdout == ""
