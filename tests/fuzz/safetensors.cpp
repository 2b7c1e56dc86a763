// Any bytes as a safetensors file: read, or refused as malformed. What was read is written and read back equal.
#include "gnomon/files/safetensors.h"

#include <cstring>

#include "gnomon/core/error.h"
#include "tests/fuzz/fuzz.h"

namespace gnomon::fuzz {
namespace {

bool equal(const TensorFile& a, const TensorFile& b) {
  if (a.metadata != b.metadata || a.tensors.size() != b.tensors.size()) return false;
  for (std::size_t i = 0; i < a.tensors.size(); ++i) {
    const Tensor &x = a.tensors[i], &y = b.tensors[i];
    if (x.name != y.name || x.shape != y.shape || x.data.size() != y.data.size()) return false;
    if (!x.data.empty() && std::memcmp(x.data.data(), y.data.data(), x.data.size_bytes()) != 0) return false;
  }
  return true;
}

bool reads(std::string_view bytes, std::string& complaint) {
  const Path path = file_with(bytes);
  try {
    TensorFile file = read_safetensors(path, Digest::required);
    write_safetensors(path, file.tensors, file.metadata);
    const TensorFile again = read_safetensors(path, Digest::required);
    file.metadata["gnomon.sha256"] =
        again.metadata.at("gnomon.sha256");  // the writer's own, if there was none
    require(equal(file, again), "what was written reads back equal");
    return true;
  } catch (const Error& e) {
    require(e.fault() == Fault::input, "a wrong file is malformed input, and nothing else");
    complaint = e.what();
    return false;
  }
}

}  // namespace

bool accepts(std::string_view bytes) {
  std::string complaint;
  if (reads(bytes, complaint)) return true;
  const std::string mended = with_its_checksum(bytes, complaint);
  return !mended.empty() && reads(mended, complaint);
}

}  // namespace gnomon::fuzz
