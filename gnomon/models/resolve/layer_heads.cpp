#include <algorithm>

#include "gnomon/core/error.h"
#include "gnomon/core/text.h"
#include "gnomon/models/resolve/layer_overrides.h"
#include "gnomon/models/resolve/layers.h"

namespace gnomon {
namespace {

constexpr std::int64_t kMostSize = 65536, kMostLayers = 4096;
constexpr std::string_view kOverrides = "per_layer_config";

class HeadReader {
 public:
  HeadReader(FileReading& file, const Family& family, const Sizes& sizes, std::vector<LayerKind>& kinds)
      : file_(file), family_(family), sizes_(sizes), kinds_(kinds) {}

  void read() {
    last_full();
    const bool said = file_.kind(kOverrides) != Config::Kind::absent;
    if (family_.full.head_dim != 0) said ? by_layer() : full_heads();
    if (family_.sliding.latent != 0) said ? latent_by_layer() : sliding_latent();
    if (family_.sliding.heads != 0 && family_.sliding.latent == 0) sliding_heads();
    more_kv_heads(), listed_heads(), shared_keys(), source_layers();
    if (!family_.indexer.dim_key.empty()) choosing_layers();
  }

 private:
  static bool slides(const LayerKind& kind) {
    return kind.type == "sliding_attention" || kind.type == "hybrid_sliding";
  }

  // Gemma 4: the last layer sees everything, and those that do have a head of another size.
  void last_full() {
    if (!family_.full.last || kinds_.back().type == "full_attention") return;
    kinds_.back().type = "full_attention", kinds_.back().window = 0, kinds_.back().because.clear();
    say(kinds_.size() - 1, "kind", "full_attention", file_.at("layer_types"),
        "the last layer always has full attention");
  }
  void full_heads() {
    const FullHeads& own = family_.full;
    const auto dim = file_.whole(own.head_dim_key, 1, kMostSize);
    const bool shared = file_.flag(own.kv_heads_if).value_or(false);
    const auto kv = shared ? file_.whole(own.kv_heads_key, 1, kMostSize) : std::nullopt;
    for (std::size_t l = 0; l < kinds_.size(); ++l) {
      if (kinds_[l].type != "full_attention") continue;
      kinds_[l].head_dim = dim.value_or(own.head_dim);
      say(l, "head_dim", text(kinds_[l].head_dim), dim ? file_.at(own.head_dim_key) : "",
          dim ? "for layers with full attention"
              : "no key sets it: default of the class for layers with full attention");
      if (!kv) continue;
      kinds_[l].kv_heads = *kv;
      say(l, "kv_heads", text(*kv), file_.at(own.kv_heads_key), "for layers with full attention");
    }
  }
  void by_layer() {
    const auto objects = layer_overrides(file_, sizes_.layers);
    for (std::size_t l = 0; l < kinds_.size(); ++l) {
      if (objects[l].empty()) continue;
      own_size(l, "head_dim", text(objects[l], ".head_dim"), kinds_[l].head_dim);
      own_size(l, "kv_heads", text(objects[l], ".num_key_value_heads"), kinds_[l].kv_heads);
      own_size(l, "heads", text(objects[l], ".num_attention_heads"), kinds_[l].heads);
    }
  }
  void own_size(std::size_t l, std::string_view what, const std::string& key, std::int64_t& size,
                std::int64_t least = 1) {
    if (file_.kind(key) == Config::Kind::absent) return;
    const auto x = file_.whole(key, least, kMostSize);
    if (!x) file_.wrong(key, "a whole number");
    size = *x;
    say(l, what, text(size), file_.at(key), "for this layer");
  }

