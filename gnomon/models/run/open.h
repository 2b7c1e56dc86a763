#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "gnomon/models/resolve/config.h"
#include "gnomon/models/resolve/resolved.h"
#include "gnomon/models/run/architecture.h"
#include "gnomon/nn/trained.h"

namespace gnomon {

// The encoder of a model whose decoder is opened.
struct OpenedEncoder {
  Model model;
  Floats w;
  std::int32_t start;  // the token before the first that the decoder writes
};

// A stranger's model, ready to run.
struct OpenedModel {
  Config config;
  Resolved resolved;
  Model model;
  Floats w;
  std::vector<std::string>
      beside;  // tensors of the file that are no part of the model: buffers, heads for other tasks

  std::optional<OpenedEncoder> encoder = {};  // beside a decoder: what its cross attention reads

  Trained trained() const { return {model, w}; }
};

// Told after every tensor: bytes of parameters that are there, and of all.
using LoadProgress = std::function<void(std::int64_t done, std::int64_t all)>;

// The model in a folder with config.json and safetensors files, or in a GGUF file, its numbers as float32. A file without the
// tensors of its family's head gives a model without one, unless it says that it is one with a head (`architectures`). Of an
// encoder and a decoder, `part` is opened, the decoder with its encoder beside it; the encoder where the file holds no decoder. In
// GGUF files of the architecture llama the rows of q and k are other than in transformers' files, and the resolved pairing of
// channels is `adjacent` in return: both stay as they are, which gives the same numbers.
//
// Throws Error(input): a family that is explained only, tensors that are missing, that are left over, that have another
// shape or that hold NaN or infinity, with their names; an encoder alone of a model that is one part; Error(resource) before anything is allocated where memory does not suffice.
OpenedModel open_model(const Path& path, const LoadProgress& progress = {},
                       Component part = Component::decoder);

}  // namespace gnomon
