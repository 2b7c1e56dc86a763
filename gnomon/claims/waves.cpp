// Why sines and cosines: rotation, similarity, orthogonality, uniqueness.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "gnomon/claims/parts.h"
#include "gnomon/combine/spec.h"
#include "gnomon/lens/attention.h"

namespace gnomon::claims {
namespace {

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
    f.near(text("K(", k, "), d = 512"), sinusoid_kernel(w, k), expected[k - 1], 1e-6, 6);
  f.near("K(50), d = 512", sinusoid_kernel(w, 50), .512, 5e-4, 3);
  f.near("K(128), d = 512", sinusoid_kernel(w, 128), .406, 5e-4, 3);
  f.near("K(512), d = 512", sinusoid_kernel(w, 512), .276, 5e-4, 3);
  f.near("K(3), d = 16", sinusoid_kernel(w16, 3), .693, 5e-4, 3);
  f.near("K(6), d = 16", sinusoid_kernel(w16, 6), .806, 5e-4, 3);
  const std::pair<std::int64_t, double> minima[] = {{512, 43}, {128, 11}, {64, 5}, {16, 3}};
  for (const auto& [d, k] : minima)
    f.near(text("first local minimum, d = ", d), double(first_minimum(sinusoid_frequencies(d))), k, 0, 0);
  const Estimate cost = loss_difference(desk, desk.language("permuted"), desk.language("sinusoidal"));
  f.estimate("loss with the rows permuted, less the sinusoid's (nats)", cost);
  f.figures = draw(kernel_chart());
  f.conclude(Verdict::conditional, text("Near positions are similar, but not monotonically: at d = 16, "
                                        "positions 6 apart are more alike than positions 3 "
                                        "apart, and K(−k) = K(k), so the product alone has no direction. "
                                        "With the same rows in a random order, which "
                                        "keeps everything but closeness, the loss is ",
                                        compared(cost), "."));
  return f;
}

}  // namespace

extern const Claim claim_000_12;
const Claim claim_000_12 = {
    .id = "000-12",
    .question = "waves",
    .says = "Sines and cosines are chosen because nearby positions get similar codes.",
    .method =
        "K(k) = Σ_i cos(k·w_i)/(d/2); its first local minimum; and a model trained with the rows of the "
        "table in a random "
        "order, which keeps lengths and rank and loses closeness",
    .expects = "K falls at first, then oscillates: the sum of cosines of several frequencies is not monotone",
    .advice =
        "Do not read distance off the raw dot product; attention must learn a map that does, or use a bias "
        "by distance.",
    .expected = Verdict::conditional,
    .recipes =
        [](const Desk& d) {
          return std::vector{d.language("sinusoidal"), d.language("permuted")};
        },
    .measure = closeness};

