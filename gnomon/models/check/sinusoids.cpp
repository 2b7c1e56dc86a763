// Absolute sinusoids beside the words.
#include <algorithm>
#include <cmath>

#include "gnomon/core/error.h"
#include "gnomon/core/text.h"
#include "gnomon/models/check/parts.h"
#include "gnomon/models/check/turned.h"

namespace gnomon {
namespace {

constexpr std::int64_t kMostTokens = 512;
constexpr double kAngle = 0x1p-21;
constexpr std::int64_t kWidest = 16384, kMostPairs = 256;  // pairs whose frequency is sought
// Numbers of the table that each hypothesis is held against at first, and those of the nearest.
constexpr std::int64_t kQuick = 1 << 15, kFull = 1 << 18;

bool is_input(const Encoding& e) { return part<InputPart>(e) && !e.param_count(); }

struct Table {
  std::int64_t T, C;
  const DumpedArray& a;
  double at(std::int64_t t, std::int64_t c) const { return a.values[std::size_t(t * C + c)]; }
};

// The channel of the sine of pair i, or of its cosine.
std::int64_t channel(bool halves, std::int64_t C, std::int64_t i, bool cosine) {
  return halves ? i + (cosine ? C / 2 : 0) : 2 * i + (cosine ? 1 : 0);
}

// NaN where the encoding has no vector: some know whole positions from 0 to an end only.
double vector_at(const Encoding& e, const Scene& scene, std::size_t t, std::int64_t c) {
  try {
    return part<InputPart>(e)->input(scene, std::int64_t(t), c);
  } catch (const Error&) {
    return std::nan("");
  }
}

Misfit misfit(const Table& s, const Hypothesis& h, std::span<const double> positions,
              const std::vector<std::int64_t>& tokens) {
  Misfit m;
  const auto e = make_encoding(completed(h.spec), {s.C, 1, s.C, std::max<std::int64_t>(s.T, 1), true});
  std::vector<double> places;
  for (const std::int64_t t : tokens)
    places.push_back((h.backwards ? -1 : 1) * rounded(positions[std::size_t(t)] + h.shift, h.positions));
  const auto layout = h.spec.option("layout");
  const bool halves = layout && layout->word() == "halves";
  const Scene scene{places, {}, {}, {}};
  for (std::size_t t = 0; t < tokens.size(); ++t) {
    for (std::int64_t c = 0; c < s.C; ++c) {
      // Where cosines stand first, a channel has what its partner should have.
      const std::int64_t half = s.C / 2, partner = halves ? (c < half ? c + half : c - half) : c ^ 1;
      const std::int64_t from = h.cosine_first && c < 2 * half ? partner : c;
      const double want = vector_at(*e, scene, t, from);
      m.add(std::abs(s.at(tokens[t], c) - want), 2 * s.a.unit + kAngle * (1 + std::abs(places[t])));
    }
  }
  return m;
}

Named spec_of(bool halves, bool tensor2tensor, double base, double amplitude) {
  Named spec{"sinusoidal",
             {{"layout", halves ? "halves" : "interleaved"},
              {"frequencies", tensor2tensor ? "tensor2tensor" : "paper"}}};
  if (base != 10000) spec.options.emplace_back("base", base);
  if (amplitude != 1) spec.options.emplace_back("amplitude", amplitude);
  return spec;
}

double to_digits(double x, int digits) {
  const double unit = std::pow(10, std::floor(std::log10(x)) - digits + 1);
  return unit >= 1 ? std::round(x / unit) * unit : std::round(x / unit) / std::round(1 / unit);
}

// Every how manieth pair is looked at.
std::int64_t stride(std::int64_t C) {
  return std::max<std::int64_t>(1, (C / 2 + kMostPairs - 1) / kMostPairs);
}

// The bases that the frequencies of a layout may have: 10000, and what the slowest pair that is well known says.
std::vector<double> bases(const Measured& m, std::int64_t C, bool tensor2tensor, const Asked& asked) {
  std::vector<double> all{10000};
  if (asked.theta > 0) all.push_back(asked.theta);
  const double N = double(C / 2), pairs = tensor2tensor ? std::max(N - 1, 1.0) : double(C) / 2;
  for (std::size_t n = m.frequencies.size(); n-- > 1;) {
    if (!(m.frequencies[n] > 50 * m.resolution)) continue;
    const double base = std::pow(m.frequencies[n], -pairs / (double(n) * double(stride(C))));
    if (base > 1 && base < 1e12)
      for (const int digits : {1, 2, 4}) all.push_back(to_digits(base, digits));
    break;
  }
  return all;
}

std::vector<Hypothesis> hypotheses(const Table& s, const Turned& turned, bool halves, const Asked& asked) {
  const Measured m = measure(turned, asked.positions_given ? 64 : 4096);
  const double amplitude = std::abs(m.factor - 1) < 16 * s.a.unit + 1e-5
                               ? 1
                               : std::min(1e6, to_digits(std::max(m.factor, 1e-6), 6));
  std::vector<Hypothesis> all;
  for (const bool tensor2tensor : {false, true}) {
    for (const double base : bases(m, s.C, tensor2tensor, asked)) {
      for (const double shift : {m.shift, 0.0}) {
        all.push_back({.spec = spec_of(halves, tensor2tensor, base, amplitude),
                       .cost = (base != 10000) * 1.0,
                       .shift = shift,
                       .shift_is_fault = asked.positions_given});
      }
    }
  }
  return all;
}

}  // namespace

Checked check_table(const DumpedArray& a, const Asked& asked) {
  Checked c{.looked_at = "table"};
  if (a.shape.size() != 2)
    throw Error(Fault::input,
                text("table: found ", a.shape.size(), " dimensions; allowed are 2, (tokens, width)"));
  check_extent("table: width", a.extent(1), kWidest);
  c.words = not_numbers(a);
  if (!c.words.empty()) return c;
  const Table s{a.extent(0), a.extent(1), a};
  if (asked.streams > 1)
    throw Error(Fault::input, text("table: found ", asked.streams, " streams of positions; allowed is 1"));
  const auto positions = positions_of(asked, s.T, "table");
  const std::int64_t width = std::max<std::int64_t>(s.C, 1), step = stride(s.C);
  const auto few = some_tokens(s.T, std::clamp<std::int64_t>(kQuick / width, 8, kMostTokens));
  const auto tokens = some_tokens(s.T, std::clamp<std::int64_t>(kFull / width, 16, kMostTokens));
  std::vector<double> places;
  for (const std::int64_t t : tokens) places.push_back(positions[std::size_t(t)]);
  std::vector<Hypothesis> plain;
  for (const bool halves : {false, true}) {
    for (const bool cosine_first : {false, true}) {
      Turned turned{std::int64_t(tokens.size()), (s.C / 2 + step - 1) / step, {}, places, 2 * a.unit};
      for (const std::int64_t t : tokens)
        for (std::int64_t i = 0; i < s.C / 2; i += step)
          turned.z.push_back({s.at(t, channel(halves, s.C, i, !cosine_first)),
                              s.at(t, channel(halves, s.C, i, cosine_first))});
      for (Hypothesis& h : hypotheses(s, turned, halves, asked)) {
        h.cosine_first = cosine_first;
        plain.push_back(h);
      }
    }
  }
  add_expected(expected_of(asked, is_input), plain);
  search(plain,
         {[&](const Hypothesis& h) { return misfit(s, h, positions, few); },
          [&](const Hypothesis& h) { return misfit(s, h, positions, tokens); },
          {faults_of_positions},
          [](const Hypothesis& best) {
            std::vector<Hypothesis> all;
            for (const bool other_layout : {false, true}) {
              for (const bool tensor2tensor : {false, true}) {
                all.push_back(best);
                all.back().spec = spec_of(other_layout, tensor2tensor, 10000, 1);
              }
            }
            return all;
          }},
         c);
  compare_with_expected(asked, c);
  return c;
}

}  // namespace gnomon
