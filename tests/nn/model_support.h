// What the tests of models share: a small one, random tokens, and the comparison with its twin in double.
#pragma once
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <set>

#include "gnomon/kernels/loss.h"
#include "gnomon/nn/block.h"
#include "gnomon/nn/session.h"
#include "tests/nn/reference_model.h"
#include "tests/support/support.h"

namespace gnomon {

// Random tokens, a fifth of them without a target.
struct Text {
  std::vector<std::int32_t> inputs, targets;
  Tokens tokens(std::int64_t B, std::int64_t T, std::uint64_t vocabulary = kVocabulary) {
    const Random random(1, "text");
    for (std::int64_t n = 0; n < B * T; ++n) {
      inputs.push_back(std::int32_t(random.below(2 * n, vocabulary)));
      targets.push_back(n % 5 == 3 ? kUnscored : std::int32_t(random.below(2 * n + 1, vocabulary)));
    }
    return {B, T, inputs, targets};
  }
};

inline constexpr BlockSizes kSmall{.layers = 2, .width = 16, .heads = 2, .feed_forward = 2, .length = 12};
inline Architecture small(const std::string& spec) { return make_block("gpt", kSmall, Spec::parse(spec)); }

// Parameters away from their start, where biases are 0 and gains 1 and errors could hide.
inline Floats shaken(const Model& model) {
  Floats w = model.initial(3);
  const Floats noise = normals(std::int64_t(w.size()), 9, 0.1);
  for (std::size_t i = 0; i < w.size(); ++i) w[i] += noise[i];
  return w;
}

// Every value between the tokens and the logits is the twin's, but for the rows after the steps, which it does not have; and
// looking changes no bit.
inline void expect_values_are_the_twins(const Model& model, std::span<const float> w, const Tokens& tokens,
                                        ReferenceModel& twin) {
  Floats losses(tokens.inputs.size()), untouched(losses.size());
  struct Seen {
    std::vector<std::int64_t> shape;
    Floats values;
  };
  std::map<std::string, Seen> found;
  Taps taps;
  for (const std::string& name : model.tap_names())
    taps[name] = [&found](TapValue& value) { found[value.name()] = {value.shape(), value.read()}; };
  Tokens watched = tokens;
  watched.taps = &taps;
  Session session(model);
  session.loss(tokens, w, untouched);
  session.loss(watched, w, losses);
  ASSERT_EQ(losses, untouched);
  ASSERT_EQ(found.size(), taps.size());
  for (std::int64_t b = 0; b < tokens.B; ++b) {
    std::set<std::string> compared;
    twin.note = [&](const std::string& name, const std::vector<double>& want) {
      ASSERT_TRUE(found.count(name)) << name;
      const Seen& seen = found[name];
      const std::size_t size = want.size(), first = seen.shape[0] == 1 ? 0 : std::size_t(b) * size;
      ASSERT_EQ(seen.values.size(), size * std::size_t(seen.shape[0])) << name;
      double most = 1;
      for (const double x : want) most = std::isfinite(x) ? std::max(most, std::abs(x)) : most;
      for (std::size_t n = 0; n < size; ++n) {
        if (std::isinf(want[n])) {
          ASSERT_EQ(double(seen.values[first + n]), want[n]) << name << " number " << n;
        } else {
          ASSERT_NEAR(seen.values[first + n], want[n], 1e-5 * most) << name << " number " << n;
        }
      }
      compared.insert(name);
    };
    (void)twin.logits(tokens, b);
    for (const auto& [name, seen] : found) {
      EXPECT_TRUE(name.ends_with("_mapped") || compared.count(name)) << name;
    }
  }
  twin.note = nullptr;
}

// Rows of an encoder for two sequences of five, one of them padding.
struct Encoded {
  explicit Encoded(std::int64_t size) : rows(normals(size, 21)) {}
  Floats rows;
  static constexpr std::uint8_t padding[10] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 1};
};

inline void expect_model_is_its_twin(const Architecture& config,
                                     const std::vector<std::uint8_t>& padding = {},
                                     const std::vector<std::int32_t>& types = {}) {
  Model model(config);
  const Floats w = shaken(model);
  std::vector<double> W(w.begin(), w.end());
  Text text;
  Tokens tokens = text.tokens(2, 9, std::uint64_t(config.vocabulary));
  tokens.types = types;
  if (!padding.empty()) tokens.padding = padding.data();
  const Encoded encoded(config.cross ? 2 * 5 * config.width : 0);
  if (config.cross) tokens.encoder = {5, encoded.rows, encoded.padding};
  Floats losses(18), gradient(w.size()), dencoder(encoded.rows.size());
  const double loss = Session(model).loss(tokens, w, losses, gradient, dencoder);
  ReferenceModel twin(model, W);
  ASSERT_NEAR(loss, twin.loss(tokens), 1e-5);
  expect_values_are_the_twins(model, w, tokens, twin);
  for (const auto& p : model.params()) {
    for (const std::int64_t at : {std::int64_t{0}, p.spec.size() / 3, p.spec.size() - 1}) {
      double& x = W[p.offset + at];
      const double keep = x, h = 1e-6;
      x = keep + h;
      const double above = twin.loss(tokens);
      x = keep - h;
      const double below = twin.loss(tokens);
      x = keep;
      ASSERT_NEAR(gradient[p.offset + at], (above - below) / (2 * h), 2e-5)
          << p.spec.name << " number " << at;
    }
  }
  twin.encoder.assign(encoded.rows.begin(), encoded.rows.end());
  for (std::size_t at = 0; at < dencoder.size(); at += 7) {
    double& x = twin.encoder[at];
    const double keep = x, h = 1e-6;
    x = keep + h;
    const double above = twin.loss(tokens);
    x = keep - h;
    const double below = twin.loss(tokens);
    x = keep;
    ASSERT_NEAR(dencoder[at], (above - below) / (2 * h), 2e-5) << "number " << at << " of the encoder";
  }
}

}  // namespace gnomon
