#pragma once
#include <cstdint>
#include <string>

#include "gnomon/study/data/data.h"
#include "gnomon/study/settings/config.h"

namespace gnomon {

// What a run keeps on its way, beside its result.
struct Keep {
  std::int64_t windows = 32;  // held-out windows behind a point of the curve, at most
  bool start = false;         // a point of the curve before the first step too
  bool snapshots = false;     // the parameters at every point of the curve
  // Points of the curve are of the windows that the job is evaluated on. Otherwise a test is looked at when training is over.
  bool test_on_the_way = false;
  std::int64_t reach =
      0;  // held-out windows end where windows of so many tokens have room; 0: of the longest
  bool operator==(const Keep&) const = default;
};

// What training leaves as it is.
enum class Fixed {
  nothing,
  words,        // the word table stays as it started
  feed_forward  // the last maps of all feed-forward parts stay 0: a model without these parts
};

// One training and its evaluation, as data: all that the result depends on, beside the numerics.
struct Job : RunSettings {
  const Data* data = nullptr;  // what it learns from; outlives the job
  Spec spec;                   // how position enters
  std::int64_t seed = 1;       // of initial weights and data order
  Held held = Held::all;       // what it is evaluated on
  Fixed fixed = Fixed::nothing;
  Keep keep;

  Architecture architecture() const;
  const Data& learned() const;  // its data; throws Error(usage) where they are missing
  // Every setting and the text's SHA-256, as lines; equal for equal jobs. Throws as learned() does.
  std::string print() const;
};

// One training among those of a study.
struct Trial {
  std::string arm;  // as arm.h prints it; of a claim's model: the spec
  std::int64_t seed, steps;
  double learning_rate;
};

// Seeds of tuning runs begin here; those that results are told of are below.
inline constexpr std::int64_t kTuningSeeds = 1001;
inline bool tunes(const Trial& trial) { return trial.seed >= kTuningSeeds; }

// Which run it is: the name of its folder, and what it is told by.
struct RunPlan : Trial {
  std::string key;       // of everything that its result depends on; the name of its folder
  std::string asked;     // the hash of what is asked: the key without the numerics
  std::string numerics;  // what the bits depend on beside that (nn/numerics.h)
};
RunPlan plan_of(const Job& job, int threads);  // for runs on so many threads

Sample training_batch(const Job& job, std::int64_t step);  // of a step, from 0
// `count` windows of T tokens of what the job is evaluated on, or of another part.
Sample held_out(const Job& job, std::int64_t T, std::int64_t count, Held held);
Examples examples(const Job& job, std::int64_t payload);  // of a job whose data has answers
Windows windows_of(const Job& job, std::int64_t T, std::int64_t count, Held held);

}  // namespace gnomon
