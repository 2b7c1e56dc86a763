#include "gnomon/models/check/streams.h"

#include <algorithm>
#include <cmath>

namespace gnomon {
namespace {

constexpr std::int64_t kMostTokens = 64;    // that a base is sought by
constexpr double kLeast = 4, kMost = 18.5;  // ln of the bases that are sought
constexpr int kMostDigits = 6;
constexpr double kSought = 1;  // how much sections assume that the numbers say and no model has

// How far the pairs are from turning by each stream: (N, S), the mean square over the tokens.
class Apart {
 public:
  Apart(const TurnedByStreams& turned, std::int64_t most) : turned_(turned) {
    const std::int64_t tokens = std::min(turned.T, most);
    for (std::int64_t n = 0; n < tokens; ++n) tokens_.push_back(n * turned.T / tokens);
    for (const std::int64_t t : tokens_) {
      for (std::int64_t n = 0; n < turned.N; ++n) {
        const Complex z = turned.z[std::size_t(t * turned.N + n)];
        directions_.push_back(std::abs(z) > 0 ? z / std::abs(z) : Complex(1));
      }
    }
  }
  std::int64_t pairs() const { return turned_.N; }
  std::int64_t streams() const { return turned_.positions.axes; }
  double operator()(std::int64_t n, std::int64_t stream, double frequency) const {
    double sum = 0;
    for (std::size_t i = 0; i < tokens_.size(); ++i)
      sum += std::norm(directions_[i * std::size_t(turned_.N) + std::size_t(n)] -
                       std::polar(1.0, turned_.positions.at(tokens_[i], stream) * frequency));
    return sum / double(tokens_.size());
  }
  // Of all pairs by the frequencies of a base: (N, S).
  std::vector<double> table(double theta) const {
    std::vector<double> all;
    for (std::int64_t n = 0; n < pairs(); ++n)
      for (std::int64_t s = 0; s < streams(); ++s)
        all.push_back((*this)(n, s, std::pow(theta, -double(n) / double(pairs()))));
    return all;
  }

 private:
  const TurnedByStreams& turned_;
  std::vector<std::int64_t> tokens_;
  std::vector<Complex> directions_;
};

// The pairs of each stream, one stream after the other, at which the table adds up to least.
std::vector<double> sections_in_order(const std::vector<double>& table, std::size_t S) {
  const std::size_t N = table.size() / S;
  std::vector<double> least(table.size());  // of pairs 0 … n, pair n of stream s
  std::vector<bool> begins(table.size());   // pair n is the first of stream s
  for (std::size_t n = 0; n < N; ++n) {
    for (std::size_t s = 0; s < S; ++s) {
      const double stay = n   ? least[(n - 1) * S + s]
                          : s ? INFINITY
                              : 0,
                   change = n && s ? least[(n - 1) * S + s - 1] : INFINITY;
      begins[n * S + s] = change < stay;
      least[n * S + s] = std::min(stay, change) + table[n * S + s];
    }
  }
  std::vector<double> sections(S);
  std::size_t s = S - 1;
  for (std::size_t n = N; n-- > 0;) {
    ++sections[s];
    if (begins[n * S + s]) --s;
  }
  return sections;
}

// How many of the pairs first, first + step … turn by `stream` and not by the first one.
double count_of(const std::vector<double>& table, std::size_t S, std::size_t first, std::size_t step,
                std::size_t stream) {
  double sum = 0, least = 0, count = 0, best = 0;
  for (std::size_t n = first; n < table.size() / S; n += step) {
    sum += table[n * S + stream] - table[n * S], ++count;
    if (sum < least) least = sum, best = count;
  }
  return best;
}

class Forms {
 public:
  explicit Forms(const Window& window) : window_(window), N_(double(window.channels / 2)) {}
  std::vector<Hypothesis> all;

  void add(const char* name, double theta, NamedOptions more, double cost = 0) {
    for (const auto& option : window_.options()) more.push_back(option);
    more.insert(more.begin(), {"theta", theta});
    all.push_back({.spec = {name, more}, .cost = window_.cost() + cost_of_theta(theta) + cost});
  }
  // With the sections that the table says and the usual ones.
  void of(double theta, const std::vector<double>& table, std::size_t S) {
    const auto ordered = sections_in_order(table, S);
    const bool whole = std::find(ordered.begin(), ordered.end(), 0) == ordered.end();
    if (S >= 3 && whole) add("mrope", theta, {{"sections", ordered}}, kSought);
    if (S == 2 && whole) add("rope_axial", theta, {{"sections", ordered}, {"index", "continued"}}, kSought);
    if (S == 3) of_three(theta, table);
    axial(theta, S);
  }

