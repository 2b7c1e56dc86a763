#include "gnomon/encodings/rotary.h"

#include <algorithm>
#include <cmath>

#include "gnomon/core/error.h"
#include "gnomon/core/parallel.h"
#include "gnomon/core/text.h"
#include "gnomon/kernels/angle.h"

namespace gnomon {

std::vector<OptionSpec> rotary_options(std::vector<OptionSpec> more) {
  std::vector<OptionSpec> all{
      {.name = "theta",
       .help = "base of the frequencies; the slowest pair needs about 2*pi*theta tokens for a full turn",
       .standard = "10000",
       .least = 1e-6,
       .most = 1e15,
       .aliases = {"base", "rope_theta", "freq_base"}},
      {.name = "pairing",
       .help = "channels of a pair: (2i, 2i+1) or (i, i + r/2)",
       .standard = "halves",
       .words = {"adjacent", "halves"},
       .must_be_named = true,
       .aliases = {"style", "layout", "interleaved"},
       .word_aliases = {{"interleaved", "adjacent"},
                        {"gptj", "adjacent"},
                        {"norm", "adjacent"},
                        {"meta", "adjacent"},
                        {"half", "halves"},
                        {"neox", "halves"},
                        {"rotate_half", "halves"},
                        {"hf", "halves"}}},
      {.name = "fraction",
       .help = "rotated share of the head",
       .standard = "1",
       .least = 0,
       .most = 1,
       .aliases = {"partial", "partial_rotary_factor", "rotary_pct"}},
      {.name = "channels",
       .help = "number of rotated channels, instead of fraction; 0 = use fraction",
       .standard = "0",
       .least = 0,
       .most = 65536,
       .whole = true,
       .aliases = {"dim", "rotary_dim", "rot"}},
      {.name = "rounding",
       .help = "rounding of fraction times the head size: to the nearest whole number, or down, as "
               "transformers does",
       .standard = "nearest",
       .words = {"nearest", "down"}},
      {.name = "offset",
       .help = "first rotated channel",
       .standard = "0",
       .least = 0,
       .most = 65536,
       .whole = true},
      {.name = "side",
       .help = "which end of the head rotates",
       .standard = "leading",
       .words = {"leading", "trailing"}}};
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

OptionSpec factor_option(std::string_view standard) {
  return {.name = "factor",
          .help = "factor by which the context grows",
          .standard = standard,
          .least = 1,
          .most = 1e6,
          .aliases = {"scale", "alpha", "s"}};
}
OptionSpec original_option() {
  return {.name = "original",
          .help = "original training length, in tokens; 0 = the training window",
          .standard = "0",
          .least = 0,
          .most = 1e9,
          .whole = true};
}
double original_length(const Options& options, const Shape& shape) {
  const double given = options.number("original");
  return given > 0 ? given : double(shape.length);
}

namespace {

// How many channels turn.
std::int64_t turning(std::string_view owner, const Options& options, std::int64_t D) {
  const std::int64_t named = options.whole("channels");
  const double fraction = options.number("fraction");
  if (named > 0 && fraction != 1) {
    throw Error(Fault::usage,
                text(owner, ": channels=", named, " and fraction=", options.value("fraction").print(),
                     " both set the number of rotated channels; give only one"));
  }
  if (named == 0 && fraction == 1) {
    if (D % 2 == 0) return D;
    throw Error(Fault::usage, text(owner, ": a head of ", D,
                                   " channels cannot be split into pairs; allowed are even numbers"));
  }
  const double exact = fraction * double(D);
  const std::int64_t share =
      options.word("rounding") == "down" ? std::int64_t(std::floor(exact)) : std::llround(exact);
  const std::int64_t r = named > 0 ? named : share;
  if (r % 2 == 0 && r > 0 && r <= D) return r;
  const std::string how = named > 0 ? std::string("channels=") + options.value("channels").print()
                                    : text("fraction ", options.value("fraction").print());
  throw Error(Fault::usage, text(owner, ": ", how, " of a head of ", D, " channels rotates ", r,
                                 "; allowed are even numbers from 2 to ", D));
}

}  // namespace

RotaryWindow rotary_window(std::string_view owner, const Options& options, const Shape& shape) {
  const std::int64_t r = turning(owner, options, shape.D), given = options.whole("offset");
  const bool trailing = options.word("side") == "trailing";
  if (trailing && given != 0) {
    throw Error(Fault::usage, text(owner, ": with side=trailing, offset must be 0"));
  }
  const std::int64_t offset = trailing ? shape.D - r : given;
  if (offset + r > shape.D) {
    throw Error(Fault::usage,
                text(owner, ": ", r, " rotated channels at offset ", offset, " exceed the head size of ",
                     shape.D, "; allowed are offsets up to ", shape.D - r));
  }
  return {options.word("pairing") == "halves" ? Pairing::halves : Pairing::adjacent, offset, r};
}

std::vector<double> geometric_frequencies(double theta, std::int64_t channels) {
  std::vector<double> w;
  for (std::int64_t i = 0; i < channels / 2; ++i)
    w.push_back(std::pow(theta, -2.0 * double(i) / double(channels)));
  return w;
}

Reach reach_of(const Positions& row) {
  Reach reach{row.size() ? row[0] : 0, row.size() ? row[0] : 0};
  for (const double p : row.values)
    reach.first = std::min(reach.first, p), reach.last = std::max(reach.last, p);
  return reach;
}

void multiply_pair(const RotaryWindow& window, std::int64_t n, double re, double im,
                   std::vector<double>& row) {
  double &x = row[std::size_t(window.low(n))], &y = row[std::size_t(window.high(n))];
  const double turned = re * x - im * y;
  y = re * y + im * x, x = turned;
}

void Rotary::map_row(const Scene& s, Role role, std::int64_t, std::int64_t t,
                     std::vector<double>& row) const {
  const Reach reach = reach_of(s.positions);
  const auto theta = frequencies_in(reach);
  for (std::int64_t n = 0; n < window_.pairs(); ++n) {
    const Angle angle(turn(s.positions, t, n), theta[n]);
    const double factor = scale(role, s.positions[t], reach, n);
    multiply_pair(window_, n, factor * angle.cos(), factor * angle.sin(), row);
  }
  if (role != Role::q) return;
  for (std::int64_t d = 0; d < shape_.D; ++d) row[std::size_t(d)] *= softmax_scale(reach);
}

Rotate Rotary::rotation(const Positions& p, Role role) const {
  const std::int64_t pairs = window_.pairs(), T = p.T();
  Rotate r = window_.empty(1, p.size());
  for (std::int64_t row = 0; row < p.rows; ++row) {
    const Reach reach = reach_of(p.row(row));
    const auto theta = frequencies_in(reach);
    for (std::int64_t t = row * T; t < (row + 1) * T; ++t) {
      for (std::int64_t n = 0; n < pairs; ++n) {
        const Angle angle(turn(p, t, n), theta[n]);
        const double factor = scale(role, p[t], reach, n);
        r.cos[t * pairs + n] = float(factor * angle.cos());
        r.sin[t * pairs + n] = float(factor * angle.sin());
      }
    }
  }
  return r;
}

void Rotary::map(const Batch& b, const OwnChannels&, std::vector<Step>& steps) const {
  const unsigned keys = unsigned(Role::k);
  steps.push_back({scales_differ() ? unsigned(Role::q) : Role::q | Role::k, rotation(b.positions, Role::q)});
  if (scales_differ()) steps.push_back({keys, rotation(b.positions, Role::k)});
  if (!scales_softmax()) return;
  Scale softmax{shape_.D, {}};
  for (std::int64_t row = 0; row < b.positions.rows; ++row) {
    const float factor = float(softmax_scale(reach_of(b.positions.row(row))));
    softmax.factor.insert(softmax.factor.end(), std::size_t(b.positions.T()), factor);
  }
  steps.push_back({unsigned(Role::q), std::move(softmax)});
}

namespace {

std::vector<std::int64_t> sections_of(std::string_view owner, const Options& options, std::int64_t pairs,
                                      double share, std::size_t most) {
  std::vector<std::int64_t> sections;
  for (const double x : options.numbers("sections")) sections.push_back(std::int64_t(x));
  if (sections == std::vector<std::int64_t>{0}) {
    const std::int64_t side = std::int64_t(share * double(pairs));
    return {pairs - 2 * side, side, side};
  }
  std::int64_t sum = 0;
  for (const std::int64_t x : sections) sum += x;
  if (sections.size() < 3 || sections.size() > most || sum != pairs) {
    throw Error(Fault::usage,
                text(owner, ": sections=", options.value("sections").print(), " has ",
                     counted(sections.size(), "number"), " with the sum ", sum, "; allowed are three ",
                     most > 3 ? "or four " : "", "with the sum ", pairs));
  }
  return sections;
}

}  // namespace

StreamRotary::StreamRotary(std::string_view owner, const Options& options, const Shape& shape, double share,
                           std::size_t most)
    : Rotary(shape, rotary_window(owner, options, shape)),
      owner_(owner),
      theta_(options.number("theta")),
      sections_(sections_of(owner, options, window().pairs(), share, most)) {}
std::vector<OptionSpec> StreamRotary::options(std::vector<OptionSpec> more) {
  more.insert(
      more.begin(),
      {.name = "sections",
       .help = "number of pairs of t, h and w, such as 16/24/24; 0 = a fixed share of the rotated channels",
       .standard = "0",
       .least = 0,
       .most = 1 << 16,
       .whole = true,
       .list = true});
  return rotary_options(more);
}
double StreamRotary::turn(const Positions& p, std::int64_t t, std::int64_t pair) const {
  if (p.axes == 1) return p[t];  // text: t = h = w
  if (p.axes == axes()) return p.at(t, stream(pair));
  throw Error(Fault::usage, text(owner_, ": positions have ", p.axes, " axes; allowed are ", axes(),
                                 axes() == 3 ? " (t, h, w), or 1" : ", or 1"));
}

Turns Rotary::turns_at(double length) const {
  const Reach reach{0, length - 1};
  return {window_, frequencies_in(reach), scale(Role::k, 0, reach, 0), softmax_scale(reach)};
}

std::vector<double> LearnedRotary::thetas(std::span<const double> w) const {
  std::vector<double> all;
  for (std::int64_t n = 0; n < count(); ++n) all.push_back(theta(w[std::size_t(n)], n % window_.pairs()));
  return all;
}
void LearnedRotary::thetas_backward(std::span<const double> w, const std::vector<double>& dtheta,
                                    float* dw) const {
  for (std::size_t n = 0; n < dtheta.size(); ++n)
    dw[n] += float(dtheta[n] * theta_slope(w[n], std::int64_t(n) % window_.pairs()));
}
void LearnedRotary::map_row(const Scene& s, Role, std::int64_t h, std::int64_t t,
                            std::vector<double>& row) const {
  const auto all = thetas(s.w);
  for (std::int64_t n = 0; n < window_.pairs(); ++n) {
    Angle angle;
    for (std::int64_t a = 0; a < grid_.axes; ++a)
      angle.add(coordinate(s.positions, t, a, grid_), all[std::size_t(index(a, h, n))]);
    multiply_pair(window_, n, angle.cos(), angle.sin(), row);
  }
}

std::vector<double> LearnedRotary::coordinates(const Positions& p) const {
  std::vector<double> all;
  for (std::int64_t n = 0; n < p.size() * grid_.axes; ++n)
    all.push_back(coordinate(p, n / grid_.axes, n % grid_.axes, grid_));
  return all;
}
void LearnedRotary::map(const Batch& b, const OwnChannels&, std::vector<Step>& steps) const {
  const std::int64_t pairs = window_.pairs(), tokens = b.tokens();
  Rotate r = window_.empty(tables_of_heads(), tokens);
  const std::vector<double> w(b.w, b.w + param_count()), all = thetas(w), places = coordinates(b.positions);
  for (std::int64_t h = 0; h < r.heads; ++h) {
    for (std::int64_t t = 0; t < tokens; ++t) {
      for (std::int64_t n = 0; n < pairs; ++n) {
        Angle angle;
        for (std::int64_t a = 0; a < grid_.axes; ++a)
          angle.add(places[t * grid_.axes + a], all[std::size_t(index(a, h, n))]);
        r.cos[r.at(h, t) + n] = float(angle.cos()), r.sin[r.at(h, t) + n] = float(angle.sin());
        r.angles.push_back(std::atan2(angle.sin(), angle.cos()));
      }
    }
  }
  steps.push_back({Role::q | Role::k, std::move(r), true});
}
void LearnedRotary::map_backward(const Batch& b, std::span<const Step>, std::span<const Step> dsteps,
                                 const BatchGrad& grad) const {
  const auto& r = std::get<Rotate>(dsteps[0].what);
  const std::vector<double> w(b.w, b.w + param_count()), places = coordinates(b.positions);
  std::vector<double> dtheta(static_cast<std::size_t>(count()));
  for (std::int64_t h = 0; h < r.heads; ++h) {
    for (std::int64_t t = 0; t < r.tokens; ++t) {
      for (std::int64_t n = 0; n < r.pairs; ++n) {
        const double dphi = r.cos[r.at(h, t) + n];
        for (std::int64_t a = 0; a < grid_.axes; ++a)
          dtheta[std::size_t(index(a, h, n))] += places[t * grid_.axes + a] * dphi;
      }
    }
  }
  thetas_backward(w, dtheta, grad.w);
}

}  // namespace gnomon
