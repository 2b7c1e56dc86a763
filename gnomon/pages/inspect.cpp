#include "gnomon/pages/inspect.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numbers>

#include "gnomon/core/error.h"
#include "gnomon/core/readable.h"
#include "gnomon/core/text.h"
#include "gnomon/core/unprintable.h"
#include "gnomon/report/chart.h"
#include "gnomon/report/page.h"

namespace gnomon::pages {
namespace {

using Json = nlohmann::ordered_json;
using report::Page;

Json number(double x) { return std::isfinite(x) ? Json(x) : Json(nullptr); }

Json json_of(const EntrySizes& e) {
  return {{"deviation", e.deviation}, {"largest", e.largest}, {"within_two", e.within_two}};
}
Json json_of(const TableLook& t) {
  return {{"words", t.words},
          {"positions", t.positions},
          {"width", t.width},
          {"norm_ratio", t.norms.raw},
          {"norm_ratio_centred", t.norms.centred},
          {"word_length", t.word_length},
          {"position_length", t.position_length},
          {"word_rank", t.word_rank},
          {"position_rank", t.position_rank},
          {"components_95", t.components},
          {"word_components_95", t.word_components},
          {"within_words", t.within},
          {"within_chance", t.chance},
          {"mean_cosine", t.mean_cosine},
          {"size_of_cosine", t.size_of_cosine},
          {"channels", t.channels},
          {"by_distance", t.by_distance},
          {"slow", t.slow},
          {"roughness", t.roughness},
          {"first_row", t.first_row},
          {"identity", t.identity},
          {"identity_normed", t.identity_normed},
          {"recall", t.recall},
          {"recall_normed", t.recall_normed},
          {"entries", json_of(t.entries)},
          {"entries_normed", json_of(t.entries_normed)},
          {"plane", {{"word_share", t.plane.word_share}, {"position_share", t.plane.position_share}}}};
}
Json json_of(const PositionProbe& p) { return {{"r2", p.r2}, {"error", p.error}, {"accuracy", p.accuracy}}; }
Json json_of(const Change& c, Measure measure) {
  const bool rows = measure == Measure::rows;
  return {{"what", c.what},
          {"nats", rows ? Json(nullptr) : number(c.value)},
          {"half_width_95", number(c.half_width)},
          {"pooled", rows ? number(c.value) : Json(nullptr)}};
}
Json json_of(const std::vector<Change>& changes, Measure measure) {
  Json all = Json::array();
  for (const Change& c : changes) all.push_back(json_of(c, measure));
  return all;
}
Json json_of(const Masking& m, const std::string& says) {
  return {{"says", says},
          {"seed", m.seed},
          {"mask_token", m.mask},
          {"scored", Masking::kScored},
          {"mask", Masking::kMask},
          {"random", Masking::kRandom},
          {"random_below", m.vocabulary}};
}
Json heads_json(const Inspection& found) {
  Json all = Json::array();
  for (std::size_t l = 0; l < found.heads.size(); ++l) {
    for (std::size_t h = 0; h < found.heads[l].size(); ++h) {
      const HeadWatched& w = found.heads[l][h];
      all.push_back({{"layer", l},
                     {"head", h},
                     {"type", w.habits.type()},
                     {"distance", w.habits.distance},
                     {"entropy", w.habits.entropy},
                     {"own", w.habits.own},
                     {"previous", w.habits.previous},
                     {"first", w.habits.first},
                     {"by_distance", w.by_distance}});
    }
  }
  return all;
}
Json pairs_json(const Inspection& found) {
  Json all = Json::array();
  for (std::size_t n = 0; n < found.pairs.size(); ++n) {
    for (std::size_t h = 0; h < found.pairs[n].size(); ++h) {
      Json pairs = Json::array();
      for (const PairUse& u : found.pairs[n][h])
        pairs.push_back({{"bound", u.bound}, {"share", u.share}, {"concentration", u.concentration}});
      all.push_back({{"layer", found.pair_layers[n]}, {"head", h}, {"pairs", pairs}});
    }
  }
  return all;
}

// --- The page

constexpr const char* kTerms[] = {"word", "position", "type, norm", "bias"};

std::string table_section(const TableLook& t) {
  const auto row = [](const std::string& what, double value, int digits) {
    return std::vector<report::Table::Cell>{{what}, {grouped(value, digits), value, true}};
  };
  return report::draw(report::Table{
             {"table of positions", "value"},
             {row("length of a position vector / length of a word vector", t.norms.raw, 3),
              row("the same after subtracting both means", t.norms.centred, 3),
              row("effective rank of positions", t.position_rank, 1),
              row("effective rank of words", t.word_rank, 1),
              row("directions with 95 % of the variance of positions", double(t.components), 0),
              row("share of that variance in the word subspace (95 % of the variance of words)", t.within, 3),
              row("the same in a random subspace", t.chance, 3),
              row("cosine of the mean word and the mean position", t.mean_cosine, 3),
              row("share of the variance of e·eᵀ that distance explains", t.by_distance, 3),
              row("roughness: |e(p+1) − e(p)|² / |e − mean|²; 2 for independent rows", t.roughness, 3),
              row("first row: distance to the mean / that of the other rows", t.first_row, 2),
              row("share of words that are still nearest to themselves with a position added", t.identity, 3),
              row("the same after the norm of the embedding", t.identity_normed, 3),
              row("share of nearest neighbours that stay with a position added", t.recall, 3),
              row("the same after the norm of the embedding", t.recall_normed, 3)}}) +
         report::paragraph(
             text("Of all ", grouped(double(t.words)), " words and ", grouped(double(t.positions)),
                  " positions; ", std::min(kWordsAsked, t.words),
                  " of the words, evenly spread, are compared with their neighbours. A position vector is ",
                  grouped(t.norms.raw, 2), " times as long as a word vector."));
}

std::string plane_section(const TablePlane& plane) {
  report::LineChart chart{
      "Words and positions on a plane",
      text("Across: the direction in which words vary most, with ", grouped(100 * plane.word_share),
           " % of their variance. Up: the direction at a "
           "right angle in which positions vary most, with ",
           grouped(100 * plane.position_share),
           " % of theirs. The cloud is one word with each "
           "position added to it.",
           plane.apart_by < 6 ? "" : text(" Position ", plane.apart, " stands apart from the others.")),
      {"along the first direction of words", false, {}, false},
      {"along the first direction of positions", false, {}, false},
      {}};
  const auto points = [&](const char* name, const auto& of, int style) {
    chart.series.push_back({name, of, style, false, true, false});
  };
  points("words", plane.words, 1), points("positions", plane.positions, 0),
      points("the cloud", plane.cloud, 2);
  return report::draw(chart);
}

std::string terms_section(const Inspection& found) {
  report::Table table{{"head", "word·word", "word·position", "position·word", "position·position", "rest"},
                      {}};
  for (std::size_t h = 0; h < found.terms.size(); ++h) {
    const TermsLook& t = found.terms[h];
    std::vector<report::Table::Cell> row{{text(h), double(h), true}};
    double rest = 1;
    for (const auto& [a, b] : {std::pair{0, 0}, {0, 1}, {1, 0}, {1, 1}}) {
      const double share = t.shares.at(a, b), half = t.half_widths.at(a, b);
      row.push_back({within(share, half, 3), share, true});
      rest -= share;
    }
    row.push_back({grouped(rest, 3), rest, true});
    table.rows.push_back(row);
  }
  return report::draw(table) +
         report::paragraph(
             "Shares of the variance of the logits within a row (the softmax sees nothing else). They sum to "
             "1 and may be negative; ±: 95 % interval over windows. The first of a pair belongs to the "
             "query. Rest: token types, bias of the norm, biases of the projections.");
}

std::string heads_section(const Inspected& in) {
  const std::size_t L = in.found.heads.size(), H = in.found.heads.front().size();
  const auto map = [&](const std::string& title, const std::string& note, auto&& value) {
    report::HeatMap m{title, note, "head", "layer", L, H, {}};
    for (const auto& layer : in.found.heads)
      for (const HeadWatched& h : layer) m.values.push_back(value(h));
    return report::draw(m);
  };
  return map("Weight on the first token", "Above 0.5: a sink.",
             [](const HeadWatched& h) { return h.habits.first; }) +
         map("Weight on the previous token", "Above 0.5: a previous-token head.",
             [](const HeadWatched& h) { return h.habits.previous; }) +
         map("Logits explained by distance",
             "Share of the variance of the logits within a row that the distance between query and key alone "
             "explains.",
             [](const HeadWatched& h) { return h.by_distance; });
}

std::string streams_section(const Inspected& in) {
  report::LineChart chart{"What the stream varies with",
                          "Two-way means over sequences, without the first token of a window, corrected for "
                          "chance. Thin lines: 95 % intervals over blocks of the text.",
                          {"layer", false, {}, false},
                          {"share of the variance", false, {}, false},
                          {}};
  report::Series position{"position", {}, 0, false, true, true}, token{"word", {}, 1, false, true, true},
      rest{"context", {}, 2, false, true, true};
  report::LineChart probes{
      "Position, read by a linear probe",
      text("Mean error in tokens, on sequences that the probe has not seen; for a constant guess ",
           grouped(double(in.found.probed) / 4, 1), "."),
      {"layer", false, {}, false},
      {"tokens", false, {}, false},
      {}};
  report::Series error{"stream", {}, 0, false, true, true}, words{"words alone", {}, 1, false, false, true},
      untrained{"random weights", {}, 2, false, true, true};
  for (std::size_t l = 0; l < in.found.streams.size(); ++l) {
    const StreamLook& s = in.found.streams[l];
    position.points.emplace_back(double(l), s.variance.position);
    token.points.emplace_back(double(l), s.variance.token);
    rest.points.emplace_back(double(l), s.variance.rest);
    if (s.probe) error.points.emplace_back(double(l), s.probe->error);
    if (s.untrained) untrained.points.emplace_back(double(l), s.untrained->error);
    if (in.found.word_probe) words.points.emplace_back(double(l), in.found.word_probe->error);
  }
  chart.series = {position, token, rest}, probes.series = {error, words, untrained};
  for (const double side : {-1.0, 1.0}) {
    report::Series edge[] = {
        {"", {}, 0, true, false, true}, {"", {}, 1, true, false, true}, {"", {}, 2, true, false, true}};
    for (std::size_t l = 0; l < in.found.streams.size(); ++l) {
      const VarianceShares &v = in.found.streams[l].variance, &h = in.found.streams[l].half_width;
      if (std::isnan(h.position)) continue;
      edge[0].points.emplace_back(double(l), v.position + side * h.position);
      edge[1].points.emplace_back(double(l), v.token + side * h.token);
      edge[2].points.emplace_back(double(l), v.rest + side * h.rest);
    }
    for (const report::Series& e : edge) chart.series.push_back(e);
  }
  return report::draw(chart) + report::draw(probes);
}

std::string pairs_section(const Inspection& found) {
  std::string html;
  for (std::size_t n = 0; n < found.pairs.size(); ++n) {
    const std::size_t H = found.pairs[n].size(), P = found.pairs[n].front().size();
    report::HeatMap m{text("Layer ", found.pair_layers[n], ": what each pair of channels adds to the logits"),
                      "Share of the variance of the logits within a row. Pair 0 rotates fastest.",
                      "pair",
                      "head",
                      H,
                      P,
                      {}};
    for (const auto& head : found.pairs[n])
      for (const PairUse& u : head) m.values.push_back(u.share);
    html += report::draw(m);
  }
  return html;
}

std::string changes_section(const Inspection& found, const std::vector<Change>& changes,
                            const std::string& title) {
  const bool loss = found.measure != Measure::rows;
  report::IntervalChart chart{title,
                              loss ? "95 % intervals over windows of the text."
                                   : "1 − cosine between the mean output vectors of a window.",
                              loss ? text(unit_of(found.measure), " more") : "1 − cosine",
                              {}};
  for (const Change& c : changes) chart.rows.push_back({c.what, c.value, c.half_width, 0, {}});
  chart.of_most = true;
  return report::draw(chart);
}

std::string head_changes(const Inspected& in) {
  const bool loss = in.found.measure != Measure::rows;
  report::HeatMap m{"Position removed from one head",
                    text(unit_of(in.found.measure), loss ? " more." : "."),
                    "head",
                    "layer",
                    std::size_t(in.layers),
                    std::size_t(in.heads),
                    {}};
  for (const auto& r : in.found.head_removals) m.values.push_back(r.change.value);
  return report::draw(m);
}

std::string places_section(const Inspection& found) {
  report::LineChart chart{"Loss by place in the window",
                          "Mean over windows; thin lines: 95 % intervals over windows.",
                          {"place of the token", true, {}, false},
                          {std::string(unit_of(found.measure)), false, {}, false},
                          {}};
  report::Series mean{"loss", {}, 0, false, false, true}, low{"", {}, 0, true, false, true}, high = low;
  for (const LossAt& l : found.by_place) {
    const double x = double(l.first) + 1;
    mean.points.emplace_back(x, l.nats);
    if (std::isnan(l.half_width)) continue;
    low.points.emplace_back(x, l.nats - l.half_width), high.points.emplace_back(x, l.nats + l.half_width);
  }
  chart.series = {mean, low, high};
  return report::draw(chart);
}

std::string readings_section(const Inspection& found) {
  report::Table table{{"way of reading", "tokens", std::string(unit_of(found.measure)), "spec"}, {}};
  for (const LongReading& r : found.readings)
    table.rows.push_back({{r.way},
                          {grouped(double(r.tokens)), double(r.tokens), true},
                          {within(r.nats, r.half_width, 3), r.nats, true},
                          {r.spec}});
  return report::draw(table) + report::paragraph(
                                   "Loss on the last tokens of a window, with the same weights and another "
                                   "spec, without training. ±: 95 % interval over blocks of these tokens.");
}

}  // namespace

std::string inspect_json(const Inspected& in) {
  const Inspection& f = in.found;
  Json j{{"schema", 2},         {"model", in.model},
         {"family", in.family}, {"component", in.component},
         {"text", in.text},     {"spec", in.spec},
         {"causal", in.causal}, {"parameters", in.parameters},
         {"layers", in.layers}, {"heads", in.heads},
         {"width", in.width},   {"trained_length", in.trained_length},
         {"window", f.window},  {"windows", f.windows},
         {"probed", f.probed},  {"says", inspect_words(in)}};
  if (f.table) j["table"] = json_of(*f.table);
  for (const TermsLook& t : f.terms) {
    Json shares = Json::object(), widths = Json::object();
    for (std::int64_t a = 0; a < t.shares.rows; ++a) {
      for (std::int64_t b = 0; b < t.shares.columns; ++b) {
        const std::string name = text(kTerms[a], "·", kTerms[b]);
        shares[name] = t.shares.at(a, b), widths[name] = number(t.half_widths.at(a, b));
      }
    }
    j["terms"].push_back({{"shares", shares}, {"half_widths_95", widths}});
  }
  if (!f.heads.empty()) j["attention"] = heads_json(f);
  for (std::size_t l = 0; l < f.streams.size(); ++l) {
    const StreamLook& s = f.streams[l];
    Json stream{{"layer", l},
                {"position", s.variance.position},
                {"word", s.variance.token},
                {"context", s.variance.rest},
                {"half_widths_95",
                 {{"position", number(s.half_width.position)},
                  {"word", number(s.half_width.token)},
                  {"context", number(s.half_width.rest)}}},
                {"first_length", s.first_length}};
    if (s.probe) stream["probe"] = json_of(*s.probe);
    if (s.untrained) stream["probe_untrained"] = json_of(*s.untrained);
    j["streams"].push_back(stream);
  }
  if (f.word_probe) j["words_alone"] = json_of(*f.word_probe);
  if (!f.pairs.empty()) j["frequencies"] = f.frequencies, j["pairs"] = pairs_json(f);
  if (f.masking) j["masking"] = json_of(*f.masking, how_masked(f));
  j["shifts"] = json_of(f.shifts, f.measure), j["without"] = json_of(f.removals, f.measure);
  for (const auto& r : f.head_removals) {
    Json change = json_of(r.change, f.measure);
    change["layer"] = r.layer, change["head"] = r.head;
    j["without_head"].push_back(change);
  }
  if (f.loss)
    j["loss"] = {{"nats", f.loss->mean},
                 {"half_width_95", number(f.loss->half_width)},
                 {"windows", f.loss_windows},
                 {"window", f.loss_window},
                 {"tokens", f.loss_tokens}};
  for (const LossAt& l : f.by_place)
    j["loss_by_place"].push_back(
        {{"first", l.first}, {"nats", l.nats}, {"half_width_95", number(l.half_width)}});
  for (const LongReading& r : f.readings)
    j["longer"].push_back({{"way", r.way},
                           {"spec", r.spec},
                           {"tokens", r.tokens},
                           {"nats", r.nats},
                           {"half_width_95", number(r.half_width)}});
  j["left_out"] = Json::array();
  for (const auto& l : f.left_out) j["left_out"].push_back({{"part", l.part}, {"why", l.why}});
  return without_unprintables(j.dump(1)) + "\n";
}

std::string inspect_page(const Inspected& in) {
  const std::string name = in.model.substr(in.model.find_last_of('/', in.model.size() - 2) + 1);
  Page page(text("What position does in ", name));
  for (const std::string& sentence : inspect_words(in)) page.lead(sentence);
  page.lead(text(in.family, in.component.empty() ? "" : ", ", in.component, ": ",
                 grouped(double(in.parameters)), " parameters, ", counted(std::size_t(in.layers), "layer"),
                 " of width ", in.width, ", ", counted(std::size_t(in.heads), "head"), ", ", in.spec, "; ",
                 counted(std::size_t(in.found.windows), "window"), " of ", in.found.window, " tokens from ",
                 in.text, "."));
  const Inspection& f = in.found;
  if (f.table)
    page.section("Positions beside words", plane_section(f.table->plane) + table_section(*f.table));
  if (!f.terms.empty()) page.section("Word and position in the first layer's logits", terms_section(f));
  if (!f.heads.empty()) page.section("What heads look at", heads_section(in));
  if (!f.streams.empty()) page.section("How position survives", streams_section(in));
  if (!f.pairs.empty()) page.section("Which frequencies are used", pairs_section(f));
  if (!f.shifts.empty())
    page.section("All positions shifted", changes_section(f, f.shifts, "The same text at later positions"));
  if (!f.removals.empty())
    page.section("Positions removed", changes_section(f, f.removals, "Without positions") +
                                          (f.head_removals.empty() ? "" : head_changes(in)));
  if (!f.by_place.empty()) page.section("Loss against position", places_section(f));
  if (!f.readings.empty()) page.section("Windows longer than in training", readings_section(f));
  std::string left;
  for (const auto& l : f.left_out) left += report::paragraph(text(l.part, ": ", l.why));
  if (!left.empty()) page.section("Left out", left);
  page.data(inspect_json(in));
  return page.html();
}

}  // namespace gnomon::pages
