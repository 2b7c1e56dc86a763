#include "gnomon/pages/study_answers.h"

#include <algorithm>
#include <cmath>

#include "gnomon/core/error.h"
#include "gnomon/core/text.h"
#include "gnomon/report/chart.h"
#include "gnomon/report/page.h"

namespace gnomon::pages {
namespace {

std::string share_text(const ShareInterval& s) {
  return std::isnan(s.low) ? fixed(s.share, 3)
                           : text(fixed(s.share, 3), " [", fixed(s.low, 3), ", ", fixed(s.high, 3), "]");
}

std::vector<std::pair<double, double>> shares(const RunResult& run) {
  std::vector<std::pair<double, double>> points;
  for (const LengthLoss& l : run.by_length)
    points.emplace_back(l.factor, l.right ? l.right->share() : std::nan(""));
  std::sort(points.begin(), points.end());
  return points;
}

report::LineChart by_length(const StudySummary& s, const std::vector<int>& styles) {
  report::LineChart chart{text("Right answers by length: ", name(*s.metric)),
                          text("Thin lines are single seeds, thick lines their means. Often some seeds solve "
                               "a task and others do not; then the mean says little."),
                          {"length: symbols of the payload", false, {}},
                          {text(name(*s.metric), " (", fixed(s.chance, 2), " by chance)")},
                          {}};
  for (std::size_t i = 0; i < s.arms.size(); ++i) {
    const std::vector<RunResult>& runs = s.arms[i].largest().runs;
    report::Series mean{s.arms[i].arm, {}, styles[i], false, true};
    for (const RunResult& run : runs) {
      const auto points = shares(run);
      if (runs.size() > 1) chart.series.push_back({"", points, styles[i], true});
      mean.points.resize(points.size());
      for (std::size_t p = 0; p < points.size(); ++p)
        mean.points[p] = {points[p].first, mean.points[p].second + points[p].second / double(runs.size())};
    }
    if (!runs.empty()) chart.series.push_back(std::move(mean));
  }
  return chart;
}

report::Table table(const StudySummary& s) {
  report::Table t;
  t.head = {"arm (right answers, higher is better)"};
  for (const auto& l : s.arms.front().by_length)
    t.head.push_back(l.factor > 0 ? text("at ", shortest(l.factor)) : "share");
  for (const ArmSummary& a : s.arms) {
    t.rows.push_back({{a.arm}});
    for (const auto& l : a.by_length) {
      const std::string who = text("; ", l.solved, " of ", a.largest().runs.size());
      t.rows.back().push_back(l.share ? report::Table::Cell{share_text(*l.share) + who, l.share->share, true}
                                      : report::Table::Cell{"not defined", -1, true});
    }
  }
  return t;
}

// How often the answer was found, by length (down) and by how far into the window it stands (across), for each arm.
std::string depth_maps(const StudySummary& s) {
  std::string html;
  for (const ArmSummary& a : s.arms) {
    report::HeatMap map{
        text("Answers found, by depth: ", a.arm),
        "Left: the answer stands at the start of the window; right: just before the question. "
        "Red: always found.",
        "depth",
        "length",
        0,
        0,
        {}};
    for (const auto& l : a.by_length) {
      if (l.by_depth.empty()) continue;
      map.columns = l.by_depth.size(), ++map.rows;
      for (const Tally& c : l.by_depth) map.values.push_back(c.asked ? c.share() : std::nan(""));
    }
    if (map.rows) html += report::draw(map);
  }
  return html;
}

}  // namespace

std::string study_right_answers(const StudySummary& s, const std::vector<int>& styles) {
  return report::draw(by_length(s, styles)) + report::draw(table(s)) +
         report::paragraph(
             text("The mean over seeds on the scale of logits, with its 95 % interval; then how "
                  "many seeds reach ",
                  shortest(kSolved), ".")) +
         depth_maps(s);
}

}  // namespace gnomon::pages
