#pragma once
#include <set>

#include "gnomon/study/plan/study.h"

namespace gnomon {

// What of a study is done and what comes next, as its folder shows it. Several processes may work on one folder, each with an
// agenda of its own: a run belongs to who holds the lock of its folder.
class Agenda {
 public:
  // config and data outlive it. Throws Error(input) for a result that is damaged or another's.
  Agenda(const StudyConfig& config, const Data& data, const StudyFolder& folder);

  struct Next {
    std::optional<RunPlan> run;
    bool wait = false;  // no run now, but others are at work on some: ask again
  };
  enum class Which { all, extending };  // the latter at rates beyond the given ones alone
  // A run without a result that nobody works on, and that was not given before. Throws as the constructor does.
  Next next(Which which = Which::all);
  void give_back(const RunPlan& run) { given_.erase(run.key); }  // somebody else does it

  const Found& found() const { return found_; }
  Work done() const;
  Work planned() const;  // done, open, and to come if no rate beyond the given ones is tried

 private:
  void look();  // takes in the results that have come

  const StudyConfig& config_;
  const Data& data_;
  const StudyFolder folder_;
  std::vector<RunPlan> plan_;
  Found found_;
  std::set<std::string> given_;
};

}  // namespace gnomon
