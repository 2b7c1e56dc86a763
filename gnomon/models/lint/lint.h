#pragma once
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gnomon/models/lint/tensors.h"
#include "gnomon/models/resolve/config.h"
#include "gnomon/models/resolve/family.h"
#include "gnomon/models/resolve/resolved.h"

namespace gnomon {

// Rules about the position settings of a model's file: what is likely to be computed otherwise than was meant, by whom, and
// what to write instead. The list is rules/list.def; the program, its page docs/lint.md and the tests are derived from it.

enum class Severity { error, warning, note };
std::string_view severity_name(Severity severity);

// A dictionary of RoPE's settings in the file.
struct RopeDictionary {
  std::string key;    // "text_config.rope_parameters.full_attention"
  std::string label;  // "full_attention"; empty: of all layers
  bool live = true;   // transformers 5 looks at it: not so for a rope_parameters that a rope_scaling replaces
};

// A file, what the readers make of it, and what rules ask of it again and again. All accessors give nullopt for a value of
// another kind than asked for, and take keys of the language part: of a GGUF file, without the architecture before them.
class LintContext {
 public:
  explicit LintContext(Config config, std::vector<LintTensor> tensors = {});

  const Config& config() const { return config_; }
  bool gguf() const { return gguf_; }
  const std::string& type() const { return type_; }  // model_type, or general.architecture
  const Family* family() const { return family_; }   // null: unknown
  // Null where this reader cannot read the file; refusal() then says why.
  const Resolved* read_by(Reader reader) const;
  const std::string& refusal(Reader reader) const;
  const std::string& refused_key(Reader reader) const;  // what it is about; empty: no single key
  const std::vector<LintTensor>& tensors() const { return tensors_; }  // empty: the weights are not there

  std::string at(std::string_view key) const;  // in the whole file: "text_config.rope_theta"
  const std::string& part() const { return part_; }
  bool has(std::string_view key) const { return config_.has(at(key)); }
  Config::Kind kind(std::string_view key) const { return config_.kind(at(key)); }
  std::optional<double> number(std::string_view key) const;
  std::optional<std::int64_t> whole(std::string_view key) const;
  std::optional<std::string> word(std::string_view key) const;
  std::optional<bool> flag(std::string_view key) const;
  std::optional<std::vector<double>> numbers(std::string_view key) const;
  std::optional<std::vector<std::string>> words(std::string_view key) const;

  // The dictionaries that are not empty, as written. Their values are asked for by whole key.
  const std::vector<RopeDictionary>& ropes() const { return ropes_; }
  std::string type_of(
      const RopeDictionary& dict) const;  // rope_type, type or "default", as transformers does
  std::optional<double> number(const RopeDictionary& dict, std::string_view name) const;
  bool has(const RopeDictionary& dict, std::string_view name) const;
  bool reads_by_kind()
      const;  // the family has a dictionary for full and one for sliding layers, whatever the file has

  // Width of the head that turns, before partial_rotary_factor, above 0; tokens that the file promises; layers.
  std::optional<std::int64_t> head_dim() const;
  std::optional<std::int64_t> longest() const;
  std::optional<std::int64_t> layers() const;

 private:
  void find_ropes();
  Config config_;
  std::vector<LintTensor> tensors_;
  bool gguf_;
  std::string part_, type_;
  const Family* family_;
  std::vector<RopeDictionary> ropes_;
  struct Understood {
    std::optional<Resolved> resolved;
    std::string refusal, refused_key;
  };
  const Understood& understood(Reader reader) const;
  mutable std::map<Reader, Understood> understood_;  // each made when first asked for
};

// A file of settings, or a folder or file of weights, opened with whatever stands beside it.
struct LintFile {
  LintContext context;
  std::string bytes;  // of the config.json; empty: a GGUF file
};
// Throws Error(input) and Error(resource) as Config::open() and Weights::open() do.
LintFile open_for_lint(const Path& path);

struct LintFinding {
  std::string key;       // of the whole file; empty: no key, or one that is missing
  std::string found;     // its value as JSON
  std::string expected;  // what to write instead
  std::string says;      // what goes wrong here, in numbers
};
using Findings = std::vector<LintFinding>;

struct LintTraits {
  // gnomon's answer is another than that of transformers 5.23, or one where transformers raises an error.
  bool departs = false;
  // Left out about a key of which another rule says something that weighs as much.
  bool general = false;
  // An error that is one whatever the class does: the file contradicts itself. Other errors are left out where the class is
  // unknown, for it may read what others do not.
  bool any_class = false;
};

struct LintRule {
  std::string_view id;  // kebab-case
  Severity severity;
  std::string_view title;     // one sentence
  std::string_view explains;  // what goes wrong, for whom, how much
  std::string_view fix;
  std::string_view link;           // where it happened
  std::string_view fails, passes;  // a config.json that has it, one that does not
  Findings (*find)(const LintContext&);
  LintTraits traits = {};
};

std::span<const LintRule* const> lint_rules();   // in the order of rules/list.def
const LintRule& find_rule(std::string_view id);  // throws Error(usage) with the nearest name

struct LintResult {
  const LintRule* rule;
  LintFinding finding;
};
struct LintChoice {
  std::vector<std::string> only, ignore;  // ids; empty `only`: all
};
// What all the rules find, errors first, then in the order of the list; of a class that is not known no error but those of
// `any_class`. Throws Error(usage) for a rule that there is not.
std::vector<LintResult> lint(const LintContext& context, const LintChoice& choice = {});

}  // namespace gnomon
