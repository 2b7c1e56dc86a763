#pragma once
#include <span>
#include <string>
#include <string_view>

#include "gnomon/models/resolve/config.h"
#include "gnomon/models/resolve/resolved.h"
#include "gnomon/nn/architecture.h"

namespace gnomon {

// One part of a model with an encoder and a decoder; other models have one part, whatever is asked for.
enum class Component { encoder, decoder };
std::span<const std::string_view> component_names();  // as Resolved has them
Component component_named(std::string_view name);     // throws Error(usage)

// The Transformer that a file describes, where its family is one of runnable_families() (names.h): norms, activation, biases,
// head and sizes from its keys and what transformers 5.23.0 takes for absent ones (models/NAME/configuration_NAME.py), heads and
// positions as resolved. Of T5 it is the part that is asked for: a decoder has cross attention. GGUF files do not say whether the head is the word table, and not always how
// many tokens and token types there are: it is, there are 256 and none, until the weights say otherwise (open.h). Throws Error(input) for families that are explained only, and for what is no part of an
// Architecture: experts, layers whose heads differ.
Architecture architecture_of(const Config& config, const Resolved& resolved,
                             Component part = Component::encoder);

// What resolve() says of all layers as one spec of a model: [a, b] where they differ. Throws Error(input).
Spec position_of(const Config& config, const Resolved& resolved, Component part = Component::encoder);

// The block of that Transformer as text for any size (nn/block.h), as a study trains it: of a model without a head with a matrix,
// of an encoder and a decoder the encoder's.
// Throws as architecture_of().
std::string block_of(const Config& config, const Resolved& resolved);

}  // namespace gnomon
