// What is added to the logits: ALiBi's slopes and their forms, T5's buckets.
#include <algorithm>
#include <bit>
#include <cmath>
#include <optional>

#include "gnomon/core/error.h"
#include "gnomon/core/text.h"
#include "gnomon/encodings/distance_bias.h"
#include "gnomon/models/check/parts.h"

namespace gnomon {
namespace {

constexpr double kFloats = 0x1p-21;                    // products of float32
constexpr double kMasked = -1e9;                       // and below: a key that is not seen
constexpr std::int64_t kMostHeads = 4096, kHead = 16;  // where the channels of a head do not matter

// A bias by distance, from the definition of an encoding: by its spec, or apart from it.
struct Rule {
  Named spec;
  std::string apart;
  bool faulty = false;
  double cost = 0;
  std::function<double(std::int64_t h, double delta)> f;
  bool expected = false;
};

// Null: not a bias by distance without parameters.
std::function<double(std::int64_t, double)> bias_of(const Named& spec, std::int64_t H,
                                                    std::int64_t D = kHead) {
  const std::shared_ptr<const Encoding> e = make_encoding(completed(spec), {H * D, H, D, 2048, false});
  if (!part<BiasPart>(*e) || e->param_count()) return {};
  return [e](std::int64_t h, double delta) {
    const std::vector<double> places{delta, 0};
    return part<BiasPart>(*e)->bias({places, {}, {}, {}}, h, 0, 1);
  };
}

double two_digits(double x) { return std::round(x * 100) / 100; }
Named alibi(const char* slopes) { return {"alibi", {{"slopes", slopes}}}; }

// The rules for the slopes of H heads, and others that programs have; `first`: the slope of head 0 in the dump.
std::vector<Rule> slope_rules(std::int64_t H, double first, const Asked& asked) {
  std::vector<Rule> all;
  const auto add = [&](const Named& spec, double cost, std::int64_t D = kHead) {
    all.push_back({spec, "", false, cost, bias_of(spec, H, D)});
  };
  for (const Named& named : asked.expected) {
    if (auto f = bias_of(named, H)) all.push_back({shortened(named), "", false, 0, f, true});
  }
  add(alibi("authors"), 0);
  const std::int64_t P = std::int64_t(std::bit_floor(std::uint64_t(H)));
  if (P != H) add(alibi("geometric"), 0.5);
  if (first > 0 && first < 1) {
    for (const auto& [rule, heads] : {std::pair{"authors", P}, {"geometric", H}}) {
      if (heads == H && rule[0] == 'g' && P == H) continue;  // the same
      const double most = -std::log2(first) * double(heads);
      if (most > 0.01 && most < 99 && std::abs(most - 8) > 0.004)
        add({"alibi", {{"slopes", rule}, {"bias_max", two_digits(most)}}}, 1);
    }
  }
  for (const std::int64_t D : {16, 32, 64, 80, 96, 128, 256}) {
    if (H * D > 65536) break;
    const Named scaled{"alibi", {{"slopes", "authors"}, {"scaled", "on"}}};
    all.push_back({scaled, text("heads have ", D, " channels"), false, 1, bias_of(scaled, H, D)});
  }
  const auto authors = bias_of(alibi("authors"), H);
  all.push_back({alibi("authors"), "exponents start at 0 instead of 1", true, 2,
                 [=](std::int64_t h, double d) { return authors(h, d) * std::exp2(8.0 / double(P)); }});
  for (std::int64_t whole = 2 * H; whole <= 16 * H && whole <= 1024; whole *= 2) {
    const auto larger = bias_of(alibi("authors"), whole);
    for (std::int64_t from = 0; from < whole; from += H) {
      all.push_back({alibi("authors"), text("the heads are ", from, " to ", from + H - 1, " of ", whole),
                     false, 2.5, [=](std::int64_t h, double d) { return larger(h + from, d); }});
    }
  }
  return all;
}

// A bias as it lies there.
struct Bias {
  std::int64_t H, I, T;  // heads, queries, keys; one query alone stands for all
  bool by_distance;      // key r is at distance r before the query
  const DumpedArray& a;
  double at(std::int64_t h, std::int64_t i, std::int64_t j) const {
    return a.values[std::size_t((h * I + i) * T + j)];
  }
  bool seen(std::int64_t h, std::int64_t i, std::int64_t j) const { return at(h, i, j) > kMasked; }
};

// How a bias by distance is written into the logits.
struct Form {
  const char* apart;
  bool faulty;
  double cost;
  bool one_row;  // the same for every query
  double (*at)(const Rule& rule, std::int64_t h, double i, double j, double last);
};
constexpr Form kForms[] = {
    {"", false, 0, false,
     [](const Rule& r, std::int64_t h, double i, double j, double) { return r.f(h, i - j); }},
    {"it grows towards keys after the query, which a causal mask hides", false, 0.5, false,
     [](const Rule& r, std::int64_t h, double i, double j, double) {
       return i < j ? -r.f(h, j - i) : r.f(h, i - j);
     }},
    {"the bias of key j is slope·j for every query (BLOOM)", false, 0.5, true,
     [](const Rule& r, std::int64_t h, double, double j, double) { return -r.f(h, j); }},
    {"the bias of key j is −slope·(T − 1 − j) for every query (MPT)", false, 0.5, true,
     [](const Rule& r, std::int64_t h, double, double j, double last) { return r.f(h, last - j); }},
    {"the sign is wrong: far keys are favoured", true, 2, false,
     [](const Rule& r, std::int64_t h, double i, double j, double) { return -r.f(h, i - j); }},
    {"distances are off by one", true, 2, false,
     [](const Rule& r, std::int64_t h, double i, double j, double) { return r.f(h, std::abs(i - j) + 1); }},
};

HeldHypothesis against(const Bias& b, const Rule& rule, const Form& form) {
  Misfit m;
  std::string apart = rule.apart;
  if (*form.apart) apart += (apart.empty() ? "" : ", ") + std::string(form.apart);
  const std::int64_t step_i = std::max<std::int64_t>(1, b.I / 64),
                     step_j = std::max<std::int64_t>(1, b.T / 256);
  for (std::int64_t h = 0; h < b.H; ++h) {
    for (std::int64_t i = 0; i < b.I; i += step_i) {
      for (std::int64_t j = 0; j < b.T; j += step_j) {
        if (!b.seen(h, i, j)) continue;
        const double query = b.by_distance ? double(j) : double(i + b.T - b.I),
                     key = b.by_distance ? 0 : double(j);
        const double want = form.at(rule, h, query, key, double(b.T - 1));
        m.add(std::abs(b.at(h, i, j) - want), (3 * b.a.unit + kFloats) * std::abs(want));
      }
    }
  }
  return {rule.spec,
          apart,
          rule.faulty || form.faulty,
          m.error,
          m.ratio,
          rule.cost + form.cost,
          rule.expected && !form.faulty};
}

// The bias by distance, δ from −(T − 1) to T − 1, of all heads; none where it depends on more, or where nothing is seen.
struct ByDistance {
  std::int64_t first = 0;                    // δ of the first column
  std::vector<std::vector<double>> columns;  // (distances, H); empty: not seen
};
std::optional<ByDistance> by_distance(const Bias& b) {
  ByDistance d{b.by_distance ? 0 : 1 - b.T, {}};
  d.columns.resize(std::size_t(b.by_distance ? b.T : 2 * b.T - 1));
  for (std::int64_t i = 0; i < b.I; ++i) {
    for (std::int64_t j = 0; j < b.T; ++j) {
      if (!b.seen(0, i, j)) continue;
      auto& column = d.columns[std::size_t(b.by_distance ? j : i + b.T - b.I - j + b.T - 1)];
      std::vector<double> now;
      for (std::int64_t h = 0; h < b.H; ++h) now.push_back(b.at(h, i, j));
      if (!column.empty() && column != now) return std::nullopt;
      column = std::move(now);
    }
  }
  return d;
}

// Buckets by where the bias changes: how many borders are elsewhere.
std::vector<HeldHypothesis> buckets(const ByDistance& d, const Asked& asked) {
  std::vector<HeldHypothesis> all;
  const auto compare = [&](const Buckets& b, bool exchanged, const Named& spec, double cost, bool expected) {
    std::size_t missed = 0, borders = 0, wide = 0;
    const double sign = exchanged ? -1 : 1;
    for (std::size_t n = 1; n < d.columns.size(); ++n) {
      if (d.columns[n].empty() || d.columns[n - 1].empty()) continue;
      const double delta = sign * (double(d.first) + double(n));
      const bool border = d.columns[n] != d.columns[n - 1];
      borders += border, wide += !border && delta > 1;
      missed += border != (t5_bucket(b, delta) != t5_bucket(b, delta - sign));
    }
    if (borders < 3 || wide == 0)
      return;  // every distance has a bias of its own, or all have one: nothing to tell buckets by
    const std::string apart = exchanged  ? "query and key are swapped"
                              : b.causal ? "it is causal"
                                         : "it is bidirectional";
    all.push_back({spec, apart, exchanged, double(missed), missed ? 1 + double(missed) : 0, cost, expected});
  };
  for (const std::int64_t count : {32, 16, 64, 128, 8, 256, 320}) {
    for (const std::int64_t distance : {128, 64, 256, 512, 32, 20, 800, 1024}) {
      for (const bool causal : {true, false}) {
        const Buckets b{count, distance, causal};
        if (distance <= count / (causal ? 2 : 4)) continue;
        const Named spec{"t5", {{"buckets", count}, {"distance", distance}}};
        const double cost = 1 + 0.25 * (count != 32) + 0.25 * (distance != 128);
        compare(b, false, spec, cost, false);
        if (causal) compare(b, true, spec, cost + 2, false);
      }
    }
  }
  for (const Named& named : asked.expected) {
    if (named.name != "t5") continue;
    const Options options("t5", find_encoding("t5").options, named.options);
    for (const bool causal : {true, false})
      compare({options.whole("buckets"), options.whole("distance"), causal}, false, shortened(named), 0,
              true);
  }
  return all;
}

// What the slope of head 0 is, if it is one: the step to the key before the last.
double first_slope(const Bias& b) {
  if (b.T < 2) return 0;
  if (b.by_distance) return b.at(0, 0, 0) - b.at(0, 0, 1);
  const std::int64_t i = b.I - 1, j = b.T - 1;
  return b.at(0, i, j) - b.at(0, i, j - 1);
}

}  // namespace

Checked check_bias(const DumpedArray& a, const Asked& asked) {
  Checked c{.looked_at = "bias"};
  const auto& s = a.shape;
  if (s.size() != 3 && s.size() != 2)
    throw Error(Fault::input, text("bias: found ", s.size(),
                                   " dimensions; allowed are (heads, queries, keys) and (heads, distances)"));
  const Bias b{s[0], s.size() == 3 ? s[1] : 1, s.back(), s.size() == 2, a};
  if (b.I > b.T)
    throw Error(Fault::input, text("bias: found ", b.I, " queries and ", b.T,
                                   " keys; allowed are at most as many queries as keys"));
  check_extent("bias: heads", b.H, kMostHeads);
  if (a.values.empty() ||
      std::any_of(a.values.begin(), a.values.end(), [](float x) { return std::isnan(x) || x > 1e30F; })) {
    c.words = a.values.empty() ? "bias is empty" : not_numbers(a);
    return c;
  }
  std::vector<HeldHypothesis> all;
  const auto rules = slope_rules(b.H, first_slope(b), asked);
  for (const Rule& rule : rules) {
    if (!rule.f) continue;
    for (const Form& form : kForms)
      if (!(b.by_distance && form.one_row)) all.push_back(against(b, rule, form));
  }
  const bool alibi = std::any_of(all.begin(), all.end(), [](const HeldHypothesis& h) { return h.fits(); });
  if (!alibi) {
    if (const auto distances = by_distance(b)) {
      auto more = buckets(*distances, asked);
      if (std::any_of(more.begin(), more.end(), [](const HeldHypothesis& h) { return h.fits(); })) {
        all = std::move(more), c.unit = "borders";
        c.remarks.push_back(
            "decided by the distances at which the bias changes; the table is learned, so its values show "
            "nothing");
      }
    } else {
      c.remarks.push_back("the bias differs between pairs at the same distance");
    }
  }
  settle(std::move(all), c);
  compare_with_expected(asked, c);
  return c;
}

Checked check_slopes(const DumpedArray& a, const Asked& asked) {
  Checked c{.looked_at = "slopes"};
  if (a.shape.size() != 1)
    throw Error(Fault::input, text("slopes: found ", a.shape.size(), " dimensions; allowed is 1, (heads)"));
  check_extent("slopes: heads", a.extent(0), kMostHeads);
  c.words = not_numbers(a);
  if (!c.words.empty()) return c;
  const std::int64_t H = a.extent(0);
  const double sign = a.values[0] < 0 ? -1 : 1;
  std::vector<HeldHypothesis> all;
  for (const Rule& rule : slope_rules(H, sign * a.values[0], asked)) {
    if (!rule.f) continue;
    Misfit m;
    for (std::int64_t h = 0; h < H; ++h) {
      const double want = -rule.f(h, 1);
      m.add(std::abs(sign * a.values[std::size_t(h)] - want), (2 * a.unit + kFloats) * std::abs(want));
    }
    all.push_back({rule.spec, rule.apart, rule.faulty, m.error, m.ratio, rule.cost, rule.expected});
  }
  if (sign < 0) c.remarks.push_back("the slopes are negative: they include the sign of the bias");
  settle(std::move(all), c);
  compare_with_expected(asked, c);
  return c;
}

}  // namespace gnomon
