#include "gnomon/files/safetensors_header.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "gnomon/core/error.h"
#include "gnomon/core/memory.h"
#include "gnomon/core/text.h"
#include "gnomon/files/json-inl.h"

namespace gnomon {
namespace {

using Entry = SafetensorsHeader::Entry;
constexpr std::size_t kLongestName = 64 * 1024;

// What a header says of one tensor, checked by itself: the bytes are those of its shape.
Entry entry_of(std::string_view name, const JsonValue& json) {
  if (name.size() > kLongestName) json.wrong(text("a name of at most ", kLongestName, " bytes"));
  const JsonValue dtype = json.member("dtype");
  Entry e{std::string(name), find_safetensors_kind(dtype.text()), {}, 0, 0};
  if (!e.kind) dtype.wrong("a dtype of safetensors");
  const JsonValue shape = json.member("shape"), offsets = json.member("data_offsets");
  for (const JsonValue& extent : shape.list())
    e.shape.push_back(extent.whole(0, std::numeric_limits<std::int64_t>::max()));
  const std::int64_t size = bytes_of_shape(*e.kind, e.shape);
  if (size < 0) shape.wrong("dimensions with a product below 2^60 whose numbers fill whole bytes");
  const auto both = offsets.list(2);
  e.begin = both[0].unsigned_whole(), e.end = both[1].unsigned_whole();
  if (e.end < e.begin || e.end - e.begin != std::uint64_t(size))
    throw Error(Fault::input, text(offsets.where(), ": found ", e.begin, " to ", e.end,
                                   ", allowed is a range of ", size, " bytes, which the shape needs"));
  return e;
}

void read_entries(const JsonValue& top, SafetensorsHeader& header) {
  for (const auto& [name, json] : top.members()) {
    if (name == kMetadataName) {
      for (const auto& [key, value] : json.members()) header.metadata.emplace(key, value.text());
    } else {
      if (header.entries.size() == kMostTensors) top.wrong(text("at most ", kMostTensors, " tensors"));
      header.entries.push_back(entry_of(name, json));
    }
  }
  // Empty ones come before the one that begins there; among themselves they stay as written, for the checksum.
  std::stable_sort(header.entries.begin(), header.entries.end(), [](const Entry& a, const Entry& b) {
    return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
  });
}

}  // namespace

SafetensorsHeader read_safetensors_header(const WeightFile& file) {
  const std::string path = file.path().string();
  const auto bad = [&](const auto&... why) { return Error(Fault::input, text(path, ": ", why...)); };
  if (file.size() < 8)
    throw bad("the file ends at byte ", file.size(),
              "; a safetensors file begins with the 8 bytes of its header's length");
  std::uint64_t length;
  const std::span first(reinterpret_cast<char*>(&length), 8);
  file.read(0, first);
  // A length whose eight bytes are all letters or signs is above 2^56.
  if (std::all_of(first.begin(), first.end(),
                  [](char c) { return (c >= ' ' && c <= '~') || c == '\n' || c == '\r'; }))
    throw bad("not a safetensors file: it begins with text, not with the length of its header");
  if (length > kLongestHeader || length > file.size() - 8)
    throw bad("byte 0: found a header of ", length, " bytes; the file has ", file.size() - 8,
              " bytes after its length, and allowed are at most ", kLongestHeader);
  SafetensorsHeader header{{}, {}, 8 + length};
  {
    check_memory(path + ": the header has", length);
    std::string bytes(length, ' ');
    file.read(8, bytes);
    const std::string where = path + ", header";
    const StrictJson json = parse_json(bytes, where);
    read_entries({json, where}, header);
  }
  const std::uint64_t data = file.size() - header.data;
  std::uint64_t at = 0;
  for (const Entry& e : header.entries) {
    if (e.begin != at)
      throw bad("tensor ", excerpt(e.name), " begins at byte ", e.begin,
                " of the data, but the previous tensor ends at byte ", at,
                "; tensors must follow each other without gaps");
    if (e.end > data)
      throw bad("tensor ", excerpt(e.name), " ends at byte ", e.end,
                " of the data, but the file is truncated: it holds ", data, " bytes");
    at = e.end;
  }
  if (at != data)
    throw bad("the tensors end at byte ", at, " of the data, but the file holds ", data, " bytes");
  return header;
}

}  // namespace gnomon
