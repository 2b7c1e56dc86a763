#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gnomon/core/error.h"
#include "gnomon/core/file.h"

namespace gnomon {

// An Error(input) about the value of one key of a file.
class WrongValue : public Error {
 public:
  WrongValue(std::string key, std::string_view message)
      : Error(Fault::input, message), key_(std::move(key)) {}
  const std::string& key() const { return key_; }  // of the whole file

 private:
  std::string key_;
};

// What a model's file says of it, by key: a config.json of transformers, or the metadata of a GGUF file. A key is looked for
// as it is written, then from dot to dot: "rope_scaling.factor" is factor in the object rope_scaling. A strangers' file:
// every accessor throws Error(input) that names the file, the key, what was found and what is allowed for a value of another
// kind, and gives nullopt where there is no key or null.
class Config {
 public:
  enum class Kind { absent, null, flag, number, text, list, object };

  // A config.json, a folder that holds one, a .gguf file, or a .safetensors file with a config.json beside it. Throws
  // Error(input) and Error(resource).
  static Config open(const Path& path);
  static Config parse(std::string_view json, const std::string& where);

  // The same file with the members of a JSON object in place of those of the same name in its object `part` (empty: the
  // document), as if they had been pasted there. Throws Error(input) for what is no object.
  Config with(std::string_view part, std::string_view members) const;

  // The same file with this number under a key of the document.
  Config with_number(const std::string& key, std::int64_t number) const;

  std::string json() const;          // the whole document, in lines of indent 2; keys as written
  const std::string& where() const;  // the file, for messages
  bool gguf() const;                 // its keys are GGUF's
  Kind kind(std::string_view key) const;
  bool has(std::string_view key) const;  // there, and not null
  std::optional<bool> flag(std::string_view key) const;
  std::optional<std::int64_t> whole(
      std::string_view key) const;  // 4096.0 is whole, too: files are written by hand
  std::optional<double> number(std::string_view key) const;
  std::optional<std::string> text(std::string_view key) const;
  std::optional<std::vector<std::int64_t>> wholes(std::string_view key) const;
  std::optional<std::vector<double>> numbers(std::string_view key) const;
  std::optional<std::vector<bool>> flags(std::string_view key) const;  // true and false, or 1 and 0
  std::optional<std::vector<std::string>> texts(std::string_view key) const;
  // Of an object, as written; of the document where `object` is empty.
  std::vector<std::string> keys(std::string_view object = {}) const;
  // The value as JSON in one line, for messages: at most 60 characters.
  std::string printed(std::string_view key) const;

 private:
  struct Document;
  explicit Config(std::shared_ptr<Document> document);
  std::shared_ptr<const Document> document_;
};

}  // namespace gnomon
