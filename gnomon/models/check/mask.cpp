// Which keys a query sees: windows and chunks, from a mask or from the weights of attention.
#include <algorithm>
#include <bit>
#include <cmath>
#include <optional>

#include "gnomon/core/error.h"
#include "gnomon/core/prose.h"
#include "gnomon/core/text.h"
#include "gnomon/models/check/parts.h"

namespace gnomon {
namespace {

constexpr Prose kText =
#include "gnomon/models/check/mask.txt.inc"
    ;

constexpr std::int64_t kMostQueries = 256;
constexpr double kLost = 0.05;  // weights that are 0 for want of digits, of those that a mask lets through
constexpr double kEdge = 0.5;   // of the weights at the far end of a window, so many are there
constexpr std::int64_t kLeastFar = 4;    // of so many weights at one distance, not all are lost
constexpr std::int64_t kLeastPower = 8;  // of windows that are said to be near a power of two

// What is seen of T keys, of some queries: key `own[i]` is the query's own.
struct Sight {
  std::int64_t T = 0;
  std::vector<std::int64_t> own;
  std::vector<std::uint8_t> seen;  // (queries, T)
  std::vector<double> positions;   // (T)
  std::vector<double> documents;   // (T); empty: one
  bool from_weights = false;
  std::int64_t queries() const { return std::int64_t(own.size()); }
  bool at(std::int64_t i, std::int64_t j) const { return seen[std::size_t(i * T + j)]; }
  double distance(std::int64_t i, std::int64_t j) const {
    return positions[std::size_t(own[std::size_t(i)])] - positions[std::size_t(j)];
  }
  bool together(std::int64_t i, std::int64_t j) const {
    return documents.empty() || documents[std::size_t(own[std::size_t(i)])] == documents[std::size_t(j)];
  }
};

// Fills in what is seen; otherwise says why it cannot.
std::string look(const DumpedArray& a, bool weights, Sight& s) {
  const auto& shape = a.shape;
  const std::int64_t H = shape.size() == 3 ? shape[0] : 1, I = shape[shape.size() - 2];
  s.T = shape.back(), s.from_weights = weights;
  if (H < 1 || I < 1 || s.T < 1) return std::string(kText.at("words", "nothing"));
  const auto queries = some_tokens(I, kMostQueries);
  for (const std::int64_t i : queries) s.own.push_back(i + s.T - I);
  s.seen.assign(std::size_t(s.queries() * s.T), 0);
  for (std::int64_t n = 0; n < s.queries(); ++n) {
    for (std::int64_t h = 0; h < H; ++h) {
      const float* row = &a.values[std::size_t((h * I + queries[std::size_t(n)]) * s.T)];
      const float own = row[s.own[std::size_t(n)]];
      const float first = a.values[std::size_t(queries[0] * s.T + s.own[0])];
      if (!weights && own != first)
        return said<"query">(kText.at("words", "own"), text(queries[std::size_t(n)]));
      for (std::int64_t j = 0; j < s.T; ++j) {
        const bool seen = weights ? row[j] > 0 : row[j] == own;
        auto& all = s.seen[std::size_t(n * s.T + j)];
        if (!weights && h > 0 && bool(all) != seen)
          return said<"head", "query", "key">(kText.at("words", "heads"), text(h),
                                              text(queries[std::size_t(n)]), text(j));
        all |= std::uint8_t(seen);
      }
    }
  }
  return "";
}

// What a mask may be.
struct Rule {
  Named spec;
  std::string apart;
  bool faulty, expected;
  double cost;
  Named computed;  // by which keys are hidden: the spec, or the one that is used in its place
};

// The pairs at the largest distance that a rule shows, and how many of them are hidden.
struct FarEnd {
  double distance = -1;
  std::int64_t shown = 0, missing = 0;
  void add(double at, bool seen) {
    if (at < distance) return;
    if (at > distance) *this = {at, 0, 0};
    ++shown, missing += !seen;
  }
  bool hidden() const { return shown >= kLeastFar && missing == shown; }
};

// How many keys are seen that the rule hides, and hidden that it shows.
HeldHypothesis against(const Sight& s, const Rule& rule, bool causal) {
  const auto made =
      make_encoding(completed(rule.computed), {16, 1, 16, std::max<std::int64_t>(s.T, 1), true});
  const MaskPart* mask = part<MaskPart>(*made);
  const Scene scene{s.positions, {}, {}, {}};
  double extra = 0, missing = 0, shown = 0;
  FarEnd far;
  DumpPlace place;
  for (std::int64_t i = 0; i < s.queries(); ++i) {
    for (std::int64_t j = 0; j < s.T; ++j) {
      const std::int64_t own = s.own[std::size_t(i)];
      const bool shows = s.together(i, j) && (!causal || j <= own) && (!mask || mask->sees(scene, own, j));
      shown += shows;
      if (shows) far.add(std::abs(s.distance(i, j)), s.at(i, j));
      if (shows == s.at(i, j)) continue;
      if (extra + missing == 0) place = {own, -1, j};
      ++(shows ? missing : extra);
    }
  }
  const bool lost = s.from_weights && missing <= kLost * shown && !far.hidden();
  const double error = extra + (lost ? 0 : missing);
  HeldHypothesis h{rule.spec, rule.apart,   rule.faulty, error, error > 0 ? 1 + error : 0,
                   rule.cost, rule.expected};
  if (error > 0) h.place = place;
  return h;
}

// How far queries see, and what they see there and one further.
struct Extent {
  bool causal = true;
  std::int64_t back = 0, ahead = 0;              // the largest distances
  std::int64_t seen = 0, pairs = 0, others = 0;  // at the largest distance back; pairs one further
};
Extent extent_of(const Sight& s) {
  Extent r;
  for (std::int64_t i = 0; i < s.queries(); ++i) {
    for (std::int64_t j = 0; j < s.T; ++j) {
      if (!s.at(i, j)) continue;
      const auto d = std::int64_t(s.distance(i, j));
      r.back = std::max(r.back, d), r.ahead = std::max(r.ahead, -d);
      r.causal &= j <= s.own[std::size_t(i)];
    }
  }
  for (std::int64_t i = 0; i < s.queries(); ++i) {
    for (std::int64_t j = 0; j < s.T; ++j) {
      if (!s.together(i, j)) continue;
      const auto d = std::int64_t(s.distance(i, j));
      r.pairs += d == r.back, r.seen += d == r.back && s.at(i, j), r.others += d == r.back + 1;
    }
  }
  return r;
}

Named window(std::int64_t size) { return {"window", {{"size", size}}}; }

std::string off_by_one(const Extent& r, std::int64_t size, bool more) {
  const std::string keys = text(r.causal ? size : 2 * size - 1);
  if (r.causal)
    return more ? said<"keys">(kText.at("apart", "more"), keys)
                : said<"keys">(kText.at("apart", "fewer"), keys);
  return more ? said<"keys">(kText.at("apart", "more.both"), keys)
              : said<"keys">(kText.at("apart", "fewer.both"), keys);
}

// The size of the window that is expected; 0: none is.
std::int64_t expected_window(const Asked& asked) {
  for (const Named& named : asked.expected)
    if (named.name == "window") return std::int64_t(named.number("size"));
  return 0;
}

// The size of chunks, if they are: where key 0 is first hidden.
std::int64_t chunk_size(const Sight& s) {
  for (std::int64_t i = 0; i < s.queries(); ++i)
    if (!s.at(i, 0) && s.together(i, 0)) return std::int64_t(s.distance(i, 0));
  return 0;
}

std::vector<Rule> rules(const Sight& s, const Extent& r, const Asked& asked) {
  const std::string apart(r.causal ? kText.at("apart", "causal") : kText.at("apart", "bidirectional"));
  std::vector<Rule> all{{{"none", {}}, apart, false, false, 0, {"none", {}}}};
  const std::int64_t size = r.back + 1, wanted = expected_window(asked);
  for (const Hypothesis& h : expected_of(asked, [](const Encoding& e) { return part<MaskPart>(e); }))
    all.push_back({h.spec, apart, false, true, 0, h.spec});
  for (const std::int64_t one : {size, size - 1, size + 1}) {
    if (one < 1 || one == wanted) continue;
    if (wanted && std::abs(one - wanted) == 1)
      all.push_back(
          {window(wanted), apart + ", " + off_by_one(r, one, one > wanted), true, false, 2, window(one)});
    else
      all.push_back({window(one), apart, false, false, 1, window(one)});
  }
  if (const std::int64_t chunk = chunk_size(s); chunk > 0) {
    const Named spec{"chunk", {{"size", chunk}}};
    all.push_back({spec, apart, false, false, 1.5, spec});
  }
  return all;
}

// A window that is one beside a power of two, which windows are.
void remark_on_size(const Extent& r, const Asked& asked, Checked& c) {
  if (!c.named || c.best.spec.name != "window" || expected_window(asked)) return;
  const std::int64_t size = r.causal ? r.back + 1 : r.back;
  const auto power = [](std::int64_t n) { return n >= kLeastPower && std::has_single_bit(std::uint64_t(n)); };
  const std::int64_t side = r.causal ? 0 : 1;  // window(size=…) counts the query's own key
  if (power(size - 1))
    c.remarks.push_back(
        said<"keys", "window">(kText.at("remark", "power.more"), text(size), text(size - 1 + side)));
  if (power(size + 1))
    c.remarks.push_back(
        said<"keys", "window">(kText.at("remark", "power.fewer"), text(size), text(size + 1 + side)));
}

Checked check_sight(const DumpedArray& a, const Asked& asked, bool weights) {
  Checked c{.looked_at = a.name, .unit = "keys"};
  if (a.shape.size() != 2 && a.shape.size() != 3)
    throw Error(Fault::input, text(a.name, ": found ", a.shape.size(),
                                   " dimensions; allowed are (heads, queries, keys) and (queries, keys)"));
  if (a.shape[a.shape.size() - 2] > a.shape.back())
    throw Error(Fault::input, text(a.name, ": found ", a.shape[a.shape.size() - 2], " queries and ",
                                   a.shape.back(), " keys; allowed are at most as many queries as keys"));
  Sight s;
  c.words = look(a, weights, s);
  if (!c.words.empty()) return c;
  const bool given = asked.streams == 1 && std::int64_t(asked.positions.size()) == s.T;
  if (std::int64_t(asked.documents.size()) == s.T) s.documents = asked.documents;
  for (std::int64_t t = 0; t < s.T; ++t)
    s.positions.push_back(given ? asked.positions[std::size_t(t)] : double(t));
  const Extent r = extent_of(s);
  if (weights && r.others > 0 && double(r.seen) < kEdge * double(r.pairs)) {
    c.words = kText.at("words", "fade");
    return c;
  }
  std::vector<HeldHypothesis> all;
  for (const Rule& rule : rules(s, r, asked)) all.push_back(against(s, rule, r.causal));
  settle(std::move(all), c);
  if (r.others > 0 && c.named && c.best.spec.name == "window") {
    c.evidence = {{"farthest_distance_seen", double(r.back)},
                  {"keys_seen_there", double(r.seen)},
                  {"keys_there", double(r.pairs)},
                  {"keys_one_further", double(r.others)}};
    c.remarks.push_back(said<"last", "seen", "pairs", "next", "others">(
        kText.at("remark", "edge"), text(r.back), text(r.seen), text(r.pairs), text(r.back + 1),
        text(r.others)));
  } else if (c.named && c.best.spec.name == "none") {
    c.remarks.push_back(said<"keys">(kText.at("remark", "short"), text(s.T)));
  }
  remark_on_size(r, asked, c);
  if (c.best.spec.name == "none" && c.named && expected_window(asked) >= s.T) return c;
  if (!expected_of(asked, [](const Encoding& e) { return part<MaskPart>(e); }).empty())
    compare_with_expected(asked, c);
  return c;
}

}  // namespace

Checked check_mask(const DumpedArray& a, const Asked& asked) {
  if (Checked c{.looked_at = a.name, .words = not_numbers(a)};
      std::any_of(a.values.begin(), a.values.end(), [](float x) { return std::isnan(x); }))
    return c;
  return check_sight(a, asked, false);
}
Checked check_weights(const DumpedArray& a, const Asked& asked) {
  if (Checked c{.looked_at = a.name, .words = not_numbers(a)}; !c.words.empty()) return c;
  return check_sight(a, asked, true);
}

}  // namespace gnomon
