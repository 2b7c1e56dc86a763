#include <algorithm>
#include <cmath>
#include <numbers>

#include "gnomon/core/error.h"
#include "gnomon/core/memory.h"
#include "gnomon/core/readable.h"
#include "gnomon/core/text.h"
#include "gnomon/models/explain/guesses.h"
#include "gnomon/pages/explain.h"
#include "gnomon/pages/explain_words.h"
#include "gnomon/pages/tower_words.h"
#include "gnomon/report/chart.h"
#include "gnomon/report/page.h"

namespace gnomon::pages {
namespace {

std::string name_of(const LayerGroup& g) {
  const std::string component = g.position.component.empty() ? "" : g.position.component + " ";
  return text(component, g.layers.size() == 1 ? "layer " : "layers ", layers_text(g.layers));
}
// What tells a group from the others at a glance.
std::string short_name(const LayerGroup& g) {
  if (g.theta && !g.numbers().inv_freq.empty()) return text("theta ", grouped(*g.theta));
  return g.kind == "none" ? "no position" : g.kind;
}

std::vector<double> decades(double least, double most) {
  std::vector<double> ticks;
  for (double tick = 1; tick <= most; tick *= 10)
    if (tick >= least) ticks.push_back(tick);
  return ticks;
}

// A level line over pairs.
report::Series level(const std::string& name, double pairs, double y, int style) {
  return {name, {{0, y}, {std::max(1.0, pairs - 1), y}}, style};
}

std::string wavelengths(const Explanation& e) {
  report::LineChart chart{marked(text("Wavelength of each pair, against ", first_length(e)), !e.model.known),
                          text("Tokens for one full turn. Pairs above the line of ", first_length(e),
                               " do not complete a turn within it. Pairs that never turn are left out."),
                          {"pair of channels"},
                          {"tokens", true},
                          {}};
  double pairs = 0, least = double(e.trained()), most = double(std::max(e.trained(), e.model.longest));
  const auto add = [&](const std::string& name, const std::vector<double>& w, int style, bool thin) {
    report::Series line{name, {}, style, thin};
    for (std::size_t n = 0; n < w.size(); ++n) {
      if (w[n] <= 0) continue;
      const double tokens = 2 * std::numbers::pi / w[n];
      line.points.emplace_back(double(n), tokens);
      least = std::min(least, tokens), most = std::max(most, tokens);
    }
    pairs = std::max(pairs, double(w.size()));
    chart.series.push_back(std::move(line));
  };
  int style = 0;
  for (const LayerGroup& g : e.groups) {
    const Numbers& n = g.numbers();
    if (n.inv_freq.empty()) continue;
    const bool alone = std::count_if(e.groups.begin(), e.groups.end(), [&](const LayerGroup& other) {
                         return short_name(other) == short_name(g);
                       }) == 1;
    add(alone ? short_name(g) : text(short_name(g), ", ", name_of(g)), n.inv_freq, style++, false);
    if (!g.theta) continue;
    const auto plain = plain_frequencies(g);
    if (plain != n.inv_freq) add("without the extension", plain, style++, true);
  }
  if (chart.series.empty()) return "";
  chart.series.push_back(level(text(e.model.longest > e.trained() ? "before the extension: " : "trained: ",
                                    grouped(double(e.trained()))),
                               pairs, double(e.trained()), style++));
  if (e.model.longest > e.trained())
    chart.series.push_back(
        level(text("promised: ", grouped(double(e.model.longest))), pairs, double(e.model.longest), style++));
  chart.y.ticks = decades(least, most);
  return report::draw(chart);
}

// One point a layer, as high as it sees.
std::string layer_map(const Explanation& e) {
  const LayerGroup& first = e.groups.front();
  const bool vary = std::any_of(e.groups.begin(), e.groups.end(), [&](const LayerGroup& g) {
    return &g != &first && g.position.component == first.position.component &&
           short_name(g) != short_name(first);
  });
  if (!vary) return "";
  const double all = double(std::max(e.trained(), e.model.longest));
  report::LineChart chart{marked("What each layer sees, and its position encoding", !e.model.known),
                          text("A layer without a window sees all ", grouped(all), " tokens."),
                          {"layer"},
                          {"tokens that a query sees", true},
                          {}};
  double least = all;
  int style = 0;
  for (const LayerGroup& g : e.groups) {
    report::Series points{text(g.position.component, g.position.component.empty() ? "" : ": ", short_name(g),
                               g.window ? text(", window ", grouped(double(*g.window))) : ""),
                          {},
                          style++};
    points.markers = true, points.line = false;
    for (const std::int64_t layer : g.layers)
      points.points.emplace_back(double(layer), g.window ? double(*g.window) : all);
    if (g.window) least = std::min(least, double(*g.window));
    chart.series.push_back(std::move(points));
  }
  chart.y.ticks = decades(least / 10, all * 10);
  return report::draw(chart);
}

std::string biases(const Explanation& e, const LayerGroup& g) {
  const auto& slopes = g.numbers().slopes;
  if (slopes.empty()) return "";
  const std::int64_t T = e.trained();
  report::LineChart chart{"Bias against distance, by head",
                          text("Added to the logit; ", slopes.size(), " heads",
                               slopes.size() > 8 ? ", eight of them drawn." : "."),
                          {"distance in tokens"},
                          {"bias, nats of logit"},
                          {}};
  const std::size_t drawn = std::min<std::size_t>(slopes.size(), 8);
  for (std::size_t n = 0; n < drawn; ++n) {
    const std::size_t h = drawn < 2 ? 0 : n * (slopes.size() - 1) / (drawn - 1);
    chart.series.push_back({text("head ", h), {{0, 0}, {double(T), -slopes[h] * double(T)}}, int(n)});
  }
  return report::draw(chart);
}

std::string bucket_picture(const LayerGroup& g) {
  if (g.buckets.empty()) return "";
  report::LineChart chart{"T5's bucket for each distance, for keys before the query",
                          "Distances in one bucket share a learned bias; all distances beyond the last step "
                          "share the last bucket.",
                          {"distance in tokens"},
                          {"bucket"},
                          {}};
  report::Series line{"", {}, 0};
  for (const SharedBucket& b : g.buckets) {
    line.points.emplace_back(double(b.first), double(b.bucket));
    line.points.emplace_back(double(b.last < 0 ? 2 * b.first : b.last), double(b.bucket));
  }
  chart.series = {line};
  return report::draw(chart);
}

std::string labelled(const std::string& name, const std::string& says) {
  return "<p><b>" + report::escape(name) + "</b> " + report::escape(says) + "</p>\n";
}

std::string group_html(const Explanation& e, const LayerGroup& g) {
  report::Table why{{"what", "value", "key", "rule"}, {}};
  std::string out;
  for (const Line& line : group_lines(e, g, false))
    if (line.name != "from" && !line.name.empty()) out += labelled(line.name, line.says);
  for (const Because& b : g.position.because)
    why.rows.push_back({{b.what}, {marked(b.value, is_guess(e, b))}, {b.key}, {b.rule}});
  out += biases(e, g) + bucket_picture(g);
  if (!why.rows.empty()) out += report::folded("Where each number comes from", report::draw(why));
  if (const auto& w = g.numbers().inv_freq; !w.empty()) {
    report::Table all{{"pair", "radians per token", "tokens per turn"}, {}};
    for (std::size_t n = 0; n < w.size(); ++n)
      all.rows.push_back(
          {{text(n), double(n), true},
           {shortest(w[n]), w[n], true},
           {w[n] > 0 ? significant(2 * std::numbers::pi / w[n]) : "–", w[n] > 0 ? 1 / w[n] : 0, true}});
    out +=
        report::folded(marked("Every frequency", is_guess(e, g, Quantity::frequencies)), report::draw(all));
  }
  const std::string command = show_command(g);
  return command.empty() ? out : out + report::preformatted(command);
}

std::string tower_html(const Tower& t) {
  report::Table why{{"what", "value", "key", "rule"}, {}};
  std::string out = report::paragraph(tower_answer(t));
  for (const Line& line : tower_lines(t, false))
    if (line.name != "from" && !line.name.empty()) out += labelled(line.name, line.says);
  for (const auto* because : {&t.because, &t.position.because})
    for (const Because& b : *because) why.rows.push_back({{b.what}, {b.value}, {b.key}, {b.rule}});
  if (!why.rows.empty()) out += report::folded("Where each number comes from", report::draw(why));
  report::Table all{{"axis", "channels", "radians"}, {}};
  for (const TowerAxis& axis : tower_axes(t))
    for (const TurnedPair& p : axis.pairs)
      all.rows.push_back({{axis.name},
                          {text(p.low, ", ", p.high), double(p.low), true},
                          {shortest(p.frequency), p.frequency, true}});
  return all.rows.empty() ? out : out + report::folded("Every frequency", report::draw(all));
}

std::string lengths_html(const Explanation& e) {
  std::string out;
  for (std::size_t n = 0; n < e.lengths.size(); ++n) {
    out += text("<h3>", grouped(double(e.lengths[n])), " tokens</h3>\n");
    for (const std::string& one : at_length(e, n)) out += report::paragraph(one);
    if (e.cache)
      out +=
          report::paragraph(marked("Keys and values: " + bytes_text(double(e.cache->at[n])), !e.model.known));
  }
  return out + labelled("Key cache", cache_text(e));
}

}  // namespace

std::string explain_page(const Explanation& e) {
  report::Page page("gnomon: position in " + e.where);
  std::string answer;
  for (const std::string& sentence : explain_answers(e)) answer += (answer.empty() ? "" : " ") + sentence;
  page.lead(answer);
  std::string remarks;
  for (const Remark& r : e.model.remarks)
    if (!r.refused) remarks += report::paragraph(remark_sentence(r));
  if (!remarks.empty()) page.section("Remarks", remarks);
  if (const std::string pictures = e.model.tower_alone ? "" : layer_map(e) + wavelengths(e);
      !pictures.empty())
    page.section("At a glance", pictures);
  for (const LayerGroup& g : e.groups) {
    if (e.model.tower_alone) break;  // told below
    std::string title = name_of(g);
    title[0] = char(title[0] - 'a' + 'A');
    page.section(title, group_html(e, g));
  }
  for (const Tower& tower : e.model.towers) page.section(tower_name(tower), tower_html(tower));
  if (!e.model.tower_alone) page.section("Longer contexts", lengths_html(e));
  page.data(explain_json(e, -1));
  return page.html();
}

}  // namespace gnomon::pages
