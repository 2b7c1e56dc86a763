#include "gnomon/study/data/line_data.h"

#include <algorithm>

#include "gnomon/core/error.h"
#include "gnomon/core/readable.h"

namespace gnomon {

std::string LineData::print() const { return text("lines ", lines_.sha256()); }

Sample LineData::training(const StepBatch& b) const {
  const auto examples = lines_.part(Lines::Part::training);
  const Random order(b.seed, "data order");
  std::vector<std::int64_t> which;
  for (std::int64_t n = 0; n < b.windows; ++n)
    which.push_back(std::int64_t(order.below(std::uint64_t(b.step * b.windows + n), examples.size())));
  return windows_of(examples, which, b.tokens, b.causal);
}

Sample LineData::held_out(const Windows& w) const {
  const auto examples = lines_.part(w.held == Held::validation ? Lines::Part::validation : Lines::Part::test);
  const std::int64_t all = std::int64_t(examples.size()), count = std::min(w.count, all);
  std::vector<std::int64_t> which;
  for (std::int64_t n = 0; n < count; ++n) which.push_back((2 * n + 1) * all / (2 * count));
  return windows_of(examples, which, w.tokens, w.causal);
}

Examples LineData::examples(std::int64_t, const Windows& w) const { return {held_out(w), {}}; }

double LineData::training_tokens() const {
  double sum = 0;
  for (const Example& e : lines_.part(Lines::Part::training)) sum += double(e.tokens());
  return sum;
}

std::vector<std::string> LineData::describe() const {
  const auto count = [&](Lines::Part part) { return grouped(double(lines_.part(part).size())); };
  return {text(count(Lines::Part::training), " questions for training, ", count(Lines::Part::validation),
               " for the choice of rates, ", count(Lines::Part::test), " for the test; SHA-256 ",
               lines_.sha256(),
               ". A hash of each question decides its part, so no question is in two parts.")};
}

}  // namespace gnomon
