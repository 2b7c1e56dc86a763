#include "gnomon/models/resolve/layers.h"

#include <algorithm>

#include "gnomon/core/error.h"
#include "gnomon/core/readable.h"
#include "gnomon/core/text.h"
#include "gnomon/models/resolve/layer_lists.h"
#include "gnomon/models/resolve/layer_overrides.h"
#include "gnomon/models/resolve/sizes.h"

namespace gnomon {
namespace {

constexpr std::string_view kTypes = "layer_types";

}  // namespace

bool attends(std::string_view type) {
  constexpr std::string_view kNone[] = {"linear_attention", "conv", "cross_attention", "moe", "mlp"};
  return std::find(std::begin(kNone), std::end(kNone), type) == std::end(kNone);
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
    for (std::size_t l = 0; l < kinds_.size(); ++l) limits(l);
    windows_by_layer();
    without_position();
    unscaled_layers();
    listed_rotations();
    read_layer_heads(file_, family_, sizes_, kinds_);
    return std::move(kinds_);
  }

 private:
  using Which = WindowRule::Which;

  void types() {
    if (windows_.typed && file_.has(windows_.types_key)) return named_types(windows_.types_key);
    if (windows_.typed && windows_.types_key != kTypes && file_.has(kTypes)) return named_types(kTypes);
    if (!windows_.repeated_key.empty() && file_.has(windows_.repeated_key)) return repeated_types();
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
      case Which::before_layer:
        by_layer();
        break;
      case Which::ends:
        ends();
        break;
      case Which::without_position:  // known no sooner than what turns: listed()
        break;
    }
  }
  void named_types(std::string_view key) {
    const auto types = *file_.texts(key);
    const auto more =
        windows_.more_key.empty() ? std::nullopt : file_.whole(windows_.more_key, 0, most::layers);
    if (types.size() != kinds_.size() && types.size() != kinds_.size() + std::size_t(more.value_or(0)))
      file_.wrong(key,
                  text("a list of ", kinds_.size(), " layer types, one for each layer, not ", types.size()));
    for (std::size_t l = 0; l < kinds_.size(); ++l) {
      kinds_[l].type = current_word(types[l]);
      if (kinds_[l].type == "full_attention" && !windows_.full_means.empty())
        kinds_[l].type = windows_.full_means;
      say(l, "kind", kinds_[l].type, file_.at(key), "one for each layer");
    }
  }
  void repeated_types() {
    const auto types = repeated_words(file_, windows_.repeated_key);
    if (types.size() != kinds_.size())
      file_.wrong(windows_.repeated_key, text("lists that name ", kinds_.size(), " layers together"));
    for (std::size_t l = 0; l < types.size(); ++l) {
      kinds_[l].type = current_word(types[l]);
      say(l, "kind", kinds_[l].type, file_.at(windows_.repeated_key), "its lists, one after the other");
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
      case 'k':
        return "cross_attention";
      case 'm':
        return "moe";
      case 'r':
        return "reference_sliding_attention";
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
    const std::int64_t at = full_of(every), first = dense_first();
    const auto before = first + std::int64_t(windows_.start.size());
    const std::string from = windows_.from_end ? ", counted from the last"
                             : at == every - 1 ? ""
                             : at == 0         ? ", starting with the first"
                                               : text(", starting with layer ", before + at);
    const std::string which = text("every ", ordinal(every), " layer has ", windows_.full, from,
                                   key.empty() ? ": default of the class" : "");
    for (std::int64_t l = first; l < sizes_.layers; ++l) {
      const std::int64_t place = windows_.from_end ? sizes_.layers - 1 - l : l - before;
      if (l < before) {
        kinds_[std::size_t(l)].type = word_of(windows_.start[std::size_t(l - first)]);
        say(std::size_t(l), "kind", kinds_[std::size_t(l)].type, key, "the first layers of the class");
      } else {
        full_or_other(l, place % every == at, key, which);
      }
    }
    if (windows_.last_full && kinds_.back().type != "full_attention")
      full_or_other(sizes_.layers - 1, true, "", "the last layer has full attention: default of the class");
  }
  void ends() {
    if (!file_.flag(windows_.use_key).value_or(true)) return;
    const std::string key = file_.has(windows_.use_key) ? file_.at(windows_.use_key) : "";
    for (const std::int64_t l : {std::int64_t(0), sizes_.layers - 1}) {
      kinds_[std::size_t(l)].because.clear();  // of a single layer
      full_or_other(l, false, key, "the first layer and the last: fixed by the class");
    }
  }
  std::int64_t full_of(std::int64_t every) {
    if (windows_.at_key.empty()) return windows_.full_at ? every - 1 : 0;
    return file_.whole(windows_.at_key, 0, every - 1).value_or(windows_.at);
  }
  void full_or_other(std::int64_t l, bool full, const std::string& key, std::string rule) {
    LayerKind& kind = kinds_[std::size_t(l)];
    kind.type = full ? windows_.full : windows_.other;
    say(std::size_t(l), "kind", kind.type, key, std::move(rule));
  }
  // The dense layers before a mixture of experts: how many, after they have their kinds.
  std::int64_t dense_first() {
    const DenseFirst& own = family_.dense_first;
    if (own.count_key.empty()) return 0;
    const std::int64_t count =
        std::min(file_.whole(own.count_key, 0, most::layers).value_or(0), sizes_.layers);
    const std::int64_t every = file_.whole(own.every_key, 1, most::layers).value_or(1);
    for (std::int64_t l = 0; l < count; ++l)
      full_or_other(l, (l + 1) % every == 0, file_.at(own.count_key),
                    text("of the first, dense layers every ", ordinal(every), " has full attention"));
    return count;
  }
  // Whether this layer is one of them and turns, although it sees everything.
  bool turns_as_dense(std::size_t l) {
    const DenseFirst& own = family_.dense_first;
    if (own.count_key.empty() || file_.whole(own.every_key, 1, most::layers).value_or(1) != 1) return false;
    if (file_.kind(own.kinds_key) != Config::Kind::list)
      return std::int64_t(l) < file_.whole(own.count_key, 0, most::layers).value_or(0);
    const auto kinds = *file_.texts(own.kinds_key);
    return l < kinds.size() && kinds[l] == "dense";
  }
  void each_named() {  // as in GGUF: true where a layer has a window
    const auto slides = *file_.flags(windows_.every_key);
    if (slides.size() != kinds_.size())
      file_.wrong(windows_.every_key, text("a list of ", kinds_.size(), " flags, one for each layer"));
    for (std::size_t l = 0; l < slides.size(); ++l) {
      kinds_[l].type = slides[l] ? windows_.other : "full_attention";
      say(l, "kind", kinds_[l].type, file_.at(windows_.every_key), "one for each layer");
    }
  }
  bool used() { return windows_.use_key.empty() || file_.flag(windows_.use_key).value_or(false); }
  void by_layer() {
    const bool before = windows_.which == Which::before_layer;
    const std::int64_t number = file_.whole("max_window_layers", 0, 1 << 20).value_or(windows_.every);
    for (std::int64_t l = before ? 0 : number;
         used() && l < (before ? std::min(number, sizes_.layers) : sizes_.layers); l += before ? 2 : 1) {
      kinds_[std::size_t(l)].type = "sliding_attention";
      say(std::size_t(l), "kind", "sliding_attention", file_.at("max_window_layers"),
          before ? "every second layer before this number, from the first on" : "layers from this number on");
    }
  }

  void limits(std::size_t l) {
    LayerKind& kind = kinds_[l];
    const bool slides = kind.type == "sliding_attention" || kind.type == "hybrid_sliding";
    if (slides || (windows_.full_slides && kind.type == "full_attention")) window(l);
    if (kind.type == "chunked_attention") chunk(kind);
    if (kind.type == "reference_sliding_attention") reference(kind);
  }
  // Every key of the prompt stays: no mask says so, for it depends on where the prompt ends.
  void reference(LayerKind& kind) {
    const auto own = file_.whole(windows_.key, 1, most::tokens);
    kind.because.push_back({"window", text(own.value_or(windows_.standard)),
                            own ? file_.at(windows_.key) : "",
                            "of the tokens that the model makes; it sees the whole prompt"});
  }
  void window(std::size_t l) {
    LayerKind& kind = kinds_[l];
    if (windows_.unused_is_none && !used()) return;
    const auto [key, own, said] = said_window(file_, windows_, l, kinds_.size());
    std::int64_t tokens = windows_.fixed ? windows_.fixed : said ? own : windows_.standard;
    if (tokens == 0) return;
    std::string rule = windows_.fixed ? "fixed by the class, whatever the file says"
                       : said         ? "a query sees keys nearer than this"
                                      : "no key sets it: default of the class";
    if (key == windows_.beside_key) tokens += 1, rule = "so many tokens before the query, and the query";
    if (windows_.divisor != 1 || windows_.more) {
      tokens = tokens / windows_.divisor + windows_.more;
      rule = text(windows_.divisor == 1 ? "as far" : "half of it", " on each side, and the query");
    }
    if (windows_.two_sided_more && two_sided(file_, family_))
      tokens = tokens / 2 + windows_.two_sided_more, rule = "half of it on each side";
    if (windows_.split) {
      kind.after = tokens / 2 + 1 == (tokens + 1) / 2 ? 0 : tokens / 2 + 1;
      tokens = (tokens + 1) / 2, rule = "half of it on each side; of an even number one key more after it";
    }
    kind.window = tokens;
    kind.because.push_back({"window", text(tokens), said ? file_.at(key) : "", rule});
  }
  // NeoMME: windows in the objects of layers, or a longer one in every second layer that has any.
  void windows_by_layer() {
    if (windows_.second == 0) return;
    const bool said = file_.kind("per_layer_config") != Config::Kind::absent;
    const auto objects = layer_overrides(file_, sizes_.layers);
    std::size_t before = 0;
    for (std::size_t l = 0; l < kinds_.size(); ++l) {
      const std::string key = text(objects[l], ".", windows_.key);
      if (!said && kinds_[l].window && before++ % 2)
        own_window(l, windows_.second, "", "no key sets it: every second layer with a window has this one");
      if (!objects[l].empty() && file_.kind(key) != Config::Kind::absent) {
        own_window(l, file_.whole(key, 1, most::tokens).value_or(0), file_.at(key), "for this layer");
      } else if (said && !kinds_[l].window) {
        window(l);
      }
    }
  }
  void own_window(std::size_t l, std::int64_t value, std::string key, std::string_view rule) {
    auto& because = kinds_[l].because;
    std::erase_if(because, [](const Because& b) { return b.what == "window"; });
    kinds_[l].window = value ? value / windows_.divisor + windows_.more : 0;
    say(l, "window", value ? text(kinds_[l].window) : "none", std::move(key), std::string(rule));
  }
  void chunk(LayerKind& kind) {
    const auto own = file_.whole("attention_chunk_size", 1, most::tokens);
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
          if (kinds_[l].full() && !turns_as_dense(l))
            nowhere(l, "", "layers with full attention have no RoPE in this family");
        break;
      case NoPosition::listed:
        listed();
        break;
      case NoPosition::theta_zero:
      case NoPosition::theta_zero_or_end:
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
    return key.empty() ? 0 : std::size_t(file_.whole(key, 0, most::layers).value_or(0));
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
      if (!file_.has("layer_types")) sees_by_turning(l);
    }
  }
  // Llama 4 and SmolLM3 derive what a layer sees from the same list.
  void sees_by_turning(std::size_t l) {
    LayerKind& kind = kinds_[l];
    if (windows_.chunk && kind.position) kind.type = "chunked_attention", chunk(kind);
    if (windows_.which != Which::without_position || kind.position || !used() || !file_.has(windows_.key))
      return;
    kind.type = "sliding_attention";
    kind.because.push_back(
        {"kind", kind.type, file_.at(windows_.use_key), "layers without RoPE have the window"});
    window(l);
  }
  void theta_zero() {
    const bool or_end = family_.no_position == NoPosition::theta_zero_or_end;
    const auto list = file_.numbers("layer_rope_theta");
    for (std::int64_t l = sizes_.layers - 1; or_end && !list && l >= 0; l -= 4)
      nowhere(std::size_t(l), "", "no key sets it: every fourth layer, from the last one on, has no RoPE");
    if (!list) return;
    if (list->size() != kinds_.size())
      file_.wrong("layer_rope_theta",
                  text("a list of ", kinds_.size(), " numbers, one for each layer, not ", list->size()));
    for (std::size_t l = 0; l < kinds_.size(); ++l) {
      if ((*list)[l] == 0) {
        nowhere(l, file_.at("layer_rope_theta"), "0: no RoPE");
      } else if (!or_end) {
        kinds_[l].theta = (*list)[l], kinds_[l].theta_key = "layer_rope_theta";
      }
    }
  }

  // Molmo 2: a list of the layers that the dictionary is for.
  void unscaled_layers() {
    const std::string_view key = family_.rope.scaled_key;
    const auto list = key.empty() ? std::nullopt : file_.wholes(key);
    for (std::size_t l = 0; list && l < kinds_.size(); ++l)
      kinds_[l].unscaled = std::find(list->begin(), list->end(), std::int64_t(l)) == list->end();
  }
  // Step: bases and shares in lists; the first layer of a kind counts for all of it.
  void listed_rotations() {
    if (family_.rope.dicts != RopeDicts::listed) return;
    std::vector<std::string> types;
    for (const LayerKind& kind : kinds_) types.push_back(kind.type);
    if (has_dictionaries(file_, types)) return;
    const auto thetas = one_each(family_.rope.theta_key), shares = one_each(family_.rope.shares_key);
    for (std::size_t l = 0; l < kinds_.size(); ++l) {
      const auto first = std::size_t(std::find(types.begin(), types.end(), types[l]) - types.begin());
      if (!thetas.empty()) kinds_[l].theta = thetas[first], kinds_[l].theta_key = family_.rope.theta_key;
      if (!shares.empty()) kinds_[l].share = shares[first];
    }
  }
  // A number for each layer, and perhaps for layers after them; empty: the file has no such list.
  std::vector<double> one_each(std::string_view key) {
    if (key.empty() || file_.kind(key) != Config::Kind::list) return {};
    const auto list = *file_.numbers(key);
    if (list.size() < kinds_.size())
      file_.wrong(key, text("a list of ", kinds_.size(), " numbers, one for each layer"));
    return list;
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

bool has_dictionaries(FileReading& file, const std::vector<std::string>& kinds) {
  return std::all_of(kinds.begin(), kinds.end(), [&](const std::string& kind) {
    return file.kind(text("rope_parameters.", kind)) == Config::Kind::object;
  });
}

std::vector<LayerKind> read_layers(FileReading& file, const Family& family, const Sizes& sizes) {
  return LayerReader(file, family, sizes).read();
}

}  // namespace gnomon
