// The bias of a window of an image, from a small network of the distance down and across. Liu et al. 2022 (Swin Transformer
// V2), https://arxiv.org/abs/2111.09883, section 3.3; timm, models/swin_transformer_v2.py; Hugging Face transformers,
// modeling_swinv2.py.
//
//   s[h,i,j] = q_i·k_j/√D + most·σ(Σ_n V[h,n]·relu(W[n]·(u(Δy, trained rows), u(Δx, trained columns)) + b[n]))
//   u(Δ, n) = sign(Δ)·log₂(1 + 8·|Δ|/(n − 1))/3,   8·|Δ| where n = 1
//   Δy = y_i − y_j,   Δx = x_i − x_j
//
// In units of the window that it was trained on, distances of a larger window are little above 1, so the same network serves
// it. Swin V2 divides q and k by their lengths, too, which is another matter. Tokens with one coordinate stand row by row on the
// window. A sequence with coordinates farther apart than the window is an error. Acts on the logits. Parameters: hidden.weight W
// (hidden,2), hidden.bias b (hidden), out.weight V (H,hidden), each layer its own.
#include <algorithm>
#include <array>
#include <cmath>

#include "gnomon/core/error.h"
#include "gnomon/core/text.h"
#include "gnomon/encodings/gates.h"
#include "gnomon/encodings/image_window.h"

namespace gnomon {
namespace {

double relu(double x) { return x < 0 ? 0 : x; }  // NaN stays

class WindowMlp final : public Encoding, public BiasPart {
 public:
  WindowMlp(const Options& options, const Shape& shape)
      : Encoding(shape),
        window_{"window_mlp", options.whole("rows"), {2, options.whole("columns")}},
        hidden_(options.whole("hidden")),
        most_(options.number("most")) {
    const auto given = options.numbers("trained");
    if (given.size() > 2)
      throw Error(Fault::usage, text("window_mlp: trained=", options.value("trained").print(),
                                     "; allowed are one number, or two for rows and columns"));
    const std::array<double, 2> own{double(window_.rows), double(window_.grid.columns)};
    for (std::size_t a = 0; a < 2; ++a) {
      const double side = a == 0 ? given.front() : given.back();
      unit_[a] = std::max(1.0, (side > 0 ? side : own[a]) - 1) / 8;
    }
  }
  std::int64_t axes() const override { return 2; }
  bool per_layer() const override { return true; }
  std::optional<std::int64_t> positions_end() const override { return window_.rows * window_.grid.columns; }
  std::vector<ParamSpec> params() const override {
    return {{"hidden.weight", {hidden_, 2}, 0, 0.02, true},
            {"hidden.bias", {hidden_}, 0, 0, false},
            {"out.weight", {shape_.H, hidden_}, 0, 0.02, true}};
  }

  double bias(const Scene& s, std::int64_t h, std::int64_t i, std::int64_t j) const override {
    const double y = distance(0, window_.down(s.positions, i, j)),
                 x = distance(1, window_.across(s.positions, i, j));
    double z = 0;
    for (std::int64_t n = 0; n < hidden_; ++n)
      z += s.w[3 * hidden_ + h * hidden_ + n] * relu(inner(s.w.data(), n, y, x));
    return most_ * sigmoid(z);
  }

