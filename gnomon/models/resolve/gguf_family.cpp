#include <algorithm>
#include <cmath>
#include <deque>

#include "gnomon/core/error.h"
#include "gnomon/core/text.h"
#include "gnomon/models/resolve/gguf_architectures.h"
#include "gnomon/models/resolve/methods.h"
#include "gnomon/models/resolve/rope_readers.h"

namespace gnomon {
namespace {

constexpr std::string_view kLoad = "llama.cpp, load_hparams: ";
std::string rule(std::string_view what) { return std::string(kLoad) + std::string(what); }

GgufArchitecture architecture_of_gguf(std::string_view name) {
  const GgufArchitecture* found = find_gguf_architecture(name);
  return found ? *found : GgufArchitecture{};
}

// The settings of RoPE under their keys of GGUF, as a dictionary of transformers' words.
class GgufRope {
 public:
  GgufRope(FileReading& file, std::int64_t longest)
      : file_(file),
        arch_(std::string(file.text("general.architecture").value_or(""))),
        fixed_(architecture_of_gguf(arch_)),
        longest_(longest) {}

  RopeReading read() {
    out_.rules.source = "llama.cpp";
    out_.rules.plain_forgets_part = false;
    out_.rules.truncate = true;
    RopeDict full(file_.config().where());
    theta(full, "rope.freq_base", 10000);
    width(full, "rope.dimension_count");
    RopeDict sliding = full;
    if (fixed_.half_of_full) half(full);
    scaling(full);
    if (fixed_.windows.rope == SlidingRope::as_full) scaling(sliding, !fixed_.divides_full);
    sliding_base(sliding);
    width(sliding, "rope.dimension_count_swa");
    if (fixed_.windows.rope != SlidingRope::as_full)
      sliding.set("rope_type", rope_word("default", "", "layers with a window are not scaled"));
    out_.kinds.emplace_back("sliding_attention", std::move(sliding));
    out_.kinds.emplace_back("", std::move(full));
    return std::move(out_);
  }

 private:
  std::string key(std::string_view name) const { return text(arch_, ".", name); }

  void theta(RopeDict& dict, std::string_view name, double standard) {
    const auto x = file_.number(key(name));
    dict.set("rope_theta", x ? rope_number(*x, key(name), rule("from the file"))
                             : rope_number(standard, "", rule("no key sets it")));
  }
  void width(RopeDict& dict, std::string_view name) {
    if (const auto x = file_.whole(key(name)))
      dict.set("rotary_dim", rope_number(double(*x), key(name), rule("from the file")));
  }

  void sliding_base(RopeDict& dict) {
    constexpr std::string_view name = "rope.freq_base_swa";
    if (fixed_.windows.rope == SlidingRope::own) return theta(dict, name, 10000);
    if (const auto x = file_.number(key(name)))
      dict.set("rope_theta", rope_number(*x, key(name), rule("for layers with a window")));
  }
  // Step 3.5 turns half of the channels that the key says where a layer sees everything.
  void half(RopeDict& dict) {
    if (const auto x = dict.number("rotary_dim"))
      dict.set("rotary_dim", rope_number(*x / 2, key("rope.dimension_count"), rule("half of it")));
  }
  // M-RoPE: so many pairs of each coordinate, and a zero for the fourth.
  void sections(RopeDict& dict) {
    auto list = file_.numbers(key("rope.dimension_sections"));
    if (!list) return;
    while (!list->empty() && list->back() == 0) list->pop_back();
    if (!list->empty())
      dict.set("mrope_section",
               {key("rope.dimension_sections"), rule("from the file"), std::move(*list), "a list"});
  }

