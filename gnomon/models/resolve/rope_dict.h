#pragma once
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "gnomon/models/resolve/family.h"
#include "gnomon/models/resolve/reading.h"

namespace gnomon {

// One parameter of RoPE on its way from a file to a spec.
struct RopeValue {
  std::string key;   // of the file; empty: no key says it
  std::string rule;  // why it is this one
  std::variant<std::monostate, bool, double, std::string, std::vector<double>> is = {};  // the first is null
  std::string printed = {};
  bool follows = false;  // as that of Because
};
RopeValue rope_number(double x, std::string key, std::string rule);
RopeValue rope_word(std::string word, std::string key, std::string rule);
RopeValue rope_from(double x, std::string key,
                    std::string rule);  // that follows from the key, which says another thing

// A dictionary such as rope_parameters, while a reader puts it in order. Order is that of the file.
class RopeDict {
 public:
  RopeDict() = default;
  explicit RopeDict(std::string where, std::string object = {})
      : where_(std::move(where)), object_(std::move(object)) {}
  // The members of an object of the file, as written; objects within it are left out.
  static RopeDict read(FileReading& from, std::string_view object, std::string_view rule);
  // What a class has instead of an absent one.
  static RopeDict standard(std::string_view json, std::string_view rule);
  static RopeDict standard(const Config& config, std::string_view label, std::string_view rule);  // of a kind

  bool empty() const { return values_.empty(); }
  bool holds(std::string_view name) const { return entry(name) != nullptr; }  // if only null
  const RopeValue* find(std::string_view name) const;  // null: absent, or null in the file
  void set(std::string_view name, RopeValue value);
  void set_default(std::string_view name, RopeValue value) {
    if (!holds(name)) set(name, std::move(value));
  }
  const std::vector<std::pair<std::string, RopeValue>>& values() const { return values_; }

  // nullopt: absent, or null. Throw Error(input) that names the file and the key for a value of another kind.
  std::optional<double> number(std::string_view name) const;
  std::optional<std::string> word(std::string_view name) const;
  std::optional<bool> flag(std::string_view name) const;
  std::optional<std::vector<double>> list(std::string_view name) const;
  [[noreturn]] void wrong(std::string_view name, std::string_view allowed) const;
  // The same of a key that stands beside the dictionary.
  [[noreturn]] void wrong_at(std::string_view key, std::string_view allowed) const;
  // The members of the file that nobody has asked for.
  std::vector<std::pair<std::string, RopeValue>> unread() const;

 private:
  const RopeValue* entry(std::string_view name) const;
  std::string where_, object_;  // the file; what it calls the dictionary
  std::vector<std::pair<std::string, RopeValue>> values_;
  mutable std::set<std::string, std::less<>> asked_;
};

// Keys of YaRN's authors that vLLM 0.24 reads, and neither transformers nor vLLM 0.33.
bool is_vllm_yarn_key(std::string_view key);

// The dictionary of each kind of layer, by label ("full_attention"); the label of one for all is empty. No dictionary: the
// kind carries no position.
using RopeKinds = std::vector<std::pair<std::string, std::optional<RopeDict>>>;

}  // namespace gnomon
