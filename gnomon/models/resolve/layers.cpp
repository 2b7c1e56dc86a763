#include "gnomon/models/resolve/layers.h"

#include <algorithm>

#include "gnomon/core/error.h"
#include "gnomon/core/readable.h"
#include "gnomon/core/text.h"

namespace gnomon {
namespace {

constexpr std::string_view kTypes = "layer_types";
constexpr std::int64_t kMostLayers = 4096, kMostHeads = 65536, kMostWidth = 1 << 24,
                       kMostTokens = 1'000'000'000;

class SizeReader {
 public:
  SizeReader(FileReading& file, std::vector<Because>& because) : file_(file), because_(because) {}

  std::int64_t size(std::string_view what, std::string_view key, std::int64_t standard, std::int64_t most) {
    if (const auto x = key.empty() ? std::nullopt : file_.whole(key, 1, most))
      return say(what, *x, file_.at(key), "from the file");
    if (standard == 0) file_.wrong(key, "a whole number: it has no default");
    return say(what, standard, "", "no key sets it: default of the class");
  }
  // The same, of a size that the class also has under a common name, which wins (its attribute_map).
  std::int64_t size_by(std::string_view common, std::string_view what, std::string_view key,
                       std::int64_t standard, std::int64_t most) {
    if (common == key) return size(what, key, standard, most);
    if (const auto x = file_.whole(common, 1, most))
      return say(what, *x, file_.at(common), text("another name of ", key, " (attribute_map)"));
    return size(what, key, standard, most);
  }
  std::int64_t say(std::string_view what, std::int64_t x, std::string key, std::string rule) {
    because_.push_back({std::string(what), text(x), std::move(key), std::move(rule)});
    return x;
  }
  // The same, by a rule of the class from what the key says.
  std::int64_t derive(std::string_view what, std::int64_t x, std::string key, std::string rule) {
    say(what, x, std::move(key), std::move(rule));
    because_.back().follows = true;
    return x;
  }

