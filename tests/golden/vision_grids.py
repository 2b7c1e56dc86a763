"""Cases of make_vision.py: a bias that a small network reads off the distance in a window, a table of distances without their sign,
a convolution over the grid, and the turn by window, frame and seconds of MusicFlamingo."""

import collections.abc
import functools
from types import SimpleNamespace as Bag

from timm.models import levit as timm_levit, swin_transformer_v2 as timm_swin2, twins as timm_twins
from transformers import Swinv2Config
from transformers.models.levit import modeling_levit
from transformers.models.musicflamingo import modeling_musicflamingo as musicflamingo
from transformers.models.swinv2 import modeling_swinv2

from oracles import *

FILE = "vision"
HF, TIMM = "transformers 5.23.0 ", "timm 1.0.31 "
case, rotated = functools.partial(compare, FILE), functools.partial(compare_turned, FILE)


def apart(places):
    """Query less key (T, T), down and across: the sign of Swin's tables."""
    return -pairs(places[:, 0]), -pairs(places[:, 1])


# Swin V2: a network with one hidden layer reads the distance on a scale of logarithms.

def log_spaced(d, most, *, eight=8.0, base=8.0, log=torch.log2):
    """sign(d)·log2(1 + 8·|d|/most)/log2(8)."""
    r = eight * d / most
    return r.sign() * (log(r.abs() + 1) if log else r.abs()) / (math.log2(base) if base else 1.0)


def by_network(p, places, longest, *, sign=1, flipped=False, relu=True, outer=lambda z: 16 * z.sigmoid(), **scale):
    """Bias (H, T, T). `longest` is what the distances down and across are divided by, before the 8."""
    axes = [log_spaced(sign * d, most, **scale) for d, most in zip(apart(places), longest)]
    y = torch.stack(axes[::-1] if flipped else axes, -1) @ p["hidden.weight"].T + p["hidden.bias"]
    return outer((y.relu() if relu else y) @ p["out.weight"].T).permute(2, 0, 1)


def swin2():
    """The model scales cosines by a learned factor a head. Queries and keys of the case are made so that q·k/√D is that product."""
    def timm(size, pretrained, D, p, q, k, scale):
        module = timm_swin2.WindowAttention(H * D, size, H, qkv_bias=False, pretrained_window_size=pretrained)
        filled(module, module.cpb_mlp, p, scale)
        module.qkv, module.attn_drop = Given(q, k, torch.zeros_like(q)), Recorder()
        module.eval()(torch.zeros(1, q.shape[1], H * D))
        return module.attn_drop.seen

    def hf(size, pretrained, D, p, q, k, scale):
        module = modeling_swinv2.Swinv2SelfAttention(Swinv2Config(), H * D, H, size, pretrained)
        filled(module, module.continuous_position_bias_mlp, p, scale)
        module.query, module.key, module.value = Given(q), Given(k), Given(q)
        return module.eval()(torch.zeros(1, q.shape[1], H * D), None, True)[1][0]

    def filled(module, network, p, scale):
        """A width other than 512 takes the place of the layers; the module uses them as they are."""
        width = len(p["hidden.bias"])
        if width != network[0].out_features:
            network[0], network[2] = nn.Linear(2, width), nn.Linear(width, H, bias=False)
        network[0].weight.data, network[0].bias.data, network[2].weight.data = p["hidden.weight"], p["hidden.bias"], p["out.weight"]
        module.logit_scale.data = scale.log()[:, None, None]

    def one(theirs, source, size, pretrained, D, width, seed, first=(0, 0)):
        places = grid((first[0], first[0] + size[0]), (first[1], first[1] + size[1]))
        q, k = drawn(len(places), D, seed=seed)
        p = {"hidden.weight": draw(width, 2, seed=seed + 2), "hidden.bias": draw(width, seed=seed + 3, size=0.5),
             "out.weight": draw(H, width, seed=seed + 4, size=0.6 / math.sqrt(width))}
        scale = torch.tensor([1.5, 4.0])
        right = theirs(size, pretrained, D, p, q, k, scale)
        q, k = (q / q.norm(dim=-1, keepdim=True) * math.sqrt(D) * scale[:, None, None]), k / k.norm(dim=-1, keepdim=True)
        used = pretrained if pretrained[0] else size
        longest = [max(n - 1, 1) for n in used]
        found = functools.partial(by_network, p, places, longest)
        wrong = {"key less query": found(sign=-1), "across before down": found(flipped=True), "natural logarithm": found(log=torch.log),
                 "not divided by log2(8)": found(base=None), "no factor of 8": found(eight=1.0), "evenly spaced, −8 … 8": found(log=None, base=None),
                 "evenly spaced, −1 … 1": found(eight=1.0, log=None, base=None), "no ReLU": found(relu=False), "no 16": found(outer=torch.sigmoid),
                 "no sigmoid": found(outer=lambda z: z), "16·tanh": found(outer=lambda z: 16 * z.tanh()),
                 "divided by the length of the window, not by one less": by_network(p, places, used),
                 "distances as they are, logarithm of 1 + |d|": by_network(p, places, (1, 1), eight=1.0, base=None),
                 "the bias is divided by √D": found() / math.sqrt(D), "no bias": found() * 0}
        if longest[0] != longest[1]:
            wrong["the lengths exchanged"] = by_network(p, places, longest[::-1])
            wrong["one length for both"] = by_network(p, places, [max(longest)] * 2)
        if pretrained[0]:
            wrong["the window at hand, not that of training"] = by_network(p, places, [max(n - 1, 1) for n in size])
        if size[0] == 1:  # one row: the length of a column is without effect
            wrong.pop("one length for both")
        words = f"window_mlp(rows={size[0]}, columns={size[1]}, pretrained={pretrained[0]}/{pretrained[1]}"
        case(words + (f", hidden={width})" if width != 512 else ")"), source, q, k, right, plain(q, k) + found(),
             {name: plain(q, k) + bias for name, bias in wrong.items()}, positions=places, params=p, logit_scale=scale.tolist(), tolerance=1e-6)

    ours, others = TIMM + "models/swin_transformer_v2.py WindowAttention", HF + "modeling_swinv2.py Swinv2SelfAttention"
    one(timm, ours, (3, 4), (0, 0), 8, 512, 201)
    one(timm, ours, (5, 2), (8, 6), 16, 6, 211, first=(5, 7))
    one(timm, ours, (1, 6), (0, 0), 8, 4, 221)
    one(hf, others, (3, 3), (0, 0), 8, 5, 231)
    one(hf, others, (2, 4), (6, 12), 16, 7, 241, first=(1, 0))
    one(hf, others, (4, 3), (0, 0), 8, 8, 251)


