// RePo: context re-positioning. Li, Zhao, Cai, Sproat 2025, https://arxiv.org/abs/2512.14391; the authors' github.com/SakanaAI/repo,
// transformers/src/transformers/models/olmo2/modeling_olmo2.py, dynamic_position_encoding_swigluex_multihead.
//
//   pair n of head h turns by z_h·theta^(−2n/D),   z = F·(silu(G·x) ⊙ A·x)
//
// z is a position that the content of a token gives it, one for each head; that in the text does not count. Acts on q and k.
// Parameters: G, A (width,C), F (H,width), each layer its own.
#include <cmath>

#include "gnomon/encodings/content_rotary.h"
#include "gnomon/encodings/gates.h"
#include "gnomon/encodings/rotary.h"

namespace gnomon {
namespace {

class Repo final : public ContentRotary {
 public:
  Repo(const Options& options, const Shape& shape)
      : ContentRotary(shape, rotary_window("repo", options, shape)),
        theta_(geometric_frequencies(options.number("theta"), channels())),
        width_(options.whole("width") ? options.whole("width") : std::max<std::int64_t>(1, shape.C / 8)) {}
  std::vector<ParamSpec> params() const override {
    const double deviation = 1 / std::sqrt(double(shape_.C));
    return {{"gate.weight", {width_, shape_.C}, 0, deviation, true},
            {"content.weight", {width_, shape_.C}, 0, deviation, true},
            {"final.weight", {shape_.H, width_}, 0, 1 / std::sqrt(double(width_)), true}};
  }

  bool keeps_keys() const override { return true; }  // z follows from the token alone

 protected:
  std::vector<double> angles(const Scene& s, std::int64_t h, std::int64_t t) const override {
    double place = 0;
    for (std::int64_t n = 0; n < width_; ++n) {
      double gate = 0, content = 0;
      for (std::int64_t c = 0; c < shape_.C; ++c) {
        gate += s.w[n * shape_.C + c] * s.x[t * shape_.C + c];
        content += s.w[(width_ + n) * shape_.C + c] * s.x[t * shape_.C + c];
      }
      place += s.w[2 * width_ * shape_.C + h * width_ + n] * gate * sigmoid(gate) * content;
    }
    std::vector<double> phi;
    for (const double theta : theta_) phi.push_back(place * theta);
    return phi;
  }

  std::vector<double> angles(const Batch& b) const override {
    const Passed p = pass(b);
    Floats place(std::size_t(p.tokens * shape_.H));
    linear({p.tokens, width_, shape_.H}, p.product.data(), b.w + 2 * width_ * shape_.C, nullptr,
           place.data());
    std::vector<double> phi;
    for (const float z : place) {
      for (const double theta : theta_) phi.push_back(double(z) * theta);
    }
    return phi;
  }
  void angles_backward(const Batch& b, const std::vector<double>& dphi,
                       const BatchGrad& grad) const override {
    const Passed p = pass(b);
    Floats dplace(std::size_t(p.tokens * shape_.H)), dproduct(p.product.size());
    for (std::size_t n = 0; n < dphi.size(); ++n)
      dplace[n / theta_.size()] += float(dphi[n] * theta_[n % theta_.size()]);
    const std::int64_t last = 2 * width_ * shape_.C;
    linear_backward({p.tokens, width_, shape_.H}, p.product.data(), b.w + last, dplace.data(),
                    {dproduct.data(), grad.w + last, nullptr});
    Floats dboth(p.both.size());
    for (std::int64_t n = 0; n < p.tokens * width_; ++n) {
      const std::int64_t gate = n / width_ * 2 * width_ + n % width_, content = gate + width_;
      const double g = p.both[gate], s = sigmoid(g);
      dboth[gate] = float(dproduct[n] * double(p.both[content]) * s * (1 + g * (1 - s)));
      dboth[content] = float(dproduct[n] * g * s);
    }
    Floats dx(std::size_t(p.tokens * b.content->x.step));
    linear_backward(both(b), b.content->x.data, b.w, dboth.data(), {dx.data(), grad.w, nullptr});
    add_to_input(both(b), dx, grad);
  }

 private:
  // G·x beside A·x (tokens,2·width), and silu(G·x) ⊙ A·x (tokens,width).
  struct Passed {
    std::int64_t tokens;
    Floats both, product;
  };
  Linear both(const Batch& b) const {
    return {b.content->B * b.content->T, shape_.C, 2 * width_, b.content->x.step};
  }
  Passed pass(const Batch& b) const {
    const std::int64_t tokens = b.content->B * b.content->T;
    Passed p{tokens, Floats(std::size_t(tokens * 2 * width_)), Floats(std::size_t(tokens * width_))};
    linear(both(b), b.content->x.data, b.w, nullptr, p.both.data());
    for (std::int64_t n = 0; n < tokens * width_; ++n) {
      const std::int64_t gate = n / width_ * 2 * width_ + n % width_;
      p.product[n] = float(double(p.both[gate]) * sigmoid(p.both[gate]) * double(p.both[gate + width_]));
    }
    return p;
  }
  const std::vector<double> theta_;
  const std::int64_t width_;
};

}  // namespace

extern const Entry repo_entry;
const Entry repo_entry = entry<Repo>(
    {.name = "repo",
     .aliases = {"repositioning", "re_position"},
     .title = "RePo: each head turns a token by a position that its content gives",
     .paper = "https://arxiv.org/abs/2512.14391",
     .formula = "pair n of head h turns by z_h*theta^(-2n/D); z = F(silu(G x)*A x)",
     .latex =
         R"(\text{pair } n \;\text{turns by}\; z_h \theta^{-2n/D}, \quad z = F\,(\mathrm{silu}(G x) \odot A x))",
     .pitfall = "the order of the text counts only through the content; the published models keep RoPE in "
                "their first layers",
     .year = 2025,
     .relative = true,
     .options = rotary_options({{.name = "width",
                                 .help = "width of the gated layer; 0 = an eighth of the input's channels",
                                 .standard = "0",
                                 .least = 0,
                                 .most = 65536,
                                 .whole = true}})});

}  // namespace gnomon
