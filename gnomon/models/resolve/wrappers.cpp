#include "gnomon/models/resolve/wrappers.h"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "gnomon/core/text.h"

namespace gnomon {
namespace {

// Classes whose object is of any type that it names, then those that have one of their own. Sizes: width, layers, heads,
// heads_kv, head_dim, longest.
const std::vector<Wrapper> kWrappers{
    {"bert", {"vision-text-dual-encoder"}},
    {.text = "clip_text_model", .types = {"sam3"}, .sizes = {1024, 24, 16, 0, 0, 32}},
    {"cohere2", {"aya_vision", "cohere2_vision"}},
    {"exaone4", {"exaone4_5"}},
    {.text = "gemma", .types = {"paligemma"}, .sizes = {2048, 18, 8, 1}},
    {"gemma3_text", {"shieldgemma2"}},
    {"gemma4_unified_text", {"gemma4_unified_assistant"}},
    {"glm4v_text", {"glm46v", "glmga"}},
    {"granite", {"granite_speech", "granite_speech_plus"}},
    {"hyperclovax", {"hyperclovax_vision_v2"}},
    {"lfm2", {"lfm2_vl"}},
    {"lfm3", {"lfm3_vl"}},
    {"llama",
     {"deepseek_vl", "deepseek_vl_hybrid", "idefics3", "janus", "llava", "llava_next", "llava_next_video",
      "perception_lm", "smolvlm", "video_llava", "vipllava"}},
    {.text = "llama", .types = {"glmasr"}, .sizes = {2048, 28, 16, 4, 0, 8192}, .by_key = true},
    {.text = "llama",
     .types = {"voxtral"},
     .sizes = {3072, 30, 0, 8, 128, 131072},
     .theta = 1e8,
     .by_key = true},
    {.text = "mistral", .types = {"idefics2"}, .sizes = {0, 0, 0, 0, 0, 32768}},
    {.text = "mistral", .types = {"mistral3"}, .sizes = {5120, 40, 0, 0, 128}, .theta = 1e9, .window = 0},
    {"modernbert", {"modernvbert"}},
    {.text = "modernbert",
     .types = {"pe_audio", "pe_audio_video", "pe_video"},
     .sizes = {1024, 22, 16},
     .by_key = true},
    {"nemotron_h", {"nemotron_h_omni"}},
    {.text = "nemotron_h",
     .types = {"nemo_speechlm"},
     .sizes = {2688, 52, 0, 2, 0, 262144},
     .cycle = "lmlmlfmlmlmlfmlmlmlfmlmlmlfmlmlmlfmlmlmlmlfmlmlmlmlm"},
    {.text = "modernvbert", .types = {"colmodernvbert"}, .key = "vlm_config"},
    {"opt", {"blip-2", "instructblip", "instructblipvideo"}},
    {.text = "paligemma", .types = {"colpali"}, .key = "vlm_config"},
    {.text = "persimmon", .types = {"fuyu"}, .flat = true},
    {"qwen2",
     {"audioflamingo3", "internvl", "llava_onevision", "musicflamingo", "ovis2", "qwen2_audio", "vibevoice",
      "vibevoice_asr", "video_llama_3"}},
    {.text = "qwen2", .types = {"fast_vlm"}, .sizes = {3584, 28, 28, 4}},
    {.text = "qwen2", .types = {"got_ocr2", "pp_chart2table"}, .sizes = {1024, 24, 16, 16}, .theta = 1e6},
    {.text = "qwen2_vl", .types = {"colqwen2"}, .key = "vlm_config"},
    {.text = "qwen3", .types = {"fun_asr_nano"}, .sizes = {1024, 28, 16, 8, 0, 40960}},
    {.text = "qwen3", .types = {"lighton_ocr"}, .sizes = {1024, 28, 16, 8, 0, 40960}, .theta = 1e6},
    {.text = "qwen3",
     .types = {"moss_transcribe_diarize"},
     .sizes = {1024, 28, 16, 8, 0, 131072},
     .theta = 1e6},
    {"qwen3", {"qianfan_ocr"}},
    {.text = "qwen3", .types = {"qwen3_asr"}, .sizes = {2048, 28, 16, 8, 0, 65536}},
    {"qwen3_5_text", {"jev", "minicpm_ocr", "minicpmv4_6", "minicpmv4_7"}},
    {"qwen3_vl_text", {"cosmos3_omni"}},
    {"ultrabert", {"ultravbert"}},
    {.text = "voxtral_realtime_text",
     .types = {"voxtral_realtime"},
     .sizes = {3072, 26, 0, 0, 128},
     .theta = 1e6,
     .window = 8192,
     .by_key = true},

    {"aimv2_text_model", {"aimv2"}, true},
    {"align_text_model", {"align"}, true},
    {"altclip_text_model", {"altclip"}, true},
    {"aria_text", {"aria"}, true},
    {"blip_text_model", {"blip"}, true},
    {"bridgetower_text_model", {"bridgetower"}, true},
    {"chinese_clip_text_model", {"chinese_clip"}, true},
    {"clap_text_model", {"clap"}, true},
    {"clip_text_model", {"clip"}, true},
    {"clipseg_text_model", {"clipseg"}, true},
    {"clvp_encoder", {"clvp"}, true},
    {"cohere_compass_text", {"cohere_compass"}, true},
    {"cosmos3_edge_text", {"cosmos3_edge"}, true},
    {"deepseek_ocr2_text", {"deepseek_ocr2"}, true},
    {"deepseek_v3", {"kimi_k25"}, true},  // under the name kimi_k2, too
    {"diffusion_gemma_text", {"diffusion_gemma"}, true},
    {"dots3_note_text", {"dots3_note"}, true, true},
    {"embedding_gemma2_text", {"embedding_gemma2"}, true},
    {"emu3_text_model", {"emu3"}, true},
    {"ernie4_5_vl_moe_text", {"ernie4_5_vl_moe"}, true},
    {"flava_text_model", {"flava"}, true},
    {"gemma3_text", {"gemma3"}, true},
    {"gemma3n_text", {"gemma3n"}, true},
    {"gemma4_text", {"gemma4"}, true},
    {"gemma4_unified_text", {"gemma4_unified"}, true},
    {"glm4v_moe_text", {"glm4v_moe"}, true},
    {"glm4v_text", {"glm4v"}, true},
    {"glm5_next_text", {"glm5_next"}, true, true},
    {"glm_image_text", {"glm_image"}, true},
    {"glm_ocr_text", {"glm_ocr"}, true},
    {"granite4_vision_text", {"granite4_vision"}, true},
    {"granite_docling_text", {"granite_docling"}, true},
    {"groupvit_text_model", {"groupvit"}, true},
    {"hunyuan_vl_text", {"hunyuan_vl"}, true, true},
    {"inkling2_text", {"inkling2"}, true},
    {"inkling_text", {"inkling_mm_model"}, true},
    {"kosmos_2_5_text_model", {"kosmos-2.5"}, true},
    {"kosmos_2_text_model", {"kosmos-2"}, true},
    {"llama4_text", {"llama4"}, true},
    {"metaclip_2_text_model", {"metaclip_2"}, true},
    {"minimax_m3_vl_text", {"minimax_m3_vl"}, true},
    {"mistral_large4_text", {"mistral_large4"}, true},
    {"mllama_text_model", {"mllama"}, true},
    {"molmo2_text", {"molmo2"}, true},
    {"muse_glimmer_text", {"muse_glimmer"}, true},
    {"muse_spark_text", {"muse_spark"}, true},
    {"owlv2_text_model", {"owlv2"}, true},
    {"owlvit_text_model", {"owlvit"}, true},
    {"paddleocr_vl_text", {"paddleocr_vl"}, true, true},
    {"qwen2_5_omni_thinker", {"qwen2_5_omni"}, true, false, "thinker_config"},
    {"qwen2_5_omni_text", {"qwen2_5_omni_thinker"}, true},
    {"qwen2_5_vl_text", {"qwen2_5_vl"}, true, true},
    {"qwen2_vl_text", {"qwen2_vl"}, true, true},
    {"qwen3_5_moe_text", {"qwen3_5_moe"}, true},
    {"qwen3_5_text", {"qwen3_5"}, true},
    {"qwen3_omni_moe_thinker", {"qwen3_omni_moe"}, true, false, "thinker_config"},
    {"qwen3_omni_moe_text", {"qwen3_omni_moe_thinker"}, true},
    {"qwen3_vl_moe_text", {"qwen3_vl_moe"}, true},
    {"qwen3_vl_text", {"qwen3_vl"}, true},
    {"qwen4_exp_text", {"qwen4_exp"}, true},
    {"sam3_lite_text_text_model", {"sam3_lite_text"}, true},
    {"siglip2_text_model", {"siglip2"}, true},
    {"siglip_text_model", {"siglip"}, true},
    {"step3p5", {"step3p7"}, true},
    {"t5gemma2_text", {"t5gemma2_encoder"}, true},
    {"tipsv2_text_model", {"tipsv2"}, true},
    {"unlimited_ocr_text", {"unlimited_ocr"}, true, true},
    {"videoprism_text_model", {"videoprism"}, true},
    {"xclip_text_model", {"xclip"}, true},
};

const Wrapper* find_wrapper(std::string_view type) {
  for (const Wrapper& wrapper : kWrappers)
    if (std::find(wrapper.types.begin(), wrapper.types.end(), type) != wrapper.types.end()) return &wrapper;
  return nullptr;
}

// Where files of larger models keep the language part that gnomon has no row of.
constexpr std::array<std::string_view, 5> kParts{"text_config", "language_config", "llm_config",
                                                 "vlm_config.text_config", "thinker_config.text_config"};
bool there(const Config& config, std::string_view object) {
  return config.kind(object) == Config::Kind::object;
}
std::string any_part(const Config& config) {
  for (const std::string_view part : kParts)
    if (there(config, part) && !config.keys(part).empty()) return std::string(part);
  return {};
}
std::string within(const std::string& part, std::string_view key) {
  return part.empty() ? std::string(key) : text(part, ".", key);
}
std::string word(const Config& config, const std::string& key) {
  return config.kind(key) == Config::Kind::text ? *config.text(key) : std::string();
}

void fill(std::int64_t& to, std::int64_t said) {
  if (said) to = said;
}
Family filled_in(Family family, const Wrapper& wrapper) {
  fill(family.sizes.width, wrapper.sizes.width), fill(family.sizes.layers, wrapper.sizes.layers);
  fill(family.sizes.heads, wrapper.sizes.heads), fill(family.sizes.kv_heads, wrapper.sizes.kv_heads);
  fill(family.sizes.head_dim, wrapper.sizes.head_dim), fill(family.sizes.longest, wrapper.sizes.longest);
  if (wrapper.theta != 0) family.rope.theta = family.rope.theta_v4 = wrapper.theta;
  if (wrapper.window) family.windows.standard = *wrapper.window;
  if (!wrapper.cycle.empty()) family.windows.cycle = wrapper.cycle;
  return family;
}
// The row of the language model of a file that has no object for it.
const Family* family_within(const Wrapper& wrapper) {
  static const std::map<const Wrapper*, Family> all = [] {
    std::map<const Wrapper*, Family> rows;
    for (const Wrapper& one : kWrappers)
      if (const Family* family = find_family(one.text)) rows.emplace(&one, filled_in(*family, one));
    return rows;
  }();
  const auto found = all.find(&wrapper);
  return found == all.end() ? nullptr : &found->second;
}

}  // namespace

std::span<const Wrapper> wrappers() { return kWrappers; }
std::string_view innermost(const Wrapper& wrapper) {
  const Wrapper* inside = find_wrapper(wrapper.text);
  return inside ? innermost(*inside) : wrapper.text;
}

namespace {

// Into an object that no class says to keep a language model: by the type that it names, or by this one.
void guess(const Config& config, std::string key, std::string type, LanguagePart& part) {
  part.key = std::move(key), part.type = std::move(type);
  const std::string named = part.key + ".model_type";
  if (const std::string own = part.key.empty() ? "" : word(config, named); !own.empty())
    part.type = own, part.named_by = named;
  const Wrapper* larger = find_wrapper(part.type);
  if (larger && !there(config, within(part.key, larger->key))) part.type = innermost(*larger);
}

// From a larger model into the object that it keeps its language model in, or to what its class has in place of one.
void enter(const Config& config, const Wrapper& wrapper, LanguagePart& part) {
  const std::string key = within(part.key, wrapper.key), named = key + ".model_type";
  const std::string type = wrapper.fixed ? "" : word(config, named);
  if (type.empty())
    part.type = wrapper.text;
  else
    part.type = type, part.named_by = named;
  const bool absent = !config.has(key);
  if (!there(config, key) && (!absent || (wrapper.flat && !part.filled_in))) return;
  part.key = key, part.filled_in = absent;
}

// DeepSeek-OCR's own code has Llama's attention then (deepseek-ai/DeepSeek-OCR, modeling_deepseekv2.py), which is that of
// transformers' second version of the model.
bool says_no_mla(const Config& config, const std::string& part) {
  return config.flag(part.empty() ? "use_mla" : part + ".use_mla") == false;
}

}  // namespace

LanguagePart language_part(const Config& config) {
  const std::string outer = word(config, "model_type"), other = any_part(config);
  LanguagePart part{.key = "", .type = outer, .named_by = "model_type"};
  const Wrapper* around = find_wrapper(outer);
  if (!around)
    guess(config, other, outer, part);
  else if (!config.has(around->key) && !other.empty())
    guess(config, other, std::string(innermost(*std::exchange(around, nullptr))), part);
  while (const Wrapper* wrapper = find_wrapper(part.type)) enter(config, *(around = wrapper), part);
  const bool own = around && part.type == around->text && (part.filled_in || around->by_key);
  part.family = own ? family_within(*around)
                    : find_family(part.type, outer, config.kind("layer_types") != Config::Kind::absent);
  part.without_mla = part.family && part.family->mla.present() && says_no_mla(config, part.key);
  if (part.without_mla) part.family = find_family("deepseek_ocr2_text", {}, false);
  return part;
}

}  // namespace gnomon
