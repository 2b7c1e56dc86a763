#include "gnomon/models/resolve/gguf_rope.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "gnomon/core/error.h"
#include "gnomon/core/text.h"
#include "gnomon/models/resolve/rope_readers.h"

namespace gnomon {
namespace {

constexpr std::string_view kLoad = "llama.cpp, load_hparams: ";
constexpr std::int64_t kMostPairs = 32768;
constexpr std::string_view kContext = "llama.cpp, llama-context.cpp: ";
std::string rule(std::string_view what) { return std::string(kLoad) + std::string(what); }

double yarn_factor(double scale, double mscale) {
  return scale <= 1 ? 1 : 0.1 * mscale * std::log(scale) + 1;
}

// Of divisors that are 1, and from some pair on endless (1e30, as its converter writes): how many are 1. 0: of others.
std::size_t pairs_before_infinity(const std::vector<double>& divisors) {
  constexpr double endless = 1e20;
  const auto first = std::find_if(divisors.begin(), divisors.end(), [](double x) { return x != 1; });
  const bool rest =
      first != divisors.end() && std::all_of(first, divisors.end(), [](double x) { return x >= endless; });
  return rest ? std::size_t(first - divisors.begin()) : 0;
}

// The settings of RoPE under their keys of GGUF, as dictionaries of transformers' words.
class GgufRope {
 public:
  GgufRope(FileReading& file, std::int64_t longest)
      : file_(file),
        arch_(std::string(file.text("general.architecture").value_or(""))),
        fixed_(gguf_architecture(arch_)),
        longest_(longest),
        scaling_(read_gguf_scaling(file, arch_, fixed_)) {}

  RopeReading read() {
    out_.rules.source = "llama.cpp";
    out_.rules.plain_forgets_part = false;
    out_.rules.truncate = true;
    out_.rules.sections_add_up = true;
    out_.rules.authors_keys = AuthorsKeys::factors;
    ignored();
    fourth_coordinate();
    for (const char* label : {"sliding_attention", "chunked_attention"})
      out_.kinds.emplace_back(label, kind(true));
    out_.kinds.emplace_back("", kind(false));
    return std::move(out_);
  }

 private:
  std::string key(std::string_view name) const { return text(arch_, ".", name); }

  // Keys of YaRN that this architecture's loader does not ask for.
  void ignored() {
    if (scaling_.type != "yarn") return;
    const auto unless = [&](bool read, std::string_view name) {
      if (!read && file_.has(key(name)))
        out_.remarks.push_back({key(name), text("llama.cpp ignores it for the architecture ", arch_)});
    };
    unless(fixed_.yarn_keys != GgufYarnKeys::none, "rope.scaling.yarn_beta_fast");
    unless(fixed_.yarn_keys != GgufYarnKeys::none, "rope.scaling.yarn_beta_slow");
    unless(fixed_.yarn_keys == GgufYarnKeys::all, "rope.scaling.yarn_ext_factor");
    unless(false, "rope.scaling.yarn_attn_factor");  // computed anew
    unless(fixed_.log_multiplier != 0, "rope.scaling.yarn_log_multiplier");
  }

  // Pairs in turns take a fourth coordinate where the others have no more; of text it is 0 (ggml_mrope_cache_init).
  void fourth_coordinate() {
    const auto list = file_.numbers(key("rope.dimension_sections"));
    if (fixed_.pairs != GgufPairs::sections_in_turn || !list || list->size() < 3) return;
    const double pairs = std::accumulate(list->begin(), list->end(), 0.0);
    std::string still;
    for (std::int64_t pair = 0; double(pair) < pairs && pair < kMostPairs; ++pair)
      if (double(pair) >= 3 * (*list)[std::size_t(pair % 3)]) still += text(still.empty() ? "" : ", ", pair);
    if (!still.empty())
      out_.remarks.push_back(
          {key("rope.dimension_sections"), text("llama.cpp does not turn the pairs ", still,
                                                " of text: their coordinate is a fourth one, which is 0")});
  }

  RopeDict kind(bool slides) {
    RopeDict dict(file_.config().where());
    base(dict, slides), width(dict, slides), sections(dict), original(dict), temperature(dict);
    const bool plain = (slides && fixed_.windows.rope == SlidingRope::plain) || fixed_.keyless;
    const bool whole = !(slides && fixed_.windows.rope != SlidingRope::as_full) && !fixed_.keyless;
    const double rate = whole ? scaling_.factor : 1;
    const double attention = plain ? 1 : scaling_.attention(rate);
    const bool divided = !slides || !fixed_.divides_full;
    if (divided && file_.has("rope_freqs.weight")) {
      by_tensors(dict, "rope_freqs.weight", "rope_freqs.weight", rate, attention);
    } else if (divided && file_.has("rope_factors_long.weight") && file_.has("rope_factors_short.weight")) {
      by_tensors(dict, "rope_factors_short.weight", "rope_factors_long.weight", rate, attention);
    } else {
      scaled(dict, rate, plain ? 0 : scaling_.extrapolation, attention);
    }
    return dict;
  }

