#include "gnomon/models/resolve/sizes.h"

#include <algorithm>

#include "gnomon/core/error.h"
#include "gnomon/core/text.h"

namespace gnomon {
namespace {

class SizeReader {
 public:
  SizeReader(FileReading& file, std::vector<Because>& because) : file_(file), because_(because) {}

  std::int64_t size(std::string_view what, std::string_view key, std::int64_t standard, std::int64_t limit) {
    if (const auto x = key.empty() ? std::nullopt : file_.whole(key, 1, limit))
      return say(what, *x, file_.at(key), "from the file");
    if (standard == 0) file_.wrong(key, "a whole number: it has no default");
    return say(what, standard, "", "no key sets it: default of the class");
  }
  // The same, of a size that the class also has under a common name, which wins (its attribute_map).
  std::int64_t size_by(std::string_view common, std::string_view what, std::string_view key,
                       std::int64_t standard, std::int64_t limit) {
    if (common == key) return size(what, key, standard, limit);
    if (const auto x = file_.whole(common, 1, limit))
      return say(what, *x, file_.at(common), text("another name of ", key, " (attribute_map)"));
    return size(what, key, standard, limit);
  }
  std::int64_t say(std::string_view what, std::int64_t x, std::string key, std::string rule) {
    because_.push_back({std::string(what), text(x), std::move(key), std::move(rule)});
    return x;
  }
  // The same, of a key that says another thing.
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
  const std::int64_t nope = file.whole("qk_nope_head_dim", 0, most::heads).value_or(mla.nope);
  const std::int64_t rope = slice_of(file, mla);
  if (nope + rope < 1) file.wrong("qk_rope_head_dim", "a head of at least one channel");
  return read.say("head_dim", nope + rope, file.at("qk_rope_head_dim"),
                  "qk_nope_head_dim + qk_rope_head_dim");
}

// How often the layers run that the file counts.
std::int64_t runs_of(FileReading& file, const Reruns& reruns) {
  if (reruns.stack_key.empty() || file.has(reruns.stack_key)) return 1;
  const auto number = [&](std::string_view key, std::int64_t standard) {
    return key.empty() ? standard : file.whole(key, 1, most::layers).value_or(standard);
  };
  return number(reruns.outer_key, reruns.outer) * (number(reruns.inner_key, reruns.inner) + 1);
}

std::int64_t layers_of_runs(FileReading& file, const Family& family, SizeReader& read) {
  const std::string_view key = family.keys.layers;
  const std::int64_t counted = read.size_by(family.keys.apart ? key : SizeKeys{}.layers, "layers", key,
                                            family.sizes.layers, most::layers);
  const std::int64_t runs = runs_of(file, family.reruns);
  if (runs == 1) return counted;
  if (runs > most::layers / counted)
    file.wrong(key, text("with ", runs, " runs of each layer at most ", most::layers, " in all"));
  return read.say(
      "layers", runs * counted, file.at(key),
      text("each runs ", runs, " times", family.mixer.empty() ? ", and keeps other keys each time" : ""));
}

// As many as the number, the list or the letters say.
std::int64_t layer_count(FileReading& file, const Family& family, SizeReader& read) {
  const WindowRule& windows = family.windows;
  const std::int64_t own = family.sizes.layers;
  for (const std::string_view types : {windows.types_key, std::string_view("layer_types")})
    if (windows.counted && file.kind(types) == Config::Kind::list)
      return read.say("layers", std::int64_t(file.texts(types)->size()), file.at(types),
                      "one kind for each layer");
  if (windows.counted && file.has(windows.letters_key))
    return read.say("layers", std::int64_t(file.text(windows.letters_key)->size()),
                    file.at(windows.letters_key), "one letter for each layer");
  if (windows.counted) return read.say("layers", own, "", "no key lists the kinds: default of the class");
  const std::string_view common = SizeKeys{}.layers, key = family.keys.layers;
  if (family.attentions == 1) return layers_of_runs(file, family, read);
  const std::string rule = text(family.attentions, " attentions in each layer, counted as layers");
  if (const auto all = file.whole(common, family.attentions, most::layers))
    return read.derive("layers", *all / family.attentions * family.attentions, file.at(common), rule);
  const auto said = file.whole(key, 1, most::layers);
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

std::int64_t kv_heads_of(FileReading& file, const Family& family, std::int64_t heads, SizeReader& read) {
  const SizeKeys& keys = family.keys;
  const std::int64_t standard = family.sizes.kv_heads;
  if (const std::string_view one_key = family.one_kv_key; !one_key.empty()) {
    const bool one = file.flag(one_key).value_or(true);
    return read.derive("kv_heads", one ? 1 : heads, file.has(one_key) ? file.at(one_key) : "",
                       one ? "one KV head for all query heads" : "false: as many as heads");
  }
  if (!keys.first_kv.empty() && file.has(keys.first_kv))
    return read.size("kv_heads", keys.first_kv, standard, most::heads);
  if (!keys.kv_heads.empty() && file.kind(keys.kv_heads) == Config::Kind::null)
    return read.derive("kv_heads", heads, file.at(keys.kv_heads), "null: as many as heads");
  if (keys.kv_heads.empty() || (!file.has(keys.kv_heads) && standard == 0))
    return read.say("kv_heads", heads, "", "no key sets it: as many as heads");
  return read.size("kv_heads", keys.kv_heads, standard, most::heads);
}

// ConvBERT's and MobileBERT's: attention has a part of the heads, or a width of its own.
void share_heads(FileReading& file, const HeadShare& share, SizeReader& read, Sizes& s) {
  if (share.ratio) {
    const std::int64_t ratio = file.whole(share.ratio_key, 1, most::heads).value_or(share.ratio);
    s.heads = std::max<std::int64_t>(1, s.heads / ratio), s.kv_heads = s.heads;
    read.derive("heads", s.heads, file.at(share.ratio_key), "a part of them; a convolution has the rest");
    s.head_dim = read.say("head_dim", s.width / s.heads / 2, "", "half of the width, by those heads");
    return;
  }
  const bool narrow = file.flag(share.width_if).value_or(true);
  const std::int64_t width =
      narrow ? file.whole(share.width_key, 1, most::width).value_or(share.width) : s.width;
  s.head_dim = read.derive("head_dim", width / s.heads, file.at(narrow ? share.width_key : share.width_if),
                           narrow ? "this width / heads" : "false: width / heads");
  if (s.head_dim < 1) file.wrong(share.width_key, text("at least the number of heads, ", s.heads));
}

// Of these sizes, the width of a head.
std::int64_t head_of(FileReading& file, const Family& family, const Sizes& s, SizeReader& read) {
  if (family.mla.present()) return mla_head(file, family.mla, read);
  const SizeKeys& keys = family.keys;
  const std::int64_t standard = family.sizes.head_dim;
  const bool filled = family.rope.fills_null_head && file.kind(keys.head_dim) == Config::Kind::null;
  if (!family.head_by_width && !filled && (standard || file.has(keys.head_dim)))
    return read.size("head_dim", keys.head_dim, standard, most::heads);
  if (s.width < s.heads) file.wrong(keys.width, text("at least the number of heads, ", s.heads));
  const std::string times = family.head_times == 1 ? "" : text(family.head_times, " * ");
  return read.say(
      "head_dim", family.head_times * s.width / s.heads, "",
      text(times, keys.width, " / ", keys.heads, family.head_by_width ? ", whatever the file says" : ""));
}
void read_heads(FileReading& file, const Family& family, SizeReader& read, Sizes& s) {
  if (family.per_kv_key.empty())
    s.heads = read.size_by(family.keys.apart ? family.keys.heads : SizeKeys{}.heads, "heads",
                           family.keys.heads, family.sizes.heads, most::heads);
  s.kv_heads = kv_heads_of(file, family, s.heads, read);
  if (!family.per_kv_key.empty()) s.heads = heads_of_groups(file, family, s.kv_heads, read);
  if (family.share.width || family.share.ratio) {
    share_heads(file, family.share, read, s);
  } else {
    s.head_dim = head_of(file, family, s, read);
  }
}

}  // namespace

std::int64_t slice_of(FileReading& file, const Mla& mla) {
  return file.whole("qk_rope_head_dim", 0, most::heads).value_or(mla.rope);
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
  if (!family.causal) return family.causal_key.empty() || !file.flag(family.causal_key).value_or(false);
  return says_two_sided(file, family) && !family.two_sided_by_kernel;
}

bool unmasked(FileReading& file, const Family& family) {
  return family.causal && file.has("is_causal") && !file.flag("is_causal").value_or(false);
}
Family unmasked_row(FileReading& file, const Family& family) {
  Family row = family;
  row.causal = false, row.causal_key = {};
  WindowRule& windows = row.windows;
  if (windows.cycle == "r")  // reference_sliding_attention: all before the query, and so many after it
    file.wrong("is_causal",
               "true, because this class sees more keys before a query than after it without, and "
               "gnomon has no such encoding");
  if (says_two_sided(file, family)) {
    windows.two_sided_more += windows.two_sided_more != 0;
  } else {
    windows.two_sided_more = 0, windows.more += windows.divisor == 1;
  }
  return row;
}

Sizes read_sizes(FileReading& file, const Family& family, std::vector<Because>& because) {
  const SizeKeys& keys = family.keys;
  const Sizes& own = family.sizes;
  SizeReader read(file, because);
  Sizes s;
  const SizeKeys common;
  const std::string_view width = width_key(keys, [&](std::string_view key) { return file.has(key); });
  s.width = width == keys.first_width
                ? read.size("width", width, own.width, most::width)
                : read.size_by(common.width, "width", keys.width, own.width, most::width);
  s.layers = layer_count(file, family, read);
  if (family.method != Method::recurrence && family.mixer.empty()) read_heads(file, family, read, s);
  // MPT has no second name for max_seq_len.
  const std::string_view longest = keys.longest == "n_positions" ? common.longest : keys.longest;
  if (own.longest || file.has(keys.longest) || file.has(longest))
    s.longest = read.size_by(longest, "longest", keys.longest, own.longest, most::tokens);
  return s;
}

}  // namespace gnomon
