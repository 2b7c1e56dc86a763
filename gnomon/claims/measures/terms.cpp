#include "gnomon/claims/measures/terms.h"

#include <algorithm>
#include <cmath>

#include "gnomon/lens/attention.h"
#include "gnomon/lens/table.h"

namespace gnomon::claims {
namespace {

// The terms of every window and head, [window·heads + head].
std::vector<std::vector<Matrix>> window_terms(const Outcome& o, const Sample& sample) {
  const Written parts = written(o.look(), sample);
  std::vector<std::vector<Matrix>> terms;
  for (std::int64_t s = 0; s < sample.count(); ++s) {
    for (std::int64_t h = 0; h < o.model->architecture().attention.heads; ++h)
      terms.push_back(term_maps(
          o.look(), 0,
          {parts.word.block(s * sample.T, sample.T), parts.position.block(s * sample.T, sample.T)}, h));
  }
  return terms;
}

// The loss with `scale` times term k, less its row means, added to the logits of the first layer.
double loss_with_scaled(const Outcome& o, const Sample& sample, const std::vector<std::vector<Matrix>>& terms,
                        std::size_t k, double scale) {
  const Architecture& c = o.model->architecture();
  return loss_with(o.look(), sample, 0, [&](std::int64_t s, std::int64_t h, Matrix& logits) {
    logits = sum(logits, row_centred(terms[std::size_t(s * c.attention.heads + h)][k], c.causal), scale);
  });
}

}  // namespace

std::vector<double> ablations(const Outcome& o, const Sample& sample) {
  const auto terms = window_terms(o, sample);
  const double intact = mean_loss(o.look(), sample);
  std::vector<double> out;
  for (const std::size_t k : kTerms) out.push_back(loss_with_scaled(o, sample, terms, k, -1) - intact);
  return out;
}

std::vector<double> pulls(const Outcome& o, const Sample& sample) {
  const auto terms = window_terms(o, sample);
  std::vector<double> out;
  for (const std::size_t k : kTerms)
    out.push_back((loss_with_scaled(o, sample, terms, k, .05) - loss_with_scaled(o, sample, terms, k, -.05)) /
                  .1);
  return out;
}

double least_correlation(const Outcome& o, const Sample& sample) {
  Written parts = written(o.look(), sample);
  // The mean word is the same at every place: it goes with the position, and averages over words are about the rest.
  const auto mean_word = column_means(parts.word);
  for (std::int64_t n = 0; n < parts.word.rows; ++n) {
    for (std::int64_t c = 0; c < parts.word.columns; ++c)
      parts.word.at(n, c) -= mean_word[std::size_t(c)], parts.position.at(n, c) += mean_word[std::size_t(c)];
  }
  double least = 1;
  for (std::int64_t h = 0; h < o.model->architecture().attention.heads; ++h) {
    Matrix mean(sample.T, sample.T), place(sample.T, sample.T);
    for (std::int64_t s = 0; s < sample.count(); ++s) {
      const auto terms = term_maps(
          o.look(), 0,
          {parts.word.block(s * sample.T, sample.T), parts.position.block(s * sample.T, sample.T)}, h);
      const double share = 1 / double(sample.count());
      for (const Matrix& t : terms) mean = sum(mean, row_centred(t, true), share);
      for (const std::size_t k :
           {std::size_t{4}, std::size_t{7}})  // position or biases ask, position is asked
        place = sum(place, row_centred(terms[k], true), share);
    }
    std::vector<double> averaged,
        positional;  // a token and itself have one word: the diagonal does not average out
    for (std::int64_t i = 0; i < sample.T; ++i) {
      for (std::int64_t j = 0; j < i; ++j)
        averaged.push_back(mean.at(i, j)), positional.push_back(place.at(i, j));
    }
    least = std::min(least, pearson(averaged, positional));
  }
  return least;
}

OffsetShares offset_shares(const Outcome& o, const Sample& sample, std::int64_t draws) {
  const Architecture& c = o.model->architecture();
  const std::int64_t D = c.attention.head_dim, reach = sample.T / 2;
  const Matrix qkv = parameter(o.look(), "layers.0.attention.qkv.weight");
  const auto gain = parameter(o.look(), "layers.0.attention.norm.gain").values;
  const Matrix e = positions_of(o, sample);
  const auto read = [&](const Matrix& turned) {
    Matrix out = turned;
    for (std::int64_t n = 0; n < out.rows; ++n) {
      for (std::int64_t k = 0; k < out.columns; ++k) out.at(n, k) *= gain[std::size_t(k)];
    }
    return out;
  };
  const auto share = [&](const Matrix& left, const Matrix& right, std::int64_t h) {
    return causal_offset_share(product_transposed(product_transposed(left, qkv.block(h * D, D)),
                                                  product_transposed(right, qkv.block(c.width + h * D, D))),
                               reach);
  };
  OffsetShares out{std::vector<double>(std::size_t(c.attention.heads), 0.0), {}};
  out.by_chance = out.found;
  const Random random(31, "turned positions");
  for (std::int64_t n = -1; n < draws; ++n) {
    const Matrix left =
                     n < 0
                         ? read(e)
                         : read(product(e, random_subspace(random, std::uint64_t(2 * n), c.width, c.width))),
                 right = n < 0 ? left
                               : read(product(
                                     e, random_subspace(random, std::uint64_t(2 * n + 1), c.width, c.width)));
    for (std::int64_t h = 0; h < c.attention.heads; ++h)
      (n < 0 ? out.found : out.by_chance)[std::size_t(h)] +=
          share(left, right, h) / (n < 0 ? 1.0 : double(draws));
  }
  return out;
}

}  // namespace gnomon::claims
