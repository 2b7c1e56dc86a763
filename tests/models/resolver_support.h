// How what gnomon computes from a configuration is compared with what transformers computed.
#pragma once
#include <cmath>
#include <nlohmann/json.hpp>
#include <string>

#include "gnomon/core/text.h"
#include "gnomon/models/resolve/numbers.h"
#include "gnomon/models/resolve/resolved.h"

namespace gnomon {

using Json = nlohmann::ordered_json;

// transformers computes in float32: the exponent i/d, the power, and where types blend two frequencies the weight of each, whose
// rounding counts `blend` times more against the smaller one.
inline double tolerance(const LayerPosition& layer) {
  const double ulp = std::pow(2.0, -23);
  double theta = 1e4, blend = 1;
  for (const Named& named : layer.spec.attention) {
    if (named.option("theta")) theta = named.number("theta");
    if (named.name == "yarn" || named.name == "llama3") blend = named.number("factor");
  }
  return ulp * (2 + std::log(theta) / 2 + blend);
}

// The first difference from what transformers computes, in words; empty: none.
inline std::string difference(const Numbers& found, const Json& want, double tolerance) {
  if (found.inv_freq.size() != want.at("pairs").get<std::size_t>())
    return text(found.inv_freq.size(), " pairs, not ", want.at("pairs").dump());
  for (std::size_t n = 0; n < want.at("f").size(); ++n) {
    const std::size_t pair = want.at("at")[n];
    const double f = want.at("f")[n], own = found.inv_freq[pair];
    if (!(std::abs(own - f) <= tolerance * f)) return text("pair ", pair, ": ", own, ", not ", f);
  }
  double sum = 0, weight = 0;
  for (std::size_t i = 0; i < found.inv_freq.size(); ++i)
    if (found.inv_freq[i] > 0) sum += double(i + 1) * std::log(found.inv_freq[i]), weight += double(i + 1);
  if (!(std::abs(sum - want.at("sum").get<double>()) <= tolerance * weight))
    return text("checksum ", sum, ", not ", want.at("sum").dump());
  if (!(std::abs(found.attention_factor - want.at("a").get<double>()) <= 1e-9))
    return text("factor of cos and sin ", found.attention_factor, ", not ", want.at("a").dump());
  return {};
}

}  // namespace gnomon
