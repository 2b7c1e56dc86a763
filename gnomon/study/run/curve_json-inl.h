#pragma once
#include <vector>

#include "gnomon/files/json-inl.h"
#include "gnomon/study/run/run.h"

// A curve as JSON, which a checkpoint and a result both hold.
namespace gnomon {

inline StrictJson curve_json(const std::vector<CurvePoint>& curve) {
  StrictJson all = StrictJson::array();
  for (const auto& p : curve) all.push_back({p.step, p.training, p.held_out});
  return all;
}

// Throws Error(input) for points that are out of order or after `last`.
inline std::vector<CurvePoint> curve_from(const JsonValue& json, std::int64_t last) {
  std::vector<CurvePoint> curve;
  for (const JsonValue& point : json.list()) {
    const auto parts = point.list(3);
    const std::int64_t least = curve.empty() ? 0 : curve.back().step + 1;
    curve.push_back({parts[0].whole(least, last), parts[1].number_or_nan(), parts[2].number_or_nan()});
  }
  return curve;
}

}  // namespace gnomon
