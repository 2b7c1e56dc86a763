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
  bool whole = false;         // all of them turn, whatever share of the attended head the dictionary says
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
  by_pair,  // the ratio where both are, else 0.1·ln factor + 1; attention_factor is not looked at
  by_ratio  // that of mscale (1) and mscale_all_dim (0), whatever attention_factor says
};

// The keys of YaRN's authors that are read: attn_factor and extrapolation_factor; apply_yarn_scaling as well.
enum class AuthorsKeys { none, factors, all };

// The base of the type dynamic: raised for each length; once, for factor times the longest context; once, for the longest context,
// which leaves it as it is unless max_trained_positions says less.
enum class DynamicBase { by_length, once_extended, once };

// Which list of LongRoPE divides: by the length of the context; the long one where the longest context is longer than original;
// always the long one; the long one for the positions from original on, the short one for the others.
enum class LongList { by_length, by_capacity, always, by_position };

// How the readers differ once the dictionary is complete.
struct RopeRules {
  bool longrope_by_ratio =
      false;  // the factor of longrope is max_position_embeddings / original, whatever it says
  bool plain_forgets_part =
      true;                      // the type default rotates the whole head (unless the family's own does not)
  std::optional<bool> truncate;  // of yarn, where the dictionary's own is not looked at
  YarnFactor yarn_factor = YarnFactor::said;
  AuthorsKeys authors_keys = AuthorsKeys::none;
  DynamicBase dynamic = DynamicBase::by_length;
  LongList long_list = LongList::by_length;
  bool longrope_factor_unread = false;  // attention_factor of longrope
  bool sections_add_up = false;         // those of M-RoPE in turns are all pairs; else the rest follows time
  bool softmax_mscale = false;          // mscale_all_dim multiplies q·k as well, squared: DeepSeek
  std::string source;                   // of all this, for the rules
};

// The rotation that a complete dictionary (rope_type, rope_theta, original_max_position_embeddings where the type needs it) says,
// as transformers computes it: modeling_rope_utils.py, ROPE_INIT_FUNCTIONS, and compute_default_rope_parameters of the
// models. Throws Error(input) for a type that there is not, a missing or impossible number.
SpecPart rope_part(const RopeDict& dict, const RopeHead& head, const RopeFacts& facts,
                   const RopeRules& rules);

}  // namespace gnomon
