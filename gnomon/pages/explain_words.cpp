#include "gnomon/pages/explain_words.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

#include "gnomon/core/error.h"
#include "gnomon/core/memory.h"
#include "gnomon/core/readable.h"
#include "gnomon/core/text.h"
#include "gnomon/lens/rotary_use.h"
#include "gnomon/models/explain/guesses.h"
#include "gnomon/pages/tower_words.h"

namespace gnomon::pages {
namespace {

std::string tokens(std::int64_t n) { return grouped(double(n)) + (n == 1 ? " token" : " tokens"); }

// All of them, or the ends.
std::string numbers_text(const std::vector<double>& x, bool full) {
  if (!full && x.size() > 4) return text(x.front(), ", ", x[1], " ... ", x.back());
  std::string all;
  for (const double one : x) all += (all.empty() ? "" : ", ") + (full ? shortest(one) : text(one));
  return all;
}

std::string whose(const LayerGroup& g) {
  const std::string part = g.position.component.empty() ? "" : g.position.component + " ";
  return text(part, g.layers.size() == 1 ? "layer " : "layers ", layers_text(g.layers));
}
std::string capital(std::string s) {
  if (!s.empty() && s[0] >= 'a' && s[0] <= 'z') s[0] = char(s[0] - 'a' + 'A');
  return s;
}

// One layer turns, several turn.
std::string_view verb(const LayerGroup& g, std::string_view one, std::string_view several) {
  return g.layers.size() == 1 ? one : several;
}

// What a layer has in place of attention, in the words of transformers' layer_types.
std::string_view mixer_words(std::string_view mixer) {
  if (mixer == "linear_attention") return "linear attention or a recurrence, which needs no position";
  if (mixer == "conv") return "a convolution, which needs no position";
  if (mixer == "no_attention") return "a recurrence, a convolution or a feed-forward part alone";
  if (mixer == "fourier") return "a Fourier transform over all tokens";
  return "a feed-forward part alone";
}

std::string method(const LayerGroup& g) {
  const Numbers& n = g.numbers();
  if (g.position.mixer == "latents")
    return text(verb(g, "attends", "attend"), " between latent vectors, which have read the words once");
  if (g.position.mixer == "cross_attention")
    return text(verb(g, "attends", "attend"), " to what a tower has made, without position, and to no word");
  if (!g.position.mixer.empty())
    return text(verb(g, "has ", "have "), mixer_words(g.position.mixer), ", and no attention");
  std::string all;
  for (const Named& named : g.position.spec.attention) {
    const Entry& entry = find_encoding(named.name);
    std::string one;
    if (entry.acts & kMask) continue;
    const bool turns = (entry.acts & kQk) && named.option("theta");  // not a temperature beside a rotation
    if (turns && g.theta && !n.inv_freq.empty())
      one =
          text(verb(g, "rotates ", "rotate "),
               n.rotary_dim == g.position.head_dim ? "all " : text(n.rotary_dim, " of "), g.position.head_dim,
               " channels of q and k with ", entry.name, ", theta ", grouped(*g.theta));
    else
      one = text(verb(g, "has ", "have "), entry.name, " (", entry.title, ")");
    all += (all.empty() ? "" : " and ") + one;
  }
  if (!all.empty()) return all;
  return std::string(verb(g, "has no position encoding", "have no position encoding"));
}

// Of a window that is not the same on both sides, in words; "" for others.
std::string after_text(const LayerGroup& g) {
  for (const Named& named : g.position.spec.attention)
    if (named.name == "window" && named.number("after") != 0 && !g.position.causal)
      return text(" before and ", tokens(std::int64_t(named.number("after"))), " after");
  return "";
}
std::string sees(const LayerGroup& g) {
  const KeptKeys& kept = g.position.kept;
  if (kept.block)
    return text(verb(g, ", and keeps ", ", and keep "),
                kept.window ? text("the last ", tokens(kept.window), " and ") : "", "one more key for every ",
                tokens(kept.block));
  if (!g.window) return "";
  const bool chunk = std::any_of(g.position.spec.attention.begin(), g.position.spec.attention.end(),
                                 [](const Named& n) { return n.name == "chunk"; });
  if (chunk) return text(", within chunks of ", tokens(*g.window));
  return text(verb(g, ", and sees ", ", and see "), g.position.causal ? "the last " : "keys nearer than ",
              tokens(*g.window), after_text(g));
}

std::string turned(const LayerGroup& g, std::int64_t length) {
  const TurnsSeen t = turns_within(g.numbers().inv_freq, g.span(length));
  return text("over ", tokens(g.span(length)), " ", t.full, " pairs make a full turn, ", t.partial,
              " at least a quarter turn, ", t.constant, " nearly none");
}

void add_rotation(const Explanation& e, const LayerGroup& g, bool full, std::vector<Line>& out) {
  const Numbers& n = g.numbers();
  const std::int64_t pairs = n.rotary_dim / 2;
  const auto add = [&](std::string_view name, std::string says, Quantity what) {
    out.push_back({std::string(name), marked(std::move(says), is_guess(e, g, what))});
  };
  add("pairs",
      n.pairing == Pairing::halves ? text(pairs, ", channel c with c + ", pairs, " (halves)")
                                   : text(pairs, ", channel 2c with 2c + 1 (adjacent)"),
      Quantity::pairing);
  add("rotated",
      n.rotary_dim == g.position.head_dim
          ? text("all ", n.rotary_dim, " channels of a head")
          : text(n.rotary_dim, " of ", g.position.head_dim, " channels of a head, from ", n.first, " on"),
      Quantity::rotated_channels);
  if (g.theta) out.push_back({"theta", marked(shortest(*g.theta), is_guess(e, g, "theta"))});
  add("frequencies", text(numbers_text(n.inv_freq, full), ": ", n.inv_freq.size(), ", in radians per token"),
      Quantity::frequencies);
  const auto [least, most] = std::minmax_element(n.inv_freq.begin(), n.inv_freq.end());
  if (*least > 0)
    add("wavelengths",
        text(significant(2 * std::numbers::pi / *most), " to ", significant(2 * std::numbers::pi / *least),
             " tokens per turn"),
        Quantity::frequencies);
  const bool longer = g.span(e.model.longest) > g.span(e.trained());
  add("seen", turned(g, e.trained()) + (longer ? "; " + turned(g, e.model.longest) : ""),
      Quantity::frequencies);
  add("cos, sin",
      text("times ", text(n.attention_factor),
           n.attention_factor == 1 ? "" : " for q and for k, so squared in the logit"),
      Quantity::rotary_factor);
}

void add_bias(const Explanation& e, const LayerGroup& g, bool full, std::vector<Line>& out) {
  const Numbers& n = g.numbers();
  if (!n.slopes.empty())
    out.push_back({"slopes", marked(text(numbers_text(n.slopes, full), " per token of distance, ",
                                         counted(n.slopes.size(), "head")),
                                    is_guess(e, g, Quantity::slopes))});
  if (g.buckets.empty()) return;
  std::string all;
  for (const SharedBucket& b : g.buckets) {
    if (b.first == b.last && !full) continue;
    all += text(all.empty() ? "" : ", ", b.first, b.last < 0 ? "+" : text("-", b.last));
  }
  out.push_back({"buckets", marked(text(g.buckets.size(),
                                        " for keys before the query; buckets with several distances: ", all,
                                        g.position.causal ? "" : "; as many for keys after it"),
                                   is_guess(e, g, Quantity::relative_position))});
}

// What q·k is multiplied by, and what of it is not 1/√D.
std::string softmax_text(const LayerPosition& p, const Numbers& n) {
  const double root = 1 / std::sqrt(double(p.head_dim)), scale = p.scale == 0 ? root : p.scale;
  std::string out = text("q·k times ", text(scale), scale == root ? text(" = 1/sqrt(", p.head_dim, ")") : "");
  if (n.softmax_factor == 1) return out + ", with no other factor";
  return out + text(", times ", text(n.softmax_factor), ": ", text(scale * n.softmax_factor), " in total");
}

// What of the group is other than at the reference length; "" if nothing.
std::string change(const LayerGroup& g, std::size_t n, std::string_view first_length) {
  const AtLength &a = g.at.front(), &b = g.at[n];
  std::vector<std::string> all;
  double most = 1;
  for (std::size_t i = 0; i < a.numbers.inv_freq.size(); ++i)
    if (b.numbers.inv_freq[i] > 0) most = std::max(most, a.numbers.inv_freq[i] / b.numbers.inv_freq[i]);
  if (a.numbers.inv_freq != b.numbers.inv_freq)
    all.push_back(text("frequencies change: up to ", significant(most),
                       " times slower (cached keys keep the old ones)"));
  const auto moved = [&](const char* what, double x, double y) {
    if (x != y) all.push_back(text(what, " ", text(x), " becomes ", text(y)));
  };
  moved("factor of cos and sin", a.numbers.attention_factor, b.numbers.attention_factor);
  moved("softmax factor", a.numbers.softmax_factor, b.numbers.softmax_factor);
  moved("temperature of the last query", a.temperature, b.temperature);
  if (b.beyond_training)
    all.push_back(text(b.beyond_training, " of ", b.numbers.inv_freq.size(),
                       b.beyond_training == 1 ? " pairs turns" : " pairs turn", " further than within ",
                       first_length));
  if (!b.numbers.slopes.empty())
    all.push_back(text(
        "the bias of the head with the smallest slope reaches ",
        text(-*std::min_element(b.numbers.slopes.begin(), b.numbers.slopes.end()) * double(b.length - 1))));
  if (!g.buckets.empty())
    all.push_back(text(fixed(100 * b.last_bucket, 0), " % of the token pairs are in the last bucket (",
                       g.buckets.back().first, " tokens or more apart)"));
  if (g.window && all.empty())
    return text("as trained: a query sees ", g.position.causal ? "at most " : "keys nearer than ",
                tokens(*g.window), after_text(g));
  std::string line;
  for (const std::string& one : all) line += (line.empty() ? "" : "; ") + one;
  return line;
}

}  // namespace

std::string marked(std::string says, bool guess) { return guess ? std::move(says) + " (guess)" : says; }

std::string layers_text(const std::vector<std::int64_t>& of) {
  std::string all;
  for (std::size_t n = 0; n < of.size();) {
    std::size_t last = n;
    while (last + 1 < of.size() && of[last + 1] == of[last] + 1) ++last;
    if (last - n < 2) last = n;
    all += text(all.empty() ? "" : ", ", of[n]);
    if (last > n) all += text(" to ", of[last]);
    n = last + 1;
  }
  return all;
}

std::string show_command(const LayerGroup& g) {
  const LayerPosition& p = g.position;
  if (!p.mixer.empty()) return {};
  return text("gnomon show ", shell_word(p.spec.print()), " --dim ", p.heads * p.head_dim, " --heads ",
              p.heads, p.causal ? "" : " --bidirectional");
}

namespace {

// What the file says of lengths: of an extension, both ends, for it does not say how far it was trained.
std::string length_text(const Explanation& e) {
  const Resolved& m = e.model;
  if (m.trained_length <= 0)
    return text("; the file gives no trained length, so gnomon assumes ", tokens(e.trained()),
                m.longest > 0 ? text(" (the file allows ", tokens(m.longest), ")") : "");
  if (m.longest <= m.trained_length) return text(", trained on ", tokens(m.trained_length));
  return text(", extended from ", grouped(double(m.trained_length)), " to ", tokens(m.longest),
              " (the file does not say how much of that was trained)");
}

}  // namespace

std::string remark_sentence(const Remark& remark) {
  return text(remark.key, remark.key.empty() ? "" : ": ", remark.says);
}
std::vector<std::string> refusal_sentences(const Resolved& m) {
  std::vector<std::string> out;
  for (const Remark& r : m.remarks)
    if (r.refused) out.push_back(text("transformers 5.23 refuses this file. ", remark_sentence(r), "."));
  return out;
}

// Nothing of an encoder beside a decoder: their layers tell.
std::string mask_text(const Explanation& e) {
  const std::vector<LayerPosition>& layers = e.model.layers;
  const bool mixed = std::any_of(layers.begin(), layers.end(),
                                 [&](const LayerPosition& layer) { return layer.causal != e.model.causal; });
  if (mixed) return "";
  return marked(e.model.causal ? " causal" : " bidirectional", is_guess(e, Quantity::mask));
}

std::vector<std::string> explain_answers(const Explanation& e) {
  const Resolved& m = e.model;
  std::vector<std::string> out = refusal_sentences(m);
  if (m.tower_alone) {
    for (const Tower& tower : m.towers) out.push_back(tower_answer(tower));
    return out;
  }
  const std::string_view by = out.empty() ? reader_title(m.reader) : "gnomon";
  const auto layers = std::count_if(m.layers.begin(), m.layers.end(),
                                    [](const LayerPosition& layer) { return layer.component != "indexer"; });
  out.push_back(text(m.family, ", as ", by, " reads it: ", layers, mask_text(e),
                     layers == 1 ? " layer" : " layers", length_text(e), "."));
  if (!m.known)
    out.push_back(
        "gnomon does not know this family. What is marked (guess) follows rules that most models share; the "
        "model's own code decides. The rest stands in the file.");
  if (m.input.input)
    out.push_back(
        text("Position vectors are added to the words: ", m.input.print(),
             e.positions_end ? text("; there are ", grouped(double(*e.positions_end)), " of them") : "",
             m.encoder_longest ? text(", and ", grouped(double(m.encoder_longest)), " in the encoder") : "",
             marked("", is_guess(e, Quantity::position_vectors)), "."));
  std::string without;
  for (const LayerGroup& g : e.groups) {
    if (g.kind == "none" && g.position.component != "indexer" && e.groups.size() > 1 && !m.input.input)
      without += (without.empty() ? "" : ", ") + layers_text(g.layers);
    if (g.kind == "none" && m.input.input && !g.window) continue;
    out.push_back(text(e.groups.size() == 1
                           ? g.layers.size() == 1 ? "Its layer" : text("All ", g.layers.size(), " layers")
                           : capital(whose(g)),
                       " ", method(g), sees(g), marked("", is_guess(e, g, Quantity::rotation)), "."));
  }
  const bool one = without.find_first_not_of("0123456789") == without.npos;
  if (!without.empty())
    out.push_back(text("Without a position encoding: ", one ? "layer " : "layers ", without,
                       marked("", !m.known), "."));
  for (const Tower& tower : m.towers) out.push_back(tower_answer(tower));
  return out;
}

std::string source_text(const Explanation& e, const Because& b) {
  return text(marked(b.value, is_guess(e, b)), ": ", b.key.empty() ? "" : b.key + "; ", b.rule);
}

std::vector<Line> group_lines(const Explanation& e, const LayerGroup& g, bool full) {
  const LayerPosition& p = g.position;
  std::vector<Line> out;
  const auto guess = [&](std::string says, Quantity what) {
    return marked(std::move(says), is_guess(e, g, what));
  };
  const auto add_sources = [&] {
    bool first = true;
    for (const Because& b : p.because)
      out.push_back({std::exchange(first, false) ? "from" : "", text(b.what, " = ", source_text(e, b))});
  };
  if (!p.mixer.empty()) {
    out.push_back(
        {"attention", guess(p.mixer == "latents" ? "between latent vectors" : "none", Quantity::rotation)});
    add_sources();
    return out;
  }
  out.push_back({"spec", guess(p.spec.print(), Quantity::rotation)});
  out.push_back(
      {"heads", text(guess(text(p.heads), Quantity::heads), " of ",
                     guess(text(p.head_dim, " channels"), Quantity::head_dim),
                     p.kv_heads == p.heads
                         ? ""
                         : ", " + guess(counted(std::size_t(p.kv_heads), "KV head"), Quantity::kv_heads))});
  if (!g.numbers().inv_freq.empty()) add_rotation(e, g, full, out);
  out.push_back({"softmax", guess(softmax_text(p, g.numbers()), Quantity::softmax_scale)});
  if (g.at.back().temperature != g.at.front().temperature || g.at.front().temperature != 1)
    out.push_back({"temperature", guess(text("the last query of ", tokens(e.trained()), ": times ",
                                             text(g.at.front().temperature)),
                                        Quantity::temperature)});
  add_bias(e, g, full, out);
  if (g.window) out.push_back({"window", guess(tokens(*g.window) + after_text(g), Quantity::window)});
  add_sources();
  return out;
}

std::string_view first_length(const Explanation& e) {
  return e.model.longest > e.trained() ? "the length before the extension" : "the trained length";
}

std::vector<std::string> at_length(const Explanation& e, std::size_t n) {
  std::vector<std::string> out;
  const std::int64_t length = e.lengths[n];
  if (e.positions_end && length > *e.positions_end)
    out.push_back(text("no position vectors from token ", grouped(double(*e.positions_end)), " on"));
  for (const LayerGroup& g : e.groups) {
    const std::string what = change(g, n, first_length(e));
    if (!what.empty())
      out.push_back(marked(e.groups.size() == 1 ? what : text(whose(g), ": ", what), !e.model.known));
  }
  if (out.empty())
    out.push_back(n == 0 ? "the reference" : marked("nothing changes except the distances", !e.model.known));
  return out;
}

std::string cache_text(const Explanation& e) {
  const auto& layers = e.model.layers;
  const bool attends = std::any_of(layers.begin(), layers.end(),
                                   [](const LayerPosition& layer) { return layer.mixer.empty(); });
  if (!attends) return "No layer attends to tokens, so there is no key cache.";
  if (!e.cache) return marked("An encoder has no key cache", !e.model.known) + ".";
  const bool windows = e.cache->beyond_windows < e.cache->per_token;
  std::string out = text(bytes_text(double(e.cache->per_token)), " per token in bfloat16 or float16");
  if (windows && e.cache->beyond_windows)
    out += text(" (", bytes_text(double(e.cache->beyond_windows)), " once all windows are full)");
  for (std::size_t n = 0; n < e.lengths.size(); ++n)
    if (n == 0 || e.lengths[n] == e.model.longest)
      out += text(", ", bytes_text(double(e.cache->at[n])), " for ", tokens(e.lengths[n]));
  if (std::any_of(layers.begin(), layers.end(),
                  [](const LayerPosition& layer) { return layer.kept.latent != 0; }))
    out += "; of latent attention it is one vector for all heads";
  if (windows) out += "; a layer with a window caches only the window";
  return marked(std::move(out), !e.model.known) + ".";
}

}  // namespace gnomon::pages
