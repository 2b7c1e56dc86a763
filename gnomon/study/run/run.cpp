#include "gnomon/study/run/run.h"

#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>

#include "gnomon/core/error.h"
#include "gnomon/core/text.h"
#include "gnomon/files/json-inl.h"
#include "gnomon/files/safetensors.h"
#include "gnomon/files/sha256.h"
#include "gnomon/study/run/curve_json-inl.h"
#include "gnomon/study/run/learner.h"
#include "gnomon/study/run/losses.h"

namespace gnomon {
namespace {

using Json = StrictJson;
using Clock = std::chrono::steady_clock;
double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

std::int64_t peak_memory_bytes() {
  struct rusage usage {};
  getrusage(RUSAGE_SELF, &usage);
  return std::int64_t(usage.ru_maxrss) * 1024;
}

// The state of a run between two steps: everything that the next step depends on.
struct Progress {
  std::vector<CurvePoint> curve;
  double loss_sum = 0;  // since the last point of the curve
  std::int64_t loss_count = 0;
  double training_seconds = 0;
};

class Run {
 public:
  Run(const Job& job, const RunPlan& plan, const RunFolder& folder, const RunHooks& hooks, Ranks* ranks)
      : job_(job),
        plan_(plan),
        folder_(folder),
        hooks_(hooks),
        learner_(job, ranks),
        trainer_(learner_.trainer),
        curve_windows_(curve_windows(job)) {}

  std::optional<RunResult> perform() {
    try {
      resume();
      trainer_.share();
      return finish();
    } catch (const Stopped&) {  // asked for in the middle of a pass, which is done again
      write_checkpoint();
      return std::nullopt;
    } catch (const Error& e) {
      if (e.fault() == Fault::lost)
        write_checkpoint();  // nothing of the step that a rank left was taken over
      throw;
    }
  }

 private:
  RunResult finish() {
    RunResult result{plan_,
                     "",
                     trainer_.model.param_count(),
                     trainer_.model.training_flops_per_token(job_.model.length),
                     0,
                     {},
                     {},
                     {},
                     {},
                     "",
                     {}};
    train(result.failure);
    result.curve = state_.curve;
    result.cost.training_seconds = state_.training_seconds;
    result.cost.tokens_per_second = double(trainer_.step * job_.train.batch * job_.model.length) /
                                    std::max(state_.training_seconds, 1e-9);
    if (result.failure.empty()) {
      const auto start = Clock::now();
      evaluate(result);
      result.cost.evaluation_seconds = seconds_since(start);
      if (result.failure.empty()) write_safetensors(folder_.model(), tensors(false), named());
    }
    result.weights_sha256 =
        sha256({reinterpret_cast<const char*>(trainer_.w.data()), trainer_.w.size() * sizeof(float)});
    result.cost.peak_memory_bytes = peak_memory_bytes();
    write_file(folder_.result(), result_json(result));
    folder_.forget_checkpoints();
    return result;
  }

  // --- Training

  // A failure is told and ends the training.
  void train(std::string& failure) {
    auto last_checkpoint = Clock::now(), last_told = last_checkpoint;
    for (;;) {
      const auto start = Clock::now();
      if (point_is_due()) failure = add_point();
      if (!failure.empty() || trainer_.step == job_.train.steps) return;
      if (hooks_.stop()) throw Stopped{};
      const double loss = learner_.step(hooks_.stop);
      if (!std::isfinite(loss)) {
        failure = text(trainer_.not_finite, " was not finite at step ", trainer_.step);
        return;
      }
      state_.loss_sum += loss;
      ++state_.loss_count;
      state_.training_seconds += seconds_since(start);
      if (seconds_since(last_told) > 0.2) {
        last_told = Clock::now();
        hooks_.progress(
            {trainer_.step, job_.train.steps, loss,
             double(trainer_.step * job_.train.batch * job_.model.length) / state_.training_seconds});
      }
      if (seconds_since(last_checkpoint) > hooks_.checkpoint_seconds) {
        write_checkpoint();
        last_checkpoint = Clock::now();
      }
    }
  }
  // The curve has a point every so many steps and at the end; a run that was stopped within one still owes it.
  bool point_is_due() const {
    const std::int64_t step = trainer_.step,
                       interval = std::max<std::int64_t>(1, job_.train.steps / job_.points);
    return (step > 0 ? step % interval == 0 || step == job_.train.steps : job_.keep.start) &&
           (state_.curve.empty() || state_.curve.back().step < step);
  }

