// Heads of which only a part turns.
#include <algorithm>
#include <cmath>

#include "gnomon/models/lint/rules/rule.h"

namespace gnomon {
namespace {

constexpr Prose kText =
#include "gnomon/models/lint/rules/partial.txt.inc"
    ;

// What files call the part of the head that turns, as a share or as channels.
constexpr std::array<std::string_view, 7> kPartKeys{
    "partial_rotary_factor", "rotary_pct", "rotary_dim",     "rotary_emb_fraction",
    "rotary_percentage",     "rope_pct",   "rope_percentage"};

std::optional<double> share_of(const LintContext& file, const RopeDictionary* dict) {
  if (dict && file.has(*dict, "partial_rotary_factor")) return file.number(*dict, "partial_rotary_factor");
  return file.number("partial_rotary_factor");
}
const RopeDictionary* live(const LintContext& file) {
  for (const RopeDictionary& dict : file.ropes())
    if (dict.live) return &dict;
  return nullptr;
}
std::string part_key(const LintContext& file, const RopeDictionary* dict) {
  return dict && file.has(*dict, "partial_rotary_factor") ? dict->key + ".partial_rotary_factor"
                                                          : file.at("partial_rotary_factor");
}
bool is_rotary(const LintContext& file) { return file.family() && file.family()->method == Method::rotary; }

Findings dropped_by_default(const LintContext& file) {
  const RopeDictionary* dict = live(file);
  const auto share = share_of(file, dict);
  if (!share || *share >= 1 || !is_rotary(file) || file.has("qk_rope_head_dim")) return {};
  if (file.family()->rope.plain_partial || file.family()->rope.partial > 0 || (dict && file.scales(*dict)))
    return {};
  return {finding(file, part_key(file, dict), kText.at("partial-rotation-dropped", "expected"),
                  said<"share">(kText.at("partial-rotation-dropped", "says"), shortest(*share)))};
}

Findings with_scaling(const LintContext& file) {
  return remarked(file, "partial-rotation-with-scaling",
                  kText.at("partial-rotation-with-scaling", "expected"));
}

Findings part_twice(const LintContext& file) {
  Findings all;
  const auto outer = file.number("partial_rotary_factor");
  for (const RopeDictionary& dict : file.ropes()) {
    const auto own = file.number(dict, "partial_rotary_factor");
    if (!outer || !own || *outer == *own || !dict.live) continue;
    all.push_back(finding(file, file.at("partial_rotary_factor"),
                          kText.at("partial-rotation-twice", "expected"),
                          said<"inner", "outer">(kText.at("partial-rotation-twice", "says"), shortest(*own),
                                                 shortest(*outer))));
  }
  return all;
}

Findings width_twice(const LintContext& file) {
  const auto width = file.whole("rotary_dim"), dim = file.head_dim();
  const RopeDictionary* dict = live(file);
  const auto share = share_of(file, dict);
  if (file.gguf() || !width || *width < 1 || !dim || !share || *share <= 0 || *share > 1) return {};
  const auto by_share = std::int64_t(double(*dim) * *share);
  if (by_share == *width) return {};
  return {
      finding(file, file.at("rotary_dim"),
              said<"channels", "share">(kText.at("rotated-width-twice", "expected"), text(by_share),
                                        shortest(double(*width) / double(*dim))),
              said<"width", "channels", "share", "dim">(kText.at("rotated-width-twice", "says"), text(*width),
                                                        text(by_share), shortest(*share), text(*dim)))};
}

// MiniMax-M2's class makes a share of rotary_dim.
bool reads_key(const LintContext& file, std::string_view key) {
  const RopeFacts& rope = file.family()->rope;
  return key == rope.partial_key || key == rope.width_key ||
         (key == "rotary_dim" && file.type() == "minimax_m2");
}
Findings key_unread(const LintContext& file) {
  Findings all;
  const auto dim = file.head_dim();
  for (const std::string_view key : kPartKeys) {
    const auto value = file.number(key);
    if (!value || !is_rotary(file) || reads_key(file, key)) continue;
    const double share = *value > 1 && dim ? *value / double(*dim) : *value;
    if (share == 1 || share_of(file, live(file)) == share) continue;
    const double turns = file.family()->rope.partial;
    all.push_back(finding(
        file, file.at(key), said<"share">(kText.at("rotary-key-unread", "expected"), shortest(share)),
        turns > 0 ? said<"type", "key", "part">(kText.at("rotary-key-unread", "says.part"), file.type(), key,
                                                shortest(turns))
                  : said<"type", "key">(kText.at("rotary-key-unread", "says.all"), file.type(), key)));
  }
  return all;
}

Findings part_of_class(const LintContext& file) {
  if (!is_rotary(file) || file.gguf()) return {};
  const double own = file.family()->rope.partial;
  if (own == 0 || own == 1) return {};
  for (const std::string_view key : kPartKeys)
    if (file.has(key)) return {};
  for (const RopeDictionary& dict : file.ropes())
    if (file.has(dict, "partial_rotary_factor")) return {};
  const std::string key = std::string(file.family()->rope.partial_key);
  return {finding(file, file.at(key),
                  said<"key", "share">(kText.at("partial-rotation-of-class", "expected"), key, shortest(own)),
                  said<"share">(kText.at("partial-rotation-of-class", "says"), shortest(own)))};
}

// Phi's and StableLM's attention cuts the head at the width as it is said, and their tables have the pairs rounded up.
bool cuts_as_said(const LintContext& file) {
  return file.family()->name == "phi" || file.family()->name == "stablelm";
}
std::string odd_says(const LintContext& file, std::int64_t head, std::int64_t width) {
  const std::string channels = text(head), turning = text(width);
  if (width == head && head > 4)
    return said<"channels", "turning">(kText.at("rotated-width-odd", "says.refused"), channels, turning);
  if (cuts_as_said(file))
    return said<"channels", "turning">(kText.at("rotated-width-odd", "says.raises"), channels, turning);
  return said<"channels", "turning">(kText.at("rotated-width-odd", "says.rounded"), channels, turning);
}
Findings odd_width(const LintContext& file) {
  const auto dim = file.head_dim();
  if (!dim || file.gguf() || !is_rotary(file)) return {};
  const RopeDictionary* dict = live(file);
  const RopeFacts& rope = file.family()->rope;
  const std::string_view part = rope.partial_key;
  const bool own = dict && file.has(*dict, "partial_rotary_factor");  // else the class's word for it
  const bool forgets = rope.partial == 0 && !rope.plain_partial && !(dict && file.scales(*dict));
  const double given = (own ? file.number(*dict, "partial_rotary_factor") : file.number(part))
                           .value_or(rope.partial == 0 ? 1 : rope.partial);
  const double share = forgets ? 1 : given;
  if (share <= 0 || share > 1) return {};  // partial-rotation-impossible says it
  const auto width = std::int64_t(double(*dim) * share);
  if (width % 2 == 0 && width > 0) return {};
  return {finding(file,
                  width == *dim ? file.at("head_dim")
                  : own         ? part_key(file, dict)
                                : file.at(part),
                  kText.at("rotated-width-odd", "expected"), odd_says(file, *dim, width))};
}

Findings part_above_one(const LintContext& file) {
  Findings all;
  const auto look = [&](const std::string& key) {
    const Config::Kind kind = file.config().kind(key);
    const bool number = kind == Config::Kind::number, null = kind == Config::Kind::null;
    const bool inner = key != file.at("partial_rotary_factor") && key != file.at("rotary_pct");
    if (null && inner)
      all.push_back(finding(file, key, kText.at("partial-rotation-impossible", "expected.null"),
                            kText.at("partial-rotation-impossible", "says.null")));
    if (number && (*file.config().number(key) > 1 || *file.config().number(key) <= 0))
      all.push_back(finding(file, key, kText.at("partial-rotation-impossible", "expected"),
                            kText.at("partial-rotation-impossible", "says")));
  };
  for (const std::string_view key : {"partial_rotary_factor", "rotary_pct"}) look(file.at(key));
  for (const RopeDictionary& dict : file.ropes()) look(dict.key + ".partial_rotary_factor");
  return all;
}

Findings proportional(const LintContext& file) {
  for (const RopeDictionary& dict : file.ropes()) {
    const auto share = file.number(dict, "partial_rotary_factor");
    if (!dict.live || file.type_of(dict) != "proportional" || !share || *share >= 1) continue;
    return {finding(file, dict.key + ".rope_type", kText.at("proportional-is-not-partial", "expected"),
                    said<"share">(kText.at("proportional-is-not-partial", "says"), shortest(*share)))};
  }
  return {};
}

constexpr LintRow kRows[] = {
    {"partial-rotation-dropped", Severity::error, dropped_by_default},
    {"partial-rotation-with-scaling", Severity::error, with_scaling, {.departs = true}},
    {"partial-rotation-twice", Severity::warning, part_twice},
    {"rotated-width-twice", Severity::warning, width_twice},
    {"rotary-key-unread", Severity::error, key_unread},
    {"partial-rotation-of-class", Severity::note, part_of_class},
    {"rotated-width-odd", Severity::error, odd_width},
    {"partial-rotation-impossible", Severity::error, part_above_one},
    {"proportional-is-not-partial", Severity::note, proportional},
};
constexpr auto kRules = written(kText, kRows);

}  // namespace

std::span<const LintRule> partial_rules() { return kRules; }

}  // namespace gnomon
