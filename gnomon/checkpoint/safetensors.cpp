#include "gnomon/checkpoint/safetensors.h"

#include <bit>
#include <cstring>
#include <nlohmann/json.hpp>
#include <set>

#include "gnomon/core/check.h"
#include "gnomon/core/error.h"
#include "gnomon/core/text.h"

namespace gnomon {
namespace {

static_assert(std::endian::native == std::endian::little, "safetensors is little-endian");
using Json = nlohmann::ordered_json;
constexpr std::uint64_t kLongestHeader = 100'000'000;  // the limit of the reference implementation
constexpr const char* kChecksum = "gnomon.sha256";
constexpr const char* kMetadata = "__metadata__";

std::string_view bytes_of(std::span<const float> x) {
  return {reinterpret_cast<const char*>(x.data()), x.size_bytes()};
}

Json header_of(std::span<const Tensor> tensors, const Metadata& metadata) {
  Json header;
  header[kMetadata] = metadata;
  std::uint64_t at = 0;
  for (const Tensor& t : tensors) {
    header[t.name] = {{"dtype", "F32"}, {"shape", t.shape}, {"data_offsets", {at, at + t.data.size_bytes()}}};
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
  std::set<std::string_view> names{kMetadata};
  for (const Tensor& t : tensors) {
    utf8("the tensor name", t.name);
    if (!names.insert(t.name).second)
      throw Error(Fault::usage, text(path.string(), ": the tensor name '", t.name, "' is taken"));
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

TensorFile read_safetensors(const Path& path) {
  const std::string bytes = read_file(path);
  const auto bad = [&](const auto&... why) { return Error(Fault::input, text(path.string(), ": ", why...)); };
  if (bytes.size() < 8)
    throw bad("the file ends at byte ", bytes.size(),
              "; a safetensors file begins with the 8 bytes of its header's length");
  std::uint64_t length;
  std::memcpy(&length, bytes.data(), 8);
  if (length > kLongestHeader || length > bytes.size() - 8) {
    throw bad("byte 0: a header of ", length, " bytes, but the file has ", bytes.size() - 8,
              " after it (at most ", kLongestHeader, " are allowed)");
  }
  const std::string_view data = std::string_view(bytes).substr(8 + length);
  const Json header = Json::parse(std::string_view(bytes).substr(8, length), nullptr, false);
  if (!header.is_object()) throw bad("bytes 8 to ", 8 + length, ": the header is not a JSON object");

  TensorFile file;
  file.numbers.resize(data.size() / 4);
  if (!file.numbers.empty()) std::memcpy(file.numbers.data(), data.data(), file.numbers.size() * 4);
  std::uint64_t at = 0;
  try {
    for (const auto& [name, entry] : header.items()) {
      if (name == kMetadata) {
        file.metadata = entry.get<Metadata>();
        continue;
      }
      if (entry.at("dtype") != "F32")
        throw bad("tensor '", name, "': dtype ", entry.at("dtype").dump(), ", allowed is \"F32\"");
      const auto offsets = entry.at("data_offsets").get<std::vector<std::uint64_t>>();
      const auto shape = entry.at("shape").get<std::vector<std::int64_t>>();
      std::uint64_t count = 1;
      for (const auto extent : shape) {
        if (extent < 0 || __builtin_mul_overflow(count, std::uint64_t(extent), &count))
          throw bad("tensor '", name, "': impossible shape ", entry.at("shape").dump());
      }
      if (offsets.size() != 2 || offsets[0] != at || offsets[1] < offsets[0] ||
          (offsets[1] - offsets[0]) / 4 != count || offsets[1] % 4) {
        throw bad("tensor '", name, "': data_offsets ", entry.at("data_offsets").dump(), " do not hold its ",
                  count, " numbers from byte ", at, " on");
      }
      if (offsets[1] > data.size())
        throw bad("tensor '", name, "' ends at byte ", offsets[1],
                  " of the data, but the file is truncated: it holds ", data.size());
      file.tensors.push_back({name, shape, std::span(file.numbers).subspan(offsets[0] / 4, count)});
      at = offsets[1];
    }
  } catch (const nlohmann::json::exception& e) {
    throw bad("the header is malformed: ", e.what());
  }
  if (at != data.size())
    throw bad("the tensors end at byte ", at, " of the data, but the file holds ", data.size());
  const auto expected = file.metadata.find(kChecksum);
  if (expected != file.metadata.end()) {
    const std::string found = checksum(file.tensors, file.metadata);
    if (found != expected->second)
      throw bad("the content does not match its checksum: found ", found, ", expected ", expected->second);
  }
  return file;
}

}  // namespace gnomon