  // `divided`: by rope_freqs.weight, where the file has it.
  void scaling(RopeDict& dict, bool divided = true) {
    sections(dict);
    std::string type = file_.text(key("rope.scaling.type")).value_or("linear");
    const std::string type_key = file_.has(key("rope.scaling.type")) ? key("rope.scaling.type") : "";
    const std::string_view factor_name =
        file_.has(key("rope.scaling.factor")) ? "rope.scaling.factor" : "rope.scale_linear";
    const double factor = file_.number(key(factor_name)).value_or(0);
    if (factor != 0) dict.set("factor", rope_number(factor, key(factor_name), rule("from the file")));
    original(dict), temperature(dict);
    if (divided && file_.has("rope_freqs.weight")) return freqs(dict);
    if (file_.has("rope_factors_long.weight") && file_.has("rope_factors_short.weight"))
      return longrope(dict);
    if (type == "none" || (type == "linear" && (factor == 0 || factor == 1))) type = "default";
    dict.set("rope_type", rope_word(type, type_key,
                                    type_key.empty() ? rule("no key sets it: linear with factor 1")
                                                     : rule("from the file")));
    if (type == "yarn") yarn(dict, factor);
  }
  void temperature(RopeDict& dict) {
    if (const auto x = file_.number(key("attention.temperature_scale")))
      dict.set("llama_4_scaling_beta",
               rope_number(*x, key("attention.temperature_scale"), rule("from the file")));
  }
  void original(RopeDict& dict) {
    const auto x = file_.number(key("rope.scaling.original_context_length"));
    dict.set(
        "original_max_position_embeddings",
        x ? rope_number(*x, key("rope.scaling.original_context_length"), rule("from the file"))
          : rope_number(double(longest_), key("context_length"), rule("no key sets it: the trained length")));
  }
  // The factor of cos and sin comes from the factor, or from the logarithm's multiplier (llama-context.cpp). Which of
  // the keys are read depends on the architecture.
  void yarn(RopeDict& dict, double factor) {
    for (const auto& [from, to] : {std::pair{"rope.scaling.yarn_beta_fast", "beta_fast"},
                                   {"rope.scaling.yarn_beta_slow", "beta_slow"}})
      if (const auto x = file_.number(key(from)); x && *x > 0 && read(fixed_.ramp_keys, from))
        dict.set(to, rope_number(*x, key(from), rule("from the file")));
    constexpr std::string_view name = "rope.scaling.yarn_log_multiplier";
    const double found = file_.number(key(name)).value_or(0);
    const double multiplier =
        found != 0 && read(fixed_.log_multiplier != 0, name) ? found / fixed_.log_multiplier : 0;
    const double own = file_.number(key("rope.scaling.attn_factor")).value_or(1);
    const auto m = [&](double x) { return factor <= 1 ? 1 : 0.1 * x * std::log(factor) + 1; };
    if (multiplier != 0) {
      const double over = arch_ == "deepseek2" ? multiplier : 1;
      dict.set("attention_factor",
               rope_number(own * m(over) / m(multiplier), key(name),
                           "llama.cpp, llama-context.cpp: the ratio of two YaRN factors"));
      dict.set("mscale_all_dim",
               rope_number(multiplier, key(name),
                           rule("from the file, divided by the unit of this architecture")));
    } else if (own != 1) {
      dict.set("attention_factor", rope_number(own * m(1), key("rope.scaling.attn_factor"),
                                               "llama.cpp: multiplied by YaRN's factor"));
    }
  }
  bool read(bool is, std::string_view name) {
    if (!is) out_.remarks.push_back({key(name), text("llama.cpp ignores it for the architecture ", arch_)});
    return is;
  }
  // Llama 3's scaling is a tensor of divisors; so are Gemma 4's pairs that do not turn.
  void freqs(RopeDict& dict) {
    const std::string name = "rope_freqs.weight", by = "llama.cpp: each pair divided by this tensor";
    const std::vector<double> divisors = *file_.numbers(name);
    if (const std::size_t turning = pairs_before_infinity(divisors); turning) {
      const double pairs = double(divisors.size());
      double share = double(turning) / pairs;
      while (std::int64_t(share * pairs) < std::int64_t(turning)) share = std::nextafter(share, 1);
      dict.set(
          "rope_type",
          rope_word("proportional", name,
                    by + "; the divisors of the last pairs are so large that these pairs do not rotate"));
      return dict.set("partial_rotary_factor", rope_number(share, name, "the share of pairs that rotate"));
    }
    dict.set("rope_type", rope_word("longrope", name, by));
    const RopeValue list{name, by, divisors, "a tensor"};
    dict.set("short_factor", list), dict.set("long_factor", list);
    dict.set("attention_factor", rope_number(1, "", "llama.cpp: cos and sin are not multiplied"));
  }
  // Of divisors that are 1, and from some pair on endless (1e30, as its converter writes): how many are 1. 0: of others.
  static std::size_t pairs_before_infinity(const std::vector<double>& divisors) {
    constexpr double endless = 1e20;
    const auto first = std::find_if(divisors.begin(), divisors.end(), [](double x) { return x != 1; });
    const bool rest =
        first != divisors.end() && std::all_of(first, divisors.end(), [](double x) { return x >= endless; });
    return rest ? std::size_t(first - divisors.begin()) : 0;
  }
  void longrope(RopeDict& dict) {
    const std::string source =
        "llama.cpp, get_rope_factors: the long list if the allocated context is longer than original";
    dict.set("rope_type", rope_word("longrope", "rope_factors_long.weight", source));
    dict.set("short_factor",
             {"rope_factors_short.weight", source, *file_.numbers("rope_factors_short.weight"), "a tensor"});
    dict.set("long_factor",
             {"rope_factors_long.weight", source, *file_.numbers("rope_factors_long.weight"), "a tensor"});
    const auto a = file_.number(key("rope.scaling.attn_factor"));
    dict.set("attention_factor", a ? rope_number(*a, key("rope.scaling.attn_factor"), rule("from the file"))
                                   : rope_number(1, "", rule("no key sets it")));
    out_.remarks.push_back({"rope_factors_long.weight",
                            "llama.cpp chooses by the allocated context, not by its current length"});
  }

