#include "gnomon/models/resolve/towers.h"

namespace gnomon {
namespace {

// Classes whose rows are resampled only where the caller asks for it, as ViT's.
TowerRow with_class_token(std::vector<std::string_view> types, std::vector<std::string_view> within,
                          std::vector<std::string_view> fixed, TowerRow row) {
  row.types = std::move(types), row.within = std::move(within), row.fixed = std::move(fixed);
  row.table = TowerTable::patches, row.before = 1, row.resized = "bicubic", row.asked = true;
  return row;
}
// Qwen's towers from Qwen3-VL on: learned rows of a square grid beside the rotation.
TowerRow of_qwen3(std::vector<std::string_view> types, std::vector<std::string_view> fixed) {
  return {.types = std::move(types),
          .fixed = std::move(fixed),
          .width = 1152,
          .layers = 27,
          .heads = 16,
          .patch = 16,
          .table = TowerTable::counted,
          .rows_key = "num_position_embeddings",
          .rows = 2304,
          .resized = "bilinear, corner on corner",
          .turn = TowerTurn::halves};
}
// Whisper's encoder and those made from it.
TowerRow of_whisper(std::vector<std::string_view> types, std::vector<std::string_view> within,
                    TowerTable table, TowerRow row) {
  row.types = std::move(types), row.within = std::move(within);
  row.table = table, row.rows_key = "max_source_positions", row.rows = 1500;
  return row;
}

const std::vector<TowerRow> kRows{
    // Learned rows.
    with_class_token(
        {"clip_vision_model", "metaclip_2_vision_model", "chinese_clip_vision_model"},
        {"granite4_vision", "llava", "llava_next", "llava_next_video", "video_llava", "vipllava"},
        {"clip", "metaclip_2", "chinese_clip"},
        {.width = 768, .layers = 12, .heads = 12, .image = 224, .patch = 32}),
    with_class_token({"altclip_vision_model"}, {}, {"altclip"},
                     {.width = 768, .layers = 12, .heads = 12, .image = 224, .patch = 32}),
    with_class_token({"git_vision_model"}, {}, {"git"},
                     {.width = 768, .layers = 12, .heads = 12, .image = 224, .patch = 16}),
    with_class_token({"vit"}, {"vision-text-dual-encoder"}, {},
                     {.width = 768, .layers = 12, .heads = 12, .image = 224, .patch = 16}),
    {.types = {"deit"},
     .width = 768,
     .layers = 12,
     .heads = 12,
     .image = 224,
     .patch = 16,
     .table = TowerTable::patches,
     .before = 2,
     .resized = "bicubic",
     .asked = true},
    {.types = {"siglip_vision_model"},
     .within = {"aya_vision", "cohere2_vision", "deepseek_vl", "deepseek_vl_hybrid", "gemma3",
                "llava_onevision", "modernvbert", "paligemma", "shieldgemma2", "t5gemma2_encoder",
                "ultravbert"},
     .fixed = {"siglip"},
     .width = 768,
     .layers = 12,
     .heads = 12,
     .image = 224,
     .patch = 16,
     .table = TowerTable::patches,
     .resized = "bicubic",
     .asked = true},
    {.types = {"siglip2_vision_model"},
     .within = {"lfm2_vl"},
     .fixed = {"siglip2"},
     .width = 768,
     .layers = 12,
     .heads = 12,
     .patch = 16,
     .table = TowerTable::counted,
     .rows_key = "num_patches",
     .rows = 256,
     .resized = "bilinear, antialiased"},
    {.types = {"dinov2"},
     .width = 768,
     .layers = 12,
     .heads = 12,
     .image = 224,
     .patch = 14,
     .table = TowerTable::patches,
     .before = 1,
     .resized = "bicubic"},
    {.types = {"dinov2_with_registers"},
     .width = 768,
     .layers = 12,
     .heads = 12,
     .image = 224,
     .patch = 16,
     .table = TowerTable::patches,
     .before = 1,
     .bare_key = "num_register_tokens",
     .bare = 4,
     .resized = "bicubic, antialiased"},

    // Rotations by the row and the column of a patch.
    {.types = {"qwen2_vl_vision"},
     .fixed = {"qwen2_vl", "colqwen2"},
     .width = 1280,
     .layers = 32,
     .heads = 16,
     .patch = 14,
     .width_key = "embed_dim",
     .turn = TowerTurn::halves},
    {.types = {"qwen2_5_vl_vision", "qwen2_5_omni_vision_encoder"},
     .within = {"hyperclovax_vision_v2"},
     .fixed = {"qwen2_5_vl", "qwen2_5_omni_thinker", "qwen2_5_omni"},
     .width = 3584,
     .layers = 32,
     .heads = 16,
     .patch = 14,
     .turn = TowerTurn::halves,
     .window = "all layers but those of fullatt_block_indexes see a window of window_size pixels"},
    of_qwen3({"qwen3_vl_vision", "qwen3_vl_moe_vision", "qwen3_5_vision", "qwen3_5_moe_vision",
              "qwen3_omni_moe_vision_encoder"},
             {"qwen3_vl", "qwen3_vl_moe", "qwen3_5", "qwen3_5_moe", "qwen3_omni_moe_thinker",
              "qwen3_omni_moe", "cosmos3_omni"}),
    {.types = {"pixtral"},
     .within = {"lighton_ocr", "mistral3", "mistral_large4"},
     .width = 1024,
     .layers = 24,
     .heads = 16,
     .image = 1024,
     .patch = 16,
     .turn = TowerTurn::alternating},
    {.types = {"llama4_vision_model"},
     .fixed = {"llama4"},
     .width = 768,
     .layers = 34,
     .heads = 16,
     .image = 448,
     .patch = 14,
     .table = TowerTable::patches,
     .after = 1,
     .turn = TowerTurn::adjacent,
     .coordinates = "rows and columns count from 1; the class token does not turn"},
    {.types = {"gemma4_vision"},
     .within = {"diffusion_gemma", "embedding_gemma2"},
     .fixed = {"gemma4"},
     .width = 768,
     .layers = 16,
     .heads = 12,
     .head_dim = 64,
     .patch = 16,
     .table = TowerTable::coordinates,
     .rows_key = "position_embedding_size",
     .rows = 10240,
     .turn = TowerTurn::blocks,
     .theta = 100},
    {.types = {"dinov3_vit"},
     .width = 384,
     .layers = 12,
     .heads = 6,
     .image = 224,
     .patch = 16,
     .bare_key = "num_register_tokens",
     .turn = TowerTurn::turns,
     .theta = 100,
     .theta_alone = true,
     .coordinates = "centres of patches, from -1 to 1 over the image; class token and registers do not turn"},

    // Sound.
    of_whisper(
        {"whisper"}, {}, TowerTable::sines,
        {.part = "", .component = "encoder", .width = 384, .layers = 4, .heads = 6, .width_key = "d_model"}),
    of_whisper({"qwen2_audio_encoder"}, {"qwen2_audio"}, TowerTable::frames,
               {.part = "audio_config", .width = 1280, .layers = 32, .heads = 20, .width_key = "d_model"}),
    of_whisper({"voxtral_encoder"}, {"voxtral"}, TowerTable::frames,
               {.part = "audio_config", .width = 1280, .layers = 32, .heads = 20}),
    of_whisper({"audioflamingo3_encoder"}, {"audioflamingo3", "musicflamingo"}, TowerTable::frames,
               {.part = "audio_config", .width = 1280, .layers = 32, .heads = 20}),
};

}  // namespace

std::span<const TowerRow> tower_rows() { return kRows; }

}  // namespace gnomon
