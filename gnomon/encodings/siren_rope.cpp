// SIREN-RoPE: a small network of sines turns what is known of a token's time into angles. Li et al. 2026,
// https://arxiv.org/abs/2604.24717; the authors' hailingc/siren_rope, models/siren_rope.py.
//
//   pair n turns by order·a·theta^(−2n/D) + f_{⌊n·angles/pairs⌋}·z
//   z = V·y_L + c + V'·r_L + c',   y_0 = r_0 = the features of the token
//   y_{l+1} = sin(omega·(W_l·y_l + b_l)),   r_{l+1} = relu(W'_l·r_l + b'_l),   l = 0..layers
//
// A token has 1 + features coordinates: its order in the sequence, then numbers such as the hour of the day. One with one
// coordinate has the features 0. The authors count orders from the newest token back, so that the newest has 0. The same angles
// for all heads. Acts on q and k. Parameters, each layer its own: sine.l.weight W, sine.l.bias b and relu.l.weight, relu.l.bias
// for l = 0..layers, hidden numbers each; sine.out.* V, c; relu.out.* V', c'; frequency f (angles), π at the start; order_scale a (1).
#include <cmath>
#include <numbers>

#include "gnomon/core/error.h"
#include "gnomon/core/text.h"
#include "gnomon/encodings/rotary.h"
#include "gnomon/kernels/angle.h"

namespace gnomon {
namespace {

class SirenRope final : public Encoding, public MapPart {
 public:
  SirenRope(const Options& options, const Shape& shape)
      : Encoding(shape),
        window_(rotary_window("siren_rope", options, shape)),
        order_(geometric_frequencies(options.number("theta"), window_.channels)),
        features_(options.whole("features")),
        hidden_(options.whole("hidden")),
        inner_(options.whole("layers") + 1),
        angles_(options.whole("angles") ? options.whole("angles") : window_.pairs()),
        omega_(options.number("omega")) {
    if (window_.pairs() % angles_)
      throw Error(Fault::usage, text("siren_rope: found angles=", angles_, " for ", window_.pairs(),
                                     " pairs; allowed are divisors of them"));
  }
  std::int64_t axes() const override { return 1 + features_; }
  bool per_layer() const override { return true; }
  bool keeps_keys() const override { return true; }
  std::vector<ParamSpec> params() const override {
    std::vector<ParamSpec> all;
    for (const char* branch : {"sine", "relu"}) {
      const bool sine = branch[0] == 's';
      for (std::int64_t l = 0; l <= inner_; ++l) {
        const double in = double(inputs(l)), deviation = sine && l == 0 ? 1 / (std::sqrt(3.0) * in)
                                                         : sine         ? std::sqrt(2 / in) / omega_
                                                                        : 1 / std::sqrt(3 * in);
        const std::string name = text(branch, ".", l == inner_ ? std::string("out") : text(l));
        all.push_back({name + ".weight", {outputs(l), inputs(l)}, 0, deviation, true});
        all.push_back({name + ".bias", {outputs(l)}, 0, 0, false});
      }
    }
    all.push_back({"frequency", {angles_}, std::numbers::pi, 0, false});
    all.push_back({"order_scale", {1}, 1, 0, false});
    return all;
  }

  void map_row(const Scene& s, Role, std::int64_t, std::int64_t t, std::vector<double>& row) const override {
    const std::vector<double> z = angles_of(s.w.data(), features_of(s.positions, t));
    for (std::int64_t n = 0; n < window_.pairs(); ++n) {
      Angle angle(s.positions.at(t, 0), s.w[order_scale()] * order_[std::size_t(n)]);
      angle.add(z[std::size_t(group(n))], s.w[frequency() + group(n)]);
      multiply_pair(window_, n, angle.cos(), angle.sin(), row);
    }
  }

