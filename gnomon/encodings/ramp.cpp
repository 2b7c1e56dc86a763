#include "gnomon/encodings/ramp.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace gnomon {

double Ramp::at(double pair) const { return std::clamp((pair - low) / (high - low), 0.0, 1.0); }

Ramp turning_ramp(const Turning& t, double fast, double slow) {
  const double D = double(t.channels);
  const auto pair_of = [&](double turns) {
    return D * std::log(t.original / (turns * 2 * std::numbers::pi)) / (2 * std::log(t.theta));
  };
  double low = pair_of(fast), high = pair_of(slow);
  if (t.truncate) low = std::floor(low), high = std::ceil(high);
  low = std::max(low, 0.0), high = std::min(high, D - 1);  // D − 1, not D/2 − 1, as the authors have it
  if (low == high) high += 0.001;
  return {low, high};
}

std::vector<OptionSpec> yarn_ramp_options(std::vector<OptionSpec> first) {
  const OptionSpec own[] = {
      {.name = "beta_fast",
       .help = "pairs with at least this many turns over the original length keep their frequency",
       .standard = "32",
       .least = 0.001,
       .most = 1e6},
      {.name = "beta_slow",
       .help = "pairs with fewer turns than this over the original length have their frequency divided by "
               "the factor",
       .standard = "1",
       .least = 0.001,
       .most = 1e6},
      {.name = "truncate",
       .help = "round the ends of the ramp to whole pairs",
       .standard = "on",
       .words = {"on", "off"}}};
  first.insert(first.end(), std::begin(own), std::end(own));
  return first;
}
std::vector<OptionSpec> yarn_options(std::vector<OptionSpec> first) {
  first = yarn_ramp_options(std::move(first));
  const OptionSpec own[] = {
      {.name = "attention_factor",
       .help =
           "factor on q and on k; 0 = computed from mscale and mscale_all_dim, or 0.1 ln s + 1 without them",
       .standard = "0",
       .least = 0,
       .most = 1e3},
      {.name = "mscale",
       .help = "m in the factor (0.1*m*ln s + 1)/(0.1*n*ln s + 1), n = mscale_all_dim; 0 = absent",
       .standard = "0",
       .least = 0,
       .most = 1e3},
      {.name = "mscale_all_dim", .help = "see mscale; 0 = absent", .standard = "0", .least = 0, .most = 1e3},
      {.name = "softmax_mscale",
       .help = "m in a factor (0.1*m*ln s + 1)^2 on all logits: DeepSeek's mscale_all_dim; 0 = none",
       .standard = "0",
       .least = 0,
       .most = 1e3},
      {.name = "extrapolation",
       .help = "share of its own frequency that a fast pair keeps",
       .standard = "1",
       .least = 0,
       .most = 1}};
  first.insert(first.end(), std::begin(own), std::end(own));
  return first;
}

YarnRule yarn_rule(const Options& o, const Shape& shape, const RotaryWindow& window) {
  return {o.number("theta"),
          original_length(o, shape),
          window.channels,
          o.number("beta_fast"),
          o.number("beta_slow"),
          o.word("truncate") == "on",
          o.number("attention_factor"),
          o.number("mscale"),
          o.number("mscale_all_dim"),
          o.number("softmax_mscale"),
          o.number("extrapolation")};
}

std::vector<double> yarn_frequencies(const YarnRule& r, double factor) {
  auto w = geometric_frequencies(r.theta, r.channels);
  const Ramp ramp = turning_ramp({r.theta, r.original, r.channels, r.truncate}, r.beta_fast, r.beta_slow);
  for (std::size_t i = 0; i < w.size(); ++i) {
    const double slow = ramp.at(double(i)), own = (1 - slow) * r.extrapolation;
    w[i] = w[i] / factor * (r.extrapolation == 1 ? slow : 1 - own) + w[i] * own;
  }
  return w;
}

namespace {

double by_rule(double m, double factor) { return factor <= 1 ? 1 : 0.1 * m * std::log(factor) + 1; }

}  // namespace

double yarn_attention_factor(const YarnRule& r, double factor) {
  if (r.attention_factor > 0) return r.attention_factor;
  if (r.mscale > 0 && r.mscale_all_dim > 0)
    return by_rule(r.mscale, factor) / by_rule(r.mscale_all_dim, factor);
  return by_rule(1, factor);
}
double yarn_softmax_scale(const YarnRule& r, double factor) {
  return std::pow(by_rule(r.softmax_mscale, factor), 2);
}

}  // namespace gnomon
