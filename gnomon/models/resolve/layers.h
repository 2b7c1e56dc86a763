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
  bool position = true;
  std::optional<double> theta;                         // its own, over the dictionary's
  std::int64_t heads = 0, kv_heads = 0, head_dim = 0;  // 0 = the model's
  std::int64_t value_dim = 0, latent = 0, slice = -1;  // likewise; slice -1: the model's
  bool shares_keys = false;                            // of an earlier layer
  bool chooses_keys = false;                           // by an indexer of its own
  std::vector<Because> because;
  bool full() const { return window == 0 && chunk == 0; }
};
// Whether layers of this type (ALLOWED_LAYER_TYPES of transformers 5.23, and its older words) have attention.
bool attends(std::string_view type);

// The file's own word that no query is kept from the keys after it; that none is.
bool says_two_sided(FileReading& file, const Family& family);
bool two_sided(FileReading& file, const Family& family);
Sizes read_sizes(FileReading& file, const Family& family, std::vector<Because>& because);
// Channels of a head that turn, of latent attention: qk_rope_head_dim.
std::int64_t slice_of(FileReading& file, const Mla& mla);
// One for each layer. Throws Error(input) for lists of another length than the layers.
std::vector<LayerKind> read_layers(FileReading& file, const Family& family, const Sizes& sizes);

// The heads that layers have beside those of the model, and layers without keys of their own: layer_heads.cpp.
void read_layer_heads(FileReading& file, const Family& family, const Sizes& sizes,
                      std::vector<LayerKind>& kinds);

}  // namespace gnomon
