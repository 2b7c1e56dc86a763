#pragma once
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "gnomon/models/resolve/config.h"
#include "gnomon/models/resolve/resolved.h"

namespace gnomon {

// The language part of a file, on its way to an answer. It remembers what was asked for, so that what nobody reads can be
// told. Keys are those of the part; at() is the whole key, for a Because. All throw as Config does.
class FileReading {
 public:
  FileReading(const Config& config, std::string part) : config_(config), part_(std::move(part)) {}

  const Config& config() const { return config_; }
  const std::string& part() const { return part_; }  // "text_config", or empty
  std::string at(std::string_view key) const;
  bool has(std::string_view key) { return config_.has(ask(key)); }
  Config::Kind kind(std::string_view key) { return config_.kind(ask(key)); }
  std::optional<bool> flag(std::string_view key) { return config_.flag(ask(key)); }
  std::optional<std::int64_t> whole(std::string_view key) { return config_.whole(ask(key)); }
  std::optional<double> number(std::string_view key) { return config_.number(ask(key)); }
  std::optional<std::string> text(std::string_view key) { return config_.text(ask(key)); }
  std::optional<std::vector<std::int64_t>> wholes(std::string_view key) { return config_.wholes(ask(key)); }
  std::optional<std::vector<double>> numbers(std::string_view key) { return config_.numbers(ask(key)); }
  std::optional<std::vector<bool>> flags(std::string_view key) { return config_.flags(ask(key)); }
  std::optional<std::vector<std::string>> texts(std::string_view key) { return config_.texts(ask(key)); }
  std::vector<std::string> keys(std::string_view object) { return config_.keys(ask(object)); }
  std::string printed(std::string_view key) const { return config_.printed(at(key)); }

  // A whole number within bounds. Throws Error(input).
  std::optional<std::int64_t> whole(std::string_view key, std::int64_t least, std::int64_t most);
  // Error(input) that names file, key, what was found and what is allowed.
  [[noreturn]] void wrong(std::string_view key, std::string_view allowed) const;
  bool asked(std::string_view whole_key) const { return asked_.contains(whole_key); }

 private:
  std::string ask(std::string_view key) { return *asked_.insert(at(key)).first; }
  const Config& config_;
  const std::string part_;
  std::set<std::string, std::less<>> asked_;
};

}  // namespace gnomon
