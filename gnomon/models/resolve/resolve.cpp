#include <algorithm>
#include <array>
#include <cmath>

#include "gnomon/core/error.h"
#include "gnomon/core/text.h"
#include "gnomon/models/resolve/layer_overrides.h"
#include "gnomon/models/resolve/methods.h"
#include "gnomon/models/resolve/numbers.h"
#include "gnomon/models/resolve/refusals.h"
#include "gnomon/models/resolve/sizes.h"
#include "gnomon/models/resolve/stacks.h"
#include "gnomon/models/resolve/towers.h"
#include "gnomon/models/resolve/unread.h"
#include "gnomon/models/resolve/wrappers.h"

namespace gnomon {
namespace {

constexpr std::string_view kOwnCode = "family-has-its-own-code";

// What is found in a file of a family that is not in the list: the keys that other families use for the same.
Family guessed(const Config& config, const std::string& part) {
  const auto first = [&](std::initializer_list<std::string_view> names) {
    for (const std::string_view name : names)
      if (config.has(part.empty() ? std::string(name) : text(part, ".", name))) return name;
    return *names.begin();
  };
  Family family;
  family.name = "unknown";
  family.keys = {.width = first({"hidden_size", "n_embd", "d_model", "n_embed", "dim"}),
                 .layers = first({"num_hidden_layers", "n_layer", "num_layers", "n_layers"}),
                 .heads = first({"num_attention_heads", "n_head", "num_heads", "n_heads"}),
                 .kv_heads = first({"num_key_value_heads", "num_kv_heads", "n_kv_heads"}),
                 .head_dim = first({"head_dim", "d_kv"}),
                 .longest = first({"max_position_embeddings", "n_positions", "max_seq_len", "n_ctx"})};
  const std::string_view rotary = first({"rope_theta", "rotary_emb_base", "rope_parameters", "rope_scaling",
                                         "rotary_dim", "rotary_pct", "partial_rotary_factor"});
  const bool turns = config.has(part.empty() ? std::string(rotary) : text(part, ".", rotary));
  const bool table = !turns && config.has(part.empty() ? std::string(family.keys.longest)
                                                       : text(part, ".", family.keys.longest));
  family.method = table ? Method::table : Method::rotary;
  if (!turns && !table) family.no_position = NoPosition::always;
  family.rope.theta_key = first({"rope_theta", "rotary_emb_base"});
  family.rope.partial_key = first({"partial_rotary_factor", "rotary_pct"});
  family.rope.plain_partial = true, family.rope.width_by_sections = true;
  return family;
}

}  // namespace

namespace {

void check_layer(const Config& config, const LayerPosition& layer) {
  try {
    numbers_of(layer, 1);
  } catch (const Error& error) {
    if (error.fault() != Fault::usage) throw;
    throw Error(Fault::input, text(config.where(), ": the settings give ", layer.spec.print(),
                                   ", which is invalid: ", error.what()));
  }
}

// What one file may ask to be computed: layers that differ, and the channels and heads of those together.
constexpr std::size_t kMostKinds = 512;
constexpr std::int64_t kMostChannels = 1 << 18;

}  // namespace

void check_layers(const Config& config, const std::vector<LayerPosition>& layers) {
  const auto kinds = different_layers(layers, kMostKinds);
  if (kinds.size() > kMostKinds)
    throw Error(Fault::input, text(config.where(), ": more than ", kMostKinds,
                                   " different layers; allowed are at most ", kMostKinds));
  std::int64_t channels = 0;
  for (const LayerPosition* kind : kinds) channels += kind->head_dim + kind->heads;
  if (channels > kMostChannels)
    throw Error(Fault::input, text(config.where(), ": the different layers have ", channels,
                                   " channels and heads together; allowed are at most ", kMostChannels));
  for (const LayerPosition* kind : kinds) check_layer(config, *kind);
}

Spec words_alone() {
  Spec spec;
  spec.combination = completed({"add", {{"scale", "off"}}});
  return spec;
}
Spec learned_table(std::int64_t rows) {
  Spec spec = words_alone();
  spec.input = completed({"learned", {{"length", rows}}});
  return spec;
}

LayerPosition make_layer(const Resolving& task, const LayerKind& kind, const std::vector<SpecPart>& parts) {
  LayerPosition layer;
  layer.heads = kind.heads ? kind.heads : task.sizes.heads;
  layer.kv_heads = kind.kv_heads ? kind.kv_heads : task.sizes.kv_heads;
  layer.head_dim = kind.head_dim ? kind.head_dim : task.sizes.head_dim;
  layer.causal = task.answer.causal || kind.chunk != 0;  // chunks are, whatever is_causal says
  layer.because = kind.because;
  std::vector<Named> said;
  for (const SpecPart& part : parts) {
    said.push_back(part.encoding);
    layer.because.insert(layer.because.end(), part.because.begin(), part.because.end());
  }
  if (kind.window) said.push_back({"window", {{"size", kind.window}}});
  if (kind.window && kind.after) said.back().options.emplace_back("after", kind.after);
  if (kind.chunk) said.push_back({"chunk", {{"size", kind.chunk}}});
  try {
    layer.spec = words_alone();
    for (const Named& named : said) layer.spec.attention.push_back(completed(named));
  } catch (const Error& error) {
    std::string spec = "add(none, scale=off)";
    for (const Named& named : said) spec += "+" + named.print_given();
    throw Error(Fault::input, text(task.file.config().where(), ": the settings give ", spec,
                                   ", which is invalid: ", error.what()));
  }
  return layer;
}

double attention_scale(const Resolving& task, std::int64_t number, LayerPosition& layer) {
  FileReading& file = task.file;
  const auto say = [&](double x, std::string key, std::string rule) {
    layer.because.push_back({"scale", shortest(x), std::move(key), std::move(rule)});
    return x;
  };
  const double root = 1 / std::sqrt(double(layer.head_dim));
  switch (task.family.scale) {
    case AttentionScale::root:
      break;
    case AttentionScale::half_head:
      return say(1 / std::sqrt(double(layer.head_dim) / 2), "", "1/sqrt(head_dim / 2): fixed by the class");
    case AttentionScale::by_head:
      return say(1 / double(layer.head_dim), "", "1/head_dim: this family normalises q and k");
    case AttentionScale::one:
      return say(1, "", "this family does not scale q·k");
    case AttentionScale::by_scalar:
      if (const auto x = file.number("query_pre_attn_scalar"); x && *x > 0)
        return say(1 / std::sqrt(*x), file.at("query_pre_attn_scalar"), "1/sqrt of it");
      if (task.family.scale_standard == 0) break;
      return say(1 / std::sqrt(task.family.scale_standard), "",
                 text("no key sets it: 1/sqrt of query_pre_attn_scalar of the class, ",
                      shortest(task.family.scale_standard)));
    case AttentionScale::multiplier:
      if (const auto x = file.number("attention_multiplier"))
        return say(*x, file.at("attention_multiplier"), "from the file");
      if (task.family.scale_standard == 0) break;
      return say(task.family.scale_standard, "", "no key sets it: attention_multiplier of the class");
    case AttentionScale::mpt:
      if (const auto x = file.number("attn_config.softmax_scale")) {
        if (*x == 0) file.wrong("attn_config.softmax_scale", "a number other than 0");
        return say(*x, file.at("attn_config.softmax_scale"), "from the file");
      }
      break;
    case AttentionScale::weights:
    case AttentionScale::gpt2: {
      const bool rooted = file.flag("scale_attn_weights").value_or(true);
      const bool by_layer = task.family.scale == AttentionScale::gpt2 &&
                            file.flag("scale_attn_by_inverse_layer_idx").value_or(false);
      if (!rooted && !by_layer) return say(1, file.at("scale_attn_weights"), "q·k is not scaled");
      if (by_layer)
        return say((rooted ? root : 1) / double(number + 1), file.at("scale_attn_by_inverse_layer_idx"),
                   "divided by the layer's number");
      break;
    }
  }
  layer.because.push_back({"scale", shortest(root), "", "1/sqrt(head_dim)"});
  return 0;
}

namespace {

// Heads of queries share those of keys in equal groups. Latent attention makes keys for all heads, and transformers repeats them as
// often as the heads of keys go into those of queries.
void remark_groups(FileReading& file, const Family& family, Resolved& answer) {
  if (family.keys.kv_heads.empty()) return;
  const bool latent = family.mla.present();
  for (const LayerPosition& layer : answer.layers) {
    if (!layer.mixer.empty()) continue;
    const bool shares = latent ? layer.heads / layer.kv_heads <= 1 : layer.heads % layer.kv_heads == 0;
    if (shares || layer.component == "indexer") continue;
    answer.remarks.push_back(
        {file.at(family.keys.kv_heads),
         text("layer ", layer.number, " has ", counted(std::size_t(layer.kv_heads), "KV head"), " for ",
              counted(std::size_t(layer.heads), "query head"),
              latent ? ", and this class repeats keys that it already has for every head"
                     : ", which is not a multiple",
              ": transformers 5.23 raises an error when the model runs"),
         "key-heads-not-shared",
         {},
         true});
    return;
  }
}

// Where the mask that a model makes says one thing, and the arguments of a flash kernel another.
void remark_kernels(FileReading& file, const Family& family, std::vector<Remark>& remarks) {
  if (family.two_sided_by_kernel && says_two_sided(file, family))
    remarks.push_back({file.at(family.two_sided_key),
                       "transformers 5.23 passes it only to the attention kernel and keeps the mask causal: "
                       "eager attention sees no later keys, a flash kernel may",
                       "mask-depends-on-kernel"});
  const WindowRule& windows = family.windows;
  if (windows.which != WindowRule::Which::without_position || !file.has("layer_types") ||
      !file.has(windows.key) || file.flag(windows.use_key).value_or(false))
    return;
  const auto types = *file.texts("layer_types");
  if (std::find(types.begin(), types.end(), "sliding_attention") != types.end())
    remarks.push_back({file.at(windows.use_key),
                       "not true, so a flash kernel gets no window. The mask follows layer_types: eager "
                       "attention sees only keys within the window",
                       "mask-depends-on-kernel"});
}

// One remark of the head is enough.
void remark_refusals(const Config& config, std::vector<Remark>& remarks) {
  const bool head = std::any_of(remarks.begin(), remarks.end(),
                                [](const Remark& remark) { return remark.rule == "head-dim-null"; });
  for (Remark& remark : refusals(FileView(config)))
    if (!head || remark.rule != "head-dim-needed") remarks.push_back(std::move(remark));
}

Resolved of_tower(const Config& config, Reader reader) {
  if (reader != Reader::v5)
    throw Error(Fault::usage,
                text(config.where(), ": gnomon knows towers for images or sound as ",
                     reader_title(Reader::v5), " reads them, and not as ", reader_title(reader), " does"));
  Resolved answer = tower_alone(config);
  check_layers(config, answer.layers);
  return answer;
}

// Types whose layers read is_causal in vLLM 0.33: vllm/model_executor/models/llama.py (LlamaDecoderLayer, which mistral.py, phi3.py and
// ernie45.py share), qwen2.py (which qwen2_vl.py and qwen2_5_vl.py take), qwen3.py (and qwen3_vl.py), qwen3_next.py (and qwen3_5.py),
// gemma3.py, apertus.py, deepseek_v2.py (and glm4_moe_lite.py). All other classes there stay causal.
constexpr std::array<std::string_view, 21> kVllmReads{
    "llama",        "mistral",       "ministral3",  "phi3",          "ernie4_5",
    "internlm3",    "iquestcoder",   "qwen2",       "qwen2_vl_text", "qwen2_5_vl_text",
    "qwen3",        "qwen3_vl_text", "qwen3_next",  "qwen3_5_text",  "qwen3_5_moe_text",
    "gemma3_text",  "apertus",       "deepseek_v2", "deepseek_v3",   "kimi_k2",
    "glm4_moe_lite"};
// vLLM 0.24 has no such line in deepseek_v2.py, and one in seed_oss.py; its GLM and CWM are LlamaForCausalLM.
constexpr std::array<std::string_view, 4> kVllm33Alone{"deepseek_v2", "deepseek_v3", "kimi_k2",
                                                       "glm4_moe_lite"};
constexpr std::array<std::string_view, 3> kVllm24Alone{"glm", "cwm", "seed_oss"};

template <std::size_t N>
bool is_one_of(std::string_view type, const std::array<std::string_view, N>& types) {
  return std::find(types.begin(), types.end(), type) != types.end();
}
// transformers 5.23 does in every class (masking_utils.py, create_causal_mask). SGLang 0.5.23 does in the layers of Qwen 3.5 with full
// attention (python/sglang/srt/models/qwen3_5.py). mlx-lm 0.32 (mlx_lm/models/base.py, create_attention_mask) and TGI 3.3.7
// (server/text_generation_server/layers/attention) have no such key, nor has transformers 4.57.
bool reader_obeys_is_causal(Reader reader, std::string_view type) {
  switch (reader) {
    case Reader::v5:
      return true;
    case Reader::vllm:
      return is_one_of(type, kVllmReads);
    case Reader::vllm_24:
      return is_one_of(type, kVllm24Alone) || (is_one_of(type, kVllmReads) && !is_one_of(type, kVllm33Alone));
    case Reader::sglang:
      return type == "qwen3_5_text" || type == "qwen3_5_moe_text";
    default:
      return false;
  }
}

using Resolver = void (*)(const Resolving&);
Resolver resolver_of(const Family& family) {
  switch (family.method) {
    case Method::rotary:
      return resolve_rotary;
    case Method::table:
      return resolve_table;
    case Method::alibi:
      return resolve_alibi;
    case Method::falcon:
      return resolve_falcon;
    case Method::t5:
      return resolve_t5;
    case Method::xlnet:
      return resolve_xlnet;
    case Method::mpnet:
      return resolve_mpnet;
    case Method::table_t5:
      return resolve_table_t5;
    case Method::deberta:
    case Method::deberta2:
      return resolve_deberta;
    case Method::profile:
      return resolve_profile;
    case Method::baichuan:
      return resolve_baichuan;
    case Method::deepseek_v4:
      return resolve_deepseek_v4;
    case Method::recurrence:
      return resolve_recurrence;
  }
  throw Error(Fault::bug, "a method of position without a resolver");
}

bool divides_width(Reader reader) {
  return reader == Reader::v5 || reader == Reader::vllm || reader == Reader::vllm_24 ||
         reader == Reader::sglang;
}

// Of one stack of layers: `answer` has family, reader and what was said of the whole.
void fill_stack(FileReading& file, const Family& family, Resolved& answer) {
  answer.causal = !two_sided(file, family);
  const Sizes sizes = read_sizes(file, family, answer.because);
  if (family.width_by_heads && divides_width(answer.reader) && sizes.width % sizes.heads)
    file.wrong(width_key(family.keys, [&](std::string_view key) { return file.has(key); }),
               text("a multiple of the number of heads, ", sizes.heads));
  answer.width = sizes.width, answer.longest = sizes.longest, answer.trained_length = sizes.longest;
  answer.input = words_alone();
  if (family.method != Method::rotary && (answer.reader == Reader::mlx || answer.reader == Reader::tgi))
    file.wrong("model_type", text("a type whose class in ", reader_title(answer.reader), " gnomon knows"));
  resolver_of(family)({file, family, sizes, answer});
  for (LayerPosition& layer : answer.layers)
    if (!family.logits_note.empty())
      layer.because.push_back({"logits", "by content", "", std::string(family.logits_note)});
  if (!answer.known || answer.reader != Reader::v5) return;
  remark_groups(file, family, answer);
  remark_kernels(file, family, answer.remarks);
  remark_layer_overrides(file, family, sizes, answer.remarks);
}

// Of both stacks, the encoder first.
void fill_stacks(FileReading& file, const Family& family, Resolved& answer) {
  for (const Stack& stack : stacks_of(file, family)) {
    Resolved own;
    own.family = answer.family, own.known = answer.known, own.reader = answer.reader;
    if (stack.part.empty()) {
      fill_stack(file, stack.row, own);
    } else {
      FileReading object(file.config(), stack.part);
      fill_stack(object, stack.row, own);
      remark_unread(object, stack.row, own);
    }
    join(file, answer, own, stack.component);
  }
}

}  // namespace

Resolved resolve(const Config& config) {
  return resolve(config, config.gguf() ? Reader::llama_cpp : Reader::v5);
}

Resolved resolve(const Config& config, Reader reader) {
  if (config.gguf() != (reader == Reader::llama_cpp)) {
    throw Error(Fault::usage,
                text(config.where(), ": the reader ", reader_names()[std::size_t(reader)], " reads ",
                     reader == Reader::llama_cpp
                         ? "a .gguf file, not a config.json: convert the model, then compare the two with "
                           "`gnomon explain CONFIG MODEL.gguf`"
                         : "a config.json, not a .gguf file"));
  }
  if (config.gguf()) return resolve_gguf(config);
  config.text("model_type");  // refuses what is no text
  const LanguagePart language = language_part(config);
  if (!language.family && language.key.empty() && find_tower(language.type)) return of_tower(config, reader);
  const std::string &part = language.key, &type = language.type;
  FileReading file(config, part);
  file.text("model_type");
  Resolved answer;
  answer.reader = reader;
  const Family* family = language.family;
  const bool jina =
      family && family->name == "bert" && file.text("position_embedding_type").value_or("") == "alibi";
  if (jina) family = find_family("jina_bert");  // the type that its own code goes by
  const Family guess = family ? Family{} : guessed(config, part);
  answer.known = family != nullptr;
  answer.family = family ? std::string(family->name) : type.empty() ? "unknown" : type;
  if (!part.empty())
    answer.because.push_back({"part", part, language.filled_in ? "" : part,
                              language.filled_in ? "the file has no such object: that of the class"
                                                 : "the language part of a multimodal model"});
  answer.because.push_back({"family", answer.family, language.named_by,
                            family ? "model_type" : "not a known family: explained from its keys alone"});
  if (!family) {
    answer.remarks.push_back({"model_type",
                              text("gnomon does not know the family '", type,
                                   "': this is a guess from keys that other families have"),
                              "family-unknown"});
    family = &guess;
  }
  if (jina) {
    answer.remarks.push_back({file.at("position_embedding_type"),
                              "transformers 5.23 ignores it and adds a learned table; shown here is what the "
                              "model's own code computes",
                              kOwnCode});
  } else if (language.without_mla) {
    answer.remarks.push_back({file.at("use_mla"),
                              "false: transformers 5.23 ignores it; shown here is what the model's own code "
                              "computes, which turns whole heads as Llama does",
                              kOwnCode});
  } else if (std::find(family->own_code.begin(), family->own_code.end(), type) != family->own_code.end()) {
    answer.remarks.push_back(
        {language.named_by,
         "transformers 5.23 has no class of this name; shown here is what the model's own code computes",
         kOwnCode});
  }
  Family without_mask;
  if (reader_obeys_is_causal(reader, type) && unmasked(file, *family)) {
    without_mask = unmasked_row(file, *family), family = &without_mask;
    answer.because.push_back({"causal", "off", file.at("is_causal"), "the mask hides no token"});
    answer.remarks.push_back(
        {file.at("is_causal"),
         "not true: transformers 5.23 masks no token, and 4.57 reads no such key and stays causal",
         "mask-by-version"});
  }
  try {
    if (family->decoder.present()) {
      fill_stacks(file, *family, answer);
    } else {
      fill_stack(file, *family, answer);
    }
  } catch (const WrongValue& error) {
    if (answer.known) throw;
    throw WrongValue(error.key(), text(error.what(), " (gnomon does not know the family '", type,
                                       "' and guesses from keys that others have)"));
  }
  if (answer.known && reader == Reader::v5) remark_refusals(config, answer.remarks);
  if (reader == Reader::v5) answer.towers = resolve_towers(config);
  if (reader != Reader::v5)  // which may read on where transformers 5.23 stops
    for (Remark& remark : answer.remarks) remark.refused = false;
  remark_unread(file, *family, answer);
  check_layers(config, answer.layers);
  return answer;
}

}  // namespace gnomon
