// Tables of cos and sin, and inverse frequencies.
#include <algorithm>
#include <cmath>

#include "gnomon/core/error.h"
#include "gnomon/core/text.h"
#include "gnomon/models/check/placement.h"
#include "gnomon/models/check/streams.h"

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

Misfit misfit(const Tables& s, const Hypothesis& h, const Positions& positions,
              const std::vector<std::int64_t>& tokens) {
  Misfit m;
  const auto made = rotary_of(h.spec, 2 * s.N);
  if (!made || !takes(*made, positions) || part<TurnPart>(*made)->turns_at(1).window.pairs() != s.N) {
    m.add(INFINITY, 1);
    return m;
  }
  const std::vector<double> places = places_of(tokens, positions), frequencies = made->frequencies();
  const auto z = factors_of(*made, h, Positions(places, 1, positions.axes), Role::k);
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const std::vector<double> angles = angles_at(frequencies, h, positions, tokens[i]);
    for (std::int64_t n = 0; n < s.N; ++n) {
      const double off = kAngle * (1 + angles[std::size_t(n)]);
      const Applied by = applied(h, z[i * std::size_t(s.N) + std::size_t(n)], off);
      const Complex miss = s.z[std::size_t(tokens[i] * s.N + n)] - by.z;
      m.add(std::max(std::abs(miss.real()), std::abs(miss.imag())),
            std::abs(by.z) * (2 * s.unit + off) + by.slack, {tokens[i], -1, n});
    }
  }
  return m;
}

// The search among rotations for a table, by these positions.
class Look {
 public:
  Look(const Tables& s, const Asked& asked, std::vector<double> positions)
      : s_(s),
        asked_(asked),
        values_(std::move(positions)),
        positions_(values_, 1, asked.streams),
        window_{s.pairing.empty() ? "halves" : s.pairing, 2 * s.N, 2 * s.N},
        few_(some_tokens(s.T, kQuickTokens)),
        many_(some_tokens(s.T, kMostTokens)) {
    places_ = places_of(few_, positions_);
    for (const std::int64_t t : few_) z_.insert(z_.end(), s.z.begin() + t * s.N, s.z.begin() + (t + 1) * s.N);
  }
  Checked answer(const Checked& blank) const {
    Checked c = blank;
    std::vector<Hypothesis> plain = asked_.streams == 1 ? by_turns(SecondTurn::no) : by_streams(false);
    add_expected(expected_of(asked_, is_rotary), plain);
    if (ask(std::move(plain), c)) return c;
    Checked other = blank;
    return ask(asked_.streams == 1 ? by_turns(SecondTurn::alike) : by_streams(true), other) ? other : c;
  }

 private:
  std::vector<Hypothesis> by_turns(SecondTurn again) const {
    return rotary_hypotheses(window_, {std::int64_t(few_.size()), s_.N, z_, places_, 2 * s_.unit}, asked_,
                             again);
  }
  std::vector<Hypothesis> by_streams(bool sought) const {
    const TurnedByStreams turned{std::int64_t(few_.size()), s_.N, z_, Positions(places_, 1, asked_.streams)};
    return sought ? stream_hypotheses_of_sought_base(window_, turned)
                  : stream_hypotheses(window_, turned, asked_);
  }
  // What programs confuse with the best, of the pairing that the columns show.
  std::vector<Hypothesis> others(const Hypothesis& best) const {
    auto all = confused(best, 2 * s_.N);
    std::erase_if(
        all, [&](const Hypothesis& h) { return h.spec.option("pairing") != OptionValue(window_.pairing); });
    return all;
  }
  bool ask(std::vector<Hypothesis> plain, Checked& c) const {
    const Hypothesis best =
        search(std::move(plain),
               {[&](const Hypothesis& h) { return misfit(s_, h, positions_, few_); },
                [&](const Hypothesis& h) { return misfit(s_, h, positions_, many_); },
                {faults_of_positions, faults_of_frequencies, faults_of_angles, faults_of_types},
                [&](const Hypothesis& near) { return others(near); }},
               c);
    if (c.named) tell_rounding(best, 2 * s_.N, positions_, c);
    remark_on_numbers(2 * s_.N, c);
    return c.named;
  }

  const Tables& s_;
  const Asked& asked_;
  const std::vector<double> values_;
  const Positions positions_;
  const Window window_;
  const std::vector<std::int64_t> few_, many_;
  std::vector<double> places_;  // of the few
  std::vector<Complex> z_;
};

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
  c = check_placed(
      {s.T, "cos", [&](const Asked& a) { return Look(s, a, positions_of(a, s.T, "cos")).answer(c); },
       [&] {
         return Turned{s.T, s.N, s.z, {}, 2 * s.unit};
       }},
      asked);
  c.remarks.push_back(s.pairing.empty()
                          ? "one column per pair: the program that uses the table decides the pairing"
                          : text("columns repeat as with pairing=", s.pairing));
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
