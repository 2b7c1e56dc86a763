#pragma once
#include <chrono>
#include <string>
#include <vector>

#include "gnomon/lab/run.h"

namespace gnomon::cli {

// A sentence on standard error, after the program's name.
void tell(const std::string& sentence);

// Progress on standard error: on a terminal one line a worker, redrawn in place; otherwise a plain line every
// five seconds; nothing when quiet.
class Progress {
 public:
  Progress(bool quiet, std::size_t workers, std::size_t runs, std::size_t already_done);
  ~Progress();
  void update(std::size_t slot, const RunPlan& plan, const RunProgress& progress);
  void finished(std::size_t slot, const RunPlan& plan);
  void note(const std::string& sentence);

 private:
  using Clock = std::chrono::steady_clock;
  void draw();
  void erase();
  std::string summary() const;
  std::string time_left() const;

  const bool quiet_, terminal_, colour_;
  const std::size_t runs_, already_done_;
  std::size_t done_;
  const Clock::time_point start_;
  Clock::time_point last_;
  std::vector<std::string> lines_;
  std::vector<double> share_;  // of the run in each slot
  int drawn_ = 0;
};

}  // namespace gnomon::cli
