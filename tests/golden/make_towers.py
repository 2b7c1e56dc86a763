"""Towers for images and sound by the classes of transformers, and what they do with position: tests/golden/towers.json.

    python3 make_towers.py

transformers 5.23.0, torch 2.15.0. Each class is made small and runs on an image of a few patches, of which the place is known, or on a short
sound. What turns is seen around the class's own function of rotation: `pairs` has, for each two channels that turn together, their angle for
one row and for one column of patches, the angle at the first patch, and that for one frame where the class turns by frames, too. `still` counts
tokens that do not turn, `learned` those that turn by a weight; `kv_heads` is there if it is not the number of heads. `turns` says it of each
layer, if not all do, and `windows` into how many parts each divides 32 x 16 patches. What is added is the difference between a run with the class's table and one with zeros: `table` has its rows, and the row of each token. `other` says what the
class does with an image of another size, and by which interpolation of torch its rows come about. `bare`: the class of full size of a file
that says nothing. `within`: the towers of larger models. gnomon is not used.
"""

import importlib
import json
import pathlib
import warnings

import torch
import transformers
from torch.nn import functional
from transformers.models.auto.configuration_auto import CONFIG_MAPPING

warnings.filterwarnings("ignore")
transformers.logging.set_verbosity_error()
HERE = pathlib.Path(__file__).parent
torch.set_num_threads(1)
ROWS, COLUMNS, PATCH, WIDTH, HEADS = 8, 6, 4, 64, 2
SMALL = {"hidden_size": WIDTH, "num_hidden_layers": 2, "num_attention_heads": HEADS, "intermediate_size": 32, "patch_size": PATCH}
SQUARE = SMALL | {"image_size": 8 * PATCH}
QWEN = {"depth": 2, "num_heads": HEADS, "patch_size": PATCH, "temporal_patch_size": 2, "spatial_merge_size": 2}
GLM = {"hidden_size": WIDTH, "out_hidden_size": 32, "intermediate_size": 32}
SOUND = {"max_source_positions": 12, "num_mel_bins": 4}
ABOUT = ("hidden_size", "image_size", "patch", "head", "_layers", "depth", "_dim", "model_type", "position", "rope", "d_model", "register", "window",
         "fullatt", "spatial", "pos_emb_", "posemb", "layer_types")


def by(**how):
    return lambda grid, size: functional.interpolate(grid, size=size, **how)


def zeros_outside(grid, size):
    at = functional.affine_grid(torch.eye(2, 3)[None], (1, grid.shape[1], *size), align_corners=False)
    return functional.grid_sample(grid, at, mode="bilinear", padding_mode="zeros", align_corners=False)


MODES = {"bicubic": by(mode="bicubic"), "bilinear": by(mode="bilinear"), "bicubic, antialiased": by(mode="bicubic", antialias=True),
         "bilinear, antialiased": by(mode="bilinear", antialias=True), "bilinear, corner on corner": by(mode="bilinear", align_corners=True),
         "bilinear, zeros outside": zeros_outside, "nearest": by(mode="nearest")}


class Tower:
    """A class, its small shape, how it is called, and where its positions are added: the input or the output of a module."""

    def __init__(self, module, config, model, shape, call, at=None, order="rows", asks=False, frames=1):
        self.module = importlib.import_module(f"transformers.models.{module}.modeling_{module}")
        self.config_class = getattr(importlib.import_module(f"transformers.models.{module}.configuration_{module}"), config)
        self.model_class = getattr(self.module, model)
        self.shape, self.call, self.at, self.order, self.asks, self.frames = shape, call, at, order, asks, frames


def image(rows, columns):
    return torch.rand(1, 3, rows * PATCH, columns * PATCH, generator=torch.Generator().manual_seed(rows * 100 + columns))


def pixels(model, rows, columns, **named):
    return model(pixel_values=image(rows, columns), **named)


def merged(model, rows, columns):
    x = torch.rand(rows * columns, 3 * 2 * PATCH * PATCH, generator=torch.Generator().manual_seed(1))
    return model(x, grid_thw=torch.tensor([[1, rows, columns]]))


