#pragma once
#include <cstdint>
#include <functional>
#include <string>

#include "gnomon/download/access.h"
#include "gnomon/hub/cache.h"

namespace gnomon {

struct HubFetch {
  HubPart part = HubPart::settings;
  std::uint64_t most_weights = 0;  // bytes of all weights together, where `part` is weights
  std::function<void(const std::string& sentence)> tell =
      {};  // told before a file is fetched, and at the end
};

// Fetches of a model what `fetch.part` says, unless it is on this machine already, and returns the path to open:
//
// - settings: config.json, generation_config.json and tokenizer_config.json; of a GGUF file its header;
// - headers: also the headers of all weights, with the small tensors that are settings of RoPE;
// - weights: also tokenizer.json and the whole weights.
//
// Whole files go to the cache of huggingface_hub, headers to gnomon's own. Throws Error(usage) for a model of several GGUF files of
// which none is named, and for weights larger than allowed; otherwise as HubServer and HubStore do.
Path fetch_model(const HubName& name, const HubPlaces& places, const HubAccess& access,
                 const HubFetch& fetch);

}  // namespace gnomon
