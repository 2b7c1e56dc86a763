#include "gnomon/nn/block.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <vector>

#include "gnomon/core/array.h"
#include "gnomon/core/error.h"
#include "gnomon/core/names.h"
#include "gnomon/core/text.h"

namespace gnomon {
namespace {

constexpr std::array<std::string_view, 3> kBlocks{"gpt", "llama", "bert"};

using Words = std::span<const std::string_view>;
constexpr std::string_view kForms[] = {"layer", "layer_no_bias", "rms", "rms_one_plus", "layer_plain"};
constexpr std::string_view kPlaces[] = {"before", "before_and_after", "after_sublayer", "after_sum"};
constexpr std::string_view kActivations[] = {"gelu", "gelu_tanh", "silu", "relu", "gelu_sigmoid"};
constexpr std::string_view kGatings[] = {"off", "on", "clamped"};
constexpr std::string_view kQkNorms[] = {"off", "on", "own", "whole"};
constexpr std::string_view kRoutings[] = {"of_chosen", "of_all", "sigmoid", "sigmoid_of_chosen"};
constexpr std::string_view kSame = "same";
constexpr std::string_view kResiduals[] = {"in_turn", "parallel", "parallel_one_norm"};
constexpr std::string_view kHeads[] = {"rows", "matrix", "transform"};
constexpr std::string_view kSwitch[] = {"off", "on"};
constexpr std::string_view kMatrices[] = {"q", "k", "v", "out", "up", "down"};
constexpr bool Biases::*kBiasOf[] = {&Biases::q,   &Biases::k,  &Biases::v,
                                     &Biases::out, &Biases::up, &Biases::down};

struct BlockOption {
  std::string_view name, allowed;
};
struct Value {
  const BlockOption& option;
  std::string_view word;
  [[noreturn]] void wrong() const {
    throw Error(Fault::usage, text("model.block: ", option.name, ": found ", excerpt(word), ", allowed are ",
                                   option.allowed));
  }
  std::size_t one_of(Words words) const {
    const auto at = std::find(words.begin(), words.end(), word);
    if (at == words.end()) wrong();
    return std::size_t(at - words.begin());
  }
  double from(double least) const {
    const double x = number(word, text("model.block: ", option.name));
    if (!(x >= least && std::isfinite(x))) wrong();
    return x;
  }
};

// Enums are in the order of their words.
template <class E>
void choose(E& what, const Value& v, Words words) {
  what = E(v.one_of(words));
}
void choose(bool& what, const Value& v) { what = v.one_of(kSwitch) == 1; }
std::string word(bool on) { return std::string(kSwitch[on]); }
template <class E>
std::string word(E what, Words words) {
  return std::string(words[std::size_t(what)]);
}
// Nothing: as the others.
template <class E>
void choose_or_same(std::optional<E>& what, const Value& v, Words words) {
  if (v.word == kSame) return what.reset();
  choose(what.emplace(), v, words);
}
template <class E>
std::string word_or_same(const std::optional<E>& what, Words words) {
  return what ? word(*what, words) : std::string(kSame);
}

std::string biases_word(const Biases& biases) {
  if (biases == kNoBiases) return "off";
  std::string found;
  for (std::size_t n = 0; n < std::size(kMatrices); ++n) {
    if (biases.*kBiasOf[n]) found += (found.empty() ? "" : "+") + std::string(kMatrices[n]);
  }
  return found;
}
void read_biases(Biases& biases, const Value& v) {
  biases = kNoBiases;
  if (v.word == "off") return;
  for (const std::string_view matrix : split(v.word, '+'))
    biases.*kBiasOf[Value{v.option, matrix}.one_of(kMatrices)] = true;
}

// As the kernels have it: 1e-5 is 1e-05, whether it came as a float or a double.
std::string single(double x) {
  char digits[32];
  return {digits, std::to_chars(digits, digits + sizeof digits, float(x)).ptr};
}

// In widths; a gated block has three matrices where another has two.
std::int64_t usual_hidden(const Architecture& a, double widths) {
  const std::int64_t hidden = std::llround(widths * double(a.width));
  return a.feed_forward.gated() ? round_up((2 * hidden + 2) / 3, 8) : hidden;
}
constexpr double kUsualWidths = 4;

// A scale within rounding of 1/√head_dim is that.
constexpr double kSameScale = 1e-6;
std::string scale_word(const AttentionRule& at) {
  const double times = at.scale_of_product() * std::sqrt(double(at.head_dim));
  if (at.scale == 1) return "off";
  return shortest(std::abs(times - 1) < kSameScale ? 1 : times);
}
void read_scale(AttentionRule& at, const Value& v) {
  if (v.word == "off") return void(at.scale = 1);
  const double times = v.from(0);
  at.scale = times == 1 ? 0 : times / std::sqrt(double(at.head_dim));
}

std::string words_word(const Architecture& a) {
  return std::abs(a.word_scale / std::sqrt(double(a.width)) - 1) < kSameScale ? "root"
                                                                              : shortest(a.word_scale);
}

struct Row {
  BlockOption option;
  void (*read)(Architecture&, const Value&);
  std::string (*print)(const Architecture&);
};
// clang-format off
constexpr Row kOptions[] = {
    {{"causal", "on (decoder) and off (encoder)"},
     [](Architecture& a, const Value& v) { choose(a.causal, v); },
     [](const Architecture& a) { return word(a.causal); }},
    {{"norm", "layer, layer_no_bias, rms, rms_one_plus, layer_plain"},
     [](Architecture& a, const Value& v) { choose(a.norm.form, v, kForms); },
     [](const Architecture& a) { return word(a.norm.form, kForms); }},
    {{"epsilon", "numbers of 0 or more"},
     [](Architecture& a, const Value& v) { a.norm.epsilon = v.from(0); },
     [](const Architecture& a) { return single(a.norm.epsilon); }},
    {{"place", "before, before_and_after, after_sublayer, after_sum"},
     [](Architecture& a, const Value& v) { choose(a.norm.place, v, kPlaces); },
     [](const Architecture& a) { return word(a.norm.place, kPlaces); }},
    {{"embedding_norm", "on and off"},
     [](Architecture& a, const Value& v) { choose(a.norm.embedding, v); },
     [](const Architecture& a) { return word(a.norm.embedding); }},
    {{"head_norm", "off, on (of each head of q and k, with one gain), own (with a gain of each head), whole (of all heads as one row)"},
     [](Architecture& a, const Value& v) { choose(a.norm.qk, v, kQkNorms); },
     [](const Architecture& a) { return word(a.norm.qk, kQkNorms); }},
    {{"head_norm_form", "layer, layer_no_bias, rms, rms_one_plus, layer_plain, and same (as the other norms)"},
     [](Architecture& a, const Value& v) { choose_or_same(a.norm.qk_form, v, kForms); },
     [](const Architecture& a) { return word_or_same(a.norm.qk_form, kForms); }},
    {{"first_norm", "on and off"},
     [](Architecture& a, const Value& v) { choose(a.norm.first, v); },
     [](const Architecture& a) { return word(a.norm.first); }},
    {{"last_norm", "on and off"},
     [](Architecture& a, const Value& v) { choose(a.norm.last, v); },
     [](const Architecture& a) { return word(a.norm.last); }},
    {{"group", "whole numbers of 1 or more (query heads per key head, lowered to a divisor of the heads)"},
     [](Architecture& a, const Value& v) {
       std::int64_t group = std::int64_t(std::min(v.from(1), double(a.attention.heads)));
       while (a.attention.heads % group) --group;
       a.attention.kv_heads = a.attention.heads / group;
     },
     [](const Architecture& a) { return text(a.attention.heads / a.attention.kv_heads); }},
    {{"scale", "numbers of 0 or more (times 1/√head_dim), and off (a scale of 1)"},
     [](Architecture& a, const Value& v) { read_scale(a.attention, v); },
     [](const Architecture& a) { return scale_word(a.attention); }},
    {{"attention_cap", "numbers of 0 or more; 0 = none"},
     [](Architecture& a, const Value& v) { a.attention.soft_cap = v.from(0); },
     [](const Architecture& a) { return shortest(a.attention.soft_cap); }},
    {{"sinks", "on and off"},
     [](Architecture& a, const Value& v) { choose(a.attention.sinks, v); },
     [](const Architecture& a) { return word(a.attention.sinks); }},
    {{"clip", "numbers of 0 or more (the limit of q, k and v); 0 = none"},
     [](Architecture& a, const Value& v) { a.attention.clip = v.from(0); },
     [](const Architecture& a) { return shortest(a.attention.clip); }},
    {{"activation", "gelu, gelu_tanh, silu, relu, gelu_sigmoid"},
     [](Architecture& a, const Value& v) { choose(a.feed_forward.activation, v, kActivations); },
     [](const Architecture& a) { return word(a.feed_forward.activation, kActivations); }},
    {{"gated", "off, on, clamped"},
     [](Architecture& a, const Value& v) { choose(a.feed_forward.gating, v, kGatings); },
     [](const Architecture& a) { return word(a.feed_forward.gating, kGatings); }},
    {{"gate_limit", "numbers above 0 (of a clamped gate)"},
     [](Architecture& a, const Value& v) { a.feed_forward.limit = v.from(0); },
     [](const Architecture& a) { return shortest(a.feed_forward.limit); }},
    {{"hidden", "numbers above 0 (in widths of the model), and usual (4, or 2/3 of that in a gated block)"},
     [](Architecture& a, const Value& v) {
       if (v.word == "usual") return;  // make_block() knows when everything else is known
       a.feed_forward.hidden = round_up(std::max<std::int64_t>(1, std::llround(std::min(v.from(0), 64.0) * double(a.width))), 8);
     },
     [](const Architecture& a) {
       const std::int64_t hidden = a.feed_forward.hidden;
       return hidden == usual_hidden(a, kUsualWidths) ? "usual" : shortest(double(hidden) / double(a.width));
     }},
    {{"experts", "whole numbers of 0 or more; 0 = one feed-forward part and no router"},
     [](Architecture& a, const Value& v) { a.feed_forward.experts.count = std::int64_t(std::min(v.from(0), 65536.0)); },
     [](const Architecture& a) { return text(a.feed_forward.experts.count); }},
    {{"active", "whole numbers of 0 or more (experts of one token)"},
     [](Architecture& a, const Value& v) { a.feed_forward.experts.active = std::int64_t(std::min(v.from(0), 65536.0)); },
     [](const Architecture& a) { return text(a.feed_forward.experts.active); }},
    {{"routing", "of_chosen, of_all (the experts that the router's softmax is over), sigmoid, sigmoid_of_chosen"},
     [](Architecture& a, const Value& v) { choose(a.feed_forward.experts.routing, v, kRoutings); },
     [](const Architecture& a) { return word(a.feed_forward.experts.routing, kRoutings); }},
    {{"router_bias", "on and off"},
     [](Architecture& a, const Value& v) { choose(a.feed_forward.experts.bias, v); },
     [](const Architecture& a) { return word(a.feed_forward.experts.bias); }},
    {{"biases", "off, or names from q, k, v, out, up, down joined by +"},
     [](Architecture& a, const Value& v) { read_biases(a.biases, v); },
     [](const Architecture& a) { return biases_word(a.biases); }},
    {{"residual", "in_turn, parallel, parallel_one_norm"},
     [](Architecture& a, const Value& v) { choose(a.residual, v, kResiduals); },
     [](const Architecture& a) { return word(a.residual, kResiduals); }},
    {{"residual_scale", "numbers above 0 (of what attention and the feed-forward part add)"},
     [](Architecture& a, const Value& v) { a.residual_scale = v.from(0); },
     [](const Architecture& a) { return shortest(a.residual_scale); }},
    {{"word_scale", "numbers above 0, and root (the square root of the width)"},
     [](Architecture& a, const Value& v) { a.word_scale = v.word == "root" ? std::sqrt(double(a.width)) : v.from(0); },
     [](const Architecture& a) { return words_word(a); }},
    {{"types", "whole numbers of 0 or more (vectors of token types)"},
     [](Architecture& a, const Value& v) { a.token_types = std::int64_t(std::min(v.from(0), 65536.0)); },
     [](const Architecture& a) { return text(a.token_types); }},
    {{"head", "rows (no head: the model returns its last rows), matrix, transform"},
     [](Architecture& a, const Value& v) { choose(a.head.form, v, kHeads); },
     [](const Architecture& a) { return word(a.head.form, kHeads); }},
    {{"tied", "on and off"},
     [](Architecture& a, const Value& v) { choose(a.head.tied, v); },
     [](const Architecture& a) { return word(a.head.tied); }},
    {{"head_bias", "on and off"},
     [](Architecture& a, const Value& v) { choose(a.head.bias, v); },
     [](const Architecture& a) { return word(a.head.bias); }},
    {{"transform_bias", "on and off"},
     [](Architecture& a, const Value& v) { choose(a.head.transform_bias, v); },
     [](const Architecture& a) { return word(a.head.transform_bias); }},
    {{"head_activation", "gelu, gelu_tanh, silu, relu, gelu_sigmoid, and same (as in the feed-forward layers)"},
     [](Architecture& a, const Value& v) { choose_or_same(a.head.activation, v, kActivations); },
     [](const Architecture& a) { return word_or_same(a.head.activation, kActivations); }},
    {{"head_scale", "numbers above 0 (of the logits)"},
     [](Architecture& a, const Value& v) { a.head.scale = v.from(0); },
     [](const Architecture& a) { return shortest(a.head.scale); }},
    {{"head_cap", "numbers of 0 or more; 0 = none"},
     [](Architecture& a, const Value& v) { a.head.soft_cap = v.from(0); },
     [](const Architecture& a) { return shortest(a.head.soft_cap); }},
};
// clang-format on

const Row& row_named(std::string_view name) {
  std::vector<std::string_view> names;
  for (const Row& row : kOptions) {
    if (row.option.name == name) return row;
    names.push_back(row.option.name);
  }
  throw unknown("option", name, names).at("model.block");
}

struct BlockText {
  std::string_view name;
  std::vector<std::pair<const Row*, std::string_view>> options;
  bool has(std::string_view option) const {
    return std::any_of(options.begin(), options.end(),
                       [&](const auto& given) { return given.first->option.name == option; });
  }
};

// name [ "(" option "=" value { "," option "=" value } ")" ]
BlockText read(std::string_view block) {
  const std::size_t open = block.find('(');
  BlockText found{trim(block.substr(0, open)), {}};
  if (std::find(kBlocks.begin(), kBlocks.end(), found.name) == kBlocks.end())
    throw unknown("model.block", found.name, kBlocks);
  if (open == std::string_view::npos) return found;
  const auto wrong = [&](std::string_view why) {
    throw Error(Fault::usage, text("model.block: ", excerpt(block), ": ", why));
  };
  if (block.back() != ')') wrong("expected ')' at the end");
  const std::string_view inside = block.substr(open + 1, block.size() - open - 2);
  if (trim(inside).empty()) wrong("expected options between the brackets, as in llama(group=4)");
  for (const std::string_view each : split(inside, ',')) {
    const std::size_t equals = each.find('=');
    if (equals == std::string_view::npos) wrong(text("expected option=value, found ", excerpt(trim(each))));
    const Row& row = row_named(trim(each.substr(0, equals)));
    if (found.has(row.option.name)) wrong(text(row.option.name, " is given twice"));
    found.options.emplace_back(&row, trim(each.substr(equals + 1)));
  }
  return found;
}

void start_as(Architecture& a, std::string_view name) {
  if (name == "llama") {
    a.norm.form = NormForm::rms;
    a.feed_forward.activation = Activation::silu, a.feed_forward.gating = Gating::on;
    a.biases = kNoBiases;
  } else if (name == "bert") {
    a.causal = false, a.token_types = 2;
    a.norm = {.epsilon = 1e-12, .place = NormPlace::after_sum, .embedding = true, .last = false};
    a.feed_forward.activation = Activation::gelu;
    a.head = {.form = HeadForm::transform, .tied = true, .bias = true, .transform_bias = true};
  }
}

void check(const BlockSizes& s) {
  const auto require = [](bool ok, const std::string& message) {
    if (!ok) throw Error(Fault::usage, message);
  };
  require(s.heads >= 1, text("model.heads: found ", s.heads, ", allowed are 1 or more"));
  require(s.width >= 1 && s.width <= 1 << 16,
          text("model.width: found ", s.width, ", allowed are 1 to ", 1 << 16));
  require(s.width % s.heads == 0,
          text("model.width ", s.width, " is not divisible by model.heads ", s.heads));
  const double widths = s.feed_forward.value_or(kUsualWidths);
  require(widths >= 1 && widths <= 64,
          text("model.feed_forward: found ", shortest(widths), ", allowed are 1 to 64"));
}

}  // namespace

std::span<const std::string_view> block_names() { return kBlocks; }
Architecture make_block(std::string_view block, const BlockSizes& s, const Spec& position) {
  const BlockText found = read(block);
  check(s);
  Architecture a;
  a.layers = s.layers, a.width = s.width, a.length = s.length, a.position = position;
  a.attention = {.heads = s.heads, .kv_heads = s.heads, .head_dim = s.width / s.heads};
  start_as(a, found.name);
  a.feed_forward.hidden = 0;
  for (const auto& [row, value] : found.options) row->read(a, {row->option, value});
  if (s.feed_forward || a.feed_forward.hidden == 0)
    a.feed_forward.hidden = usual_hidden(a, s.feed_forward.value_or(kUsualWidths));
  if (s.kv_heads) a.attention.kv_heads = s.kv_heads;
  return a;
}

namespace {

void refuse_what_no_block_has(const Architecture& a) {
  const auto none = [](bool ok, std::string_view what) {
    if (!ok) throw Error(Fault::usage, text("a block has no ", what));
  };
  const Experts& e = a.feed_forward.experts;
  none(!a.cross, "cross attention; allowed are single decoders and encoders");
  none(!a.narrow, "narrow words; allowed are words as wide as the stream");
  none(a.feed_forward.others.layers.empty() && a.has_equal_heads(),
       "layers that differ in their feed-forward part or their heads; allowed are equal layers");
  none(!a.attention.keys_are_values && !a.norm.values, "values that are keys, and no norms of values");
  none(a.layer_words == 0 && !a.layer_scale, "words of each layer and no scale of a layer");
  none(e.shared == 0, "shared expert; allowed are experts that a router chooses");
  none(!e.choice && e.scale == 1, "bias of the choice of experts and no scale of their weights");
}

}  // namespace

std::string print_block(const Architecture& a) {
  refuse_what_no_block_has(a);
  std::string shortest_text;
  for (const std::string_view name : kBlocks) {
    const Architecture plain = make_block(name, {.width = a.width, .heads = 1}, {});
    std::string options;
    for (const Row& row : kOptions) {
      const std::string value = row.print(a);
      if (value != row.print(plain))
        options += text(options.empty() ? "" : ", ", row.option.name, "=", value);
    }
    const std::string whole = options.empty() ? std::string(name) : text(name, "(", options, ")");
    if (shortest_text.empty() || whole.size() < shortest_text.size()) shortest_text = whole;
  }
  return shortest_text;
}

}  // namespace gnomon
