// Many files at once: what is found in them, and what of that is excepted.
#include <algorithm>
#include <map>
#include <set>

#include "gnomon/core/error.h"
#include "gnomon/core/parallel.h"
#include "gnomon/core/text.h"
#include "gnomon/models/lint/context.h"
#include "gnomon/models/lint/exceptions.h"
#include "gnomon/models/lint/targets.h"

namespace gnomon {
namespace {

// A file with its findings, before exceptions.
struct Seen {
  LintedFile told;
  std::vector<std::string> states, says;  // of the findings
};

Seen look_at(const LintTarget& target, const LintRequest& request) {
  const LintFile file = target.file == "-" ? text_for_lint(request.text, "-", request.programs)
                                           : open_for_lint(target, request.programs);
  Seen seen{{target.file.string(), file.context->type(), lint(file, request.choice), {}}, {}, {}};
  for (const LintResult& result : seen.told.results) {
    seen.states.push_back(state_of(*file.context, result));
    seen.says.push_back(says_anywhere(*file.context, result));
  }
  return seen;
}

// The files of a request, each looked at once, and their exceptions.
class Gate {
 public:
  explicit Gate(const LintRequest& request)
      : request_(request), targets_(lint_targets(request.paths)), seen_(targets_.files.size()) {
    check_versions(request.programs);
    lint_rules();  // made before there are threads
    parallel_for(std::int64_t(seen_.size()), [&](std::int64_t n) {
      seen_[std::size_t(n)] = look_at(targets_.files[std::size_t(n)], request_);
    });
  }

  LintRun run() {
    LintRun all;
    all.passed_over = targets_.passed_over;
    for (Seen& seen : seen_) {
      except(seen);
      all.files.push_back(std::move(seen.told));
    }
    for (const auto& [file, known] : known_) add_stale(known, all.stale);
    return all;
  }
  LintBaseline write();

 private:
  struct Known {
    LintExceptions exceptions;
    std::set<std::size_t> used;
  };

  Path exceptions_of(const std::string& file) const {
    if (!request_.exceptions.empty()) return request_.exceptions;
    return LintExceptions::nearest(whole_path(file).parent_path());
  }
  void except(Seen& seen) {
    const Path file = exceptions_of(seen.told.file);
    if (file.empty()) return;
    const auto [place, fresh] = known_.try_emplace(file);
    if (fresh) place->second.exceptions = LintExceptions::open(file);
    Known& known = place->second;
    std::vector<LintResult> kept;
    for (std::size_t n = 0; n < seen.told.results.size(); ++n) {
      LintResult& result = seen.told.results[n];
      const auto entry = known.exceptions.entry_of(seen.told.file, result, seen.states[n]);
      if (entry) {
        known.used.insert(*entry);
        seen.told.excepted.push_back({std::move(result), known.exceptions.entries()[*entry].reason});
      } else {
        kept.push_back(std::move(result));
      }
    }
    seen.told.results = std::move(kept);
  }
  bool ran(std::string_view rule) const {
    const auto named = [&](const std::vector<std::string>& ids) {
      return std::find(ids.begin(), ids.end(), rule) != ids.end();
    };
    return !named(request_.choice.ignore) && (request_.choice.only.empty() || named(request_.choice.only));
  }
  std::vector<Path> files() const {
    std::vector<Path> all;
    for (const LintTarget& target : targets_.files) all.push_back(target.file);
    return all;
  }
  void add_stale(const Known& known, std::vector<StaleException>& stale) const {
    const auto entries = known.exceptions.entries();
    for (std::size_t n = 0; n < entries.size(); ++n)
      if (!known.used.contains(n) && ran(entries[n].rule) &&
          known.exceptions.covered(entries[n], files(), targets_.folders))
        stale.push_back(
            {known.exceptions.file().string(), entries[n].line, entries[n].rule, entries[n].path});
  }
  Path one_exceptions_file() const;

  const LintRequest& request_;
  LintTargets targets_;
  std::vector<Seen> seen_;
  std::map<Path, Known> known_;
};

// The one that all files have, or a new one in the current folder.
Path Gate::one_exceptions_file() const {
  std::set<Path> all;
  for (const Seen& seen : seen_) all.insert(exceptions_of(seen.told.file));
  if (all.size() > 1)
    throw Error(Fault::usage,
                text("the paths have ", all.size(), " files of exceptions; name the one to write"));
  if (!all.empty() && !all.begin()->empty()) return *all.begin();
  const Path here = whole_path(".");
  for (const Seen& seen : seen_)
    if (!is_within(whole_path(seen.told.file), here))
      throw Error(Fault::usage, text(seen.told.file, ": outside the current folder, in which ",
                                     kLintExceptions, " would be written; name the file to write"));
  return Path(kLintExceptions);
}

LintBaseline Gate::write() {
  const Path file = one_exceptions_file();
  const bool there = std::filesystem::exists(file);
  const LintExceptions earlier = there ? LintExceptions::open(file) : LintExceptions(file);
  std::set<std::size_t> used;
  std::vector<LintException> more;
  for (const Seen& seen : seen_) {
    for (std::size_t n = 0; n < seen.told.results.size(); ++n) {
      const LintResult& result = seen.told.results[n];
      if (const auto entry = earlier.entry_of(seen.told.file, result, seen.states[n]))
        used.insert(*entry);
      else
        more.push_back({std::string(result.rule->id), earlier.seen_from_here(seen.told.file),
                        result.finding.key, seen.states[n], "baseline: " + seen.says[n]});
    }
  }
  std::vector<std::size_t> drop;
  const std::vector<Path> looked_at = files();
  for (std::size_t n = 0; n < earlier.entries().size(); ++n) {
    const LintException& e = earlier.entries()[n];
    const bool mine = !e.state.empty() && ran(e.rule) && earlier.covered(e, looked_at, targets_.folders);
    if (mine && !used.contains(n)) drop.push_back(n);
  }
  write_file(file, exceptions_json(there ? read_file(file) : "", drop, more));
  return {file, more.size(), drop.size()};
}

}  // namespace

std::size_t LintRun::count(Severity severity) const {
  std::size_t n = 0;
  for (const LintedFile& file : files)
    n += std::size_t(std::count_if(file.results.begin(), file.results.end(), [&](const LintResult& result) {
      return result.rule->severity == severity;
    }));
  return n;
}
bool LintRun::fails(Severity level) const {
  for (const Severity s : {Severity::error, Severity::warning, Severity::note})
    if (s <= level && count(s)) return true;
  return level == Severity::note && !stale.empty();
}

std::string stale_sentence(const StaleException& e) {
  return text("The exception for ", e.rule, " in ", e.path, " excepts nothing any more. Remove the entry.");
}

LintRun lint_paths(const LintRequest& request) { return Gate(request).run(); }
LintBaseline write_lint_baseline(const LintRequest& request) { return Gate(request).write(); }

void refuse_lint_errors(const LintedFile& file) {
  std::string errors;
  std::size_t count = 0;
  for (const LintResult& result : file.results) {
    if (result.rule->severity != Severity::error) continue;
    const std::string& key = result.finding.key;
    errors += text(count++ ? "; " : "", result.rule->id, key.empty() ? "" : " (" + key + ")", ": ",
                   result.finding.says);
  }
  if (count)
    throw Error(Fault::input, text(file.file, ": lint finds ", counted(count, "error"), ": ", errors,
                                   ". Correct the file, or force it (--force, force=True)"));
}

}  // namespace gnomon
