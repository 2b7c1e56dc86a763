#include "gnomon/pages/portrait.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "gnomon/core/error.h"
#include "gnomon/core/parallel.h"
#include "gnomon/core/readable.h"
#include "gnomon/core/text.h"
#include "gnomon/lens/bias.h"
#include "gnomon/report/chart.h"
#include "gnomon/report/page.h"

namespace gnomon::pages {
namespace {

// An axis whose ticks count from the first that is looked at: numbers of seven digits beside each tick are not read.
std::string counted_from(std::int64_t first, std::string_view name) {
  return first ? text(name, " − ", grouped(double(first))) : std::string(name);
}

// How the pairs turn in a context of so many tokens.
std::vector<double> turning(const Encoding& e, std::int64_t context) {
  const auto own = e.frequencies();
  const auto* map = part<TurnPart>(e);
  const auto there = map ? map->turns_at(double(context)).frequencies : own;
  return there.size() == own.size() ? there : own;
}

std::string input_picture(const ShownEncoding& s, const Looked& at) {
  if (s.encoding.reads_content())
    return report::paragraph("Position vectors: they depend on the word vectors, so there is no picture.");
  const Shape& shape = s.encoding.shape();
  const std::int64_t end = s.encoding.positions_end().value_or(at.first + at.length),
                     rows = std::min(at.length, end - at.first);
  if (rows < 1)
    return report::paragraph(text("Position vectors: there is none at position ", grouped(double(at.first)),
                                  "; the last is that of ", grouped(double(end - 1)), "."));
  report::HeatMap map{text("Position vectors: one row per position, one column per channel"),
                      text("From the definition, in double; parameters: ", s.parameters, "."),
                      "channel",
                      counted_from(at.first, "position"),
                      std::size_t(rows),
                      std::size_t(shape.C),
                      std::vector<double>(std::size_t(rows * shape.C))};
  parallel_for(rows, [&](std::int64_t t) {
    for (std::int64_t c = 0; c < shape.C; ++c)
      map.values[std::size_t(t * shape.C + c)] = s.input(double(at.first + t), c);
  });
  return report::draw(map);
}

std::string bias_picture(const ShownEncoding& s, const Looked& at) {
  const Shape& shape = s.encoding.shape();
  const Bias bias(s, at.length, at.first);
  const bool softmax = !part<WeightsPart>(s.encoding);
  const std::string title = softmax ? "Bias against distance, by head" : "Weight against distance, by head";
  if (bias.by_content_only()) return report::paragraph(text(title, ": ", kByContent, "."));
  report::LineChart chart{
      title,
      text(bias.meaning(), "; distance is query minus key. From the definition; parameters: ", s.parameters,
           "."),
      {counted_from(bias.first(), "distance in tokens")},
      {softmax ? "bias, nats of logit" : "ln of the weight"},
      {}};
  if (at.first && !bias.first()) chart.note += " It reads the tokens between, so distances begin at 0 here.";
  const std::int64_t first = shape.causal || bias.first() ? 0 : 1 - bias.tokens();
  if (shape.H > kMostHeadsTold)
    chart.note += text(" Of ", shape.H, " heads, ", kMostHeadsTold,
                       " are drawn, evenly spread; more lines would be unreadable.");
  for (const std::int64_t h : heads_told(shape.H)) {
    report::Series line{text("head ", h), {}, int(h)};
    line.points.resize(std::size_t(bias.tokens() - first));
    parallel_for(std::int64_t(line.points.size()), [&](std::int64_t n) {
      line.points[std::size_t(n)] = {double(first + n), bias.at(h, bias.first() + first + n)};
    });
    chart.series.push_back(line);
  }
  return report::draw(chart);
}

// What a channel with q = k of length 1 adds to √D·logit, by distance: for a rotation the cosine of its angle.
std::string channel_picture(const ShownEncoding& s, const Looked& at) {
  const Shape& shape = s.encoding.shape();
  const std::int64_t D = shape.D, length = channel_tokens(at.length);
  const char* title = "What channel c of q and k contributes at each distance";
  if (reads_rows(s)) return report::paragraph(text(title, ": ", kByContent, "."));
  // The key at position 0, and the queries after it.
  std::vector<double> positions{0};
  for (std::int64_t t = at.first ? 0 : 1; t < length; ++t) positions.push_back(double(at.first + t));
  const std::int64_t tokens = std::int64_t(positions.size()), before = tokens - length;
  Silent all(s.encoding, Placement::of(std::move(positions)));
  report::HeatMap map{
      title,
      "q and k are both the unit vector of the channel, in head 0. The value is the logit times the square "
      "root of the head size, from the definition. A rotation shows the cosine of its angle.",
      counted_from(at.first, "distance in tokens"),
      "channel of the head",
      std::size_t(D),
      std::size_t(length),
      std::vector<double>(std::size_t(D * length))};
  for (std::int64_t c = 0; c < D; ++c) {
    for (std::int64_t t = 0; t < tokens; ++t) all.q[t * D + c] = all.k[t * D + c] = 1;
    const Definition definition(s.encoding, all.scene(s.w));
    parallel_for(length, [&](std::int64_t delta) {
      map.values[std::size_t(c * length + delta)] =
          definition.ln_weight(0, before + delta, 0) * std::sqrt(double(D));
    });
    for (std::int64_t t = 0; t < tokens; ++t) all.q[t * D + c] = all.k[t * D + c] = 0;
  }
  return report::draw(map);
}

// Angles of the pairs as hands of clocks: sin on x, cos on y, clockwise.
std::string clock_picture(const ShownEncoding& s, const Looked& at) {
  const auto w = at.first ? turning(s.encoding, at.first + at.length) : s.encoding.frequencies();
  report::Clocks clocks{
      "The hands of the clock: one per pair of channels",
      "A hand points up at position 0 and turns clockwise: sin on x, cos on y. The first pair turns "
      "fastest.",
      "pair",
      counted_from(at.first, "position"),
      {},
      {}};
  std::vector<std::size_t> pairs;
  for (std::size_t n = 0; n < std::min<std::size_t>(w.size(), 9); ++n)
    pairs.push_back(w.size() <= 9 ? n : n * (w.size() - 1) / 8);
  for (const std::size_t n : pairs) clocks.columns.push_back(text(n));
  for (const double p : {0.0, 1.0, 2.0, 5.0, 20.0, 100.0}) {
    clocks.rows.push_back({shortest(p), {}});
    for (const std::size_t n : pairs) clocks.rows.back().angles.push_back((double(at.first) + p) * w[n]);
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

// Of a dial that turned from 0 by `most`, whether the hand has not been at this angle, to either side where keys stand after the
// query as well.
bool unseen(double angle, double most, bool causal) {
  const double turn = 2 * std::numbers::pi, there = std::fmod(angle, turn), rounding = 1e-9;
  return there > most + rounding && (causal || there < turn - most - rounding);
}

// Of the distances, or positions beside the words, the share at which a pair makes an angle that none in training made.
std::string unseen_picture(const ShownEncoding& s, const Looked& at) {
  const auto w = turning(s.encoding, at.first + at.length);
  const bool beside = s.acts & kInput, one_side = beside || s.encoding.shape().causal;
  const char* what = beside ? "position" : "distance";
  report::LineChart chart{
      "Which pairs leave what training has seen",
      text("The share of the ", what, "s looked at whose angle no ", what,
           " in training reached. Training had the same encoding without its factor for longer contexts."),
      {"pair of channels"},
      {text("share of the ", what, "s, %")},
      {}};
  report::Series line{"not seen in training", {}, 0};
  line.markers = true;
  std::size_t leave = 0;
  for (std::size_t n = 0; n < w.size(); ++n) {
    const double most = at.trained[n] * double(at.trained_length - 1);
    std::int64_t outside = 0;
    for (std::int64_t t = 0; t < at.length; ++t)
      outside += unseen(w[n] * double(at.first + t), most, one_side);
    leave += outside > 0;
    line.points.emplace_back(double(n), 100 * double(outside) / double(at.length));
  }
  chart.series = {line};
  return report::paragraph(text("At ", what, "s ", grouped(double(at.first)), " to ",
                                grouped(double(at.first + at.length - 1)), ", ", leave, " of ", w.size(),
                                " pairs make angles that no ", what, " below ",
                                grouped(double(at.trained_length)), " made in training.")) +
         report::draw(chart);
}

std::string mask_picture(const ShownEncoding& s, const Looked& at) {
  const std::int64_t T = std::min<std::int64_t>(at.length, 128);
  const Silent all(s.encoding, Placement::consecutive(double(at.first), T));
  report::HeatMap map{"Which keys a query sees",
                      "Red: seen.",
                      counted_from(at.first, "key"),
                      counted_from(at.first, "query"),
                      std::size_t(T),
                      std::size_t(T),
                      {}};
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

// A picture; or why there is none so far away, such as a table that has no row for the distance.
template <class Picture>
std::string drawn(const Looked& at, const Picture& picture) {
  try {
    return picture();
  } catch (const Error& e) {
    if (!at.first || e.fault() != Fault::usage) throw;
    return report::paragraph(text("From position ", grouped(double(at.first)), " on: ", e.what(), "."));
  }
}

}  // namespace

// Of the encoding without its factor for longer contexts, in the window that it was trained with.
Looked looked_at(const Standing& standing, std::int64_t length, std::int64_t first) {
  Looked at{length, first};
  // On several axes pairs turn by coordinates, and not by the position.
  if (!first || standing.encoding->frequencies().empty() || standing.encoding->axes() > 1) return at;
  Named trained = standing.named;
  for (auto& [name, value] : trained.options) {
    if (name == "factor" || name == "long")
      value = name == "factor" ? OptionValue(1) : *trained.option("short");
  }
  const auto original = trained.option("original");
  at.trained_length = original && original->number() > 0 ? std::int64_t(original->number()) : length;
  at.trained = turning(*make_encoding(trained, standing.encoding->shape()), at.trained_length);
  return at;
}

std::string pictures(const ShownEncoding& s, const Looked& at) {
  std::string out;
  const auto add = [&](auto&& picture) {
    const std::string part = drawn(at, picture);
    if (out.find(part) == std::string::npos) out += part;  // the same reason is told once
  };
  if (s.acts & kInput) add([&] { return input_picture(s, at); });
  if (s.acts & (kQk | kCross)) add([&] { return channel_picture(s, at); });
  if (s.acts & (kLogits | kRows)) add([&] { return bias_picture(s, at); });
  if (s.acts & kMask) add([&] { return mask_picture(s, at); });
  if (s.acts & kPositions) add([&] { return sampler_picture(s, at.length); });
  if (s.encoding.frequencies().empty()) return out;
  add([&] { return clock_picture(s, at); });
  add([&] { return wavelength_picture(s, at.length); });
  if (!at.trained.empty()) add([&] { return unseen_picture(s, at); });
  return out;
}

}  // namespace gnomon::pages
