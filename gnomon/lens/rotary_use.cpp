#include "gnomon/lens/rotary_use.h"

#include <cmath>
#include <complex>
#include <numbers>

#include "gnomon/core/error.h"

namespace gnomon {

Turns turns_within(std::span<const double> frequencies, std::int64_t T) {
  Turns t{};
  for (const double w : frequencies) {
    const double wavelength = 2 * std::numbers::pi / w;
    ++(wavelength <= double(T) ? t.full : wavelength <= 4 * double(T) ? t.partial : t.constant);
  }
  return t;
}

std::vector<std::vector<PairUse>> rotary_use(const Trained& m, std::int64_t layer, const Matrix& stream,
                                             std::int64_t T) {
  const ModelConfig& c = m.model.config();
  const Position position = make_position(c.position, {c.width, c.heads, c.head_size(), c.length, c.causal});
  const auto& active = position.in_layer(layer);
  const auto w =
      active.size() == 1 ? position.attention[active[0]].encoding->frequencies() : std::vector<double>();
  if (std::int64_t(w.size()) * 2 != c.head_size())
    throw Error(Fault::usage, text("rotary_use: '", c.position.print(), "' does not rotate whole heads"));
  const std::int64_t windows = stream.rows / T, D = c.head_size();
  std::vector<std::vector<PairUse>> use(std::size_t(c.heads), std::vector<PairUse>(w.size(), PairUse{}));
  for (std::int64_t h = 0; h < c.heads; ++h) {
    std::vector<double> covariance(w.size(), 0.0), count(w.size(), 0.0);
    std::vector<std::complex<double>> angle(w.size());
    double variance = 0;
    for (std::int64_t s = 0; s < windows; ++s) {
      const Matrix qk = projected_rows(m, layer, stream.block(s * T, T));
      const auto pair = [&](std::int64_t t, std::int64_t key, std::size_t i) {
        const std::int64_t column = key * c.width + h * D + 2 * std::int64_t(i);
        return std::complex<double>(qk.at(t, column), qk.at(t, column + 1));
      };
      std::vector<Matrix> parts;
      Matrix total(T, T);
      for (std::size_t i = 0; i < w.size(); ++i) {
        Matrix l(T, T);
        for (std::int64_t p = 0; p < T; ++p) {
          for (std::int64_t q = 0; q <= (c.causal ? p : T - 1); ++q) {
            const auto z = pair(p, 0, i) * std::conj(pair(q, 1, i));
            l.at(p, q) = (z * std::polar(1.0, double(p - q) * w[i])).real() / std::sqrt(double(D));
            use[std::size_t(h)][i].bound += std::abs(z), angle[i] += z / std::max(std::abs(z), 1e-12),
                count[i] += 1;
          }
        }
        parts.push_back(row_centred(l, c.causal));
        total = sum(total, parts.back());
      }
      variance += squares(total);
      for (std::size_t i = 0; i < w.size(); ++i) {
        for (std::size_t n = 0; n < total.values.size(); ++n)
          covariance[i] += parts[i].values[n] * total.values[n];
      }
    }
    for (std::size_t i = 0; i < w.size(); ++i) {
      auto& u = use[std::size_t(h)][i];
      u = {u.bound / count[i], covariance[i] / variance, std::abs(angle[i]) / count[i]};
    }
  }
  return use;
}

}  // namespace gnomon
