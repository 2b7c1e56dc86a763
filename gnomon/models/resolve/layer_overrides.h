#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "gnomon/models/resolve/family.h"
#include "gnomon/models/resolve/reading.h"

namespace gnomon {

// transformers 5.23, integrations/heterogeneity/configuration_utils.py: per_layer_config has an object for each layer that is
// not as the whole model. Its keys are whole numbers in quotes, padded with zeros where transformers wrote them.

// The key of each layer's object, "per_layer_config.05"; empty: the layer has none. Throws Error(input) for a key that is no
// layer, and a value that is no object.
std::vector<std::string> layer_overrides(FileReading& file, std::int64_t layers);
// What transformers 5.23 raises an error for: a value that the class does not read by layer, or heads that layers of one kind
// do not share.
void remark_layer_overrides(FileReading& file, const Family& family, const Sizes& sizes,
                            std::vector<Remark>& remarks);

}  // namespace gnomon