def packed(*form, batch=False, **named):
    """A call with patches of this form, one after another, and the grid that they are of."""
    def call(model, rows, columns, frames=1):
        x = torch.rand(frames * rows * columns, *form, generator=torch.Generator().manual_seed(1))
        return model(x[None] if batch else x, grid_thw=torch.tensor([[frames, rows, columns]]), **named)
    return call


def patches(model, rows, columns):
    x = torch.rand(1, rows * columns, 3 * PATCH * PATCH, generator=torch.Generator().manual_seed(1))
    return model(pixel_values=x, pixel_attention_mask=torch.ones(1, rows * columns), spatial_shapes=torch.tensor([[rows, columns]]))


def merged_pixels(model, rows, columns):
    x = torch.rand(rows // 2 * columns // 2, 2 * PATCH, 2 * PATCH, 3, generator=torch.Generator().manual_seed(1))
    return model(x, torch.tensor([[1, rows // 2, columns // 2]]))


def strip(model, rows, columns):
    """The patches of MiniCPM-V lie side by side."""
    x = torch.rand(1, 3, PATCH, rows * columns * PATCH, generator=torch.Generator().manual_seed(1))
    return model(x, target_sizes=torch.tensor([[rows, columns]], dtype=torch.int32))


def placed(model, rows, columns):
    places = torch.tensor([[(x, y) for y in range(rows) for x in range(columns)]])
    return model(torch.rand(1, rows * columns, 3 * PATCH * PATCH, generator=torch.Generator().manual_seed(1)), places)


def sound(model, frames, _, **named):
    return model(torch.rand(1, 4, 2 * frames, generator=torch.Generator().manual_seed(1)), **named)


def heard(model, frames, _):
    return sound(model, frames, _, input_features_mask=torch.ones(1, 2 * frames, dtype=torch.long))


VIT = ("embeddings", "out")
TOWERS = {
    "clip_vision_model": Tower("clip", "CLIPVisionConfig", "CLIPVisionModel", SQUARE, pixels, VIT, asks=True),
    "metaclip_2_vision_model": Tower("metaclip_2", "MetaClip2VisionConfig", "MetaClip2VisionModel", SQUARE, pixels, VIT, asks=True),
    "chinese_clip_vision_model": Tower("chinese_clip", "ChineseCLIPVisionConfig", "ChineseCLIPVisionModel", SQUARE, pixels, VIT, asks=True),
    "altclip_vision_model": Tower("altclip", "AltCLIPVisionConfig", "AltCLIPVisionModel", SQUARE, pixels, VIT, asks=True),
    "git_vision_model": Tower("git", "GitVisionConfig", "GitVisionModel", SQUARE, pixels, VIT, asks=True),
    "vit": Tower("vit", "ViTConfig", "ViTModel", SQUARE, pixels, VIT, asks=True),
    "deit": Tower("deit", "DeiTConfig", "DeiTModel", SQUARE, pixels, VIT, asks=True),
    "siglip_vision_model": Tower("siglip", "SiglipVisionConfig", "SiglipVisionModel", SQUARE, pixels, VIT, asks=True),
    **{name: Tower(module, f"{cls}VisionConfig", f"{cls}VisionModel", SQUARE, pixels, at, asks=True) for name, module, cls, at in (
        ("owlvit_vision_model", "owlvit", "OwlViT", VIT), ("owlv2_vision_model", "owlv2", "Owlv2", VIT), ("janus_vision_model", "janus", "Janus", VIT),
        ("kosmos_2_vision_model", "kosmos2", "Kosmos2", ("model.embeddings", "out")))},
    **{f"{name}_vision": Tower(name, f"{cls}VisionConfig", f"{cls}VisionModel", SQUARE | {"image_size": [8 * PATCH] * 2, "patch_size": [PATCH] * 2}, pixels, VIT)
       for name, cls in {"internvl": "InternVL", "qianfan_ocr": "QianfanOCR"}.items()},
    **{f"{name}_vision": Tower(name, f"{cls}VisionConfig", f"{cls}VisionTransformer", SQUARE, pixels, VIT)
       for name, cls in {"idefics2": "Idefics2", "idefics3": "Idefics3", "smolvlm": "SmolVLM"}.items()},
    "phi4_multimodal_vision": Tower("phi4_multimodal", "Phi4MultimodalVisionConfig", "Phi4MultimodalVisionModel", SQUARE, pixels, VIT),
    "glm_image_vision": Tower("glm_image", "GlmImageVisionConfig", "GlmImageVisionModel", SQUARE | QWEN | {"spatial_merge_size": 1},
                              packed(3 * PATCH * PATCH), ("blocks.0", "in")),
    "cosmos3_edge_vision": Tower("cosmos3_edge", "Cosmos3EdgeVisionConfig", "Cosmos3EdgeVisionModel", SMALL | {"num_patches": 64},
                                 packed(3 * PATCH * PATCH), VIT, "blocks"),
    **{f"{name}_vision": Tower(name, f"{cls}VisionConfig", f"{cls}VisionModel", SQUARE | {"insert_layer_id": 0}, strip, VIT)
       for name, cls in {"minicpmv4_6": "MiniCPMV4_6", "minicpmv4_7": "MiniCPMV4_7", "minicpm_ocr": "MiniCPMOcr"}.items()},
    "siglip2_vision_model": Tower("siglip2", "Siglip2VisionConfig", "Siglip2VisionModel", SMALL | {"num_patches": 64}, patches, VIT),
    "dinov2": Tower("dinov2", "Dinov2Config", "Dinov2Model", SQUARE, pixels, VIT),
    "dinov2_with_registers": Tower("dinov2_with_registers", "Dinov2WithRegistersConfig", "Dinov2WithRegistersModel",
                                   SQUARE | {"num_register_tokens": 3}, pixels, VIT),
    "qwen2_vl_vision": Tower("qwen2_vl", "Qwen2VLVisionConfig", "Qwen2VisionTransformerPretrainedModel", QWEN | {"embed_dim": WIDTH}, merged,
                             order="blocks"),
    "qwen2_5_vl_vision": Tower("qwen2_5_vl", "Qwen2_5_VLVisionConfig", "Qwen2_5_VisionTransformerPretrainedModel",
                               QWEN | {"hidden_size": WIDTH, "window_size": 64, "fullatt_block_indexes": [0]}, merged, order="blocks"),
    "qwen2_5_omni_vision_encoder": Tower("qwen2_5_omni", "Qwen2_5OmniVisionEncoderConfig", "Qwen2_5OmniVisionEncoder",
                                         QWEN | {"hidden_size": WIDTH, "window_size": 64, "fullatt_block_indexes": [0]}, merged, order="blocks"),
    **{f"{name}_vision": Tower(name, f"{cls}VisionConfig", f"{cls}VisionModel",
                               QWEN | {"hidden_size": WIDTH, "num_position_embeddings": 64, "deepstack_visual_indexes": []}, merged,
                               ("blocks.0", "in"), "blocks")
       for name, cls in {"qwen3_vl": "Qwen3VL", "qwen3_vl_moe": "Qwen3VLMoe", "qwen3_5": "Qwen3_5", "qwen3_5_moe": "Qwen3_5Moe"}.items()},
    "qwen3_omni_moe_vision_encoder": Tower("qwen3_omni_moe", "Qwen3OmniMoeVisionEncoderConfig", "Qwen3OmniMoeVisionEncoder",
                                           QWEN | {"hidden_size": WIDTH, "num_position_embeddings": 64, "deepstack_visual_indexes": []}, merged,
                                           ("blocks.0", "in"), "blocks"),
    **{f"{name}_vision": Tower(name, f"{cls}VisionConfig", f"{cls}VisionModel", QWEN | {"hidden_size": WIDTH, "num_position_embeddings": 64} | more, merged,
                               ("blocks.0", "in"), "blocks")
       for name, cls, more in (("qwen4_exp", "Qwen4Exp", {}), ("cohere_compass", "CohereCompass", {"deepstack_visual_indexes": []}))},
    **{f"{name}_vision": Tower(name, f"{cls}VisionConfig", f"{cls}VisionModel", QWEN | GLM | {"image_size": 8 * PATCH}, merged, ("blocks.0", "in"), "blocks")
       for name, cls in {"glm4v": "Glm4v", "glm4v_moe": "Glm4vMoe"}.items()},
    "glm_ocr_vision": Tower("glm_ocr", "GlmOcrVisionConfig", "GlmOcrVisionModel", QWEN | GLM, merged, order="blocks"),
    "glm5_next_vision": Tower("glm5_next", "Glm5NextVisionConfig", "Glm5NextVisionModel", QWEN | GLM | {"projection_intermediate_size": 32}, merged,
                              order="blocks"),
    "kimi_k25_vision": Tower("kimi_k25", "Kimi_K25VisionConfig", "Kimi_K25VisionModel", SMALL | {"pos_emb_height": 8, "pos_emb_width": 8},
                             packed(3, PATCH, PATCH), ("patch_embed", "out")),
    "paddleocr_vl_vision": Tower("paddleocr_vl", "PaddleOCRVisionConfig", "PaddleOCRVisionModel", SQUARE, packed(3, PATCH, PATCH, batch=True),
                                 ("encoder.layers.0", "in")),
    "ernie4_5_vl_moe_vision": Tower("ernie4_5_vl_moe", "Ernie4_5_VLMoeVisionConfig", "Ernie4_5_VLMoeVisionTransformerPretrainedModel",
                                    {k: v for k, v in QWEN.items() if k != "temporal_patch_size"} | {"hidden_size": WIDTH, "intermediate_size": 32},
                                    packed(3 * PATCH * PATCH), order="blocks"),
    "dots3_note_vision_encoder": Tower("dots3_note", "Dots3NoteVisionConfig", "Dots3NoteVisionModel",
                                       SMALL | {"mlp_layer_types": ["dense", "dense"], "adapter_in_dim": WIDTH, "adapter_out_dim": 32},
                                       packed(3 * PATCH * PATCH), order="blocks"),
    "video_llama_3_vision": Tower("video_llama_3", "VideoLlama3VisionConfig", "VideoLlama3VisionModel", SMALL,
                                  packed(3 * PATCH * PATCH, merge_sizes=torch.tensor([2])), order="blocks"),
    "exaone4_5_vision": Tower("exaone4_5", "Exaone4_5_VisionConfig", "Exaone4_5_VisionModel",
                              QWEN | {"hidden_size": WIDTH, "num_key_value_heads": 1, "window_size": 64, "fullatt_block_indexes": [0]}, merged, order="blocks"),
    "lfm3_vl_vision": Tower("lfm3_vl", "Lfm3VlVisionConfig", "Lfm3VlVisionModel", SMALL | {"num_key_value_heads": 1, "layer_types": ["conv", "full_attention"]},
                            packed(2 * 3 * PATCH * PATCH), order="blocks"),
    "inkling2_vision": Tower("inkling2", "Inkling2VisionConfig", "Inkling2VisionModel", SMALL | {"posemb_grid_size": 8, "projection_hidden_dim": 32},
                             merged_pixels, VIT, "blocks"),
    "mlcd_vision_model": Tower("mlcd", "MLCDVisionConfig", "MLCDVisionModel", SQUARE, pixels),
    "minimax_m3_vl_vision": Tower("minimax_m3_vl", "MiniMaxM3VLVisionConfig", "MiniMaxM3VLVisionModel", SMALL, packed(3 * 2 * PATCH * PATCH), order="blocks",
                                  frames=2),
    "step3p5_vision": Tower("step3p7", "Step3p7VisionConfig", "Step3p7VisionModel", SQUARE, pixels, ("embeddings", "out")),
    "muse_glimmer_vision": Tower("muse_glimmer", "MuseGlimmerVisionConfig", "MuseGlimmerVisionModel",
                                 SMALL | {"pos_emb_height": 8, "pos_emb_width": 8, "layer_types": ["window_attention", "full_attention"]},
                                 packed(2 * 3 * PATCH * PATCH), ("patch_embedder", "out")),
    "pixtral": Tower("pixtral", "PixtralVisionConfig", "PixtralVisionModel", SQUARE, pixels),
    "llama4_vision_model": Tower("llama4", "Llama4VisionConfig", "Llama4VisionModel",
                                 SQUARE | {"intermediate_size": 4 * WIDTH, "projector_input_dim": 32, "projector_output_dim": 32, "vision_output_dim": 32}, pixels,
                                 ("layernorm_pre", "in"), "rows"),
    "gemma4_vision": Tower("gemma4", "Gemma4VisionConfig", "Gemma4VisionModel",
                           SMALL | {"head_dim": 32, "num_key_value_heads": HEADS, "position_embedding_size": 20, "pooling_kernel_size": 2}, placed,
                           ("patch_embedder", "out")),
    "dinov3_vit": Tower("dinov3_vit", "DINOv3ViTConfig", "DINOv3ViTModel", SQUARE | {"num_register_tokens": 3}, pixels),
    "whisper": Tower("whisper", "WhisperConfig", "WhisperEncoder",
                     SOUND | {"d_model": WIDTH, "encoder_layers": 2, "encoder_attention_heads": HEADS, "decoder_layers": 3,
                              "decoder_attention_heads": 4, "max_target_positions": 9, "encoder_ffn_dim": 32}, sound, ("layers.0", "in")),
    "qwen2_audio_encoder": Tower("qwen2_audio", "Qwen2AudioEncoderConfig", "Qwen2AudioEncoder",
                                 SOUND | {"d_model": WIDTH, "encoder_layers": 2, "encoder_attention_heads": HEADS, "encoder_ffn_dim": 32}, sound,
                                 ("layers.0", "in")),
    "voxtral_encoder": Tower("voxtral", "VoxtralEncoderConfig", "VoxtralEncoder",
                             SOUND | {"hidden_size": WIDTH, "num_hidden_layers": 2, "num_attention_heads": HEADS, "intermediate_size": 32}, sound,
                             ("layers.0", "in")),
    "audioflamingo3_encoder": Tower("audioflamingo3", "AudioFlamingo3EncoderConfig", "AudioFlamingo3Encoder",
                                    SOUND | {"hidden_size": WIDTH, "num_hidden_layers": 2, "num_attention_heads": HEADS, "intermediate_size": 32},
                                    heard, ("layers.0", "in")),
}
TURNS = ("apply_multidimensional_rope", "apply_rotary_pos_emb_vision", "vision_apply_rotary_emb", "apply_rotary_pos_emb")


def made(tower, config=None):
    torch.manual_seed(0)
    model = tower.model_class(config or tower.config_class(**tower.shape)).eval()
    with torch.no_grad():
        for name, p in model.named_parameters():
            if (p.dim() > 1 or "cls_pos" in name) and "embed_positions" not in name:
                p.copy_(torch.randn(p.shape) / p.shape[-1] ** 0.5)
    return model


class Turning:
    """The first q before and after the class's own function of rotation, and how many heads its k has."""

    def __init__(self, module):
        self.module, self.inside, self.calls, self.seen = module, 0, 0, None

    def __enter__(self):
        self.own = {name: getattr(self.module, name) for name in TURNS if hasattr(self.module, name)}
        for name, function in self.own.items():
            setattr(self.module, name, self.around(function))
        return self

    def __exit__(self, *_):
        for name, function in self.own.items():
            setattr(self.module, name, function)

    def around(self, function):
        def turn(x, *given, **named):
            self.inside += 1
            out = function(x, *given, **named)
            self.inside -= 1
            self.calls += not self.inside
            if not self.inside and self.seen is None:
                self.seen = x.detach().clone(), (out[0] if isinstance(out, tuple) else out).detach().clone()
                self.key = out[1].shape if isinstance(out, tuple) and isinstance(out[1], torch.Tensor) else x.shape
            return out
        return turn


def by_token(x, tokens):
    """(tokens, heads, channels)."""
    x = x.reshape(x.shape[-3:])
    return x if x.shape[0] == tokens else x.transpose(0, 1)


def places(tower, rows, columns, tokens):
    """The row and the column of each token; None: it is no patch."""
    if tower.order == "blocks":
        found = [(r + i, c + j) for r in range(0, rows, 2) for c in range(0, columns, 2) for i in range(2) for j in range(2)]
    else:
        found = [(r, c) for r in range(rows) for c in range(columns)]
    more = [None] * (tokens - len(found))
    return found + more if tower.model_class.__name__ == "Llama4VisionModel" else more + found


def channels(kind, n):
    return {"halves": [(c, c + n // 2) for c in range(n // 2)], "adjacent": [(c, c + 1) for c in range(0, n, 2)],
            "blocks": [(b + c, b + c + n // 4) for b in (0, n // 2) for c in range(n // 4)],
            "thirds": [(c, c + n // 6 * 3) for c in range(n // 6 * 3)]}[kind]


def turned(tower, model):
    rows, columns = (8, 8) if "image_size" in tower.shape else (ROWS, COLUMNS)
    if tower.model_class.__name__ in ("PixtralVisionModel", "DINOv3ViTModel", "MLCDVisionModel"):
        rows, columns = ROWS, COLUMNS
    with Turning(tower.module) as turning, torch.no_grad():
        tower.call(model, rows, columns, **({"frames": 2} if tower.frames == 2 else {}))
    if turning.seen is None:
        return {}
    patches = rows * columns + {"Llama4VisionModel": 1, "DINOv3ViTModel": 4, "MLCDVisionModel": 1, "Inkling2VisionModel": 1}.get(tower.model_class.__name__, 0)
    x, y = (by_token(v.double(), patches * tower.frames) for v in turning.seen)
    for kind in ("halves", "adjacent", "blocks", "thirds"):
        pairs = channels(kind, x.shape[-1])
        turn = torch.stack([torch.complex(y[..., a], y[..., b]) / torch.complex(x[..., a], x[..., b]) for a, b in pairs], -1)
        rest = [c for c in range(x.shape[-1]) if not any(c in pair for pair in pairs)]
        if float((turn - turn.mean(1, keepdim=True)).abs().max()) < 1e-3 and torch.equal(x[..., rest], y[..., rest]):
            found = rotation(turn.mean(1)[:patches], pairs, places(tower, rows, columns, patches), rows, columns)
            if tower.frames == 2:
                by_frame(turn.mean(1), found)
            kv = [n for n in turning.key[-3:-1] if n != patches * tower.frames]
            found |= {} if tower.call in (pixels, placed) else by_layer(tower, model)
            return found | {"channels": x.shape[-1]} | ({"kv_heads": kv[0]} if kv != [HEADS] else {})
    raise ValueError("no pairs")


def by_layer(tower, model):
    """Whether each layer turns, if not all do, and into how many windows each divides 32 x 16 patches, if any does."""
    calls, windows = [0], []
    layers = next(m for m in model.modules() if isinstance(m, torch.nn.ModuleList) and len(m) == model.config.num_hidden_layers)

    def note(_, given, named, out):
        calls.append(turning.calls)
        windows.append(len(named["cu_seqlens"]) - 1 if "cu_seqlens" in named else 1)

    hooks = [layer.register_forward_hook(note, with_kwargs=True) for layer in layers]
    with Turning(tower.module) as turning, torch.no_grad():
        tower.call(model, 32, 16)
    for hook in hooks:
        hook.remove()
    turns = [after > before for before, after in zip(calls, calls[1:])]
    return ({} if all(turns) else {"turns": turns}) | ({"windows": windows} if max(windows) > 1 else {})


def by_frame(turn, found):
    """The angle of each pair for one frame, behind its others."""
    first, second = turn.chunk(2)
    time = (second[0] / first[0]).angle()
    assert float((second - first * torch.exp(1j * time)).abs().max()) < 1e-4
    for pair, angle in zip(found["pairs"], time.tolist()):
        pair.append(round(angle, 8) + 0.0)


def rotation(turn, pairs, where, rows, columns):
    others = [t for t, place in enumerate(where) if place is None]
    still = [t for t in others if float((turn[t] - 1).abs().max()) < 1e-5]
    at = {place: turn[t] for t, place in enumerate(where) if place}
    origin = at[0, 0].angle()
    row, column = ((at[step] / at[0, 0]).angle() for step in ((1, 0), (0, 1)))
    worst = max(float((at[r, c] - torch.exp(1j * (origin + r * row + c * column))).abs().max()) for r, c in at)
    assert worst < 1e-4, worst
    angles = torch.stack([row, column, origin], -1).tolist()
    return {"grid": [rows, columns], "still": len(still), **({"learned": len(others) - len(still)} if len(others) > len(still) else {}),
            "pairs": [[a, b, *(round(x, 8) + 0.0 for x in angles[n])] for n, (a, b) in enumerate(pairs)]}


def tables_of(model, width=WIDTH):
    """Of several tables, the rows of one before those of the next: those of the class token are first."""
    return [(n, p) for n, p in model.named_parameters() if "pos" in n.replace("post", "") and p.shape[-1] == width]


def rows_of(model):
    return torch.cat([p.detach().reshape(-1, WIDTH) for _, p in tables_of(model)])


def added(tower, model, rows, columns, **named):
    """What the table adds to each token."""
    module, side = model.get_submodule(tower.at[0]) if not hasattr(model, "vision_model") else model.vision_model.get_submodule(tower.at[0]), tower.at[1]
    caught, own = [], rows_of(model)
    hook = module.register_forward_hook(lambda _, given, kwargs, out: caught.append(
        (out if side == "out" else given[0] if given else kwargs["hidden_states"]).detach().clone()), with_kwargs=True)
    kept = [(p, p.detach().clone()) for _, p in tables_of(model)]
    with torch.no_grad():
        tower.call(model, rows, columns, **named)
        for p, _ in kept:
            p.zero_()
        tower.call(model, rows, columns, **named)
        for p, values in kept:
            p.copy_(values)
    hook.remove()
    return (caught[0] - caught[1]).reshape(-1, WIDTH), own


def row_of(x, rows):
    if float(x.abs().max()) < 1e-6:
        return None
    distance = (rows - x).abs().amax(-1)
    return int(distance.argmin()) if float(distance.min()) < 1e-5 else -1


def resampled(tower, rows, side, found):
    """The interpolation of torch by which these rows come about."""
    first = len(rows) - side * side if tower.model_class.__name__ != "Llama4VisionModel" else 0
    grid = rows[first:first + side * side].reshape(1, side, side, WIDTH).permute(0, 3, 1, 2)
    order = [r * COLUMNS + c for r, c in places(tower, ROWS + 2, COLUMNS, (ROWS + 2) * COLUMNS)]
    for name, how in MODES.items():
        want = how(grid, (ROWS + 2, COLUMNS)).permute(0, 2, 3, 1).reshape(-1, WIDTH)[order]
        if float((found[-len(order):] - want).abs().max()) < 1e-5:
            return name
    raise ValueError("resampled in no way that is known")


def other_size(tower, model, side):
    found = {}
    for words, named in {"plain": {}, "asked": {"interpolate_pos_encoding": True}}.items():
        if words == "asked" and not tower.asks:
            continue
        try:
            rows, table = added(tower, model, ROWS + 2, COLUMNS, **named)
        except (ValueError, RuntimeError) as error:
            found[words] = "refused"
            print("   ", words, str(error)[:90])
            continue
        found[words] = resampled(tower, table, side, rows)
    return found


def tabled(tower, model):
    if tower.at is None:
        return {}
    rows, columns = (12, 1) if tower.call in (sound, heard) else (ROWS, ROWS)
    if tower.call is placed:
        columns = COLUMNS
    found, table = added(tower, model, rows, columns)
    if tower.call is placed:  # a row for the column plus one for the row
        both = table.reshape(2, -1, WIDTH)
        want = torch.stack([both[0, c] + both[1, r] for r, c in places(tower, rows, columns, rows * columns)])
        assert float((found - want).abs().max()) < 1e-5
        return {"table": {"rows": both.shape[1], "sum": "column, row"}}
    entry = {"rows": len(table), "of": [row_of(x, table) for x in found]}
    if tower.call in (sound, heard):
        torch.manual_seed(1)
        again = rows_of(tower.model_class(tower.config_class(**tower.shape)))
        if torch.equal(again, table):  # the class computes it, and does not draw it
            entry["sines"] = [[t, c, float(f"{found[t, c]:.7g}")] for t in (0, 1, 5, 11) for c in (0, 1, 31, 32, 33, 63)]
        try:
            tower.call(model, 14, 1)
        except (ValueError, RuntimeError):
            entry["other"] = {"plain": "refused"}
        return {"table": entry}
    return {"table": entry | {"other": other_size(tower, model, ROWS)}}


def decoder_of_whisper():
    """The rows of the decoder's table that its tokens read; the encoder is the tower."""
    tower = TOWERS["whisper"]
    config = tower.config_class(**tower.shape)
    model = tower.module.WhisperDecoder(config).eval()
    table, caught, tokens = model.embed_positions.weight, [], torch.arange(7)[None] + 3
    model.layers[0].register_forward_hook(lambda _, given, kwargs, out: caught.append(given[0].detach().clone()), with_kwargs=True)
    own = table.detach().clone()
    with torch.no_grad():
        model(input_ids=tokens, encoder_hidden_states=torch.rand(1, 12, WIDTH))
        table.zero_()
        model(input_ids=tokens, encoder_hidden_states=torch.rand(1, 12, WIDTH))
    return {"layers": len(model.layers), "heads": [model.layers[0].self_attn.num_heads, model.layers[0].self_attn.head_dim], "rows": len(own),
            "of": [row_of(x, own) for x in (caught[0] - caught[1])[0]]}


def told(config):
    file = json.loads(config.to_json_string(use_diff=False))
    return {k: v for k, v in file.items() if any(word in k for word in ABOUT) and "token_id" not in k and v is not None}


def bare(tower):
    """Sizes of the class of full size; its tensors are not made."""
    config = tower.config_class()
    with torch.device("meta"):
        model = tower.model_class(config)
    width = getattr(config, "embed_dim", None) or config.hidden_size
    rows = sum(p.numel() // width for _, p in tables_of(model, width)) // (2 if tower.call is placed else 1) if tower.at else None
    return {"width": width, "layers": config.num_hidden_layers,
            "heads": config.num_attention_heads, "rows": rows}


def answer(name, tower):
    print(name)
    config = tower.config_class(**tower.shape)
    model = made(tower, config)
    turns = turned(tower, model) if tower.call not in (sound, heard) else {}
    more = {"decoder": decoder_of_whisper()} if name == "whisper" else {}
    return {"type": name, **more, "config": {"model_type": name} | told(config), "heads": [HEADS, turns.pop("channels", None) or WIDTH // HEADS], **turns,
            **tabled(tower, model), "bare": bare(tower)}


def takes_another(cls, part):
    """Whether an object that names another tower is of that one; None: the class makes no file of it."""
    other = "deit" if part == "vision_config" else "wav2vec2"
    try:
        return isinstance(getattr(cls(**{part: {"model_type": other}}), part), CONFIG_MAPPING[other])
    except Exception:  # of any kind: nobody knows
        return None


def larger():
    """The towers of larger models, by the objects of a file that says nothing, or whose objects are empty; and whether another may be named."""
    found = {}
    for name in CONFIG_MAPPING:
        try:
            config = CONFIG_MAPPING[name]()
            empty = {part: {} for part in ("vision_config", "audio_config") if getattr(config, part, 0) is None}
            config = CONFIG_MAPPING[name](**empty) if empty else config
            for outside in (config, getattr(config, "thinker_config", None), getattr(config, "vlm_config", None)):
                for part in ("vision_config", "audio_config"):
                    own = getattr(outside, part, None)
                    if getattr(own, "model_type", "") in TOWERS:
                        where = part if outside is config else f"{'thinker_config' if hasattr(config, 'thinker_config') else 'vlm_config'}.{part}"
                        found.setdefault(name, {})[where] = [own.model_type, takes_another(type(outside), part)]
        except Exception:  # of any kind: such a class has no file of its own
            continue
    return dict(sorted(found.items()))


def main():
    lines = [json.dumps(answer(name, tower), separators=(",", ":")) for name, tower in TOWERS.items()]
    around = json.dumps(larger(), separators=(",", ":"))
    (HERE / "towers.json").write_text('{"within":' + around + ',\n"towers":[\n' + ",\n".join(lines) + "\n]}\n")


if __name__ == "__main__":
    main()
