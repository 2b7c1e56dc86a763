// What is the clock with many hands?
#include <algorithm>
#include <cmath>
#include <numbers>

#include "gnomon/claims/measures/measures.h"
#include "gnomon/kernels/loss.h"
#include "gnomon/lens/rotary_use.h"
#include "gnomon/lens/stream.h"
#include "gnomon/lens/table.h"

namespace gnomon::claims {

constexpr Prose kText =
#include "gnomon/claims/questions/what_is_the_clock.txt.inc"
    ;
Question question_what_is_the_clock{.key = "what_is_the_clock", .text = question_text(kText)};

namespace {

using enum Verdict;

Finding clock_hands(Experiment&) {
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
  f.near("clockwise", "steps that turn clockwise, of 256 · 128 = 32768", turned, 256 * 128, 0, 0);
  f.between("speed", "largest |angular speed − w_i|", speed, 0, 1e-9, 12);
  report::Dial dial{"A clock for every position",
                    "The first hand turns once in 2π tokens; each later one is slower. With the sine to the "
                    "right and the cosine up, they turn clockwise. Move the slider.",
                    {},
                    128};
  const auto w32 = sinusoid_frequencies(32);
  for (std::size_t i = 0; i < w32.size(); i += 1) dial.frequencies.push_back(w32[i]);
  f.figures = {dial};
  return f;
}
const Record claim_003_10 = Claim{
    .question = &question_what_is_the_clock,
    .id = "003-10",
    .text = claim_text(kText, "003-10"),
    .recorded = holds_if,
    .verdicts = {{holds_if, {asked("radius"), asked("speed"), asked("clockwise")}}},
    .measure = clock_hands,
};

// The code of position p as programs make it that compute in float32 throughout, as that of the fifth text.
std::vector<double> in_float32(std::int64_t p, std::int64_t d) {
  std::vector<double> out(static_cast<std::size_t>(d));
  for (std::int64_t i = 0; 2 * i < d; ++i) {
    const float frequency = std::exp(float(2 * i) * -(std::log(10000.0f) / float(d)));
    const float angle = float(p) * frequency;
    out[std::size_t(2 * i)] = std::sin(angle), out[std::size_t(2 * i + 1)] = std::cos(angle);
  }
  return out;
}

Finding unique(Experiment&) {
  Finding f;
  constexpr std::int64_t kFarthest = 20000;
  const auto w = sinusoid_frequencies(512);
  double least = INFINITY;
  for (std::int64_t k = 1; k <= kFarthest; ++k)
    least = std::min(least, 512 * (1 - sinusoid_kernel(w, double(k))));
  least = std::sqrt(least);
  const Matrix e = sinusoid(512, kFarthest + 1);
  double off = 0, nearest = INFINITY;
  std::vector<double> before;
  for (std::int64_t p = 0; p <= kFarthest; ++p) {
    const std::vector<double> rounded = in_float32(p, 512);
    off = std::max(off, distance(rounded, e.row(p)));
    if (p > 0) nearest = std::min(nearest, distance(rounded, before));
    before = rounded;
  }
  const double length = std::sqrt(dot(e.row(1), e.row(1)));
  f.near("least", "smallest distance between two codes, d = 512", least, 3.714270, 1e-6, 3);
  f.near("neighbours", "distance between neighbours, d = 512", distance(e.row(0), e.row(1)), 3.714270, 1e-6,
         6);
  f.near("length", "length of every code", length, 16, 1e-9, 0);
  f.number("float32", "float32 throughout: largest distance of a code from its value in double", off, 4);
  f.number("float32_neighbours", "float32 throughout: smallest distance between neighbours", nearest, 3);
  // No pair comes nearer than in double, less what each of the two may be off.
  f.between("float32_least", "float32 throughout: lower bound of the distance between two codes",
            least - 2 * off, .5 * least, least, 3);
  return f;
}
const Record claim_003_11 = Claim{
    .question = &question_what_is_the_clock,
    .id = "003-11",
    .text = claim_text(kText, "003-11"),
    .recorded = holds,
    .verdicts = {{holds, {asked("least"), asked("neighbours"), asked("float32_least")}}},
    .measure = unique,
};

Finding circles(Experiment& experiment) {
  Finding f;
  const Recipe r = experiment.language("sinusoidal");
  const Outcome& o = experiment.models(r).front();
  const Sample sample = experiment.held_out(r, 8);
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
  f.number("circle_of_row", "largest | |h − word| − 1 | around the table's row, without √d", of_row, 3);
  report::Orbits orbits{"Words with the circle of their positions",
                        "First two channels of a trained model. A dot is a letter as it enters the sum, its "
                        "circle shows letter + position, and the marks are positions 0 to 5.",
                        {},
                        6,
                        sinusoid_frequencies(r.width).front()};
  const double scale = std::sqrt(double(r.width));
  for (const char letter : {'e', 't', 'a', 'o', 'n', 'h', 's', 'd', 'L', ' '})
    orbits.words.push_back({letter == ' ' ? "space" : std::string(1, letter), scale * table.at(letter, 0),
                            scale * table.at(letter, 1)});
  f.figures = {orbits};
  return f;
}
const Record claim_003_12 = Claim{
    .question = &question_what_is_the_clock,
    .id = "003-12",
    .text = claim_text(kText, "003-12"),
    .recorded = holds_if,
    .verdicts = {{holds_if, {asked("circle"), at_least("circle_of_row", .01)}}, {holds, {asked("circle")}}},
    .recipes = [](const Experiment& d) { return std::vector{d.language("sinusoidal")}; },
    .measure = circles,
};

// What the pairs of RoPE do in the first layer, a column a pair: the share of the logits' variance, mean over seeds.
report::HeatMap rotary_picture(Experiment& experiment, Finding& f) {
  const Recipe r = experiment.language("rope");
  const Sample sample = experiment.held_out(r, experiment.quick ? 4 : 24);
  const std::size_t pairs = std::size_t(r.width / r.heads / 2);
  std::vector<double> shares(pairs * std::size_t(r.heads), 0.0), concentration(pairs, 0.0);
  const auto& models = experiment.models(r);
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
                         "seeds. Fast pairs are on the left.",
                         "pair, fast to slow",
                         "head",
                         std::size_t(r.heads),
                         pairs,
                         shares};
}

// Waves of a sinusoid, by their length in tokens.
struct Band {
  double from, to;
  bool has(double frequency) const {
    const double wave = 2 * std::numbers::pi / frequency;
    return wave >= from * .999 && wave < to * .999;
  }
};
// Four turns of the fastest hand, 25 tokens, part short waves from long ones.
constexpr Band kShort{0, 8 * std::numbers::pi}, kLong{8 * std::numbers::pi, HUGE_VAL};

// Mean loss with the channels of these waves set to their means over positions.
double loss_hiding(const Outcome& o, const Sample& sample, const Band& band) {
  const auto w = sinusoid_frequencies(o.model->architecture().width);
  return mean_loss(o.look(), sample, "positions", [&](std::int64_t, TapValue& value) {
    Floats e = value.read();
    const std::size_t C = 2 * w.size(), rows = e.size() / C;
    for (std::size_t c = 0; c < C; ++c) {
      if (!band.has(w[c / 2])) continue;
      double mean = 0;
      for (std::size_t n = 0; n < rows; ++n) mean += e[n * C + c] / double(rows);
      for (std::size_t n = 0; n < rows; ++n) e[n * C + c] = float(mean);
    }
    value.write(e);
  });
}
std::vector<double> hiding_cost(Experiment& experiment, const Recipe& r, const Band& band) {
  const Sample sample = experiment.held_out(r, experiment.quick ? 16 : 64);
  return each(experiment, r,
              [&](const Outcome& o) { return loss_hiding(o, sample, band) - mean_loss(o.look(), sample); });
}
// The share of the code's variance over the positions of a window that lies in these waves.
double variance_in(const Band& band, std::int64_t d, std::int64_t T) {
  const auto w = sinusoid_frequencies(d);
  const std::vector<double> variance = channels(sinusoid(d, T)).variance;
  double within = 0, all = 0;
  for (std::size_t c = 0; c < 2 * w.size(); ++c)
    all += variance[c], within += band.has(w[c / 2]) ? variance[c] : 0;
  return within / all;
}

Recipe one_layer(const Experiment& d, const char* task) { return d.task(task, "sinusoidal", 1); }

// What the byte k places before the one to predict is worth: the loss of that one when it is replaced by another byte of
// the sample, less the loss intact; by model.
std::vector<double> worth_of(Experiment& experiment, const Recipe& r, std::int64_t k, const Band& hidden) {
  Sample intact = experiment.held_out(r, experiment.quick ? 64 : 256);
  for (std::size_t n = 0; n < intact.targets.size(); ++n) {
    if (std::int64_t(n) % intact.T != intact.T - 1) intact.targets[n] = kUnscored;
  }
  Sample replaced = intact;
  const Random random(31, "replaced bytes");
  for (std::int64_t s = 0; s < intact.count(); ++s)
    replaced.inputs[std::size_t((s + 1) * intact.T - k)] =
        intact.inputs[random.below(std::uint64_t(s), intact.inputs.size())];
  return each(experiment, r, [&](const Outcome& o) {
    return loss_hiding(o, replaced, hidden) - loss_hiding(o, intact, hidden);
  });
}

report::LineChart worth_picture(Experiment& experiment, const Recipe& r) {
  report::LineChart chart{
      "What a byte is worth, by its distance",
      "Loss of the next byte if the byte k places before it is replaced, minus the loss intact; mean over "
      "seeds. The code has all its waves, or lacks the waves of up to 25 tokens, or the longer ones.",
      {"places back", true, {1, 2, 4, 8, 16, 32}},
      {"nats"},
      {}};
  for (const auto& [name, hidden] :
       {std::pair{"all waves", Band{0, 0}}, {"short waves hidden", kShort}, {"long waves hidden", kLong}}) {
    report::Series s{name, {}, int(chart.series.size()), false, true};
    for (const std::int64_t k : {1, 2, 4, 8, 16, 32})
      s.points.emplace_back(double(k), mean_interval(worth_of(experiment, r, k, hidden)).mean);
    chart.series.push_back(std::move(s));
  }
  return chart;
}

report::LineChart octave_picture(Experiment& experiment, const Recipe& r, Finding& f) {
  report::LineChart chart{"What an octave of the code is worth",
                          "Loss with the channels of one octave of frequencies set to their mean over "
                          "positions, minus the loss intact.",
                          {"wavelength in tokens, start of the octave", true, {8, 16, 32, 64, 128, 256, 512}},
                          {"nats per byte"},
                          {}};
  report::Series mean{"mean of the seeds", {}, 0, false, true};
  for (double wave = 2 * std::numbers::pi; wave < 1000; wave *= 2) {
    const Estimate e = mean_interval(hiding_cost(experiment, r, {wave, 2 * wave}));
    f.estimate(text("loss.", fixed(wave, 0)),
               text("loss without wavelengths ", fixed(wave, 0), " to ", fixed(2 * wave, 0),
                    " minus loss intact (nats per byte)"),
               e);
    mean.points.emplace_back(wave, e.mean);
  }
  chart.series = {mean};
  return chart;
}

// Which part of |e_{p+k} − e_p|² the pairs have whose frequencies lie between two.
double distance_share(double k, double low, double high) {
  double band = 0, all = 0;
  for (const double x : sinusoid_frequencies(512)) {
    const double part = 1 - std::cos(k * x);
    all += part, band += x > low && x <= high ? part : 0;
  }
  return band / all;
}

// A code of the same width whose wavelengths lie within one octave, 2π to 4π tokens.
constexpr const char* kOctave = "sinusoidal(base=2)";
// Name the letter one or sixteen places before, in windows of four times the far distance.
Recipe at_distance(const Experiment& d, const char* task, std::string_view spec) {
  Recipe r = d.task(task, spec, 1);
  r.length = 64, r.steps = d.quick ? 250 : 2000;
  return r;
}
constexpr std::pair<const char*, const char*> kNearAndFar[] = {{"near", "previous"}, {"far", "offset16"}};
// Models that never had more than one octave, against those with all waves.
void trained_with_an_octave(Experiment& experiment, Finding& f) {
  f.estimate("octave.text", "text: loss with one octave minus loss with all waves (nats per byte)",
             loss_difference(experiment, experiment.language(kOctave), experiment.language(kPaper)), 3);
  for (const auto& [key, task] : kNearAndFar) {
    const std::string at =
        text(key == std::string_view("near") ? "the letter before" : "the letter sixteen before");
    const Recipe octave = at_distance(experiment, task, kOctave), all = at_distance(experiment, task, kPaper);
    const Sample sample = experiment.held_out(all, 64);
    const auto right = [&](const Recipe& r) {
      return each(experiment, r, [&](const Outcome& o) { return accuracy(o, sample); });
    };
    f.estimate(text("octave.", key), at + ": loss with one octave minus loss with all waves (nats)",
               loss_difference(experiment, octave, all), 3);
    f.estimate(text("right.", key, ".octave"), at + ": right answers with one octave",
               mean_interval(right(octave)), 3);
    f.estimate(text("right.", key, ".all"), at + ": right answers with all waves", mean_interval(right(all)),
               3);
  }
}

Finding distances(Experiment& experiment) {
  Finding f;
  const double fast = distance_share(1, .125, 2), slow = distance_share(64, 0, .125);
  f.between("fast_at_1", "share of pairs with w > 1/8 in the squared distance between neighbours", fast, .95,
            1, 3);
  f.between("slow_at_64", "share of pairs with w <= 1/8 in the squared distance between positions 64 apart",
            slow, .4, 1, 3);
  const Recipe r = experiment.language("sinusoidal");
  const Estimate of_short = mean_interval(hiding_cost(experiment, r, kShort)),
                 of_long = mean_interval(hiding_cost(experiment, r, kLong));
  f.estimate("text.short", "text: loss without waves of up to 25 tokens minus loss intact (nats per byte)",
             of_short, 3);
  f.estimate("text.long", "text: loss without longer waves minus loss intact (nats per byte)", of_long, 3);
  f.number("variance_short", "share of the waves of up to 25 tokens in the code's variance over 64 positions",
           variance_in(kShort, r.width, r.length), 3);
  // How much more the short waves are worth than the long ones, near and far.
  std::vector<Estimate> costs;
  std::vector<std::vector<double>> leads;
  for (const char* task : {"previous", "offset8"}) {
    const Recipe t = one_layer(experiment, task);
    const auto a = hiding_cost(experiment, t, kShort), b = hiding_cost(experiment, t, kLong);
    const std::string at =
        std::string_view(task) == "previous" ? "the letter before" : "the letter eight before";
    costs.push_back(mean_interval(a)), costs.push_back(mean_interval(b));
    f.estimate(text("task.", task, ".short"),
               at + ": loss without waves of up to 25 tokens minus loss intact (nats)",
               costs[costs.size() - 2], 3);
    f.estimate(text("task.", task, ".long"), at + ": loss without longer waves minus loss intact (nats)",
               costs.back(), 3);
    leads.emplace_back();
    for (std::size_t s = 0; s < a.size(); ++s) leads.back().push_back(a[s] - b[s]);
  }
  const Estimate shift = welch_interval(leads[0], leads[1]);
  f.estimate("shift",
             "cost of short waves minus cost of long ones: at the letter before minus at the letter eight "
             "before (nats)",
             shift, 3);
  trained_with_an_octave(experiment, f);
  f.figures = {octave_picture(experiment, r, f), worth_picture(experiment, r), rotary_picture(experiment, f)};
  return f;
}
const Record claim_004_02 = Claim{
    .question = &question_what_is_the_clock,
    .id = "004-02",
    .text = claim_text(kText, "004-02"),
    .recorded = open,
    .verdicts = {{holds, {above("octave.far", .02), above("octave.text", .01)}},
                 {holds_if, {above("octave.text", .01)}},
                 {wrong, {below("octave.far", .02), below("octave.text", .01)}},
                 otherwise(open)},
    .recipes =
        [](const Experiment& d) {
          std::vector all{d.language("sinusoidal"), d.language("rope"), d.language(kOctave),
                          one_layer(d, "previous"), one_layer(d, "offset8")};
          for (const auto& [key, task] : kNearAndFar) {
            for (const auto spec : {std::string_view(kOctave), kPaper})
              all.push_back(at_distance(d, task, spec));
          }
          return all;
        },
    .measure = distances,
};

}  // namespace
}  // namespace gnomon::claims
