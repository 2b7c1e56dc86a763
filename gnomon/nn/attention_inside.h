#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "gnomon/nn/attention.h"
#include "gnomon/nn/execute.h"
#include "gnomon/spec/scheme.h"

namespace gnomon {

struct Attention::Inside {
  // Throws as the constructor of Attention does.
  Inside(std::string_view text, const AttentionConfig& given);

  AttentionConfig config;  // without a 0 that stands for something else
  Spec spec;
  Scheme scheme;                      // its encodings, in the order of the spec
  std::vector<ParamSpec> params;      // theirs
  std::vector<std::int64_t> offsets;  // of each encoding's in the array of all
  std::int64_t count = 0;             // numbers in that array

  std::vector<const Encoding*> encodings() const;
  // With their parameters, as compile() and compile_backward() take them. dw may be empty: nothing is added.
  std::vector<Acting> acting(std::span<const float> w, std::span<float> dw) const;
  // What position does here for tokens at these places, as data: printed, compared, executed elsewhere. w as in the call.
  Plan plan(const Placement& places, std::span<const float> w) const;
  AttendShape shape_of(const AttentionInput& in) const;
  void check(const AttentionInput& in) const;  // throws what a call does
};

}  // namespace gnomon
