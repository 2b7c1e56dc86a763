// The laws of the lenses over every pair of encodings that go together inside attention: what a lens shows is the pair's
// composed definition, or it refuses.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <map>
#include <optional>

#include "gnomon/encodings/definition.h"
#include "gnomon/lens/rotary_use.h"
#include "tests/lens/lens_support.h"

namespace gnomon {
namespace {

std::vector<std::string> inside_attention() {
  std::vector<std::string> all;
  for (const Entry* entry : encodings()) {
    if (entry->acts != 0 && !(entry->acts & (kInput | kPositions))) all.emplace_back(entry->name);
  }
  return all;
}

// A model of these encodings and what enters its first layer.
struct Opened {
  Moved m;
  Matrix h, qkv;
  AttentionMaps maps;
  explicit Opened(const std::string& spec)
      : m(spec),
        h(streams(m.look(), letters(1))[0]),
        qkv(projected_rows(m.look(), 0, h)),
        maps(attention_maps(m.look(), 0, h)) {}

  // (H,T,D) of the columns [which·width, (which+1)·width) of qkv.
  std::vector<double> by_head(std::int64_t which) const {
    const std::int64_t D = kWidth / kHeads;
    std::vector<double> all;
    for (std::int64_t n = 0; n < kTokens * kWidth; ++n)
      all.push_back(qkv.at(n / D % kTokens, which * kWidth + n / (D * kTokens) * D + n % D));
    return all;
  }
  std::vector<double> parameters(const std::string& prefix) const {
    std::vector<double> all;
    for (const Param& p : m.model.params()) {
      if (p.spec.name.starts_with(prefix))
        all.insert(all.end(), m.w.begin() + p.offset, m.w.begin() + p.offset + p.spec.size());
    }
    return all;
  }
};

// The norm before attention, in double: what encodings that read the stream read.
std::vector<double> normed(const Opened& o) {
  const std::vector<double> gain = o.parameters("layers.0.attention.norm.gain"),
                            bias = o.parameters("layers.0.attention.norm.bias");
  std::vector<double> all;
  for (std::int64_t t = 0; t < kTokens; ++t) {
    double mean = 0, variance = 0;
    for (const double x : o.h.row(t)) mean += x / double(kWidth);
    for (const double x : o.h.row(t)) variance += (x - mean) * (x - mean) / double(kWidth);
    for (std::size_t c = 0; c < std::size_t(kWidth); ++c)
      all.push_back(gain[c] * (o.h.row(t)[c] - mean) / std::sqrt(variance + 1e-5) + bias[c]);
  }
  return all;
}

void expect_maps_are_the_definition(const Opened& o) {
  const Scheme& scheme = o.m.model.scheme();
  std::vector<std::vector<double>> w;
  for (const std::size_t n : scheme.in_layer(0)) {
    const std::string own = scheme.attention[n].encoding->per_layer() ? "0." : "";
    w.push_back(o.parameters(text("position.attention.", n, ".", own)));
  }
  std::vector<Defined> defined;
  for (std::size_t n = 0; n < w.size(); ++n)
    defined.push_back({scheme.attention[scheme.in_layer(0)[n]].encoding.get(), w[n]});
  const auto q = o.by_head(0), k = o.by_head(1), v = o.by_head(2), x = normed(o),
             weight = o.parameters("layers.0.attention.qkv.weight"),
             bias = o.parameters("layers.0.attention.qkv.bias");
  const Placement placement = Placement::consecutive(0, kTokens);
  const Scene scene{placement,
                    q,
                    k,
                    {},
                    x,
                    v,
                    {weight.data(), weight.data() + kWidth * kWidth, bias.data(), bias.data() + kWidth}};
  const Definition definition(o.m.model.architecture().shape(), defined, scene);
  for (std::int64_t h = 0; h < kHeads; ++h) {
    for (std::int64_t i = 0; i < kTokens; ++i) {
      double total = 0;
      const auto seen = [&](std::int64_t j) { return definition.sees(i, j); };
      for (std::int64_t j = 0; j < kTokens; ++j)
        total += seen(j) ? std::exp(definition.ln_weight(h, i, j)) : 0;
      if (definition.weights() != Weighting::softmax) total = 1;
      for (std::int64_t j = 0; j < kTokens; ++j) {
        const double found = o.maps.logits[std::size_t(h)].at(i, j),
                     a = o.maps.weights[std::size_t(h)].at(i, j);
        if (!seen(j)) {
          ASSERT_EQ(found, -INFINITY);
          ASSERT_EQ(a, 0);
          continue;
        }
        const double want = definition.ln_weight(h, i, j);
        ASSERT_NEAR(found, want, 2e-5 * std::max(1.0, std::abs(want))) << h << " " << i << " " << j;
        ASSERT_NEAR(a, std::exp(want) / total, 2e-5);
      }
    }
  }
}

// Whether the parts are given; where they are, they add up to the logits.
template <class Parts>
bool splits(const Opened& o, const Parts& parts) {
  std::vector<Matrix> found;
  if (refuses([&] { found = parts(); })) return false;
  Matrix total = found.front();
  for (std::size_t n = 1; n < found.size(); ++n) total = sum(total, found[n]);
  const Matrix& want = o.maps.logits[1];
  double size = 1;
  for (const double x : want.values) size = std::isfinite(x) ? std::max(size, std::abs(x)) : size;
  for (std::size_t n = 0; n < want.values.size(); ++n) {
    const double off = std::abs(total.values[n] - want.values[n]);
    EXPECT_TRUE(std::isinf(want.values[n]) || off < 2e-5 * size) << off << " at " << n;
  }
  return true;
}
bool splits_into_terms(const Opened& o) {
  return splits(o, [&] {
    Matrix half = o.h;
    for (std::size_t n = 0; n < half.values.size(); ++n) half.values[n] *= n % 3 ? 0.25 : 0.75;
    return term_maps(o.m.look(), 0, {half, sum(o.h, half, -1)}, 1);
  });
}
bool splits_into_pairs(const Opened& o) {
  return splits(o, [&] { return pair_logits(o.m.look(), 0, o.h, 1); });
}

TEST(LensLaws, HoldForEveryAdmissiblePair) {
  const auto names = inside_attention();
  std::map<std::string, bool> alone;
  for (const std::string& name : names) alone[name] = splits_into_terms(Opened(name));
  int accepted = 0, terms = 0, turned = 0;
  for (std::size_t n = 0; n < names.size(); ++n) {
    for (std::size_t m = n; m < names.size(); ++m) {
      const std::string spec = names[n] + "+" + names[m];
      SCOPED_TRACE(spec);
      std::optional<Opened> o;
      if (refuses([&] { Moved made(spec); })) continue;
      o.emplace(spec);
      ++accepted;
      expect_maps_are_the_definition(*o);
      const Sample s = letters(2);
      const double truth = mean_loss(o->m.look(), s);
      EXPECT_NEAR(loss_with(o->m.look(), s, 1, [](auto, auto, Matrix&) {}), truth, 1e-6 * truth);
      const bool split = splits_into_terms(*o);
      EXPECT_EQ(split, alone[names[n]] && alone[names[m]]);
      terms += split, turned += splits_into_pairs(*o);
      if (HasFailure()) return;
    }
  }
  std::printf("%d pairs laid open; %d split into terms, %d into pairs of channels\n", accepted, terms,
              turned);
  EXPECT_GT(accepted, 600);
  EXPECT_GT(terms, 0);
}

}  // namespace
}  // namespace gnomon
