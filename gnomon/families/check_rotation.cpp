// What turns: rows before and after, tables of cos and sin, inverse frequencies.
#include <algorithm>
#include <cmath>
#include <optional>

#include "gnomon/core/error.h"
#include "gnomon/core/text.h"
#include "gnomon/families/check_parts.h"
#include "gnomon/families/turned.h"

namespace gnomon {
namespace {

constexpr std::int64_t kQuickTokens = 256, kMostTokens = 4096;
constexpr double kFarthest = 131072;  // where a context may begin, if no positions are given
// Angles of float32: frequency, product and cosine have a relative error of a few 2^−24 of the angle.
constexpr double kAngle = 0x1p-21;

bool is_rotary(const Encoding& e) { return dynamic_cast<const Rotary*>(&e) != nullptr; }

// The rotation of a spec for heads of this size; empty: its window does not fit the head.
std::unique_ptr<Encoding> rotary_of(const std::string& spec, std::int64_t D) {
  try {
    auto made = make_encoding(spec, {D, 1, D, 2048, true});
    if (is_rotary(*made)) return made;
  } catch (const Error&) {  // a window beyond the head: no hypothesis
  }
  return nullptr;
}
const Rotary& as_rotary(const Encoding& e) { return dynamic_cast<const Rotary&>(e); }

// Rows of q or k before and after, by token: (T, H, D).
struct Rows {
  std::int64_t T, H, D;
  std::vector<double> before, after;
  double unit;
  Role role;
  Complex pair(const std::vector<double>& rows, std::int64_t row, const RotaryWindow& w,
               std::int64_t n) const {
    return {rows[std::size_t(row * D + w.low(n))], rows[std::size_t(row * D + w.high(n))]};
  }
};

Rows rows_of(const DumpedArray& before, const DumpedArray& after, bool tokens_first) {
  const auto& s = before.shape;
  const std::int64_t D = s.back(), A = s.size() == 3 ? s[0] : s[0], B = s.size() == 3 ? s[1] : 1;
  Rows r{tokens_first ? A : B,
         tokens_first ? B : A,
         D,
         {},
         {},
         std::max(before.unit, after.unit),
         before.name[0] == 'k' ? Role::k : Role::q};
  for (std::int64_t t = 0; t < r.T; ++t) {
    for (std::int64_t h = 0; h < r.H; ++h) {
      const std::size_t from = std::size_t((tokens_first ? t * B + h : h * B + t) * D);
      for (std::int64_t d = 0; d < D; ++d) {
        r.before.push_back(before.values[from + std::size_t(d)]);
        r.after.push_back(after.values[from + std::size_t(d)]);
      }
    }
  }
  return r;
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
    if (std::abs(rows.after[n] - rows.before[n]) <= 2 * rows.unit * std::abs(rows.before[n])) continue;
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
  const RotaryWindow w = as_rotary(*made).window();
  const auto frequencies = as_rotary(*made).frequencies();
  std::vector<double> places;
  for (const std::int64_t t : tokens) places.push_back(positions[std::size_t(t)]);
  const auto z = factors_of(as_rotary(*made), h, places, rows.role);
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    for (std::int64_t row = tokens[i] * rows.H; row < (tokens[i] + 1) * rows.H; ++row) {
      for (std::int64_t n = 0; n < w.pairs(); ++n) {
        const Complex b = rows.pair(rows.before, row, w, n), a = rows.pair(rows.after, row, w, n),
                      by = z[i * std::size_t(w.pairs()) + std::size_t(n)], miss = a - by * b;
        const double angle = std::abs((places[i] + h.shift) * frequencies[std::size_t(n)]);
        m.add(std::max(std::abs(miss.real()), std::abs(miss.imag())),
              std::abs(by * b) * (4 * rows.unit + kAngle * (1 + angle)));
      }
      for (std::int64_t d = 0; d < rows.D; ++d) {
        if (w.holds(d)) continue;
        const double x = rows.before[std::size_t(row * rows.D + d)];
        m.add(std::abs(rows.after[std::size_t(row * rows.D + d)] - x), rows.unit * std::abs(x));
      }
    }
  }
  return m;
}

// The rules of a reading, as hypotheses that begin where the turns say.
std::vector<Hypothesis> hypotheses(const Window& window, const Turned& turned, const Asked& asked) {
  const Measured m = measure(turned, asked.positions_given ? 64 : kFarthest);
  const double noise = 4 * turned.noise + 1e-6;
  const bool scaled = std::abs(m.factor - 1) > 4 * noise;
  auto all = rotary_rules(window, {m.frequencies, m.resolution, m.factor, noise, asked.theta});
  std::vector<Hypothesis> more;
  for (Hypothesis& h : all) {
    h.shift = m.shift, h.shift_is_fault = asked.positions_given, h.backwards = m.backwards;
    if (scaled && h.spec.compare(0, 4, "yarn") != 0) h.scale = m.factor;
  }
  if (m.shift == 0) return all;
  for (Hypothesis h : all) h.shift = 0, more.push_back(h);
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

// The same spec with one thing changed that programs confuse.
std::vector<Hypothesis> confused(const Hypothesis& best, std::int64_t D) {
  std::vector<Hypothesis> all;
  const auto add = [&](std::string_view from, std::string_view to) {
    Hypothesis h = best;
    const std::size_t at = h.spec.find(from);
    if (at == h.spec.npos) return;
    h.spec.replace(at, from.size(), to);
    all.push_back(h);
  };
  add("pairing=halves", "pairing=adjacent"), add("pairing=adjacent", "pairing=halves");
  add(", side=trailing", "");
  const std::size_t at = best.spec.find("theta="), end = best.spec.find_first_of(",)", at);
  if (at != best.spec.npos)
    for (const double theta : {1e4, 5e5, 1e6})
      add(best.spec.substr(at, end - at), text("theta=", shortest(theta)));
  const std::size_t channels = best.spec.find(", channels="),
                    stop = best.spec.find_first_of(",)", channels + 2);
  if (channels != best.spec.npos) {
    const std::string of_window = best.spec.substr(channels, stop - channels);
    add(of_window, "");
    const double share = number(of_window.substr(11), "channels") / double(D);
    if (best.spec.compare(0, 5, "rope(") == 0 && best.spec.find("side") == best.spec.npos) {
      Hypothesis h = best;
      h.spec = "proportional(" + best.spec.substr(5, channels - 5) + text(", share=", shortest(share), ")");
      all.push_back(h);
    }
  }
  return all;
}

void remark_on_factor(const Held& best, Checked& c) {
  const std::size_t at = best.spec.find("attention_factor="), by = best.spec.find("factor=");
  if (at == best.spec.npos || best.spec.compare(0, 4, "yarn") != 0) return;
  const auto value = [&](std::size_t from) {
    return number(best.spec.substr(from, best.spec.find_first_of(",)", from) - from), "factor");
  };
  const double found = value(at + 17), rule = 0.1 * std::log(value(by + 7)) + 1;
  if (found == 1)
    c.remarks.push_back(
        text("YaRN's rule has a factor of ", fixed(rule, 4), " here: it was dropped, or the file says 1"));
  else if (std::abs(found - rule * rule) < 1e-3)
    c.remarks.push_back(
        text("the factor is the square of YaRN's ", fixed(rule, 4), ": it was applied twice"));
}

}  // namespace

Checked check_rotation(const DumpedArray& before, const DumpedArray& after, const Asked& asked) {
  Checked c{.looked_at = before.name + " and " + after.name};
  if (before.shape != after.shape || before.shape.size() < 2 || before.shape.size() > 3)
    throw Error(Fault::input,
                text(c.looked_at, ": found other shapes; allowed is one, (tokens, heads, head_dim)"));
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
    Rows as = rows_of(before, after, tokens_first);
    if (asked.positions_given && as.T != std::int64_t(asked.positions.size())) continue;
    auto found = readings(as, some_tokens(as.T, kQuickTokens));
    if (found.empty()) continue;
    const bool better = !rows || found[0].strain < 0.5 * ways[0].strain ||
                        (found[0].strain <= 2 * ways[0].strain && as.T > rows->T);
    if (better) rows = std::move(as), ways = std::move(found);
  }
  if (!rows) {
    positions_of(asked, before.shape[0], before.name);
    c.words = "a head of one channel does not turn";
    return c;
  }
  const auto positions = positions_of(asked, rows->T, before.name);
  const auto few = some_tokens(rows->T, kQuickTokens), many = some_tokens(rows->T, kMostTokens);
  std::vector<double> few_positions;
  for (const std::int64_t t : few) few_positions.push_back(positions[std::size_t(t)]);
  std::vector<Hypothesis> plain = expected_of(asked, is_rotary);
  for (const Reading& way : ways) {
    const std::int64_t N = way.window.channels / 2;
    const auto more =
        hypotheses(way.window, {std::int64_t(few.size()), N, way.z, few_positions, 4 * rows->unit}, asked);
    plain.insert(plain.end(), more.begin(), more.end());
  }
  search(plain,
         {[&](const Hypothesis& h) { return misfit(*rows, h, positions, few); },
          [&](const Hypothesis& h) { return misfit(*rows, h, positions, many); },
          {faults_of_positions, faults_of_frequencies, faults_of_angles},
          [&](const Hypothesis& best) { return confused(best, rows->D); }},
         c);
  remark_on_factor(c.best, c);
  compare_with_expected(asked, c);
  return c;
}

