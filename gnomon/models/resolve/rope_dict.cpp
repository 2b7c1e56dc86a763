#include "gnomon/models/resolve/rope_dict.h"

#include <algorithm>

#include "gnomon/core/error.h"
#include "gnomon/core/text.h"

namespace gnomon {
namespace {

// A member as it stands; nullopt: an object.
std::optional<RopeValue> member(const Config& config, const std::string& key, std::string_view rule) {
  RopeValue value{key, std::string(rule), {}, config.printed(key)};
  switch (config.kind(key)) {
    case Config::Kind::object:
      return std::nullopt;
    case Config::Kind::flag:
      value.is = *config.flag(key);
      break;
    case Config::Kind::number:
      value.is = *config.number(key);
      break;
    case Config::Kind::text:
      value.is = *config.text(key);
      break;
    case Config::Kind::list:
      value.is = *config.numbers(key);
      break;
    case Config::Kind::null:
    case Config::Kind::absent:
      break;
  }
  return value;
}

}  // namespace

bool is_vllm_yarn_key(std::string_view key) { return key == "attn_factor" || key == "extrapolation_factor"; }

RopeValue rope_number(double x, std::string key, std::string rule) {
  return {std::move(key), std::move(rule), x, shortest(x)};
}
RopeValue rope_from(double x, std::string key, std::string rule) {
  RopeValue value = rope_number(x, std::move(key), std::move(rule));
  value.follows = true;
  return value;
}
RopeValue rope_word(std::string word, std::string key, std::string rule) {
  return {std::move(key), std::move(rule), word, word};
}

constexpr std::size_t kMostMembers = 4096;  // of one dictionary, layers among them

RopeDict RopeDict::read(FileReading& from, std::string_view object, std::string_view rule) {
  RopeDict dict(from.config().where(), from.at(object));
  const auto names = from.keys(object);
  if (names.size() > kMostMembers)
    from.wrong(object, text("an object of at most ", kMostMembers, " members, not ", names.size()));
  for (const std::string& name : names) {
    const std::string key = from.at(text(object, ".", name));
    if (auto value = member(from.config(), key, rule)) dict.values_.emplace_back(name, std::move(*value));
  }
  return dict;
}

RopeDict RopeDict::standard(std::string_view json, std::string_view rule) {
  return standard(Config::parse(json, "rope_parameters of the class"), "", rule);
}
RopeDict RopeDict::standard(const Config& config, std::string_view label, std::string_view rule) {
  RopeDict dict(config.where());
  for (const std::string& name : config.keys(label)) {
    const std::string key = label.empty() ? name : text(label, ".", name);
    dict.values_.emplace_back(name, *member(config, key, rule));
    dict.values_.back().second.key.clear();
  }
  return dict;
}

const RopeValue* RopeDict::entry(std::string_view name) const {
  asked_.emplace(name);
  for (const auto& [key, value] : values_)
    if (key == name) return &value;
  return nullptr;
}
const RopeValue* RopeDict::find(std::string_view name) const {
  const RopeValue* found = entry(name);
  return found && !std::holds_alternative<std::monostate>(found->is) ? found : nullptr;
}
void RopeDict::set(std::string_view name, RopeValue value) {
  for (auto& [key, old] : values_) {
    if (key != name) continue;
    old = std::move(value);
    return;
  }
  values_.emplace_back(name, std::move(value));
}

std::vector<std::pair<std::string, RopeValue>> RopeDict::unread() const {
  std::vector<std::pair<std::string, RopeValue>> all;
  for (const auto& [name, value] : values_)
    if (!asked_.contains(name) && !value.key.empty() && !std::holds_alternative<std::monostate>(value.is))
      all.emplace_back(name, value);
  return all;
}

void RopeDict::wrong(std::string_view name, std::string_view allowed) const {
  const RopeValue* found = entry(name);
  const std::string key = found && !found->key.empty() ? found->key
                          : object_.empty()            ? std::string(name)
                                                       : text(object_, ".", name);
  const bool own = found && found->key.empty();  // of the class: no key of the file is wrong
  throw WrongValue(own ? "" : key, text(where_, ": ", key, " is ", found ? found->printed : "absent",
                                        "; allowed is ", allowed));
}
void RopeDict::wrong_at(std::string_view key, std::string_view allowed) const {
  const std::size_t part = object_.find(".rope_");
  const std::string whole = part == object_.npos ? std::string(key) : text(object_.substr(0, part + 1), key);
  throw WrongValue(whole, text(where_, ": ", whole, ": allowed is ", allowed));
}

std::optional<double> RopeDict::number(std::string_view name) const {
  const RopeValue* found = find(name);
  if (!found) return std::nullopt;
  if (const double* x = std::get_if<double>(&found->is)) return *x;
  wrong(name, "a number");
}
std::optional<std::string> RopeDict::word(std::string_view name) const {
  const RopeValue* found = find(name);
  if (!found) return std::nullopt;
  if (const auto* x = std::get_if<std::string>(&found->is)) return *x;
  wrong(name, "a text in quotes");
}
std::optional<bool> RopeDict::flag(std::string_view name) const {
  const RopeValue* found = find(name);
  if (!found) return std::nullopt;
  if (const bool* x = std::get_if<bool>(&found->is)) return *x;
  wrong(name, "true or false");
}
std::optional<std::vector<double>> RopeDict::list(std::string_view name) const {
  const RopeValue* found = find(name);
  if (!found) return std::nullopt;
  if (const auto* x = std::get_if<std::vector<double>>(&found->is)) return *x;
  wrong(name, "a list of numbers");
}

}  // namespace gnomon
