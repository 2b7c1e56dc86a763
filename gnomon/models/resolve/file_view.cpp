#include "gnomon/models/resolve/file_view.h"

#include <algorithm>

#include "gnomon/core/error.h"
#include "gnomon/core/text.h"
#include "gnomon/models/resolve/gguf_architectures.h"
#include "gnomon/models/resolve/wrappers.h"

namespace gnomon {
namespace {

// A value of another kind is for the rules about kinds; to the others it is not there.
template <class Ask>
auto leniently(const Ask& ask) -> decltype(ask()) {
  try {
    return ask();
  } catch (const Error& error) {
    if (error.fault() != Fault::input) throw;
    return std::nullopt;
  }
}

}  // namespace

FileView::FileView(Config config) : config_(std::move(config)) {
  gguf_ = config_.gguf() || config_.has("general.architecture");
  if (gguf_) {
    type_ = leniently([&] { return config_.text("general.architecture"); }).value_or("");
    part_ = type_;
    family_ = find_gguf_family(type_);
    return;
  }
  const LanguagePart language = language_part(config_);
  part_ = language.key, type_ = language.type, family_ = language.family;
  find_ropes();
}

bool FileView::known() const { return family_ || (gguf_ && find_gguf_architecture(type_)); }

std::string FileView::at(std::string_view key) const {
  return part_.empty() ? std::string(key) : text(part_, ".", key);
}

std::optional<double> FileView::number(std::string_view key) const {
  return leniently([&] { return config_.number(at(key)); });
}
std::optional<std::int64_t> FileView::whole(std::string_view key) const {
  return leniently([&] { return config_.whole(at(key)); });
}
std::optional<std::string> FileView::word(std::string_view key) const {
  return leniently([&] { return config_.text(at(key)); });
}
std::optional<bool> FileView::flag(std::string_view key) const {
  return leniently([&] { return config_.flag(at(key)); });
}
std::optional<std::vector<double>> FileView::numbers(std::string_view key) const {
  return leniently([&] { return config_.numbers(at(key)); });
}
std::optional<std::vector<std::string>> FileView::words(std::string_view key) const {
  return leniently([&] { return config_.texts(at(key)); });
}

constexpr std::size_t kMostDictionaries = 4096;  // as many as layers

void FileView::find_ropes() {
  bool replaced = false;
  for (const std::string_view object : {"rope_scaling", "rope_parameters"}) {
    if (kind(object) != Config::Kind::object) continue;
    const std::vector<std::string> names = config_.keys(at(object));
    if (names.size() > kMostDictionaries)
      throw WrongValue(at(object), text(config_.where(), ": ", at(object), " has ", names.size(),
                                        " members; allowed are at most ", kMostDictionaries));
    const bool unread = object == "rope_scaling" && family_ && family_->rope.scaling_unread;
    bool flat = false;
    for (const std::string& name : names) {
      const std::string key = text(at(object), ".", name);
      if (config_.kind(key) == Config::Kind::object) {
        ropes_.push_back({key, name, !replaced && !unread});
      } else if (config_.kind(key) != Config::Kind::null) {
        flat = true;
      }
    }
    if (flat) ropes_.push_back({at(object), "", !replaced && !unread});
    replaced = !names.empty() && !reads_by_kind() && !unread;
  }
}

std::string FileView::type_of(const RopeDictionary& dict) const {
  // Over a class's own rope_type: default (type-unread-by-kind).
  const bool type_unread = reads_by_kind() && dict.key == at("rope_scaling") && !has("rope_parameters");
  for (const std::string_view name : {"rope_type", "type"}) {
    if (type_unread && name == "type") continue;
    if (const auto word = leniently([&] { return config_.text(text(dict.key, ".", name)); })) return *word;
  }
  return "default";
}
std::optional<double> FileView::number(const RopeDictionary& dict, std::string_view name) const {
  return leniently([&] { return config_.number(text(dict.key, ".", name)); });
}
bool FileView::has(const RopeDictionary& dict, std::string_view name) const {
  return config_.has(text(dict.key, ".", name));
}
bool FileView::reads_by_kind() const {
  return family_ &&
         (family_->rope.dicts == RopeDicts::by_kind || family_->rope.dicts == RopeDicts::both_kinds);
}

bool FileView::scales(const RopeDictionary& dict) const {
  const std::string type = type_of(dict);
  return type != "default" && type != "mrope" && type != "axial";
}
bool FileView::switches_window() const {
  return family_ && (!family_->windows.use_key.empty() || family_->name == "qwen3_moe");
}

std::optional<std::int64_t> FileView::head_dim() const {
  const auto possible = [](std::optional<std::int64_t> x) { return x && *x > 0 ? x : std::nullopt; };
  if (gguf_) return possible(whole("attention.key_length"));
  if (has("qk_rope_head_dim")) return possible(whole("qk_rope_head_dim"));
  if (has("head_dim")) return possible(whole("head_dim"));
  if (family_ && family_->sizes.head_dim) return family_->sizes.head_dim;
  const SizeKeys keys = family_ ? family_->keys : SizeKeys{};
  const auto width = whole(keys.width), heads = whole(keys.heads);
  if (!width || !heads || *heads <= 0 || *width % *heads) return std::nullopt;
  return possible(*width / *heads);
}
std::optional<std::int64_t> FileView::longest() const {
  if (gguf_) return whole("context_length");
  return whole(family_ ? family_->keys.longest : "max_position_embeddings");
}
std::optional<std::int64_t> FileView::layers() const {
  if (gguf_) return whole("block_count");
  return whole(family_ ? family_->keys.layers : "num_hidden_layers");
}

}  // namespace gnomon
