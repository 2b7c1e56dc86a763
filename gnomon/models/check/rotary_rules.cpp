#include "gnomon/models/check/rotary_rules.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "gnomon/core/error.h"
#include "gnomon/core/text.h"
#include "gnomon/spec/scheme.h"

namespace gnomon {
namespace {

// That are held against the numbers themselves: in all, and of each kind where frequencies are known badly, as in 16 bits.
constexpr std::size_t kMostRules = 12, kMostOfKind = 16;
constexpr double kRough = 1e-5;  // radians a token

// Extensions of published models.
constexpr double kLinearFactors[] = {2, 4, 8, 16, 32}, kYarnFactors[] = {2, 4, 8, 16, 32, 40, 64},
                 kLlama3Factors[] = {4, 8, 16, 32};

// Bases of published models, the commonest first.
constexpr double kThetas[] = {1e4, 5e5, 1e6, 1.5e5, 1.6e5, 1e5, 5e6, 2e6, 8e6, 1e7};
constexpr double kLengths[] = {4096,  8192,   2048, 32768, 16384, 1024, 512,    65536,  131072,
                               40960, 262144, 256,  128,   64,    32,   524288, 1048576};

double middle(std::vector<double> x) {
  std::sort(x.begin(), x.end());
  return x.empty() ? 0 : x[x.size() / 2];
}

// How much it assumes that a number is x: nothing if it is of few digits.
double oddness(double x) {
  if (std::abs(to_digits(x, 1) - x) < 1e-9 * x) return 0.5;
  if (std::abs(to_digits(x, 2) - x) < 1e-9 * x) return 1;
  return 3;
}

class Rules {
 public:
  Rules(const Window& window, const Sought& sought) : window_(window), sought_(sought) {
    const auto& w = sought.frequencies;
    for (std::size_t n = 0; n < w.size(); ++n)
      if (w[n] > 10 * sought.resolution && w[n] > 1e-12) known_.push_back(n);
  }
  std::vector<Hypothesis> all() {
    if (sought_.frequencies.empty()) {
      for (const double theta : thetas({})) add("rope", theta, {}, 0);
      return ranked();
    }
    const std::vector<double> fitted = fitted_thetas();
    for (const double theta : thetas(fitted)) add("rope", theta, {}, 0);
    interpolated(), by_base(fitted), ramps(fitted), proportional(fitted);
    if (rough()) usual(fitted);
    return ranked();
  }

 private:
  struct Ranked {
    Hypothesis hypothesis;
    double loss;
  };

  bool rough() const { return sought_.resolution > kRough; }
  // What a frequency may be off by, as a share of it.
  double slack(std::size_t n) const { return 0.01 + 4 * sought_.resolution / frequency(n); }

  std::vector<double> thetas(const std::vector<double>& fitted) const {
    std::vector<double> all(std::begin(kThetas), std::end(kThetas));
    if (sought_.theta > 0) all.push_back(sought_.theta);
    all.insert(all.end(), fitted.begin(), fitted.end());
    return all;
  }
  double theta_cost(double theta) const { return theta == sought_.theta ? 0 : cost_of_theta(theta); }

  // −ln of the frequencies against n: the slope, the middle one of all pairs of pairs, which a third of odd ones do not move.
  double slope(std::size_t pairs) const {
    std::vector<double> slopes;
    for (std::size_t a = 0; a < pairs; ++a) {
      for (std::size_t b = a + 1; b < pairs; ++b) {
        const double fall = std::log(frequency(known_[a]) / frequency(known_[b]));
        slopes.push_back(fall / double(known_[b] - known_[a]));
      }
    }
    return middle(slopes);
  }
  double frequency(std::size_t n) const { return sought_.frequencies[n]; }
  double theta_of(double slope) const { return std::exp(slope * double(window_.channels) / 2); }
  // From all pairs, from the fast ones, and through 1 at pair 0; to 1, 2 and 3 digits and as they are.
  std::vector<double> fitted_thetas() const {
    std::vector<double> raw, found;
    if (known_.size() >= 2)
      raw = {theta_of(slope(known_.size())), theta_of(slope(std::max<std::size_t>(2, known_.size() / 6)))};
    std::vector<double> through;
    for (const std::size_t n : known_)
      if (n > 0) through.push_back(-std::log(frequency(n)) / double(n));
    if (!through.empty()) raw.push_back(theta_of(middle(through)));
    std::set<double> seen;
    for (const double theta : raw)
      for (const double to :
           {to_digits(theta, 1), to_digits(theta, 2), to_digits(theta, 3), to_digits(theta, 6)})
        if (to > 1e-6 && to < 1e15 && seen.insert(to).second) found.push_back(to);
    return found;
  }

