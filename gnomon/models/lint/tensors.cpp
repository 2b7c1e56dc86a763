#include "gnomon/models/lint/tensors.h"

#include "gnomon/files/weights.h"

namespace gnomon {
namespace {

// A config.json may stand alone.
bool has_weights(const Path& path) {
  if (!std::filesystem::is_directory(path))
    return path.extension() == ".gguf" || path.extension() == ".safetensors";
  return std::filesystem::exists(path / "model.safetensors") ||
         std::filesystem::exists(path / "model.safetensors.index.json");
}

}  // namespace

std::vector<LintTensor> lint_tensors(const Path& path) {
  std::vector<LintTensor> all;
  if (!has_weights(path)) return all;
  const Weights weights = Weights::open(path);
  for (const StoredTensor& tensor : weights.tensors()) {
    LintTensor& kept = all.emplace_back(LintTensor{tensor.name, tensor.shape, {}, tensor.stored});
    if (!tensor.name.ends_with(kFrequencies)) continue;
    const Floats values = weights.read(tensor);
    kept.values.assign(values.begin(), values.end());
  }
  return all;
}

}  // namespace gnomon
