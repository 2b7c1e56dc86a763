// The rotation of q or k in the plan of an encoding without parameters.
#pragma once
#include "gnomon/encodings/encoding.h"

namespace gnomon {

inline Rotate turn_of(const Encoding& e, const Positions& positions, Role role = Role::q) {
  const Floats none;
  std::vector<Step> steps;
  part<MapPart>(e)->map({positions, none, nullptr}, {e.shape().D, e.shape().D}, steps);
  for (const Step& step : steps) {
    if (step.acts_on(role) && std::holds_alternative<Rotate>(step.what)) return std::get<Rotate>(step.what);
  }
  return {};
}

}  // namespace gnomon
