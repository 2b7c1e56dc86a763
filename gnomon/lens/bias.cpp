#include "gnomon/lens/bias.h"

#include <algorithm>
#include <cmath>

#include "gnomon/core/error.h"
#include "gnomon/core/random.h"

namespace gnomon {
namespace {

// Projections are arrays only for those that read more than q and k: (H·D,C) is large.
std::size_t zeros(const Encoding& e, std::int64_t tokens) {
  const Shape& s = e.shape();
  return std::size_t(std::max(tokens * s.C, e.reads_content() ? s.H * s.D * s.C : 0));
}

// The same logit twice, up to the rounding of a sum.
bool same(double a, double b) { return !(std::abs(a - b) > 1e-9 * (std::abs(a) + std::abs(b))); }

constexpr std::int64_t kFew = 4;  // tokens that show what an encoding reads

std::vector<double> numbers(std::size_t n, const char* name) {
  const Random random(1, name);
  std::vector<double> out;
  for (std::size_t i = 0; i < n; ++i) out.push_back(random.normal(i));
  return out;
}

// Parameters beside those of the shown: a table that starts at 0 hides what an encoding reads.
std::vector<double> moved(const ShownEncoding& s) {
  auto w = numbers(s.w.size(), "parameters");
  for (std::size_t n = 0; n < w.size(); ++n) w[n] = s.w[n] + 0.1 * w[n];
  return w;
}

}  // namespace

Silent::Silent(const Encoding& e, const Placement& place)
    : q(std::size_t(e.shape().H * place.T() * e.shape().D)),
      k(q.size()),
      place_(place),
      zero_(zeros(e, place.T())) {}

Scene Silent::scene(const std::vector<double>& w) const {
  const double* none = zero_.data();
  return {place_, q, k, w, zero_, q, {none, none, none, none}};
}

bool reads_rows(const ShownEncoding& s) {
  if (!s.encoding.reads_content()) return false;
  Silent few(s.encoding, Placement::consecutive(0, kFew));
  few.q = few.k = numbers(few.q.size(), "words");
  const auto x = numbers(zeros(s.encoding, kFew), "rows");
  const auto w = moved(s);
  const Scene without = few.scene(w);
  Scene with = without;
  with.x = x, with.projections = {x.data(), x.data(), x.data(), x.data()};
  const auto logit = [&](const Scene& scene) {
    return Definition(s.encoding, scene).ln_weight(0, kFew - 1, 0);
  };
  return !same(logit(without), logit(with));
}

// The key and what stands before it, and the tokens at these distances from it.
Placement Bias::place() const {
  if (!first_) return Placement::consecutive(0, tokens_ + key_);
  std::vector<double> positions;
  for (std::int64_t p = 0; p <= key_; ++p) positions.push_back(double(p));
  for (std::int64_t t = 0; t < tokens_; ++t) positions.push_back(double(key_ + first_ + t));
  return Placement::of(std::move(positions));
}

// Those that treat position 0 apart (TUPE) are shown with the key beside it.
Bias::Bias(const ShownEncoding& s, std::int64_t length, std::int64_t first)
    : sitter_(s),
      reads_words_(by_content()),
      key_(length > kFew && by_place()),
      first_(reads_words_ ? 0 : first),
      tokens_(std::min(length - key_, reads_words_ ? std::int64_t{256} : length)),
      silent_(s.encoding, place()),
      definition_(s.encoding, silent_.scene(s.w)),
      by_content_only_(reads_words_ && flat()) {}

bool Bias::by_content() const {
  if (reads_rows(sitter_)) return true;
  const std::int64_t D = sitter_.encoding.shape().D;
  const Silent silent(sitter_.encoding, Placement::consecutive(0, kFew));
  Silent spoken = silent;
  spoken.q = spoken.k = numbers(spoken.q.size(), "words");
  double product = 0;
  for (std::int64_t d = 0; d < D; ++d) product += spoken.q[(kFew - 1) * D + d] * spoken.k[d];
  const auto w = moved(sitter_);
  const auto logit = [&](const Silent& words) {
    return Definition(sitter_.encoding, words.scene(w)).ln_weight(0, kFew - 1, 0);
  };
  return !same(logit(spoken), logit(silent) + product / std::sqrt(double(D)));
}

bool Bias::by_place() const {
  const Silent few(sitter_.encoding, Placement::consecutive(0, kFew));
  const auto w = moved(sitter_);
  const Definition definition(sitter_.encoding, few.scene(w));
  return !same(definition.ln_weight(0, 1, 0), definition.ln_weight(0, 3, 2));
}

double Bias::at(std::int64_t head, std::int64_t delta) const {
  const std::int64_t far = key_ + std::abs(delta) - (first_ ? first_ - 1 : 0), i = delta < 0 ? key_ : far,
                     j = delta < 0 ? far : key_;
  const double added = definition_.ln_weight(head, i, j);
  return std::isfinite(added) ? added : std::nan("");
}

bool Bias::flat() const {
  for (std::int64_t h = 0; h < sitter_.encoding.shape().H; ++h) {
    for (std::int64_t delta = 2; delta < tokens_; delta *= 2) {  // first_ is 0: it reads words
      if (!same(at(h, 1), at(h, delta))) return false;
    }
  }
  return true;
}

std::string Bias::meaning() const {
  return text(definition_.weights() == Weighting::softmax ? "Added to the logit"
                                                          : "Logarithm of the weight; no softmax follows",
              reads_words_ ? ", for words without content (q = k = x = 0)" : "",
              key_ ? ", for the key at position 1" : "");
}

}  // namespace gnomon
