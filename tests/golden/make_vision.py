"""Golden vectors of encodings of images, documents and video.

    python3 make_vision.py SOURCES

SOURCES holds, each under its folder: dinov3 (facebookresearch/dinov3 6876159a), wan (Wan-Video/Wan2.1 9737cba9), hunyuan
(Tencent-Hunyuan/HunyuanVideo fa14b001), diffusers (huggingface/diffusers 58eb52c0), vjepa2 (facebookresearch/vjepa2
c2963a47), liere (StanfordMIMI/LieRE b27b41ba), comrope (Longin-Yu/ComRoPE 7aeef083), riflex (thu-ml/RIFLEx 18e0bc34),
relation (xiuqhou/Relation-DETR b485955c); transformers 5.23.0, timm 1.0.31, torch 2.15, scipy installed.
"""

import pathlib
import sys
from functools import partial
from types import SimpleNamespace as Bag

import numpy as np
from timm.models import beit as timm_beit, swin_transformer as timm_swin
from transformers import (BeitConfig, DINOv3ViTConfig, LayoutLMv3Config, PixtralVisionConfig, SwinConfig, UdopConfig,
                          VJEPA2Config)
from transformers.models.beit import modeling_beit
from transformers.models.dinov3_vit import modeling_dinov3_vit as dinov3
from transformers.models.layoutlmv3 import modeling_layoutlmv3 as layoutlmv3
from transformers.models.pixtral import modeling_pixtral as pixtral
from transformers.models.qwen2_vl import modeling_qwen2_vl as qwen2_vl
from transformers.models.swin import modeling_swin
from transformers.models.udop import modeling_udop as udop
from transformers.models.vjepa2 import modeling_vjepa2 as vjepa2

import vision_grids
import vision_specs
import vision_turned
from oracles import *

FILE = "vision"
SOURCES = pathlib.Path(sys.argv[1])
HF, TIMM = "transformers 5.23.0 ", "timm 1.0.31 "
case, rotated = partial(compare, FILE), partial(compare_turned, FILE)
SCOPE = {"torch": torch, "nn": nn, "math": math, "np": np, "F": nn.functional, "Tensor": torch.Tensor}


def given(module, names, q, k):
    """A module that gets q, k and any values from its projections."""
    for name, rows in zip(names, (q, k, torch.zeros_like(q))):
        setattr(module, name, Given(rows))
    module.config._attn_implementation = "eager"
    return module.eval()


# Windows: a table of the distances down and across.

def window(table, places, size, sign=1, slow="rows", stride=None):
    """Bias (H, T, T) of a table ((2h−1)(2w−1), H)."""
    h, w = size
    dy, dx = (-sign * pairs(places[:, axis]) for axis in (0, 1))
    row = ((dy + h - 1) * (stride or 2 * w - 1) + dx + w - 1) if slow == "rows" else (dx + w - 1) * (2 * h - 1) + dy + h - 1
    return table[row.long() % len(table)].permute(2, 0, 1)


def window_wrong(q, k, table, places, size, frame=lambda bias: bias):
    D = q.shape[-1]
    found = {"key less query": frame(window(table, places, size, sign=-1)),
             "columns are the slow index": frame(window(table, places, size, slow="columns")),
             "the bias is divided by √D": frame(window(table, places, size)) / math.sqrt(D),
             "no bias": frame(window(table, places, size) * 0)}
    if size[0] != size[1]:
        found["a stride of 2·rows − 1"] = frame(window(table, places, size, stride=2 * size[0] - 1))
    return {words: plain(q, k) + bias for words, bias in found.items()}


def by_timm(module, q, k):
    module.qkv, module.attn_drop, module.fused_attn = Given(q, k, torch.zeros_like(q)), Recorder(), False
    module.eval()(torch.zeros(1, q.shape[1], H * q.shape[2]))
    return module.attn_drop.seen


