#include <algorithm>
#include <iterator>
#include <limits>
#include <set>

#include "gnomon/core/error.h"
#include "gnomon/core/text.h"
#include "gnomon/files/json-inl.h"
#include "gnomon/files/malformed_json.h"
#include "gnomon/files/sha256.h"

namespace gnomon {
namespace {

// Walks over bytes and counts them: most of nlohmann's events do not say where they are.
class Walker {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;
  Walker(const char* at, std::size_t& read) : at_(at), read_(&read) {}
  reference operator*() const { return *at_; }
  Walker& operator++() {
    ++at_, ++*read_;
    return *this;
  }
  bool operator==(const Walker& other) const { return at_ == other.at_; }
  bool operator!=(const Walker& other) const { return at_ != other.at_; }

 private:
  const char* at_;
  std::size_t* read_;
};

// What nlohmann's reader tells, made into a document. An event that answers false ends the reading; `problem` says why.
class Builder {
 public:
  StrictJson root;
  std::size_t read = 0;  // bytes so far
  std::size_t wrong_byte = 0;
  std::string problem;

  bool null() { return put(nullptr); }
  bool boolean(bool x) { return put(x); }
  bool number_integer(std::int64_t x) { return put(x); }
  bool number_unsigned(std::uint64_t x) { return put(x); }
  bool number_float(double x, const std::string&) { return put(x); }
  bool string(std::string& x) { return put(std::move(x)); }
  bool binary(StrictJson::binary_t&) { return false; }  // JSON has none
  bool start_object(std::size_t) { return open(StrictJson::object()); }
  bool start_array(std::size_t) { return open(StrictJson::array()); }
  bool end_object() { return close(); }
  bool end_array() { return close(); }
  bool key(std::string& name) {
    auto& members = open_.back()->get_ref<StrictJson::object_t&>();
    member_ = &members.emplace_back(name, nullptr).second;
    return keys_.back().insert(std::move(name)).second ||
           fail(text("the key ", excerpt(members.back().first), " appears twice"));
  }
  bool parse_error(std::size_t position, const std::string&, const nlohmann::detail::exception& e) {
    // "[json.exception.parse_error.101] parse error at line 1, column 5: syntax error while ...; last read: ..."
    std::string_view why = e.what();
    const auto place = why.find("column "), colon = why.find(": ", place == why.npos ? 0 : place);
    if (colon != why.npos) why.remove_prefix(colon + 2);
    why = why.substr(0, why.find("; last read"));
    fail(text("not JSON: ", why.substr(0, 100)));
    wrong_byte = position - 1;  // counted from 1, the end of the text included
    return false;
  }

 private:
  bool fail(std::string why) {
    problem = std::move(why), wrong_byte = read - 1;
    return false;
  }
  bool put(StrictJson&& value) {
    if (++values_ > kMostJsonValues) return fail(text("more than ", kMostJsonValues, " values"));
    if (open_.empty()) {
      place_ = &(root = std::move(value));
    } else if (open_.back()->is_array()) {
      place_ = &open_.back()->get_ref<StrictJson::array_t&>().emplace_back(std::move(value));
    } else {
      place_ = &(*member_ = std::move(value));
    }
    return true;
  }
  bool open(StrictJson&& value) {
    if (open_.size() == kDeepestJson) return fail(text("deeper than ", kDeepestJson, " levels"));
    if (!put(std::move(value))) return false;
    open_.push_back(place_), keys_.emplace_back();
    return true;
  }
  bool close() {
    open_.pop_back(), keys_.pop_back();
    return true;
  }

