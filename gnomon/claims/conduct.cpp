#include "gnomon/claims/conduct.h"

#include <algorithm>

#include "gnomon/core/error.h"
#include "gnomon/files/json-inl.h"

namespace gnomon::claims {

ClaimsConduct::ClaimsConduct(const ClaimsConfig& config, const Corpus* corpus, const Path& out, bool replace)
    : config_(config),
      corpus_(corpus),
      folder_{out.empty() ? "claims" : out},
      desk_(corpus, config.quick, folder_.models()) {
  if (out.empty() && !needs_models()) return;
  make_folders(folder_.folder);
  lock_.emplace(folder_.lock(), text("the folder of claims ", folder_.folder.string()));
  if (!replace) respect();
}

bool ClaimsConduct::needs_models() const {
  return std::any_of(config_.chosen.begin(), config_.chosen.end(),
                     [&](const Claim* c) { return c->recipes && !c->recipes(desk_).empty(); });
}

// The page that stands in a folder is replaced by one that has all of its claims, measured on the same text in the same
// way, or by none.
void ClaimsConduct::respect() const {
  if (!std::filesystem::exists(folder_.json())) return;
  const std::string bytes = read_file(folder_.json());
  std::string why;
  try {
    const StrictJson json = parse_json(bytes, folder_.json().string());
    if (json.at("quick") != config_.quick) why = config_.quick ? "of a full run" : "of a quick run";
    if (json.value("text_sha256", "?") != text_sha256()) why = "of another text";
    std::size_t lost = 0;
    for (const auto& claim : json.at("claims")) {
      const std::string id = claim.at("id");
      const bool kept = std::any_of(config_.chosen.begin(), config_.chosen.end(),
                                    [&](const Claim* c) { return c->id == id; });
      if (!kept && !lost++) why = text(id, why.empty() ? "" : " " + why);
    }
    if (lost > 1) why += text(" and ", lost - 1, " more");
  } catch (const StrictJson::exception&) {
    return;  // it says nothing
  } catch (const Error&) {
    return;
  }
  if (!why.empty())
    throw Error(Fault::usage,
                text(folder_.page().string(), " shows claims that this command would lose (", why,
                     "): name them too, choose another folder with --out, or add --replace"));
}

std::optional<ClaimsSummary> ClaimsConduct::perform(const MeasureHooks& hooks) {
  auto answers = answer(desk_, config_.chosen, hooks);
  if (!answers) return std::nullopt;
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start_;
  const auto differing =
      std::count_if(answers->begin(), answers->end(), [](const Answered& a) { return !a.as_recorded(); });
  return ClaimsSummary{.config = config_,
                       .text_sha256 = text_sha256(),
                       .answers = std::move(*answers),
                       .differing = std::size_t(differing),
                       .seeds = desk_.seeds(),
                       .causal = desk_.language("none"),
                       .masked = desk_.encoder("none"),
                       .rates = desk_.rates(),
                       .minutes = took.count() / 60,
                       .trained = desk_.trained(),
                       .diverged = desk_.diverged()};
}

}  // namespace gnomon::claims
