#pragma once
#include <chrono>
#include <map>
#include <string>
#include <vector>

#include "gnomon/study/conduct.h"

namespace gnomon::cli {

// A sentence on standard error, after the program's name.
void tell(const std::string& sentence);

// Progress on standard error: on a terminal a grid of arms and seeds with what each has come to, redrawn in place; otherwise a
// plain line every five seconds; nothing when quiet.
class Progress {
 public:
  // config and conduct outlive it.
  Progress(bool quiet, const StudyConfig& config, const StudyConduct& conduct);
  ~Progress();
  void update(std::size_t slot, const RunPlan& plan, const RunProgress& progress);
  void finished(std::size_t slot, const RunResult& result);
  void note(const std::string& sentence);

 private:
  using Clock = std::chrono::steady_clock;
  void draw();
  void erase();
  std::string summary() const;
  std::string time_left() const;
  std::vector<std::string> grid() const;
  std::size_t column(const RunPlan& plan) const;  // 0: the tuning

  const bool quiet_, terminal_, colour_;
  const StudyConfig& config_;
  const StudyConduct& conduct_;
  const double steps_before_;
  double steps_since_ = 0;  // of runs that finished
  std::size_t runs_done_;
  const Clock::time_point start_;
  Clock::time_point last_;
  std::map<std::string, std::vector<std::string>> cells_;  // by arm: the tuning, then each seed
  std::map<std::pair<std::string, std::int64_t>, std::string>
      ends_;                        // by arm and seed: of the largest budget
  std::vector<std::string> lines_;  // of each worker
  std::vector<double> steps_;       // done of the run in each slot
  int drawn_ = 0;
};

}  // namespace gnomon::cli
