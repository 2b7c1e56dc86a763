// Which arrays over distances the tokens of a batch need, and which keys their documents let them see.
#include <algorithm>
#include <cmath>

#include "gnomon/core/check.h"
#include "gnomon/core/error.h"
#include "gnomon/core/text.h"
#include "gnomon/encodings/encoding.h"

namespace gnomon {
namespace {

constexpr double kExact = 0x1p53;

// Tokens of one document that are none of the padding follow each other by 1.
bool regular(const Placement& p) {
  const std::int64_t T = p.T();
  if (p.axes != 1) return false;
  for (std::int64_t n = 0; n < p.rows * T; ++n) {
    if (n % T == 0) continue;
    if (!p.document.empty() && p.document[n] != p.document[n - 1]) continue;
    if (!p.padding.empty() && (p.padding[n] || p.padding[n - 1])) continue;
    if (p.values[n] - p.values[n - 1] != 1) return false;
  }
  return true;
}

void see_documents(const Placement& p, Terms& terms) {
  const std::int64_t T = p.T();
  terms.first_key.resize(std::size_t(p.rows * T));
  terms.end_key.resize(std::size_t(p.rows * T));
  for (std::int64_t r = 0; r < p.rows; ++r) {
    for (std::int64_t begin = 0, end = 0; begin < T; begin = end) {
      while (end < T && p.document[r * T + end] == p.document[r * T + begin]) ++end;
      std::fill_n(&terms.first_key[r * T + begin], end - begin, std::int32_t(begin));
      std::fill_n(&terms.end_key[r * T + begin], end - begin, std::int32_t(end));
    }
  }
}

// The places; and arrays over distances reach from the least to the largest difference within a sequence. Where there is no
// room for them, for fractions and places too far apart, none are made: only encodings that ask for them are refused.
void cover_places(const Placement& p, bool causal, Terms& terms) {
  const std::int64_t T = p.T();
  for (std::int64_t n = 0; n < p.rows * T; ++n) terms.places.push_back(p.values[n * p.axes]);
  double most = 0;
  bool rising = true;
  for (std::int64_t r = 0; r < p.rows; ++r) {
    const auto at = [&, row = r](std::int64_t t) { return p.values[(row * T + t) * p.axes]; };
    double high = at(0), low = at(0);
    for (std::int64_t t = 0; t < T; ++t) {
      if (at(t) != std::floor(at(t))) return;
      rising = rising && (t == 0 || at(t) >= at(t - 1));
      high = std::max(high, at(t)), low = std::min(low, at(t));
    }
    most = std::max(most, high - low);
  }
  if (most >= kExact) {
    throw Error(Fault::usage, text("positions in a sequence are up to ", shortest(most),
                                   " apart; allowed are distances below 2^53, which are exact"));
  }
  const double least = causal && rising ? 0 : -most;
  if (most - least >= double(kMostDistances)) return;
  terms.first_distance = std::int64_t(least);
  terms.distances = std::int64_t(most - least) + 1;
}

}  // namespace

Terms terms_for(const Placement& p, bool causal) {
  p.check();
  Terms terms;
  if (!p.document.empty()) see_documents(p, terms);
  if (regular(p)) {
    terms.first_distance = causal ? 0 : 1 - p.T();
    terms.distances = p.T() - terms.first_distance;
  } else {
    cover_places(p, causal, terms);
  }
  return terms;
}
Terms terms_for(const Positions& p, bool causal) {
  return terms_for(Placement::of(std::vector<double>(p.values.begin(), p.values.end()), p.rows, p.axes),
                   causal);
}

void limit_keys(Terms& terms, const Positions& positions,
                const std::function<bool(const Positions&, std::int64_t, std::int64_t)>& sees) {
  const std::int64_t T = positions.T();
  check_extents("a mask by position", {{"T", T, 1, kMostTokens}});
  const auto rows_of = [&](const std::vector<std::int32_t>& x) { return std::int64_t(x.size()) / T; };
  const std::int64_t rows = std::max({positions.rows, rows_of(terms.first_key), std::int64_t{1}});
  for (const std::int64_t found :
       {std::int64_t(terms.first_key.size()), std::int64_t(terms.end_key.size()), positions.rows * T}) {
    if (found == 0 || found == T || found == rows * T) continue;
    throw Error(Fault::usage, text("a mask by position: found ", found, " numbers; allowed are ", T,
                                   " (one row) and ", rows * T));
  }
  const auto old = [&](const std::vector<std::int32_t>& x, std::int64_t r, std::int64_t i,
                       std::int64_t open) {
    return x.empty() ? open : std::int64_t(x[(rows_of(x) > 1 ? r * T : 0) + i]);
  };
  std::vector<std::int32_t> first(std::size_t(rows * T)), end(first.size());
  for (std::int64_t r = 0; r < rows; ++r) {
    const Positions row = positions.row(r);
    for (std::int64_t i = 0, low = 0, high = 0; i < T; ++i) {
      const std::int64_t begin = old(terms.first_key, r, i, 0), stop = old(terms.end_key, r, i, T);
      if (i > begin && row[i] < row[i - 1]) {
        throw Error(Fault::usage, text("a mask by position needs positions that never decrease; found ",
                                       shortest(row[i - 1]), ", then ", shortest(row[i])));
      }
      low = std::max(low, begin), high = std::max(high, i + 1);
      while (low < i && !sees(row, i, low)) ++low;
      while (high < stop && sees(row, i, high)) ++high;
      first[r * T + i] = std::int32_t(low);
      end[r * T + i] = std::int32_t(std::min(high, stop));
    }
  }
  terms.first_key = std::move(first), terms.end_key = std::move(end);
}

}  // namespace gnomon
