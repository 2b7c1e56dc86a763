// What web/gnomon.js asks of trainings: one run of a study (gnomon/study/run), step by step, without its files. So a training here
// and the program's own, with the same text, settings and seed, differ in rounding alone.
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "gnomon/nn/sample.h"
#include "gnomon/study/data/corpus.h"
#include "gnomon/study/run/learner.h"
#include "gnomon/study/run/losses.h"
#include "web/answer.h"

namespace gnomon::web {
namespace {

using Json = nlohmann::ordered_json;

// What no setting here says is as `gnomon study` has it.
const Settings kTraining{{"layers", 2},  {"width", 64},   {"heads", 4}, {"length", 128}, {"batch", 4},
                         {"steps", 500}, {"rate", 0.003}, {"seed", 1},  {"windows", 64}};
constexpr std::int64_t kMostWindows = 4096;

Job job_of(std::string_view spec, const Settings& s) {
  Job job;
  job.model.layers = whole(s, "layers"), job.model.width = whole(s, "width"),
  job.model.heads = whole(s, "heads"), job.model.length = whole(s, "length");
  job.train.steps = whole(s, "steps"), job.train.batch = whole(s, "batch"),
  job.train.learning_rate = s.find("rate")->second;
  job.windows = whole(s, "windows");
  if (job.windows < 1 || job.windows > kMostWindows)
    throw Error(Fault::usage, text("windows: found ", job.windows, ", allowed are 1 to ", kMostWindows));
  job.score = std::min(job.score, job.model.length);
  job.spec = Spec::parse(spec);
  job.seed = whole(s, "seed");
  job.held = Held::test;
  job.train.check();
  job.architecture().check();
  job.keep.reach = job.longest();
  return job;
}
Job with(Job job, const Data& data) {
  job.data = &data;
  return job;
}

const std::function<bool()> kGoOn = [] { return false; };

struct Training {
  const Corpus text;
  const Job job;
  Learner learner;
  const Sample watched;

  Training(const Job& asked, const Path& path)
      : text(path, asked.longest()), job(with(asked, text)), learner(job), watched(curve_windows(job)) {}

  const Model& model() const { return learner.trainer.model; }
  Json describe() const {
    const auto end = model().positions_end();
    return {{"spec", job.spec.print()},
            {"parameters", model().param_count()},
            {"steps", job.train.steps},
            {"windows_end", end ? Json(*end) : Json()},
            {"text", text.describe()}};
  }
  Json step() {
    Trainer& trainer = learner.trainer;
    if (trainer.step >= job.train.steps)
      throw Error(Fault::usage, gnomon::text("step: the training has ended, after ",
                                             counted(std::size_t(job.train.steps), "step")));
    const double loss = learner.step(kGoOn);
    return {{"step", trainer.step},
            {"loss", loss},
            {"rate", trainer.config.rate(trainer.step)},
            {"not_finite", trainer.not_finite}};
  }
  double held_out_loss() { return losses_over(job, learner.trainer, watched, job.model.length, kGoOn).mean; }

  // Over the windows that results are told of. `nats` is of the last positions, the same bytes at every length.
  Json evaluate(double factor) {
    const std::int64_t T = job.tokens_at(factor), longest = job.longest();
    if (T < job.score || T > longest)
      throw Error(Fault::usage, gnomon::text("evaluate: found windows of ", T, " bytes, allowed are ",
                                             job.score, " to ", longest));
    Json found{{"factor", factor},
               {"tokens", T},
               {"nats", nullptr},
               {"whole", nullptr},
               {"by_position", Json::array()}};
    if (const auto end = model().positions_end(); end && T > *end) return found;
    const Sample windows = held_out(job, T, job.windows, job.held);
    const Losses all = losses_over(job, learner.trainer, windows, T, kGoOn);
    double sum = 0;
    for (std::int64_t t = T - job.score; t < T; ++t) sum += all.by_position[std::size_t(t)];
    found["nats"] = sum / double(job.score), found["whole"] = all.mean,
    found["by_position"] = all.by_position;
    return found;
  }

  std::string sample(std::string_view prompt, const Settings& s) const {
    Session session(model());
    const auto read = symbols_of(prompt);
    return bytes_of(gnomon::sample(session, learner.trainer.w, {1, std::int64_t(read.size()), read, {}},
                                   {.count = whole(s, "bytes"),
                                    .temperature = s.find("temperature")->second,
                                    .seed = std::uint64_t(whole(s, "seed"))}));
  }
};

// There is one at a time.
std::unique_ptr<Training>& held() {
  static std::unique_ptr<Training> one;
  return one;
}
Training& training(std::string_view asked) {
  if (!held()) throw Error(Fault::usage, text(asked, ": no training has begun"));
  return *held();
}

// Bytes that are no UTF-8, which a young model writes, become U+FFFD.
std::string printed(const Json& json) {
  return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace
}  // namespace gnomon::web

using namespace gnomon;
using web::answered;

// Begins a training on the text of a file; that before ends.
GNOMON_WEB(train)
(const char* spec, std::size_t spec_size, const char* path, std::size_t path_size, const char* settings,
 std::size_t settings_size) {
  return answered([&] {
    const Job job =
        web::job_of({spec, spec_size}, web::settings_of({settings, settings_size}, web::kTraining));
    web::held().reset();
    web::held() = std::make_unique<web::Training>(job, Path(std::string(path, path_size)));
    return web::printed(web::held()->describe());
  });
}
// One step: the mean loss before it in nats a byte, and the rate that it had.
GNOMON_WEB(step)() {
  return answered([&] { return web::printed(web::training("step").step()); });
}
// A point of a study's curve: the mean loss of some windows that training does not see.
GNOMON_WEB(held_out)() {
  return answered([&] { return web::printed(web::training("heldOut").held_out_loss()); });
}
// In windows `factor` times as long as in training.
GNOMON_WEB(evaluate)(const char* factor, std::size_t factor_size) {
  return answered([&] {
    const auto asked = web::settings_of({factor, factor_size}, {{"factor", 1}});
    return web::printed(web::training("evaluate").evaluate(asked.at("factor")));
  });
}
// What the model writes after a prompt.
GNOMON_WEB(sample)
(const char* prompt, std::size_t prompt_size, const char* settings, std::size_t settings_size) {
  return answered([&] {
    const auto asked =
        web::settings_of({settings, settings_size}, {{"bytes", 100}, {"temperature", 0.8}, {"seed", 1}});
    return web::printed(web::training("sample").sample({prompt, prompt_size}, asked));
  });
}