  std::vector<StrictJson*>
      open_;  // lists and objects that have begun: a parent grows only once its child has ended
  std::vector<std::set<std::string>>
      keys_;                      // of each of them: the document itself would be searched key by key
  StrictJson* member_ = nullptr;  // waits for the value of the last key
  StrictJson* place_ = nullptr;   // of the last value
  std::size_t values_ = 0;
};

std::string described(const StrictJson& value) {
  if (value.is_string()) return excerpt(value.get_ref<const std::string&>());
  if (value.is_array()) return text("a list of ", value.size());
  if (value.is_object()) return text("an object of ", value.size());
  return value.dump();
}

}  // namespace

StrictJson parse_json(std::string_view bytes, std::string_view where) {
  const auto bad = [&](std::size_t at, std::string_view why) { return MalformedJson(where, at, why); };
  // Two things that nlohmann lets pass: it skips a mark and takes a NUL for the end.
  if (bytes.substr(0, 3) == "\xEF\xBB\xBF") throw bad(0, "a byte order mark; JSON begins without one");
  if (const auto at = bytes.find('\0'); at != bytes.npos) throw bad(at, "a NUL byte; JSON has none");
  Builder builder;
  const Walker begin(bytes.data(), builder.read), end(bytes.data() + bytes.size(), builder.read);
  if (!StrictJson::sax_parse(begin, end, &builder)) throw bad(builder.wrong_byte, builder.problem);
  return std::move(builder.root);
}

namespace {
std::string seal_of(std::string_view content) {
  return text(",\n \"sha256\": \"", sha256(content), "\"\n}\n");
}
}  // namespace

std::string sealed(std::string_view object) {
  const std::string_view content = trim(object.substr(0, object.rfind('}')));
  return std::string(content) + seal_of(content);
}

StrictJson parse_sealed_json(std::string_view bytes, std::string_view where) {
  const std::size_t end = bytes.size() - std::min(bytes.size(), seal_of("").size());
  if (bytes.substr(end) != seal_of(bytes.substr(0, end)))
    throw Error(Fault::input, text(where, ": the content does not match the SHA-256 at its end"));
  return parse_json(bytes, where);
}

JsonValue JsonValue::member(std::string_view key) const {
  if (!value_.is_object()) wrong("an object");
  const auto found = value_.find(std::string(key));
  if (found == value_.end())
    throw Error(Fault::input, gnomon::text(where_, ": there is no key ", excerpt(key)));
  return {*found, gnomon::text(where_, ", ", excerpt(key))};
}

std::optional<JsonValue> JsonValue::find(std::string_view key) const {
  if (!value_.is_object()) wrong("an object");
  const auto found = value_.find(std::string(key));
  if (found == value_.end() || found->is_null()) return std::nullopt;
  return JsonValue(*found, gnomon::text(where_, ", ", excerpt(key)));
}

std::vector<std::pair<std::string_view, JsonValue>> JsonValue::members() const {
  if (!value_.is_object()) wrong("an object");
  std::vector<std::pair<std::string_view, JsonValue>> all;
  for (const auto& [key, value] : value_.items())
    all.emplace_back(key, JsonValue(value, gnomon::text(where_, ", ", excerpt(key))));
  return all;
}

std::vector<JsonValue> JsonValue::list() const {
  if (!value_.is_array()) wrong("a list");
  std::vector<JsonValue> all;
  for (const auto& value : value_) all.emplace_back(value, gnomon::text(where_, "[", all.size(), "]"));
  return all;
}
std::vector<JsonValue> JsonValue::list(std::size_t length) const {
  if (!value_.is_array() || value_.size() != length) wrong(gnomon::text("a list of ", length));
  return list();
}

const std::string& JsonValue::text() const {
  if (!value_.is_string()) wrong("a text");
  return value_.get_ref<const std::string&>();
}

bool JsonValue::flag() const {
  if (!value_.is_boolean()) wrong("true or false");
  return value_.get<bool>();
}

double JsonValue::number() const {
  if (!value_.is_number()) wrong("a number");
  return value_.get<double>();
}
double JsonValue::number_or_nan() const {
  if (null()) return std::numeric_limits<double>::quiet_NaN();
  if (!value_.is_number()) wrong("a number or null");
  return value_.get<double>();
}

std::int64_t JsonValue::whole(std::int64_t least, std::int64_t most) const {
  const bool small = value_.is_number_integer() &&
                     !(value_.is_number_unsigned() &&
                       value_.get<std::uint64_t>() > std::uint64_t(std::numeric_limits<std::int64_t>::max()));
  if (!small || value_.get<std::int64_t>() < least || value_.get<std::int64_t>() > most)
    wrong(gnomon::text("a whole number from ", least, " to ", most));
  return value_.get<std::int64_t>();
}
std::uint64_t JsonValue::unsigned_whole() const {
  if (!value_.is_number_unsigned()) wrong("a whole number from 0 to 18446744073709551615");
  return value_.get<std::uint64_t>();
}

void JsonValue::wrong(std::string_view allowed) const {
  throw Error(Fault::input, gnomon::text(where_, ": found ", described(value_), ", allowed is ", allowed));
}

}  // namespace gnomon
