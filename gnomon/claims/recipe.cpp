#include "gnomon/claims/recipe.h"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "gnomon/checkpoint/safetensors.h"
#include "gnomon/checkpoint/sha256.h"
#include "gnomon/claims/task.h"
#include "gnomon/core/error.h"
#include "gnomon/core/text.h"
#include "gnomon/lab/run.h"
#include "gnomon/nn/numerics.h"

namespace gnomon::claims {
namespace {

constexpr const char* kFormat = "gnomon claims 2";  // of the file
constexpr std::int64_t kTestWindows = 256, kCurvePoints = 16;

std::string key_of(const Recipe& r, std::int64_t seed, const Corpus* text) {
  return sha256(gnomon::text(kFormat, "\n", numerics(1), "\n", r.print(), "\n", seed, "\n",
                             r.data == "text" ? text->sha256() : ""))
      .substr(0, 24);
}

bool on_text(const Recipe& r, const Corpus* text) {
  if (r.data == "text" && !text) throw Error(Fault::usage, "this needs a text: give one with --text FILE");
  return r.data == "text";
}

// The batch of one step.
Sample training_batch(const Recipe& r, const Corpus* text, const Random& order, std::int64_t step) {
  if (!on_text(r, text)) {
    const Random here(order.bits(std::uint64_t(step)), "task");
    const std::int64_t T =
        r.data == "lengths" ? 8 + std::int64_t(here.below(1 << 30, std::uint64_t(r.length - 7))) : r.length;
    return make_task(r.data, T, r.batch, here);
  }
  std::vector<std::int64_t> starts;
  for (std::int64_t b = 0; b < r.batch; ++b) {
    const auto n =
        order.below(std::uint64_t(step * r.batch + b), std::uint64_t(text->training_windows(r.length)));
    starts.push_back(text->training_start(r.length, std::int64_t(n)));
  }
  const Random masks(order.bits(std::uint64_t(step)), "masks");
  Windows w = windows_at(*text, starts, r.length, r.causal, &masks);
  return {r.length, std::move(w.inputs), std::move(w.targets)};
}

Tokens tokens_of(const Sample& s) { return {s.count(), s.T, s.inputs, s.targets}; }

class Training {
 public:
  Training(const Recipe& r, std::int64_t seed, const Corpus* text)
      : recipe_(r),
        text_(text),
        order_(std::uint64_t(seed), "data order"),
        test_(test_windows(r, text, r.length, kTestWindows, 0)),
        trainer_(r.model(), r.train(), std::uint64_t(seed)) {
    out_.seed = seed;
  }

  // A model of null: stopped.
  Outcome run(const std::function<bool()>& stop) {
    const Param& words = trainer_.model.param("embed.word");
    const std::vector<float> start(&trainer_.w[words.offset], &trainer_.w[words.offset] + words.spec.size());
    const auto began = std::chrono::steady_clock::now();
    double tokens = 0;
    look();
    for (std::int64_t step = 0; step < recipe_.steps; ++step) {
      if (stop && stop()) return {};
      const Sample batch = training_batch(recipe_, text_, order_, step);
      if (!std::isfinite(trainer_.train(tokens_of(batch)))) {
        out_.curve.emplace_back(tokens, std::nan(""));  // diverged: told, not trained again
        break;
      }
      if (recipe_.frozen_words) std::copy(start.begin(), start.end(), &trainer_.w[words.offset]);
      tokens += double(batch.inputs.size());
      if ((step + 1) % std::max<std::int64_t>(1, recipe_.steps / kCurvePoints) == 0 ||
          step + 1 == recipe_.steps) {
        look(), out_.curve.back().first = tokens;
      }
    }
    out_.tokens_per_second =
        tokens / std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
    out_.nats = out_.curve.back().second;
    out_.w = trainer_.w;
    out_.model = std::make_shared<Model>(recipe_.model());
    return std::move(out_);
  }

 private:
  void look() {
    out_.curve.emplace_back(0, mean_loss({trainer_.model, trainer_.w}, test_));
    if (recipe_.snapshots) out_.snapshots.emplace_back(trainer_.step, trainer_.w);
  }