 private:
  FileReading& file_;
  std::vector<Because>& because_;
};

// The head of q·k: what carries no position, and the slice that turns.
std::int64_t mla_head(FileReading& file, const Mla& mla, SizeReader& read) {
  const std::int64_t nope = file.whole("qk_nope_head_dim", 0, kMostHeads).value_or(mla.nope);
  const std::int64_t rope = slice_of(file, mla);
  if (nope + rope < 1) file.wrong("qk_rope_head_dim", "a head of at least one channel");
  return read.say("head_dim", nope + rope, file.at("qk_rope_head_dim"),
                  "qk_nope_head_dim + qk_rope_head_dim");
}

// As many as the number, the list or the letters say.
std::int64_t layer_count(FileReading& file, const Family& family, SizeReader& read) {
  const WindowRule& windows = family.windows;
  const std::int64_t own = family.sizes.layers;
  for (const std::string_view key : {windows.types_key, kTypes})
    if (windows.counted && file.kind(key) == Config::Kind::list)
      return read.say("layers", std::int64_t(file.texts(key)->size()), file.at(key),
                      "one kind for each layer");
  if (windows.counted && file.has(windows.letters_key))
    return read.say("layers", std::int64_t(file.text(windows.letters_key)->size()),
                    file.at(windows.letters_key), "one letter for each layer");
  if (windows.counted) return read.say("layers", own, "", "no key lists the kinds: default of the class");
  const std::string_view common = SizeKeys{}.layers, key = family.keys.layers;
  if (family.attentions == 1) return read.size_by(common, "layers", key, own, kMostLayers);
  const std::string rule = text(family.attentions, " attentions in each layer, counted as layers");
  if (const auto all = file.whole(common, family.attentions, kMostLayers))
    return read.derive("layers", *all / family.attentions * family.attentions, file.at(common), rule);
  const auto said = file.whole(key, 1, kMostLayers);
  return read.derive("layers", family.attentions * said.value_or(own), said ? file.at(key) : "", rule);
}

// JetMoE: each KV head serves one query head of every chosen expert.
std::int64_t heads_of_groups(FileReading& file, const Family& family, std::int64_t kv_heads,
                             SizeReader& read) {
  const auto said = file.whole(family.per_kv_key, 1, 1024);
  return read.derive(
      "heads", kv_heads * said.value_or(family.per_kv), said ? file.at(family.per_kv_key) : "",
      text(said.value_or(family.per_kv), " for each KV head, whatever ", family.keys.heads, " says"));
}

// configuration_utils.py, _LEGACY_LAYER_TYPE_REMAP, and Recurrent Gemma's and Jamba's own words.
std::string current_word(const std::string& word) {
  if (word == "attention") return "full_attention";
  if (word == "mamba" || word == "recurrent") return "linear_attention";
  return word == "deepseek_sparse_attention" || word == "qwen_sparse_attention" ? "indexed_attention" : word;
}

}  // namespace

std::int64_t slice_of(FileReading& file, const Mla& mla) {
  return file.whole("qk_rope_head_dim", 0, kMostHeads).value_or(mla.rope);
}

bool attends(std::string_view type) {
  constexpr std::string_view kNone[] = {"linear_attention", "conv", "moe", "mlp"};
  return std::find(std::begin(kNone), std::end(kNone), type) == std::end(kNone);
}

bool says_two_sided(FileReading& file, const Family& family) {
  if (family.two_sided_key.empty()) return false;
  switch (file.kind(family.two_sided_key)) {
    case Config::Kind::flag:
      return *file.flag(family.two_sided_key);
    case Config::Kind::text:
      return *file.text(family.two_sided_key) == "all";
    default:
      return false;
  }
}
bool two_sided(FileReading& file, const Family& family) {
  return !family.causal || (says_two_sided(file, family) && !family.two_sided_by_kernel);
}

namespace {

// Heads, and how wide one is.
void read_heads(FileReading& file, const Family& family, SizeReader& read, Sizes& s) {
  const SizeKeys& keys = family.keys;
  const Sizes& own = family.sizes;
  if (family.per_kv_key.empty())
    s.heads = read.size_by(SizeKeys{}.heads, "heads", keys.heads, own.heads, kMostHeads);
  if (!keys.kv_heads.empty() && file.kind(keys.kv_heads) == Config::Kind::null) {
    s.kv_heads = read.derive("kv_heads", s.heads, file.at(keys.kv_heads), "null: as many as heads");
  } else if (keys.kv_heads.empty() || (!file.has(keys.kv_heads) && own.kv_heads == 0)) {
    s.kv_heads = read.say("kv_heads", s.heads, "", "no key sets it: as many as heads");
  } else {
    s.kv_heads = read.size("kv_heads", keys.kv_heads, own.kv_heads, kMostHeads);
  }
  if (!family.per_kv_key.empty()) s.heads = heads_of_groups(file, family, s.kv_heads, read);
  if (family.mla.present()) {
    s.head_dim = mla_head(file, family.mla, read);
  } else if (family.head_by_width || (!file.has(keys.head_dim) && own.head_dim == 0)) {
    if (s.width < s.heads) file.wrong(keys.width, text("at least the number of heads, ", s.heads));
    const std::string times = family.head_times == 1 ? "" : text(family.head_times, " * ");
    s.head_dim = read.say(
        "head_dim", family.head_times * s.width / s.heads, "",
        text(times, keys.width, " / ", keys.heads, family.head_by_width ? ", whatever the file says" : ""));
  } else {
    s.head_dim = read.size("head_dim", keys.head_dim, own.head_dim, kMostHeads);
  }
}

}  // namespace

Sizes read_sizes(FileReading& file, const Family& family, std::vector<Because>& because) {
  const SizeKeys& keys = family.keys;
  const Sizes& own = family.sizes;
  SizeReader read(file, because);
  Sizes s;
  const SizeKeys common;
  const std::string_view width = width_key(keys, [&](std::string_view key) { return file.has(key); });
  s.width = width == keys.first_width
                ? read.size("width", width, own.width, kMostWidth)
                : read.size_by(common.width, "width", keys.width, own.width, kMostWidth);
  s.layers = layer_count(file, family, read);
  if (family.method != Method::recurrence) read_heads(file, family, read, s);
  // MPT has no second name for max_seq_len.
  const std::string_view longest = keys.longest == "n_positions" ? common.longest : keys.longest;
  if (own.longest || file.has(keys.longest) || file.has(longest))
    s.longest = read.size_by(longest, "longest", keys.longest, own.longest, kMostTokens);
  return s;
}

namespace {

class LayerReader {
 public:
  LayerReader(FileReading& file, const Family& family, const Sizes& sizes)
      : file_(file),
        windows_(family.windows),
        family_(family),
        sizes_(sizes),
        kinds_(std::size_t(sizes.layers)) {}

