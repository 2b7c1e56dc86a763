// Rows of q and k before and after their rotation.
#include <algorithm>
#include <cmath>
#include <optional>
#include <span>

#include "gnomon/core/error.h"
#include "gnomon/core/text.h"
#include "gnomon/models/check/rotary_search.h"

namespace gnomon {
namespace {

constexpr std::int64_t kQuickTokens = 256, kMostTokens = 4096;
// Numbers that the hypotheses are held against at first, and those of the nearest: few tokens of wide layers suffice.
constexpr std::int64_t kQuick = 1 << 17, kFull = 1 << 19;
constexpr double kStrained = 0.05;  // of rows that no pairing turns

// Rows of q or k before and after, by token: (T, H, D), however they lie in the dump.
struct Rows {
  std::int64_t T, H, D;
  bool tokens_first;
  std::span<const float> before, after;
  double unit;
  Role role;
  double at(std::span<const float> rows, std::int64_t row, std::int64_t d) const {
    return rows[std::size_t((tokens_first ? row : row % H * T + row / H) * D + d)];
  }
  Complex pair(std::span<const float> rows, std::int64_t row, const RotaryWindow& w, std::int64_t n) const {
    return {at(rows, row, w.low(n)), at(rows, row, w.high(n))};
  }
  std::vector<std::int64_t> tokens(std::int64_t numbers, std::int64_t most) const {
    return some_tokens(T, std::clamp<std::int64_t>(numbers / std::max<std::int64_t>(H * D, 1), 16, most));
  }
};

Rows rows_of(const DumpedArray& before, const DumpedArray& after, bool tokens_first) {
  const auto& s = before.shape;
  const std::int64_t A = s[0], B = s.size() == 3 ? s[1] : 1;
  return {tokens_first ? A : B,
          tokens_first ? B : A,
          s.back(),
          tokens_first,
          before.values,
          after.values,
          std::max(before.unit, after.unit),
          before.name[0] == 'k' ? Role::k : Role::q};
}

// One way to read rows as pairs of a window, and what turned them.
struct Reading {
  Window window;
  std::vector<Complex> z;  // (tokens, pairs)
  double
      strain;  // how far the rows are from turning so: by what differs among heads, and by pairs that change their size
};

RotaryWindow window_of(const Window& w) {
  return {w.pairing == "halves" ? Pairing::halves : Pairing::adjacent,
          w.trailing ? w.head - w.channels : w.offset, w.channels};
}

Reading read(const Rows& rows, const Window& window, const std::vector<std::int64_t>& tokens) {
  const RotaryWindow w = window_of(window);
  Reading r{window, {}, 0};
  double left = 0, whole = 0;
  std::vector<double> sizes;
  for (const std::int64_t t : tokens) {
    for (std::int64_t n = 0; n < w.pairs(); ++n) {
      Complex product = 0;
      double power = 0;
      for (std::int64_t row = t * rows.H; row < (t + 1) * rows.H; ++row) {
        const Complex b = rows.pair(rows.before, row, w, n);
        product += rows.pair(rows.after, row, w, n) * std::conj(b), power += std::norm(b);
      }
      const Complex z = power > 0 ? product / power : 0;
      r.z.push_back(z);
      if (power > 0) sizes.push_back(std::abs(z));
      for (std::int64_t row = t * rows.H; row < (t + 1) * rows.H; ++row) {
        const Complex a = rows.pair(rows.after, row, w, n);
        left += std::norm(a - z * rows.pair(rows.before, row, w, n)), whole += std::norm(a);
      }
    }
  }
  std::vector<double> sorted = sizes;
  std::sort(sorted.begin(), sorted.end());
  const double middle = sorted.empty() ? 1 : sorted[sorted.size() / 2];
  double uneven = 0;
  for (const double size : sizes) uneven += std::min(1.0, std::abs(size / middle - 1)) / double(sizes.size());
  r.strain = (whole > 0 ? std::sqrt(left / whole) : 0) + uneven;
  return r;
}

// The windows that hold every channel that changed.
std::vector<Window> windows(const Rows& rows) {
  const std::int64_t D = rows.D;
  std::int64_t first = D, last = -1;
  for (std::size_t n = 0; n < rows.after.size(); ++n) {
    const double was = rows.before[n];
    if (std::abs(rows.after[n] - was) <= 2 * rows.unit * std::abs(was)) continue;
    first = std::min(first, std::int64_t(n) % D), last = std::max(last, std::int64_t(n) % D);
  }
  std::vector<Window> all;
  const auto add = [&](std::int64_t channels, bool trailing, std::int64_t offset) {
    for (const char* pairing : {"halves", "adjacent"})
      all.push_back({pairing, channels, D, trailing, offset});
  };
  if (D % 2 == 0) add(D, false, 0);
  for (std::int64_t r = 2; r < D; r += 2) {
    const bool usual =
        8 * r % D == 0 || 10 * r / D * D == 10 * r || r % 32 == 0 || r == last + 1 || r == D - first;
    if (usual && r > last) add(r, false, 0);
    if (usual && D - r <= first && first < D) add(r, true, 0);
  }
  if (first > 0 && last < D - 1 && (last - first) % 2 == 1) add(last - first + 1, false, first);
  return all;
}

// Those of the readings that strain the rows little more than the best does.
std::vector<Reading> readings(const Rows& rows, const std::vector<std::int64_t>& tokens) {
  std::vector<Reading> all, kept;
  for (const Window& w : windows(rows)) all.push_back(read(rows, w, tokens));
  std::stable_sort(all.begin(), all.end(),
                   [](const Reading& a, const Reading& b) { return a.strain < b.strain; });
  for (const Reading& r : all)
    if (r.strain <= 3 * all[0].strain + 8 * rows.unit && kept.size() < 16) kept.push_back(r);
  return kept;
}

Misfit misfit(const Rows& rows, const Hypothesis& h, std::span<const double> positions,
              const std::vector<std::int64_t>& tokens) {
  Misfit m;
  const auto made = rotary_of(h.spec, rows.D);
  if (!made) {
    m.add(INFINITY, 1);
    return m;
  }
  const RotaryWindow w = part<TurnPart>(*made)->turns_at(1).window;
  const auto frequencies = made->frequencies();
  std::vector<double> places;
  for (const std::int64_t t : tokens) places.push_back(positions[std::size_t(t)]);
  const auto z = factors_of(*made, h, places, rows.role);
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const Complex* turns = &z[i * std::size_t(w.pairs())];
    // What a channel of a pair is multiplied by.
    const auto of_channel = [&](std::int64_t n, std::int64_t channel) {
      if (!h.tables_mixed) return turns[n];
      const std::int64_t c = channel - w.first;
      return turns[w.pairing == Pairing::halves ? c / 2 : c % w.pairs()];
    };
    for (std::int64_t row = tokens[i] * rows.H; row < (tokens[i] + 1) * rows.H; ++row) {
      for (std::int64_t n = 0; n < w.pairs(); ++n) {
        const Complex b = rows.pair(rows.before, row, w, n), a = rows.pair(rows.after, row, w, n);
        const double real = (of_channel(n, w.low(n)) * b).real(),
                     imaginary = (of_channel(n, w.high(n)) * b).imag();
        const double angle =
            std::abs((places[i] + h.shift) * frequencies[h.tables_mixed ? 0 : std::size_t(n)]);
        m.add(std::max(std::abs(a.real() - real), std::abs(a.imag() - imaginary)),
              std::abs(turns[n]) * std::abs(b) * (4 * rows.unit + kAngle * (1 + angle)));
      }
      for (std::int64_t d = 0; d < rows.D; ++d) {
        if (w.holds(d)) continue;
        const double x = rows.at(rows.before, row, d);
        m.add(std::abs(rows.at(rows.after, row, d) - x), rows.unit * std::abs(x));
      }
    }
  }
  return m;
}

Named rope(double theta, const Window& window) {
  Named spec{"rope", {{"theta", theta}}};
  const NamedOptions more = window.options();
  spec.options.insert(spec.options.end(), more.begin(), more.end());
  return spec;
}
// Cos and sin that are laid out for the other pairing: such rows do not turn, so the usual bases are tried.
std::vector<Hypothesis> mixed(const Rows& rows, const Asked& asked) {
  std::vector<double> thetas(known_thetas().begin(), known_thetas().end());
  if (asked.theta > 0) thetas.push_back(asked.theta);
  std::vector<Hypothesis> all;
  for (const Window& w : windows(rows)) {
    for (const double theta : thetas)
      all.push_back({.spec = rope(theta, w), .cost = w.cost(), .tables_mixed = true});
  }
  return all;
}

}  // namespace

