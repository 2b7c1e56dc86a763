#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "gnomon/nn/session.h"

namespace gnomon {

// A model with its parameters, to be looked at.
struct Trained {
  const Model& model;
  std::span<const float> w;
};

// Windows of T tokens, one after the other.
struct Sample {
  std::int64_t T;
  std::vector<std::int32_t> inputs, targets;
  const Placement* placement = nullptr;         // one row for all windows; null: 0..T−1
  bool drop_positions = false;                  // as in Tokens
  const std::function<bool()>* stop = nullptr;  // as in Tokens, of every pass over it
  // Of a decoder with cross attention: the rows that its encoder left for each window, (count·encoder_T, width), dense.
  std::int64_t encoder_T = 0;
  Floats encoder = {};
  std::int64_t count() const { return std::int64_t(inputs.size()) / T; }
  // Views of the windows first..first+B−1.
  Tokens tokens(std::int64_t first, std::int64_t B) const;
  // The first windows, at least one; all where there are fewer.
  Sample first(std::int64_t windows) const;
  // Throws Error(usage) unless these are tokens and their targets in whole windows, at least one. Which tokens there are is
  // a model's matter: its passes refuse others.
  void check() const;
};

}  // namespace gnomon
