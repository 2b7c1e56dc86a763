#pragma once
#include <array>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gnomon {

// The types of a dictionary of RoPE: ROPE_INIT_FUNCTIONS of transformers 5.23.0 (modeling_rope_utils.py), the default, axial, and
// four that single classes read.
inline constexpr std::array<std::string_view, 12> kRopeTypes{"default",  "linear", "dynamic",       "yarn",
                                                             "longrope", "llama3", "proportional",  "axial",
                                                             "mrope",    "su",     "deepseek_yarn", "xdrope"};

// What the value of a key may be.
enum class RopeKeyKind {
  word,
  flag,
  number,
  positive,  // a number above 0
  growth,    // a number from 1 on
  share,     // above 0, at most 1
  tokens,    // a whole number above 0
  factors,   // a list of numbers above 0
  sections   // a list of whole numbers from 0 on
};

// A key that some class of transformers 5.23.0 reads in a dictionary of RoPE.
struct RopeKey {
  std::string_view name;
  RopeKeyKind kind;
  std::string_view says;
  std::vector<std::string_view> types = {};      // that read it; none: all do
  std::vector<std::string_view> needed_by = {};  // those that fail without it
};
std::span<const RopeKey> rope_keys();

// The key of this type that an unknown one is nearly, never one of another type; empty: it is one of rope_keys(), or is like none,
// or like several.
std::string misspelt_rope_key(std::string_view key, std::string_view type);

}  // namespace gnomon
