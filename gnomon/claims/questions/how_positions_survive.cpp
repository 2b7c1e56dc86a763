// How do positions survive through many layers?
#include <algorithm>
#include <array>
#include <cmath>

#include "gnomon/claims/parts.h"
#include "gnomon/lens/attention.h"
#include "gnomon/lens/probe.h"

namespace gnomon::claims {

Question question_how_positions_survive = {
    .key = "how_positions_survive",
    .title = "How do positions survive through many layers?",
    .lead = "003-15",
    .answer =
        "The residual stream carries what was added at the bottom, and every layer writes it again: after "
        "eight layers a linear probe reads the position with R² {003-15|8.sinusoidal.causal.last}, and still "
        "{003-15|8.sinusoidal.causal.cut} when the stream is cut after the first layer. Under a causal mask "
        "models without positions make their own, R² {003-15|8.none.causal.highest} in their best layer; "
        "encoders without positions cannot."};

namespace {

using enum Verdict;

constexpr std::int64_t kDepths[] = {2, 4, 8};

Recipe deep(const Desk& d, const char* spec, bool causal, std::int64_t layers) {
  return (causal ? d.language(spec) : d.encoder(spec)).deep(layers);
}

std::string arm(const char* spec, bool causal) { return text(spec, causal ? ", causal" : ", encoder"); }

struct Curves {
  std::vector<double> r2, share;  // after each layer, mean over seeds
  std::vector<double> last;       // R² after the last layer, by seed
};

Curves through(Desk& desk, const Recipe& r, const Surgery& surgery) {
  const Sample sample = desk.held_out(r, desk.quick ? 60 : 240);
  Curves out;
  const auto& models = desk.models(r);
  for (const Outcome& o : models) {
    const auto h = streams(o.look(), sample, surgery);
    out.r2.resize(h.size()), out.share.resize(h.size());
    for (std::size_t l = 0; l < h.size(); ++l) {
      const double r2 = probe_positions(h[l], sample.T).r2;
      out.r2[l] += std::max(0.0, r2) / double(models.size());
      out.share[l] += variance_shares(h[l], sample).position / double(models.size());
      if (l + 1 == h.size()) out.last.push_back(std::max(0.0, r2));
    }
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
report::LineChart attention_picture(Desk& desk) {
  report::LineChart chart{"How much of attention's logits involves the position, layer by layer",
                          "8-layer causal models; share of the variance within rows; the stream split into "
                          "position means, token means and the rest; mean over heads and seeds.",
                          {"layer", false, {1, 2, 3, 4, 5, 6, 7, 8}},
                          {"share of the variance"},
                          {}};
  for (const char* spec : {"sinusoidal", "none"}) {
    const Recipe r = deep(desk, spec, true, 8);
    report::Series s{arm(spec, true), {}, spec[0] == 's' ? 0 : 2, false, true};
    const auto& models = desk.models(r);
    for (const Outcome& o : models) {
      const auto shares = asked_by_position(o, desk.held_out(r, desk.quick ? 60 : 240));
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
  Estimate cost_cut, cost_quiet;  // nats more than intact
};

Arm measure_arm(Desk& desk, const char* spec, bool causal, std::int64_t layers) {
  const Recipe r = deep(desk, spec, causal, layers);
  const Sample sample = desk.held_out(r, 60);
  const auto cost = [&](const Surgery& surgery) {
    return mean_interval(each(desk, r, [&](const Outcome& o) {
      return mean_loss(o.look(), sample, surgery) - mean_loss(o.look(), sample);
    }));
  };
  return {text(spec, causal ? ".causal" : ".encoder"),
          arm(spec, causal),
          causal,
          through(desk, r, {}),
          through(desk, r, {.cut = 0}),
          through(desk, r, {.no_attention = true}),
          cost({.cut = 0}),
          cost({.no_attention = true})};
}

std::array<report::Figure, 2> depth_pictures(std::int64_t layers, const std::vector<Arm>& arms) {
  report::LineChart probe{
      text("Reading the position after each of ", layers, " layers"),
      "R² of a linear probe on held-out text, fitted anew for each layer; mean over seeds. Cut: only what "
      "the first layer wrote goes on. No attention: attention writes nothing in any layer.",
      {"layers passed"},
      {"R² of the position"},
      {}};
  report::LineChart share{text("How much of the residual stream is position, ", layers, " layers"),
                          "Share of the variance that the means over texts explain, corrected for chance.",
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

// What is left at the end when the stream is cut after one layer, whichever.
report::LineChart cut_picture(Desk& desk) {
  report::LineChart chart{"Cutting the residual stream of 8 layers once",
                          "R² of the position after the last layer, when after one layer only what that "
                          "layer wrote goes on; mean over seeds.",
                          {"layer after which it is cut; 0: not cut", false, {0, 1, 2, 3, 4, 5, 6, 7, 8}},
                          {"R² of the position at the end"},
                          {}};
  for (const char* spec : {"sinusoidal", "none"}) {
    const Recipe r = deep(desk, spec, true, 8);
    const Sample sample = desk.held_out(r, desk.quick ? 60 : 240);
    report::Series s{arm(spec, true), {}, spec[0] == 's' ? 0 : 2, false, true};
    for (std::int64_t cut = -1; cut < 8; ++cut) {
      const auto left = each(desk, r, [&](const Outcome& o) {
        return std::max(0.0, probe_positions(streams(o.look(), sample, {.cut = cut}).back(), sample.T).r2);
      });
      s.points.emplace_back(double(cut + 1), mean_interval(left).mean);
    }
    chart.series.push_back(std::move(s));
  }
  return chart;
}

Finding survive(Desk& desk) {
  Finding f;
  std::vector<std::pair<std::string, std::vector<double>>> costs;
  std::vector<Arm> arms;
  for (const std::int64_t layers : kDepths) {
    arms.clear();
    for (const char* spec : {"sinusoidal", "none"}) {
      for (const bool causal : {true, false}) arms.push_back(measure_arm(desk, spec, causal, layers));
    }
    for (const Arm& a : arms) {
      const std::string at = text(layers, " layers, ", a.name), key = text(layers, ".", a.key, ".");
      f.estimate(key + "last", at + ": R² after the last", mean_interval(a.intact.last), 3);
      f.number(key + "highest", at + ": highest R² of any layer",
               *std::max_element(a.intact.r2.begin(), a.intact.r2.end()), 3);
      f.number(key + "share", at + ": share of position after the last", a.intact.share.back(), 3);
      f.number(key + "after_cut", at + ": R² right after the cut", a.cut.r2[1], 3);
      f.estimate(key + "cut", at + ": R² at the end, cut", mean_interval(a.cut.last), 3);
      f.estimate(key + "quiet", at + ": R² at the end, no attention", mean_interval(a.quiet.last), 3);
      costs.push_back(
          {at, {a.cost_cut.mean, a.cost_cut.half_width, a.cost_quiet.mean, a.cost_quiet.half_width}});
    }
    for (report::Figure& figure : depth_pictures(layers, arms)) f.figures.push_back(std::move(figure));
  }
  f.figures.push_back(cut_picture(desk));
  f.figures.push_back(attention_picture(desk));
  f.figures.push_back(
      table({{"nats more than intact", "cut after layer 1", "±", "no attention", "±"}, costs, 3}));
  // The deepest arms, in their order: sinusoid causal, encoder; none causal, encoder.
  const auto r2 = [](const std::vector<double>& last) { return fixed(mean_interval(last).mean, 2); };
  const double made = *std::max_element(arms[2].intact.r2.begin(), arms[2].intact.r2.end()),
               never = mean_interval(arms[3].intact.last).mean;
  f.answer = text(
      "The residual stream carries them, and every layer writes them again: what was added at the bottom is "
      "read after eight layers with R² ",
      r2(arms[0].intact.last), ", with attention silenced ", r2(arms[0].quiet.last),
      ", and with the stream cut once, after the first layer, still ", r2(arms[0].cut.last),
      ". A causal mask makes positions anew: without any encoding R² rises from 0 to ", fixed(made, 2),
      ", and to ", r2(arms[2].quiet.last), " with attention silenced; an encoder without one stays at ",
      fixed(never, 2), ".");
  return f;
}
const Record claim_003_15 = Claim{
    .question = &question_how_positions_survive,
    .id = "003-15",
    .says = "How do positions survive through multiple layers?",
    .method =
        "models of 2, 4 and 8 layers, causal and encoder, with the sinusoid and without positions, trained "
        "on text; after each layer a linear probe for the position (R², split by sequence) and the share of "
        "variance explained by the position; intact, with the residual stream cut after the first layer, and "
        "with attention writing nothing",
    .expects =
        "the residual carries it; a causal mask makes it anew; an encoder without positions never has it",
    .advice =
        "Residual connections are the memory of position: mind them when pruning, or when adding norms on "
        "the residual path.",
    .recorded = conditional,
    .verdicts = {{conditional,
                  {above("8.sinusoidal.causal.last", .5), at_least("8.none.causal.highest", .5),
                   below("8.none.encoder.last", .2)}},
                 otherwise(undecided)},
    .recipes =
        [](const Desk& d) {
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
