#pragma once
#include <optional>
#include <string>
#include <vector>

#include "gnomon/models/resolve/family.h"
#include "gnomon/models/resolve/reading.h"

namespace gnomon {

// What one layer sees, and whether it turns, before RoPE's own settings are looked at.
struct LayerKind {
  std::string type = "full_attention";  // as in layer_types
  std::int64_t window = 0, chunk = 0;   // tokens; 0 = none
  std::int64_t after = 0;               // of the window, from the query on; 0 = as many
  bool position = true;
  std::optional<double> theta, share;                  // its own, over the dictionary's
  std::string_view theta_key;                          // the list that has that base
  bool unscaled = false;                               // it turns by the dictionary's base alone
  std::int64_t heads = 0, kv_heads = 0, head_dim = 0;  // 0 = the model's
  std::int64_t value_dim = 0, latent = 0, slice = -1;  // likewise; slice -1: the model's
  bool shares_keys = false;                            // of an earlier layer
  bool chooses_keys = false;                           // by an indexer of its own
  std::vector<Because> because;
  bool full() const { return window == 0 && chunk == 0; }
};
// Whether layers of this type (ALLOWED_LAYER_TYPES of transformers 5.23, and its older words) have attention.
bool attends(std::string_view type);

// One for each layer. Throws Error(input) for lists of another length than the layers.
std::vector<LayerKind> read_layers(FileReading& file, const Family& family, const Sizes& sizes);
// Whether the file has a dictionary of RoPE for each of these kinds.
bool has_dictionaries(FileReading& file, const std::vector<std::string>& kinds);
// Of these layers, heads that are not the model's, and those without keys of their own. Throws likewise.
void read_layer_heads(FileReading& file, const Family& family, const Sizes& sizes,
                      std::vector<LayerKind>& kinds);

}  // namespace gnomon
