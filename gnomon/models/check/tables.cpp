// Tables of cos and sin, and inverse frequencies.
#include <algorithm>
#include <cmath>

#include "gnomon/core/error.h"
#include "gnomon/core/text.h"
#include "gnomon/models/check/rotary_search.h"

namespace gnomon {
namespace {

constexpr std::int64_t kQuickTokens = 256, kMostTokens = 4096;

// A table of cos and sin, and how the channels of its rows repeat.
struct Tables {
  std::int64_t T, N;
  std::string pairing;  // that its width is made for; empty: one column a pair
  std::vector<Complex> z;
  double unit;
};

Tables tables_of(const DumpedArray& cos, const DumpedArray& sin) {
  const std::int64_t T = cos.shape[0], W = cos.shape[1];
  const auto repeats = [&](std::int64_t step,
                           std::int64_t next) {  // columns n·step and n·step + next are equal
    if (W % 2) return false;
    for (std::int64_t t = 0; t < T; ++t)
      for (std::int64_t n = 0; n < W / 2; ++n)
        for (const DumpedArray* a : {&cos, &sin})
          if (a->values[std::size_t(t * W + n * step)] != a->values[std::size_t(t * W + n * step + next)])
            return false;
    return true;
  };
  Tables s{T, W, "", {}, std::max(cos.unit, sin.unit)};
  const bool halves = repeats(1, W / 2), adjacent = repeats(2, 1);
  if (halves != adjacent) s.pairing = halves ? "halves" : "adjacent", s.N = W / 2;
  for (std::int64_t t = 0; t < T; ++t) {
    for (std::int64_t n = 0; n < s.N; ++n) {
      const std::size_t at = std::size_t(t * W + (s.pairing == "adjacent" ? 2 * n : n));
      s.z.push_back({cos.values[at], sin.values[at]});
    }
  }
  return s;
}

Misfit misfit(const Tables& s, const Hypothesis& h, std::span<const double> positions,
              const std::vector<std::int64_t>& tokens) {
  Misfit m;
  const auto made = rotary_of(h.spec, 2 * s.N);
  if (!made || part<TurnPart>(*made)->turns_at(1).window.pairs() != s.N) {
    m.add(INFINITY, 1);
    return m;
  }
  const auto frequencies = made->frequencies();
  std::vector<double> places;
  for (const std::int64_t t : tokens) places.push_back(positions[std::size_t(t)]);
  const auto z = factors_of(*made, h, places, Role::k);
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    for (std::int64_t n = 0; n < s.N; ++n) {
      const Complex by = z[i * std::size_t(s.N) + std::size_t(n)],
                    miss = s.z[std::size_t(tokens[i] * s.N + n)] - by;
      const double angle = std::abs((places[i] + h.shift) * frequencies[std::size_t(n)]);
      m.add(std::max(std::abs(miss.real()), std::abs(miss.imag())),
            std::abs(by) * (2 * s.unit + kAngle * (1 + angle)));
    }
  }
  return m;
}

}  // namespace

Checked check_cos_sin(const DumpedArray& cos, const DumpedArray& sin, const Asked& asked) {
  Checked c{.looked_at = "cos and sin"};
  if (cos.shape != sin.shape || cos.shape.size() != 2)
    throw Error(Fault::input,
                "cos and sin: found unequal or unknown shapes; allowed is the same for both, (tokens, pairs) "
                "or (tokens, channels)");
  check_extent("cos: channels", cos.shape[1], 4096);
  for (const DumpedArray* a : {&cos, &sin}) {
    if (const std::string why = not_numbers(*a); !why.empty()) {
      c.words = why;
      return c;
    }
  }
  const Tables s = tables_of(cos, sin);
  const auto positions = positions_of(asked, s.T, "cos");
  const auto few = some_tokens(s.T, kQuickTokens), many = some_tokens(s.T, kMostTokens);
  Turned turned{std::int64_t(few.size()), s.N, {}, {}, 2 * s.unit};
  std::vector<double> few_positions;
  for (const std::int64_t t : few) {
    few_positions.push_back(positions[std::size_t(t)]);
    turned.z.insert(turned.z.end(), s.z.begin() + t * s.N, s.z.begin() + (t + 1) * s.N);
  }
  turned.positions = few_positions;
  const Window window{s.pairing.empty() ? "halves" : s.pairing, 2 * s.N, 2 * s.N};
  std::vector<Hypothesis> plain;
  const auto more = rotary_hypotheses(window, turned, asked);
  plain.insert(plain.end(), more.begin(), more.end());
  add_expected(expected_of(asked, is_rotary), plain);
  search(plain,
         {[&](const Hypothesis& h) { return misfit(s, h, positions, few); },
          [&](const Hypothesis& h) { return misfit(s, h, positions, many); },
          {faults_of_positions, faults_of_frequencies, faults_of_angles},
          [&](const Hypothesis& best) {
            auto all = confused(best, 2 * s.N);
            std::erase_if(all, [&](const Hypothesis& h) {
              return h.spec.option("pairing") != OptionValue(window.pairing);
            });
            return all;
          }},
         c);
  c.remarks.push_back(s.pairing.empty()
                          ? "one column per pair: the program that uses the table decides the pairing"
                          : text("columns repeat as with pairing=", s.pairing));
  remark_on_numbers(2 * s.N, c);
  compare_with_expected(asked, c);
  return c;
}

