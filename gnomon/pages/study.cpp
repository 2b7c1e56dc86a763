#include "gnomon/pages/study.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "gnomon/core/error.h"
#include "gnomon/core/readable.h"
#include "gnomon/core/text.h"
#include "gnomon/files/safetensors.h"
#include "gnomon/pages/portrait.h"
#include "gnomon/pages/study_answers.h"
#include "gnomon/pages/study_predictions.h"
#include "gnomon/pages/study_words.h"
#include "gnomon/report/chart.h"
#include "gnomon/report/page.h"
#include "gnomon/study/results/results.h"

namespace gnomon::pages {
namespace {

using report::Series;

// The place of an arm in the configuration fixes its colour: it does not change with the ranking.
int style_of(const StudySummary& s, const std::string& arm) {
  for (std::size_t i = 0; i < s.config.arms.size(); ++i) {
    if (s.config.arms[i].print() == arm) return int(i);
  }
  return 0;
}

// Of each seed that both have: the arm's loss less the baseline's.
std::vector<double> differences(const AtBudget& arm, const AtBudget& baseline) {
  std::vector<double> out;
  for (const RunResult& a : arm.runs) {
    for (const RunResult& b : baseline.runs) {
      if (a.plan.seed == b.plan.seed) out.push_back(a.nats - b.nats);
    }
  }
  return out;
}

// The computing of this arm for an equal loss, as a share of the baseline's: below 100 % it is the cheaper one.
std::string computing_text(const ArmSummary& a) {
  if (!a.speed_up || !std::isfinite(a.speed_up->factor)) return "–";
  const std::string bound = a.speed_up->bound == SpeedUp::Bound::at_least  ? "< "
                            : a.speed_up->bound == SpeedUp::Bound::at_most ? "> "
                                                                           : "";
  return text(bound, fixed(100 / a.speed_up->factor, 0), " %");
}

report::Table results(const StudySummary& s) {
  report::Table t;
  t.head = {"arm",     s.unit + ", lower is better", "in bits",       "difference to baseline",
            "verdict", "computing for equal loss",   "learning rate", "seeds"};
  for (std::size_t i = 0; i < s.arms.size(); ++i) {
    const ArmSummary& a = s.arms[i];
    const AtBudget& at = a.largest();
    if (at.runs.empty()) {
      const std::string why = at.failed.empty() ? "not run" : "failed: " + at.failed.front().failure;
      t.rows.push_back({{a.arm}, {why, 1e9, true}});
      for (std::size_t k = 2; k < t.head.size(); ++k) t.rows.back().push_back({"–", 1e9, true});
      continue;
    }
    const double rate = at.rate.value_or(0);
    t.rows.push_back(
        {{a.arm},
         {interval_text(at.nats, kLossDigits), at.nats.mean, true},
         {fixed(at.nats.mean / std::log(2.0), kLossDigits), at.nats.mean, true},
         {i == s.baseline ? "baseline" : signed_interval(at.difference),
          i == s.baseline ? 0 : at.difference.mean, true},
         {at.comparison ? std::string(name(at.comparison->decision)) : "–"},
         {computing_text(a), a.speed_up && std::isfinite(a.speed_up->factor) ? 1 / a.speed_up->factor : 1e9,
          true},
         {shortest(rate) + (at.at_edge ? " (last tried)" : ""), rate, true},
         {at.failed.empty() ? text(at.runs.size()) : text(at.runs.size(), " (", at.failed.size(), " failed)"),
          double(at.runs.size()), true}});
  }
  return t;
}

report::Table costs(const StudySummary& s) {
  report::Table t;
  t.head = {"arm", "parameters", "MFLOP per token", "tokens/s", "peak memory, MB"};
  for (const ArmSummary& a : s.arms) {
    if (a.largest().runs.empty()) continue;
    const RunResult& run = a.largest().runs.front();
    t.rows.push_back({{a.arm},
                      {grouped(double(run.parameters)), double(run.parameters), true},
                      {grouped(run.flops_per_token / 1e6, 2), run.flops_per_token, true},
                      {grouped(a.tokens_per_second), a.tokens_per_second, true},
                      {grouped(double(a.peak_memory_bytes) / 1e6), double(a.peak_memory_bytes), true}});
  }
  return t;
}

std::string ranking(const StudySummary& s) {
  report::IntervalChart chart{
      "Held-out loss, difference to the baseline", "", s.unit + "; left is better", {}, true, kLossDigits};
  for (std::size_t i = 0; i < s.arms.size(); ++i) {
    const AtBudget& at = s.arms[i].largest();
    if (at.difference.n == 0) continue;
    const int style = style_of(s, s.arms[i].arm);
    if (i == s.baseline)
      chart.rows.push_back({s.arms[i].arm, 0, std::nan(""), style});
    else
      chart.rows.push_back({s.arms[i].arm, at.difference.mean, at.difference.half_width, style,
                            differences(at, s.arms[s.baseline].largest())});
  }
  const bool inference = s.config.seeds > 1;
  chart.note = inference
                   ? text("Means of the paired differences over ", s.config.seeds,
                          " seeds and the held-out text. Bars are 95 % intervals over both, small dots are "
                          "single seeds. An arrow points to a value outside the picture.")
                   : "One seed: no inference.";
  return report::draw(chart) + report::draw(results(s)) +
         report::paragraph(text(
             "The loss is the mean over ", grouped(double(s.config.windows)), " whole held-out ",
             s.config.windows == 1 ? "window" : "windows", " of ", grouped(double(s.config.model.length)),
             " bytes, the same for every arm; 1 nat = 1.4427 bits. ",
             inference ? "± is the half-width of a 95 % interval over seeds and text, for each difference by "
                         "itself."
                       : "With one seed there are no intervals: no inference.",
             " The verdicts are corrected together (Holm, 5 %) for ", counted(family_size(s), "comparison"),
             " with the baseline", where_compared(s), ". Equivalent means within ±",
             shortest(s.config.smallest_effect),
             " nats by two one-sided tests. Computing for equal loss is a share of the baseline's computing; "
             "50 % is half of it. It follows from a curve through the budgets and has no interval.")) +
         "<h3>Cost</h3>\n" + report::draw(costs(s)) +
         report::paragraph(text("Tokens per second were measured while ",
                                counted(std::size_t(s.config.workers), "run"),
                                s.config.workers == 1 ? " had the machine." : " shared the machine."));
}

void failures(const StudySummary& s, report::Page& page) {
  std::string html;
  const auto tell = [&](const ArmSummary& a, const RunResult& r) {
    if (!r.failure.empty())
      html += report::paragraph(text(a.arm, ", seed ", r.plan.seed, ", ", r.plan.steps, " steps at rate ",
                                     shortest(r.plan.learning_rate), tunes(r.plan) ? " (tuning)" : "", ": ",
                                     r.failure, ". The run is shown and not repeated."));
  };
  for (const ArmSummary& a : s.arms) {
    for (const RunResult& r : a.tuning) tell(a, r);
    for (const AtBudget& b : a.budgets) {
      for (const RunResult& r : b.failed) tell(a, r);
    }
  }
  if (!html.empty()) page.section("Runs that failed", html);
}

// Loss against computing, and against the rate: the two things that turn orders around.
std::string budgets(const StudySummary& s) {
  report::LineChart chart{"Held-out loss by computing",
                          "Means over the seeds. Each point is a separate training with a whole schedule.",
                          {"TFLOP of one training", true, {}},
                          {s.unit},
                          {}};
  report::Table t;
  t.head = {text("arm (", s.unit, ", lower is better)")};
  for (const AtBudget& b : s.arms[s.baseline].budgets) {
    chart.x.ticks.push_back(b.flops / 1e12);
    t.head.push_back(text(fixed(double(b.tokens) / 1e6, 2), " M bytes"));
  }
  for (const ArmSummary& a : s.arms) {
    Series line{a.arm, {}, style_of(s, a.arm), false, true};
    t.rows.push_back({{a.arm}});
    for (const AtBudget& b : a.budgets) {
      if (!b.runs.empty()) line.points.emplace_back(b.flops / 1e12, b.nats.mean);
      t.rows.back().push_back(
          b.runs.empty() ? report::Table::Cell{"–", 1e9, true}
                         : report::Table::Cell{interval_text(b.nats, kLossDigits), b.nats.mean, true});
    }
    if (!line.points.empty()) chart.series.push_back(std::move(line));
  }
  return report::draw(chart) + report::draw(t);
}

// What was tried at the n-th of tune.budgets.
std::string tried_rates(const StudySummary& s, std::size_t n) {
  const std::string share = text(shortest(100 * s.config.tuning.budgets[n]), " % of the steps");
  report::LineChart chart{
      s.config.tuning.budgets.size() > 1 ? text("Validation loss by learning rate, ", share)
                                         : "Validation loss by learning rate",
      text("Trainings with ", share, " and ", counted(std::size_t(s.config.tuning.seeds), "separate seed"),
           ", scored on text that no result uses. Each arm takes the rate of its lowest "
           "point. If that was the first or the last rate, the next one was tried, up to "
           "three times."),
      {"learning rate", true, {}},
      {s.unit},
      {}};
  for (const ArmSummary& a : s.arms) {
    Series line{a.arm, {}, style_of(s, a.arm), false, true};
    for (const TriedRate& r : a.rates.at(n).tried) {
      if (r.nats.empty()) continue;
      line.points.emplace_back(r.rate, std::isfinite(r.mean()) ? r.mean() : std::nan(""));
      if (std::find(chart.x.ticks.begin(), chart.x.ticks.end(), r.rate) == chart.x.ticks.end())
        chart.x.ticks.push_back(r.rate);
    }
    if (!line.points.empty()) chart.series.push_back(std::move(line));
  }
  std::sort(chart.x.ticks.begin(), chart.x.ticks.end());
  return report::draw(chart);
}

std::string given_rates(const StudySummary& s) {
  report::Table t;
  t.head = {"arm (learning rate, given)"};
  for (const AtBudget& b : s.arms[s.baseline].budgets)
    t.head.push_back(text(fixed(double(b.tokens) / 1e6, 2), " M bytes"));
  for (const ArmSummary& a : s.arms) {
    t.rows.push_back({{a.arm}});
    for (const AtBudget& b : a.budgets) t.rows.back().push_back({shortest(*b.rate), *b.rate, true});
  }
  return report::paragraph("Not tuned here: each arm has rates that were given.") + report::draw(t);
}

std::string rates(const StudySummary& s) {
  const Tuning& how = s.config.tuning;
  if (!how.given.empty()) return given_rates(s);
  if (!how.seeds)
    return report::paragraph(
        text("Not tuned: every arm has the learning rate ", shortest(s.config.train.learning_rate), "."));
  std::string html;
  for (std::size_t n = 0; n < how.budgets.size(); ++n) html += tried_rates(s, n);
  const std::string others = how.budgets == s.config.budgets
                                 ? ""
                                 : "A budget that was not tuned takes the rate of the nearest that was. ";
  return html +
         report::paragraph(text(others, "The choice of the rates took ", fixed(s.tuning_flops / 1e12, 1),
                                " of ", fixed(s.flops / 1e12, 1), " TFLOP of training in this study."));
}

// One thin line a seed and the mean of the seeds; values(run) gives the points of one.
template <class Points>
std::vector<Series> with_mean(const StudySummary& s, const ArmSummary& a, bool markers,
                              const Points& points) {
  std::vector<Series> out;
  Series mean{a.arm, {}, style_of(s, a.arm), false, markers};
  const std::vector<RunResult>& runs = a.largest().runs;
  for (const auto& run : runs) {
    const auto p = points(run);
    if (runs.size() > 1) out.push_back({"", p, mean.style, true, false});
    if (mean.points.empty()) mean.points.resize(p.size());
    for (std::size_t i = 0; i < std::min(p.size(), mean.points.size()); ++i) {
      mean.points[i].first = p[i].first;
      mean.points[i].second += p[i].second / double(runs.size());
    }
  }
  out.push_back(mean);
  return out;
}
template <class Points>
std::vector<Series> all_arms(const StudySummary& s, bool markers, const Points& points) {
  std::vector<Series> out;
  for (const auto& a : s.arms) {
    if (a.largest().runs.empty()) continue;
    for (auto& line : with_mean(s, a, markers, points)) out.push_back(std::move(line));
  }
  return out;
}

std::string extrapolation(const StudySummary& s) {
  const double missing = std::nan("");
  report::LineChart chart{
      text("Loss of the last ", grouped(double(s.config.score)),
           " bytes of a window, by the length of the window"),
      "",
      {"window length in bytes (" + grouped(double(s.config.model.length)) + " in training)", true, {}},
      {s.unit, false, {}, true},
      {}};
  for (const double f : s.config.lengths) chart.x.ticks.push_back(double(s.config.tokens_at(f)));
  std::sort(chart.x.ticks.begin(), chart.x.ticks.end());
  chart.series = all_arms(s, true, [&](const RunResult& r) {
    std::vector<std::pair<double, double>> p;
    for (const auto& l : r.by_length) p.emplace_back(double(l.tokens), l.nats.value_or(missing));
    std::sort(p.begin(), p.end());
    return p;
  });
  report::Table t;
  t.head = {text("arm (", s.unit, ", lower is better)")};
  for (const double f : s.config.lengths)
    t.head.push_back(text("at ", shortest(f), "× (", grouped(double(s.config.tokens_at(f))), ")"));
  std::string undefined;
  for (const auto& a : s.arms) {
    t.rows.push_back({{a.arm}});
    bool some = false;
    for (const auto& l : a.by_length) {
      t.rows.back().push_back(
          l.nats ? report::Table::Cell{interval_text(*l.nats, kLossDigits), l.nats->mean, true}
                 : report::Table::Cell{"not defined", 1e9, true});
      some |= !l.nats && !a.largest().runs.empty();
    }
    t.rows.back().resize(t.head.size(), {"–", 1e9, true});  // nothing finished
    if (some) undefined += (undefined.empty() ? "" : ", ") + a.arm;
  }
  chart.note =
      text("The model reads the whole window and is scored on its last ", grouped(double(s.config.score)),
           " positions: the same ", grouped(double(s.config.windows * s.config.score)),
           " target bytes at every length.",
           undefined.empty()
               ? ""
               : " Not defined beyond the end of a table (positions are not clamped): " + undefined + ".");
  return report::draw(chart) + report::draw(t);
}

std::string training(const StudySummary& s) {
  const double per_step = double(s.config.train.batch * s.config.model.length);
  const auto curve = [&](double CurvePoint::*value) {
    return [=](const RunResult& r) {
      std::vector<std::pair<double, double>> p;
      for (const auto& c : r.curve) p.emplace_back(double(c.step) * per_step / 1e3, c.*value);
      return p;
    };
  };
  return report::draw(report::LineChart{"Held-out loss while training",
                                        "Thin lines are single seeds, thick lines their means. Each point "
                                        "uses up to 32 held-out windows.",
                                        {"thousand bytes seen in training"},
                                        {s.unit},
                                        all_arms(s, false, curve(&CurvePoint::held_out))}) +
         report::draw(report::LineChart{"Training loss",
                                        "Each point is the mean over the steps since the previous point.",
                                        {"thousand bytes seen in training"},
                                        {s.unit},
                                        all_arms(s, false, curve(&CurvePoint::training))});
}

std::string within_window(const StudySummary& s) {
  report::LineChart chart{
      "Loss by position in the window",
      text("Means over ", kNeighbours, " neighbouring positions, ", grouped(double(s.config.windows)),
           " held-out ", s.config.windows == 1 ? "window" : "windows",
           " of the training length, and the seeds."),
      {"position in the window, bytes"},
      {s.unit},
      {}};
  chart.series = all_arms(s, false, [&](const RunResult& r) {
    std::vector<std::pair<double, double>> p;
    for (const double mean : means_of_neighbours(r.by_position))
      p.emplace_back(double(kNeighbours * p.size()) + double(kNeighbours - 1) / 2, mean);
    return p;
  });
  return report::draw(chart);
}

// The arm's encodings with the parameters that the first seed has learned, or as they start.
std::string portraits(const StudySummary& s, const StudyFolder& folder, const ArmSummary& a) {
  const Arm arm = Arm(a.arm);
  const Model model(model_of(settings_of(arm, s.config, s.config.base()), arm.spec));
  const std::vector<RunResult>& runs = a.largest().runs;
  const Architecture& config = model.architecture();
  const Scheme& scheme = model.scheme();
  const Floats start = model.initial(1);
  const Path path = runs.empty() ? Path() : folder.run(runs.front().plan).model();
  const bool trained = !path.empty() && std::filesystem::exists(path);
  TensorFile learned;
  std::string html;
  for (const Standing& at : encodings_in(config.position, scheme, config.layers)) {
    ShownEncoding shown{*at.encoding, find_encoding(at.named.name).acts, {}, "none"};
    for (const auto& p : at.encoding->params()) {
      if (trained && learned.tensors.empty()) learned = read_safetensors(path, Digest::required);
      const std::int64_t offset = model.param(at.prefix + p.name).offset;
      const auto values = trained ? std::span<const float>(learned.at(at.prefix + p.name, path).data)
                                  : std::span(start).subspan(std::size_t(offset), std::size_t(p.size()));
      shown.w.insert(shown.w.end(), values.begin(), values.end());
      shown.parameters = trained ? text("trained, seed ", runs.front().plan.seed) : "initial values";
    }
    html += pictures(shown, {config.length});
  }
  return html.empty() ? report::paragraph("No position: the causal mask alone orders the tokens.") : html;
}

std::string derived_sizes(const StudyConfig& c) {
  if (c.derived.empty()) return "";
  std::string html = "<h3>Settings that gnomon chose, and why</h3>\n";
  for (const std::string& sentence : c.derived) html += report::paragraph(sentence + ".");
  return html;
}

// Runs may be of several machines: each numerics, and how many runs it computed.
std::string computed_by(const StudySummary& s) {
  std::map<std::string, std::size_t> runs;
  const auto count = [&](const std::vector<RunResult>& all) {
    for (const RunResult& r : all) ++runs[r.plan.numerics];
  };
  for (const ArmSummary& a : s.arms) {
    count(a.tuning);
    for (const AtBudget& b : a.budgets) count(b.runs), count(b.failed);
  }
  std::string lines;
  for (const auto& [numerics, n] : runs) lines += text("\n", counted(n, "run"), ": ", numerics);
  return lines;
}

std::string method(const StudySummary& s, const Data& data, const MadeBy& how) {
  const double tokens = double(s.config.train.steps * s.config.train.batch * s.config.model.length);
  StudyConfig shown = s.config;  // of the path the name alone: a page is passed on, folders say whose it was
  shown.text_path = Path(s.config.text_path).filename().string();
  std::string html =
      report::paragraph(text("Data: ", shown.text_path.empty() ? shown.data : shown.text_path, "."));
  for (const std::string& sentence : data.describe()) html += report::paragraph(sentence);
  if (data.training_tokens() > 0)
    html += report::paragraph(text("A run of the largest budget sees ", grouped(tokens),
                                   " tokens: ", fixed(tokens / data.training_tokens(), 2), " epochs."));
  html += report::paragraph(
      "A seed fixes the initial weights and the order of the data. All arms share both, so differences are "
      "paired. The optimiser is AdamW with warm-up, a cosine schedule and weight decay on matrices only. One "
      "rule chooses the learning rate of each arm.");
  html += report::paragraph(
      text("Runs: ", s.planned, " planned, ", s.finished, " finished, ", s.failed, " failed."));
  html += "<h3>The command</h3>\n" + report::preformatted(how.command);
  html += derived_sizes(s.config);
  html += "<h3>The resolved configuration (study.toml)</h3>\n" + report::preformatted(print_toml(shown));
  html += "<h3>Version and machine</h3>\n" +
          report::preformatted(text("gnomon ", GNOMON_VERSION, "\n", how.machine, computed_by(s)));
  return html;
}

}  // namespace

std::string study_page(const StudySummary& s, const Data& data, const StudyFolder& folder,
                       const MadeBy& how) {
  report::Page page(text("Which position encoding? ",
                         s.config.is_task() ? s.config.data : Path(s.config.text_path).filename().string()));
  for (const std::string& sentence : study_answers(s)) page.lead(sentence);
  const std::string block = s.config.model.block == "gpt" ? "" : text("block ", s.config.model.block, ", ");
  page.lead(text("Model: ", block, counted(std::size_t(s.config.model.layers), "layer"), ", ",
                 s.config.model.width, " channels, ", counted(std::size_t(s.config.model.heads), "head"),
                 ", ", s.config.model.is_causal() ? "causal" : "bidirectional with masked bytes",
                 ". Training: ", grouped(double(s.config.train.steps)), " steps of ",
                 counted(std::size_t(s.config.train.batch), "window"), " of ",
                 grouped(double(s.config.model.length)), " bytes."));
  page.section("Ranking", ranking(s));
  if (const std::string told = predictions_section(s); !told.empty())
    page.section("Predicted before the run", told);
  failures(s, page);
  page.section("Budgets", budgets(s));
  page.section("Learning rates", rates(s));
  if (s.metric) {
    std::vector<int> styles;
    for (const ArmSummary& a : s.arms) styles.push_back(style_of(s, a.arm));
    page.section("Right answers", study_right_answers(s, styles));
  } else {
    page.section("Longer windows than in training", extrapolation(s));
  }
  page.section("While training", training(s));
  page.section("Within the window", within_window(s));
  std::string gallery = report::paragraph(
      "What each encoding adds to the words or does in attention, from its definition and its learned "
      "parameters, if it has any. A click on a name opens its pictures; they are not printed.");
  for (const auto& a : s.arms) gallery += report::folded(a.arm, portraits(s, folder, a));
  page.section("The encodings", gallery);
  page.section("How this was made", method(s, data, how));
  page.data(results_json(s));
  return page.html();
}

}  // namespace gnomon::pages
