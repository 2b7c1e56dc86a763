#pragma once
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gnomon/core/error.h"
#include "gnomon/study/plan/agenda.h"

namespace gnomon {

// What the parent of a study hears from its workers, and asks.
struct WorkerHooks {
  std::function<int()>
      interruptions;  // signals so far: at 1 the workers are asked to stop, at 2 they are killed
  std::function<void(std::size_t slot, const RunPlan&, const RunProgress&)> progress;
  std::function<void(std::size_t slot, const RunResult&)> finished;
  std::function<void(const std::string&)> note;
};

// Does the runs of an agenda as processes, `workers` side by side: each is `command` followed by its trial and the run's key, tells its
// progress as JSON lines on its standard output (tell_*), and leaves its result in its folder. A worker that
// crashes is told and its run left for another time; one that reports an error of resources ends the study:
// the others are asked to stop, and the error is thrown. Returns the number of runs that crashed.
std::size_t perform_all(Agenda& agenda, const StudyFolder& folder, std::size_t workers,
                        const std::vector<std::string>& command, const WorkerHooks& hooks);

// The worker's side: lines for its standard output.
std::string tell_progress(const RunProgress& progress);
std::string tell_note(const std::string& note);
std::string tell_error(int fault, const std::string& message);
// What one of them says. Throws Error(input) for any other line.
struct WorkerLine {
  std::optional<RunProgress> progress;
  std::string note, error;
  Fault fault = Fault::bug;  // of the error
};
WorkerLine read_worker_line(std::string_view line);

}  // namespace gnomon
