#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gnomon/models/explain/explain.h"
#include "gnomon/models/resolve/config.h"

namespace gnomon {

// A published method that extends a rotary model beyond its trained length.
struct ExtensionMethod {
  std::string_view name;                // "linear", "ntk", "dynamic", "yarn", "longrope"
  std::string_view title, does;         // each in a sentence
  std::string_view untrained, trained;  // results in papers without further training, and with it
  std::string_view source;
  // Results without further training, within the trained length and at four times that length, for a table: see kMeasured.
  // kNotKnown: no published number is known.
  std::string_view within, beyond;
};
inline constexpr std::string_view kNotKnown = "not known";
inline constexpr std::string_view kMeasured =
    "perplexity of LLaMA 7B at factor 4 without further training, over its 2,048 trained tokens and over "
    "four times as many. Lower is better; without any extension it is 4.05 within (Peng et al. 2023, "
    "https://arxiv.org/abs/2309.00071, "
    "table 5)";
std::span<const ExtensionMethod> extension_methods();

// The change of one pair of channels.
struct ExtendedPair {
  double wavelength = 0;  // tokens of a full turn without any extension, 2π/θ_i
  double turns = 0;       // full turns within the trained length
  double factor = 1;      // it turns slower by this factor than without any extension
  double today = 1;       // the same factor in the file today
};

// Layers with the same rotation, before and after the extension.
struct ExtendedGroup {
  std::vector<std::int64_t> layers;
  std::string component;
  LayerPosition position;  // with the spec of this method
  Numbers numbers;         // at the new length
  std::vector<ExtendedPair> pairs;
  std::int64_t kept = 0, blended = 0,
               interpolated = 0;  // number of pairs: unchanged, in between, divided by the whole factor
};

// What one reader computes from the file with a snippet in it.
struct SnippetReading {
  Reader reader;
  std::string differs;  // the difference from this method; empty: none
};

// Settings to paste into the file, or options to type.
struct ExtensionSnippet {
  std::string program;  // "transformers 5"
  std::string where;    // what it is and where to put it
  std::string text;     // JSON members of the file, or command-line options
  bool json = true;
  std::vector<SnippetReading> readings;  // its own reader first; empty: gnomon has no reader to test it
  std::string part = {};  // the object in the file that the members belong to; empty: the document
};

struct Extension {
  const ExtensionMethod* method = nullptr;
  std::string refused;  // why this model cannot use the method; empty: it can
  std::vector<ExtendedGroup> groups;
  std::vector<ExtensionSnippet> snippets;
  std::vector<std::string> missing;  // programs without a snippet, with the reason
};

// The method to use without further training, and why, in a sentence or two.
struct ExtensionAdvice {
  const ExtensionMethod* way = nullptr;  // null: none
  std::string says;
};

struct ExtensionPlan {
  Explanation now;
  std::int64_t to = 0;          // tokens
  double factor = 1;            // `to` over the trained length
  std::int64_t beyond = 0;      // number of pairs that, without a change, turn further than in training
  std::vector<Extension> ways;  // empty for a model without a rotation
  ExtensionAdvice advice;
  std::vector<std::string> notes;  // about the model, for every method
  std::optional<std::int64_t>
      cache_bytes;  // keys and values of one sequence of `to` tokens, at two bytes per number
};

// Plans every method. It merges each snippet into the file, resolves the file again, and compares what the readers compute
// with the planned specs, layer by layer (differences.h). Throws as explain() does, and Error(usage) for a length that is not
// beyond the trained one.
ExtensionPlan plan_extension(const Config& config, std::int64_t to);
// The same for a length as text: 16384, 16k or 1M (k = 1,024 and M = 1,048,576 tokens), or 4x (four times the length that the
// file promises).
ExtensionPlan plan_extension(const Config& config, std::string_view to);

// The whole file with the settings of this method: settings that transformers 4 and 5 compute alike, if there are any, otherwise
// those of transformers 5. Throws Error(usage) for a method without settings, and for a GGUF file.
struct ExtendedFile {
  std::string content;          // JSON
  std::vector<Reader> readers;  // the readers that compute this method from it
};
ExtendedFile extended_file(const Config& config, const Extension& way);

}  // namespace gnomon
