// Conditional position encoding by a generator (PEG): a convolution of the words over the image. Chu et al. 2021 (CPVT),
// https://arxiv.org/abs/2102.10882, section 3.3; timm, models/twins.py, PosConv.
//
//   e_t[c] = b[c] + Σ_{a,b} W[c, a + r, b + r]·x[c] of the token at (y_t + a, x_t + b),   a, b = −r..r,   r = reach
//
// x are the word vectors. Where no token stands and at padding they are 0: so the edges of the image tell where a token is. CPVT
// and Twins add e to x as it is, add(peg, scale=off), after the first layer; here it comes before it. Tokens with one coordinate
// stand row by row on a grid. Those of an image come row by row; where the places do not rise, another image begins, and nothing
// is read across. In a causal model later tokens are not read. Acts on the input. Parameters: weight (C, 2r + 1, 2r + 1), bias (C).
#include <algorithm>
#include <cmath>

#include "gnomon/encodings/encoding.h"

namespace gnomon {
namespace {

class Peg final : public Encoding, public InputPart {
 public:
  Peg(const Options& options, const Shape& shape)
      : Encoding(shape), kernel_(2 * options.whole("reach") + 1), grid_{2, options.whole("columns")} {}
  std::int64_t axes() const override { return 2; }
  unsigned reads() const override { return kReadsInput; }
  std::vector<ParamSpec> params() const override {
    return {{"weight", {shape_.C, kernel_, kernel_}, 0, 1 / (std::sqrt(3.0) * double(kernel_)), true},
            {"bias", {shape_.C}, 0, 0, false}};
  }

  double input(const Scene& s, std::int64_t t, std::int64_t c) const override {
    double sum = s.w[std::size_t(bias() + c)];
    const Run run = run_of(s.positions, t);
    for (std::int64_t from = run.begin; from < run.end; ++from) {
      const double y = coordinate(s.positions, from, 0, grid_) - coordinate(s.positions, t, 0, grid_),
                   x = coordinate(s.positions, from, 1, grid_) - coordinate(s.positions, t, 1, grid_);
      if ((shape_.causal && from > t) || std::abs(y) > reach() || std::abs(x) > reach() ||
          y != std::floor(y) || x != std::floor(x))
        continue;
      const std::int64_t tap = (std::int64_t(y) + reach()) * kernel_ + std::int64_t(x) + reach();
      sum += s.w[std::size_t(c * kernel_ * kernel_ + tap)] * s.x[std::size_t(from * shape_.C + c)];
    }
    return sum;
  }
  void input(const Batch& b, float* e) const override {
    const auto weight = by_tap(b.w);
    std::vector<double> sum(static_cast<std::size_t>(shape_.C));
    std::int64_t before = -1;
    const auto write = [&] {
      for (std::int64_t c = 0; before >= 0 && c < shape_.C; ++c)
        e[before * shape_.C + c] = float(sum[std::size_t(c)]);
    };
    each_read(b.positions, [&](std::int64_t t, std::int64_t from, std::int64_t tap) {
      if (t != before) {
        write();
        before = t;
        std::copy_n(b.w + bias(), shape_.C, sum.begin());
      }
      const float* x = b.content->x.row(from);
      const double* w = &weight[std::size_t(tap * shape_.C)];
      for (std::int64_t c = 0; c < shape_.C; ++c) sum[std::size_t(c)] += w[c] * double(x[c]);
    });
    write();
  }
  void input_backward(const Batch& b, const float* de, const BatchGrad& grad) const override {
    const auto weight = by_tap(b.w);
    std::vector<double> dweight(weight.size());
    each_read(b.positions, [&](std::int64_t t, std::int64_t from, std::int64_t tap) {
      const float *x = b.content->x.row(from), *d = de + t * shape_.C;
      float* dx = grad.content->x.row(from);
      const double* w = &weight[std::size_t(tap * shape_.C)];
      double* dw = &dweight[std::size_t(tap * shape_.C)];
      for (std::int64_t c = 0; c < shape_.C; ++c) {
        dw[c] += double(d[c]) * double(x[c]);
        dx[c] += float(double(d[c]) * w[c]);
      }
    });
    const std::int64_t taps = kernel_ * kernel_;
    for (std::int64_t n = 0; n < taps * shape_.C; ++n)
      grad.w[n] += float(dweight[std::size_t(n % taps * shape_.C + n / taps)]);
    std::vector<double> dbias(static_cast<std::size_t>(shape_.C));
    for (std::int64_t n = 0; n < b.tokens() * shape_.C; ++n)
      dbias[std::size_t(n % shape_.C)] += double(de[n]);
    for (std::int64_t c = 0; c < shape_.C; ++c) grad.w[bias() + c] += float(dbias[std::size_t(c)]);
  }

