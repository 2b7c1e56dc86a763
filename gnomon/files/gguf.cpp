#include "gnomon/files/gguf.h"

#include <limits>
#include <type_traits>

#include "gnomon/core/error.h"
#include "gnomon/core/text.h"

namespace gnomon {
namespace {

using Value = Gguf::Value;
constexpr auto kMostWhole = std::uint64_t(std::numeric_limits<std::int64_t>::max());

std::optional<std::int64_t> whole_of(std::int64_t x) { return x; }
std::optional<std::int64_t> whole_of(std::uint64_t x) {
  return x <= kMostWhole ? std::optional(std::int64_t(x)) : std::nullopt;
}
template <class T>
std::optional<std::int64_t> whole_of(const T&) {
  return std::nullopt;
}

template <class T>
constexpr bool is_number =
    std::is_same_v<T, std::uint64_t> || std::is_same_v<T, std::int64_t> || std::is_same_v<T, double>;
template <class T>
constexpr bool is_list = false;
template <class T>
constexpr bool is_list<std::vector<T>> = true;
template <class T>
constexpr bool is_numbers = false;
template <class T>
constexpr bool is_numbers<std::vector<T>> = std::is_arithmetic_v<T> && !std::is_same_v<T, bool>;
template <class T>
constexpr bool is_wholes = false;
template <class T>
constexpr bool is_wholes<std::vector<T>> = std::is_integral_v<T> && !std::is_same_v<T, bool>;

std::string described(const Value& value) {
  return std::visit(
      [](const auto& x) -> std::string {
        using T = std::decay_t<decltype(x)>;
        if constexpr (is_list<T>) {
          return text("a list of ", x.size());
        } else if constexpr (std::is_same_v<T, std::string>) {
          return excerpt(x);
        } else if constexpr (std::is_same_v<T, bool>) {
          return x ? "true" : "false";
        } else if constexpr (std::is_same_v<T, double>) {
          return shortest(x);
        } else {
          return text(x);
        }
      },
      value);
}

[[noreturn]] void wrong(const Gguf& gguf, std::string_view key, std::string_view allowed) {
  throw Error(Fault::input, text(gguf.file().string(), ", ", excerpt(key), ": found ",
                                 described(*gguf.find(key)), ", allowed is ", allowed));
}

// The value if it is of this very kind.
template <class T>
std::optional<T> exactly(const Gguf& gguf, std::string_view key, std::string_view allowed) {
  const Value* value = gguf.find(key);
  if (!value) return std::nullopt;
  if (!std::holds_alternative<T>(*value)) wrong(gguf, key, allowed);
  return std::get<T>(*value);
}

}  // namespace

std::size_t Gguf::length(const Value& value) {
  return std::visit(
      [](const auto& x) -> std::size_t {
        if constexpr (is_list<std::decay_t<decltype(x)>>) return x.size();
        return 0;
      },
      value);
}

const Gguf::Value* Gguf::find(std::string_view key) const {
  for (const Entry& e : entries_) {
    if (e.key == key) return &e.value;
  }
  return nullptr;
}

std::optional<std::int64_t> Gguf::whole(std::string_view key) const {
  const Value* value = find(key);
  if (!value) return std::nullopt;
  const auto found = std::visit([](const auto& x) { return whole_of(x); }, *value);
  if (!found) wrong(*this, key, gnomon::text("a whole number of at most ", kMostWhole));
  return found;
}

std::optional<double> Gguf::number(std::string_view key) const {
  const Value* value = find(key);
  if (!value) return std::nullopt;
  return std::visit(
      [&](const auto& x) -> double {
        if constexpr (is_number<std::decay_t<decltype(x)>>) return double(x);
        wrong(*this, key, "a number");
      },
      *value);
}

std::optional<bool> Gguf::flag(std::string_view key) const {
  return exactly<bool>(*this, key, "true or false");
}
std::optional<std::string> Gguf::text(std::string_view key) const {
  return exactly<std::string>(*this, key, "a text");
}
std::optional<std::vector<std::string>> Gguf::texts(std::string_view key) const {
  return exactly<std::vector<std::string>>(*this, key, "a list of texts");
}

std::optional<std::vector<std::int64_t>> Gguf::wholes(std::string_view key) const {
  const Value* value = find(key);
  if (!value) return std::nullopt;
  const auto refuse = [&] {
    wrong(*this, key, gnomon::text("a list of whole numbers of at most ", kMostWhole));
  };
  return std::visit(
      [&](const auto& list) {
        std::vector<std::int64_t> all;
        if constexpr (is_wholes<std::decay_t<decltype(list)>>) {
          for (const auto x : list) {
            const auto wide =
                std::is_signed_v<decltype(+x)> ? whole_of(std::int64_t(x)) : whole_of(std::uint64_t(x));
            all.push_back(wide ? *wide : (refuse(), 0));
          }
        } else {
          refuse();
        }
        return all;
      },
      *value);
}

std::optional<std::vector<double>> Gguf::numbers(std::string_view key) const {
  const Value* value = find(key);
  if (!value) return std::nullopt;
  return std::visit(
      [&](const auto& list) -> std::vector<double> {
        if constexpr (is_numbers<std::decay_t<decltype(list)>>) return {list.begin(), list.end()};
        wrong(*this, key, "a list of numbers");
      },
      *value);
}

}  // namespace gnomon
