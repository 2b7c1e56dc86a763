#include <cmath>
#include <deque>

#include "gnomon/core/error.h"
#include "gnomon/core/text.h"
#include "gnomon/families/methods.h"
#include "gnomon/families/rope_readers.h"

namespace gnomon {
namespace {

constexpr std::string_view kLoad = "llama.cpp, load_hparams: ";
std::string rule(std::string_view what) { return std::string(kLoad) + std::string(what); }

// The settings of RoPE under their keys of GGUF, as a dictionary of transformers' words.
class GgufRope {
 public:
  GgufRope(FileReading& file, const Family& family, std::int64_t longest)
      : file_(file),
        arch_(std::string(file.text("general.architecture").value_or(""))),
        family_(family),
        longest_(longest) {}

  RopeReading read() {
    out_.rules.source = "llama.cpp";
    out_.rules.plain_forgets_part = false;
    out_.rules.truncate = true;
    RopeDict full(file_.config().where());
    theta(full, "rope.freq_base", 10000);
    width(full, "rope.dimension_count");
    scaling(full);
    RopeDict sliding(file_.config().where());
    sliding.set("rope_type", rope_word("default", "", "layers with a window are not scaled"));
    if (family_.rope.sliding_theta != 0) {
      theta(sliding, "rope.freq_base_swa", family_.rope.sliding_theta);
      width(sliding, "rope.dimension_count");
    } else {
      sliding = full;
      if (const auto x = file_.number(key("rope.freq_base_swa")))
        sliding.set("rope_theta",
                    rope_number(*x, key("rope.freq_base_swa"), rule("of layers with a window")));
    }
    out_.kinds.emplace_back("sliding_attention", std::move(sliding));
    out_.kinds.emplace_back("", std::move(full));
    return std::move(out_);
  }

 private:
  std::string key(std::string_view name) const { return text(arch_, ".", name); }

  void theta(RopeDict& dict, std::string_view name, double standard) {
    const auto x = file_.number(key(name));
    dict.set("rope_theta", x ? rope_number(*x, key(name), rule("the file's own"))
                             : rope_number(standard, "", rule("no key says it")));
  }
  void width(RopeDict& dict, std::string_view name) {
    if (const auto x = file_.whole(key(name)))
      dict.set("rotary_dim", rope_number(double(*x), key(name), rule("the file's own")));
  }

  void scaling(RopeDict& dict) {
    std::string type = file_.text(key("rope.scaling.type")).value_or("linear");
    const std::string type_key = file_.has(key("rope.scaling.type")) ? key("rope.scaling.type") : "";
    const std::string_view factor_name =
        file_.has(key("rope.scaling.factor")) ? "rope.scaling.factor" : "rope.scale_linear";
    const double factor = file_.number(key(factor_name)).value_or(0);
    if (factor != 0) dict.set("factor", rope_number(factor, key(factor_name), rule("the file's own")));
    original(dict), temperature(dict);
    if (file_.has("rope_freqs.weight")) return freqs(dict);
    if (file_.has("rope_factors_long.weight") && file_.has("rope_factors_short.weight"))
      return longrope(dict);
    if (type == "none" || (type == "linear" && (factor == 0 || factor == 1))) type = "default";
    dict.set("rope_type", rope_word(type, type_key,
                                    type_key.empty() ? rule("no key says it: linear, by a factor of 1")
                                                     : rule("the file's own")));
    if (type == "yarn") yarn(dict, factor);
  }
  void temperature(RopeDict& dict) {
    if (const auto x = file_.number(key("attention.temperature_scale")))
      dict.set("llama_4_scaling_beta",
               rope_number(*x, key("attention.temperature_scale"), rule("the file's own")));
  }
  void original(RopeDict& dict) {
    const auto x = file_.number(key("rope.scaling.original_context_length"));
    dict.set("original_max_position_embeddings",
             x ? rope_number(*x, key("rope.scaling.original_context_length"), rule("the file's own"))
               : rope_number(double(longest_), key("context_length"),
                             rule("no key says it: the length of training")));
  }
  // The factor of cos and sin comes from the factor, or from the logarithm's multiplier (llama-context.cpp).
  void yarn(RopeDict& dict, double factor) {
    for (const auto& [from, to] : {std::pair{"rope.scaling.yarn_beta_fast", "beta_fast"},
                                   {"rope.scaling.yarn_beta_slow", "beta_slow"}})
      if (const auto x = file_.number(key(from)); x && *x > 0)
        dict.set(to, rope_number(*x, key(from), rule("the file's own")));
    const double multiplier = file_.number(key("rope.scaling.yarn_log_multiplier")).value_or(0);
    const double own = file_.number(key("rope.scaling.attn_factor")).value_or(1);
    const auto m = [&](double x) { return factor <= 1 ? 1 : 0.1 * x * std::log(factor) + 1; };
    if (multiplier != 0) {
      const double over = arch_ == "deepseek2" ? multiplier : 1;
      dict.set("attention_factor",
               rope_number(own * m(over) / m(multiplier), key("rope.scaling.yarn_log_multiplier"),
                           "llama.cpp, llama-context.cpp: the ratio of two of YaRN's factors"));
      dict.set("mscale_all_dim",
               rope_number(multiplier, key("rope.scaling.yarn_log_multiplier"), rule("the file's own")));
    } else if (own != 1) {
      dict.set("attention_factor",
               rope_number(own * m(1), key("rope.scaling.attn_factor"), "llama.cpp: times YaRN's own"));
    }
  }
  // Llama 3's scaling is a tensor of divisors.
  void freqs(RopeDict& dict) {
    dict.set("rope_type",
             rope_word("longrope", "rope_freqs.weight", "llama.cpp: each pair divided by this tensor"));
    const RopeValue list{"rope_freqs.weight", "llama.cpp: each pair divided by this tensor",
                         *file_.numbers("rope_freqs.weight"), "a tensor"};
    dict.set("short_factor", list), dict.set("long_factor", list);
    dict.set("attention_factor", rope_number(1, "", "llama.cpp: cos and sin as they are"));
  }
  void longrope(RopeDict& dict) {
    const std::string source =
        "llama.cpp, get_rope_factors: long where the context that is made room for is longer than original";
    dict.set("rope_type", rope_word("longrope", "rope_factors_long.weight", source));
    dict.set("short_factor",
             {"rope_factors_short.weight", source, *file_.numbers("rope_factors_short.weight"), "a tensor"});
    dict.set("long_factor",
             {"rope_factors_long.weight", source, *file_.numbers("rope_factors_long.weight"), "a tensor"});
    const auto a = file_.number(key("rope.scaling.attn_factor"));
    dict.set("attention_factor", a ? rope_number(*a, key("rope.scaling.attn_factor"), rule("the file's own"))
                                   : rope_number(1, "", rule("no key says it")));
    out_.remarks.push_back({"rope_factors_long.weight",
                            "llama.cpp chooses by the context that it makes room for, not by how "
                            "long it is by now"});
  }

