#include "gnomon/lens/portrait.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "gnomon/core/error.h"
#include "gnomon/core/parallel.h"
#include "gnomon/core/random.h"
#include "gnomon/core/text.h"
#include "gnomon/lens/bias.h"

namespace gnomon {

std::vector<Standing> encodings_in(const Spec& spec, const Scheme& scheme, std::int64_t layers) {
  std::vector<Standing> all;
  if (scheme.input) all.push_back({*spec.input, scheme.input.get(), "position.input."});
  std::vector<Named> inside = spec.attention;
  for (const auto& layer : spec.layers) inside.insert(inside.end(), layer.begin(), layer.end());
  for (std::size_t n = 0; n < inside.size(); ++n) {
    const auto acts_in = [&](std::int64_t l) {
      const auto& active = scheme.in_layer(l);
      return std::find(active.begin(), active.end(), n) != active.end();
    };
    std::int64_t first = 0;
    while (first < layers && !acts_in(first)) ++first;
    if (first == layers) continue;
    const Encoding& encoding = *scheme.attention[n].encoding;
    all.push_back({inside[n], &encoding,
                   text("position.attention.", n, ".", encoding.per_layer() ? text(first, ".") : "")});
  }
  for (std::size_t n = 0; n < spec.samplers.size(); ++n)
    all.push_back({spec.samplers[n], scheme.samplers[n].get(), ""});
  return all;
}

ShownEncoding at_start(const Standing& s) {
  ShownEncoding shown{*s.encoding, find_encoding(s.named.name).acts, {}, "initial values"};
  for (const auto& p : s.encoding->params()) {
    const Random random(1, p.name);
    for (std::int64_t i = 0; i < p.size(); ++i)
      shown.w.push_back(p.initial(i, random.normal(std::uint64_t(i))));
  }
  return shown;
}

double ShownEncoding::input(double position, std::int64_t channel) const {
  const std::vector<double> one(std::size_t(encoding.axes()), position);
  return part<InputPart>(encoding)->input({{one, 1, encoding.axes()}, {}, {}, w}, 0, channel);
}

std::int64_t channel_tokens(std::int64_t length) { return std::min<std::int64_t>(length, 256); }

namespace {

// About how many numbers the definition reads to give one channel of one position. A table has one; a sine
// costs as much as some thirty; what has parameters and no table may read them all.
double input_cost(const Encoding& e) { return e.positions_end() ? 32 : 32 + double(e.param_count()); }

// Positions whose vectors are compared with that of position 0: so many where that is a matter of a second.
std::int64_t compared(const Encoding& e, std::int64_t most) {
  const double affordable = 6.5e8 / (input_cost(e) * double(e.shape().C));
  return std::min(most, std::int64_t(std::clamp(affordable, 128.0, double(kMostCompared))));
}

std::vector<double> vector_at(const ShownEncoding& s, double position) {
  std::vector<double> e;
  for (std::int64_t c = 0; c < s.encoding.shape().C; ++c) e.push_back(s.input(position, c));
  return e;
}
double dot(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

void input_facts(const ShownEncoding& s, std::int64_t most_compared, std::vector<Fact>& out) {
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
  const std::int64_t last = std::min(compared(s.encoding, most_compared), end - 1);
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

void frequency_facts(const ShownEncoding& s, std::int64_t length, std::vector<Fact>& out) {
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
  const auto* map = part<TurnPart>(s.encoding);
  if (const double factor = map ? map->turns_at(double(length)).factor : 1; factor != 1)
    out.push_back({"factor",
                   "Factor of q and of k, and of their product",
                   {"of each", "of q·k"},
                   {{"factor", {factor, factor * factor}}},
                   6});
}

void bias_facts(const ShownEncoding& s, std::int64_t length, std::vector<Fact>& out) {
  const Shape& shape = s.encoding.shape();
  const Bias bias(s, length);
  if (bias.by_content_only())
    return out.push_back(
        {"bias", "Added to the logit, by distance and head", {}, {}, 6, std::string(kByContent)});
  Fact f{"bias", text(bias.meaning(), ", by distance and head (", s.parameters, ")"), {}, {}, 6};
  const std::vector<std::int64_t> heads = heads_told(shape.H);
  if (shape.H > kMostHeadsTold) f.title += text("; ", heads.size(), " of ", shape.H, " heads, evenly spread");
  for (const std::int64_t h : heads) f.head.push_back(text("head ", h));
  for (const std::int64_t delta : {-8, -1, 0, 1, 2, 3, 4, 8, 16, 32, 64, 128, 256}) {
    if ((shape.causal && delta < 0) || std::abs(delta) >= bias.tokens()) continue;
    f.rows.push_back({text("distance ", delta), {}});
    for (const std::int64_t h : heads) f.rows.back().values.push_back(bias.at(h, delta));
  }
  out.push_back(f);
}

}  // namespace

std::vector<std::int64_t> heads_told(std::int64_t H) {
  const std::int64_t count = std::min(H, kMostHeadsTold);
  std::vector<std::int64_t> heads;
  for (std::int64_t n = 0; n < count; ++n) heads.push_back(count == H ? n : n * (H - 1) / (count - 1));
  return heads;
}

double work(const Encoding& e, unsigned acts, std::int64_t length, std::int64_t most_compared) {
  const Shape& s = e.shape();
  const double D = double(s.D), logit = 32 * D + double(e.param_count()) / double(s.H);
  double all = 0;
  if ((acts & kInput) && !e.reads_content())
    all += double(s.C) * input_cost(e) * double(length + compared(e, most_compared));
  if (acts & (kQk | kCross)) all += D * double(channel_tokens(length)) * logit;
  if (acts & (kLogits | kRows)) all += 8 * double(length) * logit;
  return all;
}

std::vector<Fact> facts(const ShownEncoding& s, std::int64_t length, std::int64_t most_compared) {
  std::vector<Fact> out;
  if ((s.acts & kInput) && !s.encoding.reads_content()) input_facts(s, most_compared, out);
  frequency_facts(s, length, out);
  if (s.acts & (kLogits | kRows)) bias_facts(s, length, out);
  return out;
}

}  // namespace gnomon
