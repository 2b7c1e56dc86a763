#include "gnomon/models/explain/differences.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "gnomon/core/error.h"
#include "gnomon/core/names.h"
#include "gnomon/core/text.h"
#include "gnomon/encodings/entry.h"
#include "gnomon/models/explain/guesses.h"
#include "gnomon/models/explain/tower_differences.h"

namespace gnomon {
namespace {

constexpr std::string_view kNames[] = {"layers",
                                       "component",
                                       "position vectors",
                                       "context length",
                                       "heads",
                                       "KV heads",
                                       "head_dim",
                                       "mask",
                                       "softmax scale",
                                       "window",
                                       "rotation",
                                       "rotated channels",
                                       "first rotated channel",
                                       "pairing",
                                       "frequencies",
                                       "factor of cos and sin",
                                       "softmax factor",
                                       "temperature",
                                       "slopes",
                                       "relative position",
                                       "tower"};
static_assert(std::size(kNames) == std::size_t(Quantity::tower) + 1);

bool same(double x, double y) {
  if (x == y) return true;
  return x * y > 0 && std::max(x / y, y / x) < kSameRatio;
}
bool same(const std::vector<double>& x, const std::vector<double>& y) {
  return std::equal(x.begin(), x.end(), y.begin(), y.end(), [](double s, double t) { return same(s, t); });
}

struct Largest {
  double ratio = 1;
  std::size_t pair = 0;
};
// Infinite where one of the two does not turn.
Largest largest_ratio(const std::vector<double>& x, const std::vector<double>& y) {
  Largest most;
  for (std::size_t n = 0; n < std::min(x.size(), y.size()); ++n) {
    if (x[n] == y[n]) continue;
    const double ratio = std::max(x[n], y[n]) / std::min(x[n], y[n]);
    if (ratio > most.ratio) most = {ratio, n};
  }
  return most;
}

// One pair of groups, told as differences without layers.
class Pairwise {
 public:
  Pairwise(const Explanation& a, const Explanation& b) : a_(a), b_(b) {}

  std::vector<Difference> of(const LayerGroup& x, const LayerGroup& y) {
    found_.clear();
    const LayerPosition &p = x.position, &q = y.position;
    if (!p.mixer.empty() ||
        !q.mixer.empty()) {  // what they have in place of attention, each format calls otherwise
      if (p.mixer.empty() != q.mixer.empty()) add(Quantity::component, what(p), what(q));
      return found_;
    }
    whole(Quantity::heads, p.heads, q.heads);
    const bool latent =
        p.kept.latent != 0 && q.kept.latent != 0;  // one vector for all heads, however they are counted
    if (!latent) whole(Quantity::kv_heads, p.kv_heads, q.kv_heads);
    whole(Quantity::head_dim, p.head_dim, q.head_dim);
    if (p.causal != q.causal)
      add(Quantity::mask, p.causal ? "causal" : "bidirectional", q.causal ? "causal" : "bidirectional");
    number(Quantity::softmax_scale, scale(p), scale(q));
    if (x.window != y.window) add(Quantity::window, window(x), window(y));
    const bool rotations = rotation(x, y);
    for (const std::int64_t length : lengths()) at_length(x, y, length, rotations);
    if (x.numbers().slopes.size() == y.numbers().slopes.size() &&
        !same(x.numbers().slopes, y.numbers().slopes))
      add(Quantity::slopes, listed(x.numbers().slopes), listed(y.numbers().slopes));
    rest(x, y);
    return found_;
  }
  std::set<std::string> notes;

 private:
  void add(Quantity what, const std::string& x, const std::string& y, double ratio = 0) {
    for (const Difference& d : found_)
      if (d.what == what) return;
    found_.push_back({"", {}, what, x, y, ratio});
  }
  void whole(Quantity what, std::int64_t x, std::int64_t y) {
    if (x != y) add(what, text(x), text(y));
  }
  void number(Quantity what, double x, double y) {
    if (!same(x, y)) add(what, text(x), text(y));
  }
  static double scale(const LayerPosition& p) {
    return p.scale == 0 ? 1 / std::sqrt(double(p.head_dim)) : p.scale;
  }
  static std::string what(const LayerPosition& p) { return p.mixer.empty() ? p.spec.print() : p.mixer; }
  static std::string window(const LayerGroup& g) { return g.window ? text(*g.window, " tokens") : "none"; }
  static std::string listed(const std::vector<double>& x) {
    return x.empty() ? "none" : text(x.front(), " ... ", x.back());
  }
  static std::string pairing(const Numbers& n) {
    return text(n.pairing == Pairing::halves ? "halves" : "adjacent", n.backward ? ", backward" : "");
  }