extern const Claim claim_001_11;
const Claim claim_001_11 = {
    .id = "001-11",
    .question = "waves",
    .says =
        "Many channels of the code barely change with the position: the last ones, and the one 16 from the "
        "end moves by 0.007.",
    .method =
        "values of four channels at positions 0, 63, 64, 127, in both conventions, from the definition in "
        "double",
    .expects = "true of the last channel; 0.007 only comes out with 128 channels instead of 512",
    .advice =
        "Say which convention and which width a number belongs to: the paper's and tensor2tensor's "
        "frequencies differ.",
    .expected = Verdict::conditional,
    .measure = [](Desk&) {
      struct Row {
        std::string_view spec;
        std::int64_t d, channel;
        double values[4];
      };
      const Row rows[] = {{kPaper, 512, 511, {1, .99997867, .99997799, .99991334}},
                          {kTensor2tensor, 512, 511, {1, .99998016, .99997952, .99991936}},
                          {kTensor2tensor, 128, 127, {1, .99998016, .99997952, .99991936}},
                          {kPaper, 512, 510, {0, .00653074, .00663440, .01316486}},
                          {kTensor2tensor, 512, 255, {0, .00629996, .00639996, .01269966}},
                          {kTensor2tensor, 128, 63, {0, .00629996, .00639996, .01269966}},
                          {kPaper, 512, 496, {0, .00840109, .00853443, .01693491}},
                          {kTensor2tensor, 512, 496, {1, .99994135, .99993948, .99976169}},
                          {kTensor2tensor, 128, 112, {1, .99840670, .99835573, .99353050}},
                          {kPaper, 512, 495, {1, .99996208, .99996086, .99984590}},
                          {kTensor2tensor, 512, 495, {1, .99993696, .99993494, .99974384}},
                          {kTensor2tensor, 128, 111, {1, .99786576, .99779750, .99133646}}};
      const double positions[] = {0, 63, 64, 127};
      Finding f;
      for (const Row& r : rows) {
        const Matrix e = sinusoid(r.d, 128, 0, r.spec);
        for (int n = 0; n < 4; ++n)
          f.near(text(r.spec == kPaper ? "paper" : "t2t", " d = ", r.d, ", channel ", r.channel,
                      ", position ", positions[n]),
                 e.at(std::int64_t(positions[n]), r.channel), r.values[n], 1.1e-8, 8);
      }
      const Matrix e = sinusoid(512, 128);
      f.figures = draw(
          report::HeatMap{"The code of 128 positions, 512 channels wide (the paper's layout)",
                          "Left: fast pairs. Right: slow pairs, alternating near 0 (sine) and 1 (cosine).",
                          "channel", "position", 128, 512, e.values});
      f.conclude(Verdict::conditional,
                 "The slow channels do barely move, but the paper's last sine moves by 0.013 over 128 "
                 "positions while its cosine "
                 "moves by 0.0001. The quoted 0.007 at 16 from the end comes out only with 128 channels "
                 "(0.0065), not with 512.");
      return f;
    }};

extern const Claim claim_001_16;
const Claim claim_001_16 = {
    .id = "001-16",
    .question = "waves",
    .says = "After 10,000 positions the code repeats: the 10,001st word has the position of the first.",
    .method =
        "distance of the codes of positions 0 and 10,000, and the least distance over all offsets 1 to "
        "20,000",
    .expects = "10,000 is a divisor in the exponent, not a period: the neighbours are the nearest pair",
    .advice =
        "The sinusoid names every position of any real text uniquely; what fails beyond the training length "
        "is what was learned.",
    .expected = Verdict::wrong,
    .measure = [](Desk&) {
      Finding f;
      const std::pair<std::int64_t, double> widths[] = {{16, 1.014725}, {64, 1.471848}, {512, 3.714270}};
      for (const auto& [d, expected] : widths) {
        const auto w = sinusoid_frequencies(d);
        double least = INFINITY;
        std::int64_t at = 0;
        for (std::int64_t k = 1; k <= 20000; ++k) {  // |e_{p+k} − e_p|² = d·(1 − K(k)), for every p
          const double squared = double(d) * (1 - sinusoid_kernel(w, double(k)));
          if (squared < least) least = squared, at = k;
        }
        f.near(text("least distance, d = ", d), std::sqrt(least), expected, 1e-6, 6);
        f.near(text("at offset, d = ", d), double(at), 1, 0, 0);
      }
      f.near("distance of 0 and 10,000, d = 512",
             std::sqrt(512 * (1 - sinusoid_kernel(sinusoid_frequencies(512), 10000))), 23.3, .05, 2);
      f.near("longest wavelength / 2π, d = 512", 1 / sinusoid_frequencies(512).back(), 9646.62, .01, 2);
      f.near("longest wavelength / 2π, tensor2tensor", 1 / sinusoid_frequencies(512, kTensor2tensor).back(),
             10000, 1e-6, 2);
      f.conclude(Verdict::wrong,
                 "Positions 0 and 10,000 are 23.3 apart, of at most 32, at d = 512. Over all offsets up to "
                 "20,000 the nearest pair "
                 "of codes are neighbours: every position is unique.");
      return f;
    }};

