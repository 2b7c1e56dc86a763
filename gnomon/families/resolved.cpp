#include "gnomon/families/resolved.h"

#include <array>

namespace gnomon {

std::span<const std::string_view> reader_names() {
  static constexpr std::array<std::string_view, 5> kNames{"v5", "v4", "llama.cpp", "vllm", "naive"};
  return kNames;
}

bool LayerPosition::same(const LayerPosition& o) const {
  return spec == o.spec && heads == o.heads && kv_heads == o.kv_heads && head_dim == o.head_dim &&
         scale == o.scale && causal == o.causal && component == o.component;
}

}  // namespace gnomon