  // Whether both turn the same channels, so that their frequencies compare.
  bool rotation(const LayerGroup& x, const LayerGroup& y) {
    const Numbers &n = x.numbers(), &m = y.numbers();
    if (n.inv_freq.empty() != m.inv_freq.empty()) {
      add(Quantity::rotation, n.inv_freq.empty() ? "none" : turns(x), m.inv_freq.empty() ? "none" : turns(y));
      return false;
    }
    if (n.inv_freq.empty()) return false;
    whole(Quantity::rotated_channels, n.rotary_dim, m.rotary_dim);
    whole(Quantity::first_channel, n.first, m.first);
    if (n.pairing != m.pairing || n.backward != m.backward) {
      const bool permuted =
          n.pairing != m.pairing && a_.gguf != b_.gguf && (a_.gguf ? n : m).pairing == Pairing::adjacent;
      if (permuted)
        notes.insert(
            "Pairs are adjacent in the GGUF file and halves in the other file: the converter permuted the "
            "rows of q and k to match, so both compute the same.");
      else
        add(Quantity::pairing, pairing(n), pairing(m));
    }
    if (n.rotary_dim != m.rotary_dim) settings(x, y);
    return n.rotary_dim == m.rotary_dim;
  }
  // The frequencies of other widths have no pairs in common: what they are made from is compared.
  void settings(const LayerGroup& x, const LayerGroup& y) {
    const auto made_from = [](const LayerGroup& g) {
      std::string all;
      for (Named n : g.position.spec.attention) {
        if (find_encoding(n.name).acts != kQk) continue;
        std::erase_if(n.options, [](const auto& option) {
          return option.first == "channels" || option.first == "side" || option.first == "pairing";
        });
        all += (all.empty() ? "" : "+") + n.print_given();
      }
      return all;
    };
    const std::string p = made_from(x), q = made_from(y);
    if (p != q) add(Quantity::frequencies, p, q);
  }
  static std::string turns(const LayerGroup& g) {
    return text(g.numbers().rotary_dim, " channels", g.theta ? text(", theta ", shortest(*g.theta)) : "");
  }

  std::set<std::int64_t> lengths() const {
    std::set<std::int64_t> all(a_.lengths.begin(), a_.lengths.end());
    all.insert(b_.lengths.begin(), b_.lengths.end());
    return all;
  }
  // The first length at which something differs is told.
  void at_length(const LayerGroup& x, const LayerGroup& y, std::int64_t length, bool rotations) {
    const Numbers s = numbers_of(x.position, double(length)), t = numbers_of(y.position, double(length));
    const std::string where = text(" at ", length, " tokens");
    if (rotations && !same(s.inv_freq, t.inv_freq)) {
      const Largest most = largest_ratio(s.inv_freq, t.inv_freq);
      add(Quantity::frequencies, text(s.inv_freq[most.pair], " of pair ", most.pair, ", theta ", theta(x)),
          text(t.inv_freq[most.pair], ", theta ", theta(y), where), most.ratio);
    }
    if (rotations) number(Quantity::rotary_factor, s.attention_factor, t.attention_factor);
    number(Quantity::softmax_factor, s.softmax_factor, t.softmax_factor);
    const double warm = temperature_at(x.position, length), warmer = temperature_at(y.position, length);
    if (!same(warm, warmer)) add(Quantity::temperature, text(warm), text(warmer, where));
  }
  static std::string theta(const LayerGroup& g) { return g.theta ? shortest(*g.theta) : "none"; }

  // Encodings whose numbers are not compared above, by their options.
  void rest(const LayerGroup& x, const LayerGroup& y) {
    const auto others = [](const LayerGroup& g) {
      std::string all;
      for (const Named& n : g.position.spec.attention) {
        const unsigned acts = find_encoding(n.name).acts;
        const bool compared = (acts == kQk && !g.numbers().inv_freq.empty()) || (acts & kMask) ||
                              (acts == kLogits && !g.numbers().slopes.empty()) || g.kind == "temperature";
        if (!compared) all += (all.empty() ? "" : "+") + text(Spec{{"add", {}}, {}, {n}, {}, {}}.print());
      }
      return all;
    };
    const std::string p = others(x), q = others(y);
    if (p != q) add(Quantity::relative_position, p.empty() ? "none" : p, q.empty() ? "none" : q);
    if (found_.empty() && x.numbers().pairing == y.numbers().pairing && !(x.position.spec == y.position.spec))
      notes.insert(text("The specs ", x.position.spec.print(), " and ", y.position.spec.print(),
                        " give the same numbers."));
  }

