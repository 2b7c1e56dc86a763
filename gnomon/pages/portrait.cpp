#include "gnomon/pages/portrait.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "gnomon/core/error.h"
#include "gnomon/core/parallel.h"
#include "gnomon/core/text.h"
#include "gnomon/lens/bias.h"
#include "gnomon/report/chart.h"
#include "gnomon/report/page.h"

namespace gnomon::pages {
namespace {

std::string input_picture(const ShownEncoding& s, std::int64_t length) {
  const Shape& shape = s.encoding.shape();
  const std::int64_t rows = std::min(length, s.encoding.positions_end().value_or(length));
  report::HeatMap map{text("Position vectors: one row per position, one column per channel"),
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

std::string bias_picture(const ShownEncoding& s, std::int64_t length) {
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
  if (shape.H > kMostHeadsTold)
    chart.note += text(" Of ", shape.H, " heads, ", kMostHeadsTold,
                       " are drawn, evenly spread; more lines would be unreadable.");
  for (const std::int64_t h : heads_told(shape.H)) {
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
std::string channel_picture(const ShownEncoding& s, std::int64_t length) {
  const Shape& shape = s.encoding.shape();
  const std::int64_t D = shape.D;
  const char* title = "What channel c of q and k contributes at each distance";
  if (reads_rows(s)) return report::paragraph(text(title, ": ", kByContent, "."));
  Silent all(s.encoding, Placement::consecutive(0, length));
  report::HeatMap map{
      title,
      "q and k are both the unit vector of the channel, in head 0. The value is the logit times the square "
      "root of the head size, from the definition. A rotation shows the cosine of its angle.",
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
std::string clock_picture(const ShownEncoding& s) {
  const auto w = s.encoding.frequencies();
  report::Clocks clocks{
      "The hands of the clock: one per pair of channels",
      "A hand points up at position 0 and turns clockwise: sin on x, cos on y. The first pair turns "
      "fastest.",
      "pair",
      "position",
      {},
      {}};
  std::vector<std::size_t> pairs;
  for (std::size_t n = 0; n < std::min<std::size_t>(w.size(), 9); ++n)
    pairs.push_back(w.size() <= 9 ? n : n * (w.size() - 1) / 8);
  for (const std::size_t n : pairs) clocks.columns.push_back(text(n));
  for (const double p : {0.0, 1.0, 2.0, 5.0, 20.0, 100.0}) {
    clocks.rows.push_back({shortest(p), {}});
    for (const std::size_t n : pairs) clocks.rows.back().angles.push_back(p * w[n]);
  }
  return report::draw(clocks);
}

std::string wavelength_picture(const ShownEncoding& s, std::int64_t length) {
  const auto w = s.encoding.frequencies();
  report::LineChart chart{
      "Wavelength of each pair, against the context",
      "Tokens for one full turn. Pairs above the line do not complete a turn within the context.",
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

std::string mask_picture(const ShownEncoding& s, std::int64_t length) {
  const std::int64_t T = std::min<std::int64_t>(length, 128);
  const Silent all(s.encoding, Placement::consecutive(0, T));
  report::HeatMap map{
      "Which keys a query sees", "Red: seen.", "key", "query", std::size_t(T), std::size_t(T), {}};
  const Definition definition(s.encoding, all.scene(s.w));
  for (std::int64_t n = 0; n < T * T; ++n) map.values.push_back(definition.sees(n / T, n % T) ? 1 : 0);
  return report::draw(map);
}

std::string sampler_picture(const ShownEncoding& s, std::int64_t length) {
  report::LineChart chart{"Positions of the tokens after the sampler",
                          "Three draws in training and one in evaluation.",
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

std::string pictures(const ShownEncoding& s, std::int64_t length) {
  std::string out;
  if (s.acts & kInput) out += input_picture(s, length);
  if (s.acts & (kQk | kCross)) out += channel_picture(s, channel_tokens(length));
  if (s.acts & (kLogits | kRows)) out += bias_picture(s, length);
  if (s.acts & kMask) out += mask_picture(s, length);
  if (s.acts & kPositions) out += sampler_picture(s, length);
  if (!s.encoding.frequencies().empty()) out += clock_picture(s) + wavelength_picture(s, length);
  return out;
}

}  // namespace gnomon::pages
