#include "gnomon/models/resolve/unread.h"

#include <algorithm>
#include <array>

#include "gnomon/core/error.h"
#include "gnomon/core/names.h"
#include "gnomon/core/text.h"

namespace gnomon {
namespace {

constexpr std::string_view kUnread = "position-key-unread";
constexpr std::string_view kOwnCode = "family-has-its-own-code", kBesideClass = "own-code-beside-class";

bool of_position(std::string_view key) {
  constexpr std::array<std::string_view, 22> kBeginnings{"rope",
                                                         "rotary",
                                                         "partial_rot",
                                                         "original_max",
                                                         "no_rope",
                                                         "alibi",
                                                         "sliding",
                                                         "use_sliding",
                                                         "max_window",
                                                         "position_",
                                                         "relative_",
                                                         "max_relative",
                                                         "local_rope",
                                                         "global_rope",
                                                         "layer_types",
                                                         "attention_chunk",
                                                         "layer_rope",
                                                         "qk_rope",
                                                         "max_pos",
                                                         "n_positions",
                                                         "local_attention",
                                                         "ntk"};
  return std::any_of(kBeginnings.begin(), kBeginnings.end(),
                     [&](std::string_view b) { return key.starts_with(b); });
}
// What says nothing that is not so anyhow.
bool idle(const Config& config, const std::string& key) {
  return !config.has(key) || config.printed(key) == "\"absolute\"" || config.printed(key) == "false" ||
         config.printed(key) == "{}";
}
bool turns_anyhow(const FileReading& file, const Family& family, std::string_view key) {
  const std::string said = file.printed(key);
  return family.method == Method::rotary && key == "position_embedding_type" &&
         (said == "\"rotary\"" || said == "\"rope\"");
}

// BERT's classes have a table, whatever kind of position the file names; what they say of relative_key is a remark of its own.
bool names_other_kind(const FileReading& file, const Family& family, std::string_view key) {
  const std::string said = file.printed(key);
  return key == "position_embedding_type" && family.method == Method::table &&
         family.table.turned_key.empty() && said != "\"relative_key\"" && said != "\"relative_key_query\"";
}
// The repository has code that takes the place of the class where trust_remote_code is set. That of a tokenizer alone does not.
bool brings_code(const Config& config) {
  if (config.kind("auto_map") != Config::Kind::object) return false;
  const std::vector<std::string> keys = config.keys("auto_map");
  return std::any_of(keys.begin(), keys.end(), [](const std::string& key) {
    return key.starts_with("AutoModel") || key.starts_with("AutoConfig");
  });
}
// What is shown is already what that code computes.
bool shows_own_code(const Resolved& answer) {
  return std::any_of(answer.remarks.begin(), answer.remarks.end(),
                     [](const Remark& remark) { return remark.rule == kOwnCode; });
}

std::string perhaps(const FileReading& file, std::string_view key) {
  constexpr std::array<std::string_view, 12> kNames{"rope_theta",
                                                    "rope_scaling",
                                                    "rope_parameters",
                                                    "partial_rotary_factor",
                                                    "original_max_position_embeddings",
                                                    "max_position_embeddings",
                                                    "sliding_window",
                                                    "layer_types",
                                                    "no_rope_layers",
                                                    "rotary_pct",
                                                    "rotary_emb_base",
                                                    "rope_local_base_freq"};
  const std::string_view near = nearest(key, kNames);
  if (near.empty() || near == key || file.config().has(file.at(near))) return {};
  return text("; did you mean ", near, "?");
}

constexpr std::size_t kMostTold = 64;

// The first of them, and how many more there are: a file may have a million, and each has its words looked for.
class Told {
 public:
  template <class Words>
  void add(const std::string& key, const Words& words, std::string_view rule) {
    if (++found_ <= kMostTold) remarks_.push_back({key, words(), rule});
  }
  void into(Resolved& answer) && {
    if (found_ > kMostTold)
      remarks_.back().says += text("; the same holds for ", counted(found_ - kMostTold, "more key"));
    answer.remarks.insert(answer.remarks.end(), remarks_.begin(), remarks_.end());
  }

 private:
  std::vector<Remark> remarks_;
  std::size_t found_ = 0;
};

}  // namespace

void remark_unread(const FileReading& file, const Family& family, Resolved& answer) {
  const Config& config = file.config();
  const bool code = brings_code(config) && !shows_own_code(answer);
  Told told;
  for (const std::string& key : config.keys(file.part())) {
    const std::string whole = file.at(key);
    const bool read = file.asked(whole) && !names_other_kind(file, family, key);
    if (!of_position(key) || read || idle(config, whole) || turns_anyhow(file, family, key)) continue;
    if (!answer.known)
      told.add(
          whole, [] { return std::string("gnomon does not know what this class does with it"); },
          "family-unknown");
    else
      told.add(
          whole,
          [&] {
            return text("no rule of this family reads it", perhaps(file, key),
                        code ? "; auto_map names the repository's own code, which may" : "");
          },
          code ? kBesideClass : kUnread);
  }
  const bool rest = !file.part().empty() && answer.known;
  for (const std::string& key : rest ? config.keys() : std::vector<std::string>())
    if (of_position(key) && !idle(config, key))
      told.add(
          key, [&] { return text("ignored: the settings of the language part are in ", file.part()); },
          kUnread);
  std::move(told).into(answer);
}

}  // namespace gnomon
