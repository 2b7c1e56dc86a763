// How do positions survive through the layers?
#include <algorithm>
#include <cmath>

#include "gnomon/claims/parts.h"
#include "gnomon/lens/attention.h"
#include "gnomon/lens/probe.h"

namespace gnomon::claims {
namespace {

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
  for (std::int64_t l = 0; l < o.model->config().layers; ++l) {
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
std::string attention_picture(Desk& desk) {
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
  return draw(chart);
}

Finding survive(Desk& desk) {
  Finding f;
  std::string loss_rows;
  std::vector<std::pair<std::string, std::vector<double>>> costs;
  Estimate kept{}, made{}, none_encoder{}, cut_here{}, silent{};
  for (const std::int64_t layers : kDepths) {
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
                            {"share of the variance", false},
                            {}};
    for (std::int64_t l = 0; l <= layers; ++l) probe.x.ticks.push_back(double(l));
    share.x.ticks = probe.x.ticks;
    int style = 0;
    for (const char* spec : {"sinusoidal", "none"}) {
      for (const bool causal : {true, false}) {
        const Recipe r = deep(desk, spec, causal, layers);
        const Curves intact = through(desk, r, {});
        f.estimate(text(layers, " layers, ", arm(spec, causal), ": R² after the last"),
                   mean_interval(intact.last), 3);
        f.number(text(layers, " layers, ", arm(spec, causal), ": share of position after the last"),
                 intact.share.back(), 3);
        probe.series.push_back(line(arm(spec, causal), intact.r2, style));
        share.series.push_back(line(arm(spec, causal), intact.share, style));
        if (layers == 8 && spec[0] == 's' && causal) kept = mean_interval(intact.last);
        if (layers == 8 && spec[0] == 'n' && causal) {
          made = mean_interval(each(desk, r, [&](const Outcome&) {
            return *std::max_element(intact.r2.begin(), intact.r2.end());
          }));
        }
        if (layers == 8 && spec[0] == 'n' && !causal) none_encoder = mean_interval(intact.last);
        // Surgery: what carries it?
        const Curves cut = through(desk, r, {.cut = 0});
        const Curves quiet = through(desk, r, {.no_attention = true});
        f.number(text(layers, " layers, ", arm(spec, causal), ": R² right after the cut"), cut.r2[1], 3);
        f.estimate(text(layers, " layers, ", arm(spec, causal), ": R² at the end, cut"),
                   mean_interval(cut.last), 3);
        f.estimate(text(layers, " layers, ", arm(spec, causal), ": R² at the end, no attention"),
                   mean_interval(quiet.last), 3);
        if (causal) {
          probe.series.push_back(line(arm(spec, causal) + ", cut after layer 1", cut.r2, style + 4, 1));
          probe.series.push_back(line(arm(spec, causal) + ", no attention", quiet.r2, style + 5));
          if (spec[0] == 's' && layers == 8)
            cut_here = mean_interval(cut.last), silent = mean_interval(quiet.last);
        }
        std::vector<double> loss_cut, loss_quiet;
        const Sample sample = desk.held_out(r, 60);
        for (const Outcome& o : desk.models(r)) {
          const double whole = mean_loss(o.look(), sample);
          loss_cut.push_back(mean_loss(o.look(), sample, {.cut = 0}) - whole),
              loss_quiet.push_back(mean_loss(o.look(), sample, {.no_attention = true}) - whole);
        }
        costs.push_back({text(layers, " layers, ", arm(spec, causal)),
                         {mean_interval(loss_cut).mean, mean_interval(loss_quiet).mean}});
        ++style;
      }
    }
    f.figures += draw(probe) + draw(share);
  }
  f.figures += attention_picture(desk);
  f.figures += table({{"nats more than intact", "residual cut after layer 1", "no attention"}, costs, 3});
  const bool answered = kept.mean > .5 && made.mean > .5 && none_encoder.mean < .2;
  f.conclude(
      answered ? Verdict::conditional : Verdict::undecided,
      text("The residual stream carries them: what was added at the bottom is still there after eight layers "
           "(R² ",
           fixed(kept.mean, 2), ", and ", fixed(silent.mean, 2),
           " with attention silenced), and cutting the stream once leaves ", fixed(cut_here.mean, 2),
           ". A causal model makes positions anew: without any encoding R² rises from 0 to ",
           fixed(made.mean, 2), "; an encoder without one stays at ", fixed(none_encoder.mean, 2), "."));
  return f;
}

}  // namespace

extern const Claim claim_003_15;
const Claim claim_003_15 = {
    .id = "003-15",
    .question = "depth",
    .says = "How do positions survive through multiple layers?",
    .method =
        "models of 2, 4 and 8 layers, causal and encoder, with the sinusoid and without positions, trained "
        "on text; after each layer a linear probe for the position (R², split by sequence) and the share of "
        "variance "
        "explained by the position; intact, with the residual stream cut after the first layer, and with "
        "attention writing nothing",
    .expects =
        "the residual carries it; a causal mask makes it anew; an encoder without positions never has it",
    .advice =
        "Residual connections are the memory of position: mind them when pruning, or when adding norms on "
        "the residual path.",
    .expected = Verdict::conditional,
    .statistical = true,
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
    .measure = survive};

}  // namespace gnomon::claims
