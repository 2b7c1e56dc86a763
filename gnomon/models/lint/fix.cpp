// The suggestions of findings, written into the text of a file.
#include "gnomon/models/lint/fix.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "gnomon/core/error.h"
#include "gnomon/core/text.h"
#include "gnomon/models/resolve/place.h"

namespace gnomon {
namespace {

using Json = nlohmann::ordered_json;

std::string parent_of(const std::string& key) {
  const std::size_t dot = key.rfind('.');
  return dot == key.npos ? "" : key.substr(0, dot);
}
std::string within(const std::string& object, const std::string& name) {
  return object.empty() ? name : text(object, ".", name);
}

// "name": VALUE and where it shall stand, in words: "rope_theta": 500000 in rope_scaling.
struct Suggested {
  std::string name, json, where;
};
std::optional<Suggested> suggested(const std::string& expected) {
  const std::size_t colon = expected.find("\": ");
  if (!expected.starts_with('"') || colon == expected.npos || colon < 2) return std::nullopt;
  const std::string name = expected.substr(1, colon - 1);
  if (name.find('"') != name.npos) return std::nullopt;
  const std::string rest = expected.substr(colon + 3);
  for (const std::string_view begin : {"", " at the top level", " as well", " in "}) {
    const std::size_t end = begin.empty() ? rest.size() : rest.find(begin);
    if (end != rest.npos && Json::accept(rest.substr(0, end)))
      return Suggested{name, rest.substr(0, end), rest.substr(end)};
  }
  return std::nullopt;
}

// The key that the words of a suggestion mean; empty: none.
std::string place_of(const LintContext& file, const LintFinding& finding, const Suggested& s) {
  if (s.where.starts_with(" at the top level")) return file.at(s.name);
  const bool object = file.config().kind(finding.key) == Config::Kind::object;
  const std::string here = object ? finding.key : parent_of(finding.key);
  if (!s.where.starts_with(" in ") || s.where == " in that dictionary") return within(here, s.name);
  const std::string dictionary = s.where.substr(4);
  return file.config().kind(dictionary) == Config::Kind::object ? within(dictionary, s.name) : "";
}

bool same_finding(const LintResult& a, const LintResult& b) {
  return a.rule == b.rule && a.finding.key == b.finding.key;
}
bool holds(const std::vector<LintResult>& all, const LintResult& result) {
  return std::any_of(all.begin(), all.end(), [&](const LintResult& r) { return same_finding(r, result); });
}

// A text on its way: what lint finds in it now.
class Fixing {
 public:
  Fixing(LintFix& fix, const LintPrograms& programs)
      : fix_(fix), programs_(programs), file_(read(fix.after)) {
    first_ = found_ = lint(file_);
  }

  // Writes what the finding says, if it is then gone and nothing else is wrong.
  void fix(const LintResult& result) {
    const auto now = std::find_if(found_.begin(), found_.end(),
                                  [&](const LintResult& r) { return same_finding(r, result); });
    if (now == found_.end()) return;  // about the weights, or gone with another one
    const std::string name = right_name(*now);
    if (!name.empty()) return rename(*now, name);
    const auto write = whole_suggestion(*file_.context, now->finding);
    if (write) take(result, with_value(fix_.after, write->key, write->json));
  }
  // A finding about the weights is never gone by what stands in the text.
  bool gone(const LintResult& result) const { return holds(first_, result) && !holds(found_, result); }

 private:
  // By value: taking a text replaces what was found.
  void rename(const LintResult result, const std::string& name) {
    const std::string &key = result.finding.key, right = within(parent_of(key), name);
    const auto tell = [&](std::string_view why) {
      fix_.told.push_back(text(key, " is not renamed to ", name, ": ", why));
    };
    const auto takes_it = [&](const LintResult& r) {
      return r.finding.key != key && within(parent_of(r.finding.key), right_name(r)) == right;
    };
    if (std::any_of(first_.begin(), first_.end(), takes_it)) return tell("another key may mean the same");
    const auto renamed = with_name(fix_.after, key, name);
    if (!renamed) return tell("the file has both");
    if (!take(result, renamed)) tell(text("the file would then have the finding ", fault_));
  }
  // Whether the finding is gone from this text, which then is the file's.
  bool take(const LintResult& result, std::optional<std::string> text) {
    if (!text || *text == fix_.after) return false;
    LintFile file = read(*text);
    std::vector<LintResult> found = lint(file);
    fault_ = holds(found, result) ? result.rule->id : worse(found);
    if (!file.context->readable() || !fault_.empty()) return false;
    fix_.after = std::move(*text), file_ = std::move(file), found_ = std::move(found);
    return true;
  }
  LintFile read(const std::string& text) const { return text_for_lint(text, fix_.file.string(), programs_); }
  // The first error or warning that is new; empty: none.
  std::string_view worse(const std::vector<LintResult>& found) const {
    for (const LintResult& r : found)
      if (r.rule->severity != Severity::note && !holds(found_, r)) return r.rule->id;
    return {};
  }

  LintFix& fix_;
  const LintPrograms& programs_;
  LintFile file_;
  std::vector<LintResult> first_, found_;
  std::string_view fault_ = {};  // why the last text was not taken
};

void fix_text(LintFix& fix, const std::vector<LintResult>& results, const LintPrograms& programs) {
  Fixing fixing(fix, programs);
  for (const LintResult& result : results) fixing.fix(result);
  for (const LintResult& result : results) (fixing.gone(result) ? fix.fixed : fix.left).push_back(result);
}

}  // namespace

std::string right_name(const LintResult& result) {
  const std::string& expected = result.finding.expected;
  const std::size_t end = expected.find('"', 1);
  const bool named = result.rule->traits.renames && expected.starts_with('"') && end != expected.npos;
  return named ? expected.substr(1, end - 1) : "";
}

std::optional<LintWrite> whole_suggestion(const LintContext& file, const LintFinding& finding) {
  if (finding.key.empty()) return std::nullopt;
  if (const auto s = suggested(finding.expected)) {
    const std::string key = place_of(file, finding, *s);
    return key.empty() ? std::nullopt : std::optional(LintWrite{key, s->json});
  }
  const bool there = file.config().kind(finding.key) != Config::Kind::absent;
  if (!there || !Json::accept(finding.expected)) return std::nullopt;
  return LintWrite{finding.key, finding.expected};
}

std::vector<LintFix> lint_fixes(const LintRequest& request) {
  std::vector<LintFix> all;
  for (const LintedFile& file : lint_paths(request).files) {
    const Path path(file.file);
    if (path.extension() == ".gguf") continue;
    const bool unread = std::any_of(file.results.begin(), file.results.end(),
                                    [](const LintResult& r) { return r.rule->traits.unread; });
    if (unread) {
      all.push_back({path, "", "", {}, file.results});
      continue;
    }
    const std::string bytes = path == "-" ? request.text : read_file(path);
    all.push_back({path, bytes, bytes, {}, {}});
    fix_text(all.back(), file.results, request.programs);
  }
  return all;
}

}  // namespace gnomon
