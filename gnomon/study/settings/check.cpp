#include <algorithm>

#include "gnomon/core/error.h"
#include "gnomon/core/names.h"
#include "gnomon/core/text.h"
#include "gnomon/study/data/image_data.h"
#include "gnomon/study/data/task.h"
#include "gnomon/study/data/vocabulary.h"
#include "gnomon/study/settings/config.h"

namespace gnomon {
namespace {

void within(const char* key, double x, double least, double most) {
  if (x >= least && x <= most) return;  // NaN is not
  throw Error(Fault::usage,
              text(key, ": found ", shortest(x), ", allowed are ", shortest(least), " to ", shortest(most)));
}

constexpr std::size_t kLongestList = 32, kMostArms = 1000;

// Numbers above 0, each above the one before.
void rising(const char* key, const std::vector<double>& all, double most) {
  if (all.empty() || all.size() > kLongestList)
    throw Error(Fault::usage,
                text(key, ": found ", counted(all.size(), "number"), ", allowed are 1 to ", kLongestList));
  double before = 0;
  for (const double x : all) {
    within(key, x, 0, most);
    if (x <= before)
      throw Error(Fault::usage,
                  text(key, ": found ", shortest(x), " after ", shortest(before), ", the list must rise"));
    before = x;
  }
}

// study.toml, from which workers read the path, can hold neither control characters nor what is not UTF-8.
void check_path(const std::string& path) {
  if (!is_one_line(path))
    throw Error(Fault::usage,
                text("study.text: found ", excerpt(path),
                     ", allowed are paths in UTF-8 without line ends or other control characters; "
                     "rename the file or its folder"));
}

// The kinds of data, then the tasks.
void check_data(const StudyConfig& c) {
  std::vector<std::string_view> known{"bytes", "symbols", "ids16", "ids32", "lines", "images"};
  for (const Task* task : tasks()) known.push_back(task->name);
  if (std::find(known.begin(), known.end(), c.data) == known.end())
    throw unknown("study.data", c.data, known);
  const std::int64_t most = c.data == "symbols"                      ? Vocabulary::kMost
                            : c.data == "ids16" || c.data == "ids32" ? std::int64_t{1} << 31
                                                                     : 256,
                     least = c.data == "symbols"                      ? Vocabulary::kLeast
                             : c.data == "ids16" || c.data == "ids32" ? 1
                                                                      : 256;
  if (c.data == "images")
    return within("model.vocabulary", double(c.model.vocabulary), ImageData::kSymbols, ImageData::kSymbols);
  within("model.vocabulary", double(c.model.vocabulary), double(least), double(most));
}

}  // namespace

void StudyConfig::check_settings() const {
  check_path(text_path);
  check_data(*this);
  if (arms.empty() || arms.size() > kMostArms)
    throw Error(Fault::usage,
                text("study.arms: found ", counted(arms.size(), "arm"), ", allowed are 1 to ", kMostArms));
  within("study.seeds", double(seeds), 1, 1000);
  within("study.minutes", minutes, 0.01, 1e5);
  within("study.smallest_effect", smallest_effect, 0, 10);
  rising("study.budgets", budgets, 1);
  if (budgets.back() != 1)
    throw Error(Fault::usage,
                text("study.budgets: found ", shortest(budgets.back()), " at the end, the last must be 1"));
  within("study.workers", double(workers), 0, 1024);
  within("study.threads", double(threads), 1, 1024);
  within("study.checkpoint_seconds", checkpoint_seconds, 0, 1e9);
  within("tune.seeds", double(tuning.seeds), 0, 1000);
  rising("tune.budgets", tuning.budgets, 1);
  for (const double rate : tuning.given) within("tune.given", rate, 1e-9, 1e3);
  if (!tuning.rates.empty()) rising("tune.rates", tuning.rates, 1e3);
  within("evaluate.windows", double(windows), 1, 1e6);
  within("evaluate.points", double(points), 1, 1e5);
  for (const Prediction& p : predictions) p.check();
}

void StudyConfig::check() const {
  check_settings();
  StudyModel frame = model;
  if (frame.tied) frame.tied = false;  // which needs to know the arm
  frame.with(Spec::parse("none")).check();
  within("evaluate.score", double(score), 1, double(model.length));
  for (const double factor : lengths)
    within("evaluate.lengths", factor, double(score) / double(model.length), 64);
  if (std::find(lengths.begin(), lengths.end(), 1.0) == lengths.end())
    throw Error(Fault::usage, "evaluate.lengths: must contain 1, the training length");
  if (tuning.seeds && tuning.rates.size() < 2)
    throw Error(Fault::usage, text("tune.rates: found ", counted(tuning.rates.size(), "rate"),
                                   ", tuning needs at least two"));
  if (tuning.seeds && !tuning.given.empty())
    throw Error(Fault::usage, "tune.given: these rates are for a study that tunes none; set tune.seeds = 0");
  if (!tuning.given.empty() && tuning.given.size() != arms.size() * budgets.size())
    throw Error(Fault::usage, text("tune.given: found ", counted(tuning.given.size(), "rate"), ", ",
                                   counted(arms.size(), "arm"), " with ", counted(budgets.size(), "budget"),
                                   " each need ", arms.size() * budgets.size()));
  train.check();
  check_arms();
}

void StudyConfig::check_arms() const {
  if (baseline && baseline->match != Match::width)
    Spec::parse(baseline->written);  // which says what is wrong
  std::vector<std::string> printed;
  for (const Arm& arm : arms) {
    printed.push_back(arm.print());
    if (std::count(printed.begin(), printed.end(), printed.back()) > 1)
      throw Error(Fault::usage, text("study.arms: '", printed.back(), "' is there twice"));
    try {
      model.with(arm.spec).check();
    } catch (const Error& e) {
      throw e.at(text("arm '", arm.written, "'"));
    }
  }
  if (std::find(printed.begin(), printed.end(), base().print()) == printed.end()) {
    throw unknown("study.baseline", base().print(),
                  std::vector<std::string_view>(printed.begin(), printed.end()));
  }
  for (const Arm& arm : arms) settings_of(arm, *this, base());
}

}  // namespace gnomon
