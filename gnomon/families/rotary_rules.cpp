#include "gnomon/families/rotary_rules.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "gnomon/combine/spec.h"
#include "gnomon/core/error.h"
#include "gnomon/core/text.h"

namespace gnomon {
namespace {

constexpr std::size_t kMostRules = 12;  // that are held against the numbers themselves

// Bases of published models, the commonest first.
constexpr double kThetas[] = {1e4, 5e5, 1e6, 1.5e5, 1.6e5, 1e5, 5e6, 2e6, 8e6, 1e7};
constexpr double kLengths[] = {4096,  8192,   2048, 32768, 16384, 1024, 512,    65536,  131072,
                               40960, 262144, 256,  128,   64,    32,   524288, 1048576};

double middle(std::vector<double> x) {
  std::sort(x.begin(), x.end());
  return x.empty() ? 0 : x[x.size() / 2];
}

// To so many significant digits.
double nice(double x, int digits) {
  if (!(x > 0) || !std::isfinite(x)) return x;
  const double unit = std::pow(10, std::floor(std::log10(x)) - digits + 1);
  return unit >= 1 ? std::round(x / unit) * unit : std::round(x / unit) / std::round(1 / unit);
}
// How much it assumes that a number is x: nothing if it is of few digits.
double oddness(double x) {
  if (std::abs(nice(x, 1) - x) < 1e-9 * x) return 0.5;
  if (std::abs(nice(x, 2) - x) < 1e-9 * x) return 1;
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
      for (const double theta : thetas({})) add("rope", theta, "", 0);
      return ranked();
    }
    const std::vector<double> fitted = fitted_thetas();
    for (const double theta : thetas(fitted)) add("rope", theta, "", 0);
    interpolated(), by_base(fitted), ramps(fitted), proportional(fitted);
    return ranked();
  }

 private:
  struct Ranked {
    Hypothesis hypothesis;
    double loss;
  };

  std::vector<double> thetas(const std::vector<double>& fitted) const {
    std::vector<double> all(std::begin(kThetas), std::end(kThetas));
    if (sought_.theta > 0) all.push_back(sought_.theta);
    all.insert(all.end(), fitted.begin(), fitted.end());
    return all;
  }
  double theta_cost(double theta) const {
    if (theta == sought_.theta ||
        std::find(std::begin(kThetas), std::end(kThetas), theta) != std::end(kThetas))
      return 0;
    return oddness(theta);
  }

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
      for (const double to : {nice(theta, 1), nice(theta, 2), nice(theta, 3), nice(theta, 6)})
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
    for (const double theta : thetas({nice(theta_of(g), 1), nice(theta_of(g), 2), nice(theta_of(g), 6)})) {
      for (const double by : {nice(factor, 1), nice(factor, 2), nice(factor, 5)})
        add("linear", theta, text(", factor=", shortest(by)), 1 + oddness(by) / 4);
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
          add("ntk", theta, text(", factor=", shortest(whole)), 1.25);
      }
    }
  }
  // Fast pairs as they were, slow ones divided by one number, a ramp between.
  void ramps(const std::vector<double>& fitted) {
    if (known_.size() < 4) return;
    const double r = double(window_.channels);
    for (const double theta : thetas(fitted)) {
      const auto divided = [&](std::size_t n) { return std::pow(theta, -2 * double(n) / r) / frequency(n); };
      if (std::abs(divided(known_[1]) - 1) > 0.01 || std::abs(divided(known_[0]) - 1) > 0.01) continue;
      std::vector<double> tail;
      for (std::size_t n = known_.size() - std::max<std::size_t>(2, known_.size() / 6); n < known_.size();
           ++n)
        tail.push_back(divided(known_[n]));
      const double factor = middle(tail), far = tail.back();
      if (!(factor > 1.02) && !(far > 1.02)) continue;
      for (const double by : std::set<double>{nice(factor, 1), nice(factor, 2), nice(far, 2), 4, 8, 32})
        ramps_of(theta, by);
    }
  }
  void ramps_of(double theta, double factor) {
    if (factor <= 1) return;
    const double odd = oddness(factor) / 4;
    for (const double length : kLengths) {
      const std::string more = text(", factor=", shortest(factor), ", original=", shortest(length));
      add("llama3", theta, more, 2 + odd);
      add("yarn", theta, more + attention(factor), 2 + odd);
      add("yarn", theta, more + ", truncate=off" + attention(factor), 2.5 + odd);
      add("ntk_by_parts", theta, more, 3 + odd);
    }
  }
  // YaRN's factor of cos and sin where it is not that of its rule.
  std::string attention(double factor) const {
    const double rule = 0.1 * std::log(factor) + 1, found = sought_.factor;
    if (found == 0 || std::abs(found - rule) < 4 * sought_.factor_noise) return "";
    const double plain = std::abs(found - 1) < 4 * sought_.factor_noise ? 1 : nice(found, 8);
    return text(", attention_factor=", shortest(plain));
  }
  // The fast pairs turn, with the exponents of the whole head.
  void proportional(const std::vector<double>& fitted) {
    const std::size_t N = sought_.frequencies.size();
    if (window_.channels != window_.head || known_.empty() || known_.back() + 1 == N) return;
    const std::size_t turning = known_.back() + 1;
    for (const double theta : thetas(fitted)) {
      // The encoding takes the whole part of share·N: half a pair more is safe from rounding.
      const double exact = double(turning) / double(N), share = nice(exact, 4);
      const bool round_enough = std::size_t(share * double(N)) == turning;
      add("proportional", theta,
          text(", share=", shortest(round_enough ? share : (double(turning) + 0.5) / double(N))), 1.5);
    }
  }

  void add(std::string_view name, double theta, const std::string& more, double cost) {
    const std::string spec = text(name, "(theta=", shortest(theta), window_.options(), more, ")");
    if (!seen_.insert(spec).second) return;
    try {
      const auto made = make_encoding(spec, {window_.head, 1, window_.head, 2048, true});
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
    for (const Ranked& r : found_)
      if (best.size() < kMostRules || sought_.frequencies.empty()) best.push_back(r.hypothesis);
    return best;
  }

  const Window window_;
  const Sought sought_;
  std::vector<std::size_t> known_;  // pairs whose frequency is told from 0
  std::vector<Ranked> found_;
  std::set<std::string> seen_;
};

}  // namespace

std::string Window::options() const {
  std::string all = ", pairing=" + pairing;
  if (channels < head) all += text(", channels=", channels);
  if (trailing) all += ", side=trailing";
  if (offset > 0) all += text(", offset=", offset);
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

}  // namespace gnomon
