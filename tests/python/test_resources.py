"""What a stranger's file may cost. Every command on it ends within the limits of memory and processor that are set here: it answers,
or refuses the file in words. The limits are loose for what is right, and a tenth of what a cost that grows with the square takes."""

import json
import resource
import struct
import subprocess

import numpy
import pytest
from safetensors.numpy import save_file

from conftest import GNOMON, ROOT

SECONDS, BYTES = 8, 600 << 20  # of the processor; of address space, libraries and threads among it

LLAMA = {"model_type": "llama", "hidden_size": 64, "num_attention_heads": 4, "num_hidden_layers": 2, "max_position_embeddings": 64}


def bounded(*arguments):
    """Exit code and what was said, of gnomon under the limits."""
    def limit():
        resource.setrlimit(resource.RLIMIT_AS, (BYTES, BYTES))
        resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS + 1))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

    ran = subprocess.run([str(GNOMON), *map(str, arguments)], capture_output=True, preexec_fn=limit, check=False)
    assert ran.returncode in (0, 1, 3), (arguments, ran.returncode, ran.stderr[-500:])
    return ran.returncode, ran.stdout.decode() + ran.stderr.decode()


def written(path, config):
    path.write_text(config if isinstance(config, str) else json.dumps(config))
    return path


def gemma4(layers, widest):
    config = json.loads((ROOT / "tests/golden/configs/gemma4.json").read_text())
    text = config.get("text_config", config)
    text["num_hidden_layers"] = layers
    text["layer_types"] = ["full_attention"] * layers
    text["per_layer_config"] = {str(n): {"head_dim": widest - 2 * (n % (widest // 2 - 1))} for n in range(layers)}
    return config


def granite(layers, head):
    return {"model_type": "granite_swa", "hidden_size": 4096, "head_dim": head, "num_hidden_layers": layers, "num_attention_heads": 8,
            "num_key_value_heads": 8, "max_position_embeddings": 4096, "layer_rope_theta": [1e4 + n for n in range(layers)]}


LONGROPE = {"model_type": "phi3", "hidden_size": 65536, "head_dim": 65536, "num_attention_heads": 1, "num_hidden_layers": 4096,
            "num_key_value_heads": 1, "max_position_embeddings": 131072, "original_max_position_embeddings": 4096,
            "rope_scaling": {"type": "longrope", "long_factor": [1.5] * 32768, "short_factor": [1.0] * 32768}}
IN_TURN = {"model_type": "smollm3", "hidden_size": 65536, "num_hidden_layers": 4096, "num_attention_heads": 1, "num_key_value_heads": 1,
           "max_position_embeddings": 65536, "rope_theta": 5e6, "no_rope_layers": [n % 2 for n in range(4096)]}

REFUSED = {
    "4,096 heads": (gemma4(4096, 65536), "differ"),
    "4,096 heads, small": (gemma4(4096, 4096), "differ"),
    "512 wide heads": (gemma4(512, 4096), "channels and heads"),
    "4,096 bases": (granite(4096, 64), "differ"),
    "300 bases, wide": (granite(300, 8192), "channels and heads"),
    "lists of 32,768 pairs in 4,096 layers": (LONGROPE, "characters"),
    "a dictionary of 100,000": ({**LLAMA, "rope_parameters": {f"k{n}": n for n in range(100_000)}}, "members"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_a_file_asks_for_is_bounded_before_it_is_computed(tmp_path, name):
    config, says = REFUSED[name]
    path = written(tmp_path / "config.json", config)
    code, told = bounded("explain", path)
    assert code == 3 and says in told, told
    bounded("lint", path)


ANSWERED = {
    "layers in turn": IN_TURN,
    "100,000 keys about position": {**LLAMA, "rope_theta": 1e4} | {f"rope_{n}": n for n in range(100_000)},
    "100,000 keys about nothing": LLAMA | {f"x{n}": n for n in range(100_000)},
    "100,000 keys and a language part": {"model_type": "gemma3", "text_config": LLAMA | {"model_type": "gemma3_text", "head_dim": 16, "num_key_value_heads": 4}}
    | {f"sliding_{n}": n for n in range(100_000)},
    "64 heads": gemma4(64, 512),
}


@pytest.mark.parametrize("name", ANSWERED)
def test_large_files_are_answered(tmp_path, name):
    path = written(tmp_path / "config.json", ANSWERED[name])
    page = tmp_path / "page.html"
    for arguments in [("explain", path), ("explain", path, "--json"), ("explain", path, "--readers"), ("lint", path), ("lint", path, "--json"),
                      ("explain", path, "--out", page), ("extend", path, "--to", 1 << 20, "--force")]:
        code, told = bounded(*arguments)
        assert code in (0, 1) or (arguments[0] == "extend" and (" keys; allowed are at most" in told or " channels together; allowed are at most" in told)), (arguments, told[-300:])
        assert len(told) < 30e6, arguments
    assert page.stat().st_size < 20e6


def gguf(path, pairs):
    text = lambda s: struct.pack("<Q", len(s)) + s.encode()
    path.write_bytes(b"GGUF" + struct.pack("<IQQ", 3, 0, len(pairs)) + b"".join(text(key) + value for key, value in pairs))
    return path


def u32(n):
    return struct.pack("<II", 4, n)


BASE = [("general.architecture", struct.pack("<IQ", 8, 5) + b"llama"), ("llama.block_count", u32(2)), ("llama.embedding_length", u32(64)),
        ("llama.attention.head_count", u32(4)), ("llama.context_length", u32(128))]


def test_a_list_of_bytes_stays_bytes(tmp_path):
    path = gguf(tmp_path / "bytes.gguf", BASE + [("other.list", struct.pack("<IIQ", 9, 0, 90_000_000) + bytes(90_000_000))])
    for command in ("explain", "lint"):
        assert bounded(command, path)[0] == 0
    path = gguf(tmp_path / "own.gguf", BASE + [("llama.list", struct.pack("<IIQ", 9, 0, 70_000) + bytes(70_000))])
    code, told = bounded("explain", path)
    assert code == 3 and "llama.list" in told and "has 70000 entries; allowed are at most 65536" in told


def test_many_lists_are_bounded_together(tmp_path):
    lists = [struct.pack("<IIQ", 9, kind, 65536) + bytes(65536) for kind in (0, 7)]
    path = gguf(tmp_path / "lists.gguf", BASE + [(f"other.{n}", lists[n % 2]) for n in range(1373)])
    for command in ("explain", "lint"):
        assert bounded(command, path)[0] == 0
    path = gguf(tmp_path / "own.gguf", BASE + [(f"llama.{n}", lists[n % 2]) for n in range(17)])
    code, told = bounded("explain", path)
    assert code == 3 and "llama.16" in told and "numbers together; allowed are at most 1048576" in told


def test_a_hundred_thousand_keys_of_gguf(tmp_path):
    path = gguf(tmp_path / "keys.gguf", BASE + [(f"llama.k{n}", u32(n)) for n in range(99_000)])
    for arguments in [("explain", path), ("lint", path), ("explain", path, "--json")]:
        assert bounded(*arguments)[0] == 0
    code, told = bounded("extend", path, "--to", 4096)
    assert code == 3 and "keys; allowed are at most 4096" in told


def test_a_wide_table_is_checked(tmp_path):
    rows, width = 8192, 4096
    header = json.dumps({"table": {"dtype": "F32", "shape": [rows, width], "data_offsets": [0, 4 * rows * width]}}).encode()
    path = tmp_path / "dump.safetensors"
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(header)) + header)
        block = struct.pack("<4096f", *[((n * 7919) % 1009 - 504) / 504 for n in range(4096)])
        for _ in range(rows):
            file.write(block)
    code, told = bounded("check", path)
    assert code == 1 and "conventions tried fits" in told, told


def test_rows_of_a_wide_layer_are_checked(tmp_path):
    tokens, heads, dim = 2048, 32, 128
    rows = numpy.random.default_rng(3).standard_normal((tokens, heads, dim)).astype(numpy.float32)
    angles = numpy.arange(tokens)[:, None] * 10000.0 ** (-numpy.arange(0, dim, 2) / dim)
    cos, sin = numpy.cos(angles)[:, None], numpy.sin(angles)[:, None]
    a, b = rows[..., :dim // 2], rows[..., dim // 2:]
    turned = numpy.concatenate([a * cos - b * sin, b * cos + a * sin], -1).astype(numpy.float32)
    for order in ((0, 1, 2), (1, 0, 2)):
        path = tmp_path / "rows.safetensors"
        save_file({"q_before": numpy.ascontiguousarray(rows.transpose(order)), "q_after": numpy.ascontiguousarray(turned.transpose(order))}, path)
        code, told = bounded("check", path)
        assert code == 0 and "rope(theta=10000" in told, told


def test_a_refused_gguf_is_an_error_of_lint(tmp_path):
    path = gguf(tmp_path / "refused.gguf", BASE[:3] + [("llama.attention.head_count", u32(0)), BASE[4]])
    code, told = bounded("lint", path)
    assert code == 1 and "file-refused" in told and "head_count" in told
    path = gguf(tmp_path / "taken.gguf", BASE + [("llama.rope.freq_base", struct.pack("<If", 6, 10000.0))])
    assert bounded("lint", path)[0] == 0