  void map(const Batch& b, const OwnChannels&, std::vector<Step>& steps) const override {
    const std::int64_t tokens = b.tokens();
    Rotate r = window_.empty(1, tokens);
    for (std::int64_t t = 0; t < tokens; ++t) {
      const std::vector<double> z = angles_of(b.w, features_of(b.positions, t));
      for (std::int64_t n = 0; n < window_.pairs(); ++n) {
        Angle angle(b.positions.at(t, 0), double(b.w[order_scale()]) * order_[std::size_t(n)]);
        angle.add(z[std::size_t(group(n))], double(b.w[frequency() + group(n)]));
        r.cos[r.at(0, t) + n] = float(angle.cos()), r.sin[r.at(0, t) + n] = float(angle.sin());
        r.angles.push_back(std::atan2(angle.sin(), angle.cos()));
      }
    }
    steps.push_back({Role::q | Role::k, std::move(r), true});
  }
  void map_backward(const Batch& b, std::span<const Step>, std::span<const Step> dsteps,
                    const BatchGrad& grad) const override {
    const auto& r = std::get<Rotate>(dsteps[0].what);
    std::vector<double> d(static_cast<std::size_t>(param_count()));
    for (std::int64_t t = 0; t < r.tokens; ++t) {
      const std::vector<double> features = features_of(b.positions, t), z = angles_of(b.w, features);
      std::vector<double> dz(z.size());
      for (std::int64_t n = 0; n < window_.pairs(); ++n) {
        const double dphi = r.cos[r.at(0, t) + n];
        const std::int64_t g = group(n);
        d[std::size_t(order_scale())] += dphi * b.positions.at(t, 0) * order_[std::size_t(n)];
        d[std::size_t(frequency() + g)] += dphi * z[std::size_t(g)];
        dz[std::size_t(g)] += dphi * double(b.w[frequency() + g]);
      }
      for (const bool sine : {true, false}) branch_backward(b.w, sine, features, dz, d);
    }
    for (std::size_t n = 0; n < d.size(); ++n) grad.w[n] += float(d[n]);
  }

 private:
  // --- Layer l of a branch, 0..inner_, and where its weights begin.
  std::int64_t inputs(std::int64_t l) const { return l == 0 ? features_ : hidden_; }
  std::int64_t outputs(std::int64_t l) const { return l == inner_ ? angles_ : hidden_; }
  std::int64_t layer(bool sine, std::int64_t l) const {
    std::int64_t at = sine ? 0 : layer(true, inner_ + 1);
    for (std::int64_t n = 0; n < l; ++n) at += outputs(n) * (inputs(n) + 1);
    return at;
  }
  std::int64_t frequency() const { return layer(false, inner_ + 1); }
  std::int64_t order_scale() const { return frequency() + angles_; }
  std::int64_t group(std::int64_t pair) const { return pair * angles_ / window_.pairs(); }

