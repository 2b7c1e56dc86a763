#include "gnomon/models/resolve/rope_part.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <optional>

#include "gnomon/core/error.h"
#include "gnomon/core/text.h"
#include "gnomon/models/resolve/rope_keys.h"
#include "gnomon/models/resolve/rope_width.h"
#include "gnomon/models/resolve/sections.h"

namespace gnomon {
namespace {

class Rope : RopeWidth {
 public:
  using RopeWidth::RopeWidth;

  SpecPart part() {
    const auto known = kTypes;
    const auto row = std::find_if(known.begin(), known.end(), [&](const Type& t) { return t.name == type_; });
    if (row == known.end()) dict_.wrong("rope_type", names(known));
    encoding_.name = row->encoding;
    if (facts_.backward && type_ != "default")
      dict_.wrong("rope_type",
                  "default: this class turns backwards, and gnomon has no such encoding of another type");
    if (rules_.own_mscales && type_ != "default") needed("short_mscale"), needed("long_mscale");
    note("encoding", encoding_.name, "rope_type");
    theta();
    pairing();
    channels();
    (this->*row->options)();
    unread();
    return {std::move(encoding_), std::move(because_), std::move(remarks_)};
  }

 private:
  struct Type {
    std::string_view name, encoding;
    void (Rope::*options)();
  };
  static const std::array<Type, 7> kTypes;
  static std::string names(const std::array<Type, 7>& types) {
    std::vector<std::string_view> all;
    for (const Type& t : types) all.push_back(t.name);
    return join(all, ", ");
  }

  void unread() {
    constexpr std::string_view elsewhere[] = {"type",
                                              "finetuned",
                                              "llama_4_scaling_beta",
                                              "max_position_embeddings",
                                              "mrope_section",
                                              "mrope_interleaved",
                                              "original_max_position_embeddings"};
    for (const auto& [name, value] : dict_.unread()) {
      if (std::find(std::begin(elsewhere), std::end(elsewhere), name) != std::end(elsewhere)) continue;
      if (type_ == "yarn" && is_vllm_yarn_key(name)) {
        if (value.printed != "1" && value.printed != "1.0")
          remarks_.push_back(
              {value.key, "vLLM 0.24 reads it; transformers and vLLM 0.33 do not", "yarn-key-of-vllm"});
        continue;
      }
      const std::string near = misspelt_rope_key(name, type_);
      remarks_.push_back(
          {value.key,
           text("the type ", type_, " ignores it", near.empty() ? "" : text("; did you mean ", near, "?")),
           near.empty() ? "scaling-key-unread" : "rope-key-misspelt"});
    }
  }
  void theta() {
    const auto x = dict_.number("rope_theta");
    if (!x || !(*x > 0)) dict_.wrong("rope_theta", "a number above 0");
    option("theta", *x, "rope_theta");
  }
  void pairing() {
    const std::string word = facts_.pairing == Pairing::halves ? "halves" : "adjacent";
    write("pairing", word);
    because("pairing", word, facts_.pairing_key,
            facts_.pairing_key.empty() ? "no key sets it: fixed by the family" : "true: adjacent");
  }
  double factor() {
    const double x = needed("factor");
    if (!(x >= 1)) dict_.wrong("factor", "a number from 1 on");
    return x;
  }
  double original() {
    const double x = needed("original_max_position_embeddings");
    if (!(x >= 1) || x != std::floor(x))
      dict_.wrong("original_max_position_embeddings", "a whole number of tokens");
    return x;
  }

