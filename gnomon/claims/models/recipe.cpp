#include "gnomon/claims/models/recipe.h"

#include <algorithm>

#include "gnomon/core/error.h"
#include "gnomon/core/text.h"
#include "gnomon/study/data/task_data.h"

namespace gnomon {

std::string Recipe::print() const {
  return text(data, " | ", Spec::parse(spec).print(), " | ", layers, "x", width, " H", heads, " T", length,
              causal ? " causal" : " encoder", " | ", steps, " steps of ", batch, ", rate ",
              shortest(learning_rate),
              fixed == Fixed::words          ? ", words frozen"
              : fixed == Fixed::feed_forward ? ", no feed-forward"
                                             : "",
              snapshots ? ", snapshots" : "", trial ? ", trial" : "");
}

Job Recipe::job(std::int64_t seed, const Data* text) const {
  Job j;
  j.model.layers = layers, j.model.width = width, j.model.heads = heads, j.model.length = length;
  j.model.causal = causal;
  if (of_text() && text) j.model.vocabulary = text->vocabulary();
  j.train.steps = steps, j.train.batch = batch, j.train.learning_rate = learning_rate;
  j.lengths.clear(), j.score = length, j.points = 16;
  j.windows = std::min<std::int64_t>(256, 256 * 64 / length);  // not more tokens of long ones
  j.data = of_text() ? text : &claim_task(data), j.spec = Spec::parse(spec);
  j.seed = trial ? kTuningSeeds - 1 + seed : seed, j.held = trial ? Held::validation : Held::test;
  j.fixed = fixed;
  j.keep = {.windows = j.windows,
            .start = true,
            .snapshots = snapshots,
            .test_on_the_way = true,
            .reach = length + 1};
  return j;
}

Architecture Recipe::model() const { return job(1, nullptr).architecture(); }

Sample test_windows(const Recipe& recipe, const Data* text, std::int64_t T, std::int64_t count,
                    std::uint64_t draw) {
  const Job job = recipe.job(1, text);
  if (!job.data) throw Error(Fault::usage, "this needs a text: give one with --text FILE");
  return job.data->held_out({T, count, Held::test, recipe.causal, draw, T + 1});
}

}  // namespace gnomon
