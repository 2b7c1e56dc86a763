#pragma once
#include <string>
#include <string_view>

#include "gnomon/study/settings/config.h"

namespace gnomon {

// What an arm shares with the baseline. Ways of joining differ in parameters and work at equal width, so a fair comparison
// shows all three.
enum class Match {
  width,       // every setting of the model and the training
  parameters,  // as many parameters, within 1 %: another hidden width of the feed-forward parts
  flops,       // as much computing in training, within 2 %: another number of steps
};

// One arm of a study. As text: a spec, then what is matched unless it is the width: "concat(sinusoidal) | parameters".
struct Arm {
  Spec spec;
  Match match = Match::width;
  static Arm parse(
      std::string_view text);  // throws Error(usage) as Spec::parse does, and for another word after |
  std::string print() const;
  bool operator==(const Arm&) const = default;
};

// The settings under which this arm is trained where the baseline has these. Throws Error(usage) where nothing differs or
// nothing matches.
RunSettings settings_of(const Arm& arm, const RunSettings& baseline_settings, const Spec& baseline);

}  // namespace gnomon