  // Inkling: layers with a window have heads of their own.
  void sliding_heads() {
    const SlidingHeads& own = family_.sliding;
    for (std::size_t l = 0; l < kinds_.size(); ++l) {
      if (!slides(kinds_[l])) continue;
      of_windows(l, "heads", "swa_num_attention_heads", own.heads, kinds_[l].heads);
      of_windows(l, "kv_heads", "swa_num_key_value_heads", own.kv_heads, kinds_[l].kv_heads);
      of_windows(l, "head_dim", "swa_head_dim", own.head_dim, kinds_[l].head_dim);
    }
  }
  void of_windows(std::size_t l, std::string_view what, std::string_view key, std::int64_t standard,
                  std::int64_t& size) {
    const auto said = file_.whole(key, 1, kMostSize);
    size = said.value_or(standard);
    say(l, what, text(size), said ? file_.at(key) : "",
        said ? "for layers with a window" : "no key sets it: default of the class for layers with a window");
  }

  // Dots: their latent attention has other heads, under keys of its own or in an object for each layer.
  void sliding_latent() {
    const SlidingHeads& own = family_.sliding;
    for (std::size_t l = 0; l < kinds_.size(); ++l) {
      LayerKind& kind = kinds_[l];
      if (!slides(kind)) continue;
      std::int64_t head = 0, nope = 0;
      of_windows(l, "heads", "swa_num_attention_heads", own.heads, kind.heads);
      of_windows(l, "kv_heads", "swa_num_key_value_heads", own.kv_heads, kind.kv_heads);
      of_windows(l, "latent", "swa_kv_lora_rank", own.latent, kind.latent);
      of_windows(l, "value_dim", "swa_v_head_dim", own.value, kind.value_dim);
      of_windows(l, "head_dim", "swa_head_dim", own.head_dim, head);
      of_windows(l, "nope", "swa_qk_nope_head_dim", own.nope, nope);
      kind.slice = file_.whole("swa_qk_rope_head_dim", 0, kMostSize).value_or(head - nope);
      if (kind.slice < 0) file_.wrong("swa_head_dim", text("at least ", nope, ", its part without position"));
      kind.head_dim = nope + kind.slice;
    }
  }
  void latent_by_layer() {
    const auto objects = layer_overrides(file_, sizes_.layers);
    for (std::size_t l = 0; l < kinds_.size(); ++l) {
      const std::string& object = objects[l];
      if (object.empty()) continue;
      LayerKind& kind = kinds_[l];
      own_size(l, "heads", text(object, ".num_attention_heads"), kind.heads);
      own_size(l, "kv_heads", text(object, ".num_key_value_heads"), kind.kv_heads);
      own_size(l, "latent", text(object, ".kv_lora_rank"), kind.latent);
      own_size(l, "value_dim", text(object, ".v_head_dim"), kind.value_dim);
      const std::int64_t slice = slice_of(file_, family_.mla);
      std::int64_t nope = sizes_.head_dim - slice;
      kind.slice = slice;
      own_size(l, "slice", text(object, ".qk_rope_head_dim"), kind.slice, 0);
      own_size(l, "nope", text(object, ".qk_nope_head_dim"), nope, 0);
      kind.head_dim = nope + kind.slice;
    }
  }

  void more_kv_heads() {
    const std::int64_t times = family_.sliding.kv_times;
    for (std::size_t l = 0; times != 1 && l < kinds_.size(); ++l) {
      if (kinds_[l].type != "sliding_attention") continue;
      kinds_[l].kv_heads = times * sizes_.kv_heads;
      say(l, "kv_heads", text(kinds_[l].kv_heads), "",
          text("layers with a window have ", times, " times as many: fixed by the class"));
    }
  }
  void listed_heads() {
    const auto list = family_.heads_list.empty() ? std::nullopt : file_.wholes(family_.heads_list);
    if (!list) return;
    one_each(*list, family_.heads_list);
    for (std::size_t l = 0; l < kinds_.size(); ++l) {
      if ((*list)[l] < 1 || (*list)[l] > kMostSize)
        file_.wrong(family_.heads_list, text("numbers from 1 to ", kMostSize));
      if ((*list)[l] == sizes_.heads) continue;
      kinds_[l].heads = (*list)[l];
      say(l, "heads", text(kinds_[l].heads), file_.at(family_.heads_list), "for this layer");
    }
  }
  void one_each(const std::vector<std::int64_t>& list, std::string_view key) const {
    if (list.size() != kinds_.size())
      file_.wrong(key, text("a list of ", kinds_.size(), " numbers, one for each layer"));
  }