  const Explanation &a_, &b_;
  std::vector<Difference> found_;
};

std::map<std::string, std::vector<const LayerGroup*>> by_layer(const Explanation& e) {
  std::map<std::string, std::vector<const LayerGroup*>> all;
  for (const LayerGroup& g : e.groups) {
    auto& of = all[g.position.component];
    for (const std::int64_t layer : g.layers) {
      of.resize(std::max(of.size(), std::size_t(layer) + 1));
      of[std::size_t(layer)] = &g;
    }
  }
  return all;
}

}  // namespace

Differences differences(const Explanation& a, const Explanation& b) {
  Differences out;
  Pairwise pairwise(a, b);
  if (!(a.model.input == b.model.input))
    out.computed.push_back(
        {"", {}, Quantity::position_vectors, a.model.input.print(), b.model.input.print()});
  const auto layers_a = by_layer(a), layers_b = by_layer(b);
  std::set<std::string> components;
  for (const auto& [name, of] : layers_a) components.insert(name);
  for (const auto& [name, of] : layers_b) components.insert(name);
  for (const std::string& name : components) {
    const auto found_a = layers_a.find(name), found_b = layers_b.find(name);
    const std::size_t n = found_a == layers_a.end() ? 0 : found_a->second.size(),
                      m = found_b == layers_b.end() ? 0 : found_b->second.size();
    if (n != m) out.computed.push_back({name, {}, Quantity::layers, text(n), text(m)});
    std::map<std::pair<const LayerGroup*, const LayerGroup*>, std::vector<std::int64_t>> met;
    std::vector<std::pair<const LayerGroup*, const LayerGroup*>> order;
    for (std::size_t l = 0; l < std::min(n, m); ++l) {
      const std::pair both{found_a->second[l], found_b->second[l]};  // null: no such component in this layer
      if (!both.first || !both.second) {
        const auto there = [](const LayerGroup* g) { return g ? g->position.spec.print() : "none"; };
        if (both.first || both.second)
          out.computed.push_back(
              {name, {std::int64_t(l)}, Quantity::component, there(both.first), there(both.second)});
        continue;
      }
      auto& layers = met[both];
      if (layers.empty()) order.push_back(both);
      layers.push_back(std::int64_t(l));
    }
    for (const auto& both : order) {
      for (Difference& d : pairwise.of(*both.first, *both.second)) {
        d.component = name, d.layers = met[both];
        d.a_guess = is_guess(a, *both.first, d.what), d.b_guess = is_guess(b, *both.second, d.what);
        out.computed.push_back(std::move(d));
      }
    }
  }
  for (Difference& d : out.computed) {
    if (d.layers.empty() || d.what == Quantity::component)
      d.a_guess = is_guess(a, d.what), d.b_guess = is_guess(b, d.what);
  }
  Differences towers = tower_differences(a, b);
  for (Difference& d : towers.computed) out.computed.push_back(std::move(d));
  out.notes.assign(pairwise.notes.begin(), pairwise.notes.end());
  out.notes.insert(out.notes.end(), towers.notes.begin(), towers.notes.end());
  if (a.model.trained_length != b.model.trained_length)
    out.notes.push_back(text("Tokens before any extension: ", a.model.trained_length, " in the first and ",
                             b.model.trained_length, " in the second (0: the file does not say)."));
  return out;
}

Differences differences_of_files(const Explanation& a, const Explanation& b,
                                 std::span<const Quantity> expected) {
  Differences out = differences(a, b);
  const std::int64_t n = a.model.longest, m = b.model.longest;
  if (n && m && n != m)
    out.computed.push_back({"",
                            {},
                            Quantity::context_length,
                            text(n, " tokens"),
                            text(m, " tokens"),
                            0,
                            is_guess(a, Quantity::context_length),
                            is_guess(b, Quantity::context_length)});
  for (const Explanation* e : {&a, &b})
    for (const Remark& r : e->model.remarks)
      if (r.refused)
        out.notes.push_back(text("transformers 5.23 refuses ", e->where, ". ", r.key, ": ", r.says, "."));
  for (const Explanation* e : {&a, &b})
    if (!e->model.known)
      out.notes.push_back(text("gnomon does not know the family '", e->model.family, "' of ", e->where,
                               ". What it computes is partly a guess."));
  std::set<Quantity> left_out;
  std::erase_if(out.computed, [&](const Difference& d) {
    const bool known = std::find(expected.begin(), expected.end(), d.what) != expected.end();
    if (known) left_out.insert(d.what);
    return known;
  });
  std::vector<std::string_view> names;
  for (const Quantity quantity : left_out) names.push_back(quantity_name(quantity));
  if (!names.empty()) out.notes.push_back(text("Differences that were expected: ", join(names, ", "), "."));
  return out;
}

std::string_view quantity_name(Quantity quantity) { return kNames[std::size_t(quantity)]; }

std::span<const std::string> quantity_words() {
  static const std::vector<std::string> all = [] {
    std::vector<std::string> words;
    for (const std::string_view name : kNames) {
      std::string& word = words.emplace_back(name);
      for (char& c : word) c = c == ' ' || c == '_' ? '-' : char(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
    }
    return words;
  }();
  return all;
}

Quantity quantity_named(std::string_view word) {
  const auto words = quantity_words();
  const auto found = std::find(words.begin(), words.end(), word);
  if (found != words.end()) return Quantity(found - words.begin());
  const std::vector<std::string_view> views(words.begin(), words.end());
  throw unknown("quantity", word, views);
}

}  // namespace gnomon
