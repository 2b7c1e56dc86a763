#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gnomon/nn/parameters.h"

namespace gnomon {

struct ModelParts;

// A Transformer as a function of its parameters: it holds none, and nothing of a pass. Every array is flat, in the order of
// params(). Immutable; copies share what they know, and one model serves many threads, each with a Session of its own.
class Model {
 public:
  // Throws Error(usage) as Architecture::check() does.
  explicit Model(const Architecture& architecture);

  const Architecture& architecture() const;
  const Scheme& scheme() const;  // its spec, made for its shape
  std::span<const Param> params() const;
  std::int64_t param_count() const;
  const Param& param(std::string_view name) const;  // throws Error(bug)
  // The window lengths it is defined for end here; nullopt = any length.
  std::optional<std::int64_t> positions_end() const;

  // Names of the values of a pass, in its order: see taps.h.
  std::vector<std::string> tap_names() const;

  // Parameters as they start. A tensor's numbers depend on (seed, its name, its index) alone: models that
  // share a tensor of the same shape and deviation start it equal.
  Floats initial(std::uint64_t seed) const;

  // Multiply-adds ×2 for one token at window length T, forward and backward (three times the forward), matrix
  // products and attention only; attention counts the pairs that the causal mask leaves, cross attention as many rows of the encoder as
  // tokens.
  double training_flops_per_token(std::int64_t T) const;

 private:
  friend class Session;
  std::shared_ptr<const ModelParts> parts_;
};

}  // namespace gnomon
