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

// A way to let a model that turns queries and keys reach further than it was trained for, as the literature has it.
struct ExtensionMethod {
  std::string_view name;                // "linear", "ntk", "dynamic", "yarn", "longrope"
  std::string_view title, does;         // in a sentence
  std::string_view untrained, trained;  // what papers measured without further training, and with
  std::string_view source;
  // Without further training, within the trained length and at four times of it, in the words of a table: kMeasured says of what.
  // kNotKnown: no published number is at hand.
  std::string_view within, beyond;
};
inline constexpr std::string_view kNotKnown = "not known";
inline constexpr std::string_view kMeasured =
    "perplexity of LLaMA 7B without training, at factor 4, over its 2,048 trained tokens and over four times "
    "as many; lower is "
    "better. Without any extension it is 4.05 within (Peng et al. 2023, https://arxiv.org/abs/2309.00071, "
    "table 5)";
std::span<const ExtensionMethod> extension_methods();

// What becomes of one pair of channels.
struct ExtendedPair {
  double wavelength = 0;  // tokens of a full turn without any extension, 2π/θ_i
  double turns = 0;       // of them within the trained length
  double factor = 1;      // by which it turns slower than without any extension
  double today = 1;       // the same of the file as it is
};

// Layers that turn alike, before and after.
struct ExtendedGroup {
  std::vector<std::int64_t> layers;
  std::string component;
  LayerPosition position;  // with the announced spec
  Numbers numbers;         // at the new length
  std::vector<ExtendedPair> pairs;
  std::int64_t kept = 0, blended = 0,
               interpolated = 0;  // pairs: as without extension, between, by the whole factor
};

// What one reader computes from the file with a snippet in it.
struct SnippetReading {
  Reader reader;
  std::string differs;  // from what is announced; empty: it is that
};

// Something to paste, or to type.
struct ExtensionSnippet {
  std::string program;  // "transformers 5"
  std::string where;    // what it is and where it goes
  std::string text;     // JSON of members of the file, or options of a command
  bool json = true;
  std::vector<SnippetReading> readings;  // its own reader first; none: no reader of gnomon's can try it
  std::string part = {};  // the object of the file that the members belong to; empty: the document
};

struct Extension {
  const ExtensionMethod* method = nullptr;
  std::string refused;  // why this model cannot have it; empty: it can
  std::vector<ExtendedGroup> groups;
  std::vector<ExtensionSnippet> snippets;
  std::vector<std::string> missing;  // programs without a snippet, and why
};

// Which way to take without training the model, and why, in a sentence or two.
struct ExtensionAdvice {
  const ExtensionMethod* way = nullptr;  // null: none
  std::string says;
};

struct ExtensionPlan {
  Explanation now;
  std::int64_t to = 0;          // tokens
  double factor = 1;            // to / the trained length
  std::int64_t beyond = 0;      // pairs that, without any change, turn further than training showed them
  std::vector<Extension> ways;  // none of a model that does not turn
  ExtensionAdvice advice;
  std::vector<std::string> notes;  // of the model, whatever the way
  std::optional<std::int64_t>
      cache_bytes;  // keys and values of one sequence of `to` tokens, two bytes a number
};

// Every snippet was merged into the file and resolved again: what its readers compute is compared with the announced specs layer
// by layer (differences.h). Throws what explain() throws; Error(usage) for a length that is not beyond the trained one.
ExtensionPlan plan_extension(const Config& config, std::int64_t to);
// The same for a length in words: 16384, 16k and 1M (of 1,024 and 1,048,576 tokens), or 4x, four times the length that the file promises.
ExtensionPlan plan_extension(const Config& config, std::string_view to);

// The whole file with the settings of this way in it: those that transformers 4 and 5 both compute, where there are such, or
// those of transformers 5. Throws Error(usage) for a way that has none, and for a GGUF file.
struct ExtendedFile {
  std::string content;          // JSON
  std::vector<Reader> readers;  // that compute from it what the way announces
};
ExtendedFile extended_file(const Config& config, const Extension& way);

}  // namespace gnomon
