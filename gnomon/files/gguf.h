#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "gnomon/core/file.h"

namespace gnomon {

// The metadata of a GGUF file (github.com/ggml-org/ggml, docs/gguf.md), versions 2 and 3, in its order.
class Gguf {
 public:
  // Single numbers are 64 bits wide. Those of a list are as wide as in the file: a list of bytes stays bytes.
  using Value = std::variant<std::uint64_t, std::int64_t, double, bool, std::string,
                             std::vector<std::uint8_t>, std::vector<std::int8_t>, std::vector<std::uint16_t>,
                             std::vector<std::int16_t>, std::vector<std::uint32_t>, std::vector<std::int32_t>,
                             std::vector<std::uint64_t>, std::vector<std::int64_t>, std::vector<float>,
                             std::vector<double>, std::vector<bool>, std::vector<std::string>>;
  struct Entry {
    std::string key;
    Value value;
  };
  static std::size_t length(const Value& value);  // of a list; 0 for what is none
  explicit Gguf(std::vector<Entry> entries, Path file)
      : entries_(std::move(entries)), file_(std::move(file)) {}

  const std::vector<Entry>& entries() const { return entries_; }
  const Path& file() const { return file_; }
  const Value* find(std::string_view key) const;
  // nullopt: there is no such key. Throw Error(input), naming the file and the key, for a value of another kind.
  std::optional<std::int64_t> whole(std::string_view key) const;  // of either sign, if it fits
  std::optional<double> number(std::string_view key) const;       // whole numbers too
  std::optional<bool> flag(std::string_view key) const;
  std::optional<std::string> text(std::string_view key) const;
  std::optional<std::vector<std::int64_t>> wholes(std::string_view key) const;
  std::optional<std::vector<double>> numbers(std::string_view key) const;
  std::optional<std::vector<std::string>> texts(std::string_view key) const;

 private:
  std::vector<Entry> entries_;
  Path file_;
};

}  // namespace gnomon