  // What failed; empty: nothing.
  std::string add_point() {
    const double held_out = losses_over(curve_windows_, job_.model.length).mean;
    if (!std::isfinite(held_out)) return text("the held-out loss was not finite at step ", trainer_.step);
    if (job_.keep.snapshots) write_safetensors(folder_.snapshot(trainer_.step), tensors(false), named());
    state_.curve.push_back({trainer_.step, state_.loss_sum / double(state_.loss_count), held_out});
    state_.loss_sum = 0;
    state_.loss_count = 0;
    return "";
  }

  // --- Evaluation

  Losses losses_over(const Sample& windows, std::int64_t score) {
    return gnomon::losses_over(job_, trainer_, windows, score, hooks_.stop);
  }

  // Why it failed; empty: it did not.
  std::string not_finite(double nats, std::int64_t T) const {
    return std::isfinite(nats) ? ""
                               : text("the held-out loss over windows of ", T,
                                      " tokens was not finite after step ", trainer_.step);
  }

  void evaluate(RunResult& result) {
    const std::int64_t own = job_.model.length;
    const Losses losses = losses_over(held_out(job_, own, job_.windows, job_.held), own);
    result.failure = not_finite(losses.mean, own);
    if (!result.failure.empty()) return;
    result.nats = losses.mean, result.by_position = losses.by_position, result.by_block = losses.by_block;
    if (job_.lengths.empty()) return;
    job_.data->metric() ? evaluate_answers(result) : evaluate_lengths(result);
  }

  bool is_defined(std::int64_t T) const {
    const auto end = trainer_.model.positions_end();
    return !end || T <= *end;
  }

  void evaluate_lengths(RunResult& result) {
    for (const double factor : job_.lengths) {
      const std::int64_t T = job_.tokens_at(factor);
      result.by_length.push_back({factor, T, std::nullopt, {}});
      if (!is_defined(T)) continue;
      const Losses at = losses_over(held_out(job_, T, job_.windows, job_.held), job_.score);
      result.failure = not_finite(at.mean, T);
      if (!result.failure.empty()) return;
      result.by_length.back().nats = at.mean, result.by_length.back().by_block = at.by_block;
    }
  }

  void evaluate_answers(RunResult& result) {
    constexpr std::int64_t kDepths = 5;
    const Metric metric = *job_.data->metric();
    for (const std::int64_t payload : job_.data->payloads()) {
      const Examples examples = gnomon::examples(job_, payload);
      result.by_length.push_back({double(payload), examples.T, std::nullopt, {}});
      if (!is_defined(examples.T)) continue;
      const Losses at = losses_over(examples, examples.T);
      result.failure = not_finite(at.mean, examples.T);
      if (!result.failure.empty()) return;
      const Answers found =
          answers(trainer_.session, trainer_.w, examples, {trainer_.dropped(), &hooks_.stop});
      LengthLoss& here = result.by_length.back();
      here.nats = at.mean, here.by_block = at.by_block;
      here.right = metric == Metric::symbols ? found.symbols
                   : metric == Metric::pairs ? found.pairs
                                             : found.whole;
      here.symbols = found.symbols;
      if (!examples.sources.empty() && metric == Metric::whole)
        here.by_depth = by_depth(found, examples, kDepths);
    }
  }

  // --- Files

