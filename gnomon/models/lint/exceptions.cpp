#include "gnomon/models/lint/exceptions.h"

#include <algorithm>

#include "gnomon/core/error.h"
#include "gnomon/core/names.h"
#include "gnomon/core/text.h"
#include "gnomon/files/json-inl.h"
#include "gnomon/files/sha256.h"
#include "gnomon/models/lint/context.h"
#include "gnomon/models/lint/targets.h"

namespace gnomon {
namespace {

// The members of an entry, in the order in which they are written.
struct Member {
  std::string_view name;
  std::string LintException::*value;
  bool required;
};
constexpr Member kMembers[] = {{"rule", &LintException::rule, true},
                               {"path", &LintException::path, true},
                               {"key", &LintException::key, false},
                               {"state", &LintException::state, false},
                               {"reason", &LintException::reason, true}};

LintException entry_from(const JsonValue& json, const std::string& where) {
  LintException entry;
  std::vector<std::string_view> names;
  for (const Member& m : kMembers) names.push_back(m.name);
  for (const auto& [name, value] : json.members()) {
    const auto known = std::find(names.begin(), names.end(), name);
    if (known == names.end()) throw Error(Fault::input, unknown("key", name, names).what()).at(where);
    entry.*kMembers[known - names.begin()].value = value.text();
  }
  for (const Member& m : kMembers)
    if (m.required && trim(entry.*m.value).empty())
      throw Error(Fault::input, text(where, ": ", m.name, " is missing; an exception needs one"));
  try {
    find_rule(entry.rule);
  } catch (const Error& error) {
    throw Error(Fault::input, text(where, ": ", error.what()));
  }
  return entry;
}

constexpr std::string_view kWild = "*?";

}  // namespace

bool path_matches(std::string_view pattern, std::string_view path) {
  std::vector<char> reached(path.size() +
                            1);  // lengths of the beginning of the path that the pattern so far stands for
  reached[0] = 1;
  while (pattern.ends_with('/')) pattern.remove_suffix(1);
  while (!pattern.empty()) {
    const std::size_t stars = std::min(pattern.find_first_not_of('*'), pattern.size());
    const char c = pattern[0];
    const bool folders =
        stars > 1 && pattern.substr(stars).starts_with('/');  // none, or any number of whole ones
    std::vector<char> next(reached.size());
    char before = 0;  // some shorter beginning was reached
    for (std::size_t n = 0; n < next.size(); ++n) {
      const char last = n ? path[n - 1] : '/';
      if (!stars) {
        next[n] = n && reached[n - 1] && (c == '?' ? last != '/' : last == c);
      } else if (folders) {
        next[n] = (before || reached[n]) && last == '/';
      } else {
        next[n] = reached[n] || (n && next[n - 1] && (stars > 1 || last != '/'));
      }
      before |= reached[n];
    }
    reached = std::move(next);
    pattern.remove_prefix(folders ? stars + 1 : std::max<std::size_t>(stars, 1));
  }
  for (std::size_t n = 0; n < reached.size(); ++n)  // the name of a folder stands for all in it
    if (reached[n] && (n == path.size() || path[n] == '/')) return true;
  return false;
}

LintExceptions::LintExceptions(const Path& file) : file_(file), folder_(whole_path(file).parent_path()) {}

LintExceptions LintExceptions::open(const Path& file) {
  LintExceptions all(file);
  const std::string bytes = read_file(file), where = file.string();
  const StrictJson root = parse_json(bytes, where);
  for (const auto& [name, list] : JsonValue(root, where).members()) {
    if (name != "exceptions")
      throw Error(Fault::input,
                  text(where, ": found the key ", excerpt(name), "; allowed is exceptions, a list"));
    for (const JsonValue& item : list.list()) {
      const std::size_t n = all.entries_.size();
      const std::size_t line = line_of(bytes, text("exceptions.", n));
      all.entries_.push_back(entry_from(item, text(where, ", line ", line)));
      all.entries_.back().line = line;
    }
  }
  return all;
}

Path LintExceptions::nearest(Path folder) {
  for (folder = whole_path(folder);; folder = folder.parent_path()) {
    std::error_code refused;
    if (std::filesystem::is_regular_file(folder / kLintExceptions, refused)) return folder / kLintExceptions;
    if (std::filesystem::exists(folder / ".git", refused) || folder == folder.parent_path()) return {};
  }
}

std::string LintExceptions::seen_from_here(const Path& file) const {
  return whole_path(file).lexically_relative(folder_).generic_string();
}

std::optional<std::size_t> LintExceptions::entry_of(const Path& file, const LintResult& result,
                                                    std::string_view state) const {
  if (entries_.empty()) return std::nullopt;
  const std::string path = seen_from_here(file);
  for (std::size_t n = 0; n < entries_.size(); ++n) {
    const LintException& e = entries_[n];
    if (e.rule == result.rule->id && (e.key.empty() || e.key == result.finding.key) &&
        (e.state.empty() || e.state == state) && path_matches(e.path, path))
      return n;
  }
  return std::nullopt;
}

bool LintExceptions::covered(const LintException& entry, std::span<const Path> files,
                             std::span<const Path> folders) const {
  const std::size_t wild = entry.path.find_first_of(kWild);
  const Path known(wild == entry.path.npos ? entry.path
                                           : entry.path.substr(0, entry.path.rfind('/', wild) + 1));
  const Path place = whole_path(folder_ / known);
  for (const Path& folder : folders)
    if (is_within(place, folder)) return true;
  return wild == entry.path.npos &&
         std::any_of(files.begin(), files.end(), [&](const Path& file) { return whole_path(file) == place; });
}

std::string says_anywhere(const LintContext& context, const LintResult& result) {
  std::string says = result.finding.says;
  const std::string folder = Path(context.config().where()).parent_path().string() + "/";
  if (folder == "/") return says;
  for (std::size_t at = says.find(folder); at != says.npos; at = says.find(folder, at))
    says.erase(at, folder.size());
  return says;
}

std::string state_of(const LintContext& context, const LintResult& result) {
  constexpr std::size_t kDigits = 16;
  const std::string& key = result.finding.key;
  const std::string value = key.empty() ? "" : context.config().json(key),
                    says = says_anywhere(context, result);
  const std::string_view nul("\0", 1);
  const std::string_view parts[] = {result.rule->id, nul, key, nul, value, nul, says};
  return sha256(parts).substr(0, kDigits);
}

std::string exceptions_json(std::string_view earlier, std::span<const std::size_t> drop,
                            std::span<const LintException> more) {
  StrictJson root = earlier.empty() ? StrictJson::object() : parse_json(earlier, kLintExceptions);
  StrictJson kept = StrictJson::array();
  const auto old = root.find("exceptions");
  for (std::size_t n = 0; old != root.end() && n < old->size(); ++n)
    if (std::find(drop.begin(), drop.end(), n) == drop.end()) kept.push_back((*old)[n]);
  for (const LintException& e : more) {
    StrictJson& entry = kept.emplace_back(StrictJson::object());
    for (const Member& m : kMembers)
      if (!(e.*m.value).empty()) entry[std::string(m.name)] = e.*m.value;
  }
  root["exceptions"] = std::move(kept);
  return root.dump(2, ' ', false, StrictJson::error_handler_t::replace) + "\n";
}

}  // namespace gnomon