  void base(RopeDict& dict, bool slides) {
    const std::string own = key("rope.freq_base_swa"), all = key("rope.freq_base");
    if (fixed_.keyless)
      return dict.set("rope_theta",
                      rope_number(10000, "", "llama.cpp: fixed in the graph of this architecture"));
    const auto sliding = slides && !fixed_.windows.base_unread ? file_.number(own) : std::nullopt;
    if (sliding) return dict.set("rope_theta", rope_number(*sliding, own, rule("for layers with a window")));
    const auto x = slides && fixed_.windows.own_base ? std::nullopt : file_.number(all);
    double theta = x.value_or(10000);
    std::string why = rule(x ? "from the file" : "no key sets it");
    const double d = double(head_dim(false));
    if (const auto alpha = file_.number(key("rope.scaling.alpha"));
        fixed_.alpha && alpha && *alpha > 0 && d > 2) {
      theta *= std::pow(*alpha, d / (d - 2)), why = "llama.cpp: times alpha^(head / (head − 2))";
    }
    dict.set("rope_theta", rope_number(theta, x ? all : "", why));
  }
  std::int64_t head_dim(bool slides) {
    if (const auto x = slides ? file_.whole(key("attention.key_length_swa")) : std::nullopt) return *x;
    if (const auto x = file_.whole(key("attention.key_length"))) return *x;
    const auto width = file_.whole(key("embedding_length")), heads = file_.whole(key("attention.head_count"));
    return width && heads && *heads ? *width / *heads : 0;
  }
  // Most graphs ask for the rotated width once, of layer 0.
  void width(RopeDict& dict, bool slides) {
    if (fixed_.keyless) return;
    const bool sliding = fixed_.own_width ? slides : first_layer_slides(file_, arch_, fixed_);
    const std::string own = key("rope.dimension_count_swa"), all = key("rope.dimension_count");
    if (const auto x = sliding ? file_.whole(own) : std::nullopt)
      return dict.set("rotary_dim",
                      rope_number(double(*x), own,
                                  rule(slides ? "for layers with a window"
                                              : "of layer 0, which this graph takes for all layers")));
    const auto x = file_.whole(all);
    // Step 3.5 turns half of the channels where a layer sees everything.
    if (!sliding && fixed_.half_of_full)
      return dict.set("rotary_dim", rope_number(double(x.value_or(head_dim(false)) / 2), x ? all : "",
                                                rule("half of the width")));
    if (x) dict.set("rotary_dim", rope_number(double(*x), all, rule("from the file")));
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
          : rope_from(double(longest_), key("context_length"), rule("no key sets it: the trained length")));
  }

