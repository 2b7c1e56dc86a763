#pragma once
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gnomon/models/lint/lint.h"
#include "gnomon/models/lint/tensors.h"
#include "gnomon/models/resolve/config.h"
#include "gnomon/models/resolve/family.h"
#include "gnomon/models/resolve/place.h"
#include "gnomon/models/resolve/resolved.h"

namespace gnomon {

// A dictionary of RoPE's settings in the file.
struct RopeDictionary {
  std::string key;    // "text_config.rope_parameters.full_attention"
  std::string label;  // "full_attention"; empty: of all layers
  bool live = true;   // transformers 5 looks at it: not so for a rope_parameters that a rope_scaling replaces
};

// Why rules cannot look at a file, or at the weights beside it.
struct LintObstacle {
  std::string why;
  bool incomplete = false;  // a part of the model is elsewhere; nothing need be wrong with what is here
  TextPlace place = {};
};

// A file, what the readers make of it, and what rules ask of it again and again. All accessors give nullopt for a value of
// another kind than asked for, and take keys of the language part: of a GGUF file, without the architecture before them.
class LintContext {
 public:
  explicit LintContext(Config config, std::vector<LintTensor> tensors = {},
                       std::vector<LintObstacle> obstacles = {}, LintPrograms programs = {});
  // A file that cannot be read: it has no settings.
  LintContext(const std::string& where, LintObstacle obstacle);

  bool readable() const { return readable_; }
  const std::vector<LintObstacle>& obstacles() const { return obstacles_; }
  const Config& config() const { return config_; }
  const LintPrograms& programs() const { return programs_; }
  bool gguf() const { return gguf_; }
  const std::string& type() const { return type_; }  // model_type, or general.architecture
  const Family* family() const { return family_; }   // null: unknown
  bool known() const;  // gnomon has a row of the family, or knows the architecture's graph in llama.cpp
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
  std::vector<LintObstacle> obstacles_;
  bool readable_ = true;
  LintPrograms programs_;
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

}  // namespace gnomon