namespace {

// Frequencies that nobody computed: memory as it was found.
std::string never_initialised(const DumpedArray& a) {
  const auto& w = a.values;
  std::size_t zeros = 0, bad = 0, tiny = 0, negative = 0, rising = 0;
  for (std::size_t n = 0; n < w.size(); ++n) {
    zeros += w[n] == 0, bad += !std::isfinite(w[n]), negative += w[n] < 0;
    tiny += w[n] != 0 && std::abs(w[n]) < 1e-30F;
    rising += n > 0 && w[n] > w[n - 1];
  }
  std::string why;
  const auto add = [&](std::size_t count, std::string_view what) {
    if (count) why += text(why.empty() ? "" : ", ", count, " ", what);
  };
  add(bad, "not finite"), add(negative, "negative"), add(tiny, "below 1e-30"), add(rising, "rising");
  if (zeros == w.size()) add(zeros, "zero");
  return why.empty() ? "" : text("this was never initialised; of ", counted(w.size(), "number"), ": ", why);
}

}  // namespace

Checked check_inv_freq(const DumpedArray& a, const Asked& asked) {
  Checked c{.looked_at = "inv_freq", .unit = "radians a token"};
  if (a.shape.size() != 1)
    throw Error(Fault::input, text("inv_freq: found ", a.shape.size(), " dimensions; allowed is 1, (pairs)"));
  check_extent("inv_freq: pairs", a.extent(0), 2048);
  c.words = a.values.empty() ? "inv_freq is empty" : never_initialised(a);
  if (!c.words.empty()) return c;
  const std::int64_t N = a.extent(0);
  const std::vector<double> w(a.values.begin(), a.values.end());
  // A table of inverse frequencies is float32 in every program that is right, so only that rounding is allowed for.
  const Judge judge = [&](const Hypothesis& h) {
    Misfit m;
    const auto made = rotary_of(h.spec, 2 * N);
    const auto found = made ? made->frequencies() : std::vector<double>{};
    for (std::size_t n = 0; n < w.size(); ++n) {
      if (found.size() != w.size()) return m.add(INFINITY, 1), m;
      const double want = rounded(found[n], h.frequencies);
      m.add(std::abs(w[n] - want), want * kAngle);
    }
    return m;
  };
  const Window window{"halves", 2 * N, 2 * N};
  std::vector<Hypothesis> plain;
  const auto more = rotary_rules(window, {w, 1e-12, 0, 0, asked.theta});
  plain.insert(plain.end(), more.begin(), more.end());
  add_expected(expected_of(asked, is_rotary), plain);
  search(plain,
         {judge,
          judge,
          {faults_of_frequencies},
          [&](const Hypothesis& best) {
            auto all = confused(best, 2 * N);
            std::erase_if(
                all, [](const Hypothesis& h) { return h.spec.option("pairing") != OptionValue("halves"); });
            return all;
          }},
         c);
  c.remarks.push_back("frequencies alone do not show which channels form a pair");
  remark_on_numbers(2 * N, c);
  compare_with_expected(asked, c);
  return c;
}

}  // namespace gnomon
