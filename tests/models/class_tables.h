// What classes of transformers add to their words and to their logits, against what gnomon explains: for classes_test.
#pragma once
#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

#include "gnomon/encodings/encoding.h"
#include "gnomon/models/resolve/methods.h"
#include "gnomon/spec/scheme.h"
#include "tests/models/resolver_support.h"

namespace gnomon {

// What the class's table has for the token at t, in channel c.
inline double sine_at(const Resolved& answer, std::int64_t t, std::int64_t c) {
  const Shape shape{answer.width, 1, answer.width, 1, answer.causal};
  const auto encoding = make_encoding(*answer.input.input, shape);
  const std::vector<double> place{double(t + answer.table_first)};
  return part<InputPart>(*encoding)->input(Scene{place, {}, {}, {}}, 0, c);
}

// As that of a model with the stack that is called so, alone.
inline Resolved of_stack(Resolved answer, std::string_view component) {
  if (component != "encoder" || answer.encoder_longest == 0) return answer;
  answer.longest = answer.encoder_longest;
  answer.input = learned_table(answer.longest);
  return answer;
}

// The rows beside the words: which is the first token's, how many tokens have one, what stands in them if the class computes them,
// and the factor of the words.
inline std::string wrong_table(const Resolved& answer, const Json& want) {
  if (want.is_null()) return answer.input.input ? "a table that the class has not" : "";
  if (!answer.input.input) return "no table";
  const bool sines = want.contains("sines");
  const Named& input = *answer.input.input;
  if (input.name != (sines ? "sinusoidal" : "learned")) return text("the table is ", input.print_given());
  if (answer.table_first != want.at("first"))
    return text("first row ", answer.table_first, ", not ", want.at("first").dump());
  const Json& longest = want.at("longest");
  if (!longest.is_null() && answer.longest != longest)
    return text(answer.longest, " tokens, not ", longest.dump());
  if (!sines && input.number("length") != double(answer.longest)) return text("rows ", input.print_given());
  for (const Json& value : sines ? want.at("sines") : Json::array())
    if (const double own = sine_at(answer, value[0], value[1]);
        !(std::abs(own - value[2].get<double>()) <= 1e-6))
      return text("token ", value[0].dump(), " channel ", value[1].dump(), ": ", own, ", not ",
                  value[2].dump());
  if (!want.contains("words")) return {};
  const bool scaled = answer.input.combination.option("scale")->word() == "on";
  const double factor = scaled ? std::sqrt(double(answer.width)) : 1;
  return std::abs(factor / want.at("words").get<double>() - 1) <= 1e-4 ? "" : text("words times ", factor);
}

// What is added to the logits: the distances i - j that have the same number, in groups; or something that content decides.
inline std::string wrong_bias(const LayerPosition& layer, const Json& want, std::int64_t tokens) {
  std::map<std::int64_t, double> own;
  bool content = false, distance = false;
  for (const Named& named : layer.spec.attention) {
    const Shape shape{layer.heads * layer.head_dim, layer.heads, layer.head_dim, tokens, layer.causal};
    const auto encoding = make_encoding(named, shape);
    content = content || part<CrossPart>(*encoding);
    const auto* bias = part<BiasPart>(*encoding);
    if (!bias || content) continue;
    distance = true;
    std::vector<double> w, places;
    for (std::int64_t n = 0; n < encoding->param_count(); ++n) w.push_back(std::sin(double(n * n)));
    for (std::int64_t t = 0; t < tokens; ++t) places.push_back(double(t));
    for (const Json& group : want.is_array() ? want : Json::array()) {
      const auto delta = group[0].get<std::int64_t>();
      own[delta] += bias->bias(Scene{places, {}, {}, w}, 0, std::max<std::int64_t>(delta, 0),
                               std::max<std::int64_t>(-delta, 0));
    }
  }
  for (const Because& b : layer.because) content = content || b.what == "logits";  // what no spec says
  if (want.is_string()) return content ? "" : "nothing of the content is added";
  if (!distance) return "no bias by distance";
  for (const Json& a : want)
    for (const Json& b : want)
      if ((own[a[0]] == own[b[0]]) != (a[1] == b[1]))
        return text("distances ", a[0].dump(), " and ", b[0].dump(), " have the same bias, or not");
  return {};
}

// Of a bias that is a multiple of the distance, the slopes of the heads: those that a layer has, and those that it should have, which
// are measured in float32 and have four digits.
inline std::string wrong_slopes(const std::vector<double>& own, const Json& want) {
  if (own.size() != want.size()) return text(own.size(), " slopes, not ", want.size());
  for (std::size_t h = 0; h < own.size(); ++h)
    if (!(std::abs(own[h] / want[h].get<double>() - 1) <= 5e-4))
      return text("slope ", own[h], " of head ", h, ", not ", want[h].dump());
  return {};
}

}  // namespace gnomon