  const Recipe& recipe_;
  const Corpus* const text_;
  const Random order_;
  const Sample test_;
  Trainer trainer_;
  Outcome out_;
};

// A file holds the parameters, those of the snapshots, and, as text that reads back exactly, the curve.
void save(const Path& path, const Recipe& r, const Outcome& o) {
  std::string curve;
  for (const auto& [tokens, nats] : o.curve)
    curve += text(curve.empty() ? "" : ",", shortest(tokens), ":", shortest(nats));
  std::vector<Tensor> tensors{{"parameters", {std::int64_t(o.w.size())}, o.w}};
  for (const auto& [step, w] : o.snapshots)
    tensors.push_back({text("step.", step), {std::int64_t(w.size())}, w});
  write_safetensors(path, tensors,
                    {{"gnomon.recipe", r.print()},
                     {"gnomon.seed", text(o.seed)},
                     {"gnomon.curve", curve},
                     {"gnomon.speed", shortest(o.tokens_per_second)}});
}

Outcome load(const Path& path, const Recipe& r, std::int64_t seed) {
  const TensorFile file = read_safetensors(path, Digest::required);
  const auto said = [&](const char* key) -> const std::string& {
    const auto found = file.metadata.find(key);
    if (found == file.metadata.end())
      throw Error(Fault::input, gnomon::text(path.string(), ": the metadata have no ", key));
    return found->second;
  };
  if (said("gnomon.recipe") != r.print() || said("gnomon.seed") != gnomon::text(seed))
    throw Error(Fault::input, gnomon::text(path.string(), ": a model of another recipe or seed"));
  Outcome o;
  o.found = true;
  o.seed = seed, o.model = std::make_shared<Model>(r.model());
  for (const Tensor& t : file.tensors) {
    const Floats numbers(t.data.begin(), t.data.end());
    if (t.name == "parameters") o.w = numbers;
    if (t.name.rfind("step.", 0) == 0)
      o.snapshots.emplace_back(integer(t.name.substr(5), "snapshot"), numbers);
  }
  for (const std::string_view point : split(said("gnomon.curve"), ',')) {
    const auto colon = std::min(point.find(':'), point.size() - 1);
    o.curve.emplace_back(number(point.substr(0, colon), "curve"), number(point.substr(colon + 1), "curve"));
  }
  std::sort(o.snapshots.begin(), o.snapshots.end(),
            [](const auto& a, const auto& b) { return a.first < b.first; });
  if (std::int64_t(o.w.size()) != o.model->param_count())
    throw Error(Fault::input, gnomon::text(path.string(), ": found ", o.w.size(),
                                           " parameters, the model has ", o.model->param_count()));
  o.nats = o.curve.back().second;
  o.tokens_per_second = number(said("gnomon.speed"), "speed");
  return o;
}

}  // namespace

Recipe Recipe::deep(std::int64_t n) const {
  Recipe r = *this;
  r.layers = n;
  r.seeds = 3;
  return r;
}

std::string Recipe::print() const {
  return text(data, " | ", Spec::parse(spec).print(), " | ", layers, "x", width, " H", heads, " T", length,
              causal ? " causal" : " encoder", " | ", steps, " steps of ", batch, ", rate ",
              shortest(learning_rate), frozen_words ? ", words frozen" : "", snapshots ? ", snapshots" : "");
}

Architecture Recipe::model() const {
  Architecture a = make_block("gpt", {.layers = layers, .width = width, .heads = heads, .length = length},
                              Spec::parse(spec));
  a.causal = causal;
  return a;
}

TrainConfig Recipe::train() const { return {.steps = steps, .batch = batch, .learning_rate = learning_rate}; }

Outcome train_or_load(const Recipe& recipe, std::int64_t seed, const Corpus* corpus, const Path& folder,
                      const TrainHooks& hooks) {
  on_text(recipe, corpus);
  const Path path = folder / (key_of(recipe, seed, corpus) + ".safetensors");
  if (std::filesystem::exists(path)) {
    try {
      return load(path, recipe, seed);
    } catch (const Error& e) {
      // A number that is none is called a fault of usage by number(): here nobody typed it.
      if (e.fault() != Fault::input && e.fault() != Fault::usage) throw;
      if (hooks.note) hooks.note(text("damaged model removed and trained again: ", e.what()));
      std::filesystem::remove(path);
    }
  }
  Outcome out = Training(recipe, seed, corpus).run(hooks.stop);
  if (out.model) save(path, recipe, out);
  return out;
}

Sample test_windows(const Recipe& r, const Corpus* corpus, std::int64_t T, std::int64_t count,
                    std::uint64_t draw) {
  if (!on_text(r, corpus)) return make_task(r.data, T, count, Random(draw, "test of a task"));
  const auto ends = corpus->held_out_ends(T + 1, count);
  std::vector<std::int64_t> starts;
  for (const std::int64_t end : ends) starts.push_back(end - T - (r.causal ? 1 : 0));
  const Random masks(draw, "held-out masks");
  Windows w = windows_at(*corpus, starts, T, r.causal, &masks);
  return {T, std::move(w.inputs), std::move(w.targets)};
}

}  // namespace gnomon::claims
