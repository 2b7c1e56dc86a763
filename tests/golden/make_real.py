"""The loss of SmolLM2-135M-Instruct by transformers, on the first 20,000 bytes of a text: real.json.

    python3 tests/golden/make_real.py build/models/smollm2.gguf build/text/king-james.txt
    (Python 3.11.7, transformers 5.23.0, torch 2.15.0+cu132 on the CPU, gguf 0.19.0, accelerate)

The GGUF file is read, dequantised and run by transformers in float32, its tokens are those of transformers' tokeniser, windows of
512 tokens follow one another, and each token is scored but for the first of the text: what `gnomon inspect` calls `loss`.
"""

import hashlib
import json
import pathlib
import sys

import torch
import transformers

BYTES, WINDOW = 20000, 512


def main():
    model_path, text_path = map(pathlib.Path, sys.argv[1:])
    begin = text_path.read_bytes()[:BYTES]
    tokenizer = transformers.AutoTokenizer.from_pretrained(model_path.parent, gguf_file=model_path.name)
    model = transformers.AutoModelForCausalLM.from_pretrained(model_path.parent, gguf_file=model_path.name, dtype=torch.float32).eval()
    ids = tokenizer(begin.decode(), add_special_tokens=False)["input_ids"]
    losses = []
    for first in range(0, len(ids) - WINDOW, WINDOW):
        with torch.no_grad():
            logits = model(torch.tensor([ids[first:first + WINDOW]])).logits[0]
        losses.append(torch.nn.functional.cross_entropy(logits.double(), torch.tensor(ids[first + 1:first + WINDOW + 1])).item())
    found = {"model": "SmolLM2-135M-Instruct, Q4_1", "text_sha256": hashlib.sha256(begin).hexdigest(), "bytes": BYTES, "tokens": len(ids),
             "window": WINDOW, "windows": len(losses), "nats": sum(losses) / len(losses), "by_window": losses,
             "transformers": transformers.__version__, "torch": torch.__version__}
    (pathlib.Path(__file__).parent / "real.json").write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
