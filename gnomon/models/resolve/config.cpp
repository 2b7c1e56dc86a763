#include "gnomon/models/resolve/config.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <unordered_map>

#include "gnomon/core/error.h"
#include "gnomon/core/text.h"
#include "gnomon/files/gguf.h"
#include "gnomon/files/gguf_parts.h"
#include "gnomon/files/json-inl.h"
#include "gnomon/files/weights.h"

namespace gnomon {

struct Config::Document {
  std::string where;
  bool gguf = false;
  StrictJson root;

  Document() = default;
  Document(const Document& other) : where(other.where), gguf(other.gguf), root(other.root) {}
  // Sorts the members of large objects, which nlohmann searches one by one: a file may have a million of them. To be called
  // again after each change of `root`.
  void index() {
    members_.clear();
    index(root);
  }
  const StrictJson* find(std::string_view key) const { return find(root, key); }
  const StrictJson* find(const StrictJson& in, std::string_view key) const;
  // The value of a key that is there and not null.
  const StrictJson* value(std::string_view key) const {
    const StrictJson* found = find(key);
    return found && !found->is_null() ? found : nullptr;
  }
  [[noreturn]] void wrong(std::string_view key, std::string_view allowed) const;

 private:
  using Member = std::pair<std::string_view, const StrictJson*>;
  static constexpr std::size_t kFew = 32;  // members, among which searching is quick
  void index(const StrictJson& value) {
    if (!value.is_structured()) return;
    if (value.is_object() && value.size() > kFew) {
      std::vector<Member>& sorted = members_[&value];
      for (const auto& member : value.items()) sorted.emplace_back(member.key(), &member.value());
      std::sort(sorted.begin(), sorted.end(),
                [](const Member& a, const Member& b) { return a.first < b.first; });
    }
    for (const StrictJson& inner : value) index(inner);
  }
  const StrictJson* member(const StrictJson& in, std::string_view name) const {
    const auto sorted = members_.find(&in);
    if (sorted == members_.end()) {
      const auto found = in.find(std::string(name));
      return found == in.end() ? nullptr : &*found;
    }
    const auto found = std::lower_bound(sorted->second.begin(), sorted->second.end(), name,
                                        [](const Member& m, std::string_view n) { return m.first < n; });
    return found != sorted->second.end() && found->first == name ? found->second : nullptr;
  }
  std::unordered_map<const StrictJson*, std::vector<Member>> members_;
};

const StrictJson* Config::Document::find(const StrictJson& in, std::string_view key) const {
  if (!in.is_object()) return nullptr;
  if (const StrictJson* whole = member(in, key)) return whole;
  for (std::size_t dot = key.find('.'); dot != key.npos; dot = key.find('.', dot + 1)) {
    const StrictJson* outer = member(in, key.substr(0, dot));
    if (!outer) continue;
    if (const StrictJson* inner = find(*outer, key.substr(dot + 1))) return inner;
  }
  return nullptr;
}

namespace {

std::string whole_line(const StrictJson& value) { return value.dump(-1, ' ', true); }
std::string in_one_line(const StrictJson& value) {
  constexpr std::size_t most = 60;
  std::string line = whole_line(value);
  if (line.size() > most) line = line.substr(0, most - 3) + "...";
  return line;
}

// Whole numbers beyond it cannot be told from their neighbours where they were written with a point.
constexpr double kLargestExact = 9007199254740992;  // 2^53

std::optional<std::int64_t> whole_of(const StrictJson& value) {
  if (value.is_number_unsigned()) {
    const auto x = value.get<std::uint64_t>();
    if (x <= std::uint64_t(std::numeric_limits<std::int64_t>::max())) return std::int64_t(x);
    return std::nullopt;
  }
  if (value.is_number_integer()) return value.get<std::int64_t>();
  if (!value.is_number_float()) return std::nullopt;
  const double x = value.get<double>();
  if (std::abs(x) > kLargestExact || x != std::floor(x)) return std::nullopt;
  return std::int64_t(x);
}

}  // namespace

void Config::Document::wrong(std::string_view key, std::string_view allowed) const {
  throw WrongValue(std::string(key),
                   gnomon::text(where, ": ", key, " is ", in_one_line(*find(key)), "; allowed is ", allowed));
}

Config::Config(std::shared_ptr<Document> document) {
  document->index();
  document_ = std::move(document);
}

Config Config::parse(std::string_view json, const std::string& where) {
  auto document = std::make_shared<Document>();
  document->where = where;
  document->root = parse_json(json, where);
  if (!document->root.is_object()) {
    throw Error(Fault::input, gnomon::text(where, ": the document is ", in_one_line(document->root),
                                           "; allowed is an object of settings, in braces"));
  }
  return Config(std::move(document));
}

namespace {

constexpr std::size_t kLongestList = 65536;   // numbers of one key that may be about layers or pairs
constexpr std::size_t kMostListed = 1 << 20;  // of all keys together

// Text and numbers as they are. Of long lists those of the architecture are refused, and the others left out: they are of the
// tokenizer, and nothing of position.
StrictJson metadata_of(const Weights& weights) {
  const Gguf& gguf = *weights.gguf();
  const auto* arch = gguf.find("general.architecture");
  const std::string own =
      (arch && std::holds_alternative<std::string>(*arch) ? std::get<std::string>(*arch) : "") + ".";
  StrictJson root = StrictJson::object();
  auto& members = root.get_ref<StrictJson::object_t&>();
  std::size_t listed = 0;
  for (const Gguf::Entry& entry : gguf.entries()) {
    if (entry.key.starts_with("tokenizer.")) continue;
    const std::size_t length = Gguf::length(entry.value);
    if (length > kLongestList && entry.key.starts_with(own))
      throw WrongValue(entry.key, text(gguf.file().string(), ": ", excerpt(entry.key), " has ", length,
                                       " entries; allowed are at most ", kLongestList));
    listed += length;
    if (listed > kMostListed && entry.key.starts_with(own))
      throw WrongValue(entry.key,
                       text(gguf.file().string(), ": the lists up to ", excerpt(entry.key), " have ", listed,
                            " numbers together; allowed are at most ", kMostListed));
    if (length > kLongestList || listed > kMostListed) continue;
    std::visit([&](const auto& value) { members.emplace_back(entry.key, value); }, entry.value);
  }
  for (const std::string_view name : kRopeTensors) {
    const StoredTensor* tensor = weights.find(name);
    if (!tensor || tensor->size() > 65536) continue;
    const Floats numbers = weights.read(*tensor);
    members.emplace_back(std::string(name), std::vector<double>(numbers.begin(), numbers.end()));
  }
  return root;
}

}  // namespace

Config Config::open(const Path& path) {
  if (std::filesystem::is_directory(path)) {
    const Path config = path / "config.json";
    if (std::filesystem::exists(config)) return open(config);
    const std::vector<Path> models = ggufs_in(path);
    return open(models.size() == 1 ? models[0] : config);
  }
  if (path.extension() == ".gguf") {
    auto document = std::make_shared<Document>();
    document->where = path.string(), document->gguf = true;
    document->root = metadata_of(Weights::open(path, Weights::Parts::that_are_here));
    return Config(std::move(document));
  }
  if (path.extension() == ".safetensors") return open(path.parent_path() / "config.json");
  return parse(read_file(path), path.string());
}

namespace {

// The object of this key, which is made where it is missing.
StrictJson& object_at(StrictJson& root, std::string_view key) {
  StrictJson* at = &root;
  for (std::string_view rest = key; !rest.empty();) {
    const std::size_t dot = at->is_object() && at->contains(std::string(rest)) ? rest.npos : rest.find('.');
    StrictJson& inner = (*at)[std::string(rest.substr(0, dot))];
    if (inner.is_null()) inner = StrictJson::object();
    at = &inner;
    rest = dot == rest.npos ? std::string_view() : rest.substr(dot + 1);
  }
  return *at;
}

}  // namespace

Config Config::with(std::string_view part, std::string_view members) const {
  auto document = std::make_shared<Document>(*document_);
  StrictJson& into = object_at(document->root, part);
  const StrictJson given = parse_json(std::string(members), "settings to paste");
  if (!into.is_object() || !given.is_object())
    throw Error(Fault::input, gnomon::text(document->where, ": ", part, " is not an object of settings"));
  for (const auto& member : given.items()) into[member.key()] = member.value();
  return Config(std::move(document));
}

Config Config::with_number(const std::string& key, std::int64_t number) const {
  auto document = std::make_shared<Document>(*document_);
  document->root[key] = number;
  return Config(std::move(document));
}

std::string Config::json() const {
  return document_->root.dump(2, ' ', false, StrictJson::error_handler_t::replace);
}

const std::string& Config::where() const { return document_->where; }
bool Config::gguf() const { return document_->gguf; }

Config::Kind Config::kind(std::string_view key) const {
  const StrictJson* found = document_->find(key);
  if (!found) return Kind::absent;
  if (found->is_null()) return Kind::null;
  if (found->is_boolean()) return Kind::flag;
  if (found->is_number()) return Kind::number;
  if (found->is_string()) return Kind::text;
  return found->is_array() ? Kind::list : Kind::object;
}
bool Config::has(std::string_view key) const { return document_->value(key) != nullptr; }

std::optional<bool> Config::flag(std::string_view key) const {
  const StrictJson* found = document_->value(key);
  if (!found) return std::nullopt;
  if (!found->is_boolean()) document_->wrong(key, "true or false");
  return found->get<bool>();
}
std::optional<std::int64_t> Config::whole(std::string_view key) const {
  const StrictJson* found = document_->value(key);
  if (!found) return std::nullopt;
  const auto x = whole_of(*found);
  if (!x) document_->wrong(key, "a whole number");
  return x;
}
std::optional<double> Config::number(std::string_view key) const {
  const StrictJson* found = document_->value(key);
  if (!found) return std::nullopt;
  if (!found->is_number()) document_->wrong(key, "a number");
  return found->get<double>();
}
std::optional<std::string> Config::text(std::string_view key) const {
  const StrictJson* found = document_->value(key);
  if (!found) return std::nullopt;
  if (!found->is_string()) document_->wrong(key, "a text in quotes");
  return found->get<std::string>();
}

std::optional<std::vector<std::int64_t>> Config::wholes(std::string_view key) const {
  const StrictJson* found = document_->value(key);
  if (!found) return std::nullopt;
  std::vector<std::int64_t> all;
  if (!found->is_array()) document_->wrong(key, "a list of whole numbers");
  for (const StrictJson& item : *found) {
    const auto x = whole_of(item);
    if (!x) document_->wrong(key, "a list of whole numbers");
    all.push_back(*x);
  }
  return all;
}
std::optional<std::vector<double>> Config::numbers(std::string_view key) const {
  const StrictJson* found = document_->value(key);
  if (!found) return std::nullopt;
  std::vector<double> all;
  if (!found->is_array()) document_->wrong(key, "a list of numbers");
  for (const StrictJson& item : *found) {
    if (!item.is_number()) document_->wrong(key, "a list of numbers");
    all.push_back(item.get<double>());
  }
  return all;
}
std::optional<std::vector<bool>> Config::flags(std::string_view key) const {
  const StrictJson* found = document_->value(key);
  if (!found) return std::nullopt;
  std::vector<bool> all;
  if (!found->is_array()) document_->wrong(key, "a list of true and false");
  for (const StrictJson& item : *found) {
    const auto x = item.is_boolean() ? std::optional<std::int64_t>(item.get<bool>()) : whole_of(item);
    if (!x || *x < 0 || *x > 1) document_->wrong(key, "a list of true and false, or of 1 and 0");
    all.push_back(*x == 1);
  }
  return all;
}
std::optional<std::vector<std::string>> Config::texts(std::string_view key) const {
  const StrictJson* found = document_->value(key);
  if (!found) return std::nullopt;
  std::vector<std::string> all;
  if (!found->is_array()) document_->wrong(key, "a list of texts");
  for (const StrictJson& item : *found) {
    if (!item.is_string()) document_->wrong(key, "a list of texts");
    all.push_back(item.get<std::string>());
  }
  return all;
}

std::vector<std::string> Config::keys(std::string_view object) const {
  const StrictJson* found = object.empty() ? &document_->root : document_->value(object);
  std::vector<std::string> all;
  if (!found) return all;
  if (!found->is_object()) document_->wrong(object, "an object, in braces");
  for (const auto& member : found->items()) all.push_back(member.key());
  return all;
}
std::string Config::json(std::string_view key) const {
  const StrictJson* found = document_->find(key);
  return found ? whole_line(*found) : "absent";
}
std::string Config::printed(std::string_view key) const {
  const StrictJson* found = document_->find(key);
  return found ? in_one_line(*found) : "absent";
}

}  // namespace gnomon
