#include "gnomon/study/plan/finished.h"

#include <algorithm>
#include <filesystem>
#include <set>

#include "gnomon/core/error.h"
#include "gnomon/core/names.h"
#include "gnomon/core/text.h"

namespace gnomon {
namespace {

// Those of the largest budget that finished.
std::vector<RunResult> results_in(const StudyFolder& folder, const StudyConfig& config) {
  std::vector<RunResult> all;
  for (const auto& entry : std::filesystem::directory_iterator(folder.runs())) {
    const RunFolder run{entry.path()};
    if (!std::filesystem::exists(run.result())) continue;
    RunResult result = result_from_json(run.result());
    const bool largest =
        !tunes(result.plan) && result.plan.steps == steps_at(config, Arm(result.plan.arm), 1);
    if (result.failure.empty() && largest) all.push_back(std::move(result));
  }
  if (all.empty()) throw Error(Fault::input, text(folder.folder.string(), ": no run has finished"));
  std::sort(all.begin(), all.end(), [](const RunResult& a, const RunResult& b) {
    return std::tie(a.nats, a.plan.seed, a.plan.key) < std::tie(b.nats, b.plan.seed, b.plan.key);
  });
  return all;
}

}  // namespace

FinishedRun finished_run(const StudyFolder& folder, const std::string& arm,
                         std::optional<std::int64_t> seed) {
  if (!std::filesystem::is_directory(folder.runs()))
    throw Error(Fault::input, text(folder.folder.string(), ": not the folder of a study: it has no runs/"));
  StudyConfig config;
  read_toml(config, folder.config());
  std::vector<RunResult> runs = results_in(folder, config);
  std::set<std::string> arms, seeds;
  for (const RunResult& r : runs) arms.insert(r.plan.arm);
  const std::string wanted = arm.empty() ? runs.front().plan.arm : Arm(arm).print();
  std::erase_if(runs, [&](const RunResult& r) { return r.plan.arm != wanted; });
  if (runs.empty()) throw unknown("arm", wanted, std::vector<std::string_view>(arms.begin(), arms.end()));
  std::sort(runs.begin(), runs.end(),
            [](const RunResult& a, const RunResult& b) { return a.plan.seed < b.plan.seed; });
  for (const RunResult& r : runs) seeds.insert(text(r.plan.seed));
  const auto found =
      seed ? std::find_if(runs.begin(), runs.end(), [&](const RunResult& r) { return r.plan.seed == *seed; })
           : runs.begin();
  if (found == runs.end()) {
    throw Error(Fault::usage,
                text("arm '", wanted, "': no finished run with seed ", *seed, ", finished are: ",
                     join(std::vector<std::string_view>(seeds.begin(), seeds.end()), ", ")));
  }
  const Arm of(wanted);
  const Model model(model_of(settings_of(of, config, config.base()), of.spec));
  const bool bytes = config.data == "bytes" || config.has_answers();
  return {*found, model, parameters_in(model, folder.run(found->plan).model(), found->plan.key),
          bytes ? nullptr : open_data(config)};
}

std::string continuation(const FinishedRun& run, std::string_view prompt, const Sampling& how) {
  const std::vector<std::int32_t> read = run.data ? run.data->encode(prompt) : symbols_of(prompt);
  Session session(run.model);
  const auto written = sample(session, run.w, {1, std::int64_t(read.size()), read, {}}, how);
  // A symbol may stand for several bytes.
  return (run.data ? run.data->decode(written) : bytes_of(written)).substr(0, std::size_t(how.count));
}

}  // namespace gnomon