namespace {

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
  if (!made || as_rotary(*made).window().pairs() != s.N) {
    m.add(INFINITY, 1);
    return m;
  }
  const auto frequencies = as_rotary(*made).frequencies();
  std::vector<double> places;
  for (const std::int64_t t : tokens) places.push_back(positions[std::size_t(t)]);
  const auto z = factors_of(as_rotary(*made), h, places, Role::k);
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
                "cos and sin: found other shapes; allowed is one, (tokens, pairs) or (tokens, channels)");
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
  std::vector<Hypothesis> plain = expected_of(asked, is_rotary);
  const auto more = hypotheses(window, turned, asked);
  plain.insert(plain.end(), more.begin(), more.end());
  search(plain,
         {[&](const Hypothesis& h) { return misfit(s, h, positions, few); },
          [&](const Hypothesis& h) { return misfit(s, h, positions, many); },
          {faults_of_positions, faults_of_frequencies, faults_of_angles},
          [&](const Hypothesis& best) {
            auto all = confused(best, 2 * s.N);
            std::erase_if(all,
                          [&](const Hypothesis& h) { return h.spec.find(window.pairing) == h.spec.npos; });
            return all;
          }},
         c);
  c.remarks.push_back(s.pairing.empty() ? "one column a pair: the pairing is that of the program that uses it"
                                        : text("columns repeat as for pairing=", s.pairing));
  remark_on_factor(c.best, c);
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
  return why.empty() ? "" : text("this was never initialised: of ", w.size(), " numbers ", why);
}

}  // namespace

