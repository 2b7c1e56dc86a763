#pragma once
#include <string>
#include <string_view>

#include "gnomon/spec/spec.h"

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
  std::string written;  // as it was given, which study.toml keeps

  // Throws Error(usage) as Spec::parse does, and for another word after |.
  Arm(std::string_view text);
  Arm(const std::string& text) : Arm(std::string_view(text)) {}
  Arm(const char* text) : Arm(std::string_view(text)) {}
  explicit Arm(const Spec& its_spec) : spec(its_spec), written(its_spec.print()) {}
  std::string print() const;  // what is standard is left out
  bool operator==(const Arm& other) const { return spec == other.spec && match == other.match; }
};

}  // namespace gnomon