extern const Claim claim_002_01;
const Claim claim_002_01 = {
    .id = "002-01",
    .question = "waves",
    .says = "The input is y = x + v with v = sin and cos of t over T to the power 2i/d.",
    .method = "the float32 table against sines and cosines in long double, positions 0 to 511, d = 512",
    .expects = "an error of one rounding, below 1e-6: angles are taken in double",
    .advice = "Take angles in double: float32 angles are wrong by 4e-3 radians at position 131,071.",
    .expected = Verdict::holds,
    .measure = [](Desk&) {
      const Shape shape = width_of(512);
      const auto encoding = make_encoding(kPaper, shape);
      const Placement places = Placement::consecutive(0, 512);
      const auto& waves = *part<InputPart>(*encoding);
      const Floats tables = waves.tables(places);
      std::vector<float> e(512 * 512);
      waves.input({places, tables, nullptr}, e.data());
      long double worst = 0;
      for (int t = 0; t < 512; ++t) {
        for (int i = 0; i < 256; ++i) {
          const long double angle = t * std::pow(10000.0L, -2.0L * i / 512);
          worst = std::max({worst, std::abs(std::sin(angle) - e[std::size_t(t * 512 + 2 * i)]),
                            std::abs(std::cos(angle) - e[std::size_t(t * 512 + 2 * i + 1)])});
        }
      }
      Finding f;
      f.between("largest error of the float32 table", double(worst), 0, 1e-6, 9);
      f.conclude(Verdict::holds,
                 "The formula is as printed, and the table is right to one rounding of float32 at every one "
                 "of 512 positions.");
      return f;
    }};

extern const Claim claim_002_05;
const Claim claim_002_05 = {
    .id = "002-05",
    .question = "waves",
    .says = "Why both sine and cosine? One of them would seem enough.",
    .method =
        "the best linear map from e_p to e_{p+k} by least squares over positions: share of variance left; "
        "and models trained "
        "with sines alone, cosines alone, both, and fixed random rows",
    .expects =
        "with both, a shift is one linear map for all positions, exactly; with sines of one frequency each, "
        "none exists",
    .advice =
        "Keep both: the pair is what makes a shift by k a fixed linear map that a query or key matrix can "
        "hold.",
    .expected = Verdict::holds,
    .recipes =
        [](const Desk& d) {
          return std::vector{d.language("sinusoidal"), d.language("sine"), d.language("cosine"),
                             d.language("random")};
        },
    .measure =
        [](Desk& desk) {
          Finding f;
          // More positions than channels, so that a map cannot fit by counting alone.
          const std::int64_t d = 64, T = 2000;
          const double both = shift_error(sinusoid(d, T), 5),
                       sines = shift_error(position_table("sine", width_of(d), T), 5),
                       cosines = shift_error(position_table("cosine", width_of(d), T), 5);
          f.between("unexplained by a linear shift of 5, both", both, -1e-9, 1e-9, 12);
          f.between("unexplained, sines alone", sines, 1e-3, 1);
          f.between("unexplained, cosines alone", cosines, 1e-3, 1);
          std::string compare;
          for (const char* spec : {"sine", "cosine", "random"}) {
            const Estimate e = loss_difference(desk, desk.language(spec), desk.language("sinusoidal"));
            f.estimate(text("loss with ", spec, ", less both (nats)"), e);
            compare += text(compare.empty() ? "" : "; ", spec, ": ", compared(e));
          }
          f.conclude(Verdict::holds, text("With both, moving all positions by k is one linear map, exact for "
                                          "every position; with sines or cosines alone no "
                                          "linear map does it. Trained models compared to the sinusoid's: ",
                                          compare, "."));
          return f;
        }};