Checked check_inv_freq(const DumpedArray& a, const Asked& asked) {
  Checked c{.looked_at = "inv_freq", .unit = "radians a token"};
  if (a.shape.size() != 1)
    throw Error(Fault::input, text("inv_freq: found ", a.shape.size(), " extents; allowed is 1, (pairs)"));
  c.words = a.values.empty() ? "inv_freq has no numbers" : never_initialised(a);
  if (!c.words.empty()) return c;
  const std::int64_t N = a.extent(0);
  const std::vector<double> w(a.values.begin(), a.values.end());
  // A table of inverse frequencies is float32 in every program that is right, so only that rounding is allowed for.
  const Judge judge = [&](const Hypothesis& h) {
    Misfit m;
    const auto made = rotary_of(h.spec, 2 * N);
    const auto found = made ? as_rotary(*made).frequencies() : std::vector<double>{};
    for (std::size_t n = 0; n < w.size(); ++n) {
      if (found.size() != w.size()) return m.add(INFINITY, 1), m;
      const double want = rounded(found[n], h.frequencies);
      m.add(std::abs(w[n] - want), want * kAngle);
    }
    return m;
  };
  const Window window{"halves", 2 * N, 2 * N};
  std::vector<Hypothesis> plain = expected_of(asked, is_rotary);
  const auto more = rotary_rules(window, {w, 1e-12, 0, 0, asked.theta});
  plain.insert(plain.end(), more.begin(), more.end());
  search(plain,
         {judge,
          judge,
          {faults_of_frequencies},
          [&](const Hypothesis& best) {
            auto all = confused(best, 2 * N);
            std::erase_if(all,
                          [](const Hypothesis& h) { return h.spec.find("pairing=halves") == h.spec.npos; });
            return all;
          }},
         c);
  c.remarks.push_back("frequencies alone do not say which channels are a pair");
  compare_with_expected(asked, c);
  return c;
}

}  // namespace gnomon