  std::vector<double> features_of(const Positions& p, std::int64_t t) const {
    if (p.axes != 1 && p.axes != axes())
      throw Error(Fault::usage, text("siren_rope: positions have ", p.axes, " axes; allowed are ", axes(),
                                     " (order, then features), or 1"));
    std::vector<double> all(static_cast<std::size_t>(features_));
    for (std::int64_t n = 0; p.axes > 1 && n < features_; ++n) all[std::size_t(n)] = p.at(t, n + 1);
    return all;
  }
  // What goes into each layer of a branch, and what comes out of the last.
  template <class W>
  std::vector<std::vector<double>> branch(const W* w, bool sine, const std::vector<double>& features) const {
    std::vector<std::vector<double>> all{features};
    for (std::int64_t l = 0; l <= inner_; ++l) {
      std::vector<double> next = affine(w, sine, l, all.back());
      for (double& x : next) {
        if (l < inner_) x = sine ? std::sin(omega_ * x) : x < 0 ? 0 : x;
      }
      all.push_back(std::move(next));
    }
    return all;
  }
  template <class W>
  std::vector<double> affine(const W* w, bool sine, std::int64_t l, const std::vector<double>& x) const {
    const std::int64_t at = layer(sine, l), in = inputs(l);
    std::vector<double> y;
    for (std::int64_t o = 0; o < outputs(l); ++o) {
      double sum = double(w[at + outputs(l) * in + o]);
      for (std::int64_t i = 0; i < in; ++i) sum += double(w[at + o * in + i]) * x[std::size_t(i)];
      y.push_back(sum);
    }
    return y;
  }
  template <class W>
  std::vector<double> angles_of(const W* w, const std::vector<double>& features) const {
    std::vector<double> z = branch(w, true, features).back();
    const std::vector<double> more = branch(w, false, features).back();
    for (std::size_t n = 0; n < z.size(); ++n) z[n] += more[n];
    return z;
  }
  // From the gradient of what comes out of a branch to that of its weights.
  void branch_backward(const float* w, bool sine, const std::vector<double>& features, std::vector<double> d,
                       std::vector<double>& dw) const {
    const auto rows = branch(w, sine, features);
    for (std::int64_t l = inner_; l >= 0; --l) {
      const std::int64_t at = layer(sine, l), in = inputs(l);
      const std::vector<double>& x = rows[std::size_t(l)];
      if (l < inner_) {
        const std::vector<double> z = affine(w, sine, l, x);
        for (std::size_t o = 0; o < d.size(); ++o)
          d[o] *= sine ? omega_ * std::cos(omega_ * z[o]) : double(!(z[o] <= 0));
      }
      std::vector<double> below(x.size());
      for (std::int64_t o = 0; o < outputs(l); ++o) {
        dw[std::size_t(at + outputs(l) * in + o)] += d[std::size_t(o)];
        for (std::int64_t i = 0; i < in; ++i) {
          dw[std::size_t(at + o * in + i)] += d[std::size_t(o)] * x[std::size_t(i)];
          below[std::size_t(i)] += d[std::size_t(o)] * double(w[at + o * in + i]);
        }
      }
      d = std::move(below);
    }
  }

  const RotaryWindow window_;
  const std::vector<double> order_;  // radians a token, times order_scale
  const std::int64_t features_, hidden_, inner_, angles_;
  const double omega_;
};

}  // namespace

extern const Entry siren_rope_entry;
const Entry siren_rope_entry = entry<SirenRope>(
    {.name = "siren_rope",
     .aliases = {"siren", "temporal_rope"},
     .title = "SIREN-RoPE: a network of sines turns the time of a token into angles, beside its order",
     .paper = "https://arxiv.org/abs/2604.24717",
     .formula = "pair n turns by order*a*theta^(-2n/D) + f_n*(sines(features) + relus(features))_n",
     .latex =
         R"(\text{pair } n \;\text{turns by}\; a\, p\, \theta^{-2n/D} + f_n \big(\mathrm{SIREN}(t) + \mathrm{MLP}(t)\big)_n, \quad t \;\text{the features of the token})",
     .pitfall = "the angle depends on the features themselves, so a shift of all times changes the logits",
     .year = 2026,
     .relative = false,
     .options = [] {
       auto all = rotary_options(
           {{.name = "features",
             .help = "coordinates of a token beside its order",
             .standard = "3",
             .least = 1,
             .most = 3,
             .whole = true},
            {.name = "hidden",
             .help = "width of the network",
             .standard = "16",
             .least = 1,
             .most = 4096,
             .whole = true},
            {.name = "layers",
             .help = "hidden layers of the network, after its first",
             .standard = "1",
             .least = 0,
             .most = 16,
             .whole = true},
            {.name = "angles",
             .help = "angles of the network, each for equally many neighbouring pairs; 0 = one "
                     "for each pair",
             .standard = "0",
             .least = 0,
             .most = 32768,
             .whole = true},
            {.name = "omega",
             .help = "factor inside the sines",
             .standard = "30",
             .least = 1e-3,
             .most = 1e3}});
       all.front().standard = "100000";
       return all;
     }()});

}  // namespace gnomon
