#pragma once
#include <cstdint>
#include <string_view>

#include "gnomon/models/resolve/family.h"

namespace gnomon {

// What llama.cpp fixes by general.architecture, and no key of a GGUF file says. Facts of llama.cpp 0.5.0 (2026):
// src/llama-model.cpp, llama_model_rope_type(); src/models/NAME.cpp, load_arch_hparams() and the graph.

// Where position enters.
enum class GgufPosition {
  rotation,
  none,          // nowhere: the layers between those with attention know the order
  no_attention,  // and no layer has attention
  table,         // learned rows, beside the words
  buckets,       // T5's
  blocks,        // DeepSeek V4's keys of blocks; not read
  alibi,
  alibi_if_said  // where attention.max_alibi_bias is above 0
};

// Which channels turn together. Sections: M-RoPE, one coordinate after the other, or in turn.
enum class GgufPairs { adjacent, halves, sections, sections_in_turn };

// The rotation of layers with a window, beside that of the others.
enum class SlidingRope {
  as_full,
  unscaled,  // positions are not divided; the factor of cos and sin stays
  plain      // nor is there a factor
};

// The factor of q·k, where no key says it: 1/√head_dim, 1, 1/head_dim.
enum class GgufScale { root, one, by_head };

// The keys of YaRN under rope.scaling that are read: yarn_beta_fast and yarn_beta_slow; yarn_ext_factor too.
enum class GgufYarnKeys { none, betas, all };

struct GgufWindows {
  std::int64_t every = 0;   // layers: the last of so many sees everything; 0: none has a window
  bool full_first = false;  // the first of them instead
  bool listed = false;      // attention.sliding_window_pattern says it for each layer, and nothing else does
  std::int64_t standard = 0;  // tokens, where the file has no attention.sliding_window; 0: no window then
  std::int64_t fixed = 0;     // tokens, whatever the file says, where it has windows
  bool all = false;           // every layer, where the file has attention.sliding_window
  std::int64_t layers = 0;    // only models of so many layers have windows; 0: all
  bool symmetric = false;     // half of the tokens to each side
  SlidingRope rope = SlidingRope::as_full;
  bool own_base = false;     // 10000, unless rope.freq_base_swa says another base
  bool base_unread = false;  // rope.freq_base_swa is not used
};

struct GgufArchitecture {
  std::string_view name;
  GgufPosition position = GgufPosition::rotation;
  GgufPairs pairs = GgufPairs::halves;
  bool permuted = false;          // the converter moves the rows of q and k, so that adjacent channels turn
  bool sections_if_said = false;  // M-RoPE, where the file has rope.dimension_sections
  bool trailing = false;          // the channels that turn are the last of each head
  bool keyless = false;           // base 10000 and no scaling, whatever the file says
  bool two_sided = false;         // no query is kept from the keys after it
  GgufWindows windows = {};
  NoPosition no_position = NoPosition::never;  // of an architecture that no row of families/ has
  bool dense_turns = false;     // layers before leading_dense_block_count turn, whatever they see
  bool divides_full = false;    // rope_freqs.weight is not for layers with a window
  bool own_width = false;       // each layer has its rotated width; of others, that of layer 0 holds for all
  bool half_of_full = false;    // layers that see everything turn half of rope.dimension_count
  bool alpha = false;           // rope.scaling.alpha raises the base
  std::string_view scale = {};  // the key of the factor of q·k; others do not read one
  GgufScale plain_scale = GgufScale::root;
  std::int64_t root_of_width = 0;  // models of so many layers scale by 1/sqrt(width / heads): Gemma's 27B
  bool pre_scaled = false;         // q·k is scaled by YaRN's factor, squared
  double log_multiplier = 0;       // what rope.scaling.yarn_log_multiplier is divided by; 0: it is not read
  GgufYarnKeys yarn_keys = GgufYarnKeys::none;
  std::int64_t attention_every = 0;  // of so many layers the last has attention, the others are recurrent
};

// What a GGUF file that is not a language model holds (general.type, or an architecture of llama.cpp's tools); empty: a model, or not said.
std::string_view gguf_of_no_model(std::string_view type, std::string_view architecture);

// Null: none of this name.
const GgufArchitecture* find_gguf_architecture(std::string_view name);
// The same; of an unknown name, what most have.
GgufArchitecture gguf_architecture(std::string_view name);
std::span<const GgufArchitecture> gguf_architectures();

}  // namespace gnomon
