#include "gnomon/files/safetensors.h"

#include <bit>
#include <set>

#include "gnomon/core/check.h"
#include "gnomon/core/error.h"
#include "gnomon/core/memory.h"
#include "gnomon/core/text.h"
#include "gnomon/files/json-inl.h"
#include "gnomon/files/safetensors_header.h"
#include "gnomon/files/sha256.h"

namespace gnomon {
namespace {

static_assert(std::endian::native == std::endian::little, "safetensors is little-endian");
using Json = StrictJson;
constexpr const char* kChecksum = "gnomon.sha256";

std::string_view bytes_of(std::span<const float> x) {
  return {reinterpret_cast<const char*>(x.data()), x.size_bytes()};
}

Json header_of(std::span<const Tensor> tensors, const Metadata& metadata) {
  Json header = Json::object();
  auto& members = header.get_ref<Json::object_t&>();  // to append to: header[name] would look through all
  members.emplace_back(kMetadataName, metadata);
  std::uint64_t at = 0;
  for (const Tensor& t : tensors) {
    members.emplace_back(
        t.name, Json{{"dtype", "F32"}, {"shape", t.shape}, {"data_offsets", {at, at + t.data.size_bytes()}}});
    at += t.data.size_bytes();
  }
  return header;
}

std::string checksum(std::span<const Tensor> tensors, Metadata metadata) {
  metadata.erase(kChecksum);
  const std::string header = header_of(tensors, metadata).dump();
  std::vector<std::string_view> pieces{header};
  for (const Tensor& t : tensors) pieces.push_back(bytes_of(t.data));
  return sha256(pieces);
}

// What the header, which is JSON, can say.
void check(const Path& path, std::span<const Tensor> tensors, const Metadata& metadata) {
  const auto utf8 = [&](std::string_view what, const std::string& word) {
    const std::size_t at = first_invalid_utf8(word);
    if (at == std::string::npos) return;
    throw Error(Fault::usage, text(path.string(), ": ", what, " '", word, "' is not UTF-8 at byte ", at));
  };
  for (const auto& [key, value] : metadata)
    utf8("the metadata's key", key), utf8("the metadata's value", value);
  std::set<std::string_view> names{kMetadataName};
  for (const Tensor& t : tensors) {
    utf8("the tensor name", t.name);
    if (!names.insert(t.name).second)
      throw Error(Fault::usage, text(path.string(), ": the tensor name '", t.name, "' is already used"));
    const std::string place = text(path.string(), ": tensor '", t.name, "'");
    check_size(place, "data", t.data.size(), count_numbers(place, t.shape));
  }
}

}  // namespace

void write_safetensors(const Path& path, std::span<const Tensor> tensors, const Metadata& metadata) {
  check(path, tensors, metadata);
  Metadata complete = metadata;
  complete[kChecksum] = checksum(tensors, metadata);
  std::string header = header_of(tensors, complete).dump();
  header.resize(std::size_t(round_up(std::int64_t(header.size()), 8)), ' ');
  const std::uint64_t length = header.size();
  std::vector<std::string_view> pieces{{reinterpret_cast<const char*>(&length), 8}, header};
  for (const Tensor& t : tensors) pieces.push_back(bytes_of(t.data));
  write_file(path, pieces);
}

const Tensor& TensorFile::at(const std::string& name, const Path& path) const {
  for (const Tensor& t : tensors) {
    if (t.name == name) return t;
  }
  throw Error(Fault::input, text(path.string(), ": there is no tensor '", name, "'"));
}

TensorFile read_safetensors(const Path& path, Digest digest) {
  const auto bad = [&](const auto&... why) { return Error(Fault::input, text(path.string(), ": ", why...)); };
  const WeightFile from(path);
  SafetensorsHeader header = read_safetensors_header(from);
  for (const auto& e : header.entries) {
    if (e.kind->name != "F32")
      throw bad("tensor ", excerpt(e.name), ", \"dtype\": found ", e.kind->name, ", allowed is F32");
  }
  const std::uint64_t size = from.size() - header.data;
  check_memory(text(path.string(), ": the tensors have"), size);
  TensorFile file;
  file.metadata = std::move(header.metadata);
  file.numbers.resize(size / 4);
  from.read(header.data, std::span(reinterpret_cast<char*>(file.numbers.data()), size));
  for (const auto& e : header.entries)
    file.tensors.push_back(
        {e.name, e.shape, std::span(file.numbers).subspan(e.begin / 4, (e.end - e.begin) / 4)});
  const auto expected = file.metadata.find(kChecksum);
  if (expected == file.metadata.end()) {
    if (digest == Digest::required)
      throw bad("the checksum is missing (", kChecksum,
                "): gnomon did not write this file, or it is damaged");
    return file;
  }
  const std::string found = checksum(file.tensors, file.metadata);
  if (found != expected->second)
    throw bad("the content does not match its checksum: found ", found, ", expected ",
              excerpt(expected->second));
  return file;
}

}  // namespace gnomon