  std::vector<Tensor> tensors(bool with_optimiser) const {
    std::vector<Tensor> all;
    const auto add = [&](const std::string& prefix, const Floats& values) {
      for (const auto& p : trainer_.model.params())
        all.push_back(
            {prefix + p.spec.name, p.spec.shape, std::span(values).subspan(p.offset, p.spec.size())});
    };
    add(with_optimiser ? "model." : "", trainer_.w);
    if (with_optimiser) add("optimiser.m.", trainer_.m), add("optimiser.v.", trainer_.v);
    return all;
  }
  Metadata named() const {
    return {{"format", "pt"},
            {"gnomon.arm", plan_.arm},
            {"gnomon.key", plan_.key},
            {"gnomon.seed", text(plan_.seed)}};
  }
  void write_checkpoint() {
    const Json state{{"step", trainer_.step},
                     {"loss_sum", state_.loss_sum},
                     {"loss_count", state_.loss_count},
                     {"training_seconds", state_.training_seconds},
                     {"curve", curve_json(state_.curve)}};
    std::error_code none_yet;  // the intact one before stays as the fallback
    std::filesystem::rename(folder_.checkpoint(), folder_.previous(), none_yet);
    write_safetensors(folder_.checkpoint(), tensors(true),
                      {{"gnomon.key", plan_.key}, {"gnomon.state", state.dump()}});
  }
  void resume() {
    for (const Path& path : {folder_.checkpoint(), folder_.previous()}) {
      if (!std::filesystem::exists(path)) continue;
      try {
        load(path);
        return;
      } catch (const Error& e) {
        if (e.fault() != Fault::input) throw;
        hooks_.note(text("damaged checkpoint skipped: ", e.what()));
        std::filesystem::remove(path);
      }
    }
  }
  void load(const Path& path) {
    // Everything is looked at before anything is taken over: what is passed over must leave no trace.
    const TensorFile file = read_safetensors(path, Digest::required);
    const auto state = file.metadata.find("gnomon.state"), key = file.metadata.find("gnomon.key");
    if (state == file.metadata.end() || key == file.metadata.end() || key->second != plan_.key)
      throw Error(Fault::input, text(path.string(), ": not a checkpoint of run ", plan_.key));
    const auto values = [&](const std::string& prefix, Floats to) {
      for (const auto& p : trainer_.model.params()) {
        const Tensor& t = file.at(prefix + p.spec.name, path);
        if (t.shape != p.spec.shape)
          throw Error(Fault::input,
                      text(path.string(), ": tensor '", t.name, "' has another shape than the model"));
        std::copy(t.data.begin(), t.data.end(), to.begin() + p.offset);
      }
      return to;
    };
    Floats w = values("model.", trainer_.w), m = values("optimiser.m.", trainer_.m),
           v = values("optimiser.v.", trainer_.v);
    const std::string where = text(path.string(), ": gnomon.state");
    const Json json = parse_json(state->second, where);
    const JsonValue kept(json, where);
    const std::int64_t step = kept.member("step").whole(0, job_.train.steps);
    Progress progress{curve_from(kept.member("curve"), step), kept.member("loss_sum").number(),
                      kept.member("loss_count").whole(0, step), kept.member("training_seconds").number()};
    trainer_.step = step, trainer_.w = std::move(w), trainer_.m = std::move(m), trainer_.v = std::move(v);
    state_ = std::move(progress);
  }

  const Job& job_;
  const RunPlan& plan_;
  const RunFolder& folder_;
  const RunHooks& hooks_;
  Learner learner_;
  Trainer& trainer_;
  const Sample curve_windows_;
  Progress state_;
};

}  // namespace

std::optional<RunResult> perform(const Job& job, const RunPlan& plan, const RunFolder& folder,
                                 const RunHooks& hooks, Ranks* ranks) {
  make_own_folder(folder.folder);
  const FileLock lock(folder.lock(), text("run ", plan.key), hooks.patience_ms);
  if (std::filesystem::exists(folder.result())) return result_of(plan, folder);
  return Run(job, plan, folder, hooks, ranks).perform();
}

Path RunFolder::snapshot(std::int64_t step) const { return folder / text("step-", step, ".safetensors"); }

void RunFolder::forget_checkpoints() const {
  std::error_code ignored;
  std::filesystem::remove(checkpoint(), ignored);
  std::filesystem::remove(previous(), ignored);
}

RunResult result_of(const RunPlan& plan, const RunFolder& folder) {
  RunResult found = result_from_json(folder.result());
  const RunPlan& p = found.plan;
  if (p.key != plan.key || p.arm != plan.arm || p.seed != plan.seed) {
    throw Error(Fault::input, text(folder.result().string(), ": found the result of '", p.arm, "', seed ",
                                   p.seed, ", key ", p.key, ", expected is '", plan.arm, "', seed ",
                                   plan.seed, ", key ", plan.key, "; remove the file to run it again"));
  }
  return found;
}

Floats parameters_in(const Model& model, const Path& path, const std::string& key) {
  if (!std::filesystem::exists(path)) throw Error(Fault::input, text(path.string(), ": the file is missing"));
  const TensorFile file = read_safetensors(path, Digest::required);
  const auto said = file.metadata.find("gnomon.key");
  if (said == file.metadata.end() || said->second != key)
    throw Error(Fault::input, text(path.string(), ": not a model of run ", key));
  Floats w(std::size_t(model.param_count()));
  for (const Param& p : model.params()) {
    const Tensor& t = file.at(p.spec.name, path);
    if (t.shape != p.spec.shape)
      throw Error(Fault::input,
                  text(path.string(), ": tensor '", t.name, "' has another shape than the model"));
    std::copy(t.data.begin(), t.data.end(), w.begin() + p.offset);
  }
  return w;
}

}  // namespace gnomon
