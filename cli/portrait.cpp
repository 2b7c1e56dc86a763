#include "cli/portrait.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "cli/bias.h"
#include "gnomon/core/error.h"
#include "gnomon/core/parallel.h"
#include "gnomon/core/text.h"
#include "gnomon/report/chart.h"
#include "gnomon/report/page.h"

namespace gnomon::cli {

double Sitter::input(double position, std::int64_t channel) const {
  const std::vector<double> one(std::size_t(encoding.axes()), position);
  return part<InputPart>(encoding)->input({{one, 1, encoding.axes()}, {}, {}, w}, 0, channel);
}

namespace {

constexpr const char* kByContent =
    "depends on content, on what the words say; without them it is the same at every distance";

// About how many numbers the definition reads to give one channel of one position. A table has one; a sine
// costs as much as some thirty; what has parameters and no table may read them all.
double input_cost(const Encoding& e) { return e.positions_end() ? 32 : 32 + double(e.param_count()); }

// Positions whose vectors are compared with that of position 0: 20,000 where that is a matter of a second.
std::int64_t compared(const Encoding& e) {
  const double affordable = 6.5e8 / (input_cost(e) * double(e.shape().C));
  return std::int64_t(std::clamp(affordable, 128.0, 20000.0));
}

// The longest context for which channels are shown.
std::int64_t channel_tokens(std::int64_t length) { return std::min<std::int64_t>(length, 256); }

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
  const std::int64_t last = std::min(compared(s.encoding), end - 1);
  std::vector<double> squares(std::size_t(std::max<std::int64_t>(last, 0)));
  parallel_for(last, [&](std::int64_t n) {
    for (std::int64_t c = 0; c < C; ++c) {
      const double difference = s.input(double(n + 1), c) - origin[std::size_t(c)];
      squares[std::size_t(n)] += difference * difference;
    }
  });
  if (last >= 1) {
    const auto least = std::min_element(squares.begin(), squares.end());
    distances.rows = {{"neighbour", {std::sqrt(squares.front()), 1}},
                      {text("least of 1..", last), {std::sqrt(*least), double(least - squares.begin() + 1)}}};
    out.push_back(distances);
  }
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
  const Bias bias(s, length);
  if (bias.by_content_only())
    return out.push_back({"bias", "Added to the logit, by distance and head", {}, {}, 6, kByContent});
  Fact f{"bias", text(bias.meaning(), ", by distance and head (", s.parameters, ")"), {}, {}, 6};
  const std::int64_t heads = std::min<std::int64_t>(shape.H, 12);
  for (std::int64_t h = 0; h < heads; ++h) f.head.push_back(text("head ", h));
  for (const std::int64_t delta : {-8, -1, 0, 1, 2, 3, 4, 8, 16, 32, 64, 128, 256}) {
    if ((shape.causal && delta < 0) || std::abs(delta) >= bias.tokens()) continue;
    f.rows.push_back({text("distance ", delta), {}});
    for (std::int64_t h = 0; h < heads; ++h) f.rows.back().values.push_back(bias.at(h, delta));
  }
  out.push_back(f);
}

}  // namespace

double work(const Encoding& e, unsigned acts, std::int64_t length) {
  const Shape& s = e.shape();
  const double D = double(s.D), logit = 32 * D + double(e.param_count()) / double(s.H);
  double all = 0;
  if (acts & kInput) all += double(s.C) * input_cost(e) * double(length + compared(e));
  if (acts & (kQk | kCross)) all += D * double(channel_tokens(length)) * logit;
  if (acts & (kLogits | kRows)) all += 8 * double(length) * logit;
  return all;
}

std::vector<Fact> facts(const Sitter& s, std::int64_t length) {
  std::vector<Fact> out;
  if (s.acts & kInput) input_facts(s, out);
  frequency_facts(s, length, out);
  if (s.acts & (kLogits | kRows)) bias_facts(s, length, out);
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
                      std::vector<double>(std::size_t(rows * shape.C))};
  parallel_for(rows, [&](std::int64_t t) {
    for (std::int64_t c = 0; c < shape.C; ++c)
      map.values[std::size_t(t * shape.C + c)] = s.input(double(t), c);
  });
  return report::draw(map);
}

std::string bias_picture(const Sitter& s, std::int64_t length) {
  const Shape& shape = s.encoding.shape();
  const Bias bias(s, length);
  const bool softmax = !part<WeightsPart>(s.encoding);
  const std::string title = softmax ? "Bias against distance, by head" : "Weight against distance, by head";
  if (bias.by_content_only()) return report::paragraph(text(title, ": ", kByContent, "."));
  report::LineChart chart{
      title,
      text(bias.meaning(), "; distance is query minus key. From the definition; parameters: ", s.parameters,
           "."),
      {"distance in tokens"},
      {softmax ? "bias, nats of logit" : "ln of the weight"},
      {}};
  const std::int64_t first = shape.causal ? 0 : 1 - bias.tokens();
  for (std::int64_t h = 0; h < std::min<std::int64_t>(shape.H, 8); ++h) {
    report::Series line{text("head ", h), {}, int(h)};
    line.points.resize(std::size_t(bias.tokens() - first));
    parallel_for(std::int64_t(line.points.size()), [&](std::int64_t n) {
      line.points[std::size_t(n)] = {double(first + n), bias.at(h, first + n)};
    });
    chart.series.push_back(line);
  }
  return report::draw(chart);
}

