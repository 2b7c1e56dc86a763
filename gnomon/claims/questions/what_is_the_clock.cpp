// What is the clock with many hands?
#include <algorithm>
#include <cmath>
#include <numbers>

#include "gnomon/claims/parts.h"
#include "gnomon/lens/rotary_use.h"
#include "gnomon/lens/stream.h"

namespace gnomon::claims {

Question question_what_is_the_clock = {
    .key = "what_is_the_clock",
    .title = "What is the clock with many hands?",
    .lead = "003-10",
    .answer =
        "Every pair of channels is the end of a hand on the unit circle, clockwise with the sine on x; each "
        "later hand is slower. No two of the first 20,000 positions show nearly the same time: the nearest "
        "are neighbours."};

namespace {

using enum Verdict;

Finding clock_hands(Desk&) {
  Finding f;
  const Matrix e = sinusoid(512, 129);
  const auto w = sinusoid_frequencies(512);
  double radius = 0, speed = 0, turned = 0;
  for (std::int64_t i = 0; i < 256; ++i) {
    for (std::int64_t p = 0; p < 128; ++p) {
      const double x = e.at(p, 2 * i), y = e.at(p, 2 * i + 1), x1 = e.at(p + 1, 2 * i),
                   y1 = e.at(p + 1, 2 * i + 1);
      radius = std::max(radius, std::abs(std::hypot(x, y) - 1));
      const double angle = std::atan2(x1 * y - y1 * x, x * x1 + y * y1);  // clockwise positive
      speed = std::max(speed, std::abs(angle - w[std::size_t(i)]));
      turned += angle > 0;
    }
  }
  f.between("radius", "largest |radius − 1|", radius, 0, 1e-7, 15);
  f.near("clockwise", "steps that turn clockwise, of 32,768", turned, 256 * 128, 0, 0);
  f.between("speed", "largest |angular speed − w_i|", speed, 0, 1e-9, 12);
  report::Dial dial{"A clock for every position",
                    "The first hand turns once in 2π tokens; each later one is slower. Sine to the right, "
                    "cosine up: clockwise. Move the slider.",
                    {},
                    128};
  const auto w32 = sinusoid_frequencies(32);
  for (std::size_t i = 0; i < w32.size(); i += 1) dial.frequencies.push_back(w32[i]);
  f.figures = {dial};
  f.answer =
      "So it is, with the sine on x and the cosine on y: every pair keeps to the unit circle and turns "
      "clockwise at its own constant speed. With the axes exchanged it turns the other way.";
  return f;
}
const Record claim_003_10 = Claim{
    .question = &question_what_is_the_clock,
    .id = "003-10",
    .says =
        "Every pair is a point on the unit circle that moves clockwise: a clock with 256 hands, the later "
        "the slower.",
    .method =
        "the radius of every pair; the sense and the speed of its turn, with the sine on x and the cosine on "
        "y",
    .expects = "radius 1; clockwise for (x, y) = (sin, cos), the other way round for (cos, sin); speed w_i",
    .advice = "State the axes: the direction depends on them.",
    .recorded = conditional,
    .verdicts = {{conditional, {asked("radius"), asked("speed"), asked("clockwise")}}},
    .measure = clock_hands,
};

Finding unique(Desk&) {
  Finding f;
  const auto w = sinusoid_frequencies(512);
  double least = INFINITY;
  for (std::int64_t k = 1; k <= 20000; ++k)
    least = std::min(least, 512 * (1 - sinusoid_kernel(w, double(k))));
  f.near("least", "least distance of two positions, d = 512", std::sqrt(least), 3.714270, 1e-6, 6);
  const Matrix e = sinusoid(512, 2);
  f.near("neighbours", "distance of neighbours, d = 512", distance(e.row(0), e.row(1)), 3.714270, 1e-6, 6);
  f.near("length", "length of every code", std::sqrt(dot(e.row(1), e.row(1))), 16, 1e-9, 6);
  f.answer = "No two of 20,000 positions come nearer than neighbours do, 3.71 at a length of 16.";
  return f;
}
const Record claim_003_11 = Claim{
    .question = &question_what_is_the_clock,
    .id = "003-11",
    .says = "Each position is a unique time on the clock.",
    .method = "least distance of two codes over all offsets up to 20,000, d = 512",
    .expects = "the neighbours' distance, 3.714",
    .advice =
        "Uniqueness holds for any length in use; it says nothing about whether a model learned what those "
        "codes mean.",
    .recorded = holds,
    .verdicts = {{holds, {asked("least"), asked("neighbours")}}},
    .measure = unique,
};

Finding circles(Desk& desk) {
  Finding f;
  const Recipe r = desk.language("sinusoidal");
  const Outcome& o = desk.models(r).front();
  const Sample sample = desk.held_out(r, 8);
  const Written parts = written(o.look(), sample);
  const auto h = streams(o.look(), sample);
  const Matrix table = parameter(o.look(), "embed.word");
  double worst = 0, of_row = 0;
  for (std::int64_t n = 0; n < h[0].rows; ++n) {
    const auto off = [&](double x, double y) {
      return std::abs(std::hypot(h[0].at(n, 0) - x, h[0].at(n, 1) - y) - 1);
    };
    const std::int64_t word = sample.inputs[std::size_t(n)];
    worst = std::max(worst, off(parts.word.at(n, 0), parts.word.at(n, 1)));
    of_row = std::max(of_row, off(table.at(word, 0), table.at(word, 1)));
  }
  f.between("circle", "largest | |h − word| − 1 |, first pair", worst, 0, 1e-5, 9);
  f.number("circle_of_row", "the same around the table's row, without √d", of_row, 3);
  report::Orbits orbits{"Words with the circle of their positions",
                        "First two channels of a trained model: a dot is a letter as it enters the sum, its "
                        "circle holds letter + position, the marks are positions 0 to 5.",
                        {},
                        6,
                        sinusoid_frequencies(r.width).front()};
  const double scale = std::sqrt(double(r.width));
  for (const char letter : {'e', 't', 'a', 'o', 'n', 'h', 's', 'd', 'L', ' '})
    orbits.words.push_back({letter == ' ' ? "space" : std::string(1, letter), scale * table.at(letter, 0),
                            scale * table.at(letter, 1)});
  f.figures = {orbits};
  f.answer =
      "Exactly so, around the word as it enters the sum: here the table's row times √d. If the code is "
      "scaled by A, the radius is A.";
  return f;
}
const Record claim_003_12 = Claim{
    .question = &question_what_is_the_clock,
    .id = "003-12",
    .says = "The first two channels of word + position lie on a unit circle around the word.",
    .method =
        "largest | |h − word| − 1 | over the first pair, in trained models, of words and positions of "
        "held-out text",
    .expects =
        "1 exactly, where the word is taken as it enters the sum (times √d here), and the code is not scaled",
    .advice = "In tensor2tensor's layout the pair is channels i and i + d/2, not 2i and 2i + 1.",
    .recorded = conditional,
    .verdicts = {{conditional, {asked("circle"), at_least("circle_of_row", .01)}},
                 {holds, {asked("circle")}}},
    .recipes = [](const Desk& d) { return std::vector{d.language("sinusoidal")}; },
    .measure = circles,
};

// What the pairs of RoPE do in the first layer, a column a pair: the share of the logits' variance, mean over seeds.
report::HeatMap rotary_picture(Desk& desk, Finding& f) {
  const Recipe r = desk.language("rope");
  const Sample sample = desk.held_out(r, desk.quick ? 4 : 24);
  const std::size_t pairs = std::size_t(r.width / r.heads / 2);
  std::vector<double> shares(pairs * std::size_t(r.heads), 0.0), concentration(pairs, 0.0);
  const auto& models = desk.models(r);
  for (const Outcome& o : models) {
    const auto use = rotary_use(o.look(), 0, streams(o.look(), sample)[0], sample.T);
    for (std::size_t h = 0; h < use.size(); ++h) {
      for (std::size_t i = 0; i < pairs; ++i) {
        shares[h * pairs + i] += use[h][i].share / double(models.size());
        concentration[i] += use[h][i].concentration / double(models.size() * use.size());
      }
    }
  }
  const auto w =
      make_encoding("rope", Shape{r.width, r.heads, r.width / r.heads, r.length, true})->frequencies();
  const TurnsSeen t = turns_within(w, r.length);
  f.number("rope.full", text("RoPE pairs that turn fully in ", r.length, " tokens"), double(t.full), 0);
  f.number("rope.partial", "RoPE pairs that turn partly (up to four windows)", double(t.partial), 0);
  f.number("rope.constant", "RoPE pairs that hardly turn", double(t.constant), 0);
  f.number("rope.first", "RoPE, first pair: concentration of the angle between query and key",
           concentration.front(), 3);
  f.number("rope.last", "RoPE, last pair: concentration of the angle between query and key",
           concentration.back(), 3);
  return report::HeatMap{"What the pairs of RoPE carry in the first layer",
                         "Share of each pair in the variance of a head's logits within rows, mean over "
                         "seeds. Fast pairs on the left.",
                         "pair, fast to slow",
                         "head",
                         std::size_t(r.heads),
                         pairs,
                         shares};
}

Finding distances(Desk& desk) {
  Finding f;
  const auto w = sinusoid_frequencies(512);
  const auto share = [&](double k, double low, double high) {
    double band = 0, all = 0;
    for (const double x : w) {
      const double part = 1 - std::cos(k * x);
      all += part, band += x > low && x <= high ? part : 0;
    }
    return band / all;
  };
  f.between("fast_at_1", "share of pairs with w > 1/8 in the step between neighbours", share(1, .125, 2), .95,
            1, 3);
  f.between("slow_at_64", "share of pairs with w <= 1/8 between positions 64 apart", share(64, 0, .125), .4,
            1, 3);
  // The code as a learned table, so that an octave of it can be silenced.
  const Recipe r = desk.language("sinusoidal");
  Architecture config = r.model();
  config.position = Spec::parse("learned");
  const Model model(config);
  const auto own = sinusoid_frequencies(r.width);
  report::LineChart chart{"What an octave of the code is worth",
                          "Loss with the channels of one octave of frequencies set to their mean over "
                          "positions, less the loss intact.",
                          {"wavelength in tokens, start of the octave", true, {8, 16, 32, 64, 128, 256, 512}},
                          {"nats per byte"},
                          {}};
  report::Series mean{"mean of the seeds", {}, 0, false, true};
  double most = 0, most_at = 0;
  for (double wavelength = 2 * std::numbers::pi; wavelength < 1000; wavelength *= 2) {
    const auto cost = each(desk, r, [&](const Outcome& o) {
      const Sample sample = desk.held_out(r, desk.quick ? 16 : 64);
      Matrix e = positions_of(o, sample);
      const auto means = column_means(e);
      for (std::size_t i = 0; i < own.size(); ++i) {
        const double lambda = 2 * std::numbers::pi / own[i];
        if (lambda < wavelength * .999 || lambda >= 2 * wavelength * .999) continue;
        for (std::int64_t p = 0; p < e.rows; ++p) {
          for (const std::int64_t c : {2 * std::int64_t(i), 2 * std::int64_t(i) + 1})
            e.at(p, c) = means[std::size_t(c)];
        }
      }
      Floats weights(std::size_t(model.param_count()));
      for (const Param& p : model.params()) {
        if (p.spec.name == "position.input.table") {
          std::copy(e.values.begin(), e.values.end(), weights.begin() + p.offset);
        } else {
          const Param& from = o.model->param(p.spec.name);
          std::copy_n(o.w.begin() + from.offset, p.spec.size(), weights.begin() + p.offset);
        }
      }
      return mean_loss({model, weights}, sample) - mean_loss(o.look(), sample);
    });
    const Estimate e = mean_interval(cost);
    f.estimate(text("loss.", fixed(wavelength, 0)),
               text("loss without wavelengths ", fixed(wavelength, 0), " to ", fixed(2 * wavelength, 0)), e);
    mean.points.emplace_back(wavelength, e.mean);
    if (e.mean > most) most = e.mean, most_at = wavelength;
  }
  chart.series = {mean};
  f.figures = {chart, rotary_picture(desk, f)};
  f.answer =
      text("Pairs faster than 1/8 radian a token carry ", fixed(100 * share(1, .125, 2), 0),
           " % of the step between neighbours, slower ones ", fixed(100 * share(64, 0, .125), 0),
           " % of the way between positions 64 apart. Trained models, whose windows have ", r.length,
           " tokens, lose most, ", fixed(most, 2), " nats, without the wavelengths from ", fixed(most_at, 0),
           " to ", fixed(2 * most_at, 0),
           ": no single octave of short ones is indispensable, because its neighbours tell nearly the same.");
  return f;
}
const Record claim_004_02 = Claim{
    .question = &question_what_is_the_clock,
    .id = "004-02",
    .says = "Different frequencies let the model see short and long distances.",
    .method =
        "the share of |e_{p+k} − e_p|² that each octave of frequencies carries, at k = 1 and k = 64, d = "
        "512; and the loss of trained models when an octave of their code is set to its mean",
    .expects = "fast pairs tell neighbours apart, slower ones tell far positions apart",
    .advice = "At length T, pairs with wavelengths beyond a few T carry nothing that training could use.",
    .recorded = holds,
    .verdicts = {{holds, {at_least("fast_at_1", .9), at_least("slow_at_64", .4)}}, otherwise(undecided)},
    .recipes =
        [](const Desk& d) {
          return std::vector{d.language("sinusoidal"), d.language("rope")};
        },
    .measure = distances,
};

}  // namespace
}  // namespace gnomon::claims
