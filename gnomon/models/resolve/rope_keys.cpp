#include "gnomon/models/resolve/rope_keys.h"

#include <algorithm>

#include "gnomon/core/names.h"

namespace gnomon {

std::span<const RopeKey> rope_keys() {
  using enum RopeKeyKind;
  static const std::vector<RopeKey> all{
      {"rope_type", word, "How the frequencies are made."},
      {"type", word, "The older name of rope_type."},
      {"rope_theta", positive, "The base of the frequencies."},
      {"partial_rotary_factor", share, "The share of a head that rotates."},
      {"mrope_section", sections, "Pairs of each axis of a position: time, height, width."},
      {"xdrope_section", sections, "HunYuan's own name of mrope_section."},
      {"mrope_interleaved", flag, "Whether the axes take turns, pair by pair."},
      {"interleaved", flag, "Whether a pair is two adjacent channels."},
      {"rope_interleave", flag, "Whether a pair is two adjacent channels."},
      {"max_position_embeddings", tokens, "The context length, of a class that reads it here."},
      {"finetuned", flag, "Whether the model was trained with this scaling. No class reads it."},
      {"factor",
       growth,
       "How many times longer the context becomes.",
       {"linear", "dynamic", "yarn", "llama3", "longrope", "proportional"},
       {"linear", "yarn", "llama3"}},
      {"original_max_position_embeddings",
       tokens,
       "The context length before the extension.",
       {"yarn", "llama3", "longrope"}},
      {"attention_factor", positive, "What cos and sin are multiplied by.", {"yarn", "longrope"}},
      {"beta_fast", number, "Pairs with more turns in the original length keep their frequency.", {"yarn"}},
      {"beta_slow", number, "Pairs with fewer turns are divided by the factor.", {"yarn"}},
      {"mscale", number, "The attention factor is one of mscale by one of mscale_all_dim.", {"yarn"}},
      {"mscale_all_dim", number, "See mscale. DeepSeek's classes scale the softmax by it, too.", {"yarn"}},
      {"truncate", flag, "Whether the ends of the ramp are rounded to whole pairs.", {"yarn"}},
      {"llama_4_scaling_beta", number, "How fast the queries grow with position.", {"yarn"}},
      {"short_factor",
       factors,
       "The factor of each pair up to the original length.",
       {"longrope"},
       {"longrope"}},
      {"long_factor", factors, "The factor of each pair beyond it.", {"longrope"}, {"longrope"}},
      {"short_mscale", number, "The attention factor up to the original length.", {"longrope"}},
      {"long_mscale", number, "The attention factor beyond it.", {"longrope"}},
      {"low_freq_factor",
       number,
       "Pairs with fewer turns in the original length are divided by the factor.",
       {"llama3"},
       {"llama3"}},
      {"high_freq_factor", number, "Pairs with more turns keep their frequency.", {"llama3"}, {"llama3"}},
      {"alpha", number, "Hunyuan's factor of the base.", {"dynamic"}},
      {"rope_ratio", number, "ChatGLM's factor of the base.", {"default"}}};
  return all;
}

std::string misspelt_rope_key(std::string_view key, std::string_view type) {
  std::vector<Name> names;
  for (const RopeKey& known : rope_keys()) {
    if (known.name == key) return {};
    if (known.types.empty() || std::find(known.types.begin(), known.types.end(), type) != known.types.end())
      names.push_back({known.name});
  }
  const std::vector<std::string> near = meant(key, names);
  return near.size() == 1 ? near[0] : std::string();
}

}  // namespace gnomon
