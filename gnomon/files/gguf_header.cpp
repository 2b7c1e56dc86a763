#include "gnomon/files/gguf_header.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <optional>
#include <set>

#include "gnomon/core/error.h"
#include "gnomon/core/text.h"

namespace gnomon {
namespace {

constexpr std::uint64_t kMostKeys = 100'000;
constexpr std::uint64_t kMostTexts = 4'000'000;    // in a list: vocabularies have a tenth of it
constexpr std::uint64_t kLongestKey = 65535;       // docs/gguf.md
constexpr std::uint64_t kLongestTensorName = 63;   // GGML_MAX_NAME, less the NUL
constexpr std::uint32_t kMostExtents = 4;          // GGML_MAX_DIMS
constexpr std::uint64_t kMostAlignment = 1 << 20;  // gguf.cpp had no limit: 2^31 made it wrap

enum Type : std::uint32_t { u8, i8, u16, i16, u32, i32, f32, boolean, string, array, u64, i64, f64 };

// Reads a file from its beginning. Whatever is asked for is compared with what is left before anything is allocated.
class Cursor {
 public:
  explicit Cursor(const WeightFile& file) : file_(file), end_(std::min(file.size(), kLongestHeader)) {}

  std::uint64_t at() const { return at_; }

  [[noreturn]] void bad(std::uint64_t at, std::string_view why) const {
    throw Error(Fault::input, gnomon::text(file_.path().string(), ": byte ", at, ": ", why));
  }

  // That `count` things of at least `bytes` bytes can follow.
  void expect(std::string_view what, std::uint64_t count, std::uint64_t bytes) const {
    if (count <= (end_ - at_) / bytes) return;
    bad(at_,
        gnomon::text(what, " of ", count, bytes == 1 ? "" : gnomon::text(" times ", bytes), " bytes, but ",
                     end_ < file_.size() ? "a header ends at byte " : "the file ends at byte ", end_));
  }

  template <class T>
  T number(std::string_view what) {
    expect(what, sizeof(T), 1);
    T x;
    take(reinterpret_cast<char*>(&x), sizeof x);
    return x;
  }

  std::string text(std::string_view what, std::uint64_t longest) {
    const std::uint64_t at = at_, size = number<std::uint64_t>(what);
    if (size > longest) bad(at, gnomon::text(what, " of ", size, " bytes; allowed are at most ", longest));
    expect(what, size, 1);
    std::string words(size, ' ');
    take(words.data(), size);
    return words;
  }

  // So many bytes, which expect() has found to be there.
  void take(char* to, std::uint64_t size) {
    while (size > 0) {
      if (at_ >= begin_ + window_.size()) fill();
      const std::uint64_t there = std::min(size, begin_ + window_.size() - at_);
      std::memcpy(to, window_.data() + (at_ - begin_), there);
      at_ += there, to += there, size -= there;
    }
  }

 private:
  void fill() {
    window_.resize(std::min<std::uint64_t>(1 << 16, end_ - at_));
    begin_ = at_;
    file_.read(begin_, window_);
  }

