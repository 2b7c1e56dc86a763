#pragma once
#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "gnomon/claims/answer.h"

namespace gnomon::claims {

// What fixes a measurement of claims.
struct ClaimsConfig {
  std::vector<const Claim*> chosen;
  std::string text_path;  // empty: only what needs no text can be measured
  bool quick = false;
};

// Claims in their folder: claims.html, claims.json, claims.md, essays (why-add.md) and the models, models/KEY/….
struct ClaimsFolder {
  Path folder;
  Path page() const { return folder / "claims.html"; }
  Path json() const { return folder / "claims.json"; }
  Path markdown() const { return folder / "claims.md"; }
  Path essay(std::string_view name) const { return folder / (std::string(name) + ".md"); }
  Path lock() const { return folder / "lock"; }
  Path models() const { return folder / "models"; }
};

// What was measured.
struct ClaimsSummary {
  ClaimsConfig config;
  std::string text_sha256;           // empty without a text
  std::string rules{};               // "sha256 ..." of those by which an archive was measured; empty: today's
  std::vector<std::string> again{};  // claims of an archive that were measured later, by today's
  std::vector<Answered> answers;
  std::size_t differing;  // verdicts that are not the recorded ones
  std::int64_t seeds;
  Recipe causal, masked;  // what models of the text are where a claim says nothing else
  std::map<std::string, double>
      rates;  // that were found, by spec (Experiment::rates); empty: none was looked for
  double minutes;
  std::int64_t trained;               // models; the others were there
  std::vector<std::string> diverged;  // trainings that did, left out
};

// Claims that are being measured: while one lives, their folder is this process's alone.
class ClaimsConduct {
 public:
  // Takes the folder `out`; where that is empty, "claims" if models are needed, and no folder if none are. What the folder
  // shows of other claims, of another text or measured in another way stays, unless `replace`. Throws Error(usage) for
  // a page that would lose some of that; Error(busy) for a folder in use. corpus may be null and outlives it, as config does.
  ClaimsConduct(const ClaimsConfig& config, const Corpus* corpus, const Path& out, bool replace);

  const ClaimsFolder* folder() const { return lock_ ? &folder_ : nullptr; }  // null: there is none
  // Does what answer() does. nullopt: stopped.
  std::optional<ClaimsSummary> perform(const MeasureHooks& hooks);

 private:
  bool needs_models() const;
  void respect() const;
  std::string text_sha256() const { return corpus_ ? corpus_->sha256() : ""; }

  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  const ClaimsConfig& config_;
  const Corpus* corpus_;
  const ClaimsFolder folder_;
  Experiment desk_;
  std::optional<FileLock> lock_;
};

}  // namespace gnomon::claims
