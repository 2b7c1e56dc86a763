#include "gnomon/models/resolve/resolved.h"

#include <algorithm>
#include <array>

namespace gnomon {

namespace {

constexpr std::size_t kReaders = 9;

}  // namespace

std::span<const std::string_view> reader_names() {
  static constexpr std::array<std::string_view, kReaders> kNames{
      "v5", "v4", "llama.cpp", "vllm", "vllm-0.24", "sglang", "mlx", "tgi", "naive"};
  return kNames;
}
std::string_view reader_version(Reader reader) {
  constexpr std::array<std::string_view, kReaders> versions{"5.23.0", "4.57.6", "0.5.0", "0.33.0", "0.24.0",
                                                            "0.5.23", "0.32.2", "3.3.7", "4.31"};
  return versions[std::size_t(reader)];
}
std::string_view reader_title(Reader reader) {
  constexpr std::array<std::string_view, kReaders> titles{
      "transformers 5.23", "transformers 4.57", "llama.cpp 0.5.0",
      "vLLM 0.33",         "vLLM 0.24",         "SGLang 0.5.23",
      "mlx-lm 0.32",       "TGI 3.3.7",         "a naive reader (2023, as transformers 4.31)"};
  return titles[std::size_t(reader)];
}

std::vector<const LayerPosition*> different_layers(const std::vector<LayerPosition>& layers,
                                                   std::size_t most) {
  std::vector<const LayerPosition*> kinds;
  for (const LayerPosition& layer : layers) {
    if (&layer != layers.data() && layer.same((&layer)[-1])) continue;
    if (std::any_of(kinds.rbegin(), kinds.rend(), [&](const LayerPosition* k) { return k->same(layer); }))
      continue;
    kinds.push_back(&layer);
    if (kinds.size() > most) break;
  }
  return kinds;
}

bool LayerPosition::same(const LayerPosition& o) const {
  return spec == o.spec && heads == o.heads && kv_heads == o.kv_heads && head_dim == o.head_dim &&
         value_dim == o.value_dim && scale == o.scale && causal == o.causal && kept == o.kept &&
         mixer == o.mixer && component == o.component;
}

}  // namespace gnomon
