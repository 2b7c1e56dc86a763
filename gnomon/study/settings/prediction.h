#pragma once
#include <optional>
#include <string>
#include <vector>

#include "gnomon/study/settings/arm.h"
#include "gnomon/study/settings/fields.h"

namespace gnomon {

// What somebody expects of a study, as data: a number that the study measures, and where it is said to lie. One [[prediction]]
// of a preset or of study.toml.
struct Prediction {
  std::string says;     // a sentence
  std::string from;     // where it comes from; may be empty
  std::string measure;  // a name of measure_names()
  std::optional<Arm> arm,
      minus;  // of that arm, which check() asks for; less that of the other, where there is one
  // As evaluate.lengths and study.budgets have them; of a task, the symbols of its payload.
  std::optional<double> length, budget;
  std::optional<double> above, below, within, exactly;  // nats a byte, or a share
  // Finished runs of the study that stood in the folder when it was first written there; not set: none. Conduct sets it.
  std::optional<std::int64_t> after;
  // Throws Error(usage) that names the key, what was found, what is allowed.
  void check() const;
  bool is_growth() const { return measure == "growth"; }
  bool is_share() const { return measure == "right" || measure == "symbols"; }  // of answers
  bool is_weight() const { return measure == "previous"; }
  bool same(const Prediction& other) const;  // whatever `after` is
};

// loss: of the last bytes of windows of `length`; without one, of whole windows of the training length, after `budget` of
// the steps or all. growth: how much more that is at `length` than at the training length. right: the share of right answers,
// as the metric of the task counts them; symbols: of right symbols, whatever the metric. previous: what is no finding but a
// property of the encoding: the most weight that a head puts on the token before, queries and keys being 0.
std::span<const std::string_view> measure_names();

std::vector<Field> fields(Prediction& prediction);
std::string measured_text(const Prediction& p);  // "loss at 2×, rope − sinusoidal"
std::string bound_text(const Prediction& p);     // "below 0.05", "within ±0.01", "exactly 0.5"
// The first 16 digits of the SHA-256 of the tables as study.toml has them, without `after`: any change of them shows.
std::string fingerprint(const std::vector<Prediction>& predictions);

}  // namespace gnomon
