"""Losses of masked tokens as transformers computes them, for `gnomon inspect` of encoders with a head: masked.json.

    python3 tests/golden/make_masked.py
    (Python 3.11.7, transformers 5.23.0, torch 2.15.0+cu132 on the CPU, mpmath 1.3.0)

Which tokens are masked is written down here a second time, from the rule (gnomon/lens/masked.h) and the paper of the random numbers
(Salmon et al. 2011, "Parallel random numbers: as easy as 1, 2, 3"): of every window 15 %, at least one, are scored; of these 80 %
become the mask token, 10 % a random one, 10 % stay. The models are those of make_opened.py. For each of them:
  mask              the mask token; windows are of 12 tokens where a table ends there, otherwise as test_inspect.py asks
  loss, half_width  nats a masked token of all windows, and the 95 % interval by the jackknife over windows
  without           of the first four windows, without any position: nats a masked token more
  shift             of the first four windows, at positions + 1 (nothing: the table is too short)
  intact, other     what must not come out: the same places, none of them replaced; the masks of seed 2
"""

import json
import math
import pathlib

import mpmath
import torch
import transformers

FOLDER = pathlib.Path(__file__).parent / "opened"
V, MASK, CHANGED, TOKENS = 24, 4, 4, 8192  # TOKENS: about as many are read for the loss
M32, M64 = 2**32 - 1, 2**64 - 1
CASES = {"bert": "BertForMaskedLM", "bert_relu": "BertForMaskedLM", "roberta_relu_pad0": "RobertaForMaskedLM",
         "mpnet_relu": "MPNetForMaskedLM", "modernbert": "ModernBertForMaskedLM"}
IDS = [4 + (n * n + n // 7) % 19 for n in range(9000)]  # test_inspect.py gives these; 0 to 3 are left out, of which some are padding


def t975(freedom):
    """Student's t, 97.5 %."""
    tail = lambda t: mpmath.betainc(freedom / 2, 0.5, 0, freedom / (freedom + t * t), regularized=True) / 2  # noqa: E731
    return float(mpmath.findroot(lambda t: tail(t) - 0.025, 2))


def philox(counter, key):
    """Philox 4x32, 10 rounds: the paper's figure 2."""
    for _ in range(10):
        high0, low0 = divmod(0xD2511F53 * counter[0], 2**32)
        high2, low2 = divmod(0xCD9E8D57 * counter[2], 2**32)
        counter = (high2 ^ counter[1] ^ key[0], low2, high0 ^ counter[3] ^ key[1], low0)
        key = ((key[0] + 0x9E3779B9) & M32, (key[1] + 0xBB67AE85) & M32)
    return counter


class Stream:
    def __init__(self, seed, name):
        h = 0xCBF29CE484222325  # FNV-1a
        for byte in name.encode():
            h = ((h ^ byte) * 0x100000001B3) & M64
        self.key = philox((h & M32, h >> 32, 0x676E6F6D, 0x6F6E), (seed & M32, seed >> 32))[:2]

    def bits(self, n):
        high, low, *_ = philox((n & M32, n >> 32, 0, 0), self.key)
        return high << 32 | low

    def uniform(self, n):
        return ((self.bits(n) >> 11) + 0.5) * 2.0**-53

    def below(self, n, limit):
        return self.bits(n) * limit >> 64


def masked(ids, T, windows, seed=1):
    """inputs and labels (−100: not scored) of the first windows of T tokens, one after the other."""
    ids = ids[:T * windows]
    order, fates, words = (Stream(seed, name) for name in ("masked tokens", "fates of masked tokens", "words for masked tokens"))
    inputs, labels = list(ids), [-100] * len(ids)
    for first in range(0, len(ids), T):
        shuffled = sorted(range(first, first + T), key=order.bits)
        for n in shuffled[:max(1, math.floor(0.15 * T + 0.5))]:
            labels[n] = ids[n]
            fate = fates.uniform(n)
            if fate < 0.8:
                inputs[n] = MASK
            elif fate < 0.9:
                inputs[n] = words.below(n, V)
    return torch.tensor(inputs).view(-1, T), torch.tensor(labels).view(-1, T)


@torch.no_grad()
def losses(model, inputs, labels, first=None, **more):
    """(windows, tokens) nats, 0 where not scored. Tokens stand from row `first` on: a random token that is the padding token would
    otherwise move those behind it (create_position_ids_from_input_ids)."""
    if first is None:
        first = {"roberta": model.config.pad_token_id + 1, "mpnet": 2}.get(model.config.model_type, 0)
    more = {"position_ids": torch.arange(first, first + inputs.shape[1])[None]} | more
    return torch.nn.functional.cross_entropy(model(input_ids=inputs, **more).logits.transpose(1, 2).double(), labels, reduction="none")


def mean(found, labels):
    return float(found.sum() / (labels != -100).sum())


def interval(found, labels):
    sums, counts = found.sum(1), (labels != -100).sum(1)
    without = (sums.sum() - sums) / (counts.sum() - counts)
    n = len(sums)
    return t975(n - 1) * float(((n - 1) / n * ((without - without.mean()) ** 2).sum()).sqrt())


def without_position(name, kind, T):
    """The same weights in a model that is told no position: tables of zeros, no turn, no window."""
    model = getattr(transformers, kind).from_pretrained(FOLDER / name, dtype=torch.float32, attn_implementation="eager")
    more = {}
    if "modernbert" in name:
        config = transformers.AutoConfig.from_pretrained(FOLDER / name, local_attention=1000)
        assert config.sliding_window >= T
        model = getattr(transformers, kind).from_pretrained(FOLDER / name, config=config, dtype=torch.float32, attn_implementation="eager")
        more = {"position_ids": torch.zeros(1, T, dtype=torch.long)}
    for key, parameter in model.named_parameters():
        if "position_embeddings" in key or "relative_attention_bias" in key:
            parameter.data.zero_()
    return model.eval(), more


def case(name, kind):
    model = getattr(transformers, kind).from_pretrained(FOLDER / name, dtype=torch.float32, attn_implementation="eager").eval()
    longest, window = (64, 16) if "modernbert" in name else (12, 12)  # no longer than the table
    windows = TOKENS // longest
    inputs, labels = masked(IDS, longest, windows)
    found = losses(model, inputs, labels)
    few = masked(IDS, window, CHANGED)
    before = mean(losses(model, *few), few[1])
    bare, more = without_position(name, kind, window)
    shift = None
    if "modernbert" in name:
        shift = mean(losses(model, *few, first=1), few[1]) - before
    other = masked(IDS, longest, windows, seed=2)
    return {"mask": MASK, "loss": mean(found, labels), "half_width": interval(found, labels),
            "without": mean(losses(bare, *few, **more), few[1]) - before, "shift": shift,
            "intact": mean(losses(model, torch.tensor(IDS[:longest * windows]).view(-1, longest), labels), labels),
            "other": mean(losses(model, *other), other[1])}


if __name__ == "__main__":
    torch.set_num_threads(1)
    all_cases = {name: case(name, kind) for name, kind in CASES.items()}
    (FOLDER.parent / "masked.json").write_text(json.dumps(all_cases, indent=1) + "\n")
    for name, numbers in all_cases.items():
        print(name, numbers)
