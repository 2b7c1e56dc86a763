#pragma once
#include <cstdint>
#include <functional>
#include <vector>

#include "gnomon/lens/attention.h"
#include "gnomon/lens/blocks.h"
#include "gnomon/lens/stream.h"

namespace gnomon {

// A model looked at from one pass over a sample, window by window: for models too large to run once for every layer. Each
// throws Error(usage) as Session does.

// Values by their names (nn/taps.h), one window at a time: look(window, name, value). Losses in nats of each token, 0 where
// unscored; a model without a head runs to its last rows, and has none.
using Look = std::function<void(std::int64_t window, const std::string& name, TapValue& value)>;
std::vector<float> watch(const Trained& m, const Sample& sample, const std::vector<std::string>& names,
                         const Look& look);

// The losses of the scored targets among the tokens first … first + count − 1 of a sample, added up; losses as watch() gives them.
BlockSum scored_sum(std::span<const float> losses, const Sample& sample, std::int64_t first,
                    std::int64_t count);

// What each head looks at, and how much of the variance of its row-centred logits the distance of query and key explains
// (table.h). Windows of at least 3 tokens.
struct HeadWatched {
  HeadHabits habits;
  double by_distance;
};
std::vector<std::vector<HeadWatched>> watch_heads(const Trained& m, const Sample& sample);  // [layer][head]

// Mean loss at each place of a window, in groups of `group` places: nats and the half-width of the 95 % interval over windows
// (NaN with one window). losses: of every token of the sample; groups without a scored target are left out.
struct LossAt {
  std::int64_t first;  // place in the window
  double nats, half_width;
};
std::vector<LossAt> loss_by_place(std::span<const float> losses, const Sample& sample, std::int64_t group);

// The last rows (windows·T, width) of a model, and what became of them: 1 − cosine between the means of each window's rows,
// mean over windows. 0: the same, as a reader of mean-pooled rows sees it (Reimers, Gurevych 2019, arXiv 1908.10084).
Matrix last_rows(const Trained& m, const Sample& sample);
double pooled_change(const Matrix& a, const Matrix& b, std::int64_t T);

}  // namespace gnomon