  std::vector<LayerKind> read() {
    if (!windows_.use_key.empty()) file_.has(windows_.key);  // read, if only to be switched off
    types();
    for (LayerKind& kind : kinds_) limits(kind);
    without_position();
    return std::move(kinds_);
  }

 private:
  using Which = WindowRule::Which;

  void types() {
    if (windows_.typed && file_.has(windows_.types_key)) return named_types(windows_.types_key);
    if (windows_.typed && windows_.types_key != kTypes && file_.has(kTypes)) return named_types(kTypes);
    if (!windows_.letters_key.empty() && file_.has(windows_.letters_key)) return lettered_types();
    if (!windows_.full_key.empty() && file_.kind(windows_.full_key) == Config::Kind::list)
      return listed_types(windows_.full_key, windows_.full, windows_.other);
    if (!windows_.other_key.empty() && file_.kind(windows_.other_key) == Config::Kind::list)
      return listed_types(windows_.other_key, windows_.other, windows_.full);
    if (!windows_.cycle_key.empty() && file_.has(windows_.cycle_key)) return cycled_types();
    switch (windows_.which) {
      case Which::none:
        break;
      case Which::all:
        for (LayerKind& kind : kinds_) kind.type = "sliding_attention";
        break;
      case Which::all_but:
        all_but();
        break;
      case Which::pattern:
        pattern();
        break;
      case Which::from_layer:
        from_layer();
        break;
      case Which::without_position:  // known no sooner than what turns: listed()
        break;
    }
  }
  void named_types(std::string_view key) {
    const auto types = *file_.texts(key);
    if (types.size() != kinds_.size())
      file_.wrong(key,
                  text("a list of ", kinds_.size(), " layer types, one for each layer, not ", types.size()));
    for (std::size_t l = 0; l < types.size(); ++l) {
      kinds_[l].type = current_word(types[l]);
      if (kinds_[l].type == "full_attention" && !windows_.full_means.empty())
        kinds_[l].type = windows_.full_means;
      say(l, "kind", kinds_[l].type, file_.at(key), "one for each layer");
    }
  }
  void cycled_types() {
    const auto cycle = *file_.texts(windows_.cycle_key);
    if (cycle.empty()) file_.wrong(windows_.cycle_key, "a list of at least one kind");
    for (std::size_t l = 0; l < kinds_.size(); ++l) {
      const std::string& word = cycle[l % cycle.size()];
      kinds_[l].type = word == "attention" ? "sliding_attention" : current_word(word);
      say(l, "kind", kinds_[l].type, file_.at(windows_.cycle_key), "the kinds of the list, again and again");
    }
  }
  // Nemotron-H: M, E, * and -.
  void lettered_types() {
    const std::string letters = *file_.text(windows_.letters_key);
    if (letters.size() != kinds_.size())
      file_.wrong(windows_.letters_key, text("one letter for each of ", kinds_.size(), " layers"));
    for (std::size_t l = 0; l < letters.size(); ++l) {
      const char c = letters[l];
      kinds_[l].type = word_of(c == '*' ? 'f' : c == 'M' ? 'l' : c == 'E' ? 'm' : 'x');
      say(l, "kind", kinds_[l].type, file_.at(windows_.letters_key), "one letter for each layer");
    }
  }
  void listed_types(std::string_view key, std::string_view listed, std::string_view others) {
    const auto list = *file_.wholes(key);
    for (std::size_t l = 0; l < kinds_.size(); ++l) {
      const std::int64_t number = std::int64_t(l) + windows_.full_from;
      const bool in = std::find(list.begin(), list.end(), number) != list.end();
      kinds_[l].type = in ? listed : others;
      say(l, "kind", kinds_[l].type, file_.at(key), text("it lists the layers of ", listed));
    }
  }
  static std::string word_of(char letter) {
    switch (letter) {
      case 's':
        return "sliding_attention";
      case 'l':
        return "linear_attention";
      case 'c':
        return "conv";
      case 'h':
        return "hybrid";
      case 'i':
        return "indexed_attention";
      case 'm':
        return "moe";
      case 'x':
        return "mlp";
      default:
        return "full_attention";
    }
  }
  void pattern() {
    const std::string_view start = windows_.start, cycle = windows_.cycle;
    for (std::size_t l = 0; l < kinds_.size(); ++l) {
      const bool last = windows_.last_full && l + 1 == kinds_.size();
      const char letter = last ? 'f' : l < start.size() ? start[l] : cycle[l % cycle.size()];
      kinds_[l].type = word_of(letter);
      say(l, "kind", kinds_[l].type, "", "no key sets it: the pattern of the class");
    }
    const bool none = std::none_of(kinds_.begin(), kinds_.end(),
                                   [](const LayerKind& kind) { return kind.type == "full_attention"; });
    if (!windows_.one_full || !none) return;
    kinds_.back().type = "full_attention", kinds_.back().because.clear();
    say(kinds_.size() - 1, "kind", "full_attention", "", "the last layer has it, because no other has");
  }
  void all_but() {
    if (!windows_.every_key.empty() && file_.kind(windows_.every_key) == Config::Kind::list)
      return each_named();
    std::int64_t every = windows_.every;
    std::string key;
    if (!windows_.every_key.empty()) {
      if (const auto x = file_.whole(windows_.every_key, 1, 4096))
        every = *x, key = file_.at(windows_.every_key);
    }
    const std::int64_t at = full_of(every);
    const auto before = std::int64_t(windows_.start.size());
    const std::string which = text("every ", ordinal(every), " layer has ", windows_.full,
                                   at == every - 1 ? ""
                                   : at == 0       ? ", starting with the first"
                                                   : text(", starting with layer ", before + at),
                                   key.empty() ? ": default of the class" : "");
    for (std::int64_t l = 0; l < sizes_.layers; ++l) {
      LayerKind& kind = kinds_[std::size_t(l)];
      const bool full = (l - before) % every == at;
      kind.type = l < before ? word_of(windows_.start[std::size_t(l)])
                             : std::string(full ? windows_.full : windows_.other);
      say(std::size_t(l), "kind", kind.type, key, l < before ? "the first layers of the class" : which);
    }
  }
  std::int64_t full_of(std::int64_t every) {
    if (windows_.at_key.empty()) return windows_.full_at ? every - 1 : 0;
    return file_.whole(windows_.at_key, 0, every - 1).value_or(windows_.at);
  }
  void each_named() {  // of GGUF: true where a layer has a window
    const auto slides = *file_.flags(windows_.every_key);
    if (slides.size() != kinds_.size())
      file_.wrong(windows_.every_key, text("a list of ", kinds_.size(), " flags, one for each layer"));
    for (std::size_t l = 0; l < slides.size(); ++l) {
      kinds_[l].type = slides[l] ? "sliding_attention" : "full_attention";
      say(l, "kind", kinds_[l].type, file_.at(windows_.every_key), "one for each layer");
    }
  }
  bool used() { return windows_.use_key.empty() || file_.flag(windows_.use_key).value_or(false); }
  void from_layer() {
    const std::int64_t first = file_.whole("max_window_layers", 0, 1 << 20).value_or(28);
    for (std::int64_t l = first; used() && l < sizes_.layers; ++l) {
      kinds_[std::size_t(l)].type = "sliding_attention";
      say(std::size_t(l), "kind", "sliding_attention", file_.at("max_window_layers"),
          "layers from this number on");
    }
  }

