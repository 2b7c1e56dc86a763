#pragma once
#include <cstdint>
#include <string>

#include "gnomon/study/data/data.h"
#include "gnomon/study/run/job.h"

namespace gnomon {

// Small models of one kind, one for each seed: the part of a job that claims vary. The rest is as in every study.
struct Recipe {
  // "text", by the byte; "pieces", the same in byte-pair symbols; or the name of a task (task.h).
  std::string data;
  std::string spec;  // how position enters
  std::int64_t layers = 2, width = 64, heads = 4, length = 64;
  bool causal = true;
  std::int64_t steps = 800, batch = 16;
  double learning_rate = 3e-3;
  std::int64_t seeds = 5;
  Fixed fixed = Fixed::nothing;
  bool snapshots = false;  // keep the parameters on the way
  bool trial = false;      // of a rate: by a seed and on windows that are used for nothing else

  std::string print() const;  // one line, equal for equal recipes
  bool of_text() const { return data == "text" || data == "pieces"; }
  // The training of one seed; `text` is needed where it is of a text, in the symbols that `data` names, and outlives the job.
  Job job(std::int64_t seed, const Data* text) const;
  Architecture model() const;
};

// `count` windows of T tokens that neither training nor the choice of a rate shows, of the text or of a task; `draw` numbers
// the batch.
Sample test_windows(const Recipe& recipe, const Data* text, std::int64_t T, std::int64_t count,
                    std::uint64_t draw);

}  // namespace gnomon
