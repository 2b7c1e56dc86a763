#include "gnomon/checkpoint/safetensors.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <optional>
#include <set>

#include "gnomon/checkpoint/json-inl.h"
#include "gnomon/checkpoint/sha256.h"
#include "gnomon/core/check.h"
#include "gnomon/core/error.h"
#include "gnomon/core/text.h"

namespace gnomon {
namespace {

static_assert(std::endian::native == std::endian::little, "safetensors is little-endian");
using Json = StrictJson;
constexpr std::uint64_t kLongestHeader = 100'000'000;  // the limit of the reference implementation
constexpr std::size_t kMostTensors = 1'000'000, kLongestName = 64 * 1024;
constexpr const char* kChecksum = "gnomon.sha256";
constexpr const char* kMetadata = "__metadata__";

std::string_view bytes_of(std::span<const float> x) {
  return {reinterpret_cast<const char*>(x.data()), x.size_bytes()};
}

Json header_of(std::span<const Tensor> tensors, const Metadata& metadata) {
  Json header = Json::object();
  auto& members = header.get_ref<Json::object_t&>();  // to append to: header[name] would look through all
  members.emplace_back(kMetadata, metadata);
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

// What a header says of one tensor, checked by itself: the bytes are those of its shape.
struct Entry {
  std::string name;
  std::vector<std::int64_t> shape;
  std::uint64_t begin, end;  // bytes of the data
};

Entry entry_of(std::string_view name, const JsonValue& json) {
  if (name.size() > kLongestName) json.wrong(text("a name of at most ", kLongestName, " bytes"));
  if (const JsonValue dtype = json.member("dtype"); dtype.text() != "F32") dtype.wrong("\"F32\"");
  Entry e{std::string(name), {}, 0, 0};
  const JsonValue shape = json.member("shape"), offsets = json.member("data_offsets");
  std::uint64_t size = 4;
  for (const JsonValue& extent : shape.list()) {
    e.shape.push_back(extent.whole(0, std::numeric_limits<std::int64_t>::max()));
    if (__builtin_mul_overflow(size, std::uint64_t(e.shape.back()), &size))
      shape.wrong("extents with a product below 2^62");
  }
  const auto both = offsets.list(2);
  e.begin = both[0].unsigned_whole(), e.end = both[1].unsigned_whole();
  if (e.end < e.begin || e.end - e.begin != size)
    throw Error(Fault::input, text(offsets.where(), ": found ", e.begin, " to ", e.end,
                                   ", allowed is a range of ", size, " bytes, as the shape says"));
  return e;
}

// The tensors of a header in the order of their data, which its own need not be.
std::vector<Entry> entries_of(const Json& header, const Path& path, Metadata& metadata) {
  const JsonValue top(header, text(path.string(), ", header"));
  std::vector<Entry> entries;
  for (const auto& [name, json] : top.members()) {
    if (name == kMetadata) {
      for (const auto& [key, value] : json.members()) metadata.emplace(key, value.text());
    } else {
      entries.push_back(entry_of(name, json));
    }
  }
  if (entries.size() > kMostTensors) top.wrong(text("at most ", kMostTensors, " tensors"));
  // Empty ones come before the one that begins there; among themselves they stay as written, for the checksum.
  std::stable_sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
    return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
  });
  return entries;
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

TensorFile read_safetensors(const Path& path, Digest digest) {
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
  TensorFile file;
  const std::vector<Entry> entries =
      entries_of(parse_json(std::string_view(bytes).substr(8, length), text(path.string(), ", header")), path,
                 file.metadata);
  std::uint64_t at = 0;
  for (const Entry& e : entries) {
    if (e.begin != at)
      throw bad("tensor ", excerpt(e.name), " begins at byte ", e.begin,
                " of the data, but the one before ends at byte ", at,
                "; tensors follow each other without gaps");
    if (e.end > data.size())
      throw bad("tensor ", excerpt(e.name), " ends at byte ", e.end,
                " of the data, but the file is truncated: it holds ", data.size());
    at = e.end;
  }
  if (at != data.size())
    throw bad("the tensors end at byte ", at, " of the data, but the file holds ", data.size());
  file.numbers.resize(data.size() / 4);
  if (!data.empty()) std::memcpy(file.numbers.data(), data.data(), data.size());
  for (const Entry& e : entries)
    file.tensors.push_back(
        {e.name, e.shape, std::span(file.numbers).subspan(e.begin / 4, (e.end - e.begin) / 4)});
  const auto expected = file.metadata.find(kChecksum);
  if (expected == file.metadata.end()) {
    if (digest == Digest::required)
      throw bad("there is no checksum (", kChecksum, "): not a file of gnomon's, or a damaged one");
    return file;
  }
  const std::string found = checksum(file.tensors, file.metadata);
  if (found != expected->second)
    throw bad("the content does not match its checksum: found ", found, ", expected ",
              excerpt(expected->second));
  return file;
}

}  // namespace gnomon
