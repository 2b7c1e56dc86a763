// Is order there without an encoding?
#include <algorithm>
#include <cmath>

#include "gnomon/claims/parts.h"
#include "gnomon/lens/order.h"
#include "gnomon/lens/probe.h"

namespace gnomon::claims {

Question question_is_order_implicit = {
    .key = "is_order_implicit",
    .title = "Is order there without an encoding?",
    .lead = "004-07",
    .answer =
        "Under a causal mask, yes: eight layers without any encoding make themselves a position that a "
        "linear probe reads with R² {004-07|best}. An encoding gives it at once and saves training, "
        "{004-07|gap} nats at two layers and {004-07|gap_deep} at eight."};

namespace {

using enum Verdict;

Finding implicit(Desk& desk) {
  Finding f;
  const Recipe none = desk.language("none"), sinus = desk.language("sinusoidal"),
               table_ = desk.language("learned");
  const Estimate gap = loss_difference(desk, none, sinus), to_learned = loss_difference(desk, none, table_);
  f.estimate("gap", "causal, loss without positions, less the sinusoid's (nats)", gap);
  f.estimate("gap_learned", "causal, loss without positions, less a learned table's (nats)", to_learned);
  const Recipe deep_none = none.deep(8), deep_sinus = sinus.deep(8);
  const Estimate deep_gap = loss_difference(desk, deep_none, deep_sinus);
  f.estimate("gap_deep", "causal, 8 layers, loss without positions, less the sinusoid's (nats)", deep_gap);
  const Sample sample = desk.held_out(none, desk.quick ? 60 : 300);
  std::vector<double> before, after;
  for (const Outcome& o : desk.models(deep_none)) {
    const auto h = streams(o.look(), sample);
    before.push_back(probe_positions(h.front(), sample.T).r2);
    double best = 0;
    for (const Matrix& x : h) best = std::max(best, probe_positions(x, sample.T).r2);
    after.push_back(best);
  }
  f.estimate("embedding", "no position, 8 layers: R² of a position probe at the embedding",
             mean_interval(before), 3);
  f.estimate("best", "no position, 8 layers: best R² in any layer", mean_interval(after), 3);
  std::vector<std::pair<std::string, std::vector<double>>> rows;
  for (const std::int64_t kept : {0, 1, 2, 4, 8, 16}) {
    const Estimate cost = mean_interval(each(desk, none, [&](const Outcome& o) {
      return shuffle_cost(o.look(), desk.held_out(none, desk.quick ? 64 : 256), kept, 9);
    }));
    rows.push_back({text("all shuffled but the last ", kept), {cost.mean, cost.half_width}});
  }
  f.figures = {table(
      {{"no position, causal, 2 layers", "loss of the next byte, more than intact (nats)", "±"}, rows, 3})};
  f.answer = text(
      "Yes: without any encoding a causal model of eight layers makes itself a position, readable with R² ",
      fixed(mean_interval(after).mean, 2), " where the embedding has ", fixed(mean_interval(before).mean, 2),
      ". An encoding still saves work: without one the loss of two layers is ", compared(gap),
      ", of eight layers ", compared(deep_gap), ".");
  return f;
}
const Record claim_004_07 = Claim{
    .question = &question_is_order_implicit,
    .id = "004-07",
    .says = "Causal language models learn order implicitly; an encoding reduces the burden.",
    .method =
        "loss without positions less with, at 2 and 8 layers, paired; a linear probe for the position in "
        "models without any; the loss when the text before the last tokens is shuffled",
    .expects = "a gap that is small beside the encoder's; a position that appears after some layers",
    .advice = "A decoder without positions works; give it depth and time.",
    .recorded = holds,
    .verdicts = {{holds, {below("embedding", .1), above("best", .5)}}, otherwise(undecided)},
    .recipes =
        [](const Desk& d) {
          return std::vector{d.language("none"), d.language("sinusoidal"), d.language("learned"),
                             d.language("none").deep(8), d.language("sinusoidal").deep(8)};
        },
    .measure = implicit,
};

Finding takes_load(Desk& desk) {
  Finding f;
  const char* specs[] = {"none", "learned", "sinusoidal", "alibi", "t5", "rope"};
  report::LineChart chart{"Held-out loss while training",
                          "Causal models of two layers on text; mean over seeds.",
                          {"thousand bytes seen"},
                          {"nats per byte"},
                          {}};
  const double goal = loss(desk, desk.language("none")).mean;
  double none = 0, rope = 0;
  for (const char* spec : specs) {
    const auto& models = desk.models(desk.language(spec));
    report::Series s{spec, {}, int(chart.series.size())};
    for (const Outcome& o : models) {
      s.points.resize(o.curve.size());
      for (std::size_t k = 0; k < o.curve.size(); ++k)
        s.points[k] = {o.curve[k].first / 1e3,
                       s.points[k].second + o.curve[k].second / double(models.size())};
    }
    const auto reached = std::find_if(s.points.begin(), s.points.end(),
                                      [&](const auto& p) { return p.second <= goal + 1e-9; });
    const double at = reached == s.points.end() ? std::nan("") : reached->first;
    f.number(text("bytes.", spec), text("thousand bytes until the final loss of `none`, ", spec), at, 0);
    if (std::string_view(spec) == "none") none = at;
    if (std::string_view(spec) == "rope") rope = at;
    chart.series.push_back(std::move(s));
  }
  const Estimate gain = loss_difference(desk, desk.language("rope"), desk.language("none"));
  f.estimate("gain", "loss of RoPE, less no position (nats)", gain);
  f.figures = {chart};
  f.answer = text("Yes, as far as training goes: what a model without positions reaches after ",
                  fixed(none, 0), " thousand bytes, one with RoPE reaches after ", fixed(rope, 0),
                  " thousand; at the end it is ", compared(gain), ".");
  return f;
}
const Record claim_004_05 = Claim{
    .question = &question_is_order_implicit,
    .id = "004-05",
    .says = "Do positions take load off the attention?",
    .method =
        "bytes of training until the loss that a model without positions ends at; final losses paired by "
        "seed",
    .expects = "fewer with positions",
    .advice = "Even if positions are dropped later, they pay for themselves in training.",
    .recorded = holds,
    .verdicts = {{holds, {below("gain")}}, otherwise(undecided)},
    .recipes =
        [](const Desk& d) {
          std::vector<Recipe> all;
          for (const char* s : {"none", "learned", "sinusoidal", "alibi", "t5", "rope"})
            all.push_back(d.language(s));
          return all;
        },
    .measure = takes_load,
};

// Plug-in mutual information of token and position, in nats: (first tokens of) windows at these starts.
double information(const std::vector<std::vector<unsigned char>>& windows) {
  const std::size_t T = windows.front().size();
  std::vector<double> joint(256 * T, 0.0), token(256, 0.0);
  const double n = double(windows.size() * T);
  for (const auto& w : windows) {
    for (std::size_t t = 0; t < T; ++t) joint[w[t] * T + t] += 1 / n, token[w[t]] += 1 / n;
  }
  double sum = 0;
  for (std::size_t k = 0; k < joint.size(); ++k)
    sum += joint[k] > 0 ? joint[k] * std::log(joint[k] / (token[k / T] / double(T))) : 0;
  return sum;
}

struct Excess {
  double found, null, null_sd;
};

Excess information_excess(std::vector<std::vector<unsigned char>> windows, std::int64_t shuffles) {
  Excess e{information(windows), 0, 0};
  const Random random(8, "shuffled positions");
  std::vector<double> nulls;
  for (std::int64_t s = 0; s < shuffles; ++s) {
    std::uint64_t draw = std::uint64_t(s) * 10000000;
    for (auto& w : windows) {
      for (std::size_t i = w.size() - 1; i > 0; --i) std::swap(w[i], w[random.below(draw++, i + 1)]);
    }
    nulls.push_back(information(windows));
  }
  for (const double v : nulls) e.null += v / double(nulls.size());
  for (const double v : nulls) e.null_sd += (v - e.null) * (v - e.null) / double(nulls.size() - 1);
  e.null_sd = std::sqrt(e.null_sd);
  return e;
}

Finding related(Desk& desk) {
  Finding f;
  const std::string_view bytes = desk.text().content();
  constexpr std::size_t T = 16;
  const std::int64_t wanted = desk.draws(4000);
  std::vector<std::size_t> line_starts;
  for (std::size_t at = 0; at + T + 1 < bytes.size(); ++at) {
    if (bytes[at] == '\n') line_starts.push_back(at + 1);
  }
  constexpr std::size_t kLines = 100;  // fewer, drawn again and again, would be told by heart
  if (line_starts.size() < kLines)
    throw NotMeasurable(text("The text has ", line_starts.size(), " line", line_starts.size() == 1 ? "" : "s",
                             " to begin windows with: this needs at least ", kLines, "."));
  if (bytes.find_first_not_of(bytes.front()) == bytes.npos)
    throw NotMeasurable("The text repeats one byte, which says nothing about any position.");
  std::vector<std::vector<unsigned char>> lines, anywhere;
  const Random random(4, "places in a text");
  for (std::int64_t n = 0; n < wanted; ++n) {
    const auto take = [&](std::size_t at) {
      return std::vector<unsigned char>(bytes.begin() + std::ptrdiff_t(at),
                                        bytes.begin() + std::ptrdiff_t(at + T));
    };
    lines.push_back(take(line_starts[random.below(std::uint64_t(2 * n), line_starts.size())]));
    anywhere.push_back(take(random.below(std::uint64_t(2 * n + 1), bytes.size() - T - 1)));
  }
  const Excess start = information_excess(lines, desk.draws(100)),
               crop = information_excess(anywhere, desk.draws(100));
  f.between("line_starts", "I(letter; position) at line starts, less shuffled (nats)",
            start.found - start.null, .01, 10, 4);
  f.number("deviation", "deviation of the shuffled", start.null_sd, 5);
  f.between("places_z", "the same at random places, in deviations of the shuffled",
            (crop.found - crop.null) / crop.null_sd, -4, 4, 2);
  f.number("places", "the same at random places (nats)", crop.found - crop.null, 5);
  f.answer = text(
      "True inside a text cut at random places: nothing beyond chance. Wrong where windows begin with "
      "documents or lines: there the position says ",
      fixed(start.found - start.null, 3),
      " nats about the letter. [CLS] and [SEP] of BERT are the extreme case.");
  return f;
}
const Record claim_000_06 = Claim{
    .question = &question_is_order_implicit,
    .id = "000-06",
    .says = "There is no reason to think that a word and its position are related.",
    .method =
        "plug-in mutual information of letter and position in windows of 16, less the mean of 100 copies "
        "with shuffled positions; 4,000 windows at line starts and at random places of the text",
    .expects = "more than 0 at the starts of lines or documents, nothing at random places",
    .advice = "Crop training windows at random if positions should say nothing about words.",
    .recorded = conditional,
    .verdicts = {{conditional, {asked("line_starts"), asked("places_z")}}},
    .recipes =
        [](const Desk& d) {
          d.text();  // no model, but the text: to be missed before anything is measured
          return std::vector<Recipe>();
        },
    .measure = related,
};

}  // namespace
}  // namespace gnomon::claims
