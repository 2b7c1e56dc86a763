#include "gnomon/claims/models/experiment.h"

#include <algorithm>
#include <limits>
#include <mutex>
#include <span>

#include "gnomon/claims/models/threads.h"
#include "gnomon/core/error.h"
#include "gnomon/core/text.h"
#include "gnomon/study/data/symbol_text.h"
#include "gnomon/study/data/task.h"

namespace gnomon {

Experiment::Experiment(const Corpus* text, bool quick_run, Path models)
    : quick(quick_run),
      text_(text),
      one_byte_(text && text->content().find_first_not_of(text->content().front()) == std::string_view::npos),
      folder_(std::move(models)) {}

namespace {
std::string tuned_as(const Recipe& r) {
  return text(r.spec,
              !r.of_text()         ? " on " + r.data
              : r.data == "pieces" ? text(" on pieces, ", r.width, " channels")
                                   : "",
              !r.of_text() || r.layers != 2 ? text(", ", counted(std::size_t(r.layers), "layer")) : "",
              r.of_text() && r.length == Experiment::kLong ? text(", windows of ", r.length) : "",
              r.causal ? "" : ", encoder");
}
std::span<const double> rates_of(const Recipe& r) {
  if (!r.of_text()) return Experiment::kTaskRates;
  return r.causal ? std::span<const double>(Experiment::kRates) : Experiment::kEncoderRates;
}
}  // namespace

Recipe Experiment::on_text(std::string_view spec, std::int64_t layers, bool causal) const {
  Recipe r{.data = "text", .spec = std::string(spec), .layers = layers, .causal = causal, .steps = 800};
  if (quick) r.steps = 100, r.batch = 8;
  if (!causal) r.steps *= 2;  // a seventh of the targets a window
  r.learning_rate = rate_of(r, kRates[0]);
  return r;
}
double Experiment::rate_of(const Recipe& r, double otherwise) const {
  const auto found = rates_.find(tuned_as(r));
  return found == rates_.end() ? otherwise : found->second;
}
Recipe Experiment::language(std::string_view spec, std::int64_t layers) const {
  return on_text(spec, layers, true);
}
Recipe Experiment::long_language(std::string_view spec, std::int64_t layers) const {
  Recipe r = on_text(spec, layers, true);
  r.batch = std::max<std::int64_t>(1, r.batch * r.length / kLong), r.length = kLong;
  r.learning_rate = rate_of(r, kRates[0]);
  return r;
}
Recipe Experiment::encoder(std::string_view spec, std::int64_t layers) const {
  return on_text(spec, layers, false);
}
Recipe Experiment::pieces(std::string_view spec, std::int64_t width) const {
  Recipe r = on_text(spec, 2, true);
  r.data = "pieces", r.width = width, r.heads = width / 16;
  r.learning_rate = rate_of(r, kRates[0]);
  return r;
}
Recipe Experiment::task(std::string_view data, std::string_view spec, std::int64_t layers,
                        bool causal) const {
  Recipe r{.data = std::string(data), .spec = std::string(spec), .layers = layers, .causal = causal};
  const std::int64_t own = task_length(data);
  r.length = own ? own : 32, r.batch = own ? 64 : 16, r.steps = quick ? 250 : 500;
  r.learning_rate = rate_of(r, r.learning_rate);
  return r;
}

namespace {
struct Tried {
  Recipe base;
  std::map<double, double> loss;  // by rate, of a trial; infinite where it diverged
};
double best_of(const std::map<double, double>& loss) {
  return std::min_element(loss.begin(), loss.end(), [](auto& a, auto& b) { return a.second < b.second; })
      ->first;
}
// What is to be tried next: the grid, then what lies beyond an edge that is best.
std::vector<double> next_rates(const Tried& t) {
  const auto grid = rates_of(t.base);
  if (t.loss.empty()) return {grid.begin(), grid.end()};
  const double best = best_of(t.loss);
  if (best == t.loss.rbegin()->first) return {2 * best};
  if (best == t.loss.begin()->first) return {best / 2};
  return {};
}
}  // namespace

// What language(), encoder() or long_language() gives, whatever a claim changed of it.
Recipe Experiment::as_given(const Recipe& r) const {
  if (r.data != "text") return r;
  return r.length == kLong ? long_language(r.spec, r.layers) : on_text(r.spec, r.layers, r.causal);
}

bool Experiment::tune(const std::vector<Recipe>& recipes, const TrainHooks& hooks) {
  if (quick) return true;
  cut_pieces(recipes);
  std::map<std::string, Tried> open;
  for (const Recipe& r : recipes) {
    if (lacking(r).empty()) open.try_emplace(tuned_as(r), Tried{as_given(r), {}});
  }
  for (int round = 0; round <= kWidenings; ++round) {
    std::vector<Recipe> tries;
    for (const auto& [name, tried] : open) {
      for (const double rate : next_rates(tried)) {
        tries.push_back(tried.base);
        tries.back().learning_rate = rate, tries.back().seeds = 1, tries.back().trial = true;
      }
    }
    if (!train(tries, hooks)) return false;
    for (const Recipe& r : tries) {
      const auto& kept = kept_[r.print()];
      open[tuned_as(r)].loss[r.learning_rate] =
          kept.empty() ? std::numeric_limits<double>::infinity() : kept.front().nats;
    }
  }
  for (const auto& [name, tried] : open) rates_[name] = best_of(tried.loss);
  return true;
}

void Experiment::cut_pieces(const std::vector<Recipe>& recipes) {
  const bool wanted = std::any_of(recipes.begin(), recipes.end(), [](auto& r) { return r.data == "pieces"; });
  if (!wanted || pieces_ || !no_pieces_.empty() || !text_) return;
  try {
    pieces_ = std::make_unique<SymbolText>(*text_, kPieces, 256);
  } catch (const Error& e) {
    if (e.fault() != Fault::input) throw;
    no_pieces_ = e.what();
  }
}

std::string Experiment::lacking(const Recipe& recipe) const {
  if (one_byte_ && recipe.of_text())
    return "The text repeats one byte: a model needs at least two different bytes to learn anything.";
  if (recipe.data == "pieces" && !pieces_)
    return gnomon::text("The text is too small for ", kPieces, " byte-pair symbols: ", no_pieces_, ".");
  return "";
}

const Data* Experiment::data_of(const Recipe& recipe) const {
  return recipe.data == "pieces" ? pieces_.get() : text_;
}

bool Experiment::train(const std::vector<Recipe>& recipes, const TrainHooks& hooks) {
  cut_pieces(recipes);
  std::vector<std::pair<const Recipe*, std::int64_t>> open;  // recipe, seed
  for (std::int64_t seed = 1; seed <= seeds(); ++seed) {
    for (const Recipe& r : recipes) {
      auto& kept = kept_[r.print()];
      if (!lacking(r).empty() || seed > r.seeds || std::int64_t(kept.size()) >= seed) continue;
      kept.resize(std::size_t(seed));
      open.emplace_back(&r, seed);
    }
  }
  if (!open.empty()) make_folders(folder_);
  std::size_t done = 0;
  std::mutex guard;
  const bool all = on_threads(open.size(), [&](std::size_t n, const std::function<bool()>& stopped) {
    const auto& [recipe, seed] = open[n];
    const TrainHooks of_one{.stop = [&] { return stopped() || hooks.stop(); },
                            .progress = {},
                            .note =
                                [&](const std::string& sentence) {
                                  const std::lock_guard lock(guard);
                                  if (hooks.note) hooks.note(sentence);
                                }};
    Outcome o = train_or_load(*recipe, seed, data_of(*recipe), folder_, of_one);
    if (!o.model) return false;
    const std::lock_guard lock(guard);
    trained_ += !o.found;
    kept_[recipe->print()][std::size_t(seed - 1)] = std::move(o);
    hooks.progress(++done, open.size(), recipe->print());
    return true;
  });
  for (auto& [recipe, outcomes] : kept_) {
    std::erase_if(outcomes, [&, &name = recipe](const Outcome& o) {
      if (!o.failure.empty()) diverged_.push_back(gnomon::text(name, ", seed ", o.seed));
      return !o.failure.empty();
    });
  }
  return all;
}

const std::vector<Outcome>& Experiment::models(const Recipe& recipe) {
  if (auto what = lacking(recipe); !what.empty()) throw NotMeasurable(std::move(what));
  const auto found = kept_.find(recipe.print());
  if (found == kept_.end())
    throw Error(Fault::bug, gnomon::text("a claim uses a model that it did not declare: ", recipe.print()));
  if (found->second.empty())
    throw Error(Fault::input, gnomon::text("every training diverged: ", recipe.print()));
  return found->second;
}

const Corpus& Experiment::text() const {
  if (!text_) throw Error(Fault::usage, "this needs a text: give one with --text FILE");
  return *text_;
}

Sample Experiment::held_out(const Recipe& recipe, std::int64_t windows) const {
  return test_windows(recipe, data_of(recipe), recipe.length, windows, 1);
}

std::vector<double> losses(Experiment& experiment, const Recipe& recipe) {
  return each(experiment, recipe, [](const Outcome& o) { return o.nats; });
}
Estimate loss(Experiment& experiment, const Recipe& recipe) {
  return mean_interval(losses(experiment, recipe));
}
Estimate loss_difference(Experiment& experiment, const Recipe& a, const Recipe& b) {
  std::vector<double> x, y;
  for (const Outcome& one : experiment.models(a)) {
    for (const Outcome& other : experiment.models(b)) {
      if (one.seed == other.seed) x.push_back(one.nats), y.push_back(other.nats);
    }
  }
  return paired_interval(x, y);
}

}  // namespace gnomon