  void limits(LayerKind& kind) {
    const bool slides = kind.type == "sliding_attention" || kind.type == "hybrid_sliding";
    if (slides || (windows_.full_slides && kind.type == "full_attention")) window(kind);
    if (kind.type == "chunked_attention") chunk(kind);
  }
  // The key that says how many tokens.
  std::string_view window_key() {
    if (!windows_.beside_key.empty() && file_.has(windows_.beside_key)) return windows_.beside_key;
    const bool spare = !windows_.spare_key.empty() && !file_.has(windows_.key);
    return spare && file_.has(windows_.spare_key) ? windows_.spare_key : windows_.key;
  }
  void window(LayerKind& kind) {
    if (windows_.unused_is_none && !used()) return;
    const std::string_view key = window_key();
    const auto own = file_.whole(key, 1, kMostTokens);
    const bool said = file_.kind(key) != Config::Kind::absent;  // null: none
    std::int64_t tokens = windows_.fixed ? windows_.fixed : own ? *own : said ? 0 : windows_.standard;
    if (tokens == 0) return;
    std::string rule = windows_.fixed ? "fixed by the class, whatever the file says"
                       : said         ? "a query sees keys nearer than this"
                                      : "no key sets it: default of the class";
    if (key == windows_.beside_key) tokens += 1, rule = "so many tokens before the query, and the query";
    if (windows_.divisor != 1)
      tokens = tokens / windows_.divisor + windows_.more, rule = "half of it on each side, and the query";
    if (windows_.two_sided_more && two_sided(file_, family_))
      tokens = tokens / 2 + windows_.two_sided_more, rule = "half of it on each side";
    kind.window = tokens;
    kind.because.push_back({"window", text(tokens), said ? file_.at(key) : "", rule});
  }
  void chunk(LayerKind& kind) {
    const auto own = file_.whole("attention_chunk_size", 1, kMostTokens);
    const bool said = file_.kind("attention_chunk_size") != Config::Kind::absent;
    kind.chunk = own ? *own : said ? 0 : windows_.chunk;
    if (kind.chunk)
      kind.because.push_back({"chunk", text(kind.chunk), said ? file_.at("attention_chunk_size") : "",
                              said ? "from the file" : "no key sets it: default of the class"});
  }

