"""Whole folders as people share them, small: opened/NAME/{config.json, model.safetensors} as save_pretrained writes them, or
opened/NAME/model.gguf, and what transformers computes from them.

    python3 tests/golden/make_opened.py [NAME ...]
    (Python 3.11.7, transformers 5.23.0, torch 2.15.0+cu132 on the CPU, safetensors 0.8.0, gguf 0.19.0, numpy 2.4.6)

Nothing is downloaded: a model is made from a config, every parameter is drawn from a fixed seed (make_architectures.py), rounded
to the numbers that the file holds, saved, loaded again as float32 from what was saved, and run. opened/NAME/expected.json:
  inputs (B, T)    tokens
  outputs          logits (B, T, V), or hidden (B, T, C) where the model has no head, in float32, as a list
  head             whether there is one
  layers           of MORE: what enters each layer and what leaves the last norm, (B, T, C) each, in a list
  generated        of decoders in MORE: (B, NEW), the greedy continuation of the first PROMPT tokens of each sequence
Of experts in MXFP4 all this is in float64. Of an encoder with a decoder it is, too, and the decoder's, whose first input is its start token, and what is generated continues this
token alone (prompt: 1), by transformers' generate(); beside it:
  source           what the encoder reads, of which PAD is padding
  encoder_layers   as layers
GGUF files are written as llama.cpp's converter does (conversion/llama.py, LlamaModel.permute: the rows of q and k of each head
change places, so that what transformers turns as halves is a pair of neighbours; and so on, opened_gguf.py) with the names that the gguf
package has for each architecture, and quantised by that package; what is expected of them is transformers' output from the numbers that the package reads back.
"""

import json
import pathlib
import shutil
import sys

import torch
import transformers
from opened_expected import made, write_expected
from opened_gguf import write_gguf, write_published_gguf
from opened_shapes import CASES, FIRST_NARROW, FIRST_OF_LAYERS, FIRST_PACKED_GGUF, FIRST_PAIR, FIRST_PAIR_GGUF, GGUFS, HALVES, LAST, MORE, MORE_GGUFS, NARROW, OF_LAYERS, OTHER_HEADS, PACKED_GGUFS, PAIR_GGUFS, PAIRS, VARIANTS
from safetensors.torch import load_file, save_file
from transformers.integrations.mxfp4 import convert_moe_packed_tensors

FOLDER = pathlib.Path(__file__).parent / "opened"


def in_four_bits(folder):
    """Draws the experts of gpt-oss anew as blocks and scales, which the file then has instead, as openai/gpt-oss-20b has them.
    Returns their numbers, by the names that the class has for them."""
    path = folder / "model.safetensors"
    tensors, numbers = load_file(path), {}
    for key in [key for key in tensors if key.endswith(("experts.gate_up_proj", "experts.down_proj"))]:
        experts, rows, columns = tensors.pop(key).shape
        blocks = torch.randint(0, 256, (experts, columns, rows // 32, 16), dtype=torch.uint8)
        scales = torch.randint(121, 125, (experts, columns, rows // 32), dtype=torch.uint8)
        tensors |= {key + "_blocks": blocks, key + "_scales": scales}
        numbers[key] = convert_moe_packed_tensors(blocks, scales).float()
    save_file(tensors, path, metadata={"format": "pt"})
    config = json.loads((folder / "config.json").read_text())
    config["quantization_config"] = {"quant_method": "mxfp4", "modules_to_not_convert": ["model.layers.*.self_attn", "lm_head"]}
    (folder / "config.json").write_text(json.dumps(config, indent=2) + "\n")
    return numbers


def within_larger(folder):
    """The same numbers as the language part of a model of text, images and sound."""
    path = folder / "model.safetensors"
    tensors = {key.replace("model.", "model.language_model.", 1): tensor for key, tensor in load_file(path).items()}
    tensors["model.vision_tower.patch_embedder.input_proj.weight"] = torch.zeros(2, 3)
    save_file(tensors, path, metadata={"format": "pt"})
    config = {"architectures": ["Gemma4ForConditionalGeneration"], "model_type": "gemma4",
              "text_config": json.loads((folder / "config.json").read_text())}
    (folder / "config.json").write_text(json.dumps(config, indent=2) + "\n")


def write_folder(name, seed):
    kind, config = (CASES | VARIANTS | MORE | LAST | NARROW | OF_LAYERS | PAIRS)[name]
    folder = FOLDER / name
    shutil.rmtree(folder, ignore_errors=True)
    model = made(name, kind, config, seed).to(HALVES)
    model.save_pretrained(folder)
    (folder / "generation_config.json").unlink(missing_ok=True)
    if name in OTHER_HEADS:
        path = folder / "model.safetensors"
        tensors = load_file(path)
        tensors["lm_head.weight"] = torch.randn(tensors["shared.weight"].shape).to(HALVES)
        save_file(tensors, path, metadata={"format": "pt"})
    packed = in_four_bits(folder) if "mxfp4" in name else {}
    # Falcon's eager attention adds ALiBi a second time: it is in the mask already (modeling_falcon.py, FalconModel.forward).
    attention = "sdpa" if name == "falcon_alibi" else "eager"
    loaded = getattr(transformers, kind).from_pretrained(folder, dtype=torch.float32, attn_implementation=attention)
    for key, numbers in packed.items():
        assert torch.equal(loaded.state_dict()[key], numbers), key
    most = write_expected(folder, loaded, seed)
    if name == "gemma4_larger":
        within_larger(folder)
    print(f"{name}: {sum(f.stat().st_size for f in folder.iterdir())} bytes, largest output {most:.2f}, "
          f"{len(load_file(folder / 'model.safetensors'))} tensors")


if __name__ == "__main__":
    torch.set_num_threads(1)
    for seed, chosen in [*enumerate([*CASES, *GGUFS, *VARIANTS, *MORE, *MORE_GGUFS, *LAST]), *enumerate(NARROW, FIRST_NARROW), *enumerate(OF_LAYERS, FIRST_OF_LAYERS),
                         *enumerate(PAIRS, FIRST_PAIR), *enumerate(PAIR_GGUFS, FIRST_PAIR_GGUF), *enumerate(PACKED_GGUFS, FIRST_PACKED_GGUF)]:
        if not sys.argv[1:] or chosen in sys.argv[1:]:
            write = write_published_gguf if chosen in PAIR_GGUFS else write_gguf if chosen.startswith("gguf_") else write_folder
            write(chosen, seed)