 private:
  void of_three(double theta, const std::vector<double>& table) {
    const double h = count_of(table, 3, 1, 3, 1), w = count_of(table, 3, 2, 3, 2);
    if (h > 0 && w > 0)
      add("mrope_interleaved", theta, {{"sections", std::vector<double>{N_ - h - w, h, w}}}, kSought);
    const double turns = std::min(count_of(table, 3, 0, 2, 1), count_of(table, 3, 1, 2, 2));
    if (turns > 0 && 2 * turns < N_)
      add("mrope", theta,
          {{"sections", std::vector<double>{N_ - 2 * turns, turns, turns}}, {"order", "alternating"}},
          kSought);
    for (const double share : {3.0 / 8, 1.0 / 3}) {
      const double side = std::floor(share * N_);
      if (side > 0) add("mrope", theta, {{"sections", std::vector<double>{N_ - 2 * side, side, side}}});
    }
    const double side = std::floor(5 * N_ / 16);
    if (side > 0)
      add("mrope_interleaved", theta, {{"sections", std::vector<double>{N_ - 2 * side, side, side}}});
  }
  void axial(double theta, std::size_t S) {
    const double each = std::floor(N_ / double(S));
    if (each * double(S) == N_ && each > 0) {
      const std::vector<double> equal(S, each);
      add("rope_axial", theta, {{"sections", equal}, {"index", "reset"}});
      if (S == 2) add("rope_axial", theta, {{"sections", equal}, {"index", "alternating"}}, 0.25);
    }
    const double eighth = N_ / 8;  // frames, and the rest for rows and columns
    if (S == 3 && eighth == std::floor(eighth) && std::int64_t(7 * eighth) % 2 == 0)
      add("rope_axial", theta,
          {{"sections", std::vector<double>{eighth, 3.5 * eighth, 3.5 * eighth}}, {"index", "reset"}}, 0.25);
  }
  const Window window_;
  const double N_;
};

std::vector<double> bases(const Asked& asked) {
  std::vector<double> all(known_thetas().begin(), known_thetas().end());
  if (asked.theta > 0) all.push_back(asked.theta);
  return all;
}

}  // namespace

std::vector<Hypothesis> stream_hypotheses(const Window& window, const TurnedByStreams& turned,
                                          const Asked& asked) {
  if (turned.T == 0 || turned.N == 0) return {};
  const Apart apart(turned, 4 * kMostTokens);
  Forms forms(window);
  for (const double theta : bases(asked)) forms.of(theta, apart.table(theta), std::size_t(apart.streams()));
  return forms.all;
}

std::vector<Hypothesis> stream_hypotheses_of_sought_base(const Window& window,
                                                         const TurnedByStreams& turned) {
  if (turned.T == 0 || turned.N == 0) return {};
  const Apart apart(turned, kMostTokens);
  const auto S = std::size_t(apart.streams());
  // Each pair by the stream that it is nearest to.
  const auto nearest = [&](double log_theta) {
    const auto table = apart.table(std::exp(log_theta));
    double sum = 0;
    for (std::size_t n = 0; n < table.size(); n += S)
      sum += *std::min_element(table.begin() + std::ptrdiff_t(n), table.begin() + std::ptrdiff_t(n + S));
    return sum;
  };
  double best = 0, from = kLeast, to = kMost;
  for (double step = 0.04; step > 1e-8; step /= 8) {
    double least = INFINITY;
    for (double x = from; x <= to; x += step) {
      const double here = nearest(x);
      if (here < least) least = here, best = x;
    }
    from = best - 1.25 * step, to = best + 1.25 * step;
  }
  Forms forms(window);
  for (int digits = 1; digits <= kMostDigits; ++digits) {
    const double theta = to_digits(std::exp(best), digits);
    forms.of(theta, apart.table(theta), S);
  }
  return forms.all;
}

std::vector<Hypothesis> axes_on_blocks(std::int64_t D, std::int64_t S, const Asked& asked) {
  const std::int64_t each = D / S / 2;  // pairs
  if (each < 1) return {};
  const Window window{"adjacent", 2 * each * S, D};
  std::vector<Hypothesis> all;
  for (const double theta : bases(asked)) {
    Forms forms(window);
    forms.add("rope_axial", theta,
              {{"sections", std::vector<double>(std::size_t(S), double(each))}, {"index", "reset"}});
    all.push_back(forms.all[0]);
    all.push_back(forms.all[0]);
    all.back().tables_mixed = true;
  }
  return all;
}

}  // namespace gnomon
