#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "gnomon/core/file.h"
#include "gnomon/core/precision.h"

namespace gnomon {

struct Arm;
struct Prediction;

// One value of a configuration, by its key "section.name"; tables that may be repeated, [[section]], have their section as the
// key. A list of them is the only place that names the keys.
struct Field {
  std::string_view key, help;
  std::variant<std::int64_t*, double*, std::string*, std::optional<bool>*, std::optional<std::int64_t>*,
               std::optional<double>*, std::vector<std::string>*, std::vector<double>*, std::optional<Arm>*,
               std::vector<Arm>*, std::vector<Prediction>*, Precision*>
      value;
};

// TOML and what it is called in messages.
struct Toml {
  std::string content, where;
};
Toml toml_in(const Path& path);

// What the TOML does not name stays. Throws Error(usage) with line and column.
void read_toml(std::span<const Field> fields, const Toml& toml);

// A file may hold several configurations: what stands outside of its [[part]] tables, with what stands in one of them
// ([part.study], [[part.prediction]], ...) on top. Names of the parts, in their order: different words of a to z, 0 to 9 and -.
// Empty: it is one configuration. Throws Error(usage) as above.
std::vector<std::string> parts_of(const Toml& toml);
void read_toml_part(std::span<const Field> fields, const Toml& toml, std::string_view part);
void set(std::span<const Field> fields,
         std::string_view assignment);                  // "train.steps=100"; throws Error(usage)
std::string print_toml(std::span<const Field> fields);  // every key, with its help; reads back equal
std::string print_value(const Field& field);            // as TOML has it; empty: not set
std::string print_table(std::string_view section,
                        std::span<const Field> fields);  // [[section]] and the keys that hold something

}  // namespace gnomon