  void without_position() {
    switch (family_.no_position) {
      case NoPosition::never:
        break;
      case NoPosition::always:
        for (std::size_t l = 0; l < kinds_.size(); ++l)
          nowhere(l, "", "this model has no position in its layers");
        break;
      case NoPosition::full:
        for (std::size_t l = 0; l < kinds_.size(); ++l)
          if (kinds_[l].full()) nowhere(l, "", "layers with full attention have no RoPE in this family");
        break;
      case NoPosition::listed:
        listed();
        break;
      case NoPosition::theta_zero:
        theta_zero();
        break;
      case NoPosition::unless_said:
        unless_said();
        break;
      case NoPosition::full_if_windows:
        for (std::size_t l = turning_first(); any_window_key() && l < kinds_.size(); ++l)
          if (kinds_[l].type == "full_attention")
            nowhere(l, file_.at("layer_types"),
                    "other layers have a window, so layers with full attention have no RoPE");
        break;
    }
  }
  void unless_said() {
    const std::string_view key = family_.turning_key;
    const bool said =
        file_.kind(key) == Config::Kind::text ? *file_.text(key) == "rope" : file_.flag(key).value_or(false);
    for (std::size_t l = 0; !said && l < kinds_.size(); ++l)
      nowhere(l, file_.has(key) ? file_.at(key) : "", text("layers turn only where ", key, " says so"));
  }
  std::size_t turning_first() {
    const std::string_view key = family_.turning_first_key;
    return key.empty() ? 0 : std::size_t(file_.whole(key, 0, kMostLayers).value_or(0));
  }
  bool any_window_key() {
    return file_.has(windows_.key) || (file_.kind(windows_.key) == Config::Kind::absent && windows_.standard);
  }
  void nowhere(std::size_t l, std::string key, std::string rule) {
    kinds_[l].position = false;
    say(l, "position", "none", std::move(key), std::move(rule));
  }
  void listed() {
    const auto list = file_.wholes("no_rope_layers");
    const std::int64_t every = file_.whole("no_rope_layer_interval", 1, 1 << 20).value_or(4);
    const bool own = list && !list->empty();
    if (own && list->size() != kinds_.size())
      file_.wrong("no_rope_layers",
                  text("a list of ", kinds_.size(), " numbers, one for each layer, not ", list->size()));
    for (std::size_t l = 0; l < kinds_.size(); ++l) {
      const bool turns = own ? (*list)[l] != 0 : (std::int64_t(l) + 1) % every != 0;
      const bool said = own || file_.has("no_rope_layer_interval");
      const std::string key = own ? "no_rope_layers" : "no_rope_layer_interval";
      if (!turns)
        nowhere(l, said ? file_.at(key) : "",
                own ? "0: no RoPE (1: RoPE)" : text("every ", ordinal(every), " layer has no RoPE"));
      if (!file_.has("layer_types")) sees_by_turning(kinds_[l]);
    }
  }
  // Llama 4 and SmolLM3 derive what a layer sees from the same list.
  void sees_by_turning(LayerKind& kind) {
    if (windows_.chunk && kind.position) kind.type = "chunked_attention", chunk(kind);
    if (windows_.which != Which::without_position || kind.position || !used() || !file_.has(windows_.key))
      return;
    kind.type = "sliding_attention";
    kind.because.push_back(
        {"kind", kind.type, file_.at(windows_.use_key), "layers without RoPE have the window"});
    window(kind);
  }
  void theta_zero() {
    const auto list = file_.numbers("layer_rope_theta");
    if (!list) return;
    if (list->size() != kinds_.size())
      file_.wrong("layer_rope_theta",
                  text("a list of ", kinds_.size(), " numbers, one for each layer, not ", list->size()));
    for (std::size_t l = 0; l < kinds_.size(); ++l) {
      if ((*list)[l] == 0) {
        nowhere(l, file_.at("layer_rope_theta"), "0: no RoPE");
      } else {
        kinds_[l].theta = (*list)[l];
      }
    }
  }

  void say(std::size_t l, std::string_view what, std::string value, std::string key, std::string rule) {
    kinds_[l].because.push_back({std::string(what), std::move(value), std::move(key), std::move(rule)});
  }

  FileReading& file_;
  const WindowRule& windows_;
  const Family& family_;
  const Sizes& sizes_;
  std::vector<LayerKind> kinds_;
};

}  // namespace

std::vector<LayerKind> read_layers(FileReading& file, const Family& family, const Sizes& sizes) {
  std::vector<LayerKind> kinds = LayerReader(file, family, sizes).read();
  read_layer_heads(file, family, sizes, kinds);
  return kinds;
}

}  // namespace gnomon
