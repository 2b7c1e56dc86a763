// Why both sine and cosine?
#include <algorithm>
#include <cmath>

#include "gnomon/claims/parts.h"
#include "gnomon/lens/attention.h"

namespace gnomon::claims {

Question question_why_sine_and_cosine = {
    .key = "why_sine_and_cosine",
    .title = "Why both sine and cosine?",
    .lead = "002-05",
    .answer =
        "With both, a shift by k is one fixed rotation of the code, the same at every position; with one of "
        "them no linear map does it. A model of this size does not need that: with sines alone its loss "
        "differs by {002-05|loss.sine} nats."};

namespace {

using enum Verdict;

Finding why_both(Desk& desk) {
  Finding f;
  // More positions than channels, so that a map cannot fit by counting alone.
  const std::int64_t d = 64, T = 2000;
  const double both = shift_error(sinusoid(d, T), 5),
               sines = shift_error(position_table("sine", width_of(d), T), 5),
               cosines = shift_error(position_table("cosine", width_of(d), T), 5);
  f.between("both", "unexplained by a linear shift of 5, both", both, -1e-9, 1e-9, 12);
  f.between("sines", "unexplained, sines alone", sines, 1e-3, 1);
  f.between("cosines", "unexplained, cosines alone", cosines, 1e-3, 1);
  std::string compare;
  for (const char* spec : {"sine", "cosine", "random"}) {
    const Estimate e = loss_difference(desk, desk.language(spec), desk.language("sinusoidal"));
    f.estimate(text("loss.", spec), text("loss with ", spec, ", less both (nats)"), e);
    compare += text(compare.empty() ? "" : "; ", spec, ": ", compared(e));
  }
  f.answer = text(
      "With both, moving all positions by k is one linear map, exact for every position; with sines or "
      "cosines alone no linear map does it. Trained models compared to the sinusoid's: ",
      compare, ".");
  return f;
}
const Record claim_002_05 = Claim{
    .question = &question_why_sine_and_cosine,
    .id = "002-05",
    .says = "Why both sine and cosine? One of them would seem enough.",
    .method =
        "the best linear map from e_p to e_{p+k} by least squares over positions: share of variance left; "
        "and models trained with sines alone, cosines alone, both, and fixed random rows",
    .expects =
        "with both, a shift is one linear map for all positions, exactly; with sines of one frequency each, "
        "none exists",
    .advice =
        "Keep both: the pair is what makes a shift by k a fixed linear map that a query or key matrix can "
        "hold.",
    .recorded = holds,
    .verdicts = {{holds, {asked("both"), asked("sines"), asked("cosines")}}},
    .recipes =
        [](const Desk& d) {
          return std::vector{d.language("sinusoidal"), d.language("sine"), d.language("cosine"),
                             d.language("random")};
        },
    .measure = why_both,
};

Finding rotation(Desk&) {
  Finding f;
  const Matrix e = sinusoid(512, 192);
  const auto w = sinusoid_frequencies(512);
  double worst = 0;
  for (const std::int64_t k : {1, 5, 64}) {
    for (std::int64_t t = 0; t < 128; ++t) {
      for (std::int64_t i = 0; i < 256; ++i) {
        const double c = std::cos(double(k) * w[std::size_t(i)]), s = std::sin(double(k) * w[std::size_t(i)]);
        worst = std::max({worst, std::abs(c * e.at(t, 2 * i) + s * e.at(t, 2 * i + 1) - e.at(t + k, 2 * i)),
                          std::abs(c * e.at(t, 2 * i + 1) - s * e.at(t, 2 * i) - e.at(t + k, 2 * i + 1))});
      }
    }
  }
  f.between("error", "largest error of the rotation", worst, 0, 1e-12, 15);
  f.answer = "The matrix is right as printed. It turns the code of a position, not the sum with a word.";
  return f;
}
const Record claim_002_06 = Claim{
    .question = &question_why_sine_and_cosine,
    .id = "002-06",
    .says = "The code of t + k is the code of t times a rotation matrix that depends on k alone.",
    .method = "largest |R(k)·e_t − e_{t+k}| over t < 128, k = 1, 5, 64, all channels, d = 512, in double",
    .expects = "zero to rounding: the addition theorems",
    .advice =
        "The same rotation is what RoPE applies to queries and keys; it acts on the code alone, never on the "
        "word.",
    .recorded = holds,
    .verdicts = {{holds, {asked("error")}}},
    .measure = rotation,
};

// The energy of a head's Q'K that lies in the family of rotations by position, over what chance gives.
double rotation_excess(const Outcome& o) {
  const auto gain = parameter(o.look(), "layers.0.attention.norm.gain").values;
  const Matrix qkv = parameter(o.look(), "layers.0.attention.qkv.weight");
  const Architecture& c = o.model->architecture();
  const std::int64_t D = c.attention.head_size;
  double mean = 0;
  for (std::int64_t h = 0; h < c.attention.heads; ++h) {
    Matrix m = product(transpose(qkv.block(h * D, D)), qkv.block(c.width + h * D, D));
    for (std::int64_t a = 0; a < m.rows; ++a) {
      for (std::int64_t b = 0; b < m.columns; ++b) m.at(a, b) *= gain[std::size_t(a)] * gain[std::size_t(b)];
    }
    mean += rotation_share(m) * double(c.width) / double(c.attention.heads);
  }
  return mean;
}

Finding disaster(Desk& desk) {
  Finding f;
  const Recipe r = desk.language("sinusoidal");
  const Estimate trained = mean_interval(each(desk, r, rotation_excess));
  const Estimate start =
      mean_interval(each(desk, r, [&](const Outcome& o) { return rotation_excess(at_start(o)); }));
  f.estimate("start", "rotation energy over chance, at the start", start, 2);
  f.estimate("trained", "rotation energy over chance, trained", trained, 2);
  f.answer = text("No rotation touches a word: the map only has to exist inside Q'K. Trained heads hold ",
                  told(trained, 2), " times the rotational energy of chance, against ", told(start, 2),
                  " at the start.");
  return f;
}
const Record claim_002_07 = Claim{
    .question = &question_why_sine_and_cosine,
    .id = "002-07",
    .says = "A rotation mixes the directions of the space, which must be a disaster for the words.",
    .method =
        "nothing multiplies the input by that rotation: it only has to exist inside Q'K. The share of the "
        "energy of a trained head's Q'K in the family [[a, b], [−b, a]] for each pair, over the share by "
        "chance, 1/d; at the start it is 1",
    .expects = "no rotation is applied to the word; training moves some heads towards the family",
    .advice =
        "Nothing to fear: with an additive code the words are never turned. RoPE does turn queries and keys, "
        "and is built for it.",
    .recorded = wrong,
    .rests_on = argument(
        "no operation of the model multiplies the sum by that rotation: the map from one position to another "
        "only has to exist inside Q'K, so it cannot mix what the channels of a word mean"),
    .recipes = [](const Desk& d) { return std::vector{d.language("sinusoidal")}; },
    .measure = disaster,
};

report::LineChart kernel_chart() {
  report::LineChart chart{
      "Similarity of two positions, by their distance",
      "K(k) = mean of cos(k·w) over the pairs: the dot product over that of a position with itself.",
      {"distance k in tokens"},
      {"K(k)"},
      {}};
  int style = 0;
  for (const std::int64_t d : {16, 64, 512}) {
    report::Series s{text("d = ", d), {}, style++};
    const auto w = sinusoid_frequencies(d);
    for (int k = 0; k <= 128; ++k) s.points.emplace_back(k, sinusoid_kernel(w, k));
    chart.series.push_back(std::move(s));
  }
  return chart;
}

std::int64_t first_minimum(std::span<const double> w) {
  std::int64_t k = 1;
  while (sinusoid_kernel(w, double(k + 1)) < sinusoid_kernel(w, double(k))) ++k;
  return k;
}

Finding closeness(Desk& desk) {
  Finding f;
  const auto w = sinusoid_frequencies(512), w16 = sinusoid_frequencies(16);
  const double expected[] = {.973055, .905209, .827146, .768313, .740612, .735344};
  for (int k = 1; k <= 6; ++k)
    f.near(text("d512.", k), text("K(", k, "), d = 512"), sinusoid_kernel(w, k), expected[k - 1], 1e-6, 6);
  f.near("d512.50", "K(50), d = 512", sinusoid_kernel(w, 50), .512, 5e-4, 3);
  f.near("d512.128", "K(128), d = 512", sinusoid_kernel(w, 128), .406, 5e-4, 3);
  f.near("d512.512", "K(512), d = 512", sinusoid_kernel(w, 512), .276, 5e-4, 3);
  f.near("d16.3", "K(3), d = 16", sinusoid_kernel(w16, 3), .693, 5e-4, 3);
  f.near("d16.6", "K(6), d = 16", sinusoid_kernel(w16, 6), .806, 5e-4, 3);
  const std::pair<std::int64_t, double> minima[] = {{512, 43}, {128, 11}, {64, 5}, {16, 3}};
  for (const auto& [d, k] : minima)
    f.near(text("minimum.", d), text("first local minimum, d = ", d),
           double(first_minimum(sinusoid_frequencies(d))), k, 0, 0);
  const Estimate cost = loss_difference(desk, desk.language("permuted"), desk.language("sinusoidal"));
  f.estimate("loss", "loss with the rows permuted, less the sinusoid's (nats)", cost);
  f.figures = {kernel_chart()};
  f.answer = text(
      "Near positions are similar, but not monotonically: at d = 16, positions 6 apart are more alike than "
      "positions 3 apart, and K(−k) = K(k), so the product alone has no direction. With the same rows in a "
      "random order, which keeps everything but closeness, the loss is ",
      compared(cost), ".");
  return f;
}
const Record claim_000_12 = Claim{
    .question = &question_why_sine_and_cosine,
    .id = "000-12",
    .says = "Sines and cosines are chosen because nearby positions get similar codes.",
    .method =
        "K(k) = Σ_i cos(k·w_i)/(d/2); its first local minimum; and a model trained with the rows of the "
        "table in a random order, which keeps lengths and rank and loses closeness",
    .expects = "K falls at first, then oscillates: the sum of cosines of several frequencies is not monotone",
    .advice =
        "Do not read distance off the raw dot product; attention must learn a map that does, or use a bias "
        "by distance.",
    .recorded = conditional,
    .verdicts = {{conditional, {at_most("d512.50", "d512.1"), at_least("d16.6", "d16.3")}},
                 {holds, {at_most("d512.50", "d512.1")}},
                 otherwise(wrong)},
    .recipes =
        [](const Desk& d) {
          return std::vector{d.language("sinusoidal"), d.language("permuted")};
        },
    .measure = closeness,
};

Finding fourier(Desk& desk) {
  Finding f;
  const Recipe r = desk.language("learned");
  const auto low = [&](const Floats* w, const Outcome& o) {
    Outcome at = o;
    if (w) at.w = *w;
    const auto energy = frequency_energy(parameter(at.look(), "position.input.table"));
    double sum = 0;
    for (std::size_t k = 0; k <= energy.size() / 8; ++k) sum += energy[k];
    return sum;
  };
  const Estimate start = mean_interval(each(desk, r, [&](const Outcome& o) {
    const Floats w = o.model->initial(std::uint64_t(o.seed));
    return low(&w, o);
  }));
  const Estimate trained = mean_interval(each(desk, r, [&](const Outcome& o) { return low(nullptr, o); }));
  f.estimate("start", "energy in the lowest eighth, at the start", start, 3);
  f.estimate("trained", "energy in the lowest eighth, trained", trained, 3);
  const auto gram = [](const Outcome& o) {
    const Matrix e = centred(parameter(o.look(), "position.input.table"));
    return product_transposed(e, e);
  };
  f.estimate("by_offset", "products explained by the offset alone, trained",
             mean_interval(
                 each(desk, r, [&](const Outcome& o) { return offset_share(gram(o), Diagonal::without); })),
             3);
  f.estimate("monotone", "products fall with the distance up to 20 (rank correlation)",
             mean_interval(each(desk, r, [&](const Outcome& o) { return monotonicity(gram(o), 20); })), 3);
  f.estimate(
      "roughness", "roughness: 2 for independent rows",
      mean_interval(each(
          desk, r, [&](const Outcome& o) { return roughness(parameter(o.look(), "position.input.table")); })),
      2);
  report::LineChart chart{"What frequencies a learned table is made of",
                          "Mean over seeds; energy of the columns about their means.",
                          {"whole waves in the window"},
                          {"share of the energy"},
                          {}};
  const auto& models = desk.models(r);
  report::Series after{"trained", {}, 0}, before{"at the start", {}, 1};
  for (const Outcome& o : models) {
    const auto e = frequency_energy(parameter(o.look(), "position.input.table"));
    const Outcome s = at_start(o);
    const auto e0 = frequency_energy(parameter(s.look(), "position.input.table"));
    after.points.resize(e.size()), before.points.resize(e.size());
    for (std::size_t k = 0; k < e.size(); ++k) {
      after.points[k].first = before.points[k].first = double(k);
      after.points[k].second += e[k] / double(models.size()),
          before.points[k].second += e0[k] / double(models.size());
    }
  }
  chart.series = {after, before};
  f.figures = {chart};
  f.answer =
      text("A table that may become anything puts ", fixed(100 * trained.mean, 0),
           " % of its energy into the lowest eighth of the frequencies after training, from ",
           fixed(100 * start.mean, 0), " % at the start: a smooth, wave-like code is what training finds.");
  return f;
}
const Record claim_002_12 = Claim{
    .question = &question_why_sine_and_cosine,
    .id = "002-12",
    .says = "The code is a Fourier representation of the position.",
    .method =
        "the discrete Fourier transform of a learned table over its positions: the share of its energy in "
        "the lowest eighth of the frequencies; independent rows have an eighth",
    .expects = "a table that is free to be anything becomes smooth: low frequencies carry it",
    .advice = "A learned table of a trained model that is not smooth was not trained at those positions.",
    .recorded = holds,
    .verdicts = {{holds, {above("trained", "start")}}, otherwise(undecided)},
    .recipes = [](const Desk& d) { return std::vector{d.language("learned")}; },
    .measure = fourier,
};

Finding columns_orthogonal(Desk&) {
  Finding f;
  const Matrix columns = transpose(sinusoid(512, 128));
  const std::pair<std::int64_t, double> pairs[] = {{0, .007}, {64, .002}, {128, .73}, {192, .86}, {255, .86}};
  for (const auto& [i, expected] : pairs) {
    const auto s = columns.row(2 * i), c = columns.row(2 * i + 1);
    f.near(text("pair.", i), text("|cos|, pair ", i), std::abs(dot(s, c)) / std::sqrt(dot(s, s) * dot(c, c)),
           expected, i < 100 ? 6e-4 : 6e-3, 3);
  }
  f.answer =
      "True of pairs that turn many times in the window (|cos| below 0.01), false of the slow ones, more "
      "than half at length 128, whose columns are nearly parallel (0.73 to 0.86).";
  return f;
}
const Record claim_002_13 = Claim{
    .question = &question_why_sine_and_cosine,
    .id = "002-13",
    .says = "Sine and cosine bring a kind of orthogonality that separates the information.",
    .method =
        "|cos| of the angle between the sine and the cosine column of a pair over positions 0 to 127, d = "
        "512",
    .expects = "orthogonal over whole turns only; slow pairs turn by a fraction and are far from it",
    .advice = "Count the pairs that turn at least once in your window before arguing from orthogonality.",
    .recorded = conditional,
    .verdicts = {{conditional, {at_most("pair.0", .01), at_least("pair.255", .5)}},
                 {holds, {at_most("pair.255", .1)}},
                 otherwise(wrong)},
    .measure = columns_orthogonal,
};

}  // namespace
}  // namespace gnomon::claims