Checked check_rotation(const DumpedArray& before, const DumpedArray& after, const Asked& asked) {
  Checked c{.looked_at = before.name + " and " + after.name};
  if (before.shape != after.shape || before.shape.size() < 2 || before.shape.size() > 3)
    throw Error(
        Fault::input,
        text(c.looked_at,
             ": found unequal or unknown shapes; allowed is the same for both, (tokens, heads, head_dim)"));
  check_extent("head_dim", before.shape.back(), 4096);
  for (const DumpedArray* a : {&before, &after}) {
    if (const std::string why = not_numbers(*a); !why.empty()) {
      c.words = why;
      return c;
    }
  }
  // Which index counts tokens: the one by which the rows of all heads turn alike.
  std::optional<Rows> rows;
  std::vector<Reading> ways;
  for (const bool tokens_first : {true, false}) {
    if (before.shape.size() == 2 && !tokens_first) continue;
    const Rows as = rows_of(before, after, tokens_first);
    if (asked.positions_given && as.T != std::int64_t(asked.positions.size())) continue;
    auto found = readings(as, as.tokens(kQuick, kQuickTokens));
    if (found.empty()) continue;
    const bool better = !rows || found[0].strain < 0.5 * ways[0].strain ||
                        (found[0].strain <= 2 * ways[0].strain && as.T > rows->T);
    if (better) rows = as, ways = std::move(found);
  }
  if (!rows) {
    positions_of(asked, before.shape[0], before.name);
    c.words = "a head with one channel cannot rotate";
    return c;
  }
  const auto positions = positions_of(asked, rows->T, before.name);
  const auto few = rows->tokens(kQuick, kQuickTokens), many = rows->tokens(kFull, kMostTokens);
  std::vector<double> few_positions;
  for (const std::int64_t t : few) few_positions.push_back(positions[std::size_t(t)]);
  std::vector<Hypothesis> plain;
  for (const Reading& way : ways) {
    const std::int64_t N = way.window.channels / 2;
    const auto more = rotary_hypotheses(
        way.window, {std::int64_t(few.size()), N, way.z, few_positions, 4 * rows->unit}, asked);
    plain.insert(plain.end(), more.begin(), more.end());
  }
  if (ways[0].strain > kStrained) {
    const auto more = mixed(*rows, asked);
    plain.insert(plain.end(), more.begin(), more.end());
    c.remarks.push_back(text("the length of pairs changes, or heads rotate differently, by ",
                             fixed(100 * ways[0].strain, 0), " % even with the best choice of pairs"));
  }
  if (asked.tried_as_well && !plain.empty()) {
    Hypothesis other = plain.front();  // where it begins, and which way it turns, as measured
    other.spec = *asked.tried_as_well, other.cost = 0;
    plain.push_back(other);
  }
  add_expected(expected_of(asked, is_rotary), plain);
  search(plain,
         {[&](const Hypothesis& h) { return misfit(*rows, h, positions, few); },
          [&](const Hypothesis& h) { return misfit(*rows, h, positions, many); },
          {faults_of_positions, faults_of_frequencies, faults_of_angles},
          [&](const Hypothesis& best) { return confused(best, rows->D); }},
         c);
  remark_on_numbers(rows->D, c);
  compare_with_expected(asked, c);
  return c;
}

}  // namespace gnomon