def swin():
    def one(size, D, theirs, source, first=(0, 0), tolerance=1e-9):
        places = grid((first[0], first[0] + size[0]), (first[1], first[1] + size[1]))
        q, k = drawn(len(places), D)
        table = draw((2 * size[0] - 1) * (2 * size[1] - 1), H, seed=5)
        case(f"window_table(rows={size[0]}, columns={size[1]})", source, q, k, theirs(q, k, table),
             plain(q, k) + window(table, places, size), window_wrong(q, k, table, places, size), positions=places,
             params={"table": table}, tolerance=tolerance)

    def timm(size, D):
        def theirs(q, k, table):
            module = timm_swin.WindowAttention(H * D, num_heads=H, window_size=size)
            module.relative_position_bias_table.data = table
            return by_timm(module, q, k)
        return theirs

    def hf(q, k, table):
        module = given(modeling_swin.SwinAttention(SwinConfig(), H * q.shape[2], H, 3), ("q_proj", "k_proj", "v_proj"), q, k)
        module.relative_position_bias.relative_position_bias_table.data = table
        return module(torch.zeros(1, 9, H * q.shape[2]))[1][0]

    one((3, 4), 8, timm((3, 4), 8), TIMM + "models/swin_transformer.py WindowAttention")
    one((5, 2), 16, timm((5, 2), 16), TIMM + "models/swin_transformer.py WindowAttention", first=(5, 7))
    one((3, 3), 8, hf, HF + "modeling_swin.py SwinAttention", first=(2, 0), tolerance=1e-6)


def beit():
    """BEiT: token 0 is the class token; three rows at the table's end are to it, from it, and it with itself."""
    def framed(table, rows=(0, 1, 2), front=False):
        n = len(table) - 3
        extra = table[:3] if front else table[n:]
        def frame(bias):
            whole = torch.zeros(H, bias.shape[1] + 1, bias.shape[2] + 1)
            whole[:, 1:, 1:] = bias
            whole[:, 0, :], whole[:, :, 0] = extra[rows[0]][:, None], extra[rows[1]][:, None]
            whole[:, 0, 0] = extra[rows[2]]
            return whole
        return frame

    def one(size, D, theirs, source, tolerance):
        places = grid(*size)
        q, k = drawn(len(places) + 1, D, seed=11)
        table = draw((2 * size[0] - 1) * (2 * size[1] - 1) + 3, H, seed=6)
        body, frame = table[:-3], framed(table)
        wrong = window_wrong(q, k, body, places, size, frame)
        others = {"to the class token and from it exchanged": framed(table, (1, 0, 2))(window(body, places, size)),
                  "the three rows are the table's first": framed(table, front=True)(window(table[3:], places, size)),
                  "no bias to or from the class token": framed(table * 0)(window(body, places, size)),
                  "one row for all three": framed(table, (0, 0, 0))(window(body, places, size))}
        wrong |= {words: plain(q, k) + bias for words, bias in others.items()}
        case(f"window_table(rows={size[0]}, columns={size[1]}, class=on)", source, q, k, theirs(q, k, table),
             plain(q, k) + frame(window(body, places, size)), wrong, positions=places, prefix=1, params={"table": table},
             tolerance=tolerance)

    def timm(q, k, table):
        module = timm_beit.Attention(H * q.shape[2], num_heads=H, window_size=(2, 4))
        module.relative_position_bias_table.data = table
        return by_timm(module, q, k)

    def hf(q, k, table):
        config = BeitConfig(hidden_size=H * q.shape[2], num_attention_heads=H, image_size=48, patch_size=16)
        module = given(modeling_beit.BeitAttention(config), ("q_proj", "k_proj", "v_proj"), q, k)
        bias = modeling_beit.BeitRelativePositionBias(config)
        bias.relative_position_bias_table.data = table
        return module(torch.zeros(1, 10, H * q.shape[2]), attention_mask=bias((3, 3)))[1][0]

    one((2, 4), 8, timm, TIMM + "models/beit.py Attention", 1e-9)
    one((3, 3), 16, hf, HF + "modeling_beit.py BeitAttention, BeitRelativePositionBias", 1e-6)