  FileReading& file_;
  const std::string arch_;
  const GgufArchitecture fixed_;
  const std::int64_t longest_;
  RopeReading out_;
};

constexpr std::int64_t kMostHead = 65536;

// Which layers have a window, by the rules of the architecture.
WindowRule windows_of(FileReading& file, const GgufArchitecture& fixed, const std::string& arch,
                      const WindowRule& row, std::deque<std::string>& words) {
  WindowRule out{.chunk = row.chunk};
  const auto& window = words.emplace_back(text(arch, ".attention.sliding_window"));
  const GgufWindows& own = fixed.windows;
  const bool any =
      own.every != 0 || (own.listed && file.has(text(arch, ".attention.sliding_window_pattern")));
  const bool these = own.layers == 0 || file.whole(text(arch, ".block_count")) == own.layers;
  out.key = {};
  if (!any || !these || file.whole(window).value_or(own.standard) == 0) return out;
  out.which = WindowRule::Which::all_but;
  out.every = own.every, out.full_at = own.full_first ? 0 : 1;
  out.every_key = words.emplace_back(text(arch, ".attention.sliding_window_pattern"));
  out.key = window, out.standard = own.standard;
  if (own.symmetric) out.divisor = 2, out.more = 1;
  return out;
}

// The pairs of channels, and the sections of M-RoPE.
void set_pairs(FileReading& file, const GgufArchitecture& fixed, const std::string& arch, RopeFacts& rope) {
  const bool said = fixed.sections_if_said && file.has(text(arch, ".rope.dimension_sections"));
  rope.pairing = fixed.pairs == GgufPairs::adjacent && !said ? Pairing::adjacent : Pairing::halves;
  const bool sections =
      said || fixed.pairs == GgufPairs::sections || fixed.pairs == GgufPairs::sections_in_turn;
  rope.interleaved = fixed.pairs == GgufPairs::sections_in_turn;
  if (!sections) rope.sections = {};
  if (sections && rope.sections.empty() && file.has(text(arch, ".rope.dimension_sections")))
    rope.sections = "said";
}

// Layers with a window have a head of their own, where the file says so.
void set_heads(FileReading& file, const std::string& arch, Family& own, std::deque<std::string>& words) {
  const std::string name = text(arch, ".attention.key_length_swa");
  if (!file.has(name) || own.windows.which == WindowRule::Which::none) return;
  own.full.head_dim_key = own.keys.head_dim;
  const auto width = file.whole(own.keys.width, 1, 1 << 24), heads = file.whole(own.keys.heads, 1, kMostHead);
  own.full.head_dim =
      file.whole(own.keys.head_dim, 1, kMostHead).value_or(width && heads ? *width / *heads : 0);
  if (own.full.head_dim) own.keys.head_dim = words.emplace_back(name);
}

// The row of the family with the words of GGUF; `words` keeps them.
Family translated(const Family& row, FileReading& file, const std::string& arch,
                  std::deque<std::string>& words) {
  const GgufArchitecture fixed = architecture_of_gguf(arch);
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
  own.windows = windows_of(file, fixed, arch, row.windows, words);
  own.full = {}, own.table_padded = false, own.table_offset = 0;
  set_heads(file, arch, own, words);
  // Llama 4 without its chunks turns in all layers, and q does not grow.
  if (row.windows.chunk && file.whole(text(arch, ".attention.sliding_window")) == 0)
    own.windows.chunk = 0, own.no_position = NoPosition::never, own.temperature = Temperature::none;
  own.mla.pairing_key = {}, own.mla.indexer_dim = 0;
  set_pairs(file, fixed, arch, own.rope);
  if (own.method == Method::falcon) own.method = Method::rotary;
  return own;
}

// 1/√head_dim unless a key, or llama.cpp's own code for the family, says otherwise.
void set_scale(FileReading& file, const Family& row, const std::string& arch, Resolved& answer) {
  const auto own = file.number(text(arch, ".attention.scale"));
  const std::int64_t rooted = architecture_of_gguf(arch).root_of_width;
  const bool by_width = rooted && file.whole(text(arch, ".block_count")) == rooted;
  for (LayerPosition& layer : answer.layers) {
    if (own && *own != 0) layer.scale = *own;
    if (!own && row.scale == AttentionScale::one) layer.scale = 1;
    if (!own && by_width) layer.scale = 1 / std::sqrt(double(answer.width / layer.heads));
    if (layer.scale != 0)
      layer.because.push_back({"scale", shortest(layer.scale), own ? text(arch, ".attention.scale") : "",
                               by_width && !own
                                   ? "1/sqrt(width / heads), in models with this number of layers"
                                   : "scale of q·k"});
  }
}

// Heads of each layer, where the file lists them. Layers without keys have no attention.
class HeadLists {
 public:
  HeadLists(const Config& config, const std::string& arch, std::size_t layers)
      : config_(config), layers_(layers) {
    for (auto* list : {&heads_, &kv_}) {
      list->key = text(arch, list == &heads_ ? ".attention.head_count" : ".attention.head_count_kv");
      if (config.kind(list->key) == Config::Kind::list) read(*list);
    }
  }
  // The file with a number in place of each list: of the first layer, or the most, where that has none.
  Config without() const {
    Config out = config_;
    for (const List* list : {&heads_, &kv_})
      if (!list->numbers.empty())
        out = out.with_number(list->key, list->numbers.front()
                                             ? list->numbers.front()
                                             : *std::max_element(list->numbers.begin(), list->numbers.end()));
    return out;
  }
  void fill(Resolved& answer) const {
    for (LayerPosition& layer : answer.layers) {
      const auto of = [&](const List& list, std::string_view what, std::int64_t& to) {
        if (list.numbers.empty()) return;
        to = list.numbers.at(std::size_t(layer.number));
        layer.because.push_back({std::string(what), text(to), list.key, "one for each layer"});
      };
      of(heads_, "heads", layer.heads);
      of(kv_, "kv_heads", layer.kv_heads);
      if (kv_.numbers.empty() && !heads_.numbers.empty())
        layer.kv_heads = std::min(layer.kv_heads, layer.heads);
    }
  }