  FileReading& file_;
  const std::string arch_;
  const Family& family_;
  const std::int64_t longest_;
  RopeReading out_;
};

// The row of the family with the words of GGUF; `words` keeps them.
Family translated(const Family& row, FileReading& file, const std::string& arch,
                  std::deque<std::string>& words) {
  const auto word = [&](std::string_view name) -> std::string_view {
    return words.emplace_back(text(arch, ".", name));
  };
  Family own = row;
  own.sizes = {};
  own.keys = {.width = word("embedding_length"),
              .layers = word("block_count"),
              .heads = word("attention.head_count"),
              .kv_heads = word("attention.head_count_kv"),
              .head_dim = word("attention.key_length"),
              .longest = word("context_length")};
  // MLA's keys are stored compressed; this one is the size of those that attention sees.
  if (row.mla.rope && file.has(text(arch, ".attention.key_length_mla")))
    own.keys.head_dim = word("attention.key_length_mla");
  own.two_sided_key = {};
  own.windows.key = word("attention.sliding_window"),
  own.windows.every_key = word("attention.sliding_window_pattern");
  own.windows.standard = 0, own.windows.use_key = {}, own.windows.typed = true;
  if (own.windows.which != WindowRule::Which::all_but) own.windows.which = WindowRule::Which::none;
  own.full = {}, own.table_padded = false, own.table_offset = 0;
  own.mla.pairing_key = {}, own.mla.indexer_dim = 0;
  own.rope.pairing = row.rope.gguf_pairing;
  if (own.method == Method::falcon) own.method = Method::rotary;
  return own;
}

// 1/√head_dim unless a key, or llama.cpp's own code for the family, says otherwise.
void set_scale(FileReading& file, const Family& row, const std::string& arch, Resolved& answer) {
  const auto own = file.number(text(arch, ".attention.scale"));
  for (LayerPosition& layer : answer.layers) {
    if (own && *own != 0) layer.scale = *own;
    if (!own && row.scale == AttentionScale::one) layer.scale = 1;
    if (layer.scale != 0)
      layer.because.push_back(
          {"scale", shortest(layer.scale), own ? text(arch, ".attention.scale") : "", "of q·k"});
  }
}

}  // namespace

RopeReading read_rope_gguf(FileReading& file, const Family& family, std::int64_t longest) {
  return GgufRope(file, family, longest).read();
}

Resolved resolve_gguf(const Config& config) {
  FileReading file(config, "");
  const auto arch = file.text("general.architecture");
  if (!arch) throw Error(Fault::input, text(config.where(), ": there is no general.architecture"));
  const Family* row = find_gguf_family(*arch);
  Resolved answer;
  answer.reader = Reader::llama_cpp;
  answer.known = row != nullptr;
  answer.family = row ? std::string(row->name) : *arch;
  Family generic;
  generic.method = Method::rotary;
  if (!row) {
    row = &generic;
    answer.remarks.push_back(
        {"general.architecture",
         text("'", *arch,
              "' is not a family that gnomon knows: which channels form a pair is a guess, for "
              "llama.cpp fixes it by this name")});
  }
  std::deque<std::string> words;
  const Family family = translated(*row, file, *arch, words);
  answer.causal = file.flag(text(*arch, ".attention.causal")).value_or(row->causal);
  answer.because.push_back({"family", answer.family, "general.architecture", "the name of the architecture"});
  Family for_sizes = family;
  for_sizes.mla = {};
  Sizes sizes = read_sizes(file, for_sizes, answer.because);
  answer.width = sizes.width, answer.longest = sizes.longest, answer.trained_length = sizes.longest;
  answer.input = Spec::parse("add(none, scale=off)");
  Family plain = family;
  plain.scale = AttentionScale::root;
  const Resolving task{file, plain, sizes, answer};
  switch (family.method) {
    case Method::table:
      resolve_table(task);
      break;
    case Method::rotary:
      resolve_rotary(task);
      break;
    case Method::alibi:
      resolve_alibi(task);
      break;
    default:
      throw Error(Fault::input,
                  text(config.where(), ": gnomon does not read GGUF files of the architecture ", *arch));
  }
  set_scale(file, *row, *arch, answer);
  for (std::size_t l = 0; l < answer.layers.size(); ++l)
    if (l == 0 || !answer.layers[l].same(answer.layers[l - 1])) check_layer(config, answer.layers[l]);
  return answer;
}

}  // namespace gnomon
