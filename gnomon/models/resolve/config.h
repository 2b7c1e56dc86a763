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

// An Error(input) about the value of one key in a file.
class WrongValue : public Error {
 public:
  WrongValue(std::string key, std::string_view message)
      : Error(Fault::input, message), key_(std::move(key)) {}
  const std::string& key() const { return key_; }  // the full key in the file

 private:
  std::string key_;
};

// The settings in a model's file, by key: a config.json of transformers, or the metadata of a GGUF file. A key is searched as
// written, then split at its dots: "rope_scaling.factor" is factor in the object rope_scaling. Every accessor returns nullopt for
// a missing key or null. For a value of another kind it throws Error(input) that names the file, the key, what was found and what
// is allowed.
class Config {
 public:
  enum class Kind { absent, null, flag, number, text, list, object };

  // Opens a config.json, a folder with one, a .gguf file, or a .safetensors file with a config.json beside it. Throws
  // Error(input) and Error(resource).
  static Config open(const Path& path);
  static Config parse(std::string_view json, const std::string& where);

  // The same file after pasting the members of a JSON object into its object `part` (empty: the document), which is made
  // where it is missing; they replace members of the same name. Throws Error(input) if `members` is not an object.
  Config with(std::string_view part, std::string_view members) const;

  // The same file with this number under a top-level key.
  Config with_number(const std::string& key, std::int64_t number) const;

  std::string json() const;          // the whole document, indented by 2; keys as written
  const std::string& where() const;  // the file, for messages
  bool gguf() const;                 // whether its keys are those of GGUF
  Kind kind(std::string_view key) const;
  bool has(std::string_view key) const;  // present and not null
  std::optional<bool> flag(std::string_view key) const;
  std::optional<std::int64_t> whole(
      std::string_view key) const;  // accepts 4096.0 too: people write files by hand
  std::optional<double> number(std::string_view key) const;
  std::optional<std::string> text(std::string_view key) const;
  std::optional<std::vector<std::int64_t>> wholes(std::string_view key) const;
  std::optional<std::vector<double>> numbers(std::string_view key) const;
  std::optional<std::vector<bool>> flags(std::string_view key) const;  // true and false, or 1 and 0
  std::optional<std::vector<std::string>> texts(std::string_view key) const;
  // The keys of an object, as written; of the document if `object` is empty.
  std::vector<std::string> keys(std::string_view object = {}) const;
  // The value as JSON in one line; "absent" for a missing key.
  std::string json(std::string_view key) const;
  // The same for messages: at most 60 characters.
  std::string printed(std::string_view key) const;

 private:
  struct Document;
  explicit Config(std::shared_ptr<Document> document);
  std::shared_ptr<const Document> document_;
};

}  // namespace gnomon
