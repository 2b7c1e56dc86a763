#include "gnomon/pages/suite.h"

#include <algorithm>
#include <cmath>

#include "gnomon/core/error.h"
#include "gnomon/core/text.h"
#include "gnomon/pages/study_words.h"
#include "gnomon/pages/suite_scaling.h"
#include "gnomon/report/page.h"
#include "gnomon/study/data/task.h"
#include "gnomon/study/results/results.h"

namespace gnomon::pages {
namespace {

using AtLength = ArmSummary::AtLength;

// The longest length that training has, and the longest beyond.
struct Ends {
  const AtLength *within = nullptr, *beyond = nullptr;
};
Ends ends_of(const StudySummary& s, const ArmSummary& a) {
  Ends ends;
  for (const AtLength& l : a.by_length) {
    const AtLength*& end = l.factor > s.trained ? ends.beyond : ends.within;
    if (!end || l.factor > end->factor) end = &l;
  }
  return ends;
}

std::optional<Score> score_of(const StudySummary& s, const ArmSummary& a, const AtLength* at) {
  if (!at || !(s.metric ? at->share.has_value() : at->nats.has_value())) return {};
  if (!s.metric)
    return Score{shortest(at->factor) + "×", fixed(at->nats->mean, kLossDigits), at->nats->mean, ""};
  return Score{at->factor > 0 ? shortest(at->factor) : "", fixed(at->mean_share, 2), at->mean_share,
               text(at->solved, " of ", a.largest().runs.size())};
}

std::vector<std::string> arms_of(const std::vector<Told>& studies) {
  std::vector<std::string> all;
  for (const Told& t : studies) {
    for (const Arm& one : t.summary->config.arms) {
      const std::string arm = one.print();
      if (std::find(all.begin(), all.end(), arm) == all.end()) all.push_back(arm);
    }
  }
  return all;
}

const ArmSummary* find(const StudySummary& s, const std::string& arm) {
  const auto at =
      std::find_if(s.arms.begin(), s.arms.end(), [&](const ArmSummary& a) { return a.arm == arm; });
  return at == s.arms.end() ? nullptr : &*at;
}

// A row a study, a column an arm.
report::Table table(const std::vector<Told>& studies, std::optional<Score> SuiteScores::*which) {
  const std::vector<std::string> arms = arms_of(studies);
  report::Table t;
  t.head = {"study", "length"};
  t.head.insert(t.head.end(), arms.begin(), arms.end());
  for (const Told& told : studies) {
    std::vector<report::Table::Cell> row{{told.name}, {""}};
    bool any = false;
    for (const std::string& arm : arms) {
      const ArmSummary* a = find(*told.summary, arm);
      const std::optional<Score> score = a ? scores_of(*told.summary, *a).*which : std::nullopt;
      row.push_back(score ? report::Table::Cell{score->seeds.empty()
                                                    ? score->value
                                                    : text(score->value, " (", score->seeds, ")"),
                                                score->sort, true}
                          : report::Table::Cell{a ? "n/d" : "–", -1, true});
      if (score) row[1].text = score->length, any = true;
    }
    if (any) t.rows.push_back(std::move(row));
  }
  return t;
}

bool has_solved(const ArmSummary& a, const AtLength& at) {
  const std::size_t seeds = a.largest().runs.size();
  return seeds > 0 && 2 * std::size_t(at.solved) >= seeds;
}

// How many of the tasks with such an end each arm solves with at least half of its seeds, the best first.
std::string solved_by(const std::vector<Told>& studies, const AtLength* Ends::*end, const char* where) {
  struct Count {
    std::string arm;
    int solved, tasks;
  };
  std::vector<Count> all;
  for (const std::string& arm : arms_of(studies)) {
    Count count{arm, 0, 0};
    for (const Told& t : studies) {
      const ArmSummary* a = t.summary->metric ? find(*t.summary, arm) : nullptr;
      const AtLength* at = a ? ends_of(*t.summary, *a).*end : nullptr;
      if (at) ++count.tasks, count.solved += has_solved(*a, *at);
    }
    if (count.tasks) all.push_back(count);
  }
  if (all.empty()) return "";
  std::stable_sort(all.begin(), all.end(),
                   [](const Count& x, const Count& y) { return x.solved > y.solved; });
  std::string out;
  for (const Count& c : all) out += text(out.empty() ? "" : ", ", c.arm, " ", c.solved, " of ", c.tasks);
  return text(where, ", tasks that at least half of the seeds solve (", shortest(100 * kSolved),
              " % right): ", out, ".");
}

}  // namespace

SuiteScores scores_of(const StudySummary& s, const ArmSummary& a) {
  if (a.largest().runs.empty()) return {};
  const Ends ends = ends_of(s, a);
  return {score_of(s, a, ends.within), score_of(s, a, ends.beyond)};
}

std::vector<std::string> suite_answers(const std::vector<Told>& studies) {
  const auto scaling = scaling_of(studies);
  std::vector<std::string> all = scaling ? scaling_answers(*scaling) : std::vector<std::string>();
  for (std::string sentence : {solved_by(studies, &Ends::within, "At the longest length of training"),
                               solved_by(studies, &Ends::beyond, "At the longest length beyond it")}) {
    if (!sentence.empty()) all.push_back(std::move(sentence));
  }
  std::vector<Judged> predicted;
  for (const Told& t : studies) {
    for (Judged& j : judge(*t.summary)) predicted.push_back(std::move(j));
  }
  if (std::string sentence = predictions_sentence(predicted); !sentence.empty())
    all.push_back(std::move(sentence));
  return all;
}

std::string suite_page(const std::vector<Told>& studies, const MadeBy& how) {
  report::Page page("Which position encoding, for what?");
  for (const std::string& sentence : suite_answers(studies)) page.lead(sentence);
  if (const auto scaling = scaling_of(studies))
    page.section("With size and training", scaling_html(*scaling));
  const char* legend =
      "For a task: the mean share of right answers over seeds, by the metric of the task, and how many seeds "
      "have 90 % or more. For a text: nats per byte. n/d: the encoding is not defined there.";
  page.section("Within the lengths of training",
               report::draw(table(studies, &SuiteScores::within)) + report::paragraph(legend));
  if (const report::Table beyond = table(studies, &SuiteScores::beyond); !beyond.rows.empty())
    page.section("Beyond them", report::draw(beyond));
  if (const std::string predicted = predictions_table(studies); !predicted.empty())
    page.section("Predicted before the run", predicted);
  std::string each;
  for (const Told& t : studies) {
    each += "<h3>" + report::link(t.name + "/report.html", t.name) + "</h3>\n";
    for (const std::string& sentence : study_answers(*t.summary)) each += report::paragraph(sentence);
  }
  page.section("Each study", each);
  page.section("How this was made",
               "<h3>The command</h3>\n" + report::preformatted(how.command) +
                   "<h3>Version and machine</h3>\n" +
                   report::preformatted(text("gnomon ", GNOMON_VERSION, "\n", how.machine)));
  page.data(results_json(studies));
  return page.html();
}

}  // namespace gnomon::pages
