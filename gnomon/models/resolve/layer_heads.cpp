#include <algorithm>

#include "gnomon/core/text.h"
#include "gnomon/models/resolve/layer_overrides.h"
#include "gnomon/models/resolve/layers.h"
#include "gnomon/models/resolve/sizes.h"

namespace gnomon {
namespace {

class LayerHeads {
 public:
  LayerHeads(FileReading& file, const Family& family, const Sizes& sizes, std::vector<LayerKind>& kinds)
      : file_(file), family_(family), sizes_(sizes), kinds_(kinds) {}

  void read() {
    full_heads();
    sliding_heads();
    listed_heads();
    shared_keys();
  }

 private:
  // Gemma 4: the last layer sees everything, and those that do have a head of another size.
  void full_heads() {
    const FullHeads& own = family_.full;
    if (own.last && kinds_.back().type != "full_attention") {
      kinds_.back().type = "full_attention", kinds_.back().window = 0, kinds_.back().because.clear();
      say(kinds_.size() - 1, "kind", "full_attention", file_.at("layer_types"),
          "the last layer always has full attention");
    }
    const bool by_layer = own.head_dim != 0 || !family_.sliding.heads_key.empty();
    if (by_layer && file_.kind("per_layer_config") != Config::Kind::absent) return heads_by_layer();
    if (own.head_dim == 0) return;
    const auto dim = file_.whole(own.head_dim_key, 1, most::heads);
    const bool fewer =
        !own.kv_heads_key.empty() && (own.kv_heads_if.empty() || file_.flag(own.kv_heads_if).value_or(false));
    const auto said = fewer ? file_.whole(own.kv_heads_key, 1, most::heads) : std::nullopt;
    const std::int64_t kv = said.value_or(own.kv_heads);
    for (std::size_t l = 0; l < kinds_.size(); ++l) {
      if (kinds_[l].type != "full_attention") continue;
      kinds_[l].head_dim = dim.value_or(own.head_dim);
      say(l, "head_dim", text(kinds_[l].head_dim), dim ? file_.at(own.head_dim_key) : "",
          dim ? "for layers with full attention"
              : "no key sets it: default of the class for layers with full attention");
      if (kv == 0) continue;
      kinds_[l].kv_heads = kv;
      say(l, "kv_heads", text(kv), said ? file_.at(own.kv_heads_key) : "", "for layers with full attention");
    }
  }

  void sliding_heads() {
    const std::int64_t times = family_.sliding.kv_times;
    for (std::size_t l = 0; times != 1 && l < kinds_.size(); ++l) {
      if (kinds_[l].type != "sliding_attention") continue;
      kinds_[l].kv_heads = times * sizes_.kv_heads;
      say(l, "kv_heads", text(kinds_[l].kv_heads), "",
          text("layers with a window have ", times, " times as many: fixed by the class"));
    }
    const SlidingHeads& own = family_.sliding;
    const std::string_view key =
        !own.heads_key.empty() && file_.has(own.heads_key) ? own.heads_key : own.older_heads_key;
    const auto heads = key.empty() ? std::nullopt : file_.whole(key, 1, most::heads);
    for (std::size_t l = 0; heads && l < kinds_.size(); ++l) {
      if (kinds_[l].type != "sliding_attention") continue;
      kinds_[l].heads = *heads;
      say(l, "heads", text(*heads), file_.at(key), "for layers with a window");
    }
  }
  void listed_heads() {
    if (const auto list = family_.heads_list.empty() ? std::nullopt : file_.wholes(family_.heads_list)) {
      if (list->size() != kinds_.size())
        file_.wrong(family_.heads_list, text("a list of ", kinds_.size(), " numbers, one for each layer"));
      for (std::size_t l = 0; l < kinds_.size(); ++l) {
        if ((*list)[l] < 1 || (*list)[l] > most::heads)
          file_.wrong(family_.heads_list, text("numbers from 1 to ", most::heads));
        if ((*list)[l] == sizes_.heads) continue;
        kinds_[l].heads = (*list)[l];
        say(l, "heads", text(kinds_[l].heads), file_.at(family_.heads_list), "for this layer");
      }
    }
  }
  // Layers without keys of their own.
  void shared_keys() {
    if (family_.shared_key.empty()) return;
    const auto said = file_.whole(family_.shared_key, 0, most::layers);
    const std::int64_t shared = std::min(said.value_or(family_.shared), sizes_.layers);
    for (std::int64_t l = sizes_.layers - shared; l < sizes_.layers; ++l) {
      kinds_[std::size_t(l)].shares_keys = true;
      say(std::size_t(l), "kept", "none", said ? file_.at(family_.shared_key) : "",
          "the last layers use the keys and values of earlier ones");
    }
  }

  void heads_by_layer() {
    const auto objects = layer_overrides(file_, sizes_.layers);
    for (std::size_t l = 0; l < kinds_.size(); ++l) {
      if (objects[l].empty()) continue;
      own_size(l, "head_dim", text(objects[l], ".head_dim"), kinds_[l].head_dim);
      own_size(l, "kv_heads", text(objects[l], ".num_key_value_heads"), kinds_[l].kv_heads);
      own_size(l, "heads", text(objects[l], ".num_attention_heads"), kinds_[l].heads);
    }
  }
  void own_size(std::size_t l, std::string_view what, const std::string& key, std::int64_t& size) {
    if (file_.kind(key) == Config::Kind::absent) return;
    const auto x = file_.whole(key, 1, most::heads);
    if (!x) file_.wrong(key, "a whole number");
    size = *x;
    say(l, what, text(size), file_.at(key), "for this layer");
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
  LayerHeads(file, family, sizes, kinds).read();
}

}  // namespace gnomon
