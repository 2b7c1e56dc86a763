#include "gnomon/families/config.h"

#include <cmath>
#include <limits>

#include "gnomon/checkpoint/gguf.h"
#include "gnomon/checkpoint/json-inl.h"
#include "gnomon/checkpoint/weights.h"
#include "gnomon/core/error.h"
#include "gnomon/core/text.h"

namespace gnomon {

struct Config::Document {
  std::string where;
  bool gguf = false;
  StrictJson root;

  const StrictJson* find(std::string_view key) const { return find(root, key); }
  static const StrictJson* find(const StrictJson& in, std::string_view key);
  // The value of a key that is there and not null.
  const StrictJson* value(std::string_view key) const {
    const StrictJson* found = find(key);
    return found && !found->is_null() ? found : nullptr;
  }
  [[noreturn]] void wrong(std::string_view key, std::string_view allowed) const;
};

const StrictJson* Config::Document::find(const StrictJson& in, std::string_view key) {
  if (!in.is_object()) return nullptr;
  if (const auto whole = in.find(std::string(key)); whole != in.end()) return &*whole;
  for (std::size_t dot = key.find('.'); dot != key.npos; dot = key.find('.', dot + 1)) {
    const auto outer = in.find(std::string(key.substr(0, dot)));
    if (outer == in.end()) continue;
    if (const StrictJson* inner = find(*outer, key.substr(dot + 1))) return inner;
  }
  return nullptr;
}

namespace {

std::string in_one_line(const StrictJson& value) {
  constexpr std::size_t most = 60;
  std::string line = value.dump(-1, ' ', true);
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

Config::Config(std::shared_ptr<const Document> document) : document_(std::move(document)) {}

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

// Tensors that are settings of RoPE: factors of its pairs.
constexpr std::string_view kRopeTensors[] = {"rope_freqs.weight", "rope_factors_long.weight",
                                             "rope_factors_short.weight"};

StrictJson metadata_of(const Weights& weights) {
  StrictJson root = StrictJson::object();
  for (const Gguf::Entry& entry : weights.gguf()->entries()) {
    if (entry.key.starts_with("tokenizer.")) continue;  // large, and nothing of position
    std::visit([&](const auto& value) { root[entry.key] = value; }, entry.value);
  }
  for (const std::string_view name : kRopeTensors) {
    const StoredTensor* tensor = weights.find(name);
    if (!tensor || tensor->size() > 65536) continue;
    const Floats numbers = weights.read(*tensor);
    root[std::string(name)] = std::vector<double>(numbers.begin(), numbers.end());
  }
  return root;
}

}  // namespace

Config Config::open(const Path& path) {
  if (std::filesystem::is_directory(path)) return open(path / "config.json");
  if (path.extension() == ".gguf") {
    auto document = std::make_shared<Document>();
    document->where = path.string(), document->gguf = true;
    document->root = metadata_of(Weights::open(path));
    return Config(std::move(document));
  }
  if (path.extension() == ".safetensors") return open(path.parent_path() / "config.json");
  return parse(read_file(path), path.string());
}

Config Config::with(std::string_view part, std::string_view members) const {
  auto document = std::make_shared<Document>(*document_);
  StrictJson& into = part.empty() ? document->root : document->root[std::string(part)];
  const StrictJson given = parse_json(std::string(members), "settings to paste");
  if (!into.is_object() || !given.is_object())
    throw Error(Fault::input, gnomon::text(document->where, ": ", part, " is no object of settings"));
  for (const auto& member : given.items()) into[member.key()] = member.value();
  return Config(std::move(document));
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
std::string Config::printed(std::string_view key) const {
  const StrictJson* found = document_->find(key);
  return found ? in_one_line(*found) : "absent";
}

}  // namespace gnomon
