// Why both sine and cosine?
#include <algorithm>
#include <cmath>
#include <numbers>

#include "gnomon/claims/measures/measures.h"
#include "gnomon/lens/attention.h"

namespace gnomon::claims {

Question question_why_sine_and_cosine = {
    .key = "why_sine_and_cosine",
    .title = "Why both sine and cosine?",
    .lead = "002-05",
    .answer =
        "With both, a shift by k is one fixed rotation of the code at every position and every length "
        "({002-05|both.64.4096:e} of the variance left). With sines alone a map fits short windows of wide "
        "codes ({002-05|sine.512.128} left at 128 positions and 512 channels) and not long ones "
        "({002-05|sine.64.4096} at 4,096 and 64). For a model of this size and window the loss with sines "
        "alone is {002-05|loss.sine.at.1:vs that with both} at the end of training, and with cosines alone "
        "{002-05|loss.cosine.at.1:vs}.",
    .evidence = {
        .algebra = "The addition theorems make the shift by k a rotation of every pair, right to "
                   "{002-06|error:e}. For one of the two the best linear map leaves {002-05|sine.96.64} of "
                   "the variance at 64 positions and 96 channels and {002-05|sine.96.4096} at 4,096: a map "
                   "fits while there are more channels than positions to tell apart.",
        .models =
            "Trained with one of them the loss differs by {002-05|loss.sine.at.0.25} (sines) and "
            "{002-05|loss.cosine.at.0.25} nats (cosines) after a quarter of the training and by "
            "{002-05|loss.sine.at.1} and {002-05|loss.cosine.at.1} at its end. Heads have {002-07|share} of "
            "the energy of their Q'K in the family of rotations, {002-07|null} by chance.",
        .real = "MiniLM learned its table freely, and {minilm|slow} of its variance is in the slowest tenth "
                "of the frequencies. SmolLM2 rotates pairs, which takes both: {smollm2|pairs_turning} of "
                "them turn fully in the windows looked at and {smollm2|pairs_still} by less than a quarter.",
        .change_our_mind = "A model with sines alone that falls behind in longer windows, where its shift is "
                           "no linear map, or one that does not.",
    }};

namespace {

using enum Verdict;

Finding why_both(Desk& desk) {
  Finding f;
  struct Code {
    const char *key, *spec, *name;
  };
  const Code codes[] = {
      {"both", "sinusoidal", "both"}, {"sine", "sine", "sines alone"}, {"cosine", "cosine", "cosines alone"}};
  report::LineChart chart{"Is a shift by 5 a linear map of the code?",
                          "The best linear map by least squares: share of the variance that it leaves, sines "
                          "alone. With sines and cosines it leaves none.",
                          {"positions T", true, {64, 128, 256, 512, 1024, 4096}},
                          {"share left"},
                          {}};
  int style = 0;
  for (const std::int64_t d : {64, 96, 512}) {
    report::Series s{text("d = ", d), {}, style++, false, true};
    for (const std::int64_t T : {64, 128, 256, 512, 1024, 4096}) {
      for (const Code& c : codes) {
        const double left = shift_error(position_table(c.spec, width_of(d, T), T), 5);
        const std::string key = text(c.key, ".", d, ".", T),
                          name = text("left by a linear shift of 5, ", c.name, ", d = ", d, ", T = ", T);
        if (c.spec == kPaper)
          f.between(key, name, left, -1e-9, 1e-8, 12);
        else
          f.number(key, name, left, 4);
        if (c.key == std::string_view("sine")) s.points.emplace_back(double(T), left);
      }
    }
    chart.series.push_back(std::move(s));
  }
  f.figures = {chart};
  for (const char* spec : {"sine", "cosine", "random"}) {
    const OnTheWay way = on_the_way(desk, desk.language(spec), desk.language("sinusoidal"));
    show(f, text("loss.", spec), text("loss with ", spec, ", less both"), way);
  }
  return f;
}
const Record claim_002_05 = Claim{
    .question = &question_why_sine_and_cosine,
    .id = "002-05",
    .says = "Why both sine and cosine? One of them would seem enough.",
    .method =
        "the best linear map from e_p to e_{p+5} by least squares over T = 64 to 4,096 positions, d = 64, 96 "
        "and 512: share of variance left; and models trained with sines alone, cosines alone, both, and "
        "fixed random rows, each at its best rate",
    .expects =
        "with both, a shift is one linear map for all positions, exactly; with sines of one frequency each, "
        "none exists",
    .advice =
        "Keep both: it costs nothing, and the pair is what makes a shift by k a fixed linear map at any "
        "length.",
    .recorded = answered,
    .verdicts = {{answered, {asked("both"), at_most("sine.96.64", .1), at_least("sine.64.512", .15)}}},
    .recipes =
        [](const Desk& d) {
          return std::vector{d.language("sinusoidal"), d.language("sine"), d.language("cosine"),
                             d.language("random")};
        },
    .measure = why_both,
    .answer =
        "With both, moving all positions by k is one linear map, exact for every position and length. With "
        "sines alone the best map leaves {sine.512.128:%1} % of the variance at 128 positions and 512 "
        "channels, {sine.96.64:%1} % at 64 and 96, and {sine.64.64:%1} % at 64 and 64, the size trained "
        "here. It leaves {sine.64.512:%1} % at 512 and 64 and {sine.64.4096:%1} % at 4,096 and 64: one of "
        "the two is enough while the window is shorter than the code is wide. The loss of trained models is "
        "with sines alone {loss.sine:way that with both}; with cosines alone {loss.cosine:way}; with fixed "
        "random rows {loss.random:way}.",
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
    .answer =
        "The matrix is right as printed, to {error:e}. It turns the code of a position, not the sum with a "
        "word.",
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
  const std::int64_t D = c.attention.head_size;
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

Finding disaster(Desk& desk) {
  Finding f;
  const Recipe r = desk.language("sinusoidal");
  std::vector<double> found, turned;
  for (const Outcome& o : desk.models(r)) {
    const InFamily family = in_family(o, desk.draws(8));
    found.push_back(family.share), turned.push_back(family.turned);
  }
  const Estimate trained = mean_interval(found), null = mean_interval(turned),
                 start = mean_interval(
                     each(desk, r, [](const Outcome&o) { return in_family(at_start(o), 1).share; })),
                 excess = paired_interval(found, turned);
  f.estimate("start", "share of the energy of Q'K in the rotations, at the start", start, 4);
  f.estimate("share", "the same, trained", trained, 4);
  f.estimate("null", "trained, after turning the space at random", null, 4);
  f.estimate("excess", "the share less that", excess, 4);
  return f;
}
const Record claim_002_07 = Claim{
    .question = &question_why_sine_and_cosine,
    .id = "002-07",
    .says = "A rotation mixes the directions of the space, which must be a disaster for the words.",
    .method =
        "nothing multiplies the input by that rotation: it only has to exist inside Q'K. The share of the "
        "energy of a trained head's Q'K in the family [[a, b], [−b, a]] for each pair, against the same map "
        "in a space turned at random, and at the start",
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
    .answer =
        "No rotation touches a word: the map only has to exist inside Q'K. Of the energy of trained heads "
        "{share:%1} % lies in the rotations, against {null:%1} % of the same maps in a space turned at "
        "random and {start:%1} % at the start: {excess?less than chance|not told apart from chance|more than "
        "chance, and a small part of what the heads do}.",
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
  const OnTheWay cost = on_the_way(desk, desk.language("permuted"), desk.language("sinusoidal"));
  show(f, "loss", "loss with the rows permuted, less the sinusoid's", cost);
  f.figures = {kernel_chart()};
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
    .recorded = holds_if,
    .condition = "near means within the first fall of the product: beyond its first minimum it rises again",
    .verdicts = {{holds_if, {at_most("d512.50", "d512.1"), at_least("d16.6", "d16.3")}},
                 {holds, {at_most("d512.50", "d512.1")}},
                 otherwise(wrong)},
    .recipes =
        [](const Desk& d) {
          return std::vector{d.language("sinusoidal"), d.language("permuted")};
        },
    .measure = closeness,
    .answer =
        "Near positions are similar, but not monotonically: at d = 16, positions 6 apart have {d16.6} of the "
        "product of a position with itself and positions 3 apart {d16.3}. And K(−k) = K(k), so the product "
        "alone has no direction. With the same rows in a random order, which keeps everything but closeness, "
        "the loss is {loss:way the sinusoid's}.",
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
  const Estimate moved = mean_interval(each(desk, r, [&](const Outcome& o) {
    const Floats w = o.model->initial(std::uint64_t(o.seed));
    return low(nullptr, o) - low(&w, o);
  }));
  f.estimate("moved", "the one less the other", moved, 3);
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
    .recorded = holds_if,
    .condition = "a smooth table is all that is meant: a ramp is smooth, too, and waves were not tested",
    .settles = "A learned table trained with ten times the tokens: five runs of two minutes.",
    .verdicts = {{holds_if, {above("moved")}}, {wrong, {below("moved")}}, otherwise(open)},
    .amended = "After full runs: “holds” said more than that a learned table becomes smooth.",
    .recipes = [](const Desk& d) { return std::vector{d.language("learned")}; },
    .measure = fourier,
    .answer =
        "A table that may become anything puts {trained:%0m} % of its energy into the lowest eighth of the "
        "frequencies after training, from {start:%0m} % at the start: {moved?training makes it "
        "rougher|training changes that within what seeds differ|training makes it smooth}. "
        "Smooth is all that this can say: a ramp is smooth as well, and nothing here tells waves from one.",
};

Finding columns_orthogonal(Desk&) {
  Finding f;
  const Matrix columns = transpose(sinusoid(512, 128));
  const std::pair<std::int64_t, double> pairs[] = {{0, .007}, {64, .002}, {128, .73}, {192, .86}, {255, .86}};
  const auto cosine = [&](std::int64_t i) {
    const auto s = columns.row(2 * i), c = columns.row(2 * i + 1);
    return std::abs(dot(s, c)) / std::sqrt(dot(s, s) * dot(c, c));
  };
  for (const auto& [i, expected] : pairs)
    f.near(text("pair.", i), text("|cos|, pair ", i), cosine(i), expected, i < 100 ? 6e-4 : 6e-3, 3);
  double far = 0, turning = 0;
  for (std::int64_t i = 0; i < columns.rows / 2; ++i) {
    const double c = cosine(i);
    far += c > .5, turning += c < .1;
  }
  f.number("far_from", "pairs of 256 whose columns have |cos| above 0.5", far, 0);
  f.number("nearly", "pairs of 256 whose columns have |cos| below 0.1", turning, 0);
  const double slowest = std::acos(cosine(255)) * 180 / std::numbers::pi;
  f.number("angle", "angle of the slowest pair's columns, degrees", slowest, 0);
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
    .recorded = holds_if,
    .condition = "the pair turns many times within the window",
    .verdicts = {{holds_if, {at_most("pair.0", .01), at_least("pair.255", .5)}},
                 {holds, {at_most("pair.255", .1)}},
                 otherwise(wrong)},
    .measure = columns_orthogonal,
    .answer =
        "True of pairs that turn many times in the window: |cos| is {pair.0} and {pair.64} for the first and "
        "the 65th, and below 0.1 for {nearly} of 256. The slow ones are far from it: it is {pair.128:2} to "
        "{pair.255:2} in the slower half, an angle of {angle}° for the slowest, and above 0.5 for "
        "{far_from}.",
};

}  // namespace
}  // namespace gnomon::claims