// What a channel with q = k of length 1 adds to √D·logit, by distance: for a rotation the cosine of its angle.
std::string channel_picture(const Sitter& s, std::int64_t length) {
  const Shape& shape = s.encoding.shape();
  const std::int64_t D = shape.D;
  const char* title = "What channel c of q and k contributes at each distance";
  if (reads_rows(s)) return report::paragraph(text(title, ": ", kByContent, "."));
  Silent all(s.encoding, Placement::consecutive(0, length));
  report::HeatMap map{
      title,
      "q = k = the unit vector of the channel, in head 0; logit times the root of the head size, from "
      "the definition. A rotation shows the cosine of its angle.",
      "distance in tokens",
      "channel of the head",
      std::size_t(D),
      std::size_t(length),
      std::vector<double>(std::size_t(D * length))};
  for (std::int64_t c = 0; c < D; ++c) {
    for (std::int64_t t = 0; t < length; ++t) all.q[t * D + c] = all.k[t * D + c] = 1;
    const Definition definition(s.encoding, all.scene(s.w));
    parallel_for(length, [&](std::int64_t delta) {
      map.values[std::size_t(c * length + delta)] = definition.ln_weight(0, delta, 0) * std::sqrt(double(D));
    });
    for (std::int64_t t = 0; t < length; ++t) all.q[t * D + c] = all.k[t * D + c] = 0;
  }
  return report::draw(map);
}

// Angles of the pairs as hands of clocks: sin on x, cos on y, clockwise.
std::string clock_picture(const Sitter& s) {
  const auto w = s.encoding.frequencies();
  report::Clocks clocks{
      "The hands of the clock: one a pair of channels",
      "A hand points up at position 0 and turns clockwise: sin on x, cos on y. The first pair turns "
      "fastest.",
      {},
      {}};
  std::vector<std::size_t> pairs;
  for (std::size_t n = 0; n < std::min<std::size_t>(w.size(), 9); ++n)
    pairs.push_back(w.size() <= 9 ? n : n * (w.size() - 1) / 8);
  for (const std::size_t n : pairs) clocks.columns.push_back(text("pair ", n));
  for (const double p : {0.0, 1.0, 2.0, 5.0, 20.0, 100.0}) {
    clocks.rows.push_back({text("position ", shortest(p)), {}});
    for (const std::size_t n : pairs) clocks.rows.back().angles.push_back(p * w[n]);
  }
  return report::draw(clocks);
}

std::string wavelength_picture(const Sitter& s, std::int64_t length) {
  const auto w = s.encoding.frequencies();
  report::LineChart chart{
      "Wavelength of each pair, against the context",
      "Tokens for one full turn. Pairs above the line never turn once within the context.",
      {"pair of channels"},
      {"tokens", true},
      {}};
  report::Series line{"wavelength", {}, 0};
  line.markers = true;
  for (std::size_t n = 0; n < w.size(); ++n) {
    if (w[n] > 0) line.points.emplace_back(double(n), 2 * std::numbers::pi / w[n]);
  }
  report::Series context{text("context of ", length, " tokens"), {}, 1};
  context.points = {{0, double(length)}, {double(std::max<std::size_t>(w.size(), 2) - 1), double(length)}};
  double least = double(length), most = double(length);
  for (const auto& [pair, tokens] : line.points)
    least = std::min(least, tokens), most = std::max(most, tokens);
  for (double tick = 10; tick <= most; tick *= 10) {
    if (tick >= least) chart.y.ticks.push_back(tick);
  }
  chart.series = {line, context};
  return report::draw(chart);
}

std::string mask_picture(const Sitter& s, std::int64_t length) {
  const std::int64_t T = std::min<std::int64_t>(length, 128);
  const Silent all(s.encoding, Placement::consecutive(0, T));
  report::HeatMap map{
      "Which keys a query sees", "Red: seen.", "key", "query", std::size_t(T), std::size_t(T), {}};
  const Definition definition(s.encoding, all.scene(s.w));
  for (std::int64_t n = 0; n < T * T; ++n) map.values.push_back(definition.sees(n / T, n % T) ? 1 : 0);
  return report::draw(map);
}

std::string sampler_picture(const Sitter& s, std::int64_t length) {
  report::LineChart chart{"Where tokens stand after the sampler",
                          "Three draws in training, and one in evaluation.",
                          {"token"},
                          {"position"},
                          {}};
  for (int draw = 0; draw < 4; ++draw) {
    auto row = Placement::consecutive(0, length).values;
    part<PlacePart>(s.encoding)->place(Random(1, "show"), std::uint64_t(draw), draw < 3, row);
    report::Series line{draw < 3 ? text("draw ", draw + 1) : "evaluation", {}, draw};
    for (std::size_t t = 0; t < row.size(); ++t) line.points.emplace_back(double(t), row[t]);
    chart.series.push_back(line);
  }
  return report::draw(chart);
}

}  // namespace

std::string pictures(const Sitter& s, std::int64_t length) {
  std::string out;
  if (s.acts & kInput) out += input_picture(s, length);
  if (s.acts & (kQk | kCross)) out += channel_picture(s, channel_tokens(length));
  if (s.acts & (kLogits | kRows)) out += bias_picture(s, length);
  if (s.acts & kMask) out += mask_picture(s, length);
  if (s.acts & kPositions) out += sampler_picture(s, length);
  if (!s.encoding.frequencies().empty()) out += clock_picture(s) + wavelength_picture(s, length);
  return out;
}

}  // namespace gnomon::cli
