// Rows of q and k as pairs, and what a hypothesis makes of them.
#include "gnomon/models/check/rows.h"

#include <algorithm>
#include <cmath>

namespace gnomon {

std::vector<std::int64_t> Rows::tokens(std::int64_t numbers, std::int64_t most) const {
  return some_tokens(T, std::clamp<std::int64_t>(numbers / std::max<std::int64_t>(H * D, 1), 16, most));
}

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

namespace {

RotaryWindow window_of(const Window& w) {
  return {w.pairing == "halves" ? Pairing::halves : Pairing::adjacent,
          w.trailing ? w.head - w.channels : w.offset, w.channels};
}

}  // namespace

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

namespace {

// What the hypothesis makes of a row, channel by channel, and the size of the numbers that go into each.
class Turner {
 public:
  Turner(const Hypothesis& h, const RotaryWindow& window, std::int64_t section)
      : h_(h), window_(window), section_(section), other_(window) {
    other_.pairing = window.pairing == Pairing::halves ? Pairing::adjacent : Pairing::halves;
  }
  // `z` (pairs): the factors of the token.
  void turn(const Complex* z, std::vector<double>& row, std::vector<double>& size) const {
    if (h_.again == SecondTurn::other_first) pass(other_, z, row, size);
    pass(window_, z, row, size);
    if (h_.again == SecondTurn::then_other) pass(other_, z, row, size);
  }

 private:
  // The factor of a channel where tables are laid out for the other pairing, in each section by itself.
  const Complex& mixed(const Complex* z, std::int64_t channel) const {
    const std::int64_t c = channel - window_.first, at = c % (2 * section_),
                       first = c / (2 * section_) * section_;
    return z[first + (window_.pairing == Pairing::halves ? at / 2 : at % section_)];
  }
  // A sine from elsewhere leaves a short factor of two long numbers.
  double reach(const Complex& z) const {
    const double size = std::sqrt(std::norm(z));
    return h_.padded_to ? std::max(1.0, size) : size;
  }
  void pass(const RotaryWindow& w, const Complex* z, std::vector<double>& row,
            std::vector<double>& size) const {
    for (std::int64_t n = 0; n < w.pairs(); ++n) {
      const auto low = std::size_t(w.low(n)), high = std::size_t(w.high(n));
      const Complex of_low = h_.tables_mixed ? mixed(z, w.low(n)) : z[n],
                    of_high = h_.tables_mixed ? mixed(z, w.high(n)) : z[n];
      const Complex b{row[low], row[high]};
      row[low] = (of_low * b).real(), row[high] = (of_high * b).imag();
      const double whole = std::sqrt(size[low] * size[low] + size[high] * size[high]);
      size[low] = whole * reach(of_low), size[high] = whole * reach(of_high);
    }
  }

  const Hypothesis& h_;
  const RotaryWindow window_;
  const std::int64_t section_;  // pairs that have a table of their own
  RotaryWindow other_;
};

// Of axial rotations each axis has its own table; of all others the whole window.
std::int64_t section_of(const Hypothesis& h, const RotaryWindow& w) {
  const auto sections = h.spec.name == "rope_axial" ? h.spec.option("sections") : std::nullopt;
  const auto numbers = sections ? sections->numbers() : std::vector<double>{};
  return numbers.size() > 1 ? std::int64_t(numbers[0]) : w.pairs();
}

// Makes factors of a token what its pairs are multiplied by; returns what the errors of the angles explain, for each pair.
std::vector<double> apply(const Hypothesis& h, std::vector<double> angles, Complex* z) {
  double most = 0;
  for (std::size_t n = 0; n < angles.size(); ++n) {
    const double off = kAngle * (1 + angles[n]);
    const Applied by = applied(h, z[n], off);
    z[n] = by.z, angles[n] = off + by.slack, most = std::max(most, angles[n]);
  }
  if (!h.in_pairs()) std::fill(angles.begin(), angles.end(), most);
  return angles;
}

}  // namespace

Misfit misfit_of_rows(const Rows& rows, const Hypothesis& h, const Positions& positions,
                      const std::vector<std::int64_t>& tokens) {
  Misfit m;
  const auto made = rotary_of(h.spec, rows.D);
  if (!made || !takes(*made, positions)) {
    m.add(INFINITY, 1);
    return m;
  }
  const RotaryWindow w = part<TurnPart>(*made)->turns_at(1).window;
  const std::vector<double> places = places_of(tokens, positions), frequencies = made->frequencies();
  auto z = factors_of(*made, h, Positions(places, 1, positions.axes), rows.role);
  const Turner turner(h, w, section_of(h, w));
  const double unit = (h.in_pairs() ? 4 : 8) * rows.unit;
  std::vector<double> row(std::size_t(rows.D)), size(row);
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    Complex* const of_token = &z[i * std::size_t(w.pairs())];
    const std::vector<double> shares = apply(h, angles_at(frequencies, h, positions, tokens[i]), of_token);
    for (std::int64_t head = 0; head < rows.H; ++head) {
      const std::int64_t at = tokens[i] * rows.H + head;
      for (std::int64_t d = 0; d < rows.D; ++d) {
        row[std::size_t(d)] = rows.at(rows.before, at, d);
        size[std::size_t(d)] = std::abs(row[std::size_t(d)]);
      }
      turner.turn(of_token, row, size);
      for (std::int64_t d = 0; d < rows.D; ++d) {
        const std::int64_t n = w.pairing == Pairing::halves ? (d - w.first) % w.pairs() : (d - w.first) / 2;
        const double share = w.holds(d) ? unit + shares[std::size_t(n)] : rows.unit;
        m.add(std::abs(rows.at(rows.after, at, d) - row[std::size_t(d)]), size[std::size_t(d)] * share,
              {tokens[i], head, d});
      }
    }
  }
  return m;
}

}  // namespace gnomon
