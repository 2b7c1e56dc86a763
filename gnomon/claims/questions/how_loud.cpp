// How loud should the position be?
#include <algorithm>
#include <cmath>

#include "gnomon/claims/measures/meaning.h"
#include "gnomon/claims/measures/measures.h"

namespace gnomon::claims {

constexpr Prose kText =
#include "gnomon/claims/questions/how_loud.txt.inc"
    ;
Question question_how_loud{.key = "how_loud", .text = question_text(kText)};

namespace {

using enum Verdict;

Recipe at_amplitude(const Experiment& d, double a) {
  return d.language(a == 1 ? "sinusoidal" : text("add(sinusoidal, amplitude=", a, ")"));
}

Finding comparable(Experiment& experiment) {
  Finding f;
  struct Start {
    const char *key, *name;
    double word, position;
    bool sinus;
    double expected;
  };
  const Start starts[] = {{"tensor2tensor", "tensor2tensor (words of rms 1)", 1, 1, true, .707},
                          {"gpt2", "GPT-2 (0.02 / 0.01)", .02, .01, false, .5},
                          {"bert", "BERT (0.02 / 0.02)", .02, .02, false, 1},
                          {"unscaled", "words 0.02, sinusoid unscaled", .02, 1, true, 35.4}};
  for (const Start& s : starts) {
    const Matrix x = scaled(gaussian_words(1000, 512, 31), s.word),
                 e = s.sinus ? sinusoid(512, 128) : scaled(gaussian_words(512, 512, 32), s.position);
    f.near(text("start.", s.key), text("|position| / |word|, ", s.name), norm_ratio(e, x).raw, s.expected,
           .01 * s.expected, 3);
  }
  const Matrix e = sinusoid(512, 2);
  f.near("length", "length of a vector of the sinusoid, d = 512", std::sqrt(dot(e.row(0), e.row(0))), 16,
         1e-9, 3);
  const Recipe r = experiment.language("sinusoidal");
  const Sample sample = experiment.held_out(r, 64);
  const Estimate trained = mean_interval(each(experiment, r, [&](const Outcome& o) {
    return norm_ratio(positions_of(o, sample), words_of(o, sample)).raw;
  }));
  f.estimate("trained", "|position| / |word| in trained models", trained, 3);
  return f;
}
const Record claim_002_02 = Claim{
    .question = &question_how_loud,
    .id = "002-02",
    .text = claim_text(kText, "002-02"),
    .recorded = holds_if,
    .verdicts = {{holds_if, {at_most("start.tensor2tensor", 3), at_least("start.unscaled", 10)}},
                 {holds, {at_most("start.unscaled", 3)}},
                 otherwise(wrong)},
    .recipes = [](const Experiment& d) { return std::vector{d.language("sinusoidal")}; },
    .measure = comparable,
};

constexpr double kAmplitudes[] = {.01, .1, .3, 1, 3, 10};

// When the models of a recipe reach a loss: the mean over those that do, and how many do.
struct Reached {
  double tokens = std::nan("");
  int seeds = 0, of = 0;
};
Reached reached(Experiment& experiment, const Recipe& r, double goal) {
  Reached out;
  std::vector<double> times;
  for (const Outcome& o : experiment.models(r)) {
    const double t = tokens_to(o, goal);
    ++out.of;
    if (std::isfinite(t)) times.push_back(t), ++out.seeds;
  }
  if (!times.empty()) out.tokens = mean_interval(times).mean;
  return out;
}

report::LineChart while_training(Experiment& experiment) {
  report::LineChart chart{"Loss while training, by the amplitude of the position",
                          text("Mean over ", experiment.seeds(), " seeds, each amplitude at its best rate."),
                          {"thousand tokens"},
                          {"held-out nats per byte"},
                          {}};
  int style = 0;
  for (const double a : kAmplitudes) {
    report::Series s{text("A = ", a), {}, style++};
    const auto& models = experiment.models(at_amplitude(experiment, a));
    for (const Outcome& o : models) {
      s.points.resize(o.curve.size());
      for (std::size_t n = 0; n < o.curve.size(); ++n) {
        s.points[n].first = o.curve[n].first / 1e3;
        s.points[n].second += o.curve[n].second / double(models.size());
      }
    }
    chart.series.push_back(std::move(s));
  }
  return chart;
}

// Every amplitude by itself: losses on the way, tokens to the goal, the ratio of lengths. As a chart, a table and numbers of f.
void by_amplitude(Experiment& experiment, double goal, Finding& f) {
  report::LineChart chart{
      "Loss against the amplitude of the position",
      "Trained models, mean over seeds, each amplitude at its best rate; A = 1 is the standard.",
      {"amplitude A", true, {.01, .03, .1, .3, 1, 3, 10}},
      {"held-out nats per byte"},
      {{"a quarter", {}, 0, false, true}, {"half", {}, 1, false, true}, {"the end", {}, 2, false, true}}};
  Tabled grid{{"amplitude", "rate", "a quarter", "half", "the end", "tokens to the goal",
               "seeds that reach it", "|position| / |word|"},
              {},
              3};
  for (const double a : kAmplitudes) {
    const Recipe r = at_amplitude(experiment, a);
    const Sample sample = experiment.held_out(r, 64);
    const Estimate rho = mean_interval(each(experiment, r, [&](const Outcome& o) {
      return norm_ratio(positions_of(o, sample), words_of(o, sample)).raw;
    }));
    f.estimate(text("loss.", a), text("loss at A = ", a), loss(experiment, r));
    f.estimate(text("ratio.", a), text("|position| / |word| after training, A = ", a), rho, 3);
    std::vector<double> row{r.learning_rate};
    for (std::size_t n = 0; n < std::size(kShares); ++n) {
      const auto at = each(experiment, r, [&](const Outcome& o) { return loss_after(o, kShares[n]); });
      row.push_back(mean_interval(at).mean);
      chart.series[n].points.emplace_back(a, row.back());
    }
    const Reached to = reached(experiment, r, goal);
    f.number(text("reach.", a),
             text("tokens until A = ", a, " has the loss that A = 1 has after half of its training"),
             to.tokens, 0);
    row.insert(row.end(), {to.tokens, double(to.seeds), rho.mean});
    grid.rows.emplace_back(text("A = ", a), std::move(row));
  }
  f.figures = {chart, while_training(experiment), table(grid)};
}

// How a sum looks: the neighbours that random words keep.
void looks(const Experiment& experiment, Finding& f) {
  const Matrix x = uniform_words(experiment.quick ? 500 : 2000, 512, 21), e = sinusoid(512, 64);
  for (const double a : {.1, 1.0})
    f.number(text("near.", a), text("share of the ten nearest words kept in the sum, A = ", a),
             meaning_left(x, scaled(e, a), {40, 2}).near, 3);
}

Finding amplitude(Experiment& experiment) {
  Finding f;
  looks(experiment, f);
  const Recipe one = at_amplitude(experiment, 1), tenth = at_amplitude(experiment, .1);
  const double goal =
      mean_interval(each(experiment, one, [](const Outcome& o) { return loss_after(o, .5); })).mean;
  f.number("goal", "loss of A = 1 after half of its training (nats)", goal);
  by_amplitude(experiment, goal, f);
  const OnTheWay quiet = on_the_way(experiment, tenth, one),
                 loud = on_the_way(experiment, at_amplitude(experiment, 3), one),
                 faint = on_the_way(experiment, at_amplitude(experiment, .01), experiment.language("none"));
  show(f, "quiet", "loss at A = 0.1 minus loss at A = 1", quiet);
  show(f, "loud", "loss at A = 3 minus loss at A = 1", loud);
  show(f, "faint_less_none", "loss at A = 0.01 minus loss without position", faint);
  const auto late = [](const Outcome& o) { return loss_after(o, 1) - loss_after(o, .5); };
  const Estimate growth = paired_interval(each(experiment, tenth, late), each(experiment, one, late));
  f.estimate("growth",
             "lead of A = 1 over A = 0.1 at the end minus its lead after half of the training (nats)",
             growth);
  return f;
}
const Record claim_002_09 = Claim{
    .question = &question_how_loud,
    .id = "002-09",
    .text = claim_text(kText, "002-09"),
    .recorded = holds_if,
    .verdicts = {{holds_if, {at_least("near.0.1", .8), at_most("near.1", .5)}}, otherwise(wrong)},
    .recipes =
        [](const Experiment& d) {
          std::vector<Recipe> all{d.language("none")};
          for (const double a : kAmplitudes) all.push_back(at_amplitude(d, a));
          return all;
        },
    .measure = amplitude,
};

// One rate for all: at rates of their own, words would grow with the rate as well.
Recipe at_one_rate(const Experiment& d, double a) {
  Recipe r = at_amplitude(d, a);
  r.learning_rate = Experiment::kRates[1], r.snapshots = true;
  return r;
}

Finding magnitudes(Experiment& experiment) {
  Finding f;
  report::LineChart chart{"|position| / |word| while training",
                          "Mean over seeds; the sinusoid is fixed, so only the words can change the ratio.",
                          {"steps"},
                          {"ratio of mean lengths", true, {.06, .12, .25, .5, 1, 2, 4, 8}},
                          {}};
  int style = 0;
  std::vector<double> last_ratio;
  std::vector<std::vector<double>> logs;  // by amplitude and seed
  for (const double a : {.1, 1.0, 10.0}) {
    const Recipe r = at_one_rate(experiment, a);
    const Sample sample = experiment.held_out(r, 64);
    report::Series s{text("A = ", a), {}, style++, false, true};
    std::vector<double> first, last;
    for (const Outcome& o : experiment.models(r)) {
      s.points.resize(o.snapshots.size());
      for (std::size_t k = 0; k < o.snapshots.size(); ++k) {
        Outcome then = o;
        then.w = o.snapshots[k].second;
        const double rho = norm_ratio(positions_of(then, sample), words_of(then, sample)).raw;
        s.points[k] = {double(o.snapshots[k].first),
                       s.points[k].second + rho / double(experiment.models(r).size())};
        if (k == 0) first.push_back(rho);
        if (k + 1 == o.snapshots.size()) last.push_back(rho);
      }
    }
    const Estimate start = mean_interval(first), end = mean_interval(last);
    f.estimate(text("start.", a), text("ratio at the start, A = ", a), start, 3);
    f.estimate(text("end.", a), text("ratio at the end, A = ", a), end, 3);
    std::vector<double> moved;
    for (std::size_t k = 0; k < first.size(); ++k) moved.push_back(std::log(last[k] / first[k]));
    const Estimate change = mean_interval(moved);
    f.estimate(text("moved.", a), text("log of the ratio at the end over the ratio at the start, A = ", a),
               change, 3);
    last_ratio.push_back(end.mean), logs.push_back(std::move(moved));
    chart.series.push_back(std::move(s));
  }
  f.figures = {chart};
  const double apart = last_ratio.back() / last_ratio.front();
  f.estimate("adjusts", "that log for A = 10 minus that for A = 0.1",
             paired_interval(logs.back(), logs.front()), 3);
  f.number("apart", "ratio at the end for A = 10 divided by that for A = 0.1; 100 at the start", apart, 1);
  return f;
}
const Record claim_003_13 = Claim{
    .question = &question_how_loud,
    .id = "003-13",
    .text = claim_text(kText, "003-13"),
    .recorded = holds_if,
    .verdicts = {{holds, {above("moved.0.1", .1), below("moved.10", -.1)}},
                 {holds_if, {below("adjusts", -.1)}},
                 {wrong, {above("adjusts", -.1)}},
                 otherwise(open)},
    .recipes =
        [](const Experiment& d) {
          return std::vector{at_one_rate(d, 1), at_one_rate(d, .1), at_one_rate(d, 10)};
        },
    .measure = magnitudes,
};

}  // namespace
}  // namespace gnomon::claims
