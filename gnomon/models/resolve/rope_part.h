#pragma once
#include <string>
#include <vector>

#include "gnomon/models/resolve/resolved.h"
#include "gnomon/models/resolve/rope_dict.h"

namespace gnomon {

// The head that a dictionary of RoPE is about.
struct RopeHead {
  std::int64_t attended = 0;  // channels of q·k
  std::int64_t rotated = 0;   // of them, what the file calls the head: those of MLA's rotary slice, else all
  bool trailing = false;      // the slice is at the end
  std::int64_t longest = 0;   // max_position_embeddings
};

// An encoding of a spec, and why each option is what it is.
struct SpecPart {
  Named encoding;
  std::vector<Because> because;
  std::vector<Remark> remarks;
};

// What cos and sin are multiplied by, of YaRN.
enum class YarnFactor {
  said,  // attention_factor, else the ratio of mscale and mscale_all_dim where both are, else 0.1·ln factor + 1
  plain,    // 0.1·ln factor + 1, whatever those keys say
  by_ratio  // that of mscale (1) and mscale_all_dim (0), whatever attention_factor says
};

// How the readers differ once the dictionary is complete.
struct RopeRules {
  bool longrope_by_ratio =
      false;  // the factor of longrope is max_position_embeddings / original, whatever it says
  bool plain_forgets_part =
      true;                      // the type default rotates the whole head (unless the family's own does not)
  std::optional<bool> truncate;  // of yarn, where the dictionary's own is not looked at
  YarnFactor yarn_factor = YarnFactor::said;
  bool authors_keys =
      false;  // of yarn: attn_factor multiplies, extrapolation_factor and apply_yarn_scaling are read
  bool static_dynamic = false;  // dynamic scales once, for factor times the length
  bool softmax_mscale = false;  // mscale_all_dim multiplies q·k as well, squared: DeepSeek
  std::string source;           // of all this, for the rules
};

// The rotation that a complete dictionary (rope_type, rope_theta, original_max_position_embeddings where the type needs it) says,
// as transformers computes it: modeling_rope_utils.py, ROPE_INIT_FUNCTIONS, and compute_default_rope_parameters of the
// models. Throws Error(input) for a type that there is not, a missing or impossible number.
SpecPart rope_part(const RopeDict& dict, const RopeHead& head, const RopeFacts& facts,
                   const RopeRules& rules);

}  // namespace gnomon