extern const Claim claim_002_06;
const Claim claim_002_06 = {
    .id = "002-06",
    .question = "waves",
    .says = "The code of t + k is the code of t times a rotation matrix that depends on k alone.",
    .method = "largest |R(k)·e_t − e_{t+k}| over t < 128, k = 1, 5, 64, all channels, d = 512, in double",
    .expects = "zero to rounding: the addition theorems",
    .advice =
        "The same rotation is what RoPE applies to queries and keys; it acts on the code alone, never on the "
        "word.",
    .expected = Verdict::holds,
    .measure = [](Desk&) {
      Finding f;
      const Matrix e = sinusoid(512, 192);
      const auto w = sinusoid_frequencies(512);
      double worst = 0;
      for (const std::int64_t k : {1, 5, 64}) {
        for (std::int64_t t = 0; t < 128; ++t) {
          for (std::int64_t i = 0; i < 256; ++i) {
            const double c = std::cos(double(k) * w[std::size_t(i)]),
                         s = std::sin(double(k) * w[std::size_t(i)]);
            worst =
                std::max({worst, std::abs(c * e.at(t, 2 * i) + s * e.at(t, 2 * i + 1) - e.at(t + k, 2 * i)),
                          std::abs(c * e.at(t, 2 * i + 1) - s * e.at(t, 2 * i) - e.at(t + k, 2 * i + 1))});
          }
        }
      }
      f.between("largest error of the rotation", worst, 0, 1e-12, 15);
      f.conclude(Verdict::holds,
                 "The matrix is right as printed. It turns the code of a position, not the sum with a word.");
      return f;
    }};

namespace {

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

}  // namespace

extern const Claim claim_002_07;
const Claim claim_002_07 = {
    .id = "002-07",
    .question = "waves",
    .says = "A rotation mixes the directions of the space, which must be a disaster for the words.",
    .method =
        "nothing multiplies the input by that rotation: it only has to exist inside Q'K. The share of the "
        "energy of a trained "
        "head's Q'K in the family [[a, b], [−b, a]] for each pair, over the share by chance, 1/d; at the "
        "start it is 1",
    .expects = "no rotation is applied to the word; training moves some heads towards the family",
    .advice =
        "Nothing to fear: with an additive code the words are never turned. RoPE does turn queries and keys, "
        "and is built for it.",
    .expected = Verdict::wrong,
    .statistical = true,
    .recipes = [](const Desk& d) { return std::vector{d.language("sinusoidal")}; },
    .measure =
        [](Desk& desk) {
          Finding f;
          const Recipe r = desk.language("sinusoidal");
          const Estimate trained = mean_interval(each(desk, r, rotation_excess));
          const Estimate start =
              mean_interval(each(desk, r, [&](const Outcome& o) { return rotation_excess(at_start(o)); }));
          f.estimate("rotation energy over chance, at the start", start, 2);
          f.estimate("rotation energy over chance, trained", trained, 2);
          f.conclude(
              Verdict::wrong,
              text("No rotation touches a word: the map only has to exist inside Q'K. Trained heads hold ",
                   told(trained, 2), " times the rotational energy of chance, against ", told(start, 2),
                   " at the start."));
          return f;
        }};

