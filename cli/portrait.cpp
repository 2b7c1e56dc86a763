#include "cli/portrait.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "gnomon/core/error.h"
#include "gnomon/core/text.h"
#include "gnomon/report/chart.h"

namespace gnomon::cli {

double Sitter::input(double position, std::int64_t channel) const {
  const std::vector<double> one(std::size_t(encoding.axes()), position);
  return encoding.input({{one, 1, encoding.axes()}, {}, {}, w}, 0, channel);
}

// q = k = 0 leaves what the encoding adds.
double Sitter::bias(std::int64_t head, std::int64_t delta) const {
  const Shape& s = encoding.shape();
  const std::vector<double> positions{0, double(std::abs(delta))};
  const std::vector<double> zero(std::size_t(2 * s.H * s.D * s.C));
  const double* none = zero.data();
  const Scene scene{positions, zero, zero, w, zero, zero, {none, none, none, none}};
  return delta >= 0 ? encoding.logit(scene, head, 1, 0) : encoding.logit(scene, head, 0, 1);
}

namespace {

std::vector<double> vector_at(const Sitter& s, double position) {
  std::vector<double> e;
  for (std::int64_t c = 0; c < s.encoding.shape().C; ++c) e.push_back(s.input(position, c));
  return e;
}
double dot(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

void input_facts(const Sitter& s, std::vector<Fact>& out) {
  const std::int64_t C = s.encoding.shape().C,
                     end = s.encoding.positions_end().value_or(std::int64_t{1} << 40);
  const auto there = [&](double p) { return p < double(end); };

  Fact dots{"dot_products", "Dot products of the vectors of two positions", {"product"}, {}, 6};
  for (const auto& [a, b] : {std::pair{105.0, 106.0}, {5.0, 6.0}, {5.0, 10.0}, {100005.0, 100006.0}}) {
    if (there(b))
      dots.rows.push_back({text(shortest(a), " and ", shortest(b)), {dot(vector_at(s, a), vector_at(s, b))}});
  }
  out.push_back(dots);

  Fact values{"values", "Values by position and channel", {}, {}, 8};
  std::vector<std::int64_t> channels;
  for (const std::int64_t c : {std::int64_t{0}, std::int64_t{1}, C / 2 - 1, C - 17, C - 16, C - 2, C - 1}) {
    if (c >= 0 && c < C && std::find(channels.begin(), channels.end(), c) == channels.end())
      channels.push_back(c);
  }
  for (const auto c : channels) values.head.push_back(text("ch. ", c));
  for (const double p : {0.0, 1.0, 63.0, 64.0, 127.0}) {
    if (!there(p)) continue;
    values.rows.push_back({text("position ", shortest(p)), {}});
    for (const auto c : channels) values.rows.back().values.push_back(s.input(p, c));
  }
  out.push_back(values);

  Fact norms{"norms", "Length of the vector", {"norm"}, {}, 6};
  for (const double p : {0.0, 1.0, 10.0, 127.0, 511.0}) {
    if (there(p))
      norms.rows.push_back(
          {text("position ", shortest(p)), {std::sqrt(dot(vector_at(s, p), vector_at(s, p)))}});
  }
  out.push_back(norms);

  const auto origin = vector_at(s, 0);
  const double energy = dot(origin, origin);
  Fact kernel{"kernel",
              "Similarity to position 0: dot product over the squared length of position 0",
              {"K(k)"},
              {},
              6};
  for (const double k : {1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 10.0, 50.0, 128.0, 512.0}) {
    if (there(k) && energy > 0)
      kernel.rows.push_back({text("k = ", shortest(k)), {dot(origin, vector_at(s, k)) / energy}});
  }
  if (!kernel.rows.empty()) out.push_back(kernel);

  Fact distances{"distances", "Distance of the vectors of positions 0 and k", {"distance", "at k"}, {}, 6};
  double least = INFINITY, at = 0;
  const double last = std::min(20000.0, double(end) - 1);
  for (double k = 1; k <= last; ++k) {
    double squares = 0;
    for (std::int64_t c = 0; c < C; ++c) {
      const double difference = s.input(k, c) - origin[std::size_t(c)];
      squares += difference * difference;
    }
    if (k == 1) distances.rows.push_back({"neighbour", {std::sqrt(squares), 1}});
    if (squares < least) least = squares, at = k;
  }
  if (std::isfinite(least))
    distances.rows.push_back({text("least of 1..", shortest(last)), {std::sqrt(least), at}});
  if (!distances.rows.empty()) out.push_back(distances);
}

void frequency_facts(const Sitter& s, std::int64_t length, std::vector<Fact>& out) {
  const auto w = s.encoding.frequencies();
  if (w.empty()) return;
  Fact f{"wavelengths",
         "Wavelengths in tokens; over 2π; turns in the given length",
         {"tokens", "over 2π", "turns"},
         {},
         2};
  std::size_t whole = 0;
  for (std::size_t i = 0; i < w.size(); ++i) {
    whole += w[i] * double(length) >= 2 * std::numbers::pi;
    if (i != 0 && i != 1 && i != w.size() / 2 && i + 1 != w.size()) continue;
    f.rows.push_back(
        {text("pair ", i),
         {2 * std::numbers::pi / w[i], 1 / w[i], w[i] * double(length) / (2 * std::numbers::pi)}});
  }
  out.push_back(f);
  out.push_back({"full_turns",
                 text("Pairs that turn at least once in ", length, " tokens"),
                 {"pairs", "of"},
                 {{"full turns", {double(whole), double(w.size())}}},
                 0});
}

void bias_facts(const Sitter& s, std::int64_t length, std::vector<Fact>& out) {
  const Shape& shape = s.encoding.shape();
  Fact f{"bias", "Added to the logit, by distance and head (" + s.parameters + ")", {}, {}, 6};
  const std::int64_t heads = std::min<std::int64_t>(shape.H, 12);
  for (std::int64_t h = 0; h < heads; ++h) f.head.push_back(text("head ", h));
  for (const std::int64_t delta : {-8, -1, 0, 1, 2, 3, 4, 8, 16, 32, 64, 128, 256}) {
    if ((shape.causal && delta < 0) || std::abs(delta) >= length) continue;
    f.rows.push_back({text("distance ", delta), {}});
    for (std::int64_t h = 0; h < heads; ++h) f.rows.back().values.push_back(s.bias(h, delta));
  }
  out.push_back(f);
}

}  // namespace

std::vector<Fact> facts(const Sitter& s, std::int64_t length) {
  std::vector<Fact> out;
  if (s.acts & kInput) input_facts(s, out);
  frequency_facts(s, length, out);
  if (s.acts & kLogits) bias_facts(s, length, out);
  return out;
}

namespace {

std::string input_picture(const Sitter& s, std::int64_t length) {
  const Shape& shape = s.encoding.shape();
  const std::int64_t rows = std::min(length, s.encoding.positions_end().value_or(length));
  report::HeatMap map{text("Position vectors: one row a position, one column a channel"),
                      text("From the definition, in double; parameters: ", s.parameters, "."),
                      "channel",
                      "position",
                      std::size_t(rows),
                      std::size_t(shape.C),
                      {}};
  for (std::int64_t t = 0; t < rows; ++t) {
    for (std::int64_t c = 0; c < shape.C; ++c) map.values.push_back(s.input(double(t), c));
  }
  return report::draw(map);
}

std::string bias_picture(const Sitter& s, std::int64_t length) {
  const Shape& shape = s.encoding.shape();
  report::LineChart chart{
      "Bias against distance, by head",
      text("Added to the logit; distance is query minus key. From the definition; parameters: ", s.parameters,
           "."),
      {"distance in tokens"},
      {"bias, nats of logit"},
      {}};
  for (std::int64_t h = 0; h < std::min<std::int64_t>(shape.H, 8); ++h) {
    report::Series line{text("head ", h), {}, int(h)};
    for (std::int64_t d = shape.causal ? 0 : 1 - length; d < length; ++d)
      line.points.emplace_back(double(d), s.bias(h, d));
    chart.series.push_back(line);
  }
  return report::draw(chart);
}

// What a pair of channels with q = k of length 1 adds to √D·logit, by distance: the cosine of its rotation.
std::string rotation_picture(const Sitter& s, std::int64_t length) {
  const Shape& shape = s.encoding.shape();
  const std::int64_t D = shape.D;
  const Placement place = Placement::consecutive(0, length);
  const Positions positions = place;
  report::HeatMap map{"Rotation: what channel c of q and k contributes at each distance",
                      "q = k = the unit vector of the channel; logit times the root of the head size, from "
                      "the definition: the cosine of the pair's angle.",
                      "distance in tokens",
                      "channel of the head",
                      std::size_t(D),
                      std::size_t(length),
                      {}};
  std::vector<double> q(std::size_t(shape.H * length * D));
  for (std::int64_t c = 0; c < D; ++c) {
    for (std::int64_t t = 0; t < length; ++t) q[std::size_t(t * D + c)] = 1;
    for (std::int64_t delta = 0; delta < length; ++delta)
      map.values.push_back(s.encoding.logit({positions, q, q, s.w}, 0, delta, 0) * std::sqrt(double(D)));
    for (std::int64_t t = 0; t < length; ++t) q[std::size_t(t * D + c)] = 0;
  }
  return report::draw(map);
}

}  // namespace

std::string pictures(const Sitter& s, std::int64_t length) {
  std::string out;
  if (s.acts & kInput) out += input_picture(s, length);
  if (s.acts & kQk) out += rotation_picture(s, length);
  if (s.acts & kLogits) out += bias_picture(s, length);
  return out;
}

}  // namespace gnomon::cli