  void plain() {
    if (facts_.backward) write("direction", "backward");
    if (facts_.backward) because("direction", "backward", "", "no key sets it: fixed by the family");
    if (facts_.streams == StreamOrder::by_channel) return sections_of_channels();
    if (facts_.streams == StreamOrder::rows_columns) return rows_and_columns();
    if (facts_.sections.empty()) return;
    const auto own = dict_.list("mrope_section");
    const auto parts = own ? time_first(*own, facts_.streams) : sections_of(facts_.sections);
    encoding_.name = facts_.streams == StreamOrder::in_turns ? "mrope_interleaved" : "mrope";
    if (facts_.streams == StreamOrder::in_turns && !rules_.sections_add_up && rest_follows_time(parts))
      return;
    option("sections", own ? OptionValue(parts) : OptionValue(facts_.sections), "mrope_section");
    if (facts_.streams == StreamOrder::height_width_time) write("order", "alternating");
  }
  void rows_and_columns() {
    const double half = double(rotated_) / 4;
    if (rotated_ % 4)
      dict_.wrong("partial_rotary_factor",
                  "a share that gives a multiple of four channels (the class's own rule)");
    encoding_.name = "mrope";
    write("sections", std::vector<double>{0, half, half});
    write("order", "alternating");
    because("sections", encoding_.options[encoding_.options.size() - 2].second.print(), "",
            "row and column in turns, half of the pairs each; a word has the same number for both");
  }
  // In turns, the class looks only at the parts of height and width, as far as there are pairs: all others follow time.
  bool rest_follows_time(const std::vector<double>& stated) {
    const double pairs = double(rotated_) / 2;
    if (stated.size() != 3 || std::accumulate(stated.begin(), stated.end(), 0.0) == pairs) return false;
    const double height = std::min(stated[1], std::ceil((pairs - 1) / 3)),
                 width = std::min(stated[2], std::ceil((pairs - 2) / 3));
    const std::vector<double> parts{pairs - height - width, height, width};
    write("sections", parts);
    const RopeValue* from = dict_.find("mrope_section");
    because("sections", encoding_.options.back().second.print(), from ? from->key : "",
            "the parts of height and width; all other pairs follow time");
    return true;
  }
  void linear() { option("factor", factor(), "factor"); }
  void dynamic() {
    // Hunyuan: alpha takes the place of factor and of the length (compute_ntk_alpha_rope_parameters).
    if (const auto alpha = dict_.number("alpha");
        alpha && *alpha != 0 && facts_.dicts == RopeDicts::hunyuan) {
      encoding_.name = "ntk";
      dict_.find("factor");  // stands beside alpha in every file of the family, and says nothing
      return option("factor", *alpha, "alpha");
    }
    if (rules_.dynamic != DynamicBase::by_length) return raised_once();
    option("factor", factor(), "factor");
    write("original", head_.longest);
    follows("original", text(head_.longest), "max_position_embeddings",
            "dynamic NTK begins at max_position_embeddings, whatever the dictionary says");
    if (const RopeValue* other = dict_.find("original_max_position_embeddings"))
      remarks_.push_back({other->key, "the type dynamic ignores it", "scaling-key-unread"});
  }
  // The base of one context, for all lengths: c = factor·L/L0 − (factor − 1).
  void raised_once() {
    const double s = factor();
    const double trained = dict_.number("max_trained_positions").value_or(double(head_.longest));
    const double length = rules_.dynamic == DynamicBase::once_extended ? s : double(head_.longest) / trained;
    const double c = s * length - (s - 1);
    if (c == 1) {
      encoding_.name = "rope";
      remarks_.push_back({dict_.find("factor")->key,
                          "changes nothing: this reader computes the base once, for the longest context",
                          {}});
      return;
    }
    encoding_.name = "ntk";
    option("factor", c, "factor");
    because_.back().follows = true;
  }
  void yarn() {
    double s = 0;
    if (dict_.find("factor")) {
      s = factor();
      option("factor", s, "factor");
    } else {
      s = double(head_.longest) / original();
      write("factor", s);
      follows("factor", shortest(s), "max_position_embeddings",
              "the file has none: max_position_embeddings / original");
    }
    option("original", original(), "original_max_position_embeddings");
    optional("beta_fast", 32), optional("beta_slow", 1);
    truncate();
    yarn_temperature(s);
    sections_of_text();
  }
  void yarn_temperature(double s) {
    const double own = rules_.authors_keys != AuthorsKeys::none ? authors_factor(s) : 1;
    switch (rules_.yarn_factor) {
      case YarnFactor::said:
        return said_temperature();
      case YarnFactor::plain:
        for (const char* name : {"attention_factor", "mscale", "mscale_all_dim"}) unread(name);
        if (own != 1) computed(own * yarn_factor(1, s), "attn_factor", "multiplied by 0.1 ln(factor) + 1");
        return;
      case YarnFactor::by_pair: {
        unread("attention_factor");
        const auto m = dict_.number("mscale"), all = dict_.number("mscale_all_dim");
        const double factor = m && all ? yarn_factor(*m, s) / yarn_factor(*all, s) : yarn_factor(1, s);
        if (own * factor != yarn_factor(1, s))
          computed(own * factor, m && all ? "mscale" : "attn_factor",
                   "the ratio of mscale and mscale_all_dim");
        return;
      }
      case YarnFactor::by_ratio: {
        unread("attention_factor");
        const double m = dict_.number("mscale").value_or(1), all = dict_.number("mscale_all_dim").value_or(0);
        if (own * m == 1 && all == 0) return softmax_temperature();
        if (own == 1 && all != 0 && dict_.number("mscale").value_or(0) != 0) return said_temperature();
        computed(own * yarn_factor(m, s) / yarn_factor(all, s), "mscale",
                 "the ratio of two YaRN factors; an absent mscale is 1, an absent mscale_all_dim is 0");
        return softmax_temperature();
      }
    }
  }
  static double yarn_factor(double m, double s) { return s <= 1 ? 1 : 0.1 * m * std::log(s) + 1; }
  void computed(double factor, std::string_view name, std::string rule) {
    write("attention_factor", factor);
    const RopeValue* from = dict_.find(name);
    follows("attention_factor", shortest(factor), from ? from->key : "", text(rules_.source, ": ", rule));
  }
  void unread(const char* name) {
    if (const RopeValue* dropped = dict_.find(name))
      remarks_.push_back({dropped->key, "this reader ignores it", {}});
  }
  // What the keys of YaRN's authors multiply by; their extrapolation_factor becomes an option.
  double authors_factor(double s) {
    if (const auto e = dict_.number("extrapolation_factor"); e && *e != 1)
      option("extrapolation", *e, "extrapolation_factor");
    const bool scales = rules_.authors_keys != AuthorsKeys::all || !dict_.find("apply_yarn_scaling") ||
                        *dict_.flag("apply_yarn_scaling");
    return dict_.number("attn_factor").value_or(1) / (scales ? 1 : yarn_factor(1, s));
  }
  void softmax_temperature() {
    const double all = dict_.number("mscale_all_dim").value_or(0);
    if (rules_.softmax_mscale && all != 0) option("softmax_mscale", all, "mscale_all_dim");
  }
  void said_temperature() {
    if (const auto a = dict_.number("attention_factor"); a && rules_.yarn_factor == YarnFactor::said) {
      if (!(*a > 0)) dict_.wrong("attention_factor", "a number above 0");
      option("attention_factor", *a, "attention_factor");
    }
    const double m = dict_.number("mscale").value_or(0), all = dict_.number("mscale_all_dim").value_or(0);
    if (m != 0 && all != 0) option("mscale", m, "mscale"), option("mscale_all_dim", all, "mscale_all_dim");
    softmax_temperature();
  }
  void optional(std::string_view name, double standard) {
    const double x = dict_.number(name).value_or(0);
    option(name, x == 0 ? standard : x, name);
  }
  void truncate() {
    const RopeValue* own = dict_.find("truncate");
    bool on = own ? *dict_.flag("truncate") : !dict_.holds("truncate");  // null is not true
    if (rules_.truncate) {
      const bool transformers = rules_.source.starts_with("the rule of transformers");
      if (own && on != *rules_.truncate) {
        remarks_.push_back(
            {own->key,
             transformers ? "ignored: transformers reads truncate only beside the dictionaries of the layer "
                            "types. It is absent there, so the ends of the ramp are rounded"
                          : "ignored: this reader rounds the ends of the ramp",
             transformers ? "truncate-unread-when-nested" : std::string_view{}});
      }
      on = *rules_.truncate, own = nullptr;
    }
    write("truncate", on ? "on" : "off");
    because("truncate", on ? "on" : "off", own ? own->key : "", own ? own->rule : rules_.source);
  }
  void longrope() {
    const double L0 = original();
    const bool fixed = rules_.long_list == LongList::by_capacity || rules_.long_list == LongList::always ||
                       rules_.own_mscales;
    const bool far =
        !rules_.own_mscales && (rules_.long_list == LongList::always || double(head_.longest) > L0);
    const std::string_view near_list = fixed && far ? "long_factor" : "short_factor",
                           far_list = fixed && !far ? "short_factor" : "long_factor";
    for (const auto& [name, option_name] : {std::pair{near_list, "short"}, {far_list, "long"}}) {
      const auto list = dict_.list(name);
      if (!list || std::int64_t(list->size()) != rotated_ / 2)
        dict_.wrong(name, text("a list of ", rotated_ / 2, " numbers, one for each pair"));
      option(option_name, *list, name);
    }
    for (const char* name : {"short_factor", "long_factor"}) dict_.find(name);  // one of them is enough
    if (rules_.own_mscales)
      because(
          "long", "as short", dict_.find("long_factor") ? dict_.find("long_factor")->key : "",
          "the class computes the frequencies without a length, so the short list counts at every length");
    if (fixed && !rules_.own_mscales)
      remarks_.push_back({dict_.find(near_list)->key,
                          rules_.long_list == LongList::always
                              ? "this reader uses the long list at every length"
                              : "this reader chooses the list by the length that it is started for (here the "
                                "longest context), not by the current length",
                          {}});
    if (L0 == 1)
      dict_.wrong("original_max_position_embeddings",
                  "more than one token: the rule divides by its logarithm");
    double s = double(head_.longest) / L0;
    if (dict_.find("factor") && !rules_.longrope_by_ratio) {
      s = needed("factor");
      note("factor", shortest(s), "factor");
    } else {
      follows("factor", shortest(s), "max_position_embeddings",
              "max_position_embeddings / original" +
                  std::string(dict_.find("factor") ? ", whatever factor says" : ""));
    }
    write("factor", std::max(s, 1.0));  // below 1 the factor of q and k is 1, too
    option("original", L0, "original_max_position_embeddings");
    if (rules_.own_mscales) {
      option("attention_factor", needed("short_mscale"), "short_mscale");
      note("attention_factor", shortest(needed("long_mscale")), "long_mscale");
    } else if (rules_.longrope_factor_unread) {
      unread("attention_factor");
    } else if (const auto a = dict_.number("attention_factor")) {
      if (!(*a > 0)) dict_.wrong("attention_factor", "a number above 0");
      option("attention_factor", *a, "attention_factor");
    }
    sections_of_text();
  }
  void llama3() {
    option("factor", factor(), "factor");
    option("original", original(), "original_max_position_embeddings");
    option("low", needed("low_freq_factor"), "low_freq_factor");
    option("high", needed("high_freq_factor"), "high_freq_factor");
    sections_of_text();
  }
  void proportional() {
    option("share", dict_.number("partial_rotary_factor").value_or(1), "partial_rotary_factor");
    if (dict_.holds("factor")) option("factor", factor(), "factor");  // null is not absent
    sections_of_text();
  }
  void linear_of_text() {
    linear();
    sections_of_text();
  }
  void dynamic_of_text() {
    dynamic();
    sections_of_text();
  }
  // A pair whose channels follow two streams is no rotation.
  void sections_of_channels() {
    const RopeValue* sections = dict_.find("mrope_section");
    if (!sections) return;
    remarks_.push_back({sections->key,
                        "the spec is for text, where the coordinates are equal; in images this class moves "
                        "the two channels of a pair by two coordinates",
                        "sections-split-pairs"});
  }
  // No encoding has both M-RoPE's sections and scaled frequencies.
  void sections_of_text() {
    if (facts_.streams == StreamOrder::by_channel) return sections_of_channels();
    if (facts_.sections.empty() && facts_.streams != StreamOrder::rows_columns) return;
    const auto own = dict_.list("mrope_section");
    const std::string key = (own ? dict_.find("mrope_section") : dict_.find("rope_type"))->key;
    const bool all = facts_.streams == StreamOrder::sections;  // each pair follows one of them
    const auto parts = own || !all ? own.value_or(std::vector<double>{}) : sections_of(facts_.sections);
    const double pairs = std::accumulate(parts.begin(), parts.end(), 0.0);
    if (all && 2 * pairs != double(rotated_))
      refuse(key,
             text("the sections have the sum ", shortest(pairs), ", and ", rotated_ / 2,
                  " pairs turn: transformers 5.23 raises RuntimeError when the model runs"),
             "sections-do-not-add-up");
    remarks_.push_back(
        {key,
         "the spec is for text, where the coordinates are equal; images use these frequencies by section",
         "sections-with-scaling"});
  }
};

const std::array<Rope::Type, 7> Rope::kTypes{{{"default", "rope", &Rope::plain},
                                              {"linear", "linear", &Rope::linear_of_text},
                                              {"dynamic", "dynamic_ntk", &Rope::dynamic_of_text},
                                              {"yarn", "yarn", &Rope::yarn},
                                              {"longrope", "longrope", &Rope::longrope},
                                              {"llama3", "llama3", &Rope::llama3},
                                              {"proportional", "proportional", &Rope::proportional}}};

}  // namespace

SpecPart rope_part(const RopeDict& dict, const RopeHead& head, const RopeFacts& facts,
                   const RopeRules& rules) {
  return Rope(dict, head, facts, rules).part();
}

}  // namespace gnomon
