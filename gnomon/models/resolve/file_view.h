#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gnomon/models/resolve/config.h"
#include "gnomon/models/resolve/family.h"

namespace gnomon {

// A dictionary of RoPE's settings in the file.
struct RopeDictionary {
  std::string key;    // "text_config.rope_parameters.full_attention"
  std::string label;  // "full_attention"; empty: of all layers
  bool live = true;   // transformers 5 looks at it: not so for a rope_parameters that a rope_scaling replaces
};

// The settings of a file, as those look at them who judge it: a value of another kind than asked for is not there. Keys are those of the
// language part; of a GGUF file, without the architecture before them.
class FileView {
 public:
  explicit FileView(Config config);

  const Config& config() const { return config_; }
  bool gguf() const { return gguf_; }
  const std::string& type() const { return type_; }  // model_type, or general.architecture
  const Family* family() const { return family_; }   // null: unknown
  bool known() const;  // gnomon has a row of the family, or knows the architecture's graph in llama.cpp

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
  // The dictionary's own type is one that changes frequencies.
  bool scales(const RopeDictionary& dict) const;
  bool reads_by_kind()
      const;  // the family has a dictionary for full and one for sliding layers, whatever the file has
  // Classes whose windows use_sliding_window switches on; without it their window is null, whatever the file says.
  bool switches_window() const;

  // Width of the head that turns, before partial_rotary_factor, above 0; tokens that the file promises; layers.
  std::optional<std::int64_t> head_dim() const;
  std::optional<std::int64_t> longest() const;
  std::optional<std::int64_t> layers() const;

 private:
  void find_ropes();
  Config config_;
  bool gguf_;
  std::string part_, type_;
  const Family* family_;
  std::vector<RopeDictionary> ropes_;
};

}  // namespace gnomon
