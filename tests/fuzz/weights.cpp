// Any bytes as a safetensors file of a stranger's, or, where they begin as JSON, as the index of two such files: opened, or
// refused as malformed. What was opened can be read, and is what the reader of gnomon's own files makes of it.
#include <fstream>

#include "gnomon/files/safetensors.h"
#include "tests/fuzz/stored.h"

namespace gnomon::fuzz {
namespace {

void put(const Path& path, std::string_view bytes) {
  std::ofstream(path, std::ios::binary).write(bytes.data(), std::streamsize(bytes.size()));
}

// A tensor `name` of two numbers.
void put_shard(const Path& path, std::string_view name) {
  const std::string header =
      text("{\"", name, "\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}}");
  const std::uint64_t length = header.size();
  put(path, std::string(reinterpret_cast<const char*>(&length), 8) + header + "12345678");
}

void compare_with_our_own(const Weights& weights, const Path& path) {
  TensorFile own;
  try {
    own = read_safetensors(path, Digest::if_present);
  } catch (const Error& e) {
    require(e.fault() == Fault::input, "a wrong file is malformed input, and nothing else");
    return;  // another dtype, or a checksum that does not match
  }
  require(own.tensors.size() == weights.tensors().size(), "both readers find the same tensors");
  for (const Tensor& t : own.tensors) {
    const StoredTensor& stored = weights.at(t.name);
    require(stored.shape == t.shape, "both readers find the same shape");
    const Floats numbers = weights.read(stored);
    require(numbers.size() == t.data.size() && same(numbers.data(), t.data.data(), numbers.size()),
            "both readers find the same numbers");
  }
}

}  // namespace

bool accepts(std::string_view bytes) {
  const Path folder = empty_folder();
  const bool index = bytes.substr(0, 1) == "{";
  const Path path = folder / (index ? "model.safetensors.index.json" : "model.safetensors");
  put(path, bytes);
  if (index) put_shard(folder / "1.safetensors", "a"), put_shard(folder / "2.safetensors", "b");
  std::optional<Weights> weights;
  try {
    weights = Weights::open(folder);
  } catch (const Error& e) {
    // The index may name a file that is not there.
    require(e.fault() == Fault::input || (index && e.fault() == Fault::resource),
            "a wrong file is malformed input");
    return false;
  }
  read_all(*weights);
  if (!index) compare_with_our_own(*weights, path);
  return true;
}

}  // namespace gnomon::fuzz