# Documents: buckets of the distances in reading, across and down.

BOXES = torch.tensor([[40, 52, 143, 71], [151, 50, 230, 73], [238, 55, 411, 70], [41, 90, 97, 112], [109, 91, 317, 110],
                      [700, 88, 951, 115], [43, 498, 420, 530], [44, 941, 120, 960], [0, 0, 499, 333], [501, 667, 999, 999]])


def three(q, k, tables, buckets, scale, share):
    bias = sum(table[rows].permute(2, 0, 1) for table, rows in zip(tables, buckets))
    return q @ k.transpose(-1, -2) * scale + bias * share


def layoutlmv3_cases():
    at = torch.tensor([0, 1, 2, 3, 4, 5, 6, 7, 0, 1])  # eight words, then two patches that count anew
    for D, n1, most1, n2, most2 in ((8, 32, 128, 64, 256), (16, 8, 6, 32, 700)):
        q, k = drawn(10, D, seed=21)
        tables = draw(n1, H, seed=7), draw(n2, H, seed=8), draw(n2, H, seed=9)
        config = LayoutLMv3Config(hidden_size=H * D, num_attention_heads=H, num_hidden_layers=1, rel_pos_bins=n1,
                                  max_rel_pos=most1, rel_2d_pos_bins=n2, max_rel_2d_pos=most2)
        encoder = layoutlmv3.LayoutLMv3Encoder(config).eval()
        for layer, table in zip((encoder.rel_pos_bias, encoder.rel_pos_x_bias, encoder.rel_pos_y_bias), tables):
            layer.weight.data = table.T.contiguous()
        attention = encoder.layer[0].attention.self
        attention.query, attention.key, attention.value = Given(q), Given(k), Given(q)
        theirs = attention(torch.zeros(1, 10, H * D), None, encoder._cal_1d_pos_emb(at[None]),
                           encoder._cal_2d_pos_emb(BOXES[None]))[1][0]
        root = 1 / math.sqrt(D)
        assert not any(on_an_edge(pairs(BOXES[:, c]), n2, most2) for c in (0, 3)) and not on_an_edge(pairs(at), n1, most1)

        def scores(order=at, x=BOXES[:, 0], y=BOXES[:, 3], sign=1, share=root, wide=(n1, most1), plane=(n2, most2)):
            return three(q, k, tables, [bucket(sign * pairs(order), *wide), bucket(sign * pairs(x), *plane),
                                        bucket(sign * pairs(y), *plane)], root, share)

        wrong = {"biases not divided by √D": scores(share=1), "the top edge for y": scores(y=BOXES[:, 1]),
                 "the right edge for x": scores(x=BOXES[:, 2]), "query less key": scores(sign=-1),
                 "centres of the boxes": scores(x=(BOXES[:, 0] + BOXES[:, 2]) // 2, y=(BOXES[:, 1] + BOXES[:, 3]) // 2),
                 "patches count on from the words": scores(order=torch.arange(10)),
                 "x and y exchanged": scores(x=BOXES[:, 3], y=BOXES[:, 0]),
                 "the 1-D bias alone": three(q, k, tables[:1], [bucket(pairs(at), n1, most1)], root, root)}
        case(f"box_buckets(buckets={n1}, furthest={most1}, plane_buckets={n2}, plane_furthest={most2}, anchor=lower_left)",
             HF + "modeling_layoutlmv3.py", q, k, theirs, scores(), wrong, positions=BOXES, order=at.tolist(),
             params=dict(zip(("order", "across", "down"), tables)), bias_scale=root, tolerance=1e-9)


def udop_cases():
    boxes = BOXES / 1000.0 + torch.arange(10)[:, None] * torch.tensor([0.00037, 0.00029, 0.00041, 0.00033])
    for D, args in ((8, [{}, {}, {}]), (16, [{"max_distance": 12}, {"scaling_factor": 40, "max_distance": 45}, {}])):
        q, k = drawn(10, D, seed=31)
        q = q * 0.5
        tables = [draw(32, H, seed=s) for s in (10, 11, 12)]
        kinds = [dict(type=kind, **more) for kind, more in zip(("1d", "horizontal", "vertical"), args)]
        config = UdopConfig(d_model=H * D, d_kv=D, num_heads=H, num_layers=1, relative_bias_args=kinds)
        biases = udop.create_relative_bias(config)
        for module, table in zip(biases, tables):
            module.relative_attention_bias.weight.data = table
        bias = udop.RelativePositionBiasAggregated(biases)(attention_mask=torch.ones(1, 10), bbox=boxes[None])
        attention = given(udop.UdopAttention(config), ("q", "k", "v"), q, k)
        theirs = attention(torch.zeros(1, 10, H * D), position_bias=bias)[2][0]
        most = [args[0].get("max_distance", 128), args[1].get("max_distance", 100), 100]
        scale = [1, args[1].get("scaling_factor", 100), 100]
        centre = (boxes[:, [0, 1]] + boxes[:, [2, 3]]) / 2

        def cut(values, by, first=False):
            far = pairs(values) * by
            return pairs((values * by).long()) if first else far.to(torch.long)

        for a in (0, 1):
            far = pairs(centre[:, a]) * scale[a + 1]
            assert float((far - far.round()).abs()[far != 0].min()) > 1e-3, "float32 decides the whole number"
        assert not any(on_an_edge(cut(centre[:, a], scale[a + 1]), 32, most[a + 1]) for a in (0, 1))

        def scores(x=centre[:, 0], y=centre[:, 1], sign=1, root=1.0, first=False):
            rows = [pairs(torch.arange(10)), cut(x, scale[1], first), cut(y, scale[2], first)]
            return three(q, k, tables, [bucket(sign * r, 32, m) for r, m in zip(rows, most)], root, 1)

        wrong = {"q·k divided by √D": scores(root=1 / math.sqrt(D)), "query less key": scores(sign=-1),
                 "the left edge for x": scores(x=boxes[:, 0]), "the lower edge for y": scores(y=boxes[:, 3]),
                 "coordinates cut to whole numbers before the difference": scores(first=True),
                 "x and y exchanged": scores(x=centre[:, 1], y=centre[:, 0])}
        spec = f"box_buckets(buckets=32, furthest={most[0]}, plane_furthest={most[1]}/{most[2]}, "
        spec += f"steps={scale[1]}/{scale[2]}, anchor=centre)"
        case(spec, HF + "modeling_udop.py", q, k, theirs, scores(), wrong, positions=boxes, scale=1.0, bias_scale=1.0,
             params=dict(zip(("order", "across", "down"), tables)), order=list(range(10)), tolerance=1e-9)


# Rotations by two coordinates.

def centred(rows, columns, by=None):
    """DINOv3's coordinates in −1 … 1."""
    return 2 * (grid(rows, columns) + 0.5) / torch.tensor(by or (rows, columns)).double() - 1


def behind(prefix, rule):
    return lambda x: torch.cat((x[:, :prefix], rule(x[:, prefix:])), 1)


def dinov3_wrong(places, rows, columns, periods, prefix):
    f = 2 * math.pi / periods
    two, D = (f, f), 4 * len(periods)
    corners = 2 * grid(rows, columns) / torch.tensor([rows - 1.0, columns - 1.0]) - 1
    wide = 2 * math.pi * powers(D // 4, 10000.0)
    found = {"adjacent pairs": axial(places, two, "adjacent"), "columns first": axial(places, two, order=(1, 0)),
             "no 2π": axial(places, (1 / periods, 1 / periods)), "base 10000": axial(places, (wide, wide)),
             "whole indices": axial(grid(rows, columns), two), "ends reached, not centres": axial(corners, two)}
    return {words: behind(prefix, rule) for words, rule in found.items()}


def dinov3_hf():
    for D, rows, columns, prefix, base in ((8, 2, 5, 1, 100.0), (16, 4, 2, 3, 30.0)):
        q, k = drawn(rows * columns + prefix, D, seed=41)
        config = DINOv3ViTConfig(hidden_size=H * D, num_attention_heads=H, rope_theta=base, patch_size=16)
        module = given(dinov3.DINOv3ViTAttention(config), ("q_proj", "k_proj", "v_proj"), q, k)
        tables = dinov3.DINOv3ViTRopePositionEmbedding(config).eval()(torch.zeros(1, 3, rows * 16, columns * 16))
        theirs = module(torch.zeros(1, q.shape[1], H * D), position_embeddings=tables)[1][0]
        periods, places = 1 / powers(D // 4, base), centred(rows, columns)
        own = behind(prefix, axial(places, (2 * math.pi / periods,) * 2))
        rotated(f"rope_axial(coordinates=centred, base={base:g}, rows={rows}, columns={columns}, pairing=halves)",
                HF + "modeling_dinov3_vit.py", q, k, theirs, own, dinov3_wrong(places, rows, columns, periods, prefix),
                positions=grid(rows, columns), coordinates=flat(places), prefix=prefix, tolerance=1e-6)


def dinov3_authors():
    """Other ways to norm, periods by their ends, and the three disturbances of training with the numbers drawn."""
    (Embedding,) = definitions(SOURCES / "dinov3/dinov3/layers/rope_position_encoding.py", ["RopePositionEmbedding"],
                               SCOPE | {"Literal": None})
    half, apply = definitions(SOURCES / "dinov3/dinov3/layers/attention.py", ["rope_rotate_half", "rope_apply"], SCOPE)
    rows, columns, D = 3, 4, 16
    q, k = drawn(13, D, seed=43)  # a class token: without one, a shift of all coordinates changes no logit
    ends = 0.5 * 12.0 ** (torch.arange(4) / 3.0)  # periods from 0.5 to 6, both reached
    usual = 1 / powers(4, 100.0)
    cases = [("max", {}, usual, {}), ("min", {}, usual, {}),
             ("separate", dict(base=None, min_period=0.5, max_period=6.0), ends, {}),
             ("separate", dict(shift_coords=0.4, jitter_coords=1.5, rescale_coords=2.0), usual, None)]
    for norm, more, periods, drawn_numbers in cases:
        module = Embedding(H * D, num_heads=H, normalize_coords=norm, dtype=torch.float64, **more)
        module.train(drawn_numbers is None)
        torch.manual_seed(3)
        sin, cos = module(H=rows, W=columns)
        turned = (torch.cat((x[:, :1], apply(x[:, 1:], sin, cos)), 1) for x in (q, k))
        theirs = softmax(plain(*turned), False)
        by = {"max": (columns,) * 2, "min": (rows,) * 2}.get(norm)
        places, extra = centred(rows, columns, by), {}
        if drawn_numbers is None:
            torch.manual_seed(3)
            draws = [torch.empty(n, dtype=torch.float64).uniform_(-most, most)
                     for n, most in ((2, 0.4), (2, math.log(1.5)), (1, math.log(2.0)))]
            extra = {"shift": flat(draws[0]), "jitter": flat(draws[1].exp()), "rescale": flat(draws[2].exp())}
            plainly, places = places, (places + draws[0]) * draws[1].exp() * draws[2].exp()
        f = 2 * math.pi / periods
        wrong = dinov3_wrong(places, rows, columns, periods, 1)
        others = {"the class token is turned as a corner": lambda x: axial(torch.cat((places[:1], places)), (f, f))(x)}
        if by:
            others["each axis by its own length"] = behind(1, axial(centred(rows, columns), (f, f)))
        if extra:
            late = plainly * draws[1].exp() * draws[2].exp() + draws[0]
            others["no disturbance"] = behind(1, axial(plainly, (f, f)))
            others["the shift after the factors"] = behind(1, axial(late, (f, f)))
        if "min_period" in more:
            short = 2 * math.pi / (0.5 * 12.0 ** (torch.arange(4) / 4.0))
            others["periods that leave out the upper end"] = behind(1, axial(places, (short, short)))
        spec = f"rope_axial(coordinates=centred, norm={norm}, rows={rows}, columns={columns}, pairing=halves"
        spec += ", periods=0.5/6)" if "min_period" in more else ", base=100)"
        rotated(spec, "facebookresearch/dinov3 6876159a rope_position_encoding.py", q, k, theirs,
                behind(1, axial(places, (f, f))), wrong | others, positions=grid(rows, columns), prefix=1,
                coordinates=flat(places), **extra, tolerance=1e-9)


def pixtral_and_qwen():
    places = grid((3, 6), (5, 9))
    for D in (8, 16):
        q, k = drawn(12, D, seed=45)
        rope = {"rope_type": "axial", "rope_theta": 10000.0}
        config = PixtralVisionConfig(hidden_size=H * D, num_attention_heads=H, head_dim=D, rope_parameters=rope)
        module = given(pixtral.PixtralAttention(config), ("q_proj", "k_proj", "v_proj"), q, k)
        tables = pixtral.PixtralVisionRotaryEmbedding(config)(torch.zeros(1), places)
        theirs = module(torch.zeros(1, 12, H * D), position_embeddings=tables)[1][0]
        f = powers(D // 2, 10000.0)
        even, odd, same = f[0::2], f[1::2], powers(D // 4, 10000.0)
        rotated("rope_axial(frequencies=alternating, pairing=halves)", HF + "modeling_pixtral.py", q, k, theirs,
                axial(places, (even, odd)),
                {"rows take the odd frequencies": axial(places, (odd, even)),
                 "both axes have the same": axial(places, (same, same)),
                 "adjacent pairs": axial(places, (even, odd), "adjacent"),
                 "columns first": axial(places.flip(1), (even, odd)),
                 "the first half of the frequencies for rows": axial(places, (f[:D // 4], f[D // 4:]))},
                positions=places, tolerance=1e-6)
        config = Bag(rope_parameters=rope, head_dim=D, embed_dim=H * D, num_heads=H)
        cos, sin = qwen2_vl.Qwen2VLVisionRotaryEmbedding(config)(torch.zeros(1), places)
        qq, kk = qwen2_vl.apply_rotary_pos_emb_vision(q.transpose(0, 1), k.transpose(0, 1), cos, sin)
        theirs = softmax(plain(qq.transpose(0, 1), kk.transpose(0, 1)), False)
        rotated("rope_axial(frequencies=same, pairing=halves)", HF + "modeling_qwen2_vl.py", q, k, theirs,
                axial(places, (same, same)),
                {"alternating frequencies": axial(places, (even, odd)),
                 "adjacent pairs": axial(places, (same, same), "adjacent"),
                 "columns first": axial(places, (same, same), order=(1, 0))}, positions=places, tolerance=1e-6)


# Rotations by three coordinates.

def spread(rows, places, box):
    """Puts the vectors (H, T, D) of some tokens into the whole grid (1, tokens, H, D); where they are."""
    at = ((places[:, 0] * box[1] + places[:, 1]) * box[2] + places[:, 2]).long()
    whole = torch.zeros(1, math.prod(box), H, rows.shape[-1])
    whole[0, at] = rows.transpose(0, 1)
    return whole, at


def video_wrong(places, widths, base, D):
    bands = [powers(w // 2, base) for w in widths]
    one = powers(D // 2, base)
    cuts = [sum(widths[:a]) // 2 for a in range(4)]
    shared = [one[cuts[a]:cuts[a + 1]] for a in range(3)]
    found = {"pairs are halves": axial(places, bands), "columns, rows, frames": axial(places.flip(1), bands, "adjacent"),
             "one run of frequencies cut in three": axial(places, shared, "adjacent")}
    if len(set(widths)) > 1:
        back = [powers(w // 2, base) for w in widths[::-1]]
        found["the last axis has the first one's width"] = axial(places, back, "adjacent")
    return found


def wan_and_hunyuan():
    scope = SCOPE | {"amp": Bag(autocast=None)}
    params, apply = definitions(SOURCES / "wan/wan/modules/model.py", ["rope_params", "rope_apply"], scope)
    places = grid((1, 3), (2, 4), (1, 4))
    box, D = (3, 4, 4), 16
    q, k = drawn(12, D, seed=51)
    freqs = torch.cat([params(16, w) for w in (D - 4 * (D // 6), 2 * (D // 6), 2 * (D // 6))], 1)
    turned = []
    for x in (q, k):
        whole, at = spread(x, places, box)
        turned.append(apply(whole, torch.tensor([box]), freqs)[0, at].transpose(0, 1).double())
    own = [powers(4, 10000.0), powers(2, 10000.0), powers(2, 10000.0)]
    rotated("rope_axial(widths=8/4/4, base=10000, pairing=adjacent)", "Wan-Video/Wan2.1 9737cba9 wan/modules/model.py", q, k,
            softmax(plain(*turned), False), axial(places, own, "adjacent"),
            {"base 256": axial(places, [powers(4, 256.0), powers(2, 256.0), powers(2, 256.0)], "adjacent")}
            | video_wrong(places, (8, 4, 4), 10000.0, D), positions=places, tolerance=1e-6)

    files = SOURCES / "diffusers/src/diffusers/models"
    scope = SCOPE | {"torch": torch}
    (table,) = definitions(files / "embeddings.py", ["get_1d_rotary_pos_embed"], scope)
    Wan, apply = definitions(files / "transformers/transformer_wan.py", ["WanRotaryPosEmbed", "apply_rotary_emb"], scope)
    places, D = grid(2, (0, 2), (0, 3)), 20
    q, k = drawn(12, D, seed=53)
    cos, sin = Wan(D, (1, 2, 2), 16)(torch.zeros(1, 1, 2, 4, 6))
    turned = [apply(x.transpose(0, 1)[None], cos, sin)[0].transpose(0, 1) for x in (q, k)]
    widths = (8, 6, 6)
    rotated("rope_axial(widths=8/6/6, base=10000, pairing=adjacent)", "diffusers 58eb52c0 transformer_wan.py", q, k,
            softmax(plain(*turned), False), axial(places, [powers(w // 2, 10000.0) for w in widths], "adjacent"),
            video_wrong(places, widths, 10000.0, D), positions=places, tolerance=1e-6)

    names = ["_to_tuple", "get_meshgrid_nd", "reshape_for_broadcast", "rotate_half", "apply_rotary_emb",
             "get_nd_rotary_pos_embed", "get_1d_rotary_pos_embed"]
    scope = SCOPE | {"Union": __import__("typing").Union, "List": list}
    *_, apply, nd, _ = definitions(SOURCES / "hunyuan/hyvideo/modules/posemb_layers.py", names, scope)
    for widths, first, end, seed in (((4, 6, 6), (1, 2, 3), (3, 4, 6), 55), ((4, 2, 2), (0, 0, 0), (3, 2, 2), 57)):
        D, places = sum(widths), grid(*zip(first, end))
        q, k = drawn(12, D, seed=seed)
        tables = nd(list(widths), first, end, theta=256, use_real=True)
        turned = [x[0].transpose(0, 1) for x in apply(q.transpose(0, 1)[None], k.transpose(0, 1)[None], tables)]
        wide = [powers(w // 2, 10000.0) for w in widths]
        rotated(f"rope_axial(widths={'/'.join(map(str, widths))}, base=256, pairing=adjacent)",
                "Tencent-Hunyuan/HunyuanVideo fa14b001 posemb_layers.py", q, k, softmax(plain(*turned), False),
                axial(places, [powers(w // 2, 256.0) for w in widths], "adjacent"),
                video_wrong(places, widths, 256.0, D) | {"base 10000": axial(places, wide, "adjacent")},
                positions=places, tolerance=1e-6)


def cosmos():
    """A base for each axis."""
    (Cosmos,) = definitions(SOURCES / "diffusers/src/diffusers/models/transformers/transformer_cosmos.py", ["CosmosRotaryPosEmbed"], SCOPE)
    D, places = 16, grid(3, 2, 2) * torch.tensor([7.0, 1, 1])
    q, k = drawn(12, D, seed=59)
    module = Cosmos(D, (64, 8, 8), (1, 2, 2), rope_scale=(2.0, 3.0, 1.5))
    cos, sin = module(torch.zeros(1, 1, 15, 4, 4))
    at = ((places[:, 0] * 2 + places[:, 1]) * 2 + places[:, 2]).long()
    half = lambda x: torch.cat((-x[..., D // 2:], x[..., :D // 2]), -1)
    theirs = softmax(plain(*(x * cos[at].double() + half(x) * sin[at].double() for x in (q, k))), False)
    bases = [10000 * 2 ** (8 / 6), 10000 * 3.0 ** 2, 10000 * 1.5 ** 2]
    bands = [powers(w // 2, base) for w, base in zip((8, 4, 4), bases)]
    rotated("rope_axial(widths=8/4/4, a base for each axis, pairing=halves)", "diffusers 58eb52c0 transformer_cosmos.py", q, k, theirs,
            axial(places, bands), {"one base": axial(places, [powers(n, 10000.0) for n in (4, 2, 2)]), "adjacent pairs": axial(places, bands, "adjacent")},
            positions=places, tolerance=1e-6)


def tiled(places, m):
    """V-JEPA 2 as published: channel c of an axis has angle p·ω_(c mod m/2), and its partner is its neighbour."""
    omega = powers(m // 2, 10000.0)

    def rule(x):
        out = x.clone()
        for axis in range(3):
            for c in range(m):
                at, partner = axis * m + c, axis * m + (c ^ 1)
                angle = places[:, axis] * omega[c % (m // 2)]
                out[..., at] = x[..., at] * angle.cos() + (x[..., partner] if c % 2 else -x[..., partner]) * angle.sin()
        return out
    return rule


def vjepa2_cases():
    for D, size, places in ((16, 4, grid((1, 3), (1, 3), (0, 3))), (24, 2, grid(3, 2, 2)),
                            (28, 5, grid((2, 4), (0, 2), (2, 5)))):
        q, k = drawn(12, D, seed=61)
        config = VJEPA2Config(crop_size=16 * size, patch_size=16, frames_per_clip=8, tubelet_size=2)
        module = vjepa2.VJEPA2RopeAttention(config, H * D, H)
        module = given(module, ("query", "key", "value"), q, k)
        ids = ((places[:, 0] * size + places[:, 1]) * size + places[:, 2]).long()
        theirs = module(torch.zeros(1, 12, H * D), position_mask=ids[None])[1][0]
        m = 2 * (D // 3 // 2)
        bands = [powers(m // 2, 10000.0)] * 3
        ahead = lambda rule: lambda x: torch.cat((rule(x[..., :3 * m]), x[..., 3 * m:]), -1)
        rotated(f"rope_axial(widths={m}/{m}/{m}, base=10000, pairing=adjacent, table=tiled)",
                HF + "modeling_vjepa2.py", q, k, theirs, tiled(places, m),
                {"true rotation of adjacent pairs": ahead(axial(places, bands, "adjacent")),
                 "true rotation of halves of all three": ahead(axial(places, bands)),
                 "columns, rows, frames": tiled(places.flip(1), m), "rows first": tiled(places[:, [1, 0, 2]], m)},
                positions=places, tolerance=1e-6)



swin(), beit(), layoutlmv3_cases(), udop_cases(), dinov3_hf(), dinov3_authors(), pixtral_and_qwen(), wan_and_hunyuan(), cosmos()
vjepa2_cases()
vision_turned.liere(SOURCES), vision_turned.comrope(SOURCES), vision_turned.string()
vision_turned.box_relations(SOURCES, BOXES), vision_turned.riflex(SOURCES)
vision_grids.swin2(), vision_grids.levit(), vision_grids.convolved(), vision_grids.times()
vision_specs.write()