 private:
  struct List {
    std::string key;
    std::vector<std::int64_t> numbers;
  };
  void read(List& list) {
    list.numbers = *config_.wholes(list.key);
    const auto wrong = [&] {
      throw WrongValue(list.key, text(config_.where(), ": ", list.key, " is ", config_.printed(list.key),
                                      "; allowed is one number from 0 to ", kMostHead, " for each of ",
                                      layers_, " layers"));
    };
    if (list.numbers.size() != layers_) wrong();
    for (const std::int64_t x : list.numbers)
      if (x < 0 || x > kMostHead) wrong();
  }
  const Config& config_;
  const std::size_t layers_;
  List heads_, kv_;
};

// Layers that have no attention: recurrent ones, and those of no heads. They are no layers of the answer.
void drop_layers_without_attention(FileReading& file, const std::string& arch, Resolved& answer) {
  const std::int64_t standard = architecture_of_gguf(arch).attention_every;
  const std::string interval = text(arch, ".full_attention_interval"),
                    list = text(arch, ".attention.recurrent_layers");
  const std::int64_t every = standard ? file.whole(interval, 1, 4096).value_or(standard) : 0;
  std::vector<bool> recurrent;
  if (standard && file.kind(list) == Config::Kind::list) recurrent = *file.flags(list);
  std::vector<std::int64_t> dropped;
  std::erase_if(answer.layers, [&](const LayerPosition& layer) {
    const auto l = std::size_t(layer.number);
    const bool by_rule =
        recurrent.empty() ? every && (layer.number + 1) % every != 0 : l < recurrent.size() && recurrent[l];
    const bool none = by_rule || layer.heads == 0 || layer.kv_heads == 0;
    if (none) dropped.push_back(layer.number);
    return none;
  });
  if (answer.layers.empty())
    throw Error(Fault::input, text(file.config().where(), ": no layer has attention"));
  if (!dropped.empty())
    answer.remarks.push_back(
        {recurrent.empty() ? every ? interval : text(arch, ".attention.head_count_kv") : list,
         text(dropped.size(), dropped.size() == 1 ? " layer has" : " layers have",
              " no attention; the first is layer ", dropped.front())});
}

// What value vectors are wide, where it is another width than that of keys.
void set_values(FileReading& file, const Family& family, const std::string& arch, Resolved& answer) {
  if (family.mla.rope) return;
  const std::string full = text(arch, ".attention.value_length"), sliding = full + "_swa";
  const auto all = file.whole(full, 1, kMostHead), windowed = file.whole(sliding, 1, kMostHead);
  for (LayerPosition& layer : answer.layers) {
    const bool slides = windowed && std::any_of(layer.spec.attention.begin(), layer.spec.attention.end(),
                                                [](const Named& n) { return n.name == "window"; });
    const auto own = slides ? windowed : all;
    if (!own || *own == layer.head_dim) continue;
    layer.value_dim = *own;
    layer.because.push_back({"value_dim", text(*own), slides ? sliding : full, "channels of a value"});
  }
}

// What gnomon makes of an architecture that no row of families.cpp has.
Family unlisted(const Config& config, const std::string& arch, Resolved& answer) {
  const GgufArchitecture* fixed = find_gguf_architecture(arch);
  if (fixed && fixed->pairs == GgufPairs::none)
    throw WrongValue("general.architecture",
                     text(config.where(), ": general.architecture is ", arch,
                          ". It has no rotation in llama.cpp, and gnomon does not read such files"));
  Family generic;
  generic.method = Method::rotary;
  if (fixed) generic.no_position = fixed->no_position;
  answer.remarks.push_back(
      {"general.architecture",
       fixed ? text("gnomon does not know the family '", arch,
                    "': pairs and windows are as llama.cpp fixes them for this name, the rest comes from the "
                    "keys")
             : text("gnomon does not know the family '", arch,
                    "': the pairing of channels is a guess, because llama.cpp fixes it by this name")});
  return generic;
}

void fill(const Resolving& task) {
  switch (task.family.method) {
    case Method::table:
      return resolve_table(task);
    case Method::rotary:
      return resolve_rotary(task);
    case Method::alibi:
      return resolve_alibi(task);
    default:
      throw WrongValue("general.architecture",
                       text(task.file.config().where(), ": gnomon does not read GGUF files of the family ",
                            task.family.name));
  }
}

}  // namespace

RopeReading read_rope_gguf(FileReading& file, std::int64_t longest) { return GgufRope(file, longest).read(); }

Resolved resolve_gguf(const Config& written) {
  const std::string arch = written.text("general.architecture").value_or("");
  if (arch.empty()) throw Error(Fault::input, text(written.where(), ": there is no general.architecture"));
  const HeadLists lists(written, arch, std::size_t(written.whole(text(arch, ".block_count")).value_or(0)));
  const Config config = lists.without();
  FileReading file(config, "");
  const Family* listed = find_gguf_family(arch);
  Resolved answer;
  answer.reader = Reader::llama_cpp;
  answer.known = listed != nullptr;
  answer.family = listed ? std::string(listed->name) : arch;
  const Family row = listed ? *listed : unlisted(config, arch, answer);
  std::deque<std::string> words;
  const Family family = translated(row, file, arch, words);
  answer.causal = file.flag(text(arch, ".attention.causal")).value_or(row.causal);
  answer.because.push_back({"family", answer.family, "general.architecture", "the name of the architecture"});
  Family for_sizes = family;
  for_sizes.mla = {};
  const Sizes sizes = read_sizes(file, for_sizes, answer.because);
  answer.width = sizes.width, answer.longest = sizes.longest, answer.trained_length = sizes.longest;
  answer.input = words_alone();
  Family plain = family;
  plain.scale = AttentionScale::root;
  fill({file, plain, sizes, answer});
  lists.fill(answer);
  drop_layers_without_attention(file, arch, answer);
  set_scale(file, row, arch, answer);
  set_values(file, row, arch, answer);
  check_layers(config, answer.layers);
  return answer;
}

}  // namespace gnomon
