#pragma once
#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "gnomon/core/error.h"
#include "gnomon/core/prose.h"
#include "gnomon/core/text.h"
#include "gnomon/models/lint/context.h"
#include "gnomon/models/resolve/refusals.h"

// What the files of rules share: how a rule and a finding are written.
namespace gnomon {

// A rule as its file lists it. What it says is a record of the text beside the file, named by the id: title, explains, fix, link,
// fails, passes; beside these are fields of its own, the sentences of its findings.
struct LintRow {
  std::string_view id;
  Severity severity;
  Findings (*find)(const LintContext&);
  LintTraits traits = {};
};
template <std::size_t N, std::size_t M, std::size_t K>
consteval std::array<LintRule, K> written(const Prose<N, M>& file, const LintRow (&rows)[K]) {
  if (file.records() != K) throw "a record in the text file belongs to no rule";
  std::array<LintRule, K> all{};
  for (std::size_t k = 0; k < K; ++k) {
    const LintRow& row = rows[k];
    file.only(row.id, {"title", "explains", "fix", "link", "also", "expected", "says", "fails", "passes"});
    all[k] = {.id = row.id,
              .severity = row.severity,
              .title = file.at(row.id, "title"),
              .explains = file.at(row.id, "explains"),
              .fix = file.at(row.id, "fix"),
              .link = file.at(row.id, "link"),
              .also = file.if_any(row.id, "also"),
              .fails = file.at(row.id, "fails"),
              .passes = file.at(row.id, "passes"),
              .find = row.find,
              .traits = row.traits};
  }
  return all;
}

// About a key of the whole file, which may be missing.
inline LintFinding finding(const LintContext& file, std::string key, std::string_view expected,
                           std::string_view says) {
  std::string found = file.config().printed(key);
  return {std::move(key), std::move(found), std::string(expected), std::string(says)};
}

// What the resolver itself remarks under the name of this rule, so that the two cannot part: of a file that it cannot read, what
// transformers refuses by its keys.
inline Findings remarked(const LintContext& file, std::string_view rule, std::string_view expected = {}) {
  Findings all;
  if (file.gguf()) return all;
  const Resolved* read = file.read_by(Reader::v5);
  for (const Remark& remark : read ? read->remarks : refusals(file))
    if (remark.rule == rule)
      all.push_back(
          finding(file, remark.key, remark.instead.empty() ? expected : remark.instead, remark.says));
  return all;
}

// Where files keep the base of the rotation outside the dictionaries.
constexpr std::array<std::string_view, 8> kThetaKeys{
    "rope_theta",       "rotary_emb_base",      "rotary_base", "global_rope_theta",
    "local_rope_theta", "rope_local_base_freq", "rope_base",   "layer_rope_theta"};
inline bool theta_outside(const LintContext& file) {
  for (const std::string_view key : kThetaKeys)
    if (file.has(key)) return true;
  return false;
}
// The share of the head that turns by the dictionary, else by the top level, else by the class; 1 where none says one that can
// be. Null: no dictionary.
inline double share_of_head(const LintContext& file, const RopeDictionary* dict) {
  const auto said = dict && file.has(*dict, "partial_rotary_factor")
                        ? file.number(*dict, "partial_rotary_factor")
                        : file.number("partial_rotary_factor");
  const double own = file.family() ? file.family()->rope.partial : 0;
  const double share = said.value_or(own);
  return share > 0 && share <= 1 ? share : 1;
}
// The base of a class whose files leave it out.
inline double class_theta(const LintContext& file) {
  return file.family() ? file.family()->rope.theta : 10000;
}

}  // namespace gnomon