  void scaled(RopeDict& dict, double rate, double extrapolation, double attention) {
    const auto type = [&](std::string word, std::string why) {
      dict.set("rope_type", rope_word(std::move(word), scaling_.type_key, std::move(why)));
    };
    const RopeValue factor = rope_number(rate, scaling_.factor_key, rule("from the file"));
    const std::string none =
        scaling_.type_key.empty() ? "no key sets it: linear with factor 1" : "from the file";
    if (rate == 1 && attention == 1) return type("default", rule(none));
    if (extrapolation == 0 && attention == 1) return dict.set("factor", factor), type("linear", rule(none));
    if (extrapolation == 0 && rate != 1) return constant(dict, rate, attention);
    // Without a rate, YaRN of factor 1: the frequencies are plain and cos and sin are multiplied.
    type("yarn",
         rate == 1 ? "layers with a window are not scaled, but cos and sin are multiplied" : rule(none));
    dict.set("factor", rate == 1 ? rope_number(1, "", rule("no scaling")) : factor);
    ramp(dict, extrapolation);
    if (std::abs(attention - yarn_factor(rate, 1)) > 1e-9) multiplied(dict, attention);
    if (fixed_.pre_scaled && rate > 1)
      dict.set(
          "mscale_all_dim",
          rope_number((scaling_.softmax() - 1) / (0.1 * std::log(rate)),
                      scaling_.log_multiplier ? key("rope.scaling.yarn_log_multiplier") : scaling_.type_key,
                      "llama.cpp: the graph of this architecture scales q·k by YaRN's factor, squared"));
  }
  void ramp(RopeDict& dict, double extrapolation) {
    for (const auto& [from, to] : {std::pair{"rope.scaling.yarn_beta_fast", "beta_fast"},
                                   {"rope.scaling.yarn_beta_slow", "beta_slow"}})
      if (const auto x = file_.number(key(from)); x && *x > 0 && fixed_.yarn_keys != GgufYarnKeys::none)
        dict.set(to, rope_number(*x, key(from), rule("from the file")));
    if (extrapolation != 0 && extrapolation != 1)
      dict.set("extrapolation_factor",
               rope_number(extrapolation, key("rope.scaling.yarn_ext_factor"), rule("from the file")));
  }
  void multiplied(RopeDict& dict, double attention) {
    dict.set("attention_factor",
             rope_number(attention, scaling_.multiplier_key,
                         std::string(kContext) + "YaRN's factor and the keys of the file"));
  }
  // Channels, as far as they can be: what else the file says is refused later.
  double turning(const RopeDict& dict) {
    return std::clamp(dict.number("rotary_dim").value_or(double(head_dim(false))), 0.0, 2.0 * kMostPairs);
  }
  // Linear scaling with a factor of cos and sin: every pair is divided alike.
  void constant(RopeDict& dict, double rate, double attention) {
    const double channels = turning(dict);
    const RopeValue list{scaling_.factor_key, rule("each pair divided by it"),
                         std::vector<double>(std::size_t(channels / 2), rate), "a factor"};
    dict.set("rope_type",
             rope_word("longrope", scaling_.type_key, rule("linear, and cos and sin are multiplied")));
    dict.set("short_factor", list), dict.set("long_factor", list), multiplied(dict, attention);
  }

  // Each pair divided by a number of a tensor: Llama 3's scaling, LongRoPE, Gemma 4's pairs that do not turn.
  void by_tensors(RopeDict& dict, const std::string& near, const std::string& far, double rate,
                  double attention) {
    if (scaling_.extrapolation != 0 && rate != 1)
      throw WrongValue(scaling_.type_key,
                       text(file_.config().where(), ": ", scaling_.type_key,
                            " is yarn; allowed beside the tensor ", near, " are none and linear"));
    const bool same = near == far;
    const std::string why =
        same ? "llama.cpp: each pair divided by this tensor"
             : "llama.cpp, get_rope_factors: the long list if the allocated context is longer "
               "than original";
    const double channels = turning(dict);
    const auto list = [&](const std::string& name) {
      std::vector<double> divisors = *file_.numbers(name);
      if (double(divisors.size()) > channels / 2)
        divisors.resize(std::size_t(channels / 2));  // more are not used
      for (double& x : divisors) x *= rate;
      return RopeValue{name, why, std::move(divisors), "a tensor"};
    };
    const std::vector<double> divisors = *file_.numbers(near);
    if (const std::size_t turning = pairs_before_infinity(divisors);
        turning && same && rate == 1 && attention == 1)
      return proportional(dict, near, why, turning, divisors.size());
    dict.set("rope_type", rope_word("longrope", far, why));
    dict.set("short_factor", list(near)), dict.set("long_factor", list(far));
    dict.set("attention_factor", rope_number(attention, attention == 1 ? "" : scaling_.multiplier_key,
                                             attention == 1 ? "llama.cpp: cos and sin are not multiplied"
                                                            : rule("from the file")));
    if (!same)
      out_.remarks.push_back({far, "llama.cpp chooses by the allocated context, not by its current length"});
  }
  static void proportional(RopeDict& dict, const std::string& name, const std::string& why,
                           std::size_t turning, std::size_t all) {
    const double pairs = double(all);
    double share = double(turning) / pairs;
    while (std::int64_t(share * pairs) < std::int64_t(turning)) share = std::nextafter(share, 1);
    dict.set("rope_type",
             rope_word("proportional", name,
                       why + "; the divisors of the last pairs are so large that these pairs do not rotate"));
    dict.set("partial_rotary_factor", rope_number(share, name, "the share of pairs that rotate"));
  }

  FileReading& file_;
  const std::string arch_;
  const GgufArchitecture fixed_;
  const std::int64_t longest_;
  const GgufScaling scaling_;
  RopeReading out_;
};

// The words of GGUF for a type of scaling; others are for no reader.
void known_type(FileReading& file, const std::string& key, const std::string& type) {
  for (const char* known : {"none", "linear", "yarn", "longrope"})
    if (type == known) return;
  file.wrong(key, "none, linear, yarn or longrope");
}

}  // namespace