extern const Claim claim_002_12;
const Claim claim_002_12 = {
    .id = "002-12",
    .question = "waves",
    .says = "The code is a Fourier representation of the position.",
    .method =
        "the discrete Fourier transform of a learned table over its positions: the share of its energy in "
        "the lowest eighth of the "
        "frequencies; independent rows have an eighth",
    .expects = "a table that is free to be anything becomes smooth: low frequencies carry it",
    .advice = "A learned table of a trained model that is not smooth was not trained at those positions.",
    .expected = Verdict::holds,
    .statistical = true,
    .recipes = [](const Desk& d) { return std::vector{d.language("learned")}; },
    .measure =
        [](Desk& desk) {
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
          const Estimate trained =
              mean_interval(each(desk, r, [&](const Outcome& o) { return low(nullptr, o); }));
          f.estimate("energy in the lowest eighth, at the start", start, 3);
          f.estimate("energy in the lowest eighth, trained", trained, 3);
          const auto gram = [](const Outcome& o) {
            const Matrix e = centred(parameter(o.look(), "position.input.table"));
            return product_transposed(e, e);
          };
          f.estimate(
              "products explained by the offset alone, trained",
              mean_interval(
                  each(desk, r, [&](const Outcome& o) { return offset_share(gram(o), Diagonal::without); })),
              3);
          f.estimate(
              "products fall with the distance up to 20 (rank correlation)",
              mean_interval(each(desk, r, [&](const Outcome& o) { return monotonicity(gram(o), 20); })), 3);
          f.estimate("roughness: 2 for independent rows",
                     mean_interval(each(desk, r,
                                        [&](const Outcome& o) {
                                          return roughness(parameter(o.look(), "position.input.table"));
                                        })),
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
          f.figures = draw(chart);
          const bool smooth = trained.mean - trained.half_width > start.mean;
          f.conclude(smooth ? Verdict::holds : Verdict::undecided,
                     text("A table that may become anything puts ", fixed(100 * trained.mean, 0),
                          " % of its energy into the lowest eighth of the "
                          "frequencies after training, from ",
                          fixed(100 * start.mean, 0),
                          " % at the start: a smooth, wave-like code is what training finds."));
          return f;
        }};

extern const Claim claim_002_13;
const Claim claim_002_13 = {
    .id = "002-13",
    .question = "waves",
    .says = "Sine and cosine bring a kind of orthogonality that separates the information.",
    .method =
        "|cos| of the angle between the sine and the cosine column of a pair over positions 0 to 127, d = "
        "512",
    .expects = "orthogonal over whole turns only; slow pairs turn by a fraction and are far from it",
    .advice = "Count the pairs that turn at least once in your window before arguing from orthogonality.",
    .expected = Verdict::conditional,
    .measure = [](Desk&) {
      Finding f;
      const Matrix columns = transpose(sinusoid(512, 128));
      const std::pair<std::int64_t, double> pairs[] = {
          {0, .007}, {64, .002}, {128, .73}, {192, .86}, {255, .86}};
      for (const auto& [i, expected] : pairs) {
        const auto s = columns.row(2 * i), c = columns.row(2 * i + 1);
        f.near(text("|cos|, pair ", i), std::abs(dot(s, c)) / std::sqrt(dot(s, s) * dot(c, c)), expected,
               i < 100 ? 6e-4 : 6e-3, 3);
      }
      f.conclude(Verdict::conditional,
                 "True of pairs that turn many times in the window (|cos| below 0.01), false of the slow "
                 "ones, more than "
                 "half at length 128, whose columns are nearly parallel (0.73 to 0.86).");
      return f;
    }};

extern const Claim claim_002_15;
const Claim claim_002_15 = {
    .id = "002-15",
    .question = "meaning",
    .says = "An example of the sum: [.5, .3] + v = [−.2, 1.2] with v = [−.7, .9]; is it exactly added?",
    .method = "the squared length of v, which is sin² + cos²",
    .expects = "1 for any position; the example has 1.30",
    .advice =
        "It is exactly added; then a norm or a factor √d sets the scale. Check an example by the length of "
        "its code.",
    .expected = Verdict::wrong,
    .measure = [](Desk&) {
      Finding f;
      f.near("|v|² of the example", .7 * .7 + .9 * .9, 1.30, 1e-12, 2);
      const Matrix e = sinusoid(512, 64);
      double worst = 0;
      for (std::int64_t p = 0; p < 64; ++p) {
        for (std::int64_t i = 0; i < 256; ++i)
          worst = std::max(worst, std::abs(std::hypot(e.at(p, 2 * i), e.at(p, 2 * i + 1)) - 1));
      }
      f.between("largest | |pair| − 1 |, positions 0 to 63", worst, 0, 1e-12, 15);
      f.conclude(Verdict::wrong,
                 "No position has that code: a sine and cosine of one angle have squared length 1, the "
                 "example has 1.30. The sum itself is exact, "
                 "and a LayerNorm or a factor √d follows.");
      return f;
    }};

}  // namespace gnomon::claims
