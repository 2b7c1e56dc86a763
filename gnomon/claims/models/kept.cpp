#include "gnomon/claims/models/kept.h"

#include "gnomon/core/error.h"
#include "gnomon/core/text.h"
#include "gnomon/study/run/run.h"

namespace gnomon {
namespace {

Outcome outcome(const Job& job, const RunResult& result, const RunFolder& folder) {
  Outcome o;
  o.model = std::make_shared<Model>(job.architecture());
  o.seed = job.seed, o.nats = result.nats, o.failure = result.failure;
  o.tokens_per_second = result.cost.tokens_per_second;
  for (const CurvePoint& p : result.curve)
    o.curve.emplace_back(double(p.step * job.train.batch * job.model.length), p.held_out);
  if (!o.failure.empty()) return o;
  o.w = parameters_in(*o.model, folder.model(), result.plan.key);
  for (const CurvePoint& p : result.curve) {
    if (job.keep.snapshots)
      o.snapshots.emplace_back(p.step, parameters_in(*o.model, folder.snapshot(p.step), result.plan.key));
  }
  return o;
}

}  // namespace

Outcome train_or_load(const Recipe& recipe, std::int64_t seed, const Data* text, const Path& all,
                      const TrainHooks& hooks) {
  const Job job = recipe.job(seed, text);
  const RunPlan plan = plan_of(job, 1);
  const RunFolder folder{all / plan.key};
  const auto note = [&](const std::string& sentence) {
    if (hooks.note) hooks.note(sentence);
  };
  if (std::filesystem::exists(folder.result())) {
    try {
      Outcome o = outcome(job, result_of(plan, folder), folder);
      o.found = true;
      return o;
    } catch (const Error& e) {
      if (e.fault() != Fault::input) throw;
      note(gnomon::text("damaged model removed and trained again: ", e.what()));
      std::filesystem::remove(folder.result());
    }
  }
  const auto result = perform(job, plan, folder,
                              {.stop = [&] { return hooks.stop && hooks.stop(); },
                               .progress = [](const RunProgress&) {},
                               .note = note});
  return result ? outcome(job, *result, folder) : Outcome{};
}

}  // namespace gnomon
