// Why both sine and cosine?
#include <algorithm>
#include <cmath>
#include <numbers>

#include "gnomon/claims/measures/measures.h"
#include "gnomon/lens/attention.h"

namespace gnomon::claims {

constexpr Prose kText =
#include "gnomon/claims/questions/why_sine_and_cosine.txt.inc"
    ;
Question question_why_sine_and_cosine{.key = "why_sine_and_cosine", .text = question_text(kText)};

namespace {

using enum Verdict;

Finding why_both(Experiment& experiment) {
  Finding f;
  struct Code {
    const char *key, *spec, *name;
  };
  const Code codes[] = {{"both", "sinusoidal", "both"},
                        {"sine", "sine", "sines alone"},
                        {"cosine", "cosine", "cosines alone"},
                        {"random", "random", "fixed random rows"}};
  report::LineChart chart{"Is a shift by 5 a linear map of the code?",
                          "Share of the variance that the best linear map (least squares) leaves with sines "
                          "alone. With sines and cosines it leaves none.",
                          {"positions T", true, {64, 128, 256, 512, 1024, 4096}},
                          {"share left"},
                          {}};
  int style = 0;
  double most = 0;
  for (const std::int64_t d : {64, 96, 512}) {
    report::Series s{text("d = ", d), {}, style++, false, true};
    for (const std::int64_t T : {64, 128, 256, 512, 1024, 4096}) {
      for (const Code& c : codes) {
        const double left = shift_error(position_table(c.spec, width_of(d, T), T), 5);
        const std::string key = text(c.key, ".", d, ".", T),
                          name = text("variance left by a linear shift of 5, ", c.name, ", d = ", d,
                                      ", T = ", T);
        if (c.spec == kPaper) most = std::max(most, std::abs(left));
        if (c.spec == kPaper)
          f.between(key, name, left, -1e-9, 1e-8, 12);
        else
          f.number(key, name, left, 4);
        if (c.key == std::string_view("sine")) s.points.emplace_back(double(T), left);
      }
    }
    chart.series.push_back(std::move(s));
  }
  f.number("both_most", "most variance left by a linear shift of 5, both", most, 12);
  f.figures = {chart};
  for (const char* spec : {"sine", "cosine", "random"}) {
    const OnTheWay way = on_the_way(experiment, experiment.language(spec), experiment.language("sinusoidal"));
    show(f, text("loss.", spec), text("loss with ", spec, " minus loss with both"), way);
  }
  return f;
}
const Record claim_002_05 = Claim{
    .question = &question_why_sine_and_cosine,
    .id = "002-05",
    .text = claim_text(kText, "002-05"),
    .recorded = answered,
    .verdicts = {{answered, {asked("both"), at_most("sine.96.64", .1), at_least("sine.64.512", .15)}}},
    .recipes =
        [](const Experiment& d) {
          return std::vector{d.language("sinusoidal"), d.language("sine"), d.language("cosine"),
                             d.language("random")};
        },
    .measure = why_both,
};

Finding rotation(Experiment&) {
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
  return f;
}
const Record claim_002_06 = Claim{
    .question = &question_why_sine_and_cosine,
    .id = "002-06",
    .text = claim_text(kText, "002-06"),
    .recorded = holds,
    .verdicts = {{holds, {asked("error")}}},
    .measure = rotation,
};

// The share of the energy of Q'K that lies in the family of rotations by position, mean over the heads of the first layer;
// and the same after the space was turned at random, which keeps what the map is and forgets where the pairs stand.
struct InFamily {
  double share, turned;
};
InFamily in_family(const Outcome& o, std::int64_t draws) {
  const auto gain = parameter(o.look(), "layers.0.attention.norm.gain").values;
  const Matrix qkv = parameter(o.look(), "layers.0.attention.qkv.weight");
  const Architecture& c = o.model->architecture();
  const std::int64_t D = c.attention.head_dim;
  const Random random(62, "turns");
  InFamily mean{0, 0};
  for (std::int64_t h = 0; h < c.attention.heads; ++h) {
    Matrix m = product(transpose(qkv.block(h * D, D)), qkv.block(c.width + h * D, D));
    for (std::int64_t a = 0; a < m.rows; ++a) {
      for (std::int64_t b = 0; b < m.columns; ++b) m.at(a, b) *= gain[std::size_t(a)] * gain[std::size_t(b)];
    }
    mean.share += rotation_share(m) / double(c.attention.heads);
    for (std::int64_t n = 0; n < draws; ++n) {
      const Matrix turn = random_subspace(random, std::uint64_t(h * draws + n), c.width, c.width);
      mean.turned +=
          rotation_share(product(product(transpose(turn), m), turn)) / double(draws * c.attention.heads);
    }
  }
  return mean;
}

Finding disaster(Experiment& experiment) {
  Finding f;
  const Recipe r = experiment.language("sinusoidal");
  std::vector<double> found, turned;
  for (const Outcome& o : experiment.models(r)) {
    const InFamily family = in_family(o, experiment.draws(8));
    found.push_back(family.share), turned.push_back(family.turned);
  }
  const Estimate trained = mean_interval(found), null = mean_interval(turned),
                 start = mean_interval(
                     each(experiment, r, [](const Outcome&o) { return in_family(at_start(o), 1).share; })),
                 excess = paired_interval(found, turned);
  f.estimate("start", "share of the energy of Q'K in the rotations, before training", start, 4);
  f.estimate("share", "share of the energy of Q'K in the rotations, trained", trained, 4);
  f.estimate("null", "the same share after turning the space at random, trained", null, 4);
  f.estimate("excess", "trained share minus that after turning the space at random", excess, 4);
  return f;
}
const Record claim_002_07 = Claim{
    .question = &question_why_sine_and_cosine,
    .id = "002-07",
    .text = claim_text(kText, "002-07"),
    .recorded = wrong,
    .rests_on = Basis::argument,
    .recipes = [](const Experiment& d) { return std::vector{d.language("sinusoidal")}; },
    .measure = disaster,
};

report::LineChart kernel_chart() {
  report::LineChart chart{
      "Similarity of two positions, by their distance",
      "K(k) = mean of cos(k·w) over the pairs: the dot product, divided by that of a position with itself.",
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

Finding closeness(Experiment& experiment) {
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
  const OnTheWay cost =
      on_the_way(experiment, experiment.language("permuted"), experiment.language("sinusoidal"));
  show(f, "loss", "loss with permuted rows minus loss with the sinusoid", cost);
  f.figures = {kernel_chart()};
  return f;
}
const Record claim_000_12 = Claim{
    .question = &question_why_sine_and_cosine,
    .id = "000-12",
    .text = claim_text(kText, "000-12"),
    .recorded = holds_if,
    .verdicts = {{holds_if, {at_most("d512.50", "d512.1"), at_least("d16.6", "d16.3")}},
                 {holds, {at_most("d512.50", "d512.1")}},
                 otherwise(wrong)},
    .recipes =
        [](const Experiment& d) {
          return std::vector{d.language("sinusoidal"), d.language("permuted")};
        },
    .measure = closeness,
};

// The share of the table's variance about its column means that the first waves over the window explain, less what as many
// polynomials explain: a ramp, or any smooth curve, is no reason for waves.
double waves_less_polynomials(const Matrix& table) {
  const std::int64_t T = table.rows, pairs = T / 16;
  Matrix waves(T, 2 * pairs), powers(T, 2 * pairs);
  for (std::int64_t t = 0; t < T; ++t) {
    const double turn = 2 * std::numbers::pi * double(t) / double(T),
                 x = 2 * (double(t) + .5) / double(T) - 1;
    double before = 1, legendre = x;  // P0 and P1: stable where plain powers are nearly parallel
    for (std::int64_t k = 0; k < 2 * pairs; ++k) {
      const double n = double(k / 2 + 1);
      waves.at(t, k) = k % 2 == 0 ? std::cos(n * turn) : std::sin(n * turn);
      powers.at(t, k) = legendre;
      const double next = ((2 * double(k) + 3) * x * legendre - (double(k) + 1) * before) / (double(k) + 2);
      before = legendre, legendre = next;
    }
  }
  const Matrix columns = transpose(centred(table));
  const auto explained = [&](const Matrix& basis) {
    return squares(product(columns, orthonormal(centred(basis)))) / squares(columns);
  };
  return explained(waves) - explained(powers);
}

// What the paper's code is by definition, and what the comparison with polynomials says of tables that are nothing but waves.
void waves_of_the_paper(Finding& f) {
  const std::int64_t d = 64, T = 64;
  const Matrix e = sinusoid(d, T);
  const auto w = sinusoid_frequencies(d);
  double off = 0, turning = 0;
  for (std::size_t i = 0; i < w.size(); ++i) {
    turning += w[i] * double(T) >= 2 * std::numbers::pi;
    for (std::int64_t p = 0; p < T; ++p)
      off = std::max({off, std::abs(e.at(p, 2 * std::int64_t(i)) - std::sin(w[i] * double(p))),
                      std::abs(e.at(p, 2 * std::int64_t(i) + 1) - std::cos(w[i] * double(p)))});
  }
  f.between("waves", "largest difference of a channel of the code from one sine or cosine", off, 0, 1e-5, 9);
  f.number("turning", text("share of its pairs that turn at least once in ", T, " positions"),
           turning / double(w.size()), 2);
  f.number("paper.waves_less_polynomials", "the same comparison with polynomials, of the sinusoid itself",
           waves_less_polynomials(e), 3);
  Matrix slow(T, 2);
  for (std::int64_t p = 0; p < T; ++p) {
    const double turn = 2 * std::numbers::pi * double(p) / 200;
    slow.at(p, 0) = std::sin(turn), slow.at(p, 1) = std::cos(turn);
  }
  f.number("slow.waves_less_polynomials", "the same, of one wave of 200 positions",
           waves_less_polynomials(slow), 3);
}

Finding fourier(Experiment& experiment) {
  Finding f;
  waves_of_the_paper(f);
  const Recipe r = experiment.language("learned");
  const auto low = [&](const Floats* w, const Outcome& o) {
    Outcome at = o;
    if (w) at.w = *w;
    const auto energy = frequency_energy(parameter(at.look(), "position.input.table"));
    double sum = 0;
    for (std::size_t k = 0; k <= energy.size() / 8; ++k) sum += energy[k];
    return sum;
  };
  const Estimate start = mean_interval(each(experiment, r, [&](const Outcome& o) {
    const Floats w = o.model->initial(std::uint64_t(o.seed));
    return low(&w, o);
  }));
  const Estimate trained =
      mean_interval(each(experiment, r, [&](const Outcome& o) { return low(nullptr, o); }));
  f.estimate("start", "share of the energy in the lowest eighth of the frequencies, before training", start,
             3);
  f.estimate("trained", "share of the energy in the lowest eighth of the frequencies, trained", trained, 3);
  const Estimate moved = mean_interval(each(experiment, r, [&](const Outcome& o) {
    const Floats w = o.model->initial(std::uint64_t(o.seed));
    return low(nullptr, o) - low(&w, o);
  }));
  f.estimate("moved", "share when trained minus share before training", moved, 3);
  f.estimate("waves_less_polynomials",
             "share of the variance that the four slowest waves explain minus that of as many polynomials",
             mean_interval(each(experiment, r,
                                [&](const Outcome& o) {
                                  return waves_less_polynomials(parameter(o.look(), "position.input.table"));
                                })),
             3);
  const auto gram = [](const Outcome& o) {
    const Matrix e = centred(parameter(o.look(), "position.input.table"));
    return product_transposed(e, e);
  };
  f.estimate("by_offset", "share of the dot products that the offset explains, trained",
             mean_interval(each(experiment, r,
                                [&](const Outcome& o) { return offset_share(gram(o), Diagonal::without); })),
             3);
  f.estimate("monotone", "dot products fall with the distance, up to 20 (rank correlation)",
             mean_interval(each(experiment, r, [&](const Outcome& o) { return monotonicity(gram(o), 20); })),
             3);
  f.estimate("roughness", "roughness (2 for independent rows)",
             mean_interval(each(
                 experiment, r,
                 [&](const Outcome& o) { return roughness(parameter(o.look(), "position.input.table")); })),
             2);
  report::LineChart chart{"What frequencies a learned table is made of",
                          "Energy of the columns about their means; mean over seeds.",
                          {"whole waves in the window"},
                          {"share of the energy"},
                          {}};
  const auto& models = experiment.models(r);
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
  return f;
}
const Record claim_002_12 = Claim{
    .question = &question_why_sine_and_cosine,
    .id = "002-12",
    .text = claim_text(kText, "002-12"),
    .recorded = holds_if,
    .verdicts = {{holds, {asked("waves"), at_least("turning", 1)}},
                 {holds_if, {asked("waves")}},
                 otherwise(wrong)},
    .recipes = [](const Experiment& d) { return std::vector{d.language("learned")}; },
    .measure = fourier,
};

Finding columns_orthogonal(Experiment&) {
  Finding f;
  const Matrix columns = transpose(sinusoid(512, 128));
  const std::pair<std::int64_t, double> pairs[] = {{0, .007}, {64, .002}, {128, .73}, {192, .86}, {255, .86}};
  const auto cosine = [&](std::int64_t i) {
    const auto s = columns.row(2 * i), c = columns.row(2 * i + 1);
    return std::abs(dot(s, c)) / std::sqrt(dot(s, s) * dot(c, c));
  };
  for (const auto& [i, expected] : pairs)
    f.near(text("pair.", i), text("|cos|, pair ", i), cosine(i), expected, i < 100 ? 6e-4 : 6e-3, 3);
  const auto speeds = sinusoid_frequencies(512);
  double far = 0, nearly = 0, once = 0, twice = 0, most = 0;
  for (std::int64_t i = 0; i < columns.rows / 2; ++i) {
    const double c = cosine(i), turns = 128 * speeds[std::size_t(i)] / (2 * std::numbers::pi);
    far += c > .5, nearly += c < .1;
    once += turns >= 1, twice += turns >= 2;
    if (turns >= 2) most = std::max(most, c);
  }
  f.number("far_from", "pairs of 256 whose columns have |cos| above 0.5", far, 0);
  f.number("nearly", "pairs of 256 whose columns have |cos| below 0.1", nearly, 0);
  f.number("once", "pairs of 256 that turn at least once in 128 positions", once, 0);
  f.number("twice", "pairs of 256 that turn at least twice in 128 positions", twice, 0);
  f.number("twice_most", "largest |cos| of a pair that turns at least twice", most, 3);
  const double slowest = std::acos(cosine(255)) * 180 / std::numbers::pi;
  f.number("angle", "angle of the slowest pair's columns, degrees", slowest, 0);
  return f;
}
const Record claim_002_13 = Claim{
    .question = &question_why_sine_and_cosine,
    .id = "002-13",
    .text = claim_text(kText, "002-13"),
    .recorded = holds_if,
    .verdicts = {{holds_if, {at_most("twice_most", .1), at_least("pair.255", .5)}},
                 {holds, {at_most("pair.255", .1)}},
                 otherwise(wrong)},
    .measure = columns_orthogonal,
};

}  // namespace
}  // namespace gnomon::claims
