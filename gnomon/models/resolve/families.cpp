#include <algorithm>

#include "gnomon/models/resolve/families/rows.h"

namespace gnomon {
namespace {

std::vector<Family> all_rows() {
  std::vector<Family> all;
  for (const auto rows : {tables_rows(), distances_rows(), dense_rows(), windows_rows(), streams_rows(),
                          latent_rows(), hybrids_rows(), encoders_rows(), stacks_rows(), documents_rows()})
    all.insert(all.end(), rows.begin(), rows.end());
  return all;
}

}  // namespace

std::span<const Family> families() {
  static const std::vector<Family> all = all_rows();
  return all;
}

const Family* find_family(std::string_view type) {
  for (const Family& family : families())
    if (std::find(family.types.begin(), family.types.end(), type) != family.types.end()) return &family;
  return nullptr;
}
const Family* find_family(std::string_view type, std::string_view outer, bool layer_types) {
  if (layer_types && type == "mistral" && outer == type) return find_family("ministral");
  const Family* own = find_family(type);
  return own ? own : find_family(outer);
}
const Family* find_gguf_family(std::string_view architecture) {
  for (const Family& family : families())
    if (std::find(family.gguf.begin(), family.gguf.end(), architecture) != family.gguf.end()) return &family;
  return nullptr;
}

}  // namespace gnomon
