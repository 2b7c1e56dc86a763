#pragma once
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gnomon/models/resolve/config.h"
#include "gnomon/models/resolve/family.h"

namespace gnomon {

// A larger model, whose file keeps that of its language model in an object, as the classes of transformers 5.23.0 have it
// (sub_configs_defaults, models/NAME/configuration_NAME.py).
struct Wrapper {
  std::string_view
      text;  // model_type of the language model, or of a larger one with it, where the object names none
  std::vector<std::string_view> types;  // model_type of the larger ones
  bool fixed = false;                   // the object is always of that type, whatever it says
  bool flat = false;  // without the object, the settings of the language model stand at the top level
  std::string_view key = "text_config";
  // What the larger class fills in where the file has no object; 0: what the class of the language model has.
  Sizes sizes = {};
  double theta = 0;
  std::optional<std::int64_t> window = {};  // tokens; 0: none
  std::string_view cycle = {};              // kinds of layers, as in WindowRule
  bool by_key = false;                      // it fills in each key that the object has not, too
};
std::span<const Wrapper> wrappers();
// model_type of the language model itself, where the object keeps a larger model that keeps it: colpali, paligemma, gemma.
std::string_view innermost(const Wrapper& wrapper);

// The language model in a file.
struct LanguagePart {
  std::string key;           // the object that configures it, "text_config"; empty: the document itself does
  std::string type;          // its model_type, or that of the whole
  std::string named_by;      // the key that says the type; empty: no key does
  bool filled_in = false;    // the file has no such object: the larger class has one of its own
  bool without_mla = false;  // its class has latent attention, and the file says use_mla false
  const Family* family = nullptr;  // its row, with what a larger class fills in; null: unknown
};
LanguagePart language_part(const Config& config);

}  // namespace gnomon