# LeViT: a table of the distances without their sign.

def absolute(table, places, size, *, slow="rows", stride=None):
    """Bias (H, T, T) of a table (H, rows·columns): row by row of the grid, as if the query were in the corner."""
    dy, dx = (d.abs() for d in apart(places))
    row = dy * (stride or size[1]) + dx if slow == "rows" else dx * size[0] + dy
    return table[:, row.long() % table.shape[1]]


def levit():
    """The values are a unit matrix, so that the output is the weights. A layer that halves the grid has the same table: its queries are
    every other row and column of this one."""
    def timm(size, D, q, k, table, conv=False):
        T = q.shape[1]
        module = timm_levit.Attention(H * D, D, H, attn_ratio=T / D, resolution=size, use_conv=conv)
        module.attention_biases.data = table
        rows = torch.cat((q, k, torch.eye(T).expand(H, -1, -1)), -1)
        module.qkv, module.proj = Given(rows), nn.Identity()
        module.train(False)
        if conv:
            module.qkv.answer = module.qkv.answer.transpose(1, 2).reshape(1, -1, *size)
            return module(torch.zeros(1, H * D, *size)).reshape(H, T, T).transpose(1, 2)
        return module(torch.zeros(1, T, H * D)).reshape(T, H, T).transpose(0, 1)

    def hf(size, D, q, k, table):
        T = q.shape[1]
        module = modeling_levit.LevitAttention(H * D, D, H, T // D, size[0])
        module.attention_biases.data = table
        module.queries_keys_values = Given(torch.cat((q, k, torch.eye(T).expand(H, -1, -1)), -1))
        module.activation = module.projection = nn.Identity()
        module.train(False)
        return module(torch.zeros(1, T, H * D)).reshape(T, H, T).transpose(0, 1)

    def halved(size, table):
        """Both halving layers, against rows of the whole table."""
        bias, at = absolute(table, grid(*size), size), [r * size[1] + c for r in range(0, size[0], 2) for c in range(0, size[1], 2)]
        layers = [timm_levit.AttentionDownsample(H * 4, H * 4, 4, H, resolution=size)]
        if size[0] == size[1]:
            layers.append(modeling_levit.LevitAttentionSubsample(H * 4, H * 4, 4, H, 2, 2, size[0], (size[0] + 1) // 2))
        for layer in layers:
            layer.attention_biases.data = table
            assert torch.equal(layer.attention_biases[:, layer.attention_bias_idxs], bias[:, at]), size

    def one(theirs, source, size, D, seed):
        places = grid(*size)
        q, k = drawn(len(places), D, seed=seed)
        table = draw(H, len(places), seed=seed + 2)
        halved(size, table)
        right = absolute(table, places, size)
        order = sorted(range(len(places)), key=lambda n: (places[n].square().sum().item(), places[n, 0].item()))
        dy, dx = apart(places)
        signed = ((dy + size[0] - 1) * (2 * size[1] - 1) + dx + size[1] - 1).long() % len(places)
        wrong = {"columns are the slow index": absolute(table, places, size, slow="columns"), "signed distances, as in Swin": table[:, signed],
                 "the sum of both distances": table[:, (dy.abs() + dx.abs()).long()],
                 "the table backwards": absolute(table.flip(1), places, size), "the bias is divided by √D": right / math.sqrt(D),
                 "the heads exchanged": right.flip(0), "no bias": right * 0}
        if size[0] != size[1]:
            wrong["a stride of the rows"] = absolute(table, places, size, stride=size[0])
        if order != sorted(order):
            wrong["offsets in the order of their length"] = absolute(table[:, torch.tensor(order).argsort()], places, size)
        case(f"window_table of absolute offsets (rows={size[0]}, columns={size[1]})", source, q, k, theirs(size, D, q, k, table), plain(q, k) + right,
             {name: plain(q, k) + bias for name, bias in wrong.items()}, positions=places, params={"table": table.T}, tolerance=1e-9)

    one(timm, TIMM + "models/levit.py Attention", (3, 4), 8, 261)
    one(functools.partial(timm, conv=True), TIMM + "models/levit.py Attention(use_conv)", (5, 2), 16, 271)
    one(hf, HF + "modeling_levit.py LevitAttention", (4, 4), 8, 281)


# A convolution over the grid: the position of a token is what it can tell of its neighbours and of the edge.

def neighbours(x, weight, bias, size, *, edge="zeros", line=False):
    """What is added to x (T, C): each channel's own 3×3 weights, weight (C, 3, 3); nothing stands outside the grid."""
    rows, columns = size
    out = bias.expand(len(x), -1).clone()
    for r in range(rows):
        for c in range(columns):
            for a in (-1, 0, 1):
                for b in (-1, 0, 1):
                    y, z = r + a, c + b
                    if edge == "repeated":
                        y, z = min(max(y, 0), rows - 1), min(max(z, 0), columns - 1)
                    if edge == "joined":
                        y, z = y % rows, z % columns
                    if 0 <= y < rows and 0 <= z < columns or line and 0 <= y * columns + z < len(x):
                        out[r * columns + c] += weight[:, a + 1, b + 1] * x[y * columns + z]
    return out


def convolved():
    for size, C, seed in (((3, 4), 6, 301), ((5, 2), 4, 311)):
        T = size[0] * size[1]
        x, weight, bias = draw(T, C, seed=seed), draw(C, 3, 3, seed=seed + 1, size=0.5), draw(C, seed=seed + 2)
        module = timm_twins.PosConv(C, C)
        module.proj[0].weight.data, module.proj[0].bias.data = weight[:, None], bias
        theirs = module(x[None], size)[0] - x
        right = neighbours(x, weight, bias, size)
        wrong = {"the token itself added": right + x, "the kernel turned by 180°": neighbours(x, weight.flip(1, 2), bias, size),
                 "rows and columns of the kernel exchanged": neighbours(x, weight.transpose(1, 2), bias, size),
                 "the grid by columns": neighbours(x, weight, bias, size[::-1]), "no bias": right - bias,
                 "the edge repeated": neighbours(x, weight, bias, size, edge="repeated"), "the edges joined": neighbours(x, weight, bias, size, edge="joined"),
                 "the end of a row next to the next row": neighbours(x, weight, bias, size, line=True),
                 "the first channel's kernel for all": neighbours(x, weight[:1].expand(C, -1, -1), bias, size),
                 "GELU after it": nn.functional.gelu(right), "nothing": right * 0}
        vectors(FILE, f"conv_grid(kernel=3, rows={size[0]}, columns={size[1]})", TIMM + "models/twins.py PosConv", theirs, right, wrong,
                positions=grid(*size), x=x, causal=False, params={"weight": weight, "bias": bias}, tolerance=1e-9)


# MusicFlamingo: the vectors of its audio tower turn by the window, by the frame in it, and both by the seconds.

def times():
    """The model turns the rows that the tower gives, before they are projected for the language model; here both q and k turn so. In
    float32 the cosines of the model are off by up to 6e-4 after two minutes; its code runs in float64 here."""
    path = doubled(musicflamingo.__file__)
    names = ["MusicFlamingoRotaryEmbedding", "rotate_half", "apply_rotary_time_emb", "_build_audio_timestamps"]
    scope = {"torch": torch, "nn": nn, "pi": math.pi, "Tensor": torch.Tensor, "Callable": collections.abc.Callable,
             "broadcast_tensors": torch.broadcast_tensors, "torch_compilable_check": lambda *_: None}
    Rotary, _, apply, clock = definitions(path, names, scope)
    for D, share, theta, step, length, lengths, chosen, seed in (
            (16, 0.25, 1200.0, 0.01, 750, (3, 2),
             [(0, 0), (0, 1), (0, 37), (0, 749), (1, 0), (1, 5), (1, 300), (2, 700), (3, 2), (3, 500), (4, 0), (4, 399)], 321),
            (20, 0.2, 30.0, 0.25, 8, (1, 4),
             [(0, 0), (0, 1), (0, 7), (1, 3), (2, 0), (2, 1), (2, 6), (3, 0), (3, 4), (4, 0), (4, 2), (4, 5)], 331)):
        q, k = drawn(12, D, seed=seed)
        config = Bag(max_position_embeddings=theta, head_dim=D, audio_frame_step=step, audio_token_id=7,
                     rope_parameters={"rope_type": "default", "rope_theta": theta, "partial_rotary_factor": share})
        # two recordings among other tokens; the last window is not full
        counts = torch.tensor([length] * (sum(lengths) - 1) + [length * 3 // 4])
        spans = [int(part.sum()) for part in counts.split(lengths)]
        text = torch.tensor([[1, 2] + [7] * spans[0] + [3] + [7] * spans[1] + [4]])
        stamps = clock(Bag(config=config), text, counts, length)
        cos, sin = Rotary(config)(stamps, length)
        row, frame = torch.tensor(chosen).T
        theirs = softmax(plain(*(apply(x, cos[row, frame], sin[row, frame]) for x in (q, k))), False)

        window = torch.cat([torch.arange(n) for n in lengths])[row].double()
        frame, whole = frame.double(), row.double()
        seconds = (window * length + frame) * step * 4
        assert torch.allclose(seconds, stamps[row, frame.long()])
        half = int(D * share) // 2
        f = powers(half, theta)

        def found(pairing="adjacent", window=window, part=1 / theta, more=1.0, second=2 * math.pi / theta, time=-2 * math.pi * seconds, f=f, order=(0, 1)):
            axes = [(window * part * more)[:, None] * f, (frame * second)[:, None] * f]
            angles = torch.cat([axes[n] for n in order], -1) * time[:, None]
            return lambda x: torch.cat((turn(x[..., :4 * half], angles, pairing), x[..., 4 * half:]), -1)

        wrong = {"pairs are halves": found("halves"), "the other sense": found(time=2 * math.pi * seconds), "seconds without 2π": found(time=-seconds),
                 "windows times 2π": found(more=2 * math.pi), "frames without 2π": found(second=1 / theta), "windows not divided by theta": found(part=1.0),
                 "without the seconds": found(time=torch.full_like(seconds, -1.0)), "frames before windows": found(order=(1, 0)),
                 "the window's first second for all its frames": found(time=-2 * math.pi * window * length * step * 4),
                 "windows of all recordings counted on": found(window=whole), "base 10000": found(f=powers(half, 10000.0)),
                 "frequencies over both axes": found(f=powers(half, theta, 4 * half)), "none": lambda x: x}
        rotated(f"rope_time of windows and frames (theta={theta:g}, channels={4 * half} of {D}, step={step * 4:g} s, frames={length})",
                HF + "modeling_musicflamingo.py", q, k, theirs, found(), wrong, positions=torch.stack((window, frame, seconds), -1), tolerance=1e-8)