 private:
  std::int64_t reach() const { return kernel_ / 2; }
  std::int64_t bias() const { return shape_.C * kernel_ * kernel_; }
  // W (taps, C).
  std::vector<double> by_tap(const float* w) const {
    const std::int64_t taps = kernel_ * kernel_;
    std::vector<double> all(std::size_t(taps * shape_.C));
    for (std::int64_t n = 0; n < taps * shape_.C; ++n)
      all[std::size_t(n % taps * shape_.C + n / taps)] = double(w[n]);
    return all;
  }

  // The tokens of the image of token t: [begin, end).
  struct Run {
    std::int64_t begin, end;
  };
  struct Place {
    double y, x;
    auto operator<=>(const Place&) const = default;
  };
  Place place(const Positions& p, std::int64_t t) const {
    return {coordinate(p, t, 0, grid_), coordinate(p, t, 1, grid_)};
  }
  Run run_of(const Positions& p, std::int64_t t) const {
    const std::int64_t first = t / p.T() * p.T(), last = first + p.T();
    Run run{t, t + 1};
    while (run.begin > first && place(p, run.begin - 1) < place(p, run.begin)) --run.begin;
    while (run.end < last && place(p, run.end - 1) < place(p, run.end)) ++run.end;
    return run;
  }
  // f(token, one that it reads, the weight's column), token by token, its own among those that it reads.
  template <class Body>
  void each_read(const Positions& p, const Body& f) const {
    Run run{0, 0};
    std::vector<Place> places;  // of the run
    for (std::int64_t t = 0; t < p.size(); ++t) {
      if (t >= run.end || t % p.T() == 0) {
        run = run_of(p, t);
        places.clear();
        for (std::int64_t n = run.begin; n < run.end; ++n) places.push_back(place(p, n));
      }
      const Place here = places[std::size_t(t - run.begin)];
      for (std::int64_t tap = 0; tap < kernel_ * kernel_; ++tap) {
        const Place there{here.y + double(tap / kernel_ - reach()), here.x + double(tap % kernel_ - reach())};
        const auto found = std::lower_bound(places.begin(), places.end(), there);
        const std::int64_t from = run.begin + (found - places.begin());
        if (found != places.end() && *found == there && !(shape_.causal && from > t)) f(t, from, tap);
      }
    }
  }

  const std::int64_t kernel_;
  const Grid grid_;
};

}  // namespace

extern const Entry peg_entry;
const Entry peg_entry = entry<Peg>(
    {.name = "peg",
     .aliases = {"cpe", "cpvt", "pos_conv"},
     .title = "PEG: a depthwise convolution of the words over the image",
     .paper = "https://arxiv.org/abs/2102.10882",
     .formula = "e_t = b + sum_{a,b} W[a,b]*x at (y_t + a, x_t + b)",
     .latex = R"(e_t = b + \sum_{a, b = -r}^{r} W_{a,b} \odot x_{(y_t + a,\, x_t + b)})",
     .pitfall = "it tells places by the zeros beyond the edges alone: few layers see only the edge",
     .year = 2021,
     .relative = true,
     .options = {{.name = "reach",
                  .help = "rows and columns that are read in each direction; 1 is a kernel of 3",
                  .standard = "1",
                  .least = 0,
                  .most = 15,
                  .whole = true},
                 columns_option()}});

}  // namespace gnomon
