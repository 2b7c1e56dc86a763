"""A training step of a GPT in PyTorch, its attention, and one token against many keys: the peer of `gnomon bench`, started by run.py.

    python3 pytorch.py CASE fp32|bf16 eager|compiled THREADS

Reads lines from standard input; for each it times some calls and prints seconds a call. The model is that of `gnomon bench`: pre-norm, GELU in
its tanh form, biases, learned positions, a head of its own, AdamW.
"""

import sys

import torch
from torch import nn
from torch.nn.functional import cross_entropy, scaled_dot_product_attention

from timed import DECODE, HEAD_DIM, HEADS, KEY_HEADS, serve

VOCABULARY = 256
STEPS = {  # width, layers, heads, tokens, batch
    "step.a": (256, 4, 4, 512, 8),
    "step.d384": (384, 6, 6, 256, 16),
    "step.d128": (128, 4, 4, 128, 4),
    "step.d64": (64, 2, 4, 128, 4),
}
ATTENTION = {"attend.t512": (16, 4, 512, 64), "attend.t4096": (1, 8, 4096, 64), "attend.t128.d32": (4, 4, 128, 32)}


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.first, self.second = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        B, T, C = x.shape
        q, k, v = self.qkv(self.first(x)).view(B, T, 3, self.heads, C // self.heads).permute(2, 0, 3, 1, 4)
        x = x + self.out(scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(B, T, C))
        return x + self.down(nn.functional.gelu(self.up(self.second(x)), approximate="tanh"))


class Gpt(nn.Module):
    def __init__(self, width, layers, heads, tokens):
        super().__init__()
        self.words, self.places = nn.Embedding(VOCABULARY, width), nn.Embedding(tokens, width)
        self.blocks = nn.Sequential(*(Block(width, heads) for _ in range(layers)))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, VOCABULARY, bias=False)

    def forward(self, tokens):
        x = self.words(tokens) + self.places.weight[:tokens.shape[1]]
        return self.head(self.norm(self.blocks(x)))


def training(case, bf16, compiled):
    width, layers, heads, tokens, batch = STEPS[case]
    model = Gpt(width, layers, heads, tokens)
    run = torch.compile(model) if compiled else model
    optimiser = torch.optim.AdamW(model.parameters(), lr=3e-3, betas=(0.9, 0.95), weight_decay=0.1, fused=True)
    x, y = (torch.randint(VOCABULARY, (batch, tokens)) for _ in range(2))

    def step():
        with torch.autocast("cpu", torch.bfloat16, enabled=bf16):
            loss = cross_entropy(run(x).flatten(0, 1).float(), y.flatten())
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        optimiser.zero_grad(set_to_none=False)

    return step


def attention(case, bf16, compiled):
    kind = torch.bfloat16 if bf16 else torch.float32
    B, H, T, D = ATTENTION[case]
    q, k, v = (torch.randn(B, H, T, D, dtype=kind, requires_grad=True) for _ in range(3))
    g = torch.randn(B, H, T, D, dtype=kind)
    run = torch.compile(scaled_dot_product_attention) if compiled else scaled_dot_product_attention

    def both():
        q.grad = k.grad = v.grad = None
        run(q, k, v, is_causal=True).backward(g)

    return both


def decoding(case, bf16, compiled):
    kind = torch.bfloat16 if bf16 else torch.float32
    q = torch.randn(1, HEADS, 1, HEAD_DIM, dtype=kind)
    k, v = (torch.randn(1, KEY_HEADS, DECODE[case], HEAD_DIM, dtype=kind) for _ in range(2))
    run = torch.compile(scaled_dot_product_attention) if compiled else scaled_dot_product_attention

    @torch.no_grad()
    def token():
        run(q, k, v, enable_gqa=True)

    return token


def main():
    case, precision, mode, threads = sys.argv[1:]
    torch.set_num_threads(int(threads))
    torch.manual_seed(1)
    make = training if case in STEPS else decoding if case in DECODE else attention
    call = make(case, precision == "bf16", mode == "compiled")
    serve(call, torch.__version__)


if __name__ == "__main__":
    main()
