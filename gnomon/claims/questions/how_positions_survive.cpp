// How do positions survive through many layers?
#include <algorithm>
#include <array>
#include <cmath>

#include "gnomon/claims/measures/measures.h"
#include "gnomon/lens/attention.h"
#include "gnomon/lens/erase.h"
#include "gnomon/lens/probe.h"
#include "gnomon/lens/subspace.h"

namespace gnomon::claims {

constexpr Prose kText =
#include "gnomon/claims/questions/how_positions_survive.txt.inc"
    ;
Question question_how_positions_survive{.key = "how_positions_survive", .text = question_text(kText)};

namespace {

using enum Verdict;

constexpr std::int64_t kDepths[] = {2, 4, 8};

Recipe deep(const Experiment& d, const char* spec, bool causal, std::int64_t layers) {
  return causal ? d.language(spec, layers) : d.encoder(spec, layers);
}

std::string arm(const char* spec, bool causal) { return text(spec, causal ? ", causal" : ", encoder"); }

struct Curves {
  std::vector<double> r2, share;  // after each layer, mean over seeds
  std::vector<double> last;       // R² after the last layer, by seed
  std::vector<double> best;       // R² in the best layer, by seed
};

std::int64_t windows(const Experiment& experiment) { return experiment.quick ? 24 : 240; }

Curves through(Experiment& experiment, const Recipe& r, const Surgery& surgery) {
  const Sample sample = experiment.held_out(r, windows(experiment));
  Curves out;
  const auto& models = experiment.models(r);
  for (const Outcome& o : models) {
    const auto h = streams(o.look(), sample, surgery);
    out.r2.resize(h.size()), out.share.resize(h.size());
    double best = -INFINITY;
    for (std::size_t l = 0; l < h.size(); ++l) {
      const double r2 = probe_new_positions(h[l], sample.T);
      best = std::max(best, r2);
      out.r2[l] += r2 / double(models.size());
      out.share[l] += variance_shares(h[l], sample).position / double(models.size());
      if (l + 1 == h.size()) out.last.push_back(r2);
    }
    out.best.push_back(best);
  }
  return out;
}

report::Series line(std::string name, const std::vector<double>& values, int style, std::size_t first = 0) {
  report::Series s{std::move(name), {}, style, false, true};
  for (std::size_t l = first; l < values.size(); ++l) s.points.emplace_back(double(l), values[l]);
  return s;
}

// By layer, the share of the variance of attention's logits within rows that involves the position: the stream as
// position means, token means and the rest, and the terms in which the first of them asks or is asked.
std::vector<double> asked_by_position(const Outcome& o, const Sample& sample) {
  const auto h = streams(o.look(), sample);
  const Sample few = sample.first(24);
  std::vector<double> out;
  for (std::int64_t l = 0; l < o.model->architecture().layers; ++l) {
    const Matrix& x = h[std::size_t(l)];
    const VarianceParts parts = variance_parts(x, sample);
    const std::int64_t N = std::int64_t(few.inputs.size());
    Matrix place(N, x.columns), token(N, x.columns), rest(N, x.columns);
    for (std::int64_t n = 0; n < N; ++n) {
      for (std::int64_t c = 0; c < x.columns; ++c) {
        place.at(n, c) = parts.position.at(n % sample.T, c),
                    token.at(n, c) = parts.token.at(few.inputs[std::size_t(n)], c);
        rest.at(n, c) = x.at(n, c) - place.at(n, c) - token.at(n, c);
      }
    }
    const auto heads = term_shares(o.look(), l, {place, token, rest}, sample.T);
    double mean = 0;
    for (const Matrix& m : heads) {
      for (std::int64_t k = 0; k < m.columns; ++k)
        mean += (m.at(0, k) + (k ? m.at(k, 0) : 0)) / double(heads.size());
    }
    out.push_back(mean);
  }
  return out;
}

// What attention in each of eight layers makes of the position.
report::LineChart attention_picture(Experiment& experiment) {
  report::LineChart chart{
      "How much of attention's logits involves the position, layer by layer",
      "8-layer causal models: share of the variance within rows, mean over heads and seeds. The "
      "stream is split into position means, token means and the rest.",
      {"layer", false, {1, 2, 3, 4, 5, 6, 7, 8}},
      {"share of the variance"},
      {}};
  for (const char* spec : {"sinusoidal", "none"}) {
    const Recipe r = deep(experiment, spec, true, 8);
    report::Series s{arm(spec, true), {}, spec[0] == 's' ? 0 : 2, false, true};
    const auto& models = experiment.models(r);
    for (const Outcome& o : models) {
      const auto shares = asked_by_position(o, experiment.held_out(r, windows(experiment)));
      s.points.resize(shares.size());
      for (std::size_t l = 0; l < shares.size(); ++l)
        s.points[l] = {double(l + 1), s.points[l].second + shares[l] / double(models.size())};
    }
    chart.series.push_back(std::move(s));
  }
  return chart;
}

// One arm at one depth: intact, with the stream cut after the first layer, with attention silenced.
struct Arm {
  std::string key, name;
  bool causal;
  Curves intact, cut, quiet;
  Estimate start;                 // R² after the last layer before training
  Estimate cost_cut, cost_quiet;  // nats more than intact
};

Arm measure_arm(Experiment& experiment, const char* spec, bool causal, std::int64_t layers) {
  const Recipe r = deep(experiment, spec, causal, layers);
  const Sample sample = experiment.held_out(r, 60), all = experiment.held_out(r, windows(experiment));
  const auto before = [&](const Outcome& o) {
    return probe_new_positions(streams(at_start(o).look(), all).back(), all.T);
  };
  const auto cost = [&](const Surgery& surgery) {
    return mean_interval(each(experiment, r, [&](const Outcome& o) {
      return mean_loss(o.look(), sample, surgery) - mean_loss(o.look(), sample);
    }));
  };
  return {text(spec, causal ? ".causal" : ".encoder"),
          arm(spec, causal),
          causal,
          through(experiment, r, {}),
          through(experiment, r, {.cut = 0}),
          through(experiment, r, {.no_attention = true}),
          mean_interval(each(experiment, r, before)),
          cost({.cut = 0}),
          cost({.no_attention = true})};
}

std::array<report::Figure, 2> depth_pictures(std::int64_t layers, const std::vector<Arm>& arms) {
  report::LineChart probe{
      text("Reading the position after each of ", layers, " layers"),
      "R² of a linear probe on held-out text, at positions that it was not fitted on; fitted "
      "for each layer, mean over seeds. Cut: only the output of the first layer goes on. "
      "No attention: attention writes nothing in any layer.",
      {"layers passed"},
      {"R² of the position"},
      {}};
  report::LineChart share{
      text("How much of the residual stream is position, ", layers, " layers"),
      "Share of the variance that the position means over windows explain, corrected for chance.",
      {"layers passed"},
      {"share of the variance"},
      {}};
  for (std::int64_t l = 0; l <= layers; ++l) probe.x.ticks.push_back(double(l));
  share.x.ticks = probe.x.ticks;
  int style = 0;
  for (const Arm& a : arms) {
    probe.series.push_back(line(a.name, a.intact.r2, style));
    share.series.push_back(line(a.name, a.intact.share, style));
    if (a.causal) {
      probe.series.push_back(line(a.name + ", cut after layer 1", a.cut.r2, style + 4, 1));
      probe.series.push_back(line(a.name + ", no attention", a.quiet.r2, style + 5));
    }
    ++style;
  }
  return {probe, share};
}

// What is done after one layer of the deepest models, whichever: what is read at the end, and what it costs. By layer, by seed.
struct ByLayer {
  std::vector<std::vector<double>> r2, cost;
  ByLayer(std::int64_t layers, std::size_t seeds)
      : r2(std::size_t(layers), std::vector<double>(seeds)), cost(r2) {}
};
// The mean over the first half of the layers: after these, others are left to write again what was taken.
std::vector<double> over_first_half(const std::vector<std::vector<double>>& by_layer) {
  const std::size_t half = by_layer.size() / 2;
  std::vector<double> mean(by_layer.front().size(), 0.0);
  for (std::size_t l = 0; l < half; ++l) {
    for (std::size_t s = 0; s < mean.size(); ++s) mean[s] += by_layer[l][s] / double(half);
  }
  return mean;
}

// The residual stream cut once: after one layer only what that layer wrote goes on. Or all goes on but the position's means of
// what entered the layer: then the stream stays one that a model has seen, words and all, without its copy of the position.
enum class Cut { stream, position };
ByLayer cuts(Experiment& experiment, const Recipe& r, Cut what) {
  const Sample sample = experiment.held_out(r, windows(experiment)), few = sample.first(60);
  const auto& models = experiment.models(r);
  ByLayer out(r.layers, models.size());
  for (std::size_t s = 0; s < models.size(); ++s) {
    const Trained m = models[s].look();
    const double intact = mean_loss(m, few);
    const bool whole = what == Cut::stream;
    const auto entering = whole ? std::vector<Matrix>() : streams(m, sample);
    for (std::int64_t l = 0; l < r.layers; ++l) {
      const Matrix means = whole ? Matrix() : variance_parts(entering[std::size_t(l)], sample).position;
      const Surgery surgery{.cut = l, .removed = whole ? nullptr : &means};
      out.r2[std::size_t(l)][s] = probe_new_positions(streams(m, sample, surgery).back(), sample.T);
      out.cost[std::size_t(l)][s] = mean_loss(m, few, surgery) - intact;
    }
  }
  return out;
}

// The directions of the position taken out of what enters a layer; as many random ones; as many others that hold as much
// variance.
struct Erasures {
  ByLayer own, random, matched;
  std::vector<double> directions,
      share;  // by layer, mean over seeds: how many, and their share of the variance
};
Erasures erasures(Experiment& experiment, const Recipe& r) {
  const Sample all = experiment.held_out(r, windows(experiment)),
               fit = all.first(windows(experiment) * 2 / 3);
  Sample told = all;  // windows that the directions were not found in
  told.inputs.erase(told.inputs.begin(), told.inputs.begin() + std::ptrdiff_t(fit.inputs.size()));
  told.targets.erase(told.targets.begin(), told.targets.begin() + std::ptrdiff_t(fit.targets.size()));
  const auto& models = experiment.models(r);
  const ByLayer none(r.layers, models.size());
  Erasures out{none, none, none, std::vector<double>(std::size_t(r.layers), 0.0),
               std::vector<double>(std::size_t(r.layers), 0.0)};
  constexpr int kDraws = 2;
  for (std::size_t s = 0; s < models.size(); ++s) {
    const Trained m = models[s].look();
    const auto h = streams(m, fit);
    const double intact = mean_loss(m, told);
    for (std::size_t l = 0; l < std::size_t(r.layers); ++l) {
      Erasure e{std::int64_t(l), position_directions(h[l], fit, .95, r.width / 3), column_means(h[l])};
      const Matrix own = e.basis;
      out.directions[l] += double(own.columns) / double(models.size());
      out.share[l] += energy_within(h[l], own) / double(models.size());
      out.own.cost[l][s] = mean_loss(m, told, {.erasure = &e}) - intact;
      out.own.r2[l][s] = probe_new_positions(streams(m, all, {.erasure = &e}).back(), all.T);
      for (std::uint64_t draw = 1; draw <= kDraws; ++draw) {
        e.basis = random_subspace(Random(29, "erased at random"), draw, r.width, own.columns);
        out.random.cost[l][s] += (mean_loss(m, told, {.erasure = &e}) - intact) / kDraws;
        e.basis = matched_directions(h[l], own, draw);
        out.matched.cost[l][s] += (mean_loss(m, told, {.erasure = &e}) - intact) / kDraws;
      }
    }
  }
  return out;
}

// The deepest models, operated on after every layer.
struct Operated {
  const char* spec;
  bool causal;
  ByLayer cut, removed;
  Erasures erased;
};
std::vector<Operated> operate(Experiment& experiment) {
  std::vector<Operated> all;
  for (const auto& [spec, causal] : {std::pair{"sinusoidal", false}, {"sinusoidal", true}, {"none", true}}) {
    const Recipe r = deep(experiment, spec, causal, 8);
    all.push_back({spec, causal, cuts(experiment, r, Cut::stream), cuts(experiment, r, Cut::position),
                   erasures(experiment, r)});
  }
  return all;
}

std::vector<report::Figure> operation_pictures(const std::vector<Operated>& all) {
  report::LineChart cut{
      "Cutting the residual stream of 8 layers once",
      "R² of the position after the last layer, if only the output of one layer goes on after "
      "it; mean over seeds.",
      {"layer after which it is cut", false, {1, 2, 3, 4, 5, 6, 7, 8}},
      {"R² of the position at the end"},
      {}},
      means{"Removing the position's means once, 8 layers",
            "R² of the position after the last layer, if the mean of every position is taken out of what "
            "enters one layer; mean over seeds.",
            {"layer after which they are removed", false, {1, 2, 3, 4, 5, 6, 7, 8}},
            {"R² of the position at the end"},
            {}},
      cost{"Taking the position out of the stream",
           "Loss with the position's directions erased from the input of one layer of 8, minus the loss "
           "intact. The same for other directions with as much variance, or as nearly as there are such; "
           "mean over "
           "seeds.",
           {"layer before which they are erased", false, {1, 2, 3, 4, 5, 6, 7, 8}},
           {"nats"},
           {}};
  std::vector<std::pair<std::string, std::vector<double>>> rows;
  int style = 0;
  for (const Operated& o : all) {
    const std::string name = arm(o.spec, o.causal);
    report::Series end{name, {}, style, false, true}, kept{name, {}, style, false, true},
        own{name, {}, style, false, true}, others{name + ", others", {}, style + 4};
    for (std::size_t l = 0; l < o.cut.r2.size(); ++l) {
      const double at = double(l + 1);
      const Estimate cut_cost = mean_interval(o.cut.cost[l]), erased = mean_interval(o.erased.own.cost[l]),
                     random = mean_interval(o.erased.random.cost[l]),
                     matched = mean_interval(o.erased.matched.cost[l]);
      end.points.emplace_back(at, mean_interval(o.cut.r2[l]).mean);
      kept.points.emplace_back(at, mean_interval(o.removed.r2[l]).mean);
      own.points.emplace_back(at, erased.mean), others.points.emplace_back(at, matched.mean);
      rows.push_back(
          {text(name, ", layer ", l + 1),
           {end.points.back().second, cut_cost.mean, kept.points.back().second, o.erased.directions[l],
            o.erased.share[l], erased.mean, erased.half_width, matched.mean, matched.half_width, random.mean,
            mean_interval(o.erased.own.r2[l]).mean}});
    }
    cut.series.push_back(std::move(end)), means.series.push_back(std::move(kept)),
        cost.series.push_back(std::move(own)), cost.series.push_back(std::move(others));
    ++style;
  }
  return {cut, means, cost,
          table({{"8 layers", "cut after it: R² at the end", "cut: loss added (nats)",
                  "means removed after it: R² at the end", "directions erased before it",
                  "their share of the variance", "erased: loss added (nats)", "±",
                  "others of equal variance or nearly: loss added (nats)", "±",
                  "random ones: loss added (nats)", "erased: R² at the end"},
                 rows,
                 3})};
}

// The numbers of one operated arm; `intact` is R² after the last layer, by seed. What is removed is judged after the first half
// of the layers, so that others are left to write it again. Directions are judged before the first layer: further up those of
// the position hold so much of the variance that no others hold as much.
void operated_numbers(Finding& f, const Operated& o, const std::vector<double>& intact) {
  const std::string at = text("8 layers, ", arm(o.spec, o.causal)),
                    key = text("8.", o.spec, o.causal ? ".causal." : ".encoder.");
  const auto cut = over_first_half(o.cut.r2), removed = over_first_half(o.removed.r2);
  const auto &own = o.erased.own.cost.front(), &random = o.erased.random.cost.front(),
             &matched = o.erased.matched.cost.front();
  f.estimate(key + "cuts", at + ": R² at the end, cut after one of the first four layers, mean",
             mean_interval(cut), 3);
  f.estimate(key + "removed",
             at + ": R² at the end, the position's means removed after one of the first four layers, mean",
             mean_interval(removed), 3);
  for (const std::size_t l : {0, 3}) {  // the first and the last of these four, as the figures have them
    const std::string after = text(", after layer ", l + 1, ", mean over seeds");
    f.number(text(key, "cut_after.", l + 1), text(at, ": R² at the end, stream cut", after),
             mean_interval(o.cut.r2[l]).mean, 3);
    f.number(text(key, "removed_after.", l + 1),
             text(at, ": R² at the end, the position's means removed", after),
             mean_interval(o.removed.r2[l]).mean, 3);
  }
  f.estimate(key + "carried", at + ": R² at the end intact minus R² with these means removed",
             paired_interval(intact, removed), 3);
  f.estimate(key + "removed_cost", at + ": loss with these means removed minus loss intact (nats)",
             mean_interval(over_first_half(o.removed.cost)), 3);
  f.estimate(key + "erased",
             at + ": loss with the position's directions erased before layer 1 minus loss intact (nats)",
             mean_interval(own), 3);
  f.estimate(key + "erased_matched",
             at + ": loss with as many others of equal variance erased minus loss intact (nats)",
             mean_interval(matched), 3);
  f.estimate(key + "erased_random",
             at + ": loss with as many random directions erased minus loss intact (nats)",
             mean_interval(random), 3);
  f.estimate(key + "use",
             at + ": cost of the position's directions minus cost of others of equal variance (nats)",
             paired_interval(own, matched), 3);
  f.estimate(key + "erased_end", at + ": R² at the end with the directions erased before layer 1",
             mean_interval(o.erased.own.r2.front()), 3);
  const auto& share = o.erased.share;
  f.number(key + "erased_share", at + ": share of the variance in these directions before layer 1",
           share.front(), 2);
  f.number(key + "erased_share_later", at + ": the least such share before a later layer",
           *std::min_element(share.begin() + 1, share.end()), 2);
}

Finding survive(Experiment& experiment) {
  Finding f;
  std::vector<std::pair<std::string, std::vector<double>>> costs;
  std::vector<Arm> arms;
  std::vector<report::Figure> depths;
  for (const std::int64_t layers : kDepths) {
    arms.clear();
    for (const char* spec : {"sinusoidal", "none"}) {
      for (const bool causal : {true, false}) arms.push_back(measure_arm(experiment, spec, causal, layers));
    }
    for (const Arm& a : arms) {
      const std::string at = text(layers, " layers, ", a.name), key = text(layers, ".", a.key, "."),
                        of = text(": R² at new positions, ", windows(experiment), " windows, ");
      f.estimate(key + "last", at + of + "after the last layer", mean_interval(a.intact.last), 3);
      f.estimate(key + "best", at + of + "in the best layer", mean_interval(a.intact.best), 3);
      f.estimate(key + "start", at + of + "after the last layer before training", a.start, 3);
      f.number(key + "share", at + ": share of position in the variance after the last layer",
               a.intact.share.back(), 3);
      f.estimate(key + "cut", at + ": R² at the end, cut after layer 1", mean_interval(a.cut.last), 3);
      f.estimate(key + "quiet", at + ": R² at the end, no attention", mean_interval(a.quiet.last), 3);
      costs.push_back(
          {at, {a.cost_cut.mean, a.cost_cut.half_width, a.cost_quiet.mean, a.cost_quiet.half_width}});
    }
    for (report::Figure& figure : depth_pictures(layers, arms)) depths.push_back(std::move(figure));
  }
  const auto operated = operate(experiment);
  for (const Operated& o : operated)
    operated_numbers(f, o, arms[o.spec[0] == 's' ? (o.causal ? 0 : 1) : 2].intact.last);
  f.figures = operation_pictures(operated);
  std::move(depths.rbegin(), depths.rend(), std::back_inserter(f.figures));  // the deepest first
  f.figures.push_back(attention_picture(experiment));
  f.figures.push_back(
      table({{"loss minus loss intact (nats)", "cut after layer 1", "±", "no attention", "±"}, costs, 3}));
  return f;
}
const Record claim_003_15 = Claim{
    .question = &question_how_positions_survive,
    .id = "003-15",
    .text = claim_text(kText, "003-15"),
    .recorded = answered,
    .verdicts = {{answered,
                  {above("8.sinusoidal.encoder.last", .5), below("8.none.encoder.best", .2),
                   above("8.sinusoidal.encoder.carried", .05)}},
                 {answered,
                  {above("8.sinusoidal.encoder.last", .5), below("8.none.encoder.best", .2),
                   equal("8.sinusoidal.encoder.carried", .02)}},
                 otherwise(open)},
    .recipes =
        [](const Experiment& d) {
          std::vector<Recipe> all;
          for (const std::int64_t layers : kDepths) {
            for (const char* spec : {"sinusoidal", "none"}) {
              for (const bool causal : {true, false}) all.push_back(deep(d, spec, causal, layers));
            }
          }
          return all;
        },
    .measure = survive,
};

}  // namespace
}  // namespace gnomon::claims
