#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "gnomon/study/run/job.h"

namespace gnomon {

struct CurvePoint {
  std::int64_t step;
  double training,
      held_out;  // nats a byte: mean over the steps since the last point (NaN: none); over some held-out windows
};
struct LengthLoss {
  double factor;
  std::int64_t tokens;
  std::optional<double> nats;        // nullopt: the encoding is not defined there
  std::vector<double> by_block;      // as RunResult's
  std::optional<Tally> right = {},   // answers, by the metric of a task; factor: symbols of its payload
      symbols = {};                  // of them, right symbols
  std::vector<Tally> by_depth = {};  // the same by where the answer stands; empty: nowhere
};

// Blocks of held-out windows, by which the variance of the text is told from that of the training.
constexpr std::int64_t kBlocks = 64;

// What a run has found. All but `cost` is fixed, to the bit, by the run's key on one machine.
struct RunResult {
  RunPlan plan;
  std::string failure;  // empty: it finished
  std::int64_t parameters = 0;
  double flops_per_token = 0;  // of training
  double nats = 0;             // a byte, held out, over whole windows of the training length
  std::vector<double>
      by_block;  // the same in blocks of neighbouring windows, at most kBlocks, equal for all arms
  std::vector<CurvePoint> curve;
  std::vector<LengthLoss> by_length;
  std::vector<double> by_position;  // nats at each position of a held-out window
  std::string weights_sha256;
  struct Cost {
    double training_seconds = 0, evaluation_seconds = 0, tokens_per_second = 0;
    std::int64_t peak_memory_bytes = 0;
  } cost;
};
// Losses at positions as pages and archives have them: means of so many neighbours, of finite ones alone; NaN where none is.
inline constexpr std::size_t kNeighbours = 8;
std::vector<double> means_of_neighbours(const std::vector<double>& by_position);

std::string result_json(const RunResult& result);
// Throws Error(input) for a file that is not, to the byte, what result_json made.
RunResult result_from_json(const Path& path);
// Of JSON with its members and without a seal, as an archive has it; `where` begins messages.
RunResult result_from_text(const std::string& json, const std::string& where);

// Where a run keeps its files.
struct RunFolder {
  Path folder;
  Path result() const { return folder / "result.json"; }
  Path model() const { return folder / "model.safetensors"; }
  Path checkpoint() const { return folder / "checkpoint.safetensors"; }
  Path previous() const { return folder / "checkpoint.previous.safetensors"; }
  Path snapshot(std::int64_t step) const;
  Path lock() const { return folder / "lock"; }
  void forget_checkpoints() const;  // of a finished run; one that stays harms nobody
};

// The result in its folder. Throws Error(input) for one that is damaged or belongs to another run than this.
RunResult result_of(const RunPlan& plan, const RunFolder& folder);

// The parameters that run `key` left in this file, for a model of its architecture. Throws Error(input) for a file that is
// missing, damaged, or of another run.
Floats parameters_in(const Model& model, const Path& file, const std::string& key);

struct RunProgress {
  std::int64_t step, steps;
  double nats, tokens_per_second;
};
// What a run asks and tells while it works.
struct RunHooks {
  std::function<bool()> stop;  // true: write a checkpoint and return; asked before every layer
  std::function<void(const RunProgress&)> progress;
  std::function<void(const std::string&)> note;  // a sentence worth a line
  double checkpoint_seconds = 10;                // between two checkpoints
  int patience_ms = 5000;                        // for the lock: a killed predecessor may need a moment to go
};

// Trains and evaluates, from the newest intact checkpoint on, and leaves result.json and model.safetensors; a
// result that is already there is returned. nullopt: stopped by the hook, to be continued. A run in which a loss (in training or
// held out), a gradient or a parameter is not finite returns with `failure` set: what, and at which step. Throws Error for anything else.
// `ranks`: this is rank 0 of several (together.h); null: nobody else trains with it.
std::optional<RunResult> perform(const Job& job, const RunPlan& plan, const RunFolder& folder,
                                 const RunHooks& hooks, Ranks* ranks = nullptr);

}  // namespace gnomon
