#include "gnomon/families/layers.h"

#include <algorithm>

#include "gnomon/core/error.h"
#include "gnomon/core/text.h"

namespace gnomon {
namespace {

constexpr std::int64_t kMostLayers = 4096, kMostHeads = 65536, kMostWidth = 1 << 24,
                       kMostTokens = 1'000'000'000;

class SizeReader {
 public:
  SizeReader(Reading& file, std::vector<Because>& because) : file_(file), because_(because) {}

  std::int64_t size(std::string_view what, std::string_view key, std::int64_t standard, std::int64_t most) {
    if (const auto x = key.empty() ? std::nullopt : file_.whole(key, 1, most))
      return say(what, *x, file_.at(key), "the file's own");
    return say(what, standard, "", "no key says it: the class's own");
  }
  std::int64_t say(std::string_view what, std::int64_t x, std::string key, std::string rule) {
    because_.push_back({std::string(what), text(x), std::move(key), std::move(rule)});
    return x;
  }

 private:
  Reading& file_;
  std::vector<Because>& because_;
};

}  // namespace

Sizes read_sizes(Reading& file, const Family& family, std::vector<Because>& because) {
  const SizeKeys& keys = family.keys;
  const Sizes& own = family.sizes;
  SizeReader read(file, because);
  Sizes s;
  s.width = read.size("width", keys.width, own.width, kMostWidth);
  s.layers = read.size("layers", keys.layers, own.layers, kMostLayers);
  s.heads = read.size("heads", keys.heads, own.heads, kMostHeads);
  if (!file.has(keys.kv_heads) && own.kv_heads == 0) {
    s.kv_heads = read.say("kv_heads", s.heads, "", "no key says it: as many as heads");
  } else {
    s.kv_heads = read.size("kv_heads", keys.kv_heads, own.kv_heads, kMostHeads);
  }
  if (!file.has(keys.head_dim) && own.head_dim == 0) {
    if (s.width < s.heads) file.wrong(keys.width, text("as many as heads or more, ", s.heads));
    s.head_dim = read.say("head_dim", s.width / s.heads, "", text(keys.width, " / ", keys.heads));
  } else {
    s.head_dim = read.size("head_dim", keys.head_dim, own.head_dim, kMostHeads);
  }
  if (own.longest || file.has(keys.longest))
    s.longest = read.size("longest", keys.longest, own.longest, kMostTokens);
  return s;
}

namespace {

class LayerReader {
 public:
  LayerReader(Reading& file, const Family& family, const Sizes& sizes)
      : file_(file),
        windows_(family.windows),
        family_(family),
        sizes_(sizes),
        kinds_(std::size_t(sizes.layers)) {}

  std::vector<LayerKind> read() {
    types();
    for (LayerKind& kind : kinds_) limits(kind);
    without_position();
    return std::move(kinds_);
  }

 private:
  using Which = Windows::Which;

  void types() {
    if (windows_.typed && file_.has("layer_types")) return named_types();
    switch (windows_.which) {
      case Which::none:
        break;
      case Which::all:
        for (LayerKind& kind : kinds_) kind.type = "sliding_attention";
        break;
      case Which::all_but:
        all_but();
        break;
      case Which::from_layer:
        from_layer();
        break;
    }
  }
  void named_types() {
    const auto types = *file_.texts("layer_types");
    if (types.size() != kinds_.size())
      file_.wrong("layer_types",
                  text("a list of ", kinds_.size(), " kinds, one for each layer, not ", types.size()));
    for (std::size_t l = 0; l < types.size(); ++l) {
      kinds_[l].type = types[l] == "attention" ? "full_attention" : types[l];  // an older word
      say(l, "kind", kinds_[l].type, file_.at("layer_types"), "one for each layer");
    }
  }
  void all_but() {
    std::int64_t every = windows_.every;
    std::string key;
    if (!windows_.every_key.empty()) {
      if (const auto x = file_.whole(windows_.every_key, 1, 4096))
        every = *x, key = file_.at(windows_.every_key);
    }
    const std::int64_t at = windows_.full_at ? every - 1 : 0;
    for (std::int64_t l = 0; l < sizes_.layers; ++l) {
      const bool full = l % every == at;
      kinds_[std::size_t(l)].type = full ? "full_attention" : "sliding_attention";
      say(std::size_t(l), "kind", kinds_[std::size_t(l)].type, key,
          text("every ", every, "th layer sees everything", at ? "" : ", from the first",
               key.empty() ? ": the class's own" : ""));
    }
  }
  void from_layer() {
    const bool used = file_.flag("use_sliding_window").value_or(false);
    const std::int64_t first = file_.whole("max_window_layers", 0, 1 << 20).value_or(28);
    for (std::int64_t l = 0; l < sizes_.layers; ++l) {
      if (!used || l < first) continue;
      kinds_[std::size_t(l)].type = "sliding_attention";
      say(std::size_t(l), "kind", "sliding_attention", file_.at("max_window_layers"),
          "layers from this one on");
    }
  }

  void limits(LayerKind& kind) {
    if (kind.type != "sliding_attention" && kind.type != "hybrid_sliding") return;
    if (windows_.which == Which::from_layer && !file_.flag("use_sliding_window").value_or(false)) return;
    std::string key = file_.at(windows_.key);
    std::string rule = "keys nearer than this";
    const auto own = file_.whole(windows_.key, 1, kMostTokens);
    const bool said = file_.kind(windows_.key) != Config::Kind::absent;  // null: none
    kind.window = own ? *own : said ? 0 : windows_.standard;
    if (kind.window == 0) return;
    if (!said) key.clear(), rule = "no key says it: the class's own";
    kind.because.push_back({"window", text(kind.window), key, rule});
  }

  void without_position() {}

  void say(std::size_t l, std::string_view what, std::string value, std::string key, std::string rule) {
    kinds_[l].because.push_back({std::string(what), std::move(value), std::move(key), std::move(rule)});
  }

  Reading& file_;
  const Windows& windows_;
  [[maybe_unused]] const Family& family_;
  const Sizes& sizes_;
  std::vector<LayerKind> kinds_;
};

}  // namespace

std::vector<LayerKind> read_layers(Reading& file, const Family& family, const Sizes& sizes) {
  return LayerReader(file, family, sizes).read();
}

}  // namespace gnomon
