#include "gnomon/models/resolve/methods.h"

namespace gnomon {

// Mamba, RWKV, xLSTM: a state goes from token to token, and no layer compares two of them. Order alone says where a token stands.
void resolve_recurrence(const Resolving& task) {
  for (std::int64_t l = 0; l < task.sizes.layers; ++l) {
    LayerPosition layer;
    layer.spec = words_alone();
    layer.number = l;
    layer.causal = task.answer.causal;
    layer.mixer = "linear_attention";
    layer.because.push_back({"kind", layer.mixer, "", "this model has no attention"});
    task.answer.layers.push_back(std::move(layer));
  }
}

}  // namespace gnomon
