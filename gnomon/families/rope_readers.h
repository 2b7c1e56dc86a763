#pragma once
#include "gnomon/families/family.h"
#include "gnomon/families/rope_dict.h"
#include "gnomon/families/rope_part.h"

namespace gnomon {

// What a reader makes of the settings of RoPE: a complete dictionary for each kind of layer, and its rules for the rest.
struct RopeReading {
  RopeKinds kinds;
  RopeRules rules;
  std::vector<Remark> remarks;
  const std::optional<RopeDict>& of(std::string_view label) const;  // of all, where one is for all
};

// transformers 5.23.0: configuration_utils.py and modeling_rope_utils.py, convert_rope_params_to_dict and
// standardize_rope_params, and the configurations that override them. `labels`: the layer types of the file.
RopeReading read_rope_v5(Reading& file, const Family& family, const std::vector<std::string>& labels,
                         std::int64_t longest);

}  // namespace gnomon
