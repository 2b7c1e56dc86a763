"""The towers of transformers that make_towers.py runs: each class, its small shape, and how it is called with an image or a sound."""

import importlib

import torch

ROWS, COLUMNS, PATCH, WIDTH, HEADS = 8, 6, 4, 64, 2
SMALL = {"hidden_size": WIDTH, "num_hidden_layers": 2, "num_attention_heads": HEADS, "intermediate_size": 32, "patch_size": PATCH}
SQUARE = SMALL | {"image_size": 8 * PATCH}
QWEN = {"depth": 2, "num_heads": HEADS, "patch_size": PATCH, "temporal_patch_size": 2, "spatial_merge_size": 2}
GLM = {"hidden_size": WIDTH, "out_hidden_size": 32, "intermediate_size": 32}
SOUND = {"max_source_positions": 12, "num_mel_bins": 4}


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


def in_chunks(model, frames, _):
    return model(torch.rand(1, 8, 8 * frames, generator=torch.Generator().manual_seed(1)), torch.tensor([8 * frames * model.config.hop_length]))


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
    "glmasr_encoder": Tower("glmasr", "GlmAsrEncoderConfig", "GlmAsrEncoder", {k: v for k, v in SMALL.items() if k != "patch_size"} |
                            {"num_mel_bins": 4, "num_key_value_heads": 1}, sound),
    "dots3_note_audio_encoder": Tower("dots3_note", "Dots3NoteAudioConfig", "Dots3NoteAudioModel", {k: v for k, v in SMALL.items() if k != "patch_size"} |
                                      {"num_key_value_heads": 2, "head_dim": 32, "feature_size": 8, "downsample_hidden_size": 4, "conv_output_size": 4,
                                       "adapter_input_size": WIDTH, "adapter_out_dim": 32}, in_chunks),
    "audioflamingo3_encoder": Tower("audioflamingo3", "AudioFlamingo3EncoderConfig", "AudioFlamingo3Encoder",
                                    SOUND | {"hidden_size": WIDTH, "num_hidden_layers": 2, "num_attention_heads": HEADS, "intermediate_size": 32},
                                    heard, ("layers.0", "in")),
}