double GgufScaling::attention(double rate) const {
  return multiplier * (extrapolation != 0 ? 1 + 0.1 * std::log(rate) : 1);
}
double GgufScaling::softmax() const {
  const double own = multiplier * (1 + 0.1 * std::log(factor));
  return own * (1 + 0.1 * log_multiplier * std::log(factor));
}

GgufScaling read_gguf_scaling(FileReading& file, const std::string& arch, const GgufArchitecture& fixed) {
  const auto key = [&](std::string_view name) { return text(arch, ".", name); };
  const auto number = [&](std::string_view name) { return file.number(key(name)); };
  GgufScaling s;
  s.type_key = file.has(key("rope.scaling.type")) ? key("rope.scaling.type") : "";
  s.type = file.text(key("rope.scaling.type")).value_or("linear");
  known_type(file, s.type_key, s.type);
  s.factor_key = key(file.has(key("rope.scaling.factor")) ? "rope.scaling.factor" : "rope.scale_linear");
  const double factor = file.number(s.factor_key).value_or(0);
  if (!(factor >= 0) || std::isinf(factor)) file.wrong(s.factor_key, "a number above 0, or 0 for none");
  if (factor != 0 && s.type != "none") s.factor = factor;
  s.extrapolation = s.type == "yarn" ? 1 : 0;
  if (const auto x = number("rope.scaling.yarn_ext_factor");
      x && *x >= 0 && fixed.yarn_keys == GgufYarnKeys::all)
    s.extrapolation = *x;
  if (fixed.log_multiplier != 0)
    s.log_multiplier = number("rope.scaling.yarn_log_multiplier").value_or(0) / fixed.log_multiplier;
  if (s.extrapolation != 0) {
    const double over = arch == "deepseek2" && s.log_multiplier != 0 ? s.log_multiplier : 1;
    s.multiplier = yarn_factor(s.factor, over) /
                   (s.log_multiplier ? yarn_factor(s.factor, s.log_multiplier) : 1) /
                   (1 + 0.1 * std::log(s.factor));
  }
  s.multiplier_key = key(s.log_multiplier ? "rope.scaling.yarn_log_multiplier" : "rope.scaling.attn_factor");
  s.multiplier *= number("rope.scaling.attn_factor").value_or(1);
  if (!std::isfinite(s.multiplier) || !std::isfinite(s.softmax()))
    file.wrong(s.multiplier_key, "a number that gives a finite factor");
  return s;
}

bool has_gguf_windows(FileReading& file, const std::string& arch, const GgufArchitecture& fixed) {
  const GgufWindows& own = fixed.windows;
  const bool any =
      own.every != 0 || own.all || (own.listed && file.has(text(arch, ".attention.sliding_window_pattern")));
  const bool these = own.layers == 0 || file.whole(text(arch, ".block_count")) == own.layers;
  return any && these && file.whole(text(arch, ".attention.sliding_window")).value_or(own.standard) != 0;
}

std::string gguf_window_unread(FileReading& file, const std::string& arch) {
  const GgufArchitecture* fixed = find_gguf_architecture(arch);
  const Family* row = find_gguf_family(arch);
  const std::string key = text(arch, ".attention.sliding_window");
  const double window = file.number(key).value_or(0);
  const auto longest = file.number(text(arch, ".context_length"));
  const bool hides = window > 0 && (!longest || window < *longest);
  if (!fixed || !hides || has_gguf_windows(file, arch, *fixed) || (row && row->windows.chunk)) return {};
  return text("llama.cpp ignores it",
              file.has(key + "_pattern") ? " and attention.sliding_window_pattern" : "",
              " for the architecture ", arch,
              fixed->windows.layers ? text(" unless the model has ", fixed->windows.layers, " layers") : "",
              ": every layer sees all tokens");
}

bool first_layer_slides(FileReading& file, const std::string& arch, const GgufArchitecture& fixed) {
  if (!has_gguf_windows(file, arch, fixed)) return false;
  const std::string pattern = text(arch, ".attention.sliding_window_pattern");
  if (file.kind(pattern) == Config::Kind::list) {
    const auto list = *file.flags(pattern);
    return !list.empty() && list.front();
  }
  if (fixed.windows.all) return true;
  const std::int64_t every = file.whole(pattern).value_or(fixed.windows.every);
  return !fixed.windows.full_first && every > 1;
}

RopeReading read_rope_gguf(FileReading& file, std::int64_t longest) { return GgufRope(file, longest).read(); }

}  // namespace gnomon