  const WeightFile& file_;
  std::uint64_t end_, at_ = 0;
  std::string window_;  // the bytes from begin_ on
  std::uint64_t begin_ = 0;
};

// --- Metadata

// Numbers that the file has as `Stored`: one, which is held wider, or a list of `count`.
template <class Stored, class Held>
Gguf::Value numbers(Cursor& in, std::optional<std::uint64_t> count) {
  if (!count) return Held(in.number<Stored>("a number"));
  in.expect("a list", *count, sizeof(Stored));
  std::vector<Stored> all(*count);
  in.take(reinterpret_cast<char*>(all.data()), *count * sizeof(Stored));
  return all;
}

bool flag(Cursor& in) {
  const std::uint64_t at = in.at();
  const auto x = in.number<std::uint8_t>("a truth value");
  if (x > 1) in.bad(at, text("a truth value: found ", int(x), ", allowed are 0 and 1"));
  return x == 1;
}

Gguf::Value flags(Cursor& in, std::optional<std::uint64_t> count) {
  if (!count) return flag(in);
  in.expect("a list", *count, 1);
  std::vector<bool> all(*count);
  for (auto&& x : all) x = flag(in);
  return all;
}

Gguf::Value texts(Cursor& in, std::optional<std::uint64_t> count) {
  if (!count) return in.text("a text", kLongestHeader);
  in.expect("a list of texts", *count, sizeof(std::uint64_t));
  if (*count > kMostTexts)
    in.bad(in.at(), text("a list of ", *count, " texts; allowed are at most ", kMostTexts));
  std::vector<std::string> all;
  for (std::uint64_t n = 0; n < *count; ++n) all.push_back(in.text("a text", kLongestHeader));
  return all;
}

Gguf::Value value_of(Cursor& in) {
  std::uint64_t at = in.at();
  auto type = in.number<std::uint32_t>("a type");
  std::optional<std::uint64_t> count;
  if (type == array) {
    at = in.at(), type = in.number<std::uint32_t>("a type");
    if (type == array) in.bad(at, "a list of lists; allowed are lists of numbers, texts or truth values");
    count = in.number<std::uint64_t>("a length");
  }
  switch (type) {
    case u8:
      return numbers<std::uint8_t, std::uint64_t>(in, count);
    case i8:
      return numbers<std::int8_t, std::int64_t>(in, count);
    case u16:
      return numbers<std::uint16_t, std::uint64_t>(in, count);
    case i16:
      return numbers<std::int16_t, std::int64_t>(in, count);
    case u32:
      return numbers<std::uint32_t, std::uint64_t>(in, count);
    case i32:
      return numbers<std::int32_t, std::int64_t>(in, count);
    case f32:
      return numbers<float, double>(in, count);
    case boolean:
      return flags(in, count);
    case string:
      return texts(in, count);
    case u64:
      return numbers<std::uint64_t, std::uint64_t>(in, count);
    case i64:
      return numbers<std::int64_t, std::int64_t>(in, count);
    case f64:
      return numbers<double, double>(in, count);
  }
  in.bad(at, text("the type ", type, " of a value; allowed are 0 to 12"));
}

// A key or a tensor's name, which nothing before it has.
std::string name_of(Cursor& in, std::string_view what, std::uint64_t longest, std::set<std::string>& taken) {
  const std::uint64_t at = in.at();
  std::string name = in.text(what, longest);
  if (first_invalid_utf8(name) != std::string::npos)
    in.bad(at, text(what, ", ", excerpt(name), ", is not UTF-8"));
  if (!taken.insert(name).second) in.bad(at, text(what, ", ", excerpt(name), ", appears twice"));
  return name;
}

std::vector<Gguf::Entry> metadata_of(Cursor& in, std::uint64_t count, std::uint64_t& alignment) {
  std::vector<Gguf::Entry> entries;
  std::set<std::string> taken;
  for (std::uint64_t n = 0; n < count; ++n) {
    const std::uint64_t at = in.at();
    std::string key = name_of(in, "a key", kLongestKey, taken);
    if (key.empty()) in.bad(at, "an empty key");
    const std::uint64_t value_at = in.at();
    Gguf::Value value = value_of(in);
    if (key == "general.alignment") {
      const auto* found = std::get_if<std::uint64_t>(&value);
      alignment = found ? *found : 0;
      if (alignment < 8 || alignment > kMostAlignment || (alignment & (alignment - 1)) != 0)
        in.bad(value_at, text("the alignment: found ", found ? text(*found) : "no whole number",
                              ", allowed is a power of two from 8 to ", kMostAlignment));
    }
    entries.push_back({std::move(key), std::move(value)});
  }
  return entries;
}

// --- Tensors

// With `begin` as the file has it, from the beginning of its data.
GgufHeader::Entry entry_of(Cursor& in, std::set<std::string>& taken) {
  GgufHeader::Entry e;
  const std::uint64_t at = in.at();
  e.name = name_of(in, "a tensor's name", kLongestTensorName, taken);
  const auto bad = [&](const auto&... why) { in.bad(at, text("tensor ", excerpt(e.name), ": ", why...)); };
  const auto extents = in.number<std::uint32_t>("the number of dimensions");
  if (extents > kMostExtents) bad(extents, " dimensions; allowed are at most ", kMostExtents);
  for (std::uint32_t n = 0; n < extents; ++n) e.shape.push_back(in.number<std::int64_t>("a dimension"));
  const auto type = in.number<std::int32_t>("a tensor's type");
  e.kind = find_ggml_kind(type);
  if (!e.kind) bad("the type ", type, " is unknown; known are 0 to 41 except removed ones");
  for (const std::int64_t extent : e.shape) {
    if (extent < 0) bad("a dimension of ", extent, "; allowed is 0 or more");
  }
  if ((e.shape.empty() ? 1 : e.shape[0]) % e.kind->numbers != 0)
    bad("rows of ", e.shape.empty() ? 1 : e.shape[0], " numbers; ", e.kind->name, " has blocks of ",
        e.kind->numbers);
  const std::int64_t bytes = bytes_of_shape(*e.kind, e.shape);
  if (bytes < 0) bad("the product of its dimensions is too large; allowed are less than 2^60 numbers");
  e.bytes = std::uint64_t(bytes);
  e.begin = in.number<std::uint64_t>("an offset");
  std::reverse(e.shape.begin(), e.shape.end());
  return e;
}

std::uint64_t padded(std::uint64_t n, std::uint64_t alignment) {
  return (n + alignment - 1) / alignment * alignment;
}

// Every tensor begins where the padding of the one before ends, and the file ends with the last, or with its padding.
// (The sums cannot overflow: each is compared with the size of the file before the next.)
void place(std::vector<GgufHeader::Entry>& entries, std::uint64_t data, std::uint64_t alignment,
           const WeightFile& file) {
  const auto bad = [&](const auto&... why) {
    return Error(Fault::input, text(file.path().string(), ": ", why...));
  };
  std::uint64_t at = 0, end = data;
  for (GgufHeader::Entry& e : entries) {
    if (e.begin != at)
      throw bad("tensor ", excerpt(e.name), " begins at byte ", e.begin,
                " of the data, but the previous tensor ends, with its padding, at byte ", at,
                "; tensors must follow each other without gaps");
    if (data + at > file.size() || e.bytes > file.size() - data - at)
      throw bad("tensor ", excerpt(e.name), " needs ", e.bytes, " bytes from byte ", data + at,
                " on, but the file is truncated: it has ", file.size(), " bytes");
    e.begin = data + at, end = e.begin + e.bytes;
    at += padded(e.bytes, alignment);
  }
  if (file.size() > std::max(end, data + at))
    throw bad("the tensors end at byte ", data + at, ", but the file has ", file.size(), " bytes");
}

}  // namespace

bool begins_as_gguf(const WeightFile& file) {
  char magic[4];
  if (file.size() < sizeof magic) return false;
  file.read(0, magic);
  return std::string_view(magic, sizeof magic) == "GGUF";
}

GgufHeader read_gguf_header(const WeightFile& file) {
  Cursor in(file);
  if (in.number<std::uint32_t>("the magic") != 0x46554747)
    in.bad(0, "not a GGUF file: it does not begin with GGUF");
  const auto version = in.number<std::uint32_t>("the version");
  if (version != 0 && (version & 0xFFFF) == 0) in.bad(4, "a big-endian file; allowed are little-endian ones");
  if (version != 2 && version != 3) in.bad(4, text("version ", version, "; allowed are 2 and 3"));
  const auto tensors = in.number<std::uint64_t>("a number of tensors");
  if (tensors > kMostTensors) in.bad(8, text(tensors, " tensors; allowed are at most ", kMostTensors));
  const auto keys = in.number<std::uint64_t>("a number of keys");
  if (keys > kMostKeys) in.bad(16, text(keys, " keys; allowed are at most ", kMostKeys));

  GgufHeader header;
  std::uint64_t alignment = 32;
  header.metadata = metadata_of(in, keys, alignment);
  std::set<std::string> taken;
  for (std::uint64_t n = 0; n < tensors; ++n) header.entries.push_back(entry_of(in, taken));
  place(header.entries, padded(in.at(), alignment), alignment, file);
  return header;
}

}  // namespace gnomon