  // All pairs divided by one number.
  void interpolated() {
    if (known_.size() < 2) return;
    const double g = slope(known_.size());
    std::vector<double> starts;
    for (const std::size_t n : known_) starts.push_back(std::log(frequency(n)) + g * double(n));
    const double factor = std::exp(-middle(starts));
    if (!(factor > 1.001)) return;
    for (const double theta :
         thetas({to_digits(theta_of(g), 1), to_digits(theta_of(g), 2), to_digits(theta_of(g), 6)})) {
      for (const double by : {to_digits(factor, 1), to_digits(factor, 2), to_digits(factor, 5)})
        add("linear", theta, {{"factor", by}}, 1 + oddness(by) / 4);
    }
  }
  // A base that is another one's times factor^(r/(r−2)): of bases that no model has by itself.
  void by_base(const std::vector<double>& fitted) {
    const double r = double(window_.channels);
    if (r < 4) return;
    for (const double raised : fitted) {
      if (theta_cost(raised) < 3) continue;
      for (const double theta : thetas({})) {
        const double factor = std::pow(raised / theta, (r - 2) / r), whole = std::round(2 * factor) / 2;
        if (factor > 1.2 && factor < 100 && std::abs(whole / factor - 1) < 2e-3)
          add("ntk", theta, {{"factor", whole}}, 1.25);
      }
    }
  }
  // The usual extensions of every base that agrees with the fast pairs: slow pairs, which tell factors and lengths, are
  // lost in the noise one by one, and not all together.
  void usual(const std::vector<double>& fitted) {
    for (const double theta : thetas(fitted)) {
      for (const double by : linear_factors(theta))
        add("linear", theta, {{"factor", by}}, 1 + oddness(by) / 4);
      if (known_.size() < 2 || !agrees(theta)) continue;
      for (const double by : kYarnFactors)
        for (const double length : kLengths)
          add("yarn", theta, joined(extension(by, length), attention(by)),
              2 + oddness(by) / 4 + rarity(length));
      for (const double by : kLlama3Factors)
        for (const double length : kLengths)
          add("llama3", theta, extension(by, length), 2 + oddness(by) / 4 + rarity(length));
    }
  }
  // Among equals the commoner length.
  static double rarity(double length) {
    return 0.01 * double(std::find(std::begin(kLengths), std::end(kLengths), length) - std::begin(kLengths));
  }
  static NamedOptions extension(double factor, double length) {
    return {{"factor", factor}, {"original", length}};
  }
  static NamedOptions joined(NamedOptions first, const NamedOptions& more) {
    first.insert(first.end(), more.begin(), more.end());
    return first;
  }
  double divided(double theta, std::size_t n) const {
    return std::pow(theta, -2 * double(n) / double(window_.channels)) / frequency(n);
  }
  bool agrees(double theta) const {
    return std::abs(divided(theta, known_[0]) - 1) <= slack(known_[0]) &&
           std::abs(divided(theta, known_[1]) - 1) <= slack(known_[1]);
  }
  // The one number by which this base's pairs would have been divided, and the usual ones near it.
  std::vector<double> linear_factors(double theta) const {
    std::vector<double> of_pairs;
    for (std::size_t n = 0; n < sought_.frequencies.size(); ++n)
      if (frequency(n) > 2 * sought_.resolution) of_pairs.push_back(divided(theta, n));
    const double factor = middle(of_pairs);
    std::vector<double> all;
    if (!(factor > 1.02)) return all;
    for (const double by : kLinearFactors)
      if (std::abs(by / factor - 1) < 0.2) all.push_back(by);
    for (const double by : {to_digits(factor, 1), to_digits(factor, 2)}) all.push_back(by);
    return all;
  }
  // Fast pairs as they were, slow ones divided by one number, a ramp between.
  void ramps(const std::vector<double>& fitted) {
    if (known_.size() < 4) return;
    for (const double theta : thetas(fitted)) {
      if (!agrees(theta)) continue;
      std::vector<double> tail;
      for (std::size_t n = known_.size() - std::max<std::size_t>(2, known_.size() / 6); n < known_.size();
           ++n)
        tail.push_back(divided(theta, known_[n]));
      const double factor = middle(tail), far = tail.back();
      if (!(factor > 1.02) && !(far > 1.02)) continue;
      for (const double by :
           std::set<double>{to_digits(factor, 1), to_digits(factor, 2), to_digits(far, 2), 4, 8, 32})
        ramps_of(theta, by);
    }
  }
  void ramps_of(double theta, double factor) {
    if (factor <= 1) return;
    const double odd = oddness(factor) / 4;
    for (const double length : kLengths) {
      const NamedOptions more = extension(factor, length);
      add("llama3", theta, more, 2 + odd);
      add("yarn", theta, joined(more, attention(factor)), 2 + odd);
      add("yarn", theta, joined(joined(more, {{"truncate", "off"}}), attention(factor)), 2.5 + odd);
      add("ntk_by_parts", theta, more, 3 + odd);
    }
  }
  // YaRN's factor of cos and sin where it is not that of its rule.
  NamedOptions attention(double factor) const {
    const double rule = 0.1 * std::log(factor) + 1, found = sought_.factor;
    if (found == 0 || std::abs(found - rule) < 4 * sought_.factor_noise) return {};
    const double plain = std::abs(found - 1) < 4 * sought_.factor_noise ? 1 : to_digits(found, 8);
    return {{"attention_factor", plain}};
  }
  // The fast pairs turn, with the exponents of the whole head.
  void proportional(const std::vector<double>& fitted) {
    const std::size_t N = sought_.frequencies.size();
    if (window_.channels != window_.head || known_.empty() || known_.back() + 1 == N) return;
    const std::size_t turning = known_.back() + 1;
    for (const double theta : thetas(fitted)) {
      // The encoding takes the whole part of share·N: half a pair more is safe from rounding.
      const double exact = double(turning) / double(N), share = to_digits(exact, 4);
      const bool round_enough = std::size_t(share * double(N)) == turning;
      add("proportional", theta, {{"share", round_enough ? share : (double(turning) + 0.5) / double(N)}},
          1.5);
    }
  }

