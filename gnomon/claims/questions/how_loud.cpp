// How loud should the position be?
#include <algorithm>
#include <cmath>

#include "gnomon/claims/parts.h"

namespace gnomon::claims {

Question question_how_loud = {
    .key = "how_loud",
    .title = "How loud should the position be?",
    .lead = "002-09",
    .answer =
        "About as loud as the words: at a tenth of the amplitude the loss is {002-09|quiet} nats higher, at "
        "three times it is {002-09|loss.3} against {002-09|loss.1}. Training hardly moves the ratio of the "
        "lengths, except where the position is far too loud."};

namespace {

using enum Verdict;

Recipe at_amplitude(const Desk& d, double a) {
  return d.language(a == 1 ? "sinusoidal" : text("add(sinusoidal, amplitude=", a, ")"));
}

Finding comparable(Desk& desk) {
  Finding f;
  struct Start {
    const char *key, *name;
    double word, position;
    bool sinus;
    double expected;
  };
  const Start starts[] = {{"tensor2tensor", "tensor2tensor (words of rms 1)", 1, 1, true, .707},
                          {"gpt2", "GPT-2 (.02 / .01)", .02, .01, false, .5},
                          {"bert", "BERT (.02 / .02)", .02, .02, false, 1},
                          {"unscaled", "words .02, code unscaled", .02, 1, true, 35.4}};
  for (const Start& s : starts) {
    const Matrix x = scaled(gaussian_words(1000, 512, 31), s.word),
                 e = s.sinus ? sinusoid(512, 128) : scaled(gaussian_words(512, 512, 32), s.position);
    f.near(text("start.", s.key), text("|position| / |word|, ", s.name), norm_ratio(e, x).raw, s.expected,
           .01 * s.expected, 3);
  }
  const Matrix e = sinusoid(512, 2);
  f.near("length", "length of a sinusoidal code, d = 512", std::sqrt(dot(e.row(0), e.row(0))), 16, 1e-9, 3);
  const Recipe r = desk.language("sinusoidal");
  const Sample sample = desk.held_out(r, 64);
  const Estimate trained = mean_interval(each(desk, r, [&](const Outcome& o) {
    return norm_ratio(positions_of(o, sample), words_of(o, sample)).raw;
  }));
  f.estimate("trained", "|position| / |word| in trained models", trained, 3);
  f.answer = text("Comparable, yes: 0.71 with tensor2tensor's factor √d, ", told(trained, 2),
                  " in our trained models. Normalised, no: nothing holds |x_i| below 1, and the factor or a "
                  "norm sets the scale; without it the position is 35 times the word.");
  return f;
}
const Record claim_002_02 = Claim{
    .question = &question_how_loud,
    .id = "002-02",
    .says = "Words are normalised to |x_i| <= 1 and the code has amplitude one, so they are comparable.",
    .method =
        "mean |e|/mean |x| for the starts in use (1,000 Gaussian words, d = 512), and in trained models",
    .expects = ".707 with tensor2tensor's √d; nothing normalises",
    .advice = "Multiply word vectors of deviation 1/√d by √d before adding a sinusoid.",
    .recorded = conditional,
    .verdicts = {{conditional, {at_most("start.tensor2tensor", 3), at_least("start.unscaled", 10)}},
                 {holds, {at_most("start.unscaled", 3)}},
                 otherwise(wrong)},
    .recipes = [](const Desk& d) { return std::vector{d.language("sinusoidal")}; },
    .measure = comparable,
};

Finding amplitude(Desk& desk) {
  Finding f;
  report::LineChart chart{
      "Loss against the amplitude of the position",
      text("Trained models, ", desk.seeds(), " seeds (thin), mean (thick); A = 1 is the standard."),
      {"amplitude A", true, {.01, .03, .1, .3, 1, 3, 10}},
      {"held-out nats per byte"},
      {}};
  report::Series mean{"mean", {}, 0, false, true};
  double best = INFINITY, best_at = 1;
  std::vector<std::pair<double, Estimate>> found;
  for (const double a : {.01, .03, .1, .3, 1.0, 3.0, 10.0}) {
    const Recipe r = at_amplitude(desk, a);
    const Estimate e = loss(desk, r);
    const Sample sample = desk.held_out(r, 64);
    const Estimate rho = mean_interval(each(desk, r, [&](const Outcome& o) {
      return norm_ratio(positions_of(o, sample), words_of(o, sample)).raw;
    }));
    f.estimate(text("loss.", a), text("loss at A = ", a), e);
    f.estimate(text("ratio.", a), text("|position| / |word| after training, A = ", a), rho, 3);
    mean.points.emplace_back(a, e.mean);
    found.emplace_back(a, e);
    if (e.mean < best) best = e.mean, best_at = a;
  }
  for (std::int64_t s = 0; s < desk.seeds(); ++s) {
    report::Series one{"", {}, 0, true};
    for (const auto& [a, e] : found) {
      for (const Outcome& o : desk.models(at_amplitude(desk, a))) {
        if (o.seed == s + 1) one.points.emplace_back(a, o.nats);
      }
    }
    chart.series.push_back(std::move(one));
  }
  chart.series.push_back(mean);
  const Estimate small =
      loss_difference(desk, desk.language("add(sinusoidal, amplitude=0.1)"), desk.language("sinusoidal"));
  f.estimate("quiet", "loss at A = 0.1, less A = 1 (nats)", small);
  f.figures = {chart};
  std::string near_best;
  for (const auto& [a, e] : found) {
    if (e.mean < best + .05) near_best += text(near_best.empty() ? "" : ", ", a);
  }
  f.answer = text("At A = 0.1 the loss is ", compared(small, "that at A = 1"),
                  ". Best of the seven is A = ", best_at, "; within 0.05 nats of it: ", near_best,
                  ". Words survive A = 1 as it is (002-03), and a quiet position is learned more slowly.");
  return f;
}
const Record claim_002_09 = Claim{
    .question = &question_how_loud,
    .id = "002-09",
    .says = "A code of amplitude far below one would fit the intuition better.",
    .method = "models trained with A from 0.01 to 10; loss, and the ratio of lengths after training",
    .expects = "a valley about A = 1; both ends worse",
    .advice = "Leave A at 1 with words of rms 1.",
    .recorded = wrong,
    .verdicts = {{wrong, {above("quiet")}}, {holds, {below("quiet")}}, otherwise(undecided)},
    .recipes =
        [](const Desk& d) {
          std::vector<Recipe> all{d.language("sinusoidal")};
          for (const char* a : {"0.01", "0.03", "0.1", "0.3", "3", "10"})
            all.push_back(d.language(text("add(sinusoidal, amplitude=", a, ")")));
          return all;
        },
    .measure = amplitude,
};

Finding magnitudes(Desk& desk) {
  Finding f;
  report::LineChart chart{"|position| / |word| while training",
                          "Mean over seeds; the code is fixed, so only the words can move the ratio.",
                          {"steps"},
                          {"ratio of mean lengths", true, {.06, .12, .25, .5, 1, 2, 4, 8}},
                          {}};
  int style = 0;
  std::string told_all;
  for (const double a : {.1, 1.0, 10.0}) {
    Recipe r = at_amplitude(desk, a);
    r.snapshots = true, r.seeds = 3;
    const Sample sample = desk.held_out(r, 64);
    report::Series s{text("A = ", a), {}, style++, false, true};
    std::vector<double> first, last;
    for (const Outcome& o : desk.models(r)) {
      s.points.resize(o.snapshots.size());
      for (std::size_t k = 0; k < o.snapshots.size(); ++k) {
        Outcome then = o;
        then.w = o.snapshots[k].second;
        const double rho = norm_ratio(positions_of(then, sample), words_of(then, sample)).raw;
        s.points[k] = {double(o.snapshots[k].first),
                       s.points[k].second + rho / double(desk.models(r).size())};
        if (k == 0) first.push_back(rho);
        if (k + 1 == o.snapshots.size()) last.push_back(rho);
      }
    }
    const Estimate start = mean_interval(first), end = mean_interval(last);
    f.estimate(text("start.", a), text("ratio at the start, A = ", a), start, 3);
    f.estimate(text("end.", a), text("ratio at the end, A = ", a), end, 3);
    std::vector<double> moved;
    for (std::size_t k = 0; k < first.size(); ++k) moved.push_back(std::log(last[k] / first[k]));
    f.estimate(text("moved.", a), text("log of the end over the start, A = ", a), mean_interval(moved), 3);
    told_all +=
        text(told_all.empty() ? "" : ", ", fixed(start.mean, 2), " to ", fixed(end.mean, 2), " at A = ", a);
    chart.series.push_back(std::move(s));
  }
  f.figures = {chart};
  f.answer = text("It can, and does where the position is far too loud: the ratio of the lengths goes from ",
                  told_all, ". It does not bring different amplitudes together within this budget.");
  return f;
}
const Record claim_003_13 = Claim{
    .question = &question_how_loud,
    .id = "003-13",
    .says = "Optimisation can adjust the magnitude of the word vectors.",
    .method = "mean |e|/mean |x| at 17 points of training, for A = 0.1, 1 and 10, three seeds",
    .expects = "the words move the ratio; whether to one value is reported",
    .advice = "Do not rely on it: set the scale at the start.",
    .recorded = conditional,
    .verdicts = {{holds, {apart("moved.0.1", .1), apart("moved.1", .1), apart("moved.10", .1)}},
                 {conditional, {apart("moved.10", .1)}},
                 {conditional, {apart("moved.1", .1)}},
                 {conditional, {apart("moved.0.1", .1)}},
                 otherwise(wrong)},
    .recipes =
        [](const Desk& d) {
          std::vector<Recipe> all;
          for (const char* a :
               {"sinusoidal", "add(sinusoidal, amplitude=0.1)", "add(sinusoidal, amplitude=10)"}) {
            all.push_back(d.language(a));
            all.back().snapshots = true, all.back().seeds = 3;
          }
          return all;
        },
    .measure = magnitudes,
};

}  // namespace
}  // namespace gnomon::claims
