#pragma once
#include <cstdint>
#include <string>

#include "gnomon/lab/config.h"
#include "gnomon/lab/corpus.h"
#include "gnomon/nn/trained.h"

namespace gnomon {

// What a run keeps on its way, beside its result.
struct Keep {
  std::int64_t windows = 32;  // held-out windows behind a point of the curve, at most
  bool start = false;         // a point of the curve before the first step too
  bool snapshots = false;     // the parameters at every point of the curve
  std::int64_t reach =
      0;  // held-out windows end where windows of so many tokens have room; 0: of the longest
  bool operator==(const Keep&) const = default;
};

// One training and its evaluation, as data: all that the result depends on, beside the numerics.
struct Job : RunSettings {
  std::string data = "text";     // or the name of a task (task.h)
  const Corpus* text = nullptr;  // of data = "text", else not looked at
  Spec spec;                     // how position enters
  std::int64_t seed = 1;         // of initial weights and data order
  Held held = Held::all;         // what it is evaluated on
  bool frozen_words = false;     // the word table stays as it started
  Keep keep;

  Architecture architecture() const;
  // Every setting and the text's SHA-256, as lines; equal for equal jobs. Throws Error(usage) where the text is missing.
  std::string print() const;
};
Architecture model_of(const RunSettings& settings, const Spec& spec);

// One training among those of a study.
struct Trial {
  std::string arm;  // as arm.h prints it; of a claim's model: the spec
  std::int64_t seed, steps;
  double learning_rate;
};

// Which run it is: the name of its folder, and what it is told by.
struct RunPlan : Trial {
  std::string key;       // of everything that its result depends on; the name of its folder
  std::string asked;     // the hash of what is asked: the key without the numerics
  std::string numerics;  // what the bits depend on beside that (nn/numerics.h)
};
RunPlan plan_of(const Job& job, int threads);  // for runs on so many threads

// The windows that a job learns from at its step (from 0): a function of its seed and the step. `train.batch` windows of
// model.length tokens; of the task "lengths" of another length each step. Causal: the target is the next byte. Encoder: 15 %
// of the bytes, chosen by their place in the text, are replaced by 0 and are the targets (Devlin et al. 2018, arXiv
// 1810.04805, section 3.1, with all of them masked).
Sample training_batch(const Job& job, std::int64_t step);
// Windows that training never shows, evenly spread over what is held out.
struct Windows {
  std::int64_t tokens, count;
  Held held = Held::all;
  std::uint64_t draw = 0;  // numbers the masks of an encoder, or the examples of a task
};
Sample held_out(const Job& job, const Windows& windows);

}  // namespace gnomon
