// Is order there without an encoding?
#include <algorithm>
#include <cmath>

#include "gnomon/claims/measures/measures.h"
#include "gnomon/lens/order.h"
#include "gnomon/lens/probe.h"

namespace gnomon::claims {

constexpr Prose kText =
#include "gnomon/claims/questions/is_order_implicit.txt.inc"
    ;
Question question_is_order_implicit{.key = "is_order_implicit", .text = question_text(kText)};

namespace {

using enum Verdict;

constexpr std::int64_t kDepths[] = {1, 2, 4, 8}, kDepthsOfLong[] = {1, 4, 12};

// The best R² of a position in any layer, for a model that may be untrained; at the embedding.
struct Read {
  double best = -INFINITY, embedding = 0;
};
Read read_positions(const Outcome& o, const Sample& sample) {
  const auto h = streams(o.look(), sample);
  Read r;
  r.embedding = probe_new_positions(h.front(), sample.T);
  for (const Matrix& x : h) r.best = std::max(r.best, probe_new_positions(x, sample.T));
  return r;
}

// How far no position is behind the sinusoid, by depth, while training.
report::LineChart gaps_while_training(Experiment& experiment) {
  report::LineChart chart{
      "What an encoding saves, by depth and training",
      "Held-out loss without positions minus loss with the sinusoid, causal models; mean over seeds.",
      {"thousand bytes seen"},
      {"nats per byte"},
      {}};
  for (const std::int64_t layers : kDepths) {
    const Recipe none = experiment.language("none", layers),
                 sinus = experiment.language("sinusoidal", layers);
    report::Series s{text(layers, layers == 1 ? " layer" : " layers"), {}, int(chart.series.size())};
    constexpr int kPoints = 8;
    const double tokens = double(none.steps * none.batch * none.length);
    for (int k = 1; k <= kPoints; ++k)
      s.points.emplace_back(tokens * k / kPoints / 1e3,
                            loss_difference_at(experiment, none, sinus, double(k) / kPoints).mean);
    chart.series.push_back(std::move(s));
  }
  return chart;
}

// The gap in windows of 512 tokens, where there is more to place.
void long_windows(Experiment& experiment, Finding& f) {
  for (const std::int64_t layers : kDepthsOfLong) {
    const Recipe none = experiment.long_language("none", layers),
                 sinus = experiment.long_language("sinusoidal", layers);
    const std::string name = text("causal, ", counted(std::size_t(layers), "layer"), ", windows of ",
                                  Experiment::kLong, ": loss without positions minus loss with the sinusoid");
    f.estimate(text("long.", layers), name + " (nats per byte)", loss_difference(experiment, none, sinus));
    f.estimate(text("long_quarter.", layers), name + ", after a quarter of the training (nats per byte)",
               loss_difference_at(experiment, none, sinus, .25));
  }
}

report::Table shuffles(Experiment& experiment, const Recipe& none) {
  std::vector<std::pair<std::string, std::vector<double>>> rows;
  for (const std::int64_t kept : {0, 1, 2, 4, 8, 16}) {
    const Estimate cost = mean_interval(each(experiment, none, [&](const Outcome& o) {
      return shuffle_cost(o.look(), experiment.held_out(none, experiment.quick ? 64 : 256), kept, 9);
    }));
    rows.push_back({text("all shuffled but the last ", kept), {cost.mean, cost.half_width}});
  }
  return table(
      {{"no position, causal, 8 layers", "loss of the next byte minus loss intact (nats)", "±"}, rows, 3});
}

Finding implicit(Experiment& experiment) {
  Finding f;
  for (const std::int64_t layers : kDepths) {
    const Recipe none = experiment.language("none", layers),
                 sinus = experiment.language("sinusoidal", layers);
    const std::string name = text("causal, ", layers, layers == 1 ? " layer" : " layers",
                                  ": loss without positions minus loss with the sinusoid");
    f.estimate(text("gap.", layers), name + " (nats per byte)", loss_difference(experiment, none, sinus));
    f.estimate(text("quarter.", layers), name + ", after a quarter of the training (nats per byte)",
               loss_difference_at(experiment, none, sinus, .25));
  }
  f.estimate("gap_learned",
             "causal, 2 layers: loss without positions minus loss with a learned table (nats per byte)",
             loss_difference(experiment, experiment.language("none"), experiment.language("learned")));
  const Recipe deepest = experiment.language("none", 8);
  const Sample sample = experiment.held_out(deepest, experiment.quick ? 24 : 240);
  std::vector<double> embedding, best, untrained, order;
  for (const Outcome& o : experiment.models(deepest)) {
    const Read r = read_positions(o, sample);
    embedding.push_back(r.embedding), best.push_back(r.best);
    untrained.push_back(read_positions(at_start(o), sample).best);
    order.push_back(shuffle_cost(o.look(), experiment.held_out(deepest, experiment.quick ? 64 : 256), 1, 9));
  }
  f.estimate("embedding", "no position, 8 layers: R² of a position probe at the embedding",
             mean_interval(embedding), 3);
  f.estimate("best", text("no position, 8 layers: best R² in any layer, ", sample.count(), " windows"),
             mean_interval(best), 3);
  f.estimate("untrained", "no position, 8 layers: best R² in any layer before training",
             mean_interval(untrained), 3);
  f.estimate("order",
             "no position, 8 layers: loss with all but the last byte shuffled minus loss intact (nats)",
             mean_interval(order), 3);
  long_windows(experiment, f);
  f.figures = {gaps_while_training(experiment), shuffles(experiment, deepest)};
  return f;
}
const Record claim_004_07 = Claim{
    .question = &question_is_order_implicit,
    .id = "004-07",
    .text = claim_text(kText, "004-07"),
    .recorded = holds_if,
    .verdicts = {{holds,
                  {below("embedding", .1), above("best", .5), above("order"), above("gap.2"), above("long.1"),
                   above("long.12")}},
                 {holds_if, {below("embedding", .1), above("best", .5), above("order"), above("gap.2")}},
                 {wrong, {below("best", .5)}},
                 {wrong, {below("gap.2")}},
                 otherwise(open)},
    .recipes =
        [](const Experiment& d) {
          std::vector<Recipe> all{d.language("none"), d.language("sinusoidal"), d.language("learned")};
          for (const std::int64_t layers : kDepths) {
            for (const char* spec : {"none", "sinusoidal"}) all.push_back(d.language(spec, layers));
          }
          for (const std::int64_t layers : kDepthsOfLong) {
            for (const char* spec : {"none", "sinusoidal"}) all.push_back(d.long_language(spec, layers));
          }
          return all;
        },
    .measure = implicit,
};

// Of the training of a model without positions, the share that one with this spec needs not, to come to the same loss: by
// seed, 0 where it does not come there.
std::vector<double> saved_by(Experiment& experiment, const char* spec) {
  std::vector<double> out;
  for (const Outcome& none : experiment.models(experiment.language("none"))) {
    for (const Outcome& o : experiment.models(experiment.language(spec))) {
      if (o.seed != none.seed) continue;
      const double all = none.curve.back().first;
      out.push_back(1 - std::min(1.0, tokens_to(o, none.nats) / all));
    }
  }
  return out;
}

Finding takes_load(Experiment& experiment) {
  Finding f;
  report::LineChart chart{"Held-out loss while training",
                          "Causal models of two layers on text; mean over seeds.",
                          {"thousand bytes seen"},
                          {"nats per byte"},
                          {}};
  for (const char* spec : {"none", "learned", "sinusoidal", "alibi", "t5", "rope"}) {
    const auto& models = experiment.models(experiment.language(spec));
    report::Series s{spec, {}, int(chart.series.size())};
    for (const Outcome& o : models) {
      s.points.resize(o.curve.size());
      for (std::size_t k = 0; k < o.curve.size(); ++k)
        s.points[k] = {o.curve[k].first / 1e3,
                       s.points[k].second + o.curve[k].second / double(models.size())};
    }
    chart.series.push_back(std::move(s));
    if (std::string_view(spec) == "none") continue;
    f.estimate(text("saved.", spec),
               text("share of the training saved to reach the final loss of `none`, ", spec),
               mean_interval(saved_by(experiment, spec)), 3);
  }
  const Recipe with = experiment.language("sinusoidal"), without = experiment.language("none");
  f.estimate("gain", "loss with the sinusoid minus loss without positions (nats per byte)",
             loss_difference(experiment, with, without));
  f.estimate("gain_quarter", "the same difference after a quarter of the training (nats per byte)",
             loss_difference_at(experiment, with, without, .25));
  f.figures = {chart};
  return f;
}
const Record claim_004_05 = Claim{
    .question = &question_is_order_implicit,
    .id = "004-05",
    .text = claim_text(kText, "004-05"),
    .recorded = answered,
    .verdicts = {{answered, {apart("gain")}}, otherwise(open)},
    .recipes =
        [](const Experiment& d) {
          std::vector<Recipe> all;
          for (const char* s : {"none", "learned", "sinusoidal", "alibi", "t5", "rope"})
            all.push_back(d.language(s));
          return all;
        },
    .measure = takes_load,
};

}  // namespace
}  // namespace gnomon::claims