  void shared_keys() {
    if (family_.shared_key.empty()) return;
    const auto said = file_.whole(family_.shared_key, 0, kMostLayers);
    const std::int64_t shared = std::min(said.value_or(family_.shared), sizes_.layers);
    for (std::int64_t l = sizes_.layers - shared; l < sizes_.layers; ++l) {
      kinds_[std::size_t(l)].shares_keys = true;
      say(std::size_t(l), "kept", "none", said ? file_.at(family_.shared_key) : "",
          "the last layers use the keys and values of earlier ones");
    }
  }
  void source_layers() {
    const auto list = family_.source_key.empty() ? std::nullopt : file_.wholes(family_.source_key);
    if (!list) return;
    one_each(*list, family_.source_key);
    for (std::size_t l = 0; l < kinds_.size(); ++l) {
      if ((*list)[l] == std::int64_t(l)) continue;
      kinds_[l].shares_keys = true;
      say(l, "kept", "none", file_.at(family_.source_key),
          text("it uses the keys and values of layer ", (*list)[l]));
    }
  }

  // GLM: an indexer in some layers, whose choice the next ones use.
  void choosing_layers() {
    const Indexer& own = family_.indexer;
    const auto chosen = own.every ? said_choosers() : std::nullopt;
    const bool freely = own.every_said;
    const std::int64_t every =
        freely ? std::max<std::int64_t>(1, file_.whole("index_topk_freq", 0, kMostLayers).value_or(own.every))
               : own.every;
    const std::int64_t from = freely ? file_.whole("index_skip_topk_offset", 0, kMostLayers).value_or(2) : 2;
    for (std::size_t l = 0; l < kinds_.size(); ++l) {
      if (!attends(kinds_[l].type) || slides(kinds_[l])) continue;
      const std::int64_t after = std::max<std::int64_t>(0, std::int64_t(l) - from + 1);
      kinds_[l].chooses_keys = chosen ? (*chosen)[l] : own.every == 0 || after % every == 0;
    }
  }
  // A word for each layer, or a letter.
  std::optional<std::vector<bool>> said_choosers() {
    constexpr std::string_view kWords = "indexer_types", kLetters = "index_topk_pattern";
    const std::string_view key = file_.has(kWords) ? kWords : kLetters;
    if (!file_.has(key)) return std::nullopt;
    std::vector<bool> chosen;
    if (file_.kind(key) == Config::Kind::text) {
      const std::string letters = *file_.text(key);
      for (const char letter : letters) chosen.push_back(letter == 'F');
    } else {
      const std::vector<std::string> words = *file_.texts(key);
      for (const std::string& word : words) chosen.push_back(word == "full");
    }
    if (chosen.size() != kinds_.size())
      file_.wrong(key, text("a word or a letter for each of ", kinds_.size(), " layers"));
    return chosen;
  }

  void say(std::size_t l, std::string_view what, std::string value, std::string key, std::string rule) {
    kinds_[l].because.push_back({std::string(what), std::move(value), std::move(key), std::move(rule)});
  }

  FileReading& file_;
  const Family& family_;
  const Sizes& sizes_;
  std::vector<LayerKind>& kinds_;
};

}  // namespace

void read_layer_heads(FileReading& file, const Family& family, const Sizes& sizes,
                      std::vector<LayerKind>& kinds) {
  HeadReader(file, family, sizes, kinds).read();
}

}  // namespace gnomon