  void lower(const Batch& b, Terms& t) const override {
    t.code_ranges.push_back({-window_.most(), window_.places()});
    t.by_code.assign(std::size_t(shape_.H * window_.places()), 0.0f);
    std::vector<double> a(static_cast<std::size_t>(hidden_));
    each_entry(b.positions, [&](std::int64_t entry, double y, double x) {
      for (std::int64_t n = 0; n < hidden_; ++n) a[std::size_t(n)] = relu(inner(b.w, n, y, x));
      for (std::int64_t h = 0; h < shape_.H; ++h)
        t.by_code[std::size_t(h * window_.places() + entry)] = float(most_ * sigmoid(out(b.w, h, a)));
    });
    for (std::int64_t row = 0; row < b.positions.rows; ++row)
      window_.add_codes(b.positions.row(row), {0, 0}, t);
  }
  void lower_backward(const Batch& b, const Terms& g, const BatchGrad& grad) const override {
    std::vector<double> a(static_cast<std::size_t>(hidden_)), da(a.size()),
        d(static_cast<std::size_t>(param_count()));
    each_entry(b.positions, [&](std::int64_t entry, double y, double x) {
      for (std::int64_t n = 0; n < hidden_; ++n) a[std::size_t(n)] = relu(inner(b.w, n, y, x));
      std::fill(da.begin(), da.end(), 0.0);
      for (std::int64_t h = 0; h < shape_.H; ++h) {
        const double sigma = sigmoid(out(b.w, h, a));
        const double dz = g.by_code[std::size_t(h * window_.places() + entry)] * most_ * sigma * (1 - sigma);
        for (std::int64_t n = 0; n < hidden_; ++n) {
          d[std::size_t((3 + h) * hidden_ + n)] += dz * a[std::size_t(n)];
          da[std::size_t(n)] += dz * double(b.w[(3 + h) * hidden_ + n]);
        }
      }
      for (std::int64_t n = 0; n < hidden_; ++n) {
        if (a[std::size_t(n)] <= 0) continue;
        d[std::size_t(2 * n)] += da[std::size_t(n)] * y, d[std::size_t(2 * n + 1)] += da[std::size_t(n)] * x;
        d[std::size_t(2 * hidden_ + n)] += da[std::size_t(n)];
      }
    });
    for (std::size_t n = 0; n < d.size(); ++n) grad.w[n] += float(d[n]);
  }

 private:
  double distance(std::size_t axis, double steps) const {
    return std::copysign(std::log2(1 + std::abs(steps) / unit_[axis]) / 3, steps);
  }
  template <class W>
  double inner(const W* w, std::int64_t n, double y, double x) const {
    return double(w[2 * n]) * y + double(w[2 * n + 1]) * x + double(w[2 * hidden_ + n]);
  }
  double out(const float* w, std::int64_t h, const std::vector<double>& a) const {
    double z = 0;
    for (std::int64_t n = 0; n < hidden_; ++n) z += double(w[(3 + h) * hidden_ + n]) * a[std::size_t(n)];
    return z;
  }
  // f(entry of the kernel's table, its distances) for all that occur.
  template <class Body>
  void each_entry(const Positions& p, const Body& f) const {
    std::array<std::int64_t, 2> span{};
    for (std::int64_t row = 0; row < p.rows; ++row) {
      for (std::size_t a = 0; a < 2; ++a)
        span[a] = std::max(span[a], window_.span(p.row(row), std::int64_t(a)));
    }
    for (std::int64_t y = -span[0]; y <= span[0]; ++y) {
      for (std::int64_t x = -span[1]; x <= span[1]; ++x)
        f(y * window_.stride() + x + window_.most(), distance(0, double(y)), distance(1, double(x)));
    }
  }

  const ImageWindow window_;
  const std::int64_t hidden_;
  const double most_;
  std::array<double, 2> unit_{};  // an eighth of the trained window
};

}  // namespace

extern const Entry window_mlp_entry;
const Entry window_mlp_entry = entry<WindowMlp>(
    {.name = "window_mlp",
     .aliases = {"swin_v2", "swinv2", "log_cpb"},
     .title = "Swin V2's window bias: a small network of the logarithms of the distances down and across",
     .paper = "https://arxiv.org/abs/2111.09883",
     .formula = "s = q*k/sqrt(D) + 16*sigmoid(MLP(u(y_i - y_j), u(x_i - x_j))_h), u(d) = sign(d)*log2(1 + "
                "8*|d|/(n - 1))/3",
     .latex =
         R"(s_{ij} = \frac{q_i \cdot k_j}{\sqrt{D}} + 16\, \sigma\big(\mathrm{MLP}_h(u(\Delta y), u(\Delta x))\big), \quad u(d) = \frac{\mathrm{sign}(d)}{3} \log_2\Big(1 + \frac{8 \left|d\right|}{n - 1}\Big))",
     .pitfall =
         "n is the window of the pretraining, not the present one: without it a larger window is squeezed",
     .year = 2021,
     .relative = true,
     .extrapolates = true,
     .options = image_window_options(
         {{.name = "trained",
           .help = "rows and columns of the window that was trained on, such as 8 or "
                   "8/12; 0 = this window",
           .standard = "0",
           .least = 0,
           .most = 1024,
           .whole = true,
           .list = true,
           .aliases = {"pretrained_window_size"}},
          {.name = "hidden",
           .help = "width of the network",
           .standard = "512",
           .least = 1,
           .most = 4096,
           .whole = true},
          {.name = "most", .help = "the largest bias", .standard = "16", .least = 1e-3, .most = 1e3}})});

}  // namespace gnomon
