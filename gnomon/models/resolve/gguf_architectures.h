#pragma once
#include <cstdint>
#include <string_view>

#include "gnomon/models/resolve/family.h"

namespace gnomon {

// What llama.cpp fixes by general.architecture, and no key of a GGUF file says. Facts of llama.cpp 0.5.0 (2026):
// src/llama-model.cpp, llama_model_rope_type(); src/models/NAME.cpp, load_arch_hparams() and the graph.

// Which channels turn together. Sections: M-RoPE, one coordinate after the other, or in turn.
enum class GgufPairs { none, adjacent, halves, sections, sections_in_turn };

// The rotation of layers with a window, beside that of the others.
enum class SlidingRope {
  as_full,  // the same base and scaling, unless rope.freq_base_swa says another base
  plain,    // the same base, unscaled
  own       // a base of 10000, unscaled
};

struct GgufWindows {
  std::int64_t every = 0;   // layers: the last of so many sees everything; 0: none has a window
  bool full_first = false;  // the first of them instead
  bool listed = false;      // attention.sliding_window_pattern says it for each layer, and nothing else does
  std::int64_t standard = 0;  // tokens, where the file has no attention.sliding_window; 0: no window then
  std::int64_t layers = 0;    // only models of so many layers have windows; 0: all
  bool symmetric = false;     // half of the tokens to each side
  SlidingRope rope = SlidingRope::as_full;
};

struct GgufArchitecture {
  std::string_view name;
  GgufPairs pairs = GgufPairs::halves;
  bool permuted = false;          // the converter moves the rows of q and k, so that adjacent channels turn
  bool sections_if_said = false;  // M-RoPE, where the file has rope.dimension_sections
  GgufWindows windows = {};
  NoPosition no_position = NoPosition::never;  // of an architecture that no row of families.cpp has
  bool divides_full = false;                   // rope_freqs.weight is not for layers with a window
  bool half_of_full = false;                   // layers that see everything turn half of rope.dimension_count
  std::int64_t root_of_width = 0;    // models of so many layers scale by 1/sqrt(width / heads): Gemma's 27B
  double log_multiplier = 0;         // what rope.scaling.yarn_log_multiplier is divided by; 0: it is not read
  bool ramp_keys = false;            // rope.scaling.yarn_beta_fast and _slow are read
  std::int64_t attention_every = 0;  // of so many layers the last has attention, the others are recurrent
};

// Null: none of this name.
const GgufArchitecture* find_gguf_architecture(std::string_view name);
std::span<const GgufArchitecture> gguf_architectures();

}  // namespace gnomon