  void add(const char* name, double theta, const NamedOptions& more, double cost) {
    const Named spec{name, joined(joined({{"theta", theta}}, window_.options()), more)};
    if (!seen_.insert(spec.print_given()).second) return;
    try {
      const auto made = make_encoding(completed(spec), {window_.head, 1, window_.head, 2048, true});
      Hypothesis h{.spec = spec, .cost = cost + theta_cost(theta) + window_.cost()};
      found_.push_back({h, loss(made->frequencies())});
    } catch (const Error&) {  // a number that the encoding does not allow: no hypothesis
    }
  }
  double loss(const std::vector<double>& w) const {
    double sum = 0;
    for (std::size_t n = 0; n < sought_.frequencies.size(); ++n) {
      const double a = w[n], b = sought_.frequencies[n];
      sum += std::log1p(std::abs(a - b) / (sought_.resolution + 1e-6 * std::max(a, std::abs(b)) + 1e-14));
    }
    return sum;
  }
  std::vector<Hypothesis> ranked() {
    std::stable_sort(found_.begin(), found_.end(),
                     [](const Ranked& a, const Ranked& b) { return a.loss < b.loss; });
    std::vector<Hypothesis> best;
    // Where frequencies are known badly, many extensions of one kind come equally near: so many of each kind.
    std::map<std::string, std::size_t> of_kind;
    for (const Ranked& r : found_) {
      const bool kept = rough() ? of_kind[r.hypothesis.spec.name]++ < kMostOfKind
                                : best.size() < kMostRules || sought_.frequencies.empty();
      if (kept) best.push_back(r.hypothesis);
    }
    return best;
  }

  const Window window_;
  const Sought sought_;
  std::vector<std::size_t> known_;  // pairs whose frequency is told from 0
  std::vector<Ranked> found_;
  std::set<std::string> seen_;
};

}  // namespace

NamedOptions Window::options() const {
  NamedOptions all{{"pairing", pairing}};
  if (channels < head) all.emplace_back("channels", channels);
  if (trailing) all.emplace_back("side", "trailing");
  if (offset > 0) all.emplace_back("offset", offset);
  return all;
}
double Window::cost() const {
  if (channels == head) return 0;
  const bool usual = 4 * channels % head == 0 || channels == 64 || channels == 32 || channels == 128;
  return (usual ? 0.25 : 1.5) + (trailing ? 0.25 : 0) + (offset > 0 ? 1 : 0);
}

std::vector<Hypothesis> rotary_rules(const Window& window, const Sought& sought) {
  return Rules(window, sought).all();
}

std::span<const double> known_thetas() { return kThetas; }
double cost_of_theta(double theta) {
  const bool known = std::find(std::begin(kThetas), std::end(kThetas), theta) != std::end(kThetas);
  return known ? 0 : oddness(theta);
}
double to_digits(double x, int digits) {
  if (!(x > 0) || !std::isfinite(x)) return x;
  const double unit = std::pow(10, std::floor(std::log10(x)) - digits + 1);
  return unit >= 1 ? std::round(x / unit) * unit : std::round(x / unit) / std::round(1 / unit);
}

}  // namespace gnomon
