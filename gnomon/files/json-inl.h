#pragma once
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// JSON that strangers, or a failing disk, may have written: one strict reader, and accessors that convert nothing.
// It names a third party, so it is for .cpp files only.
namespace gnomon {

using StrictJson = nlohmann::ordered_json;
constexpr std::size_t kDeepestJson = 64;  // lists and objects within each other
constexpr std::size_t kMostJsonValues =
    20'000'000;  // a header of 100 MB can hold 50 million: more than is honest

// The document that `bytes` are, with numbers of the kind they were written in. `where` begins every message. Throws
// Error(input) that names the byte for what is no JSON, is not UTF-8, has a key twice, a byte order mark, text after its
// end, or is deeper or larger than the limits above.
StrictJson parse_json(std::string_view bytes, std::string_view where);

// A printed object of at least one member with one more, "sha256", of all bytes before it, so that no changed byte passes.
std::string sealed(std::string_view object);
// What parse_json() makes of a sealed object. Throws Error(input) also where the seal is not that of the bytes.
StrictJson parse_sealed_json(std::string_view bytes, std::string_view where);

// A value in a document and the way to it. Every accessor throws Error(input) that names the way, what was found and
// what is allowed. It refers to the document, which must live longer.
class JsonValue {
 public:
  JsonValue(const StrictJson& value, std::string where) : value_(value), where_(std::move(where)) {}

  JsonValue member(std::string_view key) const;  // of an object that has it
  std::optional<JsonValue> find(
      std::string_view key) const;  // of an object; none where it is missing or null
  std::vector<std::pair<std::string_view, JsonValue>> members() const;  // of an object, as written
  std::vector<JsonValue> list() const;
  std::vector<JsonValue> list(std::size_t length) const;  // of exactly this many
  const std::string& text() const;
  bool null() const { return value_.is_null(); }
  bool is_text() const { return value_.is_string(); }
  bool flag() const;
  double number() const;         // finite: JSON has no other
  double number_or_nan() const;  // null, as which NaN is written, is NaN
  // Written as a whole number, without point or exponent, within [least, most].
  std::int64_t whole(std::int64_t least, std::int64_t most) const;
  std::uint64_t unsigned_whole() const;

  const std::string& where() const { return where_; }
  [[noreturn]] void wrong(std::string_view allowed) const;  // throws the error of this place

 private:
  const StrictJson& value_;
  std::string where_;
};

}  // namespace gnomon
