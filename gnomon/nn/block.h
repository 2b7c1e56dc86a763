#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "gnomon/nn/architecture.h"

namespace gnomon {

// What a Transformer has beside its sizes and its positions, as text that takes any size: a named block, and what differs
// from it.
//
//   gpt · llama · llama(group=4, head_norm=on) · bert(types=0, head=matrix)
//
// The options and what they allow stand in block.cpp, once; messages name them. The blocks:
//   gpt    pre-norm, GELU in its tanh form, biases. GPT-2 (Radford et al. 2019)
//   llama  pre-norm with RMS norms, SwiGLU with 2/3 of the hidden width, rounded up to 8, no biases. Touvron et al. 2023,
//          arXiv 2302.13971
//   bert   an encoder: post-norm, exact GELU, norm of the embedding, token types, head with a transform, tied, with bias.
//          Devlin et al. 2019, arXiv 1810.04805
std::span<const std::string_view> block_names();

struct BlockSizes {
  std::int64_t layers = 4, width = 128, heads = 4;
  std::int64_t kv_heads = 0;  // 0 = as the block has it
  // The hidden width in multiples of width, of a gated block 2/3 of it; none = as the block has it, which is 4 of the named ones.
  std::optional<double> feed_forward = {};
  std::int64_t length = 128;
};
// Throws Error(usage) for a text that is none, with the place, what was found and what there is, and for a width that the heads
// do not divide. Other sizes are Architecture::check()'s matter.
Architecture make_block(std::string_view block, const BlockSizes& sizes, const Spec& position);

// The shortest text of the block of this architecture: make_block() of it and of the same sizes gives the same architecture,
// but for a hidden width that is no multiple of 8 and a share of heads that does not divide them. Throws Error(usage) for what no
// block has: cross attention, narrow words, layers that differ in heads or feed-forward parts, values that are keys or have norms,
// words or a scale of each layer, a shared expert, and what a router has beside its matrix.
std::string print_block(const Architecture& a);

}  // namespace gnomon
